/* What the files that find things have in common. */
#include "inspect/findings.h"

/* Of all clocks: what takes less is no finding. */
static const double LEAST_SHARE = 0.04;

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

Finding *finding_add(Finder *f, TracePlace at, double cycles, const char *figures, ...) {
    const FindingInfo *info = f->info;
    if (f->total > 0 && cycles < LEAST_SHARE * f->total)
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
                       .cycles = cycles,
                       .rank = (uint32_t)f->kind});
    return &f->found->data[f->found->len - 1];
}
