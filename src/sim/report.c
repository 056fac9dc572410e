/* What a launch counted, as a table by lines of the source and as JSON by instruction. */
#include "sim/counters.h"

static const char *const class_name[CLASS_COUNT] = {
    [CLASS_INTEGER] = "integer", [CLASS_FLOAT] = "float",         [CLASS_HALF] = "half",
    [CLASS_DOUBLE] = "double",   [CLASS_SPECIAL] = "special",     [CLASS_CONVERT] = "convert",
    [CLASS_MOVE] = "move",       [CLASS_PREDICATE] = "predicate", [CLASS_GLOBAL] = "global",
    [CLASS_SHARED] = "shared",   [CLASS_LOCAL] = "local",         [CLASS_PARAM] = "param",
    [CLASS_ATOMIC] = "atomic",   [CLASS_WARP] = "warp",           [CLASS_TENSOR] = "tensor",
    [CLASS_ASYNC] = "async",     [CLASS_BARRIER] = "barrier",     [CLASS_CONTROL] = "control",
    [CLASS_MEMORY] = "memory",
};

uint64_t sim_thread_instructions(const SimCounts *counts) {
    return counts->thread_instructions;
}

/* Counts of all instructions of one line of the source. */
typedef struct LineCounts {
    uint32_t file, line;
    InsnCounts sum;
} LineCounts;

static void add_counts(InsnCounts *to, const InsnCounts *from) {
    to->warps += from->warps;
    to->threads += from->threads;
    to->divergent += from->divergent;
    to->requests += from->requests;
    to->sectors += from->sectors;
    to->ideal_sectors += from->ideal_sectors;
    to->bytes_used += from->bytes_used;
    to->wavefronts += from->wavefronts;
    to->ideal_wavefronts += from->ideal_wavefronts;
}

static Place place_of(const SimModule *module, uint32_t pc) {
    return module->places.data[module->insns.data[pc].loc];
}

/* Lines in the order of files and numbers. */
static LineCounts *by_line(const SimModule *module, const SimCounts *counts, size_t *count) {
    VEC(LineCounts) lines = {0};
    for (uint32_t pc = 0; pc < counts->insn_count; pc++) {
        if (!counts->insns[pc].warps)
            continue;
        Place place = place_of(module, pc);
        size_t at = lines.len;
        while (at &&
               (lines.data[at - 1].file > place.file ||
                (lines.data[at - 1].file == place.file && lines.data[at - 1].line > place.line)))
            at--;
        if (!at || lines.data[at - 1].file != place.file || lines.data[at - 1].line != place.line) {
            vec_push(&module->ctx->arena, &lines, (LineCounts){.file = 0});
            memmove(lines.data + at + 1, lines.data + at,
                    (lines.len - 1 - at) * sizeof *lines.data);
            lines.data[at] = (LineCounts){.file = place.file, .line = place.line};
            at++;
        }
        add_counts(&lines.data[at - 1].sum, &counts->insns[pc]);
    }
    *count = lines.len;
    return lines.data;
}

static Str file_of(const SimModule *module, uint32_t file) {
    return file < module->file_names.len ? module->file_names.data[file] : (Str){"", 0};
}

static void print_line(const SimModule *module, const LineCounts *line, StrBuf *out) {
    const InsnCounts *sum = &line->sum;
    Str path = file_of(module, line->file);
    const char *slash = path.len ? memrchr(path.ptr, '/', path.len) : NULL;
    if (slash)
        path = (Str){slash + 1, (size_t)(path.ptr + path.len - slash - 1)};
    const char *where =
        line->line ? str_format(out->arena, "%.*s:%u", STR_ARG(path), line->line) : "(no line)";
    strbuf_printf(out, "%-28s %12" PRIu64 " %9" PRIu64, where, sum->threads, sum->divergent);
    if (sum->sectors)
        strbuf_printf(out, "  %9" PRIu64 " %9" PRIu64 " %9" PRIu64, sum->requests, sum->sectors,
                      sum->ideal_sectors);
    else
        strbuf_printf(out, "  %9s %9s %9s", "", "", "");
    if (sum->wavefronts)
        strbuf_printf(out, "  %10" PRIu64 " %9" PRIu64, sum->wavefronts, sum->ideal_wavefronts);
    strbuf_putc(out, '\n');
}

/* Of the accesses to global memory. */
static InsnCounts total_of(const SimCounts *counts) {
    InsnCounts total = {0};
    for (uint32_t pc = 0; pc < counts->insn_count; pc++)
        if (counts->insns[pc].sectors)
            add_counts(&total, &counts->insns[pc]);
    return total;
}

