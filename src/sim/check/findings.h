/* Findings: diagnostics at the instruction, once for each kind. */
#ifndef TILEC_SIM_CHECK_FINDINGS_H
#define TILEC_SIM_CHECK_FINDINGS_H
#include "sim/state/warp.h"

bool finding_new(Machine *machine, const Insn *insn, DiagId id);
const char *finding_where(Warp *warp, uint32_t lane);
Span finding_span(const Machine *machine, const Insn *insn);
/* Which program it is, and the line of the source. */
void finding_complete(Warp *warp, const Insn *insn);
/* Notes the other side of a conflict. */
void finding_other(Warp *warp, uint32_t pc, const char *who, const char *did);

/* Reports once for each instruction and id. The format's first argument, %s, says where: kernel,
 * program, thread. */
#define report(warp, insn, lane, id, ...)                                                          \
    (finding_new((warp)->machine, (insn), DIAG_##id)                                               \
         ? (ctx_diag((warp)->machine->ctx, finding_span((warp)->machine, (insn)), id,              \
                     finding_where((warp), (lane)) __VA_OPT__(, ) __VA_ARGS__),                    \
            finding_complete((warp), (insn)), true)                                                \
         : false)

/* An undefined value that must be defined; true when it is. */
bool reg_require(Warp *warp, const Insn *insn, const Reg *reg, uint32_t mask, const char *what);
#endif
