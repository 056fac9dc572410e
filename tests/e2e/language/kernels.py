"""Kernels of constructs whose results NumPy gives."""
from collections import namedtuple
from typing import NamedTuple

import triton
import triton.language as tl
from triton.language.core import _aggregate as aggregate
from triton.language.extra import cuda


@triton.jit
def sorted_rows(x_ptr, out_ptr, M: tl.constexpr, N: tl.constexpr, DESCENDING: tl.constexpr):
    at = tl.arange(0, M)[:, None] * N + tl.arange(0, N)[None, :]
    tl.store(out_ptr + at, tl.sort(tl.load(x_ptr + at), descending=DESCENDING))


@triton.jit
def best_of_rows(x_ptr, out_ptr, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr, DESCENDING: tl.constexpr):
    at = tl.arange(0, M)[:, None] * N + tl.arange(0, N)[None, :]
    tl.store(out_ptr + tl.arange(0, M)[:, None] * K + tl.arange(0, K)[None, :], tl.load(x_ptr + at).topk(K, 1, DESCENDING))


@triton.jit
def merged(x_ptr, out_ptr, N: tl.constexpr):
    at = tl.arange(0, N)
    tl.store(out_ptr + at, tl.bitonic_merge(tl.load(x_ptr + at)))


@triton.jit
def compared(keys, places, i: tl.constexpr, n: tl.constexpr, FLIP: tl.constexpr):
    """Keys with their places, at a distance of 2**i: both are made from sums of pairs, repeated."""
    pairs: tl.constexpr = [2**(n - 1 - i), 2, 2**i]
    right = tl.arange(0, 2)[None, :, None]
    y, p = tl.reshape(keys, pairs), tl.reshape(places, pairs)
    left_key = tl.reshape(tl.broadcast_to(tl.sum(y * (1 - right), 1)[:, None, :], pairs), keys.shape)
    right_key = tl.reshape(tl.broadcast_to(tl.sum(y * right, 1)[:, None, :], pairs), keys.shape)
    left_place = tl.reshape(tl.broadcast_to(tl.sum(p * (1 - right), 1)[:, None, :], pairs), keys.shape)
    right_place = tl.reshape(tl.broadcast_to(tl.sum(p * right, 1)[:, None, :], pairs), keys.shape)
    swap = (left_key > right_key) | ((left_key == right_key) & (left_place > right_place))
    if FLIP > 0:
        block: tl.constexpr = [2**(n - 1 - FLIP), 2, 2**FLIP]
        swap = swap ^ tl.reshape(tl.broadcast_to(tl.arange(0, 2)[None, :, None], block), keys.shape).to(tl.int1)
    return keys ^ tl.where(swap, left_key ^ right_key, 0), places ^ tl.where(swap, left_place ^ right_place, 0)


@triton.jit
def ranked(x_ptr, keys_ptr, places_ptr, LOG_N: tl.constexpr):
    """A stable sort of what is stored in places of two sizes."""
    at = tl.arange(0, 2**LOG_N)
    keys, places = tl.load(x_ptr + at), at
    for stage in tl.static_range(1, LOG_N + 1):
        for i in tl.static_range(stage):
            keys, places = compared(keys, places, stage - 1 - i, LOG_N, stage if stage < LOG_N else 0)
    tl.store(keys_ptr + at, keys)
    tl.store(places_ptr + at, places.to(tl.int64))


@triton.jit
def flipped(x_ptr, out_ptr, M: tl.constexpr, N: tl.constexpr, DIM: tl.constexpr):
    at = tl.arange(0, M)[:, None] * N + tl.arange(0, N)[None, :]
    tl.store(out_ptr + at, tl.flip(tl.load(x_ptr + at), DIM))


@triton.jit
def gathered(x_ptr, index_ptr, out_ptr, M: tl.constexpr, N: tl.constexpr, R: tl.constexpr, C: tl.constexpr, AXIS: tl.constexpr):
    x = tl.load(x_ptr + tl.arange(0, M)[:, None] * N + tl.arange(0, N)[None, :])
    at = tl.arange(0, R)[:, None] * C + tl.arange(0, C)[None, :]
    tl.store(out_ptr + at, x.gather(tl.load(index_ptr + at), AXIS))


@triton.jit
def gathered_line(x_ptr, index_ptr, out_ptr, N: tl.constexpr, R: tl.constexpr):
    at = tl.arange(0, R)
    tl.store(out_ptr + at, tl.gather(tl.load(x_ptr + tl.arange(0, N)), tl.load(index_ptr + at), 0))


