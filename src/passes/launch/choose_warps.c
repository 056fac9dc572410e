/* choose-warps: the launch shape from the work of one program, where the source and the options
 * leave it open.
 *
 * A program gets as many warps as keep the largest tile it loads or stores within the figures of
 * the table below: 2 to 8 independent 16-byte accesses in flight in each thread, short rows within
 * one warp, whose reductions need no barrier. Few warps save CTAs, and pay in the time that each of
 * them takes: programs that go on for longer get four, namely those whose loops access memory,
 * which wait in each iteration and then do all of it; scans, which pass through all elements in
 * turn; accesses of few bytes each, of which a thread has many; and long arithmetic. So do those
 * that would have two and reduce nothing: a CTA of two warps takes the place of one of four. When
 * several tiles are alive together it gets more warps, as long as that leaves each thread enough to
 * load; pass sink takes over from there.
 *
 * Tiles that the lowering delays to where a store needs them
 * (delay-loads) count as alive, which is right for most rows; but a program that fits one warp
 * without them, whose reductions need no barrier then, keeps one, and one that would take a large
 * CTA takes half of it, so that as many programs share an SM, of half as many warps that wait for
 * each other.
 *
 * Programs of one warp share a CTA, since an SM holds few CTAs, and launching one costs as much as
 * a small program: four do, but two of longer ones that reduce what they load, whose last one keeps
 * less of an SM waiting, and none of those that do so in a loop beside a state of many registers,
 * nor of those whose accesses all take a sector for each element and nothing is reduced: an SM's
 * memory unit goes through them one by one, for neighbours that have work where few have.
 *
 * Dots ask for 4 warps or more and let no more than 8 share them; a remark at the dot says so where
 * that changes the number, and why.
 *
 * Of programs with loops or products several numbers of warps are compared before this and
 * choose-dots (compare_warps.c): what is chosen there is given here.
 *
 * Needs: layouts not chosen yet. Leaves num_warps, num_stages, num_ctas and programs_per_cta set.
 *
 * A given num_warps is launched, with one program in a CTA: the launch is then what the source
 * says; so it is with plain_abi. Warps that no tile has elements for only repeat what others do,
 * in each scheduler's time, so they end at once (launched_warps), and all that follows is compiled
 * for those that are left.
 *
 *     func @softmax(..) {                          func @softmax(..) {num_warps = 1,
 *         %x = load .. : tile<256xf32>      =>             programs_per_cta = 4, ..} {
 *                                                      %x = load .. : tile<256xf32>
 */
#include "passes/analysis/facts.h"
#include "passes/analysis/pressure.h"
#include "passes/layout/layout_rules.h"
#include "passes/passes.h"
#include "target/wgmma.h"

/* Figures measured for row kernels on Hopper (docs/performance.md); registers are 32-bit ones. */
enum {
    ACCESS_REGISTERS = 32, /* of one thread for the largest tile accessed */
    ACCESS_BYTES = 128,  /* and its bytes, for which more than 16 warps are not worth it: one CTA of
                            32  warps fills half of an SM and leaves it idle between its phases */
    LIVE_REGISTERS = 64, /* for all tiles alive at once, before more warps share them */
    LEAST_ACCESS_BYTES = 64, /* that more warps must leave a thread of a larger CTA to load */
    SMALL_CTA_WARPS = 4,
    ACCESS_WIDTH = 16,    /* bytes of one access of a thread, the widest there is */
    ELEMENT_OPS = 768,    /* of a thread, before more warps share them */
    ARITHMETIC_WARPS = 8, /* that share them where nothing is reduced */
    ANGLE_OPS = 24,       /* that a sine takes the time of: its reduction, which branches, and two
                             polynomials */
    LARGE_CTA_WARPS = 16,
    DOT_REGISTERS = 128,     /* for an accumulator */
    DOT_WARPS_MIN = 4,       /* a warpgroup */
    DOT_WARPS_MAX = 8,       /* two of them share a tile of 128 x 256 */
    MMA_ROWS = 16,           /* of one instruction */
    CROWDED_REGISTERS = 184, /* for all tiles alive at once, which a thread can not hold */
    DEFAULT_STAGES = 3,
};

/* Programs of one warp that share a CTA: one for each scheduler of an SM, or half of that where
 * they reduce and have so many registers a thread for the largest tile accessed. Programs of more
 * warps would need a named barrier each, which costs more than sharing saves. */
enum { PROGRAMS_OF_ONE_WARP = 4, LONG_PROGRAM_REGISTERS = 32 };

