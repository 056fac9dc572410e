/* split-dots: long products on tensor cores become steps along K.
 *
 *     %a = local_load %va : tile<64x32xf16>      %a0 = local_load %va : tile<64x16xf16>
 *     %b = local_load %vb : tile<32x64xf16>      %b0 = local_load %vb : tile<16x64xf16>
 *     async_copy ..                              async_copy ..
 *     %r = dot %a, %b, %acc                  ->  %a1 = local_load %va {at = 16} : tile<64x16xf16>
 *                                                %b1 = local_load %vb {at = 1024} : tile<16x64xf16>
 *                                                %s = dot %a0, %b0, %acc
 *                                                %r = dot %a1, %b1, %s
 *
 * So a thread holds the fragments of two steps, those that it multiplies and the next, and not
 * those of the whole tile. A step is what one instruction takes, or more where smaller loads would
 * be more of them. What is computed from a load for one product alone (conversions of the type) is
 * split with it; an operand that is in registers anyhow is taken apart by `slice`.
 *
 * A load moves down to its step only past what leaves its buffer alone; one whose buffer is written
 * or made visible in between is split where it stands. One in front of loops (Q of attention, in
 * front of the loop without masks and the one with them) moves into each of them, so that no thread
 * holds the whole, where
 *   - the tiles alive at once take more than CROWDED_REGISTERS of a thread,
 *   - matrix loads bring it, where sums are in f16,
 *   - only products in those loops take it, as it is or converted, and
 *   - nothing from the load to the end of the last loop writes its buffer.
 * Else it is read once and taken apart by `slice`. Where the tiles alive at once take more
 * registers than a thread has, each product reads what it shares with others of its block, or what
 * waits for it while threads meet, in front of itself, as long as the buffer holds it.
 *
 * Needs layouts and conversions through shared memory made explicit; runs before place-barriers. */
#include "ir/registers.h"
#include "passes/analysis/pressure.h"
#include "passes/layout/layout_rules.h"
#include "passes/layout/tile_parts.h"
#include "passes/passes.h"
#include "passes/rewrite.h"
#include "passes/simplify/simplify.h"
#include "target/mma.h"

enum {
    CROWDED_REGISTERS = 96, /* of a thread, for whole tiles, while operands are not split */
};

typedef struct Split {
    Ctx *ctx;
    Op *dot;
    int64_t depth, step;
    bool crowded;  /* registers are short */
    bool reads[2]; /* the operand is read by steps; else parts of the whole are taken */
} Split;

static int k_dim(const Op *dot, int index) {
    int rank = op_in(dot, (uint32_t)index)->type->rank;
    return index == 0 ? rank - 1 : rank - 2;
}

/* Moving loads */

static const Value *index_of_copy(const Value *buffer) {
    return buffer->def->code == OP_local_view ? op_in(buffer->def, 1) : NULL;
}

/* Copies of a ring at a known distance within an iteration. */
static bool are_apart(const Value *a, const Value *b) {
    return index_of_copy(a) && index_of_copy(a) == index_of_copy(b) &&
           local_view_attrs(a->def)->ahead != local_view_attrs(b->def)->ahead;
}

/* May the op write what the buffer holds? */
static bool writes_into(const Op *op, const void *user) {
    const Value *buffer = user;
    for (uint32_t i = 0; op_has(op, LWRITES) && i < op->nin; i++) {
        const Value *written = op_in(op, i);
        if (written->type->kind == TYPE_BUFFER &&
            local_alloc_of(written) == local_alloc_of(buffer) && !are_apart(written, buffer))
            return true;
    }
    return false;
}

static bool writes_buffer(const Op *op, const Value *buffer) {
    return op_any(op, writes_into, buffer);
}

static bool synchronises(const Op *op, const void *user) {
    return op_has(op, SYNC) || op->code == OP_async_wait;
}

/* Would a load of the buffer behind the op see something else, or need a barrier of its own? */
static bool disturbs(const Op *op, const Value *buffer) {
    return op_any(op, synchronises, NULL) || writes_buffer(op, buffer);
}

/* May a load from in front of the loop stand in its body instead? place-barriers sees to what is
 * written behind the loop. */
