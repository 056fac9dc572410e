"""Rows of the table: a kernel, what it is given, what must come out, and which sentence of the documentation says so."""
import hashlib
import json
import re
from dataclasses import dataclass, field
from typing import Callable, Optional

import numpy as np

from formats import FORMATS, Numbers, decode, edges, encode, language, random_of

HEADER = "import math\nimport triton\nimport triton.language as tl\nfrom triton.language.extra import libdevice\n"


@dataclass(frozen=True)
class Array:
    """In memory: a type, a shape, and what it holds before the launch (stored elements, flat)."""
    type: str
    shape: tuple
    stored: np.ndarray
    is_output: bool = False

    @property
    def values(self):
        return decode(self.type, self.stored).reshape(self.shape)


def given(name, values):
    """An input of values, which are rounded to the type."""
    values = np.asarray(values)
    return Array(name, values.shape, np.ascontiguousarray(encode(name, values)).reshape(-1))


def codes(name, bits, shape=None):
    """An input whose stored bits are given."""
    stored = np.asarray(bits).reshape(-1)
    return Array(name, shape or np.shape(bits), stored.view(FORMATS[name].stored))


def out(name, shape):
    """What a kernel writes: elements that it leaves alone keep the byte 0x35."""
    shape = shape if isinstance(shape, tuple) else (shape,)
    size = int(np.prod(shape)) * np.dtype(FORMATS[name].stored).itemsize
    return Array(name, shape, np.full(size, 0x35, np.uint8).view(FORMATS[name].stored), True)


def changed(array):
    """An input that the kernel changes, and is looked at afterwards."""
    return Array(array.type, array.shape, array.stored, True)


@dataclass(frozen=True)
class Stored:
    """What memory must hold, where values would have to be rounded."""
    array: np.ndarray


@dataclass(frozen=True)
class Ulp:
    """Up to `units` of the last place from the exact value, which may be of more bits than the type has. Of Triton's recorded value, which errs
    by itself, `beside` units more. `absolute`: an error that is allowed as well. Both are numbers, or functions of the row that give one for each
    element. `flushes`: subnormal results may be 0."""
    units: object
    beside: float = 0
    absolute: object = 0
    flushes: bool = False
    text: str = ""

    def __str__(self):
        return self.text or f"{self.units:g} ulp" + (f" or {self.absolute:.2g}" if self.absolute else "")


@dataclass
class Row:
    name: str
    builtins: tuple  # ids of src/frontend/builtins.def; () for operators
    doc: str  # file#anchor below docs/
    arguments: dict  # name -> Array, or a number
    body: str
    exact: Optional[Callable] = None  # of the inputs' values by name: {output: values}, or values of the only output
    compare: object = "bits"
    types: tuple = ()
    helpers: str = ""  # functions above the kernel
    refused: str = ""  # the id of the diagnostic, of src/support/diags.def
    apart: str = ""  # why Triton 3.6 is not asked: it lacks this, or does it otherwise, as documented
    grid: tuple = (1,)
    warps: int = 4
    hinted: tuple = ()  # arguments annotated as tl.constexpr
    device: str = ""  # "gpu": the interpreter is not asked
    group: str = field(default="", compare=False)
    topic: str = ""  # of the generated table, for rows without a builtin

    @property
    def kernel(self):
        return "k_" + re.sub(r"\W+", "_", re.sub(r"-(?=\d)", "minus_", self.name))

    @property
    def outputs(self):
        return {n: a for n, a in self.arguments.items() if isinstance(a, Array) and a.is_output}

    @property
    def inputs(self):
        return {n: a for n, a in self.arguments.items() if not (isinstance(a, Array) and a.is_output and (a.stored.view(np.uint8) == 0x35).all())}

    @property
    def source(self):
        names = [n + (": tl.constexpr" if n in self.hinted else "") for n in self.arguments]
        body = "\n".join("    " + line if line else "" for line in self.body.strip("\n").split("\n"))
        return f"\n\n@triton.jit\ndef {self.kernel}({', '.join(names)}):\n{body}\n"

    def expected(self):
        """{output: values or stored} of exact arithmetic, or None."""
        if not self.exact:
            return None
        with np.errstate(all="ignore"):
            found = self.exact(**{n: a.values if isinstance(a, Array) else a for n, a in self.inputs.items()})
        return found if isinstance(found, dict) else {next(iter(self.outputs)): found}

    def hash(self):
        digest = hashlib.sha256((self.helpers + self.source).encode())
        for name, a in self.arguments.items():
            digest.update(f"{name} {a.type} {a.shape}".encode() + a.stored.tobytes() if isinstance(a, Array) else f"{name}={a!r}".encode())
        digest.update(json.dumps([self.grid, self.warps, self.hinted]).encode())
        return digest.hexdigest()[:16]


