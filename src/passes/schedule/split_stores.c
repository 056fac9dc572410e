/* split-stores: what is computed for long before it is stored is computed and stored in halves.
 *
 *     %y = gelu %x : tile<128x128xf32>            %x0 = slice %x {at = 0} : tile<128x64xf32>
 *     %t = truncf %y : tile<128x128xf16>          %y0 = gelu %x0
 *     store_block %p, %t, .., %m, %n       =>     %t0 = truncf %y0
 *                                                 store_block %p, %t0, .., %m, %n
 *                                                 %x1 = slice %x {at = 64} : tile<128x64xf32>
 *                                                 %y1 = gelu %x1
 *                                                 %t1 = truncf %y1
 *                                                 store_block %p, %t1, .., %m, %n + 64
 *
 * The first half is on its way to memory while the second is computed: at the end of a launch, when
 * all CTAs store their last tile, that is time. A half is no narrower than the lines that tensor
 * copies write; each thread has both, in registers of its own.
 *
 * In persistent functions, which hold an SM to the end: others have CTAs that compute while one
 * stores. Needs layouts, stands before stage-blocks. */
#include "passes/layout/tile_parts.h"
#include "passes/passes.h"
#include "passes/rewrite.h"
#include "passes/simplify/simplify.h"
#include "support/vec.h"
#include "target/common.h"

enum { HALVES = 2 };

typedef struct Half {
    Ctx *ctx;
    Op *store;
    ValueMap *parts; /* of tiles so far */
} Half;

static bool is_computed(const Half *half, const Op *op) {
    return op && op->block == half->store->block && op_is_pure(op) &&
           (op_has(op, ELEMENTWISE) || op->code == OP_broadcast || op->code == OP_expand_dims);
}

/* The part of an operand of an elementwise op, a broadcast or expand_dims; size 0: all of it. */
static Part part_of_operand(const Op *op, const Type *operand, Part part) {
    if (op->code == OP_expand_dims) {
        int axis = (int)expand_dims_attrs(op)->axis;
        if (part.dim == axis)
            return (Part){0};
        part.dim -= part.dim > axis;
    }
    return op->code == OP_broadcast && operand->shape[part.dim] == 1 ? (Part){0} : part;
}

static Value *take_part(Half *half, Builder *b, Value *value, Part part);

static Value *compute_part(Half *half, Builder *b, const Op *op, Part part, const Type *type) {
    Value **in = ARENA_ARRAY(&half->ctx->scratch, Value *, op->nin);
    for (uint32_t i = 0; i < op->nin; i++) {
        Part inner = part_of_operand(op, op_in(op, i)->type, part);
        bool is_whole = !type_is_tile(op_in(op, i)->type) || !inner.size;
        in[i] = is_whole ? op_in(op, i) : take_part(half, b, op_in(op, i), inner);
    }
    Builder at = *b;
    at.span = op->span;
    return rewrite_like(&at, op, op->nin, in, type);
}

static Value *take_part(Half *half, Builder *b, Value *value, Part part) {
    Value *known = value_map_get(half->parts, value);
    if (known)
        return known;
    const Type *type = part_type(half->ctx, value->type, part);
    Value *taken = part_of_uniform(b, value, type);
    if (!taken)
        taken = is_computed(half, value->def) ? compute_part(half, b, value->def, part, type)
                                              : part_by_slice(b, value, part);
    value_map_set(half->parts, value, taken);
    return taken;
}

/* Takes what is stored so many instructions that it is worth a barrier more? */
static bool takes_long(const Half *half, const Value *value, unsigned depth) {
    const Op *op = value->def;
    if (!depth || !is_computed(half, op))
        return false;
    if (op_has(op, TRANSCENDENTAL))
        return true;
    for (uint32_t i = 0; i < op->nin; i++)
        if (op_in(op, i)->type->rank == value->type->rank &&
            takes_long(half, op_in(op, i), depth - 1))
            return true;
    return false;
}

static bool is_worth(const Half *half) {
    enum { STEPS = 12 };
    const Op *store = half->store;
    BlockAccess access = block_access(store);
    const Value *value = op_in(store, 1);
    const Type *type = value->type;
    int last = type->rank - 1;
    Part part = {last, 0, type->shape[last] / HALVES};
    const Value *stride = op_in(store, access.strides + (uint32_t)last);
    return part.size * type_element_bytes(type) >= TARGET_LINE_BYTES && value_is_int(stride, 1) &&
           parts_are_in_registers(type, part) && takes_long(half, value, STEPS);
}

static void store_half(Half *half, int64_t number) {
    const Op *store = half->store;
    BlockAccess access = block_access(store);
    const Type *type = op_in(store, 1)->type;
    int last = type->rank - 1;
    int64_t size = type->shape[last] / HALVES;
    uint32_t offset = access.offsets + (uint32_t)last;
    Builder b = builder_before(half->store);
    b.span = store->span;
    half->parts = value_map_create(&half->ctx->scratch);
    Value *value = take_part(half, &b, op_in(store, 1), (Part){last, number * size, size});
    Value *at = op_in(store, offset);
    if (number) {
        Value *distance = rewrite_int(&b, at->type, number * size);
        at = build_addi(&b, at, distance);
    }
    Op *part = op_clone(&b, store, value_map_create(&half->ctx->scratch));
    op_set_operand(part, 1, value);
    op_set_operand(part, offset, at);
}

typedef VEC(Op *) Stores;

static bool collect(Op *op, void *user) {
    Stores *stores = user;
    if (op->code == OP_store_block)
        vec_push(&func_ctx(op->block->func)->scratch, stores, op);
    return true;
}

bool pass_split_stores(Func *func) {
    Ctx *ctx = func_ctx(func);
    if (!func->is_persistent)
        return false;
    ArenaMark mark = arena_mark(&ctx->scratch);
    Stores stores = {0};
    bool changed = false;
    func_walk(func, collect, &stores);
    vec_for_each (store, &stores) {
        Half half = {.ctx = ctx, .store = *store};
        if (!is_worth(&half))
            continue;
        for (int64_t number = 0; number < HALVES; number++)
            store_half(&half, number);
        op_remove(*store);
        changed = true;
    }
    if (changed)
        eliminate_dead(func);
    arena_rewind(&ctx->scratch, mark);
    return changed;
}
