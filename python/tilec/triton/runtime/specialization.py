"""Triton's words for a call's arguments: types, what is known of their values, and keys of these. Only when something is compiled, or
a program asks: which instance a call uses the library decides."""
import json
from enum import Enum

from tilec._arrays import is_scalar
from tilec.triton._utils import _tuple_create, canonicalize_dtype
from tilec.triton.backends.compiler import BaseBackend
from tilec.triton.runtime.callable import find_function


def _int(backend, value, specialize, align):
    if specialize and value == 1:
        return "constexpr", value
    if not -2**63 <= value < 2**64:
        raise OverflowError("integer to be specialized too large to represent")
    kind = "i32" if -2**31 <= value < 2**31 else "i64" if value < 2**63 else "u64"
    return kind, backend.get_int_specialization(value, align=align) if specialize else None


def _tuple(backend, value, is_const, align):
    pairs = [native_specialize_impl(backend, item, is_const, True, align) for item in value]
    kind = value if hasattr(value, "_fields") else ()  # torch.Size has integers alone
    return tuple(_tuple_create(kind, [pair[i] for pair in pairs]) for i in (0, 1))


def _descriptor(value):
    return f"tensordesc<{canonicalize_dtype(value.base.dtype)}{[*value.block_shape]}>", None


def native_specialize_impl(backend, arg, is_const, specialize_value, align):
    """(type, what is known of the value): ("*fp32", "D"), ("i32", ""), ("constexpr", value)."""
    from tilec.triton.language import core

    if is_scalar(arg):
        arg = arg.item()
    if arg is None:
        return "constexpr", None
    if isinstance(arg, bool):
        return "u1", None
    if isinstance(arg, int):
        return _int(backend, arg, specialize_value, align)
    if isinstance(arg, float):
        return "fp32", None
    if isinstance(arg, (core.constexpr, Enum)):
        return "constexpr", arg
    if hasattr(arg, "_unit_text"):
        return "constexpr", arg.cache_key
    if isinstance(arg, (tuple, core.tuple)):
        return _tuple(backend, arg, is_const, align)
    if hasattr(arg, "block_shape") and hasattr(arg, "base"):
        return _descriptor(arg)
    if hasattr(arg, "data_ptr"):
        kind = ("*k" if is_const else "*") + canonicalize_dtype(arg.dtype)
        return kind, backend.get_tensor_specialization(arg, align=align) if specialize_value else None
    return _other_array(backend, arg, is_const, specialize_value, align)


class _Array:
    """Of an array that Triton does not know, such as NumPy's."""

    def __init__(self, address):
        self._address = address

    def data_ptr(self):
        return self._address


def _other_array(backend, arg, is_const, specialize_value, align):
    from tilec._arrays import describe

    try:
        address, name, *_ = describe(arg)
    except TypeError:
        raise TypeError(f"failed to specialize argument of type: {type(arg).__name__}") from None
    kind = ("*k" if is_const else "*") + {"i1": "u1"}.get(name, name)
    return kind, backend.get_tensor_specialization(_Array(address), align=align) if specialize_value else None


def mangle_type(arg, specialize=False):
    return native_specialize_impl(BaseBackend, arg, False, specialize, True)[0]


def specialization_of(param, backend, value):
    """Of a KernelParam's argument."""
    if param.is_constexpr:
        return "constexpr", value
    annotated = param.annotation_type
    specialize = not param.do_not_specialize
    if annotated and (annotated == "u1" or annotated[:2] in ("fp", "bf")):
        return annotated, None
    kind, known = native_specialize_impl(backend, value, param.is_const, specialize, not param.do_not_specialize_on_alignment)
    if annotated and not kind == "constexpr":
        return annotated, known if specialize else None
    return kind, known


def _with_hashes(value):
    if isinstance(value, list):
        return [*map(_with_hashes, value)]
    if isinstance(value, tuple):
        return _tuple_create(value, [*map(_with_hashes, value)])
    return value.cache_key if hasattr(value, "_unit_text") else value


