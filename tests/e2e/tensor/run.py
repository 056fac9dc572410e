#!/usr/bin/env python3
"""Products on tensor cores against float64, on the interpreter or the simulator.

    run.py --tilec build/release/src/cli/tilec [--device sim] [--target sm_80] [--filter TEXT]
    run.py --tilec ... --part                        a part of the cases with every form of the instructions of all
    run.py --tilec ... --target sm_89 --unlike sm_80 the cases whose PTX is not that for the other target
    run.py --tilec ... --compile --target sm_90a     ptxas takes every case, nothing spills or is serialised

On the simulator also: no finding, and no more shared-memory wavefronts than the words moved need, except in the
cases that say how many more; and where lines of memory are whole sectors, no more sectors than the bytes fill."""
import argparse
import json
import os
import re
import subprocess
import sys
import tempfile

import numpy as np

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "kernels"))
from cases import from_bf16_bits, to_bf16_bits  # noqa: E402
from check import slowed  # noqa: E402

INPUTS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "Inputs")
NUMPY = {"fp16": np.float16, "fp32": np.float32, "fp64": np.float64, "i8": np.int8, "i32": np.int32}
# Relative to the largest element of the result; products of the narrow types are exact, sums in fp32, those of
# fp8 on sm_89 and up with about half of its fraction.
BOUND = {"fp16": 2e-6, "bf16": 2e-6, "fp32": 2e-3, "fp64": 1e-13, "i8": 0, "fp8e4nv": 1e-3, "fp8e5": 1e-3}


# Under sanitizers, where all would take several minutes. A run of all on the simulator checks that no form is missing.
PART = {
    "matmul-fp32-64x128x96-64x64x32-tt-0-tf32", "matmul-bf16-17x33x65-16x16x16-nn-1-tf32",
    "matmul-fp8e5-64x128x96-64x64x32-nn-0-tf32",
    "matmul-fp32-70x90x50-64x64x16-nt-1-tf32", "matmul-fp8e4nv-80x72x96-64x64x32-nt-0-tf32 --num-stages 1",
    "matmul-fp8e5-128x96x160-128x32x64-nt-0-tf32", "one-fp16-fp16-fp32-1x16x16-tf32", "one-fp16-fp16-fp32-8x8x16-tf32",
    "one-fp16-fp16-fp16-32x32x32-tf32", "one-fp64-fp64-fp64-16x32x16-tf32", "one-i8-i8-i32-32x64x64-tf32",
    "one-fp8e4nv-fp8e4nv-fp32-32x32x64-tf32", "one-fp8e4nv-fp8e5-fp32-32x32x64-tf32",
    "one-fp8e5-fp8e4nv-fp32-32x32x64-tf32", "one-fp8e5-fp8e5-fp32-32x32x64-tf32", "turned-fp8e4nv-128x64x64",
    "turned-i8-64x16x32", "beside-i8-64x16+16x32-32-t --num-warps 4", "batched-fp32-8x16x16x16",
    "attention-fp16-64-128x32x16 --num-warps 4",
    "attention-bf16-96-128x32x32", "tiles-in_for-160x208x80-64x64x32-2",
}
FORM = re.compile(r"(?:@!?%\w+\s+)?((?:mma|wgmma|ldmatrix|stmatrix|cp|mbarrier|fence)\.\S+?);?(?:\s|$)")


def fp8_table(exponent_bits, mantissa_bits, bias, finite):
    values = []
    for code in range(256):
        exponent, mantissa = code >> mantissa_bits & (1 << exponent_bits) - 1, code & (1 << mantissa_bits) - 1
        scale = 2.0 ** (max(exponent, 1) - bias - mantissa_bits)
        value = (mantissa + (exponent > 0) * (1 << mantissa_bits)) * scale
        special = exponent == (1 << exponent_bits) - 1 and (mantissa == (1 << mantissa_bits) - 1 if finite else True)
        values.append(np.nan if special else -value if code >> 7 else value)
    return np.array(values)


FP8 = {"fp8e4nv": fp8_table(4, 3, 7, True), "fp8e5": fp8_table(5, 2, 15, False)}


