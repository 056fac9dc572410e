"""unsloth: unsloth.kernels. Each row: inputs, the call, what torch computes for it."""
import types

import torch
import torch.nn.functional as F

from . import Case, gelu_tanh, layer_norm, rms_norm, rope

KERNELS = "unsloth.kernels"
GROUPED = KERNELS + ".moe.grouped_gemm.interface"


def row(name, inputs, call, reference, **words):
    return Case("unsloth " + name, words.pop("module", KERNELS), inputs, call, reference, **words)


def rows(r):
    return r.n(4, 2), r.n(1000, 5), r.n(4096, 200)


def normed(r, *weights):
    return r.at(*rows(r)), *weights


def module(weight, bias=None, eps=1e-6):
    return types.SimpleNamespace(weight=weight, bias=bias, variance_epsilon=eps, eps=eps, elementwise_affine=True)


def loss(high_large, high_small):
    def inputs(r):
        high, shape = r.n(high_large, high_small), (2, r.n(512, 4))
        target = r.below(high, *shape)
        target[:, ::5] = -100
        return r.at(*shape, high), target

    return inputs


def cross_entropy(logits, target, softcap=0.0, scale=0.0):
    logits = logits * scale if scale else logits
    logits = softcap * (logits / softcap).tanh() if softcap else logits
    return F.cross_entropy(logits.flatten(0, 1), target.flatten())


def glu_backward(activation):
    """Of h = f(e) g: h, its gradient times f, and the gradient of e."""
    def reference(dw, e, g):
        with torch.enable_grad():
            e = e.detach().requires_grad_()
            f = activation(e)
            de, = torch.autograd.grad(f, e, dw * g)
        f = f.detach()
        return f * g, dw * f, de

    return reference


def fixed(r, count):
    return tuple(r.fixed(r.normal(*rows(r)).flatten(0, 1)) for _ in range(count))


def pairs(r):
    return tuple(r.fixed(r.normal(*rows(r))) for _ in range(2))


def rope_inputs(r):
    tokens, width = r.n(1024, 7), r.n(128, 16)
    return (r.at(2, r.n(32, 6), tokens, width), r.at(2, r.n(8, 2), tokens, width), *r.angles(tokens, width))


def rope_by_index(m, q, k, cos, sin, index):
    return m.fast_rope_embedding(q * 1, k * 1, cos, sin, index)  # written to, which a leaf may not be


def rope_index_inputs(r):
    q, k, cos, sin = rope_inputs(r)
    return q, k, cos, sin, r.below(q.shape[2], 2 * q.shape[2]).to(torch.int32)


def rope_index(q, k, cos, sin, index):
    cos, sin = (each[index.long().view(q.shape[0], 1, -1)] for each in (cos, sin))
    return rope(q, cos, sin), rope(k, cos, sin)


def routed(r):
    """(tokens, experts, in, out, tokens of each expert, places in its order, k)."""
    tokens, experts, k = r.n(1024, 20), r.n(16, 4), 2
    chosen = r.uniform(tokens, experts).topk(k, -1).indices.flatten()
    places = chosen.argsort(stable=True)
    sizes = torch.bincount(chosen, minlength=experts).to(torch.int32)
    return tokens, experts, r.n(1024, 64), r.n(1024, 128), sizes, places.to(torch.int32), k


def first_inputs(r):
    tokens, experts, width, out, sizes, places, k = routed(r)
    return r.at(tokens, width), r.at(experts, out, width, scale=width**-0.5), sizes, places, k


def second_inputs(r):
    tokens, experts, width, out, sizes, places, k = routed(r)
    return r.at(tokens * k, width), r.at(experts, out, width, scale=width**-0.5), sizes, places, k


def grouped(is_first, **tma):
    def call(m, x, w, sizes, places, k):
        tuning = __import__(m.__package__ + ".kernels.tuning", fromlist=["tuning"])
        block = {"BLOCK_SIZE_M": 64, "BLOCK_SIZE_N": 64, "BLOCK_SIZE_K": 64, "num_warps": 4, "num_stages": 3,
                 "permute_x": is_first, "permute_y": not is_first}
        return m.grouped_gemm(
            X=x, W=w, m_sizes=sizes, topk=k, gather_indices=places, permute_x=is_first, permute_y=not is_first, is_first_gemm=is_first,
            kernel_config_fwd=tuning.KernelConfigForward(**block, use_tma_load_w=bool(tma)),
            kernel_config_bwd_dX=tuning.KernelConfigBackward_dX(**block, use_tma_load_w=bool(tma)),
            kernel_config_bwd_dW=tuning.KernelConfigBackward_dW(**block, use_tma_store=bool(tma)))

    return call


