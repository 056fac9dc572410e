"""Probes of mbarriers, of bulk copies, and of what programs of a cluster do in each other's shared memory.

Every kernel exchanges words between threads or programs; what is compared is what arrives."""
import numpy as np

from operands import draw
from probe import THREAD, Array, Check, Probe, kernel, thread_number
from table import row_of

BLOCK, COUNT, CLUSTER = 128, 1024, 4
WORDS = draw(("b64",), ("",), 16384)[0][:COUNT]
SHARED = ".shared .align 128 .b8 NAME_data[2048];\n.shared .align 8 .b64 NAME_bar;\n"
DECLARED = THREAD + [".reg .b64 %x, %y, %z, %state, %g, %remote;", ".reg .b32 %me, %data, %mine, %other, %bar, %a, %b, %rank;", ".reg .pred %p, %first;"]
CLUSTERED = f"\n.reqnctapercluster {CLUSTER}, 1, 1"


def setup(count):
    """%mine: the thread's slot of shared memory, holding its word %x; %other: that of its partner; %bar: initialised."""
    return thread_number() + [
        "mov.u32 %me, %tid.x;", "setp.eq.u32 %first, %me, 0;", "add.u64 %at, %in0, %byte;", "ld.global.u64 %x, [%at];",
        "mov.u32 %data, NAME_data;", "mov.u32 %bar, NAME_bar;", "mad.lo.u32 %mine, %me, 8, %data;", "xor.b32 %other, %me, 127;",
        "mad.lo.u32 %other, %other, 8, %data;", "mov.b64 %y, 0;", "mov.b64 %z, 0;",
        f"@%first mbarrier.init.shared.b64 [%bar], {count};", "bar.sync 0;"]


RESULT = ["add.u64 %at, %out, %byte;", "st.global.u64 [%at], %y;", f"st.global.u64 [%at+{8 * COUNT}], %z;"]


def exchange(rows, row, form, lines, note="", count=BLOCK, cluster=False, begin=(), group="mbarriers"):
    body = (setup(count) if count else setup(1)) + list(begin) + lines + RESULT
    text = kernel(["in0", "out"], DECLARED, body, CLUSTERED if cluster else "")
    return Probe(group, form + note, text, [Array("in", WORDS), Array("out", size=16 * COUNT)],
                 [Check(inputs=[WORDS], operands=lambda i: f"thread {i % BLOCK} of program {i % COUNT // BLOCK}")], grid=COUNT // BLOCK, block=BLOCK,
                 row=row if isinstance(row, int) or row is None else row.number, prefix=SHARED)


WRITE, READ = ["st.shared.u64 [%mine], %x;"], ["ld.shared.u64 %y, [%other];"]
BY_PARITY = ["WAIT:", "mbarrier.try_wait.parity.shared.b64 %p, [%bar], 0;", "@!%p bra WAIT;"]
BY_STATE = ["WAIT:", "mbarrier.test_wait.shared.b64 %p, [%bar], %state;", "@!%p bra WAIT;"]
SELF = ["cvt.u64.u32 %g, %bar;", "cvta.shared.u64 %g, %g;", "mov.u32 %rank, %cluster_ctarank;", "mapa.u64 %remote, %g, %rank;",
        "mapa.shared::cluster.u32 %a, %bar, %rank;"]