@triton.jit
def counted(x_ptr, all_ptr, some_ptr, N: tl.constexpr, BINS: tl.constexpr):
    x = tl.load(x_ptr + tl.arange(0, N))
    at = tl.arange(0, BINS)
    tl.store(all_ptr + at, tl.histogram(x, BINS))
    tl.store(some_ptr + at, tl.histogram(x, BINS, mask=x % 3 == 0))


@triton.jit
def logical(x_ptr, y_ptr, out_ptr, N: tl.constexpr):
    at = tl.arange(0, N)
    x, y = tl.load(x_ptr + at), tl.load(y_ptr + at)
    tl.store(out_ptr + at, x.logical_and(y).to(tl.int32) + 2 * (x > 1).logical_or(y > 1).to(tl.int32))


@triton.jit
def funnel_shift(x_ptr, y_ptr, out_ptr, BY: tl.constexpr, N: tl.constexpr):
    at = tl.arange(0, N)
    z = tl.inline_asm_elementwise("shf.l.wrap.b32 $0, $1, $2, $3;", "=r,r, r, r", [tl.load(x_ptr + at), tl.load(y_ptr + at), BY],
                                  dtype=tl.int32, is_pure=True, pack=1)
    tl.store(out_ptr + at, z)


# Four bytes in a register.
@triton.jit
def masked_bytes(x_ptr, out_ptr, N: tl.constexpr):
    at = tl.arange(0, N)
    y = tl.inline_asm_elementwise("and.b32 $0, $1, 0x1F1F1F1F; shl.b32 $0, $0, 3;", "=r,r", [tl.load(x_ptr + at)], dtype=tl.int8, is_pure=True, pack=4)
    tl.store(out_ptr + at, y)


# Two results, registers of the piece's own, bytes beside floats.
@triton.jit
def two_results(x_ptr, y_ptr, whole_ptr, most_ptr, N: tl.constexpr):
    at = tl.arange(0, N)
    whole, most = tl.inline_asm_elementwise(
        asm="""
        {
            // the bytes of one register
            .reg .b8 part<4>;
            mov.b32 {part0, part1, part2, part3}, $8;
            cvt.u32.u8 $0, part0; cvt.u32.u8 $1, part1;
            cvt.u32.u8 $2, part2; cvt.u32.u8 $3, part3;
        }
        cvt.rn.f32.s32 $4, $0; cvt.rn.f32.s32 $5, $1; /* as floats */ cvt.rn.f32.s32 $6, $2; cvt.rn.f32.s32 $7, $3;
        max.f32 $4, $4, $9; max.f32 $5, $5, $10; max.f32 $6, $6, $11; max.f32 $7, $7, $12;
        """,
        constraints="=r,=r,=r,=r,=r,=r,=r,=r,r,r,r,r,r", args=[tl.load(x_ptr + at), tl.load(y_ptr + at)], dtype=(tl.int32, tl.float32),
        is_pure=True, pack=4)
    tl.store(whole_ptr + at, whole)
    tl.store(most_ptr + at, most)


# A predicate, and numbers that stand in the text.
@triton.jit
def softplus(x_ptr, out_ptr, N: tl.constexpr):
    at = tl.arange(0, N)
    asm: tl.constexpr = """{ .reg .pred large; setp.gt.f32 large, $1, 20.; @large mov.f32 $0, $1; @!large mul.f32 $0, $1, 0f3FB8AA3B;
        @!large ex2.approx.ftz.f32 $0, $0; @!large add.f32 $0, $0, 1.0; @!large lg2.approx.ftz.f32 $0, $0; @!large mul.f32 $0, $0, 0.6931471805599453; }"""
    tl.store(out_ptr + at, tl.inline_asm_elementwise(asm=asm, constraints="=f,f", args=[tl.load(x_ptr + at)], dtype=tl.float32, is_pure=True, pack=1))


