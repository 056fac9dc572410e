"""Functions of units, called on this machine's devices with NumPy's arrays."""
import gc
import sys
import threading
import unittest

import numpy as np

import tilec
from tilec import _arrays, _tilec

TL = ("tl", "language", "triton.language", -1)
SCALE = """def scale(x, y, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + i, double(tl.load(x + i, mask=i < n)), mask=i < n)
"""
DOUBLE = "def double(v):\n    return v * 2\n"
KINDS = ("interpreter", "simulator")


def unit(source, *bindings, path="f.py", line=1):
    return ("function", path, "f", source, line, 1, False, list(bindings))


def scale(**options):
    return _tilec.Function([unit(SCALE, TL, ("double", "unit", None, 1), line=10), unit(DOUBLE, line=20)], options)


BLOCK = _tilec.Constexpr("128")


class Texts(unittest.TestCase):
    def test_names(self):
        names = _tilec.names("@dec\ndef f(x: int, y=a.b):\n    z = g(x)\n    return tl.load(z) + z\n")
        self.assertEqual([(name, line, where) for name, line, _, where in names],
                         [("dec", 1, "decorator"), ("int", 2, "annotation"), ("a.b", 2, "default"), ("g", 3, "body"), ("tl.load", 4, "body")])
        with self.assertRaises(tilec.SourceError):
            _tilec.names("def f(:\n")

    def test_extent(self):
        text = "import a\n\n@jit\n@more(1,\n  2)\ndef f(x):\n    return (1 +\n2)\n\n# behind it\nq = 1\n"
        self.assertEqual(_tilec.extent(text, 3), (3, 8, 6, 1))
        with self.assertRaises(tilec.SourceError):
            _tilec.extent(text, 1)


class Calls(unittest.TestCase):
    def test_results(self):
        for kind in KINDS:
            x, y = np.random.default_rng(1).random(1000, np.float32), np.full(1000, np.nan, np.float32)
            scale(num_warps=2).call(_tilec.HostDevice(kind), (8,), [x, y, 1000, BLOCK])
            np.testing.assert_array_equal(y, 2 * x)

    def test_views_are_of_their_storage(self):
        base, out = np.arange(1000, dtype=np.float32), np.zeros(1000, np.float32)
        for kind in KINDS:
            out[:] = 0
            scale().call(_tilec.HostDevice(kind), (1,), [base[100:200], out[::-1][700:], 100, BLOCK])
            np.testing.assert_array_equal(out[299:399], 2 * base[100:200])

    def test_findings_are_exceptions_at_their_line(self):
        x, y = np.zeros(1000, np.float32), np.zeros(1000, np.float32)
        for kind in KINDS:
            with self.assertRaises(tilec.KernelError) as caught:
                scale().call(_tilec.HostDevice(kind), (9,), [x, y, 1100, BLOCK])
            first = caught.exception.diagnostics[0]
            self.assertEqual((caught.exception.status, first.path, first.line, first.column), ("TILE_ERROR_KERNEL", "f.py", 12, 28))
            self.assertIn("'x'", first.message)

    def test_compile_errors_have_their_place(self):
        wrong = _tilec.Function([unit("def k(x):\n    tl.store(x, nowhere)\n", TL, line=7)], {})
        with self.assertRaises(tilec.SourceError) as caught:
            wrong.call(_tilec.HostDevice("interpreter"), (1,), [np.zeros(1, np.float32)])
        self.assertEqual((caught.exception.diagnostics[0].line, caught.exception.diagnostics[0].column), (8, 17))

    def test_arguments(self):
        kernel = _tilec.Function([unit("def k(out, v):\n    tl.store(out, v)\n", TL)], {})
        device = _tilec.HostDevice("interpreter")
        for value, dtype in ((7, np.int32), (-7, np.int64), (1 << 40, np.int64), ((1 << 64) - 1, np.uint64), (True, np.bool_), (1.5, np.float32)):
            out = np.zeros(1, dtype)
            kernel.call(device, (1,), [out, value])
            self.assertEqual(out[0], value)
        for value, error in ((1 << 64, OverflowError), (-(1 << 63) - 1, OverflowError), ("text", TypeError), (np.zeros(1, complex), TypeError),
                             (np.zeros(1, ">f4"), TypeError), (object(), TypeError)):
            with self.assertRaises(error, msg=repr(value)):
                kernel.call(device, (1,), [np.zeros(1, np.float32), value])
        with self.assertRaises(tilec.ArgumentError) as caught:
            kernel.call(device, (1,), [np.zeros(1, np.float32)])
        self.assertIn("takes 2", str(caught.exception))

    def test_read_only_arrays(self):
        out = np.zeros(128, np.float32)
        out.flags.writeable = False
        for kind in KINDS:
            with self.assertRaises(tilec.KernelError):
                scale().call(_tilec.HostDevice(kind), (1,), [np.zeros(128, np.float32), out, 128, BLOCK])

    def test_grids(self):
        kernel = _tilec.Function([unit("def k(out):\n    tl.store(out + tl.program_id(0) + 2 * tl.program_id(1), 1)\n", TL)], {})
        device, out = _tilec.HostDevice("interpreter"), np.zeros(4, np.int32)
        kernel.call(device, (2, 2), [out])
        self.assertEqual(out.tolist(), [1, 1, 1, 1])
        kernel.call(device, (0,), [out])
        for grid, error in (((), TypeError), ((1, 1, 1, 1), TypeError), (3, TypeError), ((1.5,), TypeError), ((-1,), ValueError), ((1 << 32,), ValueError)):
            with self.assertRaises(error, msg=repr(grid)):
                kernel.call(device, grid, [out])

    def test_threads(self):
        failed = []

        def work(seed):
            x = np.random.default_rng(seed).random(1000, np.float32)
            for kind in KINDS:
                y = np.zeros_like(x)
                function.call(_tilec.HostDevice(kind), (8,), [x, y, 1000, BLOCK])
                if not np.array_equal(y, 2 * x):
                    failed.append(seed)

        function = scale()
        threads = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(failed, [])

    def test_nothing_leaks(self):
        x, y, function, device = np.zeros(128, np.float32), np.zeros(128, np.float32), scale(), _tilec.HostDevice("interpreter")
        literal = "128 "
        before = [sys.getrefcount(each) for each in (x, y, function, device, literal)]
        for _ in range(10):
            function.call(device, (1,), [x, y, 128, _tilec.Constexpr(literal)])
            with self.assertRaises(TypeError):
                function.call(device, (1,), [x, y, "a", BLOCK])
        gc.collect()
        self.assertEqual([sys.getrefcount(each) for each in (x, y, function, device, literal)], before)


