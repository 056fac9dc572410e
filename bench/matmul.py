"""kernels/matmul.tile beside the same file under Triton, Triton kernels with descriptors (triton_peers.py) and cuBLAS (torch.matmul,
torch._scaled_mm for fp8).

All get the configurations of candidates.py, both compilers matmul_split_k.tile and matmul_stream_k.tile too where tiles are few; each contender is checked
against float64 on some rows, the best one by a short run is timed again with the others in turn. fp16 and bf16, B by rows (nn) and by
columns (nt); fp8 (e4m3 to fp16), B by columns, which is what tensor cores take. With --per-tile tilec comes twice: as it
chooses, and with a CTA for each program (no_persistence).
"""
import functools

import torch

import candidates
import contest
import triton_peers
import triton_side
from candidates import is_wide, width

PATH = "kernels/matmul.tile"
SPLIT_PATH = "kernels/matmul_split_k.tile"
STREAM_PATH = "kernels/matmul_stream_k.tile"
SQUARES = (1024, 1280, 1536, 2048, 2176, 2944, 3072, 4096, 8192, 16384)
SHAPES = tuple((n, n, n) for n in SQUARES) + tuple((m, n, k) for m in (16, 64, 512, 4096)
                                                   for n, k in ((4096, 4096), (14336, 4096), (4096, 14336)))
FP8_SHAPES = tuple((n, n, n) for n in (1024, 2048, 4096, 8192)) + ((512, 4096, 4096), (4096, 14336, 4096), (4096, 4096, 14336))
SWEEP = tuple((n, n, n) for n in range(768, 6145, 384))
TYPES = {"fp16": torch.float16, "bf16": torch.bfloat16, "fp8": torch.float8_e4m3fn}
OUTPUTS = TYPES | {"fp8": torch.float16}
TOLERANCE = {"fp16": 2e-3, "bf16": 1e-2, "fp8": 1e-2}
PEERS = ("triton", "persistent", "specialised", "cublas")
PER_TILE = "tilec per tile"


