/* join-wgmma: products of one operand a are started and waited for together.
 *
 *     %s = wgmma %a, %b, %x                 %s, %t = wgmma_joint %a, %b, %c, %x, %y
 *     %t = wgmma %a, %c, %y         ->
 *
 * One by one each would wait for the one before it. Where the buffers of b may lie one behind the
 * other, so that a descriptor covers them (panels along N; lines along K in one panel), they are
 * `adjacent`: one instruction, with the sums' registers in a row, reads a once for all of them.
 * Tiles whose width is no power of two are written as such products.
 *
 * Panels along N are as wide as each tile allows: 128 bytes of 64 columns and more, 64 of 32. Where
 * that is all that keeps them apart and tensor copies alone fill them, all get the narrowest
 * panels:
 *
 *     buffer<64x128xf16, panels of 128 bytes>        buffer<64x128xf16, panels of 64 bytes>
 *     buffer<64x32xf16, panels of 64 bytes>     ->   buffer<64x32xf16, panels of 64 bytes>
 *
 * wgmma reads panels of any width without conflicts; only the copies take more lines, which are two
 * sectors at least. Persistent programs keep their panels: they load one tile while they multiply
 * another, and what lines cost then is more than what the instruction saves.
 *
 * A pass of its own beside feed-wgmma: that one looks at a dot and says where each operand comes
 * from, this one looks at what stands side by side in a block, and at all that reads the buffers
 * which it lays in a row. That is known once every dot is fed. The products move to the last of
 * them, past what neither takes their results nor writes memory. */
#include "passes/passes.h"
#include "passes/rewrite.h"
#include "support/vec.h"
#include "target/panels.h"
#include "target/wgmma.h"

/* Of panels that are narrowed: two sectors of memory. */
enum { LEAST_JOINT_SPAN = 64 };

typedef struct Join {
    Ctx *ctx;
    const Func *func;
    Arena *arena;
    PtrSet joined; /* local_allocs that lie beside another */
} Join;

typedef struct Group {
    Op *ops[MAX_JOINT_PRODUCTS]; /* in the order of the block */
    uint32_t count;
} Group;

/* A product of its own: always computed, and after those before it. */
static bool is_product(const Op *op) {
    return op->code == OP_wgmma && op->nin == 3 && !wgmma_attrs(op)->beside;
}

static bool is_alike(const Op *a, const Op *b) {
    int64_t groups[2][2];
    const Type *x = op_out(a)->type, *y = op_out(b)->type;
    Ctx *ctx = func_ctx(a->block->func);
    return op_in(a, 0) == op_in(b, 0) && wgmma_attrs(a)->transposed == wgmma_attrs(b)->transposed &&
           wgmma_attrs(a)->in_flight == wgmma_attrs(b)->in_flight &&
           wgmma_grouping(ctx, x, groups[0]) && wgmma_grouping(ctx, y, groups[1]) &&
           groups[0][0] == groups[1][0];
}

static bool takes_result_of(const Op *op, const Group *group) {
    for (uint32_t i = 0; i < op->nin; i++)
        for (uint32_t k = 0; k < group->count; k++)
            if (op_in(op, i)->def == group->ops[k])
                return true;
    return false;
}

/* May products move down past the op? */
static bool lets_pass(const Op *op, const Group *group) {
    return !op->nregions && !takes_result_of(op, group) && op->code != OP_wgmma_wait &&
           !op_has(op, WRITES | LWRITES | SYNC);
}

/* The products that can be computed with `first` where the last of them stands. */
static Group group_from(Op *first) {
    Group group = {.ops = {first}, .count = 1};
    int64_t registers = type_registers(op_out(first)->type);
    for (Op *op = first->next; op && lets_pass(op, &group); op = op->next) {
        if (!is_product(op) || !is_alike(first, op))
            continue;
        registers += type_registers(op_out(op)->type);
        if (registers > WGMMA_MAX_REGISTERS || group.count == MAX_JOINT_PRODUCTS)
            break;
        group.ops[group.count++] = op;
    }
    return group;
}

/* Are the buffers each in its own place, and copies of one number? */
static bool may_lie_together(const Join *join, const Group *group) {
    const Value *first = op_in(group->ops[0], 1);
    bool ring = first->def->code == OP_local_view;
    for (uint32_t i = 0; i < group->count; i++) {
        const Value *b = op_in(group->ops[i], 1);
        const Op *alloc = local_alloc_of(b);
        bool view = b->def->code == OP_local_view;
        if (view != ring || local_copies(b) != local_copies(first) ||
            ptr_set_has(&join->joined, alloc) ||
            (view && (op_in(b->def, 1) != op_in(first->def, 1) ||
                      local_view_attrs(b->def)->ahead != local_view_attrs(first->def)->ahead)))
            return false;
        for (uint32_t k = 0; k < i; k++)
            if (local_alloc_of(op_in(group->ops[k], 1)) == alloc)
                return false;
    }
    return true;
}

