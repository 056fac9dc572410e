"""Triton's module of what is asked of a running program; nothing of it is in the compiler."""
from tilec.triton import _refused
from tilec.triton.language import _names

__getattr__ = _refused.lookup("triton.language.extra.cuda.utils", _names.missing("cuda"))
