#!/usr/bin/env python3
"""PTX that nvcc, LLVM and Triton made of the sources beside this file, on the simulator, against NumPy.

    check.py --tilec build/release/src/cli/tilec [NAME..]

Each case runs as it comes and once more with another schedule and copies that take effect at once. Every file here must
be read, and run by some case.
"""
import argparse
import glob
import os
import subprocess
import sys
import tempfile

import numpy as np

HERE = os.path.dirname(os.path.abspath(__file__))
RNG = np.random.default_rng(7)
CASES = []


def case(name, kernel, grid, block, inputs, expected, tolerance=0.0, shared=0, prints=None, may_find=None):
    """`inputs`: parameters in order, arrays or ints; `expected`: parameter number -> array; `may_find`: what every
    finding, if there is one, must say."""
    CASES.append((name, kernel, grid, block, inputs, expected, tolerance, shared, prints, may_find))


def wrapped(values):
    return np.array([int(v) & 0xFFFFFFFF for v in values], np.uint32).view(np.int32)


def zeros(*shape, dtype=np.int32):
    return np.zeros(shape, dtype)


def ints(n, low=-1000, high=1000):
    return RNG.integers(low, high, n).astype(np.int32)


def add_coop():
    n, block = 100, 64
    x = ints(n, 0, 50)
    v = np.zeros(128, np.int64)
    v[:n] = x
    y = []
    for i in range(n):
        warp, tile, cta = i // 32 * 32, i // 8 * 8, i // block * block
        odd = sum(v[j] & 1 for j in range(warp, warp + 32))
        s = sum(v[tile : tile + 8]) + (odd if v[i] & 1 else 0)
        exclusive = sum(v[warp:i])
        y.append(s * 3 + exclusive * 5 + max(v[cta : cta + block]) * 7 + 32)
    case("coop", "coop", 2, block, [x, zeros(n), n], {1: wrapped(y)})


def add_barrier():
    x = ints(256)
    y = np.concatenate([2 * np.roll(part, -33) + part for part in x.reshape(2, 128)])
    case("barrier", "cubarrier", 2, 128, [x, zeros(256)], {1: y})
    n = 5
    x = ints(n * 64 * 4).reshape(n, 64, 4)
    y = x[:, ::-1].copy()
    y[:, :, 0] += np.arange(n)[:, None]
    y[:, :, 3] -= np.arange(n)[:, None]
    case("barrier", "cupipe", 1, 64, [x, zeros(n, 64, 4), n], {1: y})
    x = RNG.standard_normal(100).astype(np.float32)
    case("barrier", "cgcopy", 1, 64, [x, zeros(100, dtype=np.float32), 100], {1: x[::-1]}, shared=400)


def add_bulk():
    x = ints(512)
    case("bulk", "bulk", 2, 64, [x, zeros(512)], {1: x + 1})


def add_cluster():
    x = ints(128)
    y = np.concatenate([x[64:][::-1], x[:64][::-1]]) + 2000
    case("cluster", "clus", 2, 64, [x, zeros(128)], {1: y})


def add_half():
    n = 96
    a, b = (RNG.uniform(0.25, 2, 2 * n).astype(np.float16) for _ in range(2))
    x, y = a.astype(np.float32), b.astype(np.float32)
    h = lambda v: v.astype(np.float16).astype(np.float32)
    z = h(x * y + h(x + 1.5))
    z = np.maximum(z, -y)
    z = np.clip(h(z * x), 0, 1)
    z = h(z + h(np.exp2(h(x * 0.25))))
    less = (x < y).reshape(n, 2).all(axis=1)
    z = np.where(np.repeat(less, 2), h(1 / z), z).reshape(n, 2)
    c = np.stack([z[:, 1], h(z[:, 0] - h(np.sqrt(np.abs(z[:, 1]))))], axis=1).reshape(-1)
    case("half", "halfk", 3, 32, [a.view(np.uint32), b.view(np.uint32), zeros(n, dtype=np.uint32), n],
         {2: c.astype(np.float16)}, tolerance=4e-3)


