/* The parser of Tile IR; grammar.def has the grammar.
 *
 * Recursive descent over a one-token lexer, one grammar for all ops: what differs is in op_info.
 * After an error parsing goes on at the next line of the same block, so that a run reports several;
 * results of an op that failed count as defined, and uses of them are dropped silently. */
#include "ir/parse.h"

static bool parse_block(Parser *p, Block *block);

/* Scopes */

static void bind(Parser *p, Str name, Value *value) {
    vec_push(p->scratch, &p->scope, name.ptr);
    ptrmap_set(&p->values, name.ptr, value);
}

static void leave_scope(Parser *p, size_t mark) {
    while (p->scope.len > mark)
        ptrmap_set(&p->values, p->scope.data[--p->scope.len], NULL);
}

/* The name as a hint for the printer: none if it is a mere number. */
static Str hint_of(Str name) {
    for (size_t i = 0; i < name.len; i++)
        if (name.ptr[i] < '0' || name.ptr[i] > '9')
            return name;
    return STR("");
}

typedef struct Named {
    Str name; /* interned */
    Span span;
    const Type *type;
    int64_t divisible;
} Named;

typedef VEC(Named) NamedVec;

/* The names are new and differ; they count as bad until they are bound. */
static bool check_new(Parser *p, const NamedVec *names) {
    bool ok = true;
    for (size_t i = 0; i < names->len; i++) {
        const char *name = names->data[i].name.ptr;
        const Value *known = ptrmap_get(&p->values, name);
        if (known && known != &p->bad)
            ok = ctx_diag(p->ctx, names->data[i].span, ir_redefined, STR_ARG(names->data[i].name));
        else
            bind(p, names->data[i].name, &p->pending);
    }
    for (size_t i = 0; i < names->len; i++)
        if (ptrmap_get(&p->values, names->data[i].name.ptr) == &p->pending)
            ptrmap_set(&p->values, names->data[i].name.ptr, &p->bad);
    return ok;
}

/* Attributes */

/* `{` begins attributes if a name and `=` follow: ops do not begin so, and region bodies hold ops.
 */
static bool at_attrs(const Parser *p) {
    if (!parse_is(p, '{'))
        return false;
    Parser ahead = *p;
    parse_advance(&ahead);
    if (ahead.token.kind != TOKEN_NAME)
        return false;
    parse_advance(&ahead);
    return parse_is(&ahead, '=');
}

static bool unknown_attr(Parser *p, const OpInfo *info, Str name, Span span) {
    Str candidates[OP_MAX_ATTRS];
    for (int i = 0; i < info->attr_count; i++)
        candidates[i] = str_from(attr_name_text(info->attr[i].name));
    const char *what = str_format(p->scratch, "attribute of '%s'", info->name);
    return parse_unknown(p, span, what, name, candidates, (size_t)info->attr_count);
}

static bool parse_op_attr(Parser *p, const OpInfo *info, unsigned *seen, Attr *attrs) {
    Span span = parse_token_span(p);
    Str name;
    if (!parse_want_kind(p, TOKEN_NAME, "an attribute", &name))
        return false;
    int index = 0;
    while (index < info->attr_count && !str_is(name, attr_name_text(info->attr[index].name)))
        index++;
    if (index == info->attr_count)
        return unknown_attr(p, info, name, span);
    if (*seen >> index & 1)
        return ctx_diag(p->ctx, span, ir_redefined, STR_ARG(name));
    *seen |= 1u << index;
    return parse_want(p, '=') && parse_attr_value(p, info->attr[index].kind, &attrs[index]);
}

static bool parse_op_attrs(Parser *p, const OpInfo *info, Span span, Attr *attrs) {
    unsigned seen = 0;
    if (at_attrs(p)) {
        parse_advance(p);
        do {
            if (!parse_op_attr(p, info, &seen, attrs))
                return false;
        } while (ir_parse_accept(p, ','));
        if (!parse_want(p, '}'))
            return false;
    }
    for (int i = 0; i < info->attr_count; i++)
        if (!(seen >> i & 1) && !info->attr[i].optional)
            return ctx_diag(p->ctx, span, ir_attr_missing, info->name,
                            attr_name_text(info->attr[i].name));
    return true;
}

/* Regions */

