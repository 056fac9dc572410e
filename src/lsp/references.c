/* See references.h. */
#include "lsp/references.h"

#include "lsp/walk.h"

#include <stdlib.h>

typedef struct Collector {
    Arena *arena;
    Str name;
    uint32_t file;
    References *out;
    bool of_globals;
} Collector;

static void add(Collector *c, Span span, bool is_write) {
    if (span.file != c->file)
        return;
    vec_for_each (known, &c->out->list) {
        if (known->span.lo != span.lo)
            continue;
        known->is_write |= is_write;
        return;
    }
    vec_push(c->arena, &c->out->list, (Reference){span, is_write});
}

static void collect_expr(void *user, const Expr *expr) {
    Collector *c = user;
    if (expr->kind == EXPR_name && str_eq(expr->u.name, c->name))
        add(c, expr->span, false);
    if (expr->kind == EXPR_lambda)
        for (uint32_t i = 0; i < expr->u.lambda.param_count; i++)
            c->out->is_clouded |= str_eq(expr->u.lambda.params[i].name, c->name);
    for (uint32_t i = 0; expr->kind == EXPR_comprehension && i < expr->u.comprehension.clause_count;
         i++) {
        const Expr *target = expr->u.comprehension.clauses[i].target;
        c->out->is_clouded |= target->kind != EXPR_name || str_eq(target->u.name, c->name);
    }
}

static void collect_binding(void *user, Str name, Span span) {
    Collector *c = user;
    if (str_eq(name, c->name))
        add(c, span, true);
}

static bool binds(const FuncDef *def, Str name);

/* A function whose own the name is has no reference to the file's. */
static void collect_function(Collector *c, const FuncDef *def) {
    const Walker walker = {.expr = collect_expr, .user = c};
    if (c->of_globals && binds(def, c->name)) {
        for (uint32_t i = 0; i < def->decorators.count; i++)
            walk_expr(&walker, def->decorators.items[i]);
        for (uint32_t i = 0; i < def->param_count; i++) {
            walk_expr(&walker, def->params[i].annotation);
            walk_expr(&walker, def->params[i].default_value);
        }
        return;
    }
    if (c->of_globals)
        walk_function(&walker, def);
    else
        walk_stmts(&walker, &def->body);
}

typedef struct Search {
    Str name;
    bool found;
} Search;

static void search_binding(void *user, Str name, Span span) {
    Search *search = user;
    search->found |= str_eq(search->name, name);
}

static bool binds(const FuncDef *def, Str name) {
    Search search = {name, false};
    for (uint32_t i = 0; i < def->param_count; i++)
        search.found |= str_eq(def->params[i].name, name);
    scope_bindings(def, search_binding, &search);
    return search.found;
}

static void collect_import(Collector *c, Str text, const Stmt *stmt) {
    for (uint32_t i = 0; i < stmt->u.import.name_count; i++) {
        const ImportName *import = &stmt->u.import.names[i];
        if (!str_eq(import->alias, c->name) || import->span.hi > text.len)
            continue;
        Span span = import->span;
        span.lo = span.hi - (uint32_t)c->name.len; /* the name itself, or behind `as` */
        if (str_eq((Str){text.ptr + span.lo, c->name.len}, c->name))
            add(c, span, true);
    }
}

static void collect_globals(Collector *c, const ScopeFile *home) {
    const Walker walker = {.expr = collect_expr, .user = c};
    for (uint32_t i = 0; i < home->syntax->body.count; i++) {
        const Stmt *stmt = home->syntax->body.items[i];
        if (stmt->kind == STMT_def) {
            if (str_eq(stmt->u.def->name, c->name))
                add(c, stmt->u.def->name_span, true);
            collect_function(c, stmt->u.def);
            continue;
        }
        if (stmt->kind == STMT_import)
            collect_import(c, home->text, stmt);
        const StmtList alone = {(Stmt **)(uintptr_t)&home->syntax->body.items[i], 1};
        walk_stmts(&walker, &alone);
        if (stmt->kind == STMT_assign)
            for (uint32_t k = 0; k < stmt->u.assign.targets.count; k++)
                if (stmt->u.assign.targets.items[k]->kind == EXPR_name &&
                    str_eq(stmt->u.assign.targets.items[k]->u.name, c->name))
                    add(c, stmt->u.assign.targets.items[k]->span, true);
    }
}

static int compare(const void *a, const void *b) {
    const Reference *x = a, *y = b;
    return x->span.lo < y->span.lo ? -1 : x->span.lo > y->span.lo;
}

/* The name that stands alone at an offset; empty: none does, or it is an attribute. */
static Str bare_name(const Scope *scope, uint32_t offset) {
    uint32_t begin;
    const Str text = scope->home->text, word = text_word(text, offset, &begin);
    const bool is_member = begin > 0 && text.ptr[begin - 1] == '.';
    return is_member || !word.len || (word.ptr[0] >= '0' && word.ptr[0] <= '9') ? (Str){0} : word;
}

