r"""simulated sm_80, --schedule round-robin: result

y0[48] is 2, expected 0; 16 of 4096 differ

import triton
import triton.language as tl


@triton.jit
def kernel(y0):
    v1 = tl.program_id(0)
    v86 = y0 + v1
    tl.store(v86, 0)
    v90 = v1 * 2048
    v95 = tl.arange(0, 4)
    v97 = v95 * 16
    v98 = v90 + v97
    v99 = y0 + v98
    v100 = tl.load(v99)
    v101 = v1 * 2048
    v102 = v101 + 16
    v103 = tl.arange(0, 16)
    v104 = tl.expand_dims(v103, 1)
    v105 = v102 + v104
    v106 = tl.arange(0, 4)
    v108 = v106 * 16
    v109 = v105 + v108
    v110 = y0 + v109
    tl.store(v110, v100)
"""
from program import Array, Program, S

SEED = 3
PROGRAM = Program(
    arrays={'y0': Array(dtype='i32', size=4096, role='own', low=-3, high=4, whole=False, seed=1026784146, kind='')},
    scalars={}, constants={},
    grid=(2,), warps=4, stages=1, nested=False, seed=3,
    body=[
        S('program_id', ('v1',), (), {'axis': 0}),
        S('pointer', ('v86',), ('v1',), {'array': 'y0'}),
        S('store', (), ('v86', 0, None)),
        S('mul', ('v90',), ('v1', 2048)),
        S('arange', ('v95',), (), {'start': 0, 'stop': 4}),
        S('mul', ('v97',), ('v95', 16)),
        S('add', ('v98',), ('v90', 'v97')),
        S('pointer', ('v99',), ('v98',), {'array': 'y0'}),
        S('load', ('v100',), ('v99', None, None)),
        S('mul', ('v101',), ('v1', 2048)),
        S('add', ('v102',), ('v101', 16)),
        S('arange', ('v103',), (), {'start': 0, 'stop': 16}),
        S('expand', ('v104',), ('v103',), {'axis': 1}),
        S('add', ('v105',), ('v102', 'v104')),
        S('arange', ('v106',), (), {'start': 0, 'stop': 4}),
        S('mul', ('v108',), ('v106', 16)),
        S('add', ('v109',), ('v105', 'v108')),
        S('pointer', ('v110',), ('v109',), {'array': 'y0'}),
        S('store', (), ('v110', 'v100', None)),
    ],
)
