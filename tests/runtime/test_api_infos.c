/* What the public API says of devices, memory and loaded kernels; kernels as bytes. */
#include "api_testing.h"

static void devices_say_what_they_have(void **state) {
    Fixture *f = *state;
    tile_device *device = open_device(f);
    tile_device_info info = {.size = sizeof info};
    assert_int_equal(tile_device_get_info(device, &info), TILE_OK);
    assert_int_equal(info.shared_per_block, 232448);
    assert_int_equal(info.warp_size, 32);
    assert_int_equal(info.memory_bus_bits, 5120);
    assert_int_equal(info.registers_per_block, 1024);
    assert_int_equal(info.registers_per_sm, 1024);
    assert_int_equal(info.clock_khz, 1024);
    assert_int_equal(info.memory_clock_khz, 1024);
    tile_device_close(device);
}

static tile_memory_info info_of(tile_device *device, uint64_t address) {
    tile_memory_info info = {.size = sizeof info};
    assert_int_equal(tile_memory_get_info(device, address, &info), TILE_OK);
    return info;
}

static void memory_says_whose_it_is(void **state) {
    Fixture *f = *state;
    tile_device *device = open_device(f);
    uint64_t address = 0;
    assert_int_equal(tile_memory_allocate(device, 1000, &address, NULL), TILE_OK);
    tile_memory_info info = info_of(device, address + 8);
    assert_int_equal(info.kind, TILE_MEMORY_DEVICE);
    assert_int_equal(info.ordinal, 0);
    assert_int_equal(info.device_address, address + 8);
    assert_int_equal(info.begin, address);
    assert_int_equal(info.bytes, 1000);
    f->cuda->memory_type = CUDA_MEMORY_HOST;
    assert_int_equal(info_of(device, address).kind, TILE_MEMORY_PINNED);
    f->cuda->is_managed = 1;
    assert_int_equal(info_of(device, address).kind, TILE_MEMORY_MANAGED);

    info = info_of(device, (uint64_t)(uintptr_t)&info);
    assert_int_equal(info.kind, TILE_MEMORY_UNKNOWN);
    assert_int_equal(info.ordinal, -1);
    assert_int_equal(info.device_address, 0);
    assert_int_equal(info.bytes, 0);
    /* As drivers say of addresses that they know nothing of, attribute by attribute. */
    f->cuda->fail = "cuPointerGetAttributes";
    f->cuda->fail_result = CUDA_INVALID_VALUE;
    assert_int_equal(info_of(device, address).kind, TILE_MEMORY_UNKNOWN);
    f->cuda->fail_result = 719;
    assert_int_equal(tile_memory_get_info(device, address, &info), TILE_ERROR_KERNEL);
    f->cuda->fail = NULL;
    info.size = 0;
    assert_int_equal(tile_memory_get_info(device, address, &info), TILE_ERROR_INVALID_ARGUMENT);
    assert_int_equal(tile_memory_get_info(device, address, NULL), TILE_ERROR_INVALID_ARGUMENT);
    assert_int_equal(tile_memory_get_info(NULL, address, &info), TILE_ERROR_INVALID_ARGUMENT);
    assert_int_equal(tile_memory_free(device, address), TILE_OK);
    tile_device_close(device);
}

static tile_kernel *compile(Fixture *f, uint32_t want) {
    tile_compile_options options = scale_options();
    tile_kernel *kernel = NULL;
    options.want = want;
    assert_int_equal(tile_compile(f->context, &options, &kernel, NULL), TILE_OK);
    return kernel;
}

static void executables_show_their_handles(void **state) {
    Fixture *f = *state;
    tile_device *device = open_device(f);
    tile_kernel *kernel = compile(f, TILE_WANT(TILE_OUTPUT_PTX));
    tile_executable *executable = NULL;
    tile_executable_info info = {.size = sizeof info};
    assert_int_equal(tile_load(kernel, device, &executable, NULL), TILE_OK);
    assert_int_equal(tile_executable_get_info(executable, &info), TILE_OK);
    assert_int_equal(info.registers, 40);
    assert_int_equal(info.max_threads, 512);
    assert_ptr_equal(info.module, (void *)0x2000); /* as the driver gave them */
    assert_ptr_equal(info.function, (void *)0x3000);
    tile_executable_destroy(executable);
    tile_kernel_destroy(kernel);
    tile_device_close(device);
}

