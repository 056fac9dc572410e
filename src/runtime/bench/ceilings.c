/* See ceilings.h. Each is the best of a few runs, long enough that launches count for nothing. */
#include "runtime/bench/ceilings.h"

#include "runtime/data/generate.h"
#include "runtime/driver/faults.h"

#include <math.h>

extern const char ceilings_tile_text[];
extern const unsigned ceilings_tile_size;

/* Runs of which the best counts. How long one is to take, and how often it is tried to get there:
 * eight times as much work each time. */
enum { BEST_OF = 5, MOST_TRIALS = 7, FIRST_LOOPS = 4, GROWTH = 8 };
#define LEAST_MS 1.0
/* Of copies: an array is this many times as large as L2, unless memory is short. Whatever takes
 * LONG_MS is not done again. */
enum { TIMES_L2 = 16, LEAST_COPY = 64 << 20, HOST_COPY = 4 << 20, LONG_MS = 20 };

/* Products: a tile for each warpgroup, operands as deep as fit shared memory beside each other. */
enum { TILE_M = 128, TILE_N = 256, SMALL_N = 128, DEPTH_BYTES = 256, SMALL_DEPTH_BYTES = 64 };
/* Multiply-adds: elements of a program, a thread of which has several at once, and steps a loop. */
enum { ADD_SIZE = 1024, ADD_STEPS = 32, ADD_WARPS = 4 };

typedef struct ProductTile {
    int m, n, k, warps;
} ProductTile;

static ProductTile product_tile(const Target *target, Elem elem) {
    const int bytes = (int)host_elem_bytes(elem);
    return target_has(target->capability, FEATURE_WGMMA)
               ? (ProductTile){TILE_M, TILE_N, DEPTH_BYTES / bytes, 8}
               : (ProductTile){TILE_M, SMALL_N, SMALL_DEPTH_BYTES / bytes, 4};
}

static bool has_products(Elem elem) {
    return elem == ELEM_F16 || elem == ELEM_BF16 || elem == ELEM_F32 || elem == ELEM_I8 ||
           elem == ELEM_F8E4NV || elem == ELEM_F8E5;
}

bool ceilings_plan(Ctx *ctx, const CompileRequest *base, CeilingKind kind, Elem elem,
                   Planned *planned) {
#define CEILING(id, text, kernel) STR(kernel),
    static const Str kernels[] = {CEILING_KINDS(CEILING)};
#undef CEILING
    Arena *arena = &ctx->arena;
    if (kind == CEILING_products && !has_products(elem))
        return false;
    const ProductTile tile = product_tile(base->target, elem);
    *planned = (Planned){.path = STR("ceilings.tile")};
    CompileRequest *request = &planned->request;
    *request = (CompileRequest){.path = "ceilings.tile",
                                .text = {ceilings_tile_text, ceilings_tile_size},
                                .target = base->target,
                                .want = base->want,
                                .no_persistence = true,
                                .no_tensor_copies = true,
                                .time_limit_ms = base->time_limit_ms,
                                .isolated = base->isolated,
                                .ptxas = base->ptxas,
                                .device = base->device,
                                .cache = base->cache};
    request->kernel.kernel = kernels[kind];
    NamedText *defines = ARENA_ARRAY(arena, NamedText, 4);
    request->kernel.defines = defines;
    if (kind == CEILING_products) {
        request->kernel.signature =
            str_from(str_format(arena, "*%s:16, *fp32:16, i32", elem_info[elem].text));
        defines[0] = (NamedText){STR("M"), str_from(str_format(arena, "%d", tile.m))};
        defines[1] = (NamedText){STR("N"), str_from(str_format(arena, "%d", tile.n))};
        defines[2] = (NamedText){STR("K"), str_from(str_format(arena, "%d", tile.k))};
        defines[3] = (NamedText){STR("ACC"), elem == ELEM_I8 ? STR("tl.int32") : STR("tl.float32")};
        request->kernel.define_count = 4;
        request->kernel.num_warps = tile.warps;
    } else {
        request->kernel.signature = STR("*fp32:16, *fp32:16, i32");
        defines[0] = (NamedText){STR("SIZE"), str_from(str_format(arena, "%d", ADD_SIZE))};
        defines[1] = (NamedText){STR("STEPS"), str_from(str_format(arena, "%d", ADD_STEPS))};
        request->kernel.define_count = 2;
        request->kernel.num_warps = ADD_WARPS;
    }
    return true;
}

