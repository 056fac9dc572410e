"""Liger-Kernel: liger_kernel.ops. Each row: inputs, the call, what torch computes for it."""
import torch
import torch.nn.functional as F

from . import Case, gelu_tanh, layer_norm, rms_norm, rope

OPS = "liger_kernel.ops"


def row(name, inputs, call, reference, **words):
    return Case("liger " + name, words.pop("module", OPS), inputs, call, reference, **words)


def rows(r):
    """The shape of activations."""
    return r.n(4, 2), r.n(1000, 5), r.n(4096, 200)


def pairs(r):
    return r.at(*rows(r)), r.at(*rows(r))


def vocabulary(r):
    return r.n(1024, 6), r.n(32000, 300)


def labels(r, count, high):
    """Of which every fifth is ignored."""
    target = r.below(high, count)
    target[::5] = -100
    return target


def log_rows(r, *shape):
    return r.leaf((r.normal(*shape) * 2).log_softmax(-1))


def cross_entropy(logits, target, weight=None, lse_square_scale=0.0, softcap=None, **words):
    if softcap is not None:
        logits = softcap * (logits / softcap).tanh()
    loss = F.cross_entropy(logits, target, weight, **words)
    if lse_square_scale:
        kept = target != -100
        loss = loss + lse_square_scale * (logits.logsumexp(-1).square() * kept).sum() / kept.sum()
    return loss


def jsd(x, target, labels=None, beta=0.5):
    """x: of the student, target: of the teacher; both in logarithms."""
    if labels is not None:
        x, target = x[labels != -100], target[labels != -100]
    p, q = target.exp(), x.exp()
    if beta == 0:
        return (p * (target - x)).sum() / len(x)
    mixed = (beta * p + (1 - beta) * q).log()
    return (beta * (p * (target - mixed)).sum() + (1 - beta) * (q * (x - mixed)).sum()) / len(x)


def sparsemax(x):
    z = x.sort(-1, descending=True).values
    sums = z.cumsum(-1)
    k = torch.arange(1, x.shape[-1] + 1, device=x.device, dtype=x.dtype)
    support = (1 + k * z > sums).sum(-1, keepdim=True)
    tau = (sums.gather(-1, support - 1) - 1) / support
    return (x - tau).clamp(min=0)


def poly_norm(x, w, b):
    return w[0] * rms_norm(x**3) + w[1] * rms_norm(x**2) + w[2] * rms_norm(x) + b


def mrope(q, k, cos, sin, sections):
    parts = list(sections) * 2
    cos, sin = (torch.cat([m[i % 3] for i, m in enumerate(t.split(parts, -1))], -1).unsqueeze(1) for t in (cos, sin))
    return rope(q, cos, sin), rope(k, cos, sin)


def llama4_rope(q, k, frequencies):
    def turned(x):
        pairs = torch.view_as_complex(x.reshape(*x.shape[:-1], -1, 2))
        return torch.view_as_real(pairs * frequencies[None, :, None, :].to(torch.complex128)).flatten(-2)

    return turned(q), turned(k)


