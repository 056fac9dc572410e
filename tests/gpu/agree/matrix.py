"""Probes of matrices spread over the threads of a warp: ldmatrix, stmatrix, movmatrix, mma.sync."""
import numpy as np

from operands import BITS, FLOATS, decode, draw
from probe import THREAD, Array, Check, Probe, kernel, thread_number
from table import row_of

WARPS = 128


def rows_of_bytes(count, seed):
    return np.random.default_rng(seed).integers(0, 256, count).astype(np.uint8)


def shared_matrices(rows):
    """Each warp's 512 bytes of shared memory are 32 rows of 16 bytes; a lane's address is that of a random row."""
    rng = np.random.default_rng(4)
    order = np.concatenate([rng.permutation(32) for _ in range(WARPS)]).astype(np.uint64)
    prefix = ".shared .align 16 .b8 NAME_shared[512];\n"
    declared = THREAD + [".reg .b32 %s, %row, %me, %v0, %v1, %v2, %v3;", ".reg .b64 %g;"]
    begin = thread_number() + ["add.u64 %at, %in1, %byte;", "ld.global.u32 %row, [%at];", "mov.u32 %me, %tid.x;", "mov.u32 %s, NAME_shared;",
                               "mad.lo.u32 %row, %row, 16, %s;", "mad.lo.u32 %s, %me, 16, %s;", "mul.wide.u32 %byte, %thread, 16;",
                               "add.u64 %at, %in0, %byte;"]
    for row in (r for r in rows if r.name in ("ldmatrix", "stmatrix")):
        for words in row.words():
            form = row.form(words, ("b16",))
            if ".m8n8" not in form:
                continue
            count = 4 if "x4" in words else 2 if "x2" in words else 1
            registers = "{" + ", ".join(f"%v{i}" for i in range(count)) + "}"
            generic = [] if ".shared" in form else ["cvt.u64.u32 %g, %row;", "cvta.shared.u64 %g, %g;"]
            address = "%row" if ".shared" in form else "%g"
            loads = [f"ld.global.u32 %v{i}, [%at+{4 * i}];" for i in range(4)]
            if row.name == "ldmatrix":
                body = begin + loads + [f"st.shared.u32 [%s+{4 * i}], %v{i};" for i in range(4)] + ["bar.sync 0;"]
                body += [f"mov.b32 %v{i}, 0;" for i in range(4)] + [*generic, f"{form} {registers}, [{address}];"]
            else:
                body = begin + [f"st.shared.u32 [%s+{4 * i}], -1;" for i in range(4)] + ["bar.sync 0;"] + loads
                body += generic + [f"{form} [{address}], {registers};", "bar.sync 0;"] + [f"ld.shared.u32 %v{i}, [%s+{4 * i}];" for i in range(4)]
            body += ["add.u64 %at, %out, %byte;"] + [f"st.global.u32 [%at+{4 * i}], %v{i};" for i in range(4)]
            yield Probe("matrices in shared memory", form, kernel(["in0", "in1", "out"], declared, body),
                        [Array("in", rows_of_bytes(512 * WARPS, 6)), Array("in", order), Array("out", size=512 * WARPS)],
                        [Check("<u4", "u32")], grid=WARPS, block=32, row=row_of(rows, form), prefix=prefix)
    form = "movmatrix.sync.aligned.m8n8.trans.b16"
    body = thread_number() + ["add.u64 %at, %in0, %byte;", "ld.global.u32 %v0, [%at];", f"{form} %v1, %v0;", "add.u64 %at, %out, %byte;",
                              "cvt.u64.u32 %word, %v1;", "st.global.u64 [%at], %word;"]
    yield Probe("matrices in shared memory", form, kernel(["in0", "out"], THREAD + [".reg .b32 %v0, %v1;"], body),
                [Array("in", rows_of_bytes(256 * WARPS, 7)), Array("out", size=256 * WARPS)], [Check()], grid=WARPS, block=32,
                row=row_of(rows, form))


ENCODE = {"f16": lambda x: x.astype(np.float16).view(np.uint16).astype(np.uint64),
          "bf16": lambda x: (x.astype(np.float32).view(np.uint32) + 0x8000 >> 16).astype(np.uint64),
          "tf32": lambda x: (x.astype(np.float32).view(np.uint32) & 0xffffe000).astype(np.uint64),
          "f32": lambda x: x.astype(np.float32).view(np.uint32).astype(np.uint64),
          "f64": lambda x: x.astype(np.float64).view(np.uint64)}


