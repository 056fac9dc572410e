"""Tile IR kernels that each use one thing code generation can do, with inputs for which the result is defined.

A Case is one function with layouts, its arguments and how near the GPU must come to the interpreter: `ulp` bounds the
error in units of the last place of the type (docs/codegen.md states the bounds), `close` is a relative and an absolute
bound for sums whose order is free. `reference`, where there is one, computes the outputs with NumPy instead.
Layouts are random and invertible, so that no lowering can rely on a familiar shape. Everything derives from one seed.
"""
import os
import random
import re
from dataclasses import dataclass
from typing import Callable, Optional

import numpy as np

STORED = {"f64": np.float64, "f32": np.float32, "f16": np.float16, "bf16": np.uint16, "f8e4m3": np.uint8,
          "f8e5m2": np.uint8, "i1": np.uint8, "i8": np.int8, "i16": np.int16, "i32": np.int32, "i64": np.int64}
BITS = {"f64": 64, "f32": 32, "f16": 16, "bf16": 16, "f8e4m3": 8, "f8e5m2": 8, "i8": 8, "i16": 16, "i32": 32, "i64": 64}
MANTISSA = {"f64": 52, "f32": 23, "f16": 10, "bf16": 7, "f8e4m3": 3, "f8e5m2": 2}
LEAST_EXPONENT = {"f64": -1022, "f32": -126, "f16": -14, "bf16": -126, "f8e4m3": -6, "f8e5m2": -14}
FLOATS = tuple(MANTISSA)
INTS = ("i8", "i16", "i32", "i64")
VECTOR = "{reg = [1, 2], lane = [4, 8, 16, 32, 64], warp = [128, 256]}"
# Units of the last place, as documented; `exp` of f32 grows with its argument.
MATH_ULP = {
    "f32": {"exp": lambda x: 2 + 1.25 * np.abs(x), "exp2": 2, "log": 1, "log2": 1, "sin": 2, "cos": 2, "tanh": 2,
            "erf": 2, "sqrt": 1, "rsqrt": 1, "sqrt_rn": 0, "floor": 0, "ceil": 0},
    "f64": {"exp": 1, "exp2": 1, "log": 1, "log2": 1, "sin": 2, "cos": 2, "tanh": 2, "erf": 2, "sqrt": 0, "rsqrt": 1,
            "sqrt_rn": 0, "floor": 0, "ceil": 0},
    # The f32 result, rounded: one step where it lies near the middle of two.
    "f16": {op: 1 for op in ("exp", "log", "sin", "cos", "tanh", "erf", "sqrt", "rsqrt")},
    "bf16": {op: 1 for op in ("exp", "log", "sin", "cos", "tanh", "erf", "sqrt", "rsqrt")},
}
# ex2.approx.ftz: results below the least normal number are zero.
FLUSHES = {("exp", "f32"), ("exp2", "f32"), ("exp", "bf16")}


@dataclass
class Case:
    name: str
    text: str
    args: list  # (type, array) or a number, in the order of the parameters
    grid: int = 1
    ulp: object = 0  # a number, or a function of the first input as float64
    close: Optional[tuple] = None
    flushes: bool = False
    reference: Optional[Callable] = None  # arrays as stored -> {index of an argument: expected array}


def to_float64(bits, dtype):
    """Stored elements of any float type as float64."""
    with np.errstate(invalid="ignore"):  # signalling NaNs
        if dtype == "bf16":
            return (bits.astype(np.uint32) << 16).view(np.float32).astype(np.float64)
        if not dtype.startswith("f8"):
            return bits.astype(np.float64)
    mantissa, bias = MANTISSA[dtype], 1 - LEAST_EXPONENT[dtype]
    u = bits.astype(np.int64)
    exponent, fraction = (u >> mantissa) & ((1 << (7 - mantissa)) - 1), u & ((1 << mantissa) - 1)
    value = np.where(exponent == 0, fraction * 2.0 ** (1 - bias - mantissa),
                     (1 + fraction / 2**mantissa) * 2.0 ** (exponent - bias))
    if dtype == "f8e4m3":
        value = np.where((u & 0x7F) == 0x7F, np.nan, value)
    else:
        value = np.where(exponent == 31, np.where(fraction == 0, np.inf, np.nan), value)
    return np.where(u >> 7, -value, value)


def from_float64(values, dtype):
    """float64 to stored elements; only for inputs, so bf16 may round to nearest without care for NaN's payload."""
    if dtype == "bf16":
        u = np.asarray(values, np.float32).view(np.uint32)
        return np.where(np.isnan(values), 0x7FC0, (u + 0x7FFF + ((u >> 16) & 1)) >> 16).astype(np.uint16)
    with np.errstate(over="ignore"):
        return np.asarray(values).astype(STORED[dtype])


