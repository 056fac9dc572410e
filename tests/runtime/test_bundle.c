/* Bundles: functions of them launch what functions that compile launch; variants are chosen by what
 * they promise. */
#include "bundle_testing.h"

static tile_function *function_in(tile_bundle *bundle, tile_compile_options options) {
    tile_function *function = NULL;
    tile_diagnostics *said = NULL;
    options.size = sizeof options;
    if (tile_bundle_function(bundle, &options, &function, &said) != TILE_OK)
        fail_msg("%s", tile_diagnostics_text(said).data);
    return function;
}

/* What the driver is asked to launch. */
typedef struct Launched {
    unsigned grid[3], block[3], shared;
    uint64_t values[8];
    char function[64];
} Launched;

static Launched launch(Fixture *f, tile_function *function, tile_device *device,
                       const tile_argument *arguments, size_t count, bool hidden_grid) {
    static const uint32_t grid[3] = {37, 2, 1};
    const unsigned char bytes[] = {8, 4, 4, hidden_grid ? 4 : 0, 0};
    memcpy(f->cuda->param_bytes, bytes, sizeof bytes);
    memset(f->cuda->values, 0, sizeof f->cuda->values);
    tile_diagnostics *said = NULL;
    const unsigned before = f->cuda->launches;
    if (tile_function_launch(function, device, grid, NULL, arguments, count, &said) != TILE_OK)
        fail_msg("%s", tile_diagnostics_text(said).data);
    assert_int_equal(f->cuda->launches, before + 1);
    Launched made = {.shared = f->cuda->shared_bytes};
    memcpy(made.grid, f->cuda->grid, sizeof made.grid);
    memcpy(made.block, f->cuda->block, sizeof made.block);
    memcpy(made.values, f->cuda->values, sizeof made.values);
    memcpy(made.function, f->cuda->function, sizeof made.function);
    return made;
}

static tile_function *compiling(Fixture *f) {
    const tile_compile_options options = {
        .size = sizeof options, .path = text("scale.tile"), .source = text(source)};
    tile_function *function = NULL;
    assert_int_equal(tile_function_create(f->context, &options, &function, NULL), TILE_OK);
    return function;
}

static void launches_as_a_compiler_would(void **state) {
    Fixture *f = *state;
    Ctx *ctx = ctx_create();
    const Str bytes = scale_bundle(f, ctx);
    tile_bundle *bundle = open_good(f, bytes);
    tile_device *device = open_device(f);
    tile_function *bundled = function_in(bundle, (tile_compile_options){0});
    tile_function *compiled = compiling(f);
    static const int64_t sizes[] = {1, 1000, 1004, 1008, 256};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        const tile_argument arguments[] = {tile_pointer(0x10000, TILE_FP32), tile_int(sizes[i]),
                                           tile_float(2.0), tile_constexpr_int(256)};
        const Launched a = launch(f, bundled, device, arguments, 4, true);
        const Launched b = launch(f, compiled, device, arguments, 4, true);
        assert_memory_equal(&a, &b, sizeof a);
    }
    const tile_argument arguments[] = {tile_pointer(0x10000, TILE_FP32), tile_int(1000),
                                       tile_float(2.0), tile_constexpr_int(256)};
    const tile_launch_options options = {.size = sizeof options, .programmatic = true};
    assert_int_equal(tile_function_launch_with(bundled, device, (uint32_t[]){4, 1, 1}, NULL,
                                               arguments, 4, &options, NULL),
                     TILE_OK);
    assert_int_equal(f->cuda->programmatic, 1);
    tile_function_destroy(compiled);
    tile_function_destroy(bundled);
    tile_device_close(device);
    tile_bundle_close(bundle);
    assert_int_equal(f->cuda->loads, f->cuda->unloads);
    ctx_destroy(ctx);
}

static const tile_executable *instance(tile_function *function, tile_device *device,
                                       uint64_t address, int64_t n, const char *block) {
    const tile_argument arguments[] = {tile_pointer(address, TILE_FP32), tile_int(n),
                                       tile_float(2.0), tile_constexpr(text(block))};
    const tile_executable *executable = NULL;
    tile_diagnostics *said = NULL;
    if (tile_function_instance(function, device, arguments, 4, &executable, &said) != TILE_OK)
        fail_msg("%s", tile_diagnostics_text(said).data);
    return executable;
}

