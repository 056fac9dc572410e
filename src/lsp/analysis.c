/* See analysis.h. */
#include "lsp/analysis.h"

#include "lsp/kernel_types.h"
#include "lsp/walk.h"
#include "passes/lint/lint.h"
#include "runtime/compile/limit.h"
#include "runtime/compile/stack.h"

/* What expressions are */

static bool same_constant(Val a, Val b) {
    switch (a.kind) {
    case VAL_BOOL:
    case VAL_INT:
        return a.i == b.i;
    case VAL_FLOAT:
        return memcmp(&a.f, &b.f, sizeof a.f) == 0;
    case VAL_STRING:
        return str_eq(a.s, b.s);
    case VAL_TYPE:
        return scalar_equal(a.type.scalar, b.type.scalar) && a.type.block == b.type.block;
    case VAL_FUNCTION:
        return a.function.def == b.function.def;
    case VAL_BUILTIN:
        return a.builtin == b.builtin;
    case VAL_TUPLE:
        return a.tuple.count == b.tuple.count;
    case VAL_TILE:
    case VAL_BLOCK:
        return val_same_shape(a, b);
    default:
        return true;
    }
}

static void add_value(Seen *seen, const Val *value) {
    for (uint32_t i = 0; i < seen->count; i++)
        if (seen->values[i].kind == value->kind && same_constant(seen->values[i], *value))
            return;
    if (seen->count == SEEN_VALUES)
        seen->has_more = true;
    else
        seen->values[seen->count++] = *value;
}

static bool tells(const Val *value) {
    return value->kind != VAL_ERROR && value->kind != VAL_ABSENT && value->kind != VAL_UNDEFINED;
}

static void see_expression(void *user, const Expr *expr, const Val *value) {
    KernelAnalysis *kernel = user;
    if (expr->span.file != kernel->file || !tells(value))
        return;
    Seen *seen = ptrmap_get(&kernel->exprs, expr);
    if (!seen) {
        seen = ARENA_NEW(&kernel->ctx->arena, Seen);
        seen->span = expr->span;
        ptrmap_set(&kernel->exprs, expr, seen);
    }
    add_value(seen, value);
}

static const void *offset_key(uint32_t offset) {
    return (const void *)(uintptr_t)(offset + 1);
}

/* Only where the name itself stands: loops tell of what they carry, too. */
static void see_variable(void *user, Span at, Str name, const Val *value) {
    KernelAnalysis *kernel = user;
    const Str text = kernel->text.bytes;
    if (at.file != kernel->file || !tells(value) || at.hi > text.len || at.hi - at.lo < name.len ||
        !str_eq((Str){text.ptr + at.hi - name.len, name.len}, name))
        return;
    at.lo = at.hi - (uint32_t)name.len; /* less the star of a parameter */
    Seen *seen = ptrmap_get(&kernel->names, offset_key(at.lo));
    if (!seen) {
        seen = ARENA_NEW(&kernel->ctx->arena, Seen);
        seen->span = at;
        seen->name = name;
        ptrmap_set(&kernel->names, offset_key(at.lo), seen);
        *(kernel->last_variable ? &kernel->last_variable->next : &kernel->variables) = seen;
        kernel->last_variable = seen;
    }
    add_value(seen, value);
}

const Seen *kernel_seen(const KernelAnalysis *kernel, const Expr *expr) {
    return ptrmap_get(&kernel->exprs, expr);
}

const Seen *kernel_seen_variable(const KernelAnalysis *kernel, uint32_t offset) {
    return ptrmap_get(&kernel->names, offset_key(offset));
}

/* Elaboration */

typedef struct KernelWork {
    KernelAnalysis *kernel;
    const AnalysisInput *input;
    Observer observer;
} KernelWork;

/* Places of messages without one, such as those about what settings say, are the kernel's name. */
static void place_messages(KernelAnalysis *kernel) {
    Diagnostic *d = kernel->parsed.last ? kernel->parsed.last->next : kernel->ctx->diags.first;
    for (; d; d = d->next)
        if (!d->span.file)
            d->span = kernel->def->name_span;
}

static void elaborate(void *user) {
    KernelWork *work = user;
    KernelAnalysis *kernel = work->kernel;
    Elaborated elaborated;
    kernel->request.observer = &work->observer;
    const bool made =
        frontend_elaborate(kernel->ctx, kernel->syntax, &kernel->request, &elaborated);
    kernel->request.observer = NULL;
    if (!made)
        return;
    elaborated.func->capability = kernel->request.capability;
    lint_func(elaborated.func);
    kernel->ok = kernel->ctx->diags.errors == kernel->parsed.errors;
}

static bool has_errors_within(const Diags *diags, const FuncDef *def) {
    const Span extent = walk_extent(def);
    for (const Diagnostic *d = diags->first; d; d = d->next)
        if (d->severity == SEV_ERROR && d->span.file == extent.file && d->span.lo >= extent.lo &&
            d->span.lo <= extent.hi)
            return true;
    return false;
}