def random(rng, shape, dtype):
    """What the file holds, and its values as float64."""
    if dtype == "i8":
        bits = rng.integers(-128, 128, shape).astype(np.int8)
        return bits, bits.astype(np.float64)
    if dtype in FP8:
        codes = np.flatnonzero(np.abs(FP8[dtype]) <= 8).astype(np.uint8)
        bits = rng.choice(codes, shape)
        return bits, FP8[dtype][bits]
    if dtype == "bf16":
        bits = to_bf16_bits(rng.standard_normal(shape))
        return bits, from_bf16_bits(bits).astype(np.float64)
    bits = rng.standard_normal(shape).astype(NUMPY[dtype])
    return bits, bits.astype(np.float64)


class Case:
    def __init__(self, name, file, kernel, bound, **rest):
        self.name, self.file, self.kernel, self.bound = name, file, kernel, bound
        self.arrays, self.scalars, self.defines = {}, {}, {}  # arrays: name -> (dtype, bits)
        self.output, self.expected, self.grid, self.conflicts, self.options = None, None, "(1,)", 0, []
        self.whole_sectors = False  # every line begins at one and fills its last
        self.forms = set()  # of the instructions about tensor cores, once it was simulated
        self.__dict__.update(rest)

    def label(self):
        return " ".join([self.name] + self.options)


def matmul(rng, dtype, m, n, k, tile, a_turned=False, b_turned=False, pad=0, out="fp32", precision="tf32", **rest):
    """c = a b, each operand row-major or column-major with `pad` unused elements behind each line."""
    name = f"matmul-{dtype}-{m}x{n}x{k}-{'x'.join(map(str, tile))}-{'nt'[a_turned]}{'nt'[b_turned]}-{pad}-{precision}"
    bound = {"ieee": 2e-6, "tf32x3": 2e-6, "bf16x6": 2e-6, "bf16x3": 5e-5}.get(precision, BOUND[dtype])
    case = Case(name, "matmul.tile", "matmul", bound, **rest)
    values = {}
    for operand, rows, columns, turned in (("a", m, k, a_turned), ("b", k, n, b_turned)):
        shape = (columns, rows + pad) if turned else (rows, columns + pad)
        bits, x = random(rng, shape, dtype)
        case.arrays[operand + "_ptr"] = (dtype, bits)
        values[operand] = x[:, :rows].T if turned else x[:, :columns]
        line = shape[1]
        names = ("stride_am", "stride_ak") if operand == "a" else ("stride_bk", "stride_bn")
        case.scalars.update(zip(names, (1, line) if turned else (line, 1)))
    case.arrays["c_ptr"] = (out, np.full((m, n), np.nan if out != "i32" else -7).astype(NUMPY[out]))
    case.scalars.update(M=m, N=n, K=k, stride_cm=n, stride_cn=1)
    case.defines = dict(BLOCK_M=tile[0], BLOCK_N=tile[1], BLOCK_K=tile[2], PRECISION=precision)
    case.output, case.expected = "c_ptr", values["a"] @ values["b"]
    case.grid = f"({-(-m // tile[0])}, {-(-n // tile[1])})"
    return case


def one(rng, dtypes, acc, m, n, k, precision="tf32", **rest):
    a_dtype, b_dtype = dtypes
    case = Case(f"one-{a_dtype}-{b_dtype}-{acc}-{m}x{n}x{k}-{precision}", "dots.tile", "one",
                1e-2 if acc == "fp16" else BOUND[a_dtype], **rest)
    (a, va), (b, vb) = random(rng, (m, k), a_dtype), random(rng, (k, n), b_dtype)
    c = (rng.integers(-9, 9, (m, n)) if acc == "i32" else rng.standard_normal((m, n))).astype(NUMPY[acc])
    case.arrays = {"a_ptr": (a_dtype, a), "b_ptr": (b_dtype, b), "c_ptr": (acc, c)}
    case.defines = dict(M=m, N=n, K=k, PRECISION=precision)
    case.types = {"OUT": {"fp16": "float16", "fp32": "float32", "fp64": "float64", "i32": "int32"}[acc]}
    case.output, case.expected = "c_ptr", c.astype(np.float64) + va @ vb
    return case


