/* What a launch counted, as JSON: sums for the kernel, by line of the source, by instruction. */
#include "sim/report/report.h"

static void json_number(StrBuf *out, const char *name, uint64_t value) {
    strbuf_printf(out, ", \"%s\": %" PRIu64, name, value);
}

/* What was counted of one instruction or line; of memory only what it touched. */
static void json_counts(const InsnCounts *own, StrBuf *out) {
    json_number(out, "warps", own->warps);
    json_number(out, "threads", own->threads);
    json_number(out, "divergent", own->divergent);
    if (own->sectors) {
        json_number(out, "requests", own->requests);
        json_number(out, "sectors", own->sectors);
        json_number(out, "ideal_sectors", own->ideal_sectors);
    }
    if (own->wavefronts) {
        json_number(out, "wavefronts", own->wavefronts);
        json_number(out, "ideal_wavefronts", own->ideal_wavefronts);
    }
    if (own->requests)
        json_number(out, "bytes_used", own->bytes_used);
}

static void json_insn(const SimModule *module, const SimCounts *counts, uint32_t pc, StrBuf *out) {
    const Insn *insn = &module->insns.data[pc];
    Place place = module->places.data[insn->loc];
    const Source *source = source_get(&module->ctx->sources, module->file);
    strbuf_printf(out, "{\"pc\": %u, \"ptx_line\": %u, \"text\": ", pc,
                  source_locate(source, insn->lo).line);
    strbuf_json(out, (Str){source->text.ptr + insn->lo, insn->hi - insn->lo});
    strbuf_printf(out, ", \"class\": \"%s\"", sim_class_name[sim_insn_class(insn)]);
    if (place.line) {
        strbuf_puts(out, ", \"file\": ");
        strbuf_json(out, place.file < module->file_names.len ? module->file_names.data[place.file]
                                                             : STR(""));
        strbuf_printf(out, ", \"line\": %u", place.line);
    }
    json_counts(&counts->insns[pc], out);
    strbuf_putc(out, '}');
}

static void json_insns(const SimModule *module, const SimCounts *counts, StrBuf *out) {
    bool first = true;
    strbuf_puts(out, ", \"instructions\": [");
    for (uint32_t pc = 0; pc < counts->insn_count; pc++) {
        if (!counts->insns[pc].warps)
            continue;
        strbuf_puts(out, first ? "" : ", ");
        json_insn(module, counts, pc, out);
        first = false;
    }
    strbuf_puts(out, "]");
}

static void json_lines(const SimModule *module, const SimCounts *counts, StrBuf *out) {
    ReportLines lines = report_lines(module, counts);
    strbuf_puts(out, ", \"lines\": [");
    for (size_t i = 0; i < lines.len; i++) {
        const LineCounts *line = &lines.data[i];
        strbuf_printf(out, "%s{\"file\": ", i ? ", " : "");
        strbuf_json(out, line->path);
        strbuf_printf(out, ", \"line\": %u, \"text\": ", line->line);
        strbuf_json(out, line->text);
        json_counts(&line->sum, out);
        strbuf_putc(out, '}');
    }
    strbuf_puts(out, "]");
}

static void json_traffic(const char *name, const Traffic *traffic, StrBuf *out) {
    strbuf_printf(out,
                  ", \"%s\": {\"bytes_moved\": %" PRIu64 ", \"bytes_used\": %" PRIu64
                  ", \"bytes_distinct\": %" PRIu64 "}",
                  name, traffic->moved, traffic->used, traffic->distinct);
}

static void json_classes(const Totals *totals, StrBuf *out) {
    bool first = true;
    strbuf_puts(out, ", \"classes\": {");
    for (int class = 0; class < CLASS_COUNT; class ++) {
        if (!totals->classes[class])
            continue;
        strbuf_printf(out, "%s\"%s\": %" PRIu64, first ? "" : ", ", sim_class_name[class],
                      totals->classes[class]);
        first = false;
    }
    strbuf_puts(out, "}");
}

static void json_tensor(const SimCounts *counts, const Totals *totals, StrBuf *out) {
    bool first = true;
    json_number(out, "tensor_flops", 2 * totals->multiply_adds);
    strbuf_puts(out, ", \"multiply_adds\": {");
    for (int type = 0; type < TYPE_COUNT; type++) {
        if (!counts->multiply_adds[type])
            continue;
        strbuf_printf(out, "%s\"%s\": %" PRIu64, first ? "" : ", ", type_info[type].name,
                      counts->multiply_adds[type]);
        first = false;
    }
    strbuf_puts(out, "}");
}

static void json_occupancy(const Totals *totals, StrBuf *out) {
    json_number(out, "registers", totals->registers);
    strbuf_printf(out, ", \"registers_estimated\": %s, \"occupancy\": ",
                  totals->registers_estimated ? "true" : "false");
    if (totals->target)
        strbuf_printf(out,
                      "{\"target\": \"%s\", \"ctas\": %d, \"warps\": %d, \"max_warps\": %d, "
                      "\"limit\": \"%s\"}",
                      totals->target->name, totals->occupancy.ctas, totals->occupancy.warps,
                      totals->occupancy.max_warps, occupancy_limit_name(totals->occupancy.limit));
    else
        strbuf_puts(out, "null");
}

void sim_json_counts(const SimModule *module, const SimCounts *counts, StrBuf *out) {
    Totals totals = report_totals(module, counts);
    strbuf_puts(out, "{\"kernel\": ");
    strbuf_json(out, str_from(counts->kernel));
    strbuf_printf(out, ", \"target\": \"sm_%u\"", module->sm);
    json_number(out, "programs", counts->programs);
    json_number(out, "threads", counts->threads);
    json_number(out, "thread_instructions", totals.sum.threads);
    json_number(out, "warp_instructions", totals.sum.warps);
    json_number(out, "divergent_instructions", totals.sum.divergent);
    json_number(out, "divergent_branches", counts->divergent_branches);
    json_number(out, "barrier_waits", counts->barrier_waits);
    json_tensor(counts, &totals, out);
    json_traffic("global_read", &totals.read, out);
    json_traffic("global_written", &totals.written, out);
    json_number(out, "wavefronts", totals.sum.wavefronts);
    json_number(out, "ideal_wavefronts", totals.sum.ideal_wavefronts);
    json_number(out, "static_shared", counts->static_shared);
    json_number(out, "dynamic_shared", counts->dynamic_shared);
    json_occupancy(&totals, out);
    json_classes(&totals, out);
    json_lines(module, counts, out);
    json_insns(module, counts, out);
    strbuf_puts(out, "}\n");
}
