/* The cost of a program: how long it takes alone, from what its ops wait for, and what it takes of
 * the units that it shares with the programs beside it.
 *
 * Alone, an op begins when its operands are there and what it may not pass is done, barriers above
 * all; a block ends with the last of its effects. A loop takes the time of one iteration as often
 * as it runs: for what only a launch knows, a guess. Short loops that wait for nobody are unrolled
 * later, so that loads of several iterations are in flight at once.
 *
 * An SM runs as many programs at once as registers and shared memory allow. It is done with all of
 * them when the rounds of those are over that take turns on it, and the units have done what all of
 * them ask for. Neither hides the other altogether: the norm below is between their sum and the
 * larger one. The launch of CTAs comes on top, which programs that share one have once, and so does
 * the code, which an SM fetches for its first programs: few warps have more of it each.
 *
 * Programs that share out a range among them, each with a run of it or every n-th part, are as many
 * as fill the GPU, not as many as there is work: an SM has one, and nothing beside it hides what it
 * waits for.
 *
 * The weights were fitted to times of public kernels at 1 to 16 warps on an H100 and are no figures
 * of the machine; docs/performance.md has how well they do on kernels that they were not fitted
 * to. */
#include "passes/analysis/program_cost.h"
#include "ir/registers.h"
#include "passes/analysis/op_work.h"
#include "passes/analysis/pressure.h"
#include "target/common.h"

#include <math.h>
#include <string.h>

enum {
    PROGRAMS = 12,      /* of an SM, in a launch */
    SHARES = 1,         /* and of programs that share out a range */
    SHARE_STEPS = 8,    /* from a loop's bound to the number of the program */
    LOOP_EXTENT = 1024, /* of a loop to a bound that a launch knows */
    MOST_TRIPS = 256,
    UNKNOWN_TRIPS = 16, /* of a loop whose step is not known either, or that tests a condition */
    LOOP_CLOCKS = 10,   /* of an iteration beside its body */
    SHORT_LOOP = 52, /* instructions of a body that is unrolled: of public kernels most of up to 50
                        are by ptxas, and of seven above one */
    UNROLLED = 4,
    LAUNCH_CLOCKS = 300, /* from the end of one program to the start of the next */
    WARP_CLOCKS = 50,    /* and for each of its warps */
};

/* Of latencies, what code generation does not hide. */
static const double HIDDEN = 0.5;
/* Between 1, the sum of what a program waits for and takes, and infinity, the larger one. */
static const double NORM = 1.5;
/* Of the registers that a thread would need, in those that it can have: what spills multiply. */
static const double SPILLS = 2;
/* Launches of 4 warps are the common ground; others have to be better by more than the model is
 * good for, for each doubling. */
static const double DOUBLING = 0.04;
enum { COMMON_WARPS = 4 };

typedef struct Walk {
    WorkContext context;
    double share;   /* warps of a scheduler */
    double *ready;  /* by Value.id: the clock at which it is there */
    double latency; /* of the program alone */
    double copies;  /* of the code of the block that is walked */
    double code;    /* instructions that there are, however often they run */
    OpWork all;     /* of units: all that the program takes. `issue`: of a scheduler for all warps;
                       `addresses`: the most at once */
} Walk;

static double larger(double a, double b) {
    return a > b ? a : b;
}

/* Loops */

static bool constant_of(const Value *value, int64_t *number) {
    if (!value->def || value->def->code != OP_constant_int)
        return false;
    *number = constant_int_attrs(value->def)->value;
    return true;
}

static double trips_of(const Op *loop) {
    int64_t from = 0, to = 0, step = 0;
    if (loop->code != OP_for || !constant_of(op_in(loop, 2), &step) || step <= 0)
        return UNKNOWN_TRIPS;
    if (constant_of(op_in(loop, 0), &from) && constant_of(op_in(loop, 1), &to))
        return to > from ? ceil((double)(to - from) / (double)step) : 0;
    double trips = LOOP_EXTENT / (double)step;
    return trips < 1 ? 1 : trips > MOST_TRIPS ? MOST_TRIPS : trips;
}

/* Does an iteration wait for nothing but its own loads, and is it short? Then its instructions;
 * else 0. */
