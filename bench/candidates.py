"""The configurations that the contests try, tilec and Triton alike; those that win nowhere are left out. No torch here: what they need
of registers can be seen without a GPU (compile_candidates.py).
"""
PROCESSORS = 132

# Products. BLOCK_M, BLOCK_N, BLOCK_K, warps, stages; BLOCK_N may be two widths beside each other (matmul_wide)
MATMUL = ((128, 128, 64, 4, 3), (128, 128, 64, 8, 5), (128, 256, 64, 8, 3), (256, 128, 64, 8, 3), (64, 128, 64, 4, 6), (64, 256, 64, 4, 4))
SMALL = ((64, 64, 64, 4, 4), (128, 64, 64, 4, 4))
LARGE = ((128, 256, 64, 8, 3), (256, 128, 64, 8, 3), (128, 128, 64, 4, 3))
WIDE = ((128, (128, 64), 64, 8, 3), (128, (128, 64), 64, 8, 4), (128, (128, 32), 64, 8, 4), (128, (128, 16), 64, 8, 5),
        (128, (64, 32), 64, 8, 6), (64, (128, 64), 64, 4, 4), (64, (128, 64), 64, 4, 5))
ROWS_16 = ((16, 64, 128, 4, 4), (16, 128, 128, 4, 3), (64, 128, 64, 4, 4))
ROWS_64 = ((64, 64, 128, 4, 4), (64, 128, 64, 4, 4), (64, 32, 128, 4, 4))
# Tried as stream-K too, where the last wave of tiles leaves much of the GPU idle
STREAM = ((128, 128, 64, 8, 5), (128, 256, 64, 8, 3), (256, 128, 64, 8, 3))
PER_TILE = -1  # as the number of programs that share the depth of a tile: one, and a CTA for each program (tilec alone)
STREAM_K = 0  # as the number of programs that share the depth of a tile: matmul_stream_k.tile
FP8 = ((128, 128, 128, 4, 3), (128, 128, 128, 8, 4), (128, 256, 128, 8, 3), (128, 256, 128, 8, 4), (256, 128, 128, 8, 3),
       (64, 128, 128, 4, 4), (64, 256, 128, 4, 3), (128, (128, 64), 128, 8, 3), (128, (64, 32), 128, 8, 5), (64, (128, 64), 128, 4, 4))
LINEAR = ((128, 128, 64, 8, 5), (128, 128, 64, 4, 5), (64, 256, 64, 4, 4), (128, 256, 64, 8, 3), (256, 128, 64, 8, 3))

# Attention. BLOCK_M, BLOCK_N, warps, stages
ATTENTION = ((128, 64, 4, 3), (128, 64, 8, 2), (128, 64, 8, 3), (128, 128, 8, 2), (128, 128, 8, 3), (64, 64, 4, 2), (64, 64, 4, 3), (64, 128, 4, 2), (64, 128, 4, 3),
             (64, 32, 4, 4), (64, 64, 4, 1))
# Decoding from pages. BLOCK_N, warps, stages, CTAs that there are to be for each processor
DECODE = tuple((block, warps, stages, waves) for block in (64, 128) for warps, stages in ((4, 2), (4, 3), (4, 4)) for waves in (2, 4, 8, 16))
# Gradients of attention: kernels/attention_backward.tile has two, each with its own best
DKDV = {64: ((64, 64, 4, 2), (64, 64, 4, 3), (64, 128, 8, 2), (128, 64, 4, 2), (128, 128, 8, 2), (32, 128, 4, 3)),
        128: ((64, 64, 4, 2), (64, 128, 8, 2), (64, 128, 8, 3), (32, 128, 8, 3))}
DQ = {64: ((64, 64, 4, 2), (128, 64, 8, 2), (128, 64, 8, 3), (64, 128, 4, 2), (128, 128, 8, 2), (128, 32, 4, 3)),
      128: ((64, 64, 4, 2), (128, 64, 8, 2), (128, 64, 8, 3), (128, 32, 8, 3))}
# The tutorial's kernel: BLOCK_M1, BLOCK_N1, BLOCK_M2, BLOCK_N2, warps, stages; the first is what the tutorial runs
TUTORIAL_BACKWARD = ((32, 128, 128, 32, 4, 5), (32, 128, 128, 32, 4, 3), (64, 128, 128, 64, 8, 2), (64, 128, 128, 64, 8, 3), (32, 64, 64, 32, 4, 4),
                     (32, 128, 128, 32, 8, 3))


def tiles(m, n, config):
    return -(-m // config[0]) * -(-n // width(config))


def width(config):
    """Columns of a tile."""
    return sum(config[1]) if is_wide(config) else config[1]


def is_wide(config):
    return isinstance(config[1], tuple)


def leaves_idle(count):
    """The last wave of so many tiles leaves more than 7 % of the processors' time unused, of not many waves."""
    waves = -(-count // PROCESSORS)
    return waves <= 6 and count < 0.93 * waves * PROCESSORS


def matmul(m, n, k):
    """With the number of programs that share the depth of a tile as the last figure: 1, what fills the GPU once or twice, STREAM_K or PER_TILE."""
    large = tiles(m, n, (128, 256))
    if large >= 4 * PROCESSORS:
        chosen = [(*config, 1) for config in LARGE[:2 if m * n > 1 << 27 else 3]]
        # Narrower tiles make other waves of it.
        return chosen + [(*config, 1) for config in (MATMUL[1], WIDE[0], WIDE[1])] if leaves_idle(large) else chosen
    few = m <= 64
    base = ROWS_16 if m <= 16 else ROWS_64 if few else MATMUL + (SMALL if m * n <= 1 << 20 else ())
    chosen = [] if few else [(*config, 1) for config in WIDE]
    chosen += [] if few else [(*config, PER_TILE) for config in WIDE if tiles(m, n, config) <= PROCESSORS]
    for config in base:
        count = tiles(m, n, config)
        chosen.append((*config, 1))
        chosen += [(*config, splits) for splits in (2, 4, 8) if count * splits <= 2 * PROCESSORS and k >= 4 * splits * config[2]
                   and count * splits * 2 > PROCESSORS]
    chosen += [(*config, STREAM_K) for config in (base if few else STREAM) if leaves_idle(tiles(m, n, config)) and k >= 16 * config[2]]
    return chosen
