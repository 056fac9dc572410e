r"""simulated sm_80, --schedule adversarial --early: result

y1[64] is 0, expected 1; 7 of 7000 differ

import triton
import triton.language as tl


@triton.jit
def kernel(y1):
    v1 = tl.program_id(0)
    v10 = v1 * 1000
    v11 = tl.arange(0, 8)
    v12 = tl.expand_dims(v11, 1)
    v13 = v10 + v12
    v14 = tl.arange(0, 8)
    v16 = v14 * 16
    v17 = v13 + v16
    v18 = y1 + v17
    tl.store(v18, 0)
    v21 = v1 * 1000
    v23 = tl.arange(0, 2)
    v25 = v23 * 64
    v26 = v21 + v25
    v30 = y1 + v26
    tl.store(v30, 1)
"""
from program import Array, Program, S

SEED = 9
PROGRAM = Program(
    arrays={'y1': Array(dtype='i32', size=7000, role='own', low=-3, high=4, whole=True, seed=595386488, kind='')},
    scalars={}, constants={},
    grid=(7,), warps=4, stages=1, nested=False, seed=9,
    body=[
        S('program_id', ('v1',), (), {'axis': 0}),
        S('mul', ('v10',), ('v1', 1000)),
        S('arange', ('v11',), (), {'start': 0, 'stop': 8}),
        S('expand', ('v12',), ('v11',), {'axis': 1}),
        S('add', ('v13',), ('v10', 'v12')),
        S('arange', ('v14',), (), {'start': 0, 'stop': 8}),
        S('mul', ('v16',), ('v14', 16)),
        S('add', ('v17',), ('v13', 'v16')),
        S('pointer', ('v18',), ('v17',), {'array': 'y1'}),
        S('store', (), ('v18', 0, None)),
        S('mul', ('v21',), ('v1', 1000)),
        S('arange', ('v23',), (), {'start': 0, 'stop': 2}),
        S('mul', ('v25',), ('v23', 64)),
        S('add', ('v26',), ('v21', 'v25')),
        S('pointer', ('v30',), ('v26',), {'array': 'y1'}),
        S('store', (), ('v30', 1, None)),
    ],
)
