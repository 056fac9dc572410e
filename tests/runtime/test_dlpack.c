/* Tensors as arguments: of which element types, where they may lie, how large their memory is. */
#include "api_testing.h"

/* As dlpack.h has it. */
typedef struct DLTensor {
    void *data;
    struct {
        int type, id;
    } device;
    int ndim;
    struct {
        uint8_t code, bits;
        uint16_t lanes;
    } dtype;
    int64_t *shape, *strides;
    uint64_t byte_offset;
} DLTensor;

enum { CPU = 1, CUDA = 2, CUDA_HOST = 3, ROCM = 10, MANAGED = 13 };
enum { MOST_RANK = 4 };

typedef struct Case {
    int rank;
    int64_t shape[MOST_RANK], strides[MOST_RANK];
    uint64_t bytes;
} Case;

static DLTensor floats(void) {
    return (DLTensor){.data = (void *)0x1000, .device = {CUDA, 0}, .dtype = {2, 32, 1}};
}

static void element_types(void **state) {
    static const struct {
        uint8_t code, bits;
        tile_dtype type;
    } types[] = {{6, 8, TILE_I1},       {0, 8, TILE_I8},       {0, 16, TILE_I16},
                 {0, 32, TILE_I32},     {0, 64, TILE_I64},     {1, 8, TILE_U8},
                 {1, 16, TILE_U16},     {1, 32, TILE_U32},     {1, 64, TILE_U64},
                 {2, 16, TILE_FP16},    {4, 16, TILE_BF16},    {2, 32, TILE_FP32},
                 {10, 8, TILE_FP8E4NV}, {12, 8, TILE_FP8E5},   {2, 64, TILE_FP64},
                 {11, 8, TILE_FP8E4B8}, {13, 8, TILE_FP8E5B16}};
    Fixture *f = *state;
    tile_device *device = open_device(f);
    assert_int_equal(sizeof types / sizeof *types, TILE_FP8E5B16 - 1); /* all but fp8e4b15 */
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        int64_t shape[] = {3};
        DLTensor tensor = floats();
        tile_argument argument;
        tensor.dtype.code = types[i].code;
        tensor.dtype.bits = types[i].bits;
        tensor.ndim = 1;
        tensor.shape = shape;
        tensor.byte_offset = 8;
        assert_int_equal(tile_argument_from_dlpack(device, &tensor, &argument, NULL), TILE_OK);
        assert_int_equal(argument.kind, TILE_ARGUMENT_POINTER);
        assert_int_equal(argument.type, types[i].type);
        assert_int_equal(argument.value.memory.address, 0x1008);
        assert_int_equal(argument.value.memory.bytes, 3 * types[i].bits / 8);
    }
    tile_device_close(device);
}

/* The size is known of what fills its memory, whatever the order. */
static void sizes(void **state) {
    static const Case cases[] = {
        {0, {0}, {0}, 4},
        {2, {3, 5}, {5, 1}, 60},
        {2, {3, 5}, {1, 3}, 60},
        {3, {2, 1, 4}, {4, 77, 1}, 32},
        {4, {2, 3, 4, 5}, {60, 5, 15, 1}, 480},
        {2, {3, 5}, {8, 1}, 0}, /* a slice: what lies between is another's */
        {2, {3, 5}, {1, 0}, 0}, /* one column for all */
        {2, {2, 2}, {1, 1}, 0}, /* windows that overlap */
        {2, {2, 2}, {3, 0}, 0},
        {1, {4}, {-1}, 0}, /* backwards */
        {2, {0, 5}, {5, 1}, 0},
        {2, {0, INT64_MAX}, {INT64_MAX, 1}, 0},
    };
    Fixture *f = *state;
    tile_device *device = open_device(f);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        Case c = cases[i];
        DLTensor tensor = floats();
        tile_argument argument;
        tensor.ndim = c.rank;
        tensor.shape = c.shape;
        tensor.strides = c.strides;
        assert_int_equal(tile_argument_from_dlpack(device, &tensor, &argument, NULL), TILE_OK);
        assert_int_equal(argument.value.memory.bytes, c.bytes);
    }
    int64_t shape[] = {3, 5}, none[] = {4, 0};
    DLTensor tensor = floats();
    tile_argument argument;
    tensor.ndim = 2;
    tensor.shape = shape; /* without strides rows follow each other */
    assert_int_equal(tile_argument_from_dlpack(device, &tensor, &argument, NULL), TILE_OK);
    assert_int_equal(argument.value.memory.bytes, 60);
    tensor.shape = none; /* nothing has no memory */
    tensor.data = NULL;
    assert_int_equal(tile_argument_from_dlpack(device, &tensor, &argument, NULL), TILE_OK);
    assert_int_equal(argument.value.memory.address, 0);
    tile_device_close(device);
}

