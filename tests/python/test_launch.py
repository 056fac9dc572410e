"""Launches on a GPU that is the simulator's, or a driver that does nothing: those that go the quick way give what the slow way gives."""
import ctypes
import enum
import gc
import os
import sys
import threading
import unittest
import weakref
from typing import NamedTuple

os.environ.setdefault("TILEC_CUDA_LIBRARY", os.environ["TILEC_SIM_CUDA"])

import numpy as np

import tilec
import tilec.triton as triton
import tilec.triton.language as tl
from tilec import _tilec
from tilec.triton import knobs
from tilec.triton.runtime.hooks import KernelCache
from tilec.triton.runtime.jit import JITFunction
from tilec.triton.tools.tensor_descriptor import TensorDescriptor
from testing import run

HERE = os.path.dirname(os.path.abspath(__file__))
DEVICE = _tilec.Device(0)
SCALE = tl.constexpr(3)


class Type:
    """An element type, as torch's."""

    def __init__(self, name):
        self.name, self.itemsize, self.is_floating_point = name, np.dtype(name).itemsize, name.startswith("float")

    def __str__(self):
        return "torch." + self.name


TYPES = {name: Type(name) for name in ("float32", "int32", "int64", "int8", "float16")}


class Array:
    """A tensor of the GPU's, as torch has such."""

    is_cuda = True
    device = type("Device", (), {"index": 0, "__str__": lambda self: "cuda:0"})()

    def __init__(self, values, offset=0):
        self.shape, self.dtype, self._size = values.shape, TYPES[str(values.dtype)], values.nbytes
        self._address = DEVICE.allocate(max(values.nbytes, 1) + 256) + offset
        DEVICE.write(self._address, values.tobytes())

    def data_ptr(self):
        return self._address

    def stride(self):
        return tuple(int(np.prod(self.shape[i + 1:], dtype=int)) for i in range(len(self.shape)))

    def get_device(self):
        return 0

    def read(self):
        return np.frombuffer(DEVICE.read(self._address, self._size), self.dtype.name).reshape(self.shape)


class Interface:
    """As CuPy's arrays."""

    def __init__(self, array):
        self.array = array

    @property
    def __cuda_array_interface__(self):
        return {"data": (self.array.data_ptr(), False), "typestr": "<f4", "shape": self.array.shape, "version": 3}


def zeros(*shape, dtype=np.float32):
    return Array(np.zeros(shape, dtype))


def counted(kernel):
    """A list that grows with each launch that goes the slow way."""
    slow, device = [], kernel._device
    kernel._device = lambda values, arch=None: slow.append(values) or device(values, arch)
    return slow


class Level(enum.IntEnum):
    LOW = 7


class Mode(enum.Enum):
    ADD = 1
    MUL = 2


class Pair(NamedTuple):
    a: int
    b: int


@triton.jit
def times(v, by):
    return v * by


def make_scale():
    @triton.jit
    def scale(x, y, n, BLOCK: tl.constexpr, BY: tl.constexpr = 2):
        i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
        tl.store(y + i, tl.load(x + i, mask=i < n) * BY * SCALE, mask=i < n)

    return scale


