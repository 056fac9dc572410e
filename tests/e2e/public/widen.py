"""A kernel and its arguments in float64: what both sides of a comparison approximate.

Every float type that the source names becomes tl.float64, and so do float arrays and scalars; the interpreter runs that. It is no reference for
a kernel that reads floats as bits or counts on the rounding of a narrow type."""
import copy
import re

import numpy as np

from corpus import FLOATS, decode

NARROW = re.compile(r"\b(tl|tl\.core|triton\.language)\.(float32|float16|bfloat16)\b")
NARROW_TYPES = ("fp32", "fp16", "bf16")


def widened_type(dtype):
    pointer, name = ("*", dtype[1:]) if dtype.startswith("*") else ("", dtype)
    return pointer + ("fp64" if name in NARROW_TYPES else name)


def widened(kernel, start, path):
    """The kernel in float64, its source written to `path`, and its arrays (parameter -> (type, elements))."""
    with open(kernel.path) as file:
        source = NARROW.sub(r"\1.float64", file.read())
    with open(path, "w") as file:
        file.write(source)
    wide = copy.copy(kernel)
    wide.path = path
    wide.signature = {n: widened_type(t) if isinstance(t, str) else t for n, t in kernel.signature.items()}
    wide.launch_constexprs = {n: {"dtype": "float64"} if isinstance(v, dict) and NARROW.match("tl." + v.get("dtype", "")) else v
                              for n, v in kernel.launch_constexprs.items()}
    arrays = {n: ("fp64", decode(a, t)) if t in NARROW_TYPES else (t, a) for n, (t, a) in start.items()}
    return wide, arrays


def distance(result, reference, start, wide):
    """(elements that are finite on one side alone, the root mean square of the others' error relative to the reference's), the worst array's.

    `result` and `start` are in the kernel's types, `reference` and `wide` in float64; None where nothing can be compared."""
    worst = None
    for n, (dtype, _) in start.items():
        if dtype not in FLOATS:
            continue
        written = reference[n] != wide[n][1]
        if not written.any():
            continue
        with np.errstate(all="ignore"):
            x, y = decode(result[n], dtype)[written], reference[n][written]
            finite = np.isfinite(x) & np.isfinite(y)
            scale = np.sqrt(np.mean(np.square(y[finite]))) if finite.any() else 0.0
            error = float(np.sqrt(np.mean(np.square(x[finite] - y[finite]))) / (scale + 1e-300)) if finite.any() else 0.0
        found = (int(np.count_nonzero(np.isfinite(x) != np.isfinite(y))), error)
        worst = found if worst is None or found > worst else worst
    return worst
