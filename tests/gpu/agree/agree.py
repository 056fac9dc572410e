#!/usr/bin/env python3
"""Does the simulator agree with the hardware? Runs probes of every instruction form and whole kernels on the GPU and in
the simulator with the same inputs and compares what they store.

    agree.py --build build/release --out FOLDER       on a machine with a GPU: FOLDER/agreement.md, agreement.json
    agree.py --build build/release --simulator-only   no GPU: that the simulator runs every probe
    agree.py --against build/old/tests/gpu/sim_batch  instead of the GPU another build of the simulator
    agree.py ... --filter TEXT                        only probes whose group or form contains the text

ptxas tells which forms there are on the hardware; without one the driver's assembler does.

Exit status: 0 they agree, 1 they do not, 2 wrong usage, 3 there is no GPU.
"""
import argparse
import collections
import concurrent.futures
import ctypes
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
import traceback

import numpy as np

import assemble
import bounds
import kernels
import scalar
import special
import table
from probe import Array, Struct, TensorMap

HERE = os.path.dirname(os.path.abspath(__file__))
MODULE_SIZE = 64
SHOWN = 3


class Corpus:
    """A folder with modules, inputs and launches of probes."""

    def __init__(self, folder, probes, module_size):
        self.folder, self.probes = folder, probes
        self.data, self.places, self.size = [], {}, 0
        lines, self.starts = [], []
        module, count, previous = None, 0, None
        for i, probe in enumerate(probes):
            name = probe.entry or f"k{i}"
            alone = probe.module or previous is None or previous.module
            if alone or count >= module_size:
                self.starts.append(i)
                module, count = f"m{len(self.starts)}.ptx", 0
                with open(os.path.join(folder, module), "w") as file:
                    file.write(probe.standalone(name))
            else:
                with open(os.path.join(folder, module), "a") as file:
                    file.write((probe.prefix + probe.text).replace("NAME", name))
            count, previous = count + 1, probe
            sizes = [*probe.grid, *probe.block, probe.shared]
            lines.append(" ".join([module, name, *map(str, sizes), *map(self.argument, probe.args)]))
        with open(os.path.join(folder, "inputs.bin"), "wb") as file:
            for array in self.data:
                file.write(array)
        with open(os.path.join(folder, "launches.txt"), "w") as file:
            file.write("\n".join(lines) + "\n")

    def argument(self, arg):
        if isinstance(arg, int):
            return f"i{arg}"
        if isinstance(arg, Struct):
            return "s" + self.place(arg.data)
        if isinstance(arg, TensorMap):
            return "t" + ":".join(map(str, arg.words))
        if arg.kind == "out":
            return f"w{arg.bytes}"
        return {"in": "r", "inout": "u"}[arg.kind] + self.place(arg.data)

    def place(self, array):
        data = array.tobytes()
        if data not in self.places:
            self.places[data] = f"inputs.bin:{self.size}:{len(data)}"
            self.data.append(data)
            self.size += len(data)
        return self.places[data]


def written(probe):
    return [arg for arg in probe.args if isinstance(arg, Array) and arg.kind != "in"]


