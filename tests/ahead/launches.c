/* Launches the kernels of manifest.json on the fake driver in every way there is: functions of the
 * bundle, functions of the C file that --emit c wrote and, with a compiler in the library
 * (WITH_COMPILER), functions that are compiled at the call. All must ask the driver for the same.
 *   launches BUNDLE KERNELS_FOLDER MAJOR MINOR */
#include "../runtime/fake_cuda.h"
#include "k.h"
#include "tilec.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CHECK(condition)                                                                           \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition);                        \
            exit(1);                                                                               \
        }                                                                                          \
    } while (0)

static FakeCuda *cuda;
static tile_context *context;
static tile_device *device;
static tile_bundle *bundle;
static const char *kernels;

static tile_text text(const char *data) {
    return (tile_text){data, strlen(data)};
}

/* What the driver was asked for. */
typedef struct Record {
    unsigned grid[3], block[3], shared;
    uint64_t values[FAKE_MAX_VALUES];
    CudaTensorMap maps[4];
    char function[64];
    CUstream stream;
} Record;

static void begin(const unsigned char *bytes, size_t count) {
    memset(cuda->param_bytes, 0, sizeof cuda->param_bytes);
    memcpy(cuda->param_bytes, bytes, count);
    memset(cuda->values, 0, sizeof cuda->values);
    memset(cuda->maps, 0, sizeof cuda->maps);
    cuda->launches = 0;
}

static Record end(void) {
    Record record = {.shared = cuda->shared_bytes, .stream = cuda->stream};
    CHECK(cuda->launches == 1);
    memcpy(record.grid, cuda->grid, sizeof record.grid);
    memcpy(record.block, cuda->block, sizeof record.block);
    memcpy(record.values, cuda->values, sizeof record.values);
    memcpy(record.maps, cuda->maps, sizeof record.maps);
    memcpy(record.function, cuda->function, sizeof record.function);
    return record;
}

static tile_function *bundled(const char *kernel) {
    const tile_compile_options options = {.size = sizeof options, .kernel = text(kernel)};
    tile_function *function = NULL;
    CHECK(tile_bundle_function(bundle, &options, &function, NULL) == TILE_OK);
    return function;
}

#ifdef WITH_COMPILER
static tile_function *compiled(const char *kernel, int num_warps) {
    char path[4096];
    snprintf(path, sizeof path, "%s/%s.tile", kernels, kernel);
    const tile_compile_options options = {
        .size = sizeof options, .path = text(path), .kernel = text(kernel), .num_warps = num_warps};
    tile_function *function = NULL;
    CHECK(tile_function_create(context, &options, &function, NULL) == TILE_OK);
    return function;
}
#endif

static Record launch(tile_function *function, const uint32_t grid[3], CUstream stream,
                     const tile_argument *arguments, size_t count, const unsigned char *bytes,
                     size_t byte_count) {
    tile_diagnostics *said = NULL;
    begin(bytes, byte_count);
    tile_status status =
        tile_function_launch(function, device, grid, stream, arguments, count, &said);
    if (status != TILE_OK)
        fprintf(stderr, "%s", tile_diagnostics_text(said).data);
    CHECK(status == TILE_OK);
    tile_diagnostics_destroy(said);
    const Record record = end();
    tile_function_destroy(function);
    return record;
}

static void softmax(int dtype, uint64_t x, int stride, int cols, int block, bool hidden_grid) {
    const unsigned char bytes[] = {8, 8, 4, 4, 4, 4};
    const size_t byte_count = hidden_grid ? 6 : 5;
    const uint32_t grid[3] = {37, 1, 1};
    CUstream stream = (CUstream)(uintptr_t)0x5eed;
    const tile_argument arguments[] = {tile_pointer(x, (tile_dtype)dtype),
                                       tile_pointer(x + 4096, (tile_dtype)dtype),
                                       tile_int(stride),
                                       tile_int(stride),
                                       tile_int(cols),
                                       tile_constexpr_int(block)};
    const Record a = launch(bundled("softmax"), grid, stream, arguments, 6, bytes, byte_count);
    begin(bytes, byte_count);
    k_status status =
        dtype == TILE_FP16
            ? k_softmax_fp16_fp16(stream, 37, 1, 1, x, x + 4096, stride, stride, cols, block)
            : k_softmax_fp32_fp32(stream, 37, 1, 1, x, x + 4096, stride, stride, cols, block);
    CHECK(status == K_OK);
    const Record b = end();
    CHECK(!memcmp(&a, &b, sizeof a));
#ifdef WITH_COMPILER
    const Record c = launch(compiled("softmax", 0), grid, stream, arguments, 6, bytes, byte_count);
    CHECK(!memcmp(&a, &c, sizeof a));
#endif
}