void sim_print_counts(const SimModule *module, const SimCounts *counts, StrBuf *out) {
    size_t count;
    const LineCounts *lines = by_line(module, counts, &count);
    InsnCounts total = total_of(counts);
    strbuf_printf(out,
                  "kernel %s: %u programs of %u threads, %" PRIu64 " thread instructions, %" PRIu64
                  " warp instructions\n",
                  counts->kernel, counts->programs, counts->threads, counts->thread_instructions,
                  counts->warp_instructions);
    strbuf_printf(out,
                  "shared memory: %" PRIu64 " bytes static, %" PRIu64 " dynamic; %" PRIu64
                  " divergent branches, %" PRIu64 " warps at barriers\n",
                  counts->static_shared, counts->dynamic_shared, counts->divergent_branches,
                  counts->barrier_waits);
    strbuf_printf(out, "global memory: %" PRIu64 " bytes used of %" PRIu64 " moved\n\n",
                  total.bytes_used, total.sectors * SECTOR_BYTES);
    strbuf_printf(out, "%-28s %12s %9s  %9s %9s %9s  %10s %9s\n", "line", "threads", "divergent",
                  "requests", "sectors", "ideal", "wavefronts", "ideal");
    for (size_t i = 0; i < count; i++)
        print_line(module, &lines[i], out);
    strbuf_puts(out, "\nthread instructions:");
    for (int class = 0; class < CLASS_COUNT; class ++)
        if (counts->by_class[class])
            strbuf_printf(out, " %s %" PRIu64, class_name[class], counts->by_class[class]);
    strbuf_putc(out, '\n');
}

static void json_insn(const SimModule *module, const SimCounts *counts, uint32_t pc, StrBuf *out) {
    const InsnCounts *own = &counts->insns[pc];
    const Insn *insn = &module->insns.data[pc];
    Place place = place_of(module, pc);
    const Source *source = source_get(&module->ctx->sources, module->file);
    strbuf_printf(out, "{\"pc\": %u, \"ptx_line\": %u, \"text\": ", pc,
                  source_locate(source, insn->lo).line);
    strbuf_json(out, (Str){source->text.ptr + insn->lo, insn->hi - insn->lo});
    if (place.line) {
        strbuf_puts(out, ", \"file\": ");
        strbuf_json(out, file_of(module, place.file));
        strbuf_printf(out, ", \"line\": %u", place.line);
    }
    strbuf_printf(out,
                  ", \"warps\": %" PRIu64 ", \"threads\": %" PRIu64 ", \"divergent\": %" PRIu64,
                  own->warps, own->threads, own->divergent);
    if (own->sectors)
        strbuf_printf(out,
                      ", \"requests\": %" PRIu64 ", \"sectors\": %" PRIu64
                      ", \"ideal_sectors\": %" PRIu64,
                      own->requests, own->sectors, own->ideal_sectors);
    if (own->wavefronts)
        strbuf_printf(out, ", \"wavefronts\": %" PRIu64 ", \"ideal_wavefronts\": %" PRIu64,
                      own->wavefronts, own->ideal_wavefronts);
    if (own->requests)
        strbuf_printf(out, ", \"bytes_used\": %" PRIu64, own->bytes_used);
    strbuf_putc(out, '}');
}

void sim_json_counts(const SimModule *module, const SimCounts *counts, StrBuf *out) {
    strbuf_puts(out, "{\"kernel\": ");
    strbuf_json(out, str_from(counts->kernel));
    strbuf_printf(out,
                  ", \"programs\": %u, \"threads\": %u, \"thread_instructions\": %" PRIu64
                  ", \"warp_instructions\": %" PRIu64 ", \"divergent_branches\": %" PRIu64
                  ", \"barrier_waits\": %" PRIu64 ", \"tensor_flops\": %" PRIu64
                  ", \"static_shared\": %" PRIu64 ", \"dynamic_shared\": %" PRIu64
                  ", \"classes\": {",
                  counts->programs, counts->threads, counts->thread_instructions,
                  counts->warp_instructions, counts->divergent_branches, counts->barrier_waits,
                  counts->tensor_flops, counts->static_shared, counts->dynamic_shared);
    bool first = true;
    for (int class = 0; class < CLASS_COUNT; class ++) {
        if (!counts->by_class[class])
            continue;
        strbuf_printf(out, "%s\"%s\": %" PRIu64, first ? "" : ", ", class_name[class],
                      counts->by_class[class]);
        first = false;
    }
    strbuf_puts(out, "}, \"instructions\": [");
    first = true;
    for (uint32_t pc = 0; pc < counts->insn_count; pc++) {
        if (!counts->insns[pc].warps)
            continue;
        strbuf_puts(out, first ? "" : ", ");
        json_insn(module, counts, pc, out);
        first = false;
    }
    strbuf_puts(out, "]}\n");
}
