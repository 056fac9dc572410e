"""kernels/linear_gelu.tile, which adds a bias and applies GELU before it stores, beside the bare product of the same shape.

"bare": kernels/matmul.tile in the same configuration as the fused kernel's best, which it must be within 3 % of; "matmul": in its own
best. Also the fused kernel under Triton, and what torch runs for gelu(linear(x)).
"""
import functools

import torch

import candidates
import contest
import matmul
import triton_side

PATH = "kernels/linear_gelu.tile"
SHAPES = tuple((n, n, n) for n in (2048, 4096, 8192)) + ((512, 14336, 4096), (4096, 14336, 4096), (4096, 4096, 14336))
PEERS = ("bare", "matmul", "triton", "torch")


class LinearGelu(matmul.Matmul):
    """W by rows, which makes B = W^T one by columns."""

    def __init__(self, dtype, m, n, k):
        self.bias = torch.randn(n, device="cuda", generator=torch.Generator("cuda").manual_seed(n)).to(matmul.TYPES[dtype])
        super().__init__(dtype, "nt", m, n, k, name="linear_gelu",
                         after=lambda exact: torch.nn.functional.gelu(exact + self.bias.double()))

    @property
    def arguments(self):
        return [self.a, self.b, self.bias, self.c, *self.shape, self.a.stride(0), self.b.stride(1), self.c.stride(0)]

    def torch(self):
        self.c = torch.nn.functional.gelu(torch.nn.functional.linear(self.a, self.b.T, self.bias))

    def contenders(self, timer, tilec):
        bare = matmul.Matmul(self.dtype, "nt", *self.shape)

        def find(case, who, choices, make):
            return lambda found: contest.best(timer, case, choices(found), make, who)

        def product(config):
            return matmul.tilec_launcher(tilec, bare, (*config, 1))

        return {"tilec": find(self, "tilec", lambda found: candidates.LINEAR, lambda config: tilec_launcher(tilec, self, config)),
                "bare": find(bare, "tilec, bare", lambda found: [found["tilec"][0]], product),
                "matmul": find(bare, "tilec, matmul", lambda found: candidates.LINEAR, product),
                "triton": find(self, "triton", lambda found: candidates.LINEAR, lambda config: triton_launcher(self, config)),
                "torch": contest.reference(self, "torch", self.torch)}


def tilec_launcher(tilec, case, config):
    named = matmul.literals(matmul.constexprs(config) | {"GROUP_M": 8, "TANH": False})
    return tilec.launch_function(tilec.function(PATH, "linear_gelu", config[3], config[4], named), case.grid(config), case.arguments)


def triton_launcher(case, config):
    function = triton_side.load(PATH).linear_gelu
    arguments, options = case.arguments, matmul.constexprs(config) | {"num_warps": config[3], "num_stages": config[4]}
    return lambda: function[case.grid(config)](*arguments, **options)


def run(timer, tilec, options):
    cases = ((f"linear_gelu {dtype} nt {m}x{n}x{k}", functools.partial(LinearGelu, dtype, m, n, k))
             for m, n, k in SHAPES for dtype in ("fp16", "bf16"))
    return contest.run(timer, tilec, options, "linear", PEERS, cases)
