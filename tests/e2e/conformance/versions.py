#!/usr/bin/env python3
"""Do versions of the language have what Triton's versions have?

    versions.py --tilec build/release/src/cli/tilec [--filter TEXT] [-j N]
    versions.py --record VERSION              with the Triton that Python finds: what it says of every row, into versions.tsv

A row of the table compiles with `--language V` where Triton V compiles it, and is refused where that refuses it; as rows assert the types of what
they compute, that holds those, too. versions.tsv has the rows that some versions compile and others do not, with a letter a version of
VERSIONS: `a` compiled, `R` refused, `.` not recorded. What is otherwise here stands in OTHERWISE with the reason. No GPU is needed: Triton goes as
far as TTIR.

Exit status: 0 all as recorded, 1 some are not."""
import argparse
import collections
import concurrent.futures
import linecache
import os
import re
import subprocess
import sys
import tempfile

import launch
from rows import module_source
from table import all_rows
from triton_accepts import signature_of

VERSIONS = ("3.2", "3.3", "3.4", "3.5", "3.6", "3.7", "3.8", "3.9")
PATH = os.path.join(os.path.dirname(os.path.abspath(__file__)), "versions.tsv")

# Pattern of rows -> what is accepted or refused here whatever the version, and why.
OTHERWISE = {
    r"memory: (make_block_ptr|block|advance)\b.*": "block pointers are kept, with a warning",
    r"orders: histogram (i64|u8|i16) .*": "histograms of these are kept, with a warning",
    r"control: (text .*|static (hasattr|float|constexpr_type)|gdc|aggregate|namedtuple)":
        "texts, types and classes of compile-time values are those of 3.6 in every version",
    r"control: (tl.range options|call|call by name|two results|recursion|tuple argument|global constexpr|global tuple|tuples|tuple swapped|"
    r"tuple sliced|constexpr parameter|augmented|assert)": "the functions beside the kernel are of 3.5 on",
    r"reductions: sum method|shapes: item": "methods are those of 3.4 in every version",
    r"atomics: atomic_cas scalar i64": "from 3.5 on the verifier errs: the operands are converted here",
    r"orders: flip (bf16|.* None)": "3.4 to 3.8 lack the dimension None; the type of 3.2's result errs",
    r"refused: refused (literal too large|truth of a tile|cat without reorder|randint of floats|must use result|block plus number|dot out_dtype|"
    r"(reduce|scan) of another type|while of a tile|advance of a pointer|fma of integers|mask of (integers|floats)|attribute assigned)":
        "refused in every version: what the older ones make of it is an internal error, or not what is written",
}


def key_of(row):
    return f"{row.group}: {row.name}"


def read():
    """Row -> a letter for each version."""
    try:
        with open(PATH, encoding="utf-8") as file:
            return dict(line.rstrip("\n").split("\t") for line in file if not line.startswith("#"))
    except FileNotFoundError:
        return {}


def write(recorded):
    with open(PATH, "w", encoding="utf-8") as file:
        file.write(f"# Rows that some of Triton {', '.join(VERSIONS)} compile (a) and others refuse (R): versions.py --record.\n")
        for name, letters in sorted(recorded.items()):
            file.write(f"{name}\t{letters}\n")


def source_of(ASTSource, kernel, row, version):
    """Triton 3.2 names constants, and has no unsigned type of one bit."""
    signature, constants, attributes = signature_of(row)
    if not version.startswith("3.2."):
        return ASTSource(kernel, signature, constants, attributes)
    names = list(signature)
    return ASTSource(kernel, {n: re.sub(r"^(\*?)u1$", r"\1i1", t) for n, t in signature.items() if t != "constexpr"},
                     {names[place[0]]: value for place, value in constants.items()})


