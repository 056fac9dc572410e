/* carry-words: truths that a loop carries, many in a thread, are carried as words, 0 or -1.
 *
 * A thread has seven predicates. ptxas packs those that wait for the next iteration into bits of
 * registers, and takes them out again: eight instructions for each where one would do, since a word
 * is chosen by the predicate of a comparison as it is.
 *
 *     for .. (%all: tile<64x128xi1>) {           for .. (%words: tile<64x128xi32>) {
 *         %c = cmpf %x, %y                           %c = cmpf %x, %y
 *         %n = andi %all, %c               =>        %n = select %c, %words, 0
 *         yield %n                                   yield %n
 *     }                                          }
 *                                                %all = cmpi %words, 0 {pred = ne}
 *
 * What becomes of the truth in an iteration is "and", "or" and choices, and nothing else takes it:
 * a mask would be compared again at each use. A word takes as much as 32 truths that are packed:
 * where a thread has no registers for words beside its tiles, truths stay.
 *
 * Needs layouts, which say how many a thread has. */
#include "ir/build.h"
#include "ir/registers.h"
#include "passes/analysis/pressure.h"
#include "passes/passes.h"
#include "passes/rewrite.h"
#include "passes/simplify/simplify.h"

enum {
    FEW_TRUTHS = 4, /* of a thread have predicates, beside its masks */
    MOST_OPS = 8,   /* between what an iteration begins with and what it leaves */
};

typedef struct Truth {
    const Op *loop;
    const Value *arg, *next; /* what an iteration begins with, and what it leaves */
    Value *words;            /* what it begins with instead */
    int ops;
} Truth;

static bool joins_truths(const Op *op) {
    return op->code == OP_andi || op->code == OP_ori;
}

static bool is_logic(const Op *op) {
    return joins_truths(op) || op->code == OP_select;
}

/* The first of the two operands that may be made of what is carried. */
static uint32_t first_truth(const Op *op) {
    return joins_truths(op) ? 0 : 1;
}

/* Is the value made of what is carried, by so many ops at most? */
static bool is_carried(const Truth *truth, const Value *value, int depth) {
    const Op *op = value->def;
    if (value == truth->arg)
        return true;
    if (!op || op->block != truth->loop->regions[0] || !is_logic(op) || depth == 0)
        return false;
    bool carried = false;
    for (uint32_t i = first_truth(op); i < op->nin; i++)
        carried |= is_carried(truth, op_in(op, i), depth - 1);
    return carried;
}

/* Is it taken by such ops alone, as a truth that they combine, and by the next iteration? Then it
 * is in one place, since logic of one with itself is simplified. */
static bool is_taken_once(const Truth *truth, const Value *value) {
    if (!value_has_one_use(value))
        return false;
    const Op *user = value->uses->user;
    if (value == truth->next)
        return user == truth->loop->regions[0]->last;
    return user->block == truth->loop->regions[0] && is_logic(user) &&
           value->uses >= &user->in[first_truth(user)] && is_taken_once(truth, op_out(user));
}

static bool fits_registers(Func *func, const Truth *truth) {
    return (int64_t)pressure_most_in_thread(func) +
               layout_owned_registers(truth->arg->type->layout) + RESERVE_SCALARS <=
           func_register_room(func, func->num_warps);
}

static bool find_truth(Op *loop, uint32_t index, Truth *truth) {
    const Block *body = loop->regions[0];
    *truth = (Truth){.loop = loop, .arg = &body->args[index], .next = op_in(body->last, index - 1)};
    const Type *type = truth->arg->type;
    return type_is_tile(type) && type_is_bool(type) && truth->next != truth->arg &&
           layout_owned_registers(type->layout) > FEW_TRUTHS &&
           is_carried(truth, truth->next, MOST_OPS) && is_taken_once(truth, truth->arg);
}

/* 0 or -1 for each truth. */
static Value *words_of(Builder *b, Value *value, const Type *type) {
    int64_t constant;
    if (value_int_constant(value, &constant))
        return rewrite_int(b, type, constant ? -1 : 0);
    return build_select(b, value, rewrite_int(b, type, -1), rewrite_int(b, type, 0));
}

/* The words of a value that is made of what is carried. */
static Value *carry(Builder *b, const Truth *truth, const Value *value) {
    Op *op = value->def;
    const Type *type = truth->words->type;
    if (value == truth->arg)
        return truth->words;
    uint32_t first = first_truth(op);
    bool second = is_carried(truth, op_in(op, first + 1), MOST_OPS);
    Value *words = carry(b, truth, op_in(op, first + second)), *other = op_in(op, first + !second);
    b->span = op->span;
    if (op->code == OP_andi)
        return build_select(b, other, words, rewrite_int(b, type, 0));
    if (op->code == OP_ori)
        return build_select(b, other, rewrite_int(b, type, -1), words);
    other = words_of(b, other, type);
    return build_select(b, op_in(op, 0), second ? other : words, second ? words : other);
}

static void carry_words(Op *loop, uint32_t index) {
    Truth truth;
    Block *body = loop->regions[0];
    Builder b = builder_before(loop);
    b.span = loop->span;
    const Type *type = type_with_dtype(b.ctx, body->args[index].type, DT_I32);
    op_add_operand(loop, words_of(&b, op_in(loop, FOR_FIXED_OPERANDS + index - 1), type));
    op_add_result(loop, type);
    Value *words = block_add_arg(body, type);
    find_truth(loop, index, &truth); /* arguments have moved */
    truth.words = words;
    b = builder_before(body->last);
    op_add_operand(body->last, carry(&b, &truth, truth.next));
    b = builder_after(loop);
    b.span = loop->span;
    Value *last = &loop->out[loop->nout - 1], *old = &loop->out[index - 1];
    Value *truths = build_cmpi(&b, last, rewrite_int(&b, type, 0), IPRED_NE);
    truths->name = old->name;
    value_replace(old, truths);
}

static bool visit_loop(Op *loop, void *user) {
    bool changed = false;
    uint32_t carried = loop->nout;
    for (uint32_t index = 1; index <= carried; index++) {
        Truth truth;
        if (!find_truth(loop, index, &truth) || !fits_registers(loop->block->func, &truth))
            continue;
        carry_words(loop, index);
        changed = true;
    }
    return changed;
}

bool pass_carry_words(Func *func) {
    bool changed = loops_inside_out(func->body, visit_loop, NULL);
    /* The truths go round unused, and go with what is dead. */
    if (changed)
        eliminate_dead(func);
    return changed;
}
