/* Stages as the compilation shows them, and what follows from the last ones. */
#include "inspect/trace.h"

#include "runtime/tools/resources.h"

const char *const trace_kind_name[] = {
#define STAGE_KIND(id) #id,
    TRACE_KINDS(STAGE_KIND)
#undef STAGE_KIND
};

const char *const trace_op_kind_name[] = {
#define OP_KIND(id, name) name,
    TRACE_OP_KINDS(OP_KIND)
#undef OP_KIND
};

const TraceStage *trace_stage(const Trace *trace, const char *id) {
    vec_for_each (stage, &trace->stages)
        if (!strcmp(stage->id, id))
            return stage;
    return NULL;
}

/* False: no stage of reports. */
static bool kind_of(OutputKind output, TraceKind *kind) {
    switch (output) {
    case OUTPUT_ast:
        *kind = TRACE_ast;
        return true;
    case OUTPUT_tir:
    case OUTPUT_tir_final:
        *kind = TRACE_tir;
        return true;
    case OUTPUT_ll_before:
    case OUTPUT_ll:
        *kind = TRACE_ll;
        return true;
    case OUTPUT_ptx:
        *kind = TRACE_ptx;
        return true;
    case OUTPUT_sass:
        *kind = TRACE_sass;
        return true;
    case OUTPUT_cubin:
    case OUTPUT_meta:
    case OUTPUT_COUNT:
        break;
    }
    return false;
}

/* "22-choose-layouts" of "22-choose-layouts.tir"; of code its name for --emit. */
static const char *id_of(Arena *arena, const StageText *shown, TraceKind kind) {
    if (kind != TRACE_tir && kind != TRACE_ast)
        return output_info[shown->kind].name;
    const char *dot = strrchr(shown->file, '.');
    return str_dup(arena, (Str){shown->file, (size_t)(dot - shown->file)});
}

static TracePlaces places_of_spans(Ctx *ctx, const SpanList *lines) {
    TracePlaces at = {0};
    vec_for_each (span, lines)
        vec_push(&ctx->arena, &at, trace_place(ctx, *span));
    return at;
}

/* One of that id is replaced: code generation made it again. */
static void keep_stage(Trace *trace, TraceStage stage) {
    vec_for_each (old, &trace->stages)
        if (!strcmp(old->id, stage.id)) {
            *old = stage;
            return;
        }
    vec_push(&trace->ctx->arena, &trace->stages, stage);
}

static void see(void *user, const StageText *shown) {
    Trace *trace = user;
    Ctx *ctx = trace->ctx;
    TraceKind kind;
    if (!kind_of(shown->kind, &kind))
        return;
    const PassInfo *pass = shown->pass < PASS_COUNT ? &pass_info[shown->pass] : NULL;
    TraceStage stage = {.id = id_of(&ctx->arena, shown, kind),
                        .title = pass ? pass->name : output_info[shown->kind].name,
                        .summary = pass ? pass->summary : output_info[shown->kind].summary,
                        .kind = kind,
                        .text = shown->text};
    stage.at =
        shown->lines ? places_of_spans(ctx, shown->lines) : trace_places(ctx, kind, shown->text);
    keep_stage(trace, stage);
    if (kind == TRACE_tir)
        trace_note_asked(trace, shown->func);
    if (shown->pass == PASS_choose_layouts)
        trace_layouts(trace, stage.id, shown->notes);
    if (shown->notes)
        trace->notes = *shown->notes;
}

void trace_request(Trace *trace, Ctx *ctx, const Compiled *compiled, CompileRequest *request) {
    *trace = (Trace){.ctx = ctx, .compiled = compiled};
    request->observer = (StageObserver){see, trace};
    request->keep_func = true;
    request->isolated = false;
    request->is_strict = false;
    request->want |= OUTPUT_BIT(ptx) | OUTPUT_BIT(tir_final);
}

/* What the simulator's reader finds in the PTX; what it does not take is no matter of the report.
 */
static void read_ptx(Trace *trace) {
    Ctx *ctx = trace->ctx;
    const Str ptx = trace->compiled->outputs[OUTPUT_ptx];
    const DiagMark before = diag_mark(&ctx->diags);
    trace->module = sim_parse(ctx, source_add(&ctx->sources, STR("kernel.ptx"), ptx));
    if (!trace->module) {
        diag_rewind(&ctx->diags, before);
        return;
    }
    const uint32_t count = sim_insn_count(trace->module);
    uint32_t *live = ARENA_ARRAY(&ctx->arena, uint32_t, count + 1);
    for (size_t i = 0; i < ptx.len; i++)
        trace->live_lines += ptx.ptr[i] == '\n';
    trace->live = ARENA_ARRAY(&ctx->arena, uint32_t, trace->live_lines + 2);
    if (!sim_live_registers(trace->module, trace->compiled->facts.meta.name, live))
        return;
    for (uint32_t i = 0; i < count; i++) {
        const uint32_t line = sim_insn(trace->module, i).ptx_line;
        if (line && line <= trace->live_lines && live[i] > trace->live[line - 1])
            trace->live[line - 1] = live[i];
    }
}

static void find_occupancy(Trace *trace) {
    const KernelFacts *facts = &trace->compiled->facts;
    trace->registers = facts->resources.known ? facts->resources.registers : 0;
    if (!trace->registers && trace->module) {
        trace->registers_estimated = true;
        trace->registers = (int32_t)sim_estimate_registers(trace->module, facts->meta.name);
    }
    SimKernel kernel = {0};
    if (trace->module)
        sim_find_kernel(trace->module, facts->meta.name, &kernel);
    trace->shared = facts->meta.shared_bytes + (int32_t)kernel.static_shared;
    trace->occupancy =
        target_occupancy(facts->meta.target, trace->registers, facts->meta.threads, trace->shared);
}

void trace_finish(Trace *trace) {
    read_ptx(trace);
    find_occupancy(trace);
    const char *last = NULL;
    vec_for_each (stage, &trace->stages)
        if (stage->kind == TRACE_tir)
            last = stage->id;
    if (!last || !trace->compiled->func)
        return;
    if (!trace->layouts.len || strcmp(trace->layouts.data[0].stage, last) != 0)
        trace_layouts(trace, last, &trace->notes);
    trace_shared(trace);
    trace_loops(trace);
}
