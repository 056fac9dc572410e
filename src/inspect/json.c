/* The report as JSON; docs/inspecting.md has its form. */
#include "inspect/json_parts.h"

#include "ir/registers.h"
#include "runtime/compile/build_info.h"

/* Head */

static void put_options(Writer *w) {
    const KernelFacts *facts = &w->report->trace->compiled->facts;
    const Func *func = w->report->trace->compiled->func;
    const char *separator = "";
    strbuf_printf(w->out, "\"options\": {\"num_warps\": %d, \"num_stages\": %d, \"num_ctas\": %d, ",
                  facts->meta.num_warps, func->num_stages, facts->meta.num_ctas);
    json_text(w, "label", w->report->label);
    strbuf_puts(w->out, ", \"constexprs\": {");
    for (uint32_t i = 0; i < facts->param_count; i++) {
        const KernelParam *param = &facts->params[i];
        if (!param->is_constexpr)
            continue;
        strbuf_puts(w->out, separator);
        strbuf_json(w->out, param->name);
        strbuf_puts(w->out, ": ");
        strbuf_json(w->out, param->text);
        separator = ", ";
    }
    strbuf_puts(w->out, "}, \"signature\": [");
    separator = "";
    for (uint32_t i = 0; i < facts->param_count; i++) {
        const KernelParam *param = &facts->params[i];
        if (param->is_constexpr)
            continue;
        StrBuf text = strbuf(&w->ctx->arena);
        strbuf_add(&text, param->text.ptr, param->text.len);
        if (param->divisible > 1)
            strbuf_printf(&text, ":%" PRId64, param->divisible);
        strbuf_puts(w->out, separator);
        strbuf_json(w->out, strbuf_str(&text));
        separator = ", ";
    }
    strbuf_puts(w->out, "], \"parameters\": [");
    separator = "";
    for (uint32_t i = 0; i < facts->param_count; i++) {
        if (facts->params[i].is_constexpr)
            continue;
        strbuf_puts(w->out, separator);
        strbuf_json(w->out, facts->params[i].name);
        separator = ", ";
    }
    strbuf_puts(w->out, "]}");
}

static void put_facts(Writer *w) {
    const Trace *trace = w->report->trace;
    const KernelMeta *meta = &trace->compiled->facts.meta;
    const Resources *resources = &trace->compiled->facts.resources;
    const Occupancy *held = &trace->occupancy;
    strbuf_printf(w->out,
                  "\"facts\": {\"warps\": %d, \"stages\": %d, \"ctas\": %d, "
                  "\"programs_per_cta\": %d, \"teams\": %d, \"threads\": %d, \"persistent\": %s, ",
                  meta->num_warps, trace->compiled->func->num_stages, meta->num_ctas,
                  meta->programs_per_cta, meta->teams, meta->threads,
                  meta->is_persistent ? "true" : "false");
    strbuf_printf(w->out,
                  "\"registers\": %d, \"registers_estimated\": %s, \"spill_stores\": %d, "
                  "\"spill_loads\": %d, \"shared\": %d, ",
                  trace->registers, trace->registers_estimated ? "true" : "false",
                  resources->spill_stores, resources->spill_loads, trace->shared);
    strbuf_printf(w->out,
                  "\"ctas_per_sm\": %d, \"warps_per_sm\": %d, \"max_warps_per_sm\": %d, "
                  "\"occupancy\": %.3f, \"limited_by\": \"%s\"}",
                  held->ctas, held->warps, held->max_warps,
                  held->max_warps ? (double)held->warps / held->max_warps : 0,
                  occupancy_limit_name(held->limit));
}

static void put_sources(Writer *w) {
    strbuf_puts(w->out, "\"sources\": [");
    for (size_t i = 0; i < w->sources.len; i++) {
        const Source *source = source_get(&w->ctx->sources, w->sources.data[i]);
        strbuf_puts(w->out, i ? ", {\"path\": " : "{\"path\": ");
        strbuf_json(w->out, source->path);
        strbuf_printf(w->out, ", \"first_line\": %u, \"text\": ", source->lines_before + 1);
        strbuf_json(w->out, source->text);
        strbuf_putc(w->out, '}');
    }
    strbuf_puts(w->out, "]");
}

/* Stages */

