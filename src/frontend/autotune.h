/* @triton.autotune(configs=[triton.Config({"BLOCK": 128}, num_warps=8), ..], key=["n"], ..):
 * configurations of which a launch uses the fastest, measured once for each value of the key. */
#ifndef TILEC_FRONTEND_AUTOTUNE_H
#define TILEC_FRONTEND_AUTOTUNE_H
#include "frontend/heuristics.h"

typedef struct TuneConfig {
    const HostValue *values; /* for each of Autotune.names; HOST_UNKNOWN: it does not say */
    int32_t max_registers;   /* 0: it does not say */
    uint32_t variant_of;     /* 1 + the number of the configuration whose launch the compiler
                                chooses, to which this one's is an alternative; 0: of none */
} TuneConfig;

typedef struct Autotune {
    const Str *names; /* the parameters, then the options: as Heuristics.names */
    uint32_t name_count, param_count;
    const TuneConfig *configs; /* in the order of the source; names of one are those of all */
    uint32_t count;            /* 0: the kernel has no configurations, or none that were read */
    const uint32_t *keys;      /* parameters */
    uint32_t key_count;
    const bool *rounds;   /* of each of `keys`: of numbers alone, and those up to the next power of
                             two; NULL: of none */
    const bool *sets;     /* of each name: configurations set it */
    const bool *resets;   /* of each parameter: zeroed before each run that is measured */
    const bool *restores; /* of each parameter: what was there is put back after each run */
    bool prunes;          /* autotune_prune has something to say */
} Autotune;

/* That of a kernel, in `arena`; it points at nothing of the context. The source numbered `file` is
 * `def`'s, its host code run as far as the decorator asks for it (host_code.h). What cannot be had
 * so is a warning, and there are no configurations: what they would set is the caller's to give.
 * False after an error: a name that the kernel has not. Recurses as the parser does. */
bool autotune_read(Ctx *ctx, Arena *arena, uint32_t file, const FuncDef *def, int32_t capability,
                   Autotune *autotune);
/* What prune_configs_by keeps for a call: `values` has one for each name. `kept`: of each
 * configuration. A function that cannot be run here is a warning, and all are kept. */
void autotune_prune(Ctx *ctx, uint32_t file, const FuncDef *def, int32_t capability,
                    const Autotune *autotune, const HostValue *values, bool *kept);
/* What the key has of a call, its parameter number `index` in `keys`; false: nothing. */
bool autotune_key_value(const Autotune *autotune, uint32_t index, const HostValue *values,
                        HostValue *value);
/* Writes what a configuration sets among the values of a call. */
void autotune_apply(const Autotune *autotune, const TuneConfig *config, HostValue *values);
/* Adds what a configuration sets to a request, but what heuristics set behind it. */
void autotune_request(const Autotune *autotune, const TuneConfig *config,
                      const Heuristics *heuristics, Arena *arena, ElaborateRequest *request);
/* What is given otherwise no configuration sets: of each name, and behind them of maxnreg. Where
 * nothing is left to set there are no configurations. */
void autotune_give(Autotune *autotune, Arena *arena, const bool *given);
/* The number of a name among those of the kernel, or name_count. */
uint32_t autotune_find_name(const Autotune *autotune, Str name);
/* The kernel has not that name. Returns false. */
bool autotune_report_name(Ctx *ctx, const Autotune *autotune, const FuncDef *def, Str name,
                          Span span);
/* A copy of a value that a configuration may have. False: it is no value for a constexpr. */
bool autotune_keep_value(Arena *arena, HostValue value, HostValue *kept);
/* "BLOCK=128, num_warps=8": a configuration as messages and records name it. */
const char *autotune_text(Arena *arena, const Autotune *autotune, const TuneConfig *config);
#endif
