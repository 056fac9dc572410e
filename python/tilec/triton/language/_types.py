"""Types of values in kernels, and the values that the host has as well: constexpr, tuples, slices."""
import builtins
import operator
from enum import Enum

from tilec.triton._utils import _tuple_create, get_primitive_bitwidth, validate_block_shape


class base_type:
    """Of the types of values in a kernel."""

    def __eq__(self, other):
        raise NotImplementedError("Types must implement __eq__")

    def __ne__(self, other):
        return not self == other

    def mangle(self):
        raise NotImplementedError(f"{type(self).__name__} has no short name")


class base_value:
    """Of what a variable in a kernel may hold."""


class constexpr_type(base_type):
    """The type of one value that is known at compile time."""

    def __init__(self, value):
        self.value = value

    def __eq__(self, other):
        return isinstance(other, constexpr_type) and self.value == other.value

    def __hash__(self):
        return hash(self.value)

    def __repr__(self):
        return f"constexpr_type[{self.value}]"

    def mangle(self):
        return repr(self)


class constexpr(base_value):
    """A value that is known at compile time; around another one, that one's. Operators give constexpr again."""

    def __init__(self, value):
        while isinstance(value, constexpr):
            value = value.value
        self.value = value
        self.type = constexpr_type(value)

    def __repr__(self):
        return f"constexpr[{self.value}]"

    def __hash__(self):
        return hash((self.value, self.type))

    def __index__(self):
        return self.value

    def __bool__(self):
        return bool(self.value)

    def __iter__(self):
        return iter(self.value)

    def __call__(self, *args, **keywords):
        return self.value(*args, **keywords)

    def __getitem__(self, index):
        return self.value.__getitem__(_unwrap_if_constexpr(index))

    def __not__(self):
        return constexpr(not self.value)

    def logical_and(self, other):
        return constexpr(self.value and _unwrap_if_constexpr(other))

    def logical_or(self, other):
        return constexpr(self.value or _unwrap_if_constexpr(other))


def _constexpr_operators():
    """Those that Triton's has: the others are TypeErrors there, too."""

    def unary(operation):
        return lambda self: constexpr(operation(self.value))

    def binary(operation):
        return lambda self, other: constexpr(operation(self.value, _unwrap_if_constexpr(other)))

    def reflected(operation):
        return lambda self, other: constexpr(operation(_unwrap_if_constexpr(other), self.value))

    for kind, prefix, names in ((unary, "", "neg pos invert"),
                                (binary, "", "add sub mul mod truediv floordiv gt ge lt le eq ne and or xor pow rshift lshift"),
                                (reflected, "r", "add sub mul truediv floordiv gt ge lt le pow")):
        for name in names.split():
            method = kind(getattr(operator, f"__{name}__"))
            method.__name__ = f"__{prefix}{name}__"
            setattr(constexpr, method.__name__, method)


_constexpr_operators()


def _unwrap_if_constexpr(o):
    """Without constexpr around it, nor around the items of lists and tuples."""
    if isinstance(o, constexpr):
        return o.value
    if isinstance(o, list):
        return [_unwrap_if_constexpr(x) for x in o]
    if isinstance(o, builtins.tuple):
        return _tuple_create(o, [_unwrap_if_constexpr(x) for x in o])
    if isinstance(o, tuple):
        return tuple([_unwrap_if_constexpr(x) for x in o], o.type)
    return o


def _normalize_tuple(t):
    """Lists and tuples, however deep, as tl.tuple of plain values."""
    t = _unwrap_if_constexpr(t)
    return tuple([_normalize_tuple(x) for x in t]) if isinstance(t, (list, builtins.tuple)) else t


def _unwrap_shape(shape):
    return [_unwrap_if_constexpr(size) for size in _unwrap_if_constexpr(shape)]


def _shape_check_impl(shape):
    shape = _unwrap_shape(shape)
    validate_block_shape(shape)
    return shape


def _unwrap_iterable(x):
    """Of f((a, b)) and f(a, b) the same: (a, b)."""
    x = _unwrap_if_constexpr(x)
    if len(x) == 1:
        try:
            iter(x[0])
            return x[0]
        except TypeError:
            pass
    return x


# By name: bits of the fraction, bias of the exponent.
_FLOATS = {"fp8e4b15": (3, 15), "fp8e4nv": (3, 7), "fp8e4b8": (3, 8), "fp8e5": (2, 15), "fp8e5b16": (2, 16), "fp16": (10, 15),
           "bf16": (7, 127), "fp32": (23, 127), "fp64": (52, 1023)}


