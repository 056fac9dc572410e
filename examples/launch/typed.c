/* Softmax by tile_function_launch: the kernel is compiled when it is called, for the types and
 * values of the call, as @triton.jit does.
 *
 *     typed [softmax.tile] */
#include "softmax.h"

#include <string.h>

static int run(tile_device *device, tile_function *softmax, const float *x, float *y) {
    const size_t bytes = sizeof *x * ROWS * COLS;
    const uint32_t grid[3] = {ROWS, 1, 1};
    tile_diagnostics *said = NULL;
    uint64_t on_device = 0;
    if (!ok(tile_memory_allocate(device, 2 * bytes, &on_device, &said), &said))
        return 3;
    const uint64_t result = on_device + bytes;
    /* x_ptr, y_ptr, x_stride, y_stride, cols, BLOCK */
    const tile_argument arguments[] = {tile_pointer(on_device, TILE_FP32),
                                       tile_pointer(result, TILE_FP32),
                                       tile_int(COLS),
                                       tile_int(COLS),
                                       tile_int(COLS),
                                       tile_constexpr_int(BLOCK)};
    int status = 3;
    if (ok(tile_memory_write(device, on_device, x, bytes, NULL), NULL) &&
        ok(tile_function_launch(softmax, device, grid, NULL, arguments, 6, &said), &said) &&
        ok(tile_memory_read(device, y, result, bytes, NULL), NULL)) {
        status = ok(tile_stream_synchronize(device, NULL, &said), &said) ? check_rows(x, y) : 3;
    }
    tile_memory_free(device, on_device);
    return status;
}

int main(int argc, char **argv) {
    const char *path = argc > 1 ? argv[1] : "softmax.tile";
    const tile_compile_options options = {.size = sizeof options, .path = {path, strlen(path)}};
    tile_context *context = NULL;
    tile_device *device = NULL;
    tile_function *softmax = NULL;
    tile_diagnostics *said = NULL;
    float *x = make_rows(), *y = calloc((size_t)ROWS * COLS, sizeof *y);
    int status = 3;
    if (x && y && ok(tile_context_create(NULL, &context), NULL) &&
        ok(tile_function_create(context, &options, &softmax, &said), &said)) {
        if (ok(tile_device_open(context, 0, &device, &said), &said))
            status = run(device, softmax, x, y);
    }
    tile_function_destroy(softmax);
    tile_device_close(device);
    tile_context_destroy(context);
    free(x);
    free(y);
    return status;
}
