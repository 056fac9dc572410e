/* The public API as a program uses it, on the driver of fake_cuda.c. */
#include "fake_cuda.h"
#include "tilec.h"

#include <dlfcn.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

typedef struct Fixture {
    tile_context *context;
    char folder[64];
    FakeCuda *cuda;
} Fixture;

static FakeCuda initial;

static tile_text text(const char *data) {
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

static tile_context *make_context(const char *cache) {
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

static tile_compile_options scale_options(void) {
    return (tile_compile_options){.size = sizeof(tile_compile_options),
                                  .path = text("scale.tile"),
                                  .source = text(source),
                                  .signature = text("*fp32:16, i32, fp32, 1024"),
                                  .want = TILE_WANT(TILE_OUTPUT_PTX)};
}

static void compile_gives_code_and_facts(void **state) {
    Fixture *f = *state;
    tile_compile_options options = scale_options();
    options.target = text("sm_80");
    options.want = TILE_WANT(TILE_OUTPUT_TIR) | TILE_WANT(TILE_OUTPUT_META);
    tile_kernel *kernel = NULL;
    tile_diagnostics *diagnostics = NULL;
    assert_int_equal(tile_compile(f->context, &options, &kernel, &diagnostics), TILE_OK);
    tile_kernel_info info = {.size = sizeof info};
    assert_int_equal(tile_kernel_get_info(kernel, &info), TILE_OK);
    assert_string_equal(info.name.data, "scale");
    assert_string_equal(info.target.data, "sm_80");
    assert_int_equal(info.param_count, 4);
    assert_int_equal(info.threads, 32 * info.num_warps * info.programs_per_cta);
    assert_false(info.assembled);
    tile_text ptx = tile_kernel_get_output(kernel, TILE_OUTPUT_PTX);
    assert_non_null(strstr(ptx.data, ".target sm_80"));
    assert_int_equal(ptx.data[ptx.size], 0);
    assert_non_null(strstr(tile_kernel_get_output(kernel, TILE_OUTPUT_TIR).data, "scale"));
    assert_int_equal(tile_kernel_get_output(kernel, TILE_OUTPUT_LL).size, 0);
    tile_param_info param = {.size = sizeof param};
    assert_int_equal(tile_kernel_get_param(kernel, 0, &param), TILE_OK);
    assert_string_equal(param.type.data, "*fp32");
    assert_int_equal(param.divisible, 16);
    assert_int_equal(tile_kernel_get_param(kernel, 3, &param), TILE_OK);
    assert_true(param.is_constexpr);
    assert_string_equal(param.type.data, "1024");
    assert_int_equal(tile_kernel_get_param(kernel, 4, &param), TILE_ERROR_INVALID_ARGUMENT);
    tile_kernel_destroy(kernel);
    tile_diagnostics_destroy(diagnostics);
}

/* Warnings are shown, hidden or errors as the options say, also of a kernel that the cache has. */
static void warnings_are_chosen(void **state) {
    static const struct {
        const char *chosen;
        tile_status status;
        size_t count;
    } cases[] = {{"store_by_programs", TILE_OK, 1},
                 {"no-store_by_programs", TILE_OK, 0},
                 {"error=store_by_programs", TILE_ERROR_SOURCE, 1},
                 {"store_by_programs", TILE_OK, 1},
                 {"no-elab_unknown_name", TILE_ERROR_SOURCE, 1}};
    Fixture *f = *state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        tile_compile_options options = scale_options();
        options.path = text("race.tile");
        options.source = text("import triton\nimport triton.language as tl\n\n\n@triton.jit\n"
                              "def race(p):\n    tl.store(p, tl.program_id(0))\n");
        options.signature = text("*i32");
        const tile_text chosen = text(cases[i].chosen);
        options.warnings = &chosen;
        options.warning_count = 1;
        tile_kernel *kernel = NULL;
        tile_diagnostics *diagnostics = NULL;
        assert_int_equal(tile_compile(f->context, &options, &kernel, &diagnostics),
                         cases[i].status);
        assert_int_equal(diagnostics ? tile_diagnostics_count(diagnostics) : 0, cases[i].count);
        tile_kernel_destroy(kernel);
        tile_diagnostics_destroy(diagnostics);
    }
}

static void mistakes_are_diagnostics(void **state) {
    Fixture *f = *state;
    tile_compile_options options = scale_options();
    options.signature = text("*fp32:16, i32, fp32, 1000");
    tile_kernel *kernel = NULL;
    tile_diagnostics *diagnostics = NULL;
    assert_int_equal(tile_compile(f->context, &options, &kernel, &diagnostics), TILE_ERROR_SOURCE);
    assert_null(kernel);
    assert_int_equal(tile_diagnostics_count(diagnostics), 1);
    tile_diagnostic first = {.size = sizeof first};
    assert_int_equal(tile_diagnostics_get(diagnostics, 0, &first), TILE_OK);
    assert_int_equal(first.severity, TILE_ERROR);
    assert_string_equal(first.path.data, "scale.tile");
    assert_int_equal(first.line, 6);
    assert_non_null(strstr(first.rendered.data, "tl.arange(0, BLOCK)"));
    assert_non_null(strstr(tile_diagnostics_json(diagnostics).data, "\"line\": 6"));
    assert_int_equal(tile_diagnostics_get(diagnostics, 1, &first), TILE_ERROR_INVALID_ARGUMENT);
    tile_diagnostics_destroy(diagnostics);
}

static tile_status compile_status(tile_context *context, const tile_compile_options *options) {
    tile_kernel *kernel = NULL;
    tile_diagnostics *diagnostics = NULL;
    tile_status status = tile_compile(context, options, &kernel, &diagnostics);
    assert_int_equal(status == TILE_OK, kernel != NULL);
    tile_kernel_destroy(kernel);
    tile_diagnostics_destroy(diagnostics);
    return status;
}

static void status_says_what_kind(void **state) {
    Fixture *f = *state;
    tile_compile_options options = scale_options();
    assert_int_equal(compile_status(f->context, &options), TILE_OK);
    options.target = text("sm_13");
    assert_int_equal(compile_status(f->context, &options), TILE_ERROR_SOURCE);
    options = scale_options();
    options.source = (tile_text){0};
    options.path = text("/nonexistent/file.tile");
    assert_int_equal(compile_status(f->context, &options), TILE_ERROR_FILE);
    options.path = (tile_text){0};
    assert_int_equal(compile_status(f->context, &options), TILE_ERROR_INVALID_ARGUMENT);
    options.size = 4;
    assert_int_equal(compile_status(f->context, &options), TILE_ERROR_INVALID_ARGUMENT);
    assert_int_equal(tile_compile(NULL, &options, NULL, NULL), TILE_ERROR_INVALID_ARGUMENT);
}

static void memory_limit_is_a_status(void **state) {
    Fixture *f = *state;
    tile_compile_options options = scale_options();
    bool ran = false, failed = false;
    for (size_t limit = 20 * 1024; limit <= (size_t)64 << 20; limit *= 2) {
        const tile_context_options context_options = {
            .size = sizeof context_options, .cache_folder = text("none"), .memory_limit = limit};
        tile_context *context = NULL;
        assert_int_equal(tile_context_create(&context_options, &context), TILE_OK);
        tile_status status = compile_status(context, &options);
        assert_true(status == TILE_OK || status == TILE_ERROR_OUT_OF_MEMORY);
        ran |= status == TILE_OK;
        failed |= status == TILE_ERROR_OUT_OF_MEMORY;
        tile_context_destroy(context);
    }
    assert_true(ran && failed);
    assert_int_equal(f->cuda->launches, 0);
}

static bool compiled_from_cache(tile_context *context, const tile_compile_options *options) {
    tile_kernel *kernel = NULL;
    assert_int_equal(tile_compile(context, options, &kernel, NULL), TILE_OK);
    tile_kernel_info info = {.size = sizeof info};
    assert_int_equal(tile_kernel_get_info(kernel, &info), TILE_OK);
    bool from_cache = info.from_cache;
    assert_int_equal(info.param_count, 4);
    assert_non_null(strstr(tile_kernel_get_output(kernel, TILE_OUTPUT_PTX).data, ".entry scale"));
    tile_kernel_destroy(kernel);
    return from_cache;
}

/* Whatever decides the code is part of the key. */
static void cache_answers_the_same_question_only(void **state) {
    Fixture *f = *state;
    tile_compile_options options = scale_options(), other;
    assert_false(compiled_from_cache(f->context, &options));
    assert_true(compiled_from_cache(f->context, &options));
    tile_context *second = make_context(f->folder);
    assert_true(compiled_from_cache(second, &options));
    tile_context_destroy(second);

    other = options;
    other.signature = text("*fp32:16, i32, fp32, 512");
    assert_false(compiled_from_cache(f->context, &other));
    other = options;
    other.signature = text("*fp32:16, i32:16, fp32, 1024");
    assert_false(compiled_from_cache(f->context, &other));
    other = options;
    other.target = text("sm_80");
    assert_false(compiled_from_cache(f->context, &other));
    other = options;
    other.num_warps = 8;
    assert_false(compiled_from_cache(f->context, &other));
    other = options;
    other.max_registers = 64;
    assert_false(compiled_from_cache(f->context, &other));
    other = options;
    other.max_shared = 16384;
    assert_false(compiled_from_cache(f->context, &other));
    other = options;
    other.no_line_info = true;
    assert_false(compiled_from_cache(f->context, &other));
    other = options;
    other.debug = true;
    assert_false(compiled_from_cache(f->context, &other));
    other = options;
    const tile_named block = {text("BLOCK"), text("256")};
    other.constexprs = &block;
    other.constexpr_count = 1;
    assert_false(compiled_from_cache(f->context, &other));
    other = options;
    char changed[sizeof source];
    memcpy(changed, source, sizeof source);
    *strstr(changed, "* factor") = '+';
    other.source.data = changed;
    assert_false(compiled_from_cache(f->context, &other));
    other = options;
    other.no_cache = true;
    assert_false(compiled_from_cache(f->context, &other));
    assert_true(compiled_from_cache(f->context, &options));
}

static void write_file(const char *folder, const char *name, const char *content) {
    char path[256];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs(content, file);
    fclose(file);
}

/* An entry holds only while the files that the source imports are what they were, and where. */
static void cache_watches_imports(void **state) {
    Fixture *f = *state;
    char path[128], include[128], nearer[128];
    snprintf(include, sizeof include, "%s/include", f->folder);
    snprintf(nearer, sizeof nearer, "%s/nearer", f->folder);
    assert_int_equal(mkdir(include, 0777), 0);
    assert_int_equal(mkdir(nearer, 0777), 0);
    write_file(f->folder, "k.tile",
               "import triton\nimport triton.language as tl\nfrom helper import twice\n"
               "@triton.jit\ndef scale(x, n, factor, BLOCK: tl.constexpr):\n"
               "    i = tl.arange(0, BLOCK)\n    tl.store(x + i, twice(tl.load(x + i)))\n");
    static const char helper[] = "import triton\n@triton.jit\ndef twice(x):\n    return x * 2\n";
    write_file(include, "helper.py", helper);
    snprintf(path, sizeof path, "%s/k.tile", f->folder);
    const tile_text folders[] = {text(nearer), text(include)};
    tile_compile_options options = scale_options();
    options.source = (tile_text){0};
    options.path = text(path);
    options.search_paths = folders;
    options.search_path_count = 2;
    assert_false(compiled_from_cache(f->context, &options));
    assert_true(compiled_from_cache(f->context, &options));
    write_file(include, "helper.py",
               "import triton\n@triton.jit\ndef twice(x):\n    return x * 3\n");
    assert_false(compiled_from_cache(f->context, &options));
    assert_true(compiled_from_cache(f->context, &options));
    /* A file that would be found first now. */
    write_file(nearer, "helper.py", helper);
    assert_false(compiled_from_cache(f->context, &options));
    assert_true(compiled_from_cache(f->context, &options));
}

static tile_device *open_device(Fixture *f) {
    tile_device *device = NULL;
    assert_int_equal(tile_device_open(f->context, 0, &device, NULL), TILE_OK);
    return device;
}

static void load_and_launch(void **state) {
    Fixture *f = *state;
    tile_device *device = open_device(f);
    tile_device_info device_info = {.size = sizeof device_info};
    assert_int_equal(tile_device_get_info(device, &device_info), TILE_OK);
    assert_string_equal(device_info.target.data, "sm_90a");
    tile_compile_options options = scale_options();
    options.device = device;
    options.want = 0;
    options.num_warps = 4;
    tile_kernel *kernel = NULL;
    tile_executable *executable = NULL;
    assert_int_equal(tile_compile(f->context, &options, &kernel, NULL), TILE_OK);
    assert_memory_equal(tile_kernel_get_output(kernel, TILE_OUTPUT_CUBIN).data, "\177ELF", 4);
    assert_int_equal(tile_load(kernel, device, &executable, NULL), TILE_OK);
    tile_kernel_destroy(kernel);

    uint64_t address = 0;
    assert_int_equal(tile_memory_allocate(device, 4096, &address, NULL), TILE_OK);
    int32_t n = 1000;
    float factor = 2.5f;
    void *params[] = {&address, &n, &factor};
    memcpy(f->cuda->param_bytes, (unsigned char[]){8, 4, 4}, 3);
    const uint32_t grid[3] = {4, 1, 1};
    assert_int_equal(tile_launch(executable, grid, NULL, params, 3), TILE_OK);
    assert_int_equal(f->cuda->launches, 1);
    assert_int_equal(f->cuda->grid[0], 4);
    assert_int_equal(f->cuda->block[0], 128);
    assert_true(f->cuda->values[0] == address);
    assert_memory_equal(&f->cuda->values[2], &factor, 4);
    assert_int_equal(tile_launch(executable, grid, NULL, params, 2), TILE_ERROR_INVALID_ARGUMENT);
    f->cuda->fail = "cuLaunchKernel";
    f->cuda->fail_result = 700;
    assert_int_equal(tile_launch(executable, grid, NULL, params, 3), TILE_ERROR_DRIVER);
    tile_executable_destroy(executable);
    assert_int_equal(tile_memory_free(device, address), TILE_OK);
    tile_device_close(device);
    assert_int_equal(f->cuda->loads, f->cuda->unloads);
    assert_int_equal(f->cuda->retains, f->cuda->releases);
    assert_int_equal(f->cuda->pushes, f->cuda->pops);
}

static void kernel_for_another_gpu_is_refused(void **state) {
    Fixture *f = *state;
    tile_device *device = open_device(f);
    tile_compile_options options = scale_options();
    options.target = text("sm_80");
    tile_kernel *kernel = NULL;
    tile_executable *executable = NULL;
    tile_diagnostics *diagnostics = NULL;
    assert_int_equal(tile_compile(f->context, &options, &kernel, NULL), TILE_OK);
    assert_int_equal(tile_load(kernel, device, &executable, &diagnostics), TILE_ERROR_NO_DEVICE);
    assert_non_null(strstr(tile_diagnostics_text(diagnostics).data, "sm_80"));
    tile_diagnostics_destroy(diagnostics);
    tile_kernel_destroy(kernel);
    tile_device_close(device);
}

static void device_errors(void **state) {
    Fixture *f = *state;
    tile_device *device = NULL;
    tile_diagnostics *diagnostics = NULL;
    assert_int_equal(tile_device_open(f->context, 3, &device, &diagnostics), TILE_ERROR_NO_DEVICE);
    assert_int_equal(tile_diagnostics_count(diagnostics), 1);
    tile_diagnostics_destroy(diagnostics);
    device = open_device(f);
    uint64_t address;
    assert_int_equal(tile_memory_allocate(device, (size_t)2 << 30, &address, &diagnostics),
                     TILE_ERROR_DEVICE_MEMORY);
    assert_non_null(strstr(tile_diagnostics_text(diagnostics).data, "2147483648 bytes wanted"));
    tile_diagnostics_destroy(diagnostics);
    f->cuda->fail = "cuStreamSynchronize";
    f->cuda->fail_result = 700;
    assert_int_equal(tile_stream_synchronize(device, NULL, &diagnostics), TILE_ERROR_DRIVER);
    assert_non_null(strstr(tile_diagnostics_text(diagnostics).data, "CUDA_ERROR_FAKE"));
    tile_diagnostics_destroy(diagnostics);
    tile_device_close(device);
    const tile_context_options options = {
        .size = sizeof options, .cache_folder = text("none"), .cuda_library = text("/none.so")};
    tile_context *context = NULL;
    assert_int_equal(tile_context_create(&options, &context), TILE_OK);
    assert_int_equal(tile_device_open(context, 0, &device, NULL), TILE_ERROR_NO_DRIVER);
    tile_context_destroy(context);
}

static tile_function *function_of(Fixture *f, const char *kernel) {
    const tile_compile_options options = {
        .size = sizeof options, .path = text("scale.tile"), .source = text(kernel)};
    tile_function *function = NULL;
    assert_int_equal(tile_function_create(f->context, &options, &function, NULL), TILE_OK);
    return function;
}

static tile_function *make_function(Fixture *f) {
    return function_of(f, source);
}

static const tile_executable *instance(tile_function *function, tile_device *device,
                                       uint64_t address, int64_t n, int64_t block) {
    const tile_argument arguments[] = {tile_pointer(address, TILE_FP32), tile_int(n),
                                       tile_float(2.0), tile_constexpr_int(block)};
    const tile_executable *executable = NULL;
    tile_diagnostics *diagnostics = NULL;
    tile_status status =
        tile_function_instance(function, device, arguments, 4, &executable, &diagnostics);
    if (status != TILE_OK)
        fail_msg("%s", tile_diagnostics_text(diagnostics).data);
    tile_diagnostics_destroy(diagnostics);
    return executable;
}

/* The instances are Triton's: multiples of 16, ones, widths of integers, types, constexprs; and
 * integers equal to a constexpr, multiples of 8. */
static void function_specialises(void **state) {
    Fixture *f = *state;
    tile_device *device = open_device(f);
    tile_function *function = make_function(f);
    const tile_executable *base = instance(function, device, 1 << 12, 1004, 1024);
    assert_ptr_equal(base, instance(function, device, 1 << 16, 1002, 1024));
    assert_ptr_not_equal(base, instance(function, device, 1 << 12, 1000, 1024));
    assert_ptr_not_equal(base, instance(function, device, 4100, 1004, 1024));
    assert_ptr_not_equal(base, instance(function, device, 1 << 12, 1008, 1024));
    assert_ptr_not_equal(base, instance(function, device, 1 << 12, 1, 1024));
    assert_ptr_not_equal(base, instance(function, device, 1 << 12, (int64_t)1 << 40, 1024));
    assert_ptr_not_equal(base, instance(function, device, 1 << 12, 1004, 512));
    assert_int_equal(f->cuda->loads, 7);
    assert_ptr_equal(base, instance(function, device, 1 << 12, 1004, 1024));
    assert_int_equal(f->cuda->loads, 7);
    /* Multiples of 8 that are none of 16 are of one kind. */
    const tile_executable *eights = instance(function, device, 1 << 12, 1000, 1024);
    assert_ptr_equal(eights, instance(function, device, 1 << 12, 1016, 1024));
    assert_ptr_not_equal(eights, instance(function, device, 1 << 12, 1008, 1024));
    assert_int_equal(f->cuda->loads, 7);
    /* An integer equal to a constexpr is one of its own, and of that value only. */
    const tile_executable *multiple = instance(function, device, 1 << 12, 1008, 1024);
    const tile_executable *equal = instance(function, device, 1 << 12, 1024, 1024);
    assert_ptr_not_equal(equal, multiple);
    assert_ptr_equal(multiple, instance(function, device, 1 << 12, 512, 1024));
    assert_ptr_not_equal(equal, instance(function, device, 1 << 12, 512, 512));
    assert_ptr_equal(equal, instance(function, device, 1 << 16, 1024, 1024));
    assert_int_equal(f->cuda->loads, 9);
    tile_function_destroy(function);
    tile_device_close(device);
    assert_int_equal(f->cuda->loads, f->cuda->unloads);
}

/* Constexprs of the options count as those of the call do. */
static void function_specialises_on_options(void **state) {
    Fixture *f = *state;
    tile_device *device = open_device(f);
    tile_compile_options options = scale_options();
    const tile_named block = {text("BLOCK"), text("1024")};
    options.signature = (tile_text){0};
    options.constexprs = &block;
    options.constexpr_count = 1;
    tile_function *function = NULL;
    assert_int_equal(tile_function_create(f->context, &options, &function, NULL), TILE_OK);
    const tile_executable *made[3];
    static const int64_t sizes[] = {1008, 1024, 2048};
    for (int i = 0; i < 3; i++) {
        const tile_argument arguments[] = {tile_pointer(1 << 12, TILE_FP32), tile_int(sizes[i]),
                                           tile_float(2.0)};
        assert_int_equal(tile_function_instance(function, device, arguments, 3, &made[i], NULL),
                         TILE_OK);
    }
    assert_ptr_equal(made[0], made[2]);
    assert_ptr_not_equal(made[0], made[1]);
    tile_function_destroy(function);
    tile_device_close(device);
}

static void function_launches(void **state) {
    Fixture *f = *state;
    tile_device *device = open_device(f);
    tile_function *function = make_function(f);
    const tile_argument arguments[] = {tile_pointer(0x1000, TILE_FP32), tile_int(-3),
                                       tile_float(0.5), tile_constexpr(text("1024"))};
    memcpy(f->cuda->param_bytes, (unsigned char[]){8, 4, 4}, 3);
    const uint32_t grid[3] = {8, 1, 1};
    assert_int_equal(tile_function_launch(function, device, grid, NULL, arguments, 4, NULL),
                     TILE_OK);
    assert_int_equal(f->cuda->launches, 1);
    assert_true(f->cuda->values[0] == 0x1000);
    assert_int_equal((int32_t)f->cuda->values[1], -3);
    float half = 0.5f;
    assert_memory_equal(&f->cuda->values[2], &half, 4);
    assert_int_equal(tile_function_launch(function, device, grid, NULL, arguments, 3, NULL),
                     TILE_ERROR_INVALID_ARGUMENT);
    tile_function_destroy(function);
    tile_device_close(device);
}

/* Parameters with a default may be left out from the end; those without one are owed. */
static void function_takes_defaults(void **state) {
    Fixture *f = *state;
    static const char with_defaults[] =
        "import triton\nimport triton.language as tl\n"
        "@triton.jit\ndef shift(x, n, BLOCK: tl.constexpr = 64, BY: tl.constexpr = 1):\n"
        "    i = tl.arange(0, BLOCK)\n    tl.store(x + i, i + BY, mask=i < n)\n";
    tile_function *function = function_of(f, with_defaults);
    tile_device *device = open_device(f);
    const tile_argument arguments[] = {tile_pointer(0x1000, TILE_I32), tile_int(50),
                                       tile_constexpr_int(64), tile_constexpr_int(3)};
    const uint32_t grid[3] = {1, 1, 1};
    memcpy(f->cuda->param_bytes, (unsigned char[]){8, 4}, 2);
    for (size_t count = 2; count <= 4; count++)
        assert_int_equal(tile_function_launch(function, device, grid, NULL, arguments, count, NULL),
                         TILE_OK);
    assert_int_equal(f->cuda->launches, 3);
    assert_int_equal(tile_function_launch(function, device, grid, NULL, arguments, 1, NULL),
                     TILE_ERROR_INVALID_ARGUMENT);
    assert_int_equal(tile_function_launch(function, device, grid, NULL, arguments, 5, NULL),
                     TILE_ERROR_INVALID_ARGUMENT);
    tile_function_destroy(function);
    tile_device_close(device);
}

static void function_reports_what_the_call_makes_wrong(void **state) {
    Fixture *f = *state;
    tile_device *device = open_device(f);
    tile_function *function = make_function(f);
    const tile_argument arguments[] = {tile_pointer(0x1000, TILE_FP32), tile_int(3),
                                       tile_float(0.5), tile_constexpr_int(1000)};
    const uint32_t grid[3] = {8, 1, 1};
    tile_diagnostics *diagnostics = NULL;
    assert_int_equal(tile_function_launch(function, device, grid, NULL, arguments, 4, &diagnostics),
                     TILE_ERROR_SOURCE);
    assert_int_equal(tile_diagnostics_count(diagnostics), 1);
    tile_diagnostics_destroy(diagnostics);
    tile_compile_options options = scale_options();
    options.signature = (tile_text){0};
    options.kernel = text("scales");
    tile_function *other = NULL;
    assert_int_equal(tile_function_create(f->context, &options, &other, &diagnostics),
                     TILE_ERROR_SOURCE);
    assert_non_null(strstr(tile_diagnostics_text(diagnostics).data, "scale"));
    tile_diagnostics_destroy(diagnostics);
    tile_function_destroy(function);
    tile_device_close(device);
}

/* A call that is refused says what of it is wrong. */
static void refused_arguments_are_named(void **state) {
    Fixture *f = *state;
    const tile_argument good[] = {tile_pointer(0x1000, TILE_FP32), tile_int(3), tile_float(0.5),
                                  tile_constexpr_int(1024), tile_int(1)};
    const struct {
        size_t count, at;
        tile_argument argument;
        const char *id, *says;
    } cases[] = {
        {3, 0, good[0], "call_argument_count", "takes 4 to 4 arguments, and 3 were given"},
        {5, 0, good[0], "call_argument_count", "and 5 were given"},
        {4, 1, {.kind = (tile_argument_kind)77}, "call_argument", "argument 2 ('n') of 'scale'"},
        {4, 0, tile_pointer(0, TILE_DTYPE_AUTO), "call_argument", "argument 1 ('x')"},
        {4, 0, tile_pointer(0, (tile_dtype)99), "call_argument", "no type 99"},
        {4, 1, {.kind = TILE_ARGUMENT_INT, .type = TILE_FP16}, "call_argument", "as fp16"},
        {4, 2, {.kind = TILE_ARGUMENT_FLOAT, .type = TILE_I32}, "call_argument", "not as i32"},
        {4, 3, tile_constexpr((tile_text){"1", 100000}), "call_argument", "too long"},
    };
    const uint32_t grid[3] = {1, 1, 1};
    tile_function *function = make_function(f);
    tile_device *device = open_device(f);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        tile_argument arguments[5];
        memcpy(arguments, good, sizeof arguments);
        arguments[cases[i].at] = cases[i].argument;
        for (int k = 0; k < 2; k++) {
            tile_diagnostics *said = NULL;
            const tile_executable *executable;
            tile_status status = k ? tile_function_instance(function, device, arguments,
                                                            cases[i].count, &executable, &said)
                                   : tile_function_launch(function, device, grid, NULL, arguments,
                                                          cases[i].count, &said);
            tile_diagnostic only = {.size = sizeof only};
            assert_int_equal(status, TILE_ERROR_INVALID_ARGUMENT);
            assert_int_equal(tile_diagnostics_get(said, 0, &only), TILE_OK);
            assert_string_equal(only.id.data, cases[i].id);
            assert_non_null(strstr(only.message.data, cases[i].says));
            tile_diagnostics_destroy(said);
        }
    }
    tile_function_destroy(function);
    tile_device_close(device);
}

