/* `tilec bench` on the device: ceilings, then each shape's arguments are made there, and the
 * configurations take turns on them. */
#include "cli/bench.h"
#include "runtime/driver/faults.h"
#include "runtime/status.h"

#include <stdio.h>

/* Elements of a random array that are made; by their repetition the rest is. Runs that are not
 * counted, and runs between looks at whether to go on. */
enum { WARM_RUNS = 2, TURN_RUNS = 5, DEFAULT_RUNS = 30 };

/* One configuration on the device. */
typedef struct Loaded {
    Executable executable;
    Built other; /* the form without tensor copies, where the arguments need that one */
    bool is_loaded;
} Loaded;

typedef struct ShapeRun {
    Bench *bench;
    uint32_t shape, first, count; /* of Bench.cases */
    RunArgs args;
    Loaded *loaded;
    MeasureRun *runs;
    bool *wanted;
    Measurer measurer;
    bool is_open;
} ShapeRun;

/* Arguments */

static bool make_arrays(ShapeRun *s) {
    Bench *bench = s->bench;
    if (!bench_args(bench, &bench->shapes[s->shape], RUN_PART_ELEMENTS, &s->args))
        return false;
    vec_for_each (arg, &s->args)
        if (arg->is_array &&
            (!device_allocate(&bench->device, &bench->ctx->diags, arg->array.bytes, &arg->device) ||
             !run_fill_array(&bench->device, &bench->ctx->diags, arg)))
            return false;
    return fault_check(&bench->device, &bench->ctx->diags, DRIVER_stream_wait,
                       bench->device.driver->stream_wait(NULL));
}

/* Of a kernel's arguments, in order, as a launch takes them. */
static void **make_params(ShapeRun *s, const KernelFacts *facts) {
    Ctx *ctx = s->bench->ctx;
    RunArg **ordered;
    uint32_t count;
    if (!run_order_args(ctx, &s->args, facts, &ordered, &count))
        return NULL;
    void **params = (void **)arena_array(&ctx->arena, (size_t)count + 1, sizeof *params);
    uint64_t *values = ARENA_ARRAY(&ctx->arena, uint64_t, (size_t)count + 1);
    for (uint32_t i = 0; i < count; i++) {
        values[i] = ordered[i]->is_array ? ordered[i]->device : run_scalar_bits(ordered[i]);
        params[i] = &values[i];
    }
    return params;
}

/* What @triton.autotune resets or puts back before each run. */
static MeasureBuffer *find_buffers(ShapeRun *s, uint32_t *count) {
    const Autotune *autotune = &s->bench->autotune;
    MeasureBuffer *buffers = ARENA_ARRAY(&s->bench->ctx->arena, MeasureBuffer, s->args.len + 1);
    *count = 0;
    if (!autotune->resets)
        return buffers;
    for (uint32_t i = 0; i < autotune->param_count; i++) {
        const RunArg *arg = run_find_arg(&s->args, autotune->names[i]);
        if (arg && arg->is_array && (autotune->resets[i] || autotune->restores[i]))
            buffers[(*count)++] = (MeasureBuffer){.address = arg->device,
                                                  .bytes = arg->array.bytes,
                                                  .restores = autotune->restores[i]};
    }
    return buffers;
}

/* Configurations */

static void strike(BenchCase *c, const char *reason) {
    c->failed = *reason ? reason : "it failed";
    c->times = (BenchTimes){0};
}

/* The first line of what was said of a build that failed. */
static const char *build_reason(Bench *bench, const Built *built) {
    return built->error.len ? str_dup(&bench->ctx->arena, built->error)
                            : "there was no memory to compile it, or no time";
}

static bool load(ShapeRun *s, uint32_t i, const Built *built) {
    Bench *bench = s->bench;
    Ctx *ctx = bench->ctx;
    const Variant *variant = &built->variants[0];
    const DiagMark before = diag_mark(&ctx->diags);
    const KernelImage image = facts_image(&ctx->arena, &variant->facts,
                                          facts_code(&bench->driver, variant->cubin, variant->ptx));
    s->runs[i].params = make_params(s, &variant->facts);
    s->loaded[i].is_loaded =
        s->runs[i].params &&
        executable_load(&s->loaded[i].executable, &ctx->arena, &ctx->diags, &bench->device, &image);
    if (s->loaded[i].is_loaded)
        return true;
    strike(&bench->cases[s->first + i], diag_take(&ctx->diags, before, (Span){0}).text);
    return false;
}

