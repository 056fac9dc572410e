/* Declarations of PTX: registers, variables with initialisers, and parameters of functions. */
#include "sim/parse/parser.h"
#include "sim/parse/words.h"

#include <stdlib.h>

/* What a declaration says before its name. */
typedef struct Decl {
    uint64_t align; /* 0: natural */
    unsigned vector;
    Type type;
} Decl;

enum { MAX_VARIABLE_BYTES = 1 << 30, SHARED_GAP = 256, MAX_SHARED_GAPS = 20480 };

static bool parse_align(Parser *parser, uint64_t *align) {
    int64_t value;
    PtxToken token = parser->token;
    if (!ptx_expect_int(parser, &value))
        return false;
    if (value < 1 || value > 65536 || (value & (value - 1)))
        return ptx_error(parser, token.lo, token.hi, ptx_alignment, value);
    *align = (uint64_t)value;
    return true;
}

/* [.align N] [.v2|.v4] .type, in any order of the first two */
static bool parse_decl(Parser *parser, Decl *decl) {
    *decl = (Decl){.vector = 1};
    for (;;) {
        if (ptx_take_word(parser, ".align")) {
            if (!parse_align(parser, &decl->align))
                return false;
        } else if (ptx_take_word(parser, ".attribute")) {
            if (!ptx_skip_attribute(parser))
                return false;
        } else if (ptx_take_word(parser, ".v2")) {
            decl->vector = 2;
        } else if (ptx_take_word(parser, ".v4")) {
            decl->vector = 4;
        } else {
            break;
        }
    }
    Str text = ptx_text(parser, parser->token);
    int type = parser->token.kind == PTX_WORD ? type_find((Str){text.ptr + 1, text.len - 1}) : -1;
    if (type < 0)
        return ptx_wanted(parser, "a type");
    decl->type = (Type)type;
    ptx_next(parser);
    return true;
}

bool ptx_parse_regs(Parser *parser) {
    Decl decl;
    PtxToken start = parser->token;
    if (!parse_decl(parser, &decl))
        return false;
    if (decl.vector != 1)
        return ptx_error(parser, start.lo, start.hi, ptx_vector_register);
    do {
        PtxToken token = parser->token;
        Str text;
        if (!ptx_expect_name(parser, &text))
            return false;
        int64_t count = 1;
        bool numbered = ptx_take(parser, '<');
        if (numbered) {
            PtxToken number = parser->token;
            if (!ptx_expect_int(parser, &count) || !ptx_expect(parser, '>'))
                return false;
            if (count < 1 || count > 1 << 20)
                return ptx_error(parser, number.lo, number.hi, ptx_int_range);
        }
        Name *name = numbered
                         ? ptx_declare_numbered(parser, text, (uint32_t)count, token.lo, token.hi)
                         : ptx_declare(parser, text, token.lo, token.hi);
        if (!name)
            return false;
        name->kind = numbered ? NAME_REGS : NAME_REG;
        name->bits = type_info[decl.type].bits;
        name->reg = parser->func->regs;
        /* A 128-bit register is two. */
        uint64_t slots = (uint64_t)count * (name->bits == 128 ? 2 : 1);
        if (parser->func->regs + slots > 1 << 21)
            return ptx_error(parser, token.lo, token.hi, ptx_many_registers, 1 << 21);
        parser->func->regs += (uint32_t)slots;
    } while (ptx_take(parser, ','));
    return ptx_expect(parser, ';');
}

/* [N][M]...; *elements is 0 for []. */
static bool parse_dimensions(Parser *parser, uint64_t *elements) {
    *elements = 1;
    while (ptx_take(parser, '[')) {
        int64_t size = 0;
        PtxToken token = parser->token;
        if (!ptx_at(parser, ']') && !ptx_expect_int(parser, &size))
            return false;
        if (size < 0 || size > MAX_VARIABLE_BYTES || *elements > MAX_VARIABLE_BYTES)
            return ptx_error(parser, token.lo, token.hi, ptx_int_range);
        *elements *= (uint64_t)size;
        if (!ptx_expect(parser, ']'))
            return false;
    }
    return true;
}

