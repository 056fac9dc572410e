"""Whole kernels: CUDA C++ compiled by nvcc, Triton's PTX of the same operations, and tilec's own kernels."""
import concurrent.futures
import json
import os
import re
import subprocess
import sys
import tempfile
import time

import numpy as np

from probe import Array, Check, Probe

HERE = os.path.dirname(os.path.abspath(__file__))
PTX_LIMIT = 300  # seconds for a compiler


def generator():
    return np.random.default_rng(11)


def half(values, dtype):
    if dtype == "bf16":
        return (values.astype(np.float32).view(np.uint32) >> 16).astype(np.uint16)
    return values.astype(np.float16 if dtype == "f16" else np.float32)


def vector_add():
    rng = generator()
    return [Array("in", rng.normal(size=5000).astype(np.float32)), Array("in", rng.normal(size=5000).astype(np.float32)),
            Array("out", size=20000), 5000], [Check("<u4", "f32")], {"elements": 5000}


def by_rows(rule, weights, reduced=False):
    def operation():
        rng, rows, cols = generator(), 9, 777
        args = [Array("in", (4 * rng.normal(size=(rows, cols))).astype(np.float32))]
        args += [Array("in", rng.normal(size=cols).astype(np.float32)) for _ in range(weights)]
        return args + [Array("out", size=4 * rows * (1 if reduced else cols)), cols], [Check("<u4", "f32", rule)], {"rows": rows}
    return operation


def histogram():
    return [Array("in", generator().integers(0, 1 << 30, 6000).astype(np.int32)), Array("inout", np.zeros(64, np.int32)), 6000], \
        [Check("<u4", "s32")], {"elements": 6000}


def scalar_mix():
    values = generator().integers(-(1 << 62), 1 << 62, 4000) >> generator().integers(0, 62, 4000)
    return [Array("in", values.astype(np.int64)), Array("out", size=32000), Array("out", size=32000), 4000], \
        [Check("<u8", "s64"), Check("<u8", "f64")], {"elements": 4000}


def transposing(stored, dtype):
    def operation():
        rows, cols = 100, 70
        data = generator().integers(0, 255, rows * cols * np.dtype(stored).itemsize).astype(np.uint8)
        return [Array("in", data), Array("out", size=len(data)), rows, cols], [Check(stored, dtype)], {"rows": rows, "cols": cols}
    return operation


def multiplying(dtype):
    def operation():
        rng, (M, N, K) = generator(), (144, 208, 160)
        a, b = (half(rng.normal(size=shape), dtype) for shape in ((M, K), (K, N)))
        return [Array("in", a), Array("in", b), Array("out", size=4 * M * N), M, N, K], [Check("<u4", "f32", "products")], {"rows": M, "cols": N}
    return operation


OPERATIONS = {"vector_add": vector_add, "softmax": by_rows("kernel", 0), "layernorm": by_rows("kernel", 2),
              "row_sum": by_rows("exact", 0, True), "histogram": histogram, "scalar_mix": scalar_mix, "transpose": transposing("<u4", "u32"),
              "transpose_half": transposing("<u2", "u16"), "matmul": multiplying("f16"), "matmul_bf16": multiplying("bf16"),
              "matmul_tf32": multiplying("f32"), "matmul_wgmma": multiplying("f16"), "matmul_wgmma_bf16": multiplying("bf16")}


