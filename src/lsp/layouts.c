/* See layouts.h. The passes change the function, so that they run on one of their own: the kernel
 * is elaborated again, as it was. */
#include "lsp/layouts.h"

#include "passes/passes.h"
#include "runtime/compile/limit.h"
#include "runtime/compile/stack.h"

typedef struct LayoutNote {
    Span span;
    Str name;
    const Type *type;
    bool is_buffer;
    int64_t offset, bytes, copies; /* of a buffer */
} LayoutNote;

struct Layouts {
    VEC(LayoutNote) notes;
    int32_t num_warps;
};

typedef struct LayoutWork {
    Ctx *ctx;
    const KernelAnalysis *kernel;
    const AstFile *syntax;
    struct Layouts *layouts;
} LayoutWork;

static void note_value(LayoutWork *work, const Op *op, const Value *value) {
    LayoutNote note = {.span = op->span, .name = value->name, .type = value->type};
    vec_push(&work->ctx->arena, &work->layouts->notes, note);
}

static bool note_layouts(Op *op, void *user) {
    LayoutWork *work = user;
    for (uint32_t i = 0; i < op->nout; i++)
        if (op->out[i].type->layout && op->out[i].type->kind != TYPE_BUFFER)
            note_value(work, op, &op->out[i]);
    return true;
}

static bool note_buffers(Op *op, void *user) {
    LayoutWork *work = user;
    if (op->code != OP_local_alloc)
        return true;
    const Type *type = op->out->type;
    const int64_t copies = local_alloc_attrs(op)->copies;
    LayoutNote note = {.span = op->span,
                       .name = op->out->name,
                       .type = type,
                       .is_buffer = true,
                       .offset = local_alloc_attrs(op)->offset,
                       .copies = copies > 0 ? copies : 1};
    note.bytes = type_numel(type) * dtype_bytes(type->dtype) * note.copies;
    vec_push(&work->ctx->arena, &work->layouts->notes, note);
    return true;
}

static void observe_pass(void *user, const Func *func, PassId pass, unsigned position, bool changed,
                         double milliseconds) {
    LayoutWork *work = user;
    /* Nothing is changed: the walk is one for passes, too. */
    if (pass == PASS_choose_layouts)
        func_walk((Func *)(uintptr_t)func, note_layouts, user);
    if (pass == PASS_allocate_shared)
        func_walk((Func *)(uintptr_t)func, note_buffers, user);
    work->layouts->num_warps = func->num_warps;
}

static void run_passes(void *user) {
    LayoutWork *work = user;
    Elaborated elaborated;
    const PipelineOptions options = {.observe = observe_pass, .user = work};
    work->syntax = parse_file(&work->ctx->diags, work->kernel->file);
    if (!frontend_elaborate(work->ctx, work->syntax, &work->kernel->request, &elaborated))
        return;
    elaborated.func->capability = work->kernel->request.capability;
    pipeline_run(elaborated.func, &options);
}

typedef struct LimitedWork {
    LayoutWork *work;
    double limit_ms;
} LimitedWork;

static void run_limited(void *user) {
    LimitedWork *limited = user;
    limit_run(limited->work->ctx, limited->limit_ms, run_passes, limited->work);
}

static void make_layouts(const Session *session, KernelAnalysis *kernel) {
    Ctx *ctx = ctx_create();
    if (!ctx || setjmp(ctx->oom)) {
        kernel->layouts = NULL;
        ctx_destroy(ctx);
        return;
    }
    struct Layouts *layouts = ARENA_NEW(&ctx->arena, struct Layouts);
    LayoutWork work = {.ctx = ctx, .kernel = kernel, .layouts = layouts};
    LimitedWork limited = {&work, session->settings.limit_ms};
    ctx->sources.files = documents_files((Documents *)(uintptr_t)&session->documents);
    source_add(&ctx->sources, kernel->path, kernel->text.bytes);
    stack_run(ctx, run_limited, &limited);
    kernel->layouts = layouts;
    kernel->layouts_ctx = ctx;
}

/* Of a variable the note with its name that begins next behind it, of an expression the last that
 * is at its very place. */
static const LayoutNote *find_note(const struct Layouts *layouts, Span span, Str name,
                                   bool is_buffer) {
    const LayoutNote *found = NULL;
    vec_for_each (note, &layouts->notes) {
        if (note->is_buffer != is_buffer || note->span.file != span.file)
            continue;
        if (note->span.lo == span.lo && note->span.hi == span.hi)
            found = note;
        else if (name.len && str_eq(note->name, name) && note->span.lo >= span.lo &&
                 (!found || note->span.lo < found->span.lo))
            found = note;
    }
    return found;
}

static int64_t held(const Layout *layout, LayoutDim dim) {
    return (int64_t)1 << layout->bits[dim];
}

void put_layout(StrBuf *out, const Session *session, const KernelAnalysis *of, Span span,
                Str name) {
    /* What is made on demand is no part of what the analysis says. */
    KernelAnalysis *kernel = (KernelAnalysis *)(uintptr_t)of;
    if (!session->settings.layouts || !kernel->ok)
        return;
    if (!kernel->layouts)
        make_layouts(session, kernel);
    if (!kernel->layouts)
        return;
    const LayoutNote *value = find_note(kernel->layouts, span, name, false);
    const LayoutNote *buffer = value ? find_note(kernel->layouts, value->span, name, true)
                                     : find_note(kernel->layouts, span, name, true);
    if (value) {
        const Layout *layout = value->type->layout;
        strbuf_printf(out, "\nIn registers: %lld of each thread, %d warps, layout `",
                      (long long)held(layout, LAYOUT_REG), kernel->layouts->num_warps);
        layout_print(layout, out);
        strbuf_puts(out, "`.\n");
    }
    if (buffer)
        strbuf_printf(out, "\nIn shared memory: %lld bytes at %lld, %lld copies.\n",
                      (long long)buffer->bytes, (long long)buffer->offset,
                      (long long)buffer->copies);
}