typedef struct Work {
    const Facts *facts; /* while it is made */
    uint64_t access;  /* registers of the largest tile loaded or stored, of all threads together */
    uint64_t bytes;   /* of the largest tile loaded or stored */
    uint64_t live;    /* of all tiles alive at once */
    uint64_t delayed; /* of all tiles whose loads are delayed */
    bool apart, beside; /* elements that are accessed lie apart, or beside each other */
    bool reduces, scans;
    bool reduces_in_loop;
    uint64_t looped;  /* bytes of the largest tile accessed in a loop */
    uint64_t narrow;  /* and of the largest that is taken in accesses below ACCESS_WIDTH */
    uint64_t ops;     /* elements that all ops of tiles compute, once for each op, of sines more */
    uint64_t widest;  /* elements of the largest tile */
    bool each_thread; /* something is to be done by every thread of the launch */
    uint64_t dot;     /* of the largest accumulator */
    uint64_t chained; /* of all accumulators of dots by wgmma that share rows */
    int32_t most;     /* warps that all dots have work for; 0: any number */
    const Op *largest, *narrowest; /* the dots of `dot` and `most` */
} Work;

static uint64_t larger_u64(uint64_t a, uint64_t b) {
    return a > b ? a : b;
}

/* Warps that have work of their own in the dot; 0: any number. Where the rows of one product are
 * those of another, warps split rows alone. */
static int32_t most_warps(const Op *dot) {
    const Type *acc = dot->out[0].type;
    if (dot_attrs(dot)->unit == UNIT_WGMMA)
        return (int32_t)dot_most_warpgroups(dot) * WGMMA_WARPS;
    if (dot_attrs(dot)->unit != UNIT_MMA || acc->rank != 2 || !dot_is_chained(dot))
        return 0;
    int32_t most = (int32_t)(acc->shape[0] / MMA_ROWS);
    return most > DOT_WARPS_MIN ? most : DOT_WARPS_MIN;
}

static bool is_narrow(const Work *work, const Op *op) {
    if (!op_is_pointer_access(op) || op_has(op, ATOMIC))
        return false;
    const Value *ptr = op_in(op, 0);
    int fastest = facts_fastest_dim(work->facts, ptr);
    int width = facts_access_width(work->facts, ptr, op_mask(op), fastest);
    return width * dtype_bytes(ptr->type->dtype) < ACCESS_WIDTH;
}

/* Of the elements of a warp or more: has each a sector of its own? */
static void add_places(Work *work, const Op *op, const Type *accessed) {
    bool is_known = op_is_pointer_access(op) && type_is_tile(op_in(op, 0)->type);
    int fastest = is_known ? facts_fastest_dim(work->facts, op_in(op, 0)) : -1;
    if (fastest < 0 || type_numel(accessed) < TARGET_WARP_SIZE)
        return;
    const ValueFacts *facts = facts_of(work->facts, op_in(op, 0));
    bool is_apart = facts->contiguous[fastest] == 1 && facts->constant[fastest] == 1;
    work->apart |= is_apart;
    work->beside |= !is_apart;
}

static void add_access(Work *work, const Op *op) {
    const Type *accessed = op->nout ? op->out[0].type : op_in(op, 1)->type;
    if (!type_is_tile(accessed))
        return;
    add_places(work, op, accessed);
    uint64_t bytes = (uint64_t)type_bytes(accessed);
    work->bytes = larger_u64(work->bytes, bytes);
    work->access = larger_u64(work->access, pressure_of(accessed));
    if (op_loop_around(op))
        work->looped = larger_u64(work->looped, bytes);
    if (is_narrow(work, op))
        work->narrow = larger_u64(work->narrow, bytes);
}

static void add_width(Work *work, const Op *op) {
    for (uint32_t i = 0; i < op->nout; i++)
        if (type_is_tile(op->out[i].type))
            work->widest = larger_u64(work->widest, (uint64_t)type_numel(op->out[i].type));
    work->each_thread |= op->code == OP_effect_asm;
}

static uint64_t ops_of(const Op *op) {
    return op->code == OP_sin || op->code == OP_cos ? ANGLE_OPS : 1;
}

