/* Sets of sectors of global memory. */
#ifndef TILEC_SIM_TIME_SECTORS_H
#define TILEC_SIM_TIME_SECTORS_H
#include "support/arena.h"

/* A hash table of sector numbers + 1. */
typedef struct Sectors {
    uint64_t *slots;
    size_t count, cap; /* a power of two; 0: none yet */
    uint64_t fresh;    /* so many were added */
} Sectors;

/* Adds the sectors of the bytes. */
void sectors_add(Sectors *sectors, Arena *arena, uint64_t address, uint64_t size);
bool sectors_have(const Sectors *sectors, uint64_t sector);
void sectors_clear(Sectors *sectors);
/* Those of `a` that `b` has not. */
uint64_t sectors_beyond(const Sectors *a, const Sectors *b);
#endif