# Integers in every way that pieces commonly compute with them.
@triton.jit
def integers(x_ptr, y_ptr, out_ptr, N: tl.constexpr):
    at = tl.arange(0, N)
    asm: tl.constexpr = """{ .reg .b32 a, b; .reg .b64 w; .reg .pred p;
        mul.hi.s32 a, $1, $2; mad.lo.s32 a, $1, $2, a; xor.b32 a, a, $2; shr.s32 b, $1, 5; sub.s32 a, a, b;
        min.s32 b, $1, $2; max.u32 a, a, b; prmt.b32 a, a, $2, 0x2160; popc.b32 b, a; lop3.b32 a, a, b, $1, 0x96;
        mul.wide.u32 w, a, 77; shr.u64 w, w, 9; cvt.u32.u64 b, w; setp.le.u32 p, a, b; selp.b32 $0, a, b, p; }"""
    tl.store(out_ptr + at, tl.inline_asm_elementwise(asm, "=r,r,r", [tl.load(x_ptr + at), tl.load(y_ptr + at)], tl.int32, True, 1))


# With effects: not where there is a `pack`, nor on the interpreter.
@triton.jit
def bytes_in_memory(x_ptr, out_ptr, N: tl.constexpr):
    at = tl.arange(0, N)
    tl.inline_asm_elementwise("ld.global.b8 $0, [$1]; shl.b32 $0, $0, 3; st.global.b8 [$2], $0;", "=r,l,l", [x_ptr + at, out_ptr + at],
                              dtype=tl.int8, is_pure=False, pack=1)


@triton.jit
def registers(out_ptr):
    start = cuda.globaltimer()
    tl.store(out_ptr, (cuda.globaltimer() >= start).to(tl.int32))
    tl.store(out_ptr + 1, (cuda.smid() >= 0).to(tl.int32))


# What one program stores for others to wait for.
@triton.jit
def atomic_words(flag_ptr, x_ptr, out_ptr, N: tl.constexpr):
    at = tl.arange(0, N)
    tl.atomic_store(x_ptr + at, tl.atomic_load(x_ptr + at) * 2, mask=at < N - 1)
    tl.atomic_store(flag_ptr, 1)
    done = tl.atomic_poll(flag_ptr, 1)
    tl.store(out_ptr + at, tl.atomic_load(x_ptr + at, sem="relaxed"))
    late = tl.atomic_poll(flag_ptr, 2, timeout_ns=10)
    tl.store(flag_ptr, done.to(tl.int32) * 10 + late.to(tl.int32))


# Questions about values, which are answered while the kernel is compiled.
@triton.jit
def questions(x_ptr, out_ptr, one, N: tl.constexpr):
    at = tl.arange(0, N)
    x = tl.load(x_ptr + at)
    tl.static_assert(hasattr(x, "dtype") and hasattr(x, "sum") and hasattr(x, "logical_or") and not hasattr(x, "T") and not hasattr(x, "grad"))
    tl.static_assert(hasattr(N, "value") and hasattr(N, "type") and not hasattr(N, "dtype"))
    tl.static_assert(hasattr(x.dtype, "primitive_bitwidth") and not hasattr(x.dtype, "element_ty") and hasattr(x_ptr.dtype, "element_ty"))
    tl.static_assert(hasattr(tl, "load") and not hasattr(tl, "unload"))
    tl.static_assert(isinstance(N.type, tl.constexpr_type) and isinstance(one.type, tl.core.constexpr_type))
    tl.static_assert(not isinstance(x.type, tl.constexpr_type) and not isinstance(N, tl.tensor))
    tl.static_assert(tl.core._unwrap_if_constexpr(N) == 16 and tl.core.get_int_dtype(32, signed=False) == tl.uint32)
    tl.static_assert(tl.target_info.is_cuda() and not tl.target_info.is_hip() and not tl.target_info.is_hip_cdna3())
    tl.static_assert(tl.target_info.cuda_capability_geq(8) and not tl.target_info.cuda_capability_geq(20, 0))
    tl.static_assert(tl.standard._is_power_of_two(N) and not tl.standard._is_power_of_two(12))
    tl.store(out_ptr + at, tl.core._unwrap_if_constexpr(x))


@triton.jit
def joined_along(x_ptr, y_ptr, out_ptr, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr, DIM: tl.constexpr, CAN_REORDER: tl.constexpr):
    at = (tl.arange(0, M)[:, None, None] * N + tl.arange(0, N)[None, :, None]) * K + tl.arange(0, K)[None, None, :]
    both = tl.cat(tl.load(x_ptr + at), tl.load(y_ptr + at), can_reorder=CAN_REORDER, dim=DIM)
    m: tl.constexpr = both.shape[0]
    n: tl.constexpr = both.shape[1]
    k: tl.constexpr = both.shape[2]
    to = (tl.arange(0, m)[:, None, None] * n + tl.arange(0, n)[None, :, None]) * k + tl.arange(0, k)[None, None, :]
    tl.store(out_ptr + to, both)


