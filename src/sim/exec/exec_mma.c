/* mma.sync: a warp multiplies matrices that lie in its registers. */
#include "sim/exec/matrix.h"
#include "sim/exec/splits.h"
#include "sim/parse/table.h"
#include "sim/report/counters.h"
#include "sim/state/warp.h"

typedef struct Shape {
    unsigned m, n, k;
} Shape;

static Shape shape_of(const Insn *insn) {
    switch ((Word)insn->field[FIELD_SHAPE]) {
    case WORD_m8n8k4:
        return (Shape){8, 8, 4};
    case WORD_m8n8k16:
        return (Shape){8, 8, 16};
    case WORD_m16n8k4:
        return (Shape){16, 8, 4};
    case WORD_m16n8k8:
        return (Shape){16, 8, 8};
    case WORD_m16n8k16:
        return (Shape){16, 8, 16};
    default:
        return (Shape){16, 8, 32};
    }
}

static const char *check_fragment(const Operand *operand, unsigned elements, Type type) {
    if (operand->count != fragment_registers(elements, type))
        return "the number of registers of a matrix does not fit its shape and type";
    return operand->bits == fragment_register_bits(type)
               ? NULL
               : "a register of a matrix has the wrong width";
}

const char *check_mma(const Insn *insn) {
    Shape shape = shape_of(insn);
    const unsigned elements[4] = {shape.m * shape.n, shape.m * shape.k, shape.n * shape.k,
                                  shape.m * shape.n};
    for (unsigned i = 0; i < 4; i++) {
        /* a, b, c have types 1, 2, 3; d has type 0. */
        const char *problem = check_fragment(&insn->operand[i], elements[i], (Type)insn->type[i]);
        if (problem)
            return problem;
    }
    if (insn->type[0] != insn->type[3])
        return "c and d of different types have no form with these shapes";
    return NULL;
}

ExecResult exec_mma(Warp *warp, const Insn *insn, uint32_t mask) {
    if (!warp_converged(warp, insn, mask))
        return EXEC_NEXT;
    Shape shape = shape_of(insn);
    MatrixBlock block;
    block.kind = (MatrixKind){.a = (Type)insn->type[1],
                              .b = (Type)insn->type[2],
                              .d = (Type)insn->type[0],
                              .rows = shape.m,
                              .columns = shape.n,
                              .depth = shape.k,
                              .sm = warp->machine->module->sm,
                              .saturates = insn_has(insn, WORD_satfinite)};
    fragment_read_a(warp, &insn->operand[1], false, &block);
    fragment_read_b(warp, &insn->operand[2], &block);
    fragment_read_c(warp, &insn->operand[3], &block);
    matrix_multiply(&block);
    fragment_write_d(warp, &insn->operand[0], &block);
    count_tensor(warp->machine->counts, (Type)insn->type[1], 1ull * shape.m * shape.n * shape.k);
    return EXEC_NEXT;
}
