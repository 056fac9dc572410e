"""Probes of wgmma: sums in every type, from shared memory and from registers, and every layout of an operand."""
import numpy as np

from matrix import elements, packed
from operands import BITS, decode
from probe import Array, Check, Probe, kernel

GROUPS = 8  # programs of one warpgroup
ROWS = 64


def bytes_of(values, dtype):
    """Elements as bytes; the last axis grows by the size of an element."""
    size = 4 if dtype == "tf32" else BITS[dtype] // 8
    return np.ascontiguousarray(values.astype({1: np.uint8, 2: np.uint16, 4: np.uint32}[size])).view(np.uint8)


class Layout:
    """Where a matrix [lines along rows or columns][k] of one program lies: panels as wide as the swizzle's span."""

    def __init__(self, span, k_major):
        self.span, self.k_major = span, k_major

    def image(self, matrix, dtype):
        """Bytes [program][...] of elements [program][row][k]."""
        lines = bytes_of(matrix if self.k_major else matrix.transpose(0, 2, 1), dtype)
        programs, count, width = lines.shape
        shift = np.arange(count) * self.span // 128 % (self.span // 16)
        pieces = np.arange(self.span // 16)[None, :] ^ shift[:, None]
        panels = lines.reshape(programs, count, width // self.span, self.span // 16, 16).transpose(0, 2, 1, 3, 4)
        return np.take_along_axis(panels, pieces[None, None, :, :, None], axis=3).reshape(programs, -1)

    def descriptor(self, rows, depth):
        """The fields of a descriptor without its start."""
        lines = rows if self.k_major else depth
        leading, stride, code = lines * self.span, 8 * self.span, {128: 1, 64: 2, 32: 3, 16: 0}[self.span]
        if self.span == 16:
            leading, stride = (lines * 16, 128) if self.k_major else (128, lines * 16)
        return code << 62 | stride >> 4 << 32 | leading >> 4 << 16

    def step(self, rows, at):
        """How far the start moves for the 32 bytes of k number `at` (16 elements when rows are contiguous)."""
        if not self.k_major:
            return 16 * at * self.span
        return 32 * at // self.span * rows * self.span + 32 * at % self.span


def from_shared(a, b, layouts, types, depth, n):
    """Statements that fill shared memory, and the operands of step i."""
    image = np.concatenate([layouts[0].image(a, types[1]), layouts[1].image(b, types[2])], axis=1)
    size, a_size = image.shape[1], layouts[0].image(a[:1], types[1]).shape[1]
    body = ["mov.u32 %s, NAME_shared;", f"mad.wide.u32 %from, %group, {size}, %in;", "mov.u32 %i, %t;",
            f"NAME_copy: setp.ge.u32 %p, %i, {size // 16};", "@%p bra NAME_done;", "mul.wide.u32 %at, %i, 16;",
            "add.u64 %at, %from, %at;", "ld.global.v4.b32 {%v0, %v1, %v2, %v3}, [%at];", "mad.lo.u32 %to, %i, 16, %s;",
            "st.shared.v4.b32 [%to], {%v0, %v1, %v2, %v3};", "add.u32 %i, %i, 128;", "bra NAME_copy;", "NAME_done:",
            "fence.proxy.async.shared::cta;", "bar.sync 0;", "shr.u32 %to, %s, 4;", "cvt.u64.u32 %at, %to;",
            f"or.b64 %base_a, %at, {layouts[0].descriptor(ROWS, depth)};", f"add.u64 %at, %at, {a_size // 16};",
            f"or.b64 %base_b, %at, {layouts[1].descriptor(n, depth)};"]
    moves = lambda i: [f"add.u64 %da, %base_a, {layouts[0].step(ROWS, i) // 16};", f"add.u64 %db, %base_b, {layouts[1].step(n, i) // 16};"]
    return image, size, body, moves


def registers_of_a(a, dtype):
    """[program][thread][register] of A with 32 bytes along k."""
    size = 4 if dtype == "tf32" else BITS[dtype] // 8
    per = 4 // size
    thread, register, i = np.meshgrid(np.arange(128), np.arange(4), np.arange(per), indexing="ij")
    row = thread // 32 * 16 + thread % 32 // 4 + register % 2 * 8
    k = thread % 4 * per + register // 2 * 4 * per + i
    return packed(a[:, row, k].reshape(-1), dtype).reshape(len(a), 128, 4)


def bound(a, b, c, types, k):
    """The error that aligned and truncated terms may have, of each program's results: fp8 keeps 13 bits."""
    with np.errstate(all="ignore"):
        largest = [np.abs(np.nan_to_num(decode(v, t), nan=0, posinf=0, neginf=0)).reshape(GROUPS, -1).max(axis=1)
                   for v, t in zip((a, b, c), (types[1], types[2], types[0]))]
        return (largest[0] * largest[1] + largest[2]) * (k + 2) * 2.0 ** (-11 if types[1][0] == "e" else -22)


def probe(row, types, n, steps, layouts, in_registers, kind):
    """`steps` wgmma on one accumulator; the first adds to what is there."""
    td, ta, tb = types
    size = 4 if ta == "tf32" else BITS[ta] // 8
    k, depth = 32 // size, 32 // size * steps
    seed = sum(map(ord, "".join(types) + kind)) + n
    a = elements(kind, ta, GROUPS * ROWS * depth, seed).reshape(GROUPS, ROWS, depth)
    b = elements(kind, tb, GROUPS * n * depth, seed + 1).reshape(GROUPS, n, depth)
    c = elements(kind, td, GROUPS * ROWS * n, seed + 2)
    image, shared, body, moves = from_shared(a, b, layouts, types, depth, n)
    count = n * BITS[td] // 64
    vector = "{" + ", ".join(f"%d{i}" for i in range(count)) + "}"
    form = f"wgmma.mma_async.sync.aligned.m64n{n}k{k}.{td}.{ta}.{tb}"
    tail = ["%p", "1", "1"] if td != "s32" else ["%p"]
    if size == 2:
        tail += [str(int(not layout.k_major)) for layout in layouts[1 if in_registers else 0:]]
    declared = [".reg .b32 %group, %t, %s, %i, %to, %v0, %v1, %v2, %v3, %a0, %a1, %a2, %a3;", ".reg .pred %p;",
                ".reg .b64 %from, %at, %base_a, %base_b, %da, %db;", f".reg .b32 {', '.join(f'%d{i}' for i in range(count))};"]
    start = ["mov.u32 %group, %ctaid.x;", "mov.u32 %t, %tid.x;"]
    place = ["mad.lo.u32 %i, %group, 128, %t;", f"mul.wide.u32 %at, %i, {4 * count};"]
    body = start + body + place + ["add.u64 %at, %c, %at;"] + [f"ld.global.b32 %d{i}, [%at+{4 * i}];" for i in range(count)]
    body += ["mul.wide.u32 %at, %i, 16;", "add.u64 %at, %a, %at;", "ld.global.v4.b32 {%a0, %a1, %a2, %a3}, [%at];",
             "setp.eq.u32 %p, 0, 0;", "wgmma.fence.sync.aligned;"]
    for i in range(steps):
        body += moves(i) + [f"{form} {vector}, {'{%a0, %a1, %a2, %a3}' if in_registers else '%da'}, %db, {', '.join(tail)};"]
    body += ["wgmma.commit_group.sync.aligned;", "wgmma.wait_group.sync.aligned 0;"] + place + ["add.u64 %at, %out, %at;"]
    body += [f"st.global.b32 [%at+{4 * i}], %d{i};" for i in range(count)]
    inexact = td in ("f16", "f32") and kind != "whole"
    inputs = [np.repeat(bound(a, b, c, types, depth), ROWS * n)] if inexact else ()
    check = Check("<u2" if td == "f16" else "<u4", td, "sum" if inexact else "exact", inputs=inputs,
                  operands=lambda i: f"program {i // (ROWS * n)}")
    where = " ".join(("A in registers" if in_registers and not which else f"{'AB'[which]} by {layout.span}"
                      + ("" if layout.k_major else " transposed")) for which, layout in enumerate(layouts))
    registers = registers_of_a(a[:, :, :k], ta)
    return Probe("warpgroup products", f"{form} ({where}, {kind})", kernel(["in", "a", "c", "out"], declared, body),
                 [Array("in", image), Array("in", registers), Array("in", packed(c, td)),
                  Array("out", size=GROUPS * ROWS * n * BITS[td] // 8)], [check], grid=GROUPS, block=128, row=row.number,
                 prefix=f".shared .align 1024 .b8 NAME_shared[{shared}];\n")


def wgmma_probes(rows):
    straight = (Layout(32, True), Layout(32, True))
    for row in (r for r in rows if r.name == "wgmma" and r.types):
        for types in row.all_types():
            for kind in ("whole", "normal", "spread", "extreme"):
                for in_registers in (False, True):
                    yield probe(row, types, 64, 1, straight, in_registers, kind)
            for n in (8, 16, 128, 256):
                yield probe(row, types, n, 1, straight, False, "whole")
            spans = (16, 32, 64, 128)
            majors = ((True, True), (True, False), (False, True), (False, False)) if BITS[types[1]] == 16 else ((True, True),)
            for i, span in enumerate(spans):
                for a_major, b_major in majors:
                    yield probe(row, types, 64, 4, (Layout(span, a_major), Layout(spans[i - 1], b_major)), False, "whole")
