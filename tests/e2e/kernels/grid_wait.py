#!/usr/bin/env python3
"""No pass moves what touches global memory in front of gdc_wait, nor what stands before it behind.

    grid_wait.py --tilec build/release/src/cli/tilec [-j N]

One case of every kernel of kernels/, with a wait as the first statement and a second one as the last: in the PTX nothing reads or writes
global memory, or starts copies of it, before the first, in each of the roles that warps have, and nothing behind the last. Where programs
come one after another in a loop the last of one stands before the next one's accesses, so that those are held to the first alone."""
import argparse
import ast
import concurrent.futures
import itertools
import os
import re
import shutil
import subprocess
import sys
import tempfile

from cases import all_cases
from check import KERNELS, signature
from persistent import persistent_cases

TARGET = "sm_90a"
WAIT = "griddepcontrol.wait"
ACCESS = re.compile(r"\s(ld|st|atom|red)(\.\w+)*\.global|cp\.async\.(ca|cg)|cp\.async\.bulk\.tensor|cp\.reduce\.async\.bulk")
HAS_PRODUCER = re.compile(r"\bbar\.arrive\s+0,")  # which has set the mbarriers up
PROGRAM = re.compile(r"\bbar\.sync\s+0,")  # where the program's warps go on, behind the code of the producer


def with_waits(text, kernel):
    """The source, its kernel waiting first and last."""
    function = next(node for node in ast.parse(text).body if isinstance(node, ast.FunctionDef) and node.name == kernel)
    lines = text.splitlines()
    body = [node for node in function.body if not (isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant))]
    indent = " " * body[0].col_offset
    lines.insert(function.end_lineno, indent + "tl.extra.cuda.gdc_wait()")
    lines.insert(body[0].lineno - 1, indent + "tl.extra.cuda.gdc_wait()")
    return "\n".join(lines) + "\n"


def roles_of(ptx):
    """Lines of the code of each role: a producer's, if there is one, then the program's."""
    lines = ptx[ptx.index(".entry"):].splitlines()
    if not HAS_PRODUCER.search(ptx):
        return [lines]
    start = next(i for i, line in enumerate(lines) if PROGRAM.search(line))
    return [lines[:start], lines[start:]]


def problem_of(ptx, is_persistent):
    for role in roles_of(ptx):
        waits = [i for i, line in enumerate(role) if WAIT in line]
        accesses = [i for i, line in enumerate(role) if ACCESS.search(line)]
        if not waits or not accesses:
            return "a role neither waits nor accesses memory"
        if accesses[0] < waits[0]:
            return f"in front of the first wait: {role[accesses[0]].strip()}"
        if not is_persistent and (len(waits) < 2 or accesses[-1] > waits[-1]):
            return f"behind the last wait: {role[accesses[-1]].strip()}"
    return None


def check(tilec, case):
    with tempfile.TemporaryDirectory() as folder:
        for file in os.listdir(KERNELS):
            shutil.copy(os.path.join(KERNELS, file), folder)
        source, ptx = os.path.join(folder, os.path.basename(case.file)), os.path.join(folder, "k.ptx")
        with open(os.path.join(KERNELS, case.file), encoding="utf-8") as file:
            text = with_waits(file.read(), case.kernel)
        with open(source, "w", encoding="utf-8") as file:
            file.write(text)
        process = subprocess.run([tilec, "compile", source, "-k", case.kernel, *signature(case), "-t", TARGET, "--emit", "ptx", "-o", ptx,
                                  "--cache-dir", "none"], capture_output=True, text=True)
        if process.returncode:
            return f"{case.name}: {process.stderr}", False
        with open(ptx, encoding="utf-8") as file:
            made = file.read()
    wrong = problem_of(made, "is persistent" in process.stderr)
    return (f"{case.name}: {wrong}" if wrong else None), len(roles_of(made)) > 1


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tilec", required=True)
    parser.add_argument("-j", type=int, default=2)
    options = parser.parse_args()
    cases = {}
    for case in [*itertools.islice(persistent_cases(), 1), *all_cases(False)]:
        cases.setdefault((case.file, case.kernel), case)
    with concurrent.futures.ThreadPoolExecutor(options.j) as pool:
        checked = list(pool.map(lambda case: check(options.tilec, case), cases.values()))
    wrong = [text for text, _ in checked if text]
    producers = sum(has_producer for _, has_producer in checked)
    print("\n".join(wrong + [f"{len(checked)} kernels, {producers} with producers, {len(wrong)} problems"]))
    return 1 if wrong or not producers else 0


if __name__ == "__main__":
    sys.exit(main())
