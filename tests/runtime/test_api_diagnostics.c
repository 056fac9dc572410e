/* What a diagnostic of the public API says besides its text: amounts, programs, notes. */
#include "api_testing.h"

static const char kernels[] =
    "import triton\nimport triton.language as tl\n\n"
    "@triton.jit\n"
    "def product(a, b, c, BLOCK: tl.constexpr):\n"
    "    i = tl.arange(0, BLOCK)\n"
    "    at = i[:, None] * BLOCK + i[None, :]\n"
    "    total = tl.zeros((BLOCK, BLOCK), tl.float32)\n"
    "    for k in range(0, 8):\n"
    "        total = tl.dot(tl.load(a + at + k), tl.load(b + at + k), total)\n"
    "    tl.store(c + at, total)\n\n"
    "@triton.jit\n"
    "def copy(x, y, n, BLOCK: tl.constexpr):\n"
    "    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)\n"
    "    tl.store(y + i, tl.load(x + i, mask=i < n))\n\n"
    "@triton.jit\n"
    "def race(x):\n"
    "    tl.store(x, tl.program_id(1).to(tl.float32))\n";

static uint32_t line_of(const char *words) {
    uint32_t line = 1;
    for (const char *at = strstr(kernels, words); at > kernels; at--)
        line += at[-1] == '\n';
    return line;
}

static tile_compile_options options_of(const char *kernel) {
    return (tile_compile_options){.size = sizeof(tile_compile_options),
                                  .path = text("kernels.tile"),
                                  .source = text(kernels),
                                  .kernel = text(kernel),
                                  .want = TILE_WANT(TILE_OUTPUT_PTX)};
}

/* The first of that id. */
static tile_diagnostic first(const tile_diagnostics *said, const char *id) {
    tile_diagnostic item = {.size = sizeof item};
    for (size_t i = 0; tile_diagnostics_get(said, i, &item) == TILE_OK; i++)
        if (!strcmp(item.id.data, id))
            return item;
    fail_msg("no %s: %s", id, tile_diagnostics_text(said).data);
    return item;
}

static tile_diagnostic note_with(tile_diagnostic item, const char *id, const char *words) {
    for (size_t i = 0; i < item.note_count; i++)
        if (!strcmp(item.notes[i]->id.data, id) && strstr(item.notes[i]->message.data, words))
            return *item.notes[i];
    fail_msg("no %s \"%s\": %s", id, words, item.rendered.data);
    return item;
}

/* In this process, where it is said, and in a worker's, which sends it. */
static void excess_of_shared_memory_is_a_number(void **state) {
    Fixture *f = *state;
    for (int isolated = 0; isolated < 2; isolated++) {
        tile_compile_options options = options_of("product");
        tile_kernel *kernel = NULL;
        tile_diagnostics *said = NULL;
        options.signature = text("*fp16:16, *fp16:16, *fp32:16, 128");
        options.num_stages = 3;
        options.max_shared = 4000;
        options.isolated = isolated;
        assert_int_equal(tile_compile(f->context, &options, &kernel, &said), TILE_ERROR_SOURCE);
        const tile_diagnostic item = first(said, "shared_exceeded");
        assert_int_equal(item.limit, 4000);
        assert_true(item.required > item.limit);
        char words[40];
        snprintf(words, sizeof words, "needs %llu bytes", (unsigned long long)item.required);
        assert_non_null(strstr(item.message.data, words));
        assert_false(item.has_program);
        note_with(item, "hint", "blocks smaller");
        snprintf(words, sizeof words, "\"required\": %llu, \"limit\": 4000",
                 (unsigned long long)item.required);
        assert_non_null(strstr(tile_diagnostics_json(said).data, words));
        tile_diagnostics_destroy(said);
    }
}

static void so_is_that_of_devices(void **state) {
    Fixture *f = *state;
    tile_device *device = open_device(f);
    tile_diagnostics *said = NULL;
    uint64_t address = 0;
    assert_int_equal(tile_memory_allocate(device, (size_t)2 << 30, &address, &said),
                     TILE_ERROR_DEVICE_MEMORY);
    tile_diagnostic item = first(said, "device_memory");
    assert_int_equal(item.required, (uint64_t)2 << 30);
    assert_int_equal(item.limit, 1 << 30);
    assert_int_equal(item.note_count, 0);
    tile_diagnostics_destroy(said);

    tile_compile_options options = options_of("product");
    options.signature = text("*fp16:16, *fp16:16, *fp32:16, 128");
    options.num_stages = 3;
    options.device = device;
    tile_kernel *kernel = NULL;
    tile_executable *executable = NULL;
    tile_kernel_info info = {.size = sizeof info};
    assert_int_equal(tile_compile(f->context, &options, &kernel, NULL), TILE_OK);
    assert_int_equal(tile_kernel_get_info(kernel, &info), TILE_OK);
    tile_device_close(device);
    f->cuda->shared_per_block = 50000;
    device = open_device(f);
    assert_int_equal(tile_load(kernel, device, &executable, &said), TILE_ERROR_NO_DEVICE);
    item = first(said, "load_shared");
    assert_int_equal(item.required, info.shared_bytes);
    assert_int_equal(item.limit, 50000);
    tile_diagnostics_destroy(said);
    tile_kernel_destroy(kernel);
    tile_device_close(device);
}

