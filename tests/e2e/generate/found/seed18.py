r"""simulated sm_80, --schedule random --seed 1 --early: result

y19[197] is 0.0, expected 1.0; 32 of 282 differ

import triton
import triton.language as tl


@triton.jit
def kernel(y0, y19):
    v1 = tl.program_id(0)
    v2 = v1 * 1000
    v27 = y0 + v2
    v28 = tl.load(v27)
    v30 = v1 * 1000
    v33 = y0 + v30
    tl.store(v33, 0)
    v220 = v1 * 141
    v227 = tl.arange(0, 8)
    v228 = tl.expand_dims(v227, 0)
    v229 = tl.expand_dims(v228, 2)
    v230 = tl.expand_dims(v229, 3)
    v232 = v230 * 14
    v233 = v220 + v232
    v234 = tl.arange(0, 2)
    v235 = tl.expand_dims(v234, 0)
    v236 = tl.expand_dims(v235, 1)
    v237 = tl.expand_dims(v236, 3)
    v238 = v237 * 7
    v239 = v233 + v238
    v240 = tl.arange(0, 4)
    v244 = v239 + v240
    v245 = y19 + v244
    tl.store(v245, v28)
"""
from program import Array, Program, S

SEED = 18
PROGRAM = Program(
    arrays={'y0': Array(dtype='fp32', size=2000, role='own', low=-3, high=4, whole=True, seed=974301555, kind=''),
            'y19': Array(dtype='fp32', size=282, role='own', low=-3, high=4, whole=True, seed=426768534, kind='')},
    scalars={}, constants={},
    grid=(2,), warps=4, stages=1, nested=False, seed=18,
    body=[
        S('program_id', ('v1',), (), {'axis': 0}),
        S('mul', ('v2',), ('v1', 1000)),
        S('pointer', ('v27',), ('v2',), {'array': 'y0'}),
        S('load', ('v28',), ('v27', None, None)),
        S('mul', ('v30',), ('v1', 1000)),
        S('pointer', ('v33',), ('v30',), {'array': 'y0'}),
        S('store', (), ('v33', 0, None)),
        S('mul', ('v220',), ('v1', 141)),
        S('arange', ('v227',), (), {'start': 0, 'stop': 8}),
        S('expand', ('v228',), ('v227',), {'axis': 0}),
        S('expand', ('v229',), ('v228',), {'axis': 2}),
        S('expand', ('v230',), ('v229',), {'axis': 3}),
        S('mul', ('v232',), ('v230', 14)),
        S('add', ('v233',), ('v220', 'v232')),
        S('arange', ('v234',), (), {'start': 0, 'stop': 2}),
        S('expand', ('v235',), ('v234',), {'axis': 0}),
        S('expand', ('v236',), ('v235',), {'axis': 1}),
        S('expand', ('v237',), ('v236',), {'axis': 3}),
        S('mul', ('v238',), ('v237', 7)),
        S('add', ('v239',), ('v233', 'v238')),
        S('arange', ('v240',), (), {'start': 0, 'stop': 4}),
        S('add', ('v244',), ('v239', 'v240')),
        S('pointer', ('v245',), ('v244',), {'array': 'y19'}),
        S('store', (), ('v245', 'v28', None)),
    ],
)
