"""shared.py REPORT.json: the worst access of shared memory of each line of the PTX, how often words were read, kinds of findings."""
import json
import re
import sys

with open(sys.argv[1], encoding="utf-8") as file:
    report = json.load(file)
ptx = next(stage["lines"] for stage in report["stages"] if stage["kind"] == "ptx")
for access in report["profile"]["shared"]:
    steps = {b - a for a, b in zip(access["addresses"], access["addresses"][1:])}
    name = re.search(r"(ld|st|ldmatrix|stmatrix|cp)\.\S+", ptx[access["line"] - 1]).group(0)
    print(f"{name} {'reads' if access['reads'] else 'writes'} {access['size']} bytes of {len(access['addresses'])} lanes{f' {steps.pop()} apart' if len(steps) == 1 else ''}:"
          f" {access['wavefronts']} wavefronts where {access['ideal_wavefronts']} would do")
words, first = (sum(line[name] for line in report["profile"]["lines"]) for name in ("words", "first_words"))
print(f"each word was read {words / first:.1f} times")
for finding in report["findings"]:
    print(finding["kind"])
