/* The top level of a file: which of its statements kernels can refer to.
 *
 * At top level, host code is the rule: a statement that cannot matter to kernels is passed over by
 * its lines and its indentation. `if`, `else` and `try` at top level are looked into, because
 * kernels are often defined under them; of the definitions of one name in the branches of one
 * statement the first wins, unless the condition can be decided from constants. */
#include "frontend/parse_top.h"

#include <stdlib.h>

/* What is known of a condition without running the program. */
typedef enum Truth { TRUTH_unknown, TRUTH_false, TRUTH_true } Truth;

static Stmt *read_simple(Parser *p) {
    bool import = parse_at(p, KW_import) || parse_at(p, KW_from);
    Stmt *stmt = import ? parse_import(p) : parse_simple_expression(p);
    if (!parse_at(p, TOK_newline) && !parse_at(p, OP_semicolon) && !parse_at(p, TOK_end))
        parse_fail_expected(p, "the end of the statement");
    return stmt;
}

static bool is_name_or_names(const Expr *target) {
    if (target->kind == EXPR_name)
        return true;
    if (target->kind != EXPR_tuple)
        return false;
    for (uint32_t i = 0; i < target->u.list.count; i++)
        if (target->u.list.items[i]->kind != EXPR_name)
            return false;
    return true;
}

/* Whether kernels can refer to what the statement binds. */
static bool is_kept(const Stmt *stmt) {
    switch (stmt->kind) {
    case STMT_import:
        return true;
    case STMT_annassign:
        return stmt->u.annassign.target->kind == EXPR_name && stmt->u.annassign.value;
    case STMT_assign:
        for (uint32_t i = 0; i < stmt->u.assign.targets.count; i++)
            if (!is_name_or_names(stmt->u.assign.targets.items[i]))
                return false;
        return true;
    default:
        return false;
    }
}

/* The simple statements of a line; one that does not parse ends the line. */
static void top_simple_line(TopLevel *top) {
    Parser *p = top->p;
    do {
        Stmt *stmt = read_silently(p, read_simple);
        if (!stmt)
            break;
        if (is_kept(stmt))
            vec_push(p->arena, &top->body, stmt);
    } while (parse_accept(p, OP_semicolon) && !parse_at(p, TOK_newline));
}

static void top_statement(TopLevel *top);

/* Statements of an indented block, or of the rest of a line. */
static void top_block(TopLevel *top) {
    Parser *p = top->p;
    if (!parse_accept(p, TOK_newline)) {
        top_simple_line(top);
        top_skip_line(p);
        return;
    }
    if (!parse_accept(p, TOK_indent))
        return;
    while (!parse_at(p, TOK_end) && !parse_accept(p, TOK_dedent) && !diag_full(p->diags))
        top_statement(top);
}

/* The name that target number `index` stands for, counting the elements of tuples; see is_kept. */
static Str target_name(const Stmt *stmt, uint32_t index) {
    for (uint32_t t = 0; t < stmt->u.assign.targets.count; t++) {
        const Expr *target = stmt->u.assign.targets.items[t];
        uint32_t count = target->kind == EXPR_tuple ? target->u.list.count : 1;
        if (index < count)
            return target->kind == EXPR_tuple ? target->u.list.items[index]->u.name
                                              : target->u.name;
        index -= count;
    }
    return STR("");
}

Str ast_bound_name(const Stmt *stmt, uint32_t index) {
    switch (stmt->kind) {
    case STMT_def:
        return index == 0 ? stmt->u.def->name : STR("");
    case STMT_class:
        return index == 0 ? stmt->u.class_def->name : STR("");
    case STMT_annassign:
        return index == 0 ? stmt->u.annassign.target->u.name : STR("");
    case STMT_import:
        return index < stmt->u.import.name_count ? stmt->u.import.names[index].alias : STR("");
    case STMT_assign:
        return target_name(stmt, index);
    default:
        return STR("");
    }
}

static int compare_names(const void *a, const void *b) {
    const Str *x = a, *y = b;
    int order = memcmp(x->ptr, y->ptr, x->len < y->len ? x->len : y->len);
    return order ? order : (x->len > y->len) - (x->len < y->len);
}

