"""kernels/attention.tile beside the same file under Triton, a Triton kernel with descriptors (triton_peers.py) and cuDNN.

Forward attention of fp16, as many queries as keys. Each contender runs a few configurations; each that compiles is checked
against float64 on some heads and rows, the best by a short run is timed again with the others in turn.
"""
import functools
import math

import torch
from torch.nn.attention import SDPBackend, sdpa_kernel

import candidates
import contest
import triton_peers
import triton_side

PATH = "kernels/attention.tile"
# head dim, batch, heads, length
SHAPES = ((64, 16, 32, 1024), (64, 4, 32, 4096), (64, 1, 32, 16384), (128, 16, 16, 1024), (128, 4, 16, 4096), (128, 1, 16, 16384))
# head dim, batch, heads, length, query heads that share one of keys; lengths of no whole tiles among them
SWEEP = tuple((dim, max(1, 16384 // length), 2048 // dim, length, group) for dim in (64, 128, 256)
              for length, group in ((512, 1), (1000, 1), (2048, 4), (4095, 1), (8192, 1), (16384, 4)))
TOLERANCE = 2e-3
PEERS = ("triton", "descriptors", "specialised", "cudnn")


def name_of(what, dim, batch, heads, length, causal, group=1):
    shared = f", {group} share keys" if group > 1 else ""
    return f"{what} {dim} {'causal' if causal else 'full'} {length} ({batch} x {heads}{shared})"


class Attention:
    """One launch; inputs normally distributed, the output poisoned."""

    def __init__(self, dim, batch, heads, length, causal, group=1):
        self.name = name_of("attention", dim, batch, heads, length, causal, group)
        self.about = {"dim": dim, "batch": batch, "heads": heads, "length": length, "causal": causal}
        self.causal, self.scale = causal, dim ** -0.5
        generator = torch.Generator("cuda").manual_seed(length + dim)
        shape = (batch, heads, length, dim)
        self.group, of_keys = group, (batch, heads // group, length, dim)
        self.q, self.k, self.v = (torch.randn(x, device="cuda", generator=generator).half() for x in (shape, of_keys, of_keys))
        self.o = torch.empty_like(self.q)
        self.lse = torch.empty(shape[:3], device="cuda")
        self.operations = 4 * batch * heads * length * length * dim * (0.5 if causal else 1)

    def constexprs(self, config):
        return {"HEAD_DIM": self.q.shape[3], "BLOCK_M": config[0], "BLOCK_N": config[1], "CAUSAL": self.causal} | ({"GROUP": self.group} if self.group > 1 else {})

    @property
    def arguments(self):
        batch, heads, length, dim = self.q.shape
        strides = [heads * length * dim, length * dim, dim]
        of_keys = [strides[0] // self.group, *strides[1:]]
        return [self.q, self.k, self.v, self.o, self.lse, self.lse, self.lse, self.lse, *strides, *of_keys * 2, *strides, length, length, self.scale]

    def grid(self, config):
        batch, heads, length, _ = self.q.shape
        return (-(-length // config[0]), heads, batch)

    def cudnn(self):
        with sdpa_kernel(SDPBackend.CUDNN_ATTENTION):
            self.o = torch.nn.functional.scaled_dot_product_attention(self.q, self.k, self.v, is_causal=self.causal,
                                                                      enable_gqa=self.group > 1)

    @functools.cached_property
    def expected(self):
        """Rows, and for the first and the last head what they hold."""
        length, of_heads = self.q.shape[2], []
        rows = torch.tensor(sorted({*range(96), *range(length // 2, length // 2 + 64), *range(length - 64, length)}), device="cuda")
        for batch, head in ((0, 0), (-1, -1)):
            q, k, v = (x[batch, head].double() for x in (self.q, self.k, self.v))
            scores = q[rows] @ k.T * self.scale
            if self.causal:
                scores.masked_fill_(torch.arange(length, device="cuda")[None, :] > rows[:, None], -math.inf)
            of_heads.append((batch, head, scores.softmax(1) @ v))
        return rows, of_heads

    def passes(self, launch):
        """Relative error in the 2-norm over a few rows of the first and last head."""
        self.o.fill_(float("nan"))
        launch()
        rows, of_heads = self.expected
        return all((self.o[batch, head][rows].double() - expected).norm() <= TOLERANCE * expected.norm()
                   for batch, head, expected in of_heads) and bool(torch.isfinite(self.o).all())

    def contenders(self, timer, tilec):
        def find(who, make):
            return lambda found: contest.best(timer, self, candidates.ATTENTION, make, who)

        return {"tilec": find("tilec", lambda config: tilec_launcher(tilec, self, config)),
                "triton": find("triton", lambda config: triton_launcher(self, config)),
                "descriptors": find("descriptors", lambda config: triton_peers.attention_launcher(self, config, False)),
                "specialised": find("specialised", lambda config: triton_peers.attention_launcher(self, config, True)),
                "cudnn": contest.reference(self, "cudnn", self.cudnn)}


def tilec_launcher(tilec, case, config):
    function = tilec.function(PATH, "attention_forward", config[2], config[3],
                              {name: str(value) for name, value in case.constexprs(config).items()})
    return tilec.launch_function(function, case.grid(config), case.arguments)


def triton_launcher(case, config):
    function = triton_side.load(PATH).attention_forward
    arguments, options = case.arguments, case.constexprs(config) | {"num_warps": config[2], "num_stages": config[3]}
    return lambda: function[case.grid(config)](*arguments, **options)


def cases(what, make, shapes=SHAPES):
    for *shape, group in [(*shape, 1)[:5] for shape in shapes]:
        for causal in (False, True):
            more = (group,) if group > 1 else ()
            yield name_of(what, *shape, causal, *more), functools.partial(make, *shape, causal, *more)


def run(timer, tilec, options):
    return contest.run(timer, tilec, options, "attention", PEERS, cases("attention", Attention, SWEEP if options.sweep else SHAPES))
