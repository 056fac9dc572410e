/* The report as JSON; docs/inspecting.md has its form. */
#include "inspect/report.h"

#include "ir/registers.h"
#include "runtime/compile/build_info.h"

typedef struct Writer {
    const Report *report;
    Ctx *ctx;
    StrBuf *out;
    VEC(uint32_t) sources; /* files of the context, in the order of their first mention */
    VEC(uint32_t) numbers; /* by file: its place in `sources`, + 1 */
} Writer;

/* Parts */

/* One file that was read more than once. */
static bool is_same_source(const Writer *w, uint32_t a, uint32_t b) {
    const Source *x = source_get(&w->ctx->sources, a), *y = source_get(&w->ctx->sources, b);
    return x->lines_before == y->lines_before && str_eq(x->path, y->path) &&
           str_eq(x->text, y->text);
}

/* The number that the report gives a source. */
static uint32_t source_number(Writer *w, uint32_t file) {
    while (w->numbers.len <= file)
        vec_push(&w->ctx->arena, &w->numbers, 0);
    for (size_t i = 0; i < w->sources.len && !w->numbers.data[file]; i++)
        if (is_same_source(w, w->sources.data[i], file))
            w->numbers.data[file] = (uint32_t)i + 1;
    if (!w->numbers.data[file]) {
        vec_push(&w->ctx->arena, &w->sources, file);
        w->numbers.data[file] = (uint32_t)w->sources.len;
    }
    return w->numbers.data[file] - 1;
}

static void put_place(Writer *w, TracePlace at) {
    if (at.file && at.line)
        strbuf_printf(w->out, "[%u, %u]", source_number(w, at.file), at.line);
    else
        strbuf_putc(w->out, '0');
}

static void put_places(Writer *w, const TracePlaces *places) {
    strbuf_putc(w->out, '[');
    for (size_t i = 0; i < places->len; i++) {
        strbuf_puts(w->out, i ? ", " : "");
        put_place(w, places->data[i]);
    }
    strbuf_putc(w->out, ']');
}

static void put_text(Writer *w, const char *name, const char *text) {
    strbuf_printf(w->out, "\"%s\": ", name);
    strbuf_json(w->out, str_from(text ? text : ""));
}

/* A number of clocks and the like, which no reader wants to the last digit. */
static void put_real(Writer *w, double value) {
    if (value < 0.05 && value > -0.05)
        strbuf_putc(w->out, '0');
    else
        strbuf_printf(w->out, "%.1f", value);
}

/* Head */

