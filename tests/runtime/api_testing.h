/* What tests of the public API share: a context on the driver of fake_cuda.c, with a cache of its
 * own, and a kernel. */
#ifndef TILEC_TESTS_API_TESTING_H
#define TILEC_TESTS_API_TESTING_H

#include "fake_cuda.h"
#include "tilec.h"

#include <dlfcn.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

typedef struct Fixture {
    tile_context *context;
    char folder[64];
    FakeCuda *cuda;
} Fixture;

static FakeCuda initial;

static inline tile_text text(const char *data) {
    return (tile_text){data, strlen(data)};
}

/* A program for each element of x: x[i] = x[i] * factor + n. */
static const char source[] = "import triton\n"
                             "import triton.language as tl\n"
                             "\n"
                             "@triton.jit\n"
                             "def scale(x, n, factor, BLOCK: tl.constexpr):\n"
                             "    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)\n"
                             "    mask = i < n\n"
                             "    tl.store(x + i, tl.load(x + i, mask=mask) * factor, mask=mask)\n";

static inline tile_context *make_context(const char *cache) {
    const tile_context_options options = {
        .size = sizeof options, .cache_folder = text(cache), .cuda_library = text(TILEC_FAKE_CUDA)};
    tile_context *context = NULL;
    assert_int_equal(tile_context_create(&options, &context), TILE_OK);
    return context;
}

static int setup(void **state) {
    Fixture *f = calloc(1, sizeof *f);
    FakeCudaState *find = NULL;
    *(void **)&find = dlsym(dlopen(TILEC_FAKE_CUDA, RTLD_NOW), "fake_cuda_state");
    assert_non_null(find);
    f->cuda = find();
    if (!initial.device_count)
        initial = *f->cuda;
    *f->cuda = initial;
    strcpy(f->folder, "/tmp/tilec-test-XXXXXX");
    assert_non_null(mkdtemp(f->folder));
    setenv("TILEC_PTXAS", "none", 1);
    f->context = make_context(f->folder);
    *state = f;
    return 0;
}

static int teardown(void **state) {
    Fixture *f = *state;
    char command[128];
    tile_context_destroy(f->context);
    snprintf(command, sizeof command, "/bin/rm -rf %s", f->folder);
    assert_int_equal(system(command), 0);
    free(f);
    return 0;
}

static inline tile_compile_options scale_options(void) {
    return (tile_compile_options){.size = sizeof(tile_compile_options),
                                  .path = text("scale.tile"),
                                  .source = text(source),
                                  .signature = text("*fp32:16, i32, fp32, 256"),
                                  .want = TILE_WANT(TILE_OUTPUT_PTX)};
}

static inline tile_device *open_device(Fixture *f) {
    tile_device *device = NULL;
    assert_int_equal(tile_device_open(f->context, 0, &device, NULL), TILE_OK);
    return device;
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

#endif