/* A failed run of it: struck out, and if the device's context is lost with it, an error. */
static void fail(ShapeRun *s, uint32_t i, CUresult result) {
    Bench *bench = s->bench;
    Diags *diags = &bench->ctx->diags;
    const uint32_t number = s->first + i;
    const DiagMark before = diag_mark(diags);
    const Launch launch = {.grid = bench->plans[number].grid};
    s->wanted[i] = false;
    if (result == MEASURE_ENDLESS) {
        const char *limit =
            str_format(&bench->ctx->arena, "%g", (double)bench->options.limit_ms / 1e3);
        bench->is_lost = bench->is_stuck = true;
        ctx_diag(bench->ctx, (Span){0}, bench_endless, bench->report.kernel,
                 bench->report.configs[bench->cases[number].config], bench->shapes[s->shape].text,
                 limit);
        strike(&bench->cases[number],
               str_format(&bench->ctx->arena, "it does not end within %s s", limit));
        return;
    }
    bench->is_lost = result != LAUNCH_NO_TENSOR_MAP && fault_loses_context(result);
    if (result == LAUNCH_NO_TENSOR_MAP) {
        strike(&bench->cases[number], "its tensor maps cannot hold the arguments");
    } else if (bench->is_lost) {
        fault_check(&bench->device, diags, DRIVER_event_wait, result);
        diag_note(diags, (Span){0}, "for %s, with %s", bench->shapes[s->shape].text,
                  bench->report.configs[bench->cases[number].config]);
        strike(&bench->cases[number],
               driver_error_text(&bench->driver, &bench->ctx->arena, result));
    } else {
        executable_report(&s->loaded[i].executable, &launch, diags, result);
        strike(&bench->cases[number], diag_take(diags, before, (Span){0}).text);
    }
}

static CUresult warm_up(ShapeRun *s, uint32_t i) {
    uint32_t failed;
    bool *only = ARENA_ARRAY(&s->bench->ctx->arena, bool, (size_t)s->count + 1);
    only[i] = true;
    const CUresult result = measure_runs(&s->measurer, s->runs, only, s->count, WARM_RUNS, &failed);
    s->runs[i].count = 0;
    return result;
}

/* The form without tensor copies of a case, as a function of the library would launch it. */
static CUresult try_other_form(ShapeRun *s, uint32_t i) {
    Bench *bench = s->bench;
    Loaded *loaded = &s->loaded[i];
    const BuildOptions options = {.jobs = 1, .one_form = true};
    Planned planned = bench->plan.data[bench->plans[s->first + i].build];
    Plan plan = {&planned, 1, 1};
    planned.request.no_tensor_copies = true;
    executable_unload(&loaded->executable);
    loaded->is_loaded = false;
    if (!build_plan(bench->ctx, &plan, &options, &loaded->other)) {
        strike(&bench->cases[s->first + i], build_reason(bench, &loaded->other));
        return CUDA_OK;
    }
    return load(s, i, &loaded->other) ? warm_up(s, i) : CUDA_OK;
}

static void ready_case(ShapeRun *s, uint32_t i) {
    Bench *bench = s->bench;
    const Built *built = &bench->built[bench->plans[s->first + i].build];
    s->runs[i] = (MeasureRun){.executable = &s->loaded[i].executable};
    memcpy(s->runs[i].grid, bench->plans[s->first + i].grid, sizeof s->runs[i].grid);
    if (!built->count) {
        strike(&bench->cases[s->first + i], build_reason(bench, built));
        return;
    }
    if (!load(s, i, built))
        return;
    CUresult result = warm_up(s, i);
    if (result == LAUNCH_NO_TENSOR_MAP)
        result = try_other_form(s, i);
    s->wanted[i] = s->loaded[i].is_loaded;
    if (result != CUDA_OK)
        fail(s, i, result);
}

static bool is_cancelled(const Bench *bench) {
    return cancel_is_requested(bench->ctx->arena.cancel);
}

