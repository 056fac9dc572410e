"""The CUDA driver, through libtilec."""
import os

from tilec.triton import _refused, knobs
from tilec.triton.backends.compiler import GPUTarget
from tilec.triton.backends.driver import DeviceBuffer, GPUDriver, named_properties, torch_with_gpu

_CPP_TYPES = {f"i{bits}": f"int{bits}_t" for bits in (8, 16, 32, 64)} | {f"u{bits}": f"uint{bits}_t" for bits in (8, 16, 32, 64)} | {
    "i1": "int8_t", "u1": "uint8_t", "nvTmaDesc": "CUtensorMap"} | dict.fromkeys(("fp16", "bf16", "fp32", "f32", "fp64"), "double")


def ty_to_cpp(ty):
    """What a launcher in C takes for a parameter of a type: "*fp32", "i32"."""
    if ty.startswith("*"):
        return "CUdeviceptr"
    return "CUtensorMap" if ty.startswith("tensordesc") else _CPP_TYPES[ty]


def make_tensordesc_arg(arg, metadata):
    """The parameters of a kernel of the plain form that are one TensorDescriptor."""
    if metadata is not None:
        raise NotImplementedError("make_tensordesc_arg with metadata is not in tilec: kernels of the plain form take no tensor maps; "
                                  "those that do are launched by kernel[grid](..)")
    return [arg.base, *arg.shape, *arg.strides, arg.padding == "nan", *arg.shape, *arg.strides]


class CudaUtils:
    """What Triton builds by a C compiler."""

    def __init__(self, driver):
        self._driver = driver

    def get_device_properties(self, device):
        return named_properties(self._driver.device(device).properties())

    load_binary = staticmethod(_refused.function("driver.active.utils.load_binary", "CompiledKernel loads what it holds"))
    cuOccupancyMaxActiveClusters = staticmethod(_refused.function(
        "driver.active.utils.cuOccupancyMaxActiveClusters", "a launch of more clusters than the device holds says how many it holds"))
    set_printf_fifo_size = staticmethod(_refused.function(
        "driver.active.utils.set_printf_fifo_size", "the driver's own size is used: cuCtxSetLimit changes it"))
    fill_tma_descriptor = staticmethod(_refused.function(
        "driver.active.utils.fill_tma_descriptor", "tensor maps are made from a TensorDescriptor when a kernel is launched"))


class CudaDriver(GPUDriver):
    """`launcher_cls` of Triton's is absent: kernels are launched by libtilec."""

    def __init__(self):
        super().__init__()
        self.utils = CudaUtils(self)

    @staticmethod
    def _count():
        from tilec import _tilec

        folder = knobs.nvidia.libcuda_path
        if folder and "TILEC_CUDA_LIBRARY" not in os.environ:
            os.environ["TILEC_CUDA_LIBRARY"] = os.path.join(folder, "libcuda.so.1") if os.path.isdir(folder) else folder
        return _tilec.device_count()

    @classmethod
    def is_active(cls):
        # torch knows in processes forked from one that uses CUDA, to which the driver answers no more.
        return torch_with_gpu() is not None or cls._count() > 0

    @classmethod
    def why_not(cls):
        """What is missing where there is no GPU."""
        from tilec import _tilec
        from tilec._fault import TilecError

        try:
            _tilec.Device(0)
        except TilecError as error:
            return str(error)
        return "there is one"

    def get_current_target(self):
        major, minor = self.get_device_capability()
        return GPUTarget("cuda", 10 * major + minor, self.device().properties()["warp_size"])

    def get_active_torch_device(self):
        import torch

        return torch.device("cuda", self.get_current_device())

    def map_python_to_cpp_type(self, ty):
        return ty_to_cpp(ty)

    def get_empty_cache_for_benchmark(self):
        """Memory that is larger than the caches, for clear_cache()."""
        torch = torch_with_gpu()
        if torch:
            return torch.empty(1 << 26, dtype=torch.int, device="cuda")
        device = self.device()
        return DeviceBuffer(device, 2 * device.properties()["l2_bytes"] or 1 << 28)

    def clear_cache(self, cache):
        cache.zero_()

    def __getattr__(self, name):
        if name == "launcher_cls":
            raise AttributeError("CudaDriver.launcher_cls is not in tilec: kernels are launched by kernel[grid](..), CompiledKernel.run")
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
