/* Tensor maps at launch, on the driver of fake_cuda.c: what is encoded and passed, what is kept,
 * what is refused, and the other form of a function. */
#include "fake_cuda.h"
#include "runtime/api/api.h"
#include "runtime/cache/cache_internal.h"
#include "support/file.h"

#include <dlfcn.h>
#include <ftw.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

/* What two-dimensional arrays of halves have: a(m, k), rows of `stride` elements. */
static const char map_text[] =
    "f16 swizzle 128 box 64 128 base param=0:i64 extent param=2:i32 "
    "extsi:i64 extent param=1:i32 extsi:i64 stride param=3:i32 extsi:i64";

typedef struct Fixture {
    Ctx *ctx;
    FakeCuda *cuda;
    Driver driver;
    Device device;
    Executable executable;
} Fixture;

static FakeCuda initial;

static FakeCuda *fake(void) {
    FakeCudaState *find = NULL;
    *(void **)&find = dlsym(dlopen(TILEC_FAKE_CUDA, RTLD_NOW), "fake_cuda_state");
    assert_non_null(find);
    FakeCuda *cuda = find();
    if (!initial.device_count)
        initial = *cuda;
    *cuda = initial;
    return cuda;
}

static void add_recipe(Ctx *ctx, TensorMapRecipes *recipes, const char *text) {
    TensorMapRecipe recipe;
    assert_true(recipe_parse(&ctx->arena, str_from(text), &recipe));
    vec_push(&ctx->arena, recipes, recipe);
}

static int setup(void **state) {
    Fixture *f = calloc(1, sizeof *f);
    f->ctx = ctx_create();
    f->cuda = fake();
    assert_true(driver_open(&f->driver, &f->ctx->diags, TILEC_FAKE_CUDA));
    assert_true(device_open(&f->driver, &f->ctx->diags, 0, &f->device));
    KernelMeta meta = {.name = STR("matmul"),
                       .target = target_by_capability(90),
                       .num_warps = 1,
                       .programs_per_cta = 4,
                       .num_ctas = 1,
                       .threads = 128,
                       .has_grid_parameter = true};
    add_recipe(f->ctx, &meta.tensor_maps, map_text);
    add_recipe(f->ctx, &meta.tensor_maps,
               "f32 swizzle 0 box 256 base param=4:i64 extent param=1:i32 extui:i64");
    static const Str names[] = {STR("a"), STR("m"), STR("k"), STR("stride"), STR("b")};
    const KernelImage image = {
        .code = STR("image"), .meta = &meta, .param_names = names, .param_count = 5};
    assert_true(
        executable_load(&f->executable, &f->ctx->arena, &f->ctx->diags, &f->device, &image));
    memcpy(f->cuda->param_bytes, (unsigned char[]){8, 4, 4, 4, 8, 4, 128, 128}, 8);
    *state = f;
    return 0;
}

static int teardown(void **state) {
    Fixture *f = *state;
    executable_unload(&f->executable);
    device_close(&f->device);
    driver_close(&f->driver);
    ctx_destroy(f->ctx);
    free(f);
    return 0;
}

typedef struct Arguments {
    uint64_t a;
    int32_t m, k, stride;
    uint64_t b;
} Arguments;

static CUresult launch(Fixture *f, Arguments g, TensorMapProblem *problem) {
    void *params[] = {&g.a, &g.m, &g.k, &g.stride, &g.b};
    const Launch launch = {.grid = (uint32_t[]){9, 2, 1}};
    return executable_launch(&f->executable, &launch, params, problem);
}

static void launch_well(Fixture *f, Arguments g) {
    TensorMapProblem problem;
    assert_int_equal(launch(f, g, &problem), CUDA_OK);
}

static void maps_follow_the_parameters(void **state) {
    Fixture *f = *state;
    launch_well(f, (Arguments){0x10000, 1000, 300, 304, 0x20000});
    assert_int_equal(f->cuda->launches, 1);
    assert_int_equal(f->cuda->encodings, 2);
    assert_int_equal(f->cuda->grid[0], 3);
    assert_int_equal(f->cuda->values[0], 0x10000);
    assert_int_equal(f->cuda->values[4], 0x20000);
    assert_int_equal(f->cuda->values[5], 9); /* the grid, then the maps */
    assert_int_equal(f->cuda->maps[0].words[0], 0x10000);
    assert_int_equal(f->cuda->maps[0].words[2], 300);
    assert_int_equal(f->cuda->maps[0].words[3], 608);
    assert_int_equal(f->cuda->maps[1].words[0], 0x20000);
    assert_int_equal(f->cuda->maps[1].words[2], 1000);
    assert_int_equal(f->cuda->pushes, f->cuda->pops);
}

