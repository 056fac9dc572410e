/* ldmatrix, stmatrix, movmatrix, and mma.sync.
 *
 * mma: products are exact; the sum over k is formed in double in the order of k, the accumulator is
 * added last, and the result rounded once to the type of d (to nearest even). Tensor cores align
 * and truncate the terms instead, so that their last bits differ; integers are exact. */
#include "sim/alu.h"
#include "sim/machine.h"

#include <math.h>

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
    count_shared(&warp->machine->counts->insns[insn_pc(warp, insn)], addresses,
                 lanes == 32 ? ALL_LANES : (1u << lanes) - 1, 16);
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
            uint64_t value = 0;
            uint8_t defined = 0xf0;
            for (unsigned half = 0; half < 2; half++) {
                unsigned row, column;
                element_place(insn, lane, half, &row, &column);
                const Target *at = &rows[8 * m + row];
                uint16_t bits;
                memcpy(&bits, at->data + 2 * column, 2);
                value |= (uint64_t)bits << (16 * half);
                defined |= (uint8_t)((at->defined[2 * column] | at->defined[2 * column + 1] << 1)
                                     << (2 * half));
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
                race_shared(warp, insn, lane, at->cta, at->offset + 2 * column, 2, ACCESS_WRITE,
                            (const uint8_t *)&bits);
                memcpy(at->data + 2 * column, &bits, 2);
                at->defined[2 * column] = source->def[lane] >> (2 * half) & 1;
                at->defined[2 * column + 1] = source->def[lane] >> (2 * half + 1) & 1;
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
        uint64_t value = 0;
        uint8_t defined = 0xf0;
        for (unsigned half = 0; half < 2; half++) {
            unsigned row = lane % 4 * 2 + half, column = lane / 4;
            unsigned from = row * 4 + column / 2, shift = column % 2;
            value |= (source.v[from] >> (16 * shift) & 0xffff) << (16 * half);
            defined |= (uint8_t)((source.def[from] >> (2 * shift) & 3) << (2 * half));
        }
        dest->v[lane] = value;
        dest->def[lane] = defined;
    }
    return EXEC_NEXT;
}

/* mma.sync */

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

/* Bits an element takes in a register: tf32 fills 32. */
static unsigned element_bits(Type type) {
    return type == TYPE_tf32 ? 32 : type_info[type].bits;
}

static unsigned register_bits(Type type) {
    return type == TYPE_f64 ? 64 : 32;
}

static const char *check_fragment(const Operand *operand, unsigned elements, Type type) {
    unsigned regs = elements / LANES * element_bits(type) / register_bits(type);
    if (operand->count != regs)
        return "the number of registers of a matrix does not fit its shape and type";
    return operand->bits == register_bits(type) ? NULL
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
    if (insn->type[1] == TYPE_f16 && insn->type[0] != insn->type[3])
        return "c and d of different types have no form with these shapes";
    return NULL;
}

/* Where element i of a lane's fragment lies. Groups of consecutive k fill 32 bits (64 for f64);
 * then rows g and g + 8 alternate, then k goes on behind the four lanes' part (PTX ISA, Matrix
 * Fragments for mma). */
static void place_a(Type type, Shape shape, uint32_t lane, unsigned i, unsigned *row, unsigned *k) {
    unsigned per = register_bits(type) / element_bits(type), rows = shape.m / 8;
    unsigned reg = i / per;
    *row = lane / 4 + 8 * (reg % rows);
    *k = lane % 4 * per + i % per + 4 * per * (reg / rows);
}

static void place_b(Type type, uint32_t lane, unsigned i, unsigned *k, unsigned *column) {
    unsigned per = register_bits(type) / element_bits(type);
    *k = lane % 4 * per + i % per + 4 * per * (i / per);
    *column = lane / 4;
}

static void place_c(uint32_t lane, unsigned i, unsigned *row, unsigned *column) {
    *row = lane / 4 + 8 * (i / 2);
    *column = lane % 4 * 2 + i % 2;
}

/* Element i of a lane's fragment, as a number; clears `known` when it is undefined. */
static double read_element(Warp *warp, const Operand *operand, Type type, uint32_t lane, unsigned i,
                           bool *known) {
    unsigned bits = element_bits(type), per = register_bits(type) / bits;
    const Reg *reg = reg_of(warp, operand->regs[i / per]);
    unsigned shift = i % per * bits, bytes = bits / 8;
    uint64_t value = low_bits(reg->v[lane] >> shift, bits);
    if ((reg->def[lane] >> (shift / 8) & bits_mask(bytes)) != bits_mask(bytes))
        *known = false;
    switch (type_info[type].kind) {
    case KIND_SINT:
        return (double)sign_extend(value, bits);
    case KIND_UINT:
        return (double)value;
    default:
        break;
    }
    /* The low 13 bits of a tf32 operand are not read. */
    return float_decode(float_format(type), type == TYPE_tf32 ? value >> 13 : value);
}

