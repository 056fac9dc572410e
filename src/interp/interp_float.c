/* Elementwise ops on floats.
 *
 * f32 and f64 are computed in their own type. Narrower types go through float in chunks: for sums,
 * products, quotients and square roots float has more than twice their precision plus two bits, so
 * that rounding twice gives what rounding once would. Functions without a correctly rounded
 * definition are computed in double and rounded once to the type. fma on narrow types rounds to odd
 * in double first, which keeps the final rounding exact. */
#include "interp/interp_internal.h"

#include <math.h>

enum { CHUNK = 256 };

/* A chunk of a narrow type's operands and result. */
#define FLOAT_LOOP(T, EXPR)                                                                        \
    do {                                                                                           \
        for (uint32_t i = 0; i < n; i++) {                                                         \
            T a = pa[i], b = pb[i];                                                                \
            (void)a, (void)b;                                                                      \
            po[i] = (EXPR);                                                                        \
        }                                                                                          \
    } while (0)

typedef void FloatLoop(const float *pa, const float *pb, float *po, uint32_t n);
typedef void DoubleLoop(const double *pa, const double *pb, double *po, uint32_t n);

static void run_float_loop(Elem *e, FloatLoop *loop) {
    if (e->dtype == DT_F32) {
        loop(e->in[0], e->in[1], e->out, e->n);
        return;
    }
    float a[CHUNK], b[CHUNK], out[CHUNK];
    size_t bytes = (size_t)dtype_bytes(e->dtype);
    for (uint32_t done = 0; done < e->n; done += CHUNK) {
        uint32_t count = e->n - done < CHUNK ? e->n - done : CHUNK;
        floats_load(e->dtype, (const char *)e->in[0] + done * bytes, a, count);
        floats_load(e->dtype, (const char *)e->in[1] + done * bytes, b, count);
        loop(a, b, out, count);
        floats_store(e->dtype, out, (char *)e->out + done * bytes, count);
    }
}

static void run_double_loop(Elem *e, DoubleLoop *loop) {
    if (e->dtype == DT_F64) {
        loop(e->in[0], e->in[1], e->out, e->n);
        return;
    }
    double a[CHUNK], b[CHUNK], out[CHUNK];
    size_t bytes = (size_t)dtype_bytes(e->dtype);
    for (uint32_t done = 0; done < e->n; done += CHUNK) {
        uint32_t count = e->n - done < CHUNK ? e->n - done : CHUNK;
        floats_load_double(e->dtype, (const char *)e->in[0] + done * bytes, a, count);
        floats_load_double(e->dtype, (const char *)e->in[1] + done * bytes, b, count);
        loop(a, b, out, count);
        floats_store_double(e->dtype, out, (char *)e->out + done * bytes, count);
    }
}

/* Ops that float computes exactly enough: EXPR32 for f32 and narrower, EXPR64 for f64. */
#define FLOAT_BINARY(name, EXPR32, EXPR64)                                                         \
    static void name##_float(const float *restrict pa, const float *restrict pb,                   \
                             float *restrict po, uint32_t n) {                                     \
        FLOAT_LOOP(float, EXPR32);                                                                 \
    }                                                                                              \
    static void name##_double(const double *restrict pa, const double *restrict pb,                \
                              double *restrict po, uint32_t n) {                                   \
        FLOAT_LOOP(double, EXPR64);                                                                \
    }                                                                                              \
    void elem_##name(Elem *e) {                                                                    \
        if (!e->in[1])                                                                             \
            e->in[1] = e->in[0];                                                                   \
        if (e->dtype == DT_F64)                                                                    \
            run_double_loop(e, name##_double);                                                     \
        else                                                                                       \
            run_float_loop(e, name##_float);                                                       \
    }

/* Functions computed in double for every type. */
#define DOUBLE_UNARY(name, EXPR)                                                                   \
    static void name##_double(const double *restrict pa, const double *restrict pb,                \
                              double *restrict po, uint32_t n) {                                   \
        FLOAT_LOOP(double, EXPR);                                                                  \
    }                                                                                              \
    void elem_##name(Elem *e) {                                                                    \
        e->in[1] = e->in[0];                                                                       \
        run_double_loop(e, name##_double);                                                         \
    }

