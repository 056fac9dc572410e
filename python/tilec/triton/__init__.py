"""Triton's host code on libtilec, under Triton's names."""
from tilec.triton import errors, knobs, language, runtime
from tilec.triton.compiler import CompilationError, compile
from tilec.triton.errors import TritonError
from tilec.triton.language._builtin import host_builtin, must_use_result
from tilec.triton.language.core import _aggregate as aggregate
from tilec.triton.runtime import InterpreterError, OutOfResources
from tilec.triton.runtime._allocation import set_allocator
from tilec.triton.runtime._async_compile import AsyncCompileMode, FutureKernel
from tilec.triton.runtime.autotuner import Config, autotune, heuristics
from tilec.triton.runtime.jit import JITFunction, KernelInterface, constexpr_function, jit
from tilec.triton.runtime.wrappers import MockTensor, TensorWrapper, reinterpret
from tilec.triton.version import __version__

__all__ = ["__version__", "AsyncCompileMode", "CompilationError", "Config", "FutureKernel", "InterpreterError", "JITFunction",
           "KernelInterface", "MockTensor", "OutOfResources", "TensorWrapper", "TritonError", "aggregate", "autotune", "cdiv", "compile",
           "constexpr_function", "errors", "heuristics", "jit", "knobs", "language", "must_use_result", "next_power_of_2", "reinterpret",
           "runtime"]


@host_builtin
def cdiv(x, y):
    """How many pieces of y are needed to cover x."""
    return (x + y - 1) // y


@host_builtin
def next_power_of_2(n):
    """The least power of two that is not less than n."""
    return 1 << (n - 1).bit_length() if n > 0 else 0


def __getattr__(name):
    """What is imported when it is first used."""
    if name in ("backends", "compiler", "testing", "tools"):
        from importlib import import_module

        return import_module(f"tilec.triton.{name}")
    if name == "_C":
        raise AttributeError("triton._C is not in tilec: nothing is compiled by MLIR, and kernels have no IR of Triton's; "
                             "triton.compile gives asm['tir'], asm['ptx'] and others")
    raise AttributeError(f"module 'triton' has no attribute {name!r}")
