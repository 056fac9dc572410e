"""Functions of one kind of GPU, and libdevice's."""
from tilec.triton.language.extra import cuda, hip, libdevice

__all__ = ["cuda", "hip"]
