"""Which device is in use and what it says of itself; errors; files on disk; what a kernel is compiled with."""
import os
import pickle
import sys
import tempfile
import threading
import unittest
from types import SimpleNamespace

import tilec

tilec.install()

import triton
from testing import run
from triton import knobs
from triton.backends import backends
from triton.backends.compiler import BaseBackend, GPUTarget, Language
from triton.backends.nvidia.compiler import CUDABackend, CUDAOptions
from triton.backends.nvidia.driver import make_tensordesc_arg, ty_to_cpp
from triton.compiler import CompilationError
from triton.compiler.errors import CompileTimeAssertionFailure
from triton.runtime import _allocation, cache
from triton.runtime.errors import AutotunerError, InterpreterError, OutOfResources, PTXASError

NONE = {"TILEC_CUDA_LIBRARY": "/none.so"}
FAKE = {"TILEC_CUDA_LIBRARY": os.environ.get("TILEC_FAKE_CUDA", "")}
SIM = {"TILEC_CUDA_LIBRARY": os.environ.get("TILEC_SIM_CUDA", "")}


def said(text, env):
    """What a process prints that has `triton`, `driver` and `active`, in one environment."""
    clean = {"TILEC_DEVICE": "", "TRITON_INTERPRET": "0", "TRITON_DEFAULT_BACKEND": ""}
    printed, status = run("-c", "import tilec; tilec.install(); import triton; from triton.runtime import driver\n" + text, env=clean | env)
    return printed if status == 0 else "failed: " + printed.strip().split("\n")[-1]


class Choice(unittest.TestCase):
    def test_which(self):
        which = "print(type(driver.active).__name__, driver.active.get_current_target())"
        cuda, cpu = ("CudaDriver GPUTarget(backend='cuda', arch=90, warp_size=32)\n",
                     "HostDriver GPUTarget(backend='cpu', arch=0, warp_size=32)\n")
        for env, wanted in ((FAKE, cuda), (SIM, cuda), (NONE, cpu), (FAKE | {"TILEC_DEVICE": "cuda"}, cuda),
                            (FAKE | {"TILEC_DEVICE": "cpu"}, cpu), (FAKE | {"TRITON_INTERPRET": "1"}, cpu),
                            (FAKE | {"TILEC_DEVICE": "auto", "TRITON_DEFAULT_BACKEND": "nvidia"}, cuda),
                            (NONE | {"TILEC_DEVICE": "sim"}, "HostDriver GPUTarget(backend='cuda', arch=90, warp_size=32)\n"),
                            (NONE | {"TILEC_DEVICE": "sim", "TRITON_INTERPRET": "1", "TILEC_SIM_TARGET": "sm_80"},
                             "HostDriver GPUTarget(backend='cuda', arch=80, warp_size=32)\n")):
            self.assertEqual(said(which, env), wanted, env)
        for env, wanted in ((NONE | {"TILEC_DEVICE": "cuda"}, "RuntimeError: no GPU: tilec: error: no CUDA driver: /none.so"),
                            ({"TILEC_DEVICE": "gpu"}, "RuntimeError: TILEC_DEVICE is 'gpu': it is one of auto, cuda, cpu and sim"),
                            ({"TRITON_DEFAULT_BACKEND": "amd"}, "RuntimeError: Unknown backend device 'amd'. Available backends: ['nvidia']"),
                            (NONE | {"TILEC_DEVICE": "sim", "TILEC_SIM_TARGET": "hopper"}, "RuntimeError: TILEC_SIM_TARGET is 'hopper'")):
            self.assertIn("failed: " + wanted, said(which, env))

    def test_another_driver(self):
        self.assertEqual(said("first = driver.active; driver.set_active('mine'); print(driver.active, driver.default is first)\n"
                              "driver.reset_active(); print(driver.active is first)", NONE), "mine True\nTrue\n")

    def test_a_folder_of_the_driver(self):
        env = {"TILEC_DEVICE": "cuda"}
        text = ("import os; os.environ.pop('TILEC_CUDA_LIBRARY', None); triton.knobs.nvidia.libcuda_path = {}\n"
                "print(type(driver.active).__name__)")
        self.assertIn("no CUDA driver: /nowhere", said(text.format("'/nowhere'"), env))
        self.assertEqual(said(text.format(repr(SIM["TILEC_CUDA_LIBRARY"])), env), "CudaDriver\n")


