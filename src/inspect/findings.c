/* The table of what may be found, and the order of what is. */
#include "inspect/findings.h"

#include <stdlib.h>
#include <string.h>

static const FindingInfo finding_info[FINDING_COUNT] = {
#define FINDING(id, title, why, remedy) {#id, title, why, remedy, find_##id},
#include "inspect/findings.def"
};

enum { MOST_OF_A_KIND = 3 };

static int most_to_gain_first(const void *a, const void *b) {
    const Finding *x = a, *y = b;
    if (x->gain != y->gain)
        return x->gain < y->gain ? 1 : -1;
    if (x->cycles != y->cycles)
        return x->cycles < y->cycles ? 1 : -1;
    if (x->rank != y->rank)
        return x->rank < y->rank ? -1 : 1;
    if (x->at.file != y->at.file)
        return x->at.file < y->at.file ? -1 : 1;
    return (x->at.line > y->at.line) - (x->at.line < y->at.line);
}

/* Of each kind the first few. */
static void leave_out(Findings *found) {
    uint32_t count[FINDING_COUNT] = {0};
    size_t kept = 0;
    for (size_t i = 0; i < found->len; i++)
        if (count[found->data[i].rank]++ < MOST_OF_A_KIND)
            found->data[kept++] = found->data[i];
    found->len = kept;
}

/* What those behind the first gain, as far as the clock knows, when that is mended: what hid behind
 * it comes to light. What follows from it is gone then. */
static void add_after(Finder *f) {
    const Finding *first = f->found->data;
    for (size_t i = 1; i < f->found->len && first->left; i++) {
        Finding *finding = &f->found->data[i];
        if (!finding->saving || !finding->left || finding->follows == 1)
            continue;
        const SimSaving both = finding_both(f, first->saving, finding->saving);
        const double us = report_hundredths(sim_time_without(&f->profile->time, &both).us);
        const double after = report_hundredths(first->left->us) - us;
        finding->after = after > 0.005 ? after : 0;
        finding->has_after = true;
    }
}

/* Consequences by the numbers of their causes, where these are told as well. */
static void number_causes(Findings *found) {
    for (size_t i = 0; i < found->len; i++) {
        Finding *one = &found->data[i];
        for (size_t j = 0; one->cause.kind && j < found->len; j++) {
            const Finding *other = &found->data[j];
            if (j != i && !strcmp(other->kind, one->cause.kind) &&
                other->at.file == one->cause.at.file && other->at.line == one->cause.at.line)
                one->follows = (uint32_t)j + 1;
        }
    }
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
        f.info = &finding_info[kind];
        finding_info[kind].find(&f);
    }
    if (found.len)
        qsort(found.data, found.len, sizeof *found.data, most_to_gain_first);
    leave_out(&found);
    number_causes(&found);
    if (found.len && profile && profile->has_time)
        add_after(&f);
    return found;
}
