/* Findings: each says kernel, program and thread, lies at the PTX instruction, and notes the line
 * of the source that the instruction was compiled from. An instruction is reported once for each
 * kind of finding. */
#include "sim/check/findings.h"

#include "sim/state/program.h"
#include "sim/state/team.h"

bool finding_new(Machine *machine, const Insn *insn, DiagId id) {
    uint64_t key = (uint64_t)(insn - machine->module->insns.data) << 16 | (uint64_t)id;
    if (machine->stop)
        return false;
    if (machine->team) {
        team_abandon(machine);
        return false;
    }
    vec_for_each (at, &machine->reported)
        if (*at == key)
            return false;
    vec_push(machine->arena, &machine->reported, key);
    if (++machine->findings >= machine->max_findings)
        machine->stop = true;
    return true;
}

const char *finding_where(Warp *warp, uint32_t lane) {
    const Machine *machine = warp->machine;
    const Cta *cta = warp->cta;
    uint32_t thread = warp->index * LANES + lane, x = machine->block[0], y = machine->block[1];
    return str_format(&machine->ctx->arena,
                      "kernel %.*s, program (%u, %u, %u), thread (%u, %u, %u)",
                      STR_ARG(machine->kernel->name), cta->id[0], cta->id[1], cta->id[2],
                      thread % x, thread / x % y, thread / x / y);
}

Span finding_span(const Machine *machine, const Insn *insn) {
    return (Span){machine->module->file, insn->lo, insn->hi};
}

static void note_place(Machine *machine, const Insn *insn, const char *text) {
    const SimModule *module = machine->module;
    const Place *place = &module->places.data[insn->loc];
    Str path;
    uint32_t file = insn->loc ? sim_source_of(module, place, &path) : 0;
    if (!insn->loc || !path.len)
        return;
    const Source *source = source_get(&machine->ctx->sources, file);
    const LineColumn at = {place->line, place->column ? place->column : 1};
    const uint32_t lo = source ? source_offset(source, at) : UINT32_MAX;
    if (lo != UINT32_MAX) {
        diag_note(&machine->ctx->diags, (Span){file, lo, lo + 1}, "%s", text);
    } else {
        diag_note(&machine->ctx->diags, (Span){0}, "%s %.*s:%u:%u", text, STR_ARG(path),
                  place->line, place->column);
    }
}

void finding_complete(Warp *warp, const Insn *insn) {
    diag_program(&warp->machine->ctx->diags, warp->cta->id);
    note_place(warp->machine, insn, "compiled from here");
}

void finding_other(Warp *warp, uint32_t pc, const char *who, const char *did) {
    Machine *machine = warp->machine;
    const Insn *insn = &machine->module->insns.data[pc];
    diag_note(&machine->ctx->diags, finding_span(machine, insn), "%s %s here", who, did);
    note_place(machine, insn, "that was compiled from here");
}

bool reg_require(Warp *warp, const Insn *insn, const Reg *reg, uint32_t mask, const char *what) {
    FOR_LANES(lane, mask)
    if (reg->def[lane] != DEFINED) {
        report(warp, insn, lane, sim_undefined, what);
        return false;
    }
    return true;
}
