"""Random numbers: Philox, by seed and offset."""
from tilec.triton import _refused
from tilec.triton.language import _names, core

N_ROUNDS_DEFAULT = core.constexpr(10)

__all__ = _names.define(globals(), "random")
__getattr__ = _refused.lookup("triton.language.random", _names.missing("random"))
