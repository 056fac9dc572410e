#!/usr/bin/env python3
"""Runs every kernel of kernels/ through tilec and compares with float64 references.

    check.py --tilec build/release/tilec [--device cpu|cuda|sim] [--large] [--filter TEXT]
    check.py --tilec ... --compile       every case for every target: ptxas accepts it, nothing spills or is serialised
    check.py --tilec ... --demo          softmax, with every stage shown (./dev run)
"""
import argparse
import concurrent.futures
import json
import os
import subprocess
import sys
import tempfile

import numpy as np

import cases as case_module
from cases import TOLERANCE, Array, Case, all_cases

KERNELS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "..", "kernels")
# No kernel here may be warned of: see docs/language.md.
LINTS = ("store_by_programs", "undefined_elements", "mask_along_other_axis", "mask_extents_exchanged", "index_wraps")
TARGETS = ("sm_80", "sm_86", "sm_89", "sm_90a", "sm_100a", "sm_120a")


def python_literal(value):
    return repr(value)


def run_command(tilec, case, folder, device):
    command = [tilec, "run", os.path.join(KERNELS, case.file), "-k", case.kernel, "--device", device,
               "--grid", str(case.grid if len(case.grid) > 1 else f"({case.grid[0]},)")] + [f"-Werror={lint}" for lint in LINTS]
    for name, value in case.args.items():
        if isinstance(value, Array):
            path = os.path.join(folder, f"{name}.npy")
            np.save(path, value.bits)
            prefix = f"{value.dtype}:" if value.dtype == "bf16" or value.dtype in case_module.FP8 else ""
            command += ["-a", f"{name}=@{prefix}{path}"]
            if value.is_output:
                command += ["--out", f"{name}={os.path.join(folder, name + '.out.npy')}"]
        else:
            command += ["-a", f"{name}={value!r}"]
    for name, value in case.defines.items():
        command += ["-D", f"{name}={python_literal(value)}"]
    return command


def result_of(value, path):
    return Array(value.dtype, np.load(path).view(np.uint16) if value.dtype == "bf16" else np.load(path))


def compare(case, name, value, got, expected):
    """None, or what is wrong. Where a float reference is NaN the poison must still be there."""
    actual = got.values.reshape(expected.shape)
    relative, absolute = case.tolerance.get(name, TOLERANCE.get(value.dtype, (0, 0)))
    if value.dtype not in case_module.FLOATS:
        wrong = actual != expected
    else:
        untouched = np.isnan(expected)
        with np.errstate(invalid="ignore"):  # infinities
            near = np.abs(actual - expected) <= absolute + relative * np.abs(expected)
        wrong = ~(near & np.isfinite(expected)) & (actual != expected)
        wrong &= ~untouched
        wrong |= untouched & ~np.isnan(actual)
    if not wrong.any():
        return None
    first = tuple(int(i) for i in np.argwhere(wrong)[0])
    return (f"{name}: {int(wrong.sum())} of {wrong.size} elements differ, first at {first}: "
            f"{actual[first]!r}, expected {expected[first]!r}")


def check(tilec, case: Case, device, extra=(), under=()):
    with tempfile.TemporaryDirectory(prefix="tilec-check-") as folder:
        process = subprocess.run(list(under) + run_command(tilec, case, folder, device) + list(extra),
                                 capture_output=True, text=True)
        if process.returncode:
            return f"exit status {process.returncode}\n{process.stdout[-2000:]}{process.stderr.strip()}", process
        inputs = {n: (v.values if isinstance(v, Array) else v) for n, v in case.args.items()}
        for name, expected in case.reference(inputs).items():
            value = case.args[name]
            wrong = compare(case, name, value, result_of(value, os.path.join(folder, f"{name}.out.npy")), expected)
            if wrong:
                return wrong, process
        return None, process