class Builder:
    """Makes the cases; `rng` decides on layouts, `numbers` on data."""

    def __init__(self):
        self.rng = random.Random(7)
        self.numbers = np.random.default_rng(7)
        self.cases = []

    # Layouts as lists of basis vectors.

    def invertible(self, bits):
        while True:
            columns = [self.rng.randrange(1, 1 << bits) for _ in range(bits)]
            reduced = []
            for x in columns:
                for y in reduced:
                    x = min(x, x ^ y)
                if not x:
                    break
                reduced.append(x)
            if len(reduced) == bits:
                return columns

    def permutation(self, bits):
        columns = [1 << i for i in range(bits)]
        self.rng.shuffle(columns)
        return columns

    # Data.

    def ints(self, dtype, n, low=None, high=None):
        info = np.iinfo(STORED[dtype])
        values = self.numbers.integers(info.min if low is None else low, info.max if high is None else high, n,
                                       dtype=STORED[dtype], endpoint=True)
        return dtype, values

    def gauss(self, dtype, n):
        return dtype, from_float64(self.numbers.standard_normal(n), dtype)

    def all_floats(self, dtype, n):
        """Ordinary sizes, every magnitude, random bits, and the values where formats and functions break."""
        if dtype.startswith("f8"):
            return dtype, self.numbers.integers(0, 256, n).astype(np.uint8)
        g = self.numbers.standard_normal(n)
        special = np.array([0.0, -0.0, 1, -1, np.inf, -np.inf, np.nan, 0.5, 2, 1e-40, 1e-310, 448, 464, 480, 57344, 61440,
                            65520, 2.0**-9, 2.0**-10, 1.5 * 2.0**-10])
        kind = self.numbers.integers(0, 8, n)
        scaled = g * 2.0 ** self.numbers.integers(-30, 30, n)
        values = np.select([kind < 3, kind < 5, kind == 5, kind == 6], [g * 4, scaled, g * 100, g],
                           special[self.numbers.integers(0, len(special), n)])
        bits = from_float64(values, dtype)
        as_int = bits.view({16: np.uint16, 32: np.uint32, 64: np.uint64}[BITS[dtype]]).copy()
        noise = np.frombuffer(self.numbers.bytes(as_int.nbytes), as_int.dtype)
        as_int[kind == 6] = noise[kind == 6]
        return dtype, as_int.view(STORED[dtype])

    def any_of(self, dtype, n):
        if dtype == "i1":
            return dtype, self.numbers.integers(0, 2, n).astype(np.uint8)
        return self.ints(dtype, n) if dtype in INTS else self.gauss(dtype, n)

    def zeros(self, dtype, n):
        return dtype, np.zeros(n, STORED[dtype])

    def add(self, name, params, body, args, attrs="num_warps = 4", capability=90, **rest):
        lines = "".join(f"    {line}\n" for line in body)
        text = (f"func @{name}({params}) {{{attrs}, capability = {capability}, has_layouts = true}} {{\n{lines}"
                "    return\n}\n")
        self.cases.append(Case(name, text, args, **rest))


def layout(reg, lane, warp):
    parts = [f"{name} = [{', '.join(map(str, bits))}]" for name, bits in
             (("reg", reg), ("lane", lane), ("warp", warp)) if bits]
    return "{" + ", ".join(parts) + "}"


def apply(columns, x):
    result = 0
    for i, column in enumerate(columns):
        if x >> i & 1:
            result ^= column
    return result


def load(v, p, d, n, at, width=0):
    return [f"%{v}_r = range {{start = 0}} : tile<{n}xi32, {at}>", f"%{v}_s = splat %{p} : tile<{n}xptr<{d}>, {at}>",
            f"%{v}_a = addptr %{v}_s, %{v}_r : tile<{n}xptr<{d}>, {at}>",
            f"%{v} = load %{v}_a {{width = {width}}} : tile<{n}x{d}, {at}>"]


def store(x, p, d, n, at, tag="o"):
    return [f"%{tag}_r = range {{start = 0}} : tile<{n}xi32, {at}>", f"%{tag}_s = splat %{p} : tile<{n}xptr<{d}>, {at}>",
            f"%{tag}_a = addptr %{tag}_s, %{tag}_r : tile<{n}xptr<{d}>, {at}>", f"store %{tag}_a, {x}"]


def at_program(size, *pointers):
    """Moves each (name, type) to this program's part: %name_p."""
    lines = ["%pid = program_id {axis = 0} : i32", f"%size = constant_int {{value = {size}}} : i32",
             "%offset = muli %pid, %size : i32"]
    return lines + [f"%{p}_p = addptr %{p}, %offset : ptr<{d}>" for p, d in pointers]


def same(arrays):
    return {1: arrays[0]}


def conversions_of_layouts(b):
    """Within warps: permuted and mixed registers and lanes, copies in the source, copies in the destination."""
    count = 0
    for d in ("f32", "f16", "i8", "f64", "i32"):
        for mode in range(6):
            regs = b.rng.choice([1, 2, 3])
            warps, inner = 4 - regs, regs + 5
            source = b.permutation(9) if mode % 2 else b.invertible(9)
            mix = b.invertible(inner) if mode < 3 else b.permutation(inner)
            mix += [(1 << (inner + i)) | (b.rng.randrange(1 << inner) if mode < 2 else 0) for i in range(warps)]
            target = [apply(source, c) for c in mix]
            s, t = (layout(x[:regs], x[regs:inner], x[inner:]) for x in (source, target))
            count += 1
            b.add(f"convert{count}_{d}", f"%p: ptr<{d}>, %q: ptr<{d}>",
                  load("x", "p", d, 512, s) + [f"%y = convert_layout %x : tile<512x{d}, {t}>"] + store("%y", "q", d, 512, t),
                  [b.any_of(d, 512), b.zeros(d, 512)], f"num_warps = {1 << warps}", reference=same)
    for mode in range(10):
        source, target = b.permutation(6), b.permutation(6)
        spread = mode < 3
        if mode < 6:
            s = layout(source[:1] + ([source[0]] if mode % 2 else []), source[1:], [0])
        else:
            s = layout(source[:3], source[3:] + [0, 0], [0])
        t = layout(target[:3], target[3:] + [0, 0], [0]) if spread else \
            layout(target[:1] + ([0] if mode < 6 else []), target[1:], [0])
        b.add(f"convert_copies{mode}", "%p: ptr<i32>, %q: ptr<i32>",
              load("x", "p", "i32", 64, s) + [f"%y = convert_layout %x : tile<64xi32, {t}>"] + store("%y", "q", "i32", 64, t),
              [b.ints("i32", 64), b.zeros("i32", 64)], "num_warps = 2", reference=same)


