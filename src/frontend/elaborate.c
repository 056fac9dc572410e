/* Entry: find the kernel, specialise its parameters, elaborate its body, verify. */
#include "frontend/elaborate.h"
#include "frontend/ast_parts.h"
#include "support/vec.h"

#include <stdlib.h>
#include <string.h>

Span elab_span(const Elab *e, Span span) {
    bool own_library = e->frame && e->frame->unit->is_std;
    return own_library && e->user_span.file ? e->user_span : span;
}

void elab_note_calls(Elab *e) {
    int notes = 0;
    for (const Frame *frame = e->frame; frame && frame->caller && notes < 8;
         frame = frame->caller) {
        bool own = frame->unit->is_std || frame->caller->unit->is_std || !frame->def;
        if (own || frame->caller->def == frame->def) /* of a recursion the outermost call */
            continue;
        diag_note(&e->ctx->diags, frame->call_span, "in the call of `%.*s` here",
                  STR_ARG(frame->def->name));
        notes++;
    }
}

bool elab_spend(Elab *e, Span span, uint64_t steps) {
    e->steps += steps;
    size_t limit = (size_t)MAX_ELABORATION_MIB << 20;
    if (e->steps <= MAX_ELABORATION_STEPS && e->arena->reserved - e->bytes_before <= limit)
        return true;
    if (!e->exhausted) {
        e->exhausted = true;
        elab_fail(e, span, elab_too_much, MAX_ELABORATION_STEPS, MAX_ELABORATION_MIB);
        if (e->unrolls)
            elab_hint(e, "unroll fewer iterations: `range` makes a loop that runs on the GPU");
    }
    return false;
}

void elab_suggest(Elab *e, Str word, const Str *candidates, size_t count) {
    int nearest = str_nearest(word, candidates, count);
    if (nearest >= 0)
        elab_hint(e, "did you mean `%.*s`?", STR_ARG(candidates[nearest]));
}

const char *elab_type_text(const Elab *e, Val v) {
    return val_type_text(e->arena, v);
}

/* Kernels of a file */

/* A name in the body of a jit function. */
typedef struct Mention {
    Str name;
    const FuncDef *def;
} Mention;

typedef struct Mentions {
    Arena *arena;
    const FuncDef *def; /* whose body is walked */
    VEC(Mention) found;
} Mentions;

static void find_in_expr(void *user, const Expr *expr, AstRole role) {
    Mentions *mentions = user;
    if (expr->kind == EXPR_name)
        vec_push(mentions->arena, &mentions->found, ((Mention){expr->u.name, mentions->def}));
    ast_expr_parts(expr, role, find_in_expr, mentions);
}

static void find_in_body(void *user, const StmtList *body) {
    for (uint32_t i = 0; i < body->count; i++) {
        ast_stmt_parts(body->items[i], find_in_expr, user);
        ast_stmt_bodies(body->items[i], find_in_body, user);
    }
}

static int compare_names(Str a, Str b) {
    int order = memcmp(a.ptr, b.ptr, a.len < b.len ? a.len : b.len);
    return order ? order : (a.len > b.len) - (a.len < b.len);
}

static int by_name(const void *a, const void *b) {
    const Mention *x = a, *y = b;
    int order = compare_names(x->name, y->name);
    return order ? order : (x->def > y->def) - (x->def < y->def);
}

/* All names in bodies of the file's jit functions, in order. */
static Mentions find_mentions(Arena *arena, const AstFile *syntax) {
    Mentions mentions = {.arena = arena};
    for (uint32_t i = 0; i < syntax->body.count; i++) {
        const Stmt *stmt = syntax->body.items[i];
        if (stmt->kind != STMT_def || !(stmt->u.def->is_jit || stmt->u.def->is_constexpr_function))
            continue;
        mentions.def = stmt->u.def;
        find_in_body(&mentions, &stmt->u.def->body);
    }
    if (mentions.found.len)
        qsort(mentions.found.data, mentions.found.len, sizeof(Mention), by_name);
    return mentions;
}

