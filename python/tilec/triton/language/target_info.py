"""What kernels are compiled for, as functions that kernels and the host may ask."""
from tilec.triton.language._builtin import host_builtin

__all__ = ["current_target"]


def current_target():
    """A GPUTarget; None where there is no device."""
    from tilec.triton.runtime import driver

    try:
        return driver.active.get_current_target()
    except RuntimeError:
        return None


current_target.__triton_builtin__ = True


def _is(backend):
    target = current_target()
    return target is not None and target.backend == backend


@host_builtin
def is_cuda():
    return _is("cuda")


@host_builtin
def cuda_capability_geq(major, minor=0):
    """Whether it is an NVIDIA GPU of that capability or a later one."""
    return _is("cuda") and current_target().arch >= 10 * major + minor


@host_builtin
def is_hip():
    """False: tilec compiles for NVIDIA's GPUs."""
    return _is("hip")


@host_builtin
def is_hip_cdna3():
    return False


@host_builtin
def is_hip_cdna4():
    return False
