"""Configurations and heuristics: which one a call uses, what is measured for it, and what is kept."""
import os
import tempfile
import unittest
import warnings

import numpy as np

from tilec.triton import knobs
from tilec.triton.compiler.errors import CompileTimeAssertionFailure
from tilec.triton.runtime.autotuner import Autotuner, Config, autotune, heuristics
from tilec.triton.runtime.errors import AutotunerError, OutOfResources, PTXASError
from tilec.triton.runtime.jit import KernelInterface


def base(x, y, n, BLOCK):
    pass


class Kernel(KernelInterface):
    """Stands for a jit function: says what it was called with."""

    fn, arg_names, __name__ = staticmethod(base), ["x", "y", "n", "BLOCK"], "base"

    def __init__(self, fails=()):
        self.runs, self.warmups, self.fails = [], [], dict(fails)

    def run(self, *args, grid, warmup, **kwargs):
        self.runs.append(kwargs)
        if kwargs["BLOCK"] in self.fails:
            raise self.fails[kwargs["BLOCK"]]
        return kwargs["BLOCK"]

    def warmup(self, *args, grid, **kwargs):
        self.warmups.append(kwargs["BLOCK"])


class Array:
    """What arrays of torch can do, as far as tuning asks."""

    def __init__(self, *values, dtype="float32"):
        self.values, self.dtype = list(values), dtype

    def zero_(self):
        self.values = [0] * len(self.values)

    def clone(self):
        return Array(*self.values)

    def copy_(self, other):
        self.values = list(other.values)


def by_block(times):
    """A benchmark: runs once, and says the time of the block that ran."""
    kernels = []

    def bench(launch, quantiles):
        launch()
        t = times[kernels[0].runs[-1]["BLOCK"]]
        return [t, t, t]

    return bench, kernels


def tuned(times, fails=(), configs=None, **more):
    bench, kernels = by_block(times)
    kernel = Kernel(fails)
    kernels.append(kernel)
    configs = configs or [Config({"BLOCK": block}, num_warps=w) for block, w in ((16, 1), (32, 2), (64, 4))]
    return autotune(configs, **{"key": ["n"], "do_bench": bench} | more)(kernel), kernel


class Configs(unittest.TestCase):
    def test_what_launches_are_given(self):
        self.assertEqual(Config({"A": 1}).all_kwargs(), {"A": 1, "num_warps": 4, "num_ctas": 1, "num_stages": 3})
        self.assertEqual(Config({}, num_warps=8, maxnreg=64).all_kwargs(), {"num_warps": 8, "num_ctas": 1, "num_stages": 3, "maxnreg": 64})

    def test_identity(self):
        self.assertEqual(Config({"A": 1}), Config({"A": 1}))
        self.assertEqual(len({Config({"A": 1}), Config({"A": 1}), Config({"A": 2}), Config({"A": 1}, num_warps=8)}), 3)
        self.assertNotEqual(Config({}), Config({}, pre_hook=print))
        self.assertEqual(str(Config({"A": 1, "B": 2})), "A: 1, B: 2, num_warps: 4, num_ctas: 1, num_stages: 3, maxnreg: None")


