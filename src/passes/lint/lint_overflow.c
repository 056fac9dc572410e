/* Indices of 32 bits that wrap for sizes that are known: sums and products of tl.arange, of indices
 * of loops between constants and of constants, none of them negative, whose largest element does
 * not fit, in an address without a mask.
 *
 *     %i = range {start = 0} : tile<65536xi32>
 *     %at = muli %i, splat 65536           the last elements are 2^32 and more: they wrap
 *
 * All of them grow together, so that the largest is reached. A program's number has no largest that
 * is known. */
#include "passes/lint/lint.h"

typedef unsigned __int128 Wide;

/* Side tables by Value.id. */
typedef struct Sizes {
    const LintInput *input;
    Wide *counts;     /* the largest element plus one; 0: not known to be reached */
    const Op **wraps; /* the op on the way to the value that wraps; NULL: none */
} Sizes;

static bool is_constant(const Value *value, int64_t *constant) {
    return value_int_constant(value, constant) && *constant >= 0;
}

/* Of the index of a loop from a constant to another. */
static Wide count_of_index(const Op *loop) {
    int64_t lo, hi, step;
    if (!is_constant(op_in(loop, 0), &lo) || !is_constant(op_in(loop, 1), &hi) ||
        !is_constant(op_in(loop, 2), &step) || step == 0 || hi <= lo)
        return 0;
    return (Wide)(lo + (hi - 1 - lo) / step * step) + 1;
}

static Wide count_of(const Sizes *sizes, const Op *op) {
    int64_t constant;
    if (is_constant(&op->out[0], &constant))
        return (Wide)constant + 1;
    if (op->code == OP_range)
        return (Wide)(range_attrs(op)->start + op->out[0].type->shape[0]);
    if (op->nin == 0)
        return 0;
    Wide a = sizes->counts[op_in(op, 0)->id];
    if (op->nin == 1) {
        uint32_t moved;
        return lint_move_dims(op, 0, &moved) || op->code == OP_extsi ? a : 0;
    }
    Wide b = sizes->counts[op_in(op, 1)->id];
    if (!a || !b || (op->code != OP_addi && op->code != OP_muli))
        return 0;
    return op->code == OP_addi ? a + b - 1 : (a - 1) * (b - 1) + 1;
}

static void note_op(const Sizes *sizes, const Op *op) {
    for (uint32_t i = 0; i < op->nout; i++)
        for (uint32_t k = 0; k < op->nin && op_is_pure(op); k++)
            if (!sizes->wraps[op->out[i].id])
                sizes->wraps[op->out[i].id] = sizes->wraps[op_in(op, k)->id];
    if (op->nout != 1 || !type_is_int(op->out[0].type))
        return;
    Wide count = count_of(sizes, op), limit = (Wide)INT32_MAX + 1;
    bool is_narrow = op->out[0].type->dtype == DT_I32;
    if (is_narrow && count > limit)
        sizes->wraps[op->out[0].id] = op;
    /* Two factors of 64 bits fit into 128; longer products than that are not followed. */
    sizes->counts[op->out[0].id] = count > (is_narrow ? limit : (Wide)INT64_MAX) ? 0 : count;
}

static void check_access(const Sizes *sizes, const Op *op) {
    const Value *pointer = lint_pointer(op);
    const Op *wraps = pointer && !op_mask(op) ? sizes->wraps[pointer->id] : NULL;
    if (!wraps)
        return;
    Diags *diags = &func_ctx(sizes->input->func)->diags;
    diag(diags, wraps->span, index_wraps);
    diag_note(diags, op->span, "this access takes it");
    diag_hint(diags, "make one of the operands 64 bits wide: .to(tl.int64)");
}

static bool visit(Op *op, void *user) {
    const Sizes *sizes = user;
    note_op(sizes, op);
    if (op->code == OP_for)
        sizes->counts[op->regions[0]->args[0].id] = count_of_index(op);
    check_access(sizes, op);
    return true;
}

void lint_overflow(const LintInput *input) {
    uint32_t count = func_number(input->func) + 1;
    Sizes sizes = {input, ARENA_ARRAY(input->arena, Wide, count),
                   ARENA_ARRAY(input->arena, const Op *, count)};
    func_walk(input->func, visit, &sizes);
}