static bool may_enter(const Op *load, Op *loop) {
    if (!loop || loop->code != OP_for || load->block != loop->block)
        return false;
    for (Op *op = load->next; op; op = op->next) {
        if (writes_buffer(op, op_in(load, 0)))
            return false;
        if (op == loop)
            return true;
    }
    return false;
}

/* May the load stand anywhere from where it is to `end`, of the same block? */
static bool may_sink(const Op *load, const Op *end) {
    if (load->block != end->block)
        return false;
    for (Op *op = load->next; op != end; op = op->next)
        if (!op || disturbs(op, op_in(load, 0)))
            return false;
    return true;
}

/* Where operands come from */

/* Is the value computed for one use, element by element, from what can be taken in parts? */
static bool computes_parts(const Op *op) {
    return op && op->nout == 1 && value_has_one_use(&op->out[0]) &&
           ((op_has(op, ELEMENTWISE) && op_is_pure(op)) || op->code == OP_transpose);
}

static Part part_of_operand(const Op *op, Part part) {
    if (op->code == OP_transpose)
        part.dim = (int)transpose_attrs(op)->order.ptr[part.dim];
    return part;
}

/* Is the value only for products in loops, each of which may read again what was loaded for it?
 * Another use would keep the whole in registers, and reading it again would gain nothing. */
static bool is_for_loops(const Op *load, const Value *value) {
    value_for_each_use (use, value) {
        const Op *user = use->user;
        bool suits = user->code == OP_dot
                         ? dot_attrs(user)->unit == UNIT_MMA && may_enter(load, user->block->parent)
                         : computes_parts(user) && is_for_loops(load, &user->out[0]);
        if (!suits)
            return false;
    }
    return true;
}

/* Does reading the whole anew cost more than to keep it? Matrix loads bring the registers of a
 * fragment side by side, others leave that to moves; and sums in f16 take half the registers of
 * others. */
static bool had_better_stay(const Split *split, const Op *load) {
    const Type *type = load->out[0].type;
    LayoutMatrices matrices;
    return split->dot->out[0].type->dtype == DT_F16 &&
           !layout_matrices(split->ctx, type->layout, op_in(load, 0)->type->layout,
                            type_element_bytes(type), &matrices);
}

static bool is_read_again(const Split *split, const Op *load) {
    return split->crowded && !had_better_stay(split, load) && is_for_loops(load, &load->out[0]);
}

static bool is_read_by_parts(const Split *split, const Op *op) {
    return op && op->code == OP_local_load && local_load_attrs(op)->at == 0 && op->nin == 1 &&
           (value_has_one_use(&op->out[0]) || is_read_again(split, op));
}

/* The load that an operand comes from, first operands first, and the part of it that goes with
 * `part`; NULL: none, or one that others need too. */
static Op *load_behind(const Split *split, const Value *value, Part *part) {
    Op *op = value->def;
    if (op && op->code == OP_local_load)
        return is_read_by_parts(split, op) ? op : NULL;
    if (!computes_parts(op))
        return NULL;
    *part = part_of_operand(op, *part);
    for (uint32_t i = 0; i < op->nin; i++) {
        Op *load = type_is_tile(op_in(op, i)->type) ? load_behind(split, op_in(op, i), part) : NULL;
        if (load)
            return load;
    }
    return NULL;
}

/* Reads of its own for each product */

/* Does the buffer still hold at `end`, of the same block, what the load reads? */
static bool still_holds(const Op *load, const Op *end) {
    if (load->block != end->block)
        return false;
    for (Op *op = load->next; op && op != end; op = op->next)
        if (op->code == OP_mbarrier_arrive || writes_buffer(op, op_in(load, 0)))
            return false;
    return true;
}

/* Does the value go, as it is or turned, to nothing but products each of which could read it? Else
 * the whole stays in registers, and reading it again would gain nothing. */
static bool is_for_dots(const Op *load, const Value *value) {
    value_for_each_use (use, value) {
        const Op *user = use->user;
        bool suits = user->code == OP_dot
                         ? use != &user->in[2] && dot_attrs(user)->unit == UNIT_MMA &&
                               still_holds(load, user)
                         : user->code == OP_transpose && is_for_dots(load, op_out(user));
        if (!suits)
            return false;
    }
    return true;
}