def add_atomics():
    n = 128
    t = np.arange(n)
    u = np.zeros(18, np.uint32)
    u[4] = 0xFFFFFFFF
    want = u.copy()
    want[0], want[1] = n, (-2 * n) & 0xFFFFFFFF
    want[2], want[3] = n % 11, 0
    for _ in range(n):
        want[3] = 100 if want[3] == 0 or want[3] > 100 else want[3] - 1
    want[4] = 0
    want[5], want[6], want[7] = 0xFFFFFFFF, np.bitwise_xor.reduce(t), 77
    for cta in (t[:64], t[64:]):
        for slot in range(4):
            value = sum(cta[cta % 4 == slot])
            want[8 + slot] += value if slot != 1 else 0
    want[13], want[16], want[17] = n, 64, 64
    want[14] = 4 * n
    want[15] = 0
    for _ in range(n):
        want[15] = want[15] + 2 if want[15] * 2 + 1 <= 1000 else want[15] * 2 + 1
    case("atomics", "atomics", 2, 64,
         [u, np.array([0, 0, 0], np.int32), zeros(3, dtype=np.uint64), zeros(2, dtype=np.float32),
          zeros(1, dtype=np.float64), zeros(1, dtype=np.uint32)],
         {0: (want, [i for i in range(18) if i not in (9, 15)]), 1: np.array([-127, 127, 5], np.int32),
          2: np.array([n << 33, 127 << 30, 9], np.uint64), 3: np.array([64, 0], np.float32),
          4: np.array([32.0]), 5: np.array([128, 128], np.float16)})
    case("atomics", "flag", 2, 64, [zeros(1), zeros(64), zeros(64)], {2: np.arange(64, dtype=np.int32) * 3})


def fib(n):
    return n if n < 2 else fib(n - 1) + fib(n - 2)


def truncated(a, b):
    return int(a / b)


def add_lang():
    n, big = 3, np.arange(20, dtype=np.int32)
    s = np.zeros(48, np.uint8)
    s[0:4].view(np.int32)[0] = 11
    s[8:16].view(np.float64)[0] = 2.5
    s[16:26].view(np.int16)[:] = [1, 2, 3, 4, 5]
    s[32:48].view(np.float32)[:] = [6.5, 0, 0, 0]
    table, dtab, names = [1, 2, 3, 5, 7, 11, 13, 17], [1.5, -2.25], ["one", "two"]
    y = []
    for t in range(64):
        c = [1, 2, 3, 4, 5]
        c[t & 3] = t & 7
        v = fib(t % 10) + ((t * 7 + n) & 15) * t + 11 + (t & 7) + 5 + c[t & 3] + 7 + 190 + table[t & 7]
        v += int(dtab[t % 2]) + ord(names[t & 1][1]) + (t * 3 if t & 1 else t + 3)
        kind = t % 11
        v = {0: v + 100, 1: v ^ 5, 2: v - 7, 3: v * 3, 4: truncated(v, 3), 5: v % 5, 6: v << 2, 7: v >> 1,
             8: ~v}.get(kind, v + 1)
        y.append(v)
    case("lang", "lang", 1, 64, [zeros(64), s, big.view(np.uint8), n], {0: wrapped(y)})
    case("lang", "prints", 1, 32, [2], {},
         prints="t 0 one 3.000000 x 1099511627776 ff\nt 1 two 3.000000 x 1099511627776 ff\n")


def add_warp():
    x = ints(32, 0, 120)
    v = [int(e) for e in x]
    ballot = sum((e & 1) << i for i, e in enumerate(v))
    y = []
    for i in range(32):
        s = v[i ^ 5] + v[i - 3 if i >= 3 else i] + v[i + 2 if i % 8 < 6 else i] + v[i * 3 % 32]
        s += (max(v) > 100) + 2 + sum(v) + max(v) + int(np.bitwise_xor.reduce(x))
        s += sum(1 << j for j in range(32) if v[j] & 3 == v[i] & 3)
        same = len(set(v)) == 1
        s += (0xFFFFFFFF if same else 0) + same
        if v[i] & 2:
            s += sum(1 << j for j in range(32) if v[j] & 2) & 0xFF
        s += sum(e & 1 for e in v) + any(v) + all(v)
        y.append(s + ballot)
    case("warp", "warps", 1, 32, [x, zeros(32)], {1: wrapped(y)})


def rotated(v):
    return int(f"{v:032b}"[::-1], 2)