bool references_find(Scope *scope, uint32_t offset, References *out) {
    const Str name = bare_name(scope, offset);
    *out = (References){0};
    if (!name.len)
        return false;
    out->meaning = scope_find(scope, name);
    Collector c = {&scope->ctx->arena, name, scope->home->syntax->file, out, false};
    switch (out->meaning.kind) {
    case MEANS_PARAMETER:
        add(&c, out->meaning.span, true);
        /* fall through */
    case MEANS_VARIABLE:
        if (scope->own != scope->home)
            return false;
        collect_function(&c, scope->def);
        scope_bindings(scope->def, collect_binding, &c);
        break;
    case MEANS_NOTHING:
        return false;
    case MEANS_GLOBAL:
    case MEANS_FILE:
    case MEANS_MODULE:
    case MEANS_BUILTIN:
    case MEANS_TYPE:
        c.of_globals = true;
        collect_globals(&c, scope->home);
        break;
    }
    if (out->list.len)
        qsort(out->list.data, out->list.len, sizeof *out->list.data, compare);
    bool is_here = false;
    vec_for_each (reference, &out->list)
        is_here |= reference->span.lo <= offset && offset <= reference->span.hi;
    return is_here;
}

/* Keywords of arguments */

typedef struct KeywordSearch {
    uint32_t file, offset;
    const Expr *call;
    const Keyword *keyword;
} KeywordSearch;

static void search_keyword(void *user, const Expr *expr) {
    KeywordSearch *search = user;
    for (uint32_t i = 0; expr->kind == EXPR_call && i < expr->u.call.keyword_count; i++) {
        const Keyword *keyword = &expr->u.call.keywords[i];
        if (keyword->span.file == search->file && keyword->span.lo <= search->offset &&
            search->offset <= keyword->span.lo + keyword->name.len) {
            search->call = expr;
            search->keyword = keyword;
        }
    }
}

static Meaning param_meaning(Scope *scope, const KeywordSearch *search) {
    const Str callee = scope_dotted(&scope->ctx->arena, search->call->u.call.callee);
    const Meaning of = callee.len ? scope_find(scope, callee) : (Meaning){0};
    const FuncDef *def = meaning_function(&of);
    for (uint32_t i = 0; def && i < def->param_count; i++)
        if (str_eq(def->params[i].name, search->keyword->name))
            return (Meaning){.kind = MEANS_PARAMETER,
                             .file = of.file,
                             .name = def->params[i].name,
                             .span = def->params[i].span};
    return (Meaning){0};
}

/* What an import statement names at an offset: a module, or the name of one. False: there is none.
 */
static bool import_meaning(Scope *scope, uint32_t offset, Meaning *out) {
    const ScopeFile *home = scope->home;
    uint32_t begin;
    const Str word = text_word(home->text, offset, &begin);
    for (uint32_t i = 0; i < home->syntax->body.count; i++) {
        const Stmt *stmt = home->syntax->body.items[i];
        if (stmt->kind != STMT_import || offset < stmt->span.lo || offset > stmt->span.hi)
            continue;
        *out = scope_module(scope, home, stmt->u.import.module);
        for (uint32_t k = 0; k < stmt->u.import.name_count; k++) {
            const ImportName *name = &stmt->u.import.names[k];
            if (offset < name->span.lo || offset > name->span.hi)
                continue;
            const Meaning module = *out;
            *out = stmt->u.import.is_from ? scope_member(scope, &module, name->name)
                                          : scope_module(scope, home, name->name);
            if (out->kind == MEANS_NOTHING && str_eq(word, name->alias))
                *out = scope_find(scope, word);
        }
        return true;
    }
    return false;
}

Meaning reference_meaning(Scope *scope, uint32_t offset) {
    Meaning imported;
    if (import_meaning(scope, offset, &imported))
        return imported;
    KeywordSearch search = {.file = scope->home->syntax->file, .offset = offset};
    const Walker walker = {.expr = search_keyword, .user = &search};
    walk_file(&walker, scope->home->syntax);
    if (search.call)
        return param_meaning(scope, &search);
    const Expr *call, *expr = walk_innermost(scope->home->syntax, offset, &call);
    const Str dotted = expr ? scope_dotted(&scope->ctx->arena, expr) : (Str){0};
    const Str name = dotted.len ? dotted : bare_name(scope, offset);
    return name.len ? scope_find(scope, name) : (Meaning){0};
}

bool reference_range(const Scope *scope, const Document *document, Span span, uint32_t *lo,
                     uint32_t *hi) {
    const Str before = scope->home->text, after = document->text.bytes;
    return text_follow(before, after, span.lo, lo) && text_follow(before, after, span.hi, hi) &&
           *hi - *lo == span.hi - span.lo;
}
