/* Ints of any size as values: VAL_INT as long as Wide holds them, else VAL_BIGINT. */
#include "frontend/value.h"

#include <math.h>

BigInt val_as_big(Arena *arena, Val v) {
    return v.kind == VAL_BIGINT ? *v.big : big_from_wide(arena, v.i);
}

Val val_of_big(Arena *arena, BigInt big) {
    Wide i;
    if (big_to_wide(big, &i))
        return val_int(i);
    BigInt *kept = ARENA_NEW(arena, BigInt);
    *kept = big;
    return (Val){.kind = VAL_BIGINT, .big = kept};
}

static int compare_wide_and_double(Wide i, double f) {
    if (!(fabs(f) < 0x1p127))
        return f < 0 ? 1 : -1;
    const Wide whole = (Wide)f;
    if (i != whole)
        return i < whole ? -1 : 1;
    const double rest = f - trunc(f);
    return rest > 0 ? -1 : rest < 0;
}

static int compare_int_and_double(Val a, double f) {
    return isnan(f)               ? 2
           : a.kind == VAL_BIGINT ? big_compare_double(*a.big, f)
                                  : compare_wide_and_double(a.i, f);
}

int val_compare_numbers(Val a, Val b) {
    if (a.kind == VAL_FLOAT && b.kind == VAL_FLOAT)
        return isnan(a.f) || isnan(b.f) ? 2 : a.f < b.f ? -1 : a.f > b.f;
    if (b.kind == VAL_FLOAT)
        return compare_int_and_double(a, b.f);
    if (a.kind == VAL_FLOAT) {
        const int order = compare_int_and_double(b, a.f);
        return order == 2 ? 2 : -order;
    }
    if (a.kind == VAL_BIGINT && b.kind == VAL_BIGINT)
        return big_compare(*a.big, *b.big);
    if (a.kind == VAL_BIGINT)
        return a.big->negative ? -1 : 1;
    if (b.kind == VAL_BIGINT)
        return b.big->negative ? 1 : -1;
    return a.i < b.i ? -1 : a.i > b.i;
}
