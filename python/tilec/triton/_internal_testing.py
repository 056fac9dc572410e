"""What Triton's own tests, and suites written after them, import: which device there is, and arrays of every type.

Needs torch, NumPy and pytest, which the rest of the package does not."""
import multiprocessing
import os
import re
import tempfile
import traceback
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np
import pytest
import torch
from numpy.random import RandomState

from tilec.triton import knobs
from tilec.triton import language as tl
from tilec.triton.runtime.driver import device_kind, driver
from tilec.triton.runtime.jit import TensorWrapper, reinterpret
from tilec.triton._utils import type_canonicalisation_dict

int_dtypes = ["int8", "int16", "int32", "int64"]
uint_dtypes = ["u" + name for name in int_dtypes]
integral_dtypes = int_dtypes + uint_dtypes
float_dtypes = ["float16", "float32", "float64"]
float_dtypes_with_bfloat16 = float_dtypes + ["bfloat16"]
dtypes = integral_dtypes + float_dtypes
dtypes_with_bfloat16 = dtypes + ["bfloat16"]
torch_float8_dtypes = ["float8_e4m3fn", "float8_e5m2"]
torch_dtypes = ["bool"] + int_dtypes + ["uint8"] + float_dtypes + ["bfloat16"]
tma_dtypes = sorted(name for name in dtypes_with_bfloat16 if "64" not in name)

# Which device

def is_interpreter():
    """Kernels run on this machine: TRITON_INTERPRET=1, or TILEC_DEVICE says so."""
    return device_kind() in ("cpu", "sim")


def is_compile_warmup():
    """Whether kernels are only compiled, to fill caches: never here."""
    return False


def random_int(low, high, *, warmup_value=None, **kwargs):
    return int(torch.randint(low, high, size=(), **kwargs).item())


def random_float(*, warmup_value=0.5, **kwargs):
    return float(torch.rand((), **kwargs).item())


def get_current_target():
    """Of the GPU; None: there is none, or it is not used."""
    if is_interpreter():
        return None
    target = driver.active.get_current_target()
    return target if target.backend == "cuda" else None


def is_cuda():
    return get_current_target() is not None


def _capability():
    target = get_current_target()
    return divmod(target.arch, 10) if target else (0, 0)


def is_ampere_or_newer():
    return _capability() >= (8, 0)


def is_hopper():
    return _capability()[0] == 9


def is_hopper_or_newer():
    return _capability() >= (9, 0)


def is_blackwell():
    return _capability()[0] in (10, 11)


def is_blackwell_ultra():
    return _capability() == (10, 3)


def is_rubin():
    return _capability() == (10, 7)


def is_sm12x():
    return _capability()[0] == 12


def _never():
    return False


# tilec compiles for NVIDIA's GPUs alone.
is_hip = is_hip_cdna = is_hip_cdna2 = is_hip_cdna3 = is_hip_cdna4 = is_hip_cdna3_or_newer = _never
is_hip_rdna = is_hip_rdna3 = is_hip_rdna4 = is_hip_rdna4m = is_hip_gfx1250 = is_hip_gfx12 = is_xpu = _never


def get_hip_lds_size():
    return 65536


def supports_tma(byval_only=False):
    return is_interpreter() or is_hopper_or_newer()


def supports_ws():
    return is_interpreter() or is_hopper_or_newer()


def supports_clc():
    return is_cuda() and _capability() >= (10, 0)


def tma_skip_msg(byval_only=False):
    return "needs a GPU with tensor memory access: NVIDIA Hopper or newer"


def __getattr__(name):
    if name == "requires_tma":
        return pytest.mark.skipif(not supports_tma(), reason=tma_skip_msg())
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def skip_if_unsupported_cluster_size(num_ctas):
    if is_cuda() and num_ctas > 1 and not is_hopper_or_newer():
        pytest.skip(f"the device has no clusters of {num_ctas} CTAs")


# Arrays

def numpy_random(shape, dtype_str, rs=None, low=None, high=None):
    """Random numbers of a type by its name: integers of the whole range and never 0, floating point ones normal, codes of small numbers
    for types of 8 bits. `rs`: a RandomState; without it every call gives the same."""
    shape = (shape,) if isinstance(shape, int) else shape
    rs = rs or RandomState(seed=17)
    if dtype_str in integral_dtypes:
        dtype = getattr(np, dtype_str)
        limits = np.iinfo(dtype)
        low = limits.min if low is None else max(low, limits.min)
        high = limits.max if high is None else min(high, limits.max)
        numbers = rs.randint(low, high, shape, dtype=dtype)
        numbers[numbers == 0] = 1
        return numbers
    if dtype_str and "float8" in dtype_str:
        return rs.randint(20, 40, shape, dtype=np.int8)
    if dtype_str in float_dtypes:
        return rs.normal(0, 1, shape).astype(dtype_str)
    if dtype_str == "bfloat16":
        bits = rs.normal(0, 1, shape).astype("float32").view("uint32")
        return (bits & np.uint32(0xFFFF0000)).view("float32")
    if dtype_str in ("bool", "int1", "bool_"):
        return rs.normal(0, 1, shape) > 0.0
    raise RuntimeError(f"Unknown dtype {dtype_str}")


