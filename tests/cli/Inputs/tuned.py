import triton
import triton.language as tl


@triton.autotune([triton.Config({"BLOCK": block}, num_warps=warps) for block, warps in [(64, 1), (128, 2), (256, 4)]], key=["n"])
@triton.jit
def good(x, y, n, factor, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + i, tl.load(x + i, mask=i < n) * factor, mask=i < n)


# One configuration stores far outside of y, one never ends where n is large.
@triton.autotune([triton.Config({"BLOCK": block}) for block in (64, 128, 256, 512)], key=["n"], reset_to_zero=["y"])
@triton.jit
def bad(x, y, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    if BLOCK == 128:
        tl.store(y + i + (1 << 28), 1.0)
    if BLOCK == 256:
        while n > 500:
            tl.store(y + i, 1.0, mask=i < n)
    tl.store(y + i, tl.load(x + i, mask=i < n), mask=i < n)


# Goes wrong without its data.
@triton.autotune([triton.Config({"BLOCK": block}) for block in (64, 128)], key=["n"], restore_value=["y"])
@triton.jit
def indexed(x, y, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + tl.load(x + i, mask=i < n, other=0), 1.0, mask=i < n)


@triton.jit
def plain(x):
    tl.store(x, 1.0)


@triton.jit
def row(x, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(x + i, tl.load(x + i, mask=i < n) * 2, mask=i < n)