class dtype(base_type):
    """The type of a scalar, by Triton's name for it: dtype("fp32")."""

    SINT_TYPES = ["int8", "int16", "int32", "int64"]
    UINT_TYPES = ["int1", "uint8", "uint16", "uint32", "uint64"]
    FP_TYPES = [*_FLOATS]
    STANDARD_FP_TYPES = ["fp16", "bf16", "fp32", "fp64"]
    OTHER_TYPES = ["void"]

    class SIGNEDNESS(Enum):
        SIGNED = 0
        UNSIGNED = 1

    class KIND(Enum):
        BOOLEAN = 0
        INTEGRAL = 1
        FLOATING = 2

    def __init__(self, name):
        name = _unwrap_if_constexpr(name)
        self.name = name
        assert dtype.is_dtype(name), name
        self.primitive_bitwidth = get_primitive_bitwidth(name)
        self.itemsize = self.primitive_bitwidth // 8
        if name in _FLOATS:
            self.fp_mantissa_width, self.exponent_bias = _FLOATS[name]
        elif self.is_int():
            self.int_bitwidth = self.primitive_bitwidth
            self.int_signedness = dtype.SIGNEDNESS.SIGNED if self.is_int_signed() else dtype.SIGNEDNESS.UNSIGNED

    @staticmethod
    def is_dtype(type_str):
        return type_str in dtype.SINT_TYPES + dtype.UINT_TYPES + dtype.FP_TYPES + dtype.OTHER_TYPES

    def is_fp8(self):
        return "fp8" in self.name

    def is_floating(self):
        return self.name in dtype.FP_TYPES

    def is_standard_floating(self):
        return self.name in dtype.STANDARD_FP_TYPES

    def is_int_signed(self):
        return self.name in dtype.SINT_TYPES

    def is_int_unsigned(self):
        return self.name in dtype.UINT_TYPES

    def is_int(self):
        return self.is_int_signed() or self.is_int_unsigned()

    def is_bool(self):
        return self.name == "int1"

    def is_void(self):
        return self.name == "void"

    @staticmethod
    def is_block():
        return False

    @staticmethod
    def is_ptr():
        return False

    @staticmethod
    def is_const():
        return False

    def kind(self):
        """bool before integers before floats."""
        if self.is_bool():
            return dtype.KIND.BOOLEAN
        if self.is_int():
            return dtype.KIND.INTEGRAL
        assert self.is_floating(), f"{self} is no number"
        return dtype.KIND.FLOATING

    def get_int_max_value(self):
        assert self.is_int(), f"{self} is no integer"
        return (1 << (self.int_bitwidth - self.is_int_signed())) - 1

    def get_int_min_value(self):
        assert self.is_int(), f"{self} is no integer"
        return -(1 << (self.int_bitwidth - 1)) if self.is_int_signed() else 0

    def __eq__(self, other):
        other = _unwrap_if_constexpr(other)
        return isinstance(other, dtype) and self.name == other.name

    def __hash__(self):
        return hash((self.name,))

    @property
    def scalar(self):
        return self

    def __str__(self):
        return self.name

    def codegen_name(self):
        """"float32" of fp32: its name in tl."""
        for short, long in (("fp", "float"), ("bf", "bfloat")):
            if self.name.startswith(short):
                return long + self.name[2:]
        return self.name

    @property
    def cache_key_part(self):
        return self.name

    def __repr__(self):
        return "triton.language." + self.codegen_name()

    def mangle(self):
        if self.is_int():
            return ("i" if self.is_int_signed() else "u") + str(self.int_bitwidth)
        return "V" if self.is_void() else self.name

    def with_element_ty(self, element_ty):
        assert not self.is_block(), f"{self} is a tile's type"
        return element_ty


def _dtype_predicates():
    def predicate(name):
        return lambda self: self.name == name

    for name in ("int1", *dtype.SINT_TYPES, *dtype.UINT_TYPES[1:], *dtype.FP_TYPES):
        setattr(dtype, f"is_{name}", predicate(name))


_dtype_predicates()


class pointer_type(dtype):
    """A pointer to elements of a type; `const`: nothing is stored through it."""

    def __init__(self, element_ty, address_space=1, const=False):
        element_ty = _unwrap_if_constexpr(element_ty)
        if not isinstance(element_ty, dtype):
            raise TypeError(f"element_ty has type `{type(element_ty).__name__}`; expected `dtype`.")
        self.element_ty = element_ty
        self.address_space = address_space
        self.const = const
        self.name = f"{'const_' if const else ''}pointer<{element_ty}>"

    def __repr__(self):
        return self.name

    def is_ptr(self):
        return True

    def is_const(self):
        return self.const

    def _fields(self):
        return self.element_ty, self.address_space, self.const

    def __eq__(self, other):
        other = _unwrap_if_constexpr(other)
        return isinstance(other, pointer_type) and self._fields() == other._fields()

    def __hash__(self):
        return hash(self._fields())

    def mangle(self):
        return "P" + self.element_ty.mangle()


