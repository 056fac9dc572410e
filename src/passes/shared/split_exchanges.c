/* split-exchanges: tiles that pass through shared memory do so in parts where they do not fit
 * whole.
 *
 *     %s = local_alloc : buffer<65536xi32>      %s = local_alloc : buffer<32768xi32>
 *     local_store %x, %s                        local_store %x, %s
 *     %y = local_load %s                  ->    %y0 = local_load %s, %z
 *                                               local_store %x, %s {at = 32768}
 *                                               %y = local_load %s, %y0 {at = 32768}
 *
 * A part is a power of two of the whole, told from the others by bits of the index. Each bit halves
 * the buffer and repeats the exchange. Where registers hold the bit on both sides, each access is
 * in one part only and parts cost barriers alone; where lanes or warps hold it, those whose
 * elements are not in the part pass by (codegen predicates the access). So bits that registers hold
 * on both sides are taken first, then those that they hold on one; of equal ones the highest, which
 * leaves vectors whole. A bit that is not the highest of its dimension becomes a dimension by a
 * reshape.
 *
 * A load of a part of the buffer (a step of a product) is a load of that part of the buffer's part,
 * which then has room for it; what a tensor copy stores from the buffer is stored by a copy for
 * each part, which waits until the one before has read the buffer.
 *
 * The exchange halved is the largest of those that live where more is alive than fits, until all
 * fits or none of these can be halved: then everything stays, and allocate-shared reports it.
 *
 * Needs layouts and func->capability; runs where no buffer is added any more, before
 * allocate-shared. */
#include "passes/layout/layout_rules.h"
#include "passes/passes.h"
#include "passes/rewrite.h"
#include "passes/shared/allocate_shared.h"
#include "support/vec.h"
#include "target/panels.h"
#include "target/target.h"

enum { LEAST_PART_BITS = 5 }; /* log2 of the elements of a part: one for each lane */

typedef struct Exchange {
    Op *alloc, *store;
    VEC(Op *) loads;
    Op *copy;       /* store_block_from; NULL: loads take what was stored */
    Panels panels;  /* of the buffer, if there is a copy */
    bool whole;     /* all loads are of the whole tile */
    uint32_t parts; /* index bits of the tile that tell parts apart */
    /* While loads are rewritten: the part that the buffer holds, as far as ops of a block say. */
    const Block *held_in;
    uint32_t held;
    Value *tile, *buffer; /* what parts are taken of, and the buffer of a part */
} Exchange;

typedef struct Split {
    Ctx *ctx;
    Func *func;
    Arena *arena;
    VEC(Exchange) exchanges;
} Split;

/* Finding exchanges */

/* Does `op` come after `store` whenever it runs? */
static bool is_behind(const Op *store, Op *op) {
    const Op *place = op_ancestor_in(op, store->block);
    for (const Op *at = store->next; at; at = at->next)
        if (at == place)
            return true;
    return false;
}

static bool add_user(const Split *split, Exchange *e, Op *user) {
    const Type *buffer = op_out(e->alloc)->type;
    switch (user->code) {
    case OP_local_store:
        if (e->store || op_in(user, 0)->type->log2_numel != buffer->log2_numel)
            return false;
        e->store = user;
        return true;
    case OP_local_load:
        vec_push(split->arena, &e->loads, user);
        e->whole &= op_out(user)->type->log2_numel == buffer->log2_numel;
        return user->nin == 1;
    case OP_store_block_from:
        if (e->copy)
            return false;
        e->copy = user;
        return layout_find_panels(split->ctx, buffer, buffer->layout, &e->panels);
    default:
        return false;
    }
}

/* What one local_store fills and loads, or one tensor copy, read. */
static bool find_exchange(const Split *split, Op *alloc, Exchange *e) {
    *e = (Exchange){.alloc = alloc, .whole = true};
    if (alloc->code != OP_local_alloc || local_copies(op_out(alloc)) > 1)
        return false;
    value_for_each_use (use, op_out(alloc))
        if (!add_user(split, e, use->user))
            return false;
    bool found = e->store && (e->copy ? e->loads.len == 0 : e->loads.len > 0);
    for (size_t i = 0; found && i < e->loads.len; i++)
        found = is_behind(e->store, e->loads.data[i]);
    return found && (!e->copy || is_behind(e->store, e->copy));
}