const char *ceilings_text(CeilingKind kind) {
#define CEILING(id, text, kernel) text,
    static const char *const texts[] = {CEILING_KINDS(CEILING)};
#undef CEILING
    return texts[kind];
}

/* Timing, by two events */

typedef struct Clock {
    const Device *device;
    CUevent begin, end;
} Clock;

static bool clock_open(Clock *clock, const Device *device) {
    const Driver *driver = device->driver;
    *clock = (Clock){.device = device};
    if (driver->event_create(&clock->begin, CUDA_EVENT_DEFAULT) != CUDA_OK)
        return false;
    if (driver->event_create(&clock->end, CUDA_EVENT_DEFAULT) == CUDA_OK)
        return true;
    driver->event_destroy(clock->begin);
    return false;
}

static void clock_close(Clock *clock) {
    clock->device->driver->event_destroy(clock->begin);
    clock->device->driver->event_destroy(clock->end);
}

typedef CUresult Work(void *user);

/* The least of several times; infinite after a failure. `long_ms`: one of that length is enough. */
static double best_ms(const Clock *clock, uint32_t times, double long_ms, Work *work, void *user) {
    const Driver *driver = clock->device->driver;
    double best = INFINITY;
    for (uint32_t i = 0; i < times && (!i || best < long_ms); i++) {
        float ms;
        if (driver->event_record(clock->begin, NULL) != CUDA_OK || work(user) != CUDA_OK ||
            driver->event_record(clock->end, NULL) != CUDA_OK ||
            driver->event_wait(clock->end) != CUDA_OK ||
            driver->event_elapsed(&ms, clock->begin, clock->end) != CUDA_OK)
            return INFINITY;
        best = fmin(best, ms);
    }
    return best;
}

/* Copies */

typedef struct Copy {
    const Driver *driver;
    CUdeviceptr from, to;
    size_t bytes;
} Copy;

static CUresult copy_once(void *user) {
    const Copy *copy = user;
    return copy->driver->copy_on_device(copy->to, copy->from, copy->bytes, NULL);
}

/* Two arrays of that size; false: there is no memory for them. */
static bool copy_allocate(Copy *copy) {
    if (copy->driver->memory_allocate(&copy->from, copy->bytes) != CUDA_OK)
        return false;
    if (copy->driver->memory_allocate(&copy->to, copy->bytes) == CUDA_OK &&
        copy->driver->set_bytes(copy->from, 1, copy->bytes, NULL) == CUDA_OK)
        return true;
    copy->driver->memory_free(copy->from);
    return false;
}

double ceilings_copy(Ctx *ctx, const Device *device) {
    const Driver *driver = device->driver;
    size_t free_bytes = 0, total = 0;
    Copy copy = {.driver = driver, .bytes = (size_t)device->l2_bytes * TIMES_L2};
    Clock clock;
    driver->memory_info(&free_bytes, &total);
    copy.bytes = copy.bytes < LEAST_COPY ? LEAST_COPY : copy.bytes;
    copy.bytes = driver_runs_ptx(driver) ? HOST_COPY : copy.bytes; /* whose L2 is nothing */
    while (copy.bytes > free_bytes / 4 && copy.bytes > LEAST_COPY)
        copy.bytes /= 2;
    if (!clock_open(&clock, device))
        return 0;
    double ms = INFINITY;
    if (copy_allocate(&copy)) {
        best_ms(&clock, 1, 0, copy_once, &copy);
        ms = best_ms(&clock, BEST_OF, LONG_MS, copy_once, &copy);
        driver->memory_free(copy.to);
        driver->memory_free(copy.from);
    }
    clock_close(&clock);
    return ms > 0 && ms < INFINITY ? 2 * (double)copy.bytes / (ms * 1e6) : 0;
}

/* Kernels */

