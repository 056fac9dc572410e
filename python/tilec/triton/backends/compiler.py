"""What kernels are compiled for, and the interface of what compiles them."""
from abc import ABCMeta, abstractmethod
from dataclasses import dataclass
from enum import Enum


@dataclass(frozen=True)
class GPUTarget:
    """backend: "cuda", or "cpu" for this machine; arch: 90 for capability 9.0."""

    backend: str
    arch: int | str
    warp_size: int


class Language(Enum):
    TRITON = 0
    GLUON = 1


class BaseBackend(metaclass=ABCMeta):
    """A compiler for targets of one kind."""

    supports_native_tensor_specialization = True

    def __init__(self, target):
        assert self.supports_target(target), f"{type(self).__name__} does not compile for {target}"
        self.target = target

    @staticmethod
    @abstractmethod
    def supports_target(target):
        pass

    @abstractmethod
    def hash(self):
        """What else the code depends on: versions of tools."""

    @abstractmethod
    def parse_options(self, options):
        """An object of the options in a dict; those that are not given are chosen for the target."""

    @staticmethod
    def parse_attr(desc):
        """"D" of a specialised argument, as Triton's IR says it."""
        assert isinstance(desc, str), f"{desc!r} describes no argument"
        return [["tt.divisibility", 16]] if "D" in desc else []

    @staticmethod
    def get_int_specialization(arg, **kwargs):
        return "D" if kwargs.get("align", False) and arg % 16 == 0 else ""

    @staticmethod
    def get_tensor_specialization(arg, **kwargs):
        return "D" if kwargs.get("align", False) and arg.data_ptr() % 16 == 0 else ""