static void encoder_gets_what_the_recipe_says(void **state) {
    Fixture *f = *state;
    TensorMapRecipes recipes = {0};
    add_recipe(f->ctx, &recipes,
               "bf16 swizzle 64 box 32 16 1 base param=0:i64 extent constant_int=96:i64 extent "
               "param=1:i64 extent param=2:i64 stride param=3:i64 stride param=1:i64 param=3:i64 "
               "muli:i64");
    const Str names[] = {STR("p"), STR("rows"), STR("batch"), STR("stride")};
    TensorMaps *maps = tensor_maps_create(&f->ctx->arena, &recipes, names, 4);
    assert_int_equal(tensor_maps_count(maps), 1);
    const uint64_t p = 0x4000, rows = 50, batch = 7, stride = 104;
    const void *params[] = {&p, &rows, &batch, &stride};
    CudaTensorMap map;
    TensorMapProblem problem;
    assert_true(tensor_maps_encode(maps, &f->driver, params, &map, &problem));
    const FakeEncoding *got = &f->cuda->encoding;
    assert_int_equal(got->type, CUDA_TENSOR_BF16);
    assert_int_equal(got->swizzle, CUDA_TENSOR_SWIZZLE_64B);
    assert_int_equal(got->l2_promotion, CUDA_TENSOR_L2_128B);
    assert_int_equal(got->rank, 3);
    assert_int_equal(got->address, 0x4000);
    assert_memory_equal(got->extents, ((uint64_t[]){96, 50, 7}), 24);
    assert_memory_equal(got->strides, ((uint64_t[]){0, 208, 10400}), 24);
    assert_memory_equal(got->box, ((uint32_t[]){32, 16, 1}), 12);
    assert_memory_equal(got->steps, ((uint32_t[]){1, 1, 1}), 12);
}

static void element_numbers_are_the_drivers(void **state) {
    static const struct {
        DType type;
        int number;
    } pairs[] = {{DT_I8, CUDA_TENSOR_U8},     {DT_I16, CUDA_TENSOR_U16},
                 {DT_I32, CUDA_TENSOR_U32},   {DT_I64, CUDA_TENSOR_U64},
                 {DT_F8E4M3, CUDA_TENSOR_U8}, {DT_F8E5M2, CUDA_TENSOR_U8},
                 {DT_F16, CUDA_TENSOR_F16},   {DT_BF16, CUDA_TENSOR_BF16},
                 {DT_F32, CUDA_TENSOR_F32},   {DT_F64, CUDA_TENSOR_F64}};
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++)
        assert_int_equal(recipe_element(pairs[i].type), pairs[i].number);
    assert_false(recipe_dtype(DT_I1));
    static const int spans[] = {0, 32, 64, 128};
    static const int numbers[] = {CUDA_TENSOR_SWIZZLE_NONE, CUDA_TENSOR_SWIZZLE_32B,
                                  CUDA_TENSOR_SWIZZLE_64B, CUDA_TENSOR_SWIZZLE_128B};
    for (int i = 0; i < 4; i++)
        assert_int_equal(recipe_swizzle(&(TensorMapRecipe){.swizzle = spans[i]}), numbers[i]);
}

static void maps_are_kept_by_value(void **state) {
    Fixture *f = *state;
    Arguments g = {0x10000, 1000, 300, 304, 0x20000};
    for (int i = 0; i < 10; i++)
        launch_well(f, g);
    assert_int_equal(f->cuda->encodings, 2);
    g.b = 0x30000; /* of the second map only */
    launch_well(f, g);
    assert_int_equal(f->cuda->encodings, 3);
    assert_int_equal(f->cuda->maps[1].words[0], 0x30000);
    g.m = 999; /* of both */
    launch_well(f, g);
    assert_int_equal(f->cuda->encodings, 5);
    assert_int_equal(f->cuda->maps[1].words[2], 999);
    launch_well(f, (Arguments){0x10000, 1000, 300, 304, 0x20000});
    assert_int_equal(f->cuda->encodings, 5);
    assert_int_equal(f->cuda->maps[0].words[2], 300);
    assert_int_equal(f->cuda->maps[1].words[0], 0x20000);
}