def turned(rng, dtype, m, n, k, **rest):
    case = Case(f"turned-{dtype}-{m}x{n}x{k}", "dots.tile", "turned", BOUND[dtype], **rest)
    (a, va), (b, vb) = random(rng, (k, m), dtype), random(rng, (n, k), dtype)
    case.arrays = {"a_ptr": (dtype, a), "b_ptr": (dtype, b), "c_ptr": ("fp32", np.full((m, n), np.nan, np.float32))}
    case.defines = dict(M=m, N=n, K=k)
    case.output, case.expected = "c_ptr", va.T @ vb.T
    return case


def batched(rng, dtype, batch, m, n, k, **rest):
    case = Case(f"batched-{dtype}-{batch}x{m}x{n}x{k}", "dots.tile", "batched", BOUND[dtype], **rest)
    (a, va), (b, vb) = random(rng, (batch, m, k), dtype), random(rng, (batch, k, n), dtype)
    case.arrays = {"a_ptr": (dtype, a), "b_ptr": (dtype, b),
                   "c_ptr": ("fp32", np.full((batch, m, n), np.nan, np.float32))}
    case.defines = dict(B=batch, M=m, N=n, K=k)
    case.output, case.expected = "c_ptr", va @ vb
    return case


def attention(rng, dtype, t, m, n, d, **rest):
    case = Case(f"attention-{dtype}-{t}-{m}x{n}x{d}", "dots.tile", "attention", 1e-2, **rest)
    (q, vq), (k, vk), (v, vv) = random(rng, (m, d), dtype), random(rng, (t, d), dtype), random(rng, (t, d), dtype)
    case.arrays = {"q_ptr": (dtype, q), "k_ptr": (dtype, k), "v_ptr": (dtype, v),
                   "o_ptr": ("fp32", np.full((m, d), np.nan, np.float32))}
    scale = 0.125
    case.scalars, case.defines = dict(T=t, scale=scale), dict(M=m, N=n, D=d)
    p = np.exp2(vq @ vk.T * scale)
    case.output, case.expected = "o_ptr", p / p.sum(1, keepdims=True) @ vv
    return case


def dequantised(rng, m, n, k, block, **rest):
    case = Case(f"dequantised-{m}x{n}x{k}", "dots.tile", "dequantised", 2e-6, **rest)
    (a, va), (b, vb), (s, vs) = random(rng, (m, k), "fp16"), random(rng, (k, n), "i8"), random(rng, (n,), "fp32")
    case.arrays = {"a_ptr": ("fp16", a), "b_ptr": ("i8", b), "s_ptr": ("fp32", s),
                   "c_ptr": ("fp32", np.full((m, n), np.nan, np.float32))}
    case.scalars, case.defines = dict(K=k), dict(M=m, N=n, BLOCK_K=block)
    case.output, case.expected = "c_ptr", va @ vb * vs
    return case


def gathered(rng, m, n, k, block, **rest):
    case = Case(f"gathered-{m}x{n}x{k}", "dots.tile", "gathered", 2e-6, **rest)
    (a, va), (b, vb) = random(rng, (m, k), "fp16"), random(rng, (3 * k, n), "fp16")
    index = rng.integers(0, 3 * k, k).astype(np.int32)
    case.arrays = {"a_ptr": ("fp16", a), "i_ptr": ("i32", index), "b_ptr": ("fp16", b),
                   "c_ptr": ("fp32", np.full((m, n), np.nan, np.float32))}
    case.scalars, case.defines = dict(K=k), dict(M=m, N=n, BLOCK_K=block)
    case.output, case.expected = "c_ptr", va @ vb[index]
    return case


def gram(rng, dtype, m, k, block, **rest):
    case = Case(f"gram-{dtype}-{m}x{k}", "dots.tile", "gram", BOUND[dtype], **rest)
    (a, va), (b, vb) = random(rng, (m, k), dtype), random(rng, (k, m), dtype)
    case.arrays = {"a_ptr": (dtype, a), "b_ptr": (dtype, b), "c_ptr": ("fp32", np.full((m, m), np.nan, np.float32))}
    case.scalars, case.defines = dict(K=k), dict(M=m, BLOCK_K=block)
    case.output, case.expected = "c_ptr", va @ vb + va @ va.T
    return case


