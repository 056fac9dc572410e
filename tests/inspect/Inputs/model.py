"""model.py REPORT.json: the busiest unit of the model of each role's iteration, and whether the model is within 1.4 times of what ran."""
import json
import sys

with open(sys.argv[1], encoding="utf-8") as file:
    report = json.load(file)
for loop in report["loops"]:
    for role in loop["roles"]:
        ratio = role["clocks"] / loop["turn_cycles"]
        busiest = max(role["units"], key=lambda unit: unit["clocks"])["name"]
        print(f"{role['name']}: {busiest}; the model", "is right" if 1 / 1.4 < ratio < 1.4 else f"says {role['clocks']} clocks where {loop['turn_cycles']} passed")