def add_bits():
    x = RNG.integers(0, 1 << 32, 32).astype(np.uint32)
    p = RNG.integers(0, 1 << 63, 32).astype(np.uint64)
    y, q = [], []
    m = 0xFFFFFFFF
    byte = lambda v, i: v >> 8 * i & 255
    signed = lambda v, bits: v - (1 << bits) if v >> (bits - 1) & 1 else v
    for i, v in enumerate(int(e) for e in x):
        both = ~v % (1 << 32) << 32 | v
        perm = sum(byte(both, s) << 8 * k for k, s in enumerate((5, 1, 7, 3)))
        w = v * 3 & m
        shift = (w << 32 | v) << i >> 32 & m
        pair = lambda f, a, b: sum((f(a >> k & 0xFFFF, b >> k & 0xFFFF) & 0xFFFF) << k for k in (0, 16))
        r = bin(v).count("1") + (32 - v.bit_length()) * 3 + (v & -v).bit_length() + (rotated(v) ^ perm)
        r += shift + (v * 12345 >> 32) + abs(v - 77) + 5 + pair(lambda a, b: a + b, v, 0x00010002)
        r += 7 + sum(signed(byte(v, k), 8) * b for k, b in enumerate((4, 3, 2, 1)))
        r += pair(lambda a, b: max(signed(a, 16), signed(b, 16)), v, 12)
        r += sum(abs(byte(v, k) - byte(0x10203040, k)) << 8 * k for k in range(4))
        r += (v + 9 >> 1) + v // 7 + v % 13
        y.append(r)
    for w in (int(e) for e in p):
        full = (1 << 64) - 1
        r = bin(w).count("1") + 64 - w.bit_length() + (int(f"{w:064b}"[::-1], 2) ^ (w * w >> 64))
        r += w // 10 + w % 1000003 + (w * w >> 37 & full)
        q.append(r & full)
    case("bits", "bits", 1, 32, [x, zeros(32), p, zeros(32, dtype=np.uint64)],
         {1: wrapped(y), 3: np.array(q, np.uint64)})


def add_math():
    n = 50
    x = RNG.uniform(-3, 3, n).astype(np.float32)
    p = RNG.uniform(-3, 3, n)
    v = x.astype(np.float64)
    y = np.exp(-v * v) * np.log(np.abs(v) + 1) + np.tanh(v) + 1 / np.sqrt(np.abs(v) + 0.5) + np.arctan2(v, 2)
    y += v / 3 + np.rint(v) + np.floor(v) + np.trunc(v) + v * v + 2 + v / 7 + np.sqrt(np.abs(v))
    q = np.exp(-p * p) + np.log(np.abs(p) + 1) + np.sqrt(np.abs(p)) + p / 3 + 1 / (p + 10) + np.rint(p)
    case("math", "math", 1, 64, [x, zeros(n, dtype=np.float32), p, zeros(n, dtype=np.float64), n],
         {1: y.astype(np.float32), 3: q}, tolerance=1e-5)


def add_stack_and_virtual():
    n, y = 10, []
    for t in range(64):
        s = 0
        for i in reversed(range(n)):
            s = s * 3 + i * t
        y.append(s)
    case("stack", "stack", 1, 64, [zeros(64), n], {0: wrapped(y)})
    y = np.array([(t + 1, t * 2, t - 3)[t % 3] for t in range(64)], np.int32)
    case("virt", "virt", 1, 64, [zeros(64)], {0: y})
    case("debug", "virt", 1, 64, [zeros(64)], {0: y})


def add_llvm():
    n, c = 9, 5
    s = np.zeros(16, np.uint8)
    s[8:16].view(np.int64)[0] = 77
    w = np.array([3, 0], np.uint64).view(np.uint8)
    h = np.array([4.0], np.float16).view(np.int16)[0]
    v = int(np.array([1.0, 8.5], np.float32).view(np.int64)[0])
    y = []
    for t in range(64):
        i, one = t & 7, t & 1
        phi = {0: 10, 1: 21, 2: -32, 3: 43, 4: 5}.get(i, t)
        bytes4 = 2 | 4 << 8 | 6 << 16 | 8 << 24
        y.append(phi + n + 3 + 3 * 12345 + bytes4 + 0 + (t * 3 if one else t + 1) + 77 + 4 + 8 + (-2 if one else 1))
    case("llvm", "k", 1, 64, [zeros(64), s, n, c, 1, int(h), v, w], {0: wrapped(y)})
    case("llvm", "dyn", 1, 1, [zeros(1), 4], {0: np.array([5], np.int32)})
    case("llvm", "grid", 1, 1, [np.array([41, 0, 0, 0], np.int32).view(np.uint8), zeros(1)], {1: np.array([41], np.int32)})


