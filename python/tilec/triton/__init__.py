"""Triton's host code on libtilec, under Triton's names."""
from tilec.triton.version import __version__

__all__ = ["__version__"]
