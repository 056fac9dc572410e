"""tvm_ffi_calls.py LIBRARY [GRIDS]: kernels that `tilec compile --emit tvm-ffi` wrote, called through tvm_ffi with tensors that lie on the
simulator's driver, which is found as libcuda.so.1. What they compute is NumPy's; what is wrong is said."""
import ctypes
import gc
import os
import sys

import numpy as np
import tvm_ffi

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "examples", "tvm_ffi"))
from expressions import EXPRESSIONS, python_grid
from device_array import CUDA, CUDA_HOST, CUDA_MANAGED, ROCM, DeviceArray, handed_out, make_current


def pass_on(tensor):
    """Through tvm-ffi's own tensor, an object, and not the structure alone."""
    return tvm_ffi.from_dlpack(tensor)


passed = 0


def expect(kind, message, function, *arguments):
    global passed
    try:
        function(*arguments)
    except kind as error:
        assert str(error).startswith(message), f"said: {error}\nwanted: {message}"
    else:
        raise AssertionError(f"nothing was said; wanted: {message}")
    passed += 1


def close(found, wanted, tolerance):
    global passed
    assert np.allclose(found, wanted, rtol=tolerance, atol=tolerance), f"{found}\n{wanted}"
    passed += 1


def numpy_softmax(x):
    e = np.exp(x.astype(np.float64) - x.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)


def softmax(kernels, random):
    """By types and promises: rows of 96 keep them, rows of 97 do not, and only fp32 has a variant for those."""
    for wrap in (lambda t: t, pass_on):
        for dtype, cols, block, tolerance in (("float32", 96, 256, 1e-5), ("float32", 97, 256, 1e-5), ("float32", 96, 1024, 1e-5), ("float16", 96, 256, 1e-3)):
            x = random.standard_normal((4, cols)).astype(dtype)
            given, made = DeviceArray(x), DeviceArray(np.zeros_like(x))
            assert kernels.softmax(wrap(given), wrap(made), cols, cols, cols, block, 4) is None
            close(made.numpy(), numpy_softmax(x), tolerance)
    x = DeviceArray(random.standard_normal((4, 96)).astype("float32"), offset=64)
    y = DeviceArray(np.zeros((4, 96), "float32"), offset=128)
    kernels.softmax(x, y, 96, 96, 96, 256, 4, 1, 1)
    close(y.numpy(), numpy_softmax(x.array), 1e-5)
    y.write(np.zeros((4, 96), "float32"))
    kernels.softmax(ctypes.c_void_p(x.address), ctypes.c_void_p(y.address), 96, 96, 96, 256, 4)
    close(y.numpy(), numpy_softmax(x.array), 1e-5)
    kernels.softmax(x, y, 96, 96, 96, 256, 0)  # no programs


