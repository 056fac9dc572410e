#!/usr/bin/env python3
"""One mistake, one message, at its place: plants mistakes in kernels and looks at what `tilec check` says of each.

    run.py --tilec build/release/src/cli/tilec [--public [FOLDER]] [--mutants N] [--seed S] [--kernel TEXT] [--show KIND] [-j N]

Of the mutants that are refused, at least 95 % must have their first error within the changed statement, and at least 95 % one error alone;
the others are printed. The mutants are the same for the same seed. --public takes the kernels of a folder (tests/e2e/public/corpus.py)
instead of those of kernels/, --show prints all messages about mutants of a kind."""
import argparse
import collections
import concurrent.futures
import json
import os
import random
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "kernels"))
sys.path.insert(0, os.path.join(HERE, "..", "public"))
import corpus  # noqa: E402
from cases import Array, all_cases  # noqa: E402
from check import KERNELS, signature  # noqa: E402
from kernel_text import KernelText  # noqa: E402
from mutations import MUTATIONS, mutants_of  # noqa: E402

WANTED = 0.95


def own_subjects():
    """name, KernelText, arguments of the command line: one case of each kernel of kernels/."""
    seen = {}
    for case in all_cases(False):
        seen.setdefault((case.file, case.kernel), case)
    for (file, kernel), case in sorted(seen.items()):
        with open(os.path.join(KERNELS, file), encoding="utf-8") as source:
            text = source.read()
        ints = [n for n, v in case.args.items() if isinstance(v, int)]
        pointers = [n for n, v in case.args.items() if isinstance(v, Array)]
        yield f"{file}:{kernel}", KernelText(text, kernel, ints, pointers, case.defines), ["-k", kernel, *signature(case)]


def public_subjects(folder):
    for kernel in corpus.read(folder):
        with open(kernel.path, encoding="utf-8") as source:
            text = source.read()
        ints = [n for n, t in kernel.signature.items() if t in ("i32", "i64")]
        pointers = [n for n, t in kernel.signature.items() if isinstance(t, str) and t.startswith("*")]
        yield kernel.id, KernelText(text, kernel.kernel, ints, pointers, kernel.constexprs), ["-k", kernel.kernel, *kernel.types()]


def errors_of(tilec, text, arguments):
    """The errors about a text, as `tilec check --json` lists them; raises where the compiler ends otherwise than by saying so."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "k.py")
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        process = subprocess.run([tilec, "check", path, *arguments, "--json"], capture_output=True, text=True)
    if process.returncode not in (0, 1):
        raise RuntimeError(f"exit status {process.returncode}: {process.stdout}{process.stderr}\n{text}")
    said = json.loads(process.stdout)
    return [d for d in said["diagnostics"] if d["severity"] == "error"]


class Tally:
    def __init__(self):
        self.made = self.refused = self.placed = self.single = 0
        self.kinds = collections.Counter()
        self.wrong = []

    def add(self, name, mutant, errors):
        self.made += 1
        if not errors:
            return
        self.refused += 1
        self.kinds[mutant.kind] += 1
        first = errors[0]
        placed = mutant.place.first <= (first.get("line") or 0) <= mutant.place.last
        self.placed += placed
        self.single += len(errors) == 1
        if not placed or len(errors) != 1:
            self.wrong.append((mutant.kind, name, mutant, errors))

    def passes(self):
        return self.refused > 0 and self.placed >= WANTED * self.refused and self.single >= WANTED * self.refused


def show(kind, name, mutant, errors):
    lines = mutant.text.split("\n")
    print(f"{kind} in {name}, lines {mutant.place.first} to {mutant.place.last}:")
    for number in range(mutant.place.first, min(mutant.place.last, mutant.place.first + 3) + 1):
        print(f"    {number:4} {lines[number - 1]}")
    for error in errors:
        print(f"    said at {error.get('line')}:{error.get('column')}: {error['message']}")
        if error.get("line") and not mutant.place.first <= error["line"] <= mutant.place.last:
            print(f"             {lines[error['line'] - 1].strip()}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--tilec", required=True)
    parser.add_argument("--public", nargs="?", const="", default=None)
    parser.add_argument("--mutants", type=int, default=16, help="of each kernel")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--kernel", default="")
    parser.add_argument("--show", default="")
    parser.add_argument("-j", type=int, default=2)
    options = parser.parse_args()
    folder = corpus.folder_of_kernels(options.public) if options.public is not None else None
    if options.public is not None and not folder:
        return 77
    subjects = public_subjects(folder) if folder else own_subjects()
    tally, work = Tally(), []
    for name, kernel, arguments in subjects:
        if options.kernel in name and kernel.reached and not errors_of(options.tilec, kernel.text.decode(), arguments):
            rng = random.Random(f"{options.seed}/{name}")
            work += [(name, mutant, arguments) for mutant in mutants_of(kernel, rng, options.mutants)]
    with concurrent.futures.ThreadPoolExecutor(options.j) as pool:
        found = pool.map(lambda item: errors_of(options.tilec, item[1].text, item[2]), work)
        for (name, mutant, _), errors in zip(work, found):
            tally.add(name, mutant, errors)
            if options.show and options.show in (mutant.kind, "all"):
                show(mutant.kind, name, mutant, errors)
    for item in sorted(tally.wrong, key=lambda item: item[:2]):
        show(*item)
    print(f"{tally.made} mutants of {len(MUTATIONS)} kinds, {tally.refused} refused ({len(tally.kinds)} kinds): the first error within the statement "
          f"{tally.placed} ({100 * tally.placed / max(1, tally.refused):.1f} %), one error {tally.single} ({100 * tally.single / max(1, tally.refused):.1f} %)")
    return 0 if tally.passes() else 1


if __name__ == "__main__":
    sys.exit(main())
