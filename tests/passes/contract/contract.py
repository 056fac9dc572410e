#!/usr/bin/env python3
"""How far the contract of every pass could be checked over the kernels of kernels/, for sm_80 and sm_90a.

    contract.py --tilec build/release/src/cli/tilec [--filter TEXT] [--cases N] [--json]

Fails when a promise is broken, when a pass was compared on less than the share of the functions it changed that LEAST
states, and when one that is not in IDLE changed none: its comparisons would be empty."""
import argparse
import concurrent.futures
import dataclasses
import json
import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "e2e", "kernels"))
from cases import all_cases  # noqa: E402
from check import KERNELS, signature  # noqa: E402

TARGETS = ("sm_80", "sm_90a")
COUNTS = ("runs", "changed", "argument_lists", "values", "equivalent", "different", "too long", "goes wrong", "stores nothing")
LEAST = 0.9  # of the functions that a pass changed
IDLE = ("unroll", "delay-loads", "rematerialise", "split-stores", "split-scans", "narrow-compares", "join-compares", "wait-stores", "split-exchanges", "own-loads", "carry-words",
        "fence-copies", "carry-sums", "stream-loads")  # no kernel here makes them fire
# Tiles that warpgroups multiply, for kernels whose tiles have these names: what the small cases do not reach.
TILES = (({"BLOCK_M": 128, "BLOCK_N": 128, "BLOCK_K": 64}, ["--num-warps", "8", "--num-stages", "3"]),
         ({"BLOCK_M": 64, "BLOCK_N": 64, "BLOCK_K": 64}, ["--num-warps", "4", "--num-stages", "4"]),
         ({"BLOCK_M": 128, "BLOCK_N": 256, "BLOCK_K": 64}, ["--num-warps", "8", "--num-stages", "3"]))


def compile_case(tilec, case, target, tile_options):
    """The counts of its passes, or what is wrong; None: tiles of this size are too large for the kernel."""
    command = [tilec, "compile", os.path.join(KERNELS, case.file), "-k", case.kernel, "--target", target, "--emit", "tir-final",
               "-o", os.devnull, "--cache-dir", "none", "--json", "--check-passes", *tile_options] + signature(case)
    process = subprocess.run(command, capture_output=True, text=True)
    try:
        report = json.loads(process.stdout)
    except json.JSONDecodeError:
        return f"exit status {process.returncode}\n{process.stderr.strip()}"
    if tile_options and any(d["id"] == "kernel_shared_limit" for d in report["diagnostics"]):
        return None
    errors = [d["message"] for d in report["diagnostics"] if d["severity"] == "error"]
    return "; ".join(errors) if errors else report["contract"]


def functions(count, filter_text):
    """So many cases of each kernel, then those of products with large tiles: (case, target, options)."""
    seen = {}
    for case in all_cases(False):
        seen[case.kernel] = seen.get(case.kernel, 0) + 1
        if seen[case.kernel] > count or filter_text not in case.name:
            continue
        for target in case.targets or TARGETS:
            if target in TARGETS:
                yield case, target, []
        if seen[case.kernel] > 1 or not {"BLOCK_M", "BLOCK_N"} <= case.defines.keys():
            continue
        for tile, options in TILES:
            defines = {name: tile.get(name, value) for name, value in case.defines.items()}
            name = f"{case.name}-{'x'.join(map(str, tile.values()))}"
            for target in TARGETS:
                yield dataclasses.replace(case, name=name, defines=defines), target, options


def table(total):
    lines = [f"{'pass':16} " + " ".join(f"{name:>14}" for name in COUNTS) + "   share"]
    for name, counts in total.items():
        lines.append(f"{name:16} " + " ".join(f"{counts[key]:14}" for key in COUNTS) + f"   {share(counts):5.3f}" * bool(counts["changed"]))
    return "\n".join(lines)


def share(counts):
    return counts["equivalent"] / counts["changed"] if counts["changed"] else 1.0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tilec", required=True)
    parser.add_argument("--filter", default="")
    parser.add_argument("--cases", type=int, default=2, help="of each kernel")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--skips", action="store_true", help="list the functions that a pass changed and that were not compared")
    parser.add_argument("--jobs", type=int, default=2)
    options = parser.parse_args()
    total, failed = {}, 0
    work = list(functions(options.cases, options.filter))
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        results = pool.map(lambda item: compile_case(options.tilec, *item), work)
        for (case, target, _), result in zip(work, results):
            if result is None:
                continue
            if isinstance(result, str):
                failed += 1
                print(f"FAILED {case.name} for {target}: {result}", file=sys.stderr)
                continue
            for counts in result:
                sums = total.setdefault(counts["pass"], dict.fromkeys(COUNTS, 0))
                for key in COUNTS:
                    sums[key] += counts[key]
                skipped = {key: counts[key] for key in COUNTS[6:] if counts[key]}
                if options.skips and skipped:
                    print(f"{case.name} for {target}: {counts['pass']}: {skipped}", file=sys.stderr)
    print(json.dumps(total) if options.json else table(total))
    few = [name for name, counts in total.items() if share(counts) < LEAST]
    if few:
        print(f"compared too little: {', '.join(few)}", file=sys.stderr)
    idle = [name for name, counts in total.items() if not counts["changed"] and name not in IDLE] if not options.filter else []
    if idle:
        print(f"changed nothing: {', '.join(idle)}", file=sys.stderr)
    print(f"contract: {len(work) - failed} functions, {failed} failed", file=sys.stderr)
    return 1 if failed or few or idle or not work else 0


if __name__ == "__main__":
    sys.exit(main())
