"""Functions of libdevice: by the bounds and references of tests/e2e/libdevice, exact ones by definitions."""
import functools
import importlib.util
import math
import operator
import os
from fractions import Fraction

import numpy as np

from formats import FORMATS, Numbers
from rows import Stored, Ulp, elementwise, given, pair, ranged, some

LIBRARY = "codegen.md#floating-point"
TYPES = ("fp32", "fp64")
N = 256


@functools.lru_cache(None)
def known():
    """The module with references of more precision; it is not needed to record."""
    path = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "libdevice", "functions.py")
    spec = importlib.util.spec_from_file_location("libdevice_functions", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def bounded(name, t):
    """What the function's row there allows."""
    def arguments(row):
        return [a.values.reshape(-1).astype(FORMATS[t].stored) for a in row.inputs.values()]

    def units(row):
        function = known().FUNCTIONS[name]
        bound = np.full(arguments(row)[0].shape, float(function.bounds[t]))
        return np.where(function.outside(*arguments(row)), np.inf, bound) if function.outside else bound

    def absolute(row):
        function = known().FUNCTIONS[name]
        return np.where(np.abs(arguments(row)[0]) >= function.absolute_from, (function.absolute or {}).get(t, 0), 0)

    return Ulp(units, absolute=absolute, text="its bound")


def referred(name, t):
    def exact(*values):
        function = known().FUNCTIONS[name]
        return function.reference(*[np.asarray(v, np.longdouble) for v in values])

    return exact


# name, interval, whether there is a reference for fp32, for fp64
ONE = [("exp10", (-38, 38), 1, 1), ("expm1", (-5, 88), 1, 1), ("log1p", (-1, 3), 1, 1), ("log10", (0, 1000), 1, 1), ("sinh", (-10, 10), 1, 1),
       ("cosh", (-10, 10), 1, 1), ("asinh", (-3, 3), 1, 1), ("acosh", (1, 5), 1, 1), ("atanh", (-1, 1), 1, 1), ("asin", (-1, 1), 1, 1),
       ("acos", (-1, 1), 1, 1), ("atan", (-5, 5), 1, 1), ("tan", (-100, 100), 1, 1), ("sinpi", (-5, 5), 1, 1), ("cospi", (-5, 5), 1, 1),
       ("cbrt", (-100, 100), 1, 1), ("rcbrt", (-100, 100), 1, 1), ("erfc", (-3, 9), 1, 0), ("erfcx", (-3, 9), 0, 0), ("normcdf", (-9, 6), 1, 0),
       ("erfinv", (-1, 1), 0, 0), ("erfcinv", (0, 2), 0, 0), ("normcdfinv", (0, 1), 0, 0), ("lgamma", (-2, 30), 1, 0), ("tgamma", (-5, 30), 1, 0),
       ("cyl_bessel_i0", (-20, 20), 0, 0), ("cyl_bessel_i1", (-20, 20), 0, 0), ("j0", (-30, 30), 0, 0), ("j1", (-30, 30), 0, 0),
       ("y0", (0, 30), 0, 0), ("y1", (0, 30), 0, 0), ("rint", (-5, 5), 1, 1), ("nearbyint", (-5, 5), 1, 1), ("trunc", (-5, 5), 1, 1),
       ("round", (-5, 5), 1, 1), ("rcp_rn", (-5, 5), 0, 0)]
MANY = [("pow", 2), ("atan2", 2), ("hypot", 2), ("rhypot", 2), ("norm3d", 3), ("rnorm3d", 3), ("norm4d", 4), ("rnorm4d", 4)]


def approximate():
    for name, interval, single, double in ONE:
        for t, refers in zip(TYPES, (single, double)):
            yield elementwise(f"{name} {t}", (name,), LIBRARY, f"libdevice.{name}(x)", [ranged(t, N, *interval)], t,
                              referred(name, t) if refers else None, compare=bounded(name, t))
    for exponent in (0.5, 1, 2, 3, 4, -1, -2, 5):  # powers that are written so are products, roots and quotients
        for t in TYPES:
            yield elementwise(f"pow by {exponent} {t}", ("pow",), LIBRARY, f"libdevice.pow(x, {exponent})", [ranged(t, N, -9, 9)], t,
                              lambda x, y=exponent: np.power(np.asarray(x, np.longdouble), y), compare=bounded("pow", t))
    for name, count in MANY:
        for t in TYPES:
            inputs = list(pair(t, t, N, name))
            if name == "pow":
                numbers = Numbers(name + t)
                inputs = [given(t, np.concatenate([inputs[0].values[:160], numbers.uniform(0, 8, 96)])),
                          given(t, np.concatenate([inputs[1].values[:160], numbers.uniform(-30, 30, 96)]))]
            inputs += [some(t, N, f"{name} {i}") for i in range(count - 2)]
            letters = ", ".join("xyzw"[:count])
            yield elementwise(f"{name} {t}", (name,), LIBRARY, f"libdevice.{name}({letters})", inputs, t, referred(name, t), compare=bounded(name, t))


def once(t, f):
    stored = FORMATS[t].stored
    return lambda *values: Stored(np.asarray(f(*[np.asarray(v).astype(stored) for v in values])).astype(stored))


def vector(f, stored):
    return lambda *values: np.array([f(*v) for v in zip(*[np.asarray(a).tolist() for a in values])], object).astype(stored)


def exact_floats():
    for t in TYPES:
        dtype = FORMATS[t].stored
        both = pair(t, t, N, "exact")
        one = ranged(t, 128, -9, 9)
        yield elementwise(f"rcp_rn exact {t}", ("rcp_rn",), LIBRARY, "libdevice.rcp_rn(x)", [one], t, once(t, lambda x: dtype(1) / x))
        for name, f in (("add", np.add), ("sub", np.subtract), ("mul", np.multiply)):
            yield elementwise(f"{name}_rn {t}", (f"{name}_rn",), LIBRARY, f"libdevice.{name}_rn(x, y)", both, t, once(t, f))
            for direction in ("rz", "rd", "ru"):
                yield elementwise(f"{name}_{direction} {t}", (f"{name}_{direction}",), LIBRARY, f"libdevice.{name}_{direction}(x, y)", both, t,
                                  directed(name, direction, dtype))
        yield elementwise(f"copysign {t}", ("copysign",), LIBRARY, "libdevice.copysign(x, y)", both, t, np.copysign)
        yield elementwise(f"fdim {t}", ("fdim",), LIBRARY, "libdevice.fdim(x, y)", both, t,
                          once(t, lambda a, b: np.where(np.isnan(a) | np.isnan(b), dtype(np.nan), np.where(a > b, a - b, dtype(0)))))
        yield elementwise(f"nextafter {t}", ("nextafter",), LIBRARY, "libdevice.nextafter(x, y)", both, t, once(t, np.nextafter))
        yield elementwise(f"remainder {t}", ("remainder",), LIBRARY, "libdevice.remainder(x, y)", both, t,
                          vector(lambda a, b: known().remainder(a, b), np.float64))
        yield elementwise(f"logb {t}", ("logb",), LIBRARY, "libdevice.logb(x)", [one], t, vector(lambda v: known().exponent_as_float(v), np.float64))
        n = given("i32", np.arange(N) % 301 - 150)
        for name in ("ldexp", "scalbn"):
            yield elementwise(f"{name} {t}", (name,), LIBRARY, f"libdevice.{name}(x, y)", [both[0], n], t,
                              lambda v, k, d=dtype: Stored(np.ldexp(v.astype(np.longdouble), k).astype(d)))
        single = t == "fp32"
        for name, f, result in (("isnan", lambda v: int(v != v), "i32"), ("isinf", lambda v: int(math.isinf(v)), "i32"),
                                ("finitef" if single else "isfinited", lambda v: int(math.isfinite(v)), "i32"),
                                ("signbit", lambda v: int(math.copysign(1, v) < 0), "i32"), ("ilogb", lambda v: known().exponent(v), "i32")):
            yield elementwise(f"{name} {t}", (name,), LIBRARY, f"libdevice.{name}(x).to(tl.int32)", [one], result, vector(f, np.int32))
    yield elementwise("saturatef", ("saturatef",), LIBRARY, "libdevice.saturatef(x)", [ranged("fp32", 64, -1, 2)], "fp32",
                      vector(lambda v: 0.0 if v != v or v == 0 else min(max(v, 0.0), 1.0), np.float64))


def directed(name, direction, dtype):
    def apply(x, y):
        f = known().directed_of(getattr(operator, name), direction, dtype)
        return Stored(np.array([f(a, b) for a, b in zip(x.tolist(), y.tolist())], dtype))

    return apply


def whole(low, high, t):
    """Floats whose integer parts fit, halves among them, and their edges in the middle."""
    numbers = Numbers(f"{t} {low} {high}")
    values = np.concatenate([np.arange(-20, 44) / 2, numbers.uniform(low, high, 64)])
    values = np.where((values < low) | (values > high), 1.5, values)
    return given(t, values)


def conversions():
    for prefix, t in (("float", "fp32"), ("double", "fp64")):
        for name, result, bits in (("int", "i32", 32), ("uint", "u32", 32), ("ll", "i64", 64), ("ull", "u64", 64)):
            low, high = (0.0, 2.0**bits * 0.99) if name[0] == "u" else (-2.0**(bits - 1) * 0.99, 2.0**(bits - 1) * 0.99)
            for direction, f in (("rn", round), ("rz", math.trunc), ("rd", math.floor), ("ru", math.ceil)):
                yield elementwise(f"{prefix}2{name}_{direction}", (f"{prefix}2{name}_{direction}",), LIBRARY,
                                  f"libdevice.{prefix}2{name}_{direction}(x).to({'tl.' + FORMATS[result].language}, bitcast=True)",
                                  [whole(low, high, t)], result, vector(f, FORMATS[result].stored))
        for name, f in (("llrint", round), ("llround", lambda v: known().from_zero(v))):
            yield elementwise(f"{name} {t}", (name,), LIBRARY, f"libdevice.{name}(x)", [whole(-2.0**40, 2.0**40, t)], "i64", vector(f, np.int64))
    for source, t in (("int", "i32"), ("uint", "u32"), ("ll", "i64"), ("ull", "u64")):
        for target, kind in (("float", "fp32"), ("double", "fp64")):
            yield elementwise(f"{source}2{target}_rn", (f"{source}2{target}_rn",), LIBRARY, f"libdevice.{source}2{target}_rn(x)", [some(t, 64)], kind,
                              lambda x, d=FORMATS[kind].stored: Stored(x.astype(d)))
    x = ranged("fp64", 128, -2, 2)
    yield elementwise("double2float_rn", ("double2float_rn",), LIBRARY, "libdevice.double2float_rn(x)", [x], "fp32", lambda v: v)
    for direction in ("rz", "rd", "ru"):
        yield elementwise(f"double2float_{direction}", (f"double2float_{direction}",), LIBRARY, f"libdevice.double2float_{direction}(x)", [x], "fp32",
                          narrowed(direction))


def narrowed(direction):
    def one(v):
        return known().directed(Fraction(v), np.float32, direction) if math.isfinite(v) and v else v

    return lambda x: Stored(np.array([math.copysign(one(v), v) if v == v else v for v in x.tolist()], np.float32))


def bits():
    for name, source, target in (("float_as_int", "fp32", "i32"), ("float_as_uint", "fp32", "u32"), ("int_as_float", "i32", "fp32"),
                                 ("uint_as_float", "u32", "fp32"), ("double_as_longlong", "fp64", "i64"), ("longlong_as_double", "i64", "fp64")):
        array = some(source, 64, name)
        again = ".to(tl.uint32, bitcast=True)" if name == "float_as_uint" else ""
        yield elementwise(name, (name,), LIBRARY, f"libdevice.{name}(x){again}", [array], target,
                          lambda x, a=array, t=target: Stored(a.stored.view(FORMATS[t].stored)))
    x = some("fp64", 64, "halves")
    yield elementwise("double2hiint", ("double2hiint",), LIBRARY, "libdevice.double2hiint(x)", [x], "i32",
                      lambda v: Stored((x.stored.view(np.int64) >> 32).astype(np.int32)))
    yield elementwise("double2loint", ("double2loint",), LIBRARY, "libdevice.double2loint(x)", [x], "i32",
                      lambda v: Stored(x.stored.view(np.int64).astype(np.int32)))
    yield elementwise("hiloint2double", ("hiloint2double",), LIBRARY, "libdevice.hiloint2double(x, y)", pair("i32", "i32", 64), "fp64",
                      lambda h, low: Stored((h.astype(np.int64) << 32 | low.view(np.uint32).astype(np.int64)).view(np.float64)))


def integers():
    for t, width in (("i32", 32), ("i64", 64)):
        mask, stored = (1 << width) - 1, FORMATS[t].stored
        x = some(t, 64, "bits")
        for name, f, result in (("clz", lambda v, w=width, m=mask: w - (v & m).bit_length(), "i32"),
                                ("popc", lambda v, m=mask: bin(v & m).count("1"), "i32"),
                                ("ffs", lambda v: (v & -v).bit_length(), "i32"),
                                ("brev", lambda v, w=width, m=mask: known().wrapped(int(format(v & m, f"0{w}b")[::-1], 2), w), t)):
            yield elementwise(f"{name} {t}", (name,), LIBRARY, f"libdevice.{name}(x)", [x], result, vector(f, stored if name == "brev" else np.int32))
    for t in ("i32", "u32", "i64", "u64"):
        yield elementwise(f"mulhi {t}", ("mulhi",), LIBRARY, "libdevice.mulhi(x, y)", pair(t, t, 64, "mulhi"), t,
                          vector(lambda a, b, w=FORMATS[t].bits: (a * b) >> w, FORMATS[t].stored))
    for t in ("i32", "u32"):
        stored = FORMATS[t].stored
        signed = FORMATS[t].signed

        def wrap(v, s=signed):
            return known().wrapped(v, 32) if s else v & 0xFFFFFFFF

        def low(v, s=signed):
            return known().wrapped(v, 24) if s else v & 0xFFFFFF

        yield elementwise(f"mul24 {t}", ("mul24",), LIBRARY, "libdevice.mul24(x, y)", pair(t, t, 64, "mul24"), t,
                          vector(lambda a, b, w=wrap, lo=low: w(lo(a) * lo(b)), stored))
        yield elementwise(f"hadd {t}", ("hadd",), LIBRARY, "libdevice.hadd(x, y)", pair(t, t, 64, "hadd"), t,
                          vector(lambda a, b: (a + b) >> 1, stored))
        yield elementwise(f"rhadd {t}", ("rhadd",), LIBRARY, "libdevice.rhadd(x, y)", pair(t, t, 64, "rhadd"), t,
                          vector(lambda a, b: (a + b + 1) >> 1, stored))
        yield elementwise(f"sad {t}", ("sad",), LIBRARY, "libdevice.sad(x, y, z)", [*pair(t, t, 64, "sad"), some("u32", 64)], t,
                          vector(lambda a, b, c, w=wrap: w(abs(a - b) + c), stored))
    yield elementwise("byte_perm", ("byte_perm",), LIBRARY, "libdevice.byte_perm(x, y, z)",
                      [*pair("i32", "i32", 64), given("i32", np.arange(64) * 1021 % 65536)],
                      "i32", vector(lambda a, b, c: known().permuted(a, b, c), np.int32))


def rows():
    for part in (approximate, exact_floats, conversions, bits, integers):
        yield from part()


