"""@triton.jit: what kernels see of Python, how they are called, what is said when something is wrong."""
import math
import os
import pickle
import tempfile
import threading
import unittest
from typing import NamedTuple

import numpy as np

import tilec
import tilec.triton as triton
import tilec.triton.language as tl
from tilec.triton.compiler.errors import CompilationError
from tilec.triton.runtime.builtins import key as marked_key
from tilec.triton.language.extra import libdevice
from testing import run

SCALE = tl.constexpr(3)
KIND = tl.float32
PLAIN = 4


@triton.must_use_result("It is only computed.")
@triton.jit
def cubed(x):
    return x * x * x


@triton.jit
@triton.must_use_result
def squared(x):
    return x * x


@triton.jit
def times(v, by: tl.constexpr):
    return v * by * SCALE


POINTER = tl.pointer_type(tl.int32)


class Pair(NamedTuple):
    first: object
    second: object


@triton.constexpr_function
def swapped(pair):
    return Pair(pair.second, pair.first)


@triton.jit
def wrong(v):
    return v + nowhere  # noqa: F821


@triton.jit
def calls_wrong(v):
    return wrong(v)


@triton.constexpr_function
def twice(n):
    return [n * 2 for _ in "Python of any kind"][-1]


@triton.jit
def arcsines(x, y, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    tl.store(y + i, libdevice.asin(tl.load(x + i)))


@triton.jit
def scale(x, y, n, BLOCK: tl.constexpr, BY: tl.constexpr = 2):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + i, times(tl.load(x + i, mask=i < n), twice(BY)), mask=i < n)


def filled(n=100):
    return np.arange(n, dtype=np.float32), np.zeros(n, np.float32)


def marked(fn):
    def wrapper(*args, _semantic, **keywords):
        return fn(*args, **keywords, _builder=_semantic)

    wrapper.__triton_builtin__ = True
    return wrapper


@marked
def if_mask(mask, value, *, _builder=None):
    return tl.constexpr(None) if isinstance(mask, tl.constexpr) and mask.value is None else value


@marked
def next_power(n, *, _builder=None):
    assert isinstance(n, tl.constexpr)
    return tl.constexpr(triton.next_power_of_2(n.value))


@tl.core.builtin
def shape_of(x, like=None, _semantic=None):
    assert isinstance(x, tl.tensor)
    return tuple(int(size) for size in x.shape) + (str(x.dtype),)


@tl.core.builtin
def builds(x, _semantic=None):
    return _semantic.add(x, x)


@triton.jit
def uses_marked(x, y, MASKED: tl.constexpr):
    i = tl.arange(0, next_power(5))
    mask = i < 5 if MASKED else None
    other = tl.full([8], 7, tl.float32)
    v = tl.load(x + i, mask, other=if_mask(mask, other))
    tl.static_assert(shape_of(v) == (8, "fp32"))
    tl.store(y + i, v)


@triton.jit
def builds_ir(x):
    tl.store(x, builds(tl.load(x)))


