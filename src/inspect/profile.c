/* Counts of instructions, added up by line. */
#include "inspect/profile.h"

#include <stdlib.h>

static void add_count(SimCount *to, const SimCount *from) {
    to->warps += from->warps;
    to->threads += from->threads;
    to->divergent += from->divergent;
    to->requests += from->requests;
    to->sectors += from->sectors;
    to->ideal_sectors += from->ideal_sectors;
    to->bytes_used += from->bytes_used;
    to->wavefronts += from->wavefronts;
    to->ideal_wavefronts += from->ideal_wavefronts;
    to->words += from->words;
    to->first_words += from->first_words;
    to->own_words += from->own_words;
}

static void add_line(ProfileLine *to, const ProfileLine *from) {
    add_count(&to->count, &from->count);
    if (from->shared && (!to->shared || from->shared->wavefronts > to->shared->wavefronts))
        to->shared = from->shared;
    to->spent.cycles += from->spent.cycles;
    to->spent.waits += from->spent.waits;
    to->spent.awaited += from->spent.awaited;
    to->spent.held += from->spent.held;
    to->spent.queued += from->spent.queued;
    to->spent.crowded += from->spent.crowded;
    for (int unit = 0; unit < SIM_UNITS; unit++)
        to->units.clocks[unit] += from->units.clocks[unit];
}

static int compare(uint32_t a, uint32_t b) {
    return (a > b) - (a < b);
}

static int by_source(const void *a, const void *b) {
    const ProfileLine *x = a, *y = b;
    const int file = compare(x->at.file, y->at.file);
    return file ? file : compare(x->at.line, y->at.line);
}

static int by_ptx(const void *a, const void *b) {
    const ProfileLine *x = a, *y = b;
    return compare(x->ptx_line, y->ptx_line);
}

/* Sorts lines and adds up equal ones. */
static void merge(ProfileLines *lines, int (*order)(const void *, const void *)) {
    if (!lines->len)
        return;
    qsort(lines->data, lines->len, sizeof *lines->data, order);
    size_t kept = 0;
    for (size_t i = 1; i < lines->len; i++) {
        if (order(&lines->data[kept], &lines->data[i]))
            lines->data[++kept] = lines->data[i];
        else
            add_line(&lines->data[kept], &lines->data[i]);
    }
    lines->len = kept + 1;
}

static void add_class(Arena *arena, Profile *profile, const char *name, uint64_t warps,
                      double cycles) {
    vec_for_each (class, &profile->classes)
        if (!strcmp(class->name, name)) {
            class->warps += warps;
            class->cycles += cycles;
            return;
        }
    vec_push(arena, &profile->classes, (ProfileClass){name, warps, cycles});
}

static int most_first(const void *a, const void *b) {
    const ProfileClass *x = a, *y = b;
    if (x->warps != y->warps)
        return x->warps < y->warps ? 1 : -1;
    return strcmp(x->name, y->name);
}

static int longest_first(const void *a, const void *b) {
    const ProfileWait *x = a, *y = b;
    if (x->cycles != y->cycles)
        return x->cycles < y->cycles ? 1 : -1;
    return x->line != y->line ? compare(x->line, y->line) : compare(x->maker, y->maker);
}

/* Who waits for whom, where the report would not say 0. */
static void add_waits(Arena *arena, Profile *profile, const SimModule *module,
                      const SimTime *time) {
    static const double LEAST = 0.05;
    for (uint32_t i = 0; i < time->wait_count; i++) {
        const SimWait *wait = &time->waits[i];
        if (wait->clocks < LEAST)
            continue;
        vec_push(arena, &profile->waits,
                 (ProfileWait){sim_insn(module, wait->insn).ptx_line,
                               sim_insn(module, wait->maker).ptx_line, wait->clocks});
    }
    if (profile->waits.len)
        qsort(profile->waits.data, profile->waits.len, sizeof *profile->waits.data, longest_first);
}

Profile *profile_make(Ctx *ctx, const SimModule *module, const SimCounts *counts,
                      const SimTime *time, const uint32_t grid[3]) {
    Arena *arena = &ctx->arena;
    Profile *profile = ARENA_NEW(arena, Profile);
    memcpy(profile->grid, grid, sizeof profile->grid);
    profile->has_time = time != NULL;
    if (time)
        profile->time = *time;
    for (uint32_t i = 0; i < sim_insn_count(module); i++) {
        ProfileLine line = {.count = sim_count(counts, i), .shared = sim_shared_access(counts, i)};
        if (time && time->spent) {
            line.spent = time->spent[i];
            line.units = time->units[i];
        }
        if (!line.count.warps && line.spent.cycles <= 0)
            continue;
        const SimInsn insn = sim_insn(module, i);
        if (insn.head != i)
            profile_add_loop(arena, profile, module, counts, time, i);
        line.at = insn.file ? (TracePlace){insn.file, insn.line} : (TracePlace){0};
        add_class(arena, profile, insn.class, line.count.warps, line.spent.cycles);
        add_count(&profile->sum, &line.count);
        profile->cycles += line.spent.cycles;
        vec_push(arena, &profile->lines, line);
        line.ptx_line = insn.ptx_line;
        line.text = insn.text;
        line.class = insn.class;
        vec_push(arena, &profile->ptx, line);
    }
    if (time && time->waits)
        add_waits(arena, profile, module, time);
    merge(&profile->lines, by_source);
    merge(&profile->ptx, by_ptx);
    if (profile->classes.len)
        qsort(profile->classes.data, profile->classes.len, sizeof *profile->classes.data,
              most_first);
    sim_traffic(module, counts, &profile->read, &profile->written);
    return profile;
}