/* What is given for a parameter fits or is an error of the caller, the second time as the first. */
static void function_takes_or_refuses_every_kind(void **state) {
    Fixture *f = *state;
    static const char mixed[] =
        "import triton\nimport triton.language as tl\n"
        "@triton.jit\ndef mixed(x, n, factor, BLOCK: tl.constexpr, by=1):\n"
        "    i = tl.arange(0, BLOCK)\n"
        "    tl.store(x + i, tl.load(x + i, mask=i < n) * factor + by, mask=i < n)\n";
    const tile_argument good[] = {tile_pointer(0x1000, TILE_FP32), tile_int(50), tile_float(2),
                                  tile_constexpr_int(64), tile_int(3)};
    const tile_argument unknown = {.kind = (tile_argument_kind)77};
    const tile_argument kinds[] = {unknown,
                                   tile_pointer(0, TILE_FP16),
                                   tile_pointer(0x1001, TILE_I1),
                                   tile_int(1),
                                   tile_int(INT64_MIN),
                                   tile_float(0.5),
                                   tile_constexpr_int(32),
                                   tile_constexpr_int(-1),
                                   tile_constexpr(text("None")),
                                   tile_constexpr(text("")),
                                   tile_constexpr(text("x[0]"))};
    tile_function *function = function_of(f, mixed);
    tile_device *device = open_device(f);
    unsigned taken = 0;
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        for (size_t at = 0; at < 5; at++) {
            tile_argument arguments[5];
            memcpy(arguments, good, sizeof arguments);
            arguments[at] = kinds[i];
            const uint32_t grid[3] = {1, 1, 1};
            tile_status status[2];
            for (int k = 0; k < 2; k++)
                status[k] = tile_function_launch(function, device, grid, NULL, arguments, 5, NULL);
            assert_int_equal(status[0], status[1]);
            assert_true(status[0] == TILE_OK || status[0] == TILE_ERROR_SOURCE ||
                        status[0] == TILE_ERROR_INVALID_ARGUMENT);
            taken += status[0] == TILE_OK;
        }
    assert_int_equal(f->cuda->launches, 2 * taken);
    tile_function_destroy(function);
    tile_device_close(device);
}

