"""Arguments of launches: bound as Python binds them, made into what the compiler takes, and the device that their memory is on."""
import inspect
from enum import Enum
from functools import cached_property

from tilec import _tilec
from tilec._arrays import describe, device_of, is_scalar
from tilec.triton._utils import type_canonicalisation_dict
from tilec.triton.language import core
from tilec.triton.runtime.source import literal

_TYPES = {*type_canonicalisation_dict.values()} - {"void"}
_EMPTY = inspect.Parameter.empty


def _normalize_ty(ty):
    """"fp32", "*kfp16" of a type as annotations name it: tl.float32, "tl.float32", "const fp16*", int; others as text."""
    if isinstance(ty, str):
        text = ty.strip()
        if text.startswith("const "):
            pointer = _normalize_ty(text.removeprefix("const"))
            assert pointer.startswith("*"), f"{ty!r} is no pointer"
            return "*k" + pointer[1:]
        if text.endswith("*"):
            return "*" + _normalize_ty(text[:-1])
        if text.startswith("*"):
            return "*" + _normalize_ty(text[1:])
        name = text.removeprefix("tl.")
    elif isinstance(ty, core.pointer_type):
        return "*" + _normalize_ty(ty.element_ty)
    elif isinstance(ty, core.dtype):
        name = ty.name
    else:
        name = ty.__name__ if isinstance(ty, type) else str(ty)
    name = name.replace("_t", "")
    return type_canonicalisation_dict.get(name, name)


class KernelParam:
    """One parameter of a kernel."""

    def __init__(self, num, param, do_not_specialize, do_not_specialize_on_alignment):
        self.num, self._param = num, param
        self.do_not_specialize, self.do_not_specialize_on_alignment = do_not_specialize, do_not_specialize_on_alignment

    @property
    def name(self):
        return self._param.name

    @cached_property
    def annotation(self):
        """As text; empty: there is none."""
        annotation = self._param.annotation
        return "" if annotation is _EMPTY or not annotation else _normalize_ty(annotation)

    @cached_property
    def annotation_type(self):
        """The annotation if it is a type that values are passed as, else empty."""
        bare = self.annotation.removeprefix("*k").removeprefix("*")
        return self.annotation if bare in _TYPES else ""

    @property
    def is_constexpr(self):
        return "constexpr" in self.annotation

    @property
    def is_const(self):
        return not self.is_constexpr and ("const" in self.annotation or self.annotation.startswith("*k"))

    @property
    def has_default(self):
        return self._param.default is not _EMPTY

    @property
    def default(self):
        return self._param.default


# Binding

def make_binder(name, signature):
    """A function with the parameters of a kernel that gives its values as a list and further keywords as a dict: what is missing or
    too many Python itself says."""
    others = "options"
    while others in signature.parameters:
        others += "_"
    defaults, words = {}, []
    star = False
    for i, param in enumerate(signature.parameters.values()):
        if param.kind is param.KEYWORD_ONLY and not star:
            words.append("*")
        star |= param.kind in (param.KEYWORD_ONLY, param.VAR_POSITIONAL)
        word = ("*" if param.kind is param.VAR_POSITIONAL else "") + param.name
        if param.default is not _EMPTY:
            defaults[f"default{i}"] = param.default
            word += f"=default{i}"
        words.append(word)
    name = name if name.isidentifier() else "kernel"
    text = f"def {name}({', '.join([*words, '**' + others])}): return [{', '.join(signature.parameters)}], {others}"
    exec(text, defaults)  # keyword.iskeyword: names of parameters of a function are none
    return defaults[name]


def explain_missing(error, params, args, keywords):
    """A TypeError of a binder, which says which of the missing ones are constexprs."""
    missing = [param.name for param in params[len(args):] if param.is_constexpr and not param.has_default and param.name not in keywords]
    if "missing" not in str(error) or not missing:
        return error
    words = f"{missing[0]!r} is a constexpr" if len(missing) == 1 else f"{', '.join(map(repr, missing))} are constexprs"
    return TypeError(f"{error}; {words}, whose value a launch gives by keyword")


def unknown_keyword(name, known):
    """KeyError in Triton's words, and what was meant."""
    from difflib import get_close_matches

    close = get_close_matches(name, known, 1)
    return KeyError(f"Keyword argument {name} was specified but unrecognised" + (f"; did you mean {close[0]}?" if close else ""))


# Values

def _is_unit(value):
    return hasattr(value, "_unit_text")


