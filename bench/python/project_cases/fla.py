"""flash-linear-attention: fla.ops and fla.modules. Each row: inputs, the call, what torch computes for it."""
import importlib

import torch
import torch.nn.functional as F

from . import Case, layer_norm, rms_norm


def row(name, module, inputs, call, reference, **words):
    return Case("fla " + name, "fla." + module, inputs, call, reference, **words)


def recurrence(q, k, v, g=None, gk=None, gv=None, beta=None, a=None, b=None, u=None, scale=None, state=None):
    """Linear attention with a state, one step after the other: [batch, tokens, heads, width] in and out. g, gk, gv: logarithms of decays of
    all, of rows, of columns; beta: the delta rule; a, b: its general form; u: what the token itself counts beyond the state."""
    scale = k.shape[-1]**-0.5 if scale is None else scale
    s = q.new_zeros(q.shape[0], q.shape[2], k.shape[-1], v.shape[-1]) if state is None else state
    out = []
    for t in range(q.shape[1]):
        kt, vt, before = k[:, t], v[:, t], s
        if g is not None:
            s = s * g[:, t].exp()[..., None, None]
        if gk is not None:
            s = s * gk[:, t].exp()[..., None]
        if gv is not None:
            s = s * gv[:, t].exp()[..., None, :]
        if beta is not None:
            vt = (vt - torch.einsum("bhk,bhkv->bhv", kt, s)) * beta[:, t][..., None]
        if a is not None:
            s = s + b[:, t][..., None] * torch.einsum("bhk,bhkv->bhv", a[:, t], before)[..., None, :]
        kv = kt[..., None] * vt[..., None, :]
        s = s + kv
        out.append(torch.einsum("bhk,bhkv->bhv", q[:, t], s if u is None else before + u[None, ..., None] * kv))
    return torch.stack(out, 1) * scale


def shape(r):
    """(batch, tokens, heads, width) of linear attention."""
    return r.n(2, 1), r.n(1000, 70), r.n(8, 2), r.n(64, 32)


def qkv(r):
    return tuple(r.at(*shape(r)) for _ in range(3))


def unit_qkv(r):
    return r.at(*shape(r)), r.unit(*shape(r)), r.at(*shape(r))


def gated(r, shift=3.0):
    """And a decay for each token and head."""
    return *qkv(r), r.log_sigmoid(*shape(r)[:3], shift=shift, dtype=torch.float32)


def gated_rows(r, shift=3.0):
    return *qkv(r), r.log_sigmoid(*shape(r), shift=shift)


def delta(r):
    return *unit_qkv(r), r.sigmoid(*shape(r)[:3])


def gated_delta(r):
    return *unit_qkv(r), r.log_sigmoid(*shape(r)[:3], shift=3.0, dtype=torch.float32), r.sigmoid(*shape(r)[:3])


def kda(r):
    return *unit_qkv(r), r.log_sigmoid(*shape(r), shift=3.0, dtype=torch.float32), r.sigmoid(*shape(r)[:3])


def rwkv6(r):
    return *gated_rows(r), r.at(*shape(r)[2:], scale=0.5)


def rwkv7(r):
    """r, w, k, v, a, b; a and b as the model makes them: a direction, and minus it times a gate."""
    direction, gate = r.unit(*shape(r)), r.sigmoid(*shape(r))
    decay = r.leaf(-0.6065306597126334 * r.normal(*shape(r)).sigmoid())
    return r.at(*shape(r)), decay, r.at(*shape(r), scale=0.5), r.at(*shape(r)), r.leaf(-direction), r.leaf(direction * gate)


def decays_of_heads(heads, device):
    """Of retention."""
    return (1 - 2.0 ** (-5 - torch.arange(heads, device=device, dtype=torch.float64))).log()


def retention(q, k, v):
    return recurrence(q, k, v, decays_of_heads(q.shape[2], q.device).expand(q.shape[:3]))


def lightning(q, k, v):
    heads = q.shape[2]
    slopes = -(8 / heads * (1 - 1 / 4)) * torch.arange(heads, device=q.device, dtype=torch.float64)
    return recurrence(q, k, v, slopes.expand(q.shape[:3]))


def first(function, *names, **words):
    """Calls a function of the module, and gives the first of its results; arguments behind q, k and v by name."""
    def call(m, *arguments):
        count = len(arguments) - len(names)
        result = getattr(m, function)(*arguments[:count], **dict(zip(names, arguments[count:])), **words)
        return result[0] if isinstance(result, tuple) else result

    return call