static void function_without_a_name(void **state) {
    Fixture *f = *state;
    static const char with_helper[] =
        "import triton\nimport triton.language as tl\n"
        "@triton.jit\ndef twice(x):\n    return x * 2\n"
        "@triton.jit\ndef double(x, BLOCK: tl.constexpr):\n"
        "    i = tl.arange(0, BLOCK)\n    tl.store(x + i, twice(tl.load(x + i)))\n";
    tile_function *function = function_of(f, with_helper);
    assert_non_null(function);
    tile_device *device = open_device(f);
    const tile_argument arguments[] = {tile_pointer(0x1000, TILE_FP32), tile_constexpr_int(64)};
    const uint32_t grid[3] = {1, 1, 1};
    assert_int_equal(tile_function_launch(function, device, grid, NULL, arguments, 2, NULL),
                     TILE_OK);
    assert_string_equal(f->cuda->function, "double");
    tile_function_destroy(function);
    tile_device_close(device);
}

/* Many instances, so that the table grows, from several threads at once. */
typedef struct Worker {
    tile_function *function;
    tile_device *device;
    const tile_executable *instances[8];
    pthread_t thread;
} Worker;

static void *use_function(void *argument) {
    Worker *worker = argument;
    for (int round = 0; round < 3; round++)
        for (int i = 0; i < 8; i++)
            worker->instances[i] =
                instance(worker->function, worker->device, 0x1000, 1000, (int64_t)16 << i);
    return NULL;
}

