/* What a launch would have less without a cause, and without two of them: what both save of one
 * instruction is saved once. */
#include "inspect/findings.h"

#include <math.h>

FindingSaving *finding_saving_new(const Finder *f) {
    const size_t count = f->profile ? f->profile->ptx.len : 0;
    FindingSaving *saving = ARENA_NEW(f->arena, FindingSaving);
    saving->busy = ARENA_ARRAY(f->arena, double, count + 1);
    saving->waits = ARENA_ARRAY(f->arena, double, count + 1);
    return saving;
}

static void add_up(SimSaving *saving, const ProfileLine *ptx, double busy, double waits) {
    saving->clocks += busy * finding_busy(ptx) + waits;
    saving->code += busy < 1 ? 0 : 1;
    for (int unit = 0; unit < SIM_UNITS; unit++)
        saving->units.clocks[unit] += busy * ptx->units.clocks[unit];
}

void finding_save(Finder *f, const ProfileLine *ptx, double busy, double waits) {
    const size_t at = (size_t)(ptx - f->profile->ptx.data);
    if (!f->saved)
        f->saved = finding_saving_new(f);
    f->saved->busy[at] += busy;
    f->saved->waits[at] += waits;
    add_up(&f->saving, ptx, busy, waits);
}

/* Clocks that no instruction was named for. */
static double others(const Finder *f, const FindingSaving *saving) {
    SimSaving own = {0};
    for (size_t i = 0; i < f->profile->ptx.len; i++)
        add_up(&own, &f->profile->ptx.data[i], saving->busy[i], saving->waits[i]);
    return fmax(saving->all.clocks - own.clocks, 0);
}

SimSaving finding_both(const Finder *f, const FindingSaving *a, const FindingSaving *b) {
    SimSaving both = {.tensor = fmax(a->all.tensor, b->all.tensor),
                      .sectors = 1 - (1 - a->all.sectors) * (1 - b->all.sectors),
                      .again = 1 - (1 - a->all.again) * (1 - b->all.again)};
    for (size_t i = 0; i < f->profile->ptx.len; i++) {
        const ProfileLine *ptx = &f->profile->ptx.data[i];
        const double waits = ptx->spent.waits + ptx->spent.awaited;
        add_up(&both, ptx, fmin(a->busy[i] + b->busy[i], 1),
               fmin(a->waits[i] + b->waits[i], waits));
    }
    both.clocks += others(f, a) + others(f, b);
    return both;
}
