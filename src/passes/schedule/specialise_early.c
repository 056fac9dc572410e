/* What the end of a tile adds or multiplies by is loaded before its products.
 *
 *     for %k .. (%acc, %slot, %parity) { .. }        %b = load %ptrs, %mask : tile<128xf16>
 *     %c = wgmma_wait %r                      =>     for %k .. (%acc, %slot, %parity) { .. }
 *     %b = load %ptrs, %mask : tile<128xf16>         %c = wgmma_wait %r
 *     %y = addf %c, (extf %b)                        %y = addf %c, (extf %b)
 *
 * Behind the products the whole program would wait for it. In front of them registers hold it, as
 * it lies in memory: so it must take few of them, as a line of the tile does, and they must be
 * there. Nothing from the loop to the load may write memory, and no address may come out of the
 * loop. */
#include "passes/analysis/pressure.h"
#include "passes/schedule/specialise.h"

enum { MOST_EARLY = 32 /* registers of a thread */ };

typedef struct Early {
    PtrSet behind;  /* the loop, and ops behind it */
    PtrSet movable; /* those of them that need nothing of the others */
    PtrSet moved;
    uint64_t registers;
} Early;

static bool needs_none_behind(const Early *e, const Op *op) {
    for (uint32_t i = 0; i < op->nin; i++) {
        const Op *def = op_in(op, i)->def;
        if (def && ptr_set_has(&e->behind, def) && !ptr_set_has(&e->movable, def))
            return false;
    }
    return true;
}

/* Registers of a thread that the load fills; 0: it stays where it is. */
static uint64_t registers_of_load(const Op *op) {
    if (op->code != OP_load || op_cache(op) || op_is_volatile(op))
        return 0;
    return type_is_tile(op->out[0].type) ? pressure_in_thread(op->out[0].type) : 1;
}

/* The op and what it needs from behind the loop. */
static void mark(Early *e, const Op *op) {
    if (!ptr_set_add(&e->moved, op))
        return;
    for (uint32_t i = 0; i < op->nin; i++) {
        const Op *def = op_in(op, i)->def;
        if (def && ptr_set_has(&e->movable, def))
            mark(e, def);
    }
}

static void find_loads(Early *e, const Op *loop) {
    ptr_set_add(&e->behind, loop);
    for (const Op *op = loop->next; op; op = op->next) {
        ptr_set_add(&e->behind, op);
        if (op->code != OP_assume && (op_effects(op) & (WRITES | SYNC)))
            return;
        if (op->nregions || !needs_none_behind(e, op))
            continue;
        if (op_is_pure(op))
            ptr_set_add(&e->movable, op);
        uint64_t registers = registers_of_load(op);
        if (!registers || e->registers + registers > MOST_EARLY)
            continue;
        e->registers += registers;
        mark(e, op);
    }
}

/* An op that moved, and the one that it stood in front of. */
typedef struct Moved {
    Op *op, *place;
} Moved;

void specialise_load_early(Specialise *s, const Ring *ring) {
    Early e = {.behind = {.arena = s->arena},
               .movable = {.arena = s->arena},
               .moved = {.arena = s->arena}};
    VEC(Moved) moved = {0};
    if (op_effects(ring->loop) & WRITES)
        return;
    find_loads(&e, ring->loop);
    for (Op *op = ring->loop->next, *next; op; op = next) {
        next = op->next;
        if (!ptr_set_has(&e.moved, op))
            continue;
        vec_push(s->arena, &moved, ((Moved){op, next}));
        op_move_before(op, ring->loop);
    }
    bool fits = specialise_spare_registers(s->func) >= 0;
    for (uint32_t i = moved.len; !fits && i-- > 0;)
        op_move_before(moved.data[i].op, moved.data[i].place);
}