def softmax_errors(kernels):
    x, y = (DeviceArray(np.zeros((4, 96), "float32")) for _ in range(2))
    half, double = DeviceArray(np.zeros((4, 96), "float16")), DeviceArray(np.zeros((4, 96), "float64"))
    f = kernels.softmax
    expect(TypeError, "'softmax' takes 6 arguments and one to three for the grid, and 6 were given: softmax(x_ptr: float32 tensor | float16 tensor, ", f,
           x, y, 96, 96, 96, 256)
    expect(TypeError, "'softmax' takes 6 arguments and one to three for the grid, and 10 were given", f, x, y, 96, 96, 96, 256, 1, 1, 1, 1)
    expect(TypeError, "'softmax' takes 6 arguments and one to three for the grid, and 0 were given", f)
    expect(TypeError, "argument 'x_ptr' of 'softmax' is a tensor of float64, wanted a tensor of float32 or a tensor of float16", f, double, y, 96, 96, 96, 256, 4)
    expect(TypeError, "argument 'y_ptr' of 'softmax' is a tensor of float16, wanted a tensor of float32", f, x, half, 96, 96, 96, 256, 4)
    expect(TypeError, "argument 'x_ptr' of 'softmax' is a tensor of DLPack's type 5 with 64 bits in 1 lanes, wanted", f, DeviceArray(np.zeros(4, "complex64")), y, 1, 1, 1,
           256, 4)
    expect(TypeError, "argument 'x_ptr' of 'softmax' is None, wanted a tensor of float32 or a tensor of float16", f, None, y, 96, 96, 96, 256, 4)
    expect(TypeError, "argument 'x_ptr' of 'softmax' is 7, wanted a tensor", f, 7, y, 96, 96, 96, 256, 4)
    expect(TypeError, "argument 'x_ptr' of 'softmax' is an object of tvm-ffi's type", f, [x], y, 96, 96, 96, 256, 4)
    expect(TypeError, "argument 'cols' of 'softmax' is a tensor of float32, wanted an integer (int32)", f, x, y, 96, 96, x, 256, 4)
    expect(TypeError, "argument 'cols' of 'softmax' is the float 96.5, wanted an integer (int32)", f, x, y, 96, 96, 96.5, 256, 4)
    expect(TypeError, "argument 'cols' of 'softmax' is True, wanted an integer (int32)", f, x, y, 96, 96, True, 256, 4)
    expect(TypeError, "argument 'cols' of 'softmax' is a string, wanted an integer (int32)", f, x, y, 96, 96, "96", 256, 4)
    expect(TypeError, "argument 'cols' of 'softmax' is 2147483648, wanted an integer (int32)", f, x, y, 96, 96, 2**31, 256, 4)
    expect(TypeError, "argument 'cols' of 'softmax' is -2147483649, wanted an integer (int32)", f, x, y, 96, 96, -2**31 - 1, 256, 4)
    expect(TypeError, "argument 'BLOCK' of 'softmax' is a string, wanted an integer", f, x, y, 96, 96, 96, "256", 4)
    expect(ValueError, "no variant of 'softmax' for this call: argument 'BLOCK' is 512, wanted 256 or 1024", f, x, y, 96, 96, 96, 512, 4)
    expect(ValueError, "no variant of 'softmax' for this call: argument 'x_stride' is 97, wanted a multiple of 16", f, half, half, 97, 96, 96, 256, 4)
    odd = DeviceArray(np.zeros((4, 96), "float16"), offset=2)
    expect(ValueError, f"no variant of 'softmax' for this call: argument 'y_ptr' is at {odd.address:#x}, wanted a multiple of 16", f, half, odd, 96, 96, 96,
           256, 4)
    expect(ValueError, "argument 'y_ptr' of 'softmax' is a tensor on cpu, wanted one on cuda", f, x, np.zeros((4, 96), "float32"), 96, 96, 96, 256, 4)
    expect(ValueError, "argument 'x_ptr' of 'softmax' is a tensor on a device of DLPack's type 10, wanted one on cuda", f,
           DeviceArray(np.zeros(4, "float32"), device=(ROCM, 0)), y, 96, 96, 96, 256, 4)
    expect(ValueError, "argument 'y_ptr' of 'softmax' is a tensor on cuda:1, and 'x_ptr' is one on cuda:0", f, x, DeviceArray(np.zeros(4, "float32"), device=(CUDA, 1)), 96,
           96, 96, 256, 4)
    expect(TypeError, "the grid's x of 'softmax' is the float 4, wanted an integer from 0 to 2147483647", f, x, y, 96, 96, 96, 256, 4.0)
    expect(ValueError, "the grid's z of 'softmax' is 65536, wanted an integer from 0 to 65535", f, x, y, 96, 96, 96, 256, 4, 1, 65536)
    expect(ValueError, "the grid's x of 'softmax' is -1, wanted", f, x, y, 96, 96, 96, 256, -1)
    doc = kernels.get_function_doc("softmax")
    assert doc == ("softmax(x_ptr: float32 tensor | float16 tensor, y_ptr: float32 tensor | float16 tensor, x_stride: int32, y_stride: int32, cols: int32, "
                   "BLOCK: 256 | 1024, grid_x: int, grid_y: int = 1, grid_z: int = 1)"), doc
    elsewhere = (DeviceArray(np.zeros((4, 96), "float32"), device=(kind, 0)) for kind in (CUDA_HOST, CUDA_MANAGED))
    f(*elsewhere, 96, 96, 96, 256, 4)


