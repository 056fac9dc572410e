/* The time of a launch, from what its programs take.
 *
 * An SM holds as many programs as registers, shared memory and threads allow. Those that are there
 * at once take as long as one of them alone, or as what they take together of the busiest unit;
 * near the crossing of the two somewhat longer than either. Wave follows wave, the last of which
 * may be smaller. All SMs together take at least what L2 and DRAM need for the bytes that move.
 * What a launch touches stays in L2 between launches when there is room; else it comes from DRAM.
 */
#include "sim/report/report.h"
#include "sim/time/sample.h"
#include "target/machine.h"

#include <math.h>

enum { DEFAULT_BUDGET = 1000000 };

/* How sharp the crossing of two bounds is: the sum of their powers. */
static double together(double a, double b) {
    const double power = 3;
    if (a <= 0 || b <= 0)
        return a > b ? a : b;
    return pow(pow(a, power) + pow(b, power), 1 / power);
}

typedef struct TimePlan Plan;
struct TimePlan {
    const Target *target;
    const TargetDevice *device;
    const GridSample *sample;
    double per_sm; /* programs of an SM in all */
    double at_once;
    double units[TIME_UNITS]; /* clocks of a program */
    double busy;              /* of the busiest */
    double footprint;         /* bytes of global memory that the launch touches */
};

/* Clocks of a wave of so many programs an SM. */
static double wave(const Plan *plan, double programs) {
    return together(plan->sample->clocks, programs * plan->busy);
}

/* Clocks of all waves of an SM. */
static double clocks_of_waves(const Plan *plan) {
    double whole = floor(plan->per_sm / plan->at_once);
    double rest = plan->per_sm - whole * plan->at_once;
    double clocks = whole * wave(plan, plan->at_once);
    return rest > 0 ? clocks + wave(plan, rest < 1 ? 1 : rest) : clocks;
}

/* What distant programs touch too comes to an SM once for all that are there one after another. */
static void share_l1(Plan *plan) {
    const GridSample *sample = plan->sample;
    for (int unit = 0; unit < TIME_UNITS; unit++)
        plan->units[unit] = sample->units[unit] / sample->ctas;
    plan->units[TIME_L2] -=
        sample->loaded / sample->ctas * sample->common * (plan->per_sm - 1) / plan->per_sm;
}

/* Registers that did not suffice: each access of a warp is a line of L1, and goes to L2 where what
 * all threads of the SM keep there has no room in L1. That they are executed as often as
 * instructions of the kernel are is a guess. */
static void spill(Plan *plan, uint32_t bytes) {
    enum { WORD_BYTES = 4 };
    const GridSample *sample = plan->sample;
    double warps = ceil((double)sample->threads / TARGET_WARP_SIZE);
    double issued = sample->units[TIME_ISSUE] / sample->ctas * TARGET_PARTITIONS / warps;
    double often = sample->fetched > 0 ? issued / sample->fetched : 0;
    double accesses = (double)bytes / WORD_BYTES * warps * often;
    double room =
        target_figure(plan->target, FIGURE_L1_BYTES) - plan->at_once * (double)sample->shared_bytes;
    plan->units[TIME_ISSUE] += accesses / TARGET_PARTITIONS;
    plan->units[TIME_ADDRESS] +=
        accesses * TARGET_WARP_SIZE / target_figure(plan->target, FIGURE_RATE_ADDRESS);
    plan->units[TIME_SHARED] += accesses;
    double kept = plan->at_once * (double)sample->threads * bytes / 2;
    if (kept > room)
        plan->units[TIME_L2] += (1 - (room > 0 ? room : 0) / kept) * accesses * TARGET_WARP_SIZE *
                                WORD_BYTES / target_figure(plan->target, FIGURE_BYTES_L2);
}

static void find_busiest(Plan *plan, SimTime *time) {
    for (int unit = 0; unit < TIME_UNITS; unit++) {
        if (plan->units[unit] <= plan->busy)
            continue;
        plan->busy = plan->units[unit];
        time->unit = sim_unit_name(unit);
    }
}

static uint32_t registers_of(const SimModule *module, const SimLaunch *launch,
                             const SimTimeOptions *options) {
    SimKernel kernel;
    if (options->registers || !sim_find_kernel(module, launch->kernel, &kernel))
        return options->registers;
    return sim_estimate_registers(module, kernel.name);
}

static double larger(double a, double b) {
    return a > b ? a : b;
}

double sim_longest(const SimTime *time, const char **name) {
    const double memory = larger(time->l2_us, time->dram_us);
    if (memory > larger(time->latency_us, time->unit_us)) {
        *name = time->l2_us > time->dram_us ? "L2" : "DRAM";
        return memory;
    }
    *name = time->unit_us > time->latency_us ? time->unit : "latency";
    return larger(time->unit_us, time->latency_us);
}

