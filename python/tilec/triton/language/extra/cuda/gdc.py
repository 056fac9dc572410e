"""Programs of one launch and the next (programmatic dependent launch)."""
from tilec.triton.language import _names

__all__ = _names.define(globals(), "cuda")