/* An initialiser as it fills the bytes of its variable. */
typedef struct Init {
    uint8_t *bytes;
    uint64_t at, size, element;
    Type type;
} Init;

static bool put_value(Parser *parser, Init *init, uint64_t value, uint32_t lo, uint32_t hi) {
    if (init->at + init->element > init->size)
        return ptx_error(parser, lo, hi, ptx_long_initialiser, init->size);
    memcpy(init->bytes + init->at, &value, init->element < 8 ? init->element : 8);
    init->at += init->element;
    return true;
}

/* The bits of 0f.. and 0d.. literals and of decimal ones, as `bits` wide. */
static bool float_bits(Parser *parser, unsigned bits, uint64_t *value) {
    PtxToken token = parser->token;
    Str text = ptx_text(parser, token);
    char mark = text.len > 1 ? text.ptr[1] | 0x20 : 0;
    bool hex = text.ptr[0] == '0' && (mark == 'f' || mark == 'd') && text.len >= 10;
    if (hex) {
        *value = strtoull(str_dup(parser->arena, (Str){text.ptr + 2, text.len - 2}), NULL, 16);
        if (bits != (mark == 'f' ? 32u : 64u))
            return ptx_error(parser, token.lo, token.hi, ptx_literal_width, STR_ARG(text), bits);
    } else {
        double number = strtod(str_dup(parser->arena, text), NULL);
        float single = (float)number;
        *value = 0;
        if (bits == 32)
            memcpy(value, &single, 4);
        else if (bits == 64)
            memcpy(value, &number, 8);
        else
            return ptx_error(parser, token.lo, token.hi, ptx_literal_width, STR_ARG(text), bits);
    }
    ptx_next(parser);
    return true;
}

bool ptx_parse_float(Parser *parser, unsigned bits, bool negative, uint64_t *value) {
    if (!float_bits(parser, bits, value))
        return false;
    if (negative)
        *value ^= UINT64_C(1) << (bits - 1);
    return true;
}

/* symbol, symbol+N, generic(symbol)+N: its generic address, or the offset in its space. */
static bool put_symbol(Parser *parser, Init *init) {
    PtxToken token = parser->token;
    Str text = ptx_text(parser, token);
    ptx_next(parser);
    bool generic = str_is(text, "generic") && ptx_take(parser, '(');
    if (generic) {
        token = parser->token;
        text = ptx_text(parser, token);
        ptx_next(parser);
        if (!ptx_expect(parser, ')'))
            return false;
    }
    int64_t offset = 0;
    if (ptx_take(parser, '+') && !ptx_expect_int(parser, &offset))
        return false;
    const Name *name = ptx_find(parser, text);
    if (name && name->kind == NAME_FUNC)
        return put_value(parser, init, name->func->address, token.lo, token.hi);
    if (!name || name->kind != NAME_VARIABLE)
        return ptx_error(parser, token.lo, token.hi, ptx_unknown_name, STR_ARG(text));
    if (name->variable->space != SPACE_global && name->variable->space != SPACE_const)
        return ptx_error(parser, token.lo, token.hi, ptx_bad_initialiser, STR_ARG(text));
    return put_value(parser, init,
                     sim_image_base(parser->module) + name->variable->address + (uint64_t)offset,
                     token.lo, token.hi);
}

static bool parse_scalar_init(Parser *parser, Init *init) {
    uint32_t lo = parser->token.lo;
    uint64_t value;
    if (parser->token.kind == PTX_NAME)
        return put_symbol(parser, init);
    bool negative = ptx_take(parser, '-');
    if (parser->token.kind == PTX_FLOAT) {
        if (!ptx_parse_float(parser, (unsigned)init->element * 8, negative, &value))
            return false;
    } else {
        int64_t number;
        if (!ptx_expect_int(parser, &number))
            return false;
        value = negative ? -(uint64_t)number : (uint64_t)number;
    }
    return put_value(parser, init, value, lo, parser->last_hi);
}

