"""Devices as Triton's host code asks for them; with torch in the process they are torch's current ones, else libtilec's."""
import sys
import threading
import time
from abc import ABCMeta, abstractmethod

from tilec.triton.backends.compiler import GPUTarget


class DriverBase(metaclass=ABCMeta):
    @classmethod
    @abstractmethod
    def is_active(cls):
        """Whether there is such a device."""

    @abstractmethod
    def get_current_target(self):
        pass

    @abstractmethod
    def get_active_torch_device(self):
        pass

    @abstractmethod
    def get_device_interface(self):
        """Events, synchronize() and current_device(), as torch.cuda has them."""

    def get_benchmarker(self):
        """What measures a function: do_bench(fn, quantiles=..)."""
        from tilec.triton.testing import do_bench

        return do_bench

    def assemble_tensormap_to_arg(self, tensormaps_info, args):
        return args


def torch_with_gpu():
    """torch, if this process has imported it and it drives a GPU of CUDA's."""
    torch = sys.modules.get("torch")
    return torch if torch is not None and hasattr(torch, "cuda") and torch.version.hip is None and torch.cuda.is_available() else None


class GPUDriver(DriverBase):
    """GPUs that libtilec drives. Without torch each thread has a current device, at first 0, and uses CuPy's stream, or the default one."""

    def __init__(self):
        self._thread = threading.local()
        self._devices = {}

    def device(self, ordinal=None):
        """libtilec's device, opened once."""
        from tilec import _tilec

        ordinal = self.get_current_device() if ordinal is None else getattr(ordinal, "index", ordinal)
        if ordinal not in self._devices:
            self._devices[ordinal] = _tilec.Device(ordinal)
        return self._devices[ordinal]

    def get_current_device(self):
        torch = torch_with_gpu()
        return torch.cuda.current_device() if torch else getattr(self._thread, "device", 0)

    def set_current_device(self, device):
        torch = torch_with_gpu()
        if torch:
            torch.cuda.set_device(device)
        else:
            self.device(device)
            self._thread.device = device

    def get_current_stream(self, device=None):
        torch = torch_with_gpu()
        if torch:
            return torch.cuda.current_stream(device).cuda_stream
        cupy = sys.modules.get("cupy")
        return cupy.cuda.get_current_stream().ptr if cupy else 0

    def get_device_capability(self, device=None):
        return self.device(device).properties()["capability"]

    def get_device_interface(self):
        torch = torch_with_gpu()
        return torch.cuda if torch else DeviceInterface(self)


class DeviceInterface:
    """What torch.cuda is used for when something is measured, over libtilec."""

    def __init__(self, driver):
        self._driver = driver

    def Event(self, enable_timing=True):
        return Event(self._driver.device())

    def current_device(self):
        return self._driver.get_current_device()

    def synchronize(self, device=None):
        self._driver.device(device).synchronize()

    def get_device_capability(self, device=None):
        return self._driver.get_device_capability(device)


class Event:
    """A moment of a device's default stream."""

    def __init__(self, device):
        self._device, self._event = device, device.event()

    def record(self, stream=0):
        self._device.event_record(self._event, getattr(stream, "cuda_stream", stream))

    def elapsed_time(self, end):
        """Milliseconds from here to `end`, for which it waits."""
        return self._device.event_elapsed(self._event, end._event)

    def __del__(self):
        event, self._event = getattr(self, "_event", None), None
        if event is not None:
            self._device.event_destroy(event)


class DeviceBuffer:
    """Memory of a device. zero_() is what a cache is emptied by."""

    def __init__(self, device, size):
        self._device, self.nbytes, self._address = device, size, 0
        self._address = device.allocate(size)

    def data_ptr(self):
        return self._address

    def zero_(self):
        self._device.set(self._address, 0, self.nbytes)
        return self

    def __del__(self):
        address, self._address = self._address, 0
        if address:
            self._device.free(address)


def named_properties(properties):
    """Triton's names for what a device has; clocks in kHz, the bus in bits. What nobody knows is not there."""
    names = {"max_shared_mem": "shared_per_block", "max_num_regs": "registers_per_block", "multiprocessor_count": "sm_count",
             "warpSize": "warp_size", "sm_clock_rate": "clock_khz", "mem_clock_rate": "memory_clock_khz",
             "mem_bus_width": "memory_bus_bits"}
    return {name: properties[ours] for name, ours in names.items() if properties[ours]}


class HostEvent:
    """A moment of this machine's clock."""

    def __init__(self, enable_timing=True):
        self._moment = None

    def record(self, stream=0):
        self._moment = time.perf_counter()

    def elapsed_time(self, end):
        return 1e3 * (end._moment - self._moment)


class HostInterface:
    Event = HostEvent

    @staticmethod
    def current_device():
        return 0

    @staticmethod
    def synchronize(device=None):
        """Calls return when the kernel has ended."""


class HostDriver(DriverBase):
    """This machine in the place of a GPU. `kind`: "cpu", kernels as they are written, or "sim", their PTX."""

    def __init__(self, kind="cpu"):
        self.kind = kind
        self.utils = HostUtils(self)

    @classmethod
    def is_active(cls):
        return True

    def get_current_target(self):
        if self.kind == "cpu":
            return GPUTarget("cpu", 0, 32)
        name = self.simulated()
        digits = name.removeprefix("sm_").rstrip("af")
        if not digits.isdigit():
            raise RuntimeError(f"TILEC_SIM_TARGET is {name!r}: a target is called as sm_90a is")
        return GPUTarget("cuda", int(digits), 32)

    @staticmethod
    def simulated():
        """The target of the simulator."""
        import os

        return os.environ.get("TILEC_SIM_TARGET") or "sm_90a"

    def get_active_torch_device(self):
        import torch

        return torch.device("cpu")

    def get_current_device(self):
        return 0

    def set_current_device(self, device):
        if device != 0:
            raise ValueError(f"there is no device {device}: this machine is device 0")

    def get_current_stream(self, device=None):
        return 0

    def get_device_capability(self, device=None):
        return divmod(self.get_current_target().arch, 10)

    def get_device_interface(self):
        return HostInterface

    def get_empty_cache_for_benchmark(self):
        """There is no cache that would be emptied."""

    def clear_cache(self, cache):
        pass

    def __repr__(self):
        return f"<HostDriver {self.kind}>"


class HostUtils:
    def __init__(self, driver):
        self._driver = driver

    def get_device_properties(self, device):
        """Of the simulator what its target has; clocks and a bus it has none."""
        from tilec import _tilec

        if self._driver.kind != "sim":
            raise RuntimeError("this machine is in the place of a GPU (TILEC_DEVICE), and has no properties of one")
        return named_properties(_tilec.HostDevice("simulator", self._driver.simulated()).properties())