class Devices(unittest.TestCase):
    def test_properties(self):
        asked = "print(driver.active.utils.get_device_properties(0), driver.active.get_device_capability())"
        self.assertEqual(said(asked, SIM), "{'max_shared_mem': 232448, 'max_num_regs': 65536, 'multiprocessor_count': 4, 'warpSize': 32, "
                                           "'sm_clock_rate': 1000000, 'mem_clock_rate': 1000000, 'mem_bus_width': 4096} (9, 0)\n")
        self.assertIn("failed: RuntimeError: this machine is in the place of a GPU", said(asked, NONE))
        self.assertEqual(said(asked, {"TILEC_DEVICE": "sim", "TILEC_SIM_TARGET": "sm_86"}),
                         "{'max_shared_mem': 101376, 'max_num_regs': 65536, 'multiprocessor_count': 132, 'warpSize': 32} (8, 6)\n")

    def test_target_info(self):
        asked = ("from triton.language import target_info as t\n"
                 "print(t.is_cuda(), t.cuda_capability_geq(9), t.cuda_capability_geq(9, 1), t.cuda_capability_geq(8, 9), t.is_hip())")
        self.assertEqual(said(asked, SIM), "True True False True False\n")
        self.assertEqual(said(asked, NONE), "False False False False False\n")
        self.assertEqual(said(asked, {"TILEC_DEVICE": "sim"}), "True True False True False\n")

    def test_events_and_caches(self):
        used = ("d = driver.active; i = d.get_device_interface(); a, b = i.Event(enable_timing=True), i.Event()\n"
                "cache = d.get_empty_cache_for_benchmark(); a.record(); d.clear_cache(cache); b.record(); i.synchronize()\n"
                "print(a.elapsed_time(b) >= 0, i.current_device(), d.get_current_device(), d.get_current_stream(0), d.get_benchmarker)\n"
                "if cache is not None:\n"
                "    x = d.device(); address = cache.data_ptr(); x.set(address, 7, 4); before = x.read(address, 5); cache.zero_()\n"
                "    print(before, x.read(address, 4), cache.nbytes > 0)\n")
        for env in (SIM, FAKE):
            lines = said(used, env).split("\n")
            self.assertRegex(lines[0], "^True 0 0 0 ")
            self.assertEqual(lines[1], r"b'\x07\x07\x07\x07\x00' b'\x00\x00\x00\x00' True")
        self.assertRegex(said(used, NONE), "^True 0 0 0 ")

    def test_the_current_device_is_a_threads(self):
        self.assertEqual(said("import threading\nd = driver.active\nd._thread.device = 5\n"
                              "t = threading.Thread(target=lambda: print(d.get_current_device())); t.start(); t.join()\n"
                              "print(d.get_current_device())\n"
                              "d.set_current_device(0); print(d.get_current_device())\n"
                              "try: d.set_current_device(9)\n"
                              "except RuntimeError as e: print(type(e).__name__, d.get_current_device())", FAKE),
                         "0\n5\n0\nDriverError 0\n")

    def test_what_is_not_here(self):
        self.assertEqual(said("for name in ('load_binary', 'set_printf_fifo_size', 'fill_tma_descriptor', 'cuOccupancyMaxActiveClusters'):\n"
                              "    try: getattr(driver.active.utils, name)(1)\n"
                              "    except NotImplementedError as e: assert str(e).startswith(f'driver.active.utils.{name} is not in tilec: '), e\n"
                              "try: driver.active.launcher_cls\n"
                              "except AttributeError as e: print(e)", FAKE),
                         "CudaDriver.launcher_cls is not in tilec: kernels are launched by kernel[grid](..), CompiledKernel.run\n")


