"""A module as projects have them: host code, helpers, a kernel of some length."""
import math

import triton
import triton.language as tl

SIZE = 64  # a constant


def host(x, y):
    # Comments go.
    grid = (triton.cdiv(x.numel(), SIZE),)
    kernel[grid](x, y, x.numel(), 1.0, BLOCK=SIZE)
    try:
        return y.sum()
    except ValueError:
        return math.nan


@triton.jit
def scale(x, factor, offset):
    """A docstring
    of two lines."""
    y = x * factor
    if factor > 2.0:
        y = y + 1.0
    elif factor > 1.0:
        y = y + 2.0
    else:
        y = y - 1.0
    return y + offset


@triton.autotune(configs=[triton.Config({"BLOCK": 64}), triton.Config({"BLOCK": 128})], key=["n"])
@triton.jit
def kernel(
    x_ptr,
    y_ptr,
    n,
    factor,
    BLOCK: tl.constexpr,
):
    pid = tl.program_id(axis=0)
    offsets = pid * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    x = tl.load(x_ptr + offsets, mask=mask, other=0.0)
    total = tl.zeros((BLOCK,), dtype=tl.float32); other = total
    for i in range(0, 4):
        z = scale(x, factor=factor + i, offset=(1.0 + 2.0) * 3.0)
        for j in tl.static_range(2):
            total += z * j
        if i == 2:
            total = total + tl.sum(x, axis=0)
        else:
            total = total * 2
    while tl.max(total, axis=0) > 100.0:
        total = total * 0.5
    ranks = tl.cumsum(total + other, axis=0)
    tl.store(y_ptr + offsets, tl.where(mask, ranks, 0.0), mask=mask)
    tl.atomic_add(y_ptr, tl.sum(ranks, axis=0))
