"""Element types of the language: names, what memory holds of them, their values, rounding to them; edge values of each.

Values of integers are of NumPy's type of their width, values of floats float64, of fp64 too. What memory holds of a type
that NumPy lacks is an unsigned integer of its width. Everything here is computed without functions whose results NumPy's
versions may differ in: recordings are known by a hash of what a case is given."""
import functools
import zlib
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Format:
    name: str  # in signatures
    language: str  # behind `tl.`
    kind: str  # "int", "uint", "float"; int1 counts as unsigned
    bits: int
    stored: type
    fraction: int = 0  # of a float: bits
    bias: int = 0
    special: str = ""  # "ieee": infinities and NaN; "fn": NaN of all ones alone; "fnuz": NaN for -0.0; "none"

    @property
    def is_float(self):
        return self.kind == "float"

    @property
    def signed(self):
        return self.kind == "int"

    @property
    def least(self):
        """The exponent of the smallest normal number."""
        return 1 - self.bias

    def __str__(self):
        return self.name


FORMATS = {
    f.name: f
    for f in (
        Format("i1", "int1", "uint", 1, np.uint8), Format("i8", "int8", "int", 8, np.int8), Format("i16", "int16", "int", 16, np.int16),
        Format("i32", "int32", "int", 32, np.int32), Format("i64", "int64", "int", 64, np.int64),
        Format("u8", "uint8", "uint", 8, np.uint8), Format("u16", "uint16", "uint", 16, np.uint16),
        Format("u32", "uint32", "uint", 32, np.uint32), Format("u64", "uint64", "uint", 64, np.uint64),
        Format("fp8e4nv", "float8e4nv", "float", 8, np.uint8, 3, 7, "fn"), Format("fp8e5", "float8e5", "float", 8, np.uint8, 2, 15, "ieee"),
        Format("fp8e4b15", "float8e4b15", "float", 8, np.uint8, 3, 15, "none"),
        Format("fp8e4b8", "float8e4b8", "float", 8, np.uint8, 3, 8, "fnuz"), Format("fp8e5b16", "float8e5b16", "float", 8, np.uint8, 2, 16, "fnuz"),
        Format("fp16", "float16", "float", 16, np.float16, 10, 15, "ieee"), Format("bf16", "bfloat16", "float", 16, np.uint16, 7, 127, "ieee"),
        Format("fp32", "float32", "float", 32, np.float32, 23, 127, "ieee"), Format("fp64", "float64", "float", 64, np.float64, 52, 1023, "ieee"),
    )
}
SIGNED, UNSIGNED = ["i8", "i16", "i32", "i64"], ["u8", "u16", "u32", "u64"]
INTS, FLOATS = SIGNED + UNSIGNED, ["fp16", "bf16", "fp32", "fp64"]
NUMBERS = INTS + FLOATS
FP8 = ["fp8e4nv", "fp8e5"]


def language(name):
    return "tl." + FORMATS[name].language


@functools.lru_cache(None)
def values_of_codes(name):
    """float64 of each code of a float of 8 or 16 bits."""
    f = FORMATS[name]
    codes = np.arange(1 << f.bits)
    sign_bit, magnitude = 1 << (f.bits - 1), codes & ((1 << (f.bits - 1)) - 1)
    exponent, fraction = magnitude >> f.fraction, magnitude & ((1 << f.fraction) - 1)
    values = np.where(exponent == 0, np.ldexp(fraction.astype(np.float64), f.least - f.fraction),
                      np.ldexp((fraction + (1 << f.fraction)).astype(np.float64), exponent - f.bias - f.fraction))
    if f.special == "ieee":
        highest = (1 << (f.bits - 1 - f.fraction)) - 1
        values = np.where(exponent == highest, np.where(fraction == 0, np.inf, np.nan), values)
    elif f.special == "fn":
        values = np.where(magnitude == sign_bit - 1, np.nan, values)
    values = np.where(codes & sign_bit, -values, values)
    return np.where(codes == sign_bit, np.nan, values) if f.special == "fnuz" else values


def decode(name, array):
    """Values of what memory holds."""
    f = FORMATS[name]
    if name == "i1":
        return (array.view(np.uint8) & 1).astype(np.uint8)
    if not f.is_float:
        return array
    if f.bits > 16:
        with np.errstate(invalid="ignore"):
            return array.astype(np.float64)
    return values_of_codes(name)[array.view(np.uint8 if f.bits == 8 else np.uint16)]


@functools.lru_cache(None)
def _magnitudes(name):
    """Finite values from 0 up, by code."""
    values = values_of_codes(name)[:1 << (FORMATS[name].bits - 1)]
    return values[np.isfinite(values)]


