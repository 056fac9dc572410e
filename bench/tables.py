#!/usr/bin/env python3
"""The tables of docs/performance.md from what bench.py --json wrote; no GPU and no torch.

    tables.py FILE.json...     Markdown of rows and of all contests in the files
"""
import json
import sys

from candidates import PER_TILE, STREAM_K

LAYOUTS = {"nn": "B by rows", "nt": "B by columns"}


def compact(report):
    """The report as JSON with a line for each case, so that a change of figures is as many lines as cases."""
    def text(value):
        if not isinstance(value, list) or not value:
            return json.dumps(value)
        return "[\n" + ",\n".join(f"  {json.dumps(case)}" for case in value) + "\n ]"

    return "{\n" + ",\n".join(f" {json.dumps(key)}: {text(value)}" for key, value in report.items()) + "\n}\n"


def best_triton(result):
    """Time of the best of Triton's kernels over ours."""
    known = [ratio for who, ratio in result["ratios"].items() if who in ("triton", "persistent", "specialised", "descriptors", "tutorial")]
    return min(known) if known else None


def figure(value):
    return "-" if value is None else f"{value:.2f}"


def tile(config):
    """128 x 128+64 x 64, 8, 4, 2 parts; or stream-K"""
    block_m, block_n, block_k, warps, stages, *parts = config
    block_n = "+".join(map(str, block_n)) if isinstance(block_n, (list, tuple)) else block_n
    shared = f", {parts[0]} parts" if parts and parts[0] > 1 else {STREAM_K: ", stream-K", PER_TILE: ", a CTA each"}.get(*parts, "") if parts else ""
    return f"{block_m} x {block_n} x {block_k}, {warps}, {stages}{shared}"


def blocks(config):
    """128 x 64, 8, 2; or of each launch"""
    if isinstance(config, dict):
        return "; ".join(f"{part} {blocks(one)}" for part, one in config.items())
    return f"{config[0]} x {config[1]}, {config[2]}, {config[3]}"


def numbers(result, *others):
    rate = result["operations"] / result["us"]["tilec"] / 1e6
    return [f"{result['us']['tilec']:.1f}", f"{rate:.0f}", figure(best_triton(result)), *(figure(result["ratios"].get(who)) for who in others)]


def table(head, rows):
    return "\n".join(["| " + " | ".join(head) + " |", "|" + "---|" * len(head)] + ["| " + " | ".join(row) + " |" for row in rows]) + "\n"


def products(results, dtype):
    """A row for each shape, the layouts of B beside each other."""
    of_shape = {}
    for result in results:
        if result["about"]["dtype"] == dtype:
            of_shape.setdefault(tuple(result["about"]["shape"]), {})[result["about"]["layout"]] = result
    layouts = [layout for layout in LAYOUTS if any(layout in found for found in of_shape.values())]
    head = ["M x N x K"]
    for i, layout in enumerate(layouts):
        head += [f"{dtype}, {LAYOUTS[layout]}: us, TFLOPS, times Triton, times cuBLAS" if i == 0 else f"{LAYOUTS[layout]}: the same",
                 "tile, warps, stages"]
    rows = []
    for (m, n, k), found in sorted(of_shape.items(), key=lambda item: (item[0][0] == item[0][1] == item[0][2], item[0])):
        row = [f"{m} x {n} x {k}"]
        for layout in layouts:
            one = found.get(layout)
            row += [", ".join(numbers(one, "cublas")), tile(one["configurations"]["tilec"])] if one else ["-", "-"]
        rows.append(row)
    return table(head, rows)


def linear(results):
    head = ["M x N x K", "type", "us", "TFLOPS", "times Triton", "of the bare product", "of the bare product's best", "times torch",
            "tile, warps, stages"]
    return table(head, [[" x ".join(map(str, r["about"]["shape"])), r["about"]["dtype"], *numbers(r, "bare", "matmul", "torch"),
                         tile(r["configurations"]["tilec"])] for r in results])


def attention(results, peers):
    head = ["head dim, mask, length (batch x heads)", "us", "TFLOPS", "times the best Triton", *(f"times {who}" for who in peers),
            "BLOCK_M x BLOCK_N, warps, stages"]
    rows = []
    for r in results:
        about = r["about"]
        rows.append([f"{about['dim']}, {'causal' if about['causal'] else 'full'}, {about['length']} ({about['batch']} x {about['heads']})",
                     *numbers(r, *peers), blocks(r["configurations"]["tilec"])])
    return table(head, rows)


def rows(results):
    """A row for each shape, kernels and types beside each other."""
    kinds = dict.fromkeys((r["kernel"], r["dtype"]) for r in results)
    head = ["rows x columns"] + [f"{kernel} {dtype}: us, times Triton, of copy" for kernel, dtype in kinds]
    found = {(r["rows"], r["columns"], r["kernel"], r["dtype"]): r for r in results}
    lines = []
    for shape in sorted({key[:2] for key in found}):
        cells = [found.get((*shape, *kind)) for kind in kinds]
        lines.append([f"{shape[0]} x {shape[1]}"] + [f"{r['us']['tilec']:.1f}, {r['ratio']:.2f}, {r['of_copy']:.2f}" if r else "-" for r in cells])
    return table(head, lines)


def means(results):
    """Geometric mean and least ratio to each peer, and to the best of Triton's."""
    lines = []
    for who in ["the best Triton", *dict.fromkeys(who for r in results for who in r["ratios"])]:
        known = [ratio for r in results for ratio in [best_triton(r) if who == "the best Triton" else r["ratios"].get(who)] if ratio]
        if not known:
            continue
        product = 1.0
        for ratio in known:
            product *= ratio ** (1 / len(known))
        lines.append(f"{product:.3f} of {who} (least {min(known):.2f}, {sum(ratio < 1 for ratio in known)} of {len(known)} under 1)")
    return "Geometric means: " + "; ".join(lines) + ".\n"


def markdown(report):
    parts = []
    for key in ("matmul", "fp8"):
        for dtype in dict.fromkeys(r["about"]["dtype"] for r in report.get(key, ())):
            parts += [products(report[key], dtype), means([r for r in report[key] if r["about"]["dtype"] == dtype])]
    if len({r["about"]["dtype"] for r in report.get("matmul", ())}) > 1:
        parts.append("All types. " + means(report["matmul"]))
    if report.get("rows"):
        parts.insert(0, rows(report["rows"]))
    if report.get("linear"):
        parts += [linear(report["linear"]), means(report["linear"])]
    for key, peers in (("attention", ("triton", "descriptors", "specialised", "cudnn")), ("backward", ("triton", "tutorial", "flash", "cudnn"))):
        if report.get(key):
            parts += [attention(report[key], peers), means(report[key])]
    return "\n".join(parts)


def main():
    report = {}
    for path in sys.argv[1:]:
        with open(path) as file:
            for key, value in json.load(file).items():
                report[key] = report[key] + value if key in report and isinstance(value, list) else value
    print(markdown(report), end="")


if __name__ == "__main__":
    sys.exit(main())
