"""What libtilec says as Python exceptions: csrc/diagnostics.c calls fault() with a status and its diagnostics."""
from collections import namedtuple

Diagnostic = namedtuple("Diagnostic", "severity id message path line column end_line end_column rendered")
Diagnostic.__doc__ = """One message. severity: "remark", "warning", "error"; id: its stable name; lines and columns from 1, 0 where
it concerns no place; rendered: as the command line prints it."""


class TilecError(Exception):
    """An error of libtilec. `status`: its name, "TILE_ERROR_SOURCE"; `diagnostics`: what was said, of Diagnostic."""

    status, diagnostics = None, ()


class SourceError(TilecError):
    """The kernel's source, or what it is given, is wrong."""


class ToolError(TilecError, RuntimeError):
    """ptxas, or another tool, is missing or failed."""


class DriverError(TilecError, RuntimeError):
    """There is no usable driver or device, or a call of the driver failed."""


class DeviceMemoryError(TilecError, MemoryError):
    """The device has not that much memory."""


class KernelError(TilecError, RuntimeError):
    """A kernel failed on the device."""


class NotCompiled(TilecError, RuntimeError):
    """The kernel is not compiled, and the context compiles nothing."""


class LimitError(TilecError, TimeoutError):
    """A time limit was reached."""


class ArgumentError(TilecError, ValueError):
    """An argument of a call of the library is not valid."""


PUBLIC = ("Diagnostic", "TilecError", "SourceError", "ToolError", "DriverError", "DeviceMemoryError", "KernelError", "NotCompiled",
          "LimitError", "ArgumentError")

_CLASSES = {
    "TILE_ERROR_INVALID_ARGUMENT": ArgumentError,
    "TILE_ERROR_OUT_OF_MEMORY": MemoryError,
    "TILE_ERROR_SOURCE": SourceError,
    "TILE_ERROR_FILE": OSError,
    "TILE_ERROR_TOOL": ToolError,
    "TILE_ERROR_NO_DRIVER": DriverError,
    "TILE_ERROR_NO_DEVICE": DriverError,
    "TILE_ERROR_DEVICE_MEMORY": DeviceMemoryError,
    "TILE_ERROR_DRIVER": DriverError,
    "TILE_ERROR_DISK_FULL": OSError,
    "TILE_ERROR_INTERNAL": TilecError,
    "TILE_ERROR_TENSOR_MAP": ArgumentError,
    "TILE_ERROR_TIME_LIMIT": LimitError,
    "TILE_ERROR_CANCELLED": KeyboardInterrupt,
    "TILE_ERROR_BUNDLE": ArgumentError,
    "TILE_ERROR_NO_VARIANT": NotCompiled,
    "TILE_ERROR_KERNEL": KernelError,
    "TILE_ERROR_DEVICE_LOST": DriverError,
    "TILE_ERROR_NOT_COMPILED": NotCompiled,
}


def fault(status, text, items):
    """The exception for a status: its name, what it means, and the diagnostics as tuples of Diagnostic's fields."""
    diagnostics = tuple(Diagnostic(*item) for item in items)
    errors = [d.rendered.rstrip() for d in diagnostics if d.severity == "error"]
    made = _CLASSES[status]("\n".join(errors) or text)
    if isinstance(made, TilecError):
        made.status, made.diagnostics = status, diagnostics
    return made