@triton.jit
def ordering(x, y):
    if x < y:
        return -1
    elif x == y:
        return 0
    else:
        return 1


# Branches of single elements.
@triton.jit
def ordered(x_ptr, y_ptr, out_ptr, M: tl.constexpr, N: tl.constexpr):
    column, row = tl.arange(0, N)[None, :], tl.arange(0, M)[:, None]
    tl.store(out_ptr + row * N + column, tl.map_elementwise(ordering, tl.load(x_ptr + row), tl.load(y_ptr + column)))


@triton.jit
def collatz(n, least: tl.constexpr = 1):
    steps = 0
    most = n
    while n != least:
        tl.device_assert(n > 0, "positive")
        n = n // 2 if n % 2 == 0 else 3 * n + 1
        most = tl.maximum(most, n)
        steps += 1
    return steps, most.to(tl.float32)


# Loops of single elements, and results of several types.
@triton.jit
def collatz_steps(x_ptr, steps_ptr, most_ptr, N: tl.constexpr):
    at = tl.arange(0, N)
    steps, most = tl.map_elementwise(collatz, tl.load(x_ptr + at))
    tl.store(steps_ptr + at, steps)
    tl.store(most_ptr + at, most)


@triton.jit
def quotients(a0, a1, a2, a3, b0, b1, b2, b3):
    return a0 // b0, a1 // b1, a2 // b2, a3 // b3, a3 % b3, a2 % b2, a1 % b1, a0 % b0


# Four elements at a time; remainders change places within them.
@triton.jit
def packed(x_ptr, y_ptr, quotient_ptr, rest_ptr, M: tl.constexpr, N: tl.constexpr):
    at = tl.arange(0, M)[:, None] * N + tl.arange(0, N)[None, :]
    quotient, rest = tl.map_elementwise(quotients, tl.load(x_ptr + at), tl.load(y_ptr + at), pack=4)
    tl.store(quotient_ptr + at, quotient)
    tl.store(rest_ptr + at, rest)


@triton.jit
def add_checked(a, b):
    tl.device_assert((a.to(tl.int64) + b <= 2147483647) & (a.to(tl.int64) + b >= -2147483648), "the sum overflows")
    return a + b


@triton.jit
def checked_sums(x_ptr, sums_ptr, scan_ptr, M: tl.constexpr, N: tl.constexpr):
    at = tl.arange(0, M)[:, None] * N + tl.arange(0, N)[None, :]
    x = tl.load(x_ptr + at)
    tl.store(sums_ptr + tl.arange(0, M), tl.reduce(x, 1, add_checked))
    tl.store(scan_ptr + at, tl.associative_scan(x, 0, add_checked))


# Both halves of a product in one function, which is inlined again and again.
@triton.jit
def mixed(a, b):
    return (a * b) ^ tl.umulhi(a, b)


@triton.jit
def mixed_all(x_ptr, out_ptr, N: tl.constexpr):
    tl.store(out_ptr, tl.reduce(tl.load(x_ptr + tl.arange(0, N)), 0, mixed))


@triton.jit
def if_positive(x, n):
    if n > 0:
        return x + 1, x * 2


# A path without a value is not taken.
@triton.jit
def one_path(x_ptr, n_ptr, out_ptr, N: tl.constexpr):
    at, n = tl.arange(0, N), tl.load(n_ptr)
    more, twice = if_positive(tl.load(x_ptr + at), n)
    tl.store(out_ptr + at, tl.where(n > 0, more + twice, 7))


@triton.jit
def small_product(a_ptr, b_ptr, out_ptr, B: tl.constexpr, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr, TYPE: tl.constexpr,
                  OTHER: tl.constexpr, SUMS: tl.constexpr, PRECISION: tl.constexpr):
    m, n, k = tl.arange(0, M), tl.arange(0, N), tl.arange(0, K)
    if B == 1:
        a = tl.load(a_ptr + m[:, None] * K + k[None, :])
        b = tl.load(b_ptr + k[:, None] * N + n[None, :])
        to = out_ptr + m[:, None] * N + n[None, :]
    else:
        z = tl.arange(0, B)[:, None, None]
        a = tl.load(a_ptr + (z * M + m[None, :, None]) * K + k[None, None, :])
        b = tl.load(b_ptr + (z * K + k[None, :, None]) * N + n[None, None, :])
        to = out_ptr + (z * M + m[None, :, None]) * N + n[None, None, :]
    tl.store(to, tl.dot(a.to(TYPE), b.to(OTHER), out_dtype=SUMS, input_precision=PRECISION).to(tl.float32))


