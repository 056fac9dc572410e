/* Which program a CTA runs: numbers along an axis, i32. */
#ifndef TILEC_CODEGEN_VALUES_PROGRAMS_H
#define TILEC_CODEGEN_VALUES_PROGRAMS_H
#include "codegen/cg.h"

Lv cg_cta_id(Cg *cg, int64_t axis);
Lv cg_cta_count(Cg *cg, int64_t axis);
Lv cg_program_id(Cg *cg, int64_t axis);
/* At entry: which program this CTA runs, where that is not its place in the launch. */
void cg_order_programs(Cg *cg);
#endif
