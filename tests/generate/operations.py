"""The operations of kernels without memory: what each computes, and how it is written.

A row is a function of the operands (values, or numbers of the source) and the attributes; `text` has {0}, {1}.. for
operands and names of attributes. Operations whose result is a tuple say how many `results` they have."""
import numpy as np

from formats import FLOATS, FORMATS, rounded, from_bits, to_bits
from values import Invalid, Pointer, Value, as_value, converted, either, float_result, paired, settled

OPERATIONS = {}


class Operation:
    def __init__(self, name, text, evaluate, results, helper):
        self.name, self.text, self.evaluate, self.results, self.helper = name, text, evaluate, results, helper


def operation(name, text, results=1, helper=None):
    """`helper`: a function of the source that the text calls."""

    def add(function):
        OPERATIONS[name] = Operation(name, text, function, results, helper)
        return function

    return add


def elementwise(*values):
    try:
        shape = np.broadcast_shapes(*(v.shape for v in values))
    except ValueError as error:
        raise Invalid("shapes that do not fit") from error
    if len(shape) > 4 or int(np.prod(shape)) > 1 << 14:
        raise Invalid("a large tile")
    return shape


# Values from nothing

@operation("arange", "tl.arange({start}, {stop})")
def _arange(start, stop):
    return settled("i32", np.arange(start, stop, dtype=np.int32))


@operation("full", "tl.full({shape}, {0}, tl.{type})")
def _full(number, shape, dtype):
    value = converted(number, dtype) if isinstance(number, Value) else as_value(number, dtype)
    if value.shape:
        raise Invalid("a scalar is wanted")
    return spread(value, shape)


@operation("copy", "{0}")
def _copy(value):
    return value if isinstance(value, (Value, Pointer)) else as_value(value)


# Numbers, element by element

def _sum(a, b, sign):
    a, b = paired(a, b)
    elementwise(a, b)
    if not a.format.is_float:
        if a.dtype == "i1":
            raise Invalid("arithmetic of bool")
        with np.errstate(over="ignore"):
            return settled(a.dtype, a.data + b.data if sign > 0 else a.data - b.data, undef=either(a, b))
    exact = a.data + sign * b.data
    return float_result(a.dtype, exact, a.bound + b.bound, either(a, b), fused=True)  # one of them may be a product


@operation("add", "{0} + {1}")
def _add(a, b):
    if isinstance(a, Pointer):
        if not isinstance(b, Value):
            b = as_value(b)
        if not b.format.is_int:
            raise Invalid("an offset that is no integer")
        elementwise(a, b)
        return Pointer(a.array, a.data + b.data.astype(np.int64), either(a, b))
    return _sum(a, b, 1)


@operation("sub", "{0} - {1}")
def _sub(a, b):
    return _sum(a, b, -1)


@operation("mul", "{0} * {1}")
def _mul(a, b):
    a, b = paired(a, b)
    elementwise(a, b)
    if not a.format.is_float:
        if a.dtype == "i1":
            raise Invalid("arithmetic of bool")
        with np.errstate(over="ignore"):
            return settled(a.dtype, a.data * b.data, undef=either(a, b))
    with np.errstate(over="ignore"):
        err = np.abs(a.data) * b.bound + np.abs(b.data) * a.bound + a.bound * b.bound
        return float_result(a.dtype, a.data * b.data, err, either(a, b), fused=True)


@operation("fma", "tl.fma({0}, {1}, {2})")
def _fma(a, b, c):
    for x in (a, b, c):
        if not isinstance(x, Value) or not x.format.is_float or x.dtype != a.dtype:
            raise Invalid("fma of one type of float")
    elementwise(a, b, c)
    with np.errstate(over="ignore"):
        product = a.data * b.data
        if a.dtype == "fp64" and (rounded("fp32", product) != product).any():
            raise Invalid("a product that float64 does not hold")
        err = np.abs(a.data) * b.bound + np.abs(b.data) * a.bound + a.bound * b.bound + c.bound
        exact = product + c.data
        inexact = (exact - product != c.data) | (exact - c.data != product)  # rounded twice from here
        err = err + np.where(inexact, np.abs(exact) * FORMATS[a.dtype].unit * 2, 0)
        return float_result(a.dtype, exact, err, either(a, b, c))


