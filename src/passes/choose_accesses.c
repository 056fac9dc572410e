/* choose-layouts, the anchors: coalesced layouts of loads, stores and atomics.
 *
 * Accesses to tiles of one shape along one dimension share a layout, so that what is loaded,
 * combined and stored never changes it: the widest access decides how many elements a thread takes,
 * a narrower type then takes several instructions for them. */
#include "ir/gf2.h"
#include "ir/target.h"
#include "passes/choose_layouts.h"

enum {
    LINE_BYTES = 128,
    MAX_THREAD_BYTES = 64,      /* of consecutive elements of the widest type */
    SHARED_ROUND_TRIP_COST = 32 /* barrier and latency, in instructions */
};

static bool collect_access(Op *op, void *user) {
    Choice *choice = user;
    if (!op_is_access(op) || !type_is_tile(op_in(op, 0)->type))
        return true;
    Access *access = &choice->accesses[choice->naccesses++];
    Value *ptr = op_in(op, 0), *mask = NULL;
    if (op->code == OP_load && op->nin > 1)
        mask = op_in(op, 1);
    else if ((op->code == OP_store || op->code == OP_atomic_rmw) && op->nin > 2)
        mask = op_in(op, 2);
    access->op = op;
    access->type = ptr->type;
    access->fastest = facts_fastest_dim(choice->facts, ptr);
    access->scattered = facts_of(choice->facts, ptr)->contiguous[access->fastest] <= 1;
    access->width = facts_access_width(choice->facts, ptr, mask, access->fastest);
    ptrmap_set(&choice->access_of, op, access);
    return true;
}

static bool count_access(Op *op, void *user) {
    *(uint32_t *)user += op_is_access(op);
    return true;
}

static bool same_dimensions(const Type *a, const Type *b) {
    return a->rank == b->rank && memcmp(a->shape, b->shape, sizeof a->shape) == 0;
}

typedef struct ReducedAxes {
    const Type *type;
    unsigned axes;
} ReducedAxes;

static bool collect_axes(Op *op, void *user) {
    ReducedAxes *reduced = user;
    if (op->code == OP_reduce && same_dimensions(op_in(op, 0)->type, reduced->type))
        reduced->axes |= 1u << op->attrs[0].i;
    return true;
}

static int fastest_bit(const Access *access) {
    uint32_t mask = layout_dim_mask(access->type->rank, access->type->shape, access->fastest);
    return mask ? __builtin_ctz(mask) : 0;
}

/* One layout for all accesses of this shape and dimension. */
static const Layout *group_layout(Choice *choice, const Access *member) {
    int64_t vector = 1, bytes = 1;
    for (uint32_t i = 0; i < choice->naccesses; i++) {
        const Access *other = &choice->accesses[i];
        if (!same_dimensions(member->type, other->type) || member->fastest != other->fastest)
            continue;
        int size = dtype_bytes(other->type->dtype);
        vector = other->width > vector ? other->width : vector;
        bytes = size > bytes ? size : bytes;
    }
    int64_t share = type_numel(member->type) / ((int64_t)TARGET_WARP_SIZE * choice->num_warps);
    while (vector > 1 && (vector > share || vector * bytes > MAX_THREAD_BYTES))
        vector /= 2;
    ReducedAxes reduced = {.type = member->type};
    func_walk(choice->func, collect_axes, &reduced);
    CoalescedShape wanted = {.rank = member->type->rank,
                             .shape = member->type->shape,
                             .fastest = member->fastest,
                             .vector = vector,
                             .num_warps = choice->num_warps,
                             .warps_last = reduced.axes};
    return layout_coalesced(choice->ctx, &wanted);
}

/* An access without an order of its own follows the widest one of its shape. */
static void follow_others(Choice *choice, Access *access) {
    const Access *widest = NULL;
    for (uint32_t i = 0; i < choice->naccesses; i++) {
        const Access *other = &choice->accesses[i];
        if (!other->scattered && same_dimensions(access->type, other->type) &&
            (!widest || other->width > widest->width))
            widest = other;
    }
    if (widest)
        access->fastest = widest->fastest;
}

void choose_accesses(Choice *choice) {
    uint32_t count = 0;
    func_walk(choice->func, count_access, &count);
    choice->accesses = ARENA_ARRAY(choice->arena, Access, count);
    func_walk(choice->func, collect_access, choice);
    for (uint32_t i = 0; i < choice->naccesses; i++)
        if (choice->accesses[i].scattered)
            follow_others(choice, &choice->accesses[i]);
    for (uint32_t i = 0; i < choice->naccesses; i++) {
        Access *access = &choice->accesses[i];
        for (uint32_t j = 0; j < i && !access->coalesced; j++)
            if (same_dimensions(access->type, choice->accesses[j].type) &&
                access->fastest == choice->accesses[j].fastest)
                access->coalesced = choice->accesses[j].coalesced;
        if (!access->coalesced)
            access->coalesced = group_layout(choice, access);
    }
}

int choose_width(const Access *access, const Layout *layout) {
    return layout_run(layout, fastest_bit(access), access->width);
}

static int owned_registers(const Layout *layout) {
    uint32_t registers = (1u << layout->bits[LAYOUT_REG]) - 1;
    return 1 << __builtin_popcount(registers & ~layout_free_bits(layout));
}

/* Instructions of a thread, each weighted by the cache lines that a warp touches with it. */
static int64_t access_cost(const Access *access, const Layout *layout) {
    int64_t instructions = owned_registers(layout) / choose_width(access, layout);
    int64_t along_line = LINE_BYTES / dtype_bytes(access->type->dtype);
    int64_t size = access->type->shape[access->fastest];
    uint32_t in_line = 0;
    if (!access->scattered)
        in_line = (uint32_t)((along_line < size ? along_line : size) - 1) << fastest_bit(access);
    Gf2 lines = {0};
    for (int i = 0; i < layout->bits[LAYOUT_LANE]; i++)
        gf2_insert(&lines, layout_bases(layout, LAYOUT_LANE)[i] & ~in_line, 0);
    return instructions * (1 + (INT64_C(1) << lines.rank));
}

static int64_t conversion_cost(const Layout *dst, const Layout *src) {
    int64_t registers = owned_registers(dst) + owned_registers(src);
    switch (layout_classify(dst, src)) {
    case CONVERT_NOTHING:
    case CONVERT_REGISTERS:
        return 0;
    case CONVERT_SHUFFLES:
        return registers;
    case CONVERT_SHARED:
    case CONVERT_CLUSTER:
        return registers + SHARED_ROUND_TRIP_COST;
    }
    return 0;
}

bool choose_prefers(const Choice *choice, const Access *access, const Layout *other) {
    if (!other || other == access->coalesced)
        return false;
    bool loads = access->op->code == OP_load;
    const Target *target = target_by_capability(choice->func->capability);
    int64_t bytes = type_numel(access->type) * dtype_bytes(access->type->dtype);
    if (target && bytes > target->shared_per_block &&
        layout_classify(access->coalesced, other) >= CONVERT_SHARED)
        return true; /* there is no way from one to the other */
    int64_t conversion = loads ? conversion_cost(other, access->coalesced)
                               : conversion_cost(access->coalesced, other);
    return access_cost(access, other) <= access_cost(access, access->coalesced) + conversion;
}
