"""What a program must store: its statements, evaluated in NumPy, program by program.

Raises Invalid where the language leaves the result open: elements outside of arrays, undefined numbers that matter, elements
that one program writes and another touches, two lanes of a store at one place, an order of atomics that counts."""
import numpy as np

from formats import FORMATS
from operations import OPERATIONS
from values import Block, Invalid, Pointer, Value, as_value, converted, settled, spread

MAX_STEPS = 4000
NOBODY, SEVERAL = -1, -2


class Memory:
    """An array while the launch runs; `writer`, `reader`: the program that wrote, read an element."""

    def __init__(self, array):
        self.dtype, self.role, self.kind = array.dtype, array.role, array.kind
        self.data = array.values()
        self.err = np.zeros(array.size) if FORMATS[array.dtype].is_float else None
        self.magnitude = np.abs(self.data) if FORMATS[array.dtype].is_float else None
        self.writer = np.full(array.size, NOBODY, np.int16)
        self.reader = np.full(array.size, NOBODY, np.int16)


COMBINE = {"add": np.add, "max": np.maximum, "min": np.minimum, "and": np.bitwise_and, "or": np.bitwise_or, "xor": np.bitwise_xor}


class Return(Exception):
    pass


# What tells one order of a program's own accesses from another; a program may be asked to do without.
ORDERS = ("readback", "overlap", "overwrite")


