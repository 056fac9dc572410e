/* Reductions: within the thread, then within the warp; and maps, register by register.
 *
 * Let P be the layout with the index bits of the reduced axis deleted. Registers of equal P
 * hold terms of one result and are combined first (reduce_thread.c). What remains is the space of
 * lane masks c for which P(c) is also the P of some register combination v: lane ^ c holds, in
 * register ^ v, terms of the same result. One butterfly per vector of a basis of this space
 * finishes every lane at once, and every lane ends with the result. Masks under which a thread
 * holds the very same elements (copies) are left out.
 *
 * Where a thread has terms of many results, a butterfly shuffles each of them in each step, for the
 * same result in all lanes. Sharing them out is less: in each step a lane gives half of what it has
 * to its partner and gets the partner's terms of the other half, as long as there are halves; what
 * is left takes the butterflies that are left, and each result comes from the lane that has it.
 *
 *     8 results, 8 lanes      butterflies 8 + 8 + 8 shuffles      shared out 4 + 2 + 1, and 8 back
 */
#include "codegen/lowerings.h"
#include "codegen/tile/combine.h"
#include "codegen/tile/ordered.h"
#include "codegen/tile/reduce_thread.h"
#include "codegen/values/builder.h"
#include "codegen/values/plans.h"
#include "codegen/values/regions.h"
#include "codegen/values/shuffle.h"
#include "codegen/values/values.h"
#include "ir/order.h"
#include "types/lane_move.h"

/* redux.sync does the whole warp in one instruction for these regions over integers of up to 32
 * bits, vote.sync for two of them over predicates. */
typedef struct Redux {
    OpCode code;
    const char *name, *vote;
    bool is_signed; /* how narrower integers are widened */
} Redux;

static const Redux *redux_of(const Op *op) {
    static const Redux table[] = {
        {OP_addi, "llvm.nvvm.redux.sync.add", NULL, false},
        {OP_minsi, "llvm.nvvm.redux.sync.min", NULL, true},
        {OP_maxsi, "llvm.nvvm.redux.sync.max", NULL, true},
        {OP_minui, "llvm.nvvm.redux.sync.umin", NULL, false},
        {OP_maxui, "llvm.nvvm.redux.sync.umax", NULL, false},
        {OP_andi, "llvm.nvvm.redux.sync.and", "llvm.nvvm.vote.all.sync", false},
        {OP_ori, "llvm.nvvm.redux.sync.or", "llvm.nvvm.vote.any.sync", false},
        {OP_xori, "llvm.nvvm.redux.sync.xor", NULL, false},
    };
    const Op *only = combine_only_op(op);
    if (!only || !type_is_int(only->out[0].type) || dtype_bytes(only->out[0].type->dtype) > 4)
        return NULL;
    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        if (table[i].code == only->code)
            return &table[i];
    return NULL;
}

static Lv redux_value(Cg *cg, const Redux *redux, Lv value) {
    LLVMTypeRef type = LLVMTypeOf(value);
    Lv all = cg_i32(cg, -1);
    unsigned bits = LLVMGetIntTypeWidth(type);
    if (bits == 1 && redux->vote)
        return cg_intrinsic(cg, redux->vote, NULL, 0, (Lv[]){all, value}, 2);
    if (bits == 32)
        return cg_intrinsic(cg, redux->name, NULL, 0, (Lv[]){value, all}, 2);
    Lv wide = redux->is_signed ? LLVMBuildSExt(cg->b, value, cg->t_i32, "")
                               : LLVMBuildZExt(cg->b, value, cg->t_i32, "");
    wide = cg_intrinsic(cg, redux->name, NULL, 0, (Lv[]){wide, all}, 2);
    return LLVMBuildTrunc(cg->b, wide, type, "");
}

/* Linear algebra over the bases of a layout: pairs of an image and the coordinates that gave it. */
typedef struct Span2 {
    uint32_t image[LAYOUT_MAX_BASES], regs[LAYOUT_MAX_BASES], threads[LAYOUT_MAX_BASES];
    int count;
} Span2;

static void span_reduce(const Span2 *span, uint32_t *image, uint32_t *regs, uint32_t *threads) {
    for (int p = 0; p < span->count; p++)
        if ((*image ^ span->image[p]) < *image) {
            *image ^= span->image[p];
            *regs ^= span->regs[p];
            *threads ^= span->threads[p];
        }
}

/* True if the image was not in the span; then it is added. */
static bool span_add(Span2 *span, uint32_t image, uint32_t regs, uint32_t threads) {
    span_reduce(span, &image, &regs, &threads);
    if (!image)
        return false;
    span->image[span->count] = image;
    span->regs[span->count] = regs;
    span->threads[span->count++] = threads;
    return true;
}

typedef struct Butterfly {
    uint32_t threads, regs; /* partner = thread ^ threads, its register = register ^ regs */
} Butterfly;

