#!/usr/bin/env python3
"""Reductions and scans under --deterministic against the order that docs/deterministic.md states, in NumPy, bit for bit: on the interpreter and on
the simulator in the configurations of run.py.

    order.py --tilec build/release/src/cli/tilec [--jobs N]"""
import argparse
import concurrent.futures
import itertools
import os
import subprocess
import sys
import tempfile

import numpy as np

from run import CONFIGURATIONS, flags, same_bits

SOURCE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "Inputs", "order.tile")
SHAPES = ((1, 4096), (4, 256), (64, 64), (256, 8), (1024, 2), (8, 16))
TYPES = {"fp32": np.float32, "fp64": np.float64}


def add(a, b):
    return (a[0] + b[0],)


def compose(a, b):
    return a[0] * b[0], a[1] * b[0] + b[1]


def split(xs, axis, at):
    return tuple(np.split(x, [at], axis)[0] for x in xs), tuple(np.split(x, [at], axis)[1] for x in xs)


def reduce(xs, axis, combine):
    """By halves."""
    while xs[0].shape[axis] > 1:
        xs = combine(*split(xs, axis, xs[0].shape[axis] // 2))
    return tuple(np.squeeze(x, axis) for x in xs)


def scan(xs, axis, combine, reverse):
    """By blocks, from the middle of the axis outwards: each half by itself, then the last of the first with all of the second."""
    if reverse:
        return tuple(np.flip(x, axis) for x in scan(tuple(np.flip(x, axis) for x in xs), axis, combine, False))
    n = xs[0].shape[axis]
    if n == 1:
        return xs
    first, second = (scan(half, axis, combine, False) for half in split(xs, axis, n // 2))
    last = tuple(np.take(x, [n // 2 - 1], axis) for x in first)
    return tuple(np.concatenate(pair, axis) for pair in zip(first, combine(last, second)))


def expected(kernel, x, axis, reverse):
    pair = (x, x + 1)
    if kernel == "sums":
        return reduce((x,), axis, add)[0]
    if kernel == "maps":
        return np.concatenate(reduce(pair, axis, compose))
    if kernel == "running_sums":
        return scan((x,), axis, add, reverse)[0]
    if kernel == "running_maps":
        return np.stack(scan(pair, axis, compose, reverse))
    total = x.dtype.type(0)
    for k in range(3):
        total += reduce(reduce(((x * x.dtype.type(k + 1)).T,), axis, add), 0, add)[0]
    return total.reshape(1)


def judge(tilec, kernel, shape, dtype, axis, reverse):
    """What is wrong, as lines."""
    rng = np.random.default_rng(sum(shape) + axis)
    # Of all magnitudes, so that the order shows; for products near 1.
    x = rng.standard_normal(shape) * 10.0 ** rng.integers(-3, 4, shape) if "sums" in kernel else 1 + 0.3 * rng.standard_normal(shape)
    x = x.astype(TYPES[dtype])
    want = np.ascontiguousarray(expected(kernel, x, axis, reverse))
    name = f"{kernel} {dtype} {shape[0]}x{shape[1]} axis {axis}{' reverse' if reverse else ''}"
    lines = []
    with tempfile.TemporaryDirectory(prefix="tilec-order-") as folder:
        given, found = os.path.join(folder, "x.npy"), os.path.join(folder, "y.npy")
        np.save(given, x)
        command = [tilec, "run", SOURCE, "-k", kernel, "--grid", "(1,)", "-a", f"x_ptr=@{given}", "-a", f"y_ptr=zeros:{dtype}[{want.size}]",
                   "-D", f"M={shape[0]}", "-D", f"N={shape[1]}", "-D", f"AXIS={axis}", "--out", f"y_ptr={found}", "--deterministic", "--cache-dir", "none"]
        command += ["-D", f"REVERSE={reverse}"] if kernel.startswith("running") else []
        for way in (["--device", "cpu"], *(["--device", "sim", *flags(c)] for c in CONFIGURATIONS)):
            done = subprocess.run(command + way, capture_output=True, text=True)
            if done.returncode:
                lines.append(f"{name}: {' '.join(way)}: {done.stderr.strip()[:400]}")
                continue
            got = np.load(found).reshape(want.shape)
            if not same_bits(got, want):
                at = tuple(int(i) for i in np.argwhere(got != want)[0])
                lines.append(f"{name}: {' '.join(way)}: {got[at]!r} at {at}, wanted {want[at]!r}")
    return lines


def all_cases():
    for kernel, shape, axis in itertools.product(("sums", "all_sums", "maps", "running_sums", "running_maps"), SHAPES, (0, 1)):
        reverse = kernel.startswith("running") and (shape[0] + axis) % 3 == 0
        yield kernel, shape, "fp64" if shape == (64, 64) else "fp32", axis, reverse


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tilec", required=True)
    parser.add_argument("--jobs", "-j", type=int, default=os.cpu_count())
    options = parser.parse_args()
    np.seterr(all="ignore")
    failed = count = 0
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        for lines in pool.map(lambda case: judge(options.tilec, *case), all_cases()):
            count += 1
            failed += bool(lines)
            for line in lines:
                print(f"FAILED {line}", flush=True)
    print(f"order: {count - failed} in the order stated in {len(CONFIGURATIONS) + 1} ways each, {failed} not")
    return 1 if failed or not count else 0


if __name__ == "__main__":
    sys.exit(main())
