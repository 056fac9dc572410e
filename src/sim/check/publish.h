/* What programs have made known to each other. */
#ifndef TILEC_SIM_CHECK_PUBLISH_H
#define TILEC_SIM_CHECK_PUBLISH_H
#include "sim/check/global.h"
#include "sim/state/program.h"

/* Whether what a thread of another program did is before what `lane` does now. */
bool publish_orders(const Warp *warp, uint32_t lane, const GlobalMark *mark);
/* Whether, where that is so, a fence.proxy.async of its own program lies behind the acquire. */
bool publish_is_fenced(const Warp *warp, uint32_t lane, const GlobalMark *mark);
/* A strong access of a lane: finds what is published at the words, then publishes there. */
void publish_access(Warp *warp, uint32_t lane, uint64_t address, uint32_t size, AccessKind kind);
/* Whether an access of that instruction, where strong, or its release or acquire is one for other
 * programs as well: by its scope. */
bool race_reaches_programs(const Warp *warp, const Insn *insn);
/* A fence of the threads: of releases before their access, of acquires behind it. */
void race_release(Warp *warp, const Insn *insn, uint32_t mask);
void race_acquire(Warp *warp, const Insn *insn, uint32_t mask);
#endif
