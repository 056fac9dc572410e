/* Directives of a module and of functions, but for declarations. */
#include "sim/parse/parser.h"

#include <stdlib.h>

static bool parse_version(Parser *parser) {
    Str text = ptx_text(parser, parser->token);
    if (parser->token.kind != PTX_FLOAT)
        return ptx_wanted(parser, "a version such as 8.3");
    double version = strtod(str_dup(parser->arena, text), NULL);
    if (!(version >= 6 && version < 10))
        return ptx_error(parser, parser->token.lo, parser->token.hi, ptx_version, STR_ARG(text));
    parser->module->version = (unsigned)(version * 10 + 0.5);
    ptx_next(parser);
    return true;
}

static bool parse_target(Parser *parser) {
    do {
        PtxToken token = parser->token;
        Str name = STR("");
        if (!ptx_expect_name(parser, &name))
            return false;
        if (name.len > 3 && !memcmp(name.ptr, "sm_", 3)) {
            unsigned sm = 0;
            for (size_t i = 3;
                 i < name.len && name.ptr[i] >= '0' && name.ptr[i] <= '9' && sm < 1000; i++)
                sm = sm * 10 + (unsigned)(name.ptr[i] - '0');
            char last = name.ptr[name.len - 1];
            parser->module->sm = sm;
            parser->module->sm_suffix = last == 'a' || last == 'f' ? last : 0;
        } else if (!str_is(name, "debug") && !str_is(name, "texmode_independent") &&
                   !str_is(name, "texmode_unified")) {
            return ptx_error(parser, token.lo, token.hi, ptx_target, STR_ARG(name));
        }
    } while (ptx_take(parser, ','));
    return true;
}

static bool parse_address_size(Parser *parser) {
    int64_t bits;
    PtxToken token = parser->token;
    if (!ptx_expect_int(parser, &bits))
        return false;
    return bits == 64 || ptx_error(parser, token.lo, token.hi, ptx_address_size);
}

/* .file NUMBER "path" [, time, size] */
static bool parse_file(Parser *parser) {
    int64_t number, ignored;
    PtxToken token = parser->token;
    if (!ptx_expect_int(parser, &number))
        return false;
    if (number < 0 || number > 65535)
        return ptx_error(parser, token.lo, token.hi, ptx_int_range);
    if (parser->token.kind != PTX_STRING)
        return ptx_wanted(parser, "a path");
    Str path = ptx_text(parser, parser->token);
    while (parser->module->file_names.len <= (size_t)number)
        vec_push(parser->arena, &parser->module->file_names, (Str){"", 0});
    parser->module->file_names.data[number] = (Str){path.ptr + 1, path.len - 2};
    ptx_next(parser);
    while (ptx_take(parser, ','))
        if (!ptx_expect_int(parser, &ignored))
            return false;
    return true;
}

static bool parse_place(Parser *parser, Place *place) {
    int64_t file, line, column;
    const uint32_t lo = parser->token.lo;
    if (!ptx_expect_int(parser, &file) || !ptx_expect_int(parser, &line) ||
        !ptx_expect_int(parser, &column))
        return false;
    *place = (Place){(uint32_t)file, (uint32_t)line, (uint32_t)column, 0, lo};
    return true;
}

/* The index of a place that something was inlined at. Compilers say where it was inlined itself
 * just before; a place that was not said lately was not. */
static uint32_t find_caller(Parser *parser, Place place) {
    enum { LATELY = 64 };
    SimModule *module = parser->module;
    const size_t len = module->places.len;
    for (size_t i = len; i > 1 && len - i < LATELY; i--) {
        const Place *known = &module->places.data[i - 1];
        if (known->file == place.file && known->line == place.line && known->column == place.column)
            return (uint32_t)i - 1;
    }
    vec_push(parser->arena, &module->places, place);
    return (uint32_t)module->places.len - 1;
}

/* .loc FILE LINE COLUMN [, function_name NAME[+N], inlined_at FILE LINE COLUMN] */
static bool parse_loc(Parser *parser) {
    Place place, outer;
    Str name;
    int64_t offset;
    if (!parse_place(parser, &place))
        return false;
    if (ptx_take(parser, ',')) {
        if (!ptx_expect_name(parser, &name) || !ptx_expect_name(parser, &name))
            return false;
        if (ptx_take(parser, '+') && !ptx_expect_int(parser, &offset))
            return false;
        if (!ptx_expect(parser, ',') || !ptx_expect_name(parser, &name) ||
            !parse_place(parser, &outer))
            return false;
        place.caller = outer.line ? find_caller(parser, outer) : 0;
    }
    /* Line 0 means code of no line of its own: it stays with the line before. */
    if (place.line == 0)
        return true;
    vec_push(parser->arena, &parser->module->places, place);
    parser->place = (uint32_t)parser->module->places.len - 1;
    return true;
}

/* .section NAME { data of any kind } */
static bool skip_section(Parser *parser) {
    if (parser->token.kind != PTX_NAME && parser->token.kind != PTX_WORD)
        return ptx_wanted(parser, "the name of a section");
    ptx_next(parser);
    if (!ptx_expect(parser, '{'))
        return false;
    while (!ptx_at(parser, '}')) {
        if (parser->token.kind == PTX_END)
            return ptx_wanted(parser, "`}`");
        ptx_next(parser);
    }
    ptx_next(parser);
    return true;
}

