/* Instructions of PTX: guard, name, modifiers, operands as the row of the table wants them. */
#include "sim/parse/parser.h"
#include "sim/parse/words.h"

static uint64_t mask_of(unsigned bits) {
    return bits >= 64 ? UINT64_MAX : (UINT64_C(1) << bits) - 1;
}

/* Registers. */

/* The innermost of a register's own declaration and one with numbers, %r12 of %r<20>. */
static bool find_register(const Parser *parser, Str text, RegRef *reg, uint8_t *bits) {
    uint32_t number = 0;
    const Name *own = ptx_find(parser, text), *all = ptx_find_numbered(parser, text, &number);
    if (own && (!all || own->depth >= all->depth)) {
        if (own->kind != NAME_REG)
            return false;
        *reg = own->reg;
        *bits = own->bits;
        return true;
    }
    if (!all)
        return false;
    *reg = all->reg + number * (all->bits == 128 ? 2 : 1);
    *bits = all->bits;
    return true;
}

/* %tid.x is a name and a word; %laneid a name. */
static bool take_special(Parser *parser, Operand *operand, Insn *insn) {
    PtxToken token = parser->token;
    PtxToken next = ptx_lex(parser->text, parser->length, token.hi);
    Str text = ptx_text(parser, token);
    if (next.kind == PTX_WORD && next.lo == token.hi)
        text.len = next.hi - token.lo;
    int special = special_find(text);
    if (special < 0)
        return false;
    ptx_next(parser);
    if (text.len > token.hi - token.lo)
        ptx_next(parser);
    operand->kind = OPERAND_REG;
    operand->reg = REG_IN(BANK_SPECIAL, special);
    operand->bits = special_info[special].bits;
    insn->reads_clock |= special_info[special].changes;
    return true;
}

static bool register_error(Parser *parser, PtxToken token) {
    Str text = ptx_text(parser, token);
    return ptx_error(parser, token.lo, token.hi, ptx_unknown_name, STR_ARG(text));
}

/* A register, `_`, a special register, or the address of a name. */
static bool parse_named(Parser *parser, Insn *insn, Operand *operand) {
    PtxToken token = parser->token;
    Str text = ptx_text(parser, token);
    operand->kind = OPERAND_REG;
    if (take_special(parser, operand, insn))
        return true;
    ptx_next(parser);
    if (str_is(text, "_")) {
        operand->reg = REG_SINK;
        operand->bits = 0;
        return true;
    }
    if (find_register(parser, text, &operand->reg, &operand->bits))
        return true;
    if (str_is(text, "WARP_SZ")) {
        operand->reg = ptx_constant(parser, 32);
        operand->bits = 0;
        return true;
    }
    const Name *name = ptx_find(parser, text);
    if (!name || (name->kind != NAME_VARIABLE && name->kind != NAME_FUNC))
        return register_error(parser, token);
    int64_t offset = 0;
    if (ptx_at(parser, '+') || ptx_at(parser, '-')) {
        bool minus = ptx_take(parser, '-');
        ptx_take(parser, '+');
        if (!ptx_expect_int(parser, &offset))
            return false;
        offset = minus ? -offset : offset;
    }
    operand->bits = 0;
    if (name->kind == NAME_FUNC)
        operand->reg = ptx_constant(parser, name->func->address);
    else if (name->variable->space == SPACE_param && !name->variable->in_frame)
        operand->reg = ptx_constant(parser, name->variable->address + (uint64_t)offset);
    else
        operand->reg = ptx_address_of(parser, name->variable, offset);
    return true;
}

static bool parse_number(Parser *parser, unsigned bits, Operand *operand) {
    bool negative = ptx_take(parser, '-');
    uint64_t value;
    operand->kind = OPERAND_REG;
    operand->bits = 0;
    if (parser->token.kind == PTX_FLOAT) {
        if (!ptx_parse_float(parser, bits, negative, &value))
            return false;
    } else if (parser->token.kind == PTX_INT) {
        if (!ptx_int_value(ptx_text(parser, parser->token), &value))
            return ptx_error(parser, parser->token.lo, parser->token.hi, ptx_int_range);
        ptx_next(parser);
        value = negative ? -value : value;
    } else {
        return ptx_wanted(parser, "an operand");
    }
    value = bits == 1 ? value != 0 : value & mask_of(bits);
    operand->reg = ptx_constant(parser, value);
    return true;
}