def _divide(a, b, correctly):
    a, b = paired(a, b)
    if a.dtype not in ("fp32", "fp64"):
        a, b = converted(a, "fp32"), converted(b, "fp32")
    elementwise(a, b)
    undef = either(a, b)
    divisor = np.broadcast_to(b.data, np.broadcast_shapes(a.shape, b.shape))
    if undef is not None:
        divisor = np.where(undef, 1.0, divisor)
    low = np.abs(divisor) - b.bound
    if (low <= 0).any():
        raise Invalid("division by what may be 0")
    exact = a.data / divisor
    err = (a.bound + np.abs(exact) * b.bound) / low
    if not correctly and a.dtype != "fp64":
        err = err + np.abs(exact) * 2.0**-22 + 2.0**-140
        if not np.all((np.abs(divisor) < 2.0**100) & (np.abs(divisor) > 2.0**-100)):
            raise Invalid("a divisor that approximate division does not take")
    return float_result(a.dtype, exact, err, undef)


@operation("div", "{0} / {1}")
def _div(a, b):
    return _divide(a, b, False)


@operation("div_rn", "tl.div_rn({0}, {1})")
def _div_rn(a, b):
    if not isinstance(a, Value) or not isinstance(b, Value) or a.dtype != "fp32" or b.dtype != "fp32":
        raise Invalid("div_rn of fp32")
    return _divide(a, b, True)


def _integers(a, b):
    a, b = paired(a, b)
    if not a.format.is_int:
        raise Invalid("integers are wanted")
    elementwise(a, b)
    return a, b


def _quotient(a, b):
    for x, y in ((a, b), (b, a)):
        if isinstance(x, Value) and isinstance(y, Value) and x.format.kind != y.format.kind:
            raise Invalid("integers of two signs")
    a, b = _integers(a, b)
    undef = either(a, b)
    divisor = np.broadcast_to(b.data, np.broadcast_shapes(a.shape, b.shape))
    if undef is not None:
        divisor = np.where(undef, divisor.dtype.type(1), divisor)
    if (divisor == 0).any():
        raise Invalid("division by 0")
    if a.format.kind == "int" and ((divisor == -1) & (a.data == np.iinfo(a.data.dtype).min)).any():
        raise Invalid("a quotient that does not fit")
    quotient = a.data // divisor
    rest = a.data - quotient * divisor
    if a.format.kind == "int":
        wrong = (rest != 0) & ((a.data < 0) != (divisor < 0))
        quotient = quotient + wrong.astype(quotient.dtype)
        rest = a.data - quotient * divisor
    return a.dtype, quotient, rest, undef


@operation("floordiv", "{0} // {1}")
def _floordiv(a, b):
    dtype, quotient, _, undef = _quotient(a, b)
    return settled(dtype, quotient, undef=undef)


@operation("mod", "{0} % {1}")
def _mod(a, b):
    dtype, _, rest, undef = _quotient(a, b)
    return settled(dtype, rest, undef=undef)


@operation("cdiv", "tl.cdiv({0}, {1})")
def _cdiv(a, b):
    if not isinstance(a, Value):
        raise Invalid("two numbers")
    return _floordiv(_sum(a, _sum(b, 1, -1) if isinstance(b, Value) else b - 1, 1), b)


def _bits(name, text, function):
    @operation(name, text)
    def run(a, b):
        a, b = paired(a, b)
        if a.format.is_float:
            raise Invalid("bits of floats")
        elementwise(a, b)
        return settled(a.dtype, function(a.data, b.data), undef=either(a, b))


_bits("and", "{0} & {1}", lambda a, b: a & b)
_bits("or", "{0} | {1}", lambda a, b: a | b)
_bits("xor", "{0} ^ {1}", lambda a, b: a ^ b)


