/* Layouts of shared-memory buffers: vectors, bank conflicts, and the swizzle for a pair of layouts.
 *
 * Shared memory has 32 banks of 4 bytes. A warp-wide access of 4-byte words is served in one phase
 * of 32 lanes, of 8 bytes in two phases of 16 lanes, of 16 bytes in four of 8; each phase costs one
 * wavefront for every distinct word that its busiest bank holds. Everything being linear, all banks
 * and phases are alike, and the wavefronts of a phase are 2^(dim of its words - dim of their
 * banks).
 *
 * The swizzle writes the element index as V + bank + row, three complementary subspaces whose
 * bases, in this order, are the offset's bits. V is what one access moves (grown to a word); P = V
 * + the lanes of a phase is what one phase of the store touches, Q the same for the load. No bank
 * is hit twice if and only if the rows meet neither P nor Q; a subspace that avoids both has up to
 * `all - max(P, Q)` dimensions: vectors outside P + Q, and sums p + q of one vector of each side.
 * As P and Q never exceed the banks, that is always enough. */
#include "support/bits.h"
#include "support/ctx.h"
#include "types/gf2.h"
#include "types/layout.h"
#include <assert.h>

enum { WORD_BYTES_LOG2 = 2, BANK_BITS = 5, MAX_ACCESS_BYTES = 16 };

LayoutAccess layout_shared_access(Ctx *ctx, const Layout *dist, const Layout *shared,
                                  int element_bytes) {
    const Layout *inverse = layout_invert(ctx, shared);
    assert(inverse && shared->out_bits == dist->out_bits);
    LayoutAccess access = {.offsets = layout_compose(ctx, inverse, dist)};
    const uint32_t *offset = access.offsets->basis;
    int registers = dist->bits[LAYOUT_REG], n = layout_in_bits(dist);
    Gf2 reachable = {0};
    for (int i = 0; i < registers; i++)
        gf2_insert(&reachable, offset[i], 1u << i);
    int bits = 0;
    while ((element_bytes << (bits + 1)) <= MAX_ACCESS_BYTES && bits < dist->out_bits &&
           gf2_solve(&reachable, 1u << bits, &access.reg[bits]))
        bits++;
    /* Lanes and warps must not move an access within a vector; registers may, being known. */
    for (int i = registers; i < n; i++)
        while (offset[i] & ((1u << bits) - 1))
            bits--;
    access.element_bits = (uint8_t)bits;

    Gf2 covered = {0};
    for (int j = 0; j < bits; j++)
        gf2_insert(&covered, 1u << j, access.reg[j]);
    uint32_t repeats[LAYOUT_MAX_BASES];
    for (int i = 0; i < registers; i++) {
        uint32_t rest = offset[i], reg = 1u << i;
        gf2_reduce(&covered, &rest, &reg);
        if (!rest) {
            if (reg) /* else the vector's own */
                repeats[access.repeat_bits++] = reg;
            continue;
        }
        uint32_t base = 1u << i;
        for (uint32_t low = offset[i] & ((1u << bits) - 1); low; low &= low - 1)
            base ^= access.reg[__builtin_ctz(low)];
        gf2_insert(&covered, offset[i], 1u << i);
        access.reg[bits + access.access_bits++] = base;
    }
    memcpy(access.reg + bits + access.access_bits, repeats, access.repeat_bits * sizeof repeats[0]);
    return access;
}

int layout_shared_vector(Ctx *ctx, const Layout *dist, const Layout *shared, int element_bytes) {
    return 1 << layout_shared_access(ctx, dist, shared, element_bytes).element_bits;
}

/* Lane bits that a phase of accesses of this many bytes covers. */
static int phase_bits(int access_bytes) {
    return access_bytes >= 16  ? LAYOUT_LANE_BITS - 2
           : access_bytes == 8 ? LAYOUT_LANE_BITS - 1
                               : LAYOUT_LANE_BITS;
}

static int min_int(int a, int b) {
    return a < b ? a : b;
}

