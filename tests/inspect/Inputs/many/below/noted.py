import numpy
import triton
import triton.language as tl


@triton.jit
def noted(x: "*fp32", x: "i32"):
    tl.store(x, 1)
