"""Every kernel of kernels/ with inputs and a float64 reference.

A case names a kernel, its arguments in order, compile-time values and the grid, and a function from the
float64 inputs to the expected outputs. Outputs start poisoned, rows are padded beyond the columns, sizes
include ones that fill no tile.
"""
import math
from dataclasses import dataclass, field
from typing import Callable

import numpy as np

FLOATS = ("fp32", "fp16", "bf16")
FP8 = {"fp8e4nv": (4, 3, 7), "fp8e5": (5, 2, 15)}  # bits of exponent and fraction, bias
# Relative and absolute tolerance of an element by the type it was stored in.
TOLERANCE = {"fp32": (2e-5, 2e-5), "fp16": (2e-3, 1e-3), "bf16": (1.6e-2, 8e-3), "i32": (0, 0)}
NUMPY = {"fp32": np.float32, "fp16": np.float16, "i8": np.int8, "u8": np.uint8, "i32": np.int32, "i64": np.int64}
POISON = {"fp32": np.nan, "fp16": np.nan, "bf16": np.nan, "i32": -(2**31) + 77, "i64": -(2**63) + 77}


def to_bf16_bits(values):
    """float32 values to bf16 bits, nearest even."""
    bits = np.ascontiguousarray(values, dtype=np.float32).view(np.uint32)
    rounded = (bits + 0x7FFF + ((bits >> 16) & 1)) >> 16
    return np.where(np.isnan(values), 0x7FC0, rounded).astype(np.uint16)


def from_bf16_bits(bits):
    return (bits.astype(np.uint32) << 16).view(np.float32)


def fp8_values(dtype):
    """What each of the 256 bytes means; infinities and NaN are NaN."""
    exponent_bits, fraction_bits, bias = FP8[dtype]
    byte = np.arange(256)
    exponent = byte >> fraction_bits & ((1 << exponent_bits) - 1)
    fraction = (byte & ((1 << fraction_bits) - 1)) / (1 << fraction_bits)
    values = np.where(exponent == 0, fraction * 2.0 ** (1 - bias), (1 + fraction) * 2.0 ** (exponent - bias))
    special = (byte & 0x7F) == 0x7F if dtype == "fp8e4nv" else (byte & 0x7F) >= 0x7C
    return np.where(special, np.nan, np.where(byte & 0x80, -values, values))


def to_fp8_bits(values, dtype):
    """The nearest finite value of the format."""
    table = fp8_values(dtype)
    order = [i for i in np.argsort(table) if not np.isnan(table[i])]
    ascending = table[order]
    at = np.clip(np.searchsorted(ascending, values), 1, len(order) - 1)
    nearer = np.abs(values - ascending[at - 1]) <= np.abs(ascending[at] - values)
    return np.array(order, dtype=np.uint8)[np.where(nearer, at - 1, at)]


@dataclass
class Array:
    """An argument in memory: `bits` is what the file holds (uint16 for bf16, uint8 for fp8)."""

    dtype: str
    bits: np.ndarray
    is_output: bool = False

    @property
    def values(self):
        if self.dtype in FP8:
            return fp8_values(self.dtype)[self.bits]
        raw = from_bf16_bits(self.bits) if self.dtype == "bf16" else self.bits
        return raw.astype(np.float64) if self.dtype in FLOATS else raw


def array(values, dtype, is_output=False):
    if dtype in FP8:
        bits = to_fp8_bits(np.asarray(values, dtype=np.float64), dtype)
    else:
        bits = to_bf16_bits(values) if dtype == "bf16" else np.asarray(values).astype(NUMPY[dtype])
    return Array(dtype, np.ascontiguousarray(bits), is_output)


def output(shape, dtype, value=None):
    return array(np.full(shape, POISON[dtype] if value is None else value), dtype, True)


@dataclass
class Case:
    name: str
    file: str
    kernel: str
    args: dict  # name -> Array, int or float, in the kernel's order
    defines: dict
    grid: tuple
    reference: Callable  # (inputs: name -> float64 array or scalar) -> name -> expected array
    exact_outside: bool = True  # elements the reference gives as NaN keep their poison
    tolerance: dict = field(default_factory=dict)  # by output, overrides TOLERANCE
    targets: tuple = ()  # for which the tile fits the registers; (): all


def next_power_of_2(n):
    return 1 << max(0, n - 1).bit_length()


