#!/usr/bin/env python3
"""Kernels by tensor copies on the simulator, in every schedule, with copies that land as late and as early as they may.

    schedules.py --tilec build/release/src/cli/tilec [--target sm_90a] [--filter TEXT]

No finding, and the results of the float64 reference, whoever goes first and whenever copies land. Of each kernel the
first cases whose code has tensor maps are run."""
import argparse
import sys
import tempfile

from cases import all_cases
from simulate import compile_case, first_difference, needs_other_form, simulate

RUNS = [["--schedule", "round-robin", "--early"], ["--schedule", "adversarial"], ["--schedule", "adversarial", "--early"],
        ["--schedule", "random", "--seed", "1"], ["--schedule", "random", "--seed", "2", "--early"]]
CASES_OF_A_KERNEL = 2
MAPS = 2  # at least: a product


def run_case(options, case, program):
    """How many runs failed; None: no tensor map can hold the arguments, so that a launcher takes the other form."""
    failures = 0
    with tempfile.TemporaryDirectory(prefix="tilec-schedules-") as folder:
        for number, schedule in enumerate(RUNS):
            outcome = simulate(options.tilec, program, case, folder, schedule, f"run{number}")
            if needs_other_form(outcome):
                return None
            wrong = outcome.findings[0]["message"] if outcome.status else first_difference(case, outcome)
            if wrong:
                failures += 1
                print(f"{case.name} {' '.join(schedule)}: {wrong}", flush=True)
    return failures


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tilec", required=True)
    parser.add_argument("--target", default="sm_90a")
    parser.add_argument("--filter", default="")
    options = parser.parse_args()
    seen, failures, count = {}, 0, 0
    for case in all_cases(False):
        if options.filter not in case.name or seen.get(case.kernel, 0) >= CASES_OF_A_KERNEL:
            continue
        program = compile_case(options.tilec, case, options.target)
        if len(program.tensor_maps) < MAPS:
            continue
        failed = run_case(options, case, program)
        if failed is None:
            continue
        seen[case.kernel] = seen.get(case.kernel, 0) + 1
        failures += failed
        count += len(RUNS)
    print(f"{count} runs of {len(seen)} kernels, {failures} failed")
    return 1 if failures or not count else 0


if __name__ == "__main__":
    sys.exit(main())
