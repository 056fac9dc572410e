/* Which loads may be delayed past stores; see the header. */
#include "ir/delay.h"

/* What a value depends on. */
enum { DEPENDS_PROGRAM = 1, DEPENDS_OTHER = 2, DEPENDS_KNOWN = 4 };

enum { NARROW_BYTES = 2 };

static unsigned depends_on(Delays *delays, const Value *value) {
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

static bool keeps_apart(Op *op, void *user) {
    Delays *delays = user;
    /* A barrier's effects are a wall to what is ordered here. */
    if (!op_has(op, WRITES) || op->code == OP_barrier)
        return true;
    return op->code == OP_store && (depends_on(delays, op_in(op, 0)) & DEPENDS_PROGRAM);
}

bool delays_allow(Delays *delays, const Op *load) {
    const Type *type = load->out[0].type;
    if (!type_is_tile(type) || type_element_bytes(type) > NARROW_BYTES || load->attrs[2].i)
        return false;
    for (uint32_t i = 0; i < load->nin; i++)
        if (depends_on(delays, op_in(load, i)))
            return false;
    if (!delays->known) {
        delays->known = true;
        delays->apart = func_walk(delays->func, keeps_apart, delays);
    }
    return delays->apart;
}
