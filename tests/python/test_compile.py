"""triton.compile: kernels in the plain form, their files, what is known of them, what is said of wrong ones."""
import logging
import os
import pickle
import sys
import tempfile
import traceback
import unittest
import warnings
from unittest import mock

import numpy as np

import tilec
import tilec.triton as triton
import tilec.triton.language as tl
from tilec import _tilec
from tilec.triton.backends.compiler import GPUTarget
from tilec.triton.backends.driver import HostDriver
from tilec.triton.backends.nvidia.driver import CudaDriver
from tilec.triton.compiler import ASTSource, CompiledKernel, IRSource, LazyDict, filter_traceback, make_backend
from tilec.triton.compiler.errors import CompileTimeAssertionFailure, UnsupportedLanguageConstruct
from tilec.triton.runtime.cache import _base32
from tilec.triton.tools.disasm import get_sass

os.environ["TILEC_CUDA_LIBRARY"] = os.environ["TILEC_FAKE_CUDA"]  # which assembles, in its way

H100 = GPUTarget("cuda", 90, 32)
DIVISIBLE = [["tt.divisibility", 16]]


@triton.jit
def twice(v):
    return v * 2


@triton.jit
def scale(x, y, n, BLOCK: tl.constexpr, F: tl.constexpr = None):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(x + i, mask=i < n)
    if F is not None:
        v = F(v)
    tl.store(y + i, v, mask=i < n)


