/* How each property shows in the IR: see properties.def. */
#include "passes/contract/properties.h"
#include "ir/registers.h"
#include "passes/blocks/block_buffers.h"
#include "passes/blocks/tensor_maps.h"
#include "passes/dots/choose_dots.h"
#include "passes/layout/layout_rules.h"
#include "passes/shared/fence_copies.h"
#include "passes/shared/place_barriers.h"
#include "target/target.h"

const PropertyInfo property_info[PROPERTY_COUNT] = {
#define PROPERTY(id, needed, meaning) {#id, needed, meaning},
#include "passes/contract/properties.def"
};

static bool has_TARGET_GIVEN(Func *func) {
    return target_by_capability(func->capability) != NULL;
}

static bool has_PROGRAMS_IN_ORDER(Func *func) {
    return !func->last_first && !func->in_sections;
}

static bool has_NO_LAYOUTS(Func *func) {
    return !func->has_layouts;
}

static bool breaks_BLOCKS_COPIED(const Op *op) {
    const Func *func = op->block->func;
    return op_is_block_access(op) && (func->no_tensor_copies || tensor_copy_obstacle(op) ||
                                      !target_has(func->capability, FEATURE_TENSOR_COPIES) ||
                                      !block_buffer_type(func_ctx(func), op));
}

static bool breaks_DOTS_CHOSEN(const Op *op) {
    return op->code == OP_dot && !dot_is_chosen(op);
}

static bool has_WARPS_CHOSEN(Func *func) {
    return func->num_warps > 0;
}

static bool has_LAYOUTS(Func *func) {
    return func->has_layouts;
}

static bool breaks_SCANS_IN_ORDER(const Op *op) {
    return op->code == OP_scan && !scan_is_in_order(op);
}

static bool breaks_NO_BLOCKS(const Op *op) {
    return op_is_block_access(op);
}

static bool breaks_DOTS_FED(const Op *op) {
    return op->code == OP_dot && dot_attrs(op)->unit == UNIT_WGMMA;
}

static bool breaks_SCANS_IN_WARPS(const Op *op) {
    return scan_crosses_warps(op);
}

static bool breaks_REDUCES_IN_WARPS(const Op *op) {
    return reduce_crossing_bits(op) != 0;
}

static bool breaks_CONVERTS_IN_WARPS(const Op *op) {
    return convert_crosses_warps(op);
}

static bool breaks_GATHERS_STAGED(const Op *op) {
    return op->code == OP_gather || op->code == OP_histogram;
}

static bool has_REGISTERS_LIMITED(Func *func) {
    int32_t asked = func_asked_registers(func);
    return !asked || func->max_registers == asked;
}

static bool breaks_SHARED_ALLOCATED(const Op *op) {
    return op_has(op, ALLOCATES) && op_offset(op) < 0;
}

static bool has_BARRIERS_PLACED(Func *func) {
    return barriers_are_placed(func);
}

static bool has_COPIES_FENCED(Func *func) {
    return copies_are_fenced(func);
}

typedef struct Sign {
    bool (*has)(Func *func);
    bool (*breaks)(const Op *op);
} Sign;

static const Sign signs[PROPERTY_COUNT] = {
#define FUNC_PROPERTY(id, needed, meaning) {.has = has_##id},
#define OP_PROPERTY(id, needed, meaning) {.breaks = breaks_##id},
#include "passes/contract/properties.def"
};

typedef struct Search {
    const Sign *sign;
    const Op *found;
} Search;

static bool visit(Op *op, void *user) {
    Search *search = user;
    if (search->sign->breaks(op))
        search->found = op;
    return !search->found;
}

int property_missing(Func *func, PropertySet set, const Op **where) {
    *where = NULL;
    for (int i = 0; i < PROPERTY_COUNT; i++) {
        Search search = {.sign = &signs[i]};
        if (!(set >> i & 1))
            continue;
        bool holds = search.sign->has ? search.sign->has(func) : func_walk(func, visit, &search);
        *where = search.found;
        if (!holds)
            return i;
    }
    return PROPERTY_COUNT;
}
