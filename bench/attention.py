"""kernels/attention.tile beside the same file under Triton, a Triton kernel with descriptors (triton_peers.py) and cuDNN.

Forward attention of fp16, as many queries as keys. Each contender runs a few configurations; each that compiles is checked
against float64 on some heads and rows, the best by a short run is timed again with the others in turn.
"""
import math
import re

import torch
from torch.nn.attention import SDPBackend, sdpa_kernel

import triton_peers
import triton_side
from contest import best
from timing import geometric_mean

PATH = "kernels/attention.tile"
# head dim, batch, heads, length
SHAPES = ((64, 16, 32, 1024), (64, 4, 32, 4096), (64, 1, 32, 16384), (128, 16, 16, 1024), (128, 4, 16, 4096), (128, 1, 16, 16384))
# BLOCK_M, BLOCK_N, warps, stages
CONFIGS = ((128, 64, 4, 3), (128, 64, 8, 2), (128, 64, 8, 3), (128, 128, 8, 2), (128, 128, 8, 3), (64, 64, 4, 2), (64, 64, 4, 3), (64, 128, 4, 2),
           (64, 32, 4, 4))
TOLERANCE = 2e-3


class Attention:
    """One launch; inputs normally distributed, the output poisoned."""

    def __init__(self, dim, batch, heads, length, causal):
        self.name = f"attention {dim} {'causal' if causal else 'full'} {length} ({batch} x {heads})"
        self.causal, self.scale = causal, dim ** -0.5
        generator = torch.Generator("cuda").manual_seed(length + dim)
        shape = (batch, heads, length, dim)
        self.q, self.k, self.v = (torch.randn(shape, device="cuda", generator=generator).half() for _ in range(3))
        self.o = torch.empty_like(self.q)
        self.lse = torch.empty(shape[:3], device="cuda")
        self.operations = 4 * batch * heads * length * length * dim * (0.5 if causal else 1)

    def constexprs(self, config):
        return {"HEAD_DIM": self.q.shape[3], "BLOCK_M": config[0], "BLOCK_N": config[1], "CAUSAL": self.causal}

    @property
    def arguments(self):
        batch, heads, length, dim = self.q.shape
        strides = [heads * length * dim, length * dim, dim]
        return [self.q, self.k, self.v, self.o, self.lse, self.lse, self.lse, self.lse, *strides * 4, length, length, self.scale]

    def grid(self, config):
        batch, heads, length, _ = self.q.shape
        return (-(-length // config[0]), heads, batch)

    def cudnn(self):
        with sdpa_kernel(SDPBackend.CUDNN_ATTENTION):
            self.o = torch.nn.functional.scaled_dot_product_attention(self.q, self.k, self.v, is_causal=self.causal)

    def passes(self, launch):
        """Relative error in the 2-norm over a few rows of the first and last head."""
        self.o.fill_(float("nan"))
        launch()
        length = self.q.shape[2]
        rows = torch.tensor(sorted({*range(96), *range(length // 2, length // 2 + 64), *range(length - 64, length)}), device="cuda")
        for batch, head in ((0, 0), (-1, -1)):
            q, k, v = (x[batch, head].double() for x in (self.q, self.k, self.v))
            scores = q[rows] @ k.T * self.scale
            if self.causal:
                scores.masked_fill_(torch.arange(length, device="cuda")[None, :] > rows[:, None], -math.inf)
            expected = scores.softmax(1) @ v
            if not (self.o[batch, head][rows].double() - expected).norm() <= TOLERANCE * expected.norm():
                return False
        return bool(torch.isfinite(self.o).all())


def tilec_launcher(tilec, case, config):
    function = tilec.function(PATH, "attention_forward", config[2], config[3],
                              {name: str(value) for name, value in case.constexprs(config).items()})
    return tilec.launch_function(function, case.grid(config), case.arguments)


def triton_launcher(case, config):
    function = triton_side.load(PATH).attention_forward
    arguments, options = case.arguments, case.constexprs(config) | {"num_warps": config[2], "num_stages": config[3]}
    return lambda: function[case.grid(config)](*arguments, **options)


def run(timer, tilec, options):
    contenders = {"tilec": lambda case: lambda config: tilec_launcher(tilec, case, config),
                  "triton": lambda case: lambda config: triton_launcher(case, config),
                  "descriptors": lambda case: lambda config: triton_peers.attention_launcher(case, config, False),
                  "specialised": lambda case: lambda config: triton_peers.attention_launcher(case, config, True)}
    peers = ("triton", "descriptors", "specialised", "cudnn")
    print(f"{'case':40} {'tilec us':>9} {'TFLOPS':>7}  " + "  ".join(f"times {who}" for who in peers) + "  configurations")
    results = []
    for shape in SHAPES:
        for causal in (False, True):
            case = Attention(*shape, causal)
            if not re.search(options.filter, case.name):
                continue
            chosen, launches = {}, {"cudnn": case.cudnn}
            for who, make in contenders.items():
                found = best(timer, case, CONFIGS, make(case), who)
                if found:
                    chosen[who], launches[who] = found
            if not case.passes(case.cudnn):
                raise SystemExit(f"{case.name}: cuDNN disagrees with float64")
            timed = timer.medians(launches, seconds=options.seconds)
            ratios = {who: timed[who] / timed["tilec"] for who in peers if who in timed}
            print(f"{case.name:40} {timed['tilec']:9.1f} {case.operations / timed['tilec'] / 1e6:7.0f}  "
                  + "  ".join(f"{ratios.get(who, math.nan):{6 + len(who)}.3f}" for who in peers) + f"  {chosen}", flush=True)
            results.append({"case": case.name, "us": timed, "ratios": ratios, "configurations": chosen})
    summary = {f"geometric mean of ratios to {who}": geometric_mean([r["ratios"][who] for r in results if who in r["ratios"]])
               for who in peers}
    print("\n" + "\n".join(f"{name}: {value:.3f}" for name, value in summary.items()))
    return {"attention": results, "attention_summary": summary}
