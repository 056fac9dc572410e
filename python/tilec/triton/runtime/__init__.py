"""Triton's host side: devices, errors, what is kept on disk."""
from tilec.triton.runtime.cache import RedisRemoteCacheBackend, RemoteCacheBackend
from tilec.triton.runtime.driver import driver
from tilec.triton.runtime.errors import InterpreterError, OutOfResources

__all__ = ["InterpreterError", "OutOfResources", "RedisRemoteCacheBackend", "RemoteCacheBackend", "driver"]
