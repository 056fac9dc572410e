/* What is found of products, of threads that do nothing, and of the kernel as a whole. */
#include "inspect/findings.h"

#include <math.h>

/* Why threads compute it, and what would help. */
static const char *remedy_of(const Finder *f, const TraceDot *dot) {
    enum { LEAST_SIDE = 16 };
    const Type *a = op_in(dot->op, 0)->type, *b = op_in(dot->op, 1)->type;
    const int64_t m = a->shape[a->rank - 2], k = a->shape[a->rank - 1], n = b->shape[b->rank - 1];
    if (m < LEAST_SIDE || n < 8 || k < LEAST_SIDE)
        return "Make the block at least 16 x 16 x 16 by padding the short dimension: tensor cores "
               "take no smaller one.";
    const Str precision = finding_constexpr_text(f, "'ieee'");
    if (a->dtype == DT_F32)
        return str_format(f->arena,
                          "%s%.*s%s, or \"tf32x3\" where the result has to be as exact as with "
                          "fp32; or load 16-bit operands.",
                          precision.len ? "Give -D " : "Write input_precision=\"tf32\"",
                          STR_ARG(precision), precision.len ? "=\"'tf32'\"" : "");
    if (type_is_int(a))
        return "Give both operands as int8, or convert them to fp16.";
    return NULL;
}

static double tensor_clocks(const Finder *f, const TraceDot *dot) {
    const Type *a = op_in(dot->op, 0)->type;
    const double steps = (double)type_numel(dot->op->out[0].type) * (double)a->shape[a->rank - 1];
    const Figure rate = type_element_bytes(a) == 1   ? FIGURE_TENSOR_F8
                        : type_element_bytes(a) == 2 ? FIGURE_TENSOR_F16
                                                     : FIGURE_TENSOR_TF32;
    return steps / finding_figure(f, rate);
}

/* How often a warp comes by the line: the turns of the loop around it. */
static double times_at(const Finder *f, TracePlace at) {
    const TraceLoop *loop = finding_loop_around(f, at);
    const double turns = loop ? finding_turns(f, loop) : 1;
    return turns > 0 ? turns : 1;
}

/* Through what only names, converts or computes elements. */
static bool reads_at(const Finder *f, const Value *value, TracePlace at, unsigned budget) {
    const Op *op = value->def;
    if (!op || !budget)
        return false;
    const TracePlace own = trace_place(f->trace->ctx, op->span);
    if (op_has(op, LREADS) && own.file == at.file && own.line == at.line)
        return true;
    if (op_has(op, LREADS) || !op_is_pure(op))
        return false;
    for (uint32_t i = 0; i < op->nin; i++)
        if (reads_at(f, op_in(op, i), at, budget - 1))
            return true;
    return false;
}

bool finding_dot_reads(const Finder *f, const TraceDot *dot, uint32_t operand, TracePlace at) {
    enum { STEPS = 4 };
    return operand < dot->op->nin && reads_at(f, op_in(dot->op, operand), at, STEPS);
}

/* Tensor cores take operands once: threads that read them for each few steps need not. Says what
 * goes with the product; "": nothing does. */
static const char *save_operands(Finder *f, const TraceDot *dot) {
    double all = 0, less = 0;
    vec_for_each (ptx, &f->profile->ptx) {
        const SimCount *count = &ptx->count;
        if (!count->words || finding_is_at(ptx, dot->at) ||
            !(finding_dot_reads(f, dot, 0, ptx->at) || finding_dot_reads(f, dot, 1, ptx->at)))
            continue;
        const double once = (double)count->first_words / 32 / (double)count->wavefronts;
        const double part = once < 1 ? 1 - once : 0;
        all += (double)count->wavefronts / f->programs;
        less += part * (double)count->wavefronts / f->programs;
        finding_save(f, ptx, part, (ptx->spent.waits + ptx->spent.awaited) * part);
    }
    return less < 1 ? ""
                    : str_format(f->arena,
                                 "; with it goes that its operands are read again and again, %.0f "
                                 "of %.0f wavefronts",
                                 less, all);
}

void find_fma_dot(Finder *f) {
    vec_for_each (dot, &f->trace->dots) {
        if (strcmp(dot->unit, "fma") != 0)
            continue;
        const Type *a = op_in(dot->op, 0)->type, *out = dot->op->out[0].type;
        const double cycles = finding_line_cycles(f, dot->at);
        StrBuf clocks = strbuf(f->arena);
        if (f->total > 0)
            strbuf_printf(&clocks, "; %.0f of %.0f clocks of a warp (%.0f%%) go there", cycles,
                          f->total, finding_percent(f, cycles));
        finding_save_line(f, dot->at, 1);
        const char *more = f->profile ? save_operands(f, dot) : "";
        f->saving.tensor = tensor_clocks(f, dot) * times_at(f, dot->at);
        Finding *found = finding_add(
            f, dot->at, cycles,
            "%lld x %lld x %lld of %s by fma, for which tensor cores take about %.0f clocks each "
            "time%s%s",
            (long long)out->shape[out->rank - 2], (long long)out->shape[out->rank - 1],
            (long long)a->shape[a->rank - 1], dtype_info[a->dtype].text, tensor_clocks(f, dot),
            strbuf_str(&clocks).ptr, more);
        const char *remedy = remedy_of(f, dot);
        if (found && remedy)
            found->remedy = remedy;
    }
}

