"""A kernel of kernels/ compiled to PTX once, and run from that text on the simulator as often as wanted.

Unlike `tilec run --device sim` the text may be changed in between, and the schedule chosen.
"""
import json
import math
import os
import subprocess
from dataclasses import dataclass

import numpy as np

from cases import Array, Case
from check import KERNELS, compare, result_of, signature


@dataclass
class Program:
    """PTX text with what a launch of it needs."""

    ptx: str
    kernel: str
    shared: int  # bytes of dynamic shared memory
    per_cta: int  # programs of the grid's first dimension that share a CTA
    hidden_grid: int  # so many parameters after the kernel's own are dimensions of the grid
    persistent: bool = False  # any number of CTAs go through the programs of the grid
    tensor_maps: tuple = ()  # recipes of the parameters after that


@dataclass
class TensorMap:
    """An argument that is a tensor map of an array, which then is no argument itself."""

    array: str
    box: tuple
    swizzle: str = "none"


@dataclass
class Outcome:
    status: int  # of `tilec sim`; 0: no findings
    findings: list  # diagnostics, as --json gives them
    counts: dict  # None: nothing was launched
    results: dict  # name -> Array, what the outputs hold


def compile_case(tilec, case: Case, target, options=()):
    command = [tilec, "compile", os.path.join(KERNELS, case.file), "-k", case.kernel, "--target", target,
               "--emit", "ptx", "-o", "/dev/stdout", "--cache-dir", "none", *options] + signature(case)
    ptx = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    command[command.index("ptx")] = "meta"
    meta = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
    return Program(ptx, meta["kernel"], meta["shared_bytes"], max(1, meta["programs_per_cta"]),
                   3 if meta["persistent"] else int(meta["grid_parameter"]), meta["persistent"],
                   tuple(recipe["recipe"] for recipe in meta["tensor_maps"]))


def parameter(name, value, folder):
    """What `-a` takes for it; arrays are written to the folder."""
    if isinstance(value, float):
        return f"{name}={value!r}:fp32"
    if isinstance(value, TensorMap):
        return f"{name}=map:{value.array}[{','.join(map(str, value.box))}]:swizzle={value.swizzle}"
    if not isinstance(value, Array):
        return f"{name}={value}"
    path = os.path.join(folder, f"{name}.npy")
    if not os.path.exists(path):
        np.save(path, value.bits)
    return f"{name}=@{'bf16:' if value.dtype == 'bf16' else ''}{path}"


def blocks_of(program: Program, case: Case, ctas):
    """The grid that a launcher starts; `ctas` of a persistent program: None is one for three programs."""
    if not program.persistent:
        return [-(-case.grid[0] // program.per_cta), *case.grid[1:]]
    return [ctas or -(-math.prod(case.grid) // 3)]


def simulate(tilec, program: Program, case: Case, folder, options=(), run="run", ctas=None):
    """Runs the program's text on the arguments of the case. Inputs are written to `folder` once, the text and
    outputs of this run under its name, so that runs may go on side by side. `ctas`: see blocks_of."""
    text = os.path.join(folder, f"{run}.ptx")
    with open(text, "w", encoding="utf-8") as file:
        file.write(program.ptx)
    grid = blocks_of(program, case, ctas)
    command = [tilec, "sim", text, "-k", program.kernel, "--shared", str(program.shared), "--json", "--report", "--ptxas", "none",
               "--grid", f"({', '.join(map(str, grid))},)", *options]
    outputs = {}
    mapped = {value.array for value in case.args.values() if isinstance(value, TensorMap)}
    for name, value in case.args.items():
        command += ["--array" if name in mapped else "-a", parameter(name, value, folder)]
        if isinstance(value, Array) and value.is_output:
            outputs[name] = os.path.join(folder, f"{run}.{name}.npy")
            command += ["--out", f"{name}={outputs[name]}"]
    for axis in range(program.hidden_grid):
        command += ["-a", f"programs_{axis}={[*case.grid, 1, 1][axis]}"]
    for i, recipe in enumerate(program.tensor_maps):
        command += ["-a", f"tensor_map_{i}=recipe:{recipe}"]
    process = subprocess.run(command, capture_output=True, text=True)
    try:
        report = json.loads(process.stdout)
    except json.JSONDecodeError:
        report = {"diagnostics": [{"id": "", "message": process.stderr.strip()}], "counts": None}
    results = {name: result_of(case.args[name], path) for name, path in outputs.items()
               if report["counts"] and os.path.exists(path)}
    return Outcome(process.returncode, report["diagnostics"], report["counts"], results)


def needs_other_form(outcome: Outcome):
    """No tensor map can hold the arguments: a launcher takes the form compiled with --no-tensor-copies."""
    return bool(outcome.findings) and outcome.findings[0]["message"].startswith("no tensor map")


def first_difference(case: Case, outcome: Outcome):
    """None, or where a result is not what the float64 reference gives."""
    inputs = {name: (value.values if isinstance(value, Array) else value) for name, value in case.args.items()}
    for name, expected in case.reference(inputs).items():
        wrong = compare(case, name, case.args[name], outcome.results[name], expected)
        if wrong:
            return wrong
    return None
