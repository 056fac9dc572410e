#!/usr/bin/env python3
"""Public kernels, as they stand, in Triton and in tilec on one GPU: times with the warps and stages that the index gives, and with tilec's own.

    public.py --lib libtilec.so [--old LIBTILEC.SO] [--no-triton] [--kernels FOLDER] [--only TEXT] [--ids FILE] [--sample N]
              [--as-launched] [--jobs N] [--budget SECONDS] [--out FILE]

FOLDER (else TILEC_PUBLIC_KERNELS) is described in tests/e2e/public/corpus.py; public_worker.py says how a kernel is launched and timed. First all are
compiled by --jobs processes, in half of the budget; then they are timed one at a time, by a few processes that take turns on the GPU, as long as the budget lasts. --old is another build that is timed in the same replays.

Exit status: 0 done, though of some kernels only a state may be known, such as that these arguments were wrong for them; 1 nothing was timed; 2 wrong
usage; 77 there are no kernels."""
import argparse
import collections
import concurrent.futures
import json
import os
import statistics
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
for folder in ("../tests/e2e/public", "../tests/e2e/kernels"):
    sys.path.insert(0, os.path.join(HERE, folder))
import corpus  # noqa: E402
import workers  # noqa: E402

SKIPPED, TURNS = 77, 3
LIMITS = {"prepare": 120, "time": 30}  # seconds of a kernel


def run(pool, do, kernels, jobs, until):
    """The answers of those that were begun in time, as they come."""
    def ask(kernel):
        return {"id": kernel.id, **pool.ask({"id": kernel.id, "do": do})} if time.time() < until else None
    with concurrent.futures.ThreadPoolExecutor(jobs) as threads:
        for future in concurrent.futures.as_completed([threads.submit(ask, k) for k in kernels]):
            if future.result():
                yield future.result()


def compared(records, one, other, least):
    """Prints the ratios time(other) / time(one): mean, how many are under `least`, and the least of them."""
    ratios = sorted((r["us"][other] / r["us"][one], k) for k, r in records.items() if one in r["us"] and other in r["us"])
    if not ratios:
        return
    under = sum(ratio < least for ratio, _ in ratios)
    print(f"\n{other} / {one}: {len(ratios)} kernels, geometric mean {statistics.geometric_mean(r for r, _ in ratios):.4f}, under {least}: {under}, "
          f"least {ratios[0][0]:.3f}")
    for ratio, kernel in ratios[:min(under, 25)]:
        us = records[kernel]["us"]
        print(f"  {ratio:6.3f} {us[one]:9.2f} us, {us[other]:9.2f}  {kernel}")


def summary(records):
    timed = {k: r for k, r in records.items() if r["state"] == "timed"}
    print(f"{len(records)} kernels; " + ", ".join(f"{n} {s}" for s, n in collections.Counter(r["state"] for r in records.values()).most_common()))
    compared(timed, "given", "triton", 0.95)
    compared(timed, "own", "triton", 0.95)
    compared(timed, "own", "given", 0.97)
    compared(timed, "given", "old given", 0.97)
    compared(timed, "own", "old own", 0.97)


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--lib", required=True)
    parser.add_argument("--old")
    parser.add_argument("--no-triton", action="store_true")
    parser.add_argument("--kernels")
    parser.add_argument("--only", help="kernels whose id contains the text")
    parser.add_argument("--ids", help="a file with an id a line: only these")
    parser.add_argument("--as-launched", action="store_true", help="with the grids and arguments of args.jsonl, not made-up ones")
    parser.add_argument("--sample", type=int, default=1, metavar="N", help="every Nth kernel")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--budget", type=float, default=1e9, help="seconds after which no further kernel is begun")
    parser.add_argument("--out", help="a JSON line for each answer, appended as they come")
    return parser.parse_args()


def main():
    options, began = arguments(), time.time()
    folder = corpus.folder_of_kernels(options.kernels)
    if not folder:
        print("no public kernels: --kernels or TILEC_PUBLIC_KERNELS names their folder")
        return SKIPPED
    kernels = corpus.read(folder, options.only)
    if options.ids:
        with open(options.ids) as file:
            wanted = set(file.read().split("\n"))
        kernels = [k for k in kernels if k.id in wanted]
    kernels = kernels[::options.sample]
    libraries = {"": options.lib, **({"old ": options.old} if options.old else {})}
    with tempfile.TemporaryDirectory() as cache:
        command = [sys.executable, os.path.join(HERE, "public_worker.py"), "--kernels", folder, "--libraries", json.dumps(libraries), "--cache", cache]
        command += [flag for flag, wanted in (("--triton", not options.no_triton), ("--as-launched", options.as_launched)) if wanted]
        records = {}
        for do, jobs, until in (("prepare", options.jobs, began + options.budget / 2), ("time", TURNS, began + options.budget)):
            pool = workers.Workers(command, LIMITS[do])
            left = [k for k in kernels if do == "prepare" or records.get(k.id, {}).get("state") == "prepared"]
            for record in run(pool, do, left, jobs, until):
                records[record["id"]] = record
                if options.out:
                    with open(options.out, "a") as file:
                        file.write(json.dumps(record) + "\n")
            pool.close()
            print(f"{do}: {len(left)} kernels, {time.time() - began:.0f} s", flush=True)
    summary(records)
    return 0 if any(r["state"] == "timed" for r in records.values()) else 1


if __name__ == "__main__":
    sys.exit(main())
