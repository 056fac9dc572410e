"""Recipes of operations without memory: one more, on what there is."""
import math

import numpy as np

from formats import FLOATS, FORMATS, FP8, INTS
from random_program import MOST_ELEMENTS, Stuck

ANY = [("permute", 3), ("reshape", 3), ("expand", 1), ("broadcast", 2), ("join", 2), ("interleave", 2), ("split", 2), ("to", 3), ("where", 3), ("trans", 2)]
NUMBERS = [("add", 4), ("sub", 3), ("mul", 3), ("maximum", 2), ("minimum", 2), ("lt", 1), ("ge", 1), ("eq", 1), ("ne", 1), ("le", 1), ("gt", 1),
           ("neg", 1), ("abs", 1), ("sum", 3), ("max", 2), ("min", 2), ("argmax", 1), ("argmin", 1), ("cumsum", 2), ("scan_larger", 1),
           ("both", 1), ("repeated", 0.5), ("bitcast", 1)]
INTEGERS = [("floordiv", 1), ("mod", 1), ("cdiv", 0.5), ("and", 1), ("or", 1), ("xor", 1), ("shl", 1), ("shr", 2), ("not", 1), ("xor_sum", 1),
            ("reduce_or", 1), ("cumprod", 1), ("scan_linear", 1), ("reduce_pairs", 1), ("umulhi", 0.5), ("popc", 0.5)]
REALS = [("floor", 1), ("ceil", 1), ("clamp", 1), ("fma", 1), ("div", 1), ("div_rn", 1), ("sqrt_rn", 0.5), ("to_rtz", 1),
         ("mod", 0.5), ("maximum_nan", 1), ("minimum_nan", 1)]
FUNCTIONS = ["exp", "exp2", "log", "log2", "sqrt", "rsqrt", "sigmoid", "sin", "cos", "tanh", "erf", "one_minus_erf", "gelu"]
APPROXIMATE = [(name, 0.5) for name in FUNCTIONS]
PROMISES = [("multiple_of", 0.5), ("runs", 0.5), ("constancy", 0.5)]
BOOLS = [("and", 2), ("or", 2), ("xor", 2), ("not", 2), ("sum", 1)]


def weighted(b, rows):
    at = b.rng.random() * sum(weight for _, weight in rows)
    for name, weight in rows:
        at -= weight
        if at < 0:
            return name
    return rows[-1][0]


def fits(shape, other):
    try:
        return len(np.broadcast_shapes(shape, other)) <= 4
    except ValueError:
        return False


def partner(b, value, same=False, dtype=None):
    """The other operand."""
    if not same and b.chance(0.35):
        return b.number(value.dtype)
    return b.recent(b.names(lambda v: (v.shape == value.shape if same else fits(v.shape, value.shape)) and
                            (dtype is None or v.dtype == dtype)))


def factors(b, size):
    shape = []
    while size > 1 and len(shape) < 3:
        part = 1 << b.some(0, int(math.log2(size)) + 1)
        shape.append(part)
        size //= part
    return tuple(shape + [size])


