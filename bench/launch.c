/* Microseconds a launch costs the calling thread, from C: the driver's own call beside ours.
 *
 *     bench_launch kernels/softmax.tile
 *
 * Prints {"tile_launch": .., "tile_function_launch": ..} as medians over batches. */
#include "common.h"

enum { ROWS = 16, COLUMNS = 256, BATCH = 200, BATCHES = 51 };

typedef struct Bench {
    tile_device *device;
    tile_function *function;
    const tile_executable *executable;
    tile_argument arguments[6];
    void *params[5];
    uint32_t grid[3];
} Bench;

static tile_status launch_executable(const Bench *b) {
    return tile_launch(b->executable, b->grid, NULL, b->params, 5);
}

static tile_status launch_function(const Bench *b) {
    return tile_function_launch(b->function, b->device, b->grid, NULL, b->arguments, 6, NULL);
}

/* Median of the batches' means; the queue is drained between batches, outside the time. */
static double measure(const Bench *b, tile_status (*launch)(const Bench *)) {
    double samples[BATCHES];
    for (int i = 0; i < BATCHES; i++) {
        double begin = now_us();
        for (int j = 0; j < BATCH; j++)
            must(launch(b), NULL, "launch");
        samples[i] = (now_us() - begin) / BATCH;
        must(tile_stream_synchronize(b->device, NULL, NULL), NULL, "synchronize");
    }
    return median(samples, BATCHES);
}

int main(int argc, char **argv) {
    if (argc != 2) {
        fprintf(stderr, "usage: bench_launch SOFTMAX.tile\n");
        return 2;
    }
    tile_context *context;
    tile_diagnostics *diagnostics = NULL;
    must(tile_context_create(NULL, &context), NULL, "context");
    Bench b = {.grid = {ROWS, 1, 1}};
    must(tile_device_open(context, 0, &b.device, &diagnostics), diagnostics, "device");
    tile_compile_options options = {
        .size = sizeof options, .path = {argv[1], strlen(argv[1])}, .kernel = {"softmax", 7}};
    must(tile_function_create(context, &options, &b.function, &diagnostics), diagnostics,
         "function");
    uint64_t x, y;
    must(tile_memory_allocate(b.device, ROWS * COLUMNS * 4, &x, &diagnostics), diagnostics,
         "memory");
    must(tile_memory_allocate(b.device, ROWS * COLUMNS * 4, &y, &diagnostics), diagnostics,
         "memory");
    must(tile_memory_set(b.device, x, 0, ROWS * COLUMNS * 4, NULL), NULL, "memory");
    int32_t stride = COLUMNS, columns = COLUMNS;
    b.arguments[0] = tile_pointer(x, TILE_FP32);
    b.arguments[1] = tile_pointer(y, TILE_FP32);
    b.arguments[2] = b.arguments[3] = b.arguments[4] = tile_int(COLUMNS);
    b.arguments[5] = tile_constexpr_int(COLUMNS);
    b.params[0] = &x;
    b.params[1] = &y;
    b.params[2] = b.params[3] = &stride;
    b.params[4] = &columns;
    must(tile_function_instance(b.function, b.device, b.arguments, 6, &b.executable, &diagnostics),
         diagnostics, "instance");
    measure(&b, launch_executable);
    double executable = measure(&b, launch_executable), function = measure(&b, launch_function);
    printf("{\"tile_launch\": %.3f, \"tile_function_launch\": %.3f}\n", executable, function);
    tile_memory_free(b.device, x);
    tile_memory_free(b.device, y);
    tile_function_destroy(b.function);
    tile_device_close(b.device);
    tile_context_destroy(context);
    return 0;
}
