"""Operations element by element: values from nothing, arithmetic, comparisons, conversions."""
import numpy as np

from formats import FLOATS, FORMATS, from_bits, rounded, to_bits
from table import elementwise, operation
from values import (Invalid, Pointer, Value, as_value, converted, either, float_result, not_finite, paired, settled, spread)

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

def sum_of(a, b, sign):
    a, b = paired(a, b)
    elementwise(a, b)
    if not a.format.is_float:
        if a.dtype == "i1":
            raise Invalid("arithmetic of bool")
        with np.errstate(over="ignore"):
            return settled(a.dtype, a.data + b.data if sign > 0 else a.data - b.data, undef=either(a, b))
    exact = a.data + sign * b.data
    return float_result(a.dtype, exact, a.bound + b.bound, either(a, b), True, not_finite(a, b))  # one of them may be a product


@operation("add", "{0} + {1}")
def _add(a, b):
    if isinstance(a, Pointer):
        if not isinstance(b, Value):
            b = as_value(b)
        if not b.format.is_int:
            raise Invalid("an offset that is no integer")
        elementwise(a, b)
        return Pointer(a.array, a.data + b.data.astype(np.int64), either(a, b))
    return sum_of(a, b, 1)


@operation("sub", "{0} - {1}")
def _sub(a, b):
    return sum_of(a, b, -1)


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
        return float_result(a.dtype, a.data * b.data, product_error(a, b), either(a, b), True, not_finite(a, b))


def product_error(a, b):
    """Of a * b; infinity times what may be 0 or of either sign has no bound."""
    for x, y in ((a, b), (b, a)):
        if (np.isinf(x.data) & (y.bound > 0) & (np.abs(y.data) <= y.bound)).any():
            raise Invalid("infinity times what may be 0")
    err = [np.where(np.isfinite(x.data), np.abs(x.data) * y.bound, 0) for x, y in ((a, b), (b, a))]
    return err[0] + err[1] + a.bound * b.bound


@operation("fma", "tl.fma({0}, {1}, {2})")
def _fma(a, b, c):
    for x in (a, b, c):
        if not isinstance(x, Value) or not x.format.is_float or x.dtype != a.dtype:
            raise Invalid("fma of one type of float")
    elementwise(a, b, c)
    with np.errstate(over="ignore"):
        product = a.data * b.data
        if a.dtype == "fp64" and (rounded("fp32", product)[np.isfinite(product)] != product[np.isfinite(product)]).any():
            raise Invalid("a product that float64 does not hold")
        exact = product + c.data
        inexact = np.isfinite(exact) & ((exact - product != c.data) | (exact - c.data != product))  # rounded twice from here
        err = product_error(a, b) + c.bound + np.where(inexact, np.abs(exact) * FORMATS[a.dtype].unit * 2, 0)
        return float_result(a.dtype, exact, err, either(a, b, c), special=not_finite(a, b, c))


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
    err = np.where(np.isfinite(exact) & np.isfinite(divisor), (a.bound + np.abs(exact) * b.bound) / low, 0)
    if not correctly and a.dtype != "fp64":
        err = err + np.where(np.isfinite(divisor), np.abs(exact) * 2.0**-22 + 2.0**-140, 0)
        if not np.all(~np.isfinite(divisor) | (np.abs(divisor) < 2.0**100) & (np.abs(divisor) > 2.0**-100)):
            raise Invalid("a divisor that approximate division does not take")
    return float_result(a.dtype, exact, err, undef, special=not_finite(a, b))


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
    if any(isinstance(x, float) or isinstance(x, Value) and x.format.is_float for x in (a, b)):
        return _remainder(a, b)
    dtype, _, rest, undef = _quotient(a, b)
    return settled(dtype, rest, undef=undef)


def _remainder(a, b):
    """C fmod, exact; of floats of 16 bits it is fp32, as their quotient is."""
    a, b = paired(a, b)
    if a.format.bits == 16:
        a, b = converted(a, "fp32"), converted(b, "fp32")
    elementwise(a, b)
    if (b.exact().data == 0).any():
        raise Invalid("division by 0")
    return settled(a.dtype, np.fmod(a.exact().data, b.data), undef=either(a, b), special=not_finite(a, b))


@operation("cdiv", "tl.cdiv({0}, {1})")
def _cdiv(a, b):
    if not isinstance(a, Value):
        raise Invalid("two numbers")
    return _floordiv(sum_of(a, sum_of(b, 1, -1) if isinstance(b, Value) else b - 1, 1), b)


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


@operation("popc", "tl.math.popc({0})")
def _popc(a):
    if a.dtype not in ("i32", "i64"):
        raise Invalid("popc of 32 or 64 signed bits")
    ones = np.unpackbits(a.data[..., None].copy().view("u1"), axis=-1).sum(-1)
    return settled("i32", ones.astype(np.int32), undef=a.undef)


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
        bound = a.bound + b.bound
        near = (np.abs(a.data.astype(np.float64) - b.data.astype(np.float64)) <= bound) & (bound > 0)
        if (a.err is not None or b.err is not None) and near.any():
            raise Invalid("a comparison of rounded numbers")
        return settled("i1", function(a.data, b.data), undef=either(a, b))


