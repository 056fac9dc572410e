/* pipeline-loads: loads that feed dots in a loop are started iterations ahead.
 *
 * Of S stages, iteration i multiplies what was started in iteration i - S + 1. Each load gets a
 * ring of S buffers. What computes its addresses and mask, the slice, is run S - 1 iterations ahead
 * of the rest: before the loop for the first ones, then in the loop on carried values of its own.
 *
 *     for %i = %lo, %hi, %s (%acc = %z) {
 *         %p, %m = f(%i)
 *         %x = load %p, %m
 *         %y = convert_layout %x
 *         %r = dot %y, ..
 * -> (S = 3)
 *     %ring = local_alloc {copies = 3}
 *     async_copy f(%lo) to view 0, where %lo < %hi;           async_commit
 *     async_copy f(%lo + %s) to view 1, where that is < %hi;  async_commit
 *     for %i = %lo, %hi, %s (%acc = %z, %slot = 0) {
 *         async_wait {pending = 1}
 *         %y = local_load (local_view %ring, %slot)
 *         async_copy f(%i + 2 %s), local_view %ring, %slot {ahead = 2}, where that is < %hi
 *         async_commit
 *         %r = dot %y, ..
 *         yield %r, (%slot + 1) mod 3
 *     }
 *     async_wait {pending = 0}
 *
 * The barrier that place-barriers puts behind the first wait shows other threads what landed, and
 * lets what was read one iteration before be overwritten: there is no second one. Past the end of
 * the loop copies bring zeros, which nobody reads, so that a loop of any length is right, one that
 * does not run included; the last wait lets the buffers be used again.
 * Where a loop often does not run, many copies in front of it are in a branch.
 *
 * Blocks of tensors (load_block) come by tensor copies, into rings that lie as the hardware writes
 * them, for mbarriers instead of groups. Past the end nothing is copied and nothing waited for, so
 * that the next slot and the parity of its phase go on where the loop left them when it runs again:
 *
 *     for %i .. (%acc, %slot, %parity) {
 *         mbarrier_wait (local_view %full, %slot), %parity
 *         mbarrier_expect (local_view %full, %slot {ahead = 2}), %on {bytes = ..}
 *         copy_block .. (local_view %ring, %slot {ahead = 2}), (local_view %full, ..), %on
 *         ..
 *         yield .., (%slot + 1) mod 3, %parity ^ (%slot + 1 == 3)
 *     }
 *
 * Each thread that waits sees what landed, and the barrier that place-barriers puts in front of the
 * copies is for the slot that they take. Loops with both kinds of copies wait for both.
 *
 * Where warpgroups multiply (wgmma) the product of an iteration may be under way in the next. What
 * it reads is then overwritten one iteration later: rings have a buffer more, if there is room.
 *
 * What an operand is computed from (quantised weights and their scales, sums of rows) is fetched
 * ahead as well. A line that many threads hold as the tile it is combined with is copied by few:
 * its addresses and masks are computed again, in a layout of which each thread has other elements.
 *
 * What cp.async cannot do goes through registers: elements of less than 4 bytes together, an
 * `other` that is not zero, cache operators. Such a tile is loaded at the top of an iteration and
 * stored at its end, which hides the latency of memory behind one iteration. Where a thread has no
 * registers for that, tiles that join products (biases) stay where they are.
 *
 * A loop that stores and multiplies by mma.sync, and of which an SM holds more CTAs with one buffer
 * a ring than with two, fills each ring anew at the end of the iteration that has read it, and
 * waits where the next one reads first:
 *
 *     for %i = %lo, %hi, %s (%h = %z) {
 *         store .., %h
 *         async_wait {pending = 0}
 *         %y = local_load %ring
 *         %r = dot %y, ..
 *         async_copy f(%i + %s), %ring, where that is < %hi
 *         async_commit
 *         yield %r
 *     }
 *
 * What else such a loop waits for, lines and numbers (decays of a state), comes ahead with its
 * operands (pipeline_lines.c).
 *
 * A loop without products waits for its loads all the same. Where all of them are lines and numbers
 * it has rings for them (pipeline_lines.c), and its copies start at the top of an iteration.
 *
 * Where addresses come from a branch of the body (a flat loop over the tiles of a program and their
 * K, which goes on to the next tile now and then), the branch runs ahead too, for iterations that
 * there are.
 *
 * Needs layouts, and of blocks those that tensor copies take. A loop is left alone where it has an
 * inner loop, stores through an argument that it loads through, writes memory otherwise or meets at
 * barriers, has no constant positive step, or where addresses depend on what it computes; a remark
 * says so, for a loop with an inner one or without such loads if it has num_stages of its own. In
 * a loop that stores nothing waits in registers or comes in pieces of less than 16 bytes, and rings
 * leave an SM half of the CTAs that registers let in (pipeline_fit.c), unless it has num_stages of
 * its own. Products by mma.sync leave a stage's bytes to another CTA where an SM has few warps.
 * Sets the loop's num_stages to 1. */
