"""A program run by tilec in every way that must agree, against the reference."""
import os
import re
import shutil
import subprocess
from dataclasses import dataclass

import numpy as np

from formats import FP8, from_bits
from program import arguments, source, statements
from reference import agrees, evaluate

TIMEOUT = 60  # seconds of one run
MAX_STEPS = 50_000_000

# Interpreted as elaborated and after every pass; the PTX, whoever goes first and whenever copies land.
SCHEDULES = (["--schedule", "round-robin"], ["--schedule", "adversarial", "--early"], ["--schedule", "adversarial"],
             ["--schedule", "random", "--seed", "1", "--early"])
WAYS = {f"passes {target}": ["--device", "cpu", "--target", target, "--every-pass"] for target in ("sm_80", "sm_90a")}
WAYS |= {f"simulated {target}, {' '.join(schedule)}": ["--device", "sim", "--target", target, *schedule]
         for target in ("sm_80", "sm_90a") for schedule in SCHEDULES}


@dataclass
class Failure:
    way: str
    kind: str  # what is the same when the same fault shows in a smaller program
    text: str

    def is_like(self, other):
        return self.way == other.way and self.kind == other.kind


def _kind(process):
    """The first error, without places and numbers."""
    for line in process.stderr.splitlines():
        if "error: " in line:
            text = line.split("error: ", 1)[1]
            return re.sub(r"'[^']*'|`[^`]*`|-?\b\d[\w.+-]*", "_", text)[:100]
    return f"exit status {process.returncode}"


class Launch:
    """Files of one program in a folder, which goes with it."""

    def __init__(self, tilec, program, folder, allowed=None):
        self.tilec, self.program, self.folder = tilec, program, folder
        self.expected, printed = evaluate(program) if allowed is None else evaluate(program, allowed)
        self.printed = sorted(printed)
        self.bound = max((float(err.max()) for _, err in self.expected.values() if err is not None), default=0.0)
        os.makedirs(folder, exist_ok=True)
        self.file = os.path.join(folder, "kernel.py")
        with open(self.file, "w", encoding="utf-8") as file:
            file.write(source(program))
        for name, bits in arguments(program).items():
            np.save(os.path.join(folder, f"{name}.npy"), bits)

    def command(self, options, outputs=True):
        program, folder = self.program, self.folder
        command = [self.tilec, "run", self.file, "-k", "kernel", "--grid", f"({', '.join(map(str, program.grid))},)", "--num-warps",
                   str(program.warps), "--num-stages", str(program.stages), "--max-steps", str(MAX_STEPS),
                   "--cache-dir", os.path.join(folder, "cache"), *options]
        if any(s.op == "assert" for s in statements(program.body)):
            command.append("--debug")
        for name, array in program.arrays.items():
            prefix = f"@{array.dtype}:" if array.dtype == "bf16" or array.dtype in FP8 else ""
            command += ["-a", f"{name}={prefix}{folder}/{name}.npy"]
            if outputs and array.role != "in":
                command += ["--out", f"{name}={folder}/{name}.out.npy"]
        for name, (dtype, value) in program.scalars.items():
            command += ["-a", f"{name}={value}:{dtype}"]
        for name, value in program.constants.items():
            command += ["-D", f"{name}={value}"]
        return command

    def run(self, way):
        """None, or what went wrong."""
        for name in self.expected:
            path = os.path.join(self.folder, f"{name}.out.npy")
            if os.path.exists(path):
                os.unlink(path)
        options = WAYS[way]
        if "--every-pass" in options:
            options = [*options, "--atol", repr(2 * self.bound), "--rtol", "0"]
        try:
            process = subprocess.run(self.command(options), capture_output=True, text=True, timeout=TIMEOUT)
        except subprocess.TimeoutExpired:
            return Failure(way, "timeout", f"no end after {TIMEOUT} s")
        if process.returncode:
            return Failure(way, _kind(process), process.stderr.strip()[-3000:])
        printed = sorted(re.sub(r"-(?=0\.000000$)", "", line) for line in process.stdout.splitlines() if line.startswith("pid ("))
        if printed != self.printed:
            wrong = sorted(set(printed) ^ set(self.printed)) or ["lines more than once"]
            return Failure(way, "printed", f"{len(printed)} lines, expected {len(self.printed)}; {wrong[0]}")
        for name, (expected, err) in self.expected.items():
            dtype = self.program.arrays[name].dtype
            got = from_bits(dtype, np.load(os.path.join(self.folder, f"{name}.out.npy")))
            wrong = ~agrees(dtype, got, expected, err)
            if wrong.any():
                at = int(np.argmax(wrong))
                return Failure(way, "result", f"{name}[{at}] is {got[at]!r}, expected {expected[at]!r}"
                               f"{f' within {err[at]:.3g}' if err is not None and err[at] else ''}; {int(wrong.sum())} of {wrong.size} differ")
        return None

    def close(self):
        shutil.rmtree(self.folder, ignore_errors=True)


def check(tilec, program, folder, ways=None, allowed=None):
    """The first failure, or None."""
    launch = Launch(tilec, program, folder, allowed)
    try:
        for way in ways or WAYS:
            failure = launch.run(way)
            if failure:
                return failure
        return None
    finally:
        launch.close()
