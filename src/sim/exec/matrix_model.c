/* The arithmetic of tensor cores.
 *
 * Floating point: c and the exact products of `step` consecutive k are added as one sum of
 * fixed-point numbers. Their common unit is 2^(E - fraction), E the largest exponent among them,
 * where a product's exponent is the sum of its factors' (its significand lies in [1, 4)) and
 * subnormal numbers have the least exponent of their type. Each term is truncated towards zero to
 * that unit, the sum is exact, and the result is truncated to f32 or rounded to the nearest even
 * f16. `fraction`, `step` and the width of an f32 result are what published reverse engineering
 * found for each architecture (docs/simulator.md). Integers are exact; f64 is a chain of fused
 * multiply-adds over k.
 *
 * The sums of eight columns are formed together, in double: a product scaled by the reciprocal of
 * the unit is exact, below 2^27, and converting it to an integer truncates it. */
#include "sim/exec/alu.h"
#include "sim/exec/matrix.h"

#include <math.h>

enum { LANES_AT_ONCE = 8, TERMS_AT_ONCE = 8, NO_EXPONENT = -8000 };

/* How a target adds. */
typedef struct Model {
    unsigned step;                 /* products of one sum */
    int fraction;                  /* bits behind the point of the largest exponent */
    int floor;                     /* the least that the largest exponent can be */
    int kept;                      /* fraction bits of an f32 result */
    int a_least, b_least, c_least; /* exponents of subnormal numbers */
} Model;

static int least_exponent(Type type) {
    FloatFormat format = float_format(type);
    return 2 - (1 << (format.exponent - 1));
}

static bool is_fp8(Type type) {
    return type == TYPE_e4m3 || type == TYPE_e5m2;
}

/* mma.sync of fp8 is done in f16 where the tensor cores have no such instruction of a warp. */
static bool is_done_in_f16(const MatrixKind *kind) {
    return is_fp8(kind->a) && !kind->is_wgmma && kind->sm >= 90 && kind->sm < 120;
}

/* Turing and Ampere keep one bit fewer than Hopper; Ampere and Ada do half of the largest depth at
 * a time. The tensor cores for fp8 of Ada and of Hopper's wgmma keep 13 bits. */
static Model model_of(const MatrixKind *kind) {
    int fraction = kind->sm >= 90 ? 25 : 24;
    Model model = {.step = kind->depth,
                   .fraction = fraction,
                   .floor = -108 - fraction,
                   .kept = 23,
                   .a_least = least_exponent(kind->a),
                   .b_least = least_exponent(kind->b),
                   .c_least = least_exponent(kind->d)};
    if (is_done_in_f16(kind)) {
        model.a_least = model.b_least = least_exponent(TYPE_f16);
        model.step = kind->depth / 2;
    } else if (is_fp8(kind->a) && (kind->is_wgmma || kind->sm < 90)) {
        model.fraction = model.kept = 13;
    }
    unsigned most = 128 / matrix_element_bits(kind->a);
    if (kind->sm < 90 && model.step > most)
        model.step = most;
    return model;
}

static int16_t exponent_of(double value, int least) {
    if (value == 0)
        return NO_EXPONENT;
    int exponent = (int)(f64_bits(value) >> 52 & 0x7ff) - 1023;
    return (int16_t)(exponent < least ? least : exponent);
}

static double power_of_two(int exponent) {
    return f64_from((uint64_t)(exponent + 1023) << 52);
}

/* The bits of a double below the `kept` first ones of its fraction, removed. */
static double drop_bits(double value, int kept) {
    return f64_from(f64_bits(value) & ~((UINT64_C(1) << (52 - kept)) - 1));
}

/* Towards zero, but what is too large becomes infinity. */
static double truncate_f32(double value, int kept) {
    double magnitude = fabs(value);
    if (magnitude >= 0x1p128)
        return copysign(INFINITY, value);
    if (magnitude >= 0x1p-126)
        return drop_bits(value, kept);
    double unit = power_of_two(-126 - kept);
    return trunc(value / unit) * unit + 0.0;
}

static double round_f16(double value) {
    double magnitude = fabs(value);
    if (magnitude >= 65520)
        return copysign(INFINITY, value);
    /* Adding and taking away a number whose last bit has the weight of the result's rounds to it.
     */
    int exponent = exponent_of(value, -14);
    double shift = value == 0 ? 0 : power_of_two(exponent + 52 - 10) * 1.5;
    volatile double shifted = value + shift;
    return shifted - shift;
}

static double finish(const MatrixKind *kind, const Model *model, double value) {
    return kind->d == TYPE_f16 ? round_f16(value) : truncate_f32(value, model->kept);
}

