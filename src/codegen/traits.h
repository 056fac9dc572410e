/* What a kernel does, as far as that decides what code is made of all of it. */
#ifndef TILEC_CODEGEN_TRAITS_H
#define TILEC_CODEGEN_TRAITS_H
#include "ir/ir.h"

typedef struct KernelTraits {
    bool is_swizzled;      /* buffers are, by address: they begin at multiples of PANEL_ALIGNMENT */
    bool products_are_fed; /* by wgmma, and threads compute few addresses beside them */
    bool has_few_pointers; /* nor has the rest of the function many */
} KernelTraits;

KernelTraits kernel_traits(Func *func);
#endif
