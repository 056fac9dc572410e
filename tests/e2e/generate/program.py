"""A kernel as data: arguments, launch, statements; and its text.

A statement computes one operation from variables and numbers, so that a program stays one when statements are taken out
or operands exchanged. Text of variables that are used once goes into the statement that uses them where `nested` is set."""
import math
from dataclasses import dataclass, field, replace

import numpy as np

from formats import FLOATS, FORMATS, rounded, to_bits
from operations import OPERATIONS


@dataclass
class Statement:
    op: str
    dst: tuple = ()
    args: tuple = ()
    attrs: dict = field(default_factory=dict)
    blocks: tuple = ()  # of lists of statements

    def __repr__(self):
        parts = [repr(self.op), repr(self.dst), repr(self.args)]
        if self.attrs or self.blocks:
            parts.append(repr(self.attrs))
        if self.blocks:
            parts.append(repr(self.blocks))
        return f"S({', '.join(parts)})"


@dataclass
class Array:
    """An array argument. `role`: "in" is only read; of "own" each program reads and writes elements of its own;
    "atomic" takes atomic operations of one kind."""

    dtype: str
    size: int
    role: str = "in"
    low: int = -3
    high: int = 4  # numbers from low to below high; floats are whole if `whole`
    whole: bool = True
    seed: int = 0
    kind: str = ""  # of atomics
    special: float = 0.0  # the share of floats that are infinite or NaN

    def values(self):
        rng = np.random.default_rng(self.seed)
        f = FORMATS[self.dtype]
        if f.kind == "bool":
            return rng.integers(0, 2, self.size).astype(np.bool_)
        if f.is_float and not self.whole:
            return self.with_special(rng, rounded(self.dtype, rng.uniform(self.low, self.high, self.size)))
        low, high = (max(0, self.low), max(1, self.high)) if f.kind == "uint" else (self.low, self.high)
        return self.with_special(rng, rng.integers(low, high, self.size).astype(f.numpy))

    def with_special(self, rng, values):
        if not self.special or self.dtype not in FLOATS:
            return values
        return np.where(rng.random(self.size) < self.special, rng.choice([np.inf, -np.inf, np.nan], self.size), values)


@dataclass
class Program:
    arrays: dict
    scalars: dict  # name -> (type, value)
    constants: dict  # name -> value of a constexpr
    grid: tuple
    body: list
    warps: int = 4
    stages: int = 2
    nested: bool = False
    seed: int = 0

    @property
    def programs(self):
        return math.prod(self.grid)

    def __repr__(self):
        arrays = ",\n            ".join(f"{name!r}: {array!r}" for name, array in self.arrays.items())
        body = "\n".join(_data(self.body, 2))
        return (f"Program(\n    arrays={{{arrays}}},\n    scalars={self.scalars!r}, constants={self.constants!r},\n"
                f"    grid={self.grid!r}, warps={self.warps}, stages={self.stages}, nested={self.nested}, seed={self.seed},\n"
                f"    body=[\n{body}\n    ],\n)")


S = Statement


def _data(body, depth):
    pad = "    " * depth
    for s in body:
        if not s.blocks:
            yield f"{pad}{s!r},"
            continue
        yield f"{pad}S({s.op!r}, {s.dst!r}, {s.args!r}, {s.attrs!r}, ("
        for block in s.blocks:
            yield f"{pad}    ["
            yield from _data(block, depth + 2)
            yield f"{pad}    ],"
        yield f"{pad})),"


def statements(body):
    """All of them, those of blocks behind their owner."""
    for s in body:
        yield s
        for block in s.blocks:
            yield from statements(block)


def copied(body):
    return [replace(s, attrs=dict(s.attrs), blocks=tuple(copied(block) for block in s.blocks)) for s in body]


# Text

def literal(value):
    if isinstance(value, float) and not math.isfinite(value):
        return f'float("{value}")'
    return repr(value) if not isinstance(value, str) else value


