#!/usr/bin/env python3
"""Records what Triton leaves of every row on a GPU: a file for each group below FOLDER.

    record.py --out FOLDER [--filter TEXT] [-j N] [--seconds N]

Needs a GPU, torch, Triton and NumPy, and nothing but this folder. The files belong into recorded/ beside this script. What Triton did not run, and
what it left otherwise than exact arithmetic says, is listed; exit status 1 if a row did not run or nothing was written."""
import argparse
import os
import sys
import tempfile

import compare
import launch
import recordings
from table import all_rows


def differs(row, result):
    """What is wrong with Triton's result by exact arithmetic, or None."""
    try:
        exact = row.expected()
    except FileNotFoundError:  # references that lie outside of this folder
        return None
    said = [compare.judge(row, name, result[name], exact[name]) for name in row.outputs if exact and name in exact]
    return "; ".join(s for s in said if s) or None


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", required=True)
    parser.add_argument("--filter", default="")
    parser.add_argument("-j", "--jobs", type=int, default=min(os.cpu_count() or 1, 16))
    parser.add_argument("--seconds", type=float, default=95, help="after which no further row is recorded")
    options = parser.parse_args()
    import torch
    import triton

    rows = [r for r in all_rows() if options.filter in f"{r.group}: {r.name}" and not r.refused and not r.apart]
    header = {"triton": triton.__version__, "torch": torch.__version__, "gpu": torch.cuda.get_device_name(0)}
    os.makedirs(options.out, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="conformance-") as folder:
        os.environ["TRITON_CACHE_DIR"] = os.path.join(folder, "cache")
        launch.write_modules(rows, folder)
        results = launch.launch_all(rows, folder, options.jobs, seconds=options.seconds)
    good = [r for r in rows if isinstance(results[r.name], dict)]
    for group in dict.fromkeys(r.group for r in good):
        recordings.write(options.out, group, header, [r for r in good if r.group == group], results)
    for row in rows:
        if isinstance(results[row.name], tuple):
            print(f"NOT RUN {row.group}: {row.name}: {results[row.name][0][-400:]}")
    different = 0
    for row in good:
        said = differs(row, results[row.name])
        if said:
            different += 1
            print(f"DIFFERS {row.group}: {row.name}: {said}")
    print(f"{header['gpu']}, Triton {header['triton']}: {len(good)} of {len(rows)} rows recorded, {different} otherwise than exact arithmetic")
    return 0 if good and len(good) == len(rows) else 1


if __name__ == "__main__":
    sys.exit(main())