for _name, _sign, _function in (("lt", "<", np.less), ("le", "<=", np.less_equal), ("gt", ">", np.greater),
                                ("ge", ">=", np.greater_equal), ("eq", "==", np.equal), ("ne", "!=", np.not_equal)):
    _compare(_name, _sign, _function)


def _extreme(name, builtin, function, options=""):
    @operation(name, "tl." + builtin + "({0}, {1}" + options + ")")
    def run(a, b):
        a, b = paired(*(x if isinstance(x, Value) else as_value(x) for x in (a, b)))  # numbers are not weak here
        if a.dtype == "i1":
            raise Invalid("order of bool")
        if a.dtype == "bf16":
            a, b = converted(a, "fp32"), converted(b, "fp32")
        elementwise(a, b)
        return settled(a.dtype, function(a.data, b.data), np.maximum(a.bound, b.bound), either(a, b), not_finite(a, b))


NAN_WINS = ", propagate_nan=tl.PropagateNan.ALL"
_extreme("maximum", "maximum", np.fmax)
_extreme("minimum", "minimum", np.fmin)
_extreme("maximum_nan", "maximum", np.maximum, NAN_WINS)
_extreme("minimum_nan", "minimum", np.minimum, NAN_WINS)


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
    return settled(a.dtype, np.where(condition.data, a.data, b.data), err, undef, not_finite(a, b))


@operation("neg", "-{0}")
def _neg(a):
    if a.dtype == "i1" or a.format.bits == 8 and a.format.is_float:
        raise Invalid("no negative")
    with np.errstate(over="ignore"):
        return settled(a.dtype, -a.data, a.err, a.undef, not_finite(a))


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
    return settled(a.dtype, np.abs(a.data), a.err, a.undef, not_finite(a))


def _whole(name, function):
    @operation(name, "tl." + name + "({0})")
    def run(a):
        if a.dtype not in ("fp32", "fp64"):
            raise Invalid("floats of 32 or 64 bits are wanted")
        return settled(a.dtype, function(a.exact().data), undef=a.undef, special=not_finite(a))


_whole("floor", np.floor)
_whole("ceil", np.ceil)


@operation("clamp", "tl.clamp({0}, {1}, {2})")
def _clamp(a, low, high):
    if not isinstance(a, Value) or a.dtype not in FLOATS or isinstance(low, Value) or isinstance(high, Value):
        raise Invalid("floats are wanted")
    if a.dtype != "fp64":
        a = converted(a, "fp32")
    low, high = (float(rounded(a.dtype, x)) for x in (low, high))
    turned = low == -high  # decides what NaN becomes
    data = np.fmax(np.fmin(a.data, high), low) if turned else np.fmin(np.fmax(a.data, low), high)
    return settled(a.dtype, data, None if a.err is None else np.broadcast_to(a.err, a.shape), a.undef)


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
    if a.format.is_float and not np.isfinite(a.data).all():
        raise Invalid("the bits of NaN")
    bits = to_bits(a.dtype, a.data.reshape(-1)).view(target.stored)
    data = (from_bits(dtype, bits) if target.is_float else bits).reshape(a.shape)
    if target.is_float and not np.isfinite(data).all():
        raise Invalid("a float that is not finite")
    return settled(dtype, data, undef=a.undef)


# Promises, which hold

def _dims(a, values):
    if not a.format.is_int or len(values) != max(1, len(a.shape)) or a.undef is not None:
        raise Invalid("nothing to promise")


@operation("multiple_of", "tl.multiple_of({0}, {values})")
def _multiple_of(a, values):
    """Of every element: a run of the compiler's may be shorter than what follows itself."""
    _dims(a, values)
    if any(np.any(a.data.astype(object) % value != 0) for value in values):
        raise Invalid("no multiple")
    return a


def _runs(a, dim, length):
    """Groups of `length` along a dimension: first elements, and what the others are above them."""
    if a.shape[dim] % length:
        raise Invalid("runs that do not fit")
    data = np.moveaxis(a.data.astype(object), dim, -1)
    data = data.reshape(*data.shape[:-1], a.shape[dim] // length, length)
    return data[..., 0], data - data[..., :1]


@operation("runs", "tl.max_contiguous(tl.multiple_of({0}, {values}), {lengths})")
def _aligned_runs(a, values, lengths):
    _dims(a, values)
    _dims(a, lengths)
    for d in range(len(a.shape)):
        first, above = _runs(a, d, lengths[d])
        if (first % values[d] != 0).any() or (above != np.arange(lengths[d])).any():
            raise Invalid("no such runs")
    return a


@operation("constancy", "tl.max_constancy({0}, {lengths})")
def _constancy(a, lengths):
    _dims(a, lengths)
    for d in range(len(a.shape)):
        if (_runs(a, d, lengths[d])[1] != 0).any():
            raise Invalid("no such runs")
    return a
