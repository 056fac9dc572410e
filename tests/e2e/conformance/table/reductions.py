"""Reductions and scans: kinds of elements, axes, sides of 1, ties, NaN, order."""
import numpy as np

from formats import FORMATS, INTS, NUMBERS, Numbers, language
from rows import Row, given, out, some

DOC = "language.md#operators"
SHAPES = [(8, 32), (1, 64), (64, 1), (16, 1, 8), (1, 1)]


def grid_of(shape):
    """Text of row-major indices of a tile."""
    terms, step = [], 1
    for axis in range(len(shape) - 1, -1, -1):
        index = f"tl.arange(0, {shape[axis]})"
        if len(shape) > 1:
            index += f"[{', '.join(':' if i == axis else 'None' for i in range(len(shape)))}]"
        terms.append(f"{index} * {step}" if step > 1 else index)
        step *= shape[axis]
    return " + ".join(reversed(terms))


def exact_small(t, shape, seed, low=-8, high=8):
    """Small integers, whose sums and products are exact in any order."""
    low = max(low, 0) if FORMATS[t].kind == "uint" else low
    return given(t, Numbers(f"{t} {shape} {seed}").integers(low, high, int(np.prod(shape))).reshape(shape))


def any_of(t, shape, seed):
    """Edges and random values, shuffled."""
    count = int(np.prod(shape))
    order = Numbers(f"order {t} {shape} {seed}").permutation(max(count, 2))[:count] % count
    values = some(t, count, seed).values
    return given(t, values[np.argsort(order, kind="stable")].reshape(shape))


def reduced(name, builtins, array, expression, axis, result, exact, keep=False, **rest):
    shape = array.shape
    if axis is None:
        left, store = (1,), "tl.store(o_p, r)"
    else:
        left = tuple(1 if keep and i == axis % len(shape) else n for i, n in enumerate(shape) if keep or i != axis % len(shape))
        store = f"tl.store(o_p + {grid_of(left)}, r)" if left else "tl.store(o_p, r)"
    body = f"x = tl.load(x_p + {grid_of(shape)})\nr = {expression}\ntl.static_assert(r.dtype == {language(result)})\n{store}"
    return Row(name, builtins, rest.pop("doc", DOC), {"x_p": array, "o_p": out(result, left or (1,))}, body, lambda x_p: exact(x_p),
               types=(array.type,), **rest)


def sum_type(t):
    f = FORMATS[t]
    return t if f.is_float or f.bits >= 32 else "i32" if f.signed else "u32"


def order_type(t):
    f = FORMATS[t]
    return t if f.bits >= 32 else "fp32" if f.is_float else "i32"


def sums():
    for t in NUMBERS:
        made = sum_type(t)
        stored = FORMATS[made].stored if not FORMATS[t].is_float else np.float64
        for shape, axis in (((8, 32), 1), ((8, 32), 0), ((256,), 0), ((4, 16), None)):
            yield reduced(f"sum {t} {shape} {axis}", ("sum",), exact_small(t, shape, "sum"), f"tl.sum(x, axis={axis})", axis, made,
                          lambda x, a=axis, s=stored: x.astype(s).sum(a, dtype=s))
    for shape in SHAPES:
        for axis in range(len(shape)):
            yield reduced(f"sum keep {shape} {axis}", ("sum",), exact_small("i32", shape, "keep"), f"tl.sum(x, {axis}, keep_dims=True)", axis, "i32",
                          lambda x, a=axis: x.sum(a, dtype=np.int32), keep=True)
    yield reduced("sum axis -1", ("sum",), exact_small("fp32", (4, 8, 8), "minus"), "tl.sum(x, axis=-1)", -1, "fp32", lambda x: x.sum(-1))
    for t in ("i8", "u64", "i32"):
        yield reduced(f"sum extremes {t}", ("sum",), any_of(t, (4, 32), "sum"), "tl.sum(x, 1)", 1, sum_type(t),
                      lambda x, s=FORMATS[sum_type(t)].stored: x.astype(s).sum(1, dtype=s))
    yield reduced("sum dtype", ("sum",), exact_small("fp16", (4, 32), "dtype"), "tl.sum(x, 1, dtype=tl.float32)", 1, "fp32", lambda x: x.sum(1))
    yield reduced("sum dtype i64", ("sum",), any_of("i32", (4, 32), "dtype"), "tl.sum(x, 1, dtype=tl.int64)", 1, "i64",
                  lambda x: x.astype(np.int64).sum(1))
    yield reduced("sum method", ("sum",), exact_small("fp32", (8, 16), "method"), "x.sum(0)", 0, "fp32", lambda x: x.sum(0),
                  doc="language.md#builtin-functions")
    for name, f in (("xor_sum", np.bitwise_xor), ("reduce_or", np.bitwise_or)):
        for t in INTS:
            yield reduced(f"{name} {t}", (name,), any_of(t, (4, 32), name), f"tl.{name}(x, 1)", 1, t, lambda x, f=f: f.reduce(x, 1))


