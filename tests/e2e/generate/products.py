"""Recipes of products on tensor cores."""
import math

from control import argument, counted, fill
from formats import FORMATS
from memory import block_load, block_store, linear_pid
from program import statements
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
    some(b, acc, 4)


def some(b, name, most):
    """Up to so many operations behind a product."""
    for _ in range(b.some(0, most)):
        try:
            pure(b, name)
        except Stuck:
            pass


class Matrix:
    """A matrix of which a program loads tiles by a descriptor or block pointers, perhaps stored with its columns together."""

    def __init__(self, b, dtype, extents, tile, descriptor, transposed=False, **data):
        self.tile, self.transposed = tile, transposed
        self.extents = extents[::-1] if transposed else extents
        stored = tile[::-1] if transposed else tile
        unit = 128 // FORMATS[dtype].bits
        row = -(-self.extents[1] // unit) * unit
        self.attrs = {"array": b.array(dtype, self.extents[0] * row, **data), "extents": self.extents, "strides": (row, 1), "tile": stored}
        self.desc = b.emit("desc", 0, hidden=True, **self.attrs) if descriptor else None

    def load(self, b, *place):
        place = place[::-1] if self.transposed else place
        if self.desc:
            tile = b.emit("desc_load", self.desc, *place)
        else:
            tile = b.emit("block_load", b.emit("block", 0, *place, hidden=True, **self.attrs), checked=(0, 1))
        return b.emit("trans", tile) if self.transposed else tile


def alone(b):
    """A product by tensor copies in a program of few other things: CTAs may then go through programs one after the other."""
    if any(s.op in ("dot", "while", "print", "return") for s in statements(b.body)):
        raise Stuck
    block_product(b, True)
    b.random.done = True


def block_product(b, copied=False):
    """Tiles of products of one operand with one or several others, a tile for each program, operands by descriptors or block
    pointers along K; perhaps functions of the sums, which take long, in front of the stores. `copied`: all as tensor copies
    and wgmma take it."""
    program = b.random.program
    dtype = b.pick(("fp16", "fp16", "bf16", "fp8e5", "i8"))
    m, n, k = b.pick((64, 64, 128)), b.pick((32, 64, 64, 128)), b.pick((32, 64))
    descriptor, large = copied or b.chance(0.6), b.chance(0.3 if copied else 0.04)
    if large:  # buffers fill an SM: two teams of warps take turns
        dtype, m, n, k, descriptor, program.warps, program.stages = b.pick(("fp16", "bf16")), 64, 256, 64, True, 4, 4
        b.random.largest = 1 << 14
    elif copied or m == 128 and b.chance(0.6):  # warpgroups have rows of their own
        program.warps = m // 16
    count = b.pick((1, 1, 1, 2, 2, 3)) if m * n <= 8192 else 1
    steps, summed = b.some(1, 5), "i32" if dtype == "i8" else "fp32"
    transposed = b.chance((1.0 if copied else 0.7) if FORMATS[dtype].bits == 8 else 0.3)  # of 8 bits tensor cores take them as rows along K
    data = {"low": -2, "high": 3, "whole": True}
    depth = k * steps - b.pick((0, 0, 16))
    x = Matrix(b, dtype, (m * program.programs - b.pick((0, 0, 5)), depth), (m, k), descriptor, **data)
    others = [Matrix(b, dtype, (depth, n), (k, n), descriptor, transposed, **data) for _ in range(count)]
    place = b.emit("mul", linear_pid(b), m, hidden=True)
    sums = [b.emit("full", 0, shape=(m, n), dtype=summed) for _ in others]

    def body(inner):
        at = inner.emit("mul", inner.random.indices[-1], k, hidden=True)
        a = x.load(inner, place, at)
        tiles = [other.load(inner, at, 0) for other in others]
        for acc, tile in zip(sums, tiles):
            inner.do("dot", a, tile, acc, dst=(acc,))

    counted(b, body, (0, steps, 1), argument(b, steps) if copied or b.chance(0.7) else None)
    if summed == "fp32" and b.chance(0.4):
        return finished(b, sums, b.pick(("fp16", "bf16", "fp32", "fp32")))
    for acc in sums:
        some(b, acc, 3)
        if copied or b.chance(0.7):
            block_store(b, acc)


def finished(b, sums, dtype):
    """Stores a function of sums, which are small numbers times 1/64."""
    b.random.real = True
    tiles = [b.emit("mul", acc, 1 / 64) for acc in sums]
    result = tiles[0]
    for _ in range(b.some(1, 4)):
        result = b.emit(b.pick(("gelu", "exp", "sigmoid", "tanh", "erf", "cos")), result)
    for tile in tiles[1:]:
        result = b.emit(b.pick(("mul", "add", "maximum")), result, tile)
    some(b, result, 2)
    block_store(b, b.emit("to", result, dtype=dtype))
