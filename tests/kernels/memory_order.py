#!/usr/bin/env python3
"""Programs that load what they stored, or store where they loaded, against NumPy.

    memory_order.py --tilec build/release/src/cli/tilec [--filter TEXT]

A program sees its own stores in the order of the source. Each kernel runs on the interpreter, as written and after all passes,
and compiled for sm_80 and sm_90a on the simulator: with several numbers of warps, in schedules in which different warps are ahead."""
import argparse
import os
import sys
import tempfile

import numpy as np

from cases import Case, array
from check import check
from simulate import compile_case, first_difference, simulate

FILE = os.path.join("..", "tests", "kernels", "Inputs", "memory_order.tile")
TARGETS = ("sm_80", "sm_90a")
RUNS = [["--schedule", "round-robin"], ["--schedule", "adversarial"], ["--schedule", "random", "--seed", "1"]]


def small(rng, shape, dtype="fp16"):
    """Numbers whose sums and products stay exact."""
    return array(rng.integers(-4, 5, shape), dtype, True)


def make(kernel, args, defines, reference, grid=(1,), warps=(1, 2, 4, 8), name=""):
    """`reference`: from the arrays' values, which it may change, to what they are afterwards."""

    def expected(inputs):
        values = {n: v.copy() for n, v in inputs.items() if isinstance(v, np.ndarray)}
        reference(*values.values())
        return values

    case = Case(f"{kernel}{name and '-'}{name}", FILE, kernel, args, defines, grid, expected,
                tolerance={n: (0, 0) for n in args})
    return case, warps


def delayed_cases(rng):
    """Loads at places that all programs share, and stores at a program's own: of one array, and of two."""
    block = 4096
    for shift in (1024, 4096):
        def once(x, shift=shift):
            x[shift:shift + block] = 2 * x[:block]
        yield make("shift", {"x": small(rng, 4 * block)}, {"SHIFT": shift, "BLOCK": block}, once, warps=(1, 2, 4), name=str(shift))

    def twice(x, y, shift=1024):
        v = y[:block].copy()
        y[shift:shift + block] = 2 * x[:block]
        y[2 * shift:2 * shift + block] = 2 * v
    yield make("shift_twice", {"x": small(rng, block), "y": small(rng, 4 * block)}, {"SHIFT": 1024, "BLOCK": block}, twice, warps=(1, 2, 4))


def all_cases():
    rng = np.random.default_rng(1)
    yield from delayed_cases(rng)


def on_interpreter(options, case):
    """Messages, and how many runs there were."""
    runs = [["--check-passes"], ["--final-ir", "--target", "sm_80"], ["--final-ir", "--target", "sm_90a"]]
    wrong = [(run, check(options.tilec, case, "cpu", run)[0]) for run in runs]
    return [f"{case.name} {' '.join(run)}: {message}" for run, message in wrong if message], len(runs)


def on_simulator(options, case, target, warps):
    program = compile_case(options.tilec, case, target, ["--num-warps", str(warps)])
    messages = []
    with tempfile.TemporaryDirectory(prefix="tilec-order-") as folder:
        for number, schedule in enumerate(RUNS):
            outcome = simulate(options.tilec, program, case, folder, schedule, f"run{number}")
            wrong = outcome.findings[0]["message"] if outcome.status else first_difference(case, outcome)
            if wrong:
                messages.append(f"{case.name} for {target}, {warps} warps, {' '.join(schedule)}: {wrong}")
    return messages, len(RUNS)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tilec", required=True)
    parser.add_argument("--filter", default="")
    options = parser.parse_args()
    failures = count = 0
    for case, all_warps in all_cases():
        if options.filter not in case.name:
            continue
        outcomes = [on_interpreter(options, case)]
        outcomes += [on_simulator(options, case, target, warps) for target in TARGETS for warps in all_warps]
        for messages, runs in outcomes:
            count += runs
            failures += len(messages)
            for message in messages:
                print(message, flush=True)
    print(f"{count} runs, {failures} failed")
    return 1 if failures or not count else 0


if __name__ == "__main__":
    sys.exit(main())
