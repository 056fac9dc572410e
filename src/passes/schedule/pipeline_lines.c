/* pipeline-loads, loops without products: recurrences over time, whose iterations load a few lines
 * and numbers, change a tile that the loop carries, and add it up along a dimension.
 *
 * None of that is much work, so an iteration takes as long as memory does, once for each place
 * where it waits: what is loaded behind a barrier waits anew. Neither addresses nor data depend on
 * what the loop carries, so all loads come ahead, as operands of products do, and each is read in
 * the layouts that its users want, where a conversion would have an exchange and a barrier of its
 * own.
 *
 *     for .. (%h = ..) {                            %ring = local_alloc {copies = 3}
 *         %k = load %p : tile<64xf32, #A>           ..
 *         %s = mulf %k, %scale                      for .. (%h = .., %slot) {
 *         %x = convert_layout %s : #B         ->        async_wait; async_copy two iterations ahead
 *         %n = f(%h, %x)                                %k = local_load %ring[%slot] : tile<64xf32,
 * #B> yield %n                                      %x = mulf %k, %scale } yield f(%h, %x), .. }
 *
 * - All loads of the loop come ahead, or none: what is left would be waited for all the same.
 * - Lines are few bytes, read and copied by few threads; a number is a line of one element. What
 *   cp.async cannot copy waits in a register until the iteration ends.
 * - The loop carries a tile that is larger than its lines, or stores and carries one that becomes
 *   another by more than adding to it, or asks for stages: a loop that only adds up what it loads
 *   has one wait an iteration, for which other warps have work. */
#include "passes/analysis/facts.h"
#include "passes/layout/layout_rules.h"
#include "passes/schedule/pipeline_loads.h"

enum {
    MOST_LINE_BYTES = 1024,
    MOST_BYTES = 4096, /* of an iteration: with rings of them an SM holds as many CTAs */
    LEAST_TRIPS = 4,   /* of a loop that is known to end so soon copies would gain nothing */
    MOST_OPS = 4,      /* that are computed where their result is wanted, not converted */
};

/* Candidates */

static int longest_dim(const Type *type) {
    int along = 0;
    for (int d = 0; d < type->rank; d++)
        along = type->shape[d] > type->shape[along] ? d : along;
    return along;
}

static bool is_line(const Type *type) {
    return !type_is_tile(type) || (type->shape[longest_dim(type)] == type_numel(type) &&
                                   type_bytes(type) <= MOST_LINE_BYTES);
}

/* Does the slice of the load have no other load in it, for which it would wait? */
static bool is_ahead(const Pipelined *p, Op *load) {
    Pipelined alone = {.ctx = p->ctx,
                       .arena = p->arena,
                       .loop = p->loop,
                       .body = p->body,
                       .written = p->written,
                       .writes = p->writes,
                       .asked = p->asked,
                       .branches = p->branches};
    alone.slice.arena = p->arena;
    if (!pipeline_add_operands(&alone, load))
        return false;
    block_for_each (op, p->body)
        if (op->code == OP_load && ptr_set_has(&alone.slice, op))
            return false;
    for (uint32_t i = 0; i < load->nin && i < 2; i++)
        if (type_is_tile(op_in(load, i)->type) && !value_is_recomputable(op_in(load, i), CHEAP_OPS))
            return false;
    return true;
}

/* Copies of less than 16 bytes go through the L1 cache. */
static bool is_cached(const Op *load) {
    CacheModifier cache = load_attrs(load)->cache;
    return cache == CACHE_NONE || cache == CACHE_CA;
}

bool pipeline_is_line(const Pipelined *p, const Op *load) {
    const Type *type = op_out(load)->type;
    return !load_attrs(load)->is_volatile && is_cached(load) && type->kind == TYPE_NUMBER &&
           type->dtype != DT_I1 && is_line(type) && !pipeline_may_be_written(p, load);
}

static bool is_candidate(const Pipelined *p, Op *load) {
    return pipeline_is_line(p, load) && is_ahead(p, load);
}

/* Is there anything else to wait for: products, loads of another kind, loads in branches? */
static bool waits_otherwise(const Op *op, const void *user) {
    const Block *body = user;
    bool reads = op_has(op, READS | LREADS) && !op_has(op, STORE | SAYS);
    return op->code == OP_dot || (reads && (op->code != OP_load || op->block != body));
}

static int64_t largest_carried(const Pipelined *p) {
    int64_t largest = 0;
    for (uint32_t i = 1; i < p->body->nargs; i++) {
        const Type *type = p->body->args[i].type;
        if (type_is_tile(type) && type->kind == TYPE_NUMBER && type_numel(type) > largest)
            largest = type_numel(type);
    }
    return largest;
}

/* Is it the value, or a sum, maximum or the like of the value and something else? */
static bool adds_up(const Value *next, const Value *value) {
    const Op *op = next->def;
    return next == value ||
           (op && op_has(op, COMMUTES) && (op_in(op, 0) == value || op_in(op, 1) == value));
}

