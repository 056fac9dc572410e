/* Atomic operations of functions that are to be deterministic: what comes first is a matter of
 * time. Sums of floats differ by their order, an exchange leaves what the last one brings, and the
 * value that an operation returns says which came before. Sums and extrema of integers are the same
 * in any order; so are extrema of floats, which are made of such. */
#include "passes/lint/lint.h"
#include "passes/rewrite.h"

/* Does anything with an effect depend on the value? */
static bool is_seen(const Value *value, PtrSet *visited) {
    value_for_each_use (use, value) {
        const Op *user = use->user;
        if (!op_is_pure(user))
            return true;
        if (ptr_set_has(visited, user))
            continue;
        ptr_set_add(visited, user);
        for (uint32_t i = 0; i < user->nout; i++)
            if (is_seen(&user->out[i], visited))
                return true;
    }
    return false;
}

static bool returns_what_is_seen(const LintInput *input, const Op *op) {
    PtrSet visited = {.arena = input->arena};
    return op->nout && is_seen(op_out(op), &visited);
}

static bool changes_in_order(const Op *op, AtomicOp kind) {
    return op->code == OP_atomic_cas || kind == RMW_XCHG;
}

static void check_atomic(const LintInput *input, const Op *op) {
    Ctx *ctx = func_ctx(input->func);
    const AtomicOp kind = op->code == OP_atomic_rmw     ? atomic_rmw_attrs(op)->kind
                          : op->code == OP_atomic_block ? atomic_block_attrs(op)->kind
                                                        : RMW_ADD;
    if (changes_in_order(op, kind)) {
        ctx_diag(ctx, op->span, order_exchange);
        diag_hint(&ctx->diags, "give each program a place of its own, and choose between them in a "
                               "kernel that is launched behind this one");
    } else if (kind == RMW_FADD) {
        ctx_diag(ctx, op->span, order_float_sum);
        diag_hint(&ctx->diags,
                  "store the part of each program, and add the parts with tl.sum in a kernel that "
                  "is launched behind this one; or add integers, of fixed point");
    } else if (returns_what_is_seen(input, op)) {
        ctx_diag(ctx, op->span, order_old_value);
        diag_hint(&ctx->diags,
                  "leave the result unused: what is in memory once the launch has ended is "
                  "the same in any order");
    }
}

static void check_block(const LintInput *input, const Block *block) {
    block_for_each (op, block) {
        if (op_has(op, ATOMIC))
            check_atomic(input, op);
        for (uint32_t r = 0; r < op->nregions; r++)
            check_block(input, op->regions[r]);
    }
}

void lint_order(const LintInput *input) {
    if (input->func->deterministic)
        check_block(input, input->func->body);
}
