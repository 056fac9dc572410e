#!/usr/bin/env python3
"""Runs the examples of docs/reference.md, each a kernel of its own, and compares `r` with what stands behind them.

    run.py --tilec build/release/src/cli/tilec [--device cpu|sim] [--only TEXT] [-j N]

On the interpreter, or compiled and simulated. Integers and exact functions are to be equal, others within the accuracy that their group
states and half a unit of the last place, which the values in the page are rounded to."""
import argparse
import concurrent.futures
import os
import re
import subprocess
import sys
import tempfile
from dataclasses import dataclass

import numpy as np

PAGE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "..", "docs", "reference.md")
STORED = {"fp32": np.float32, "fp64": np.float64, "i1": np.int8, "u8": np.uint8, "i32": np.int32, "u32": np.uint32, "i64": np.int64, "u64": np.uint64}
LEAST = 300  # examples that there must be
ELEMENTS = 64  # behind p and q


@dataclass
class Example:
    name: str
    lines: list
    kind: str  # type of r
    values: np.ndarray
    units: float  # of the last place that an element may be off
    relative: float  # part of itself
    absolute: float


def accuracy(text):
    """Units of the last place, relative error, absolute error."""
    relative, absolute = re.match(r"2\^-([\d.]+) of the result", text), re.match(r"absolute (\de-\d+)", text)
    units = re.search(r"(\d+(?:\.\d+)?) ulp", text)
    if relative:
        return 0, 2.0 ** -float(relative.group(1)), 0
    if absolute:
        return 0, 0, float(absolute.group(1))
    return (float(units.group(1)) if units else 0), 0, 0


def read():
    with open(PAGE, encoding="utf-8") as file:
        lines = file.read().split("\n")
    preamble = lines[lines.index("```") + 1:]
    preamble = preamble[:preamble.index("```")]
    units, name, found = (0, 0, 0), "", []
    for at, line in enumerate(lines):
        if line.startswith("- Accuracy: "):
            units = accuracy(line[len("- Accuracy: "):])
        elif re.match(r"`\w", line):
            name = re.match(r"`([\w.]+)", line).group(1)
        elif line == "```python":
            end = lines.index("```", at)
            kind, values = lines[end - 1][2:].split(" ", 1)
            values = np.array(eval(values, {"inf": np.inf, "nan": np.nan}), dtype=STORED[kind])  # of the project's own page
            found.append(Example(name, lines[at + 1:end - 1], kind, values, *units))
    return preamble, found


def source(preamble, example):
    text = [re.sub(r"\.\.", "o", line.split(" #")[0].rstrip()) if line.startswith("def example") else line for line in preamble]
    count = example.values.size
    text += ["    " + line for line in example.lines]
    text.append(f"    tl.store(o + tl.arange(0, {count}), tl.reshape(r, {count}))" if example.values.shape else "    tl.store(o, r)")
    return "\n".join(text) + "\n"


def right(example, got):
    want = example.values.reshape(-1)
    if example.kind[0] != "f":
        return np.array_equal(got, want)
    with np.errstate(invalid="ignore", over="ignore"):
        unit = np.spacing(np.abs(want)) if example.units else np.zeros_like(want)
        bound = unit * (example.units + 0.5) + np.abs(want) * example.relative + example.absolute
        near = np.abs(got.astype(np.float64) - want.astype(np.float64)) <= bound
    return bool(np.all(near | (got == want) | (np.isnan(got) & np.isnan(want))))


def run(tilec, device, preamble, example):
    """What is wrong; empty: nothing."""
    with tempfile.TemporaryDirectory() as folder:
        path, out = os.path.join(folder, "example.py"), os.path.join(folder, "o.npy")
        with open(path, "w", encoding="utf-8") as file:
            file.write(source(preamble, example))
        kind = "i8" if example.kind == "i1" else example.kind
        command = [tilec, "run", path, "-k", "example", "--device", device, "--grid", "(1,)", "-a", f"p=arange:fp32[{ELEMENTS}]",
                   "-a", f"q=arange:i32[{ELEMENTS}]", "-a", f"o=zeros:{kind}[{example.values.size}]", "--out", f"o={out}"]
        process = subprocess.run(command, capture_output=True, text=True)
        if process.returncode:
            return process.stderr
        got = np.load(out).reshape(-1)
    return "" if right(example, got) else f"    got {got.tolist()}\n    wanted {example.values.reshape(-1).tolist()}"


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--tilec", required=True)
    parser.add_argument("--device", choices=("cpu", "sim"), default="cpu")
    parser.add_argument("--only", default="")
    parser.add_argument("-j", type=int, default=2)
    options = parser.parse_args()
    preamble, examples = read()
    chosen = [e for e in examples if options.only in e.name]
    wrong = 0
    with concurrent.futures.ThreadPoolExecutor(options.j) as pool:
        for example, text in zip(chosen, pool.map(lambda e: run(options.tilec, options.device, preamble, e), chosen)):
            if text:
                wrong += 1
                print(f"{example.name}:\n" + "\n".join("    " + line for line in example.lines) + f"\n{text}")
    print(f"{len(chosen)} examples, {wrong} wrong")
    return 1 if wrong or (not options.only and len(examples) < LEAST) else 0


if __name__ == "__main__":
    sys.exit(main())
