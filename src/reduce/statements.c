/* See edits.h: statements left out, blocks instead of what they are blocks of, parameters with
 * their arguments, decorators. */
#include "reduce/edits.h"
#include "reduce/walk.h"

/* ---- where statements are ---- */

/* Where a statement begins, its decorators included. */
static uint32_t begin_of(const Syntax *syntax, const Stmt *stmt) {
    Span first;
    if (stmt->kind != STMT_def || !stmt->u.def->decorators.count ||
        !syntax_outer(syntax, stmt->u.def->decorators.items[0]->span, &first))
        return stmt->span.lo;
    const size_t at = syntax_token_at(syntax, first.lo);
    return at ? syntax->tokens.data[at - 1].lo : stmt->span.lo;
}

static bool is_elif(const Syntax *syntax, const Stmt *stmt) {
    return stmt->kind == STMT_if && stmt->span.lo + 4 <= syntax->text.len &&
           !memcmp(syntax->text.ptr + stmt->span.lo, "elif", 4);
}

/* The `else` or `elif` of what follows a block; `end` where there is none. */
static uint32_t else_of(const Syntax *syntax, const StmtList *orelse, uint32_t end) {
    if (!orelse->count)
        return end;
    const uint32_t first = begin_of(syntax, orelse->items[0]);
    if (is_elif(syntax, orelse->items[0]))
        return first;
    const size_t at = syntax_token_at(syntax, first);
    return at >= 2 ? syntax->tokens.data[at - 2].lo : first;
}

typedef struct Block {
    const StmtList *list;
    uint32_t end; /* nothing of it is behind that */
} Block;

/* The blocks of a statement that ends at `end`: its body, what follows `else`. */
static void blocks_of(const Syntax *syntax, const Stmt *stmt, uint32_t end, Block blocks[2]) {
    static const StmtList none;
    const StmtList *body = &none, *orelse = &none;
    switch (stmt->kind) {
    case STMT_if:
    case STMT_while:
        body = &stmt->u.branch.body;
        orelse = &stmt->u.branch.orelse;
        break;
    case STMT_for:
        body = &stmt->u.loop.body;
        orelse = &stmt->u.loop.orelse;
        break;
    case STMT_with:
        body = &stmt->u.with.body;
        break;
    case STMT_def:
        body = &stmt->u.def->body;
        break;
    default:
        break;
    }
    blocks[0] = (Block){body, syntax_end_before(syntax, else_of(syntax, orelse, end))};
    blocks[1] = (Block){orelse, end};
}

/* ---- blocks ---- */

static uint32_t line_start(Str text, uint32_t at) {
    while (at && text.ptr[at - 1] != '\n')
        at--;
    return at;
}

/* What stands in front of it on its line. */
static Str indent_at(Str text, uint32_t at) {
    const uint32_t start = line_start(text, at);
    return (Str){text.ptr + start, at - start};
}

static bool is_within_token(const Syntax *syntax, uint32_t offset) {
    const size_t at = syntax_token_at(syntax, offset);
    return at && syntax->tokens.data[at - 1].hi > offset;
}

/* A block as it is written where `stmt` stands: lines begin as deep as that one. */
static Str unindented(Finder *finder, const Block *block, const Stmt *stmt) {
    const Syntax *syntax = finder->syntax;
    const Str text = syntax->text;
    const uint32_t begin = begin_of(syntax, block->list->items[0]);
    const Str from = indent_at(text, begin), to = indent_at(text, stmt->span.lo);
    StrBuf out = strbuf(finder->arena);
    for (uint32_t at = begin; at < block->end; at++) {
        strbuf_putc(&out, text.ptr[at]);
        const uint32_t next = at + 1;
        if (text.ptr[at] != '\n' || is_within_token(syntax, next) || next + from.len > block->end ||
            memcmp(text.ptr + next, from.ptr, from.len))
            continue;
        strbuf_add(&out, to.ptr, to.len);
        at += (uint32_t)from.len;
    }
    return strbuf_str(&out);
}

/* An `elif` becomes the `else` of what it belongs to, or goes. */
static void add_elif(Finder *finder, Place *place, const Stmt *stmt, const Block blocks[2]) {
    const Syntax *syntax = finder->syntax;
    const uint32_t lo = stmt->span.lo, end = blocks[1].end;
    const size_t body = syntax_token_at(syntax, begin_of(syntax, blocks[0].list->items[0]));
    const uint32_t rest = else_of(syntax, blocks[1].list, end);
    Edit edit = {0};
    vec_push(finder->arena, &edit.parts,
             (Replacement){lo, syntax->tokens.data[body - 1].lo, STR("else")});
    vec_push(finder->arena, &edit.parts, (Replacement){blocks[0].end, end, STR("")});
    vec_push(finder->arena, &place->choices, edit);
    if (rest < end)
        edits_add_choice(finder, place, (Span){0, lo, rest}, STR(""));
}

