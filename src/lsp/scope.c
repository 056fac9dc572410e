/* See scope.h. */
#include "lsp/scope.h"

#include "frontend/imports.h"
#include "lsp/walk.h"
#include "runtime/compile/stack.h"

enum { MOST_IMPORTS = 16 }; /* that lead from a name to what it means */

static Meaning find_global(Scope *scope, const ScopeFile *file, Str name, unsigned depth);

/* Files */

static const ScopeFile *add_file(Scope *scope, Str path, Str text, const AstFile *syntax) {
    ScopeFile *file = ARENA_NEW(&scope->ctx->arena, ScopeFile);
    *file = (ScopeFile){scope->files, path, text, syntax};
    scope->files = file;
    return file;
}

typedef struct ParseJob {
    Ctx *ctx;
    uint32_t file;
    AstFile *syntax;
} ParseJob;

static void parse_job(void *user) {
    ParseJob *job = user;
    job->syntax = parse_file(&job->ctx->diags, job->file);
}

typedef struct Finding {
    Scope *scope;
    const ScopeFile *found;
} Finding;

static bool look(void *user, const char *path, Str name) {
    Finding *finding = user;
    Scope *scope = finding->scope;
    Ctx *ctx = scope->ctx;
    for (ScopeFile *file = scope->files; file; file = file->next) {
        if (str_is(file->path, path)) {
            finding->found = file;
            return true;
        }
    }
    Str text;
    ctx->sources.files = documents_files(&scope->session->documents);
    if (source_read(&ctx->sources, path, FRONTEND_SOURCE_LIMIT, &text) != 0)
        return false;
    ParseJob job = {.ctx = ctx,
                    .file = source_add_import(&ctx->sources, str_from(path), name, text)};
    const Source *source = source_get(&ctx->sources, job.file);
    if (!stack_run(ctx, parse_job, &job) || !job.syntax)
        return false;
    finding->found = add_file(scope, source->path, source->text, job.syntax);
    return true;
}

static const ScopeFile *find_file(Scope *scope, const ScopeFile *from, Str module) {
    const Settings *settings = &scope->session->settings;
    Finding finding = {.scope = scope};
    import_find(&scope->ctx->arena, from->path, module, settings->include, settings->include_count,
                look, &finding);
    return finding.found;
}

/* Modules */

bool language_module(Str path, uint32_t *contents) {
    const char *name;
    for (uint32_t i = 0; (name = elab_language_module(i, contents)); i++)
        if (str_is(path, name))
            return true;
    return false;
}

static bool is_type_name(Str name) {
    for (int i = 0; i < ELEM_COUNT; i++)
        if (str_is(name, elem_info[i].name))
            return true;
    return false;
}

static Meaning module_member(Scope *scope, Str path, Str name) {
    uint32_t contents, inner;
    const Str below =
        str_from(str_format(&scope->ctx->arena, "%.*s.%.*s", STR_ARG(path), STR_ARG(name)));
    if (language_module(below, &inner))
        return (Meaning){.kind = MEANS_MODULE, .path = below, .name = name};
    if (!language_module(path, &contents))
        return (Meaning){0};
    if ((contents & IN_TL) && is_type_name(name))
        return (Meaning){.kind = MEANS_TYPE, .name = name};
    const Builtin *builtin = builtin_find(name, contents);
    if (!builtin && (contents & (IN_TL | IN_MATH)))
        builtin = builtin_find(name, IN_TL | IN_LIBDEVICE);
    return builtin ? (Meaning){.kind = MEANS_BUILTIN, .builtin = builtin, .name = name}
                   : (Meaning){0};
}

static Meaning module_named(Scope *scope, const ScopeFile *from, Str path) {
    uint32_t contents;
    if (language_module(path, &contents))
        return (Meaning){.kind = MEANS_MODULE, .path = path};
    const ScopeFile *file = find_file(scope, from, path);
    return file ? (Meaning){.kind = MEANS_FILE, .file = file, .path = path, .span = {0}}
                : (Meaning){0};
}

Meaning scope_module(Scope *scope, const ScopeFile *from, Str path) {
    return module_named(scope, from, path);
}

static Meaning member_of(Scope *scope, const Meaning *of, Str name, unsigned depth) {
    if (of->kind == MEANS_MODULE)
        return module_member(scope, of->path, name);
    if (of->kind == MEANS_FILE)
        return find_global(scope, of->file, name, depth + 1);
    return (Meaning){0};
}

Meaning scope_member(Scope *scope, const Meaning *of, Str name) {
    return member_of(scope, of, name, 0);
}

/* Names of a file */

