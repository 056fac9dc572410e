/* Softmax by tile_launch: one instance, compiled once for types that the program states, then
 * launched with values alone.
 *
 *     fixed [softmax.tile] */
#include "softmax.h"

#include <string.h>

static int run(tile_device *device, tile_executable *softmax, const float *x, float *y) {
    const size_t bytes = sizeof *x * ROWS * COLS;
    const uint32_t grid[3] = {ROWS, 1, 1};
    int32_t stride = COLS, cols = COLS;
    tile_diagnostics *said = NULL;
    uint64_t in = 0;
    /* Both begin at multiples of 16: the signature promises it. */
    if (!ok(tile_memory_allocate(device, 2 * (bytes + 16), &in, &said), &said))
        return 3;
    uint64_t out = in + (bytes + 15) / 16 * 16;
    void *params[] = {&in, &out, &stride, &stride, &cols}; /* in order, without constexprs */
    int status = 3;
    if (ok(tile_memory_write(device, in, x, bytes, NULL), NULL) &&
        ok(tile_launch(softmax, grid, NULL, params, 5), NULL) &&
        ok(tile_memory_read(device, y, out, bytes, NULL), NULL)) {
        status = ok(tile_stream_synchronize(device, NULL, &said), &said) ? check_rows(x, y) : 3;
    }
    tile_memory_free(device, in);
    return status;
}

static tile_executable *load(tile_context *context, tile_device *device, const char *path) {
    static const char signature[] = "*fp32:16, *fp32:16, i32, i32, i32, 1024";
    const tile_compile_options options = {.size = sizeof options,
                                          .path = {path, strlen(path)},
                                          .signature = {signature, sizeof signature - 1},
                                          .device = device};
    tile_kernel *kernel = NULL;
    tile_executable *executable = NULL;
    tile_diagnostics *said = NULL;
    if (ok(tile_compile(context, &options, &kernel, &said), &said)) {
        ok(tile_load(kernel, device, &executable, &said), &said);
    }
    tile_kernel_destroy(kernel); /* the executable needs it no more */
    return executable;
}

int main(int argc, char **argv) {
    const char *path = argc > 1 ? argv[1] : "softmax.tile";
    tile_context *context = NULL;
    tile_device *device = NULL;
    tile_executable *softmax = NULL;
    tile_diagnostics *said = NULL;
    float *x = make_rows(), *y = calloc((size_t)ROWS * COLS, sizeof *y);
    int status = 3;
    if (x && y && ok(tile_context_create(NULL, &context), NULL) &&
        ok(tile_device_open(context, 0, &device, &said), &said)) {
        softmax = load(context, device, path);
        status = softmax ? run(device, softmax, x, y) : 1;
    }
    tile_executable_destroy(softmax);
    tile_device_close(device);
    tile_context_destroy(context);
    free(x);
    free(y);
    return status;
}
