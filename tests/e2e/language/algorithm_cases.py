"""Launches of algorithms.py and what they leave, by loops of Python: (kernel, arrays and numbers, defines, wanted)."""
import numpy as np


def sorting(numbers):
    for n, bits in ((256, 4), (64, 2), (128, 1)):
        x = numbers.integers(0, 256, n).astype(np.int32)
        yield "radix_sorted", dict(x_ptr=x, out_ptr=np.zeros_like(x)), dict(N=n, BITS=bits), dict(out_ptr=np.sort(x))
    for n, k in ((64, 8), (512, 16)):
        x = numbers.integers(-20, 20, n).astype(np.float32)
        places = np.lexsort((np.arange(n), -x))[:k]
        yield ("best_with_places", dict(x_ptr=x, best_ptr=np.zeros(k, np.float32), place_ptr=np.zeros(k, np.int32)), dict(N=n, K=k),
               dict(best_ptr=x[places], place_ptr=places.astype(np.int32)))


def tables(numbers):
    """Dynamic programming."""
    for n, m, size in ((7, 9, 16), (20, 63, 64), (0, 5, 8), (5, 100, 128)):
        a, b = numbers.integers(0, 3, max(n, 1)).astype(np.int32), numbers.integers(0, 3, m).astype(np.int32)
        row, padded = np.arange(size), np.concatenate([[-1], b, np.full(size, -1)])
        for i in range(1, n + 1):
            before, row = row, np.full(size, i)
            for j in range(1, size):
                row[j] = min(before[j] + 1, before[j - 1] + (a[i - 1] != padded[j]), row[j - 1] + 1)
        yield ("edit_distance", dict(a_ptr=a, b_ptr=b, row_ptr=np.zeros(size, np.int32), n=n, m=m), dict(N=size),
               dict(row_ptr=row.astype(np.int32)))
    for n, states in ((6, 16), (1, 32), (9, 64)):
        gain, move = numbers.integers(-9, 9, (n, states)).astype(np.float32), numbers.integers(-9, 9, (states, states)).astype(np.float32)
        total, came_from, path = gain[0], np.zeros((n, states), np.int32), np.zeros(n, np.int32)
        for t in range(1, n):
            sums = total[:, None] + move
            came_from[t], total = sums.argmax(0), sums.max(0) + gain[t]
        path[n - 1] = total.argmax()
        for t in range(n - 1, 0, -1):
            path[t - 1] = came_from[t][path[t]]
        yield ("best_path", dict(gain_ptr=gain, move_ptr=move, sum_ptr=np.zeros(states, np.float32), from_ptr=np.zeros_like(came_from),
                                 path_ptr=np.zeros(n, np.int32), n=n), dict(S=states), dict(sum_ptr=total, from_ptr=came_from, path_ptr=path))


def in_memory(numbers):
    for log in (3, 6, 10):
        matrix = np.array([[1]])
        for _ in range(log):
            matrix = np.block([[matrix, matrix], [matrix, -matrix]])
        x = numbers.integers(-4, 5, 1 << log).astype(np.float32)
        yield "hadamard", dict(x_ptr=x), dict(N=1 << log, LOG_N=log), dict(x_ptr=(matrix @ x).astype(np.float32))
    for n, size in ((50, 64), (128, 128)):
        lo, keep = numbers.integers(0, 40, n).astype(np.int32), np.ones(n, np.int8)
        wanted = keep.copy()
        for i in range(n):
            if wanted[i]:
                wanted[(np.abs(lo - lo[i]) < 2) & (np.arange(n) > i)] = 0
        yield "suppressed", dict(lo_ptr=lo, keep_ptr=keep, n=n, length=2), dict(N=size), dict(keep_ptr=wanted)
    for n, size in ((9, 128), (3, 32), (4, 1024)):
        x, place = numbers.integers(-8, 8, (n, size)).astype(np.float32), numbers.permutation(size).astype(np.int32)
        rows, line, at = x.copy(), None, place
        for t in range(n - 2, -1, -1):
            rows[t] = rows[t] * 2 + rows[t + 1]
        line = rows[0]
        for t in range(n):
            line, at = line[at] + t, at[at]
        rows[0] = line
        yield "from_behind", dict(x_ptr=x, place_ptr=place, n=n), dict(N=size), dict(x_ptr=rows, place_ptr=at)


def runs(numbers):
    for n, size, reverse in ((100, 128, False), (1000, 1024, True), (2048, 2048, False)):
        x, begins = numbers.integers(-9, 9, n).astype(np.int64), (numbers.random(n) < 0.1).astype(np.uint8)
        wanted = x.copy()
        for t in range(n - 2, -1, -1) if reverse else range(1, n):
            wanted[t] += 0 if begins[t] else wanted[t + 1 if reverse else t - 1]
        yield ("segmented", dict(x_ptr=x, begins_ptr=begins, out_ptr=np.zeros_like(x), n=n), dict(N=size, REVERSE=reverse), dict(out_ptr=wanted))
    for n, size in ((300, 512), (50, 64)):
        ids, x, wanted = np.sort(numbers.integers(0, 9, n)).astype(np.int64), numbers.integers(-4, 5, n).astype(np.float32), np.zeros(9, np.float32)
        np.add.at(wanted, ids, x)
        yield "sums_by_id", dict(x_ptr=x, id_ptr=ids, out_ptr=np.zeros(9, np.float32), n=n), dict(N=size), dict(out_ptr=wanted)
    for n, size in ((100, 128), (37, 64)):
        x = numbers.standard_normal(n).astype(np.float32)
        packed = np.packbits(np.pad(x >= 0, (0, -n % 8)), bitorder="little")
        yield ("bits_of_signs", dict(x_ptr=x, bytes_ptr=np.zeros_like(packed), back_ptr=np.zeros(n, np.int8), n=n), dict(N=size),
               dict(bytes_ptr=packed, back_ptr=np.where(x >= 0, 1, -1).astype(np.int8)))


def blocks(numbers):
    for m, n, r, c in ((20, 40, 8, 16), (33, 24, 16, 8), (7, 9, 4, 4)):
        x, wanted = numbers.integers(-9, 9, (m, n)).astype(np.float32), np.zeros((n, m), np.float32)
        # Nothing is behind the first blocks, which begin 3 rows and 5 columns before the end.
        rows, columns = min(m, m - 3 + r), min(n, n - 5 + c)
        wanted[:columns, :rows] = x[:rows, :columns].T + 1
        yield "turned_from_the_end", dict(x_ptr=x, out_ptr=np.zeros((n, m), np.float32), M=m, N=n), dict(R=r, C=c), dict(out_ptr=wanted)
    for size, rows, columns in ((128, 3, 7), (32, 5, 2), (64, 0, 3), (64, 4, 0)):
        x = numbers.integers(-5, 6, (max(rows * columns, 1), size)).astype(np.int32)
        best, count, wanted = np.full(size, -1000, np.int32), 0, np.zeros((rows + 1, size), np.int32)
        for r in range(rows):
            total = np.zeros(size, np.int32)
            for c in range(columns):
                v = x[r * columns + c]
                total = np.where(v > 0, total + v, total - 1) * (2 if c % 3 == 2 else 1)
                count += c % 3 == 2
            best, total = (np.maximum(best, total), total) if r % 2 == 0 else (total, best)
            wanted[r] = total
        wanted[rows] = best + count
        yield ("exchanged", dict(x_ptr=x, out_ptr=np.zeros_like(wanted), rows=rows, columns=columns), dict(N=size), dict(out_ptr=wanted))


def cases(numbers):
    for make in (sorting, tables, in_memory, runs, blocks):
        yield from make(numbers)
