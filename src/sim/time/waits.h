/* Which instruction waits for which other one, and for how many clocks. */
#ifndef TILEC_SIM_TIME_WAITS_H
#define TILEC_SIM_TIME_WAITS_H
#include "sim/sim.h"

/* Pairs of instructions: those of one that waits are a list. */
typedef struct TimeWait {
    SimWait wait;
    uint32_t next; /* number + 1 of another one of the same instruction; 0: none */
} TimeWait;

typedef struct TimeWaits {
    Arena *arena;
    VEC(TimeWait) all;
    uint32_t *first; /* by program counter: number + 1; NULL: nobody asks */
    uint32_t insn_count;
} TimeWaits;

void waits_create(TimeWaits *waits, Arena *arena, uint32_t insn_count);
void waits_clear(TimeWaits *waits);
/* The instruction at `pc` waited so long for what the one at `maker` makes. */
void waits_add(TimeWaits *waits, uint32_t pc, uint32_t maker, double clocks);
#endif