/* A source of `bits`; with `wider` registers may have more. */
static bool parse_source(Parser *parser, Insn *insn, unsigned bits, bool wider, Operand *operand) {
    PtxToken token = parser->token;
    operand->negated = bits == 1 && ptx_take(parser, '!');
    if (parser->token.kind != PTX_NAME)
        return parse_number(parser, bits, operand);
    if (!parse_named(parser, insn, operand))
        return false;
    if (operand->reg == REG_SINK && !operand->bits)
        return ptx_error(parser, token.lo, token.hi, ptx_sink_read);
    bool special = operand->reg >> BANK_SHIFT == BANK_SPECIAL;
    if (operand->bits && operand->bits != bits &&
        !((wider || special) && operand->bits > bits && bits > 1))
        return ptx_error(parser, token.lo, parser->last_hi, ptx_register_width,
                         STR_ARG(ptx_text(parser, token)), operand->bits, bits);
    return true;
}

static bool parse_dest(Parser *parser, Insn *insn, unsigned bits, bool wider, Operand *operand) {
    PtxToken token = parser->token;
    if (token.kind != PTX_NAME)
        return ptx_wanted(parser, "a register");
    if (!parse_named(parser, insn, operand))
        return false;
    if (operand->reg == REG_SINK && !operand->bits) {
        operand->bits = (uint8_t)bits;
        return true;
    }
    if (operand->reg >> BANK_SHIFT != BANK_FRAME || !operand->bits)
        return ptx_error(parser, token.lo, token.hi, ptx_not_writable,
                         STR_ARG(ptx_text(parser, token)));
    if (operand->bits != bits && !(wider && operand->bits > bits && bits > 1))
        return ptx_error(parser, token.lo, token.hi, ptx_register_width,
                         STR_ARG(ptx_text(parser, token)), operand->bits, bits);
    return true;
}

/* The elements between braces, counted ahead. */
static unsigned count_elements(const Parser *parser) {
    unsigned count = 1;
    PtxToken at = parser->token;
    while (at.kind != PTX_END && !(at.kind == PTX_PUNCT && (at.punct == '}' || at.punct == ';'))) {
        count += at.kind == PTX_PUNCT && at.punct == ',';
        at = ptx_lex(parser->text, parser->length, at.hi);
    }
    return count;
}

/* { a, b, ... }: `total` bits altogether when it is not 0, else `bits` each; bits 0: as registers
 * are. */
static bool parse_vector(Parser *parser, Insn *insn, bool write, unsigned bits, unsigned total,
                         bool wider, Operand *operand) {
    PtxToken open = parser->token;
    if (!ptx_expect(parser, '{'))
        return false;
    unsigned count = count_elements(parser);
    if (total)
        bits = total / count;
    RegRef *regs = ARENA_ARRAY(parser->arena, RegRef, count);
    uint8_t width = 0, filled = 0;
    for (unsigned i = 0; i < count; i++) {
        Operand element = {0};
        PtxToken token = parser->token;
        unsigned wanted = bits;
        RegRef reg;
        uint8_t own;
        if (!wanted)
            wanted = find_register(parser, ptx_text(parser, token), &reg, &own) ? own : 32;
        if (write ? !parse_dest(parser, insn, wanted, wider, &element)
                  : !parse_source(parser, insn, wanted, wider, &element))
            return false;
        if (i && !bits && wanted != width)
            return ptx_error(parser, token.lo, token.hi, ptx_register_width,
                             STR_ARG(ptx_text(parser, token)), wanted, width);
        /* A load fills its registers, which may be wider than its type and are all alike. */
        bool fills = write && wider && element.reg != REG_SINK;
        if (fills && filled && element.bits != filled)
            return ptx_error(parser, token.lo, token.hi, ptx_register_width,
                             STR_ARG(ptx_text(parser, token)), element.bits, filled);
        if (fills)
            filled = element.bits;
        width = (uint8_t)wanted;
        regs[i] = element.reg;
        if (i + 1 < count && !ptx_expect(parser, ','))
            return false;
    }
    if (!ptx_expect(parser, '}'))
        return false;
    if (total &&
        (total % count || !(bits == 1 || bits == 8 || bits == 16 || bits == 32 || bits == 64)))
        return ptx_error(parser, open.lo, parser->last_hi, ptx_vector_length, count);
    operand->kind = OPERAND_VECTOR;
    operand->bits = filled ? filled : width;
    operand->regs = regs;
    operand->count = count;
    return true;
}

