/* See pointer_origin.h. Goes back along everything that a pointer may be: offsets and changes of
 * shape keep what it counts from, loops and branches bring together what must be one and the same.
 * A value met again on the way, around a loop, adds nothing. */
#include "passes/analysis/pointer_origin.h"
#include "passes/rewrite.h"

typedef struct Origin {
    const Value *parameter; /* the one found; NULL: none yet */
    PtrSet seen;
} Origin;

static bool find_origin(Origin *origin, const Value *pointer);

static bool origin_of_argument(Origin *origin, const Value *arg) {
    Op *parent = arg->owner->parent;
    if (!parent) {
        bool same = !origin->parameter || origin->parameter == arg;
        origin->parameter = arg;
        return same;
    }
    if (parent->code == OP_for)
        return arg->index > 0 &&
               find_origin(origin, op_in(parent, FOR_FIXED_OPERANDS + arg->index - 1)) &&
               find_origin(origin, op_in(arg->owner->last, arg->index - 1));
    if (parent->code != OP_while)
        return false;
    if (arg->owner == parent->regions[1])
        return find_origin(origin, op_in(parent->regions[0]->last, arg->index + 1));
    return find_origin(origin, op_in(parent, arg->index)) &&
           find_origin(origin, op_in(parent->regions[1]->last, arg->index));
}

static bool origin_of_operands(Origin *origin, const Op *op) {
    for (uint32_t i = 0; i < op->nin; i++)
        if (!find_origin(origin, op_in(op, i)))
            return false;
    return true;
}

static bool origin_of_result(Origin *origin, const Value *result) {
    const Op *op = result->def;
    if (op_has(op, MOVES | HINT))
        return origin_of_operands(origin, op);
    switch (op->code) {
    case OP_addptr:
    case OP_bitcast:
        return find_origin(origin, op_in(op, 0));
    case OP_select:
        return find_origin(origin, op_in(op, 1)) && find_origin(origin, op_in(op, 2));
    case OP_if:
        return find_origin(origin, op_in(op->regions[0]->last, result->index)) &&
               find_origin(origin, op_in(op->regions[1]->last, result->index));
    case OP_for:
        return find_origin(origin, op_in(op, FOR_FIXED_OPERANDS + result->index)) &&
               find_origin(origin, op_in(op->regions[0]->last, result->index));
    case OP_while:
        return find_origin(origin, op_in(op->regions[0]->last, result->index + 1));
    default:
        return false;
    }
}

static bool find_origin(Origin *origin, const Value *pointer) {
    if (!type_is_pointer(pointer->type))
        return false;
    if (!ptr_set_add(&origin->seen, pointer))
        return true;
    return pointer->def ? origin_of_result(origin, pointer) : origin_of_argument(origin, pointer);
}

const Value *pointer_origin(const Value *pointer) {
    const Block *block = value_block(pointer);
    Arena *arena = &func_ctx(block->func)->scratch;
    ArenaMark mark = arena_mark(arena);
    Origin origin = {.seen.arena = arena};
    bool known = find_origin(&origin, pointer);
    arena_rewind(arena, mark);
    return known ? origin.parameter : NULL;
}

bool origins_meet(const Func *func, const Value *a, const Value *b) {
    return !a || !b || a == b || func->in_place;
}

/* Clones of a function share the list, which therefore is copied and never changed. */
void func_take_apart(Func *func, const Value *loaded, const Value *stored) {
    const int64_t pair[] = {loaded->index, stored->index};
    const Ints known = func->apart;
    uint32_t at = 0;
    for (; at < known.len && known.ptr[at] <= pair[0]; at += 2)
        if (known.ptr[at] == pair[0] && known.ptr[at + 1] >= pair[1])
            break;
    if (at < known.len && known.ptr[at] == pair[0] && known.ptr[at + 1] == pair[1])
        return;
    int64_t *list = ARENA_ARRAY(&func_ctx(func)->arena, int64_t, known.len + 2);
    for (uint32_t i = 0; i < known.len; i++)
        list[i < at ? i : i + 2] = known.ptr[i];
    memcpy(list + at, pair, sizeof pair);
    func->apart = (Ints){list, known.len + 2};
}

typedef struct Writes {
    bool *written;
    bool any; /* through pointers of which nothing is known */
} Writes;

static bool note_write(Op *op, void *user) {
    Writes *writes = user;
    if (!op_has(op, STORE | ATOMIC))
        return true;
    const Value *origin = pointer_origin(op_in(op, 0));
    if (origin)
        writes->written[origin->index] = true;
    else
        writes->any = true;
    return true;
}

void func_written(Func *func, bool *written) {
    Writes writes = {.written = written};
    memset(written, 0, func->body->nargs * sizeof *written);
    func_walk(func, note_write, &writes);
    for (uint32_t i = 0; i < func->body->nargs; i++)
        written[i] = type_is_pointer(func->body->args[i].type) && (written[i] || writes.any);
}
