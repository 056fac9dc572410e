"""Recipes of a program's own memory, atomic operations, block pointers and descriptors."""
import math

from formats import FORMATS
from pure import pure
from random_program import MOST_ELEMENTS, Stuck

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
