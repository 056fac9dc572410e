#!/usr/bin/env python3
"""Kernels by tensor copies on the simulator, in every schedule, with copies that land as late and as early as they may.

    schedules.py --tilec build/release/src/cli/tilec [--target sm_90a] [--filter TEXT]

No finding, and the results of the float64 reference, whoever goes first and whenever copies land. Of each kernel the
first cases whose code has tensor maps are run, attention whose products overlap with what lies between them, and tiles
that differ in the steps of their loops over K, none included, whose copies a producer warp starts."""
import argparse
import itertools
import os
import sys
import tempfile

import numpy as np

from cases import Case, all_cases, array, output
from dot_cases import attention, empty, logical, numbers, placed, stored
from simulate import compile_case, first_difference, needs_other_form, simulate

RUNS = [["--schedule", "round-robin", "--early"], ["--schedule", "adversarial"], ["--schedule", "adversarial", "--early"],
        ["--schedule", "random", "--seed", "1"], ["--schedule", "random", "--seed", "2", "--early"]]
CASES_OF_A_KERNEL = 2
MAPS = 2  # at least: a product
UNEVEN = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "tensor", "Inputs", "uneven.tile")


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


def overlapping(tilec, target):
    """Attention in blocks that warpgroups multiply, whose loops are rotated: cases and their programs."""
    rng = np.random.default_rng(5)
    shapes = [((64, 64, 4, 3), (1, 1, 64, 256, 64), {}),  # no masks at all
              ((128, 64, 8, 3), (1, 1, 128, 300, 64), {}),
              ((64, 64, 4, 3), (1, 1, 64, 64, 64), {}),  # one block
              ((64, 64, 4, 3), (1, 1, 64, 63, 64), {}),  # none without masks
              ((64, 32, 4, 4), (1, 2, 192, 330, 64), {"causal": True}),
              ((64, 64, 4, 3), (1, 2, 130, 290, 32), {"causal": True, "alibi": True, "group": 2}),
              ((64, 32, 4, 3), (1, 1, 70, 500, 16), {"causal": True, "window": 200}),
              ((128, 128, 8, 3), (1, 1, 128, 290, 128), {}),
              ((128, 128, 8, 3), (1, 1, 128, 900, 128), {}),  # around the rings, by two warpgroups
              ((128, 64, 8, 3), (1, 1, 256, 600, 64), {"causal": True}),
              ((64, 32, 4, 3), (1, 1, 64, 128, 256), {}),
              ((128, 64, 8, 2), (1, 1, 128, 200, 128), {"causal": True}),  # what is stored lies where the rings lay
              # two slots, of which those of K run ahead
              ((128, 64, 8, 2), (1, 1, 128, 340, 256), {}),
              ((128, 64, 8, 2), (1, 1, 128, 64, 256), {}),
              ((128, 64, 8, 2), (1, 1, 70, 63, 256), {}),
              ((128, 64, 8, 2), (1, 1, 256, 290, 256), {"causal": True}),
              ((128, 128, 8, 2), (1, 1, 128, 900, 128), {}),
              ((64, 64, 4, 2), (1, 1, 64, 340, 256), {})]
    for block, shape, options in shapes:
        case = attention(rng, "fp16", *shape, block=block[:2], pad=0, **options)
        case.name += f"-{'x'.join(map(str, block))}"
        yield case, compile_case(tilec, case, target, ["--num-warps", str(block[2]), "--num-stages", str(block[3])])
    for rows, length, block, stages in ((384, 320, (128, 64, 64), 3), (300, 448, (128, 64, 64), 3), (256, 256, (128, 64, 64), 3),
                                        (300, 640, (128, 128, 128), 2), (384, 384, (128, 128, 128), 2), (384, 256, (128, 128, 128), 2)):
        case = chains(rng, rows, length, block)
        yield case, compile_case(tilec, case, target, ["--num-warps", "8", "--num-stages", str(stages)])


