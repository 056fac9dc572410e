"""How far results may lie from the simulator's, which are those of exact functions, rounded once (PTX ISA 9.0,
Floating-Point Instructions: the maximum error of each approximate instruction)."""
import numpy as np

from operands import FLOATS, PAIRS, decode


def units(got, want, dtype):
    """Distance in units of the last place of `want`."""
    exponent, mantissa = FLOATS[dtype]
    least = 2 - (1 << (exponent - 1))
    with np.errstate(all="ignore"):
        place = np.maximum(np.floor(np.log2(np.where(want == 0, 1e-320, np.abs(want)))), least) - mantissa
        return np.abs(got - want) / 2.0 ** place


def relative(limit):
    def bound(got, want, dtype, inputs):
        exponent, mantissa = FLOATS[dtype]
        smallest = 2.0 ** (2 - (1 << (exponent - 1)) - mantissa) if dtype != "f64" else 5e-324
        return np.maximum((limit + 2.0 ** -(mantissa + 1)) * np.abs(want), smallest)
    return bound


def absolute(limit):
    def bound(got, want, dtype, inputs):
        return limit + 2.0 ** -(FLOATS[dtype][1] + 1) * np.abs(want)
    return bound


def last_places(count):
    def bound(got, want, dtype, inputs):
        exponent, mantissa = FLOATS[dtype]
        least = 2 - (1 << (exponent - 1))
        with np.errstate(all="ignore"):
            place = np.maximum(np.floor(np.log2(np.where(want == 0, 1e-320, np.abs(want)))), least) - mantissa
        return (count + 0.5) * 2.0 ** place
    return bound


def at_overflow(got, want, rule, inputs):
    """Of div.approx and div.full: where the quotient lies within 2 ulp of the overflow to infinity, so that one side is
    infinite and the other has one of the two largest numbers."""
    if rule not in ("div.approx", "div.full"):
        return np.zeros(got.shape, bool)
    limit, place = 2.0 ** 128, 2.0 ** 104
    near = np.abs(np.abs(inputs[0] / inputs[1]) - limit) <= 2 * place
    smaller = np.minimum(np.abs(got), np.abs(want))
    return near & (np.isinf(got) != np.isinf(want)) & (smaller >= limit - 2 * place) & (np.sign(got) == np.sign(want))


def trigonometric(got, want, dtype, inputs):
    """2^-20.5 up to two turns around zero, 2^-14.7 up to 100 pi; beyond that none is stated."""
    x = np.abs(inputs[0])
    with np.errstate(invalid="ignore"):
        limit = np.where(x <= 2 * np.pi, 2.0 ** -20.5, np.where(x <= 100 * np.pi, 2.0 ** -14.7, 2.0))
    return limit + 2.0 ** -24


def logarithm(got, want, dtype, inputs):
    x = inputs[0]
    near = (x > 0.5) & (x < 2)
    return np.where(near, 2.0 ** -22, 2.0 ** -22 * np.abs(want)) + 2.0 ** -24 * np.abs(want)


