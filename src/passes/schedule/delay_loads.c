/* delay-loads: loads of what all programs share may come after stores to each program's own places.
 *
 * A tile of 16-bit weights that is loaded where the stores of a program need it, one vector at a
 * time, takes an access's worth of registers instead of a row's (codegen/llvm/schedule.c), and a
 * program that does so needs fewer warps (choose-warps) and leaves room for another on its SM
 * (rematerialise). The loads that may be are marked here, for all of them:
 *
 *     %p = addptr (splat %w), range                %p = addptr (splat %w), range
 *     %v = load %p : tile<1024xbf16>          =>   %v = load %p {may_delay = true}
 *     %q = addptr (splat %y), %pid * 1024 ..       %q = addptr (splat %y), %pid * 1024 ..
 *     store %q, ..                                 store %q, ..
 *
 * A load is, if its address is the same in all programs of a launch and everything that the
 * function writes to memory is stored through another argument, to places that depend on the
 * program: arguments are taken not to overlap there (docs/language.md), unless the function is for
 * launches in place, and programs that all loaded what one of them stores would race. The second
 * condition is not enough by itself: in a launch of one program, or within one, nothing races.
 *
 * It holds of the whole function, so that passes may move such a load, and stores, as they like.
 * Comes before choose-warps. */
#include "passes/analysis/pointer_origin.h"
#include "passes/passes.h"
#include "passes/rewrite.h"
#include "support/ptrmap.h"

/* What a value depends on. */
enum { DEPENDS_PROGRAM = 1, DEPENDS_OTHER = 2, DEPENDS_KNOWN = 4 };

enum {
    NARROW_BYTES = 2
}; /* of an element: wider ones wait as they are, so that nothing is gained */

typedef struct DelayLoads {
    Func *func;
    PtrMap depends; /* op to what its results depend on */
    PtrSet stored;  /* arguments that are stored through */
    bool stores;    /* there are some */
    bool changed;
} DelayLoads;

static unsigned depends_on(DelayLoads *delays, const Value *value) {
    if (!value->def)
        return value->owner == delays->func->body ? 0 : DEPENDS_OTHER;
    unsigned known = (unsigned)(uintptr_t)ptrmap_get(&delays->depends, value->def);
    if (known)
        return known & ~(unsigned)DEPENDS_KNOWN;
    const Op *op = value->def;
    unsigned depends = 0;
    if (op->code == OP_program_id || op->code == OP_cta_id)
        depends = DEPENDS_PROGRAM;
    else if (!op_is_pure(op) || op->nregions)
        depends = DEPENDS_OTHER;
    for (uint32_t i = 0; i < op->nin; i++)
        depends |= depends_on(delays, op_in(op, i));
    ptrmap_set(&delays->depends, op, (void *)(uintptr_t)(depends | DEPENDS_KNOWN));
    return depends;
}

/* False: it writes where a load of any argument might read. */
static bool keeps_apart(Op *op, void *user) {
    DelayLoads *delays = user;
    /* The effects of a barrier are an order, which its block keeps. */
    if (!op_has(op, WRITES) || op->code == OP_barrier || op_has(op, SAYS))
        return true;
    const Value *origin = op->code == OP_store ? pointer_origin(op_in(op, 0)) : NULL;
    if (!origin || !(depends_on(delays, op_in(op, 0)) & DEPENDS_PROGRAM))
        return false;
    ptr_set_add(&delays->stored, origin);
    delays->stores = true;
    return true;
}

static bool may_delay(DelayLoads *delays, const Op *load) {
    const Type *type = load->out[0].type;
    if (!type_is_tile(type) || type_element_bytes(type) > NARROW_BYTES ||
        load_attrs(load)->is_volatile)
        return false;
    for (uint32_t i = 0; i < load->nin; i++)
        if (depends_on(delays, op_in(load, i)))
            return false;
    const Value *origin = pointer_origin(op_in(load, 0));
    return origin && !ptr_set_has(&delays->stored, origin) &&
           !(delays->func->in_place && delays->stores);
}

static bool mark_load(Op *op, void *user) {
    DelayLoads *delays = user;
    if (op->code == OP_load && !op_may_delay(op) && may_delay(delays, op)) {
        load_attrs(op)->may_delay = true;
        delays->changed = true;
    }
    return true;
}

bool pass_delay_loads(Func *func) {
    Arena *arena = &func_ctx(func)->scratch;
    ArenaMark mark = arena_mark(arena);
    DelayLoads delays = {.func = func, .depends = {.arena = arena}, .stored = {.arena = arena}};
    if (func_walk(func, keeps_apart, &delays))
        func_walk(func, mark_load, &delays);
    arena_rewind(arena, mark);
    return delays.changed;
}