def shared_exchanges(b):
    for d, size in (("f32", 4), ("f16", 2), ("i8", 1), ("f64", 8), ("i1", 1)):
        for mode in range(4):
            for programs in (1, 2):
                plain = [1 << i for i in range(10)]
                source, target = (b.permutation(10) if mode else plain), b.permutation(10)
                buffer = b.invertible(10) if mode > 2 else b.permutation(10) if mode > 1 else plain
                s, t = (layout(x[:3], x[3:8], x[8:]) for x in (source, target))
                body = at_program(1024, ("p", d), ("q", d)) + load("x", "p_p", d, 1024, s)
                body += [f"%b = local_alloc {{offset = 0}} : buffer<1024x{d}, {layout(buffer, [], [])}>",
                         "local_store %x, %b", "barrier", f"%y = local_load %b : tile<1024x{d}, {t}>"]
                b.add(f"shared{mode}_{d}_{programs}", f"%p: ptr<{d}>, %q: ptr<{d}>", body + store("%y", "q_p", d, 1024, t),
                      [b.any_of(d, 3072), b.zeros(d, 3072)],
                      f"num_warps = 4, programs_per_cta = {programs}, shared_bytes = {1024 * size}", grid=3, reference=same)


DIMS = (3, 4, 3)  # logarithms of 8 x 16 x 8


def axis_mask(axis):
    return ((1 << DIMS[axis]) - 1) << sum(DIMS[axis + 1:])


def without(mask, x):
    kept = [i for i in range(10) if not mask >> i & 1]
    return sum((x >> bit & 1) << i for i, bit in enumerate(kept))


def combine(op, a, b, d):
    return [f"    %r_{a} = {op} %{a}, %{b} : {d}", f"    yield %r_{a}", "}"]


def reductions(b):
    for axis in range(3):
        for mode in range(5):
            mask = axis_mask(axis)
            others, along = ([1 << i for i in range(10) if bool(mask >> i & 1) == on] for on in (False, True))
            b.rng.shuffle(others)
            warp, rest = others[:2], others[2:] + along
            b.rng.shuffle(rest)
            if mode >= 3:
                rest = [apply(rest, c) for c in b.invertible(8)]
            reg, lane = rest[:3] + ([0, rest[0]] if mode == 2 else []), rest[3:]
            at = layout(reg, lane, warp)
            kept = layout([without(mask, x) for x in reg if without(mask, x) or not x],
                          [without(mask, x) for x in lane], [without(mask, x) for x in warp])
            n = 1 << (10 - DIMS[axis])
            shape = "x".join(str(1 << bits) for i, bits in enumerate(DIMS) if i != axis)
            body = load("x", "p", "f32", 1024, at) + load("i", "q", "i32", 1024, at)
            body += [f"%xx = reshape %x : tile<8x16x8xf32, {at}>", f"%ii = reshape %i : tile<8x16x8xi32, {at}>",
                     f"%h = truncf %xx : tile<8x16x8xf16, {at}>",
                     f"%s = reduce %xx {{axis = {axis}}} : tile<{shape}xf32, {kept}> (%a0: f32, %b0: f32) {{"]
            body += combine("addf", "a0", "b0", "f32")
            body += [f"%hm = reduce %h {{axis = {axis}}} : tile<{shape}xf16, {kept}> (%a1: f16, %b1: f16) {{"]
            body += combine("maxf", "a1", "b1", "f16")
            body += [f"%xo = reduce %ii {{axis = {axis}}} : tile<{shape}xi32, {kept}> (%a2: i32, %b2: i32) {{"]
            body += combine("xori", "a2", "b2", "i32")
            body += [f"%m, %j = reduce %xx, %ii {{axis = {axis}}} : tile<{shape}xf32, {kept}>, tile<{shape}xi32, {kept}> "
                     "(%a3: f32, %i3: i32, %b3: f32, %j3: i32) {", "    %g = cmpf %a3, %b3 {pred = ogt} : i1",
                     "    %e = cmpf %a3, %b3 {pred = oeq} : i1", "    %l = cmpi %i3, %j3 {pred = slt} : i1",
                     "    %el = andi %e, %l : i1", "    %t = ori %g, %el : i1", "    %mv = select %t, %a3, %b3 : f32",
                     "    %mi = select %t, %i3, %j3 : i32", "    yield %mv, %mi", "}"]
            for value, pointer, d in (("s", "o1", "f32"), ("j", "o2", "i32"), ("xo", "o3", "i32"), ("hm", "o4", "f16")):
                body += [f"%{value}f = reshape %{value} : tile<{n}x{d}, {kept}>"]
                body += store(f"%{value}f", pointer, d, n, kept, f"w{pointer}")

            def reference(arrays, axis=axis):
                x, i = arrays[0].reshape(8, 16, 8), arrays[1].reshape(8, 16, 8)
                best = np.take_along_axis(i, x.argmax(axis=axis, keepdims=True), axis)
                return {2: x.astype(np.float64).sum(axis=axis), 3: best, 4: np.bitwise_xor.reduce(i, axis=axis),
                        5: x.astype(np.float16).max(axis=axis)}

            b.add(f"reduce{axis}_{mode}",
                  "%p: ptr<f32>, %q: ptr<i32>, %o1: ptr<f32>, %o2: ptr<i32>, %o3: ptr<i32>, %o4: ptr<f16>", body,
                  [b.gauss("f32", 1024), ("i32", np.arange(1024, dtype=np.int32)), b.zeros("f32", n), b.zeros("i32", n),
                   b.zeros("i32", n), b.zeros("f16", n)], close=(1e-6, 1e-5), reference=reference)
    lanes = layout([1], [2, 4, 8, 16, 32], [64])
    one = layout([], [0] * 5, [1])
    for op, fold in (("addi", np.add), ("minsi", np.minimum), ("maxsi", np.maximum), ("minui", None), ("maxui", None),
                     ("andi", np.bitwise_and), ("ori", np.bitwise_or), ("xori", np.bitwise_xor)):
        body = load("x", "p", "i32", 128, lanes)
        body += [f"%g = reshape %x : tile<2x64xi32, {lanes}>",
                 f"%s = reduce %g {{axis = 1}} : tile<2xi32, {one}> (%a: i32, %b: i32) {{"] + combine(op, "a", "b", "i32")
        b.add(f"redux_{op}", "%p: ptr<i32>, %q: ptr<i32>", body + store("%s", "q", "i32", 2, one),
              [b.ints("i32", 128), b.zeros("i32", 2)], "num_warps = 2",
              reference=fold and (lambda arrays, fold=fold: {1: fold.reduce(arrays[0].reshape(2, 64), axis=1)}))
    at, kept = layout([1, 2], [4, 8, 16, 32, 64], [128, 256]), layout([], [0] * 5, [1, 2])
    body = load("x", "p", "f32", 512, at)
    body += [f"%s = reduce %x {{axis = 0, keep = 384}} : tile<4xf32, {kept}> (%a: f32, %b: f32) {{"]
    b.add("reduce_keep", "%p: ptr<f32>, %q: ptr<f32>",
          body + combine("addf", "a", "b", "f32") + store("%s", "q", "f32", 4, kept),
          [b.gauss("f32", 512), b.zeros("f32", 4)], close=(1e-6, 2e-5),
          reference=lambda arrays: {1: arrays[0].astype(np.float64).reshape(4, 128).sum(axis=1)})