BOUNDS = {
    ("div.approx", "f32"): (last_places(2), "2 ulp"), ("div.full", "f32"): (last_places(2), "2 ulp"),
    ("rcp.approx", "f32"): (last_places(1), "1 ulp"), ("sqrt.approx", "f32"): (relative(2.0 ** -23), "2^-23 relative"),
    ("rsqrt.approx", "f32"): (relative(2.0 ** -22.9), "2^-22.9 relative"),
    ("sin.approx", "f32"): (trigonometric, "2^-20.5 to 2 pi, 2^-14.7 to 100 pi"),
    ("cos.approx", "f32"): (trigonometric, "2^-20.5 to 2 pi, 2^-14.7 to 100 pi"),
    ("lg2.approx", "f32"): (logarithm, "2^-22, relative outside 0.5 to 2"),
    ("ex2.approx", "f32"): (last_places(2), "2 ulp"), ("ex2.approx", "f16"): (relative(2.0 ** -9.9), "2^-9.9 relative"),
    ("ex2.approx", "bf16"): (relative(2.0 ** -7), "2^-7 relative"), ("tanh.approx", "f32"): (relative(2.0 ** -11), "2^-11 relative"),
    ("tanh.approx", "f16"): (absolute(2.0 ** -10.987), "2^-10.987"), ("tanh.approx", "bf16"): (absolute(2.0 ** -8), "2^-8"),
    ("rcp.approx", "f64"): (relative(2.0 ** -20), "2^-20 relative"), ("rsqrt.approx", "f64"): (relative(2.0 ** -20), "2^-20 relative"),
    # Sums of n products in f32 or f16 by tensor cores: the caller's check carries the terms' magnitudes as input 0.
    ("sum", "f32"): (lambda got, want, dtype, inputs: inputs[0], "accumulation"),
    ("sum", "f16"): (lambda got, want, dtype, inputs: inputs[0] + 2.0 ** -11 * np.abs(want), "accumulation, then rounding"),
    # Whole kernels that multiply matrices on tensor cores: sums of a hundred products of numbers of size 1.
    ("products", "f32"): (lambda got, want, dtype, inputs: 2e-5 * np.abs(want) + 1e-4, "1e-4"),
    ("products", "f16"): (lambda got, want, dtype, inputs: 2.0 ** -10 * np.abs(want) + 1e-4, "1 ulp, 1e-4"),
    ("products", "bf16"): (lambda got, want, dtype, inputs: 2.0 ** -7 * np.abs(want) + 1e-4, "1 ulp, 1e-4"),
    # Whole kernels that round what approximate functions gave to tf32, f16 or bf16 and multiply it: a unit of an exponential
    # may round it the other way. The bound is an eighth of the kernel's own against float64, inputs 0 (relative) and 1 (absolute).
    **{("rounded", dtype): (lambda got, want, dtype, inputs: (inputs[0] * np.abs(want) + inputs[1]) / 8, "1/8 of its error bound")
       for dtype in ("f32", "f16", "bf16")},
    # Whole kernels in which approximate functions or sums by tensor cores enter.
    ("kernel", "f32"): (lambda got, want, dtype, inputs: 2e-6 * np.abs(want) + 2e-6, "2e-6 absolute and relative"),
    ("kernel", "f16"): (lambda got, want, dtype, inputs: 2.0 ** -10 * np.abs(want) + 2e-6, "1 ulp"),
    ("kernel", "bf16"): (lambda got, want, dtype, inputs: 2.0 ** -7 * np.abs(want) + 2e-6, "1 ulp"),
}


def compare_numbers(got, want, dtype, rule, inputs):
    """(wrong, distance in units of the last place) of bits of one float type."""
    bound, _ = BOUNDS[rule, dtype]
    g, w = decode(got, dtype), decode(want, dtype)
    with np.errstate(all="ignore"):
        inside = np.abs(g - w) <= bound(g, w, dtype, inputs)
        fits = (got == want) | (np.isnan(g) & np.isnan(w)) | (inside & np.isfinite(g) & np.isfinite(w)) | at_overflow(g, w, rule, inputs)
        distance = np.where((got == want) | ~np.isfinite(g) | ~np.isfinite(w), 0, units(g, w, dtype))
    return ~fits, distance


def compare(got, want, check):
    """(different bits, outside the bound, largest distance within it, NaNs of different bits). Of a rule "exact"
    everything that differs is outside; NaNs of different bits count as different."""
    differs = got != want
    dtype = check.dtype
    element = PAIRS.get(dtype, dtype)
    if element not in FLOATS or not differs.any():
        return differs, differs if check.rule == "exact" else np.zeros_like(differs), 0.0, 0
    wide = 64 if element == "f64" else {"f32": 32, "tf32": 32}.get(element, 16 if element in ("f16", "bf16") else 8)
    wrong, nans, largest = np.zeros_like(differs), np.zeros_like(differs), 0.0
    got, want = got.astype(np.uint64), want.astype(np.uint64)
    for shift in range(0, 2 * wide if dtype in PAIRS else wide, wide):
        part = np.uint64(shift)
        g, w = (v >> part & np.uint64((1 << wide) - 1) for v in (got, want))
        if check.rule == "exact":
            nans |= np.isnan(decode(g, element)) & np.isnan(decode(w, element)) & (g != w)
            continue
        numbers = [x if x.dtype == np.float64 else decode(x >> part & np.uint64((1 << wide) - 1), element) for x in check.inputs]
        outside, distance = compare_numbers(g, w, element, check.rule, numbers)
        wrong |= outside
        with np.errstate(invalid="ignore"):
            largest = max(largest, float(np.where(outside, 0, distance).max(initial=0.0)))
    return differs, differs if check.rule == "exact" else wrong, largest, int(nans.sum())
