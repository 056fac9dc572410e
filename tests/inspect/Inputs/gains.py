"""gains.py REPORT.json REPAIRED.json KIND: what the first finding, of that kind, says to gain at most, and whether the repaired kernel keeps to it."""
import json
import re
import sys

reports = []
for path in sys.argv[1:3]:
    with open(path, encoding="utf-8") as file:
        reports.append(json.load(file))
launch = reports[0]["profile"]["launch"]
before, after = (report["profile"]["launch"]["microseconds"] for report in reports)
first = reports[0]["findings"][0]
if first["kind"] != sys.argv[3]:
    sys.exit(f"the first finding is {first['kind']}")
if any(finding["kind"] == sys.argv[3] for finding in reports[1]["findings"]):
    sys.exit("the repaired kernel has it too")
if before - after > first["gain_us"] + 0.02:
    sys.exit(f"{before} us became {after}: more than {first['gain_us']} us less")
queue = re.search(r"(\d+) of them in a queue for a busy unit", first["figures"])
if first["kind"] == "bank_conflicts" and launch["rounds"] == 1:
    clocks = launch["alone_cycles"] * (1 - first["left"]["bounds"]["latency"] / launch["bounds"]["latency"])
    if abs(first["cycles"] - (int(queue[1]) if queue else 0) - clocks) > 0.01 * launch["alone_cycles"]:
        sys.exit(f"{first['figures']}: by latency {clocks:.0f} clocks fewer")
ptx = next(stage["lines"] for stage in reports[0]["stages"] if stage["kind"] == "ptx")
print(f"of {before} us at most {first['gain_us']} us: {before - after:.2f} us; the line costs most at", ptx[first["ptx_line"] - 1].strip().split()[0])
