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
import re
import shutil
import subprocess
import sys
import tempfile
import threading
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
SHOWN = 3
NOT_RUN = "not run"
# What may hang or end a context comes last.
LAST = ("barriers", "control", "mbarriers", "clusters", "bulk copies", "tensor copies", "warpgroup products", "tensor copies outside")


def order_of(group):
    return LAST.index(group) + 1 if group in LAST else 0


class Corpus:
    """A folder with modules, inputs and launches of probes. Modules come from the prepared folder; a probe that it does
    not have, or any when `alone`, gets a module of its own."""

    def __init__(self, folder, probes, prepared, alone=False):
        self.folder = folder
        self.data, self.places, self.size = [], {}, 0
        known = {} if alone else prepared.kernels
        found = [known.get(assemble.key_of(p)) for p in probes]
        # Launches of one module follow each other; `number` is the place of each among the probes.
        self.number = sorted(range(len(probes)), key=lambda i: (order_of(probes[i].group), found[i][0] if found[i] else f"~{i:06}"))
        self.probes = [probes[i] for i in self.number]
        lines, self.starts, previous = [], [], None
        for at, i in enumerate(self.number):
            module, name = found[i] or (f"own{i}.ptx", probes[i].entry or f"k{i}")
            if module != previous:
                self.starts.append(at)
                previous = module
                self.module(module, probes[i], name, prepared.folder if found[i] else None)
            sizes = [*probes[i].grid, *probes[i].block, probes[i].shared]
            lines.append(" ".join([module, name, *map(str, sizes), *map(self.argument, probes[i].args)]))
        with open(os.path.join(folder, "inputs.bin"), "wb") as file:
            for array in self.data:
                file.write(array)
        with open(os.path.join(folder, "launches.txt"), "w") as file:
            file.write("\n".join(lines) + "\n")

    def module(self, module, probe, name, folder):
        """Probes of two groups may be launches of one kernel, and its module stand at two places of the order."""
        if os.path.exists(os.path.join(self.folder, module)):
            return
        if folder:
            for file in (module, module[:-4] + ".cubin"):
                os.symlink(os.path.join(os.path.abspath(folder), file), os.path.join(self.folder, file))
        else:
            with open(os.path.join(self.folder, module), "w") as file:
                file.write(probe.standalone(name))

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
    """Runs all launches of a corpus on one side. `results` gets (verdict, [bytes]) at the probes' places."""

    def __init__(self, name, command, corpus, workers, limit, results, deadline):
        self.name, self.command, self.corpus, self.limit, self.results, self.deadline = name, command, corpus, limit, results, deadline
        starts = corpus.starts + [len(corpus.probes)]
        pieces = min(4 * workers, len(starts) - 1)
        edges = sorted({starts[round(k * (len(starts) - 1) / pieces)] for k in range(pieces + 1)}) if pieces else []
        with concurrent.futures.ThreadPoolExecutor(workers) as pool:
            list(pool.map(lambda span: self.run(*span), zip(edges, edges[1:])))

    def run(self, first, end):
        while first < end and time.time() < self.deadline:
            result = os.path.join(self.corpus.folder, f"{self.name}.{first}")
            limit = max(1, min(self.limit, self.deadline - time.time() + 5))
            try:
                process = subprocess.run(self.command + [self.corpus.folder, str(first), str(end - first), result],
                                         stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, timeout=limit,
                                         env=os.environ | {"AGREE_DEADLINE": str(self.deadline)})
                why = f"process ended with status {process.returncode}: {process.stderr.strip()[-300:]}"
            except subprocess.TimeoutExpired:
                why = f"no end after {limit:.0f} s"
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
            self.results[self.corpus.number[i]] = (verdict, arrays)
        done = first + len(verdicts)
        if done < end and time.time() < self.deadline and (not verdicts or "status 4" not in why):
            self.results[self.corpus.number[done]] = (why, None)
            done += 1
        return done


