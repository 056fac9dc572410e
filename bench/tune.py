#!/usr/bin/env python3
"""Tuning beside Triton's, on a GPU: how long it takes until the first result of a shape, and how good what was found is.

    tune.py --build ROOT [--shapes 12] [--json FILE] [--budget SECONDS]

Both sides tune the same kernel, bench/tuned_matmul.py, each shape with an empty cache of its own and nothing compiled before, unless --shared: then
one shape after the other shares what was compiled. Then every configuration is timed alone, in turns, with this compiler: `of best` is the
chosen one's time over the least of all. Products are compared with torch's."""
import argparse
import ctypes as c
import importlib.util
import json
import os
import statistics
import sys
import tempfile
import time

import torch

from tilec_side import Tilec, text

HERE = os.path.dirname(os.path.abspath(__file__))
SOURCE = os.path.join(HERE, "tuned_matmul.py")
SHAPES = [(4096, 4096, 4096), (512, 512, 512), (1024, 1024, 1024), (2048, 2048, 2048), (8192, 8192, 1024), (1024, 8192, 2048),
          (128, 4096, 4096), (16, 8192, 8192), (4096, 256, 4096), (3000, 1000, 5000), (777, 777, 777), (8192, 512, 512)]


class Messages:
    """The remarks of one call."""

    def __init__(self, tilec):
        self.tilec, self.handle = tilec, c.c_void_p()

    def take(self):
        if not self.handle:
            return ""
        said = self.tilec.lib.tile_diagnostics_text(self.handle).data.decode()
        self.tilec.lib.tile_diagnostics_destroy(self.handle)
        self.handle = c.c_void_p()
        return said


def arguments_of(shape):
    m, n, k = shape
    generator = torch.Generator(device="cuda").manual_seed(m + n + k)
    a = torch.randn((m, k), device="cuda", dtype=torch.float16, generator=generator)
    b = torch.randn((k, n), device="cuda", dtype=torch.float16, generator=generator)
    out = torch.full((m, n), float("nan"), device="cuda", dtype=torch.float16)
    return [a, b, out, m, n, k, k, 1, n, 1, n, 1]


def right(arguments):
    a, b, out = arguments[:3]
    wanted = a.float() @ b.float()
    return bool(((out.float() - wanted).abs() <= 2e-2 + 2e-2 * wanted.abs()).all())


class Ours:
    def __init__(self, build):
        self.tilec = Tilec(os.path.join(build, "src", "runtime", "libtilec.so"), tempfile.mkdtemp())
        self.stream = c.c_void_p(torch.cuda.current_stream().cuda_stream)

    def function(self, constexprs=(), num_warps=0, num_stages=0, grid=""):
        options = self.tilec.compile_options(SOURCE, "matmul", num_warps, num_stages=num_stages, constexprs=constexprs)
        options.grid = text(grid)
        handle = c.c_void_p()
        self.tilec.call("tile_function_create", self.tilec.context, c.byref(options), c.byref(handle), diagnostics=True)
        return handle

    def launch(self, function, arguments, grid):
        packed = self.tilec.pack(arguments)
        messages = Messages(self.tilec)
        sides = (c.c_uint32 * 3)(*grid) if grid else None
        status = self.tilec.lib.tile_function_launch(function, self.tilec.device, sides, self.stream, packed,
                                                     c.c_size_t(len(packed)), c.byref(messages.handle))
        said = messages.take()
        if status:
            raise RuntimeError(said)
        return said


