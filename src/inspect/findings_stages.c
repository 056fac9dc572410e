/* What findings about waiting for global memory advise: it follows from what the loop was compiled
 * with and from what became of its loads, which the remarks of the passes say (pipeline-loads).
 *
 * - Its copies are started ahead, but not far enough: how many iterations more the clock says that
 *   they lack, and whether there is room for them.
 * - They are not: why, and what would have to be so. */
#include "inspect/findings.h"

#include "passes/schedule/pipeline_loads.h"

#include <math.h>

/* Does the block have an op of that line? */
static bool block_is_at(const Finder *f, const Block *block, TracePlace at) {
    block_for_each (op, block) {
        const TracePlace own = trace_place(f->trace->ctx, op->span);
        if (own.file == at.file && own.line == at.line)
            return true;
        for (uint32_t r = 0; r < op->nregions; r++)
            if (block_is_at(f, op->regions[r], at))
                return true;
    }
    return false;
}

const TraceLoop *finding_loop_around(const Finder *f, TracePlace at) {
    const TraceLoop *found = NULL;
    vec_for_each (loop, &f->trace->loops)
        if (block_is_at(f, loop->loop->regions[loop->loop->nregions - 1], at))
            found = loop; /* inner ones come behind those around them */
    return found;
}

/* What a pass said of the line; NULL: nothing. */
static const Diagnostic *remark_at(const Finder *f, TracePlace at, DiagId id) {
    for (const Diagnostic *d = f->trace->ctx->diags.first; d; d = d->next) {
        const TracePlace own = trace_place(f->trace->ctx, d->span);
        if (d->id == id && own.file == at.file && own.line == at.line)
            return d;
    }
    return NULL;
}

/* What the remark says behind its colon: the reason. */
static const char *reason_of(const Diagnostic *remark) {
    const char *colon = strstr(remark->text, ": ");
    return colon ? colon + 2 : remark->text;
}

/* An op of the source's own that may write anywhere: inline PTX with effects, an atomic. */
static const Op *writes_unseen(const Block *block) {
    block_for_each (op, block) {
        if (op->code == OP_effect_asm || op_has(op, ATOMIC))
            return op;
        for (uint32_t r = 0; r < op->nregions; r++) {
            const Op *inner = writes_unseen(op->regions[r]);
            if (inner)
                return inner;
        }
    }
    return NULL;
}

static bool has_trait(const Block *block, bool (*has)(const Op *op)) {
    block_for_each (op, block) {
        if (has(op))
            return true;
        for (uint32_t r = 0; r < op->nregions; r++)
            if (has_trait(op->regions[r], has))
                return true;
    }
    return false;
}

static bool is_product(const Op *op) {
    return op_has(op, ACCUMULATES);
}

static bool is_loop(const Op *op) {
    return op_has(op, LOOP);
}

/* Why pipeline-loads, which tells nobody who did not ask for this loop, left it as it is. */
static const char *silent_reason(const Finder *f, const TraceLoop *loop) {
    Arena *arena = f->arena;
    const Op *op = loop->loop;
    const Block *body = op->regions[op->nregions - 1];
    const Op *unseen = writes_unseen(body);
    if (op->code != OP_for)
        return "it is no loop over a range, whose next iteration is known before its turn";
    if (unseen)
        return str_format(arena, "what line %u does (%s) may write what the loop loads",
                          trace_place(f->trace->ctx, unseen->span).line,
                          unseen->code == OP_effect_asm ? "PTX of the source, is_pure=False"
                                                        : "an atomic");
    if (has_trait(body, is_loop))
        return "it has an inner loop";
    if (has_trait(body, is_product))
        return "the operands of its products are computed from what it loads";
    return "stages are for loads that feed a product or a recurrence, and it has neither";
}

/* What would have to be otherwise, where silent_reason says why. */
static const char *silent_change(const TraceLoop *loop) {
    const Block *body = loop->loop->regions[loop->loop->nregions - 1];
    const Op *unseen = writes_unseen(body);
    if (!unseen && loop->loop->code == OP_for && !loop->asks && !has_trait(body, is_loop) &&
        !has_trait(body, is_product))
        return "Give it stages of its own, tl.range(.., num_stages=..), with which lines of up to "
               "1 KiB that it loads come ahead";
    if (!unseen || unseen->code != OP_effect_asm)
        return "Change that";
    return loop->asks || has_trait(body, is_product)
               ? "Declare it is_pure=True if its results are all that it does"
               : "If its results are all that it does, declare it is_pure=True and give the loop "
                 "stages of its own, tl.range(.., num_stages=..)";
}

