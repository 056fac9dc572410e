"""Causal attention with an online softmax, as a module of a model library."""
from __future__ import annotations

import math
from typing import TYPE_CHECKING, Optional

import torch
import triton
import triton.language as tl

if TYPE_CHECKING:
    from .config import AttentionConfig

LOG2E: tl.constexpr = 1.4426950408889634
NEG_INF = tl.constexpr(float("-inf"))


def is_hopper() -> bool:
    return torch.cuda.get_device_capability()[0] >= 9


def configs():
    for block_m in (64, 128):
        for stages in ([3, 4] if is_hopper() else [2]):
            yield triton.Config({"BLOCK_M": block_m, "BLOCK_N": 64}, num_stages=stages, num_warps=4)


@triton.jit
def _inner(acc, l_i, m_i, q, k_ptrs, v_ptrs, stride_kn, stride_vn,  #
           start_m, lo, hi, scale,
           BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, STAGE: tl.constexpr,
           offs_m: tl.constexpr, offs_n: tl.constexpr):
    # lo and hi are multiples of BLOCK_N
    for start_n in tl.range(lo, hi, BLOCK_N, num_stages=3):
        start_n = tl.multiple_of(start_n, BLOCK_N)
        k = tl.load(k_ptrs + start_n * stride_kn)
        qk = tl.dot(q, tl.trans(k))
        if STAGE == 2:
            mask = offs_m[:, None] >= (start_n + offs_n[None, :])
            qk = qk * scale + tl.where(mask, 0, -1.0e6)
            m_ij = tl.maximum(m_i, tl.max(qk, 1))
            qk -= m_ij[:, None]
        else:
            m_ij = tl.maximum(m_i, tl.max(qk, 1) * scale)
            qk = qk * scale - m_ij[:, None]
        p = tl.math.exp2(qk)
        alpha = tl.math.exp2(m_i - m_ij)
        l_i, acc = l_i * alpha + tl.sum(p, 1), acc * alpha[:, None]
        acc = tl.dot(p.to(v_ptrs.dtype.element_ty), tl.load(v_ptrs + start_n * stride_vn), acc)
        m_i = m_ij
    return acc, l_i, m_i


@triton.autotune(
    list(configs()),
    key=["N_CTX", "HEAD_DIM"],
    prune_configs_by={"early_config_prune": lambda configs, args, **kw: [c for c in configs if c]},
)
@triton.heuristics({
    "EVEN": lambda args: args["N_CTX"] % args["BLOCK_M"] == 0,
    "ONE_HEAD": lambda args: (args["H"] == 1) and args.get("one", False),
})
@triton.jit(do_not_specialize=["N_CTX"], debug=False)
def attention_kernel(Q, K, V, Out, scale, stride_qh, stride_qm, stride_kh, stride_kn, stride_vh,
                     stride_vn, H, N_CTX, HEAD_DIM: tl.constexpr, BLOCK_M: tl.constexpr,
                     BLOCK_N: tl.constexpr, CAUSAL: tl.constexpr = True, EVEN: tl.constexpr = None,
                     ONE_HEAD: tl.constexpr = False):
    """One program computes BLOCK_M rows of one head.

    The scores are kept in base 2: "exp2" is one instruction.
    """
    tl.static_assert(BLOCK_N <= HEAD_DIM or not EVEN, f"{BLOCK_N=} exceeds {HEAD_DIM}")
    start_m, off_hz = tl.program_id(0), tl.program_id(axis=1)
    q_base = Q + off_hz.to(tl.int64) * stride_qh
    offs_m = start_m * BLOCK_M + tl.arange(0, BLOCK_M)
    offs_n = tl.arange(0, BLOCK_N)
    offs_d = tl.arange(0, HEAD_DIM)
    q_ptrs = q_base + offs_m[:, None] * stride_qm + offs_d[None, :]
    k_ptrs = K + off_hz * stride_kh + offs_n[:, None] * stride_kn + offs_d[None, :]
    v_ptrs = V + off_hz * stride_vh + offs_n[:, None] * stride_vn + offs_d[None, :]
    m_i = tl.full([BLOCK_M], value=NEG_INF, dtype=tl.float32)
    l_i = tl.zeros((BLOCK_M,), tl.float32) + 1.0
    acc = tl.zeros([BLOCK_M, HEAD_DIM], dtype=tl.float32)
    q = tl.load(q_ptrs) if EVEN else tl.load(q_ptrs, mask=offs_m[:, None] < N_CTX, other=0.)
    scale *= LOG2E
    if CAUSAL:
        acc, l_i, m_i = _inner(acc, l_i, m_i, q, k_ptrs, v_ptrs, stride_kn, stride_vn, start_m,
                               0, start_m * BLOCK_M, scale, BLOCK_M, BLOCK_N, 1, offs_m, offs_n)
        tl.debug_barrier()
        acc, l_i, m_i = _inner(acc, l_i, m_i, q, k_ptrs, v_ptrs, stride_kn, stride_vn, start_m,
                               start_m * BLOCK_M, (start_m + 1) * BLOCK_M, scale, BLOCK_M, BLOCK_N,
                               STAGE=2, offs_m=offs_m, offs_n=offs_n)
    elif H > 1 and not ONE_HEAD:
        acc, l_i, m_i = _inner(acc, l_i, m_i, q, k_ptrs, v_ptrs, stride_kn, stride_vn, start_m,
                               0, N_CTX, scale, BLOCK_M, BLOCK_N, 3, offs_m, offs_n)
    else:
        return
    acc /= l_i[:, None]
    tl.store(Out + offs_m[:, None] * stride_qm + offs_d[None, :], acc.to(Out.type.element_ty),
             mask=offs_m[:, None] < N_CTX)


class Attention(torch.autograd.Function):

    @staticmethod
    def forward(ctx, q, k, v, causal, scale: Optional[float] = None):
        scale = scale or 1 / math.sqrt(q.shape[-1])
        out = torch.empty_like(q)
        grid = lambda META: (triton.cdiv(q.shape[2], META["BLOCK_M"]), q.shape[0] * q.shape[1], 1)
        attention_kernel[grid](q, k, v, out, scale, *q.stride()[1:3], *k.stride()[1:3],
                               *v.stride()[1:3], q.shape[1], N_CTX=q.shape[2],
                               HEAD_DIM=q.shape[-1], CAUSAL=causal)
        ctx.save_for_backward(q, k, v, out)
        return out


attention = Attention.apply