typedef struct Matrices {
    double a[16][32], b[32][8];
    bool a_known[16][32], b_known[32][8];
} Matrices;

static void read_matrices(Warp *warp, const Insn *insn, Shape shape, Matrices *matrices) {
    Type ta = (Type)insn->type[1], tb = (Type)insn->type[2];
    for (uint32_t lane = 0; lane < LANES; lane++) {
        unsigned row, column, k;
        for (unsigned i = 0; i < shape.m * shape.k / LANES; i++) {
            place_a(ta, shape, lane, i, &row, &k);
            matrices->a_known[row][k] = true;
            matrices->a[row][k] =
                read_element(warp, &insn->operand[1], ta, lane, i, &matrices->a_known[row][k]);
        }
        for (unsigned i = 0; i < shape.n * shape.k / LANES; i++) {
            place_b(tb, lane, i, &k, &column);
            matrices->b_known[k][column] = true;
            matrices->b[k][column] =
                read_element(warp, &insn->operand[2], tb, lane, i, &matrices->b_known[k][column]);
        }
    }
}

static uint64_t finish_int(const Insn *insn, double sum) {
    if (insn_has(insn, WORD_satfinite))
        sum = sum > INT32_MAX ? INT32_MAX : sum < INT32_MIN ? INT32_MIN : sum;
    return (uint32_t)(int64_t)sum;
}

static uint64_t dot(const Insn *insn, const Matrices *matrices, Shape shape, unsigned row,
                    unsigned column, double c, bool *known) {
    Type type = (Type)insn->type[0];
    double sum = type == TYPE_f64 ? c : 0;
    for (unsigned k = 0; k < shape.k; k++) {
        *known &= matrices->a_known[row][k] && matrices->b_known[k][column];
        double a = matrices->a[row][k], b = matrices->b[k][column];
        sum = type == TYPE_f64 ? fma(a, b, sum) : sum + a * b;
    }
    if (type == TYPE_f64)
        return f64_result(sum);
    if (type == TYPE_s32)
        return finish_int(insn, sum + c);
    return float_encode(float_format(type), add_to_odd(sum, c), ROUND_NEAREST, false);
}

static void write_element(Warp *warp, const Operand *operand, Type type, uint32_t lane, unsigned i,
                          uint64_t value, bool known) {
    unsigned bits = element_bits(type), per = register_bits(type) / bits;
    Reg *reg = reg_of(warp, operand->regs[i / per]);
    unsigned shift = i % per * bits;
    uint64_t keep = i % per ? reg->v[lane] & bits_mask(shift) : 0;
    uint8_t bytes = (uint8_t)(bits_mask(bits / 8) << (shift / 8));
    uint8_t before = i % per ? reg->def[lane] : DEFINED;
    reg->v[lane] = keep | value << shift;
    reg->def[lane] = (uint8_t)(known ? before : before & ~bytes);
}

ExecResult exec_mma(Warp *warp, const Insn *insn, uint32_t mask) {
    if (!warp_converged(warp, insn, mask))
        return EXEC_NEXT;
    Shape shape = shape_of(insn);
    Matrices matrices;
    read_matrices(warp, insn, shape, &matrices);
    Type tc = (Type)insn->type[3];
    for (uint32_t lane = 0; lane < LANES; lane++) {
        unsigned count = shape.m * shape.n / LANES, row, column;
        double c[4];
        bool known[4] = {true, true, true, true};
        /* d may be c: all of c is read first. */
        for (unsigned i = 0; i < count; i++)
            c[i] = read_element(warp, &insn->operand[3], tc, lane, i, &known[i]);
        for (unsigned i = 0; i < count; i++) {
            place_c(lane, i, &row, &column);
            uint64_t value = dot(insn, &matrices, shape, row, column, c[i], &known[i]);
            write_element(warp, &insn->operand[0], (Type)insn->type[0], lane, i, value, known[i]);
        }
    }
    warp->machine->counts->tensor_flops += 2ull * shape.m * shape.n * shape.k;
    return EXEC_NEXT;
}
