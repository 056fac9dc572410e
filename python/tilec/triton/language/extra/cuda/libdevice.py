"""triton.language.extra.libdevice."""
from tilec.triton.language.extra import libdevice as _libdevice

__all__ = _libdevice.__all__
globals().update({name: getattr(_libdevice, name) for name in __all__})
__getattr__ = _libdevice.__getattr__