/* What promises most, of what the arguments keep; each loaded once however it is asked for. */
static void chooses_by_promises(void **state) {
    Fixture *f = *state;
    Ctx *ctx = ctx_create();
    tile_bundle *bundle = open_good(f, scale_bundle(f, ctx));
    tile_device *device = open_device(f);
    tile_function *function = function_in(bundle, (tile_compile_options){0});
    const tile_executable *none = instance(function, device, 4100, 1004, "256");
    const tile_executable *pointer = instance(function, device, 1 << 12, 1004, "256");
    const tile_executable *both = instance(function, device, 1 << 12, 1008, "256");
    const tile_executable *equal = instance(function, device, 1 << 12, 256, "256");
    const tile_executable *one = instance(function, device, 1 << 12, 1, "256");
    const tile_executable *small = instance(function, device, 1 << 12, 1008, "512");
    const tile_executable *all[] = {none, pointer, both, equal, one, small};
    for (int i = 0; i < 6; i++)
        for (int j = 0; j < i; j++)
            assert_ptr_not_equal(all[i], all[j]);
    assert_int_equal(f->cuda->loads, 6);
    assert_ptr_equal(none, instance(function, device, 4100, 256, "256"));
    assert_ptr_equal(none, instance(function, device, 4100, 1, "0x100"));
    assert_ptr_equal(pointer, instance(function, device, 1 << 12, 1000, " 256"));
    assert_ptr_equal(both, instance(function, device, 1 << 12, 512, "256"));
    assert_int_equal(f->cuda->loads, 6);
    tile_function_destroy(function);
    assert_int_equal(f->cuda->unloads, 6);
    tile_device_close(device);
    tile_bundle_close(bundle);
    ctx_destroy(ctx);
}

/* Of tuples the items, and of descriptors the parts, are what variants are chosen by. */
static void chooses_by_items(void **state) {
    static const char nested[] = "import triton\nimport triton.language as tl\n"
                                 "@triton.jit\n"
                                 "def fill(x, d, n):\n"
                                 "    v = d.load([0, 0])\n"
                                 "    tl.store(x[0], tl.sum(v) + x[1][0] + n)\n";
    static const char *const signatures[] = {
        "(*fp32:16, (i32,)), tensordesc<fp32[4, 8]>, i32",
        "(*fp32:16, (i32:1,)), tensordesc<fp32[4, 8]>, i32",
        "(*fp32:16, (=1,)), tensordesc<fp32[4, 8]>, i32",
        "(*fp32:16, (i32,)), tensordesc<fp32[8, 8]>, i32",
        "(*fp32:16, (i32,)), tensordesc<fp32[4, 8], nan>, i32",
        "(*fp32:16, (i32,)), tensordesc<fp32[4, 8]>:16, i32",
    };
    enum { COUNT = sizeof signatures / sizeof *signatures };
    Fixture *f = *state;
    Ctx *ctx = ctx_create();
    Making making = {0};
    tile_compile_options options = scale_options();
    options.source = text(nested);
    for (size_t i = 0; i < COUNT; i++) {
        options.signature = text(signatures[i]);
        compile_variant(f, &making, &options);
    }
    tile_bundle *bundle = open_good(f, finish(ctx, &making));
    tile_device *device = open_device(f);
    tile_function *function = function_in(bundle, (tile_compile_options){0});
    tile_descriptor tensor = {.size = sizeof tensor,
                              .address = 1 << 12,
                              .type = TILE_FP32,
                              .rank = 2,
                              .shape = {5, 20},
                              .strides = {20, 1},
                              .block = {4, 8}};
    tile_argument inner[] = {tile_int(5)};
    const tile_argument items[] = {tile_pointer(1 << 12, TILE_FP32), tile_tuple(inner, 1)};
    const tile_argument arguments[] = {tile_tuple(items, 2), tile_tensor(&tensor), tile_int(3)};
    const tile_executable *chosen[COUNT + 2];
    tile_diagnostics *said = NULL;
    for (size_t i = 0; i < COUNT + 2; i++) {
        const bool again = i >= COUNT; /* what was chosen before, with other values */
        inner[0] = i == 1 ? tile_int(1) : i == 2 ? tile_constexpr_int(1) : tile_int(again ? 7 : 5);
        tensor.block[0] = i == 3 ? 8 : 4;
        tensor.pads_with_nan = i == 4;
        tensor.shape[1] = i == 5 || i == COUNT + 1 ? 16 : 20;
        if (tile_function_instance(function, device, arguments, 3, &chosen[i], &said) != TILE_OK)
            fail_msg("%s: %s", signatures[i % COUNT], tile_diagnostics_text(said).data);
        for (size_t k = 0; k < i && !again; k++)
            assert_ptr_not_equal(chosen[k], chosen[i]);
    }
    assert_ptr_equal(chosen[0], chosen[COUNT]);
    assert_ptr_equal(chosen[5], chosen[COUNT + 1]);
    assert_int_equal(f->cuda->loads, COUNT);
    tensor.block[1] = 16;
    assert_int_equal(tile_function_instance(function, device, arguments, 3, &chosen[0], &said),
                     TILE_ERROR_NO_VARIANT);
    assert_non_null(strstr(tile_diagnostics_text(said).data,
                           "'d.block' is the constexpr (4, 16), wanted the constexpr (4, 8)"));
    tile_diagnostics_destroy(said);
    assert_int_equal(tile_function_instance(function, device, arguments, 2, &chosen[0], NULL),
                     TILE_ERROR_INVALID_ARGUMENT);
    tile_function_destroy(function);
    tile_device_close(device);
    tile_bundle_close(bundle);
    ctx_destroy(ctx);
}