/* What lies behind a parameter that is narrower than a word is not part of it. */
static void maps_are_found_by_values_alone(void **state) {
    Fixture *f = *state;
    TensorMapRecipes recipes = {0};
    add_recipe(f->ctx, &recipes,
               "f32 swizzle 0 box 32 16 base param=3:i64 extent param=0:i8 extsi:i64 extent "
               "param=1:i16 extsi:i64 stride param=2:i32 extsi:i64");
    const Str names[] = {STR("columns"), STR("rows"), STR("stride"), STR("p")};
    TensorMaps *maps = tensor_maps_create(&f->ctx->arena, &recipes, names, 4);
    const uint64_t p = 0x4000;
    for (uint64_t round = 0; round < 8; round++) {
        const uint64_t noise = 0x123456789abcdef * round;
        const uint64_t columns = (noise << 8 | 96), rows = (noise << 16 | (50 + round / 4)),
                       stride = (noise << 32 | 104);
        const void *params[] = {&columns, &rows, &stride, &p};
        CudaTensorMap map;
        TensorMapProblem problem;
        assert_true(tensor_maps_encode(maps, &f->driver, params, &map, &problem));
        assert_int_equal(map.words[2], 96);
        assert_int_equal(f->cuda->encodings, 1 + round / 4);
        assert_int_equal(f->cuda->encoding.extents[1], 50 + round / 4);
    }
}

/* Far more than are kept: each launch has its own, and what came last is still there. */
static void old_maps_make_room(void **state) {
    Fixture *f = *state;
    for (int round = 0; round < 3; round++)
        for (int i = 1; i <= 500; i++) {
            launch_well(f, (Arguments){0x10000, i, 64, 64, (uint64_t)i << 12});
            assert_int_equal(f->cuda->maps[0].words[2], 64);
            assert_int_equal(f->cuda->maps[1].words[0], (uint64_t)i << 12);
            assert_int_equal(f->cuda->maps[1].words[2], i);
        }
    unsigned before = f->cuda->encodings;
    launch_well(f, (Arguments){0x10000, 500, 64, 64, 500 << 12});
    assert_int_equal(f->cuda->encodings, before);
}

static void small_tensors_lose_a_bit(void **state) {
    Fixture *f = *state;
    const uint64_t bit = UINT64_C(1) << 21;
    launch_well(f, (Arguments){0x10000, 512, 128, 128, 0x20000}); /* 128 KiB */
    assert_int_equal(f->cuda->maps[0].words[1] & bit, bit);
    assert_int_equal(f->cuda->maps[1].words[1] & bit, 0); /* 2 KiB */
    launch_well(f, (Arguments){0x10000, 511, 128, 128, 0x20000});
    assert_int_equal(f->cuda->maps[0].words[1] & bit, 0);
    assert_int_equal(f->cuda->maps[0].words[1] | bit, UINT64_MAX);
    f->driver.version = 13020;
    launch_well(f, (Arguments){0x10000, 510, 128, 128, 0x20000});
    assert_int_equal(f->cuda->maps[0].words[1] & bit, bit);
}

static void assert_refused(Fixture *f, Arguments g, const char *text) {
    unsigned launches = f->cuda->launches;
    TensorMapProblem problem;
    assert_int_equal(launch(f, g, &problem), LAUNCH_NO_TENSOR_MAP);
    assert_int_equal(f->cuda->launches, launches);
    assert_int_equal(f->cuda->pushes, f->cuda->pops);
    void *params[] = {&g.a, &g.m, &g.k, &g.stride, &g.b};
    assert_string_equal(
        executable_explain(&f->executable, &f->ctx->arena, params, FORM_PLAIN, &problem), text);
}