#include "passes/schedule/pipeline_loads.h"
#include "ir/registers.h"
#include "passes/analysis/pointer_origin.h"
#include "passes/analysis/pressure.h"
#include "passes/blocks/block_buffers.h"
#include "passes/blocks/tensor_maps.h"
#include "passes/layout/layout_rules.h"
#include "passes/passes.h"
#include "passes/rewrite.h"
#include "passes/simplify/simplify.h"

enum {
    MAX_STEP = 1 << 20,
    REACH_BUDGET = 256,
    WIDE_COPY_BYTES = 16, /* of one asynchronous copy, at most */
    LINE_BYTES = 1024     /* of a tile that costs next to nothing to fetch ahead */
};

/* Candidates */

/* The first layout to which a use converts the load; NULL: none does. */
static const Layout *wanted_layout(const Op *load) {
    const Layout *wanted = NULL;
    value_for_each_use (use, &load->out[0])
        if (use->user->code == OP_convert_layout &&
            layout_classify(op_out(use->user)->type->layout, op_out(load)->type->layout) >=
                CONVERT_SHUFFLES)
            wanted = op_out(use->user)->type->layout;
    return wanted;
}

/* Does an operand of a dot come from the value by what computes each element alone, or shapes? A
 * dot that takes what another made counts only if `chained`. */
static bool reaches_operand(const Value *value, bool chained, unsigned *budget) {
    value_for_each_use (use, value) {
        const Op *user = use->user;
        if (user->code == OP_dot && use != &user->in[2])
            return chained || !dot_is_chained(user);
        bool passes =
            op_has(user, ELEMENTWISE) || user->code == OP_convert_layout || op_has(user, CHEAP);
        if (*budget == 0 || !op_is_pure(user) || !passes)
            continue;
        --*budget;
        if (reaches_operand(&user->out[0], chained, budget))
            return true;
    }
    return false;
}

/* A load of what an operand is computed from, such as quantised weights and their scales: it is
 * fetched ahead too, and read from its ring as it would have been loaded. Of what joins the result
 * of another dot before, a line, such as the sums of the rows of scores, but no tile of biases. */
static bool is_ingredient(const Op *op) {
    unsigned budget = REACH_BUDGET;
    if (op->code != OP_load || load_attrs(op)->is_volatile || !type_is_tile(op_out(op)->type) ||
        op_out(op)->type->kind != TYPE_NUMBER || wanted_layout(op))
        return false;
    return reaches_operand(&op->out[0], type_bytes(op_out(op)->type) <= LINE_BYTES, &budget);
}

static bool is_candidate(const Op *op) {
    if (op->code == OP_load_block)
        return !load_block_attrs(op)->is_volatile && value_may_reach_dot(&op->out[0]);
    return op->code == OP_load && !load_attrs(op)->is_volatile && type_is_tile(op_out(op)->type) &&
           op_out(op)->type->kind == TYPE_NUMBER && wanted_layout(op) &&
           value_may_reach_dot(&op->out[0]);
}

