/* choose-layouts: what threads hold of tiles that are repeated to those of accesses.
 *
 * A tile that is broadcast along a dimension each warp has for itself where warps lie along that
 * dimension, and each thread as much of it as its registers go along the others. */
#include "passes/layout/choose_layouts.h"
#include "support/bits.h"

/* Is the value made of places alone, which each thread computes for itself? */
static bool is_of_places(const Value *value, int *left) {
    const Op *op = value->def;
    if (!type_is_tile(value->type) || (op && (op->code == OP_range || op_has(op, CONSTANT))))
        return true;
    if (!op || (*left)-- <= 0 || !op_is_pure(op) || !op_passes_layouts(op))
        return op && op->code == OP_splat;
    for (uint32_t i = 0; i < op->nin; i++)
        if (!is_of_places(op_in(op, i), left))
            return false;
    return true;
}

/* What threads hold of tiles that are repeated to those of a group. */
typedef struct Repeated {
    const Choice *choice;
    const Type *type;
    const Layout *layout;
    int64_t vector; /* elements that a thread has together */
    int64_t cost;
} Repeated;

/* The access that loads what the value is made of, element by element; NULL: none does. */
static const Access *loaded_by(const Choice *choice, const Value *value) {
    int left = FOLLOWED_OPS;
    for (const Op *op = value->def; op && left--; op = op_in(op, 0)->def) {
        if (op->code == OP_load)
            return choose_access(choice, op);
        if (!op_is_pure(op) || !op_passes_layouts(op) || !op->nin)
            return NULL;
    }
    return NULL;
}

/* In instructions: places of a row take a few, data those that load it, which wait, and registers
 * meanwhile. Places that follow each other are constants apart. */
static bool count_repeated(Op *op, void *user) {
    enum { PLACE_COST = 3, LOAD_COST = 3 };
    Repeated *repeated = user;
    if (op->code != OP_broadcast || !type_same_shape(op->out[0].type, repeated->type))
        return true;
    const Choice *choice = repeated->choice;
    const Value *value = op_in(op, 0);
    const Layout *layout = layout_of_operand(choice->ctx, op, 0, repeated->layout);
    int64_t registers = layout_owned_registers(layout);
    int left = FOLLOWED_OPS;
    if (!is_of_places(value, &left)) {
        const Access *load = loaded_by(choice, value);
        int64_t width = load ? min_i64(load->width, repeated->vector) : 1;
        repeated->cost += registers + LOAD_COST * registers / width;
        return true;
    }
    const ValueFacts *facts = facts_of(choice->facts, value);
    int64_t equal = 1; /* masks of neighbours are one */
    for (int d = 0; d < value->type->rank; d++) {
        if (value->type->shape[d] > 1 && facts->contiguous[d] >= value->type->shape[d])
            return true;
        equal *= facts->constant[d];
    }
    repeated->cost += PLACE_COST * registers / min_i64(equal, repeated->vector);
    return true;
}

int64_t choose_repeated_cost(const Choice *choice, const Type *type, int64_t vector,
                             const Layout *layout) {
    Repeated repeated = {choice, type, layout, vector, 0};
    func_walk(choice->func, count_repeated, &repeated);
    return repeated.cost;
}