static bool defines(const Stmt *stmt, Str name) {
    for (uint32_t i = 0; ast_bound_name(stmt, i).len; i++)
        if (str_eq(ast_bound_name(stmt, i), name))
            return true;
    return false;
}

/* Definitions [first, last) of the top level. */
typedef struct Range {
    size_t first, last;
} Range;

/* Takes from a statement the names that are also in `names`, sorted; false if nothing is left of
 * it. */
static bool keep_unshadowed(Stmt *stmt, const Str *names, size_t name_count) {
    uint32_t count = 0, left = 0;
    for (; ast_bound_name(stmt, count).len; count++) {
        Str name = ast_bound_name(stmt, count);
        bool shadowed = bsearch(&name, names, name_count, sizeof(Str), compare_names);
        if (stmt->kind == STMT_import && !shadowed)
            stmt->u.import.names[left] = stmt->u.import.names[count];
        left += !shadowed;
    }
    if (stmt->kind == STMT_import)
        stmt->u.import.name_count = left;
    return left || !count;
}

/* Two branches of one statement: drops from `losers` what `winners` define too. */
static void drop_shadowed(TopLevel *top, Range winners, Range losers) {
    Arena *arena = top->p->arena;
    VEC(Str) names = {0};
    for (size_t i = winners.first; i < winners.last; i++)
        for (uint32_t n = 0; ast_bound_name(top->body.data[i], n).len; n++)
            vec_push(arena, &names, ast_bound_name(top->body.data[i], n));
    if (names.len == 0)
        return;
    qsort(names.data, names.len, sizeof(Str), compare_names);
    size_t kept = losers.first;
    for (size_t i = losers.first; i < top->body.len; i++)
        if (i >= losers.last || keep_unshadowed(top->body.data[i], names.data, names.len))
            top->body.data[kept++] = top->body.data[i];
    top->body.len = kept;
}

/* What each target of an assignment gets; NULL if one is a tuple. */
static const Expr *assigned_alone(const Stmt *stmt) {
    for (uint32_t t = 0; t < stmt->u.assign.targets.count; t++)
        if (stmt->u.assign.targets.items[t]->kind != EXPR_name)
            return NULL;
    return stmt->u.assign.value;
}

static const Expr *constant_name(TopLevel *top, Str name) {
    for (size_t i = top->body.len; i-- > 0 && top->searched < MAX_SEARCHED; top->searched++)
        if (defines(top->body.data[i], name)) {
            const Stmt *stmt = top->body.data[i];
            return stmt->kind == STMT_assign      ? assigned_alone(stmt)
                   : stmt->kind == STMT_annassign ? stmt->u.annassign.value
                                                  : NULL;
        }
    return NULL;
}

/* The default of os.environ.get(name, default) and os.getenv(name, default): a compilation does not
 * depend on the environment, so variables count as unset. NULL if the call is another. */
static const Expr *environment_default(const Expr *call) {
    static const Expr none = {.kind = EXPR_none, .height = 1};
    const Expr *callee = call->u.call.callee;
    if (callee->kind != EXPR_attribute || call->u.call.keyword_count || !call->u.call.args.count)
        return NULL;
    const Expr *base = callee->u.attribute.base;
    bool get = str_is(callee->u.attribute.name, "get") && base->kind == EXPR_attribute &&
               str_is(base->u.attribute.name, "environ");
    bool getenv_call = str_is(callee->u.attribute.name, "getenv") && base->kind == EXPR_name &&
                       str_is(base->u.name, "os");
    if (!get && !getenv_call)
        return NULL;
    return call->u.call.args.count > 1 ? call->u.call.args.items[1] : &none;
}

static bool is_language(const Expr *e) {
    return (e->kind == EXPR_name && (str_is(e->u.name, "tl") || str_is(e->u.name, "triton"))) ||
           (e->kind == EXPR_attribute && is_language(e->u.attribute.base));
}

/* hasattr(tl, "name"): public names of the language are there, private ones (experiments of some
 * version) are not. NULL if the call is another. */
static const Expr *language_has(const Expr *call) {
    static const Expr yes = {.kind = EXPR_bool, .height = 1, .u.boolean = true};
    static const Expr no = {.kind = EXPR_bool, .height = 1};
    const Expr *callee = call->u.call.callee;
    bool is_hasattr = callee->kind == EXPR_name && str_is(callee->u.name, "hasattr") &&
                      call->u.call.args.count == 2;
    if (!is_hasattr || !is_language(call->u.call.args.items[0]) ||
        call->u.call.args.items[1]->kind != EXPR_string)
        return NULL;
    Str name = call->u.call.args.items[1]->u.string;
    return name.len && name.ptr[0] == '_' ? &no : &yes;
}