static void refusals_name_value_and_parameter(void **state) {
    Fixture *f = *state;
    assert_refused(f, (Arguments){0x10008, 10, 64, 64, 0x20000},
                   "the address is 0x10008: wanted a multiple of 16 (a = 0x10008)");
    assert_refused(f, (Arguments){0x10000, 10, 64, 513, 0x20000},
                   "the stride of dimension 1 is 1026 bytes: wanted a multiple of 16 from 16 to "
                   "2^40 - 16 (stride = 513)");
    assert_refused(f, (Arguments){0x10000, 10, 64, 0, 0x20000},
                   "the stride of dimension 1 is 0 bytes: wanted a multiple of 16 from 16 to "
                   "2^40 - 16 (stride = 0)");
    assert_refused(f, (Arguments){0x10000, 0, 64, 64, 0x20000},
                   "the extent of dimension 1 is 0: wanted 1 to 2^31 (m = 0)");
    assert_refused(f, (Arguments){0x10000, 10, -5, 64, 0x20000},
                   "the extent of dimension 0 is -5: wanted 1 to 2^31 (k = -5)");
    assert_refused(f, (Arguments){0x10000, 10, 64, 64, 0x20004},
                   "the address is 0x20004: wanted a multiple of 16 (b = 0x20004)");
    assert_int_equal(f->cuda->encodings, 1); /* of the first map, before the second was refused */
    f->cuda->fail = "cuTensorMapEncodeTiled";
    f->cuda->fail_result = CUDA_INVALID_VALUE;
    assert_refused(f, (Arguments){0x10000, 77, 64, 64, 0x20000},
                   "cuTensorMapEncodeTiled failed: CUDA_ERROR_FAKE: a failure made for a test");
    f->driver.tensor_map_encode = NULL;
    assert_refused(f, (Arguments){0x10000, 77, 64, 64, 0x20000},
                   "the driver is too old to encode tensor maps: wanted CUDA 12.0 or newer");
    /* Nothing to launch needs no maps. */
    TensorMapProblem problem;
    const Launch nothing = {.grid = (uint32_t[]){0, 1, 1}};
    assert_int_equal(executable_launch(&f->executable, &nothing, NULL, &problem), CUDA_OK);
}

static void too_many_maps_are_refused(void **state) {
    Fixture *f = *state;
    KernelMeta meta = {.name = STR("many"), .target = target_by_capability(90), .threads = 32};
    for (int i = 0; i <= RECIPE_MAX_MAPS; i++)
        add_recipe(f->ctx, &meta.tensor_maps, map_text);
    static const Str names[] = {STR("a"), STR("m"), STR("k"), STR("stride")};
    const KernelImage image = {
        .code = STR("image"), .meta = &meta, .param_names = names, .param_count = 4};
    Executable executable;
    assert_false(executable_load(&executable, &f->ctx->arena, &f->ctx->diags, &f->device, &image));
    assert_string_equal(f->ctx->diags.first->text,
                        "kernel 'many' has 17 tensor maps; 16 can be passed");
}

/* Does the work of each of the workers, which are `size` bytes apart, in a thread of its own. */
static void in_threads(void *(*work)(void *), void *workers, size_t size, int count) {
    enum { MOST = 8 };
    pthread_t threads[MOST];
    assert_true(count <= MOST);
    for (int i = 0; i < count; i++)
        assert_int_equal(
            pthread_create(&threads[i], NULL, work, (char *)workers + (size_t)i * size), 0);
    for (int i = 0; i < count; i++)
        assert_int_equal(pthread_join(threads[i], NULL), 0);
}

/* Threads: what is passed is what was asked for, whoever writes or reads the slots. */
typedef struct Worker {
    TensorMaps *maps;
    const Driver *driver;
    uint64_t seed, wrong;
} Worker;

static void *encode_many(void *argument) {
    Worker *worker = argument;
    for (int i = 0; i < 20000; i++) {
        worker->seed = worker->seed * 6364136223846793005u + 1442695040888963407u;
        const uint64_t a = 0x10000 + 256 * (worker->seed >> 58);
        const int32_t m = (int32_t)(a >> 8), k = (int32_t)(a >> 7), stride = 8 * m;
        const void *params[] = {&a, &m, &k, &stride};
        CudaTensorMap map;
        TensorMapProblem problem;
        if (!tensor_maps_encode(worker->maps, worker->driver, params, &map, &problem) ||
            map.words[0] != a || map.words[2] != (uint64_t)k ||
            map.words[3] != 2 * (uint64_t)stride)
            worker->wrong++;
    }
    return NULL;
}