/* One sum in plain arithmetic decides when something is not finite. */
static bool exceptional(const MatrixBlock *block, unsigned row, unsigned column, unsigned from,
                        unsigned to, double *result) {
    const MatrixKind *kind = &block->kind;
    double sum = block->c[row * kind->columns + column];
    for (unsigned k = from; k < to; k++)
        sum += block->a[row * kind->depth + k] * block->b[k * kind->columns + column];
    if (isfinite(sum))
        return false;
    *result = sum;
    return true;
}

static void sum_carefully(MatrixBlock *block, const Model *model, unsigned row, unsigned column,
                          unsigned from, unsigned to) {
    const MatrixKind *kind = &block->kind;
    double *c = &block->c[row * kind->columns + column];
    if (exceptional(block, row, column, from, to, c))
        return;
    int top = exponent_of(*c, model->c_least);
    for (unsigned k = from; k < to; k++) {
        int exponent = exponent_of(block->a[row * kind->depth + k], model->a_least) +
                       exponent_of(block->b[k * kind->columns + column], model->b_least);
        top = exponent > top ? exponent : top;
    }
    top = top < model->floor ? model->floor : top;
    double unit = power_of_two(top - model->fraction);
    double sum = trunc(*c / unit);
    for (unsigned k = from; k < to; k++)
        sum += trunc(block->a[row * kind->depth + k] * block->b[k * kind->columns + column] / unit);
    *c = finish(kind, model, sum * unit + 0.0);
}

/* Exponents of A and B, found once for a block. */
typedef struct Exponents {
    int16_t a[MATRIX_ROWS * MATRIX_DEPTH], b[MATRIX_DEPTH * MATRIX_COLUMNS];
} Exponents;

/* Eight columns of a row; all numbers are finite. */
static void sum_together(MatrixBlock *block, const Exponents *exponents, const Model *model,
                         unsigned row, unsigned column, unsigned from, unsigned to) {
    const unsigned depth = block->kind.depth, columns = block->kind.columns;
    const double *a = &block->a[row * depth], *b = &block->b[column];
    const int16_t *ea = &exponents->a[row * depth], *eb = &exponents->b[column];
    double *c = &block->c[row * columns + column];
    int16_t top[LANES_AT_ONCE];
    double scale[LANES_AT_ONCE], sum[LANES_AT_ONCE];
    for (unsigned j = 0; j < LANES_AT_ONCE; j++)
        top[j] = exponent_of(c[j], model->c_least);
    for (unsigned k = from; k < to; k++)
        for (unsigned j = 0; j < LANES_AT_ONCE; j++) {
            int16_t exponent = (int16_t)(ea[k] + eb[k * columns + j]);
            top[j] = exponent > top[j] ? exponent : top[j];
        }
    for (unsigned j = 0; j < LANES_AT_ONCE; j++) {
        int largest = top[j] < model->floor ? model->floor : top[j];
        scale[j] = power_of_two(model->fraction - largest);
        sum[j] = (double)(int32_t)(c[j] * scale[j]);
    }
    for (unsigned k = from; k < to; k += TERMS_AT_ONCE) {
        unsigned end = k + TERMS_AT_ONCE < to ? k + TERMS_AT_ONCE : to;
        int32_t part[LANES_AT_ONCE] = {0};
        for (unsigned t = k; t < end; t++)
            for (unsigned j = 0; j < LANES_AT_ONCE; j++)
                part[j] += (int32_t)(a[t] * b[t * columns + j] * scale[j]);
        for (unsigned j = 0; j < LANES_AT_ONCE; j++)
            sum[j] += (double)part[j];
    }
    for (unsigned j = 0; j < LANES_AT_ONCE; j++)
        c[j] = finish(&block->kind, model, sum[j] / scale[j]);
}

static bool all_finite(const double *numbers, unsigned count) {
    /* The difference of a number and itself is 0 unless it is infinite or NaN. */
    double sum = 0;
    for (unsigned i = 0; i < count; i++)
        sum += numbers[i] - numbers[i];
    return sum == 0;
}

static void find_exponents(const double *numbers, unsigned count, int least, int16_t *exponents) {
    for (unsigned i = 0; i < count; i++)
        exponents[i] = exponent_of(numbers[i], least);
}

static void multiply_floats(MatrixBlock *block) {
    const MatrixKind *kind = &block->kind;
    const Model model = model_of(kind);
    Exponents exponents;
    bool finite = all_finite(block->a, kind->rows * kind->depth) &&
                  all_finite(block->b, kind->depth * kind->columns);
    find_exponents(block->a, kind->rows * kind->depth, model.a_least, exponents.a);
    find_exponents(block->b, kind->depth * kind->columns, model.b_least, exponents.b);
    for (unsigned from = 0; from < kind->depth; from += model.step) {
        unsigned to = from + model.step;
        for (unsigned row = 0; row < kind->rows; row++) {
            const double *c = &block->c[row * kind->columns];
            for (unsigned column = 0; column < kind->columns; column += LANES_AT_ONCE) {
                if (finite && all_finite(c + column, LANES_AT_ONCE)) {
                    sum_together(block, &exponents, &model, row, column, from, to);
                    continue;
                }
                for (unsigned j = 0; j < LANES_AT_ONCE; j++)
                    sum_carefully(block, &model, row, column + j, from, to);
            }
        }
    }
}

