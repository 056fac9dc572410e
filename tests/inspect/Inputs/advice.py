"""advice.py REPORT.json: kind and advice of each finding, a line each."""
import json
import sys

with open(sys.argv[1], encoding="utf-8") as file:
    report = json.load(file)
for finding in (report[0] if isinstance(report, list) else report)["findings"]:
    print(f"{finding['kind']}: {finding['try']}")
