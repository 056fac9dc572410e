/* What a request is put through: silu(gate) * up, RMSNorm, softmax, of some rows of one of a few
 * widths. Three functions that all threads share. */
#ifndef EXAMPLES_SERVER_PIPELINE_H
#define EXAMPLES_SERVER_PIPELINE_H
#include "tilec.h"

enum { STAGES = 3, WIDTHS = 6, MAX_ROWS = 64, MAX_WIDTH = 1024 };

extern const uint32_t widths[WIDTHS];

typedef struct Pipeline {
    tile_context *context;
    tile_device *device;
    tile_function *functions[STAGES];
    uint64_t weights; /* of RMSNorm, MAX_WIDTH ones */
} Pipeline;

/* What a thread has for itself. */
typedef struct Lane {
    tile_stream stream;
    uint64_t in, gated, normed, out; /* MAX_ROWS of 2 MAX_WIDTH, and of MAX_WIDTH */
    float *host_in, *host_out;
} Lane;

/* Prints what was said of a failure; whether there was none. */
bool ok(tile_status status, tile_diagnostics *said);
/* Opens a context: a strict one compiles nothing. Sources are those of the folder. 0, else the
 * program's status after a message: 3 where there is no GPU. */
int pipeline_open(Pipeline *pipeline, const char *kernels, bool strict);
void pipeline_close(Pipeline *pipeline);
/* Has every instance that requests of the widths use: from the cache, or compiled. */
bool pipeline_prepare(Pipeline *pipeline);

bool lane_open(Lane *lane, Pipeline *pipeline);
void lane_close(Lane *lane, Pipeline *pipeline);
/* Puts `rows` rows of lane->host_in through; waits until they are in lane->host_out. */
bool lane_run(Lane *lane, Pipeline *pipeline, uint32_t rows, uint32_t width);
/* The largest relative difference from the same in double. */
double lane_check(const Lane *lane, uint32_t rows, uint32_t width);
#endif