static int conflicts_of(const LayoutAccess *access, int element_bytes) {
    const Layout *offsets = access->offsets;
    const uint32_t *lanes = layout_bases(offsets, LAYOUT_LANE);
    int element = log2_exact(element_bytes);
    int phase =
        min_int(phase_bits(element_bytes << access->element_bits), offsets->bits[LAYOUT_LANE]);
    Gf2 words = {0}, banks = {0};
    for (int i = 0; i < phase + access->element_bits; i++) {
        uint32_t offset = i < phase ? lanes[i] : 1u << (i - phase);
        uint32_t word = (uint32_t)(((uint64_t)offset << element) >> WORD_BYTES_LOG2);
        gf2_insert(&words, word, 0);
        gf2_insert(&banks, word & ((1u << BANK_BITS) - 1), 0);
    }
    /* An element wider than a word occupies all of its words. */
    for (int i = WORD_BYTES_LOG2; i < element; i++) {
        uint32_t word = 1u << (i - WORD_BYTES_LOG2);
        gf2_insert(&words, word, 0);
        gf2_insert(&banks, word, 0);
    }
    return 1 << (words.rank - banks.rank);
}

int layout_bank_conflicts(Ctx *ctx, const Layout *dist, const Layout *shared, int element_bytes) {
    LayoutAccess access = layout_shared_access(ctx, dist, shared, element_bytes);
    return conflicts_of(&access, element_bytes);
}

int layout_shared_cost(Ctx *ctx, const Layout *dist, const Layout *shared, int element_bytes) {
    LayoutAccess access = layout_shared_access(ctx, dist, shared, element_bytes);
    int phases = 1 << (LAYOUT_LANE_BITS - phase_bits(element_bytes << access.element_bits));
    return (1 + phases * conflicts_of(&access, element_bytes)) << access.access_bits;
}

/* A basis that grows: `take` adds a vector if it is outside `space`. */
typedef struct Basis {
    Gf2 space;
    uint32_t vector[32];
    int count;
} Basis;

static bool take(Basis *basis, uint32_t vector) {
    if (!gf2_insert(&basis->space, vector, 0))
        return false;
    basis->vector[basis->count++] = vector;
    return true;
}

static void take_all(Basis *basis, const uint32_t *vectors, int count, int limit) {
    for (int i = 0; i < count && basis->count < limit; i++)
        take(basis, vectors[i]);
}

static Gf2 span_of(const uint32_t *vectors, int count) {
    Gf2 space = {0};
    for (int i = 0; i < count; i++)
        gf2_insert(&space, vectors[i], 0);
    return space;
}

/* Vectors common to the registers of both layouts, lowest registers of `a` first; at most `limit`.
 */
static int common_registers(const Layout *a, const Layout *b, int limit, uint32_t out[32]) {
    int na = a->bits[LAYOUT_REG], nb = b->bits[LAYOUT_REG];
    Gf2 of_b = span_of(b->basis, nb), rest = of_b;
    Basis common = {0};
    for (int i = 0; i < na; i++)
        if (gf2_contains(&of_b, a->basis[i]) && common.count < limit)
            take(&common, a->basis[i]);
    /* Zassenhaus: a base of `a` that becomes dependent on b and lower bases of a closes a relation;
     * its part in `a` is common to both. Combinations name the bases of a used. */
    for (int i = 0; i < na && common.count < limit; i++) {
        uint32_t vector = a->basis[i], used = 1u << i;
        gf2_reduce(&rest, &vector, &used);
        if (vector) {
            gf2_insert(&rest, a->basis[i], 1u << i);
            continue;
        }
        uint32_t sum = 0;
        for (; used; used &= used - 1)
            sum ^= a->basis[__builtin_ctz(used)];
        take(&common, sum);
    }
    memcpy(out, common.vector, sizeof common.vector);
    return common.count;
}

/* One side of the exchange: what a phase of its accesses touches, and where its threads lie. */
typedef struct Side {
    Basis touched; /* the `low` vectors, then lanes */
    int low;
    Gf2 threads; /* lanes and warps */
} Side;