def beside(rng, dtype, m, widths, k, block, by_columns=False, **rest):
    n = sum(widths)
    name = f"beside-{dtype}-{m}x{widths[0]}+{widths[1]}x{k}-{block}-{'nt'[by_columns]}"
    case = Case(name, "dots.tile", "beside", BOUND[dtype], **rest)
    (a, va), (b, vb) = random(rng, (m, k), dtype), random(rng, (n, k) if by_columns else (k, n), dtype)
    acc = "i32" if dtype == "i8" else "fp32"
    case.arrays = {"a_ptr": (dtype, a), "b_ptr": (dtype, b), "c_ptr": (acc, np.full((m, n), -7).astype(NUMPY[acc]))}
    case.scalars = dict(K=k, stride_am=k, **dict(zip(("stride_bk", "stride_bn"), (1, k) if by_columns else (n, 1))))
    case.defines = dict(M=m, N=widths[0], N2=widths[1], BLOCK_K=block)
    case.types = {"ACC": {"i32": "int32", "fp32": "float32"}[acc]}
    case.output, case.expected = "c_ptr", va @ (vb.T if by_columns else vb)
    return case


def widths(rng, n, **rest):
    case = Case(f"widths-{n}", "dots.tile", "widths", BOUND["fp64"], **rest)
    (a, va), (b, vb), (s, vs) = random(rng, (n, n), "fp64"), random(rng, (n, n), "fp64"), random(rng, (n, n), "fp32")
    case.arrays = {"a_ptr": ("fp64", a), "b_ptr": ("fp64", b), "s_ptr": ("fp32", s),
                   "c_ptr": ("fp64", np.full((n, n), np.nan))}
    case.defines = dict(N=n)
    case.output, case.expected = "c_ptr", va @ vb + vs
    return case


def tiles(rng, kernel, m, n, k, tile, programs, **rest):
    """Several tiles for each program, one after the other."""
    case = Case(f"tiles-{kernel}-{m}x{n}x{k}-{'x'.join(map(str, tile))}-{programs}", "tiles.tile", kernel, BOUND["fp16"],
                **rest)
    (a, va), (b, vb) = random(rng, (m, k), "fp16"), random(rng, (k, n), "fp16")
    case.arrays = {"a_ptr": ("fp16", a), "b_ptr": ("fp16", b), "c_ptr": ("fp32", np.full((m, n), np.nan, np.float32))}
    case.scalars = dict(M=m, N=n, K=k)
    case.defines = dict(PROGRAMS=programs, BLOCK_M=tile[0], BLOCK_N=tile[1], BLOCK_K=tile[2])
    case.output, case.expected, case.grid = "c_ptr", va @ vb, f"({programs},)"
    return case


