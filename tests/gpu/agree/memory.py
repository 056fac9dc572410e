"""Probes of loads, stores, atomics, asynchronous copies and addresses, in every space."""
import itertools

import numpy as np

from operands import BITS, PAIRS, FLOATS, draw
from probe import THREAD, Array, Check, Probe, kernel, thread_number
from table import row_of

COUNT, BLOCK = 1024, 128
SLOT = 32  # bytes of memory for each thread
LENGTH = {None: 1, "v2": 2, "v4": 4, "v8": 8}
SPACES = ("global", "shared", "shared::cta", "shared::cluster", "local", "const", "param", "param::entry", "param::func")
POLICY = "createpolicy.fractional.L2::evict_last.b64 %policy, 1.0;"


def contents(seed=3):
    return np.random.default_rng(seed).integers(0, 256, COUNT * SLOT).astype(np.uint8)


TABLE = np.random.default_rng(5).integers(0, 256, SLOT * 32).astype(np.uint8)
CONSTANT = f".const .align 32 .b8 NAME_table[{len(TABLE)}] = {{{', '.join(map(str, TABLE))}}};\n"
SHARED = f".shared .align 32 .b8 NAME_shared[{BLOCK * SLOT}];\n"
DECLARATIONS = THREAD + [".reg .b64 %mine, %global, %policy, %w0, %w1, %w2, %w3;", ".reg .b32 %me, %s, %lane;", ".reg .pred %p;"]


def place(space, stage):
    """Code that makes %mine (or %s) the address of the thread's slot in a space, and the operand text. With `stage`
    the slot is filled from global memory."""
    lines = ["mov.u32 %me, %tid.x;", "mov.u32 %lane, %laneid;", "mul.wide.u32 %byte, %thread, 32;", "add.u64 %global, %in0, %byte;"]
    if space in (None, "global"):
        return lines + ["mov.b64 %mine, %global;"], "%mine"
    if space == "const":
        return lines + ["shl.b32 %s, %lane, 5;", "cvt.u64.u32 %mine, %s;", "mov.u64 %at, NAME_table;", "add.u64 %mine, %at, %mine;"], "%mine"
    if space == "local":
        lines += ["mov.u64 %mine, slots;", "add.u64 %mine, %mine, 32;"]
        address, word = "%mine", "local"
    else:
        lines += ["mov.u32 %s, NAME_shared;", "mad.lo.u32 %s, %me, 32, %s;"]
        address, word = "%s", "shared"
    if stage:
        for i in range(4):
            lines += [f"ld.global.b64 %word, [%global+{8 * i}];", f"st.{word}.b64 [{address}+{8 * i}], %word;"]
    return lines, address


def register_bits(dtype):
    return BITS[dtype] if dtype in FLOATS or dtype in PAIRS or BITS[dtype] == 128 else 64


def text_of(registers):
    return registers[0] if len(registers) == 1 else "{" + ", ".join(registers) + "}"