class Values(unittest.TestCase):
    def setUp(self):
        self.x, self.y = Array(np.arange(64, dtype=np.float32)), zeros(64)

    def test_other_arrays_and_numbers(self):
        scale = make_scale()
        slow = counted(scale)
        for n in (50, 51, 7, Level.LOW):
            for x in (self.x, Array(np.arange(64, dtype=np.float32) + 5)):
                y = zeros(64)
                scale[(2,)](x, y, n, BLOCK=32)
                np.testing.assert_array_equal(y.read(), np.where(np.arange(64) < n, x.read() * 6, 0))
        self.assertEqual(len(slow), 1)

    def test_each_specialisation_is_compiled_once(self):
        scale = make_scale()
        slow = counted(scale)
        odd = Array(np.arange(64, dtype=np.float32), offset=4)
        for _ in range(2):
            for x, n in ((self.x, 50), (self.x, 48), (self.x, 1), (self.x, 1 << 40), (odd, 50), (odd, True)):
                y = zeros(64)
                scale[(2,)](x, y, n, BLOCK=32)
                np.testing.assert_array_equal(y.read(), np.where(np.arange(64) < n, x.read() * 6, 0))
        self.assertEqual(len(slow), 6)

    def test_ways_to_write_it(self):
        scale = make_scale()
        slow = counted(scale)
        x, y = self.x, self.y
        for call in (lambda: scale[(2,)](x, y, 64, 32, 5), lambda: scale[(2,)](x, y, 64, BLOCK=32, BY=5), lambda: scale[(2,)](BY=5, BLOCK=32, n=64, y=y, x=x),
                     lambda: scale[(2,)](**{"x": x, "y": y, "n": 64, "BLOCK": 32, "BY": 5}), lambda: scale[[2]](x, y, 64, 32, BY=5),
                     lambda: scale[2, 1](x, y, 64, 32, 5), lambda: scale[(np.int64(2), tl.constexpr(1))](x, y, 64, 32, 5), lambda: scale[lambda meta: (triton.cdiv(meta["n"], meta["BLOCK"]),)](x, y, 64, 32, 5)):
            for _ in range(2):
                DEVICE.set(y.data_ptr(), 0, 256)
                call()
                np.testing.assert_array_equal(y.read(), x.read() * 15)
        self.assertEqual(len(slow), 1)

    def test_options(self):
        scale = make_scale()
        slow = counted(scale)
        for _ in range(2):
            for options in ({}, {"num_warps": 2}, {"num_warps": 4, "num_stages": 2}, {"num_stages": 2, "num_warps": 4}, {"num_warps": 8}):
                scale[(2,)](self.x, self.y, 64, BLOCK=32, **options)
        self.assertEqual(len(slow), 5)
        with self.assertRaisesRegex(KeyError, "num_warp was specified but unrecognised; did you mean num_warps?"):
            scale[(2,)](self.x, self.y, 64, BLOCK=32, num_warp=2)
        with self.assertRaisesRegex(TypeError, "missing 1 required positional argument: 'BLOCK'"):
            scale[(2,)](self.x, self.y, 64)
        with self.assertRaisesRegex(TypeError, "got multiple values for argument 'n'"):
            scale[(2,)](self.x, self.y, 64, 32, n=3)
        with self.assertRaisesRegex(TypeError, "failed to specialize argument of type: str"):
            scale[(2,)](self.x, "y", 64, BLOCK=32)

    def test_constexprs(self):
        @triton.jit
        def choose(y, MODE: tl.constexpr, TYPE: tl.constexpr, F: tl.constexpr, SHAPE: tl.constexpr, v=None, FLAG: tl.constexpr = False):
            if FLAG:
                tl.store(y + 1, 7)
            if v is None:
                tl.store(y, F(tl.full((), SHAPE[0] * SHAPE[1], TYPE), 2 if MODE == Mode.MUL else 1))
            else:
                tl.store(y, v)

        slow = counted(choose)
        block = [4]
        for _ in range(2):
            for mode, by in ((Mode.ADD, 1), (Mode.MUL, 2)):
                for kind in (tl.float32, tl.int32):
                    choose[(1,)](self.y, mode, kind, times, (block[0], 8))  # another tuple each time
                    self.assertEqual(self.y.read()[0], 32 * by)
        self.assertEqual(len(slow), 4)
        for _ in range(2):
            choose[(1,)](self.y, Mode.ADD, tl.float32, times, (4, 16))
            self.assertEqual(self.y.read()[:2].tolist(), [64, 0])
            choose[(1,)](self.y, Mode.ADD, tl.float32, times, (4, 16), 1.5, FLAG=True)
            self.assertEqual(self.y.read()[:2].tolist(), [1.5, 7])
            DEVICE.set(self.y.data_ptr(), 0, 256)
        self.assertEqual(len(slow), 6)
        sizes = [2, 4]
        for wanted in (8, 12):
            choose[(1,)](self.y, Mode.ADD, tl.float32, times, sizes)  # a list that changes
            self.assertEqual(self.y.read()[0], wanted)
            sizes[1] = 6

    def test_numbers_that_are_equal_are_not_the_same(self):
        @triton.jit
        def kind(y, V: tl.constexpr):
            tl.store(y, V)

        slow = counted(kind)
        for _ in range(2):
            for value in (1, True, 0.0, -0.0, 1.0):
                kind[(1,)](self.y, value)
                self.assertEqual(str(float(self.y.read()[0])), str(float(value)))
        self.assertEqual(len(slow), 5)

    def test_tuples_and_descriptors(self):
        @triton.jit
        def copy(t, d, n):
            tl.store(t[0][0], t[1] + n)
            d.store([0, 0], d.load([4, 0]))

        slow = counted(copy)
        m = Array(np.arange(64, dtype=np.float32).reshape(8, 8))
        d = TensorDescriptor.from_tensor(m, [4, 8])
        for n in (2, 3):
            copy[(1,)](((self.y, None), 2.5), d, n)
            self.assertEqual(self.y.read()[0], 2.5 + n)
            np.testing.assert_array_equal(m.read()[:4], np.arange(32, 64).reshape(4, 8))
        self.assertEqual(len(slow), 1)
        d.block_shape = [2, 8]
        for _ in range(2):
            copy[(1,)](((self.y, None), 2.5), d, 2)
            np.testing.assert_array_equal(m.read()[:2], np.arange(32, 48).reshape(2, 8))
            DEVICE.set(m.data_ptr(), 0, 64)
        self.assertEqual(len(slow), 2)

    def test_options_of_launches(self):
        scale = make_scale()
        slow = counted(scale)
        for options in ({"launch_cooperative_grid": True}, {"launch_pdl": True}) * 2:
            DEVICE.set(self.y.data_ptr(), 0, 256)
            scale[(2,)](self.x, self.y, 64, BLOCK=32, **options)
            np.testing.assert_array_equal(self.y.read(), self.x.read() * 6)
        self.assertEqual(len(slow), 2)
        with self.assertRaisesRegex(ValueError, "a cooperative launch of .scale. has"):  # more blocks than fit at once
            scale[(1 << 20,)](self.x, self.y, 64, BLOCK=32, launch_cooperative_grid=True)

    def test_named_tuples(self):
        class Other(NamedTuple):
            b: int
            a: int

        @triton.jit
        def use(y, t, u):
            tl.store(y, t.a - t.b + u.a * 100)

        slow = counted(use)
        for _ in range(2):
            for t, u, wanted in ((Pair(9, 4), Pair(2, 0), 205), (Other(9, 4), Pair(2, 0), 195), (Pair(9, 4), Other(0, 2), 205), (Pair(6, 4), Pair(2, 0), 202)):
                use[(1,)](self.y, t, u)
                self.assertEqual(self.y.read()[0], wanted)
        self.assertEqual(len(slow), 3)

    def test_annotated_and_other_arrays(self):
        @triton.jit
        def store(y, a: tl.uint8, b: tl.float32, c: "*i32"):
            tl.store(y, a.to(tl.float32) + b + tl.load(c).to(tl.float32))

        slow = counted(store)
        bits = Array(np.full(1, 64, np.int32).view(np.float32))
        for a in (201, 255, -1):
            store[(1,)](Interface(self.y), a, 0.5, bits)
            self.assertEqual(self.y.read()[0], a % 256 + 0.5 + 64)
        self.assertEqual(len(slow), 1)
        with self.assertRaisesRegex(OverflowError, "argument 'a': 256 does not fit u8"):
            store[(1,)](Interface(self.y), 256, 0.5, bits)


