"""Modules of public projects, as they are, over tilec and over Triton: forward and backward against torch in float64.

    python projects.py FOLDER [--small] [--variants triton,tilec] [--only rms_norm,fla] [--dtype bf16] [--configs N]

FOLDER has packages liger_kernel, fla and unsloth (pack_projects.sh makes one); cases whose package is not there are left out.
Cases run in processes of their own, several at a time, first for results, then one at a time for times. Prints a JSON line for each case
and variant, and a table: `error`, the greatest difference of a result or gradient (`worst`) from the reference, relative to its greatest
magnitude, or of their root mean squares; `right`, whether that is within the tolerance of the type; `first_s`, seconds until the first
call, forward and backward, has come back, with nothing compiled before; `ms` on the GPU, `host_ms` until the calls are launched. Autotuning
chooses among at most --configs configurations of a kernel. --small: shapes for a machine without a GPU, where TILEC_DEVICE says what
kernels run on. Status: 1 where something that Triton computes right, or where Triton did not run anything, is not right over tilec."""
import argparse
import concurrent.futures
import functools
import json
import os
import subprocess
import sys
import tempfile
import time
import traceback

from project_cases import Inputs, all_cases

TOLERANCES = {"bf16": 2e-2, "fp16": 4e-3, "fp32": 4e-3}  # fp32: products take tf32 unless told otherwise
PACKAGES = {"liger": "liger_kernel", "fla": "fla", "unsloth": "unsloth"}
TIMED_RUNS = 5
QUEUED_CYCLES = 10_000_000  # for which the GPU waits while launches queue up


def flat(results):
    if isinstance(results, (tuple, list)):
        return [leaf for item in results for leaf in flat(item)]
    return [] if results is None else [results]


def copied(torch, argument, in_double=False):
    """An argument for one call, which may write into it."""
    if isinstance(argument, (tuple, list)):
        return type(argument)(copied(torch, each, in_double) for each in argument)
    if not isinstance(argument, torch.Tensor):
        return argument
    copy = argument.detach().clone()
    if in_double and copy.is_floating_point():
        copy = copy.double()
    return copy.requires_grad_(argument.requires_grad)


def gradients_of(torch, results):
    """One for each result: the same numbers, of few bits, for every variant and for the reference."""
    generator = torch.Generator(results[0].device).manual_seed(11)
    return [torch.randn(each.shape, generator=generator, device=each.device).bfloat16().to(each.dtype) for each in results]


def forward_backward(torch, function, arguments):
    """Results and, behind them, the gradients of arguments, by name."""
    results = flat(function(*arguments))
    pairs = [(each, g) for each, g in zip(results, gradients_of(torch, results), strict=True) if each.requires_grad]
    if pairs:
        torch.autograd.backward(*map(list, zip(*pairs)))
    leaves = [each for each in flat(arguments) if isinstance(each, torch.Tensor) and each.requires_grad]
    named = {f"result {i}": each.detach() for i, each in enumerate(results)}
    return named | {f"gradient {i}": each.grad for i, each in enumerate(leaves)}


def difference(torch, mine, theirs):
    """(greatest, of which)."""
    worst = (0.0, "")
    if mine.keys() != theirs.keys():
        return float("inf"), f"{len(mine)} results, not {len(theirs)}"
    for name, a in mine.items():
        b = theirs[name]
        if a is None or b is None:
            if a is not b and (a if b is None else b).any():
                return float("inf"), f"{name} is missing"
            continue
        if a.shape != b.shape:
            return float("inf"), f"{name} is {tuple(a.shape)}, not {tuple(b.shape)}"
        if not b.numel():
            continue
        a, b = a.double(), b.double()
        if (a.isfinite() != b.isfinite()).any():
            return float("inf"), f"{name} is not finite"
        a, b = a.nan_to_num(0, 0, 0), b.nan_to_num(0, 0, 0)
        error = max(((a - b).abs().max() / b.abs().max().clamp(min=1e-30)).item(),
                    ((a - b).square().mean().sqrt() / b.square().mean().sqrt().clamp(min=1e-30)).item())
        worst = max(worst, (error, name))
    return worst


