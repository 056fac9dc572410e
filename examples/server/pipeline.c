#include "pipeline.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const uint32_t widths[WIDTHS] = {64, 100, 256, 500, 781, 1024};

/* In the order in which they are launched. */
static const struct {
    const char *file, *kernel;
} stages[STAGES] = {
    {"silu_mul.tile", "silu_mul"}, {"rmsnorm.tile", "rmsnorm"}, {"softmax.tile", "softmax"}};

static const float eps = 1e-5f;

bool ok(tile_status status, tile_diagnostics *said) {
    if (status != TILE_OK && said)
        fputs(tile_diagnostics_text(said).data, stderr);
    else if (status != TILE_OK)
        fprintf(stderr, "server: %s\n", tile_status_text(status));
    tile_diagnostics_destroy(said);
    return status == TILE_OK;
}

static bool open_functions(Pipeline *pipeline, const char *kernels) {
    for (int i = 0; i < STAGES; i++) {
        char path[4096];
        snprintf(path, sizeof path, "%s/%s", kernels, stages[i].file);
        const tile_compile_options options = {
            .size = sizeof options,
            .path = {path, strlen(path)},
            .kernel = {stages[i].kernel, strlen(stages[i].kernel)}};
        tile_diagnostics *said = NULL;
        const tile_status status =
            tile_function_create(pipeline->context, &options, &pipeline->functions[i], &said);
        if (!ok(status, said))
            return false;
    }
    return true;
}

static uint64_t allocate(Pipeline *pipeline, size_t numbers) {
    tile_diagnostics *said = NULL;
    uint64_t address = 0;
    const tile_status status =
        tile_memory_allocate(pipeline->device, numbers * sizeof(float), &address, &said);
    return ok(status, said) ? address : 0;
}

static bool make_weights(Pipeline *pipeline) {
    float ones[MAX_WIDTH];
    for (int i = 0; i < MAX_WIDTH; i++)
        ones[i] = 1;
    pipeline->weights = allocate(pipeline, MAX_WIDTH);
    return pipeline->weights &&
           ok(tile_memory_write(pipeline->device, pipeline->weights, ones, sizeof ones, NULL),
              NULL) &&
           ok(tile_stream_synchronize(pipeline->device, NULL, NULL), NULL);
}

int pipeline_open(Pipeline *pipeline, const char *kernels, bool strict) {
    const tile_context_options options = {.size = sizeof options, .strict = strict};
    tile_diagnostics *said = NULL;
    *pipeline = (Pipeline){NULL};
    if (!ok(tile_context_create(&options, &pipeline->context), NULL))
        return 1;
    const tile_status status = tile_device_open(pipeline->context, 0, &pipeline->device, &said);
    if (!ok(status, said))
        return 3;
    return open_functions(pipeline, kernels) && make_weights(pipeline) ? 0 : 1;
}

void pipeline_close(Pipeline *pipeline) {
    for (int i = 0; i < STAGES; i++)
        tile_function_destroy(pipeline->functions[i]);
    if (pipeline->weights)
        tile_memory_free(pipeline->device, pipeline->weights);
    tile_device_close(pipeline->device);
    tile_context_destroy(pipeline->context);
}

static int64_t power_of_two(uint32_t least) {
    int64_t power = 1;
    while (power < least)
        power *= 2;
    return power;
}

enum { MAX_ARGUMENTS = 7 };

/* The arguments of a stage; returns how many. */
static size_t arguments_of(int stage, const Lane *lane, const Pipeline *pipeline, uint32_t width,
                           tile_argument arguments[MAX_ARGUMENTS]) {
    const tile_argument in = tile_pointer(lane->in, TILE_FP32),
                        gated = tile_pointer(lane->gated, TILE_FP32),
                        normed = tile_pointer(lane->normed, TILE_FP32),
                        out = tile_pointer(lane->out, TILE_FP32),
                        weights = tile_pointer(pipeline->weights, TILE_FP32),
                        cols = tile_int(width), block = tile_constexpr_int(power_of_two(width));
    const tile_argument all[STAGES][MAX_ARGUMENTS] = {
        {in, gated, tile_int(2 * width), cols, cols, block},
        {gated, normed, weights, cols, cols, tile_float(eps), block},
        {normed, out, cols, cols, cols, block}};
    static const size_t counts[STAGES] = {6, 7, 6};
    memcpy(arguments, all[stage], sizeof all[stage]);
    return counts[stage];
}