class Outcome:
    """What the comparison of one probe said."""

    def __init__(self, probe, gpu, simulator):
        self.probe, self.status, self.message, self.failures = probe, "equal", "", []
        self.tuples = self.equal = self.within = self.nans = 0
        self.largest, self.gpu = 0.0, gpu if getattr(probe, "matrices", False) else None
        if gpu and gpu[0] == NOT_RUN or simulator[0] == NOT_RUN:
            self.status = "not run"
            return
        if probe.may_end and self.ends(gpu, simulator):
            return
        if gpu and gpu[0] != "ok":
            self.status = "refused" if "cuModuleLoadData" in gpu[0] or "GetFunction" in gpu[0] else "gpu"
            self.message = gpu[0]
        if simulator[0] != "ok" and self.status != "refused":
            self.status, self.message = "simulator", simulator[0]
        if self.status == "equal" and gpu:
            for which, (check, got, want) in enumerate(zip(probe.checks, gpu[1], simulator[1])):
                self.compare(which, check, np.frombuffer(got, check.stored), np.frombuffer(want, check.stored))

    def ends(self, gpu, simulator):
        """Of a launch that may end: whether one side ended it, which the other then has to."""
        ended = [side[0] != "ok" and not side[0].startswith(("cuModule", "process", "no end")) for side in (gpu or simulator, simulator)]
        if not any(ended):
            return False
        self.tuples, self.equal = 1, int(all(ended))
        if not all(ended):
            self.status = "differs"
            self.failures.append(f"GPU: {gpu[0]}; simulator: {simulator[0]}")
        return True

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


class Session:
    """All probes, what both sides said of them, and the report, which is written again as results come in."""

    def __init__(self, options, rows, probes, refused, prepared, machine, broken):
        self.options, self.rows, self.probes, self.refused, self.prepared = options, rows, probes, refused, prepared
        self.machine, self.broken = machine, broken
        self.simulator, self.gpu = [(NOT_RUN, None)] * len(probes), [(NOT_RUN, None)] * len(probes) if machine else [None] * len(probes)
        self.extra = []
        self.started, self.deadline = time.time(), time.time() + options.deadline

    def say(self, text):
        print(f"{time.time() - self.started:6.1f} s: {text}", flush=True)

    def pass_over(self, name, command, chosen, results, alone, workers):
        """Runs the chosen probes on one side."""
        if not chosen:
            return
        with tempfile.TemporaryDirectory(prefix="tilec-agree-") as folder:
            corpus = Corpus(folder, [self.probes[i] for i in chosen], self.prepared, alone)
            Side(name, command, corpus, workers, self.options.limit, Shared(results, chosen), self.deadline)
        self.say(f"{name}: {sum(results[i][0] == 'ok' for i in chosen)} of {len(chosen)} ran{' on their own' if alone else ''}")

    def simulate(self):
        """What the simulator does not read spoils its module for the others: those run again on their own."""
        command, workers, everything = [os.path.join(self.options.build, "tests/gpu/sim_batch")], self.options.workers, range(len(self.probes))
        self.pass_over("simulator", command, everything, self.simulator, False, workers)
        again = [i for i in everything if self.simulator[i][0] != "ok" and not self.probes[i].module and not self.probes[i].may_end]
        self.pass_over("simulator", command, again, self.simulator, True, workers)

    def run_gpu(self, command):
        workers = min(self.options.workers, 8)
        stop = threading.Event()
        writer = threading.Thread(target=lambda: [self.write() for _ in iter(lambda: stop.wait(30), True)], daemon=True)
        writer.start()
        everything = range(len(self.probes))
        self.pass_over("gpu", command, everything, self.gpu, False, workers)
        again = [i for i in everything if self.gpu[i][0].startswith(("cuModuleLoad", "process"))]
        self.pass_over("gpu", command, again, self.gpu, True, workers)
        stop.set()
        writer.join()

    def outcomes(self):
        return [Outcome(*triple) for triple in zip(self.probes, list(self.gpu), list(self.simulator))] + [Outcome(*r) for r in self.extra]

    def write(self):
        outcomes = self.outcomes()
        text, bad = report(outcomes, self.rows, self.refused, self.prepared.refused, self.machine or "Simulator only", time.time() - self.started)
        with open(os.path.join(self.options.out, "agreement.md"), "w") as file:
            file.write(text)
        with open(os.path.join(self.options.out, "agreement.json"), "w") as file:
            json.dump({"machine": self.machine, "broken": self.broken, "outcomes": [o.json() for o in outcomes]}, file, indent=0)
        save_products(os.path.join(self.options.out, "products.npz"), outcomes)
        return text, bad


class Shared:
    """A part of a list of results, by its own numbers."""

    def __init__(self, results, chosen):
        self.results, self.chosen = results, chosen

    def __setitem__(self, i, value):
        self.results[self.chosen[i]] = value