class InPlace(unittest.TestCase):
    """One array as two arguments, of a loop whose loads come ahead of stores through another argument."""

    def test_iterations_see_what_was_stored(self):
        @triton.jit
        def smooth(x, y, rows):
            i = tl.arange(0, 32)
            state = tl.zeros((32, 32), tl.float32)
            for row in range(rows):
                line = tl.load(x + row * 32 + i)
                state = state * 0.5 + line[:, None]
                tl.store(y + (row + 1) * 32 + i, tl.sum(state, 0) / 32)

        def expect(x, y):
            state = np.zeros(32, np.float32)
            for row in range(8):
                state = state * np.float32(0.5) + x[row]
                y[row + 1] = state.mean()
            return y

        values = np.arange(9 * 32, dtype=np.float32).reshape(9, 32) % 4
        slow = counted(smooth)
        handles = []
        for _ in range(2):
            x, y = Array(values), Array(values)
            handles.append(smooth[(1,)](x, y, 8, num_stages=3))
            np.testing.assert_array_equal(y.read(), expect(values, values.copy()))
            handles.append(smooth[(1,)](x, x, 8, num_stages=3))
            wanted = values.copy()
            np.testing.assert_array_equal(x.read(), expect(wanted, wanted))
        self.assertEqual(len(slow), 2)  # each form is made once
        self.assertIs(handles[0], handles[2])
        self.assertIs(handles[1], handles[3])
        self.assertIsNot(handles[0], handles[1])


