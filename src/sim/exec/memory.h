/* Memory as instructions address it. */
#ifndef TILEC_SIM_EXEC_MEMORY_H
#define TILEC_SIM_EXEC_MEMORY_H
#include "sim/state/access.h"
#include "sim/state/program.h"

/* Finds the bytes an access touches; false after a finding (out of bounds, misaligned, no write).
 */
bool memory_find(Warp *warp, const Insn *insn, uint32_t lane, SpaceKind space, uint64_t address,
                 uint32_t size, AccessKind kind, Target *target);
/* The same in the shared memory of a program of the warp's cluster, at that program's own address;
 * alignment is the caller's. */
bool memory_find_shared(Warp *warp, const Insn *insn, uint32_t lane, Cta *owner, uint64_t own,
                        uint32_t size, AccessKind kind, Target *target);
/* The same in global memory, for any size and alignment. */
bool memory_find_global(Warp *warp, const Insn *insn, uint32_t lane, uint64_t address,
                        uint32_t size, AccessKind kind, Target *target);
/* The same among the kernel's parameters. */
bool memory_find_param(Warp *warp, const Insn *insn, uint32_t lane, uint64_t address, uint32_t size,
                       AccessKind kind, Target *target);
/* Turns a generic address into one of the space that it gives. */
SpaceKind memory_resolve(uint64_t *address);
/* Lane's address of an operand; reports an undefined one. */
uint64_t memory_address(Warp *warp, const Insn *insn, const Operand *operand, uint32_t lane);
/* Whether a generic address is that of a .const variable. */
bool memory_is_const(Machine *machine, uint64_t address);
/* Which variable each byte of shared memory belongs to. */
void memory_map_shared(Machine *machine);
#endif
