/* See edits.h: names of functions, parameters and variables become a, b, c, .. in their order. */
#include "reduce/edits.h"
#include "reduce/walk.h"

typedef struct Name {
    Str text;
    const char *short_name; /* that it is to have */
} Name;

typedef struct Names {
    Finder *finder;
    VEC(Name) bound;
    VEC(Str) others;    /* names that are not to be taken */
    VEC(uint32_t) kept; /* where keywords of calls stand that are no parameter's of the file */
} Names;

static Name *find_name(const Names *names, Str text) {
    vec_for_each (name, &names->bound)
        if (str_eq(name->text, text))
            return name;
    return NULL;
}

static void bind(Names *names, Str text) {
    if (text.len && !find_name(names, text))
        vec_push(names->finder->arena, &names->bound, (Name){text, NULL});
}

static void bind_target(void *user, const Expr *expr, AstRole role) {
    Names *names = user;
    if (expr->kind == EXPR_name && role == AST_TARGET)
        bind(names, expr->u.name);
    if (expr->kind == EXPR_walrus)
        bind(names, expr->u.bind.name);
    if (expr->kind == EXPR_lambda)
        for (uint32_t i = 0; i < expr->u.lambda.param_count; i++)
            bind(names, expr->u.lambda.params[i].name);
}

static void bind_function(void *user, const Stmt *stmt) {
    Names *names = user;
    if (stmt->kind != STMT_def)
        return;
    bind(names, stmt->u.def->name);
    for (uint32_t i = 0; i < stmt->u.def->param_count; i++)
        bind(names, stmt->u.def->params[i].name);
}

/* ---- keywords of calls ---- */

typedef struct Callee {
    Str function, keyword;
    bool has_it;
} Callee;

static void look_for_parameter(void *user, const Stmt *stmt) {
    Callee *callee = user;
    if (stmt->kind != STMT_def || !str_eq(stmt->u.def->name, callee->function))
        return;
    for (uint32_t i = 0; i < stmt->u.def->param_count; i++)
        callee->has_it |= str_eq(stmt->u.def->params[i].name, callee->keyword);
}

static void keep_keywords(void *user, const Expr *expr, AstRole role) {
    Names *names = user;
    const Syntax *syntax = names->finder->syntax;
    if (expr->kind != EXPR_call)
        return;
    const Expr *function = expr->u.call.callee;
    if (function->kind == EXPR_subscript)
        function = function->u.subscript.base;
    for (uint32_t i = 0; i < expr->u.call.keyword_count; i++) {
        Callee callee = {.keyword = expr->u.call.keywords[i].name};
        if (function->kind == EXPR_name) {
            callee.function = function->u.name;
            walk_statements(syntax->module, syntax->module_count, look_for_parameter, &callee);
        }
        if (!callee.has_it)
            vec_push(names->finder->arena, &names->kept, expr->u.call.keywords[i].span.lo);
    }
}

/* ---- short names ---- */

static bool is_kept(const Names *names, uint32_t lo) {
    vec_for_each (at, &names->kept)
        if (*at == lo)
            return true;
    return false;
}

/* The token names a variable: it is no attribute's, and no keyword's of another function. */
static Name *named_by(const Names *names, size_t at) {
    const Syntax *syntax = names->finder->syntax;
    const Token *token = &syntax->tokens.data[at];
    if (token->kind != TOK_name || (at && token[-1].kind == OP_dot) || is_kept(names, token->lo))
        return NULL;
    return find_name(names, syntax_text(syntax, (Span){0, token->lo, token->hi}));
}

/* The nth of a, b, .., z, a1, b1, .. */
static const char *nth_name(Arena *arena, unsigned n) {
    enum { LETTERS = 26 };
    const char letter = (char)('a' + n % LETTERS);
    return n < LETTERS ? str_format(arena, "%c", letter)
                       : str_format(arena, "%c%u", letter, n / LETTERS);
}

static bool is_short(Str text) {
    if (!text.len || text.ptr[0] < 'a' || text.ptr[0] > 'z')
        return false;
    for (size_t i = 1; i < text.len; i++)
        if (text.ptr[i] < '0' || text.ptr[i] > '9')
            return false;
    return true;
}

static bool is_taken(const Names *names, const char *text) {
    vec_for_each (other, &names->others)
        if (str_is(*other, text))
            return true;
    return false;
}

/* Every name that stands somewhere and is not bound, and those that are short already. */
static void find_others(Names *names) {
    const Syntax *syntax = names->finder->syntax;
    for (size_t i = 0; i < syntax->tokens.len; i++) {
        const Token *token = &syntax->tokens.data[i];
        const Str text = syntax_text(syntax, (Span){0, token->lo, token->hi});
        if (token->kind == TOK_name && (!named_by(names, i) || is_short(text)))
            vec_push(names->finder->arena, &names->others, text);
    }
}

static void rename_to(const Names *names, Edit *edit, const Name *only) {
    const Syntax *syntax = names->finder->syntax;
    for (size_t i = 0; i < syntax->tokens.len; i++) {
        const Name *name = named_by(names, i);
        const Token *token = &syntax->tokens.data[i];
        if (name && name->short_name && (!only || only == name))
            vec_push(names->finder->arena, &edit->parts,
                     (Replacement){token->lo, token->hi, str_from(name->short_name)});
    }
}

static void choose_names(Names *names) {
    unsigned next = 0;
    for (size_t i = 0; i < names->finder->syntax->tokens.len; i++) {
        Name *name = named_by(names, i);
        if (!name || name->short_name || is_short(name->text))
            continue;
        do {
            name->short_name = nth_name(names->finder->arena, next++);
        } while (is_taken(names, name->short_name));
    }
}

/* All at once, else one by one: what the command names has to stay. */
void edits_names(Finder *finder) {
    const Syntax *syntax = finder->syntax;
    Names names = {.finder = finder};
    walk_statements(syntax->module, syntax->module_count, bind_function, &names);
    walk_module(syntax->module, syntax->module_count, bind_target, &names);
    walk_module(syntax->module, syntax->module_count, keep_keywords, &names);
    find_others(&names);
    choose_names(&names);
    Edit all = {0};
    rename_to(&names, &all, NULL);
    if (all.parts.len)
        edits_add_edit(finder, &all);
    vec_for_each (name, &names.bound) {
        if (!name->short_name)
            continue;
        Edit edit = {0};
        rename_to(&names, &edit, name);
        edits_add_edit(finder, &edit);
    }
}