bool pipeline_is_recurrence(const Pipelined *p) {
    if (!p->writes)
        return false;
    for (uint32_t i = 1; i < p->body->nargs; i++) {
        const Value *value = &p->body->args[i];
        if (type_is_tile(value->type) && value->type->kind == TYPE_NUMBER &&
            dtype_is_float(value->type->dtype) && !adds_up(op_in(p->body->last, i - 1), value))
            return true;
    }
    return false;
}

bool pipeline_has_lines(const Pipelined *p, bool asked) {
    int64_t trips = loop_trip_count(p->loop), bytes = 0, longest = 0;
    block_for_each (op, p->body)
        if (op->code == OP_load && type_is_tile(op_out(op)->type)) {
            int64_t length = type_numel(op_out(op)->type);
            longest = length > longest ? length : longest;
        }
    if (!longest || (trips >= 0 && trips < LEAST_TRIPS) ||
        (!asked && longest >= largest_carried(p) && !pipeline_is_recurrence(p)) ||
        block_any(p->body, waits_otherwise, p->body))
        return false;
    block_for_each (op, p->body) {
        if (op->code != OP_load)
            continue;
        if (!is_candidate(p, op))
            return false;
        bytes += type_bytes(op_out(op)->type);
    }
    return bytes <= MOST_BYTES;
}

/* Numbers */

/* A number as a line of one element. */
static Op *as_line(const Pipelined *p, Op *load) {
    static const int64_t one = 1;
    Ctx *ctx = p->ctx;
    CoalescedShape shape = {
        .rank = 1, .shape = &one, .vector = 1, .num_warps = p->loop->block->func->num_warps};
    const Layout *layout = layout_coalesced(ctx, &shape);
    Builder b = builder_before(load);
    Value *in[3] = {NULL};
    for (uint32_t i = 0; i < load->nin; i++) {
        const Type *type = op_in(load, i)->type;
        in[i] = build_splat(&b, op_in(load, i),
                            type_get(ctx, type->kind, type->dtype, 1, &one, layout));
    }
    Value *line = build_load(&b, in[0], in[1], in[2], load_attrs(load)->cache,
                             load_attrs(load)->evict, false, 1, false, false, false, 0);
    Op *sum = build_reduce(&b, 1, &line, 0, 0);
    Builder region = builder_at_end(sum->regions[0]);
    region.span = load->span;
    build_yield(&region, 1, (Value *const[]){&sum->regions[0]->args[0]});
    rewrite_replace(load, op_out(sum));
    return line->def;
}

/* Conversions */

/* What a conversion has of the value is in the value's own layout. */
static Value *unconverted(Value *value) {
    while (value->def && value->def->code == OP_convert_layout)
        value = op_in(value->def, 0);
    return value;
}

/* Is the value made of lines by a few cheap ops of the loop, or of what is made again? */
static bool is_made_of_lines(const Pipelined *p, Value *value, unsigned *budget, bool *some) {
    value = unconverted(value);
    const Op *op = value->def;
    if (!type_is_tile(value->type) || value_is_recomputable(value, CHEAP_OPS))
        return true;
    if (!op || op->block != p->body || *budget == 0)
        return false;
    if (op->code == OP_load)
        return *some = true;
    --*budget;
    if (!op_is_pure(op) || op->nout != 1 || !op_passes_layouts(op) ||
        op_has(op, TRANSCENDENTAL | COST_SPECIAL))
        return false;
    for (uint32_t i = 0; i < op->nin; i++)
        if (!is_made_of_lines(p, op_in(op, i), budget, some))
            return false;
    return true;
}

static Value *made_in(Ctx *ctx, Value *value, const Layout *layout) {
    value = unconverted(value);
    if (!type_is_tile(value->type) || value->type->layout == layout)
        return value;
    if (value_is_recomputable(value, CHEAP_OPS))
        return value_recompute(value, layout, CHEAP_OPS);
    Op *op = value->def;
    Builder b = builder_after(op);
    const Type *type = type_with_layout(ctx, value->type, layout);
    if (op->code == OP_load) {
        value_for_each_use (use, value)
            if (use->user->code == OP_convert_layout && op_out(use->user)->type == type &&
                use->user->prev == op)
                return op_out(use->user);
        return build_convert_layout(&b, value, type);
    }
    Value *in[OP_MAX_FIXED];
    for (uint32_t i = 0; i < op->nin; i++)
        in[i] = made_in(ctx, op_in(op, i), layout_of_operand(ctx, op, i, layout));
    return rewrite_like(&b, op, op->nin, in, type);
}

static bool layouts_are_known(Ctx *ctx, Value *value, const Layout *layout) {
    value = unconverted(value);
    if (!type_is_tile(value->type) || value_is_recomputable(value, CHEAP_OPS))
        return true;
    const Op *op = value->def;
    for (uint32_t i = 0; layout && op->code != OP_load && i < op->nin; i++)
        if (type_is_tile(op_in(op, i)->type) &&
            !layouts_are_known(ctx, op_in(op, i), layout_of_operand(ctx, op, i, layout)))
            return false;
    return layout;
}

