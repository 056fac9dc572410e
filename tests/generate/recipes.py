"""What programs are made of: each recipe adds some statements to a block, or raises Stuck and may leave some unused ones."""
import math

import numpy as np

from formats import FLOATS, FORMATS, FP8, INTS
from program import Statement, statements
from random_program import MOST_ELEMENTS, TRIES, Builder, Stuck
from values import Block, Pointer, Value


def fill(b, steps):
    done = 0
    for _ in range(steps * TRIES):
        if done >= steps:
            return
        total = sum(weight for _, weight in RECIPES)
        at = b.rng.random() * total
        for recipe, weight in RECIPES:
            at -= weight
            if at < 0:
                break
        if b.depth >= 3 and recipe in (loop, while_loop, branch, product_loop, sum_loop):
            continue
        try:
            recipe(b)
            done += 1
        except Stuck:
            pass


def tile(b):
    b.tile()


def scalar(b):
    if b.chance(0.5):
        b.tile(shape=())
    elif b.chance(0.5):
        b.emit("copy", b.some(-3, 20))
    elif b.chance(0.5):
        b.emit("num_programs", axis=0)
    else:
        b.emit("add", b.recent(list(b.random.program.scalars)), b.some(0, 3))


def gather(b):
    """A tile whose places another array holds."""
    shape = b.shape()
    size = b.some(8, 300)
    index = b.index(shape, b.strides(shape), b.place())
    dtype = b.pick(("i32", "i32", "i64", "i16", "u32"))
    places = b.array(dtype, b.reach(index) + 1 + 800 * b.in_loop, low=0, high=size)
    pointer = b.emit("pointer", index, array=places, hidden=True)
    at = b.emit("load", pointer, None, None)
    name = b.array(b.random.dtype(), size, **b.fill("fp32"))
    pointer = b.emit("pointer", at, array=name, hidden=True)
    b.emit("load", pointer, None, None)


# Pure operations

ANY = [("permute", 3), ("reshape", 3), ("expand", 1), ("broadcast", 2), ("join", 2), ("interleave", 2), ("split", 2), ("to", 3), ("where", 3), ("trans", 2)]
NUMBERS = [("add", 4), ("sub", 3), ("mul", 3), ("maximum", 2), ("minimum", 2), ("lt", 1), ("ge", 1), ("eq", 1), ("ne", 1), ("le", 1), ("gt", 1),
           ("neg", 1), ("abs", 1), ("sum", 3), ("max", 2), ("min", 2), ("argmax", 1), ("argmin", 1), ("cumsum", 2), ("scan_larger", 1),
           ("both", 1), ("repeated", 0.5), ("bitcast", 1)]
INTEGERS = [("floordiv", 1), ("mod", 1), ("cdiv", 0.5), ("and", 1), ("or", 1), ("xor", 1), ("shl", 1), ("shr", 2), ("not", 1), ("xor_sum", 1),
            ("reduce_or", 1), ("cumprod", 1), ("scan_linear", 1), ("reduce_pairs", 1), ("umulhi", 0.5)]
REALS = [("floor", 1), ("ceil", 1), ("clamp", 1), ("fma", 1), ("div", 1), ("div_rn", 1), ("sqrt_rn", 0.5), ("to_rtz", 1)]
APPROXIMATE = [("exp", 1), ("exp2", 1), ("log", 1), ("sqrt", 1), ("rsqrt", 1), ("sigmoid", 1), ("sin", 0.5)]
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
    rows = ANY + (BOOLS if f.kind == "bool" else INTEGERS + NUMBERS if f.is_int else NUMBERS + REALS + APPROXIMATE * b.random.real
                  if value.dtype in FLOATS else [("to", 8)])
    op = weighted(b, rows)
    rank = len(value.shape)
    if op in ("add", "sub", "mul", "maximum", "minimum", "lt", "le", "gt", "ge", "eq", "ne", "and", "or", "xor", "div", "floordiv", "mod", "both"):
        other = partner(b, value)
        if op in ("floordiv", "mod"):
            other = b.some(1, 12) if b.chance(0.6) or not isinstance(other, str) else b.emit("or", other, 1)
        if isinstance(other, str) and b.chance(0.5) or op not in ("lt", "sub", "div") or not isinstance(other, str):
            return b.emit(op, name, other, results=2 if op == "both" else 1)
        return b.emit(op, other, name)
    if op in ("shl", "shr"):
        return b.emit(op, name, b.some(0, f.bits))
    if op == "cdiv":
        return b.emit(op, name, b.some(1, 9))
    if op in ("neg", "not", "abs", "floor", "ceil", "sqrt_rn", "exp", "exp2", "log", "sqrt", "rsqrt", "sigmoid", "sin", "trans", "split"):
        return b.emit(op, name, results=2 if op == "split" else 1)
    if op == "clamp":
        return b.emit(op, name, float(b.some(-3, 1)), float(b.some(1, 5)))
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