@triton.jit
def large(x, y, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    a = tl.load(x + i[:, None] * BLOCK + i[None, :])
    tl.store(y + i[:, None] * BLOCK + i[None, :], tl.dot(a, tl.trans(a)))


@triton.jit
def asserts(x, N: tl.constexpr):
    tl.static_assert(N < 4, "N is small")
    tl.store(x, N)


@triton.jit
def wrong(x):
    tl.store(x, nowhere)  # noqa: F821


@triton.jit
def fused(x):
    v = tl.load(x)
    tl.store(x, v * v + 1.5)


@triton.jit
def pairs(x, p):
    tl.store(x, p[0] + p[1])


@triton.jit
def sums(x, y):
    i = tl.arange(0, 8)
    tl.store(y, tl.sum(tl.load(x + i, mask=i < 5)))


@triton.jit
def says(x, N: tl.constexpr):
    tl.static_print("N is", N)
    tl.store(x, N)


SIGNATURE = {"x": "*fp32", "y": "*fp32", "n": "i32", "BLOCK": "constexpr", "F": "constexpr"}


def source(**constants):
    return ASTSource(scale, SIGNATURE, {"BLOCK": 128, "F": None, **constants}, {(0,): DIVISIBLE, (1,): DIVISIBLE})


class Folder(unittest.TestCase):
    """Each test with a folder of its own for files."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        patch = mock.patch.dict(os.environ, TRITON_CACHE_DIR=folder.name)
        patch.start()
        self.addCleanup(patch.stop)
        self.folder = folder.name


class Kernels(Folder):
    def test_facts(self):
        kernel = triton.compile(source(), H100, {"num_warps": 2})
        self.assertEqual((kernel.name, kernel.metadata.num_warps, kernel.metadata.shared, kernel.metadata.target), ("scale", 2, 0, H100))
        self.assertEqual((kernel.metadata.num_stages, kernel.metadata.num_ctas, kernel.metadata.cluster_dims), (3, 1, (1, 1, 1)))
        self.assertTrue(kernel.metadata.plain_abi)
        self.assertEqual(kernel.packed_metadata, (2, 1, 0))
        self.assertFalse(hasattr(kernel.metadata, "global_scratch_size"))  # launchers would pass a pointer
        self.assertEqual((kernel.module, kernel.function), (None, None))
        self.assertEqual({*kernel.__dict__} - {"_packed"}, {"_run", "asm", "function", "hash", "kernel", "metadata", "metadata_group", "module", "name",
                                                            "packed_metadata", "src"})
        bytes.fromhex(kernel.hash)
        self.assertIs(kernel.result(), kernel)
        # Triton's own fields: those who build launchers read them.
        for name in ("hash target name num_warps num_ctas num_stages warp_size maxnreg shared tmem_size tensordesc_meta debug arch "
                     "enable_fp_fusion launch_cooperative_grid launch_pdl supported_fp8_dtypes backend_name sanitize_overflow "
                     "triton_version extern_libs ir_override ptx_options").split():
            self.assertTrue(hasattr(kernel.metadata, name), name)

    def test_outputs(self):
        kernel = triton.compile(source(), H100)
        self.assertIn(".visible .entry scale(", kernel.asm["ptx"])
        self.assertIn(".reqntid 128, 1, 1", kernel.asm["ptx"])
        self.assertEqual(kernel.asm["ptx"].count(".param ."), 3)
        self.assertNotIn("llir", kernel.asm.keys())
        self.assertIn("llir", kernel.asm)
        self.assertIn("define", kernel.asm["llir"])
        self.assertIn("llir", kernel.asm.keys())
        self.assertNotEqual(kernel.asm["tir"], kernel.asm["tir-final"])
        self.assertEqual(kernel.asm.get("so"), None)
        for name in ("ttir", "ttgir"):
            self.assertNotIn(name, kernel.asm)
            with self.assertRaisesRegex(KeyError, f"Unknown key: '{name}'; tilec's Tile IR is asm\\['tir'\\]"):
                kernel.asm[name]

    def test_files_and_hits(self):
        seen = []
        with mock.patch.object(triton.knobs.compilation, "listener", lambda **what: seen.append(what["cache_hit"])):
            first = triton.compile(source(), H100)
            again = triton.compile(source(), H100)
            other = triton.compile(source(BLOCK=64), H100)
            warps = triton.compile(source(), H100, {"num_warps": 8})
            function = triton.compile(source(F=twice), H100)
        self.assertEqual(seen, [False, True, False, False, False])
        self.assertEqual(first.hash, again.hash)
        self.assertEqual(len({first.hash, other.hash, warps.hash, function.hash}), 4)
        self.assertEqual((first.asm["ptx"], first.metadata), (again.asm["ptx"], again.metadata))
        folder = os.path.join(self.folder, _base32(first.hash))
        self.assertLessEqual({"scale.ptx", "scale.tir", "scale.json"}, {*os.listdir(folder)})
        self.assertEqual(first.metadata_group["scale.ptx"], os.path.join(folder, "scale.ptx"))
        self.assertEqual(["add.f32" in kernel.asm["ptx"] for kernel in (first, function)], [False, True])

    def test_fused_products(self):
        def asks(options=None):
            made = triton.compile(ASTSource(fused, {"x": "*fp32"}), H100, options)
            return "fma.rn.f32" in made.asm["ptx"], made.metadata.enable_fp_fusion

        self.assertEqual([asks(), asks({"enable_fp_fusion": True}), asks({"enable_fp_fusion": False})],
                         [(True, True), (True, True), (False, False)])
        with mock.patch.dict(os.environ, TRITON_DEFAULT_FP_FUSION="0"):
            self.assertEqual([asks()[0], asks({"enable_fp_fusion": True})[0]], [False, True])

        def called(**options):
            return "fma.rn.f32" in fused.warmup(np.zeros(1, np.float32), grid=(1,), **options).asm["ptx"]

        self.assertEqual([called(), called(enable_fp_fusion=False)], [True, False])
        with mock.patch.dict(os.environ, TRITON_FORCE_DISABLE_FP_FUSION="1"):
            self.assertEqual(called(enable_fp_fusion=True), False)

    def test_deterministic(self):
        def asks(options=None):
            return "deterministic = true" in triton.compile(ASTSource(fused, {"x": "*fp32"}), H100, options).asm["tir"]

        self.assertEqual([asks(), asks({"deterministic": True}), asks({"deterministic": False})], [False, True, False])

        def called(**options):
            kernel = fused.warmup(np.zeros(1, np.float32), grid=(1,), **options)
            return "deterministic = true" in kernel.asm["tir"], "fma.rn.f32" in kernel.asm["ptx"]

        self.assertEqual([called(), called(deterministic=True)], [(False, True), (True, False)])
        with mock.patch.object(triton.knobs.compilation, "deterministic", True):
            self.assertEqual((asks(), called()), (True, (True, False)))

    def test_sass(self):
        """By the disassembler that the environment names: here one that prints what it is given."""
        script = os.path.join(self.folder, "nvdisasm")
        with open(script, "w") as file:
            file.write('#!/bin/sh\ncase "$1" in --version) echo "release 13.1";; *) printf "Function : a\\n  MOV\\nFunction : scale\\n"; '
                       'wc -c < "$1";; esac\n')
        os.chmod(script, 0o755)
        with mock.patch.dict(os.environ, TRITON_NVDISASM_PATH=script):
            self.assertEqual(get_sass(b"12345"), "Function : a\n  MOV\nFunction : scale\n5\n")
            self.assertEqual(get_sass(b"12345", "scale"), "Function : scale\n5\n")
            kernel = pickle.loads(pickle.dumps(triton.compile(source(), H100)))
            self.assertIn("sass", kernel.asm)
            self.assertIn("Function : scale", kernel.asm["sass"])
            with open(script, "w") as file:
                file.write('#!/bin/sh\ncase "$1" in --version) echo "release 13.1";; *) echo no cubin >&2; exit 1;; esac\n')
            with self.assertRaisesRegex(RuntimeError, "refuses the cubin: no cubin"):
                get_sass(b"12345")

    def test_pickles(self):
        kernel = pickle.loads(pickle.dumps(triton.compile(source(), H100)))
        self.assertIn(".entry scale", kernel.asm["ptx"])
        self.assertEqual(kernel.metadata.num_warps, 4)
        self.assertIs(kernel.src.fn, scale)
        with self.assertRaisesRegex(KeyError, "is not in this process"):
            kernel.asm["llir"]
        # As others do it: __new__, and the dict.
        made = CompiledKernel.__new__(CompiledKernel)
        made.__dict__.update({**triton.compile(source(), H100).__dict__, "module": None, "function": None, "run": None})
        self.assertEqual(made.metadata.name, "scale")

    def test_packed(self):
        units = scale.units.tuples
        kernel = _tilec.compile(units, {"types": {"x": "*fp32", "y": "*fp32", "n": "i32"}, "constexprs": {"BLOCK": "64", "F": "None"},
                                        "target": "sm_80"}, ("tir",))
        again = _tilec.unpack(kernel.pack())
        self.assertEqual(again.info(), {**kernel.info(), "from_cache": again.info()["from_cache"], "compile_ms": again.info()["compile_ms"]})
        self.assertEqual(again.output("ptx"), kernel.output("ptx"))
        self.assertEqual([param[:3] for param in again.params()], [("x", "*fp32", False), ("y", "*fp32", False), ("n", "i32", False),
                                                                   ("BLOCK", "64", True), ("F", "None", True)])
        self.assertEqual([param[3] for param in kernel.params()][:2], [False, True])
        self.assertEqual(kernel.output("sass"), None)
        with self.assertRaises(KeyError):
            kernel.output("ttir")
        with self.assertRaises(TypeError):
            type(kernel)()
        damaged = bytearray(kernel.pack())
        damaged[len(damaged) // 2] ^= 1
        for bytes_ in (b"", b"no kernel", bytes(damaged)):
            with self.assertRaises(tilec.ArgumentError):
                _tilec.unpack(bytes_)

    def test_functions_of_a_gpu_by_their_modules_and_as_arguments(self):
        from tilec.triton.language.extra.cuda import gdc, utils
        from tilec.triton.language.extra.cuda.gdc import gdc_wait
        from tilec.triton.language.extra.cuda.utils import globaltimer

        @triton.jit
        def asks(x, f: tl.constexpr):
            gdc_wait()
            gdc.gdc_launch_dependents()
            tl.store(x, f().to(tl.int64) + globaltimer() - utils.globaltimer())

        kernel = triton.compile(ASTSource(asks, {"x": "*i64", "f": "constexpr"}, {"f": tl.extra.cuda.smid}), target=H100, options={"launch_pdl": True})
        for word in ("%smid", "%globaltimer", "griddepcontrol.wait", "griddepcontrol.launch_dependents"):
            self.assertIn(word, kernel.asm["ptx"])

    def test_tuples(self):
        kernel = triton.compile(ASTSource(pairs, {"x": "*i32", "p": ("i32", "constexpr")}, {(1, 1): 5}), H100)
        self.assertEqual(kernel.asm["ptx"].count(".param ."), 2)
        self.assertEqual(kernel._values((7, (1, 5))), (7, 1))

    def test_dump(self):
        with mock.patch.dict(os.environ, TRITON_KERNEL_DUMP="1", TRITON_DUMP_DIR=os.path.join(self.folder, "dump")):
            triton.compile(source(), H100)
        dumped = [name for _, _, names in os.walk(os.path.join(self.folder, "dump")) for name in names]
        self.assertTrue(any(name.endswith(".ptx") for name in dumped), dumped)


class Refusals(Folder):
    def test_sources(self):
        with self.assertRaisesRegex(NotImplementedError, "asm\\['tir'\\]"):
            triton.compile("kernel.ttir", H100)
        with self.assertRaises(NotImplementedError):
            IRSource("kernel.ttgir")
        with self.assertRaisesRegex(RuntimeError, "0 compatible backends for target \\(cpu\\)"):
            make_backend(GPUTarget("cpu", 0, 32))
        with self.assertRaisesRegex(TypeError, "Signature keys must be string"):
            ASTSource(scale, {0: "*fp32"})
        with self.assertRaisesRegex(TypeError, "no value for a constexpr"):
            triton.compile(source(BLOCK=object()), H100)

    def test_options(self):
        with self.assertRaisesRegex(AssertionError, "num_warps must be a power of 2"):
            triton.compile(source(), H100, {"num_warps": 3})
        with self.assertRaisesRegex(TypeError, "warp_size=64"):
            triton.compile(source(), H100, {"warp_size": 64})
        with mock.patch.dict(os.environ, TRITON_KERNEL_OVERRIDE="1"), self.assertRaisesRegex(RuntimeError, "TRITON_KERNEL_OVERRIDE"):
            triton.compile(source(), H100)

    def test_errors(self):
        try:
            triton.compile(ASTSource(wrong, {"x": "*i32"}), H100)
        except triton.CompilationError as caught:
            error = caught
        self.assertEqual((error.node.lineno, error.node.col_offset, error.src), (2, 16, wrong.src))
        self.assertIn("nowhere", str(error))
        self.assertIsInstance(error.__cause__, NameError)
        self.assertEqual(error.diagnostics[0].id, "elab_unknown_name")
        last = traceback.extract_tb(error.__traceback__)[-1]
        self.assertEqual((last.filename, last.name, last.line), (__file__, "wrong", "tl.store(x, nowhere)  # noqa: F821"))
        again = pickle.loads(pickle.dumps(error))
        self.assertEqual(str(again), str(error))
        filter_traceback(error)
        self.assertFalse(any("/tilec/" in frame.filename for frame in traceback.extract_tb(error.__traceback__)))

    def test_static_assert(self):
        triton.compile(ASTSource(asserts, {"x": "*i32", "N": "constexpr"}, {"N": 3}), H100)
        with self.assertRaises(CompileTimeAssertionFailure) as caught:
            triton.compile(ASTSource(asserts, {"x": "*i32", "N": "constexpr"}, {"N": 4}), H100)
        self.assertIn("N is small", str(caught.exception))
        self.assertIsNone(caught.exception.__cause__)
        self.assertTrue(issubclass(UnsupportedLanguageConstruct, triton.CompilationError))

    def test_shared_memory(self):
        with self.assertRaises(triton.OutOfResources) as caught:
            triton.compile(ASTSource(large, {"x": "*fp32", "y": "*fp32", "BLOCK": "constexpr"}, {"BLOCK": 512}), H100)
        error = caught.exception
        self.assertEqual((error.name, error.limit), ("shared memory", 232448))
        self.assertGreater(error.required, error.limit)
        self.assertIn("out of resource: shared memory, Required: ", str(error))

    def test_loads_and_launches(self):
        """By the launcher that others call with all of a function's arguments; the driver is a fake."""
        hooked = []
        with mock.patch.object(triton.runtime.driver, "_active", CudaDriver()):
            kernel = triton.compile(source(), GPUTarget("cuda", 90, 32))
            enter = triton.knobs.HookChain()
            enter.add(lambda data: hooked.append(data))
            kernel._init_handles()
            self.assertTrue(kernel.function and kernel.module)
            self.assertGreater(kernel.n_regs, 0)
            self.assertEqual(kernel.n_spills, 0)
            self.assertGreaterEqual(kernel.n_max_threads, 128)
            kernel.run(2, 1, 1, 0, kernel.function, kernel.packed_metadata, None, enter, None, 1 << 20, 1 << 21, 100, 128, None)
            self.assertEqual(hooked, [None])
            with self.assertRaisesRegex(TypeError, "takes 3 values, not 2"):
                kernel.run(2, 1, 1, 0, None, None, None, None, None, 1 << 20, 1 << 21)
            again = pickle.loads(pickle.dumps(kernel))
            self.assertIsNone(again.function)
            again[(2,)](1 << 20, 1 << 21, 100, 128, None, stream=0)
            self.assertTrue(again.function)
            again.close()
            self.assertIsNone(again.function)

    def test_loading_needs_a_gpu(self):
        kernel = triton.compile(source(), H100)
        with mock.patch.object(triton.runtime.driver, "_active", HostDriver()), self.assertRaisesRegex(RuntimeError, "no GPU"):
            kernel.run  # noqa: B018


class Words(Folder):
    def test_static_print(self):
        import contextlib
        import io

        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            triton.compile(ASTSource(says, {"x": "*i32", "N": "constexpr"}, {"N": 4}), H100)
        self.assertEqual(out.getvalue(), "N is 4\n")

    def test_warnings_and_remarks(self):
        kept = ASTSource(sums, {"x": "*fp32", "y": "*fp32"})
        with warnings.catch_warnings(record=True) as caught, self.assertLogs("tilec", "INFO") as logs:
            warnings.simplefilter("always")
            logging.getLogger("tilec").info("one, at least")
            triton.compile(kept, H100)
            _tilec.compile(says.units.tuples, {"types": {"x": "*i32"}, "constexprs": {"N": "1"}, "target": "sm_80"})
        found = [each for each in caught if each.category is tilec.CompilerWarning]
        self.assertEqual([(each.filename, each.lineno) for each in found], [(__file__, sums.starting_line_number + 3)])
        self.assertIn("undefined where its mask is off", str(found[0].message))
        self.assertTrue(logs.output)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            with self.assertRaises(tilec.CompilerWarning):
                _tilec.compile(sums.units.tuples, {"types": {"x": "*fp32", "y": "*fp32"}, "target": "sm_80"})

    def test_lazy_dict(self):
        made = LazyDict({"a": 1})
        made.add(lambda x: {"b": x}, (2,))
        self.assertEqual(made.data, {"a": 1})
        self.assertEqual((made.get(), made.get()), ({"a": 1, "b": 2}, {"a": 1, "b": 2}))


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[1:]])
