"""Sorting, the largest, gathers, histograms, elements turned round."""
import numpy as np

from formats import NUMBERS, Numbers, language
from rows import Row, given, out
from table.reductions import any_of, exact_small, grid_of, order_type

DOC = "language.md#operators"


def tile(name, builtins, array, expression, shape, exact, result=None, **rest):
    """One tile in, one out."""
    made = result or array.type
    body = f"x = tl.load(x_p + {grid_of(array.shape)})\nr = {expression}\n" \
           f"tl.static_assert(r.dtype == {language(made)})\ntl.store(o_p + {grid_of(shape)}, r)"
    return Row(name, builtins, rest.pop("doc", DOC), {"x_p": array, "o_p": out(made, shape)}, body, lambda x_p: exact(x_p), types=(array.type,),
               **rest)


def sorts():
    for t in NUMBERS:
        array = exact_small(t, (4, 32), "sort", -60, 60)
        for descending in (False, True):
            yield tile(f"sort {t} {descending}", ("sort",), array, f"tl.sort(x, descending={descending})", (4, 32),
                       lambda x, d=descending: np.sort(x, 1)[:, ::-1] if d else np.sort(x, 1))
        yield tile(f"topk {t}", ("topk",), array, "tl.topk(x, 8)", (4, 8), lambda x: np.sort(x, 1)[:, ::-1][:, :8], order_type(t))
        yield tile(f"topk all {t}", ("topk",), array, "tl.topk(x, 32)", (4, 32), lambda x: np.sort(x, 1)[:, ::-1])
    for t in ("i8", "u64", "i32", "i64"):
        yield tile(f"sort extremes {t}", ("sort",), any_of(t, (2, 64), "sort"), "tl.sort(x)", (2, 64), lambda x: np.sort(x, 1))
    for shape in ((1, 16), (16, 1), (64,), (2, 2, 8), (32, 2)):
        yield tile(f"sort {shape}", ("sort",), exact_small("i32", shape, "sort", -60, 60), "tl.sort(x)", shape, lambda x: np.sort(x, -1))
    for k in (1, 2, 16):
        yield tile(f"topk {k}", ("topk",), exact_small("fp32", (4, 16), "topk", -60, 60), f"tl.topk(x, {k})", (4, k),
                   lambda x, k=k: np.sort(x, 1)[:, ::-1][:, :k])
    yield tile("topk ascending", ("topk",), exact_small("i32", (4, 16), "topk", -60, 60), "tl.topk(x, 4, descending=False)", (4, 4),
               lambda x: np.sort(x, 1)[:, :4],
               apart="topk has no descending")
    line = given("fp32", np.concatenate([np.sort(exact_small("fp32", (32,), "up", -60, 60).values),
                                         np.sort(exact_small("fp32", (32,), "down", -60, 60).values)[::-1]]))
    for descending in (False, True):
        yield tile(f"bitonic_merge {descending}", ("bitonic_merge",), line, f"tl.bitonic_merge(x, descending={descending})", (64,),
                   lambda x, d=descending: np.sort(x)[::-1] if d else np.sort(x))
    with_nan = given("fp32", np.where(np.arange(32).reshape(2, 16) % 5 == 2, np.nan, exact_small("fp32", (2, 16), "nan").values))
    yield tile("sort NaN", ("sort",), with_nan, "tl.sort(x)", (2, 16), lambda x: np.sort(x, 1), apart="NaN ends anywhere")
    for t in NUMBERS:
        yield tile(f"flip {t}", ("flip",), any_of(t, (4, 16), "flip"), "tl.flip(x, 1)", (4, 16), lambda x: x[:, ::-1])
    for shape, dim in (((8, 1), 0), ((8, 1), 1), ((32,), 0), ((2, 4, 8), 1), ((2, 4, 8), 0), ((2, 4, 8), None)):
        yield tile(f"flip {shape} {dim}", ("flip",), any_of("i32", shape, "flip"), f"tl.flip(x, {dim})", shape,
                   lambda x, a=-1 if dim is None else dim: np.flip(x, a), apart="dim is needed" if dim is None else "")


def gathers():
    for t in NUMBERS:
        for axis, index_shape in ((1, (8, 4)), (0, (16, 16))):
            array = any_of(t, (8, 16), "gather")
            index = given("i32", Numbers(f"{t} index {axis}").integers(0, (8, 16)[axis] - 1, int(np.prod(index_shape))).reshape(index_shape))
            body = f"x = tl.load(x_p + {grid_of((8, 16))})\nj = tl.load(j_p + {grid_of(index_shape)})\n" \
                   f"tl.store(o_p + {grid_of(index_shape)}, tl.gather(x, j, {axis}))"
            yield Row(f"gather {t} {axis}", ("gather",), DOC, {"x_p": array, "j_p": index, "o_p": out(t, index_shape)}, body,
                      lambda x_p, j_p, a=axis: np.take_along_axis(x_p, j_p, a), types=(t,))
    array, index = any_of("fp32", (32,), "line"), given("i64", Numbers("line").integers(0, 31, 64))
    body = "x = tl.load(x_p + tl.arange(0, 32))\nj = tl.load(j_p + tl.arange(0, 64))\ntl.store(o_p + tl.arange(0, 64), tl.gather(x, j, 0))"
    yield Row("gather line", ("gather",), DOC, {"x_p": array, "j_p": index, "o_p": out("fp32", 64)}, body, lambda x_p, j_p: x_p[j_p], types=("fp32",))


def histograms():
    for t in ("i32", "u32", "i64", "u8", "i16"):
        for count, bins in ((128, 16), (64, 64), (16, 2)):
            array = given(t, Numbers(f"{t} {bins}").integers(0, bins - 1, count))
            body = f"x = tl.load(x_p + tl.arange(0, {count}))\ntl.store(o_p + tl.arange(0, {bins}), tl.histogram(x, {bins}))"
            yield Row(f"histogram {t} {count} {bins}", ("histogram",), DOC, {"x_p": array, "o_p": out("i32", bins)}, body,
                      lambda x_p, b=bins: np.bincount(x_p.astype(np.int64), minlength=b).astype(np.int32), types=(t,),
                      apart="" if t in ("i32", "u32") else "of 32 bits alone")
    array = given("i32", Numbers("masked").integers(0, 15, 128))
    body = "x = tl.load(x_p + tl.arange(0, 128))\ntl.store(o_p + tl.arange(0, 16), tl.histogram(x, 16, mask=x % 3 == 0))"
    yield Row("histogram masked", ("histogram",), DOC, {"x_p": array, "o_p": out("i32", 16)}, body,
              lambda x_p: np.bincount(x_p[x_p % 3 == 0], minlength=16).astype(np.int32), types=("i32",))


def rows():
    for part in (sorts, gathers, histograms):
        yield from part()
