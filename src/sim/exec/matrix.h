/* Matrix instructions: what mma.sync and wgmma share.
 *
 * Both multiply rows of A held by one warp by all columns of B: at most 16 rows for mma, and for
 * wgmma the 16 rows of a warp's quarter of the 64. The numbers lie in a MatrixBlock; fragments of
 * registers (matrix_fragment.c) and tiles of shared memory (wgmma_descriptor.c) are read into it,
 * and matrix_multiply (matrix_model.c) does what a tensor core does with them. */
#ifndef TILEC_SIM_EXEC_MATRIX_H
#define TILEC_SIM_EXEC_MATRIX_H
#include "sim/exec/alu.h"
#include "sim/state/warp.h"

enum { MATRIX_ROWS = 16, MATRIX_COLUMNS = 256, MATRIX_DEPTH = 32 };

typedef struct MatrixKind {
    Type a, b, d; /* c has the type of d */
    unsigned rows, columns, depth;
    unsigned sm;    /* the target: decides how sums are formed */
    bool is_wgmma;  /* mma.sync otherwise */
    bool saturates; /* .satfinite of s32 */
} MatrixKind;

/* Numbers of one instruction and warp; every element is exactly a number of its type. A row of A, a
 * column of B or an element of C that is not known makes the results that depend on it unknown. */
typedef struct MatrixBlock {
    MatrixKind kind;
    bool a_known[MATRIX_ROWS], b_known[MATRIX_COLUMNS];
    bool c_known[MATRIX_ROWS * MATRIX_COLUMNS];
    double a[MATRIX_ROWS * MATRIX_DEPTH];    /* row * depth + k */
    double b[MATRIX_DEPTH * MATRIX_COLUMNS]; /* k * columns + column */
    double c[MATRIX_ROWS * MATRIX_COLUMNS];  /* row * columns + column; becomes the result */
} MatrixBlock;

/* c = a * b + c in the arithmetic of the target's tensor cores; c_known becomes that of the result.
 */
void matrix_multiply(MatrixBlock *block);

/* The bits an element takes in a register or in shared memory: a tf32 fills 32. */
unsigned matrix_element_bits(Type type);
/* The number that an element's bits stand for. */
double matrix_decode(Type type, uint32_t bits);

/* Fragments of the current frame's registers, distributed as the PTX ISA says (matrix_fragment.c).
 * A vector has one register for each 32 bits of the fragment, 64 for f64. `negate` changes the
 * signs. */
void fragment_read_a(Warp *warp, const Operand *operand, bool negate, MatrixBlock *block);
void fragment_read_b(Warp *warp, const Operand *operand, MatrixBlock *block);
void fragment_read_c(Warp *warp, const Operand *operand, MatrixBlock *block);
void fragment_write_d(Warp *warp, const Operand *operand, const MatrixBlock *block);
/* The registers of a fragment of so many elements, and the width of each. */
unsigned fragment_registers(unsigned elements, Type type);
unsigned fragment_register_bits(Type type);
#endif
