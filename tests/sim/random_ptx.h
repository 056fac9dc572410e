/* PTX made at random from the table of instructions: every statement reads, and most run. */
#ifndef TILEC_TESTS_SIM_RANDOM_PTX_H
#define TILEC_TESTS_SIM_RANDOM_PTX_H
#include "sim/parse/module.h"

/* Where choices come from: the bytes of an input as long as there are some, then numbers made from
 * the state. */
typedef struct Choices {
    const uint8_t *data;
    size_t size, at;
    uint64_t state;
} Choices;

/* Below `count`, which is at most 65536. */
unsigned choose(Choices *choices, unsigned count);

/* Variables and a function of the module, which random instructions name. */
extern const char random_ptx_module_head[];
/* The parameters of a kernel whose body begins with the prologue: x and y are addresses, map is a
 * tensor map. */
extern const char random_ptx_parameters[];
/* Declares the registers that random instructions use, and fills %rd1, %rd2 (x, y), %rd3 (&x[tid]),
 * %rd6 (map), %rd9 (a matrix descriptor), %r1 (tid), %r2 (an address in shared memory). */
extern const char random_ptx_prologue[];

/* An instruction of that row with its semicolon; branches go to $L0 to $L7. */
void random_ptx_insn(Choices *choices, const Row *row, StrBuf *out);
/* A statement: an instruction of any row, guarded or not, or one that is likely to do something. */
void random_ptx_statement(Choices *choices, StrBuf *out);
/* A whole module with the kernel k of about `statements` statements. */
void random_ptx_module(Choices *choices, unsigned statements, StrBuf *out);
#endif
