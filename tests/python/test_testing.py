"""triton.testing: times, tolerances, reports, figures of a GPU."""
import csv
import importlib.util
import os
import sys
import tempfile
import time
import unittest
from types import SimpleNamespace

import tilec

os.environ["TILEC_DEVICE"] = "cpu"
tilec.install()

import triton
from testing import run
from triton import testing
from triton.runtime import driver


class Clock:
    """A driver whose device takes what it is told to, and counts what is done."""

    def __init__(self):
        self.now, self.cleared = 0.0, 0
        clock = self

        class Event:
            def __init__(self, enable_timing=True):
                assert enable_timing

            def record(self):
                self.moment = clock.now

            def elapsed_time(self, end):
                return end.moment - self.moment

        self.interface = SimpleNamespace(Event=Event, synchronize=lambda: None, current_device=lambda: 0)

    def get_device_interface(self):
        return self.interface

    def get_empty_cache_for_benchmark(self):
        return self

    def clear_cache(self, cache):
        self.cleared += cache is self
        self.now += 0.5

    def get_current_device(self):
        return 0

    def get_device_capability(self, device):
        return 9, 0

    utils = SimpleNamespace(get_device_properties=lambda device: {
        "mem_clock_rate": 3201000, "mem_bus_width": 6144, "multiprocessor_count": 132})


class Times(unittest.TestCase):
    def setUp(self):
        self.clock = Clock()
        driver.set_active(self.clock)
        self.addCleanup(driver.reset_active)
        self.calls = 0

    def work(self):
        """1 ms, and 2 every fourth time."""
        self.calls += 1
        self.clock.now += 2.0 if self.calls % 4 == 0 else 1.0

    def test_summaries(self):
        times = testing.do_bench(self.work, warmup=10, rep=100, return_mode="all")
        # An estimate from five runs that clear the cache, too, for 1.6 or 1.8 ms each.
        self.assertIn(len(times), (55, 58, 62))
        self.assertEqual({*times}, {1.0, 2.0}, "the time of clearing is not in them")
        self.assertGreaterEqual(self.clock.cleared, len(times) + 5)
        self.assertGreater(self.calls, len(times) + 10)
        bench = lambda **options: testing.do_bench(self.work, warmup=1, rep=40, **options)
        self.assertEqual((bench(return_mode="min"), bench(return_mode="max"), bench(return_mode="median")), (1.0, 2.0, 1.0))
        self.assertTrue(1.2 < bench() < 1.3)
        self.assertEqual(bench(quantiles=[0.5, 0.0, 1.0]), [1.0, 1.0, 2.0])
        self.assertEqual(bench(quantiles=[0.5]), 1.0)

    def test_what_takes_no_time(self):
        self.clock.clear_cache = lambda cache: None
        self.assertEqual(len(testing.do_bench(lambda: None, return_mode="all")), 1000)

    def test_gradients(self):
        x = SimpleNamespace(grad=1)
        found = []
        testing.do_bench(lambda: (self.work(), found.append(x.grad), setattr(x, "grad", 1)), rep=10, grad_to_none=[x])
        self.assertIsNone(found[-1])

    def test_mistakes(self):
        with self.assertRaisesRegex(AssertionError, "return_mode is 'best': one of min, max, mean, median, all"):
            testing.do_bench(self.work, return_mode="best")
        with self.assertRaisesRegex(ValueError, r"Quantiles must be in the range \[0, 1\]"):
            testing.do_bench(self.work, rep=1, quantiles=[2])
        self.assertEqual(testing._quantile([4, 1, 3], [0.25, 0.5]), [2.0, 3.0])
        for name in ("do_bench_proton", "do_bench_cudagraph_proton", "cublas"):
            with self.assertRaisesRegex(NotImplementedError, f"triton.testing.{name} is not in tilec: "):
                getattr(testing, name)()

    def test_figures(self):
        self.assertAlmostEqual(testing.get_dram_gbps(), 4916.736)
        self.assertAlmostEqual(testing.get_max_tensorcore_tflops(triton.language.float16, 1755e3), 474.4, delta=0.1)
        self.assertEqual(testing.get_max_tensorcore_tflops("torch.bfloat16", 1e6), testing.get_max_tensorcore_tflops("float16", 1e6))
        self.assertAlmostEqual(testing.get_max_simd_tflops("torch.float32", 1e6), 132 * 4 * 32 * 1e-3)
        with self.assertRaisesRegex(RuntimeError, "dtype not supported: complex64 at capability 9.0"):
            testing.get_max_simd_tflops("complex64", 1e6)
        self.clock.get_device_capability = lambda device: (7, 5)
        with self.assertRaisesRegex(RuntimeError, "dtype not supported"):
            testing.get_max_tensorcore_tflops("int8", 1e6)


