"""What a variable of a kernel holds, and how far it may be from what hardware computes.

`err` bounds |hardware - data| of each element of a float; None: bit for bit (zeros of either sign are one). `undef` marks
elements that nobody may rely on; None: all are defined."""
from dataclasses import dataclass

import numpy as np

from formats import FORMATS, rounded

SLACK = 1 + 1e-6  # of bounds, which are computed in floating point themselves


class Invalid(Exception):
    """The program does what the language leaves undefined, or what no reference can tell."""


@dataclass
class Value:
    dtype: str
    data: np.ndarray
    err: np.ndarray = None
    undef: np.ndarray = None

    @property
    def shape(self):
        return self.data.shape

    @property
    def format(self):
        return FORMATS[self.dtype]

    @property
    def type(self):
        return self.dtype, self.data.shape

    @property
    def bound(self):
        return 0.0 if self.err is None else self.err

    def exact(self):
        if self.err is not None and np.any(self.err[~self.undef] if self.undef is not None else self.err):
            raise Invalid("a decision on rounded numbers")
        return self

    def defined(self):
        if self.undef is not None and self.undef.any():
            raise Invalid("undefined elements")
        return self


@dataclass
class Pointer:
    """Offsets, in elements, into an array."""

    array: str
    data: np.ndarray
    undef: np.ndarray = None

    @property
    def shape(self):
        return self.data.shape

    @property
    def type(self):
        return "*" + self.array, self.data.shape


@dataclass
class Block:
    """A block pointer or, if `place` is None, a tensor descriptor."""

    array: str
    base: int
    extents: tuple
    strides: tuple
    tile: tuple
    place: tuple = None

    @property
    def shape(self):
        return self.tile

    @property
    def type(self):
        return ("desc*" if self.place is None else "block*") + self.array, self.tile


def not_finite(*values):
    """Where one of them is infinite or NaN, broadcast; None: nowhere."""
    marks = [~np.isfinite(v.data) for v in values if v.format.is_float]
    return _any([mark for mark in marks if mark.any()])


def settled(dtype, data, err=None, undef=None, special=None):
    """A value whose bounds and marks are left out where they say nothing; what is undefined is 0 here.

    `special` marks elements that may be infinite or NaN, without an error: the same ones are it on hardware."""
    data = np.asarray(data)
    if undef is not None:
        undef = np.broadcast_to(undef, data.shape)
        if undef.any():
            data = np.where(undef, data.dtype.type(0), data)
            err = None if err is None else np.where(undef, 0.0, np.broadcast_to(err, data.shape))
        else:
            undef = None
    if FORMATS[dtype].is_float and not np.isfinite(data).all():
        if special is None or not (np.isfinite(data) | special).all():
            raise Invalid("a result that is not finite")
        err = None if err is None else np.where(np.isfinite(data), err, 0.0)
    if err is not None:
        err = np.broadcast_to(np.asarray(err, np.float64) * SLACK, data.shape)
        if not np.isfinite(err).all():
            raise Invalid("no bound")
        err = err if err.any() else None
    return Value(dtype, data, err, undef)


def either(*values):
    """Where one of them is undefined, broadcast."""
    return _any([v.undef for v in values if isinstance(v, (Value, Pointer)) and v.undef is not None])


def _any(marks):
    if not marks:
        return None
    result = marks[0]
    for mark in marks[1:]:
        result = result | mark
    return result


def _spacing(f, data):
    """At least what lies between neighbours at `data`, subnormal ones too: so far apart may numbers be rounded that
    differ ever so little."""
    return np.abs(data) * 2 * f.unit + 2.0 ** (f.least - f.precision + 1)


def float_result(dtype, exact, err, undef, fused=False, special=None):
    """Rounds float64 `exact`, known to `err`. `fused`: a product, whose rounding a sum behind it may leave out.
    `special` as of `settled`."""
    with np.errstate(invalid="ignore", over="ignore"):
        data = rounded(dtype, exact)
        f = FORMATS[dtype]
        ulp = _spacing(f, data)
        inexact = data != exact
        bound = np.where(np.asarray(err) > 0, err + ulp, np.where(inexact & fused, ulp, 0.0))
    return settled(dtype, data, bound, undef, special)


def spread(value, shape):
    try:
        parts = [None if part is None else np.broadcast_to(part, shape).copy() for part in (value.data, value.err, value.undef)]
    except ValueError as error:
        raise Invalid(str(error)) from error
    return Pointer(value.array, parts[0], value.undef) if isinstance(value, Pointer) else Value(value.dtype, *parts)