def matrix(rng, rows, cols, stride, dtype, scale=1.0):
    """rows x stride with `cols` real columns; what lies beyond is NaN and must not be used."""
    full = np.full((rows, stride), np.nan)
    full[:, :cols] = rng.standard_normal((rows, cols)) * scale
    return array(full, dtype)


def padded(result, stride):
    """Expected rows x stride: NaN (poison kept) beyond the columns."""
    full = np.full((result.shape[0], stride), np.nan)
    full[:, : result.shape[1]] = result
    return full


# Philox 4x32-10 (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3"), first word.
def philox_word(seed, counter):
    mask = np.uint64(0xFFFFFFFF)
    c = [counter.astype(np.uint64) & mask] + [np.zeros_like(counter, dtype=np.uint64)] * 3
    k = [np.uint64(seed & 0xFFFFFFFF), np.uint64((seed >> 32) & 0xFFFFFFFF)]
    for _ in range(10):
        p0, p1 = np.uint64(0xD2511F53) * c[0], np.uint64(0xCD9E8D57) * c[2]
        c = [(p1 >> np.uint64(32)) ^ c[1] ^ k[0], p1 & mask, (p0 >> np.uint64(32)) ^ c[3] ^ k[1], p0 & mask]
        k = [(k[0] + np.uint64(0x9E3779B9)) & mask, (k[1] + np.uint64(0xBB67AE85)) & mask]
    return c[0].astype(np.uint32)


def uniform(seed, counter):
    """The float in [0, 1) that tl.rand makes of the first word."""
    word = philox_word(seed, counter).astype(np.int32).astype(np.int64)
    return (np.where(word < 0, -word - 1, word).astype(np.float32) * np.float32(4.6566127342e-10)).astype(np.float64)


def erf(x):
    return np.vectorize(math.erf)(x)


def erfc(x):
    return np.vectorize(math.erfc)(x)


