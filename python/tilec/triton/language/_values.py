"""Values that only kernels have, as the host names them: in annotations, in isinstance(), in functions marked as builtin."""
import math

from tilec.triton.language import _names
from tilec.triton.language._builtin import Builtin
from tilec.triton.language._types import base_type, base_value, constexpr, tuple


class tensor(base_value):
    """A tile or a scalar of a kernel. The host has it for annotations and isinstance(); where a function marked as builtin is given
    one, it knows type and shape."""

    def __init__(self, handle, type):
        self.handle = handle
        self.type = type
        self.dtype = type.scalar
        sizes = type.shape if type.is_block() else ()
        self.shape = tuple([constexpr(size) for size in sizes])
        self.numel = constexpr(math.prod(sizes))

    def __str__(self):
        return f"{self.dtype}[{', '.join(map(str, self.shape))}]"

    @property
    def T(self):
        raise ValueError("x.T works in kernels, not on the host")

    __hash__ = None


class tensor_descriptor_base_type(base_type):
    """Of descriptors of tensors from which tiles of a type are loaded."""

    def __init__(self, block_type):
        self.block_type = block_type

    def __str__(self):
        return f"tensor_descriptor<{self.block_type}>"

    def __eq__(self, other):
        return type(self) is type(other) and self.block_type == other.block_type

    def __hash__(self):
        return hash(self.block_type)

    def mangle(self):
        return "TD" + self.block_type.mangle()


class tensor_descriptor_type(tensor_descriptor_base_type):
    """The same with the types of its shape and strides."""

    def __init__(self, block_type, shape_type, strides_type):
        super().__init__(block_type)
        self.shape_type, self.strides_type = shape_type, strides_type

    def __eq__(self, other):
        return super().__eq__(other) and self.shape_type == other.shape_type and self.strides_type == other.strides_type

    __hash__ = tensor_descriptor_base_type.__hash__


class tensor_descriptor_base(base_value):
    """A descriptor whose shape and strides are not known."""

    def __init__(self, handle, block_type):
        self.handle = handle
        self.type = tensor_descriptor_base_type(block_type)

    @property
    def block_type(self):
        return self.type.block_type

    @property
    def block_shape(self):
        return self.type.block_type.shape

    @property
    def dtype(self):
        return self.type.block_type.element_ty

    def __str__(self):
        return str(self.type)


class tensor_descriptor(tensor_descriptor_base):
    """A tensor in memory, of which kernels load and store tiles."""

    def __init__(self, handle, shape, strides, block_type):
        super().__init__(handle, block_type)
        self.shape, self.strides = tuple(shape), tuple(strides)
        self.type = tensor_descriptor_type(block_type, self.shape.type, self.strides.type)


def _methods():
    """From the table; operators are functions of the language as the others are."""
    reflected = "add sub mul truediv floordiv mod and or xor lshift rshift gt ge lt le eq ne".split()
    for name in [*reflected, *("r" + name for name in reflected)]:
        setattr(tensor, f"__{name}__", Builtin(f"__{name}__", "self, other", __name__))
    for name, params in (("__neg__", "self"), ("__invert__", "self"), ("__not__", "self"), ("__getitem__", "self, slices"),
                         ("logical_and", "self, other"), ("logical_or", "self, other")):
        setattr(tensor, name, Builtin(name, params, __name__))
    for of, name, params in _names.METHODS:
        setattr(tensor_descriptor_base if of == "descriptor" else tensor, name, Builtin(name, params, __name__))


_methods()


class _Loop(base_value):
    """What `for` takes in a kernel; the host cannot iterate over it."""

    def __iter__(self):
        raise RuntimeError(f"tl.{type(self).__name__} can only be used in @triton.jit'd functions")

    def __next__(self):
        iter(self)

    def _set_bounds(self, arg1, arg2, step):
        """As Python's range: (end), (start, end), (start, end, step)."""
        self.start, self.end = (constexpr(0), arg1) if arg2 is None else (arg1, arg2)
        self.step = constexpr(1) if step is None else step


class range(_Loop):
    """A loop, with what the compiler is told about it."""

    def __init__(self, arg1, arg2=None, step=None, num_stages=None, loop_unroll_factor=None, disallow_acc_multi_buffer=False,
                 flatten=False, warp_specialize=False, disable_licm=False):
        self._set_bounds(arg1, arg2, step)
        self.num_stages = num_stages
        self.loop_unroll_factor = loop_unroll_factor
        self.disallow_acc_multi_buffer = disallow_acc_multi_buffer
        self.flatten = flatten
        self.warp_specialize = warp_specialize
        self.disable_licm = disable_licm


class static_range(_Loop):
    """A loop over constants, which is unrolled."""

    def __init__(self, arg1, arg2=None, step=None):
        for name, value in (("arg1", arg1), ("arg2", arg2), ("step", step)):
            assert isinstance(value, constexpr) or value is None and name != "arg1", \
                f"static_range takes constexpr values; its {name} is {value!r}"
        self._set_bounds(arg1, arg2, step)


class condition(base_value):
    """The condition of a while loop, with what the compiler is told about the loop."""

    def __init__(self, arg1, disable_licm=False):
        self.condition, self.disable_licm = arg1, disable_licm
