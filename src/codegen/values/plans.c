/* Elements by thread: the thread's part of a layout once in the entry block, what registers make of
 * it added where it is needed. */
#include "codegen/values/plans.h"
#include "codegen/values/builder.h"

uint32_t layout_reg_image(const Layout *layout, uint32_t reg) {
    uint32_t image = 0;
    for (int bit = 0; bit < layout->bits[LAYOUT_REG]; bit++)
        if (reg >> bit & 1)
            image ^= layout->basis[bit];
    return image;
}

uint32_t bits_drop(uint32_t index, uint32_t mask) {
    uint32_t kept = 0, place = 0;
    for (int bit = 0; bit < 32; bit++)
        if (!(mask >> bit & 1))
            kept |= (index >> bit & 1) << place++;
    return kept;
}

/* Lowest register with each register's element: bases that are combinations of earlier ones repeat.
 * Reduced against the independent ones, every register maps to one made of independent bases alone.
 */
static const uint32_t *representatives(Cg *cg, const Layout *layout) {
    int bits = layout->bits[LAYOUT_REG];
    uint32_t *rep = ARENA_ARRAY(cg->arena, uint32_t, (size_t)1 << bits);
    uint32_t pivot_vector[32], pivot_regs[32], substitute[32];
    int pivots = 0;
    for (int bit = 0; bit < bits; bit++) {
        uint32_t vector = layout->basis[bit], regs = 0;
        for (int p = 0; p < pivots; p++)
            if ((vector ^ pivot_vector[p]) < vector) {
                vector ^= pivot_vector[p];
                regs ^= pivot_regs[p];
            }
        substitute[bit] = vector ? 1u << bit : regs;
        if (vector) {
            pivot_vector[pivots] = vector;
            pivot_regs[pivots++] = regs ^ 1u << bit;
        }
    }
    for (uint32_t reg = 0; reg < 1u << bits; reg++)
        for (int bit = 0; bit < bits; bit++)
            if (reg >> bit & 1)
                rep[reg] ^= substitute[bit];
    return rep;
}

const Plan *cg_plan(Cg *cg, const Layout *layout) {
    for (const Plan *plan = cg->plans; plan; plan = plan->next)
        if (plan->layout == layout)
            return plan;
    Plan *plan = ARENA_NEW(cg->arena, Plan);
    plan->layout = layout;
    plan->count = 1u << layout->bits[LAYOUT_REG];
    plan->rep = representatives(cg, layout);
    for (int bit = 0; bit < layout_thread_bits(layout); bit++)
        plan->thread_bits |= layout_thread_basis(layout, bit);
    plan->next = cg->plans;
    cg->plans = plan;
    return plan;
}

/* Groups the pairs (input bit, output bit) by their distance, so that each group is one mask and
 * one shift. */
Lv cg_linear(Cg *cg, LLVMBuilderRef b, Lv x, const uint32_t *basis, int bits) {
    Lv sum = NULL;
    uint32_t covered = 0;
    for (int shift = -31; shift < 32; shift++) {
        uint32_t mask = 0;
        for (int bit = 0; bit < bits; bit++)
            if (bit + shift >= 0 && bit + shift < 32 && (basis[bit] >> (bit + shift) & 1))
                mask |= 1u << bit;
        if (!mask)
            continue;
        /* A thread number has no other bits. */
        bool whole = x == cg->thread && mask == 32 * (uint32_t)cg->func->num_warps - 1;
        Lv term = whole ? x : LLVMBuildAnd(b, x, cg_i32(cg, mask), "");
        uint32_t out = shift >= 0 ? mask << shift : mask >> -shift;
        if (shift > 0)
            term = LLVMBuildShl(b, term, cg_i32(cg, shift), "");
        else if (shift < 0)
            term = LLVMBuildLShr(b, term, cg_i32(cg, -shift), "");
        if (!sum)
            sum = term;
        else if (covered & out)
            sum = LLVMBuildXor(b, sum, term, "");
        else
            sum = LLVMBuildOr(b, sum, term, "");
        covered |= out;
    }
    return sum ? sum : cg_i32(cg, 0);
}

Lv cg_plan_base(Cg *cg, const Plan *plan) {
    if (!plan->base) {
        const Layout *l = plan->layout;
        ((Plan *)plan)->base = cg_linear(cg, cg->entry, cg->thread, l->basis + l->bits[LAYOUT_REG],
                                         layout_thread_bits(l));
    }
    return plan->base;
}

