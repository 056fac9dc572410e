/* See reduce_thread.h.
 *
 * Terms are combined as a tree. Where combining a term with what is there takes the op that made it
 * along, one after the other is fewer instructions:
 *
 *     sum of a * b                  fma for each, where a tree has a product and half an addition
 *     sum of x where m, else 0      an addition under a predicate, where a tree selects first
 *
 * So many chains go on in turn that none waits for itself. Of masked terms they are those of
 * results in neighbouring registers, which mostly share what they are masked by; of products, whose
 * operands several results would hold at once, parts of one result first. */
#include "codegen/tile/reduce_thread.h"
#include "codegen/values/builder.h"
#include "codegen/values/values.h"
#include "ir/order.h"
#include <math.h>

/* A scheduler with one warp has a result back after four issues. Of fewer terms a chain saves
 * nothing. */
enum { LEAST_IN_TURN = 4, MOST_IN_TURN = 8, LEAST_TERMS_OF_CHAIN = 4 };

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

/* Does combining with it change nothing, but for what a sum of floats makes of -0? An infinity
 * changes an extremum that passes over NaN: of NaN alone that is NaN. */
static bool is_neutral(const Op *only, const Value *value) {
    static const struct {
        OpCode code;
        double neutral;
    } table[] = {
        {OP_addf, 0.0}, {OP_maxf_nan, -INFINITY}, {OP_minf_nan, INFINITY}, {OP_addi, 0.0},
        {OP_ori, 0.0},  {OP_xori, 0.0},
    };
    double number;
    int64_t integer;
    if (value_int_constant(value, &integer))
        number = (double)integer;
    else if (!value_float_constant(value, &number))
        return false;
    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        if (table[i].code == only->code)
            return number == table[i].neutral && !signbit(number) == !signbit(table[i].neutral);
    return false;
}

/* How terms are made and combined, where chains are fewer instructions. */
typedef struct Chains {
    const Combiner *c;
    Lv *values;        /* by register */
    const Lv *terms;   /* what they are, where a mask chooses; NULL: as they are */
    const Lv *mask;    /* by register: which of them count; NULL: all */
    const Lv *neutral; /* what the others count as */
} Chains;

static bool find_chains(Cg *cg, const Combiner *c, Chains *out) {
    const Op *only = combine_only_op(c->op);
    if (!only || !combine_commutes(c->op))
        return false;
    const Value *term = op_in(c->op, 0);
    const Op *def = made_for(c->op, term);
    *out = (Chains){.c = c};
    if (def && def->code == OP_select && is_neutral(only, op_in(def, 2)) &&
        type_is_tile(op_in(def, 0)->type)) {
        out->terms = cg_in(cg, def, 1);
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
    Lv acc[MOST_IN_TURN] = {NULL};
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

/* Results in turn of `n` of `terms` terms each, and parts of each; 0: chains would wait or save
 * nothing. */
static uint32_t results_in_turn(uint32_t n, uint32_t terms, bool masked, uint32_t *parts) {
    uint32_t group = !masked ? 1 : n < MOST_IN_TURN ? n : MOST_IN_TURN;
    *parts = (masked ? MOST_IN_TURN : LEAST_IN_TURN) / group;
    while (*parts > 1 && terms < *parts * LEAST_TERMS_OF_CHAIN)
        *parts /= 2;
    while (!masked && group * *parts < LEAST_IN_TURN)
        group *= 2;
    return terms < LEAST_TERMS_OF_CHAIN || group * *parts < LEAST_IN_TURN || n % group ? 0 : group;
}

static void combine_all(Cg *cg, const Combiner *c, const Plan *plan, Lv *values,
                        const Terms *results, uint32_t n) {
    Chains chains;
    uint32_t parts = 0, group = 0;
    if (n && find_chains(cg, c, &chains))
        group = results_in_turn(n, results[0].count, chains.mask, &parts);
    if (!group) {
        for (uint32_t r = 0; r < n; r++)
            combine_tree(cg, c, values, results[r]);
        return;
    }
    chains.values = values;
    if (chains.terms)
        memcpy(values, chains.terms, plan->count * sizeof *values);
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
