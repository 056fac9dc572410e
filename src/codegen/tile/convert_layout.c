/* Conversions between layouts, by shuffles within a warp.
 *
 * A conversion is the linear map C of layout_move from destination to source coordinates. Split by
 * parts of the source coordinate, for destination register r and lane l (warps are not crossed):
 *
 *     source register = Rr(r) ^ Rt(thread)      source lane = Lr(r) ^ Lt(thread)
 *
 * A shuffle delivers one register of the source lane, the same for whoever asks. So in round j lane
 * l asks for its register j ^ A(l), with A linear and chosen such that the source lane of round j
 * determines the source register: the sender then permutes its registers by a linear function of
 * its lane before the rounds, and the receiver undoes A after them. One shuffle per register, plus
 * for each bit of the permutations one select per register. When no such A exists each register is
 * fetched in all the variants its lanes may want, and selected. */
#include "codegen/lowerings.h"
#include "codegen/values/builder.h"
#include "codegen/values/plans.h"
#include "codegen/values/shuffle.h"
#include "codegen/values/values.h"

/* Permutation of an array by XOR of its index with a linear function of the thread */

/* out[i] = in[i ^ f(thread)], f given by its bases. Each bit of f is a stage of conditional
 * exchanges. */
static void permute(Cg *cg, Lv *regs, uint32_t count, const uint32_t *basis, int bits) {
    Lv *swapped = ARENA_ARRAY(cg->arena, Lv, count);
    for (uint32_t bit = 1; bit < count; bit <<= 1) {
        uint32_t mask = 0;
        for (int i = 0; i < bits; i++)
            mask |= basis[i] & bit ? 1u << i : 0;
        if (!mask)
            continue;
        Lv swap = cg_parity(cg, cg->thread, mask);
        for (uint32_t i = 0; i < count; i++)
            swapped[i] = regs[i] == regs[i ^ bit]
                             ? regs[i]
                             : LLVMBuildSelect(cg->b, swap, regs[i ^ bit], regs[i], "");
        memcpy(regs, swapped, count * sizeof *regs);
    }
}

/* The move, split by parts of the source coordinate */
typedef struct Split {
    int dst_regs, threads; /* bits of the destination's registers; lanes and warps */
    int src_regs;          /* bits of the source's registers */
    uint32_t reg_of_reg[LAYOUT_MAX_BASES], lane_of_reg[LAYOUT_MAX_BASES];
    uint32_t reg_of_thread[LAYOUT_MAX_BASES], lane_of_thread[LAYOUT_MAX_BASES];
} Split;

