"""Which driver is in use: CUDA's where there is a GPU, else this machine.

TILEC_DEVICE says which: auto (or nothing), cuda, cpu (the interpreter), sim (the simulator); TRITON_INTERPRET=1 is cpu."""
import os

from tilec.triton import knobs
from tilec.triton._knob_types import changed


def device_kind():
    """"auto", "cuda", "cpu" or "sim", of the environment."""
    kind = os.environ.get("TILEC_DEVICE") or "auto"
    if kind not in ("auto", "cuda", "cpu", "sim"):
        raise RuntimeError(f"TILEC_DEVICE is {kind!r}: it is one of auto, cuda, cpu and sim")
    return "cpu" if knobs.runtime.interpret and kind in ("auto", "cuda") else kind


def _create_driver():
    from tilec.triton.backends import backends
    from tilec.triton.backends.driver import HostDriver

    selected = os.environ.get("TRITON_DEFAULT_BACKEND")
    if selected and selected not in backends:
        raise RuntimeError(f"Unknown backend device '{selected}'. Available backends: {[*backends]}")
    kind = device_kind()
    if kind in ("cpu", "sim"):
        return HostDriver(kind)
    cuda = backends["nvidia"].driver
    if cuda.is_active():
        return cuda()
    if kind == "cuda" or selected:
        raise RuntimeError(f"no GPU: {cuda.why_not()}")
    return HostDriver("cpu")


class DriverConfig:
    """`default`: what the machine has, looked for once; `active`: the same until a program sets another."""

    def __init__(self):
        self._default = self._active = None

    @property
    def default(self):
        if self._default is None:
            self._default = _create_driver()
        return self._default

    @property
    def active(self):
        if self._active is None:
            self._active = self.default
        return self._active

    def set_active(self, driver):
        self._active = driver
        changed()

    def reset_active(self):
        self._active = self.default
        changed()


driver = DriverConfig()