def with_state(function, *names):
    """And the last state, from a first one."""
    def call(m, *arguments):
        count = len(arguments) - len(names)
        return getattr(m, function)(*arguments[:count], **dict(zip(names, arguments[count:])), output_final_state=True)

    return call


def of_sequences(function, *names):
    """Sequences one after the other in one row, in parts by cu_seqlens."""
    def call(m, *arguments):
        tokens = arguments[0].shape[1]
        parts = torch.tensor([0, tokens // 3, tokens // 2 + 5, tokens], dtype=torch.int32, device=arguments[0].device)
        return first(function, *names, cu_seqlens=parts)(m, *arguments)

    return call


def by_parts(reference):
    def of_all(*arguments):
        tokens = arguments[0].shape[1]
        ends = [0, tokens // 3, tokens // 2 + 5, tokens]
        return torch.cat([reference(*(each[:, a:b] for each in arguments)) for a, b in zip(ends, ends[1:])], 1)

    return of_all


def one_row(inputs):
    """The same, one sequence of them."""
    return lambda r: tuple(r.leaf(each[:1], each.dtype) for each in inputs(r))


def hgrn(x, g):
    h, out = torch.zeros_like(x[:, 0]), []
    for t in range(x.shape[1]):
        h = g[:, t].exp() * h + x[:, t]
        out.append(h)
    return torch.stack(out, 1)


def hgrn_inputs(r):
    return r.at(2, r.n(1000, 70), r.n(512, 64)), r.log_sigmoid(2, r.n(1000, 70), r.n(512, 64), shift=3.0)


def gla_state(q, k, v, gk, state):
    return recurrence(q, k, v, gk=gk, state=state), last_state(k, v, gk, state)


def last_state(k, v, gk, s):
    for t in range(k.shape[1]):
        s = s * gk[:, t].exp()[..., None] + k[:, t][..., None] * v[:, t][..., None, :]
    return s


def attention(q, k, v, g=None, window=None):
    """Causal, [batch, tokens, heads, width]; fewer heads of k and v; g: logarithms of what is forgotten."""
    group = q.shape[2] // k.shape[2]
    k, v = k.repeat_interleave(group, 2), v.repeat_interleave(group, 2)
    scores = torch.einsum("bihd,bjhd->bhij", q, k) * q.shape[-1]**-0.5
    if g is not None:
        sums = g.cumsum(1).transpose(1, 2)
        scores = scores + sums[..., :, None] - sums[..., None, :]
    i = torch.arange(q.shape[1], device=q.device)
    hidden = i[None, :] > i[:, None]
    if window:
        hidden |= i[:, None] - i[None, :] >= window
    return torch.einsum("bhij,bjhd->bihd", scores.masked_fill(hidden, float("-inf")).softmax(-1), v)


def attention_inputs(r):
    batch, tokens, heads, width = shape(r)
    return r.at(batch, tokens, 2 * heads, width), r.at(batch, tokens, heads, width), r.at(batch, tokens, heads, width)


def forgetting(r):
    q, k, v = attention_inputs(r)
    return q, k, v, r.log_sigmoid(*q.shape[:3], shift=3.0, dtype=torch.float32)


def norm_inputs(r):
    """Kernels load weights without a value for what lies beyond the width, which on a machine without a GPU is found: no such there."""
    rows, width = r.n(4000, 7), r.n(2000, 128)
    return r.at(rows, width), r.near(1, width), r.at(width)


def gated_norm_inputs(r):
    x, w, b = norm_inputs(r)
    return x, r.at(*x.shape), w, b


def convolution(x, w, b):
    width = w.shape[-1]
    y = F.conv1d(F.pad(x.transpose(1, 2), (width - 1, 0)), w[:, None], b, groups=w.shape[0])
    return F.silu(y.transpose(1, 2))


def convolution_inputs(r):
    batch, tokens, width = r.n(4, 2), r.n(1000, 40), r.n(1024, 64)
    return r.at(batch, tokens, width), r.at(width, 4, scale=0.5), r.at(width)


def rotary(x, cos, sin):
    a, b = x.chunk(2, -1)
    cos, sin = cos[None, :, None], sin[None, :, None]
    return torch.cat([a * cos - b * sin, a * sin + b * cos], -1)


def rotary_inputs(r):
    batch, tokens, heads, width = shape(r)
    cos, sin = r.angles(tokens, width)
    return r.at(batch, tokens, heads, width), cos[:, :width // 2].contiguous(), sin[:, :width // 2].contiguous()


def logits(r):
    count, high = r.n(1024, 6), r.n(32000, 300)
    target = r.below(high, count)
    target[::5] = -100
    return r.at(count, high), target


def linear_logits(r):
    count, high, width = r.n(1024, 6), r.n(16000, 300), r.n(1024, 40)
    target = r.below(high, count)
    target[::5] = -100
    return r.at(count, width), target, r.at(high, width, scale=width**-0.5), r.at(high)


def kl_inputs(r):
    count, high, width = r.n(1024, 6), r.n(8000, 300), r.n(512, 40)
    return (r.at(count, width), r.fixed(r.normal(count, width)), r.at(high, width, scale=width**-0.5),
            r.fixed(r.normal(high, width) * width**-0.5))


def kl(x, y, w, v):
    return F.kl_div((x @ w.T).log_softmax(-1), (y @ v.T).log_softmax(-1), reduction="batchmean", log_target=True)


def naive(module, function, *names):
    """The project's own, by torch in float32, where what it computes has no shorter description."""
    def reference(*arguments):
        count = len(arguments) - len(names)
        arguments = [each.float() if isinstance(each, torch.Tensor) and each.is_floating_point() else each for each in arguments]
        found = getattr(importlib.import_module("fla.ops." + module), function)
        result = found(*arguments[:count], **dict(zip(names, arguments[count:])))
        return result[0] if isinstance(result, tuple) else result

    return reference


def gsa_inputs(r):
    q, k, v = qkv(r)
    batch, tokens, heads, _ = q.shape
    return q, k, v, r.at(batch, tokens, heads, r.n(64, 32)), r.log_sigmoid(batch, tokens, heads, r.n(64, 32), shift=3.0)


def comba_inputs(r):
    q, k, v = unit_qkv(r)
    return q, k, v, r.unit(*shape(r)), r.log_sigmoid(*shape(r)[:3], shift=3.0, dtype=torch.float32), r.sigmoid(*shape(r)[:3])


def swapped(reference):
    """Of [batch, heads, tokens, width]."""
    return lambda *arguments: reference(*(each.transpose(1, 2) for each in arguments)).transpose(1, 2)


def based_inputs(r):
    batch, tokens, heads, width = shape(r)
    tokens = r.n(tokens, 128)  # as for norms
    return r.at(batch, tokens, heads, 16), r.at(batch, tokens, heads, 16), r.at(batch, tokens, heads, width)


def residual_inputs(r):
    width = r.n(1024, 60)
    return r.at(width, scale=0.1), [r.at(2, r.n(512, 4), width) for _ in range(r.n(5, 3))], r.near(1, width)


def attention_residual(query, residuals, weight):
    v = torch.stack(residuals)
    return ((rms_norm(v, weight) * query).sum(-1).softmax(0)[..., None] * v).sum(0)


def level_inputs(r):
    batch, tokens, heads, width = r.n(2, 1), r.n(1024, 128), r.n(8, 2), 64
    levels = tokens.bit_length()
    return (r.at(batch, tokens, 1, width, scale=0.2), r.at(batch, tokens, 1, width, scale=0.2), r.at(batch, tokens, heads, width),
            r.log_sigmoid(batch, tokens, heads, shift=3.0, dtype=torch.float32), r.sigmoid(batch, tokens, heads, levels))


def log_linear(q, k, v, g, levels):
    return naive("log_linear_attn.naive", "naive_log_linear_attn")(q.expand(*v.shape[:3], -1), k.expand(*v.shape[:3], -1), v, g, levels)


CASES = [
    row("chunk_gla", "ops.gla", gated_rows, first("chunk_gla"), lambda q, k, v, g: recurrence(q, k, v, gk=g)),
    row("chunk_gla state", "ops.gla",
        lambda r: (*gated_rows(r), r.at(shape(r)[0], shape(r)[2], shape(r)[3], shape(r)[3], dtype=torch.float32)),
        with_state("chunk_gla", "initial_state"), gla_state),
    row("chunk_gla sequences", "ops.gla", one_row(gated_rows), of_sequences("chunk_gla"),
        by_parts(lambda q, k, v, g: recurrence(q, k, v, gk=g))),
    row("fused_recurrent_gla", "ops.gla", gated_rows, first("fused_recurrent_gla", "gk"), lambda q, k, v, g: recurrence(q, k, v, gk=g)),
    row("chunk_simple_gla", "ops.simple_gla", gated, first("chunk_simple_gla"), recurrence),
    row("fused_chunk_simple_gla", "ops.simple_gla", gated, first("fused_chunk_simple_gla"), recurrence),
    row("fused_recurrent_simple_gla", "ops.simple_gla", gated, first("fused_recurrent_simple_gla"), recurrence),
    row("parallel_simple_gla", "ops.simple_gla", gated, first("parallel_simple_gla"), recurrence),
    row("chunk_retention", "ops.retention", qkv, first("chunk_retention"), retention),
    row("fused_recurrent_retention", "ops.retention", qkv, first("fused_recurrent_retention"), retention),
    row("parallel_retention", "ops.retention", qkv, first("parallel_retention"), retention),
    row("chunk_lightning_attn", "ops.lightning_attn", qkv, first("chunk_lightning_attn", layer_idx=1, num_layers=4), lightning),
    row("chunk_linear_attn", "ops.linear_attn", qkv, first("chunk_linear_attn", normalize=False), recurrence),
    row("fused_chunk_linear_attn", "ops.linear_attn", qkv, first("fused_chunk_linear_attn", normalize=False), recurrence),
    row("fused_recurrent_linear_attn", "ops.linear_attn", qkv, first("fused_recurrent_linear_attn", normalize=False), recurrence),
    row("chunk_delta_rule", "ops.delta_rule", delta, first("chunk_delta_rule"), lambda q, k, v, b: recurrence(q, k, v, beta=b)),
    row("chunk_delta_rule sequences", "ops.delta_rule", one_row(delta), of_sequences("chunk_delta_rule"),
        by_parts(lambda q, k, v, b: recurrence(q, k, v, beta=b))),
    row("fused_recurrent_delta_rule", "ops.delta_rule", delta, first("fused_recurrent_delta_rule"),
        lambda q, k, v, b: recurrence(q, k, v, beta=b)),
    row("chunk_gated_delta_rule", "ops.gated_delta_rule", gated_delta, first("chunk_gated_delta_rule"),
        lambda q, k, v, g, b: recurrence(q, k, v, g, beta=b)),
    row("fused_recurrent_gated_delta_rule", "ops.gated_delta_rule", lambda r: tuple(each.detach() for each in gated_delta(r)),
        first("fused_recurrent_gated_delta_rule", "g", "beta"), lambda q, k, v, g, b: recurrence(q, k, v, g, beta=b)),
    row("chunk_kda", "ops.kda", kda, first("chunk_kda"), lambda q, k, v, g, b: recurrence(q, k, v, gk=g, beta=b)),
    row("chunk_rwkv6", "ops.rwkv6", rwkv6, first("chunk_rwkv6"), lambda q, k, v, w, u: recurrence(q, k, v, gk=w, u=u)),
    row("fused_recurrent_rwkv6", "ops.rwkv6", rwkv6, first("fused_recurrent_rwkv6"),
        lambda q, k, v, w, u: recurrence(q, k, v, gk=w, u=u)),
    row("chunk_rwkv7", "ops.rwkv7", rwkv7, first("chunk_rwkv7"), lambda q, w, k, v, a, b: recurrence(q, k, v, gk=w, a=a, b=b, scale=1.0)),
    row("fused_recurrent_rwkv7", "ops.rwkv7", lambda r: tuple(each.detach() for each in rwkv7(r)), first("fused_recurrent_rwkv7"),
        lambda q, w, k, v, a, b: recurrence(q, k, v, gk=w, a=a, b=b)),
    row("chunk_gsa", "ops.gsa", gsa_inputs, first("chunk_gsa"), naive("gsa.naive", "naive_recurrent_gsa")),
    row("chunk_comba", "ops.comba", comba_inputs, first("chunk_comba"),
        lambda q, k, v, p, g, b: naive("comba.naive", "naive_recurrent_comba")(q, k, v, p, b, g)),
    row("chunk_log_linear_attn", "ops.log_linear_attn", level_inputs, first("chunk_log_linear_attn"), log_linear),
    row("parallel_based", "ops.based", based_inputs, first("parallel_based"), swapped(naive("based.naive", "naive_parallel_based"))),
    row("parallel_rebased", "ops.rebased", based_inputs,
        first("parallel_rebased"), swapped(naive("rebased.naive", "naive_parallel_rebased"))),
    row("chunk_hgrn", "ops.hgrn.chunk", hgrn_inputs, first("chunk_hgrn"), hgrn),
    row("fused_recurrent_hgrn", "ops.hgrn", hgrn_inputs, first("fused_recurrent_hgrn"), hgrn),
    row("parallel_attn", "ops.attn", attention_inputs, first("parallel_attn"), attention),
    row("parallel_attn window", "ops.attn", attention_inputs, first("parallel_attn", window_size=37),
        lambda q, k, v: attention(q, k, v, window=37)),
    row("parallel_forgetting_attn", "ops.forgetting_attn", forgetting, first("parallel_forgetting_attn"), attention),
    row("fused_attnres", "ops.attnres", residual_inputs, first("fused_attnres"), attention_residual, needs_gpu=True),
    row("layer_norm", "modules.layernorm", norm_inputs, first("layer_norm"), layer_norm),
    row("rms_norm", "modules.layernorm", lambda r: (*norm_inputs(r)[:2], None), first("rms_norm"), lambda x, w, b: rms_norm(x, w, 1e-5)),
    row("group_norm", "modules.layernorm", norm_inputs, first("group_norm", num_groups=2),
        lambda x, w, b: F.group_norm(x, 2, w, b, 1e-5)),
    row("layer_norm_linear", "modules.layernorm", lambda r: (*norm_inputs(r), r.at(64, r.n(2000, 128), scale=0.05), r.at(64)),
        first("layer_norm_linear"), lambda x, w, b, v, c: F.linear(layer_norm(x, w, b), v, c)),
    row("rms_norm_gated", "modules.fused_norm_gate", gated_norm_inputs, first("rms_norm_gated"),
        lambda x, g, w, b: (rms_norm(x, w) + b) * F.silu(g)),
    row("layer_norm_gated", "modules.fused_norm_gate", gated_norm_inputs, first("layer_norm_gated"),
        lambda x, g, w, b: layer_norm(x, w, b, 1e-6) * F.silu(g)),
    row("layernorm_gated", "modules.layernorm_gated", gated_norm_inputs, lambda m, x, z, w, b: m.layernorm_fn(x, w, b, z),
        lambda x, z, w, b: layer_norm(x, w, b, 1e-6) * F.silu(z)),
    row("l2norm", "modules.l2norm", lambda r: (r.at(*shape(r)),), first("l2norm"),
        lambda x: x * (x.square().sum(-1, keepdim=True) + 1e-6).rsqrt()),
    row("causal_conv1d", "modules.conv.causal_conv1d", convolution_inputs, first("causal_conv1d", activation="silu"), convolution),
    row("rotary", "modules.rotary", rotary_inputs, first("rotary_embedding"), rotary),
    row("token_shift", "modules.token_shift", lambda r: (r.at(r.n(4, 2), r.n(1000, 30), r.n(1024, 60)),), first("token_shift"),
        lambda x: F.pad(x[:, :-1], (0, 0, 1, 0)) - x),
    row("swiglu", "modules.activations", lambda r: (norm_inputs(r)[0], norm_inputs(r)[0]), first("swiglu"), lambda x, y: F.silu(x) * y),
    row("swiglu_linear", "modules.activations",
        lambda r: (norm_inputs(r)[0], norm_inputs(r)[0], r.at(64, r.n(2000, 128), scale=0.05), r.at(64)),
        first("swiglu_linear"), lambda x, y, w, b: F.linear(F.silu(x) * y, w, b)),
    row("logsigmoid", "modules.activations", lambda r: norm_inputs(r)[:1], first("logsigmoid", temperature=2.0),
        lambda x: F.logsigmoid(x) / 2),
    row("fused_cross_entropy", "modules.fused_cross_entropy", logits, first("cross_entropy_loss", label_smoothing=0.1),
        lambda x, t: F.cross_entropy(x, t, reduction="none", label_smoothing=0.1)),
    row("fused_linear_cross_entropy", "modules.fused_linear_cross_entropy", linear_logits, first("fused_linear_cross_entropy_loss"),
        lambda x, t, w, b: F.cross_entropy(F.linear(x, w, b), t)),
    row("fused_kl_div", "modules.fused_kl_div", kl_inputs, first("fused_kl_div_loss"), kl),
]