@operation("umulhi", "tl.umulhi({0}, {1})")
def _umulhi(a, b):
    if not isinstance(a, Value) or not isinstance(b, Value) or a.dtype != b.dtype or a.dtype not in ("i32", "u32"):
        raise Invalid("umulhi of 32 bits")
    elementwise(a, b)
    wide = a.data.astype(np.uint32).astype(np.uint64) * b.data.astype(np.uint32).astype(np.uint64)
    return settled(a.dtype, (wide >> np.uint64(32)).astype(np.uint32).astype(a.data.dtype), undef=either(a, b))


def _shift(a, b, left):
    number = a if not isinstance(a, Value) else None
    signed = (b if number is not None else a).format.kind == "int"
    a, b = _integers(a, b)
    undef = either(a, b)
    count = np.broadcast_to(b.data, np.broadcast_shapes(a.shape, b.shape))
    if undef is not None:
        count = np.where(undef, count.dtype.type(0), count)
    if (count < 0).any() or (count >= a.format.bits).any():
        raise Invalid("a shift by the width or more")
    if left:
        return settled(a.dtype, a.data << count, undef=undef)
    bits = a.format.bits
    as_signed = a.data.astype(getattr(np, f"int{bits}"), copy=False)
    as_unsigned = a.data.astype(getattr(np, f"uint{bits}"), copy=False)
    source = as_signed if signed else as_unsigned
    return settled(a.dtype, (source >> count.astype(source.dtype)).astype(a.data.dtype), undef=undef)


@operation("shl", "{0} << {1}")
def _shl(a, b):
    return _shift(a, b, True)


@operation("shr", "{0} >> {1}")
def _shr(a, b):
    return _shift(a, b, False)


def _compare(name, sign, function):
    @operation(name, "{0} " + sign + " {1}")
    def run(a, b):
        if isinstance(a, Value) and not isinstance(b, Value) and a.format.is_int:
            b = as_value(b)
        if isinstance(b, Value) and not isinstance(a, Value) and b.format.is_int:
            a = as_value(a)
        a, b = paired(a, b)
        elementwise(a, b)
        near = np.abs(a.data.astype(np.float64) - b.data.astype(np.float64)) <= a.bound + b.bound
        if (a.err is not None or b.err is not None) and near.any():
            raise Invalid("a comparison of rounded numbers")
        return settled("i1", function(a.data, b.data), undef=either(a, b))


for _name, _sign, _function in (("lt", "<", np.less), ("le", "<=", np.less_equal), ("gt", ">", np.greater),
                                ("ge", ">=", np.greater_equal), ("eq", "==", np.equal), ("ne", "!=", np.not_equal)):
    _compare(_name, _sign, _function)


def _extreme(name, function):
    @operation(name, "tl." + name + "({0}, {1})")
    def run(a, b):
        a, b = paired(*(x if isinstance(x, Value) else as_value(x) for x in (a, b)))  # numbers are not weak here
        if a.dtype == "i1":
            raise Invalid("order of bool")
        if a.dtype == "bf16":
            a, b = converted(a, "fp32"), converted(b, "fp32")
        elementwise(a, b)
        return settled(a.dtype, function(a.data, b.data), np.maximum(a.bound, b.bound), either(a, b))


_extreme("maximum", np.maximum)
_extreme("minimum", np.minimum)


@operation("where", "tl.where({0}, {1}, {2})")
def _where(condition, a, b):
    if condition.dtype != "i1":
        raise Invalid("a condition that is no bool")
    a, b = paired(a, b)
    shape = elementwise(condition, a, b)
    undef = None
    if either(a, b, condition) is not None:
        marks = [np.zeros(v.shape, bool) if v.undef is None else v.undef for v in (condition, a, b)]
        undef = np.broadcast_to(marks[0] | np.where(condition.data, marks[1], marks[2]), shape)
    err = np.where(condition.data, a.bound, b.bound)
    return settled(a.dtype, np.where(condition.data, a.data, b.data), err, undef)


@operation("neg", "-{0}")
def _neg(a):
    if a.dtype == "i1" or a.format.bits == 8 and a.format.is_float:
        raise Invalid("no negative")
    with np.errstate(over="ignore"):
        return settled(a.dtype, -a.data, a.err, a.undef)