/* What a load and transpositions of it make, made again. */
static Value *make_again(Builder *b, const Value *operand) {
    Op *op = operand->def;
    if (op->code == OP_local_load)
        return build_local_load(b, op_in(op, 0), NULL, local_load_attrs(op)->at, operand->type);
    Value *turned = make_again(b, op_in(op, 0));
    return rewrite_like(b, op, 1, &turned, operand->type);
}

/* An operand that several products share, or that waits for its product while others meet, is read
 * by each in front of it. */
static bool read_for_itself(Op *dot, int index) {
    bool transposed, shared = false;
    const Value *operand = op_in(dot, (uint32_t)index);
    const Op *load = dot_operand_source(dot, index, &transposed);
    if (!load || load->code != OP_local_load || load->nin > 1 || !is_for_dots(load, op_out(load)))
        return false;
    for (const Op *op = operand->def; op != load; op = op_in(op, 0)->def)
        shared |= !value_has_one_use(op_out(op));
    shared |= !value_has_one_use(op_out(load)) || !may_sink(load, dot);
    if (!shared)
        return false;
    Builder b = builder_before(dot);
    b.span = load->span;
    op_set_operand(dot, (uint32_t)index, make_again(&b, operand));
    return true;
}

static bool read_apart(Block *block) {
    bool changed = false;
    block_for_each_safe (op, block) {
        for (uint32_t i = 0; i < op->nregions; i++)
            changed |= read_apart(op->regions[i]);
        if (op->code == OP_dot && dot_attrs(op)->unit == UNIT_MMA)
            for (int i = 0; i < 2; i++)
                changed |= read_for_itself(op, i);
    }
    return changed;
}

/* Steps */

/* Elements that one access reads of `type`, the load's result or a part of it: per lane, a matrix
 * load reads rows of 16 bytes. */
static int count_elements(Ctx *ctx, const Op *load, const Type *type, int *accesses) {
    const Type *buffer = op_in(load, 0)->type;
    int bytes = type_element_bytes(type);
    const Layout *layout =
        layout_of_part(ctx, type->layout, type->rank, type->shape, buffer->shape);
    LayoutMatrices matrices;
    if (layout_matrices(ctx, layout, buffer->layout, bytes, &matrices)) {
        *accesses = 1 << matrices.load_bits;
        return 16 / bytes;
    }
    int vector = layout_shared_vector(ctx, layout, buffer->layout, bytes);
    *accesses = (1 << layout->bits[LAYOUT_REG]) / vector;
    return vector;
}

/* Do all parts begin where such an access may? */
static bool parts_are_aligned(Ctx *ctx, const Type *buffer, Part part, int elements) {
    const Layout *inverse = layout_invert(ctx, buffer->layout);
    for (uint32_t rest = part_bits(buffer, part); rest; rest &= rest - 1)
        if (layout_apply(inverse, rest & -rest, 0, 0, 0) & (uint32_t)(elements - 1))
            return false;
    return true;
}

/* Does reading this part by part take more accesses? */
static bool costs_accesses(const Split *split, const Op *load, Part part) {
    const Type *whole = load->out[0].type, *piece = part_type(split->ctx, whole, part);
    int all, some;
    count_elements(split->ctx, load, whole, &all);
    int elements = count_elements(split->ctx, load, piece, &some);
    return some * (whole->shape[part.dim] / part.size) > all ||
           !parts_are_aligned(split->ctx, op_in(load, 0)->type, part, elements);
}

/* The least depth, from `least` on, of parts that operand `index` can be read in. */
static int64_t readable_depth(const Split *split, int index, int64_t least) {
    const Value *operand = op_in(split->dot, (uint32_t)index);
    for (int64_t step = least; step < split->depth; step *= 2) {
        Part part = {k_dim(split->dot, index), 0, step};
        if (!parts_are_in_registers(operand->type, part))
            continue;
        const Op *load = load_behind(split, operand, &part);
        if (!load)
            return split->depth;
        if (!costs_accesses(split, load, part))
            return step;
    }
    return split->depth;
}

