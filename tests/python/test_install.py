"""`import triton` means tilec: in a process, in those it starts, under every name."""
import importlib.metadata
import os
import sys
import tempfile
import unittest

from testing import run

WHERE = "import triton; print(triton.__name__, triton.__file__.endswith('tilec/triton/__init__.py'))"


class Install(unittest.TestCase):
    def test_names_are_the_same_modules(self):
        said, status = run("-c", "import tilec; tilec.install(); import triton, tilec.triton as real, triton.version as v, sys\n"
                                 "assert triton is real and sys.modules['triton'] is sys.modules['tilec.triton']\n"
                                 "assert v is sys.modules['tilec.triton.version'] and v.__spec__.name == 'tilec.triton.version'\n"
                                 "assert real.__spec__.name == 'tilec.triton', real.__spec__\n"
                                 "from triton.version import __version__; print(__version__)")
        self.assertEqual(status, 0, said)
        self.assertRegex(said, r"^3\.[0-9]+\.[0-9]+\n$")

    def test_either_name_first(self):
        for first, second in (("triton", "tilec.triton"), ("tilec.triton", "triton")):
            said, status = run("-c", f"import tilec; tilec.install(); import {first}, {second}, sys\n"
                                     "assert sys.modules['triton'] is sys.modules['tilec.triton']")
            self.assertEqual((said, status), ("", 0))

    def test_what_is_not_there(self):
        said, status = run("-c", "import tilec; tilec.install(); import triton.no_such_module")
        self.assertEqual(status, 1)
        self.assertIn("ModuleNotFoundError: No module named 'triton.no_such_module'", said)
        said, _ = run("-c", "import tilec; tilec.install(); import triton; print(hasattr(triton, '_C')); triton._C")
        self.assertTrue(said.startswith("False\n") and "AttributeError: triton._C is not in tilec: " in said, said)

    def test_programs_that_write_c_files(self):
        words = ("-n", "kernel", "--signature=*fp32:16, i32, 64", "--target", "cuda:90:32", "-w", "4", "-ns", "2", "-on", "k", "-g", "M, 1, 1",
                 "-o", "out/k", "a b.py")
        for call in (("-m", "tilec", "-m", "triton.tools.compile"), ("-m", "tilec.triton.tools.compile")):
            said, status = run(*call, *words)
            self.assertIn("triton.tools.compile is not in tilec, whose C files have another form (docs/ahead-of-time.md). Instead:\n    "
                          "tilec compile 'a b.py' -k kernel -s '*fp32:16, i32, 64' -t sm_90a --num-warps 4 --num-stages 2 -o out/k.c\n", said)
            self.assertEqual(status, 1)
        said, status = run("-m", "tilec", "-m", "triton.tools.link", "a.h", "-o", "b")
        self.assertEqual((status, said.startswith("triton.tools.link is not in tilec: `tilec compile ")), (1, True), said)
        said, _ = run("-c", "import tilec; tilec.install(); from triton.tools.compile import compile_kernel; compile_kernel(None)")
        self.assertIn("NotImplementedError: triton.tools.compile.compile_kernel is not in tilec: ", said)

    def test_version_of_the_distribution(self):
        said, _ = run("-c", "import tilec; tilec.install(); import importlib.metadata as m, triton\n"
                            "assert m.version('triton') == m.version('Triton') == triton.__version__; print('ok')")
        self.assertEqual(said, "ok\n")

    def test_another_triton_is_not_replaced_silently(self):
        with tempfile.TemporaryDirectory() as folder:
            with open(os.path.join(folder, "triton.py"), "w", encoding="utf-8") as file:
                file.write("other = True\n")
            path = os.pathsep.join([folder, os.environ["PYTHONPATH"]])
            said, status = run("-c", "import triton, tilec; tilec.install()", env={"PYTHONPATH": path})
            self.assertEqual(status, 1)
            self.assertIn(f"another triton is imported already, from {folder}/triton.py", said)
            # Asked for in time it is tilec's, and theirs again afterwards.
            said, status = run("-c", "import tilec; tilec.install(); import triton; assert not hasattr(triton, 'other')\n"
                                     "tilec.uninstall(); import triton; assert triton.other", env={"PYTHONPATH": path})
            self.assertEqual((said, status), ("", 0))

    def test_scripts_modules_and_texts(self):
        with tempfile.TemporaryDirectory() as folder:
            with open(os.path.join(folder, "script.py"), "w", encoding="utf-8") as file:
                file.write("import sys, triton, beside\nprint(triton.__name__, __name__, sys.argv[1:], beside.here)\n")
            with open(os.path.join(folder, "beside.py"), "w", encoding="utf-8") as file:
                file.write("here = 1\n")
            wanted = ("tilec.triton __main__ ['a', '-b'] 1\n", 0)
            self.assertEqual(run("-m", "tilec", os.path.join(folder, "script.py"), "a", "-b"), wanted)
            self.assertEqual(run("-m", "tilec", "-m", "script", "a", "-b", cwd=folder), wanted)
            self.assertEqual(run("-m", "tilec", "-c", "import script", "a", "-b", cwd=folder),
                             ("tilec.triton script ['a', '-b'] 1\n", 0))
        said, status = run("-m", "tilec")
        self.assertEqual(status, 2)
        self.assertIn("usage: python -m tilec", said)
        self.assertEqual(run("-m", "tilec", "-c", "raise SystemExit(7)"), ("", 7))

    def test_nothing_is_imported_beforehand(self):
        said, _ = run("-X", "importtime", "-c", "import tilec")
        self.assertNotRegex(said, r"(torch|numpy|ctypes|inspect|subprocess)\b")