static void put_options(Writer *w) {
    const KernelFacts *facts = &w->report->trace->compiled->facts;
    const Func *func = w->report->trace->compiled->func;
    const char *separator = "";
    strbuf_printf(w->out, "\"options\": {\"num_warps\": %d, \"num_stages\": %d, \"num_ctas\": %d, ",
                  facts->meta.num_warps, func->num_stages, facts->meta.num_ctas);
    put_text(w, "label", w->report->label);
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
        put_text(w, "id", stage->id);
        strbuf_printf(w->out, ", \"kind\": \"%s\", ", trace_kind_name[stage->kind]);
        put_text(w, "title", stage->title);
        strbuf_puts(w->out, ", ");
        put_text(w, "summary", stage->summary);
        strbuf_puts(w->out, ", ");
        put_lines(w, stage->text);
        strbuf_puts(w->out, ", \"at\": ");
        put_places(w, &stage->at);
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
        put_place(w, trace_place(w->ctx, note->span));
        strbuf_puts(w->out, ", ");
        put_text(w, "text", note->text);
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
        put_place(w, trace_place(w->ctx, d->span));
        strbuf_printf(w->out, ", \"column\": %u, \"severity\": \"%s\", \"name\": \"%s\", ",
                      source ? source_locate(source, d->span.lo).column : 0,
                      severity_name[d->severity], diag_name(d->id));
        put_text(w, "text", d->text);
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
    put_text(w, "name", layout->name);
    strbuf_puts(w->out, ", ");
    put_text(w, "stage", layout->stage);
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
    put_places(w, &layout->at);
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
        put_text(w, "name", buffer->name);
        strbuf_puts(w->out, ", \"at\": ");
        put_place(w, buffer->at);
        strbuf_printf(w->out,
                      ", \"offset\": %" PRId64 ", \"bytes\": %" PRId64 ", \"copies\": %" PRId64
                      ", \"from\": %u, \"to\": %u, ",
                      buffer->offset, buffer->bytes, buffer->copies, buffer->from, buffer->to);
        put_text(w, "type", buffer->type);
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

/* Loops */

static void put_op(Writer *w, const TraceOp *op) {
    strbuf_puts(w->out, "{\"text\": ");
    strbuf_json(w->out, op->text);
    strbuf_printf(w->out, ", \"kind\": \"%s\", \"at\": ", trace_op_kind_name[op->kind]);
    put_place(w, op->at);
    strbuf_puts(w->out, ", \"from\": ");
    put_real(w, op->from);
    strbuf_puts(w->out, ", \"to\": ");
    put_real(w, op->to);
    strbuf_printf(w->out, ", \"ahead\": %" PRId64 "}", op->ahead);
}

static void put_clocks(Writer *w, const char *name, double clocks) {
    strbuf_printf(w->out, ", \"%s\": ", name);
    put_real(w, clocks);
}

static void put_piece(Writer *w, const ProfilePiece *piece) {
    strbuf_printf(w->out, "{\"kind\": \"%s\", \"at\": ",
                  piece->queue ? "queue" : trace_op_kind_name[piece->kind]);
    put_place(w, piece->at);
    strbuf_printf(w->out, ", \"ptx\": [%u, %u], \"count\": %u", piece->first, piece->last,
                  piece->count);
    put_clocks(w, "from", piece->from);
    put_clocks(w, "to", piece->to);
    put_clocks(w, "until", piece->until);
    put_clocks(w, "busy", piece->busy);
    put_clocks(w, "replays", piece->replays);
    strbuf_puts(w->out, ", ");
    put_text(w, "unit", piece->queue);
    strbuf_printf(w->out, ", \"waits\": %s}", piece->waits ? "true" : "false");
}

/* The unit that wavefronts take clocks of, and lines of L1. */
static bool is_shared(unsigned unit) {
    return !strcmp(sim_unit_name(unit), trace_unit_name[TRACE_SHARED]);
}

/* What the role's warps occupy in a turn, of units that are worth a bar: its turns are a mean of
 * all warps of the program, also of those of other roles. */
static void put_units(Writer *w, const TraceRole *role, const ProfileLoop *ran) {
    const double warps = (double)w->report->trace->compiled->facts.meta.threads / TARGET_WARP_SIZE;
    const double part = role->warp_count < warps ? role->warp_count / warps : 1;
    const char *separator = "";
    for (unsigned unit = 0; unit < SIM_UNITS; unit++) {
        const double clocks = part * ran->units.clocks[unit];
        const bool shared = is_shared(unit);
        if (clocks < 1)
            continue;
        strbuf_printf(w->out, "%s{\"name\": \"%s\"", separator, sim_unit_name(unit));
        put_clocks(w, "clocks", clocks);
        put_clocks(w, "wavefronts", shared ? part * ran->wavefronts : 0);
        put_clocks(w, "replays", shared ? part * ran->replays : 0);
        strbuf_putc(w->out, '}');
        separator = ", ";
    }
}

/* A turn as it ran; null: nothing was run, or it has a loop within. */
static void put_run(Writer *w, const TraceRole *role) {
    const Profile *profile = w->report->profile;
    const ProfileLoop *ran = profile ? profile_loop(profile, w->ctx, role->loop) : NULL;
    if (!ran || !ran->turn) {
        strbuf_puts(w->out, "null");
        return;
    }
    strbuf_printf(w->out,
                  "{\"program\": %u, \"warp\": %u, \"turn\": %" PRIu64 ", \"turns\": %" PRIu64,
                  ran->turn->program, ran->turn->warp, ran->turn->number, ran->turn->of);
    put_clocks(w, "clocks", ran->turn_clocks);
    strbuf_puts(w->out, ", \"units\": [");
    put_units(w, role, ran);
    strbuf_puts(w->out, "], \"pieces\": [");
    for (size_t i = 0; i < ran->pieces.len; i++) {
        strbuf_puts(w->out, i ? ",\n" : "\n");
        put_piece(w, &ran->pieces.data[i]);
    }
    strbuf_puts(w->out, "]}");
}

static void put_role(Writer *w, const TraceRole *role) {
    strbuf_putc(w->out, '{');
    put_text(w, "name", role->name);
    strbuf_puts(w->out, ", ");
    put_text(w, "warps", role->warps);
    strbuf_puts(w->out, ", \"clocks\": ");
    put_real(w, role->clocks);
    strbuf_puts(w->out, ", \"units\": [");
    const char *separator = "";
    for (int unit = 0; unit < TRACE_UNITS; unit++) {
        if (role->units[unit] < 1)
            continue;
        strbuf_printf(w->out, "%s{\"name\": \"%s\"", separator, trace_unit_name[unit]);
        put_clocks(w, "clocks", role->units[unit]);
        strbuf_puts(w->out, ", \"wavefronts\": 0, \"replays\": 0}");
        separator = ", ";
    }
    strbuf_puts(w->out, "], \"ops\": [");
    for (size_t i = 0; i < role->ops.len; i++) {
        strbuf_puts(w->out, i ? ",\n" : "\n");
        put_op(w, &role->ops.data[i]);
    }
    strbuf_puts(w->out, "], \"run\": ");
    put_run(w, role);
    strbuf_putc(w->out, '}');
}

/* What the launch says of it. */
static void put_turns(Writer *w, const TraceLoop *loop) {
    const Profile *profile = w->report->profile;
    const ProfileLoop *ran = profile ? profile_loop(profile, w->ctx, loop->loop) : NULL;
    strbuf_puts(w->out, ", \"turns\": ");
    if (!ran || loop->roles.len > 1) /* warps of which some go around another one */
        strbuf_puts(w->out, "null");
    else
        put_real(w, ran->turns);
    strbuf_puts(w->out, ", \"turn_cycles\": ");
    if (ran && ran->cycles > 0)
        put_real(w, ran->cycles / ran->turns);
    else
        strbuf_puts(w->out, "null");
}

static void put_loops(Writer *w) {
    const char *separator = "";
    strbuf_puts(w->out, "\"loops\": [");
    vec_for_each (loop, &w->report->trace->loops) {
        strbuf_printf(w->out, "%s\n{\"at\": ", separator);
        put_place(w, loop->at);
        strbuf_printf(w->out, ", \"stages\": %" PRId64 ", \"asked\": %" PRId64 ", ", loop->stages,
                      loop->asked);
        strbuf_printf(w->out, "\"once\": %s, \"asked_by\": ", loop->once ? "true" : "false");
        if (loop->asked_by.len)
            strbuf_json(w->out, loop->asked_by);
        else
            strbuf_puts(w->out, loop->asks ? "\"tl.range\"" : "\"num_stages\"");
        strbuf_puts(w->out, ", \"trips\": ");
        if (loop->trips)
            strbuf_printf(w->out, "%" PRId64, loop->trips);
        else
            strbuf_puts(w->out, "null");
        put_turns(w, loop);
        strbuf_puts(w->out, ", \"roles\": [");
        for (size_t i = 0; i < loop->roles.len; i++) {
            strbuf_puts(w->out, i ? ", " : "");
            put_role(w, &loop->roles.data[i]);
        }
        strbuf_puts(w->out, "]}");
        separator = ",";
    }
    strbuf_puts(w->out, "]");
}

/* Profile */

static void put_count(Writer *w, const ProfileLine *line) {
    const SimCount *count = &line->count;
    strbuf_printf(w->out,
                  "\"warps\": %" PRIu64 ", \"threads\": %" PRIu64 ", \"divergent\": %" PRIu64
                  ", \"sectors\": %" PRIu64 ", \"ideal_sectors\": %" PRIu64
                  ", \"wavefronts\": %" PRIu64 ", \"ideal_wavefronts\": %" PRIu64
                  ", \"words\": %" PRIu64 ", \"first_words\": %" PRIu64 ", \"own_words\": %" PRIu64,
                  count->warps, count->threads, count->divergent, count->sectors,
                  count->ideal_sectors, count->wavefronts, count->ideal_wavefronts, count->words,
                  count->first_words, count->own_words);
    strbuf_puts(w->out, ", \"wait_cycles\": ");
    put_real(w, line->spent.waits);
    strbuf_puts(w->out, ", \"cycles\": ");
    put_real(w, line->spent.cycles);
    strbuf_puts(w->out, ", \"awaited_cycles\": ");
    put_real(w, line->spent.awaited);
    strbuf_puts(w->out, ", \"held_cycles\": ");
    put_real(w, line->spent.held);
    strbuf_puts(w->out, ", \"queued_cycles\": ");
    put_real(w, line->spent.queued);
    strbuf_puts(w->out, ", \"shared_clocks\": ");
    for (unsigned unit = 0; unit < SIM_UNITS; unit++)
        if (is_shared(unit))
            put_real(w, line->units.clocks[unit]);
}

static void put_traffic(Writer *w, const char *name, const SimTraffic *traffic) {
    strbuf_printf(w->out,
                  "\"%s\": {\"moved\": %" PRIu64 ", \"used\": %" PRIu64 ", \"distinct\": %" PRIu64
                  "}",
                  name, traffic->moved, traffic->used, traffic->distinct);
}

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

/* What each unit alone would take, where that is written as more than 0. */
static void put_unit_times(Writer *w, const SimTime *time) {
    const char *separator = "";
    strbuf_puts(w->out, ", \"units\": {");
    for (unsigned unit = 0; unit < SIM_UNITS; unit++) {
        if (time->units_us[unit] < 0.005)
            continue;
        strbuf_printf(w->out, "%s\"%s\": %.2f", separator, sim_unit_name(unit),
                      time->units_us[unit]);
        separator = ", ";
    }
    strbuf_putc(w->out, '}');
}

/* A time, its least times, and the parts that it is the sum of, as they are written. */
static void put_time(Writer *w, const SimTime *time) {
    const SimParts *parts = &time->parts;
    const char *name;
    const double longest = report_hundredths(sim_longest(time, &name)),
                 all = report_hundredths(time->us);
    const double launch = report_hundredths(parts->launch),
                 uneven = report_hundredths(parts->uneven);
    const double code = report_hundredths(parts->code);
    const double beside = all - launch - longest - uneven - code;
    strbuf_printf(w->out,
                  "\"microseconds\": %.2f, \"bounds\": {\"latency\": %.2f, \"unit\": %.2f, "
                  "\"l2\": %.2f, \"dram\": %.2f}, \"unit\": ",
                  all, time->latency_us, time->unit_us, time->l2_us, time->dram_us);
    strbuf_json(w->out, str_from(time->unit ? time->unit : ""));
    put_unit_times(w, time);
    strbuf_printf(w->out,
                  ", \"parts\": {\"launch\": %.2f, \"longest\": %.2f, \"beside\": %.2f, "
                  "\"uneven\": %.2f, \"code\": %.2f, \"name\": \"%s\"}",
                  launch, longest, beside > 0 ? beside : 0, uneven, code, name);
}

static void put_launch(Writer *w, const Profile *profile) {
    const SimTime *time = &profile->time;
    strbuf_printf(w->out, "{\"launch\": {\"grid\": [%u, %u, %u], \"arguments\": [",
                  profile->grid[0], profile->grid[1], profile->grid[2]);
    for (size_t i = 0; i < w->report->argument_count; i++) {
        strbuf_puts(w->out, i ? ", " : "");
        strbuf_json(w->out, str_from(w->report->arguments[i]));
    }
    strbuf_puts(w->out, "], ");
    if (profile->has_time) {
        strbuf_printf(w->out,
                      "\"cycles\": %.0f, \"alone_cycles\": %.0f, \"warp_cycles\": %.0f, "
                      "\"rounds\": %.0f, \"sms\": %d, \"ctas_at_once\": %.0f, \"device\": \"%s\", ",
                      time->program_clocks, time->cta_clocks, profile->cycles, time->rounds,
                      time->sms, time->at_once, time->device ? time->device : "");
        put_text(w, "crowded_by", time->crowded);
        strbuf_puts(w->out, ", ");
        put_time(w, time);
    } else {
        strbuf_puts(w->out, "\"cycles\": 0, \"alone_cycles\": 0, \"warp_cycles\": 0, "
                            "\"rounds\": 0, \"sms\": 0, \"ctas_at_once\": 0, \"device\": \"\", "
                            "\"crowded_by\": \"\", \"microseconds\": 0, \"bounds\": null, "
                            "\"unit\": \"\", \"units\": {}, \"parts\": null");
    }
    strbuf_putc(w->out, '}');
}

/* Of each line of the PTX the access that takes most passes: addresses of the lanes that take part,
 * in their order. */
static void put_shared_accesses(Writer *w, const Profile *profile) {
    const char *separator = "\n";
    vec_for_each (line, &profile->ptx) {
        const SimSharedAccess *access = line->shared;
        if (!access)
            continue;
        strbuf_printf(w->out,
                      "%s{\"line\": %u, \"reads\": %s, \"size\": %u, \"program\": %u, "
                      "\"warp\": %u, \"wavefronts\": %u, \"ideal_wavefronts\": %u, "
                      "\"mask\": %u, \"addresses\": [",
                      separator, line->ptx_line, access->reads ? "true" : "false", access->size,
                      access->program, access->warp, access->wavefronts, access->ideal_wavefronts,
                      access->mask);
        separator = ",\n";
        for (uint32_t left = access->mask; left; left &= left - 1)
            strbuf_printf(w->out, left == access->mask ? "%u" : ", %u",
                          access->addresses[__builtin_ctz(left)]);
        strbuf_puts(w->out, "]}");
    }
}

static void put_waits(Writer *w, const Profile *profile) {
    strbuf_puts(w->out, "\"waits\": [");
    for (size_t i = 0; i < profile->waits.len; i++) {
        const ProfileWait *wait = &profile->waits.data[i];
        strbuf_printf(w->out, "%s{\"line\": %u, \"for\": %u", i ? ",\n" : "\n", wait->line,
                      wait->maker);
        put_clocks(w, "cycles", wait->cycles);
        strbuf_putc(w->out, '}');
    }
    strbuf_puts(w->out, "]");
}

static void put_profile(Writer *w) {
    const Profile *profile = w->report->profile;
    strbuf_puts(w->out, "\"profile\": ");
    if (!profile) {
        strbuf_puts(w->out, "null");
        return;
    }
    put_launch(w, profile);
    strbuf_puts(w->out, ",\n\"classes\": [");
    for (size_t i = 0; i < profile->classes.len; i++) {
        const ProfileClass *class = &profile->classes.data[i];
        strbuf_printf(w->out,
                      "%s{\"name\": \"%s\", \"warps\": %" PRIu64 ", \"cycles\": ", i ? ", " : "",
                      class->name, class->warps);
        put_real(w, class->cycles);
        strbuf_putc(w->out, '}');
    }
    strbuf_puts(w->out, "],\n\"traffic\": {");
    put_traffic(w, "read", &profile->read);
    strbuf_puts(w->out, ", ");
    put_traffic(w, "written", &profile->written);
    strbuf_puts(w->out, "},\n\"lines\": [");
    for (size_t i = 0; i < profile->lines.len; i++) {
        strbuf_puts(w->out, i ? ",\n{\"at\": " : "\n{\"at\": ");
        put_place(w, profile->lines.data[i].at);
        strbuf_puts(w->out, ", ");
        put_count(w, &profile->lines.data[i]);
        strbuf_putc(w->out, '}');
    }
    strbuf_puts(w->out, "],\n\"ptx\": [");
    for (size_t i = 0; i < profile->ptx.len; i++) {
        strbuf_printf(w->out, "%s{\"line\": %u, ", i ? ",\n" : "\n", profile->ptx.data[i].ptx_line);
        put_count(w, &profile->ptx.data[i]);
        strbuf_putc(w->out, '}');
    }
    strbuf_puts(w->out, "],\n\"shared\": [");
    put_shared_accesses(w, profile);
    strbuf_puts(w->out, "],\n");
    put_waits(w, profile);
    strbuf_puts(w->out, "}");
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
    put_time(w, finding->left);
    strbuf_puts(w->out, "}, ");
}

static void put_findings(Writer *w) {
    const char *separator = "";
    strbuf_puts(w->out, "\"findings\": [");
    vec_for_each (finding, &w->report->findings) {
        strbuf_printf(w->out, "%s\n{\"at\": ", separator);
        put_place(w, finding->at);
        strbuf_printf(w->out, ", \"kind\": \"%s\", \"ptx_line\": %u, \"cycles\": ", finding->kind,
                      finding->ptx_line);
        put_real(w, finding->cycles);
        put_gain(w, finding);
        strbuf_printf(w->out, "\"follows\": %u, ", finding->follows);
        put_text(w, "title", finding->title);
        strbuf_puts(w->out, ", ");
        put_text(w, "figures", finding->figures);
        strbuf_puts(w->out, ", ");
        put_text(w, "why", finding->why);
        strbuf_puts(w->out, ", ");
        put_text(w, "try", finding->remedy);
        strbuf_putc(w->out, '}');
        separator = ",";
    }
    strbuf_puts(w->out, "]");
}

static void put_report(const Report *report, StrBuf *out) {
    static void (*const parts[])(Writer *) = {
        put_options,   put_facts, put_stages,  put_remarks,  put_layouts,  put_shared,
        put_registers, put_loops, put_profile, put_pictures, put_findings, put_sources};
    const Trace *trace = report->trace;
    Writer w = {.report = report, .ctx = trace->ctx, .out = out};
    source_number(&w, trace->compiled->file);
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
