"""Arrays on a CUDA device with nothing but the driver: what any library with DLPack has, in a page. Programs that have torch, JAX or CuPy pass
those libraries' arrays instead."""
import ctypes

import numpy as np

try:
    cuda = ctypes.CDLL("libcuda.so.1")
except OSError:
    cuda = None
CUDA, CUDA_HOST, CUDA_MANAGED, ROCM = 2, 3, 13, 10
TYPES = {"bool": (6, 8), "int8": (0, 8), "int32": (0, 32), "int64": (0, 64), "uint8": (1, 8), "float16": (2, 16), "float32": (2, 32), "float64": (2, 64),
         "complex64": (5, 64)}


class DLTensor(ctypes.Structure):
    _fields_ = [("data", ctypes.c_void_p), ("device_type", ctypes.c_int), ("device_id", ctypes.c_int), ("ndim", ctypes.c_int), ("code", ctypes.c_uint8),
                ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16), ("shape", ctypes.c_void_p), ("strides", ctypes.c_void_p), ("byte_offset", ctypes.c_uint64)]


class DLManagedTensor(ctypes.Structure):
    _fields_ = [("tensor", DLTensor), ("context", ctypes.c_void_p), ("deleter", ctypes.CFUNCTYPE(None, ctypes.c_void_p))]


new_capsule = ctypes.pythonapi.PyCapsule_New
new_capsule.restype, new_capsule.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
handed_out = {}  # by their addresses: what lives until its deleter is called


def check(result):
    if result != 0:
        raise RuntimeError(f"the CUDA driver says {result}")


def make_current(device):
    """The device's primary context becomes current in this thread; False: there is no such device."""
    context, handle = ctypes.c_void_p(), ctypes.c_int()
    if cuda is None or cuda.cuInit(0) != 0 or cuda.cuDeviceGet(ctypes.byref(handle), device) != 0:
        return False
    check(cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), handle))
    check(cuda.cuCtxSetCurrent(context))
    return True


class DeviceArray:
    """A copy of a NumPy array on the device, `offset` bytes behind where its memory begins."""

    def __init__(self, array, device=(CUDA, 0), offset=0):
        self.array, self.device, self.offset = np.ascontiguousarray(array), device, offset
        self.memory = ctypes.c_uint64()
        check(cuda.cuMemAlloc_v2(ctypes.byref(self.memory), ctypes.c_size_t(max(self.array.nbytes, 1) + offset)))
        self.write(self.array)

    def __del__(self):
        cuda.cuMemFree_v2(self.memory)

    @property
    def address(self):
        return self.memory.value + self.offset

    def write(self, array):
        check(cuda.cuMemcpyHtoD_v2(ctypes.c_uint64(self.address), array.ctypes.data_as(ctypes.c_void_p), ctypes.c_size_t(array.nbytes)))

    def numpy(self):
        """What is there when all that was launched has run."""
        check(cuda.cuCtxSynchronize())
        found = np.empty_like(self.array)
        check(cuda.cuMemcpyDtoH_v2(found.ctypes.data_as(ctypes.c_void_p), ctypes.c_uint64(self.address), ctypes.c_size_t(found.nbytes)))
        return found

    def __dlpack_device__(self):
        return self.device

    def __dlpack__(self, **_):
        sides = (ctypes.c_int64 * self.array.ndim)(*self.array.shape)
        strides = (ctypes.c_int64 * self.array.ndim)(*(stride // self.array.itemsize for stride in self.array.strides))
        code, bits = TYPES[str(self.array.dtype)]
        managed = DLManagedTensor()
        managed.tensor = DLTensor(self.memory.value, *self.device, self.array.ndim, code, bits, 1, ctypes.cast(sides, ctypes.c_void_p),
                                  ctypes.cast(strides, ctypes.c_void_p), self.offset)
        managed.deleter = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(lambda at: handed_out.pop(at) and None)
        handed_out[ctypes.addressof(managed)] = (managed, sides, strides, self)
        return new_capsule(ctypes.addressof(managed), b"dltensor", None)