/* All bounds together, and what each further one of them adds: parts that sum to the whole. */
static void add_up(const Plan *plan, SimTime *time) {
    const double mhz = plan->device->mhz, memory = together(time->l2_us, time->dram_us);
    const double text = plan->sample->fetched * TARGET_INSTRUCTION_BYTES /
                        target_figure(plan->target, FIGURE_BYTES_FETCH);
    const double waves = clocks_of_waves(plan);
    const double sms = larger(waves, plan->sample->most_clocks);
    const char *name;
    const double bounds = together(waves / mhz, memory), even = together(sms / mhz, memory);
    const double all = together(together(sms, text) / mhz, memory);
    time->parts.launch = plan->device->launch_ns / 1e3;
    time->parts.longest = sim_longest(time, &name);
    time->parts.beside = larger(bounds - time->parts.longest, 0);
    time->parts.uneven = even - bounds;
    time->parts.code = all - even;
    time->us = time->parts.launch + all;
}

/* What each bound alone would take, and all together. */
static void bounds(Plan *plan, SimTime *time) {
    const GridSample *sample = plan->sample;
    const TargetDevice *device = plan->device;
    const double programs = (double)sample->clusters * sample->ctas, mhz = device->mhz;
    plan->busy = 0;
    find_busiest(plan, time);
    time->footprint = plan->footprint;
    time->moved = plan->units[TIME_L2] * target_figure(plan->target, FIGURE_BYTES_L2) * programs;
    time->rounds = ceil(plan->per_sm / plan->at_once);
    time->latency_us = time->rounds * sample->clocks / mhz;
    time->unit_us = plan->per_sm * plan->busy / mhz;
    for (int unit = 0; unit < TIME_UNITS; unit++)
        time->units_us[unit] = plan->per_sm * plan->units[unit] / mhz;
    double of_lines = sample->lines * target_figure(plan->target, FIGURE_BYTES_L2_LINE);
    double rate =
        of_lines > 0 && of_lines < device->l2_bytes_clock ? of_lines : device->l2_bytes_clock;
    time->l2_us = time->moved > 0 ? time->moved / rate / mhz : 0;
    bool fits = sample->footprint <= (double)device->l2_bytes;
    time->dram_us = fits ? 0 : time->footprint / device->dram_gbs / 1e3;
    add_up(plan, time);
}

static void predict(Plan *plan, uint32_t registers, uint32_t spilled, SimTime *time) {
    const GridSample *sample = plan->sample;
    double programs = (double)sample->clusters * sample->ctas;
    Occupancy occupancy = target_occupancy(plan->target, (int32_t)registers,
                                           (int32_t)sample->threads, (int32_t)sample->shared_bytes);
    if (!occupancy.ctas)
        occupancy.ctas = 1;
    plan->per_sm = ceil(programs / plan->device->sms);
    plan->at_once = occupancy.ctas < plan->per_sm ? occupancy.ctas : plan->per_sm;
    plan->footprint = sample->footprint;
    share_l1(plan);
    if (spilled)
        spill(plan, spilled);
    time->registers = registers;
    time->ctas_per_sm = (uint32_t)occupancy.ctas;
    time->sms = plan->device->sms;
    time->at_once = plan->at_once;
    time->samples = sample->samples;
    time->text = sample->fetched;
    time->instructions = sample->units[TIME_ISSUE] * (double)sample->clusters * TARGET_PARTITIONS;
    time->cta_clocks = sample->clocks;
    bounds(plan, time);
}

static double left_of(double all, double saved) {
    return saved <= 0 ? all : saved < all ? all - saved : 0;
}

SimTime sim_time_without(const SimTime *time, const SimSaving *saving) {
    if (!time->plan)
        return *time;
    Plan plan = *time->plan;
    GridSample sample = *plan.sample;
    SimTime without = {0};
    plan.sample = &sample;
    sample.clocks = larger(left_of(sample.clocks, saving->clocks), saving->tensor);
    sample.most_clocks = larger(left_of(sample.most_clocks, saving->clocks), sample.clocks);
    for (int unit = 0; unit < TIME_UNITS; unit++)
        plan.units[unit] = left_of(plan.units[unit], saving->units.clocks[unit]);
    plan.units[TIME_TENSOR] += saving->tensor;
    plan.units[TIME_L2] *= (1 - saving->sectors) * (1 - saving->again);
    plan.footprint *= 1 - saving->sectors;
    sample.fetched = left_of(sample.fetched, saving->code);
    bounds(&plan, &without);
    return without;
}

/* Of one warp, and of one program. The program's clocks are those of its warps, and those that its
 * units are busy beyond them. */
