/* ldmatrix, stmatrix, movmatrix: matrices of 8 x 8 elements of 16 bits between shared memory and
 * the registers of a warp. */
#include "sim/check/findings.h"
#include "sim/check/races.h"
#include "sim/exec/memory.h"
#include "sim/exec/shared_accesses.h"
#include "sim/exec/splits.h"
#include "sim/parse/table.h"
#include "sim/state/warp.h"

static unsigned matrix_count(const Insn *insn) {
    return insn_has(insn, WORD_x4) ? 4 : insn_has(insn, WORD_x2) ? 2 : 1;
}

static const Operand *fragment(const Insn *insn) {
    return insn->operand[0].kind == OPERAND_ADDRESS ? &insn->operand[1] : &insn->operand[0];
}

const char *check_matrix(const Insn *insn) {
    const Operand *regs = fragment(insn);
    if (regs->count != matrix_count(insn))
        return "the vector needs one register for each matrix: 1, 2 or 4";
    return regs->bits == 32 ? NULL : "the registers of a matrix have 32 bits";
}

/* Each matrix has 8 rows of 16 bytes; their addresses come from 8 lanes each. Of the 8 addresses of
 * a matrix the accesses are counted as one wavefront's worth. */
static bool find_rows(Warp *warp, const Insn *insn, AccessKind kind, Target *rows) {
    bool store = insn->operand[0].kind == OPERAND_ADDRESS;
    const Operand *address = &insn->operand[store ? 0 : 1];
    unsigned lanes = 8 * matrix_count(insn);
    uint64_t addresses[LANES];
    for (uint32_t lane = 0; lane < lanes; lane++) {
        uint64_t at = memory_address(warp, insn, address, lane);
        SpaceKind space = insn_space(insn);
        if (!memory_find(warp, insn, lane, space, at, 16, kind, &rows[lane]))
            return false;
        if (rows[lane].space != SPACE_shared) {
            report(warp, insn, lane, sim_not_shared, at);
            return false;
        }
        addresses[lane] = rows[lane].offset;
    }
    count_shared_of(warp, insn, addresses, lanes == 32 ? ALL_LANES : (1u << lanes) - 1, 16,
                    kind == ACCESS_READ ? SHARED_READ : SHARED_WRITE);
    return true;
}

/* The two elements of a matrix that a lane holds: row and column of the first, and of the second.
 */
static void element_place(const Insn *insn, uint32_t lane, unsigned half, unsigned *row,
                          unsigned *column) {
    *row = lane / 4;
    *column = lane % 4 * 2 + half;
    if (insn_has(insn, WORD_trans)) {
        unsigned other = *row;
        *row = *column;
        *column = other;
    }
}

ExecResult exec_ldmatrix(Warp *warp, const Insn *insn, uint32_t mask) {
    Target rows[LANES];
    if (!warp_converged(warp, insn, mask) || !find_rows(warp, insn, ACCESS_READ, rows))
        return EXEC_NEXT;
    for (unsigned m = 0; m < matrix_count(insn); m++) {
        Reg *dest = reg_of(warp, insn->operand[0].regs[m]);
        FOR_LANES(lane, mask) {
            uint64_t value = 0, defined = ~bits_mask(32);
            for (unsigned half = 0; half < 2; half++) {
                unsigned row, column;
                element_place(insn, lane, half, &row, &column);
                const Target *at = &rows[8 * m + row];
                uint16_t bits, known;
                memcpy(&bits, at->data + 2 * column, 2);
                memcpy(&known, at->defined + 2 * column, 2);
                value |= (uint64_t)bits << (16 * half);
                defined |= (uint64_t)known << (16 * half);
                race_shared(warp, insn, lane, at->cta, at->offset + 2 * column, 2, ACCESS_READ,
                            NULL);
            }
            dest->v[lane] = value;
            dest->def[lane] = defined;
        }
    }
    return EXEC_NEXT;
}

ExecResult exec_stmatrix(Warp *warp, const Insn *insn, uint32_t mask) {
    Target rows[LANES];
    if (!warp_converged(warp, insn, mask) || !find_rows(warp, insn, ACCESS_WRITE, rows))
        return EXEC_NEXT;
    for (unsigned m = 0; m < matrix_count(insn); m++) {
        const Reg *source = reg_of(warp, insn->operand[1].regs[m]);
        FOR_LANES(lane, mask) {
            for (unsigned half = 0; half < 2; half++) {
                unsigned row, column;
                element_place(insn, lane, half, &row, &column);
                const Target *at = &rows[8 * m + row];
                uint16_t bits = (uint16_t)(source->v[lane] >> (16 * half));
                uint16_t known = (uint16_t)(source->def[lane] >> (16 * half));
                race_shared(warp, insn, lane, at->cta, at->offset + 2 * column, 2, ACCESS_WRITE,
                            (const uint8_t *)&bits);
                memcpy(at->data + 2 * column, &bits, 2);
                memcpy(at->defined + 2 * column, &known, 2);
            }
        }
    }
    return EXEC_NEXT;
}

/* Transposes an 8x8 matrix of 16-bit elements across the warp. */
ExecResult exec_movmatrix(Warp *warp, const Insn *insn, uint32_t mask) {
    if (!warp_converged(warp, insn, mask))
        return EXEC_NEXT;
    const Reg source = *reg_of(warp, insn->operand[1].reg);
    Reg *dest = reg_of(warp, insn->operand[0].reg);
    FOR_LANES(lane, mask) {
        uint64_t value = 0, defined = ~bits_mask(32);
        for (unsigned half = 0; half < 2; half++) {
            unsigned row = lane % 4 * 2 + half, column = lane / 4;
            unsigned from = row * 4 + column / 2, shift = column % 2;
            value |= (source.v[from] >> (16 * shift) & 0xffff) << (16 * half);
            defined |= (source.def[from] >> (16 * shift) & 0xffff) << (16 * half);
        }
        dest->v[lane] = value;
        dest->def[lane] = defined;
    }
    return EXEC_NEXT;
}