def extremes():
    for name in ("max", "min"):
        for t in NUMBERS:
            made = order_type(t)
            f = getattr(np, name)
            if FORMATS[t].is_float:
                f = getattr(np, "fmax" if name == "max" else "fmin").reduce
                array = nonzero(any_of(t, (8, 32), name))
            else:
                array = any_of(t, (8, 32), name)
            for axis in (0, 1, None):
                yield reduced(f"{name} {t} {axis}", (name,), array, f"tl.{name}(x, {axis})", axis, made,
                              lambda x, f=f, a=axis, s=FORMATS[made]: f(x.astype(s.stored if not s.is_float else np.float64).reshape(x.shape
                                                                                                                                     if a is not None
                                                                                                                                     else -1),
                                                                        a or 0))
        for t in ("fp32", "fp64"):
            f = getattr(np, name)
            array = given(t, np.where(np.arange(128).reshape(4, 32) == 37, np.nan, exact_small(t, (4, 32), name).values))
            yield reduced(f"{name} {t} one NaN", (name,), array, f"tl.{name}(x, 1)", 1, t, lambda x, n=name: getattr(np, "f" + n).reduce(x, 1))
        for shape in SHAPES:
            yield reduced(f"{name} shape {shape}", (name,), any_of("i32", shape, name), f"tl.{name}(x, {len(shape) - 1})", len(shape) - 1, "i32",
                          lambda x, n=name: getattr(np, n)(x, -1))


def nonzero(array):
    """With 1 for -0.0 and 0.0, of which NumPy's extremes may be either, and NaN in a whole row."""
    values = np.where(array.values == 0, 1.0, array.values)
    values[2] = np.nan
    return given(array.type, values)


def places():
    for name in ("argmax", "argmin"):
        f = getattr(np, name)
        for t in NUMBERS:
            array = exact_small(t, (8, 32), name, 0, 3)
            for axis in (0, 1):
                yield reduced(f"{name} ties {t} {axis}", (name,), array, f"tl.{name}(x, {axis})", axis, "i32", lambda x, f=f, a=axis: f(x, a))
        yield reduced(f"{name} keep", (name,), exact_small("i32", (8, 16), name), f"tl.{name}(x, 1, keep_dims=True)", 1, "i32",
                      lambda x, f=f: f(x, 1), keep=True)
        yield reduced(f"{name} any tie", (name,), exact_small("fp32", (8, 16), name, 0, 3), f"tl.{name}(x, 1, tie_break_left=False)", 1, "i32",
                      lambda x, f=f: f(x, 1), apart="any of equal elements")
        yield reduced(f"{name} with NaN", (name,), given("fp32", np.where(np.arange(64).reshape(4, 16) % 7 == 0, np.nan,
                                                                          np.arange(64).reshape(4, 16) % 5)),
                      f"tl.{name}(x, 1)", 1, "i32", lambda x, n=name: getattr(np, "nan" + n)(x, 1), apart="depends on the order of reduction")
        yield reduced(f"{name} side of 1", (name,), exact_small("i32", (16, 1), name), f"tl.{name}(x, 1)", 1, "i32", lambda x: np.zeros(16, np.int32))
    for name in ("max", "min"):
        for t in ("i32", "fp32", "fp16", "u8", "fp64", "bf16"):
            array = exact_small(t, (8, 16), f"with {name}", 0, 5)
            made = "fp32" if t == "bf16" else t
            body = f"x = tl.load(x_p + {grid_of((8, 16))})\nv, j = tl.{name}(x, 1, return_indices=True)\n" \
                   f"tl.static_assert(v.dtype == {language(made)})\ni = tl.arange(0, 8)\ntl.store(v_p + i, v)\ntl.store(j_p + i, j)"
            yield Row(f"{name} with indices {t}", (name,), DOC, {"x_p": array, "v_p": out(made, 8), "j_p": out("i32", 8)}, body,
                      lambda x_p, n=name: {"v_p": getattr(np, n)(x_p, 1), "j_p": getattr(np, "arg" + n)(x_p, 1)}, types=(t,))


