#!/usr/bin/env python3
"""What random programs reach: passes that change something, operations of src/ir/ops.def behind the last pass, by element type.

    coverage.py --tilec build/release/src/cli/tilec [--seeds 0:300]

Prints tables for docs/testing.md; what is never reached stands under them."""
import argparse
import concurrent.futures
import os
import re
import subprocess
import sys
import tempfile

import numpy as np

from launch import Launch
from random_program import random_program
from values import Invalid

TARGETS = ("sm_80", "sm_90a")
OPS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "..", "src", "ir", "ops.def")
TYPE = re.compile(r": .*?(?:tile|buffer)?<?(?:\d+x)*(ptr<\w+>|i1|i8|i16|i32|i64|f8\w*|f16|bf16|f32|f64)\b")


def known_operations():
    with open(OPS, encoding="utf-8") as file:
        return re.findall(r"^OP(?:_\w+)?\s*\(\s*(\w+)\s*,", file.read(), re.M)


def known_passes(tilec):
    lines = subprocess.run([tilec, "opt", "--list"], capture_output=True, text=True, check=True).stdout.splitlines()
    return [line.split()[0] for line in lines if not line.startswith(" ")]


def stages(tilec, seed, target, folder):
    """Texts of the function after each pass that changed it, in order, by pass."""
    np.seterr(all="ignore")
    dumps = os.path.join(folder, f"{seed}-{target}")
    launch = Launch(tilec, random_program(seed, {}), dumps + "-kernel")
    command = launch.command(["--device", "cpu", "--final-ir", "--target", target, "--dump-dir", dumps], outputs=False)
    subprocess.run(command, capture_output=True, check=False)
    launch.close()
    result = []
    for name in sorted(os.listdir(dumps)) if os.path.isdir(dumps) else []:
        match = re.fullmatch(r"\d+-(.+)\.tir", name)
        if match:
            with open(os.path.join(dumps, name), encoding="utf-8") as file:
                result.append((match[1], file.read()))
            os.unlink(os.path.join(dumps, name))
    return result


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tilec", required=True)
    parser.add_argument("--seeds", default="0:300")
    parser.add_argument("--jobs", type=int, default=2)
    options = parser.parse_args()
    operations, passes = known_operations(), known_passes(options.tilec)
    fired = {(name, target): 0 for name in passes for target in TARGETS}
    types = {name: set() for name in operations}
    seeds = range(*map(int, options.seeds.split(":")))
    with tempfile.TemporaryDirectory(prefix="tilec-coverage-") as folder, concurrent.futures.ProcessPoolExecutor(options.jobs) as pool:
        work = [(seed, target) for seed in seeds for target in TARGETS]
        futures = [(target, pool.submit(stages, options.tilec, seed, target, folder)) for seed, target in work]
        for target, future in futures:
            try:
                texts = future.result()
            except Invalid:
                continue
            for name in {name for name, _ in texts} & set(passes):
                fired[name, target] += 1
            for line in texts[-1][1].splitlines() if texts else []:
                match = re.match(r"\s*(?:%[^=]*= )?(\w+)\b", line)
                if match and match[1] in types:
                    found = TYPE.search(line)
                    types[match[1]].add("ptr" if found and found[1].startswith("ptr") else found[1] if found else "")
    print("| pass | " + " | ".join(f"changed, {target}" for target in TARGETS) + " |\n|---|" + "---|" * len(TARGETS))
    for name in passes:
        if any(fired[name, target] for target in TARGETS):
            print(f"| {name} | " + " | ".join(str(fired[name, target]) for target in TARGETS) + " |")
    print(f"\nOf {len(seeds)} programs. Never: "
          + (", ".join(name for name in passes if not any(fired[name, target] for target in TARGETS)) or "none") + ".")
    reached = [name for name in operations if types[name]]
    print("\n| operation | of |\n|---|---|")
    for name in reached:
        print(f"| {name} | {' '.join(sorted(t for t in types[name] if t))} |")
    print(f"\n{len(reached)} of {len(operations)} operations. Never: " + ", ".join(name for name in operations if not types[name]) + ".")
    return 0


if __name__ == "__main__":
    sys.exit(main())