@operation("not", "~{0}")
def _not(a):
    if a.format.is_float:
        raise Invalid("bits of floats")
    return settled(a.dtype, ~a.data, undef=a.undef)


@operation("abs", "tl.abs({0})")
def _abs(a):
    if a.dtype == "i1" or a.format.bits == 8 and a.format.is_float:
        raise Invalid("no magnitude")
    if a.format.kind == "int" and (a.data == np.iinfo(a.data.dtype).min).any():
        raise Invalid("a magnitude that does not fit")
    return settled(a.dtype, np.abs(a.data), a.err, a.undef)


def _whole(name, function):
    @operation(name, "tl." + name + "({0})")
    def run(a):
        if a.dtype not in ("fp32", "fp64"):
            raise Invalid("floats of 32 or 64 bits are wanted")
        return settled(a.dtype, function(a.exact().data), undef=a.undef)


_whole("floor", np.floor)
_whole("ceil", np.ceil)


@operation("sqrt_rn", "tl.sqrt_rn({0})")
def _sqrt_rn(a):
    if a.dtype != "fp32" or (a.exact().data < 0).any():
        raise Invalid("no root")
    return float_result("fp32", np.sqrt(a.data), 0, a.undef)


def _function(name, text, function, slope, relative, inputs):
    """`slope`: a bound of the derivative from the result and the operand; `relative`: the error of fp32 in units of 2**-24 of the result."""

    @operation(name, text)
    def run(a):
        if a.dtype not in ("fp32", "fp64"):
            raise Invalid("floats of 32 or 64 bits are wanted")
        low, high = inputs
        data = np.where(a.undef, (low + high) / 2, a.data) if a.undef is not None else a.data
        if (data - a.bound < low).any() or (data + a.bound > high).any():
            raise Invalid("an operand without a bound")
        result = function(data)
        unit = 2.0**-52 if a.dtype == "fp64" else 2.0**-24
        err = slope(data, a.bound) * a.bound + np.abs(result) * unit * relative(data) + 1e-38
        return float_result(a.dtype, result, err, a.undef)


_function("exp", "tl.exp({0})", np.exp, lambda x, e: np.exp(x + e), lambda x: 4 + 4 * np.abs(x), (-30, 30))
_function("exp2", "tl.exp2({0})", np.exp2, lambda x, e: np.exp2(x + e), lambda x: 6.0, (-30, 30))
_function("log", "tl.log({0})", np.log, lambda x, e: 1 / (x - e), lambda x: 4.0, (0.25, 1e6))
_function("sqrt", "tl.sqrt({0})", np.sqrt, lambda x, e: 0.5 / np.sqrt(x - e), lambda x: 4.0, (0.25, 1e6))
_function("rsqrt", "tl.rsqrt({0})", lambda x: 1 / np.sqrt(x), lambda x, e: 0.5 * (x - e) ** -1.5, lambda x: 4.0, (0.25, 1e6))
_function("sigmoid", "tl.sigmoid({0})", lambda x: 1 / (1 + np.exp(-x)), lambda x, e: 0.26, lambda x: 16 + 4 * np.abs(x), (-20, 20))
_function("sin", "tl.sin({0})", np.sin, lambda x, e: 1.0, lambda x: 6.0, (-100, 100))


@operation("clamp", "tl.clamp({0}, {1}, {2})")
def _clamp(a, low, high):
    if not isinstance(a, Value) or a.dtype not in FLOATS or isinstance(low, Value) or isinstance(high, Value):
        raise Invalid("floats are wanted")
    if a.dtype != "fp64":
        a = converted(a, "fp32")
    low, high = (float(rounded(a.dtype, x)) for x in (low, high))
    return settled(a.dtype, np.clip(a.data, low, high), a.err, a.undef)


# Types

@operation("to", "{0}.to(tl.{type})")
def _to(a, dtype):
    return converted(a, dtype)


@operation("to_rtz", "{0}.to(tl.{type}, fp_downcast_rounding=\"rtz\")")
def _to_rtz(a, dtype):
    if not a.format.is_float or not FORMATS[dtype].is_float or FORMATS[dtype].bits >= a.format.bits:
        raise Invalid("no narrower float")
    return converted(a, dtype, True)