/* Of each register the lower two elements come first, in all of k, then the upper two. */
static unsigned place_in_f16(unsigned k, unsigned depth) {
    return k / 4 * 2 + k % 2 + (k % 4 >= 2 ? depth / 2 : 0);
}

/* Two products of f16 whose sums start from zero, one behind the other; c is added last, to
 * nearest. */
static void multiply_in_f16(MatrixBlock *block) {
    const MatrixKind *kind = &block->kind;
    const unsigned rows = kind->rows, columns = kind->columns, depth = kind->depth;
    double a[MATRIX_ROWS * MATRIX_DEPTH], b[MATRIX_DEPTH * 8], c[MATRIX_ROWS * 8];
    memcpy(a, block->a, rows * depth * sizeof *a);
    memcpy(b, block->b, depth * columns * sizeof *b);
    memcpy(c, block->c, rows * columns * sizeof *c);
    for (unsigned k = 0; k < depth; k++) {
        unsigned to = place_in_f16(k, depth);
        for (unsigned row = 0; row < rows; row++)
            block->a[row * depth + to] = a[row * depth + k];
        memcpy(&block->b[to * columns], &b[k * columns], columns * sizeof *b);
    }
    memset(block->c, 0, rows * columns * sizeof *block->c);
    multiply_floats(block);
    for (unsigned i = 0; i < rows * columns; i++)
        block->c[i] = kind->d == TYPE_f16 ? round_f16(c[i] + block->c[i])
                                          : (double)((float)c[i] + (float)block->c[i]);
}

/* The products and sums of 8-bit integers are exact in double. */
static void multiply_integers(MatrixBlock *block) {
    const MatrixKind *kind = &block->kind;
    for (unsigned row = 0; row < kind->rows; row++) {
        double *c = &block->c[row * kind->columns];
        for (unsigned k = 0; k < kind->depth; k++) {
            const double a = block->a[row * kind->depth + k], *b = &block->b[k * kind->columns];
            for (unsigned column = 0; column < kind->columns; column++)
                c[column] += a * b[column];
        }
        for (unsigned column = 0; column < kind->columns; column++) {
            double sum = c[column];
            if (kind->saturates)
                sum = sum > INT32_MAX ? INT32_MAX : sum < INT32_MIN ? INT32_MIN : sum;
            c[column] = (double)(int32_t)(uint32_t)(int64_t)sum;
        }
    }
}

static void multiply_doubles(MatrixBlock *block) {
    const MatrixKind *kind = &block->kind;
    for (unsigned row = 0; row < kind->rows; row++)
        for (unsigned column = 0; column < kind->columns; column++) {
            uint64_t sum = f64_bits(block->c[row * kind->columns + column]);
            for (unsigned k = 0; k < kind->depth; k++)
                sum = f64_fma(f64_bits(block->a[row * kind->depth + k]),
                              f64_bits(block->b[k * kind->columns + column]), sum);
            block->c[row * kind->columns + column] = f64_from(sum);
        }
}

void matrix_multiply(MatrixBlock *block) {
    const MatrixKind *kind = &block->kind;
    if (kind->d == TYPE_s32)
        multiply_integers(block);
    else if (kind->d == TYPE_f64)
        multiply_doubles(block);
    else if (is_done_in_f16(kind))
        multiply_in_f16(block);
    else
        multiply_floats(block);
    for (unsigned row = 0; row < kind->rows; row++)
        for (unsigned column = 0; column < kind->columns; column++)
            block->c_known[row * kind->columns + column] &=
                block->a_known[row] && block->b_known[column];
}

unsigned matrix_element_bits(Type type) {
    return type == TYPE_tf32 ? 32 : type_info[type].bits;
}

double matrix_decode(Type type, uint32_t bits) {
    if (type_info[type].kind == KIND_SINT)
        return (double)sign_extend(bits, type_info[type].bits);
    if (type_info[type].kind == KIND_UINT)
        return bits;
    if (type == TYPE_f32)
        return (double)f32_from(bits);
    /* The low 13 bits of a tf32 operand are not read. */
    if (type == TYPE_tf32)
        bits >>= 13;
    FloatFormat format = float_format(type);
    uint32_t all = (1u << format.exponent) - 1, exponent = bits >> format.mantissa & all;
    if (exponent == 0 || exponent == all)
        return float_decode(format, bits);
    uint64_t mantissa = bits & ((1u << format.mantissa) - 1);
    uint64_t sign = bits >> (format.bits - 1) & 1;
    uint64_t biased = exponent + 1023 - (all >> 1);
    return f64_from(sign << 63 | biased << 52 | mantissa << (52 - format.mantissa));
}
