#!/usr/bin/env python3
"""tilec beside Triton on the GPU of this machine, one run: correctness, then time, then compile times.

    bench.py --build build/release [--json FILE] [--markdown FILE] [--only rows|matmul|fp8|linear|attention|backward|decode|compile]
             [--sweep] [--peers EXPRESSION]

The same .tile file is loaded into Triton and into libtilec; every result is compared with float64; samples
are taken in turn with the L2 flushed before each (timing.py). Triton runs with its best number of warps of
those tried, tilec as it chooses itself. "of copy" is the time of torch's copy of the same matrix over tilec's. Contests
of products and attention: contest.py. The JSON file grows case by case; tables.py makes Markdown of it. --sweep: shapes between those of
the tables (odd lengths, sides that are no power of two, rows of no whole vectors).
"""
import argparse
import os
import re
import sys

import torch

import attention
import backward
import compile_times
import decode
import linear
import matmul
import tables
from row_cases import KERNELS, ROW_KERNELS, SWEEP_COLUMNS, SWEEP_DTYPES
from timing import Timer, geometric_mean
from tilec_side import Tilec

ROWS, COLUMNS, DTYPES = (4096, 32768), (256, 1024, 4096, 8192, 16384, 32768), ("fp32", "bf16")


def warps_to_try(columns):
    return (1, 2, 4, 8) if columns <= 1024 else (2, 4, 8, 16) if columns <= 8192 else (8, 16, 32)


def copy_bandwidth(timer):
    """GB/s of a device-to-device copy of 1 GiB, bytes read plus written."""
    a = torch.empty(1 << 28, device="cuda", dtype=torch.float32).normal_()
    b = torch.empty_like(a)
    return 8 * a.numel() / timer.medians({"copy": lambda: b.copy_(a)})["copy"] / 1e3


def checked(case, launch, who):
    case.poison()
    launch()
    torch.cuda.synchronize()
    if not case.passes():
        raise SystemExit(f"{who}: {case.name}: relative error {case.error():.2e}")


def check_random_bits(tilec, rows=512, columns=1000, seed=2**33 + 12345):
    """tl.rand must keep the same elements in both: z of ones over a zero residual shows which."""
    import triton_side

    ones = torch.ones(rows, columns, device="cuda")
    zeros, w = torch.zeros_like(ones), torch.ones(columns, device="cuda")
    kept = []
    for side in ("tilec", "triton"):
        z, y = torch.full_like(ones, float("nan")), torch.empty_like(ones)
        arguments = [ones, zeros, w, w, z, y, columns, columns, 0.3, 1e-5, seed]
        path = os.path.join(KERNELS, "dropout_layernorm.tile")
        if side == "tilec":
            tilec.launch_once(path, "dropout_layernorm", (rows, 1, 1), arguments + [("constexpr", 1024)])
        else:
            triton_side.load(path).dropout_layernorm[(rows, 1, 1)](*arguments, BLOCK=1024)
        torch.cuda.synchronize()
        kept.append(z != 0)
    same = bool((kept[0] == kept[1]).all())
    print(f"dropout masks of {rows} x {columns}: {'the same bits as Triton' if same else 'DIFFERENT from Triton'}, "
          f"{kept[0].float().mean().item():.4f} kept")
    if not same:
        raise SystemExit(1)


