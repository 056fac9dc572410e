#!/usr/bin/env python3
"""Tiles that pass through shared memory where they do not fit it: on the simulator, with less of it than they take, against NumPy.

    exchanges.py --tilec build/release/src/cli/tilec [--target sm_80] [--filter TEXT] [--seed N] [--count N]

Kernels change the order of dimensions, reshape, reduce, scan, multiply and store by tensor copies, in types from 8 to 64 bits, ranks 1 to
4 and 1 to 8 warps. No finding, every pass keeps its contract, and results that are those of NumPy. Where a thread holds the same bits of
the index on both sides no more shared-memory wavefronts than the words need. With --seed, other random kernels than those of the test."""
import argparse
import json
import os
import random
import subprocess
import sys
import tempfile
from dataclasses import dataclass, field

import numpy as np

NUMPY = {"i8": np.int8, "i16": np.int16, "i32": np.int32, "i64": np.int64, "fp16": np.float16, "fp32": np.float32, "fp64": np.float64}
HEAD = """import triton
import triton.language as tl


@triton.jit
def larger(a, b):
    return tl.maximum(a, b)


@triton.jit
def affine(a, b, c, d):  # does not commute
    return a * c, b * c + d


@triton.jit
def kernel({parameters}):
"""


@dataclass
class Case:
    name: str
    lines: list  # of the kernel's body; `o` is what it stores to
    inputs: dict
    expected: np.ndarray
    warps: int
    limit: int  # bytes of shared memory
    splits: bool = False  # surely
    is_free_of_conflicts: bool = False
    options: list = field(default_factory=list)


def row_major(shape):
    return [int(np.prod(shape[d + 1:])) for d in range(len(shape))]


def index(shape):
    """The elements of a tile of this shape, row by row."""
    def dim(d):
        at = "" if len(shape) == 1 else "[" + ", ".join(":" if e == d else "None" for e in range(len(shape))) + "]"
        return f"tl.arange(0, {shape[d]}){at} * {row_major(shape)[d]}"
    return " + ".join(dim(d) for d in range(len(shape)))


def numbers(count, dtype, most=100):
    return (np.arange(count, dtype=np.int64) * 37 % 101 % most).astype(NUMPY[dtype])


def split_bits(rng, bits, rank):
    cuts = [0] + sorted(rng.randint(0, bits) for _ in range(rank - 1)) + [bits]
    return [1 << (b - a) for a, b in zip(cuts, cuts[1:])]


def shuffled(rng, rank):
    order = list(range(rank))
    rng.shuffle(order)
    return order


def composed(x, axis, back):
    """What `affine` makes of pairs of elements twice, the second of each pair."""
    flipped = np.flip(x, axis) if back else x
    found, sums = np.zeros_like(flipped), None
    for step in range(flipped.shape[axis]):
        at = tuple(step if d == axis else slice(None) for d in range(flipped.ndim))
        with np.errstate(over="ignore"):  # as in the kernel
            sums = flipped[at] if sums is None else sums * flipped[at] + flipped[at]
        found[at] = sums
    return np.flip(found, axis) if back else found


def change(rng, kind, x):
    """Lines that make `y` of the tile `x`, and what it is."""
    order = shuffled(rng, x.ndim)
    turned, line = x.transpose(order), f"y = tl.permute(x, {order})"
    axis = rng.randrange(x.ndim)
    if kind == "reshape":
        shape = split_bits(rng, x.size.bit_length() - 1, x.ndim)
        order = shuffled(rng, len(shape))
        return [f"y = tl.permute(tl.reshape(x, {shape}), {order})"], x.reshape(shape).transpose(order)
    if kind == "reduce":
        return [line, f"y = tl.max(y, {axis})"], turned.max(axis)
    if kind == "scan":
        back = rng.random() < 0.5
        flipped = np.flip(turned, axis) if back else turned
        found = np.maximum.accumulate(flipped, axis)
        return [line, f"y = tl.associative_scan(y, {axis}, larger, reverse={back})"], np.flip(found, axis) if back else found
    if kind == "compose":
        back = rng.random() < 0.5
        return [line, f"m, y = tl.associative_scan((y, y), {axis}, affine, reverse={back})"], composed(turned, axis, back)
    return [line], turned