@operation("bitcast", "{0}.to(tl.{type}, bitcast=True)")
def _bitcast(a, dtype):
    target = FORMATS[dtype]
    if target.bits != a.format.bits or "i1" in (a.dtype, dtype):
        raise Invalid("bits of another width")
    if a.format.is_float:
        defined = a.exact().data if a.undef is None else a.data[~a.undef]
        if (defined == 0).any():
            raise Invalid("a zero of some sign")
    bits = to_bits(a.dtype, a.data.reshape(-1)).view(target.stored)
    data = (from_bits(dtype, bits) if target.is_float else bits).reshape(a.shape)
    if target.is_float and not np.isfinite(data).all():
        raise Invalid("a float that is not finite")
    return settled(dtype, data, undef=a.undef)


# Shapes

def spread(value, shape):
    try:
        parts = [None if part is None else np.broadcast_to(part, shape).copy() for part in (value.data, value.err, value.undef)]
    except ValueError as error:
        raise Invalid(str(error)) from error
    return Pointer(value.array, parts[0], value.undef) if isinstance(value, Pointer) else Value(value.dtype, *parts)


def moved(value, function):
    """Data, bounds and marks, rearranged alike."""
    parts = [None if part is None else np.ascontiguousarray(function(np.broadcast_to(part, value.shape)))
             for part in (value.data, value.err, value.undef)]
    return Value(value.dtype, *parts)


@operation("expand", "tl.expand_dims({0}, {axis})")
def _expand(a, axis):
    if isinstance(a, Pointer):
        return Pointer(a.array, np.expand_dims(a.data, axis), None if a.undef is None else np.expand_dims(a.undef, axis))
    return moved(a, lambda x: np.expand_dims(x, axis))


@operation("broadcast", "tl.broadcast_to({0}, {shape})")
def _broadcast(a, shape):
    if len(a.shape) > len(shape):
        raise Invalid("a shape that does not fit")
    return spread(a, tuple(shape))


@operation("reshape", "tl.reshape({0}, {shape})")
def _reshape(a, shape):
    if not a.shape or int(np.prod(shape)) != a.data.size:
        raise Invalid("a shape that does not fit")
    return moved(a, lambda x: x.reshape(shape))


@operation("permute", "tl.permute({0}, {dims})")
def _permute(a, dims):
    if sorted(dims) != list(range(len(a.shape))):
        raise Invalid("dims that do not fit")
    return moved(a, lambda x: x.transpose(dims))


@operation("trans", "tl.trans({0})")
def _trans(a):
    if len(a.shape) != 2:
        raise Invalid("two dimensions are wanted")
    return moved(a, lambda x: x.T)


def together(a, b, function):
    if a.dtype != b.dtype or a.shape != b.shape or not a.shape:
        raise Invalid("two tiles of one type are wanted")
    err = undef = None
    if a.err is not None or b.err is not None:
        err = function(*(np.broadcast_to(v.bound, a.shape) for v in (a, b)))
    if either(a, b) is not None:
        undef = function(*(np.zeros(a.shape, bool) if v.undef is None else v.undef for v in (a, b)))
    return settled(a.dtype, function(a.data, b.data), err, undef)


@operation("join", "tl.join({0}, {1})")
def _join(a, b):
    return together(a, b, lambda x, y: np.stack([x, y], -1))


@operation("interleave", "tl.interleave({0}, {1})")
def _interleave(a, b):
    return together(a, b, lambda x, y: np.stack([x, y], -1).reshape(*x.shape[:-1], 2 * x.shape[-1]))


@operation("cat", "tl.cat({0}, {1}, can_reorder=True)")
def _cat(a, b):
    raise Invalid("an order that nobody knows")


@operation("split", "tl.split({0})", results=2)
def _split(a):
    if len(a.shape) < 2 or a.shape[-1] != 2:
        raise Invalid("a last dimension of 2 is wanted")
    return tuple(moved(a, lambda x, i=i: x[..., i]) for i in range(2))


# Reductions, scans