static void put_lines(Writer *w, Str text) {
    strbuf_puts(w->out, "\"lines\": [");
    for (size_t at = 0; at < text.len;) {
        const char *end = memchr(text.ptr + at, '\n', text.len - at);
        const size_t len = end ? (size_t)(end - text.ptr) - at : text.len - at;
        strbuf_puts(w->out, at ? ", " : "");
        strbuf_json(w->out, (Str){text.ptr + at, len});
        at += len + 1;
    }
    strbuf_puts(w->out, "]");
}

static void put_stages(Writer *w) {
    const char *separator = "";
    strbuf_puts(w->out, "\"stages\": [");
    vec_for_each (stage, &w->report->trace->stages) {
        strbuf_printf(w->out, "%s\n{", separator);
        json_text(w, "id", stage->id);
        strbuf_printf(w->out, ", \"kind\": \"%s\", ", trace_kind_name[stage->kind]);
        json_text(w, "title", stage->title);
        strbuf_puts(w->out, ", ");
        json_text(w, "summary", stage->summary);
        strbuf_puts(w->out, ", ");
        put_lines(w, stage->text);
        strbuf_puts(w->out, ", \"at\": ");
        json_places(w, &stage->at);
        strbuf_putc(w->out, '}');
        separator = ",";
    }
    strbuf_puts(w->out, "]");
}

/* Remarks */

static const char *const severity_name[] = {
    [SEV_REMARK] = "remark", [SEV_WARNING] = "warning", [SEV_ERROR] = "error"};

static void put_notes(Writer *w, const Diagnostic *diagnostic) {
    StrBuf help = strbuf(&w->ctx->arena);
    for (const DiagNote *note = diagnostic->notes; note; note = note->next)
        if (note->is_hint)
            strbuf_printf(&help, "%s%s", help.len ? "; " : "", note->text);
    strbuf_puts(w->out, "\"help\": ");
    strbuf_json(w->out, strbuf_str(&help));
    strbuf_puts(w->out, ", \"notes\": [");
    const char *separator = "";
    for (const DiagNote *note = diagnostic->notes; note; note = note->next) {
        if (note->is_hint)
            continue;
        strbuf_printf(w->out, "%s{\"at\": ", separator);
        json_place(w, trace_place(w->ctx, note->span));
        strbuf_puts(w->out, ", ");
        json_text(w, "text", note->text);
        strbuf_putc(w->out, '}');
        separator = ", ";
    }
    strbuf_puts(w->out, "]");
}

static void put_remarks(Writer *w) {
    const char *separator = "";
    strbuf_puts(w->out, "\"remarks\": [");
    for (const Diagnostic *d = w->report->diags->first; d; d = d->next) {
        const Source *source = source_get(&w->ctx->sources, d->span.file);
        strbuf_printf(w->out, "%s{\"at\": ", separator);
        json_place(w, trace_place(w->ctx, d->span));
        strbuf_printf(w->out, ", \"column\": %u, \"severity\": \"%s\", \"name\": \"%s\", ",
                      source ? source_locate(source, d->span.lo).column : 0,
                      severity_name[d->severity], diag_name(d->id));
        json_text(w, "text", d->text);
        strbuf_puts(w->out, ", ");
        put_notes(w, d);
        strbuf_putc(w->out, '}');
        separator = ", ";
    }
    strbuf_puts(w->out, "]");
}

/* Layouts and shared memory */

/* The coordinates of the element with that number. */
static void put_element(Writer *w, const Type *type, uint32_t index) {
    int64_t at[MAX_RANK];
    int64_t rest = index;
    for (int d = type->rank; d-- > 0;) {
        at[d] = rest % type->shape[d];
        rest /= type->shape[d];
    }
    strbuf_putc(w->out, '[');
    for (int d = 0; d < type->rank; d++)
        strbuf_printf(w->out, "%s%" PRId64, d ? ", " : "", at[d]);
    strbuf_putc(w->out, ']');
}

static void put_bases(Writer *w, const char *name, const TraceLayout *layout, LayoutDim dim) {
    const uint32_t *bases = layout_bases(layout->layout, dim);
    strbuf_printf(w->out, ", \"%s\": [", name);
    for (int i = 0; i < layout->layout->bits[dim]; i++) {
        strbuf_puts(w->out, i ? ", " : "");
        put_element(w, layout->type, bases[i]);
    }
    strbuf_putc(w->out, ']');
}