def compute_cache_key(kernel_key_cache, specialization, options):
    """Of a list of specializations and a dict of options, kept in the given dict where these can be keys."""
    key = (tuple(specialization), str(options))
    try:
        found = kernel_key_cache.get(key)
    except TypeError:
        return str(_with_hashes(specialization)) + str(options)
    if found is None:
        found = kernel_key_cache[key] = str(_with_hashes(specialization)) + str(options)
    return found


def _encoded(value):
    """A constant as JSON."""
    from tilec.triton.language.core import constexpr, dtype

    if isinstance(value, dtype):
        return str(value)
    if isinstance(value, constexpr):
        return {"constexpr": value.value}
    if hasattr(value, "_unit_text"):
        return {"jit_function": f"{value.module}:{value.fn.__qualname__}"}
    return value


def serialize_specialization_data(name, signature, constants, attrs, options, key, target, given=None):
    """What preload() compiles by. `given`: of the options those that the call said."""
    return json.dumps({
        "name": name, "signature": signature, "constant_keys": [[*path] for path in constants],
        "constant_vals": [*map(_encoded, constants.values())], "attrs_keys": [[*path] for path in attrs], "attrs_vals": [*attrs.values()],
        "options": options.__dict__, "key": key, "target": target.__dict__, "given": given})


def tuples(value):
    """JSON has lists for tuples."""
    return tuple(map(tuples, value)) if isinstance(value, list) else value


def decoded(value, functions):
    """A constant of JSON; `functions`: jit functions by "module:name"."""
    from tilec.triton.language.core import constexpr, dtype

    if isinstance(value, str) and dtype.is_dtype(value):
        return dtype(value)
    if not isinstance(value, dict):
        return tuples(value)
    if "constexpr" in value:
        return constexpr(tuples(value["constexpr"]))
    name = value["jit_function"]
    found = find_function(*name.split(":"))  # what a module has, before others of that name
    found = found if hasattr(found, "_unit_text") else functions.get(name)
    if found is None:
        raise RuntimeError(f"Unable to resolve JITFunction {name} for preload")
    return found


def stand_in(kind, known):
    """An argument of a type, "*fp32" with "D" or "", "i32": what is compiled for it is compiled for all such."""
    if isinstance(kind, tuple):
        return tuple(stand_in(*pair) for pair in zip(kind, known))
    aligned = bool(known) and any(name == "tt.divisibility" for name, _ in known)
    if kind.startswith("*"):
        return Pointer({"u1": "i1"}.get(kind.removeprefix("*k").removeprefix("*"), kind.removeprefix("*k").removeprefix("*")),
                       1 << 20 if aligned else (1 << 20) + 8)
    if kind[:2] in ("fp", "bf"):
        return 0.5
    if kind == "u1":
        return True
    # Neither a multiple of anything nor what a constexpr is likely to be.
    return {"i64": 1 << 40, "u64": 1 << 63}.get(kind, 1 << 20) + (0 if aligned else 3)


class Pointer:
    """An address with a type, of an array that need not be there, on whatever device."""

    def __init__(self, dtype, address):
        self.dtype, self._address = dtype, address

    def data_ptr(self):
        return self._address


def without_memory(value):
    """An argument of the same key that keeps no array."""
    from tilec._arrays import describe

    if isinstance(value, tuple):
        made = [*map(without_memory, value)]
        return tuple.__new__(type(value), made) if hasattr(value, "_fields") else tuple(made)
    if hasattr(value, "block_shape") and hasattr(value, "base"):
        import copy

        made = copy.copy(value)
        made.base = without_memory(value.base)
        return made
    if value is None or isinstance(value, (bool, int, float)) or not _is_array(value):
        return value
    address, name, *_ = describe(value)
    return Pointer(name, address)


def _is_array(value):
    return any(hasattr(value, name) for name in ("data_ptr", "__array_interface__", "__cuda_array_interface__", "__dlpack__"))
