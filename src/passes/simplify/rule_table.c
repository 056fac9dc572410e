/* The rows of rules.def as data: the notation of patterns, and the words of conditions. */
#include "passes/analysis/fold.h"
#include "passes/simplify/rule.h"

#include <math.h>

/* Words of conditions */

#define VALUE_OF(name) (m->values[(name)->slot])
#define BITS(name) (dtype_info[VALUE_OF(name)->type->dtype].bits)
#define ALWAYS true
#define IS_I1(name) (VALUE_OF(name)->type->dtype == DT_I1)
#define IS_F32(name) (VALUE_OF(name)->type->dtype == DT_F32)
/* Arithmetic, and rounding to the type, makes its largest number of an infinity. */
#define SATURATES(name) (VALUE_OF(name)->type->dtype == DT_F8E5M2)
#define SAME_TYPE(name, other) (VALUE_OF(name)->type == VALUE_OF(other)->type)
#define IS_CONSTANT(name) is_constant(VALUE_OF(name))
/* Nothing else uses it. */
#define IS_LONE(name) value_has_one_use(VALUE_OF(name))
#define TRUE_OF_EQUALS fold_compare((IntPredicate)m->pred, DT_I32, 0, 0)
#define IS_EQUALITY (m->pred == IPRED_EQ || m->pred == IPRED_NE)
#define FITS(constant, name) fits(VALUE_OF(constant), VALUE_OF(name), true)
#define FITS_UNSIGNED(constant, name) fits(VALUE_OF(constant), VALUE_OF(name), false)
#define SHIFTS_WITHIN(name, c, d) shifts_within(BITS(name), VALUE_OF(c), VALUE_OF(d))
#define IS_NEAR(constant, wanted) is_near(VALUE_OF(constant), (wanted), false)
#define IS_INVERSE_NEAR(constant, wanted) is_near(VALUE_OF(constant), (wanted), true)
#define HAS_EXACT_INVERSE(constant) has_exact_inverse(VALUE_OF(constant))

static const double ROOT_HALF = 0.70710678118654752440;

static bool is_constant(const Value *value) {
    Scalar scalar;
    return scalar_of_value(value, &scalar);
}

static int64_t integer(const Value *value) {
    Scalar scalar = {0};
    scalar_of_value(value, &scalar);
    return scalar.i;
}

/* The constant is an extension of a value of the type of `narrow`. */
static bool fits(const Value *constant, const Value *narrow, bool sign) {
    DType dtype = narrow->type->dtype;
    int64_t wrapped = int_wrap(dtype, integer(constant));
    int64_t back =
        sign ? (dtype == DT_I1 ? -wrapped : wrapped) : (int64_t)int_unsigned(dtype, wrapped);
    return back == integer(constant);
}

static bool shifts_within(int64_t bits, const Value *first, const Value *second) {
    int64_t a = integer(first), b = integer(second);
    return a >= 0 && b >= 0 && a < bits && b < bits && a + b < bits;
}

/* To half a unit of f32's last place. */
static bool is_near(const Value *constant, double wanted, bool inverse) {
    double value = 0;
    value_float_constant(constant, &value);
    return fabs((inverse ? 1 / value : value) / wanted - 1) <= 0x1p-23;
}

/* The reciprocal of a power of two is exact unless it leaves the normal numbers; 2^14 is safe in
 * f16. */
static bool has_exact_inverse(const Value *constant) {
    double value = 0;
    int exponent;
    value_float_constant(constant, &value);
    return isfinite(value) && fabs(frexp(value, &exponent)) == 0.5 && exponent > -13 &&
           exponent < 15 && dtype_info[constant->type->dtype].bits >= 16;
}

/* Notation of patterns and results */

#define NAME(kind_, slot_)                                                                         \
    {                                                                                              \
        { .kind = (kind_), .slot = (slot_) }                                                       \
    }
static const RuleNode x[1] = NAME(RULE_VALUE, SLOT_x), y[1] = NAME(RULE_VALUE, SLOT_y),
                      z[1] = NAME(RULE_VALUE, SLOT_z), c[1] = NAME(RULE_CONSTANT, SLOT_c),
                      d[1] = NAME(RULE_CONSTANT, SLOT_d), k[1] = NAME(RULE_VALUE, SLOT_k),
                      s[1] = NAME(RULE_VALUE, SLOT_s), root[1] = NAME(RULE_VALUE, SLOT_root);

#define NODE(...) (&(const RuleNode){__VA_ARGS__})
#define INT(n) NODE(.kind = RULE_INT, .i = (n))
#define FLOAT(n) NODE(.kind = RULE_FLOAT, .f = (n))
#define LOWEST NODE(.kind = RULE_LOWEST)
#define HIGHEST NODE(.kind = RULE_HIGHEST)
#define UNIFORM(name) NODE(.kind = RULE_UNIFORM, .slot = SLOT_##name)
#define AS(name, ...) NODE(.kind = RULE_NAMED, .slot = SLOT_##name, .in = {__VA_ARGS__})
#define PRODUCT(...) NODE(.kind = RULE_PRODUCT, .code = OP_mulf, .in = {__VA_ARGS__})
#define OF(op, ...) NODE(.kind = RULE_OP, .code = OP_##op, .in = {__VA_ARGS__})