static void put_layout(Writer *w, const TraceLayout *layout) {
    const Type *type = layout->type;
    const Type element = {.kind = type->kind, .dtype = type->dtype};
    StrBuf text = strbuf(&w->ctx->arena);
    if (type->kind == TYPE_POINTER)
        type_print(&element, &text);
    else
        strbuf_puts(&text, dtype_info[type->dtype].text);
    strbuf_putc(w->out, '{');
    json_text(w, "name", layout->name);
    strbuf_puts(w->out, ", ");
    json_text(w, "stage", layout->stage);
    strbuf_printf(w->out, ", \"memory\": \"%s\", \"shape\": [",
                  type->kind == TYPE_BUFFER ? "shared" : "registers");
    for (int d = 0; d < type->rank; d++)
        strbuf_printf(w->out, "%s%" PRId64, d ? ", " : "", type->shape[d]);
    strbuf_puts(w->out, "], \"type\": ");
    strbuf_json(w->out, strbuf_str(&text));
    strbuf_printf(w->out, ", \"element_bytes\": %d", type_element_bytes(type));
    put_bases(w, "reg", layout, LAYOUT_REG);
    put_bases(w, "lane", layout, LAYOUT_LANE);
    put_bases(w, "warp", layout, LAYOUT_WARP);
    put_bases(w, "block", layout, LAYOUT_BLOCK);
    strbuf_puts(w->out, ", \"values\": [");
    for (size_t i = 0; i < layout->values.len; i++) {
        strbuf_puts(w->out, i ? ", " : "");
        strbuf_json(w->out, str_from(layout->values.data[i]));
    }
    strbuf_puts(w->out, "], \"at\": ");
    json_places(w, &layout->at);
    strbuf_putc(w->out, '}');
}

static void put_layouts(Writer *w) {
    const char *separator = "";
    strbuf_puts(w->out, "\"layouts\": [");
    vec_for_each (layout, &w->report->trace->layouts) {
        strbuf_printf(w->out, "%s\n", separator);
        put_layout(w, layout);
        separator = ",";
    }
    strbuf_puts(w->out, "]");
}

static void put_conflicts(Writer *w, const char *name, double wavefronts) {
    strbuf_printf(w->out, "\"%s\": ", name);
    if (wavefronts > 0)
        strbuf_printf(w->out, "%.1f", wavefronts);
    else
        strbuf_puts(w->out, "null");
}

static void put_shared(Writer *w) {
    const Trace *trace = w->report->trace;
    const KernelMeta *meta = &trace->compiled->facts.meta;
    const char *separator = "";
    strbuf_printf(w->out,
                  "\"shared\": {\"bytes\": %d, \"program_bytes\": %d, \"limit\": %d, "
                  "\"steps\": %u, \"buffers\": [",
                  meta->shared_bytes, trace->compiled->func->shared_bytes,
                  meta->target->shared_per_block, trace->steps);
    vec_for_each (buffer, &trace->buffers) {
        strbuf_printf(w->out, "%s\n{", separator);
        json_text(w, "name", buffer->name);
        strbuf_puts(w->out, ", \"at\": ");
        json_place(w, buffer->at);
        strbuf_printf(w->out,
                      ", \"offset\": %" PRId64 ", \"bytes\": %" PRId64 ", \"copies\": %" PRId64
                      ", \"from\": %u, \"to\": %u, ",
                      buffer->offset, buffer->bytes, buffer->copies, buffer->from, buffer->to);
        json_text(w, "type", buffer->type);
        strbuf_puts(w->out, ", \"banks\": {");
        put_conflicts(w, "read", buffer->banks_read);
        strbuf_puts(w->out, ", ");
        put_conflicts(w, "written", buffer->banks_written);
        strbuf_puts(w->out, "}}");
        separator = ",";
    }
    strbuf_puts(w->out, "]}");
}

/* A limit that a pass had set and that was taken back, since the code spilled with it; 0: none was.
 */
static int32_t dropped_limit(const Func *func) {
    return func->all_registers ? func->max_registers : 0;
}

