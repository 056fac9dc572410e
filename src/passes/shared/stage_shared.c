/* stage-shared: conversions that cross warps go through shared memory, and those within warps
 * that cost more by shuffles.
 *
 *     %b = convert_layout %a : tile<64x64xf32, D>
 * ->
 *     %s = local_alloc {offset = -1} : buffer<64x64xf32, S>
 *     local_store %a, %s
 *     %b = local_load %s : tile<64x64xf32, D>
 *
 * S is the swizzled layout in which both accesses are widest and free of bank conflicts
 * (layout_shared_exchange). Conversions that stand next to each other are stored before any is
 * loaded, so that one barrier orders them all; those right in front of a loop that reads rings,
 * which lie beside what they take, go one after the other. Pointers travel as integers. Other
 * conversions within warps stay: they become moves between registers and shuffles. Where the two
 * layouts have many bits in registers of one and in lanes of the other, each such bit costs two
 * selections of every word, and the way through memory is shorter (convert_is_staged); so it is for
 * large operands of products by mma.sync, which matrix loads read.
 *
 * Choices by index go through shared memory as well (stage_gathers.c).
 *
 * Needs layouts. Leaves no convert_layout that crosses warps, and no gather; barriers are
 * place-barriers' matter.
 */
#include "passes/layout/layout_rules.h"
#include "passes/passes.h"
#include "passes/rewrite.h"
#include "passes/shared/stage_gathers.h"

static Value *stage_store(Builder *builder, Op *convert) {
    Ctx *ctx = builder->ctx;
    builder->span = convert->span;
    Value *value = op_in(convert, 0);
    const Layout *dst = op_out(convert)->type->layout;
    const Type *type = convert_exchanged(ctx, convert);
    if (type != value->type)
        value = build_ptrtoint(builder, value, type);
    const Layout *shared =
        layout_shared_exchange(ctx, type->layout, dst, type_element_bytes(type), 1);
    Value *buffer =
        build_local_alloc(builder, -1, 0, 0,
                          type_get(ctx, TYPE_BUFFER, type->dtype, type->rank, type->shape, shared));
    build_local_store(builder, value, buffer, 0);
    return buffer;
}

static void stage_load(Builder *builder, Op *convert, Value *buffer) {
    Ctx *ctx = builder->ctx;
    builder->span = convert->span;
    const Type *type = op_out(convert)->type;
    bool pointers = type_is_pointer(type);
    const Type *loaded = pointers ? type_with_element(ctx, type, TYPE_NUMBER, DT_I64) : type;
    Value *value = build_local_load(builder, buffer, NULL, 0, loaded);
    if (pointers)
        value = build_inttoptr(builder, value, type);
    rewrite_replace(convert, value);
}

/* Does the conversion need one of those from `first` up to it? */
static bool needs_earlier(const Op *convert, const Op *first) {
    for (const Op *op = first; op != convert; op = op->next)
        if (op_in(convert, 0)->def == op)
            return true;
    return false;
}

/* Is this a loop that waits for copies into rings? */
static bool reads_rings(const Op *loop) {
    if (!loop || loop->code != OP_for)
        return false;
    block_for_each (op, loop->regions[0])
        if (op->code == OP_async_wait)
            return true;
    return false;
}

/* Stages `first` and the conversions right after it; returns the op that follows. */
static Op *stage_run(Op *first) {
    Op *end = first->next;
    uint32_t count = 1;
    while (end && convert_is_staged(end) && !needs_earlier(end, first)) {
        end = end->next;
        count++;
    }
    /* Buffers that live at once would lie beside the rings of the loop for which they are. */
    const bool apart = reads_rings(end);
    Ctx *ctx = func_ctx(first->block->func);
    ArenaMark mark = arena_mark(&ctx->scratch);
    Value **buffers = ARENA_ARRAY(&ctx->scratch, Value *, count);
    Builder builder = builder_before(first);
    Op *convert = first;
    for (uint32_t i = 0; i < count && !apart; i++, convert = convert->next)
        buffers[i] = stage_store(&builder, convert);
    convert = first;
    for (uint32_t i = 0; i < count; i++) {
        Op *next = convert->next;
        Builder before = builder_before(convert);
        if (apart)
            buffers[i] = stage_store(&before, convert);
        stage_load(&before, convert, buffers[i]);
        convert = next;
    }
    arena_rewind(&ctx->scratch, mark);
    return end;
}

/* Moves the conversion to right before its first use in the block; false if only other conversions
 * are between. */
static bool sink(Op *convert) {
    const Op *source = op_in(convert, 0)->def;
    if (source && source->code == OP_reduce)
        return false;
    Op *first = convert->next;
    bool passes = false;
    while (first) {
        bool uses = false;
        value_for_each_use (use, op_out(convert))
            uses |= op_ancestor_in(use->user, convert->block) == first;
        if (uses)
            break;
        passes |= !convert_is_staged(first);
        first = first->next;
    }
    if (!first || !passes)
        return false;
    op_move_before(convert, first);
    return true;
}

static bool stage_block(Block *block) {
    bool changed = false;
    for (Op *op = block->first, *next; op; op = next) {
        next = op->next;
        if (convert_is_staged(op))
            changed |= sink(op);
    }
    for (Op *op = block->first; op;) {
        if (convert_is_staged(op)) {
            op = stage_run(op);
            changed = true;
            continue;
        }
        for (uint32_t i = 0; i < op->nregions; i++)
            changed |= stage_block(op->regions[i]);
        op = op->next;
    }
    return changed;
}

bool pass_stage_shared(Func *func) {
    bool gathers = stage_gathers(func);
    return stage_block(func->body) || gathers;
}
