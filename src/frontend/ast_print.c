/* The tree as indented s-expressions: (kind attributes... children...), one node a line. Spans are
 * not printed, so the text depends on the meaning of the source only. */
#include "frontend/ast.h"

#include <math.h>

const char *const ast_construct_text[CONSTRUCT_COUNT] = {
#define X(id, text, remedy) text,
    AST_CONSTRUCTS(X)
#undef X
};
const char *const ast_construct_remedy[CONSTRUCT_COUNT] = {
#define X(id, text, remedy) remedy,
    AST_CONSTRUCTS(X)
#undef X
};
static const char *const construct_name[CONSTRUCT_COUNT] = {
#define X(id, text, remedy) #id,
    AST_CONSTRUCTS(X)
#undef X
};
const char *const ast_expr_kind_name[EXPR_COUNT] = {
#define X(name) #name,
    AST_EXPR_KINDS(X)
#undef X
};
const char *const ast_stmt_kind_name[STMT_COUNT] = {
#define X(name) #name,
    AST_STMT_KINDS(X)
#undef X
};
const char *const ast_operator_text[ASTOP_COUNT] = {
#define X(name, text) text,
    AST_OPERATORS(X)
#undef X
};

typedef struct Printer {
    StrBuf *out;
    unsigned depth;
    Span span;       /* of the statement or expression that is printed */
    SpanList *lines; /* NULL: nobody asks */
} Printer;

static void print_expr(Printer *printer, const Expr *expr);
static void print_stmt(Printer *printer, const Stmt *stmt);
static void print_def(Printer *printer, const FuncDef *def);

static void open_node(Printer *printer, const char *name) {
    if (printer->out->len)
        strbuf_putc(printer->out, '\n');
    for (unsigned i = 0; i < printer->depth; i++)
        strbuf_puts(printer->out, "  ");
    strbuf_printf(printer->out, "(%s", name);
    if (printer->lines)
        vec_push(printer->out->arena, printer->lines, printer->span);
    printer->depth++;
}

static void close_node(Printer *printer) {
    strbuf_putc(printer->out, ')');
    printer->depth--;
}

static void add_name(Printer *printer, Str name) {
    strbuf_printf(printer->out, " %.*s", STR_ARG(name));
}

static void add_string(Printer *printer, Str string) {
    strbuf_putc(printer->out, ' ');
    strbuf_json(printer->out, string);
}

static void add_operator(Printer *printer, AstOperator op) {
    strbuf_printf(printer->out, " %s", ast_operator_text[op]);
}

static void add_form(Printer *printer, ComprehensionForm form) {
    static const char *const forms[] = {"generator", "list", "set", "dict"};
    strbuf_printf(printer->out, " %s", forms[form]);
}

/* (name child), or nothing for a NULL child. */
static void print_part(Printer *printer, const char *name, const Expr *expr) {
    if (!expr)
        return;
    open_node(printer, name);
    print_expr(printer, expr);
    close_node(printer);
}

static void print_list(Printer *printer, ExprList list) {
    for (uint32_t i = 0; i < list.count; i++)
        print_expr(printer, list.items[i]);
}

static void print_two(Printer *printer, const Expr *first, const Expr *second) {
    print_expr(printer, first);
    print_expr(printer, second);
}

static void print_body(Printer *printer, const char *name, StmtList body) {
    if (!body.count)
        return;
    open_node(printer, name);
    for (uint32_t i = 0; i < body.count; i++)
        print_stmt(printer, body.items[i]);
    close_node(printer);
}

static void print_params(Printer *printer, const Param *params, uint32_t count) {
    const Span outer = printer->span;
    for (uint32_t i = 0; i < count; i++) {
        const Param *param = &params[i];
        printer->span = param->span;
        open_node(printer, "param");
        strbuf_printf(printer->out, " %s%.*s", &"**"[2 - param->star], STR_ARG(param->name));
        if (param->keyword_only)
            strbuf_puts(printer->out, " keyword-only");
        if (param->positional_only)
            strbuf_puts(printer->out, " positional-only");
        print_part(printer, "annotation", param->annotation);
        print_part(printer, "default", param->default_value);
        close_node(printer);
    }
    printer->span = outer;
}

