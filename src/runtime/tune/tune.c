/* See tune.h. */
#include "runtime/tune/tune.h"

#include "runtime/driver/faults.h"
#include "runtime/status.h"
#include "runtime/tune/near_launches.h"

#include <math.h>
#include <pthread.h>

/* How times are judged. A first look is two runs, of which the lesser counts; who is this much
 * slower than the best there is not looked at again. The others run in turns until there are enough
 * times, or their turns have taken long enough. */
enum { FIRST_RUNS = 2, TURN_RUNS = 4, MOST_TURNS = 8, TURNS_MS = 400 };
#define HOPELESS 1.5
/* Behind the first turns, who is this much slower than the best goes. */
#define BEHIND 1.1
#define LEAST_MS 1e-6

/* Of one that has to be measured. */
typedef struct Trial {
    TuneCandidate *candidate;
    Arena arena; /* of the executable */
    Executable executable;
    bool is_loaded, is_same; /* as an earlier one: `same` */
    uint32_t same;
} Trial;

typedef struct Tuning {
    Ctx *ctx;
    const TuneCall *call;
    Plan plan; /* trial i is compiled as plan.data[i] */
    Built *built;
    Trial *trials;
    MeasureRun *runs;
    bool *wanted;
    uint32_t count;
    Measurer measurer;
    CUresult lost;      /* CUDA_OK unless the context is lost, or MEASURE_ENDLESS */
    uint32_t culprit;   /* the trial that lost it */
    uint32_t looked;    /* at so many */
    bool lacks_memory;  /* to compile one of them */
    pthread_t compiler; /* the thread that compiles, if there is one */
    bool is_apart;
    /* Shared with it. */
    pthread_mutex_t lock;
    pthread_cond_t more;
    uint32_t *ready; /* trials in the order in which they were compiled */
    uint32_t ready_count;
    bool all_ready;
    double compile_ms;
    unsigned jobs;
} Tuning;

static void keep(Ctx *ctx, const TuneCall *call, const TuneCandidate *candidate) {
    TuneEntry entry = candidate->entry;
    entry.record = candidate->record;
    tune_remember(call->cache, &ctx->arena, &entry);
}

/* It is out. `is_fact`: for every process that asks, and kept at once; else something of this one
 * may be the cause. */
static void strike(Tuning *t, Trial *trial, const char *reason, bool is_fact) {
    const char *kept = str_dup(&t->ctx->arena, str_from(reason));
    trial->candidate->record = (TuneRecord){is_fact ? INFINITY : 0, str_from(kept)};
    if (is_fact)
        keep(t->ctx, t->call, trial->candidate);
}

static uint32_t limit_of(const TuneCall *call) {
    return call->limit_ms ? call->limit_ms : TUNE_LIMIT_MS;
}

static bool is_empty(const TuneCandidate *candidate) {
    return !candidate->grid[0] || !candidate->grid[1] || !candidate->grid[2];
}

/* For whoever watches. */
static void note_run(void *user, const MeasureRun *run) {
    Tuning *t = user;
    const TuneWatch *watch = t->call->watch;
    if (watch && watch->runs)
        watch->runs(watch->user, run ? &t->trials[run - t->runs].candidate->entry : NULL, t->looked,
                    t->count);
}

/* Compiling, on threads of its own */

static void note_ready(void *user, const Planned *planned, size_t done, size_t total) {
    Tuning *t = user;
    pthread_mutex_lock(&t->lock);
    t->ready[t->ready_count++] = (uint32_t)(planned - t->plan.data);
    pthread_cond_signal(&t->more);
    pthread_mutex_unlock(&t->lock);
}

static void *compile_all(void *user) {
    Tuning *t = user;
    const double start = clock_ms();
    const BuildOptions options = {.jobs = t->jobs,
                                  .one_form = true,
                                  .params = (const void *const *)t->call->params,
                                  .progress = note_ready,
                                  .user = t};
    build_plan(t->ctx, &t->plan, &options, t->built);
    pthread_mutex_lock(&t->lock);
    t->all_ready = true;
    t->compile_ms = clock_ms() - start;
    pthread_cond_signal(&t->more);
    pthread_mutex_unlock(&t->lock);
    return NULL;
}

