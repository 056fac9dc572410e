"""kernels/matmul.tile beside the same file under Triton, Triton kernels with descriptors (triton_peers.py) and cuBLAS (torch.matmul).

All get the same few configurations, both compilers matmul_split_k.tile too where tiles are few; each contender is checked
against float64 on some rows, the best one by a short run is timed again with the others in turn. fp16 and bf16, B by rows (nn) and by columns (nt).
"""
import math
import re

import torch

import triton_peers
import triton_side
from contest import best
from timing import geometric_mean

PATH = "kernels/matmul.tile"
SPLIT_PATH = "kernels/matmul_split_k.tile"
SQUARES = (1024, 1280, 1536, 2048, 2176, 2944, 3072, 4096, 8192, 16384)
SHAPES = tuple((n, n, n) for n in SQUARES) + tuple((m, n, k) for m in (16, 64, 512, 4096)
                                                   for n, k in ((4096, 4096), (14336, 4096), (4096, 14336)))
TYPES = {"fp16": torch.float16, "bf16": torch.bfloat16}
TOLERANCE = {"fp16": 2e-3, "bf16": 1e-2}
# BLOCK_M, BLOCK_N, BLOCK_K, warps, stages; BLOCK_N may be two widths beside each other (matmul_wide)
CONFIGS = ((128, 128, 64, 4, 3), (128, 128, 64, 8, 3), (128, 128, 64, 8, 5), (128, 256, 64, 8, 3), (256, 128, 64, 8, 3), (64, 128, 64, 4, 4),
           (128, 64, 64, 4, 4), (64, 64, 64, 4, 4), (64, 128, 64, 4, 6), (64, 256, 64, 4, 4))
WIDE = ((128, (128, 64), 64, 8, 3), (128, (128, 64), 64, 8, 4), (128, (128, 32), 64, 8, 4), (64, (128, 64), 64, 4, 4))
FEW_ROWS = ((16, 64, 128, 4, 4), (16, 128, 128, 4, 3), (16, 32, 256, 4, 3), (64, 64, 128, 4, 4), (64, 128, 64, 4, 4), (64, 32, 128, 4, 4))
PROCESSORS = 132