const char *finding_stages_name(const Finder *f, const TraceLoop *loop) {
    return loop->asked_by.len ? str_format(f->arena, "%.*s", STR_ARG(loop->asked_by))
                              : "num_stages";
}

static const char *asked_text(const Finder *f, const TraceLoop *loop) {
    return loop->asked_by.len ? str_format(f->arena, "num_stages (%.*s)", STR_ARG(loop->asked_by))
                              : "num_stages";
}

/* Nothing of the loop is started ahead. */
static const char *advice_to_start(const Finder *f, const TraceLoop *loop) {
    const Diagnostic *remark = remark_at(f, loop->at, DIAG_loop_not_pipelined);
    const Diagnostic *fewer = remark_at(f, loop->at, DIAG_fewer_stages);
    const char *asked = asked_text(f, loop);
    const bool fills = finding_fills_device(f);
    if (fewer)
        return str_format(
            f->arena, "%s is %" PRId64 " already, but %s. Smaller blocks leave room for stages.",
            asked, loop->asked, fewer->text);
    if (loop->asked < PIPELINE_LEAST_STAGES && !remark)
        return str_format(f->arena,
                          "It was compiled with %s=%" PRId64
                          ", which starts nothing ahead: give 2 or more%s.",
                          finding_stages_name(f, loop), loop->asked,
                          fills ? ", or keep more programs on an SM by smaller blocks" : "");
    return str_format(f->arena,
                      "%s is %" PRId64 " already and no larger one helps: the loop at line %u "
                      "starts no loads ahead, since %s. %s, or load the next tile in the kernel "
                      "before the work on this one%s.",
                      asked, loop->asked, loop->at.line,
                      remark ? reason_of(remark) : silent_reason(f, loop),
                      remark ? "Change that" : silent_change(loop),
                      fills ? "; more programs on an SM hide the wait too" : "");
}

const char *finding_load_advice(const Finder *f, TracePlace at) {
    const TraceLoop *loop = finding_loop_around(f, at);
    const Diagnostic *registers = remark_at(f, at, DIAG_load_through_registers);
    if (!loop)
        return str_format(
            f->arena,
            "It is loaded once, outside of loops, where stages (num_stages) start "
            "nothing ahead: load it before other work, or load more at once%s.",
            finding_fills_device(f) ? ", or keep more programs on an SM by smaller blocks" : "");
    if (registers)
        return str_format(f->arena,
                          "The load goes through registers, one iteration ahead at most whatever "
                          "%s (%" PRId64 ") says, since %s. Change that, so that it is a copy.",
                          finding_stages_name(f, loop), loop->asked, reason_of(registers));
    if (loop->stages > 1)
        return str_format(f->arena,
                          "Its loop copies %" PRId64 " iteration%s ahead, but not this load, which "
                          "feeds no product or is needed for addresses: %s (%" PRId64
                          ") does nothing for it. Load what it gives an iteration before it is "
                          "needed.",
                          loop->stages - 1, loop->stages == 2 ? "" : "s",
                          finding_stages_name(f, loop), loop->asked);
    return advice_to_start(f, loop);
}

/* Clocks of a turn of the loop but for its waits for copies, and those: `waits` of a warp, which
 * waited so often. False where the run does not say it. */
static bool turn_of(const Finder *f, const TraceLoop *loop, double waits, double *work,
                    double *lacks) {
    const ProfileLoop *ran = loop ? profile_loop(f->profile, f->trace->ctx, loop->loop) : NULL;
    if (!ran || ran->turns <= 0 || ran->cycles <= waits)
        return false;
    *lacks = waits / ran->turns;
    *work = (ran->cycles - waits) / ran->turns;
    return *work > 0;
}

/* Has the loop no more iterations than stages? Then nobody waits for want of these. */
static bool is_all_ahead(const Finder *f, const TraceLoop *loop) {
    const double turns = finding_turns(f, loop);
    return turns > 0 && turns <= (double)loop->stages;
}

