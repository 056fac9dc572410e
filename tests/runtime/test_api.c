/* The public API as a program uses it, on the driver of fake_cuda.c: compiling, the cache, loading
 * and launching. Functions that specialise are in test_api_function.c. */
#include "api_testing.h"

#include <sys/stat.h>

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
    assert_string_equal(param.type.data, "256");
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

/* "native" is what runs on GPU 0, or says why there is none. */
static void native_target_is_of_this_machine(void **state) {
    static const struct {
        int major, minor, devices;
        tile_status status;
        const char *target;
    } cases[] = {{9, 0, 1, TILE_OK, "sm_90a"},
                 {10, 3, 1, TILE_OK, "sm_103a"},
                 {11, 0, 1, TILE_ERROR_NO_DEVICE, NULL},
                 {9, 0, 0, TILE_ERROR_NO_DEVICE, NULL}};
    Fixture *f = *state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        tile_compile_options options = scale_options();
        tile_kernel *kernel = NULL;
        options.target = text("native");
        f->cuda->major = cases[i].major;
        f->cuda->minor = cases[i].minor;
        f->cuda->device_count = cases[i].devices;
        assert_int_equal(tile_compile(f->context, &options, &kernel, NULL), cases[i].status);
        if (!cases[i].target)
            continue;
        tile_kernel_info info = {.size = sizeof info};
        assert_int_equal(tile_kernel_get_info(kernel, &info), TILE_OK);
        assert_string_equal(info.target.data, cases[i].target);
        tile_kernel_destroy(kernel);
    }
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
    other.signature = text("*fp32:16, i32:16, fp32, 256");
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
    other.no_fp_fusion = true;
    assert_false(compiled_from_cache(f->context, &other));
    other = options;
    other.deterministic = true;
    assert_false(compiled_from_cache(f->context, &other));
    other = options;
    other.debug = true;
    assert_false(compiled_from_cache(f->context, &other));
    other = options;
    const tile_named block = {text("BLOCK"), text("128")};
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
    write_file(nearer, "helper.py",
               "import triton\n@triton.jit\ndef twice(x):\n    return x * 4\n");
    assert_false(compiled_from_cache(f->context, &options));
    assert_true(compiled_from_cache(f->context, &options));
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
    assert_int_equal(tile_launch(executable, grid, NULL, params, 3), TILE_ERROR_KERNEL);
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
    assert_int_equal(tile_stream_synchronize(device, NULL, &diagnostics), TILE_ERROR_KERNEL);
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

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(compile_gives_code_and_facts),
        TEST(warnings_are_chosen),
        TEST(mistakes_are_diagnostics),
        TEST(status_says_what_kind),
        TEST(native_target_is_of_this_machine),
        TEST(memory_limit_is_a_status),
        TEST(cache_answers_the_same_question_only),
        TEST(cache_watches_imports),
        TEST(load_and_launch),
        TEST(kernel_for_another_gpu_is_refused),
        TEST(device_errors),
        TEST(shorter_structs_are_taken),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