def add_triton():
    scratch = [zeros(16), zeros(16)]
    x = RNG.standard_normal((3, 224)).astype(np.float32)
    e = np.exp(x[:, :200] - x[:, :200].max(axis=1, keepdims=True))
    y = np.zeros_like(x)
    y[:, :200] = e / e.sum(axis=1, keepdims=True)
    case("triton_softmax", "softmax", 3, None, [x, np.zeros_like(x), 224, 200] + scratch, {1: y}, tolerance=1e-5,
         shared=1024)
    a, b = RNG.standard_normal((64, 128)).astype(np.float16), RNG.standard_normal((128, 32)).astype(np.float16)
    case("triton_matmul", "matmul", 1, None, [a, b, zeros(64, 32, dtype=np.float32), 128] + scratch,
         {2: a.astype(np.float32) @ b.astype(np.float32)}, tolerance=1e-3, shared=65536,
         # For sm_90 Triton lets wgmma read what cp.async wrote, without the proxy fence that PTX asks for.
         may_find="no fence.proxy.async lies between")
    v = ints(128)
    case("triton_scan_sort", "scan_sort", 1, None, [v, zeros(128), zeros(128), zeros(8)] + scratch,
         {1: np.cumsum(v).astype(np.int32), 2: np.sort(v), 3: np.bincount(v & 7, minlength=8).astype(np.int32)},
         shared=16384)


def differs(found, want, tolerance):
    if isinstance(want, tuple):
        return differs(found.reshape(-1)[want[1]], want[0][want[1]], tolerance)
    found = found.reshape(-1).view(want.dtype)
    want = np.ascontiguousarray(want).reshape(-1)
    if not tolerance:
        bad = np.nonzero(found != want)[0]
    else:
        f, w = found.astype(np.float64), want.astype(np.float64)
        bad = np.nonzero(~(np.abs(f - w) <= tolerance * (1 + np.abs(w))))[0]
    return f"element {bad[0]} is {found[bad[0]]}, not {want[bad[0]]}" if len(bad) else None


def run(tilec, file, spec, more, folder):
    _, kernel, grid, block, inputs, expected, tolerance, shared, prints, may_find = spec
    command = [tilec, "sim", file, "-k", kernel, "--grid", str(grid), "--shared", str(shared), *more]
    if block:
        command += ["--block", str(block)]
    for i, value in enumerate(inputs):
        if isinstance(value, np.ndarray):
            path = os.path.join(folder, f"p{i}.npy")
            np.save(path, np.ascontiguousarray(value))
            command += ["-a", f"p{i}={path}"]
        else:
            command += ["-a", f"p{i}={value}"]
    for i in expected:
        command += ["--out", f"p{i}={folder}/out{i}.npy"]
    done = subprocess.run(command, capture_output=True, text=True)
    findings = [line for line in done.stderr.splitlines() if ": error: " in line]
    if done.returncode not in (0, 1) or any(not may_find or may_find not in line for line in findings):
        return f"status {done.returncode}\n{done.stderr}"
    if prints is not None and done.stdout != prints:
        return f"printed {done.stdout!r}, not {prints!r}"
    for i, want in expected.items():
        problem = differs(np.load(f"{folder}/out{i}.npy"), want, tolerance)
        if problem:
            return f"parameter {i}: {problem}"
    return None


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--tilec", required=True)
    parser.add_argument("names", nargs="*")
    options = parser.parse_args()
    for add in (add_coop, add_barrier, add_bulk, add_cluster, add_half, add_atomics, add_lang, add_warp, add_bits,
                add_math, add_stack_and_virtual, add_llvm, add_triton):
        add()
    failures = count = 0
    for file in sorted(glob.glob(os.path.join(HERE, "*.ptx"))):
        name = os.path.basename(file)
        mine = [spec for spec in CASES if spec[0] == name.split(".")[0]]
        if options.names and name.split(".")[0] not in options.names:
            continue
        if not mine:
            print(f"{name}: no case runs it")
            failures += 1
        for spec in mine:
            for more in ([], ["--schedule", "adversarial", "--early"]):
                with tempfile.TemporaryDirectory() as folder:
                    problem = run(options.tilec, file, spec, more, folder)
                count += 1
                if problem:
                    failures += 1
                    print(f"{name}, {spec[1]} {' '.join(more)}: {problem}")
    print(f"{count} runs, {failures} failures")
    return 1 if failures or not count else 0


if __name__ == "__main__":
    sys.exit(main())
