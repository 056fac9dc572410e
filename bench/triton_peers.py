"""What a Triton user writes to get the most of a Hopper GPU: products and attention with tensor descriptors made on the
host, persistent programs, automatic warp specialisation. The methods are those of Triton's tutorials, the code is not; the plain
kernels beside them are the .tile files themselves.
"""
import torch
import triton
import triton.language as tl
from triton.tools.tensor_descriptor import TensorDescriptor


@triton.jit
def tile_place(tile, tiles_m, tiles_n, GROUP: tl.constexpr):
    """Row and column of a tile when GROUP rows of tiles are finished together."""
    per_group = GROUP * tiles_n
    first = tile // per_group * GROUP
    rows = min(tiles_m - first, GROUP)
    return first + tile % per_group % rows, tile % per_group // rows


@triton.jit
def matmul_descriptors(
    a, b, c, M, N, K, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr, GROUP: tl.constexpr,
    PROGRAMS: tl.constexpr, B_BY_ROWS: tl.constexpr, HALVES: tl.constexpr, SPECIALIZE: tl.constexpr
):
    tiles_m = tl.cdiv(M, BLOCK_M)
    tiles_n = tl.cdiv(N, BLOCK_N)
    for tile in tl.range(tl.program_id(0), tiles_m * tiles_n, PROGRAMS, flatten=not SPECIALIZE, warp_specialize=SPECIALIZE):
        m, n = tile_place(tile, tiles_m, tiles_n, GROUP)
        acc = tl.zeros((BLOCK_M, BLOCK_N), tl.float32)
        for k in range(tl.cdiv(K, BLOCK_K)):
            x = a.load([m * BLOCK_M, k * BLOCK_K])
            if B_BY_ROWS:
                acc = tl.dot(x, b.load([k * BLOCK_K, n * BLOCK_N]), acc)
            else:
                acc = tl.dot(x, b.load([n * BLOCK_N, k * BLOCK_K]).T, acc)
        if HALVES:
            left, right = tl.split(tl.permute(tl.reshape(acc, (BLOCK_M, 2, BLOCK_N // 2)), (0, 2, 1)))
            c.store([m * BLOCK_M, n * BLOCK_N], left.to(c.dtype))
            c.store([m * BLOCK_M, n * BLOCK_N + BLOCK_N // 2], right.to(c.dtype))
        else:
            c.store([m * BLOCK_M, n * BLOCK_N], acc.to(c.dtype))


def matmul_launcher(case, config, specialize):
    """A function that launches once. config: BLOCK_M, BLOCK_N, BLOCK_K, warps, stages."""
    block_m, block_n, block_k, warps, stages = config
    m, n, k = case.shape
    by_rows = case.b.is_contiguous()
    halves = block_n == 256
    stored = case.b if by_rows else case.b.T
    a = TensorDescriptor.from_tensor(case.a, [block_m, block_k])
    b = TensorDescriptor.from_tensor(stored, [block_k, block_n] if by_rows else [block_n, block_k])
    c = TensorDescriptor.from_tensor(case.c, [block_m, block_n // 2 if halves else block_n])
    programs = min(torch.cuda.get_device_properties(0).multi_processor_count, -(-m // block_m) * -(-n // block_n))
    return lambda: matmul_descriptors[(programs,)](a, b, c, m, n, k, block_m, block_n, block_k, 8, programs, by_rows, halves,
                                                   specialize, num_warps=warps, num_stages=stages)


@triton.jit
def attention_blocks(
    q, k, v, acc, total, top, row, first, last, rows, scale, BLOCK_N: tl.constexpr, MASKED: tl.constexpr, SPECIALIZE: tl.constexpr
):
    """The keys from first to last, scores in base 2; MASKED: those on the diagonal."""
    for n in tl.range(first, last, BLOCK_N, warp_specialize=SPECIALIZE):
        s = tl.dot(q, k.load([row + n, 0]).T)
        if MASKED:
            s = s * scale + tl.where(rows[:, None] >= n + tl.arange(0, BLOCK_N)[None, :], 0, -1.0e6)
            new = tl.maximum(top, tl.max(s, 1))
            s -= new[:, None]
        else:
            new = tl.maximum(top, tl.max(s, 1) * scale)
            s = s * scale - new[:, None]
        p = tl.exp2(s)
        decay = tl.exp2(top - new)
        total = total * decay + tl.sum(p, 1)
        acc = tl.dot(p.to(v.dtype), v.load([row + n, 0]), acc * decay[:, None])
        top = new
    return acc, total, top


@triton.jit
def attention_descriptors(
    q_desc, k_desc, v_desc, o_desc, lse_ptr, length, scale, CAUSAL: tl.constexpr, HEAD_DIM: tl.constexpr, BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr, SPECIALIZE: tl.constexpr
):
    """Batches and heads one after the other in the rows of two-dimensional tensors."""
    start = tl.program_id(0) * BLOCK_M
    row = tl.program_id(1) * length
    rows = start + tl.arange(0, BLOCK_M)
    q = q_desc.load([row + start, 0])
    top = tl.full((BLOCK_M,), -float("inf"), tl.float32)
    total = tl.zeros((BLOCK_M,), tl.float32)
    acc = tl.zeros((BLOCK_M, HEAD_DIM), tl.float32)
    scale *= 1.4426950408889634
    seen = start if CAUSAL else length
    acc, total, top = attention_blocks(q, k_desc, v_desc, acc, total, top, row, 0, seen, rows, scale, BLOCK_N, False, SPECIALIZE)
    if CAUSAL:
        acc, total, top = attention_blocks(q, k_desc, v_desc, acc, total, top, row, start, start + BLOCK_M, rows, scale, BLOCK_N, True,
                                           SPECIALIZE)
    tl.store(lse_ptr + row + rows, (top + tl.log2(total)) * 0.6931471805599453)
    o_desc.store([row + start, 0], (acc / total[:, None]).to(o_desc.dtype))


def attention_launcher(case, config, specialize):
    """A function that launches once. config: BLOCK_M, BLOCK_N, warps, stages; lengths are multiples of both blocks."""
    block_m, block_n, warps, stages = config
    batch, heads, length, dim = case.q.shape

    def descriptor(tensor, block):
        return TensorDescriptor.from_tensor(tensor.view(-1, dim), [block, dim])

    q, o = descriptor(case.q, block_m), descriptor(case.o, block_m)
    k, v = descriptor(case.k, block_n), descriptor(case.v, block_n)
    return lambda: attention_descriptors[(length // block_m, batch * heads)](
        q, k, v, o, case.lse, length, case.scale, case.causal, dim, block_m, block_n, specialize, num_warps=warps, num_stages=stages)
