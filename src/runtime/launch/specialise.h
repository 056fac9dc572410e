/* What a launch promises about an argument, so that code can be made for it. */
#ifndef TILEC_RUNTIME_LAUNCH_SPECIALISE_H
#define TILEC_RUNTIME_LAUNCH_SPECIALISE_H
#include "support/str.h"

typedef enum SpecialKind {
    SPECIAL_NONE,
    SPECIAL_8,  /* a multiple of 8: 16 bytes of 16-bit elements, what tensor copies ask of rows */
    SPECIAL_16, /* a multiple of 16 */
    SPECIAL_FIXED, /* this very value */
} SpecialKind;

typedef struct Special {
    SpecialKind kind;
    int64_t value;
} Special;

/* What a kernel lets instances differ in, of one parameter. */
typedef enum SpecialLimit { SPECIAL_ANY, SPECIAL_NO_MULTIPLES, SPECIAL_NOTHING } SpecialLimit;

/* Values that code was, or is to be, made for. */
typedef struct FixedValues {
    const int64_t *values;
    size_t count;
} FixedValues;

/* Each launch asks these of each argument: they are inline. */

static inline bool special_fixes(int64_t value, FixedValues fixed) {
    for (size_t i = 0; i < fixed.count; i++)
        if (fixed.values[i] == value)
            return true;
    return false;
}

/* As @triton.jit specialises, and a little more: multiples of 8 count among integers. */
static inline SpecialKind special_multiple(uint64_t bits, bool is_integer) {
    const uint64_t half = is_integer ? 8 : 16;
    return (SpecialKind)((bits % half == 0) + (bits % 16 == 0));
}

static inline Special special_of_pointer(uint64_t address) {
    return (Special){special_multiple(address, false), 0};
}

/* Where no value is fixed. */
static inline Special special_of_multiple(int64_t value) {
    return (Special){special_multiple((uint64_t)value, true), 0};
}

/* All that can matter where the instances are there already, of which some are for these values. */
static inline Special special_among(int64_t value, FixedValues fixed) {
    return special_fixes(value, fixed) ? (Special){SPECIAL_FIXED, value}
                                       : special_of_multiple(value);
}

/* Whether a value may equal a constexpr by other than chance. */
static inline bool special_may_be_fixed(int64_t value) {
    return value >= 16;
}

/* `constexprs`: the call's integer constexprs. An integer that equals one of them is fixed: a row
 * as long as its block needs no masks. Small ones are left out; they are equal by chance. */
static inline Special special_of_integer(int64_t value, FixedValues constexprs) {
    if (value == 1 || (special_may_be_fixed(value) && special_fixes(value, constexprs)))
        return (Special){SPECIAL_FIXED, value};
    return special_of_multiple(value);
}

static inline Special special_limited(Special special, SpecialLimit limit) {
    const bool is_multiple = special.kind == SPECIAL_8 || special.kind == SPECIAL_16;
    const bool drops = limit == SPECIAL_NOTHING || (limit == SPECIAL_NO_MULTIPLES && is_multiple);
    return drops ? (Special){SPECIAL_NONE, 0} : special;
}

/* An integer constexpr's text, in decimal; false: something else. */
bool special_constexpr(Str text, int64_t *value);
/* The hint of a signature, with its colon; empty for SPECIAL_NONE. */
const char *special_hint(Arena *arena, Special special);
#endif
