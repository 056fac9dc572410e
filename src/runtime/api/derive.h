/* What @triton.heuristics derive from the arguments of a call. */
#ifndef TILEC_RUNTIME_API_DERIVE_H
#define TILEC_RUNTIME_API_DERIVE_H
#include "frontend/heuristics.h"
#include "runtime/launch/arguments.h"

typedef struct Derivation {
    Heuristics heuristics;
    const HostValue *known; /* a value for each name, of what no argument sets */
    const uint32_t *params; /* the name that each argument of a call is */
} Derivation;

enum { DERIVE_MAX_NAMES = TILE_MAX_ARGUMENTS + HEURISTIC_OPTION_COUNT };

/* The values of all names for a call. False: `error` says why. Allocates nothing. */
bool derive_values(const Derivation *derivation, const tile_argument *arguments, size_t count,
                   HostValue values[DERIVE_MAX_NAMES], HostError *error);
/* See Derive. */
Derive derive_key;
#endif