class Returned(unittest.TestCase):
    def test_kernel_of_the_instance(self):
        scale, x, y = make_scale(), zeros(64), zeros(64)
        slow = counted(scale)
        one, other = {"num_warps": 2, "num_stages": 2}, {"num_stages": 2, "num_warps": 2}
        found = [scale[(2,)](x, y, n, BLOCK=32, **options) for _ in range(2) for n in (64, 63) for options in (one, other)]
        self.assertEqual([found.index(kernel) for kernel in found], [0, 0, 2, 2, 0, 0, 2, 2])
        self.assertEqual((found[0].name, found[0].metadata.num_warps, len(slow)), ("scale", 2, 3))
        before = sys.getrefcount(found[0])
        for _ in range(20):
            self.assertIs(scale[(2,)](x, y, 64, BLOCK=32, **other), found[0])
        self.assertEqual(sys.getrefcount(found[0]), before)


class Decorated(unittest.TestCase):
    def test_configurations_and_heuristics(self):
        kernel = make_scale()
        slow = counted(kernel)
        filled = triton.heuristics({"BY": lambda given: 5 if given["n"] > 10 else 7})(kernel)
        tuned = triton.autotune([triton.Config({"BLOCK": 64}, num_warps=2)], key=["n"])(filled)
        x, y = Array(np.ones(64, np.float32)), zeros(64)
        for n, by in ((50, 5), (7, 7), (51, 5), (6, 7)) * 2:
            tuned[lambda meta: (triton.cdiv(64, meta["BLOCK"]),)](x, y, n=n)
            self.assertEqual(y.read()[:n].tolist(), [by * 3] * n)
        self.assertEqual(len(slow), 2)


class Changes(unittest.TestCase):
    def setUp(self):
        self.x, self.y = Array(np.arange(64, dtype=np.float32)), zeros(64)
        self.scale = make_scale()
        self.slow = counted(self.scale)
        self.launch()
        self.launch()
        self.assertEqual(len(self.slow), 1)

    def launch(self, grid=(2,)):
        self.scale[grid](self.x, self.y, 64, BLOCK=32)

    def test_of_constexprs(self):
        global SCALE
        kept = SCALE
        try:
            SCALE = tl.constexpr(4)
            with self.assertRaisesRegex(RuntimeError, r"Global variable SCALE has changed since we compiled this kernel, from constexpr\[3\] to "):
                self.launch()
        finally:
            SCALE = kept
        self.launch()
        self.assertEqual(len(self.slow), 1)

    def test_of_hooks(self):
        seen = []
        self.scale.add_pre_run_hook(lambda *args, **keywords: seen.append(sorted(keywords)))
        self.launch()
        self.assertEqual((seen, len(self.slow)), ([["BLOCK"]], 2))
        self.scale.pre_run_hooks = []
        self.launch()
        self.assertEqual(len(self.slow), 2)
        del self.scale.pre_run_hooks
        with self.assertRaises((AttributeError, TypeError)):
            self.launch()
        self.scale.pre_run_hooks = []

        def hook(metadata):
            pass

        knobs.runtime.launch_enter_hook.add(hook)
        try:
            self.launch()
            self.launch()
            self.assertEqual(len(self.slow), 4)
        finally:
            knobs.runtime.launch_enter_hook.remove(hook)
        self.launch()
        self.launch()
        self.assertEqual(len(self.slow), 5)

    def test_of_the_text(self):
        self.scale._unsafe_update_src("def scale(x, y, n, BLOCK: tl.constexpr, BY: tl.constexpr = 2):\n    tl.store(y, 77.0)\n")
        self.launch()
        self.assertEqual(self.y.read()[0], 77)

    def test_of_run(self):
        calls, run = [], JITFunction.run
        JITFunction.run = lambda self, *args, **keywords: calls.append(keywords["grid"])
        try:
            self.launch()
        finally:
            JITFunction.run = run
        self.assertEqual(calls, [(2,)])

        class Mine(JITFunction):
            def run(self, *args, grid, warmup, **keywords):
                calls.append(super().run(*args, grid=grid, warmup=warmup, **keywords))

        mine = Mine(self.scale.fn)
        for _ in range(2):
            mine[(2,)](self.x, self.y, 64, BLOCK=32)
        self.assertEqual(len(calls), 3)

    def test_of_the_driver(self):
        driver = triton.runtime.driver
        driver.set_active(driver.active)
        self.launch()
        self.launch()
        self.assertEqual(len(self.slow), 2)