/* Two variants may have the same code and differ in how it is launched. */
static void shares_no_launch(void **state) {
    Fixture *f = *state;
    Ctx *ctx = ctx_create();
    Making making = {0};
    add_scale(f, &making, "*fp32, i32, fp32, 256", "sm_90a", 0);
    add_scale(f, &making, "*fp32, i32:16, fp32, 256", "sm_90a", 0);
    making.variants[1].ptx = making.variants[0].ptx;
    making.variants[1].facts.meta.shared_bytes = 4096;
    tile_bundle *bundle = open_good(f, finish(ctx, &making));
    tile_device *device = open_device(f);
    tile_function *function = function_in(bundle, (tile_compile_options){0});
    for (int64_t n = 1000; n <= 1008; n += 8) {
        const tile_argument arguments[] = {tile_pointer(0x1000, TILE_FP32), tile_int(n),
                                           tile_float(2.0), tile_constexpr_int(256)};
        assert_int_equal(launch(f, function, device, arguments, 4, true).shared, n % 16 ? 0 : 4096);
    }
    tile_function_destroy(function);
    tile_device_close(device);
    tile_bundle_close(bundle);
    ctx_destroy(ctx);
}

/* Its code is for GPUs, which a device of this machine is not. */
static void runs_on_gpus_alone(void **state) {
    Fixture *f = *state;
    Ctx *ctx = ctx_create();
    Making making = {0};
    add_scale(f, &making, "*fp32, i32, fp32, 256", "sm_90a", 0);
    tile_bundle *bundle = open_good(f, finish(ctx, &making));
    tile_function *function = function_in(bundle, (tile_compile_options){0});
    for (int kind = 0; kind < 2; kind++) {
        const tile_host_options options = {.size = sizeof options, .kind = (tile_host_kind)kind};
        const tile_argument arguments[] = {tile_pointer(0x1000, TILE_FP32), tile_int(1000),
                                           tile_float(2.0), tile_constexpr_int(256)};
        tile_device *device = NULL;
        tile_diagnostics *said = NULL;
        assert_int_equal(tile_device_open_host(f->context, &options, &device, NULL), TILE_OK);
        assert_int_equal(tile_function_launch(function, device, (uint32_t[]){1, 1, 1}, NULL,
                                              arguments, 4, &said),
                         TILE_ERROR_NO_DEVICE);
        assert_non_null(strstr(tile_diagnostics_text(said).data, "'scale' is of a bundle"));
        tile_diagnostics_destroy(said);
        tile_device_close(device);
    }
    tile_function_destroy(function);
    tile_bundle_close(bundle);
    ctx_destroy(ctx);
}

