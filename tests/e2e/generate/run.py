#!/usr/bin/env python3
"""Random kernels through the interpreter, every pass and the simulator, against a reference in NumPy.

    run.py --tilec build/release/src/cli/tilec [--seeds 0:200] [--seconds 60] [--first-seed N] [--found FOLDER]
        TILEC_GENERATE_SECONDS: behind --seeds so many seconds of new ones
    run.py --tilec .. --show SEED        the source of a seed
    run.py --tilec .. --replay           the programs of found/, which failed once

A failure is reduced and written to FOLDER as a file like those of found/."""
import argparse
import concurrent.futures
import glob
import importlib.util
import os
import sys
import tempfile
import time

import numpy as np

from launch import WAYS, check
from program import source
from random_program import random_program
from reduce import reduced

HERE = os.path.dirname(os.path.abspath(__file__))


def found_text(program, failure, seed):
    quoted = source(program).rstrip("\n").replace("\\", "\\\\").replace('"""', "'''")
    return (f'r"""{failure.way}: {failure.kind}\n\n{failure.text[:500]}\n\n{quoted}\n"""\n'
            f"from program import Array, Program, S\n\nSEED = {seed}\nPROGRAM = {program!r}\n")


def examine(options, seed, folder):
    """A line about a failing seed, or None."""
    np.seterr(all="ignore")
    program = random_program(seed, switches(options))
    work = os.path.join(folder, f"seed{seed}")
    failure = check(options.tilec, program, work, options.ways)
    if not failure:
        return None
    if options.reduce:
        program, failure = reduced(options.tilec, program, failure, work, options.reduce)
    text = found_text(program, failure, seed).replace(work + os.sep, "")
    if options.found:
        os.makedirs(options.found, exist_ok=True)
        with open(os.path.join(options.found, f"seed{seed}.py"), "w", encoding="utf-8") as file:
            file.write(text)
    return f"seed {seed}: {failure.way}: {failure.text}\n{source(program)}"


def switches(options):
    return {name: False for name in options.without}


def work_on(options, seeds, folder):
    end = time.monotonic() + options.seconds if options.seconds else None
    count, failures = 0, []
    with concurrent.futures.ProcessPoolExecutor(options.jobs) as pool:
        running = set()
        seeds = iter(seeds)
        while True:
            while len(running) < 2 * options.jobs and not (end and time.monotonic() > end):
                seed = next(seeds, None)
                if seed is None:
                    break
                running.add(pool.submit(examine, options, seed, folder))
            if not running:
                return count, failures
            done, running = concurrent.futures.wait(running, return_when=concurrent.futures.FIRST_COMPLETED)
            for future in done:
                count += 1
                line = future.result()
                if line:
                    failures.append(line)
                    print(f"FAILED {line}", flush=True)


def replay(options, folder):
    """The programs of found/ in every way."""
    failed = 0
    paths = sorted(glob.glob(os.path.join(HERE, "found", "*.py")))
    for path in paths:
        spec = importlib.util.spec_from_file_location("found", path)
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        failure = check(options.tilec, module.PROGRAM, os.path.join(folder, "replay"), options.ways)
        if failure:
            failed += 1
            print(f"FAILED {os.path.basename(path)}: {failure.way}: {failure.text}\n{source(module.PROGRAM)}")
    print(f"generate: {len(paths) - failed} found programs agree, {failed} do not")
    return 1 if failed or not paths else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tilec", required=True)
    parser.add_argument("--seeds", default="", help="FIRST:END")
    parser.add_argument("--first-seed", type=int, help="go on from there; default: the clock says where")
    parser.add_argument("--seconds", type=float, default=0, help="start nothing new after that")
    parser.add_argument("--reduce", type=float, default=120, help="seconds for making a failure smaller; 0: leave it")
    parser.add_argument("--found", help="write failures there")
    parser.add_argument("--without", nargs="*", default=[], help="orders of accesses not to use: readback overlap overwrite")
    parser.add_argument("--ways", nargs="*", help="parts of names of ways to run; default: all")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--show", type=int)
    parser.add_argument("--replay", action="store_true")
    options = parser.parse_args()
    more = float(os.environ.get("TILEC_GENERATE_SECONDS", 0))
    options.ways = [way for way in WAYS if not options.ways or any(part in way for part in options.ways)]
    np.seterr(all="ignore")
    if options.show is not None:
        print(source(random_program(options.show, switches(options))))
        return 0
    with tempfile.TemporaryDirectory(prefix="tilec-generate-") as folder:
        if options.replay:
            return replay(options, folder)
        start, count, failures = time.monotonic(), 0, []
        if options.seeds:
            count, failures = work_on(options, range(*map(int, options.seeds.split(":"))), folder)
            options.seconds = more
        if not options.seeds or more:
            first = options.first_seed if options.first_seed is not None else int(time.time()) * 1000
            print(f"generate: seeds from {first}", flush=True)
            new, wrong = work_on(options, range(first, first + (1 << 40)), folder)
            count, failures = count + new, failures + wrong
    print(f"generate: {count} programs in {len(options.ways)} ways, {len(failures)} failed, {time.monotonic() - start:.0f} s")
    return 1 if failures or not count else 0


if __name__ == "__main__":
    sys.exit(main())