def _axes(a, axis):
    if not a.shape or axis is not None and not -len(a.shape) <= axis < len(a.shape):
        raise Invalid("no such dimension")
    return tuple(range(len(a.shape))) if axis is None else axis


def _undef_along(a, axis, keep):
    return None if a.undef is None else a.undef.any(axis=axis, keepdims=keep)


def adds_exactly(dtype, data, axis):
    """No order of the sum rounds: all are multiples of a step of which the sum of magnitudes is not too many."""
    f = FORMATS[dtype]
    magnitude = np.abs(data)
    nonzero = magnitude[magnitude > 0]
    if not nonzero.size:
        return True
    mantissa, exponent = np.frexp(nonzero)
    whole = (mantissa * 2.0**53).astype(np.int64)
    trailing = np.log2((whole & -whole).astype(np.float64))
    step = 2.0 ** np.min(exponent - 53 + trailing)
    return bool((magnitude.sum(axis=axis) / step <= 2.0**f.precision).all())


def float_sum(dtype, data, err, axis, keep, undef):
    total = data.sum(axis=axis, keepdims=keep)
    if err is None and adds_exactly(dtype, data, axis):
        return settled(dtype, rounded(dtype, total), None, undef)
    count = data.size / max(1, total.size)
    bound = np.broadcast_to(0.0 if err is None else err, data.shape)
    bound = (bound.sum(axis=axis, keepdims=keep)
             + (np.abs(data) + bound).sum(axis=axis, keepdims=keep) * count * FORMATS[dtype].unit)
    return settled(dtype, rounded(dtype, total), bound, undef)


def _summed(dtype):
    f = FORMATS[dtype]
    if f.is_float:
        return dtype
    return dtype if f.bits >= 32 else "i32" if f.kind == "int" else "u32"


def _ordered(dtype):
    f = FORMATS[dtype]
    return dtype if f.bits >= 32 else "fp32" if f.is_float else "i32"


def no_fp8(a):
    if a.format.is_float and a.format.bits == 8:
        raise Invalid("arithmetic of fp8")


@operation("sum", "tl.sum({0}, axis={axis}, keep_dims={keep})")
def _total(a, axis, keep):
    axes = _axes(a, axis)
    no_fp8(a)
    a = converted(a, _summed(a.dtype))
    undef = _undef_along(a, axes, keep)
    if a.format.is_float:
        return float_sum(a.dtype, a.data, a.err, axes, keep, undef)
    return settled(a.dtype, a.data.sum(axis=axes, keepdims=keep, dtype=a.data.dtype), undef=undef)


def _reduced(name, function):
    @operation(name, "tl." + name + "({0}, axis={axis}, keep_dims={keep})")
    def run(a, axis, keep):
        axes = _axes(a, axis)
        no_fp8(a)
        a = converted(a, _ordered(a.dtype))
        err = None if a.err is None else a.err.max(axis=axes, keepdims=keep)
        return settled(a.dtype, function(a.data, axis=axes, keepdims=keep), err, _undef_along(a, axes, keep))


_reduced("max", np.max)
_reduced("min", np.min)


def _index_of(name, function):
    @operation(name, "tl." + name + "({0}, axis={axis}, keep_dims={keep})")
    def run(a, axis, keep):
        _axes(a, axis)
        if axis is None or a.dtype == "i1":
            raise Invalid("an axis is wanted")
        no_fp8(a)
        data = function(a.exact().data, axis=axis, keepdims=keep)
        return settled("i32", data.astype(np.int32), undef=_undef_along(a, axis, keep))


_index_of("argmax", np.argmax)
_index_of("argmin", np.argmin)


def _bitwise(name, function):
    @operation(name, "tl." + name + "({0}, axis={axis}, keep_dims={keep})")
    def run(a, axis, keep):
        axes = _axes(a, axis)
        if a.format.is_float or a.dtype == "i1":
            raise Invalid("integers are wanted")
        data = function.reduce(a.data, axis=axes, keepdims=keep, dtype=a.data.dtype)
        return settled(a.dtype, data, undef=_undef_along(a, axes, keep))


_bitwise("xor_sum", np.bitwise_xor)
_bitwise("reduce_or", np.bitwise_or)

