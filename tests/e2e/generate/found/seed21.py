r"""simulated sm_80, --schedule random --seed 1 --early: result

y1[31] is -1.0, expected 3.0; 50 of 1024 differ

import triton
import triton.language as tl


@triton.jit
def kernel(y1):
    v1 = tl.program_id(0)
    v68 = v1 * 256
    v69 = v68 + 1
    v74 = tl.arange(0, 32)
    v76 = v69 + v74
    v77 = y1 + v76
    v78 = tl.load(v77)
    v81 = v1 * 256
    v82 = tl.arange(0, 2)
    v83 = tl.expand_dims(v82, 1)
    v84 = v83 * 32
    v85 = v81 + v84
    v86 = tl.arange(0, 32)
    v88 = v85 + v86
    v89 = y1 + v88
    tl.store(v89, v78)
"""
from program import Array, Program, S

SEED = 21
PROGRAM = Program(
    arrays={'y1': Array(dtype='fp32', size=1024, role='own', low=-3, high=4, whole=True, seed=623048899, kind='')},
    scalars={}, constants={},
    grid=(4,), warps=4, stages=1, nested=False, seed=21,
    body=[
        S('program_id', ('v1',), (), {'axis': 0}),
        S('mul', ('v68',), ('v1', 256)),
        S('add', ('v69',), ('v68', 1)),
        S('arange', ('v74',), (), {'start': 0, 'stop': 32}),
        S('add', ('v76',), ('v69', 'v74')),
        S('pointer', ('v77',), ('v76',), {'array': 'y1'}),
        S('load', ('v78',), ('v77', None, None)),
        S('mul', ('v81',), ('v1', 256)),
        S('arange', ('v82',), (), {'start': 0, 'stop': 2}),
        S('expand', ('v83',), ('v82',), {'axis': 1}),
        S('mul', ('v84',), ('v83', 32)),
        S('add', ('v85',), ('v81', 'v84')),
        S('arange', ('v86',), (), {'start': 0, 'stop': 32}),
        S('add', ('v88',), ('v85', 'v86')),
        S('pointer', ('v89',), ('v88',), {'array': 'y1'}),
        S('store', (), ('v89', 'v78', None)),
    ],
)
