"""Compiling: sources, compiled kernels, and what is wrong with a source."""
from tilec.triton.compiler.compiler import (
    ASTSource, AsmDict, CompiledKernel, IRSource, LazyDict, compile, filter_traceback, make_backend, max_shared_mem)
from tilec.triton.compiler.errors import CompilationError

__all__ = ["ASTSource", "AsmDict", "CompilationError", "CompiledKernel", "IRSource", "LazyDict", "compile", "filter_traceback",
           "make_backend", "max_shared_mem"]
