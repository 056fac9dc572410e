"""What a Triton user writes to get the most of a Hopper GPU: products and attention with tensor descriptors made on the
host, persistent programs, automatic warp specialisation. The methods are those of Triton's tutorials, the code is not; the plain
kernels beside them are the .tile files themselves.
"""
try:
    import torch  # only to launch
except ImportError:
    torch = None
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
    processors = torch.cuda.get_device_properties(0).multi_processor_count
    programs = min(processors, -(-m // block_m) * -(-n // block_n))
    return lambda: matmul_descriptors[(programs,)](a, b, c, m, n, k, block_m, block_n, block_k, 8, processors, by_rows, halves,
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


@triton.jit
def backward_delta(o_ptr, do_ptr, delta_ptr, length, BLOCK_M: tl.constexpr, HEAD_DIM: tl.constexpr):
    """Sums of the rows of O * dO; batches and heads one after the other."""
    rows = tl.program_id(1) * length + tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    places = rows.to(tl.int64)[:, None] * HEAD_DIM + tl.arange(0, HEAD_DIM)[None, :]
    tl.store(delta_ptr + rows, tl.sum(tl.load(o_ptr + places) * tl.load(do_ptr + places).to(tl.float32), 1))


@triton.jit
def backward_keys(
    dk, dv, k, v, q_ptr, do_ptr, lse_ptr, delta_ptr, first, steps, columns, BLOCK_M: tl.constexpr, HEAD_DIM: tl.constexpr,
    MASKED: tl.constexpr
):
    """dK and dV of one block of keys from the queries of `steps` blocks."""
    dims = tl.arange(0, HEAD_DIM)
    rows = first + tl.arange(0, BLOCK_M)
    q_ptrs = q_ptr + rows[None, :] * HEAD_DIM + dims[:, None]
    do_ptrs = do_ptr + rows[:, None] * HEAD_DIM + dims[None, :]
    for _ in range(steps):
        q_t = tl.load(q_ptrs)
        lse = tl.load(lse_ptr + rows)
        p_t = tl.math.exp2(tl.dot(k, q_t) - lse[None, :])
        if MASKED:
            p_t = tl.where(rows[None, :] >= columns[:, None], p_t, 0.0)
        do = tl.load(do_ptrs)
        dv += tl.dot(p_t.to(tl.float16), do)
        delta = tl.load(delta_ptr + rows)
        dp_t = tl.dot(v, tl.trans(do)).to(tl.float32)
        ds_t = (p_t * (dp_t - delta[None, :])).to(tl.float16)
        dk += tl.dot(ds_t, tl.trans(q_t))
        rows += BLOCK_M
        q_ptrs += BLOCK_M * HEAD_DIM
        do_ptrs += BLOCK_M * HEAD_DIM
    return dk, dv


@triton.jit
def backward_queries(
    dq, q, do, lse, delta, k_ptr, v_ptr, first, steps, rows, BLOCK_N: tl.constexpr, HEAD_DIM: tl.constexpr, MASKED: tl.constexpr
):
    """dQ of one block of queries from the keys of `steps` blocks."""
    dims = tl.arange(0, HEAD_DIM)
    columns = first + tl.arange(0, BLOCK_N)
    k_ptrs = k_ptr + columns[None, :] * HEAD_DIM + dims[:, None]
    v_ptrs = v_ptr + columns[None, :] * HEAD_DIM + dims[:, None]
    for _ in range(steps):
        k_t = tl.load(k_ptrs)
        v_t = tl.load(v_ptrs)
        p = tl.math.exp2(tl.dot(q, k_t) - lse)
        if MASKED:
            p = tl.where(rows[:, None] >= columns[None, :], p, 0.0)
        dp = tl.dot(do, v_t).to(tl.float32)
        ds = (p * (dp - delta)).to(tl.float16)
        dq += tl.dot(ds, tl.trans(k_t))
        columns += BLOCK_N
        k_ptrs += BLOCK_N * HEAD_DIM
        v_ptrs += BLOCK_N * HEAD_DIM
    return dq


@triton.jit
def backward_gradients(
    q_ptr, k_ptr, v_ptr, do_ptr, lse_ptr, delta_ptr, dq_ptr, dk_ptr, dv_ptr, length, scale, BLOCK_M1: tl.constexpr, BLOCK_N1: tl.constexpr,
    BLOCK_M2: tl.constexpr, BLOCK_N2: tl.constexpr, SLICES: tl.constexpr, HEAD_DIM: tl.constexpr, CAUSAL: tl.constexpr
):
    """A block of keys, then the block of queries at the same place; K holds scale * log2(e) already, lse is in base 2. Blocks on
    the diagonal are walked in finer steps."""
    head = tl.program_id(1).to(tl.int64) * length
    q_ptr += head * HEAD_DIM
    k_ptr += head * HEAD_DIM
    v_ptr += head * HEAD_DIM
    do_ptr += head * HEAD_DIM
    dq_ptr += head * HEAD_DIM
    dk_ptr += head * HEAD_DIM
    dv_ptr += head * HEAD_DIM
    lse_ptr += head
    delta_ptr += head
    dims = tl.arange(0, HEAD_DIM)

    start = tl.program_id(0) * BLOCK_N1
    columns = start + tl.arange(0, BLOCK_N1)
    places = columns[:, None] * HEAD_DIM + dims[None, :]
    k = tl.load(k_ptr + places)
    v = tl.load(v_ptr + places)
    dk = tl.zeros((BLOCK_N1, HEAD_DIM), tl.float32)
    dv = tl.zeros((BLOCK_N1, HEAD_DIM), tl.float32)
    first = 0
    if CAUSAL:
        FINE_M: tl.constexpr = BLOCK_M1 // SLICES
        dk, dv = backward_keys(dk, dv, k, v, q_ptr, do_ptr, lse_ptr, delta_ptr, start, BLOCK_N1 // FINE_M, columns, FINE_M, HEAD_DIM, True)
        first = start + BLOCK_N1
    dk, dv = backward_keys(dk, dv, k, v, q_ptr, do_ptr, lse_ptr, delta_ptr, first, (length - first) // BLOCK_M1, columns, BLOCK_M1,
                           HEAD_DIM, False)
    tl.store(dv_ptr + places, dv.to(tl.float16))
    tl.store(dk_ptr + places, (dk * scale).to(tl.float16))

    start = tl.program_id(0) * BLOCK_M2
    rows = start + tl.arange(0, BLOCK_M2)
    places = rows[:, None] * HEAD_DIM + dims[None, :]
    q = tl.load(q_ptr + places)
    do = tl.load(do_ptr + places)
    lse = tl.load(lse_ptr + rows)[:, None]
    delta = tl.load(delta_ptr + rows)[:, None]
    dq = tl.zeros((BLOCK_M2, HEAD_DIM), tl.float32)
    last = length
    if CAUSAL:
        FINE_N: tl.constexpr = BLOCK_N2 // SLICES
        dq = backward_queries(dq, q, do, lse, delta, k_ptr, v_ptr, start, BLOCK_M2 // FINE_N, rows, FINE_N, HEAD_DIM, True)
        last = start
    dq = backward_queries(dq, q, do, lse, delta, k_ptr, v_ptr, 0, last // BLOCK_N2, rows, BLOCK_N2, HEAD_DIM, False)
    tl.store(dq_ptr + places, (dq * 0.6931471805599453).to(tl.float16))


def backward_launcher(case, config):
    """A function that launches delta and the gradients once. config: BLOCK_M1, BLOCK_N1, BLOCK_M2, BLOCK_N2, warps, stages; as many
    keys in a block as queries (BLOCK_N1 = BLOCK_M2), lengths multiples of all."""
    batch, heads, length, dim = case.q.shape
    k = (case.k.float() * (case.scale * 1.4426950408889634)).half()
    lse = case.lse * 1.4426950408889634
    block_m1, block_n1, block_m2, block_n2, warps, stages = config

    def launch():
        backward_delta[(length // 128, batch * heads)](case.o, case.do, case.delta, length, 128, dim)
        backward_gradients[(length // block_n1, batch * heads)](
            case.q, k, case.v, case.do, lse, case.delta, case.results["dq"], case.results["dk"], case.results["dv"], length, case.scale,
            block_m1, block_n1, block_m2, block_n2, 2, dim, case.causal, num_warps=warps, num_stages=stages)

    return launch