class Streams(unittest.TestCase):
    def test_of_cupy(self):
        scale, x, y, asked = make_scale(), Array(np.ones(64, np.float32)), zeros(64), []

        class cupy:
            class cuda:
                @staticmethod
                def get_current_stream():
                    asked.append(1)
                    return type("Stream", (), {"ptr": 0})

        scale[(2,)](x, y, 64, BLOCK=32)
        scale[(2,)](x, y, 64, BLOCK=32)
        sys.modules["cupy"] = cupy
        try:
            scale[(2,)](Interface(x), Interface(y), 64, BLOCK=32)
            scale[(2,)](Interface(x), Interface(y), 64, BLOCK=32)
        finally:
            del sys.modules["cupy"]
        self.assertGreaterEqual(len(asked), 2)
        scale[(2,)](x, y, 64, BLOCK=32)
        np.testing.assert_array_equal(y.read(), 6)


class Grids(unittest.TestCase):
    def test_functions_are_called_once(self):
        scale, x, y, seen = make_scale(), zeros(64), zeros(64), []

        def grid(meta):
            seen.append(meta)
            return (2,)

        for n in (64, 64, 63, 63):  # found and not found
            scale[grid](x, y, n, BLOCK=32)
        self.assertEqual([(meta["n"], meta["BLOCK"], meta["BY"], meta["x"] is x) for meta in seen], [(n, 32, 2, True) for n in (64, 64, 63, 63)])

    def test_errors(self):
        scale, x, y = make_scale(), zeros(64), zeros(64)
        scale[(2,)](x, y, 64, BLOCK=32)
        before = sys.getrefcount(x), sys.getrefcount(y)
        for _ in range(10):
            with self.assertRaises(ZeroDivisionError):
                scale[lambda meta: (1 // 0,)](x, y, 64, BLOCK=32)
            for grid, error in ((3, TypeError), ((), TypeError), ((1.5,), TypeError), ((-1,), ValueError), ((1 << 32,), ValueError), ((1, 1, 1, 1), TypeError),
                                (None, TypeError)):
                with self.assertRaises(error, msg=grid):
                    scale[grid](x, y, 64, BLOCK=32)
        self.assertEqual((sys.getrefcount(x), sys.getrefcount(y)), before)

    def test_no_programs(self):
        scale, x, y = make_scale(), Array(np.ones(64, np.float32)), zeros(64)
        for grid in ((0,), (2,), (0,), (1, 0, 1), (np.int64(0),)):
            scale[grid](x, y, 64, BLOCK=32)
        np.testing.assert_array_equal(y.read(), 6)


class Objects(unittest.TestCase):
    def test_functions_go(self):
        x, y = zeros(64), zeros(64)
        for launches in (0, 3):
            scale = make_scale()
            for _ in range(launches):
                scale[(2,)](x, y, 64, BLOCK=32)
            gone = weakref.ref(scale)
            bound = scale[(2,)]
            del scale, bound
            gc.collect()
            self.assertIsNone(gone(), launches)

    def test_many_kinds_of_calls(self):
        @triton.jit
        def store(y, V: tl.constexpr):
            tl.store(y, V)

        y = zeros(1)
        for _ in range(2):
            for value in range(40):  # more than are remembered
                store[(1,)](y, value / 2)
                self.assertEqual(y.read()[0], value / 2)

    def test_launches_within_launches(self):
        scale, x, y = make_scale(), Array(np.ones(64, np.float32)), zeros(64)
        scale[(2,)](x, y, 64, BLOCK=32)

        def grid(meta):
            for warps in (1, 2, 4, 8) * 3:
                scale[(2,)](x, y, 64, BLOCK=32, num_warps=warps, num_stages=warps % 3 + 1)
                scale._forget_launches()
            return (2,)

        scale[grid](x, y, 64, BLOCK=32)
        np.testing.assert_array_equal(y.read(), 6)

    def test_tables_that_others_fill_can_be_cleared(self):
        cache = KernelCache()

        class Kernel:
            class _origin:
                forget = staticmethod(lambda: cache.update(other=Kernel))  # as another thread that compiles

        cache["one"] = Kernel
        cache.clear()
        self.assertEqual(cache, {})

    def test_threads(self):
        scale, failed = make_scale(), []

        def work(seed):
            x, y = Array(np.full(64, seed, np.float32)), zeros(64)
            for n in (64, 63, 33, 1) * 3:
                DEVICE.set(y.data_ptr(), 0, 256)
                scale[(2,)](x, y, n, BLOCK=32, num_warps=1 + seed % 2)
                if y.read().sum() != n * seed * 6:
                    failed.append((seed, n))

        threads = [threading.Thread(target=work, args=(seed,)) for seed in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(failed, [])

    def test_several_devices(self):
        printed, status = run("-c", "import sys; sys.path.insert(0, sys.argv[1])\nfrom test_launch import *\nseveral_devices()", HERE,
                              env={"TILEC_CUDA_LIBRARY": os.environ["TILEC_FAKE_CUDA"], "FAKE_CUDA_DEVICES": "2"})
        self.assertEqual((printed, status), ("", 0))

    def test_nothing_leaks(self):
        printed, status = run("-c", "import sys; sys.path.insert(0, sys.argv[1])\nfrom test_launch import *\nmany_launches()", HERE,
                              env={"TILEC_CUDA_LIBRARY": os.environ["TILEC_FAKE_CUDA"]})
        self.assertEqual((printed, status), ("", 0))


def many_launches():
    """What test_nothing_leaks runs: on a driver that launches nothing."""
    import resource

    @triton.jit
    def kernel(x, y, t, n, s, F: tl.constexpr, BLOCK: tl.constexpr, D: tl.constexpr = "text"):
        i = tl.arange(0, BLOCK)
        tl.store(y + i, F(tl.load(x + i), s) + t[1], mask=i < n)

    x, y, t, scalar, grid = zeros(64), zeros(64), (zeros(4), 7.5), 2.5, (8,)
    options = {"F": times, "BLOCK": 32}
    objects = (x, y, t, t[0], scalar, grid, times, kernel, options, x.dtype, "text", kernel.arg_names)

    def launch(count):
        for i in range(count):
            kernel[grid](x, y, t, 1000 + i, scalar, times, BLOCK=32)
            kernel[lambda meta: grid](x, y, t, 1000 + i, scalar, **options)
            if i % 64 == 0:
                try:
                    kernel[lambda meta: grid[9]](x, y, t, i, scalar, times, BLOCK=32)
                except IndexError:
                    pass

    launch(1000)
    slow = counted(kernel)
    gc.collect()
    before, memory = [sys.getrefcount(each) for each in objects], resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    launch(50000)
    gc.collect()
    case = unittest.TestCase()
    case.assertEqual([sys.getrefcount(each) for each in objects], before)
    case.assertLess(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - memory, 4096)  # KiB
    case.assertEqual(slow, [])


def several_devices():
    """What test_several_devices runs: on a driver with two."""
    driver = triton.runtime.driver.active
    scale, case = make_scale(), unittest.TestCase()
    slow = counted(scale)
    on = [[zeros(64), zeros(64)] for _ in range(2)]
    for array in on[1]:
        array.device, array.get_device = type("Device", (), {"index": 1, "__str__": lambda self: "cuda:1"})(), lambda: 1
    for _ in range(3):
        for place in range(2):
            driver.set_current_device(place)
            scale[(2,)](*on[place], 64, BLOCK=32)
            for x, y in ((on[1 - place][0], on[place][1]), (on[place][0], on[1 - place][1])):
                before = len(slow)
                with case.assertRaisesRegex(ValueError, rf"lies on GPU {1 - place}, and the current one is {place}"):
                    scale[(2,)](x, y, 64, BLOCK=32)
                case.assertEqual(len(slow), before + 1)
                slow.pop()
    case.assertEqual(len(slow), 2)


class _Tensor(ctypes.Structure):
    _fields_ = [("data", ctypes.c_void_p), ("device_type", ctypes.c_int32), ("device", ctypes.c_int32), ("rank", ctypes.c_int32), ("code", ctypes.c_uint8),
                ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16), ("shape", ctypes.c_void_p), ("strides", ctypes.c_void_p), ("offset", ctypes.c_uint64)]


_READ = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.py_object, ctypes.POINTER(_Tensor))
_STREAM = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.c_int32, ctypes.c_int32, ctypes.POINTER(ctypes.c_void_p))


