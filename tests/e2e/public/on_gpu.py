#!/usr/bin/env python3
"""Runs public kernels on a GPU in Triton and through libtilec with the same arguments; worker processes of run.py --device cuda.

A worker reads a kernel's id a line and answers with a record a line; one that dies or takes too long costs that kernel alone. Every array lies
between margins of NaNs, which nobody may write. Triton runs with the index's number of warps and with another one: how far the two are apart is
`noise`, what the arguments leave open. tilec runs with the index's warps and stages (`error`) and with its own choice (`error_free`). Where it
is further from Triton than tolerated, both are compared with the launch in float64: `as-near` says that tilec is no further from that."""
import argparse
import importlib.util
import json
import os
import sys
import time

import workers

HERE = os.path.dirname(os.path.abspath(__file__))
MARGIN = 1 << 16  # bytes on each side of an array
NEARER = 1.25  # times Triton's error against float64 that counts as near: roundings differ


class Fault(Exception):
    """The GPU stopped a kernel; the process can use it no more."""


def triton_value(value):
    import triton.language as tl
    if isinstance(value, dict):
        if "dtype" in value:
            return getattr(tl, value["dtype"])
        return float(value["float"]) if "float" in value else tuple(triton_value(x) for x in value["tuple"])
    return value


def torch_types():
    """The index's element types -> torch's."""
    import torch
    return dict(fp64=torch.float64, fp32=torch.float32, fp16=torch.float16, bf16=torch.bfloat16, fp8e4nv=torch.float8_e4m3fn,
                fp8e5=torch.float8_e5m2, i1=torch.bool, i8=torch.int8, u8=torch.uint8, i16=torch.int16, u16=torch.uint16,
                i32=torch.int32, u32=torch.uint32, i64=torch.int64, u64=torch.uint64)


class Arrays:
    """Copies of a launch's arrays on the GPU, each between two margins."""

    def __init__(self, start):
        import torch
        types = torch_types()
        self.whole, self.tensors = {}, {}
        for n, (dtype, array) in start.items():
            self.whole[n] = torch.full((array.nbytes + 2 * MARGIN,), 0xFF, dtype=torch.uint8, device="cuda")
            inside = self.whole[n][MARGIN:MARGIN + array.nbytes]
            inside.copy_(torch.from_numpy(array.view("u1")))
            self.tensors[n] = inside.view(types[dtype])

    def after(self, start):
        """parameter -> elements as NumPy has them, and the arrays in whose margins something was written."""
        outside = [n for n, w in self.whole.items() if not bool((w[:MARGIN] == 0xFF).all() & (w[-MARGIN:] == 0xFF).all())]
        return {n: w[MARGIN:-MARGIN].cpu().numpy().view(start[n][1].dtype) for n, w in self.whole.items()}, outside


