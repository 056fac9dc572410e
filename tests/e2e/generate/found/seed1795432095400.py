r"""simulated sm_90a, --schedule round-robin: kernel kernel, program (_, _, _), thread (_, _, _): the stored value is undefined: it comes from memory

kernel.ptx:132:2: error: kernel kernel, program (0, 0, 0), thread (2, 0, 0): the stored value is undefined: it comes from memory or registers that were never written
  132 | 	st.global.v4.b32 	[%rd13], {%r31, %r32, %r33, %r34};
      | 	^~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~
kernel.py:32:5: note: compiled from here
   32 |     tl.store(v137, v88)
      |     ^

import triton
import triton.language as tl


@triton.jit
def kernel(x11, y16, y17):
    v1 = tl.program_id(0)
    v78 = tl.arange(0, 8)
    v79 = tl.expand_dims(v78, 1)
    v82 = tl.arange(0, 32)
    v84 = v79 + v82
    v85 = x11 + v84
    v86 = tl.load(v85)
    v88 = v86 > 1
    v113 = v1 * 256
    v114 = tl.arange(0, 8)
    v115 = tl.expand_dims(v114, 1)
    v117 = v115 * 32
    v118 = v113 + v117
    v119 = tl.arange(0, 32)
    v121 = v118 + v119
    v122 = y16 + v121
    tl.store(v122, v86)
    v125 = v1 * 288
    v126 = tl.arange(0, 8)
    v127 = tl.expand_dims(v126, 1)
    v128 = v125 + v127
    v129 = tl.arange(0, 32)
    v131 = v129 * 8
    v132 = v128 + v131
    v137 = y17 + v132
    tl.store(v137, v88)
"""
from program import Array, Program, S

SEED = 1795432095400
PROGRAM = Program(
    arrays={'x11': Array(dtype='i32', size=275, role='in', low=-3, high=4, whole=True, seed=643117512, kind='', special=0.0),
            'y16': Array(dtype='i32', size=1536, role='own', low=-3, high=4, whole=True, seed=977497625, kind='', special=0.0),
            'y17': Array(dtype='i32', size=1728, role='own', low=-3, high=4, whole=True, seed=1000814415, kind='', special=0.0)},
    scalars={}, constants={},
    grid=(2,), warps=2, stages=1, nested=False, seed=1795432095400,
    body=[
        S('program_id', ('v1',), (), {'axis': 0}),
        S('arange', ('v78',), (), {'start': 0, 'stop': 8}),
        S('expand', ('v79',), ('v78',), {'axis': 1}),
        S('arange', ('v82',), (), {'start': 0, 'stop': 32}),
        S('add', ('v84',), ('v79', 'v82')),
        S('pointer', ('v85',), ('v84',), {'array': 'x11'}),
        S('load', ('v86',), ('v85', None, None)),
        S('gt', ('v88',), ('v86', 1)),
        S('mul', ('v113',), ('v1', 256)),
        S('arange', ('v114',), (), {'start': 0, 'stop': 8}),
        S('expand', ('v115',), ('v114',), {'axis': 1}),
        S('mul', ('v117',), ('v115', 32)),
        S('add', ('v118',), ('v113', 'v117')),
        S('arange', ('v119',), (), {'start': 0, 'stop': 32}),
        S('add', ('v121',), ('v118', 'v119')),
        S('pointer', ('v122',), ('v121',), {'array': 'y16'}),
        S('store', (), ('v122', 'v86', None)),
        S('mul', ('v125',), ('v1', 288)),
        S('arange', ('v126',), (), {'start': 0, 'stop': 8}),
        S('expand', ('v127',), ('v126',), {'axis': 1}),
        S('add', ('v128',), ('v125', 'v127')),
        S('arange', ('v129',), (), {'start': 0, 'stop': 32}),
        S('mul', ('v131',), ('v129', 8)),
        S('add', ('v132',), ('v128', 'v131')),
        S('pointer', ('v137',), ('v132',), {'array': 'y17'}),
        S('store', (), ('v137', 'v88', None)),
    ],
)