def signature(case):
    """-a NAME=TYPE arguments as a launch of the case would specialise them."""
    arguments = []
    constants = [value for value in case.defines.values() if type(value) is int]
    for name, value in case.args.items():
        if isinstance(value, Array):
            text = f"*{value.dtype}:16"
        elif isinstance(value, float):
            text = "fp32"
        else:
            special = f":={value}" if value >= 16 and value in constants else ":16" if value % 16 == 0 else ":8" if value % 8 == 0 else ":1" if value == 1 else ""
            text = ("i64" if abs(value) >= 2**31 else "i32") + special
        arguments += ["-a", f"{name}={text}"]
    for name, value in case.defines.items():
        arguments += ["-D", f"{name}={python_literal(value)}"]
    return arguments


def compile_only(tilec, case, target):
    command = [tilec, "compile", os.path.join(KERNELS, case.file), "-k", case.kernel, "--target", target,
               "--emit", "cubin", "-o", os.devnull, "--cache-dir", "none", "--json"] + signature(case)
    process = subprocess.run(command, capture_output=True, text=True)
    if process.returncode:
        return f"exit status {process.returncode}\n{process.stderr.strip()}"
    return slowed(json.loads(process.stdout))


ONE_REGISTER = 8  # bytes: stored and loaded once, which lets an SM hold more CTAs (docs/codegen.md)


def slowed(report):
    """What ptxas reports that costs time: spills, products that it serialises; None: nothing."""
    spills = report["resources"]["spill_stores"] + report["resources"]["spill_loads"]
    spills = 0 if spills <= ONE_REGISTER else spills
    said = [d["message"] for d in report["diagnostics"] if d["id"].startswith("ptxas_")]
    return "\n".join([f"{spills} bytes spilled"] * (spills > 0) + said) or None


def demo(options):
    rng = np.random.default_rng(1)
    case = case_module.softmax(rng, "softmax", "fp32", 64, 1000)
    dumps = os.path.join(os.path.dirname(os.path.abspath(options.tilec)), "softmax-dumps")
    compiled = [options.tilec, "compile", os.path.join(KERNELS, case.file), "-k", case.kernel, "--target", options.target,
                "--dump-dir", dumps, "--time", "--cache-dir", "none"] + signature(case)
    for emit in ("ptx", "cubin"):
        path = os.path.join(dumps, f"softmax.{emit}")
        os.makedirs(dumps, exist_ok=True)
        status = subprocess.run(compiled + ["--emit", emit, "-o", path]).returncode
        if status == 3 and emit == "cubin":
            print("no ptxas and no driver here: the cubin is left out")
        elif status:
            return status
        else:
            print(f"wrote {os.path.relpath(path)}, {os.path.getsize(path)} bytes\n")
    wrong, process = check(options.tilec, case, "auto", ["--time"])
    print(process.stdout + process.stderr)
    print(f"softmax of 64 x 1000 fp32 against float64: {wrong or 'agrees'}")
    print(f"every stage is in {os.path.relpath(dumps)}/: {', '.join(sorted(os.listdir(dumps)))}")
    return 1 if wrong else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tilec", required=True)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--large", action="store_true")
    parser.add_argument("--filter", default="")
    parser.add_argument("--compile", action="store_true")
    parser.add_argument("--demo", action="store_true")
    parser.add_argument("--under", default="", help="a command that runs tilec, such as compute-sanitizer")
    parser.add_argument("--target", default="sm_90a")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    options = parser.parse_args()
    if options.demo:
        return demo(options)
    selected = [case for case in all_cases(options.large) if options.filter in case.name]
    if options.compile:
        work = [(f"{case.name} for {target}", lambda c=case, t=target: compile_only(options.tilec, c, t))
                for case in selected for target in case.targets or TARGETS]
    else:
        extra = ["--target", options.target] if options.device == "sim" else []
        work = [(case.name, lambda c=case: check(options.tilec, c, options.device, extra, under=options.under.split())[0]) for case in selected]
    failed = 0
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        futures = [(name, pool.submit(job)) for name, job in work]
        for name, future in futures:
            wrong = future.result()
            if wrong:
                failed += 1
                print(f"FAILED {name}: {wrong}")
    print(f"kernels: {len(work) - failed} passed, {failed} failed")
    return 1 if failed or not work else 0


if __name__ == "__main__":
    sys.exit(main())
