"""Kernels of calls: what they say of themselves, the table of them, hooks, other threads, other processes."""
import ast
import contextlib
import json
import os
import pickle
import sys
import threading
import time
import unittest
import warnings
from concurrent.futures import ThreadPoolExecutor
from unittest import mock

import numpy as np

import tilec
import tilec.triton as triton
import tilec.triton.language as tl
from tilec.triton import knobs
from tilec.triton.backends.compiler import BaseBackend
from tilec.triton.compiler import CompiledKernel
from tilec.triton.runtime import jit as jit_module
from tilec.triton.runtime._async_compile import AsyncCompileMode, FutureKernel
from tilec.triton.runtime.jit import (
    JITCallable, JITFunction, MockTensor, compute_cache_key, get_full_name, get_jit_fn_file_line, mangle_type, native_specialize_impl)
from testing import run

HERE = os.path.dirname(os.path.abspath(__file__))


@triton.jit
def double(v):
    return v * 2


@triton.jit
def scale(x, y, n, BLOCK: tl.constexpr, F: tl.constexpr = double):
    """Scales."""
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + i, F(tl.load(x + i, mask=i < n)), mask=i < n)


@triton.jit
def asserts(x, n):
    tl.device_assert(n < 4, "n is small")
    tl.store(x, n)


@triton.jit
def wraps(x, n):
    tl.store(x + n.to(tl.int64) * 1, tl.arange(0, 4).to(tl.int64).sum())


def fresh(**options):
    """The same kernel as one of its own, with nothing compiled."""
    return JITFunction(scale.fn, **options)


def filled(n=100):
    return np.arange(n, dtype=np.float32), np.zeros(n, np.float32)


def only(kernel):
    return kernel.device_caches[0][0]


@contextlib.contextmanager
def setting(name, value, group=knobs.runtime):
    before = getattr(group, name)
    setattr(group, name, value)
    try:
        yield
    finally:
        setattr(group, name, before)


class Kernels(unittest.TestCase):
    def test_of_a_call(self):
        kernel, (x, y) = fresh(), filled()
        made = kernel[(4,)](x, y, 100, BLOCK=32)
        self.assertIsInstance(made, CompiledKernel)
        self.assertIs(kernel[(4,)](x, y, 100, BLOCK=32), made)
        self.assertIsNot(kernel[(2,)](x, y, 100, BLOCK=64), made)
        self.assertEqual(made.name, "scale")
        self.assertEqual(made.src.signature, {"x": "*fp32", "y": "*fp32", "n": "i32", "BLOCK": "constexpr", "F": "constexpr"})
        self.assertEqual(made.src.constants, {(3,): 32, (4,): double})
        self.assertIn(".entry scale", made.asm["ptx"])
        self.assertIn("tir", made.asm.keys())
        self.assertIn("define", made.asm["llir"])
        with self.assertRaisesRegex(KeyError, "Unknown key: 'ttgir'"):
            made.asm["ttgir"]
        self.assertEqual(made.metadata.global_scratch_size, 0)
        self.assertEqual(made.metadata.num_warps, made.packed_metadata[0])
        self.assertEqual(len(bytes.fromhex(made.hash)), 32)
        self.assertEqual((made.n_regs, made.n_spills), (0, 0))  # this machine has none
        with self.assertRaises(AttributeError):
            made.num_warps

    def test_launched_by_itself(self):
        x, y = filled()
        made = scale.warmup(x, y, 100, BLOCK=32, grid=(4,))
        self.assertEqual(y.tolist(), [0] * 100)
        made[(4,)](x, y, 100, 32, double)
        np.testing.assert_array_equal(y, x * 2)
        y[:] = 0
        made[(2, 1)](x, y, 100, 32, double)
        np.testing.assert_array_equal(y[:64], x[:64] * 2)
        self.assertEqual(y[64:].tolist(), [0] * 36)
        y[:] = 0
        made.run(4, 1, 1, 0, made.function, made.packed_metadata, None, None, None, x, y, 100, 32, double)
        np.testing.assert_array_equal(y, x * 2)

    def test_pickled(self):
        x, y = filled()
        made = pickle.loads(pickle.dumps(scale[(4,)](x, y, 100, BLOCK=32)))
        self.assertIn(".entry scale", made.asm["ptx"])
        self.assertIs(made.src.fn, scale)

    def test_types_alone(self):
        class dtype:
            __module__ = "torch"

            def __str__(self):
                return "torch.float16"

        made = scale.warmup(dtype(), MockTensor("float32"), 16, BLOCK=32, grid=(1,))
        self.assertEqual(list(made.src.signature.values())[:3], ["*fp16", "*fp32", "i32"])

    def test_on_a_gpu(self):
        """A fake one, which takes launches and runs nothing."""
        said, status = run("-c", "import sys; sys.path.insert(0, sys.argv[1])\nfrom test_compiled import *\n"
                                 "from tilec.triton.runtime.driver import driver\n"
                                 "x = MockTensor('float32')\nmade = scale.warmup(x, x, 100, BLOCK=32, grid=(4,))\n"
                                 "print(type(driver.active).__name__, made.n_regs > 0, made.n_max_threads >= 32, made.function > 0)\n"
                                 "print(made.metadata.target, type(made.kernel).__name__)", HERE,
                           env={"TILEC_CUDA_LIBRARY": os.environ["TILEC_FAKE_CUDA"]})
        self.assertEqual((status, said.splitlines()[0]), (0, "CudaDriver True True True"), said)
        self.assertIn("GPUTarget(backend='cuda'", said)
        self.assertIn(" bytes", said)


