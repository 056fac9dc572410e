/* Pieces of PTX that the source has. A thread takes its elements `pack` at a time, in the order of
 * its registers; the last ones stand for those that are missing. */
#include "ir/inline_asm.h"
#include "codegen/lowerings.h"
#include "codegen/values/builder.h"
#include "codegen/values/values.h"

static LLVMTypeRef letter_type(Cg *cg, char letter) {
    switch (letter) {
    case 'h':
        return cg->t_i16;
    case 'r':
        return cg->t_i32;
    case 'f':
        return cg->t_f32;
    case 'd':
        return cg->t_f64;
    default:
        return cg->t_i64;
    }
}

static LLVMTypeRef int_type(Cg *cg, uint32_t bits) {
    return LLVMIntTypeInContext(cg->llvm, bits);
}

static uint32_t element_bits(const Type *type) {
    return type->kind == TYPE_POINTER ? 64 : (uint32_t)dtype_info[type->dtype].bits;
}

/* The bits of one element, as many as its register in memory has. */
static Lv element_integer(Cg *cg, const Type *type, Lv x) {
    uint32_t bits = element_bits(type);
    if (type->kind == TYPE_POINTER)
        return LLVMBuildPtrToInt(cg->b, x, cg->t_i64, "");
    if (bits < 8)
        return LLVMBuildZExt(cg->b, x, cg->t_i8, "");
    return LLVMBuildBitCast(cg->b, x, int_type(cg, bits), "");
}

/* A register of the piece with elements [at, at + count) of a thread's. */
static Lv packed(Cg *cg, const Type *type, const Lv *regs, uint32_t n, uint32_t at, uint32_t count,
                 char letter) {
    uint32_t bits = element_bits(type) < 8 ? 8 : element_bits(type);
    uint32_t room = asm_letter_bits(letter);
    uint32_t wide = bits * count > room ? bits * count : room;
    Lv sum = LLVMConstInt(int_type(cg, wide), 0, false);
    for (uint32_t i = 0; i < count; i++) {
        Lv x = element_integer(cg, type, regs[at + i < n ? at + i : n - 1]);
        x = LLVMBuildZExt(cg->b, x, int_type(cg, wide), "");
        x = LLVMBuildShl(cg->b, x, LLVMConstInt(int_type(cg, wide), i * bits, false), "");
        sum = LLVMBuildOr(cg->b, sum, x, "");
    }
    if (wide > room)
        sum = LLVMBuildTrunc(cg->b, sum, int_type(cg, room), "");
    return LLVMBuildBitCast(cg->b, sum, letter_type(cg, letter), "");
}

/* Element `i` of those that a register holds. */
static Lv unpacked(Cg *cg, const Type *type, Lv reg, char letter, uint32_t i) {
    uint32_t bits = element_bits(type) < 8 ? 8 : element_bits(type), room = asm_letter_bits(letter);
    Lv word = LLVMBuildBitCast(cg->b, reg, int_type(cg, room), "");
    if (i)
        word = LLVMBuildLShr(cg->b, word, LLVMConstInt(int_type(cg, room), i * bits, false), "");
    if (bits < room)
        word = LLVMBuildTrunc(cg->b, word, int_type(cg, bits), "");
    else if (bits > room)
        word = LLVMBuildZExt(cg->b, word, int_type(cg, bits), "");
    if (type->dtype == DT_I1)
        return LLVMBuildTrunc(cg->b, word, cg->t_i1, "");
    return LLVMBuildBitCast(cg->b, word, cg_type(cg, type), "");
}

/* One run of the piece, on the elements from `at` on; its value has all results. */
static Lv run_piece(Cg *cg, const Op *op, const AsmRegisters *registers, uint32_t n, uint32_t at) {
    Lv args[ASM_MAX_REGISTERS];
    LLVMTypeRef types[ASM_MAX_REGISTERS];
    uint32_t count = 0, elements, pack = (uint32_t)op_pack(op);
    for (uint32_t k = 0; k < op->nin; k++) {
        const Type *type = op_in(op, k)->type;
        uint32_t regs = asm_registers_of(element_bits(type), pack, &elements);
        for (uint32_t i = 0; i < regs; i++, count++)
            args[count] = packed(cg, type, cg_in(cg, op, k), n, at + i * elements, elements,
                                 registers->letters[registers->outputs + count]);
    }
    for (uint32_t i = 0; i < registers->outputs; i++)
        types[i] = letter_type(cg, registers->letters[i]);
    LLVMTypeRef result = registers->outputs == 1
                             ? types[0]
                             : LLVMStructTypeInContext(cg->llvm, types, registers->outputs, false);
    Str constraints = op_constraints(op);
    StrBuf text = strbuf(cg->arena);
    for (size_t i = 0; i < constraints.len; i++)
        if (constraints.ptr[i] != ' ' && constraints.ptr[i] != '\n' && constraints.ptr[i] != '\t')
            strbuf_putc(&text, constraints.ptr[i]);
    return cg_asm(cg, result, str_dup(cg->arena, op_asm_text(op)),
                  str_dup(cg->arena, strbuf_str(&text)), args, count,
                  op_is_pure(op) ? ASM_PURE : ASM_EFFECTS);
}

static void lower_piece(Cg *cg, const Op *op) {
    const Type *type = op_out(op)->type;
    AsmRegisters registers;
    if (!asm_registers(op_constraints(op), &registers))
        return;
    uint32_t n = cg_count(type), elements, pack = (uint32_t)op_pack(op);
    uint32_t first = asm_result_register(op, (uint32_t)op_result(op));
    asm_registers_of(element_bits(type), pack, &elements);
    Lv *out = cg_new(cg, op_out(op));
    for (uint32_t at = 0; at < n; at += pack) {
        Lv all = run_piece(cg, op, &registers, n, at);
        for (uint32_t i = 0; i < pack && at + i < n; i++) {
            uint32_t reg = first + i / elements;
            Lv one = registers.outputs == 1 ? all : LLVMBuildExtractValue(cg->b, all, reg, "");
            out[at + i] = unpacked(cg, type, one, registers.letters[reg], i % elements);
        }
    }
}

void lower_inline_asm(Cg *cg, const Op *op) {
    lower_piece(cg, op);
}

void lower_effect_asm(Cg *cg, const Op *op) {
    lower_piece(cg, op);
}
