r"""passes sm_80: printed

2 lines, expected 2; pid (0, 0, 0) idx () of row: (operand 0) -5192002961020150650

import triton
import triton.language as tl


@triton.jit
def add_pairs(a0, a1, b0, b1):
    return a0 + b0, a1 ^ b1


@triton.jit
def kernel(y1):
    v10 = tl.arange(0, 2)
    v17 = y1 + v10
    v18 = tl.load(v17)
    v30, v31 = tl.reduce((v18, v18), 0, add_pairs)
    tl.device_print('of row', v30, v31)
"""
from program import Array, Program, S

SEED = 1795421586082
PROGRAM = Program(
    arrays={'y1': Array(dtype='u64', size=128, role='own', low=0, high=9223372036854775807, whole=True, seed=115301445, kind='', special=0.0)},
    scalars={}, constants={},
    grid=(1,), warps=1, stages=1, nested=False, seed=1795421586082,
    body=[
        S('arange', ('v10',), (), {'start': 0, 'stop': 2}),
        S('pointer', ('v17',), ('v10',), {'array': 'y1'}),
        S('load', ('v18',), ('v17', None, None)),
        S('reduce_pairs', ('v30', 'v31'), ('v18', 'v18'), {'axis': 0}),
        S('print', (), ('v30', 'v31'), {'prefix': 'of row'}),
    ],
)
