/* The LLVM in use; build_id.c beside it is generated (build_id.cmake). */
#include "runtime/compile/build_info.h"

#include <llvm-c/Core.h>

const char *build_llvm_version(Arena *arena) {
    unsigned major, minor, patch;
    LLVMGetVersion(&major, &minor, &patch);
    return str_format(arena, "%u.%u.%u", major, minor, patch);
}
