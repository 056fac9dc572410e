/* Arguments that are tensor descriptors: what kernels load and store through them, what a launch
 * passes, and what is wrong with them. */
#include "api_testing.h"

static const char kernels[] =
    "import triton\n"
    "import triton.language as tl\n"
    "\n"
    "\n"
    "@triton.jit\n"
    "def scale(x, y, factor):\n"
    "    row = tl.program_id(0) * x.block_shape[0]\n"
    "    column = tl.program_id(1) * x.block_shape[1]\n"
    "    y.store([row, column], x.load([row, column]) * factor)\n"
    "\n"
    "\n"
    "@triton.jit\n"
    "def holes(pair, out, ROWS: tl.constexpr, COLUMNS: tl.constexpr):\n"
    "    x = pair[0]\n"
    "    tl.static_assert(x.block_shape[0] == ROWS)\n"
    "    v = x.load([0, pair[1]])\n"
    "    i = tl.arange(0, ROWS)[:, None] * COLUMNS + tl.arange(0, COLUMNS)[None, :]\n"
    "    tl.store(out + i, tl.where(v == v, v, -1.0))\n"
    "\n"
    "\n"
    "@triton.jit\n"
    "def facts(x, out):\n"
    "    tl.store(out, x.shape[0])\n"
    "    tl.store(out + 1, x.shape[1])\n"
    "    tl.store(out + 2, x.strides[0])\n"
    "    tl.store(out + 3, x.strides[1])\n";

#define COUNT(array) (sizeof(array) / sizeof *(array))
#define AT(pointer) ((uint64_t)(uintptr_t)(pointer))
#define FOR_HOSTS(kind) for (int kind = TILE_HOST_INTERPRETER; kind <= TILE_HOST_SIMULATOR; kind++)

static tile_function *make_function(Fixture *f, const char *kernel) {
    const tile_compile_options options = {.size = sizeof options,
                                          .path = text("kernels.tile"),
                                          .source = text(kernels),
                                          .kernel = text(kernel)};
    tile_function *function = NULL;
    tile_diagnostics *said = NULL;
    if (tile_function_create(f->context, &options, &function, &said) != TILE_OK)
        fail_msg("%s", tile_diagnostics_text(said).data);
    tile_diagnostics_destroy(said);
    return function;
}

static tile_device *open_host(Fixture *f, int kind) {
    const tile_host_options options = {.size = sizeof options, .kind = (tile_host_kind)kind};
    tile_device *device = NULL;
    assert_int_equal(tile_device_open_host(f->context, &options, &device, NULL), TILE_OK);
    return device;
}

/* Rows of `stride` elements. */
static tile_descriptor matrix(void *data, tile_dtype type, uint64_t bytes, int64_t rows,
                              int64_t columns, int64_t stride, int32_t block_rows,
                              int32_t block_columns) {
    return (tile_descriptor){.size = sizeof(tile_descriptor),
                             .address = AT(data),
                             .bytes = bytes,
                             .type = type,
                             .rank = 2,
                             .shape = {rows, columns},
                             .strides = {stride, 1},
                             .block = {block_rows, block_columns}};
}

static void launch(tile_function *function, tile_device *device, uint32_t rows, uint32_t columns,
                   const tile_argument *arguments, size_t count) {
    const uint32_t grid[3] = {rows, columns, 1};
    tile_diagnostics *said = NULL;
    if (tile_function_launch(function, device, grid, NULL, arguments, count, &said) != TILE_OK)
        fail_msg("%s", tile_diagnostics_text(said).data);
    tile_diagnostics_destroy(said);
}

/* The call is refused, in such words. */
static void refused(tile_function *function, tile_device *device, const tile_argument *arguments,
                    size_t count, tile_status status, const char *words) {
    const uint32_t grid[3] = {1, 1, 1};
    tile_diagnostics *said = NULL;
    const tile_status found =
        tile_function_launch(function, device, grid, NULL, arguments, count, &said);
    if (found != status || !strstr(tile_diagnostics_text(said).data, words))
        fail_msg("%s: wanted \"%s\", got %s", tile_status_text(found), words,
                 tile_diagnostics_text(said).data);
    tile_diagnostics_destroy(said);
}