def encode(name, values, towards_zero=False, saturate=None):
    """What memory holds of values rounded to the type, to nearest even or towards zero. What is too large becomes infinity, with
    `saturate` the largest number, infinity too; of fp8 that is so, as docs/language.md says (towards zero fp8e5 keeps infinity)."""
    f = FORMATS[name]
    with np.errstate(all="ignore"):
        if not f.is_float:
            return np.asarray(values).astype(f.stored)
        values = np.asarray(values, np.float64)
        if f.bits == 64:
            return values.copy()
        if f.bits == 32:
            nearest = values.astype(np.float32)
            if towards_zero:
                beyond = np.abs(nearest.astype(np.float64)) > np.abs(values)
                nearest = np.where(beyond & np.isfinite(values), np.nextafter(nearest, np.float32(0)), nearest).astype(np.float32)
            return nearest
        saturate = f.bits == 8 if saturate is None else saturate
        table = _magnitudes(name)
        magnitude = np.abs(values)
        below = np.searchsorted(table, np.where(np.isfinite(magnitude), magnitude, 0), side="right") - 1
        above = np.append(table, 2 * table[-1] - table[-2])[below + 1]
        if not towards_zero:
            middle = (table[below] + above) / 2
            below = below + ((magnitude > middle) | ((magnitude == middle) & (below % 2 == 1)))
        last = len(table) - 1
        below = np.minimum(below, last if saturate or towards_zero or f.special != "ieee" else last + 1)
        keeps = f.special == "ieee" and (towards_zero or not saturate)
        below = np.where(np.isinf(magnitude), last + 1 if keeps else last, below)
        codes = below | np.where(np.signbit(values), 1 << (f.bits - 1), 0)
        if f.special == "fnuz":
            codes = np.where(below == 0, 0, codes)
        nan = {"ieee": (1 << (f.bits - 1)) - 1, "fn": 0x7F, "fnuz": 0x80, "none": 0x7F}[f.special]
        codes = np.where(np.isnan(values), nan, codes)
    return codes.astype(np.uint8 if f.bits == 8 else np.uint16).view(f.stored)


class Numbers:
    """Random numbers that are the same in every version of NumPy: splitmix64 from a text."""

    def __init__(self, text):
        self.state = np.uint64(zlib.crc32(text.encode()))

    def words(self, count):
        with np.errstate(over="ignore"):
            at = self.state + np.arange(1, count + 1, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
            self.state = at[-1]
            z = (at ^ (at >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
            z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
            return z ^ (z >> np.uint64(31))

    def integers(self, low, high, count):
        """From low to high, both included, as int64."""
        return (self.words(count) % np.uint64(high - low + 1)).astype(np.int64) + low

    def uniform(self, low, high, count):
        return low + (high - low) * ((self.words(count) >> np.uint64(11)).astype(np.float64) * 2.0**-53)

    def permutation(self, count):
        return np.argsort(self.words(count), kind="stable")


def edges(name):
    """Values at which a type ends or changes."""
    f = FORMATS[name]
    if name == "i1":
        return [0, 1]
    if not f.is_float:
        info = np.iinfo(f.stored)
        return sorted({0, 1, 2, 3, info.max, info.max - 1, info.min, info.min + 1, info.max // 2 + 1, *((-1, -2) if f.signed else ())})
    tiny, largest, step = 2.0**f.least, None, 2.0**-f.fraction
    if f.bits <= 16:
        largest = float(_magnitudes(name)[-1])
    else:
        largest = float(np.finfo(f.stored).max)
    positive = [0.0, 1.0, 1.0 + step, 1.0 - step / 2, 0.5, 1.5, 2.5, 3.0, tiny, tiny * (1 - step), tiny * step, largest]
    both = [v for p in positive for v in (p, -p)]
    return both + ([np.inf, -np.inf, np.nan] if f.special == "ieee" else [np.nan] if f.special in ("fn", "fnuz") else [])


def random_of(name, count, numbers):
    """Of a third all bits are random, the others are near 1 or small."""
    f = FORMATS[name]
    if name == "i1":
        return numbers.integers(0, 1, count)
    words = numbers.words(count)
    if not f.is_float:
        shift = (numbers.words(count) % np.uint64(f.bits)).astype(np.uint64)
        narrow = (words & np.uint64((1 << f.bits) - 1)).astype(f"u{f.bits // 8}").view(f.stored)
        return narrow >> shift.astype(f.stored)
    bits = (words & np.uint64((1 << f.bits) - 1)).astype(f"u{f.bits // 8}").view(f.stored)
    near = decode(name, encode(name, numbers.uniform(-4, 4, count)))
    with np.errstate(invalid="ignore"):
        return np.where(np.arange(count) % 3 == 0, decode(name, bits), near)