#define cmpi(p, ...) NODE(.kind = RULE_OP, .code = OP_cmpi, .pred = PRED_##p, .in = {__VA_ARGS__})
#define cmpf(p, ...) NODE(.kind = RULE_OP, .code = OP_cmpf, .pred = FPRED_##p, .in = {__VA_ARGS__})
#define reduce(op, ...)                                                                            \
    NODE(.kind = RULE_OP, .code = OP_reduce, .combine = OP_##op, .in = {__VA_ARGS__})
enum { PRED_EQ = IPRED_EQ, PRED_NE = IPRED_NE, PRED_SLT = IPRED_SLT };

#define absf(...) OF(absf, __VA_ARGS__)
#define absi(...) OF(absi, __VA_ARGS__)
#define addf(...) OF(addf, __VA_ARGS__)
#define addi(...) OF(addi, __VA_ARGS__)
#define andi(...) OF(andi, __VA_ARGS__)
#define bitcast(...) OF(bitcast, __VA_ARGS__)
#define ceil(...) OF(ceil, __VA_ARGS__)
#define divf(...) OF(divf, __VA_ARGS__)
#define divf_rn(...) OF(divf_rn, __VA_ARGS__)
#define divsi(...) OF(divsi, __VA_ARGS__)
#define divui(...) OF(divui, __VA_ARGS__)
#define erf(...) OF(erf, __VA_ARGS__)
#define erfc(...) OF(erfc, __VA_ARGS__)
#define extf(...) OF(extf, __VA_ARGS__)
#define extsi(...) OF(extsi, __VA_ARGS__)
#define extui(...) OF(extui, __VA_ARGS__)
#define floor(...) OF(floor, __VA_ARGS__)
#define fma(...) OF(fma, __VA_ARGS__)
#define gelu(...) OF(gelu, __VA_ARGS__)
#define inttoptr(...) OF(inttoptr, __VA_ARGS__)
#define maxf(...) OF(maxf, __VA_ARGS__)
#define maxf_nan(...) OF(maxf_nan, __VA_ARGS__)
#define maxsi(...) OF(maxsi, __VA_ARGS__)
#define maxui(...) OF(maxui, __VA_ARGS__)
#define minf(...) OF(minf, __VA_ARGS__)
#define minf_nan(...) OF(minf_nan, __VA_ARGS__)
#define minsi(...) OF(minsi, __VA_ARGS__)
#define minui(...) OF(minui, __VA_ARGS__)
#define mulf(...) OF(mulf, __VA_ARGS__)
#define mulhui(...) OF(mulhui, __VA_ARGS__)
#define muli(...) OF(muli, __VA_ARGS__)
#define negf(...) OF(negf, __VA_ARGS__)
#define ori(...) OF(ori, __VA_ARGS__)
#define ptrtoint(...) OF(ptrtoint, __VA_ARGS__)
#define remsi(...) OF(remsi, __VA_ARGS__)
#define remui(...) OF(remui, __VA_ARGS__)
#define select(...) OF(select, __VA_ARGS__)
#define shli(...) OF(shli, __VA_ARGS__)
#define shrsi(...) OF(shrsi, __VA_ARGS__)
#define shrui(...) OF(shrui, __VA_ARGS__)
#define sitof(...) OF(sitof, __VA_ARGS__)
#define splat(...) OF(splat, __VA_ARGS__)
#define subf(...) OF(subf, __VA_ARGS__)
#define subi(...) OF(subi, __VA_ARGS__)
#define trunci(...) OF(trunci, __VA_ARGS__)
#define truncf(...) OF(truncf, __VA_ARGS__)
#define uitof(...) OF(uitof, __VA_ARGS__)
#define xori(...) OF(xori, __VA_ARGS__)

/* Conditions, a function a row */

#define CONDITION(name, condition)                                                                 \
    static bool when_##name(const RuleMatch *m) {                                                  \
        return (condition);                                                                        \
    }
#define RULE(name, pattern, condition, result, exactness) CONDITION(name, condition)
#define GATED(name, pattern, condition, gate, result, exactness) CONDITION(name, condition)
#include "passes/simplify/rules.def"

/* The rows of each op */

#define ROUNDED(n) ROUNDED, .ulps = (n)
#define ROW(name_, pattern_, gate_, result_, ...)                                                  \
    {.name = #name_,                                                                               \
     .pattern = (pattern_),                                                                        \
     .gate = (gate_),                                                                              \
     .when = when_##name_,                                                                         \
     .result = (result_),                                                                          \
     .exactness = __VA_ARGS__},
#define ROOT(op) static const Rule rules_##op[] = {
#define END(op)                                                                                    \
    }                                                                                              \
    ;
#define RULE(name, pattern, condition, result, exactness)                                          \
    ROW(name, pattern, NULL, result, exactness)
#define GATED(name, pattern, condition, gate, result, exactness)                                   \
    ROW(name, pattern, gate, result, exactness)
#include "passes/simplify/rules.def"

const RuleGroup rule_groups[OP_COUNT] = {
#define ROOT(op) [OP_##op] = {rules_##op, sizeof rules_##op / sizeof *rules_##op},
#define END(op)
#define RULE(...)
#define GATED(...)
#include "passes/simplify/rules.def"
};
