/* Whether a source still fails: the command, run on it. */
#ifndef TILEC_REDUCE_PROBE_H
#define TILEC_REDUCE_PROBE_H
#include "runtime/tools/work_folder.h"
#include "support/vec.h"
#include <regex.h>

typedef VEC(const char *) Words;

/* How a run ended. */
typedef struct ProbeEnd {
    int exit_code; /* -1: by a signal, or not in time */
    int signal;
    bool timed_out;
    bool matched; /* also where nothing is to be matched */
} ProbeEnd;

typedef struct Probe {
    Ctx *ctx;
    const char *file;       /* where sources are put for the command, with the name it has */
    const char *program;    /* argv[0] of the command, found */
    const regex_t *pattern; /* NULL: none is to be matched */
    double timeout_ms;
    ProbeEnd wanted; /* of the first run */
    size_t runs;
} Probe;

/* A program of that name, or at that path. NULL after a report. */
const char *probe_find_program(Ctx *ctx, const char *name);
/* Puts all that is in the source's folder but the source itself beside the file, as links, so that
 * what it imports is there. 0 or an errno. */
int probe_link_neighbours(Ctx *ctx, const char *source, const WorkFolder *folder);

/* Runs the command, in whose words `{}` stands for the file, on the text. False after a report: it
 * cannot be run. Leaves by the arena's jump when what works in the context is cancelled. */
bool probe_run(Probe *probe, Str text, const Words *words, ProbeEnd *end);
/* Did it end as wanted? */
bool probe_is_wanted(const Probe *probe, const ProbeEnd *end);

/* The word with `text` for every `{}`. */
const char *probe_word(Arena *arena, const char *word, const char *text);
#endif
