/* Of programs that go on for a while, clones are compiled for half and for twice as many warps as
 * choose-warps takes, and so on while that gets better, up to what code generation takes, and the
 * one that is predicted to be done first is kept (analysis/program_cost.c). What each pass decides
 * for a number of warps is known then, not guessed: layouts, exchanges through shared memory,
 * barriers, registers.
 *
 * What choose-warps takes by the size of tiles alone stays where nothing is better by enough, as
 * the model errs; for programs without loops, whose figures it has; for products of warpgroups,
 * which come in few shapes that the model does not tell apart; and where passes would take long. */
#include "passes/launch/compare_warps.h"
#include "passes/analysis/pressure.h"
#include "passes/analysis/program_cost.h"

enum {
    MOST_WARPS = 16,
    MOST_WARPS_OF_DOTS = 8,
    MOST_OPS = 800, /* of the function: passes take some microseconds for each */
    BETTER_PERCENT = 5,
    /* Of a thread for tiles that are alive at once, with which nothing spills: products bring
     * fragments of the next step and addresses of copies beside. */
    MOST_REGISTERS = 208,
    MOST_REGISTERS_OF_DOTS = 160,
};

typedef struct Program {
    bool loops; /* memory is accessed in one, or something is reduced */
    bool dots, warpgroups;
    uint32_t ops;
} Program;

static bool add_op(Op *op, void *user) {
    Program *program = user;
    program->ops++;
    program->loops |= op_loop_around(op) && (op_has(op, READS) || op->code == OP_reduce);
    if (op->code == OP_dot) {
        program->dots = true;
        program->warpgroups |= dot_attrs(op)->unit == UNIT_WGMMA;
    }
    return true;
}

static bool may_compare(const Func *func, const Program *program) {
    return !func->num_warps && func->num_ctas <= 1 && func->capability && !func->is_persistent &&
           !program->warpgroups && (program->loops || program->dots) && program->ops <= MOST_OPS;
}

typedef struct Comparison {
    const Func *func;
    bool (*finish)(Func *trial);
    int32_t usual, most, best; /* best 0: what is usual */
    uint64_t most_registers;   /* of a thread for tiles */
    double cost;               /* of the usual number */
    double least;              /* of the best one; it has to be below to be taken */
} Comparison;

/* Of the program with so many warps; 0: with those that choose-warps takes, which `warps` then is.
 * Below 0: it cannot be compiled. */
static double predicted(const Comparison *c, int32_t *warps) {
    const Func *func = c->func;
    Ctx *ctx = func_ctx(func);
    DiagMark said = diag_mark(&ctx->diags);
    Func *trial = func_clone(func);
    trial->num_warps = *warps;
    double cost = c->finish(trial) ? program_cost(trial) : -1;
    if (cost >= 0 && pressure_most_in_thread(trial) > c->most_registers)
        cost = -1;
    *warps = trial->num_warps;
    diag_rewind(&ctx->diags, said);
    return cost;
}

/* As long as it gets better, half or twice as many each time. */
static void go_on(Comparison *c, bool fewer) {
    double last = c->cost;
    for (int32_t warps = c->usual;;) {
        warps = fewer ? warps / 2 : warps * 2;
        if (warps < 1 || warps > c->most)
            return;
        int32_t tried = warps;
        double cost = predicted(c, &tried);
        if (cost < 0 || cost >= last)
            return;
        last = cost;
        if (cost < c->least) {
            c->least = cost;
            c->best = warps;
        }
    }
}

void compare_warps(Func *func, bool (*finish)(Func *trial)) {
    Program program = {0};
    func_walk(func, add_op, &program);
    if (!may_compare(func, &program))
        return;
    Comparison c = {func, finish, .most = program.dots ? MOST_WARPS_OF_DOTS : MOST_WARPS};
    c.most_registers = program.dots ? MOST_REGISTERS_OF_DOTS : MOST_REGISTERS;
    c.cost = predicted(&c, &c.usual);
    c.least = c.cost * 100 / (100 + BETTER_PERCENT);
    if (c.cost < 0)
        return;
    go_on(&c, true);
    if (!c.best)
        go_on(&c, false);
    func->num_warps = c.best;
}
