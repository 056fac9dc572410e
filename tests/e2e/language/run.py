#!/usr/bin/env python3
"""Constructs of the language against NumPy, on the interpreter, the simulator or a GPU.

    run.py --tilec build/release/src/cli/tilec [--device cpu|sim|cuda] [--filter TEXT]

Without --device: the interpreter, and the simulator for two targets."""
import argparse
import concurrent.futures
import functools
import os
import subprocess
import sys
import tempfile

import numpy as np

import algorithm_cases

HERE = os.path.dirname(os.path.abspath(__file__))
KERNELS, ALGORITHMS = os.path.join(HERE, "kernels.py"), os.path.join(HERE, "algorithms.py")
DEVICES = [("cpu", "sm_90a"), ("sim", "sm_80"), ("sim", "sm_90a")]


def run(tilec, device, kernel, arrays, defines, outputs, file=KERNELS):
    """What a launch of one program leaves in `outputs`, or its message. Arrays may be numbers."""
    with tempfile.TemporaryDirectory() as folder:
        command = [tilec, "run", file, "-k", kernel, "--grid", "(1,)", "--cache-dir", "none"]
        command += [] if device[0] == "cuda" else ["--device", device[0], "--target", device[1]]
        for name, array in arrays.items():
            if isinstance(array, int):
                command += ["-a", f"{name}={array}"]
                continue
            path = os.path.join(folder, name + ".npy")
            np.save(path, array)
            command += ["-a", f"{name}={path}"]
        for name, value in defines.items():
            command += ["-D", f"{name}={value}"]
        for name in outputs:
            command += ["--out", f"{name}={os.path.join(folder, 'got_' + name + '.npy')}"]
        done = subprocess.run(command, capture_output=True, text=True)
        return done.stderr[-2000:] if done.returncode else [np.load(os.path.join(folder, f"got_{name}.npy")) for name in outputs]


def values(dtype, shape, numbers):
    """With equal ones, and of floats infinities, zeros of both signs and NaN."""
    if np.issubdtype(dtype, np.integer):
        info = np.iinfo(dtype)
        return np.where(numbers.random(shape) < 0.3, numbers.integers(0, 4, shape), numbers.integers(info.min, info.max, shape, endpoint=True)).astype(dtype)
    x = numbers.standard_normal(shape).astype(dtype)
    special = np.array([np.inf, -np.inf, 0.0, -0.0, np.nan, 1.0], dtype)
    return np.where(numbers.random(shape) < 0.2, numbers.choice(special, shape), x)


def orders(numbers):
    for dtype in (np.float32, np.float16, np.int32, np.uint8, np.int64, np.float64):
        for m, n in ((4, 64), (1, 1024), (32, 2), (8, 1)):
            x = values(dtype, (m, n), numbers)
            for descending in (False, True):
                wanted = np.sort(x, axis=1)[:, ::-1] if descending else np.sort(x, axis=1)
                yield "sorted_rows", dict(x_ptr=x, out_ptr=np.zeros_like(x)), dict(M=m, N=n, DESCENDING=descending), dict(out_ptr=wanted)
        for m, n, k in ((4, 64, 8), (2, 256, 1), (1, 32, 32), (16, 16, 2)):
            x = values(dtype, (m, n), numbers)
            for descending in (True, False):
                wanted = np.sort(x, axis=1)[:, ::-1 if descending else 1][:, :k]
                yield ("best_of_rows", dict(x_ptr=x, out_ptr=np.zeros((m, k), dtype)), dict(M=m, N=n, K=k, DESCENDING=descending),
                       dict(out_ptr=wanted))
    x = np.concatenate([np.sort(numbers.standard_normal(64)), np.sort(numbers.standard_normal(64))[::-1]]).astype(np.float32)
    yield "merged", dict(x_ptr=x, out_ptr=np.zeros_like(x)), dict(N=128), dict(out_ptr=np.sort(x))
    x = numbers.integers(-40, 40, 256).astype(np.int32)
    yield ("ranked", dict(x_ptr=x, keys_ptr=np.zeros_like(x), places_ptr=np.zeros(256, np.int64)), dict(LOG_N=8),
           dict(keys_ptr=np.sort(x), places_ptr=np.argsort(x, kind="stable")))
    for dtype in (np.float32, np.int8, np.float64):
        x = values(dtype, (8, 32), numbers)
        for dim, axis in ((0, 0), (1, 1), (-1, 1), (None, 1)):
            yield "flipped", dict(x_ptr=x, out_ptr=np.zeros_like(x)), dict(M=8, N=32, DIM=dim), dict(out_ptr=np.flip(x, axis))


