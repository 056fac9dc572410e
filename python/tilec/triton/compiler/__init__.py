"""Compiling: what is wrong with a source."""
from tilec.triton.compiler.errors import CompilationError

__all__ = ["CompilationError"]