def vector_add(rng, dtype, n, block=256):
    make = (lambda: array(rng.integers(-1000, 1000, n), dtype)) if dtype in ("i32", "i64") else (
        lambda: array(rng.standard_normal(n), dtype))
    return Case(f"vector_add-{dtype}-{n}", "vector_add.tile", "vector_add",
                {"a_ptr": make(), "b_ptr": make(), "c_ptr": output(n, dtype), "n": n},
                {"BLOCK": block}, (-(-n // block),), lambda v: {"c_ptr": v["a_ptr"] + v["b_ptr"]})


def gelu(rng, dtype, n, tanh):
    def reference(v):
        x = v["x_ptr"]
        if tanh:
            return {"y_ptr": 0.5 * x * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))}
        return {"y_ptr": 0.5 * x * (1 + erf(x / math.sqrt(2)))}

    return Case(f"gelu-{'tanh' if tanh else 'erf'}-{dtype}-{n}", "gelu.tile", "gelu",
                {"x_ptr": array(rng.standard_normal(n) * 3, dtype), "y_ptr": output(n, dtype), "n": n},
                {"TANH": tanh, "BLOCK": 512}, (-(-n // 512),), reference)


def one_and_erf():
    """Sums and differences of 1 and erf, over all sizes and signs: 2.2 * 2^-23 with the 2 ulp that ex2.approx may err by."""
    rng = np.random.default_rng(21)
    special = [0.0, -0.0, np.inf, -np.inf, 1e-40, -1e-40, 3e38, -3e38]
    x = np.concatenate([np.linspace(-9, 9, 12000), 2.0 ** rng.uniform(-149, 20, 1000) * rng.choice([-1, 1], 1000), special])
    bound = (0, 2.2 * 2.0**-23)
    return Case("one_and_erf", "../tests/codegen/one_and_erf.tile", "one_and_erf",
                {"x_ptr": array(x, "fp32"), "sum_ptr": output(x.size, "fp32"), "difference_ptr": output(x.size, "fp32"), "n": x.size},
                {"BLOCK": 512}, (-(-x.size // 512),), lambda v: {"sum_ptr": 1 + erf(v["x_ptr"]), "difference_ptr": 1 - erf(0.5 * v["x_ptr"])},
                tolerance={"sum_ptr": bound, "difference_ptr": bound})


def gelu_rounded(kernel, outputs):
    """Over all sizes and signs, as docs/language.md has it: 2^-22 of x in fp32, where ex2.approx may err by 2 ulp; rounded, half a
    unit of the last place and 2^-15 of the result or 2^-25 of x."""
    rng = np.random.default_rng(22)
    special = [0.0, -0.0, np.inf, 1e-40, -1e-40, 3e38, -3e38]
    x = np.concatenate([np.linspace(-9, 9, 24000), 2.0 ** rng.uniform(-149, 20, 2000) * rng.choice([-1, 1], 2000), special])
    args = {"x_ptr": array(x, "fp32")} | {name: output(x.size, dtype) for name, dtype in outputs.items()} | {"n": x.size}
    values = args["x_ptr"].values

    def exact(v):
        x = v["x_ptr"]
        return 0.5 * x * erfc(-x / math.sqrt(2))

    def expected(v, dtype):
        y = exact(v)
        return np.where(np.abs(y) >= 65520, np.copysign(np.inf, y), y) if dtype == "fp16" else y

    def bound(dtype):
        size, y = np.abs(np.where(np.isinf(values), 0, values)), np.abs(exact({"x_ptr": np.where(np.isinf(values), 0, values)}))
        if dtype == "fp32":
            return size * 2.0**-22 + 2.0**-149
        digits, least = {"fp16": (10, -14), "bf16": (7, -126)}[dtype]
        with np.errstate(divide="ignore"):
            ulp = 2.0 ** (np.maximum(np.floor(np.log2(y)), least) - digits)
        return 0.5 * ulp + np.maximum(2.0**-15 * y, 2.0**-25 * size)

    return Case(f"gelu_{kernel}", "../tests/codegen/gelu_rounded.tile", kernel, args, {"BLOCK": 512}, (-(-x.size // 512),),
                lambda v: {name: expected(v, dtype) for name, dtype in outputs.items()},
                tolerance={name: (0, bound(dtype)) for name, dtype in outputs.items()})


def silu_mul(rng, dtype, rows, cols, pad=8):
    def reference(v):
        x = v["x_ptr"]
        gate, up = x[:, :cols], x[:, cols : 2 * cols]
        return {"y_ptr": padded(gate / (1 + np.exp(-gate)) * up, cols + pad)}

    return Case(f"silu_mul-{dtype}-{rows}x{cols}+{pad}", "silu_mul.tile", "silu_mul",
                {"x_ptr": matrix(rng, rows, 2 * cols, 2 * cols + 16, dtype, 3), "y_ptr": output((rows, cols + pad), dtype),
                 "x_stride": 2 * cols + 16, "y_stride": cols + pad, "cols": cols},
                {"BLOCK": 128}, (rows, -(-cols // 128)), reference)


def row_softmax(x):
    e = np.exp(x - x.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)


def softmax(rng, kernel, dtype, rows, cols, pad=16, block=None):
    stride = cols + pad
    return Case(f"{kernel}-{dtype}-{rows}x{cols}+{pad}", "softmax.tile" if kernel == "softmax" else "softmax_wide.tile",
                kernel,
                {"x_ptr": matrix(rng, rows, cols, stride, dtype, 4), "y_ptr": output((rows, stride), dtype),
                 "x_stride": stride, "y_stride": stride, "cols": cols},
                {"BLOCK": block or next_power_of_2(cols)}, (rows,),
                lambda v: {"y_ptr": padded(row_softmax(v["x_ptr"][:, :cols]), stride)})


def layernorm(rng, dtype, rows, cols, pad=16):
    stride = cols + pad

    def reference(v):
        x = v["x_ptr"][:, :cols]
        mean = x.mean(axis=1)
        rstd = 1 / np.sqrt(x.var(axis=1) + 1e-5)
        y = (x - mean[:, None]) * rstd[:, None] * v["w_ptr"] + v["b_ptr"]
        return {"y_ptr": padded(y, stride), "mean_ptr": mean, "rstd_ptr": rstd}

    return Case(f"layernorm-{dtype}-{rows}x{cols}+{pad}", "layernorm.tile", "layernorm",
                {"x_ptr": matrix(rng, rows, cols, stride, dtype), "y_ptr": output((rows, stride), dtype),
                 "w_ptr": array(rng.standard_normal(cols), dtype), "b_ptr": array(rng.standard_normal(cols), dtype),
                 "mean_ptr": output(rows, "fp32"), "rstd_ptr": output(rows, "fp32"),
                 "stride": stride, "cols": cols, "eps": 1e-5},
                {"BLOCK": next_power_of_2(cols)}, (rows,), reference)


def layernorm_backward(rng, dtype, rows, cols, programs, pad=16):
    stride = cols + pad
    x, dy = matrix(rng, rows, cols, stride, dtype), matrix(rng, rows, cols, stride, dtype)
    xv = x.values[:, :cols]
    mean, rstd = xv.mean(axis=1), 1 / np.sqrt(xv.var(axis=1) + 1e-5)

    def reference(v):
        x_hat = (v["x_ptr"][:, :cols] - v["mean_ptr"][:, None]) * v["rstd_ptr"][:, None]
        dyv = v["dy_ptr"][:, :cols]
        wdy = dyv * v["w_ptr"]
        c1, c2 = (x_hat * wdy).mean(axis=1, keepdims=True), wdy.mean(axis=1, keepdims=True)
        dx = (wdy - x_hat * c1 - c2) * v["rstd_ptr"][:, None]
        part = lambda a: np.stack([a[p::programs].sum(axis=0) for p in range(programs)])
        return {"dx_ptr": padded(dx, stride), "dw_part_ptr": part(dyv * x_hat), "db_part_ptr": part(dyv)}

    return Case(f"layernorm_backward-{dtype}-{rows}x{cols}", "layernorm.tile", "layernorm_backward",
                {"dx_ptr": output((rows, stride), dtype), "dy_ptr": dy, "dw_part_ptr": output((programs, cols), "fp32"),
                 "db_part_ptr": output((programs, cols), "fp32"), "x_ptr": x,
                 "w_ptr": array(rng.standard_normal(cols), dtype), "mean_ptr": array(mean, "fp32"),
                 "rstd_ptr": array(rstd, "fp32"), "stride": stride, "rows": rows, "cols": cols},
                {"BLOCK": next_power_of_2(cols)}, (programs,), reference)


def layernorm_backward_sum(rng, parts, cols):
    return Case(f"layernorm_backward_sum-{parts}x{cols}", "layernorm.tile", "layernorm_backward_sum",
                {"dw_part_ptr": array(rng.standard_normal((parts, cols)), "fp32"),
                 "db_part_ptr": array(rng.standard_normal((parts, cols)), "fp32"),
                 "dw_ptr": output(cols, "fp32"), "db_ptr": output(cols, "fp32"), "parts": parts, "cols": cols},
                {"BLOCK_PARTS": 32, "BLOCK_COLS": 64}, (-(-cols // 64),),
                lambda v: {"dw_ptr": v["dw_part_ptr"].sum(axis=0), "db_ptr": v["db_part_ptr"].sum(axis=0)},
                tolerance={"dw_ptr": (2e-5, 1e-4), "db_ptr": (2e-5, 1e-4)})


def rmsnorm(rng, dtype, rows, cols, pad=16):
    stride = cols + pad

    def reference(v):
        x = v["x_ptr"][:, :cols]
        return {"y_ptr": padded(x / np.sqrt((x**2).mean(axis=1, keepdims=True) + 1e-6) * v["w_ptr"], stride)}

    return Case(f"rmsnorm-{dtype}-{rows}x{cols}+{pad}", "rmsnorm.tile", "rmsnorm",
                {"x_ptr": matrix(rng, rows, cols, stride, dtype), "y_ptr": output((rows, stride), dtype),
                 "w_ptr": array(rng.standard_normal(cols), dtype), "stride": stride, "cols": cols, "eps": 1e-6},
                {"BLOCK": next_power_of_2(cols)}, (rows,), reference)


def dropout_layernorm(rng, dtype, rows, cols, p, seed, pad=16):
    stride = cols + pad

    def reference(v):
        counter = np.arange(rows)[:, None] * cols + np.arange(cols)[None, :]
        keep = uniform(seed, counter) > np.float32(p)
        z = v["residual_ptr"][:, :cols] + np.where(keep, v["x_ptr"][:, :cols] / (1 - p), 0.0)
        mean = z.mean(axis=1, keepdims=True)
        y = (z - mean) / np.sqrt(z.var(axis=1, keepdims=True) + 1e-5) * v["w_ptr"] + v["b_ptr"]
        return {"z_ptr": padded(z, stride), "y_ptr": padded(y, stride)}

    return Case(f"dropout_layernorm-{dtype}-{rows}x{cols}", "dropout_layernorm.tile", "dropout_layernorm",
                {"x_ptr": matrix(rng, rows, cols, stride, dtype), "residual_ptr": matrix(rng, rows, cols, stride, dtype),
                 "w_ptr": array(rng.standard_normal(cols), dtype), "b_ptr": array(rng.standard_normal(cols), dtype),
                 "z_ptr": output((rows, stride), dtype), "y_ptr": output((rows, stride), dtype),
                 "stride": stride, "cols": cols, "p": p, "eps": 1e-5, "seed": seed},
                {"BLOCK": next_power_of_2(cols)}, (rows,), reference)


def cross_entropy(rng, dtype, target_dtype, rows, classes, pad=16):
    stride = classes + pad
    target = rng.integers(0, classes, rows)
    target[:: max(2, rows // 3)] = -100

    def reference(v):
        x = v["x_ptr"][:, :classes]
        top = x.max(axis=1)
        lse = top + np.log(np.exp(x - top[:, None]).sum(axis=1))
        t = v["target_ptr"]
        picked = x[np.arange(rows), np.where(t < 0, 0, t)]
        return {"loss_ptr": np.where(t == -100, 0.0, lse - picked), "lse_ptr": lse}

    return Case(f"cross_entropy-{dtype}-{target_dtype}-{rows}x{classes}", "cross_entropy.tile", "cross_entropy",
                {"x_ptr": matrix(rng, rows, classes, stride, dtype, 3), "target_ptr": array(target, target_dtype),
                 "loss_ptr": output(rows, "fp32"), "lse_ptr": output(rows, "fp32"), "stride": stride,
                 "classes": classes, "ignore_index": -100},
                {"BLOCK": 1024}, (rows,), reference)


def cross_entropy_backward(rng, dtype, rows, classes, pad=16):
    stride = classes + pad
    x = matrix(rng, rows, classes, stride, dtype, 3)
    xv = x.values[:, :classes]
    lse = np.log(np.exp(xv).sum(axis=1))
    target = rng.integers(0, classes, rows)
    target[1] = -100

    def reference(v):
        t = v["target_ptr"]
        p = np.exp(v["x_ptr"][:, :classes] - v["lse_ptr"][:, None])
        p[np.arange(rows), np.where(t < 0, 0, t)] -= 1
        return {"dx_ptr": padded(p * np.where(t == -100, 0.0, v["dloss_ptr"])[:, None], stride)}

    return Case(f"cross_entropy_backward-{dtype}-{rows}x{classes}", "cross_entropy.tile", "cross_entropy_backward",
                {"x_ptr": x, "dx_ptr": output((rows, stride), dtype), "target_ptr": array(target, "i32"),
                 "lse_ptr": array(lse, "fp32"), "dloss_ptr": array(rng.standard_normal(rows), "fp32"),
                 "stride": stride, "classes": classes, "ignore_index": -100},
                {"BLOCK": 1024}, (rows, -(-classes // 1024)), reference)


def reduce_rows(rng, dtype, rows, cols, pad=16):
    stride = cols + pad
    return Case(f"reduce_sum_rows-{dtype}-{rows}x{cols}", "reduce_sum.tile", "reduce_sum_rows",
                {"x_ptr": matrix(rng, rows, cols, stride, dtype), "y_ptr": output(rows, "fp32"), "stride": stride,
                 "cols": cols}, {"BLOCK": 1024}, (rows,),
                lambda v: {"y_ptr": v["x_ptr"][:, :cols].sum(axis=1)}, tolerance={"y_ptr": (2e-5, 2e-4)})


def reduce_columns(rng, dtype, rows, cols, pad=16):
    stride = cols + pad
    return Case(f"reduce_sum_columns-{dtype}-{rows}x{cols}", "reduce_sum.tile", "reduce_sum_columns",
                {"x_ptr": matrix(rng, rows, cols, stride, dtype), "y_ptr": output(cols, "fp32"), "stride": stride,
                 "rows": rows, "cols": cols}, {"BLOCK_ROWS": 32, "BLOCK_COLS": 64}, (-(-cols // 64),),
                lambda v: {"y_ptr": v["x_ptr"][:, :cols].sum(axis=0)}, tolerance={"y_ptr": (2e-5, 2e-4)})


def reduce_all(rng, dtype, n, programs):
    return Case(f"reduce_sum-{dtype}-{n}", "reduce_sum.tile", "reduce_sum",
                {"x_ptr": array(rng.standard_normal(n), dtype), "y_ptr": output(1, "fp32", 2.5), "n": n},
                {"BLOCK": 1024}, (programs,), lambda v: {"y_ptr": np.array([2.5 + v["x_ptr"].sum()])},
                tolerance={"y_ptr": (1e-4, 1e-3)})


def transpose(rng, dtype, rows, cols, block=(64, 64), pad=8):
    return Case(f"transpose-{dtype}-{rows}x{cols}-{block[0]}x{block[1]}", "transpose.tile", "transpose",
                {"x_ptr": matrix(rng, rows, cols, cols + pad, dtype), "y_ptr": output((cols, rows + pad), dtype),
                 "x_stride": cols + pad, "y_stride": rows + pad, "rows": rows, "cols": cols},
                {"BLOCK_ROWS": block[0], "BLOCK_COLS": block[1]}, (-(-rows // block[0]), -(-cols // block[1])),
                lambda v: {"y_ptr": padded(v["x_ptr"][:, :cols].T, rows + pad)})


def all_cases(large):
    """Small shapes everywhere; `large` adds those that want a GPU."""
    import dot_cases

    return row_cases(large) + dot_cases.all_cases(large)


def row_cases(large):
    rng = np.random.default_rng(20)
    cases = []
    for dtype in FLOATS:
        cases += [vector_add(rng, dtype, 4096), vector_add(rng, dtype, 1037)]
        cases += [gelu(rng, dtype, 2048, True), gelu(rng, dtype, 1999, False)]
        cases += [silu_mul(rng, dtype, 3, 256), silu_mul(rng, dtype, 2, 333)]
        for rows, cols in ((5, 256), (3, 1000), (2, 77), (3, 1), (2, 4096)):
            cases.append(softmax(rng, "softmax", dtype, rows, cols))
        cases.append(softmax(rng, "softmax", dtype, 3, 513, pad=3))
        for kernel in ("softmax_three_pass", "softmax_online", "softmax_two_pass"):
            cases += [softmax(rng, kernel, dtype, 2, 3000, block=1024), softmax(rng, kernel, dtype, 3, 129, block=256)]
        cases += [layernorm(rng, dtype, 3, 256), layernorm(rng, dtype, 2, 1000), layernorm(rng, dtype, 2, 4096)]
        cases += [layernorm_backward(rng, dtype, 9, 256, 4), layernorm_backward(rng, dtype, 5, 777, 2)]
        cases += [rmsnorm(rng, dtype, 4, 512), rmsnorm(rng, dtype, 2, 1111)]
        cases += [dropout_layernorm(rng, dtype, 3, 512, 0.3, 1234), dropout_layernorm(rng, dtype, 2, 999, 0.1, 7)]
        cases += [cross_entropy(rng, dtype, "i64", 5, 3001), cross_entropy_backward(rng, dtype, 4, 2500)]
        cases += [reduce_rows(rng, dtype, 3, 2500), reduce_columns(rng, dtype, 100, 150), reduce_all(rng, dtype, 10000, 4)]
        cases += [transpose(rng, dtype, 100, 130), transpose(rng, dtype, 64, 128), transpose(rng, dtype, 33, 40, (32, 128))]
    cases += [vector_add(rng, "i32", 1000), vector_add(rng, "i64", 999), cross_entropy(rng, "fp32", "i32", 4, 500)]
    cases += [layernorm_backward_sum(rng, 70, 130), one_and_erf()]
    cases += [gelu_rounded("kept", {"y_ptr": "fp32"}), gelu_rounded("rounded", {"half_ptr": "fp16", "brain_ptr": "bf16"}),
              gelu_rounded("both", {"y_ptr": "fp32", "half_ptr": "fp16"})]
    if large:
        for dtype in FLOATS:
            cases += [vector_add(rng, dtype, 1 << 20, 1024), softmax(rng, "softmax", dtype, 513, 256, pad=0)]
            for cols in (1024, 4096, 8192, 16384, 32768, 30000):
                cases += [softmax(rng, "softmax", dtype, 37, cols, pad=0), layernorm(rng, dtype, 37, cols, pad=0)]
            cases += [softmax(rng, "softmax_online", dtype, 5, 100000, block=4096),
                      softmax(rng, "softmax_two_pass", dtype, 5, 100000, block=4096),
                      layernorm_backward(rng, dtype, 300, 4096, 64), rmsnorm(rng, dtype, 64, 8192),
                      dropout_layernorm(rng, dtype, 64, 4096, 0.2, 2**40 + 5), cross_entropy(rng, dtype, "i64", 64, 50257),
                      reduce_columns(rng, dtype, 3000, 1000), reduce_all(rng, dtype, 1 << 20, 132),
                      transpose(rng, dtype, 1000, 1100)]
    return cases
