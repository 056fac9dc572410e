#!/usr/bin/env python3
"""Writes references.txt anew, with a Python that has mpmath: values of functions that NumPy has not in more than float64.

    references.py > references.txt

A line: function, argument, and the value as the sum of two floats; half of the arguments are fp32."""
import math
import struct

import mpmath as mp
import numpy as np

POINTS = 160


def erfcx(x):
    """exp(x^2) erfc(x)."""
    if x < -30:
        return mp.inf
    if x > 30:
        terms, term = mp.mpf(1), mp.mpf(1)
        for k in range(1, 20):
            term *= -(2 * k - 1) / (2 * x * x)
            terms += term
        return terms / (x * mp.sqrt(mp.pi))
    with mp.workdps(60 + int(x * x)):
        return mp.exp(x * x) * mp.erfc(x)


# name: function, intervals of arguments
FUNCTIONS = {
    "erfc": (mp.erfc, [(-6, 6), (0, 28), (-0.01, 0.01)]),
    "erfcx": (erfcx, [(-27, 27), (-1, 3), (0, 1e5)]),
    "normcdf": (mp.ncdf, [(-38, 9), (-3, 3)]),
}


def written(value):
    if not mp.isfinite(value):
        return f"{float(value).hex()} 0x0p+0"
    high = float(value)
    if math.isinf(high):
        return f"{high.hex()} 0x0p+0"
    return f"{high.hex()} {float(value - mp.mpf(high)).hex()}"


def main():
    mp.mp.dps = 50
    numbers = np.random.default_rng(0)
    print("# references.py: function, argument, value as the sum of two")
    for name, (function, intervals) in FUNCTIONS.items():
        for low, high in intervals:
            for i in range(POINTS // len(intervals)):
                x = float(numbers.uniform(low, high))
                x = struct.unpack("f", struct.pack("f", x))[0] if i % 2 else x
                print(name, x.hex(), written(function(mp.mpf(x))))


if __name__ == "__main__":
    main()
