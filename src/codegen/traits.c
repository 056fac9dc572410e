/* What a kernel does, as far as that decides what code is made of all of it. */
#include "codegen/traits.h"

/* What decides whether products are fed: by wgmma, and no thread computes many addresses where they
 * are: of tiles of pointers, and of tiles between registers and buffers. */
typedef struct Accesses {
    Arena *arena;
    VEC(const Op *) loops;  /* whose iterations have products, not only loops in them */
    VEC(const Op *) around; /* loops around those */
    bool products, others;  /* by wgmma, and by what takes its operands through registers */
    bool copies;            /* of blocks, by tensor maps */
    bool many;              /* addresses beside products */
    uint32_t pointers;      /* that a thread accesses memory by, in all */
} Accesses;

static bool note_product(Op *op, void *user) {
    Accesses *accesses = user;
    accesses->others |= op->code == OP_dot;
    accesses->copies |= op_has(op, TENSOR_COPY);
    if (!op_is_wgmma(op))
        return true;
    accesses->products = true;
    const Op *loop = op_loop_around(op);
    if (loop)
        vec_push(accesses->arena, &accesses->loops, loop);
    while (loop && (loop = op_loop_around(loop)))
        vec_push(accesses->arena, &accesses->around, loop);
    return true;
}

static bool is_line(const Type *type) {
    int long_dims = 0;
    for (int dim = 0; dim < type->rank; dim++)
        long_dims += type->shape[dim] > 1;
    return long_dims <= 1;
}

static bool is_among(const Op *const *ops, size_t count, const Op *op) {
    for (size_t i = 0; i < count; i++)
        if (ops[i] == op)
            return true;
    return false;
}

/* The tile whose elements the op's threads address one after the other, in global memory or in a
 * buffer; NULL: none. */
static const Type *addressed_tile(const Op *op) {
    const Type *type = op->nin ? op_in(op, 0)->type : NULL;
    if (op->code == OP_local_load)
        type = op->out[0].type;
    else if (op->code != OP_local_store &&
             !(op_has(op, READS | WRITES) && type && type->kind == TYPE_POINTER))
        return NULL;
    return type_is_tile(type) ? type : NULL;
}

/* Around the loops with products only pointers count that are used one by one: the addresses of
 * others are few, and mostly a number and constants. */
static bool is_beside(const Accesses *accesses, const Op *op) {
    bool in_buffer = op->code == OP_local_load || op->code == OP_local_store;
    bool one_by_one = !in_buffer && op_access_width(op) == 1;
    for (const Op *loop = op_loop_around(op); loop; loop = op_loop_around(loop))
        if (is_among(accesses->loops.data, accesses->loops.len, loop) ||
            (one_by_one && is_among(accesses->around.data, accesses->around.len, loop)))
            return true;
    return false;
}

static bool note_access(Op *op, void *user) {
    Accesses *accesses = user;
    const Type *tile = addressed_tile(op);
    if (!tile)
        return true;
    if (tile->kind == TYPE_POINTER)
        accesses->pointers += (uint32_t)layout_owned_registers(tile->layout) / op_access_width(op);
    if (!is_line(tile))
        accesses->many |= is_beside(accesses, op);
    return true;
}

KernelTraits kernel_traits(Func *func) {
    enum { FEW_POINTERS = 16 };
    Accesses accesses = {.arena = &func_ctx(func)->arena};
    func_walk(func, note_product, &accesses);
    func_walk(func, note_access, &accesses);
    return (KernelTraits){
        .is_swizzled = accesses.products || accesses.copies,
        .products_are_fed = accesses.products && !accesses.others && !accesses.many,
        .has_few_pointers = accesses.pointers <= FEW_POINTERS,
    };
}