static double short_issue(const Walk *walk, const Block *body) {
    double issue = 0;
    block_for_each (op, body) {
        if (op_is_control(op) || op_has(op, SYNC | ATOMIC | LREADS))
            return 0;
        issue += op_work(&walk->context, op).issue;
    }
    return issue < SHORT_LOOP ? larger(issue, 1) : 0;
}

/* Programs alone */

static double walk_block(Walk *walk, const Block *block, double start, double times);

static double walk_control(Walk *walk, const Op *op, double start, double times) {
    bool is_loop = op_has(op, LOOP);
    double trips = is_loop ? trips_of(op) : 1, end = start, copies = walk->copies;
    for (uint32_t r = 0; r < op->nregions; r++) {
        const Block *body = op->regions[r];
        for (uint32_t i = 0; i < body->nargs; i++)
            walk->ready[body->args[i].id] = start;
        double issue = is_loop ? short_issue(walk, body) : 0;
        walk->copies = issue > 0 ? copies * UNROLLED : copies;
        double once = walk_block(walk, body, start, times * trips) - start;
        walk->copies = copies;
        if (issue > 0)
            once = larger(issue, once / UNROLLED);
        end = is_loop ? end + (once + LOOP_CLOCKS) * trips : larger(end, start + once);
    }
    for (uint32_t i = 0; i < op->nout; i++)
        walk->ready[op->out[i].id] = end;
    return end;
}

static void take(Walk *walk, const OpWork *work, double times) {
    walk->code += walk->copies * work->issue;
    walk->all.issue += times * work->issue * walk->context.warps;
    walk->all.special += times * work->special;
    walk->all.memory += times * work->memory;
    walk->all.tensor += times * work->tensor;
    walk->all.bytes += times * work->bytes;
    walk->all.addresses = larger(walk->all.addresses, work->addresses);
}

static double operands_ready(const Walk *walk, const Op *op, double floor) {
    for (uint32_t i = 0; i < op->nin; i++)
        floor = larger(floor, walk->ready[op_in(op, i)->id]);
    return floor;
}

/* `floor`: nothing begins before; `issued`: the instructions up to there are; `effects`: the last
 * effect has begun. */
static double walk_block(Walk *walk, const Block *block, double start, double times) {
    double floor = start, issued = start, effects = start, end = start;
    block_for_each (op, block) {
        if (op->nregions && op_is_control(op)) {
            floor = walk_control(walk, op, larger(larger(floor, issued), effects), times);
            issued = effects = floor;
            continue;
        }
        OpWork work = op_work(&walk->context, op);
        double busy = work.issue * walk->share;
        take(walk, &work, times);
        issued += busy;
        if (op_has(op, SYNC))
            floor = issued = larger(larger(floor, issued), effects) + work.latency;
        double done = operands_ready(walk, op, floor) + busy + work.latency;
        for (uint32_t i = 0; i < op->nout; i++)
            walk->ready[op->out[i].id] = done;
        bool has_effect = !op_is_pure(op);
        if (has_effect && !op_is_load(op))
            effects = larger(effects, done);
        if (has_effect || op_has(op, TERMINATOR))
            end = larger(end, done);
    }
    return larger(larger(end, issued), floor);
}

/* Programs beside each other */

static double norm(const double *parts, int count) {
    double sum = 0;
    for (int i = 0; i < count; i++)
        sum += pow(parts[i], NORM);
    return pow(sum, 1 / NORM);
}

/* The number of the program, or what is added to it. */
static bool is_number(const Value *value, OpCode of, int steps) {
    const Op *op = value->def;
    if (!op || steps <= 0)
        return false;
    if (op->code == of)
        return true;
    if (op_has(op, CONVERTS))
        return is_number(op_in(op, 0), of, steps - 1);
    return op->code == OP_addi &&
           (is_number(op_in(op, 0), of, steps - 1) || is_number(op_in(op, 1), of, steps - 1));
}

/* So many parts for each program in front of it, whatever is added and wherever it is cut off. */
static bool is_place(const Value *value, int steps) {
    const Op *op = value->def;
    if (!op || steps <= 0)
        return false;
    if (op_has(op, CONVERTS))
        return is_place(op_in(op, 0), steps - 1);
    bool scales = op->code == OP_muli || op->code == OP_shli;
    if (!scales && op->code != OP_addi && !op_has(op, EXTREMUM))
        return false;
    for (uint32_t i = 0; i < op->nin; i++)
        if (scales ? is_number(op_in(op, i), OP_program_id, steps - 1)
                   : is_place(op_in(op, i), steps - 1))
            return true;
    return false;
}