def choices(numbers):
    for dtype in (np.float32, np.int8, np.float64):
        for m, n, r, c, axis in ((16, 64, 16, 32, 1), (32, 8, 4, 8, 0), (64, 64, 64, 64, 1), (64, 64, 64, 64, 0)):
            x = values(dtype, (m, n), numbers)
            index = numbers.integers(0, (m, n)[axis], (r, c)).astype(np.int32)
            yield ("gathered", dict(x_ptr=x, index_ptr=index, out_ptr=np.zeros((r, c), dtype)), dict(M=m, N=n, R=r, C=c, AXIS=axis),
                   dict(out_ptr=np.take_along_axis(x, index, axis)))
    x, index = values(np.float16, 128, numbers), numbers.integers(0, 128, 512).astype(np.int64)
    yield "gathered_line", dict(x_ptr=x, index_ptr=index, out_ptr=np.zeros(512, np.float16)), dict(N=128, R=512), dict(out_ptr=x[index])
    for n, bins in ((512, 16), (2048, 256), (4, 8)):
        x = numbers.integers(-2, bins + 3, n).astype(np.int32)
        inside = x[(x >= 0) & (x < bins)]
        yield ("counted", dict(x_ptr=x, all_ptr=np.zeros(bins, np.int32), some_ptr=np.zeros(bins, np.int32)), dict(N=n, BINS=bins),
               dict(all_ptr=np.bincount(inside, minlength=bins), some_ptr=np.bincount(inside[inside % 3 == 0], minlength=bins)))


def bytes_counted(numbers):
    x = numbers.integers(0, 256, 1024).astype(np.uint8)
    yield ("counted", dict(x_ptr=x, all_ptr=np.zeros(256, np.int32), some_ptr=np.zeros(256, np.int32)), dict(N=1024, BINS=256),
           dict(all_ptr=np.bincount(x, minlength=256), some_ptr=np.bincount(x[x % 3 == 0], minlength=256)))


def integers_by_python(x, y):
    """What the kernel `integers` computes of one pair."""
    mask = 0xFFFFFFFF
    a = (x * y >> 32) & mask
    a = (x * y + a) & mask
    a ^= y & mask
    a = (a - (x >> 5)) & mask
    a = max(a, min(x, y) & mask)
    both = (y & mask) << 32 | a
    a = sum((both >> 8 * (0x2160 >> 4 * i & 7) & 0xFF) << 8 * i for i in range(4))
    a = a ^ bin(a).count("1") ^ (x & mask)
    b = (a * 77 >> 9) & mask
    result = a if a <= b else b
    return result - (1 << 32) if result >> 31 else result


def pieces(numbers, device):
    n = 256
    x, y = (values(np.int32, n, numbers) for _ in range(2))
    wide = (y.astype(np.int64) << 32) | x.astype(np.uint32)
    by = 7
    yield "funnel_shift", dict(x_ptr=x, y_ptr=y, out_ptr=np.zeros_like(x)), dict(BY=by, N=n), dict(out_ptr=(wide >> (32 - by)).astype(np.int32))
    small = values(np.int8, n, numbers)
    yield "masked_bytes", dict(x_ptr=small, out_ptr=np.zeros_like(small)), dict(N=n), dict(out_ptr=((small.view(np.uint8) & 0x1F) << 3).view(np.int8))
    # One element for a thread, where registers of a piece are not filled.
    few = values(np.int8, 2, numbers)
    yield "masked_bytes", dict(x_ptr=few, out_ptr=np.zeros_like(few)), dict(N=2), dict(out_ptr=((few.view(np.uint8) & 0x1F) << 3).view(np.int8))
    unsigned, f = values(np.uint8, n, numbers), (numbers.standard_normal(n) * 50).astype(np.float32)
    yield ("two_results", dict(x_ptr=unsigned, y_ptr=f, whole_ptr=np.zeros(n, np.int32), most_ptr=np.zeros(n, np.float32)), dict(N=n),
           dict(whole_ptr=unsigned.astype(np.int32), most_ptr=np.maximum(unsigned.astype(np.float32), f)))
    exact = np.where(f > 20, f, np.log1p(np.exp(np.minimum(f, 20).astype(np.float64))))
    yield "softplus", dict(x_ptr=f, out_ptr=np.zeros_like(f)), dict(N=n), dict(out_ptr=exact)
    python = np.array([integers_by_python(int(a), int(b)) for a, b in zip(x, y)])
    yield "integers", dict(x_ptr=x, y_ptr=y, out_ptr=np.zeros_like(x)), dict(N=n), dict(out_ptr=python.astype(np.int32))
    if device[0] != "cpu":
        yield "bytes_in_memory", dict(x_ptr=unsigned, out_ptr=np.zeros_like(unsigned)), dict(N=n), dict(out_ptr=unsigned << 3)
    yield "registers", dict(out_ptr=np.zeros(2, np.int32)), {}, dict(out_ptr=np.ones(2, np.int32))