static void the_build_has_a_name(void **state) {
    const char *id = tile_build_id();
    assert_int_equal(strspn(id, "0123456789abcdef"), 32);
    assert_int_equal(strlen(id), 32);
}

/* Packing */

typedef struct Packed {
    unsigned char *bytes;
    size_t size;
} Packed;

static Packed pack(const tile_kernel *kernel) {
    Packed packed = {0};
    assert_int_equal(tile_kernel_pack(kernel, NULL, &packed.size), TILE_OK);
    assert_true(packed.size > 0);
    packed.bytes = malloc(packed.size);
    assert_int_equal(tile_kernel_pack(kernel, packed.bytes, &packed.size), TILE_OK);
    return packed;
}

static void expect_same(const tile_kernel *kernel, const tile_kernel *again) {
    tile_kernel_info a = {.size = sizeof a}, b = {.size = sizeof b};
    assert_int_equal(tile_kernel_get_info(kernel, &a), TILE_OK);
    assert_int_equal(tile_kernel_get_info(again, &b), TILE_OK);
    assert_string_equal(a.name.data, b.name.data);
    assert_string_equal(a.target.data, b.target.data);
    assert_int_equal(a.threads, b.threads);
    assert_int_equal(a.shared_bytes, b.shared_bytes);
    assert_int_equal(a.assembled, b.assembled);
    assert_int_equal(a.param_count, b.param_count);
    for (size_t i = 0; i < a.param_count; i++) {
        tile_param_info x = {.size = sizeof x}, y = {.size = sizeof y};
        assert_int_equal(tile_kernel_get_param(kernel, i, &x), TILE_OK);
        assert_int_equal(tile_kernel_get_param(again, i, &y), TILE_OK);
        assert_string_equal(x.name.data, y.name.data);
        assert_string_equal(x.type.data, y.type.data);
        assert_int_equal(x.is_constexpr, y.is_constexpr);
        assert_int_equal(x.divisible, y.divisible);
    }
    for (int i = 0; i <= TILE_OUTPUT_META; i++) {
        const tile_text x = tile_kernel_get_output(kernel, (tile_output)i),
                        y = tile_kernel_get_output(again, (tile_output)i);
        assert_int_equal(x.size, y.size);
        assert_memory_equal(x.data, y.data, x.size);
    }
}

/* In another context, after the first one's kernel is gone. */
static void packed_kernels_come_back(void **state) {
    Fixture *f = *state;
    tile_kernel *kernel =
        compile(f, TILE_WANT(TILE_OUTPUT_AST) | TILE_WANT(TILE_OUTPUT_TIR) |
                       TILE_WANT(TILE_OUTPUT_TIR_FINAL) | TILE_WANT(TILE_OUTPUT_LL_BEFORE) |
                       TILE_WANT(TILE_OUTPUT_LL) | TILE_WANT(TILE_OUTPUT_META));
    Packed packed = pack(kernel);
    /* It may begin anywhere, and nothing is kept of it. */
    unsigned char *moved = malloc(packed.size + 1);
    tile_context *other = make_context("none");
    tile_kernel *again = NULL;
    memcpy(moved + 1, packed.bytes, packed.size);
    assert_int_equal(tile_kernel_unpack(other, moved + 1, packed.size, &again, NULL), TILE_OK);
    memset(moved, 0, packed.size + 1);
    free(moved);
    expect_same(kernel, again);
    assert_true(tile_kernel_get_output(again, TILE_OUTPUT_LL_BEFORE).size > 0);
    assert_int_equal(tile_kernel_get_output(again, TILE_OUTPUT_CUBIN).size, 0);
    Packed twice = pack(again);
    assert_int_equal(twice.size, packed.size);
    assert_memory_equal(twice.bytes, packed.bytes, packed.size);
    tile_kernel_destroy(kernel);

    tile_device *device = NULL;
    tile_executable *executable = NULL;
    assert_int_equal(tile_device_open(other, 0, &device, NULL), TILE_OK);
    assert_int_equal(tile_load(again, device, &executable, NULL), TILE_OK);
    uint64_t x = 256;
    int32_t n = 4;
    float factor = 2;
    void *params[] = {&x, &n, &factor};
    assert_int_equal(tile_launch(executable, (uint32_t[]){3, 1, 1}, NULL, params, 3), TILE_OK);
    assert_int_equal(f->cuda->launches, 1);
    tile_executable_destroy(executable);
    tile_device_close(device);
    tile_kernel_destroy(again);
    tile_context_destroy(other);
    free(packed.bytes);
    free(twice.bytes);
}

