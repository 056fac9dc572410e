"""Where arrays of any library lie: what csrc/arguments.c asks of objects that it does not know."""

_NUMPY = {"b1": "i1", "i1": "i8", "i2": "i16", "i4": "i32", "i8": "i64", "u1": "u8", "u2": "u16", "u4": "u32", "u8": "u64",
          "f2": "fp16", "f4": "fp32", "f8": "fp64"}
# torch's, and those of libraries that name theirs alike
_NAMES = {"bool": "i1", "int8": "i8", "int16": "i16", "int32": "i32", "int64": "i64", "uint8": "u8", "uint16": "u16", "uint32": "u32",
          "uint64": "u64", "float16": "fp16", "bfloat16": "bf16", "float32": "fp32", "float64": "fp64", "float8_e4m3fn": "fp8e4nv",
          "float8_e5m2": "fp8e5", "int1": "i1", "float8e4nv": "fp8e4nv", "float8e5": "fp8e5",
          "float8e4b15": "fp8e4b15", "float8e4b8": "fp8e4b8", "float8e5b16": "fp8e5b16", "float8_e4m3fnuz": "fp8e4b8", "float8_e5m2fnuz": "fp8e5b16"}
_OWN = {*_NAMES.values()}
_DLPACK_PLACES = {1: "host", 3: "any", 13: "any"}  # by kind of device: the host's memory, and such as GPUs reach, too


def _extent(shape, strides, size):
    """(bytes before the first element, bytes from it on) of a view; strides in bytes."""
    if 0 in shape:
        return 0, 0
    before = sum(-stride * (count - 1) for count, stride in zip(shape, strides) if stride < 0)
    after = sum(stride * (count - 1) for count, stride in zip(shape, strides) if stride > 0)
    return before, after + size


def _interface(described, array):
    """Of NumPy's array interface, and of CUDA's."""
    kind = described["typestr"]
    name = _NUMPY.get(kind[1:])
    if name is None or kind[0] == ">":
        name = _NAMES.get(str(getattr(array, "dtype", "")), None)  # such as ml_dtypes' bfloat16, void to the interface
        if name is None or kind[0] == ">":
            raise TypeError(f"no kernel has elements of type {getattr(array, 'dtype', kind)}")
    shape, size = described["shape"], int(kind[2:])
    strides = described.get("strides")
    if strides is None:
        strides, step = [], size
        for count in reversed(shape):
            strides.insert(0, step)
            step *= count
    address, read_only = described["data"]
    return address or 0, name, shape, strides, size, bool(read_only)


def _owner(array):
    """The NumPy array whose memory a view is of, as far as NumPy knows."""
    while type(array.base) is type(array) or hasattr(array.base, "__array_interface__"):
        array = array.base
    return array


def _numpy(array):
    described = array.__array_interface__
    address, name, shape, strides, size, read_only = _interface(described, array)
    owner = _owner(array) if hasattr(array, "base") else array
    if owner is not array:
        begin, _, owner_shape, owner_strides, owner_size, _ = _interface(owner.__array_interface__, owner)
        before, after = _extent(owner_shape, owner_strides, owner_size)
    else:
        begin, (before, after) = address, _extent(shape, strides, size)
    return address, name, begin - before, before + after, read_only


def element(dtype):
    """"fp32" of torch's, of triton.language's, and of those that are called alike."""
    name = str(dtype).rpartition(".")[2]
    name = _NAMES.get(name) or (name if name in _OWN else None)
    if name is None:
        raise TypeError(f"no kernel has elements of type {dtype}")
    return name


def _torch(tensor):
    name = element(tensor.dtype)
    address = tensor.data_ptr()
    if getattr(tensor, "is_cuda", False):
        return address, name, 0, 0, False
    base = getattr(tensor, "base", None)
    holder = base if base is not None and hasattr(base, "data_ptr") else tensor  # of triton.reinterpret
    if hasattr(holder, "untyped_storage"):
        storage = holder.untyped_storage()
        return address, name, storage.data_ptr(), storage.nbytes(), False
    return address, name, address, getattr(holder, "nbytes", 0), False


def _dlpack(array):
    """Of what has __dlpack__, such as JAX's arrays; the last item keeps the memory."""
    from tilec import _tilec

    return _tilec.dlpack(array)


def is_scalar(value):
    """Whether it is a number of NumPy's, which says that it is an array of memory that is gone the next moment."""
    return hasattr(value, "__array_interface__") and hasattr(value, "item") and not hasattr(value, "__setitem__")


def device_of(value):
    """"host", the number of a GPU, "cuda" for one that does not say which, "any" for memory that all reach or that there is none of;
    None: it is no array."""
    if hasattr(value, "data_ptr"):
        if getattr(value, "is_cuda", False):
            return value.device.index
        device = getattr(value, "device", None)
        if device is None:
            return "host" if value.data_ptr() and hasattr(value, "nbytes") else "any"
        kind = str(device).partition(":")[0]
        if kind == "cuda":  # a wrapper of one
            return getattr(device, "index", None) if getattr(device, "index", None) is not None else "cuda"
        return "any" if kind == "meta" or _is_pinned(value) else "host"
    if hasattr(value, "__cuda_array_interface__"):
        return "cuda"
    if hasattr(value, "__array_interface__"):
        return None if is_scalar(value) else "host"
    if hasattr(value, "__dlpack_device__"):
        kind, index = value.__dlpack_device__()
        return int(index) if kind == 2 else _DLPACK_PLACES.get(int(kind), "host")
    return None


def _is_pinned(tensor):
    from sys import modules

    return "torch" in modules and modules["torch"].cuda.is_initialized() and hasattr(tensor, "is_pinned") and tensor.is_pinned()


def describe(array):
    """(address, element type, its storage's address, the storage's bytes, read only): of memory of the host with its storage, of a
    GPU's with 0 and 0; a sixth item, if there is one, is to be kept as long. TypeError: it is no array."""
    if hasattr(array, "data_ptr"):
        return _torch(array)
    if is_scalar(array):
        raise TypeError(f"{array!r} is a number of {type(array).__module__}, not an array: give its item()")
    if hasattr(array, "__cuda_array_interface__"):
        address, name, *_, read_only = _interface(array.__cuda_array_interface__, array)
        return address, name, 0, 0, read_only
    if hasattr(array, "__array_interface__"):
        return _numpy(array)
    if hasattr(array, "__dlpack__"):
        return _dlpack(array)
    raise TypeError(f"failed to specialize argument of type: {type(array).__name__}; it is neither a number nor an array")
