/* What tests of functions with configurations share: a kernel, and a driver that says how long its
 * launches take. */
#ifndef TILEC_TESTS_TUNE_TESTING_H
#define TILEC_TESTS_TUNE_TESTING_H
#include "api_testing.h"

#define HEAD "import triton\nimport triton.language as tl\n"
#define CONFIGS                                                                                    \
    "[triton.Config({'BLOCK': b}, num_warps=w) for b, w in [(64, 1), (128, 2), (256, 4), (512, "   \
    "8)]]"
#define BODY                                                                                       \
    "@triton.jit\n"                                                                                \
    "def k(x, n, m, BLOCK: tl.constexpr):\n"                                                       \
    "    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)\n"                                     \
    "    tl.store(x + i, 1.0, mask=i < n)\n"

static inline tile_status create(tile_context *context, const char *source_text, const char *grid,
                                 tile_function **function, tile_diagnostics **diagnostics) {
    const tile_compile_options options = {.size = sizeof options,
                                          .path = text("k.tile"),
                                          .source = text(source_text),
                                          .grid = text(grid)};
    return tile_function_create(context, &options, function, diagnostics);
}

static inline tile_function *function_of(tile_context *context, const char *source_text) {
    tile_function *function = NULL;
    tile_diagnostics *diagnostics = NULL;
    if (create(context, source_text, "cdiv(n, BLOCK), m", &function, &diagnostics) != TILE_OK)
        fail_msg("%s", tile_diagnostics_text(diagnostics).data);
    tile_diagnostics_destroy(diagnostics);
    return function;
}

typedef struct Said {
    tile_status status;
    char text[2048];
} Said;

static inline Said call_on(tile_function *function, tile_device *device, tile_stream stream,
                           int64_t n, int64_t m) {
    Said said = {0};
    tile_diagnostics *diagnostics = NULL;
    const tile_argument arguments[] = {tile_pointer(0x1000, TILE_FP32), tile_int(n), tile_int(m)};
    said.status = tile_function_launch(function, device, NULL, stream, arguments, 3, &diagnostics);
    snprintf(said.text, sizeof said.text, "%s", tile_diagnostics_text(diagnostics).data);
    tile_diagnostics_destroy(diagnostics);
    return said;
}

static inline Said call(tile_function *function, tile_device *device, int64_t n, int64_t m) {
    return call_on(function, device, NULL, n, m);
}

/* A microsecond for each block and warp: the best has the fewest of both; and each second launch is
 * disturbed. */
static inline double by_blocks(const FakeCuda *cuda) {
    const double ms = 1e-3 * (cuda->grid[0] + cuda->block[0] / 32.0);
    return cuda->launches % 5 == 0 ? 3 * ms : ms;
}

typedef struct Opened {
    tile_context *context;
    tile_device *device;
    tile_function *function;
} Opened;

/* As another process would; the driver is as it was in the beginning. */
static inline Opened open_kernel(Fixture *f, const char *cache, const char *kernel,
                                 const tile_compile_options *more, bool strict) {
    const tile_context_options context_options = {.size = sizeof context_options,
                                                  .cache_folder = text(cache),
                                                  .cuda_library = text(TILEC_FAKE_CUDA),
                                                  .strict = strict};
    tile_compile_options options = *more;
    Opened o = {0};
    *f->cuda = initial;
    f->cuda->launch_ms = by_blocks;
    memcpy(f->cuda->param_bytes, "\10\4\4", 4);
    options.size = sizeof options;
    options.path = text("k.tile");
    options.source = text(kernel);
    options.grid = text("cdiv(n, BLOCK), m");
    assert_int_equal(tile_context_create(&context_options, &o.context), TILE_OK);
    assert_int_equal(tile_device_open(o.context, 0, &o.device, NULL), TILE_OK);
    assert_int_equal(tile_function_create(o.context, &options, &o.function, NULL), TILE_OK);
    return o;
}

static inline void close_all(Opened *o) {
    tile_function_destroy(o->function);
    tile_device_close(o->device);
    tile_context_destroy(o->context);
}

static inline void expect(const Said *said, tile_status status, const char *wanted) {
    if (said->status != status || !strstr(said->text, wanted))
        fail_msg("status %d: %s", said->status, said->text);
}

#endif