enum { MATMUL_ARGUMENTS = 19 };

static void matmul_arguments(tile_argument *a, int m, int n, int k, int stride,
                             const char *activation) {
    const tile_argument given[MATMUL_ARGUMENTS] = {tile_pointer(0x10000, TILE_FP16),
                                                   tile_pointer(0x20000, TILE_FP16),
                                                   tile_pointer(0x30000, TILE_FP16),
                                                   tile_int(m),
                                                   tile_int(n),
                                                   tile_int(k),
                                                   tile_int(stride),
                                                   tile_constexpr_int(1),
                                                   tile_int(n),
                                                   tile_constexpr_int(1),
                                                   tile_int(n),
                                                   tile_constexpr_int(1),
                                                   tile_constexpr_int(128),
                                                   tile_constexpr_int(128),
                                                   tile_constexpr_int(64),
                                                   tile_constexpr_int(8),
                                                   tile_constexpr(text("tl.float32")),
                                                   tile_constexpr(text("\"tf32\"")),
                                                   tile_constexpr(text(activation))};
    memcpy(a, given, sizeof given);
}

/* Tensor maps on sm_90a, and a persistent loop over tiles; with a stride of 0 the other form. */
static void matmul(int major, int m, int n, int k, int stride, const char *activation) {
    unsigned char bytes[16] = {8, 8, 8, 4, 4, 4, 4, 4, 4};
    size_t byte_count = 9;
    const bool maps = major >= 9 && stride;
    if (maps) {
        memcpy(bytes + byte_count, (unsigned char[]){4, 4, 4, 128, 128, 128}, 6);
        byte_count += 6;
    }
    const uint32_t grid[3] = {(uint32_t)((m + 127) / 128 * ((n + 127) / 128)), 1, 1};
    tile_argument arguments[MATMUL_ARGUMENTS];
    matmul_arguments(arguments, m, n, k, stride, activation);
    /* The variants left GROUP_M, ACC and PRECISION to their defaults: all the same here. */
    const Record a =
        launch(bundled("matmul"), grid, NULL, arguments, MATMUL_ARGUMENTS, bytes, byte_count);
    begin(bytes, byte_count);
    CHECK(k_matmul(NULL, grid[0], 1, 1, 0x10000, 0x20000, 0x30000, m, n, k, stride, n, n,
                   activation) == K_OK);
    const Record b = end();
    CHECK(!memcmp(&a, &b, sizeof a));
    CHECK(!maps || a.maps[0].words[0] || a.maps[0].words[1]);
#ifdef WITH_COMPILER
    const Record c =
        launch(compiled("matmul", 4), grid, NULL, arguments, MATMUL_ARGUMENTS, bytes, byte_count);
    CHECK(!memcmp(&a, &c, sizeof a));
#endif
}

/* A parameter of each type, and a grid that is the kernel's own. */
static void scalars(void) {
    static const unsigned char bytes[] = {8, 1, 1, 1, 2, 2, 4, 4, 8, 8, 2, 2, 1, 1, 4, 8};
    static const uint64_t wanted[] = {0x1000,
                                      1,
                                      0xfb,
                                      200,
                                      0x8ad0,
                                      60000,
                                      100,
                                      0xffffffff,
                                      UINT64_C(0xffffff0000000000),
                                      UINT64_C(1) << 63,
                                      0x3e00,
                                      0xbf40,
                                      0x42,
                                      0x2e,
                                      0x3e800000,
                                      UINT64_C(0x7e37e43c8800759c)};
    begin(bytes, sizeof bytes);
    CHECK(k_scalars(NULL, 0x1000, true, -5, 200, -30000, 60000, 100, UINT32_MAX,
                    -(INT64_C(1) << 40), UINT64_C(1) << 63, 1.5f, -0.75f, 3.0f, 0.4375f, 0.25f,
                    1e300) == K_OK);
    const Record record = end();
    CHECK(record.grid[0] == 7 && record.grid[1] == 200 && record.grid[2] == 1);
    CHECK(!memcmp(record.values, wanted, sizeof wanted));
    begin(bytes, sizeof bytes);
    CHECK(k_scalars(NULL, 0x1000, true, -5, 200, 0, 0, -100, 0, 0, 0, 0, 0, 0, 0, 0, 0) ==
          K_NO_GRID);
    CHECK(cuda->launches == 0);
}

/* Shared memory of a block tells which form was launched: only one that takes x and y to be apart
 * has rings. */
