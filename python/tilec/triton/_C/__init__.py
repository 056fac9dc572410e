"""Triton's own extension has its compiler, which is not here; see libtriton."""