static void threads_share_maps(void **state) {
    enum { THREADS = 4 };
    Fixture *f = *state;
    TensorMapRecipes recipes = {0};
    add_recipe(f->ctx, &recipes, map_text);
    static const Str names[] = {STR("a"), STR("m"), STR("k"), STR("stride")};
    TensorMaps *maps = tensor_maps_create(&f->ctx->arena, &recipes, names, 4);
    Worker workers[THREADS];
    for (int i = 0; i < THREADS; i++)
        workers[i] = (Worker){.maps = maps, .driver = &f->driver, .seed = (uint64_t)i};
    in_threads(encode_many, workers, sizeof *workers, THREADS);
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(workers[i].wrong, 0);
    assert_true(f->cuda->encodings < THREADS * 20000); /* some were found */
}

/* Functions. The compiler makes tensor copies where it sees fit; for a kernel that needs none, the
 * entry of the cache is given a recipe. */

static const char source[] = "import triton\n"
                             "import triton.language as tl\n"
                             "@triton.jit\n"
                             "def copy(x, n, stride):\n"
                             "    i = tl.arange(0, 128)\n"
                             "    tl.store(x + i * stride, i.to(tl.float32), mask=i < n)\n";

typedef struct Functions {
    char folder[64];
    tile_context *context;
    tile_device *device;
    tile_function *function;
    FakeCuda *cuda;
} Functions;

static tile_text text(const char *data) {
    return (tile_text){data, strlen(data)};
}

static const char *entry_path;

/* An entry, not a reference to one. */
static int find_entry(const char *path, const struct stat *info, int flag, struct FTW *walk) {
    const char *end = strrchr(path, '.');
    if (flag == FTW_F && end && !strcmp(end, ".kernel"))
        entry_path = strdup(path);
    return 0;
}

static int remove_one(const char *path, const struct stat *info, int flag, struct FTW *walk) {
    return remove(path);
}

/* The only entry there is gets a map of x(n, stride). */
static void add_map_to_entry(const char *folder) {
    static const char line[] = "tensor_map f32 swizzle 0 box 32 8 base param=0:i64 extent "
                               "constant_int=64:i64 extent param=1:i32 extsi:i64 stride "
                               "param=2:i32 extsi:i64\n";
    Ctx *ctx = ctx_create();
    CacheSection sections[] = {{"meta", {"", 0}},
                               {"ptx", {"", 0}},
                               {"cubin", {"", 0}},
                               {"files", {"", 0}},
                               {"said", {"", 0}}};
    entry_path = NULL;
    nftw(folder, find_entry, 8, FTW_PHYS);
    assert_non_null(entry_path);
    Str key, file;
    assert_int_equal(file_read(&ctx->arena, entry_path, 1 << 20, &file), 0);
    assert_int_equal(cache_parse_file(&ctx->arena, file, &key, sections, 5), CACHE_HIT);
    free((char *)(uintptr_t)entry_path);
    StrBuf meta = strbuf(&ctx->arena);
    strbuf_add(&meta, sections[0].data.ptr, sections[0].data.len);
    strbuf_puts(&meta, line);
    sections[0].data = strbuf_str(&meta);
    Cache cache;
    cache_open(&cache, &ctx->arena, &(CacheConfig){.folder = folder});
    assert_int_equal(cache_put(&cache, &ctx->arena, key, sections, 5), 0);
    ctx_destroy(ctx);
}

static tile_function *make_function(const Functions *f, bool no_tensor_copies) {
    const tile_compile_options options = {.size = sizeof options,
                                          .path = text("copy.tile"),
                                          .source = text(source),
                                          .no_tensor_copies = no_tensor_copies};
    tile_function *function = NULL;
    assert_int_equal(tile_function_create(f->context, &options, &function, NULL), TILE_OK);
    return function;
}

enum { STRIDE = 320 };

static tile_status call(const Functions *f, int64_t n, int64_t stride,
                        tile_diagnostics **diagnostics) {
    const tile_argument arguments[] = {tile_pointer(0x10000, TILE_FP32), tile_int(n),
                                       tile_int(stride)};
    return tile_function_launch(f->function, f->device, (uint32_t[]){1, 1, 1}, NULL, arguments, 3,
                                diagnostics);
}

