"""Functions of AMD's GPUs: none is here."""
from tilec.triton import _refused
from tilec.triton.language.extra.hip import libdevice

__getattr__ = _refused.lookup("triton.language.extra.hip", {}, libdevice._instead)