class Side:
    """Runs all launches of a corpus on one side. results[i] = (verdict, [bytes])."""

    def __init__(self, name, command, corpus, workers, limit):
        self.name, self.command, self.corpus, self.limit = name, command, corpus, limit
        self.results = [("not run", None)] * len(corpus.probes)
        starts = corpus.starts + [len(corpus.probes)]
        pieces = min(4 * workers, len(starts) - 1) if name == "simulator" else min(workers, len(starts) - 1)
        edges = sorted({starts[round(k * (len(starts) - 1) / pieces)] for k in range(pieces + 1)}) if pieces else []
        with concurrent.futures.ThreadPoolExecutor(workers) as pool:
            list(pool.map(lambda span: self.run(*span), zip(edges, edges[1:])))

    def run(self, first, end):
        while first < end:
            result = os.path.join(self.corpus.folder, f"{self.name}.{first}")
            try:
                process = subprocess.run(self.command + [self.corpus.folder, str(first), str(end - first), result],
                                         stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, timeout=self.limit)
                why = f"process ended with status {process.returncode}: {process.stderr.strip()[-300:]}"
            except subprocess.TimeoutExpired:
                why = f"no end after {self.limit} s"
            first = self.collect(result, first, end, why)

    def collect(self, result, first, end, why):
        """Reads what a process left; returns the launch to go on with."""
        verdicts = []
        if os.path.exists(result + ".txt"):
            with open(result + ".txt", errors="replace") as file:
                verdicts = [line.rstrip("\n") for line in file if line.endswith("\n")]
        data, at = b"", 0
        if os.path.exists(result + ".bin"):
            with open(result + ".bin", "rb") as file:
                data = file.read()
            os.remove(result + ".bin")
        for i, verdict in enumerate(verdicts, first):
            arrays = []
            for arg in written(self.corpus.probes[i]):
                arrays.append(data[at:at + arg.bytes])
                at += arg.bytes
            self.results[i] = (verdict, arrays)
        done = first + len(verdicts)
        if done < end and (not verdicts or "status 4" not in why):
            self.results[done] = (why, None)
            done += 1
        return done


class Outcome:
    """What the comparison of one probe said."""

    def __init__(self, probe, gpu, simulator):
        self.probe, self.status, self.message, self.failures = probe, "equal", "", []
        self.tuples = self.equal = self.within = self.nans = 0
        self.largest, self.gpu = 0.0, gpu if getattr(probe, "matrices", False) else None
        if gpu and gpu[0] != "ok":
            self.status = "refused" if "cuModuleLoadData" in gpu[0] or "GetFunction" in gpu[0] else "gpu"
            self.message = gpu[0]
        if simulator[0] != "ok" and self.status != "refused":
            self.status, self.message = "simulator", simulator[0]
        if self.status == "equal" and gpu:
            for which, (check, got, want) in enumerate(zip(probe.checks, gpu[1], simulator[1])):
                self.compare(which, check, np.frombuffer(got, check.stored), np.frombuffer(want, check.stored))

    def compare(self, which, check, got, want):
        differs, wrong, largest, nans = bounds.compare(got, want, check)
        self.tuples += len(got)
        self.equal += int(len(got) - differs.sum())
        self.within += int((differs & ~wrong).sum())
        self.largest, self.nans = max(self.largest, largest), self.nans + nans
        if wrong.any():
            self.status = "differs"
            places = np.flatnonzero(wrong)
            for at in places[np.linspace(0, len(places) - 1, min(SHOWN, len(places))).astype(int)]:
                operands = check.operands(int(at) % len(check.inputs[0]) if len(check.inputs) else int(at)) if check.operands else ""
                self.failures.append(f"array {which} [{at}] ({operands}): GPU {int(got[at]):#x}, simulator {int(want[at]):#x}")

    def json(self):
        return {"group": self.probe.group, "form": self.probe.form, "row": self.probe.row, "status": self.status,
                "message": self.message, "tuples": self.tuples, "equal": self.equal, "within": self.within,
                "largest_ulp": self.largest, "nans": self.nans, "failures": self.failures}


def run_round(probes, module_size, commands, workers, limit):
    """[(gpu result or None, simulator result)] of probes."""
    with tempfile.TemporaryDirectory(prefix="tilec-agree-") as folder:
        corpus = Corpus(folder, probes, module_size)
        simulator = Side("simulator", commands["simulator"], corpus, workers, limit).results
        gpu = Side("gpu", commands["gpu"], corpus, min(workers, 8), limit).results if commands.get("gpu") else [None] * len(probes)
        return list(zip(gpu, simulator))


def run_all(probes, commands, workers, limit):
    results = run_round(probes, MODULE_SIZE, commands, workers, limit)
    # A form that one side does not read spoils its module for the others: those run again on their own.
    again = [i for i, pair in enumerate(results) if any(side and side[0] != "ok" for side in pair) and not probes[i].module]
    if again:
        for i, pair in zip(again, run_round([probes[i] for i in again], 1, commands, workers, limit)):
            results[i] = pair
    return [Outcome(probe, *pair) for probe, pair in zip(probes, results)]


