/* Private to the interpreter of pieces of PTX: instructions as they are read, and what they do. */
#ifndef TILEC_INTERP_INTERP_ASM_H
#define TILEC_INTERP_INTERP_ASM_H
#include "interp/interp_internal.h"

enum { MAX_MODIFIERS = 8 };

typedef enum NumberKind {
    KIND_BITS,
    KIND_UNSIGNED,
    KIND_SIGNED,
    KIND_FLOAT,
    KIND_PREDICATE
} NumberKind;

typedef struct NumberType {
    NumberKind kind;
    uint32_t bits;
    DType dtype; /* of a float */
} NumberType;

/* A register, or a number as it stands. */
typedef struct AsmOperand {
    bool is_register;
    uint32_t reg;
    Str text;
} AsmOperand;

typedef struct Instruction Instruction;
typedef uint64_t AsmFn(const Instruction *it, const uint64_t *v);

struct Instruction {
    Str words[1 + MAX_MODIFIERS]; /* the name first */
    uint32_t nwords;
    NumberType types[2];
    uint32_t ntypes;
    AsmFn *run; /* NULL: mov */
    AsmOperand to[4], from[4];
    uint32_t nto, nfrom;
    bool ftz, guarded, unless;
    uint32_t guard;
};

/* An instruction by its name: how many operands it has beside the result, and what it computes of
 * them; NULL, mov. */
typedef struct KnownInstruction {
    const char *name;
    uint8_t operands;
    AsmFn *run;
} KnownInstruction;
const KnownInstruction *asm_instruction(Str name);
/* Whether it converts between two types. */
bool asm_converts(const KnownInstruction *known);
/* Modifiers that those instructions have, beside types. */
bool asm_modifier_known(Str word);
bool asm_number_type(Str word, NumberType *type);
bool asm_has_word(const Instruction *it, const char *word);
/* The lowest bits. */
uint64_t asm_wrap(uint64_t value, uint32_t bits);
#endif