/* Copies of the load's tile, in the layout `copied`, that a thread starts. */
static int count_copies(const Op *load, const Layout *copied) {
    return layout_owned_registers(copied) / (int)op_access_width(load);
}

/* The dimension along which a thread has neighbours; -1: none. */
static int dim_of_neighbours(const Type *type) {
    const Layout *layout = type->layout;
    for (int d = 0; layout->bits[LAYOUT_REG] && d < type->rank; d++) {
        uint32_t mask = layout_dim_mask(type->rank, type->shape, d);
        if (mask && layout->basis[0] == (mask & -mask))
            return d;
    }
    return -1;
}

/* Has a thread more neighbours than one copy takes? Each of its copies would then take a part of a
 * sector. What a load leaves of one waits in L1, which copies of 16 bytes pass by. */
static bool leaves_gaps(const Type *type, int dim, int64_t width) {
    int bit = __builtin_ctz(layout_dim_mask(type->rank, type->shape, dim));
    return width * type_element_bytes(type) == WIDE_COPY_BYTES &&
           layout_run(type->layout, bit, (int)(2 * width)) > width;
}

/* The layout of the copies: as the load's, unless it leaves gaps, or for a line whose elements many
 * threads hold, as what combines scores with their row sums asks for it, each by one thread. */
static const Layout *layout_of_copies(Ctx *ctx, const Op *load) {
    const Type *type = op_out(load)->type;
    int64_t width = op_access_width(load);
    int along = 0, neighbours = dim_of_neighbours(type);
    for (int d = 0; d < type->rank; d++)
        along = type->shape[d] > type->shape[along] ? d : along;
    bool is_line = type->shape[along] == type_numel(type);
    bool gaps = neighbours >= 0 && leaves_gaps(type, neighbours, width);
    for (uint32_t i = 0; i < load->nin && i < 2; i++)
        if (!value_is_recomputable(op_in(load, i), CHEAP_OPS))
            return type->layout;
    CoalescedShape wanted = {.rank = type->rank,
                             .shape = type->shape,
                             .fastest = gaps ? neighbours : along,
                             .vector = width,
                             .num_warps = load->block->func->num_warps};
    const Layout *coalesced = layout_coalesced(ctx, &wanted);
    int more = count_copies(load, coalesced) - count_copies(load, type->layout);
    return (is_line && more < 0) || (gaps && more <= 0) ? coalesced : type->layout;
}

/* Elements that one asynchronous copy takes; 0 and why there can be none. */
static int copy_width(Ctx *ctx, const Staged *staged, const char **why) {
    const Op *load = staged->load;
    int bytes = type_element_bytes(op_out(load)->type);
    if (load->nin > 2 && !value_is_positive_zero(op_in(load, 2))) {
        *why = "its `other` is not zero";
        return 0;
    }
    CacheModifier cache = load_attrs(load)->cache;
    if (cache != CACHE_NONE && cache != CACHE_CA && cache != CACHE_CG) {
        *why = "it has a cache modifier";
        return 0;
    }
    int width = layout_async_width(ctx, staged->copied, staged->shared, (int)op_access_width(load));
    *why = "fewer than 4 bytes are known to be consecutive and aligned";
    int least = 4;
    if (cache == CACHE_CG) {
        /* Smaller copies go through the L1 cache. */
        *why = "fewer than the 16 bytes that can pass by the L1 cache are known to be consecutive "
               "and aligned";
        least = 16;
    }
    return width * bytes >= least ? width : 0;
}

static bool joins_product(const Op *op) {
    for (uint32_t i = 0; i < op->nin; i++)
        if (value_comes_from_dot(op_in(op, i)))
            return true;
    return false;
}

/* Is the value an operand of a dot, or what one is computed from, without a product of another? */
static bool is_for_operand(const Value *value, unsigned *budget) {
    value_for_each_use (use, value) {
        const Op *user = use->user;
        if (user->code == OP_dot && use != &user->in[2])
            return true;
        if (*budget == 0 || !op_is_pure(user) || user->nout != 1 || joins_product(user))
            continue;
        --*budget;
        if (is_for_operand(&user->out[0], budget))
            return true;
    }
    return false;
}