def chains(rng, rows, length, block=(128, 64, 64)):
    """A loop that goes around its rings again for each block of rows."""
    q, k, v = (array(rng.uniform(-0.25, 0.25, (n, block[2])), "fp16") for n in (rows, length, length))

    def reference(values):
        result = np.zeros((rows, block[2]))
        for start in range(0, length, block[1]):
            part = slice(start, start + block[1])
            result = result * 0.5 + np.exp2(values["q_ptr"] @ values["k_ptr"][part].T) @ values["v_ptr"][part]
        return {"o_ptr": result}

    return Case(f"attention-chains-{rows}x{length}x{block[2]}", os.path.join("..", "tests", "e2e", "tensor", "Inputs", "rotated.tile"), "chains",
                {"q_ptr": q, "k_ptr": k, "v_ptr": v, "o_ptr": output((rows, block[2]), "fp32"), "R": rows, "T": length},
                dict(zip("MND", block)), (1,), reference, tolerance={"o_ptr": (2e-3, 4e-3)})


def uneven_product(a, b, block):
    """Of each tile the steps that uneven.tile takes."""
    result = np.zeros((a.shape[0], b.shape[1]))
    tiles_n = -(-b.shape[1] // block[1])
    for tile in range(-(-a.shape[0] // block[0]) * tiles_n):
        rows = slice(tile // tiles_n * block[0], (tile // tiles_n + 1) * block[0])
        columns = slice(tile % tiles_n * block[1], (tile % tiles_n + 1) * block[1])
        steps = [*range(tile % 4), *(range(1, tile % 5) if tile % 3 != 1 else ())]
        for step in steps:
            along = slice(step * block[2], (step + 1) * block[2])
            result[rows, columns] += a[rows, along] @ b[along, columns]
    return result


def uneven(tilec):
    """Tiles with loops over K of 0 to 3 steps each, or one that is unrolled: cases and their programs, all with one warp more than they ask for."""
    rng = np.random.default_rng(6)
    block, m, n = (64, 64, 32), 336, 208
    for kernel, k, programs, stages in (("product", 112, 1, 2), ("product", 112, 1, 3), ("product", 112, 2, 4), ("product", 112, 3, 5),
                                        ("unrolled", 136, 1, 2), ("unrolled", 72, 2, 3), ("unrolled", 112, 3, 4)):
        a, (stride_a, _) = stored(rng, numbers(rng, (m, k), "fp16"), "fp16", pad=16)
        b, (stride_b, _) = stored(rng, numbers(rng, (k, n), "fp16"), "fp16", pad=16)
        c, (stride_c, _) = empty((m, n), "fp16", pad=16)
        x, y = logical(a.values, (m, k)), logical(b.values, (k, n))
        expected = placed(uneven_product(x, y, block) if kernel == "product" else x @ y, c)
        case = Case(f"uneven-{kernel}-{programs}-{stages}", UNEVEN, kernel,
                    {"a_ptr": a, "b_ptr": b, "c_ptr": c, "M": m, "N": n, "K": k, "stride_a": stride_a, "stride_b": stride_b,
                     "stride_c": stride_c}, dict(zip(("BLOCK_M", "BLOCK_N", "BLOCK_K"), block)), (programs,),
                    lambda _, expected=expected: {"c_ptr": expected}, tolerance={"c_ptr": (2**-10, 1e-2)})
        program = compile_case(tilec, case, "sm_90a", ["--num-warps", "4", "--num-stages", str(stages)])
        assert ".reqntid 160," in program.ptx, f"{case.name} has no producer"
        yield case, program


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
    if options.target == "sm_90a":
        for case, program in itertools.chain(overlapping(options.tilec, options.target), uneven(options.tilec)):
            if options.filter in case.name:
                failed = run_case(options, case, program)
                failures += len(RUNS) if failed is None else failed
                count += len(RUNS)
    print(f"{count} runs of {len(seen)} kernels, {failures} failed")
    return 1 if failures or not count else 0


if __name__ == "__main__":
    sys.exit(main())
