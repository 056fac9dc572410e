/* Runs clusters of a launch by the clock, each alone.
 *
 * Numbers that are sampled lie in intervals whose ends are powers of two, one in each, since the
 * first programs of a grid often do what the others leave out; each stands for its interval. The
 * largest intervals come first, and no more when the budget is spent. The neighbours of the first
 * sample, one along each axis of the grid, say how much of the memory that a program touches is its
 * own. */
#include "sim/time/sample.h"

#include "sim/report/counters.h"
#include "sim/state/machine.h"
#include "sim/time/timing.h"

enum { MAX_RANGES = 64 };

/* Sectors from the first to the last that was touched of an array. */
typedef struct Range {
    uint64_t array, first, last;
} Range;

typedef struct Sampler {
    SimModule *module;
    SimMemory *memory;
    SimLaunch launch;
    Timing *timing;
    GridSample *sample;
    double weight, sectors; /* sums */
    uint64_t steps;
    uint64_t furthest; /* the largest number of a sample */
    Sectors own;       /* of the first sample */
    double lines_of_sector;
    Range ranges[MAX_RANGES];
    unsigned range_count;
    bool ranges_known;
} Sampler;

/* Runs a cluster; false when it cannot be or does not end. */
static bool run_one(Sampler *s, uint64_t number) {
    SimCounts *counts = NULL;
    s->launch.timed_cluster = number;
    s->timing->complete = false;
    sim_launch(s->module, s->memory, &s->launch, &counts);
    if (!counts || !s->timing->complete)
        return false;
    for (uint32_t pc = 0; pc < counts->insn_count; pc++)
        s->steps += counts->insns[pc].warps;
    s->sample->threads = counts->threads;
    s->sample->shared_bytes = counts->static_shared + counts->dynamic_shared;
    s->sample->samples++;
    s->furthest = number > s->furthest ? number : s->furthest;
    return true;
}

/* Arrays may begin and end within a sector. */
static bool array_of(const SimMemory *memory, uint64_t sector, SimArray *array) {
    uint64_t first = sector * TARGET_SECTOR_BYTES;
    return sim_find_array(memory, first + TARGET_SECTOR_BYTES - 1, array) ||
           sim_find_array(memory, first, array);
}

static void note_ranges(Sampler *s) {
    const Sectors *sectors = &s->timing->sectors;
    for (size_t i = 0; i < sectors->cap; i++) {
        SimArray array;
        uint64_t sector = sectors->slots[i] - 1;
        unsigned r = 0;
        if (!sectors->slots[i] || !array_of(s->memory, sector, &array))
            continue;
        while (r < s->range_count && s->ranges[r].array != array.address)
            r++;
        s->ranges_known &= r < MAX_RANGES;
        if (r == MAX_RANGES)
            return;
        if (r == s->range_count)
            s->ranges[s->range_count++] = (Range){array.address, sector, sector};
        s->ranges[r].first = sector < s->ranges[r].first ? sector : s->ranges[r].first;
        s->ranges[r].last = sector > s->ranges[r].last ? sector : s->ranges[r].last;
    }
}

static void add_spent(Sampler *s, double weight) {
    for (size_t pc = 0; pc < s->module->insns.len; pc++) {
        const SimSpent *from = &s->timing->spent[pc];
        SimSpent *to = &s->sample->spent[pc];
        to->cycles += weight * from->cycles;
        to->waits += weight * from->waits;
        to->awaited += weight * from->awaited;
        to->held += weight * from->held;
        to->queued += weight * from->queued;
        to->crowded += weight * from->crowded;
        for (int unit = 0; unit < SIM_UNITS; unit++)
            s->sample->units_of[pc].clocks[unit] += weight * s->timing->units_of[pc].clocks[unit];
    }
    vec_for_each (pair, &s->timing->waits.all)
        waits_add(&s->sample->waits, pair->wait.insn, pair->wait.maker, weight * pair->wait.clocks);
}

/* Sums over clusters become means. */
static void mean_spent(Sampler *s) {
    for (size_t pc = 0; pc < s->module->insns.len; pc++) {
        SimSpent *spent = &s->sample->spent[pc];
        spent->cycles /= s->weight;
        spent->waits /= s->weight;
        spent->awaited /= s->weight;
        spent->held /= s->weight;
        spent->queued /= s->weight;
        spent->crowded /= s->weight;
        for (int unit = 0; unit < SIM_UNITS; unit++)
            s->sample->units_of[pc].clocks[unit] /= s->weight;
    }
    vec_for_each (pair, &s->sample->waits.all)
        pair->wait.clocks /= s->weight;
}

/* Adds the cluster that has just run, which stands for so many. */
static void add(Sampler *s, double weight) {
    GridSample *sample = s->sample;
    s->weight += weight;
    sample->clocks += weight * s->timing->end;
    if (s->timing->end > sample->most_clocks)
        sample->most_clocks = s->timing->end;
    for (int unit = 0; unit < TIME_UNITS; unit++)
        sample->units[unit] += weight * s->timing->units[unit];
    sample->loaded += weight * s->timing->loaded;
    s->sectors += weight * (double)s->timing->sectors.count;
    if (sample->spent) {
        s->timing->turns.done = true;
        timing_end(s->timing, sample->ctas,
                   (sample->threads + TARGET_WARP_SIZE - 1) / TARGET_WARP_SIZE);
        add_spent(s, weight);
        if (!sample->crowded && s->timing->crowded < TIME_UNITS)
            sample->crowded = sim_unit_name(s->timing->crowded);
    }
    note_ranges(s);
}

