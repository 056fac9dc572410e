/* stage-shared, choices by index: what is chosen from lies row by row in a buffer, from which each
 * thread loads what its indices say.
 *
 *     for ..                                          %s = local_alloc : buffer<64x32xf32>
 *         %y = gather %x, %i {axis = 0}      ->       local_store %x, %s
 *                                                     for ..
 *                                                         %y = local_gather %s, %i {axis = 0}
 *
 * It is stored once for all iterations of the loops that take it from outside, and for all choices
 * from it behind that. A histogram is counted where its elements say, by additions to shared
 * memory:
 *
 *     %h = histogram %x     ->     local_store %zeros, %s
 *                                  local_count %x, %s
 *                                  %h = local_load %s */
#include "passes/shared/stage_gathers.h"
#include "passes/rewrite.h"
#include "support/ptrmap.h"

/* A block that is gone through, in the order of the text. */
typedef struct Scope {
    const Block *block;
    PtrMap stored; /* by value: the buffer that holds it for choices from where it was stored on */
    struct Scope *outer;
} Scope;

/* The outermost loop around the op that takes the value from outside; else the op itself. */
static Op *place_to_store(Op *gather) {
    Op *place = gather;
    for (Op *up = gather->block->parent; up; up = up->block->parent)
        if (op_has(up, LOOP) && value_is_outside(op_in(gather, 0), up))
            place = up;
    return place;
}

static Value *store_before(Value *value, Op *place) {
    Builder builder = builder_before(place);
    const Type *type = value->type;
    const Layout *rows = layout_row_major(builder.ctx, type->log2_numel);
    const Type *held =
        type_get(builder.ctx, TYPE_BUFFER, type->dtype, type->rank, type->shape, rows);
    Value *buffer = build_local_alloc(&builder, -1, 0, 0, held);
    build_local_store(&builder, value, buffer, 0);
    return buffer;
}

/* A choice that comes earlier in the text has stored earlier in the block. */
static void stage(Scope *scope, Op *gather) {
    Value *value = op_in(gather, 0);
    Op *place = place_to_store(gather);
    while (scope->block != place->block)
        scope = scope->outer;
    Value *buffer = ptrmap_get(&scope->stored, value);
    if (!buffer) {
        buffer = store_before(value, place);
        ptrmap_set(&scope->stored, value, buffer);
    }
    Builder builder = builder_before(gather);
    const struct gather_attrs *how = gather_attrs(gather);
    rewrite_replace(gather,
                    build_local_gather(&builder, buffer, op_in(gather, 1), how->axis, how->width));
}

/* All threads count in one buffer, which holds zeros before and the result behind it. */
static void stage_counts(Op *histogram) {
    Builder builder = builder_before(histogram);
    const Type *type = op_out(histogram)->type;
    const Type *i32 = type_scalar(builder.ctx, DT_I32);
    Value *zero = build_splat(&builder, rewrite_int(&builder, i32, 0), type);
    Value *buffer = store_before(zero, histogram);
    builder = builder_before(histogram);
    build_local_count(&builder, op_in(histogram, 0), buffer);
    rewrite_replace(histogram, build_local_load(&builder, buffer, NULL, 0, type));
}

static bool stage_in(Arena *arena, Block *block, Scope *outer) {
    Scope scope = {.block = block, .stored = {.arena = arena}, .outer = outer};
    bool changed = false;
    for (Op *op = block->first, *next; op; op = next) {
        next = op->next;
        for (uint32_t i = 0; i < op->nregions; i++)
            changed |= stage_in(arena, op->regions[i], &scope);
        changed |= op->code == OP_gather || op->code == OP_histogram;
        if (op->code == OP_gather)
            stage(&scope, op);
        else if (op->code == OP_histogram)
            stage_counts(op);
    }
    return changed;
}

bool stage_gathers(Func *func) {
    Arena *arena = &func_ctx(func)->scratch;
    ArenaMark mark = arena_mark(arena);
    bool changed = stage_in(arena, func->body, NULL);
    arena_rewind(arena, mark);
    return changed;
}