/* Vectors that `own` touches and `other` does not, independent of it. First those that tell threads
 * of the other side apart, last those within an access: a row that mixes a vector within an access
 * with one that tells threads apart would misalign the accesses of these threads. */
static int touched_alone(const Side *own, const Side *other, uint32_t out[32]) {
    Gf2 space = other->touched.space;
    int n = 0;
    for (int pass = 0; pass < 3; pass++)
        for (int i = 0; i < own->touched.count; i++) {
            uint32_t vector = own->touched.vector[i];
            int class = i < own->low ? 2 : !gf2_contains(&other->threads, vector);
            if (class == pass && gf2_insert(&space, vector, 0))
                out[n++] = vector;
        }
    return n;
}

/* Rows: up to `count` vectors that no phase of either side touches; single index bits first. */
static int choose_rows(const Side sides[2], int out_bits, int count, uint32_t rows[32]) {
    int n = 0;
    Gf2 both = sides[0].touched.space;
    for (int i = 0; i < sides[1].touched.count; i++)
        gf2_insert(&both, sides[1].touched.vector[i], 0);
    for (int bit = out_bits - 1; bit >= 0 && n < count; bit--)
        if (gf2_insert(&both, 1u << bit, 0))
            rows[n++] = 1u << bit;
    uint32_t first[32], second[32];
    int pairs = min_int(touched_alone(&sides[0], &sides[1], first),
                        touched_alone(&sides[1], &sides[0], second));
    for (int i = 0; i < pairs && n < count; i++)
        rows[n++] = first[i] ^ second[i];
    return n;
}

typedef struct SwizzleInput {
    const Layout *src, *dst;
    int element_bytes;
} SwizzleInput;

/* The map with these vectors lowest, of which a store moves 2^store_bits and a load 2^load_bits. */
static const Layout *swizzle_for(Ctx *ctx, const SwizzleInput *in, const Basis *vector,
                                 int store_bits, int load_bits) {
    int m = in->src->out_bits, element = log2_exact(in->element_bytes);
    const Layout *sides[2] = {in->src, in->dst};
    int word_bits = element < WORD_BYTES_LOG2 ? min_int(WORD_BYTES_LOG2 - element, m) : 0;
    int bank_bits = BANK_BITS + WORD_BYTES_LOG2 - element;

    /* Neighbouring lanes share a word that one access does not fill. */
    Basis low = *vector;
    for (int side = 0; side < 2; side++) {
        take_all(&low, layout_bases(sides[side], LAYOUT_LANE), sides[side]->bits[LAYOUT_LANE],
                 word_bits > vector->count ? word_bits : vector->count);
    }
    for (int bit = 0; bit < m && low.count < word_bits; bit++)
        take(&low, 1u << bit);

    Side touching[2] = {0};
    for (int i = 0; i < 2; i++) {
        const Layout *layout = sides[i];
        int bits = i ? load_bits : store_bits, lanes = layout->bits[LAYOUT_LANE];
        int phase = min_int(phase_bits(in->element_bytes << bits), lanes);
        Side *side = &touching[i];
        take_all(&side->touched, low.vector, bits > word_bits ? bits : word_bits, 32);
        side->low = side->touched.count;
        take_all(&side->touched, layout_bases(layout, LAYOUT_LANE), phase, 32);
        side->threads =
            span_of(layout_bases(layout, LAYOUT_LANE), lanes + layout->bits[LAYOUT_WARP]);
    }
    uint32_t rows[32];
    int wanted = m > bank_bits ? m - bank_bits : 0;
    int nrows = choose_rows(touching, m, wanted, rows);

    /* Banks: a complement, of lanes first so that addresses stay simple sums. */
    Basis all = low;
    for (int i = 0; i < nrows; i++)
        gf2_insert(&all.space, rows[i], 0);
    int banks_end = m - nrows;
    take_all(&all, layout_bases(in->src, LAYOUT_LANE), in->src->bits[LAYOUT_LANE], banks_end);
    take_all(&all, layout_bases(in->dst, LAYOUT_LANE), in->dst->bits[LAYOUT_LANE], banks_end);
    for (int bit = 0; bit < m && all.count < banks_end; bit++)
        take(&all, 1u << bit);
    if (all.count != banks_end)
        return NULL; /* the vector meets the rows: these widths do not go together */
    Layout out = {.bits = {(uint8_t)m}, .out_bits = (uint8_t)m};
    memcpy(out.basis, all.vector, (size_t)banks_end * sizeof *out.basis);
    memcpy(out.basis + banks_end, rows, (size_t)nrows * sizeof *rows);
    return layout_get(ctx, &out);
}

