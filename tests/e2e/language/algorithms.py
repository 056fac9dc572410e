"""Algorithms in several steps: what one step stores or carries the next one looks up elsewhere."""
import triton
import triton.language as tl


# Digit by digit: a histogram, where each digit begins, and the rank of each element within its digit.
@triton.jit
def radix_sorted(x_ptr, out_ptr, N: tl.constexpr, BITS: tl.constexpr):
    at, digits = tl.arange(0, N), tl.arange(0, 1 << BITS)
    x = tl.load(x_ptr + at)
    for shift in tl.static_range(0, 8, BITS):
        digit = (x >> shift) & ((1 << BITS) - 1)
        count = tl.histogram(digit, 1 << BITS)
        hot = (digit[:, None] == digits[None, :]).to(tl.int32)
        rank = tl.sum(tl.where(hot > 0, tl.cumsum(hot, 0) - 1, 0), 1)
        tl.store(out_ptr + tl.gather(tl.cumsum(count, 0) - count, digit, 0) + rank, x)
        x = tl.load(out_ptr + at)


@triton.jit
def lesser(a, b):
    return tl.minimum(a, b)


# Row by row through memory; insertions are a scan along the row.
@triton.jit
def edit_distance(a_ptr, b_ptr, row_ptr, n, m, N: tl.constexpr):
    j = tl.arange(0, N)
    row, b = j, tl.load(b_ptr + j - 1, mask=(j > 0) & (j <= m), other=-1)
    for i in range(1, n + 1):
        tl.store(row_ptr + j, row)
        before = tl.load(row_ptr + j - 1, mask=j > 0, other=1 << 20)
        best = tl.minimum(row + 1, before + (tl.load(a_ptr + i - 1) != b).to(tl.int32))
        row = tl.associative_scan(tl.where(j == 0, i, best) - j, 0, lesser) + j
    tl.store(row_ptr + j, row)


# The best path: what each step came from, and back along that.
@triton.jit
def best_path(gain_ptr, move_ptr, sum_ptr, from_ptr, path_ptr, n, S: tl.constexpr):
    s = tl.arange(0, S)
    move = tl.load(move_ptr + s[:, None] * S + s[None, :])
    total = tl.load(gain_ptr + s)
    for t in range(1, n):
        most, where_from = tl.max(total[:, None] + move, 0, return_indices=True)
        tl.store(from_ptr + t * S + s, where_from)
        total = most + tl.load(gain_ptr + t * S + s)
    tl.store(sum_ptr + s, total)
    at = tl.argmax(total, 0)
    for t in range(n - 1, 0, -1):
        tl.store(path_ptr + t, at)
        at = tl.load(from_ptr + t * S + at)
    tl.store(path_ptr, at)