/* The next trial that is compiled; `count` when there will be none. */
static uint32_t next_ready(Tuning *t, uint32_t seen) {
    pthread_mutex_lock(&t->lock);
    while (seen == t->ready_count && !t->all_ready)
        pthread_cond_wait(&t->more, &t->lock);
    const uint32_t next = seen < t->ready_count ? t->ready[seen] : t->count;
    pthread_mutex_unlock(&t->lock);
    return next;
}

/* The first look */

static Str code_of(const Tuning *t, uint32_t trial) {
    const Variant *variant = &t->built[trial].variants[0];
    return facts_code(t->call->subject.device->driver, variant->cubin, variant->ptx);
}

/* Code and all that its launches depend on. */
static bool is_same_launch(const Tuning *t, uint32_t a, uint32_t b) {
    const KernelMeta *x = &t->built[a].variants[0].facts.meta,
                     *y = &t->built[b].variants[0].facts.meta;
    return x->threads == y->threads && x->shared_bytes == y->shared_bytes &&
           x->programs_per_cta == y->programs_per_cta && x->num_ctas == y->num_ctas &&
           str_eq(code_of(t, a), code_of(t, b)) &&
           !memcmp(t->trials[a].candidate->grid, t->trials[b].candidate->grid,
                   sizeof t->trials[a].candidate->grid);
}

/* An earlier trial of the same code and launch; `i` if there is none. */
static uint32_t same_as(const Tuning *t, uint32_t i) {
    for (uint32_t other = 0; other < t->count; other++)
        if (other != i && t->trials[other].is_loaded && is_same_launch(t, other, i))
            return other;
    return i;
}

/* The message that a driver's result gives, taken out of the diagnostics. */
static const char *reason_of(Tuning *t, const Trial *trial, CUresult result) {
    Diags *diags = &t->ctx->diags;
    const DiagMark before = diag_mark(diags);
    if (result == LAUNCH_NO_TENSOR_MAP)
        return "its tensor maps cannot hold the arguments";
    if (result == MEASURE_ENDLESS)
        return str_format(&t->ctx->arena, "it does not end within %g s", limit_of(t->call) / 1e3);
    const Launch launch = {
        .grid = trial->candidate->grid, .stream = t->call->stream, .options = t->call->options};
    executable_report(&trial->executable, &launch, diags, result);
    const DiagReason why = diag_take(diags, before, (Span){0});
    return *why.text ? why.text : "it failed";
}

static bool load(Tuning *t, uint32_t i) {
    Trial *trial = &t->trials[i];
    Diags *diags = &t->ctx->diags;
    const DiagMark before = diag_mark(diags);
    const KernelImage image =
        facts_image(&t->ctx->arena, &t->built[i].variants[0].facts, code_of(t, i));
    trial->arena = (Arena){.oom = t->ctx->arena.oom, .allocator = t->ctx->arena.allocator};
    trial->is_loaded =
        executable_load(&trial->executable, &trial->arena, diags, t->call->subject.device, &image);
    trial->arena.oom = NULL;
    const DiagReason why = diag_take(diags, before, (Span){0});
    if (!trial->is_loaded)
        strike(t, trial, *why.text ? why.text : "it cannot be loaded", why.id == DIAG_load_shared);
    else if (trial->executable.param_count != t->call->param_count)
        strike(t, trial, "it takes other parameters", true);
    return trial->is_loaded && trial->executable.param_count == t->call->param_count;
}

/* A run has failed. */
static void drop(Tuning *t, uint32_t i, CUresult result) {
    const bool is_lost = result == MEASURE_ENDLESS ||
                         (result != LAUNCH_NO_TENSOR_MAP && fault_loses_context(result));
    strike(t, &t->trials[i], reason_of(t, &t->trials[i], result), is_lost);
    t->runs[i].count = 0;
    t->wanted[i] = false;
    if (!is_lost)
        return;
    t->lost = result;
    t->culprit = i;
}

static void run_first(Tuning *t, uint32_t i) {
    uint32_t failed;
    bool *only = ARENA_ARRAY(&t->ctx->arena, bool, t->count);
    only[i] = true;
    CUresult result = measure_runs(&t->measurer, t->runs, only, t->count, FIRST_RUNS, &failed);
    if (result != CUDA_OK)
        drop(t, i, result);
}