enum { ROWS = 40, COLUMNS = 72, STRIDE = 96 };

static float x[ROWS * STRIDE] __attribute__((aligned(128)));
static float y[ROWS * STRIDE] __attribute__((aligned(128)));

static void fill(void) {
    for (int i = 0; i < ROWS * STRIDE; i++) {
        x[i] = (float)i;
        y[i] = -1;
    }
}

/* All of the matrix is read and written, and nothing beside it. */
static void expect_scaled(float factor) {
    for (int i = 0; i < ROWS * STRIDE; i++) {
        const float wanted = i % STRIDE < COLUMNS ? (float)i * factor : -1;
        if (y[i] != wanted)
            fail_msg("row %d, column %d is %g, wanted %g", i / STRIDE, i % STRIDE, (double)y[i],
                     (double)wanted);
    }
}

/* Blocks of different shapes are different instances. */
static void descriptors_run(void **state) {
    static const int32_t blocks[][2] = {{16, 32}, {8, 64}, {64, 4}};
    FOR_HOSTS(kind) {
        tile_device *device = open_host(*state, kind);
        tile_function *function = make_function(*state, "scale");
        for (size_t i = 0; i < COUNT(blocks); i++) {
            const int32_t rows = blocks[i][0], columns = blocks[i][1];
            const tile_descriptor from =
                matrix(x, TILE_FP32, sizeof x, ROWS, COLUMNS, STRIDE, rows, columns);
            const tile_descriptor to =
                matrix(y, TILE_FP32, sizeof y, ROWS, COLUMNS, STRIDE, rows, columns);
            const tile_argument arguments[] = {tile_tensor(&from), tile_tensor(&to), tile_float(2)};
            fill();
            launch(function, device, (uint32_t)((ROWS + rows - 1) / rows),
                   (uint32_t)((COLUMNS + columns - 1) / columns), arguments, COUNT(arguments));
            expect_scaled(2);
        }
        tile_function_destroy(function);
        tile_device_close(device);
    }
}

/* Beyond the tensor is 0 or NaN; a descriptor may be in a tuple. */
static void padding_is_zero_or_nan(void **state) {
    FOR_HOSTS(kind) {
        tile_device *device = open_host(*state, kind);
        tile_function *function = make_function(*state, "holes");
        for (int nan = 0; nan < 2; nan++) {
            float out[8 * 16];
            tile_descriptor from = matrix(x, TILE_FP32, sizeof x, 5, COLUMNS, STRIDE, 8, 16);
            from.pads_with_nan = nan;
            const tile_argument pair[] = {tile_tensor(&from), tile_int(64)};
            const tile_argument arguments[] = {tile_tuple(pair, 2),
                                               tile_buffer(AT(out), TILE_FP32, sizeof out),
                                               tile_constexpr_int(8), tile_constexpr_int(16)};
            fill();
            launch(function, device, 1, 1, arguments, COUNT(arguments));
            for (int i = 0; i < 8 * 16; i++) {
                const int row = i / 16, column = 64 + i % 16;
                const float wanted = row < 5 && column < COLUMNS ? (float)(row * STRIDE + column)
                                     : nan                       ? -1
                                                                 : 0;
                if (out[i] != wanted)
                    fail_msg("%d: %g, wanted %g", i, (double)out[i], (double)wanted);
            }
        }
        tile_function_destroy(function);
        tile_device_close(device);
    }
}

/* Shapes and strides are values that the launch brings, not what is compiled. */
static void shapes_are_values(void **state) {
    FOR_HOSTS(kind) {
        tile_device *device = open_host(*state, kind);
        tile_function *function = make_function(*state, "facts");
        for (int64_t n = 1; n < 40; n += 15) {
            int64_t out[4] = {0};
            const tile_descriptor from = matrix(x, TILE_FP32, sizeof x, n, 2 * n, 4 * n, 8, 16);
            const tile_argument arguments[] = {tile_tensor(&from),
                                               tile_buffer(AT(out), TILE_I64, sizeof out)};
            launch(function, device, 1, 1, arguments, COUNT(arguments));
            assert_memory_equal(out, ((int64_t[]){n, 2 * n, 4 * n, 1}), sizeof out);
        }
        tile_function_destroy(function);
        tile_device_close(device);
    }
}