/* { ... }, nested as deep as the array has dimensions; read flat, as rows are written whole. */
static bool parse_init(Parser *parser, Init *init) {
    if (!ptx_take(parser, '{'))
        return parse_scalar_init(parser, init);
    unsigned depth = 1;
    while (depth) {
        if (ptx_take(parser, '{')) {
            if (++depth > 16)
                return ptx_error(parser, parser->token.lo, parser->token.hi, ptx_too_deep, 16);
        } else if (ptx_take(parser, '}')) {
            depth--;
        } else if (!ptx_take(parser, ',') && !parse_scalar_init(parser, init)) {
            return false;
        }
    }
    return true;
}

static uint64_t align_up(uint64_t value, uint64_t align) {
    return (value + align - 1) / align * align;
}

/* Shared variables lie apart, so that an access past one does not hit the next. Gaps are multiples
 * of all banks, so that conflicts stay what they are, and few enough that shared memory stays
 * below the 256 KiB that matrix descriptors reach. */
static void place_with_gap(SimModule *module, Variable *variable) {
    uint64_t next = module->shared_next ? module->shared_next : SIM_SHARED_START;
    variable->address = align_up(next, variable->align);
    next = variable->address + variable->size;
    uint64_t grown = next - (SIM_SHARED_START + module->static_shared);
    module->shared_next = next + (grown + SHARED_GAP <= MAX_SHARED_GAPS ? SHARED_GAP : 0);
}

/* Gives the variable its offset at the end of what its space holds so far. */
static bool place_variable(Parser *parser, Variable *variable, PtxToken token) {
    SimModule *module = parser->module;
    if (variable->is_extern && variable->space == SPACE_shared)
        return true;
    bool shared = variable->space == SPACE_shared && !variable->in_frame;
    if (shared && parser->func && parser->func->is_entry)
        variable->owner = parser->func;
    else if (shared && module->static_shared < module->shared_end) {
        /* What several kernels may use lies behind the variables of those that were read. */
        module->static_shared = module->shared_end;
        module->shared_next = module->shared_end_next;
    }
    uint64_t *end = variable->in_frame ? &parser->func->frame_bytes
                    : shared           ? &module->static_shared
                                       : &module->image_bytes;
    uint64_t start = shared ? SIM_SHARED_START : 0;
    uint64_t offset = align_up(start + *end, variable->align);
    if (offset + variable->size - start > MAX_VARIABLE_BYTES)
        return ptx_error(parser, token.lo, token.hi, ptx_large_variable, STR_ARG(variable->name));
    variable->address = offset;
    *end = offset + variable->size - start;
    if (shared)
        place_with_gap(module, variable);
    return true;
}

static bool add_variable(Parser *parser, Variable *variable, PtxToken token) {
    Name *name = ptx_declare(parser, variable->name, token.lo, token.hi);
    if (!name)
        return false;
    name->kind = NAME_VARIABLE;
    name->variable = variable;
    vec_push(parser->arena, &parser->module->variables, variable);
    return true;
}

static bool parse_one_variable(Parser *parser, SpaceKind space, bool is_extern, const Decl *decl) {
    PtxToken token = parser->token;
    Str text;
    uint64_t elements;
    if (!ptx_expect_name(parser, &text))
        return false;
    if (ptx_take(parser, '<'))
        return ptx_error(parser, token.lo, token.hi, ptx_numbered_variable);
    if (!parse_dimensions(parser, &elements))
        return false;
    uint64_t element = type_info[decl->type].bits / 8u * decl->vector;
    Variable *variable = ARENA_NEW(parser->arena, Variable);
    *variable = (Variable){.name = text,
                           .space = space,
                           .size = elements * element,
                           .align = decl->align ? decl->align
                                    : element   ? element
                                                : 1,
                           .is_extern = is_extern || (space == SPACE_shared && elements == 0),
                           .in_frame = space == SPACE_local || space == SPACE_param};
    if (variable->in_frame && !parser->func)
        return ptx_error(parser, token.lo, token.hi, ptx_bad_space, STR_ARG(text));
    if (variable->is_extern && space != SPACE_shared)
        return ptx_error(parser, token.lo, token.hi, ptx_extern_variable, STR_ARG(text));
    if (!place_variable(parser, variable, token) || !add_variable(parser, variable, token))
        return false;
    if (!ptx_take(parser, '='))
        return true;
    if (space != SPACE_global && space != SPACE_const)
        return ptx_error(parser, token.lo, token.hi, ptx_bad_initialiser, STR_ARG(text));
    uint8_t *bytes = arena_alloc(parser->arena, variable->size + 8);
    variable->init = bytes;
    return parse_init(
        parser, &(Init){bytes, 0, variable->size, type_info[decl->type].bits / 8u, decl->type});
}

