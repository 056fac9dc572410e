"""profile.py REPORT.json: the launch, whether the lines' clocks add up, and what each line counts."""
import json
import sys

with open(sys.argv[1], encoding="utf-8") as file:
    report = json.load(file)
profile = report["profile"]
launch = profile["launch"]
print("grid", *launch["grid"], "on", launch["device"])
total = sum(line["cycles"] for line in profile["lines"])
print("the lines take all clocks of a program" if abs(total - launch["cycles"]) < 2 else f"the lines take {total} of {launch['cycles']} clocks")
for line in profile["lines"]:
    if line["sectors"]:
        source, number = line["at"]
        text = report["sources"][source]["text"].split("\n")[number - 1].strip()
        print(f"{text}: {line['sectors']} of {line['ideal_sectors']} sectors" + (", awaited" if line["awaited_cycles"] > 0 else ""))
