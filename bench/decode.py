"""kernels/attention_paged.tile: one query a sequence over keys in pages, beside a copy of as many bytes. Results are compared with
float64 on some sequences; a "copy" reads and writes half of the bytes of the keys and values each, so that it moves as many.
"""
import functools

import torch

import candidates
import contest
from matmul import in_turn, literals

PATH = "kernels/attention_paged.tile"
PEERS = ("copy",)
TOLERANCE = 2e-3
# sequences, heads of keys, queries that share one, head dim, page, the longest sequence
SHAPES = ((64, 8, 4, 128, 16, 4096), (32, 8, 8, 128, 64, 8192), (16, 8, 1, 128, 16, 8192), (64, 8, 8, 64, 32, 4096), (4, 8, 4, 128, 16, 32768))


def name_of(sequences, heads, group, dim, page, longest):
    return f"decode {dim} {longest} ({sequences} x {heads} x {group}, pages of {page})"


class Decode:
    """Lengths are spread between a half and the whole of the longest; pages lie in random order; results are poisoned."""

    def __init__(self, sequences, heads, group, dim, page, longest):
        self.name = name_of(sequences, heads, group, dim, page, longest)
        self.about = {"sequences": sequences, "heads": heads, "group": group, "dim": dim, "page": page, "longest": longest}
        generator = torch.Generator("cuda").manual_seed(longest + dim)
        random = functools.partial(torch.randn, device="cuda", generator=generator)
        self.pages, self.page, self.scale = longest // page, page, dim ** -0.5
        self.q = random(sequences, heads * group, dim).half()
        self.k, self.v = (random(sequences * self.pages, page, heads, dim, dtype=torch.float16) for _ in range(2))
        self.o = torch.empty_like(self.q)
        self.table = torch.randperm(sequences * self.pages, device="cuda", generator=generator).to(torch.int32).view(sequences, -1)
        self.lengths = torch.randint(longest // 2, longest + 1, (sequences,), device="cuda", generator=generator, dtype=torch.int32)
        self.keys = int(self.lengths.sum())
        self.operations = 4 * self.keys * heads * group * dim
        self.moved = torch.empty(self.keys * heads * dim, device="cuda", dtype=torch.float16).normal_()
        self.target = torch.empty_like(self.moved)

    def expected(self, sequence):
        keys = int(self.lengths[sequence])
        k, v = (x[self.table[sequence].long()].flatten(0, 1)[:keys].double().transpose(0, 1) for x in (self.k, self.v))
        q = self.q[sequence].double().view(k.shape[0], -1, k.shape[2])
        return ((q @ k.transpose(1, 2) * self.scale).softmax(2) @ v).flatten(0, 1)

    def passes(self, launch):
        if launch == self.copy:
            self.target.fill_(float("nan"))
            launch()
            return torch.equal(self.target, self.moved)
        self.o.fill_(float("nan"))
        launch()
        some = {0, self.q.shape[0] // 2, self.q.shape[0] - 1}
        return all((self.o[s].double() - self.expected(s)).norm() <= TOLERANCE * self.expected(s).norm() for s in some) and bool(
            torch.isfinite(self.o).all())

    def copy(self):
        self.target.copy_(self.moved)

    def splits(self, waves):
        """Parts of a sequence, so that so many CTAs come to each processor."""
        return max(1, min(64, -(-waves * candidates.PROCESSORS // (self.q.shape[0] * self.k.shape[2]))))

    def launches(self, config):
        block, warps, stages, waves = config
        sequences, heads, dim = self.q.shape
        heads_k, splits = self.k.shape[2], self.splits(waves)
        part = torch.empty(sequences, heads, splits, dim, device="cuda")
        lse = torch.empty(sequences, heads, splits, device="cuda")
        yield ("attention_paged", (heads_k, sequences, splits),
               [self.q, self.k, self.v, self.table, self.lengths, part, lse, self.pages, self.scale],
               {"HEAD_DIM": dim, "PAGE": self.page, "GROUP": heads // heads_k, "BLOCK_H": 16, "BLOCK_N": block}, warps, stages)
        yield ("attention_paged_sum", (sequences, heads, 1), [part, lse, self.o, splits],
               {"HEAD_DIM": dim, "SPLITS": max(2, 1 << (splits - 1).bit_length())}, 4, 3)

    def contenders(self, timer, tilec):
        def make(config):
            return in_turn([tilec.launch_function(tilec.function(PATH, kernel, warps, stages, literals(fixed)), grid, arguments,
                                                  programmatic=kernel == "attention_paged_sum")
                            for kernel, grid, arguments, fixed, warps, stages in self.launches(config)])

        return {"tilec": lambda found: contest.best(timer, self, candidates.DECODE, make, "tilec"),
                "copy": contest.reference(self, "copy", self.copy)}


def run(timer, tilec, options):
    return contest.run(timer, tilec, options, "decode", PEERS, [(name_of(*shape), functools.partial(Decode, *shape)) for shape in SHAPES])