static void threads_share_instances(void **state) {
    enum { THREADS = 4 };
    Fixture *f = *state;
    tile_device *device = open_device(f);
    tile_function *function = make_function(f);
    Worker workers[THREADS];
    for (int i = 0; i < THREADS; i++) {
        workers[i] = (Worker){.function = function, .device = device};
        assert_int_equal(pthread_create(&workers[i].thread, NULL, use_function, &workers[i]), 0);
    }
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_join(workers[i].thread, NULL), 0);
    for (int i = 1; i < THREADS; i++)
        assert_memory_equal(workers[0].instances, workers[i].instances,
                            sizeof workers[0].instances);
    assert_int_equal(f->cuda->loads, 8);
    tile_function_destroy(function);
    tile_device_close(device);
}

static void shorter_structs_are_taken(void **state) {
    Fixture *f = *state;
    tile_compile_options options = scale_options();
    /* As a program built with an older header would pass it: nothing after the signature. */
    options.size = offsetof(tile_compile_options, types);
    options.num_warps = 77;
    assert_int_equal(compile_status(f->context, &options), TILE_OK);
    tile_device_info info = {.size = offsetof(tile_device_info, target)};
    memset((char *)&info + info.size, 0x5a, sizeof info - info.size);
    tile_device *device = open_device(f);
    assert_int_equal(tile_device_get_info(device, &info), TILE_OK);
    assert_string_equal(info.name.data, "Fake 70");
    assert_int_equal(info.sm_count, 0x5a5a5a5a);
    tile_device_close(device);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(compile_gives_code_and_facts),
        TEST(warnings_are_chosen),
        TEST(mistakes_are_diagnostics),
        TEST(status_says_what_kind),
        TEST(memory_limit_is_a_status),
        TEST(cache_answers_the_same_question_only),
        TEST(cache_watches_imports),
        TEST(load_and_launch),
        TEST(kernel_for_another_gpu_is_refused),
        TEST(device_errors),
        TEST(function_specialises),
        TEST(function_specialises_on_options),
        TEST(function_launches),
        TEST(function_takes_defaults),
        TEST(function_reports_what_the_call_makes_wrong),
        TEST(refused_arguments_are_named),
        TEST(function_takes_or_refuses_every_kind),
        TEST(function_without_a_name),
        TEST(threads_share_instances),
        TEST(shorter_structs_are_taken),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
