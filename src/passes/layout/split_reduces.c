/* split-reduces: reductions that cross warps become a reduction within each warp, a conversion, and
 * a reduction within each thread.
 *
 *     %m = reduce %x {axis = 0} : f32
 * ->
 *     %p = reduce %x {axis = 0, keep = 384} : tile<4xf32, {lane = [0, 0, 0, 0, 0], warp = [1, 2]}>
 *     %q = convert_layout %p : tile<4xf32, {reg = [1, 2], lane = [0, 0, 0, 0, 0], warp = [0, 0]}>
 *     %m = reduce %q {axis = 0} : f32
 *
 * `keep` are the index bits of the axis that warps hold; the conversion gives the partial results
 * of all warps to every thread, one vector load of shared memory; many of them to the lanes of
 * every warp, one each, which shuffle. Reductions that do not depend on each other are brought
 * together, first parts before all conversions, so that one barrier serves them all.
 *
 * Where the order is fixed (ir/order.h), the first part combines what lies above the highest bit
 * that warps hold, and keeps all from there down: the bits of warps come to registers of all
 * threads, what lanes and registers hold of the others stays where it is. A tile whose bits are not
 * a base each has the axis brought to registers first.
 *
 *     %m = reduce %x {axis = 0} : f32            {reg = [1, 512], lane = [2, ..], warp = [64, 128]}
 * ->
 *     %p = reduce %x {axis = 0, keep = 255}      {reg = [1], lane = [2, ..], warp = [64, 128]}
 *     %q = convert_layout %p                     {reg = [64, 128, 1], lane = [2, ..], warp = [0,
 * 0]} %m = reduce %q {axis = 0} : f32
 *
 * Needs layouts. Leaves no reduce whose reduced bits are held by warps. */
#include "ir/order.h"
#include "passes/layout/layout_rules.h"
#include "passes/passes.h"
#include "passes/rewrite.h"
#include "support/ptrmap.h"

/* Splits so far in the block whose conversions stand next to each other. */
typedef struct Group {
    Op *first_convert, *last_convert;
} Group;

/* Marks what `op` needs of the ops in its block from `start` on; false if something there cannot
 * move. */
static bool mark_needed(Op *op, const Op *start, PtrSet *later, PtrSet *needed, bool writes) {
    for (uint32_t i = 0; i < op->nin; i++) {
        Op *def = op_in(op, i)->def;
        if (!def || !ptr_set_has(later, def) || ptr_set_has(needed, def))
            continue;
        uint32_t effects = op_effects(def);
        bool movable = op_is_pure(def) || (effects == READS && !writes && !def->nregions);
        if (!movable || def == start || def->code == OP_convert_layout)
            return false;
        ptr_set_add(needed, def);
        if (!mark_needed(def, start, later, needed, writes))
            return false;
    }
    return true;
}

/* Moves the op and what it needs before the group's conversions. */
static bool join_group(Op *op, const Group *group) {
    Ctx *ctx = func_ctx(op->block->func);
    ArenaMark mark = arena_mark(&ctx->scratch);
    PtrSet later = {.arena = &ctx->scratch}, needed = {.arena = &ctx->scratch};
    bool writes = false, found = false;
    for (Op *at = group->first_convert; at && !found; at = at->next) {
        found = at == op;
        if (found)
            break;
        ptr_set_add(&later, at);
        writes |= (op_effects(at) & (WRITES | SYNC)) != 0;
    }
    found = found && mark_needed(op, group->first_convert, &later, &needed, writes);
    if (found) {
        for (Op *at = group->first_convert, *next; at != op; at = next) {
            next = at->next;
            if (ptr_set_has(&needed, at))
                op_move_before(at, group->first_convert);
        }
        op_move_before(op, group->first_convert);
    }
    arena_rewind(&ctx->scratch, mark);
    return found;
}

/* Words of parts from which on a lane takes one of them: 32 are 8 vector loads and 31 combinations
 * in each of 8 warps that a scheduler has then, and registers while what is reduced waits in
 * others. A load and 5 shuffles with a combination each are fewer than a third of the instructions.
 */
enum { MANY_PART_WORDS = 32 };

/* The layout with its first `count` registers' bits in lanes that repeat each other; NULL: there
 * are not as many. */
static const Layout *first_in_lanes(Ctx *ctx, const Layout *layout, int count) {
    Layout out = {.out_bits = layout->out_bits};
    int registers = layout->bits[LAYOUT_REG], inputs = layout_in_bits(layout), moved = 0;
    memcpy(out.bits, layout->bits, sizeof out.bits);
    out.bits[LAYOUT_REG] = (uint8_t)(registers - count);
    for (int i = count; i < inputs; i++) {
        bool free = i >= registers && i < registers + layout->bits[LAYOUT_LANE] &&
                    !layout->basis[i] && moved < count;
        out.basis[i - count] = layout->basis[free ? moved++ : i];
    }
    return moved == count ? layout_get(ctx, &out) : NULL;
}

static int words_of_parts(const Op *part, int parts) {
    int words = 0;
    for (uint32_t i = 0; i < part->nout; i++)
        words += parts * ((dtype_bytes(part->out[i].type->dtype) + 3) / 4);
    return words;
}

/* Where the parts of the result meet: the result's layout with the kept bits in registers of every
 * thread, or, of many parts, in lanes. */
