/* Vector clocks: what a warp, a barrier or a copy knows of what others have done. */
#ifndef TILEC_SIM_CHECK_CLOCK_H
#define TILEC_SIM_CHECK_CLOCK_H
#include "sim/state/program.h"

/* A clock that knows nothing, of as many actors as the cluster can have. */
Clock clock_create(Machine *machine, const Cluster *cluster);
uint32_t clock_max_actors(const Machine *machine, const Cluster *cluster);
void clock_reset(const Cluster *cluster, Clock *clock);
/* `to` knows what `from` knows. */
void clock_join(const Cluster *cluster, Clock *to, const Clock *from);
/* The lanes of `mask` arrive: `to` knows what they did and know. Their later accesses are of a new
 * epoch. */
void clock_release(Warp *warp, uint32_t mask, Clock *to);
/* The lanes of `mask` go on behind what `from` knows. */
void clock_acquire(Warp *warp, uint32_t mask, const Clock *from);
/* Whether what is known has the access of a lane in that epoch. */
bool clock_entry_knows(const ClockEntry *entry, uint32_t lane, uint32_t epoch);
/* The lanes of `mask` meet: each knows what the others did. */
void clock_meet(Warp *warp, uint32_t mask);
/* fence.proxy.async: what the lanes know may be touched by the asynchronous proxy. */
void clock_proxy_fence(Warp *warp, uint32_t mask);
/* The same of global memory, for what other programs wrote and the lanes have acquired. */
void clock_proxy_fence_global(Warp *warp, uint32_t mask);
/* Whether the access is before what the lane does now; and whether such a fence lies between. */
bool clock_has_seen(const Warp *warp, uint32_t lane, const SharedCell *cell);
bool clock_has_fenced(const Warp *warp, uint32_t lane, const SharedCell *cell);
/* A fence of the lanes of `mask` that releases: what came before is ordered before relaxed arrivals
 * behind it. */
void clock_fence(Warp *warp, uint32_t mask);
/* A fence that other programs see. */
void clock_program_fence(Warp *warp, uint32_t mask);
/* Adds what the lane may export of the warps of its program, by number. */
void clock_export(const Warp *warp, uint32_t lane, ClockEntry *to);
/* The lane has found that time at a word. */
void clock_find(Warp *warp, uint32_t lane, uint64_t time);
#endif
