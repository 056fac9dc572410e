#!/usr/bin/env python3
"""Does a change of the compiler leave its code as it is? PTX of every case of tests/e2e/kernels, of every configuration that the contests try
(candidates.py) and of the public kernels (tests/e2e/public), for sm_80 and sm_90a; no GPU is needed.

    same_ptx.py --tilec OLD --keep FOLDER           writes FOLDER/<name>.ptx
    same_ptx.py --tilec NEW --against FOLDER        compiles them again; prints those whose PTX differs, or is not there
    [--filter TEXT] [--targets sm_80,sm_90a] [--jobs N] [--kernels FOLDER of public kernels; none: left out where there are none]

Exit status: 0 all are the same (or written), 1 some differ, are refused by one of both, or are not in the folder, 2 wrong usage."""
import argparse
import concurrent.futures
import os
import re
import subprocess
import sys

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..")
for folder in ("bench", "tests/e2e/kernels", "tests/e2e/public"):
    sys.path.append(os.path.join(ROOT, folder))

import cases  # noqa: E402
import check  # noqa: E402
import compile_candidates  # noqa: E402
import corpus  # noqa: E402


def file_name(text):
    return re.sub(r"[^A-Za-z0-9.=-]+", "-", text).strip("-")


def configurations(public):
    """(name, options of `tilec compile`)"""
    for number, case in enumerate(cases.all_cases(False)):
        yield f"case {number} {case.name}", [os.path.join("kernels", case.file), "-k", case.kernel, *check.signature(case)]
    for row in compile_candidates.rows():
        yield compile_candidates.name_of(row), [os.path.join("kernels", row[0]), "-k", row[1], *compile_candidates.options_of(row)]
    for kernel in corpus.read(public) if public else ():
        yield f"public {kernel.id}", [kernel.path, "-k", kernel.kernel, "--num-warps", str(kernel.num_warps), "--num-stages",
                                      str(kernel.num_stages), *kernel.types()]


def ptx_of(tilec, options, target):
    """PTX, or what the compiler says instead."""
    process = subprocess.run([tilec, "compile", *options, "--target", target, "--emit", "ptx", "-o", "-", "--cache-dir", "none"],
                             capture_output=True, cwd=ROOT)
    return process.stdout if process.returncode == 0 else b"refused, status %d\n" % process.returncode


def examine(options, name, arguments, target):
    """What is to say of the PTX; None: it is as it was."""
    ptx = ptx_of(options.tilec, arguments, target)
    path = os.path.join(options.keep or options.against, f"{file_name(name)}.{target}.ptx")
    if options.keep:
        with open(path, "wb") as file:
            file.write(ptx)
        return None
    if not os.path.exists(path):
        return "NOT KEPT"
    with open(path, "rb") as file:
        return None if file.read() == ptx else "DIFFERS"


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tilec", required=True)
    way = parser.add_mutually_exclusive_group(required=True)
    way.add_argument("--keep", metavar="FOLDER")
    way.add_argument("--against", metavar="FOLDER")
    parser.add_argument("--filter", default="")
    parser.add_argument("--targets", default="sm_80,sm_90a")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--kernels", metavar="FOLDER")
    options = parser.parse_args()
    if options.against and not os.path.isdir(options.against):
        parser.error(f"{options.against} is no folder")
    return options


def main():
    options = parse_arguments()
    options.tilec = os.path.abspath(options.tilec)
    if options.keep:
        os.makedirs(options.keep, exist_ok=True)
    work = [(name, arguments, target) for name, arguments in dict(configurations(corpus.folder_of_kernels(options.kernels))).items()
            if options.filter in name for target in options.targets.split(",")]
    differ = 0
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        for (name, _, target), said in zip(work, pool.map(lambda w: examine(options, *w), work)):
            if said:
                differ += 1
                print(f"{said} {name}, {target}", flush=True)
    print(f"same_ptx: {len(work)} compiled, {differ} differ or were not kept")
    return 1 if differ or not work else 0


if __name__ == "__main__":
    sys.exit(main())