/* Instances differ by type, block, padding and what the last extent is a multiple of; the driver
 * gets address, extents and strides. */
static void instances_and_values(void **state) {
    Fixture *f = *state;
    tile_device *device = open_device(f);
    tile_function *function = make_function(f, "facts");
    tile_descriptor from = matrix((void *)0x10000, TILE_FP16, 0, 7, 9, 64, 16, 64);
    const tile_argument arguments[] = {tile_tensor(&from), tile_pointer(0x8000, TILE_I64)};
    memcpy(f->cuda->param_bytes, (unsigned char[]){8, 4, 4, 8, 8, 8}, 6);
    launch(function, device, 1, 1, arguments, COUNT(arguments));
    assert_true(f->cuda->values[0] == 0x10000);
    assert_int_equal((int32_t)f->cuda->values[1], 7);
    assert_int_equal((int32_t)f->cuda->values[2], 9);
    assert_true(f->cuda->values[3] == 64 && f->cuda->values[4] == 1);
    assert_true(f->cuda->values[5] == 0x8000);
    from.shape[0] = 1;
    from.shape[1] = INT32_MAX;
    from.strides[0] = INT64_C(1) << 40;
    from.address = 0x20010;
    launch(function, device, 1, 1, arguments, COUNT(arguments));
    assert_int_equal((int32_t)f->cuda->values[2], INT32_MAX);
    assert_true(f->cuda->values[3] == UINT64_C(1) << 40);
    assert_int_equal(f->cuda->loads, 1);
    from.block[0] = 8;
    launch(function, device, 1, 1, arguments, COUNT(arguments));
    from.pads_with_nan = true;
    launch(function, device, 1, 1, arguments, COUNT(arguments));
    from.type = TILE_BF16;
    launch(function, device, 1, 1, arguments, COUNT(arguments));
    assert_int_equal(f->cuda->loads, 4);
    for (int i = 0; i < 4; i++) {
        from.shape[1] = (int64_t[]){8, 24, 16, 1024}[i];
        launch(function, device, 1, 1, arguments, COUNT(arguments));
        assert_int_equal(f->cuda->loads, 5 + i / 2);
    }
    tile_function_destroy(function);
    tile_device_close(device);
}

typedef struct Wrong {
    const char *words;
    void (*spoil)(tile_descriptor *descriptor);
    tile_status status;
} Wrong;

#define SPOIL(name, statement)                                                                     \
    static void name(tile_descriptor *d) {                                                         \
        statement;                                                                                 \
    }
SPOIL(no_size, d->size = 0)
SPOIL(no_type, d->type = TILE_DTYPE_AUTO)
SPOIL(such_type, d->type = (tile_dtype)77)
SPOIL(no_rank, d->rank = 0)
SPOIL(much_rank, d->rank = 6)
SPOIL(address, d->address += 8)
SPOIL(no_extent, d->shape[1] = 0)
SPOIL(much_extent, d->shape[0] = INT64_C(1) << 31)
SPOIL(stride, d->strides[0] = 98)
SPOIL(last_stride, d->strides[1] = 2)
SPOIL(odd_block, d->block[0] = 12)
SPOIL(no_block, d->block[0] = -8)
SPOIL(narrow, d->block[1] = 2)
SPOIL(huge, d->block[0] = 1 << 20)
SPOIL(integers, (d->type = TILE_I32, d->pads_with_nan = true))

/* What Triton's TensorDescriptor asserts, in words, before anything is compiled; what is wrong with
 * a block at the parameter. */
