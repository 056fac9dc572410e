"""call.py KERNELS.so: calls kernels that tilec compiled ahead of time, through tvm-ffi, and compares with NumPy. 0: right; 3: there is no GPU."""
import sys

import numpy as np
import tvm_ffi
from device_array import DeviceArray, make_current


def softmax(kernels, random):
    rows, cols = 8, 1000
    x = random.standard_normal((rows, cols)).astype(np.float32)
    given, made = DeviceArray(x), DeviceArray(np.zeros_like(x))
    kernels.softmax(given, made, cols, cols, cols, 1024, rows)  # BLOCK, then the grid
    e = np.exp(x - x.max(axis=1, keepdims=True))
    return np.abs(made.numpy() - e / e.sum(axis=1, keepdims=True)).max()


def matmul(kernels, random):
    m, n, k = 160, 136, 72
    a, b = (random.standard_normal(shape).astype(np.float16) for shape in ((m, k), (k, n)))
    c = DeviceArray(np.zeros((m, n), np.float16))
    kernels.matmul(DeviceArray(a), DeviceArray(b), c, m, n, k, k, n, n, "relu")  # the grid is the manifest's
    return np.abs(c.numpy() - np.maximum(a.astype(np.float32) @ b.astype(np.float32), 0)).max()


def main():
    if not make_current(0):
        print("there is no GPU, and no driver", file=sys.stderr)
        return 3
    kernels = tvm_ffi.load_module(sys.argv[1])
    print(kernels.get_function_doc("matmul"))
    random = np.random.default_rng(0)
    errors = softmax(kernels, random), matmul(kernels, random)
    try:
        kernels.softmax(np.zeros(4, np.float32), None, 4, 4, 4, 256, 1)
    except ValueError as error:
        print(f"as it should be: {error}")
    print(f"softmax is off by {errors[0]:.1e} at most, matmul by {errors[1]:.1e}")
    return 0 if errors[0] < 1e-5 and errors[1] < 0.05 else 1


sys.exit(main())
