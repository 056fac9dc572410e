"""Names of types in Triton's signatures, and paths into nested arguments."""
import functools

TRITON_MAX_TENSOR_NUMEL = 1 << 20


def _sequences():
    from tilec.triton.language import core

    return list, tuple, core.tuple, core.tuple_type


def is_iterable(x):
    return isinstance(x, _sequences())


def get_iterable_path(iterable, path):
    """The item at a path of indices: ((), x) is x itself."""
    return functools.reduce(lambda items, index: items[index], path, iterable)


def set_iterable_path(iterable, path, val):
    """Puts `val` at a path, whose last step is into a tl.tuple."""
    from tilec.triton.language import core

    assert path, "an empty path names nothing that could be replaced"
    *outer, last = path
    holder = get_iterable_path(iterable, outer)
    assert isinstance(holder, core.tuple), f"items of {type(holder).__name__} cannot be replaced"
    holder._setitem(last, val)


def apply_with_path(value, fn, _path=()):
    """fn(path, leaf) for every leaf, in order."""
    if not is_iterable(value):
        fn(_path, value)
        return
    for index, item in enumerate(value):
        apply_with_path(item, fn, (*_path, index))


def find_paths_if(iterable, pred):
    """Paths of the leaves of which pred(path, leaf) holds, in order."""
    found = []
    apply_with_path(iterable, lambda path, leaf: found.append(path) if pred(path, leaf) else None)
    return found


def is_power_of_two(x):
    return x > 0 and x & (x - 1) == 0


def validate_block_shape(shape):
    """Elements of a tile of that shape; TypeError or ValueError where there can be none."""
    numel = 1
    for i, size in enumerate(shape):
        if not isinstance(size, int):
            raise TypeError(f"Shape element {i} must have type `constexpr[int]`, got `constexpr[{type(size)}]")
        if not is_power_of_two(size):
            raise ValueError(f"Shape element {i} must be a power of 2")
        numel *= size
    if numel > TRITON_MAX_TENSOR_NUMEL:
        raise ValueError(f"numel ({numel}) exceeds triton maximum tensor numel ({TRITON_MAX_TENSOR_NUMEL})")
    return numel


# By a type's name in signatures: its bits, and what frameworks, annotations and tl.dtype call it.
_TYPES = {
    "u1": (1, "bool int1 uint1 i1"),
    "fp8e4nv": (8, "float8e4nv float8_e4m3fn"),
    "fp8e5": (8, "float8e5 float8_e5m2"),
    "fp8e4b15": (8, "float8e4b15"),
    "fp8e4b8": (8, "float8e4b8 float8_e4m3fnuz"),
    "fp8e5b16": (8, "float8e5b16 float8_e5m2fnuz"),
    "fp16": (16, "half float16"),
    "bf16": (16, "bfloat16"),
    "fp32": (32, "float float32"),
    "fp64": (64, "double float64"),
    "i8": (8, "int8"),
    "i16": (16, "int16"),
    "i32": (32, "int int32"),
    "i64": (64, "int64"),
    "u8": (8, "uint8"),
    "u16": (16, "uint16"),
    "u32": (32, "uint32"),
    "u64": (64, "uint64"),
    "void": (0, ""),
}
type_canonicalisation_dict = {name: short for short, (_, names) in _TYPES.items() for name in (*names.split(), short)}
BITWIDTH_DICT = {name: _TYPES[short][0] for name, short in type_canonicalisation_dict.items()}


def canonicalize_dtype(dtype):
    """"fp32" of torch.float32, tl.float32, numpy's or their names."""
    return type_canonicalisation_dict[str(dtype).split(".")[-1]]


def canonicalize_ptr_dtype(dtype, is_const):
    return ("*k" if is_const else "*") + canonicalize_dtype(dtype)


def get_primitive_bitwidth(dtype):
    return BITWIDTH_DICT[dtype]


def is_namedtuple(val):
    """Of a class, not of its values."""
    return isinstance(val, type) and issubclass(val, tuple) and hasattr(val, "_fields")


def _tuple_create(arg, contents):
    """A tuple of the class of `arg`: named ones take their items one by one."""
    return type(arg)(*contents) if hasattr(arg, "_fields") else type(arg)(contents)