FLOAT_BINARY(addf, a + b, a + b)
FLOAT_BINARY(subf, a - b, a - b)
FLOAT_BINARY(mulf, a *b, a *b)
FLOAT_BINARY(divf, a / b, a / b)
FLOAT_BINARY(divf_rn, a / b, a / b)
FLOAT_BINARY(remf, fmodf(a, b), fmod(a, b))
FLOAT_BINARY(floor, floorf(a), floor(a))
FLOAT_BINARY(ceil, ceilf(a), ceil(a))
FLOAT_BINARY(sqrt, sqrtf(a), sqrt(a))
FLOAT_BINARY(sqrt_rn, sqrtf(a), sqrt(a))
DOUBLE_UNARY(rsqrt, 1 / sqrt(a))
DOUBLE_UNARY(exp, exp(a))
DOUBLE_UNARY(exp2, exp2(a))
DOUBLE_UNARY(log, log(a))
DOUBLE_UNARY(log2, log2(a))
DOUBLE_UNARY(sin, sin(a))
DOUBLE_UNARY(cos, cos(a))
DOUBLE_UNARY(tanh, tanh(a))
DOUBLE_UNARY(erf, erf(a))
DOUBLE_UNARY(erfc, erfc(a))
DOUBLE_UNARY(gelu, 0.5 * a * erfc(a * -0.70710678118654752440))

/* Minimum and maximum: -0 is below +0, hence the bits of equal operands are joined. */
#define JOIN_BITS(T, U, name, OPERATOR)                                                            \
    static inline T name(T a, T b) {                                                               \
        U x, y;                                                                                    \
        memcpy(&x, &a, sizeof x);                                                                  \
        memcpy(&y, &b, sizeof y);                                                                  \
        x = x OPERATOR y;                                                                          \
        memcpy(&a, &x, sizeof a);                                                                  \
        return a;                                                                                  \
    }
JOIN_BITS(float, uint32_t, or_float, |)
JOIN_BITS(float, uint32_t, and_float, &)
JOIN_BITS(double, uint64_t, or_double, |)
JOIN_BITS(double, uint64_t, and_double, &)

#define MIN_OF(join) (a == b ? join(a, b) : a < b || b != b ? a : b)
#define MAX_OF(join) (a == b ? join(a, b) : a > b || b != b ? a : b)
#define NAN_WINS(EXPR) (a != a ? a : b != b ? b : (EXPR))
FLOAT_BINARY(minf, MIN_OF(or_float), MIN_OF(or_double))
FLOAT_BINARY(maxf, MAX_OF(and_float), MAX_OF(and_double))
FLOAT_BINARY(minf_nan, NAN_WINS(MIN_OF(or_float)), NAN_WINS(MIN_OF(or_double)))
FLOAT_BINARY(maxf_nan, NAN_WINS(MAX_OF(and_float)), NAN_WINS(MAX_OF(and_double)))

/* a * b + c of floats with at most 26 bits each: the product is exact; the sum's last bit is made
 * odd when it was rounded, so that rounding it again to a narrower type does not see a tie that is
 * none. */
static double fma_to_odd(double a, double b, double c) {
    double product = a * b, sum = product + c;
    if (!isfinite(sum))
        return sum;
    double back = sum - product;
    double error = (product - (sum - back)) + (c - back);
    uint64_t bits;
    memcpy(&bits, &sum, sizeof bits);
    if (error == 0 || (bits & 1))
        return sum;
    bits += (error > 0) == (sum > 0) ? 1 : -(uint64_t)1;
    memcpy(&sum, &bits, sizeof sum);
    return sum;
}

