/* Launches. A kernel that is found wrong is reported on stderr at once, and to the program as
 * NVIDIA's driver does: its launch succeeds, and every later call fails. */
#include "simdriver/state.h"

#include <stdio.h>

static CUresult meaning(DiagId id) {
    static const struct {
        DiagId id;
        CUresult result;
    } findings[] = {
#define FINDING(id, result) {DIAG_##id, result},
#include "simdriver/findings.def"
    };
    for (size_t i = 0; i < sizeof findings / sizeof *findings; i++)
        if (findings[i].id == id)
            return findings[i].result;
    return CUDA_LAUNCH_FAILED;
}

/* What a launch that was found wrong comes to. */
static CUresult judge(Primary *primary, Ctx *ctx) {
    const CUresult result = meaning(ctx->diags.first->id);
    state_print(ctx);
    if (result == CUDA_INVALID_VALUE)
        return result;
    primary->fault = result;
    return CUDA_OK;
}

/* What a launch leaves in the module's context goes with it. Of one that was wrong it stays: its
 * context is lost, and no other kernel runs in it. */
static CUresult run(SimDriver *driver, CUfunction function, SimLaunch *launch) {
    Ctx *ctx = function->module->ctx;
    const ArenaMark mark = arena_mark(&ctx->arena), scratch = arena_mark(&ctx->scratch);
    const DiagMark said = diag_mark(&ctx->diags);
    if (setjmp(ctx->oom)) {
        diag_rewind(&ctx->diags, said);
        arena_rewind(&ctx->scratch, scratch);
        arena_rewind(&ctx->arena, mark);
        return CUDA_OUT_OF_MEMORY;
    }
    StrBuf output = strbuf(&ctx->arena);
    launch->output = &output;
    const bool ok = sim_launch(function->module->module, driver->primary.memory, launch, NULL);
    if (output.len) {
        fwrite(output.ptr, 1, output.len, stdout);
        fflush(stdout);
    }
    const CUresult result = ok ? CUDA_OK : judge(&driver->primary, ctx);
    if (driver->primary.fault == CUDA_OK) {
        diag_rewind(&ctx->diags, said);
        arena_rewind(&ctx->arena, mark);
    }
    return result;
}

/* What a launch asks for besides its grid. That it may begin before the one before it has ended
 * changes nothing: that one has. */
typedef struct Wishes {
    uint32_t cluster[3];
    bool cooperative;
} Wishes;

/* False: it asks for something else, too. */
static bool read_attributes(const CudaLaunchConfig *config, Wishes *wishes) {
    enum { IGNORE = 0 };
    for (unsigned i = 0; i < config->attribute_count; i++) {
        const CudaLaunchAttribute *attribute = &config->attributes[i];
        switch (attribute->id) {
        case IGNORE:
        case CUDA_LAUNCH_PROGRAMMATIC:
            break;
        case CUDA_LAUNCH_CLUSTER:
            wishes->cluster[0] = attribute->value.cluster.x;
            wishes->cluster[1] = attribute->value.cluster.y;
            wishes->cluster[2] = attribute->value.cluster.z;
            break;
        case CUDA_LAUNCH_COOPERATIVE:
            wishes->cooperative = attribute->value.is_on != 0;
            break;
        default:
            return false;
        }
    }
    return true;
}

/* Whether all blocks of a cooperative launch are there at once: on the device, and in the
 * simulator, which lets as many take turns. */
static bool fits_at_once(const Settings *settings, const CudaLaunchConfig *config,
                         const CUfunction function) {
    enum { TURNS = 64 };
    const uint64_t threads = (uint64_t)config->block_x * config->block_y * config->block_z;
    const Occupancy held =
        target_occupancy(settings->target, (int32_t)function->registers, (int32_t)threads,
                         (int32_t)(function->kernel.static_shared + config->shared_bytes));
    const uint64_t room = (uint64_t)held.ctas * (uint64_t)settings->processors;
    const uint64_t blocks = (uint64_t)config->grid_x * config->grid_y * config->grid_z;
    return blocks <= (room < TURNS ? room : TURNS);
}