static bool collect(Op *op, void *user) {
    Split *split = user;
    Exchange exchange;
    if (find_exchange(split, op, &exchange))
        vec_push(split->arena, &split->exchanges, exchange);
    return true;
}

/* Parts */

/* The tile of which parts are taken: with dimensions of its own for the bits that tell them apart,
 * where all loads are of the whole. NULL: those are more dimensions than there may be. */
static const Type *view_for(Ctx *ctx, const Exchange *e, const Type *type, uint32_t parts) {
    if (!e->whole || e->copy)
        return type;
    int64_t shape[MAX_RANK];
    int rank = 0;
    for (int bit = type->log2_numel - 1, run; bit >= 0; bit -= run) {
        bool tells = parts >> bit & 1;
        for (run = 1; run <= bit && (parts >> (bit - run) & 1) == tells; run++)
            ;
        if (rank == MAX_RANK)
            return NULL;
        shape[rank++] = INT64_C(1) << run;
    }
    return type_with_shape(ctx, type, rank, shape);
}

/* The shape of the parts of `view`. */
static void part_shape(const Type *view, uint32_t parts, int64_t shape[MAX_RANK]) {
    for (int d = 0; d < view->rank; d++) {
        uint32_t mask = layout_dim_mask(view->rank, view->shape, d) & parts;
        shape[d] = view->shape[d] >> __builtin_popcount(mask);
    }
}

/* Are these the highest bits of dimensions, and is a part as large as each load along them? */
static bool holds_loads(const Exchange *e, const Type *tile, uint32_t parts) {
    int64_t shape[MAX_RANK];
    part_shape(tile, parts, shape);
    if (layout_part_mask(tile->rank, shape, tile->shape) != parts)
        return false;
    vec_for_each (load, &e->loads) {
        const Type *loaded = op_out(*load)->type;
        for (int d = 0; d < tile->rank; d++)
            if (loaded->log2_numel < tile->log2_numel && loaded->shape[d] > shape[d])
                return false;
    }
    return true;
}

static bool copies_parts(Ctx *ctx, const Exchange *e, uint32_t parts) {
    const Type *buffer = op_out(e->alloc)->type;
    int64_t shape[MAX_RANK];
    part_shape(buffer, parts, shape);
    Panels panels;
    Boxes boxes;
    const Type *part = type_get(ctx, TYPE_BUFFER, buffer->dtype, buffer->rank, shape, NULL);
    return panels_for(part, e->panels.line, &panels) && boxes_of(part, panels, &boxes);
}

static bool may_split(Ctx *ctx, const Exchange *e, uint32_t parts) {
    const Type *tile = op_in(e->store, 0)->type;
    if (tile->log2_numel - __builtin_popcount(parts) < LEAST_PART_BITS)
        return false;
    if (e->copy)
        return holds_loads(e, tile, parts) && copies_parts(ctx, e, parts);
    return e->whole ? view_for(ctx, e, tile, parts) != NULL : holds_loads(e, tile, parts);
}

static bool threads_hold(const Layout *layout, uint32_t bits) {
    for (int i = layout->bits[LAYOUT_REG]; i < layout_in_bits(layout); i++)
        if (layout->basis[i] & bits)
            return true;
    return false;
}

/* Sides of the exchange on which lanes or warps hold the bit. */
static int sides_by_threads(const Exchange *e, uint32_t bit) {
    int sides = threads_hold(op_in(e->store, 0)->type->layout, bit);
    bool loaded = false;
    for (size_t i = 0; e->whole && i < e->loads.len; i++)
        loaded |= threads_hold(op_out(e->loads.data[i])->type->layout, bit);
    return sides + loaded;
}

