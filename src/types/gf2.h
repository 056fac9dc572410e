/* Subspaces of GF(2)^32 by Gaussian elimination: vectors are bits of a word, addition is exclusive
 * or.
 *
 * A `Gf2` holds a basis indexed by the leading bit of each vector, and with every vector the
 * combination of inserted vectors that makes it, so that membership also yields coordinates. */
#ifndef TILEC_TYPES_GF2_H
#define TILEC_TYPES_GF2_H
#include <stdbool.h>
#include <stdint.h>

typedef struct Gf2 {
    int rank;
    uint32_t vector[32], combination[32]; /* by leading bit; vector 0: none */
} Gf2;

/* Reduces *vector by the basis; *combination collects what was added. Leaves *vector 0 for members.
 */
static inline void gf2_reduce(const Gf2 *space, uint32_t *vector, uint32_t *combination) {
    for (uint32_t rest = *vector; rest;) {
        int lead = 31 - __builtin_clz(rest);
        rest &= ~(1u << lead);
        if (space->vector[lead]) {
            *vector ^= space->vector[lead];
            *combination ^= space->combination[lead];
            rest = *vector & ((1u << lead) - 1);
        }
    }
}

static inline bool gf2_contains(const Gf2 *space, uint32_t vector) {
    uint32_t combination = 0;
    gf2_reduce(space, &vector, &combination);
    return vector == 0;
}

/* Adds a vector known by `combination` to its caller; false if the space has it already. */
static inline bool gf2_insert(Gf2 *space, uint32_t vector, uint32_t combination) {
    gf2_reduce(space, &vector, &combination);
    if (!vector)
        return false;
    int lead = 31 - __builtin_clz(vector);
    space->vector[lead] = vector;
    space->combination[lead] = combination;
    space->rank++;
    return true;
}

/* The combination of inserted vectors that gives `vector`; false if there is none. */
static inline bool gf2_solve(const Gf2 *space, uint32_t vector, uint32_t *combination) {
    *combination = 0;
    gf2_reduce(space, &vector, combination);
    return vector == 0;
}
#endif