static void packing_writes_whole_kernels_alone(void **state) {
    Fixture *f = *state;
    tile_kernel *kernel = compile(f, TILE_WANT(TILE_OUTPUT_PTX));
    Packed packed = pack(kernel);
    size_t size = packed.size - 1;
    memset(packed.bytes, 0x5a, packed.size);
    assert_int_equal(tile_kernel_pack(kernel, packed.bytes, &size), TILE_ERROR_INVALID_ARGUMENT);
    assert_int_equal(size, packed.size);
    for (size_t i = 0; i < packed.size; i++)
        assert_int_equal(packed.bytes[i], 0x5a);
    assert_int_equal(tile_kernel_pack(NULL, NULL, &size), TILE_ERROR_INVALID_ARGUMENT);
    assert_int_equal(tile_kernel_pack(kernel, NULL, NULL), TILE_ERROR_INVALID_ARGUMENT);
    tile_kernel_destroy(kernel);
    free(packed.bytes);
}

static void expect_refused(Fixture *f, const void *bytes, size_t size) {
    tile_kernel *kernel = NULL;
    tile_diagnostics *diagnostics = NULL;
    tile_diagnostic item = {.size = sizeof item};
    assert_int_equal(tile_kernel_unpack(f->context, bytes, size, &kernel, &diagnostics),
                     TILE_ERROR_INVALID_ARGUMENT);
    assert_null(kernel);
    assert_int_equal(tile_diagnostics_get(diagnostics, 0, &item), TILE_OK);
    assert_string_equal(item.id.data, "kernel_unpacked");
    tile_diagnostics_destroy(diagnostics);
}

static void damage_is_refused(void **state) {
    Fixture *f = *state;
    tile_kernel *kernel = compile(f, TILE_WANT(TILE_OUTPUT_PTX));
    Packed packed = pack(kernel);
    expect_refused(f, NULL, 0);
    expect_refused(f, "tilec", 5);
    for (size_t size = 0; size < packed.size; size += 1 + packed.size / 50)
        expect_refused(f, packed.bytes, size);
    for (size_t at = 0; at < packed.size; at += 1 + packed.size / 50) {
        packed.bytes[at] ^= 0x10;
        expect_refused(f, packed.bytes, packed.size);
        packed.bytes[at] ^= 0x10;
    }
    tile_kernel *again = NULL;
    assert_int_equal(tile_kernel_unpack(f->context, packed.bytes, packed.size, &again, NULL),
                     TILE_OK);
    assert_int_equal(tile_kernel_unpack(f->context, packed.bytes, packed.size, NULL, NULL),
                     TILE_ERROR_INVALID_ARGUMENT);
    assert_int_equal(tile_kernel_unpack(f->context, NULL, packed.size, &again, NULL),
                     TILE_ERROR_INVALID_ARGUMENT);
    tile_kernel_destroy(again);
    tile_kernel_destroy(kernel);
    free(packed.bytes);
}

/* An entry of the cache is of the same form, and no kernel. */
static void entries_of_a_cache_are_others(void **state) {
    Fixture *f = *state;
    char command[256], path[128], entry[4096 * 16];
    tile_kernel_destroy(compile(f, TILE_WANT(TILE_OUTPUT_PTX)));
    snprintf(command, sizeof command, "find %s -name '*.kernel' -exec cp {} %s/entry ';'",
             f->folder, f->folder);
    assert_int_equal(system(command), 0);
    snprintf(path, sizeof path, "%s/entry", f->folder);
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    const size_t size = fread(entry, 1, sizeof entry, file);
    fclose(file);
    assert_true(size > 100);
    expect_refused(f, entry, size);
}

int main(void) {
    const struct CMUnitTest tests[] = {TEST(devices_say_what_they_have),
                                       TEST(memory_says_whose_it_is),
                                       TEST(executables_show_their_handles),
                                       TEST(the_build_has_a_name),
                                       TEST(packed_kernels_come_back),
                                       TEST(packing_writes_whole_kernels_alone),
                                       TEST(damage_is_refused),
                                       TEST(entries_of_a_cache_are_others)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