static tile_diagnostics *call_on_host(Fixture *f, tile_host_kind kind, const char *kernel,
                                      const uint32_t grid[3], const tile_argument *arguments,
                                      size_t count) {
    const tile_host_options host = {.size = sizeof host, .kind = kind};
    const tile_compile_options options = options_of(kernel);
    tile_device *device = NULL;
    tile_function *function = NULL;
    tile_diagnostics *said = NULL;
    assert_int_equal(tile_device_open_host(f->context, &host, &device, NULL), TILE_OK);
    assert_int_equal(tile_function_create(f->context, &options, &function, NULL), TILE_OK);
    const tile_call call = {.size = sizeof call,
                            .device = device,
                            .grid = grid,
                            .arguments = arguments,
                            .argument_count = count};
    assert_int_equal(tile_function_call(function, &call, NULL, &said), TILE_ERROR_KERNEL);
    tile_function_destroy(function);
    tile_device_close(device);
    return said;
}

static void findings_say_the_program(void **state) {
    static const struct {
        tile_host_kind kind;
        const char *id, *json;
    } cases[] = {{TILE_HOST_INTERPRETER, "interp_bounds", "\"program\": [2, 0, 0]"},
                 {TILE_HOST_SIMULATOR, "sim_out_of_bounds", "\"program\": ["}};
    static float memory[1024]; /* what lies behind an array is none */
    float *const x = memory + 500, *const y = memory + 100;
    const tile_argument arguments[] = {tile_buffer((uint64_t)(uintptr_t)x, TILE_FP32, 128),
                                       tile_buffer((uint64_t)(uintptr_t)y, TILE_FP32, 128),
                                       tile_int(60), tile_constexpr_int(16)};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        tile_diagnostics *said =
            call_on_host(*state, cases[i].kind, "copy", (uint32_t[]){3, 1, 1}, arguments, 4);
        const tile_diagnostic item = first(said, cases[i].id);
        char words[40];
        assert_true(item.has_program);
        snprintf(words, sizeof words, "program (%u, %u, %u)", item.program[0], item.program[1],
                 item.program[2]);
        assert_non_null(strstr(item.message.data, words));
        assert_non_null(strstr(tile_diagnostics_json(said).data, cases[i].json));
        assert_int_equal(item.line, line_of("tl.load(x + i, mask"));
        assert_int_equal(item.required, 0);
        tile_diagnostics_destroy(said);
    }
}

static void notes_are_the_other_side(void **state) {
    float x[1] = {0}, y[16];
    const tile_argument race[] = {tile_buffer((uint64_t)(uintptr_t)x, TILE_FP32, sizeof x)};
    tile_diagnostics *said =
        call_on_host(*state, TILE_HOST_SIMULATOR, "race", (uint32_t[]){1, 2, 1}, race, 1);
    tile_diagnostic item = first(said, "sim_global_race"), note;
    assert_int_equal(item.program[1], 1);
    note = note_with(item, "note", "program (0, 0, 0)");
    assert_int_equal(note.line > 0, 1);
    note = note_with(item, "note", "that was compiled from here");
    assert_string_equal(note.path.data, "kernels.tile");
    assert_int_equal(note.line, line_of("tl.store(x, tl.program_id(1)"));
    assert_true(note.column > 1 && note.end_line >= note.line);
    tile_diagnostics_destroy(said);

    float all[16] = {0};
    const tile_argument hole[] = {tile_buffer((uint64_t)(uintptr_t)all, TILE_FP32, sizeof all),
                                  tile_buffer((uint64_t)(uintptr_t)y, TILE_FP32, sizeof y),
                                  tile_int(10), tile_constexpr_int(16)};
    said = call_on_host(*state, TILE_HOST_INTERPRETER, "copy", (uint32_t[]){1, 1, 1}, hole, 4);
    item = first(said, "interp_undefined");
    assert_true(item.has_program);
    note = note_with(item, "hint", "other=0.0");
    assert_int_equal(note.path.size, 0);
    assert_int_equal(note.line, 0);
    tile_diagnostics_destroy(said);
}

/* A program that was built when diagnostics were shorter. */
static void shorter_ones_are_filled(void **state) {
    Fixture *f = *state;
    tile_device *device = open_device(f);
    tile_diagnostics *said = NULL;
    uint64_t address = 0;
    struct {
        tile_diagnostic item;
        char behind[8];
    } shorter;
    memset(&shorter, 0x5a, sizeof shorter);
    shorter.item.size = offsetof(tile_diagnostic, required);
    assert_int_equal(tile_memory_allocate(device, (size_t)2 << 30, &address, &said),
                     TILE_ERROR_DEVICE_MEMORY);
    assert_int_equal(tile_diagnostics_get(said, 0, &shorter.item), TILE_OK);
    assert_string_equal(shorter.item.id.data, "device_memory");
    assert_int_equal(shorter.item.required, 0x5a5a5a5a5a5a5a5a);
    tile_diagnostics_destroy(said);
    tile_device_close(device);
}

int main(void) {
    setenv("TILEC_WORKER", TILEC_PROGRAM, 1);
    const struct CMUnitTest tests[] = {TEST(excess_of_shared_memory_is_a_number),
                                       TEST(so_is_that_of_devices), TEST(findings_say_the_program),
                                       TEST(notes_are_the_other_side),
                                       TEST(shorter_ones_are_filled)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
