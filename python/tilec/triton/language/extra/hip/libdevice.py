"""AMD's functions: none is here."""
from tilec.triton import _refused


def _instead(name):
    return "it is for AMD's GPUs, and tilec compiles for NVIDIA's: triton.language.extra.cuda, triton.language.extra.libdevice"


__getattr__ = _refused.lookup("triton.language.extra.hip.libdevice", {}, _instead)