def others(numbers):
    x, y = (numbers.integers(0, 3, 64).astype(np.int32) for _ in range(2))
    wanted = ((x != 0) & (y != 0)).astype(np.int32) + 2 * ((x > 1) | (y > 1)).astype(np.int32)
    words = numbers.standard_normal(16).astype(np.float32)
    doubled = np.where(np.arange(16) < 15, words * 2, words)
    yield ("atomic_words", dict(flag_ptr=np.zeros(1, np.int32), x_ptr=words, out_ptr=np.zeros_like(words)), dict(N=16),
           dict(flag_ptr=np.array([10], np.int32), out_ptr=doubled))
    yield "questions", dict(x_ptr=words, out_ptr=np.zeros_like(words)), dict(one=1, N=16), dict(out_ptr=words)
    hashed = (np.arange(8, dtype=np.int32)[:, None] * np.int32(1975308624) + np.arange(512, dtype=np.int32)).astype(np.int32)
    quotient = np.trunc(hashed / 16).astype(np.int32)
    yield ("wrapped_numbers", dict(out_ptr=np.zeros((8, 512), np.int32), left_ptr=np.full((8, 512), 5, np.int32)), dict(M=8, N=512),
           dict(out_ptr=quotient + (np.arange(512).astype(np.int8) < 0), left_ptr=np.where(quotient % 2 == 0, hashed, 5)))
    yield "logical", dict(x_ptr=x, y_ptr=y, out_ptr=np.zeros_like(x)), dict(N=64), dict(out_ptr=wanted)


