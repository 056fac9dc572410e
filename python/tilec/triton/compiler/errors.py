"""What the compiler says of a kernel's source."""
from tilec.triton.errors import TritonError


class CompilationError(TritonError):
    """`src`: the function's text; `node`: what has `lineno` (from 1, in that text) and `col_offset`; `error_message`: what is wrong;
    `message`: the text up to there, a caret, and what is wrong."""

    source_line_count_max_in_message = 12

    def __init__(self, src, node, error_message=None):
        super().__init__(src, node, error_message)
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
