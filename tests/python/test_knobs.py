"""Settings: variables, what a program sets, scopes, hooks, and those that tilec refuses."""
import json
import os
import sys
import unittest

import tilec

tilec.install()

from record_knobs import answers
from testing import run
from triton import knobs

HERE = os.path.dirname(os.path.abspath(__file__))


class Recorded(unittest.TestCase):
    maxDiff = None

    def test_variables(self):
        with open(os.path.join(HERE, "Inputs", "knobs.json"), encoding="utf-8") as file:
            recorded = json.load(file)["answers"]
        got = answers(knobs)
        self.assertEqual({name: got.get(name) for name in recorded}, recorded)
        # What 3.9 has beyond it, and tilec alone.
        self.assertEqual({*got} - {*recorded}, {
            "compilation.fpsan_homomorphic_casts TRITON_FPSAN_HOMOMORPHIC_CASTS", "proton.enable_hw_trace TRITON_ENABLE_HW_TRACE",
            "language.force_disable_fp_fusion TRITON_FORCE_DISABLE_FP_FUSION", "compilation.deterministic TILEC_DETERMINISTIC",
            "compilation.language TILEC_LANGUAGE"})


class Setting(unittest.TestCase):
    def setUp(self):
        held = dict(os.environ)
        self.addCleanup(lambda: (os.environ.clear(), os.environ.update(held)))
        for group in vars(knobs).values():
            if isinstance(group, knobs.base_knobs):
                self.enterContext(group.scope())

    def enterContext(self, context):  # unittest has it since 3.11
        made = context.__enter__()
        self.addCleanup(context.__exit__, None, None, None)
        return made

    def test_a_program_comes_before_the_environment(self):
        os.environ["TRITON_PRINT_AUTOTUNING"] = "1"
        self.assertIs(knobs.autotuning.print, True)
        knobs.autotuning.print = False
        self.assertIs(knobs.autotuning.print, False)
        self.assertEqual(os.environ["TRITON_PRINT_AUTOTUNING"], "0", "processes that are started see it")
        os.environ["TRITON_PRINT_AUTOTUNING"] = "1"
        self.assertIs(knobs.autotuning.print, False)
        knobs.autotuning.print = knobs.env
        self.assertIs(knobs.autotuning.print, True)
        knobs.autotuning.print = False
        del knobs.autotuning.print
        self.assertIs(knobs.autotuning.print, False, "the variable says so")
        knobs.runtime.override_arch = None
        self.assertNotIn("TRITON_OVERRIDE_ARCH", os.environ)

    def test_processes_that_are_started_may_be_left_alone(self):
        knobs.propagate_env = False
        self.addCleanup(setattr, knobs, "propagate_env", True)
        knobs.runtime.override_arch = "sm80"
        self.assertNotIn("TRITON_OVERRIDE_ARCH", os.environ)

    def test_folders(self):
        knobs.cache.home_dir = "/home/x"
        self.assertEqual((knobs.cache.dir, knobs.cache.dump_dir), ("/home/x/.triton/cache", "/home/x/.triton/dump"))
        os.environ["TRITON_CACHE_DIR"] = "/elsewhere"
        self.assertEqual(knobs.cache.dir, "/elsewhere")

    def test_scopes_and_copies(self):
        os.environ["TRITON_DEBUG"] = "0"
        with knobs.runtime.scope():
            knobs.runtime.interpret = True
            knobs.runtime.debug = True
            copy = knobs.runtime.copy()
        self.assertEqual((knobs.runtime.interpret, knobs.runtime.debug, os.environ.get("TRITON_INTERPRET")), (False, False, None))
        self.assertEqual((copy.interpret, copy.debug), (True, True))
        self.assertIs(copy.reset().interpret, False)
        self.assertEqual(knobs.runtime.knobs, {"interpret": False, "override_arch": None})

    def test_what_is_read_once(self):
        os.environ["TRITON_DEBUG"] = "1"
        self.assertIs(knobs.runtime.debug, False)
        knobs.refresh_knobs()
        self.assertIs(knobs.runtime.debug, True)

    def test_classes(self):
        os.environ["TRITON_CACHE_MANAGER"] = "triton.runtime.cache:FileCacheManager"
        self.assertEqual(knobs.cache.manager_class.__name__, "FileCacheManager")
        for text, message in (("json", "isn't of the form MODULE:CLASS"), ("json:JSONDecoder", "not of type 'CacheManager'")):
            os.environ["TRITON_CACHE_MANAGER"] = text
            with self.assertRaisesRegex(RuntimeError, message):
                knobs.cache.manager_class
        os.environ["TRITON_REDIS_PORT"] = "many"
        with self.assertRaisesRegex(RuntimeError, "Unable to use TRITON_REDIS_PORT=many: expected int"):
            knobs.redis.port

    def test_tools(self):
        folder = os.path.dirname(os.path.abspath(__file__))
        tool = os.path.join(folder, "Inputs", "ptxas.sh")
        knobs.nvidia.ptxas = tool
        self.assertEqual((knobs.nvidia.ptxas.path, knobs.nvidia.ptxas.version), (tool, "13.1"))
        os.environ["TRITON_NVDISASM_PATH"] = tool
        self.assertEqual(knobs.nvidia.nvdisasm.version, "13.1")
        said, _ = run("-c", "import tilec.triton.knobs as k\ntry: k.nvidia.ptxas_blackwell\nexcept RuntimeError as e: print(e)",
                      env={"PATH": "/none", "CUDA_HOME": "/none", "CUDA_PATH": ""})
        self.assertEqual(said, "Cannot find ptxas-blackwell: TRITON_PTXAS_BLACKWELL_PATH may say where it is\n")

    def test_refused(self):
        knobs.check()
        os.environ["TRITON_KERNEL_OVERRIDE"] = "0"
        knobs.check()
        os.environ["AMDGCN_USE_BUFFER_OPS"] = "0"
        knobs.compilation.enable_asan = True
        knobs.compilation.instrumentation_mode = "consan"
        with self.assertRaises(RuntimeError) as raised:
            knobs.check()
        lines = str(raised.exception).split("\n")
        self.assertEqual(len(lines), 3, lines)
        self.assertEqual(lines[0], "knobs.compilation.enable_asan (TRITON_ENABLE_ASAN) is True, which tilec does not follow: "
                                   "TILEC_DEVICE=sim finds what is out of bounds")
        self.assertRegex(lines[1], r"^knobs.amd.use_buffer_ops \(AMDGCN_USE_BUFFER_OPS\) is False, ")
        self.assertRegex(lines[2], "^knobs.compilation.instrumentation_mode is 'consan', ")

    def test_variables_of_passes(self):
        os.environ |= {"MLIR_ENABLE_DUMP": "0", "LLVM_IR_ENABLE_DUMP": ""}
        knobs.check()
        os.environ["MLIR_ENABLE_DUMP"] = "kernel"
        with self.assertRaisesRegex(RuntimeError, "^MLIR_ENABLE_DUMP is 'kernel', which tilec does not follow: `tilec compile --dump-dir`"):
            knobs.check()

    def test_fusion(self):
        self.assertEqual([knobs.language.fp_fusion_enabled(x) for x in (None, True, False)], [True, True, False])
        knobs.language.default_fp_fusion = False
        self.assertEqual([knobs.language.fp_fusion_enabled(x) for x in (None, True, False)], [False, True, False])
        knobs.language.force_disable_fp_fusion = True
        self.assertEqual([knobs.language.fp_fusion_enabled(x) for x in (None, True, False)], [False, False, False])


