/* A piece of PTX that several ops become together: products by mma.sync, the loads of their
 * operands, and what is computed of one product, element by element, for the next.
 *
 *     %b0 = local_load %v                                  ldmatrix {%m0, %m1, %m2, %m3}, [$130];
 *     %b1 = local_load %v {at = 2048}                      ...
 *     %s0 = dot %a0, %b0, %acc {unit = mma}       ->       mma.sync {%m8, ..}, ..
 *     %s1 = dot %a1, %b1, %s0 {unit = mma}                 mma.sync {%m8, ..}, ..
 *     %p = exp2 %s1                                        ex2.approx.ftz.f32 %m40, %m8;
 *     %w = truncf %p                                       cvt.rn.f16x2.f32 %m72, %m41, %m40;
 *     %o = dot %w, %c, %acc2 {unit = mma}                  mma.sync {$0, $1, $2, $3}, ..
 *
 * What nothing else needs are registers of the piece, and sums stay in place, so that LLVM sees the
 * operands that come from elsewhere and the last sums, not four values an instruction and five a
 * pair. ptxas allots and schedules the same instructions either way. */
#ifndef TILEC_CODEGEN_PRODUCTS_PIECE_H
#define TILEC_CODEGEN_PRODUCTS_PIECE_H
#include "codegen/cg.h"
#include "support/ptrmap.h"
#include "target/mma.h"

/* A register in the text, or a number that stands for itself. */
typedef enum NameKind {
    NAME_NONE,
    NAME_REGISTER, /* of an op of the piece: a result, or its own */
    NAME_INPUT,
    NAME_OWN,  /* between two instructions */
    NAME_ZERO, /* the number is its bits */
    NAME_F32   /* the number is the bits of a constant */
} NameKind;

typedef struct Name {
    NameKind kind;
    uint32_t number;
} Name;

typedef enum Role {
    ROLE_APART, /* lowered by itself, in front of the piece: nothing that it takes is of it */
    ROLE_LOAD,
    ROLE_PRODUCT,
    ROLE_RENAMING, /* of registers of the piece */
    ROLE_COMPUTED  /* element by element */
} Role;

typedef struct Member {
    const Op *op;
    Role role;
    Name *names;         /* by register: of the word that holds it. NULL: ROLE_APART */
    const uint32_t *map; /* ROLE_RENAMING: the operand's register, by register */
    bool is_used_outside;
} Member;

typedef struct PieceRegister {
    LLVMTypeRef type;
    bool is_result;  /* an operand of the piece */
    uint32_t number; /* among results, or of its own */
} PieceRegister;

enum { PIECE_POINTERS = 32 };

typedef struct Piece {
    Cg *cg;
    Member *members;
    uint32_t count;
    PtrMap held; /* of ops to those members that are no ROLE_APART */
    PieceRegister *registers;
    uint32_t register_count, results, own;
    Lv *inputs;
    uint32_t input_count, input_room;
    PtrMap input_names; /* of values that elements are computed from */
    struct Pointer {
        Lv pointer;
        Name name;
    } pointers[PIECE_POINTERS]; /* those of shared memory that are operands, the latest */
    uint32_t pointer_count;
    bool takes_zero[2]; /* of 32 bits, of 64 */
    bool loads;
    StrBuf text, constraints;
} Piece;

/* Which ops (piece_ops.c) */

/* Lowers an op by itself. */
typedef void LowerAlone(Cg *cg, const Op *op);
/* The piece that begins with `op`; false: there is none. */
bool piece_find(Piece *piece, const Op *op);
const Mma *piece_mma(const Cg *cg, const Op *op);

/* Registers and text (piece.c) */

/* Whose registers hold the value; NULL: it comes from elsewhere. */
Member *piece_member(const Piece *piece, const Value *value);
/* Elements in a register. */
uint32_t piece_per_word(const Type *type);
/* Of all members; results are numbered before inputs, so before there is text. */
void piece_name_registers(Piece *piece);
Name piece_new_input(Piece *piece, Lv value);
Name piece_new_own(Piece *piece);
void piece_put(Piece *piece, const char *text);
void piece_put_name(Piece *piece, Name name);
/* "{$0, $1}" */
void piece_put_names(Piece *piece, const Name *names, uint32_t count);
/* The inline PTX, what others take of it, and the renamings that others take. */
void piece_build(Piece *piece, LowerAlone *alone);

/* Elements (piece_elements.c) */

bool piece_computes(const Cg *cg, const Op *op);
/* A product of f32 that is part of the sum that alone takes it. */
bool piece_is_fused(const Piece *piece, const Op *op);
void piece_put_computed(Piece *piece, const Member *member);
#endif
