#!/usr/bin/env python3
"""Programs of one launch that hand memory to each other, by tensor copies on either side, on the simulator.

    handed_over.py --tilec build/release/src/cli/tilec [--filter TEXT]

What one program stores another one loads behind an acquire, and what it has loaded another one overwrites. Ways to tell and to wait are
atomics, volatile loads and PTX of the source. Each kernel must have its tensor copies, agree with NumPy in every schedule, and have no
findings; without its fences between acquire and copy (fence.proxy.async.global) it must have some."""
import argparse
import dataclasses
import itertools
import os
import sys
import tempfile

import numpy as np

from cases import Case, array
from schedules import RUNS
from simulate import compile_case, first_difference, simulate

FILE = os.path.join("..", "tests", "e2e", "kernels", "Inputs", "handed_over.tile")
TARGET = "sm_90a"
FENCE = "fence.proxy.async.global;"
LOAD = ".global.tile.mbarrier::complete_tx::bytes"
BLOCK = 64


def signs(rng, shape, is_output=False):
    """So few that sums stay exact in fp16."""
    return array(rng.choice([-1, 0, 0, 0, 0, 0, 0, 0, 1], shape), "fp16", is_output)


def zeros(shape, dtype="fp16"):
    return array(np.zeros(shape), dtype, True)


def make(kernel, args, grid, reference, by, tell):
    def expected(inputs):
        h, y = reference(inputs)
        return {"h_ptr": h, "y_ptr": y}

    case = Case(f"{kernel}-{by}-{tell}", FILE, kernel, args, {"BY": by, "TELL": tell, "BLOCK": BLOCK}, grid, expected,
                tolerance={"h_ptr": (0, 0), "y_ptr": (0, 0)})
    case.has_flags = True
    return case


def two_products(rng, by, tell, kernel="two_products"):
    rows, depth, columns = 128, 128, 128
    args = {"x_ptr": signs(rng, (rows, depth)), "w_ptr": signs(rng, (depth, columns)), "v_ptr": signs(rng, (columns, columns)),
            "h_ptr": zeros((rows, columns)), "again_ptr": zeros((rows, columns)), "y_ptr": zeros((rows, columns)),
            "flags_ptr": zeros(128, "i32"), "M": rows, "K": depth, "N": columns, "stride_x": depth, "stride_h": columns}

    def reference(inputs):
        h = inputs["x_ptr"] @ inputs["w_ptr"]
        return h, h @ inputs["v_ptr"]
    return make(kernel, args, (rows // BLOCK, columns // BLOCK), reference, by, tell)


def by_descriptors(rng, by, tell):
    return two_products(rng, by, tell, "by_descriptors")


def in_turns(rng, by, tell):
    programs, steps = 3, 2
    rows, side = programs * steps * BLOCK, 2 * BLOCK
    args = {"x_ptr": signs(rng, (rows, side)), "w_ptr": signs(rng, (side, side)), "h_ptr": zeros((rows, side)),
            "again_ptr": zeros((rows, side)), "y_ptr": zeros((rows, side)), "flags_ptr": zeros(128, "i32"), "steps": steps, "K": side,
            "stride": side}

    def reference(inputs):
        h = inputs["x_ptr"] @ inputs["w_ptr"]
        moved = np.roll(h.reshape(steps, programs, BLOCK, side), -1, axis=1).reshape(h.shape)
        return h, moved @ inputs["w_ptr"]
    return make("in_turns", args, (programs,), reference, by, tell)


def given_back(rng, by, tell):
    args = {"h_ptr": signs(rng, (BLOCK, BLOCK), True), "again_ptr": signs(rng, (BLOCK, BLOCK)), "v_ptr": signs(rng, (BLOCK, BLOCK)),
            "y_ptr": zeros((BLOCK, BLOCK)), "flags_ptr": zeros(128, "i32"), "stride_h": BLOCK}
    case = make("given_back", args, (2,), lambda inputs: (np.zeros((BLOCK, BLOCK)), inputs["h_ptr"] @ inputs["v_ptr"]), by, tell)
    case.has_flags = False  # its copies come before the program knows of anything
    return case


def all_cases():
    rng = np.random.default_rng(1)
    for kernel in (two_products, by_descriptors, in_turns, given_back):
        for by, tell in (("acquire", "atomic"), ("acq_rel", "asm"), ("volatile", "atomic"), ("asm", "asm")):
            yield kernel(rng, by, tell)


def run(tilec, case, program, schedules):
    """What is wrong in each schedule; None: nothing."""
    one_array = dataclasses.replace(case, args={**case.args, "again_ptr": "h_ptr"})
    with tempfile.TemporaryDirectory(prefix="tilec-handed-") as folder:
        for number, schedule in enumerate(schedules):
            outcome = simulate(tilec, program, one_array, folder, schedule, f"run{number}")
            yield outcome.findings[0]["message"] if outcome.status else first_difference(case, outcome)


def problems(tilec, case, options):
    program = compile_case(tilec, case, TARGET, options)
    if program.ptx.count(LOAD) < 2:
        return ["its operands are no tensor copies"]
    if program.persistent:
        return ["it is persistent"]
    found = [f"{' '.join(schedule)}: {wrong}" for schedule, wrong in zip(RUNS, run(tilec, case, program, RUNS)) if wrong]
    if case.has_flags:
        bare = dataclasses.replace(program, ptx=program.ptx.replace(FENCE, ""))
        wrong = next(iter(run(tilec, case, bare, RUNS[3:4])))
        if not wrong or "no fence.proxy.async lies between the acquire" not in wrong:
            found.append(f"without its fences: {wrong}")
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tilec", required=True)
    parser.add_argument("--filter", default="")
    options = parser.parse_args()
    failures = count = 0
    for case, warps in itertools.product(all_cases(), (4, 8)):
        if options.filter not in case.name:
            continue
        count += 1
        for message in problems(options.tilec, case, ["--num-warps", str(warps)]):
            failures += 1
            print(f"{case.name}, {warps} warps: {message}", flush=True)
    print(f"{count} programs, {failures} failed")
    return 1 if failures or not count else 0


if __name__ == "__main__":
    sys.exit(main())
