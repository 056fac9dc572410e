"""What torch's Inductor and Dynamo take from triton, and what they choose by its absence; what they do with a kernel, by hand."""
import importlib
import inspect
import os
import pickle
import sys
import tempfile
import unittest
from unittest import mock

import tilec

tilec.install()
os.environ["TILEC_CUDA_LIBRARY"] = os.environ["TILEC_FAKE_CUDA"]  # which assembles, in its way

import triton
import triton.language as tl
from testing import run

THERE = """
triton: Config JITFunction cdiv constexpr_function compile jit language runtime __version__ next_power_of_2 set_allocator knobs
triton.compiler: CompiledKernel ASTSource make_backend
triton.compiler.compiler: ASTSource make_backend triton_key CompiledKernel
triton.backends: backends
triton.backends.compiler: GPUTarget BaseBackend
triton.backends.nvidia.driver: make_tensordesc_arg
triton.runtime: driver autotuner
triton.runtime.autotuner: Autotuner Config Heuristics OutOfResources PTXASError autotune
triton.runtime.jit: JITFunction KernelInterface ConstexprFunction native_specialize_impl JITCallable mangle_type
triton.runtime.cache: triton_key _base32 knobs
triton.runtime.driver: driver
triton.runtime._allocation: _allocator
triton.runtime.interpreter: InterpretedFunction
triton._utils: find_paths_if get_iterable_path
triton.knobs: HookChain runtime compilation autotuning nvidia
triton.language.core: dtype view _unwrap_if_constexpr get_int_dtype
triton.language.standard: _log2
triton.language.extra: libdevice
triton.testing: do_bench get_dram_gbps get_max_simd_tflops get_max_tensorcore_tflops
triton.tools.tensor_descriptor: TensorDescriptor
triton.profiler: start scope finalize
"""
ABSENT = """
triton.backends.compiler: AttrsDescriptor
triton.compiler.compiler: AttrsDescriptor
triton.runtime.cache: _base64
triton.runtime.errors: IntelGPUError
triton.language: ReductionOrdering
triton.language.extra.cuda: experimental_device_tensormap_create1d experimental_tensormap_fenceproxy_acquire
"""
NO_MODULES = ("triton.tools.experimental_descriptor", "triton.language.extra.tlx", "triton._C.libtriton.ir", "triton.experimental.gluon")


@triton.jit
def pointwise(in_ptr0, out_ptr0, xnumel, XBLOCK: tl.constexpr):
    xoffset = tl.program_id(0) * XBLOCK
    xindex = xoffset + tl.arange(0, XBLOCK)[:]
    xmask = xindex < xnumel
    tmp0 = tl.load(in_ptr0 + xindex, xmask)
    tl.store(out_ptr0 + xindex, tl.extra.libdevice.tanh(tmp0), xmask)


def source(kernel):
    return triton.compiler.ASTSource(kernel, {"in_ptr0": "*fp32", "out_ptr0": "*fp32", "xnumel": "i32", "XBLOCK": "constexpr"},
                                     {"XBLOCK": 256}, {(i,): [["tt.divisibility", 16]] for i in range(3)})


OPTIONS = {"num_warps": 4, "num_stages": 1, "debug": True, "sanitize_overflow": False, "launch_cooperative_grid": False, "launch_pdl": False}


class Names(unittest.TestCase):
    def each(self, text):
        for line in text.strip().splitlines():
            module, names = line.split(": ")
            for name in names.split():
                yield module, name

    def test_there(self):
        for module, name in self.each(THERE):
            self.assertTrue(hasattr(importlib.import_module(module), name), f"{module}.{name}")

    def test_absent(self):
        for module, name in self.each(ABSENT):
            self.assertFalse(hasattr(importlib.import_module(module), name), f"{module}.{name}")
        for module in NO_MODULES:
            with self.assertRaises(ImportError, msg=module):
                importlib.import_module(module)
        self.assertNotIn("cpu", triton.backends.backends)

    def test_of_the_extension(self):
        from triton._C.libtriton import nvidia

        with self.assertRaises(ImportError):
            from triton._C.libtriton import ir  # noqa: F401
        torch, a, b, c, d = (mock.MagicMock() for _ in range(5))
        with mock.patch.dict(sys.modules, torch=torch):
            cublas = nvidia.cublas.CublasLt(mock.Mock())
            cublas.gemm(a, b, c, d, 2.0, 3.0)
            torch.addmm.assert_called_once_with(c, a, b.t(), beta=3.0, alpha=2.0, out=d)
            a.dtype = "torch.float8_e4m3fn"
            cublas.matmul(a, b, c)
            self.assertEqual(torch._scaled_mm.call_args.kwargs["out"], c)
            with self.assertRaisesRegex(NotImplementedError, "torch._scaled_mm has it"):
                cublas.block_scaled_matmul_mxfp8(a, b, c, d, d)

    def test_asked_for_by_shape(self):
        self.assertIn("_semantic", inspect.signature(tl.core.view).parameters)
        self.assertTrue(hasattr(triton.runtime.driver, "active"))  # the object, whichever way its module was imported
        importlib.import_module("triton.runtime.driver")
        self.assertTrue(hasattr(triton.runtime.driver, "active"))
        self.assertEqual(len(inspect.signature(importlib.import_module("triton.backends.nvidia.driver").make_tensordesc_arg).parameters), 2)