/* Elements that are loaded one by one wait in a register each. */
static int64_t registers_of(const Staged *staged) {
    int64_t words = (type_element_bytes(op_out(staged->load)->type) + 3) / 4;
    return layout_owned_registers(staged->copied) * words;
}

/* May the load wait in registers until the iteration ends? An operand may. What joins a product
 * (biases) has the whole product to arrive in, and waits where a thread has registers for it. */
static bool may_wait(const Pipelined *p, const Staged *waiting) {
    Func *func = p->loop->block->func;
    unsigned budget = REACH_BUDGET;
    if (is_for_operand(&waiting->load->out[0], &budget))
        return true;
    int64_t taken = (int64_t)pressure_most_in_thread(func) + RESERVE_COPIES;
    vec_for_each (staged, &p->loads)
        if (staged->means == BY_REGISTERS)
            taken += registers_of(staged);
    return taken + registers_of(waiting) <= func_register_room(func, func->num_warps);
}

/* Memory that the loop writes */

/* Notes through which arguments the block stores. False where it writes otherwise, or meets at
 * barriers. */
static bool note_stores(Pipelined *p, const Block *block) {
    block_for_each (op, block) {
        if (op_has(op, SAYS) || !(op_effects(op) & (WRITES | SYNC)))
            continue;
        if (op->code == OP_if && p->branches) {
            if (!note_stores(p, op->regions[0]) || !note_stores(p, op->regions[1]))
                return false;
            continue;
        }
        const Value *origin = op_only_writes(op) ? pointer_origin(op_in(op, 0)) : NULL;
        if (!origin)
            return false;
        ptr_set_add(&p->written, origin);
        p->writes = true;
    }
    return true;
}

/* Choice */

static bool refuse(Ctx *ctx, Op *loop, const char *why) {
    ctx_diag(ctx, loop->span, loop_not_pipelined, why);
    for_attrs(loop)->num_stages = 1;
    return true;
}

/* Is all that becomes of the load an operand of warpgroups? The last one, of several. */
static bool only_multiplied(const Op *load, DotOperand *operand) {
    value_for_each_use (use, &load->out[0]) {
        const Op *convert = use->user;
        if (convert->code != OP_convert_layout || value_unused(&convert->out[0]))
            return false;
        value_for_each_use (inner, &convert->out[0])
            if (!dot_operand_use(inner, operand))
                return false;
    }
    return !value_unused(&load->out[0]);
}

static void add_block(Pipelined *p, Op *load) {
    Staged staged = {
        .load = load, .means = BY_TENSOR_COPY, .buffer = block_buffer_type(p->ctx, load)};
    DotOperand operand;
    p->bytes += block_buffer_bytes(staged.buffer);
    p->in_flight |= only_multiplied(load, &operand) && dot_may_stay_in_flight(operand.dot);
    vec_push(p->arena, &p->loads, staged);
}

/* Beside what the loop stores: not in registers, and not by so many instructions as copies of few
 * bytes are of a tile. */
static bool is_worth_copying(const Staged *staged, const Type *type) {
    int64_t bytes = (int64_t)staged->width * type_element_bytes(type);
    return bytes >= WIDE_COPY_BYTES || (bytes && type_bytes(type) <= LINE_BYTES);
}

