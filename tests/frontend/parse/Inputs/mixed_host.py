#!/usr/bin/env python3
# Host code of every kind around kernels: nothing of it may disturb them.
import asyncio, functools
from dataclasses import dataclass, field
import numba
import triton, triton.language as tl
from . import helpers
from ..common.math import (
    fast_exp as exp,
    log1p,
)

BLOCK = 1 << 10
_TABLE = {"a": [1, 2], **{k: v for k, v in zip("bc", "de")}}
A, B = 1, (2, 3)
counter = 0
counter += 1
helpers.flag = True


@dataclass(frozen=True)
class Options:
    block: int = BLOCK
    names: list[str] = field(default_factory=lambda: ["x", "y"])

    @functools.cached_property
    def total(self):
        try:
            return sum(self.names)
        except (TypeError, ValueError) as e:
            raise RuntimeError(f"bad {self.names!r:>{10}}") from e
        finally:
            pass

    @triton.jit
    def method_kernel(x):
        return x


@numba.jit(nopython=True)
def on_the_cpu(x):
    global counter
    counter = x
    return {i for i in range(x)}


async def main(*args, **kwargs):
    async with asyncio.Lock() as lock:
        async for x in gen():
            yield await x
    match args:
        case [Options(block=b), *rest] if b > 1:
            print("one", b)
        case {"k": v, **rest}:
            pass
        case (1 | 2) as v:
            pass
        case _:
            del lock, args


@functools.lru_cache(maxsize=None)
def make_kernel(n: int, /, *, flag=False) -> "kernel":

    @triton.jit
    def inner(x, N: tl.constexpr):
        tl.store(x + N, n)

    return inner


with open(__file__) as source, \
        open("/dev/null", "w") as sink:
    text = """
@triton.jit
def not_a_kernel(x):
    return x
"""

for i in range(3):
    while i:
        i -= 1
    else:
        continue
else:
    print('done')


@triton.jit
def kernel(x_ptr, n, BLOCK: tl.constexpr = BLOCK):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + i, mask=i < n, other=0.)
    tl.store(x_ptr + i, exp(x) + log1p(x), mask=i < n)


@triton.constexpr_function
def next_power(n: int):
    p = 1
    while p < n:
        p *= 2
    return p


lambda: (yield)
print >>sink, "Python 2"
if counter: kernel[(1,)](None, 0); counter = 2
