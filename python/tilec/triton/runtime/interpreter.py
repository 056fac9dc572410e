"""Kernels under TRITON_INTERPRET=1: they run on this machine, by the interpreter, or by the simulator where TILEC_DEVICE says so.

Triton's interpreter runs a kernel's Python with NumPy; here kernels are compiled as ever, and run by libtilec."""
from tilec.triton import _refused
from tilec.triton.runtime.driver import device_kind
from tilec.triton.runtime.jit import JITFunction


class InterpretedFunction(JITFunction):
    """A function of @triton.jit that was decorated while TRITON_INTERPRET was set: it goes to no GPU."""

    def __init__(self, fn, **keywords):
        super().__init__(fn, **keywords)
        self._device_kind = "sim" if device_kind() == "sim" else "cpu"

    def __repr__(self):
        return f"InterpretedFunction({self.module}:{self.fn.__qualname__})"


_INSTEAD = "kernels are run by libtilec's interpreter, not by NumPy; TILEC_DEVICE=sim runs their PTX"
__getattr__ = _refused.lookup("triton.runtime.interpreter", {name: _INSTEAD for name in (
    "GridExecutor", "TensorHandle", "BlockPointerHandle", "TensorDescHandle", "InterpreterBuilder", "interpreter_builder",
    "interpreter_semantic", "patch_lang_tensor", "FunctionRewriter", "ASTTransformer")})