def grid_of(sizes, per_block):
    """`per_block`: elements (elementwise kernels), or rows and columns of a tile."""
    if "elements" in sizes:
        return (-(-sizes["elements"] // per_block), 1, 1)
    if "cols" in sizes:
        return (-(-sizes["rows"] // per_block), -(-sizes["cols"] // per_block), 1)
    return (sizes["rows"], 1, 1)


def whole(group, name, entry, text, per_block, threads, shared, extra=0):
    args, checks, sizes = OPERATIONS[name]()
    return Probe(group, f"{group} {name}", "", args + [0] * extra, checks, grid=grid_of(sizes, per_block), block=threads, shared=shared,
                 entry=entry, module=text)


def cuda_kernels(options, folder):
    path = os.path.join(folder, "cuda.ptx")
    try:
        os.path.exists(path) or subprocess.run([options.nvcc, "-ptx", "-arch=sm_90a", "-std=c++17", "-o", path, os.path.join(HERE, "cuda_kernels.cu")], check=True,
                       capture_output=True, text=True, timeout=PTX_LIMIT)
    except (OSError, subprocess.SubprocessError) as error:
        print(f"agree.py: nvcc's kernels are left out: {error}: {getattr(error, 'stderr', '')}", file=sys.stderr)
        return
    with open(path) as file:
        text = file.read()
    tile = {"transpose": 32, "matmul": 64}
    for name in ("vector_add", "softmax", "layernorm", "row_sum", "histogram", "scalar_mix", "transpose", "matmul"):
        yield whole("nvcc", name, name, text, tile.get(name, 128), 128, 0)


def triton_kernels(options, folder):
    """Where cp.async fills what wgmma reads, Triton 3.6 leaves the fence between the proxies out: the simulator reports
    that. It is put in here (3.7 does), so that the sums are compared."""
    try:
        os.path.exists(os.path.join(folder, "triton.json")) or subprocess.run([options.triton, os.path.join(HERE, "triton_kernels.py"), folder], check=True, capture_output=True, text=True,
                       timeout=PTX_LIMIT)
    except (OSError, subprocess.SubprocessError) as error:
        print(f"agree.py: Triton's kernels are left out: {error}: {getattr(error, 'stderr', '')[-500:]}", file=sys.stderr)
        return
    with open(os.path.join(folder, "triton.json")) as file:
        compiled = json.load(file)
    per_block = {"vector_add": 512, "histogram": 512, "transpose": 32, "matmul_wgmma": 128, "matmul_wgmma_bf16": 128}
    for name, facts in compiled.items():
        if "error" in facts:
            print(f"agree.py: Triton does not compile {name}: {facts['error']}", file=sys.stderr)
            continue
        with open(os.path.join(folder, f"{name}.ptx")) as file:
            text = file.read()
        if "wgmma" in name:
            text = re.sub(r"(cp\.async\.wait_group\s+\d+;)", r"\1 fence.proxy.async;", text)
        head = text[text.index(f".entry {facts['entry']}("):]
        given = head[:head.index(")")].count(".param")
        takes = len(OPERATIONS[name]()[0])
        yield whole("Triton", name, facts["entry"], text, per_block.get(name, 64), facts["threads"], facts["shared"], given - takes)


FAMILIES = (cuda_kernels, triton_kernels)


# tilec's kernels: `tilec run` on both devices, with the inputs of tests/e2e/kernels.

STORED = {"fp32": ("<u4", "f32"), "fp16": ("<u2", "f16"), "bf16": ("<u2", "bf16"), "i32": ("<u4", "s32"), "i64": ("<u8", "s64"),
          "i8": ("<u1", "s8"), "u8": ("<u1", "u8"), "fp64": ("<u8", "f64"), "fp8e4nv": ("<u1", "e4m3"), "fp8e5": ("<u1", "e5m2")}
EXACT = ("vector_add", "transpose")
ROUNDED = ("linear_attention", "attention_backward_dkdv", "attention_backward_dq")
PRODUCTS = ("matmul", "attention", "dot", "gemm", "bmm", "batched")


def rule_of(case, dtype):
    if case.name.startswith(EXACT) or dtype not in ("fp32", "fp16", "bf16"):
        return "exact"
    if case.name.startswith(ROUNDED):
        return "rounded"
    return "products" if case.name.startswith(PRODUCTS) else "kernel"


def run_case(check, tilec, case, device):
    """(verdict, bytes of the outputs) of `tilec run`."""
    outputs = [name for name, value in case.args.items() if isinstance(value, check.Array) and value.is_output]
    extra = ["--target", "sm_90a"] if device == "sim" else []
    with tempfile.TemporaryDirectory(prefix="tilec-agree-") as folder:
        try:
            process = subprocess.run(check.run_command(tilec, case, folder, device) + extra, capture_output=True, text=True, timeout=PTX_LIMIT)
        except subprocess.TimeoutExpired:
            return f"no end after {PTX_LIMIT} s", None
        if process.returncode:
            return " ".join((process.stdout[-300:] + process.stderr[:600]).split()) or f"status {process.returncode}", None
        return "ok", [np.load(os.path.join(folder, f"{name}.out.npy")).tobytes() for name in outputs]


def tilec_results(options, deadline):
    """[(probe, GPU's result, simulator's result)] of kernels/."""
    sys.path.insert(0, os.path.join(HERE, "../../e2e/kernels"))
    import check

    tilec = os.path.join(options.build, "src/cli/tilec")

    def both(case):
        outputs = [(n, v) for n, v in case.args.items() if isinstance(v, check.Array) and v.is_output]
        checks = [Check(*STORED[v.dtype], rule_of(case, v.dtype), inputs=[np.array([bound], np.float64) for bound in case.tolerance.get(n, ())])
                  for n, v in outputs]
        probe = Probe("tilec", f"tilec {case.name}", "", [], checks)
        if time.time() > deadline:
            return probe, ("not run", None), ("not run", None)
        return probe, run_case(check, tilec, case, "cuda"), run_case(check, tilec, case, "sim")

    cases = [c for c in check.all_cases(False) if options.filter in "tilec " + c.name]
    with concurrent.futures.ThreadPoolExecutor(options.workers) as pool:
        return list(pool.map(both, cases))
