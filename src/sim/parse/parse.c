/* The PTX parser: functions and their bodies. Tokens are taken in tokens.c, names kept in
 * parse_name.c; directives are read in parse_directive.c, variables in parse_variable.c,
 * instructions in parse_insn.c.
 *
 * Errors are located at the token that does not fit; reading goes on behind the next semicolon, so
 * that one run reports several. */
#include "sim/parse/cfg.h"
#include "sim/parse/parser.h"
#include "sim/parse/table.h"

/* Behind the next semicolon, or in front of a brace that closes a scope. A brace that closes a
 * vector, which may have been opened before the error, is followed by what goes on with a
 * statement. */
static void skip_statement(Parser *parser) {
    unsigned open = 0;
    while (parser->token.kind != PTX_END) {
        open += ptx_at(parser, '{');
        if (ptx_at(parser, '}') && open) {
            open--;
        } else if (ptx_at(parser, '}')) {
            PtxToken next = ptx_lex(parser->text, parser->length, parser->token.hi);
            if (next.kind != PTX_PUNCT || !strchr(",;])", next.punct))
                return;
        }
        bool done = ptx_at(parser, ';');
        ptx_next(parser);
        if (done)
            return;
    }
}

static bool parse_params(Parser *parser, Func *func, bool results) {
    if (ptx_take(parser, ')'))
        return true;
    do {
        if (!ptx_parse_param(parser, func, results))
            return false;
    } while (ptx_take(parser, ','));
    return ptx_expect(parser, ')');
}

/* name: .branchtargets A, B; or name: .callprototype ...; */
static bool parse_labelled_directive(Parser *parser, Name *name) {
    if (ptx_take_word(parser, ".callprototype")) {
        name->kind = NAME_PROTOTYPE;
        skip_statement(parser);
        return true;
    }
    if (!ptx_take_word(parser, ".branchtargets"))
        return true;
    VEC(Str) labels = {0};
    do {
        Str label;
        if (!ptx_expect_name(parser, &label))
            return false;
        vec_push(parser->arena, &labels, label);
    } while (ptx_take(parser, ','));
    name->kind = NAME_TABLE;
    name->table = ARENA_ARRAY(parser->arena, uint32_t, labels.len);
    name->table_count = (uint32_t)labels.len;
    for (size_t i = 0; i < labels.len; i++) {
        uint32_t lo = (uint32_t)(labels.data[i].ptr - parser->text);
        name->table[i] = NO_PC;
        vec_push(
            parser->arena, &parser->uses,
            (LabelUse){labels.data[i], lo, lo + (uint32_t)labels.data[i].len, 0, &name->table[i]});
    }
    return ptx_expect(parser, ';');
}

static bool parse_label(Parser *parser) {
    PtxToken token = parser->token;
    Name *name = ptx_declare(parser, ptx_text(parser, token), token.lo, token.hi);
    if (!name)
        return false;
    name->kind = NAME_LABEL;
    name->pc = (uint32_t)parser->module->insns.len;
    ptx_next(parser);
    ptx_next(parser);
    return parse_labelled_directive(parser, name);
}

static bool at_label(const Parser *parser) {
    if (parser->token.kind != PTX_NAME)
        return false;
    PtxToken next = ptx_lex(parser->text, parser->length, parser->token.hi);
    return next.kind == PTX_PUNCT && next.punct == ':';
}

static bool parse_body_directive(Parser *parser) {
    bool ok;
    if (ptx_parse_directive(parser, true, &ok))
        return ok;
    if (ptx_take_word(parser, ".reg"))
        return ptx_parse_regs(parser);
    if (ptx_take_word(parser, ".param"))
        return ptx_parse_variable(parser, SPACE_param, false);
    if (ptx_take_word(parser, ".local"))
        return ptx_parse_variable(parser, SPACE_local, false);
    if (ptx_take_word(parser, ".shared"))
        return ptx_parse_variable(parser, SPACE_shared, false);
    if (ptx_take_word(parser, ".global"))
        return ptx_parse_variable(parser, SPACE_global, false);
    if (ptx_take_word(parser, ".const"))
        return ptx_parse_variable(parser, SPACE_const, false);
    if (ptx_take_word(parser, ".extern") && ptx_take_word(parser, ".shared"))
        return ptx_parse_variable(parser, SPACE_shared, true);
    return ptx_error(parser, parser->token.lo, parser->token.hi, ptx_directive,
                     STR_ARG(ptx_text(parser, parser->token)));
}