class Tables(unittest.TestCase):
    def test_kept_true(self):
        kernel, (x, y) = fresh(), filled()
        seen = []
        with setting("jit_cache_hook", lambda **what: seen.append(what["key"])):
            first = kernel[(4,)](x, y, 100, BLOCK=32)
            self.assertEqual([*only(kernel).values()], [first])
            kernel[(4,)](x, y, 100, BLOCK=32)
            self.assertEqual(len(seen), 1)
            for forget in (only(kernel).clear, only(kernel).popitem, lambda: only(kernel).pop(seen[0]),
                           lambda: only(kernel).__delitem__(seen[0]), kernel.device_caches.clear):
                forget()
                self.assertEqual(len(only(kernel)), 0)
                count = len(seen)
                self.assertIsNot(kernel[(4,)](x, y, 100, BLOCK=32), first)
                self.assertEqual(len(seen), count + 1)
        np.testing.assert_array_equal(y, x * 2)
        self.assertIsNone(only(kernel).pop("nothing", None))
        with self.assertRaises(KeyError):
            only(kernel).pop("nothing")

    def test_instances_that_triton_does_not_tell_apart(self):
        kernel, (x, y) = fresh(), filled(128)
        made = {kernel.warmup(x, y, n, BLOCK=32, grid=(1,)) for n in (3, 8, 24)}
        self.assertEqual({*only(kernel).values()}, made)

    def test_parts(self):
        kernel = fresh()
        self.assertIs(kernel.device_caches["cpu"], kernel.device_caches[0])  # as torch.cpu.current_device() has it
        kernels, keys, target, backend, binder = kernel.device_caches[0]
        self.assertEqual((kernels, keys), ({}, {}))
        x, y = filled()
        bound, specialized, options = binder(x, y, 16, BLOCK=32, num_warps=2)
        self.assertEqual([kind for kind, _ in specialized], ["*fp32", "*fp32", "i32", "constexpr", "constexpr"])
        self.assertEqual((bound["n"], bound["F"], options), (16, double, {"num_warps": 2}))