/* The constant that `e` stands for, or NULL. `fuel` bounds chains of names. */
static const Expr *constant_value(TopLevel *top, const Expr *e, int fuel) {
    static const Expr false_value = {.kind = EXPR_bool, .height = 1};
    static const Expr module_name = {.kind = EXPR_string, .height = 1, .u.string = STR("kernels")};
    const Expr *next = NULL;
    if (!e || fuel == 0)
        return NULL;
    switch (e->kind) {
    case EXPR_bool:
    case EXPR_int:
    case EXPR_string:
    case EXPR_none:
        return e;
    case EXPR_name:
        if (str_is(e->u.name, "__name__"))
            return &module_name;
        if (str_is(e->u.name, "TYPE_CHECKING"))
            return &false_value;
        next = constant_name(top, e->u.name);
        break;
    case EXPR_attribute:
        return str_is(e->u.attribute.name, "TYPE_CHECKING") ? &false_value : NULL;
    case EXPR_call:
        next = environment_default(e);
        if (!next)
            next = language_has(e);
        break;
    default:
        return NULL;
    }
    return constant_value(top, next, fuel - 1);
}

static bool same_constant(const Expr *a, const Expr *b) {
    if (a->kind != b->kind)
        return false;
    switch (a->kind) {
    case EXPR_bool:
        return a->u.boolean == b->u.boolean;
    case EXPR_int:
        return a->u.integer.lo == b->u.integer.lo && a->u.integer.hi == b->u.integer.hi &&
               (a->u.integer.hi < UINT64_MAX || str_eq(a->u.integer.text, b->u.integer.text));
    case EXPR_string:
        return str_eq(a->u.string, b->u.string);
    default:
        return true;
    }
}

static Truth truth_not(Truth truth) {
    return truth == TRUTH_unknown ? truth : truth == TRUTH_true ? TRUTH_false : TRUTH_true;
}

static Truth decide_comparison(TopLevel *top, const Expr *e) {
    if (e->u.compare.operands.count != 2)
        return TRUTH_unknown;
    const Expr *a = constant_value(top, e->u.compare.operands.items[0], 16);
    const Expr *b = constant_value(top, e->u.compare.operands.items[1], 16);
    if (!a || !b)
        return TRUTH_unknown;
    Truth same = same_constant(a, b) ? TRUTH_true : TRUTH_false;
    switch (e->u.compare.ops[0]) {
    case ASTOP_eq:
    case ASTOP_is:
        return same;
    case ASTOP_ne:
    case ASTOP_isnot:
        return truth_not(same);
    default:
        return TRUTH_unknown;
    }
}

static Truth decide(TopLevel *top, const Expr *e) {
    if (e->kind == EXPR_unary && e->u.unary.op == ASTOP_not)
        return truth_not(decide(top, e->u.unary.operand));
    if (e->kind == EXPR_compare)
        return decide_comparison(top, e);
    if (e->kind == EXPR_boolop) {
        Truth settles = e->u.boolop.op == ASTOP_or ? TRUTH_true : TRUTH_false;
        Truth result = truth_not(settles);
        for (uint32_t i = 0; i < e->u.boolop.operands.count; i++) {
            Truth truth = decide(top, e->u.boolop.operands.items[i]);
            if (truth == settles)
                return settles;
            if (truth == TRUTH_unknown)
                result = truth;
        }
        return result;
    }
    const Expr *value = constant_value(top, e, 16);
    if (!value)
        return TRUTH_unknown;
    bool truth = value->kind == EXPR_bool     ? value->u.boolean
                 : value->kind == EXPR_int    ? value->u.integer.lo || value->u.integer.hi
                 : value->kind == EXPR_string ? value->u.string.len > 0
                                              : false;
    return truth ? TRUTH_true : TRUTH_false;
}

static Stmt *read_condition(Parser *p) {
    Stmt *stmt = parse_new_stmt(p, STMT_expr, parse_peek(p).lo);
    stmt->u.expr = parse_named(p);
    parse_expect(p, OP_colon, "`:`");
    return stmt;
}

