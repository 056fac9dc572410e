#!/usr/bin/env python3
"""Programs that load what they stored, or store where they loaded, against NumPy.

    memory_order.py --tilec build/release/src/cli/tilec [--filter TEXT] [--device cuda]

A program sees its own stores in the order of the source. Each kernel runs on the interpreter, as written and after all passes,
and compiled for sm_80 and sm_90a on the simulator: with several numbers of warps, in schedules in which different warps are ahead; or instead of the simulator on a GPU."""
import argparse
import os
import sys
import tempfile

import numpy as np

from cases import Case, array
from check import check
from simulate import compile_case, first_difference, simulate

FILE = os.path.join("..", "tests", "e2e", "kernels", "Inputs", "memory_order.tile")
TARGETS = ("sm_80", "sm_90a")
RUNS = [["--schedule", "round-robin"], ["--schedule", "adversarial"], ["--schedule", "random", "--seed", "1"]]


def small(rng, shape, dtype="fp16"):
    """Numbers whose sums and products stay exact."""
    return array(rng.integers(-4, 5, shape), dtype, True)


def make(kernel, args, defines, reference, grid=(1,), warps=(1, 2, 4, 8), name=""):
    """`reference`: from the arrays' values, which it may change, to what they are afterwards."""

    def expected(inputs):
        values = {n: v.copy() for n, v in inputs.items() if isinstance(v, np.ndarray)}
        reference(*values.values())
        return values

    case = Case(f"{kernel}{name and '-'}{name}", FILE, kernel, args, defines, grid, expected,
                tolerance={n: (0, 0) for n in args})
    return case, warps


def delayed_cases(rng):
    """Loads at places that all programs share, and stores at a program's own: of one array, and of two."""
    block = 4096
    for shift in (1024, 4096):
        def once(x, shift=shift):
            x[shift:shift + block] = 2 * x[:block]
        yield make("shift", {"x": small(rng, 4 * block)}, {"SHIFT": shift, "BLOCK": block}, once, name=str(shift))

    def twice(x, y, shift=1024):
        v = y[:block].copy()
        y[shift:shift + block] = 2 * x[:block]
        y[2 * shift:2 * shift + block] = 2 * v
    yield make("shift_twice", {"x": small(rng, block), "y": small(rng, 4 * block)}, {"SHIFT": 1024, "BLOCK": block}, twice)


def numbers(rng, shape, dtype="i32", low=-4, high=5):
    return array(rng.integers(low, high, shape), dtype, True)


def one_by_one(rng):
    """Stored in one layout and loaded in another; scalars, which one thread stores and all load."""
    for m in (32, 64, 128):
        def sums(a, tmp, o):
            tmp[:] = o[:] = a.sum(1)
        yield make("row_sums", {"a": small(rng, (m, 64), "fp32"), "tmp": small(rng, m, "fp32"), "o": small(rng, m, "fp32")},
                   {"M": m, "N": 64}, sums, name=str(m))

    def between(x, s, n=256):
        s[0] = x.sum()
        x[:] = s[0] + np.arange(n)
        s[1] = x[-1]
        x[-1] = s[1] + s[0]
    yield make("scalar_between", {"x": numbers(rng, 256), "s": numbers(rng, 2)}, {"N": 256}, between)

    def swap(x, n=512, offset=512):
        a, b = x[:n].copy(), x[offset:offset + n][::-1].copy()
        x[:n], x[offset:offset + n] = b, a
        x[:n] = (x[offset:offset + n] + x[:n])[::-1]
    yield make("exchange", {"x": numbers(rng, 1024), "offset": 512}, {"N": 512}, swap)

    def both(x):
        x[:] = 2 * x
    yield make("twice_stored", {"x": numbers(rng, (64, 64))}, {"N": 64}, both)

    index = rng.integers(0, 300, 512)

    def once(x, _):
        x[index] = x[index] + 1
    yield make("gathered", {"x": numbers(rng, 300), "index": array(index, "i32", True)}, {"N": 512}, once)

    def turned(x, y):
        v = x + 1
        w = v.reshape(x.shape[1], x.shape[0]).T * 2
        y[:] = w
        x[:] = w + 1
    yield make("blocks", {"x": small(rng, (32, 64)), "y": small(rng, (32, 64))}, {"M": 32, "N": 64}, turned)