class Hooks(unittest.TestCase):
    def test_chains(self):
        called = []
        first, second = (lambda *a: called.append(("first", *a))), (lambda *a: called.append(("second", *a)))
        for backwards, wanted in ((False, ["first", "second"]), (True, ["second", "first"])):
            chain = knobs.HookChain(reversed=backwards)
            for hook in (first, second, first):
                chain.add(hook)
            chain(7)
            self.assertEqual(called, [(name, 7) for name in wanted])
            called.clear()
            chain.remove(first)
            chain.remove(first)
            chain()
            self.assertEqual(called, [("second",)])
            called.clear()

    def test_who_watches_hears_of_it(self):
        heard = []
        watcher = lambda: heard.append(1)
        knobs.watchers.append(watcher)
        self.addCleanup(knobs.watchers.remove, watcher)
        hook = lambda metadata: None
        for change in (lambda: knobs.runtime.launch_enter_hook.add(hook), lambda: knobs.runtime.launch_enter_hook.remove(hook),
                       lambda: setattr(knobs.runtime, "debug", knobs.runtime.debug),
                       lambda: setattr(knobs.runtime, "jit_cache_hook", None), lambda: setattr(knobs.runtime, "override_arch", knobs.env)):
            heard.clear()
            change()
            self.assertTrue(heard)

    def test_times(self):
        times = knobs.CompileTimes(ir_initialization=1, lowering_stages=[("ptx", 2), ("cubin", 3)], store_results=4)
        self.assertEqual((times.total_lowering, times.total), (5, 10))


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], "-v", *sys.argv[1:]])
