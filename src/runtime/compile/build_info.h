/* What this build is. */
#ifndef TILEC_RUNTIME_COMPILE_BUILD_INFO_H
#define TILEC_RUNTIME_COMPILE_BUILD_INFO_H
#include "support/str.h"

extern const char build_version[]; /* 0.1.0 */
/* Changes whenever the code of the compiler does: a hash of its libraries. */
extern const char build_id[];
/* "22.1.8": of the LLVM that is linked or, built with a shared one, loaded. */
const char *build_llvm_version(Arena *arena);
#endif