def number_type(number):
    """What an assignment makes of a number."""
    if isinstance(number, bool):
        return "i1"
    if isinstance(number, int):
        for dtype, low, high in (("i32", -(2**31), 2**31), ("u32", 0, 2**32), ("i64", -(2**63), 2**63), ("u64", 0, 2**64)):
            if low <= number < high:
                return dtype
        raise Invalid("a number of more than 64 bits")
    return "fp32"


RANK_OF_KIND = {"bool": 0, "int": 1, "uint": 1, "float": 2}


def as_value(number, dtype=None):
    dtype = dtype or number_type(number)
    f = FORMATS[dtype]
    if f.is_int:
        low, high = (-(2 ** (f.bits - 1)), 2 ** (f.bits - 1)) if f.kind == "int" else (0, 2**f.bits)
        if not low <= number < high:
            raise Invalid("a number that does not fit")
    if f.is_float:
        number = float(rounded(dtype, float(number)))
    return settled(dtype, np.asarray(number, f.numpy), special=f.is_float and not np.isfinite(number))


def common_type(a, b):
    """Of two run-time values."""
    fa, fb = FORMATS[a], FORMATS[b]
    if fa.is_float != fb.is_float:
        kept = a if fa.is_float else b
        return "fp32" if kept == "bf16" else kept
    if fa.is_float:
        if {a, b} == {"fp16", "bf16"}:
            return "fp16"
        return a if fa.bits >= fb.bits else b
    if fa.bits != fb.bits:
        return a if fa.bits > fb.bits else b
    return b if fa.kind == "int" else a


def paired(a, b):
    """Operands of one type, as the language converts them; numbers follow run-time values."""
    if not isinstance(a, Value) and not isinstance(b, Value):
        raise Invalid("two numbers")
    if not isinstance(a, Value):
        b, a = paired(b, a)
        return a, b
    if not isinstance(b, Value):
        kind = FORMATS[number_type(b)].kind
        dtype = a.dtype if RANK_OF_KIND[kind] <= RANK_OF_KIND[a.format.kind] else number_type(b)
        b = as_value(b, dtype)
    dtype = common_type(a.dtype, b.dtype)
    if FORMATS[dtype].is_float and FORMATS[dtype].bits == 8:
        raise Invalid("arithmetic of fp8")
    return converted(a, dtype), converted(b, dtype)


def converted(value, dtype, towards_zero=False):
    """What `.to(dtype)` gives."""
    source, target = value.format, FORMATS[dtype]
    if value.dtype == dtype:
        return value
    if target.kind == "bool":
        return settled(dtype, value.exact().data != 0, undef=value.undef)
    if not target.is_float:
        if source.is_float:
            data = np.trunc(value.exact().data)
            low, high = (-(2.0 ** (target.bits - 1)), 2.0 ** (target.bits - 1)) if target.kind == "int" else (0, 2.0**target.bits)
            if not ((data >= low) & (data < high)).all():
                raise Invalid("a float that the integer cannot hold")
            return settled(dtype, data.astype(target.numpy), undef=value.undef)
        with np.errstate(over="ignore"):
            return settled(dtype, value.data.astype(target.numpy), undef=value.undef)
    if source.is_float:
        data = _narrowed(target, value, towards_zero)
        err = None
        if value.err is not None:
            err = np.where(value.err > 0, value.err + _spacing(target, data), 0)
        return settled(dtype, data, err, value.undef, ~np.isfinite(data))
    if (np.abs(value.data.astype(np.float64)) > 2.0**53).any():
        raise Invalid("an integer that float64 does not hold")
    data = rounded(dtype, value.data.astype(np.float64))
    if not np.isfinite(data).all():
        raise Invalid("a float out of range")
    return settled(dtype, data, undef=value.undef)


def _narrowed(target, value, towards_zero):
    """A float as another one, also what is too large, infinite or NaN, as the language's table of conversions has it."""
    data = rounded(target.name, value.data, towards_zero)
    over = np.isinf(data)
    if not over.any():
        return data
    if value.err is not None and (over & (value.err > 0)).any():
        raise Invalid("a float out of range")
    largest = np.copysign(target.largest, value.data)
    if target.bits > 8:
        return np.where(over & np.isfinite(value.data) & towards_zero, largest, data)
    if target.name == "fp8e5" and towards_zero and np.isinf(value.data).any():
        raise Invalid("an infinity that files do not tell from NaN")
    return np.where(over, largest, data)
