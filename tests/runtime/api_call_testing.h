/* Calls of `scale` for tests of tile_function_call. */
#ifndef TILEC_TESTS_API_CALL_TESTING_H
#define TILEC_TESTS_API_CALL_TESTING_H
#include "api_testing.h"

static inline tile_function *create(Fixture *f, const tile_compile_options *options) {
    tile_function *function = NULL;
    tile_diagnostics *said = NULL;
    if (tile_function_create(f->context, options, &function, &said) != TILE_OK)
        fail_msg("%s", tile_diagnostics_text(said).data);
    tile_diagnostics_destroy(said);
    return function;
}

static inline tile_function *function_of(Fixture *f, const char *kernel) {
    const tile_compile_options options = {
        .size = sizeof options, .path = text("scale.tile"), .source = text(kernel)};
    return create(f, &options);
}

static const uint32_t grid[3] = {1, 1, 1};

/* A call of `scale`. */
typedef struct Scale {
    tile_argument arguments[4];
    tile_call call;
} Scale;

static inline tile_call *scale(Scale *made, tile_device *device, int64_t block, uint32_t steps) {
    const tile_argument arguments[] = {tile_pointer(1 << 12, TILE_FP32), tile_int(1004),
                                       tile_float(2.0), tile_constexpr_int(block)};
    memcpy(made->arguments, arguments, sizeof arguments);
    made->call = (tile_call){.size = sizeof made->call,
                             .device = device,
                             .grid = grid,
                             .arguments = made->arguments,
                             .argument_count = 4,
                             .steps = steps};
    return &made->call;
}

/* The instance of a call that goes well, or NULL where there is none, of which nothing is said. */
static inline const tile_executable *step(tile_function *function, const tile_call *call) {
    const tile_executable *used = (const void *)call;
    tile_diagnostics *said = (void *)(uintptr_t)call;
    const tile_status status = tile_function_call(function, call, &used, &said);
    if (status != TILE_OK && status != TILE_ERROR_NOT_COMPILED)
        fail_msg("%s: %s", tile_status_text(status), tile_diagnostics_text(said).data);
    assert_int_equal(status == TILE_OK, used != NULL);
    assert_null(said);
    return used;
}
#endif
