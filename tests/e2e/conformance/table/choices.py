"""Where, minimum, maximum, clamp and their rules for NaN and the sign of zero."""
import numpy as np

from formats import FLOATS, NUMBERS, Numbers
from rows import Row, codes, elementwise, given, out, pair, some

NAN = "language.md#operators"
ELEMENTWISE = "language.md#elementwise"


def as_fp32(t):
    """What extremes of a type have."""
    return "fp32" if t == "bf16" else t


def lowest(x, y):
    """NaN loses, and -0.0 is below 0.0."""
    smaller = np.where((x < y) | ((x == y) & np.signbit(x)), x, y) if x.dtype.kind == "f" else np.minimum(x, y)
    return np.where(np.isnan(x), y, np.where(np.isnan(y), x, smaller)) if x.dtype.kind == "f" else smaller


def highest(x, y):
    return -lowest(-x, -y) if x.dtype.kind == "f" else np.maximum(x, y)


def spread(f):
    """The same, but NaN if either is."""
    return lambda x, y: np.where(np.isnan(x) | np.isnan(y), np.nan, f(x, y))


def extremes():
    for name, f in (("minimum", lowest), ("maximum", highest)):
        for t in NUMBERS:
            yield elementwise(f"{name} {t}", (name,), NAN, f"tl.{name}(x, y)", pair(t, t, 256, name), as_fp32(t), f)
        for t in FLOATS:
            yield elementwise(f"{name} {t} propagating", (name, "PropagateNan"), NAN, f"tl.{name}(x, y, propagate_nan=tl.PropagateNan.ALL)",
                              pair(t, t, 256, name), as_fp32(t), spread(f))
        yield elementwise(f"{name} literal", (name,), NAN, f"tl.{name}(x, 3)", [some("i32", 64)], "i32", lambda x, f=f: f(x, np.int32(3)))
        yield elementwise(f"{name} zero literal", (name,), NAN, f"tl.{name}(x, 0.0)", [some("fp32", 64)], "fp32",
                          lambda x, f=f: f(x, np.zeros_like(x)))
    for name, f in (("min", lowest), ("max", highest)):
        for t in ("i32", "fp32", "fp64", "u32", "i64"):
            yield elementwise(f"tl.math.{name} {t}", (f"lib_{name}",), ELEMENTWISE, f"tl.math.{name}(x, y)", pair(t, t, 256, name), t, f,
                              apart="not in tl.math")
            if t in ("fp32", "fp64"):
                continue
            yield elementwise(f"libdevice.{name} {t}", (f"lib_{name}",), ELEMENTWISE, f"libdevice.{name}(x, y)", pair(t, t, 256, name), t, f,
                              apart="not in libdevice")
        for t in ("i32", "fp32"):
            yield elementwise(f"python {name} {t}", (f"py_{name}",), "language.md#python", f"{name}(x, y)", pair(t, t, 128, "py"), t, f)
        yield elementwise(f"python {name} three", (f"py_{name}",), "language.md#python", f"{name}(x, 3, 5)", [some("i32", 64)], "i32",
                          lambda x, f=f: f(f(x, np.int32(3)), np.int32(5)))


def clamps():
    for t in FLOATS:
        numbers = Numbers(f"clamp {t}")
        x, made = some(t, 128, "clamp"), as_fp32(t)
        of_literals = "fp64" if t == "fp64" else "fp32"
        low, high = given(t, numbers.uniform(-3, 0, 128)), given(t, numbers.uniform(0, 3, 128))
        yield elementwise(f"clamp {t}", ("clamp",), NAN, "tl.clamp(x, y, z)", [x, low, high], made, lambda x, lo, hi: lowest(highest(x, lo), hi))
        yield elementwise(f"clamp {t} propagating", ("clamp",), NAN, "tl.clamp(x, y, z, propagate_nan=tl.PropagateNan.ALL)", [x, low, high], made,
                          lambda x, lo, hi: spread(lowest)(spread(highest)(x, lo), hi))
        yield elementwise(f"clamp {t} literals", ("clamp",), NAN, "tl.clamp(x, 0.0, 1.5)", [x], of_literals,
                          lambda x: lowest(highest(x, np.zeros_like(x)), np.full_like(x, 1.5)))
        yield elementwise(f"clamp {t} symmetric", ("clamp",), NAN, "tl.clamp(x, -1.5, 1.5)", [x], of_literals,
                          lambda x: highest(lowest(x, np.full_like(x, 1.5)), np.full_like(x, -1.5)), apart="NaN becomes either bound, by capability")
    for t in ("i32", "u8", "i64"):
        numbers = Numbers(f"clamp {t}")
        x, low, high = some(t, 128, "clamp"), given(t, numbers.integers(0, 40, 128)), given(t, numbers.integers(40, 120, 128))
        yield elementwise(f"clamp {t}", ("clamp",), NAN, "tl.clamp(x, y, z)", [x, low, high], t, lambda x, lo, hi: np.minimum(np.maximum(x, lo), hi),
                          apart="of floats alone before 3.9")