static void look_at(Tuning *t, uint32_t i) {
    Trial *trial = &t->trials[i];
    const Built *built = &t->built[i];
    if (t->lost != CUDA_OK)
        return;
    t->looked++;
    if (!built->count) {
        t->lacks_memory |=
            built->failed == DIAG_COUNT || status_of_id(built->failed) == TILE_ERROR_OUT_OF_MEMORY;
        const char *end = built->said.len ? memchr(built->said.ptr, '\n', built->said.len) : NULL;
        const Str line =
            end ? (Str){built->said.ptr, (size_t)(end - built->said.ptr)} : built->said;
        strike(t, trial,
               line.len ? str_dup(&t->ctx->arena, line)
                        : "there was no memory to compile it, or no time",
               built->failed != DIAG_COUNT && status_of_id(built->failed) == TILE_ERROR_SOURCE);
        return;
    }
    if (is_empty(trial->candidate)) {
        strike(t, trial, "its grid is empty, and others' are not", false);
        return;
    }
    trial->same = same_as(t, i);
    trial->is_same = trial->same != i;
    if (trial->is_same || !load(t, i))
        return;
    t->runs[i] = (MeasureRun){.executable = &trial->executable, .params = t->call->params};
    memcpy(t->runs[i].grid, trial->candidate->grid, sizeof t->runs[i].grid);
    run_first(t, i);
}

/* Who stays */

static double least_of_all(const Tuning *t) {
    double least = INFINITY;
    for (uint32_t i = 0; i < t->count; i++)
        least = fmin(least, measure_least_ms(&t->runs[i]));
    return least;
}

static void drop_hopeless(Tuning *t) {
    const double bound = HOPELESS * least_of_all(t);
    for (uint32_t i = 0; i < t->count; i++)
        t->wanted[i] = t->runs[i].count && measure_least_ms(&t->runs[i]) <= bound;
}

static double best_time(const Tuning *t) {
    double best = INFINITY;
    for (uint32_t i = 0; i < t->count; i++)
        if (t->wanted[i])
            best = fmin(best, measure_quartile_ms(&t->runs[i]));
    return best;
}

static uint32_t drop_behind(Tuning *t) {
    const double bound = BEHIND * best_time(t);
    uint32_t left = 0;
    for (uint32_t i = 0; i < t->count; i++) {
        t->wanted[i] = t->wanted[i] && measure_quartile_ms(&t->runs[i]) <= bound;
        left += t->wanted[i];
    }
    return left;
}

static void take_turns(Tuning *t) {
    const double start = clock_ms();
    drop_hopeless(t);
    for (int turn = 0; turn < MOST_TURNS && t->lost == CUDA_OK; turn++) {
        uint32_t failed;
        const CUresult result =
            measure_runs(&t->measurer, t->runs, t->wanted, t->count, TURN_RUNS, &failed);
        if (result != CUDA_OK)
            drop(t, failed, result);
        if (drop_behind(t) <= 1 || clock_ms() - start > TURNS_MS)
            return;
    }
}

static void keep_times(Tuning *t) {
    for (uint32_t i = 0; i < t->count; i++) {
        Trial *trial = &t->trials[i];
        const MeasureRun *run = &t->runs[trial->is_same ? trial->same : i];
        if (trial->candidate->record.reason.len)
            continue;
        if (run->count) /* of what is shorter than events resolve, too */
            trial->candidate->record.ms = fmax(measure_quartile_ms(run), LEAST_MS);
        else if (trial->is_same)
            trial->candidate->record = t->trials[trial->same].candidate->record;
    }
}

static void measure_all(void *user) {
    Tuning *t = user;
    uint32_t i;
    for (uint32_t seen = 0; (i = next_ready(t, seen)) < t->count; seen++)
        look_at(t, i);
    if (t->lost == CUDA_OK)
        take_turns(t);
    keep_times(t);
}

static void stop_measuring(void *user) {
    Tuning *t = user;
    if (t->is_apart)
        pthread_join(t->compiler, NULL);
    measure_close(&t->measurer);
}

/* Compiles in a thread, measures in this one. */
static void compile_and_measure(void *user) {
    Tuning *t = user;
    const TuneWatch *watch = t->call->watch;
    if (watch && watch->begins && !watch->begins(watch->user))
        return;
    if (!measure_open(&t->measurer, &t->ctx->diags, t->call->subject.device, t->call->stream,
                      t->call->options, t->call->buffers, t->call->buffer_count))
        return;
    t->measurer.limit_ms = limit_of(t->call);
    t->measurer.watch = note_run;
    t->measurer.user = t;
    t->is_apart = !pthread_create(&t->compiler, NULL, compile_all, t);
    if (!t->is_apart)
        compile_all(t);
    ctx_finally(t->ctx, measure_all, stop_measuring, t);
}

