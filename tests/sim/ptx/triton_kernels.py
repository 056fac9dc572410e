"""Writes PTX of Triton's compiler beside this file; needs triton, no GPU. `python triton_kernels.py`"""
import os

import triton
import triton.language as tl
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource

HERE = os.path.dirname(os.path.abspath(__file__))


@triton.jit
def softmax(x, y, stride, cols, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    i = tl.arange(0, BLOCK)
    v = tl.load(x + row * stride + i, mask=i < cols, other=-float("inf"))
    e = tl.exp(v - tl.max(v, axis=0))
    tl.store(y + row * stride + i, e / tl.sum(e, axis=0), mask=i < cols)


@triton.jit
def matmul(a, b, c, K, M: tl.constexpr, N: tl.constexpr, BLOCK: tl.constexpr):
    m, n, k = tl.arange(0, M), tl.arange(0, N), tl.arange(0, BLOCK)
    sum = tl.zeros((M, N), tl.float32)
    for at in range(0, K, BLOCK):
        x = tl.load(a + m[:, None] * K + (at + k)[None, :])
        y = tl.load(b + (at + k)[:, None] * N + n[None, :])
        sum = tl.dot(x, y, sum)
    tl.store(c + m[:, None] * N + n[None, :], sum)


@triton.jit
def scan_sort(x, y, z, h, N: tl.constexpr):
    i = tl.arange(0, N)
    v = tl.load(x + i)
    tl.store(y + i, tl.cumsum(v, axis=0))
    tl.store(z + i, tl.sort(v))
    tl.atomic_add(h + (v & 7), 1)


KERNELS = {
    "softmax": (softmax, {"x": "*fp32", "y": "*fp32", "stride": "i32", "cols": "i32"}, {"BLOCK": 256}),
    "matmul": (matmul, {"a": "*fp16", "b": "*fp16", "c": "*fp32", "K": "i32"}, {"M": 64, "N": 32, "BLOCK": 32}),
    "scan_sort": (scan_sort, {"x": "*i32", "y": "*i32", "z": "*i32", "h": "*i32"}, {"N": 128}),
}
for name, (function, signature, constants) in KERNELS.items():
    for capability in (80, 90):
        signature = {**signature, **{c: "constexpr" for c in constants}}
        align = {(i,): [["tt.divisibility", 16]] for i, (n, t) in enumerate(signature.items()) if t != "constexpr"}
        source = ASTSource(function, signature, constexprs=constants, attrs=align)
        options = {"num_warps": 4, "num_stages": 2}
        made = triton.compile(source, target=GPUTarget("cuda", capability, 32), options=options)
        text = made.asm["ptx"]
        lines = [l for l in text.split("\n") if not l.lstrip().startswith((".loc", ".file", "//", "$L__tmp"))]
        text = "\n".join(lines)
        if ".section" in text:
            text = text[: text.index("\t.section")]
        with open(os.path.join(HERE, f"triton_{name}.sm_{capability}.ptx"), "w") as file:
            file.write(text)