typedef struct Computing {
    const Device *device;
    Executable executable;
    CUdeviceptr x, out;
    int32_t loops;
    uint32_t grid[3];
    void *params[3];
} Computing;

static CUresult launch_once(void *user) {
    Computing *c = user;
    TensorMapProblem problem;
    return executable_launch(&c->executable, &(Launch){.grid = c->grid}, c->params, &problem);
}

/* As many programs as the device runs at once. */
static uint32_t resident_programs(const Computing *c) {
    int blocks = 0;
    c->device->driver->occupancy(&blocks, c->executable.function, (int)c->executable.threads,
                                 c->executable.shared_bytes);
    return (uint32_t)((blocks > 0 ? blocks : 1) *
                      (c->device->sm_count > 0 ? c->device->sm_count : 1));
}

/* Random operands: what tensor cores reach depends on their bits. */
static bool fill_operands(Ctx *ctx, Computing *c, Elem elem, size_t count) {
    HostArray array;
    const bool is_float = elem_is_float(elem);
    const char *text = str_format(&ctx->arena, "%s:%s[%zu]", is_float ? "rand" : "randint(0, 100)",
                                  elem_info[elem].text, count);
    const uint32_t file = source_add(&ctx->sources, STR("<operands>"), str_from(text));
    return generate_array(ctx, file, 0, str_from(text), 0, &array) &&
           device_allocate(c->device, &ctx->diags, array.bytes, &c->x) &&
           fault_check(c->device, &ctx->diags, DRIVER_copy_to_device,
                       c->device->driver->copy_to_device(c->x, array.data, array.bytes, NULL)) &&
           fault_check(c->device, &ctx->diags, DRIVER_stream_wait,
                       c->device->driver->stream_wait(NULL));
}

static double time_loops(Computing *c, double operations) {
    Clock clock;
    double ms = 0;
    c->loops = FIRST_LOOPS;
    if (!clock_open(&clock, c->device))
        return 0;
    for (int trial = 0; trial < MOST_TRIALS; trial++, c->loops *= GROWTH) {
        ms = best_ms(&clock, 2, LEAST_MS, launch_once, c);
        if (ms >= LEAST_MS || trial + 1 == MOST_TRIALS)
            break;
    }
    ms = fmin(ms, best_ms(&clock, BEST_OF, LONG_MS, launch_once, c));
    clock_close(&clock);
    return ms > 0 && ms < INFINITY ? operations * c->loops / (ms * 1e9) : 0;
}

double ceilings_compute(Ctx *ctx, const Device *device, CeilingKind kind, Elem elem,
                        const Built *built) {
    const Driver *driver = device->driver;
    const Variant *variant = &built->variants[0];
    Computing c = {.device = device, .grid = {1, 1, 1}};
    if (!built->count)
        return 0;
    const DiagMark before = diag_mark(&ctx->diags);
    const KernelImage image =
        facts_image(&ctx->arena, &variant->facts, facts_code(driver, variant->cubin, variant->ptx));
    double tflops = 0;
    if (executable_load(&c.executable, &ctx->arena, &ctx->diags, device, &image)) {
        const ProductTile tile = product_tile(device->target, elem);
        const bool is_product = kind == CEILING_products;
        const size_t operands = is_product ? (size_t)tile.n * (size_t)tile.k : ADD_SIZE + 1;
        const double one = is_product ? 2.0 * tile.m * tile.n * tile.k : 2.0 * ADD_SIZE * ADD_STEPS;
        c.grid[0] = resident_programs(&c);
        c.params[0] = &c.x;
        c.params[1] = &c.out;
        c.params[2] = &c.loops;
        if (fill_operands(ctx, &c, is_product ? elem : ELEM_F32, operands) &&
            device_allocate(device, &ctx->diags, sizeof(float) * ADD_SIZE * c.grid[0], &c.out))
            tflops = time_loops(&c, one * c.grid[0]);
        if (c.x)
            driver->memory_free(c.x);
        if (c.out)
            driver->memory_free(c.out);
        executable_unload(&c.executable);
    }
    diag_rewind(&ctx->diags, before);
    return tflops;
}