static void tell_spent(const GridSample *sample, size_t count, Arena *arena, SimTime *time) {
    SimSpent *all = ARENA_ARRAY(arena, SimSpent, count + 1);
    SimUnits *units = ARENA_ARRAY(arena, SimUnits, count + 1);
    const double warps = sample->ctas * ceil((double)sample->threads / TARGET_WARP_SIZE);
    for (size_t pc = 0; pc < count; pc++) {
        const SimSpent *from = &sample->spent[pc];
        all[pc] = (SimSpent){from->cycles / warps, from->waits / warps,  from->awaited / warps,
                             from->held / warps,   from->queued / warps, from->crowded / warps};
        time->program_clocks += all[pc].crowded;
        for (int unit = 0; unit < SIM_UNITS; unit++)
            units[pc].clocks[unit] = sample->units_of[pc].clocks[unit] / sample->ctas;
    }
    SimWait *waits = ARENA_ARRAY(arena, SimWait, sample->waits.all.len + 1);
    for (size_t i = 0; i < sample->waits.all.len; i++) {
        waits[i] = sample->waits.all.data[i].wait;
        waits[i].clocks /= warps;
    }
    time->waits = waits;
    time->wait_count = (uint32_t)sample->waits.all.len;
    time->spent = all;
    time->crowded = sample->crowded;
    time->turns = sample->turns;
    time->turn_count = sample->turn_count;
    time->units = units;
}

bool sim_predict(SimModule *module, SimMemory *memory, const SimLaunch *launch,
                 const SimTimeOptions *options, SimTime *time) {
    Ctx *ctx = module->ctx;
    Span span = {module->file, 0, 0};
    Costs *costs = costs_create(module, &ctx->arena);
    Plan *plan = ARENA_NEW(&ctx->arena, Plan);
    plan->target = target_by_name(str_from(str_format(&ctx->arena, "sm_%u", module->sm)));
    if (plan->target)
        plan->device = options->device.len ? target_device_by_name(options->device)
                                           : target_device(plan->target);
    if (!costs || !plan->device || plan->device->capability != plan->target->capability)
        return ctx_diag(ctx, span, sim_no_device, STR_ARG(options->device), module->sm);
    uint64_t budget = options->budget ? options->budget : DEFAULT_BUDGET;
    GridSample *sample = ARENA_NEW(&ctx->arena, GridSample);
    *time = (SimTime){0};
    if (!grid_sample(module, memory, launch, costs, budget, false, options->spent, sample))
        return false;
    if (sample->footprint > (double)plan->device->l2_bytes &&
        !grid_sample(module, memory, launch, costs, budget, true, options->spent, sample))
        return false;
    if (!sample->clusters) /* nothing runs */
        return true;
    plan->sample = sample;
    predict(plan, registers_of(module, launch, options), options->spilled, time);
    time->device = plan->device->name;
    time->plan = plan;
    time->program_clocks = time->cta_clocks;
    if (sample->spent)
        tell_spent(sample, module->insns.len, &ctx->arena, time);
    return true;
}

void sim_print_time(const SimTime *time, StrBuf *out) {
    strbuf_printf(out, "time            %.2f us predicted, from %u programs\n", time->us,
                  time->samples);
    strbuf_printf(out, "  at least      %.2f us by latency: %.0f clocks a CTA, %u CTAs an SM\n",
                  time->latency_us, time->cta_clocks, time->ctas_per_sm);
    if (time->unit)
        strbuf_printf(out, "                %.2f us by the busiest unit: %s\n", time->unit_us,
                      time->unit);
    strbuf_printf(out, "                %.2f us by L2: %.0f bytes moved\n", time->l2_us,
                  time->moved);
    strbuf_printf(out, "                %.2f us by DRAM: %.0f bytes touched\n", time->dram_us,
                  time->footprint);
    const char *name;
    const SimParts *parts = &time->parts;
    sim_longest(time, &name);
    strbuf_printf(out, "  the sum of    %.2f us of any launch, %.2f us by %s, %.2f us beside it",
                  parts->launch, parts->longest, name, parts->beside);
    strbuf_printf(out, ", %.2f us of the longest program, %.2f us of code that is fetched\n",
                  parts->uneven, parts->code);
}

void sim_json_time(const SimTime *time, StrBuf *out) {
    strbuf_printf(out,
                  "{\"us\": %.4f, \"latency_us\": %.4f, \"unit_us\": %.4f, \"l2_us\": %.4f, "
                  "\"dram_us\": %.4f, \"unit\": \"%s\", \"registers\": %u, \"ctas_per_sm\": %u, ",
                  time->us, time->latency_us, time->unit_us, time->l2_us, time->dram_us,
                  time->unit ? time->unit : "", time->registers, time->ctas_per_sm);
    strbuf_printf(out,
                  "\"parts\": {\"launch\": %.4f, \"longest\": %.4f, \"beside\": %.4f, "
                  "\"uneven\": %.4f, \"code\": %.4f}, ",
                  time->parts.launch, time->parts.longest, time->parts.beside, time->parts.uneven,
                  time->parts.code);
    strbuf_printf(out,
                  "\"cta_clocks\": %.0f, \"footprint\": %.0f, \"moved\": %.0f, "
                  "\"instructions\": %.0f, \"text\": %.0f, \"samples\": %u}",
                  time->cta_clocks, time->footprint, time->moved, time->instructions, time->text,
                  time->samples);
}