class Evaluation:
    def __init__(self, program, memory=None, allowed=ORDERS):
        self.program = program
        self.memory = memory or {name: Memory(array) for name, array in program.arrays.items()}
        self.allowed = allowed
        self.steps = 0
        self.printed = []
        self.pid = 0
        self.env = {}

    # Programs

    def start(self, pid):
        self.pid, self.steps = pid, 0
        self.env = {name: as_value(value, dtype) for name, (dtype, value) in self.program.scalars.items()}
        self.env.update(self.program.constants)

    def run(self):
        for pid in range(self.program.programs):
            self.start(pid)
            try:
                self.block(self.program.body)
            except Return:
                pass
        return self.memory

    # Statements

    def arg(self, value):
        if isinstance(value, str):
            if value not in self.env:
                raise Invalid(f"{value} is not set")
            return self.env[value]
        return value

    def assign(self, names, results):
        for name, result in zip(names, results):
            old = self.env.get(name)
            if not isinstance(result, (Value, Pointer, Block)):
                result = as_value(result)
            if old is not None and (not hasattr(old, "type") or old.type != result.type):
                raise Invalid(f"{name} changes its type")
            if isinstance(old, Block) and (old.base, old.extents, old.strides) != (result.base, result.extents, result.strides):
                raise Invalid(f"{name} changes its tensor")
            self.env[name] = result

    def scoped(self, body):
        before = set(self.env)
        self.block(body)
        self.env = {name: value for name, value in self.env.items() if name in before}

    def block(self, body):
        for s in body:
            self.statement(s)

    def statement(self, s):
        self.steps += 1
        if self.steps > MAX_STEPS:
            raise Invalid("too many steps")
        operation = OPERATIONS.get(s.op)
        if operation:
            results = operation.evaluate(*(self.arg(a) for a in s.args), **s.attrs)
            self.assign(s.dst, results if operation.results > 1 else (results,))
        else:
            getattr(self, "do_" + s.op)(s)

    def number(self, value):
        """A scalar that decides."""
        if isinstance(value, Value):
            if value.shape:
                raise Invalid("a scalar is wanted")
            value.defined().exact()
            return value.data[()].item()
        return value

    def do_for(self, s):
        low, high, step = (self.number(self.arg(a)) for a in s.args)
        if step == 0 or not all(type(x) is int for x in (low, high, step)):
            raise Invalid("a range of other numbers")
        if s.attrs["range"] == "tl.static_range" and any(isinstance(a, str) and a not in self.program.constants for a in s.args):
            raise Invalid("bounds of a static range")
        if s.dst[0] in self.env:
            raise Invalid("a loop's index that is another variable")
        for i in range(low, high, step):
            self.env[s.dst[0]] = i if s.attrs["range"] == "tl.static_range" else as_value(i, "i32")
            self.scoped(s.blocks[0])
        self.env.pop(s.dst[0], None)

    def do_while(self, s):
        while self.number(self.arg(s.args[0])) < self.number(self.arg(s.args[1])):
            self.scoped(s.blocks[0])
            self.steps += 1
            if self.steps > MAX_STEPS:
                raise Invalid("too many steps")

    def do_if(self, s):
        taken = self.number(self.arg(s.args[0]))
        self.scoped(s.blocks[0] if taken else s.blocks[1])

    def do_return(self, s):
        raise Return

    # Programs' numbers

    def places(self):
        grid, pid = (*self.program.grid, 1), self.pid
        return pid % grid[0], pid // grid[0] % grid[1], pid // (grid[0] * grid[1])

    def do_program_id(self, s):
        self.assign(s.dst, (as_value(self.places()[s.attrs["axis"]], "i32"),))

    def do_num_programs(self, s):
        grid = (*self.program.grid, 1, 1)
        self.assign(s.dst, (as_value(grid[s.attrs["axis"]], "i32"),))

    # What the program says of itself

    def do_print(self, s):
        values = [self.arg(a) for a in s.args]
        for number, value in enumerate(values):
            if not isinstance(value, Value) or value.shape != values[0].shape or not np.isfinite(value.exact().defined().data).all():
                raise Invalid("nothing to print")
            operand = f"(operand {number}) " if len(values) > 1 else ""
            for index, x in np.ndenumerate(value.data):
                # Which of two zeros a sum or a maximum gives its order may decide: the lines are compared without.
                text = f"{x + 0.0:f}" if value.format.is_float else str(x)
                if float(text) != x:
                    raise Invalid("more digits than are printed")
                where = ", ".join(str(i).rjust(len(str(extent - 1))) for i, extent in zip(index, value.shape))
                self.printed.append(f"pid ({', '.join(map(str, self.places()))}) idx ({where}) {s.attrs['prefix']}: {operand}{text}")

    def do_assert(self, s):
        if not np.all(self.arg(s.args[0]).defined().exact().data):
            raise Invalid("an assertion that fails")

    def do_assume(self, s):
        if not self.number(self.arg(s.args[0])):
            raise Invalid("an assumption that does not hold")

    # Memory

    def do_pointer(self, s):
        index = self.arg(s.args[0])
        index = index if isinstance(index, Value) else as_value(index)
        if not index.format.is_int:
            raise Invalid("an index that is no integer")
        self.assign(s.dst, (Pointer(s.attrs["array"], index.data.astype(np.int64), index.undef),))

    def lanes(self, pointer, mask):
        """Which elements an access touches; its shape."""
        if not isinstance(pointer, Pointer):
            raise Invalid("no pointer")
        shape = pointer.shape if mask is None else np.broadcast_shapes(pointer.shape, mask.shape)
        if shape != pointer.shape:
            raise Invalid("a mask larger than the pointers")
        on = np.ones(shape, bool)
        if mask is not None:
            if mask.dtype != "i1":
                raise Invalid("a mask that is no bool")
            on = np.broadcast_to(mask.defined().data, shape)
        if pointer.undef is not None and (np.broadcast_to(pointer.undef, shape) & on).any():
            raise Invalid("an undefined address")
        at = pointer.data[on]
        if at.size and (at.min() < 0 or at.max() >= self.memory[pointer.array].data.size):
            raise Invalid("outside of the array")
        return on, at

    def read(self, name, at):
        memory = self.memory[name]
        if memory.role == "atomic":
            raise Invalid("a read of what is updated atomically")
        writer = memory.writer[at]
        if ((writer != NOBODY) & (writer != self.pid)).any():
            raise Invalid("a read of what another program wrote")
        if (writer == self.pid).any() and "readback" not in self.allowed:
            raise Invalid("a read of what the program wrote")
        reader = memory.reader[at]
        memory.reader[at] = np.where((reader == NOBODY) | (reader == self.pid), self.pid, SEVERAL)
        return memory.data[at], None if memory.err is None else memory.err[at]

    def write(self, name, at, value):
        memory = self.memory[name]
        if memory.role != "own":
            raise Invalid("a store to what is not the program's")
        if np.unique(at).size != at.size:
            raise Invalid("two stores to one place")
        writer, reader = memory.writer[at], memory.reader[at]
        if ((writer != NOBODY) & (writer != self.pid) | (reader != NOBODY) & (reader != self.pid)).any():
            raise Invalid("a store to what another program touches")
        if (writer == self.pid).any() and "overwrite" not in self.allowed or (reader == self.pid).any() and "overlap" not in self.allowed:
            raise Invalid("a store to what the program touched")
        memory.writer[at] = self.pid
        memory.data[at] = value.defined().data
        if memory.err is not None:
            memory.err[at] = np.broadcast_to(value.bound, value.shape)

    def loaded(self, name, on, at, other):
        memory = self.memory[name]
        data = np.zeros(on.shape, memory.data.dtype)
        data[on], err = self.read(name, at)
        undef = bound = None
        if err is not None and err.any():
            bound = np.zeros(on.shape)
            bound[on] = err
        if other is None:
            undef = ~on
        else:
            other = converted(other, memory.dtype) if isinstance(other, Value) else as_value(other, memory.dtype)
            other = spread(other, on.shape)
            data = np.where(on, data, other.data)
            if other.undef is not None:
                undef = other.undef & ~on
            if other.err is not None:
                bound = np.where(on, 0 if bound is None else bound, other.err)
        return settled(memory.dtype, data, bound, undef, ~np.isfinite(data) if FORMATS[memory.dtype].is_float else None)

    def do_load(self, s):
        pointer, mask, other = (None if a is None else self.arg(a) for a in s.args)
        if mask is None and other is not None:
            raise Invalid("other without a mask")
        on, at = self.lanes(pointer, mask)
        self.assign(s.dst, (self.loaded(pointer.array, on, at, other),))

    def stored(self, name, value, shape):
        dtype = self.memory[name].dtype
        value = value if isinstance(value, Value) else as_value(value)
        if dtype == "i1" and value.dtype != "i1":
            value = converted(value, "i8")  # a bool is a byte in memory
        return spread(converted(value, dtype), shape)

    def do_store(self, s):
        pointer, value, mask = (None if a is None else self.arg(a) for a in s.args)
        on, at = self.lanes(pointer, mask)
        value = self.stored(pointer.array, value, on.shape)
        self.write(pointer.array, at, Value(value.dtype, *(None if x is None else x[on] for x in (value.data, value.err, value.undef))))

    def do_atomic(self, s):
        pointer, value, mask = (None if a is None else self.arg(a) for a in s.args)
        self.update(pointer.array, *self.lanes(pointer, mask), value, s.attrs["kind"], COMBINE[s.attrs["kind"]])

    def update(self, name, on, at, value, kind, combine):
        memory = self.memory[name]
        if memory.role != "atomic" or memory.kind != kind:
            raise Invalid("another atomic operation")
        value = self.stored(name, value, on.shape)
        if value.undef is not None and (value.undef & on).any():
            raise Invalid("an undefined number")
        data = value.exact().data[on]
        with np.errstate(over="ignore"):
            combine.at(memory.data, at, data)
        if memory.magnitude is not None:
            np.add.at(memory.magnitude, at, np.abs(data))
            if (data != np.trunc(data)).any() or (memory.magnitude > 2.0 ** FORMATS[memory.dtype].precision).any():
                raise Invalid("a sum that depends on the order")

    def do_exchange(self, s):
        pointer, value, mask = (None if a is None else self.arg(a) for a in s.args)
        self.exchange(s, pointer, value, mask, lambda old, new: new)

    def do_compare_swap(self, s):
        pointer, expected, value = (self.arg(a) for a in s.args)
        expected = self.stored(pointer.array, expected, pointer.shape).defined()
        self.exchange(s, pointer, value, None, lambda old, new: np.where(old == expected.data.reshape(-1), new, old))

    def exchange(self, s, pointer, value, mask, choose):
        """Leaves what `choose` says of old and new elements; gives the old ones."""
        on, at = self.lanes(pointer, mask)
        value = self.stored(pointer.array, value, on.shape).exact().defined()
        old = self.loaded(pointer.array, on, at, None).exact()
        self.write(pointer.array, at, Value(value.dtype, choose(old.data[on], value.data[on])))
        self.assign(s.dst, (old,))

    def do_add_by_cas(self, s):
        self.add_together(*(self.arg(a) for a in s.args), "add_by_cas")

    def do_add_locked(self, s):
        lock, pointer, value = (self.arg(a) for a in s.args)
        if self.memory[lock.array].kind != "lock" or self.memory[lock.array].data[self.lanes(lock, None)[1]].any():
            raise Invalid("no lock")
        self.add_together(pointer, value, "locked")

    def add_together(self, pointer, value, kind):
        """Adds to what programs update in some order."""
        if not isinstance(value, Value) or value.dtype != self.memory[pointer.array].dtype or value.shape != pointer.shape:
            raise Invalid("a value of another type")
        if np.unique(pointer.data).size != pointer.data.size or not pointer.shape and kind == "locked":
            raise Invalid("one place twice")
        self.update(pointer.array, *self.lanes(pointer, None), value, kind, np.add)

    # Blocks

    def do_block(self, s):
        a = s.attrs
        base, *place = (self.number(self.arg(x)) for x in s.args)
        self.assign(s.dst, (Block(a["array"], base, a["extents"], a["strides"], a["tile"], tuple(place)),))

    def do_desc(self, s):
        a = s.attrs
        base = self.number(self.arg(s.args[0]))
        size = FORMATS[self.memory[a["array"]].dtype].bits // 8
        if a["strides"][-1] != 1 or a["tile"][-1] * size < 16 or base * size % 16 or any(x * size % 16 for x in a["strides"][:-1]):
            raise Invalid("no tensor of a descriptor")
        self.assign(s.dst, (Block(a["array"], base, a["extents"], a["strides"], a["tile"]),))

    def do_advance(self, s):
        block, *offsets = (self.arg(a) for a in s.args)
        place = tuple(p + self.number(o) for p, o in zip(block.place, offsets, strict=True))
        self.assign(s.dst, (Block(block.array, block.base, block.extents, block.strides, block.tile, place),))

    def region(self, block, place, checked):
        at = np.full((1,) * len(block.tile), block.base, np.int64)
        on = np.ones((1,) * len(block.tile), bool)
        for d, tile in enumerate(block.tile):
            index = (place[d] + np.arange(tile)).reshape([-1 if i == d else 1 for i in range(len(block.tile))])
            inside = (index >= 0) & (index < block.extents[d])
            if d not in checked and not inside.all():
                raise Invalid("a block outside of its tensor")
            at, on = at + index * block.strides[d], on & inside
        at, on = np.broadcast_to(at, block.tile), np.broadcast_to(on, block.tile)
        return self.lanes(Pointer(block.array, at), Value("i1", on))

    def do_block_load(self, s):
        block = self.arg(s.args[0])
        on, at = self.region(block, block.place, s.attrs.get("checked", ()))
        self.assign(s.dst, (self.loaded(block.array, on, at, 0),))

    def do_block_store(self, s):
        block, value = (self.arg(a) for a in s.args)
        on, at = self.region(block, block.place, s.attrs.get("checked", ()))
        self.store_region(block, value, on, at)

    def store_region(self, block, value, on, at):
        if not isinstance(value, Value) or value.shape != block.tile:
            raise Invalid("a tile of another shape")
        value = self.stored(block.array, value, on.shape)
        self.write(block.array, at, Value(value.dtype, *(None if x is None else x[on] for x in (value.data, value.err, value.undef))))

    def do_desc_load(self, s):
        block, *place = (self.arg(a) for a in s.args)
        on, at = self.region(block, [self.number(p) for p in place], range(len(block.tile)))
        self.assign(s.dst, (self.loaded(block.array, on, at, 0),))

    def do_desc_store(self, s):
        block, value, *place = (self.arg(a) for a in s.args)
        on, at = self.region(block, [self.number(p) for p in place], range(len(block.tile)))
        self.store_region(block, value, on, at)
    def do_desc_atomic(self, s):
        block, value, *place = (self.arg(a) for a in s.args)
        if not isinstance(value, Value) or value.shape != block.tile or value.dtype != self.memory[block.array].dtype:
            raise Invalid("a tile of another type")
        on, at = self.region(block, [self.number(p) for p in place], range(len(block.tile)))
        self.update(block.array, on, at, value, s.attrs["kind"], COMBINE[s.attrs["kind"]])


def evaluate(program, allowed=ORDERS):
    """Arrays by name after the launch, (values, bounds or None); the lines that are printed, in some order."""
    evaluation = Evaluation(program, allowed=allowed)
    memory = evaluation.run()
    return {name: (m.data, m.err) for name, m in memory.items() if m.role != "in"}, evaluation.printed


def agrees(dtype, got, expected, err):
    """Marks elements that are as they must be."""
    if not FORMATS[dtype].is_float:
        return got == expected
    with np.errstate(invalid="ignore"):
        return (got == expected) | (np.abs(got - expected) <= err) | np.isnan(got) & np.isnan(expected)