static void fma_narrow(Elem *e) {
    double a[CHUNK], b[CHUNK], c[CHUNK];
    size_t bytes = (size_t)dtype_bytes(e->dtype);
    for (uint32_t done = 0; done < e->n; done += CHUNK) {
        uint32_t count = e->n - done < CHUNK ? e->n - done : CHUNK;
        floats_load_double(e->dtype, (const char *)e->in[0] + done * bytes, a, count);
        floats_load_double(e->dtype, (const char *)e->in[1] + done * bytes, b, count);
        floats_load_double(e->dtype, (const char *)e->in[2] + done * bytes, c, count);
        for (uint32_t i = 0; i < count; i++)
            a[i] = fma_to_odd(a[i], b[i], c[i]);
        floats_store_double(e->dtype, a, (char *)e->out + done * bytes, count);
    }
}

void elem_fma(Elem *e) {
    if (e->dtype == DT_F64) {
        const double *a = e->in[0], *b = e->in[1], *c = e->in[2];
        double *out = e->out;
        for (uint32_t i = 0; i < e->n; i++)
            out[i] = fma(a[i], b[i], c[i]);
        return;
    }
    /* float's 24 bits fit as well; only its rounding has to come from the odd sum, too. */
    fma_narrow(e);
}

/* Signs: on the bits, so that NaNs keep theirs apart. */

#define SIGN_LOOP(T, EXPR)                                                                         \
    do {                                                                                           \
        const T *restrict pa_ = e->in[0];                                                          \
        T *restrict po_ = e->out;                                                                  \
        const T sign = (T)((T)1 << (8 * sizeof(T) - 1));                                           \
        for (uint32_t i = 0; i < e->n; i++) {                                                      \
            T a = pa_[i];                                                                          \
            po_[i] = (T)(EXPR);                                                                    \
        }                                                                                          \
        return;                                                                                    \
    } while (0)

#define SIGN_OP(name, EXPR)                                                                        \
    void elem_##name(Elem *e) {                                                                    \
        switch (dtype_bytes(e->dtype)) {                                                           \
        case 1:                                                                                    \
            SIGN_LOOP(uint8_t, EXPR);                                                              \
        case 2:                                                                                    \
            SIGN_LOOP(uint16_t, EXPR);                                                             \
        case 4:                                                                                    \
            SIGN_LOOP(uint32_t, EXPR);                                                             \
        default:                                                                                   \
            SIGN_LOOP(uint64_t, EXPR);                                                             \
        }                                                                                          \
    }

SIGN_OP(negf, a ^ sign)
SIGN_OP(absf, a & ~sign)

/* Comparison: exact in double for every type. */

#define COMPARE_LOOP(OPERATOR)                                                                     \
    for (uint32_t i = 0; i < count; i++)                                                           \
        out[i] = a[i] OPERATOR b[i];                                                               \
    return

static void compare_doubles(FloatPredicate predicate, const double *a, const double *b,
                            uint8_t *out, uint32_t count) {
    switch (predicate) {
    case FPRED_OEQ:
        COMPARE_LOOP(==);
    case FPRED_UNE:
        COMPARE_LOOP(!=);
    case FPRED_OLT:
        COMPARE_LOOP(<);
    case FPRED_OLE:
        COMPARE_LOOP(<=);
    case FPRED_OGT:
        COMPARE_LOOP(>);
    case FPRED_OGE:
        COMPARE_LOOP(>=);
    case FPRED_COUNT:
        return;
    }
}

void elem_cmpf(Elem *e) {
    double a[CHUNK], b[CHUNK];
    size_t bytes = (size_t)dtype_bytes(e->dtype);
    for (uint32_t done = 0; done < e->n; done += CHUNK) {
        uint32_t count = e->n - done < CHUNK ? e->n - done : CHUNK;
        floats_load_double(e->dtype, (const char *)e->in[0] + done * bytes, a, count);
        floats_load_double(e->dtype, (const char *)e->in[1] + done * bytes, b, count);
        compare_doubles(cmpf_attrs(e->op)->pred, a, b, (uint8_t *)e->out + done, count);
    }
}