ADD_OF_PAIRS = '''@triton.jit
def add_pairs(a0, a1, b0, b1):
    return a0 + b0, a1 ^ b1
'''


@operation("reduce_pairs", "tl.reduce(({0}, {1}), {axis}, add_pairs)", results=2, helper=ADD_OF_PAIRS)
def _reduce_pairs(a, b, axis):
    _axes(a, axis)
    if not a.format.is_int or not b.format.is_int or a.shape != b.shape or axis is None:
        raise Invalid("integers are wanted")
    undef = _undef_along(a, axis, False), _undef_along(b, axis, False)
    return (settled(a.dtype, a.data.sum(axis=axis, dtype=a.data.dtype), undef=undef[0]),
            settled(b.dtype, np.bitwise_xor.reduce(b.data, axis=axis, dtype=b.data.dtype), undef=undef[1]))


def along(a, axis, reverse, function):
    turned = (lambda x: np.flip(x, axis)) if reverse else (lambda x: x)
    return turned(function(turned(a)))


def _scan_marks(a, axis, reverse):
    return None if a.undef is None else along(a.undef, axis, reverse, lambda x: np.logical_or.accumulate(x, axis=axis))


@operation("cumsum", "tl.cumsum({0}, axis={axis}, reverse={reverse})")
def _cumsum(a, axis, reverse):
    _axes(a, axis)
    no_fp8(a)
    if a.dtype == "i1":
        raise Invalid("arithmetic of bool")
    a = converted(a, "fp32" if a.dtype == "bf16" else _summed(a.dtype))
    undef = _scan_marks(a, axis, reverse)
    with np.errstate(over="ignore"):
        data = along(a.data, axis, reverse, lambda x: np.cumsum(x, axis=axis, dtype=a.data.dtype))
    if not a.format.is_float:
        return settled(a.dtype, data, undef=undef)
    if a.err is None and adds_exactly(a.dtype, a.data, axis):
        return settled(a.dtype, rounded(a.dtype, data), None, undef)
    bound = np.broadcast_to(a.bound, a.shape)
    bound = along(bound + (np.abs(a.data) + bound) * a.shape[axis] * a.format.unit, axis, reverse, lambda x: np.cumsum(x, axis=axis))
    return settled(a.dtype, rounded(a.dtype, data), bound, undef)


@operation("cumprod", "tl.cumprod({0}, axis={axis}, reverse={reverse})")
def _cumprod(a, axis, reverse):
    _axes(a, axis)
    if a.format.is_float or a.format.bits < 32:
        raise Invalid("integers are wanted")
    with np.errstate(over="ignore"):
        data = along(a.data, axis, reverse, lambda x: np.cumprod(x, axis=axis, dtype=a.data.dtype))
    return settled(a.dtype, data, undef=_scan_marks(a, axis, reverse))


LINEAR = '''@triton.jit
def linear(a0, a1, b0, b1):
    return b0 * a0, b0 * a1 + b1
'''


@operation("scan_linear", "tl.associative_scan(({0}, {1}), {axis}, linear, reverse={reverse})", results=2, helper=LINEAR)
def _scan_linear(a, b, axis, reverse):
    _axes(a, axis)
    if not a.format.is_int or a.dtype != b.dtype or a.shape != b.shape or a.format.bits < 32:
        raise Invalid("integers are wanted")
    undef = _scan_marks(Value("i1", a.data, undef=either(a, b)), axis, reverse)
    turned = [np.moveaxis(np.flip(x.data, axis) if reverse else x.data, axis, 0) for x in (a, b)]
    first, second = turned[0].copy(), turned[1].copy()
    with np.errstate(over="ignore"):
        for i in range(1, first.shape[0]):
            first[i], second[i] = turned[0][i] * first[i - 1], turned[0][i] * second[i - 1] + turned[1][i]
    back = [np.moveaxis(x, 0, axis) for x in (first, second)]
    return tuple(settled(a.dtype, np.ascontiguousarray(np.flip(x, axis) if reverse else x), undef=undef) for x in back)


LARGER = '''@triton.jit
def larger(a, b):
    return tl.where(a > b, a, b)
'''


