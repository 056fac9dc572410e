/* What the files that find things have in common. */
#include "inspect/findings.h"

#include <math.h>

/* Of all clocks, and of the launch's time: what takes less is no finding. */
static const double LEAST_SHARE = 0.04;

const char *finding_name(FindingKind kind) {
    static const char *const names[FINDING_COUNT] = {
#define FINDING(id, title, why, remedy) #id,
#include "inspect/findings.def"
    };
    return names[kind];
}

double finding_figure(const Finder *f, Figure figure) {
    return target_figure(f->trace->compiled->facts.meta.target, figure);
}

double finding_percent(const Finder *f, double cycles) {
    return f->total > 0 ? 100 * cycles / f->total : 0;
}

double finding_line_cycles(const Finder *f, TracePlace at) {
    if (f->profile)
        vec_for_each (line, &f->profile->lines)
            if (finding_is_at(line, at))
                return line->spent.cycles;
    return 0;
}

void finding_save_line(Finder *f, TracePlace at, double part) {
    if (f->profile)
        vec_for_each (ptx, &f->profile->ptx)
            if (finding_is_at(ptx, at))
                finding_save(f, ptx, part, part * ptx->spent.waits);
}

uint32_t finding_hottest(const Finder *f, TracePlace at) {
    uint32_t hottest = 0;
    double most = 0;
    if (f->profile && at.file)
        vec_for_each (ptx, &f->profile->ptx) {
            const double clocks = ptx->spent.cycles - ptx->spent.waits + ptx->spent.awaited;
            if (!finding_is_at(ptx, at) || clocks <= most)
                continue;
            most = clocks;
            hottest = ptx->ptx_line;
        }
    return hottest;
}

double report_hundredths(double us) {
    return floor(us * 100 + 0.5) / 100;
}

/* What the clock says of the launch without it: at most, since what comes to light then is none of
 * what it knows. NULL: nothing has run. */
static const SimTime *left_of(Finder *f, const FindingSaving **told) {
    FindingSaving *saving = f->saved ? f->saved : finding_saving_new(f);
    saving->all = f->saving;
    f->saving = (SimSaving){0};
    f->saved = NULL;
    *told = saving;
    if (!f->profile || !f->profile->has_time)
        return NULL;
    SimTime *left = ARENA_NEW(f->arena, SimTime);
    *left = sim_time_without(&f->profile->time, &saving->all);
    return left;
}

Finding *finding_add(Finder *f, TracePlace at, double cycles, const char *figures, ...) {
    const FindingInfo *info = f->info;
    const FindingSaving *saving;
    const SimTime *left = left_of(f, &saving);
    const double less =
        left ? report_hundredths(f->profile->time.us) - report_hundredths(left->us) : 0;
    const double gain = less > 0.005 ? less : 0; /* as it is written: with what is left it is all */
    const bool gains = !f->profile || gain >= LEAST_SHARE * f->profile->time.us;
    const bool must_gain = f->must_gain;
    f->must_gain = false;
    if (f->total > 0 && !gains && (must_gain || cycles < LEAST_SHARE * f->total))
        return NULL;
    StrBuf text = strbuf(f->arena);
    va_list args;
    va_start(args, figures);
    strbuf_vprintf(&text, figures, args);
    va_end(args);
    vec_push(f->arena, f->found,
             (Finding){.kind = info->name,
                       .at = at,
                       .title = info->title,
                       .figures = text.ptr,
                       .why = info->why,
                       .remedy = info->remedy,
                       .ptx_line = finding_hottest(f, at),
                       .cycles = cycles < f->total ? cycles : f->total,
                       .gain = gain,
                       .left = gain > 0 ? left : NULL,
                       .saving = left ? saving : NULL,
                       .rank = (uint32_t)f->kind});
    return &f->found->data[f->found->len - 1];
}

double finding_turns(const Finder *f, const TraceLoop *loop) {
    const ProfileLoop *ran =
        f->profile ? profile_loop(f->profile, f->trace->ctx, loop->loop) : NULL;
    const double warps = (double)f->trace->compiled->facts.meta.threads / TARGET_WARP_SIZE;
    const double own = loop->roles.data[loop->roles.len - 1].warp_count;
    return ran ? ran->turns * (own < warps ? warps / own : 1) : 0;
}

double finding_ctas(const Finder *f) {
    const int32_t each = f->trace->compiled->facts.meta.programs_per_cta;
    return ceil(f->programs / (each > 1 ? each : 1));
}

bool finding_fills_device(const Finder *f) {
    const KernelMeta *meta = &f->trace->compiled->facts.meta;
    const TargetDevice *device = target_device(meta->target);
    if (!f->profile || !device || meta->is_persistent)
        return true;
    return finding_ctas(f) > (double)device->sms * f->trace->occupancy.ctas;
}
