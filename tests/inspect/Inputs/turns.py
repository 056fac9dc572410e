"""turns.py REPORT.json: the turn of each role of each loop that the clock kept: how long it took, and its pieces by kind."""
import json
import sys

with open(sys.argv[1], encoding="utf-8") as file:
    report = json.load(file)
for loop in report["loops"]:
    for role in loop["roles"]:
        run = role["run"]
        if not run:
            print(f"{role['name']}: none")
            continue
        if abs(run["clocks"] - loop["turn_cycles"]) > 0.1 * run["clocks"] and len(loop["roles"]) == 1:
            sys.exit(f"a turn of {run['clocks']} clocks, in the mean {loop['turn_cycles']}")
        copies = [piece["until"] - run["clocks"] for piece in run["pieces"] if piece["kind"] == "copy"]
        waited = [piece["to"] for piece in run["pieces"] if piece["kind"] == "wait"]
        if len(loop["roles"]) == 1 and max(copies, default=0) > 0 and max(waited, default=0) + 1 < max(copies):
            sys.exit(f"copies end at {max(copies)}, who waits for them at {max(waited, default=0)}")
        kinds = {}
        for piece in run["pieces"]:
            clocks = kinds.setdefault(piece["kind"], [0, 0, 0])
            for i, part in enumerate((piece["to"] - piece["from"], piece["replays"], piece["until"] - piece["to"])):
                clocks[i] += part
        print(f"{role['name']}: turn {run['turn']} of {run['turns']}, {run['clocks']:.0f} clocks;", ", ".join(f"{kind} {busy:.0f} ({replays:.0f} replays, {later:.0f} later)" for kind, (busy, replays, later) in sorted(kinds.items())))
        most = max(run["units"], key=lambda unit: unit["clocks"])
        print(f"  all warps: {most['name']} {most['clocks']:.0f} ({most['replays']:.0f} replays)")
