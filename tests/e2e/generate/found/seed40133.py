r"""simulated sm_90a, --schedule round-robin: the stored value is undefined (bytes that bfi overwrites)

import triton
import triton.language as tl


@triton.jit
def kernel(x14, y22):
    v1 = tl.program_id(0)
    v276 = tl.make_block_ptr(x14, (179, 140), (140, 1), (0, 0, ), (64, 64), (1, 0))
    v277 = tl.advance(v276, (0, 1, ))
    v278 = tl.load(v277, boundary_check=(0, 1), padding_option='zero')
    v279 = tl.dot(v278, v278)
    v348 = v1 * 4222
    v349 = tl.arange(0, 64)
    v350 = tl.expand_dims(v349, 1)
    v351 = v350 * 66
    v352 = v348 + v351
    v353 = tl.arange(0, 64)
    v355 = v352 + v353
    v356 = y22 + v355
    tl.store(v356, v279)
"""
from program import Array, Program, S

SEED = 40133
PROGRAM = Program(
    arrays={'x14': Array(dtype='fp8e5', size=25060, role='in', low=-3, high=4, whole=True, seed=793041225, kind=''),
            'y22': Array(dtype='fp32', size=29554, role='own', low=-3, high=4, whole=True, seed=737153886, kind='')},
    scalars={}, constants={},
    grid=(7,), warps=8, stages=1, nested=False, seed=40133,
    body=[
        S('program_id', ('v1',), (), {'axis': 0}),
        S('block', ('v276',), (0, 0, 0), {'array': 'x14', 'extents': (179, 140), 'strides': (140, 1), 'tile': (64, 64)}),
        S('advance', ('v277',), ('v276', 0, 1)),
        S('block_load', ('v278',), ('v277',), {'checked': (0, 1)}),
        S('dot', ('v279',), ('v278', 'v278')),
        S('mul', ('v348',), ('v1', 4222)),
        S('arange', ('v349',), (), {'start': 0, 'stop': 64}),
        S('expand', ('v350',), ('v349',), {'axis': 1}),
        S('mul', ('v351',), ('v350', 66)),
        S('add', ('v352',), ('v348', 'v351')),
        S('arange', ('v353',), (), {'start': 0, 'stop': 64}),
        S('add', ('v355',), ('v352', 'v353')),
        S('pointer', ('v356',), ('v355',), {'array': 'y22'}),
        S('store', (), ('v356', 'v279', None)),
    ],
)