def random_case(seed):
    rng = random.Random(seed)
    kind = rng.choice(("permute", "permute", "reshape", "reduce", "scan", "scan", "compose"))
    dtype, rank, bits, warps = rng.choice(list(NUMPY)), rng.randint(1, 4), rng.randint(9, 13), rng.choice((1, 2, 4, 8))
    dtype = rng.choice(("i32", "i64")) if kind == "compose" else dtype
    shape = split_bits(rng, bits, rank)
    x = numbers(1 << bits, dtype).reshape(shape)
    lines, expected = change(rng, kind, x)
    # What warps exchange of a scan, an eighth of each operand at most, is not taken apart.
    limit = max(512, x.nbytes >> rng.randint(1, {"compose": 2, "scan": 3}.get(kind, 4)))
    lines = [f"x = tl.load(a + {index(shape)})"] + lines
    lines += [f"tl.store(o + {index(expected.shape)}, y)" if expected.ndim else "tl.store(o, y)"]
    return Case(f"{kind}-{dtype}-{'x'.join(map(str, shape))}-{warps}-{limit}-{seed}", lines, {"a": x}, expected, warps, limit)


def transposition(dtype, rows, columns, warps, parts):
    x = numbers(rows * columns, dtype).reshape(rows, columns)
    return Case(f"transpose-{dtype}-{rows}x{columns}-{warps}-{parts}",
                [f"x = tl.load(a + {index((rows, columns))})", f"tl.store(o + {index((columns, rows))}, tl.trans(x))"], {"a": x}, x.T, warps,
                x.nbytes // parts, splits=True, is_free_of_conflicts=True)


def prefix(dtype, count, warps, limit, back=False):
    x = numbers(count, dtype, 3)
    turn = np.flip if back else np.asarray
    return Case(f"prefix-{dtype}-{count}-{warps}-{limit}{'-back' * back}",
                [f"x = tl.load(a + {index((count,))})", f"tl.store(o + {index((count,))}, tl.cumsum(x, 0, reverse={back}))"], {"a": x},
                turn(np.cumsum(turn(x), dtype=x.dtype)), warps, limit)


def past_lanes(back):
    """A scan along an axis between whose lanes are some of another."""
    x = numbers(512, "i32")
    expected = composed(x.reshape(8, 4, 16).transpose(0, 2, 1).reshape(128, 4), 0, back)
    return Case(f"past-lanes{'-back' * back}",
                [f"x = tl.load(a + {index((512,))})", "y = tl.reshape(tl.permute(tl.reshape(x, [8, 4, 16]), [0, 2, 1]), [128, 4])",
                 f"m, y = tl.associative_scan((y, y), 0, affine, reverse={back})", f"tl.store(o + {index((128, 4))}, y)"],
                {"a": x}, expected, 1, 2048)


def product(dtype, sums, m, n, k, warps, limit, by_copy=False):
    rng = np.random.default_rng(m + n + k)
    a, b = (rng.integers(-3, 4, shape).astype(NUMPY[dtype]) for shape in ((m, k), (k, n)))
    expected = (a.astype(np.float64) @ b.astype(np.float64)).astype(NUMPY[sums])
    lines = [f"x = tl.load(a + {index((m, k))})", f"y = tl.load(b + {index((k, n))})", f"c = tl.dot(x, y, out_dtype=tl.{'int32' if sums == 'i32' else 'float' + sums[2:]})"]
    if by_copy:
        lines += [f"d = tl.make_tensor_descriptor(o, [{m}, {n}], [{n}, 1], [{m}, {n}])", "d.store([0, 0], c)"]
    else:
        lines += [f"tl.store(o + {index((m, n))}, c)"]
    return Case(f"product-{dtype}-{sums}-{m}x{n}x{k}-{warps}-{limit}{'-copy' * by_copy}", lines, {"a": a, "b": b}, expected, warps, limit)


def batched(dtype, batches, m, n, k, warps, limit):
    rng = np.random.default_rng(batches + k)
    a, b = (rng.integers(-3, 4, shape).astype(NUMPY[dtype]) for shape in ((batches, m, k), (batches, k, n)))
    lines = [f"x = tl.load(a + {index(a.shape)})", f"y = tl.load(b + {index(b.shape)})", f"c = tl.dot(x, y, out_dtype=tl.float{dtype[2:]})",
             f"tl.store(o + {index((batches, m, n))}, c)"]
    return Case(f"batched-{dtype}-{batches}x{m}x{n}x{k}-{warps}-{limit}", lines, {"a": a, "b": b}, a @ b, warps, limit)


def fixed_cases():
    for dtype in ("i8", "fp16", "fp32", "fp64"):
        for warps in (2, 4, 8):
            yield transposition(dtype, 64, 128, warps, 4)
    yield transposition("i32", 512, 32, 4, 16)
    for warps in (1, 2, 4, 8):  # one element a warp
        yield prefix("i32", 8192, warps, 512, back=warps == 4)
        yield prefix("i64", 2048, warps, 512, back=warps == 8)
        yield prefix("fp64", 512, warps, 512)
    for back in (False, True):
        yield past_lanes(back)
    yield product("fp16", "fp32", 64, 64, 64, 4, 8192)
    yield product("fp16", "fp32", 128, 64, 128, 4, 20480)
    yield product("fp64", "fp64", 32, 32, 64, 4, 12288)
    yield product("i8", "i32", 64, 64, 128, 2, 8192)
    yield product("fp32", "fp32", 32, 64, 64, 8, 8192)
    yield product("fp16", "fp32", 256, 256, 256, 8, 1 << 18)  # more than any target has: its own limit holds
    for warps in (4, 16):
        yield batched("fp64", 8, 32, 32, 64, warps, 1 << 18)
    yield batched("fp64", 4, 16, 32, 32, 4, 20000)
    for warps in (4, 8):
        yield product("fp16", "fp32", 128, 128, 32, warps, 33000, by_copy=True)
        yield product("fp16", "fp16", 128, 64, 32, warps, 14000, by_copy=True)


def conflicts(report):
    counts = report.get("counts") or {}
    many, least = counts.get("wavefronts", 0), counts.get("ideal_wavefronts", 0)
    return f"{many} wavefronts of shared memory, {least} would do" if many > least else None


def check(options, case, folder):
    """What is wrong with the case; None: nothing."""
    for name, values in case.inputs.items():
        np.save(os.path.join(folder, f"{name}.npy"), values)
    kernel, result, dumps = (os.path.join(folder, name) for name in ("kernel.py", "o.npy", "dumps"))
    with open(kernel, "w") as text:
        text.write(HEAD.format(parameters=", ".join([*case.inputs, "o"])) + "".join(f"    {line}\n" for line in case.lines))
    dtype = next(name for name, kind in NUMPY.items() if kind == case.expected.dtype)
    command = [options.tilec, "run", kernel, "-k", "kernel", "--grid", "(1,)", "--device", "sim", "--target", options.target, "--num-warps",
               str(case.warps), "--max-shared", str(case.limit), "--check-passes", "--cache-dir", "none", "--ptxas", "none", "--dump-dir", dumps,
               "--json", "-a", f"o=zeros:{dtype}[{case.expected.size}]", "--out", f"o={result}"] + case.options
    for name in case.inputs:
        command += ["-a", f"{name}={os.path.join(folder, name)}.npy"]
    process = subprocess.run(command, capture_output=True, text=True)
    if process.returncode:
        return f"exit status {process.returncode}\n{process.stdout[-800:]}{process.stderr[-2000:]}"
    found = np.load(result).reshape(case.expected.shape)
    if not np.array_equal(found, case.expected):
        return f"{int((found != case.expected).sum())} of {found.size} elements differ"
    if case.splits and not any("split-exchanges" in name for name in os.listdir(dumps)):
        return "no exchange was in parts"
    return conflicts(json.loads(process.stdout)) if case.is_free_of_conflicts else None


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tilec", required=True)
    parser.add_argument("--target", default="sm_90a")
    parser.add_argument("--filter", default="")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--count", type=int, default=60)
    options = parser.parse_args()
    cases = [*fixed_cases(), *(random_case(options.seed + number) for number in range(options.count))]
    chosen = [case for case in cases if options.filter in case.name]
    failures = 0
    for case in chosen:
        with tempfile.TemporaryDirectory(prefix="tilec-exchanges-") as folder:
            wrong = check(options, case, folder)
        if wrong:
            failures += 1
            print(f"{case.name}: {wrong}", flush=True)
    print(f"{len(chosen)} cases on {options.target}, {failures} failed")
    return 1 if failures or not chosen else 0


if __name__ == "__main__":
    sys.exit(main())
