"""Random programs that are valid by construction: each statement is evaluated over all programs of the launch when it is made,
and one that the language leaves undefined is dropped. Bodies of loops and branches are made on copies of the state, and the
whole is then evaluated on the state itself."""
import math
from typing import Callable, NamedTuple

import numpy as np

from formats import FLOATS, FORMATS, FP8, INTS
from operations import OPERATIONS
from program import Array, Program, Statement, tidied
from reference import ORDERS, Evaluation, Memory, Return, evaluate
from values import Invalid, Value

MOST_ELEMENTS = 1 << 10
TRIES = 12
SAFE = {name: (name,) for name in ORDERS}


class Stuck(Exception):
    """Nothing valid was found."""


def _copy_memory(memory):
    copies = {}
    for name, m in memory.items():
        if m.role == "in":  # only who read it changes, which does not matter
            copies[name] = m
            continue
        copy = copies[name] = Memory.__new__(Memory)
        for key, value in m.__dict__.items():
            setattr(copy, key, value.copy() if isinstance(value, np.ndarray) else value)
    return copies


class Builder:
    """A block of statements and the state of every program behind it."""

    def __init__(self, random, parent=None):
        self.random = random  # a RandomProgram: what blocks share
        self.rng = random.rng
        self.body = []
        self.depth = parent.depth + 1 if parent else 0
        self.in_loop = parent.in_loop if parent else False
        if parent:
            memory = _copy_memory(parent.states[0].memory)
            self.states = [self.cloned(state, memory) for state in parent.states]
        else:
            first = Evaluation(random.program, allowed=random.allowed)
            self.states = []
            for pid in range(random.program.programs):
                state = Evaluation(random.program, first.memory, random.allowed)
                state.start(pid)
                self.states.append(state)

    @staticmethod
    def cloned(state, memory):
        copy = Evaluation(state.program, memory, state.allowed)
        copy.pid, copy.env, copy.steps = state.pid, dict(state.env), state.steps
        return copy

    # Choices

    def chance(self, p):
        return self.rng.random() < p

    def pick(self, options):
        return options[int(self.rng.integers(len(options)))]

    def some(self, low, high):
        return int(self.rng.integers(low, high))

    # Variables

    def value(self, name):
        return self.states[0].env[name]

    def names(self, wanted=lambda value: True, kind=Value):
        hidden, scalars = self.random.hidden, self.random.program.scalars
        return [n for n, v in self.states[0].env.items() if isinstance(v, kind) and n not in hidden and n not in scalars and wanted(v)]

    def recent(self, names):
        """One of them, the later ones more often."""
        if not names:
            raise Stuck
        return names[max(int(self.rng.integers(len(names))), int(self.rng.integers(len(names))))]

    def fresh(self, hidden=False):
        self.random.count += 1
        name = f"v{self.random.count}"
        if hidden:
            self.random.hidden.add(name)
        return name

    # Statements

    def attempt(self, s):
        """Evaluates the statement in every program; False, and nothing happened, if it is not valid."""
        touches = s.op not in OPERATIONS
        memory = _copy_memory(self.states[0].memory) if touches else None
        envs = [(dict(state.env), state.steps) for state in self.states]
        left = []
        try:
            for state in self.states:
                try:
                    state.statement(s)
                    left.append(state)
                except Return:
                    pass
            if not left:
                raise Invalid("all programs returned")
            self.random.judge(s, left)
        except Invalid:
            for state, (env, steps) in zip(self.states, envs):
                state.env, state.steps = env, steps
                if memory is not None:
                    state.memory = memory
            return False
        self.states = left
        self.body.append(s)
        return True

    def emit(self, op, *args, hidden=False, results=1, **attrs):
        names = tuple(self.fresh(hidden) for _ in range(results))
        if not self.attempt(Statement(op, names, args, attrs)):
            raise Stuck
        return names[0] if results == 1 else names

    def do(self, op, *args, blocks=(), dst=(), **attrs):
        if not self.attempt(Statement(op, dst, args, attrs, blocks)):
            raise Stuck

    # Arrays

    def array(self, dtype, size, role="in", **rest):
        name = f"{'x' if role == 'in' else 'y' if role == 'own' else 'z'}{len(self.random.program.arrays)}"
        whole = rest.pop("whole", not self.random.real)
        array = Array(dtype, int(size), role, seed=self.some(0, 1 << 30), whole=whole, **rest)
        self.random.program.arrays[name] = array
        self.random.remember(name, Memory(array), self)
        return name

    def fill(self, dtype):
        f = FORMATS[dtype]
        if f.is_int and self.chance(0.4):
            return {"low": -(2 ** (f.bits - 1)) + 1 if f.kind == "int" else 0, "high": 2 ** (f.bits - 1) - 1}
        special = {"special": 0.08} if self.random.special and dtype in FLOATS else {}
        return {**special, **({"low": -3, "high": 4} if self.chance(0.7) else {"low": 0, "high": 9})}

    def index(self, shape, strides, offset=None):
        """A tile of offset + sum of stride * index along each dimension; a scalar for no dimensions."""
        total = offset
        for d, (extent, stride) in enumerate(zip(shape, strides)):
            part = self.emit("arange", start=0, stop=extent, hidden=True) if extent > 1 else self.emit("full", 0, shape=(1,), dtype="i32", hidden=True)
            for axis in range(len(shape)):
                if axis != d:
                    part = self.emit("expand", part, axis=axis, hidden=True)
            if stride < 0:
                part, stride = self.emit("sub", extent - 1, part, hidden=True), -stride
            if stride != 1:
                part = self.emit("mul", part, stride, hidden=True)
            total = part if total is None else self.emit("add", total, part, hidden=True)
        if total is None:
            return self.emit("copy", 0, hidden=True)
        return self.hinted(total, shape, strides) if shape and self.chance(0.1) else total

    def hinted(self, index, shape, strides):
        """The index with what is known of its runs said of it; of what it is a multiple only where no iteration is to come."""
        lengths = tuple(max(n for n in (1, 2, 4, 8, 16) if extent % n == 0) if stride == 1 else 1 for extent, stride in zip(shape, strides))
        same = tuple(extent if stride == 0 else 1 for extent, stride in zip(shape, strides))
        try:
            if max(same) > 1:
                return self.emit("constancy", index, lengths=same, hidden=True)
            unit = 1 if self.in_loop else self.pick((1, 4, 8, 16))
            return self.emit("runs", index, values=tuple(unit if n > 1 else 1 for n in lengths), lengths=lengths, hidden=True)
        except Stuck:
            return index

    def strides(self, shape):
        """Of a tile without two elements at one place: dimensions in some order, with gaps, some turned around."""
        order = list(range(len(shape)))
        if self.chance(0.3):
            self.rng.shuffle(order)
        strides, step = [0] * len(shape), 1
        for d in reversed(order):
            strides[d] = step if self.chance(0.9) else -step
            step = step * shape[d] + (self.some(0, 4) if self.chance(0.2) else 0)
        return strides

    def shape(self, most=MOST_ELEMENTS, rank=None):
        rank = rank or self.pick((1, 1, 2, 2, 2, 3, 4))
        while True:
            shape = tuple(1 << self.some(0 if rank > 1 and self.chance(0.2) else 1, 9 if rank == 1 else 7) for _ in range(rank))
            if 2 <= math.prod(shape) <= most:
                return shape

    def place(self):
        """A scalar that differs from program to program and iteration to iteration, and is not negative."""
        parts = [n for n in (*self.random.pids, *self.random.indices) if n in self.states[0].env]
        total = None
        for name in parts:
            if self.chance(0.7):
                part = self.emit("mul", name, self.pick((1, 3, 8, 16, 64, 100)), hidden=True)
                total = part if total is None else self.emit("add", total, part, hidden=True)
        if self.chance(0.3):
            number = self.pick([*self.random.program.scalars, self.some(0, 40), self.some(0, 5) * 16])
            if not isinstance(number, str) or self.value(number).format.is_int and self.value(number).data >= 0:
                total = self.emit("copy", number, hidden=True) if total is None else self.emit("add", total, number, hidden=True)
        return total

    def mask(self, shape, index):
        """Of some kind; it is never all off."""
        kind = self.some(0, 4)
        values = self.value(index).data
        if kind == 0:
            return self.emit("lt", index, int(values.min()) + self.some(1, max(2, int(np.ptp(values)) + 1)), hidden=True)
        if kind == 1:
            d = self.some(0, len(shape))
            part = self.line(shape, d)
            mask = self.emit(self.pick(("lt", "ge")), part, self.some(0, shape[d]) + (shape[d] > 1), hidden=True)
            return self.emit("broadcast", mask, shape=shape, hidden=True)
        if kind == 2:
            bits = self.emit("and", index, self.pick((1, 2, 4)), hidden=True)
            return self.emit("ne", bits, 0, hidden=True)
        names = self.names(lambda v: v.dtype == "i1" and v.shape == tuple(shape))
        return self.recent(names)

    def line(self, shape, d):
        part = self.emit("arange", start=0, stop=shape[d], hidden=True) if shape[d] > 1 else self.emit("full", 0, shape=(1,), dtype="i32", hidden=True)
        for axis in range(len(shape)):
            if axis != d:
                part = self.emit("expand", part, axis=axis, hidden=True)
        return part

    def reach(self, index, mask=None):
        """The largest place that any program will touch, where the index is known."""
        largest = 0
        for state in self.states:
            data = state.env[index].data
            on = np.ones(data.shape, bool) if mask is None else np.broadcast_to(state.env[mask].data, data.shape)
            largest = max(largest, int(data[on].max()) if on.any() else 0)
        return largest

    def tile(self, dtype=None, shape=None):
        """Loads a tile of a new array."""
        dtype = dtype or self.random.dtype()
        shape = shape if shape is not None else self.shape()
        index = self.index(shape, self.strides(shape), self.place())
        mask = other = None
        if shape and self.chance(0.35):
            mask = self.mask(shape, index)
            if self.chance(0.8):
                other = self.number(dtype)
        # Iterations to come go further.
        name = self.array(dtype, self.reach(index, mask) + 1 + (800 if self.in_loop else 0) + self.some(0, 3) * 16, **self.fill(dtype))
        pointer = self.emit("pointer", index, array=name, hidden=True)
        return self.emit("load", pointer, mask, other)

    def number(self, dtype):
        f = FORMATS[dtype]
        if f.is_float:
            return float(self.pick((0.0, 1.0, -1.0, 2.0, 0.5, -3.0, 4.0)))
        if f.kind == "bool":
            return bool(self.some(0, 2))
        return self.some(0 if f.kind == "uint" else -4, 9)


