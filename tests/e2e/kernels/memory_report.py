#!/usr/bin/env python3
"""What each kernel of kernels/ costs in memory, by source line, against tests/e2e/kernels/golden.

    memory_report.py --tilec build/release/src/cli/tilec            compare; prints what differs
    memory_report.py --tilec build/release/src/cli/tilec --update   write the files anew

A file has the simulator's counts of one launch of one kernel: of global memory the requests of warps, the 32-byte
sectors they touched, the sectors that as many bytes need when they are contiguous, and the bytes used and moved;
of shared memory the wavefronts and the least that the words need. Targets with equal counts share a table. A row above
its ideal has a comment that says why, which --update keeps; one without is a failure. Every kernel has a report of a
launch whose rows begin at sectors, those with dots too: what they store is in whole sectors, or the comment says why not.
"""
import argparse
import difflib
import os
import sys
import tempfile

import numpy as np

import cases
import dot_cases
from check import KERNELS
from simulate import compile_case, first_difference, needs_other_form, simulate

GOLDEN = os.path.join(os.path.dirname(os.path.abspath(__file__)), "golden")
TARGETS = ("sm_80", "sm_90a")
COLUMNS = ("requests", "sectors", "ideal_sectors", "bytes_used", "moved", "wavefronts", "ideal_wavefronts")
HEADER = f"{'line':>4} {'requests':>9} {'sectors':>8} {'ideal':>6} {'used':>8} {'moved':>8} {'wavefronts':>11} {'least':>6}"
SECTOR_BYTES = 32


# Launches of dot_cases.all_cases: of each kernel one whose rows begin at a sector, where there is one.
PRODUCTS = (
    "matmul-fp16-fp16-64x32x64-rcr-32.32.32+0", "matmul_wide-fp16-fp16-64x48x64-rrr-32.32+16.32+0",
    "matmul_block_pointers-bf16-64x64x64-rrr+0", "matmul_persistent-bf16-130x128x176-rrr-1-64.128.64+16",
    "matmul_descriptors-fp16-48x56x72-rrr+8", "linear_gelu-tanh-bf16-64x32x64+0",
    "matmul_batched-bf16-2x64x64x32-rrr-shared+0", "matmul_batched_small-fp32-4x16x16x16-rrr+0",
    "matmul_grouped-bf16-5.33x32x64-8+0", "matmul_split_k-bf16-16x32x256-rr-4-atomic+0", "matmul_split_k_sum-fp16-33x40-3",
    "matmul_stream_k-bf16-64x96x160-rrr-4-32.32.32+0",
    "matmul_dequant-int8-bf16-1x50x64+3", "matmul_mxfp-e4m3.e2m1-32x32x128", "attention-fp16-1x2x64x64x16-causal",
    "attention_relative-bf16-1x2x64x64x16-100-causal", "attention_relative_2d-bf16-1x2x64x4x16x32",
    "attention_backward_delta-fp32-1x1x64x64x32-causal",
    "attention_backward_dkdv-fp32-1x1x64x64x32-causal", "attention_backward_dq-fp32-1x1x64x64x32-causal",
    "attention_paged-fp16-70.1.33-2x4x32-page16-2", "attention_paged_sum-fp16-3x8x2x32",
    "linear_attention-bf16-1x2x64x16x32",
)


def golden_cases():
    products = {case.name: case for case in dot_cases.all_cases(False)}
    return row_cases() + [products[name] for name in PRODUCTS]


def row_cases():
    """One launch of each kernel: rows begin at a sector, no size fills its tile."""
    rng = np.random.default_rng(20)
    return [
        cases.vector_add(rng, "fp16", 4000),
        cases.gelu(rng, "fp16", 2000, True),
        cases.silu_mul(rng, "fp16", 3, 240, pad=16),
        cases.silu_mul(rng, "fp16", 3, 240, pad=8),
        cases.softmax(rng, "softmax", "fp16", 4, 1008),
        cases.softmax(rng, "softmax_three_pass", "fp16", 2, 3056, block=1024),
        cases.softmax(rng, "softmax_online", "fp16", 2, 3056, block=1024),
        cases.softmax(rng, "softmax_two_pass", "fp16", 2, 3056, block=1024),
        cases.layernorm(rng, "fp16", 2, 2032),
        cases.layernorm_backward(rng, "fp16", 9, 240, 4),
        cases.layernorm_backward_sum(rng, 70, 112),
        cases.rmsnorm(rng, "fp16", 4, 496),
        cases.dropout_layernorm(rng, "fp16", 3, 496, 0.3, 1234),
        cases.cross_entropy(rng, "fp16", "i64", 5, 3056),
        cases.cross_entropy_backward(rng, "fp16", 4, 2544),
        cases.reduce_rows(rng, "fp16", 3, 2544),
        cases.reduce_columns(rng, "fp16", 100, 144),
        cases.reduce_all(rng, "fp16", 10000, 4),
        cases.transpose(rng, "fp16", 80, 144, pad=16),
    ]