# Memory of the program's own

def linear_pid(b):
    total = b.random.pids[0]
    for axis, name in enumerate(b.random.pids[1:], 1):
        part = b.emit("mul", name, math.prod(b.random.program.grid[:axis]), hidden=True)
        total = b.emit("add", total, part, hidden=True)
    return total


def own_places(b, shape, room, shift=0):
    """Places in the program's part, of `room` elements, of an array of its own."""
    offset = b.emit("mul", linear_pid(b), room, hidden=True)
    if shift:
        offset = b.emit("add", offset, shift, hidden=True)
    return offset


def store(b, name=None):
    name = name or b.recent(b.names())
    value = b.value(name)
    shape = value.shape
    strides = b.strides(shape)
    span = 1 + sum(abs(s) * (e - 1) for s, e in zip(strides, shape))
    repeats = b.random.trips if b.in_loop else 1
    room = span * repeats + b.some(0, 3) * 16
    offset = own_places(b, shape, room)
    if b.in_loop:
        for index, trips in zip(b.random.indices, b.random.trip_counts):
            part = b.emit("mul", index, span * trips[1], hidden=True)
            offset = b.emit("add", offset, part, hidden=True)
    index = b.index(shape, strides, offset)
    mask = b.mask(shape, index) if shape and b.chance(0.25) else None
    dtype = value.dtype if b.chance(0.9) else b.random.dtype()
    array = b.array(dtype, room * b.random.program.programs, "own")
    pointer = b.emit("pointer", index, array=array, hidden=True)
    b.do("store", pointer, name, mask)
    b.random.stored.add(name)


def own_array(b, dtype):
    """One that exists, often, or a new one: its name and the room of a program."""
    known = [n for n, a in b.random.program.arrays.items() if n in b.random.rooms and a.dtype == dtype]
    if known and b.chance(0.7):
        name = b.pick(known)
        return name, b.random.rooms[name]
    room = b.pick((128, 256, 1000, 2048))
    name = b.array(dtype, room * b.random.program.programs, "own", **b.fill(dtype))
    b.random.rooms[name] = room
    return name, room


