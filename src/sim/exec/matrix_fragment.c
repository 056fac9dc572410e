/* Fragments of matrices: which elements the registers of a lane hold (PTX ISA, matrix fragments of
 * mma and of wgmma, which distributes each warp's 16 rows as mma does).
 *
 * A and B: consecutive k fill a register of 32 bits (64 for f64); four lanes follow each other
 * along k; then rows g and g + 8 alternate, then k goes on behind the four lanes' part. C and D:
 * pairs of columns, then rows g and g + 8, then the next eight columns. */
#include "sim/exec/alu.h"
#include "sim/exec/matrix.h"
#include "sim/state/reg.h"

unsigned fragment_register_bits(Type type) {
    return type == TYPE_f64 ? 64 : 32;
}

unsigned fragment_registers(unsigned elements, Type type) {
    return elements / LANES * matrix_element_bits(type) / fragment_register_bits(type);
}

static unsigned per_register(Type type) {
    return fragment_register_bits(type) / matrix_element_bits(type);
}

/* Element i of a register; clears `known` when a bit of it is undefined. */
static double read_element(const Reg *reg, Type type, uint32_t lane, unsigned i, bool *known) {
    unsigned bits = matrix_element_bits(type), shift = i * bits;
    if (~reg->def[lane] >> shift & bits_mask(bits))
        *known = false;
    if (type == TYPE_f64)
        return f64_from(reg->v[lane]);
    return matrix_decode(type, (uint32_t)low_bits(reg->v[lane] >> shift, bits));
}

void fragment_read_a(Warp *warp, const Operand *operand, bool negate, MatrixBlock *block) {
    const MatrixKind *kind = &block->kind;
    unsigned per = per_register(kind->a), halves = kind->rows / 8;
    memset(block->a_known, true, sizeof block->a_known);
    for (unsigned r = 0; r < operand->count; r++) {
        const Reg *reg = reg_of(warp, operand->regs[r]);
        for (uint32_t lane = 0; lane < LANES; lane++) {
            unsigned row = lane / 4 + 8 * (r % halves);
            unsigned k = lane % 4 * per + 4 * per * (r / halves);
            for (unsigned i = 0; i < per; i++) {
                double value = read_element(reg, kind->a, lane, i, &block->a_known[row]);
                block->a[row * kind->depth + k + i] = negate ? -value : value;
            }
        }
    }
}

void fragment_read_b(Warp *warp, const Operand *operand, MatrixBlock *block) {
    const MatrixKind *kind = &block->kind;
    unsigned per = per_register(kind->b);
    memset(block->b_known, true, kind->columns);
    for (unsigned r = 0; r < operand->count; r++) {
        const Reg *reg = reg_of(warp, operand->regs[r]);
        for (uint32_t lane = 0; lane < LANES; lane++) {
            unsigned column = lane / 4, k = lane % 4 * per + 4 * per * r;
            for (unsigned i = 0; i < per; i++)
                block->b[(k + i) * kind->columns + column] =
                    read_element(reg, kind->b, lane, i, &block->b_known[column]);
        }
    }
}

/* Where element i of a lane's accumulators lies in the block. */
static unsigned accumulator_place(const MatrixKind *kind, uint32_t lane, unsigned i) {
    unsigned halves = kind->rows / 8;
    unsigned row = lane / 4 + 8 * (i / 2 % halves);
    unsigned column = 8 * (i / (2 * halves)) + lane % 4 * 2 + i % 2;
    return row * kind->columns + column;
}

void fragment_read_c(Warp *warp, const Operand *operand, MatrixBlock *block) {
    const MatrixKind *kind = &block->kind;
    unsigned per = per_register(kind->d);
    for (unsigned r = 0; r < operand->count; r++) {
        const Reg *reg = reg_of(warp, operand->regs[r]);
        for (uint32_t lane = 0; lane < LANES; lane++)
            for (unsigned i = 0; i < per; i++) {
                unsigned at = accumulator_place(kind, lane, r * per + i);
                block->c_known[at] = true;
                block->c[at] = read_element(reg, kind->d, lane, i, &block->c_known[at]);
            }
    }
}

/* A result is a number of its type already. */
static uint64_t encode(Type type, double value) {
    switch (type) {
    case TYPE_f64:
        return f64_bits(value); /* its NaNs have payloads */
    case TYPE_s32:
        return (uint32_t)(int32_t)value;
    case TYPE_f16:
        return float_encode(float_format(type), value, ROUND_NEAREST, false);
    default:
        return f32_result((float)value);
    }
}

void fragment_write_d(Warp *warp, const Operand *operand, const MatrixBlock *block) {
    const MatrixKind *kind = &block->kind;
    unsigned per = per_register(kind->d), bits = matrix_element_bits(kind->d);
    for (unsigned r = 0; r < operand->count; r++) {
        Reg *reg = reg_of(warp, operand->regs[r]);
        for (uint32_t lane = 0; lane < LANES; lane++) {
            uint64_t value = 0;
            uint64_t defined = DEFINED;
            for (unsigned i = 0; i < per; i++) {
                unsigned at = accumulator_place(kind, lane, r * per + i), shift = i * bits;
                value |= encode(kind->d, block->c[at]) << shift;
                if (!block->c_known[at])
                    defined &= ~(bits_mask(bits) << shift);
            }
            reg->v[lane] = value;
            reg->def[lane] = defined;
        }
    }
}
