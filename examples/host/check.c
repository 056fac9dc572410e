/* Checks kernels on a machine without a GPU: one that is right, one that forgot its mask, and one
 * whose programs are in each other's way.
 *
 *     check [add.tile] */
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <tilec.h>

enum { N = 1000, BLOCK = 256, PROGRAMS = (N + BLOCK - 1) / BLOCK };

/* Side by side: the interpreter knows where one of them ends. */
typedef struct Data {
    float x[N], y[N], out[N];
} Data;

static tile_text text(const char *data) {
    const tile_text whole = {data, strlen(data)};
    return whole;
}

static bool ok(tile_status status, tile_diagnostics *said) {
    if (status != TILE_OK)
        fprintf(stderr, "%s%s\n", tile_diagnostics_text(said).data, tile_status_text(status));
    tile_diagnostics_destroy(said);
    return status == TILE_OK;
}

static tile_argument array(const float *data) {
    return tile_buffer((uint64_t)(uintptr_t)data, TILE_FP32, sizeof(float) * N);
}

/* Calls the kernel; TILE_ERROR_KERNEL prints what was found. */
static tile_status call(tile_context *context, tile_device *device, const char *path,
                        const char *kernel, const tile_argument *arguments, size_t count) {
    const tile_compile_options options = {
        .size = sizeof options, .path = text(path), .kernel = text(kernel)};
    const uint32_t grid[3] = {PROGRAMS, 1, 1};
    tile_function *function = NULL;
    tile_diagnostics *said = NULL;
    if (!ok(tile_function_create(context, &options, &function, &said), said))
        return TILE_ERROR_SOURCE;
    said = NULL;
    const tile_status status =
        tile_function_launch(function, device, grid, NULL, arguments, count, &said);
    if (status != TILE_OK)
        printf("%s: %s\n%s\n", kernel, tile_status_text(status), tile_diagnostics_text(said).data);
    tile_diagnostics_destroy(said);
    tile_function_destroy(function);
    return status;
}

static bool is_sum(const Data *data) {
    for (int i = 0; i < N; i++)
        if (data->out[i] != data->x[i] + data->y[i])
            return false;
    return true;
}

/* Whether the device finds what there is to find, and nothing else. */
static bool check(tile_context *context, tile_device *device, const char *path, bool sees_races) {
    static Data data;
    const tile_argument n = tile_int(N), block = tile_constexpr_int(BLOCK);
    const tile_argument sum[] = {array(data.x), array(data.y), array(data.out), n, block};
    const tile_argument total[] = {array(data.x), array(data.out), n, block};
    for (int i = 0; i < N; i++) {
        data.x[i] = (float)i;
        data.y[i] = 0.5f;
    }
    const bool is_right = call(context, device, path, "add", sum, 5) == TILE_OK && is_sum(&data);
    const bool is_found =
        call(context, device, path, "add_without_mask", sum, 5) == TILE_ERROR_KERNEL;
    const bool is_racy = call(context, device, path, "total", total, 4) == TILE_ERROR_KERNEL;
    printf("  add is %s, the missing mask is %s, the race is %s\n", is_right ? "right" : "wrong",
           is_found ? "found" : "not found", is_racy ? "found" : "not found");
    return is_right && is_found && is_racy == sees_races;
}

int main(int argc, char **argv) {
    static const struct {
        tile_host_kind kind;
        const char *name;
        bool sees_races;
    } kinds[] = {{TILE_HOST_INTERPRETER, "interpreter", false},
                 {TILE_HOST_SIMULATOR, "simulator", true}};
    const char *path = argc > 1 ? argv[1] : "add.tile";
    tile_context *context = NULL;
    bool is_fine = ok(tile_context_create(NULL, &context), NULL);
    for (size_t i = 0; is_fine && i < sizeof kinds / sizeof *kinds; i++) {
        const tile_host_options options = {.size = sizeof options, .kind = kinds[i].kind};
        tile_device *device = NULL;
        tile_diagnostics *said = NULL;
        printf("%s\n", kinds[i].name);
        is_fine = ok(tile_device_open_host(context, &options, &device, &said), said) &&
                  check(context, device, path, kinds[i].sees_races);
        tile_device_close(device);
    }
    tile_context_destroy(context);
    return is_fine ? 0 : 1;
}
