"""What stands for a tensor among arguments: a type alone, or a tensor whose elements are taken as of another type."""


class MockTensor:
    """A type where warmup() wants an array: nothing is launched with it."""

    def __init__(self, dtype, shape=None):
        self.dtype, self.shape = dtype, shape or [1]

    @staticmethod
    def wrap_dtype(argument):
        kind = type(argument)
        return MockTensor(argument) if (kind.__module__, kind.__name__) == ("torch", "dtype") else argument

    def stride(self):
        strides = [1]
        for size in self.shape[:0:-1]:
            strides.insert(0, strides[0] * size)
        return tuple(strides)

    @staticmethod
    def data_ptr():
        return 0

    @staticmethod
    def ptr_range():
        return 0


class TensorWrapper:
    """A tensor whose elements are taken as another type of their size, or of bits that mean another."""

    def __init__(self, base, dtype):
        self.base, self.dtype = base, dtype
        self.data, self.device, self.shape = base.data, base.device, base.shape

    @property
    def is_cuda(self):
        return self.base.is_cuda

    def data_ptr(self):
        return self.base.data_ptr()

    def stride(self, *args):
        return self.base.stride(*args)

    def element_size(self):
        return self.base.element_size()

    def cpu(self):
        return TensorWrapper(self.base.cpu(), self.dtype)

    def copy_(self, other):
        self.base.copy_(other.base)

    def clone(self):
        return TensorWrapper(self.base.clone(), self.dtype)

    def to(self, device):
        return TensorWrapper(self.base.to(device), self.dtype)

    def new_empty(self, sizes):
        return TensorWrapper(self.base.new_empty(sizes), self.dtype)

    def __str__(self):
        return f"TensorWrapper[{self.dtype}]({self.base})"


def reinterpret(tensor, dtype):
    """The tensor with its elements taken as `dtype`, where a kernel is given it; of a wrapped one what is inside, or that anew."""
    if isinstance(tensor, TensorWrapper):
        tensor = tensor.base
        if dtype == tensor.dtype:
            return tensor
    elif not hasattr(tensor, "data_ptr"):
        raise TypeError(f"Cannot reinterpret a {type(tensor)}.")
    return TensorWrapper(tensor, dtype)