/* A branch whose colon has been taken; its definitions yield to those from `first` on. */
static void top_branch(TopLevel *top, size_t first) {
    size_t second = top->body.len;
    top_block(top);
    drop_shadowed(top, (Range){first, second}, (Range){second, top->body.len});
}

/* `if not HAS_X` guards a substitute for what newer versions have: the other branch is the one to
 * take. */
static bool is_negated(const Expr *condition) {
    return condition->kind == EXPR_unary && condition->u.unary.op == ASTOP_not;
}

static void top_if(TopLevel *top) {
    Parser *p = top->p;
    size_t first = top->body.len;
    bool taken = false, substitute = false;
    while (parse_at(p, KW_if) || parse_at(p, KW_elif)) {
        bool is_first = parse_take(p).kind == KW_if;
        Stmt *condition = read_silently(p, read_condition);
        Truth truth = condition ? decide(top, condition->u.expr) : TRUTH_unknown;
        if (!condition || taken || truth == TRUTH_false)
            top_skip_statement(p);
        else
            top_branch(top, first);
        taken |= truth == TRUTH_true;
        substitute =
            is_first && condition && truth == TRUTH_unknown && is_negated(condition->u.expr);
        if (!parse_at(p, KW_elif))
            break;
    }
    if (!parse_at(p, KW_else))
        return;
    parse_take(p);
    size_t second = top->body.len;
    if (taken || !parse_accept(p, OP_colon)) {
        top_skip_statement(p);
    } else if (substitute) {
        top_block(top);
        drop_shadowed(top, (Range){second, top->body.len}, (Range){first, second});
    } else {
        top_branch(top, first);
    }
}

/* Takes the tokens of a header up to its colon; false if there is none. */
static bool skip_to_colon(Parser *p) {
    size_t depth = 0;
    for (;;) {
        TokenKind kind = parse_peek(p).kind;
        if (kind == TOK_newline || kind == TOK_end || kind == TOK_error)
            return false;
        parse_take(p);
        if (kind == OP_colon && depth == 0)
            return true;
        depth += kind == OP_lparen || kind == OP_lbracket || kind == OP_lbrace;
        depth -= depth && (kind == OP_rparen || kind == OP_rbracket || kind == OP_rbrace);
    }
}

static void top_try(TopLevel *top) {
    Parser *p = top->p;
    size_t first = top->body.len;
    do {
        if (skip_to_colon(p))
            top_branch(top, first);
        else
            top_skip_statement(p);
    } while (parse_at(p, KW_except) || parse_at(p, KW_else) || parse_at(p, KW_finally));
}

/* One statement outside functions. Takes at least one token, except at a DEDENT and the end. */
static void top_statement(TopLevel *top) {
    Parser *p = top->p;
    Token token = parse_peek(p);
    bool nested = token.kind == KW_if || token.kind == KW_try;
    if (nested && p->blocks < PARSE_MAX_BLOCKS) {
        p->blocks++;
        uint32_t blocks = p->blocks;
        if (token.kind == KW_if)
            top_if(top);
        else
            top_try(top);
        p->blocks = blocks - 1;
        return;
    }
    switch (token.kind) {
    case OP_at:
    case KW_def:
    case KW_class:
        top_definition(top);
        return;
    case TOK_indent:
        /* Behind a line that does not parse, or a stray one: its statements are host code. */
        top_skip_statement(p);
        return;
    case TOK_error:
        if (!top_accept_line_error(p))
            top_skip_statement(p);
        return;
    case TOK_name:
    case KW_import:
    case KW_from:
    case OP_lparen:
        top_simple_line(top);
        break;
    default:
        break;
    }
    top_skip_statement(p);
}

AstFile *parse_file(Diags *diags, uint32_t file) {
    Parser p;
    parse_begin(&p, diags, file);
    TopLevel top = {.p = &p};
    while (!parse_at(&p, TOK_end) && !diag_full(diags))
        if (!parse_accept(&p, TOK_dedent))
            top_statement(&top);
    AstFile *ast = ARENA_NEW(diags->arena, AstFile);
    ast->file = file;
    ast->body = parse_stmt_list(&top.body);
    return ast;
}