def all_cases():
    rng = np.random.default_rng(7)
    for dtype in ("fp16", "bf16", "fp32", "fp8e5"):
        for a_turned in (False, True):
            for b_turned in (False, True):
                yield matmul(rng, dtype, 64, 128, 96, (64, 64, 32), a_turned, b_turned, whole_sectors=True)
    yield matmul(rng, "fp16", 128, 128, 128, (128, 128, 32))
    yield matmul(rng, "fp16", 128, 256, 128, (128, 256, 64), False, True)
    for k in (0, 16, 32, 48, 200):  # none, one, two, fewer iterations than stages, a partial one
        yield matmul(rng, "fp16", 32, 32, k, (32, 32, 16))
    yield matmul(rng, "fp16", 50, 70, 45, (32, 32, 16))  # no two elements are known to be aligned
    yield matmul(rng, "fp16", 50, 70, 45, (32, 32, 16), True, True, pad=3)
    yield matmul(rng, "bf16", 17, 33, 65, (16, 16, 16), pad=1)
    for a_turned in (False, True):  # warpgroups, on sm_90a
        for b_turned in (False, True):
            yield matmul(rng, "fp16", 192, 160, 208, (128, 64, 64), a_turned, b_turned, options=["--num-warps", "8"])
    yield matmul(rng, "bf16", 64, 256, 96, (64, 256, 32), options=["--num-warps", "8"])  # side by side
    yield matmul(rng, "bf16", 256, 96, 64, (256, 32, 32), options=["--num-warps", "8"])  # several times 64 rows
    yield matmul(rng, "fp16", 100, 75, 45, (64, 64, 16), True, False, pad=1)  # elements one by one
    for k in (0, 16, 32, 48, 200):
        yield matmul(rng, "fp16", 64, 64, k, (64, 64, 16))
    yield one(rng, ("fp16", "fp16"), "fp32", 128, 64, 64)
    yield one(rng, ("bf16", "bf16"), "fp32", 64, 16, 16)
    yield turned(rng, "bf16", 128, 128, 32)
    for dtype in ("fp32", "i8", "fp8e4nv"):  # b along K, as warpgroups want it, a along M
        yield turned(rng, dtype, 128, 64, 64)
    yield matmul(rng, "fp32", 100, 80, 104, (64, 64, 32), b_turned=True, pad=4, conflicts=1.5)  # copies of 4 bytes
    # Elements one by one; warpgroups read them as tensor copies would lay them.
    yield matmul(rng, "fp32", 70, 90, 50, (64, 64, 16), b_turned=True, pad=1, conflicts=0.6)
    yield matmul(rng, "fp8e5", 128, 96, 160, (128, 32, 64), b_turned=True)
    yield matmul(rng, "fp8e4nv", 80, 72, 96, (64, 64, 32), b_turned=True, options=["--num-stages", "1"])
    for precision in ("tf32x3", "bf16x3", "bf16x6"):
        yield matmul(rng, "fp32", 72, 80, 96, (64, 64, 32), precision=precision)
    yield matmul(rng, "fp32", 72, 80, 96, (64, 64, 32), precision="ieee", conflicts=1)  # multiply-adds
    for warps in (1, 2, 8, 16):
        yield matmul(rng, "fp16", 80, 72, 96, (64, 64, 32), options=["--num-warps", str(warps)])
    for stages in (1, 2, 4, 5):
        yield matmul(rng, "fp16", 72, 80, 160, (64, 64, 32), options=["--num-stages", str(stages)])
    for m, n, k in ((16, 16, 16), (1, 16, 16), (16, 1, 16), (2, 4, 32), (8, 8, 16), (128, 16, 16), (16, 128, 64)):
        conflicts = 0.3 if m * n < 16 else 0  # lanes that repeat others
        yield one(rng, ("fp16", "fp16"), "fp32", m, n, k, conflicts=conflicts)
        yield one(rng, ("fp32", "fp32"), "fp32", m, n, k, conflicts=conflicts)
    yield one(rng, ("fp16", "fp16"), "fp16", 32, 32, 32)
    yield one(rng, ("fp64", "fp64"), "fp64", 16, 32, 16)
    yield one(rng, ("i8", "i8"), "i32", 32, 64, 64)
    for a in FP8:
        for b in FP8:
            yield one(rng, (a, b), "fp32", 32, 32, 64)
    yield one(rng, ("fp8e5", "fp8e5"), "fp16", 32, 32, 32)
    for dtype in ("fp16", "fp32"):
        yield turned(rng, dtype, 64, 32, 64)
    yield batched(rng, "fp16", 4, 32, 16, 32)
    yield batched(rng, "fp32", 8, 16, 16, 16)
    yield attention(rng, "fp16", 200, 64, 64, 64, conflicts=0.1)  # rows that cross warps
    yield attention(rng, "bf16", 96, 128, 32, 32)
    yield attention(rng, "fp16", 150, 64, 64, 64, conflicts=0.1)  # warpgroups, on sm_90a, with P in registers
    yield attention(rng, "bf16", 200, 128, 64, 128, options=["--num-warps", "8", "--num-stages", "2"])
    yield attention(rng, "fp16", 64, 128, 32, 16, options=["--num-warps", "4"])  # several times 64 rows
    yield attention(rng, "fp16", 96, 64, 32, 64, options=["--num-warps", "8"], conflicts=0.15)  # too few rows
    yield dequantised(rng, 32, 64, 128, 32)
    yield dequantised(rng, 64, 128, 96, 32, conflicts=1)  # by warpgroups turned, on sm_90a; loads of single bytes
    yield gathered(rng, 32, 32, 80, 32)
    for kernel in ("in_for", "in_while"):
        yield tiles(rng, kernel, 160, 208, 80, (64, 64, 32), 2)  # 3 iterations in rings of 3 and 4
        yield tiles(rng, kernel, 96, 96, 64, (32, 32, 16), 1)
    yield gram(rng, "fp16", 64, 112, 32)
    # Two widths beside each other; on sm_90a one instruction where their buffers may lie in a row.
    for k in (0, 64, 208):
        yield beside(rng, "fp16", 128, (128, 64), k, 64, options=["--num-warps", "8", "--num-stages", "3"])
    yield beside(rng, "fp16", 128, (128, 64), 144, 64, True, options=["--num-warps", "8"])
    yield beside(rng, "bf16", 64, (32, 64), 96, 32, True)
    yield beside(rng, "bf16", 64, (64, 32), 96, 32)  # panels of two widths
    yield beside(rng, "fp16", 64, (64, 16), 256, 128, True)  # two panels along K
    yield beside(rng, "fp16", 128, (64, 128), 96, 32, options=["--num-warps", "4"])  # too many registers for one
    yield beside(rng, "fp16", 64, (128, 128), 64, 32, options=["--num-warps", "8"])  # warpgroups along N
    yield beside(rng, "fp32", 64, (64, 32), 96, 32, True)
    yield beside(rng, "i8", 128, (64, 32), 192, 64, True, options=["--num-warps", "4"])  # twice 64 rows
    yield beside(rng, "i8", 64, (16, 16), 32, 32, True, options=["--num-warps", "4"])
    yield turned(rng, "i8", 64, 16, 32)
    yield widths(rng, 16, options=["--num-warps", "1"])
    yield attention(rng, "fp16", 330, 128, 64, 64, options=["--num-warps", "8", "--num-stages", "3"])  # scores an iteration early, on sm_90a


