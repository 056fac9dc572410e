"""Kernels whose results NumPy gives bit for bit: conversions between floats, order and NaN."""
import triton
import triton.language as tl


@triton.jit
def convert(x_ptr, f16_ptr, bf16_ptr, e4m3_ptr, e5m2_ptr, ROUNDING: tl.constexpr, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at)
    if x.dtype == tl.float32:
        tl.store(f16_ptr + at, x.to(tl.float16, fp_downcast_rounding=ROUNDING))
        tl.store(bf16_ptr + at, x.to(tl.bfloat16, fp_downcast_rounding=ROUNDING))
    tl.store(e4m3_ptr + at, x.to(tl.float8e4nv, fp_downcast_rounding=ROUNDING))
    tl.store(e5m2_ptr + at, x.to(tl.float8e5, fp_downcast_rounding=ROUNDING))


# As `convert` of an f32, of constants.
@triton.jit
def convert_constants(f16_ptr, bf16_ptr, e4m3_ptr, e5m2_ptr, ROUNDING: tl.constexpr, VALUES: tl.constexpr):
    for i in tl.static_range(len(VALUES)):
        x = tl.full([1], VALUES[i], tl.uint32).to(tl.float32, bitcast=True)
        at = i + tl.arange(0, 1)
        tl.store(f16_ptr + at, x.to(tl.float16, fp_downcast_rounding=ROUNDING))
        tl.store(bf16_ptr + at, x.to(tl.bfloat16, fp_downcast_rounding=ROUNDING))
        tl.store(e4m3_ptr + at, x.to(tl.float8e4nv, fp_downcast_rounding=ROUNDING))
        tl.store(e5m2_ptr + at, x.to(tl.float8e5, fp_downcast_rounding=ROUNDING))


# Every f8 as f32: loaded, and for E5M2 from constants.
@triton.jit
def widen(e4m3_ptr, e5m2_ptr, e4m3_out, e5m2_out, constants_out, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    tl.store(e4m3_out + at, tl.load(e4m3_ptr + at).to(tl.float32))
    tl.store(e5m2_out + at, tl.load(e5m2_ptr + at).to(tl.float32))
    for i in tl.static_range(0x78, 0x80):
        constant = tl.full([1], i, tl.uint8).to(tl.float8e5, bitcast=True)
        tl.store(constants_out + (i - 0x78) + tl.arange(0, 1), constant.to(tl.float32))


@triton.jit
def extremes(x_ptr, max_ptr, argmax_ptr, min_ptr, argmin_ptr, whole_ptr, any_ptr, M: tl.constexpr, N: tl.constexpr, AXIS: tl.constexpr):
    rows, columns = tl.arange(0, M)[:, None], tl.arange(0, N)[None, :]
    x = tl.load(x_ptr + rows * N + columns)
    left: tl.constexpr = N if AXIS == 0 else M
    at = tl.arange(0, left)
    largest, largest_at = tl.max(x, AXIS, return_indices=True)
    smallest, smallest_at = tl.min(x, AXIS, return_indices=True)
    tl.store(max_ptr + at, largest)
    tl.store(argmax_ptr + at, largest_at)
    tl.store(min_ptr + at, smallest)
    tl.store(argmin_ptr + at, smallest_at)
    tl.store(whole_ptr + at, tl.max(x, AXIS))
    tl.store(whole_ptr + left + at, tl.min(x, AXIS))
    tl.store(any_ptr + at, tl.argmax(x, AXIS, tie_break_left=False))
    tl.store(any_ptr + left + at, tl.argmin(x, AXIS, tie_break_left=False))


@triton.jit
def order(x_ptr, y_ptr, z_ptr, out_ptr, LIMIT: tl.constexpr, PROPAGATE: tl.constexpr, BLOCK: tl.constexpr):
    nan: tl.constexpr = tl.PropagateNan.ALL if PROPAGATE else tl.PropagateNan.NONE
    at = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at)
    y = tl.load(y_ptr + at)
    z = tl.load(z_ptr + at)
    tl.store(out_ptr + at, tl.maximum(x, y, propagate_nan=nan))
    tl.store(out_ptr + BLOCK + at, tl.minimum(x, y, propagate_nan=nan))
    tl.store(out_ptr + 2 * BLOCK + at, tl.clamp(x, y, z, propagate_nan=nan))
    tl.store(out_ptr + 3 * BLOCK + at, tl.clamp(x, -z, z, propagate_nan=nan))
    tl.store(out_ptr + 4 * BLOCK + at, tl.clamp(x, -LIMIT, LIMIT, propagate_nan=nan))
    tl.store(out_ptr + 5 * BLOCK + at, tl.clamp(x, -1.0, LIMIT, propagate_nan=nan))


# The same on constants, one by one.
@triton.jit
def order_constants(out_ptr, XS: tl.constexpr, YS: tl.constexpr, LIMIT: tl.constexpr, PROPAGATE: tl.constexpr, BLOCK: tl.constexpr):
    nan: tl.constexpr = tl.PropagateNan.ALL if PROPAGATE else tl.PropagateNan.NONE
    for i in tl.static_range(len(XS)):
        at = i + tl.arange(0, 1)
        x = tl.full([1], XS[i], tl.float32)
        y = tl.full([1], YS[i], tl.float32)
        tl.store(out_ptr + at, tl.maximum(x, y, propagate_nan=nan))
        tl.store(out_ptr + BLOCK + at, tl.minimum(x, y, propagate_nan=nan))
        tl.store(out_ptr + 2 * BLOCK + at, tl.clamp(x, -LIMIT, LIMIT, propagate_nan=nan))
        tl.store(out_ptr + 3 * BLOCK + at, tl.clamp(x, -1.0, LIMIT, propagate_nan=nan))
