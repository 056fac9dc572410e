"""Operations on whole tiles: shapes, reductions, scans, helpers of the source, products."""
import numpy as np

from arithmetic import sum_of
from formats import FLOATS, FORMATS, rounded
from table import operation
from values import Invalid, Pointer, Value, converted, either, settled, spread

# Shapes

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
    return settled(a.dtype, function(a.data, b.data), err, undef, None if not a.format.is_float else ~np.isfinite(function(a.data, b.data)))


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
    special = ~np.isfinite(data)
    if special.any():  # sums with infinities and NaN are the same in each order, if those of the others stay finite
        data, special = np.where(special, 0.0, data), special.any(axis=axis, keepdims=keep)
    else:
        special = None
    if err is None and adds_exactly(dtype, data, axis):
        return settled(dtype, rounded(dtype, total), None, undef, special)
    count = data.size / max(1, total.size)
    bound = np.broadcast_to(0.0 if err is None else err, data.shape)
    magnitude = (np.abs(data) + bound).sum(axis=axis, keepdims=keep)
    if (magnitude > FORMATS[dtype].largest / 2).any():
        raise Invalid("a sum that may overflow")
    bound = bound.sum(axis=axis, keepdims=keep) + magnitude * count * FORMATS[dtype].unit
    return settled(dtype, rounded(dtype, total), bound, undef, special)


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
        data = function.reduce(a.data, axis=axes, keepdims=keep)
        return settled(a.dtype, data, err, _undef_along(a, axes, keep), ~np.isfinite(data))


_reduced("max", np.fmax)
_reduced("min", np.fmin)


def _found(data, axis, keep, best):
    """The lowest index of the best number; NaN loses, and of nothing else index 0 is found."""
    return np.argmax(data == best.reduce(data, axis=axis, keepdims=True), axis=axis, keepdims=keep)


def _index_of(name, best):
    @operation(name, "tl." + name + "({0}, axis={axis}, keep_dims={keep})")
    def run(a, axis, keep):
        _axes(a, axis)
        if axis is None or a.dtype == "i1":
            raise Invalid("an axis is wanted")
        no_fp8(a)
        data = _found(a.exact().data, axis, keep, best)
        return settled("i32", data.astype(np.int32), undef=_undef_along(a, axis, keep))


_index_of("argmax", np.fmax)
_index_of("argmin", np.fmin)


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
    if np.isnan(a.exact().data).any():
        raise Invalid("an order that NaN is not in")
    data = along(a.data, axis, reverse, lambda x: np.maximum.accumulate(x, axis=axis))
    return settled(a.dtype, data, undef=_scan_marks(a, axis, reverse), special=~np.isfinite(data))


# Helpers of the source

BOTH = '''@triton.jit
def both(a, b):
    return a + b, a - b
'''


@operation("both", "both({0}, {1})", results=2, helper=BOTH)
def _both(a, b):
    return sum_of(a, b, 1), sum_of(a, b, -1)


TWICE = '''@triton.jit
def repeated(a, TIMES: tl.constexpr):
    if TIMES == 0:
        return a
    return repeated(a + a, TIMES - 1)
'''


@operation("repeated", "repeated({0}, {times})", helper=TWICE)
def _repeated(a, times):
    for _ in range(times):
        a = sum_of(a, a, 1)
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
