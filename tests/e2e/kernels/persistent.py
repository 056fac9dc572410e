#!/usr/bin/env python3
"""Persistent kernels on the simulator: few CTAs and many programs, in every schedule.

    persistent.py --tilec build/release/src/cli/tilec [--filter TEXT]

Each kernel must be persistent, and agree with its float64 reference without findings, with one CTA for all programs, with
numbers that divide the programs and that do not, with one for each, and with more than there are programs."""
import argparse
import math
import sys
import tempfile

import numpy as np

import dot_cases
from schedules import RUNS
from simulate import compile_case, first_difference, simulate

TARGET = "sm_90a"


def persistent_cases():
    """Sizes with tiles at the edges, strides that are multiples of 16, grids of one, two and three dimensions."""
    rng = np.random.default_rng(3)
    tile = (64, 64, 32)
    yield dot_cases.matmul(rng, "fp16", 208, 144, 96, block=tile, pad=16, group=2)
    yield dot_cases.matmul(rng, "fp16", 208, 144, 80, order="rcr", block=tile, pad=16, activation="relu")
    yield dot_cases.matmul(rng, "bf16", 144, 208, 16, order="crr", block=tile, pad=16, group=2)  # shorter than the pipeline
    yield dot_cases.matmul(rng, "bf16", 144, 80, 400, order="crc", block=(64, 64, 64), pad=16)
    yield dot_cases.matmul(rng, "fp16", 272, 144, 96, block=(128, 64, 32), pad=16, out="fp32")
    yield dot_cases.matmul(rng, "i8", 144, 144, 160, order="rcr", block=tile, pad=16)
    yield dot_cases.matmul(rng, "fp32", 144, 144, 48, order="rcr", block=tile, pad=16)
    yield dot_cases.matmul(rng, "fp16", 144, 208, 96, block=(64, 64, 32), second=32, pad=16, group=2)
    # Two warpgroups, which store by themselves: rows of C, columns of C, tiles of two widths
    yield dot_cases.matmul(rng, "fp16", 272, 272, 144, block=(128, 128, 64), pad=16, group=2)
    yield dot_cases.matmul(rng, "bf16", 272, 208, 96, order="rrc", block=(128, 128, 32), pad=16)
    yield dot_cases.matmul(rng, "fp16", 272, 336, 144, block=(128, 128, 64), second=32, pad=16, group=2)
    yield dot_cases.matmul_batched(rng, "bf16", 2, 144, 272, 80, block=(128, 128, 32), pad=16)
    yield dot_cases.matmul_split_k(rng, "fp16", 144, 272, 160, 2, False, block=(128, 128, 32), pad=16)
    yield dot_cases.linear_gelu(rng, "fp16", 144, 144, 96, block=tile, pad=16)
    yield dot_cases.matmul_batched(rng, "fp16", 3, 80, 144, 96, block=tile, pad=16)
    yield dot_cases.matmul_batched(rng, "bf16", 3, 80, 80, 96, order="rcr", block=tile, pad=16)
    yield dot_cases.matmul_blocks(rng, "matmul_descriptors", "fp16", 144, 144, 96, block=tile, pad=16)
    yield dot_cases.matmul_blocks(rng, "matmul_block_pointers", "fp16", 144, 144, 96, block=tile, pad=16)
    yield dot_cases.matmul_split_k(rng, "fp16", 80, 144, 160, 3, False, block=tile, pad=16)
    yield dot_cases.matmul_split_k(rng, "fp16", 80, 144, 160, 2, True, block=tile, pad=16)


def team_cases():
    """Tiles that two warpgroups of a CTA take in turn, and the options they are compiled with: more blocks than the ring has
    slots, fewer, and a round of it more than a tile has."""
    rng = np.random.default_rng(4)
    square, flat = (128, 128, 64), (64, 128, 64)
    yield dot_cases.linear_gelu(rng, "fp16", 272, 400, 336, block=square, pad=16), (4, 5)
    yield dot_cases.matmul(rng, "fp16", 400, 272, 320, block=square, pad=16, group=2), (4, 5)
    yield dot_cases.matmul(rng, "bf16", 400, 144, 80, order="rcr", block=square, pad=16), (4, 5)
    yield dot_cases.matmul(rng, "fp16", 208, 272, 640, block=flat, pad=16, group=2), (4, 6)


def runs_of(case):
    """Numbers of CTAs, each with the schedules to try."""
    programs = math.prod(case.grid)
    chosen = {1: RUNS[:2], 2: RUNS[1:], 3: RUNS[3:], programs: RUNS[3:4], programs + 1: RUNS[4:]}
    return [(ctas, schedule) for ctas, schedules in chosen.items() for schedule in schedules]


def run_case(tilec, case, program):
    """How many runs failed."""
    failures = 0
    with tempfile.TemporaryDirectory(prefix="tilec-persistent-") as folder:
        for number, (ctas, schedule) in enumerate(runs_of(case)):
            outcome = simulate(tilec, program, case, folder, schedule, f"run{number}", ctas)
            wrong = outcome.findings[0]["message"] if outcome.status else first_difference(case, outcome)
            if wrong:
                failures += 1
                print(f"{case.name}, {ctas} CTAs for {case.grid}, {' '.join(schedule)}: {wrong}", flush=True)
    return failures


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tilec", required=True)
    parser.add_argument("--filter", default="")
    options = parser.parse_args()
    failures, kernels, count = 0, 0, 0
    cases = [(case, []) for case in persistent_cases()]
    for case, (warps, stages) in team_cases():
        case.name += "-teams"
        cases.append((case, ["--num-warps", str(warps), "--num-stages", str(stages)]))
    for case, named in cases:
        if options.filter not in case.name:
            continue
        program = compile_case(options.tilec, case, TARGET, named)
        kernels += 1
        if not program.persistent or bool(named) != ("setmaxnreg" in program.ptx):
            print(f"{case.name} is not persistent, or not with as many teams as it should", flush=True)
            failures += 1
            continue
        if ".reqntid 288," in program.ptx and "bar.sync 8, 128;" not in program.ptx:
            print(f"{case.name}: two warpgroups wait for each other", flush=True)
            failures += 1
        failures += run_case(options.tilec, case, program)
        count += len(runs_of(case))
    print(f"{count} runs of {kernels} kernels, {failures} failed")
    return 1 if failures or not count else 0


if __name__ == "__main__":
    sys.exit(main())
