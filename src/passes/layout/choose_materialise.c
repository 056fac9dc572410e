/* choose-layouts, the rewriting: every value gets its type with layout, every operand the layout
 * that its op works in. Values without a home are recomputed next to where they are computed now,
 * once for each layout; values with one are converted right after their definition, so that all
 * users share it. */
#include "passes/layout/choose_layouts.h"
#include "passes/rewrite.h"
#include "support/bits.h"
#include <assert.h>

typedef struct Version {
    struct Version *next;
    const Layout *layout;
    Value *value;
} Version;

/* Versions of a value carry its id, so that any of them leads to all others and to the original. */
typedef struct Rewrite {
    Choice *choice;
    Version **versions; /* by value id */
} Rewrite;

static void set_layout(Ctx *ctx, Value *value, const Layout *layout) {
    value->type = type_with_layout(ctx, value->type, layout);
}

static Value *in_layout(Rewrite *rewrite, Value *value, const Layout *layout);

/* Its first version is the op itself. */
static Value *recomputed(Rewrite *rewrite, Value *value, const Layout *layout) {
    bool first = !value->type->layout;
    Ctx *ctx = rewrite->choice->ctx;
    Op *op = value->def;
    Value *in[OP_MAX_FIXED];
    for (uint32_t i = 0; i < op->nin; i++)
        in[i] = in_layout(rewrite, op_in(op, i), layout_of_operand(ctx, op, i, layout));
    if (!first) {
        Builder builder = builder_before(op);
        Value *copy =
            rewrite_like(&builder, op, op->nin, in, type_with_layout(ctx, value->type, layout));
        copy->name = value->name;
        return copy;
    }
    for (uint32_t i = 0; i < op->nin; i++)
        if (in[i] != op_in(op, i))
            op_set_operand(op, i, in[i]);
    set_layout(ctx, value, layout);
    return value;
}

static Value *converted(Value *value, const Layout *layout) {
    Builder builder;
    if (value->def) {
        builder = builder_after(value->def);
    } else if (value->owner->first) {
        builder = builder_before(value->owner->first);
    } else {
        builder = builder_at_end(value->owner);
    }
    return build_convert_layout(&builder, value,
                                type_with_layout(builder.ctx, value->type, layout));
}

static Value *in_layout(Rewrite *rewrite, Value *value, const Layout *layout) {
    Choice *choice = rewrite->choice;
    if (!type_is_tile(value->type) || value->type->layout == layout)
        return value;
    assert(layout);
    uint32_t id = value->id;
    Value *original = choice->values[id];
    if (original->type->layout == layout)
        return original;
    for (Version *version = rewrite->versions[id]; version; version = version->next)
        if (version->layout == layout)
            return version->value;
    Version *version = ARENA_NEW(choice->arena, Version);
    version->layout = layout;
    version->value = choice->origin[id] == ORIGIN_RECOMPUTED ? recomputed(rewrite, original, layout)
                                                             : converted(original, layout);
    version->value->id = id;
    version->next = rewrite->versions[id];
    rewrite->versions[id] = version;
    return version->value;
}

static void set_operand(Rewrite *rewrite, Op *op, uint32_t index, const Layout *layout) {
    Value *value = in_layout(rewrite, op_in(op, index), layout);
    if (value != op_in(op, index))
        op_set_operand(op, index, value);
}

static void set_access_width(Choice *choice, Op *op, const Layout *layout) {
    const Access *access = choose_access(choice, op);
    int width = choose_width(access, layout);
    if (width > 1 && op_has_attr(op, ATTR_NAME_width))
        op_set_width(op, width);
}

/* Elements of a row that one index is for, in registers that follow each other. */
static int gathered_width(const Choice *choice, const Op *op) {
    enum { ACCESS_BYTES = 16 };
    const Type *type = op_out(op)->type;
    int last = type->rank - 1;
    if (gather_attrs(op)->axis == last)
        return 1;
    int64_t limit = ACCESS_BYTES / type_element_bytes(type);
    int64_t equal = facts_of(choice->facts, op_in(op, 1))->constant[last];
    return layout_run(type->layout, 0, (int)min_i64(limit, equal));
}