static bool add_work(Op *op, void *user) {
    Work *work = user;
    add_width(work, op);
    if (op_is_load(op) || op_has(op, STORE | ATOMIC))
        add_access(work, op);
    if (op->nout && type_is_tile(op->out[0].type) && !op_is_control(op))
        work->ops += (uint64_t)type_numel(op->out[0].type) * ops_of(op);
    bool in_loop = op_loop_around(op) != NULL;
    work->reduces |= op->code == OP_reduce;
    work->reduces_in_loop |= in_loop && op->code == OP_reduce;
    work->scans |= op->code == OP_scan;
    if (op_may_delay(op))
        work->delayed += pressure_of(op->out[0].type);
    if (op->code == OP_dot && pressure_of(op->out[0].type) > work->dot) {
        work->dot = pressure_of(op->out[0].type);
        work->largest = op;
    }
    int32_t most = op->code == OP_dot ? most_warps(op) : 0;
    if (most && (!work->most || most < work->most)) {
        work->most = most;
        work->narrowest = op;
    }
    if (op->code == OP_dot && dot_attrs(op)->unit == UNIT_WGMMA && dot_is_chained(op))
        work->chained += pressure_of(op->out[0].type);
    return true;
}

/* Warps */

static int32_t warps_for(uint64_t registers_of_all, uint64_t per_thread) {
    uint64_t threads = (registers_of_all + per_thread - 1) / per_thread;
    int32_t warps = 1;
    while (warps < TARGET_MAX_WARPS && (uint64_t)warps * TARGET_WARP_SIZE < threads)
        warps *= 2;
    return warps;
}

static int32_t larger(int32_t a, int32_t b) {
    return a > b ? a : b;
}

static uint64_t per_thread(uint64_t of_all, int32_t warps) {
    return of_all / ((uint64_t)warps * TARGET_WARP_SIZE);
}

/* What is alive besides delayed loads fits `warps`. */
static bool fits_with_delays(const Work *work, int32_t warps) {
    return work->delayed && work->delayed < work->live &&
           per_thread(work->live - work->delayed, warps) <= LIVE_REGISTERS;
}

static bool wants_more_warps(const Work *work, int32_t warps) {
    if (per_thread(work->live, warps) <= LIVE_REGISTERS || 2 * warps > LARGE_CTA_WARPS)
        return false;
    if (warps == 1 && fits_with_delays(work, warps))
        return false;
    return 2 * warps <= SMALL_CTA_WARPS || per_thread(work->bytes, 2 * warps) >= LEAST_ACCESS_BYTES;
}

/* Half as many warps have twice the registers each where an SM is to hold two CTAs. */
static bool wants_half(const Work *work, int32_t warps) {
    return warps == LARGE_CTA_WARPS && per_thread(work->live, warps) > LIVE_REGISTERS &&
           fits_with_delays(work, warps) && per_thread(work->bytes, warps / 2) <= ACCESS_BYTES;
}

/* Dots */

static const char *why_no_more(const Op *dot) {
    if (dot_attrs(dot)->unit == UNIT_MMA)
        return "its rows are those of another dot, and a warp takes 16";
    return dot_is_chained(dot) ? "its rows are those of another dot, and four warps take 64"
                               : "four warps take 64 x 64 elements of it";
}

/* The last change is the one to tell of. */
static void remark_warps(const Op *dot, int32_t before, int32_t after, const char *why) {
    ctx_diag(func_ctx(dot->block->func), dot->span, warps_for_dot, after, before, why);
}

/* Warps beyond the rows of chained dots exchange them through shared memory, which costs less than
 * spills. */
static int32_t most_for_dots(const Work *work) {
    int32_t most = work->most && work->most < DOT_WARPS_MAX ? work->most : DOT_WARPS_MAX;
    bool may_share = most < DOT_WARPS_MAX && dot_attrs(work->narrowest)->unit == UNIT_MMA;
    return may_share && per_thread(work->live, most) > CROWDED_REGISTERS ? 2 * most : most;
}

/* What dots make of the warps that loads and stores ask for. */
static int32_t warps_for_dots(const Work *work, int32_t others) {
    int32_t sums = warps_for(work->chained > work->dot ? work->chained : work->dot, DOT_REGISTERS);
    int32_t wanted = larger(larger(others, DOT_WARPS_MIN), sums);
    int32_t most = most_for_dots(work);
    if (wanted > most)
        remark_warps(most < DOT_WARPS_MAX ? work->narrowest : work->largest, wanted, most,
                     most < DOT_WARPS_MAX ? why_no_more(work->narrowest) : "no more share one");
    else if (wanted > others)
        remark_warps(work->largest, others, wanted,
                     sums == wanted ? "a thread holds up to 128 registers of sums"
                                    : "a dot has work for each scheduler of an SM");
    return wanted < most ? wanted : most;
}

/* What takes longer than what CTAs of few warps save. Loops alone do with less than a whole access
 * a thread, since their every iteration waits. */
