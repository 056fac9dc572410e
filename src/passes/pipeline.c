/* The pipeline: passes in order, timed, observed, refused where what they
 * require is missing, and held to their contract in checked runs (contract/check.c). */
#define _POSIX_C_SOURCE 200809L
#include "passes/blocks/tensor_maps.h"
#include "passes/contract/check.h"
#include "passes/launch/compare_warps.h"
#include "passes/passes.h"
#include "target/target.h"

#include <time.h>

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

/* Passes on a function, one after the other. */
typedef struct Run {
    const PipelineOptions *options;
    bool is_trial; /* the function is thrown away: nothing is checked */
    unsigned position;
    PropertySet has; /* what the function is known to have */
    KeptRuns kept;   /* of the last pass that was checked */
} Run;

static bool run_pass(Func *func, PassId pass, Run *run) {
    const PipelineOptions *options = run->options;
    const Diags *diags = &func_ctx(func)->diags;
    unsigned errors = diags->errors;
    bool check = !run->is_trial && must_check(options);
    PassCheck begun = {0};
    PassContract uncounted = {0};
    if (!func_check_depth(func) || !check_requirements(func, pass, &run->has))
        return false;
    if (check)
        begun = check_begin(func, run->has, &run->kept);
    double start = now_ms();
    bool changed = pass_info[pass].run(func);
    double milliseconds = now_ms() - start;
    bool ok = diags->errors == errors;
    run->has = pass_leaves(pass, run->has);
    /* A pass that reported an error owes nothing more; what it left is not looked at. */
    if (check && ok)
        ok = check_end(&begun, func, pass, changed,
                       options && options->contracts ? &options->contracts[pass] : &uncounted);
    if (options && options->observe)
        options->observe(options->user, func, pass, run->position, changed, milliseconds);
    run->position++;
    return ok;
}

bool pipeline_run_passes(Func *func, const PassId *passes, unsigned count,
                         const PipelineOptions *options) {
    Run run = {.options = options};
    for (unsigned i = 0; i < count; i++)
        if (!run_pass(func, passes[i], &run))
            return false;
    return true;
}

bool pipeline_step_runs(const Func *func, PipelineCondition condition) {
    return condition == PIPELINE_ALWAYS || target_has(func->capability, FEATURE_TENSOR_COPIES);
}

static bool run_steps(Func *func, unsigned first, Run *run);

/* The steps from choose-dots on, for compare_warps: what units products get depends on the warps.
 */
static bool finish_trial(Func *trial) {
    Run run = {.is_trial = true};
    unsigned first = 0;
    while (pipeline_steps[first].pass != PASS_choose_dots)
        first++;
    return run_steps(trial, first, &run);
}

static bool run_steps(Func *func, unsigned first, Run *run) {
    for (unsigned i = first; i < PIPELINE_STEPS; i++) {
        const PipelineStep *step = &pipeline_steps[i];
        if (step->pass == PASS_choose_dots && !run->is_trial)
            compare_warps(func, finish_trial);
        if (pipeline_step_runs(func, step->condition) && !run_pass(func, step->pass, run))
            return false;
    }
    return true;
}

bool pipeline_run(Func *func, const PipelineOptions *options) {
    Run run = {.options = options};
    return run_steps(func, 0, &run);
}
