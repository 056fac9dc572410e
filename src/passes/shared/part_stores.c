/* part-stores: warpgroups store their rows of a tile by themselves.
 *
 * Programs that a CTA goes through one after the other, with a producer that starts their copies,
 * have no barrier left but around what they store: one so that the buffer may be written again, one
 * so that one thread may copy all of it. Nothing else orders the warpgroups, each of which
 * multiplies rows of its own. So each may write, meet and copy alone, and go on with the next
 * program while others are still multiplying for this one:
 *
 *     store_wait {read}                      store_wait {read}
 *     barrier                                barrier {warpgroups}
 *     local_store %c, %buffer          =>    local_store %c, %buffer
 *     barrier {proxy}                        barrier {proxy, warpgroups}
 *     store_block_from %buffer               store_block_from %buffer {warpgroups}
 *
 * It is done for all stores of a function or for none, and where the threads use shared memory for
 * nothing else, write no memory themselves, for which the source may have a barrier of its own, and
 * load nothing through the arguments that are stored through.
 * Parts of a tile that may overlap in memory are ordered by a branch that waits for the first
 * (stage-blocks): there all meet.
 *
 * A pass of its own beside place-barriers: that one adds barriers to what is there and decides
 * nothing about it, this one decides who copies a tile, by the boxes of its tensor map, and asks
 * first which barriers are left. Needs them (place-barriers), and takes back what orders
 * warpgroups. */
#include "passes/analysis/pointer_origin.h"
#include "passes/passes.h"
#include "passes/rewrite.h"
#include "support/vec.h"
#include "target/panels.h"
#include "target/wgmma.h"

typedef struct Parts {
    Ctx *ctx;
    Arena *arena;
    const Block *programs; /* the body of the loop over them */
    int warpgroups_log2;
    VEC(Op *) stores, writes, barriers, orders; /* orders: waits of the branches */
    VEC(Op *) loads;                            /* of threads, from global memory */
} Parts;

/* Warpgroup i holds the i-th of equal parts of the tile's elements, in the order of rows. */
static bool is_parted(const Parts *p, const Layout *layout) {
    int rest = layout->out_bits - p->warpgroups_log2;
    const uint32_t *warps = layout_bases(layout, LAYOUT_WARP);
    int within = 2; /* bits of a warp's number in its warpgroup */
    if (layout->bits[LAYOUT_WARP] != within + p->warpgroups_log2)
        return false;
    for (int i = 0; i < p->warpgroups_log2; i++)
        if (warps[within + i] != 1u << (rest + i))
            return false;
    for (LayoutDim dim = LAYOUT_REG; dim <= LAYOUT_WARP; dim++) {
        int count = dim == LAYOUT_WARP ? within : layout->bits[dim];
        for (int i = 0; i < count; i++)
            if (layout_bases(layout, dim)[i] >> rest)
                return false;
    }
    return true;
}

/* The buffer's rows of a warpgroup are whole boxes of tensor copies. */
static bool has_parts(const Parts *p, const Type *buffer) {
    Panels panels;
    int64_t parts = 1ll << p->warpgroups_log2;
    if (buffer->rank != 2 || buffer->shape[0] % parts ||
        !layout_find_panels(p->ctx, buffer, buffer->layout, &panels))
        return false;
    int64_t rows = buffer->shape[0] / parts;
    return panels.line == 0 ? rows * type_element_bytes(buffer) % panels.span == 0
                            : rows % PANEL_LINES == 0;
}

/* The buffer lives as long as the function, is written by `write` and copied by one store. */
static bool serves_one_store(const Op *write) {
    const Value *buffer = op_in(write, 1);
    unsigned writes = 0, copies = 0, uses = 0;
    value_for_each_use (use, buffer) {
        uses++;
        writes += use->user->code == OP_local_store;
        copies += use->user->code == OP_store_block_from;
    }
    return buffer->def->code == OP_local_alloc && !buffer->def->block->parent && writes == 1 &&
           copies == 1 && uses == 2;
}

/* A branch between two stores of a program waits for the first. */
static bool is_order(const Parts *p, const Op *wait) {
    const Op *branch = wait->block->parent;
    return branch && branch->code == OP_if && branch->block == p->programs;
}

/* Does the op leave warpgroups apart, or can it be made to? */
static bool note_op(Parts *p, Op *op) {
    bool in_programs = op->block == p->programs;
    switch (op->code) {
    case OP_load:
        vec_push(p->arena, &p->loads, op);
        return true;
    case OP_barrier:
        vec_push(p->arena, &p->barriers, op);
        return in_programs;
    case OP_local_store:
        vec_push(p->arena, &p->writes, op);
        return in_programs;
    case OP_store_block_from:
        vec_push(p->arena, &p->stores, op);
        return in_programs;
    case OP_store_wait:
        if (!store_wait_attrs(op)->read)
            vec_push(p->arena, &p->orders, op);
        return store_wait_attrs(op)->read || is_order(p, op);
    case OP_mbarrier_wait:
    case OP_mbarrier_arrive:
        return true;
    default:
        return op_has(op, ACCUMULATES) || op_has(op, SAYS) ||
               !op_has(op, WRITES | LREADS | LWRITES | SYNC);
    }
}

static bool note_block(Parts *p, const Block *block) {
    block_for_each (op, block) {
        if (op->code == OP_producer)
            continue;
        if (!note_op(p, op))
            return false;
        for (uint32_t i = 0; i < op->nregions; i++)
            if (!note_block(p, op->regions[i]))
                return false;
    }
    return true;
}

/* A warpgroup must not store where another has yet to load. */
static bool may_be_loaded(const Parts *p) {
    vec_for_each (load, &p->loads) {
        const Value *origin = pointer_origin(op_in(*load, 0));
        vec_for_each (store, &p->stores)
            if (origins_meet((*load)->block->func, origin, pointer_origin(op_in(*store, 0))))
                return true;
    }
    return false;
}

static bool can_part(const Parts *p) {
    vec_for_each (write, &p->writes)
        if (!serves_one_store(*write) || !is_parted(p, op_in(*write, 0)->type->layout) ||
            !has_parts(p, op_in(*write, 1)->type))
            return false;
    return p->stores.len > 0 && p->stores.len == p->writes.len && !may_be_loaded(p);
}

static void part(const Parts *p) {
    vec_for_each (barrier, &p->barriers)
        barrier_attrs(*barrier)->warpgroups = true;
    vec_for_each (store, &p->stores)
        store_block_from_attrs(*store)->warpgroups = true;
    vec_for_each (wait, &p->orders) {
        Builder b = builder_after(*wait);
        b.span = (*wait)->span;
        build_barrier(&b, false, false);
    }
}

bool pass_part_stores(Func *func) {
    Ctx *ctx = func_ctx(func);
    const Op *loop = func_producer(func) ? loop_over_programs(func) : NULL;
    if (!loop || func->num_warps <= WGMMA_WARPS)
        return false;
    ArenaMark mark = arena_mark(&ctx->scratch);
    Parts p = {.ctx = ctx,
               .arena = &ctx->scratch,
               .programs = loop->regions[0],
               .warpgroups_log2 = __builtin_ctz((unsigned)func->num_warps / WGMMA_WARPS)};
    bool parts = note_block(&p, func->body) && can_part(&p);
    if (parts)
        part(&p);
    arena_rewind(&ctx->scratch, mark);
    return parts;
}
