#!/usr/bin/env python3
"""Two builds of libtilec beside each other in one run: what a change costs or gives.

    beside.py --old OLD/libtilec.so --new build/release/src/runtime/libtilec.so [--only NAME,..] [--filter TEXT] [--seconds S] [--json FILE]

Each case of the contests runs in the configuration that docs/figures has as the best one, rows as tilec chooses; results of both are checked. The
ratio is the old time over the new one. Exit status 1 where the geometric mean of a contest is under 0.99.
"""
import argparse
import json
import os
import re
import sys

import torch

os.chdir(os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))

import attention
import backward
import linear
import matmul
from bench import COLUMNS, DTYPES, ROWS
from row_cases import ROW_KERNELS
from tilec_side import Tilec
from timing import Timer, geometric_mean

LEAST = 0.99


def tuples(value):
    return tuple(map(tuples, value)) if isinstance(value, list) else value


def figures(contest):
    with open(f"docs/figures/{contest}.json") as file:
        for row in json.load(file)[contest]:
            yield row["case"], row["about"], row["configurations"]["tilec"]


def products(contest, make, launcher):
    for name, about, config in figures(contest):
        config = tuples(config)
        yield name, lambda about=about: make(about), lambda case, tilec, config=config: (case, launcher(tilec, case, config))


def gradients():
    for name, about, configs in figures("backward"):
        def launch(case, tilec, configs=configs):
            launches = []
            for part, config in {"delta": (), **configs}.items():
                kernel, grid, arguments, fixed, warps, stages = case.launch_of(part, tuples(config))
                named = {n: str(v) for n, v in fixed.items()}
                launches.append(tilec.launch_function(tilec.function(backward.PATH, kernel, warps, stages, named), grid, arguments))
            return case, matmul.in_turn(launches)
        yield name, lambda about=about: backward.Backward(*about.values()), launch


class Row:
    """A row kernel's case with the check that the others have."""

    def __init__(self, case):
        self.case, self.name = case, case.name

    def passes(self, launch):
        self.case.poison()
        launch()
        torch.cuda.synchronize()
        return self.case.passes()


def rows():
    for kernel in ROW_KERNELS:
        for dtype in DTYPES:
            for count in ROWS:
                for columns in COLUMNS:
                    yield (f"{kernel} {dtype} {count}x{columns}", lambda k=kernel, d=dtype, r=count, n=columns: Row(ROW_KERNELS[k](d, r, n)),
                           lambda case, tilec: (case, tilec.launcher(case.case)))


def product(about):
    return matmul.Matmul(about["dtype"], about["layout"], *about["shape"])


CONTESTS = {
    "rows": rows,
    "matmul": lambda: products("matmul", product, matmul.tilec_launcher),
    "fp8": lambda: products("fp8", product, matmul.tilec_launcher),
    "linear": lambda: products("linear", lambda about: linear.LinearGelu(about["dtype"], *about["shape"]), linear.tilec_launcher),
    "attention": lambda: products("attention", lambda about: attention.Attention(*about.values()), attention.tilec_launcher),
    "backward": gradients,
}


def compare(name, make, launch, sides, timer, seconds):
    case = make()
    launchers = {}
    for side, tilec in sides.items():
        checked, launchers[side] = launch(case, tilec)
        if not checked.passes(launchers[side]):
            raise SystemExit(f"{name}: the {side} build disagrees with the reference")
    timed = timer.medians(launchers, seconds=seconds)
    print(f"{name:46} {timed['old']:9.1f} {timed['new']:9.1f} {timed['old'] / timed['new']:7.3f}", flush=True)
    return {"case": name, "us": timed, "ratio": timed["old"] / timed["new"]}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--old", required=True)
    parser.add_argument("--new", required=True)
    parser.add_argument("--only", default=",".join(CONTESTS))
    parser.add_argument("--filter", default="")
    parser.add_argument("--seconds", type=float, default=0.04)
    parser.add_argument("--json")
    options = parser.parse_args()
    timer, sides = Timer(), {side: Tilec(getattr(options, side)) for side in ("old", "new")}
    report, slower = {"device": torch.cuda.get_device_name()}, False
    for contest in options.only.split(","):
        report[contest] = []
        for name, make, launch in CONTESTS[contest]():
            if re.search(options.filter, name):
                report[contest].append(compare(name, make, launch, sides, timer, options.seconds))
                torch.cuda.empty_cache()
        ratios = [r["ratio"] for r in report[contest]]
        if not ratios:
            continue
        slower |= geometric_mean(ratios) < LEAST
        print(f"{contest}: {len(ratios)} cases, geometric mean {geometric_mean(ratios):.4f}, least {min(ratios):.3f}, most {max(ratios):.3f}\n", flush=True)
        if options.json:
            with open(options.json, "w") as file:
                json.dump(report, file)
    return 1 if slower else 0


if __name__ == "__main__":
    sys.exit(main())