static Meaning imported_name(Scope *scope, const ScopeFile *file, const Stmt *stmt, Str name,
                             unsigned depth) {
    const Meaning module = module_named(scope, file, stmt->u.import.module);
    Meaning meaning = member_of(scope, &module, name, depth);
    if (meaning.kind == MEANS_NOTHING) { /* a module within the module */
        const Str path = stmt->u.import.module;
        const bool ends_so = path.len && path.ptr[path.len - 1] == '.';
        meaning = module_named(scope, file,
                               str_from(str_format(&scope->ctx->arena, "%.*s%s%.*s", STR_ARG(path),
                                                   ends_so ? "" : ".", STR_ARG(name))));
    }
    return meaning;
}

static bool import_binds(Scope *scope, const ScopeFile *file, const Stmt *stmt, Str name,
                         unsigned depth, Meaning *out) {
    for (uint32_t i = 0; i < stmt->u.import.name_count; i++) {
        const ImportName *import = &stmt->u.import.names[i];
        const bool renamed = !str_eq(import->alias, import->name);
        if (!stmt->u.import.is_from) {
            const Str module = renamed ? import->name : import_first_component(import->name);
            if (!str_eq(renamed ? import->alias : module, name))
                continue;
            *out = module_named(scope, file, module);
            return true;
        }
        if (str_is(import->name, "*"))
            *out = imported_name(scope, file, stmt, name, depth);
        else if (str_eq(import->alias, name))
            *out = imported_name(scope, file, stmt, import->name, depth);
        else
            continue;
        if (out->kind != MEANS_NOTHING)
            return true;
    }
    return false;
}

static bool target_binds(const Expr *target, Str name, Span *span) {
    if (target->kind == EXPR_name && str_eq(target->u.name, name)) {
        *span = target->span;
        return true;
    }
    if (target->kind != EXPR_tuple && target->kind != EXPR_list)
        return false;
    for (uint32_t i = 0; i < target->u.list.count; i++)
        if (target_binds(target->u.list.items[i], name, span))
            return true;
    return false;
}

static bool stmt_binds(const Stmt *stmt, Str name, Span *span) {
    switch ((int)stmt->kind) {
    case STMT_def:
        *span = stmt->u.def->name_span;
        return str_eq(stmt->u.def->name, name);
    case STMT_class:
        *span = stmt->u.class_def->span;
        return str_eq(stmt->u.class_def->name, name);
    case STMT_assign:
        for (uint32_t i = 0; i < stmt->u.assign.targets.count; i++)
            if (target_binds(stmt->u.assign.targets.items[i], name, span))
                return true;
        return false;
    case STMT_annassign:
        return target_binds(stmt->u.annassign.target, name, span);
    default:
        return false;
    }
}

static Meaning find_global(Scope *scope, const ScopeFile *file, Str name, unsigned depth) {
    const StmtList *body = &file->syntax->body;
    Meaning meaning = {0};
    if (depth > MOST_IMPORTS)
        return meaning;
    for (uint32_t i = body->count; i-- > 0;) {
        const Stmt *stmt = body->items[i];
        Span span;
        if (stmt_binds(stmt, name, &span))
            return (Meaning){MEANS_GLOBAL, file, stmt, name, span, {0}, NULL};
        if (stmt->kind == STMT_import && import_binds(scope, file, stmt, name, depth, &meaning))
            return meaning;
    }
    return (Meaning){0};
}

Meaning scope_global(Scope *scope, const ScopeFile *file, Str name) {
    return find_global(scope, file, name, 0);
}

/* Names of a function */

typedef struct Bindings {
    ScopeBinding *each;
    void *user;
} Bindings;

static void bind_target(const Bindings *b, const Expr *target) {
    if (!target)
        return;
    if (target->kind == EXPR_name)
        b->each(b->user, target->u.name, target->span);
    else if (target->kind == EXPR_starred)
        bind_target(b, target->u.bind.value);
    else if (target->kind == EXPR_tuple || target->kind == EXPR_list)
        for (uint32_t i = 0; i < target->u.list.count; i++)
            bind_target(b, target->u.list.items[i]);
}

static void bind_stmt(void *user, const Stmt *stmt) {
    const Bindings *b = user;
    switch ((int)stmt->kind) {
    case STMT_assign:
        for (uint32_t i = 0; i < stmt->u.assign.targets.count; i++)
            bind_target(b, stmt->u.assign.targets.items[i]);
        return;
    case STMT_augassign:
        bind_target(b, stmt->u.augassign.target);
        return;
    case STMT_annassign:
        bind_target(b, stmt->u.annassign.target);
        return;
    case STMT_for:
        bind_target(b, stmt->u.loop.target);
        return;
    case STMT_with:
        for (uint32_t i = 0; i < stmt->u.with.targets.count; i++)
            bind_target(b, stmt->u.with.targets.items[i]);
        return;
    default:
        return;
    }
}

