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


def inverse_erfc(q):
    """The y with erfc(y) = q, by Newton's method from where its logarithm is nearly a parabola."""
    if q > 1:
        return -inverse_erfc(2 - q)
    y = mp.sqrt(-mp.log(q)) * mp.mpf("0.9") if q < 0.5 else mp.mpf("0.3")
    for _ in range(200):
        slope = -2 / mp.sqrt(mp.pi) * mp.exp(-y * y) / mp.erfc(y)
        step = (mp.log(mp.erfc(y)) - mp.log(q)) / slope
        y -= step
        if abs(step) < mp.mpf(10) ** -40:
            break
    return y


def log_gamma(x):
    return mp.loggamma(x).real if x > 0 else mp.log(mp.pi / abs(x * mp.sinpi(x))) - mp.loggamma(-x).real


# name: function, intervals of arguments
FUNCTIONS = {
    "erfc": (mp.erfc, [(-6, 6), (0, 28), (-0.01, 0.01)]),
    "erfcx": (erfcx, [(-27, 27), (-1, 3), (0, 1e5)]),
    "normcdf": (mp.ncdf, [(-38, 9), (-3, 3)]),
    "erfinv": (mp.erfinv, [(-1, 1), (-0.01, 0.01), (0.99, 1)]),
    "erfcinv": (inverse_erfc, [(0, 2), (0, 0.01), (0, 1e-30)]),
    "normcdfinv": (lambda p: -mp.sqrt(2) * inverse_erfc(2 * p), [(0, 1), (0, 0.01), (0, 1e-30)]),
    "lgamma": (log_gamma, [(0, 10), (-2, 3), (10, 1000), (-100, -23.1)]),
    "tgamma": (mp.gamma, [(0, 10), (-5, 3), (0, 172), (-180, 0)]),
    "cyl_bessel_i0": (lambda x: mp.besseli(0, x), [(-10, 10), (0, 700)]),
    "cyl_bessel_i1": (lambda x: mp.besseli(1, x), [(-10, 10), (0, 700)]),
    "j0": (lambda x: mp.besselj(0, x), [(-8, 8), (2.404, 2.406), (5.52, 5.521), (8, 1000)]),
    "j1": (lambda x: mp.besselj(1, x), [(-8, 8), (3.831, 3.832), (7.015, 7.016), (8, 1000)]),
    "y0": (lambda x: mp.bessely(0, x), [(0, 8), (0, 0.1), (8, 1000)]),
    "y1": (lambda x: mp.bessely(1, x), [(0, 8), (0, 0.1), (8, 1000)]),
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
