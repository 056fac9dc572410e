/* Pieces of PTX in Tile IR: what their attributes say. */
#ifndef TILEC_IR_INLINE_ASM_H
#define TILEC_IR_INLINE_ASM_H
#include "ir/ir.h"

enum { ASM_MAX_PACK = 64, ASM_MAX_REGISTERS = 256, ASM_MAX_RESULTS = 16 };

/* Registers of a piece, results first, by the letter of their constraint: r, l, h, f, d; of an
 * input that shares a result's register that result's letter. */
typedef struct AsmRegisters {
    char letters[ASM_MAX_REGISTERS];
    uint32_t outputs, count;
} AsmRegisters;

/* False if the constraints are not such a list; clobbers (~{..}) may follow. */
bool asm_registers(Str constraints, AsmRegisters *registers);
/* Registers that `pack` elements of a type take, and how many of the elements lie in one. */
uint32_t asm_registers_of(uint32_t bits, uint32_t pack, uint32_t *elements);
/* The type of result number `index`; false if there is none. */
bool asm_result_dtype(const Op *op, uint32_t index, DType *dtype);
/* The first register of result number `index`. */
uint32_t asm_result_register(const Op *op, uint32_t index);
/* Bits of a register by its letter. */
uint32_t asm_letter_bits(char letter);
#endif