def in_scan_order(rng, rest, along):
    """Puts the axis's bits, wherever they are among 3 of registers and 5 of lanes, in registers, lanes and again registers from the lowest up."""
    slots = [i for i, bit in enumerate(rest) if bit in along]
    registers, lanes = [i for i in slots if i < 3], [i for i in slots if i >= 3]
    below = rng.randrange(len(registers) + 1)
    for i, bit in zip(registers[:below] + lanes + registers[below:], along):
        rest[i] = bit


def scans(b):
    """A commutative pair, and the composition of x -> m x + c, which is not commutative."""
    for axis in range(3):
        for mode in range(4):
            mask = axis_mask(axis)
            others, along = ([1 << i for i in range(10) if bool(mask >> i & 1) == on] for on in (False, True))
            b.rng.shuffle(others)
            warp, rest = others[:2], others[2:] + along
            if mode == 0:
                rest = along[:2] + others[2:3] + along[2:] + others[3:]
            else:
                b.rng.shuffle(rest)
                in_scan_order(b.rng, rest, along)
            reg, lane = rest[:3] + ([rest[1]] if mode == 3 else []), rest[3:]
            at, reverse = layout(reg, lane, warp), "true" if mode % 2 else "false"
            attrs = f"{{axis = {axis}, reverse = {reverse}, exclusive = {'true' if mode > 1 else 'false'}}}"
            ti, tf = f"tile<8x16x8xi32, {at}>", f"tile<8x16x8xf32, {at}>"
            body = load("x", "p", "i32", 1024, at) + load("y", "q", "f32", 1024, at)
            body += [f"%xx = reshape %x : {ti}", f"%yy = reshape %y : {tf}",
                     f"%v, %u = scan %yy, %xx {attrs} : {tf}, {ti} (%a0: f32, %i0: i32, %b0: f32, %j0: i32) {{",
                     "    %f0 = minf %a0, %b0 : f32", "    %k0 = addi %i0, %j0 : i32", "    yield %f0, %k0", "}",
                     f"%am, %ac = scan %xx, %xx {attrs} : {ti}, {ti} (%ma: i32, %ca: i32, %mb: i32, %cb: i32) {{",
                     "    %mm = muli %ma, %mb : i32", "    %cc = muli %ca, %mb : i32", "    %cd = addi %cc, %cb : i32",
                     "    yield %mm, %cd", "}"]
            for value, pointer, d in (("u", "o1", "i32"), ("v", "o2", "f32"), ("ac", "o3", "i32")):
                body += [f"%{value}f = reshape %{value} : tile<1024x{d}, {at}>"]
                body += store(f"%{value}f", pointer, d, 1024, at, f"w{pointer}")

            def reference(arrays, axis=axis, back=mode % 2, exclusive=mode > 1):
                def before(a):  # the first stays what it is
                    first, rest = np.split(a, [1], axis)
                    return np.concatenate([first, first, np.split(rest, [rest.shape[axis] - 1], axis)[0]], axis) if exclusive else a

                turn = (lambda a: np.flip(a, axis)) if back else (lambda a: a)
                x, y = turn(arrays[0].reshape(8, 16, 8)), turn(arrays[1].reshape(8, 16, 8))
                affine, running = np.zeros_like(x), None
                for step in range(x.shape[axis]):
                    at = tuple(step if i == axis else slice(None) for i in range(3))
                    running = x[at] if running is None else running * x[at] + x[at]
                    affine[at] = running
                found = np.cumsum(x, axis=axis, dtype=np.int32), np.minimum.accumulate(y, axis=axis), affine
                return {2 + place: turn(before(values)) for place, values in enumerate(found)}

            b.add(f"scan{axis}_{mode}", "%p: ptr<i32>, %q: ptr<f32>, %o1: ptr<i32>, %o2: ptr<f32>, %o3: ptr<i32>", body,
                  [b.ints("i32", 1024, 0, 255), b.gauss("f32", 1024), b.zeros("i32", 1024), b.zeros("f32", 1024),
                   b.zeros("i32", 1024)], reference=reference)