/* The first mention of a name that does not come before `name`. */
static size_t first_mention(const Mentions *mentions, Str name) {
    size_t low = 0, high = mentions->found.len;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (compare_names(mentions->found.data[middle].name, name) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* Does the function have a parameter or variable of that name? */
static bool binds(Arena *arena, const FuncDef *def, Str name) {
    Names names = {0};
    names_assigned(arena, &def->body, &names);
    for (size_t i = 0; i < names.len; i++)
        if (str_eq(names.data[i], name))
            return true;
    for (uint32_t i = 0; i < def->param_count; i++)
        if (str_eq(def->params[i].name, name))
            return true;
    return false;
}

/* Is `def` named in the body of another jit function of the file? */
static bool is_helper(const Mentions *mentions, const FuncDef *def) {
    const FuncDef *seen = def;
    for (size_t i = first_mention(mentions, def->name); i < mentions->found.len; i++) {
        const Mention *mention = &mentions->found.data[i];
        if (!str_eq(mention->name, def->name))
            return false;
        if (mention->def != def && mention->def != seen &&
            !binds(mentions->arena, mention->def, def->name))
            return true;
        seen = mention->def;
    }
    return false;
}

/* Those at the front that are no helpers; `out` has room for every statement of the file. */
static uint32_t sort_kernels(Arena *arena, const AstFile *syntax, const FuncDef **out,
                             uint32_t *count) {
    const FuncDef **helpers = ARENA_ARRAY(arena, const FuncDef *, (size_t)syntax->body.count + 1);
    uint32_t kernel_count = 0, helper_count = 0;
    Mentions mentions = find_mentions(arena, syntax);
    for (uint32_t i = 0; i < syntax->body.count; i++) {
        const Stmt *stmt = syntax->body.items[i];
        if (stmt->kind != STMT_def || !stmt->u.def->is_jit)
            continue;
        if (is_helper(&mentions, stmt->u.def))
            helpers[helper_count++] = stmt->u.def;
        else
            out[kernel_count++] = stmt->u.def;
    }
    if (helper_count)
        memcpy(out + kernel_count, helpers, helper_count * sizeof *helpers);
    *count = kernel_count + helper_count;
    return kernel_count;
}

uint32_t frontend_kernels(Ctx *ctx, const AstFile *syntax, const FuncDef ***out,
                          uint32_t *entries) {
    uint32_t count;
    *out = ARENA_ARRAY(&ctx->arena, const FuncDef *, (size_t)syntax->body.count + 1);
    *entries = sort_kernels(&ctx->arena, syntax, *out, &count);
    return count;
}

/* `entries` of the `count` kernels are no helpers. */
static const FuncDef *choose_kernel(const FuncDef **kernels, uint32_t entries, uint32_t count,
                                    Str name) {
    if (!name.len)
        return count && (entries == 1 || count == 1) ? kernels[0] : NULL;
    for (uint32_t i = 0; i < count; i++)
        if (str_eq(kernels[i]->name, name))
            return kernels[i];
    return NULL;
}

const FuncDef *frontend_choose_kernel(Ctx *ctx, const AstFile *syntax, Str name) {
    const FuncDef **kernels =
        ARENA_ARRAY(&ctx->arena, const FuncDef *, (size_t)syntax->body.count + 1);
    uint32_t count, entries = sort_kernels(&ctx->arena, syntax, kernels, &count);
    return choose_kernel(kernels, entries, count, name);
}

static const FuncDef *find_kernel(Elab *e, const AstFile *syntax, Str name) {
    const FuncDef **kernels =
        ARENA_ARRAY(e->arena, const FuncDef *, (size_t)syntax->body.count + 1);
    uint32_t n, entries = sort_kernels(e->arena, syntax, kernels, &n);
    const FuncDef *chosen = choose_kernel(kernels, entries, n, name);
    if (chosen)
        return chosen;
    Str *names = ARENA_ARRAY(e->arena, Str, (size_t)n + 1);
    Span nowhere = {0};
    StrBuf all = strbuf(e->arena);
    uint32_t listed = entries ? entries : n; /* all call each other: any may be the one */
    for (uint32_t i = 0; i < n; i++) {
        names[i] = kernels[i]->name;
        if (i < listed)
            strbuf_printf(&all, "%s%.*s", i ? ", " : "", STR_ARG(names[i]));
    }
    const Source *source = source_get(&e->ctx->sources, syntax->file);
    Str path = source ? source->path : STR("the source");
    if (n == 0) {
        ctx_diag(e->ctx, nowhere, elab_no_kernels, STR_ARG(path));
        elab_hint(e, "kernels are functions decorated with @triton.jit");
    } else if (name.len) {
        ctx_diag(e->ctx, nowhere, elab_unknown_kernel, STR_ARG(name), STR_ARG(path));
        if (str_nearest(name, names, n) >= 0)
            elab_suggest(e, name, names, n);
        else
            elab_hint(e, "the file has %s", all.ptr);
    } else {
        ctx_diag(e->ctx, nowhere, elab_which_kernel, STR_ARG(path), all.ptr);
        elab_hint(e, "choose one with -k NAME");
    }
    return NULL;
}

const FuncDef *frontend_find_kernel(Ctx *ctx, const AstFile *syntax, Str name) {
    Elab e = {.ctx = ctx, .arena = &ctx->arena};
    return find_kernel(&e, syntax, name);
}

void elab_no_effect(Elab *e, Span span, const char *option, const char *why) {
    const char *text = str_format(e->arena, "`%s` has no effect here: %s", option, why);
    Span at = elab_span(e, span);
    for (const Diagnostic *d = e->ctx->diags.first; d; d = d->next)
        if (d->id == DIAG_elab_no_effect && d->span.file == at.file && d->span.lo == at.lo &&
            strcmp(d->text, text) == 0)
            return;
    ctx_diag(e->ctx, at, elab_no_effect, text);
}

/* The function: parameters in, body elaborated, terminator. */

static Str names_of(Elab *e, const Vars *vars) {
    StrBuf text = strbuf(e->arena);
    for (size_t i = 0; i < vars->len; i++)
        strbuf_printf(&text, "%.*s\n", STR_ARG(vars->data[i].name));
    return strbuf_str(&text);
}

static bool elaborate_kernel(Elab *e, Unit *unit, const FuncDef *def, Elaborated *result) {
    Frame frame = {.unit = unit, .def = def, .call_span = def->name_span};
    e->frame = &frame;
    Specialized *params = ARENA_ARRAY(e->arena, Specialized, (size_t)def->param_count + 1);
    if (!signature_apply(e, def, unit, params))
        return false;
    e->func = parameters_func(e, def, params);
    e->builder = builder_at_end(e->func->body);
    e->builder.span = def->name_span;
    parameters_bind(e, def, params);
    unsigned errors = e->ctx->diags.errors;
    elab_stmts(e, &def->body, 0, NULL);
    e->builder.block = e->func->body;
    e->builder.before = NULL;
    e->builder.span = def->name_span;
    build_return(&e->builder);
    if (e->ctx->diags.errors != errors || !module_verify(e->func->module))
        return false;
    uint32_t param_count;
    KernelParam *described = parameters_describe(e, def, params, &param_count);
    *result = (Elaborated){.module = e->func->module,
                           .func = e->func,
                           .params = described,
                           .param_count = param_count,
                           .def = def,
                           .asked = names_of(e, &unit->globals),
                           .imports = e->imports};
    return true;
}

bool frontend_elaborate(Ctx *ctx, const AstFile *syntax, const ElaborateRequest *request,
                        Elaborated *result) {
    Elab e = {.ctx = ctx,
              .arena = &ctx->arena,
              .request = request,
              .observer = request->observer,
              .builder = {.ctx = ctx},
              .bytes_before = ctx->arena.reserved};
    const FuncDef *def = find_kernel(&e, syntax, request->kernel);
    if (!def)
        return false;
    const int32_t language = request->language;
    if (language && (language < LANGUAGE_OLDEST || language > LANGUAGE_NEWEST)) {
        ctx_diag(ctx, def->name_span, language_unknown, language);
        return false;
    }
    const Source *source = source_get(&ctx->sources, syntax->file);
    unsigned errors = ctx->diags.errors;
    Unit *unit = request->units.count ? units_take(&e, 0, syntax)
                                      : unit_create(&e, source ? source->path : STR(""), syntax);
    return elaborate_kernel(&e, unit, def, result) && ctx->diags.errors == errors;
}
