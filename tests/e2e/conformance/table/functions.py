"""Functions of tl and tl.math: approximate ones by their bounds in docs/codegen.md, the others exactly."""
import math
from fractions import Fraction

import numpy as np

from formats import FORMATS
from rows import Row, Ulp, elementwise, given, out, pair, ranged, some
from table.reductions import grid_of

FLOATING = "codegen.md#floating-point"
ELEMENTWISE = "language.md#elementwise"
N = 256


def wide(f):
    return lambda *values: f(*[np.asarray(v, np.longdouble) for v in values])


def of_exponent(row):
    """Units of exp of fp32: 2 + 1.25 |x|."""
    with np.errstate(invalid="ignore"):
        return 2 + 1.25 * np.minimum(np.abs(np.nan_to_num(row.arguments["x_p"].values.reshape(-1), posinf=200, neginf=200)), 200)


EXP = Ulp(of_exponent, beside=4, flushes=True, text="2 + 1.25 \\|x\\| ulp")


def erf_of(x):
    return np.array([math.erf(v) for v in np.asarray(x, np.float64)])


def near(units, beside=0, flushes=False):
    """As many units of the last place from the value rounded to the type."""
    return Ulp(units + 0.5, beside, flushes=flushes, text=f"{units} ulp")


# name, interval, reference, bounds of fp32 and fp64
APPROXIMATE = [("exp", (-90, 90), np.exp, EXP, near(1)), ("exp2", (-130, 130), np.exp2, near(2, 3, flushes=True), near(1)),
               ("log", (0, 100), np.log, near(1, 3), near(1)), ("log2", (0, 100), np.log2, near(1, 3), near(1)),
               ("sin", (-100, 100), np.sin, near(2), near(2)), ("cos", (-100, 100), np.cos, near(2), near(2)),
               ("rsqrt", (0, 100), lambda x: 1 / np.sqrt(x), near(1, 3), near(1)), ("erf", (-4, 4), None, near(2), near(2)),
               ("tanh", (-6, 6), np.tanh, near(1, 3), near(2))]


def approximate():
    for name, interval, reference, single, double in APPROXIMATE:
        for t, bound in (("fp32", single), ("fp64", double)):
            values = ranged(t, N, *interval)
            exact = wide(reference) if reference else erf_of if t == "fp32" else None
            if name != "tanh":
                yield elementwise(f"tl.{name} {t}", (name,), FLOATING, f"tl.{name}(x)", [values], t, exact, compare=bound)
                yield elementwise(f"tl.math.{name} {t}", (name,), FLOATING, f"tl.math.{name}(x)", [values], t, exact, compare=bound)
            yield elementwise(f"libdevice.{name} {t}", (name,), FLOATING, f"libdevice.{name}(x)", [values], t, exact, compare=bound)
            yield elementwise(f"method {name} {t}", (name,), ELEMENTWISE, f"x.{name}()", [values], t, exact, compare=bound) \
                if name in ("exp", "sin") else None


def roots():
    for t in ("fp32", "fp64"):
        values, only_fp32 = ranged(t, N, 0, 100), "" if t == "fp32" else "of fp32 alone"
        yield elementwise(f"tl.sqrt {t}", ("sqrt",), FLOATING, "tl.sqrt(x)", [values], t, wide(np.sqrt) if t == "fp32" else np.sqrt,
                          compare=near(1, 3) if t == "fp32" else "bits")
        yield elementwise(f"tl.sqrt_rn {t}", ("sqrt_rn",), FLOATING, "tl.sqrt_rn(x)", [values], t, np.sqrt, apart=only_fp32)
        yield elementwise(f"libdevice.sqrt {t}", ("lib_sqrt",), FLOATING, "libdevice.sqrt(x)", [values], t, np.sqrt)
        yield elementwise(f"libdevice.sqrt_rn {t}", ("sqrt_rn",), FLOATING, "libdevice.sqrt_rn(x)", [values], t, np.sqrt)
        both = pair(t, t, N, "fdiv")
        quotient = near(2, 4) if t == "fp32" else "bits"
        true = (lambda x, y: np.asarray(x, np.longdouble) / y) if t == "fp32" else np.divide
        yield elementwise(f"fdiv {t}", ("fdiv",), FLOATING, "tl.fdiv(x, y)", both, t, true, compare=quotient)
        yield elementwise(f"fdiv ieee {t}", ("fdiv",), FLOATING, "tl.fdiv(x, y, ieee_rounding=True)", both, t, once(t, np.divide))
        yield elementwise(f"fdiv approx {t}", ("fdiv",), FLOATING, "tl.fdiv(x, y, approx=True)", both, t, true, compare=quotient, apart="not before 3.9")
        yield elementwise(f"expect_zero {t}", ("expect_zero",), FLOATING, "tl.expect_zero(tl.where(x > y, x, 0.0), x <= y)", both, t,
                          lambda x, y: np.where(x > y, x, 0.0), apart="not in 3.6")
        yield elementwise(f"div_rn {t}", ("div_rn",), FLOATING, "tl.div_rn(x, y)", both, t, once(t, np.divide), apart=only_fp32)
        yield elementwise(f"libdevice.div_rn {t}", ("div_rn",), FLOATING, "libdevice.div_rn(x, y)", both, t, once(t, np.divide))
        yield elementwise(f"fmod {t}", ("fmod",), FLOATING, "libdevice.fmod(x, y)", both, t, np.fmod)


def once(t, f):
    """Computed in the type itself: a value of float64 would be rounded twice."""
    stored = FORMATS[t].stored
    return lambda *values: f(*[np.asarray(v).astype(stored) for v in values]).astype(np.float64)


