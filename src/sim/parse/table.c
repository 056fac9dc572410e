/* The table of instructions: the one place where PTX meets the functions that execute it. */
#include "sim/parse/table.h"

const Row insn_rows[] = {
#define SCALAR(name, modifiers, types, operands, class, function)                                  \
    {#name, modifiers, types, operands, CLASS_##class, exec_scalar, function, NULL, NULL},
#define SCALAR_KNOWN(name, modifiers, types, operands, class, function, known)                     \
    {#name, modifiers, types, operands, CLASS_##class, exec_scalar, function, known, NULL},
#define INSN(name, modifiers, types, operands, class, executor)                                    \
    {#name, modifiers, types, operands, CLASS_##class, executor, NULL, NULL, NULL},
#define INSN_CHECKED(name, modifiers, types, operands, class, executor, check)                     \
    {#name, modifiers, types, operands, CLASS_##class, executor, NULL, NULL, check},
#include "sim/parse/instructions.def"
};
const unsigned insn_row_count = sizeof insn_rows / sizeof *insn_rows;

const Row insn_return_row = {"ret", "", "", "", CLASS_CONTROL, exec_return, NULL, NULL, NULL};