class Prepared:
    """The folder of assemble.py, made anew when it does not have these probes and ptxas is there."""

    def __init__(self, options, probes, say):
        self.folder, self.kernels, self.refused = options.prepared or os.path.join(options.build, "agree"), {}, {}
        self.read()
        missing = [p for p in probes if assemble.key_of(p) not in self.kernels and p.form not in self.refused]
        if missing and shutil.which(options.ptxas):
            say(f"assembling {len(probes)} probes: {len(missing)} are not in {self.folder}")
            shutil.rmtree(self.folder, ignore_errors=True) if os.path.exists(os.path.join(self.folder, "prepared.json")) else None
            assemble.prepare(options.ptxas, probes, self.folder, options.workers, say)
            self.read()
        elif missing:
            say(f"{len(missing)} of {len(probes)} probes are not assembled: the driver's assembler takes them")

    def read(self):
        content = assemble.read_prepared(self.folder) or {"kernels": {}, "refused": {}}
        self.kernels, self.refused = content["kernels"], content["refused"]


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


def without_shape(form):
    return re.sub(r"\.m\d+n\d+k\d+|\.row\.col|\.sync\.aligned", "", form)


def deviation_table(outcomes):
    """A line for each function; shapes of a matrix product share one."""
    text = ["| form | bound | forms | results | equal | largest deviation |", "|---|---|---:|---:|---:|---:|"]
    lines = collections.OrderedDict()
    for o in outcomes:
        if o.probe.checks[0].rule != "exact" and o.status in ("equal", "differs"):
            lines.setdefault(without_shape(o.probe.form), []).append(o)
    for form, members in lines.items():
        check, total = members[0].probe.checks[0], sum(o.tuples for o in members)
        share = f"{100 * sum(o.equal for o in members) / total:.1f} %" if total else ""
        text.append(f"| {form} | {bounds.BOUNDS[check.rule, check.dtype.replace('x2', '')][1]} | {len(members)} | {total} | {share} | "
                    f"{max(o.largest for o in members):.3g} ulp |")
    return text


def report(outcomes, rows, refused, reasons, machine, seconds):
    bad = [o for o in outcomes if o.status not in ("equal", "refused", NOT_RUN)]
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
    parser.add_argument("--deadline", type=float, default=240, help="seconds after which nothing more is started")
    parser.add_argument("--prepare", action="store_true", help="only assemble, for a machine without the compilers")
    parser.add_argument("--prepared", help="folder of assembled probes; default: agree in --build")
    parser.add_argument("--sources", help="folder of what nvcc and Triton compiled; default: agree-sources in --build")
    parser.add_argument("--limit", type=int, default=120, help="seconds for one process")
    parser.add_argument("--ptxas", default=os.environ.get("TILEC_PTXAS", "ptxas"))
    parser.add_argument("--nvcc", default="nvcc", help="compiles the CUDA C kernels")
    parser.add_argument("--triton", default=sys.executable, help="a Python that has Triton")
    parser.add_argument("--simulator-only", action="store_true")
    parser.add_argument("--against", help="a sim_batch of another build, instead of the GPU")
    options = parser.parse_args()
    os.environ["PATH"] += ":/usr/local/cuda/bin"
    os.makedirs(options.out, exist_ok=True)
    machine = None if options.simulator_only or options.prepare else options.against or gpu_name()
    if not machine and not options.simulator_only and not options.prepare:
        print("agree.py: there is no GPU", file=sys.stderr)
        return 3
    started, rows = time.time(), table.read_rows()
    sources = options.sources or os.path.join(options.build, "agree-sources")
    os.makedirs(sources, exist_ok=True)
    probes, broken = gather(rows, options, sources)
    say = lambda text: print(f"{time.time() - started:6.1f} s: {text}", flush=True)
    say(f"{len(probes)} probes")
    prepared = Prepared(options, probes, say)
    if options.prepare:
        return 1 if broken else 0
    refused, probes = [p for p in probes if p.form in prepared.refused], [p for p in probes if p.form not in prepared.refused]
    session = Session(options, rows, probes, refused, prepared, machine, broken)
    session.say(f"{len(probes)} that ptxas takes")
    session.simulate()
    if machine:
        session.run_gpu([options.against] if options.against else [sys.executable, os.path.join(HERE, "gpu_batch.py")])
        session.write()
    if machine and not options.against and time.time() < session.deadline:
        session.extra = kernels.tilec_results(options, session.deadline)
        session.say(f"{len(session.extra)} kernels of tilec")
    text, bad = session.write()
    print(text if len(text) < 20000 else text[:10000] + "\n...\n" + text[-2000:])
    return 1 if bad or broken else 0


if __name__ == "__main__":
    sys.exit(main())