class Matmul:
    """One product; inputs normally distributed, the output poisoned. An activation of the exact result may follow the product."""

    def __init__(self, dtype, layout, m, n, k, per_tile=False, name="matmul", after=lambda exact: exact):
        self.name = f"{name} {dtype} {layout} {m}x{n}x{k}"
        self.dtype, self.shape, self.operations, self.after = dtype, (m, n, k), 2 * m * n * k, after
        self.per_tile = per_tile
        self.about = {"dtype": dtype, "layout": layout, "shape": self.shape}
        generator = torch.Generator("cuda").manual_seed(m + n + k)
        self.a = torch.randn(m, k, device="cuda", generator=generator).to(TYPES[dtype])
        b = torch.randn((k, n) if layout == "nn" else (n, k), device="cuda", generator=generator).to(TYPES[dtype])
        self.b = b if layout == "nn" else b.T
        self.c = torch.empty(m, n, device="cuda", dtype=OUTPUTS[dtype])

    @property
    def arguments(self):
        return [self.a, self.b, self.c, *self.shape, *self.a.stride(), *self.b.stride(), *self.c.stride()]

    def grid(self, config):
        return (candidates.tiles(*self.shape[:2], config), 1, 1)

    def torch(self):
        if self.dtype != "fp8":
            torch.matmul(self.a, self.b, out=self.c)
        else:
            self.c = torch._scaled_mm(self.a, self.b, self.one, self.one, out_dtype=torch.float16, use_fast_accum=True)

    @functools.cached_property
    def one(self):
        return torch.ones((), device="cuda")

    @functools.cached_property
    def expected(self):
        """The first, middle and last rows, and their numbers."""
        m = self.shape[0]
        rows = torch.tensor(sorted({*range(min(m, 64)), *range(m // 2, min(m, m // 2 + 64)), *range(max(m - 64, 0), m)}), device="cuda")
        a = self.a.half() if self.dtype == "fp8" else self.a
        return rows, self.after(a[rows].double() @ self.b.double())

    def passes(self, launch):
        """Relative error in the 2-norm over those rows; every element of C is finite."""
        self.c.fill_(float("nan"))
        launch()
        rows, expected = self.expected
        error = ((self.c[rows].double() - expected).norm() / expected.norm()).item()
        return error <= TOLERANCE[self.dtype] and bool(torch.isfinite(self.c).all())

    def contenders(self, timer, tilec):
        """With what shares the depth of a tile only for 16-bit types."""
        configs = [(*config, 1) for config in candidates.FP8] if self.dtype == "fp8" else candidates.matmul(*self.shape)
        whole = [config[:5] for config in configs if config[5] == 1 and not is_wide(config)]

        def find(who, choices, make):
            return lambda found: contest.best(timer, self, choices, make, who)

        per_tile = {PER_TILE: find(PER_TILE, configs, lambda config: tilec_launcher(tilec, self, config, no_persistence=True))}
        shared = [config for config in configs if config[5] != candidates.PER_TILE]
        return {"tilec": find("tilec", configs, lambda config: tilec_launcher(tilec, self, config)),
                **(per_tile if self.per_tile else {}),
                "triton": find("triton", shared, lambda config: triton_launcher(self, config)),
                "persistent": find("persistent", whole, lambda config: triton_peers.matmul_launcher(self, config, False)),
                "specialised": find("specialised", whole, lambda config: triton_peers.matmul_launcher(self, config, True)),
                "cublas": contest.reference(self, "cublas", self.torch)}


def constexprs(config):
    if is_wide(config):
        return {"BLOCK_M": config[0], "BLOCK_N": config[1][0], "BLOCK_N2": config[1][1], "BLOCK_K": config[2]}
    return dict(zip(("BLOCK_M", "BLOCK_N", "BLOCK_K"), config))


def literals(fixed):
    return {name: str(value) for name, value in fixed.items()}


def launches(case, config):
    """(file, kernel, grid, arguments, constexprs, warps, stages) of each launch; what they need besides is allocated here."""
    fixed, warps, stages = constexprs(config), config[3], config[4]
    if config[5] == candidates.STREAM_K:
        parts = torch.empty(candidates.PROCESSORS, config[0], config[1], device="cuda")
        flags = torch.zeros(candidates.PROCESSORS, dtype=torch.int32, device="cuda")
        arguments = [*case.arguments[:3], parts, flags, *case.arguments[3:]]
        yield STREAM_PATH, "matmul_stream_k", (candidates.PROCESSORS, 1, 1), arguments, fixed | {"GROUP_M": 8}, warps, stages
    elif config[5] > 1:
        yield from split_launches(case, config)
    elif is_wide(config):
        yield PATH, "matmul_wide", case.grid(config), case.arguments, fixed | {"GROUP_M": 8}, warps, stages
    else:
        yield PATH, "matmul", case.grid(config), case.arguments, fixed | {"GROUP_M": 8}, warps, stages


def split_launches(case, config):
    m, n, k = case.shape
    parts = torch.empty(config[5], m, n, device="cuda")
    tiles = case.grid(config)[0]
    yield (SPLIT_PATH, "matmul_split_k", (tiles, config[5], 1), [case.a, case.b, parts, m, n, k, *case.a.stride(), *case.b.stride()],
           constexprs(config), *config[3:5])
    yield SPLIT_PATH, "matmul_split_k_sum", (-(-m * n // 1024), 1, 1), [parts, case.c, m * n, config[5]], {"BLOCK": 1024}, 4, 3


def in_turn(launchers):
    """One launcher as it is: a list around it would count."""
    return launchers[0] if len(launchers) == 1 else lambda: [launch() for launch in launchers]


def tilec_launcher(tilec, case, config, no_persistence=False):
    no_persistence |= config[5] == candidates.PER_TILE
    return in_turn([tilec.launch_function(tilec.function(path, kernel, warps, stages, literals(fixed), no_persistence), grid, arguments)
                    for path, kernel, grid, arguments, fixed, warps, stages in launches(case, config)])


def triton_launcher(case, config):
    def launcher(path, kernel, grid, arguments, fixed, warps, stages):
        function = getattr(triton_side.load(path), kernel)
        return lambda: function[grid](*arguments, **fixed, num_warps=warps, num_stages=stages)

    return in_turn([launcher(*launch) for launch in launches(case, config)])


def cases(dtypes, layouts, shapes, per_tile):
    for m, n, k in shapes:
        for dtype in dtypes:
            for layout in layouts:
                yield f"matmul {dtype} {layout} {m}x{n}x{k}", functools.partial(Matmul, dtype, layout, m, n, k, per_tile)


def peers(options):
    return PEERS + (PER_TILE,) * options.per_tile


def run(timer, tilec, options):
    found = (("fp16",), ("nn",), SWEEP) if options.sweep else (("fp16", "bf16"), ("nn", "nt"), SHAPES)
    return contest.run(timer, tilec, options, "matmul", peers(options), cases(*found, options.per_tile))


def run_fp8(timer, tilec, options):
    shapes = SWEEP[1::3] if options.sweep else FP8_SHAPES
    return contest.run(timer, tilec, options, "fp8", peers(options), cases(("fp8",), ("nt",), shapes, options.per_tile))