class Choosing(unittest.TestCase):
    def test_the_fastest_of_each_key(self):
        times = {16: 3.0, 32: 1.0, 64: 2.0}
        kernel, inner = tuned(times)
        self.assertEqual(kernel[(1,)](Array(1), Array(1), 5), 32)
        self.assertEqual((kernel.best_config.kwargs, len(inner.runs)), ({"BLOCK": 32}, 4))
        self.assertEqual(sorted(inner.warmups), [16, 32, 64])
        self.assertEqual([t[0] for t in kernel.configs_timings.values()], [3.0, 1.0, 2.0])
        times[64] = 0.5
        self.assertEqual(kernel[(1,)](Array(1), Array(1), 5), 32)  # known
        self.assertEqual(len(inner.runs), 5)
        self.assertEqual(kernel[(1,)](Array(1), Array(1), n=6), 64)
        self.assertEqual(kernel[(1,)](Array(1, dtype="float16"), Array(1), 5), 64)  # another type
        self.assertEqual(len(kernel.cache), 3)

    def test_one_configuration_is_not_measured(self):
        kernel, inner = tuned({}, configs=[Config({"BLOCK": 8})])
        self.assertEqual(kernel[(1,)](Array(1), Array(1), 5), 8)
        self.assertEqual((len(inner.runs), inner.warmups), (1, []))

    def test_what_fails_is_out(self):
        fails = {32: OutOfResources(2, 1, "shared memory"), 64: PTXASError("no"), 16: CompileTimeAssertionFailure(None, None, "no")}
        for left in fails:
            kernel, _ = tuned({16: 1, 32: 1, 64: 1}, {b: e for b, e in fails.items() if b != left})
            self.assertEqual(kernel[(1,)](Array(1), Array(1), 5), left)
        kernel, _ = tuned({16: 1, 32: 1, 64: 1}, {32: RuntimeError("of the program")})
        with self.assertRaisesRegex(RuntimeError, "of the program"):
            kernel[(1,)](Array(1), Array(1), 5)

    def test_conflicts_and_names(self):
        kernel, _ = tuned({16: 1, 32: 1, 64: 1})
        with self.assertRaisesRegex(ValueError, "Conflicting meta-parameters: BLOCK."):
            kernel[(1,)](Array(1), Array(1), 5, BLOCK=8)
        with self.assertWarnsRegex(UserWarning, "'m' of autotune's key is no argument of base"):
            kernel, _ = tuned({16: 1, 32: 1, 64: 1}, key=["m", "n"])
        kernel[(1,)](Array(1), Array(1), 5)
        for more in ({"reset_to_zero": ["z"]}, {"restore_value": ["z"]}):
            with self.assertRaisesRegex(ValueError, "is no argument of base"):
                tuned({}, **more)

    def test_pruning(self):
        times = {16: 3.0, 32: 1.0, 64: 2.0}
        seen = []

        def early(configs, named, **kwargs):
            seen.append((sorted(named), sorted(kwargs)))
            return [c for c in configs if c.kwargs["BLOCK"] != 32]

        kernel, inner = tuned(times, prune_configs_by={"early_config_prune": early})
        self.assertEqual(kernel[(1,)](Array(1), Array(1), 5), 64)
        self.assertEqual(seen, [(["n", "x", "y"], ["grid", "warmup"])])
        for top_k, best in ((1, 16), (2, 32), (0.67, 32), (1.0, 32)):
            kernel, _ = tuned(times, prune_configs_by={"perf_model": lambda BLOCK, **rest: BLOCK, "top_k": top_k})
            self.assertEqual(kernel[(1,)](Array(1), Array(1), 5), best, top_k)
        with self.assertRaisesRegex(TypeError, "top_k must be"):
            tuned(times, prune_configs_by={"perf_model": lambda **k: 1, "top_k": "2"})[0][(1,)](Array(1), Array(1), 5)
        with self.assertRaisesRegex(AutotunerError, "at least one config"):
            tuned(times, prune_configs_by={"early_config_prune": lambda *a, **k: []})[0][(1,)](Array(1), Array(1), 5)

    def test_memory_is_reset_and_put_back(self):
        x, y = Array(1, 2), Array(3, 4)

        class Adding(Kernel):
            def run(self, a, b, n, **kwargs):
                a.values[0] += 10
                b.values[0] += 10
                return super().run(a, b, n, **kwargs)

        bench, kernels = by_block({16: 3.0, 32: 1.0, 64: 2.0})
        kernels.append(Adding())
        kernel = Autotuner(kernels[0], kernels[0].arg_names, [Config({"BLOCK": b}) for b in (16, 32, 64)], ["n"], ["x"], ["y"], do_bench=bench)
        kernel[(1,)](x, y, 5)
        self.assertEqual((x.values, y.values), ([10, 0], [13, 4]))

    def test_hooks(self):
        said = []
        configs = [Config({"BLOCK": 16}, pre_hook=lambda a: said.append(("config", a["BLOCK"], a["n"]))), Config({"BLOCK": 32})]
        kernel, _ = tuned({16: 1.0, 32: 2.0}, configs=configs, pre_hook=lambda a, reset_only=False: said.append(("pre", a["BLOCK"], reset_only)),
                          post_hook=lambda a, exception: said.append(("post", a["BLOCK"], exception)))
        kernel[(1,)](Array(1), Array(1), 5)
        self.assertEqual(said, [("config", 16, 5), ("pre", 16, False), ("post", 16, None), ("pre", 32, False), ("post", 32, None),
                                ("pre", 16, True), ("config", 16, 5)])

    def test_deprecated_words_warn(self):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            tuned({}, warmup=5, do_bench=None)
        self.assertEqual([w.category for w in caught], [DeprecationWarning])

    def test_all_are_compiled(self):
        kernel, inner = tuned({16: 1, 32: 1, 64: 1})
        kernel.warmup(Array(1), Array(1), 5, grid=(1,))
        self.assertEqual((inner.warmups, inner.runs), ([16, 32, 64], []))