# As many threads as the launch was asked for.
@triton.jit
def threads_of(out_ptr):
    count: tl.constexpr = cuda.num_threads()
    tl.static_assert(count == cuda.num_warps() * 32)
    tl.store(out_ptr + tl.arange(0, count), 1)


@triton.jit
def many_dimensions(x_ptr, out_ptr, N: tl.constexpr):
    at = tl.arange(0, N)
    x = tl.reshape(tl.load(x_ptr + at), (2, 2, 2, 2, 2, 2, 2, 1, 2, 2))
    tl.store(out_ptr + at, tl.reshape(tl.trans(x, (9, 0, 1, 8, 2, 3, 7, 4, 6, 5)), (N, )))


# Indices keep their last value, or what they were where the loop does not run.
@triton.jit
def indices_behind(bounds_ptr, out_ptr):
    lo, hi = tl.load(bounds_ptr), tl.load(bounds_ptr + 1)
    t = 77
    for t in range(lo, hi, 3):
        tl.store(out_ptr + 15, t)
    tl.store(out_ptr, t)
    d = 5
    for d in range(hi, lo, -2):
        tl.store(out_ptr + 15, d)
    tl.store(out_ptr + 1, d)
    if hi > lo:
        for t in range(lo, hi):
            tl.store(out_ptr + 15, t)
        tl.store(out_ptr + 2, t)
        t = 9
    else:
        t = 10
    for d in range(d, d + 4):
        for i in range(0, 2):
            tl.store(out_ptr + 15, i)
        tl.store(out_ptr + 3, i)
    while d < 100:
        d += 17
    tl.store(out_ptr + 4, d)
    tl.store(out_ptr + 5, t)


# What earlier versions accept.
@triton.jit
def old_spellings(a_ptr, b_ptr, out_ptr, N: tl.constexpr):
    rows, columns = tl.arange(0, N)[:, None], tl.arange(0, N)[None, :]
    a, b = tl.load(a_ptr + rows * N + columns), tl.load(b_ptr + rows * N + columns)
    M: tl.constexpr = tl.load(out_ptr) + 1.0
    product = tl.dot(a, b, trans_b=True) + tl.dot(a, b, trans_a=True, trans_b=True) * M
    for i in tl.range(0, 1, multi_cta=True):
        tl.store(out_ptr + rows * N + columns, product)


@triton.jit
def old_descriptors(a_ptr, out_ptr, N: tl.constexpr):
    a = tl._experimental_make_tensor_descriptor(a_ptr, [N, N], [N, 1], [N, 16])
    out = tl._experimental_make_tensor_descriptor(out_ptr, [N, N], [N, 1], [N, 16])
    for i in range(0, N, 16):
        tl._experimental_descriptor_store(out, tl._experimental_descriptor_load(a, [0, i], [N, 16], tl.float32) * 2, [0, i])


