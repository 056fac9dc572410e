"""What libtilec says as Python exceptions: csrc/diagnostics.c calls fault() with a status and its diagnostics."""
from collections import namedtuple

_FIELDS = "severity id message path line column end_line end_column rendered required limit program notes"
Diagnostic = namedtuple("Diagnostic", _FIELDS)
Diagnostic.__doc__ = """One message. severity: "remark", "warning", "error"; id: its stable name; lines and columns from 1, 0 where
it concerns no place; rendered: as the command line prints it; required, limit: of what did not suffice, in its unit, else 0;
program: (x, y, z) of what a device that is this machine found, else None; notes: tuples (id, message, path, line, column) of what
belongs to it, id "note" or "hint", calls that led there first."""


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


class OutOfBounds(KernelError):
    """An access beyond the arrays that the kernel may touch, or a store to what is read only."""


class Race(KernelError):
    """Two accesses to the same memory in no order."""


class Undefined(KernelError):
    """A value that nobody wrote reaches a store, a mask, a branch or an address."""


class Deadlock(KernelError):
    """Threads wait for what never comes, or a kernel runs on beyond its limit."""


class Assertion(KernelError, AssertionError):
    """tl.device_assert, or assert, of what is false."""


class CompilerWarning(UserWarning):
    """What the compiler warns of, at the kernel's line."""


class NotCompiled(TilecError, RuntimeError):
    """The kernel is not compiled, and the context compiles nothing."""


class LimitError(TilecError, TimeoutError):
    """A time limit was reached."""


class ArgumentError(TilecError, ValueError):
    """An argument of a call of the library is not valid."""


PUBLIC = ("Diagnostic", "TilecError", "SourceError", "ToolError", "DriverError", "DeviceMemoryError", "KernelError", "OutOfBounds",
          "Race", "Undefined", "Deadlock", "Assertion", "CompilerWarning", "NotCompiled",
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
    "TILE_ERROR_IN_PLACE": ArgumentError,
}


# By what an error's id has in it, the first that it has.
_FINDINGS = (("race", Race), ("bounds", OutOfBounds), ("no_memory", OutOfBounds), ("before_begin", OutOfBounds), ("past_end", OutOfBounds),
             ("interp_address", OutOfBounds), ("read_only", OutOfBounds), ("shared_nowhere", OutOfBounds), ("undefined", Undefined),
             ("deadlock", Deadlock), ("step_limit", Deadlock), ("interp_steps", Deadlock), ("interp_work", Deadlock),
             ("assert", Assertion))


def _kernel_error(diagnostics):
    said = next((d.id for d in diagnostics if d.severity == "error" and d.program), "")
    return next((kind for word, kind in _FINDINGS if word in said), KernelError)


def tell(items):
    """What was said of what went well: warnings become Python's, at the kernel's line, what kernels print while they are compiled goes
    to sys.stdout, remarks to the logger "tilec"."""
    import logging
    import warnings

    logger = logging.getLogger("tilec")
    for said in map(Diagnostic._make, items):
        if said.id == "elab_static_print":
            print(said.message)
        elif said.severity == "warning":
            warnings.warn_explicit(said.message, CompilerWarning, said.path or "tilec", said.line, registry=_told)
        else:
            logger.info("%s", said.rendered.rstrip())


_told = {}  # warnings that were shown: each once


def fault(status, text, items):
    """The exception for a status: its name, what it means, and the diagnostics as tuples of Diagnostic's fields."""
    diagnostics = tuple(Diagnostic(*item) for item in items)
    errors = [d.rendered.rstrip() for d in diagnostics if d.severity == "error"]
    kind = _CLASSES[status]
    made = (_kernel_error(diagnostics) if kind is KernelError else kind)("\n".join(errors) or text)
    if isinstance(made, TilecError):
        made.status, made.diagnostics = status, diagnostics
    return made
