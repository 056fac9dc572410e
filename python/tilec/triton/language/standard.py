"""Functions that are themselves written in the language, in std.tile."""
from tilec.triton import _refused
from tilec.triton.language import _names, core
from tilec.triton.language._builtin import host_builtin


@host_builtin
def _log2(i):
    """How often a positive integer can be halved before it is 1."""
    return int(i).bit_length() - 1 if i > 1 else 0


@host_builtin
def _is_power_of_two(i):
    return i != 0 and i & (i - 1) == 0


__all__ = _names.define(globals(), "standard")
__getattr__ = _refused.lookup("triton.language.standard", _names.missing("standard") | {
    "sort_impl": "tl.sort and tl.topk are what it is for"})