/* Disjoint bits are added, without wrapping, so that later address arithmetic can split the
 * constant off. */
static Lv add_register(Cg *cg, const Plan *plan, Lv base, uint32_t image) {
    uint32_t shared = image & plan->thread_bits;
    if (shared)
        base = LLVMBuildXor(cg->b, base, cg_i32(cg, shared), "");
    if (image & ~shared) {
        base = LLVMBuildNUWAdd(cg->b, base, cg_i32(cg, image & ~shared), "");
        if (LLVMIsAInstruction(base))
            LLVMSetNSW(base, true);
    }
    return base;
}

Lv cg_plan_with(Cg *cg, const Plan *plan, uint32_t image) {
    return add_register(cg, plan, cg_plan_base(cg, plan), image);
}

Lv cg_plan_at(Cg *cg, const Plan *plan, uint32_t reg) {
    return cg_plan_with(cg, plan, layout_reg_image(plan->layout, reg));
}

Lv cg_owner(Cg *cg, const Layout *layout) {
    static const Layout scalar_layout = {0};
    if (!layout) {
        if (cg->func->one_thread)
            return NULL;
        layout = &scalar_layout;
    }
    Plan *plan = (Plan *)cg_plan(cg, layout);
    if (!plan->has_owner) {
        plan->has_owner = true;
        uint32_t free = layout_free_bits(layout) >> layout->bits[LAYOUT_REG];
        uint32_t all = (uint32_t)cg->func->num_warps * 32 - 1;
        uint32_t held =
            layout_thread_bits(layout) >= 32 ? all : (1u << layout_thread_bits(layout)) - 1;
        free = (free | ~held) & all; /* bits the layout does not name repeat its elements */
        if (free) {
            Lv bits = free == all ? cg->thread
                                  : LLVMBuildAnd(cg->entry, cg->thread, cg_i32(cg, free), "");
            plan->owner = LLVMBuildICmp(cg->entry, LLVMIntEQ, bits, cg_i32(cg, 0), "");
        }
    }
    return plan->owner;
}

bool cg_match_registers(Cg *cg, const Layout *dst, uint32_t drop, const Layout *src,
                        uint32_t *map) {
    int threads = layout_thread_bits(dst);
    for (int bit = 0; bit < threads || bit < layout_thread_bits(src); bit++) {
        uint32_t a = bit < threads ? bits_drop(layout_thread_basis(dst, bit), drop) : 0;
        uint32_t b = bit < layout_thread_bits(src) ? layout_thread_basis(src, bit) : 0;
        if (a != b)
            return false;
    }
    /* Solve src(reg) = image by elimination over the source's register bases. */
    uint32_t pivot_vector[32], pivot_regs[32];
    int pivots = 0;
    for (int bit = 0; bit < src->bits[LAYOUT_REG]; bit++) {
        uint32_t vector = src->basis[bit], regs = 1u << bit;
        for (int p = 0; p < pivots; p++)
            if ((vector ^ pivot_vector[p]) < vector) {
                vector ^= pivot_vector[p];
                regs ^= pivot_regs[p];
            }
        if (vector) {
            pivot_vector[pivots] = vector;
            pivot_regs[pivots++] = regs;
        }
    }
    for (uint32_t reg = 0; reg < 1u << dst->bits[LAYOUT_REG]; reg++) {
        uint32_t image = bits_drop(layout_reg_image(dst, reg), drop), found = 0;
        for (int p = 0; p < pivots; p++)
            if ((image ^ pivot_vector[p]) < image) {
                image ^= pivot_vector[p];
                found ^= pivot_regs[p];
            }
        if (image)
            return false;
        map[reg] = found;
    }
    return true;
}

uint32_t *cg_registers_by_image(Cg *cg, const Layout *layout) {
    uint32_t *table = ARENA_ARRAY(cg->arena, uint32_t, (size_t)1 << layout->out_bits);
    for (uint32_t reg = 0; reg < 1u << layout->bits[LAYOUT_REG]; reg++)
        if (!table[layout_reg_image(layout, reg)])
            table[layout_reg_image(layout, reg)] = reg + 1;
    return table;
}