def by_triton(rows, folder):
    """Row -> `a` or `R`, by the Triton of this Python."""
    import triton
    from triton.backends import backends
    from triton.backends.compiler import GPUTarget
    from triton.compiler import ASTSource

    import worker

    class Compiled(Exception):
        pass

    def stop(*_, **__):
        raise Compiled

    backend = backends["nvidia"].compiler
    stages_of = backend.add_stages

    def first_stage(self, stages, *arguments, **options):
        stages_of(self, stages, *arguments, **options)
        stages[list(stages)[1]] = stop

    backend.add_stages = first_stage
    letters = {}
    for row in rows:
        # A file of its own: a version that lacks what one row imports has the others all the same.
        with open(os.path.join(folder, "row.py"), "w", encoding="utf-8") as file:
            file.write(module_source([row]))
        linecache.clearcache()
        try:
            triton.compile(source_of(ASTSource, getattr(worker.module_of(folder, "row"), row.kernel), row, triton.__version__),
                           target=GPUTarget("cuda", 90, 32), options={"num_warps": row.warps})
        except Compiled:
            letters[key_of(row)] = "a"
        except Exception:
            letters[key_of(row)] = "R"
    return letters


def arguments_of(row):
    signature, constants, _ = signature_of(row)
    named = {list(signature)[place[0]]: value for place, value in constants.items()}
    out = []
    for name, spelled in signature.items():
        if spelled == "constexpr":
            out += ["-D", f"{name}={named[name]!r}"]
        else:
            out += ["-a", f"{name}=" + {"u1": "i1", "*u1": "*i1"}.get(spelled, spelled)]
    return out


def by_tilec(tilec, row, folder, version):
    """(`a`, `R` or `?`, the first message)"""
    command = [tilec, "compile", os.path.join(folder, row.group + ".py"), "-k", row.kernel, *arguments_of(row), "-e", "tir", "-o", os.devnull,
               "--language", version, "--cache-dir", "none"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    said = re.search(r"error: .*", done.stderr)
    return {0: "a", 1: "R"}.get(done.returncode, "?"), said[0] if said else done.stderr[:200]


def reason_of(name):
    return next((why for pattern, why in OTHERWISE.items() if re.fullmatch(pattern, name)), None)


def judge(options, rows, folder):
    recorded, wrong, held = read(), 0, collections.Counter()
    asked = [(row, version, letter) for row in rows if key_of(row) in recorded
             for version, letter in zip(VERSIONS, recorded[key_of(row)]) if letter != "."]
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        found = pool.map(lambda task: by_tilec(options.tilec, task[0], folder, task[1]), asked)
        differing = collections.defaultdict(list)
        for (row, version, letter), (ours, said) in zip(asked, found):
            if ours == letter:
                held[letter] += 1
            else:
                differing[key_of(row)].append(f"{version}: {'compiled' if ours == 'a' else said}")
    for row in rows:
        name = key_of(row)
        if name in recorded and bool(differing[name]) != bool(reason_of(name)):
            wrong += 1
            print(f"FAILED {name} ({recorded[name]}): " + ("; ".join(differing[name]) or "as Triton's, though OTHERWISE has it"))
    print(f"{len({r.name for r, _, _ in asked})} rows in {len(VERSIONS)} versions: {held['a']} compiled and {held['R']} refused as by Triton, {wrong} failed")
    return 1 if wrong or not asked else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tilec")
    parser.add_argument("--record", metavar="VERSION", choices=VERSIONS)
    parser.add_argument("--filter", default="")
    parser.add_argument("-j", "--jobs", type=int, default=os.cpu_count())
    options = parser.parse_args()
    rows = [r for r in all_rows() if options.filter in key_of(r)]
    with tempfile.TemporaryDirectory(prefix="versions-") as folder:
        launch.write_modules(rows, folder)
        if not options.record:
            return judge(options, rows, folder)
        os.environ.setdefault("TRITON_CACHE_DIR", os.path.join(folder, "cache"))
        letters, recorded, at = by_triton(rows, folder), read(), VERSIONS.index(options.record)
        for row in rows:
            name = key_of(row)
            before = recorded.get(name, "." * len(VERSIONS))
            recorded[name] = before[:at] + letters[name] + before[at + 1:]
        write({name: letters for name, letters in recorded.items() if "." in letters or len(set(letters)) > 1})
    return 0


if __name__ == "__main__":
    sys.exit(main())