class Hooks(unittest.TestCase):
    def test_cache_hook(self):
        kernel, (x, y) = fresh(), filled()
        seen, after = [], []
        with setting("jit_cache_hook", lambda **what: seen.append(what)), setting("jit_post_compile_hook", lambda **what: after.append(what)):
            kernel[(4,)](x, y, 100, BLOCK=32, num_warps=2)
            kernel[(4,)](x, y, 100, BLOCK=32, num_warps=2)
            kernel.warmup(x, y, 100, BLOCK=64, grid=(1,))
        self.assertEqual((len(seen), len(after)), (2, 2))
        what = seen[0]
        self.assertEqual({*what}, {"key", "repr", "fn", "compile", "is_manual_warmup", "already_compiled"})
        self.assertIs(what["fn"].jit_function, kernel)
        self.assertEqual((what["fn"].name, what["is_manual_warmup"], seen[1]["is_manual_warmup"]), ("scale", False, True))
        self.assertIn("num_warps=2", what["repr"])
        self.assertEqual((what["compile"]["num_warps"], what["compile"]["signature"]["x"]), (2, "*fp32"))
        data = json.loads(what["compile"]["specialization_data"])
        self.assertEqual(data["name"], get_full_name(scale.fn))
        self.assertEqual(data["constant_vals"], [32, {"jit_function": f"{__name__}:double"}])

    def test_a_hook_that_says_no(self):
        kernel, (x, y) = fresh(), filled()
        with setting("jit_cache_hook", lambda **what: True):
            self.assertIsNone(kernel[(4,)](x, y, 100, BLOCK=32))
        self.assertEqual(y.tolist(), [0] * 100)
        self.assertEqual(only(kernel), {})

    def test_a_hook_that_raises(self):
        kernel, (x, y) = fresh(), filled()

        def hook(**what):
            raise ZeroDivisionError("mine")

        with setting("jit_cache_hook", hook), self.assertRaisesRegex(ZeroDivisionError, "mine"):
            kernel[(4,)](x, y, 100, BLOCK=32)
        kernel[(4,)](x, y, 100, BLOCK=32)
        np.testing.assert_array_equal(y, x * 2)

    def test_around_launches(self):
        seen = []
        kernel, (x, y) = fresh(launch_metadata=lambda grid, metadata, args: {"bytes": args["x"].nbytes, "grid": grid}), filled()

        def enter(data):
            seen.append(("enter", data.get(), y[1]))

        def leave(data):
            seen.append(("exit", data.get()["name"], y[1]))

        knobs.runtime.launch_enter_hook.add(enter)
        knobs.runtime.launch_exit_hook.add(leave)
        try:
            kernel[(4,)](x, y, 100, BLOCK=32)
            kernel.warmup(x, y, 100, BLOCK=32, grid=(4,))
        finally:
            knobs.runtime.launch_enter_hook.remove(enter)
            knobs.runtime.launch_exit_hook.remove(leave)
        kernel[(4,)](x, y, 100, BLOCK=32)
        self.assertEqual([each[0] for each in seen], ["enter", "exit"])
        self.assertEqual((seen[0][1]["bytes"], seen[0][1]["grid"], seen[0][1]["name"]), (400, (4,), "scale"))
        self.assertEqual((seen[0][2], seen[1]), (0, ("exit", "scale", 2)))

    def test_around_loads(self):
        kernel, (x, y), seen = fresh(), filled(), []

        def begin(module, function, name, metadata_group, hash):
            seen.append(("begin", name, hash))

        def end(module, function, name, metadata_group, hash):
            seen.append(("end", name, hash))

        knobs.runtime.kernel_load_start_hook.add(begin)
        knobs.runtime.kernel_load_end_hook.add(end)
        try:
            kernel.warmup(x, y, 100, BLOCK=32, grid=(4,))
            self.assertEqual(seen, [])
            made = kernel[(4,)](x, y, 100, BLOCK=32)
            kernel[(4,)](x, y, 100, BLOCK=32)
        finally:
            knobs.runtime.kernel_load_start_hook.remove(begin)
            knobs.runtime.kernel_load_end_hook.remove(end)
        self.assertEqual(seen, [("begin", "scale", made.hash), ("end", "scale", made.hash)])

    def test_listener(self):
        kernel, (x, y), seen = fresh(), filled(), []
        with setting("listener", lambda **what: seen.append(what), knobs.compilation):
            made = kernel[(4,)](x, y, 100, BLOCK=32)
            kernel[(4,)](x, y, 100, BLOCK=32)
        self.assertEqual(len(seen), 1)
        self.assertIs(seen[0]["src"], made.src)
        self.assertEqual((seen[0]["metadata"]["name"], seen[0]["cache_hit"], seen[0]["times"].total > 0), ("scale", False, True))

    def test_preload(self):
        first, (x, y) = fresh(), filled()
        other = JITFunction(double.fn)  # of the name of the one that is meant
        other._unsafe_update_src("def double(v):\n    return v * 3\n")
        seen = []
        with setting("jit_cache_hook", lambda **what: seen.append(what["compile"]["specialization_data"])):
            made = first[(4,)](x, y, 100, BLOCK=32, num_warps=2)
            second = fresh()
            again = second.preload(seen[0])
            self.assertEqual(again.hash, made.hash)
            self.assertEqual(len(only(second)), 1)
            count = len(seen)
            self.assertIs(second[(4,)](x, y, 27, BLOCK=32, num_warps=2), again)  # neither is 100, nor a multiple of 16
            self.assertEqual(len(seen), count)
        for name, value, said in (("name", "other.kernel", "Specialization data is for other.kernel"), ("target", {"backend": "x"}, "but trying")):
            with self.assertRaisesRegex(RuntimeError, said):
                second.preload(json.dumps({**json.loads(seen[0]), name: value}))

    def test_preload_in_another_process(self):
        x, y = filled()
        seen = []
        with setting("jit_cache_hook", lambda **what: seen.append(what["compile"]["specialization_data"])):
            made = fresh()[(4,)](x, y, 16, BLOCK=32)
        said, status = run("-c", "import sys; sys.path.insert(0, sys.argv[1])\nfrom test_compiled import *\n"
                                 "made = scale.preload(sys.argv[2])\nx, y = filled()\n"
                                 "assert scale[(4,)](x, y, 16, BLOCK=32) is made\nprint(made.hash)", HERE,
                           seen[0].replace('"__main__.', '"test_compiled.').replace('"__main__:', '"test_compiled:'))
        self.assertEqual((status, said.strip() == made.hash or __name__ == "__main__"), (0, True), said)


