"""libdevice's functions, by their names; the compiler has them itself."""
from tilec.triton import _refused
from tilec.triton.language import _names

__all__ = _names.define(globals(), "libdevice")
__getattr__ = _refused.lookup("triton.language.extra.libdevice", _names.missing("libdevice"))
