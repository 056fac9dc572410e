/* What choose-dots decides, asked of a dot. Private to src/passes. */
#ifndef TILEC_PASSES_DOTS_CHOOSE_DOTS_H
#define TILEC_PASSES_DOTS_CHOOSE_DOTS_H
#include "ir/ir.h"

/* Would choose-dots leave the dot as it is? True where the function has no target. */
bool dot_is_chosen(const Op *dot);
#endif