static int setup_functions(void **state) {
    Functions *f = calloc(1, sizeof *f);
    f->cuda = fake();
    strcpy(f->folder, "/tmp/tilec-test-XXXXXX");
    assert_non_null(mkdtemp(f->folder));
    setenv("TILEC_PTXAS", "none", 1);
    const tile_context_options options = {.size = sizeof options,
                                          .cache_folder = text(f->folder),
                                          .cuda_library = text(TILEC_FAKE_CUDA)};
    assert_int_equal(tile_context_create(&options, &f->context), TILE_OK);
    assert_int_equal(tile_device_open(f->context, 0, &f->device, NULL), TILE_OK);
    f->function = make_function(f, false);
    assert_int_equal(call(f, 100, STRIDE, NULL), TILE_OK);
    assert_int_equal(f->cuda->encodings, 0);
    tile_function_destroy(f->function);
    add_map_to_entry(f->folder);
    f->function = make_function(f, false);
    f->cuda->loads = f->cuda->unloads = f->cuda->launches = 0;
    *state = f;
    return 0;
}

static int teardown_functions(void **state) {
    Functions *f = *state;
    tile_function_destroy(f->function);
    assert_int_equal(f->cuda->loads, f->cuda->unloads);
    tile_device_close(f->device);
    tile_context_destroy(f->context);
    nftw(f->folder, remove_one, 8, FTW_DEPTH | FTW_PHYS);
    free(f);
    return 0;
}

static void function_has_another_form(void **state) {
    Functions *f = *state;
    tile_diagnostics *said = NULL;
    assert_int_equal(call(f, 100, STRIDE, &said), TILE_OK);
    assert_null(said);
    assert_int_equal(f->cuda->encodings, 1);
    assert_int_equal(f->cuda->loads, 1);
    assert_int_equal(call(f, -28, STRIDE, &said), TILE_OK);
    assert_int_equal(f->cuda->loads, 2);
    assert_int_equal(f->cuda->launches, 2);
    assert_string_equal(
        tile_diagnostics_text(said).data,
        "tilec: remark: kernel 'copy' runs without tensor copies here: the extent of "
        "dimension 1 is -28: wanted 1 to 2^31 (n = -28)\n");
    tile_diagnostics_destroy(said);
    /* Made and said once; the first form stays in use. */
    assert_int_equal(call(f, -44, STRIDE, &said), TILE_OK);
    assert_null(said);
    assert_int_equal(call(f, 100, STRIDE, &said), TILE_OK);
    assert_int_equal(f->cuda->loads, 2);
    assert_int_equal(f->cuda->launches, 4);
    assert_int_equal(f->cuda->encodings, 1);
}

/* Why one call had no maps is no part of what the cache keeps of that form. */
static void another_form_is_kept_without_the_reason(void **state) {
    Functions *f = *state;
    tile_diagnostics *said = NULL;
    assert_int_equal(call(f, -28, STRIDE, &said), TILE_OK);
    assert_non_null(said);
    tile_diagnostics_destroy(said);
    tile_function_destroy(f->function);
    f->function = make_function(f, true);
    assert_int_equal(call(f, 100, STRIDE, &said), TILE_OK);
    assert_null(said);
    assert_int_equal(f->cuda->encodings, 0);
}

static const char product[] =
    "import triton\n"
    "import triton.language as tl\n"
    "@triton.jit\n"
    "def product(a, b, c, K, stride):\n"
    "    m, n, k = tl.arange(0, 64), tl.arange(0, 64), tl.arange(0, 32)\n"
    "    acc = tl.zeros((64, 64), dtype=tl.float32)\n"
    "    for i in range(0, K, 32):\n"
    "        inside = k[None, :] < K - i\n"
    "        x = tl.load(a + m[:, None] * stride + i + k[None, :], mask=inside, other=0)\n"
    "        y = tl.load(b + n[:, None] * stride + i + k[None, :], mask=inside, other=0)\n"
    "        acc = tl.dot(x, y.T, acc)\n"
    "    tl.store(c + m[:, None] * stride + n[None, :], acc.to(tl.float16))\n";

static void multiply(const Functions *f, tile_function *function, int64_t size) {
    const tile_argument arguments[] = {
        tile_pointer(0x10000, TILE_FP16), tile_pointer(0x20000, TILE_FP16),
        tile_pointer(0x30000, TILE_FP16), tile_int(size), tile_int(size)};
    f->cuda->encodings = 0;
    assert_int_equal(
        tile_function_launch(function, f->device, (uint32_t[]){1, 1, 1}, NULL, arguments, 5, NULL),
        TILE_OK);
}

