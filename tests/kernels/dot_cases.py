"""Kernels built on tl.dot: inputs, float64 references, and tolerances derived from the precision of each step.

Operands lie by rows or by columns with room behind each, which is NaN (for integers: noise) and must not be used.
"""
import numpy as np

import cases
from cases import Array, Case, array, output

# What the type of a result loses when it is stored.
ROUNDING = {"fp32": 2.0**-23, "fp16": 2.0**-11, "bf16": 2.0**-8, "i32": 0.0}
# What the product of two elements may be off by, relative to its size.
PRODUCT = {"tf32": 2.0**-9, "tf32x3": 2.0**-20, "bf16x3": 2.0**-15, "bf16x6": 2.0**-22, "ieee": 2.0**-24}
SUM = 2.0**-23  # each addition in fp32, not rounded to nearest on tensor cores


class Text:
    """A define that is no literal, such as tl.int32."""

    def __init__(self, text):
        self.text = text

    def __repr__(self):
        return self.text


def numbers(rng, shape, dtype, scale=1.0):
    if dtype == "i8":
        return rng.integers(-128, 128, shape)
    return rng.standard_normal(shape) * scale


def stored(rng, values, dtype, by_columns=False, pad=3, is_output=False):
    """The last two dimensions of `values` by rows or by columns, `pad` elements of room behind each of them.
    Gives the array and the strides of the last two dimensions."""
    lines = np.swapaxes(values, -1, -2) if by_columns else np.asarray(values)
    room_shape = lines.shape[:-1] + (pad,)
    is_float = dtype in cases.FLOATS or dtype in cases.FP8
    room = np.full(room_shape, np.nan) if is_float and dtype not in cases.FP8 else numbers(rng, room_shape, dtype)
    full = np.concatenate([lines, room], axis=-1)
    along = full.shape[-1]
    return array(full, dtype, is_output), (1, along) if by_columns else (along, 1)


def logical(stored_values, shape, by_columns=False):
    """The values without the room behind them."""
    lines = stored_values[..., : shape[-2] if by_columns else shape[-1]]
    return np.swapaxes(lines, -1, -2) if by_columns else lines


def empty(shape, dtype, by_columns=False, pad=3):
    """A poisoned output and the strides of its last two dimensions."""
    lines = shape[:-2] + (shape[-1], shape[-2]) if by_columns else shape
    along = lines[-1] + pad
    return output(lines[:-1] + (along,), dtype), (1, along) if by_columns else (along, 1)


def placed(result, out, by_columns=False):
    """`result` as it lies in the output array `out`; the room keeps its poison."""
    full = np.full(out.bits.shape, np.nan) if out.dtype in cases.FLOATS else out.bits.copy()
    lines = np.swapaxes(result, -1, -2) if by_columns else result
    full[..., : lines.shape[-1]] = lines
    return full


def product_error(dtype, precision, a, b):
    """Bound of the error of a @ b before it is stored."""
    if dtype == "i8":
        return 0.0
    depth = a.shape[-1]
    unit = PRODUCT[precision] if dtype == "fp32" else 0.0
    if dtype in cases.FP8:
        unit = depth / 32 * 2.0**-13  # instructions of depth 32 add with 14 bits
    return float((unit + depth * SUM) * (np.abs(a) @ np.abs(b)).max())


ACTIVATIONS = {
    "none": lambda x: x,
    "relu": lambda x: np.maximum(x, 0),
    "silu": lambda x: x / (1 + np.exp(-x)),
    "gelu": lambda x: 0.5 * x * (1 + cases.erf(x / np.sqrt(2))),
}