/* A flag may be fixed, too, and the instance for true is none for false. */
static void chooses_by_flags(void **state) {
    static const char flags[] = "import triton\n"
                                "import triton.language as tl\n"
                                "@triton.jit\n"
                                "def put(x, flag):\n"
                                "    if flag:\n"
                                "        tl.store(x, 1.0)\n";
    Fixture *f = *state;
    Ctx *ctx = ctx_create();
    Making making = {0};
    tile_compile_options options = scale_options();
    options.source = text(flags);
    options.signature = text("*fp32, i1:1");
    compile_variant(f, &making, &options);
    options.signature = text("*fp32, i1");
    compile_variant(f, &making, &options);
    tile_bundle *bundle = open_good(f, finish(ctx, &making));
    tile_device *device = open_device(f);
    tile_function *function = function_in(bundle, (tile_compile_options){0});
    const tile_executable *made[2];
    for (int i = 1; i >= 0; i--) {
        tile_argument arguments[] = {tile_pointer(0x1000, TILE_FP32), tile_int(i)};
        arguments[1].type = TILE_I1;
        assert_int_equal(tile_function_instance(function, device, arguments, 2, &made[i], NULL),
                         TILE_OK);
    }
    assert_ptr_not_equal(made[0], made[1]);
    tile_function_destroy(function);
    tile_device_close(device);
    tile_bundle_close(bundle);
    ctx_destroy(ctx);
}

static bool reads_none(void *user, tile_text path, tile_text *found) {
    return false;
}

static void chooses_by_options(void **state) {
    Fixture *f = *state;
    Ctx *ctx = ctx_create();
    tile_bundle *bundle = open_good(f, scale_bundle(f, ctx));
    tile_device *device = open_device(f);
    const tile_named block = {text("BLOCK"), text("512")};
    tile_function *function = function_in(
        bundle, (tile_compile_options){.num_warps = 8, .constexprs = &block, .constexpr_count = 1});
    const tile_argument arguments[] = {tile_pointer(0x1000, TILE_FP32), tile_int(1008),
                                       tile_float(2.0)};
    assert_int_equal(launch(f, function, device, arguments, 3, false).block[0], 256);
    tile_function_destroy(function);
    const struct {
        tile_compile_options options;
        tile_status status;
        const char *said;
    } wrong[] = {
        {{.kernel = text("scaled")},
         TILE_ERROR_NO_VARIANT,
         "tilec: error: no kernel 'scaled' in scale.bundle, which has scale\n"},
        {{.path = text("other.tile")},
         TILE_ERROR_NO_VARIANT,
         "tilec: error: no kernel '' in scale.bundle, which has scale\n"},
        {{.num_warps = 16},
         TILE_ERROR_NO_VARIANT,
         "tilec: error: no variant of 'scale' in scale.bundle was compiled with these warps, "
         "stages, CTAs and in this form\n"},
        {{.constexprs = (const tile_named[]){{text("BLOCKS"), text("1")}}, .constexpr_count = 1},
         TILE_ERROR_INVALID_ARGUMENT,
         "tilec: error: 'scale' in scale.bundle has no parameter 'BLOCKS'\n"},
        {{.target = text("sm_80")}, TILE_ERROR_INVALID_ARGUMENT, ""},
        {{.grid = text("cdiv(n, BLOCK)")}, TILE_ERROR_INVALID_ARGUMENT, ""},
        {{.files = (const tile_named[]){{text("a.tile"), text("")}}, .file_count = 1},
         TILE_ERROR_INVALID_ARGUMENT,
         ""},
        {{.read_file = reads_none}, TILE_ERROR_INVALID_ARGUMENT, ""},
        {{.full_paths = true}, TILE_ERROR_INVALID_ARGUMENT, ""},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        tile_compile_options options = wrong[i].options;
        tile_diagnostics *said = NULL;
        options.size = sizeof options;
        assert_int_equal(tile_bundle_function(bundle, &options, &function, &said), wrong[i].status);
        assert_string_equal(tile_diagnostics_text(said).data, wrong[i].said);
        tile_diagnostics_destroy(said);
    }
    tile_device_close(device);
    tile_bundle_close(bundle);
    ctx_destroy(ctx);
}

