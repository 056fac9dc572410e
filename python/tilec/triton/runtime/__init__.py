"""Triton's host side: devices, errors, what is kept on disk."""
from tilec.triton.runtime import exec_text
from tilec.triton.runtime.cache import RedisRemoteCacheBackend, RemoteCacheBackend
from tilec.triton.runtime.driver import device_kind, driver
from tilec.triton.runtime.errors import InterpreterError, OutOfResources

__all__ = ["InterpreterError", "OutOfResources", "RedisRemoteCacheBackend", "RemoteCacheBackend", "driver"]

if device_kind() in ("cpu", "sim"):
    exec_text.install()