bool pipeline_prepare(Pipeline *pipeline) {
    Lane lane;
    bool prepared = lane_open(&lane, pipeline);
    for (uint32_t i = 0; i < WIDTHS && prepared; i++)
        for (int stage = 0; stage < STAGES && prepared; stage++) {
            tile_argument arguments[MAX_ARGUMENTS];
            const tile_executable *executable = NULL;
            tile_diagnostics *said = NULL;
            const size_t count = arguments_of(stage, &lane, pipeline, widths[i], arguments);
            const tile_status status = tile_function_instance(
                pipeline->functions[stage], pipeline->device, arguments, count, &executable, &said);
            prepared = ok(status, said);
        }
    lane_close(&lane, pipeline);
    return prepared;
}

bool lane_open(Lane *lane, Pipeline *pipeline) {
    const size_t most = (size_t)MAX_ROWS * MAX_WIDTH;
    *lane = (Lane){.host_in = malloc(2 * most * sizeof(float)),
                   .host_out = malloc(most * sizeof(float))};
    return lane->host_in && lane->host_out &&
           ok(tile_stream_create(pipeline->device, &lane->stream), NULL) &&
           (lane->in = allocate(pipeline, 2 * most)) && (lane->gated = allocate(pipeline, most)) &&
           (lane->normed = allocate(pipeline, most)) && (lane->out = allocate(pipeline, most));
}

void lane_close(Lane *lane, Pipeline *pipeline) {
    const uint64_t memory[] = {lane->in, lane->gated, lane->normed, lane->out};
    for (size_t i = 0; i < sizeof memory / sizeof *memory; i++)
        if (memory[i])
            tile_memory_free(pipeline->device, memory[i]);
    if (lane->stream)
        tile_stream_destroy(pipeline->device, lane->stream);
    free(lane->host_in);
    free(lane->host_out);
}

bool lane_run(Lane *lane, Pipeline *pipeline, uint32_t rows, uint32_t width) {
    const size_t bytes = sizeof(float) * rows * width;
    const uint32_t grid[3] = {rows, 1, 1};
    tile_diagnostics *said = NULL;
    if (!ok(tile_memory_write(pipeline->device, lane->in, lane->host_in, 2 * bytes, lane->stream),
            NULL))
        return false;
    for (int stage = 0; stage < STAGES; stage++) {
        tile_argument arguments[MAX_ARGUMENTS];
        const size_t count = arguments_of(stage, lane, pipeline, width, arguments);
        said = NULL;
        const tile_status status =
            tile_function_launch(pipeline->functions[stage], pipeline->device, grid, lane->stream,
                                 arguments, count, &said);
        if (!ok(status, said))
            return false;
    }
    if (!ok(tile_memory_read(pipeline->device, lane->host_out, lane->out, bytes, lane->stream),
            NULL))
        return false;
    said = NULL;
    const tile_status status = tile_stream_synchronize(pipeline->device, lane->stream, &said);
    return ok(status, said);
}

static double check_row(const float *in, const float *out, uint32_t width) {
    double gated[MAX_WIDTH], squares = 0, sum = 0, worst = 0;
    for (uint32_t i = 0; i < width; i++) {
        gated[i] = (double)in[i] / (1 + exp(-(double)in[i])) * (double)in[width + i];
        squares += gated[i] * gated[i];
    }
    const double scale = 1 / sqrt(squares / width + (double)eps);
    for (uint32_t i = 0; i < width; i++)
        sum += exp(gated[i] * scale);
    for (uint32_t i = 0; i < width; i++) {
        const double wanted = exp(gated[i] * scale) / sum;
        const double off = fabs((double)out[i] - wanted) / wanted;
        worst = !(off <= worst) ? off : worst; /* a NaN stays */
    }
    return worst;
}

double lane_check(const Lane *lane, uint32_t rows, uint32_t width) {
    double worst = 0;
    for (uint32_t row = 0; row < rows; row++) {
        const double off = check_row(lane->host_in + 2 * (size_t)row * width,
                                     lane->host_out + (size_t)row * width, width);
        worst = !(off <= worst) ? off : worst;
    }
    return worst;
}