def constexprs(case):
    defines = [f"{name}={value!r}" for name, value in case.defines.items()]
    defines += [f"{name}=tl.{value}" for name, value in getattr(case, "types", {}).items()]
    return [word for define in defines for word in ("-D", define)]


def run(options, case):
    with tempfile.TemporaryDirectory(prefix="tilec-tensor-") as folder:
        command = [options.tilec, "run", os.path.join(INPUTS, case.file), "-k", case.kernel, "--device", options.device,
                   "--grid", case.grid, "--cache-dir", "none", "--json", "--check-passes"] + case.options
        if options.device == "sim":
            command += ["--report"]
        if options.target:
            command += ["--target", options.target]
        for name, (dtype, bits) in case.arrays.items():
            path = os.path.join(folder, f"{name}.npy")
            np.save(path, bits)
            prefix = f"{dtype}:" if dtype == "bf16" or dtype in FP8 else ""
            command += ["-a", f"{name}=@{prefix}{path}"]
        result = os.path.join(folder, "result.npy")
        command += ["--out", f"{case.output}={result}"]
        for name, value in case.scalars.items():
            command += ["-a", f"{name}={value!r}"]
        process = subprocess.run(command + constexprs(case), capture_output=True, text=True)
        if process.returncode:
            return f"exit status {process.returncode}\n{process.stdout[-1500:]}{process.stderr.strip()[-3000:]}"
        got = np.load(result).astype(np.float64).reshape(case.expected.shape)
    wrong = np.abs(got - case.expected).max() / max(1, np.abs(case.expected).max())
    if not wrong <= case.bound:
        return f"off by {wrong:.2e} of the largest element, allowed are {case.bound:.0e}"
    copied = options.target in ("sm_90a", "sm_100a", "sm_120a")
    return conflicts_of(case, process.stdout, copied) if options.device == "sim" else None


def compile_case(options, case, target, what):
    """The process that compiles the case as a launch would specialise it."""
    command = [options.tilec, "compile", os.path.join(INPUTS, case.file), "-k", case.kernel, "--target", target,
               "--cache-dir", "none", *what] + case.options
    for name, (dtype, _) in case.arrays.items():
        command += ["-a", f"{name}=*{dtype}:16"]
    for name, value in case.scalars.items():
        special = ":16" if value % 16 == 0 else ":8" if value % 8 == 0 else ":1" if value == 1 else ""
        command += ["-a", f"{name}=fp32" if isinstance(value, float) else f"{name}=i32{special}"]
    return subprocess.run(command + constexprs(case), capture_output=True, text=True)