/* Sets the depth of a step and which operands are read by steps; false: none is. */
static bool choose_step(Split *split) {
    const Op *dot = split->dot;
    const Mma *mma = mma_find(op_in(dot, 0)->type->dtype, op_in(dot, 1)->type->dtype,
                              dot->out[0].type->dtype, dot->block->func->capability);
    if (!mma || mma->k >= split->depth)
        return false;
    split->step = mma->k;
    for (int i = 0; i < 2; i++) {
        int64_t depth = readable_depth(split, i, mma->k);
        split->reads[i] = depth < split->depth;
        if (split->reads[i] && depth > split->step)
            split->step = depth;
    }
    for (int i = 0; i < 2; i++)
        if (!parts_are_in_registers(op_in(dot, (uint32_t)i)->type,
                                    (Part){k_dim(dot, i), 0, split->step}))
            return false;
    return split->reads[0] || split->reads[1];
}

/* `part` of a value: loads go to where they stood if they may not be moved to the builder. */
static Value *take_part(Split *split, Builder *b, Value *value, Part part) {
    const Type *type = part_type(split->ctx, value->type, part);
    Op *op = value->def;
    Value *uniform = part_of_uniform(b, value, type);
    if (uniform)
        return uniform;
    if (is_read_by_parts(split, op)) {
        bool sinks = (part.start > 0 && may_sink(op, split->dot)) || is_read_again(split, op);
        Builder at = sinks ? *b : builder_before(op);
        at.span = op->span;
        return build_local_load(&at, op_in(op, 0), NULL, part_first(value->type, part), type);
    }
    if (!computes_parts(op))
        return part_by_slice(b, value, part);
    Part inner = part_of_operand(op, part);
    Value **in = ARENA_ARRAY(&split->ctx->scratch, Value *, op->nin);
    for (uint32_t i = 0; i < op->nin; i++)
        in[i] = type_is_tile(op_in(op, i)->type) ? take_part(split, b, op_in(op, i), inner)
                                                 : op_in(op, i);
    return rewrite_like(b, op, op->nin, in, type);
}

static void split_dot(Split *split) {
    Op *dot = split->dot;
    ArenaMark mark = arena_mark(&split->ctx->scratch);
    Value *sum = op_in(dot, 2), *next[2] = {NULL, NULL};
    for (int64_t k = 0; k <= split->depth; k += split->step) {
        Value *now[2] = {next[0], next[1]};
        Builder b = builder_before(dot);
        b.span = dot->span;
        for (int i = 0; k < split->depth && i < 2; i++) {
            Part part = {k_dim(dot, i), k, split->step};
            Value *operand = op_in(dot, (uint32_t)i);
            next[i] = split->reads[i] ? take_part(split, &b, operand, part)
                                      : part_by_slice(&b, operand, part);
        }
        if (k > 0)
            sum = build_dot(&b, now[0], now[1], sum, dot_attrs(dot)->precision,
                            dot_attrs(dot)->max_imprecise, dot_attrs(dot)->unit);
    }
    rewrite_replace(dot, sum);
    arena_rewind(&split->ctx->scratch, mark);
}

static bool visit_block(Ctx *ctx, Block *block, bool crowded) {
    bool changed = false;
    block_for_each_safe (op, block) {
        for (uint32_t i = 0; i < op->nregions; i++)
            changed |= visit_block(ctx, op->regions[i], crowded);
        if (op->code != OP_dot || dot_attrs(op)->unit != UNIT_MMA)
            continue;
        Split split = {.ctx = ctx, .dot = op, .crowded = crowded};
        split.depth = op_in(op, 0)->type->shape[k_dim(op, 0)];
        if (!choose_step(&split))
            continue;
        split_dot(&split);
        changed = true;
    }
    return changed;
}

bool pass_split_dots(Func *func) {
    Ctx *ctx = func_ctx(func);
    int64_t alive = (int64_t)pressure_most_in_thread(func);
    int64_t room = func_register_room(func, func->num_warps) - RESERVE_WGMMA;
    bool changed = alive > room && read_apart(func->body);
    changed |= visit_block(ctx, func->body, alive > CROWDED_REGISTERS);
    if (changed)
        eliminate_dead(func);
    return changed;
}