def pure(b, name=None):
    name = name or b.recent(b.names(lambda v: b.chance(0.9) or not v.shape))
    value = b.value(name)
    f = value.format
    rows = ANY + (BOOLS if f.kind == "bool" else INTEGERS + NUMBERS + PROMISES if f.is_int else NUMBERS + REALS + APPROXIMATE * b.random.real
                  if value.dtype in FLOATS else [("to", 8)])
    op = weighted(b, rows)
    rank = len(value.shape)
    if op in ("add", "sub", "mul", "maximum", "minimum", "maximum_nan", "minimum_nan", "lt", "le", "gt", "ge", "eq", "ne", "and", "or", "xor", "div", "floordiv", "mod", "both"):
        other = partner(b, value)
        if op == "mod" and f.is_float:
            other = float(b.some(1, 12)) / 2 if b.chance(0.5) else other
        elif op in ("floordiv", "mod"):
            other = b.some(1, 12) if b.chance(0.6) or not isinstance(other, str) else b.emit("or", other, 1)
        if isinstance(other, str) and b.chance(0.5) or op not in ("lt", "sub", "div") or not isinstance(other, str):
            return b.emit(op, name, other, results=2 if op == "both" else 1)
        return b.emit(op, other, name)
    if op in ("shl", "shr"):
        return b.emit(op, name, b.some(0, f.bits))
    if op == "cdiv":
        return b.emit(op, name, b.some(1, 9))
    if op in ("neg", "not", "abs", "popc", "floor", "ceil", "sqrt_rn", "trans", "split", *FUNCTIONS):
        return b.emit(op, name, results=2 if op == "split" else 1)
    if op == "clamp":
        high = float(b.some(1, 5))
        return b.emit(op, name, -high if b.chance(0.3) else float(b.some(-3, 1)), high)
    if op in ("multiple_of", "runs", "constancy"):
        return promise(b, op, name)
    if op in ("fma",):
        return b.emit(op, name, partner(b, value, True, value.dtype), partner(b, value, True, value.dtype))
    if op in ("div_rn", "umulhi"):
        return b.emit(op, name, partner(b, value, True, value.dtype))
    if op == "where":
        condition = b.names(lambda v: v.dtype == "i1" and fits(v.shape, value.shape))
        condition = b.recent(condition) if condition and b.chance(0.7) else b.emit("gt", name, b.number(value.dtype))
        other = partner(b, value)
        return b.emit("where", condition, *((name, other) if b.chance(0.5) else (other, name) if isinstance(other, str) else (name, other)))
    if op in ("to", "to_rtz"):
        return b.emit(op, name, dtype=b.pick(INTS + FLOATS + FP8 + ["i1"]) if b.chance(0.5) else b.random.dtype())
    if op == "bitcast":
        return b.emit(op, name, dtype=b.pick([t for t in INTS + FLOATS + FP8 if FORMATS[t].bits == f.bits]))
    if op in ("sum", "max", "min", "argmax", "argmin", "xor_sum", "reduce_or"):
        axis = None if b.chance(0.15) and op not in ("argmax", "argmin") else b.some(0, max(1, rank))
        return b.emit(op, name, axis=axis, keep=axis is not None and b.chance(0.3))
    if op in ("cumsum", "cumprod", "scan_larger"):
        return b.emit(op, name, axis=b.some(0, max(1, rank)), reverse=b.chance(0.3))
    if op == "reduce_pairs":
        return b.emit(op, name, partner(b, value, True), axis=b.some(0, max(1, rank)), results=2)
    if op == "scan_linear":
        return b.emit(op, name, partner(b, value, True, value.dtype), axis=b.some(0, max(1, rank)), reverse=b.chance(0.3), results=2)
    if op == "repeated":
        return b.emit(op, name, times=b.some(0, 4))
    if op in ("join", "interleave"):
        return b.emit(op, name, partner(b, value, True, value.dtype))
    if not rank:
        if op == "broadcast":
            return b.emit("full", name, shape=b.shape(), dtype=value.dtype)
        raise Stuck
    if op == "reshape":
        return b.emit(op, name, shape=factors(b, value.data.size))
    if op == "permute":
        return b.emit(op, name, dims=tuple(int(i) for i in b.rng.permutation(rank)))
    if op == "expand":
        if rank > 3:
            raise Stuck
        return b.emit(op, name, axis=b.some(0, rank + 1))
    if op == "broadcast":
        shape = tuple(1 << b.some(0, 5) if extent == 1 else extent for extent in value.shape)
        if math.prod(shape) > MOST_ELEMENTS:
            raise Stuck
        return b.emit(op, name, shape=shape)
    raise Stuck


def promise(b, op, name):
    """The largest numbers, or smaller ones, for which the hint holds; a program's first iteration says which."""
    shape = b.value(name).shape or (1,)
    if op == "multiple_of":
        return b.emit(op, name, values=(b.pick((1, 2, 4, 8, 16, 16, 32)),) * len(shape))
    for _ in range(4):
        lengths = tuple(min(extent, b.pick((1, 4, 8, 16, 64))) for extent in shape)
        if op == "runs":  # at most along one dimension
            along = b.some(0, len(shape))
            lengths = tuple(length if d == along else 1 for d, length in enumerate(lengths))
        if len([n for n in lengths if n > 1]) and b.value(name).shape:
            attrs = {"values": tuple(b.pick((1, 2, 8, 16)) for _ in shape)} if op == "runs" else {}
            try:
                return b.emit(op, name, lengths=lengths, **attrs)
            except Stuck:
                pass
    raise Stuck


def function(b):
    """Functions of real numbers, one of another, with arguments of their domains or, exact ones, of any."""
    if not b.random.real:
        raise Stuck
    dtype = b.pick(("fp32", "fp32", "fp32", "fp64", "fp16", "bf16"))
    x = b.tile(dtype, b.shape(most=256))
    if dtype in ("fp16", "bf16"):
        x = b.emit("to", x, dtype="fp32")
    for _ in range(b.some(1, 4)):
        name = b.pick(FUNCTIONS)
        try:
            if name in ("log", "log2", "sqrt", "rsqrt") and b.chance(0.7):
                x = b.emit("add", b.emit("abs", x), 1.0)
            elif name in ("sin", "cos") and b.chance(0.4):
                x = b.emit("mul", x, b.pick((10.0, 1000.0, 100000.0)))
            if b.chance(0.15):
                x = b.emit("div", x, b.emit("add", b.emit("abs", x), 1.5))
            x = b.emit(name, x)
        except Stuck:
            pass