static void wrong_descriptors_are_refused(void **state) {
    static const Wrong wrong[] = {
        {"'x') of 'facts': a descriptor is not there, or its `size` is not set", no_size,
         TILE_ERROR_INVALID_ARGUMENT},
        {"a descriptor needs the type of its elements", no_type, TILE_ERROR_INVALID_ARGUMENT},
        {"a descriptor needs the type of its elements", such_type, TILE_ERROR_INVALID_ARGUMENT},
        {"a descriptor has 1 to 5 dimensions, not 0", no_rank, TILE_ERROR_INVALID_ARGUMENT},
        {"a descriptor has 1 to 5 dimensions, not 6", much_rank, TILE_ERROR_INVALID_ARGUMENT},
        {"wanted an address that is a multiple of 16", address, TILE_ERROR_INVALID_ARGUMENT},
        {"extent 1 of a tensor is 0, wanted 1 to 2^31 - 1", no_extent, TILE_ERROR_INVALID_ARGUMENT},
        {"extent 0 of a tensor is 2147483648, wanted", much_extent, TILE_ERROR_INVALID_ARGUMENT},
        {"stride 0 of a tensor is 98 elements of 4 bytes, wanted a multiple of 16 bytes", stride,
         TILE_ERROR_INVALID_ARGUMENT},
        {"the last stride of a tensor is 2, wanted 1", last_stride, TILE_ERROR_INVALID_ARGUMENT},
        {"`tensordesc<fp32[12, 16]>:8` for parameter `x`: the extents of a block are one to five",
         odd_block, TILE_ERROR_SOURCE},
        {"`tensordesc<fp32[-8, 16]>:8` for parameter `x`: the extents", no_block,
         TILE_ERROR_SOURCE},
        {"`x`: the last extent of a block has at least 16 bytes", narrow, TILE_ERROR_SOURCE},
        {"`x`: a block has too many elements", huge, TILE_ERROR_SOURCE},
        {"`x`: integers cannot be padded with NaN", integers, TILE_ERROR_SOURCE},
    };
    Fixture *f = *state;
    tile_device *device = open_host(f, TILE_HOST_INTERPRETER);
    tile_function *function = make_function(f, "facts");
    int64_t out[4] = {0};
    for (size_t i = 0; i < COUNT(wrong); i++) {
        tile_descriptor from = matrix(x, TILE_FP32, sizeof x, ROWS, COLUMNS, STRIDE, 8, 16);
        const tile_argument arguments[] = {tile_tensor(&from),
                                           tile_buffer(AT(out), TILE_I64, sizeof out)};
        wrong[i].spoil(&from);
        refused(function, device, arguments, COUNT(arguments), wrong[i].status, wrong[i].words);
    }
    const tile_argument nothing[] = {tile_tensor(NULL), tile_buffer(AT(out), TILE_I64, sizeof out)};
    refused(function, device, nothing, COUNT(nothing), TILE_ERROR_INVALID_ARGUMENT,
            "a descriptor is not there");
    assert_int_equal(out[0], 0);
    tile_function_destroy(function);
    tile_device_close(device);
}

/* A tensor with more rows than its memory has is found, at the kernel's line. */
static void memory_is_checked(void **state) {
    Fixture *f = *state;
    tile_device *device = open_host(f, TILE_HOST_INTERPRETER);
    tile_function *function = make_function(f, "scale");
    const tile_descriptor from = matrix(x, TILE_FP32, sizeof x / 2, ROWS, COLUMNS, STRIDE, 8, 16);
    const tile_descriptor to = matrix(y, TILE_FP32, sizeof y, ROWS, COLUMNS, STRIDE, 8, 16);
    const tile_argument arguments[] = {tile_tensor(&from), tile_tensor(&to), tile_float(2)};
    const uint32_t grid[3] = {5, 5, 1};
    tile_diagnostics *said = NULL;
    assert_int_equal(tile_function_launch(function, device, grid, NULL, arguments, 3, &said),
                     TILE_ERROR_KERNEL);
    assert_non_null(strstr(tile_diagnostics_text(said).data, "kernels.tile:9:"));
    assert_non_null(strstr(tile_diagnostics_text(said).data, "outside 'x.ptr'"));
    tile_diagnostics_destroy(said);
    tile_function_destroy(function);
    tile_device_close(device);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(descriptors_run),   TEST(padding_is_zero_or_nan),
        TEST(shapes_are_values), TEST(instances_and_values),
        TEST(memory_is_checked), TEST(wrong_descriptors_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
