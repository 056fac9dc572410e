/* feed-wgmma: dots of warpgroups take their operands from shared buffers.
 *
 *     %a = local_load %va                          %r = wgmma %va, %vb, %acc
 *     %b = transpose (local_load %vb)        ->        {transposed = 2}
 *     %r = dot %a, %b, %acc {unit = wgmma}
 *
 * A converted operand is stored to a buffer of its own where it was converted. Operand a may also
 * stay in registers, as it was computed. The sum that a loop
 * does nothing but add to may stay in flight from one iteration to the next, where what is copied
 * to the rings meanwhile is not what the product before reads:
 *
 *     for .. (%acc = %z) {                         %s = for .. (%acc = %z) {
 *         %r = dot .., %acc                            %r = wgmma .., %acc {in_flight = true}
 *         yield %r                           ->        yield %r
 *     }                                            }
 *                                                  %f = wgmma_wait %s
 *
 * A dot whose operands come otherwise is left to mma.sync, which takes the same accumulator. Needs
 * layouts; leaves no dot with the unit wgmma. */
#include "ir/registers.h"
#include "passes/analysis/pressure.h"
#include "passes/layout/layout_rules.h"
#include "passes/passes.h"
#include "passes/rewrite.h"
#include "passes/simplify/simplify.h"
#include "target/wgmma.h"

enum { VECTOR_BYTES = 16 };

/* Where an operand comes from: a local_load or convert_layout, turned perhaps. */
typedef struct Fed {
    DotOperand operand;
    Op *op;
    const Layout *shared; /* to store the converted tile in; NULL: it is in a buffer */
} Fed;

/* Elements that its threads store at once: those next to each other in the lowest registers. */
static int width_of(const Type *tile) {
    int bytes = type_element_bytes(tile), width = 1;
    for (int d = 0; d < tile->rank; d++) {
        uint32_t mask = layout_dim_mask(tile->rank, tile->shape, d);
        int run = mask ? layout_run(tile->layout, __builtin_ctz(mask), VECTOR_BYTES / bytes) : 1;
        width = run > width ? run : width;
    }
    return width;
}

static bool find_source(Ctx *ctx, const Op *dot, int index, Fed *out) {
    *out = (Fed){.operand = {dot, index, false}};
    Op *op = out->op = dot_operand_source(dot, index, &out->operand.transposed);
    if (op && op->code == OP_local_load)
        return dot_takes_buffer(ctx, &out->operand, op_in(op, 0)->type);
    if (!dot_operand_is_exchanged(dot, op))
        return false;
    const Type *tile = op_in(op, 0)->type;
    out->shared = layout_of_operand_buffer(ctx, &out->operand, tile, width_of(tile));
    return out->shared != NULL;
}

/* The buffer to which the operand was stored for another dot; NULL: it was not. */
static Value *stored_before(const Fed *source) {
    value_for_each_use (use, op_in(source->op, 0)) {
        const Op *store = use->user;
        if (store->code == OP_local_store && store->block == source->op->block &&
            op_in(store, 1)->def->code == OP_local_alloc &&
            op_in(store, 1)->type->layout == source->shared)
            return op_in(store, 1);
    }
    return NULL;
}

/* The buffer that holds the operand. */
static Value *buffer_of(Ctx *ctx, const Fed *source) {
    if (!source->shared)
        return op_in(source->op, 0);
    Value *tile = op_in(source->op, 0), *known = stored_before(source);
    if (known)
        return known;
    const Type *type = tile->type;
    Builder b = builder_before(source->op);
    b.span = source->op->span;
    Value *buffer = build_local_alloc(
        &b, -1, 0, 0,
        type_get(ctx, TYPE_BUFFER, type->dtype, type->rank, type->shape, source->shared));
    build_local_store(&b, tile, buffer, 0);
    return buffer;
}

/* Filled by asynchronous copies, is the copy before the one that is read not written meanwhile?
 * What goes through registers leaves too few to keep a product in flight. */
static bool has_spare_copy(const Value *buffer) {
    if (buffer->def->code != OP_local_view)
        return false;
    int64_t ahead = -1, copies = local_copies(buffer);
    value_for_each_use (view, op_in(buffer->def, 0)) {
        if (view->user->code != OP_local_view)
            return false;
        bool in_loop = op_in(view->user, 1) == op_in(buffer->def, 1);
        value_for_each_use (use, &view->user->out[0]) {
            if (use->user->code == OP_local_store)
                return false;
            if (in_loop && (use->user->code == OP_async_copy || use->user->code == OP_copy_block)) {
                int64_t by = local_view_attrs(view->user)->ahead;
                ahead = by > ahead ? by : ahead;
            }
        }
    }
    return ahead >= 0 && ahead + 2 <= copies;
}

