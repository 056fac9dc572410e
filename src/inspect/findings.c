/* The table of what may be found, and the order of what is. */
#include "inspect/findings.h"

#include <stdlib.h>

typedef struct FindingInfo {
    const char *name, *title, *why, *remedy;
    void (*find)(Finder *f);
} FindingInfo;

static const FindingInfo finding_info[FINDING_COUNT] = {
#define FINDING(id, title, why, remedy) {#id, title, why, remedy, find_##id},
#include "inspect/findings.def"
};

/* Of all clocks: what takes less is no finding. */
static const double LEAST_SHARE = 0.04;
enum { MOST_OF_A_KIND = 3 };

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
    const FindingInfo *info = &finding_info[f->kind];
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

static int costliest_first(const void *a, const void *b) {
    const Finding *x = a, *y = b;
    if (x->cycles != y->cycles)
        return x->cycles < y->cycles ? 1 : -1;
    if (x->rank != y->rank)
        return x->rank < y->rank ? -1 : 1;
    if (x->at.file != y->at.file)
        return x->at.file < y->at.file ? -1 : 1;
    return (x->at.line > y->at.line) - (x->at.line < y->at.line);
}

/* Of each kind the costliest few. */
static void leave_out(Findings *found) {
    uint32_t count[FINDING_COUNT] = {0};
    size_t kept = 0;
    for (size_t i = 0; i < found->len; i++)
        if (count[found->data[i].rank]++ < MOST_OF_A_KIND)
            found->data[kept++] = found->data[i];
    found->len = kept;
}

Findings findings_make(const Trace *trace, const Profile *profile) {
    Findings found = {0};
    Finder f = {.trace = trace,
                .profile = profile,
                .arena = &trace->ctx->arena,
                .found = &found,
                .programs = 1};
    if (profile) {
        f.total = profile->cycles;
        for (int axis = 0; axis < 3; axis++)
            f.programs *= profile->grid[axis] ? profile->grid[axis] : 1;
    }
    for (int kind = 0; kind < FINDING_COUNT; kind++) {
        f.kind = (FindingKind)kind;
        finding_info[kind].find(&f);
    }
    if (found.len)
        qsort(found.data, found.len, sizeof *found.data, costliest_first);
    leave_out(&found);
    return found;
}