static const Layout *gathered_layout(Ctx *ctx, const Op *part, const Type *result, int axis) {
    const Type *type = part->out[0].type;
    uint32_t mask = layout_dim_mask(type->rank, type->shape, axis);
    int warp_bits = type->layout->bits[LAYOUT_WARP], count = __builtin_popcount(mask);
    const Layout *rest = result->rank ? result->layout : layout_replicated(ctx, 0, warp_bits);
    const Layout *layout = layout_insert_bits(ctx, rest, __builtin_ctz(mask), count);
    const Layout *spread = words_of_parts(part, 1 << count) >= MANY_PART_WORDS
                               ? first_in_lanes(ctx, layout, count)
                               : NULL;
    return spread ? spread : layout;
}

/* The bits of `mask`, of a kept axis, as they are numbered among the kept ones. */
static uint32_t among_kept(uint32_t mask, uint32_t kept) {
    uint32_t out = 0;
    for (int bit = 0, place = 0; bit < 32; bit++)
        if (kept >> bit & 1)
            out |= (mask >> bit & 1) << place++;
    return out;
}

/* The tile with those index bits in registers of every thread. */
static const Type *in_registers(Ctx *ctx, const Type *type, uint32_t bits) {
    const Layout *layout = layout_drop_bits(ctx, type->layout, bits);
    for (; bits; bits &= bits - 1)
        layout = layout_insert_bits(ctx, layout, __builtin_ctz(bits), 1);
    return type_with_layout(ctx, type, layout);
}

static void convert_operands(Op *op, Builder *b, Value **in, uint32_t bits) {
    uint32_t first =
        __builtin_ctz(layout_dim_mask(in[0]->type->rank, in[0]->type->shape, (int)op_axis(op)));
    for (uint32_t i = 0; i < op->nin; i++)
        in[i] = build_convert_layout(b, in[i], in_registers(b->ctx, in[i]->type, bits << first));
}

static void replace_reduce(Op *op, Builder *b, Value **in, int64_t keep) {
    Op *whole = rewrite_reduce(b, op, in, keep);
    for (uint32_t i = 0; i < op->nout; i++) {
        whole->out[i].name = op->out[i].name;
        if (whole->out[i].type != op->out[i].type)
            value_replace(&op->out[i], build_convert_layout(b, &whole->out[i], op->out[i].type));
        else
            value_replace(&op->out[i], &whole->out[i]);
    }
    op_remove(op);
}

/* By the elements' indices: what lies above the bits of warps first. */
static bool split_in_order(Op *op) {
    uint32_t crossing = reduce_crossing_bits(op), keep = (uint32_t)reduce_attrs(op)->keep;
    const Type *type = op_in(op, 0)->type;
    uint32_t axis = (uint32_t)type->shape[reduce_attrs(op)->axis] - 1;
    bool plain = reduce_lies_plain(op);
    if (!crossing && plain)
        return false;
    Builder b = builder_before(op);
    b.span = op->span;
    Value **in = ARENA_ARRAY(&b.ctx->arena, Value *, op->nin);
    for (uint32_t i = 0; i < op->nin; i++)
        in[i] = op_in(op, i);
    uint32_t kept = plain ? reduce_kept_by_warps(op) : axis;
    if (kept & axis & ~keep && (kept & axis) != axis) {
        Op *part = rewrite_reduce(&b, op, in, kept);
        for (uint32_t i = 0; i < op->nin; i++)
            in[i] = &part->out[i];
    }
    convert_operands(op, &b, in, among_kept(plain ? crossing : axis & ~keep, kept));
    replace_reduce(op, &b, in, among_kept(keep, kept));
    return true;
}

static void split(Op *op, uint32_t crossing, Group *group) {
    Ctx *ctx = func_ctx(op->block->func);
    Arena *arena = &ctx->arena;
    Value **in = ARENA_ARRAY(arena, Value *, op->nin);
    for (uint32_t i = 0; i < op->nin; i++)
        in[i] = op_in(op, i);
    Builder builder = builder_before(op);
    Op *part = rewrite_reduce(&builder, op, in, reduce_attrs(op)->keep | crossing);
    bool joined = group->first_convert && join_group(part, group);
    if (joined)
        builder = builder_after(group->last_convert);
    builder.span = op->span;
    const Layout *layout = gathered_layout(ctx, part, op->out[0].type, (int)reduce_attrs(op)->axis);
    for (uint32_t i = 0; i < op->nin; i++) {
        const Type *type = type_with_layout(ctx, part->out[i].type, layout);
        in[i] = build_convert_layout(&builder, &part->out[i], type);
        if (!joined && i == 0)
            group->first_convert = in[i]->def;
        group->last_convert = in[i]->def;
    }
    Builder at_op = builder_before(op);
    /* Bits that the op itself keeps are the lowest among those of the parts only when no crossing
     * bit is below them; they are told apart by their place among the kept ones. */
    uint32_t keep = (uint32_t)reduce_attrs(op)->keep;
    replace_reduce(op, &at_op, in, among_kept(keep, keep | crossing));
}

static bool split_block(Block *block) {
    bool changed = false;
    Group group = {0};
    for (Op *op = block->first, *next; op; op = next) {
        next = op->next;
        if (op->code == OP_reduce && op_keeps_order(op)) {
            changed |= split_in_order(op);
            continue;
        }
        if (op->code == OP_reduce) {
            uint32_t crossing = reduce_crossing_bits(op);
            if (crossing)
                split(op, crossing, &group);
            changed |= crossing != 0;
            continue;
        }
        for (uint32_t i = 0; i < op->nregions; i++)
            changed |= split_block(op->regions[i]);
    }
    return changed;
}

bool pass_split_reduces(Func *func) {
    return split_block(func->body);
}
