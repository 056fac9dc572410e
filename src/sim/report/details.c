/* What is told of single instructions to those who make reports of their own. */
#include "sim/report/live.h"
#include "sim/report/report.h"

uint32_t sim_insn_count(const SimModule *module) {
    return (uint32_t)module->insns.len;
}

SimInsn sim_insn(const SimModule *module, uint32_t number) {
    const Insn *insn = &module->insns.data[number];
    const Source *source = source_get(&module->ctx->sources, module->file);
    const Place place = module->places.data[insn->loc];
    SimInsn told = {.text = {source->text.ptr + insn->lo, insn->hi - insn->lo},
                    .ptx_line = source_locate(source, insn->lo).line,
                    .line = place.line,
                    .class = sim_class_name[sim_insn_class(insn)],
                    .head = insn->is_branch && insn->target < number ? insn->target : number};
    Str path;
    if (place.line)
        told.file = sim_source_of(module, &place, &path);
    return told;
}

bool sim_live_registers(const SimModule *module, Str kernel, uint32_t *by_insn) {
    const Func *func = report_kernel(module, kernel);
    memset(by_insn, 0, module->insns.len * sizeof *by_insn);
    if (func)
        live_registers_at(module, func, &module->ctx->scratch, by_insn);
    return func != NULL;
}

SimCount sim_count(const SimCounts *counts, uint32_t number) {
    if (number >= counts->insn_count)
        return (SimCount){0};
    const InsnCounts *own = &counts->insns[number];
    return (SimCount){.warps = own->warps,
                      .threads = own->threads,
                      .divergent = own->divergent,
                      .requests = own->sectors ? own->requests : 0,
                      .sectors = own->sectors,
                      .ideal_sectors = own->ideal_sectors,
                      .bytes_used = own->sectors ? own->bytes_used : 0,
                      .wavefronts = own->wavefronts,
                      .ideal_wavefronts = own->ideal_wavefronts,
                      .words = own->words,
                      .first_words = own->first_words,
                      .own_words = own->own_words};
}

static SimTraffic traffic_of(const Traffic *own) {
    return (SimTraffic){own->moved, own->used, own->distinct};
}

void sim_traffic(const SimModule *module, const SimCounts *counts, SimTraffic *read,
                 SimTraffic *written) {
    const Totals totals = report_totals(module, counts);
    *read = traffic_of(&totals.read);
    *written = traffic_of(&totals.written);
}

uint32_t sim_programs(const SimCounts *counts) {
    return counts->programs;
}

const SimSharedAccess *sim_shared_access(const SimCounts *counts, uint32_t number) {
    return number < counts->insn_count ? counts->shared[number] : NULL;
}