def elementwise(b, name, op, types, out, inputs, capability=90, **rest):
    """One op over 512 elements; `op` is the text with the operands %x, %y, %z and without the type."""
    names = "xyz"[: len(types)]
    params = ", ".join([f"%p{v}: ptr<{d}>" for v, d in zip(names, types)] + [f"%q: ptr<{out}>"])
    body = [line for v, d in zip(names, types) for line in load(v, f"p{v}", d, 512, VECTOR)]
    body += [f"%w = {op} : tile<512x{out}, {VECTOR}>"] + store("%w", "q", out, 512, VECTOR)
    b.add(name, params, body, inputs + [b.zeros(out, 512)], capability=capability, **rest)


def unsigned(x):
    return x.view(x.dtype.str.replace("i", "u"))


def truncating(x, y, remainder):
    """C's division of integers, without going through floats."""
    quotient = np.abs(x.astype(object)) // np.abs(y.astype(object))
    quotient = np.where((x < 0) != (y < 0), -quotient, quotient)
    return (x.astype(object) - quotient * y.astype(object) if remainder else quotient).astype(x.dtype)


INT_OPS = {
    "addi": lambda x, y: x + y, "subi": lambda x, y: x - y, "muli": lambda x, y: x * y,
    "andi": lambda x, y: x & y, "ori": lambda x, y: x | y, "xori": lambda x, y: x ^ y,
    "mulhui": lambda x, y: ((unsigned(x).astype(object) * unsigned(y).astype(object)) >> (8 * x.itemsize)).astype(
        unsigned(x).dtype).view(x.dtype),
    "divsi": lambda x, y: truncating(x, y, False), "remsi": lambda x, y: truncating(x, y, True),
    "divui": lambda x, y: (unsigned(x) // unsigned(y)).view(x.dtype),
    "remui": lambda x, y: (unsigned(x) % unsigned(y)).view(x.dtype),
    "shli": lambda x, y: x << y, "shrsi": lambda x, y: x >> y,
    "shrui": lambda x, y: (unsigned(x) >> unsigned(y)).view(x.dtype),
    "minsi": np.minimum, "maxsi": np.maximum,
    "minui": lambda x, y: np.minimum(unsigned(x), unsigned(y)).view(x.dtype),
    "maxui": lambda x, y: np.maximum(unsigned(x), unsigned(y)).view(x.dtype),
}
COMPARE = {"eq": np.equal, "ne": np.not_equal, "lt": np.less, "le": np.less_equal, "gt": np.greater, "ge": np.greater_equal}


def integers(b):
    """Shifts are less than the width; no divisor is zero; the least integer is not divided by -1: the rest is undefined."""
    for d in INTS:
        for op, reference in INT_OPS.items():
            x, y = b.ints(d, 512), b.ints(d, 512)
            if op.startswith("sh"):
                y = b.ints(d, 512, 0, BITS[d] - 1)
            elif op.startswith(("div", "rem")):
                small = b.ints(d, 512, -9, 9)[1]
                y[1][::2] = small[::2]
                y[1][y[1] == 0] = 3
                x[1][y[1] == -1] >>= 1
            elementwise(b, f"{op}_{d}", f"{op} %x, %y", (d, d), d, [x, y],
                        reference=lambda a, f=reference: {2: f(a[0], a[1])})
        positive = b.ints(d, 512, np.iinfo(STORED[d]).min + 1)
        elementwise(b, f"popcount_{d}", "popcount %x", (d,), d, [b.ints(d, 512)],
                    reference=lambda a: {1: np.unpackbits(a[0].view("u1").reshape(len(a[0]), -1), axis=1).sum(1).astype(a[0].dtype)})
        elementwise(b, f"absi_{d}", "absi %x", (d,), d, [positive], reference=lambda a: {1: np.abs(a[0])})
        for kind, view in (("s", lambda x: x), ("u", unsigned)):
            for pred in ("lt", "le", "gt", "ge") + (("eq", "ne") if kind == "s" else ()):
                x, y = b.ints(d, 512), b.ints(d, 512)
                y[1][::5] = x[1][::5]
                name = pred if pred in ("eq", "ne") else kind + pred
                elementwise(b, f"cmpi_{name}_{d}", f"cmpi %x, %y {{pred = {name}}}", (d, d), "i1", [x, y],
                            reference=lambda a, f=COMPARE[pred], v=view: {2: f(v(a[0]), v(a[1])).astype(np.uint8)})
        for t in INTS:
            if BITS[t] > BITS[d]:
                elementwise(b, f"extsi_{d}_{t}", "extsi %x", (d,), t, [b.ints(d, 512)],
                            reference=lambda a, t=t: {1: a[0].astype(STORED[t])})
                elementwise(b, f"extui_{d}_{t}", "extui %x", (d,), t, [b.ints(d, 512)],
                            reference=lambda a, t=t: {1: unsigned(a[0]).astype(STORED[t])})
            elif BITS[t] < BITS[d]:
                elementwise(b, f"trunci_{d}_{t}", "trunci %x", (d,), t, [b.ints(d, 512)],
                            reference=lambda a, t=t: {1: a[0].astype(STORED[t])})
        for t in ("f32", "f64", "f16", "bf16"):
            for op in ("sitof", "uitof"):
                elementwise(b, f"{op}_{d}_{t}", f"{op} %x", (d,), t, [b.ints(d, 512)])
            limit = min(2.0 ** (BITS[d] - 1) - 1, 6e4) * 0.99
            signed = t, from_float64(b.numbers.uniform(-limit, limit, 512), t)
            elementwise(b, f"ftosi_{t}_{d}", "ftosi %x", (t,), d, [signed],
                        reference=lambda a, t=t, d=d: {1: np.trunc(to_float64(a[0], t)).astype(STORED[d])})
            positive = t, from_float64(b.numbers.uniform(0, limit, 512), t)
            elementwise(b, f"ftoui_{t}_{d}", "ftoui %x", (t,), d, [positive],
                        reference=lambda a, t=t, d=d: {1: np.trunc(to_float64(a[0], t)).astype(STORED[d])})


def floats(b):
    for d in FLOATS:
        narrow = d.startswith("f8")
        for op in ("addf", "subf", "mulf", "divf", "divf_rn", "remf", "minf", "maxf", "minf_nan", "maxf_nan"):
            bound = {"f32": 2, "f16": 1, "bf16": 1, "f8e4m3": 1, "f8e5m2": 1}.get(d, 0) if op == "divf" else 0
            elementwise(b, f"{op}_{d}", f"{op} %x, %y", (d, d), d, [b.all_floats(d, 512), b.all_floats(d, 512)], ulp=bound)
        for op in ("negf", "absf"):
            elementwise(b, f"{op}_{d}", f"{op} %x", (d,), d, [b.all_floats(d, 512)])
        elementwise(b, f"fma_{d}", "fma %x, %y, %z", (d, d, d), d, [b.gauss(d, 512) if not narrow else b.all_floats(d, 512)
                                                                     for _ in range(3)])
        for pred, reference in (("oeq", "eq"), ("une", "ne"), ("olt", "lt"), ("ole", "le"), ("ogt", "gt"), ("oge", "ge")):
            elementwise(b, f"cmpf_{pred}_{d}", f"cmpf %x, %y {{pred = {pred}}}", (d, d), "i1",
                        [b.all_floats(d, 512), b.all_floats(d, 512)],
                        reference=lambda a, d=d, f=COMPARE[reference]: {
                            2: f(to_float64(a[0], d), to_float64(a[1], d)).astype(np.uint8)})
        for capability in (90, 80):
            for t in FLOATS:
                if t == d or (capability == 80 and not (narrow or t.startswith("f8") or "bf16" in (d, t))):
                    continue
                for rounding in (("rtne", "rtz") if BITS[t] <= BITS[d] else ("",)):
                    op = f"truncf %x {{rounding = {rounding}}}" if rounding else "extf %x"
                    elementwise(b, f"convert_{d}_{t}_{rounding}_{capability}", op, (d,), t, [b.all_floats(d, 512)],
                                capability)
    # Products half-way between two f8, and addends too small for f32 to see beside them: f8e5m2 is the first byte of f16.
    signs = b.numbers.choice([1.0, -1.0], (3, 512))
    values = [signs[0] * 192, signs[1] * 192, signs[2] * 2.0 ** b.numbers.integers(-16, -9, 512)]
    elementwise(b, "fma_ties_f8e5m2", "fma %x, %y, %z", ("f8e5m2",) * 3, "f8e5m2",
                [("f8e5m2", (v.astype(np.float16).view(np.uint16) >> 8).astype(np.uint8)) for v in values])
    splat = at_program(512, ("p", "f32"), ("q", "f32")) + ["%r_p = addptr %r, %pid : ptr<f32>", "%d = load %r_p : f32"]
    splat += load("x", "p_p", "f32", 512, VECTOR)
    splat += [f"%y = splat %d : tile<512xf32, {VECTOR}>", f"%z = divf %x, %y : tile<512xf32, {VECTOR}>"]
    b.add("divf_shared_divisor", "%p: ptr<f32>, %r: ptr<f32>, %q: ptr<f32>", splat + store("%z", "q_p", "f32", 512, VECTOR),
          [b.gauss("f32", 32768), b.gauss("f32", 64), b.zeros("f32", 32768)], grid=64, ulp=2)
    # Divisors from 1 to infinity, and no numbers.
    large = 2.0 ** b.numbers.uniform(0, 127, 512)
    large[:4] = 1, np.finfo(np.float32).max, np.inf, np.nan
    for d, most in (("f32", np.inf), ("f16", 6e4)):
        elementwise(b, f"divf_from_one_{d}", "divf %x, %y {from_one = true}", (d, d), d,
                    [b.all_floats(d, 512), (d, from_float64(np.minimum(large, most), d))], ulp=2 if d == "f32" else 1)


def math(b):
    """The references are float64's functions, so only for the narrower types."""
    from math import erf
    precise = {"exp": np.exp, "exp2": np.exp2, "log": np.log, "log2": np.log2, "sin": np.sin, "cos": np.cos,
               "tanh": np.tanh, "erf": np.vectorize(erf), "sqrt": np.sqrt, "rsqrt": lambda x: 1 / np.sqrt(x),
               "sqrt_rn": np.sqrt, "floor": np.floor, "ceil": np.ceil}
    for d, ops in MATH_ULP.items():
        for op, bound in ops.items():
            body = at_program(512, ("p", d), ("q", d)) + load("x", "p_p", d, 512, VECTOR)
            body += [f"%y = {op} %x : tile<512x{d}, {VECTOR}>"] + store("%y", "q_p", d, 512, VECTOR)
            reference = None if d == "f64" else (
                lambda a, d=d, f=precise[op]: {1: f(to_float64(a[0], d))})
            b.add(f"{op}_{d}", f"%p: ptr<{d}>, %q: ptr<{d}>", body, [b.all_floats(d, 32768), b.zeros(d, 32768)], grid=64,
                  ulp=bound, flushes=(op, d) in FLUSHES, reference=reference)
    complements(b)


def complements(b):
    """What is right to some part of its argument, or of 1: over where it bends, and sizes from 2^-30 to 2^30."""
    from math import erfc
    complement = np.vectorize(erfc)
    x = np.linspace(-9, 9, 32768)
    x[::16] = 2.0 ** b.numbers.uniform(-30, 30, 2048) * b.numbers.choice([-1, 1], 2048)

    def gelu(x):
        return 0.5 * x * complement(-x / np.sqrt(2))

    for name, op, function, bound in (
            ("erfc", "erfc %x", complement, lambda x: 2.2 * 2.0**-23),
            ("gelu", "gelu %x", gelu, lambda x: 2.0**-22 * np.abs(x)),
            ("gelu_rounded", "gelu %x {rounded = true}", gelu, lambda x: np.maximum(2.0**-15 * np.abs(gelu(x)), 2.0**-25 * np.abs(x)))):
        for d in ("f32", "f64"):
            values = from_float64(x, d)
            wide = values.astype(np.float64)
            body = at_program(512, ("p", d), ("q", d)) + load("x", "p_p", d, 512, VECTOR)
            body += [f"%y = {op} : tile<512x{d}, {VECTOR}>"] + store("%y", "q_p", d, 512, VECTOR)
            close = (0, bound(wide)) if d == "f32" else (0, 2.0**-51 * np.maximum(1, np.abs(wide)))
            b.add(f"{name}_{d}", f"%p: ptr<{d}>, %q: ptr<{d}>", body, [(d, values), b.zeros(d, 32768)], grid=64, close=close,
                  reference=lambda a, f=function: {1: f(a[0].astype(np.float64))})


def masked_accesses(b):
    at = layout([1, 2, 4], [8, 16, 32, 64, 128], [256])
    policies = ("", "cache = cg, ", "evict = evict_first, ", "evict = evict_last, ", "cache = cs, evict = evict_first, ")
    for d in ("i1", "i8", "i16", "f16", "f32", "f64", "f8e4m3"):
        width = {"f64": 2}.get(d, 4)
        for i, policy in enumerate(policies):
            loads = policy.replace("cs", "ca")
            body = [f"%r = range {{start = 0}} : tile<512xi32, {at}>", f"%ns = splat %n : tile<512xi32, {at}>",
                    f"%m = cmpi %r, %ns {{pred = slt}} : tile<512xi1, {at}>", f"%ps = splat %p : tile<512xptr<{d}>, {at}>",
                    f"%a = addptr %ps, %r : tile<512xptr<{d}>, {at}>", f"%o = load %a : tile<512x{d}, {at}>",
                    f"%qs = splat %q : tile<512xptr<{d}>, {at}>", f"%b = addptr %qs, %r : tile<512xptr<{d}>, {at}>",
                    f"%x = load %b, %m, %o {{{loads}width = {width}}} : tile<512x{d}, {at}>",
                    f"%y = load %a, %m {{{loads}width = {width if d != 'i1' else 2}}} : tile<512x{d}, {at}>",
                    f"store %b, %x, %m {{{policy}width = {width}}}",
                    f"%half = constant_int {{value = 512}} : tile<512xi32, {at}>",
                    f"%b2 = addptr %b, %half : tile<512xptr<{d}>, {at}>", f"store %b2, %y, %m"]
            data = b.all_floats if d in FLOATS else b.any_of
            b.add(f"masked_{d}_{i}", f"%p: ptr<{d}> {{divisible = 16}}, %q: ptr<{d}> {{divisible = 16}}, %n: i32", body,
                  [data(d, 1024), data(d, 1024), 300], "num_warps = 2")


def atomics(b):
    at = layout([32], [1, 2, 4, 8, 16], [0, 0])
    kinds = {"i32": "add smax umax smin umin and or xor xchg", "i64": "add smax umax smin umin and or xor xchg",
             "f32": "fadd", "f64": "fadd", "f16": "fadd", "bf16": "fadd"}
    for d in kinds:
        for kind in kinds[d].split():
            for capability in (90, 80) if d == "bf16" else (90,):
                body = load("x", "p", d, 64, at)
                body += [f"%k = constant_int {{value = 50}} : tile<64xi32, {at}>",
                         f"%m = cmpi %x_r, %k {{pred = slt}} : tile<64xi1, {at}>", f"%qs = splat %q : tile<64xptr<{d}>, {at}>",
                         f"%qa = addptr %qs, %x_r : tile<64xptr<{d}>, {at}>",
                         f"%old = atomic_rmw %qa, %x, %m {{kind = {kind}}} : tile<64x{d}, {at}>",
                         f"%kept = select %m, %old, %x : tile<64x{d}, {at}>"] + store("%kept", "o", d, 64, at)
                body += ["%c = constant_int {value = 100} : i32", f"%one = load %p : {d}", f"%q1 = addptr %q, %c : ptr<{d}>",
                         f"%so = atomic_rmw %q1, %one {{kind = {kind}}} : {d}", f"%o1 = addptr %o, %c : ptr<{d}>",
                         "store %o1, %so"]
                b.add(f"atomic_{kind}_{d}_{capability}", f"%p: ptr<{d}>, %q: ptr<{d}>, %o: ptr<{d}>", body,
                      [b.any_of(d, 64), b.any_of(d, 128), b.zeros(d, 128)], f"num_warps = 4, shared_bytes = {64 * np.dtype(STORED[d]).itemsize}", capability=capability)
    for d, size in (("i32", 4), ("i64", 8), ("f32", 4), ("i16", 2)):
        body = load("x", "p", d, 64, at) + load("y", "q", d, 64, at)
        body += ["barrier"]  # every warp loads, and one of them stores
        body += [f"%c = atomic_cas %x_a, %x, %y : tile<64x{d}, {at}>"] + store("%c", "o", d, 64, at)
        b.add(f"atomic_cas_{d}", f"%p: ptr<{d}>, %q: ptr<{d}>, %o: ptr<{d}>", body,
              [b.any_of(d, 64), b.any_of(d, 64), b.zeros(d, 64)],
              f"num_warps = 4, shared_bytes = {64 * size}", reference=lambda a: {0: a[1], 2: a[0]})
    # Every program adds to the same element: the sum is known, the order is not.
    body = ["%one = constant_int {value = 3} : i32", "%old = atomic_rmw %p, %one {kind = add} : i32"]
    for programs in (1, 4):
        b.add(f"atomic_contended_{programs}", "%p: ptr<i32>", body, [b.zeros("i32", 1)],
              f"num_warps = 1, programs_per_cta = {programs}", grid=1001,
              reference=lambda a: {0: np.array([3003], np.int32)})


def programs(b):
    at = layout([1, 2], [4, 8, 16, 32, 64], [])
    body = at_program(128, ("p", "f32"), ("q", "f32")) + ["%count = num_programs {axis = 0} : i32"]
    body += load("x", "p_p", "f32", 128, at) + [f"%y = addf %x, %x : tile<128xf32, {at}>"]
    body += store("%y", "q_p", "f32", 128, at) + ["%zz = addptr %z, %pid : ptr<i32>", "store %zz, %count"]
    b.add("programs_of_a_block", "%p: ptr<f32>, %q: ptr<f32>, %z: ptr<i32>", body,
          [b.gauss("f32", 896), b.zeros("f32", 1024), b.zeros("i32", 8)], "num_warps = 1, programs_per_cta = 4", grid=7,
          reference=lambda a: {1: np.concatenate([2 * a[0], np.zeros(128, np.float32)]),
                               2: np.array([7] * 7 + [0], np.int32)})


def from_unit_tests(b):
    """Products, regions and control flow of tests/codegen's all_ops.tir."""
    path = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "codegen", "Inputs", "all_ops.tir")
    with open(path) as file:
        text = file.read()
    names = dict(re.findall(r"layout (#\w+) = (\{.*\})", text))
    for name in sorted(names, key=len, reverse=True):
        text = re.sub(re.escape(name) + r"\b", names[name], text)
    for func in re.split(r"\n(?=func )", text)[1:]:
        name, params = re.match(r"func @(\w+)\(([^)]*)\)", func).groups()
        if not name.startswith(("dot_", "regions", "control")):
            continue
        func = func[: func.index("\n}") + 3].replace("num_warps = 4,", "num_warps = 4, capability = 90,")
        scalars = {"n": 5, "step": 3, "f": 1, "l": -2} if name == "control" else {"n": 300}
        args = []
        for variable, kind in re.findall(r"%(\w+): (ptr<\w+>|\w+)", params):
            d = kind[4:-1]
            if not kind.startswith("ptr"):
                args.append(scalars[variable])
            else:
                args.append(b.ints(d, 1024, -20, 20) if d in INTS else
                            (d, b.numbers.integers(0, 60, 1024).astype(np.uint8)) if d.startswith("f8") else b.gauss(d, 1024))
        b.cases.append(Case(name, func, args, close=(1e-2, 2e-2) if name.endswith("f16_f16") else (1e-5, 1e-5)))


def all_cases():
    b = Builder()
    for part in (conversions_of_layouts, shared_exchanges, reductions, scans, integers, floats, math, masked_accesses,
                 atomics, programs, from_unit_tests):
        part(b)
    return b.cases
