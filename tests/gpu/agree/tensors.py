"""Probes of tensor copies: every rank, type and swizzle, boxes that lie partly or wholly outside, and at which places the
hardware ends the launch."""
import itertools

import numpy as np

from operands import draw
from probe import THREAD, Array, Check, Probe, TensorMap, kernel, thread_number
from table import row_of

GROUP, OUTSIDE = "tensor copies", "tensor copies outside"
TYPES = {"u8": (0, 1), "u16": (1, 2), "u32": (2, 4), "s32": (3, 4), "u64": (4, 8), "s64": (5, 8), "f16": (6, 2), "f32": (7, 4), "f64": (8, 8),
         "bf16": (9, 2), "f32.ftz": (10, 4), "tf32": (11, 4), "tf32.ftz": (12, 4)}
SWIZZLE_BYTES = (16, 32, 64, 128)  # longest row of a box; without a swizzle one of ours
PROGRAMS = 8
ROOM = 32768
PREFIX = f".shared .align 1024 .b8 NAME_data[{ROOM}];\n.shared .align 8 .b64 NAME_bar;\n"
DECLARED = THREAD + [".reg .b64 %x, %map, %policy;", ".reg .b32 %me, %data, %bar, %slot, %c0, %c1, %c2, %c3, %c4;", ".reg .b16 %all;", ".reg .pred %p, %first;"]


def numbers(dtype, count, seed):
    """Bits of any kind; of floats with fractions, infinities and NaNs."""
    element = dtype.split(".")[0].replace("tf32", "f32")
    columns = draw((element, element), ("", ""), 8192)
    stored = {1: np.uint8, 2: np.uint16, 4: np.uint32, 8: np.uint64}[TYPES[dtype][1]]
    return np.resize(columns[seed], count).astype(stored)


