/* Cells of global memory: who accessed a piece of it last. */
#ifndef TILEC_SIM_CHECK_GLOBAL_CELLS_H
#define TILEC_SIM_CHECK_GLOBAL_CELLS_H
#include "sim/check/global.h"
#include "sim/state/program.h"

/* Who accesses global memory, and how. */
typedef struct GlobalAccess {
    Warp *warp;
    const Insn *insn;
    uint32_t lane;
    const Target *target;
    AccessKind kind;
    bool strong, strong_inside, by_proxy;
    const uint8_t *value; /* that is written; NULL: not known */
} GlobalAccess;

/* Visits the cells of `size` bytes from an offset on; the bytes a cell stands for begin at `offset`
 * of the allocation. */
typedef void CellVisitor(const GlobalAccess *access, GlobalCell *cell, uint64_t offset,
                         uint32_t size);
void global_visit(const GlobalAccess *access, uint64_t offset, uint64_t size, CellVisitor *visit);
/* Whether the marked access is before this one. */
bool global_is_ordered(const GlobalAccess *access, const GlobalMark *mark);
/* Notes the access. `same`: it writes what is there. */
void global_note(const GlobalAccess *access, GlobalCell *cell, bool same);
#endif
