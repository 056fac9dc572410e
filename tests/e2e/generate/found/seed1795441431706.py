r"""passes sm_80: _ differs from _ in _ of _ elements, first at [_]: found _, wanted _; largest difference _, relative

tilec: error: 'y6 after pass 1, simplify' differs from 'y6 as elaborated' in 2 of 2 elements, first at [0]: found -2, wanted 0; largest difference 2, relative 0 (allowed: 0 + 0 relative)

import triton
import triton.language as tl


@triton.jit
def kernel(y0, y6):
    v1 = tl.program_id(0)
    v18 = tl.arange(0, 1)
    v41 = y0 + v18
    v42 = tl.load(v41)
    v43 = tl.min(v42, axis=None, keep_dims=False)
    for v97 in tl.range(0, 1, 1, loop_unroll_factor=3):
        v109 = v43 < 0
        tl.assume(v109)
        v43 = 0
    if v43:
        pass
    else:
        v141 = y6 + v1
        tl.store(v141, 0)
"""
from program import Array, Program, S

SEED = 1795441431706
PROGRAM = Program(
    arrays={'y0': Array(dtype='i32', size=256, role='own', low=-3, high=4, whole=True, seed=367337646, kind='', special=0.0),
            'y6': Array(dtype='i32', size=2, role='own', low=-3, high=4, whole=True, seed=873968652, kind='', special=0.0)},
    scalars={}, constants={},
    grid=(2,), warps=1, stages=1, nested=False, seed=1795441431706,
    body=[
        S('program_id', ('v1',), (), {'axis': 0}),
        S('arange', ('v18',), (), {'start': 0, 'stop': 1}),
        S('pointer', ('v41',), ('v18',), {'array': 'y0'}),
        S('load', ('v42',), ('v41', None, None)),
        S('min', ('v43',), ('v42',), {'axis': None, 'keep': False}),
        S('for', ('v97',), (0, 1, 1), {'range': 'tl.range', 'options': {'loop_unroll_factor': 3}}, (
            [
                S('lt', ('v109',), ('v43', 0)),
                S('assume', (), ('v109',)),
                S('copy', ('v43',), (0,)),
            ],
        )),
        S('if', (), ('v43',), {}, (
            [
            ],
            [
                S('pointer', ('v141',), ('v1',), {'array': 'y6'}),
                S('store', (), ('v141', 0, None)),
            ],
        )),
    ],
)
