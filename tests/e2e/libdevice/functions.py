"""What run.py tries: functions of floats with the error they may have, and exact ones."""
import functools
import math
import operator
import os
from dataclasses import dataclass
from fractions import Fraction
from typing import Callable, Optional

import numpy as np

WIDE = np.longdouble
# pi as the sum of two, for references of functions of multiples of it.
PI = WIDE(math.pi) + WIDE(1.2246467991473532e-16)


@dataclass
class Function:
    bounds: dict  # units of the last place, by type
    reference: Optional[Callable] = None  # of arrays of long doubles
    interval: tuple = (-100, 100)  # where many inputs lie
    arguments: int = 1
    single_only: bool = False  # the reference is float64's: for fp32 alone
    shape: Optional[Callable] = None  # what makes arguments of random ones
    outside: Optional[Callable] = None  # where the bound does not hold
    absolute: Optional[dict] = None  # an error that is allowed too, in ones ..
    absolute_from: float = 0  # .. of arguments from here on
    points: tuple = ()  # arguments that once were wrong, or lie beside where a function ends


def vectorised(function):
    """A function of floats on arrays; what it refuses is NaN."""

    def call(*values):
        try:
            return function(*values)
        except (ValueError, OverflowError):
            return math.nan

    return lambda *arrays: np.vectorize(call, otypes=[np.float64])(*[a.astype(np.float64) for a in arrays]).astype(WIDE)


def sin_pi(x):
    with np.errstate(all="ignore"):
        rest = np.fmod(np.abs(x), WIDE(2))
        turns = np.rint(2 * rest)
        r = (rest - turns / 2) * PI
        quadrant = turns.astype(np.int64) & 3 if np.isfinite(turns).all() else np.nan_to_num(turns).astype(np.int64) & 3
        value = np.choose(quadrant, [np.sin(r), np.cos(r), -np.sin(r), -np.cos(r)])
        value = np.where(np.isfinite(x), np.where(x < 0, -value, value), np.nan)
        return np.where((np.floor(x) == x) & np.isfinite(x), np.copysign(WIDE(0), x), value)


def cos_pi(x):
    with np.errstate(all="ignore"):
        rest = np.fmod(np.abs(x), WIDE(2))
        turns = np.rint(2 * rest)
        r = (rest - turns / 2) * PI
        quadrant = np.nan_to_num(turns).astype(np.int64) & 3
        value = np.choose(quadrant, [np.cos(r), -np.sin(r), -np.cos(r), np.sin(r)])
        return np.where(np.isfinite(x), np.where(value == 0, WIDE(0), value), np.nan)


def length(*parts):
    """Infinite if a part is, whatever the others are."""
    infinite = np.any([np.isinf(part) for part in parts], axis=0)
    return np.where(infinite, np.inf, np.sqrt(sum(part * part for part in parts)))