def matmul(kernels, random):
    """By tensor maps, with the grid that the kernel has; arguments that those cannot hold; a choice by a string."""
    m, n, k = 144, 160, 96
    a, b = random.standard_normal((m, k)).astype("float16"), random.standard_normal((k, n)).astype("float16")
    x, y = DeviceArray(a), DeviceArray(b)
    wanted = a.astype(np.float64) @ b.astype(np.float64)
    for activation, expected in (("none", wanted), ("'relu'", np.maximum(wanted, 0)), ("relu", np.maximum(wanted, 0))):
        z = DeviceArray(np.zeros((m, n), "float16"))
        kernels.matmul(x, y, z, m, n, k, k, n, n, activation)
        close(z.numpy(), expected, 2e-2)
    expect(ValueError, "no variant of 'matmul' for this call: argument 'ACTIVATION' is tanh, wanted 'none' or 'relu'", kernels.matmul, x, y, z, m, n, k, k, n, n, "tanh")
    expect(ValueError, "no variant of 'matmul' for this call: argument 'ACTIVATION' is None, wanted 'none' or 'relu'", kernels.matmul, x, y, z, m, n, k, k, n, n, None)
    expect(ValueError, "no variant of 'matmul' for this call: argument 'ACTIVATION' is a string, wanted", kernels.matmul, x, y, z, m, n, k, k, n, n, "x" * 5000)
    expect(TypeError, "argument 'ACTIVATION' of 'matmul' is a tensor of float16, wanted a string, number or None", kernels.matmul, x, y, z, m, n, k, k, n, n, x)
    expect(TypeError, "'matmul' takes 10 arguments, and 11 were given", kernels.matmul, x, y, z, m, n, k, k, n, n, "none", 1)


def narrow_floats(kernels, out, given):
    """Rounded to the nearest, the even one of two; beyond the largest infinite, or no number where a type has none. NumPy and ml_dtypes' rules."""
    inf, nan = np.inf, np.nan
    cases = {9: [(x, float(np.float16(x))) for x in (2049.0, 2051.0, 65519.0, 6e-8, 2.9e-8, 3e-8, 1e-5, -1 / 3, inf, nan, -0.0, 1023.75, 2.0**-14 - 2.0**-26)] + [(65520.0, inf)],
             10: [(1.00390625, 1.0), (1.01171875, 1.015625), (1 / 3, 0.333984375), (3.4e38, inf), (-3.38e38, -254 / 128 * 2.0**127), (nan, nan), (9.2e-41, 2.0**-133)],
             11: [(1.125, 1.0), (1.375, 1.5), (57344.0, 57344.0), (61439.0, 57344.0), (61440.0, inf), (-inf, -inf), (nan, nan), (1.6e-5, 1.52587890625e-05), (7e-6, 0.0)],
             12: [(1.0625, 1.0), (1.1875, 1.25), (448.0, 448.0), (463.0, 448.0), (465.0, nan), (inf, nan), (nan, nan), (0.002, 0.001953125), (0.0009, 0.0)]}
    for at, pairs in cases.items():
        for value, wanted in pairs:
            arguments = list(given)
            arguments[at] = value
            kernels.scalars(out, *arguments, 1.0, True)
            assert np.allclose(out.numpy()[at], wanted, rtol=1e-9, atol=0, equal_nan=True), f"{at}: {value} becomes {out.numpy()[at]}, wanted {wanted}"