/* An access for each word, as often as instructions are executed in the mean. */
void find_spills(Finder *f) {
    enum { WORD_BYTES = 4 };
    const Resources *resources = &f->trace->compiled->facts.resources;
    const double bytes = resources->spill_stores + resources->spill_loads;
    if (!resources->known || bytes <= 0)
        return;
    double often = 1;
    if (f->profile && f->trace->module && f->profile->ptx.len)
        often = (double)f->profile->sum.warps / f->programs /
                f->trace->compiled->facts.meta.num_warps / (double)f->profile->ptx.len;
    const double cycles = bytes / WORD_BYTES * often * finding_figure(f, FIGURE_LATENCY_L1) / 4;
    f->saving.clocks = cycles;
    finding_add(f, trace_place(f->trace->ctx, f->trace->compiled->func->span), cycles,
                "%d bytes of a thread are stored and %d loaded again, with %d registers",
                resources->spill_stores, resources->spill_loads, resources->registers);
}

/* One thread of a warp is switched on where an instruction is meant for one: copies and what
 * belongs to them. */
static bool is_for_one(const ProfileLine *line) {
    return line->count.threads <= line->count.warps;
}

void find_divergence(Finder *f) {
    enum { WORTH_PERCENT = 20 };
    if (!f->profile)
        return;
    vec_for_each (line, &f->profile->lines) {
        SimCount all = {0};
        double cycles = 0;
        uint32_t worst = 0;
        vec_for_each (ptx, &f->profile->ptx) {
            if (!finding_is_at(ptx, line->at) || is_for_one(ptx))
                continue;
            const double off =
                1 - (double)ptx->count.threads / (double)ptx->count.warps / TARGET_WARP_SIZE;
            all.warps += ptx->count.warps;
            all.threads += ptx->count.threads;
            all.divergent += ptx->count.divergent;
            cycles += ptx->spent.cycles * off;
            finding_save(f, ptx, off, ptx->spent.waits * off);
            worst = worst || !ptx->count.divergent ? worst : ptx->ptx_line;
        }
        if (!all.warps || all.divergent * 100 < all.warps * WORTH_PERCENT) {
            f->saving = (SimSaving){0};
            continue;
        }
        Finding *found = finding_add(
            f, line->at, cycles,
            "%.0f%% of its instructions are executed for a part of a warp: %.1f of 32 threads in "
            "the mean",
            100 * (double)all.divergent / (double)all.warps,
            (double)all.threads / (double)all.warps);
        if (found)
            found->ptx_line = worst;
    }
}

/* What is waited for is none of the work. */
void find_repeated_work(Finder *f) {
    enum { WORTH_REPEATING_PERCENT = 10 }; /* places, which all threads reckon, are always some */
    if (!f->profile)
        return;
    vec_for_each (repeat, &f->trace->repeats) {
        double busy = 0;
        vec_for_each (line, &f->profile->lines)
            if (finding_is_at(line, repeat->at))
                busy = line->spent.cycles - line->spent.waits;
        if (repeat->all <= 0 || busy <= 0)
            continue;
        const double share = repeat->repeated / repeat->all;
        if (finding_percent(f, busy * share) < WORTH_REPEATING_PERCENT)
            continue;
        vec_for_each (ptx, &f->profile->ptx)
            if (finding_is_at(ptx, repeat->at))
                finding_save(f, ptx, share, 0);
        finding_add(f, repeat->at, busy * share,
                    "%.0f%% of what this line computes other threads compute as well, up to %lld "
                    "for each element; about %.0f of %.0f clocks of a warp",
                    100 * share, (long long)repeat->threads, busy * share, f->total);
    }
}

/* Of an SM's warps, and of a warp's clocks. What is waited for could be hidden by as many warps as
 * are missing. */
static const double ENOUGH = 0.25;

void find_low_occupancy(Finder *f) {
    const Occupancy *held = &f->trace->occupancy;
    const double part = held->max_warps ? (double)held->warps / held->max_warps : 1;
    double waits = 0;
    if (part > ENOUGH || !finding_fills_device(f))
        return;
    if (f->profile)
        vec_for_each (line, &f->profile->lines)
            waits += line->spent.waits;
    if (f->total > 0 && waits < ENOUGH * f->total)
        return;
    StrBuf waiting = strbuf(f->arena);
    strbuf_puts(&waiting, "");
    if (f->total > 0)
        strbuf_printf(&waiting, "; warps wait %.0f%% of their clocks", finding_percent(f, waits));
    f->saving.clocks = waits;
    finding_add(f, (TracePlace){0}, waits * (ENOUGH - part),
                "%d of %d warps: %d CTA%s an SM by %s%s", held->warps, held->max_warps, held->ctas,
                held->ctas == 1 ? "" : "s", occupancy_limit_name(held->limit), waiting.ptr);
}

void find_small_grid(Finder *f) {
    const TargetDevice *device = target_device(f->trace->compiled->facts.meta.target);
    if (!f->profile || !device)
        return;
    const double ctas = finding_ctas(f);
    if (ctas >= device->sms)
        return;
    const double total = f->total;
    f->total = 0; /* its cost is none of a program's clocks */
    finding_add(f, (TracePlace){0}, 0, "%.0f CTA%s for %d SMs of an %s", ctas, ctas == 1 ? "" : "s",
                device->sms, device->name);
    f->total = total;
}