typedef struct Sharing {
    bool shares, dots;
} Sharing;

/* In attention a window of keys moves with the program as well: what has products is left out. */
static bool add_sharing(Op *op, void *user) {
    Sharing *sharing = user;
    sharing->dots |= op->code == OP_dot || op_is_wgmma(op);
    if (op->code == OP_for)
        sharing->shares |=
            is_number(op_in(op, 2), OP_num_programs, SHARE_STEPS) ||
            (is_place(op_in(op, 0), SHARE_STEPS) && is_place(op_in(op, 1), SHARE_STEPS));
    return true;
}

/* Programs of an SM in a launch. */
static double launched(Func *func) {
    Sharing sharing = {0};
    func_walk(func, add_sharing, &sharing);
    return sharing.shares && !sharing.dots ? SHARES : PROGRAMS;
}

/* Of those the ones that an SM holds at once. */
static double resident(const Func *func, const Target *target, int32_t registers, double of) {
    int32_t programs = func->programs_per_cta ? func->programs_per_cta : 1;
    int32_t limit = func->max_registers ? func->max_registers : TARGET_MAX_REGISTERS;
    if (registers > limit)
        registers = limit;
    Occupancy held = target_occupancy(
        target, registers < TARGET_MIN_REGISTERS ? TARGET_MIN_REGISTERS : registers,
        func->num_warps * programs * TARGET_WARP_SIZE, func->shared_bytes * programs);
    double all = larger(1, held.ctas) * programs;
    return all < of ? all : of;
}

static double dram_bytes(const Target *target) {
    const TargetDevice *device = target_device(target);
    return device->dram_gbs * 1e3 / device->mhz / device->sms;
}

static void add_clocks(ProgramCost *cost, const Func *func, const Walk *walk, double of) {
    const Target *target = walk->context.target;
    double registers = (double)cost->registers, latency = walk->latency;
    double rounds = of / cost->programs < 4 ? ceil(of / cost->programs) : of / cost->programs;
    double spilled = pow(larger(1, registers / TARGET_MAX_REGISTERS), SPILLS);
    double alone = HIDDEN * latency * spilled + LAUNCH_CLOCKS + WARP_CLOCKS * func->num_warps;
    double schedulers = TARGET_PARTITIONS;
    const double parts[] = {
        rounds * alone,        of * spilled * walk->all.issue / schedulers,
        of * walk->all.memory, of * walk->all.special,
        of * walk->all.tensor, of * walk->all.bytes / dram_bytes(target),
    };
    double off = 1 + DOUBLING * fabs(log2((double)func->num_warps / COMMON_WARPS));
    double ctas = of / (func->programs_per_cta ? func->programs_per_cta : 1);
    double code = walk->code * TARGET_INSTRUCTION_BYTES;
    cost->clocks = (norm(parts, sizeof parts / sizeof *parts) + TARGET_CTA_CLOCKS * ctas) * off +
                   code / target_figure(target, FIGURE_BYTES_FETCH);
}

ProgramCost program_cost(Func *func) {
    Arena *arena = &func_ctx(func)->scratch;
    ArenaMark mark = arena_mark(arena);
    int32_t warps = func->num_warps;
    Walk walk = {
        .context = {target_by_capability(func->capability), facts_compute(func, arena), warps}};
    double schedulers = TARGET_PARTITIONS;
    walk.share = larger(1, warps / schedulers);
    walk.copies = 1;
    walk.ready = ARENA_ARRAY(arena, double, func_number(func));
    memset(walk.ready, 0, func_number(func) * sizeof *walk.ready);
    walk.latency = walk_block(&walk, func->body, 0, 1);
    /* Neither count is the lesser of the two always: what streams keeps its operands longer. */
    uint64_t held = pressure_most_in_thread(func), streamed = pressure_summed_in_thread(func);
    uint64_t registers = (held < streamed ? held : streamed) + RESERVE_SCALARS;
    double of = launched(func);
    ProgramCost cost = {.programs = resident(func, walk.context.target, (int32_t)registers, of),
                        .tiles = held,
                        .registers = registers,
                        .addresses = (uint64_t)walk.all.addresses};
    add_clocks(&cost, func, &walk, of);
    arena_rewind(arena, mark);
    return cost;
}