/* Rows of a multiple of 16 bytes are copied whole: 8 halves do. Others have no maps from the
 * start. */
static void rows_of_eight_elements_have_maps(void **state) {
    Functions *f = *state;
    const tile_compile_options options = {
        .size = sizeof options, .path = text("product.tile"), .source = text(product)};
    tile_function *function = NULL;
    assert_int_equal(tile_function_create(f->context, &options, &function, NULL), TILE_OK);
    multiply(f, function, 1000);
    assert_int_not_equal(f->cuda->encodings, 0);
    multiply(f, function, 1016);
    assert_int_not_equal(f->cuda->encodings, 0);
    assert_int_equal(f->cuda->loads, 1);
    multiply(f, function, 1001);
    assert_int_equal(f->cuda->encodings, 0);
    assert_int_equal(f->cuda->loads, 2);
    multiply(f, function, 1024);
    assert_int_not_equal(f->cuda->encodings, 0);
    assert_int_equal(f->cuda->loads, 3);
    tile_function_destroy(function);
}

static void old_drivers_get_the_other_form(void **state) {
    Functions *f = *state;
    ((tile_context *)f->context)->driver.tensor_map_encode = NULL;
    tile_diagnostics *said = NULL;
    assert_int_equal(call(f, 100, STRIDE, &said), TILE_OK);
    assert_non_null(strstr(tile_diagnostics_text(said).data, "the driver is too old"));
    tile_diagnostics_destroy(said);
    assert_int_equal(f->cuda->launches, 1);
}

static void other_form_that_cannot_be_loaded(void **state) {
    Functions *f = *state;
    tile_diagnostics *said = NULL;
    assert_int_equal(call(f, 100, STRIDE, NULL), TILE_OK);
    f->cuda->fail = "cuModuleLoadDataEx";
    f->cuda->fail_result = 999;
    assert_int_equal(call(f, -28, STRIDE, &said), TILE_ERROR_DRIVER);
    tile_diagnostics_destroy(said);
    assert_int_equal(f->cuda->launches, 1);
    f->cuda->fail = NULL;
    assert_int_equal(call(f, -28, STRIDE, NULL), TILE_OK);
    assert_int_equal(f->cuda->launches, 2);
}

/* Without its source an executable has one form. */
static void executable_says_why(void **state) {
    Functions *f = *state;
    const tile_argument arguments[] = {tile_pointer(0x10000, TILE_FP32), tile_int(100),
                                       tile_int(STRIDE)};
    const tile_executable *executable = NULL;
    assert_int_equal(
        tile_function_instance(f->function, f->device, arguments, 3, &executable, NULL), TILE_OK);
    const uint64_t x = 0x10000;
    int32_t n = 100, stride = STRIDE;
    void *params[] = {(void *)(uintptr_t)&x, &n, &stride};
    const uint32_t grid[] = {1, 1, 1};
    tile_diagnostics *said = NULL;
    assert_int_equal(tile_executable_check(executable, params, 3, &said), TILE_OK);
    assert_null(said);
    assert_int_equal(tile_launch(executable, grid, NULL, params, 3), TILE_OK);
    stride = 5;
    assert_int_equal(tile_launch(executable, grid, NULL, params, 3), TILE_ERROR_TENSOR_MAP);
    assert_int_equal(tile_executable_check(executable, params, 3, &said), TILE_ERROR_TENSOR_MAP);
    assert_non_null(strstr(tile_diagnostics_text(said).data,
                           "the stride of dimension 1 is 20 bytes: wanted a multiple of 16 from 16 "
                           "to 2^40 - 16 (stride = 5)"));
    tile_diagnostics_destroy(said);
    assert_int_equal(tile_executable_check(executable, params, 2, &said),
                     TILE_ERROR_INVALID_ARGUMENT);
    assert_int_equal(f->cuda->launches, 1);
}

