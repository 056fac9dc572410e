"""Recipes of loops and branches, whose bodies hold more."""
import numpy as np

from program import Statement
from pure import fits
from random_program import TRIES, Builder, Stuck
from values import Value, as_value


def fill(b, steps):
    done = 0
    for _ in range(steps * TRIES):
        if done >= steps or b.random.done:
            return
        recipe = b.random.choose_recipe(b.depth)
        try:
            recipe.make(b)
            done += 1
        except Stuck:
            pass


def counted(b, make_body, given=None, end=None):
    """A for loop with a body that `make_body` adds to a block; `given`: its bounds, of which a variable `end` may say the last
    one, and nothing is added to that body."""
    low, step = b.pick((0, 0, 0, 1, 2)), b.pick((1, 1, 1, 2, 16))
    trips = b.pick((0, 1, 2, 3, 3, 4, 5))
    high = low + trips * step - (b.some(0, step) if trips else 0)
    static = b.chance(0.1)
    if given:
        (low, high, step), trips, static = given, -(-(given[1] - given[0]) // given[2]), False
    bounds = [low, high, step]
    uneven = not static and not given and not b.depth and b.chance(0.2)
    if uneven:  # programs take different numbers of iterations
        bounds[1] = b.emit("add", b.pick(b.random.pids), high, hidden=True)
        trips += max(b.random.program.grid)
    elif end is not None:
        bounds[1] = end
    elif not static and b.chance(0.5):
        bounds[1] = scalar_of(b, high)
    index = b.fresh()
    inner = Builder(b.random, b)
    inner.in_loop = True
    for state in inner.states:
        state.env[index] = low if static else as_value(low, "i32")
    random = b.random
    random.open.append(inner)
    random.indices.append(index)
    random.trip_counts.append((low + max(trips, 1) * step, random.trips))
    random.trips *= low + max(trips, 1) * step
    try:
        if random.trips > 200 and not given:
            raise Stuck
        make_body(inner)
        if not given:
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


def argument(b, number):
    """The number, as an argument of the launch; None if there are enough of them."""
    scalars = b.random.program.scalars
    for name, (dtype, value) in scalars.items():
        if value == number and dtype == "i32" and name in b.states[0].env:
            return name
    if len(scalars) >= 5 or b.depth:
        return None
    name = f"n{len(scalars)}"
    scalars[name] = ("i32", number)
    for builder in b.random.open:
        for state in builder.states:
            state.env[name] = as_value(number, "i32")
    return name


def scalar_of(b, number):
    """The number, as an argument of the launch or a load."""
    name = argument(b, number) if b.chance(0.5) else None
    if name:
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