static void take_turns(ShapeRun *s) {
    Bench *bench = s->bench;
    const uint32_t runs = bench->options.runs ? (uint32_t)bench->options.runs : DEFAULT_RUNS;
    for (uint32_t done = 0; done < runs && !bench->is_lost && !is_cancelled(bench);
         done += TURN_RUNS) {
        uint32_t failed;
        const uint32_t times = runs - done < TURN_RUNS ? runs - done : TURN_RUNS;
        const CUresult result =
            measure_runs(&s->measurer, s->runs, s->wanted, s->count, times, &failed);
        if (result != CUDA_OK)
            fail(s, failed, result);
    }
    for (uint32_t i = 0; i < s->count; i++)
        if (s->wanted[i])
            bench->cases[s->first + i].times = bench_times(&s->runs[i]);
}

static void measure_shape(void *user) {
    ShapeRun *s = user;
    Bench *bench = s->bench;
    uint32_t buffer_count;
    if (!make_arrays(s))
        return;
    MeasureBuffer *buffers = find_buffers(s, &buffer_count);
    s->is_open = measure_open(&s->measurer, &bench->ctx->diags, &bench->device, NULL, NULL, buffers,
                              buffer_count);
    s->measurer.limit_ms = (double)bench->options.limit_ms;
    for (uint32_t i = 0; s->is_open && i < s->count && !bench->is_lost && !is_cancelled(bench);
         i++) {
        progress_show(&bench->progress, (double)(s->first + i) / bench->report.case_count,
                      bench->shapes[s->shape].text);
        ready_case(s, i);
    }
    if (s->is_open)
        take_turns(s);
}

static void release_shape(void *user) {
    ShapeRun *s = user;
    const Driver *driver = &s->bench->driver;
    const bool is_stuck = s->bench->is_stuck; /* what gives back would wait for the device */
    if (s->is_open)
        measure_close(&s->measurer);
    for (uint32_t i = 0; i < s->count; i++) {
        if (s->loaded[i].is_loaded && !is_stuck)
            executable_unload(&s->loaded[i].executable);
        build_release(&s->loaded[i].other, 1);
    }
    vec_for_each (arg, &s->args)
        if (arg->device && !is_stuck)
            driver->memory_free(arg->device);
}

static void measure_ceilings(Bench *bench) {
    Ceilings *ceilings = &bench->report.ceilings;
    bool has_products = false;
    ceilings->gbs = ceilings_copy(bench->ctx, &bench->device);
    for (uint32_t i = 0; i < bench->report.case_count; i++) {
        const Built *built = &bench->built[bench->plans[i].build];
        const Str ptx = built->count ? built->variants[0].ptx : STR("");
        has_products |= ptx.len && strstr(ptx.ptr, "mma.");
    }
    ceilings->kind = has_products ? CEILING_products : CEILING_multiply_adds;
    const Elem elem = has_products ? bench->ceiling_elem : ELEM_F32;
    const uint32_t build = bench->ceiling[ceilings->kind];
    if (build == UINT32_MAX)
        return;
    ceilings->elem = has_products && elem == ELEM_F32 ? "tf32" : elem_info[elem].text;
    ceilings->tflops =
        ceilings_compute(bench->ctx, &bench->device, ceilings->kind, elem, &bench->built[build]);
}

void bench_measure(Bench *bench) {
    Arena *arena = &bench->ctx->arena;
    BenchReport *report = &bench->report;
    measure_ceilings(bench);
    bench_print_header(bench);
    bench->progress = progress_begin();
    uint32_t next = 0;
    for (uint32_t shape = 0; shape < report->shape_count; shape++) {
        ShapeRun s = {.bench = bench, .shape = shape, .first = next};
        while (next < report->case_count && bench->cases[next].shape == shape)
            next++;
        s.count = next - s.first;
        s.loaded = ARENA_ARRAY(arena, Loaded, (size_t)s.count + 1);
        s.runs = ARENA_ARRAY(arena, MeasureRun, (size_t)s.count + 1);
        s.wanted = ARENA_ARRAY(arena, bool, (size_t)s.count + 1);
        const unsigned errors = bench->ctx->diags.errors;
        ctx_finally(bench->ctx, measure_shape, release_shape, &s);
        progress_end(&bench->progress);
        bench_print_shape(bench, shape);
        if (bench->is_lost || is_cancelled(bench) || bench->ctx->diags.errors > errors)
            return;
    }
    report->is_whole = true;
}