/* The part of what the neighbours along an axis touch that the cluster itself does not. */
static bool neighbour(Sampler *s, const Sectors *own, const uint64_t at[3], const uint64_t size[3],
                      int axis, double *part) {
    uint64_t place[3] = {at[0], at[1], at[2]};
    place[axis] += place[axis] + 1 < size[axis] ? 1 : (uint64_t)-1;
    if (!run_one(s, (place[2] * size[1] + place[1]) * size[0] + place[0]))
        return false;
    const Sectors *there = &s->timing->sectors;
    note_ranges(s);
    *part = there->count ? (double)sectors_beyond(there, own) / (double)there->count : 1;
    return true;
}

/* Lines for each sector that the cluster touched. */
static double lines_of(Sampler *s) {
    enum { SECTORS_OF_LINE = TARGET_LINE_BYTES / TARGET_SECTOR_BYTES };
    const Sectors *own = &s->own;
    Sectors lines = {0};
    for (size_t i = 0; i < own->cap; i++)
        if (own->slots[i])
            sectors_add(&lines, s->timing->arena,
                        (own->slots[i] - 1) / SECTORS_OF_LINE * TARGET_SECTOR_BYTES, 1);
    return own->count ? (double)lines.count / (double)own->count : 0;
}

/* How many times what one cluster touches the launch touches. */
static bool spread(Sampler *s, uint64_t first, const uint64_t size[3], double *times) {
    Timing *timing = s->timing;
    s->own = timing->sectors;
    s->lines_of_sector = lines_of(s);
    const uint64_t at[3] = {first % size[0], first / size[0] % size[1], first / size[0] / size[1]};
    timing->sectors = (Sectors){0};
    *times = 1;
    for (int axis = 0; axis < 3; axis++) {
        double part;
        if (size[axis] < 2)
            continue;
        if (!neighbour(s, &s->own, at, size, axis, &part))
            return false;
        *times *= 1 + part * (double)(size[axis] - 1);
    }
    return true;
}

/* The number that stands for those from `lo` to `lo` + count - 1: not always the same place. */
static uint64_t pick(uint64_t lo, uint64_t count) {
    const double golden = 0.6180339887498949;
    double turn = golden * (double)(64 - __builtin_clzll(lo + 1));
    return lo + (uint64_t)((turn - (double)(uint64_t)turn) * (double)count);
}

static double touched(const Sampler *s, double times) {
    double ranges = 0, linear = s->sectors / s->weight * times;
    for (unsigned i = 0; i < s->range_count; i++)
        ranges += (double)(s->ranges[i].last - s->ranges[i].first + 1);
    /* The samples end before the grid does. */
    ranges *= (double)s->sample->clusters / (double)(s->furthest + 1);
    return (s->ranges_known && ranges < linear ? ranges : linear) * TARGET_SECTOR_BYTES;
}

bool grid_sample(SimModule *module, SimMemory *memory, const SimLaunch *launch, const Costs *costs,
                 uint64_t budget, bool cold, bool spent, GridSample *sample) {
    Arena *arena = &module->ctx->arena;
    Sampler *s = ARENA_NEW(arena, Sampler);
    *s = (Sampler){.module = module, .memory = memory, .launch = *launch, .sample = sample};
    s->timing = timing_create(costs, arena, (uint32_t)module->insns.len, spent);
    s->timing->cold = cold;
    s->launch.timing = s->timing;
    s->launch.max_reports = UINT32_MAX;
    s->ranges_known = true;
    uint64_t size[3];
    double times = 1;
    bool is_whole = true;
    SimKernel kernel = {0};
    sim_find_kernel(module, launch->kernel, &kernel);
    *sample = (GridSample){.clusters = 1, .ctas = 1};
    if (spent) {
        sample->spent = ARENA_ARRAY(arena, SimSpent, module->insns.len + 1);
        sample->units_of = ARENA_ARRAY(arena, SimUnits, module->insns.len + 1);
        waits_create(&sample->waits, arena, (uint32_t)module->insns.len);
    }
    for (int axis = 0; axis < 3; axis++) {
        uint32_t shape = launch->cluster[0] ? launch->cluster[axis] : kernel.cluster[axis];
        shape = shape ? shape : 1;
        uint32_t counted = kernel.blocks_are_clusters ? 1 : shape;
        is_whole &= launch->grid[axis] % counted == 0;
        size[axis] = launch->grid[axis] / counted;
        sample->clusters *= size[axis];
        sample->ctas *= shape;
    }
    if (!is_whole) /* which the launch says */
        return run_one(s, 0);
    if (!sample->clusters)
        return true;
    for (uint64_t end = sample->clusters; end; end /= 2) {
        uint64_t lo = end / 2, number = pick(lo, end - lo);
        bool is_first = end == sample->clusters;
        if (!is_first && s->steps > budget)
            break;
        if (!run_one(s, number))
            return false;
        add(s, (double)(end - lo));
        if (end == sample->clusters / 2 && s->timing->sectors.count)
            sample->common = 1 - (double)sectors_beyond(&s->timing->sectors, &s->own) /
                                     (double)s->timing->sectors.count;
        if (is_first && !spread(s, number, size, &times))
            return false;
    }
    sample->clocks /= s->weight;
    sample->loaded /= s->weight;
    for (int unit = 0; unit < TIME_UNITS; unit++)
        sample->units[unit] /= s->weight;
    if (spent) {
        mean_spent(s);
        sample->turns = turns_tell(&s->timing->turns, arena, &sample->turn_count);
    }
    sample->footprint = touched(s, times);
    sample->lines = sample->footprint / TARGET_SECTOR_BYTES * s->lines_of_sector;
    sample->fetched = (double)s->timing->fetched;
    return true;
}
