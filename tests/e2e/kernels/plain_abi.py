#!/usr/bin/env python3
"""Holds the plain form (docs/ahead-of-time.md) to its promise.

    plain_abi.py --tilec build/release/src/cli/tilec [-j N]

One case of every kernel of kernels/, and some public ones where their folder is there (public/corpus.py): the entry in PTX has the parameters of the
signature that are no constexprs, in order and as wide, and no others, and the facts promise nothing else. Some then run from their text on
the simulator, launched as a stranger would: a block for each program of the grid, the source's parameters as arguments. In their usual form
the same kernels must have hidden parameters of every kind among them, else this shows nothing."""
import argparse
import concurrent.futures
import itertools
import json
import os
import re
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "public"))
import corpus  # noqa: E402
from cases import all_cases  # noqa: E402
from check import KERNELS, signature  # noqa: E402
from persistent import persistent_cases  # noqa: E402
from simulate import compile_case, first_difference, simulate  # noqa: E402

PLAIN = "--plain-abi"
TARGET = "sm_90a"
SIMULATED = ("softmax", "layernorm", "matmul", "matmul_blocks", "matmul_persistent")
PUBLIC_EVERY = 100  # one of so many public kernels is taken
KINDS = {"grid_parameter", "persistent", "tensor_maps"}  # of hidden parameters, as the facts call them


def width(kind):
    """Bits of a parameter in PTX; floats narrower than 32 bits are passed as fp32, i1 takes a byte."""
    kind = kind.split(":")[0]
    if kind.startswith("*"):
        return 64
    bits = int(re.search(r"\d+", kind).group())
    return max(32, bits) if kind[0] in "fb" else max(8, bits)


def entry_widths(ptx):
    """Bits of each parameter of the only entry."""
    listed = re.search(r"\.entry\s+[\w$.]+\s*\((.*?)\)\s", ptx, re.S).group(1)
    array = re.compile(r"\.b8\s+\w+\[(\d+)\]")
    return [8 * int(array.search(part).group(1)) if array.search(part) else int(re.search(r"\.[ubfs](\d+)", part).group(1))
            for part in listed.split(",") if part.strip()]


def compiled(tilec, arguments, form=()):
    """Facts and PTX of one compilation."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "k.ptx")
        process = subprocess.run([tilec, "compile", *arguments, *form, "-t", TARGET, "--json", "--emit", "ptx", "-o", path, "--cache-dir", "none"],
                                 capture_output=True, text=True)
        if process.returncode:
            raise RuntimeError(process.stdout + process.stderr)
        with open(path, encoding="utf-8") as file:
            return json.loads(process.stdout), file.read()


def check(tilec, name, kinds, arguments, is_ours):
    """What is wrong, or None; and which kinds of hidden parameters the usual form has."""
    try:
        usual, _ = compiled(tilec, arguments)
    except RuntimeError as problem:
        return (f"{name}: {problem}" if is_ours else None), set()  # what tilec refuses of others is the concern of public/run.py
    facts, ptx = compiled(tilec, arguments, [PLAIN])
    wrong = {key: facts[key] for key in KINDS if facts[key]}
    if facts["programs_per_cta"] != 1 or not facts["plain_abi"] or usual["plain_abi"]:
        wrong["plain_abi"] = facts["plain_abi"]
    threads = int(re.search(r"\.reqntid\s+(\d+)", ptx).group(1))
    if threads != facts["threads"]:
        wrong["threads"] = (threads, facts["threads"])
    if entry_widths(ptx) != [width(kind) for kind in kinds]:
        wrong["parameters"] = (entry_widths(ptx), kinds)
    return (f"{name}: {wrong}" if wrong else None), {kind for kind in KINDS if usual[kind]}


def run(tilec, case):
    """What is wrong with a launch of the plain form on the simulator, or None."""
    with tempfile.TemporaryDirectory() as folder:
        outcome = simulate(tilec, compile_case(tilec, case, TARGET, [PLAIN]), case, folder)
        wrong = outcome.findings[0]["message"] if outcome.findings else first_difference(case, outcome)
        return f"{case.name}: {wrong}" if wrong else None


def of_case(case):
    arguments = signature(case)
    kinds = [arguments[i + 1].split("=")[1] for i, word in enumerate(arguments) if word == "-a"]
    return case.name, kinds, [os.path.join(KERNELS, case.file), "-k", case.kernel, *arguments], True


def public_kernels():
    folder = corpus.folder_of_kernels(None)
    for kernel in corpus.read(folder)[::PUBLIC_EVERY] if folder else ():
        kinds = []
        for kind in kernel.signature.values():
            kinds += [] if kind == "constexpr" else [kind] if isinstance(kind, str) else kind
        yield kernel.id, kinds, [*kernel.options(), *kernel.types()], False


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tilec", required=True)
    parser.add_argument("-j", type=int, default=2)
    options = parser.parse_args()
    cases = {}
    for case in [*itertools.islice(persistent_cases(), 1), *all_cases(False)]:
        cases.setdefault((case.file, case.kernel), case)
    with concurrent.futures.ThreadPoolExecutor(options.j) as pool:
        checked = list(pool.map(lambda job: check(options.tilec, *job), [*map(of_case, cases.values()), *public_kernels()]))
        ran = list(pool.map(lambda case: run(options.tilec, case), (c for c in cases.values() if c.kernel in SIMULATED)))
    missing = KINDS.difference(*(kinds for _, kinds in checked))
    wrong = [text for text in [w for w, _ in checked] + ran if text]
    wrong += [f"no kernel has {kind} in its usual form" for kind in sorted(missing)]
    print("\n".join(wrong + [f"{len(checked)} kernels compiled, {len(ran)} run, {len(wrong)} problems"]))
    return 1 if wrong or not ran else 0


if __name__ == "__main__":
    sys.exit(main())
