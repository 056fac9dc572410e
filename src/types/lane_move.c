/* Conversions within warps: see lane_move.h. */
#include "types/lane_move.h"
#include <string.h>

LaneMove lane_move(const Layout *dst, const Layout *src) {
    LayoutMove move = layout_move(dst, src);
    LaneMove s = {.dst_regs = move.dst_bits[LAYOUT_REG],
                  .threads = move.dst_bits[LAYOUT_LANE] + move.dst_bits[LAYOUT_WARP],
                  .src_regs = move.src_bits[LAYOUT_REG]};
    uint32_t reg_mask = (1u << s.src_regs) - 1, lane_mask = (1u << move.src_bits[LAYOUT_LANE]) - 1;
    for (int i = 0; i < s.dst_regs + s.threads; i++) {
        uint32_t reg = move.basis[i] & reg_mask, lane = move.basis[i] >> s.src_regs & lane_mask;
        if (i < s.dst_regs) {
            s.reg_of_reg[i] = reg;
            s.lane_of_reg[i] = lane;
        } else {
            s.reg_of_thread[i - s.dst_regs] = reg;
            s.lane_of_thread[i - s.dst_regs] = lane;
        }
    }
    return s;
}

uint32_t lane_move_apply(const uint32_t *basis, uint32_t x) {
    uint32_t image = 0;
    for (int i = 0; x; i++, x >>= 1)
        if (x & 1)
            image ^= basis[i];
    return image;
}

/* Vectors of lanes with the source register that goes with each, in echelon form. */
typedef struct LaneMap {
    uint32_t lane[LAYOUT_LANE_BITS], reg[LAYOUT_LANE_BITS];
    int count;
} LaneMap;

static void reduce_pair(const LaneMap *map, uint32_t *lane, uint32_t *reg) {
    for (int p = 0; p < map->count; p++)
        if ((*lane ^ map->lane[p]) < *lane) {
            *lane ^= map->lane[p];
            *reg ^= map->reg[p];
        }
}

/* Extends the map by "the lane asked by lane bit `bit` sends .." when register bit `extra` (-1:
 * none) is in A(bit). False if another lane bit asks the same lane for another register. */
static bool place(LaneMap *map, const LaneMove *s, int bit, int extra, bool only_new) {
    uint32_t lane = s->lane_of_thread[bit], reg = s->reg_of_thread[bit];
    if (extra >= 0) {
        lane ^= s->lane_of_reg[extra];
        reg ^= s->reg_of_reg[extra];
    }
    reduce_pair(map, &lane, &reg);
    if (!lane)
        return !only_new && !reg;
    map->lane[map->count] = lane;
    map->reg[map->count++] = reg;
    return true;
}

bool lane_move_rounds(const LaneMove *s, uint32_t *a, uint32_t *sent) {
    LaneMap map = {.count = 0};
    bool placed[LAYOUT_LANE_BITS] = {false};
    memset(a, 0, LAYOUT_MAX_BASES * sizeof *a);
    for (int bit = 0; bit < LAYOUT_LANE_BITS; bit++)
        placed[bit] = place(&map, s, bit, -1, true);
    for (int bit = 0; bit < LAYOUT_LANE_BITS; bit++) {
        for (int extra = -1; extra < s->dst_regs && !placed[bit]; extra++) {
            placed[bit] = place(&map, s, bit, extra, false);
            if (placed[bit] && extra >= 0)
                a[bit] = 1u << extra;
        }
        if (!placed[bit])
            return false;
    }
    for (int bit = 0; bit < s->threads; bit++) {
        /* A lane's number, or for warp bits what they add to the lane and the register asked. */
        uint32_t lane = bit < LAYOUT_LANE_BITS ? 1u << bit : s->lane_of_thread[bit];
        uint32_t reg = bit < LAYOUT_LANE_BITS ? 0 : s->reg_of_thread[bit];
        reduce_pair(&map, &lane, &reg);
        sent[bit] = reg;
    }
    return true;
}

int lane_move_word_bits(const LaneMove *s, const Type *type, const uint32_t *rep) {
    int n = 0, bits = type->kind == TYPE_NUMBER ? dtype_info[type->dtype].bits : 0;
    if (bits != 8 && bits != 16)
        return 0;
    while (bits << n < 32 && n < s->dst_regs && s->reg_of_reg[n] == 1u << n && !s->lane_of_reg[n])
        n++;
    for (int i = n; i < s->dst_regs; i++)
        while (s->reg_of_reg[i] & ((1u << n) - 1))
            n--;
    for (int i = 0; i < s->threads; i++)
        while (s->reg_of_thread[i] & ((1u << n) - 1))
            n--;
    for (uint32_t reg = 0; rep && reg < 1u << s->dst_regs; reg++)
        while ((reg ^ rep[reg]) & ((1u << n) - 1))
            n--;
    return n;
}