static void release(void *user) {
    Tuning *t = user;
    for (uint32_t i = 0; i < t->count; i++) {
        if (t->trials[i].is_loaded && !t->measurer.is_stuck)
            executable_unload(&t->trials[i].executable);
        arena_free(&t->trials[i].arena);
    }
    build_release(t->built, t->count);
    pthread_mutex_destroy(&t->lock);
    pthread_cond_destroy(&t->more);
}

/* A stream that is captured runs nothing, so nothing can be measured there; nor behind a kernel
 * that does not end. */
static bool may_measure(Ctx *ctx, const TuneCall *call) {
    const Device *device = call->subject.device;
    const Driver *driver = device->driver;
    int capturing = 0;
    if (call->unsized.len)
        return ctx_diag(ctx, (Span){0}, tune_no_size, STR_ARG(call->unsized),
                        STR_ARG(call->subject.kernel));
    if (atomic_load(device_stuck(device)))
        return ctx_diag(ctx, (Span){0}, tune_stuck, STR_ARG(call->subject.kernel), device->ordinal);
    if (!driver->stream_capturing ||
        driver->stream_capturing(call->stream, &capturing) != CUDA_OK || !capturing)
        return true;
    return ctx_diag(ctx, (Span){0}, tune_captured, STR_ARG(call->subject.kernel));
}

static void report_endless(Tuning *t) {
    const Device *device = t->call->subject.device;
    atomic_store(device_stuck(device), true);
    ctx_diag(t->ctx, (Span){0}, tune_endless, STR_ARG(t->call->subject.kernel),
             t->trials[t->culprit].candidate->text, limit_of(t->call) / 1e3, device->ordinal);
    diag_hint(&t->ctx->diags, "`tilec tune` measures in a process of its own, which may be ended");
}

static bool measure_unknown(Ctx *ctx, const TuneCall *call, TuneCandidate *candidates,
                            uint32_t count, Tuned *tuned) {
    Arena *arena = &ctx->arena;
    Tuning *t = ARENA_NEW(arena, Tuning);
    *t = (Tuning){.ctx = ctx, .call = call, .jobs = call->jobs};
    t->trials = ARENA_ARRAY(arena, Trial, count + 1);
    t->runs = ARENA_ARRAY(arena, MeasureRun, count + 1);
    t->wanted = ARENA_ARRAY(arena, bool, count + 1);
    t->built = ARENA_ARRAY(arena, Built, count + 1);
    t->ready = ARENA_ARRAY(arena, uint32_t, count + 1);
    near_launches_choose(ctx, call->jobs, candidates, count);
    for (uint32_t i = 0; i < count; i++) {
        if (candidates[i].is_known || candidates[i].is_left_out)
            continue;
        t->trials[t->count++].candidate = &candidates[i];
        vec_push(arena, &t->plan, candidates[i].planned);
    }
    if (!t->count)
        return true;
    if (!may_measure(ctx, call))
        return false;
    pthread_mutex_init(&t->lock, NULL);
    pthread_cond_init(&t->more, NULL);
    const unsigned errors = ctx->diags.errors;
    ctx_finally(ctx, compile_and_measure, release, t);
    tuned->compile_ms = t->compile_ms;
    tuned->measured = t->count;
    tuned->lacks_memory = t->lacks_memory;
    if (t->lost == MEASURE_ENDLESS)
        report_endless(t);
    else if (t->lost != CUDA_OK)
        fault_check(call->subject.device, &ctx->diags, DRIVER_event_wait, t->lost);
    return ctx->diags.errors == errors;
}

/* Those whose time, or fault, is a fact, once all are measured. */
static void remember(Ctx *ctx, const TuneCall *call, const TuneCandidate *candidates,
                     uint32_t count) {
    for (uint32_t i = 0; i < count; i++)
        if (!candidates[i].is_known && candidates[i].record.ms > 0)
            keep(ctx, call, &candidates[i]);
}

/* Whether one of them has a time. */
static bool has_time(const TuneCandidate *candidates, uint32_t count) {
    for (uint32_t i = 0; i < count; i++)
        if (candidates[i].is_known && isfinite(candidates[i].record.ms))
            return true;
    return false;
}