# Butterflies in place, at distances that double.
@triton.jit
def hadamard(x_ptr, N: tl.constexpr, LOG_N: tl.constexpr):
    i, h = tl.arange(0, N // 2), 1
    for _ in range(LOG_N):
        at = x_ptr + (i // h) * (2 * h) + i % h
        a, b = tl.load(at), tl.load(at + h)
        tl.store(at, a + b)
        tl.store(at + h, a - b)
        h *= 2


# One interval after the other turns off those behind it that it overlaps.
@triton.jit
def suppressed(lo_ptr, keep_ptr, n, length, N: tl.constexpr):
    at = tl.arange(0, N)
    lo = tl.load(lo_ptr + at, mask=at < n, other=0)
    for i in range(n):
        if tl.load(keep_ptr + i) > 0:
            off = (tl.abs(lo - tl.load(lo_ptr + i)) < length) & (at > i) & (at < n)
            tl.store(keep_ptr + at, tl.zeros((N, ), tl.int8), mask=off)


@triton.jit
def within_segment(sum0, begins0, sum1, begins1):
    return tl.where(begins1 != 0, sum1, sum0 + sum1), begins0 | begins1


@triton.jit
def segmented(x_ptr, begins_ptr, out_ptr, n, N: tl.constexpr, REVERSE: tl.constexpr):
    at = tl.arange(0, N)
    x, begins = tl.load(x_ptr + at, mask=at < n, other=0), tl.load(begins_ptr + at, mask=at < n, other=1)
    total, _ = tl.associative_scan((x, begins), 0, within_segment, reverse=REVERSE)
    tl.store(out_ptr + at, total, mask=at < n)


@triton.jit
def of_same_id(sum0, id0, sum1, id1):
    return tl.where(id0 == id1, sum0 + sum1, sum1), id1


# Sums by sorted ids: a scan, and one addition to memory for each run.
@triton.jit
def sums_by_id(x_ptr, id_ptr, out_ptr, n, N: tl.constexpr):
    at = tl.arange(0, N)
    id, next_id = tl.load(id_ptr + at, mask=at < n, other=-1), tl.load(id_ptr + at + 1, mask=at + 1 < n, other=-2)
    total, _ = tl.associative_scan((tl.load(x_ptr + at, mask=at < n, other=0.0), id), 0, of_same_id)
    tl.atomic_add(out_ptr + id, total, mask=(id != next_id) & (at < n))


# Signs as bits of bytes, and back.
@triton.jit
def bits_of_signs(x_ptr, bytes_ptr, back_ptr, n, N: tl.constexpr):
    at, bit = tl.arange(0, N), tl.arange(0, 8)[None, :]
    positive = tl.reshape((tl.load(x_ptr + at, mask=at < n, other=-1.0) >= 0).to(tl.int32), (N // 8, 8))
    packed = tl.sum(positive << bit, 1).to(tl.uint8)
    tl.store(bytes_ptr + tl.arange(0, N // 8), packed, mask=tl.arange(0, N // 8) < (n + 7) // 8)
    again = (tl.broadcast_to(packed[:, None], (N // 8, 8)) >> bit.to(tl.uint8)) & 1
    tl.store(back_ptr + at, tl.reshape(again, (N, )).to(tl.int8) * 2 - 1, mask=at < n)


# Keys and places in numbers of 64 bits, of which the largest are taken.
@triton.jit
def best_with_places(x_ptr, best_ptr, place_ptr, N: tl.constexpr, K: tl.constexpr):
    at, to = tl.arange(0, N), tl.arange(0, K)
    x = tl.load(x_ptr + at)
    bits = x.to(tl.uint32, bitcast=True)
    key = tl.where(x < 0, ~bits, bits | 0x80000000).to(tl.uint64)
    both = tl.topk((key << 32) | (0xFFFFFFFF - at.to(tl.int64)).to(tl.uint64), K)
    key = (both >> 32).to(tl.uint32)
    tl.store(best_ptr + to, tl.where(key >> 31 != 0, key ^ 0x80000000, ~key).to(tl.float32, bitcast=True))
    tl.store(place_ptr + to, (0xFFFFFFFF - (both & 0xFFFFFFFF).to(tl.int64)).to(tl.int32))


# Blocks from the last corner to the first, turned, and out of the tensors on all sides.
@triton.jit
def turned_from_the_end(x_ptr, out_ptr, M, N, R: tl.constexpr, C: tl.constexpr):
    x = tl.make_block_ptr(x_ptr, (M, N), (N, 1), (M - 3, N - 5), (R, C), (1, 0))
    out = tl.make_block_ptr(out_ptr, (N, M), (M, 1), (N - 5, M - 3), (C, R), (1, 0))
    for i in range(0, M + R, R):
        x_row, out_row = x, out
        for j in range(0, N + C, C):
            tl.store(out_row, tl.trans(tl.load(x_row, boundary_check=(0, 1))) + 1, boundary_check=(0, 1))
            x_row, out_row = tl.advance(x_row, (0, -C)), tl.advance(out_row, (-C, 0))
        x, out = tl.advance(x, (-R, 0)), tl.advance(out, (0, -R))


# What the inner loop makes goes into the outer one's tile, or changes places with it.
@triton.jit
def exchanged(x_ptr, out_ptr, rows, columns, N: tl.constexpr):
    at = tl.arange(0, N)
    best, count = tl.full((N, ), -1000, tl.int32), 0
    for r in range(rows):
        total = tl.zeros((N, ), tl.int32)
        for c in range(columns):
            x = tl.load(x_ptr + (r * columns + c) * N + at)
            total = tl.where(x > 0, total + x, total - 1)
            if c % 3 == 2:
                total *= 2
                count += 1
        if r % 2 == 0:
            best = tl.maximum(best, total)
        else:
            best, total = total, best
        tl.store(out_ptr + r * N + at, total)
    tl.store(out_ptr + rows * N + at, best + count)


# Each row from the one behind it, last row first, in place; then a tile that is looked up by itself.
@triton.jit
def from_behind(x_ptr, place_ptr, n, N: tl.constexpr):
    at = tl.arange(0, N)
    for t in range(n - 2, -1, -1):
        tl.store(x_ptr + t * N + at, tl.load(x_ptr + t * N + at) * 2 + tl.load(x_ptr + (t + 1) * N + at))
    x, place = tl.load(x_ptr + at), tl.load(place_ptr + at)
    for t in range(n):
        x = tl.gather(x, place, 0) + t
        place = tl.gather(place, place, 0)
    tl.store(x_ptr + at, x)
    tl.store(place_ptr + at, place)