static void add_compound(Finder *finder, const Stmt *stmt, const Block blocks[2]) {
    const Syntax *syntax = finder->syntax;
    const uint32_t lo = stmt->span.lo, end = blocks[1].end;
    const Span whole = {0, lo, end};
    const Block *orelse = blocks[1].list->count ? &blocks[1] : NULL;
    if (stmt->kind == STMT_def || !blocks[0].list->count)
        return;
    Place *place = edits_add_place(finder);
    if (is_elif(syntax, stmt)) {
        add_elif(finder, place, stmt, blocks);
    } else {
        const Str body = unindented(finder, &blocks[0], stmt);
        edits_add_choice(finder, place, whole, body);
        if (stmt->kind == STMT_for && stmt->u.loop.target->kind == EXPR_name) {
            const Str indent = indent_at(syntax->text, lo), name = stmt->u.loop.target->u.name;
            edits_add_choice(finder, place, whole,
                             str_from(str_format(finder->arena, "%.*s = 0\n%.*s%.*s", STR_ARG(name),
                                                 STR_ARG(indent), STR_ARG(body))));
        }
        if (orelse && is_elif(syntax, orelse->list->items[0]))
            edits_add_choice(finder, place, (Span){0, lo, orelse->list->items[0]->span.lo + 2},
                             STR(""));
        else if (orelse)
            edits_add_choice(finder, place, whole, unindented(finder, orelse, stmt));
    }
    if (orelse)
        edits_add_choice(finder, place, (Span){0, blocks[0].end, end}, STR(""));
}

/* ---- parameters ---- */

/* From the star to the end of the default. */
static Span param_span(const Syntax *syntax, const Param *param) {
    Span span = param->span, part;
    const Expr *parts[] = {param->annotation, param->default_value};
    for (size_t i = 0; i < 2; i++)
        if (parts[i] && syntax_outer(syntax, parts[i]->span, &part) && part.hi > span.hi)
            span.hi = part.hi;
    return span;
}

typedef struct Calls {
    Finder *finder;
    const FuncDef *def;
    uint32_t index; /* of the parameter that goes */
    Edit *edit;
} Calls;

/* f(..), f[grid](..) */
static bool calls_function(const Expr *expr, Str name) {
    if (expr->kind != EXPR_call)
        return false;
    const Expr *callee = expr->u.call.callee;
    if (callee->kind == EXPR_subscript)
        callee = callee->u.subscript.base;
    return callee->kind == EXPR_name && str_eq(callee->u.name, name);
}

static void drop_argument(void *user, const Expr *expr, AstRole role) {
    Calls *calls = user;
    const Str name = calls->def->params[calls->index].name;
    if (!calls_function(expr, calls->def->name))
        return;
    Place list = {.empty = ""};
    size_t found = SIZE_MAX;
    for (uint32_t i = 0; i < expr->u.call.args.count; i++) {
        Span span = expr->u.call.args.items[i]->span;
        syntax_outer(calls->finder->syntax, span, &span);
        if (expr->u.call.args.items[i]->kind == EXPR_starred)
            return;
        found = i == calls->index ? i : found;
        vec_push(calls->finder->arena, &list.items, span);
    }
    for (uint32_t i = 0; i < expr->u.call.keyword_count; i++) {
        const Keyword *keyword = &expr->u.call.keywords[i];
        found = str_eq(keyword->name, name) ? list.items.len : found;
        vec_push(calls->finder->arena, &list.items, keyword->span);
    }
    if (list.items.len)
        list.end = edits_list_end(calls->finder->syntax, list.items.data[list.items.len - 1].hi);
    Edit gone;
    if (found != SIZE_MAX && edits_delete(calls->finder->arena, &list, found, found + 1, &gone))
        vec_push(calls->finder->arena, &calls->edit->parts, gone.parts.data[0]);
}

static void add_param_parts(Finder *finder, const Param *param) {
    const uint32_t end = param_span(finder->syntax, param).hi;
    uint32_t behind = param->span.hi;
    Span span;
    if (param->annotation && syntax_outer(finder->syntax, param->annotation->span, &span)) {
        edits_add_choice(finder, edits_add_place(finder), (Span){0, behind, span.hi}, STR(""));
        behind = span.hi;
    }
    if (param->default_value)
        edits_add_choice(finder, edits_add_place(finder), (Span){0, behind, end}, STR(""));
}