/* v: what .v2, .v4, .v8 say. */
static bool parse_sized(Parser *parser, Insn *insn, bool write, unsigned bits, Operand *operand) {
    static const uint8_t sizes[WORD_COUNT] = {[WORD_v2] = 2, [WORD_v4] = 4, [WORD_v8] = 8};
    unsigned wanted = sizes[insn->field[FIELD_VECTOR]];
    PtxToken open = parser->token;
    if (!ptx_at(parser, '{') && !wanted)
        return write ? parse_dest(parser, insn, bits, true, operand)
                     : parse_source(parser, insn, bits, true, operand);
    if (!parse_vector(parser, insn, write, bits, 0, true, operand))
        return false;
    if (operand->count != (wanted ? wanted : 1))
        return ptx_error(parser, open.lo, parser->last_hi, ptx_vector_count, operand->count,
                         wanted ? wanted : 1);
    return true;
}

/* Behind the bracket: a register or a name, and offsets; or a number. */
static bool parse_place(Parser *parser, Insn *insn, Operand *operand) {
    PtxToken token = parser->token;
    operand->kind = OPERAND_ADDRESS;
    if (token.kind == PTX_INT) {
        uint64_t value;
        if (!ptx_int_value(ptx_text(parser, token), &value))
            return ptx_error(parser, token.lo, token.hi, ptx_int_range);
        ptx_next(parser);
        operand->reg = ptx_constant(parser, value);
        operand->bits = 64;
        return true;
    }
    if (token.kind != PTX_NAME)
        return ptx_wanted(parser, "an address");
    Operand base = {0};
    const Name *name = ptx_find(parser, ptx_text(parser, token));
    if (name && name->kind == NAME_VARIABLE && name->variable->space == SPACE_param)
        operand->in_frame = name->variable->in_frame;
    if (name && name->kind == NAME_VARIABLE) {
        /* The offset is read here, with its sign. */
        ptx_next(parser);
        base.reg = name->variable->space == SPACE_param && !name->variable->in_frame
                       ? ptx_constant(parser, name->variable->address)
                       : ptx_address_of(parser, name->variable, 0);
    } else if (!parse_named(parser, insn, &base)) {
        return false;
    }
    if (base.bits && base.bits != 32 && base.bits != 64)
        return ptx_error(parser, token.lo, token.hi, ptx_register_width,
                         STR_ARG(ptx_text(parser, token)), base.bits, 64);
    operand->reg = base.reg;
    operand->bits = base.bits ? base.bits : 64;
    while (ptx_at(parser, '+') || ptx_at(parser, '-')) {
        bool minus = ptx_take(parser, '-');
        ptx_take(parser, '+');
        int64_t offset;
        if (!ptx_expect_int(parser, &offset))
            return false;
        /* Addresses wrap. */
        uint64_t moved = (uint64_t)operand->offset;
        moved += minus ? 0 - (uint64_t)offset : (uint64_t)offset;
        operand->offset = (int64_t)moved;
    }
    return true;
}

static bool parse_address(Parser *parser, Insn *insn, Operand *operand) {
    return ptx_expect(parser, '[') && parse_place(parser, insn, operand) && ptx_expect(parser, ']');
}

/* [map, {x, y, ...}]: as many coordinates as the instruction has dimensions. */
static bool parse_tensor(Parser *parser, Insn *insn, Operand *operand) {
    Operand coordinates = {0};
    unsigned wanted = (unsigned)(insn->field[FIELD_DIM] - WORD_dim1) + 1;
    if (!ptx_expect(parser, '[') || !parse_place(parser, insn, operand) || !ptx_expect(parser, ','))
        return false;
    PtxToken open = parser->token;
    if (!parse_vector(parser, insn, false, 32, 0, false, &coordinates))
        return false;
    if (coordinates.count != wanted)
        return ptx_error(parser, open.lo, parser->last_hi, ptx_coordinate_count, coordinates.count,
                         wanted);
    operand->kind = OPERAND_TENSOR;
    operand->regs = coordinates.regs;
    operand->count = coordinates.count;
    return ptx_expect(parser, ']');
}

