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
           pad=3, group=8, second=0):
    """`order`: how A, B and C lie, r by rows, c by columns. `second`: columns beside those of the block, by matmul_wide."""
    b_dtype = b_dtype or dtype
    out = out or ("i32" if dtype == "i8" else "fp16" if dtype in cases.FP8 else dtype)
    by_columns = [o == "c" for o in order]
    a, (am, ak) = stored(rng, numbers(rng, (m, k), dtype), dtype, by_columns[0], pad)
    b, (bk, bn) = stored(rng, numbers(rng, (k, n), b_dtype), b_dtype, by_columns[1], pad)
    c, (cm, cn) = empty((m, n), out, by_columns[2], pad)
    av, bv = (logical(x.values, shape, c).astype(np.float64)
              for x, shape, c in ((a, (m, k), by_columns[0]), (b, (k, n), by_columns[1])))
    error = product_error(dtype, precision, av, bv)
    tiles = -(-m // block[0]) * -(-n // (block[1] + second))
    defines = {"BLOCK_M": block[0], "BLOCK_N": block[1], "BLOCK_K": block[2], "GROUP_M": group, "PRECISION": precision,
               "ACC": Text("tl.int32" if dtype == "i8" else "tl.float32")} | ({"BLOCK_N2": second} if second else {"ACTIVATION": activation})
    kernel = "matmul_wide" if second else "matmul"
    return Case(f"{kernel}-{dtype}{'' if b_dtype == dtype else '.' + b_dtype}-{out}-{m}x{n}x{k}-{order}"
                f"{'-' + precision if dtype == 'fp32' else ''}{'' if activation == 'none' else '-' + activation}-{block[0]}.{block[1]}{f'+{second}' * (second > 0)}.{block[2]}+{pad}",
                "matmul.tile", kernel,
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


def matmul_persistent(rng, dtype, m, n, k, programs, order="rrr", block=(64, 64, 32), pad=16, group=2):
    """Tiles one after the other by so many programs; 16 elements of room behind a line, and sides that are multiples of 16, leave it to tensor copies."""
    by_columns = [o == "c" for o in order]
    a, (am, ak) = stored(rng, numbers(rng, (m, k), dtype), dtype, by_columns[0], pad)
    b, (bk, bn) = stored(rng, numbers(rng, (k, n), dtype), dtype, by_columns[1], pad)
    c, (cm, cn) = empty((m, n), dtype, by_columns[2], pad)
    av, bv = logical(a.values, (m, k), by_columns[0]), logical(b.values, (k, n), by_columns[1])
    return Case(f"matmul_persistent-{dtype}-{m}x{n}x{k}-{order}-{programs}-{block[0]}.{block[1]}.{block[2]}+{pad}", "matmul_persistent.tile",
                "matmul_persistent",
                {"a_ptr": a, "b_ptr": b, "c_ptr": c, "M": m, "N": n, "K": k, "stride_am": am, "stride_ak": ak,
                 "stride_bk": bk, "stride_bn": bn, "stride_cm": cm, "stride_cn": cn},
                {"BLOCK_M": block[0], "BLOCK_N": block[1], "BLOCK_K": block[2], "GROUP_M": group}, (programs,),
                lambda v: {"c_ptr": placed(av @ bv, c, by_columns[2])},
                tolerance={"c_ptr": (2 * ROUNDING[dtype], 1.2 * product_error(dtype, "tf32", av, bv) + 1e-6)})


def linear_gelu(rng, dtype, m, n, k, tanh=False, block=(32, 32, 32), pad=3):
    x, (sx, _) = stored(rng, numbers(rng, (m, k), dtype), dtype, pad=pad)
    w, (sw, _) = stored(rng, numbers(rng, (n, k), dtype), dtype, pad=pad)
    b = array(rng.standard_normal(n), dtype)
    y, (sy, _) = empty((m, n), dtype, pad=pad)
    xv, wv = logical(x.values, (m, k)), logical(w.values, (n, k))

    def reference(v):
        z = xv @ wv.T + b.values
        if tanh:
            return {"y_ptr": placed(0.5 * z * (1 + np.tanh(np.sqrt(2 / np.pi) * (z + 0.044715 * z**3))), y)}
        return {"y_ptr": placed(ACTIVATIONS["gelu"](z), y)}

    return Case(f"linear_gelu-{'tanh-' * tanh}{dtype}-{m}x{n}x{k}+{pad}", "linear_gelu.tile", "linear_gelu",
                {"x_ptr": x, "w_ptr": w, "b_ptr": b, "y_ptr": y, "M": m, "N": n, "K": k, "stride_x": sx, "stride_w": sw,
                 "stride_y": sy},
                {"BLOCK_M": block[0], "BLOCK_N": block[1], "BLOCK_K": block[2], "TANH": tanh},
                (-(-m // block[0]) * -(-n // block[1]),), reference,
                tolerance={"y_ptr": (2 * ROUNDING[dtype], 1.2 * product_error(dtype, "tf32", xv, wv.T) + 1e-5)})


def matmul_batched(rng, dtype, batches, m, n, k, order="rrr", block=(32, 32, 32), pad=3, share_b=False, small=0):
    """`small`: whole products, so many in a program."""
    by_columns = [o == "c" for o in order]
    a, (am, ak) = stored(rng, numbers(rng, (batches, m, k), dtype), dtype, by_columns[0], pad)
    b, (bk, bn) = stored(rng, numbers(rng, (1 if share_b else batches, k, n), dtype), dtype, by_columns[1], pad)
    c, (cm, cn) = empty((batches, m, n), dtype, by_columns[2], pad)
    av, bv = logical(a.values, (m, k), by_columns[0]), logical(b.values, (k, n), by_columns[1])
    strides = {"stride_ab": a.bits[0].size, "stride_am": am, "stride_ak": ak, "stride_bb": 0 if share_b else b.bits[0].size,
               "stride_bk": bk, "stride_bn": bn, "stride_cb": c.bits[0].size, "stride_cm": cm, "stride_cn": cn}
    defines = {"BLOCK_M": block[0], "BLOCK_N": block[1], "BLOCK_K": block[2]} | ({"BLOCK_B": small} if small else {})
    kernel = "matmul_batched_small" if small else "matmul_batched"
    return Case(f"{kernel}-{dtype}-{batches}x{m}x{n}x{k}-{order}{'-shared' * share_b}+{pad}", "matmul_batched.tile", kernel,
                {"a_ptr": a, "b_ptr": b, "c_ptr": c} | ({"batches": batches} if small else {}) | {"M": m, "N": n, "K": k} | strides,
                defines, (-(-batches // small),) if small else (-(-m // block[0]) * -(-n // block[1]), batches),
                lambda v: {"c_ptr": placed(av @ bv, c, by_columns[2])},
                tolerance={"c_ptr": (2 * ROUNDING[dtype], 1.2 * product_error(dtype, "tf32", av, bv) + 1e-6)})


def matmul_grouped(rng, dtype, sizes, n, k, programs, block=(32, 32, 32), pad=3):
    rows, groups = sum(sizes), len(sizes)
    a, (sa, _) = stored(rng, numbers(rng, (rows, k), dtype), dtype, pad=pad)
    b, (bk, _) = stored(rng, numbers(rng, (groups, k, n), dtype), dtype, pad=pad)
    c, (sc, _) = empty((rows, n), dtype, pad=pad)
    starts = [sum(sizes[:g]) for g in range(groups + 1)]
    av, bv = logical(a.values, (rows, k)), logical(b.values, (k, n))
    result = np.concatenate([av[starts[g] : starts[g + 1]] @ bv[g] for g in range(groups)])
    error = max(product_error(dtype, "tf32", av, bv[g]) for g in range(groups))
    return Case(f"matmul_grouped-{dtype}-{'.'.join(map(str, sizes))}x{n}x{k}-{programs}+{pad}", "matmul_grouped.tile",
                "matmul_grouped",
                {"a_ptr": a, "b_ptr": b, "c_ptr": c, "starts_ptr": array(starts, "i32"), "groups": groups, "N": n, "K": k,
                 "stride_a": sa, "stride_bg": b.bits[0].size, "stride_bk": bk, "stride_c": sc},
                {"BLOCK_M": block[0], "BLOCK_N": block[1], "BLOCK_K": block[2]}, (programs,),
                lambda v: {"c_ptr": placed(result, c)}, tolerance={"c_ptr": (2 * ROUNDING[dtype], 1.2 * error + 1e-6)})


def matmul_split_k(rng, dtype, m, n, k, splits, atomic, order="rr", block=(32, 32, 32), pad=3):
    by_columns = [o == "c" for o in order]
    a, (am, ak) = stored(rng, numbers(rng, (m, k), dtype), dtype, by_columns[0], pad)
    b, (bk, bn) = stored(rng, numbers(rng, (k, n), dtype), dtype, by_columns[1], pad)
    av, bv = logical(a.values, (m, k), by_columns[0]), logical(b.values, (k, n), by_columns[1])
    share = -(-(-(-k // block[2])) // splits) * block[2]
    parts = np.stack([av[:, s * share : (s + 1) * share] @ bv[s * share : (s + 1) * share] for s in range(splits)])
    out = output((m, n), "fp32", 0.0) if atomic else output((splits, m, n), "fp32")
    return Case(f"matmul_split_k-{dtype}-{m}x{n}x{k}-{order}-{splits}{'-atomic' * atomic}+{pad}", "matmul_split_k.tile",
                "matmul_split_k",
                {"a_ptr": a, "b_ptr": b, "out_ptr": out, "M": m, "N": n, "K": k, "stride_am": am, "stride_ak": ak,
                 "stride_bk": bk, "stride_bn": bn},
                {"BLOCK_M": block[0], "BLOCK_N": block[1], "BLOCK_K": block[2], "ATOMIC": atomic},
                (-(-m // block[0]) * -(-n // block[1]), splits), lambda v: {"out_ptr": parts.sum(axis=0) if atomic else parts},
                tolerance={"out_ptr": (1e-6, 1.2 * product_error(dtype, "tf32", av, bv) + 1e-6)})


def matmul_split_k_sum(rng, dtype, m, n, splits, block=256):
    parts = array(rng.standard_normal((splits, m, n)), "fp32")
    return Case(f"matmul_split_k_sum-{dtype}-{m}x{n}-{splits}", "matmul_split_k.tile", "matmul_split_k_sum",
                {"parts_ptr": parts, "c_ptr": output((m, n), dtype), "size": m * n, "splits": splits}, {"BLOCK": block},
                (-(-m * n // block),), lambda v: {"c_ptr": v["parts_ptr"].sum(axis=0)},
                tolerance={"c_ptr": (2 * ROUNDING[dtype], splits * 2.0**-22)})


def matmul_stream_k(rng, dtype, m, n, k, programs, order="rrr", block=(32, 32, 32), pad=3):
    by_columns = [o == "c" for o in order]
    a, (am, ak) = stored(rng, numbers(rng, (m, k), dtype), dtype, by_columns[0], pad)
    b, (bk, bn) = stored(rng, numbers(rng, (k, n), dtype), dtype, by_columns[1], pad)
    c, (cm, cn) = empty((m, n), dtype, by_columns[2], pad)
    av, bv = logical(a.values, (m, k), by_columns[0]), logical(b.values, (k, n), by_columns[1])
    return Case(f"matmul_stream_k-{dtype}-{m}x{n}x{k}-{order}-{programs}-{block[0]}.{block[1]}.{block[2]}+{pad}", "matmul_stream_k.tile",
                "matmul_stream_k",
                {"a_ptr": a, "b_ptr": b, "c_ptr": c, "parts_ptr": output((programs, *block[:2]), "fp32"),
                 "flags_ptr": output((programs,), "i32", 0), "M": m, "N": n, "K": k, "stride_am": am, "stride_ak": ak, "stride_bk": bk,
                 "stride_bn": bn, "stride_cm": cm, "stride_cn": cn},
                {"BLOCK_M": block[0], "BLOCK_N": block[1], "BLOCK_K": block[2]}, (programs,),
                lambda v: {"c_ptr": placed(av @ bv, c, by_columns[2]), "flags_ptr": np.zeros(programs)},
                tolerance={"c_ptr": (2 * ROUNDING[dtype], 1.2 * product_error(dtype, "tf32", av, bv) + 1e-6)})


def stream_k_cases(rng):
    """Whole waves and parts, no part, tiles in two and in many parts, more programs than blocks."""
    shapes = ((70, 100, 200, 5), (70, 100, 200, 12), (70, 100, 200, 9), (70, 100, 200, 40), (33, 40, 100, 30), (100, 70, 1, 4), (64, 64, 256, 3))
    found = [matmul_stream_k(rng, "fp16", *shape) for shape in shapes]
    found += [matmul_stream_k(rng, "fp16", 70, 90, 130, 5, order) for order in ("rcr", "crc", "ccr")]
    found += [matmul_stream_k(rng, "bf16", 64, 96, 160, 4, pad=0), matmul_stream_k(rng, "fp32", 40, 50, 70, 3),
              matmul_stream_k(rng, "bf16", 16, 100, 300, 9, block=(16, 32, 32), pad=16)]
    return found + [matmul_stream_k(rng, "fp16", *shape, order, (64, 64, 32), pad)
                    for shape, order, pad in (((190, 150, 200, 7), "rrr", 16), ((128, 192, 256, 4), "rcr", 0), ((64, 128, 500, 11), "rrr", 12))]


def matmul_dequant(rng, dtype, m, n, k, bits, group=64, block=(32, 32, 32), pad=3):
    a, (sa, _) = stored(rng, numbers(rng, (m, k), dtype), dtype, pad=pad)
    q = rng.integers(0, 1 << bits, (k, n)).astype(np.uint8)
    packed = q if bits == 8 else q[::2] | q[1::2] << 4
    q_array, (sq, _) = stored(rng, packed, "u8", pad=0)
    groups = -(-k // group)
    scale = array(rng.uniform(0.5, 2, (groups, n)) / 2**bits, dtype)
    zero = array(rng.integers(0, 1 << bits, (groups, n)), dtype)
    c, (sc, _) = empty((m, n), dtype, pad=pad)
    av = logical(a.values, (m, k))
    bv = (q - np.repeat(zero.values, group, axis=0)[:k]) * np.repeat(scale.values, group, axis=0)[:k]
    # The weights are rounded after the difference and after the product.
    error = 2 * ROUNDING[dtype] * float((np.abs(av) @ np.abs(bv)).max()) + product_error(dtype, "tf32", av, bv)
    return Case(f"matmul_dequant-int{bits}-{dtype}-{m}x{n}x{k}+{pad}", "matmul_dequant.tile", "matmul_dequant",
                {"a_ptr": a, "q_ptr": q_array, "scale_ptr": scale, "zero_ptr": zero, "c_ptr": c, "M": m, "N": n, "K": k,
                 "stride_a": sa, "stride_q": sq, "stride_scale": n, "stride_c": sc},
                {"BITS": bits, "GROUP_K": group, "BLOCK_M": block[0], "BLOCK_N": block[1], "BLOCK_K": block[2]},
                (-(-m // block[0]) * -(-n // block[1]),), lambda v: {"c_ptr": placed(av @ bv, c)},
                tolerance={"c_ptr": (2 * ROUNDING[dtype], 1.2 * error + 1e-6)})


E2M1 = np.array([0, 0.5, 1, 1.5, 2, 3, 4, 6, 0, -0.5, -1, -1.5, -2, -3, -4, -6])


def mxfp_operand(rng, fmt, rows, k):
    """Bytes, scales and values."""
    scales = rng.integers(121, 134, (rows, k // 32)).astype(np.uint8)
    powers = np.repeat(2.0 ** (scales.astype(np.float64) - 127), 32, axis=1)
    if fmt == "e2m1":
        codes = rng.integers(0, 16, (rows, k)).astype(np.uint8)
        return codes[:, ::2] | codes[:, 1::2] << 4, scales, E2M1[codes] * powers
    dtype = {"e4m3": "fp8e4nv", "e5m2": "fp8e5"}[fmt]
    codes = cases.to_fp8_bits(rng.standard_normal((rows, k)), dtype)
    return codes, scales, cases.fp8_values(dtype)[codes] * powers


def matmul_mxfp(rng, a_format, b_format, m, n, k, block=(32, 32, 64)):
    a, a_scale, av = mxfp_operand(rng, a_format, m, k)
    b, b_scale, bv = mxfp_operand(rng, b_format, n, k)
    return Case(f"matmul_mxfp-{a_format}.{b_format}-{m}x{n}x{k}", "matmul_mxfp.tile", "matmul_mxfp",
                {"a_ptr": array(a, "u8"), "a_scale_ptr": array(a_scale, "u8"), "b_ptr": array(b, "u8"),
                 "b_scale_ptr": array(b_scale, "u8"), "c_ptr": output((m, n), "fp32"), "M": m, "N": n, "K": k,
                 "stride_a": a.shape[1], "stride_b": b.shape[1]},
                {"A_FORMAT": a_format, "B_FORMAT": b_format, "BLOCK_M": block[0], "BLOCK_N": block[1], "BLOCK_K": block[2]},
                (-(-m // block[0]), -(-n // block[1])), lambda v: {"c_ptr": av @ bv.T},
                tolerance={"c_ptr": (1e-6, 1.2 * product_error("bf16", "tf32", av, bv.T) + 1e-6)})


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
                tolerance={"o_ptr": (2 * ROUNDING[dtype], o_error), "lse_ptr": (1e-6, lse_error + 1e-6)})


def heads_strides(shape, pad):
    """Elements from one batch, head and place to the next."""
    along = shape[3] + pad
    return shape[1] * shape[2] * along, shape[2] * along, along


def attention_relative(rng, dtype, batch, heads, queries, keys, dim, reach, causal=False, block=(32, 32), pad=8):
    of_q, of_k = (batch, heads, queries, dim), (batch, heads, keys, dim)
    q, k, v = (stored(rng, numbers(rng, shape, dtype), dtype, pad=pad)[0] for shape in (of_q, of_k, of_k))
    o, _ = empty(of_q, dtype, pad=pad)
    bias = array(rng.standard_normal((heads, 2 * reach + 1)) * 2, "fp32")
    qv, kv, vv = (logical(x.values, (0, dim)) for x in (q, k, v))
    (qb, qh, qm), (kb, kh, kn) = heads_strides(of_q, pad), heads_strides(of_k, pad)
    scale = dim**-0.5

    def reference(inputs):
        distance = np.arange(keys)[None, :] - np.arange(queries)[:, None]
        s = scale * (qv @ np.swapaxes(kv, -1, -2)) + bias.values[:, np.clip(distance, -reach, reach) + reach]
        return {"o_ptr": placed(softmax_and_lse(np.where((distance <= 0) | (not causal), s, -np.inf))[0] @ vv, o)}

    return Case(f"attention_relative-{dtype}-{batch}x{heads}x{queries}x{keys}x{dim}-{reach}{'-causal' * causal}",
                "attention_relative.tile", "attention_relative",
                {"q_ptr": q, "k_ptr": k, "v_ptr": v, "o_ptr": o, "bias_ptr": bias, "stride_qb": qb, "stride_qh": qh, "stride_qm": qm,
                 "stride_kb": kb, "stride_kh": kh, "stride_kn": kn, "stride_ob": qb, "stride_oh": qh, "stride_om": qm,
                 "queries": queries, "keys": keys, "reach": reach, "scale": scale},
                {"HEAD_DIM": dim, "BLOCK_M": block[0], "BLOCK_N": block[1], "CAUSAL": causal},
                (-(-queries // block[0]), heads, batch), reference,
                tolerance={"o_ptr": (2 * ROUNDING[dtype], attention_error(dtype, qv, kv, vv, scale)[0])})


def attention_relative_2d(rng, dtype, batch, heads, queries, height, width, dim, block_m=32, pad=8):
    of_q, of_k = (batch, heads, queries, dim), (batch, heads, height * width, dim)
    q, k, v = (stored(rng, numbers(rng, shape, dtype), dtype, pad=pad)[0] for shape in (of_q, of_k, of_k))
    o, _ = empty(of_q, dtype, pad=pad)
    row_bias, column_bias = (array(rng.standard_normal((heads, queries, size)), dtype) for size in (height, width))
    qv, kv, vv = (logical(x.values, (0, dim)) for x in (q, k, v))
    (qb, qh, qm), (kb, kh, kn) = heads_strides(of_q, pad), heads_strides(of_k, pad)
    scale = dim**-0.5

    def reference(inputs):
        bias = np.repeat(row_bias.values, width, axis=-1) + np.tile(column_bias.values, height)
        return {"o_ptr": placed(softmax_and_lse(scale * (qv @ np.swapaxes(kv, -1, -2)) + bias)[0] @ vv, o)}

    # The sum of the two biases is rounded to their type: so much more the exponent of each probability may be off.
    off = 2 * ROUNDING[dtype] * float((np.abs(row_bias.values).max() + np.abs(column_bias.values).max())) * float(np.abs(vv).max())
    return Case(f"attention_relative_2d-{dtype}-{batch}x{heads}x{queries}x{height}x{width}x{dim}", "attention_relative.tile", "attention_relative_2d",
                {"q_ptr": q, "k_ptr": k, "v_ptr": v, "o_ptr": o, "row_bias_ptr": row_bias, "column_bias_ptr": column_bias,
                 "stride_qb": qb, "stride_qh": qh, "stride_qm": qm, "stride_kb": kb, "stride_kh": kh, "stride_kn": kn,
                 "stride_ob": qb, "stride_oh": qh, "stride_om": qm, "queries": queries, "height": height, "scale": scale},
                {"HEAD_DIM": dim, "BLOCK_M": block_m, "WIDTH": width}, (-(-queries // block_m), heads, batch), reference,
                tolerance={"o_ptr": (2 * ROUNDING[dtype], attention_error(dtype, qv, kv, vv, scale)[0] + off)})


def attention_backward(rng, part, dtype, batch, heads, queries, keys, dim, group=1, causal=False, block=(32, 32), pad=8):
    """`part`: delta, dkdv or dq."""
    of_q, of_k = (batch, heads, queries, dim), (batch, heads // group, keys, dim)
    q, k, v, o, do = (stored(rng, numbers(rng, shape, dtype), dtype, pad=pad)[0] for shape in (of_q, of_k, of_k, of_q, of_q))
    qv, kv, vv, ov, dov = (logical(x.values, (0, dim)) for x in (q, k, v, o, do))
    kr, vr = np.repeat(kv, group, axis=1), np.repeat(vv, group, axis=1)
    scale = dim**-0.5
    p, lse = softmax_and_lse(attention_scores(qv, kr, scale, causal))
    lse, delta = array(lse, "fp32"), array((ov * dov).sum(axis=-1), "fp32")
    transposed = lambda x: np.swapaxes(x, -1, -2)
    over_group = lambda x: x.reshape(batch, heads // group, group, keys, -1).sum(axis=2)
    dp = dov @ transposed(vr)
    ds = p * (dp - delta.values[..., None])
    # As in the forward pass: scores, then what is rounded to the operands' type.
    unit = ROUNDING[dtype] if dtype != "fp32" else PRODUCT["tf32"]
    p_error = p * (2 * attention_error(dtype, qv, kr, vr, scale)[1] + unit)
    ds_error = p_error * np.abs(dp - delta.values[..., None]) + p * product_error(dtype, "tf32", dov, transposed(vr)) + unit * np.abs(ds)
    bound = lambda error, size, x: float((error @ np.abs(x)).max() + (unit + size.shape[-1] * SUM) * (np.abs(size) @ np.abs(x)).max())
    (qb, qh, qm), (kb, kh, kn) = heads_strides(of_q, pad), heads_strides(of_k, pad)
    strides = {"stride_qb": qb, "stride_qh": qh, "stride_qm": qm, "stride_kb": kb, "stride_kh": kh, "stride_kn": kn}
    grid_q, grid_k = (-(-queries // block[0]), heads, batch), (-(-keys // block[1]), heads // group, batch)
    shapes = {"queries": queries, "keys": keys, "scale": scale}
    inputs = {"q_ptr": q, "k_ptr": k, "v_ptr": v, "do_ptr": do, "lse_ptr": lse, "delta_ptr": delta}
    defines = {"HEAD_DIM": dim, "BLOCK_M": block[0], "BLOCK_N": block[1], "GROUP": group, "CAUSAL": causal}
    relative = 2 * ROUNDING[dtype]
    if part == "delta":
        out = {"delta_ptr": output((batch, heads, queries), "fp32")}
        args = {"o_ptr": o, "do_ptr": do} | out | {"stride_b": qb, "stride_h": qh, "stride_m": qm, "queries": queries}
        defines = {"HEAD_DIM": dim, "BLOCK_M": block[0]}
        reference, grid = lambda v: {"delta_ptr": delta.values}, grid_q
        tolerance = {"delta_ptr": (1e-5, dim * SUM * float(np.abs(ov * dov).max()))}
    elif part == "dq":
        dq, _ = empty(of_q, dtype, pad=pad)
        args, grid = inputs | {"dq_ptr": dq} | strides | shapes, grid_q
        reference = lambda v: {"dq_ptr": placed(scale * (ds @ kr), dq)}
        tolerance = {"dq_ptr": (relative, 1.2 * scale * bound(ds_error, ds, kr) + 1e-6)}
    else:
        (dk, _), (dv, _) = empty(of_k, dtype, pad=pad), empty(of_k, dtype, pad=pad)
        args, grid = inputs | {"dk_ptr": dk, "dv_ptr": dv} | strides | shapes, grid_k
        reference = lambda v: {"dk_ptr": placed(scale * over_group(transposed(ds) @ qv), dk),
                               "dv_ptr": placed(over_group(transposed(p) @ dov), dv)}
        tolerance = {"dk_ptr": (relative, 1.2 * group * scale * bound(transposed(ds_error), transposed(ds), qv) + 1e-6),
                     "dv_ptr": (relative, 1.2 * group * bound(transposed(p_error), transposed(p), dov) + 1e-6)}
    return Case(f"attention_backward_{part}-{dtype}-{batch}x{heads}x{queries}x{keys}x{dim}{f'-gqa{group}' * (group > 1)}"
                f"{'-causal' * causal}", "attention_backward.tile", f"attention_backward_{part}", args, defines, grid, reference,
                tolerance=tolerance)


def attention_paged(rng, dtype, lengths, heads_k, group, dim, page, splits, block_n=32):
    sequences, heads = len(lengths), heads_k * group
    width = max(-(-n // page) for n in lengths) + 1
    pages = sequences * width
    table = rng.permutation(pages).reshape(sequences, width)
    q = array(rng.standard_normal((sequences, heads, dim)), dtype)
    k, v = (array(rng.standard_normal((pages, page, heads_k, dim)), dtype) for _ in range(2))
    scale = dim**-0.5
    share = [-(-(-(-n // block_n)) // splits) * block_n for n in lengths]
    part, lse = np.zeros((sequences, heads, splits, dim)), np.full((sequences, heads, splits), -np.inf)
    for s, n in enumerate(lengths):
        keys, values = (x.values[table[s]].reshape(-1, heads_k, dim)[:n] for x in (k, v))
        for h in range(heads):
            for i in range(splits):
                at = slice(i * share[s], min((i + 1) * share[s], n))
                if at.start < n:
                    scores = scale * (keys[at, h // group] @ q.values[s, h])
                    p, logs = softmax_and_lse(scores)
                    part[s, h, i], lse[s, h, i] = p @ values[at, h // group], logs / np.log(2)
    o_error, lse_error = attention_error(dtype, q.values.reshape(-1, dim), k.values.reshape(-1, dim), v.values, scale)
    return Case(f"attention_paged-{dtype}-{'.'.join(map(str, lengths))}-{heads_k}x{group}x{dim}-page{page}-{splits}",
                "attention_paged.tile", "attention_paged",
                {"q_ptr": q, "k_ptr": k, "v_ptr": v, "table_ptr": array(table, "i32"), "lengths_ptr": array(lengths, "i32"),
                 "part_ptr": output(part.shape, "fp32"), "part_lse_ptr": output(lse.shape, "fp32"), "table_width": width,
                 "scale": scale},
                {"HEAD_DIM": dim, "PAGE": page, "GROUP": group, "BLOCK_H": max(16, cases.next_power_of_2(group)), "BLOCK_N": block_n},
                (heads_k, sequences, splits), lambda v: {"part_ptr": part, "part_lse_ptr": lse},
                tolerance={"part_ptr": (1e-6, o_error), "part_lse_ptr": (1e-6, 2 * lse_error + 1e-6)})


def attention_paged_sum(rng, dtype, sequences, heads, splits, dim):
    lse = rng.standard_normal((sequences, heads, splits)) * 3
    lse[:, :, 1:][rng.random((sequences, heads, splits - 1)) < 0.3] = -np.inf
    part = array(rng.standard_normal((sequences, heads, splits, dim)), "fp32")
    lse = array(lse, "fp32")

    def reference(v):
        weight = np.exp2(v["part_lse_ptr"] - v["part_lse_ptr"].max(axis=-1, keepdims=True))
        return {"o_ptr": (v["part_ptr"] * weight[..., None]).sum(axis=2) / weight.sum(axis=-1)[..., None]}

    return Case(f"attention_paged_sum-{dtype}-{sequences}x{heads}x{splits}x{dim}", "attention_paged.tile", "attention_paged_sum",
                {"part_ptr": part, "part_lse_ptr": lse, "o_ptr": output((sequences, heads, dim), dtype), "splits": splits},
                {"HEAD_DIM": dim, "SPLITS": cases.next_power_of_2(splits)}, (sequences, heads), reference,
                tolerance={"o_ptr": (2 * ROUNDING[dtype], 1e-5)})


def linear_attention(rng, dtype, batch, heads, length, dim, dim_v, chunk=32, block_v=32, pad=8):
    of_q, of_v = (batch, heads, length, dim), (batch, heads, length, dim_v)
    q, k, v = (stored(rng, numbers(rng, shape, dtype), dtype, pad=pad)[0] for shape in (of_q, of_q, of_v))
    o, _ = empty(of_v, dtype, pad=pad)
    log_decay = array(-rng.uniform(0, 0.3, heads), "fp32")
    qv, kv, vv = logical(q.values, (0, dim)), logical(k.values, (0, dim)), logical(v.values, (0, dim_v))
    distance = np.arange(length)[:, None] - np.arange(length)[None, :]
    weight = np.where(distance >= 0, 2.0 ** (log_decay.values[:, None, None] * distance), 0.0)
    scale = dim**-0.5
    s = (qv @ np.swapaxes(kv, -1, -2)) * weight
    decayed = kv * 2.0 ** (log_decay.values[:, None] * (length - 1 - np.arange(length)))[None, :, :, None]
    state = np.swapaxes(decayed, -1, -2) @ vv
    # S, the state and the decayed keys are rounded to the type of the operands.
    sizes = (np.abs(qv) @ np.swapaxes(np.abs(kv), -1, -2)) * weight
    unit = 3 * ROUNDING[dtype] if dtype != "fp32" else 3 * PRODUCT["tf32"]
    o_error = float(scale * (unit + 4 * length * SUM) * (sizes @ np.abs(vv)).max())
    state_error = float((unit + 4 * length * SUM) * (np.swapaxes(np.abs(decayed), -1, -2) @ np.abs(vv)).max())
    (qb, qh, qt), (vb, vh, vt) = heads_strides(of_q, pad), heads_strides(of_v, pad)
    return Case(f"linear_attention-{dtype}-{batch}x{heads}x{length}x{dim}x{dim_v}", "linear_attention.tile", "linear_attention",
                {"q_ptr": q, "k_ptr": k, "v_ptr": v, "o_ptr": o, "log_decay_ptr": log_decay,
                 "state_ptr": output((batch, heads, dim, dim_v), "fp32"), "stride_qb": qb, "stride_qh": qh, "stride_qt": qt,
                 "stride_vb": vb, "stride_vh": vh, "stride_vt": vt, "length": length, "dim_v": dim_v, "scale": scale},
                {"KEY_DIM": dim, "BLOCK_V": block_v, "CHUNK": chunk}, (-(-dim_v // block_v), heads, batch),
                lambda v: {"o_ptr": placed(scale * (s @ vv), o), "state_ptr": state},
                tolerance={"o_ptr": (2 * ROUNDING[dtype], o_error), "state_ptr": (1e-6, state_error)})


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
    found += [matmul(rng, dtype, 9, 13, 70, "rcr", block=block) for dtype in ("fp16", "i8") for block in ((1, 16, 32), (4, 8, 32), (64, 4, 32))]
    found += [matmul(rng, "fp16", 70, 100, 70, "rcr", second=16), matmul(rng, "fp16", 64, 48, 64, pad=0, second=16)]
    found += [matmul_blocks(rng, "matmul_block_pointers", "fp16", 45, 50, 70, order, pad=3) for order in ("rrr", "crc", "rcr")]
    found += [matmul_blocks(rng, "matmul_block_pointers", "bf16", 64, 64, 64, pad=0),
              matmul_blocks(rng, "matmul_descriptors", "fp16", 48, 56, 72), matmul_blocks(rng, "matmul_descriptors", "fp32", 45, 44, 20, pad=4)]
    found += [matmul_persistent(rng, "fp16", 45, 50, 70, 2, block=(32, 32, 32), pad=3), matmul_persistent(rng, "fp32", 45, 50, 40, 3, "rcr", (32, 32, 32))]
    found += [attention(rng, "fp16", 2, 2, 50, 70, 32), attention(rng, "fp16", 1, 2, 64, 64, 16, causal=True, pad=0),
              attention(rng, "bf16", 1, 4, 33, 65, 64, group=2, causal=True),
              attention(rng, "fp32", 1, 2, 40, 40, 32, causal=True, alibi=True),
              attention(rng, "fp16", 1, 1, 70, 50, 16, causal=True), attention(rng, "fp16", 1, 1, 70, 90, 16, causal=True, window=20),
              attention(rng, "fp16", 1, 1, 70, 70, 32, window=9), attention(rng, "fp16", 1, 1, 17, 40, 128, block=(16, 16)),
              attention(rng, "bf16", 1, 1, 16, 33, 256, block=(16, 16)),
              attention(rng, "fp16", 3, 2, 50, 60, 32, group=2, causal=True, lengths=[(50, 60), (1, 33), (0, 5)]),
              attention(rng, "fp16", 2, 1, 40, 60, 16, lengths=[(40, 17), (7, 60)])]
    # Enough blocks for some without masks between those with.
    found += [attention(rng, "fp16", 1, 1, 100, 230, 32, causal=True, window=130, pad=0),
              attention(rng, "bf16", 1, 1, 130, 200, 16, window=90, pad=0), attention(rng, "fp16", 1, 1, 200, 90, 32, causal=True, pad=0)]
    found += [attention_backward(rng, part, "fp16", 1, 1, 130, 170, 32, causal=True, pad=0) for part in ("dkdv", "dq")]
    found += [linear_gelu(rng, "fp16", 45, 50, 70), linear_gelu(rng, "bf16", 64, 32, 64, tanh=True, pad=0), linear_gelu(rng, "fp32", 20, 33, 17)]
    found += [matmul_batched(rng, "fp16", 3, 45, 50, 70, order) for order in ("rrr", "crc")]
    found += [matmul_batched(rng, "bf16", 2, 64, 64, 32, share_b=True, pad=0), matmul_batched(rng, "fp32", 2, 33, 20, 40, "rcr"),
              matmul_batched(rng, "fp16", 5, 13, 9, 20, "rcr", (16, 16, 32), small=2),
              matmul_batched(rng, "fp32", 4, 16, 16, 16, block=(16, 16, 16), pad=0, small=4)]
    found += [matmul_grouped(rng, "fp16", (40, 0, 1, 64), 50, 70, 3), matmul_grouped(rng, "bf16", (5, 33), 32, 64, 8, pad=0)]
    found += [matmul_split_k(rng, "fp16", 33, 40, 200, 3, False), matmul_split_k(rng, "bf16", 16, 32, 256, 4, True, pad=0),
              matmul_split_k(rng, "fp32", 20, 30, 70, 4, True, "cr"), matmul_split_k_sum(rng, "fp16", 33, 40, 3),
              matmul_split_k_sum(rng, "bf16", 16, 64, 8)]
    found += [matmul_dequant(rng, "fp16", 45, 50, 200, 4), matmul_dequant(rng, "bf16", 16, 64, 128, 4, pad=0),
              matmul_dequant(rng, "fp16", 33, 40, 130, 8), matmul_dequant(rng, "bf16", 1, 50, 64, 8)]
    found += [matmul_mxfp(rng, "e4m3", "e5m2", 45, 50, 128), matmul_mxfp(rng, "e2m1", "e2m1", 33, 40, 64),
              matmul_mxfp(rng, "e4m3", "e2m1", 32, 32, 128)]
    found += [attention_relative(rng, "fp16", 2, 2, 50, 70, 32, 20), attention_relative(rng, "bf16", 1, 2, 64, 64, 16, 100, causal=True, pad=0)]
    for part in ("delta", "dkdv", "dq"):
        found += [attention_backward(rng, part, "fp16", 2, 2, 50, 70, 32), attention_backward(rng, part, "bf16", 1, 4, 33, 45, 16, group=2, causal=True),
                  attention_backward(rng, part, "fp32", 1, 1, 64, 64, 32, causal=True, pad=0)]
    found += [attention_paged(rng, "fp16", (70, 1, 33), 2, 4, 32, 16, 2), attention_paged(rng, "bf16", (40, 128), 1, 1, 64, 32, 3),
              attention_paged_sum(rng, "fp16", 3, 8, 2, 32), attention_paged_sum(rng, "bf16", 2, 1, 5, 64)]
    found += [linear_attention(rng, "fp16", 2, 2, 70, 32, 40), linear_attention(rng, "bf16", 1, 2, 64, 16, 32, pad=0),
              linear_attention(rng, "fp32", 1, 1, 45, 32, 16, block_v=16)]
    found += warpgroup_cases(rng)
    found += stream_k_cases(np.random.default_rng(3))
    found += relative_2d_cases(np.random.default_rng(6))
    if large:
        found += large_cases(rng)
    return found


def relative_2d_cases(rng):
    """Products whose bias is made of a tile in front of the loop and a column in it, aligned and by elements."""
    return [attention_relative_2d(rng, "fp16", 1, 2, 150, 3, 64, 64, block_m=128), attention_relative_2d(rng, "bf16", 2, 1, 50, 4, 16, 32, pad=3),
            attention_relative_2d(rng, "bf16", 1, 2, 64, 4, 16, 32, pad=0)]


def warpgroup_cases(rng):
    """Tiles that sm_90a gives to warpgroups."""
    tile = {"block": (64, 64, 32)}
    rows = {"block": (64, 64), "pad": 16}
    backward = [attention_backward(rng, part, dtype, 1, 2, 100, 90, dim, group=2, causal=True, **rows)
                for part in ("dkdv", "dq") for dtype, dim in (("fp16", 64), ("bf16", 32))]
    wide = attention(rng, "fp16", 1, 1, 70, 100, 128, block=(64, 128), pad=16)
    mixed = matmul(rng, "fp8e4nv", 128, 128, 160, "rcr", b_dtype="fp8e5", pad=0, block=(128, 128, 128))
    # Q as threads hold it, in pieces with the products that take it: on two targets 4 registers more than 255.
    wide.targets = ("sm_80", "sm_90a", "sm_100a", "sm_120a")
    # Two products and two sums of 64 x 64, with rows loaded one by one: elsewhere up to 104 bytes more than 255 registers.
    backward[0].targets = ("sm_90a",)
    grouped = matmul_grouped(rng, "fp16", (70, 0, 1, 64), 80, 70, 3, **tile)
    return backward + [
            wide,
            attention(rng, "fp16", 1, 2, 100, 150, 64, causal=True, **rows),
            attention(rng, "bf16", 2, 2, 150, 130, 32, group=2, block=(128, 64), pad=16),
            attention(rng, "fp16", 1, 1, 70, 200, 16, window=20, alibi=True, **rows),
            attention_relative(rng, "fp16", 1, 2, 80, 90, 64, 20, **rows),
            linear_attention(rng, "fp16", 1, 2, 100, 64, 64, chunk=64, block_v=64, pad=16),
            matmul(rng, "fp16", 100, 90, 70, "ccr", activation="relu", **tile),
            matmul(rng, "bf16", 128, 128, 128, pad=0, group=2, block=(128, 128, 64)),
            matmul(rng, "i8", 100, 90, 160, "rcr", pad=16, block=(64, 64, 64)),
            matmul(rng, "i8", 100, 90, 70, "rcr", block=(64, 64, 32)),
            mixed,
            matmul(rng, "fp32", 100, 90, 80, "rcr", pad=16, block=(64, 64, 32)),
            matmul(rng, "fp16", 128, 192, 128, pad=0, block=(128, 128, 64), second=64),
            matmul(rng, "bf16", 104, 200, 72, "rcr", pad=0, block=(128, 128, 64), second=64),  # rows of multiples of 8
            matmul(rng, "fp16", 192, 336, 144, pad=0, block=(128, 128, 64), second=32),  # panels of two widths
            matmul(rng, "fp16", 104, 120, 72, pad=0, **tile),
            matmul(rng, "fp16", 104, 120, 73, "ccr", pad=0, **tile),  # of A by columns alone
            matmul_blocks(rng, "matmul_block_pointers", "fp16", 90, 70, 50, "rcr", pad=3, **tile),
            matmul_blocks(rng, "matmul_descriptors", "bf16", 80, 72, 64, **tile),
            *persistent_cases(rng),
            linear_gelu(rng, "fp16", 90, 70, 50, **tile),
            matmul_batched(rng, "fp16", 2, 70, 90, 50, "crc", **tile),
            grouped,
            matmul_split_k(rng, "bf16", 70, 64, 256, 3, True, **tile),
            matmul_dequant(rng, "fp16", 70, 64, 128, 8, **tile),
            matmul_dequant(rng, "bf16", 100, 150, 128, 4, block=(64, 128, 32), pad=16)]


def persistent_cases(rng):
    """One producer warp starts the copies: tiles more than programs, fewer, one, none; iterations fewer than stages, none."""
    wide = matmul_persistent(rng, "fp16", 256, 512, 160, 1, "rrr", (128, 256, 64), pad=0)
    # 256 columns of sums, fragments and the loop over tiles: by mma.sync up to 256 bytes more than 255 registers.
    wide.targets = ("sm_90a",)
    return [matmul_persistent(rng, "fp16", 192, 144, 272, 2), matmul_persistent(rng, "bf16", 256, 256, 192, 3, "rcr", (128, 128, 64)),
            matmul_persistent(rng, "fp16", 64, 64, 32, 1, pad=0), matmul_persistent(rng, "fp16", 128, 64, 96, 5, "ccr"),
            matmul_persistent(rng, "fp16", 208, 80, 48, 1, "crr", (64, 64, 32)), matmul_persistent(rng, "fp16", 144, 80, 0, 1),
            matmul_persistent(rng, "bf16", 130, 128, 176, 1, "rrr", (64, 128, 64)), wide]


def large_cases(rng):
    found = []
    tile = {"block": (128, 128, 64)}
    for dtype in ("fp16", "bf16"):
        for order in ("rrr", "rcr", "crr", "ccr"):
            found += [matmul(rng, dtype, 512, 512, 512, order, pad=0, **tile), matmul(rng, dtype, 500, 300, 211, order, **tile)]
        for dim in (16, 32, 64, 128, 256):
            found.append(attention(rng, dtype, 2, 4, 300, 517, dim, group=2, causal=True, block=(64, 64)))
        found += [linear_gelu(rng, dtype, 500, 384, 300, **tile), linear_gelu(rng, dtype, 512, 512, 512, tanh=True, pad=0, **tile),
                  matmul_batched(rng, dtype, 7, 200, 130, 100, "rcr", (64, 64, 32)), matmul_batched(rng, dtype, 33, 60, 30, 20, "rrr", (64, 32, 32), small=4),
                  matmul_grouped(rng, dtype, (300, 0, 1, 129, 511), 256, 192, 40, (64, 64, 32)),
                  matmul_split_k(rng, dtype, 64, 100, 3000, 13, True, block=(64, 64, 64)), matmul_split_k(rng, dtype, 16, 512, 4096, 16, False, "rc", (16, 128, 64), pad=0),
                  matmul_dequant(rng, dtype, 100, 520, 1024, 4, 128, (64, 64, 64)), matmul_dequant(rng, dtype, 16, 512, 1000, 8, 64, (16, 64, 64)),
                  matmul_blocks(rng, "matmul_block_pointers", dtype, 300, 500, 200, "rcr", (128, 128, 64)),
                  matmul_blocks(rng, "matmul_descriptors", dtype, 512, 512, 512, pad=0, block=(128, 128, 64)),
                  attention_relative(rng, dtype, 2, 3, 300, 400, 64, 128, block=(64, 64)),
                  attention_paged(rng, dtype, (1000, 3, 517), 2, 8, 128, 64, 4, 64),
                  linear_attention(rng, dtype, 2, 4, 1000, 64, 128, 64, 64, pad=0)]
        for part in ("delta", "dkdv", "dq"):
            for dim in (64, 128):
                found.append(attention_backward(rng, part, dtype, 2, 4, 300, 333, dim, group=2, causal=True, block=(64, 64)))
    found += [matmul_mxfp(rng, a, b, 512, 300, 512, (128, 128, 64)) for a, b in (("e4m3", "e4m3"), ("e2m1", "e5m2"), ("e2m1", "e2m1"))]
    found += [matmul(rng, "fp32", 512, 512, 512, precision=p, pad=0, block=(64, 64, 32)) for p in ("tf32", "tf32x3", "ieee")]
    found += [matmul_stream_k(rng, "fp16", *shape, programs, order, pad=0, **tile) for shape, programs in (((1536, 1536, 520), 132), ((64, 4096, 1000), 132))
              for order in ("rrr", "rcr")]
    found += [matmul(rng, "i8", 512, 512, 512, "rcr", pad=0, **tile), matmul(rng, "fp8e4nv", 512, 512, 512, "rcr", pad=0, **tile)]
    return found
