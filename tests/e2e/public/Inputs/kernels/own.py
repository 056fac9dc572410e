import triton
import triton.language as tl


@triton.jit
def scale(x, y, n, factor, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + i, tl.load(x + i, mask=i < n) * factor, mask=i < n)


@triton.jit
def shift(x, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(x + i, tl.load(x + i + 1))


@triton.jit
def nothing(x, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    tl.store(x + i, i, mask=i < n)


@triton.jit
def sums(x, y, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    a = tl.load(x + i[:, None] * BLOCK + i[None, :])
    tl.store(y + i[:, None] * BLOCK + i[None, :], tl.dot(a, a))


@triton.jit
def unknown(x):
    tl.store(x, tl.no_such_operation(x))