static void bind_expr(void *user, const Expr *expr) {
    const Bindings *b = user;
    Span span = expr->span;
    span.hi = span.lo + (uint32_t)expr->u.bind.name.len;
    if (expr->kind == EXPR_walrus)
        b->each(b->user, expr->u.bind.name, span);
    for (uint32_t i = 0; expr->kind == EXPR_comprehension && i < expr->u.comprehension.clause_count;
         i++)
        bind_target(b, expr->u.comprehension.clauses[i].target);
}

void scope_bindings(const FuncDef *def, ScopeBinding *each, void *user) {
    Bindings bindings = {each, user};
    const Walker walker = {.expr = bind_expr, .stmt = bind_stmt, .user = &bindings};
    walk_stmts(&walker, &def->body);
}

typedef struct FirstBinding {
    Str name;
    Span span;
} FirstBinding;

static void note_first(void *user, Str name, Span span) {
    FirstBinding *first = user;
    if (str_eq(name, first->name) && (!first->span.file || span.lo < first->span.lo))
        first->span = span;
}

static bool find_local(const Scope *scope, Str name, Meaning *out) {
    const FuncDef *def = scope->def;
    for (uint32_t i = 0; def && i < def->param_count; i++) {
        const Param *param = &def->params[i];
        if (!str_eq(param->name, name))
            continue;
        Span span = param->span;
        span.lo = span.hi - (uint32_t)name.len;
        *out = (Meaning){.kind = MEANS_PARAMETER, .file = scope->own, .name = name, .span = span};
        return true;
    }
    FirstBinding first = {name, {0}};
    if (def)
        scope_bindings(def, note_first, &first);
    *out = (Meaning){.kind = MEANS_VARIABLE, .file = scope->own, .name = name, .span = first.span};
    return first.span.file != 0;
}

static Meaning find_name(Scope *scope, Str name) {
    Meaning meaning;
    if (find_local(scope, name, &meaning))
        return meaning;
    meaning = find_global(scope, scope->home, name, 0);
    if (meaning.kind != MEANS_NOTHING)
        return meaning;
    const Builtin *builtin = builtin_find(name, IN_PYTHON);
    return builtin ? (Meaning){.kind = MEANS_BUILTIN, .builtin = builtin, .name = name}
                   : (Meaning){0};
}

Meaning scope_find(Scope *scope, Str dotted) {
    Str rest = dotted;
    const Str first = import_first_component(rest);
    Meaning meaning = find_name(scope, first);
    for (Str name = first; meaning.kind != MEANS_NOTHING && name.len < rest.len;) {
        rest = (Str){rest.ptr + name.len + 1, rest.len - name.len - 1};
        name = import_first_component(rest);
        meaning = scope_member(scope, &meaning, name);
    }
    return meaning;
}

const FuncDef *meaning_function(const Meaning *meaning) {
    return meaning->kind == MEANS_GLOBAL && meaning->stmt->kind == STMT_def ? meaning->stmt->u.def
                                                                            : NULL;
}

Str scope_dotted(Arena *arena, const Expr *expr) {
    if (expr->kind == EXPR_name)
        return expr->u.name;
    if (expr->kind != EXPR_attribute)
        return (Str){0};
    const Str base = scope_dotted(arena, expr->u.attribute.base);
    return base.len ? str_from(str_format(arena, "%.*s.%.*s", STR_ARG(base),
                                          STR_ARG(expr->u.attribute.name)))
                    : base;
}

/* Where a place is in what was parsed, and the function around it there. */
static const FuncDef *function_in(const Analysis *analysis, const Document *document,
                                  uint32_t *offset) {
    *offset = text_near(document->text.bytes, analysis->text.bytes, *offset);
    return walk_function_at(analysis->syntax, analysis->text.bytes, *offset);
}

bool scope_open(Scope *scope, Session *session, const Document *document, Ctx *ctx,
                uint32_t *offset) {
    const Analysis *now = document->now, *parsed = document->parsed;
    uint32_t before = *offset;
    *scope = (Scope){.ctx = ctx, .session = session};
    if (!now)
        return false;
    scope->home = scope->own = add_file(scope, now->path, now->text.bytes, now->syntax);
    scope->def = function_in(now, document, offset);
    if (scope->def || now->parses || !parsed)
        return true;
    scope->def = function_in(parsed, document, &before); /* its head does not parse now */
    if (scope->def)
        scope->own = add_file(scope, parsed->path, parsed->text.bytes, parsed->syntax);
    return true;
}
