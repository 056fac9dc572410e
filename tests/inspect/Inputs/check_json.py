"""check_json.py FILE: what `tilec diff --json` wrote agrees with itself: measures with lists, differences with values, loops with what they are made of."""
import json
import sys

with open(sys.argv[1], encoding="utf-8") as file:
    report = json.load(file)

CLASSES = {"global": "global-accesses", "shared": "shared-accesses", "local": "local-accesses", "param": "param-accesses", "memory": "other-accesses"}


def check_side(side):
    facts, measures = report[side], report[side]["measures"]
    counts = sum(form["count"] for form in facts["forms"])
    assert measures["instructions"]["value"] == counts
    assert counts == sum(line["count"] for line in facts["lines"]) + facts["no_line"]
    for name in {form["class"] for form in facts["forms"]}:
        of_class = sum(form["count"] for form in facts["forms"] if form["class"] == name)
        assert measures[CLASSES.get(name, name)]["value"] == of_class, name
    loops = facts["loops"]
    assert measures["loops"]["value"] == sum(not loop["waits"] for loop in loops)
    assert measures["loop-instructions"]["value"] == sum(loop["instructions"] for loop in loops if loop["parent"] is None)
    for index, loop in enumerate(loops):
        assert loop["parent"] is None or loop["parent"] < index
        assert loop["instructions"] == sum(count for _, count in loop["forms"])
        assert loop["instructions"] >= sum(count for _, count in loop["lines"])
        assert all(count <= facts["forms"][form]["count"] for form, count in loop["forms"])
        assert all(count <= facts["lines"][line]["count"] for line, count in loop["lines"])
        assert loop["ptx"][0] <= loop["ptx"][1]
    for value in measures.values():
        assert ("why" in value) == (value["value"] is None)


def check_comparison():
    a, b = report["a"], report["b"]
    assert [row["name"] for row in report["measures"]] == list(a["measures"]) == list(b["measures"])
    for row in report["measures"]:
        x, y = a["measures"][row["name"]]["value"], b["measures"][row["name"]]["value"]
        assert (row["a"], row["b"]) == (x, y)
        assert row["difference"] == (None if x is None or y is None else y - x)
        assert (row["percent"] is None) == (x is None or y is None or x == 0)
        assert row["better"] in ("lower", "higher", "same")
    for side in "ab":
        rows = {row["form"]: row[side] for row in report["forms"] if row[side]}
        assert rows == {form["form"]: form["count"] for form in report[side]["forms"]}
        waits = {index for index, loop in enumerate(report[side]["loops"]) if loop["waits"]}
        pairs = [pair[side] for pair in report["loops"] if pair[side] is not None]
        assert len(set(pairs)) == len(pairs) and set(pairs) | waits == set(range(len(report[side]["loops"])))
        assert sorted(pair[side] for pair in report["lines"] if pair[side] is not None) == list(range(len(report[side]["lines"])))
    for limit in report["limits"]:
        row = next(row for row in report["measures"] if row["name"] == limit["measure"])
        worse = {"lower": row["difference"], "higher": -row["difference"], "same": abs(row["difference"])}[row["better"]]
        assert limit["worse"] == worse


for side in "ab":
    check_side(side)
check_comparison()
assert report["ok"] == (all(limit["holds"] for limit in report["limits"]) and not any(d["severity"] == "error" for d in report["diagnostics"]))
print("ok", report["ok"], "same", report["same"], "loops", len(report["loops"]), "limits", len(report["limits"]))
