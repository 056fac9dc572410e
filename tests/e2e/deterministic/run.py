#!/usr/bin/env python3
"""Do kernels compiled with --deterministic give the same bits in every configuration?

    run.py --tilec build/release/src/cli/tilec [--filter TEXT] [--jobs N]                the kernels of kernels/
    run.py --tilec ... --public [--kernels FOLDER] [--sample N] [--limit SECONDS]        those of a folder of public kernels (corpus.py)
    run.py --tilec ... --seeds FIRST:END                                                 random kernels of tests/e2e/generate

Each runs on the simulator in every configuration of CONFIGURATIONS: numbers of warps and stages, targets, with and without programs that stay and
tensor copies. What it writes must be the same within a family of targets, bit for bit but for the bits of a NaN. Where nothing is computed by
tensor cores all families must agree, and where there are no products at all and no approximate functions the interpreter, too. A kernel whose
atomic operations depend on an order must be refused in every configuration, at a line that has such an operation. A public kernel's launch that
takes longer than the limit is judged with half of the programs, and so on; exceptions.tsv has those whose result the launch leaves open.

A test that compares equal things proves little: --otherwise leaves the option out, and fails where no kernel differs then.
Exit status: 0 all is as it should be; 1 it is not; 2 wrong usage; 77 there are no public kernels."""
import argparse
import collections
import concurrent.futures
import json
import os
import re
import subprocess
import sys
import tempfile

import numpy as np

HERE = os.path.dirname(os.path.abspath(__file__))
for folder in ("kernels", "public", "generate"):
    sys.path.insert(0, os.path.join(HERE, "..", folder))
import cases  # noqa: E402
import check  # noqa: E402
import corpus  # noqa: E402
import on_cpu  # noqa: E402
import program as programs  # noqa: E402
import random_program  # noqa: E402

# Target, warps and stages, 0: as the compiler chooses, further options.
CONFIGURATIONS = (
    ("sm_80", 1, 1), ("sm_80", 4, 3), ("sm_86", 0, 0), ("sm_89", 8, 4),
    ("sm_90a", 1, 3), ("sm_90a", 4, 2, "--no-persistence"), ("sm_90a", 8, 4), ("sm_90a", 2, 1, "--no-tensor-copies"))
REFUSED = re.compile(r"^order_(float_sum|exchange|old_value)$")
ATOMIC = re.compile(r"atomic_|\.atomic")
PRODUCTS = re.compile(r"\b(mma\.sync|wgmma\.)")
DOT = re.compile(r"\bdot(_scaled)?\(")
APPROXIMATE = re.compile(r"\.approx|\bdiv\.full")
FUNCTIONS = re.compile(r"\b(libdevice|erf|sin|cos|tan|pow)\b")  # the interpreter's are the C library's
SKIPPED = 77


def family(target):
    """The major number of its compute capability."""
    return int(re.match(r"sm_(\d+)", target)[1]) // 10


def same_bits(a, b):
    """Equal arrays of stored elements; NaN are alike."""
    if a.tobytes() == b.tobytes():
        return True
    if a.dtype.kind != "f":
        return False
    nan = np.isnan(a) & np.isnan(b)
    return np.where(nan, 0, a).tobytes() == np.where(nan, 0, b).tobytes()


class Launch:
    """A kernel with arguments: its name, its file or its text, `command(folder, device)` that runs it, and the outputs that leaves in the
    folder. `fewer` is the same one with fewer programs, where a kernel may be launched so."""

    def __init__(self, name, command, outputs, path=None, text="", stored=None, fewer=None):
        self.name, self.command, self.outputs, self.path, self.text = name, command, outputs, path, text
        self.stored = stored or {}  # what the elements of an output's file are, where NumPy has no such type
        self.fewer = fewer

    def run(self, device, extra, limit, ptx=False):
        """({"ok", "refused": (id, line), "why"}, output -> stored elements, PTX)"""
        with tempfile.TemporaryDirectory(prefix="tilec-deterministic-") as folder:
            command = self.command(folder, device) + list(extra) + ["--json", "--cache-dir", "none"]
            command += ["--dump-dir", os.path.join(folder, "dump")] if ptx else []
            try:
                done = subprocess.run(command, capture_output=True, text=True, timeout=limit)
            except subprocess.TimeoutExpired:
                return {"ok": False, "late": True, "why": f"not done in {limit:g} s"}, None, ""
            if done.returncode == 0:
                found = {n: self.load(folder, n) for n in self.outputs}
                return {"ok": True}, found, self.ptx(os.path.join(folder, "dump")) if ptx else ""
            try:
                errors = [d for d in json.loads(done.stdout)["diagnostics"] if d["severity"] == "error"]
            except (ValueError, KeyError):
                errors = []
            if errors and all(REFUSED.match(d["id"]) for d in errors):
                return {"ok": False, "refused": [(d["id"], d["line"]) for d in errors]}, None, ""
            why = errors[0]["message"] if errors else (done.stderr or done.stdout).strip()[-300:]
            return {"ok": False, "why": f"status {done.returncode}: {why}"}, None, ""

    def lines(self):
        if not self.path:
            return self.text.split("\n")
        with open(self.path) as file:
            return file.read().split("\n")

    def load(self, folder, name):
        found = np.load(os.path.join(folder, f"{name}.out.npy"))
        return found.view(self.stored[name]) if name in self.stored else found

    @staticmethod
    def ptx(folder):
        names = [n for n in os.listdir(folder) if n.endswith(".ptx")]
        return "".join(open(os.path.join(folder, n)).read() for n in names)


