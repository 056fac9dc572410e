#include "runtime/launch/specialise.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

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