class Kernels(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        patch = mock.patch.dict(os.environ, TRITON_CACHE_DIR=folder.name)
        patch.start()
        self.addCleanup(patch.stop)
        self.folder = folder.name

    def test_static_launcher(self):
        """What it looks at, and the file that it loads."""
        kernel = triton.compile(source(pointwise), target=triton.backends.compiler.GPUTarget("cuda", 90, 32), options=OPTIONS)
        path = os.path.join(self.folder, triton.runtime.cache._base32(kernel.hash), f"{kernel.src.fn.__name__}.cubin")
        with open(path, "rb") as file:
            self.assertEqual(file.read(), kernel.asm["cubin"])
        self.assertEqual((kernel.metadata.num_warps, kernel.metadata.num_ctas, kernel.metadata.shared), (4, 1, 0))
        self.assertEqual((kernel.src.arg_names if hasattr(kernel.src, "arg_names") else kernel.src.fn.arg_names)[2], "xnumel")
        self.assertEqual(kernel.src.constants, {(3,): 256})
        self.assertFalse(kernel.metadata.launch_pdl or kernel.metadata.launch_cooperative_grid or kernel.metadata.tensordesc_meta)
        self.assertIsNone(getattr(kernel.metadata, "global_scratch_size", None))
        self.assertEqual(triton.knobs.runtime.launch_enter_hook.calls, [])
        self.assertIn(".visible .entry pointwise(", kernel.asm["ptx"])
        self.assertIn(".reqntid 128, 1, 1", kernel.asm["ptx"])

    def test_by_a_process_of_its_own(self):
        """Compiled there, pickled as its result is, and launched here by `run`."""
        path = os.path.join(self.folder, "result")
        said, status = run("-c", "import sys; sys.path.insert(0, sys.argv[1])\nfrom test_inductor import *\n"
                                 "import pickle\nkernel = triton.compile(source(pointwise), target="
                                 "triton.backends.compiler.GPUTarget('cuda', 90, 32), options=OPTIONS)\n"
                                 "fn = kernel.src.fn\nfn.fn = fn.__globals__ = fn.used_global_vals = fn._hash_lock = None\nfn.repr = str\n"
                                 "state = {**kernel.__dict__, 'metadata': kernel.metadata._asdict(), 'module': None, 'function': None, 'run': None}\n"
                                 "pickle.dump(state, open(sys.argv[2], 'wb'))", os.path.dirname(os.path.abspath(__file__)), path)
        self.assertEqual((said, status), ("", 0))
        with open(path, "rb") as file:
            state = pickle.load(file)
        kernel = triton.compiler.CompiledKernel.__new__(triton.compiler.CompiledKernel)
        from collections import namedtuple

        kernel.__dict__.update(state, metadata=namedtuple("KernelMetadata", sorted(state["metadata"]))(**state["metadata"]))
        self.assertEqual(kernel.src.fn.arg_names, pointwise.arg_names)
        fn = kernel.src.fn  # which is pickled once more for a cache of graphs
        self.assertEqual((fn.fn, fn.__globals__, fn.used_global_vals, repr(fn)), (None, None, None, "JITFunction(test_inductor:pointwise)"))
        again = pickle.loads(pickle.dumps(fn))
        self.assertEqual((again.arg_names, again.fn, again.cache_key), (pointwise.arg_names, None, pointwise.cache_key))
        from tilec.triton.backends.nvidia.driver import CudaDriver

        with mock.patch.object(triton.runtime.driver, "_active", CudaDriver()):
            kernel._init_handles()
            self.assertTrue(kernel.function)
            self.assertEqual(kernel.n_spills, 0)
            hooks = triton.knobs.runtime.launch_enter_hook, triton.knobs.runtime.launch_exit_hook
            kernel.run(1, 1, 1, 0, kernel.function, kernel.packed_metadata, None, *hooks, 1 << 20, 1 << 21, 100, 256)

    def test_in_forked_processes(self):
        """As Inductor's pool does where its parent has used CUDA: the driver answers to the parent alone."""
        from tilec import _tilec
        from tilec.triton.backends.nvidia.driver import CudaDriver

        CudaDriver().device()
        torch = mock.Mock(**{"cuda.is_available.return_value": True, "version.hip": None})
        child = os.fork()
        if child == 0:
            status = 1
            try:
                with mock.patch.object(_tilec, "device_count", side_effect=RuntimeError), mock.patch.dict(sys.modules, torch=torch):
                    active = triton.backends.backends["nvidia"].driver.is_active()
                    kernel = triton.compile(source(pointwise), target=triton.backends.compiler.GPUTarget("cuda", 90, 32), options=OPTIONS)
                    status = 0 if active and len(kernel.asm["cubin"]) else 2
            finally:
                os._exit(status)
        self.assertEqual(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), 0)


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[1:]])