/* Halves that are scalars are in every thread. */
static const Layout *result_layout(Ctx *ctx, const Op *op, int num_warps) {
    const Type *type = op->out[0].type;
    return type->rank ? type->layout
                      : layout_replicated(ctx, 0, __builtin_ctz((unsigned)num_warps));
}

/* The op's operands in the layouts it works in. */
static void rewrite_operands(Rewrite *rewrite, Op *op) {
    Choice *choice = rewrite->choice;
    Ctx *ctx = choice->ctx;
    bool same = choose_access(choice, op) || op_has(op, COMBINES);
    const Layout *working = same ? choose_working_layout(choice, op) : NULL;
    if (choose_access(choice, op))
        set_access_width(choice, op, working);
    if (op->code == OP_gather && gathered_width(choice, op) > 1)
        op_set_width(op, gathered_width(choice, op));
    for (uint32_t i = 0; i < op->nin; i++) {
        Value *value = op_in(op, i);
        if (!type_is_tile(value->type))
            continue;
        const Layout *layout = working;
        if (op->code == OP_dot) {
            const Layout *acc = op_out(op)->type->layout;
            layout = i == 2 ? acc : layout_of_dot_operand(ctx, op, acc, (int)i);
        } else if (op->code == OP_gather && i == 1) {
            layout = op_out(op)->type->layout;
        } else if (op_passes_layouts(op)) {
            layout = layout_of_operand(ctx, op, i, result_layout(ctx, op, choice->num_warps));
        } else if (!same) {
            layout = value->type->layout ? value->type->layout
                                         : layout_default(ctx, value->type, choice->num_warps);
        }
        set_operand(rewrite, op, i, layout);
    }
}

static void rewrite_block(Rewrite *rewrite, Block *block);

/* Initial values and what regions pass on come in the layouts of the results. */
static void rewrite_control(Rewrite *rewrite, Op *op) {
    uint32_t first = op->code == OP_for ? FOR_FIXED_OPERANDS : 0;
    if (op->code != OP_if)
        for (uint32_t i = 0; i < op->nout; i++)
            set_operand(rewrite, op, first + i, op->out[i].type->layout);
    for (uint32_t r = 0; r < op->nregions; r++) {
        rewrite_block(rewrite, op->regions[r]);
        Op *end = op->regions[r]->last;
        uint32_t passed = end->code == OP_condition;
        for (uint32_t i = 0; i < op->nout; i++)
            set_operand(rewrite, end, passed + i, op->out[i].type->layout);
    }
}

static void rewrite_block(Rewrite *rewrite, Block *block) {
    Choice *choice = rewrite->choice;
    for (Op *op = block->first, *next; op; op = next) {
        next = op->next; /* what is inserted needs no rewriting */
        bool recomputes = op->nout && choice->origin[op->out[0].id] == ORIGIN_RECOMPUTED;
        if (op_is_control(op))
            rewrite_control(rewrite, op);
        else if (!recomputes && !op_has(op, TERMINATOR))
            rewrite_operands(rewrite, op);
    }
}

/* Recomputed ops that nothing asked for. */
static void remove_unasked(Choice *choice) {
    for (uint32_t id = choice->nvalues; id-- > 0;) {
        Value *value = choice->values[id];
        if (value && choice->origin[id] == ORIGIN_RECOMPUTED && !value->type->layout)
            op_remove(value->def);
    }
}

void choose_materialise(Choice *choice) {
    Rewrite rewrite = {choice, ARENA_ARRAY(choice->arena, Version *, choice->nvalues)};
    for (uint32_t id = 0; id < choice->nvalues; id++)
        if (choice->values[id] && choice->origin[id] == ORIGIN_HOME)
            set_layout(choice->ctx, choice->values[id], choice->home[id]);
    rewrite_block(&rewrite, choice->func->body);
    remove_unasked(choice);
}