/* What is known of them, given or kept. */
static void recall(Ctx *ctx, const TuneCall *call, TuneCandidate *candidates, uint32_t count,
                   Tuned *tuned) {
    for (uint32_t i = 0; i < count; i++) {
        TuneCandidate *c = &candidates[i];
        c->entry = tune_entry(&ctx->arena, &call->subject, c->text);
        if (!c->is_known && tune_recall(call->cache, &ctx->arena, &c->entry)) {
            c->is_known = true;
            c->record = c->entry.record;
        }
        tuned->known += c->is_known;
    }
}

/* The best of the nearest key, of those that are not known to be out. */
static bool take_nearest(Ctx *ctx, const TuneCall *call, const TuneCandidate *candidates,
                         uint32_t count, Tuned *tuned) {
    Nearest nearest;
    const char **texts = (const char **)arena_array(&ctx->arena, count, sizeof *texts);
    for (uint32_t i = 0; i < count; i++)
        texts[i] = candidates[i].is_known ? NULL : candidates[i].text;
    const NearestQuestion question = {.subject = &call->subject,
                                      .cache = call->cache,
                                      .chosen = call->chosen,
                                      .chosen_count = call->chosen_count,
                                      .configs = texts,
                                      .config_count = count};
    if (!nearest_find(ctx, &question, &nearest))
        return false;
    tuned->best = nearest.config;
    tuned->nearest = nearest.key;
    return true;
}

/* Why the first ones are out. */
static bool report_none(Ctx *ctx, const TuneCall *call, const TuneCandidate *candidates,
                        uint32_t count, const Tuned *tuned) {
    ctx_diag(ctx, (Span){0}, tune_none, STR_ARG(call->subject.kernel),
             tuned->measured + tuned->known);
    for (uint32_t i = 0, said = 0; i < count && said < 4; i++) {
        if (!candidates[i].record.reason.len)
            continue;
        diag_note(&ctx->diags, (Span){0}, "%s: %.*s", candidates[i].text,
                  STR_ARG(candidates[i].record.reason));
        said++;
    }
    return false;
}

static void tell_what_was_found(const TuneCall *call, const TuneCandidate *candidates,
                                uint32_t count, const Tuned *tuned) {
    if (call->watch && call->watch->found)
        call->watch->found(call->watch->user, candidates, count, tuned);
}

/* A call that launches nothing says nothing of times: the first that is not out will do. */
static bool take_any(const TuneCall *call, const TuneCandidate *candidates, uint32_t count,
                     Tuned *tuned) {
    uint32_t any = 0;
    for (uint32_t i = 0; i < count; i++)
        if (!is_empty(&candidates[i]))
            return false;
    while (any < count && candidates[any].record.reason.len)
        any++;
    if (any == count)
        return false;
    tuned->best = any;
    tuned->is_empty = true;
    tell_what_was_found(call, candidates, count, tuned);
    return true;
}

bool tune_candidates(Ctx *ctx, const TuneCall *call, TuneCandidate *candidates, uint32_t count,
                     Tuned *tuned) {
    const double start = clock_ms();
    double best = INFINITY;
    *tuned = (Tuned){.best = count};
    recall(ctx, call, candidates, count, tuned);
    if (take_any(call, candidates, count, tuned))
        return true;
    const bool has_times = has_time(candidates, count);
    if (call->takes_nearest && !has_times && take_nearest(ctx, call, candidates, count, tuned))
        return true;
    const bool only_known = call->only_known || (call->takes_nearest && has_times);
    if (only_known && !tuned->known)
        return ctx_diag(ctx, (Span){0}, tune_strict, STR_ARG(call->subject.kernel),
                        STR_ARG(call->subject.key));
    const bool ok = only_known || measure_unknown(ctx, call, candidates, count, tuned);
    if (ok)
        remember(ctx, call, candidates, count);
    for (uint32_t i = 0; i < count; i++) {
        tuned->struck += candidates[i].record.reason.len != 0;
        if (candidates[i].record.ms > 0 && candidates[i].record.ms < best) {
            best = candidates[i].record.ms;
            tuned->best = i;
        }
    }
    tuned->total_ms = clock_ms() - start;
    if (!ok)
        return false;
    tell_what_was_found(call, candidates, count, tuned);
    if (tuned->best < count)
        return true;
    if (tuned->lacks_memory)
        return ctx_diag(ctx, (Span){0}, out_of_memory);
    return report_none(ctx, call, candidates, count, tuned);
}
