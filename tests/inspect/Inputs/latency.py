"""latency.py REPORT.json: whether all waits are told of who makes them, and the longest, as the page lists them; and who waits longest for whom."""
import json
import sys

with open(sys.argv[1], encoding="utf-8") as file:
    report = json.load(file)
ptx = next(stage["lines"] for stage in report["stages"] if stage["kind"] == "ptx")
counted = report["profile"]["ptx"]
waits, awaited, held = (sum(line[name] for line in counted) for name in ("wait_cycles", "awaited_cycles", "held_cycles"))
if abs(waits - awaited - held) > 0.1 * len(counted) + 1:
    sys.exit(f"{waits} clocks of waits: {awaited} for results, {held} at instructions that hold warps up")
found = [(line["awaited_cycles"], "result of", line["line"]) for line in counted] + [(line["held_cycles"], "held at", line["line"]) for line in counted]
clocks, what, line = max(found)
alone = report["profile"]["launch"]["alone_cycles"]
print(f"{what} {ptx[line - 1].strip().split()[0]} {100 * clocks / alone:.0f} % of {alone}")
wait = max(report["profile"]["waits"], key=lambda wait: wait["cycles"])
line, maker = (f"{ptx[wait[end] - 1].split()[0]} of line {next(stage['at'] for stage in report['stages'] if stage['kind'] == 'ptx')[wait[end] - 1][1]}" for end in ("line", "for"))
print(f"{line} waits for {maker} {100 * wait['cycles'] / alone:.0f} %")
