#!/usr/bin/env python3
"""Triton's PTX of the operations in kernels.py: triton_kernels.py FOLDER writes FOLDER/<name>.ptx and FOLDER/triton.json
(name: entry, threads, shared bytes). Needs Triton, no GPU."""
import json
import os
import sys

import triton
import triton.language as tl
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource


@triton.jit
def vector_add(x, y, o, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(o + i, tl.load(x + i, i < n) + tl.load(y + i, i < n), i < n)


@triton.jit
def softmax(x, o, cols, BLOCK: tl.constexpr):
    at = tl.program_id(0) * cols + tl.arange(0, BLOCK)
    inside = tl.arange(0, BLOCK) < cols
    v = tl.load(x + at, inside, other=-float("inf"))
    e = tl.exp(v - tl.max(v, 0))
    tl.store(o + at, e / tl.sum(e, 0), inside)


@triton.jit
def layernorm(x, w, b, o, cols, BLOCK: tl.constexpr):
    c = tl.arange(0, BLOCK)
    at = tl.program_id(0) * cols + c
    v = tl.load(x + at, c < cols, other=0.0)
    mean = tl.sum(v, 0) / cols
    d = tl.where(c < cols, v - mean, 0.0)
    r = 1 / tl.sqrt(tl.sum(d * d, 0) / cols + 1e-5)
    tl.store(o + at, d * r * tl.load(w + c, c < cols) + tl.load(b + c, c < cols), c < cols)


@triton.jit
def row_sum(x, o, cols, BLOCK: tl.constexpr):
    total = tl.zeros([BLOCK], tl.float32)
    for start in range(0, cols, BLOCK):
        c = start + tl.arange(0, BLOCK)
        total += tl.load(x + tl.program_id(0) * cols + c, c < cols, other=0.0)
    tl.store(o + tl.program_id(0), tl.sum(total, 0))


@triton.jit
def histogram(x, o, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(x + i, i < n, other=0)
    tl.atomic_add(o + (v & 63), 1, i < n)


@triton.jit
def transpose(x, o, rows, cols, BLOCK: tl.constexpr):
    r, c = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK), tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(x + r[:, None] * cols + c[None, :], (r[:, None] < rows) & (c[None, :] < cols))
    tl.store(o + c[:, None] * rows + r[None, :], tl.trans(v), (c[:, None] < cols) & (r[None, :] < rows))


@triton.jit
def matmul(a, b, c, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    m, n, k = tl.program_id(0) * BM + tl.arange(0, BM), tl.program_id(1) * BN + tl.arange(0, BN), tl.arange(0, BK)
    total = tl.zeros([BM, BN], tl.float32)
    for start in range(0, K, BK):
        left = tl.load(a + m[:, None] * K + (start + k)[None, :], (m[:, None] < M) & ((start + k)[None, :] < K), other=0.0)
        right = tl.load(b + (start + k)[:, None] * N + n[None, :], ((start + k)[:, None] < K) & (n[None, :] < N), other=0.0)
        total = tl.dot(left, right, total)
    tl.store(c + m[:, None] * N + n[None, :], total.to(c.dtype.element_ty), (m[:, None] < M) & (n[None, :] < N))


def pointers(dtype, *names):
    return {name: f"*{dtype}" for name in names}


def integers(*names):
    return {name: "i32" for name in names}


SIZES = {"BM": 64, "BN": 64, "BK": 32}
LARGE = {"BM": 128, "BN": 128, "BK": 64}
# name: (kernel, signature, compile-time values, architecture, options)
KERNELS = {
    "vector_add": (vector_add, pointers("fp32", "x", "y", "o") | integers("n"), {"BLOCK": 512}, 90, {}),
    "softmax": (softmax, pointers("fp32", "x", "o") | integers("cols"), {"BLOCK": 1024}, 90, {}),
    "layernorm": (layernorm, pointers("fp32", "x", "w", "b", "o") | integers("cols"), {"BLOCK": 1024}, 90, {}),
    "row_sum": (row_sum, pointers("fp32", "x", "o") | integers("cols"), {"BLOCK": 256}, 90, {}),
    "histogram": (histogram, pointers("i32", "x", "o") | integers("n"), {"BLOCK": 512}, 90, {}),
    "transpose": (transpose, pointers("fp32", "x", "o") | integers("rows", "cols"), {"BLOCK": 32}, 90, {}),
    "transpose_half": (transpose, pointers("fp16", "x", "o") | integers("rows", "cols"), {"BLOCK": 64}, 90, {}),
    "matmul": (matmul, pointers("fp16", "a", "b") | {"c": "*fp32"} | integers("M", "N", "K"), SIZES, 80, {"num_stages": 3}),
    "matmul_bf16": (matmul, pointers("bf16", "a", "b") | {"c": "*fp32"} | integers("M", "N", "K"), SIZES, 80, {"num_stages": 2}),
    "matmul_tf32": (matmul, pointers("fp32", "a", "b") | {"c": "*fp32"} | integers("M", "N", "K"), SIZES, 80, {"num_stages": 3}),
    "matmul_wgmma": (matmul, pointers("fp16", "a", "b") | {"c": "*fp32"} | integers("M", "N", "K"), LARGE, 90, {"num_stages": 3}),
    "matmul_wgmma_bf16": (matmul, pointers("bf16", "a", "b") | {"c": "*fp32"} | integers("M", "N", "K"), LARGE, 90, {"num_warps": 8}),
}


def compile_to(folder, name):
    kernel, signature, constants, architecture, options = KERNELS[name]
    types = signature | {c: "constexpr" for c in constants}
    attributes = {(i,): [["tt.divisibility", 16]] for i, t in enumerate(types.values()) if t.startswith("*")}
    if name.startswith("matmul"):
        attributes |= {(i,): [["tt.divisibility", 16]] for i, t in enumerate(types.values()) if t == "i32"}
    source = ASTSource(kernel, types, constants, attributes)
    compiled = triton.compile(source, target=GPUTarget("cuda", architecture, 32), options=options)
    with open(os.path.join(folder, f"{name}.ptx"), "w") as file:
        file.write(compiled.asm["ptx"])
    return {"entry": compiled.metadata.name, "threads": 32 * compiled.metadata.num_warps, "shared": compiled.metadata.shared}


def main():
    folder = sys.argv[1]
    os.environ.setdefault("TRITON_CACHE_DIR", os.path.join(folder, "cache"))
    found = {}
    for name in KERNELS:
        try:
            found[name] = compile_to(folder, name)
        except Exception as error:  # whatever a version of Triton refuses; the others go on
            found[name] = {"error": f"{type(error).__name__}: {error}"[:300]}
    with open(os.path.join(folder, "triton.json"), "w") as file:
        json.dump(found, file)


if __name__ == "__main__":
    main()
