/* wait-stores: buffers that tensor copies store from are free for what comes after, where an SM
 * then holds more CTAs.
 *
 *     local_store %v, %s                    local_store %v, %s
 *     store_block_from .., %s               store_block_from .., %s
 *     %t = local_alloc              ->      store_wait {pending = 0, read = true}
 *     copy_block .., %t                     %t = local_alloc
 *     ..                                    copy_block .., %t
 *     store_wait {pending = 0, read = true} ..
 *                                           store_wait {pending = 0, read = true}
 *
 * A copy to memory is waited for at the end of its block (stage-blocks), and until then its buffer
 * is its own. A program that goes on, with other operands in other buffers, then takes shared
 * memory for both. Waiting until the buffer was read costs about as long as it takes to fill; it is
 * worth that only where the bytes let another CTA in, which computes meanwhile. So all waits are
 * put in for a trial and taken back if they do not. Stores that follow each other are waited for
 * together.
 *
 * Stands behind what makes buffers, and before split-exchanges, which takes apart what does not
 * fit. Persistent programs wait for their stores before the next program by themselves. */
#include "ir/registers.h"
#include "passes/analysis/pressure.h"
#include "passes/passes.h"
#include "passes/rewrite.h"
#include "passes/shared/allocate_shared.h"
#include "support/vec.h"
#include "target/target.h"

enum {
    ENOUGH_WARPS = 8 /* of an SM: two for each scheduler; more hide less than waits cost */
};

typedef struct Place {
    Op *copy, *before; /* the last copy, and what takes a buffer behind it */
    Op *wait;
} Place;

typedef struct Places {
    Arena *arena;
    VEC(Place) list;
} Places;

static bool is_stored_from(const Op *alloc) {
    value_for_each_use (use, op_out(alloc))
        if (use->user->code == OP_store_block_from)
            return true;
    return false;
}

/* Does it make a buffer for anything but a copy to memory? */
static bool takes_buffer(const Op *op, const void *user) {
    return op->code == OP_local_alloc && !is_stored_from(op);
}

static void find_places(Places *places, Block *block) {
    Op *copy = NULL; /* that nothing has waited for yet */
    block_for_each (op, block) {
        if (op->code == OP_store_block_from) {
            copy = op;
        } else if (op->code == OP_store_wait && !op_pending(op)) {
            copy = NULL;
        } else if (copy && op_any(op, takes_buffer, NULL)) {
            vec_push(places->arena, &places->list, ((Place){copy, op, NULL}));
            copy = NULL;
        }
        for (uint32_t i = 0; i < op->nregions; i++)
            find_places(places, op->regions[i]);
    }
}

static void put_in(Places *places) {
    vec_for_each (place, &places->list) {
        Builder b = builder_before(place->before);
        b.span = place->copy->span;
        place->wait = build_store_wait(&b, 0, true);
    }
}

/* CTAs that an SM holds, where buffers that never live at once overlap. */
static Occupancy held(Func *func) {
    const Target *target = target_by_capability(func->capability);
    PtrSet none = {.arena = &func_ctx(func)->scratch};
    int64_t bytes = shared_bytes_beside(func, &none);
    if (bytes > func_shared_room(func))
        return (Occupancy){0};
    int32_t programs = func->programs_per_cta ? func->programs_per_cta : 1;
    int32_t registers = (int32_t)pressure_streamed_in_thread(func) + RESERVE_SCALARS;
    int32_t room = func_register_room(func, func->num_warps);
    return target_occupancy(target, registers < room ? registers : room,
                            func->num_warps * programs * TARGET_WARP_SIZE,
                            (int32_t)bytes * programs);
}

bool pass_wait_stores(Func *func) {
    Arena *arena = &func_ctx(func)->scratch;
    ArenaMark mark = arena_mark(arena);
    Places places = {.arena = arena};
    if (!func->is_persistent)
        find_places(&places, func->body);
    bool changed = false;
    if (places.list.len) {
        Occupancy before = held(func);
        if (before.warps <= ENOUGH_WARPS) {
            put_in(&places);
            changed = held(func).ctas > before.ctas;
        }
    }
    if (!changed)
        vec_for_each (place, &places.list)
            if (place->wait)
                op_remove(place->wait);
    arena_rewind(arena, mark);
    return changed;
}