def multi_token_attention(scores, weight, bias, sparse=False):
    size = scores.shape[-1]
    future = torch.ones(size, size, dtype=torch.bool, device=scores.device).triu(1)
    scores = scores.masked_fill(future, -1e9 if sparse else float("-inf"))
    probabilities = sparsemax(scores) if sparse else scores.softmax(-1)
    return F.conv2d(probabilities, weight, bias, padding=weight.shape[-1] // 2).masked_fill(future, 0)


def mta_inputs(r, dtype=None):
    size = r.n(256, 12)
    return (r.at(2, 4, size, size, dtype=dtype), r.at(4, 4, 3, 3, scale=0.3, dtype=dtype), r.at(4, dtype=dtype))


def neighborhood(q, k, v, size):
    scores = q @ k.transpose(-1, -2) / q.shape[-1] ** 0.5
    i = torch.arange(q.shape[-2], device=q.device)
    far = (i[:, None] - i[None, :]).abs() > size // 2
    return scores.masked_fill(far, float("-inf")).softmax(-1) @ v


def modulated(x, w, scale, shift):
    return rms_norm(x, w) * (1 + scale) + shift


def attention_residual(blocks, query, norm):
    weights = (rms_norm(blocks, norm) * query).sum(-1).softmax(0)
    return (weights[..., None] * blocks).sum(0)


def linear_jsd(x, w, y, v):
    return jsd((x @ w.T).log_softmax(-1), (y @ v.T).log_softmax(-1))


def mhc_post_res(x, f, post, mixing):
    return post[..., None] * f[..., None, :] + torch.einsum("...oi,...ic->...oc", mixing, x)


def moe_inputs(r):
    tokens, width, inner, experts, k = r.n(1024, 10), r.n(512, 64), r.n(512, 32), r.n(16, 4), 2
    chosen = r.uniform(tokens, experts).topk(k, -1).indices.to(torch.int32)
    return (r.at(tokens, width), r.at(experts, 2 * inner, width, scale=width**-0.5), r.at(experts, width, inner, scale=inner**-0.5), chosen,
            r.leaf(r.normal(tokens, k).softmax(-1)))


def moe(x, gate_up, down, chosen, weights):
    out = torch.zeros_like(x)
    for expert in range(gate_up.shape[0]):
        token, place = (chosen == expert).nonzero(as_tuple=True)
        gate, up = (x[token] @ gate_up[expert].T).chunk(2, -1)
        out = out.index_add(0, token, (F.silu(gate) * up) @ down[expert].T * weights[token, place, None])
    return out


class Mlp(torch.nn.Module):
    """Of LigerTiledMLPFunction: weights that are the case's."""

    def __init__(self, *weights):
        super().__init__()
        self.weights = weights

    def forward(self, ops, x):
        gate, up, down = self.weights
        return F.linear(ops.LigerSiLUMulFunction.apply(F.linear(x, gate), F.linear(x, up)), down)


def tiled_mlp(ops, x, gate, up, down):
    module = Mlp(gate, up, down)
    return ops.apply_tiled_mlp(lambda mlp, part: mlp(ops, part), module, x, 4, [gate, up, down])


def mlp_inputs(r):
    width, inner = r.n(1024, 128), r.n(2048, 256)
    return r.at(2, r.n(512, 9), width), r.at(inner, width, scale=0.05), r.at(inner, width, scale=0.05), r.at(width, inner, scale=0.05)


def mlp(x, gate, up, down):
    return F.linear(F.silu(F.linear(x, gate)) * F.linear(x, up), down)


def rope_inputs(r):
    tokens, width = r.n(1024, 7), r.n(128, 16)
    cos, sin = r.angles(tokens, width)
    return r.at(2, r.n(32, 4), tokens, width), r.at(2, r.n(8, 2), tokens, width), cos[None], sin[None]


def mrope_inputs(r):
    tokens, width = r.n(1024, 7), r.n(128, 32)
    angles = r.normal(3, 2, tokens, width // 2)
    angles = torch.cat([angles, angles], -1)
    sections = [width // 8, width * 3 // 16, width * 3 // 16]
    return (r.at(2, r.n(16, 4), tokens, width), r.at(2, r.n(4, 2), tokens, width), r.fixed(angles.cos()), r.fixed(angles.sin()), sections)


def llama4_inputs(r):
    tokens, width = r.n(1024, 7), r.n(128, 16)
    angles = r.normal(tokens, width // 2)
    return r.at(2, tokens, r.n(16, 4), width), r.at(2, tokens, r.n(4, 2), width), torch.polar(torch.ones_like(angles), angles)


def linear_inputs(r, *more):
    count, high, width = r.n(1024, 6), r.n(16000, 300), r.n(1024, 40)
    return r.at(count, width), r.at(high, width, scale=width**-0.5), labels(r, count, high)


def grpo(logits, old, ref, ids, advantages, mask):
    logp = (logits[:, :-1] / 0.9).log_softmax(-1).gather(-1, ids[..., None])[..., 0]
    ratio = (logp - old).exp()
    a = advantages[:, None]
    loss = -torch.minimum(ratio * a, ratio.clamp(0.8, 1.4) * a)
    kl = (ref - logp).exp() - (ref - logp) - 1
    return ((loss + 0.04 * kl) * mask).sum() / mask.sum()


def grpo_inputs(r):
    batch, tokens, high = r.n(4, 2), r.n(256, 5), r.n(16000, 300)
    logits = r.at(batch, tokens + 1, high)
    ids = r.below(high, batch, tokens)
    logp = (logits.float()[:, :-1] / 0.9).log_softmax(-1).gather(-1, ids[..., None])[..., 0].detach()
    mask = torch.ones(batch, tokens, dtype=torch.int32, device=r.device)
    mask[:, -2:] = 0
    return (logits, logp + 0.1 * r.normal(batch, tokens), logp + 0.1 * r.normal(batch, tokens), ids, r.normal(batch), mask)


CASES = [
    row("rms_norm", lambda r: (r.at(*rows(r)), r.near(1, rows(r)[-1])),
        lambda m, x, w: m.LigerRMSNormFunction.apply(x, w, 1e-6), rms_norm),
    row("rms_norm gemma", lambda r: (r.at(*rows(r)), r.near(0, rows(r)[-1])),
        lambda m, x, w: m.LigerRMSNormFunction.apply(x, w, 1e-6, 1.0, "gemma", False), lambda x, w: rms_norm(x, w, offset=1.0)),
    row("rms_norm rows", lambda r: (r.at(r.n(40000, 40), r.n(256, 60)), r.near(1, r.n(256, 60))),
        lambda m, x, w: m.LigerRMSNormFunction.apply(x, w, 1e-6, 0.0, "llama", False, False), rms_norm),
    row("fused_add_rms_norm", lambda r: (*pairs(r), r.near(1, rows(r)[-1])),
        lambda m, x, y, w: m.LigerFusedAddRMSNormFunction.apply(x, y, w, 1e-6),
        lambda x, y, w: (rms_norm(x + y, w), x + y)),
    row("modulated_rms_norm", lambda r: (r.at(*rows(r)), r.near(1, rows(r)[-1]), r.at(*rows(r)), r.at(*rows(r))),
        lambda m, x, w, s, b: m.LigerModulatedRMSNormFunction.apply(x, w, s, b, 1e-6), modulated),
    row("layer_norm", lambda r: (r.at(*rows(r)), r.near(1, rows(r)[-1]), r.at(rows(r)[-1])),
        lambda m, x, w, b: m.LigerLayerNormFunction.apply(x, w, b, 1e-5), layer_norm),
    row("group_norm", lambda r: (r.at(r.n(16, 2), 12, r.n(4096, 50)), r.near(1, 12), r.at(12)),
        lambda m, x, w, b: m.LigerGroupNormFunction.apply(x, w, b, 12, 3, 1e-6), lambda x, w, b: F.group_norm(x, 3, w, b, 1e-6)),
    row("poly_norm", lambda r: (r.at(*rows(r)), r.near(0.3, 3), r.near(1)),
        lambda m, x, w, b: m.LigerPolyNormFunction.apply(x, w, b, 1e-6),
        poly_norm),
    row("dyt", lambda r: (r.at(*rows(r)), r.near(0.5, 1), r.near(1, rows(r)[-1]), r.at(rows(r)[-1])),
        lambda m, *a: m.LigerDyTFunction.apply(*a),
        lambda x, a, g, b: g * (a * x).tanh() + b),
    row("softmax", lambda r: (r.at(*rows(r)),), lambda m, x: m.LigerSoftmaxFunction.apply(x), lambda x: x.softmax(-1)),
    row("softmax large", lambda r: (r.at(r.n(256, 3), r.n(60000, 40000)),), lambda m, x: m.LigerSoftmaxFunction.apply(x),
        lambda x: x.softmax(-1)),
    row("sparsemax", lambda r: (r.at(r.n(1024, 5), r.n(1000, 100)),), lambda m, x: m.LigerSparsemaxFunction.apply(x, -1), sparsemax),
    row("swiglu", pairs, lambda m, a, b: m.LigerSiLUMulFunction.apply(a, b), lambda a, b: F.silu(a) * b),
    row("swiglu fused_gate_up", lambda r: (r.at(r.n(4000, 5), r.n(4096, 200)),), lambda m, x: m.LigerFusedGateUpSiLUMulFunction.apply(x),
        lambda x: F.silu(x.chunk(2, -1)[0]) * x.chunk(2, -1)[1]),
    row("geglu", pairs, lambda m, a, b: m.LigerGELUMulFunction.apply(a, b), lambda a, b: gelu_tanh(a) * b),
    row("relu_squared", lambda r: (r.at(*rows(r)),), lambda m, x: m.LigerReLUSquaredFunction.apply(x), lambda x: x.relu().square()),
    row("rope", rope_inputs, lambda m, *a: m.LigerRopeFunction.apply(*a),
        lambda q, k, cos, sin: (rope(q, cos, sin), rope(k, cos, sin))),
    row("qwen2vl_mrope", mrope_inputs, lambda m, *a: m.LigerQwen2VLMRopeFunction.apply(*a), mrope),
    row("llama4_rope", llama4_inputs, lambda m, *a: m.LigerLlama4RopeFunction.apply(*a), llama4_rope),
    row("embedding", lambda r: (r.at(r.n(16000, 50), r.n(1024, 40)), r.below(r.n(16000, 50), 4, r.n(512, 9))),
        lambda m, w, i: m.LigerEmbeddingFunction.apply(w, i),
        lambda w, i: F.embedding(i, w), module="liger_kernel.ops.experimental.embedding"),
    row("cross_entropy", lambda r: (r.at(*vocabulary(r)), labels(r, *vocabulary(r))),
        lambda m, x, t: m.LigerCrossEntropyFunction.apply(x, t, None)[0], cross_entropy),
    row("cross_entropy all",
        lambda r: (r.at(*vocabulary(r)), labels(r, *vocabulary(r)), r.fixed(r.uniform(vocabulary(r)[1]) + 0.5, torch.float32)),
        lambda m, x, t, w: m.LigerCrossEntropyFunction.apply(x, t, w, -100, 0.0, 0.1, "mean", 30.0)[0],
        lambda x, t, w: cross_entropy(x, t, w, softcap=30.0, label_smoothing=0.1)),
    row("cross_entropy z", lambda r: (r.at(*vocabulary(r)), labels(r, *vocabulary(r))),
        lambda m, x, t: m.LigerCrossEntropyFunction.apply(x, t, None, -100, 1e-2, 0.0, "mean", None)[0],
        lambda x, t: cross_entropy(x, t, lse_square_scale=1e-2)),
    row("vocab_parallel_cross_entropy", lambda r: (r.at(r.n(512, 3), 2, r.n(32000, 300)), r.below(r.n(32000, 300), r.n(512, 3), 2)),
        lambda m, x, t: m.LigerVocabParallelCEFunction.apply(x, t, None, -100, 0.0, "megatron", "mean"),
        lambda x, t: F.cross_entropy(x.flatten(0, 1), t.flatten(), reduction="none").view_as(t)),
    row("fused_linear_cross_entropy", linear_inputs, lambda m, x, w, t: m.LigerFusedLinearCrossEntropyFunction.apply(x, w, t)[0],
        lambda x, w, t: F.cross_entropy(x @ w.T, t)),
    row("kl_div", lambda r: (log_rows(r, *vocabulary(r)), r.fixed(r.normal(*vocabulary(r)).softmax(-1))),
        lambda m, x, y: m.LigerKLDivLossFunction.apply(x, y, "batchmean"), lambda x, y: F.kl_div(x, y, reduction="batchmean")),
    row("kl_div log", lambda r: (log_rows(r, *vocabulary(r)), log_rows(r, *vocabulary(r)).detach()),
        lambda m, x, y: m.LigerKLDivLossFunction.apply(x, y, "batchmean", True),
        lambda x, y: F.kl_div(x, y, reduction="batchmean", log_target=True),
        dtype="fp32"),  # tl.exp takes no less
    row("jsd", lambda r: (log_rows(r, *vocabulary(r)), log_rows(r, *vocabulary(r)).detach(), labels(r, *vocabulary(r))),
        lambda m, x, y, t: m.LigerJSDFunction.apply(x, y, t, 0.3), lambda x, y, t: jsd(x, y, t, 0.3)),
    row("jsd forward", lambda r: (log_rows(r, *vocabulary(r)), log_rows(r, *vocabulary(r)).detach()),
        lambda m, x, y: m.LigerJSDFunction.apply(x, y, None, 0.0), lambda x, y: jsd(x, y, None, 0.0)),
    row("tvd", lambda r: (r.leaf((3 * r.normal(*vocabulary(r))).softmax(-1)), r.fixed((3 * r.normal(*vocabulary(r))).softmax(-1))),
        lambda m, p, q: m.LigerTVDLossFunction.apply(p, q), lambda p, q: 0.5 * (p - q).abs().sum() / len(p)),
    row("fused_linear_jsd", lambda r: (*linear_inputs(r)[:2], *(each.detach() for each in linear_inputs(r)[:2])),
        lambda m, x, w, y, v: m.LigerFusedLinearJSDFunction.apply(x, w, y, v), linear_jsd),
    row("grpo_loss", grpo_inputs,
        lambda m, *given: m.GrpoLossFunction.apply(*given, 0.9, 0.04, 0.2, 0.4, False, "dapo")[0], grpo),
    row("multi_token_attention", mta_inputs,
        lambda m, s, w, b: m.LigerMultiTokenAttentionFunction.apply(s, w, b, 1, 1), multi_token_attention),
    row("multi_token_attention sparse", lambda r: mta_inputs(r, torch.float32),
        lambda m, s, w, b: m.LigerMultiTokenAttentionFunction.apply(s, w, b, 1, 1, 1, 1, True),
        lambda s, w, b: multi_token_attention(s, w, b, True)),
    row("fused_neighborhood_attention", lambda r: tuple(r.at(2, 4, r.n(512, 40), r.n(64, 32)) for _ in range(3)),
        lambda m, q, k, v: m.LigerFusedNeighborhoodAttentionFunction.apply(q, k, v, 7), lambda q, k, v: neighborhood(q, k, v, 7)),
    row("attn_res", lambda r: (r.at(r.n(6, 3), 2, r.n(512, 4), r.n(1024, 60)), r.at(r.n(1024, 60), scale=0.1), r.near(1, r.n(1024, 60))),
        lambda m, v, q, w: m.LigerAttnResFunction.apply(v, q, w, 1e-6), attention_residual),
    row("mhc_pre", lambda r: (r.at(r.n(1024, 9), 4, r.n(1024, 70)), r.sigmoid(r.n(1024, 9), 4, dtype=torch.float32)),
        lambda m, x, h: m.LigerMHCPreFunction.apply(x, h), lambda x, h: (h[..., None] * x).sum(-2)),
    row("mhc_post_res", lambda r: (r.at(r.n(1024, 9), 4, r.n(1024, 70)), r.at(r.n(1024, 9), r.n(1024, 70)),
                                   r.sigmoid(r.n(1024, 9), 4, dtype=torch.float32), r.sigmoid(r.n(1024, 9), 4, 4, dtype=torch.float32)),
        lambda m, *a: m.LigerMHCPostResFunction.apply(*a), mhc_post_res),
    row("fused_moe", moe_inputs, lambda m, *a: m.LigerFusedMoEFunction.apply(*a), moe),
    row("tiled_mlp", mlp_inputs, tiled_mlp, mlp),
    row("mlp", mlp_inputs, lambda m, *a: m.LigerMLPFunction.apply(*a), mlp),
]
