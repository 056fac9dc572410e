/* The pass table and the pipeline: passes in order, timed, observed, and held to their contract in
 * checked runs (check.c). */
#define _POSIX_C_SOURCE 200809L
#include "passes/blocks/tensor_maps.h"
#include "passes/check.h"
#include "passes/passes.h"

#include <time.h>

const PassInfo pass_info[PASS_COUNT] = {
#define PASS(id, text, summary) {text, summary, pass_##id},
#include "passes/passes.def"
};

/* Where block accesses may stay, what can be one becomes one. Equal scalars are to be one value by
 * then. */
static const PassId raising_order[] = {PASS_simplify, PASS_raise_pointers};

/* simplify comes again after what leaves constants, copies or dead ops behind. Layouts are chosen
 * once, and what follows them works on shared memory. */
static const PassId pipeline_order[] = {
    PASS_lower_blocks,
    PASS_simplify,
    PASS_unroll,
    PASS_simplify,
    PASS_licm,
    PASS_simplify,
    PASS_stream_blocks,
    PASS_split_loops,
    PASS_licm,
    PASS_simplify,
    PASS_choose_dots,
    PASS_persist,
    PASS_delay_loads,
    PASS_choose_warps,
    PASS_order_programs,
    PASS_sink,
    PASS_choose_layouts,
    PASS_fold_converts,
    PASS_defer_sums,
    PASS_park,
    PASS_pipeline_loads,
    PASS_split_stores,
    PASS_stage_blocks,
    PASS_feed_wgmma,
    PASS_join_wgmma,
    PASS_rotate_dots,
    PASS_split_scans,
    PASS_split_reduces,
    PASS_stage_shared,
    PASS_split_dots,
    PASS_limit_registers,
    PASS_specialise_warps,
    PASS_split_exchanges,
    PASS_allocate_shared,
    PASS_place_barriers,
    PASS_part_stores,
};

PassId pass_find(Str name) {
    for (int i = 0; i < PASS_COUNT; i++)
        if (str_is(name, pass_info[i].name))
            return (PassId)i;
    return PASS_COUNT;
}

static double now_ms(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec * 1e3 + (double)time.tv_nsec / 1e6;
}

static bool must_check(const PipelineOptions *options) {
#ifdef TILEC_CHECKED
    return true;
#else
    return options && options->check;
#endif
}

static bool run_pass(Func *func, PassId pass, unsigned position, const PipelineOptions *options) {
    const Diags *diags = &func_ctx(func)->diags;
    unsigned errors = diags->errors;
    bool check = must_check(options);
    PassCheck begun = {0};
    PassContract uncounted = {0};
    if (!func_check_depth(func))
        return false;
    if (check)
        begun = check_begin(func);
    double start = now_ms();
    bool changed = pass_info[pass].run(func);
    double milliseconds = now_ms() - start;
    bool ok = diags->errors == errors;
    /* A pass that reported an error owes nothing more; what it left is not looked at. */
    if (check && ok)
        ok = check_end(&begun, func, pass, changed,
                       options && options->contracts ? &options->contracts[pass] : &uncounted);
    if (options && options->observe)
        options->observe(options->user, func, pass, position, changed, milliseconds);
    return ok;
}

static bool run_passes(Func *func, const PassId *passes, unsigned count, unsigned *position,
                       const PipelineOptions *options) {
    for (unsigned i = 0; i < count; i++)
        if (!run_pass(func, passes[i], (*position)++, options))
            return false;
    return true;
}

bool pipeline_run_passes(Func *func, const PassId *passes, unsigned count,
                         const PipelineOptions *options) {
    return run_passes(func, passes, count, &(unsigned){0}, options);
}

bool pipeline_run(Func *func, const PipelineOptions *options) {
    unsigned position = 0;
    if (target_has_tensor_copies(func->capability) &&
        !run_passes(func, raising_order, sizeof raising_order / sizeof *raising_order, &position,
                    options))
        return false;
    return run_passes(func, pipeline_order, sizeof pipeline_order / sizeof *pipeline_order,
                      &position, options);
}