class Layout:
    """A tensor with room between its lines, and the box that is copied."""

    def __init__(self, dtype, dims, box, swizzle=0, fill=0, steps=None):
        self.dtype, self.size, self.dims, self.box = dtype, TYPES[dtype][1], dims, box
        self.swizzle, self.fill, self.steps = swizzle, fill, steps or [1] * len(dims)
        self.strides, bytes_ = [], -(-dims[0] * self.size // 16) * 16 + 16
        for extent in dims[1:]:
            bytes_ = -(-bytes_ // 32) * 32
            self.strides.append(bytes_)
            bytes_ *= extent
        self.elements = bytes_ // self.size
        # Without interleaving the innermost element stride counts for nothing.
        rows = int(np.prod([-(-b // s) for b, s in zip(box[1:], self.steps[1:])]))
        self.bytes = rows * box[0] * self.size
        # In shared memory, with gaps behind rows that are narrower than the swizzle.
        self.room = rows * (SWIZZLE_BYTES[swizzle] if swizzle else -(-box[0] * self.size // 8) * 8)

    def coordinates(self, rng, stores):
        """For each program the box's place: within, across each border, outside. `stores`: boxes that do not meet, and do
        not begin before the tensor, where the hardware ends the launch."""
        rows, unit = [], 16 // self.size
        for program in range(PROGRAMS):
            at = [int(rng.integers(0 if stores else -b, d + 2)) if program else int(rng.integers(0, max(1, d - b))) for b, d in zip(self.box, self.dims)]
            if stores:
                at[-1] = program * self.box[-1] + (1 if len(self.dims) > 1 else unit)
                at[:-1] = [0 if program < 2 else x for x in at[:-1]]
            elif program == 0:
                at = [0] * len(at)
            # The innermost coordinate is at a multiple of 16 bytes: the hardware ends the launch for any other.
            at[0] -= at[0] % unit
            rows.append(at + [0] * (5 - len(at)))
        return np.array(rows, np.int32)

    def tensor_map(self, array):
        return TensorMap(array, TYPES[self.dtype][0], self.dims, self.strides, self.box, self.steps, 0, self.swizzle, 0, self.fill)

    def text(self):
        words = [self.dtype, "x".join(map(str, self.dims)), "box " + "x".join(map(str, self.box))]
        words += [f"swizzle {SWIZZLE_BYTES[self.swizzle]}"] if self.swizzle else []
        words += ["NaN outside"] if self.fill else []
        words += ["steps " + "x".join(map(str, self.steps))] if max(self.steps) > 1 else []
        return " (" + ", ".join(words) + ")"


def start(rank):
    lines = thread_number() + ["mov.u32 %me, %tid.x;", "setp.eq.u32 %first, %me, 0;", "mov.u32 %data, NAME_data;", "mov.u32 %bar, NAME_bar;",
                               "mov.u64 %map, NAME_map;", "cvta.param.u64 %map, %map;", "mul.wide.u32 %byte, %block, 20;", "add.u64 %at, %places, %byte;"]
    lines += [f"ld.global.u32 %c{i}, [%at+{4 * i}];" for i in range(rank)]
    return lines + ["@%first mbarrier.init.shared.b64 [%bar], 1;", "bar.sync 0;"]


def over_shared(size, lines):
    """`lines` for each 8 bytes of the box, %slot their offset in shared memory."""
    return ["shl.b32 %slot, %me, 3;", "FILL:", f"setp.ge.u32 %p, %slot, {size};", "@%p bra FILLED;", "add.u32 %bar, %data, %slot;"] + lines + \
        ["add.u32 %slot, %slot, 1024;", "bra FILL;", "FILLED:", "mov.u32 %bar, NAME_bar;"]


def named(lines, name):
    return [line.replace("FILL", name) for line in lines]


def box_of(rank):
    return "{" + ", ".join(f"%c{i}" for i in range(rank)) + "}"


def finished(text, body):
    kernel_text = kernel(["tensor", "places", "out"], DECLARED, body)
    return kernel_text.replace("NAME_out)", "NAME_out, .param .align 64 .b8 NAME_map[128])")


def one_place(place):
    """For a launch of one program, which may end there."""
    return np.array([place + [0] * (5 - len(place))], np.int32)


def named_place(place):
    return "" if place is None else " at " + ", ".join(map(str, place))


def load_probe(rows, layout, space="shared::cluster", hint=False, tile=True, seed=0, place=None):
    rank, room, programs = len(layout.dims), layout.room, PROGRAMS if place is None else 1
    form = (f"cp.async.bulk.tensor.{rank}d.{space}.global{'.tile' if tile else ''}.mbarrier::complete_tx::bytes" +
            (".L2::cache_hint" if hint else ""))
    rng = np.random.default_rng(seed + sum(map(ord, layout.text())))
    policy = ["createpolicy.fractional.L2::evict_first.b64 %policy, 1.0;"] if hint else []
    body = start(rank) + named(over_shared(room, ["st.shared.u64 [%bar], -3;"]), "BEFORE")
    body += policy + ["fence.proxy.async.shared::cta;", "bar.sync 0;", "@!%first bra WAIT;", f"mbarrier.arrive.expect_tx.shared.b64 _, [%bar], {layout.bytes};",
                      f"{form} [%data], [%map, {box_of(rank)}], [%bar]{', %policy' if hint else ''};", "WAIT:",
                      "mbarrier.try_wait.parity.shared.b64 %p, [%bar], 0;", "@!%p bra WAIT;", f"mul.wide.u32 %byte, %block, {room};", "add.u64 %at, %out, %byte;"]
    body += named(over_shared(room, ["ld.shared.u64 %x, [%bar];", "cvt.u64.u32 %word, %slot;", "add.u64 %word, %at, %word;", "st.global.u64 [%word], %x;"]), "AFTER")
    places = layout.coordinates(rng, False) if place is None else one_place(place)
    args = [Array("in", numbers(layout.dtype, layout.elements, seed % 2)), Array("in", places), Array("out", size=room * programs), layout.tensor_map(0)]
    check = Check("<u4", "u32", inputs=(), operands=lambda i: f"program {i * 4 // room} at {places[i * 4 // room][:rank]}, byte {i * 4 % room}")
    return Probe(GROUP if place is None else OUTSIDE, form + layout.text() + named_place(place), finished(form, body), args, [check], grid=programs,
                 block=128, row=row_of(rows, form), prefix=PREFIX, may_end=place is not None)


def store_probe(rows, layout, reduction=None, hint=False, tile=True, seed=0, place=None):
    rank, room, programs = len(layout.dims), layout.room, PROGRAMS if place is None else 1
    form = (f"cp{'.reduce' if reduction else ''}.async.bulk.tensor.{rank}d.global.shared::cta{'.' + reduction if reduction else ''}"
            f"{'.tile' if tile else ''}.bulk_group{'.L2::cache_hint' if hint else ''}")
    rng = np.random.default_rng(seed + sum(map(ord, layout.text())))
    policy = ["createpolicy.fractional.L2::evict_first.b64 %policy, 1.0;"] if hint else []
    source = ["cvt.u64.u32 %word, %slot;", "add.u64 %word, %at, %word;", "ld.global.u64 %x, [%word];", "st.shared.u64 [%bar], %x;"]
    body = start(rank) + [f"mul.wide.u32 %byte, %block, {room};", "add.u64 %at, %out, %byte;"] + named(over_shared(room, source), "BEFORE")
    body += policy + ["fence.proxy.async.shared::cta;", "bar.sync 0;", "@!%first bra DONE;",
                      f"{form} [%map, {box_of(rank)}], [%data]{', %policy' if hint else ''};", "cp.async.bulk.commit_group;", "cp.async.bulk.wait_group 0;", "DONE:"]
    places = layout.coordinates(rng, True) if place is None else one_place(place)
    sent = numbers(layout.dtype, room * programs // layout.size, 1)
    held = numbers(layout.dtype, layout.elements, 0)
    args = [Array("inout", held), Array("in", places), Array("in", sent), layout.tensor_map(0)]
    stored = held.dtype.str
    dtype = layout.dtype.split(".")[0].replace("tf32", "f32")
    check = Check(stored, dtype, inputs=(), operands=lambda i: f"element {i}, before {int(held[i]):#x}")
    return Probe(GROUP if place is None else OUTSIDE, form + layout.text() + named_place(place), finished(form, body), args, [check], grid=programs,
                 block=128, row=row_of(rows, form), prefix=PREFIX, may_end=place is not None)


SHAPES = {1: ([100], [32]), 2: ([50, 20], [16, 8]), 3: ([24, 10, 9], [8, 4, 5]), 4: ([16, 5, 6, 7], [8, 3, 2, 4]), 5: ([16, 4, 5, 3, 8], [16, 3, 2, 2, 3])}


def fitted(dtype, rank, swizzle=0, **rest):
    """The shape of a rank with lines as long as the swizzle takes."""
    dims, box = (list(v) for v in SHAPES[rank])
    size = TYPES[dtype][1]
    row = SWIZZLE_BYTES[swizzle] if swizzle else max(16, -(-box[0] * size // 16) * 16)
    box[0] = row // size
    dims[0] = max(dims[0], 2 * box[0] + 3)
    return Layout(dtype, dims, box, swizzle=swizzle, **rest)


def loads(rows):
    if not any(row.name == "cp" and any(g == ["tensor"] for _, g in row.groups) for row in rows):
        return
    for rank, dtype, swizzle in itertools.product(SHAPES, TYPES, range(4)):
        if rank == 2 or dtype in ("u8", "f16", "f32"):
            if rank > 1 or not swizzle:
                yield load_probe(rows, fitted(dtype, rank, swizzle), seed=rank)
    for rank, dtype in itertools.product(SHAPES, ("f16", "bf16", "f32", "f64", "tf32")):
        yield load_probe(rows, fitted(dtype, rank, fill=1), seed=7)
    for rank in SHAPES:
        for space, hint, tile in itertools.product(("shared::cluster", "shared::cta"), (False, True), (False, True)):
            yield load_probe(rows, fitted("u32", rank), space, hint, tile)
    for steps in ([1, 2], [1, 3], [2, 1], [2, 2]):
        yield load_probe(rows, Layout("u32", [50, 20], [16, 8], steps=steps))
    for swizzle in range(1, 4):  # more lines than the swizzle's pattern has
        yield load_probe(rows, Layout("f16", [150, 80], [SWIZZLE_BYTES[swizzle] // 2, 64], swizzle=swizzle))
        yield load_probe(rows, Layout("f16", [150, 80], [8, 64], swizzle=swizzle), seed=3)


def stores(rows):
    if not any(row.name == "cp" and any(g == ["tensor"] for _, g in row.groups) for row in rows):
        return
    for rank, dtype, swizzle in itertools.product(SHAPES, TYPES, range(4)):
        if (rank == 2 or dtype in ("u8", "f16", "f32")) and (rank > 1 or not swizzle):
            yield store_probe(rows, fitted(dtype, rank, swizzle), seed=rank)
    for rank, hint, tile in itertools.product(SHAPES, (False, True), (False, True)):
        yield store_probe(rows, fitted("u32", rank), hint=hint, tile=tile)
    for steps in ([1, 2], [1, 3]):
        yield store_probe(rows, Layout("u32", [50, 20], [16, 8], steps=steps))
    for swizzle in range(1, 4):
        yield store_probe(rows, Layout("f16", [150, 80], [SWIZZLE_BYTES[swizzle] // 2, 16], swizzle=swizzle))
        yield store_probe(rows, Layout("f16", [150, 80], [8, 16], swizzle=swizzle), seed=3)
    taken = {"add": ("u32", "s32", "u64", "f16", "bf16", "f32", "f32.ftz"), "min": ("u32", "s32", "u64", "s64", "f16", "bf16"),
             "max": ("u32", "s32", "u64", "s64", "f16", "bf16"), "inc": ("u32",), "dec": ("u32",), "and": ("u32", "u64", "s32"),
             "or": ("u32", "u64"), "xor": ("u32", "u64")}
    for reduction, dtypes in taken.items():
        for dtype, swizzle in itertools.product(dtypes, (0, 3)):
            yield store_probe(rows, fitted(dtype, 2, swizzle), reduction)
        for rank, hint, tile in itertools.product(SHAPES, (False, True), (False, True)):
            yield store_probe(rows, fitted("u32", rank), reduction, hint, tile)


def prefetches(rows):
    for row in rows:
        tensor = row.name == "cp" and any(g == ["tensor"] for _, g in row.groups) and any(g == ["prefetch"] for _, g in row.groups)
        if not tensor and not (row.name == "prefetch" and any(g == ["tensormap"] for _, g in row.groups)):
            continue
        for rank in SHAPES if tensor else (2,):
            hint = "u64" in row.operands
            form = (f"cp.async.bulk.prefetch.tensor.{rank}d.L2.global.tile{'.L2::cache_hint' if hint else ''}" if tensor else "prefetch.tensormap")
            probe = load_probe(rows, fitted("u32", rank), hint=hint)
            operand = f"[%map, {box_of(rank)}]{', %policy' if hint else ''}" if tensor else "[%map]"
            probe.text = probe.text.replace("  @!%first bra WAIT;", f"  @%first {form} {operand};\n  @!%first bra WAIT;")
            probe.form, probe.row = form + " before a load", row.number
            yield probe


def edges(layout, dim):
    """Coordinates along a dimension: at and across each border of the tensor, far away, at the ends of 32 bits."""
    extent, box, unit = layout.dims[dim], layout.box[dim], 16 // layout.size if dim == 0 else 1
    last = 2**31 - 1 - (2**31 - 1) % unit
    below = [-2**31, -2**16, -box, -unit]
    above = [extent - box, extent, extent + unit, 2**16, 2**30, 2**31 - box - (2**31 - box) % unit, last]
    return [0] + below + [x - x % unit for x in above]


def places_outside(layout):
    """One coordinate anywhere, the others inside, behind the tensor or before it; all that are no multiple of 16 bytes."""
    rank, unit = len(layout.dims), 16 // layout.size
    others = {"inside": [0] * rank, "behind": [-(-d // 16) * 16 for d in layout.dims], "before": [-16 * b for b in layout.box]}
    for dim in range(rank) if rank < 4 else (0, rank - 1):
        for which, rest in others.items():
            if rank == 1 and which != "inside" or rank > 2 and which == "before":
                continue
            for at in edges(layout, dim):
                yield rest[:dim] + [at] + rest[dim + 1:]
    if unit > 1:
        for at in (1, -1, unit // 2, layout.dims[0] - 1):
            yield [at - (at % unit == 0)] + [0] * (rank - 1)


def outside(rows):
    """Launches of one copy each: where one ends a launch the other must."""
    if not any(row.name == "cp" and any(g == ["tensor"] for _, g in row.groups) for row in rows):
        return
    for dtype, rank in (("f16", 1), ("f16", 2), ("f16", 5), ("u8", 2), ("f32", 3)):
        layout = fitted(dtype, rank)
        for place in map(list, dict.fromkeys(map(tuple, places_outside(layout)))):
            yield load_probe(rows, layout, place=place)
            if dtype != "u8":
                yield store_probe(rows, layout, "add" if rank in (1, 5) else None, place=place)


FAMILIES = (loads, stores, prefetches, outside)
