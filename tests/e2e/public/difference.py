"""How far two results of a kernel are apart, in units of what their type tolerates."""
import numpy as np

from corpus import FLOATS, decode

# Of an element, relative to its magnitude plus the root mean square of all elements written, by the arithmetic of the kernel: sums are taken in
# any order; a difference of one unit makes the tensor core cut another tf32, and the conversion to a narrow type round the other way.
TOLERANCE = {
    "plain": {"fp64": 1e-11, "fp32": 5e-5, "fp16": 2e-3, "bf16": 1.6e-2, "fp8e4nv": 0.13, "fp8e5": 0.26},
    "products": {"fp64": 1e-11, "fp32": 1e-3, "fp16": 2e-3, "bf16": 1.6e-2, "fp8e4nv": 0.13, "fp8e5": 0.26},
    "narrow": {"fp64": 5e-3, "fp32": 5e-3, "fp16": 1e-2, "bf16": 3e-2, "fp8e4nv": 0.15, "fp8e5": 0.3},
}
NOT_EQUAL = 100.0  # of integers that differ, and of a NaN or infinity on one side alone


def error(first, second, start, dtype, arithmetic):
    """The worst element of two arrays as a multiple of the tolerance: 0 where all bits agree. `start` is what the arrays held before."""
    bits = f"u{first.dtype.itemsize}"
    x, y, before = first.view(bits).ravel(), second.view(bits).ravel(), start.view(bits).ravel()
    apart = np.flatnonzero(x != y)
    if not apart.size:
        return 0.0
    if dtype not in FLOATS:
        return NOT_EQUAL
    written = (x != before) | (y != before)
    with np.errstate(all="ignore"):
        every = decode(first.ravel()[written], dtype)
        finite = every[np.isfinite(every)]
        scale = float(np.sqrt(np.mean(np.square(finite)))) if finite.size else 0.0
        u, v = decode(first.ravel()[apart], dtype), decode(second.ravel()[apart], dtype)
        same = (u == v) | (np.isnan(u) & np.isnan(v))
        u, v = u[~same], v[~same]
        if not (np.isfinite(u) & np.isfinite(v)).all():
            return NOT_EQUAL
        return float(np.max(np.abs(u - v) / (scale + np.abs(u) + 1e-300), initial=0.0)) / TOLERANCE[arithmetic][dtype]


def worst(first, second, start, arithmetic):
    """(error, parameter) of the array that is furthest apart; `first` and `second`: parameter -> elements, `start`: -> (type, elements)."""
    return max(((error(first[n], second[n], a, t, arithmetic), n) for n, (t, a) in start.items()), default=(0.0, ""))