/* A compiled kernel keeps its recipes, and so does what is loaded from it. */
static void kernel_has_recipes(void **state) {
    Functions *f = *state;
    const tile_compile_options options = {.size = sizeof options,
                                          .path = text("copy.tile"),
                                          .source = text(source),
                                          .signature = text("*fp32:16, i32, i32:16"),
                                          .want = TILE_WANT(TILE_OUTPUT_CUBIN) |
                                                  TILE_WANT(TILE_OUTPUT_META),
                                          .device = f->device};
    tile_kernel *kernel = NULL;
    tile_kernel_info info = {.size = sizeof info};
    nftw(f->folder, remove_one, 8, FTW_DEPTH | FTW_PHYS);
    assert_int_equal(tile_compile(f->context, &options, &kernel, NULL), TILE_OK);
    assert_int_equal(tile_kernel_get_info(kernel, &info), TILE_OK);
    assert_int_equal(info.tensor_map_count, 0);
    tile_kernel_destroy(kernel);
    add_map_to_entry(f->folder);
    assert_int_equal(tile_compile(f->context, &options, &kernel, NULL), TILE_OK);
    assert_int_equal(tile_kernel_get_info(kernel, &info), TILE_OK);
    assert_true(info.from_cache);
    assert_int_equal(info.tensor_map_count, 1);
    assert_non_null(
        strstr(tile_kernel_get_output(kernel, TILE_OUTPUT_META).data,
               "\"base\": \"x\", \"extents\": [\"64\", \"n\"], \"strides\": [\"stride\"]"));
    tile_executable *executable = NULL;
    assert_int_equal(tile_load(kernel, f->device, &executable, NULL), TILE_OK);
    tile_kernel_destroy(kernel);
    uint64_t x = 0x10000;
    int32_t n = 100, stride = STRIDE;
    void *params[] = {&x, &n, &stride};
    memcpy(f->cuda->param_bytes, (unsigned char[]){8, 4, 4, info.has_grid_parameter ? 4 : 128, 128},
           4 + info.has_grid_parameter);
    assert_int_equal(tile_launch(executable, (uint32_t[]){1, 1, 1}, NULL, params, 3), TILE_OK);
    assert_int_equal(f->cuda->maps[0].words[3], 4 * STRIDE);
    tile_executable_destroy(executable);
}

typedef struct Caller {
    const Functions *functions;
    unsigned failed, said;
} Caller;

static void *call_many(void *argument) {
    Caller *caller = argument;
    for (int i = 0; i < 50; i++) {
        tile_diagnostics *said = NULL;
        caller->failed += call(caller->functions, i % 2 ? 100 : -28, STRIDE, &said) != TILE_OK;
        caller->said += said != NULL;
        tile_diagnostics_destroy(said);
    }
    return NULL;
}

static void threads_share_both_forms(void **state) {
    enum { THREADS = 3 };
    Functions *f = *state;
    Caller callers[THREADS];
    unsigned said = 0;
    for (int i = 0; i < THREADS; i++)
        callers[i] = (Caller){.functions = f};
    in_threads(call_many, callers, sizeof *callers, THREADS);
    for (int i = 0; i < THREADS; i++) {
        assert_int_equal(callers[i].failed, 0);
        said += callers[i].said;
    }
    assert_int_equal(said, 1);
    assert_int_equal(f->cuda->loads, 2);
    assert_int_equal(f->cuda->launches, 50 * THREADS);
    assert_int_equal(f->cuda->pushes, f->cuda->pops);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
#define TEST_FUNCTIONS(name)                                                                       \
    cmocka_unit_test_setup_teardown(name, setup_functions, teardown_functions)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(maps_follow_the_parameters),
        TEST(encoder_gets_what_the_recipe_says),
        cmocka_unit_test(element_numbers_are_the_drivers),
        TEST(maps_are_kept_by_value),
        TEST(maps_are_found_by_values_alone),
        TEST(old_maps_make_room),
        TEST(small_tensors_lose_a_bit),
        TEST(refusals_name_value_and_parameter),
        TEST(too_many_maps_are_refused),
        TEST(threads_share_maps),
        TEST_FUNCTIONS(function_has_another_form),
        TEST_FUNCTIONS(another_form_is_kept_without_the_reason),
        TEST_FUNCTIONS(rows_of_eight_elements_have_maps),
        TEST_FUNCTIONS(old_drivers_get_the_other_form),
        TEST_FUNCTIONS(other_form_that_cannot_be_loaded),
        TEST_FUNCTIONS(executable_says_why),
        TEST_FUNCTIONS(kernel_has_recipes),
        TEST_FUNCTIONS(threads_share_both_forms),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