static void expect_refused(tile_device *device, const DLTensor *tensor, const char *message) {
    tile_argument argument = tile_int(7);
    tile_diagnostics *diagnostics = NULL;
    assert_int_equal(tile_argument_from_dlpack(device, tensor, &argument, &diagnostics),
                     TILE_ERROR_INVALID_ARGUMENT);
    assert_int_equal(tile_diagnostics_count(diagnostics), 1);
    if (!strstr(tile_diagnostics_text(diagnostics).data, message))
        fail_msg("%s", tile_diagnostics_text(diagnostics).data);
    tile_diagnostics_destroy(diagnostics);
    assert_int_equal(argument.value.integer, 7);
    assert_int_equal(tile_argument_from_dlpack(device, tensor, &argument, NULL),
                     TILE_ERROR_INVALID_ARGUMENT);
}

static void where_it_lies(void **state) {
    Fixture *f = *state;
    f->cuda->device_count = 2;
    tile_device *device = NULL;
    tile_argument argument;
    DLTensor tensor = floats();
    assert_int_equal(tile_device_open(f->context, 1, &device, NULL), TILE_OK);
    expect_refused(device, &tensor, "a tensor on cuda:0: wanted one on cuda:1, or in managed");
    tensor.device.id = 1;
    assert_int_equal(tile_argument_from_dlpack(device, &tensor, &argument, NULL), TILE_OK);
    tensor.device.id = 0;
    tensor.device.type = MANAGED;
    assert_int_equal(tile_argument_from_dlpack(device, &tensor, &argument, NULL), TILE_OK);
    tensor.device.type = CUDA_HOST;
    assert_int_equal(tile_argument_from_dlpack(device, &tensor, &argument, NULL), TILE_OK);
    tensor.device.type = CPU;
    expect_refused(device, &tensor, "a tensor on cpu: wanted");
    tensor.device.type = ROCM;
    expect_refused(device, &tensor, "a tensor on device 0 of DLPack's type 10: wanted");
    tile_device_close(device);
}

static void what_is_refused(void **state) {
    Fixture *f = *state;
    tile_device *device = open_device(f);
    int64_t shape[] = {4, -1}, large[] = {INT64_MAX, 3};
    DLTensor tensor = floats();
    tile_argument argument;
    tile_diagnostics *diagnostics = (tile_diagnostics *)&tensor;
    tensor.dtype.lanes = 4;
    expect_refused(device, &tensor, "type 2 with 32 bits in 4 lanes");
    tensor = floats();
    tensor.dtype.code = 5;
    tensor.dtype.bits = 64;
    expect_refused(device, &tensor, "type 5 with 64 bits in 1 lanes");
    tensor = floats();
    tensor.dtype.bits = 4;
    expect_refused(device, &tensor, "type 2 with 4 bits");
    tensor = floats();
    tensor.data = NULL;
    expect_refused(device, &tensor, "elements and no memory");
    tensor = floats();
    tensor.ndim = 2;
    expect_refused(device, &tensor, "shape is none");
    tensor.shape = shape;
    expect_refused(device, &tensor, "shape is none");
    tensor.shape = large;
    expect_refused(device, &tensor, "shape is none");
    tensor.ndim = -1;
    expect_refused(device, &tensor, "shape is none");
    assert_int_equal(tile_argument_from_dlpack(device, NULL, &argument, &diagnostics),
                     TILE_ERROR_INVALID_ARGUMENT);
    assert_null(diagnostics);
    assert_int_equal(tile_argument_from_dlpack(NULL, &tensor, &argument, NULL),
                     TILE_ERROR_INVALID_ARGUMENT);
    assert_int_equal(tile_argument_from_dlpack(device, &tensor, NULL, NULL),
                     TILE_ERROR_INVALID_ARGUMENT);
    tile_device_close(device);
}