/* `%x: type {divisible = 16}` with commas between, after the opening bracket. */
static bool parse_params(Parser *p, NamedVec *params, bool of_func) {
    while (!parse_is(p, ')')) {
        Named param = {0};
        if (params->len && !parse_want(p, ','))
            return false;
        param.span = parse_token_span(p);
        if (!parse_want_kind(p, TOKEN_VALUE, "an argument, such as %x: f32", &param.name) ||
            !parse_want(p, ':') || !parse_type(p, &param.type))
            return false;
        if (of_func && ir_parse_accept(p, '{')) {
            if (!parse_accept_name(p, "divisible"))
                return parse_expected(p, "divisible");
            if (!parse_want(p, '=') || !parse_integer(p, 0, INT64_MAX, &param.divisible) ||
                !parse_want(p, '}'))
                return false;
        }
        if (of_func && !parse_loc(p, &param.span))
            return false;
        vec_push(p->scratch, params, param);
    }
    return parse_want(p, ')');
}

static bool enter_block(Parser *p, Block *block, const NamedVec *params) {
    const Type **types = ARENA_ARRAY(p->scratch, const Type *, params->len);
    if (!check_new(p, params))
        return false;
    for (size_t i = 0; i < params->len; i++)
        types[i] = params->data[i].type;
    block_set_args(block, (uint32_t)params->len, types);
    for (size_t i = 0; i < params->len; i++) {
        block->args[i].name = hint_of(params->data[i].name);
        bind(p, params->data[i].name, &block->args[i]);
    }
    return true;
}

static bool parse_region(Parser *p, Block *block) {
    NamedVec params = {0};
    size_t scope = p->scope.len;
    if (ir_parse_accept(p, '(') && !parse_params(p, &params, false))
        return false;
    if (p->depth == IR_MAX_NESTING)
        return ctx_diag(p->ctx, parse_token_span(p), ir_nesting, IR_MAX_NESTING);
    p->depth++;
    bool ok = enter_block(p, block, &params) && parse_block(p, block);
    p->depth--;
    leave_scope(p, scope);
    return ok;
}

/* Ops */

static bool parse_results(Parser *p, NamedVec *results) {
    if (p->token.kind != TOKEN_VALUE)
        return true;
    do {
        Named result = {.span = parse_token_span(p)};
        if (!parse_want_kind(p, TOKEN_VALUE, "a result", &result.name))
            return false;
        vec_push(p->scratch, results, result);
    } while (ir_parse_accept(p, ','));
    return parse_want(p, '=');
}

typedef VEC(Value *) ValueVec;

/* False without a report when an operand comes from an op that was reported. */
static bool parse_operands(Parser *p, ValueVec *operands) {
    bool ok = true, more = p->token.kind == TOKEN_VALUE && !p->token.line_start;
    while (more) {
        Span span = parse_token_span(p);
        Str name;
        if (!parse_want_kind(p, TOKEN_VALUE, "a value", &name))
            return false;
        Value *value = ptrmap_get(&p->values, name.ptr);
        if (!value) {
            ok = ctx_diag(p->ctx, span, ir_undefined, STR_ARG(name));
            bind(p, name, &p->bad);
        } else if (value == &p->bad) {
            ok = false;
        } else {
            vec_push(p->scratch, operands, value);
        }
        more = ir_parse_accept(p, ',');
    }
    return ok;
}

static bool parse_result_types(Parser *p, NamedVec *results) {
    for (size_t i = 0; i < results->len; i++)
        if (!parse_want(p, i ? ',' : ':') || !parse_type(p, &results->data[i].type))
            return false;
    return true;
}

static bool parse_opcode(Parser *p, const OpInfo **info) {
    Span span = parse_token_span(p);
    Str name, candidates[OP_COUNT];
    if (!parse_want_kind(p, TOKEN_NAME, "an op", &name))
        return false;
    *info = ptrmap_get(&p->ops, name.ptr);
    if (*info)
        return true;
    for (int i = 0; i < OP_COUNT; i++)
        candidates[i] = str_from(op_info[i].name);
    return parse_unknown(p, span, "op", name, candidates, OP_COUNT);
}

/* Runs the rule; an inferred result must be as the text says. */
static bool finish_op(Parser *p, Op *op, const NamedVec *results) {
    const Type *stated = results->len ? results->data[0].type : NULL;
    if (!op_infer(p->ctx, op, stated))
        return false;
    if (op_info[op->code].results != RESULT_INFERRED || op->out[0].type == stated)
        return true;
    StrBuf found = strbuf(p->scratch), wanted = strbuf(p->scratch);
    type_print(stated, &found);
    type_print(op->out[0].type, &wanted);
    return ctx_diag(p->ctx, op->span, ir_result_type, op_info[op->code].name, found.ptr,
                    wanted.ptr);
}