def coverage(rows, probes, refused, reasons):
    """[(row, accepted, refused, reason)] of each row of the table."""
    accepted = collections.Counter(p.row for p in probes)
    turned_down = collections.Counter(p.row for p in refused)
    lines = []
    for row in rows:
        reason = special.REASONS.get(row.name, "") if not accepted[row.number] else ""
        if not accepted[row.number] and turned_down[row.number]:
            reason = reason or "ptxas: " + reasons[next(p.form for p in refused if p.row == row.number)]
        lines.append((row, accepted[row.number], turned_down[row.number], reason))
    return lines


def group_table(outcomes):
    text = ["| group | forms | results | equal | within bound | largest deviation | differ | not run |",
            "|---|---:|---:|---:|---:|---:|---:|---:|"]
    groups = collections.OrderedDict()
    for o in outcomes:
        groups.setdefault(o.probe.group, []).append(o)
    for name, members in groups.items():
        ran = [o for o in members if o.status in ("equal", "differs")]
        largest = max((o.largest for o in ran), default=0)
        text.append(f"| {name} | {len(members)} | {sum(o.tuples for o in ran)} | {sum(o.equal for o in ran)} | "
                    f"{sum(o.within for o in ran)} | {f'{largest:.3g} ulp' if largest else ''} | "
                    f"{sum(o.status == 'differs' for o in ran)} | {len(members) - len(ran)} |")
    return text


def deviation_table(outcomes):
    text = ["| form | bound | results | equal | largest deviation |", "|---|---|---:|---:|---:|"]
    for o in outcomes:
        check = o.probe.checks[0]
        if check.rule == "exact" or o.status not in ("equal", "differs"):
            continue
        element = check.dtype.replace("x2", "")
        share = f"{100 * o.equal / o.tuples:.1f} %" if o.tuples else ""
        text.append(f"| {o.probe.form} | {bounds.BOUNDS[check.rule, element][1]} | {o.tuples} | {share} | {o.largest:.3g} ulp |")
    return text


def report(outcomes, rows, refused, reasons, machine, seconds):
    bad = [o for o in outcomes if o.status != "equal" and o.status != "refused"]
    lines = ["# Agreement of the simulator with hardware", "",
             f"{machine}. {len(outcomes)} forms and kernels, {sum(o.tuples for o in outcomes)} results compared, "
             f"{len(bad)} disagree. Made by `bench/gpu.sh agree`.", "", "## By group", ""] + group_table(outcomes)
    lines += ["", "## Within a bound", ""] + deviation_table(outcomes)
    cover = coverage(rows, [o.probe for o in outcomes], refused, reasons)
    lines += ["", "## Rows of the instruction table", "",
              f"{len(rows)} rows; {sum(1 for c in cover if c[1])} have probes. ptxas takes {sum(c[1] for c in cover)} of the "
              f"{sum(c[1] + c[2] for c in cover)} forms tried.", ""]
    without = [c for c in cover if not c[1]]
    if without:
        lines += ["| row without a probe | why |", "|---|---|"]
        lines += [f"| `{c[0].text.replace('|', ' ')[:100]}` | {c[3] or 'none written'} |" for c in without]
    for status, title in (("differs", "Disagreements"), ("simulator", "The simulator refuses"), ("gpu", "The GPU fails"),
                          ("refused", "The GPU's assembler refuses")):
        chosen = [o for o in outcomes if o.status == status]
        if chosen:
            lines += ["", f"## {title}", ""]
        for o in chosen[:200]:
            detail = f"{o.tuples - o.equal - o.within} of {o.tuples}, {o.nans} of them NaNs" if status == "differs" else o.message[:300]
            lines.append(f"- {o.probe.group}: `{o.probe.form}`: {detail}")
            lines += [f"  - {text}" for text in o.failures]
    lines += ["", f"{seconds:.0f} s."]
    return "\n".join(lines) + "\n", bad