/* A function takes them as it takes pointers that are typed by hand. */
static void launched(void **state) {
    Fixture *f = *state;
    tile_device *device = open_device(f);
    tile_compile_options options = scale_options();
    tile_function *function = NULL;
    int64_t shape[] = {1000};
    DLTensor tensor = floats();
    tile_argument arguments[4] = {[1] = tile_int(1000), tile_float(2), tile_constexpr_int(1024)};
    options.signature = text("");
    options.want = 0;
    tensor.ndim = 1;
    tensor.shape = shape;
    assert_int_equal(tile_function_create(f->context, &options, &function, NULL), TILE_OK);
    assert_int_equal(tile_argument_from_dlpack(device, &tensor, &arguments[0], NULL), TILE_OK);
    memcpy(f->cuda->param_bytes, "\10\4\4", 4);
    assert_int_equal(
        tile_function_launch(function, device, (uint32_t[]){1, 1, 1}, NULL, arguments, 4, NULL),
        TILE_OK);
    assert_int_equal(f->cuda->launches, 1);
    assert_int_equal(f->cuda->values[0], 0x1000);
    tile_function_destroy(function);
    tile_device_close(device);
}

/* Where a device of this machine runs functions. */
static void of_this_machine(void **state) {
    Fixture *f = *state;
    const tile_host_options options = {.size = sizeof options, .kind = TILE_HOST_INTERPRETER};
    const tile_compile_options scale = {
        .size = sizeof scale, .path = text("scale.tile"), .source = text(source)};
    float data[10] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10};
    int64_t shape[] = {8};
    DLTensor tensor = floats();
    tile_device *device = NULL;
    tile_function *function = NULL;
    tile_argument arguments[4] = {[1] = tile_int(8), tile_float(2), tile_constexpr_int(16)};
    tensor.ndim = 1;
    tensor.shape = shape;
    tensor.data = data;
    tensor.byte_offset = 4;
    assert_int_equal(tile_device_open_host(f->context, &options, &device, NULL), TILE_OK);
    assert_int_equal(tile_function_create(f->context, &scale, &function, NULL), TILE_OK);
    expect_refused(device, &tensor, "a tensor on cuda:0: wanted one in memory of the host");
    tensor.device.type = CPU;
    assert_int_equal(tile_argument_from_dlpack(device, &tensor, &arguments[0], NULL), TILE_OK);
    assert_int_equal(
        tile_function_launch(function, device, (uint32_t[]){1, 1, 1}, NULL, arguments, 4, NULL),
        TILE_OK);
    assert_true(data[0] == 1 && data[1] == 4 && data[8] == 18 && data[9] == 10);
    arguments[1] = tile_int(9);
    assert_int_equal(
        tile_function_launch(function, device, (uint32_t[]){1, 1, 1}, NULL, arguments, 4, NULL),
        TILE_ERROR_KERNEL);
    assert_true(data[9] == 10);
    tile_function_destroy(function);
    tile_device_close(device);
}

int main(void) {
    const struct CMUnitTest tests[] = {TEST(element_types), TEST(sizes),
                                       TEST(where_it_lies), TEST(what_is_refused),
                                       TEST(launched),      TEST(of_this_machine)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
