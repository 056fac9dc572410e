/* Which lines of a text a function or class takes, found without parsing it. */
#ifndef TILEC_FRONTEND_EXTENT_H
#define TILEC_FRONTEND_EXTENT_H
#include "support/str.h"

#include <stdint.h>

typedef struct Extent {
    uint32_t first_line, def_line, end_line; /* from 1; the last one belongs to it */
    uint32_t column;                         /* of the keyword, in bytes */
} Extent;

/* Of what begins at a line, with its first decorator or itself; false: nothing does. Takes no
 * memory. */
bool extent_find(Str text, uint32_t line, Extent *extent);
#endif