static Split split_move(const Layout *dst, const Layout *src) {
    LayoutMove move = layout_move(dst, src);
    Split s = {.dst_regs = move.dst_bits[LAYOUT_REG],
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

static uint32_t apply(const uint32_t *basis, uint32_t x) {
    uint32_t image = 0;
    for (int i = 0; x; i++, x >>= 1)
        if (x & 1)
            image ^= basis[i];
    return image;
}

/* Every lane keeps to itself: registers are renamed, or selected by thread. */
static void convert_registers(Cg *cg, const Split *s, const Lv *in, Lv *out) {
    uint32_t count = 1u << s->src_regs;
    Lv *chosen = ARENA_ARRAY(cg->arena, Lv, count);
    memcpy(chosen, in, count * sizeof *chosen);
    permute(cg, chosen, count, s->reg_of_thread, s->threads);
    for (uint32_t reg = 0; reg < 1u << s->dst_regs; reg++)
        out[reg] = chosen[apply(s->reg_of_reg, reg)];
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
static bool place(LaneMap *map, const Split *s, int bit, int extra, bool only_new) {
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

/* Chooses A, given by one register bit per lane bit, and what each thread sends. False if there is
 * no A. */
static bool find_rounds(const Split *s, uint32_t *a, uint32_t *sent) {
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

/* The registers of the destination, and which of them hold the same. */
typedef struct Wanted {
    uint32_t count;
    const uint32_t *rep; /* the first that holds the same, by register */
} Wanted;

static void convert_in_rounds(Cg *cg, const Split *s, const uint32_t *a, const uint32_t *sent,
                              const Wanted *dst, const Lv *in, Lv *out) {
    uint32_t src_count = 1u << s->src_regs, lane_basis[LAYOUT_MAX_BASES];
    Lv *queue = ARENA_ARRAY(cg->arena, Lv, src_count);
    memcpy(queue, in, src_count * sizeof *queue);
    permute(cg, queue, src_count, sent, s->threads);
    for (int bit = 0; bit < s->threads; bit++)
        lane_basis[bit] =
            s->lane_of_thread[bit] ^ (bit < LAYOUT_LANE_BITS ? apply(s->lane_of_reg, a[bit]) : 0);
    Lv from = cg_linear(cg, cg->b, cg->thread, lane_basis, s->threads);
    for (uint32_t round = 0; round < dst->count; round++) {
        if (dst->rep[round] != round) {
            out[round] = out[dst->rep[round]];
            continue;
        }
        uint32_t lane = apply(s->lane_of_reg, round);
        uint32_t reg = apply(s->reg_of_reg, round) ^ apply(sent, lane);
        Lv asked = lane ? LLVMBuildXor(cg->b, from, cg_i32(cg, lane), "") : from;
        out[round] = cg_shuffle(cg, "idx", queue[reg], asked);
    }
    permute(cg, out, dst->count, a, LAYOUT_LANE_BITS);
}

/* Every variant of every register that some lane may want. */
static void convert_by_selection(Cg *cg, const Split *s, const Wanted *dst, const Lv *in, Lv *out) {
    Lv from = cg_linear(cg, cg->b, cg->thread, s->lane_of_thread, s->threads);
    Lv wanted = cg_linear(cg, cg->b, cg->thread, s->reg_of_thread, s->threads);
    uint32_t variants = 0;
    for (int bit = 0; bit < s->threads; bit++)
        variants |= s->reg_of_thread[bit];
    for (uint32_t reg = 0; reg < dst->count; reg++) {
        if (dst->rep[reg] != reg) {
            out[reg] = out[dst->rep[reg]];
            continue;
        }
        uint32_t lane = apply(s->lane_of_reg, reg), base = apply(s->reg_of_reg, reg);
        Lv asked = lane ? LLVMBuildXor(cg->b, from, cg_i32(cg, lane), "") : from;
        out[reg] = cg_shuffle(cg, "idx", in[base], asked);
        /* The subsets of the bits that occur, largest first. */
        for (uint32_t v = variants; v; v = (v - 1) & variants) {
            Lv is_v = LLVMBuildICmp(cg->b, LLVMIntEQ, wanted, cg_i32(cg, v), "");
            Lv other = cg_shuffle(cg, "idx", in[base ^ v], asked);
            out[reg] = LLVMBuildSelect(cg->b, is_v, other, out[reg], "");
        }
    }
}

static void convert_between_lanes(Cg *cg, const Split *s, const Wanted *dst, const Lv *in,
                                  Lv *out) {
    uint32_t a[LAYOUT_MAX_BASES], sent[LAYOUT_MAX_BASES];
    if (find_rounds(s, a, sent))
        convert_in_rounds(cg, s, a, sent, dst, in, out);
    else
        convert_by_selection(cg, s, dst, in, out);
}

/* Registers that travel together, as one word: 2^n of them, which stay neighbours in order. */
static int word_bits_of(const Split *s, const Wanted *dst, const Type *type) {
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
    for (uint32_t reg = 0; reg < dst->count; reg++)
        while ((reg ^ dst->rep[reg]) & ((1u << n) - 1))
            n--;
    return n;
}

/* The move of words of 2^n registers. */
static Split split_of_words(const Split *s, int n) {
    Split words = *s;
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

static void convert_words(Cg *cg, const Split *s, const Wanted *dst, int n, const Lv *in, Lv *out) {
    uint32_t per_word = 1u << n, sources = 1u << s->src_regs >> n;
    Split split = split_of_words(s, n);
    uint32_t *rep = ARENA_ARRAY(cg->arena, uint32_t, dst->count >> n);
    for (uint32_t i = 0; i < dst->count >> n; i++)
        rep[i] = dst->rep[i << n] >> n;
    Wanted words = {dst->count >> n, rep};
    Lv *from = ARENA_ARRAY(cg->arena, Lv, sources), *to = ARENA_ARRAY(cg->arena, Lv, words.count);
    LLVMTypeRef pack = LLVMVectorType(LLVMTypeOf(in[0]), per_word);
    unsigned bits = (unsigned)LLVMABISizeOfType(LLVMGetModuleDataLayout(cg->module), pack) * 8;
    LLVMTypeRef word = LLVMIntTypeInContext(cg->llvm, bits);
    for (uint32_t i = 0; i < sources; i++) {
        Lv vector = LLVMGetPoison(pack);
        for (uint32_t k = 0; k < per_word; k++)
            vector = LLVMBuildInsertElement(cg->b, vector, in[i << n | k], cg_i32(cg, k), "");
        from[i] = LLVMBuildBitCast(cg->b, vector, word, "");
    }
    convert_between_lanes(cg, &split, &words, from, to);
    for (uint32_t i = 0; i < words.count; i++) {
        Lv vector = LLVMBuildBitCast(cg->b, to[i], pack, "");
        for (uint32_t k = 0; k < per_word; k++)
            out[i << n | k] = LLVMBuildExtractElement(cg->b, vector, cg_i32(cg, k), "");
    }
}

void lower_convert_layout(Cg *cg, const Op *op) {
    const Layout *src = op_in(op, 0)->type->layout, *dst = op->out[0].type->layout;
    Lv *in = cg_in(cg, op, 0), *out = cg_new(cg, &op->out[0]);
    Split s = split_move(dst, src);
    const Plan *plan = cg_plan(cg, dst);
    Wanted wanted = {plan->count, plan->rep};
    int word_bits = word_bits_of(&s, &wanted, op->out[0].type);
    switch (layout_classify(dst, src)) {
    case CONVERT_NOTHING:
    case CONVERT_REGISTERS:
        convert_registers(cg, &s, in, out);
        return;
    case CONVERT_SHUFFLES:
        if (word_bits)
            convert_words(cg, &s, &wanted, word_bits, in, out);
        else
            convert_between_lanes(cg, &s, &wanted, in, out);
        return;
    case CONVERT_SHARED:
    case CONVERT_CLUSTER:
        break;
    }
    cg_unsupported_layout(cg, op);
    for (uint32_t i = 0; i < cg_count(op->out[0].type); i++)
        out[i] = in[0]; /* never emitted: the error ends the compilation */
}