COMBINE = """

@triton.jit
def combine_product(a, b):
    return a * b


@triton.jit
def combine_both(s, m, t, n):
    return s + t, tl.maximum(m, n)


@triton.jit
def combine_affine(a, b, c, d):
    return a * c, b * c + d


@triton.jit
def combine_largest(a, b):
    return tl.maximum(a, b)
"""


def by_functions():
    for t in ("i32", "u8", "i64", "fp32", "fp16", "fp64"):
        array = exact_small(t, (4, 8), "product", 1, 2)
        yield reduced(f"reduce product {t}", ("reduce",), array, "tl.reduce(x, 1, combine_product)", 1, t, lambda x: np.prod(x, 1, dtype=x.dtype),
                      helpers=COMBINE)
        array = exact_small(t, (4, 32), "scan", 0, 1)
        yield scanned(f"associative_scan largest {t}", ("associative_scan",), array, "tl.associative_scan(x, 1, combine_largest)",
                      t if t != "bf16" else "fp32",
                      lambda x: np.maximum.accumulate(x, 1), helpers=COMBINE)
    array = exact_small("i32", (8, 16), "both", -50, 50)
    body = f"x = tl.load(x_p + {grid_of((8, 16))})\ns, m = tl.reduce((x, x * 2), 0, combine_both)\n" \
           "i = tl.arange(0, 16)\ntl.store(s_p + i, s)\ntl.store(m_p + i, m)"
    yield Row("reduce of two", ("reduce",), DOC, {"x_p": array, "s_p": out("i32", 16), "m_p": out("i32", 16)}, body,
              lambda x_p: {"s_p": x_p.sum(0), "m_p": 2 * x_p.max(0)}, types=("i32",), helpers=COMBINE)
    for reverse in (False, True):
        array = exact_small("i32", (4, 32), "affine", -3, 3)
        body = f"x = tl.load(x_p + {grid_of((4, 32))})\na, b = tl.associative_scan((x, x + 1), 1, combine_affine, reverse={reverse})\n" \
               f"g = {grid_of((4, 32))}\ntl.store(a_p + g, a)\ntl.store(b_p + g, b)"

        def exact(x_p, r=reverse):
            x = x_p[:, ::-1] if r else x_p
            a, b = x.copy(), x + 1
            for i in range(1, 32):
                b[:, i] = b[:, i - 1] * x[:, i] + (x[:, i] + 1)
                a[:, i] = a[:, i - 1] * x[:, i]
            return {"a_p": a[:, ::-1] if r else a, "b_p": b[:, ::-1] if r else b}

        yield Row(f"associative_scan of two {reverse}", ("associative_scan",), DOC,
                  {"x_p": array, "a_p": out("i32", (4, 32)), "b_p": out("i32", (4, 32))}, body,
                  exact, types=("i32",), helpers=COMBINE)
    array = exact_small("fp32", (4, 16), "keep")
    yield reduced("reduce keep", ("reduce",), array, "tl.reduce(x, 0, combine_largest, keep_dims=True)", 0, "fp32", lambda x: x.max(0), keep=True,
                  helpers=COMBINE)
    yield reduced("reduce all", ("reduce",), array, "tl.reduce(x, None, combine_largest)", None, "fp32", lambda x: x.max(), helpers=COMBINE)


