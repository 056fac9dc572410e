"""Element types: their names, ranges, rounding, and what a .npy file holds of them.

Floats are carried as float64 that the type can hold, integers as NumPy's type of their width."""
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Format:
    name: str  # in signatures
    language: str  # in kernels, behind `tl.`
    kind: str  # "bool", "int", "uint", "float"
    bits: int
    stored: type  # in files
    precision: int = 0  # of a float: bits of the significand, the leading one included
    least: int = 0  # exponent of the smallest normal number
    largest: float = 0.0

    @property
    def is_float(self):
        return self.kind == "float"

    @property
    def is_int(self):
        return self.kind in ("int", "uint")

    @property
    def numpy(self):
        return np.float64 if self.is_float else self.stored

    @property
    def unit(self):
        """Half a unit of the last place, of 1."""
        return 2.0**-self.precision


FORMATS = {
    f.name: f
    for f in (
        Format("i1", "int1", "bool", 1, np.bool_),
        Format("i8", "int8", "int", 8, np.int8),
        Format("i16", "int16", "int", 16, np.int16),
        Format("i32", "int32", "int", 32, np.int32),
        Format("i64", "int64", "int", 64, np.int64),
        Format("u8", "uint8", "uint", 8, np.uint8),
        Format("u16", "uint16", "uint", 16, np.uint16),
        Format("u32", "uint32", "uint", 32, np.uint32),
        Format("u64", "uint64", "uint", 64, np.uint64),
        Format("fp8e4nv", "float8e4nv", "float", 8, np.uint8, 4, -6, 448.0),
        Format("fp8e5", "float8e5", "float", 8, np.uint8, 3, -14, 57344.0),
        Format("fp16", "float16", "float", 16, np.float16, 11, -14, 65504.0),
        Format("bf16", "bfloat16", "float", 16, np.uint16, 8, -126, float.fromhex("0x1.fep127")),
        Format("fp32", "float32", "float", 32, np.float32, 24, -126, float.fromhex("0x1.fffffep127")),
        Format("fp64", "float64", "float", 64, np.float64, 53, -1022, float.fromhex("0x1.fffffffffffffp1023")),
    )
}
INTS = [name for name, f in FORMATS.items() if f.is_int]
FLOATS = ["fp16", "bf16", "fp32", "fp64"]  # with arithmetic
FP8 = ["fp8e4nv", "fp8e5"]


def rounded(name, values, towards_zero=False):
    """Nearest, ties to even, of float64; what is too large becomes infinite."""
    f = FORMATS[name]
    values = np.asarray(values, np.float64)
    if name == "fp64":
        return values
    if name == "fp32" and not towards_zero:
        with np.errstate(over="ignore"):
            return values.astype(np.float32).astype(np.float64)
    with np.errstate(invalid="ignore", over="ignore"):
        _, exponent = np.frexp(np.where(np.isfinite(values), values, 0))
        step = np.ldexp(1.0, np.maximum(exponent - f.precision, f.least - f.precision + 1))
        scaled = np.where(np.isfinite(values), values, 0) / step
        result = (np.trunc(scaled) if towards_zero else np.rint(scaled)) * step
        result = np.where(np.abs(result) > f.largest, np.copysign(np.inf, values), result)
        return np.where(np.isfinite(values), result, values)


def _fp8_values(f):
    """What each of the 256 bytes means; infinities and NaN are NaN."""
    byte = np.arange(256)
    fraction_bits = f.precision - 1
    exponent, fraction = (byte & 0x7F) >> fraction_bits, byte & ((1 << fraction_bits) - 1)
    step = 2.0 ** (f.least - fraction_bits)
    magnitude = np.where(exponent == 0, fraction * step, (fraction + (1 << fraction_bits)) * step * 2.0 ** np.maximum(exponent - 1.0, 0))
    return np.where(magnitude > f.largest, np.nan, np.where(byte & 0x80, -magnitude, magnitude))


FP8_VALUES = {name: _fp8_values(FORMATS[name]) for name in FP8}


def to_bits(name, values):
    """Values that the type can hold to what a file holds."""
    if name == "bf16":
        return (np.asarray(values, np.float32).view(np.uint32) >> 16).astype(np.uint16)
    if name in FP8:
        values = np.asarray(values, np.float64)
        table = FP8_VALUES[name][:128]
        count = int(np.sum(~np.isnan(table)))
        found = np.searchsorted(table[:count], np.abs(values))
        assert (table[found] == np.abs(values)).all(), "not rounded"
        return (found + 128 * np.signbit(values)).astype(np.uint8)
    return np.asarray(values).astype(FORMATS[name].stored)


def from_bits(name, bits):
    if name == "bf16":
        return (bits.view(np.uint16).astype(np.uint32) << 16).view(np.float32).astype(np.float64)
    if name in FP8:
        return FP8_VALUES[name][bits.view(np.uint8)]
    if name == "i1":
        return bits.view(np.uint8) != 0
    return bits.astype(np.float64) if FORMATS[name].is_float else bits