class _Api(ctypes.Structure):
    _fields_ = [("major", ctypes.c_uint32), ("minor", ctypes.c_uint32), ("before", ctypes.c_void_p), ("allocate", ctypes.c_void_p), ("of", ctypes.c_void_p),
                ("to", ctypes.c_void_p), ("read", _READ), ("stream", _STREAM)]


class Exchange(unittest.TestCase):
    """Arrays of libraries that have DLPack's exchange of C."""

    def test_quick_way(self):
        reads, streams = [], []

        @_READ
        def read(array, to):
            reads.append(array)
            to[0] = _Tensor(array.data_ptr(), array.place, 0, 1, 2, 32, 1, None, None, 0)
            return 0

        @_STREAM
        def stream(kind, device, to):
            streams.append((kind, device))
            to[0] = None
            return 0

        api = _Api(1, 3, None, None, None, None, read, stream)
        capsule = ctypes.pythonapi.PyCapsule_New
        capsule.restype, capsule.argtypes = ctypes.py_object, (ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p)

        class Shared(Array):
            __dlpack_c_exchange_api__ = capsule(ctypes.addressof(api), b"dlpack_exchange_api", None)
            place = 2

        class Derived(Shared):
            pass

        scale = make_scale()
        slow = counted(scale)
        x, y = Shared(np.ones(64, np.float32)), Shared(np.zeros(64, np.float32))
        scale[(2,)](x, y, 64, BLOCK=32)
        del reads[:]
        scale[(2,)](x, y, 63, BLOCK=32)
        scale[(2,)](x, y, 61, BLOCK=32)
        self.assertEqual((reads[-2:], streams[-1], len(slow)), ([x, y], (2, 0), 2))
        self.assertEqual(y.read().sum(), 64 * 6)
        del reads[:]
        scale[(2,)](Derived(np.ones(64, np.float32)), y, 59, BLOCK=32)
        scale[(2,)](Derived(np.ones(64, np.float32)), y, 59, BLOCK=32)
        self.assertNotIn(Derived, [*map(type, reads)])  # it might have no memory
        x.place = 1
        before = len(slow)
        with self.assertRaises(Exception):  # is_cuda says otherwise: what is believed is the slow way
            scale[(2,)](x, y, 64, BLOCK=32)
            raise ValueError
        self.assertEqual(len(slow), before + 1)


if __name__ == "__main__":
    unittest.main()