static bool parse_label_use(Parser *parser, Operand *operand, bool table) {
    PtxToken token = parser->token;
    Str text;
    if (!ptx_expect_name(parser, &text))
        return false;
    operand->kind = OPERAND_LABEL;
    if (!table) {
        vec_push(parser->arena, &parser->uses,
                 (LabelUse){text, token.lo, token.hi, (uint32_t)parser->module->insns.len, NULL});
        return true;
    }
    const Name *name = ptx_find(parser, text);
    if (!name || name->kind != NAME_TABLE)
        return register_error(parser, token);
    operand->regs = name->table;
    operand->count = name->table_count;
    return true;
}

static bool parse_second(Parser *parser, Insn *insn, Operand *operand) {
    operand->second = NO_REG;
    if (!ptx_take(parser, '|'))
        return true;
    Operand second = {0};
    if (!parse_dest(parser, insn, 1, false, &second))
        return false;
    operand->second = second.reg;
    return true;
}

static bool parse_list(Parser *parser, Insn *insn, const Operand **list, uint32_t *count) {
    VEC(Operand) items = {0};
    if (!ptx_expect(parser, '('))
        return false;
    while (!ptx_at(parser, ')')) {
        Operand item = {.second = NO_REG};
        const Name *name = parser->token.kind == PTX_NAME
                               ? ptx_find(parser, ptx_text(parser, parser->token))
                               : NULL;
        if (name && name->kind == NAME_VARIABLE && name->variable->in_frame) {
            item.kind = OPERAND_ADDRESS;
            item.reg = ptx_address_of(parser, name->variable, 0);
            item.count = (uint32_t)name->variable->size;
            ptx_next(parser);
        } else {
            RegRef reg;
            uint8_t bits = 32;
            find_register(parser, ptx_text(parser, parser->token), &reg, &bits);
            if (!parse_source(parser, insn, bits, false, &item))
                return false;
        }
        vec_push(parser->arena, &items, item);
        if (!ptx_at(parser, ')') && !ptx_expect(parser, ','))
            return false;
    }
    ptx_next(parser);
    *list = items.data;
    *count = (uint32_t)items.len;
    return true;
}

static bool check_call(Parser *parser, Call *call, PtxToken token) {
    const Func *callee = call->callee;
    if (!callee)
        return true;
    unsigned wanted = call->kind == CALL_VPRINTF  ? 2
                      : call->kind == CALL_ASSERT ? 5
                                                  : (unsigned)callee->params.len;
    if (call->arg_count != wanted)
        return ptx_error(parser, token.lo, token.hi, ptx_call_arguments, STR_ARG(callee->name),
                         wanted, (unsigned)callee->results.len, call->arg_count,
                         call->result_count);
    if (call->arg_count != callee->params.len || call->result_count != callee->results.len)
        return ptx_error(parser, token.lo, token.hi, ptx_call_arguments, STR_ARG(callee->name),
                         (unsigned)callee->params.len, (unsigned)callee->results.len,
                         call->arg_count, call->result_count);
    return true;
}

static bool resolve_callee(Parser *parser, Call *call, PtxToken token) {
    static const struct {
        const char *name;
        int kind;
    } known[] = {{"vprintf", CALL_VPRINTF}, {"__assertfail", CALL_ASSERT}};
    const Name *name = ptx_find(parser, call->name);
    RegRef reg;
    uint8_t bits;
    if (name && name->kind == NAME_FUNC) {
        call->callee = name->func;
        for (size_t i = 0; i < sizeof known / sizeof *known; i++)
            if (str_is(call->name, known[i].name))
                call->kind = known[i].kind;
        return true;
    }
    if (find_register(parser, call->name, &reg, &bits)) {
        call->kind = CALL_INDIRECT;
        call->pointer = (Operand){.kind = OPERAND_REG, .reg = reg, .bits = bits};
        return true;
    }
    return ptx_error(parser, token.lo, token.hi, ptx_unknown_name, STR_ARG(call->name));
}