class block_type(dtype):
    """A tile of elements of a type. `shape`: powers of two."""

    def __init__(self, element_ty, shape):
        self.element_ty = element_ty
        assert isinstance(shape, (list, tuple, builtins.tuple)), f"a shape is a list or a tuple, not {shape!r}"
        self.shape = tuple(_unwrap_shape(shape))
        if not len(self.shape):
            raise TypeError("0d block_type is forbidden")
        self.numel = validate_block_shape(self.shape)
        self.name = f"<{self.shape}, {element_ty}>"

    def __repr__(self):
        return self.name

    def is_block(self):
        return True

    def get_block_shapes(self):
        return self.shape

    def with_element_ty(self, scalar_ty):
        return block_type(scalar_ty, self.shape)

    def __eq__(self, other):
        return isinstance(other, block_type) and self.element_ty == other.element_ty and self.shape.values == other.shape.values

    def __hash__(self):
        return hash((self.element_ty, *self.shape))

    @property
    def scalar(self):
        return self.element_ty

    @property
    def nbytes(self):
        return self.numel * (self.element_ty.primitive_bitwidth // 8)

    def mangle(self):
        return f"{self.scalar.mangle()}S{'_'.join(map(str, self.shape))}S"


class tuple_type(base_type):
    """Of tl.tuple: the types of its items, and their names where it has such."""

    def __init__(self, types, fields=None):
        self.types = types
        self.fields = fields or [""] * len(types)
        self.name = "[" + ",".join(f"{field}:{type}" for field, type in zip(self.fields, self.types)) + "]"

    def __str__(self):
        return self.name

    def __iter__(self):
        return iter(self.types)

    def __getitem__(self, index):
        return self.types[index]

    def __eq__(self, other):
        return type(self) is type(other) and self.types == other.types and self.fields == other.fields

    def __hash__(self):
        return hash((*self.types, *self.fields))

    def mangle(self):
        return "T" + "_".join(type.mangle() for type in self.types) + "T"


class slice_type(dtype):
    def __init__(self):
        self.name = "slice_type"


def _scalars():
    """tl.float32 and the others, by their names there."""
    return {type.codegen_name(): type for type in map(dtype, dtype.SINT_TYPES + dtype.UINT_TYPES + dtype.FP_TYPES + dtype.OTHER_TYPES)}


globals().update(_scalars())
pi32_t = pointer_type(dtype("int32"))


def get_int_dtype(bitwidth, signed):
    """tl.int32 of (32, True); int1 has no sign."""
    name = "int1" if bitwidth == 1 else f"{'' if signed else 'u'}int{bitwidth}"
    if bitwidth not in (1, 8, 16, 32, 64):
        raise ValueError(f"Unsupported bitwidth {bitwidth} and signedness {signed}")
    return globals()[name]


def _type_for_tuple_values(values, fields=None):
    return tuple_type([constexpr_type(x) if isinstance(x, (int, float, dtype)) else x.type for x in values], fields)


class tuple(base_value):
    """A tuple in a kernel."""

    def __init__(self, args, type=None):
        self.values = [*args]
        if type is None:
            type = _type_for_tuple_values(self.values)
        self.type = type if isinstance(type, tuple_type) else tuple_type(type)

    def __getitem__(self, idx):
        if isinstance(idx, (slice, builtins.slice)):
            return tuple(self.values[idx.start:idx.stop:idx.step])
        idx = _unwrap_if_constexpr(idx)
        assert isinstance(idx, int), f"{idx!r} is no index of a tuple"
        return self.values[idx]

    def __getattr__(self, name):
        fields = self.__dict__["type"].fields if "type" in self.__dict__ else ()
        if name not in fields:
            raise AttributeError(f"'tuple' object has no attribute {name}")
        return self.values[fields.index(name)]

    def _setitem(self, idx, value):
        idx = _unwrap_if_constexpr(idx)
        assert isinstance(idx, int), f"{idx!r} is no index"
        self.values[idx] = value
        self.type = _type_for_tuple_values(self.values, self.type.fields)

    def __add__(self, other):
        return tuple(self.values + _normalize_tuple(other).values)

    def __mul__(self, other):
        assert isinstance(other, constexpr), f"tuples are repeated a constexpr number of times, not {other!r}"
        return tuple(self.values * other.value)

    def __eq__(self, other):
        return constexpr(self.values == _normalize_tuple(other).values)

    def __hash__(self):
        return hash((*self.values,))

    def __str__(self):
        return str([str(x) for x in self.values])

    def __repr__(self):
        return f"({', '.join(map(repr, self.values))})"

    def __iter__(self):
        return iter(self.values)

    def __len__(self):
        return len(self.values)


class slice:
    """start:stop:step in a kernel."""

    def __init__(self, start, stop, step):
        self.start, self.stop, self.step = start, stop, step
        self.type = slice_type()