/* False: it stays where it is, since nothing is gained. */
static bool add_load(Pipelined *p, Op *load) {
    const Type *type = op_out(load)->type;
    Staged staged = {.load = load, .copied = layout_of_copies(p->ctx, load)};
    DotOperand operand;
    bool carried = false;
    if (only_multiplied(load, &operand)) {
        staged.shared =
            layout_of_operand_buffer(p->ctx, &operand, type, (int)op_access_width(load));
        carried = staged.shared && dot_may_stay_in_flight(operand.dot);
    }
    const Layout *wanted = wanted_layout(load);
    if (!staged.shared)
        staged.shared =
            layout_shared_exchange(p->ctx, staged.copied, wanted ? wanted : type->layout,
                                   type_element_bytes(type), (int)op_access_width(load));
    const char *why = NULL;
    staged.width = copy_width(p->ctx, &staged, &why);
    staged.means = staged.width ? BY_ASYNC_COPY : BY_REGISTERS;
    if (p->keeps_registers && !is_worth_copying(&staged, type))
        return false;
    if (!staged.width && !(wanted && may_wait(p, &staged)))
        return false;
    if (!staged.width)
        ctx_diag(p->ctx, load->span, load_through_registers, why);
    p->async |= staged.width > 0;
    p->in_flight |= carried && staged.width > 0;
    vec_push(p->arena, &p->loads, staged);
    return true;
}

/* Ingredients join where nothing stands against it: their own addresses, those of others. */
static void add_ingredients(Pipelined *p) {
    block_for_each (op, p->body) {
        if (!is_ingredient(op) || ptr_set_has(&p->slice, op) || pipeline_may_be_written(p, op))
            continue;
        Pipelined alone = {.ctx = p->ctx,
                           .arena = p->arena,
                           .loop = p->loop,
                           .body = p->body,
                           .written = p->written,
                           .writes = p->writes,
                           .asked = p->asked,
                           .branches = p->branches,
                           .keeps_registers = p->keeps_registers};
        alone.slice.arena = p->arena;
        bool apart = pipeline_add_operands(&alone, op);
        vec_for_each (staged, &p->loads)
            apart &= !ptr_set_has(&alone.slice, staged->load);
        /* What `alone` can compute ahead `p` can. */
        if (apart && add_load(p, op))
            pipeline_add_operands(p, op);
    }
}

typedef enum Planned { PLAN_NONE, PLAN_REFUSED, PLAN_READY } Planned;

static Planned refused(bool changed) {
    return changed ? PLAN_REFUSED : PLAN_NONE;
}

/* A loop without products, whose loads may be lines. Who did not ask for stages is told nothing. */
static Planned plan_lines(Pipelined *p, bool asked) {
    bool steps =
        value_int_constant(op_in(p->loop, 2), &p->step) && p->step > 0 && p->step <= MAX_STEP;
    bool ready = steps && note_stores(p, p->body);
    bool changed = ready && pipeline_is_recurrence(p) && pipeline_flatten_branches(p);
    if (!ready || !pipeline_has_lines(p, asked))
        return refused((asked && refuse(p->ctx, p->loop,
                                        "none of them feeds a dot, and not all are lines of "
                                        "addresses that are known ahead")) ||
                       changed);
    p->lines = true;
    pipeline_add_lines(p);
    return PLAN_READY;
}

static bool block_stores(const Block *block) {
    block_for_each (op, block)
        if (op_only_writes(op))
            return true;
    return false;
}

/* Collects the loads and what they need. Where all operands are computed from what is loaded a loop
 * that stores nothing stays as it is: its loads can move up past the work of other iterations. */
