#include "runtime/launch/specialise.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

enum { LEAST_FIXED = 16 };

Special special_of_pointer(uint64_t address) {
    return (Special){address % 16 == 0 ? SPECIAL_16 : SPECIAL_NONE, 0};
}

Special special_among(int64_t value, FixedValues fixed) {
    for (size_t i = 0; i < fixed.count; i++)
        if (fixed.values[i] == value)
            return (Special){SPECIAL_FIXED, value};
    return (Special){value % 16 == 0 ? SPECIAL_16 : value % 8 == 0 ? SPECIAL_8 : SPECIAL_NONE, 0};
}

Special special_of_integer(int64_t value, FixedValues constexprs) {
    if (value == 1)
        return (Special){SPECIAL_FIXED, 1};
    return special_among(value, value >= LEAST_FIXED ? constexprs : (FixedValues){0});
}

Special special_limited(Special special, SpecialLimit limit) {
    const bool is_multiple = special.kind == SPECIAL_8 || special.kind == SPECIAL_16;
    const bool drops = limit == SPECIAL_NOTHING || (limit == SPECIAL_NO_MULTIPLES && is_multiple);
    return drops ? (Special){0} : special;
}

bool special_constexpr(Str text, int64_t *value) {
    char digits[24], *end;
    if (!text.len || text.len >= sizeof digits || text.ptr[0] < '0' || text.ptr[0] > '9')
        return false;
    memcpy(digits, text.ptr, text.len);
    digits[text.len] = 0;
    errno = 0;
    *value = strtoll(digits, &end, 10);
    return !*end && !errno;
}

const char *special_hint(Arena *arena, Special special) {
    switch (special.kind) {
    case SPECIAL_NONE:
        return "";
    case SPECIAL_8:
        return ":8";
    case SPECIAL_16:
        return ":16";
    case SPECIAL_FIXED:
        return special.value == 1 ? ":1" : str_format(arena, ":=%" PRId64, special.value);
    }
    return "";
}