def pieces(dtype, length):
    return max(length, BITS[dtype] * length // 64) if BITS[dtype] == 128 else length


def load_probe(rows, form, dtype, space, length, hint):
    bits = register_bits(dtype)
    registers = [f"%v{i}" for i in range(length)]
    declared = DECLARATIONS + [f".reg .b{bits} {', '.join(registers)};"] + ([".local .align 32 .b8 slots[64];"] if space == "local" else [])
    lines, address = place(space, True)
    body = thread_number() + lines + ([POLICY] if hint else [])
    body += [f"{form} {text_of(registers)}, [{address}]{', %policy' if hint else ''};"]
    words = 2 * length if bits == 128 else length
    body += [f"mul.wide.u32 %byte, %thread, {8 * words};", "add.u64 %at, %out, %byte;"]
    for i, register in enumerate(registers):
        if bits == 128:
            body += [f"mov.b128 {{%w0, %w1}}, {register};", f"st.global.b64 [%at+{16 * i}], %w0;", f"st.global.b64 [%at+{16 * i + 8}], %w1;"]
        else:
            body += [f"mov.b64 %word, {register};" if bits == 64 else f"cvt.u64.u{bits} %word, {register};", f"st.global.b64 [%at+{8 * i}], %word;"]
    prefix = CONSTANT if space == "const" else SHARED if space and space.startswith("shared") else ""
    return Probe("loads and stores", form, kernel(["in0", "out"], declared, body),
                 [Array("in", contents()), Array("out", size=8 * words * COUNT)], [Check()], grid=COUNT // BLOCK, block=BLOCK,
                 row=row_of(rows, form), prefix=prefix)


def store_probe(rows, form, dtype, space, length, hint):
    """The slot is filled with other bytes, a part of it stored over, and all of it written out."""
    bits = register_bits(dtype)
    registers = [f"%v{i}" for i in range(length)]
    declared = DECLARATIONS + [f".reg .b{bits} {', '.join(registers)};"] + ([".local .align 32 .b8 slots[64];"] if space == "local" else [])
    lines, address = place(space, True)
    if space in (None, "global"):
        lines = lines[:3] + ["add.u64 %mine, %out, %byte;", "add.u64 %global, %in0, %byte;"]
    body = thread_number() + lines + ([POLICY] if hint else [])
    for i, register in enumerate(registers):
        body.append(f"ld.global.b64 %word, [%global+{8 * (i % 4)}];")
        body.append(f"xor.b64 %word, %word, {0x5a5a + i};")
        body.append(f"mov.b128 {register}, {{%word, %word}};" if bits == 128 else f"mov.b64 {register}, %word;" if bits == 64 else
                    f"cvt.u{bits}.u64 {register}, %word;")
    body += [f"{form} [{address}], {text_of(registers)}{', %policy' if hint else ''};"]
    if space not in (None, "global"):
        body += ["add.u64 %at, %out, %byte;"]
        word = "local" if space == "local" else "shared"
        for i in range(4):
            body += [f"ld.{word}.b64 %word, [{address}+{8 * i}];", f"st.global.b64 [%at+{8 * i}], %word;"]
    prefix = SHARED if space and space.startswith("shared") else ""
    return Probe("loads and stores", form, kernel(["in0", "out"], declared, body),
                 [Array("in", contents()), Array("out", size=SLOT * COUNT)], [Check()], grid=COUNT // BLOCK, block=BLOCK,
                 row=row_of(rows, form), prefix=prefix)


def is_async(row):
    return any("async" in words for _, words in row.groups)


def accesses(rows):
    """Every type, vector and space without other modifiers; every pair of modifiers with 32 bits."""
    for row in (r for r in rows if r.name in ("ld", "ldu", "st") and not is_async(r)):
        make = store_probe if row.name == "st" else load_probe
        hint = "u64" in row.operands
        choices = [(words, types) for words in row.pairs_of_words() for types in (("u32",), ("b64",))]
        plain = row.pairs_of_words()[0]
        for space, vector in itertools.product((None,) + SPACES, LENGTH):
            words = [space if w is None and space in g else vector if w is None and vector in g else w for w, (_, g) in zip(plain, row.groups)]
            choices += [(tuple(words), types) for types in row.all_types()]
        for words, types in dict.fromkeys(choices):
            space = next((w for w in words if w in SPACES), None)
            vector = next((w for w in words if w in LENGTH and w), None)
            if space and space.startswith("param") or (row.name == "st" and space == "const"):
                continue
            # .v8 is of 32-bit types; ptxas 13.0 takes it with narrower ones too, but moves the first elements only.
            if BITS[types[0]] * LENGTH[vector] <= 8 * SLOT and (vector != "v8" or BITS[types[0]] == 32):
                yield make(rows, row.form(words, types), types[0], space, LENGTH[vector], hint)


def parameters(rows):
    """Parameters by value, from constant and variable offsets."""
    for dtype, vector in itertools.product(("u8", "s8", "u16", "s16", "b32", "f32", "b64", "f64", "f16"), (None, "v2", "v4")):
        if dtype == "f16" and not vector or BITS[dtype] * LENGTH[vector] > 128:
            continue
        for space in ("param", "param::entry"):
            form = ".".join(filter(None, ["ld", space, vector, "b16" if dtype == "f16" else dtype]))
            bits = register_bits("b64" if dtype == "b32" else dtype)
            bits = 64 if dtype == "b32" else 16 if dtype == "f16" else bits
            registers = [f"%v{i}" for i in range(LENGTH[vector])]
            body = thread_number() + [f"{form} {text_of(registers)}, [NAME_big+16];",
                                      f"mul.wide.u32 %byte, %thread, {8 * LENGTH[vector]};", "add.u64 %at, %out, %byte;"]
            for i, r in enumerate(registers):
                body += [f"mov.b64 %word, {r};" if bits == 64 else f"cvt.u64.u{bits} %word, {r};", f"st.global.b64 [%at+{8 * i}], %word;"]
            text = kernel(["out"], THREAD + [f".reg .b{bits} {', '.join(registers)};"], body)
            text = text.replace("(.param .u64 NAME_out)", "(.param .u64 NAME_out, .param .align 16 .b8 NAME_big[64])")
            from probe import Struct
            yield Probe("loads and stores", form, text, [Array("out", size=8 * LENGTH[vector] * 32), Struct(bytes(range(130, 194)))], [Check()],
                        grid=1, block=32, row=row_of(rows, form))


def atomic_columns(dtype, length):
    """Columns of what is in memory and of two operands; of b128 each element is two words."""
    words = 2 * length if dtype == "b128" else length
    drawn = draw(("b64" if dtype == "b128" else dtype,) * 3, ("",) * 3, 8192)
    old, b, c = (v[:COUNT * words].copy() for v in drawn)
    same = np.arange(len(old)) // words % 3 == 0
    b[same] = old[same]  # cas that succeeds, inc and dec at their limit
    return old, b, c


STORED = {8: np.uint8, 16: np.uint16, 32: np.uint32, 64: np.uint64, 128: np.uint64}


def atomic_probe(rows, form, dtype, space, operation, length, hint, returns):
    """Each thread its own address; the old value and what is there afterwards are compared."""
    bits = BITS[dtype]
    size = bits // 8 * length
    old, b, c = (v.astype(STORED[bits]) for v in atomic_columns(dtype, length))
    shared = space and space.startswith("shared")
    sources = ["b"] + (["c"] if operation == "cas" else [])
    names = {"d": [f"%d{i}" for i in range(length)], "b": [f"%b{i}" for i in range(length)], "c": [f"%c{i}" for i in range(length)]}
    declared = THREAD + [f".reg .b{bits} {', '.join(n)};" for n in names.values()] + [f".reg .b{bits} %old;", ".reg .b32 %s, %me;", ".reg .b64 %mine, %policy;"]
    body = thread_number() + [f"mul.wide.u32 %byte, %thread, {size};", "mov.u32 %me, %tid.x;"] + ([POLICY] if hint else [])
    for name in sources:
        body += [f"add.u64 %at, %{name}, %byte;"] + [f"ld.global.b{bits} {r}, [%at+{i * bits // 8}];" for i, r in enumerate(names[name])]
    body += ["add.u64 %mine, %memory, %byte;"]
    address = "%mine"
    if shared:
        body += ["mov.u32 %s, NAME_shared;", f"mad.lo.u32 %s, %me, {size}, %s;", f"ld.global.b{bits} %old, [%mine];", f"st.shared.b{bits} [%s], %old;"]
        address = "%s"
    operands = ([text_of(names["d"])] if returns else []) + [f"[{address}]"] + [text_of(names[n]) for n in sources] + (["%policy"] if hint else [])
    body += [f"{form} {', '.join(operands)};"]
    if shared:
        body += [f"ld.shared.b{bits} %old, [%s];", f"st.global.b{bits} [%mine], %old;"]
    if returns:
        body += ["add.u64 %at, %out, %byte;"] + [f"st.global.b{bits} [%at+{i * bits // 8}], {r};" for i, r in enumerate(names["d"])]
    params = ["memory"] + sources + (["out"] if returns else [])
    columns = [old, b, c][:1 + len(sources)]
    args = [Array("inout", old)] + [Array("in", x) for x in columns[1:]] + ([Array("out", size=size * COUNT)] if returns else [])
    check = Check(STORED[bits]().dtype.str, dtype, operands=lambda i: ", ".join(f"{int(x[i]):#x}" for x in columns), inputs=columns)
    return Probe("atomics", form, kernel(params, declared, body), args, [check] * (2 if returns else 1), grid=COUNT // BLOCK, block=BLOCK,
                 row=row_of(rows, form), prefix=SHARED if shared else "")


def atomics(rows):
    operations = {"and", "or", "xor", "add", "inc", "dec", "min", "max", "exch", "cas"}
    for row in (r for r in rows if r.name in ("atom", "red") and not is_async(r)):
        hint = "u64" in row.operands
        samples = {"semantics": "relaxed", "scope": "gpu", "space": "global", "noftz": "noftz", "vector": "v2"}
        where = {i: "operation" if operations.issuperset(words) else next((n for n, sample in samples.items() if sample in words), "")
                 for i, (_, words) in enumerate(row.groups)}
        choices = []

        def choose(**given):
            return tuple(given.get(where.get(i, ""), words[0] if required else None) for i, (required, words) in enumerate(row.groups))

        words_of = {name: row.groups[i][1] for i, name in where.items()}
        for operation, space, noftz, vector in itertools.product(words_of["operation"], [None] + words_of["space"], (None, "noftz"),
                                                                 words_of.get("vector", [None])):
            if noftz and "noftz" not in words_of:
                continue
            choices += [(choose(operation=operation, space=space, noftz=noftz, vector=vector), t) for t in row.all_types()]
        operation = "add" if "add" in words_of["operation"] else words_of["operation"][0]
        for semantics, scope, space in itertools.product([None] + words_of["semantics"], [None] + words_of["scope"], [None] + words_of["space"]):
            vector = words_of.get("vector", [None])[0]
            choices += [(choose(operation=operation, semantics=semantics, scope=scope, space=space, vector=vector), (t,))
                        for t in ("u32", "f32", "b128") if t in row.types[0]]
        for words, types in dict.fromkeys(choices):
            space = next((w for w in words if w in SPACES), None)
            vector = next((w for w in words if w in LENGTH and w), None)
            operation = next(w for w in words if w in operations)
            if BITS[types[0]] * LENGTH[vector] <= 128:
                yield atomic_probe(rows, row.form(words, types), types[0], space, operation, LENGTH[vector], hint, row.name == "atom")


def contended(rows):
    """Many threads on few addresses: totals of operations whose order does not matter."""
    numbers = np.random.default_rng(8).integers(0, 1 << 32, 4096, np.uint64)
    for name, space, (operation, dtype) in itertools.product(("atom", "red"), ("global", "shared"), (
            ("add", "u32"), ("add", "u64"), ("add", "s32"), ("min", "s32"), ("max", "s64"), ("min", "u64"), ("and", "b32"), ("or", "b64"),
            ("xor", "b32"), ("inc", "u32"), ("add", "f32"), ("add", "f64"), ("add", "noftz.f16x2"), ("max", "noftz.f16x2"), ("add", "noftz.bf16"))):
        element = dtype.split(".")[-1]
        bits = BITS[element]
        if element in FLOATS or element in PAIRS:  # small whole numbers: sums are exact in any order
            # 512 of them meet in one place: bf16 holds whole numbers to 256.
            whole = (numbers % np.uint64(3) == 0 if element == "bf16" else numbers % np.uint64(3)).astype(np.float32)
            column = {"f32": whole, "f64": whole.astype(np.float64), "bf16": (whole.view(np.uint32) >> 16).astype(np.uint16),
                      "f16x2": np.repeat(whole.astype(np.float16), 2)}[element]
        else:
            column = (numbers * np.uint64(0x9e3779b97f4a7c15) >> np.uint64(64 - bits)).astype(STORED[bits])
            if operation == "inc":
                column = np.full(4096, 1000, np.uint32)
        form = f"{name}.{space}.{operation}.{dtype}"
        declared = THREAD + [f".reg .b{bits} %v, %d;", ".reg .b32 %s, %me;", ".reg .b64 %mine;", ".reg .pred %p;"]
        body = thread_number() + [f"mul.wide.u32 %byte, %thread, {bits // 8};", "add.u64 %at, %in0, %byte;", f"ld.global.b{bits} %v, [%at];",
                                  "mov.u32 %me, %tid.x;", "and.b32 %threads, %me, 7;", f"mul.wide.u32 %byte, %threads, {bits // 8};"]
        old = "%d, " if name == "atom" else ""
        if space == "global":
            body += ["add.u64 %mine, %memory, %byte;", f"{form} {old}[%mine], %v;"]
        else:
            body += ["mov.u32 %s, NAME_shared;", f"mad.lo.u32 %s, %threads, {bits // 8}, %s;", "setp.lt.u32 %p, %me, 8;",
                     "mad.lo.u32 %block, %block, 8, %threads;", f"mul.wide.u32 %byte, %block, {bits // 8};", "add.u64 %mine, %memory, %byte;",
                     f"@%p ld.global.b{bits} %d, [%mine];", f"@%p st.shared.b{bits} [%s], %d;", "bar.sync 0;", f"{form} {old}[%s], %v;",
                     "bar.sync 0;", f"@%p ld.shared.b{bits} %d, [%s];", f"@%p st.global.b{bits} [%mine], %d;"]
        memory = np.zeros(8 * 32, STORED[bits])
        yield Probe("atomics", form + " (contended)", kernel(["in0", "memory"], declared, body), [Array("in", column), Array("inout", memory)],
                    [Check(memory.dtype.str, element)], grid=4096 // BLOCK, block=BLOCK, row=row_of(rows, form), prefix=SHARED)


def copies(rows):
    """cp.async with every size and number of source bytes; waits of every kind."""
    fill = [f"st.shared.b64 [%s+{8 * i}], -1;" for i in range(4)]
    out = ["bar.sync 0;", "mad.lo.u32 %s, %me, 32, %base;", "add.u64 %at, %out, %byte;"]
    for i in range(4):
        out += [f"ld.shared.b64 %word, [%s+{8 * i}];", f"st.global.b64 [%at+{8 * i}], %word;"]
    start = thread_number() + ["mov.u32 %me, %tid.x;", "mov.u32 %base, NAME_shared;", "mad.lo.u32 %s, %me, 32, %base;",
                               "mul.wide.u32 %byte, %thread, 32;", "add.u64 %global, %in0, %byte;", "rem.u32 %lane, %thread, 17;"]
    declared = DECLARATIONS + [".reg .b32 %base, %n;"]
    waits = (("commit_group", ["cp.async.commit_group;", "cp.async.wait_group 0;"]), ("wait_all", ["cp.async.wait_all;"]))
    for row in (r for r in rows if r.name == "cp" and ("m" in r.operands) and r.groups[0][1] == ["async"] and r.groups[1][1] == ["ca", "cg"]):
        hint = "u64" in row.operands
        for words in row.words():
            form = row.form(words, ())
            for size, partial in itertools.product((4, 8, 16), (False, True)):
                bytes_ = [f"min.u32 %n, %lane, {size};"] if partial else []
                extra = (", %n" if partial else "") + (", %policy" if hint else "")
                lines = start + fill + ([POLICY] if hint else []) + bytes_ + [f"{form} [%s], [%global], {size}{extra};"] + waits[0][1] + out
                yield Probe("asynchronous copies", f"{form} {size}{' of fewer' if partial else ''}", kernel(["in0", "out"], declared, lines),
                            [Array("in", contents()), Array("out", size=SLOT * COUNT)], [Check()], grid=COUNT // BLOCK, block=BLOCK,
                            row=row_of(rows, form), prefix=SHARED)
    copy = ["cp.async.ca.shared.global [%s], [%global], 16;"]
    second = ["cp.async.ca.shared.global [%s+16], [%global+16], 8;"]
    for form, lines in (("cp.async.wait_all", copy + second + ["cp.async.wait_all;"]),
                        ("cp.async.commit_group", copy + ["cp.async.commit_group;"] + second + ["cp.async.commit_group;", "cp.async.wait_group 0;"]),
                        ("cp.async.wait_group", copy + ["cp.async.commit_group;", "cp.async.wait_group 0;"])):
        yield Probe("asynchronous copies", form, kernel(["in0", "out"], declared, start + fill + lines + out),
                    [Array("in", contents()), Array("out", size=SLOT * COUNT)], [Check()], grid=COUNT // BLOCK, block=BLOCK,
                    row=row_of(rows, form), prefix=SHARED)
    for form in ("prefetch.global.L1", "prefetch.global.L2", "prefetch.L1", "prefetch.L2", "prefetch.global.L2::evict_last",
                 "prefetch.global.L2::evict_normal", "prefetchu.L1"):
        yield Probe("asynchronous copies", form, kernel(["in0", "out"], declared, start + fill + [f"{form} [%global];"] + copy + waits[1][1] + out),
                    [Array("in", contents()), Array("out", size=SLOT * COUNT)], [Check()], grid=COUNT // BLOCK, block=BLOCK,
                    row=row_of(rows, form), prefix=SHARED)
    for level in ("evict_last", "evict_normal", "evict_first", "evict_unchanged"):
        for fraction in ("", ", 0.5"):
            form = f"createpolicy.fractional.L2::{level}.b64"
            lines = [f"{form} %policy{fraction};", "ld.global.L2::cache_hint.b64 %word, [%global], %policy;", "st.shared.b64 [%s], %word;"]
            yield Probe("asynchronous copies", form + fraction, kernel(["in0", "out"], declared, start + fill + lines + out),
                        [Array("in", contents()), Array("out", size=SLOT * COUNT)], [Check()], grid=COUNT // BLOCK, block=BLOCK,
                        row=row_of(rows, form), prefix=SHARED)


def addresses(rows):
    """cvta there and back, isspacep of generic addresses of every space."""
    spaces = ("global", "shared", "shared::cta", "shared::cluster", "local", "const", "param", "param::entry")
    base = {"global": "mov.b64 %a, %in0;", "local": "mov.u64 %a, slots;", "const": "mov.u64 %a, NAME_table;", "param": "mov.u64 %a, NAME_in0;"}
    declared = THREAD + [".reg .b64 %a, %g, %b, %z;", ".reg .b32 %n;", ".reg .pred %p;", ".local .align 32 .b8 slots[64];"]
    for space in spaces:
        kind = space.split("::")[0]
        code = [base.get(kind, "mov.u64 %a, NAME_shared;")]
        direct = kind if kind != "shared" else "shared"
        to, back = f"cvta.{space}.u64", f"cvta.to.{space}.u64"
        body = thread_number() + code + [f"{to} %g, %a;", f"{back} %b, %g;", "sub.u64 %z, %b, %a;"]
        if kind in ("local", "shared"):
            body[len(thread_number()) + 1:len(thread_number()) + 1] = ["add.u64 %a, %a, %byte;"] if kind == "shared" else []
            body += [f"st.{direct}.u32 [%a+4], %thread;", "bar.warp.sync 0xffffffff;", "ld.u32 %n, [%g+4];"]
        else:
            body += ["ld.u32 %n, [%g];"]
            if kind == "param":
                body += ["mov.u32 %n, 1;"]
        body += ["add.u64 %at, %out, %byte;", "cvt.u64.u32 %word, %n;", "shl.b64 %z, %z, 32;", "or.b64 %word, %word, %z;", "st.global.u64 [%at], %word;"]
        for form in (to, back):
            yield Probe("addresses", form, kernel(["in0", "out"], declared, body),
                        [Array("in", contents()), Array("out", size=8 * 32)], [Check()], block=32, row=row_of(rows, form),
                        prefix=CONSTANT + SHARED)
    for asked in spaces:
        form = f"isspacep.{asked}"
        body = thread_number() + ["mov.b64 %z, 0;"]
        for shift, space in enumerate(("global", "shared", "local", "const", "param")):
            body += [base.get(space, "mov.u64 %a, NAME_shared;"), f"cvta.{space}.u64 %g, %a;", f"{form} %p, %g;", "selp.u64 %b, 1, 0, %p;",
                     f"shl.b64 %b, %b, {shift};", "or.b64 %z, %z, %b;"]
        body += ["add.u64 %at, %out, %byte;", "st.global.u64 [%at], %z;"]
        yield Probe("addresses", form, kernel(["in0", "out"], declared, body), [Array("in", contents()), Array("out", size=8 * 32)],
                    [Check(operands=lambda i: "bits: global, shared, local, const, param")], block=32, row=row_of(rows, form), prefix=CONSTANT + SHARED)


def moves(rows):
    """mov of every type; packing and unpacking."""
    column = draw(("b64",), ("",), 16384)[0][:4096]
    simple = [t for row in rows if row.name == "mov" for t in row.types[0]]
    cases = []
    for dtype in simple:
        bits = BITS[dtype]
        if bits not in (1, 128):
            cases.append((f"mov.{dtype}", "", [f".reg .b{bits} %n, %m;"], [f"cvt.u{bits}.u64 %n, %x;" if bits != 64 else "mov.b64 %n, %x;",
                                                                         f"mov.{dtype} %m, %n;", f"cvt.u64.u{bits} %y, %m;" if bits != 64 else "mov.b64 %y, %m;"]))
    cases.append(("mov.pred", "", [".reg .pred %n, %m;"], ["setp.gt.s64 %n, %x, 0;", "mov.pred %m, %n;", "selp.u64 %y, 1, 0, %m;"]))
    halves, words = ".reg .b16 %h0, %h1, %h2, %h3;", ".reg .b32 %r0, %r1;"
    cases += [("mov.b32", " from halves", [halves, words], ["mov.b64 {%r0, %r1}, %x;", "mov.b32 {%h0, %h1}, %r0;", "mov.b32 %r1, {%h1, %h0};", "cvt.u64.u32 %y, %r1;"]),
              ("mov.b64", " from words", [words], ["mov.b64 {%r0, %r1}, %x;", "mov.b64 %y, {%r1, %r0};"]),
              ("mov.b64", " from halves", [halves], ["mov.b64 {%h0, %h1, %h2, %h3}, %x;", "mov.b64 %y, {%h3, %h1, %h0, %h2};"]),
              ("mov.b64", " to a part", [words], ["mov.b64 {_, %r1}, %x;", "cvt.u64.u32 %y, %r1;"]),
              ("mov.b16", " from bytes", [".reg .b16 %h0; .reg .b8 %q0, %q1;"], ["cvt.u16.u64 %h0, %x;", "mov.b16 {%q0, %q1}, %h0;", "mov.b16 %h0, {%q1, %q0};", "cvt.u64.u16 %y, %h0;"]),
              ("mov.b32", " from bytes", [words, ".reg .b8 %q0, %q1, %q2, %q3;"], ["cvt.u32.u64 %r0, %x;", "mov.b32 {%q0, %q1, %q2, %q3}, %r0;",
                                                                                "mov.b32 %r1, {%q3, %q0, %q2, %q1};", "cvt.u64.u32 %y, %r1;"]),
              ("mov.b128", "", [".reg .b128 %o, %oo; .reg .b64 %t;"], ["not.b64 %t, %x;", "mov.b128 %o, {%x, %t};", "mov.b128 %oo, %o;", "mov.b128 {%t, %y}, %oo;"])]
    for form, note, declared, lines in cases:
        body = thread_number() + ["add.u64 %at, %in0, %byte;", "ld.global.b64 %x, [%at];"] + lines + ["add.u64 %at, %out, %byte;", "st.global.b64 [%at], %y;"]
        yield Probe("moves", form + note, kernel(["in0", "out"], THREAD + [".reg .b64 %x, %y;"] + declared, body),
                    [Array("in", column), Array("out", size=8 * 4096)], [Check(inputs=[column], operands=lambda i: f"{int(column[i]):#x}")],
                    grid=4096 // BLOCK, block=BLOCK, row=row_of(rows, form))


FAMILIES = (accesses, parameters, atomics, contended, copies, addresses, moves)
