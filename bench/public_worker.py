"""One worker of public.py: compiles or times public kernels, asked for by a line of JSON each, answered by one.

    {"id": ID, "do": "prepare"}   compiles for every side, and launches nothing
    {"id": ID, "do": "time"}      {"id": ID, "state": "timed", "us": {side: median}, "launches": in a replay}

Arguments are made up, large, and the same for all sides: integers are 512 where the index says that they are multiples of 16, else 509, arrays have
2^28 elements, and their pointers are to the middle, and there are 1056 programs. --as-launched: the grid and arguments of args.jsonl instead, for
folders that have those of real launches. A side's launches are captured in a CUDA graph, up to 20 or what takes 2 ms; the graphs are replayed in turn, nine times. What touches the GPU holds a lock that all workers share."""
import argparse
import contextlib
import fcntl
import json
import os
import re
import statistics
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
for folder in ("../tests/e2e/public", "../tests/e2e/kernels", "."):
    sys.path.insert(0, os.path.join(HERE, folder))
import corpus  # noqa: E402
import on_gpu  # noqa: E402

ELEMENTS = 1 << 28
GRIDS = {1: (1056, 1, 1), 2: (66, 16, 1), 3: (16, 11, 6)}
REPLAYS, LAUNCHES, GRAPH_MS = 9, 20, 2.0
ENDS = re.compile("illegal|misaligned|CUDA|capture|launch failure")  # errors after which a process can use the GPU no more


class Skipped(Exception):
    """The kernel cannot be timed with made-up arguments."""


