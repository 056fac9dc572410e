"""Triton's module that walks over a function's syntax. The compiler's front end is libtilec's; the names are here alone."""
from tilec.triton import _refused

_INSTEAD = "the front end is libtilec's; triton.compile makes a kernel of an ASTSource"


class CodeGenerator:
    def __init__(self, *args, **keywords):
        raise NotImplementedError(f"triton.compiler.code_generator.CodeGenerator is not in tilec: {_INSTEAD}")


ast_to_ttir = _refused.function("triton.compiler.code_generator.ast_to_ttir", _INSTEAD)
__getattr__ = _refused.lookup("triton.compiler.code_generator", {}, lambda name: _INSTEAD)