def matmul(rng, dtype, m, n, k, order="rrr", out=None, b_dtype=None, precision="tf32", activation="none", block=(32, 32, 32),
           pad=3, group=8):
    """`order`: how A, B and C lie, r by rows, c by columns."""
    b_dtype = b_dtype or dtype
    out = out or ("i32" if dtype == "i8" else "fp16" if dtype in cases.FP8 else dtype)
    by_columns = [o == "c" for o in order]
    a, (am, ak) = stored(rng, numbers(rng, (m, k), dtype), dtype, by_columns[0], pad)
    b, (bk, bn) = stored(rng, numbers(rng, (k, n), b_dtype), b_dtype, by_columns[1], pad)
    c, (cm, cn) = empty((m, n), out, by_columns[2], pad)
    av, bv = (logical(x.values, shape, c).astype(np.float64)
              for x, shape, c in ((a, (m, k), by_columns[0]), (b, (k, n), by_columns[1])))
    error = product_error(dtype, precision, av, bv)
    tiles = -(-m // block[0]) * -(-n // block[1])
    defines = {"BLOCK_M": block[0], "BLOCK_N": block[1], "BLOCK_K": block[2], "GROUP_M": group, "PRECISION": precision,
               "ACTIVATION": activation, "ACC": Text("tl.int32" if dtype == "i8" else "tl.float32")}
    return Case(f"matmul-{dtype}{'' if b_dtype == dtype else '.' + b_dtype}-{out}-{m}x{n}x{k}-{order}"
                f"{'-' + precision if dtype == 'fp32' else ''}{'' if activation == 'none' else '-' + activation}+{pad}",
                "matmul.tile", "matmul",
                {"a_ptr": a, "b_ptr": b, "c_ptr": c, "M": m, "N": n, "K": k, "stride_am": am, "stride_ak": ak,
                 "stride_bk": bk, "stride_bn": bn, "stride_cm": cm, "stride_cn": cn},
                defines, (tiles,),
                lambda v: {"c_ptr": placed(ACTIVATIONS[activation](av @ bv), c, by_columns[2])},
                tolerance={"c_ptr": (2 * ROUNDING[out], 1.2 * error + 1e-6 * (out != "i32"))})


def matmul_blocks(rng, kernel, dtype, m, n, k, order="rrr", block=(32, 32, 32), pad=8):
    by_columns = [o == "c" for o in order]
    a, (am, ak) = stored(rng, numbers(rng, (m, k), dtype), dtype, by_columns[0], pad)
    b, (bk, bn) = stored(rng, numbers(rng, (k, n), dtype), dtype, by_columns[1], pad)
    c, (cm, cn) = empty((m, n), dtype, by_columns[2], pad)
    av, bv = logical(a.values, (m, k), by_columns[0]), logical(b.values, (k, n), by_columns[1])
    inner = {"stride_ak": ak, "stride_bn": bn, "stride_cn": cn}
    strides = {"stride_am": am, "stride_ak": ak, "stride_bk": bk, "stride_bn": bn, "stride_cm": cm, "stride_cn": cn}
    if kernel == "matmul_descriptors":
        strides = {name: stride for name, stride in strides.items() if name not in inner}
    return Case(f"{kernel}-{dtype}-{m}x{n}x{k}-{order}+{pad}", "matmul_blocks.tile", kernel,
                {"a_ptr": a, "b_ptr": b, "c_ptr": c, "M": m, "N": n, "K": k} | strides,
                {"BLOCK_M": block[0], "BLOCK_N": block[1], "BLOCK_K": block[2]}, (-(-m // block[0]), -(-n // block[1])),
                lambda v: {"c_ptr": placed(av @ bv, c, by_columns[2])},
                tolerance={"c_ptr": (2 * ROUNDING[dtype], 1.2 * product_error(dtype, "tf32", av, bv) + 1e-6)})


def attention_scores(q, k, scale, causal=False, window=0, slopes=None, bias=None):
    """Scaled and masked scores of [.., queries, dim] against [.., keys, dim]."""
    queries, keys = q.shape[-2], k.shape[-2]
    s = scale * (q @ np.swapaxes(k, -1, -2))
    distance = np.arange(queries)[:, None] + (keys - queries) - np.arange(keys)[None, :]
    if slopes is not None:
        s = s - slopes[:, None, None] * np.abs(distance)
    if bias is not None:
        s = s + bias(distance)
    seen = np.ones((queries, keys), bool)
    if causal:
        seen &= distance >= 0
    if window:
        seen &= (distance < window) & (distance > -window)
    return np.where(seen, s, -np.inf)


def softmax_and_lse(s):
    top = s.max(axis=-1, keepdims=True, initial=-np.inf)
    e = np.exp(s - np.where(np.isinf(top), 0.0, top))
    total = e.sum(axis=-1, keepdims=True)
    with np.errstate(divide="ignore"):
        lse = np.where(total > 0, np.where(np.isinf(top), 0.0, top) + np.log(total), -np.inf)
    return e / np.where(total > 0, total, 1.0), lse[..., 0]


def attention_error(dtype, q, k, v, scale):
    """Bounds of the error of O and of lse. Scores are off by what their products are; P is rounded to the type of V."""
    score = product_error(dtype, "tf32", q, np.swapaxes(k, -1, -2)) * scale + 2.0**-20
    weight = 2 * score + (ROUNDING[dtype] if dtype != "fp32" else PRODUCT["tf32"])
    return float(2 * weight * np.abs(v).max()), 2 * score


def attention(rng, dtype, batch, heads, queries, keys, dim, group=1, causal=False, window=0, alibi=False, lengths=None,
              block=(32, 32), pad=8):
    """`lengths`: (queries, keys) of each sequence; they follow each other in one dimension."""
    lengths = lengths or [(queries, keys)] * batch
    varlen = len({*lengths}) > 1 or lengths[0] != (queries, keys)
    q_start = [sum(m for m, _ in lengths[:b]) for b in range(batch + 1)]
    k_start = [sum(n for _, n in lengths[:b]) for b in range(batch + 1)]
    rows = {"q": (1, heads, q_start[-1]), "k": (1, heads // group, k_start[-1])} if varlen else {
        "q": (batch, heads, queries), "k": (batch, heads // group, keys)}
    q, _ = stored(rng, numbers(rng, rows["q"] + (dim,), dtype), dtype, pad=pad)
    k, _ = stored(rng, numbers(rng, rows["k"] + (dim,), dtype), dtype, pad=pad)
    v, _ = stored(rng, numbers(rng, rows["k"] + (dim,), dtype), dtype, pad=pad)
    o, _ = empty(rows["q"] + (dim,), dtype, pad=pad)
    lse = output((batch, heads, queries), "fp32")
    slopes = np.array([2.0 ** (-8.0 * (h + 1) / heads) for h in range(heads)])
    scale = dim**-0.5
    qv, kv, vv = (logical(x.values, (0, dim)) for x in (q, k, v))
    o_error, lse_error = attention_error(dtype, qv, np.repeat(kv, group, axis=1), vv, scale)

    def reference(inputs):
        result, logs = np.zeros(qv.shape), np.full((batch, heads, queries), np.nan)
        for b, (m, n) in enumerate(lengths):
            at_q, at_k = (slice(q_start[b], q_start[b] + m), slice(k_start[b], k_start[b] + n)) if varlen else (slice(None),) * 2
            of = 0 if varlen else b
            keys_, values_ = (np.repeat(x[of][:, at_k], group, axis=0) for x in (kv, vv))
            p, logs[b, :, :m] = softmax_and_lse(attention_scores(qv[of][:, at_q], keys_, scale, causal, window,
                                                                 slopes if alibi else None))
            result[of][:, at_q] = p @ values_
        return {"o_ptr": placed(result, o), "lse_ptr": logs}

    def strides(rows_of):
        along = dim + pad
        return (0 if varlen else rows_of[1] * rows_of[2] * along, rows_of[2] * along, along)

    (qb, qh, qm), (kb, kh, kn) = strides(rows["q"]), strides(rows["k"])
    options = [f"gqa{group}"] * (group > 1) + ["causal"] * causal + [f"window{window}"] * (window > 0) + ["alibi"] * alibi + [
        "varlen"] * varlen
    return Case("-".join([f"attention-{dtype}-{batch}x{heads}x{queries}x{keys}x{dim}"] + options), "attention.tile",
                "attention_forward",
                {"q_ptr": q, "k_ptr": k, "v_ptr": v, "o_ptr": o, "lse_ptr": lse,
                 "q_start_ptr": array(q_start, "i32"), "k_start_ptr": array(k_start, "i32"),
                 "slopes_ptr": array(slopes, "fp32"),
                 "stride_qb": qb, "stride_qh": qh, "stride_qm": qm, "stride_kb": kb, "stride_kh": kh, "stride_kn": kn,
                 "stride_vb": kb, "stride_vh": kh, "stride_vn": kn, "stride_ob": qb, "stride_oh": qh, "stride_om": qm,
                 "queries": queries, "keys": keys, "scale": scale},
                {"HEAD_DIM": dim, "BLOCK_M": block[0], "BLOCK_N": block[1], "GROUP": group, "CAUSAL": causal,
                 "WINDOW": window, "VARLEN": varlen, "ALIBI": alibi},
                (-(-queries // block[0]), heads, batch), reference,
                tolerance={"o_ptr": (2 * ROUNDING[dtype], o_error), "lse_ptr": (1e-6, lse_error + 1e-6)}, may_spill=dim >= 64)


def all_cases(large):
    rng = np.random.default_rng(4)
    found = []
    for order in ("rrr", "rcr", "crr", "ccc"):
        found += [matmul(rng, "fp16", 64, 32, 64, order, pad=0), matmul(rng, "bf16", 45, 50, 70, order)]
    found += [matmul(rng, "fp32", 45, 50, 70, precision=p) for p in ("tf32", "tf32x3", "bf16x3", "ieee")]
    found += [matmul(rng, "i8", 45, 50, 70, "rcr"), matmul(rng, "i8", 64, 64, 64, pad=0)]
    found += [matmul(rng, "fp8e4nv", 45, 50, 70, "rcr"), matmul(rng, "fp8e5", 64, 32, 64, b_dtype="fp8e4nv", out="fp32", pad=0)]
    found += [matmul(rng, "fp16", 33, 31, 1, pad=0, activation="relu"), matmul(rng, "fp16", 1, 40, 65, activation="silu"),
              matmul(rng, "bf16", 50, 1, 40, activation="gelu"), matmul(rng, "fp16", 100, 70, 40, group=2, block=(16, 32, 16))]
    found += [matmul_blocks(rng, "matmul_block_pointers", "fp16", 45, 50, 70, order, pad=3) for order in ("rrr", "crc", "rcr")]
    found += [matmul_blocks(rng, "matmul_block_pointers", "bf16", 64, 64, 64, pad=0),
              matmul_blocks(rng, "matmul_descriptors", "fp16", 48, 56, 72), matmul_blocks(rng, "matmul_descriptors", "fp32", 45, 44, 20, pad=4)]
    found += [attention(rng, "fp16", 2, 2, 50, 70, 32), attention(rng, "fp16", 1, 2, 64, 64, 16, causal=True, pad=0),
              attention(rng, "bf16", 1, 4, 33, 65, 64, group=2, causal=True),
              attention(rng, "fp32", 1, 2, 40, 40, 32, causal=True, alibi=True),
              attention(rng, "fp16", 1, 1, 70, 50, 16, causal=True), attention(rng, "fp16", 1, 1, 70, 90, 16, causal=True, window=20),
              attention(rng, "fp16", 1, 1, 70, 70, 32, window=9), attention(rng, "fp16", 1, 1, 17, 40, 128, block=(16, 16)),
              attention(rng, "bf16", 1, 1, 16, 33, 256, block=(16, 16)),
              attention(rng, "fp16", 3, 2, 50, 60, 32, group=2, causal=True, lengths=[(50, 60), (1, 33), (0, 5)]),
              attention(rng, "fp16", 2, 1, 40, 60, 16, lengths=[(40, 17), (7, 60)])]
    if large:
        found += large_cases(rng)
    return found


def large_cases(rng):
    found = []
    tile = {"block": (128, 128, 64)}
    for dtype in ("fp16", "bf16"):
        for order in ("rrr", "rcr", "crr", "ccr"):
            found += [matmul(rng, dtype, 512, 512, 512, order, pad=0, **tile), matmul(rng, dtype, 500, 300, 211, order, **tile)]
        for dim in (16, 32, 64, 128, 256):
            found.append(attention(rng, dtype, 2, 4, 300, 517, dim, group=2, causal=True, block=(64, 64)))
    found += [matmul(rng, "fp32", 512, 512, 512, precision=p, pad=0, block=(64, 64, 32)) for p in ("tf32", "tf32x3", "ieee")]
    found += [matmul(rng, "i8", 512, 512, 512, "rcr", pad=0, **tile), matmul(rng, "fp8e4nv", 512, 512, 512, "rcr", pad=0, **tile)]
    return found
