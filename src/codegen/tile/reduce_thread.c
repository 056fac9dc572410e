/* See reduce_thread.h.
 *
 * Terms are combined as a tree. Where combining a term with what is there takes the op that made it
 * along, one after the other is fewer instructions:
 *
 *     sum of a * b                  fma for each, where a tree has a product and half an addition
 *     sum of x where m, else 0      an addition under a predicate, where a tree selects first
 *
 * So many chains go on in turn that none waits for itself: results of neighbouring registers, which
 * mostly share what they are masked by, and where these are few several parts of each. */
#include "codegen/tile/reduce_thread.h"
#include "codegen/values/builder.h"
#include "codegen/values/values.h"
#include "ir/order.h"
#include <math.h>

/* A scheduler with one warp has a result back after four issues, and other work between them: so
 * many chains go on in turn, at least the first of these. Of fewer terms a chain saves nothing. */
enum { LEAST_IN_TURN = 4, WANTED_IN_TURN = 8, LEAST_TERMS_OF_CHAIN = 4 };

/* Terms of one result, in registers of ascending number. */
typedef struct Terms {
    const uint32_t *regs;
    uint32_t count;
} Terms;

/* Combines registers as a balanced tree, into the first of them, depth first: so few partial
 * results are alive at once that their operands may be computed as they are needed. */
static void combine_tree(Cg *cg, const Combiner *c, Lv *values, Terms terms) {
    if (terms.count < 2)
        return;
    uint32_t half = 1u << (31 - __builtin_clz(terms.count - 1));
    Terms low = {terms.regs, half}, high = {terms.regs + half, terms.count - half};
    combine_tree(cg, c, values, low);
    combine_tree(cg, c, values, high);
    cg_combine(cg, c, &values[low.regs[0] * c->n], &values[high.regs[0] * c->n],
               &values[low.regs[0] * c->n]);
}

/* The op behind the reduction's operand, which nothing else needs; NULL if there is none. */
static const Op *made_for(const Op *reduce, const Value *value) {
    const Op *def = value->def;
    return def && def->block == reduce->block && value_has_one_use(value) ? def : NULL;
}

/* Does combining with it change nothing, but for what a sum of floats makes of -0? */
static bool is_neutral(const Op *only, const Value *value) {
    double number;
    int64_t integer;
    if (value_float_constant(value, &number))
        return (only->code == OP_addf && number == 0 && !signbit(number)) ||
               ((only->code == OP_maxf || only->code == OP_maxf_nan) && number == -INFINITY) ||
               ((only->code == OP_minf || only->code == OP_minf_nan) && number == INFINITY);
    return value_int_constant(value, &integer) && integer == 0 &&
           (only->code == OP_addi || only->code == OP_ori || only->code == OP_xori);
}

/* How terms are made and combined, where chains are fewer instructions. */
typedef struct Chains {
    const Combiner *c;
    Lv *values;        /* by register */
    const Lv *mask;    /* by register: which of them count; NULL: all */
    const Lv *neutral; /* what the others count as */
} Chains;

static bool find_chains(Cg *cg, const Combiner *c, uint32_t count, Lv *values, Chains *out) {
    const Op *only = combine_only_op(c->op);
    if (!only || !combine_commutes(c->op))
        return false;
    const Value *term = op_in(c->op, 0);
    const Op *def = made_for(c->op, term);
    *out = (Chains){c, values, .mask = NULL};
    if (def && def->code == OP_select && is_neutral(only, op_in(def, 2)) &&
        type_is_tile(op_in(def, 0)->type)) {
        memcpy(values, cg_in(cg, def, 1), count * sizeof *values);
        out->mask = cg_in(cg, def, 0);
        out->neutral = cg_in(cg, def, 2);
        return true;
    }
    bool fuses = term->type->dtype == DT_F32 || term->type->dtype == DT_F64;
    return only->code == OP_addf && def && def->code == OP_mulf && fuses;
}

/* acc = region(acc, the term of `reg`); NULL: none is there yet. A masked sum of floats begins with
 * 0, which it is told from -0 by. */
static Lv extended(Cg *cg, const Chains *chains, uint32_t reg, Lv acc) {
    Lv term = chains->values[reg], both;
    if (!acc && !chains->mask)
        return term;
    if (!acc)
        acc = chains->neutral[reg];
    cg_combine(cg, chains->c, &acc, &term, &both);
    return chains->mask ? LLVMBuildSelect(cg->b, chains->mask[reg], both, acc, "") : both;
}

/* The terms of `n` results, which have as many each, in `parts` chains for each, turn by turn. */
static void combine_chains(Cg *cg, const Chains *chains, const Terms *results, uint32_t n,
                           uint32_t parts) {
    Lv acc[WANTED_IN_TURN] = {NULL};
    for (uint32_t i = 0; i < results[0].count; i++)
        for (uint32_t r = 0; r < n; r++) {
            uint32_t at = r * parts + i % parts;
            acc[at] = extended(cg, chains, results[r].regs[i], acc[at]);
        }
    for (uint32_t step = 1; step < parts; step *= 2)
        for (uint32_t at = 0; at < n * parts; at += 2 * step)
            cg_combine(cg, chains->c, &acc[at], &acc[at + step], &acc[at]);
    for (uint32_t r = 0; r < n; r++)
        chains->values[results[r].regs[0]] = acc[r * parts];
}

/* Parts of each of `n` results of `terms` terms; 0: chains would wait or save nothing. */
static uint32_t chain_parts(uint32_t n, uint32_t terms) {
    uint32_t parts = WANTED_IN_TURN;
    while (parts > 1 && (parts * n > WANTED_IN_TURN || terms < parts * LEAST_TERMS_OF_CHAIN))
        parts /= 2;
    return parts * n >= LEAST_IN_TURN && terms >= parts * LEAST_TERMS_OF_CHAIN ? parts : 0;
}

static void combine_all(Cg *cg, const Combiner *c, const Plan *plan, Lv *values,
                        const Terms *results, uint32_t n) {
    Chains chains;
    uint32_t group = n < WANTED_IN_TURN ? n : WANTED_IN_TURN;
    uint32_t parts = n ? chain_parts(group, results[0].count) : 0;
    if (!parts || n % group || !find_chains(cg, c, plan->count, values, &chains)) {
        for (uint32_t r = 0; r < n; r++)
            combine_tree(cg, c, values, results[r]);
        return;
    }
    for (uint32_t r = 0; r < n; r += group)
        combine_chains(cg, &chains, &results[r], group, parts);
}

void cg_reduce_in_thread(Cg *cg, const Combiner *c, const Plan *plan, uint32_t dropped, Lv *values,
                         uint32_t *leader, uint32_t *class_of) {
    uint32_t *regs = ARENA_ARRAY(cg->arena, uint32_t, plan->count), used = 0, n = 0;
    Terms *results = ARENA_ARRAY(cg->arena, Terms, plan->count);
    for (uint32_t reg = 0; reg < plan->count; reg++) {
        uint32_t image = bits_drop(layout_reg_image(plan->layout, reg), dropped);
        if (!class_of[image])
            class_of[image] = reg + 1;
        leader[reg] = class_of[image] - 1;
    }
    for (uint32_t first = 0; first < plan->count; first++) {
        if (leader[first] != first)
            continue;
        uint32_t begin = used;
        for (uint32_t reg = first; reg < plan->count; reg++)
            if (leader[reg] == first && plan->rep[reg] == reg)
                regs[used++] = reg;
        results[n++] = (Terms){regs + begin, used - begin};
    }
    combine_all(cg, c, plan, values, results, n);
}