def whole():
    for name, f in (("floor", np.floor), ("ceil", np.ceil)):
        for t in ("fp32", "fp64"):
            for space in ("tl", "libdevice"):
                yield elementwise(f"{space}.{name} {t}", (name,), FLOATING, f"{space}.{name}(x)", [ranged(t, 128, -9, 9)], t, f)


def fused_of(t):
    """Rounded once: products and sums of fractions."""
    def one(a, b, c):
        if not all(map(math.isfinite, (a, b, c))):
            return float(np.float64(a) * np.float64(b) + np.float64(c))
        exact = Fraction(a) * Fraction(b) + Fraction(c)
        return round_fraction(t, exact) if exact else a * b + c if a == 0 or b == 0 else 0.0

    return lambda x, y, z: np.array([one(*v) for v in zip(x.tolist(), y.tolist(), z.tolist())])


def round_fraction(t, exact):
    """A fraction other than 0 to nearest, ties to even, of a type with infinities."""
    f, magnitude = FORMATS[t], abs(exact)
    exponent = magnitude.numerator.bit_length() - magnitude.denominator.bit_length()
    exponent -= magnitude < Fraction(2)**exponent
    step = max(exponent, f.least) - f.fraction
    units = round(magnitude / Fraction(2)**step)
    value = math.inf if step + units.bit_length() > f.bias + 1 else math.ldexp(float(units), step)
    return value if exact > 0 else -value


def fused():
    for t in ("fp32", "fp64", "fp16", "bf16"):
        x, y = pair(t, t, 128, "fma")
        z = some(t, 128, "fma z")
        order = np.argsort((np.arange(128) * 37) % 128)
        z = given(t, z.values[order])
        yield elementwise(f"tl.fma {t}", ("fma",), ELEMENTWISE, "tl.fma(x, y, z)", [x, y, z], t, fused_of(t))
        if t in ("fp32", "fp64"):
            yield elementwise(f"libdevice.fma {t}", ("fma",), ELEMENTWISE, "libdevice.fma(x, y, z)", [x, y, z], t, fused_of(t))
            yield elementwise(f"libdevice.fma_rn {t}", ("fma_rn",), ELEMENTWISE, "libdevice.fma_rn(x, y, z)", [x, y, z], t, fused_of(t))


def fast():
    x = given("fp32", np.linspace(-3, 3, 64))
    positive = given("fp32", np.linspace(0.5, 2, 64))
    doc = "codegen.md#floating-point"
    for name, values, f, bound in (
            ("fast_expf", x, np.exp, EXP), ("fast_exp10f", x, lambda v: np.power(np.longdouble(10), v), Ulp(12, beside=12)),
            ("fast_logf", positive, np.log, Ulp(1, absolute=2.0**-21)), ("fast_log2f", positive, np.log2, Ulp(1, absolute=2.0**-21)),
            ("fast_log10f", positive, np.log10, Ulp(1, absolute=2.0**-21)), ("fast_sinf", x, np.sin, Ulp(1, absolute=2.0**-20)),
            ("fast_cosf", x, np.cos, Ulp(1, absolute=2.0**-20)), ("fast_tanhf", x, np.tanh, Ulp(4, absolute=2.0**-10))):
        yield elementwise(f"{name}", (name,), doc, f"libdevice.{name}(x)", [values], "fp32", wide(f), compare=bound,
                          apart="not in libdevice" if name == "fast_tanhf" else "")
    yield elementwise("fast_tanf", ("fast_tanf",), doc, "libdevice.fast_tanf(x)", [given("fp32", np.linspace(-1.2, 1.2, 64))], "fp32", wide(np.tan),
                      compare=Ulp(32, absolute=2.0**-18))
    yield elementwise("fast_powf", ("fast_powf",), doc, "libdevice.fast_powf(x, y)", [positive, x], "fp32", wide(np.power), compare=Ulp(32))
    yield elementwise("fast_dividef", ("fast_dividef",), doc, "libdevice.fast_dividef(x, y)", [x, positive], "fp32", wide(np.divide),
                      compare=Ulp(2, beside=3))


def softmax_of(x_p):
    e = np.exp((x_p - x_p.max(0)).astype(np.longdouble))
    return e / e.sum(0)


def composed():
    for t in ("fp32", "fp64"):
        yield elementwise(f"sigmoid {t}", ("sigmoid",), ELEMENTWISE, "tl.sigmoid(x)", [ranged(t, 128, -20, 20)], t,
                          wide(lambda x: 1 / (1 + np.exp(-x))), compare=Ulp(of_exponent if t == "fp32" else 4, 16,
                                                                            absolute=2.0**-126 if t == "fp32" else 0, flushes=True,
                                                                           text="as exp and the division err"))
    for shape, dim in (((64,), 0), ((4, 16), 0), ((16, 1), 0)):
        x = given("fp32", (np.arange(int(np.prod(shape))) % 13 - 6.0).reshape(shape))
        body = f"x = tl.load(x_p + {grid_of(shape)})\nr = tl.softmax(x, {dim})\ntl.store(o_p + {grid_of(shape)}, r)"
        yield Row(f"softmax {shape}", ("softmax",), ELEMENTWISE, {"x_p": x, "o_p": out("fp32", shape)}, body, softmax_of,
                  compare=Ulp(24, 24, text="as exp and the division err"),
                  types=("fp32",))


def rows():
    for part in (approximate, roots, whole, fused, fast, composed):
        yield from (row for row in part() if row)