def grouped_reference(is_first):
    def reference(x, w, sizes, places, k):
        expert = torch.arange(len(sizes), device=x.device).repeat_interleave(sizes.long())
        x = x[places.long() // k] if is_first else x
        y = torch.cat([x[expert == e] @ w[e].T for e in range(len(sizes))])
        return y if is_first else torch.zeros_like(y).index_copy(0, places.long(), y)

    return reference


def quantized(r, *shape):
    return r.fixed(r.normal(*shape), torch.float8_e4m3fn)


def scales(r, *shape):
    return r.fixed(r.uniform(*shape) + 0.5, torch.float32)


def fp8_matmul_inputs(r):
    m, n, k = r.n(512, 20), r.n(1024, 256), r.n(1024, 256)
    return quantized(r, m, k), quantized(r, n, k), scales(r, m, k // 128), scales(r, n // 128, k // 128)


def blocks(s, size=128):
    return s.repeat_interleave(size, 0).repeat_interleave(size, 1)


def act_quant(m, x):
    y, s = m.act_quant(x, 128)
    return y.float() * s.repeat_interleave(128, -1)


CASES = [
    row("rms_layernorm", lambda r: normed(r, r.fixed(1 + 0.1 * r.normal(rows(r)[-1]))),
        lambda m, x, w: m.fast_rms_layernorm(module(w), x), lambda x, w: rms_norm(x, w)),
    row("rms_layernorm gemma", lambda r: normed(r, r.fixed(0.1 * r.normal(rows(r)[-1]))),
        lambda m, x, w: m.fast_rms_layernorm(module(w), x, gemma=True), lambda x, w: rms_norm(x, w, offset=1.0)),
    row("layernorm", lambda r: normed(r, r.fixed(1 + 0.1 * r.normal(rows(r)[-1])), r.fixed(r.normal(rows(r)[-1]))),
        lambda m, x, w, b: m.fast_layernorm(module(w, b, 1e-5), x), layer_norm),
    row("rope_embedding", rope_inputs, lambda m, *a: m.fast_rope_embedding(*a), lambda q, k, c, s: (rope(q, c, s), rope(k, c, s))),
    row("rope_embedding index", rope_index_inputs, rope_by_index, rope_index),
    row("swiglu forward", pairs, lambda m, e, g: m.swiglu_fg_kernel(e, g), lambda e, g: F.silu(e) * g),
    row("swiglu backward", lambda r: fixed(r, 3), lambda m, *a: m.swiglu_DWf_DW_dfg_kernel(*a), glu_backward(F.silu)),
    row("geglu exact forward", pairs, lambda m, e, g: m.geglu_exact_forward_kernel(e, g), lambda e, g: F.gelu(e) * g),
    row("geglu exact backward", lambda r: fixed(r, 3), lambda m, *a: m.geglu_exact_backward_kernel(*a), glu_backward(F.gelu)),
    row("geglu approx forward", pairs, lambda m, e, g: m.geglu_approx_forward_kernel(e, g), lambda e, g: gelu_tanh(e) * g),
    row("geglu approx backward", lambda r: fixed(r, 3), lambda m, *a: m.geglu_approx_backward_kernel(*a), glu_backward(gelu_tanh)),
    row("cross_entropy_loss", loss(32000, 300), lambda m, x, t: m.fast_cross_entropy_loss(x, t), cross_entropy),
    row("cross_entropy_loss chunked", loss(128256, 70000), lambda m, x, t: m.fast_cross_entropy_loss(x, t), cross_entropy),
    row("cross_entropy_loss softcap", loss(32000, 300), lambda m, x, t: m.fast_cross_entropy_loss(x, t, 30.0, 0.5),
        lambda x, t: cross_entropy(x, t, 30.0, 0.5)),
    row("grouped_gemm first", first_inputs, grouped(True), grouped_reference(True), module=GROUPED),
    row("grouped_gemm second", second_inputs, grouped(False), grouped_reference(False), module=GROUPED),
    row("grouped_gemm descriptors", first_inputs, grouped(True, tma=True), grouped_reference(True), module=GROUPED),
    row("fp8 weight_dequant", lambda r: (quantized(r, r.n(1024, 256), 512), scales(r, r.n(8, 2), 4)),
        lambda m, x, s: m.weight_dequant_block(x, s, 128), lambda x, s: x * blocks(s), module=KERNELS + ".fp8"),
    row("fp8 act_quant", lambda r: (r.fixed(r.normal(r.n(1024, 12), 512)),), act_quant, lambda x: x, module=KERNELS + ".fp8",
        slack=2),  # half of the last of three bits
    row("fp8 block matmul", fp8_matmul_inputs, lambda m, *a: m.w8a8_block_fp8_matmul_triton(*a, [128, 128], torch.bfloat16),
        lambda a, b, s, t: (a * s.repeat_interleave(128, -1)) @ (b * blocks(t)).T, module=KERNELS + ".fp8"),
]
