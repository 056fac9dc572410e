"""Runs public kernels on the interpreter and on the simulator and compares the two; needs NumPy alone."""
import json
import os
import subprocess
import tempfile
import time

import numpy as np

import difference
import widen

TARGETS = ("sm_80", "sm_90a")
# The adversarial schedule keeps the warps of a program as far apart as barriers let them be.
WAYS = {"cpu": ("-d", "cpu"), "sim sm_80": ("-d", "sim", "-t", "sm_80"), "sim sm_90a": ("-d", "sim", "-t", "sm_90a"),
        "adversarial sm_90a": ("-d", "sim", "-t", "sm_90a", "--schedule", "adversarial")}
REPORTING = "sim sm_90a"  # the way that counts what is stored


def execute(command, limit):
    """{ok, s, and of a failure id and message} of a tilec command: the first error's, or what became of the process."""
    began = time.time()
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=limit)
    except subprocess.TimeoutExpired:
        return dict(ok=False, id="time-limit", message=f"not done in {limit:g} s", s=limit)
    spent = round(time.time() - began, 2)
    if done.returncode < 0:
        return dict(ok=False, id="crash", message=f"signal {-done.returncode}", s=spent)
    try:
        report = json.loads(done.stdout)
    except ValueError:
        return dict(ok=False, id="no-report", message=(done.stderr or done.stdout).strip()[:300], s=spent)
    errors = [d for d in report["diagnostics"] if d["severity"] == "error"]
    if not errors and report["ok"] and not done.returncode:
        stores = report.get("counts", {}).get("global_written", {}).get("bytes_distinct")
        return dict(ok=True, s=spent, **({} if stores is None else {"stored": stores}))
    first = errors[0] if errors else dict(id=f"status {done.returncode}", message="")
    return dict(ok=False, id=first["id"], message=first["message"][:300], line=first.get("line"), s=spent)


def launch(tilec, kernel, way, grid, files, limit):
    """What became of one way to run a launch, and the arrays after it (parameter -> elements as the file has them)."""
    outputs = {n: f"{path}-{way.replace(' ', '-')}.npy" for n, path in files.items()}
    command = [tilec, "run", *kernel.options(), *kernel.data(files), *WAYS[way], "--grid", "(" + "".join(f"{g}," for g in grid) + ")"]
    command += ["--report", "--ptxas", "none"] if way == REPORTING else []
    for n, path in outputs.items():
        command += ["--out", f"{n}={path}"]
    state = execute(command, limit)
    arrays = {n: np.load(path) for n, path in outputs.items()} if state["ok"] else None
    for path in outputs.values():
        if os.path.exists(path):
            os.unlink(path)
    return state, arrays


def save(start, folder):
    """Writes the arrays (parameter -> (type, elements)); parameter -> file."""
    files = {n: os.path.join(folder, f"{i}.npy") for i, n in enumerate(start)}
    for n, path in files.items():
        np.save(path, start[n][1])
    return files


def as_stored(arrays, start):
    """Arrays as tilec wrote them in the types that `start` holds them in: bf16 and fp8 are files of bytes."""
    return {n: a.view(start[n][1].dtype) for n, a in arrays.items()}


def in_float64(tilec, kernel, grid, start, limit):
    """The launch in float64 on the interpreter: (arrays after it, arrays before it); None where it cannot be had."""
    with tempfile.TemporaryDirectory() as folder:
        wide, arrays = widen.widened(kernel, start, os.path.join(folder, "wide.py"))
        _, result = launch(tilec, wide, "cpu", grid, save(arrays, folder), limit)
        return None if result is None else (as_stored(result, arrays), arrays)


def fewer(grid):
    """The grid with half of the programs along its last axis of several; None if it has one program."""
    axis = max((i for i in range(3) if grid[i] > 1), default=None)
    return None if axis is None else tuple(-(-g // 2) if i == axis else g for i, g in enumerate(grid))


class Judge:
    def __init__(self, options):
        self.options = options

    def compile(self, kernel):
        made = {}
        with tempfile.TemporaryDirectory() as folder:
            for target in TARGETS:
                command = [self.options.tilec, "compile", *kernel.options(), *kernel.types(), "-t", target,
                           "-e", "cubin" if self.options.cubin else "ptx", "-o", os.path.join(folder, "out")]
                made[target] = execute(command, self.options.limit)
        return made

    def launch_all(self, kernel, start, files):
        """The launch in every way, with as many programs as the limit allows: (grid, way -> state, way -> arrays)."""
        grid = kernel.grid
        while True:
            ways, results = {}, {}
            for way in WAYS:
                ways[way], results[way] = launch(self.options.tilec, kernel, way, grid, files, self.options.limit)
                if ways[way].get("id") == "time-limit":
                    break
            late = any(w.get("id") == "time-limit" for w in ways.values())
            if not late or fewer(grid) is None:
                return grid, ways, {way: r and as_stored(r, start) for way, r in results.items()}
            grid = fewer(grid)

    def run(self, kernel):
        """What the launch did in every way, and how far the simulator's results are from the interpreter's."""
        start = kernel.arrays()
        with tempfile.TemporaryDirectory() as folder:
            grid, ways, results = self.launch_all(kernel, start, save(start, folder))
        if all(w["ok"] for w in ways.values()):
            for way, result in results.items():
                ways[way]["error"], ways[way]["where"] = difference.worst(results["cpu"], result, start, kernel.arithmetic())
        return dict(grid=list(grid), ways=ways)

    def judge(self, kernel):
        """The record of a kernel: id, state, why, compiled, grid, ways."""
        record = dict(id=kernel.id, compiled=self.compile(kernel))
        refused = [(t, c) for t, c in record["compiled"].items() if not c["ok"]]
        if refused:
            target, state = refused[0]
            return dict(record, state=state["id"], why=f"{target}: {state['message']}")
        if kernel.grid is None:
            return dict(record, state="compiles", why=kernel.why)
        record.update(self.run(kernel))
        failed = [(w, r) for w, r in record["ways"].items() if not r["ok"]]
        if failed:
            way, state = failed[0]
            return dict(record, state=state["id"], why=f"{way}: {state['message']}")
        if not record["ways"][REPORTING].get("stored"):
            return dict(record, state="stores-nothing", why="the launch stores nothing")
        error, way = max((r["error"], w) for w, r in record["ways"].items())
        if error > 1:
            return dict(record, state="differs", why=f"{way}: {error:.3g} times the tolerance in '{record['ways'][way]['where']}'")
        return dict(record, state="agrees", why="")

    def close(self):
        """Nothing is held from one kernel to the next."""