bool finding_is_bound_by_memory(const Finder *f) {
    const SimTime *time = &f->profile->time;
    const double memory = time->l2_us > time->dram_us ? time->l2_us : time->dram_us;
    const bool unit = time->unit && !strcmp(time->unit, sim_unit_name(SIM_UNITS - 1)) &&
                      time->unit_us > time->latency_us;
    return f->profile->has_time && (unit || memory > time->latency_us);
}

/* Would shared memory have had room for the stages that were asked for? */
static bool fits(const Finder *f, const TraceLoop *loop, int64_t stage_bytes) {
    const KernelMeta *meta = &f->trace->compiled->facts.meta;
    return f->trace->shared + (loop->asked - loop->stages) * stage_bytes <=
           meta->target->shared_per_block;
}

/* What limits an iteration that waits for no copies: a unit that all warps of the program keep busy
 * for longer than one of them takes; "": none does. */
static const char *next_limit(const Finder *f, const TraceLoop *loop, double work) {
    const ProfileLoop *ran = profile_loop(f->profile, f->trace->ctx, loop->loop);
    unsigned busiest = 0;
    for (unsigned unit = 1; ran && unit < SIM_UNITS; unit++)
        busiest = ran->units.clocks[unit] > ran->units.clocks[busiest] ? unit : busiest;
    return ran && ran->units.clocks[busiest] > work
               ? str_format(f->arena,
                            " An iteration takes no less than the %.0f clocks that all warps keep "
                            "%s busy.",
                            ran->units.clocks[busiest], sim_unit_name(busiest))
               : "";
}

const char *finding_copy_advice(const Finder *f, const TraceLoop *loop, int64_t stage_bytes,
                                double waits) {
    const KernelMeta *meta = &f->trace->compiled->facts.meta;
    const Diagnostic *fewer = loop ? remark_at(f, loop->at, DIAG_fewer_stages) : NULL;
    double work, lacks;
    if (finding_is_bound_by_memory(f))
        return "More stages do not help: memory gives no more bytes in that time. Do more "
               "arithmetic for each byte: larger blocks, or data that several programs share.";
    if (fewer)
        return str_format(
            f->arena,
            "More stages %s: %s%s. Shorten a stage (a smaller block along the loop, or "
            "smaller blocks) to have more of them.",
            fits(f, loop, stage_bytes) ? "are not taken" : "do not fit", fewer->text,
            fits(f, loop, stage_bytes) ? ", which leaves an SM room for more CTAs" : "");
    if (!turn_of(f, loop, waits, &work, &lacks))
        return loop ? str_format(f->arena,
                                 "Raise %s (%" PRId64 ") while shared memory has room, or do more "
                                 "arithmetic for each byte: larger blocks.",
                                 finding_stages_name(f, loop), loop->asked)
                    : NULL;
    if (is_all_ahead(f, loop)) {
        const double turns = finding_turns(f, loop);
        return str_format(
            f->arena,
            "More stages do not help: the loop has %.0f iteration%s, and all copies are "
            "started before those of the first are there. A smaller block along the "
            "loop has these there sooner.",
            turns, turns > 1 ? "s" : "");
    }
    const int64_t more = (int64_t)ceil(lacks / work), stages = loop->asked + more;
    const int64_t bytes = f->trace->shared + more * stage_bytes;
    const char *figures =
        str_format(f->arena,
                   "Of an iteration of %.0f clocks %.0f are waits; each stage more gives copies "
                   "%.0f clocks more",
                   work + lacks, lacks, work);
    if (stages <= PIPELINE_MOST_STAGES && bytes <= meta->target->shared_per_block)
        return str_format(
            f->arena,
            "%s, so that %s=%" PRId64 " instead of %" PRId64 "%s would cover them, with %" PRId64
            " bytes of shared memory; or do more for each copy: larger blocks.%s",
            figures, finding_stages_name(f, loop), stages, loop->asked,
            loop->asked_by.len ? " (num_stages)" : "", bytes, next_limit(f, loop, work));
    return str_format(f->arena,
                      "%s: %" PRId64 " stages would cover them, which is more than shared memory "
                      "or a loop (%d) has. Do more for each copy: larger blocks along K, so that "
                      "an iteration has more to multiply.",
                      figures, stages, PIPELINE_MOST_STAGES);
}