@operation("scan_larger", "tl.associative_scan({0}, {axis}, larger, reverse={reverse})", helper=LARGER)
def _scan_larger(a, axis, reverse):
    _axes(a, axis)
    if a.dtype == "i1":
        raise Invalid("order of bool")
    no_fp8(a)
    data = along(a.exact().data, axis, reverse, lambda x: np.maximum.accumulate(x, axis=axis))
    return settled(a.dtype, data, undef=_scan_marks(a, axis, reverse))


# Helpers of the source

BOTH = '''@triton.jit
def both(a, b):
    return a + b, a - b
'''


@operation("both", "both({0}, {1})", results=2, helper=BOTH)
def _both(a, b):
    return _sum(a, b, 1), _sum(a, b, -1)


TWICE = '''@triton.jit
def repeated(a, TIMES: tl.constexpr):
    if TIMES == 0:
        return a
    return repeated(a + a, TIMES - 1)
'''


@operation("repeated", "repeated({0}, {times})", helper=TWICE)
def _repeated(a, times):
    for _ in range(times):
        a = _sum(a, a, 1)
    return a


# Products

TF32 = 2.0**-10  # cut, of 1


def _tf32(data):
    f = np.asarray(data, np.float32).view(np.uint32)
    return (f & np.uint32(0x1FFF)) == 0


@operation("dot", "tl.dot({0}, {1}{acc}{precision}{out})")
def _dot(a, b, c=None, precision=None, out=None):
    if len(a.shape) not in (2, 3) or a.shape[:-2] != b.shape[:-2] or len(b.shape) != len(a.shape) or a.shape[-1] != b.shape[-2]:
        raise Invalid("shapes that do not fit")
    m, n, k = a.shape[-2], b.shape[-1], a.shape[-1]
    fp8 = a.format.bits == 8 and a.format.is_float
    if k < (32 if a.format.bits == 8 else 16) or m < 16 or n < 16:
        raise Invalid("a short product")
    if a.dtype != b.dtype and not (fp8 and b.format.bits == 8 and b.format.is_float) or a.dtype not in FLOATS + ["i8", "fp8e4nv", "fp8e5"]:
        raise Invalid("operands of two types")
    a.defined(), b.defined()
    summed = "i32" if a.dtype == "i8" else "fp64" if a.dtype == "fp64" else out or "fp32"
    if c is not None and (c.dtype != summed or c.shape != (*a.shape[:-1], n)):
        raise Invalid("an accumulator of another type")
    if not a.format.is_float:
        data = np.matmul(a.data.astype(np.int32), b.data.astype(np.int32))
        return settled("i32", data if c is None else data + c.data, undef=None if c is None else c.undef)
    return _float_dot(a, b, c, precision, summed, k, fp8)


def _float_dot(a, b, c, precision, summed, k, fp8):
    magnitude = np.matmul(np.abs(a.data), np.abs(b.data))
    data = np.matmul(a.data, b.data)
    err = np.matmul(np.abs(a.data) + a.bound, np.broadcast_to(b.bound, b.shape)) + np.matmul(np.broadcast_to(a.bound, a.shape), np.abs(b.data))
    if c is not None:
        data, magnitude, err = data + c.data, magnitude + np.abs(c.data), err + c.bound
    if a.dtype == "fp32" and precision != "ieee" and not (_tf32(a.data).all() and _tf32(b.data).all()):
        err = err + magnitude * 2 * TF32
    everything = [a.data.reshape(-1), b.data.reshape(-1)] + ([] if c is None else [c.data.reshape(-1)])
    whole = all((x == np.trunc(x)).all() for x in everything)
    limit = 2.0 ** (12 if fp8 else FORMATS[summed].precision)
    if whole and not np.any(err) and (magnitude <= limit).all():
        return settled(summed, rounded(summed, data), None, None if c is None else c.undef)
    unit = 2.0**-13 if fp8 else max(FORMATS[summed].unit, 2.0**-22 if summed != "fp64" else 0)
    err = err + magnitude * unit * (k + 2)
    return settled(summed, rounded(summed, data), err, None if c is None else c.undef)
