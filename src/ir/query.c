/* Questions about IR: constants, numbering, ancestry, effects, walking. */
#include "ir/build.h"
#include "target/target.h"

/* The op that makes the elements, past ops that only take or rearrange some of equal ones. */
static const Op *uniform_source(const Value *value) {
    const Op *op = value->def;
    while (op && op_has(op, MOVES) && op->nin == 1)
        op = op_in(op, 0)->def;
    return op;
}

bool value_int_constant(const Value *value, int64_t *constant) {
    const Op *op = uniform_source(value);
    if (!op || op->code != OP_constant_int)
        return false;
    *constant = constant_int_attrs(op)->value;
    return true;
}

bool value_float_constant(const Value *value, double *constant) {
    const Op *op = uniform_source(value);
    if (!op || op->code != OP_constant_float)
        return false;
    *constant = constant_float_attrs(op)->value;
    return true;
}

int32_t func_shared_room(const Func *func) {
    const Target *target = target_by_capability(func->capability);
    int32_t room = target ? target->shared_per_block : INT32_MAX;
    return func->max_shared > 0 && func->max_shared < room ? func->max_shared : room;
}

static uint32_t number_block(Block *block, uint32_t next) {
    for (uint32_t i = 0; i < block->nargs; i++)
        block->args[i].id = next++;
    block_for_each (op, block) {
        for (uint32_t i = 0; i < op->nout; i++)
            op->out[i].id = next++;
        for (uint32_t i = 0; i < op->nregions; i++)
            next = number_block(op->regions[i], next);
    }
    return next;
}

uint32_t func_number(Func *func) {
    return number_block(func->body, 0);
}

Op *op_ancestor_in(Op *op, const Block *block) {
    while (op && op->block != block)
        op = op->block->parent;
    return op;
}

Op *func_producer(const Func *func) {
    block_for_each (op, func->body)
        if (op->code == OP_producer)
            return op;
    return NULL;
}

void func_plain_abi(Func *func) {
    func->plain_abi = true;
    func->no_tensor_copies = true;
    func->no_persistence = true;
}

uint32_t op_effects(const Op *op) {
    uint32_t effects = op_info[op->code].traits & (READS | WRITES | LREADS | LWRITES | SYNC);
    if (op_is_volatile(op))
        effects |= SYNC;
    for (uint32_t i = 0; i < op->nregions; i++)
        block_for_each (inner, op->regions[i])
            effects |= op_effects(inner);
    return effects;
}

bool op_only_writes(const Op *op) {
    return op_has(op, STORE) || (op_has(op, ATOMIC) && (!op->nout || value_unused(op_out(op))));
}

bool op_acquires(const Op *op) {
    if (op_is_volatile(op) || op_is_unseen(op))
        return true;
    if (!op_has(op, ATOMIC) || op_has(op, BLOCK) || value_unused(op_out(op)))
        return false;
    MemorySemantic sem = op_sem(op);
    return (sem == SEM_ACQUIRE || sem == SEM_ACQ_REL) && op_scope(op) != SCOPE_CTA;
}

Op *op_loop_around(const Op *op) {
    Op *parent = op->block->parent;
    while (parent && !op_has(parent, LOOP))
        parent = parent->block->parent;
    return parent;
}

Value *loop_first_index(const Op *loop) {
    const Op *begin = op_in(loop, 0)->def, *end = op_in(loop, 1)->def;
    if (!begin || begin->code != OP_select)
        return op_in(loop, 0);
    bool is_over = op_in(begin, 1) == op_in(loop, 1);
    is_over |= end && end->code == OP_select && op_in(end, 0) == op_in(begin, 0) &&
               op_in(end, 1) == op_in(begin, 1);
    return is_over ? op_in(begin, 2) : op_in(loop, 0);
}

Value *op_mask(const Op *op) {
    for (uint32_t i = 0; i < op->nin && i < OP_MAX_FIXED; i++) {
        const char *name = op_info[op->code].operand_names[i];
        if (name && strcmp(name, "mask") == 0)
            return op_in(op, i);
    }
    return NULL;
}

bool op_rearranges(const Op *op) {
    return op_has(op, MOVES) && op->nin == 1 && op->nout == 1 &&
           type_numel(op_in(op, 0)->type) == type_numel(op_out(op)->type);
}

bool op_is_nested_address(const Op *op) {
    if (op->code != OP_addptr || !type_is_tile(op_out(op)->type))
        return false;
    const Op *loop = op_loop_around(op), *few = op_in(op, 0)->def;
    if (!loop || !(op_flags(loop) & LOOP_NESTED))
        return false;
    few = few && few->code == OP_broadcast ? op_in(few, 0)->def : NULL;
    return few && few->code == OP_addptr;
}

uint32_t op_access_width(const Op *op) {
    int64_t width = op_width(op);
    return width > 1 ? (uint32_t)width : 1;
}

bool atomic_takes_vectors(const Op *op) {
    DType dtype = op_in(op, 0)->type->dtype;
    return op->code == OP_atomic_rmw && atomic_rmw_attrs(op)->kind == RMW_FADD &&
           (dtype == DT_F32 || dtype == DT_F16 || dtype == DT_BF16);
}

static bool walk_block(Block *block, OpVisitor *visit, void *user) {
    block_for_each (op, block) {
        if (!visit(op, user))
            return false;
        for (uint32_t i = 0; i < op->nregions; i++)
            if (!walk_block(op->regions[i], visit, user))
                return false;
    }
    return true;
}

bool func_walk(Func *func, OpVisitor *visit, void *user) {
    return walk_block(func->body, visit, user);
}

const Op *local_alloc_of(const Value *buffer) {
    const Op *op = buffer->def;
    return op->code == OP_local_view ? op_in(op, 0)->def : op;
}

int64_t local_copies(const Value *buffer) {
    int64_t copies = op_copies(local_alloc_of(buffer));
    return copies > 1 ? copies : 1;
}

int64_t local_bytes(const Value *buffer) {
    return type_bytes(buffer->type);
}

int64_t local_stride(const Value *buffer) {
    const Op *alloc = local_alloc_of(buffer);
    int64_t stated = alloc->code == OP_local_alloc ? local_alloc_attrs(alloc)->stride : 0;
    return stated ? stated : local_bytes(buffer);
}

int64_t local_extent(const Value *buffer) {
    return (local_copies(buffer) - 1) * local_stride(buffer) + local_bytes(buffer);
}

int64_t mbarrier_arrivals(const Value *barrier) {
    return mbarrier_alloc_attrs(local_alloc_of(barrier))->arrivals;
}

const Type *reduce_result_type(Ctx *ctx, const Type *type, int axis, int64_t keep) {
    int64_t shape[MAX_RANK];
    int rank = 0;
    for (int i = 0; i < type->rank; i++) {
        if (i != axis)
            shape[rank++] = type->shape[i];
        else if (keep)
            shape[rank++] = (int64_t)1 << __builtin_popcountll((uint64_t)keep);
    }
    const Layout *layout = NULL;
    if (type->layout && rank) {
        uint32_t mask = layout_dim_mask(type->rank, type->shape, axis);
        uint32_t kept = mask ? (uint32_t)keep << __builtin_ctz(mask) : 0;
        layout = layout_drop_bits(ctx, type->layout, mask & ~kept);
    }
    return type_get(ctx, type->kind, type->dtype, rank, shape, layout);
}
