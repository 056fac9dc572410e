/* Any bytes as PTX, and PTX made from the bytes with the table of instructions. Beyond not
 * crashing: what is refused has a message inside the text; what is accepted runs, with an array for
 * every parameter, in several schedules, until it ends, is found wrong, or has had its steps; and
 * what was counted can be reported. */
#include "fuzz.h"
#include "random_ptx.h"
#include "sim/sim.h"

#include <string.h>

enum { MAX_PARAMS = 64, STEPS = 3000, LARGE = 65536, KERNELS = 3 };

/* Small arrays; a parameter that is no address gets a structure. */
typedef struct Arguments {
    SimTensorMap *map; /* at a multiple of 64 */
    uint32_t data[2][256];
    uint64_t addresses[2];
    const void *params[MAX_PARAMS];
} Arguments;

/* Of the first array: up to five dimensions of two or more elements, boxes as large. */
static void make_map(Ctx *ctx, Arguments *arguments, uint32_t variant) {
    static const uint64_t dims[5] = {8, 4, 2, 2, 2}, strides[4] = {32, 128, 256, 512};
    static const uint32_t box[5] = {8, 2, 2, 2, 2}, steps[5] = {1, 1, 1, 1, 1};
    uintptr_t room = (uintptr_t)arena_alloc(&ctx->arena, sizeof *arguments->map + 64);
    arguments->map = (SimTensorMap *)((room + 63) / 64 * 64);
    uint32_t rank = variant % 16 < 11 ? 2 : variant % 5 + 1;
    FUZZ_CHECK(sim_tensor_map_encode(
        ctx, arguments->map, variant / 16 % 2 ? SIM_TENSOR_U32 : SIM_TENSOR_F32, rank,
        arguments->addresses[0], dims, strides, box, steps, SIM_INTERLEAVE_NONE,
        variant / 32 % 2 ? SIM_SWIZZLE_32B : SIM_SWIZZLE_NONE, SIM_PROMOTION_NONE, SIM_FILL_ZERO));
}

static void fill(Ctx *ctx, const SimModule *module, const SimKernel *kernel, SimMemory *memory,
                 Arguments *arguments, uint32_t variant) {
    uint8_t *large = arena_alloc(&ctx->arena, LARGE);
    for (int i = 0; i < 2; i++) {
        for (unsigned at = 0; at < 256; at++)
            arguments->data[i][at] = at * (i ? 0x3f9e3779u : 1u);
        arguments->addresses[i] = sim_map(memory, STR("array"), arguments->data[i],
                                          sizeof arguments->data[i], NULL, false);
    }
    make_map(ctx, arguments, variant);
    for (uint32_t i = 0; i < kernel->param_count && i < MAX_PARAMS; i++) {
        uint64_t bytes = sim_param_bytes(module, kernel->name, i);
        arguments->params[i] = bytes <= 8                        ? &arguments->addresses[i & 1]
                               : bytes == sizeof *arguments->map ? (const void *)arguments->map
                                                                 : large;
    }
}

/* `variant` chooses schedule, seed, when copies take effect, and the grid. */
static void run(Ctx *ctx, SimModule *module, uint32_t index, uint32_t variant) {
    SimKernel kernel = sim_kernel(module, index);
    SimMemory *memory = sim_memory_create(ctx);
    Arguments *arguments = ARENA_NEW(&ctx->arena, Arguments);
    fill(ctx, module, &kernel, memory, arguments, variant);
    StrBuf output = strbuf(&ctx->arena);
    bool clustered = variant / 64 % 2;
    SimLaunch launch = {
        .kernel = kernel.name,
        .grid = {2 + variant / 8 % 2 * 2, 1 + variant / 32 % 2, 1},
        .cluster = {clustered ? 2 : 0, clustered ? 1 : 0, clustered ? 1 : 0},
        .block = {kernel.reqntid[0] ? 0 : 64, kernel.reqntid[0] ? 0 : 1, kernel.reqntid[0] ? 0 : 1},
        .dynamic_shared = 2048,
        .params = arguments->params,
        .param_count = kernel.param_count,
        .schedule = (SimSchedule)(variant % 3),
        .seed = variant,
        .early = variant / 4 % 2,
        .max_steps = STEPS,
        .output = &output};
    SimCounts *counts = NULL;
    unsigned errors = ctx->diags.errors;
    bool ok = kernel.param_count <= MAX_PARAMS && sim_launch(module, memory, &launch, &counts);
    FUZZ_CHECK(ok || kernel.param_count > MAX_PARAMS || ctx->diags.errors > errors);
    StrBuf text = strbuf(&ctx->arena);
    if (counts) {
        sim_print_counts(module, counts, &text);
        sim_json_counts(module, counts, &text);
    }
}

static void check(Ctx *ctx, Str text) {
    uint32_t file = source_add(&ctx->sources, STR("fuzz.ptx"), text), variant = 0;
    SimModule *module = sim_parse(ctx, file);
    FUZZ_CHECK(module ? ctx->diags.errors == 0 : ctx->diags.errors > 0);
    for (const Diagnostic *d = ctx->diags.first; d; d = d->next)
        FUZZ_CHECK(d->span.file == file && d->span.lo <= d->span.hi && d->span.hi <= text.len);
    for (size_t i = 0; i < text.len; i++)
        variant = variant * 31 + (unsigned char)text.ptr[i];
    for (uint32_t i = 0; module && i < sim_kernel_count(module) && i < KERNELS; i++) {
        run(ctx, module, i, variant >> 8);
        run(ctx, module, i, variant >> 20);
    }
    StrBuf messages = strbuf(&ctx->arena);
    diag_print_all(&ctx->diags, &messages);
}

static void check_text(Ctx *ctx, const uint8_t *data, size_t size) {
    check(ctx, (Str){(const char *)data, size});
}

static void check_made(Ctx *ctx, const uint8_t *data, size_t size) {
    Choices choices = {.data = data, .size = size};
    StrBuf text = strbuf(&ctx->arena);
    random_ptx_module(&choices, 4 + (unsigned)(size < 256 ? size : 256) / 8, &text);
    check(ctx, strbuf_str(&text));
}

/* In a context of its own, with a limit on what the input may take. */
static void check_in_context(void (*check_input)(Ctx *, const uint8_t *, size_t),
                             const uint8_t *data, size_t size) {
    Ctx *ctx = ctx_create();
    FUZZ_CHECK(ctx);
    if (setjmp(ctx->oom) == 0) {
        ctx->arena.limit = ctx->scratch.limit = (size_t)1 << 27;
        check_input(ctx, data, size);
    }
    ctx_destroy(ctx);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    check_in_context(check_text, data, size);
    check_in_context(check_made, data, size);
    return 0;
}
