"""pictures.py REPORT.json: what pictures of loops and of shared memory are made of, in words."""
import json
import sys

with open(sys.argv[1], encoding="utf-8") as file:
    report = json.load(file)
for loop in report["loops"]:
    source, number = loop["at"]
    print("loop", report["sources"][source]["text"].split("\n")[number - 1].strip(), f"{loop['stages']} stages")
    for role in loop["roles"]:
        kinds = [op["kind"] for op in role["ops"]]
        ahead = max(op["ahead"] for op in role["ops"])
        print(f"{role['name']} of {role['warps']} warps: {kinds.count('copy')} copies {ahead} ahead, {kinds.count('wait')} waits,"
              f" {kinds.count('product')} products")
for buffer in report["shared"]["buffers"]:
    print("buffer", buffer["type"], "x", buffer["copies"])
print("layouts of", len({layout["stage"] for layout in report["layouts"]}), "stages")
