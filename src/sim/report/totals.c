/* Sums over the instructions of a launch: by class, by line, and what the kernel takes of an SM. */
#include "sim/report/live.h"
#include "sim/report/report.h"

#include <stdlib.h>

const char *const sim_class_name[CLASS_COUNT] = {
    [CLASS_INTEGER] = "integer", [CLASS_FLOAT] = "float",         [CLASS_HALF] = "half",
    [CLASS_DOUBLE] = "double",   [CLASS_SPECIAL] = "special",     [CLASS_CONVERT] = "convert",
    [CLASS_MOVE] = "move",       [CLASS_PREDICATE] = "predicate", [CLASS_GLOBAL] = "global",
    [CLASS_SHARED] = "shared",   [CLASS_LOCAL] = "local",         [CLASS_PARAM] = "param",
    [CLASS_ATOMIC] = "atomic",   [CLASS_WARP] = "warp",           [CLASS_TENSOR] = "tensor",
    [CLASS_ASYNC] = "async",     [CLASS_BARRIER] = "barrier",     [CLASS_CONTROL] = "control",
    [CLASS_MEMORY] = "memory",
};

unsigned sim_capability(const SimModule *module) {
    return module->sm;
}

bool sim_is_specific(const SimModule *module) {
    return module->sm_suffix == 'a';
}

void sim_set_registers(SimCounts *counts, uint32_t registers) {
    counts->registers = registers;
}

uint64_t sim_thread_instructions(const SimCounts *counts) {
    uint64_t sum = 0;
    for (uint32_t pc = 0; pc < counts->insn_count; pc++)
        sum += counts->insns[pc].threads;
    return sum;
}

InsnClass sim_insn_class(const Insn *insn) {
    if (insn->row->class != CLASS_MEMORY)
        return insn->row->class;
    switch ((Word)insn->field[FIELD_SPACE]) {
    case WORD_global:
    case WORD_const:
        return CLASS_GLOBAL;
    case WORD_shared:
    case WORD_shared_cta:
    case WORD_shared_cluster:
        return CLASS_SHARED;
    case WORD_local:
        return CLASS_LOCAL;
    case WORD_param:
    case WORD_param_entry:
    case WORD_param_func:
        return CLASS_PARAM;
    default:
        return CLASS_MEMORY;
    }
}

static void add_traffic(Traffic *traffic, const InsnCounts *own) {
    traffic->moved += own->sectors * SECTOR_BYTES;
    traffic->used += own->bytes_used;
}

const Func *report_kernel(const SimModule *module, Str name) {
    vec_for_each (func, &module->funcs)
        if ((*func)->is_entry && (*func)->has_body && str_eq((*func)->name, name))
            return *func;
    return NULL;
}

static uint32_t estimate_registers(const SimModule *module, const Func *kernel) {
    uint32_t registers = live_registers(module, kernel, &module->ctx->scratch);
    if (kernel->max_regs && registers > kernel->max_regs)
        registers = kernel->max_regs;
    return registers < TARGET_MAX_REGISTERS ? registers : TARGET_MAX_REGISTERS;
}

uint32_t sim_estimate_registers(const SimModule *module, Str name) {
    const Func *kernel = report_kernel(module, name);
    return kernel ? estimate_registers(module, kernel) : 0;
}

/* Registers, and the CTAs that an SM of the module's target holds with them. */
static void find_occupancy(const SimModule *module, const SimCounts *counts, Totals *totals) {
    const Func *kernel = report_kernel(module, str_from(counts->kernel));
    totals->registers = counts->registers;
    if (!counts->registers && kernel) {
        totals->registers_estimated = true;
        totals->registers = estimate_registers(module, kernel);
    }
    totals->target = target_by_name(str_from(str_format(&module->ctx->arena, "sm_%u", module->sm)));
    if (totals->target)
        totals->occupancy =
            target_occupancy(totals->target, (int32_t)totals->registers, (int32_t)counts->threads,
                             (int32_t)(counts->static_shared + counts->dynamic_shared));
}

Totals report_totals(const SimModule *module, const SimCounts *counts) {
    Totals totals = {.read.distinct = counts->distinct_read,
                     .written.distinct = counts->distinct_written};
    for (uint32_t pc = 0; pc < counts->insn_count; pc++) {
        const InsnCounts *own = &counts->insns[pc];
        if (!own->warps)
            continue;
        insn_counts_add(&totals.sum, own);
        totals.classes[sim_insn_class(&module->insns.data[pc])] += own->threads;
        if (own->reads)
            add_traffic(&totals.read, own);
        if (own->writes)
            add_traffic(&totals.written, own);
    }
    for (int type = 0; type < TYPE_COUNT; type++)
        totals.multiply_adds += counts->multiply_adds[type];
    find_occupancy(module, counts, &totals);
    return totals;
}

/* Lines. */

/* Where each instruction comes from: its .loc, or its own line when the kernel has none. */
static LineCounts line_of(const SimModule *module, uint32_t pc, bool by_ptx) {
    const Insn *insn = &module->insns.data[pc];
    const SourceMap *sources = &module->ctx->sources;
    Place place = module->places.data[insn->loc];
    LineCounts line = {.line = place.line};
    if (by_ptx) {
        const Source *source = source_get(sources, module->file);
        line.file = module->file;
        line.path = source->path;
        line.line = source_locate(source, insn->lo).line;
    } else if (line.line) {
        line.file = sim_source_of(module, &place, &line.path);
    }
    const Source *source = source_get(sources, line.file);
    if (source)
        line.text = source_line(source, line.line);
    return line;
}

static int compare_lines(const LineCounts *a, const LineCounts *b) {
    size_t shorter = a->path.len < b->path.len ? a->path.len : b->path.len;
    int order = shorter ? memcmp(a->path.ptr, b->path.ptr, shorter) : 0;
    if (!order)
        order = (a->path.len > b->path.len) - (a->path.len < b->path.len);
    return order ? order : (a->line > b->line) - (a->line < b->line);
}

static int by_place(const void *a, const void *b) {
    return compare_lines(a, b);
}

static bool names_no_source(const SimModule *module, const SimCounts *counts) {
    for (uint32_t pc = 0; pc < counts->insn_count; pc++)
        if (counts->insns[pc].warps && module->insns.data[pc].loc)
            return false;
    return true;
}

ReportLines report_lines(const SimModule *module, const SimCounts *counts) {
    ReportLines all = {0};
    bool by_ptx = names_no_source(module, counts);
    Arena *arena = &module->ctx->arena;
    uint32_t last_loc = UINT32_MAX;
    for (uint32_t pc = 0; pc < counts->insn_count; pc++) {
        uint32_t loc = by_ptx ? pc : module->insns.data[pc].loc;
        if (!counts->insns[pc].warps)
            continue;
        if (loc != last_loc)
            vec_push(arena, &all, line_of(module, pc, by_ptx));
        last_loc = loc;
        insn_counts_add(&all.data[all.len - 1].sum, &counts->insns[pc]);
    }
    if (!all.len)
        return all;
    qsort(all.data, all.len, sizeof *all.data, by_place);
    size_t kept = 0;
    for (size_t i = 1; i < all.len; i++) {
        if (compare_lines(&all.data[kept], &all.data[i]))
            all.data[++kept] = all.data[i];
        else
            insn_counts_add(&all.data[kept].sum, &all.data[i].sum);
    }
    all.len = kept + 1;
    return all;
}
