/* The registers of a piece of PTX and its text. */
#include "codegen/products/piece.h"
#include "codegen/values/builder.h"
#include "codegen/values/plans.h"
#include "codegen/values/values.h"
#include "codegen/values/words.h"
#include <assert.h>

uint32_t piece_per_word(const Type *type) {
    int bytes = type_element_bytes(type);
    return bytes < 4 ? 4 / (uint32_t)bytes : 1;
}

Member *piece_member(const Piece *piece, const Value *value) {
    return value->def ? ptrmap_get(&piece->held, value->def) : NULL;
}

/* Registers */

static Name new_register(Piece *piece, LLVMTypeRef type) {
    piece->registers[piece->register_count] = (PieceRegister){.type = type};
    return (Name){NAME_REGISTER, piece->register_count++};
}

static LLVMTypeRef register_type(const Piece *piece, const Member *member) {
    const Type *type = member->op->out[0].type;
    if (member->role == ROLE_LOAD || piece_per_word(type) > 1)
        return piece->cg->t_i32;
    return cg_dtype(piece->cg, type->dtype);
}

/* Sums that nothing else takes become those of the product that adds to them. */
static bool stays_in_place(const Piece *piece, const Member *member) {
    const Value *addend = member->role == ROLE_PRODUCT ? op_in(member->op, 2) : NULL;
    const Member *before = addend ? piece_member(piece, addend) : NULL;
    return before && before->role != ROLE_RENAMING && value_has_one_use(addend);
}

static void name_words(Piece *piece, Member *member) {
    const Plan *plan = cg_plan(piece->cg, member->op->out[0].type->layout);
    uint32_t per_word = piece_per_word(member->op->out[0].type);
    LLVMTypeRef type = register_type(piece, member);
    for (uint32_t reg = 0; reg < plan->count; reg++)
        if (plan->rep[reg] != reg && member->role != ROLE_LOAD)
            member->names[reg] = member->names[plan->rep[reg]];
        else
            member->names[reg] =
                reg % per_word ? member->names[reg - reg % per_word] : new_register(piece, type);
}

static void name_member(Piece *piece, Member *member) {
    uint32_t count = cg_count(member->op->out[0].type);
    if (stays_in_place(piece, member)) {
        member->names = piece_member(piece, op_in(member->op, 2))->names;
        return;
    }
    member->names = ARENA_ARRAY(piece->cg->arena, Name, count);
    if (member->role != ROLE_RENAMING) {
        name_words(piece, member);
        return;
    }
    const Name *from = piece_member(piece, op_in(member->op, 0))->names;
    for (uint32_t reg = 0; reg < count; reg++)
        member->names[reg] = from[member->map[reg]];
}

/* Registers of the piece itself have 32 bits. */
static void number_registers(Piece *piece) {
    for (uint32_t i = 0; i < piece->count; i++) {
        const Member *member = &piece->members[i];
        if (member->role == ROLE_APART)
            continue;
        bool wide = type_element_bytes(member->op->out[0].type) > 4;
        for (uint32_t reg = 0; reg < cg_count(member->op->out[0].type); reg++)
            piece->registers[member->names[reg].number].is_result |=
                member->is_used_outside || wide;
    }
    for (uint32_t i = 0; i < piece->register_count; i++) {
        PieceRegister *one = &piece->registers[i];
        one->number = one->is_result ? piece->results++ : piece->own++;
    }
}

void piece_name_registers(Piece *piece) {
    Cg *cg = piece->cg;
    uint32_t registers = 0;
    for (uint32_t i = 0; i < piece->count; i++) {
        const Op *op = piece->members[i].op;
        if (piece->members[i].role == ROLE_APART)
            continue;
        registers += cg_count(op->out[0].type);
        for (uint32_t k = 0; k < op->nin; k++)
            piece->input_room += cg_count(op_in(op, k)->type);
        piece->input_room += cg_count(op->out[0].type); /* pointers of loads */
    }
    piece->registers = ARENA_ARRAY(cg->arena, PieceRegister, registers);
    piece->inputs = ARENA_ARRAY(cg->arena, Lv, piece->input_room);
    for (uint32_t i = 0; i < piece->count; i++)
        if (piece->members[i].role != ROLE_APART)
            name_member(piece, &piece->members[i]);
    number_registers(piece);
}

Name piece_new_input(Piece *piece, Lv value) {
    assert(piece->input_count < piece->input_room);
    piece->inputs[piece->input_count] = value;
    return (Name){NAME_INPUT, piece->input_count++};
}

Name piece_new_own(Piece *piece) {
    return (Name){NAME_OWN, piece->own++};
}

/* Text */

void piece_put(Piece *piece, const char *text) {
    strbuf_puts(&piece->text, text);
}

/* Without printf, which would take as long as the rest: an attention has ten thousand. */
static void put_numbered(StrBuf *text, const char *prefix, uint32_t number) {
    char digits[10];
    int first = (int)sizeof digits;
    do
        digits[--first] = (char)('0' + number % 10);
    while (number /= 10);
    strbuf_puts(text, prefix);
    strbuf_add(text, digits + first, sizeof digits - (size_t)first);
}