static bool parse_statement(Parser *parser) {
    if (ptx_at(parser, '{')) {
        if (!ptx_open_scope(parser))
            return false;
        ptx_next(parser);
        return true;
    }
    if (ptx_take(parser, ';'))
        return true;
    if (parser->token.kind == PTX_WORD)
        return parse_body_directive(parser);
    if (at_label(parser))
        return parse_label(parser);
    return ptx_parse_insn(parser);
}

static void add_exit(Parser *parser, Func *func) {
    Insn insn = {.row = &insn_return_row,
                 .lo = parser->token.lo,
                 .hi = parser->token.hi,
                 .loc = parser->place,
                 .guard = NO_REG,
                 .target = NO_PC,
                 .reconverge = NO_PC};
    vec_push(parser->arena, &parser->module->insns, insn);
    func->end = (uint32_t)parser->module->insns.len;
    for (uint32_t pc = func->begin; pc + 1 < func->end; pc++) {
        Insn *at = &parser->module->insns.data[pc];
        if (!strcmp(at->row->name, "ret"))
            at->target = func->end - 1;
    }
}

/* The shared variables of a kernel's body are its own: those of the next kernel lie in the same
 * place. */
static void end_shared(SimModule *module, Func *func, uint64_t common, uint64_t next) {
    func->shared_end = module->static_shared;
    if (module->static_shared > module->shared_end)
        module->shared_end = module->static_shared;
    if (module->shared_next > module->shared_end_next)
        module->shared_end_next = module->shared_next;
    module->static_shared = common;
    module->shared_next = next;
}

static bool parse_body(Parser *parser, Func *func) {
    unsigned outer = parser->depth, errors = parser->ctx->diags.errors;
    parser->place = 0;
    func->begin = (uint32_t)parser->module->insns.len;
    uint64_t common = parser->module->static_shared, next = parser->module->shared_next;
    while (!(ptx_at(parser, '}') && parser->depth == outer)) {
        if (parser->token.kind == PTX_END || diag_full(&parser->ctx->diags))
            return ptx_wanted(parser, "`}`");
        if (ptx_at(parser, '}')) {
            ptx_close_scope(parser);
            ptx_next(parser);
        } else if (!parse_statement(parser)) {
            skip_statement(parser);
        }
    }
    if (func->is_entry)
        end_shared(parser->module, func, common, next);
    add_exit(parser, func);
    ptx_resolve_labels(parser);
    vec_for_each (use, &parser->uses)
        ptx_error(parser, use->lo, use->hi, ptx_unknown_label, STR_ARG(use->name));
    parser->uses.len = 0;
    ptx_next(parser);
    if (parser->ctx->diags.errors == errors) {
        cfg_build(parser->module, func);
        ptx_mark_matrix_registers(parser->module, func);
    }
    return true;
}

/* The function of a name: declared before, or new. */
static Func *function_of(Parser *parser, PtxToken token, bool is_entry) {
    Str text = ptx_text(parser, token);
    Name *name = ptx_find(parser, text);
    if (name && name->kind == NAME_FUNC && !name->func->has_body && !is_entry) {
        name->func->params.len = name->func->results.len = 0;
        name->func->param_regs.len = name->func->result_regs.len = 0;
        return name->func;
    }
    name = ptx_declare(parser, text, token.lo, token.hi);
    if (!name)
        return NULL;
    Func *func = ARENA_NEW(parser->arena, Func);
    *func = (Func){
        .name = text, .lo = token.lo, .hi = token.hi, .is_entry = is_entry, .regs = REG_FIRST};
    name->kind = NAME_FUNC;
    name->func = func;
    vec_push(parser->arena, &parser->module->funcs, func);
    func->address = (uint32_t)parser->module->funcs.len;
    return func;
}

/* Results come before the name of a device function; their places are parameters of its frame. */
static bool parse_function(Parser *parser, bool is_entry) {
    Func results = {.regs = REG_FIRST};
    if (!ptx_open_scope(parser))
        return false;
    parser->func = &results;
    if (ptx_take_word(parser, ".attribute") && !ptx_skip_attribute(parser))
        return false;
    if (!is_entry && ptx_take(parser, '(') && !parse_params(parser, &results, true))
        return false;
    PtxToken token = parser->token;
    Str text;
    if (!ptx_expect_name(parser, &text))
        return false;
    /* The name belongs to the scope around. */
    parser->depth--;
    Func *func = function_of(parser, token, is_entry);
    parser->depth++;
    if (!func)
        return false;
    func->results.data = results.results.data;
    func->results.len = func->results.cap = results.results.len;
    func->result_regs.data = results.result_regs.data;
    func->result_regs.len = func->result_regs.cap = results.result_regs.len;
    func->regs = results.regs;
    func->frame_bytes = results.frame_bytes;
    parser->func = func;
    if (ptx_take(parser, '(') && !parse_params(parser, func, false))
        return false;
    if (!ptx_parse_tuning(parser, func))
        return false;
    if (ptx_take(parser, ';'))
        return true;
    if (!ptx_expect(parser, '{'))
        return false;
    func->has_body = true;
    return parse_body(parser, func);
}