def powers(a, b):
    """A half of them where the result is neither 0 nor infinite."""
    half = slice(len(a) // 2, None)
    a[half] = np.abs(a[half])
    most = 88 if a.dtype == np.float32 else 709
    with np.errstate(all="ignore"):
        spread = np.linspace(-most, most, len(a[half])) / np.log(a[half].astype(np.float64))
        b[half] = np.where(np.isfinite(spread), spread, b[half])
    return [a, b]


def log_gamma(x):
    return math.inf if math.isinf(x) or (x <= 0 and x == math.floor(x)) else math.lgamma(x)


def gamma(x):
    if x == 0:
        return math.copysign(math.inf, x)
    return math.inf if x > 171 else math.copysign(0.0, 1 if math.floor(x) % 2 == 0 else -1) if -math.inf < x < -180 and x != math.floor(x) else math.gamma(x)


def near_zeros_of_lgamma(x):
    return (x < -2.26) & (x > (-10.001 if x.dtype == np.float32 else -23.0001))


def both(single, double):
    return {"fp32": single, "fp64": double}


# Bounds: at most those of CUDA's table of single and double precision functions, but for tan of fp64.
FUNCTIONS = {
    "pow": Function(both(1, 1), np.power, arguments=2, shape=powers),
    "exp10": Function(both(1, 1), lambda x: np.power(WIDE(10), x), (-50, 50)),
    "expm1": Function(both(1, 1), np.expm1, (-5, 90)),
    "log1p": Function(both(1, 1), np.log1p, (-1, 3)),
    "log10": Function(both(1, 1), np.log10, (0, 1000)),
    "sinh": Function(both(1, 1), np.sinh, (-10, 10)),
    "cosh": Function(both(1, 1), np.cosh, (-10, 10)),
    "asinh": Function(both(1, 1), np.arcsinh, (-3, 3)),
    "acosh": Function(both(1, 1), np.arccosh, (1, 5)),
    "atanh": Function(both(1, 1), np.arctanh, (-1, 1)),
    "asin": Function(both(1, 1), np.arcsin, (-1, 1)),
    "acos": Function(both(1, 1), np.arccos, (-1, 1)),
    "atan": Function(both(2, 2), np.arctan, (-5, 5)),
    "atan2": Function(both(2, 2), np.arctan2, arguments=2),
    "tan": Function(both(4, 4), np.tan, points=(-2.0423825418124946e+277,)),
    "sinpi": Function(both(1, 1), sin_pi, points=(-0.25037047958444825,)),
    "cospi": Function(both(1, 1), cos_pi, points=(78.75619602522067,)),
    "cbrt": Function(both(1, 1), np.cbrt),
    "rcbrt": Function(both(1, 1), lambda x: 1 / np.cbrt(x)),
    "hypot": Function(both(1, 1), np.hypot, arguments=2),
    "rhypot": Function(both(1, 1), lambda x, y: 1 / np.hypot(x, y), arguments=2),
    "norm3d": Function(both(1, 1), length, arguments=3),
    "rnorm3d": Function(both(1, 1), lambda *parts: 1 / length(*parts), arguments=3),
    "norm4d": Function(both(1, 1), length, arguments=4),
    "rnorm4d": Function(both(1, 1), lambda *parts: 1 / length(*parts), arguments=4),
    "erfc": Function(both(4, 4), vectorised(math.erfc), (-3, 12), single_only=True),
    "erfcx": Function(both(4, 4)),
    "normcdf": Function(both(5, 5), vectorised(lambda x: math.erfc(-x / math.sqrt(2)) / 2), (-14, 6), single_only=True),
    "erfinv": Function(both(2, 3), None),
    "erfcinv": Function(both(3, 3), None),
    "normcdfinv": Function(both(4, 4), None),
    "lgamma": Function(both(4, 4), vectorised(log_gamma), (-30, 30), single_only=True, outside=near_zeros_of_lgamma,
                       points=(4.085003108497519e36, 4.085003425410169e36)),
    "tgamma": Function(both(5, 5), vectorised(gamma), (-42, 36), single_only=True, points=(-41.00002670288086, -41.000003814697266, -40.00002)),
    "cyl_bessel_i0": Function(both(6, 6)),
    "cyl_bessel_i1": Function(both(6, 6)),
    "j0": Function(both(9, 7), absolute=both(3e-7, 1e-15), absolute_from=8),
    "j1": Function(both(9, 7), absolute=both(3e-7, 1e-15), absolute_from=8),
    "y0": Function(both(9, 9), absolute=both(6e-7, 2e-15)),
    "y1": Function(both(9, 9), absolute=both(6e-7, 2e-15)),
    "add_rn": Function(both(0.5, 0.5), lambda x, y: x + y, arguments=2, single_only=True),
    "sub_rn": Function(both(0.5, 0.5), lambda x, y: x - y, arguments=2, single_only=True),
    "mul_rn": Function(both(0.5, 0.5), lambda x, y: x * y, arguments=2, single_only=True),
    "rint": Function(both(0, 0), np.rint),
    "nearbyint": Function(both(0, 0), np.rint),
    "trunc": Function(both(0, 0), np.trunc),
    "round": Function(both(0, 0), lambda x: np.copysign(np.floor(np.abs(x) + WIDE(0.5)), x),
                      points=(0.49999997, 0.49999999999999994, 1.4999999, 2.4999998, 4194302.5, 4194303.5, 8388609, 4503599627370495.5)),
    "fdim": Function(both(0.5, 0.5), lambda a, b: np.where(np.isnan(a) | np.isnan(b), np.nan, np.where(a > b, a - b, 0)), arguments=2),
    "copysign": Function(both(0, 0), np.copysign, arguments=2),
    "fmod": Function(both(0, 0), np.fmod, arguments=2),
    "rcp_rn": Function(both(0.5, 0.5), lambda x: 1 / x),
}


@functools.lru_cache(None)
def recorded(dtype):
    """name -> (arguments, results) of the file that references.py wrote."""
    found = {}
    path = os.path.join(os.path.dirname(os.path.abspath(__file__)), "references.txt")
    with open(path) as file:
        for line in file:
            if line.startswith("#"):
                continue
            name, x, high, low = line.split()
            x = float.fromhex(x)
            if dtype == np.float64 or float(np.float32(x)) == x or math.isnan(x):
                found.setdefault(name, []).append((x, WIDE(float.fromhex(high)) + WIDE(float.fromhex(low))))
    return {name: ([np.array([x for x, _ in rows], dtype)], np.array([y for _, y in rows], WIDE)) for name, rows in found.items()}


# Exact functions

def wrapped(value, bits):
    value &= (1 << bits) - 1
    return value - (1 << bits) if value >> (bits - 1) else value


def saturated(value, out_type):
    info = np.iinfo(out_type)
    if value != value:
        return 0 if info.bits == 32 else (info.min or 1 << 63)
    return info.min if value < info.min else info.max if value > info.max else int(value)


ROUNDINGS = {"rn": round, "rz": math.trunc, "rd": math.floor, "ru": math.ceil}


def rounded(value, direction):
    return ROUNDINGS[direction](value) if math.isfinite(value) else value


def from_zero(value):
    return int(math.copysign(math.floor(abs(value) + 0.5) if abs(value) < 2.0**52 else abs(value), value)) if math.isfinite(value) else value


def exponent(value):
    if value == 0 or value != value:
        return -(2**31)
    return 2**31 - 1 if math.isinf(value) else math.frexp(value)[1] - 1


def exponent_as_float(value):
    return float(exponent(value)) if math.isfinite(value) and value else -math.inf if value == 0 else abs(value)


def remainder(a, b):
    return math.nan if math.isinf(a) or b == 0 or a != a or b != b else math.remainder(a, b)


def directed(exact, dtype, direction):
    """The neighbour of an exact value in that direction; zeros by the caller."""
    nearest = dtype(float(exact)) if abs(exact) < Fraction(2) ** 1024 - Fraction(2) ** 970 else dtype(math.inf if exact > 0 else -math.inf)
    if np.isinf(nearest):
        most = np.finfo(dtype).max
        nearest = most if exact > 0 else -most
        if (direction == "ru" and exact > Fraction(float(most))) or (direction == "rd" and exact < -Fraction(float(most))):
            return float(np.copysign(np.inf, nearest))
    value = Fraction(float(nearest))
    toward = math.inf if direction == "ru" or (direction == "rz" and exact < 0) else -math.inf
    beyond = value < exact if toward > 0 else value > exact
    return float(np.nextafter(nearest, dtype(toward))) if beyond else float(nearest)


def directed_of(operation, direction, dtype):
    def call(a, b):
        if not (math.isfinite(a) and math.isfinite(b)):
            return float(operation(dtype(a), dtype(b)))
        exact = operation(Fraction(a), Fraction(b))
        if exact == 0:
            # Of a sum -0, unless both are +0.
            plain = float(operation(dtype(a), dtype(b)))
            other = -b if operation is operator.sub else b
            positive = math.copysign(1, a) > 0 and math.copysign(1, other) > 0
            return -0.0 if direction == "rd" and operation is not operator.mul and not positive else plain
        result = directed(exact, dtype, direction)
        return math.copysign(result, 1 if exact > 0 else -1)

    return call


def DISCRETE(special_values, pairs, inputs, count):
    count = min(count, 8192)
    numbers = np.random.default_rng(1)
    for prefix, dtype in (("float", np.float32), ("double", np.float64)):
        halves = (np.arange(200) - 100).astype(dtype) / 2
        x = np.concatenate([halves, inputs(dtype, count // 2, numbers, -5e9, 5e9), inputs(dtype, count // 2, numbers, -100, 100)])[:count]
        for name, out in (("int", np.int32), ("uint", np.uint32), ("ll", np.int64), ("ull", np.uint64)):
            for direction in ROUNDINGS:
                yield f"{prefix}2{name}_{direction}", [x], out, lambda v, d=direction, o=out: saturated(rounded(v, d), o)
        yield "llrint", [x], np.int64, lambda v: saturated(rounded(v, "rn"), np.int64)
        yield "llround", [x], np.int64, lambda v: saturated(from_zero(v), np.int64)
        yield "signbit", [x], np.int32, lambda v: int(math.copysign(1, v) < 0)
        yield "isnan", [x], np.int32, lambda v: int(v != v)
        yield "isinf", [x], np.int32, lambda v: int(math.isinf(v))
        yield "finitef" if dtype == np.float32 else "isfinited", [x], np.int32, lambda v: int(math.isfinite(v))
        yield "ilogb", [x], np.int32, exponent
        yield "logb", [x], dtype, exponent_as_float
        both = pairs(dtype, max(count, 8192), numbers, -100, 100)
        yield "remainder", both, dtype, remainder
        for name, operation in (("add", operator.add), ("sub", operator.sub), ("mul", operator.mul)):
            for direction in ("rz", "rd", "ru"):
                yield f"{name}_{direction}", both, dtype, directed_of(operation, direction, dtype)
        yield "nextafter", both, dtype, lambda a, b, t=dtype: np.nextafter(t(a), t(b)).item() if a == a and b == b else math.nan
        span = 400 if dtype == np.float32 else 2500
        n = numbers.integers(-span, span, len(x)).astype(np.int32)
        n[:4] = [2**31 - 1, -(2**31), 0, 1]
        for name in ("ldexp", "scalbn"):
            yield name, [x, n], dtype, lambda v, k, t=dtype: t(np.ldexp(WIDE(v), k)).item()
    x = np.concatenate([inputs(np.float64, count, numbers, -2, 2), inputs(np.float32, count, numbers, -2, 2).astype(np.float64) * (1 + 2.0**-40)])
    for direction in ("rd", "ru"):
        yield f"double2float_{direction}", [x], np.float32, lambda v, d=direction: directed(Fraction(v), np.float32, d) if math.isfinite(v) and v else v
    x = inputs(np.float32, count, numbers, -2, 2)
    yield "saturatef", [x], np.float32, lambda v: 0.0 if v != v or v == 0 else min(max(v, 0.0), 1.0)
    x = numbers.standard_normal(count)
    yield "double2hiint", [x], np.int32, lambda v: wrapped(int(np.float64(v).view(np.int64)) >> 32, 32)
    yield "double2loint", [x], np.int32, lambda v: wrapped(int(np.float64(v).view(np.int64)), 32)


def integers(dtype, count, seed):
    numbers, info = np.random.default_rng(seed), np.iinfo(dtype)
    values = numbers.integers(info.min, info.max, count, dtype, endpoint=True)
    values[:7] = [0, 1, info.max, info.min, info.max - 1, info.min + 1, 2]
    values[count // 2:] >>= numbers.integers(0, info.bits - 1, count - count // 2).astype(dtype)
    return values


def permuted(x, y, selector):
    data = (x & 0xFFFFFFFF).to_bytes(4, "little") + (y & 0xFFFFFFFF).to_bytes(4, "little")
    return wrapped(int.from_bytes(bytes(data[(selector >> (4 * i)) & 7] for i in range(4)), "little"), 32)


def INTEGERS(count):
    count = min(count, 4096)
    i32, u32, i64, u64 = np.int32, np.uint32, np.int64, np.uint64

    def of(*types):
        return [integers(t, count, i) for i, t in enumerate(types)]

    for t, bits in ((i32, 32), (i64, 64)):
        mask = (1 << bits) - 1
        yield "clz", of(t), i32, lambda x, b=bits, m=mask: b - (x & m).bit_length()
        yield "popc", of(t), i32, lambda x, m=mask: bin(x & m).count("1")
        yield "ffs", of(t), i32, lambda x: (x & -x).bit_length()
        yield "brev", of(t), t, lambda x, b=bits, m=mask: wrapped(int(format(x & m, f"0{b}b")[::-1], 2), b)
    for t in (i32, u32, i64, u64):
        yield "mulhi", of(t, t), t, lambda x, y, b=np.iinfo(t).bits: (x * y) >> b
    yield "mul24", of(i32, i32), i32, lambda x, y: wrapped(wrapped(x, 24) * wrapped(y, 24), 32)
    yield "mul24", of(u32, u32), u32, lambda x, y: (x & 0xFFFFFF) * (y & 0xFFFFFF) & 0xFFFFFFFF
    for t in (i32, u32):
        yield "hadd", of(t, t), t, lambda x, y: (x + y) >> 1
        yield "rhadd", of(t, t), t, lambda x, y: (x + y + 1) >> 1
    yield "sad", of(i32, i32, u32), i32, lambda x, y, z: wrapped(abs(x - y) + z, 32)
    yield "sad", of(u32, u32, u32), u32, lambda x, y, z: (abs(x - y) + z) & 0xFFFFFFFF
    yield "byte_perm", of(i32, i32, i32), i32, permuted
    yield "hiloint2double", of(i32, i32), np.float64, lambda h, l: i64(wrapped((h & 0xFFFFFFFF) << 32 | l & 0xFFFFFFFF, 64)).view(np.float64).item()