/* Others have the sum once it is there. */
static void wait_behind(Op *loop, uint32_t index) {
    Builder b = builder_after(loop);
    b.span = loop->span;
    Value *sum = &loop->out[index];
    if (value_unused(sum))
        return;
    Value *waited = build_wgmma_wait(&b, sum, 0);
    for (Use *use = sum->uses, *next; use; use = next) {
        next = use->next;
        if (use->user != waited->def)
            op_set_operand(use->user, (uint32_t)(use - use->user->in), waited);
    }
}

/* Registers of a thread that are left for the operands and sums of one product. */
static int64_t room_of(const Func *func) {
    return func_register_room(func, func->num_warps) - RESERVE_WGMMA;
}

/* Bytes of the buffer that an operand takes to itself; of rings pipelines see that they fit. */
static int64_t own_bytes(const Fed *source) {
    const Value *value = op_in(source->op, 0);
    bool is_view = !source->shared && value->def->code == OP_local_view;
    return is_view ? 0 : type_bytes(value->type);
}

/* What a dot becomes a wgmma of. */
typedef struct Plan {
    Fed sources[2];
    bool a_in_registers;
} Plan;

static const char *plan_for(Ctx *ctx, const Func *func, const Op *dot, Plan *plan) {
    const Type *acc = op_out(dot)->type;
    int64_t groups[2];
    if (!wgmma_grouping(ctx, acc, groups))
        return "the accumulator is not laid out for it";
    int64_t registers = type_registers(op_out(dot)->type);
    if (registers > WGMMA_MAX_REGISTERS)
        return "the accumulator takes more than 128 registers of a thread";
    if (!find_source(ctx, dot, 1, &plan->sources[1]))
        return "operand b is not in shared memory as it asks";
    if (!find_source(ctx, dot, 0, &plan->sources[0])) {
        const Value *a = op_in(dot, 0);
        plan->a_in_registers = true;
        registers += type_registers(a->type);
        if (a->type->layout != wgmma_operand_in_registers(ctx, acc, a->type))
            return "operand a is neither in shared memory nor in registers as it asks";
    }
    if (registers > room_of(func))
        return "a thread has too few registers for it";
    int64_t bytes = own_bytes(&plan->sources[1]);
    bytes += plan->a_in_registers ? 0 : own_bytes(&plan->sources[0]);
    if (bytes > func_shared_room(func))
        return "its operands do not fit shared memory whole";
    return NULL;
}

static void form(Func *func, Op *dot, const Plan *plan) {
    const Fed *sources = plan->sources;
    Value *a = plan->a_in_registers ? op_in(dot, 0) : buffer_of(func_ctx(func), &sources[0]);
    Value *b = buffer_of(func_ctx(func), &sources[1]);
    bool in_flight = dot_may_stay_in_flight(dot) && !plan->a_in_registers && has_spare_copy(a) &&
                     has_spare_copy(b);
    Op *loop = dot->block->parent;
    uint32_t index = in_flight ? op_in(dot, 2)->index - 1 : 0;
    Builder builder = builder_before(dot);
    builder.span = dot->span;
    int64_t transposed = sources[1].operand.transposed << 1;
    if (!plan->a_in_registers)
        transposed |= sources[0].operand.transposed;
    rewrite_replace(dot,
                    build_wgmma(&builder, a, b, op_in(dot, 2), NULL, transposed, in_flight, false));
    if (in_flight)
        wait_behind(loop, index);
}

static bool visit_block(Func *func, Block *block) {
    bool changed = false;
    for (Op *op = block->first, *next; op; op = next) {
        next = op->next;
        for (uint32_t i = 0; i < op->nregions; i++)
            changed |= visit_block(func, op->regions[i]);
        if (op->code != OP_dot || dot_attrs(op)->unit != UNIT_WGMMA)
            continue;
        Plan plan = {0};
        const char *why_not = plan_for(func_ctx(func), func, op, &plan);
        if (why_not) {
            ctx_diag(func_ctx(func), op->span, dot_without_wgmma, why_not);
            dot_attrs(op)->unit = UNIT_MMA;
        } else {
            form(func, op, &plan);
        }
        changed = true;
    }
    return changed;
}

bool pass_feed_wgmma(Func *func) {
    bool changed = visit_block(func, func->body);
    if (changed)
        eliminate_dead(func);
    return changed;
}