def module_source(rows):
    """A file of Python with the kernels of rows, for Triton and for tilec."""
    helpers = dict.fromkeys(row.helpers for row in rows)
    return HEADER + "".join(helpers) + "".join(row.source for row in rows)


def some(name, count, seed="", without=None):
    """Values of a type: its edges, then random ones. `without`: of values, which of them not to take (they become 1)."""
    known = np.array(edges(name), np.float64 if FORMATS[name].is_float else FORMATS[name].stored)
    numbers = Numbers(f"{name} {seed}")
    values = np.concatenate([known[:count], random_of(name, max(count - len(known), 1), numbers).astype(known.dtype)])[:count]
    if without:
        with np.errstate(all="ignore"):
            values = np.where(without(values), np.ones_like(values), values)
    return given(name, values)


def ranged(name, count, low, high, points=(), seed=""):
    """Edges of a float type, then what lies between low and high, evenly and by magnitude."""
    numbers = Numbers(f"{name} {low} {high} {seed}")
    known = np.array([*points, *edges(name)])
    left = count - len(known)
    near = numbers.uniform(low, high, left - left // 4)
    small = np.ldexp(numbers.uniform(-1, 1, left // 4), numbers.integers(-30, 8, left // 4))
    return given(name, np.concatenate([known, near, small]))


def pair(x, y, count, seed="", without=None):
    """Two inputs: all pairs of edges as far as they fit, thinned evenly, then random ones, a few of them equal."""
    first, second = edges(x), edges(y)
    pairs = [(a, b) for a in first for b in second]
    wanted = count * 3 // 4
    if len(pairs) > wanted:
        order = Numbers(f"{x} {y} {seed} order").permutation(len(pairs))[:wanted]
        pairs = [pairs[i] for i in sorted(order)]
    left, numbers = count - len(pairs), Numbers(f"{x} {y} {seed}")
    types = [np.float64 if FORMATS[n].is_float else FORMATS[n].stored for n in (x, y)]
    a = np.concatenate([np.array([p for p, _ in pairs], types[0]), random_of(x, left, numbers).astype(types[0])])
    b = np.concatenate([np.array([q for _, q in pairs], types[1]), random_of(y, left, numbers).astype(types[1])])
    if x == y:
        b[-4:] = a[-4:]
    if without:
        with np.errstate(all="ignore"):
            bad = without(a, b)
        a, b = np.where(bad, np.ones_like(a), a), np.where(bad, np.ones_like(b), b)
    return given(x, a), given(y, b)


def elementwise(name, builtins, doc, expression, inputs, result, exact=None, **rest):
    """One element of each input makes one of the result: `expression` of x, y, z. It must have the type `result` before it is stored."""
    letters = "xyzwv"[:len(inputs)]
    count = len(inputs[0].stored)
    loads = "".join(f"{c} = tl.load({c}_p + i)\n" for c in letters)
    setup = rest.pop("setup", "")
    body = f"i = tl.arange(0, {count})\n{loads}{setup}r = {expression}\ntl.static_assert(r.dtype == {language(result)})\ntl.store(o_p + i, r)"
    arguments = {f"{c}_p": a for c, a in zip(letters, inputs)}
    arguments["o_p"] = out(result, count)
    wanted = (lambda **v: exact(*[v[f"{c}_p"] for c in letters])) if exact else None
    types = rest.pop("types", tuple(dict.fromkeys([a.type for a in inputs] + [result])))
    return Row(name, builtins, doc, arguments, body, wanted, types=types, **rest)