class Worker:
    def __init__(self, options):
        sys.path.insert(0, os.path.join(HERE, "..", "..", "..", "bench"))
        import corpus
        from tilec_side import Tilec
        self.options = options
        self.kernels = {k.id: k for k in corpus.read(options.kernels)}
        self.tilec = Tilec(options.lib, cache_folder="none")

    @staticmethod
    def triton_function(kernel):
        import triton
        spec = importlib.util.spec_from_file_location(f"kernel{abs(hash(kernel.path))}", kernel.path)
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        function = getattr(module, kernel.kernel)
        while not isinstance(function, triton.runtime.JITFunction):
            function = function.fn
        return function

    def by_triton(self, kernel, arrays, warps):
        constexprs = {n: triton_value(v) for n, v in kernel.launch_constexprs.items()}
        options = {n: v for n, v in (("num_warps", warps), ("num_stages", kernel.num_stages)) if n not in constexprs}
        values = {n: arrays.tensors.get(n, kernel.args.get(n)) for n, t in kernel.signature.items() if t != "constexpr"}
        self.triton_function(kernel)[kernel.grid](**values, **constexprs, **options)

    def by_tilec(self, kernel, arrays, warps, stages):
        import corpus
        constexprs = tuple((n, corpus.literal(v)) for n, v in kernel.launch_constexprs.items())
        function = self.tilec.function(kernel.path, kernel.kernel, num_warps=warps, num_stages=stages, constexprs=constexprs)
        values = [arrays.tensors.get(n, kernel.args.get(n)) for n, t in kernel.signature.items() if t != "constexpr"]
        self.tilec.launch_function(function, kernel.grid, values)

    @staticmethod
    def result(run, start):
        """The arrays after `run(arrays)`; raises what it raised, or Fault."""
        import torch
        arrays = Arrays(start)
        try:
            run(arrays)
            torch.cuda.synchronize()
        except Exception as error:
            if any(word in str(error) for word in ("illegal", "misaligned", "CUDA error", "unspecified launch failure")):
                raise Fault(str(error)) from error
            raise
        found, outside = arrays.after(start)
        if outside:
            raise Fault("written outside of " + ", ".join(outside))
        return found

    def against_float64(self, kernel, start, results):
        """side -> (elements finite on one side alone, relative error) against the launch in float64; None without such a reference."""
        import on_cpu
        import widen
        reference = on_cpu.in_float64(self.options.tilec, kernel, kernel.grid, start, self.options.limit)
        if reference is None:
            return None
        return {side: widen.distance(result, reference[0], start, reference[1]) for side, result in results.items()}

    def verdict(self, kernel, start, results):
        import difference
        arithmetic = kernel.arithmetic()
        noise, _ = difference.worst(results["triton"], results["triton again"], start, arithmetic)
        error, where = difference.worst(results["triton"], results["tilec"], start, arithmetic)
        free, where_free = difference.worst(results["triton"], results["tilec free"], start, arithmetic)
        record = dict(noise=noise, error=error, error_free=free, where=where if error >= free else where_free)
        if max(error, free) <= 1:
            return dict(record, state="agrees", why="")
        near = self.against_float64(kernel, start, results)
        record["float64"] = near
        why = f"{max(error, free):.3g} times the tolerance in '{record['where']}', Triton with other warps {noise:.3g}"
        if near and all(near.values()):
            other = max(near["triton"][0], near["triton again"][0]), max(near["triton"][1], near["triton again"][1])
            if all(near[s][0] <= other[0] and near[s][1] <= NEARER * other[1] for s in ("tilec", "tilec free")):
                return dict(record, state="as-near", why=why)
        return dict(record, state="ambiguous" if noise > 1 else "differs", why=why)

    def judge(self, kernel):
        start = kernel.arrays()
        warps = kernel.num_warps
        results = {}
        sides = (("triton", lambda a: self.by_triton(kernel, a, warps)),
                 ("triton again", lambda a: self.by_triton(kernel, a, warps * 2 if warps < 8 else warps // 2)),
                 ("tilec", lambda a: self.by_tilec(kernel, a, warps, kernel.num_stages)),
                 ("tilec free", lambda a: self.by_tilec(kernel, a, 0, 0)))
        for side, run in sides:
            try:
                results[side] = self.result(run, start)
            except Fault as fault:
                return dict(state=f"{side.split()[0]}-fault", why=f"{side}: {fault}"[:300], ends=True)
            except Exception as error:  # whatever the compilers say
                if side == "triton again":  # more warps than the kernel can have
                    results[side] = results["triton"]
                    continue
                return dict(state=f"{side.split()[0]}-refuses", why=f"{side}: {str(error).strip()}"[:300])
        return self.verdict(kernel, start, results)

    def serve(self, answers):
        for line in sys.stdin:
            began = time.time()
            kernel = self.kernels[json.loads(line)]
            record = dict(id=kernel.id, **self.judge(kernel))
            record["s"] = round(time.time() - began, 2)
            print(json.dumps(record), file=answers, flush=True)
            if record.get("ends"):
                os._exit(0)  # what CUDA keeps of a fault makes the interpreter's own end take long, or fail


class Judge:
    """The side of run.py."""

    def __init__(self, options, folder):
        self.workers = workers.Workers([sys.executable, os.path.abspath(__file__), "--kernels", folder, "--lib", options.lib, "--tilec", options.tilec,
                                        "--limit", str(options.limit)], options.limit)

    def judge(self, kernel):
        if kernel.grid is None:
            return dict(id=kernel.id, state="no-arguments", why=kernel.why)
        return {"id": kernel.id, **self.workers.ask(kernel.id)}

    def close(self):
        self.workers.close()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--kernels", required=True)
    parser.add_argument("--lib", required=True)
    parser.add_argument("--tilec", required=True)
    parser.add_argument("--limit", type=float, required=True)
    options = parser.parse_args()
    sys.path.insert(0, HERE)
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what kernels and compilers print is no answer
    Worker(options).serve(answers)


if __name__ == "__main__":
    main()