def by_line(counts):
    """line -> the sums of COLUMNS over its instructions that touch memory."""
    lines = {}
    for insn in counts["instructions"]:
        if not insn.get("sectors") and not insn.get("wavefronts"):
            continue
        row = lines.setdefault(insn.get("line", 0), dict.fromkeys(COLUMNS, 0))
        for column in ("sectors", "ideal_sectors", "wavefronts", "ideal_wavefronts"):
            row[column] += insn.get(column, 0)
        if insn.get("sectors"):
            row["requests"] += insn["requests"]
            row["bytes_used"] += insn["bytes_used"]
            row["moved"] += insn["sectors"] * SECTOR_BYTES
    return lines


def has_excess(row):
    return row["sectors"] > row["ideal_sectors"] or row["wavefronts"] > row["ideal_wavefronts"]


def format_row(line, row, source):
    values = [line] + [row[column] or "" for column in COLUMNS]
    widths = (4, 9, 8, 6, 8, 8, 11, 6)
    return " ".join(f"{value:>{width}}" for value, width in zip(values, widths)) + f"  | {source}"


def format_table(case, lines, comments, unexplained):
    with open(os.path.join(KERNELS, case.file), encoding="utf-8") as file:
        source = [text.strip() for text in file]
    table = [HEADER]
    for line, row in sorted(lines.items()):
        text = source[line - 1] if line else "(no line)"
        table.append(format_row(line, row, text))
        if has_excess(row):
            table += comments.get(text, [])
            if text not in comments:
                unexplained.append(f"{case.file}:{line}")
    return table


def read_comments(text):
    """Source text of a row -> the comment lines below it."""
    comments, row = {}, None
    for line in text.splitlines():
        if line.lstrip().startswith("#") and row is not None:
            if line not in comments.setdefault(row, []):
                comments[row].append(line)
        else:
            row = line.split("| ", 1)[1] if "| " in line else None
    return comments


def measure(tilec, case, target):
    with tempfile.TemporaryDirectory(prefix="tilec-memory-") as folder:
        # One program after the other: how often one asks for what another has is then the same each time.
        in_turn = ["--threads", "1"]
        outcome = simulate(tilec, compile_case(tilec, case, target), case, folder, in_turn)
        if needs_other_form(outcome):
            other = compile_case(tilec, case, target, ["--no-tensor-copies"])
            outcome = simulate(tilec, other, case, folder, in_turn, run="other")
    wrong = outcome.findings[0]["message"] if outcome.status else first_difference(case, outcome)
    if wrong:
        raise RuntimeError(f"{case.name} for {target}: {wrong}")
    return by_line(outcome.counts)


def make_report(tilec, case, old, unexplained):
    tables = []  # (targets, table)
    for target in TARGETS:
        table = format_table(case, measure(tilec, case, target), read_comments(old), unexplained)
        if tables and tables[-1][1] == table:
            tables[-1][0].append(target)
        else:
            tables.append(([target], table))
    text = f"{case.name}, grid {case.grid}\n"
    for targets, table in tables:
        text += f"\n{' '.join(targets)}\n" + "".join(f"{row}\n" for row in table)
    return text


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tilec", required=True)
    parser.add_argument("--update", action="store_true")
    options = parser.parse_args()
    failed, names = 0, set()
    for case in golden_cases():
        name = f"{case.name}.txt"
        names.add(name)
        path = os.path.join(GOLDEN, name)
        old = ""
        if os.path.exists(path):
            with open(path, encoding="utf-8") as file:
                old = file.read()
        unexplained = []
        new = make_report(options.tilec, case, old, unexplained)
        if options.update:
            os.makedirs(GOLDEN, exist_ok=True)
            with open(path, "w", encoding="utf-8") as file:
                file.write(new)
        elif new != old:
            failed += 1
            sys.stdout.writelines(difflib.unified_diff(old.splitlines(True), new.splitlines(True), f"golden/{name}", "now"))
        for where in unexplained:
            failed += 1
            print(f"{name}: {where} is above its ideal, and no comment says why")
    reported = {(case.file, case.kernel) for case in golden_cases()}
    known = {(case.file, case.kernel) for case in cases.all_cases(False) if not os.path.dirname(case.file)}
    for file, kernel in sorted(known - reported):
        failed += 1
        print(f"{file}: kernel {kernel} has no report: add a launch of it to golden_cases")
    for name in sorted(set(os.listdir(GOLDEN)) - names):
        failed += 1
        print(f"{name}: no kernel has this report")
    print(f"memory reports: {len(names)} kernels for {' and '.join(TARGETS)}, {failed} differences")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