/* Steps across threads that a reduction over the index bits `dropped` takes. */
static int find_butterflies(const Layout *l, uint32_t dropped, Butterfly *steps) {
    Span2 kept = {.count = 0}, held = {.count = 0};
    int count = 0;
    for (int bit = 0; bit < l->bits[LAYOUT_REG]; bit++) {
        span_add(&kept, bits_drop(l->basis[bit], dropped), 1u << bit, 0);
        span_add(&held, l->basis[bit], 0, 0);
    }
    for (int bit = 0; bit < layout_thread_bits(l); bit++) {
        uint32_t full = layout_thread_basis(l, bit);
        uint32_t image = bits_drop(full, dropped), regs = 0, threads = 1u << bit;
        span_reduce(&kept, &image, &regs, &threads);
        if (image) {
            span_add(&kept, image, regs, threads);
            span_add(&held, full, 0, 0);
        } else {
            /* The image of the whole step, without what its registers contribute to the axis: those
             * are combined already. A copy has nothing new. */
            uint32_t moved = layout_reg_image(l, regs);
            for (int t = 0; t < layout_thread_bits(l); t++)
                moved ^= threads >> t & 1 ? layout_thread_basis(l, t) : 0;
            if (span_add(&held, moved, 0, 0))
                steps[count++] = (Butterfly){threads, regs};
        }
    }
    return count;
}

/* Sharing results out among lanes */

/* Steps in which lanes share out `n` results of which a thread has terms. */
static int shared_steps(const Combiner *c, uint32_t n, const Butterfly *steps, int nsteps) {
    LaneReduction reduction = {.results = n, .steps = (uint32_t)nsteps};
    for (int s = 0; s < nsteps; s++)
        if (steps[s].regs || steps[s].threads & (steps[s].threads - 1))
            return 0;
    for (uint32_t k = 0; k < c->n; k++)
        reduction.words += (uint32_t)(type_element_bytes(op_in(c->op, k)->type) + 3) / 4;
    block_for_each (op, c->op->regions[0])
        reduction.ops += !op_has(op, TERMINATOR);
    return (int)lane_shared_steps(&reduction);
}

/* Each lane keeps one half of the registers' results, the upper where `upper`. */
static void share_out(Cg *cg, const Combiner *c, const uint32_t *regs, uint32_t half,
                      uint32_t lane_bit, Lv upper, Lv *values) {
    uint32_t n = c->n;
    Lv *received = ARENA_ARRAY(cg->arena, Lv, (size_t)half * n);
    for (uint32_t i = 0; i < half; i++)
        for (uint32_t k = 0; k < n; k++) {
            Lv low = values[regs[i] * n + k], high = values[regs[i + half] * n + k];
            Lv given = LLVMBuildSelect(cg->b, upper, low, high, "");
            received[i * n + k] = cg_shuffle_xor(cg, given, lane_bit);
            values[regs[i] * n + k] = LLVMBuildSelect(cg->b, upper, high, low, "");
        }
    for (uint32_t i = 0; i < half; i++)
        cg_combine(cg, c, &received[i * n], &values[regs[i] * n], &values[regs[i] * n]);
}

/* As many results as registers `regs`, each in all lanes. */
static void reduce_shared(Cg *cg, const Combiner *c, const uint32_t *regs, uint32_t count,
                          const Butterfly *steps, int nsteps, int nshared, Lv *values) {
    uint32_t n = c->n, left = count, lanes = 0;
    for (int s = 0; s < nshared; s++, left /= 2) {
        Lv upper = cg_parity(cg, cg->lane, steps[s].threads);
        share_out(cg, c, regs, left / 2, steps[s].threads, upper, values);
        lanes |= steps[s].threads;
    }
    Lv *received = ARENA_ARRAY(cg->arena, Lv, (size_t)count * n);
    for (int s = nshared; s < nsteps; s++)
        for (uint32_t i = 0; i < left; i++) {
            for (uint32_t k = 0; k < n; k++)
                received[k] = cg_shuffle_xor(cg, values[regs[i] * n + k], steps[s].threads);
            cg_combine(cg, c, received, &values[regs[i] * n], &values[regs[i] * n]);
        }
    for (uint32_t i = 0; i < count; i++) {
        uint32_t holder = 0;
        for (int s = 0; s < nshared; s++)
            holder |= i & (count >> (s + 1)) ? steps[s].threads : 0;
        for (uint32_t k = 0; k < n; k++)
            received[i * n + k] =
                cg_shuffle_from(cg, values[regs[i & (left - 1)] * n + k], holder, lanes);
    }
    for (uint32_t i = 0; i < count; i++)
        memcpy(&values[regs[i] * n], &received[i * n], n * sizeof *received);
}