static void put_registers(Writer *w) {
    const Trace *trace = w->report->trace;
    const Func *func = trace->compiled->func;
    const int32_t warps =
        (trace->compiled->facts.meta.threads + TARGET_WARP_SIZE - 1) / TARGET_WARP_SIZE;
    const int32_t set = func_register_limit(func), room = target_registers_for(warps);
    strbuf_printf(w->out,
                  "\"registers\": {\"limit\": %d, \"limit_by\": \"%s\", \"dropped\": %d, "
                  "\"taken\": %d, \"lines\": [",
                  set ? set : room,
                  set                           ? "the compiler"
                  : room < TARGET_MAX_REGISTERS ? "the threads of a CTA"
                                                : "the machine",
                  dropped_limit(func), trace->registers);
    for (uint32_t i = 0; i < trace->live_lines; i++)
        strbuf_printf(w->out, "%s%u", i ? ", " : "", trace->live[i]);
    strbuf_puts(w->out, "]}");
}

/* Pictures and findings */

static void put_pictures(Writer *w) {
    strbuf_puts(w->out, "\"pictures\": [");
    for (size_t i = 0; i < w->report->picture_count; i++) {
        strbuf_puts(w->out, i ? ",\n{\"title\": " : "\n{\"title\": ");
        strbuf_json(w->out, str_from(w->report->pictures[i].title));
        strbuf_puts(w->out, ", \"svg\": ");
        strbuf_json(w->out, w->report->pictures[i].svg);
        strbuf_putc(w->out, '}');
    }
    strbuf_puts(w->out, "]");
}

/* Its share of a warp's clocks, and what the launch gains without it at most and takes then; null:
 * not known. */
static void put_gain(Writer *w, const Finding *finding) {
    const Profile *profile = w->report->profile;
    if (profile && profile->cycles > 0 && finding->cycles > 0)
        strbuf_printf(w->out, ", \"share\": %.4f", finding->cycles / profile->cycles);
    else
        strbuf_puts(w->out, ", \"share\": null");
    if (!finding->left) {
        strbuf_puts(w->out, ", \"gain_us\": null, \"after_us\": null, \"left\": null, ");
        return;
    }
    strbuf_printf(w->out, ", \"gain_us\": %.2f, \"after_us\": ", finding->gain);
    if (finding->has_after)
        strbuf_printf(w->out, "%.2f", finding->after);
    else
        strbuf_puts(w->out, "null");
    strbuf_puts(w->out, ", \"left\": {");
    json_time(w, finding->left);
    strbuf_puts(w->out, "}, ");
}

static void put_findings(Writer *w) {
    const char *separator = "";
    strbuf_puts(w->out, "\"findings\": [");
    vec_for_each (finding, &w->report->findings) {
        strbuf_printf(w->out, "%s\n{\"at\": ", separator);
        json_place(w, finding->at);
        strbuf_printf(w->out, ", \"kind\": \"%s\", \"ptx_line\": %u, \"cycles\": ", finding->kind,
                      finding->ptx_line);
        json_real(w, finding->cycles);
        put_gain(w, finding);
        strbuf_printf(w->out, "\"follows\": %u, ", finding->follows);
        json_text(w, "title", finding->title);
        strbuf_puts(w->out, ", ");
        json_text(w, "figures", finding->figures);
        strbuf_puts(w->out, ", ");
        json_text(w, "why", finding->why);
        strbuf_puts(w->out, ", ");
        json_text(w, "try", finding->remedy);
        strbuf_putc(w->out, '}');
        separator = ",";
    }
    strbuf_puts(w->out, "]");
}

static void put_report(const Report *report, StrBuf *out) {
    static void (*const parts[])(Writer *) = {
        put_options,   put_facts,  put_stages,   put_remarks,  put_layouts,  put_shared,
        put_registers, json_loops, json_profile, put_pictures, put_findings, put_sources};
    const Trace *trace = report->trace;
    Writer w = {.report = report, .ctx = trace->ctx, .out = out};
    json_source(&w, trace->compiled->file);
    strbuf_puts(out, "{\"version\": 1, \"kernel\": ");
    strbuf_json(out, trace->compiled->facts.meta.name);
    strbuf_printf(out, ", \"target\": \"%s\", \"tilec\": \"%s\"",
                  trace->compiled->facts.meta.target->name, build_version);
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        strbuf_puts(out, ",\n");
        parts[i](&w);
    }
    strbuf_putc(out, '}');
}

void report_json(const Report *reports, uint32_t count, StrBuf *out) {
    strbuf_puts(out, count > 1 ? "[" : "");
    for (uint32_t i = 0; i < count; i++) {
        strbuf_puts(out, i ? ",\n" : "");
        put_report(&reports[i], out);
    }
    strbuf_puts(out, count > 1 ? "]\n" : "\n");
}