/* The whole buffer of operand b. */
static Value *buffer_of_b(const Op *wgmma) {
    Value *b = op_in(wgmma, 1);
    return b->def->code == OP_local_view ? op_in(b->def, 0) : b;
}

/* Do copies write the buffer and products read it, and nobody else? */
static bool is_fed_by_copies(const Value *buffer) {
    value_for_each_use (use, buffer) {
        const Op *user = use->user;
        bool takes_panels = user->code == OP_copy_block || op_is_wgmma(user);
        if (user->code == OP_local_view ? !is_fed_by_copies(op_out(user)) : !takes_panels)
            return false;
    }
    return true;
}

/* The types of operands b with panels of one span along N, the narrowest of theirs; of others, the
 * types they have. */
static void types_of_b(const Join *join, const Group *group, int k,
                       const Type *types[MAX_JOINT_PRODUCTS]) {
    Panels lies[MAX_JOINT_PRODUCTS];
    int least = PANEL_MOST_SPAN;
    bool narrows = !join->func->is_persistent;
    for (uint32_t i = 0; i < group->count; i++) {
        types[i] = op_in(group->ops[i], 1)->type;
        narrows = narrows && wgmma_takes_buffer(join->ctx, types[i], &lies[i]) &&
                  lies[i].line != k && is_fed_by_copies(buffer_of_b(group->ops[i]));
        least = narrows && lies[i].span < least ? lies[i].span : least;
    }
    for (uint32_t i = 0; i < group->count && narrows && least >= LEAST_JOINT_SPAN; i++) {
        Panels narrow = {lies[i].line, least};
        types[i] =
            type_with_layout(join->ctx, types[i], layout_panels(join->ctx, types[i], narrow));
    }
}

static void set_type(Value *buffer, const Type *type) {
    buffer->type = type;
    value_for_each_use (use, buffer)
        if (use->user->code == OP_local_view)
            set_type(op_out(use->user), type);
}

static bool is_one_instruction(Join *join, const Group *group) {
    const Type *b[MAX_JOINT_PRODUCTS], *acc[MAX_JOINT_PRODUCTS];
    int k = (int)(wgmma_attrs(group->ops[0])->transposed >> 1 & 1);
    types_of_b(join, group, k, b);
    for (uint32_t i = 0; i < group->count; i++)
        acc[i] = op_out(group->ops[i])->type;
    if (!may_lie_together(join, group) || !wgmma_joins(join->ctx, group->count, b, acc, k))
        return false;
    for (uint32_t i = 0; i < group->count; i++) {
        Value *buffer = buffer_of_b(group->ops[i]);
        ptr_set_add(&join->joined, buffer->def);
        set_type(buffer, b[i]);
    }
    return true;
}

/* codegen says of the first what it became. */
static void say(Ctx *ctx, const Group *group, bool adjacent) {
    Span first = group->ops[0]->span;
    const Source *source = source_get(&ctx->sources, first.file);
    if (!source)
        return;
    unsigned line = source_locate(source, first.lo).line;
    for (uint32_t i = 1; i < group->count; i++)
        ctx_diag(ctx, group->ops[i]->span, dot_joined, line,
                 adjacent ? "one instruction reads operand a once" : "they are started together");
}

static void form(Join *join, const Group *group) {
    Op *last = group->ops[group->count - 1];
    Builder b = builder_before(last);
    b.span = group->ops[0]->span;
    Value *in[1 + 2 * MAX_JOINT_PRODUCTS] = {op_in(last, 0)};
    const Type *types[MAX_JOINT_PRODUCTS];
    for (uint32_t i = 0; i < group->count; i++) {
        in[1 + i] = op_in(group->ops[i], 1);
        in[1 + group->count + i] = op_in(group->ops[i], 2);
        types[i] = op_out(group->ops[i])->type;
    }
    bool adjacent = is_one_instruction(join, group);
    say(join->ctx, group, adjacent);
    Op *joint = build_wgmma_joint(&b, 1 + 2 * group->count, in, wgmma_attrs(last)->transposed,
                                  wgmma_attrs(last)->in_flight, adjacent, group->count, types);
    for (uint32_t i = 0; i < group->count; i++)
        rewrite_replace(group->ops[i], &joint->out[i]);
}

static bool visit_block(Join *join, Block *block) {
    bool changed = false;
    for (Op *op = block->first, *next; op; op = next) {
        next = op->next;
        for (uint32_t i = 0; i < op->nregions; i++)
            changed |= visit_block(join, op->regions[i]);
        if (!is_product(op))
            continue;
        Group group = group_from(op);
        if (group.count < 2)
            continue;
        next = group.ops[group.count - 1]->next;
        form(join, &group);
        changed = true;
    }
    return changed;
}

bool pass_join_wgmma(Func *func) {
    Ctx *ctx = func_ctx(func);
    ArenaMark mark = arena_mark(&ctx->scratch);
    Join join = {
        .ctx = ctx, .func = func, .arena = &ctx->scratch, .joined = {.arena = &ctx->scratch}};
    bool changed = visit_block(&join, func->body);
    arena_rewind(&ctx->scratch, mark);
    return changed;
}