static void add_integer(Printer *printer, const Expr *expr) {
    if (expr->u.integer.hi == UINT64_MAX && expr->u.integer.lo == UINT64_MAX)
        strbuf_printf(printer->out, " %.*s", STR_ARG(expr->u.integer.text));
    else if (expr->u.integer.hi)
        strbuf_printf(printer->out, " 0x%llx%016llx", (unsigned long long)expr->u.integer.hi,
                      (unsigned long long)expr->u.integer.lo);
    else
        strbuf_printf(printer->out, " %llu", (unsigned long long)expr->u.integer.lo);
}

/* Shortest digits are not needed: 17 are exact. */
static void add_number(Printer *printer, double number) {
    if (isinf(number))
        strbuf_puts(printer->out, " inf");
    else
        strbuf_printf(printer->out, " %.17g", number);
}

static void print_call(Printer *printer, const Expr *expr) {
    print_expr(printer, expr->u.call.callee);
    print_list(printer, expr->u.call.args);
    for (uint32_t i = 0; i < expr->u.call.keyword_count; i++) {
        const Keyword *keyword = &expr->u.call.keywords[i];
        open_node(printer, "keyword");
        add_name(printer, keyword->name.len ? keyword->name : STR("**"));
        print_expr(printer, keyword->value);
        close_node(printer);
    }
}

static void print_slice(Printer *printer, const Expr *expr) {
    print_part(printer, "start", expr->u.slice.start);
    print_part(printer, "stop", expr->u.slice.stop);
    print_part(printer, "step", expr->u.slice.step);
}

static void print_dict(Printer *printer, const Expr *expr) {
    for (uint32_t i = 0; i < expr->u.dict.count; i++) {
        open_node(printer, "item");
        if (expr->u.dict.keys[i])
            print_expr(printer, expr->u.dict.keys[i]);
        else
            strbuf_puts(printer->out, " **");
        print_expr(printer, expr->u.dict.values[i]);
        close_node(printer);
    }
}

static void print_comprehension(Printer *printer, const Expr *expr) {
    print_expr(printer, expr->u.comprehension.element);
    if (expr->u.comprehension.value)
        print_expr(printer, expr->u.comprehension.value);
    for (uint32_t i = 0; i < expr->u.comprehension.clause_count; i++) {
        const ForClause *clause = &expr->u.comprehension.clauses[i];
        open_node(printer, "for");
        print_expr(printer, clause->target);
        print_expr(printer, clause->iterable);
        for (uint32_t c = 0; c < clause->conditions.count; c++)
            print_part(printer, "if", clause->conditions.items[c]);
        close_node(printer);
    }
}

/* What stands on the line of the node behind its name. */
static void add_words(Printer *printer, const Expr *expr) {
    switch (expr->kind) {
    case EXPR_name:
        add_name(printer, expr->u.name);
        break;
    case EXPR_int:
        add_integer(printer, expr);
        break;
    case EXPR_float:
        add_number(printer, expr->u.number);
        break;
    case EXPR_string:
        add_string(printer, expr->u.string);
        break;
    case EXPR_bool:
        strbuf_puts(printer->out, expr->u.boolean ? " True" : " False");
        break;
    case EXPR_unary:
        add_operator(printer, expr->u.unary.op);
        break;
    case EXPR_binary:
        add_operator(printer, expr->u.binary.op);
        break;
    case EXPR_boolop:
        add_operator(printer, expr->u.boolop.op);
        break;
    case EXPR_compare:
        for (uint32_t i = 0; i + 1 < expr->u.compare.operands.count; i++)
            add_operator(printer, expr->u.compare.ops[i]);
        break;
    case EXPR_attribute:
        add_name(printer, expr->u.attribute.name);
        break;
    case EXPR_walrus:
        add_name(printer, expr->u.bind.name);
        break;
    case EXPR_comprehension:
        add_form(printer, expr->u.comprehension.form);
        break;
    case EXPR_formatted:
        if (expr->u.formatted.conversion)
            strbuf_printf(printer->out, " !%c", expr->u.formatted.conversion);
        break;
    case EXPR_unsupported:
        strbuf_printf(printer->out, " %s", construct_name[expr->u.construct]);
        break;
    case EXPR_none:
    case EXPR_ellipsis:
    case EXPR_tuple:
    case EXPR_list:
    case EXPR_set:
    case EXPR_fstring:
    case EXPR_ternary:
    case EXPR_call:
    case EXPR_subscript:
    case EXPR_slice:
    case EXPR_lambda:
    case EXPR_starred:
    case EXPR_dict:
    case EXPR_COUNT:
        break;
    }
}