static bool parse_op_after_results(Parser *p, Block *block, NamedVec *results) {
    const OpInfo *info;
    ValueVec operands = {0};
    Span span = parse_token_span(p);
    if (!parse_opcode(p, &info))
        return false;
    bool ok = parse_operands(p, &operands);
    Attr attrs[OP_MAX_ATTRS] = {0};
    if (!parse_op_attrs(p, info, span, attrs) || !parse_result_types(p, results))
        return false;
    span.hi = p->last_hi;
    if (!parse_loc(p, &span) || !ok)
        return false;
    const Type **types = ARENA_ARRAY(p->scratch, const Type *, results->len);
    for (size_t i = 0; i < results->len; i++)
        types[i] = results->data[i].type;
    Builder builder = {.ctx = p->ctx, .block = block, .span = span};
    Op *op = op_create(&builder, (OpCode)(info - op_info), (uint32_t)operands.len, operands.data,
                       (uint32_t)results->len, types);
    for (uint32_t i = 0; i < (uint32_t)info->attr_count; i++)
        op_set_attr(op, i, attrs[i]);
    for (uint32_t i = 0; i < op->nregions; i++)
        if (!parse_region(p, op->regions[i]))
            return false;
    if (!finish_op(p, op, results))
        return false;
    for (size_t i = 0; i < results->len; i++) {
        op->out[i].name = hint_of(results->data[i].name);
        bind(p, results->data[i].name, &op->out[i]);
    }
    if (!p->token.line_start && !parse_is(p, '}') && p->token.kind != TOKEN_END)
        return parse_expected(p, "the end of the line");
    return true;
}

static bool parse_op(Parser *p, Block *block) {
    NamedVec results = {0};
    bool named = parse_results(p, &results);
    /* Until the op is known to be right, its results are known to be wrong. */
    bool fresh = check_new(p, &results);
    return named && fresh && parse_op_after_results(p, block, &results);
}

/* To the next line of the enclosing block, past regions that open before it. */
static void skip_to_next_line(Parser *p) {
    unsigned depth = 0;
    while (p->token.kind != TOKEN_END) {
        if (depth == 0 && p->token.line_start)
            return;
        if (parse_is(p, '{'))
            depth++;
        else if (parse_is(p, '}') && depth)
            depth--;
        parse_advance(p);
    }
}

/* `{` ops `}`. True also after errors inside that were reported, unless the block has no end. */
static bool parse_block(Parser *p, Block *block) {
    bool ok = true;
    if (!parse_want(p, '{'))
        return false;
    while (!parse_is(p, '}')) {
        if (p->token.kind == TOKEN_END || diag_full(&p->ctx->diags))
            return parse_expected(p, "'}'");
        uint32_t begin = p->token.lo;
        if (parse_op(p, block))
            continue;
        ok = false;
        if (p->token.lo == begin)
            parse_advance(p);
        skip_to_next_line(p);
    }
    parse_advance(p);
    return ok;
}

/* Functions and modules */