def save_products(path, outcomes):
    """Operands and the GPU's results of the first warps of every mma: what a model of its sums is checked against."""
    arrays = {}
    for o in outcomes:
        if getattr(o.probe, "matrices", False) and o.gpu and o.gpu[1]:
            for name, arg in zip("abc", o.probe.args):
                arrays[f"{o.probe.form}/{name}"] = arg.data[:len(arg.data) // 8]
            d = np.frombuffer(o.gpu[1][0], o.probe.checks[0].stored)
            arrays[f"{o.probe.form}/d"] = d[:len(d) // 8]
    if arrays:
        np.savez_compressed(path, **arrays)


def gpu_name():
    """The name of the first GPU and the driver's version; None without one."""
    try:
        cuda = ctypes.CDLL("libcuda.so.1")
    except OSError:
        return None
    name, version = ctypes.create_string_buffer(128), ctypes.c_int()
    if cuda.cuInit(0) or cuda.cuDeviceGetName(name, 128, 0) or cuda.cuDriverGetVersion(ctypes.byref(version)):
        return None
    return f"{name.value.decode()}, CUDA {version.value // 1000}.{version.value % 1000 // 10}"


def gather(rows, options, folder):
    """The probes, and what is wrong with families that cannot be made: a row may have changed under them."""
    families = [lambda: scalar.scalar_probes(rows), lambda: scalar.carry_probes(rows)]
    families += [lambda f=f: f(rows) for f in special.FAMILIES] + [lambda f=f: f(options, folder) for f in kernels.FAMILIES]
    probes, broken = [], []
    for family in families:
        try:
            for probe in family():
                if options.filter in probe.group or options.filter in probe.form:
                    probes.append(probe)
        except Exception:
            broken.append(traceback.format_exc(limit=-4))
            print(broken[-1], file=sys.stderr)
    return probes, broken


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", default="build/release", help="where src/cli/tilec and tests/gpu/sim_batch are")
    parser.add_argument("--out", default=".", help="folder for agreement.md and agreement.json")
    parser.add_argument("--filter", default="")
    parser.add_argument("--workers", type=int, default=os.cpu_count())
    parser.add_argument("--limit", type=int, default=120, help="seconds for one process")
    parser.add_argument("--ptxas", default=os.environ.get("TILEC_PTXAS", "ptxas"))
    parser.add_argument("--nvcc", default="nvcc", help="compiles the CUDA C kernels")
    parser.add_argument("--triton", default=sys.executable, help="a Python that has Triton")
    parser.add_argument("--simulator-only", action="store_true")
    parser.add_argument("--against", help="a sim_batch of another build, instead of the GPU")
    options = parser.parse_args()
    os.environ["PATH"] += ":/usr/local/cuda/bin"
    started = time.time()
    rows = table.read_rows()
    with tempfile.TemporaryDirectory(prefix="tilec-kernels-") as folder:
        probes, broken = gather(rows, options, folder)
    machine = None if options.simulator_only else options.against or gpu_name()
    if not machine and not options.simulator_only:
        print("agree.py: there is no GPU", file=sys.stderr)
        return 3
    reasons = assemble.refuse_all(options.ptxas, probes, options.workers) if shutil.which(options.ptxas) else {}
    refused, probes = [p for p in probes if p.form in reasons], [p for p in probes if p.form not in reasons]
    commands = {"simulator": [os.path.join(options.build, "tests/gpu/sim_batch")]}
    if options.against:
        commands["gpu"] = [options.against]
    elif machine:
        commands["gpu"] = [sys.executable, os.path.join(HERE, "gpu_batch.py")]
    outcomes = run_all(probes, commands, options.workers, options.limit)
    if machine and not options.against:
        outcomes += [Outcome(*result) for result in kernels.tilec_results(options)]
    text, bad = report(outcomes, rows, refused, reasons, machine or "Simulator only", time.time() - started)
    os.makedirs(options.out, exist_ok=True)
    with open(os.path.join(options.out, "agreement.md"), "w") as file:
        file.write(text)
    with open(os.path.join(options.out, "agreement.json"), "w") as file:
        json.dump({"machine": machine, "refused": reasons, "broken": broken, "outcomes": [o.json() for o in outcomes]}, file, indent=0)
    save_products(os.path.join(options.out, "products.npz"), outcomes)
    print(text if len(text) < 20000 else text[:10000] + "\n...\n" + text[-2000:])
    return 1 if bad or broken else 0


if __name__ == "__main__":
    sys.exit(main())
