/* What the program has of the GPU: kernels that it calls by name, and their times. */
#ifndef EXAMPLES_LLM_GPU_H
#define EXAMPLES_LLM_GPU_H
#include "tilec.h"

#include <stdio.h>

typedef enum Kernel {
#define KERNEL(name) KERNEL_##name,
#include "kernels.def"
    KERNEL_COUNT
} Kernel;

/* A launch whose time is taken. */
typedef struct Timed {
    Kernel kernel;
    tile_event begin, end;
} Timed;

typedef struct Gpu {
    tile_context *context;
    tile_device *device;
    tile_stream stream;
    tile_function *functions[KERNEL_COUNT];
    bool failed;  /* a launch was not possible: it was said, and further ones do nothing */
    bool timing;  /* take the time of each launch */
    Timed *timed; /* since the last gpu_add_times */
    size_t timed_count, timed_room;
    double ms[KERNEL_COUNT];
    size_t launches[KERNEL_COUNT];
} Gpu;

/* 0, else the program's status after a message: 3 where there is no GPU. */
int gpu_open(Gpu *gpu, const char *kernels);
void gpu_close(Gpu *gpu);

/* Prints what was said of what went wrong, not the compiler's remarks; whether to go on. */
bool gpu_ok(tile_status status, tile_diagnostics *said);
/* 0 after a message. */
uint64_t gpu_allocate(Gpu *gpu, size_t bytes);
/* Launches, in the stream. */
void gpu_launch(Gpu *gpu, Kernel kernel, uint32_t x, uint32_t y, const tile_argument *arguments,
                size_t count);
/* Waits for all that was launched; false after a message, here or before. */
bool gpu_wait(Gpu *gpu);
/* Waits, and adds the times of launches to `ms` and `launches`. */
bool gpu_add_times(Gpu *gpu);
void gpu_print_times(const Gpu *gpu, FILE *out);
#endif