static bool halve(Ctx *ctx, Exchange *e) {
    uint32_t best = 0;
    int least = 3;
    for (int bit = op_in(e->store, 0)->type->log2_numel - 1; bit >= 0; bit--) {
        uint32_t one = 1u << bit;
        if (e->parts & one || !may_split(ctx, e, e->parts | one) ||
            sides_by_threads(e, one) >= least)
            continue;
        best = one;
        least = sides_by_threads(e, one);
    }
    e->parts |= best;
    return best != 0;
}

static Exchange *exchange_of(Split *split, const Op *alloc) {
    vec_for_each (exchange, &split->exchanges)
        if (exchange->alloc == alloc)
            return exchange;
    return NULL;
}

/* Halves exchanges until all buffers fit; false: they do not. */
static bool choose_parts(Split *split) {
    int64_t room = func_shared_room(split->func);
    uint32_t count = (uint32_t)split->exchanges.len, largest = 0;
    SharedSize *sizes = ARENA_ARRAY(split->arena, SharedSize, count);
    for (uint32_t i = 0; i < count; i++) {
        const Op *alloc = split->exchanges.data[i].alloc;
        sizes[i] = (SharedSize){.alloc = alloc, .bytes = local_bytes(&alloc->out[0])};
    }
    while (!shared_fits(split->func, room, sizes, count, &largest)) {
        if (largest == count)
            return false;
        if (halve(split->ctx, &split->exchanges.data[largest]))
            sizes[largest].bytes /= 2;
        else
            sizes[largest].is_least = true;
    }
    return true;
}

/* Rewriting */

/* The bits of `number`, from the lowest on, as the bits of the index that tell parts apart. */
static uint32_t part_at(uint32_t parts, uint32_t number) {
    uint32_t at = 0;
    for (; parts; parts &= parts - 1, number >>= 1)
        at |= number & 1 ? parts & -parts : 0;
    return at;
}

static uint32_t without_bits(uint32_t index, uint32_t mask) {
    uint32_t kept = 0, place = 0;
    for (int bit = 0; bit < 32; bit++)
        if (!(mask >> bit & 1))
            kept |= (index >> bit & 1) << place++;
    return kept;
}

/* The layout of the buffer of a part: that which serves the store and the first load best. */
static const Layout *part_layout(Ctx *ctx, const Exchange *e, const Type *part) {
    const Layout *src = layout_drop_bits(ctx, op_in(e->store, 0)->type->layout, e->parts);
    int bytes = type_element_bytes(part);
    if (e->copy) {
        Panels panels;
        panels_for(part, e->panels.line, &panels);
        return layout_panels(ctx, part, panels);
    }
    const Type *loaded = op_out(e->loads.data[0])->type;
    if (e->whole)
        return layout_shared_for(ctx, src, layout_drop_bits(ctx, loaded->layout, e->parts), bytes,
                                 1);
    const Layout *dst =
        layout_of_whole(ctx, loaded->layout, loaded->rank, loaded->shape, part->shape);
    return layout_shared_exchange(ctx, src, dst, bytes, 1);
}

static void shrink_buffer(Split *split, Exchange *e) {
    Ctx *ctx = split->ctx;
    const Type *tile = op_in(e->store, 0)->type, *view = view_for(ctx, e, tile, e->parts);
    int64_t shape[MAX_RANK];
    part_shape(view, e->parts, shape);
    const Type *part = type_get(ctx, TYPE_BUFFER, tile->dtype, view->rank, shape, NULL);
    part = type_with_layout(ctx, part, part_layout(ctx, e, part));
    Builder b = builder_before(e->alloc);
    b.span = e->alloc->span;
    e->buffer = build_local_alloc(&b, -1, 0, 0, part);
    e->buffer->name = op_out(e->alloc)->name;
    Builder at_store = builder_before(e->store);
    at_store.span = e->store->span;
    e->tile = op_in(e->store, 0);
    if (view != tile)
        e->tile = build_reshape(&at_store, e->tile, view);
}

/* Sees to it that the buffer holds the part that begins at element `at`. */
static void fill(Exchange *e, Builder *b, uint32_t at) {
    if (e->held_in == b->block && e->held == at)
        return;
    build_local_store(b, e->tile, e->buffer, at);
    e->held_in = b->block;
    e->held = at;
}