/* A line is read from its ring in any layout: what is made of it by cheap ops is made where it is
 * wanted. */
static void bring_conversions(const Pipelined *p) {
    for (Op *op = p->body->first, *next; op; op = next) {
        next = op->next;
        if (op->code != OP_convert_layout || op_in(op, 0)->def == NULL ||
            op_in(op, 0)->def->code == OP_load || !is_line(op_out(op)->type))
            continue;
        const Layout *layout = op_out(op)->type->layout;
        unsigned budget = MOST_OPS;
        bool some = false;
        if (is_made_of_lines(p, op_in(op, 0), &budget, &some) && some &&
            layouts_are_known(p->ctx, op_in(op, 0), layout))
            rewrite_replace(op, made_in(p->ctx, op_in(op, 0), layout));
    }
}

/* Copies */

static const Layout *wanted_layout(const Op *load) {
    value_for_each_use (use, &load->out[0])
        if (use->user->code == OP_convert_layout)
            return op_out(use->user)->type->layout;
    return op_out(load)->type->layout;
}

/* As few copies as addresses allow, each by one thread. */
static const Layout *layout_of_copies(const Pipelined *p, const Op *load, int width) {
    const Type *type = op_out(load)->type;
    CoalescedShape wanted = {.rank = type->rank,
                             .shape = type->shape,
                             .fastest = longest_dim(type),
                             .vector = width,
                             .num_warps = p->loop->block->func->num_warps};
    return layout_coalesced(p->ctx, &wanted);
}

static bool may_copy(const Op *load) {
    return load->nin < 3 || value_is_positive_zero(op_in(load, 2));
}

static void add_line(Pipelined *p, Op *load, const Facts *facts) {
    const Type *type = op_out(load)->type;
    int bytes = type_element_bytes(type);
    Value *mask = load->nin > 1 ? op_in(load, 1) : NULL;
    int width = facts_access_width(facts, op_in(load, 0), mask, longest_dim(type));
    Staged staged = {.load = load, .means = BY_REGISTERS, .copied = type->layout};
    if (may_copy(load) && width * bytes >= 4) {
        staged.copied = layout_of_copies(p, load, width);
        staged.means = BY_ASYNC_COPY;
    }
    staged.shared =
        layout_shared_exchange(p->ctx, staged.copied, wanted_layout(load), bytes, width);
    if (staged.means == BY_ASYNC_COPY) {
        staged.width = layout_async_width(p->ctx, staged.copied, staged.shared, width);
        if (staged.width * bytes < 4)
            staged =
                (Staged){.load = load, .copied = type->layout, .shared = staged.shared, .width = 0};
    }
    p->async |= staged.width > 0;
    vec_push(p->arena, &p->loads, staged);
    pipeline_add_operands(p, load);
}

void pipeline_add_lines(Pipelined *p) {
    for (Op *op = p->body->first, *next; op; op = next) {
        next = op->next;
        if (op->code == OP_load && !type_is_tile(op_out(op)->type))
            as_line(p, op);
    }
    bring_conversions(p);
    const Facts *facts = facts_compute(p->loop->block->func, p->arena);
    block_for_each (op, p->body)
        if (op->code == OP_load)
            add_line(p, op, facts);
}

/* Beside products: what a loop that stores loads besides its operands. An iteration waits for that
 * too, and of a line or a number there is little to copy. */

static bool is_staged(const Pipelined *p, const Op *load) {
    vec_for_each (staged, &p->loads)
        if (staged->load == load)
            return true;
    return false;
}

/* What cp.async cannot copy would wait in a register: it stays where it is. */
static bool is_beside(const Pipelined *p, Op *op) {
    return op->code == OP_load && type_element_bytes(op_out(op)->type) >= 4 && may_copy(op) &&
           !is_staged(p, op) && !ptr_set_has(&p->slice, op) && is_candidate(p, op);
}

int64_t pipeline_bytes_beside(const Pipelined *p) {
    int64_t bytes = 0;
    block_for_each (op, p->body) {
        if (op->code == OP_dot && dot_attrs(op)->unit == UNIT_WGMMA)
            return 0;
        if (is_beside(p, op))
            bytes += type_bytes(op_out(op)->type);
    }
    return bytes <= MOST_BYTES ? bytes : 0;
}

void pipeline_add_beside(Pipelined *p) {
    for (Op *op = p->body->first, *next; op; op = next) {
        next = op->next;
        if (is_beside(p, op) && !type_is_tile(op_out(op)->type))
            as_line(p, op);
    }
    const Facts *facts = facts_compute(p->loop->block->func, p->arena);
    block_for_each (op, p->body)
        if (is_beside(p, op))
            add_line(p, op, facts);
}
