"""What kernels can be compiled for: NVIDIA's GPUs."""
from dataclasses import dataclass

from tilec.triton.backends.compiler import BaseBackend
from tilec.triton.backends.driver import DriverBase
from tilec.triton.backends.nvidia.compiler import CUDABackend
from tilec.triton.backends.nvidia.driver import CudaDriver


@dataclass(frozen=True)
class Backend:
    compiler: type
    driver: type


# Devices that are this machine are no backend: they run what is compiled for a GPU.
backends = {"nvidia": Backend(CUDABackend, CudaDriver)}