class Writer:
    def __init__(self, program):
        self.program = program
        self.lines = []
        self.helpers = {}
        self.inlined = {}
        uses, sets = {}, {}
        for s in statements(program.body):
            for arg in s.args:
                uses[arg] = uses.get(arg, 0) + 1
            for name in s.dst:
                sets[name] = sets.get(name, 0) + 1
        self.once = {n for n in uses if isinstance(n, str) and uses[n] == 1 and sets.get(n) == 1}

    def arg(self, value):
        return self.inlined.pop(value, literal(value)) if isinstance(value, str) else literal(value)

    def expression(self, s):
        if s.op in OPERATIONS:
            operation = OPERATIONS[s.op]
            if operation.helper:
                self.helpers[operation.helper] = None
            attrs = dict(s.attrs)
            if "dtype" in attrs:
                attrs["type"] = FORMATS[attrs["dtype"]].language
            if s.op == "dot":
                attrs["acc"] = f", {self.arg(s.args[2])}" if len(s.args) > 2 else ""
                attrs["precision"] = f", input_precision={s.attrs['precision']!r}" if s.attrs.get("precision") else ""
                attrs["out"] = f", out_dtype=tl.{FORMATS[s.attrs['out']].language}" if s.attrs.get("out") else ""
            return operation.text.format(*(self.arg(a) for a in s.args), **attrs)
        return MEMORY_TEXT[s.op](self, s)

    def call(self, helper, name, s):
        self.helpers[helper] = None
        return f"{name}({', '.join(self.arg(a) for a in s.args)})"

    def block(self, body, depth):
        if not body:
            self.lines.append("    " * depth + "pass")
        for i, s in enumerate(body):
            self.statement(s, depth, body[i + 1] if i + 1 < len(body) else None)

    def statement(self, s, depth, following):
        pad = "    " * depth
        if s.op in CONTROL_TEXT:
            self.lines += [pad + CONTROL_TEXT[s.op](self, s)]
            self.block(s.blocks[0], depth + 1) if s.blocks else None
            if len(s.blocks) > 1 and s.blocks[1]:
                self.lines.append(pad + "else:")
                self.block(s.blocks[1], depth + 1)
            return
        text = self.expression(s)
        goes_in = (self.program.nested and len(s.dst) == 1 and s.dst[0] in self.once and following and s.dst[0] in following.args
                   and s.op in OPERATIONS and s.op not in ("copy", "full") and not following.blocks and following.op in OPERATIONS)
        if goes_in:
            self.inlined[s.dst[0]] = f"({text})"
        else:
            self.lines.append(pad + (f"{', '.join(s.dst)} = " if s.dst else "") + text)


def _masked(writer, args):
    mask, other = args
    return (f", mask={writer.arg(mask)}" if mask is not None else "") + (f", other={writer.arg(other)}" if other is not None else "")


def _tuple(writer, args):
    return "(" + "".join(writer.arg(a) + ", " for a in args) + ")"


def _block(writer, s):
    rank = len(s.attrs["tile"])
    base = f"{s.attrs['array']} + {writer.arg(s.args[0])}" if s.args[0] != 0 else s.attrs["array"]
    return (f"tl.make_block_ptr({base}, {s.attrs['extents']}, {s.attrs['strides']}, {_tuple(writer, s.args[1:])}, {s.attrs['tile']}, "
            f"{tuple(range(rank - 1, -1, -1))})")


def _desc(writer, s):
    base = f"{s.attrs['array']} + {writer.arg(s.args[0])}" if s.args[0] != 0 else s.attrs["array"]
    return f"tl.make_tensor_descriptor({base}, {list(s.attrs['extents'])}, {list(s.attrs['strides'])}, {list(s.attrs['tile'])})"


def _checked(s):
    return f", boundary_check={s.attrs['checked']}" if s.attrs.get("checked") else ""


ADD_BY_CAS = '''@triton.jit
def add_by_cas(p, x):
    old = tl.atomic_cas(p, x, x)
    seen = tl.atomic_cas(p, old, old + x)
    while seen != old:
        old = seen
        seen = tl.atomic_cas(p, old, old + x)
'''

ADD_LOCKED = '''@triton.jit
def add_locked(lock, p, x):
    while tl.atomic_cas(lock, 0, 1) == 1:
        pass
    tl.store(p, tl.load(p) + x)
    tl.debug_barrier()
    tl.atomic_xchg(lock, 0)
'''

