#!/usr/bin/env python3
"""Every message that the front end can give is provoked by a test.

    diagnostics.py --source FOLDER

The rows of diags.def with the front end's prefixes are the messages. A row is covered by a message of its id in one of the golden files, which
tests compare with what is said, or by a unit test that names it, as DIAG_id or as "id"."""
import argparse
import os
import re
import sys

PREFIXES = ("lex_", "parse_", "elab_", "unit_", "evaluate_", "language_")
GOLDEN = ("tests/frontend/elaborate/Inputs/errors.expected", "tests/frontend/elaborate/Inputs/errors_values.expected",
          "tests/frontend/elaborate/Inputs/kernels.expected", "tests/frontend/parse/Inputs/errors.golden")
UNITS = ("tests/frontend", "tests/runtime")
LEAST = 120  # kinds of mistake


def read(*path):
    with open(os.path.join(*path), encoding="utf-8") as file:
        return file.read()


def units(root):
    for folder in UNITS:
        for place, _, names in os.walk(os.path.join(root, folder)):
            yield from (read(place, name) for name in names if name.endswith(".c"))


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--source", required=True)
    root = parser.parse_args().source
    rows = re.findall(r"^DIAG\((\w+),", read(root, "src/support/diags.def"), re.M)
    wanted = {row for row in rows if row.startswith(PREFIXES)}
    golden = {name for path in GOLDEN for name in re.findall(r"^\[(\w+)\] ", read(root, path), re.M)}
    named = {name for text in units(root) for name in re.findall(r'\bDIAG_(\w+)|"(\w+)"', text) for name in name}
    untested, unknown = wanted - golden - named, golden - set(rows)
    for name in sorted(untested):
        print(f"{name}: no test provokes it")
    for name in sorted(unknown):
        print(f"{name}: a golden file has it, and the table has not")
    print(f"{len(wanted)} messages of the front end: {len(wanted & golden)} in golden files, {len((wanted & named) - golden)} more in unit tests")
    return 1 if untested or unknown or len(wanted & golden) < LEAST else 0


if __name__ == "__main__":
    sys.exit(main())
