"""Probes of what threads do together: shuffles, votes, matches, reductions, barriers; and of control flow."""
import numpy as np

from operands import draw
from probe import THREAD, Array, Check, Probe, declare, kernel, load_word, narrow, store_word, thread_number, widen
from table import row_of

COUNT, BLOCK = 8192, 128
RNG = np.random.default_rng(9)


def per_warp(values):
    return np.repeat(values, 32)


def masks():
    """A mask for each warp: full, one thread, random; the thread of any bit set takes part."""
    found = RNG.integers(1, 1 << 32, COUNT // 32, np.uint64)
    found[:8] = (1 << 32) - 1
    found[8:40] = [1 << i for i in range(32)]
    return per_warp(found)


FULL = np.full(COUNT, (1 << 32) - 1, np.uint64)
LANE = np.arange(COUNT, dtype=np.uint64) % np.uint64(32)
PARTIAL = masks()


def together(rows, form, lines, columns, declarations=(), outputs=(("%y", 32),), note="", group="warp"):
    """A kernel in which the threads whose bit the last column has (a mask for each warp) execute `lines`, with
    operands %x0, ... of 64 bits from the columns and %mask; results default to a pattern."""
    columns = list(columns)
    names = [f"in{i}" for i in range(len(columns))]
    declared = THREAD + [f".reg .b64 %x{i};" for i in range(len(columns))] + [".reg .b32 %mask, %lane, %own;", ".reg .pred %takes;"]
    declared += [declare(r, bits) for r, bits in outputs] + list(declarations)
    body = thread_number()
    for i, name in enumerate(names):
        body += load_word(name) + [f"mov.b64 %x{i}, %word;"]
    for register, bits in outputs:
        body += [f"setp.eq.u64 {register}, 1, 0;" if bits == 1 else f"mov.b{bits} {register}, {0x7b & ((1 << bits) - 1)};"]
    body += [f"cvt.u32.u64 %mask, %x{len(names) - 1};", "mov.u32 %lane, %laneid;", "shr.b32 %own, %mask, %lane;",
             "and.b32 %own, %own, 1;", "setp.ne.u32 %takes, %own, 0;", "@!%takes bra SKIP;"] + lines + ["SKIP:"]
    for slot, (register, bits) in enumerate(outputs):
        body += widen(register, bits) + store_word(slot, COUNT)
    body.append("bar.warp.sync 0xffffffff;")
    text = kernel(names + ["out"], declared, body)
    args = [Array("in", c) for c in columns] + [Array("out", size=8 * COUNT * len(outputs))]

    def show(index):
        first = index // 32 * 32
        return f"lane {index % 32}; " + "; ".join(
            f"{int(c[index]):#x}" + (f" of [{', '.join(f'{int(v):x}' for v in c[first:first + 32])}]" if i == 0 else "")
            for i, c in enumerate(columns))

    return Probe(group, form + note, text, args, [Check(operands=show, inputs=columns)], grid=COUNT // BLOCK,
                 block=BLOCK, row=row_of(rows, form))


def few(kinds, bits=32):
    """Values of which several threads of a warp have the same."""
    base = per_warp(draw(("b64",), ("",), 16384)[0][300:300 + COUNT // 32])
    value = base + RNG.integers(0, kinds, COUNT, np.uint64)
    return value & np.uint64((1 << bits) - 1)


def shuffles(rows):
    value = draw(("b32",), ("",), 16384)[0][:COUNT]
    lane = np.where(RNG.integers(0, 3, COUNT) == 0, RNG.integers(0, 64, COUNT, np.uint64), RNG.integers(0, 32, COUNT, np.uint64))
    segment = np.array([0, 0x1c00, 0x1800, 0x1000, 0x1f00, 0x1e00], np.uint64)[RNG.integers(0, 6, COUNT)]
    clamp = np.where(RNG.integers(0, 2, COUNT) == 0, RNG.integers(0, 32, COUNT, np.uint64), np.uint64(31))
    narrowing = [".reg .b32 %a, %b, %c;"]
    prepare = ["cvt.u32.u64 %a, %x0;", "cvt.u32.u64 %b, %x1;", "cvt.u32.u64 %c, %x2;"]
    for mode in ("up", "down", "bfly", "idx"):
        form = f"shfl.sync.{mode}.b32"
        yield together(rows, form, prepare + [f"{form} %y, %a, %b, %c, %mask;"], [value, lane, clamp | segment, FULL], narrowing)
        yield together(rows, form, prepare + [f"{form} %y|%p, %a, %b, %c, %mask;"], [value, lane, clamp | segment, FULL],
                       narrowing, (("%y", 32), ("%p", 1)), " d|p")


def votes(rows):
    truth = per_warp(RNG.choice([0.0, 0.02, 0.5, 0.98, 1.0], COUNT // 32))
    flag = (RNG.random(COUNT) < truth).astype(np.uint64)
    pred = [".reg .pred %a, %p;"]
    test = ["setp.ne.u64 %a, %x0, 0;"]
    for mode in ("all", "any", "uni"):
        form = f"vote.sync.{mode}.pred"
        yield together(rows, form, test + [f"{form} %p, %a, %mask;", "selp.u32 %y, 1, 0, %p;"], [flag, PARTIAL], pred)
        yield together(rows, form, test + [f"{form} %p, !%a, %mask;", "selp.u32 %y, 1, 0, %p;"], [flag, PARTIAL], pred, note=" negated")
    yield together(rows, "vote.sync.ballot.b32", test + ["vote.sync.ballot.b32 %y, %a, %mask;"], [flag, PARTIAL], pred)
    for bits in (32, 64):
        values = np.where(RNG.integers(0, 4, COUNT) == 0, few(1, bits), few(5, bits))
        values[COUNT // 2:] = few(1, bits)[COUNT // 2:]
        declarations = [f".reg .b{bits} %a;"]
        lines = ["mov.b64 %a, %x0;" if bits == 64 else "cvt.u32.u64 %a, %x0;"]
        yield together(rows, f"match.sync.any.b{bits}", lines + [f"match.any.sync.b{bits} %y, %a, %mask;"], [values, PARTIAL], declarations)
        yield together(rows, f"match.sync.all.b{bits}", lines + [f"match.all.sync.b{bits} %y, %a, %mask;"], [values, PARTIAL], declarations)
        yield together(rows, f"match.sync.all.b{bits}", lines + [f"match.all.sync.b{bits} %y|%p, %a, %mask;"], [values, PARTIAL],
                       declarations, (("%y", 32), ("%p", 1)), " d|p")


def reductions(rows):
    values = draw(("b32",), ("",), 16384)[0][:COUNT]
    numbers = draw(("f32",), ("",), 16384)[0][:COUNT]
    for row in rows:
        if row.name != "redux":
            continue
        for words in row.words():
            for types in row.all_types():
                form = row.form(words, types)
                column = numbers if types[0] == "f32" else values
                yield together(rows, form, ["cvt.u32.u64 %a, %x0;", f"{form} %y, %a, %mask;"], [column, PARTIAL], [".reg .b32 %a;"])
    yield together(rows, "activemask.b32", ["activemask.b32 %y;"], [PARTIAL])
    yield together(rows, "elect.sync", ["elect.sync %y|%p, %mask;"], [PARTIAL], (), (("%y", 32), ("%p", 1)))
    yield together(rows, "bar.warp.sync", ["bar.warp.sync %mask;", "mov.u32 %y, 1;"], [PARTIAL])


def block_kernel(rows, form, lines, declarations=(), outputs=(("%y", 32),), group="barriers", note="", prefix=""):
    """All threads of blocks of 128 execute `lines`: %x0 of 64 random bits, %pred its lowest bit, %me, %wid."""
    column = draw(("b64",), ("",), 16384)[0][:COUNT].copy()
    column[:BLOCK] |= np.uint64(1)
    column[BLOCK:2 * BLOCK] &= ~np.uint64(1)
    declared = THREAD + [".reg .b64 %x0;", ".reg .b32 %me, %wid, %a;", ".reg .pred %pred;"]
    declared += [declare(r, bits) for r, bits in outputs] + list(declarations)
    body = thread_number() + load_word("in0") + ["mov.b64 %x0, %word;", "and.b64 %word, %word, 1;", "setp.ne.u64 %pred, %word, 0;",
                                                 "mov.u32 %me, %tid.x;", "shr.u32 %wid, %me, 5;", "cvt.u32.u64 %a, %x0;"] + lines
    for slot, (register, bits) in enumerate(outputs):
        body += widen(register, bits) + store_word(slot, COUNT)
    return Probe(group, form + note, kernel(["in0", "out"], declared, body),
                 [Array("in", column), Array("out", size=8 * COUNT * len(outputs))],
                 [Check(operands=lambda i: f"thread {i % BLOCK}: {int(column[i]):#x}", inputs=[column])], grid=COUNT // BLOCK,
                 block=BLOCK, row=row_of(rows, form), prefix=prefix)


EXCHANGE = ".shared .align 8 .b8 NAME_buffer[1024];\n"


def barriers(rows):
    """Each makes what other threads wrote to shared memory visible."""
    address = ["mov.u32 %s, NAME_buffer;", "shl.b32 %t, %me, 3;", "add.u32 %t, %s, %t;", "st.shared.u64 [%t], %x0;"]
    other = ["xor.b32 %u, %me, 127;", "shl.b32 %u, %u, 3;", "add.u32 %u, %s, %u;", "ld.shared.u64 %z, [%u];"]
    registers = [".reg .b32 %s, %t, %u;", ".reg .pred %p;"]
    both = (("%z", 64),)
    for form, text in (("bar.sync", "bar.sync 1;"), ("bar.sync", "bar.sync 3, 128;"), ("bar.cta.sync", "bar.cta.sync 0;"),
                       ("barrier.sync", "barrier.sync 2;"), ("barrier.sync.aligned", "barrier.sync.aligned 0;"),
                       ("barrier.cta.sync", "barrier.cta.sync 15, 128;"), ("barrier.cta.sync.aligned", "barrier.cta.sync.aligned 1, 128;")):
        yield block_kernel(rows, form, address + [text] + other, registers, both, prefix=EXCHANGE, note=f" ({text})")
    # Warps 0 and 1 write and arrive; warps 2 and 3 wait and read what they wrote.
    for form in ("bar.arrive", "bar.cta.arrive", "barrier.arrive", "barrier.arrive.aligned", "barrier.cta.arrive", "barrier.cta.arrive.aligned"):
        waits = form.replace("arrive", "sync")
        lines = ["mov.b64 %z, 0;", "setp.lt.u32 %p, %wid, 2;"] + address[:-1] + ["@!%p bra CONSUME;", address[-1],
                                                                               f"{form} 1, 128;", "bra DONE;", "CONSUME:",
                                                                               f"{waits} 1, 128;"] + other + ["DONE:"]
        yield block_kernel(rows, form, lines, registers, both, prefix=EXCHANGE)
    for base in ("bar.red", "bar.cta.red", "barrier.red", "barrier.red.aligned", "barrier.cta.red", "barrier.cta.red.aligned"):
        for count in ("", ", 128"):
            yield block_kernel(rows, f"{base}.popc.u32", [f"{base}.popc.u32 %y, 1{count}, %pred;"], note=count)
            for operation in ("and", "or"):
                form = f"{base}.{operation}.pred"
                yield block_kernel(rows, form, [f"{form} %p, 1{count}, %pred;", "selp.u32 %y, 1, 0, %p;"], [".reg .pred %p;"], note=count)
    for form in ("membar.cta", "membar.gl", "membar.sys") + tuple(
            f"fence{o}.{s}" for o in ("", ".sc", ".acq_rel", ".acquire", ".release") for s in ("cta", "cluster", "gpu", "sys")):
        yield block_kernel(rows, form, address + [form + ";", "bar.sync 0;"] + other, registers, both, prefix=EXCHANGE)


def control(rows):
    collatz = ["and.b32 %a, %a, 0xffff;", "or.b32 %a, %a, 1;", "mov.u32 %y, 0;", "LOOP:", "setp.le.u32 %p, %a, 1;", "@%p bra DONE;",
               "and.b32 %t, %a, 1;", "setp.eq.u32 %q, %t, 0;", "add.u32 %y, %y, 1;", "@%q bra EVEN;", "mad.lo.u32 %a, %a, 3, 1;",
               "bra.uni LOOP;", "EVEN:", "shr.u32 %a, %a, 1;", "bra LOOP;", "DONE:"]
    registers = [".reg .b32 %t, %u;", ".reg .pred %p, %q;"]
    yield block_kernel(rows, "bra", collatz, registers, group="control", note=" (loops that end at different times)")
    table = ["and.b32 %t, %a, 3;", "mov.u32 %y, 100;", "T: .branchtargets A, B, C, D;", "brx.idx %t, T;", "A:", "add.u32 %y, %y, 1;",
             "B:", "mul.lo.u32 %y, %y, 3;", "bra E;", "C:", "xor.b32 %y, %y, %a;", "D:", "not.b32 %y, %y;", "E:"]
    yield block_kernel(rows, "brx.idx", table, registers, group="control")
    function = (".func (.param .b32 out) NAME_f(.param .b32 in0, .param .b64 in1)\n{\n  .reg .b32 %r<4>; .reg .b64 %d; .reg .pred %p;\n"
                "  ld.param.u32 %r0, [in0];\n  ld.param.u64 %d, [in1];\n  cvt.u32.u64 %r1, %d;\n  setp.gt.u32 %p, %r0, 1000;\n"
                "  mov.u32 %r2, 7;\n  @%p bra BIG;\n  st.param.b32 [out], %r2;\n  ret;\nBIG:\n  add.u32 %r2, %r0, %r1;\n"
                "  st.param.b32 [out], %r2;\n  ret;\n}\n")
    call = ["and.b32 %t, %a, 2047;", "{", ".param .b32 p0; .param .b64 p1; .param .b32 r;", "st.param.b32 [p0], %t;", "st.param.b64 [p1], %x0;",
            "call (r), NAME_f, (p0, p1);", "ld.param.b32 %y, [r];", "}"]
    yield block_kernel(rows, "call", call, registers, group="control", prefix=function)
    yield block_kernel(rows, "call.uni", [line.replace("call (r)", "call.uni (r)") for line in call], registers, group="control", prefix=function)
    indirect = ["mov.u64 %f, NAME_f;", "P: .callprototype (.param .b32 _) _ (.param .b32 _, .param .b64 _);"] + \
        [line.replace("NAME_f, (p0, p1)", "%f, (p0, p1), P") for line in call]
    yield block_kernel(rows, "call", indirect, registers + [".reg .b64 %f;"], group="control", prefix=function, note=" (indirect)")
    yield block_kernel(rows, "exit", ["mov.u32 %y, 5;", "and.b32 %t, %a, 3;", "setp.eq.u32 %p, %t, 1;", "@%p exit;"], registers,
                       group="control")
    yield block_kernel(rows, "ret", ["mov.u32 %y, 5;", "and.b32 %t, %a, 3;", "setp.eq.u32 %p, %t, 1;", "@%p ret;"], registers, group="control")
    yield block_kernel(rows, "ret.uni", ["mov.u32 %y, 5;", "bra OVER;", "ret.uni;", "OVER:"], registers, group="control")
    yield block_kernel(rows, "bra.uni", ["mov.u32 %y, 5;", "bra.uni OVER;", "mov.u32 %y, 6;", "OVER:"], registers, group="control")
    yield block_kernel(rows, "nanosleep.u32", ["and.b32 %t, %a, 255;", "nanosleep.u32 %t;", "mov.u32 %y, %a;"], registers, group="control")
    yield block_kernel(rows, "pmevent", ["pmevent 3;", "mov.u32 %y, %a;"], registers, group="control")
    # A lock that the threads of a warp take one after another: taken, used and released within one turn of the loop.
    lock = ["mov.u32 %s, NAME_buffer;", "mov.u32 %t, 0;", "setp.ne.u32 %p, %me, 0;", "@!%p st.shared.u32 [%s], %t;", "@!%p st.shared.u32 [%s+4], %t;",
            "bar.sync 0;", "AGAIN:", "atom.shared.acquire.cta.cas.b32 %t, [%s], 0, 1;", "setp.ne.u32 %p, %t, 0;", "@%p bra TAKEN;",
            "ld.volatile.shared.u32 %u, [%s+4];", "add.u32 %u, %u, 1;", "st.volatile.shared.u32 [%s+4], %u;",
            "atom.shared.release.cta.exch.b32 %t, [%s], 0;", "TAKEN:", "@%p bra AGAIN;", "bar.sync 0;", "ld.shared.u32 %y, [%s+4];"]
    yield block_kernel(rows, "bra", lock, registers + [".reg .b32 %s;"], group="control", prefix=EXCHANGE, note=" (a lock within a warp)")
    for register, bits in (("%tid.x", 32), ("%tid.y", 32), ("%ntid.x", 32), ("%ntid.z", 32), ("%ctaid.x", 32), ("%ctaid.y", 32),
                           ("%nctaid.x", 32), ("%nctaid.z", 32), ("%laneid", 32), ("%lanemask_eq", 32), ("%lanemask_le", 32),
                           ("%lanemask_lt", 32), ("%lanemask_ge", 32), ("%lanemask_gt", 32), ("%clusterid.x", 32),
                           ("%nclusterid.x", 32), ("%cluster_ctaid.x", 32), ("%cluster_nctaid.x", 32), ("%cluster_ctarank", 32),
                           ("%cluster_nctarank", 32), ("%dynamic_smem_size", 32), ("%total_smem_size", 32)):
        form = f"mov.u{bits}"
        yield block_kernel(rows, form, [f"{form} %y, {register};"], group="special registers", note=f" {register}", outputs=(("%y", bits),))
    # The PTX ISA promises of %warpid only that the threads of a warp have the same one, below %nwarpid: which of them a warp
    # has depends on where it runs.
    number = ["mov.u32 %y, %warpid;", "mov.u32 %n, %nwarpid;", "setp.lt.u32 %p, %y, %n;", "shfl.sync.idx.b32 %n, %y, 0, 31, 0xffffffff;",
              "setp.eq.and.u32 %p, %y, %n, %p;", "selp.u32 %y, 1, 0, %p;"]
    yield block_kernel(rows, "mov.u32", number, [".reg .b32 %n;", ".reg .pred %p;"], group="special registers", note=" %warpid")


FAMILIES = (shuffles, votes, reductions, barriers, control)
