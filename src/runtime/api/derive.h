/* What @triton.heuristics and the configurations of @triton.autotune derive from the arguments of a
 * call. */
#ifndef TILEC_RUNTIME_API_DERIVE_H
#define TILEC_RUNTIME_API_DERIVE_H
#include "frontend/autotune.h"
#include "runtime/api/key_table.h"
#include "runtime/data/grid.h"
#include "runtime/launch/arguments.h"

typedef struct Derivation {
    Heuristics heuristics;
    const HostValue *known;   /* a value for each name, of what no argument sets */
    const uint32_t *params;   /* the name that each argument of a call is */
    Autotune autotune;        /* without configurations: nothing is tuned */
    const GridProgram *grid;  /* of the function's options; NULL: calls say theirs */
    KeyTableRoot *choices;    /* of its configurations, by what it is tuned by: of Choice */
    const TuneConfig *forced; /* this one, whatever was chosen; NULL: the chosen one */
} Derivation;

/* Which configuration calls use. */
typedef struct Choice {
    KeyEntry entry;
    Arena arena;
    const TuneConfig *config;
    Str key;          /* what it was chosen for, in words */
    const char *text; /* the configuration in words */
    bool is_measured; /* for this very key */
} Choice;

enum { DERIVE_MAX_NAMES = TILE_MAX_ARGUMENTS + HEURISTIC_OPTION_COUNT, CHOICE_KEY_SIZE = 2048 };

/* What a call is tuned by: the device, the types of its pointers, the values of the key. */
typedef struct ChoiceKey {
    unsigned char bytes[CHOICE_KEY_SIZE];
    size_t size;
} ChoiceKey;

/* What is known of a call before anything is derived: a value for each name. */
void derive_given(const Derivation *derivation, const tile_argument *arguments, size_t count,
                  HostValue values[DERIVE_MAX_NAMES]);
/* False: it is too long. `values` are those of derive_given. */
bool derive_choice_key(const Derivation *derivation, uint64_t device,
                       const tile_argument *arguments, size_t count, const HostValue *values,
                       ChoiceKey *key);
/* The configuration of a call; NULL: it is not tuned, or none was chosen yet. */
const TuneConfig *derive_config(const Derivation *derivation, uint64_t device,
                                const tile_argument *arguments, size_t count,
                                const HostValue *values);
/* The values of all names for a call with that configuration (NULL: none). False: `error` says why.
 * Allocates nothing. */
bool derive_values(const Derivation *derivation, const tile_argument *arguments, size_t count,
                   const TuneConfig *config, HostValue values[DERIVE_MAX_NAMES], HostError *error);
/* See Derive. */
Derive derive_key;
#endif