def collect_units(values, found):
    """Adds the functions and classes that values lead to, which are units beside the kernel's: each once."""
    for value in values:
        kind = type(value)
        if kind in (int, float, bool, str):
            continue
        if isinstance(value, core.constexpr):
            collect_units((value.value,), found)
        elif isinstance(value, (tuple, list, core.tuple)):
            if hasattr(kind, "_fields"):
                found[id(kind)] = kind
            collect_units(value, found)
        elif isinstance(value, Enum) and not isinstance(value, int):
            found[id(kind)] = kind
            collect_units((value.value,), found)
        elif _is_unit(value):
            found[id(value)] = value
    return found


def meaning(value, number):
    """What a constexpr is for the compiler: a number of 64 bits as it is, else a literal; None: it is none."""
    while isinstance(value, core.constexpr):
        value = value.value
    if is_scalar(value):
        value = value.item()
    if isinstance(value, int) and not isinstance(value, bool) and -(1 << 63) <= value < 1 << 63:
        return int(value)
    return literal(value, number)


def _of_constexpr(function, param, value, number):
    text = meaning(value, number)
    if text is None:
        what = "a tensor" if hasattr(value, "data_ptr") or hasattr(value, "shape") else f"an object of type {type(value).__name__}"
        raise TypeError(f"{param.name!r} of {function!r} is a constexpr, and {what} is none: that is a number, text, None, a type of "
                        "the language, a function of @triton.jit, a member of an enum, or a tuple of these")
    return _tilec.Constexpr(text)


def _of_value(value, number):
    kind = type(value)
    if kind in (int, float, bool) or value is None:
        return value
    if isinstance(value, (core.constexpr, Enum)) and not isinstance(value, int) or _is_unit(value):
        text = meaning(value, number)
        if text is not None:
            return _tilec.Constexpr(text)
    if isinstance(value, core.tuple):
        return tuple(_of_value(item, number) for item in value)
    if isinstance(value, tuple):
        items = [_of_value(item, number) for item in value]
        return tuple.__new__(kind, items) if hasattr(kind, "_fields") else tuple(items)
    return value.item() if is_scalar(value) else value


def of_call(function, params, values, number):
    """What the compiler takes for the values of parameters; `number(unit)`: of a function's or class's unit."""
    return [_of_constexpr(function, param, value, number) if param.is_constexpr else _of_value(value, number)
            for param, value in zip(params, values)]


# Devices

def _leaves(name, value):
    """(name, array or number) of an argument, by its parts, which are called as the compiler calls them."""
    if isinstance(value, (tuple, core.tuple)):
        for i, item in enumerate(value):
            yield from _leaves(f"{name}.{i}", item)
    elif hasattr(value, "block_shape") and hasattr(value, "base"):
        yield f"{name}.ptr", value.base
    else:
        yield name, value


def _arrays(params, values):
    """(place, parameter, name, array); places are those of _arrays.device_of."""
    for param, value in zip(params, values):
        if type(value) in (int, float, bool, str) or value is None or param.is_constexpr:
            continue
        for name, leaf in _leaves(param.name, value):
            place = device_of(leaf)
            if place is not None:
                yield place, param, name, leaf


def find_places(params, values):
    """What arrays say of where they lie: (place, number of the parameter, name)."""
    return [(place, param.num, name) for place, param, name, _ in _arrays(params, values)]


def find_read_only(params, values):
    """Names of arrays that are not to be written."""
    return [name for _, _, name, array in _arrays(params, values) if describe(array)[4]]


def choose_place(places, kind, current):
    """"host" or "cuda" for a call with arrays at these places, or None where none lies anywhere. `kind`: TILEC_DEVICE. ValueError: no
    device reaches all of them; `current()`: the number of the GPU in use."""
    hosts, gpus = [], []
    for each in places:
        if each[0] != "any":
            (hosts if each[0] == "host" else gpus).append(each)
    if hosts and (gpus or kind == "cuda"):
        place, at, name = hosts[0]
        beside = f"{gpus[0][2]!r} on a GPU" if gpus else "TILEC_DEVICE=cuda runs kernels on GPUs alone"
        raise ValueError(f"Pointer argument (at {at}) cannot be accessed from Triton (cpu tensor?): {name!r} lies in the host's memory, "
                         f"{beside}")
    if gpus and kind in ("cpu", "sim"):
        raise ValueError(f"Pointer argument (at {gpus[0][1]}) cannot be accessed by this machine: {gpus[0][2]!r} lies on a GPU, and "
                         f"TILEC_DEVICE={kind} runs kernels on the host")
    for place, at, name in gpus:
        if place != "cuda" and place != current():
            raise ValueError(f"Pointer argument (at {at}) cannot be accessed from Triton: {name!r} lies on GPU {place}, and the current "
                             f"one is {current()}")
    return "host" if hosts else "cuda" if gpus else None