static CUresult launch(SimDriver *driver, const CudaLaunchConfig *config, CUfunction function,
                       void **params) {
    const Settings *settings = &driver->settings;
    SimLaunch made = {.kernel = function->kernel.name,
                      .grid = {config->grid_x, config->grid_y, config->grid_z},
                      .block = {config->block_x, config->block_y, config->block_z},
                      .dynamic_shared = config->shared_bytes,
                      .params = (const void *const *)params,
                      .param_count = function->kernel.param_count,
                      .schedule = settings->schedule,
                      .seed = (uint64_t)settings->seed,
                      .threads = (unsigned)settings->threads,
                      .early = settings->early != 0,
                      .max_steps = (uint64_t)settings->max_steps};
    if (!config->grid_x || !config->grid_y || !config->grid_z || !config->block_x ||
        !config->block_y || !config->block_z || (made.param_count && !params))
        return CUDA_INVALID_VALUE;
    if (config->shared_bytes > (unsigned)function->max_dynamic_shared) {
        state_complain("a launch of '%.*s' takes %u bytes of dynamic shared memory, and "
                       "cuFuncSetAttribute allows it %d",
                       STR_ARG(function->kernel.name), config->shared_bytes,
                       function->max_dynamic_shared);
        return CUDA_INVALID_VALUE;
    }
    Wishes wishes = {.cooperative = false};
    if (!read_attributes(config, &wishes))
        return CUDA_NOT_SUPPORTED;
    if (wishes.cooperative && !fits_at_once(settings, config, function))
        return CUDA_COOPERATIVE_LARGE;
    memcpy(made.cluster, wishes.cluster, sizeof made.cluster);
    return run(driver, function, &made);
}

CUresult simulated_launch_ex(const CudaLaunchConfig *config, CUfunction function, void **params,
                             void **extra) {
    CUresult result;
    SimDriver *driver = state_enter(&result);
    if (!driver)
        return result;
    if (!function || !config)
        return state_leave(function ? CUDA_INVALID_VALUE : CUDA_INVALID_HANDLE);
    return state_leave(extra ? CUDA_NOT_SUPPORTED : launch(driver, config, function, params));
}

CUresult simulated_launch(CUfunction function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                          unsigned block_x, unsigned block_y, unsigned block_z,
                          unsigned shared_bytes, CUstream stream, void **params, void **extra) {
    const CudaLaunchConfig config = {.grid_x = grid_x,
                                     .grid_y = grid_y,
                                     .grid_z = grid_z,
                                     .block_x = block_x,
                                     .block_y = block_y,
                                     .block_z = block_z,
                                     .shared_bytes = shared_bytes,
                                     .stream = stream};
    return simulated_launch_ex(&config, function, params, extra);
}

/* In the context of memory, whose messages go at once. */
static CUresult encode(Ctx *ctx, SimTensorMap *encoded, int type, unsigned rank, void *address,
                       const uint64_t *extents, const uint64_t *strides, const uint32_t *box,
                       const uint32_t *steps, int interleave, int swizzle, int l2_promotion,
                       int fill) {
    const ArenaMark mark = arena_mark(&ctx->arena);
    const DiagMark said = diag_mark(&ctx->diags);
    if (setjmp(ctx->oom))
        return CUDA_OUT_OF_MEMORY;
    const bool ok = sim_tensor_map_encode(
        ctx, encoded, (SimTensorType)type, rank, (uintptr_t)address, extents, strides, box, steps,
        (SimTensorInterleave)interleave, (SimTensorSwizzle)swizzle,
        (SimTensorPromotion)l2_promotion, (SimTensorFill)fill);
    diag_rewind(&ctx->diags, said);
    arena_rewind(&ctx->arena, mark);
    return ok ? CUDA_OK : CUDA_INVALID_VALUE;
}

/* Needs no context: the messages are dropped, as the caller has an error to look at. */
CUresult simulated_tensor_map_encode(CudaTensorMap *map, int type, unsigned rank, void *address,
                                     const uint64_t *extents, const uint64_t *strides,
                                     const uint32_t *box, const uint32_t *steps, int interleave,
                                     int swizzle, int l2_promotion, int fill) {
    SimTensorMap encoded;
    Ctx *ctx = ctx_create();
    if (!ctx)
        return CUDA_OUT_OF_MEMORY;
    _Static_assert(sizeof encoded.bytes == sizeof map->words, "a map is 128 bytes");
    const CUresult result = encode(ctx, &encoded, type, rank, address, extents, strides, box, steps,
                                   interleave, swizzle, l2_promotion, fill);
    if (result == CUDA_OK)
        memcpy(map->words, encoded.bytes, sizeof map->words);
    ctx_destroy(ctx);
    return result;
}
