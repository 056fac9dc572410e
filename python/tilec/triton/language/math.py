"""Elementwise functions of numbers."""
from tilec.triton import _refused
from tilec.triton.language import _names, core

__all__ = _names.define(globals(), "math")
__getattr__ = _refused.lookup("triton.language.math", _names.missing("math"))