def arrivals(rows, row, words):
    form = row.form(words, ("b64",))
    remote = "shared::cluster" in words
    generic = not any(w and w.startswith("shared") for w in words)
    address = "%a" if remote else "%g" if generic else "%bar"
    result = "_" if remote else "%state"
    wait = BY_PARITY if remote else BY_STATE
    begin = SELF if remote or generic else []
    # What is relaxed orders no data: a barrier does.
    wait = wait + ["bar.sync 0;"] if "relaxed" in words else wait
    by_parity = BY_PARITY + ["bar.sync 0;"] if "relaxed" in words else BY_PARITY
    if "expect_tx" in words:  # the bytes are accounted for by hand
        lines = WRITE + ["@%first bra EXPECT;", "mbarrier.arrive.shared.b64 %state, [%bar];", "bra GO;", "EXPECT:", f"{form} {result}, [{address}], 48;",
                         "mbarrier.complete_tx.relaxed.cta.shared::cta.b64 [%bar], 48;", "GO:"] + by_parity + READ
        return [exchange(rows, row, form, lines, begin=begin)]
    if "noComplete" in words:
        lines = WRITE + ["@%first bra LAST;", f"{form} %state, [{address}], 1;", "LAST:", "bar.sync 0;", "@%first mbarrier.arrive.shared.b64 %state, [%bar];"]
        return [exchange(rows, row, form, lines + by_parity + READ, begin=begin)]
    if "arrive_drop" in words:  # the threads of the upper half leave; the next phase is the lower half's
        lines = WRITE + ["setp.lt.u32 %p, %me, 64;", "@%p bra STAY;", f"{form} {result}, [{address}];", "bra GO;", "STAY:",
                         "mbarrier.arrive.shared.b64 %state, [%bar];", "GO:"] + by_parity + READ
        lines += ["bar.sync 0;", "setp.ge.u32 %p, %me, 64;", "@%p bra DONE;", "mbarrier.arrive.shared.b64 %state, [%bar];", "DONE:", "AGAIN:",
                  "mbarrier.try_wait.parity.shared.b64 %p, [%bar], 1;", "@!%p bra AGAIN;", "mov.b64 %z, 1;"]
        return [exchange(rows, row, form, lines, begin=begin)]
    plain = exchange(rows, row, form, WRITE + [f"{form} {result}, [{address}];"] + wait + READ, begin=begin)
    counted = exchange(rows, row, form, WRITE + [f"{form} {result}, [{address}], 3;"] + wait + READ, count=3 * BLOCK, note=" (count 3)", begin=begin)
    return [plain, counted]


def waits(rows, row, words):
    form = row.form(words, ("b64",))
    generic = not any(w and w.startswith("shared") for w in words)
    address, begin = ("%g", SELF) if generic else ("%bar", [])
    phase = "0" if "parity" in words else "%state"
    hints = ("", ", 100") if "try_wait" in words else ("",)
    for hint in hints:
        early = ["mbarrier.try_wait.parity.shared.b64 %p, [%bar], 1;", "selp.u64 %z, 1, 0, %p;"]  # the phase before the first is over
        lines = early + WRITE + ["mbarrier.arrive.shared.b64 %state, [%bar];", "WAIT:", f"{form} %p, [{address}], {phase}{hint};", "@!%p bra WAIT;"] + (["bar.sync 0;"] if "relaxed" in words else []) + READ
        yield exchange(rows, row, form, lines, note=hint, begin=begin)
    if "test_wait" in words and "parity" in words:
        early = [f"{form} %p, [{address}], 0;", "selp.u64 %z, 5, 6, %p;", "bar.sync 0;"]
        yield exchange(rows, row, form, early + WRITE + ["mbarrier.arrive.shared.b64 %state, [%bar];"] + BY_STATE + READ, note=" (too early)", begin=begin)


def mbarriers(rows):
    for row in (r for r in rows if r.name == "mbarrier"):
        for words in row.words():
            form = row.form(words, ("b64",))
            generic = not any(w and w.startswith("shared") for w in words)
            own = "%g" if generic else "%a" if "shared::cluster" in words else "%bar"
            begin = SELF if own != "%bar" else []
            if "arrive" in words or "arrive_drop" in words:
                yield from arrivals(rows, row, words)
            elif "test_wait" in words or "try_wait" in words:
                yield from waits(rows, row, words)
            elif "expect_tx" in words or "complete_tx" in words:
                pair = ["mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [%bar], 64;", "mbarrier.complete_tx.relaxed.cta.shared::cta.b64 [%bar], 64;"]
                pair["complete_tx" in words] = f"{form} [{own}], 64;"
                lines = WRITE + [f"@%first {text}" for text in pair] + ["bar.warp.sync -1;", "mbarrier.arrive.shared.b64 %state, [%bar];"]
                yield exchange(rows, row, form, lines + BY_STATE + READ, begin=begin)
            elif "init" in words:
                lines = ["@%first mbarrier.inval.shared.b64 [%bar];", f"@%first {form} [{own}], 128;", "bar.sync 0;"] + WRITE
                yield exchange(rows, row, form, lines + ["mbarrier.arrive.shared.b64 %state, [%bar];"] + BY_STATE + READ, count=5, begin=begin)
            elif "inval" in words:
                lines = WRITE + ["mbarrier.arrive.shared.b64 %state, [%bar];"] + BY_STATE + READ
                lines += ["bar.sync 0;", f"@%first {form} [{own}];", "bar.sync 0;", "@%first st.shared.u64 [%bar], 77;", "bar.sync 0;", "ld.shared.u64 %z, [%bar];"]
                yield exchange(rows, row, form, lines, begin=begin)
            elif "pending_count" in words:
                lines = ["@!%first bra DONE;", "mbarrier.arrive.shared.b64 %state, [%bar], 5;", f"{form} %a, %state;", "cvt.u64.u32 %y, %a;",
                         "mbarrier.arrive.shared.b64 %state, [%bar], 3;", f"{form} %a, %state;", "cvt.u64.u32 %z, %a;", "DONE:"]
                yield exchange(rows, row, form, lines)


