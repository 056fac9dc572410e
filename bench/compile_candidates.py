#!/usr/bin/env python3
"""Compiles every configuration that the contests try (candidates.py) for sm_90a; no GPU is needed.

    compile_candidates.py --tilec build/release/src/cli/tilec [--filter TEXT] [--jobs N]
    compile_candidates.py --times build/release [--target sm_90a,sm_80] [--filter TEXT] [--keep FOLDER]
    $TRITON_PYTHON bench/compile_candidates.py --triton [--filter TEXT]       the Triton kernels of triton_peers.py

Prints registers and CTAs per SM; fails where tilec fails, spills, or ptxas serialises products. With --times milliseconds of processor
time, the least of several runs in rounds over all, since a host can be slow for seconds: .tile to PTX inside a process, and ptxas on that
PTX; fails where the first takes more than MOST_MS or more than half of the second.
"""
import argparse
import concurrent.futures
import json
import os
import re
import resource
import subprocess
import sys
import tempfile

import candidates

os.chdir(os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))

MOST_MS = 40
ROUNDS = 3
PTXAS = os.environ.get("TILEC_PTXAS", "ptxas")


def matmul_rows():
    kinds = {(*config, 1) for shape in ((1024,) * 3, (2176,) * 3, (3072,) * 3, (8192,) * 3, (16, 4096, 14336), (64, 4096, 14336), (512, 4096, 4096))
             for config in candidates.matmul(*shape) if config[5] != candidates.PER_TILE}
    for dtype, layouts, configs in (("fp16", ("nn", "nt"), sorted(kinds, key=str)), ("bf16", ("nn",), [(*c, 1) for c in candidates.LARGE]),
                                    ("fp8e4nv", ("nt",), [(*config, 1) for config in candidates.FP8])):
        for layout in layouts:
            for config in configs:
                yield matmul_row(dtype, layout, config)


def matmul_row(dtype, layout, config):
    split, stream, wide = config[5] > 1, config[5] == candidates.STREAM_K, candidates.is_wide(config)
    out = "*fp32:16" if split else "*fp16:16" if dtype == "fp8e4nv" else f"*{dtype}:16"
    types = {"a_ptr": f"*{dtype}:16", "b_ptr": f"*{dtype}:16", "out_ptr" if split else "c_ptr": out, "M": "i32:16", "N": "i32:16",
             "K": "i32:16", "stride_am": "i32:16", "stride_ak": "i32:1", "stride_bk": "i32:16" if layout == "nn" else "i32:1",
             "stride_bn": "i32:1" if layout == "nn" else "i32:16"} | ({} if split else {"stride_cm": "i32:16", "stride_cn": "i32:1"})
    fixed = {"BLOCK_M": config[0], "BLOCK_N": config[1][0] if wide else config[1], "BLOCK_K": config[2]}
    fixed |= {"BLOCK_N2": config[1][1]} if wide else {}
    if stream:
        return ("matmul_stream_k.tile", "matmul_stream_k", types | {"parts_ptr": "*fp32:16", "flags_ptr": "*i32:16"}, fixed, config[3], config[4],
                f"{dtype} {layout}")
    return ("matmul_split_k.tile" if split else "matmul.tile", "matmul_split_k" if split else "matmul_wide" if wide else "matmul", types, fixed,
            config[3], config[4], f"{dtype} {layout}")


def linear_rows():
    types = {f"{name}_ptr": "*fp16:16" for name in "xwby"} | {name: "i32:16" for name in ("M", "N", "K", "stride_x", "stride_w", "stride_y")}
    for config in candidates.LINEAR:
        yield ("linear_gelu.tile", "linear_gelu", types, dict(zip(("BLOCK_M", "BLOCK_N", "BLOCK_K"), config)), config[3], config[4], "")