static void leave_function(Parser *parser) {
    while (parser->depth)
        ptx_close_scope(parser);
    parser->uses.len = 0;
    parser->func = NULL;
}

static bool parse_module_directive(Parser *parser) {
    bool is_extern = false, ok;
    if (ptx_parse_directive(parser, false, &ok))
        return ok;
    for (;;) {
        if (ptx_take_word(parser, ".extern"))
            is_extern = true;
        else if (!ptx_take_word(parser, ".visible") && !ptx_take_word(parser, ".weak") &&
                 !ptx_take_word(parser, ".common"))
            break;
    }
    bool is_entry = ptx_at_word(parser, ".entry");
    if (is_entry || ptx_at_word(parser, ".func")) {
        ptx_next(parser);
        ok = parse_function(parser, is_entry);
        leave_function(parser);
        return ok;
    }
    if (ptx_take_word(parser, ".global"))
        return ptx_parse_variable(parser, SPACE_global, is_extern);
    if (ptx_take_word(parser, ".const"))
        return ptx_parse_variable(parser, SPACE_const, is_extern);
    if (ptx_take_word(parser, ".shared"))
        return ptx_parse_variable(parser, SPACE_shared, is_extern);
    if (parser->token.kind == PTX_WORD)
        return ptx_error(parser, parser->token.lo, parser->token.hi, ptx_directive,
                         STR_ARG(ptx_text(parser, parser->token)));
    return ptx_wanted(parser, "a directive such as .entry");
}

/* Where dynamic shared memory begins: behind all static variables, as aligned as any variable asks.
 */
static void place_dynamic_shared(SimModule *module) {
    uint64_t align = 16;
    vec_for_each (variable, &module->variables)
        if ((*variable)->is_extern && (*variable)->align > align)
            align = (*variable)->align;
    uint64_t base = module->shared_next > module->shared_end_next ? module->shared_next
                                                                  : module->shared_end_next;
    if (!base)
        base = SIM_SHARED_START;
    base = (base + align - 1) / align * align;
    module->dynamic_shared = base;
    module->dynamic_align = align;
    vec_for_each (index, &module->dynamic_constants)
        module->constants.data[*index] += base;
    vec_for_each (at, &module->variables)
        if ((*at)->is_extern && (*at)->space == SPACE_shared)
            (*at)->address = base;
}

/* Functions that are called have a body somewhere in the module, or are known. */
static void check_callees(Parser *parser) {
    vec_for_each (insn, &parser->module->insns)
        if (insn->call && insn->call->kind == CALL_FUNC && !insn->call->callee->has_body)
            ptx_error(parser, insn->lo, insn->hi, ptx_no_body, STR_ARG(insn->call->name));
}

SimModule *sim_parse(Ctx *ctx, uint32_t file) {
    return sim_parse_at(ctx, file, file);
}

SimModule *sim_parse_at(Ctx *ctx, uint32_t file, uint32_t slot) {
    const Source *source = source_get(&ctx->sources, file);
    Parser *parser = ARENA_NEW(&ctx->arena, Parser);
    SimModule *module = ARENA_NEW(&ctx->arena, SimModule);
    unsigned errors = ctx->diags.errors;
    *module = (SimModule){.ctx = ctx, .file = file, .slot = slot, .text = source->text};
    *parser = (Parser){.ctx = ctx,
                       .arena = &ctx->arena,
                       .module = module,
                       .file = file,
                       .text = str_dup(&ctx->arena, source->text),
                       .length = (uint32_t)source->text.len};
    vec_push(parser->arena, &module->places, (Place){0});
    ptx_next(parser);
    while (parser->token.kind != PTX_END && !diag_full(&ctx->diags)) {
        uint32_t before = parser->token.lo;
        if (!parse_module_directive(parser)) {
            skip_statement(parser);
            if (parser->token.lo == before || ptx_at(parser, '}'))
                ptx_next(parser);
        }
    }
    if (ctx->diags.errors == errors && ptx_resolve_aliases(parser))
        check_callees(parser);
    if (ctx->diags.errors == errors && !module->version)
        ptx_error(parser, 0, 0, ptx_no_version);
    place_dynamic_shared(module);
    return ctx->diags.errors == errors ? module : NULL;
}
