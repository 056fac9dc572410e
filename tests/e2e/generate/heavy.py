"""Recipes that take long: chained products that are rescaled as they go, rows that wait for reductions. A program has one."""
from control import counted
from memory import block_store, linear_pid, own_places
from products import Matrix, some
from random_program import Stuck

MINUS_INFINITY = float("-inf")
LOG2_E = 1.4426950408889634


def seen(b, kind, rows, columns, shift, window, keys):
    """Which columns count for which rows."""
    masks = []
    if "length" in kind:
        masks.append(b.emit("lt", columns, keys, hidden=True))
    if "before" in kind:
        masks.append(b.emit("ge", b.emit("add", rows, shift, hidden=True), columns, hidden=True))
    if "near" in kind:
        distance = b.emit("sub", rows, columns, hidden=True)
        masks.append(b.emit("lt", distance, window, hidden=True))
    b.rng.shuffle(masks)
    mask = masks[0]
    for other in masks[1:]:
        mask = b.emit("and", mask, other, hidden=True)
    return mask


MASKS = ((), ("length",), ("before",), ("length", "before"), ("near", "before"), ("length", "near"), ("length", "near", "before"))


def rescaled_products(b):
    """exp(x @ y) @ z over blocks, with the largest number so far in the exponent and a sum beside it, as attention has it."""
    program = b.random.program
    if program.programs > 7:
        raise Stuck
    b.random.real = True
    dtype, exponential = b.pick(("fp16", "fp16", "bf16")), b.pick(("exp", "exp2"))
    m, n, d, e = b.pick((16, 32, 64, 64, 128)), b.pick((16, 32, 64)), b.pick((16, 32, 64)), b.pick((16, 32, 64))
    steps = b.some(1, 5)
    keys = n * steps - b.pick((0, 0, 3, n // 2))
    descriptor = b.chance(0.6)
    data = {"low": -1, "high": 1, "whole": False}
    x = Matrix(b, dtype, (m * program.programs, d), (m, d), descriptor, **data)
    y = Matrix(b, dtype, (d, keys), (d, n), descriptor, b.chance(0.8), **data)
    z = Matrix(b, dtype, (keys, e), (n, e), descriptor, b.chance(0.1), **data)
    start = b.emit("mul", linear_pid(b), m, hidden=True)
    kind = b.pick(MASKS)
    shift, window = b.pick((0, 0, 3, keys - m)), b.pick((4, n, 2 * n))
    first = b.pick((0, 0, 0, n)) if "near" in kind else 0
    a = x.load(b, start, 0)
    rows = b.emit("expand", b.emit("add", start, b.line((m,), 0), hidden=True), axis=1, hidden=True)
    columns = b.emit("expand", b.line((n,), 0), axis=0, hidden=True)
    scale = b.pick((0.125, 0.2, 0.5)) * (LOG2_E if exponential == "exp2" else 1.0)
    largest = b.emit("full", MINUS_INFINITY, shape=(m,), dtype="fp32")
    total = b.emit("full", 0.0, shape=(m,), dtype="fp32")
    acc = b.emit("full", 0.0, shape=(m, e), dtype="fp32")
    end = None
    if "before" in kind and b.chance(0.5):  # programs end where nothing more is seen
        end = b.emit("minimum", b.emit("add", start, max(0, m + shift), hidden=True), keys, hidden=True)

    def body(inner):
        at = inner.random.indices[-1]
        s = inner.emit("dot", a, y.load(inner, 0, at))
        s = inner.emit("mul", s, scale)
        if inner.chance(0.2):
            s = inner.emit("mul", inner.emit("tanh", s), 2.0)
        if kind:
            places = inner.emit("add", columns, at, hidden=True)
            s = inner.emit("where", seen(inner, kind, rows, places, shift, window, keys), s, MINUS_INFINITY)
        more = inner.emit("maximum", largest, inner.emit("max", s, axis=1, keep=False))
        base = more
        if kind:  # rows that have seen nothing
            base = inner.emit("where", inner.emit("eq", more, MINUS_INFINITY, hidden=True), 0.0, more)
        p = inner.emit(exponential, inner.emit("sub", s, inner.emit("expand", base, axis=1)))
        decay = inner.emit(exponential, inner.emit("sub", largest, base))
        new_total = inner.emit("add", inner.emit("mul", total, decay), inner.emit("sum", p, axis=1, keep=False))
        kept = inner.emit("mul", acc, inner.emit("expand", decay, axis=1))
        p, tile = inner.emit("to", p, dtype=dtype), z.load(inner, at, 0)
        if inner.chance(0.85):
            inner.do("dot", p, tile, kept, dst=(acc,))
        else:
            inner.do("add", kept, inner.emit("dot", p, tile), dst=(acc,))
        inner.do("copy", new_total, dst=(total,))
        inner.do("copy", more, dst=(largest,))

    counted(b, body, (first, keys, n), end)
    some_seen = b.emit("gt", total, 0.0, hidden=True)
    divisor = b.emit("where", some_seen, total, 1.0)
    result = b.emit("div", acc, b.emit("expand", divisor, axis=1))
    if b.chance(0.4):
        b.emit("where", some_seen, b.emit("add", b.emit("log", divisor), largest), 0.0)
    some(b, result, 2)
    block_store(b, b.emit("to", result, dtype=b.pick((dtype, "fp32"))))


def waiting_row(b):
    """A long row, loaded once, with reductions of it that its elements wait for."""
    program = b.random.program
    b.random.real, b.random.largest = True, 1 << 15
    dtype, size = b.pick(("fp16", "bf16", "bf16", "fp32")), b.pick((2048, 8192, 16384, 32768))
    if size * program.programs > 1 << 16:
        raise Stuck
    length = size - b.pick((0, 0, 8, 100, size // 3))
    program.warps = b.pick((4, 8, 8, 16))
    index = b.line((size,), 0)
    inside = b.emit("lt", index, length, hidden=True) if length < size else None

    def row(array, role, offset):
        place = index if offset is None else b.emit("add", offset, index, hidden=True)
        return b.emit("pointer", place, array=array, hidden=True)

    pid = linear_pid(b)
    from_row = b.emit("mul", pid, length, hidden=True)
    source = b.array(dtype, length * program.programs, low=-2, high=2, whole=False)
    x = b.emit("load", row(source, "in", from_row), inside, None if inside is None else 0.0)
    if dtype != "fp32":
        x = b.emit("to", x, dtype="fp32")
    for _ in range(b.some(1, 3)):
        kind = b.pick(("softmax", "norm", "mean", "scale"))
        if kind == "softmax":
            kept = x if inside is None else b.emit("where", inside, x, MINUS_INFINITY)
            p = b.emit("exp", b.emit("sub", kept, b.emit("max", kept, axis=0, keep=False)))
            x = b.emit("mul", b.emit("div", p, b.emit("sum", p, axis=0, keep=False)), float(length))
        elif kind == "scale":
            x = b.emit("div", x, b.emit("add", b.emit("max", b.emit("abs", x), axis=0, keep=False), 0.5))
        else:
            if kind == "norm":
                mean = b.emit("mul", b.emit("sum", x, axis=0, keep=False), 1.0 / length)
                x = b.emit("sub", x, mean)
                if inside is not None:
                    x = b.emit("where", inside, x, 0.0)
            square = b.emit("mul", b.emit("sum", b.emit("mul", x, x), axis=0, keep=False), 1.0 / length)
            x = b.emit("mul", x, b.emit("rsqrt", b.emit("add", square, 1e-3)))
        if b.chance(0.4):
            weights = b.array(dtype, length, low=-2, high=2, whole=False)
            weight = b.emit("load", row(weights, "in", None), inside, None if inside is None else 0.0)
            x = b.emit("mul", x, b.emit("to", weight, dtype="fp32") if dtype != "fp32" else weight)
    target = b.array(dtype, length * program.programs, "own")
    b.do("store", row(target, "own", own_places(b, (size,), length)), b.emit("to", x, dtype=dtype), inside)
