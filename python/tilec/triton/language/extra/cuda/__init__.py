"""Functions of NVIDIA's GPUs."""
from tilec.triton import _refused
from tilec.triton.language import _names
from tilec.triton.language.extra.cuda import gdc, libdevice, utils

__all__ = ["libdevice", *_names.define(globals(), "cuda")]
__getattr__ = _refused.lookup("triton.language.extra.cuda", _names.missing("cuda"))