def in_place(rng):
    for rows, block, d in ((50, 32, 64), (64, 64, 128), (3, 1, 512)):
        stride = d + 16
        cos, sin = small(rng, (rows, d), "fp32"), small(rng, (rows, d), "fp32")

        def turn(q, c, s, d=d):
            x = q[:, :d].copy()
            y = np.concatenate([-x[:, d // 2:], x[:, :d // 2]], 1)
            q[:, :d] = x * c + y * s
        yield make("rotary", {"q": small(rng, (rows, stride), "fp32"), "cos": cos, "sin": sin, "rows": rows, "stride": stride},
                   {"D": d, "BLOCK": block}, turn, (-(-rows // block),), name=f"{rows}x{block}")

    def add(a, x, n=5):
        for t in range(n):
            x += a[t]
            x[:] = x.reshape(x.shape[1], x.shape[0]).T + a[t]
    yield make("accumulate", {"a": numbers(rng, (5, 32, 64)), "x": numbers(rng, (32, 64)), "n": 5}, {"M": 32, "N": 64}, add)

    def columns(x, rows=40, cols=200, block=(16, 64)):
        for i in range(0, rows, block[0]):
            part = x[i:i + block[0], :cols]
            part *= 2
            for j in range(0, cols, block[1]):
                at = np.arange(j, min(j + block[1], cols))
                part[:, at] = part[:, cols - 1 - at] + 1
    yield make("columns_in_place", {"x": numbers(rng, (40, 208)), "rows": 40, "cols": 200, "stride": 208},
               {"BLOCK_R": 16, "BLOCK_C": 64}, columns)


def through_loops(rng):
    def square(a):
        for _ in range(3):
            a[:] = (a @ a).astype(np.int64) & 3
    for m in (32, 64):
        yield make("squares", {"a": array(rng.integers(-2, 3, (m, m)), "fp16", True), "n": 3}, {"M": m}, square, name=str(m))

    def count(x, s, n=4):
        for _ in range(n):
            x += s[0]
            s += 1
    yield make("counter", {"x": numbers(rng, 512), "s": numbers(rng, 1), "n": 4}, {"N": 512}, count)

    def branch(x, flag, steps=7, n=256):
        v = x[:n]
        for t in range(steps):
            if t % 3 == 0:
                v[:] = v[::-1] + 1
            elif t % 3 == 1:
                v[:] = v[::-1] * 2
            if flag[0] + t > 1:
                v[:] = v[::-1] - t
        x[n:] = v[::-1]
    yield make("branches", {"x": numbers(rng, 512), "flag": numbers(rng, 1), "n": 7}, {"N": 256}, branch)

    def follow(x, n=6, size=128):
        for t in range(n):
            x[t + 1, :size] = x[t, :size][::-1] + 1
    yield make("recurrence", {"x": numbers(rng, (7, 144)), "n": 6, "stride": 144}, {"N": 128}, follow)

    def overlapped(x, out, hop, add):
        for t in range(len(x)):
            at = slice(t * hop, t * hop + x.shape[1])
            out[at] = x[t] + (out[at] if add else 0)
    for hop in (16, 32, 128):
        yield make("overlap_add", {"x": numbers(rng, (6, 128)), "out": numbers(rng, 6 * 128), "n": 6, "hop": hop}, {"N": 128},
                   lambda x, out, hop=hop: overlapped(x, out, hop, True), name=str(hop))
    yield make("overlap_store", {"x": numbers(rng, (6, 128)), "out": numbers(rng, 6 * 128), "n": 6}, {"N": 128, "hop": 48},
               lambda x, out: overlapped(x, out, 48, False))

    def patched(x, out, hop):
        for i, patch in enumerate(x):
            out[i * hop:i * hop + 16, :32] = patch
    for hop in (4, 16):
        yield make("patches", {"x": numbers(rng, (5, 16, 32)), "out": numbers(rng, (80, 40)), "n": 5, "stride": 40}, {"M": 16, "N": 32, "HOP": hop},
                   lambda x, out, hop=hop: patched(x, out, hop), name=str(hop))

    def moved(x, by):
        x[by:by + 16, :32] = x[:16, :32].copy()
        x[32:48, :32] = x[16:32, 31::-1]
    for by in (16, 25):
        yield make("rows_moved", {"x": numbers(rng, (48, 40)), "by": by, "stride": 40}, {"M": 16, "N": 32}, lambda x, by=by: moved(x, by), name=str(by))

    def sums(x):
        x[:] = np.cumsum(x)
    yield make("prefix", {"x": numbers(rng, 512)}, {"N": 512}, sums)
    yield make("bitonic", {"x": numbers(rng, 256, low=-1000, high=1000)}, {"N": 256}, lambda x: x.sort())


def atomic_cases(rng):
    def count(x, bins, out, size=64):
        have = np.bincount(x % size, minlength=size)
        out[:size] = have[::-1]
        order = np.arange(size)
        out[size:] = order[::-1]
        bins[:] = order + have[::-1]
    yield make("histogram", {"x": numbers(rng, 1024, low=0, high=1000), "bins": numbers(rng, 64), "out": numbers(rng, 128)},
               {"BINS": 64, "N": 1024}, count)

    def take(s, x, steps=5, n=128):
        for t in range(steps):
            x[s[0]:s[0] + n] = t + np.arange(n)
            s += 1
            x[n:2 * n] = x[:n][::-1]
    yield make("tickets", {"s": array(np.zeros(1), "i32", True), "x": numbers(rng, 300), "n": 5}, {"N": 128}, take)


def products(rng):
    """Operands that a loop may start copying ahead."""
    for m, k, n, block in ((32, 64, 96, 32), (64, 64, 128, 32), (64, 128, 128, 64)):
        def chain(a, b, c, tmp, out):
            tmp[:] = a @ b
            out[:] = tmp @ c
        yield make("chained", {"a": signs(rng, (m, n)), "b": signs(rng, (n, k)), "c": signs(rng, (k, k)), "tmp": signs(rng, (m, k)),
                               "out": signs(rng, (m, k)), "n": n, "stride": n}, {"M": m, "K": k, "BLOCK": block}, chain,
                   warps=(2, 4, 8), name=f"{m}x{k}x{n}")

        def multiply(x, w):
            x[:] = x @ w
        yield make("product_in_place", {"x": signs(rng, (m, k)), "w": signs(rng, (k, k)), "stride": k},
                   {"M": m, "K": k, "BLOCK": block}, multiply, warps=(2, 4, 8), name=f"{m}x{k}")

        def turns(x, w, tmp, m=m):
            for t in range(3):
                tmp[:] = (x[t * m:(t + 1) * m] @ w).astype(np.int64) & 3
                x[(t + 1) * m:(t + 2) * m] = tmp
                x[t * m:(t + 1) * m] = tmp[:, ::-1]
        yield make("tiles_in_turn", {"x": signs(rng, (4 * m, k)), "w": signs(rng, (k, k)), "tmp": signs(rng, (m, k)), "n": 3, "stride": k},
                   {"M": m, "K": k, "BLOCK": block}, turns, warps=(2, 4, 8), name=f"{m}x{k}")


def signs(rng, shape):
    return array(rng.integers(-1, 2, shape), "fp16", True)


def all_cases():
    rng = np.random.default_rng(1)
    for part in (delayed_cases, one_by_one, in_place, through_loops, atomic_cases, products):
        yield from part(rng)


def on_interpreter(options, case):
    """Messages, and how many runs there were."""
    runs = [["--check-passes"], ["--final-ir", "--target", "sm_80"], ["--final-ir", "--target", "sm_90a"]]
    wrong = [(run, check(options.tilec, case, "cpu", run)[0]) for run in runs]
    return [f"{case.name} {' '.join(run)}: {message}" for run, message in wrong if message], len(runs)


def on_simulator(options, case, target, warps):
    program = compile_case(options.tilec, case, target, ["--num-warps", str(warps)])
    messages = []
    with tempfile.TemporaryDirectory(prefix="tilec-order-") as folder:
        for number, schedule in enumerate(RUNS):
            outcome = simulate(options.tilec, program, case, folder, schedule, f"run{number}")
            wrong = outcome.findings[0]["message"] if outcome.status else first_difference(case, outcome)
            if wrong:
                messages.append(f"{case.name} for {target}, {warps} warps, {' '.join(schedule)}: {wrong}")
    return messages, len(RUNS)


def on_gpu(options, case, warps):
    message = check(options.tilec, case, "cuda", ["--num-warps", str(warps)])[0]
    return [f"{case.name} on the GPU, {warps} warps: {message}"] if message else [], 1


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tilec", required=True)
    parser.add_argument("--filter", default="")
    parser.add_argument("--device", choices=("sim", "cuda"), default="sim", help="beside the interpreter")
    options = parser.parse_args()
    failures = count = 0
    for case, all_warps in all_cases():
        if options.filter not in case.name:
            continue
        outcomes = [on_interpreter(options, case)]
        if options.device == "cuda":
            outcomes += [on_gpu(options, case, warps) for warps in all_warps]
        else:
            outcomes += [on_simulator(options, case, target, warps) for target in TARGETS for warps in all_warps]
        for messages, runs in outcomes:
            count += runs
            failures += len(messages)
            for message in messages:
                print(message, flush=True)
    print(f"{count} runs, {failures} failed")
    return 1 if failures or not count else 0


if __name__ == "__main__":
    sys.exit(main())
