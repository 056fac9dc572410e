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

/* As @triton.jit specialises, and a little more. */
Special special_of_pointer(uint64_t address);
/* `constexprs`: the call's integer constexprs. An integer that equals one of them is fixed: a row
 * as long as its block needs no masks. Small ones are left out; they are equal by chance. */
Special special_of_integer(int64_t value, FixedValues constexprs);
/* All that can matter where the instances are there already, of which some are for these values. */
Special special_among(int64_t value, FixedValues fixed);
Special special_limited(Special special, SpecialLimit limit);
/* An integer constexpr's text, in decimal; false: something else. */
bool special_constexpr(Str text, int64_t *value);
/* The hint of a signature, with its colon; empty for SPECIAL_NONE. */
const char *special_hint(Arena *arena, Special special);
#endif