class Devices(unittest.TestCase):
    def test_this_machine(self):
        active = driver.active
        self.assertEqual(type(active).__name__, "HostDriver")
        self.assertGreaterEqual(testing.do_bench(lambda: time.sleep(2e-3), warmup=1, rep=10, return_mode="min"), 2.0)

    def test_a_driver_without_torch(self):
        said, status = run("-c", "import tilec; tilec.install(); import triton, sys\n"
                                 "from triton.runtime import driver\n"
                                 "d = driver.active.device(); a = d.allocate(1 << 20)\n"
                                 "t = triton.testing.do_bench(lambda: d.set(a, 1, 1 << 20), warmup=0, rep=1, return_mode='all')\n"
                                 "print(len(t) >= 1, min(t) >= 0, triton.testing.get_dram_gbps(), 'torch' in sys.modules)",
                           env={"TILEC_CUDA_LIBRARY": os.environ["TILEC_SIM_CUDA"], "TILEC_DEVICE": "cuda"})
        self.assertEqual((said, status), ("True True 1024.0 False\n", 0))


class Tolerances(unittest.TestCase):
    def test_assert_close(self):
        import numpy as np

        ones = np.ones(4, np.float32)
        testing.assert_close(ones, ones + 0.009)
        testing.assert_close(ones, [1.0] * 4)
        testing.assert_close(1.0, 1.005)
        testing.assert_close([float("nan"), 1.0], [float("nan"), 1.0])
        testing.assert_close(ones, ones * 1.5, rtol=lambda dtype: {"float32": 0.5}[str(dtype)])
        for x, y, more, words in ((ones, ones + 0.1, {"err_msg": "sums"}, "sums"), (1.0, 1.1, {}, "1.0 is not close to 1.1"),
                                  (ones, ones + 0.005, {"atol": 1e-3}, "Not equal to tolerance"),
                                  (ones, ones + 0.005, {"atol": lambda dtype: 0.0}, "Not equal to tolerance")):
            with self.assertRaisesRegex(AssertionError, words):
                testing.assert_close(x, y, **more)


class Reports(unittest.TestCase):
    def bench(self, **more):
        return testing.Benchmark(**{"x_names": ["m", "n"], "x_vals": [1, (2, 3)], "line_arg": "provider", "line_vals": ["a", "b"],
                                    "line_names": ["A", "B"], "plot_name": "speed", "args": {"k": 5}, "ylabel": "GB/s"} | more)

    def test_points(self):
        seen = []

        @testing.perf_report(self.bench())
        def point(m, n, provider, k, extra=0):
            seen.append((m, n, provider, k, extra))
            return (m, m - 1, m + 1) if provider == "a" else n

        self.assertEqual(list(point._rows(point.benchmarks, {"extra": 9})), [[1, 1, 1, 1, 0, None, 2, None], [2, 3, 2, 3, 1, None, 3, None]])
        self.assertEqual(seen, [(1, 1, "a", 5, 9), (1, 1, "b", 5, 9), (2, 3, "a", 5, 9), (2, 3, "b", 5, 9)])
        with self.assertRaisesRegex(ValueError, r"Expected 2 values, got \(1, 2, 3\)"):
            list(point._rows(self.bench(x_vals=[(1, 2, 3)]), {}))

    @unittest.skipUnless(importlib.util.find_spec("pandas") and importlib.util.find_spec("matplotlib"), "no pandas or matplotlib")
    def test_files(self):
        import matplotlib

        matplotlib.use("Agg")
        with tempfile.TemporaryDirectory() as folder:
            made = os.path.join(folder, "deeper")
            report = testing.perf_report([self.bench(styles=[("red", "-"), ("blue", "--")], x_log=True), self.bench(plot_name="other")])(
                lambda m, n, provider, k: (m, m - 1, m + 1) if provider == "a" else n / 3)
            tables = report.run(save_path=made, return_df=True)
            self.assertEqual(sorted(os.listdir(made)), ["other.csv", "other.png", "results.html", "speed.csv", "speed.png"])
            with open(os.path.join(made, "speed.csv"), encoding="utf-8") as file:
                self.assertEqual(list(csv.reader(file)), [["m", "n", "A (GB/s)", "B (GB/s)"], ["1", "1", "1", "0.333333"], ["2", "3", "2", "1.000000"]])
            self.assertEqual([list(table.columns) for table in tables], [["m", "n", "A (GB/s)", "B (GB/s)"]] * 2)
            self.assertIsNone(report.run())


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], "-v", *sys.argv[1:]])
