"""Functions of the user's that are marked as builtin, tl.core.builtin: kernels have them called in Python while they are compiled,
with constexprs as tl.constexpr and what is known when the kernel runs as tl.tensor, a type alone."""
import inspect

from tilec.triton.language import core, str_to_ty


def is_marked(value):
    """Such a function, and none of the language's own."""
    return getattr(value, "__triton_builtin__", False) is True and not str(getattr(value, "__module__", "")).startswith("tilec.triton")


def key(function):
    """What it computes, as text: its source, and that of functions in its closure."""
    return "\n".join(_texts(function, []))


def _texts(value, seen):
    if not inspect.isfunction(value):
        yield repr(value) if isinstance(value, (int, float, str, bool, tuple, type(None))) else type(value).__qualname__
        return
    if value in seen:
        return
    seen.append(value)
    yield f"{value.__module__}.{value.__qualname__}"
    try:
        yield inspect.getsource(inspect.unwrap(value))
    except (OSError, TypeError):
        yield repr((value.__code__.co_code, value.__code__.co_names, value.__code__.co_consts))
    for cell in value.__closure__ or ():
        yield from _texts(cell.cell_contents, seen)


class _Semantic:
    """In the place of what builds Triton's IR."""

    def __getattr__(self, name):
        raise AttributeError(f"_semantic.{name} is not in tilec: functions marked as builtin compute with constexprs, and give one or one "
                             "of their arguments; write others as @triton.jit functions")


def _opaque(text):
    """"fp32[16, 64]", "*i32", "i1" as a tensor; tuples and descriptors are values without anything."""
    element, bracket, sizes = text.partition("[")
    try:
        scalar = str_to_ty(element, None)
    except (KeyError, ValueError):
        return core.base_value()
    return core.tensor(None, core.block_type(scalar, [int(size) for size in sizes.rstrip("]").split(",")]) if bracket else scalar)


def call(function, arguments, keywords, value_of, literal_of):
    """What it gives: a literal, or the number of an argument. Arguments are (text, whether it is known at run time only)."""
    given = [_opaque(text) if is_run_time else core.constexpr(value_of(text)) for text, is_run_time in (*arguments, *keywords.values())]
    named = dict(zip(keywords, given[len(arguments):]))
    result = function(*given[:len(arguments)], **named, _semantic=_Semantic())
    for number, each in enumerate(given):
        if result is each:
            return number
    text = literal_of(result)
    if text is None:
        raise TypeError(f"{function.__name__} gives {result!r}, which is neither a constexpr nor one of its arguments")
    return text
