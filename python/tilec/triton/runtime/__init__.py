"""Triton's host side: devices, errors, what is kept on disk."""
import sys
from types import ModuleType


class _Runtime(ModuleType):
    """`driver` is the object of that name, not its module, which each import under another name would put in its place."""

    def __setattr__(self, name, value):
        if name != "driver" or not isinstance(value, ModuleType):
            super().__setattr__(name, value)


sys.modules[__name__].__class__ = _Runtime

from tilec.triton.runtime import exec_text
from tilec.triton.runtime.cache import RedisRemoteCacheBackend, RemoteCacheBackend
from tilec.triton.runtime.driver import device_kind, driver
from tilec.triton.runtime.errors import InterpreterError, OutOfResources

__all__ = ["InterpreterError", "OutOfResources", "RedisRemoteCacheBackend", "RemoteCacheBackend", "driver"]

if device_kind() in ("cpu", "sim"):
    exec_text.install()
