"""Conversions: every type to every other, rounding, saturation, bits kept; what a store converts."""
import numpy as np

from formats import FLOATS, FORMATS, FP8, INTS, NUMBERS, Numbers, decode, encode, language, values_of_codes
from rows import Row, Stored, codes, elementwise, given, out, some

OPERATORS = "language.md#operators"
CUSTOM = ["fp8e4b15", "fp8e4b8", "fp8e5b16"]
NO_FP64 = "no conversion between fp64 and fp8"
ONLY_AMD = "types of AMD's GPUs and Triton's interpreter"


def exact_float(values):
    """float64 of integers; what it cannot hold is rounded to odd, which a further rounding does not see."""
    values = np.asarray(values)
    wide = values.astype(np.longdouble)
    nearest = values.astype(np.float64)
    below = np.where(np.abs(nearest.astype(np.longdouble)) > np.abs(wide), np.nextafter(nearest, 0), nearest)
    inexact = below.astype(np.longdouble) != wide
    return np.where(inexact, (below.view(np.uint64) | np.uint64(1)).view(np.float64), below)


def convert(source, target):
    s, t = FORMATS[source], FORMATS[target]

    def apply(x):
        if target == "i1":
            return (x != 0).astype(np.uint8)
        if t.is_float:
            if source == "fp64" or s.is_float:
                return x
            return x.astype(np.float32).astype(np.float64) if target == "fp32" else x.astype(np.float64) if target == "fp64" else exact_float(x)
        if s.is_float:
            return np.array([int(v) for v in x.tolist()], object).astype(t.stored)
        return x.astype(t.stored)

    return apply


def outside(target):
    """Which floats do not fit an integer type."""
    info = np.iinfo(FORMATS[target].stored)
    return lambda v: ~((np.trunc(np.where(np.isfinite(v), v, 0)) >= float(info.min)) & (v < float(info.max) - (0 if info.bits < 64
                                                                                                               else 1024)) & np.isfinite(v))


def numeric():
    for source in ["i1", *NUMBERS]:
        for target in ["i1", *NUMBERS]:
            if source == target:
                continue
            without = outside(target) if FORMATS[source].is_float and target in INTS else None
            values = some(source, 128, f"to {target}", without)
            yield elementwise(f"{source} to {target}", ("to",), OPERATORS, f"x.to({language(target)})", [values], target, convert(source, target))
    for t in NUMBERS:
        yield elementwise(f"cast {t}", ("cast",), OPERATORS, f"tl.cast(x, {language(t)})", [some("i8", 64)], t, convert("i8", t))


def every_code(name):
    return codes(name, np.arange(256, dtype=np.uint8))


def boundaries(name, target, count):
    """Values of a type near those of a narrower one: they, what lies between, and beyond the largest."""
    table = np.abs(values_of_codes(target))
    table = np.unique(table[np.isfinite(table)])
    middles = (table[1:] + table[:-1]) / 2
    last = table[-1] + (table[-1] - table[-2]) * np.array([0.25, 0.5, 0.75, 1, 2])
    values = np.concatenate([table[:20], middles[:20], table[-20:], middles[-20:], last])
    numbers = Numbers(f"{name} {target}")
    values = np.concatenate([values, -values, [0.0, -0.0, np.inf, -np.inf, np.nan]])
    with np.errstate(over="ignore"):
        more = np.concatenate([values * (1 + 2.0**-FORMATS[name].fraction), np.ldexp(numbers.uniform(1, 2, count), numbers.integers(-22, 20, count))])
    return given(name, np.concatenate([values, more])[:count])


def fp8():
    for source in FP8:
        for target in FLOATS:
            yield elementwise(f"{source} to {target}", ("to",), OPERATORS, f"x.to({language(target)})", [every_code(source)], target, lambda x: x,
                              apart=NO_FP64 if target == "fp64" else "")
        other = FP8[1 - FP8.index(source)]
        yield elementwise(f"{source} to {other}", ("to",), OPERATORS, f"x.to({language(other)})", [every_code(source)], other, lambda x: x,
                          apart="no conversion from fp8 to fp8")
    for source in ("fp16", "bf16", "fp32"):
        for target in FP8:
            differs = "fp16 and bf16 beyond the largest become infinity" if target == "fp8e5" and source != "fp32" else ""
            yield elementwise(f"{source} to {target}", ("to",), OPERATORS, f"x.to({language(target)})", [boundaries(source, target, 256)], target,
                              lambda x: x, apart=differs)
    for target in FP8:
        yield elementwise(f"fp64 to {target}", ("to",), OPERATORS, f"x.to({language(target)})", [boundaries("fp64", target, 256)], target,
                          lambda x: x, apart=NO_FP64)
    for source in CUSTOM:
        apart = ONLY_AMD if source != "fp8e4b15" else ""
        for target in ("fp16", "fp32", "bf16"):
            yield elementwise(f"{source} to {target}", ("to",), "language.md#values-and-types", f"x.to({language(target)})", [every_code(source)],
                              target,
                              lambda x: x, apart=apart or ("" if target != "bf16" else "converts it to fp16 and fp32 alone"))
        if source != "fp8e4b15":
            for wide in ("fp16", "fp32"):
                yield elementwise(f"{wide} to {source}", ("to",), OPERATORS, f"x.to({language(source)})", [boundaries(wide, source, 256)], source,
                                  lambda x: x, apart=apart)
    for wide in ("fp16", "fp32"):
        yield elementwise(f"{wide} to fp8e4b15", ("to",), OPERATORS, "x.to(tl.float8e4b15)", [boundaries(wide, "fp8e4b15", 256)], "fp8e4b15", to_b15)