def run_rows(timer, tilec, options):
    import triton_side

    check_random_bits(tilec)
    copy = copy_bandwidth(timer)
    print(f"copy of 1 GiB: {copy:.0f} GB/s\n")
    print(f"{'case':32} {'MB':>7} {'tilec us':>9} {'GB/s':>6} {'of copy':>8} {'Triton us':>10} {'warps':>6} {'ratio':>6} {'torch':>6}")
    results = []
    dtypes, columns = (SWEEP_DTYPES, SWEEP_COLUMNS) if options.sweep else (DTYPES, COLUMNS)
    shapes = [(k, d, r, n) for k in ROW_KERNELS for d in dtypes for r in (ROWS[1:] if options.sweep else ROWS) for n in columns]
    if options.filter:
        shapes = [s for s in shapes if re.search(options.filter, f"{s[0]} {s[1]} {s[2]}x{s[3]}")]
    for kernel, dtype, rows, columns in shapes:
        case = ROW_KERNELS[kernel](dtype, rows, columns)
        ours = tilec.launcher(case)
        checked(case, ours, "tilec")
        contenders = {}
        for warps in warps_to_try(columns):
            contenders[warps] = triton_side.launcher(case, warps)
            checked(case, contenders[warps], f"Triton, {warps} warps")
        quick = timer.medians(contenders, seconds=0.01, least=9)
        best = min(quick, key=quick.get)
        timed = timer.medians({"tilec": ours, "triton": contenders[best], "torch": case.torch,
                               "copy": lambda: case.y.copy_(case.x)}, seconds=options.seconds)
        rate = case.bytes / timed["tilec"] / 1e3
        ratio = timed["triton"] / timed["tilec"]
        print(f"{case.name:32} {case.bytes / 1e6:7.1f} {timed['tilec']:9.2f} {rate:6.0f} {timed['copy'] / timed['tilec']:8.3f} "
              f"{timed['triton']:10.2f} {best:6} {ratio:6.3f} {timed['torch'] / timed['tilec']:6.2f}", flush=True)
        results.append({"case": case.name, "kernel": kernel, "dtype": dtype, "rows": rows, "columns": columns,
                        "bytes": case.bytes, "us": timed, "triton_warps": best, "ratio": ratio, "of_copy": timed["copy"] / timed["tilec"]})
    summary = summarise(results)
    print("\n" + "\n".join(f"{name}: {value:.3f}" for name, value in summary.items()))
    return {"copy_gb_s": copy, "rows": results, "summary": summary}


def summarise(results):
    summary = {"geometric mean of ratios": geometric_mean([r["ratio"] for r in results]),
               "least ratio": min(r["ratio"] for r in results)}
    short = [r["ratio"] for r in results if r["columns"] == 256]
    large = [r["of_copy"] for r in results if r["bytes"] >= 128e6 and ">" not in r["dtype"]]
    if short:
        summary |= {"geometric mean at 256 columns": geometric_mean(short), "least at 256 columns": min(short)}
    if large:
        summary["geometric mean of shares of the same copy's bandwidth from 128 MB"] = geometric_mean(large)
        summary["least share of the same copy's bandwidth from 128 MB"] = min(large)
    return summary


CONTESTS = {"matmul": matmul.run, "fp8": matmul.run_fp8, "linear": linear.run, "attention": attention.run, "backward": backward.run,
            "decode": decode.run}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", default="build/release")
    parser.add_argument("--json")
    parser.add_argument("--markdown", help="where to write the tables")
    parser.add_argument("--only", choices=("rows", *CONTESTS, "compile"))
    parser.add_argument("--filter", default="", help="only cases whose name matches this expression")
    parser.add_argument("--sweep", action="store_true", help="the shapes between those of the tables")
    parser.add_argument("--peers", default="", help="products and attention: only peers whose name matches this expression")
    parser.add_argument("--per-tile", action="store_true", help="products: tilec once more, without persistent kernels")
    parser.add_argument("--seconds", type=float, default=0.06, help="GPU time per case")
    options = parser.parse_args()
    report = {"device": torch.cuda.get_device_name(), "torch": torch.__version__}

    def add(part):
        report.update(part)
        if options.json:
            with open(options.json, "w") as file:
                file.write(tables.compact(report))

    options.partial = add
    if options.only != "compile":
        timer = Timer()
        tilec = Tilec(os.path.join(options.build, "src", "runtime", "libtilec.so"))
        for what, run in ({"rows": run_rows} | CONTESTS).items():
            if options.only in (None, what):
                add(run(timer, tilec, options))
    if options.only in (None, "compile"):
        add({"compile": compile_times.run(options.build)})
    if options.markdown:
        with open(options.markdown, "w") as file:
            file.write(tables.markdown(report))


if __name__ == "__main__":
    sys.exit(main())