MEMORY_TEXT = {
    "program_id": lambda w, s: f"tl.program_id({s.attrs['axis']})",
    "num_programs": lambda w, s: f"tl.num_programs({s.attrs['axis']})",
    "pointer": lambda w, s: f"{s.attrs['array']} + {w.arg(s.args[0])}",
    "load": lambda w, s: f"tl.load({w.arg(s.args[0])}{_masked(w, s.args[1:])})",
    "store": lambda w, s: f"tl.store({w.arg(s.args[0])}, {w.arg(s.args[1])}{_masked(w, (s.args[2], None))})",
    "atomic": lambda w, s: f"tl.atomic_{s.attrs['kind']}({w.arg(s.args[0])}, {w.arg(s.args[1])}{_masked(w, (s.args[2], None))})",
    "exchange": lambda w, s: f"tl.atomic_xchg({w.arg(s.args[0])}, {w.arg(s.args[1])}{_masked(w, (s.args[2], None))})",
    "compare_swap": lambda w, s: f"tl.atomic_cas({', '.join(w.arg(a) for a in s.args)})",
    "add_by_cas": lambda w, s: w.call(ADD_BY_CAS, "add_by_cas", s),
    "add_locked": lambda w, s: w.call(ADD_LOCKED, "add_locked", s),
    "print": lambda w, s: f"tl.device_print({', '.join([repr(s.attrs['prefix']), *(w.arg(a) for a in s.args)])})",
    "assert": lambda w, s: f"tl.device_assert({w.arg(s.args[0])}, {s.attrs['message']!r})",
    "assume": lambda w, s: f"tl.assume({w.arg(s.args[0])})",
    "block": _block,
    "advance": lambda w, s: f"tl.advance({w.arg(s.args[0])}, {_tuple(w, s.args[1:])})",
    "block_load": lambda w, s: f"tl.load({w.arg(s.args[0])}{_checked(s)}{', padding_option=' + repr('zero') if s.attrs.get('checked') else ''})",
    "block_store": lambda w, s: f"tl.store({w.arg(s.args[0])}, {w.arg(s.args[1])}{_checked(s)})",
    "desc": _desc,
    "desc_load": lambda w, s: f"{w.arg(s.args[0])}.load([{', '.join(w.arg(a) for a in s.args[1:])}])",
    "desc_atomic": lambda w, s: f"{w.arg(s.args[0])}.atomic_{s.attrs['kind']}([{', '.join(w.arg(a) for a in s.args[2:])}], {w.arg(s.args[1])})",
    "desc_store": lambda w, s: f"{w.arg(s.args[0])}.store([{', '.join(w.arg(a) for a in s.args[2:])}], {w.arg(s.args[1])})",
}


def _for(writer, s):
    options = "".join(f", {name}={value}" for name, value in s.attrs.get("options", {}).items())
    return f"for {s.dst[0]} in {s.attrs['range']}({', '.join(writer.arg(a) for a in s.args)}{options}):"


CONTROL_TEXT = {
    "for": _for,
    "while": lambda w, s: f"while {w.arg(s.args[0])} < {w.arg(s.args[1])}:",
    "if": lambda w, s: f"if {w.arg(s.args[0])}:",
    "return": lambda w, s: "return",
}


def source(program):
    writer = Writer(program)
    writer.block(program.body, 1)
    parameters = [*program.arrays, *program.scalars] + [f"{name}: tl.constexpr" for name in program.constants]
    parts = ["import triton\nimport triton.language as tl\n"]
    parts += list(writer.helpers)
    parts.append("@triton.jit\ndef kernel(" + ", ".join(parameters) + "):\n" + "\n".join(writer.lines) + "\n")
    return "\n\n".join(parts)


def arguments(program):
    """Names to what a .npy file of the argument holds."""
    return {name: to_bits(array.dtype, array.values()) for name, array in program.arrays.items()}


EFFECTS = ("store", "atomic", "block_store", "desc_store", "return", "exchange", "compare_swap", "add_by_cas", "add_locked",
           "desc_atomic", "print", "assert", "assume")


def tidied(program):
    """Without statements whose results nobody uses, arguments likewise; blocks without effect go whole."""
    body = copied(program.body)
    while True:
        used = {arg for s in statements(body) for arg in s.args if isinstance(arg, str)}
        assigned = {}
        for s in statements(body):
            for name in s.dst:
                assigned[name] = assigned.get(name, 0) + 1

        def alive(s):
            if s.op in ("for", "while", "if"):
                return any(s.blocks) if s.op != "while" else True
            return s.op in EFFECTS or any(name in used for name in s.dst)

        def kept(block):
            result = [s for s in block if alive(s)]
            for s in result:
                s.blocks = tuple(kept(inner) for inner in s.blocks)
            return result

        before = sum(1 for _ in statements(body))
        body = kept(body)
        if sum(1 for _ in statements(body)) == before:
            break
    names = {arg for s in statements(body) for arg in s.args if isinstance(arg, str)} | {s.attrs.get("array") for s in statements(body)}

    def part(table):
        return {name: value for name, value in table.items() if name in names}

    return replace(program, body=body, arrays=part(program.arrays), scalars=part(program.scalars), constants=part(program.constants))