def elements(kind, dtype, count, seed):
    """`count` elements of a kind: "whole" (small integers), "normal", "spread" (many magnitudes), "extreme" (all bits,
    infinities, NaNs)."""
    rng = np.random.default_rng(seed)
    bits = BITS[dtype]
    if dtype not in FLOATS:
        return rng.integers(0, 1 << bits, count, np.uint64) if kind != "whole" else (
            rng.integers(-4, 5, count).astype(np.int64).view(np.uint64) & np.uint64((1 << bits) - 1))
    if dtype in ("e4m3", "e5m2"):
        every = np.arange(256, dtype=np.uint64)
        values = decode(every, dtype)
        if kind == "extreme":
            return rng.integers(0, 256, count, np.uint64)
        wanted = {"whole": (values == np.round(values)) & (np.abs(values) <= 4), "normal": np.abs(values) <= 4,
                  "spread": np.isfinite(values)}[kind]
        return rng.choice(every[wanted & ~np.isnan(values)], count)
    if kind == "extreme":
        return draw((dtype, dtype), ("", ""), 8192)[seed % 2][np.arange(count) % 8192]
    numbers = {"whole": lambda: rng.integers(-8, 9, count), "normal": lambda: rng.normal(size=count),
               "spread": lambda: rng.normal(size=count) * 2.0 ** rng.integers(-12, 13, count)}[kind]()
    return ENCODE[dtype](numbers.astype(np.float64))


def packed(values, dtype):
    """Elements into registers of 32 (or 64) bits, low ones first."""
    bits = 32 if dtype == "tf32" else BITS[dtype]
    if bits >= 32:
        return values.astype(np.uint64 if bits == 64 else np.uint32)
    per = 32 // bits
    parts = values.reshape(-1, per)
    return sum(parts[:, i] << np.uint64(bits * i) for i in range(per)).astype(np.uint32)


def magnitudes(a, b, c, types, k):
    """For each warp the largest that a term of its sums can be, times the error that k aligned and truncated terms
    may have: PTX leaves order and precision of the sum open; tensor cores keep 24 bits below the largest term or more."""
    with np.errstate(all="ignore"):
        largest = [np.abs(np.nan_to_num(decode(v, t), nan=0, posinf=0, neginf=0)).reshape(WARPS, -1).max(axis=1)
                   for v, t in zip((a, b, c), types)]
        return (largest[0] * largest[1] + largest[2]) * (k + 2) * 2.0 ** -22


def mma_probe(rows, row, form, types, shape, kind):
    m, n, k = (int(x) for x in shape[1:].replace("n", " ").replace("k", " ").split())
    td, ta, tb, tc = types
    counts = [m * k, n * k, m * n]
    seed = sum(map(ord, form + kind))
    values = [elements(kind, t, count * WARPS, seed + i) for i, (t, count) in enumerate(zip((ta, tb, tc), counts))]
    regs = [packed(v, t) for v, t in zip(values, (ta, tb, tc))]
    width = {t: 64 if t == "f64" else 32 for t in types}
    per_lane = [len(r) // (32 * WARPS) for r in regs]
    size_d = m * n // 32 * BITS[td] // 8
    declared, body = list(THREAD), thread_number()
    for name, t, count in zip("abc", (ta, tb, tc), per_lane):
        declared.append(f".reg .b{width[t]} {', '.join(f'%{name}{i}' for i in range(count))};")
        step = width[t] // 8
        body += [f"mul.wide.u32 %byte, %thread, {step * count};", f"add.u64 %at, %{name}, %byte;"]
        body += [f"ld.global.b{width[t]} %{name}{i}, [%at+{step * i}];" for i in range(count)]
    d_count = size_d * 8 // width[td]
    declared.append(f".reg .b{width[td]} {', '.join(f'%d{i}' for i in range(d_count))};")
    vector = lambda name, count: "{" + ", ".join(f"%{name}{i}" for i in range(count)) + "}"
    body += [f"{form} {vector('d', d_count)}, {vector('a', per_lane[0])}, {vector('b', per_lane[1])}, {vector('c', per_lane[2])};",
             f"mul.wide.u32 %byte, %thread, {size_d};", "add.u64 %at, %out, %byte;"]
    body += [f"st.global.b{width[td]} [%at+{width[td] // 8 * i}], %d{i};" for i in range(d_count)]
    stored = {"f16": "<u2", "f32": "<u4", "s32": "<u4", "f64": "<u8"}[td]
    inexact = td in ("f16", "f32") and kind != "whole"
    inputs = [np.repeat(magnitudes(*values, (ta, tb, tc), k), m * n)] if inexact else ()
    check = Check(stored, td, "sum" if inexact else "exact", inputs=inputs, operands=lambda i: f"warp {i // (m * n)}")
    probe = Probe("tensor cores", f"{form} ({kind})", kernel(["a", "b", "c", "out"], declared, body),
                  [Array("in", r) for r in regs] + [Array("out", size=size_d * 32 * WARPS)], [check], grid=WARPS, block=32, row=row.number)
    probe.matrices = True
    return probe


def products(rows):
    for row in (r for r in rows if r.name == "mma"):
        for words in row.words():
            for types in row.all_types():
                shape = next(w for w in words if w and w[0] == "m" and w[1].isdigit())
                for kind in ("whole", "normal", "spread", "extreme"):
                    try:
                        yield mma_probe(rows, row, row.form(words, types), types, shape, kind)
                    except (KeyError, ValueError):  # a type or shape that registers do not hold: ptxas has no such form either
                        continue


FAMILIES = (shared_matrices, products)