def configs_of(case):
    """With the number of programs that share the depth of a tile as the last figure: 1, or what fills the GPU once or twice."""
    m, n, k = case.shape
    chosen = [(*config, 1) for config in WIDE if m > 64]
    for config in CONFIGS if m > 64 else FEW_ROWS:
        tiles = -(-m // config[0]) * -(-n // config[1])
        chosen.append((*config, 1))
        chosen += [(*config, splits) for splits in (2, 4, 8, 16) if tiles * splits <= 2 * PROCESSORS and k >= 4 * splits * config[2]
                   and tiles * splits * 2 > PROCESSORS]
    return chosen


def width(config):
    """Columns of a tile."""
    return sum(config[1]) if is_wide(config) else config[1]


def is_wide(config):
    return isinstance(config[1], tuple)


class Matmul:
    """One product; inputs normally distributed, the output poisoned."""

    def __init__(self, dtype, layout, m, n, k):
        self.name = f"matmul {dtype} {layout} {m}x{n}x{k}"
        self.dtype, self.shape = dtype, (m, n, k)
        generator = torch.Generator("cuda").manual_seed(m + n + k)
        self.a = torch.randn(m, k, device="cuda", generator=generator).to(TYPES[dtype])
        b = torch.randn((k, n) if layout == "nn" else (n, k), device="cuda", generator=generator).to(TYPES[dtype])
        self.b = b if layout == "nn" else b.T
        self.c = torch.empty(m, n, device="cuda", dtype=TYPES[dtype])

    @property
    def arguments(self):
        return [self.a, self.b, self.c, *self.shape, *self.a.stride(), *self.b.stride(), *self.c.stride()]

    def grid(self, config):
        m, n, _ = self.shape
        return (-(-m // config[0]) * -(-n // width(config)), 1, 1)

    def torch(self):
        torch.matmul(self.a, self.b, out=self.c)

    def passes(self, launch):
        """Relative error in the 2-norm over the first, middle and last rows."""
        self.c.fill_(float("nan"))
        launch()
        m = self.shape[0]
        part = [row for row in range(m) if row < 64 or 0 <= row - m // 2 < 64 or row >= m - 64]
        expected = self.a[part].double() @ self.b.double()
        error = ((self.c[part].double() - expected).norm() / expected.norm()).item()
        return error <= TOLERANCE[self.dtype] and bool(torch.isfinite(self.c).all())


def constexprs(config):
    if is_wide(config):
        return {"BLOCK_M": config[0], "BLOCK_N": config[1][0], "BLOCK_N2": config[1][1], "BLOCK_K": config[2]}
    return dict(zip(("BLOCK_M", "BLOCK_N", "BLOCK_K"), config))


def split_launches(case, config):
    """What matmul_split_k.tile is called with: (kernel, grid, arguments, constexprs, warps, stages) of both launches."""
    m, n, k = case.shape
    parts = torch.empty(config[5], m, n, device="cuda")
    tiles = case.grid(config)[0]
    yield ("matmul_split_k", (tiles, config[5], 1), [case.a, case.b, parts, m, n, k, *case.a.stride(), *case.b.stride()], constexprs(config),
           *config[3:5])
    yield ("matmul_split_k_sum", (-(-m * n // 1024), 1, 1), [parts, case.c, m * n, config[5]], {"BLOCK": 1024}, 4, 3)


def tilec_launcher(tilec, case, config):
    if config[5] > 1:
        launches = [tilec.launch_function(tilec.function(SPLIT_PATH, kernel, warps, stages, {name: str(value) for name, value in fixed.items()}),
                                          grid, arguments)
                    for kernel, grid, arguments, fixed, warps, stages in split_launches(case, config)]
        return lambda: [launch() for launch in launches]
    named = {name: str(value) for name, value in constexprs(config).items()}
    named |= {"GROUP_M": "8", "ACC": "tl.float32", "PRECISION": "'tf32'"} | ({} if is_wide(config) else {"ACTIVATION": "'none'"})
    function = tilec.function(PATH, "matmul_wide" if is_wide(config) else "matmul", config[3], config[4], named)
    return tilec.launch_function(function, case.grid(config), case.arguments)


def triton_launcher(case, config):
    if config[5] > 1:
        launches = list(split_launches(case, config))
        module = triton_side.load(SPLIT_PATH)
        return lambda: [getattr(module, kernel)[grid](*arguments, **fixed, num_warps=warps, num_stages=stages)
                        for kernel, grid, arguments, fixed, warps, stages in launches]
    module = triton_side.load(PATH)
    function = module.matmul_wide if is_wide(config) else module.matmul
    arguments, options = case.arguments, constexprs(config) | {"num_warps": config[3], "num_stages": config[4]}
    return lambda: function[case.grid(config)](*arguments, **options)


def contenders_of(tilec, case):
    """Name to configurations and what makes a launch of one."""
    with_splits = configs_of(case)
    whole = [config[:5] for config in with_splits if config[5] == 1 and not is_wide(config)]
    return {"tilec": (with_splits, lambda config: tilec_launcher(tilec, case, config)),
            "triton": (with_splits, lambda config: triton_launcher(case, config)),
            "persistent": (whole, lambda config: triton_peers.matmul_launcher(case, config, False)),
            "specialised": (whole, lambda config: triton_peers.matmul_launcher(case, config, True))}


def run(timer, tilec, options):
    peers = ("triton", "persistent", "specialised", "cublas")
    print(f"{'case':34} {'tilec us':>9} {'TFLOPS':>7}  " + "  ".join(f"times {who}" for who in peers) + "  configurations")
    results = []
    for dtype in TYPES:
        for layout in ("nn", "nt"):
            for m, n, k in SHAPES:
                case = Matmul(dtype, layout, m, n, k)
                if not re.search(options.filter, case.name):
                    continue
                chosen, launches = {}, {"cublas": case.torch}
                for who, (configs, make) in contenders_of(tilec, case).items():
                    found = best(timer, case, configs, make, who)
                    if found:
                        chosen[who], launches[who] = found
                timed = timer.medians(launches, seconds=options.seconds)
                ratios = {who: timed[who] / timed["tilec"] for who in peers if who in timed}
                print(f"{case.name:34} {timed['tilec']:9.1f} {2 * m * n * k / timed['tilec'] / 1e6:7.0f}  "
                      + "  ".join(f"{ratios.get(who, math.nan):{6 + len(who)}.3f}" for who in peers) + f"  {chosen}", flush=True)
                results.append({"case": case.name, "us": timed, "ratios": ratios, "configurations": chosen})
    summary = {}
    for who in peers:
        known = [r["ratios"][who] for r in results if who in r["ratios"]]
        summary |= {f"geometric mean of ratios to {who}": geometric_mean(known), f"least ratio to {who}": min(known)} if known else {}
    print("\n" + "\n".join(f"{name}: {value:.3f}" for name, value in summary.items()))
    return {"matmul": results, "matmul_summary": summary}
