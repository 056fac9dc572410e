"""Operands for probes: extreme, random and related values of every PTX type, as the bits in 64-bit words."""
import functools
import zlib

import numpy as np

BITS = {"pred": 1, "b8": 8, "u8": 8, "s8": 8, "b16": 16, "u16": 16, "s16": 16, "f16": 16, "bf16": 16, "e4m3x2": 16,
        "e5m2x2": 16, "b32": 32, "u32": 32, "s32": 32, "f32": 32, "tf32": 32, "f16x2": 32, "bf16x2": 32, "u16x2": 32,
        "s16x2": 32, "b64": 64, "u64": 64, "s64": 64, "f64": 64, "f32x2": 64, "b128": 128, "e4m3": 8, "e5m2": 8}
# type: (exponent bits, mantissa bits)
FLOATS = {"f16": (5, 10), "bf16": (8, 7), "f32": (8, 23), "f64": (11, 52), "e4m3": (4, 3), "e5m2": (5, 2), "tf32": (8, 23)}
PAIRS = {"f16x2": "f16", "bf16x2": "bf16", "f32x2": "f32", "u16x2": "u16", "s16x2": "s16", "e4m3x2": "e4m3",
         "e5m2x2": "e5m2"}


def mask(bits):
    return np.uint64((1 << bits) - 1)


def words(values, bits):
    return np.array([v & ((1 << bits) - 1) for v in values], np.uint64)


def extreme_integers(bits):
    values = [0, 1, 2, 3, 5, 7, 10, 100, -1, -2, -3, -100, 0x5555555555555555, 0x3333333333333333, 0x0123456789abcdef]
    values += [~v for v in values[-3:]]
    for p in range(1, bits):
        values += [1 << p, (1 << p) - 1, (1 << p) + 1, -(1 << p)]
    return np.unique(words(values, bits))


