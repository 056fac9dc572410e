#!/usr/bin/env python3
"""Judges tilec by public kernels.

    run.py --tilec build/release/src/cli/tilec [--kernels FOLDER] [--out results.jsonl] [-j N] [--only TEXT] [--sample N]
    run.py --device cuda --tilec TILEC --lib libtilec.so ...      on a GPU, beside Triton; needs torch and Triton
    run.py --summary --out results.jsonl                          the table of results there are

FOLDER (else TILEC_PUBLIC_KERNELS, else shared/public beside the repository) is described in corpus.py; without it nothing is judged and the exit
status is 77. On the CPU each kernel is compiled for sm_80 and sm_90a with the signature, specialisation, warps and stages of the index, and where
there are arguments it runs on the interpreter and on the simulator for both targets, for sm_90a in the adversarial schedule too: no check may
find anything, and the results must agree as difference.py measures. A launch that takes longer than the limit is run again with fewer programs, in
every way: half of them along the last axis that has more than one, which any kernel allows whose programs do not wait for each other. On a GPU
see on_gpu.py.

Results are a JSON line a kernel; a kernel that has one is not run again. Exit status: 0 every kernel is as expected, that is, agrees or stands
in exceptions.tsv with the state it has; 1 some are not; 2 wrong usage; 77 there are no kernels."""
import argparse
import collections
import concurrent.futures
import json
import sys
import time

import corpus
import on_cpu
import on_gpu

GOOD = ("agrees", "as-near", "compiles", "no-arguments", "triton-refuses")
SKIPPED = 77


def read_results(path):
    """id -> record; of several the last."""
    try:
        with open(path) as file:
            return {record["id"]: record for record in map(json.loads, file)}
    except FileNotFoundError:
        return {}


def print_compiled(records):
    compiled = {t: sum(r["compiled"][t]["ok"] for r in records) for t in on_cpu.TARGETS}
    run = [r for r in records if r.get("ways") and all(w["ok"] for w in r["ways"].values())]
    exact = sum(all(w.get("error", 0.0) == 0 for w in r["ways"].values()) for r in run)
    print("| kernels | " + " | ".join(f"compiled {t}" for t in compiled) + " | run | equal in every bit |")
    print("|---|" + "---|" * (len(compiled) + 2))
    print(f"| {len(records)} | " + " | ".join(map(str, compiled.values())) + f" | {len(run)} | {exact} |\n")


def summary(kernels, results, expected):
    """Prints the tables and every kernel that is not as expected; how many those are."""
    records = [results[k.id] for k in kernels if k.id in results]
    if records and all("compiled" in r for r in records):
        print_compiled(records)
    print("| state | kernels |\n|---|---|")
    for state, count in collections.Counter(r["state"] for r in records).most_common():
        print(f"| {state} | {count} |")
    shrunk = sum(1 for k in kernels if results.get(k.id, {}).get("grid") not in (None, k.grid and list(k.grid)))
    print(f"\n{shrunk} with fewer programs than their launch has")
    wrong = 0
    for kernel in kernels:
        record, exception = results.get(kernel.id), expected.get(kernel.name)
        if record and (record["state"] in exception[0].split("/") if exception else record["state"] in GOOD):
            continue
        wrong += 1
        found = f"{record['state']}: {record['why']}" if record else "not judged"
        print(f"NOT AS EXPECTED {kernel.name}: {found}" + (f"; exceptions.tsv has {exception[0]}" if exception else ""))
    return wrong


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tilec", default="tilec")
    parser.add_argument("--kernels", metavar="FOLDER")
    parser.add_argument("--device", choices=("cpu", "cuda"), default="cpu")
    parser.add_argument("--lib", help="libtilec.so, for --device cuda")
    parser.add_argument("--out", help="results, appended to; those that are there are kept")
    parser.add_argument("-j", "--jobs", type=int, default=1)
    parser.add_argument("--only", help="kernels whose id contains the text")
    parser.add_argument("--sample", type=int, default=1, metavar="N", help="every Nth kernel")
    parser.add_argument("--limit", type=float, default=60, help="seconds that a command may take, on a GPU a kernel")
    parser.add_argument("--budget", type=float, default=1e9, help="seconds after which no further kernel is begun")
    parser.add_argument("--cubin", action="store_true", help="compile to a cubin, with ptxas")
    parser.add_argument("--summary", action="store_true", help="judge nothing, print the table of --out")
    options = parser.parse_args()
    if options.device == "cuda" and not options.lib and not options.summary:
        parser.error("--device cuda needs --lib")
    return options


def judge_all(judge, kernels, options):
    """The records, as they are made."""
    began = time.time()

    def within_budget(kernel):
        return judge.judge(kernel) if time.time() - began < options.budget else None

    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        for future in concurrent.futures.as_completed([pool.submit(within_budget, k) for k in kernels]):
            if future.result():
                yield future.result()


def main():
    options = arguments()
    folder = corpus.folder_of_kernels(options.kernels)
    if not folder:
        print("no public kernels: --kernels or TILEC_PUBLIC_KERNELS names their folder")
        return SKIPPED
    kernels = corpus.read(folder, options.only)[::options.sample]
    if not kernels:
        print(f"run.py: no kernel's id contains '{options.only}'", file=sys.stderr)
        return 2
    results = read_results(options.out) if options.out else {}
    if not options.summary:
        judge = on_gpu.Judge(options, folder) if options.device == "cuda" else on_cpu.Judge(options)
        for record in judge_all(judge, [k for k in kernels if k.id not in results], options):
            results[record["id"]] = record
            if options.out:
                with open(options.out, "a") as file:
                    file.write(json.dumps(record) + "\n")
        judge.close()
    expected = corpus.exceptions(options.device)
    wrong = summary(kernels, results, expected)
    unknown = [] if options.only or options.sample != 1 else sorted(set(expected) - {k.name for k in kernels})
    if unknown:
        print("exceptions.tsv names kernels that are not there: " + ", ".join(unknown))
    return 1 if wrong or unknown else 0


if __name__ == "__main__":
    sys.exit(main())
