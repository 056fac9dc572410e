#!/usr/bin/env python3
"""Compares what generated code computes on a GPU with the interpreter, op by op (cases.py).

    run.py --tilec build/release/src/cli/tilec                 on the GPU
    run.py --tilec ... --device cpu     interprets and compiles; the interpreter against NumPy where a case has such a reference
    run.py --tilec ... --filter shared  only cases whose name contains the text

Needs NumPy and the CUDA driver; `tile_expect` (tests/gpu of the build that `tilec` is in, or --expect) interprets and
compiles. Exit status: 0 all agree, 1 some differ, 2 wrong usage, 3 there is no GPU.
"""
import argparse
import ctypes
import os
import subprocess
import sys
import tempfile

import numpy as np

from cases import LEAST_EXPONENT, MANTISSA, STORED, all_cases, from_float64, to_float64


class DriverError(Exception):
    pass


class Gpu:
    """The few driver calls that a launch needs."""

    def __init__(self):
        try:
            self.cuda = ctypes.CDLL("libcuda.so.1")
        except OSError as error:
            raise DriverError(f"no CUDA driver: {error}") from None
        device, context = ctypes.c_int(), ctypes.c_void_p()
        self.call("cuInit", 0)
        self.call("cuDeviceGet", ctypes.byref(device), 0)
        self.call("cuDevicePrimaryCtxRetain", ctypes.byref(context), device)
        self.call("cuCtxSetCurrent", context)

    def call(self, name, *args):
        code = getattr(self.cuda, name)(*args)
        if code:
            raise DriverError(f"{name}: CUDA error {code}")

    def run(self, name, ptx, launch, grid, args):
        """The arrays of `args` after the kernel ran."""
        threads, programs, shared = launch
        module, function = ctypes.c_void_p(), ctypes.c_void_p()
        self.call("cuModuleLoadData", ctypes.byref(module), ptx + b"\0")
        self.call("cuModuleGetFunction", ctypes.byref(function), module, name.encode())
        params, buffers = [], []
        for arg in args:
            if not isinstance(arg, tuple):
                params.append(ctypes.c_int64(arg))  # little endian: narrower parameters read its low bytes
                continue
            array = arg[1]
            pointer = ctypes.c_uint64()
            self.call("cuMemAlloc_v2", ctypes.byref(pointer), ctypes.c_size_t(array.nbytes))
            self.call("cuMemcpyHtoD_v2", pointer, array.ctypes.data_as(ctypes.c_void_p), ctypes.c_size_t(array.nbytes))
            params.append(pointer)
            buffers.append((pointer, np.empty_like(array)))
        if programs > 1:
            params.append(ctypes.c_int32(grid))
        addresses = (ctypes.c_void_p * len(params))(*[ctypes.addressof(p) for p in params])
        self.call("cuLaunchKernel", function, -(-grid // programs), 1, 1, threads, 1, 1, shared, None, addresses, None)
        self.call("cuCtxSynchronize")
        for pointer, array in buffers:
            self.call("cuMemcpyDtoH_v2", array.ctypes.data_as(ctypes.c_void_p), pointer, ctypes.c_size_t(array.nbytes))
            self.call("cuMemFree_v2", pointer)
        self.call("cuModuleUnload", module)
        return [array for _, array in buffers]


def expect(program, cases, folder):
    """Interprets and compiles; returns each case's arrays and (threads, programs, shared bytes)."""
    with open(os.path.join(folder, "cases.tir"), "w") as text, open(os.path.join(folder, "inputs.txt"), "w") as lines, \
            open(os.path.join(folder, "inputs.bin"), "wb") as data:
        for case in cases:
            text.write(case.text + "\n")
            words = [f"a{a[1].nbytes}" if isinstance(a, tuple) else f"i{a}" for a in case.args]
            lines.write(" ".join([case.name, str(case.grid)] + words) + "\n")
            for arg in case.args:
                if isinstance(arg, tuple):
                    data.write(arg[1].tobytes())
    process = subprocess.run([program, folder], stderr=subprocess.PIPE, text=True)
    if process.returncode:
        sys.exit(f"run.py: {program}: exit status {process.returncode}\n{process.stderr}")
    with open(os.path.join(folder, "expected.bin"), "rb") as file:
        data = file.read()
    expected, at = [], 0
    for case in cases:
        arrays = []
        for arg in case.args:
            if isinstance(arg, tuple):
                arrays.append(np.frombuffer(data, arg[1].dtype, len(arg[1]), at))
                at += arg[1].nbytes
        expected.append(arrays)
    with open(os.path.join(folder, "launch.txt")) as file:
        launches = [tuple(map(int, line.split()[1:])) for line in file]
    return expected, launches


def units(got, want, dtype):
    """Distance in units of the last place of `want`; infinite where one is NaN or infinite and the other is not."""
    with np.errstate(all="ignore"):
        same = (got == want) | (np.isnan(got) & np.isnan(want))
        exponent = np.maximum(np.floor(np.log2(np.where(want == 0, 1e-320, np.abs(want)))), LEAST_EXPONENT[dtype])
        distance = np.abs(got - want) / 2.0 ** (exponent - MANTISSA[dtype])
        return np.where(same, 0, np.where(np.isnan(distance) | np.isinf(want), np.inf, distance))


def compare(case, i, dtype, got, want):
    """None, or what is wrong with array `i`: elements as stored."""
    if dtype not in MANTISSA:
        wrong = got != want
        found, wanted = got, want
    else:
        found, wanted = to_float64(got, dtype), want if want.dtype == np.float64 else to_float64(want, dtype)
        with np.errstate(all="ignore"):
            if case.close:
                wrong = ~(np.abs(found - wanted) <= case.close[1] + case.close[0] * np.abs(wanted))
                wrong &= ~(np.isnan(found) & np.isnan(wanted)) & ~(found == wanted)
            else:
                first = to_float64(case.args[0][1], case.args[0][0]) if callable(case.ulp) else None
                wrong = units(found, wanted, dtype) > (case.ulp(first) if callable(case.ulp) else case.ulp)
        if case.flushes:
            wrong &= ~((found == 0) & (np.abs(wanted) < 2.0 ** LEAST_EXPONENT[dtype]))
    if not wrong.any():
        return None
    j = int(wrong.argmax())
    far = ""
    if dtype in MANTISSA:
        far = f", at most {units(found, wanted, dtype)[wrong].max():.3g} ulp apart"
    return (f"argument {i} ({dtype}): {int(wrong.sum())} of {wrong.size} differ{far}; first [{j}]: {found[j]!r}, "
            f"wanted {wanted[j]!r}, first input {case.args[0][1][j % len(case.args[0][1])]!r}")


def compare_all(case, got, want):
    types = [arg[0] for arg in case.args if isinstance(arg, tuple)]
    return [text for i, dtype in enumerate(types) for text in [compare(case, i, dtype, got[i], want[i])] if text]


def check_reference(case, arrays):
    """The interpreter's arrays against NumPy's; its own rounding is half a unit."""
    stored = [arg[1] for arg in case.args if isinstance(arg, tuple)]
    types = [arg[0] for arg in case.args if isinstance(arg, tuple)]
    messages = []
    with np.errstate(all="ignore"):
        for i, want in case.reference(stored).items():
            want = np.asarray(want).reshape(-1)
            if types[i] in MANTISSA and want.dtype == np.float64:
                got, rounded = to_float64(arrays[i], types[i]), to_float64(from_float64(want, types[i]), types[i])
                # NumPy rounds once, through float64 functions that err a little themselves: up to a unit apart.
                if case.close:
                    wrong = ~(np.abs(got - want) <= case.close[1] + case.close[0] * np.abs(want))
                else:
                    wrong = units(got, rounded, types[i]) > 1
                if wrong.any():
                    j = int(wrong.argmax())
                    messages.append(f"argument {i}: {int(wrong.sum())} of {wrong.size} differ from NumPy, first [{j}]: "
                                    f"{got[j]!r}, wanted {want[j]!r}")
                continue
            equal = np.array_equal(arrays[i], want.astype(STORED[types[i]]), equal_nan=types[i] in ("f16", "f32", "f64"))
            if not equal:
                j = int((arrays[i] != want).argmax())
                messages.append(f"argument {i}: differs from NumPy, first [{j}]: {arrays[i][j]!r}, wanted {want[j]!r}")
    return messages


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tilec", default="build/release/src/cli/tilec", help="of the build whose tile_expect is used")
    parser.add_argument("--expect", help="tile_expect")
    parser.add_argument("--device", choices=("cuda", "cpu"), default="cuda")
    parser.add_argument("--filter", default="")
    options = parser.parse_args()
    program = options.expect or os.path.join(os.path.dirname(os.path.abspath(options.tilec)), "../../tests/gpu/tile_expect")
    if not os.access(program, os.X_OK):
        print(f"run.py: there is no {program}; build the target tile_expect", file=sys.stderr)
        return 2
    gpu = None
    if options.device == "cuda":
        try:
            gpu = Gpu()
        except DriverError as error:
            print(f"run.py: no GPU to compare on: {error}", file=sys.stderr)
            return 3
    cases = [case for case in all_cases() if options.filter in case.name]
    failed = done = 0
    with tempfile.TemporaryDirectory(prefix="tilec-ops-") as folder:
        expected, launches = expect(program, cases, folder)
        for case, arrays, launch in zip(cases, expected, launches):
            if gpu:
                with open(os.path.join(folder, case.name + ".ptx"), "rb") as file:
                    ptx = file.read()
                try:
                    messages = compare_all(case, gpu.run(case.name, ptx, launch, case.grid, case.args), arrays)
                except DriverError as error:
                    print(f"FAILED {case.name}: {error}; the GPU's context is lost, the rest is not run")
                    failed += 1
                    done += 1
                    break
            else:
                messages = check_reference(case, arrays) if case.reference else []
            done += 1
            failed += bool(messages)
            for message in messages:
                print(f"FAILED {case.name}: {message}")
    against = "GPU against interpreter" if gpu else "interpreter against NumPy"
    print(f"ops, {against}: {done - failed} passed, {failed} failed, {len(cases) - done} not run")
    return 1 if failed or done < len(cases) or not cases else 0


if __name__ == "__main__":
    sys.exit(main())
