/* The part of old_libc.c that needs libm: not for libraries that have no use of it. */
#define OLD_MATH USE_FIRST_VERSION
#include "support/old_libc.h"

#include "support/old_libc.def"