def fences(rows):
    forms = [row.form(words, ()) for row in rows if row.name == "fence" for words in row.words()]
    for form in dict.fromkeys(forms):
        if form.startswith(("fence.proxy", "fence.mbarrier_init")):
            yield exchange(rows, row_of(rows, form), form, WRITE + [form + ";", "bar.sync 0;"] + READ, group="barriers")
    for form in ("griddepcontrol.launch_dependents", "griddepcontrol.wait"):
        yield exchange(rows, row_of(rows, form), form, WRITE + [form + ";", "bar.sync 0;"] + READ, group="control")
    for way in ("inc", "dec"):
        form = f"setmaxnreg.{way}.sync.aligned.u32"
        # Of the two warpgroups one gives registers up, then the other takes them.
        lines = ["setp.ge.u32 %p, %me, 128;"] + WRITE + ["@%p bra UPPER;", "setmaxnreg.dec.sync.aligned.u32 40;", "bra JOIN;", "UPPER:",
                                                         "setmaxnreg.inc.sync.aligned.u32 144;", "JOIN:", "bar.sync 0;"]
        lines += ["xor.b32 %other, %me, 255;", "mad.lo.u32 %other, %other, 8, %data;"] + READ
        probe = exchange(rows, row_of(rows, form), form, lines, group="control")
        probe.text = probe.text.replace("NAME_out)", "NAME_out)\n.maxntid 256, 1, 1\n.maxnreg 96", 1)
        probe.block, probe.grid = (256, 1, 1), (COUNT // 256, 1, 1)
        yield probe


def asynchronous_arrivals(rows):
    """cp.async that arrives at an mbarrier when it is done."""
    for row in (r for r in rows if r.name == "cp" and "mbarrier" in sum((g for _, g in r.groups), [])):
        for words in row.words():
            form = row.form(words, ("b64",))
            if ".bulk" in form or "arrive" not in words:
                continue
            generic = not any(w and w.startswith("shared") for w in words)
            extra = ["mbarrier.arrive.shared.b64 %state, [%bar];"]
            lines = ["cp.async.ca.shared.global [%mine], [%at], 8;", f"{form} [{'%g' if generic else '%bar'}];"] + extra + BY_PARITY + READ
            # Without .noinc the copy's arrival is one more than counted.
            yield exchange(rows, row, form, lines, count=2 * BLOCK if "noinc" in words else BLOCK, begin=SELF[:2] if generic else [])


POLICY = ["createpolicy.fractional.L2::evict_first.b64 %state, 1.0;"]
INIT_FENCE = ["fence.mbarrier_init.release.cluster;", "fence.proxy.async;"]


def bulk_loads(rows, row, words, form):
    hint = ", %state" if "L2::cache_hint" in words else ""
    multicast = "multicast::cluster" in words
    begin = POLICY + ["mul.wide.u32 %byte, %block, 1024;", "add.u64 %at, %in0, %byte;", "mul.wide.u32 %byte, %thread, 8;"]
    expect = ["@%first mbarrier.arrive.expect_tx.shared.b64 _, [%bar], 1024;"]
    if multicast:  # the first program of the cluster sends a quarter to all... each program sends its own quarter to all
        expect += ["barrier.cluster.arrive.aligned;", "barrier.cluster.wait.aligned;", "mov.u32 %rank, %cluster_ctarank;", "mad.lo.u32 %a, %rank, 256, %data;",
                   ".reg .b16 %all;", "mov.b16 %all, 15;"]
        copy = [f"@%first {form} [%a], [%at], 256, [%bar], %all{hint};"]
        end = ["barrier.cluster.arrive.aligned;", "barrier.cluster.wait.aligned;"]
    else:
        copy, end = [f"@%first {form} [%data], [%at], 1024, [%bar]{hint};"], []
    yield exchange(rows, row, form, begin + INIT_FENCE + expect + copy + BY_PARITY + READ + end, count=1, cluster=multicast, group="bulk copies")


def bulk_stores(rows, row, words, types, form):
    hint = ", %state" if "L2::cache_hint" in words else ""
    reduction = "reduce" in words
    # For reductions there are operands of the type in both places; sums of floats are rounded once.
    dtype = types[0] if types else "b64"
    old, new = (draw((dtype, dtype), ("", ""), 8192)[i] for i in (0, 1))
    stored = {"16": np.uint16, "32": np.uint32, "64": np.uint64}[dtype.lstrip("busf")]
    old, new = (v[:COUNT * 8 // np.dtype(stored).itemsize].astype(stored) for v in (old, new))
    lines = WRITE + ["fence.proxy.async.shared::cta;", "bar.sync 0;", "mul.wide.u32 %byte, %block, 1024;", "add.u64 %at, %out, %byte;"] + POLICY
    lines += [f"@%first {form} [%at], [%data], 1024{hint};", "cp.async.bulk.commit_group;", "cp.async.bulk.wait_group 0;"]
    text = kernel(["in0", "out"], DECLARED, setup(1) + lines)
    args = [Array("in", new), Array("inout", old) if reduction else Array("out", size=8 * COUNT)]
    check = Check(np.dtype(stored).str, dtype, inputs=[old, new], operands=lambda i: f"{int(old[i]):#x}, {int(new[i]):#x}")
    yield Probe("bulk copies", form, text, args, [check], grid=COUNT // BLOCK, block=BLOCK, row=row.number, prefix=SHARED)


def between_programs(rows, row, words, types, form):
    """From one program's shared memory to that of the next in its cluster."""
    size = int(types[0][1:]) if types else 64
    lines = WRITE + ["st.shared.u64 [%mine+1024], %x;", "fence.proxy.async.shared::cta;"] + INIT_FENCE
    lines += ["@%first mbarrier.arrive.expect_tx.shared.b64 _, [%bar], 1024;", "barrier.cluster.arrive.aligned;", "barrier.cluster.wait.aligned;",
              "mov.u32 %rank, %cluster_ctarank;", "add.u32 %rank, %rank, 1;", "and.b32 %rank, %rank, 3;", "mapa.shared::cluster.u32 %a, %data, %rank;",
              "mapa.shared::cluster.u32 %b, %bar, %rank;", "add.u32 %a, %a, 1024;", f"@%first {form} [%a], [%data], 1024, [%b];"]
    lines += BY_PARITY + ["ld.shared.u64 %y, [%other+1024];", "barrier.cluster.arrive.aligned;", "barrier.cluster.wait.aligned;"]
    assert size
    yield exchange(rows, row, form, lines, count=1, cluster=True, group="bulk copies")


def bulk(rows):
    for row in (r for r in rows if r.name == "cp" and any(g == ["bulk"] for _, g in r.groups) and not any(g == ["tensor"] for _, g in r.groups)):
        for words in row.words():
            for types in row.all_types():
                form = row.form(words, types)
                if "mbarrier::complete_tx::bytes" in words and "global" in words:
                    yield from bulk_loads(rows, row, words, form)
                elif "mbarrier::complete_tx::bytes" in words:
                    yield from between_programs(rows, row, words, types, form)
                elif "bulk_group" in words:
                    yield from bulk_stores(rows, row, words, types, form)
                elif "prefetch" in words:
                    hint = ", %state" if "L2::cache_hint" in words else ""
                    lines = POLICY + ["and.b64 %at, %at, -16;", f"@%first {form} [%at], 64{hint};"] + WRITE + ["bar.sync 0;"] + READ
                    yield exchange(rows, row, form, lines, group="bulk copies")
                else:
                    lines = WRITE + ["fence.proxy.async.shared::cta;", "bar.sync 0;", "mul.wide.u32 %byte, %block, 1024;", "add.u64 %g, %out, %byte;",
                                     "mul.wide.u32 %byte, %thread, 8;", "@!%first bra AFTER;", "cp.async.bulk.global.shared::cta.bulk_group [%g], [%data], 1024;",
                                     "cp.async.bulk.commit_group;", f"{form}{' 0' if 'wait_group' in words else ''};", "cp.async.bulk.wait_group 0;", "AFTER:",
                                     "bar.sync 0;", "add.u64 %at, %out, %byte;", "ld.global.u64 %y, [%at];"]
                    yield exchange(rows, row, form, lines, group="bulk copies")


def clusters(rows):
    """Programs of clusters of four read, write and count in each other's shared memory."""
    group = "clusters"
    meet = ["barrier.cluster.arrive.aligned;", "barrier.cluster.wait.aligned;"]
    peer = ["mov.u32 %rank, %cluster_ctarank;", "add.u32 %rank, %rank, 1;", "and.b32 %rank, %rank, 3;"]
    for row in (r for r in rows if r.name == "barrier" and any(g == ["cluster"] for _, g in r.groups)):
        for words in row.words():
            form = row.form(words, ())
            arrive, wait = (form, "barrier.cluster.wait") if "arrive" in words else ("barrier.cluster.arrive", form)
            arrive, wait = (w + (".aligned" if "aligned" in words and "aligned" not in w else "") for w in (arrive, wait))
            begin = ["fence.acq_rel.cluster;"] if "relaxed" in words else []
            lines = WRITE + begin + [f"{arrive};", f"{wait};"] + peer + ["mapa.shared::cluster.u32 %a, %other, %rank;", "ld.shared::cluster.u64 %y, [%a];"] + meet
            yield exchange(rows, row, form, lines, cluster=True, group=group)
    for form in ("mapa.u32", "mapa.u64", "mapa.shared::cluster.u32", "mapa.shared::cluster.u64"):
        if ".u32" in form and "shared" not in form:
            continue
        wide, space = form.endswith("u64"), "shared::cluster" in form
        source = ["cvt.u64.u32 %g, %other;"] + ([] if space else ["cvta.shared.u64 %g, %g;"]) if wide else []
        address = "%remote" if wide else "%a"
        lines = WRITE + meet + peer + source + [f"{form} {address}, {'%g' if wide else '%other'}, %rank;",
                                                f"ld{'.shared::cluster' if space else ''}.u64 %y, [{address}];"]
        asks = form.replace("mapa", "getctarank")
        lines += [f"{asks} %b, {address};", "cvt.u64.u32 %z, %b;"] + meet
        yield exchange(rows, row_of(rows, form), form, lines, cluster=True, group=group)
        yield exchange(rows, row_of(rows, asks), asks, lines, cluster=True, group=group)
    for form in ("isspacep.shared", "isspacep.shared::cta", "isspacep.shared::cluster"):
        lines = WRITE + meet + peer + ["cvt.u64.u32 %g, %other;", "cvta.shared.u64 %g, %g;", "mapa.u64 %remote, %g, %rank;", f"{form} %p, %remote;",
                                       "selp.u64 %y, 1, 0, %p;", f"{form} %p, %g;", "selp.u64 %z, 1, 0, %p;"] + meet
        yield exchange(rows, row_of(rows, form), form, lines, cluster=True, group=group, note=" (of another program)")
    for vector, dtype in ((None, "u64"), (None, "b32"), ("v2", "f32"), ("v2", "b64"), ("v4", "u32")):
        form = ".".join(filter(None, ["st.shared::cluster", vector, dtype]))
        values = {"u64": "%x", "b32": "%b", "f32": "{%b, %b}", "b64": "{%x, %x}", "u32": "{%b, %b, %b, %b}"}[dtype]
        lines = ["mad.lo.u32 %mine, %me, 16, %data;", "st.shared.v2.u64 [%mine], {%y, %z};"] + meet + peer + [
            "cvt.u32.u64 %b, %x;", "mapa.shared::cluster.u32 %a, %mine, %rank;", f"{form} [%a], {values};"] + meet + ["ld.shared.v2.u64 {%y, %z}, [%mine];"]
        yield exchange(rows, row_of(rows, form), form, lines, cluster=True, group=group, note=" (of another program)")
    for operation, dtype in (("add", "u32"), ("max", "s64"), ("or", "b32"), ("min", "u64"), ("inc", "u32"), ("add", "f32")):
        for name in ("atom", "red"):
            form = f"{name}.relaxed.cluster.shared::cluster.{operation}.{dtype}"
            wide = dtype.endswith("64")
            value, old = ("%x", "%z") if wide else ("%b", "%rank")
            # inc wraps at its operand: its total is independent of the order only where all have the same one.
            operand = {"f32": "mov.b32 %b, 0f3f800000;"}.get(dtype, "mov.b32 %b, 5;" if operation == "inc" else "and.b32 %b, %b, 3;")
            # Of 64-bit minima and maxima in another program's memory ptxas 13.0 makes a load, a comparison and a store that
            # others may come between, so each thread has its own address there; it holds that program's word before.
            place = ["mov.b32 %a, %me;", "mov.b64 %y, %x;"] if wide else ["and.b32 %a, %me, 7;"]
            lines = ["cvt.u32.u64 %b, %x;", operand] + place + ["st.shared.u64 [%mine], %y;"] + meet
            lines += ["mov.u32 %rank, %cluster_ctarank;", "xor.b32 %rank, %rank, 2;", "mad.lo.u32 %a, %a, 8, %data;",
                      "mapa.shared::cluster.u32 %a, %a, %rank;", f"{form} {old + ', ' if name == 'atom' else ''}[%a], {value};"] + meet
            lines += ["ld.shared.u64 %y, [%mine];", "mov.b64 %z, 0;"] + meet
            yield exchange(rows, row_of(rows, form), form, lines, cluster=True, group=group, note=" (of another program)")


def remote_stores(rows):
    """st.async and red.async: results that arrive in another program with their mbarrier."""
    meet = ["barrier.cluster.arrive.aligned;", "barrier.cluster.wait.aligned;"]
    for row in (r for r in rows if r.name in ("st", "red") and any(g == ["async"] for _, g in r.groups)):
        for words in row.words():
            for types in row.all_types():
                form = row.form(words, types)
                length = 4 if "v4" in words else 2 if "v2" in words else 1
                bits = int(types[0][1:])
                size = length * bits // 8
                if size > 16:
                    continue
                value = "%x" if bits == 64 else "%b"
                operand = value if length == 1 else "{" + ", ".join([value] * length) + "}"
                lines = ["mad.lo.u32 %mine, %me, 16, %data;", "st.shared.v2.u64 [%mine], {%x, %x};", "cvt.u32.u64 %b, %x;"] + INIT_FENCE
                lines += [f"@%first mbarrier.arrive.expect_tx.shared.b64 _, [%bar], {BLOCK * size};"] + meet
                lines += ["mov.u32 %rank, %cluster_ctarank;", "add.u32 %rank, %rank, 3;", "and.b32 %rank, %rank, 3;", "mapa.shared::cluster.u32 %a, %mine, %rank;",
                          "mapa.shared::cluster.u32 %other, %bar, %rank;", "not.b32 %b, %b;", "not.b64 %x, %x;", f"{form} [%a], {operand}, [%other];"]
                lines += BY_PARITY + ["ld.shared.v2.u64 {%y, %z}, [%mine];"] + meet
                yield exchange(rows, row, form, lines, count=1, cluster=True, group="clusters")


FAMILIES = (mbarriers, fences, asynchronous_arrivals, bulk, clusters, remote_stores)
