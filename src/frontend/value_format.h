/* Python's format specifications, `{x:>8.3f}`, on values known at compile time. */
#ifndef TILEC_FRONTEND_VALUE_FORMAT_H
#define TILEC_FRONTEND_VALUE_FORMAT_H
#include "frontend/value.h"

/* Appends what Python's format(v, spec) gives. False where Python raises, or has what this has not:
 * `why`, in `arena`, says so. */
bool format_value(Arena *arena, Val v, Str spec, StrBuf *out, const char **why);
#endif