def attention_rows():
    common = {"queries": "i32:16", "keys": "i32:16", "scale": "fp32"}
    forward = {f"{name}_ptr": "*fp16:16" for name in "qkvo"} | {"lse_ptr": "*fp32:16", "q_start_ptr": "*i32:16", "k_start_ptr": "*i32:16",
                                                               "slopes_ptr": "*fp32:16"}
    backward = {f"{name}_ptr": "*fp16:16" for name in ("q", "k", "v", "do")} | {"lse_ptr": "*fp32:16", "delta_ptr": "*fp32:16"}
    for dim in (64, 128):
        def strides(pairs):
            return {f"stride_{pair}{last}": "i32:16" if last != inner else f"i32:={dim}" for pair, inner in pairs for last in ("b", "h", inner)}

        for causal in (False, True):
            for kernel, types, configs in (
                    ("attention_forward", forward | strides(("qm", "kn", "vn", "om")), candidates.ATTENTION),
                    ("attention_backward_dkdv", backward | {"dk_ptr": "*fp16:16", "dv_ptr": "*fp16:16"} | strides(("qm", "kn")), candidates.DKDV[dim]),
                    ("attention_backward_dq", backward | {"dq_ptr": "*fp16:16"} | strides(("qm", "kn")), candidates.DQ[dim])):
                for config in configs:
                    yield ("attention.tile" if kernel == "attention_forward" else "attention_backward.tile", kernel, types | common,
                           {"HEAD_DIM": dim, "BLOCK_M": config[0], "BLOCK_N": config[1], "CAUSAL": causal}, config[2], config[3], "")


def rows():
    yield from matmul_rows()
    yield from linear_rows()
    yield from attention_rows()


def name_of(row):
    _, kernel, _, fixed, warps, stages, kind = row
    return f"{kernel} {kind} {' '.join(f'{name}={value}' for name, value in fixed.items())}, {warps} warps, {stages} stages"


def options_of(row):
    _, _, types, fixed, warps, stages, _ = row
    options = ["--num-warps", str(warps), "--num-stages", str(stages)]
    for name, type_ in types.items():
        options += ["-a", f"{name}={type_}"]
    for name, value in fixed.items():
        options += ["-D", f"{name}={value!r}"]
    return options


def by_tilec(tilec, row):
    """(what is wrong or None, registers and CTAs per SM)"""
    file, kernel, *_ = row
    command = [tilec, "compile", os.path.join("kernels", file), "-k", kernel, "--target", "sm_90a", "--emit", "cubin", "-o", os.devnull,
               "--cache-dir", "none", "--json"] + options_of(row)
    process = subprocess.run(command, capture_output=True, text=True)
    if process.returncode:
        return f"exit status {process.returncode}: {process.stderr.strip()[:300]}", ""
    report = json.loads(process.stdout)
    used = report["resources"]
    wrong = [d["message"] for d in report["diagnostics"] if d["id"].startswith("ptxas_")]
    spilled = used["spill_stores"] + used["spill_loads"]
    return "; ".join(wrong + [f"{spilled} bytes spilled"] * (spilled > 0)) or None, f"{used['registers']} registers, {used['blocks_per_sm']} CTAs"


def children_ms():
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return (usage.ru_utime + usage.ru_stime) * 1e3