def compiled(options, case):
    """What ptxas makes of the case: None, or what is wrong."""
    process = compile_case(options, case, options.target, ["--emit", "cubin", "-o", os.devnull, "--json"])
    if process.returncode:
        return f"exit status {process.returncode}\n{process.stderr.strip()[-3000:]}"
    return slowed(json.loads(process.stdout))


def code(options, case, target):
    """The PTX of the case without the target's name."""
    process = compile_case(options, case, target, ["--emit", "ptx", "-o", "-"])
    return re.sub(r"^\.(target|version) .*$", "", process.stdout, flags=re.M)


def is_alike(options, case):
    """Is the code that for the other target? What it does then is what that does."""
    text = code(options, case, options.target)
    return text != "" and text == code(options, case, options.unlike)


def stored_wavefronts(case):
    """Of results of 32 bits and more on their way to a tensor copy: rows of fragments take 32 bytes of a line, two of
    which the hardware's swizzle puts in the same banks."""
    bits, elements = case.arrays[case.output][1], case.arrays[case.output][1].size
    if "BLOCK_M" in case.defines:
        m, n = case.defines["BLOCK_M"], case.defines["BLOCK_N"]
        elements = -(-bits.shape[0] // m) * m * -(-bits.shape[1] // n) * n
    return elements * bits.itemsize // 128 if bits.itemsize >= 4 else 0


def form(text):
    """What an instruction about tensor cores is, but for the number of columns; None for all others."""
    found = FORM.match(text)
    if not found or not found[1].startswith("wgmma.mma_async"):
        return found and found[1]
    registers = text.partition("}")[2].lstrip(", ").startswith("{")
    return re.sub(r"(m64)n\d+", r"\1", found[1]) + (", a in registers" if registers else "")


def conflicts_of(case, text, copied):
    """Objects follow each other on standard output."""
    spare = stored_wavefronts(case) if copied else 0
    at, decoder = text.index("{"), json.JSONDecoder()
    while at < len(text.rstrip()):
        found, end = decoder.raw_decode(text, at)
        at = text.find("{", end) if text.find("{", end) >= 0 else len(text)
        counts = found.get("counts")
        if counts:
            case.forms |= {form(instruction["text"]) for instruction in counts["instructions"]} - {None}
        if counts and counts["wavefronts"] - spare > counts["ideal_wavefronts"] * (1 + case.conflicts):
            return f"{counts['wavefronts']} wavefronts of shared memory, {counts['ideal_wavefronts']} would do"
        if counts and case.whole_sectors:
            moved, least = (sum(insn.get(what, 0) for insn in counts["instructions"])
                            for what in ("sectors", "ideal_sectors"))
            if moved > least:
                return f"{moved} sectors of global memory, {least} would do"
    return None


def missing_forms(cases):
    """What is wrong with PART, as lines."""
    part = [case for case in cases if case.label() in PART]
    for label in sorted(PART - {case.label() for case in part}):
        yield f"PART: there is no case {label}"
    known = set().union(*(case.forms for case in part))
    for case in cases:
        for missing in sorted(case.forms - known):
            yield f"PART: {missing} is only in {case.label()}"
        known |= case.forms


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tilec", required=True)
    parser.add_argument("--device", default="sim")
    parser.add_argument("--target")
    parser.add_argument("--filter", default="")
    parser.add_argument("--part", action="store_true")
    parser.add_argument("--unlike", metavar="TARGET")
    parser.add_argument("--compile", action="store_true")
    options = parser.parse_args()
    cases = [case for case in all_cases()
             if options.filter in case.name and (not options.part or case.label() in PART)]
    total = len(cases)
    if options.unlike:
        cases = [case for case in cases if not is_alike(options, case)]
    failures = 0
    for case in cases:
        wrong = compiled(options, case) if options.compile else run(options, case)
        if wrong:
            failures += 1
            print(f"{case.label()}: {wrong}", flush=True)
    if options.device == "sim" and not (options.compile or options.part or options.unlike or options.filter):
        for line in missing_forms(cases):
            failures += 1
            print(line)
    count = len(cases)
    alike = f", {total - count} are the same code as for {options.unlike}" if options.unlike else ""
    print(f"{count} cases {'compiled' if options.compile else 'on ' + options.device}, {failures} failed{alike}")
    return 1 if failures or not count else 0


if __name__ == "__main__":
    sys.exit(main())
