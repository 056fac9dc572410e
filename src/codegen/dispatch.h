/* The table of lowerings. */
#ifndef TILEC_CODEGEN_DISPATCH_H
#define TILEC_CODEGEN_DISPATCH_H
#include "codegen/cg.h"

/* Lowers the op, with those behind it that become one piece of code with it; the last of them. */
const Op *dispatch_op(Cg *cg, const Op *op);
#endif
