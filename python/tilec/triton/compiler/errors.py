"""What the compiler says of a kernel's source."""
from tilec.triton.errors import TritonError


class CompilationError(TritonError):
    """`src`: the function's text; `node`: what has `lineno` (from 1, in that text) and `col_offset`; `error_message`: what is wrong;
    `message`: the text up to there, a caret, and what is wrong."""

    source_line_count_max_in_message = 12

    def __init__(self, src, node, error_message=None):
        TritonError.__init__(self, src, node, error_message)  # what else a class has among its bases takes other arguments
        self.src, self.node, self.error_message = src, node, error_message
        self.message = self._format_message()

    def _excerpt(self):
        if self.src is None:
            return " <source unavailable>"
        if not hasattr(self.node, "lineno"):
            return self.src
        lines = self.src.split("\n")[:self.node.lineno][-self.source_line_count_max_in_message:]
        return "\n".join([*lines, " " * self.node.col_offset + "^"]) if lines else " <source empty>"

    def _format_message(self):
        place = f"at {self.node.lineno}:{self.node.col_offset}:\n" if hasattr(self.node, "lineno") else ""
        return place + self._excerpt() + (f"\n{self.error_message}" if self.error_message else "")

    def __str__(self):
        return self.message


class CompileTimeAssertionFailure(CompilationError):
    """Of tl.static_assert."""


class UnsupportedLanguageConstruct(CompilationError):
    """Python that is no part of the language, or not yet."""


# What the compiler says under the names that Triton's programs catch

class _Place:
    """Where something stands in a function's text."""

    def __init__(self, lineno, col_offset):
        self.lineno, self.col_offset = lineno, col_offset


# Of diagnostics that are about nothing but one kind of resource.
_RESOURCES = {"shared_exceeded": "shared memory", "kernel_shared_limit": "shared memory"}
_FAILURES = {"elab_static_assert": CompileTimeAssertionFailure, "elab_construct": UnsupportedLanguageConstruct,
             "elab_not_covered": UnsupportedLanguageConstruct}


def _first_error(error):
    return next((said for said in error.diagnostics if said.severity == "error"), None)


def _function_at(said, functions):
    """The function of these in whose text a diagnostic's place is, or None."""
    for function in functions:
        text = function._unit_text
        if said.path == text.path and text.def_line <= said.line < text.def_line + text.source.count("\n") + 1:
            return function
    return None


def _interpreted(kind):
    """On this machine in the place of Triton's interpreter programs wait for that one's error."""
    from tilec.triton import knobs
    from tilec.triton.runtime.errors import InterpreterError

    return type(kind.__name__, (kind, InterpreterError), {"__module__": kind.__module__, "__reduce__": _reduce(kind)}) \
        if knobs.runtime.interpret else kind


def _reduce(kind):
    """Of the classes above, which no module has."""
    return lambda self: (kind, self.args)


def _compilation_error(error, said, functions):
    function = said and _function_at(said, functions)
    kind = _interpreted(_FAILURES.get(said.id, CompilationError) if said else CompilationError)
    if function is None:
        return kind(None, None, str(error))
    text = function._unit_text
    return kind(function.src, _Place(said.line - text.def_line + 1, max(said.column - text.column, 0)), str(error))


def translated(error, functions=()):
    """Of a tilec.TilecError the exception that Triton has for it, with its diagnostics, else itself."""
    from tilec import _fault
    from tilec.triton.runtime import errors

    said = _first_error(error)
    if said and said.id in _RESOURCES and said.required:
        made = errors.OutOfResources(said.required, said.limit, _RESOURCES[said.id])
    elif isinstance(error, _fault.SourceError):
        made = _compilation_error(error, said, functions)
    elif isinstance(error, _fault.ToolError) and said and said.id.startswith("ptxas"):
        made = errors.PTXASError(str(error))
    elif isinstance(error, _fault.DeviceMemoryError):
        made = _device_memory_error(error)
    elif isinstance(error, _fault.KernelError):
        made = errors.finding(error)
    else:
        return error
    made.diagnostics, made.status = error.diagnostics, error.status
    return made


def _device_memory_error(error):
    import sys

    torch = sys.modules.get("torch")
    return torch.OutOfMemoryError(str(error)) if hasattr(torch, "OutOfMemoryError") else error


def raise_translated(error, functions=()):
    """Raises what translated() gives; the last entry of its traceback is the kernel's own line."""
    made, said = translated(error, functions), _first_error(error)
    if made is not error:
        cause = error.__cause__ or _cause(said)
        made.__cause__, made.__suppress_context__ = cause, True
    function = said and _function_at(said, functions)
    if function is not None:
        _raise_at(made, said.path, function.__name__, said.line)
    raise made


# What Triton's own errors of a kernel have behind them, as far as programs look at it.
_CAUSES = {"elab_unknown_name": NameError, "elab_undefined_variable": NameError, "unit_unusable": NameError,
           "elab_static_assert": AssertionError, "elab_operands": TypeError}


def _cause(said):
    if said is None:
        return None
    return _CAUSES.get(said.id, ValueError)(said.message)


def _raise_at(error, path, name, line):
    code = compile("\n" * (line - 1) + "raise error", path, "exec")
    exec(code.replace(co_name=name), {"error": error})
