"""Triton builds launchers by a C compiler when it runs. tilec builds nothing: the names are here alone."""
from tilec.triton import _refused

_NOTHING = "nothing is built at run time; `tilec compile --emit c` makes C files of kernels"
compile_module_from_src = _refused.function("triton.runtime.build.compile_module_from_src", _NOTHING)
_build = _refused.function("triton.runtime.build._build", _NOTHING)