/* The nodes below it, a line each. */
static void print_children(Printer *printer, const Expr *expr) {
    switch (expr->kind) {
    case EXPR_tuple:
    case EXPR_list:
    case EXPR_set:
    case EXPR_fstring:
        print_list(printer, expr->u.list);
        break;
    case EXPR_unary:
        print_expr(printer, expr->u.unary.operand);
        break;
    case EXPR_binary:
        print_two(printer, expr->u.binary.left, expr->u.binary.right);
        break;
    case EXPR_boolop:
        print_list(printer, expr->u.boolop.operands);
        break;
    case EXPR_compare:
        print_list(printer, expr->u.compare.operands);
        break;
    case EXPR_ternary:
        print_part(printer, "condition", expr->u.ternary.condition);
        print_two(printer, expr->u.ternary.then_value, expr->u.ternary.else_value);
        break;
    case EXPR_call:
        print_call(printer, expr);
        break;
    case EXPR_subscript:
        print_two(printer, expr->u.subscript.base, expr->u.subscript.index);
        break;
    case EXPR_slice:
        print_slice(printer, expr);
        break;
    case EXPR_attribute:
        print_expr(printer, expr->u.attribute.base);
        break;
    case EXPR_lambda:
        print_params(printer, expr->u.lambda.params, expr->u.lambda.param_count);
        print_expr(printer, expr->u.lambda.body);
        break;
    case EXPR_walrus:
    case EXPR_starred:
        print_expr(printer, expr->u.bind.value);
        break;
    case EXPR_dict:
        print_dict(printer, expr);
        break;
    case EXPR_comprehension:
        print_comprehension(printer, expr);
        break;
    case EXPR_formatted:
        print_expr(printer, expr->u.formatted.value);
        print_part(printer, "format", expr->u.formatted.spec);
        break;
    case EXPR_name:
    case EXPR_int:
    case EXPR_float:
    case EXPR_string:
    case EXPR_bool:
    case EXPR_none:
    case EXPR_ellipsis:
    case EXPR_unsupported:
    case EXPR_COUNT:
        break;
    }
}

static void print_expr(Printer *printer, const Expr *expr) {
    const Span outer = printer->span;
    printer->span = expr->span;
    open_node(printer, ast_expr_kind_name[expr->kind]);
    add_words(printer, expr);
    print_children(printer, expr);
    close_node(printer);
    printer->span = outer;
}

static void print_import(Printer *printer, const Stmt *stmt) {
    if (stmt->u.import.is_from) {
        strbuf_puts(printer->out, " from");
        add_name(printer, stmt->u.import.module);
    }
    for (uint32_t i = 0; i < stmt->u.import.name_count; i++) {
        const ImportName *import = &stmt->u.import.names[i];
        open_node(printer, "as");
        add_name(printer, import->name);
        add_name(printer, import->alias);
        close_node(printer);
    }
}

static void print_with(Printer *printer, const Stmt *stmt) {
    for (uint32_t i = 0; i < stmt->u.with.items.count; i++) {
        open_node(printer, "item");
        print_expr(printer, stmt->u.with.items.items[i]);
        print_part(printer, "as", stmt->u.with.targets.items[i]);
        close_node(printer);
    }
    print_body(printer, "body", stmt->u.with.body);
}

static void print_assign(Printer *printer, const Stmt *stmt) {
    for (uint32_t i = 0; i < stmt->u.assign.targets.count; i++)
        print_part(printer, "target", stmt->u.assign.targets.items[i]);
    print_expr(printer, stmt->u.assign.value);
}