def scanned(name, builtins, array, expression, result, exact, **rest):
    g = grid_of(array.shape)
    body = f"x = tl.load(x_p + {g})\nr = {expression}\ntl.static_assert(r.dtype == {language(result)})\ntl.store(o_p + {g}, r)"
    return Row(name, builtins, DOC, {"x_p": array, "o_p": out(result, array.shape)}, body, lambda x_p: exact(x_p), types=(array.type,), **rest)


def scans():
    for t in NUMBERS:
        made = "fp32" if t == "bf16" else sum_type(t)
        stored = FORMATS[made].stored if not FORMATS[t].is_float else np.float64
        for reverse in (False, True):
            def exact(x, s=stored, r=reverse):
                x = x[:, ::-1] if r else x
                found = np.cumsum(x.astype(s), 1, dtype=s)
                return found[:, ::-1] if r else found

            yield scanned(f"cumsum {t} {reverse}", ("cumsum",), exact_small(t, (4, 32), "cumsum"), f"tl.cumsum(x, 1, reverse={reverse})", made, exact)
        product = "fp32" if t == "bf16" else t
        for reverse in (False, True):
            def exact_product(x, r=reverse):
                x = x[:, ::-1] if r else x
                found = np.cumprod(x, 1, dtype=x.dtype)
                return found[:, ::-1] if r else found

            yield scanned(f"cumprod {t} {reverse}", ("cumprod",), exact_small(t, (4, 8), "cumprod", -2, 2), f"tl.cumprod(x, 1, reverse={reverse})",
                          product, exact_product)
    for shape in SHAPES:
        for axis in range(len(shape)):
            yield scanned(f"cumsum {shape} {axis}", ("cumsum",), exact_small("i32", shape, "axis"), f"tl.cumsum(x, {axis})", "i32",
                          lambda x, a=axis: np.cumsum(x, a, dtype=np.int32))
    yield scanned("cumsum dtype", ("cumsum",), exact_small("i8", (4, 16), "dtype"), "tl.cumsum(x, 0, dtype=tl.int64)", "i64",
                  lambda x: np.cumsum(x, 0, dtype=np.int64))
    yield scanned("cumprod dtype", ("cumprod",), exact_small("i8", (4, 8), "dtype", -2, 2), "tl.cumprod(x, 0, dtype=tl.int32)", "i32",
                  lambda x: np.cumprod(x, 0, dtype=np.int32), apart="not before 3.9")
    yield scanned("cumsum one dimension", ("cumsum",), exact_small("fp32", (128,), "line"), "tl.cumsum(x)", "fp32", lambda x: np.cumsum(x))


ELEMENTS = """

@triton.jit
def compared(a, b):
    if a < b:
        return -1
    elif a == b:
        return 0
    else:
        return 1


@triton.jit
def both_ways(a, b):
    return a + b, a - b


@triton.jit
def swapped(a, b, c, d):
    return b, a
"""