/* The operands of call, behind its modifiers. */
static bool parse_call(Parser *parser, Insn *insn) {
    Call *call = ARENA_NEW(parser->arena, Call);
    insn->call = call;
    if (ptx_at(parser, '(') && (!parse_list(parser, insn, &call->results, &call->result_count) ||
                                !ptx_expect(parser, ',')))
        return false;
    PtxToken token = parser->token;
    if (!ptx_expect_name(parser, &call->name) || !resolve_callee(parser, call, token))
        return false;
    if (ptx_take(parser, ',')) {
        if (!parse_list(parser, insn, &call->args, &call->arg_count))
            return false;
        /* The prototype or the list of possible callees of an indirect call. */
        Str prototype;
        if (ptx_take(parser, ',') && !ptx_expect_name(parser, &prototype))
            return false;
    }
    return check_call(parser, call, token);
}

/* One operand as an entry of the row's list says. */
static bool parse_operand(Parser *parser, Insn *insn, Str spec, Operand *operand) {
    bool write = spec.ptr[0] == '=';
    if (write)
        spec = (Str){spec.ptr + 1, spec.len - 1};
    if (spec.ptr[spec.len - 1] == '?')
        spec.len--;
    bool second = spec.len > 2 && !memcmp(spec.ptr + spec.len - 2, "|p", 2);
    if (second)
        spec.len -= 2;
    char kind = spec.ptr[0];
    bool typed = spec.len == 2 && spec.ptr[1] >= '0' && spec.ptr[1] <= '3';
    unsigned bits = 0;
    if (kind >= '0' && kind <= '3')
        bits = type_info[insn->type[kind - '0']].bits;
    else if (typed)
        bits = type_info[insn->type[spec.ptr[1] - '0']].bits;
    operand->second = NO_REG;
    if (spec.len == 1 && kind == 'm')
        return parse_address(parser, insn, operand);
    if (spec.len == 1 && kind == 't')
        return parse_tensor(parser, insn, operand);
    if (spec.len == 1 && (kind == 'L' || kind == 'T'))
        return parse_label_use(parser, operand, kind == 'T');
    if (spec.len == 1 && kind == 'c')
        return parse_call(parser, insn);
    if (spec.len == 1 && kind == 'i') {
        operand->kind = OPERAND_NUMBER;
        return ptx_expect_int(parser, &operand->offset);
    }
    if (spec.len == 1 && kind == 'x')
        return parse_vector(parser, insn, write, 0, 0, false, operand);
    if (typed && kind == 'v')
        return parse_sized(parser, insn, write, bits, operand);
    if (spec.len == 1 && kind == 'd')
        return ptx_at(parser, '{') ? parse_vector(parser, insn, write, 0, 0, false, operand)
                                   : parse_source(parser, insn, 64, false, operand);
    if (typed && kind == 'y' && ptx_at(parser, '{'))
        return parse_vector(parser, insn, write, 0, bits, false, operand);
    if (kind == 'w' && spec.len == 1)
        bits = type_info[insn->type[0]].bits * 2u;
    else if (!bits)
        bits = type_info[type_find(spec)].bits;
    bool wider = typed && kind == 'r';
    if (!write)
        return parse_source(parser, insn, bits, wider, operand);
    return parse_dest(parser, insn, bits, wider, operand) &&
           (!second || parse_second(parser, insn, operand));
}

/* How many operands stand before the semicolon. */
static unsigned count_operands(const Parser *parser) {
    unsigned count = 0, depth = 0;
    bool any = false;
    for (PtxToken at = parser->token; at.kind != PTX_END;
         at = ptx_lex(parser->text, parser->length, at.hi)) {
        if (at.kind == PTX_PUNCT) {
            if (at.punct == ';')
                break;
            depth += at.punct == '[' || at.punct == '{' || at.punct == '(';
            depth -= (at.punct == ']' || at.punct == '}' || at.punct == ')') && depth;
            count += at.punct == ',' && !depth;
        }
        any = true;
    }
    return count + any;
}

static unsigned split_specs(const char *list, Str *specs, unsigned *optional) {
    unsigned count = 0;
    *optional = 0;
    while (*list) {
        const char *end = list;
        while (*end && *end != ' ')
            end++;
        specs[count++] = (Str){list, (size_t)(end - list)};
        *optional += end[-1] == '?';
        list = *end ? end + 1 : end;
    }
    return count;
}