class Evaluation(unittest.TestCase):
    def kernel(self, evaluate):
        return _tilec.Function([unit("def k(x, N: tl.constexpr):\n    tl.store(x, helper(N, 3, by=tl.load(x)))\n", TL,
                                     ("helper", "evaluate", "key", -1))], {}, evaluate)

    def test_literals_and_arguments(self):
        calls, out, device = [], np.full(1, 5, np.int32), _tilec.HostDevice("interpreter")
        self.kernel(lambda *given: calls.append(given) or "11").call(device, (1,), [out, _tilec.Constexpr("4")])
        self.assertEqual(out[0], 11)
        self.assertEqual(calls[0][:3], (0, "helper", "key"))
        self.assertEqual((calls[0][3], calls[0][4]), ([("4", False), ("3", False)], {"by": ("i32", True)}))
        self.kernel(lambda *given: 2).call(device, (1,), [out, _tilec.Constexpr("6")])  # the third argument as it is
        self.assertEqual(out[0], 11)

    def test_exceptions_are_causes(self):
        def evaluate(*given):
            raise ValueError("seven")

        with self.assertRaises(tilec.SourceError) as caught:
            self.kernel(evaluate).call(_tilec.HostDevice("interpreter"), (1,), [np.zeros(1, np.int32), _tilec.Constexpr("7")])
        self.assertIn("`helper`: seven", str(caught.exception))
        self.assertIsInstance(caught.exception.__cause__, ValueError)


class Wrong(unittest.TestCase):
    def test_units(self):
        for units, said in (([1], "a unit is a tuple"), ([("function",)], "at least 8 arguments"), (None, "units are a list"),
                            ([("class", "f", [])], "a unit is a function, a constexpr, a record or an aggregate"), ([("record", "P", [("x",)])], "exactly 2 arguments"),
                            ([unit(SCALE, ("tl", "lang", "x", -1))], 'the kind of a binding is "literal"'),
                            ([unit(SCALE, ("tl", "unit", None, 5))], "a unit that is not in the list"), ([], "not valid")):
            with self.assertRaises((TypeError, tilec.TilecError)) as caught:
                _tilec.Function(units, {})
            self.assertIn(said, str(caught.exception))

    def test_options(self):
        for options, error in (({"num_warp": 1}, TypeError), ({"num_warps": 1 << 40}, OverflowError), ({"num_warps": "4"}, TypeError),
                               ({"grid": 3}, TypeError), ({"constexprs": {"BLOCK": 3}}, TypeError), ([], TypeError)):
            with self.assertRaises(error):
                _tilec.Function([unit(SCALE, TL)], options)

    def test_devices(self):
        for arguments in (("cpu",), ("simulator", "", "first")):
            with self.assertRaises(ValueError):
                _tilec.HostDevice(*arguments)
        with self.assertRaises(tilec.TilecError):
            _tilec.HostDevice("simulator", "sm_1")


class Arrays(unittest.TestCase):
    def test_storages(self):
        base = np.zeros((10, 20), np.int16)
        begin = base.__array_interface__["data"][0]
        for view in (base, base[2:5, 3:], base[::-1], base.T, base[4]):
            address, name, storage, size, read_only = _arrays.describe(view)
            self.assertEqual((address, name, storage, size, read_only),
                             (view.__array_interface__["data"][0], "i16", begin, 400, False))
        self.assertEqual(_arrays.describe(np.zeros(0, np.float32))[3], 0)

    def test_numbers_of_numpy_are_no_arrays(self):
        for number in (np.float32(1), np.int64(2), np.bool_(True)):
            with self.assertRaisesRegex(TypeError, "give its item"):
                _arrays.describe(number)
        self.assertEqual(_arrays.describe(np.array(3, np.int32))[3], 4)

    def test_bytes_that_are_not_numpys(self):
        view = np.frombuffer(bytearray(64), np.float32)[2:]
        address, _, storage, size, _ = _arrays.describe(view)
        self.assertEqual((address - storage, size), (8, 64))


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], "-v", *sys.argv[1:]])
