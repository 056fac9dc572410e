"""A product with sixteen configurations to choose among, as the language's tutorials have them."""
import triton
import triton.language as tl


def config(m, n, k, stages, warps):
    return triton.Config({"BLOCK_M": m, "BLOCK_N": n, "BLOCK_K": k, "GROUP_M": 8}, num_stages=stages, num_warps=warps)


def configurations():
    halves = [config(128, 256, 64, 3, 8), config(64, 256, 32, 4, 4), config(128, 128, 32, 4, 4), config(128, 64, 32, 4, 4),
              config(64, 128, 32, 4, 4), config(128, 32, 32, 4, 4), config(64, 32, 32, 5, 2), config(32, 64, 32, 5, 2)]
    bytes_ = [config(128, 256, 128, 3, 8), config(256, 128, 128, 3, 8), config(256, 64, 128, 4, 4), config(64, 256, 128, 4, 4),
              config(128, 128, 128, 4, 4), config(128, 64, 64, 4, 4), config(64, 128, 64, 4, 4), config(128, 32, 64, 4, 4)]
    return halves + bytes_


@triton.autotune(configs=configurations(), key=["M", "N", "K"])
@triton.jit
def matmul(a_ptr, b_ptr, c_ptr, M, N, K, stride_am, stride_ak, stride_bk, stride_bn, stride_cm, stride_cn,
           BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr, GROUP_M: tl.constexpr):
    program = tl.program_id(0)
    rows, columns = tl.cdiv(M, BLOCK_M), tl.cdiv(N, BLOCK_N)
    group = program // (GROUP_M * columns)
    first = group * GROUP_M
    height = min(rows - first, GROUP_M)
    row = first + program % (GROUP_M * columns) % height
    column = program % (GROUP_M * columns) // height
    m = (row * BLOCK_M + tl.arange(0, BLOCK_M)) % M
    n = (column * BLOCK_N + tl.arange(0, BLOCK_N)) % N
    k = tl.arange(0, BLOCK_K)
    a = a_ptr + m[:, None] * stride_am + k[None, :] * stride_ak
    b = b_ptr + k[:, None] * stride_bk + n[None, :] * stride_bn
    sums = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    for i in range(0, tl.cdiv(K, BLOCK_K)):
        left = K - i * BLOCK_K
        sums = tl.dot(tl.load(a, mask=k[None, :] < left, other=0.0), tl.load(b, mask=k[:, None] < left, other=0.0), sums)
        a += BLOCK_K * stride_ak
        b += BLOCK_K * stride_bk
    cm = row * BLOCK_M + tl.arange(0, BLOCK_M)
    cn = column * BLOCK_N + tl.arange(0, BLOCK_N)
    tl.store(c_ptr + cm[:, None] * stride_cm + cn[None, :] * stride_cn, sums.to(tl.float16),
             mask=(cm[:, None] < M) & (cn[None, :] < N))
