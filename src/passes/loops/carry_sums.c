/* carry-sums: of a tile that a loop adds up, and of which only sums are taken behind it, each
 * thread carries its part of the sums.
 *
 *     for .. (%total = 0) {                      for .. (%parts = 0 : tile<128x32xf32>) {
 *         %n = addf %total, %x                       %s = reduce %x {axis = 1, keep = 31}, addf
 *         yield %n                      =>           %n = addf %parts, %s
 *     }                                              yield %n
 *     %sum = reduce %result {axis = 1}, addf     }
 *                                                %sum = reduce %result {axis = 1}, addf
 *
 * The loop computes as many sums as before, and carries one register where it carried as many as a
 * thread holds of the axis. It is the counterpart of defer-sums, which leaves to the end what
 * threads exchange: between threads nothing moves here either. It is done where all that is alive
 * at once does not fit the registers of a thread: else ptxas has more sums that do not wait for
 * each other.
 *
 * Needs layouts. Sums are taken in another order, so that it is not done of functions whose bits
 * are not to depend on layouts. */
#include "ir/build.h"
#include "ir/order.h"
#include "ir/registers.h"
#include "passes/analysis/pressure.h"
#include "passes/layout/layout_rules.h"
#include "passes/passes.h"
#include "passes/rewrite.h"
#include "passes/simplify/simplify.h"

enum { LEAST_WARPS = 16 /* that an SM is to hold */ };

typedef struct Total {
    Op *loop;
    uint32_t index; /* of the argument that carries it */
    Op *add;        /* what is carried on: the argument and `addend` */
    Value *addend;
    Op *reshape; /* of the loop's result; NULL: none */
    Op *reduce;  /* of that */
    int64_t keep;
} Total;

static Op *only_user(const Value *value) {
    return value_has_one_use(value) ? value->uses->user : NULL;
}

/* The sum that is taken behind the loop, of nothing else. */
static bool find_reduce(Total *total, const Value *result) {
    Op *user = only_user(result);
    total->reshape = user && user->code == OP_reshape ? user : NULL;
    if (total->reshape)
        user = only_user(op_out(user));
    if (!user || user->code != OP_reduce || user->nin != 1 || reduce_attrs(user)->keep)
        return false;
    const Op *combine = combine_only_op(user);
    total->reduce = user;
    total->keep = reduce_bits_of_threads(user);
    return combine && combine->code == OP_addf && total->keep;
}

static bool find_total(Op *loop, uint32_t index, Total *total) {
    const Block *body = loop->regions[0];
    const Value *arg = &body->args[index];
    Op *add = op_in(body->last, index - 1)->def;
    *total = (Total){.loop = loop, .index = index, .add = add};
    if (!add || add->block != body || add->code != OP_addf || !type_is_tile(arg->type) ||
        only_user(arg) != add || !value_has_one_use(op_out(add)) ||
        !value_is_positive_zero(op_in(loop, FOR_FIXED_OPERANDS + index - 1)))
        return false;
    total->addend = op_in(add, op_in(add, 0) == arg);
    return find_reduce(total, &loop->out[index - 1]);
}

static void carry_parts(const Total *total, const Type *parts) {
    Op *loop = total->loop, *reduce = total->reduce;
    Builder b = builder_before(loop);
    b.span = total->add->span;
    op_add_operand(loop, rewrite_float(&b, parts, 0.0));
    op_add_result(loop, parts);
    b = builder_before(total->add);
    b.span = total->add->span;
    Value *added = total->addend;
    if (total->reshape)
        added = rewrite_like(&b, total->reshape, 1, &added, op_out(total->reshape)->type);
    Value *part = op_out(rewrite_reduce(&b, reduce, &added, total->keep));
    /* Arguments, of which the addend may be one, move when one is added. */
    Value *so_far = block_add_arg(loop->regions[0], parts);
    Value *next = rewrite_like(&b, total->add, 2, (Value *[]){so_far, part}, parts);
    op_add_operand(loop->regions[0]->last, next);
    b = builder_before(reduce);
    b.span = reduce->span;
    Value *sum = op_out(rewrite_reduce(&b, reduce, (Value *[]){&loop->out[loop->nout - 1]}, 0));
    value_replace(op_out(reduce), sum);
}

static bool visit_loop(Op *loop, void *user) {
    Ctx *ctx = user;
    bool changed = false;
    uint32_t carried = loop->code == OP_for ? loop->nout : 0;
    for (uint32_t index = 1; index <= carried; index++) {
        Total total;
        if (!find_total(loop, index, &total))
            continue;
        const Type *whole = op_in(total.reduce, 0)->type;
        const Type *parts =
            reduce_result_type(ctx, whole, (int)reduce_attrs(total.reduce)->axis, total.keep);
        if (pressure_in_thread(parts) >= pressure_in_thread(whole))
            continue;
        carry_parts(&total, parts);
        changed = true;
    }
    return changed;
}

bool pass_carry_sums(Func *func) {
    int32_t warps = func->num_warps < LEAST_WARPS ? LEAST_WARPS : func->num_warps;
    uint64_t room = (uint64_t)func_register_room(func, warps);
    if (func->deterministic || pressure_most_in_thread(func) + RESERVE_SCALARS <= room)
        return false;
    bool changed = loops_inside_out(func->body, visit_loop, func_ctx(func));
    if (changed)
        eliminate_dead(func);
    return changed;
}
