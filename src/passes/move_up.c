/* See move_up.h. */
#include "passes/move_up.h"
#include "passes/rewrite.h"

static void need_operands(PtrSet *needed, const Op *op) {
    for (uint32_t i = 0; i < op->nin; i++)
        if (op_in(op, i)->def)
            ptr_set_add(needed, op_in(op, i)->def);
}

MoveUp move_up_find(Arena *arena, Op *op, const MoveRules *rules) {
    MoveUp move = {.op = op};
    PtrSet needed = {.arena = arena};
    size_t passed = 0;
    need_operands(&needed, op);
    for (Op *above = op->prev; above; above = above->prev) {
        bool is_needed = ptr_set_has(&needed, above);
        if (rules->stops(above) || (is_needed && !rules->follows(above)))
            break;
        if (is_needed) {
            vec_push(arena, &move.carried, above);
            need_operands(&needed, above);
        } else if (rules->waits(above)) {
            move.place = above;
            passed = move.carried.len;
        }
    }
    move.carried.len = passed;
    return move;
}

void move_up(const MoveUp *move) {
    for (size_t i = move->carried.len; i > 0; i--)
        op_move_before(move->carried.data[i - 1], move->place);
    op_move_before(move->op, move->place);
}

bool op_ends_moves(const Op *op) {
    return (op_effects(op) & ~(uint32_t)(READS | LREADS | LWRITES)) ||
           (op->nregions && !op_is_pure(op));
}