/* Calls that no variant is for: the message names the argument and what there is. */
static void says_what_is_missing(void **state) {
    Fixture *f = *state;
    Ctx *ctx = ctx_create();
    Making making = {0};
    add_scale(f, &making, "*fp32:16, i32:16, fp32, 256", "sm_90a", 0);
    add_scale(f, &making, "*fp32:16, i32:=1000, fp32, 256", "sm_90a", 0);
    tile_bundle *bundle = open_good(f, finish(ctx, &making));
    tile_device *device = open_device(f);
    tile_function *function = function_in(bundle, (tile_compile_options){0});
#define NO_VARIANT "tilec: error: no variant of 'scale' for this call: "
    const struct {
        tile_argument arguments[4];
        const char *said;
    } calls[] = {
        {{tile_pointer(0x1000, TILE_FP32), tile_int(1004), tile_float(1), tile_constexpr_int(256)},
         NO_VARIANT "'n' is i32 1004, wanted i32:16, i32:=1000\n"},
        {{tile_pointer(0x1004, TILE_FP32), tile_int(1008), tile_float(1), tile_constexpr_int(256)},
         NO_VARIANT "'x' is *fp32 at 0x1004, wanted *fp32:16\n"},
        {{tile_pointer(0x1000, TILE_FP16), tile_int(1000), tile_float(1), tile_constexpr_int(256)},
         NO_VARIANT "'x' is *fp16 at 0x1000, wanted *fp32:16\n"},
        {{tile_pointer(0x1000, TILE_FP32), tile_int(1000), tile_float(1), tile_constexpr_int(512)},
         NO_VARIANT "'BLOCK' is the constexpr 512, wanted the constexpr 256\n"},
        {{tile_pointer(0x1000, TILE_FP32), tile_int(1000), tile_int(1), tile_constexpr_int(256)},
         NO_VARIANT "'factor' is i32 1, wanted fp32\n"},
    };
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
        tile_diagnostics *said = NULL;
        assert_int_equal(tile_function_launch(function, device, (uint32_t[]){1, 1, 1}, NULL,
                                              calls[i].arguments, 4, &said),
                         TILE_ERROR_NO_VARIANT);
        assert_string_equal(tile_diagnostics_text(said).data, calls[i].said);
        tile_diagnostics_destroy(said);
    }
    assert_int_equal(f->cuda->launches, 0);
    tile_function_destroy(function);
    tile_device_close(device);
    tile_bundle_close(bundle);
    ctx_destroy(ctx);
}

/* Devices: their own code first, then code and PTX of earlier ones. */
static void chooses_by_device(void **state) {
    Ctx *ctx = ctx_create();
    Variant sm80 = {.cubin = STR("80"), .ptx = STR("ptx")}, sm90 = {.cubin = STR("90")};
    sm80.facts.meta.target = target_by_name(STR("sm_80"));
    sm90.facts.meta.target = target_by_name(STR("sm_90a"));
    const Variant *both[] = {&sm80, &sm90};
    const struct {
        int major, minor;
        const Variant *chosen;
        const char *code;
    } devices[] = {{8, 0, &sm80, "80"},
                   {8, 9, &sm80, "80"},
                   {9, 0, &sm90, "90"},
                   {10, 0, &sm80, "ptx"},
                   {7, 5, NULL, ""}};
    for (size_t i = 0; i < sizeof devices / sizeof *devices; i++) {
        const Device device = {.name = "GPU",
                               .major = devices[i].major,
                               .minor = devices[i].minor,
                               .shared_per_block = 99 << 10};
        const VariantCall call = {.device = &device};
        const Variant *chosen = variants_choose(both, 2, &call);
        assert_ptr_equal(chosen, devices[i].chosen);
        if (chosen)
            assert_true(str_is(variant_code(chosen, &device), devices[i].code));
        else
            assert_string_equal(variants_explain(&ctx->arena, both, 2, &call),
                                "'GPU' has capability 7.5 and 101376 bytes of shared memory a "
                                "block, wanted what runs code for sm_80, sm_90a");
    }
    /* Code for a chip with more shared memory does not fit. */
    sm80.facts.meta.shared_bytes = 100 << 10;
    const Device small = {.major = 8, .minor = 6, .shared_per_block = 99 << 10};
    assert_null(variants_choose(both, 2, &(VariantCall){.device = &small}));
    ctx_destroy(ctx);
}