def elements():
    for t in ("i32", "fp32", "u8"):
        x, y = exact_small(t, (64,), "map", 0, 4), exact_small(t, (64,), "map y", 0, 4)
        body = "i = tl.arange(0, 64)\nr = tl.map_elementwise(compared, tl.load(x_p + i), tl.load(y_p + i))\ntl.store(o_p + i, r)"
        yield Row(f"map_elementwise {t}", ("map_elementwise",), DOC, {"x_p": x, "y_p": y, "o_p": out("i32", 64)}, body,
                  lambda x_p, y_p: np.sign(x_p.astype(np.int64) - y_p.astype(np.int64)).astype(np.int32), types=(t,), helpers=ELEMENTS)
    x, y = exact_small("i32", (64,), "two"), exact_small("i32", (64,), "two y")
    body = "i = tl.arange(0, 64)\na, b = tl.map_elementwise(both_ways, tl.load(x_p + i), tl.load(y_p + i))\n" \
           "tl.store(a_p + i, a)\ntl.store(b_p + i, b)"
    yield Row("map_elementwise two results", ("map_elementwise",), DOC, {"x_p": x, "y_p": y, "a_p": out("i32", 64), "b_p": out("i32", 64)}, body,
              lambda x_p, y_p: {"a_p": x_p + y_p, "b_p": x_p - y_p}, types=("i32",), helpers=ELEMENTS)
    body = "i = tl.arange(0, 64)\n(r,) = tl.map_elementwise(swapped, tl.load(x_p + i), tl.load(y_p + i), pack=2)\ntl.store(o_p + i, r)"
    yield Row("map_elementwise packed", ("map_elementwise",), DOC, {"x_p": x, "y_p": y, "o_p": out("i32", 64)}, body,
              lambda x_p, y_p: x_p.reshape(-1, 2)[:, ::-1].reshape(-1), types=("i32",), helpers=ELEMENTS, warps=1)


def of_booleans():
    """And by one warp, by eight: sums, places and orders do not depend on who computes them."""
    array = given("i1", Numbers("of booleans").integers(0, 1, 256).reshape(8, 32))
    yield reduced("sum i1", ("sum",), array, "tl.sum(x, 1)", 1, "u32", lambda x: x.sum(1, dtype=np.uint32))
    yield reduced("sum i1 as int32", ("sum",), array, "tl.sum(x.to(tl.int32), 1)", 1, "i32", lambda x: x.sum(1, dtype=np.int32))
    yield reduced("max i1", ("max",), array, "tl.max(x, 1)", 1, "i32", lambda x: x.max(1).astype(np.int32))
    yield reduced("min i1", ("min",), array, "tl.min(x, 1)", 1, "i32", lambda x: x.min(1).astype(np.int32))
    yield reduced("xor_sum i1", ("xor_sum",), array, "tl.xor_sum(x, 1)", 1, "i1", lambda x: np.bitwise_xor.reduce(x, 1))
    yield reduced("reduce_or i1", ("reduce_or",), array, "tl.reduce_or(x, 1)", 1, "i1", lambda x: x.max(1))
    yield scanned("cumsum i1", ("cumsum",), array, "tl.cumsum(x.to(tl.int32), 1)", "i32", lambda x: np.cumsum(x, 1, dtype=np.int32))
    for warps in (1, 2, 8):
        for shape in ((16, 16), (1, 256), (256, 1)):
            array, axis = exact_small("fp32", shape, "warps"), int(shape[0] == 256)
            yield reduced(f"sum {shape} by {warps}", ("sum",), array, f"tl.sum(x, {1 - axis})", 1 - axis, "fp32", lambda x, a=1 - axis: x.sum(a),
                          warps=warps)
            yield reduced(f"argmin {shape} by {warps}", ("argmin",), array, f"tl.argmin(x, {1 - axis})", 1 - axis, "i32",
                          lambda x, a=1 - axis: x.argmin(a), warps=warps)
            yield scanned(f"cumsum {shape} by {warps}", ("cumsum",), array, f"tl.cumsum(x, {1 - axis}, reverse=True)", "fp32",
                          lambda x, a=1 - axis: np.flip(np.cumsum(np.flip(x, a), a), a), warps=warps)
            yield scanned(f"sort {shape} by {warps}", ("sort",), array, "tl.sort(x)", "fp32", lambda x: np.sort(x, 1), warps=warps)


def rows():
    for part in (of_booleans, sums, extremes, places, by_functions, scans, elements):
        yield from part()