class Library(unittest.TestCase):
    def test_no_driver(self):
        said, status = run("-c", "import tilec; from tilec import _tilec; print(tilec.devices())\n"
                                 "try: _tilec.Device(0)\n"
                                 "except tilec.DriverError as e: print(e.status, [d.id for d in e.diagnostics], e)",
                           env={"TILEC_CUDA_LIBRARY": "/none.so"})
        self.assertEqual(status, 0, said)
        self.assertRegex(said, r"\[\]\nTILE_ERROR_NO_DRIVER \['driver_missing'\] tilec: error: no CUDA driver: /none.so")

    def test_memory_of_a_device(self):
        said, status = run("-c", "import tilec; from tilec import _tilec; d = _tilec.Device(0)\n"
                                 "a = d.allocate(64); d.write(a, bytes(range(64))); assert d.read(a + 8, 3) == b'\\x08\\t\\n'; d.free(a)\n"
                                 "e = d.event(); d.event_record(e); d.event_record(e, 0); assert d.event_elapsed(e, e) == 0; d.event_destroy(e)\n"
                                 "try: d.allocate(1 << 60)\n"
                                 "except MemoryError as e: print(type(e).__name__, e.status)\n"
                                 "try: _tilec.Device(9)\n"
                                 "except tilec.DriverError as e: print(e.status)\n"
                                 "print(tilec.devices()[0]['target'], tilec.devices()[0]['capability'])",
                           env={"TILEC_CUDA_LIBRARY": os.environ["TILEC_SIM_CUDA"]})
        self.assertEqual((said, status), ("DeviceMemoryError TILE_ERROR_DEVICE_MEMORY\nTILE_ERROR_NO_DEVICE\nsm_90a (9, 0)\n", 0))


class Wheels(unittest.TestCase):
    """Of the folder that TILEC_WHEELS names, into an environment of their own."""

    @unittest.skipUnless(os.environ.get("TILEC_WHEELS"), "no wheels were built")
    def test_installed(self):
        import glob
        import re
        import subprocess
        import venv

        wheels = {os.path.basename(path).split("-")[0]: path for path in glob.glob(os.path.join(os.environ["TILEC_WHEELS"], "*.whl"))}
        self.assertRegex(wheels["tilec"], r"-cp310-abi3-manylinux_2_[0-9]+_\w+\.whl$")
        self.assertLessEqual(int(re.search(r"manylinux_2_([0-9]+)", wheels["tilec"]).group(1)), 28)
        with tempfile.TemporaryDirectory() as folder:
            venv.create(folder, with_pip=True)
            python = os.path.join(folder, "bin", "python")
            env = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "TILEC_TRITON")}

            def output(*words, **more):
                return subprocess.run([python, *words], env=env | more, cwd=folder, text=True, check=True, stdout=subprocess.PIPE).stdout

            output("-m", "pip", "install", "-q", "--no-index", wheels["tilec"])
            self.assertRegex(output("-c", "import tilec; print(tilec.version())"), r"^[0-9.]+\n$")
            self.assertEqual(output("-m", "tilec", "-c", "import subprocess, sys\n"
                                    f"print(subprocess.check_output([sys.executable, '-c', {WHERE!r}], text=True))"),
                             "tilec.triton True\n\n")
            self.check_example(output, folder)
            output("-m", "pip", "install", "-q", "--no-index", wheels["triton"])
            self.assertEqual(output("-c", WHERE), "tilec.triton True\n")
            self.assertEqual(output("-c", "import triton.version, sys; print(triton is sys.modules['tilec.triton'])"), "True\n")


    def check_example(self, output, folder):
        """examples/python, where NumPy and pytest can be had: passes, and says where what is wrong."""
        import shutil
        import subprocess

        try:
            output("-m", "pip", "install", "-q", "--disable-pip-version-check", "--timeout", "20", "--retries", "1", "numpy", "pytest")
        except subprocess.CalledProcessError:
            self.skipTest("NumPy and pytest cannot be had: examples/python is not run")
        example = os.path.join(os.path.dirname(__file__), "..", "..", "examples", "python")
        copy = shutil.copytree(example, os.path.join(folder, "example"))
        self.assertRegex(output("-m", "pytest", "-q", copy), r"\n7 passed")


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], "-v", *sys.argv[1:]])