/* The best layout so far. */
typedef struct Search {
    SwizzleInput in;
    int width; /* of stores, as asked for */
    const Layout *best;
    int cost;
} Search;

static void try_vector(Ctx *ctx, Search *search, const Basis *vector, int store_bits,
                       int load_bits) {
    const SwizzleInput *in = &search->in;
    const Layout *found = swizzle_for(ctx, in, vector, store_bits, load_bits);
    if (!found)
        return;
    int cost = layout_shared_cost(ctx, in->src, found, in->element_bytes) +
               layout_shared_cost(ctx, in->dst, found, in->element_bytes);
    if (layout_async_width(ctx, in->src, found, search->width) < search->width)
        cost += LAYOUT_TOO_NARROW;
    if (search->best && cost >= search->cost)
        return;
    search->best = found;
    search->cost = cost;
}

/* The lowest registers of `src` lowest, whatever `dst` makes of them. */
static void try_asked_width(Ctx *ctx, Search *search) {
    const Layout *src = search->in.src, *dst = search->in.dst;
    Gf2 held = span_of(dst->basis, dst->bits[LAYOUT_REG]);
    Basis vector = {0};
    int bits = log2_exact(search->width), load_bits = 0;
    take_all(&vector, src->basis, src->bits[LAYOUT_REG] < bits ? src->bits[LAYOUT_REG] : bits,
             bits);
    while (load_bits < vector.count && gf2_contains(&held, vector.vector[load_bits]))
        load_bits++;
    try_vector(ctx, search, &vector, vector.count, load_bits);
}

const Layout *layout_shared_for(Ctx *ctx, const Layout *src, const Layout *dst, int element_bytes,
                                int width) {
    assert(src->out_bits == dst->out_bits);
    assert(element_bytes >= 1 && element_bytes <= MAX_ACCESS_BYTES);
    Search search = {.in = {src, dst, element_bytes}, .width = width};
    int limit = log2_exact(MAX_ACCESS_BYTES) - log2_exact(element_bytes);
    uint32_t common[32];
    int ncommon = common_registers(src, dst, limit, common);
    if (width > 1)
        try_asked_width(ctx, &search);
    /* What both can move at once comes lowest; beyond, either side may go on alone. Shorter vectors
     * are tried too, for lanes that move within a vector make the long ones impossible. */
    for (int side = 0; side < 2; side++)
        for (int bits = limit; bits >= 0; bits--) {
            const Layout *wide = side ? dst : src;
            Basis vector = {0};
            take_all(&vector, common, ncommon, bits);
            int shared_bits = vector.count;
            take_all(&vector, wide->basis, wide->bits[LAYOUT_REG], bits);
            try_vector(ctx, &search, &vector, side ? shared_bits : vector.count,
                       side ? vector.count : shared_bits);
        }
    assert(search.best);
    return search.best;
}

int layout_async_width(Ctx *ctx, const Layout *dist, const Layout *shared, int width) {
    const Layout *offsets = layout_compose(ctx, layout_invert(ctx, shared), dist);
    int bits = 0;
    while ((2 << bits) <= width && bits < offsets->bits[LAYOUT_REG] &&
           offsets->basis[bits] == 1u << bits)
        bits++;
    for (int i = 0; i < layout_in_bits(offsets); i++)
        while (i >= bits && offsets->basis[i] & ((1u << bits) - 1))
            bits--;
    return 1 << bits;
}