void piece_put_name(Piece *piece, Name name) {
    const PieceRegister *one = NULL;
    switch (name.kind) {
    case NAME_REGISTER:
        one = &piece->registers[name.number];
        put_numbered(&piece->text, one->is_result ? "$" : "%m", one->number);
        return;
    case NAME_INPUT:
        put_numbered(&piece->text, "$", piece->results + name.number);
        return;
    case NAME_OWN:
        put_numbered(&piece->text, "%m", name.number);
        return;
    case NAME_ZERO:
        put_numbered(&piece->text, "%zero", name.number);
        return;
    case NAME_F32:
        strbuf_printf(&piece->text, "0f%08X", (unsigned)name.number);
        return;
    case NAME_NONE:
        break;
    }
    assert(false && "a register without a name");
}

void piece_put_names(Piece *piece, const Name *names, uint32_t count) {
    for (uint32_t i = 0; i < count; i++) {
        strbuf_puts(&piece->text, i ? ", " : "{");
        piece_put_name(piece, names[i]);
    }
    strbuf_puts(&piece->text, "}");
}

/* The whole */

static char constraint_of(const Cg *cg, LLVMTypeRef type) {
    return type == cg->t_f32      ? 'f'
           : type == cg->t_f64    ? 'd'
           : type == cg->t_shared ? 'l'
           : type == cg->t_i1     ? 'b'
                                  : 'r';
}

/* Results are written before the last input is read. */
static void put_constraints(Piece *piece, const LLVMTypeRef *results) {
    StrBuf *out = &piece->constraints;
    for (uint32_t i = 0; i < piece->results; i++)
        strbuf_printf(out, "%s=&%c", i ? "," : "", constraint_of(piece->cg, results[i]));
    for (uint32_t i = 0; i < piece->input_count; i++)
        strbuf_printf(out, ",%c", constraint_of(piece->cg, LLVMTypeOf(piece->inputs[i])));
    if (piece->loads)
        strbuf_puts(out, ",~{memory}");
}

static Str whole_text(Piece *piece) {
    StrBuf out = strbuf(piece->cg->arena);
    strbuf_puts(&out, "{\n\t");
    if (piece->own)
        strbuf_printf(&out, ".reg .b32 %%m<%u>;\n\t", piece->own);
    for (int wide = 0; wide < 2; wide++) {
        int bits = wide ? 64 : 32;
        if (piece->takes_zero[wide])
            strbuf_printf(&out, ".reg .b%d %%zero%d;\n\tmov.b%d %%zero%d, 0;\n\t", bits, bits, bits,
                          bits);
    }
    Str text = strbuf_str(&piece->text);
    strbuf_add(&out, text.ptr, text.len);
    strbuf_puts(&out, "}");
    return strbuf_str(&out);
}

static void take_results(Piece *piece, const Member *member, const Lv *results) {
    Cg *cg = piece->cg;
    const Type *type = member->op->out[0].type;
    const Plan *plan = cg_plan(cg, type->layout);
    uint32_t per_word = piece_per_word(type);
    Lv *out = cg_new(cg, &member->op->out[0]);
    for (uint32_t reg = 0; reg < plan->count; reg++)
        if (plan->rep[reg] != reg && member->role != ROLE_LOAD)
            out[reg] = out[plan->rep[reg]];
        else if (reg % per_word == 0)
            cg_split_word(cg, results[piece->registers[member->names[reg].number].number],
                          cg_dtype(cg, type->dtype), per_word, out + reg);
}

static void take_all(Piece *piece, LowerAlone *alone, const Lv *results) {
    for (uint32_t i = 0; i < piece->count; i++) {
        const Member *member = &piece->members[i];
        if (!member->is_used_outside)
            continue;
        if (member->role == ROLE_RENAMING)
            alone(piece->cg, member->op);
        else
            take_results(piece, member, results);
    }
}

void piece_build(Piece *piece, LowerAlone *alone) {
    Cg *cg = piece->cg;
    LLVMTypeRef *types = ARENA_ARRAY(cg->arena, LLVMTypeRef, piece->results);
    for (uint32_t i = 0; i < piece->register_count; i++)
        if (piece->registers[i].is_result)
            types[piece->registers[i].number] = piece->registers[i].type;
    put_constraints(piece, types);
    bool one = piece->results == 1;
    LLVMTypeRef type =
        one ? types[0] : LLVMStructTypeInContext(cg->llvm, types, piece->results, false);
    Lv all = cg_asm(cg, type, whole_text(piece).ptr, strbuf_str(&piece->constraints).ptr,
                    piece->inputs, piece->input_count, ASM_CONVERGENT);
    Lv *results = ARENA_ARRAY(cg->arena, Lv, piece->results);
    for (uint32_t i = 0; i < piece->results; i++)
        results[i] = one ? all : LLVMBuildExtractValue(cg->b, all, i, "");
    take_all(piece, alone, results);
}