def of_project(options):
    """One launch of each kernel of kernels/ and type, the first case."""
    seen = set()
    for case in cases.all_cases(False):
        key = (case.file, case.kernel, tuple(v.dtype for v in case.args.values() if isinstance(v, cases.Array)))
        if key in seen or options.filter not in case.name:
            continue
        seen.add(key)
        outputs = [n for n, v in case.args.items() if isinstance(v, cases.Array) and v.is_output]
        yield Launch(case.name, lambda folder, device, case=case: check.run_command(options.tilec, case, folder, device), outputs,
                     os.path.join(check.KERNELS, case.file))


def launch_of(options, kernel, grid):
    start = kernel.arrays()

    def command(where, device):
        out = []
        files = on_cpu.save(start, where)
        for n in files:
            out += ["--out", f"{n}={os.path.join(where, n + '.out.npy')}"]
        return [options.tilec, "run", kernel.path, "-k", kernel.kernel, *kernel.data(files), "--device", device,
                "--grid", "(" + "".join(f"{g}," for g in grid) + ")", *out]

    smaller = on_cpu.fewer(grid)
    return Launch(kernel.name, command, list(start), kernel.path, stored={n: elements.dtype for n, (_, elements) in start.items()},
                  fewer=smaller and (lambda: launch_of(options, kernel, smaller)))


def of_public(options, folder):
    exceptions = corpus.exceptions("cpu")
    left_open = corpus.exceptions("deterministic")
    for kernel in corpus.read(folder, options.filter)[::options.sample]:
        # Exceptions that differ do so because of what rounding makes of their arguments; others do not run at all.
        if kernel.grid is not None and exceptions.get(kernel.name, ("differs",))[0] == "differs" and kernel.name not in left_open:
            yield launch_of(options, kernel, kernel.grid)


def of_generator(options):
    for seed in range(*map(int, options.seeds.split(":"))):
        program = random_program.random_program(seed, {})

        def command(where, device, program=program):
            path = os.path.join(where, "kernel.py")
            with open(path, "w", encoding="utf-8") as file:
                file.write(programs.source(program))
            out = [options.tilec, "run", path, "-k", "kernel", "--device", device, "--grid", f"({', '.join(map(str, program.grid))},)"]
            for name, bits in programs.arguments(program).items():
                np.save(os.path.join(where, f"{name}.npy"), bits)
                array = program.arrays[name]
                prefix = f"{array.dtype}:" if array.dtype == "bf16" or array.dtype in cases.FP8 else ""
                out += ["-a", f"{name}=@{prefix}{where}/{name}.npy"]
                out += ["--out", f"{name}={where}/{name}.out.npy"] if array.role != "in" else []
            for name, (dtype, value) in program.scalars.items():
                out += ["-a", f"{name}={value}:{dtype}"]
            return out + [word for name, value in program.constants.items() for word in ("-D", f"{name}={value}")]

        yield Launch(f"seed {seed}", command, [n for n, a in program.arrays.items() if a.role != "in"], text=programs.source(program))


def launches_of(options, folder):
    return list(of_public(options, folder) if options.public else of_generator(options) if options.seeds else of_project(options))


def flags(configuration):
    target, warps, stages, *more = configuration
    chosen = [word for name, value in (("--num-warps", warps), ("--num-stages", stages)) if value for word in (name, str(value))]
    return ["--target", target, *chosen, *more]


def first_difference(results, outputs):
    """(name of an output, two configurations) that are not the same; None."""
    (base, first), *others = results
    for configuration, found in others:
        for name in outputs:
            if not same_bits(first[name], found[name]):
                return name, base, configuration
    return None


