#!/usr/bin/env python3
"""Compiles every case of every kernel under kernels/ with Triton itself, unchanged: they are plain Triton source.

Run by hand with a Python that has Triton (no GPU is needed; the test suite does not depend on it):
    /path/to/python tests/e2e/kernels/triton_accepts.py [--filter TEXT] [--capability 90]
Prints one line for each kernel file and fails if any case does.
"""
import argparse
import collections
import importlib.machinery
import importlib.util
import os
import sys

import triton
import triton.language as tl
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import cases as case_module  # noqa: E402
from dot_cases import Text  # noqa: E402

KERNELS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "..", "kernels")
modules = {}


def module_of(file):
    if file not in modules:
        loader = importlib.machinery.SourceFileLoader(file.replace(".", "_"), os.path.join(KERNELS, file))
        spec = importlib.util.spec_from_loader(loader.name, loader)
        modules[file] = importlib.util.module_from_spec(spec)
        loader.exec_module(modules[file])
    return modules[file]


def source_of(case):
    """The case's kernel with the specialisation a launch would choose."""
    function = getattr(module_of(case.file), case.kernel)
    signature, constants, attributes = {}, {}, {}
    for index, name in enumerate(function.arg_names):
        if name in case.args:
            value = case.args[name]
            if isinstance(value, case_module.Array):
                signature[name] = "*" + value.dtype
                attributes[(index,)] = [["tt.divisibility", 16]]
            elif isinstance(value, float):
                signature[name] = "fp32"
            elif value == 1:
                signature[name] = "constexpr"
                constants[(index,)] = 1
            else:
                signature[name] = "i64" if abs(value) >= 2**31 else "i32"
                if value % 16 == 0:
                    attributes[(index,)] = [["tt.divisibility", 16]]
        else:
            default = function.params[index].default
            value = case.defines.get(name, default)
            signature[name] = "constexpr"
            constants[(index,)] = getattr(tl, value.text.removeprefix("tl.")) if isinstance(value, Text) else value
    return ASTSource(fn=function, signature=signature, constexprs=constants, attrs=attributes)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--filter", default="")
    parser.add_argument("--capability", type=int, default=90)
    options = parser.parse_args()
    target = GPUTarget("cuda", options.capability, 32)
    passed, failed = collections.Counter(), collections.Counter()
    for case in case_module.all_cases(False):
        if options.filter not in case.name:
            continue
        try:
            triton.compile(source_of(case), target=target, options={"num_warps": 4})
            passed[case.file] += 1
        except Exception as error:  # noqa: BLE001: whatever Triton raises is the answer
            failed[case.file] += 1
            print(f"FAILED {case.name}: {str(error).strip()[-600:]}")
    for file in sorted(passed | failed):
        print(f"{file:28} {passed[file]} cases compile{f', {failed[file]} do not' if failed[file] else ''}")
    print(f"Triton {triton.__version__}: {sum(passed.values())} accepted, {sum(failed.values())} refused")
    return 1 if failed or not passed else 0


if __name__ == "__main__":
    sys.exit(main())
