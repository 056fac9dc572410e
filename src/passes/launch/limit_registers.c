/* limit-registers: what caller and passes ask of a thread's registers becomes the limit that the
 * code is assembled for; programs with products on tensor cores get one of their own.
 *
 * The caller's request and the passes' goal (ir/registers.h) hold both: the limit is the lower one.
 * Teams begin with as many registers as the hardware has for each of their threads. Where nobody
 * asks for anything, products by mma.sync are assembled for the registers they need: left alone,
 * ptxas takes up to 50 registers more than it needs for such a loop, to read fragments
 * of all steps before the first product, and an SM then holds fewer CTAs. What is needed follows
 * from the tiles that are alive at once, in their layouts, and from what an iteration brings: the
 * addresses and masks of asynchronous copies, and elements narrower than 32 bits that are loaded
 * one by one, each of which takes a register until it is packed. The limit is the number that lets
 * one more CTA share an SM, where that is near, else a little more than the need.
 *
 *     func @matmul(..) {num_warps = 8}  =>  func @matmul(..) {num_warps = 8, max_registers = 128}
 *
 * A limit that turns out too low for ptxas is taken back by the runtime (docs/runtime.md, Spills).
 * Needs layouts, and comes behind all that asks for registers. Warpgroups (wgmma), whose
 * accumulators leave no choice, need no limit of their own. Nobody else writes max_registers. */
#include "ir/registers.h"
#include "passes/analysis/pressure.h"
#include "passes/passes.h"

/* Measured with bench/registers.py on sm_80: the need does without spills, often with fewer. */
enum {
    OVERLAPPED = 16, /* fragments of the next step that come as those of this one are done */
    SLACK = 12,      /* so that what is left need not be in the one best order */
    REACH = 24,      /* to a number that more CTAs of an SM allow */
    UNIT = TARGET_REGISTER_UNIT / TARGET_WARP_SIZE, /* registers are allotted by */
    LEAST = 64,
};

typedef struct Work {
    int products, warpgroups;
    uint64_t copies, crumbs; /* of a thread in the body of one loop, the most */
} Work;

/* Accesses of a thread. */
static uint64_t accesses_of(const Op *op) {
    const Layout *pointers = op_in(op, 0)->type->layout;
    return (uint64_t)1 << pointers->bits[LAYOUT_REG] >> __builtin_ctz(op_access_width(op));
}

static uint64_t copies_of(const Block *block) {
    uint64_t count = 0;
    block_for_each (op, block)
        if (op->code == OP_async_copy)
            count += accesses_of(op);
    return count;
}

/* Loads of less than 32 bits. */
static uint64_t crumbs_of(const Block *block) {
    uint64_t count = 0;
    block_for_each (op, block) {
        if (op->code != OP_load || !type_is_tile(op->out[0].type))
            continue;
        if ((int)op_access_width(op) * type_element_bytes(op->out[0].type) < 4)
            count += accesses_of(op);
    }
    return count;
}

static uint64_t max_u64(uint64_t a, uint64_t b) {
    return a > b ? a : b;
}

static bool add_work(Op *op, void *user) {
    Work *work = user;
    work->products += op->code == OP_dot && dot_attrs(op)->unit == UNIT_MMA;
    work->warpgroups += op_is_wgmma(op);
    if (op->code == OP_for) {
        work->copies = max_u64(work->copies, copies_of(op->regions[0]));
        work->crumbs = max_u64(work->crumbs, crumbs_of(op->regions[0]));
    }
    return true;
}

/* TARGET_MAX_REGISTERS and more: no limit. */
static uint64_t limit_for_need(uint64_t need, int32_t warps) {
    if (need < LEAST)
        return LEAST;
    uint64_t best = (need + SLACK + UNIT - 1) / UNIT * UNIT;
    for (int32_t ctas = 2;; ctas++) {
        uint64_t registers = (uint64_t)target_registers_for(ctas * warps);
        if (registers < need)
            return best;
        if (registers <= need + REACH)
            best = registers;
    }
}

/* 0: none. */
static int32_t limit_for_products(Func *func) {
    Work work = {0};
    func_walk(func, add_work, &work);
    if (!work.products || work.warpgroups)
        return 0;
    /* One comes after the other, and crumbs are all there when the last fragments are. */
    uint64_t need =
        pressure_most_in_thread(func) + max_u64(COPY_REGISTERS * work.copies, work.crumbs);
    if (!work.crumbs)
        need = need > OVERLAPPED ? need - OVERLAPPED : 0;
    int32_t programs = func->programs_per_cta ? func->programs_per_cta : 1;
    uint64_t limit = limit_for_need(need, func->num_warps * programs);
    return limit < TARGET_MAX_REGISTERS ? (int32_t)limit : 0;
}

bool pass_limit_registers(Func *func) {
    int32_t asked = func_asked_registers(func);
    int32_t limit = asked ? asked : limit_for_products(func);
    if (limit == func->max_registers)
        return false;
    func->max_registers = limit;
    return true;
}
