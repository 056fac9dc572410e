"""figures.py BENCH FIGURES DOCUMENT: the files of FIGURES are as compact() of BENCH/tables.py writes what they hold, and the tables made of them
stand in DOCUMENT."""
import glob
import json
import os
import sys

sys.path.insert(0, sys.argv[1])
import tables

with open(sys.argv[3]) as file:
    told = set(file.read().splitlines())
for path in sorted(glob.glob(os.path.join(sys.argv[2], "*.json"))):
    with open(path) as file:
        text = file.read()
    report = json.loads(text)
    assert tables.compact(report) == text, path
    cases = sum(len(part) for part in report.values() if isinstance(part, list))
    assert text.count("\n") <= cases + 3 * len(report) + 2, path
    missing = [line for line in tables.markdown(report).splitlines() if line.startswith("|") and line not in told]
    assert not missing, f"{path}: not in {sys.argv[3]}: {missing[0]}"