def elements(numbers):
    """Functions of single elements: branches, loops, packs, assertions."""
    x, y = (numbers.integers(-3, 4, n).astype(np.int32) for n in (8, 64))
    yield ("ordered", dict(x_ptr=x, y_ptr=y, out_ptr=np.zeros((8, 64), np.int32)), dict(M=8, N=64),
           dict(out_ptr=np.sign(x[:, None] - y[None, :])))
    x, steps, most = np.arange(1, 129, dtype=np.int32), [], []
    for n in x.tolist():
        path = [n]
        while path[-1] != 1:
            path.append(path[-1] // 2 if path[-1] % 2 == 0 else 3 * path[-1] + 1)
        steps.append(len(path) - 1)
        most.append(max(path))
    yield ("collatz_steps", dict(x_ptr=x, steps_ptr=np.zeros_like(x), most_ptr=np.zeros(128, np.float32)), dict(N=128),
           dict(steps_ptr=np.array(steps, np.int32), most_ptr=np.array(most, np.float32)))
    x, y = numbers.integers(0, 2**32, (16, 32), dtype=np.uint32), numbers.integers(1, 2**20, (16, 32), dtype=np.uint32)
    yield ("packed", dict(x_ptr=x, y_ptr=y, quotient_ptr=np.zeros_like(x), rest_ptr=np.zeros_like(x)), dict(M=16, N=32),
           dict(quotient_ptr=x // y, rest_ptr=(x % y).reshape(-1, 4)[:, ::-1].reshape(16, 32)))
    for m, n in ((4, 64), (1, 1024), (64, 2)):
        x = numbers.integers(-1000, 1000, (m, n)).astype(np.int32)
        yield ("checked_sums", dict(x_ptr=x, sums_ptr=np.zeros(m, np.int32), scan_ptr=np.zeros_like(x)), dict(M=m, N=n),
               dict(sums_ptr=x.sum(1).astype(np.int32), scan_ptr=x.cumsum(0).astype(np.int32)))
    x = np.full(64, 0x9E3779B9, np.uint32)
    mixed = x.tolist()
    while len(mixed) > 1:
        mixed = [a * b & 0xFFFFFFFF ^ a * b >> 32 for a, b in zip(mixed[::2], mixed[1::2])]
    yield "mixed_all", dict(x_ptr=x, out_ptr=np.zeros(1, np.uint32)), dict(N=64), dict(out_ptr=np.array(mixed, np.uint32))


def shapes(numbers):
    for dtype in (np.float32, np.int8, np.float16):
        for dim, axis in ((0, 0), (1, 1), (2, 2), (-1, 2)):
            x, y = (values(dtype, (2, 8, 16), numbers) for _ in range(2))
            both = np.concatenate([x, y], axis)
            yield ("joined_along", dict(x_ptr=x, y_ptr=y, out_ptr=np.zeros_like(both)), dict(M=2, N=8, K=16, DIM=dim, CAN_REORDER=axis == 0),
                   dict(out_ptr=both))
    x = numbers.permutation(512).astype(np.int32)
    turned = x.reshape(2, 2, 2, 2, 2, 2, 2, 1, 2, 2).transpose(9, 0, 1, 8, 2, 3, 7, 4, 6, 5).reshape(512)
    yield "many_dimensions", dict(x_ptr=x, out_ptr=np.zeros_like(x)), dict(N=512), dict(out_ptr=turned)
    x = numbers.integers(0, 100, 64).astype(np.int32)
    for n in (3, -3):
        yield "one_path", dict(x_ptr=x, n_ptr=np.array([n], np.int32), out_ptr=np.zeros_like(x)), dict(N=64), dict(out_ptr=3 * x + 1 if n > 0 else np.full_like(x, 7))
    for lo, hi in ((2, 12), (5, 5), (7, 3), (-4, 9), (0, 1)):
        yield "indices_behind", dict(bounds_ptr=np.array([lo, hi], np.int32), out_ptr=np.full(16, -1, np.int32)), {}, dict(out_ptr=behind(lo, hi))
    for lo, hi in ((2, 7), (4, 4)):
        wanted = np.full(16, -1, np.int32)
        wanted[0], wanted[1], wanted[15] = (hi - 1) * 100 + 12 if hi > lo else 0, 3, 3
        yield "indices_carried", dict(bounds_ptr=np.array([lo, hi], np.int32), out_ptr=np.full(16, -1, np.int32)), {}, dict(out_ptr=wanted)
    wanted = np.array([1, 2, 3, 4, 5, -1, -1, -1, 1, 2, 3, -1, 1, 1, 1, -1], np.int32)
    yield "indices_of_types", dict(bounds_ptr=np.array([5, 3], np.int32), out_ptr=np.full(16, -1, np.int32)), {}, dict(out_ptr=wanted)
    a, b = numbers.integers(-8, 8, (2, 16, 16)).astype(np.float32)
    yield "old_spellings", dict(a_ptr=a, b_ptr=b, out_ptr=np.ones((16, 16), np.float32)), dict(N=16), dict(out_ptr=a @ b.T + 2 * (a.T @ b.T))
    a = numbers.standard_normal((32, 32)).astype(np.float32)
    yield "old_descriptors", dict(a_ptr=a, out_ptr=np.zeros_like(a)), dict(N=32), dict(out_ptr=2 * a)
    signed = np.concatenate([[-1, -2, -3, -4, -5], numbers.integers(-2**31, 2**31, 59)]).astype(np.int32)
    wanted = np.stack([np.trunc(signed / 2), (signed.view(np.uint32) < 2**32 - 3) + 2 * (signed == -1)], 1).astype(np.int32)
    yield "signs_that_differ", dict(x_ptr=signed, out_ptr=np.zeros((64, 2), np.int32)), dict(N=64), dict(out_ptr=wanted)
    x = numbers.integers(-9, 9, (4, 8)).astype(np.float32)
    yield "ellipses", dict(x_ptr=x, out_ptr=np.zeros_like(x)), dict(M=4, N=8), dict(out_ptr=x + x * x)
    yield "plain_functions", dict(out_ptr=np.zeros(16, np.int32)), {}, dict(out_ptr=np.arange(16, dtype=np.int32) + 128)
    x = numbers.integers(0, 100, 64).astype(np.int32)
    for n in (0, 1, 3):
        total = (x + n + (n > 1)) * 3 + (x + n) * 2
        yield "aggregates", dict(x_ptr=x, n_ptr=np.array([n], np.int32), out_ptr=np.zeros_like(x)), dict(N=64), dict(out_ptr=2 * total + 10)
    x = numbers.integers(0, 2**32, 1024).astype(np.uint32)
    wanted = x.copy()
    for t in range(2):
        for i in range(700):
            wanted = ((wanted * np.uint32(3)) ^ (wanted >> np.uint32(7))) + np.uint32(i + t)
    yield "long_block", dict(x_ptr=x, n_ptr=np.array([2], np.int32), out_ptr=np.zeros_like(x)), dict(N=1024), dict(out_ptr=wanted)
    yield "threads_of", dict(out_ptr=np.zeros(128, np.int32)), {}, dict(out_ptr=np.ones(128, np.int32))


def behind(lo, hi):
    """What indices_behind stores, by Python itself."""
    out = np.full(16, -1, np.int32)
    t, d = 77, 5
    for t in range(lo, hi, 3):
        out[15] = t
    out[0] = t
    for d in range(hi, lo, -2):
        out[15] = d
    out[1] = d
    if hi > lo:
        for t in range(lo, hi):
            out[15] = t
        out[2], t = t, 9
    else:
        t = 10
    for d in range(d, d + 4):
        out[15] = out[3] = 1
    while d < 100:
        d += 17
    out[4], out[5] = d, t
    return out


def small_products(numbers):
    """Sides that are less than an instruction's, of small integers: exact in every type and precision."""
    types = [("float16", "float16"), ("bfloat16", "bfloat16"), ("float8e4nv", "float8e5"), ("float8e5", "float8e5"), ("int8", "int8"),
             ("float32", "float32"), ("float64", "float64")]
    for number, (a_type, b_type) in enumerate(types):
        sums = ["int32"] if a_type == "int8" else ["float32", "float16"] if a_type in ("float16", "float8e5") else ["float32"]
        precisions = ["tf32", "ieee", "tf32x3", "bf16x3", "bf16x6"] if a_type == "float32" else ["tf32"]
        for i, (b, m, n, k) in enumerate([(1, 16, 16, 1), (1, 16, 8, 2), (1, 64, 64, 4), (1, 64, 8, 8), (1, 16, 1, 16), (1, 1, 1, 1), (1, 2, 4, 32),
                                          (4, 16, 16, 2), (2, 1, 1, 16)]):
            x, y = (numbers.integers(-3, 4, shape).astype(np.float32) for shape in ((b, m, k), (b, k, n)))
            defines = dict(B=b, M=m, N=n, K=k, TYPE="tl." + a_type, OTHER="tl." + b_type, SUMS="tl." + sums[i % len(sums)],
                           PRECISION=repr(precisions[(i + number) % len(precisions)]))
            yield "small_product", dict(a_ptr=x, b_ptr=y, out_ptr=np.zeros((b, m, n), np.float32)), defines, dict(out_ptr=x @ y)


def cases(device):
    """(kernel, arrays, defines, wanted, file) of each launch."""
    numbers = np.random.default_rng(7)
    for make in (orders, choices, bytes_counted, functools.partial(pieces, device=device), others, elements, shapes, small_products):
        yield from ((*case, KERNELS) for case in make(numbers))
    yield from ((*case, ALGORITHMS) for case in algorithm_cases.cases(numbers))


def judge(tilec, device, kernel, arrays, defines, wanted, file):
    """None, or what is wrong with a launch."""
    got = run(tilec, device, kernel, arrays, defines, list(wanted), file)
    what = f"{kernel} {' '.join(str(a.dtype) if isinstance(a, np.ndarray) else str(a) for a in arrays.values())} {defines} {' '.join(device)}"
    if isinstance(got, str):
        return f"{what}: {got}"
    for array, (name, right) in zip(got, wanted.items()):
        array = array.reshape(right.shape)
        same = np.isclose(array, right, rtol=0, atol=1e-5) if kernel == "softplus" else (array == right) | ((array != array) & (right != right))
        if not same.all():
            at = np.flatnonzero(~same.ravel())[0]
            return f"{what}: {name}: {int((~same).sum())} differ, first [{at}]: {array.ravel()[at]!r}, wanted {right.ravel()[at]!r}"
    return None


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tilec", required=True)
    parser.add_argument("--device", choices=("cpu", "sim", "cuda"))
    parser.add_argument("--filter", default="")
    parser.add_argument("-j", "--jobs", type=int, default=os.cpu_count())
    arguments = parser.parse_args()
    tilec, failures, launches = os.path.abspath(arguments.tilec), [], 0
    with concurrent.futures.ThreadPoolExecutor(arguments.jobs) as pool:
        for device in [d for d in DEVICES if arguments.device in (None, d[0])] or [("cuda", "")]:
            chosen = [case for case in cases(device) if arguments.filter in case[0]]
            launches += len(chosen)
            failures += [f for f in pool.map(lambda case, device=device: judge(tilec, device, *case), chosen) if f]
    if arguments.device in (None, "cpu") and arguments.filter in "bytes_in_memory":
        x = np.zeros(16, np.uint8)
        said = run(os.path.abspath(arguments.tilec), DEVICES[0], "bytes_in_memory", dict(x_ptr=x, out_ptr=x), dict(N=16), ["out_ptr"])
        if "the interpreter does not know 'ld.global.b8'" not in said:
            failures.append(f"bytes_in_memory is not refused by the interpreter: {said}")
    for failure in failures:
        print(failure)
    print(f"{launches} launches, {len(failures)} failures")
    return bool(failures)


if __name__ == "__main__":
    sys.exit(main())
