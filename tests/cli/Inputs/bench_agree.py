"""bench_agree.py JSON CSV FOLDER: the three outputs of `tilec bench` say the same: each case of the JSON is a line of the CSV; the pictures in the folder
are well-formed, of themselves alone, and have a dot or a bar for what was measured, with its figures."""
import csv
import json
import os
import sys
import xml.etree.ElementTree as xml

with open(sys.argv[1], encoding="utf-8") as file:
    report = json.load(file)
with open(sys.argv[2], encoding="utf-8", newline="") as file:
    lines = list(csv.DictReader(file))
folder = sys.argv[3]
SVG = "{http://www.w3.org/2000/svg}"


def near(text, value):
    return abs(float(text) - value) <= 1e-6 * abs(value)


def check_line(case, line):
    assert all(line[name] == str(value) for name, value in case["shape"].items()), line
    assert line["configuration"] == case["configuration"] and int(line["runs"]) == case["runs"], line
    for name in ("median", "least", "quarter", "three_quarters"):
        assert ("us" in case) == bool(line[name + "_us"])
        assert "us" not in case or near(line[name + "_us"], case["us"][name]), line
    for name in ("bytes", "flops", "gbs", "gbs_share", "tflops", "tflops_share"):
        assert (name in case) == bool(line[name]), (name, line)
        assert name not in case or near(line[name], case[name]), line
    assert line["failed"] == case.get("failed", ""), line


def picture(name):
    path = os.path.join(folder, name)
    if not os.path.exists(path):
        return None
    root = xml.parse(path).getroot()
    assert root.tag == SVG + "svg" and root.find(SVG + "title") is not None
    text = xml.tostring(root, encoding="unicode")
    assert "href" not in text and "url(" not in text, "it takes something from elsewhere"
    assert "prefers-color-scheme:dark" in text
    return root


def told(root, tag):
    return [element.find(SVG + "title").text for element in root.iter(SVG + tag) if element.find(SVG + "title") is not None]


cases = report["cases"]
assert len(cases) == len(lines)
for case, line in zip(cases, lines):
    check_line(case, line)
    assert ("us" in case) != ("failed" in case)
    if "us" in case:
        us = case["us"]
        assert 0 < us["least"] <= us["quarter"] <= us["median"] <= us["three_quarters"]
        assert near(case["gbs"], case["bytes"] / us["median"] / 1e3)
measured = [case for case in cases if "us" in case]
shapes = {json.dumps(case["shape"]) for case in measured}
configs = {case["configuration"] for case in measured}
sweep, roofline, bars = (picture(name) for name in ("sweep.svg", "roofline.svg", "configurations.svg"))
dots = told(sweep, "circle")
assert len(dots) == len(measured)
for case in measured:
    sizes = ", ".join(f"{name}={value}" for name, value in case["shape"].items())
    assert any(dot.startswith(f"{sizes}, {case['configuration']}: ") and dot.endswith(f"{case['us']['median']:.4g} us") for dot in dots), (sizes, dots)
assert len([line for line in sweep.iter(SVG + "polyline") if len(line.get("points").split()) == len(shapes)]) >= (len(configs) if len(shapes) > 2 else 0)
assert (roofline is not None) == any("flops" in case for case in measured)
assert roofline is None or len(told(roofline, "circle")) == len(shapes)
assert (bars is not None) == (len({case["configuration"] for case in cases}) > 1)
assert bars is None or len(told(bars, "rect")) == len(configs)
print(f"{len(cases)} cases, {len(measured)} measured, of {len(shapes)} shapes")