def wheres():
    for t in ["i1", *NUMBERS]:
        x, y = pair(t, t, 128, "where")
        mask = given("i1", np.arange(128) % 3 == 0)
        yield elementwise(f"where {t}", ("where",), ELEMENTWISE, "tl.where(z, x, y)", [x, y, mask], t, lambda x, y, c: np.where(c, x, y))
    for t in ("i32", "fp16", "fp64"):
        yield elementwise(f"where literal {t}", ("where",), ELEMENTWISE, "tl.where(x > 1, x, 0)", [some(t, 64)], t,
                          lambda x: np.where(x > 1, x, 0).astype(x.dtype))
    yield elementwise("where mixed", ("where",), ELEMENTWISE, "tl.where(y > 0, x, y)", pair("fp16", "fp32", 128), "fp32",
                      lambda x, y: np.where(y > 0, x, y))
    for shape, mask_shape in (((8, 1), (1, 16)), ((1, 16), (8, 1)), ((8, 16), (1, 1))):
        array = given("i32", np.arange(int(np.prod(shape))).reshape(shape))
        mask = given("i1", (np.arange(int(np.prod(mask_shape))) % 2).reshape(mask_shape))
        full = np.broadcast_shapes(shape, mask_shape)
        body = f"""
r = tl.arange(0, {shape[0]})[:, None] * {shape[1]} + tl.arange(0, {shape[1]})[None, :]
c = tl.arange(0, {mask_shape[0]})[:, None] * {mask_shape[1]} + tl.arange(0, {mask_shape[1]})[None, :]
x = tl.load(x_p + r)
v = tl.where(tl.load(c_p + c), x, -1)
w = tl.arange(0, {full[0]})[:, None] * {full[1]} + tl.arange(0, {full[1]})[None, :]
tl.store(o_p + w, v)"""
        yield Row(f"where shapes {shape} {mask_shape}", ("where",), ELEMENTWISE, {"x_p": array, "c_p": mask, "o_p": out("i32", full)}, body,
                  lambda x_p, c_p: np.where(c_p != 0, x_p, -1), types=("i32",))


def absolute():
    for t in NUMBERS:
        yield elementwise(f"abs {t}", ("abs",), ELEMENTWISE, "tl.abs(x)", [some(t, 64)], t, np.abs)
        if t in ("i32", "fp32", "u8"):
            yield elementwise(f"python abs {t}", ("py_abs",), "language.md#python", "abs(x)", [some(t, 64)], t, np.abs, apart="no abs of Python's")
    for t in ("i32", "i64", "fp32", "fp64"):
        yield elementwise(f"libdevice.abs {t}", ("abs",), ELEMENTWISE, "libdevice.abs(x)", [some(t, 64)], t, np.abs)


def fp8():
    """What does not compute: choices, and what converts first."""
    finite = np.arange(256) & 0x80 | np.arange(256) % 0x7C
    two = {t: codes(t, finite.astype(np.uint8)) for t in ("fp8e4nv", "fp8e5")}
    chosen = np.arange(256) % 3 == 0
    for t, x in two.items():
        y = codes(t, finite[::-1].astype(np.uint8))
        yield elementwise(f"where {t}", ("where",), ELEMENTWISE, "tl.where(i % 3 == 0, x, y)", [x, y], t, lambda x, y: np.where(chosen, x, y))
        yield elementwise(f"where {t} or zero", ("where",), ELEMENTWISE, "tl.where(i % 3 == 0, x, 0.0)", [x], t, lambda x: np.where(chosen, x, 0))
        yield elementwise(f"abs {t}", ("abs",), ELEMENTWISE, "tl.abs(x)", [x], t, np.abs)
        yield elementwise(f"clamp {t}", ("clamp",), NAN, "tl.clamp(x, -1.5, 2.0)", [x], "fp32", lambda x: np.clip(x, -1.5, 2))
        for name in ("max", "min"):
            yield Row(f"{name} {t}", (name,), NAN, {"x_p": x, "o_p": out("fp32", 1)},
                      f"r = tl.{name}(tl.load(x_p + tl.arange(0, 256)), 0)\ntl.static_assert(r.dtype == tl.float32)\ntl.store(o_p, r)",
                      lambda x_p, f=getattr(np, name): f(x_p)[None], types=(t, "fp32"))
    mixed = [two["fp8e4nv"], codes("fp8e5", finite[::-1].astype(np.uint8))]
    yield elementwise("where of two kinds of fp8", ("where",), ELEMENTWISE, "tl.where(i % 3 == 0, x, y)", mixed, "fp16",
                      lambda x, y: np.where(chosen, x, y))
    yield elementwise("sum of two kinds of fp8", (), NAN, "x + y", mixed, "fp16", lambda x, y: x.astype(np.float64) + y)


def rows():
    for part in (extremes, clamps, wheres, absolute, fp8):
        yield from part()


