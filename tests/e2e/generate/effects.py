"""Recipes of atomic operations whose order shows in no result, of what is printed and asserted, and of promises about scalars."""
from memory import own_array, own_places
from pure import weighted
from random_program import Stuck
from values import Value

EXCHANGED = ["i32", "u32", "i64", "u64", "fp32", "fp64"]
COMPARED = ["i32", "u32", "i64", "u64"]
ADDED_BY_COMPARING = ["i32", "u32", "i64"]


def exchange(b):
    """Of places that are the program's own: old values are the same in every order."""
    name = b.recent(b.names(lambda v: v.dtype in EXCHANGED and v.undef is None))
    value = b.value(name)
    array, room = own_array(b, value.dtype)
    shape = value.shape
    strides = b.strides(shape)
    span = 1 + sum(abs(s) * (e - 1) for s, e in zip(strides, shape))
    if span > room:
        raise Stuck
    index = b.index(shape, strides, own_places(b, shape, room, b.some(0, room - span + 1)))
    pointer = b.emit("pointer", index, array=array, hidden=True)
    if value.dtype in COMPARED and b.chance(0.5):
        other = b.pick(b.names(lambda v: v.type == value.type))
        b.emit("compare_swap", pointer, other, name)
    else:
        b.emit("exchange", pointer, name, b.mask(shape, index) if shape and b.chance(0.3) else None)


def new_shared(b, dtype, kind, size, **rest):
    """An array that programs update together."""
    known = [n for n, a in b.random.program.arrays.items() if a.kind == kind and a.dtype == dtype and a.size >= size]
    return b.pick(known) if known and b.chance(0.5) else b.array(dtype, size, "atomic", kind=kind, whole=True, **rest)


def by_comparing(b):
    """A scalar that programs add to with a loop around a compare-and-swap."""
    name = b.recent(b.names(lambda v: not v.shape and v.dtype in ADDED_BY_COMPARING))
    array = new_shared(b, b.value(name).dtype, "add_by_cas", 8)
    pointer = b.emit("pointer", b.some(0, 8), array=array, hidden=True)
    b.do("add_by_cas", pointer, name)


def locked(b):
    """A tile that programs add to, one after the other, while they hold a lock."""
    name = b.recent(b.names(lambda v: v.dtype in ("i32", "i64", "fp32") and v.data.size <= 256))
    value = b.value(name)
    index = b.index(value.shape, b.strides(value.shape))
    lowest = min(0, int(b.value(index).data.min()))
    if lowest < 0:
        index = b.emit("add", index, -lowest, hidden=True)
    array = b.array(value.dtype, b.reach(index) + 1, "atomic", kind="locked", whole=True)
    locks = new_shared(b, "i32", "lock", 4, low=0, high=1)
    lock = b.emit("pointer", b.some(0, 4), array=locks, hidden=True)
    pointer = b.emit("pointer", index, array=array, hidden=True)
    b.do("add_locked", lock, pointer, name)


BLOCKS = [("add", 3), ("max", 1), ("min", 1), ("or", 1), ("and", 1), ("xor", 1)]
BLOCK_TYPES = {"add": ["i32", "u32", "fp32", "fp16", "bf16"], "max": ["i32", "u32"], "min": ["i32", "u32"]}


def block_atomic(b):
    """A tile combined with a block of a tensor, by a descriptor."""
    kind = weighted(b, BLOCKS)
    name = b.recent(b.names(lambda v: v.dtype in BLOCK_TYPES.get(kind, ["i32", "u32"]) and 1 <= len(v.shape) <= 3 and
                            v.shape[-1] * v.format.bits >= 128))
    value = b.value(name)
    shape, unit = value.shape, 128 // value.format.bits
    extents = tuple(max(1, e * b.some(1, 3) - (b.some(0, e) if b.chance(0.4) else 0)) for e in shape)
    strides, step = [1] * len(shape), 1
    for d in reversed(range(len(shape))):
        strides[d] = step
        step = -(-(step * extents[d]) // unit) * unit
    array = b.array(value.dtype, step, "atomic", kind=kind, whole=True)
    desc = b.emit("desc", 0, array=array, extents=extents, strides=tuple(strides), tile=shape, hidden=True)
    place = [b.pick((0, 0, -1, 3, e // 2)) for e in shape]
    if b.chance(0.5):
        place[0] = b.emit("mul", b.pick(b.random.pids), b.pick((1, shape[0])), hidden=True)
    b.do("desc_atomic", desc, name, *place, kind=kind)


PRINTED = ["i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64", "fp32", "fp16", "fp64"]


def printed(b):
    """Small tiles, each element of which is printed once."""
    if b.random.trips * b.random.program.programs > 24:
        raise Stuck
    known = b.names(lambda v: v.dtype in PRINTED and v.data.size <= 16)
    name = b.recent(known) if known and b.chance(0.7) else b.tile(b.pick(PRINTED), b.shape(most=16))
    more = [n for n in known if b.value(n).shape == b.value(name).shape and n != name]
    b.do("print", name, *([b.pick(more)] if more and b.chance(0.4) else []), prefix=b.pick(("x", "a value", "of row")))


def true_scalar(b):
    """A condition on scalars that holds in every program."""
    numbers = [n for n in (*b.random.pids, *b.random.indices, *b.random.program.scalars) if isinstance(b.states[0].env.get(n), Value)]
    numbers += b.names(lambda v: not v.shape and v.format.is_int and v.undef is None)
    name = b.recent(numbers)
    seen = [int(state.env[name].data) for state in b.states]
    kind = b.pick(("ge", "le", "lt", "multiple", "eq"))
    slack = 0 if name not in b.random.indices else 400  # of iterations to come
    if kind == "multiple":
        unit = next((u for u in (32, 16, 8, 4, 2) if all(x % u == 0 for x in seen)), 1)
        return b.emit("eq", b.emit("mod", name, unit, hidden=True), 0, hidden=True)
    if kind == "eq":
        if len(set(seen)) > 1:
            raise Stuck
        return b.emit("eq", name, seen[0], hidden=True)
    if kind == "ge":
        return b.emit("ge", name, min(seen) - b.pick((0, 0, 1, 7)), hidden=True)
    return b.emit(kind, name, max(seen) + slack + (kind == "lt") + b.pick((0, 0, 1, 7)), hidden=True)


def assumed(b):
    b.do("assume", true_scalar(b))


def asserted(b):
    """A condition that holds for each element."""
    if b.chance(0.3):
        condition = true_scalar(b)
    else:
        name = b.recent(b.names(lambda v: v.format.is_int and v.dtype != "i1" and v.undef is None))
        least = min(int(state.env[name].data.min()) for state in b.states)
        condition = b.emit("ge", name, least, hidden=True)
    b.do("assert", condition, message=b.pick(("in range", "it holds")))