static bool parse_operands(Parser *parser, Insn *insn) {
    Str specs[MAX_OPERANDS];
    unsigned optional, count = split_specs(insn->row->operands, specs, &optional);
    unsigned given = count_operands(parser);
    bool call = count == 1 && specs[0].ptr[0] == 'c';
    if (!call && (given < count - optional || given > count)) {
        if (optional)
            return ptx_error(parser, insn->lo, parser->last_hi, ptx_operand_range, insn->row->name,
                             count - optional, count, given);
        return ptx_error(parser, insn->lo, parser->last_hi, ptx_operand_count, insn->row->name,
                         count, given);
    }
    unsigned spare = call ? 0 : given - (count - optional);
    bool first = true;
    for (unsigned i = 0; i < count; i++) {
        Operand *operand = &insn->operand[i];
        if (specs[i].ptr[specs[i].len - 1] == '?' && !spare)
            continue;
        spare -= specs[i].ptr[specs[i].len - 1] == '?';
        if (!first && !ptx_expect(parser, ','))
            return false;
        first = false;
        if (!parse_operand(parser, insn, specs[i], operand))
            return false;
    }
    insn->operand_count = (uint8_t)count;
    return true;
}

static bool parse_guard(Parser *parser, Insn *insn) {
    insn->guard = NO_REG;
    if (!ptx_take(parser, '@'))
        return true;
    Operand guard = {0};
    insn->guard_negated = ptx_take(parser, '!');
    if (parser->token.kind != PTX_NAME)
        return ptx_wanted(parser, "a predicate");
    if (!parse_source(parser, insn, 1, false, &guard))
        return false;
    insn->guard = guard.reg;
    return true;
}

enum { MAX_WORDS = 24 };

static bool parse_name(Parser *parser, Insn *insn) {
    PtxToken name = parser->token, words[MAX_WORDS];
    if (name.kind != PTX_NAME)
        return ptx_wanted(parser, "an instruction");
    Str texts[MAX_WORDS];
    unsigned count = 0;
    ptx_next(parser);
    while (parser->token.kind == PTX_WORD) {
        if (count == MAX_WORDS)
            return ptx_wanted(parser, "an operand");
        words[count] = parser->token;
        Str text = ptx_text(parser, parser->token);
        texts[count++] = (Str){text.ptr + 1, text.len - 1};
        ptx_next(parser);
    }
    const char *problem;
    int bad = insn_match(parser->arena, ptx_text(parser, name), texts, count, insn, &problem);
    if (bad < 0)
        return true;
    PtxToken at = (unsigned)bad < count ? words[bad] : name;
    bool known = strncmp(problem, "unknown", 7) != 0;
    if (!known)
        at = name;
    return ptx_error(parser, at.lo,
                     known   ? at.hi
                     : count ? words[count - 1].hi
                             : at.hi,
                     ptx_instruction, problem);
}

bool ptx_parse_insn(Parser *parser) {
    Insn insn = {
        .loc = parser->place, .target = NO_PC, .reconverge = NO_PC, .lo = parser->token.lo};
    if (!parse_guard(parser, &insn) || !parse_name(parser, &insn) || !parse_operands(parser, &insn))
        return false;
    insn.hi = parser->token.hi;
    if (!ptx_expect(parser, ';'))
        return false;
    const char *problem = insn.row->check ? insn.row->check(&insn) : NULL;
    if (problem)
        return ptx_error(parser, insn.lo, insn.hi, ptx_operands, problem);
    if (!ptx_check_target(parser, &insn))
        return false;
    insn.is_branch = !strcmp(insn.row->name, "bra") || !strcmp(insn.row->name, "ret");
    if (insn.operand_count == 2 && insn.operand[1].kind == OPERAND_LABEL) {
        insn.table = insn.operand[1].regs;
        insn.table_count = insn.operand[1].count;
    }
    parser->module->has_mbarriers |= !strcmp(insn.row->name, "mbarrier");
    parser->module->has_bulk |= insn.field[FIELD_BULK] != WORD_none;
    vec_push(parser->arena, &parser->module->insns, insn);
    return true;
}
