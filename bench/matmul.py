"""kernels/matmul.tile beside the same file under Triton and beside cuBLAS (torch.matmul).

Both compilers get the same few configurations; each contender is checked against float64 on some rows, the best one by a short
run is timed again with the others in turn. fp16 and bf16, B by rows (nn) and by columns (nt).
"""
import torch

import triton_side
from timing import geometric_mean

PATH = "kernels/matmul.tile"
SIZES = (1024, 2048, 4096, 8192)
TYPES = {"fp16": torch.float16, "bf16": torch.bfloat16}
TOLERANCE = {"fp16": 2e-3, "bf16": 1e-2}
# BLOCK_M, BLOCK_N, BLOCK_K, warps, stages
CONFIGS = ((128, 128, 32, 4, 4), (128, 128, 64, 4, 3), (128, 128, 64, 8, 3), (128, 256, 64, 8, 3), (64, 128, 64, 4, 4), (256, 128, 64, 8, 3))


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
        return (-(-m // config[0]) * -(-n // config[1]), 1, 1)

    def torch(self):
        torch.matmul(self.a, self.b, out=self.c)

    def passes(self, launch):
        """Relative error in the 2-norm over the first, middle and last rows."""
        self.c.fill_(float("nan"))
        launch()
        m = self.shape[0]
        part = sorted({*range(64), *range(m // 2, m // 2 + 64), *range(m - 64, m)})
        expected = self.a[part].double() @ self.b.double()
        error = ((self.c[part].double() - expected).norm() / expected.norm()).item()
        return error <= TOLERANCE[self.dtype] and bool(torch.isfinite(self.c).all())


def constexprs(config):
    return dict(zip(("BLOCK_M", "BLOCK_N", "BLOCK_K"), config))


def tilec_launcher(tilec, case, config):
    named = {name: str(value) for name, value in constexprs(config).items()}
    named |= {"GROUP_M": "8", "ACC": "tl.float32", "PRECISION": "'tf32'", "ACTIVATION": "'none'"}
    function = tilec.function(PATH, "matmul", config[3], config[4], named)
    return tilec.launch_function(function, case.grid(config), case.arguments)


def triton_launcher(case, config):
    function = triton_side.load(PATH).matmul
    arguments, options = case.arguments, constexprs(config) | {"num_warps": config[3], "num_stages": config[4]}
    return lambda: function[case.grid(config)](*arguments, **options)


def best(timer, case, make, who):
    """The fastest configuration that compiles and agrees with float64; a wrong result ends the run."""
    launchers = {}
    for config in CONFIGS:
        try:
            launch = make(config)
            launch()
            torch.cuda.synchronize()
        except Exception as error:  # out of shared memory or registers: not a candidate
            print(f"  {who} {config}: {str(error).splitlines()[0][:150]}", flush=True)
            continue
        if not case.passes(launch):
            raise SystemExit(f"{case.name}: {who} {config} disagrees with float64")
        launchers[config] = launch
    quick = timer.medians(launchers, seconds=0.01, least=5)
    config = min(quick, key=quick.get)
    return config, launchers[config]


def run(timer, tilec, options):
    print(f"{'case':32} {'tilec us':>9} {'TFLOPS':>7} {'Triton us':>10} {'ratio':>6} {'cuBLAS us':>10} {'ratio':>6}  configurations")
    results = []
    for dtype in TYPES:
        for layout in ("nn", "nt"):
            for n in SIZES:
                case = Matmul(dtype, layout, n, n, n)
                if options.filter not in case.name:
                    continue
                ours, launch = best(timer, case, lambda config: tilec_launcher(tilec, case, config), "tilec")
                theirs, peer = best(timer, case, lambda config: triton_launcher(case, config), "Triton")
                timed = timer.medians({"tilec": launch, "triton": peer, "cublas": case.torch}, seconds=options.seconds)
                ratios = {who: timed[who] / timed["tilec"] for who in ("triton", "cublas")}
                print(f"{case.name:32} {timed['tilec']:9.1f} {2 * n ** 3 / timed['tilec'] / 1e6:7.0f} {timed['triton']:10.1f} "
                      f"{ratios['triton']:6.3f} {timed['cublas']:10.1f} {ratios['cublas']:6.3f}  {ours} {theirs}", flush=True)
                results.append({"case": case.name, "us": timed, "ratios": ratios, "configurations": {"tilec": ours, "triton": theirs}})
    summary = {f"geometric mean of ratios to {who}": geometric_mean([r["ratios"][who] for r in results]) for who in ("triton", "cublas")}
    print("\n" + "\n".join(f"{name}: {value:.3f}" for name, value in summary.items()))
    return {"matmul": results, "matmul_summary": summary}
