/* Which elements a thread holds. */
#ifndef TILEC_CODEGEN_VALUES_PLANS_H
#define TILEC_CODEGEN_VALUES_PLANS_H
#include "codegen/cg.h"

/* What the code of a thread needs to know about a linear map from (register, thread) to numbers: a
 * layout, or the offsets in a shared buffer. Kept per layout, so that each is computed once in the
 * entry block. */
typedef struct Plan {
    struct Plan *next;
    const Layout *layout;
    uint32_t count;       /* registers */
    const uint32_t *rep;  /* lowest register holding the same element */
    uint32_t thread_bits; /* union of the bases of lanes and warps */
    Lv base;              /* i32: the thread's part; NULL before it is asked for */
    Lv owner;             /* i1: the thread holds no copy; NULL: every thread owns, or not asked */
    bool has_owner;
} Plan;

const Plan *cg_plan(Cg *cg, const Layout *layout);
/* The thread's part of the map and the element of register `reg`, as i32. */
Lv cg_plan_base(Cg *cg, const Plan *plan);
Lv cg_plan_at(Cg *cg, const Plan *plan, uint32_t reg);
/* The thread's part of the map together with `image`, what registers make of it. */
Lv cg_plan_with(Cg *cg, const Plan *plan, uint32_t image);
/* The predicate under which stores and atomics of this layout happen; NULL: all threads. For a
 * scalar (layout NULL): the first thread of the program. */
Lv cg_owner(Cg *cg, const Layout *layout);
/* For each register of `dst`, the register of `src` that holds the element with the same number
 * after `drop` deleted index bits of dst; lane and warp bases must agree. False if they do not. */
bool cg_match_registers(Cg *cg, const Layout *dst, uint32_t drop, const Layout *src, uint32_t *map);
/* Image of register number `reg` alone. */
uint32_t layout_reg_image(const Layout *layout, uint32_t reg);
/* Deletes the bits of `mask` from `index` and closes the gaps. */
uint32_t bits_drop(uint32_t index, uint32_t mask);
/* Bases of lanes and warps, counted from lane bit 0. */
static inline uint32_t layout_thread_basis(const Layout *l, int bit) {
    return l->basis[l->bits[LAYOUT_REG] + bit];
}
static inline int layout_thread_bits(const Layout *l) {
    return l->bits[LAYOUT_LANE] + l->bits[LAYOUT_WARP];
}
/* XOR over the set bits of `x` (an i32) of basis[bit]: a few masks and shifts. */
Lv cg_linear(Cg *cg, LLVMBuilderRef b, Lv x, const uint32_t *basis, int bits);
/* By the register part of an index: one more than the first register that holds it; 0: none. */
uint32_t *cg_registers_by_image(Cg *cg, const Layout *layout);
#endif
