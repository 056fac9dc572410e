/* What the interpreter found wrong: diagnostics at the op, once an op and kind, with the program
 * and the element, and for undefined values a note at the op that left them undefined. */
#include "interp/interp_internal.h"

static const char *const undef_text[UNDEF_COUNT] = {
#define UNDEF(id, text) [UNDEF_##id] = text,
    UNDEF_CAUSES(UNDEF)
#undef UNDEF
};

bool finding_begin(Run *run, const Op *op, DiagId id) {
    if (run->stopped)
        return false;
    const bool is_error = diag_severity(id) == SEV_ERROR || run->options->warnings_fail;
    run->failed |= is_error;
    vec_for_each (known, &run->findings) {
        if (known->op == op && known->id == id)
            return false;
    }
    vec_push(run->arena, &run->findings, ((Finding){op, id}));
    run->errors += is_error;
    return true;
}

void finding_end(Run *run) {
    diag_program(&run->ctx->diags, run->pid);
    unsigned limit = run->options->max_reports ? run->options->max_reports : 1;
    if (run->errors >= limit)
        run->stopped = true;
}

const char *finding_place(Run *run, const Type *type, uint32_t i) {
    StrBuf out = strbuf(run->arena);
    strbuf_printf(&out, "program (%u, %u, %u)", run->pid[0], run->pid[1], run->pid[2]);
    if (type && type->rank > 0 && run->width == 1) {
        strbuf_puts(&out, ", element (");
        int64_t below = type_numel(type), rest = i;
        for (int d = 0; d < type->rank; d++) {
            below /= type->shape[d];
            strbuf_printf(&out, "%s%lld", d ? ", " : "", (long long)(rest / below));
            rest %= below;
        }
        strbuf_putc(&out, ')');
    }
    return out.ptr;
}

uint8_t origin_of(Run *run, const Op *op, UndefCause cause) {
    for (uint32_t i = 1; i <= run->norigins; i++)
        if (run->origins[i].op == op && run->origins[i].cause == cause)
            return (uint8_t)i;
    if (run->norigins == MAX_ORIGINS)
        return MAX_ORIGINS;
    run->origins[++run->norigins] = (Origin){op, cause};
    return (uint8_t)run->norigins;
}

void finding_undefined(Run *run, const Op *op, const char *use, uint8_t origin, const Type *type,
                       uint32_t i) {
    if (!finding(run, op, interp_undefined, use, finding_place(run, type, i)))
        return;
    const Origin *from = &run->origins[origin];
    if (run->norigins == MAX_ORIGINS && origin == MAX_ORIGINS)
        return;
    diag_note(&run->ctx->diags, from->op->span, "%s", undef_text[from->cause]);
    if (from->cause == UNDEF_MASKED_LOAD)
        diag_hint(&run->ctx->diags, "give the load a value for these elements: other=%s",
                  type_is_float(op_out(from->op)->type) ? "0.0" : "0");
}

bool require_defined(Run *run, const Op *op, uint32_t index, uint32_t i, const char *use) {
    const Slot *slot = in_slot(run, op, index);
    if (!slot->undef || !slot->undef[i])
        return true;
    finding_undefined(run, op, use, slot->undef[i], op_in(op, index)->type, i);
    return false;
}
