"""Definitions that depend on versions and on what is installed."""
import os

import triton
import triton.language as tl

try:
    import triton.language.extra.libdevice as tldevice
    from triton.tools.tensor_descriptor import TensorDescriptor
    HAS_DESCRIPTORS = True
except ImportError:
    HAS_DESCRIPTORS = False
    TensorDescriptor = None

if os.environ.get('FAST_MATH', '0') == '1':
    exp = tldevice.fast_expf
else:
    exp = tl.exp

if hasattr(tl, 'gather'):
    gather = tl.gather
else:
    @triton.jit
    def gather(src, index, axis):
        return None

from .versions import HAS_SPLIT, IS_NEW

if not HAS_SPLIT:

    @triton.jit
    def halves(x):
        return x, x
else:

    @triton.jit
    def halves(x):
        return tl.split(x)


if IS_NEW:
    if HAS_DESCRIPTORS:
        @triton.jit
        def load(desc, i, j):
            return desc.load([i, j])
    else:
        @triton.jit
        def load(desc, i, j):
            return tl.load(desc + i * 32 + j)
elif IS_NEW is None:
    load = None
else:
    @triton.jit
    def load(desc, i, j, k):
        pass

    @triton.jit
    def only_old(x):
        return -x
