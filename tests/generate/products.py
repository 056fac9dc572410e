"""Recipes of products on tensor cores."""
import math

from control import counted, fill
from formats import FORMATS
from memory import block_load, block_store, linear_pid
from pure import pure, weighted
from random_program import Stuck

PRODUCTS = [("fp16", 4), ("bf16", 2), ("fp32", 2), ("i8", 1), ("fp8e5", 1), ("fp8e4nv", 1), ("fp64", 0.5)]


def operand(b, dtype, shape):
    known = b.names(lambda v: v.type == (dtype, shape))
    if known and b.chance(0.4):
        return b.recent(known)
    if b.chance(0.3):
        return b.emit("trans", loaded(b, dtype, shape[::-1]))
    return loaded(b, dtype, shape)


def loaded(b, dtype, shape):
    """A tile of small numbers for a product."""
    if b.chance(0.4):
        return block_load(b, dtype, shape)
    rows = b.chance(0.7)
    strides = (shape[1], 1) if rows else (1, shape[0])
    index = b.index(shape, strides, b.place())
    mask = b.mask(shape, index) if b.chance(0.3) else None
    name = b.array(dtype, b.reach(index) + 1 + 800 * b.in_loop * (math.prod(shape) // 128), low=-2, high=3)
    pointer = b.emit("pointer", index, array=name, hidden=True)
    return b.emit("load", pointer, mask, 0 if mask else None)


def product_shape(b, dtype):
    k = b.pick((16, 32, 32, 64)) if FORMATS[dtype].bits != 8 else b.pick((32, 64))
    return b.pick((16, 16, 32, 64, 64)), b.pick((16, 16, 32, 64)), k


def product(b):
    dtype = weighted(b, PRODUCTS)
    m, n, k = product_shape(b, dtype)
    return one_product(b, dtype, m, n, k, None)


def one_product(b, dtype, m, n, k, acc, a=None):
    a = a or operand(b, dtype, (m, k))
    other = operand(b, dtype, (k, n))
    attrs = {"precision": b.pick((None, "ieee", "tf32", "tf32x3"))} if dtype == "fp32" else {}
    if acc is not None and b.chance(0.7):
        return b.emit("dot", a, other, acc, **attrs)
    result = b.emit("dot", a, other, **attrs)
    return result if acc is None else b.emit("add", acc, result)


def product_loop(b):
    """A sum of products, perhaps of what a product made, with something behind it."""
    dtype = weighted(b, PRODUCTS)
    m, n, k = product_shape(b, dtype)
    summed = "i32" if dtype == "i8" else "fp64" if dtype == "fp64" else "fp32"
    acc = b.emit("full", 0, shape=(m, n), dtype=summed)

    def body(inner):
        a = None
        if dtype in ("fp16", "bf16", "fp32") and inner.chance(0.3):
            first = one_product(inner, dtype, m, inner.pick((16, 32, 64)), k, None)
            for _ in range(inner.some(0, 3)):
                try:
                    pure(inner, first)
                except Stuck:
                    pass
            bounded = inner.emit("clamp", first, -2.0, 2.0)
            a = inner.emit("to", bounded, dtype=dtype)
        depth = inner.value(a).shape[1] if a else k
        result = one_product(inner, dtype, m, n, depth, acc, a)
        inner.do("copy", result, dst=(acc,))
        if inner.chance(0.3):
            fill(inner, inner.some(1, 3))

    counted(b, body)
    for _ in range(b.some(0, 4)):
        try:
            pure(b, acc)
        except Stuck:
            pass


def block_product(b):
    """Tiles of a product, a tile for each program, operands by descriptors or block pointers along K."""
    program = b.random.program
    dtype = b.pick(("fp16", "fp16", "bf16", "fp8e5", "i8"))
    if b.depth:
        raise Stuck
    m, n, k = b.pick((64, 64, 128)), b.pick((32, 64, 64)), b.pick((32, 64))
    steps, summed = b.some(1, 5), "i32" if dtype == "i8" else "fp32"
    transposed = dtype not in ("i8", "fp8e5") and b.chance(0.3)
    rows, depth = m * program.programs - b.pick((0, 0, 5)), k * steps - b.pick((0, 0, 16))
    first = b.array(dtype, rows * depth, low=-2, high=3, whole=True)
    second = b.array(dtype, depth * n, low=-2, high=3, whole=True)
    tile, extents = ((n, k), (n, depth)) if transposed else ((k, n), (depth, n))
    descriptors = b.chance(0.6)
    if descriptors:
        x = b.emit("desc", 0, array=first, extents=(rows, depth), strides=(depth, 1), tile=(m, k), hidden=True)
        y = b.emit("desc", 0, array=second, extents=extents, strides=(extents[1], 1), tile=tile, hidden=True)
    place = b.emit("mul", linear_pid(b), m, hidden=True)
    acc = b.emit("full", 0, shape=(m, n), dtype=summed)

    def body(inner):
        at = inner.emit("mul", inner.random.indices[-1], k, hidden=True)
        where = (0, at) if transposed else (at, 0)
        if descriptors:
            a, other = inner.emit("desc_load", x, place, at), inner.emit("desc_load", y, *where)
        else:
            a = inner.emit("block", 0, place, at, array=first, extents=(rows, depth), strides=(depth, 1), tile=(m, k), hidden=True)
            other = inner.emit("block", 0, *where, array=second, extents=extents, strides=(extents[1], 1), tile=tile, hidden=True)
            a, other = inner.emit("block_load", a, checked=(0, 1)), inner.emit("block_load", other, checked=(0, 1))
        if transposed:
            other = inner.emit("trans", other)
        inner.do("dot", a, other, acc, dst=(acc,))

    counted(b, body, (0, steps, 1))
    for _ in range(b.some(0, 3)):
        try:
            pure(b, acc)
        except Stuck:
            pass
    if b.chance(0.7):
        block_store(b, acc)
