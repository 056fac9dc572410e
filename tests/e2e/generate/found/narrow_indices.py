r"""passes sm_80: internal error: pass '_' changed what the function computes

Indices of 8 bits that wrap: their sums must not be taken apart, nor addresses to be as far apart as the indices were
before they wrapped (which LLVM 22 did); quotients and remainders of what has wrapped count the other way.

import triton
import triton.language as tl


@triton.jit
def kernel(x, y, n):
    v0 = tl.arange(0, 64)
    v2 = v0.to(tl.int8)
    v3 = v2 + 5
    v4 = v3 * 16
    v5 = x + v4
    v6 = v5 + 256
    v7 = tl.load(v6)
    v8 = v0 + 768
    v9 = y + v8
    tl.store(v9, v7)
    w1 = tl.arange(0, 256)
    w2 = w1.to(tl.int8)
    w3 = n.to(tl.int8)
    w4 = w2 + w3
    w5 = w4 * 16
    w6 = w5 + 5
    w7 = w6.to(tl.int32)
    w8 = w7 + 256
    w9 = x + w8
    w10 = tl.load(w9)
    w11 = y + w1
    tl.store(w11, w10)
    w12 = w2 % 8
    w13 = w12.to(tl.int32)
    w14 = w13 + 128
    w15 = x + w14
    w16 = tl.load(w15)
    w17 = w1 + 256
    w18 = y + w17
    tl.store(w18, w16)
    w19 = w2 // 8
    w20 = w19 < -15
    w21 = x + w1
    w22 = tl.load(w21, mask=w20, other=7)
    w23 = w1 + 512
    w24 = y + w23
    tl.store(w24, w22)
"""
from program import Array, Program, S

SEED = 0
PROGRAM = Program(
    arrays={'x': Array(dtype='i32', size=512, role='in', low=-1000, high=1000, whole=True, seed=1, kind='', special=0.0),
            'y': Array(dtype='i32', size=1024, role='own', low=-3, high=4, whole=True, seed=2, kind='', special=0.0)},
    scalars={'n': ('i32', 100)}, constants={},
    grid=(1,), warps=1, stages=1, nested=False, seed=0,
    body=[
        S('arange', ('v0',), (), {'start': 0, 'stop': 64}),
        S('to', ('v2',), ('v0',), {'dtype': 'i8'}),
        S('add', ('v3',), ('v2', 5)),
        S('mul', ('v4',), ('v3', 16)),
        S('pointer', ('v5',), ('v4',), {'array': 'x'}),
        S('add', ('v6',), ('v5', 256)),
        S('load', ('v7',), ('v6', None, None)),
        S('add', ('v8',), ('v0', 768)),
        S('pointer', ('v9',), ('v8',), {'array': 'y'}),
        S('store', (), ('v9', 'v7', None)),
        S('arange', ('w1',), (), {'start': 0, 'stop': 256}),
        S('to', ('w2',), ('w1',), {'dtype': 'i8'}),
        S('to', ('w3',), ('n',), {'dtype': 'i8'}),
        S('add', ('w4',), ('w2', 'w3')),
        S('mul', ('w5',), ('w4', 16)),
        S('add', ('w6',), ('w5', 5)),
        S('to', ('w7',), ('w6',), {'dtype': 'i32'}),
        S('add', ('w8',), ('w7', 256)),
        S('pointer', ('w9',), ('w8',), {'array': 'x'}),
        S('load', ('w10',), ('w9', None, None)),
        S('pointer', ('w11',), ('w1',), {'array': 'y'}),
        S('store', (), ('w11', 'w10', None)),
        S('mod', ('w12',), ('w2', 8)),
        S('to', ('w13',), ('w12',), {'dtype': 'i32'}),
        S('add', ('w14',), ('w13', 128)),
        S('pointer', ('w15',), ('w14',), {'array': 'x'}),
        S('load', ('w16',), ('w15', None, None)),
        S('add', ('w17',), ('w1', 256)),
        S('pointer', ('w18',), ('w17',), {'array': 'y'}),
        S('store', (), ('w18', 'w16', None)),
        S('floordiv', ('w19',), ('w2', 8)),
        S('lt', ('w20',), ('w19', -15)),
        S('pointer', ('w21',), ('w1',), {'array': 'x'}),
        S('load', ('w22',), ('w21', 'w20', 7)),
        S('add', ('w23',), ('w1', 512)),
        S('pointer', ('w24',), ('w23',), {'array': 'y'}),
        S('store', (), ('w24', 'w22', None)),
    ],
)
