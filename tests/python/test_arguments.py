"""Arguments of launches: what each kind of Python's values is for a kernel."""
import enum
import os
import sys
import unittest
from collections import namedtuple
from typing import NamedTuple

import numpy as np

import tilec
import tilec.triton as triton
import tilec.triton.language as tl
from tilec import _arrays
from tilec.triton.compiler.errors import CompilationError
from tilec.triton.runtime.jit import MockTensor, TensorWrapper, _normalize_ty, reinterpret
from tilec.triton.tools import ragged_tma
from tilec.triton.tools.tensor_descriptor import TensorDescriptor
from testing import run


class Mode(enum.Enum):
    ADD = "add"
    MUL = "mul"


class Level(enum.IntEnum):
    LOW = 3


class Pair(NamedTuple):
    first: int
    second: int = 5


class Tensor:
    """What Triton asks of a tensor, over NumPy."""

    class Type:
        def __init__(self, dtype):
            self.itemsize, self.is_floating_point, self._name = dtype.itemsize, dtype.kind == "f", str(dtype)

        def __str__(self):
            return self._name

    def __init__(self, array):
        self.array, self.nbytes, self.shape = array, array.nbytes, array.shape
        self.dtype = self.Type(array.dtype)

    def data_ptr(self):
        return self.array.__array_interface__["data"][0]

    def stride(self):
        return tuple(stride // self.array.itemsize for stride in self.array.strides)


class OnlyDlpack:
    """As JAX's arrays on the host: nothing else is known of them."""

    def __init__(self, array):
        self._array = array

    def __dlpack__(self):
        return self._array.__dlpack__()

    def __dlpack_device__(self):
        return 1, 0


def aligned(shape, dtype):
    """Zeros at a multiple of 64 bytes."""
    size = int(np.prod(shape)) * np.dtype(dtype).itemsize
    raw = np.zeros(size + 64, np.uint8)
    begin = -raw.__array_interface__["data"][0] % 64
    return raw[begin:begin + size].view(dtype).reshape(shape)


@triton.jit
def store(out, value):
    tl.store(out, value)


@triton.jit
def plus(a, b):
    return a + b


class Numbers(unittest.TestCase):
    def stored(self, dtype, value):
        out = np.zeros(1, dtype)
        store[(1,)](out, value)
        return out[0]

    def test_kinds(self):
        for dtype, value in ((np.int32, 7), (np.int64, 1 << 40), (np.uint64, (1 << 64) - 1), (np.float32, 1.5), (np.bool_, True), (np.int32, Level.LOW),
                             (np.int32, np.int8(-4)), (np.float32, np.float16(2.5)), (np.int32, tl.constexpr(9))):
            self.assertEqual(self.stored(dtype, value), value.value if isinstance(value, tl.constexpr) else value)

    def test_one_is_a_constexpr_where_it_is_specialised_on(self):
        @triton.jit
        def kind(out, n):
            tl.static_assert(n == 1)
            tl.store(out, n)

        @triton.jit(do_not_specialize=["n"])
        def general(out, n):
            tl.static_assert(n == 1)

        @triton.jit
        def annotated(out, n: tl.int32):
            tl.static_assert(n == 1)

        out = np.zeros(1, np.int32)
        kind[(1,)](out, 1)
        self.assertEqual(out[0], 1)
        for function, n in ((kind, 2), (general, 1), (annotated, 1), (kind, True)):
            with self.assertRaises(CompilationError, msg=f"{function}, {n}"):
                function[(1,)](out, n)

    def test_annotations_are_types(self):
        @triton.jit
        def small(out, a: tl.uint8, b: "i16", c: "tl.float64", d: tl.float16, e: bool):
            tl.static_assert(a.dtype == tl.uint8 and b.dtype == tl.int16 and c.dtype == tl.float64 and d.dtype == tl.float16)
            tl.static_assert(e.dtype == tl.int1)
            tl.store(out, a.to(tl.float64))
            tl.store(out + 1, b.to(tl.float64))
            tl.store(out + 2, c)
            tl.store(out + 3, d.to(tl.float64))
            tl.store(out + 4, e.to(tl.float64))

        out = np.zeros(5)
        small[(1,)](out, 200, -3, 0.1, 0.1, 5)
        self.assertEqual(out.tolist(), [200, -3, 0.1, float(np.float16(0.1)), 1])
        small[(1,)](out, 1, 1, 1, 1, 0)
        self.assertEqual(out.tolist(), [1, 1, 1, 1, 0])
        for bad, error in (((256, 0, 0, 0, 0), OverflowError), ((0, 1 << 15, 0, 0, 0), None), ((0, 1 << 16, 0, 0, 0), OverflowError),
                           ((0, 0, "1", 0, 0), TypeError), ((0.5, 0, 0, 0, 0), TypeError)):
            if error:
                with self.assertRaisesRegex(error, "^argument '[abc]': "):
                    small[(1,)](out, *bad)
            else:
                small[(1,)](out, *bad)

    def test_annotated_pointers(self):
        @triton.jit
        def bits(out, x: "*i32"):
            tl.store(out, tl.load(x))

        out, x = np.zeros(1, np.int32), np.ones(1, np.float32)
        bits[(1,)](out, x)
        self.assertEqual(out[0], 0x3f800000)

    def test_names_of_types(self):
        for given, wanted in (("tl.float16", "fp16"), (tl.float16, "fp16"), ("const float*", "*kfp32"), ("*fp8e5", "*fp8e5"), (int, "i32"), (bool, "u1"),
                              ("int64_t", "i64"), (tl.pointer_type(tl.int8), "*i8"), ("tl.constexpr", "constexpr"), (tl.constexpr, "constexpr"),
                              (" half* ", "*fp16"), ("torch.Tensor", "torch.Tensor")):
            self.assertEqual(_normalize_ty(given), wanted, given)


class Tuples(unittest.TestCase):
    def test_nested(self):
        @triton.jit
        def add(outs, values, f):
            tl.store(outs[0], values[0] + values[1][0])
            tl.store(outs[1], f[0](values[1][1], f[1]))

        a, b = np.zeros(1, np.float32), np.zeros(1, np.int32)
        add[(1,)]((a, b), (1.5, (2, 1)), (plus, 40))
        self.assertEqual((a[0], b[0]), (3.5, 41))
        add[(1,)]([a, b] and (a, b), (1.5, (2, np.int64(3))), (plus, 40))
        self.assertEqual(b[0], 43)

    def test_items_are_specialised(self):
        @triton.jit(do_not_specialize=["t"])
        def kinds(out, t):
            tl.static_assert(len(t) == 4)
            tl.static_assert(t[0] == 1)
            tl.static_assert(t[1] is None)
            tl.store(out, t[2] + t[3])

        out = np.zeros(1, np.int32)
        kinds[(1,)](out, (1, None, 5, tl.constexpr(6)))
        self.assertEqual(out[0], 11)

    def test_named_tuples(self):
        class Tensor(NamedTuple):
            ptr: object
            shape: tuple
            scale: float = 2.0

        @triton.jit
        def scaled(t):
            return t.scale * t.shape[0]

        @triton.jit
        def use(out, closure):
            again = Pair(closure.second, 7)
            tl.store(out.ptr, out.shape[1] + scaled(out) + closure.first(again.first, again.second))

        y = np.zeros(1, np.float32)
        use[(1,)](Tensor(y, (2, 100)), Pair(plus, 3))
        self.assertEqual(y[0], 100 + 4 + 10)
        use[(1,)](Tensor(y, (2, 100), 5.0), Pair(plus, 1))
        self.assertEqual(y[0], 100 + 10 + 8)
        use.warmup(Tensor(MockTensor(tl.float32), (2, 100)), Pair(plus, 3), grid=(1,))
        with self.assertRaisesRegex(CompilationError, "scale"):
            use[(1,)](Pair(y, (1, 2)), Pair(plus, 1))

    def test_sizes_are_plain_tuples(self):
        class Size(tuple):
            """As torch's, which has integers alone."""

            def __new__(cls, items):
                assert all(type(item) is int for item in items), items
                return super().__new__(cls, items)

        @triton.jit
        def last(out, shape):
            tl.store(out, shape[1])

        out = np.zeros(1, np.int32)
        last[(1,)](out, Size((3, 9)))
        self.assertEqual(out[0], 9)
        last.warmup(MockTensor(tl.int32), Size((3, 9)), grid=(1,))
        last[(1,)](out, tl.tuple([3, 8]))
        self.assertEqual(out[0], 8)

    def test_of_constexprs(self):
        @triton.jit
        def shape(out, SHAPE: tl.constexpr, KINDS: tl.constexpr):
            tl.store(out + tl.arange(0, SHAPE[0] * SHAPE[1]), tl.full((SHAPE[0] * SHAPE[1],), 1, KINDS[0]))

        out = np.zeros(16, np.float16)
        for given in ((4, 4), [4, 4], (tl.constexpr(4), np.int64(4)) and (tl.constexpr(4), 4)):
            shape[(1,)](out, given, (tl.float16, "more"))
        self.assertEqual(out.sum(), 16)

    def test_lists_are_none_at_run_time(self):
        with self.assertRaisesRegex(TypeError, "argument 'value': failed to specialize argument of type: list"):
            store[(1,)](np.zeros(1, np.int32), [1])

    def test_what_is_refused(self):
        deep = ()
        for _ in range(70):
            deep = (deep,)
        for value in (deep, (1,) * 1000):
            with self.assertRaisesRegex(ValueError, "too long, or too deep"):
                store[(1,)](np.zeros(1, np.int32), value)


class Constexprs(unittest.TestCase):
    def test_enums(self):
        @triton.jit
        def choose(out, MODE: tl.constexpr, LEVEL: tl.constexpr):
            if MODE == Mode.ADD:
                tl.store(out, 1)
            elif MODE.value == "mul":
                tl.store(out, 2 if MODE.name == "MUL" else 3)
            tl.store(out + 1, LEVEL)

        out = np.zeros(2, np.int32)
        choose[(1,)](out, Mode.ADD, Level.LOW)
        self.assertEqual(out.tolist(), [1, 3])
        choose[(1,)](out, MODE=Mode.MUL, LEVEL=tl.constexpr(Level.LOW))
        self.assertEqual(out.tolist(), [2, 3])

    def test_named_tuples(self):
        @triton.jit
        def total(out, P: tl.constexpr):
            q = Pair(10)
            tl.store(out, P.first + P[1] + q.first + q.second)

        out = np.zeros(1, np.int32)
        total[(1,)](out, Pair(1, 2))
        self.assertEqual(out[0], 18)
        total[(1,)](out, Pair(1))
        self.assertEqual(out[0], 21)

    def test_named_tuples_and_enums_in_functions_of_python(self):
        @triton.constexpr_function
        def more(pair, mode, text):
            assert isinstance(pair, Pair) and mode is Mode.MUL and text == "@1('", (pair, mode, text)
            return Pair(pair.second, pair.first.upper())

        @triton.constexpr_function
        def other(n):
            return namedtuple("Other", "x")(n)

        @triton.jit
        def use(out, P: tl.constexpr, M: tl.constexpr):
            q = more(P, M, "@1('")
            tl.store(out, q.first + (1 if q.second == "A" else 0))

        @triton.jit
        def wrong(out):
            tl.store(out, other(3).x)

        out = np.zeros(1, np.int32)
        use[(1,)](out, Pair("a", 5), Mode.MUL)
        self.assertEqual(out[0], 6)
        with self.assertRaisesRegex(CompilationError, "Other.* is nothing that the kernel's names lead to"):
            wrong[(1,)](out)

    def test_lists_and_dictionaries_of_functions_of_python(self):
        @triton.constexpr_function
        def sizes(names):
            assert isinstance(names, list), names
            return {name: [len(name)] * 2 for name in names}

        @triton.constexpr_function
        def total(by_name, extra):
            assert isinstance(by_name, dict) and isinstance(extra, list), (by_name, extra)
            return sum(both[0] for both in by_name.values()) + extra[0] + (1 << 200) % 97

        @triton.constexpr_function
        def grow(names):
            names.append("more")
            return names

        @triton.jit
        def use(out, NAMES: tl.constexpr):
            d: tl.constexpr = sizes(NAMES)
            tl.store(out, total(d, d["abc"]) + len(d) * 1000)

        @triton.jit
        def wrong(out, NAMES: tl.constexpr):
            tl.store(out, len(grow(NAMES)))

        out = np.zeros(1, np.int32)
        use[(1,)](out, ["a", "abc"])
        self.assertEqual(out[0], 1 + 3 + 3 + (1 << 200) % 97 + 2000)
        with self.assertRaisesRegex(CompilationError, "grow changes its argument"):
            wrong[(1,)](out, ["a"])

    def test_functions(self):
        @triton.jit
        def apply(out, F: tl.constexpr, x=3, y=4):
            tl.store(out, F(x, y))

        out = np.zeros(1, np.int32)
        apply[(1,)](out, plus)
        self.assertEqual(out[0], 7)
        apply[(1,)](out, tl.constexpr(plus), y=6)
        self.assertEqual(out[0], 9)

    def test_keyword_only_and_defaults(self):
        @triton.jit
        def late(out, *, N: tl.constexpr = 4, options=1):
            tl.store(out, N + options)

        out = np.zeros(1, np.int32)
        late[(1,)](out, options=6)
        self.assertEqual(out[0], 10)
        with self.assertRaisesRegex(TypeError, r"late\(\) takes 1 positional argument but 2"):
            late[(1,)](out, 3)


class Wrappers(unittest.TestCase):
    def test_reinterpret(self):
        class Data(Tensor):
            data = device = None

        x = Data(np.full(1, 0x3f800000, np.int32))
        wrapped = reinterpret(x, tl.float32)
        self.assertIsInstance(wrapped, TensorWrapper)
        out = np.zeros(1, np.float32)

        @triton.jit
        def copy(out, x):
            tl.store(out, tl.load(x))

        copy[(1,)](out, wrapped)
        self.assertEqual(out[0], 1)
        self.assertIs(reinterpret(wrapped, x.dtype), x)
        self.assertIs(reinterpret(wrapped, tl.uint32).base, x)
        with self.assertRaisesRegex(TypeError, "Cannot reinterpret a <class 'int'>."):
            reinterpret(3, tl.float32)

    def test_types_in_the_place_of_arrays(self):
        store.warmup(MockTensor(tl.float32), 3, grid=(1,))
        with self.assertRaises(CompilationError):
            store.warmup(MockTensor(tl.float32), (3,), grid=(1,))

    def test_dlpack(self):
        self.assertEqual(_arrays.describe(OnlyDlpack(np.zeros((4, 6), np.int16)[1:3, ::-1]))[1::2][:2], ("i16", 24))
        x, out = np.arange(64, dtype=np.float32), np.zeros(64, np.float32)

        @triton.jit
        def copy(x, y, N: tl.constexpr):
            tl.store(y + tl.arange(0, N), tl.load(x + tl.arange(0, N)))

        before = sys.getrefcount(x)
        copy[(1,)](OnlyDlpack(x), OnlyDlpack(out), N=64)
        np.testing.assert_array_equal(out, x)
        self.assertEqual(sys.getrefcount(x), before)
        with self.assertRaises(tilec.KernelError):
            copy[(1,)](OnlyDlpack(x[:50]), OnlyDlpack(out[:50]), N=64)
        with self.assertRaisesRegex(TypeError, "argument 'x': no kernel has elements of DLPack's type 5 of 128 bits"):
            copy[(1,)](OnlyDlpack(x.astype(complex)), out, N=64)

    def test_read_only_arrays(self):
        out = np.zeros(1, np.int32)
        out.flags.writeable = False
        with self.assertRaises(tilec.KernelError):
            store[(1,)](out, 1)

    def test_hints_that_do_not_hold(self):
        """Are a warning: indices that wrap around are often promised not to, and masked behind."""
        @triton.jit
        def wrapped(x, y, n):
            i = tl.arange(0, 16)
            at = tl.max_contiguous(tl.multiple_of(i % n, 16), 16)
            tl.store(y + i, tl.load(x + at), mask=i < n)

        x, y = np.arange(12, dtype=np.float32), np.zeros(12, np.float32)
        with self.assertWarnsRegex(tilec.CompilerWarning, "the hint promises consecutive values in runs of 16, but a value is 0"):
            wrapped[(1,)](x, y, 12)
        np.testing.assert_array_equal(y, x)


@triton.jit
def copy_ragged(a, b, begin, size, row):
    ragged_tma.store_ragged(b, begin, size, [row, 0], ragged_tma.load_ragged(a, begin, size, [row, 0]) + 1)


@triton.jit
def add_ragged(a, b, begin, size, row):
    ragged_tma.atomic_add_ragged(b, begin, size, [row, 0], ragged_tma.load_ragged(a, begin, size, [row, 0]))


@triton.jit
def copy_middle(a, b, begin, size, row):
    ragged_tma.store_ragged(b, begin, size, [0, row, 0], ragged_tma.load_ragged(a, begin, size, [0, row, 0], 1), 1)


def check_ragged():
    """Slices of rows against NumPy's: one in the middle, whole blocks and parts of one, the first and the last rows, an empty one."""
    for dtype in (np.float16, np.float32, np.int32):
        for begin, size, row in ((3, 20, 0), (3, 20, 16), (0, 5, 0), (40, 24, 16), (60, 4, 0), (7, 0, 0)):
            rows = slice(begin + row, max(begin + row, min(begin + size, begin + row + 16)))
            x = aligned((64, 16), dtype)
            x[:] = np.arange(1024).reshape(64, 16)
            for kernel, wanted in ((copy_ragged, x + 1), (add_ragged, x - 5)):
                y = aligned((64, 16), dtype)
                y[:], expected = -5, np.full((64, 16), -5, dtype)
                expected[rows] = wanted[rows].astype(dtype)
                kernel[(1,)](*(ragged_tma.create_ragged_descriptor(Tensor(each), [16, 16]) for each in (x, y)), begin, size, row)
                np.testing.assert_array_equal(y, expected)
            planes, out = aligned((2, 64, 16), dtype), aligned((2, 64, 16), dtype)
            planes[:], out[:] = x, 0
            expected = np.zeros_like(out)
            expected[:, rows] = planes[:, rows]
            copy_middle[(1,)](*(ragged_tma.create_ragged_descriptor(Tensor(each), [2, 16, 16], -2) for each in (planes, out)), begin, size, row)
            np.testing.assert_array_equal(out, expected)


class Descriptors(unittest.TestCase):
    def test_copies(self):
        @triton.jit
        def copy(a, b, pair):
            b.store([0, 16], a.load([4, 8]))
            pair[1].store([8, 0], pair[0].load([0, 0]))

        x, y = aligned((16, 32), np.float32), aligned((16, 32), np.float32)
        x[:] = np.arange(512).reshape(16, 32)
        a, b = (TensorDescriptor.from_tensor(Tensor(each), [8, 16]) for each in (x, y))
        copy[(1,)](a, b, (a, b))
        np.testing.assert_array_equal(y[:8, 16:], x[4:12, 8:24])
        np.testing.assert_array_equal(y[8:, :16], x[:8, :16])
        b.block_shape = [4, 16]
        with self.assertRaises(CompilationError):
            copy[(1,)](a, b, (a, b))

    def test_ragged(self):
        check_ragged()
        folder = os.path.dirname(os.path.abspath(__file__))
        for target in ("sm_80", "sm_90a"):
            said, status = run("-c", "import sys; sys.path.insert(0, sys.argv[1])\nfrom test_arguments import *\ncheck_ragged()", folder,
                               env={"TILEC_DEVICE": "sim", "TILEC_SIM_TARGET": target})
            self.assertEqual((said, status), ("", 0))
        x = aligned((8, 16), np.float32)
        for shape, at in (([8, 16], 1), ([8], 0)):
            with self.assertRaises(AssertionError):
                ragged_tma.create_ragged_descriptor(Tensor(x), shape, at)

    def test_blocks_by_hooks(self):
        """Hooks of configurations say what blocks are; before, they may be none that compiles."""
        def hook(arguments):
            arguments["a"].block_shape = arguments["b"].block_shape = [arguments["ROWS"], 16]

        @triton.autotune([triton.Config({"ROWS": rows}, pre_hook=hook) for rows in (8, 4)], [])
        @triton.jit
        def twice(a, b, ROWS: tl.constexpr):
            row = tl.program_id(0) * ROWS
            b.store([row, 0], a.load([row, 0]) * 2)

        x, y = aligned((16, 16), np.float32), aligned((16, 16), np.float32)
        x[:] = np.arange(256).reshape(16, 16)
        twice[lambda meta: (16 // meta["ROWS"],)](*(TensorDescriptor.from_tensor(Tensor(each), [1, 1]) for each in (x, y)))
        np.testing.assert_array_equal(y, 2 * x)

    def test_padding(self):
        @triton.jit
        def edge(a, out):
            tl.store(out + tl.arange(0, 4)[:, None] * 8 + tl.arange(0, 8), a.load([2, 0]))

        x, out = aligned((4, 8), np.float32), np.zeros((4, 8), np.float32)
        for padding in ("nan", "zero"):
            edge[(1,)](TensorDescriptor.from_tensor(Tensor(x), [4, 8], padding), out)
            self.assertEqual(np.isnan(out).sum(), 16 if padding == "nan" else 0)

    def test_what_is_asserted(self):
        x = aligned((8, 8), np.float32)
        odd = aligned((65,), np.float32)[1:].reshape(8, 8)
        strides, block = (8, 1), [4, 4]
        for arguments, said in ((((8, 8), (8,), block), "rank mismatch"), (((8, 8), strides, [4]), "rank mismatch"), (((), (), []), "rank must not be zero"),
                                (((1,) * 6, (1,) * 6, [1] * 6), "rank cannot be more than 5"), (((8, 8), (9, 1), block), "strides must be 16-byte aligned"),
                                (((8, 0), strides, block), "shape must be positive"), (((8, 8), (8, 2), block), "Last dimension must be contiguous"),
                                (((8, 8), strides, block, "one"), "Illegal value for padding")):
            with self.assertRaisesRegex(AssertionError, said):
                TensorDescriptor(Tensor(x), *arguments)
        with self.assertRaisesRegex(AssertionError, "base must be 16-byte aligned"):
            TensorDescriptor.from_tensor(Tensor(odd), block)
        with self.assertRaisesRegex(AssertionError, "only supported for floating point"):
            TensorDescriptor.from_tensor(Tensor(x.view(np.int32)), block, "nan")
        with self.assertRaisesRegex(ValueError, "Shape element 1 must be a power of 2"):
            TensorDescriptor.from_tensor(Tensor(x), [4, 3])
        with self.assertRaisesRegex(NotImplementedError, "round_f32_to_tf32"):
            TensorDescriptor.from_tensor(Tensor(x), block, round_f32_to_tf32=True)


class OnGpu:
    def __init__(self, address=4096, read_only=False):
        self.__cuda_array_interface__ = {"data": (address, read_only), "typestr": "<f4", "shape": (4,), "version": 3}


class Devices(unittest.TestCase):
    def test_mixed(self):
        with self.assertRaisesRegex(ValueError, r"Pointer argument \(at 1\) cannot be accessed from Triton \(cpu tensor\?\): 'value.1' lies in the "
                                                "host's memory, 'out' on a GPU"):
            store[(1,)](OnGpu(), (3, np.zeros(4, np.float32)))

    def test_the_environment_decides(self):
        here = os.path.dirname(os.path.abspath(__file__))
        for kind, array, said in (("cuda", "np.zeros(1)", "TILEC_DEVICE=cuda runs kernels on GPUs alone"),
                                  ("cpu", "OnGpu()", "'out' lies on a GPU, and TILEC_DEVICE=cpu runs kernels on the host")):
            printed, status = run("-c", "import sys; sys.path.insert(0, sys.argv[1])\nfrom test_arguments import *\n"
                                        f"try: store[(1,)]({array}, 1)\nexcept ValueError as e: print(e)", here, env={"TILEC_DEVICE": kind})
            self.assertEqual(status, 0, printed)
            self.assertIn(said, printed)

    def test_gpus(self):
        """By the simulator's driver, whose memory is its own."""
        printed, status = run("-c", "import sys; sys.path.insert(0, sys.argv[1])\nfrom test_arguments import *\non_gpu()",
                              os.path.dirname(os.path.abspath(__file__)), env={"TILEC_CUDA_LIBRARY": os.environ["TILEC_SIM_CUDA"]})
        self.assertEqual((printed, status), ("", 0))


class OtherGpu(OnGpu):
    is_cuda = True
    dtype = "float32"
    device = namedtuple("Place", "index")(1)

    def data_ptr(self):
        return 4096


def on_gpu():
    """What test_gpus runs."""
    device = tilec._tilec.Device(0)
    address = device.allocate(256)
    device.write(address, np.arange(4, dtype=np.float32).tobytes())
    store[(1,)](OnGpu(address), 7.5)
    assert device.read(address, 4) == np.float32(7.5).tobytes()

    @triton.jit
    def copy(out, t):
        tl.store(out, tl.load(t[1] + 1))

    copy[(1,)](OnGpu(address), (3, OnGpu(address, True)))
    assert device.read(address, 4) == np.float32(1).tobytes()
    case = unittest.TestCase()
    with case.assertRaisesRegex(ValueError, "copy writes to 'out', an array that is read-only"):
        copy[(1,)](OnGpu(address, True), (3, OnGpu(address)))
    with case.assertRaisesRegex(ValueError, r"Pointer argument \(at 0\) .* 'out' lies on GPU 1, and the current one is 0"):
        copy[(1,)](OtherGpu(), (3, OnGpu(address)))


if __name__ == "__main__":
    unittest.main()