static void reduce_in_warp(Cg *cg, const Combiner *c, const Plan *plan, const uint32_t *leader,
                           const Butterfly *steps, int nsteps, Lv *values) {
    Lv *received = ARENA_ARRAY(cg->arena, Lv, (size_t)plan->count * c->n);
    uint32_t lanes = 0;
    for (int s = 0; s < nsteps; s++)
        lanes |= steps[s].threads;
    const Redux *redux = nsteps == LAYOUT_LANE_BITS && lanes == 31 ? redux_of(c->op) : NULL;
    for (int s = 0; redux && s < nsteps; s++)
        if (steps[s].regs)
            redux = NULL;
    if (redux) {
        for (uint32_t reg = 0; reg < plan->count; reg++)
            if (leader[reg] == reg)
                values[reg] = redux_value(cg, redux, values[reg]);
        return;
    }
    uint32_t *regs = ARENA_ARRAY(cg->arena, uint32_t, plan->count), results = 0;
    for (uint32_t reg = 0; reg < plan->count; reg++)
        if (leader[reg] == reg)
            regs[results++] = reg;
    int nshared = shared_steps(c, results, steps, nsteps);
    if (nshared) {
        reduce_shared(cg, c, regs, results, steps, nsteps, nshared, values);
        return;
    }
    for (int s = 0; s < nsteps; s++) {
        /* All shuffles of a step before its combinations: they are independent. */
        for (uint32_t reg = 0; reg < plan->count; reg++)
            for (uint32_t k = 0; leader[reg] == reg && k < c->n; k++)
                received[reg * c->n + k] = cg_shuffle_xor(
                    cg, values[leader[reg ^ steps[s].regs] * c->n + k], steps[s].threads);
        for (uint32_t reg = 0; reg < plan->count; reg++)
            if (leader[reg] == reg)
                cg_combine(cg, c, &values[reg * c->n], &received[reg * c->n], &values[reg * c->n]);
    }
}

void lower_reduce(Cg *cg, const Op *op) {
    if (op_keeps_order(op)) {
        cg_reduce_in_order(cg, op);
        return;
    }
    const Type *type = op_in(op, 0)->type;
    const Plan *plan = cg_plan(cg, type->layout);
    Combiner c = {op, op->nin};
    uint32_t axis = layout_dim_mask(type->rank, type->shape, (int)reduce_attrs(op)->axis);
    uint32_t kept = axis ? (uint32_t)reduce_attrs(op)->keep << __builtin_ctz(axis) : 0;
    uint32_t dropped = axis & ~kept;
    Lv *values = cg_tuples(cg, op, plan->count);
    uint32_t *leader = ARENA_ARRAY(cg->arena, uint32_t, plan->count);
    uint32_t *class_of = ARENA_ARRAY(cg->arena, uint32_t, (size_t)1 << plan->layout->out_bits);
    Butterfly steps[LAYOUT_MAX_BASES];
    int nsteps = find_butterflies(plan->layout, dropped, steps);
    for (int s = 0; s < nsteps; s++)
        if (steps[s].threads >> LAYOUT_LANE_BITS) {
            cg_unsupported_layout(cg, op);
            nsteps = 0;
        }
    cg_reduce_in_thread(cg, &c, plan, dropped, values, leader, class_of);
    reduce_in_warp(cg, &c, plan, leader, steps, nsteps, values);

    for (uint32_t k = 0; k < op->nout; k++) {
        const Type *to = op->out[k].type;
        Lv *out = cg_new(cg, &op->out[k]);
        if (!type_is_tile(to)) {
            out[0] = values[k];
            continue;
        }
        for (uint32_t reg = 0; reg < cg_count(to); reg++) {
            uint32_t class = class_of[layout_reg_image(to->layout, reg)];
            if (!class)
                cg_unsupported_layout(cg, op);
            out[reg] = values[(class ? class - 1 : 0) * op->nin + k];
        }
    }
}

/* Maps */

/* Each element by itself: branches of the region are branches of the thread. */
void lower_map(Cg *cg, const Op *op) {
    const Type *type = op_in(op, 0)->type;
    const Plan *plan = cg_plan(cg, type->layout);
    Lv *in = ARENA_ARRAY(cg->arena, Lv, op->nin), *out = ARENA_ARRAY(cg->arena, Lv, op->nout + 1);
    Lv **results = ARENA_ARRAY(cg->arena, Lv *, op->nout + 1);
    for (uint32_t k = 0; k < op->nout; k++)
        results[k] = cg_new(cg, &op->out[k]);
    for (uint32_t reg = 0; reg < cg_count(type) && !cg->failed; reg++) {
        bool is_new = plan->rep[reg] == reg;
        for (uint32_t k = 0; k < op->nin; k++)
            in[k] = cg_in(cg, op, k)[reg];
        if (is_new)
            cg_inline_region(cg, op->regions[0], in, op->nin, out, op->nout);
        for (uint32_t k = 0; k < op->nout; k++)
            results[k][reg] = is_new ? out[k] : results[k][plan->rep[reg]];
    }
}