/* matmul has tensor maps, which hold no stride of 0. */
static void has_another_form(void **state) {
    Fixture *f = *state;
    Ctx *ctx = ctx_create();
    for (int with_other_form = 0; with_other_form < 2; with_other_form++) {
        Making making = {0};
        tile_compile_options options = {.size = sizeof options,
                                        .path = text(TILEC_SOURCE_DIR "/kernels/matmul.tile"),
                                        .kernel = text("matmul"),
                                        .signature =
                                            text("*fp16:16, *fp16:16, *fp16:16, i32:16, i32:16, "
                                                 "i32:16, i32:16, 1, i32:16, 1, i32:16, "
                                                 "1, 64, 64, 32"),
                                        .target = text("sm_90a"),
                                        .num_warps = 4,
                                        .want = TILE_WANT(TILE_OUTPUT_PTX)};
        compile_variant(f, &making, &options);
        assert_true(making.variants[0].facts.meta.tensor_maps.len > 0);
        options.no_tensor_copies = true;
        if (with_other_form)
            compile_variant(f, &making, &options);
        tile_bundle *bundle = open_good(f, finish(ctx, &making));
        tile_device *device = open_device(f);
        tile_function *function = function_in(bundle, (tile_compile_options){.num_warps = 4});
        tile_argument arguments[15] = {tile_pointer(0x10000, TILE_FP16),
                                       tile_pointer(0x20000, TILE_FP16),
                                       tile_pointer(0x30000, TILE_FP16),
                                       tile_int(512),
                                       tile_int(512),
                                       tile_int(512),
                                       tile_int(0),
                                       tile_constexpr_int(1),
                                       tile_int(512),
                                       tile_constexpr_int(1),
                                       tile_int(512),
                                       tile_constexpr_int(1),
                                       tile_constexpr_int(64),
                                       tile_constexpr_int(64),
                                       tile_constexpr_int(32)};
        tile_diagnostics *said = NULL;
        const unsigned before = f->cuda->launches;
        memset(f->cuda->param_bytes, 0, sizeof f->cuda->param_bytes);
        tile_status status = tile_function_launch(function, device, (uint32_t[]){8, 8, 1}, NULL,
                                                  arguments, 15, &said);
        assert_int_equal(status, with_other_form ? TILE_OK : TILE_ERROR_NO_VARIANT);
        assert_int_equal(f->cuda->launches, before + (unsigned)with_other_form);
        const char *words = tile_diagnostics_text(said).data;
        if (!strstr(words, "runs without tensor copies here"))
            fail_msg("%s", words);
        assert_int_equal(!strstr(words, "there is none without tensor copies"), with_other_form);
        tile_diagnostics_destroy(said);
        tile_function_destroy(function);
        tile_device_close(device);
        tile_bundle_close(bundle);
    }
    ctx_destroy(ctx);
}