static Value *zero_of(Builder *b, const Type *type) {
    return type_is_float(type) ? build_constant_float(b, 0, type) : build_constant_int(b, 0, type);
}

static void load_parts(const Split *split, Exchange *e, Op *load) {
    const Type *type = op_out(load)->type;
    Builder b = builder_before(load);
    b.span = load->span;
    if (type->log2_numel < op_in(e->store, 0)->type->log2_numel) {
        uint32_t at = (uint32_t)local_load_attrs(load)->at;
        fill(e, &b, at & e->parts);
        rewrite_replace(load,
                        build_local_load(&b, e->buffer, NULL, without_bits(at, e->parts), type));
        return;
    }
    const Type *view = view_for(split->ctx, e, type, e->parts);
    Value *loaded = zero_of(&b, view);
    for (uint32_t n = 0; n < 1u << __builtin_popcount(e->parts); n++) {
        uint32_t at = part_at(e->parts, n);
        fill(e, &b, at);
        loaded = build_local_load(&b, e->buffer, loaded, at, view);
    }
    rewrite_replace(load, view == type ? loaded : build_reshape(&b, loaded, type));
}

/* The copy of the part that begins at element `at`. */
static void copy_part(const Split *split, const Exchange *e, Builder *b, uint32_t at) {
    const Type *tile = op_out(e->alloc)->type;
    BlockAccess access = block_access(e->copy);
    Op *copy = op_clone(b, e->copy, value_map_create(split->arena));
    op_set_operand(copy, 1, e->buffer);
    for (int d = tile->rank - 1; d >= 0; at /= (uint32_t)tile->shape[d--]) {
        int64_t first = at % tile->shape[d];
        uint32_t index = access.offsets + (uint32_t)(access.rank - tile->rank + d);
        Value *offset = op_in(copy, index);
        if (!first)
            continue;
        Builder before = builder_before(copy);
        before.span = b->span;
        Value *distance = rewrite_int(&before, offset->type, first);
        op_set_operand(copy, index, build_addi(&before, offset, distance));
    }
}

static void copy_parts(const Split *split, Exchange *e) {
    Builder b = builder_before(e->copy);
    b.span = e->copy->span;
    for (uint32_t n = 0; n < 1u << __builtin_popcount(e->parts); n++) {
        uint32_t at = part_at(e->parts, n);
        if (n)
            build_store_wait(&b, 0, true);
        fill(e, &b, at);
        copy_part(split, e, &b, at);
    }
    op_remove(e->copy);
}

static void rewrite_block(Split *split, Block *block) {
    for (Op *op = block->first, *next; op; op = next) {
        next = op->next;
        for (uint32_t i = 0; i < op->nregions; i++)
            rewrite_block(split, op->regions[i]);
        Exchange *e = op->code == OP_local_load || op->code == OP_store_block_from
                          ? exchange_of(split, local_alloc_of(op_in(op, op->code != OP_local_load)))
                          : NULL;
        if (!e || !e->parts)
            continue;
        if (e->copy)
            copy_parts(split, e);
        else
            load_parts(split, e, op);
    }
}

static void rewrite(Split *split) {
    vec_for_each (exchange, &split->exchanges)
        if (exchange->parts)
            shrink_buffer(split, exchange);
    rewrite_block(split, split->func->body);
    vec_for_each (exchange, &split->exchanges)
        if (exchange->parts) {
            op_remove(exchange->store);
            op_remove(exchange->alloc);
        }
}

bool pass_split_exchanges(Func *func) {
    Ctx *ctx = func_ctx(func);
    ArenaMark mark = arena_mark(&ctx->scratch);
    Split split = {.ctx = ctx, .func = func, .arena = &ctx->scratch};
    func_walk(func, collect, &split);
    bool changed = false;
    if (split.exchanges.len && choose_parts(&split))
        vec_for_each (exchange, &split.exchanges)
            changed |= exchange->parts != 0;
    if (changed)
        rewrite(&split);
    arena_rewind(&ctx->scratch, mark);
    return changed;
}