# Signs of integers of one width: of a join the first one's, of a comparison none.
@triton.jit
def signs_that_differ(x_ptr, out_ptr, N: tl.constexpr):
    at = tl.arange(0, N)
    x = tl.load(x_ptr + at)
    u = x.to(tl.uint32)
    pairs = tl.join(x, u)
    tl.store(out_ptr + at * 2 + 0, tl.sum(tl.where(tl.arange(0, 2)[None, :] == 1, pairs, 0), 1) // 2)
    tl.store(out_ptr + at * 2 + 1, (u < -3).to(tl.int32) + 2 * (-1 == u).to(tl.int32))


@triton.jit
def ellipses(x_ptr, out_ptr, M: tl.constexpr, N: tl.constexpr):
    rows, columns = tl.arange(0, M)[..., None], tl.arange(0, N)[None, ...]
    x = tl.load(x_ptr + rows * N + columns)
    tl.store(out_ptr + (rows * N + columns)[..., None], x[..., None] + x[:, ..., None] * x[...][..., None])


def plain(o):
    """Called by what is evaluated at compile time alone."""
    return o.value if isinstance(o, tl.constexpr) else o


@tl.constexpr
def sign_bit(bits: tl.constexpr) -> int:
    bits = plain(bits)
    return 1 << (bits - 1)


@triton.jit
def plain_functions(out_ptr):
    bit: tl.constexpr = sign_bit(8)
    tl.store(out_ptr + tl.arange(0, 16), tl.arange(0, 16) + bit)


@aggregate
class Tile:
    values: tl.tensor
    scale: tl.constexpr

    @triton.constexpr_function
    def __init__(self, values, scale):
        self.values = values
        self.scale = tl.constexpr(scale)

    @triton.jit
    def scaled(self):
        return self.values * self.scale

    @triton.jit
    def plus(self, x):
        return Tile(self.values + x, self.scale)

    @staticmethod
    @triton.jit
    def load(ptr, N: tl.constexpr, SCALE: tl.constexpr):
        return Tile(tl.load(ptr + tl.arange(0, N)), SCALE)


@aggregate
class Two(Tile):
    other: Tile

    @triton.constexpr_function
    def __init__(self, tile, other):
        self.values = tile.values
        self.scale = tile.scale
        self.other = other

    @triton.jit
    def total(self):
        return self.scaled() + self.other.scaled()


@aggregate
class Plain:
    values: tl.tensor
    more: tl.constexpr = 5


Named = namedtuple("Named", "a, b", defaults=(2, ))


class Typed(NamedTuple):
    a: tl.tensor
    b: int = 3


# The same as in tests/python/test_aggregate.py, read from a file.
@triton.jit
def aggregates(x_ptr, n_ptr, out_ptr, N: tl.constexpr):
    tile = Tile.load(x_ptr, N, 3)
    for _ in range(tl.load(n_ptr)):
        tile = tile.plus(1)
    two = Two(tile, Tile(tile.values, 2))
    if tl.load(n_ptr) > 1:
        two = Two(two.plus(1), two.other)
    plain = tl.aggregate_replace(Plain(two.total()), values=two.total() * 2)
    named, typed = Named(plain.values), Typed(plain.more)
    tl.store(out_ptr + tl.arange(0, N), named.a + named[1] + typed.a + typed.b)


# A block of more instructions than LLVM is given at once, in a loop.
@triton.jit
def long_block(x_ptr, n_ptr, out_ptr, N: tl.constexpr):
    at = tl.arange(0, N)
    x = tl.load(x_ptr + at)
    for t in range(tl.load(n_ptr)):
        for i in tl.static_range(700):
            x = ((x * 3) ^ (x >> 7)) + (i + t)
    tl.store(out_ptr + at, x)


# An index of a loop, again one in another loop, which reads it first.
@triton.jit
def indices_carried(bounds_ptr, out_ptr):
    lo, hi = tl.load(bounds_ptr), tl.load(bounds_ptr + 1)
    for i in range(lo, hi):
        tl.store(out_ptr + 15, i)
    total = 0
    for t in range(0, 3):
        if hi > lo:
            total = total * 10 + i
        for i in range(t, t + 2):
            tl.store(out_ptr + 15, i)
    tl.store(out_ptr, total)
    tl.store(out_ptr + 1, i)


# Of several types where nobody reads it.
@triton.jit
def indices_of_types(bounds_ptr, out_ptr):
    n, m = tl.load(bounds_ptr), tl.load(bounds_ptr + 1).to(tl.int64)
    for i in range(0, n):
        tl.store(out_ptr + i, i)
    for t in range(0, 2):
        for i in range(0, m):
            tl.store(out_ptr + 8 + i, i + t)
    for i in range(0, n):
        tl.store(out_ptr + i, i + 1)
    while n > 0:
        for i in range(0, m):
            tl.store(out_ptr + 12 + i, n)
        n -= 1


@triton.jit
def wrapped_numbers(out_ptr, left_ptr, M: tl.constexpr, N: tl.constexpr):
    """A hash that wraps and is divided, which is no index; bytes that count beyond 127."""
    x = tl.arange(0, M)[:, None] * 1975308624 + tl.arange(0, N)[None, :]
    small = tl.arange(0, N).to(tl.int8)[None, :]
    at = tl.arange(0, M)[:, None] * N + tl.arange(0, N)[None, :]
    tl.store(out_ptr + at, x // 16 + (small < 0))
    tl.store(left_ptr + at, x, mask=(x // 16) % 2 == 0)