def scalars(kernels):
    """A parameter of each type, and constexprs of each: what arrives is what was given."""
    out = DeviceArray(np.zeros(15, "float64"))
    given = [True, -5, 200, -30000, 60000, -2**31, 2**32 - 1, -2**40, 2**62, 1.5, -0.75, 3.0, 0.4375, 0.25, 1e300]
    kernels.scalars(out, *given, 2.5, True)
    close(out.numpy(), np.array(given, "float64") * 2.5, 1e-7)
    kernels.scalars(out, 1, *given[1:9], 1, 2, 3, 4, 5, 6, 2.5, True)
    close(out.numpy(), np.array(given[:9] + [1, 2, 3, 4, 5, 6], "float64") * 2.5, 1e-7)
    kernels.scalars(out, *given, 1, False)
    close(out.numpy(), -np.array(given, "float64"), 1e-7)
    narrow_floats(kernels, out, given)
    kernels.scalars(out, *given[:8], 2**64 - 1, *given[9:], 1, True)
    close(out.numpy()[8], 2.0**64, 1e-15)
    names = ["b", "i8", "u8", "i16", "u16", "i32", "u32", "i64", "u64"]
    types = ["int8", "uint8", "int16", "uint16", "int32", "uint32", None, "uint64"]
    for i, too_large in enumerate((128, 256, 2**15, 2**16, 2**31, 2**32)):
        arguments = list(given)
        arguments[1 + i] = too_large
        expect(TypeError, f"argument '{names[1 + i]}' of 'scalars' is {too_large}, wanted an integer ({types[i]})", kernels.scalars, out, *arguments, 2.5, True)
    for i in (2, 4, 6, 8):
        arguments = list(given)
        arguments[i] = -1
        expect(TypeError, f"argument '{names[i]}' of 'scalars' is -1, wanted an integer ({types[i - 1]})", kernels.scalars, out, *arguments, 2.5, True)
    for at, value in ((7, 2**63), (8, 2**64), (8, -2**63 - 1), (6, 2**63)):
        arguments = list(given)
        arguments[at] = value
        expect(TypeError, f"argument '{names[at]}' of 'scalars' is an integer beyond 64 bits, wanted an integer", kernels.scalars, out, *arguments, 2.5, True)
    expect(TypeError, "argument 'b' of 'scalars' is 2, wanted a bool", kernels.scalars, out, 2, *given[1:], 2.5, True)
    expect(TypeError, "argument 'f16' of 'scalars' is True, wanted a number (float16)", kernels.scalars, out, *given[:9], True, *given[10:], 2.5, True)
    expect(TypeError, "argument 'SCALE' of 'scalars' is None, wanted a number", kernels.scalars, out, *given, None, True)
    expect(ValueError, "no variant of 'scalars' for this call: argument 'SCALE' is the float 3, wanted 2.5 or 1", kernels.scalars, out, *given, 3.0, True)
    expect(TypeError, "argument 'POSITIVE' of 'scalars' is 1, wanted a bool", kernels.scalars, out, *given, 2.5, 1)


def choices(kernels):
    """One of each kind, and which of them the kernel was compiled for."""
    for which, how in enumerate((None, "text", True, -3, 2**64 - 1, np.inf, 0.1, 2.0)):
        out = DeviceArray(np.full(1, -1, "int32"))
        kernels.choices(out, how)
        close(out.numpy(), [which], 0)


def grids(library):
    """Grids as C computes them are as Python computes them: each kernel stores how many programs there are along each axis."""
    kernels = tvm_ffi.load_module(library)
    count = 0
    for i, expression in enumerate(EXPRESSIONS):
        for n, m, x in ((0, 1, 0.5), (1, 3, 2.0), (17, 4, 1.25), (1000, 7, 3.75), (65535, 2, 1e3), (-5, 2, -1.5), (2**31 - 1, 1, 1e30), (100, 0, 0.0)):
            wanted = python_grid(expression, {"n": n, "m": m, "x": x, "BLOCK": 16})
            out = DeviceArray(np.zeros(3, "int32"))
            function = getattr(kernels, f"k{i}")
            if wanted is None:
                expect(ValueError, f"'k{i}' was not launched: its grid cannot be computed for these arguments, or is none", function, out, n, m, x)
                continue
            if np.prod([int(side) for side in wanted]) > 5000:
                continue
            function(out, n, m, x)
            found = tuple(int(side) for side in out.numpy())
            assert found == (wanted if 0 not in wanted else (0, 0, 0)), f"{expression} of n={n} m={m} x={x}: {found}, wanted {wanted}"
            count += 1
    return count


def main():
    random = np.random.default_rng(0)
    assert make_current(0)
    kernels = tvm_ffi.load_module(sys.argv[1])
    softmax(kernels, random)
    softmax_errors(kernels)
    matmul(kernels, random)
    scalars(kernels)
    choices(kernels)
    checked = passed
    if len(sys.argv) > 2:
        checked += grids(sys.argv[2])
    gc.collect()
    assert not handed_out, "a tensor is still held"
    print(f"tvm-ffi: {checked} checks passed")


main()