def extreme_floats(exponent, mantissa):
    """Zeros, subnormal and normal limits, NaNs with payloads, neighbours of powers of two, limits of other formats."""
    bits, bias = 1 + exponent + mantissa, (1 << (exponent - 1)) - 1
    one, top = 1 << mantissa, ((1 << exponent) - 1) << mantissa
    values = [0, 1, 2, one - 1, one, one + 1, one >> 1, top - 1, top, top | one >> 1, top | (one - 1), top | 1, top | one >> 2,
              top | one >> 1 | 0x15 % one, top - one, top - 2 * one, bias * one, bias * one + 1, bias * one - 1,
              bias * one + one // 2, (bias + 1) * one + one // 2]
    for p in (1, 2, 3, 4, 7, 8, 10, 11, 15, 16, 23, 24, 31, 32, 52, 53, 63, 64, 126, 127, 128):
        for e in (bias + p, bias - p):
            if 0 < e < (1 << exponent) - 1:
                values += [e * one - 1, e * one, e * one + 1, e * one + one // 2]
    for number in (448.0, 464.0, 465.0, 240.0, 57344.0, 61440.0, 65504.0, 65519.0, 65520.0, 0.001953125, 0.0009765625, 6.0e-8,
                   2.9802322e-8, 3.3895314e38, 3.4028235e38, 1.1754942e-38, 0.1, 3.14159265, 2.5, 3.5, -0.5, 126.5, 255.5):
        if (exponent, mantissa) == (8, 23):
            values.append(int(np.float32(number).view(np.uint32)))
        elif (exponent, mantissa) == (11, 52):
            values.append(int(np.float64(number).view(np.uint64)))
    values += [v | 1 << (bits - 1) for v in values]
    return np.unique(words(values, bits))


def patterned(rng, n, bits):
    """Random bits whose low part, of random length, is 0..0, 10..0, 10..01, 01..1 or 1..1: halfway cases of roundings."""
    value = rng.integers(0, 1 << 64, n, np.uint64, endpoint=False) if bits == 64 else rng.integers(0, 1 << bits, n, np.uint64)
    length = rng.integers(1, bits, n).astype(np.uint64)
    low = (np.uint64(1) << length) - np.uint64(1)
    half = np.uint64(1) << (length - np.uint64(1))
    choices = np.stack([np.zeros(n, np.uint64), half, half | np.uint64(1), half - np.uint64(1), low])
    return (value & ~low) | (choices[rng.integers(0, 5, n), np.arange(n)] & low)


def float_like(rng, n, exponent, mantissa):
    """Random numbers: uniform bits, moderate exponents, patterned mantissas."""
    bits, bias = 1 + exponent + mantissa, (1 << (exponent - 1)) - 1
    raw = rng.integers(0, 1 << 64, n, np.uint64, endpoint=False) & mask(bits) if bits == 64 else \
        rng.integers(0, 1 << bits, n, np.uint64)
    reach = min(30, bias - 1)
    moderate = rng.integers(bias - reach, bias + reach + 1, n).astype(np.uint64) << np.uint64(mantissa)
    low = np.where(rng.integers(0, 2, n) == 1, patterned(rng, n, mantissa + 1) & mask(mantissa), raw & mask(mantissa))
    sign = (raw >> np.uint64(bits - 1)) << np.uint64(bits - 1)
    kind = rng.integers(0, 3, n)
    return np.where(kind == 0, raw, sign | moderate | low) & mask(bits)


def extremes(dtype):
    if dtype in PAIRS:
        return extremes(PAIRS[dtype])
    if dtype in FLOATS:
        return extreme_floats(*FLOATS[dtype])
    return extreme_integers(max(BITS[dtype], 8))


def random_values(rng, dtype, n):
    if dtype in FLOATS:
        return float_like(rng, n, *FLOATS[dtype])
    bits = BITS[dtype]
    if bits == 1:
        return rng.integers(0, 2, n, np.uint64)
    small = rng.integers(-300, 300, n).astype(np.int64).view(np.uint64)
    return np.where(rng.integers(0, 4, n) == 0, small, patterned(rng, n, bits)) & mask(bits)


COUNTS = np.array(list(range(0, 72)) + [95, 96, 127, 128, 129, 255, 256, 257, 288, 1 << 16, 1 << 31, (1 << 32) - 1, (1 << 32) - 32],
                  np.uint64)


def draw_one(rng, dtype, n, role):
    """n values of an element type: a third extreme."""
    if role == "count":
        chosen = COUNTS[rng.integers(0, len(COUNTS), n)]
        return np.where(rng.integers(0, 3, n) == 0, rng.integers(0, 33, n, np.uint64), chosen)
    if role == "byte":
        return draw_one(rng, dtype, n, "count") & np.uint64(255)
    if role == "base":  # fns: a bit's number; the PTX ISA says nothing of others
        return rng.integers(0, 32, n, np.uint64)
    if role == "selector":
        return np.where(rng.integers(0, 4, n) == 0, rng.integers(0, 1 << 32, n, np.uint64), rng.integers(0, 1 << 16, n, np.uint64))
    if role == "position":
        return np.where(rng.integers(0, 5, n) == 0, random_values(rng, dtype, n), rng.integers(-34, 35, n).astype(np.int64).view(
            np.uint64) & mask(BITS[dtype]))
    pool = extremes(dtype)
    return np.where(rng.integers(0, 3, n) == 0, pool[rng.integers(0, len(pool), n)], random_values(rng, dtype, n))


def related(rng, a, dtype):
    """Values near those of `a`: equal, negated, few bits apart."""
    bits = BITS[dtype]
    flip = (np.uint64(1) << rng.integers(0, bits, len(a)).astype(np.uint64))
    sign = np.uint64(1 << (bits - 1))
    near = (a + rng.integers(-3, 4, len(a)).astype(np.int64).view(np.uint64)) & mask(bits)
    return np.choose(rng.integers(0, 5, len(a)), [a, a ^ sign, a ^ flip, near, near ^ sign])


def cancelling(rng, a, b, dtype):
    """For fma: about -a*b."""
    kind = {"f32": np.float32, "f64": np.float64, "f16": np.float16}.get(dtype)
    if not kind:
        return related(rng, a, dtype)
    unsigned = {"f32": np.uint32, "f64": np.uint64, "f16": np.uint16}[dtype]
    with np.errstate(all="ignore"):
        product = -(a.astype(unsigned).view(kind).astype(np.float64) * b.astype(unsigned).view(kind).astype(np.float64))
        near = product.astype(kind).view(unsigned).astype(np.uint64)
    return (near + rng.integers(-2, 3, len(a)).astype(np.int64).view(np.uint64)) & mask(BITS[dtype])


def draw_elements(rng, dtypes, roles, n):
    columns = [draw_one(rng, d, n, r) for d, r in zip(dtypes, roles)]
    plain = [i for i, r in enumerate(roles) if not r and dtypes[i] != "pred"]
    if len(plain) >= 2 and dtypes[plain[0]] == dtypes[plain[1]]:
        # All ordered pairs of extremes that fit into a third; then operands near each other.
        first, second = plain[:2]
        pool = extremes(dtypes[first])
        x, y = (v.ravel() for v in np.meshgrid(pool, pool))
        order = rng.permutation(len(x))[: n // 3]
        columns[first][: len(order)], columns[second][: len(order)] = x[order], y[order]
        tail = slice(n - n // 4, n)
        columns[second][tail] = related(rng, columns[first][tail], dtypes[first])
        if len(plain) >= 3 and dtypes[plain[2]] == dtypes[first]:
            span = slice(n // 3, n // 2)
            columns[plain[2]][span] = cancelling(rng, columns[first][span], columns[second][span], dtypes[first])
    return columns


@functools.lru_cache(maxsize=None)
def draw(dtypes, roles, n):
    """Columns of n 64-bit words, a column for each operand; the same for the same arguments."""
    rng = np.random.default_rng(zlib.crc32(repr((dtypes, roles, n)).encode()))
    if len(dtypes) == 1 and not roles[0]:
        return [unary(rng, dtypes[0], n)]
    halves = [PAIRS.get(d) for d in dtypes]
    if not any(halves):
        return draw_elements(rng, dtypes, roles, n)
    elements = [h or d for h, d in zip(halves, dtypes)]
    low, high = draw_elements(rng, elements, roles, n), draw_elements(rng, elements, roles, n)
    return [a | (b[::-1] << np.uint64(BITS[e])) if h else a for a, b, h, e in zip(low, high, halves, elements)]


def unary(rng, dtype, n):
    """One operand: every value of 16 bits, else extremes and random ones; floats also uniform in small ranges."""
    bits = BITS[dtype]
    if bits <= 16:
        return np.resize(np.arange(1 << bits, dtype=np.uint64), max(n, 1 << 16) if bits == 16 else n)
    if dtype in PAIRS and bits == 32:
        return np.arange(1 << 16, dtype=np.uint64) | rng.permutation(1 << 16).astype(np.uint64) << np.uint64(16)
    if dtype in PAIRS:
        element = PAIRS[dtype]
        return unary(rng, element, n) | unary(rng, element, n)[::-1] << np.uint64(BITS[element])
    pool = extremes(dtype)
    values = np.concatenate([pool, random_values(rng, dtype, n)])[:n]
    kind = {"f32": (np.float32, np.uint32), "f64": (np.float64, np.uint64)}.get(dtype)
    if kind:
        for k, reach in enumerate((1.0, 7.0, 320.0)):
            at = slice(n // 2 + k * (n // 8), n // 2 + (k + 1) * (n // 8))
            values[at] = rng.uniform(-reach, reach, n // 8).astype(kind[0]).view(kind[1])
    return values


def decode(values, dtype):
    """The float64 numbers of bits of f16, bf16, f32, f64, e4m3, e5m2."""
    with np.errstate(all="ignore"):  # signalling NaNs
        return decode_quietly(values, dtype)


def decode_quietly(values, dtype):
    exponent, mantissa = FLOATS[dtype]
    if dtype == "f64":
        return values.view(np.float64)
    if dtype in ("f32", "tf32"):
        return values.astype(np.uint32).view(np.float32).astype(np.float64)
    if dtype == "bf16":
        return (values.astype(np.uint32) << 16).view(np.float32).astype(np.float64)
    if dtype == "f16":
        return values.astype(np.uint16).view(np.float16).astype(np.float64)
    bias = (1 << (exponent - 1)) - 1
    e = (values >> np.uint64(mantissa)).astype(np.int64) & ((1 << exponent) - 1)
    m = (values & mask(mantissa)).astype(np.float64)
    number = np.where(e == 0, m * 2.0 ** (1 - bias - mantissa), (m + (1 << mantissa)) * 2.0 ** (e - bias - mantissa))
    top = (1 << exponent) - 1
    if dtype == "e5m2":
        number = np.where(e == top, np.where(m == 0, np.inf, np.nan), number)
    else:
        number = np.where((e == top) & (m == (1 << mantissa) - 1), np.nan, number)
    return np.where(values >> np.uint64(exponent + mantissa) & np.uint64(1), -number, number)
