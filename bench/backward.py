"""kernels/attention_backward.tile, its three launches together, beside the same file under Triton, the algorithm of Triton's tutorial
(triton_peers.py: one launch for delta, one for dK, dV and dQ) and torch's backward passes of flash attention and cuDNN.

fp16, the shapes of the forward pass. dK with dV and dQ have each their own configuration; each is checked against float64 on some
rows of two heads. What is timed: from O, dO and lse to dQ, dK, dV. The tutorial multiplies K by the scale before its
launches; that is left out of its time. torch's passes include what autograd does around them.
"""
import functools
import math

import torch
from torch.nn.attention import SDPBackend, sdpa_kernel

import attention
import candidates
import contest
import triton_peers
import triton_side

PATH = "kernels/attention_backward.tile"
# head dim, batch, heads, length
SWEEP = tuple((dim, max(1, 16384 // length), 2048 // dim, length) for dim in (64, 128) for length in (512, 1000, 2048, 8192))
TOLERANCE = 4e-3
DELTA_ROWS = 64
PEERS = ("triton", "tutorial", "flash", "cudnn")


def forward(q, k, v, scale, causal):
    """O in fp16 and the log of the sums of exponentials, both from fp32, one head at a time."""
    o, lse = torch.empty_like(q), torch.empty(q.shape[:3], device="cuda")
    length = q.shape[2]
    hidden = torch.ones(length, length, dtype=torch.bool, device="cuda").triu(1) if causal else None
    for batch in range(q.shape[0]):
        for head in range(q.shape[1]):
            scores = q[batch, head].float() @ k[batch, head].float().T * scale
            if causal:
                scores.masked_fill_(hidden, -math.inf)
            lse[batch, head] = scores.logsumexp(1)
            o[batch, head] = (scores.sub_(lse[batch, head][:, None]).exp_() @ v[batch, head].float()).half()
    return o, lse


class Backward:
    """Gradients of one attention; results are poisoned before each check."""

    def __init__(self, dim, batch, heads, length, causal):
        self.name = attention.name_of("backward", dim, batch, heads, length, causal)
        self.about = {"dim": dim, "batch": batch, "heads": heads, "length": length, "causal": causal}
        self.causal, self.scale = causal, dim ** -0.5
        generator = torch.Generator("cuda").manual_seed(length + dim)
        shape = (batch, heads, length, dim)
        self.q, self.k, self.v, self.do = (torch.randn(shape, device="cuda", generator=generator).half() for _ in range(4))
        self.o, self.lse = forward(self.q, self.k, self.v, self.scale, causal)
        self.delta = torch.empty_like(self.lse)
        self.results = {name: torch.empty_like(self.q) for name in ("dq", "dk", "dv")}
        self.operations = 10 * batch * heads * length * length * dim * (0.5 if causal else 1)

    @functools.cached_property
    def expected(self):
        """Rows, and for the first and last head the rows of each gradient."""
        length = self.q.shape[2]
        rows = torch.tensor(sorted({*range(96), *range(length // 2, length // 2 + 64), *range(length - 64, length)}), device="cuda")
        return rows, [(batch, head, self.gradients(batch, head, rows)) for batch, head in ((0, 0), (-1, -1))]

    def gradients(self, batch, head, rows):
        q, k, v, do = (x[batch, head].double() for x in (self.q, self.k, self.v, self.do))
        places = torch.arange(len(q), device="cuda")
        dq, dk, dv = torch.empty_like(q), torch.zeros_like(q[rows]), torch.zeros_like(q[rows])
        for part in places.split(2048):
            scores = q[part] @ k.T * self.scale
            if self.causal:
                scores.masked_fill_(places[None, :] > part[:, None], -math.inf)
            p = scores.softmax(1)
            dp = do[part] @ v.T
            ds = p * (dp - (p * dp).sum(1, keepdim=True))
            dq[part] = self.scale * ds @ k
            dk += self.scale * ds[:, rows].T @ q[part]
            dv += p[:, rows].T @ do[part]
        return {"dq": dq[rows], "dk": dk, "dv": dv}

    def agree(self, names, results):
        rows, of_heads = self.expected
        return all((results[name][batch, head][rows].double() - exact[name]).norm() <= TOLERANCE * exact[name].norm()
                   for batch, head, exact in of_heads for name in names) and all(bool(torch.isfinite(results[name]).all()) for name in names)

    def passes(self, launch):
        self.delta.fill_(float("nan"))
        return Part(self, ("dq", "dk", "dv")).passes(launch)

    @property
    def strides(self):
        _, heads, length, dim = self.q.shape
        return [heads * length * dim, length * dim, dim]

    def launch_of(self, part, config):
        """(kernel, grid, arguments, constexprs, warps, stages) of delta, dkdv or dq."""
        batch, heads, length, dim = self.q.shape
        if part == "delta":
            return ("attention_backward_delta", (-(-length // DELTA_ROWS), heads, batch), [self.o, self.do, self.delta, *self.strides, length],
                    {"HEAD_DIM": dim, "BLOCK_M": DELTA_ROWS}, 4, 2)
        outputs = [self.results["dq"]] if part == "dq" else [self.results["dk"], self.results["dv"]]
        return (f"attention_backward_{part}", (-(-length // config[part == "dkdv"]), heads, batch),
                [self.q, self.k, self.v, self.do, self.lse, self.delta, *outputs, *self.strides * 2, length, length, self.scale],
                {"HEAD_DIM": dim, "BLOCK_M": config[0], "BLOCK_N": config[1], "GROUP": 1, "CAUSAL": self.causal}, *config[2:])

    def in_parts(self, timer, make, who):
        """Finds the best dkdv and the best dq one after the other; together they are the contender."""
        def find(found):
            delta = contest.runs(lambda config: make(self.launch_of("delta", None)), who, "delta")
            parts = {part: contest.best(timer, Part(self, outputs), choices[self.q.shape[3]],
                                        lambda config, part=part: make(self.launch_of(part, config)), who)
                     for part, outputs, choices in (("dkdv", ("dk", "dv"), candidates.DKDV), ("dq", ("dq",), candidates.DQ))}
            if not delta or None in parts.values():
                return None
            launches = [delta] + [launch for _, launch, _ in parts.values()]
            together = lambda: [launch() for launch in launches]
            if not self.passes(together):
                raise SystemExit(f"{self.name}: {who} disagrees with the reference")
            return {part: config for part, (config, _, _) in parts.items()}, together, {}

        return find

    def by_torch(self, backend):
        """The backward pass of torch's own attention, as autograd runs it."""
        inputs = [x.detach().requires_grad_() for x in (self.q, self.k, self.v)]
        with sdpa_kernel(backend):
            o = torch.nn.functional.scaled_dot_product_attention(*inputs, is_causal=self.causal)

        def launch():
            self.results = dict(zip(("dq", "dk", "dv"), torch.autograd.grad(o, inputs, self.do, retain_graph=True)))

        return launch

    def contenders(self, timer, tilec):
        def by_tilec(launch):
            kernel, grid, arguments, fixed, warps, stages = launch
            named = {name: str(value) for name, value in fixed.items()}
            return tilec.launch_function(tilec.function(PATH, kernel, warps, stages, named), grid, arguments)

        def by_triton(launch):
            kernel, grid, arguments, fixed, warps, stages = launch
            function = getattr(triton_side.load(PATH), kernel)
            return lambda: function[grid](*arguments, **fixed, num_warps=warps, num_stages=stages)

        def torchs(who, backend):
            return lambda found: contest.best(timer, self, [None], lambda config: self.by_torch(backend), who)

        return {"tilec": self.in_parts(timer, by_tilec, "tilec"), "triton": self.in_parts(timer, by_triton, "triton"),
                "tutorial": lambda found: contest.best(timer, self, candidates.TUTORIAL_BACKWARD,
                                                       lambda config: triton_peers.backward_launcher(self, config), "tutorial"),
                "flash": torchs("flash", SDPBackend.FLASH_ATTENTION), "cudnn": torchs("cudnn", SDPBackend.CUDNN_ATTENTION)}


class Part:
    """Some of the gradients, to be checked by themselves."""

    def __init__(self, case, names):
        self.case, self.names, self.name = case, names, f"{case.name}, {' and '.join(names)}"

    def passes(self, launch):
        for name in self.names:
            self.case.results[name].fill_(float("nan"))
        launch()
        return self.case.agree(self.names, self.case.results)


def run(timer, tilec, options):
    return contest.run(timer, tilec, options, "backward", PEERS, attention.cases("backward", Backward, SWEEP if options.sweep else attention.SHAPES))
