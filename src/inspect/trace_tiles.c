/* What the Tile IR of a stage says of layouts and shared memory. */
#include "inspect/trace.h"

#include "passes/shared/allocate_shared.h"
#include "support/ptrmap.h"
#include "target/panels.h"

/* The op that makes a value; NULL of parameters. */
static const Op *maker_of(const Value *value) {
    return value->def ? value->def : value->owner->parent;
}

static void add_place(Ctx *ctx, TracePlaces *places, TracePlace place) {
    if (!place.file)
        return;
    vec_for_each (old, places)
        if (old->file == place.file && old->line == place.line)
            return;
    vec_push(&ctx->arena, places, place);
}

static bool same_shape(const Type *a, const Type *b) {
    return a->rank == b->rank && a->kind == b->kind &&
           !memcmp(a->shape, b->shape, (size_t)a->rank * sizeof *a->shape);
}

/* Layouts */

static const char *alias_of(Arena *arena, const PrintNotes *notes, const Layout *layout) {
    size_t i = 0;
    while (i < notes->layouts.len && notes->layouts.data[i] != layout)
        i++;
    return str_format(arena, "#L%zu", i);
}

static TraceLayout *layout_for(Trace *trace, const char *stage, const PrintNotes *notes,
                               const Type *type, size_t first) {
    for (size_t i = first; i < trace->layouts.len; i++)
        if (trace->layouts.data[i].layout == type->layout &&
            same_shape(trace->layouts.data[i].type, type))
            return &trace->layouts.data[i];
    Arena *arena = &trace->ctx->arena;
    vec_push(arena, &trace->layouts,
             (TraceLayout){alias_of(arena, notes, type->layout), stage, type->layout, type,
                           .values = {0}});
    return &trace->layouts.data[trace->layouts.len - 1];
}

void trace_layouts(Trace *trace, const char *stage, const PrintNotes *notes) {
    Ctx *ctx = trace->ctx;
    const size_t first = trace->layouts.len;
    vec_for_each (printed, &notes->values) {
        const Type *type = printed->value->type;
        if (!type || !type->rank || !type->layout)
            continue;
        TraceLayout *layout = layout_for(trace, stage, notes, type, first);
        vec_push(&ctx->arena, &layout->values, str_format(&ctx->arena, "%%%s", printed->name));
        const Op *maker = maker_of(printed->value);
        if (maker)
            add_place(ctx, &layout->at, trace_place(ctx, maker->span));
    }
}

/* Shared memory */

/* An access of threads, all of the buffer at once; 0: not known. */
static double conflicts(Ctx *ctx, const Type *tile, const Type *buffer) {
    const int bytes = type_element_bytes(buffer);
    LayoutMatrices matrices;
    if (!tile->layout || !buffer->layout || tile->layout->out_bits != buffer->layout->out_bits)
        return 0;
    if (tile->kind == TYPE_NUMBER && bytes <= 4 &&
        layout_matrices(ctx, tile->layout, buffer->layout, bytes, &matrices))
        return 1;
    return layout_bank_conflicts(ctx, tile->layout, buffer->layout, bytes);
}

static void add_access(Ctx *ctx, TraceBuffer *buffer, const Op *user, const Type *type) {
    double *banks = NULL, found = 0;
    if (user->code == OP_local_load) {
        banks = &buffer->banks_read;
        found = conflicts(ctx, user->out[0].type, type);
    } else if (user->code == OP_local_store || user->code == OP_async_copy) {
        banks = &buffer->banks_written;
        found = conflicts(ctx, op_in(user, 0)->type, type);
    }
    if (banks && found > *banks)
        *banks = found;
}

static void add_accesses(Ctx *ctx, TraceBuffer *buffer, Value *value) {
    value_for_each_use (use, value) {
        if (use->user->code == OP_local_view)
            add_accesses(ctx, buffer, op_out(use->user));
        else
            add_access(ctx, buffer, use->user, value->type);
    }
}

static const char *type_text(Arena *arena, const Type *type) {
    Type plain = *type;
    StrBuf text = strbuf(arena);
    plain.layout = NULL;
    type_print(&plain, &text);
    const char *open = memchr(text.ptr, '<', text.len);
    if (!open || text.ptr[text.len - 1] != '>')
        return text.ptr;
    return str_dup(arena, (Str){open + 1, (size_t)(text.ptr + text.len - 2 - open)});
}

static const char *name_of(Arena *arena, const PrintNotes *notes, const Value *value) {
    vec_for_each (printed, &notes->values)
        if (printed->value == value)
            return str_format(arena, "%%%s", printed->name);
    return "";
}

void trace_shared(Trace *trace) {
    Ctx *ctx = trace->ctx;
    const SharedLives lives = shared_lives(trace->compiled->func, &ctx->arena, &trace->steps);
    vec_for_each (life, &lives) {
        Value *value = op_out(life->alloc);
        const bool is_barrier = life->alloc->code == OP_mbarrier_alloc;
        TraceBuffer buffer = {.name = name_of(&ctx->arena, &trace->notes, value),
                              .at = trace_place(ctx, life->alloc->span),
                              .type = is_barrier ? "mbarrier" : type_text(&ctx->arena, value->type),
                              .offset = op_offset(life->alloc),
                              .bytes = local_extent(value),
                              .copies = local_copies(value),
                              .from = life->first,
                              .to = life->last};
        if (!is_barrier)
            add_accesses(ctx, &buffer, value);
        vec_push(&ctx->arena, &trace->buffers, buffer);
    }
}
