/* Clones of a program are compiled for half as many warps as choose-warps takes, and up to four for
 * twice as many, and so on while that gets better by enough, up to what code generation takes, and
 * the one that is predicted to be done first is kept (analysis/program_cost.c). What each pass
 * decides for a number of warps is known then, not guessed: layouts, exchanges through shared
 * memory, barriers, registers. Where programs of one warp share a CTA, two warps to a CTA of their
 * own are no step on the way to four, so that four are tried all the same.
 *
 * What choose-warps takes by the size of tiles alone stays where nothing is better by enough, as
 * the model errs; for rows, which become one number each and have neither loops nor products, whose
 * figures it has measured; for programs that persist or have a producer, which the model does not
 * know; and where passes would take long.
 * So are two stages of pipelines compared with the usual three, of loops of products: two let more
 * programs share an SM.
 * Clones begin in front of choose-dots, since fewer than four warps have no products of
 * warpgroups. */
#include "passes/launch/compare_warps.h"
#include "ir/registers.h"
#include "passes/analysis/program_cost.h"
#include "target/common.h"
#include "target/target.h"

enum {
    MOST_WARPS = 4,  /* that are tried beyond the usual: no kernel is predicted to want more */
    MOST_OPS = 1600, /* of the function: passes take some microseconds for each */
    BETTER_PERCENT = 2,
    FEW_STAGES = 2,
    BETTER_PERCENT_OF_STAGES = 1, /* of the same code but for its copies */
    /* On targets without products of warpgroups, of tiles beside fragments of the next step and
     * addresses of copies, of which loops of products have both. */
    MOST_IN_LOOPS_OF_DOTS = (TARGET_MAX_REGISTERS - RESERVE_CHAINS) * 2 / 3,
    BESIDE_DOTS = RESERVE_CHAINS - RESERVE_SCALARS, /* beyond what every program has beside tiles */
};

typedef struct Program {
    bool dots, loops_of_dots;
    bool loops;    /* memory is accessed in one, or something is reduced */
    bool rows;     /* a tile becomes one number */
    bool producer; /* a warp of its own that starts copies */
    uint32_t ops;
} Program;

static bool is_number(const Type *type) {
    return !type_is_tile(type) || type_numel(type) == 1;
}

static bool add_op(Op *op, void *user) {
    Program *program = user;
    program->ops++;
    program->dots |= op->code == OP_dot || op_is_wgmma(op);
    program->loops_of_dots |= op->code == OP_dot && op_loop_around(op);
    program->loops |= op_loop_around(op) && (op_has(op, READS) || op->code == OP_reduce);
    program->rows |= op->code == OP_reduce && is_number(op->out[0].type);
    program->producer |= op->code == OP_producer;
    return true;
}

static Program program_of(Func *func) {
    Program program = {0};
    func_walk(func, add_op, &program);
    return program;
}

static bool may_compare(Func *func) {
    const Program program = program_of(func);
    return !func->num_warps && func->num_ctas <= 1 && func->capability &&
           (program.loops || program.dots || !program.rows) && program.ops <= MOST_OPS;
}

/* Programs that go on by themselves, with a warp that copies ahead, are beyond the model. */
static bool is_known(const Func *trial, const Program *program) {
    return !trial->is_persistent && !program->producer;
}

/* Might the finished program spill? */
static bool is_crowded(const Func *func, const Program *program, const ProgramCost *cost) {
    bool by_warps = program->loops_of_dots && !target_has(func->capability, FEATURE_WGMMA);
    uint64_t needed = cost->registers + cost->addresses + (program->dots ? BESIDE_DOTS : 0);
    return needed > TARGET_MAX_REGISTERS || (by_warps && cost->tiles > MOST_IN_LOOPS_OF_DOTS);
}

typedef struct Comparison {
    const Func *func;
    bool (*finish)(Func *trial);
    int32_t usual, best; /* best 0: what is usual */
    bool shares;         /* usual programs share a CTA */
    double cost;         /* of the usual number */
    double least;        /* of the best one; it has to be below to be taken */
    double programs;     /* of an SM, of what was predicted last */
} Comparison;

/* Of the program with so many warps and stages, 0: open; of warps 0: with those that choose-warps
 * takes, which `warps` then is. Below 0: it cannot be compiled, or might spill where what is usual
 * would not. */
static double predicted(Comparison *c, int32_t *warps, int32_t stages) {
    const Func *func = c->func;
    Ctx *ctx = func_ctx(func);
    DiagMark said = diag_mark(&ctx->diags);
    Func *trial = func_clone(func);
    trial->num_warps = *warps;
    trial->num_stages = stages;
    bool is_usual = !*warps;
    ProgramCost cost = {.clocks = -1};
    const bool ok = c->finish(trial);
    const Program program = program_of(trial);
    if (ok && is_known(trial, &program))
        cost = program_cost(trial);
    c->programs = cost.programs;
    if (is_usual)
        c->shares = trial->programs_per_cta > 1;
    else if (cost.clocks >= 0 && is_crowded(trial, &program, &cost))
        cost.clocks = -1;
    *warps = trial->num_warps;
    diag_rewind(&ctx->diags, said);
    return cost.clocks;
}

/* What another number has to be below. */
static double enough_below(double cost, int percent) {
    return cost * 100 / (100 + percent);
}

/* As long as it gets better by enough, half or twice as many each time. */
static void go_on(Comparison *c, bool fewer) {
    double last = c->cost;
    bool once_more = c->shares;
    for (int32_t warps = c->usual;;) {
        warps = fewer ? warps / 2 : warps * 2;
        if (warps < 1 || (!fewer && warps > MOST_WARPS))
            return;
        int32_t tried = warps;
        double cost = predicted(c, &tried, c->func->num_stages);
        if (cost < 0 || (cost >= enough_below(last, BETTER_PERCENT) && !once_more))
            return;
        once_more = false;
        last = cost < last ? cost : last;
        if (cost < c->least) {
            c->least = cost;
            c->best = warps;
        }
    }
}

/* Where loops of products leave them open: fewer stages, if more programs share an SM for that. */
static void compare_stages(Func *func, Comparison *c) {
    if (func->num_stages || !program_of(func).loops_of_dots)
        return;
    int32_t warps = c->best;
    double usual = predicted(c, &warps, 0), programs = c->programs;
    warps = c->best;
    double fewer = predicted(c, &warps, FEW_STAGES);
    if (fewer >= 0 && c->programs > programs &&
        fewer < enough_below(usual, BETTER_PERCENT_OF_STAGES))
        func->num_stages = FEW_STAGES;
}

void compare_warps(Func *func, bool (*finish)(Func *trial)) {
    if (!may_compare(func))
        return;
    Comparison c = {.func = func, .finish = finish};
    c.cost = predicted(&c, &c.usual, func->num_stages);
    c.least = enough_below(c.cost, BETTER_PERCENT);
    if (c.cost < 0)
        return;
    go_on(&c, true);
    if (!c.best)
        go_on(&c, false);
    compare_stages(func, &c);
    func->num_warps = c.best;
}