bool ptx_parse_variable(Parser *parser, SpaceKind space, bool is_extern) {
    Decl decl;
    /* .const[2] and .param::func are not what compilers emit; a bank number is refused by
     * parse_decl. */
    if (!parse_decl(parser, &decl))
        return false;
    do {
        if (!parse_one_variable(parser, space, is_extern, &decl))
            return false;
    } while (ptx_take(parser, ','));
    return ptx_expect(parser, ';');
}

/* .ptr [.space] [.align N] behind the type of a parameter */
static bool skip_pointer(Parser *parser) {
    static const char *const words[] = {".ptr", ".global", ".shared", ".local", ".const", ".param"};
    uint64_t ignored;
    for (;;) {
        bool taken = false;
        for (size_t i = 0; i < sizeof words / sizeof *words; i++)
            taken |= ptx_take_word(parser, words[i]);
        if (ptx_take_word(parser, ".align")) {
            taken = true;
            if (!parse_align(parser, &ignored))
                return false;
        }
        if (!taken)
            return true;
    }
}

static bool parse_reg_param(Parser *parser, Func *func, bool is_result) {
    Decl decl;
    if (!parse_decl(parser, &decl))
        return false;
    PtxToken token = parser->token;
    Str text;
    if (!ptx_expect_name(parser, &text))
        return false;
    Name *name = ptx_declare(parser, text, token.lo, token.hi);
    if (!name)
        return false;
    name->kind = NAME_REG;
    name->bits = type_info[decl.type].bits;
    name->reg = func->regs++;
    Variable *none = NULL;
    if (is_result) {
        vec_push(parser->arena, &func->results, none);
        vec_push(parser->arena, &func->result_regs, name->reg);
    } else {
        vec_push(parser->arena, &func->params, none);
        vec_push(parser->arena, &func->param_regs, name->reg);
    }
    return true;
}

bool ptx_parse_param(Parser *parser, Func *func, bool is_result) {
    Decl decl;
    /* Those of an entry are memory that the launch fills. */
    if (!func->is_entry && ptx_take_word(parser, ".reg"))
        return parse_reg_param(parser, func, is_result);
    if (!ptx_take_word(parser, ".param"))
        return ptx_wanted(parser, "a parameter");
    if (!parse_decl(parser, &decl) || !skip_pointer(parser))
        return false;
    PtxToken token = parser->token;
    Str text;
    uint64_t elements;
    if (!ptx_expect_name(parser, &text) || !parse_dimensions(parser, &elements))
        return false;
    uint64_t element = type_info[decl.type].bits / 8u * decl.vector;
    Variable *variable = ARENA_NEW(parser->arena, Variable);
    *variable = (Variable){.name = text,
                           .space = SPACE_param,
                           .size = elements * element,
                           .align = decl.align ? decl.align
                                    : element  ? element
                                               : 1,
                           .in_frame = !func->is_entry};
    if (func->is_entry) {
        variable->address = align_up(func->param_bytes, variable->align);
        func->param_bytes = variable->address + variable->size;
        if (func->param_bytes > 32764)
            return ptx_error(parser, token.lo, token.hi, ptx_large_variable, STR_ARG(text));
    } else if (!place_variable(parser, variable, token)) {
        return false;
    }
    Name *name = ptx_declare(parser, text, token.lo, token.hi);
    if (!name)
        return false;
    name->kind = NAME_VARIABLE;
    name->variable = variable;
    if (is_result) {
        vec_push(parser->arena, &func->results, variable);
        vec_push(parser->arena, &func->result_regs, NO_REG);
    } else {
        vec_push(parser->arena, &func->params, variable);
        vec_push(parser->arena, &func->param_regs, NO_REG);
    }
    return true;
}
