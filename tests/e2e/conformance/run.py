#!/usr/bin/env python3
"""Every row of the table on tilec: the interpreter, the simulator for two targets, a GPU.

    run.py --tilec build/release/src/cli/tilec [--device cpu|sim|cuda] [--target sm_80|sm_90a] [--filter TEXT] [-j N]

What a kernel leaves is compared with exact arithmetic where a row has it, and with what Triton left on a GPU where that was recorded
(record.py); a row with neither is counted as not recorded. A recording of another source or other inputs than the row's is an error. Rows that
Triton refuses must end in the diagnostic that they name. Exit status: 0 all agree, 1 some do not, 3 there is no GPU."""
import argparse
import os
import sys
import tempfile

import compare
import launch
import recordings
from otherwise import OTHERWISE
from table import all_rows

WAYS = [("cpu", "sm_90a"), ("sim", "sm_80"), ("sim", "sm_90a")]


def has_gpu():
    try:
        import torch
    except ImportError:
        return False
    return torch.cuda.is_available()


def failure_of(row, result, recorded):
    """None, or what is wrong with what a row's launch gave."""
    if row.refused:
        if not isinstance(result, tuple):
            return f"is not refused, wanted {row.refused}"
        return None if row.refused in result[1] else f"is refused by {result[1] or result[0]}, wanted {row.refused}"
    if isinstance(result, tuple):
        return result[0]
    said, others = [], []
    exact = row.expected()
    for name in row.outputs:
        if exact and name in exact:
            said.append(compare.judge(row, name, result[name], exact[name]))
        if recorded and not row.apart:
            others.append(compare.judge(row, name, result[name], recorded[name], recorded=True))
    differs = "; ".join(o for o in others if o)
    if bool(differs) != (f"{row.group}: {row.name}" in OTHERWISE) and recorded and not row.apart:
        said.append("of Triton's: " + (differs or "they are ours, though otherwise.py says why they are not"))
    return "; ".join(s for s in said if s) or None


def judge(rows, results, recorded, way):
    """Prints what is wrong; (right, wrong, not recorded)."""
    right = wrong = unknown = 0
    for row in rows:
        said = failure_of(row, results[row.name], recorded.get(row.name))
        if said:
            wrong += 1
            print(f"FAILED {row.group}: {row.name}, {way}: {said}")
        elif not row.refused and not row.exact and row.name not in recorded:
            unknown += 1
        else:
            right += 1
    return right, wrong, unknown


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tilec", default="build/release/src/cli/tilec")
    parser.add_argument("--device", choices=("cpu", "sim", "cuda"))
    parser.add_argument("--target")
    parser.add_argument("--filter", default="", help="rows whose group or name contains the text")
    parser.add_argument("-j", "--jobs", type=int, default=os.cpu_count())
    options = parser.parse_args()
    package = os.path.join(os.path.dirname(os.path.abspath(options.tilec)), "../../python")
    rows = [r for r in all_rows() if options.filter in f"{r.group}: {r.name}"]
    recorded, stale = recordings.read(rows)
    for name in stale:
        print(f"FAILED {name}: what was recorded is of another kernel or other inputs; record.py records anew")
    if options.device == "cuda" and not has_gpu():
        print("run.py: there is no GPU, or no torch to reach it by", file=sys.stderr)
        return 3
    ways = [("cuda", "")] if options.device == "cuda" else [w for w in WAYS if options.device in (None, w[0]) and options.target in (None, w[1])]
    failed = len(stale)
    with tempfile.TemporaryDirectory(prefix="tilec-conformance-") as folder:
        launch.write_modules(rows, folder)
        for device, target in ways:
            mine = [r for r in rows if device != "cpu" or r.device != "gpu"]
            results = launch.launch_all(mine, folder, options.jobs, package, device, target)
            right, wrong, unknown = judge(mine, results, recorded, f"{device} {target}".strip())
            failed += wrong
            print(f"conformance, {device} {target}: {right} passed, {wrong} failed, {unknown} not recorded")
    return 1 if failed or not rows else 0


if __name__ == "__main__":
    sys.exit(main())