static bool parse_func_attr(Parser *p, Func *func) {
    Span span = parse_token_span(p);
    Str name;
    Attr attr;
    if (!parse_want_kind(p, TOKEN_NAME, "an attribute", &name) || !parse_want(p, '='))
        return false;
#define PARSE_I64(field) parse_integer(p, 0, INT32_MAX, &attr.i)
#define PARSE_BOOL(field) parse_attr_value(p, ATTR_BOOL, &attr)
#define PARSE_INTS(field) parse_attr_value(p, ATTR_INTS, &attr)
#define SET_I64(field) func->field = (__typeof__(func->field))attr.i
#define SET_BOOL(field) SET_I64(field)
#define SET_INTS(field) func->field = attr.ints
#define PARSE_FUNC_ATTR(field, kind)                                                               \
    if (str_is(name, #field)) {                                                                    \
        if (!PARSE_##kind(field))                                                                  \
            return false;                                                                          \
        SET_##kind(field);                                                                         \
        return true;                                                                               \
    }
    FUNC_ATTRS(PARSE_FUNC_ATTR)
#define FUNC_ATTR_NAME(field, kind) STR(#field),
    const Str candidates[] = {FUNC_ATTRS(FUNC_ATTR_NAME)};
    return parse_unknown(p, span, "attribute of functions", name, candidates,
                         sizeof candidates / sizeof *candidates);
}

static bool parse_func_attrs(Parser *p, Func *func) {
    if (!at_attrs(p))
        return true;
    parse_advance(p);
    do {
        if (!parse_func_attr(p, func))
            return false;
    } while (ir_parse_accept(p, ','));
    return parse_want(p, '}');
}

static bool parse_func_header(Parser *p) {
    NamedVec params = {0};
    Str name;
    Span span = parse_token_span(p);
    if (!parse_want_kind(p, TOKEN_SYMBOL, "the function's name, such as @kernel", &name))
        return false;
    if (ptrmap_get(&p->funcs, name.ptr))
        ctx_diag(p->ctx, span, ir_redefined, STR_ARG(name));
    if (!parse_want(p, '(') || !parse_params(p, &params, true))
        return false;
    FuncParam *info = ARENA_ARRAY(p->scratch, FuncParam, params.len);
    const Type **types = ARENA_ARRAY(p->scratch, const Type *, params.len);
    for (size_t i = 0; i < params.len; i++) {
        const Named *param = &params.data[i];
        info[i] = (FuncParam){param->name, param->span, param->divisible};
        types[i] = param->type;
    }
    p->func = func_create(p->module, name, (uint32_t)params.len, info, types);
    ptrmap_set(&p->funcs, name.ptr, p->func);
    p->func->span = span;
    return enter_block(p, p->func->body, &params) && parse_func_attrs(p, p->func) &&
           parse_loc(p, &p->func->span);
}

static bool parse_alias(Parser *p) {
    Str name;
    Span span = parse_token_span(p);
    Layout *layout = ARENA_NEW(p->scratch, Layout);
    if (!parse_want_kind(p, TOKEN_ALIAS, "a layout's name, such as #L0", &name) ||
        !parse_want(p, '=') || !parse_layout(p, layout))
        return false;
    if (ptrmap_get(&p->aliases, name.ptr))
        return ctx_diag(p->ctx, span, ir_redefined, STR_ARG(name));
    ptrmap_set(&p->aliases, name.ptr, layout);
    return true;
}

static bool parse_top_level(Parser *p) {
    if (parse_accept_name(p, "layout"))
        return parse_alias(p);
    if (!parse_accept_name(p, "func"))
        return parse_expected(p, "'func' or 'layout'");
    size_t scope = p->scope.len;
    bool ok = parse_func_header(p) && parse_block(p, p->func->body);
    leave_scope(p, scope);
    return ok;
}

static bool at_top_level(const Parser *p) {
    Str text = parse_token_text(p);
    return p->token.kind == TOKEN_END || (p->token.kind == TOKEN_NAME && p->token.line_start &&
                                          (str_is(text, "func") || str_is(text, "layout")));
}

static void fill_tables(Parser *p) {
    for (int i = 0; i < OP_COUNT; i++)
        ptrmap_set(&p->ops, ctx_intern(p->ctx, str_from(op_info[i].name)).ptr, (void *)&op_info[i]);
    for (uint32_t i = (uint32_t)p->ctx->sources.sources.len; i > 0; i--)
        ptrmap_set(&p->files, ctx_intern(p->ctx, source_get(&p->ctx->sources, i)->path).ptr,
                   (void *)(uintptr_t)i);
}

Module *module_parse(Ctx *ctx, uint32_t file) {
    Arena *scratch = &ctx->scratch;
    ArenaMark mark = arena_mark(scratch);
    unsigned errors = ctx->diags.errors;
    Parser *p = ARENA_NEW(scratch, Parser);
    *p = (Parser){.ctx = ctx, .scratch = scratch, .file = file, .module = module_create(ctx)};
    p->ops.arena = p->values.arena = p->aliases.arena = p->files.arena = p->funcs.arena = scratch;
    p->text = source_get(&ctx->sources, file)->text;
    p->token = ir_lex(p->text.ptr, (uint32_t)p->text.len, 0);
    fill_tables(p);
    while (p->token.kind != TOKEN_END && !diag_full(&ctx->diags)) {
        uint32_t begin = p->token.lo;
        if (parse_top_level(p))
            continue;
        if (p->token.lo == begin)
            parse_advance(p);
        while (!at_top_level(p))
            parse_advance(p);
    }
    Module *module = p->module;
    arena_rewind(scratch, mark);
    return ctx->diags.errors == errors && module_verify(module) ? module : NULL;
}
