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


class _Found:
    """A place of a diagnostic: `function`, in whose text it is, or None, and `node`, where in there."""

    def __init__(self, path, line, column, functions):
        self.path, self.line, self.function, self.node = path, line, None, None
        for function in functions:
            text = function._unit_text
            if path == text.path and text.def_line <= line < text.def_line + text.source.count("\n") + 1:
                self.function, self.node = function, _Place(line - text.def_line + 1, max(column - text.column, 0))
                return

    def error(self, kind, message):
        return kind(self.function.src if self.function else None, self.node, message)


def _places(said, functions):
    """Where it is wrong, and the calls that led there, the innermost first."""
    calls = [note[2:] for note in said.notes if note[1].startswith("in the call of ")]
    return [_Found(*place, functions) for place in ((said.path, said.line, said.column), *calls)]


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
    kind = _interpreted(_FAILURES.get(said.id, CompilationError) if said else CompilationError)
    return _places(said, functions)[-1].error(kind, str(error)) if said else kind(None, None, str(error))


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
        cause = _cause(said, functions) if isinstance(made, CompilationError) else None  # what a kernel does says all itself
        made.__cause__, made.__suppress_context__ = error.__cause__ or cause, True
    found = said and _places(said, functions)[-1]
    if found and found.function is not None:
        _raise_at(made, found.path, found.function.__name__, found.line)
    raise made


# What Triton's own errors of a kernel have behind them, as far as programs look at it.
_CAUSES = {"elab_unknown_name": NameError, "elab_undefined_variable": NameError, "unit_unusable": NameError, "elab_operands": TypeError}


def _cause(said, functions):
    """What is wrong, behind a CompilationError for each function that is not the kernel; of what Triton finds without computing, none."""
    if said is None or said.id in ("elab_static_assert", "elab_operand", "elab_unused_result"):
        return None
    cause = _CAUSES.get(said.id, ValueError)(said.message)
    for found in _places(said, functions)[:-1]:
        inner = found.error(CompilationError, said.message)
        inner.__cause__, cause = cause, inner
    return cause


def _raise_at(error, path, name, line):
    code = compile("\n" * (line - 1) + "raise error", path, "exec")
    exec(code.replace(co_name=name), {"error": error})
