/* Conversions between layouts, by shuffles within a warp.
 * Who asks whom is in types/lane_move.h. One shuffle per register, plus for each bit of the
 * permutations one select per register. When there are no such rounds each register is fetched in
 * all the variants its lanes may want, and selected. What so costs more than a trip through shared
 * memory has become that before (stage-shared). */
#include "codegen/lowerings.h"
#include "codegen/values/builder.h"
#include "codegen/values/plans.h"
#include "codegen/values/shuffle.h"
#include "codegen/values/values.h"
#include "types/lane_move.h"

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

/* Every lane keeps to itself: registers are renamed, or selected by thread. */
static void convert_registers(Cg *cg, const LaneMove *s, const Lv *in, Lv *out) {
    uint32_t count = 1u << s->src_regs;
    Lv *chosen = ARENA_ARRAY(cg->arena, Lv, count);
    memcpy(chosen, in, count * sizeof *chosen);
    permute(cg, chosen, count, s->reg_of_thread, s->threads);
    for (uint32_t reg = 0; reg < 1u << s->dst_regs; reg++)
        out[reg] = chosen[lane_move_apply(s->reg_of_reg, reg)];
}

/* The registers of the destination, and which of them hold the same. */
typedef struct Wanted {
    uint32_t count;
    const uint32_t *rep; /* the first that holds the same, by register */
} Wanted;

static void convert_in_rounds(Cg *cg, const LaneMove *s, const uint32_t *a, const uint32_t *sent,
                              const Wanted *dst, const Lv *in, Lv *out) {
    uint32_t src_count = 1u << s->src_regs, lane_basis[LAYOUT_MAX_BASES];
    Lv *queue = ARENA_ARRAY(cg->arena, Lv, src_count);
    memcpy(queue, in, src_count * sizeof *queue);
    permute(cg, queue, src_count, sent, s->threads);
    for (int bit = 0; bit < s->threads; bit++)
        lane_basis[bit] = s->lane_of_thread[bit] ^
                          (bit < LAYOUT_LANE_BITS ? lane_move_apply(s->lane_of_reg, a[bit]) : 0);
    Lv from = cg_linear(cg, cg->b, cg->thread, lane_basis, s->threads);
    for (uint32_t round = 0; round < dst->count; round++) {
        if (dst->rep[round] != round) {
            out[round] = out[dst->rep[round]];
            continue;
        }
        uint32_t lane = lane_move_apply(s->lane_of_reg, round);
        uint32_t reg = lane_move_apply(s->reg_of_reg, round) ^ lane_move_apply(sent, lane);
        Lv asked = lane ? LLVMBuildXor(cg->b, from, cg_i32(cg, lane), "") : from;
        out[round] = cg_shuffle(cg, "idx", queue[reg], asked);
    }
    permute(cg, out, dst->count, a, LAYOUT_LANE_BITS);
}

/* Every variant of every register that some lane may want. */
static void convert_by_selection(Cg *cg, const LaneMove *s, const Wanted *dst, const Lv *in,
                                 Lv *out) {
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
        uint32_t lane = lane_move_apply(s->lane_of_reg, reg),
                 base = lane_move_apply(s->reg_of_reg, reg);
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

static void convert_between_lanes(Cg *cg, const LaneMove *s, const Wanted *dst, const Lv *in,
                                  Lv *out) {
    uint32_t a[LAYOUT_MAX_BASES], sent[LAYOUT_MAX_BASES];
    if (lane_move_rounds(s, a, sent))
        convert_in_rounds(cg, s, a, sent, dst, in, out);
    else
        convert_by_selection(cg, s, dst, in, out);
}

static void convert_words(Cg *cg, const LaneMove *s, const Wanted *dst, int n, const Lv *in,
                          Lv *out) {
    uint32_t per_word = 1u << n, sources = 1u << s->src_regs >> n;
    LaneMove split = lane_move_of_words(s, n);
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
    LaneMove s = lane_move(dst, src);
    const Plan *plan = cg_plan(cg, dst);
    Wanted wanted = {plan->count, plan->rep};
    int word_bits = lane_move_word_bits(&s, op->out[0].type, wanted.rep);
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
