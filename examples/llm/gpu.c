#include "gpu.h"

#include <stdlib.h>
#include <string.h>

static const char *const names[KERNEL_COUNT] = {
#define KERNEL(name) #name,
#include "kernels.def"
};

bool gpu_ok(tile_status status, tile_diagnostics *said) {
    if (status != TILE_OK && said)
        fputs(tile_diagnostics_text(said).data, stderr);
    else if (status != TILE_OK)
        fprintf(stderr, "llm: %s\n", tile_status_text(status));
    tile_diagnostics_destroy(said);
    return status == TILE_OK;
}

static bool read_kernels(Gpu *gpu, const char *path) {
    for (int i = 0; i < KERNEL_COUNT; i++) {
        const tile_compile_options options = {.size = sizeof options,
                                              .path = {path, strlen(path)},
                                              .kernel = {names[i], strlen(names[i])}};
        tile_diagnostics *said = NULL;
        const tile_status status =
            tile_function_create(gpu->context, &options, &gpu->functions[i], &said);
        if (!gpu_ok(status, said))
            return false;
    }
    return true;
}

int gpu_open(Gpu *gpu, const char *kernels) {
    tile_diagnostics *said = NULL;
    *gpu = (Gpu){0};
    if (!gpu_ok(tile_context_create(NULL, &gpu->context), NULL))
        return 1;
    tile_status status = tile_device_open(gpu->context, 0, &gpu->device, &said);
    if (!gpu_ok(status, said) || !gpu_ok(tile_stream_create(gpu->device, &gpu->stream), NULL))
        return 3;
    return read_kernels(gpu, kernels) ? 0 : 1;
}

void gpu_close(Gpu *gpu) {
    for (size_t i = 0; i < gpu->timed_room; i++) {
        tile_event_destroy(gpu->device, gpu->timed[i].begin);
        tile_event_destroy(gpu->device, gpu->timed[i].end);
    }
    free(gpu->timed);
    for (int i = 0; i < KERNEL_COUNT; i++)
        tile_function_destroy(gpu->functions[i]);
    if (gpu->stream)
        tile_stream_destroy(gpu->device, gpu->stream);
    tile_device_close(gpu->device);
    tile_context_destroy(gpu->context);
}

uint64_t gpu_allocate(Gpu *gpu, size_t bytes) {
    tile_diagnostics *said = NULL;
    uint64_t address = 0;
    const tile_status status = tile_memory_allocate(gpu->device, bytes, &address, &said);
    return gpu_ok(status, said) ? address : 0;
}

/* The next pair of events; NULL after a message. */
static Timed *next_timed(Gpu *gpu) {
    if (gpu->timed_count < gpu->timed_room)
        return &gpu->timed[gpu->timed_count++];
    Timed *grown = realloc(gpu->timed, (gpu->timed_room + 1) * sizeof *grown);
    if (!grown)
        return NULL;
    gpu->timed = grown;
    Timed *made = &grown[gpu->timed_room];
    *made = (Timed){0};
    if (!gpu_ok(tile_event_create(gpu->device, &made->begin), NULL) ||
        !gpu_ok(tile_event_create(gpu->device, &made->end), NULL))
        return NULL;
    gpu->timed_room++;
    gpu->timed_count++;
    return made;
}

void gpu_launch(Gpu *gpu, Kernel kernel, uint32_t x, uint32_t y, const tile_argument *arguments,
                size_t count) {
    const uint32_t grid[3] = {x, y, 1};
    tile_diagnostics *said = NULL;
    Timed *timed = gpu->timing && !gpu->failed ? next_timed(gpu) : NULL;
    if (gpu->failed || (gpu->timing && !timed)) {
        gpu->failed = true;
        return;
    }
    if (timed) {
        timed->kernel = kernel;
        tile_event_record(gpu->device, timed->begin, gpu->stream);
    }
    const tile_status status = tile_function_launch(gpu->functions[kernel], gpu->device, grid,
                                                    gpu->stream, arguments, count, &said);
    gpu->failed = !gpu_ok(status, said);
    if (timed)
        tile_event_record(gpu->device, timed->end, gpu->stream);
}

bool gpu_wait(Gpu *gpu) {
    tile_diagnostics *said = NULL;
    if (gpu->failed)
        return false;
    const tile_status status = tile_stream_synchronize(gpu->device, gpu->stream, &said);
    gpu->failed = !gpu_ok(status, said);
    return !gpu->failed;
}

bool gpu_add_times(Gpu *gpu) {
    if (!gpu_wait(gpu))
        return false;
    for (size_t i = 0; i < gpu->timed_count; i++) {
        const Timed *timed = &gpu->timed[i];
        float ms = 0;
        if (!gpu_ok(tile_event_elapsed(gpu->device, timed->begin, timed->end, &ms), NULL))
            return false;
        gpu->ms[timed->kernel] += ms;
        gpu->launches[timed->kernel]++;
    }
    gpu->timed_count = 0;
    return true;
}

void gpu_print_times(const Gpu *gpu, FILE *out) {
    double all = 0;
    for (int i = 0; i < KERNEL_COUNT; i++)
        all += gpu->ms[i];
    for (int i = 0; i < KERNEL_COUNT; i++)
        if (gpu->launches[i])
            fprintf(out, "  %-15s %6zu launches %10.3f ms  %5.1f%%\n", names[i], gpu->launches[i],
                    gpu->ms[i], all > 0 ? 100 * gpu->ms[i] / all : 0);
}
