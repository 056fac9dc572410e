#!/usr/bin/env python3
"""Compares the times that the simulator's clock predicts with measured ones, by rank.

    clock.py --tilec TILEC --launch BENCH_CLOCK_LAUNCH --times TIMES.jsonl --keep FOLDER [--kernels FOLDER] [--sample N] [--worst N]

TIMES.jsonl is what public.py leaves: {"id": .., "state": "timed", "us": {"given": ..}} a line, measured on the device that stands for sm_90a in
src/target/machine.def. Each kernel is compiled with the warps and stages of the index, and launched with the same made-up arguments as by
public_worker.py; of its 1056 programs some are simulated. Registers are those that ptxas says. FOLDER keeps what was compiled and predicted;
--again predicts anew. Prints Spearman's rank correlation, quotients of predicted and measured times, and the kernels whose ranks differ most."""
import argparse
import concurrent.futures
import json
import math
import os
import random
import re
import resource
import shutil
import statistics
import struct
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
for folder in ("../tests/e2e/public", "../tests/e2e/kernels", "."):
    sys.path.insert(0, os.path.join(HERE, folder))
import corpus  # noqa: E402

ELEMENTS = 1 << 28
GRIDS = {1: (1056, 1, 1), 2: (66, 16, 1), 3: (16, 11, 6)}
BYTES = {"fp64": 8, "i64": 8, "u64": 8, "fp32": 4, "i32": 4, "u32": 4, "fp16": 2, "bf16": 2, "i16": 2, "u16": 2}
INTEGERS = {"i1": 1, "i8": 1, "i16": 2, "i32": 4, "i64": 8, "u1": 1, "u8": 1, "u16": 2, "u32": 4, "u64": 8}


def ranks(values):
    """From 1; equal values share the mean of theirs."""
    order = sorted(range(len(values)), key=values.__getitem__)
    found = [0.0] * len(values)
    at = 0
    while at < len(order):
        end = at
        while end < len(order) and values[order[end]] == values[order[at]]:
            end += 1
        for i in order[at:end]:
            found[i] = (at + end + 1) / 2
        at = end
    return found


def spearman(a, b):
    return statistics.correlation(ranks(a), ranks(b))


def argument(kernel, name, kind, number=None):
    """As bench_clock_launch reads it; `number` in place of a made-up integer."""
    if kind.startswith("*"):
        element = kind[1:]
        letter = "b" if element == "bf16" else "p" if element == "i1" else "i" if element in INTEGERS else "f"
        return f"a{letter}:{BYTES.get(element, 1)}:{ELEMENTS}"
    if kind.startswith(("fp", "bf")):
        bits = struct.unpack("<Q", struct.pack("<d", 0.5))[0] if kind == "fp64" else 0x3800 if kind == "fp16" \
            else 0x3f00 if kind == "bf16" else struct.unpack("<I", struct.pack("<f", 0.5))[0]
        return f"i{BYTES[kind]}:{bits:x}"
    value = number or (1 if name in kernel.ones or kind in ("i1", "u1") else 512 if name in kernel.divisible else 509)
    return f"i{INTEGERS[kind]}:{value:x}"


def command_of(options, kernel, emit, out, target="sm_90a", own=False):
    """own: warps and stages as tilec chooses, else the index's."""
    given = [] if own else ["--num-warps", str(kernel.num_warps), "--num-stages", str(kernel.num_stages)]
    return [options.tilec, "compile", kernel.path, "-k", kernel.kernel, *given, *kernel.types(), "--target", target, "--emit", emit, "-o", out,
            "--cache-dir", "none", *(["--ptxas", options.ptxas] if options.ptxas else [])]


def run(command, seconds, **more):
    done = subprocess.run(command, capture_output=True, text=True, timeout=seconds, **more)
    return done.stdout if done.returncode == 0 else None


def as_loaded(options, kernel, base, target, own):
    """The PTX that is loaded, whose limit of registers is taken back where ptxas spills for it; what ptxas says of it."""
    with tempfile.TemporaryDirectory(prefix="tilec-clock-") as folder:
        said = run(command_of(options, kernel, "cubin", os.path.join(folder, "cubin"), target, own) + ["--json", "--dump-dir", folder], 600)
        if not said:
            return None
        shutil.move(os.path.join(folder, "kernel.ptx"), base + ".ptx")
    meta = json.loads(said)
    resources = meta["resources"]
    return dict(meta=meta, registers=resources["registers"], spilled=resources["spill_stores"] + resources["spill_loads"])


def compiled(options, kernel, base, target="sm_90a", own=False):
    """What the launch needs to know of the kernel, from the folder or compiled now; None where it cannot be."""
    try:
        with open(base + ".json") as file:
            return json.load(file)
    except FileNotFoundError:
        pass
    if options.ptxas:
        facts = as_loaded(options, kernel, base, target, own)
    else:
        meta = run(command_of(options, kernel, "ptx", base + ".ptx", target, own) + ["--json"], 600)
        facts = meta and dict(meta=json.loads(meta), registers=0, spilled=0)
    if facts:
        with open(base + ".json", "w") as file:
            json.dump(facts, file)
    return facts or None