class Backends(unittest.TestCase):
    hopper = GPUTarget("cuda", 90, 32)

    def test_there_is_one(self):
        self.assertEqual([*backends], ["nvidia"])
        self.assertIs(backends["nvidia"].compiler, CUDABackend)
        self.assertTrue(issubclass(CUDABackend, BaseBackend) and CUDABackend.supports_target(self.hopper))
        self.assertEqual(Language.TRITON.value, 0)
        with self.assertRaisesRegex(AssertionError, "CUDABackend does not compile for GPUTarget.backend='hip'"):
            CUDABackend(GPUTarget("hip", "gfx942", 64))
        self.assertEqual((BaseBackend.parse_attr("D"), BaseBackend.parse_attr("")), ([["tt.divisibility", 16]], []))
        self.assertEqual([BaseBackend.get_int_specialization(n, align=a) for n, a in ((32, True), (32, False), (33, True))], ["D", "", ""])
        self.assertFalse(hasattr(sys.modules["triton.backends.compiler"], "AttrsDescriptor"))

    def test_options(self):
        """As Triton 3.6 answers for these targets, and tilec's own."""
        plain = {"num_warps": 8, "num_ctas": 1, "num_stages": 3, "warp_size": 32, "maxnreg": None, "ptx_version": None, "ptx_options": None,
                 "ir_override": None, "enable_fp_fusion": True, "enable_reflect_ftz": True, "launch_cooperative_grid": False,
                 "launch_pdl": False, "default_dot_input_precision": "tf32",
                 "allowed_dot_input_precisions": ("tf32", "tf32x3", "ieee", "bf16x3", "bf16x6"), "debug": False, "backend_name": "cuda",
                 "sanitize_overflow": True, "instrumentation_mode": "", "deterministic": False}
        for arch, fp8, deprecated, imprecise in ((80, ("fp8e4b15", "fp8e5"), (), 0), (89, ("fp8e4b15", "fp8e4nv", "fp8e5"), (), 0),
                                                 (90, ("fp8e4b15", "fp8e4nv", "fp8e5"), ("fp8e4b15",), 1 << 30),
                                                 (100, ("fp8e4b15", "fp8e4nv", "fp8e5"), ("fp8e4b15",), 0)):
            options = CUDABackend(GPUTarget("cuda", arch, 32)).parse_options({"num_warps": 8, "num_stages": None, "BLOCK": 64})
            self.assertEqual(options.__dict__, plain | {
                "supported_fp8_dtypes": fp8, "deprecated_fp8_dot_operand_dtypes": deprecated, "extern_libs": (),
                "max_num_imprecise_acc_default": imprecise, "arch": f"sm{arch}"})
        self.assertEqual(CUDAOptions(num_warps=4), CUDAOptions())
        self.assertNotEqual(CUDAOptions(num_warps=8).hash(), CUDAOptions().hash())
        self.assertRegex(CUDAOptions().hash(), "^[0-9a-f]{64}$")
        self.assertEqual(CUDAOptions(extern_libs={"libdevice": "/x.bc"}).extern_libs, (("libdevice", "/x.bc"),))

    def test_mistakes(self):
        with self.assertRaisesRegex(AssertionError, "num_warps must be a power of 2"):
            CUDAOptions(num_warps=3)
        with self.assertRaisesRegex(ValueError, r"num_ctas > 1 requires NVIDIA SM90\+ \(Hopper\). Current target is sm_80"):
            CUDABackend(GPUTarget("cuda", 80, 32)).parse_options({"num_ctas": 2})
        with self.assertRaisesRegex(ValueError, "extern_libs has mine: functions of other libraries are not linked"):
            CUDAOptions(extern_libs={"mine": "/x.bc"})
        with knobs.runtime.scope():
            knobs.runtime.override_arch = "sm80"
            self.assertEqual(CUDABackend(self.hopper).parse_options({}).arch, "sm80")
            knobs.runtime.override_arch = "hopper"
            with self.assertRaisesRegex(ValueError, "TRITON_OVERRIDE_ARCH must have the form"):
                CUDABackend(self.hopper).parse_options({})
        for call in (lambda b: b.add_stages({}, None), lambda b: b.load_dialects(None), lambda b: b.get_codegen_implementation(None)):
            with self.assertRaisesRegex(NotImplementedError, "is not in tilec: a compilation is libtilec's"):
                call(CUDABackend(self.hopper))

    def test_key(self):
        keys = {CUDABackend(GPUTarget("cuda", arch, 32)).hash() for arch in (80, 90)}
        self.assertEqual(len(keys), 2)
        self.assertTrue(all(key.startswith(cache.triton_key()) for key in keys))

    def test_parameters_of_launchers(self):
        self.assertEqual([ty_to_cpp(ty) for ty in ("*fp32", "i1", "i64", "u1", "u8", "fp16", "fp64", "tensordesc<fp16[16, 16]>")],
                         ["CUdeviceptr", "int8_t", "int64_t", "uint8_t", "uint8_t", "double", "double", "CUtensorMap"])
        descriptor = SimpleNamespace(base="p", shape=[4, 8], strides=[8, 1], padding="nan")
        self.assertEqual(make_tensordesc_arg(descriptor, None), ["p", 4, 8, 8, 1, True, 4, 8, 8, 1])
        with self.assertRaisesRegex(NotImplementedError, "make_tensordesc_arg with metadata is not in tilec"):
            make_tensordesc_arg(descriptor, {})


class Errors(unittest.TestCase):
    def test_words_and_pickles(self):
        node = SimpleNamespace(lineno=2, col_offset=4)
        text = "def k(x):\n    x +\n"
        for error, words in (
                (OutOfResources(300, 200, "shared memory"), "out of resource: shared memory, Required: 300, Hardware limit: 200. "
                                                            "Reducing block sizes or `num_stages` may help."),
                (PTXASError("no"), "PTXAS error: no"), (PTXASError(), "PTXAS error: "), (AutotunerError("no"), "Autotuner error: no"),
                (InterpreterError("no"), "no"), (InterpreterError(), ""),
                (CompilationError(text, node, "what"), "at 2:4:\ndef k(x):\n    x +\n    ^\nwhat"),
                (CompilationError(None, node, "what"), "at 2:4:\n <source unavailable>\nwhat"),
                (CompilationError("", SimpleNamespace(lineno=0, col_offset=0)), "at 0:0:\n <source empty>"),
                (CompilationError(text, object.__new__(triton.language.const), "what"), text + "\nwhat"),
                (CompileTimeAssertionFailure("\n".join(f"line {i}" for i in range(1, 30)), SimpleNamespace(lineno=20, col_offset=0)),
                 "at 20:0:\n" + "\n".join(f"line {i}" for i in range(9, 21)) + "\n^")):
            self.assertEqual(str(error), words)
            copy = pickle.loads(pickle.dumps(error))
            self.assertEqual((type(copy), str(copy)), (type(error), words))
            self.assertIsInstance(error, triton.TritonError)
        self.assertEqual((copy.src[:6], copy.node.lineno, copy.error_message), ("line 1", 20, None))