static void print_class(Printer *printer, const ClassDef *def) {
    open_node(printer, "class");
    add_name(printer, def->name);
    for (uint32_t i = 0; i < def->decorators.count; i++)
        print_part(printer, "decorator", def->decorators.items[i]);
    for (uint32_t i = 0; i < def->bases.count; i++)
        print_part(printer, "base", def->bases.items[i]);
    print_body(printer, "body", def->body);
    close_node(printer);
}

static void print_statement(Printer *printer, const Stmt *stmt) {
    if (stmt->kind == STMT_def) {
        print_def(printer, stmt->u.def);
        return;
    }
    if (stmt->kind == STMT_class) {
        print_class(printer, stmt->u.class_def);
        return;
    }
    open_node(printer, ast_stmt_kind_name[stmt->kind]);
    switch (stmt->kind) {
    case STMT_expr:
    case STMT_return:
    case STMT_raise:
    case STMT_del:
        if (stmt->u.expr)
            print_expr(printer, stmt->u.expr);
        break;
    case STMT_assign:
        print_assign(printer, stmt);
        break;
    case STMT_augassign:
        add_operator(printer, stmt->u.augassign.op);
        print_part(printer, "target", stmt->u.augassign.target);
        print_expr(printer, stmt->u.augassign.value);
        break;
    case STMT_annassign:
        print_part(printer, "target", stmt->u.annassign.target);
        print_part(printer, "annotation", stmt->u.annassign.annotation);
        if (stmt->u.annassign.value)
            print_expr(printer, stmt->u.annassign.value);
        break;
    case STMT_if:
    case STMT_while:
        print_part(printer, "condition", stmt->u.branch.condition);
        print_body(printer, "body", stmt->u.branch.body);
        print_body(printer, "else", stmt->u.branch.orelse);
        break;
    case STMT_for:
        print_part(printer, "target", stmt->u.loop.target);
        print_part(printer, "in", stmt->u.loop.iterable);
        print_body(printer, "body", stmt->u.loop.body);
        print_body(printer, "else", stmt->u.loop.orelse);
        break;
    case STMT_assert:
        print_expr(printer, stmt->u.assertion.condition);
        print_part(printer, "message", stmt->u.assertion.message);
        break;
    case STMT_with:
        print_with(printer, stmt);
        break;
    case STMT_import:
        print_import(printer, stmt);
        break;
    case STMT_unsupported:
        strbuf_printf(printer->out, " %s", construct_name[stmt->u.construct]);
        break;
    case STMT_pass:
    case STMT_break:
    case STMT_continue:
    case STMT_def:
    case STMT_class:
    case STMT_COUNT:
        break;
    }
    close_node(printer);
}

static void print_stmt(Printer *printer, const Stmt *stmt) {
    const Span outer = printer->span;
    printer->span = stmt->span;
    print_statement(printer, stmt);
    printer->span = outer;
}

static void print_def(Printer *printer, const FuncDef *def) {
    open_node(printer, "def");
    add_name(printer, def->name);
    if (def->is_jit)
        strbuf_puts(printer->out, " jit");
    if (def->is_constexpr_function)
        strbuf_puts(printer->out, " constexpr");
    for (uint32_t i = 0; i < def->decorators.count; i++)
        print_part(printer, "decorator", def->decorators.items[i]);
    print_params(printer, def->params, def->param_count);
    print_part(printer, "returns", def->returns);
    print_body(printer, "body", def->body);
    close_node(printer);
}

void ast_print_function(const FuncDef *function, StrBuf *out) {
    Printer printer = {.out = out};
    print_def(&printer, function);
    strbuf_putc(out, '\n');
}

void ast_print_file(const AstFile *file, StrBuf *out) {
    ast_print_file_lines(file, out, NULL);
}

void ast_print_file_lines(const AstFile *file, StrBuf *out, SpanList *lines) {
    Printer printer = {.out = out, .lines = lines};
    open_node(&printer, "file");
    for (uint32_t i = 0; i < file->body.count; i++)
        print_stmt(&printer, file->body.items[i]);
    close_node(&printer);
    strbuf_putc(out, '\n');
}
