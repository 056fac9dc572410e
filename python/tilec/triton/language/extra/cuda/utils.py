"""What is asked of a running program."""
from tilec.triton import _refused
from tilec.triton.language import _names

__all__ = _names.define(globals(), "cuda")
__getattr__ = _refused.lookup("triton.language.extra.cuda.utils", _names.missing("cuda"))
