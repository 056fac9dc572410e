#!/usr/bin/env python3
"""Programs whose threads look at what another program changes meanwhile, on the simulator.

    one_value.py --tilec build/release/src/cli/tilec [--filter TEXT]

A volatile load is one load: what it gives is one value, which every thread has, whichever warp is ahead. So all go the same way behind it
and meet at the same barriers, and what they store of it is the same. Each kernel of Inputs/one_value.tile runs in many schedules, has no
findings and stores one value through all of `y`."""
import argparse
import os
import sys
import tempfile

import numpy as np

from cases import Case, array
from simulate import compile_case, simulate

FILE = os.path.join("..", "tests", "e2e", "kernels", "Inputs", "one_value.tile")
KERNELS = ("in_while", "by_sums", "as_data", "in_branch", "as_bound", "several")
TARGETS = ("sm_80", "sm_90a")
RUNS = [["--schedule", "round-robin"], ["--schedule", "adversarial"]] + [["--schedule", "random", "--seed", str(seed)] for seed in range(1, 7)]
BLOCK = 256


def case_of(kernel, dtype):
    def zeros(count, dtype="i32"):
        return array(np.zeros(count), dtype, True)
    args = {"flags": zeros(4, dtype), "times": 9, "x": zeros(BLOCK), "y": zeros(BLOCK)}
    return Case(kernel, FILE, kernel, args, {"BLOCK": BLOCK}, (2,), None)


def problems(tilec, case, target, warps):
    program = compile_case(tilec, case, target, ["--num-warps", str(warps)])
    with tempfile.TemporaryDirectory(prefix="tilec-value-") as folder:
        for number, schedule in enumerate(RUNS):
            outcome = simulate(tilec, program, case, folder, [*schedule, "--max-steps", "8000000"], f"run{number}")
            if outcome.status:
                yield f"{' '.join(schedule)}: {outcome.findings[0]['message']}"
            elif len(values := np.unique(outcome.results["y"].values)) > 1:
                yield f"{' '.join(schedule)}: threads have {values}"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tilec", required=True)
    parser.add_argument("--filter", default="")
    options = parser.parse_args()
    failures = count = 0
    for kernel in KERNELS:
        for target, warps, dtype in ((TARGETS[0], 4, "i32"), (TARGETS[1], 8, "i64"), (TARGETS[1], 2, "i32")):
            if options.filter not in kernel:
                continue
            count += 1
            for message in problems(options.tilec, case_of(kernel, dtype), target, warps):
                failures += 1
                print(f"{kernel}, {target}, {warps} warps: {message}", flush=True)
    print(f"{count} programs, {failures} failed")
    return 1 if failures or not count else 0


if __name__ == "__main__":
    sys.exit(main())