def to_b15(x):
    """By way of fp16, rounded towards zero, then to nearest, ties away from zero; at most 1.75."""
    half = decode("fp16", encode("fp16", x, towards_zero=True, saturate=True))
    magnitude = np.where(np.isnan(half), 1.75, np.minimum(np.abs(half), 1.75))
    _, exponent = np.frexp(np.where(magnitude == 0, 2.0**-15, magnitude))
    step = np.ldexp(1.0, np.maximum(exponent - 1, -14) - 3)
    return np.copysign(np.minimum(np.floor(magnitude / step + 0.5) * step, 1.75), x)


def towards_zero():
    for source, target in (("fp32", "fp16"), ("fp32", "bf16"), ("fp32", "fp8e5"), ("fp16", "fp8e5"), ("bf16", "fp8e5"), ("fp64", "fp32"),
                           ("fp64", "fp16"),
                           ("fp64", "bf16")):
        if FORMATS[target].bits == 32:
            values = some(source, 128, "rtz")
        else:
            values = boundaries(source, target, 256)
        row = elementwise(f"{source} to {target} rtz", ("to",), OPERATORS, f'x.to({language(target)}, fp_downcast_rounding="rtz")', [values], target)
        row.exact = lambda x_p, t=target: Stored(encode(t, x_p, towards_zero=True))
        row.apart = "" if source == "fp32" else "of fp32 alone"
        yield row
    for source, target in (("fp32", "fp16"), ("fp32", "bf16")):
        yield elementwise(f"cast {source} to {target} rtne", ("cast",), OPERATORS, f'tl.cast(x, {language(target)}, fp_downcast_rounding="rtne")',
                          [boundaries(source, target, 256)], target, lambda x: x)


def bits_kept():
    families = (["i8", "u8", "fp8e4nv", "fp8e5", "fp8e4b15"], ["i16", "u16", "fp16", "bf16"], ["i32", "u32", "fp32"], ["i64", "u64", "fp64"])
    for family in families:
        for source in family:
            for target in family:
                if source == target:
                    continue
                array = some(source, 64, "bits") if FORMATS[source].bits > 8 else every_code(source)
                row = elementwise(f"bitcast {source} to {target}", ("to",), OPERATORS, f"x.to({language(target)}, bitcast=True)", [array], target)
                row.exact = lambda x_p, t=target, a=array: Stored(a.stored.view(FORMATS[t].stored))
                yield row
    array = some("fp32", 64, "cast")
    row = elementwise("cast bitcast fp32 to i32", ("cast",), OPERATORS, "tl.cast(x, tl.int32, bitcast=True)", [array], "i32")
    row.exact = lambda x_p: Stored(array.stored.view(np.int32))
    yield row


def stored():
    for source, target in (("fp32", "fp16"), ("fp32", "bf16"), ("i32", "i8"), ("i64", "i16"), ("i32", "fp32"), ("fp64", "fp32"), ("fp16", "fp32"),
                           ("i8", "i64"),
                           ("u8", "i16"), ("fp32", "i32")):
        values = some(source, 64, f"store {target}", outside(target) if FORMATS[source].is_float and target in INTS else None)
        yield Row(f"store {source} as {target}", ("store",), OPERATORS, {"x_p": values, "o_p": out(target, 64)},
                  "i = tl.arange(0, 64)\ntl.store(o_p + i, tl.load(x_p + i))", lambda x_p, s=source, t=target: convert(s, t)(x_p),
                  types=(source, target))
    yield Row("store i32 as i1", ("store",), OPERATORS, {"x_p": given("i32", np.arange(64) - 32), "o_p": out("i1", 64)},
              "i = tl.arange(0, 64)\ntl.store(o_p + i, tl.load(x_p + i) > 0)", lambda x_p: (x_p > 0).astype(np.uint8), types=("i1",))


def rows():
    for part in (numeric, fp8, towards_zero, bits_kept, stored):
        yield from part()
