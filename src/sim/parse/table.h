/* The table of instructions, and the functions that its rows name: whose files include it, so that
 * they are what the table says. */
#ifndef TILEC_SIM_PARSE_TABLE_H
#define TILEC_SIM_PARSE_TABLE_H
#include "sim/parse/module.h"

/* The functions that rows of the table name. */
#define SCALAR(name, modifiers, types, operands, class, function) Scalar function;
#define SCALAR_KNOWN(name, modifiers, types, operands, class, function, known)                     \
    Scalar function;                                                                               \
    KnownBits known;
#define INSN(name, modifiers, types, operands, class, executor) Executor executor;
#define INSN_CHECKED(name, modifiers, types, operands, class, executor, check)                     \
    Executor executor;                                                                             \
    OperandCheck check;
#include "sim/parse/instructions.def"
Executor exec_scalar; /* runs `scalar` for each thread */
Executor exec_return; /* of the exit that every function ends with */

extern const Row insn_rows[];
extern const unsigned insn_row_count;
/* Of the exit that every function ends with, to which all rets lead. */
extern const Row insn_return_row;
#endif
