"""Aggregates and named tuples in kernels: their fields, methods and constructors, on the interpreter."""
import unittest
from collections import namedtuple
from typing import NamedTuple

import numpy as np
import tilec

tilec.install()

import triton
import triton.language as tl
from triton.language.core import _aggregate as aggregate
from triton.language.core import aggregate_replace, constexpr_type

N = 16


@aggregate
class Tile:
    values: tl.tensor
    scale: tl.constexpr

    @triton.constexpr_function
    def __init__(self, values, scale):
        self.values = values
        self.scale = tl.constexpr(scale)

    @triton.jit
    def scaled(self):
        return self.values * self.scale

    @triton.jit
    def plus(self, x):
        return Tile(self.values + x, self.scale)

    @triton.constexpr_function
    def twice(self):
        return 2

    @staticmethod
    @triton.jit
    def load(ptr, SCALE: tl.constexpr):
        return Tile(tl.load(ptr + tl.arange(0, 16)), SCALE)


@aggregate
class Two(Tile):
    other: Tile

    @triton.constexpr_function
    def __init__(self, values, scale, other):
        self.values = values
        self.scale = scale
        self.other = other

    @triton.jit
    def total(self):
        return self.scaled() + self.other.scaled()


@aggregate
class Plain:
    values: tl.tensor
    more: tl.constexpr = 5


@aggregate
class Forgets:
    values: tl.tensor
    scale: tl.constexpr

    @triton.constexpr_function
    def __init__(self, values):
        self.values = values


Named = namedtuple("Named", ["a", "b"])


class Typed(NamedTuple):
    a: tl.tensor
    b: int = 3


@triton.jit
def methods(x, out, n):
    tile = Tile.load(x, 3)
    tl.static_assert(tile.scale == 3)
    for _ in range(n):
        tile = tile.plus(1.0)
    two = Two(tile.values, 2, tile)
    if n > 1:
        two = Two(two.values + 1, 2, two.other)
    tl.store(out + tl.arange(0, 16), two.total() * tile.twice())


@triton.jit
def fields(x, out):
    tile = Plain(tl.load(x + tl.arange(0, 16)))
    changed = aggregate_replace(tile, values=tile.values * 2)
    named = Named(changed.values, tile.values)
    typed = Typed(named.a)
    tl.static_assert(isinstance(tile, Plain) and not isinstance(tile, Tile))
    tl.store(out + tl.arange(0, 16), typed.a + named[1] + typed.b + tile.more)


@triton.jit
def unset(x):
    Forgets(tl.load(x + tl.arange(0, 16)))


@triton.jit
def unpacked(x):
    values, _ = Plain(tl.load(x + tl.arange(0, 16)))


@triton.jit
def assigned(x):
    tile = Plain(tl.load(x + tl.arange(0, 16)))
    tile.values = tile.values + 1


@triton.jit
def types(out, c: tl.constexpr):
    value = c
    tl.static_assert(c.type == constexpr_type(10) and isinstance(c.type, tl.constexpr_type))
    tl.static_assert(value.type == tl.int32)
    tl.store(out + tl.arange(0, 16), value)


class Aggregates(unittest.TestCase):
    def setUp(self):
        self.x = np.arange(N, dtype=np.float32)
        self.out = np.zeros(N, np.float32)

    def test_methods(self):
        for n in (0, 1, 4):
            methods[(1,)](self.x, self.out, n)
            values = self.x + n
            np.testing.assert_array_equal(self.out, ((values + (n > 1)) * 2 + values * 3) * 2)

    def test_fields(self):
        fields[(1,)](self.x, self.out)
        np.testing.assert_array_equal(self.out, 3 * self.x + 8)

    def test_classes_of_the_package(self):
        types[(1,)](self.out, 10)
        np.testing.assert_array_equal(self.out, 10)

    def test_mistakes(self):
        for kernel, message in ((unset, "`__init__` of Forgets does not set its field `scale`"), (unpacked, "an aggregate 'Plain'"),
                                (assigned, "aggregate_replace")):
            with self.assertRaises(triton.CompilationError) as raised:
                kernel[(1,)](self.x)
            self.assertIn(message, str(raised.exception))


if __name__ == "__main__":
    unittest.main()
