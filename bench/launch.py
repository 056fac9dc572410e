#!/usr/bin/env python3
"""What launches cost, and what a process takes to its first, beside the driver's own calls; needs a GPU and Python alone.

    launch.py --build build/release [--json FILE] [--pairs N]

Launches: bench_launch, ratios to cuLaunchKernel with the same arguments in the same run. Starts: processes of bench_start in turn,
cache warm; "over" is the median of the differences to the driver's process of the same round, and stages are medians.
"""
import argparse
import json
import os
import statistics
import subprocess
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
SOURCE = os.path.join(HERE, "launch.tile")
LAUNCH_LIMIT, START_LIMIT_MS = 1.15, 3


def launches(build):
    output = subprocess.run([os.path.join(build, "bench", "bench_launch"), SOURCE], check=True, stdout=subprocess.PIPE).stdout
    return json.loads(output)["cases"]


def start(command):
    begin = time.perf_counter()
    output = subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout
    return json.loads(output) | {"process": (time.perf_counter() - begin) * 1e3}


def starts(build, pairs):
    program = os.path.join(build, "bench", "bench_start")
    with tempfile.TemporaryDirectory() as folder:
        written = subprocess.run([program, "write", SOURCE, os.path.join(folder, "add3.cubin")], check=True, stdout=subprocess.PIPE)
        commands = {"driver": [program, "driver", *written.stdout.decode().split()], "function": [program, "function", SOURCE],
                    "executable": [program, "executable", SOURCE]}
        for command in commands.values():
            start(command)
        rounds = [{name: start(command) for name, command in commands.items()} for _ in range(pairs)]
    report = {}
    for name in commands:
        report[name] = {stage: statistics.median(r[name][stage] for r in rounds) for stage in rounds[0][name]}
        over = sorted(r[name]["total"] - r["driver"]["total"] for r in rounds)
        report[name]["over"] = statistics.median(over)
        report[name]["over_quartiles"] = [over[len(over) // 4], over[len(over) * 3 // 4]]
    return report


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", default="build/release")
    parser.add_argument("--json")
    parser.add_argument("--pairs", type=int, default=21, help="rounds of processes")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as cache:
        os.environ["TILEC_CACHE_DIR"] = cache
        report = {"start_ms": starts(options.build, options.pairs), "launches": launches(options.build)}
    print(f"{'kernel':10} {'arguments':>9} {'maps':>5} {'threads':>8} {'capture':>8} {'driver us':>10} {'tile_launch':>12} {'tile_function_launch':>21}")
    for case in report["launches"]:
        print(f"{case['kernel']:10} {case['arguments']:9} {case['tensor_maps']:5} {case['threads']:8} {'yes' if case['capture'] else 'no':>8} "
              f"{case['us']['driver']:10.3f} {case['ratio']['tile_launch']:12.3f} {case['ratio']['tile_function_launch']:21.3f}")
    ratios = [ratio for case in report["launches"] for ratio in case["ratio"].values()]
    report["most_ratio"] = max(ratios)
    print(f"most: {max(ratios):.3f} (at most {LAUNCH_LIMIT})\n")
    for name, stages in report["start_ms"].items():
        print(f"{name:11}" + ", ".join(f"{stage} {ms:.2f}" for stage, ms in stages.items() if stage != "over_quartiles")
              + f" ({stages['over_quartiles'][0]:.2f} to {stages['over_quartiles'][1]:.2f}; at most {START_LIMIT_MS})")
    if options.json:
        with open(options.json, "w") as file:
            file.write(json.dumps(report, indent=1) + "\n")


if __name__ == "__main__":
    main()
