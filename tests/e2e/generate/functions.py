"""Functions of floats, with the errors that docs/codegen.md states."""
import math

import numpy as np

from formats import FORMATS
from table import operation
from values import Invalid, float_result

FLUSHED = 2.0**-126  # results of ex2 below are 0


def ulp(dtype, data):
    """The unit of the last place of each."""
    f = FORMATS[dtype]
    _, exponent = np.frexp(np.where(np.isfinite(data), data, 0))
    return np.ldexp(1.0, np.maximum(exponent, f.least + 1) - f.precision)


@operation("sqrt_rn", "tl.sqrt_rn({0})")
def _sqrt_rn(a):
    if a.dtype != "fp32":
        raise Invalid("a float of 32 bits is wanted")
    return float_result("fp32", np.sqrt(a.exact().data), 0, a.undef, special=(a.data < 0) | ~np.isfinite(a.data))


def _function(name, text, function, slope, error, inputs, zero=True):
    """`slope`: a bound of the derivative between x - e and x + e; `error`: the absolute error of fp32 and fp64 from (type,
    operand, result); `inputs`: between which that holds, all operands below if the lower one is not above 0. Infinities, NaN
    and, of functions of positive numbers, negative ones have IEEE's results; 0 too if `zero`."""

    @operation(name, text)
    def run(a):
        if a.dtype not in ("fp32", "fp64"):
            raise Invalid("floats of 32 or 64 bits are wanted")
        low, high = inputs[a.dtype] if isinstance(inputs, dict) else inputs
        some = 1.0 if low > 0 else 0.0
        data = np.where(a.undef, some, a.data) if a.undef is not None else a.data
        inside = (data - a.bound >= low) & (data + a.bound <= high)
        known = ~np.isfinite(data) | (low > 0) & ((data < 0) | (data == 0) & zero)
        if not (inside | known & (a.bound == 0)).all():
            raise Invalid("an operand without a bound")
        x, err = np.where(inside, data, some), np.where(inside, a.bound, 0.0)
        result = function(x)
        bound = slope(x, err) * err + error(a.dtype, x, result) + 2 * ulp("fp64", result)
        return float_result(a.dtype, np.where(inside, result, function(data)), np.where(inside, bound, 0.0), a.undef, special=~inside)


def _ulps(single, double=1.0):
    return lambda dtype, x, y: (single if dtype == "fp32" else double) * ulp(dtype, y)


def _exp_error(dtype, x, y):
    return (2 + 1.25 * np.abs(x)) * ulp(dtype, y) + FLUSHED if dtype == "fp32" else ulp(dtype, y)


def _exp2_error(dtype, x, y):
    return 2 * ulp(dtype, y) + FLUSHED if dtype == "fp32" else ulp(dtype, y)


def _sigmoid_error(dtype, x, y):
    """1 / (1 + exp(-x)): the exponential's error, a sum and a quotient."""
    exponential = np.exp(-x)
    return _exp_error(dtype, x, exponential) * y * y + 4 * ulp(dtype, y) + 2 * ulp(dtype, 1 + exponential) * y * y


ERF = np.vectorize(math.erf, otypes=[np.float64])
POSITIVE = {"fp32": (2.0**-100, 2.0**100), "fp64": (2.0**-900, 2.0**900)}
EXPONENTS = {"fp32": (-80.0, 80.0), "fp64": (-650.0, 650.0)}
SLOPE_OF_ERF = 2 / math.sqrt(math.pi)

_function("exp", "tl.exp({0})", np.exp, lambda x, e: np.exp(x + e), _exp_error, EXPONENTS)
_function("exp2", "tl.exp2({0})", np.exp2, lambda x, e: np.exp2(x + e), _exp2_error, EXPONENTS)
_function("log", "tl.log({0})", np.log, lambda x, e: 1 / (x - e), _ulps(1.0), POSITIVE)
_function("log2", "tl.log2({0})", np.log2, lambda x, e: 1.45 / (x - e), _ulps(1.0), POSITIVE)
_function("sqrt", "tl.sqrt({0})", np.sqrt, lambda x, e: 0.5 / np.sqrt(x - e), _ulps(1.0), POSITIVE)
_function("rsqrt", "tl.rsqrt({0})", lambda x: 1 / np.sqrt(x), lambda x, e: 0.5 * (x - e) ** -1.5, _ulps(1.0), POSITIVE, False)
_function("sin", "tl.sin({0})", np.sin, lambda x, e: 1.0, _ulps(2.0, 2.0), (-1e6, 1e6))
_function("cos", "tl.cos({0})", np.cos, lambda x, e: 1.0, _ulps(2.0, 2.0), (-1e6, 1e6))
_function("tanh", "tl.math.tanh({0})", np.tanh, lambda x, e: 1.0, _ulps(1.0, 2.0), (-1e30, 1e30))
_function("erf", "tl.math.erf({0})", ERF, lambda x, e: SLOPE_OF_ERF, _ulps(2.0, 2.0), (-1e30, 1e30))
_function("sigmoid", "tl.sigmoid({0})", lambda x: 1 / (1 + np.exp(-x)), lambda x, e: 0.25, _sigmoid_error, EXPONENTS)


def _of_erf(dtype, x):
    """1 +- erf(x), which may be one function: its absolute error."""
    return 2.2 * 2.0**-23 if dtype == "fp32" else 4 * 2.0**-52


_function("one_minus_erf", "1.0 - tl.math.erf({0})", lambda x: 1 - ERF(x), lambda x, e: SLOPE_OF_ERF, lambda t, x, y: _of_erf(t, x), (-1e30, 1e30))


def _gelu(x):
    return 0.5 * x * (1 + ERF(x * math.sqrt(0.5)))


def _gelu_error(dtype, x, y):
    """As of one function, 2**-22 of x; where all that take it round it to 16 bits, 2**-15 of the result or 2**-25 of x."""
    return np.abs(x) * (2.0**-21 if dtype == "fp32" else 2.0**-50) + (np.abs(y) * 2.0**-15 if dtype == "fp32" else 0)


_function("gelu", "0.5 * {0} * (1.0 + tl.math.erf({0} * 0.7071067811865476))", _gelu, lambda x, e: 1.2, _gelu_error, (-1e15, 1e15))