LaneMove lane_move_of_words(const LaneMove *s, int n) {
    LaneMove words = *s;
    words.src_regs -= n;
    words.dst_regs -= n;
    for (int i = 0; i < words.dst_regs; i++) {
        words.reg_of_reg[i] = s->reg_of_reg[i + n] >> n;
        words.lane_of_reg[i] = s->lane_of_reg[i + n];
    }
    for (int i = 0; i < s->threads; i++)
        words.reg_of_thread[i] >>= n;
    return words;
}

/* Index bits that some vector has. */
static int bits_in(const uint32_t *basis, int count) {
    uint32_t all = 0;
    for (int i = 0; i < count; i++)
        all |= basis[i];
    return __builtin_popcount(all);
}

/* Words that shared memory takes the time of for a thread that reads so many: lanes that read the
 * same are served at once, up to the four words that one access brings. */
static uint64_t words_read(const Layout *dst, uint64_t taken) {
    enum { WORDS_OF_ACCESS = 4 };
    uint64_t alike = 1;
    for (int i = 0; i < dst->bits[LAYOUT_LANE] && alike < WORDS_OF_ACCESS; i++)
        if (layout_bases(dst, LAYOUT_LANE)[i] == 0)
            alike *= 2;
    return (taken + alike - 1) / alike;
}

LaneMoveCost lane_move_cost(const Type *type, const Layout *dst, const Layout *src) {
    LaneMove move = lane_move(dst, src);
    int together = lane_move_word_bits(&move, type, NULL);
    LaneMove words = lane_move_of_words(&move, together);
    uint64_t size = type_element_bytes(type) > 4 ? 2 : 1;
    uint64_t given = (uint64_t)layout_owned_registers(src) * size >> together;
    uint64_t taken = (uint64_t)layout_owned_registers(dst) * size >> together;
    uint32_t a[LAYOUT_MAX_BASES], sent[LAYOUT_MAX_BASES];
    LaneMoveCost cost = {.words = given + words_read(dst, taken)};
    if (lane_move_rounds(&words, a, sent)) {
        cost.shuffles = taken;
        cost.selects = given * (uint64_t)bits_in(sent, words.threads) +
                       taken * (uint64_t)bits_in(a, LAYOUT_LANE_BITS);
        return cost;
    }
    uint64_t variants = UINT64_C(1) << bits_in(words.reg_of_thread, words.threads);
    cost.shuffles = taken * variants;
    cost.selects = taken * (variants - 1);
    return cost;
}

/* Reductions */

/* Clocks of a scheduler: a shuffle takes two (32 lanes of an SM in one: CUDA C++ Programming Guide,
 * arithmetic instructions). */
enum { SHUFFLE_COST = 2, SELECT_COST = 1, LEAST_SHARED = 4 /* results of a thread */ };

LaneReductionWork lane_reduction_work(const LaneReduction *r, uint32_t shared) {
    LaneReductionWork work = {0};
    uint32_t left = r->results;
    for (uint32_t s = 0; s < r->steps; s++) {
        left = s < shared ? left / 2 : left;
        work.combinations += left;
    }
    work.shuffles = (work.combinations + (shared ? r->results : 0)) * r->words;
    return work;
}

uint32_t lane_shared_steps(const LaneReduction *r) {
    if (r->results < LEAST_SHARED || r->results & (r->results - 1))
        return 0;
    uint32_t shared = 0;
    while (shared < r->steps && r->results >> shared > 1)
        shared++;
    LaneReductionWork plain = lane_reduction_work(r, 0), work = lane_reduction_work(r, shared);
    /* What is not kept is chosen, and what is. */
    uint32_t chosen = r->results - (r->results >> shared);
    uint32_t cost = SHUFFLE_COST * work.shuffles + r->ops * work.combinations +
                    2 * SELECT_COST * r->words * chosen;
    return cost + cost / 4 < SHUFFLE_COST * plain.shuffles + r->ops * plain.combinations ? shared
                                                                                         : 0;
}