class Calls(unittest.TestCase):
    def test_results(self):
        x, y = filled()
        scale[(4,)](x, y, 100, BLOCK=32)
        np.testing.assert_array_equal(y, x * 12)
        scale[lambda meta: (triton.cdiv(meta["n"], meta["BLOCK"]),)](x, y, n=100, BLOCK=64, BY=1, num_warps=2)
        np.testing.assert_array_equal(y, x * 6)

    def test_simulator(self):
        said, status = run("-c", "import sys; sys.path.insert(0, sys.argv[1])\nfrom test_jit import *\nx, y = filled()\n"
                                 "scale[(4,)](x, y, 100, BLOCK=32)\nassert (y == x * 12).all()\n"
                                 "try: scale[(4,)](x[:50], y[:50].copy(), 100, BLOCK=32)\n"
                                 "except tilec.KernelError as e: print(e, e.__cause__)", os.path.dirname(os.path.abspath(__file__)),
                           env={"TILEC_DEVICE": "sim"})
        self.assertEqual(status, 0, said)
        self.assertRegex(said, r"test_jit.py:\d+:5: error: kernel scale, program \(\d, 0, 0\), thread .*: store of 4 bytes .*'y'")
        self.assertTrue(said.endswith(" None\n"), said)

    def test_grids(self):
        x, y = filled()
        scale[[4]](x, y, 100, BLOCK=32)
        np.testing.assert_array_equal(y, x * 12)
        with self.assertRaisesRegex(ZeroDivisionError, "by zero"):
            scale[lambda meta: (1 // 0,)](x, y, 100, BLOCK=32)
        for grid, said in ((4, "a grid is a tuple of one to three integers, or a function that gives one, not 4"),
                           ((1, 1, 1, 1), "a grid is a tuple of one to three integers"), (("4",), "cannot be interpreted as an integer")):
            with self.assertRaisesRegex(TypeError, said):
                scale[grid](x, y, 100, BLOCK=32)
        for grid in ((-1,), (1, 1 << 40), (1 << 70,)):
            with self.assertRaisesRegex(ValueError, "has a negative side, or one that is too large"):
                scale[grid](x, y, 100, BLOCK=32)

    def test_what_is_given(self):
        x, y = filled()
        for call, error, said in ((lambda: scale[(1,)](x, y, 100), TypeError, "scale() missing 1 required positional argument: 'BLOCK'; 'BLOCK' is a constexpr"),
                                  (lambda: scale[(1,)](x, y, BLOCK=32), TypeError, "scale() missing 1 required positional argument: 'n'"),
                                  (lambda: scale[(1,)](x, y, 100, 32, BLOCK=32), TypeError, "scale() got multiple values for argument 'BLOCK'"),
                                  (lambda: scale[(1,)](x, y, 100, 32, 2, 3), TypeError, "scale() takes from 4 to 5 positional arguments but 6 were given"),
                                  (lambda: scale[(1,)](x, y, 100, BLOCK=32, BLOK=1), KeyError, "Keyword argument BLOK was specified but unrecognised; did you mean BLOCK?"),
                                  (lambda: scale[(1,)](x, y, 100, BLOCK=object()), TypeError, "'BLOCK' of 'scale' is a constexpr, and an object of type object is none"),
                                  (lambda: scale[(1,)](x, y, 100, BLOCK=x), TypeError, "'BLOCK' of 'scale' is a constexpr, and a tensor is none"),
                                  (lambda: scale[(1,)](x, "y", 100, BLOCK=32), TypeError, "argument 'y': failed to specialize argument of type: str"),
                                  (lambda: scale[(1,)](x, y, tl.float32, BLOCK=32), TypeError, "argument 'n': failed to specialize argument of type: dtype"),
                                  (lambda: scale[(1,)](x, y, 1 << 64, BLOCK=32), OverflowError, "integer to be specialized too large to represent"),
                                  (lambda: scale[(1,)](x, y.astype(complex), 100, BLOCK=32), TypeError, "argument 'y': no kernel has elements of type complex128"),
                                  (lambda: scale(x, y, 100, 32), RuntimeError, "Cannot call @triton.jit'd outside"),
                                  (lambda: scale[(1,)](x, y, 100, BLOCK=32, num_warps=3), AssertionError, "num_warps must be a power of 2"),
                                  (lambda: scale[(1,)](x, y, 100, BLOCK=32, launch_pdl=2), TypeError, "launch_pdl=2")):
            with self.assertRaises((error, CompilationError)) as caught:
                call()
            self.assertIn(said, str(caught.exception))

    def test_functions_of_libdevice(self):
        x = np.linspace(-1, 1, 256, dtype=np.float32)
        for given in ({}, {"extern_libs": {"libdevice": "/a/file/that/is/not/read.bc"}}):
            y = np.zeros_like(x)
            arcsines[(1,)](x, y, BLOCK=256, **given)
            np.testing.assert_allclose(y, np.arcsin(x), rtol=5e-7)
        with self.assertRaisesRegex(TypeError, "extern_libs=.*other"):
            arcsines[(1,)](x, y, BLOCK=256, extern_libs={"other": "other.bc"})

    def test_numbers_of_numpy(self):
        x, y = filled()
        scale[(np.int64(4),)](x, y, np.int32(100), BLOCK=np.int64(32), BY=np.int8(1))
        np.testing.assert_array_equal(y, x * 6)

    def test_warmup_compiles_and_launches_nothing(self):
        x, y = filled()
        scale.warmup(x, y, 100, BLOCK=32, grid=(4,))
        self.assertEqual(y.tolist(), [0] * 100)
        with self.assertRaises(CompilationError):
            scale.warmup(x, y, 100, BLOCK=24, grid=(4,))

    def test_hooks_and_threads(self):
        x, y = filled()
        seen = []

        @triton.jit
        def copy(x, y, BLOCK: tl.constexpr):
            tl.store(y + tl.arange(0, BLOCK), tl.load(x + tl.arange(0, BLOCK)))

        copy.add_pre_run_hook(lambda *args, **kwargs: seen.append(sorted(kwargs)))
        threads = [threading.Thread(target=lambda: copy[(1,)](x, y, BLOCK=64)) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(seen, [["BLOCK"]] * 4)
        np.testing.assert_array_equal(y[:64], x[:64])


class Names(unittest.TestCase):
    def test_closures_and_functions_as_arguments(self):
        factor = tl.constexpr(7)

        @triton.jit
        def square(v):
            return v * v

        @triton.jit
        def cube(v):
            return square(v) * v

        @triton.jit
        def apply(x, f: tl.constexpr, BLOCK: tl.constexpr):
            i = tl.arange(0, BLOCK)
            tl.store(x + i, f(tl.load(x + i)) * factor)

        for function, power in ((square, 2), (cube, 3)):
            x = np.arange(16, dtype=np.float32)
            apply[(1,)](x, function, BLOCK=16)
            np.testing.assert_array_equal(x, np.arange(16, dtype=np.float32) ** power * 7)

    def test_functions_marked_as_builtin(self):
        x, y = filled()
        uses_marked[(1,)](x, y, MASKED=True)
        self.assertEqual(y[:9].tolist(), [0, 1, 2, 3, 4, 7, 7, 7, 0])
        uses_marked[(1,)](x, y, MASKED=False)
        self.assertEqual(y[:9].tolist(), [0, 1, 2, 3, 4, 5, 6, 7, 0])
        with self.assertRaisesRegex(CompilationError, "_semantic.add is not in tilec"):
            builds_ir[(1,)](x)
        keys = {marked_key(function) for function in (if_mask, next_power, shape_of, builds)}
        self.assertEqual(len(keys), 4)

    def test_constants_are_part_of_the_key(self):
        global SCALE
        x, y = filled()

        @triton.jit
        def mine(x, y, BLOCK: tl.constexpr):
            tl.store(y + tl.arange(0, BLOCK), tl.load(x + tl.arange(0, BLOCK)).to(KIND) * SCALE)

        mine[(1,)](x, y, BLOCK=64)
        key, kept = mine.cache_key, SCALE
        try:
            SCALE = tl.constexpr(5)
            with self.assertRaisesRegex(RuntimeError, "Global variable SCALE has changed since we compiled this kernel"):
                mine[(1,)](x, y, BLOCK=64)
            mine.hash = None
            self.assertNotEqual(mine.cache_key, key)
            mine[(1,)](x, y, BLOCK=64)
            np.testing.assert_array_equal(y[:64], x[:64] * 5)
        finally:
            SCALE = kept

    def test_plain_globals_are_refused_where_they_stand(self):
        @triton.jit
        def wrong(x):
            tl.store(x, PLAIN)

        with self.assertRaises(CompilationError) as caught:
            wrong[(1,)](np.zeros(1, np.int32))
        self.assertIn("Cannot access global variable PLAIN from within @jit'ed function", str(caught.exception))
        self.assertIn("    tl.store(x, PLAIN)\n", str(caught.exception))
        self.assertEqual(caught.exception.node.lineno, 2)
        self.assertIsInstance(caught.exception.__cause__, NameError)
        self.assertTrue(str(caught.exception.__cause__).startswith("Cannot access global variable PLAIN"))

    def test_values_and_functions_of_modules(self):
        @triton.jit
        def k(x):
            log: tl.constexpr = math.log2(math.e)
            tl.store(x, log)

        x = np.zeros(1, np.float32)
        k[(1,)](x)
        self.assertEqual(x[0], np.float32(math.log2(math.e)))

    def test_functions_of_the_language_are_constants(self):
        @triton.jit
        def k(x, OP: tl.constexpr):
            tl.store(x, OP(tl.load(x), 5))

        x = np.array([3], np.int32)
        k[(1,)](x, tl.maximum)
        self.assertEqual(x[0], 5)
        k[(1,)](x, OP=tl.cdiv)
        self.assertEqual(x[0], 1)

    def test_pointers_to_constants(self):
        @triton.jit
        def k(x: tl.const, y):
            tl.store(y, tl.load(x))
            tl.store(x, 1)

        with self.assertRaisesRegex(CompilationError, "Cannot store to a constant pointer") as caught:
            k[(1,)](np.zeros(1, np.int32), np.zeros(1, np.int32))
        self.assertEqual(caught.exception.node.lineno, 3)

    def test_options_of_launches_here(self):
        x, y = filled(32)
        scale[(2,)](x, y, 32, BLOCK=16, launch_cooperative_grid=True, launch_pdl=True, enable_reflect_ftz=True)
        np.testing.assert_array_equal(y, x * 12)
        with self.assertRaisesRegex(TypeError, "is not supported by tilec"):
            scale[(1,)](x, y, 32, BLOCK=32, extern_libs={"other": "x.bc"})

    def test_names_by_repr(self):
        asked = []

        def name(specialization):
            asked.append(specialization)
            ones = "_".join(name for name, value in specialization.constants.items() if isinstance(value, int) and value == 1)
            return f"some.where.k_{specialization.signature['n']}_{ones}"

        @triton.jit(repr=name)
        def k(x, n, one, BLOCK: tl.constexpr):
            tl.store(x + tl.arange(0, BLOCK), (n + one).to(tl.float32))

        x = np.zeros(4, np.float32)
        for n, kind in ((3, "i32"), (2**40, "i64"), (2**63, "u64"), (5, "i32"), (2**41, "i64")):
            for _ in range(2):
                kernel = k[(1,)](x, n, 1, BLOCK=4)
                self.assertEqual(kernel.name, f"k_{kind}_one")
                self.assertEqual(kernel.metadata.name, f"k_{kind}_one")
                self.assertEqual(x[0], np.float32(n + 1))
        self.assertIn(".entry k_i64_one(", k.warmup(x, 2**42, 1, BLOCK=4, grid=(1,)).asm["ptx"])
        self.assertEqual(k.warmup(x, 2, 2, BLOCK=4, grid=(1,)).name, "k_i32_")
        self.assertEqual(len(asked), 4)  # once for each instance
        self.assertEqual(asked[0].constants, {"one": 1, "BLOCK": 4})
        self.assertEqual(asked[0].signature, {"x": "*fp32", "n": "i32", "one": "constexpr", "BLOCK": "constexpr"})

        @triton.jit(repr=lambda specialization: "not a name")
        def wrong_name(x):
            tl.store(x, 1.0)

        with self.assertRaisesRegex(CompilationError, "the kernel of `wrong_name` cannot be called 'not a name' in its code"):
            wrong_name[(1,)](x)

    def test_architectures(self):
        @triton.jit
        def k(x):
            tl.store(x, 2.0 if tl.target_info.cuda_capability_geq(9) else 1.0)

        x = np.zeros(1, np.float32)
        for arch, wanted in (("sm80", 1), ("sm90", 2), (None, None)):
            kernel = k[(1,)](x, arch=arch)
            if wanted:
                self.assertEqual(x[0], wanted)
                self.assertIn(f".target sm_{arch[2:]}", kernel.asm["ptx"])
        with triton.knobs.runtime.scope():
            triton.knobs.runtime.override_arch = "sm80"
            k[(1,)](x)
            self.assertEqual(x[0], 1)
            k[(1,)](x, arch="sm90")
            self.assertEqual(x[0], 2)
        with self.assertRaisesRegex(ValueError, "must have the form"):
            k[(1,)](x, arch="hopper")

    def test_subnormals_of_exponentials(self):
        @triton.jit
        def k(x):
            tl.store(x, tl.exp2(tl.load(x)))

        for kept in (False, True, None):
            x = np.full(1, -127, np.float32)
            kernel = k[(1,)](x, enable_reflect_ftz=kept)
            self.assertEqual("ex2.approx.ftz.f32" in kernel.asm["ptx"], kept is not False)

    def test_blocks_of_a_program(self):
        x, y = filled(32)
        self.assertEqual(scale[(2,)](x, y, 32, BLOCK=16, num_ctas=4).metadata.num_ctas, 1)
        np.testing.assert_array_equal(y, x * 12)

    def test_floats_held_as_bits(self):
        @triton.jit
        def widened(x, y, N: tl.constexpr, DTYPE: tl.constexpr):
            i = tl.arange(0, N)
            x = x.to(tl.pointer_type(DTYPE), bitcast=True)
            tl.store(y + i, tl.load(x + i, mask=i >= 0, other=0.0).to(tl.float32))

        @triton.jit
        def narrowed(x, y, N: tl.constexpr, DTYPE: tl.constexpr):
            i = tl.arange(0, N)
            tl.store(y.to(tl.pointer_type(DTYPE), bitcast=True) + i, tl.load(x + i))

        @triton.jit
        def sizes(x, y, N: tl.constexpr, DTYPE: tl.constexpr):
            i = tl.arange(0, N)
            v = tl.load(x.to(tl.pointer_type(DTYPE), bitcast=True) + i)
            tl.static_assert(v.dtype.is_fp8())
            tl.store(y + i, tl.where(i % 2 == 0, tl.abs(v), -v).to(tl.uint8, bitcast=True))

        @triton.jit
        def product(x, y, z, N: tl.constexpr, DTYPE: tl.constexpr):
            i = tl.arange(0, N)
            at = i[:, None] * N + i[None, :]
            a, b = tl.load(x + at).to(DTYPE, bitcast=True), tl.load(y + at).to(DTYPE, bitcast=True)
            tl.store(z + at, tl.dot(a, b))

        for dtype, fraction, bias in ((tl.float8e4b15, 3, 15), (tl.float8e4b8, 3, 8), (tl.float8e5b16, 2, 16)):
            codes = np.arange(256, dtype=np.uint8)
            exponent, rest = (codes & 127) >> fraction, (codes & ((1 << fraction) - 1)).astype(np.float64)
            table = np.where(exponent == 0, rest * 2.0**(1 - bias - fraction), (1 + rest / (1 << fraction)) * 2.0**(exponent.astype(np.float64) - bias))
            table = np.where(codes >= 128, -table, table)
            one_nan = dtype != tl.float8e4b15
            if one_nan:
                table[128] = np.nan
            wide = np.zeros(256, np.float32)
            widened[(1,)](codes, wide, N=256, DTYPE=dtype)
            np.testing.assert_array_equal(wide, table)

            made = np.zeros(256, np.uint8)
            sizes[(1,)](codes, made, N=256, DTYPE=dtype)
            np.testing.assert_array_equal(table[made], np.where(codes % 2 == 0, abs(table), -table))

            least, most = table[1], table[:127].max() if dtype == tl.float8e4b15 else table[127]
            random = np.random.default_rng(3)
            values = np.concatenate([table[:127], (table[:126] + table[1:127]) / 2, np.nextafter(((table[:126] + table[1:127]) / 2).astype(np.float32), 9),
                                     random.uniform(-2 * most, 2 * most, 200), random.uniform(-8 * least, 8 * least, 200), [np.inf, most * 1e3]])
            values = np.concatenate([values, -values, [np.nan]])
            values = np.concatenate([values, np.zeros(2048 - len(values))]).astype(np.float32)
            made = np.zeros(2048, np.uint8)
            narrowed[(1,)](values, made, N=2048, DTYPE=dtype)
            if one_nan:
                exact = values.astype(np.float64)
            else:
                with np.errstate(over="ignore"):
                    exact = values.astype(np.float16)
                exact = np.where(abs(exact.astype(np.float64)) > abs(values), np.nextafter(exact, np.float16(0)), exact).astype(np.float64)
            positive = table[:128][table[:128] <= most]
            size = np.minimum(np.nan_to_num(abs(exact), nan=most, posinf=most), most)
            above = np.searchsorted(positive, size)
            below = np.maximum(above - 1, 0)
            half = (positive[above] + positive[below]) / 2
            up = (size > half) | ((size == half) & ((above % 2 == 0) | (not one_nan)))
            wanted = positive[np.where(up, above, below)]
            wanted = np.where(np.isnan(values), np.nan if one_nan else wanted, np.copysign(wanted, values))
            np.testing.assert_array_equal(table[made], wanted)

            x, y, z = (random.integers(0, 120, (32, 32)).astype(np.uint8) for _ in range(3))
            z = np.zeros((32, 32), np.float32)
            product[(1,)](x, y, z, N=32, DTYPE=dtype)
            np.testing.assert_allclose(z, table[x] @ table[y], rtol=1e-5)

    def test_overflow_of_integers(self):
        @triton.jit
        def k(x, y, z, n, OP: tl.constexpr, BLOCK: tl.constexpr):
            i = tl.arange(0, BLOCK)
            a, b = tl.load(x + i, i < n), tl.load(y + i, i < n)
            if OP == "+":
                r = a + b
            elif OP == "-":
                r = a - b
            elif OP == "*":
                r = a * b
            elif OP == "negate":
                r = -a + 0 * b
            elif OP == "wrap":
                r = tl.add(tl.mul(a, b, sanitize_overflow=False), tl.sub(a, b, False), sanitize_overflow=False)
            else:
                r = a
                r += b
            tl.store(z + i, r, i < n)

        exact = {"+": lambda a, b: a + b, "-": lambda a, b: a - b, "*": lambda a, b: a * b, "negate": lambda a, b: -a + 0 * b,
                 "wrap": lambda a, b: a * b + a - b, "+=": lambda a, b: a + b}
        named = {"+": "add", "-": "sub", "*": "mul", "negate": "sub", "+=": "add"}
        random = np.random.default_rng(7)
        for dtype in (np.int8, np.int16, np.int32, np.uint8, np.uint16, np.uint32, np.int64):
            least, most = np.iinfo(dtype).min, np.iinfo(dtype).max
            numbers = [least, least + 1, most, most - 1, 0, 1, 2, 3, most // 2, most // 2 + 1, *random.integers(least, most, 4, dtype)]
            for a, b in [(a, b) for a in numbers for b in numbers[:10]][::11]:
                x, y, z = np.full(3, a, dtype), np.full(3, b, dtype), np.zeros(3, dtype)
                for op, compute in exact.items():
                    steps = [compute(int(a), int(b))] + ([-int(a)] if op == "negate" else [])
                    if dtype is np.int64 or op == "wrap" or all(least <= step <= most for step in steps):
                        k[(1,)](x, y, z, 3, OP=op, BLOCK=4, debug=True)
                        self.assertEqual(int(z[2]), (steps[0] - least) % (1 << 8 * x.itemsize) + least, (dtype, op, a, b))
                    else:
                        said = f"int{8 * x.itemsize} overflow detected for operation {named[op]}"
                        with self.assertRaisesRegex(tilec.Assertion, said) as caught:
                            k[(1,)](x, y, z, 3, OP=op, BLOCK=4, debug=True)
                        self.assertRegex(str(caught.exception), r"test_jit\.py:\d+")
                        k[(1,)](x, y, z, 3, OP=op, BLOCK=4, debug=True, sanitize_overflow=False)
                        k[(1,)](x, y, z, 3, OP=op, BLOCK=4, sanitize_overflow=True)  # an assertion, which debug keeps

    def test_results_that_must_be_used(self):
        @triton.jit
        def k(x):
            cubed(2)

        @triton.jit
        def other(x):
            squared(tl.load(x))

        @triton.jit
        def used(x):
            tl.store(x, cubed(2) + squared(3))

        x = np.zeros(1, np.int32)
        for kernel, said in ((k, "The result of cubed is not being used. It is only computed."), (other, "The result of squared is not ")):
            with self.assertRaises(CompilationError) as caught:
                kernel[(1,)](x)
            self.assertIn(said, str(caught.exception))
            self.assertEqual(caught.exception.node.lineno, 2)
            self.assertIsNone(caught.exception.__cause__)
        used[(1,)](x)
        self.assertEqual(x[0], 17)

    def test_constants_of_functions_around(self):
        def make(value):
            SIZE = tl.constexpr(value)

            @triton.jit
            def k(x):
                tl.store(x, SIZE)

            def change(value):
                nonlocal SIZE
                SIZE = tl.constexpr(value)

            return k, change

        x = np.zeros(1, np.int32)
        k, change = make(3)
        for value in (3, 3, 3):
            change(value)
            k[(1,)](x)
            k[(1,)](x)
        self.assertEqual(x[0], 3)
        change(4)
        for _ in range(2):
            with self.assertRaisesRegex(RuntimeError, r"SIZE has changed since .*from constexpr\[3\] to constexpr\[4\]"):
                k[(1,)](x)
        change(3)
        k[(1,)](x)

    def test_pointer_types_are_constants(self):
        @triton.jit
        def k(x, address):
            tl.store(x, tl.load(address.to(POINTER)))

        x, y = np.zeros(1, np.int32), np.full(1, 7, np.int32)
        k[(1,)](x, y)
        self.assertEqual(x[0], 7)

    def test_classes_in_calls_of_functions_of_python(self):
        @triton.jit
        def k(x):
            tl.store(x, swapped(Pair(20, "a@1")).second + swapped(Pair(1, 2)).first)

        x = np.zeros(1, np.int32)
        k[(1,)](x)
        self.assertEqual(x[0], 22)

    def test_errors_in_functions_that_a_kernel_calls(self):
        @triton.jit
        def kernel(x):
            tl.store(x, 1)
            calls_wrong(x)

        with self.assertRaises(CompilationError) as caught:
            kernel[(1,)](np.zeros(1, np.int32))
        inner = caught.exception.__cause__
        self.assertEqual((caught.exception.node.lineno, inner.node.lineno, inner.src), (3, 2, calls_wrong.src))
        self.assertIsInstance(inner, CompilationError)
        self.assertEqual(str(inner.__cause__.__cause__), "`nowhere` is not defined")
        self.assertEqual(inner.__cause__.src, wrong.src)
        self.assertEqual([note[0] for note in caught.exception.diagnostics[0].notes], ["note", "note"])

    def test_constexprs_are_specialised(self):
        @triton.jit(do_not_specialize=["N"])
        def k(N: tl.constexpr):
            pass

        with self.assertRaisesRegex(CompilationError, "N marked as constexpr and listed in do_not_specialize"):
            k[(1,)](5)

    def test_functions_of_python_are_refused(self):
        def plain(v):
            return v

        @triton.jit
        def wrong(x):
            tl.store(x, plain(1))

        with self.assertRaisesRegex(CompilationError, "Unsupported function referenced"):
            wrong[(1,)](np.zeros(1, np.int32))

    def test_two_modules_with_one_name(self):
        with tempfile.TemporaryDirectory() as folder:
            for name, by in (("one", 2), ("two", 3)):
                with open(os.path.join(folder, name + ".py"), "w", encoding="utf-8") as file:
                    file.write(f"import triton\nimport triton.language as T\nFACTOR = T.constexpr({by})\n\n\n"
                               f"@triton.constexpr_function\ndef more(n):\n    return n + {by}\n\n\n"
                               "@triton.jit\ndef f(v):\n    return v * FACTOR + more(100)\n")
            with open(os.path.join(folder, "main.py"), "w", encoding="utf-8") as file:
                file.write("import one, two, triton, numpy as np\nfrom triton import language as lang\n\n\n@triton.jit\ndef k(x):\n"
                           "    lang.store(x, one.f(1) + 10 * two.f(1))\n\n\nx = np.zeros(1, np.int32)\nk[(1,)](x)\nprint(x[0])\n")
            self.assertEqual(run("-m", "tilec", os.path.join(folder, "main.py")), ("1164\n", 0))


class Functions(unittest.TestCase):
    def test_attributes(self):
        self.assertEqual(scale.arg_names, ["x", "y", "n", "BLOCK", "BY"])
        self.assertEqual((scale.constexprs, scale.params[4].default, scale.params[3].is_constexpr), ([3, 4], 2, True))
        self.assertTrue(scale.src.startswith("def scale(x, y, n,"))
        self.assertEqual(scale.raw_src[0], "@triton.jit\n")
        self.assertEqual((scale.__name__, scale.fn.__name__, scale.module), ("scale", "scale", __name__))
        with self.assertRaisesRegex(AttributeError, "Cannot set attribute 'src' directly"):
            scale.src = ""

    def test_another_text(self):
        x, y = filled()

        @triton.jit
        def k(x):
            tl.store(x, 1)

        k._unsafe_update_src("def k(x):\n    tl.store(x, 2)\n")
        k[(1,)](x)
        self.assertEqual(x[0], 2)

    def test_pickles_by_name(self):
        self.assertIs(pickle.loads(pickle.dumps(scale)), scale)

    def test_only_functions_with_text(self):
        with self.assertRaisesRegex(ValueError, "should be defined in a Python file"):
            exec("@triton.jit\ndef k(x):\n    pass\n", {"triton": triton, "__name__": "nowhere"})

    def test_errors_are_the_interpreters_too(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "wrong.py")
            with open(path, "w", encoding="utf-8") as file:
                file.write("import triton, triton.language as tl, numpy as np\nfrom triton.runtime.errors import InterpreterError\n\n\n"
                           "@triton.jit\ndef k(x):\n    tl.store(x, tl.arange(0, 3))\n\n\ntry:\n    k[(1,)](np.zeros(4, np.int32))\n"
                           "except InterpreterError as error:\n    print(isinstance(error, triton.CompilationError), error.node.lineno)\n")
            self.assertEqual(run("-m", "tilec", path, env={"TRITON_INTERPRET": "1"}), ("True 2\n", 0))

    def test_text_of_exec_where_kernels_run_here(self):
        text = ("import triton, triton.language as tl, numpy as np\nfound = {}\n"
                "exec('@triton.jit\\ndef f(v):\\n    return v + 1\\n\\n\\n@triton.jit\\ndef k(x):\\n    tl.store(x, f(2))\\n', globals(), found)\n"
                "globals().update(found)\nx = np.zeros(1, np.int32)\nfound['k'][(1,)](x)\nprint(x[0])\n")
        self.assertEqual(run("-m", "tilec", "-c", text, env={"TRITON_INTERPRET": "1"}), ("3\n", 0))
        said, status = run("-m", "tilec", "-c", text, env={"TRITON_INTERPRET": "0"})
        self.assertIn("@jit functions should be defined in a Python file", said)
        self.assertEqual(status, 1)


if __name__ == "__main__":
    unittest.main()