class MadeUp:
    """Large arguments, the same for all kernels."""

    def __init__(self, random):
        self.random = random

    def grid(self, kernel):
        return GRIDS[kernel.rank]

    def numbers(self, kernel):
        """Parameter -> number; pointers and constexprs are left out."""
        found = {}
        for n, t in kernel.signature.items():
            if isinstance(t, list) or "tensordesc" in t:
                raise Skipped(f"an argument of type {t}")
            if t == "constexpr" or t.startswith("*"):
                continue
            if t.startswith(("fp", "bf")):
                found[n] = 0.5
            else:
                found[n] = 1 if n in kernel.ones or t in ("i1", "u1") else 512 if n in kernel.divisible else 509
        return found

    def array(self, torch, kernel, name, index, elements):
        """`elements` of them from the middle of an array on."""
        self.random.manual_seed(index + 1)
        dtype = on_gpu.torch_types()[kernel.signature[name][1:]]
        if dtype.is_floating_point:
            made = torch.float32 if dtype.itemsize == 8 else torch.float16 if dtype.itemsize == 1 else dtype
            array = torch.randn(elements, device="cuda", generator=self.random, dtype=made).to(dtype)
        else:
            bools = dtype == torch.bool
            array = torch.randint(0, 2 if bools else 8, (elements,), device="cuda", generator=self.random, dtype=torch.int32).to(dtype)
        return array[elements // 2:]


class AsLaunched:
    """The grid and arguments that args.jsonl has."""

    def __init__(self, random):
        self.random = random

    def grid(self, kernel):
        if kernel.grid is None:
            raise Skipped(kernel.why)
        return kernel.grid

    def numbers(self, kernel):
        self.grid(kernel)
        return {n: v for n, v in kernel.args.items() if not isinstance(v, list)}

    def array(self, torch, kernel, name, index, elements):
        """Of the recipe's size; `elements` is the most that are made."""
        kind, dtype, count, *values = kernel.args[name]
        count, made = min(count, elements), on_gpu.torch_types()[dtype]
        if kind != "randn":
            stored = corpus.build([kind, dtype, count, *values], index + 1)
            return torch.from_numpy(stored).cuda().view(made)
        self.random.manual_seed(index + 1)
        wide = torch.float16 if made.itemsize == 1 else torch.float32 if made.itemsize == 8 else made
        return torch.randn(count, device="cuda", generator=self.random, dtype=wide).to(made)


class Worker:
    def __init__(self, options):
        import torch
        from tilec_side import Tilec
        self.torch, self.options = torch, options
        self.kernels = {k.id: k for k in corpus.read(options.kernels)}
        self.sides = {}
        for name, library in json.loads(options.libraries).items():
            cache = os.path.join(options.cache, name)
            self.sides[name] = Tilec(library, cache_folder=cache)
        self.arguments = (AsLaunched if options.as_launched else MadeUp)(torch.Generator(device="cuda"))

    def arrays(self, kernel, elements):
        """Pointer parameter -> the array that it points at."""
        pointers = [(i, n) for i, (n, t) in enumerate(kernel.signature.items()) if isinstance(t, str) and t.startswith("*")]
        return {n: self.arguments.array(self.torch, kernel, n, i, elements) for i, n in pointers}

    def launches(self, kernel, arrays):
        """side -> a function that gives one that launches once on torch's current stream."""
        values = {**self.arguments.numbers(kernel), **arrays}
        ordered = [values[n] for n, t in kernel.signature.items() if t != "constexpr"]
        grid = self.arguments.grid(kernel)
        found = {}
        if self.options.triton:
            peer, named = self.triton(kernel)
            found["triton"] = lambda: lambda: peer[grid](**values, **named)
        for side, tilec, function in self.functions(kernel):
            found[side] = lambda tilec=tilec, function=function: tilec.launch_function(function, grid, ordered)
        return found

    def functions(self, kernel):
        """(side, its library, the kernel with its warps and stages)"""
        constexprs = tuple((n, corpus.literal(v)) for n, v in kernel.constexprs.items())
        for name, tilec in self.sides.items():
            for choice, warps, stages in (("given", kernel.num_warps, kernel.num_stages), ("own", 0, 0)):
                yield name + choice, tilec, tilec.function(kernel.path, kernel.kernel, num_warps=warps, num_stages=stages, constexprs=constexprs)

    @staticmethod
    def triton(kernel):
        """The function, and constexprs and options by name."""
        named = {n: on_gpu.triton_value(v) for n, v in kernel.constexprs.items()}
        for n, v in (("num_warps", kernel.num_warps), ("num_stages", kernel.num_stages)):
            named.setdefault(n, v)
        return on_gpu.Worker.triton_function(kernel), named

    def prepare(self, kernel):
        arrays = self.arrays(kernel, 64)
        values = {**self.arguments.numbers(kernel), **arrays}
        if self.options.triton:
            function, named = self.triton(kernel)
            function.warmup(grid=self.arguments.grid(kernel), **values, **named)
        ordered = [values[n] for n, t in kernel.signature.items() if t != "constexpr"]
        for _, tilec, function in self.functions(kernel):
            tilec.prepare(function, ordered)
        return dict(state="prepared")

    def time(self, kernel):
        torch = self.torch
        self.prepare(kernel)  # once more in this process, from the caches, while others have the GPU
        with self.gpu():
            arrays = self.arrays(kernel, ELEMENTS)
            makers = self.launches(kernel, arrays)
            once = {side: make() for side, make in makers.items()}  # of ours, this launches once
            for go in once.values():
                go()
            count = max(1, min(LAUNCHES, int(GRAPH_MS / max(1e-3, self.milliseconds(next(iter(once.values())))))))
            graphs = {side: self.graph(make, count) for side, make in makers.items()}
            times = {side: [] for side in graphs}
            for _ in range(REPLAYS):
                for side, graph in graphs.items():
                    times[side].append(self.milliseconds(graph.replay) / count * 1e3)
            del graphs, once, makers, arrays
            for tilec in self.sides.values():
                tilec.functions.clear()
        return dict(state="timed", us={side: statistics.median(v) for side, v in times.items()}, launches=count)

    def graph(self, make, count):
        """Ours is a launcher for the stream that is current when it is made, and is made by launching once."""
        graph, stream = self.torch.cuda.CUDAGraph(), self.torch.cuda.Stream()
        with self.torch.cuda.graph(graph, stream=stream):
            go = make()
            for _ in range(count - getattr(go, "launched", 0)):
                go()
        return graph

    def milliseconds(self, run):
        start, stop = (self.torch.cuda.Event(enable_timing=True) for _ in range(2))
        start.record()
        run()
        stop.record()
        self.torch.cuda.synchronize()
        return start.elapsed_time(stop)

    @contextlib.contextmanager
    def gpu(self):
        with open(os.path.join(self.options.cache, "gpu.lock"), "w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            try:
                yield
            finally:
                self.torch.cuda.synchronize()
                self.torch.cuda.empty_cache()

    def answer(self, request):
        kernel = self.kernels[request["id"]]
        try:
            return (self.prepare if request["do"] == "prepare" else self.time)(kernel)
        except Skipped as why:
            return dict(state="skipped", why=str(why))
        except Exception as error:  # whatever the compilers and the driver say
            words = f"{type(error).__name__}: {(str(error).strip().splitlines() or [''])[-1][:200]}"
            return dict(state="error", why=words, ends=bool(ENDS.search(str(error))))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--kernels", required=True)
    parser.add_argument("--libraries", required=True, help="JSON: what its sides' names begin with -> libtilec.so")
    parser.add_argument("--cache", required=True, help="folder of tilec's caches and the lock")
    parser.add_argument("--triton", action="store_true")
    parser.add_argument("--as-launched", action="store_true")
    options = parser.parse_args()
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what kernels and compilers print is no answer
    worker = Worker(options)
    for line in sys.stdin:
        request = json.loads(line)
        record = dict(id=request["id"], **worker.answer(request))
        print(json.dumps(record), file=answers, flush=True)
        if record.get("ends"):
            os._exit(0)


if __name__ == "__main__":
    main()