def few_configurations(triton, most):
    """Has @triton.autotune choose among at most so many, by few runs: what would be measured is the autotuner."""
    autotune = triton.autotune

    def bench(call, quantiles):
        return triton.testing.do_bench(call, warmup=1, rep=4, quantiles=quantiles)

    @functools.wraps(autotune)
    def few(configs, *arguments, **words):
        configs = list(configs)
        step = max(len(configs) // most, 1)
        return autotune(configs[::step][:most], *arguments, **{"do_bench": bench} | words)

    triton.autotune = few


class Child:
    """A process of one variant: what it imports, on which device."""

    def __init__(self, variant, given):
        if variant == "tilec":
            import tilec

            tilec.install()
        import torch
        import triton

        from project_cases import standins

        self.torch, self.given, self.load = torch, given, standins.load
        self.device = "cpu" if given.small else "cuda"
        torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = False
        few_configurations(triton, 1 if given.small else given.configs)
        sys.path.insert(0, given.folder)
        standins.install(is_cpu=given.small)

    def synchronize(self):
        if self.device == "cuda":
            self.torch.cuda.synchronize()

    def arguments(self, case):
        dtypes = {"bf16": self.torch.bfloat16, "fp16": self.torch.float16, "fp32": self.torch.float32}
        return case.inputs(Inputs(self.torch, self.device, dtypes[case.dtype or self.given.dtype], self.given.small))

    def checked(self, case):
        torch = self.torch
        function = functools.partial(case.call, self.load(case.module))
        arguments = self.arguments(case)
        mine_of = copied(torch, arguments)
        theirs = forward_backward(torch, case.reference, copied(torch, arguments, in_double=True))
        self.synchronize()
        begin = time.perf_counter()
        mine = forward_backward(torch, function, mine_of)
        self.synchronize()
        line = {"first_s": round(time.perf_counter() - begin, 3)}
        line["error"], line["worst"] = difference(torch, mine, theirs)
        line["right"] = line["error"] <= TOLERANCES[case.dtype or self.given.dtype] * case.slack
        return line

    def timed(self, case):
        """Of the middle of several calls: a kernel that waits lets launches queue up, so that the GPU's time is what it takes."""
        torch = self.torch
        function = functools.partial(case.call, self.load(case.module))
        arguments = self.arguments(case)
        forward_backward(torch, function, copied(torch, arguments))
        times = []
        for _ in range(TIMED_RUNS):
            fresh = copied(torch, arguments)
            begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
            torch.cuda.synchronize()
            torch.cuda._sleep(QUEUED_CYCLES)
            begin.record()
            start = time.perf_counter()
            forward_backward(torch, function, fresh)
            host = time.perf_counter() - start
            end.record()
            torch.cuda.synchronize()
            times.append((begin.elapsed_time(end), 1e3 * host))
        middle = [sorted(each)[TIMED_RUNS // 2] for each in zip(*times)]
        return {"ms": round(middle[0], 4), "host_ms": round(middle[1], 4)}


def claim(folder, variant, phase, index):
    """Whether this process is to run the case: the first that asks."""
    try:
        os.close(os.open(os.path.join(folder, f"{variant}.{phase}.{index}"), os.O_CREAT | os.O_EXCL))
    except FileExistsError:
        return False
    return True


def child(given):
    """Runs the cases that nobody runs yet, and says so: the number of the case, then its line."""
    kept, sys.stdout = sys.stdout, sys.stderr
    self = Child(given.child, given)
    function = {"check": self.checked, "time": self.timed}[given.phase]
    for index, case in enumerate(selected(given)):
        if not claim(given.share, given.child, given.phase, index):
            continue
        print(index, file=kept, flush=True)
        try:
            line = function(case)
        except Exception as error:  # the next case may do
            line = {"failed": f"{type(error).__name__}: {error}"[-1500:], "trace": traceback.format_exc()[-3000:]}
        print(json.dumps(line), file=kept, flush=True)
        if "failed" in line:
            del function, self
            os._exit(3)  # what is left of a launch that failed would fail the next ones
    return 0


def selected(given):
    words = [word for word in given.only.split(",") if word]
    have = {project for project, package in PACKAGES.items() if os.path.isdir(os.path.join(given.folder, package))}
    return [case for case in all_cases() if case.project in have and not (case.needs_gpu and given.small)
            and (not words or any(word in case.name for word in words))]


class Parent:
    def __init__(self, given, share):
        self.given, self.share, self.cases = given, share, selected(given)
        self.lines = {}  # (index, variant): what is known

    def work(self, variant, phase, end):
        """One process after another until no case is left: one that fails may take its process with it."""
        while time.perf_counter() < end:
            plain = ["-O"] if self.given.small else []  # some projects assert that tensors are a GPU's
            words = [sys.executable, *plain, os.path.abspath(__file__), "--child", variant, "--phase", phase, "--share", self.share,
                     *sys.argv[1:]]
            environment = os.environ | {name: os.path.join(self.share, variant, name) for name in ("TRITON_CACHE_DIR", "TILEC_CACHE_DIR")}
            environment.update(PYTHONDONTWRITEBYTECODE="1", FLA_CACHE_RESULTS="0")
            log_path = os.path.join(self.share, f"{variant}.log")
            with open(log_path, "a", encoding="utf-8") as log, \
                    subprocess.Popen(words, env=environment, stdout=subprocess.PIPE, stderr=log, text=True) as process:
                index = None
                with concurrent.futures.ThreadPoolExecutor(1) as pool:
                    watch = pool.submit(self.stop_at, process, end)
                    for text in process.stdout:
                        if index is None:
                            index = int(text)
                        else:
                            self.lines.setdefault((index, variant), {}).update(json.loads(text))
                            index = None
                    status = process.wait()
                    watch.result()
            if index is not None:
                how = "did not end in time" if time.perf_counter() >= end else f"ended the process with status {status}"
                self.lines.setdefault((index, variant), {}).update(failed=how)
            elif status not in (0, 3):
                with open(log_path, encoding="utf-8", errors="replace") as log:
                    print(f"{variant}: a process ended with status {status}: {log.read()[-2000:]}", file=sys.stderr)
                return
            if status == 0:
                return

    @staticmethod
    def stop_at(process, end):
        try:
            process.wait(max(end - time.perf_counter(), 0.1))
        except subprocess.TimeoutExpired:
            process.kill()

    def run(self):
        """All variants at a time, then one after the other for times."""
        given = self.given
        begin = time.perf_counter()
        variants = given.variants.split(",")
        end = begin + given.limit * (1 if given.small else 0.6)
        with concurrent.futures.ThreadPoolExecutor(max(given.jobs, 1) * len(variants)) as pool:
            for each in [pool.submit(self.work, variant, "check", end) for variant in variants for _ in range(given.jobs)]:
                each.result()
        for (index, variant), line in self.lines.items():
            if "failed" in line:
                claim(self.share, variant, "time", index)
        for left, variant in () if given.small else enumerate(variants):
            now = time.perf_counter()
            self.work(variant, "time", now + max(begin + given.limit - now, 1) / (len(variants) - left))

    def report(self):
        """Prints all; the number of cases that are wrong."""
        variants = self.given.variants.split(",")
        wrong = 0
        for (index, variant), line in sorted(self.lines.items()):
            line.pop("trace", None) if not self.given.traces else None
            print(json.dumps({"case": self.cases[index].name, "variant": variant} | line))
        print(f"\n| case | right | error | Triton's | ms | Triton's | host ms | Triton's | first s | Triton's |\n|{'---|' * 10}")
        for index, case in enumerate(self.cases):
            tilec, triton = (self.lines.get((index, variant), {}) for variant in ("tilec", "triton"))
            if "tilec" in variants and not tilec.get("right") and ("triton" not in variants or triton.get("right")):
                wrong += 1
            cells = [case.name, *(tilec.get("failed", triton.get("failed", "")).splitlines() or [""])[-1:]]
            cells[1] = (("yes" if tilec.get("right") else "NO") + ("" if triton.get("right", True) else ", Triton's not")
                        + (": " + cells[1][:80].replace("|", "/") if cells[1] else ""))
            for name, form in (("error", "{:.1e}"), ("ms", "{:.3f}"), ("host_ms", "{:.3f}"), ("first_s", "{:.2f}")):
                cells += [form.format(each[name]) if name in each else "" for each in (tilec, triton)]
            print("| " + " | ".join(cells) + " |")
        right = [sum(bool(self.lines.get((i, variant), {}).get("right")) for i in range(len(self.cases))) for variant in variants]
        counts = ", ".join(f"{variant} right in {count}" for variant, count in zip(variants, right))
        print(f"\n{len(self.cases)} cases: {counts}; {wrong} wrong")
        return wrong


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder")
    parser.add_argument("--small", action="store_true")
    parser.add_argument("--variants", default="")
    parser.add_argument("--only", default="", help="cases whose names have one of these words")
    parser.add_argument("--dtype", default="bf16", choices=TOLERANCES)
    parser.add_argument("--jobs", type=int, default=0, help="processes for each variant")
    parser.add_argument("--limit", type=float, default=0, help="seconds for all")
    parser.add_argument("--configs", type=int, default=2)
    parser.add_argument("--traces", action="store_true", help="with Python's tracebacks of what failed")
    for name in ("--child", "--phase", "--share"):
        parser.add_argument(name, help=argparse.SUPPRESS)
    given = parser.parse_args()
    given.folder = os.path.abspath(given.folder)
    given.variants = given.variants or ("tilec" if given.small else "triton,tilec")
    given.jobs = given.jobs or (os.cpu_count() if given.small else max(os.cpu_count() // 2, 1))
    given.limit = given.limit or (3600 if given.small else 145)
    if given.child:
        return child(given)
    with tempfile.TemporaryDirectory() as share:
        parent = Parent(given, share)
        if not parent.cases:
            print(f"no project of {', '.join(PACKAGES.values())} in '{given.folder}', or no such case", file=sys.stderr)
            return 2
        parent.run()
        return 1 if parent.report() else 0


if __name__ == "__main__":
    sys.exit(main())