static unsigned smooth(uint64_t x, uint64_t y) {
    static const unsigned char bytes[] = {8, 8, 4};
    const uint32_t grid[3] = {3, 1, 1};
    const tile_argument arguments[] = {tile_pointer(x, TILE_FP32), tile_pointer(y, TILE_FP32),
                                       tile_int(7)};
    const Record a = launch(bundled("smooth"), grid, NULL, arguments, 3, bytes, sizeof bytes);
    begin(bytes, sizeof bytes);
    CHECK(k_smooth(NULL, 3, 1, 1, x, y, 7) == K_OK);
    const Record b = end();
    CHECK(!memcmp(&a, &b, sizeof a));
    return a.shared;
}

static void in_place(void) {
    const unsigned apart = smooth(0x10000, 0x20000), shared = smooth(0x10000, 0x10000);
    CHECK(shared < apart);
    CHECK(smooth(0, 0) == apart); /* pointers to nowhere */
}

/* Calls that no variant is for, and what a process may lack. */
static void refusals(void) {
    begin((unsigned char[]){0}, 1);
    CHECK(k_softmax_fp32_fp32(NULL, 1, 1, 1, 0x1000, 0x2000, 16, 16, 16, 512) == K_NO_VARIANT);
    CHECK(k_softmax_fp16_fp16(NULL, 1, 1, 1, 0x1002, 0x2000, 16, 16, 16, 256) == K_NO_VARIANT);
    CHECK(k_softmax_fp32_fp32(NULL, 0, 1, 1, 0x1000, 0x2000, 16, 16, 16, 512) == K_OK);
    CHECK(cuda->launches == 0);
    cuda->fail = "cuLaunchKernel";
    cuda->fail_result = 719;
    CHECK(k_softmax_fp32_fp32(NULL, 1, 1, 1, 0x1000, 0x2000, 16, 16, 16, 256) == K_DRIVER_FAILED);
    CHECK(k_driver_result() == 719);
    cuda->fail = NULL;
    CHECK(!strcmp(k_status_text(K_DRIVER_FAILED), "a call of the CUDA driver failed"));
}

static void *one_of_many(void *user) {
    for (int i = 0; i < 200; i++)
        CHECK(k_softmax_fp32_fp32(NULL, 1, 1, 1, 0x1000, 0x2000, 16, 16, i + 2, 1024) == K_OK);
    return user;
}

/* Loaded once, whoever comes first. */
static void threads(void) {
    pthread_t started[4];
    CHECK(k_unload() == K_OK);
    const unsigned loads = cuda->loads;
    begin((unsigned char[]){0}, 1);
    for (int i = 0; i < 4; i++)
        CHECK(!pthread_create(&started[i], NULL, one_of_many, NULL));
    for (int i = 0; i < 4; i++)
        pthread_join(started[i], NULL);
    CHECK(cuda->launches == 800);
    CHECK(cuda->loads - loads == 2); /* of columns that are multiples of 16, and of others */
    CHECK(k_unload() == K_OK);
    CHECK(k_driver_result() == 0);
}

int main(int argc, char **argv) {
    CHECK(argc == 5);
    kernels = argv[2];
    const int major = atoi(argv[3]);
    FakeCudaState *find = NULL;
    void *library = dlopen("libcuda.so.1", RTLD_NOW);
    CHECK(library);
    *(void **)&find = dlsym(library, "fake_cuda_state");
    cuda = find();
    cuda->major = major;
    cuda->minor = atoi(argv[4]);
    CHECK(k_unload() == K_NO_CONTEXT);
    const tile_context_options options = {
        .size = sizeof options, .cache_folder = text("none"), .cuda_library = text("libcuda.so.1")};
    CHECK(tile_context_create(&options, &context) == TILE_OK);
    CHECK(tile_device_open(context, 0, &device, NULL) == TILE_OK);
    cuda->current = (CUcontext)0x1000; /* the device's, as the fake has it */
    const tile_bundle_options from = {.size = sizeof from, .path = text(argv[1])};
    CHECK(tile_bundle_open(context, &from, &bundle, NULL) == TILE_OK);
    softmax(TILE_FP32, 0x10000, 256, 256, 256, true);
    softmax(TILE_FP32, 0x10000, 1008, 1008, 1024, true);
    softmax(TILE_FP32, 0x10004, 1001, 999, 1024, true);
    softmax(TILE_FP16, 0x10000, 1024, 1001, 1024, true);
    matmul(major, 272, 528, 144, 144, "'none'");
    matmul(major, 4096, 4096, 512, 512, "'relu'");
    matmul(major, 272, 528, 144, 0, "'none'");
    scalars();
    in_place();
    refusals();
    threads();
    tile_bundle_close(bundle);
    tile_device_close(device);
    tile_context_destroy(context);
    return 0;
}