static bool parse_pragma(Parser *parser) {
    do {
        if (parser->token.kind != PTX_STRING)
            return ptx_wanted(parser, "a text");
        ptx_next(parser);
    } while (ptx_take(parser, ','));
    return ptx_expect(parser, ';');
}

/* Up to three numbers into `sizes`, those not given 1. */
static bool parse_sizes(Parser *parser, uint32_t sizes[3]) {
    for (int i = 0; i < 3; i++)
        sizes[i] = 1;
    for (int i = 0; i < 3; i++) {
        int64_t value = 0;
        PtxToken token = parser->token;
        if (!ptx_expect_int(parser, &value))
            return false;
        if (value < 1 || value > INT32_MAX)
            return ptx_error(parser, token.lo, token.hi, ptx_int_range);
        sizes[i] = (uint32_t)value;
        if (!ptx_take(parser, ','))
            break;
    }
    return true;
}

static bool parse_count(Parser *parser, uint32_t *count) {
    uint32_t sizes[3];
    bool ok = parse_sizes(parser, sizes);
    *count = sizes[0];
    return ok;
}

/* .alias NAME, FUNCTION; the function may be defined further down. */
static bool parse_alias(Parser *parser) {
    Alias alias = {.token = parser->token};
    Str name, target;
    if (!ptx_expect_name(parser, &name) || !ptx_expect(parser, ','))
        return false;
    alias.target = parser->token;
    if (!ptx_expect_name(parser, &target) || !ptx_expect(parser, ';'))
        return false;
    vec_push(parser->arena, &parser->aliases, alias);
    return true;
}

static Func *function_named(Parser *parser, PtxToken token) {
    Str text = ptx_text(parser, token);
    const Name *name = ptx_find(parser, text);
    if (name && name->kind == NAME_FUNC && !name->func->is_entry)
        return name->func;
    ptx_error(parser, token.lo, token.hi, ptx_alias, STR_ARG(text));
    return NULL;
}

bool ptx_resolve_aliases(Parser *parser) {
    vec_for_each (alias, &parser->aliases) {
        Func *func = function_named(parser, alias->token);
        const Func *target = func ? function_named(parser, alias->target) : NULL;
        if (!target)
            return false;
        if (func->has_body || !target->has_body)
            return ptx_error(parser, alias->token.lo, alias->target.hi, ptx_alias_body,
                             STR_ARG(func->name), STR_ARG(target->name));
        Func copy = *target;
        copy.name = func->name;
        copy.lo = func->lo;
        copy.hi = func->hi;
        copy.address = func->address;
        *func = copy;
    }
    return true;
}

bool ptx_skip_attribute(Parser *parser) {
    unsigned depth = 0;
    if (!ptx_at(parser, '('))
        return ptx_wanted(parser, "`(`");
    do {
        if (parser->token.kind == PTX_END)
            return ptx_wanted(parser, "`)`");
        depth += ptx_at(parser, '(');
        depth -= ptx_at(parser, ')') && depth;
        ptx_next(parser);
    } while (depth);
    return true;
}

bool ptx_parse_directive(Parser *parser, bool in_function, bool *ok) {
    static const struct {
        const char *word;
        bool (*parse)(Parser *parser);
        bool in_module, in_function;
    } directives[] = {
        {".version", parse_version, true, false},
        {".target", parse_target, true, false},
        {".address_size", parse_address_size, true, false},
        {".file", parse_file, true, false},
        {".loc", parse_loc, false, true},
        {".section", skip_section, true, false},
        {".pragma", parse_pragma, true, true},
        {".alias", parse_alias, true, false},
    };
    for (size_t i = 0; i < sizeof directives / sizeof *directives; i++) {
        if (in_function ? !directives[i].in_function : !directives[i].in_module)
            continue;
        if (ptx_take_word(parser, directives[i].word)) {
            *ok = directives[i].parse(parser);
            return true;
        }
    }
    return false;
}

bool ptx_parse_tuning(Parser *parser, Func *func) {
    uint32_t ignored;
    while (parser->token.kind == PTX_WORD) {
        bool ok;
        if (ptx_take_word(parser, ".reqntid"))
            ok = parse_sizes(parser, func->reqntid);
        else if (ptx_take_word(parser, ".maxntid"))
            ok = parse_sizes(parser, func->maxntid);
        else if (ptx_take_word(parser, ".minnctapersm"))
            ok = parse_count(parser, &func->min_ctas);
        else if (ptx_take_word(parser, ".maxnreg"))
            ok = parse_count(parser, &func->max_regs);
        else if (ptx_take_word(parser, ".reqnctapercluster"))
            ok = parse_sizes(parser, func->cluster);
        else if (ptx_take_word(parser, ".maxclusterrank"))
            ok = parse_count(parser, &func->max_cluster_rank);
        else if (ptx_take_word(parser, ".maxnctapersm") || ptx_take_word(parser, ".abi_preserve") ||
                 ptx_take_word(parser, ".abi_preserve_control"))
            ok = parse_count(parser, &ignored);
        else if (ptx_take_word(parser, ".explicitcluster"))
            ok = func->explicit_cluster = true;
        else if (ptx_take_word(parser, ".blocksareclusters"))
            ok = func->blocks_are_clusters = true;
        else if (ptx_take_word(parser, ".noreturn"))
            ok = true;
        else if (ptx_take_word(parser, ".pragma"))
            ok = parse_pragma(parser);
        else
            return ptx_error(parser, parser->token.lo, parser->token.hi, ptx_directive,
                             STR_ARG(ptx_text(parser, parser->token)));
        if (!ok)
            return false;
    }
    return true;
}
