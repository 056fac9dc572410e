"""lines.py REPORT.json STAGE 'SOURCE TEXT' 'STAGE TEXT' ..: some line of the stage (its id, or its kind) that has the one text is of a line of the source
that has the other, and no line that has it is of another line. `a|b`: that has the one or the other. `-` for a source text: of none."""
import json
import re
import sys

with open(sys.argv[1], encoding="utf-8") as file:
    report = json.load(file)
report = report[0] if isinstance(report, list) else report
stage = [stage for stage in report["stages"] if sys.argv[2] in (stage["id"], stage["kind"])][-1]
wrong = []
for wanted, text in zip(sys.argv[3::2], sys.argv[4::2]):
    places = [at for line, at in zip(stage["lines"], stage["at"]) if re.search(text, line)]
    found = {report["sources"][at[0]]["text"].split("\n")[at[1] - 1].strip() if at else "-" for at in places}
    if not places or any(not any(part in line for part in wanted.split("|")) for line in found):
        wrong.append(f"{stage['id']}: lines with {text!r} are of {found or 'no line'}, not of {wanted!r}")
print("\n".join(wrong))
sys.exit(bool(wrong))