static Planned plan_loop(Pipelined *p, Op *loop) {
    const Func *func = loop->block->func;
    Ctx *ctx = func_ctx(func);
    *p = (Pipelined){.ctx = ctx, .arena = &ctx->scratch, .loop = loop, .body = loop->regions[0]};
    p->last = loop;
    int64_t asked = for_attrs(loop)->num_stages;
    p->asked = asked != 0;
    p->stages = (int)(asked ? asked : func->num_stages);
    p->stages = p->stages < PIPELINE_MOST_STAGES ? p->stages : PIPELINE_MOST_STAGES;
    p->slice.arena = p->written.arena = p->arena;
    bool any = false, computed = false, inner = block_has_loop(p->body);
    block_for_each (op, p->body) {
        if (is_candidate(op))
            any = true;
        else if (is_ingredient(op))
            computed = true;
    }
    p->computed = !any && computed && block_stores(p->body);
    any |= p->computed;
    if (p->stages < PIPELINE_LEAST_STAGES)
        return PLAN_NONE;
    if (!any && !inner)
        return plan_lines(p, asked != 0);
    if (inner)
        return refused(asked && refuse(ctx, loop, "it has an inner loop"));
    if (asked > PIPELINE_MOST_STAGES)
        ctx_diag(ctx, loop->span, too_many_stages, (long long)asked, PIPELINE_MOST_STAGES);
    if (!value_int_constant(op_in(loop, 2), &p->step) || p->step <= 0 || p->step > MAX_STEP)
        return refused(refuse(ctx, loop, "its step is not a positive constant"));
    p->branches = true;
    if (!note_stores(p, p->body))
        return refused(refuse(ctx, loop, "it writes memory that the loads may read"));
    /* What a store takes lives beside what waits in registers: registers for all of it are the
     * program's choice. */
    p->keeps_registers = p->writes && !asked;
    block_for_each (op, p->body) {
        if (!is_candidate(op))
            continue;
        if (pipeline_may_be_written(p, op))
            return refused(refuse(ctx, loop, "it writes memory that the loads may read"));
        if (!pipeline_add_operands(p, op))
            return refused(refuse(ctx, loop, "an address depends on what the loop computes"));
        if (op->code == OP_load_block)
            add_block(p, op);
        else
            add_load(p, op);
    }
    /* A load that others need for their addresses stays one of them. */
    vec_for_each (staged, &p->loads)
        if (ptr_set_has(&p->slice, staged->load))
            return refused(refuse(ctx, loop, "an operand of a dot is also used for addresses"));
    add_ingredients(p);
    if (p->keeps_registers && !p->loads.len)
        return refused(refuse(ctx, loop,
                              "it stores, has no num_stages of its own, and what it loads would "
                              "come in small pieces"));
    return PLAN_READY;
}

/* The plan of the next loop to begin with where the last one of the chain from `p` on does not go
 * on: NULL where there is none. */
static Pipelined *extend_chain(Pipelined *p) {
    Pipelined *last = p;
    for (Op *loop; (loop = pipeline_next_loop(p, last)); last = last->next) {
        Pipelined *next = ARENA_NEW(p->arena, Pipelined);
        if (plan_loop(next, loop) != PLAN_READY)
            return NULL;
        if (!pipeline_goes_on(last, next))
            return next;
        last->next = next;
    }
    return NULL;
}

/* What the first loop tells for the others. */
static void join_chain(Pipelined *p) {
    for (const Pipelined *next = p->next; next; next = next->next) {
        p->stages = p->stages > next->stages ? p->stages : next->stages;
        p->in_flight |= next->in_flight;
        p->last = next->loop;
    }
    for (Pipelined *next = p->next; next; next = next->next)
        next->last = p->last;
}

static void finish(Pipelined *p) {
    join_chain(p);
    if (p->keeps_registers && p->async && !p->bytes && !p->next)
        p->beside = pipeline_bytes_beside(p);
    if (pipeline_fit_stages(p)) {
        if (p->beside)
            pipeline_add_beside(p);
        for (const Pipelined *one = p; one; one = one->next)
            pipeline_take_apart(one);
        pipeline_rewrite(p);
        return;
    }
    for (; p; p = p->next)
        for_attrs(p->loop)->num_stages = 1;
}

static bool pipeline_loop(Op *loop, void *user) {
    Arena *arena = &func_ctx(loop->block->func)->scratch;
    ArenaMark mark = arena_mark(arena);
    Pipelined *p = ARENA_NEW(arena, Pipelined);
    Planned planned = plan_loop(p, loop);
    while (planned == PLAN_READY && p) {
        Pipelined *next = extend_chain(p);
        finish(p);
        p = next;
    }
    arena_rewind(arena, mark);
    return planned != PLAN_NONE;
}

bool pass_pipeline_loads(Func *func) {
    bool changed = loops_inside_out(func->body, pipeline_loop, NULL);
    if (changed)
        eliminate_dead(func);
    return changed;
}