class Heuristic(unittest.TestCase):
    def test_values_follow_from_arguments(self):
        inner = Kernel()
        kernel = heuristics({"BLOCK": lambda a: a["n"] * 2, "EVEN": lambda a: a["BLOCK"] % 4 == 0})(inner)
        self.assertEqual(kernel[(1,)](Array(1), Array(1), 6), 12)
        self.assertEqual(inner.runs, [{"BLOCK": 12, "EVEN": True}])

    def test_behind_configurations(self):
        bench, kernels = by_block({16: 2.0, 32: 1.0})
        kernels.append(Kernel())
        inner = heuristics({"EVEN": lambda a: a["n"] % a["BLOCK"] == 0})(kernels[0])
        inner.arg_names = kernels[0].arg_names
        kernel = autotune([Config({"BLOCK": 16}), Config({"BLOCK": 32})], ["n"], do_bench=bench)(inner)
        self.assertEqual(kernel[(1,)](Array(1), Array(1), 64), 32)
        self.assertIs(kernels[0].runs[-1]["EVEN"], True)


class Kept(unittest.TestCase):
    def test_other_processes_find_what_was_measured(self):
        import tilec.triton as triton
        from tilec.triton import language as tl

        @triton.jit
        def add(x, n, BLOCK: tl.constexpr):
            i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
            tl.store(x + i, tl.load(x + i, mask=i < n) + 1, mask=i < n)

        measured = []

        def bench(launch, quantiles):
            measured.append(1)
            launch()
            return [float(len(measured))] * 3

        with tempfile.TemporaryDirectory() as folder, knobs.cache.scope():
            knobs.cache.dir = folder
            for process in range(2):
                kernel = autotune([Config({"BLOCK": b}) for b in (16, 32)], ["n"], do_bench=bench, cache_results=True)(add)
                x = np.zeros(100, np.float32)
                kernel[lambda meta: (triton.cdiv(100, meta["BLOCK"]),)](x, 100)
                self.assertEqual(kernel.best_config.kwargs, {"BLOCK": 16})
                self.assertEqual(len(measured), 2)
            files = [name for _, _, names in os.walk(folder) for name in names]
            self.assertEqual(files, ["add.autotune.json"])

    def test_on_this_machine_the_first_is_taken(self):
        import tilec.triton as triton
        from tilec.triton import language as tl

        @triton.autotune([Config({"BLOCK": b}) for b in (16, 32, 64)], ["n"])
        @triton.jit
        def add(x, n, BLOCK: tl.constexpr):
            i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
            tl.store(x + i, tl.load(x + i, mask=i < n) + 1, mask=i < n)

        x = np.zeros(100, np.float32)
        add[lambda meta: (triton.cdiv(100, meta["BLOCK"]),)](x, 100)
        self.assertEqual(x.tolist(), [1] * 100)


if __name__ == "__main__":
    unittest.main()