static int32_t least_warps(const Work *work, int32_t warps) {
    if (per_thread(work->looped, SMALL_CTA_WARPS) >= ACCESS_WIDTH / 2)
        return SMALL_CTA_WARPS;
    if (per_thread(work->bytes, SMALL_CTA_WARPS) < ACCESS_WIDTH)
        return 1;
    if (!work->reduces && per_thread(work->ops, SMALL_CTA_WARPS) > ELEMENT_OPS &&
        per_thread(work->bytes, ARITHMETIC_WARPS) >= ACCESS_WIDTH)
        return ARITHMETIC_WARPS;
    bool is_long = work->scans || per_thread(work->ops, warps) >= ELEMENT_OPS;
    bool is_plain =
        !work->reduces && (warps > 1 || per_thread(work->narrow, SMALL_CTA_WARPS) >= ACCESS_WIDTH);
    return is_long || is_plain ? SMALL_CTA_WARPS : 1;
}

/* A row goes through phases: it is loaded, reduced, computed, stored. What keeps memory busy is
 * that other rows of the SM are in other phases. With half the warps, of twice the registers each,
 * an SM holds as many elements of them and more rows, which wait for fewer warps at each barrier;
 * most of all where a row does not fill its tile. A CTA of 32 warps is alone on its SM either way,
 * and stays as large as threads have few registers of it. */
static int32_t warps_for_row(const Work *work, int32_t warps) {
    bool is_row = work->reduces && !work->reduces_in_loop && !work->looped && !work->scans;
    bool is_alone = warps > LARGE_CTA_WARPS && per_thread(work->access, warps) <= ACCESS_REGISTERS;
    return is_row && warps > SMALL_CTA_WARPS && !is_alone ? warps / 2 : warps;
}

static int32_t choose_num_warps(const Work *work) {
    int32_t warps = warps_for(work->access, ACCESS_REGISTERS);
    if (warps > LARGE_CTA_WARPS && per_thread(work->bytes, LARGE_CTA_WARPS) <= ACCESS_BYTES)
        warps = LARGE_CTA_WARPS;
    while (wants_more_warps(work, warps))
        warps *= 2;
    if (wants_half(work, warps))
        warps /= 2;
    warps = larger(warps, least_warps(work, warps));
    return work->dot ? warps_for_dots(work, warps) : warps_for_row(work, warps);
}

static int32_t choose_programs(const Work *work, int32_t warps) {
    if (warps != 1)
        return 1;
    if (work->reduces_in_loop && per_thread(work->live, warps) >= LONG_PROGRAM_REGISTERS)
        return 1;
    if (work->apart && !work->beside && !work->reduces)
        return 1;
    bool is_long = work->reduces && per_thread(work->access, warps) >= LONG_PROGRAM_REGISTERS;
    return is_long ? PROGRAMS_OF_ONE_WARP / 2 : PROGRAMS_OF_ONE_WARP;
}

static Work work_of(Func *func) {
    Arena *scratch = &func_ctx(func)->scratch;
    ArenaMark mark = arena_mark(scratch);
    Work work = {.facts = facts_compute(func, scratch), .live = pressure_most(func)};
    func_walk(func, add_work, &work);
    work.facts = NULL;
    arena_rewind(scratch, mark);
    return work;
}

static bool set_if_open(int32_t *field, int32_t value) {
    if (*field)
        return false;
    *field = value;
    return true;
}

/* Of the given warps those that would have no element of their own end at once, instead of
 * computing what the others do, without storing it. A function without tiles is own-loads'. */
static bool leave_idle(Func *func, const Work *work) {
    int32_t enough = warps_for(work->widest, 1);
    bool may = work->widest && !work->dot && !work->each_thread && !func->launched_warps &&
               func->num_ctas <= 1 && !func->is_persistent && func->programs_per_cta <= 1;
    if (!may || enough >= func->num_warps)
        return false;
    func->launched_warps = func->num_warps;
    func->num_warps = enough;
    return true;
}

/* Who has said that a program is a CTA, in whatever order, has one for each. */
static bool may_share_cta(const Func *func) {
    return func->num_ctas == 1 && !func->plain_abi && !func->is_persistent && !func->last_first &&
           !func->in_sections;
}

bool pass_choose_warps(Func *func) {
    bool given = func->num_warps != 0, changed = false;
    Work work = work_of(func);
    changed |= set_if_open(&func->num_stages, DEFAULT_STAGES);
    changed |= set_if_open(&func->num_ctas, 1);
    if (given)
        changed |= leave_idle(func, &work);
    else
        changed |= set_if_open(&func->num_warps, choose_num_warps(&work));
    bool share = !given && may_share_cta(func);
    changed |=
        set_if_open(&func->programs_per_cta, share ? choose_programs(&work, func->num_warps) : 1);
    return changed;
}