def update(b):
    """Loads of the program's own part, something computed, stores to places that may overlap them."""
    dtype = b.random.dtype()
    name, room = own_array(b, dtype)
    for _ in range(b.some(1, 3)):
        shape = b.shape(most=min(MOST_ELEMENTS, room // 2))
        strides = b.strides(shape)
        span = 1 + sum(abs(s) * (e - 1) for s, e in zip(strides, shape))
        if span > room:
            raise Stuck
        free = room - span + 1
        index = b.index(shape, strides, own_places(b, shape, room, b.pick((0, 0, 1, 3, 16, b.some(0, free))) % free))
        pointer = b.emit("pointer", index, array=name, hidden=True)
        mask = b.mask(shape, index) if b.chance(0.2) else None
        value = b.emit("load", pointer, mask, b.number(dtype) if mask else None)
        for _ in range(b.some(0, 3)):
            try:
                pure(b, value)
            except Stuck:
                pass
        if not b.chance(0.85):
            continue
        results = b.names(lambda v: v.type == (dtype, shape))
        result = b.recent(results)
        if b.chance(0.5):
            shift = b.pick((0, 0, 1, 3, 16, b.some(0, free))) % free
            places = b.index(shape, strides if b.chance(0.5) else b.strides(shape), own_places(b, shape, room, shift))
            pointer = b.emit("pointer", places, array=name, hidden=True)
        b.do("store", pointer, result, mask if b.chance(0.5) else None)


ATOMICS = {"add": ["i32", "u32", "i64", "fp32", "fp16", "fp64"], "max": ["i32", "u32", "i64", "u64"], "min": ["i32", "u32", "i64"],
           "and": ["i32", "u32", "i64"], "or": ["i32", "u32", "u64"], "xor": ["i32", "u32", "i64"]}


def atomic(b):
    kind = b.pick(list(ATOMICS))
    name = b.recent(b.names(lambda v: v.dtype in ATOMICS[kind]))
    value = b.value(name)
    index = b.index(value.shape, [b.pick((0, 1, 1, 2)) for _ in value.shape], b.place() if b.chance(0.5) else None)
    known = [n for n, a in b.random.program.arrays.items() if a.role == "atomic" and a.kind == kind and a.dtype == value.dtype and a.size > b.reach(index)]
    array = b.pick(known) if known else b.array(value.dtype, b.reach(index) + 1 + 800 * b.in_loop, "atomic", kind=kind, whole=True)
    pointer = b.emit("pointer", index, array=array, hidden=True)
    b.do("atomic", pointer, name, b.mask(value.shape, index) if value.shape and b.chance(0.3) else None, kind=kind)


# Blocks

def block_load(b, dtype=None, shape=None):
    dtype = dtype or b.random.dtype()
    if dtype == "i1":
        raise Stuck
    shape = shape or b.shape(rank=b.pick((1, 2, 2, 3)))
    extents = tuple(int(e * b.some(1, 4) - (b.some(0, e) if b.chance(0.3) else 0)) for e in shape)
    extents = tuple(max(1, e) for e in extents)
    bytes_of = FORMATS[dtype].bits // 8
    descriptor = b.chance(0.5) and shape[-1] * bytes_of >= 16
    unit = 16 // bytes_of if descriptor or b.chance(0.5) else 1
    strides, step = [1] * len(shape), 1
    for d in reversed(range(len(shape))):
        strides[d] = step
        step = -(-(step * extents[d]) // unit) * unit
    name = b.array(dtype, step, **b.fill(dtype))
    place = [b.pick((0, 0, -1, 3, e // 2)) for e in shape]
    moving = b.some(0, len(shape))
    numbers = [n for n in (*b.random.indices, *b.random.pids) if n in b.states[0].env]
    if numbers and b.chance(0.6):
        part = b.emit("mul", b.pick(numbers), b.pick((1, shape[moving])), hidden=True)
        place[moving] = b.emit("add", part, b.some(0, 3), hidden=True) if b.chance(0.3) else part
    if descriptor:
        desc = b.emit("desc", 0, array=name, extents=extents, strides=tuple(strides), tile=shape, hidden=True)
        return b.emit("desc_load", desc, *place)
    pointer = b.emit("block", 0, *place, array=name, extents=extents, strides=tuple(strides), tile=shape, hidden=True)
    if b.chance(0.3):
        pointer = b.emit("advance", pointer, *(b.some(0, 3) for _ in shape), hidden=True)
    return b.emit("block_load", pointer, checked=tuple(range(len(shape))))


def block_store(b, name=None):
    name = name or b.recent(b.names(lambda v: 1 <= len(v.shape) <= 3 and v.dtype != "i1"))
    value = b.value(name)
    if b.in_loop:
        raise Stuck
    shape, bytes_of = value.shape, value.format.bits // 8
    if not 1 <= len(shape) <= 3 or value.dtype == "i1":
        raise Stuck
    extents = tuple(e if b.chance(0.6) else max(1, e - b.some(0, e)) for e in shape)
    strides, step = [1] * len(shape), 1
    for d in reversed(range(len(shape))):
        strides[d] = step
        step = -(-(step * extents[d]) // 16) * 16
    array = b.array(value.dtype, step * b.random.program.programs, "own")
    base = b.emit("mul", linear_pid(b), step, hidden=True)
    if shape[-1] * bytes_of >= 16 and b.chance(0.5):
        desc = b.emit("desc", base, array=array, extents=extents, strides=tuple(strides), tile=shape, hidden=True)
        b.do("desc_store", desc, name, *(0 for _ in shape))
    else:
        pointer = b.emit("block", base, *(0 for _ in shape), array=array, extents=extents, strides=tuple(strides), tile=shape, hidden=True)
        b.do("block_store", pointer, name, checked=tuple(range(len(shape))))
    b.random.stored.add(name)


# Products

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


# Control

def counted(b, make_body, given=None):
    """A for loop with a body that `make_body` adds to a block; `given`: its bounds."""
    low, step = b.pick((0, 0, 0, 1, 2)), b.pick((1, 1, 1, 2, 16))
    trips = b.pick((0, 1, 2, 3, 3, 4, 5))
    high = low + trips * step - (b.some(0, step) if trips else 0)
    static = b.chance(0.1)
    if given:
        (low, high, step), trips, static = given, given[1] - given[0], False
    bounds = [low, high, step]
    uneven = not static and not given and not b.depth and b.chance(0.2)
    if uneven:  # programs take different numbers of iterations
        bounds[1] = b.emit("add", b.pick(b.random.pids), high, hidden=True)
        trips += max(b.random.program.grid)
    elif not static and b.chance(0.5):
        bounds[1] = scalar_of(b, high)
    index = b.fresh()
    inner = Builder(b.random, b)
    inner.in_loop = True
    from values import as_value
    for state in inner.states:
        state.env[index] = low if static else as_value(low, "i32")
    random = b.random
    random.open.append(inner)
    random.indices.append(index)
    random.trip_counts.append((low + max(trips, 1) * step, random.trips))
    random.trips *= low + max(trips, 1) * step
    try:
        if random.trips > 200:
            raise Stuck
        make_body(inner)
        carry(inner, b)
    finally:
        random.open.pop()
        random.indices.pop()
        low_part, random.trips = random.trip_counts.pop()
    kind = "tl.static_range" if static else b.pick(("range", "range", "tl.range"))
    options = {}
    if kind == "tl.range":
        options = b.pick(({}, {"num_stages": b.some(1, 6)}, {"loop_unroll_factor": b.some(1, 4)}))
    settle(b, lambda body: Statement("for", (index,), tuple(bounds), {"range": kind, "options": options}, (body,)), inner.body)


def settle(b, make, body):
    """Takes statements out of the body until the whole is valid."""
    body = list(body)
    for _ in range(8):
        if b.attempt(make(body)):
            return
        if not body:
            break
        cut = b.some(0, len(body))
        del body[cut:cut + max(1, len(body) // 4)]
    raise Stuck


def scalar_of(b, number):
    """The number, as an argument of the launch or a load."""
    scalars = b.random.program.scalars
    if b.chance(0.5):
        for name, (dtype, value) in scalars.items():
            if value == number and dtype == "i32" and name in b.states[0].env:
                return name
        if len(scalars) < 5 and not b.depth:
            name = f"n{len(scalars)}"
            scalars[name] = ("i32", number)
            from values import as_value
            for builder in b.random.open:
                for state in builder.states:
                    state.env[name] = as_value(number, "i32")
            return name
    array = b.array("i32", 4, low=number, high=number + 1)
    pointer = b.emit("pointer", b.some(0, 4), array=array, hidden=True)
    return b.emit("load", pointer, None, None)


def carry(inner, outer):
    """Assigns to variables from outside what the body made."""
    for _ in range(inner.some(0, 4)):
        names = [n for n in outer.names() if n not in inner.random.program.scalars and n not in inner.random.indices]
        if not names:
            return
        name = inner.recent(names)
        value = inner.value(name)
        made = [n for n in inner.names(lambda v: v.type == value.type) if n not in outer.states[0].env]
        if made:
            inner.attempt(Statement("copy", (name,), (inner.recent(made),)))
        elif value.dtype != "i1" and not (value.format.is_float and value.format.bits == 8):
            other = inner.names(lambda v: v.dtype == value.dtype and fits(v.shape, value.shape) and np.broadcast_shapes(v.shape, value.shape) == value.shape)
            inner.attempt(Statement(inner.pick(("add", "sub", "maximum")), (name,), (name, inner.recent(other))))


def loop(b):
    counted(b, lambda inner: fill(inner, inner.some(1, 6)))


def sum_loop(b):
    """Sums of rows or columns that a loop adds up."""
    dtype = b.pick(("i32", "fp32", "fp16", "i64"))
    shape, axis = b.shape(rank=2), b.some(0, 2)
    total = b.emit("full", 0, shape=(shape[1 - axis],), dtype=dtype)

    def body(inner):
        value = inner.tile(dtype, shape)
        part = inner.emit("sum", value, axis=axis, keep=False)
        if not inner.attempt(Statement("add", (total,), (total, part))):
            raise Stuck

    counted(b, body)


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


def while_loop(b):
    end = scalar_of(b, b.some(0, 5))
    counter = b.emit("copy", 0)
    if b.value(end).dtype != "i32":
        raise Stuck
    inner = Builder(b.random, b)
    inner.in_loop = True
    random = b.random
    random.open.append(inner)
    random.indices.append(counter)
    random.trip_counts.append((6, random.trips))
    random.trips *= 6
    try:
        if random.trips > 200:
            raise Stuck
        fill(inner, inner.some(1, 5))
        carry(inner, b)
    finally:
        random.open.pop()
        random.indices.pop()
        _, random.trips = random.trip_counts.pop()
    random.hidden.add(counter)

    def whole(body):
        body = [s for s in body if counter not in s.dst]
        return Statement("while", (), (counter, end), {}, (body + [Statement("add", (counter,), (counter, 1))],))

    settle(b, whole, inner.body)


def condition(b):
    if b.chance(0.3):
        names = list(b.random.program.constants)
        return b.pick(names) if names else b.some(0, 2) == 1
    if b.chance(0.5):
        return b.emit(b.pick(("lt", "eq", "ge")), b.pick(b.random.pids + [i for i in b.random.indices if isinstance(b.states[0].env.get(i), Value)]), b.some(0, 3), hidden=True)
    names = b.names(lambda v: not v.shape and v.err is None and v.undef is None)
    name = b.recent(names)
    return name if b.value(name).dtype == "i1" else b.emit("gt", name, b.number(b.value(name).dtype), hidden=True)


def branch(b):
    on = condition(b)
    if not b.in_loop and b.chance(0.15):
        b.do("if", on, blocks=([Statement("return")], []))
        return
    bodies = []
    for part in range(2):
        inner = Builder(b.random, b)
        b.random.open.append(inner)
        try:
            if part == 0 or b.chance(0.6):
                fill(inner, inner.some(1, 4))
                carry(inner, b)
        finally:
            b.random.open.pop()
        bodies.append(inner.body)
    settle(b, lambda body: Statement("if", (), (on,), {}, (body, bodies[1])), bodies[0])


def store_results(b):
    names = [n for n in b.names() if n not in b.random.stored and n not in b.random.program.scalars]
    b.rng.shuffle(names)
    for name in names[:7]:
        for _ in range(4):
            try:
                block_store(b, name) if b.chance(0.2) else store(b, name)
                break
            except Stuck:
                pass


RECIPES = [(tile, 3), (scalar, 0.7), (gather, 1), (pure, 12), (store, 1), (update, 1.5), (atomic, 1), (block_load, 1), (block_store, 0.5),
           (product, 0.6), (product_loop, 0.6), (block_product, 0.4), (loop, 1.5), (sum_loop, 0.5), (while_loop, 0.4),
           (branch, 1.2)]