static void analyse_kernel(void *user) {
    KernelWork *work = user;
    KernelAnalysis *kernel = work->kernel;
    Ctx *ctx = kernel->ctx;
    kernel->syntax = parse_file(&ctx->diags, kernel->file);
    kernel->parsed = diag_mark(&ctx->diags);
    kernel->def = frontend_choose_kernel(ctx, kernel->syntax, kernel->name);
    if (!kernel->def || has_errors_within(&ctx->diags, kernel->def))
        return;
    ctx->diags.max_errors = ctx->diags.errors + 20;
    if (kernel_types(kernel, work->input->settings) && kernel->is_typed)
        limit_run(ctx, work->input->settings->limit_ms, elaborate, work);
    place_messages(kernel);
}

static bool choose_warnings(Ctx *ctx, const Settings *settings) {
    bool ok = true;
    for (uint32_t i = 0; i < settings->warning_count; i++)
        ok &= diag_choose(&ctx->diags, settings->warnings[i]);
    return ok;
}

static Ctx *context_for(const AnalysisInput *input) {
    Ctx *ctx = ctx_create();
    if (ctx) {
        ctx->sources.files = input->files;
        ctx_cancel_with(ctx, input->cancel);
    }
    return ctx;
}

/* What is left of a context whose work ended: nothing cancels it any more. */
static void finish(Ctx *ctx) {
    ctx_cancel_with(ctx, NULL);
}

static KernelAnalysis *kernel_make(const AnalysisInput *input, Str name) {
    Ctx *ctx = context_for(input);
    if (!ctx || setjmp(ctx->oom)) {
        ctx_destroy(ctx);
        return NULL;
    }
    KernelAnalysis *kernel = ARENA_NEW(&ctx->arena, KernelAnalysis);
    kernel->ctx = ctx;
    kernel->name = str_keep(&ctx->arena, name);
    kernel->path = str_keep(&ctx->arena, input->path);
    kernel->exprs.arena = kernel->names.arena = &ctx->arena;
    choose_warnings(ctx, input->settings);
    kernel->file = source_add(&ctx->sources, kernel->path, input->text);
    kernel->text =
        text_split(&ctx->arena, source_get(&ctx->sources, kernel->file)->text, input->utf8);
    KernelWork work = {kernel, input, {see_expression, see_variable, kernel}};
    stack_run(ctx, analyse_kernel, &work);
    finish(ctx);
    return kernel;
}

void kernel_analysis_destroy(KernelAnalysis *kernel) {
    if (!kernel)
        return;
    ctx_destroy(kernel->layouts_ctx);
    ctx_destroy(kernel->ctx);
}

void analysis_destroy(Analysis *analysis) {
    if (!analysis)
        return;
    for (KernelAnalysis *kernel = analysis->kernels, *next; kernel; kernel = next) {
        next = kernel->next;
        kernel_analysis_destroy(kernel);
    }
    ctx_destroy(analysis->ctx);
}

static void parse_document(void *user) {
    Analysis *analysis = user;
    analysis->syntax = parse_file(&analysis->ctx->diags, analysis->file);
    analysis->parses = !analysis->ctx->diags.errors;
}

Analysis *analysis_parse(const AnalysisInput *input) {
    Ctx *ctx = context_for(input);
    if (!ctx || setjmp(ctx->oom)) {
        ctx_destroy(ctx);
        return NULL;
    }
    Analysis *analysis = ARENA_NEW(&ctx->arena, Analysis);
    analysis->ctx = ctx;
    analysis->path = str_keep(&ctx->arena, input->path);
    choose_warnings(ctx, input->settings);
    ctx->diags.errors = 0;
    analysis->file = source_add(&ctx->sources, analysis->path, input->text);
    analysis->text =
        text_split(&ctx->arena, source_get(&ctx->sources, analysis->file)->text, input->utf8);
    stack_run(ctx, parse_document, analysis);
    if (!analysis->syntax)
        analysis->syntax = ARENA_NEW(&ctx->arena, AstFile);
    finish(ctx);
    return analysis;
}

/* The names of the kernels, in the analysis' arena. False: there is no memory for them. */
static bool list_kernels(Analysis *analysis, const FuncDef ***defs, uint32_t *count) {
    uint32_t entries;
    if (setjmp(analysis->ctx->oom))
        return false;
    *count = frontend_kernels(analysis->ctx, analysis->syntax, defs, &entries);
    return true;
}

Analysis *analysis_make(const AnalysisInput *input) {
    Analysis *analysis = analysis_parse(input);
    const FuncDef **defs;
    uint32_t count;
    if (!analysis || !list_kernels(analysis, &defs, &count)) {
        analysis_destroy(analysis);
        return NULL;
    }
    KernelAnalysis **end = &analysis->kernels;
    for (uint32_t i = 0; i < count; i++) {
        KernelAnalysis *kernel = kernel_make(input, defs[i]->name);
        if (cancel_is_requested(input->cancel)) {
            kernel_analysis_destroy(kernel);
            analysis_destroy(analysis);
            return NULL;
        }
        if (!kernel)
            continue; /* there was no memory for it: the others are analysed all the same */
        *end = kernel;
        end = &kernel->next;
    }
    return analysis;
}