class Cache(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        context = knobs.cache.scope()
        context.__enter__()
        self.addCleanup(context.__exit__, None, None, None)
        knobs.cache.dir = os.path.join(self.folder, "cache")
        knobs.cache.dump_dir = os.path.join(self.folder, "dump")

    def test_files(self):
        key = "00ff" * 16
        files = cache.get_cache_manager(key)
        self.assertEqual(files.cache_dir, os.path.join(knobs.cache.dir, cache._base32(key)))
        self.assertIsNone(files.get_file("k.cubin"))
        path = files.put(b"\x00\x01", "k.cubin")
        self.assertEqual((path, files.get_file("k.cubin"), files.has_file("k.ptx")), (os.path.join(files.cache_dir, "k.cubin"), path, False))
        text = files.put("a text", "k.ptx", binary=False)
        files.put(b"\x02", "k.cubin")
        with open(path, "rb") as cubin, open(text, encoding="utf-8") as ptx:
            self.assertEqual((cubin.read(), ptx.read()), (b"\x02", "a text"))
        files.put_group("k.json", {"k.cubin": path, "k.ptx": text, "gone": path + "x"})
        self.assertEqual(cache.get_cache_manager(key).get_group("k.json"), {"k.cubin": path, "k.ptx": text})
        self.assertIsNone(files.get_group("other.json"))
        self.assertEqual(sorted(os.listdir(files.cache_dir)), ["__grp__k.json", "k.cubin", "k.ptx"], "nothing is left beside them")
        self.assertTrue(cache.get_dump_manager(key).cache_dir.startswith(knobs.cache.dump_dir))
        with self.assertRaisesRegex(AssertionError, "files that override others are not written"):
            cache.get_override_manager(key).put(b"", "k.ptx")

    def test_many_writers(self):
        files = cache.get_cache_manager("ab")
        texts = [str(i) * 10000 for i in range(8)]
        wrong = []

        def write(text):
            for _ in range(20):
                with open(files.put(text, "shared"), encoding="utf-8") as file:
                    found = file.read()
                    if found not in texts:
                        wrong.append(found)

        threads = [threading.Thread(target=write, args=(text,)) for text in texts]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(wrong, [])

    def test_keys(self):
        self.assertEqual(cache._base32("00ff10"), "AD7RA")
        self.assertFalse(hasattr(cache, "_base64"))
        self.assertRegex(cache.triton_key(), r"^3\.[0-9.]+-tilec-[0-9.]+-\w+$")
        one = cache.make_so_cache_key("v", {0: "*fp32", 1: "i32"}, {}, "ids")
        self.assertEqual(one, cache.make_so_cache_key("v", {0: "*i8", 1: "i32"}, {}, "ids"))
        self.assertNotEqual(one, cache.make_so_cache_key("v", {0: "*i8", 1: "i64"}, {}, "ids"))

    def test_on_other_machines(self):
        for make in (cache.RemoteCacheManager, cache.RedisRemoteCacheBackend, type("Mine", (cache.RemoteCacheBackend,), {})):
            with self.assertRaisesRegex(NotImplementedError, f"{make.__name__}.* TILEC_REMOTE_CACHE"):
                make("key")


class Allocators(unittest.TestCase):
    def test_set(self):
        with self.assertRaisesRegex(RuntimeError, "no allocator was set"):
            _allocation._allocator.get()(1, 1, None)
        triton.set_allocator(lambda size, alignment, stream: size)
        self.assertEqual(_allocation._allocator.get()(5, 1, None), 5)
        triton.set_allocator(_allocation.NullAllocator())
        self.assertFalse(_allocation.has_profile_allocator())
        _allocation.set_profile_allocator(lambda size, alignment, stream: alignment)
        self.assertEqual((_allocation._profile_allocator(5, 3, None), _allocation.has_profile_allocator()), (3, True))
        _allocation.set_profile_allocator(None)
        self.assertFalse(_allocation.has_profile_allocator())


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], "-v", *sys.argv[1:]])
