r"""passes sm_80: after pass _, choose-layouts, the function goes wrong where it did not before: _: result is tile<_, 

kernel.py:11:5: error: after pass 16, choose-layouts, the function goes wrong where it did not before: 'reduce': result is tile<32xi8, {reg = [1, 8, 16], lane = [2, 4, 0, 0, 0]}>, wanted tile<32xi8, {reg = [1, 2, 4, 8], lane = [16, 0, 0, 0, 0]}>
   11 | def kernel(x5, x6, y12):
      |     ^~~~~~

import triton
import triton.language as tl


@triton.jit
def add_pairs(a0, a1, b0, b1):
    return a0 + b0, a1 ^ b1


@triton.jit
def kernel(x5, x6, y12):
    v1 = tl.program_id(0)
    v91 = tl.make_tensor_descriptor(x5, [192, 192], [192, 1], [32, 32])
    v92 = v91.load([0, 0])
    v95 = tl.arange(0, 32)
    v96 = tl.expand_dims(v95, 1)
    v98 = tl.arange(0, 32)
    v101 = v96 + v98
    v102 = x6 + v101
    v103 = tl.load(v102)
    v105 = tl.dot(v92, v103)
    v115, v116 = tl.reduce((v103, v105), 0, add_pairs)
    v214 = v1 * 32
    v215 = tl.arange(0, 32)
    v216 = v214 + v215
    v218 = y12 + v216
    tl.store(v218, v116)
"""
from program import Array, Program, S

SEED = 1795433106248
PROGRAM = Program(
    arrays={'x5': Array(dtype='i8', size=36864, role='in', low=-3, high=4, whole=True, seed=1068856237, kind='', special=0.0),
            'x6': Array(dtype='i8', size=2059, role='in', low=-3, high=4, whole=True, seed=462563877, kind='', special=0.0),
            'y12': Array(dtype='i32', size=224, role='own', low=-3, high=4, whole=True, seed=965135048, kind='', special=0.0)},
    scalars={}, constants={},
    grid=(7,), warps=1, stages=1, nested=False, seed=1795433106248,
    body=[
        S('program_id', ('v1',), (), {'axis': 0}),
        S('desc', ('v91',), (0,), {'array': 'x5', 'extents': (192, 192), 'strides': (192, 1), 'tile': (32, 32)}),
        S('desc_load', ('v92',), ('v91', 0, 0)),
        S('arange', ('v95',), (), {'start': 0, 'stop': 32}),
        S('expand', ('v96',), ('v95',), {'axis': 1}),
        S('arange', ('v98',), (), {'start': 0, 'stop': 32}),
        S('add', ('v101',), ('v96', 'v98')),
        S('pointer', ('v102',), ('v101',), {'array': 'x6'}),
        S('load', ('v103',), ('v102', None, None)),
        S('dot', ('v105',), ('v92', 'v103')),
        S('reduce_pairs', ('v115', 'v116'), ('v103', 'v105'), {'axis': 0}),
        S('mul', ('v214',), ('v1', 32)),
        S('arange', ('v215',), (), {'start': 0, 'stop': 32}),
        S('add', ('v216',), ('v214', 'v215')),
        S('pointer', ('v218',), ('v216',), {'array': 'y12'}),
        S('store', (), ('v218', 'v116', None)),
    ],
)