def to_triton(x, device, dst_type=None):
    """A NumPy array on a device, as an argument of a kernel. `dst_type`: its type there where NumPy has none such: bfloat16, float8e5."""
    name = x.dtype.name
    if name in uint_dtypes:
        return reinterpret(torch.tensor(x.astype(name[1:]), device=device), getattr(tl, name))
    made = torch.tensor(x, device=device)
    if dst_type and "float8" in dst_type:
        return reinterpret(made, getattr(tl, dst_type))
    return made.bfloat16() if name == "float32" and dst_type == "bfloat16" else made


def to_numpy(x):
    """The array that to_triton() or torch made."""
    if isinstance(x, TensorWrapper):
        return x.base.cpu().numpy().astype(getattr(np, torch_dtype_name(x.dtype)))
    if isinstance(x, torch.Tensor):
        return x.cpu().float().numpy() if x.dtype is torch.bfloat16 else x.cpu().numpy()
    raise ValueError(f"Not a triton-compatible tensor: {x}")


def unwrap_tensor(t):
    return t.base if isinstance(t, TensorWrapper) else t


def str_to_triton_dtype(x):
    return tl.str_to_ty(type_canonicalisation_dict[x], None)


def torch_dtype_name(dtype):
    """"int64" of torch.int64 and of tl.int64."""
    if isinstance(dtype, tl.dtype):
        return dtype.name
    if isinstance(dtype, torch.dtype):
        return re.fullmatch(r"torch\.(\w+)", str(dtype)).group(1)
    raise TypeError(f"not a triton or torch dtype: {type(dtype)}")


def default_alloc_fn(size, align, _):
    return torch.empty(size, dtype=torch.int8, device="cuda")


# Processes of their own

@dataclass
class ProcessResult:
    """`exc`: what the function raised; the process's stderr, the driver's words among it."""

    exc: BaseException | None
    driver_stderr_output: str


def _run_client(client_fn, args, kwargs, env, path, pipe):
    os.environ.update(env or {})
    with open(path, "wb") as file:
        os.dup2(file.fileno(), 2)
    exc = None
    try:
        client_fn(*args, **kwargs)
        if torch.cuda.is_available():
            torch.cuda.synchronize()
    except Exception as error:
        traceback.print_exc()
        exc = error
    pipe.send(exc)


def run_in_process(client_fn, args=(), kwargs=None, env=None):
    """Calls a function in a process of its own, for what leaves a device unusable."""
    if os.environ.get("DISABLE_SUBPROCESS"):
        return client_fn(*args, **(kwargs or {}))
    context = multiprocessing.get_context("spawn")
    receive, send = context.Pipe(duplex=False)
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "stderr")
        process = context.Process(target=_run_client, args=(client_fn, args, kwargs or {}, env, path, send))
        process.start()
        send.close()
        try:
            exc = receive.recv()
        except EOFError:
            exc = RuntimeError(f"the process ended with status {process.exitcode} and said nothing")
        process.join()
        with open(path, errors="replace") as file:
            return ProcessResult(exc, file.read())


@contextmanager
def use_process_pool(preload_module):
    yield None


# Settings

def _fresh_knobs_impl(skipped_attr=None):
    """(fresh, reset): the first gives all settings their defaults, the second what they were, environment included."""
    patch = pytest.MonkeyPatch()
    kept = {name: group for name, group in vars(knobs).items()
            if isinstance(group, knobs.base_knobs) and name not in (skipped_attr or ())}
    propagates = knobs.propagate_env
    before = dict(os.environ)

    def fresh():
        for name, group in kept.items():
            setattr(knobs, name, group.copy().reset())
            for knob in group.knob_descriptors.values():
                patch.delenv(knob.key, raising=False)
        knobs.propagate_env = True
        return knobs

    def reset():
        for name, group in kept.items():
            setattr(knobs, name, group)
        patch.undo()
        for name in set(os.environ) - set(before):
            del os.environ[name]
        knobs.propagate_env = propagates

    return fresh, reset