def times(build, row, target, keep):
    """Milliseconds of processor time of .tile to PTX, and of ptxas on that PTX; the PTX stays as keep/NAME.ptx."""
    file, kernel, *_ = row
    ptx = os.path.join(keep, f"{re.sub(r'[^a-z0-9]+', '-', name_of(row).lower())}.{target}.ptx")
    command = [os.path.join(build, "bench", "bench_compile"), os.path.join("kernels", file), kernel, "", "--target", target,
               "--samples", "7", "-o", ptx]
    ours = json.loads(subprocess.run(command + options_of(row), stdout=subprocess.PIPE, check=True).stdout)["least_cpu_ms"]
    before = children_ms()
    subprocess.run([PTXAS, f"-arch={target}", ptx, "-o", os.devnull], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return ours, children_ms() - before


def print_times(build, chosen, targets, keep):
    """The number of those that take too long."""
    slow = 0
    with tempfile.TemporaryDirectory(prefix="tilec-times-") as folder:
        for target in targets:
            rounds = [[times(build, row, target, keep or folder) for row in chosen] for _ in range(ROUNDS)]
            for row, *taken in zip(chosen, *rounds):
                ours, ptxas = map(min, zip(*taken))
                said = [f"over {MOST_MS} ms"] * (ours > MOST_MS) + ["over half"] * (ours > ptxas / 2)
                slow += bool(said)
                print(f"{target} {name_of(row)}: {ours:.1f} ms to PTX, ptxas {ptxas:.0f} ms, {ours / ptxas:.2f} {', '.join(said)}".rstrip())
    print(f"{slow} of {len(chosen) * len(targets)} take over {MOST_MS} ms or over half of ptxas")
    return slow


def peers():
    """(name, function, types by parameter, constexprs, warps, stages)"""
    import triton_peers

    seen = sorted({config[:5] for n in (1024, 3072, 8192) for config in candidates.matmul(n, n, n)
                   if config[5] == 1 and not candidates.is_wide(config)})
    for dtype, by_rows, configs in (("fp16", True, seen), ("fp16", False, seen), ("fp8e4nv", False, [c for c in candidates.FP8 if not candidates.is_wide(c)])):
        for m, n, k, warps, stages in configs:
            halves = n == 256
            types = {"a": f"tensordesc<{dtype}[{m}, {k}]>", "b": f"tensordesc<{dtype}[{k}, {n}]>" if by_rows else f"tensordesc<{dtype}[{n}, {k}]>",
                     "c": f"tensordesc<fp16[{m}, {n // 2 if halves else n}]>", "M": "i32", "N": "i32", "K": "i32"}
            for specialize in (False, True):
                yield (f"persistent {dtype} {m} x {n} x {k}, {warps}, {stages}, specialised {specialize}", triton_peers.matmul_descriptors, types,
                       {"BLOCK_M": m, "BLOCK_N": n, "BLOCK_K": k, "GROUP": 8, "PROGRAMS": 132, "B_BY_ROWS": by_rows, "HALVES": halves,
                        "SPECIALIZE": specialize}, warps, stages)
    pointers = dict.fromkeys(("q_ptr", "k_ptr", "v_ptr", "do_ptr", "lse_ptr", "delta_ptr", "dq_ptr", "dk_ptr", "dv_ptr"), "*fp16")
    types = pointers | {"lse_ptr": "*fp32", "delta_ptr": "*fp32", "length": "i32", "scale": "fp32"}
    yield ("delta", triton_peers.backward_delta, {"o_ptr": "*fp16", "do_ptr": "*fp16", "delta_ptr": "*fp32", "length": "i32"},
           {"BLOCK_M": 128, "HEAD_DIM": 64}, 4, 3)
    for dim in (64, 128):
        for causal in (False, True):
            for m1, n1, m2, n2, warps, stages in candidates.TUTORIAL_BACKWARD:
                yield (f"backward {dim} causal {causal} {m1} {n1} {m2} {n2}, {warps}, {stages}", triton_peers.backward_gradients, types,
                       {"BLOCK_M1": m1, "BLOCK_N1": n1, "BLOCK_M2": m2, "BLOCK_N2": n2, "SLICES": 2, "HEAD_DIM": dim, "CAUSAL": causal}, warps, stages)


def by_triton(function, types, constants, warps, stages):
    import triton
    from triton.backends.compiler import GPUTarget
    from triton.compiler import ASTSource

    names = function.arg_names
    signature = {name: types.get(name, "constexpr") for name in names}
    attributes = {(i,): [["tt.divisibility", 16]] for i, name in enumerate(names) if types.get(name, "")[:1] in "*i" and name in types}
    source = ASTSource(fn=function, signature=signature, constexprs={(names.index(name),): value for name, value in constants.items()},
                       attrs=attributes)
    return triton.compile(source, target=GPUTarget("cuda", 90, 32), options={"num_warps": warps, "num_stages": stages})


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tilec")
    parser.add_argument("--times", metavar="BUILD", help="the build folder, with bench_compile")
    parser.add_argument("--target", default="sm_90a,sm_80", help="of --times; default: %(default)s")
    parser.add_argument("--keep", help="a folder for the PTX of --times")
    parser.add_argument("--triton", action="store_true")
    parser.add_argument("--filter", default="")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    options = parser.parse_args()
    failed = 0
    if options.triton:
        for name, *what in peers():
            if options.filter in name:
                try:
                    print(f"{name}: {by_triton(*what).metadata.shared} bytes of shared memory", flush=True)
                except Exception as error:  # a peer's configuration that does not compile is left out of the contest
                    print(f"{name}: {(str(error).strip().splitlines() or [repr(error)])[0][:150]}", flush=True)
    if options.tilec:
        chosen = [row for row in rows() if options.filter in name_of(row)]
        with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
            for row, (wrong, used) in zip(chosen, pool.map(lambda row: by_tilec(options.tilec, row), chosen)):
                failed += wrong is not None
                print(f"{name_of(row)}: {wrong or used}", flush=True)
        print(f"{len(chosen) - failed} compile, {failed} do not")
    if options.times:
        os.makedirs(options.keep or ".", exist_ok=True)
        failed += print_times(options.times, [row for row in rows() if options.filter in name_of(row)], options.target.split(","), options.keep)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