def refused_lines(launch, states):
    """What is wrong with refusals; None."""
    if not all("refused" in state for state in states):
        return "refused in some configurations, not in all"
    lines = launch.lines()
    for name, line in states[0]["refused"]:
        if not any(ATOMIC.search(text) for text in lines[line - 1:line + 6]):
            return f"{name} at line {line}, which has no atomic operation"
    return None


def judge(launch, options, mode=("--deterministic",)):
    """(state, what there is to say)"""
    results, states, ptx = [], [], ""
    for configuration in CONFIGURATIONS:
        state, found, text = launch.run("sim", [*flags(configuration), *mode], options.limit, ptx=True)
        if state.get("late"):
            return judge(launch.fewer(), options, mode) if launch.fewer else ("late", state["why"])
        states.append(state)
        ptx += text
        if state["ok"]:
            results.append((configuration, found))
        elif "refused" not in state:
            return "failed", f"{' '.join(flags(configuration))}: {state['why']}"
    if len(results) < len(states):
        wrong = refused_lines(launch, states)
        return ("wrong", wrong) if wrong else ("refused", ", ".join(sorted({name for name, _ in states[0]["refused"]})))
    return compare(launch, options, mode, results, ptx)


def compare(launch, options, mode, results, ptx):
    by_family = collections.defaultdict(list)
    for configuration, found in results:
        by_family[family(configuration[0])].append((configuration, found))
    for same in by_family.values():
        differs = first_difference(same, launch.outputs)
        if differs:
            return "differs", "'{}': {} and {}".format(differs[0], *(" ".join(flags(c)) for c in differs[1:]))
    if PRODUCTS.search(ptx) or not mode:
        return "same", "products" if mode else "within families"
    differs = first_difference(results, launch.outputs)
    if differs:
        return "wrong", "'{}' between families: {} and {}".format(differs[0], *(" ".join(flags(c)) for c in differs[1:]))
    if DOT.search("\n".join(launch.lines())):
        return "same", "products without tensor cores"
    if APPROXIMATE.search(ptx) or FUNCTIONS.search("\n".join(launch.lines())):
        return "same", "approximate functions"
    state, found, _ = launch.run("cpu", mode, options.limit)
    if not state["ok"]:
        return "wrong", f"on the interpreter: {state.get('why', 'refused')}"
    differs = first_difference([("interpreter", found), results[0]], launch.outputs)
    return ("wrong", f"'{differs[0]}' differs from the interpreter's") if differs else ("same", "as the interpreter")


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tilec", required=True)
    parser.add_argument("--filter", default="", help="kernels whose name contains the text")
    parser.add_argument("--public", action="store_true", help="public kernels instead of those of kernels/")
    parser.add_argument("--kernels", metavar="FOLDER", help="of public kernels")
    parser.add_argument("--seeds", default="", metavar="FIRST:END", help="random kernels instead")
    parser.add_argument("--sample", type=int, default=1, metavar="N", help="every Nth public kernel")
    parser.add_argument("--limit", type=float, default=600, help="seconds that one launch may take; later ones are counted, and judged no further")
    parser.add_argument("--jobs", "-j", type=int, default=os.cpu_count())
    parser.add_argument("--otherwise", action="store_true", help="without --deterministic: how many differ")
    return parser.parse_args()


def main():
    options = arguments()
    np.seterr(all="ignore")  # random kernels
    folder = corpus.folder_of_kernels(options.kernels) if options.public else None
    if options.public and not folder:
        print("no public kernels: --kernels or TILEC_PUBLIC_KERNELS names their folder")
        return SKIPPED
    launches = launches_of(options, folder)
    mode = () if options.otherwise else ("--deterministic",)
    counts = collections.Counter()
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        futures = [(launch, pool.submit(judge, launch, options, mode)) for launch in launches]
        for launch, future in futures:
            state, what = future.result()
            counts[state, what if state in ("same", "refused") else ""] += 1
            if state not in ("same", "refused"):
                print(f"{state.upper()} {launch.name}: {what}", flush=True)
    for (state, what), count in sorted(counts.items()):
        print(f"{count} {state}{': ' + what if what else ''}")
    states = collections.Counter()
    for (state, _), count in counts.items():
        states[state] += count
    if options.otherwise:
        return 0 if states["differs"] else 1
    return 1 if states["wrong"] + states["failed"] + states["differs"] or not launches else 0


if __name__ == "__main__":
    sys.exit(main())