def fresh_module(number):
    """The kernel for Triton, with an empty cache."""
    os.environ["TRITON_CACHE_DIR"] = tempfile.mkdtemp()
    spec = importlib.util.spec_from_file_location(f"tuned_matmul_{number}", SOURCE)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def exhaustive(ours, arguments, configs, end):
    """Microseconds of each configuration: medians of runs in turns, behind a flushed L2; None of one that does not run."""
    m, n = arguments[3:5]
    flush = torch.empty(100 << 20, dtype=torch.int8, device="cuda")
    launches = {}
    for i, config in enumerate(configs):
        values = {name: str(value) for name, value in config.kwargs.items()}
        try:
            function = ours.function(values, config.num_warps, config.num_stages)
            grid = (-(-m // config.kwargs["BLOCK_M"]) * -(-n // config.kwargs["BLOCK_N"]), 1, 1)
            launches[i] = ours.tilec.launch_function(function, grid, arguments)
        except RuntimeError:
            pass
    times = {i: [] for i in launches}
    for turn in range(15):
        if turn > 4 and time.monotonic() > end:
            break
        for i, go in launches.items():
            begin, stop = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
            flush.zero_()
            begin.record()
            go()
            stop.record()
            times[i].append((begin, stop))
        torch.cuda.synchronize()
    return {i: statistics.median(begin.elapsed_time(stop) * 1e3 for begin, stop in events) for i, events in times.items()}


def chosen(said, configs):
    """The number of the configuration that the remark names."""
    for i, config in enumerate(configs):
        values = ", ".join(f"{name}={value}" for name, value in config.kwargs.items())
        if f"runs with {values}, num_warps={config.num_warps}, num_stages={config.num_stages}, num_ctas=1:" in said \
                or f"runs with {values}, num_warps={config.num_warps}, num_stages={config.num_stages}:" in said:
            return i
    return None


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", required=True)
    parser.add_argument("--shapes", type=int, default=len(SHAPES))
    parser.add_argument("--budget", type=float, default=215)
    parser.add_argument("--json")
    parser.add_argument("--no-triton", action="store_true")
    parser.add_argument("--shared", action="store_true", help="one cache for all shapes")
    options = parser.parse_args()
    end = time.monotonic() + options.budget
    rows, ours = [], None
    for number, shape in enumerate(SHAPES[:options.shapes]):
        if time.monotonic() > end:
            print(f"no time for {shape} and those behind it", file=sys.stderr)
            break
        if not ours or not options.shared:
            ours, module = Ours(options.build), fresh_module(number)
            kernel, configs = module.matmul, module.configurations()
            function = ours.function(grid="cdiv(M, BLOCK_M) * cdiv(N, BLOCK_N)")
        arguments = arguments_of(shape)
        torch.cuda.synchronize()
        start = time.monotonic()
        said = ours.launch(function, arguments, None)
        torch.cuda.synchronize()
        row = {"shape": shape, "ours_s": time.monotonic() - start, "right": right(arguments), "said": said}
        if not options.no_triton:
            arguments[2].fill_(float("nan"))
            start = time.monotonic()
            kernel[lambda meta: (module.triton.cdiv(shape[0], meta["BLOCK_M"]) * module.triton.cdiv(shape[1], meta["BLOCK_N"]),)](
                *arguments)
            torch.cuda.synchronize()
            row["triton_s"] = time.monotonic() - start
            row["triton_config"] = str(kernel.best_config)
        times = exhaustive(ours, arguments, configs, end)
        i = chosen(said, configs)
        row.update(chosen=i, times={str(k): v for k, v in times.items()},
                   of_best=times[i] / min(times.values()) if i in times else None)
        rows.append(row)
        print(json.dumps({k: v for k, v in row.items() if k not in ("said", "times")}), flush=True)
        print("\n".join(line for line in said.splitlines() if line.startswith("tilec: remark")), flush=True)
    if options.json:
        with open(options.json, "w", encoding="utf-8") as file:
            json.dump(rows, file, indent=1)
    if not options.no_triton and rows:
        ratios = [row["triton_s"] / row["ours_s"] for row in rows]
        print(f"Triton's time over ours: geometric mean {statistics.geometric_mean(ratios):.1f}, least {min(ratios):.1f}, "
              f"in all {sum(row['triton_s'] for row in rows) / sum(row['ours_s'] for row in rows):.1f}; chosen of best, worst {max(row['of_best'] or 9 for row in rows):.3f}")
    return 0 if rows and all(row["right"] for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