class Async(unittest.TestCase):
    def test_in_parallel(self):
        x, y = filled()
        kernel, seen = fresh(), []
        with ThreadPoolExecutor(2) as pool, AsyncCompileMode(pool):
            made = [kernel.warmup(x, y, 100, BLOCK=block, grid=(1,)) for block in (16, 32, 64, 32)]
            self.assertTrue(all(isinstance(each, FutureKernel) for each in made))
            self.assertIs(made[1], made[3])
            self.assertEqual(made[0].name, "scale")  # waits
            with self.assertRaisesRegex(RuntimeError, "Another AsyncCompileMode is already active"), AsyncCompileMode(pool):
                pass
        self.assertIs(kernel.warmup(x, y, 100, BLOCK=32, grid=(1,)), made[1].result())
        self.assertEqual(len(only(kernel)), 3)
        self.assertEqual({type(each) for each in only(kernel).values()}, {CompiledKernel})

    def test_failures(self):
        kernel = JITFunction(asserts.fn)
        wrong = MockTensor("float32")
        with ThreadPoolExecutor(1) as pool:
            with self.assertRaises(triton.CompilationError), AsyncCompileMode(pool):
                kernel.warmup("no array" and wrong, tl.constexpr("text"), grid=(1,))
            self.assertEqual(only(kernel), {})
            with AsyncCompileMode(pool, ignore_errors=True):
                kernel.warmup(wrong, tl.constexpr("text"), grid=(1,))
            self.assertEqual(only(kernel), {})

    def test_a_launch_waits(self):
        kernel, (x, y) = fresh(), filled()
        with ThreadPoolExecutor(1) as pool, AsyncCompileMode(pool):
            made = kernel[(4,)](x, y, 100, BLOCK=32)
            self.assertIsInstance(made, CompiledKernel)
            np.testing.assert_array_equal(y, x * 2)

    def test_threads(self):
        kernel, made = fresh(), []

        def call():
            x, y = filled()
            made.append(kernel[(4,)](x, y, 100, BLOCK=32))

        threads = [threading.Thread(target=call) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual((len(made), len({*made}), len(only(kernel))), (8, 1, 1))


class Functions(unittest.TestCase):
    def test_attributes(self):
        self.assertIsInstance(scale, JITCallable)
        self.assertEqual((scale.__name__, scale.__doc__, scale._fn_name), ("scale", "Scales.", f"{__name__}.scale"))
        self.assertIs(scale.__globals__, globals())
        self.assertTrue(scale.src.startswith("def scale("))
        self.assertTrue(scale.raw_src[0].startswith("@triton.jit"))
        self.assertIsInstance(scale.parse().body[0], ast.FunctionDef)
        self.assertEqual(get_jit_fn_file_line(scale), (__file__, scale.starting_line_number + 1))
        self.assertIs(scale.type.value, scale)
        self.assertEqual(scale.repr(None), f"{__name__}.scale")
        self.assertIsNone(scale.kernel)
        for name in ("DependenciesFinder", "create_function_from_signature"):
            self.assertFalse(hasattr(jit_module, name))

    def test_another_text(self):
        kernel, (x, y) = fresh(), filled()
        key = kernel.cache_key
        self.assertEqual(kernel.hash, key)
        kernel._unsafe_update_src(kernel.src.replace("F(tl", "3 * F(tl"))
        self.assertIsNone(kernel.hash)
        self.assertNotEqual(kernel.cache_key, key)
        kernel[(4,)](x, y, 100, BLOCK=32)
        np.testing.assert_array_equal(y, x * 6)
        with self.assertRaisesRegex(AttributeError, "_unsafe_update_src"):
            kernel.src = "def f(): pass"

    def test_another_text_of_an_argument(self):
        kernel, function, (x, y) = fresh(), JITFunction(double.fn), filled()
        kernel[(4,)](x, y, 100, BLOCK=32, F=function)
        np.testing.assert_array_equal(y, x * 2)
        function._unsafe_update_src(function.src.replace("2", "5"))
        kernel[(4,)](x, y, 100, BLOCK=32, F=function)
        np.testing.assert_array_equal(y, x * 5)
        self.assertEqual(len(only(kernel)), 2)

    def test_as_others_pickle_it(self):
        """A function that was loaded as a module of its own, without what does not pickle."""
        kernel = fresh()
        key = kernel.cache_key
        kept = kernel.fn, kernel.__globals__, kernel.used_global_vals, kernel.repr, kernel._hash_lock
        kernel.fn = kernel.__globals__ = kernel.used_global_vals = kernel._hash_lock = None
        kernel.repr = str
        again = pickle.loads(pickle.dumps(kernel))
        kernel.fn, kernel.__globals__, kernel.used_global_vals, kernel.repr, kernel._hash_lock = kept
        self.assertEqual((again.cache_key, again.arg_names, again.src), (key, kernel.arg_names, kernel.src))
        again.fn = scale.fn
        x, y = filled()
        again[(4,)](x, y, 100, BLOCK=32)
        np.testing.assert_array_equal(y, x * 2)
        self.assertIs(pickle.loads(pickle.dumps(scale)), scale)

    def test_debug(self):
        x, always = np.zeros(1, np.int32), JITFunction(asserts.fn, debug=True)

        def asks(kernel, **options):
            return "__assertfail" in kernel.warmup(x, 5, grid=(1,), **options).asm["ptx"]

        self.assertEqual([asks(asserts), asks(asserts, debug=True), asks(always), asks(always, debug=False)], [False, True, True, False])
        with setting("debug", True):
            self.assertEqual([asks(asserts), asks(always, debug=False)], [True, True])
        with self.assertRaises(tilec.Assertion) as caught:  # the interpreter leaves none out
            asserts[(1,)](x, 6)
        self.assertIsInstance(caught.exception, AssertionError)

    def test_interpreted(self):
        text = ("import sys; sys.path.insert(0, sys.argv[1])\nfrom test_compiled import *\n"
                "from tilec.triton.runtime.interpreter import InterpretedFunction\nassert isinstance(scale, InterpretedFunction)\n"
                "x, y = filled()\nscale[(4,)](x, y, 100, BLOCK=32)\nassert (y == 2 * x).all()\n"
                "for call in (lambda: scale[(4,)](x, y, 200, BLOCK=64), lambda: scale[(4,)](x, y, 100, BLOCK=33)):\n"
                "    try: call()\n    except triton.InterpreterError as e: print(type(e).__mro__[1].__name__, e.diagnostics[0].program)\n")
        for device in ({}, {"TILEC_DEVICE": "sim"}):
            said, status = run("-c", text, HERE, env={"TRITON_INTERPRET": "1", **device})
            self.assertEqual((status, [line.split()[0] for line in said.splitlines()]), (0, ["OutOfBounds", "CompilationError"]), said)

    def test_findings(self):
        x, y = filled()
        with self.assertRaises(tilec.OutOfBounds) as caught:
            scale[(4,)](x, y, 200, BLOCK=64)
        self.assertIsInstance(caught.exception, triton.InterpreterError)
        self.assertIsInstance(pickle.loads(pickle.dumps(caught.exception)), tilec.OutOfBounds)
        self.assertEqual(caught.exception.diagnostics[0].program, (1, 0, 0))


class Specializations(unittest.TestCase):
    """As Triton 3.6 answers."""

    def test_values(self):
        def of(value, *flags):
            return native_specialize_impl(BaseBackend, value, *(flags or (False, True, True)))

        for value, answer in ((0, ("i32", "D")), (1, ("constexpr", 1)), (2, ("i32", "")), (16, ("i32", "D")), (1 << 31, ("i64", "D")),
                              (1 << 63, ("u64", "D")), (-1, ("i32", "")), (True, ("u1", None)), (1.0, ("fp32", None)),
                              (None, ("constexpr", None)), ((1, 2.0), (("constexpr", "fp32"), (1, None))),
                              (((1, None), 16), ((("constexpr", "constexpr"), "i32"), ((1, None), "D"))),
                              (MockTensor("float32"), ("*fp32", "D")), (double, ("constexpr", double.cache_key))):
            self.assertEqual(of(value), answer)
        self.assertEqual(of(1, False, False, True), ("i32", None))
        self.assertEqual(of(16, False, True, False), ("i32", ""))
        self.assertEqual(of(MockTensor("float32"), True, True, True), ("*kfp32", "D"))
        self.assertEqual(of(np.zeros(4, np.int16)[1:], False, True, True)[0], "*i16")
        for value in (1 << 64, -(1 << 63) - 1):
            with self.assertRaisesRegex(OverflowError, "integer to be specialized too large to represent"):
                of(value)
        for value in ("x", tl.float32, [1, 2], 1j, range(3), {}):
            with self.assertRaisesRegex(TypeError, f"failed to specialize argument of type: {type(value).__name__}"):
                of(value)
        self.assertEqual((mangle_type(3), mangle_type(2.0)), ("i32", "fp32"))

    def test_keys(self):
        kept = {}
        key = compute_cache_key(kept, [("i32", "D"), ("constexpr", double)], {"num_warps": 4})
        self.assertEqual(key, f"[('i32', 'D'), ('constexpr', '{double.cache_key}')]{{'num_warps': 4}}")
        self.assertEqual([*kept.values()], [key])
        self.assertEqual(compute_cache_key(kept, [("constexpr", [1])], {}), "[('constexpr', [1])]{}")


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[1:]])