static void add_params(Finder *finder, const FuncDef *def) {
    const Syntax *syntax = finder->syntax;
    Place list = {.empty = ""};
    Span returns;
    for (uint32_t i = 0; i < def->param_count; i++)
        vec_push(finder->arena, &list.items, param_span(syntax, &def->params[i]));
    if (list.items.len)
        list.end = edits_list_end(syntax, list.items.data[list.items.len - 1].hi);
    for (uint32_t i = 0; i < def->param_count; i++) {
        Edit edit;
        if (!edits_delete(finder->arena, &list, i, i + 1, &edit))
            continue;
        edit.function = def->name;
        edit.parameter = def->params[i].name;
        edit.parameter_index = i;
        Calls calls = {finder, def, i, &edit};
        walk_module(syntax->module, syntax->module_count, drop_argument, &calls);
        edits_add_edit(finder, &edit);
        add_param_parts(finder, &def->params[i]);
    }
    if (!def->returns || !syntax_outer(syntax, def->returns->span, &returns))
        return;
    const size_t arrow = syntax_token_at(syntax, returns.lo);
    edits_add_choice(
        finder, edits_add_place(finder),
        (Span){0, syntax_end_before(syntax, syntax->tokens.data[arrow - 1].lo), returns.hi},
        STR(""));
}

/* Each with its line. */
static void add_decorators(Finder *finder, const FuncDef *def) {
    const Syntax *syntax = finder->syntax;
    for (uint32_t i = 0; i < def->decorators.count; i++) {
        Span span;
        if (!syntax_outer(syntax, def->decorators.items[i]->span, &span))
            continue;
        const size_t begin = syntax_token_at(syntax, span.lo),
                     end = syntax_token_at(syntax, span.hi);
        if (begin && end < syntax->tokens.len)
            edits_add_choice(
                finder, edits_add_place(finder),
                (Span){0, syntax->tokens.data[begin - 1].lo, syntax->tokens.data[end].lo}, STR(""));
    }
}

/* ---- all of them ---- */

static void visit_list(Finder *finder, const StmtList *list, uint32_t end);

static void visit(Finder *finder, const Stmt *stmt, uint32_t end) {
    Block blocks[2];
    blocks_of(finder->syntax, stmt, end, blocks);
    if (finder->kind == EDITS_COMPOUND)
        add_compound(finder, stmt, blocks);
    if (finder->kind == EDITS_PARAMETERS && stmt->kind == STMT_def)
        add_params(finder, stmt->u.def);
    if (finder->kind == EDITS_DECORATORS && stmt->kind == STMT_def)
        add_decorators(finder, stmt->u.def);
    for (int i = 0; i < 2; i++)
        if (blocks[i].list->count)
            visit_list(finder, blocks[i].list, blocks[i].end);
}

/* An `elif` is the statement that it follows; it cannot be left out as one of a block. */
static void visit_list(Finder *finder, const StmtList *list, uint32_t end) {
    const Syntax *syntax = finder->syntax;
    VEC(Span) spans = {0};
    for (uint32_t i = 0; i < list->count; i++) {
        const bool is_last = i + 1 == list->count;
        const uint32_t next = is_last ? end : begin_of(syntax, list->items[i + 1]);
        vec_push(finder->arena, &spans,
                 (Span){0, begin_of(syntax, list->items[i]),
                        is_last ? end : syntax_end_before(syntax, next)});
    }
    if (finder->kind == EDITS_STATEMENTS && !is_elif(syntax, list->items[0])) {
        Place *place = edits_add_place(finder);
        place->empty = "pass";
        vec_for_each (span, &spans)
            vec_push(finder->arena, &place->items, *span);
    }
    for (uint32_t i = 0; i < list->count; i++)
        visit(finder, list->items[i], spans.data[i].hi);
}

void edits_statements(Finder *finder) {
    const Syntax *syntax = finder->syntax;
    VEC(Span) spans = {0};
    for (uint32_t i = 0; i < syntax->module_count; i++) {
        const uint32_t end = syntax_end_before(syntax, syntax->module[i].whole.hi);
        const uint32_t lo = syntax->module[i].whole.lo;
        vec_push(finder->arena, &spans, (Span){0, lo, end > lo ? end : syntax->module[i].whole.hi});
    }
    if (finder->kind == EDITS_STATEMENTS && spans.len) {
        Place *place = edits_add_place(finder);
        place->empty = "";
        vec_for_each (span, &spans)
            vec_push(finder->arena, &place->items, *span);
    }
    for (uint32_t i = 0; i < syntax->module_count; i++) {
        const StmtList *parsed = &syntax->module[i].parsed;
        if (parsed->count == 1)
            visit(finder, parsed->items[0], spans.data[i].hi);
        else if (parsed->count)
            visit_list(finder, parsed, spans.data[i].hi);
    }
}