def launch(options, path, name, facts, shared, grid, threads, words):
    """What bench_clock_launch says of a launch."""
    line = "\t".join([path, name, str(facts["registers"]), str(facts["spilled"]), str(shared), ",".join(map(str, grid)), str(threads), *words])
    limit = math.ceil(options.seconds)
    done = subprocess.run([options.launch], input=line + "\n", capture_output=True, text=True,
                          preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CPU, (limit, limit)))
    return {"error": "too long"} if done.returncode < 0 else json.loads(done.stdout) if done.stdout else {"error": "failed"}


def predict(options, kernel, base=None, target="sm_90a", own=False, grid=None, argument=argument):
    """{"us": .., ..} or {"error": ..}"""
    base = base or os.path.join(options.keep, re.sub(r"\W+", "_", kernel.id))
    try:
        facts = compiled(options, kernel, base, target, own)
        if not facts:
            return {"error": "not compiled"}
        meta, grid = facts["meta"], grid or GRIDS[kernel.rank]
        if meta["persistent"]:
            return {"error": "a persistent kernel"}
        types = kernel.signature
        words = [argument(kernel, p["name"], types[p["name"]]) for p in meta["params"] if types.get(p["name"], "constexpr") != "constexpr"]
        words += [f"i4:{grid[0]:x}"] * meta["grid_parameter"] + ["m" + m["recipe"] for m in meta["tensor_maps"]]
        grid = (math.ceil(grid[0] / meta["programs_per_cta"]), *grid[1:])
        said = launch(options, base + ".ptx", meta["kernel"], facts, meta["shared_bytes"], grid, meta["threads"], words)
        return {**said, "threads": meta["threads"], "spilled": facts["spilled"]}
    except subprocess.TimeoutExpired:
        return {"error": "too long to compile"}


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tilec", default="tilec")
    parser.add_argument("--launch", required=True, help="the program bench_clock_launch")
    parser.add_argument("--times", required=True, help="measured times")
    parser.add_argument("--keep", required=True, metavar="FOLDER")
    parser.add_argument("--kernels", metavar="FOLDER")
    parser.add_argument("--ptxas", default=shutil.which("ptxas"))
    parser.add_argument("--sample", type=int, default=0, metavar="N", help="N kernels, chosen at random but always the same; default: all")
    parser.add_argument("--seconds", type=float, default=60, help="of processor time that a kernel's simulation may take")
    parser.add_argument("--again", action="store_true")
    parser.add_argument("--only", default="", help="kernels whose id contains the text")
    parser.add_argument("-j", "--jobs", type=int, default=1)
    parser.add_argument("--worst", type=int, default=20, metavar="N")
    return parser.parse_args()


def read_lines(path):
    try:
        with open(path) as file:
            return [json.loads(line) for line in file]
    except FileNotFoundError:
        return []


def predict_all(options, kernels):
    """id -> prediction"""
    path = os.path.join(options.keep, "predicted.jsonl")
    found = {} if options.again else {r["id"]: r for r in read_lines(path)}
    with open(path, "w" if options.again else "a") as out, concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        missing = [k for k in kernels if k.id not in found]
        for kernel, said in zip(missing, pool.map(lambda k: predict(options, k), missing)):
            found[kernel.id] = {"id": kernel.id, **said}
            print(json.dumps(found[kernel.id]), file=out, flush=True)
    return found


def report(options, pairs):
    """Prints the comparison of (measured, prediction)."""
    measured, said = [m for m, _ in pairs], [p["us"] for _, p in pairs]
    order_measured, order_said = ranks(measured), ranks(said)
    quotients = sorted(p / m for p, m in zip(said, measured))
    print(f"{len(pairs)} kernels: rank correlation {spearman(measured, said):.4f}")
    print("predicted over measured: " + ", ".join(f"{q:.0%} {quotients[int(q * (len(quotients) - 1))]:.2f}" for q in (.05, .25, .5, .75, .95)))
    worst = sorted(range(len(pairs)), key=lambda i: -abs(order_measured[i] - order_said[i]))[:options.worst]
    for i in worst:
        p = pairs[i][1]
        print(f"{order_said[i] - order_measured[i]:+6.0f} ranks: measured {measured[i]:9.2f}, predicted {p['us']:9.2f} us (latency "
              f"{p['latency_us']:.2f}, {p['unit']} {p['unit_us']:.2f}, L2 {p['l2_us']:.2f}, DRAM {p['dram_us']:.2f}; {p['ctas_per_sm']} CTAs an SM, {p['text']:.0f} instructions) {p['id']}")


def main():
    options = arguments()
    os.makedirs(options.keep, exist_ok=True)
    times = {r["id"]: r["us"]["given"] for r in read_lines(options.times) if r["state"] == "timed"}
    kernels = [k for k in corpus.read(corpus.folder_of_kernels(options.kernels)) if k.id in times and options.only in k.id]
    random.Random(1).shuffle(kernels)
    kernels = kernels[:options.sample or None]
    found = predict_all(options, kernels)
    without = [found[k.id] for k in kernels if "us" not in found[k.id]]
    print(f"{len(without)} without a prediction: " + ", ".join(f"{sum(w['error'][:40] == e for w in without)} {e}"
                                                             for e in sorted({w["error"][:40] for w in without})))
    report(options, [(times[k.id], found[k.id]) for k in kernels if "us" in found[k.id]])
    return 0


if __name__ == "__main__":
    sys.exit(main())
