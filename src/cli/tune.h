/* What both sides of `tilec tune` share.
 *
 *     tilec tune  --  starts, watches, ends  -->  tilec tuner, which measures
 *                 <--     what it is at      --   the board, memory of both
 *                 <--  what came of a shape  --   lines of JSON
 *
 * A configuration may end the process that measures it, or keep it for ever. So the board says
 * which one is about to run, and since when; the host strikes it out and starts another process,
 * which finds in the cache what the one before has found. */
#ifndef TILEC_CLI_TUNE_H
#define TILEC_CLI_TUNE_H
#include "cli/kernel_options.h"
#include "runtime/data/shapes.h"
#include "runtime/tune/tune.h"

typedef struct TuneOptions {
    KernelOptions kernel;
    const char *shapes, *grid, *export_path, *import_path;
    TextList vary;
    int64_t gpu, limit_ms;
    bool generate, json;
} TuneOptions;

/* Both sides are given the same words. */
OptionsResult tune_parse(Ctx *ctx, int argc, char **argv, TuneOptions *options,
                         TextList *arguments);
/* The shapes to tune for, and the kernel's source and name. STATUS_OK, or the status after a
 * message. */
int tune_shapes(Ctx *ctx, TuneOptions *options, const TextList *arguments, ShapesFile *shapes);

enum { TUNE_BOARD_ENTRY = 64 << 10 };

typedef struct TuneBoard {
    /* The host's to say, before the process begins: the shape with which it begins, and how many of
     * that one's configurations other processes have struck out. */
    uint32_t first, struck;
    /* Where it is: the shape; how many configurations of how many it has looked at. */
    _Atomic uint32_t shape, looked, count;
    /* Nanoseconds of the steady clock at which what runs began; 0: nothing does. */
    _Atomic uint64_t since;
    uint32_t entry_len;
    char entry[TUNE_BOARD_ENTRY]; /* what runs: an object of tune_entry_members */
} TuneBoard;

uint64_t tune_clock_ns(void);

/* Exit status of a process whose device was lost: with the configuration that ran, which it has
 * struck out, so that another one is to go on with the same shape; or with the shape that it has
 * answered last. */
enum { TUNER_LOST = 70 };

/* A line of the process: {"answer": {..}, "status": 0, "said": ".."}, the answer as --json has it.
 * Without "shape" it is that nothing can be measured at all. */
void tune_write_line(StrBuf *out, Str answer, int status, Str said);
/* The answer of a shape, NULL: of none, that failed: `diagnostics` is a list of JSON. */
Str tune_failed_answer(Arena *arena, const char *shape, Str diagnostics);

/* The same, read. */
typedef struct TuneAnswer {
    Str json; /* the answer's */
    bool ok, has_shape;
    Str kernel, config;
    double ms; /* 0: there was nothing to choose, so nothing was measured */
    int64_t measured, known;
    const NamedText *struck; /* configurations, and why they are out */
    uint32_t struck_count;
    int64_t status; /* an ExitStatus */
    Str said;       /* warnings and errors, rendered */
} TuneAnswer;

/* The host's side: tunes for all shapes, whose answers are filled in. False: nothing can be
 * measured, and `failure` says why. */
bool tune_run(Ctx *ctx, const TuneOptions *options, const ShapesFile *shapes, Cache *cache,
              char **argv, int argc, TuneAnswer *answers, TuneAnswer *failure);
#endif