static void tells_its_variants(void **state) {
    Fixture *f = *state;
    Ctx *ctx = ctx_create();
    tile_bundle *bundle = open_good(f, scale_bundle(f, ctx));
    tile_device *device = open_device(f);
    tile_bundle_info info = {.size = sizeof info};
    assert_int_equal(tile_bundle_get_info(bundle, &info), TILE_OK);
    assert_int_equal(info.variant_count, 7);
    assert_int_equal(info.sha256.size, 64);
    const tile_kernel *kernel = NULL;
    tile_variant_info variant = {.size = sizeof variant};
    assert_int_equal(tile_bundle_get_variant(bundle, 5, &kernel, &variant), TILE_OK);
    assert_int_equal(variant.num_warps, 8);
    assert_string_equal(variant.path.data, "scale.tile");
    tile_kernel_info facts = {.size = sizeof facts};
    assert_int_equal(tile_kernel_get_info(kernel, &facts), TILE_OK);
    assert_string_equal(facts.name.data, "scale");
    assert_int_equal(facts.threads, 256);
    assert_non_null(strstr(tile_kernel_get_output(kernel, TILE_OUTPUT_PTX).data, ".entry scale"));
    tile_executable *executable = NULL;
    assert_int_equal(tile_load(kernel, device, &executable, NULL), TILE_OK);
    tile_executable_destroy(executable);
    assert_int_equal(tile_bundle_get_variant(bundle, 7, &kernel, NULL),
                     TILE_ERROR_INVALID_ARGUMENT);
    /* The content that is wanted, and another. */
    const Str bytes = scale_bundle(f, ctx);
    char wanted[65];
    memcpy(wanted, info.sha256.data, sizeof wanted);
    tile_bundle_options options = {
        .size = sizeof options, .data = bytes.ptr, .data_size = bytes.len, .sha256 = text(wanted)};
    tile_bundle *again = NULL;
    assert_int_equal(tile_bundle_open(f->context, &options, &again, NULL), TILE_OK);
    tile_bundle_close(again);
    wanted[0] = wanted[0] == '0' ? '1' : '0';
    assert_int_equal(tile_bundle_open(f->context, &options, &again, NULL), TILE_ERROR_BUNDLE);
    tile_device_close(device);
    tile_bundle_close(bundle);
    ctx_destroy(ctx);
}

static void literals(void **state) {
    static const struct {
        const char *a, *b;
        bool same;
    } pairs[] = {{"16", "0x10", true},
                 {"-1", "-1", true},
                 {"1", "1.0", false},
                 {"1e-5", "1e-05", true},
                 {"0.5", ".5", true},
                 {"\"a\"", "'a'", true},
                 {"'a'", "'b'", false},
                 {"'1'", "1", false},
                 {"(1, 2)", "(1,2)", true},
                 {"True", "1", false},
                 {"tl.float16", "tl.float16", true},
                 {"9007199254740993", "9007199254740992", false},
                 {"14695981039346656037", "14695981039346656038", false},
                 {"-14695981039346656037", "-14695981039346656037", true},
                 {"('a', 'b c')", "('a','b c')", true},
                 {"('a', 'b c')", "('a', 'bc')", false},
                 {"'\\n '", "'\\n'", false},
                 {"('it\\'s', 1)", "('it\\'s',1)", true},
                 {"", "1", false}};
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
        assert_int_equal(literal_same(str_from(pairs[i].a), str_from(pairs[i].b)), pairs[i].same);
        assert_int_equal(literal_same(str_from(pairs[i].b), str_from(pairs[i].a)), pairs[i].same);
    }
}

static void sha256_of_the_standard(void **state) {
    static const struct {
        const char *text, *digest;
    } vectors[] = {
        {"", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"},
        {"abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"},
        {"abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
         "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"},
        {"abcdefghbcdefghicdefghijdefghijkefghijklfghijklmghijklmnhijklmnoijklmnopjklmnopqklmnopqr"
         "lmnopqrsmnopqrstnopqrstu",
         "cf5b16a778af8380036ce59e7b0492370b249b11e8f07a51afac45037afee9d1"},
    };
    for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++) {
        unsigned char digest[SHA256_SIZE];
        char digits[SHA256_TEXT_SIZE];
        sha256(str_from(vectors[i].text), digest);
        sha256_text(digest, digits);
        assert_string_equal(digits, vectors[i].digest);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(launches_as_a_compiler_would),
        TEST(chooses_by_promises),
        TEST(chooses_by_items),
        TEST(shares_no_launch),
        TEST(runs_on_gpus_alone),
        TEST(chooses_by_flags),
        TEST(chooses_by_options),
        TEST(says_what_is_missing),
        cmocka_unit_test(chooses_by_device),
        TEST(has_another_form),
        TEST(tells_its_variants),
        cmocka_unit_test(literals),
        cmocka_unit_test(sha256_of_the_standard),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