class Recipe(NamedTuple):
    make: Callable  # adds statements to a block
    weight: float
    deepest: int = 9  # in blocks of blocks
    heavy: bool = False  # takes long; a program has one such


class RandomProgram:
    def __init__(self, seed, switches, steps=None):
        self.rng = np.random.default_rng(seed)
        self.switches = switches
        self.allowed = tuple(name for name in ORDERS if switches.get(name, True))
        self.real = self.rng.random() < 0.2
        self.count = 0
        self.hidden, self.pids, self.indices = set(), [], []
        self.stored, self.rooms, self.trips, self.trip_counts = set(), {}, 1, []
        self.heavy, self.largest = False, 8 * MOST_ELEMENTS  # a heavy recipe is there; elements of a tile
        self.done = False  # nothing more is to come
        self.special = self.rng.random() < 0.15  # infinities and NaN are among what is loaded
        grid = ((1,), (2,), (3,), (4,), (2, 2), (3, 2), (2, 1, 2), (7,))
        warps = (1, 2, 4, 4, 4, 8, 8, 16)
        self.program = Program({}, {}, {}, grid[int(self.rng.integers(len(grid)))], [], int(warps[int(self.rng.integers(len(warps)))]),
                               int(self.rng.integers(1, 6)), bool(self.rng.random() < 0.5), seed)
        self.palette = self.choose_types()
        for i in range(int(self.rng.integers(0, 3))):
            self.program.scalars[f"n{i}"] = ("i32", int(self.rng.choice([0, 1, 2, 3, 5, 16, 17, 32, 48, 100])))
        for i in range(int(self.rng.integers(0, 3))):
            self.program.constants[f"C{i}"] = int(self.rng.choice([0, 1, 2, 3, 4, 16]))
        self.steps = steps or int(self.rng.integers(4, 22))

    def choose_types(self):
        everything = INTS + FLOATS + FP8 + ["i1"]
        often = ["i32", "fp32", "fp16"]
        return [str(self.rng.choice(everything if self.rng.random() < 0.6 else often)) for _ in range(3)] + [str(self.rng.choice(often))]

    def dtype(self):
        return str(self.rng.choice(self.palette))

    def remember(self, name, memory, builder):
        """A new array is there in every block under construction."""
        for open_builder in self.open:
            shared = {id(state.memory): state.memory for state in open_builder.states}
            for held in shared.values():
                held.setdefault(name, memory if memory.role == "in" else Memory(self.program.arrays[name]))

    def judge(self, s, states):
        """Keeps rounding out of most programs, and tiles small."""
        for state in states:
            for name in s.dst:
                value = state.env.get(name)
                if isinstance(value, Value):
                    if value.err is not None and not self.real:
                        raise Invalid("rounding")
                    if value.data.size > self.largest:
                        raise Invalid("a large tile")

    def choose_recipe(self, depth):
        """One that may stand in a block of this depth."""
        rows = [r for r in self.recipes if depth <= r.deepest and not (r.heavy and self.heavy)]
        recipe = rows[int(self.rng.choice(len(rows), p=np.array([r.weight for r in rows]) / sum(r.weight for r in rows)))]
        self.heavy |= recipe.heavy
        return recipe

    def build(self):
        import control
        import recipes

        self.recipes = recipes.RECIPES
        top = Builder(self)
        self.open = [top]
        for axis in range(len(self.program.grid)):
            self.pids.append(top.emit("program_id", axis=axis, hidden=True))
        control.fill(top, self.steps)
        recipes.store_results(top)
        return self.whole(top.body)

    def whole(self, body):
        """The program of the statements, without the last ones where all of them together are not valid: what statements of a loop's
        body pass on to iterations is known when the loop stands."""
        while True:
            self.program.body = body
            program = tidied(self.program)
            try:
                evaluate(program)
                return program
            except Invalid:
                body = body[:-1]


def random_program(seed, switches):
    return RandomProgram(seed, switches).build()
