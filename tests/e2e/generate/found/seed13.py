r"""simulated sm_80, --schedule adversarial --early: result

y15[34] is -1.0, expected 2.0; 80 of 512 differ

import triton
import triton.language as tl


@triton.jit
def kernel(y15):
    v1 = tl.program_id(0)
    v266 = v1 * 128
    v279 = tl.arange(0, 4)
    v282 = v266 + v279
    v283 = y15 + v282
    v284 = tl.load(v283)
    v290 = v1 * 128
    v291 = v290 + 1
    v292 = tl.arange(0, 4)
    v293 = tl.expand_dims(v292, 1)
    v294 = tl.expand_dims(v293, 2)
    v295 = v294 * 16
    v296 = v291 + v295
    v297 = tl.arange(0, 4)
    v298 = tl.expand_dims(v297, 0)
    v299 = tl.expand_dims(v298, 2)
    v300 = v299 * 4
    v301 = v296 + v300
    v302 = tl.arange(0, 4)
    v305 = v301 + v302
    v306 = y15 + v305
    tl.store(v306, v284)
"""
from program import Array, Program, S

SEED = 13
PROGRAM = Program(
    arrays={'y15': Array(dtype='fp32', size=512, role='own', low=-3, high=4, whole=True, seed=107930288, kind='')},
    scalars={}, constants={},
    grid=(4,), warps=4, stages=1, nested=False, seed=13,
    body=[
        S('program_id', ('v1',), (), {'axis': 0}),
        S('mul', ('v266',), ('v1', 128)),
        S('arange', ('v279',), (), {'start': 0, 'stop': 4}),
        S('add', ('v282',), ('v266', 'v279')),
        S('pointer', ('v283',), ('v282',), {'array': 'y15'}),
        S('load', ('v284',), ('v283', None, None)),
        S('mul', ('v290',), ('v1', 128)),
        S('add', ('v291',), ('v290', 1)),
        S('arange', ('v292',), (), {'start': 0, 'stop': 4}),
        S('expand', ('v293',), ('v292',), {'axis': 1}),
        S('expand', ('v294',), ('v293',), {'axis': 2}),
        S('mul', ('v295',), ('v294', 16)),
        S('add', ('v296',), ('v291', 'v295')),
        S('arange', ('v297',), (), {'start': 0, 'stop': 4}),
        S('expand', ('v298',), ('v297',), {'axis': 0}),
        S('expand', ('v299',), ('v298',), {'axis': 2}),
        S('mul', ('v300',), ('v299', 4)),
        S('add', ('v301',), ('v296', 'v300')),
        S('arange', ('v302',), (), {'start': 0, 'stop': 4}),
        S('add', ('v305',), ('v301', 'v302')),
        S('pointer', ('v306',), ('v305',), {'array': 'y15'}),
        S('store', (), ('v306', 'v284', None)),
    ],
)
