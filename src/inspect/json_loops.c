/* Loops of a report as JSON: what schedules have of an iteration, and one as it ran. */
#include "inspect/json_parts.h"

static void put_op(Writer *w, const TraceOp *op) {
    strbuf_puts(w->out, "{\"text\": ");
    strbuf_json(w->out, op->text);
    strbuf_printf(w->out, ", \"kind\": \"%s\", \"at\": ", trace_op_kind_name[op->kind]);
    json_place(w, op->at);
    strbuf_puts(w->out, ", \"from\": ");
    json_real(w, op->from);
    strbuf_puts(w->out, ", \"to\": ");
    json_real(w, op->to);
    strbuf_printf(w->out, ", \"ahead\": %" PRId64 "}", op->ahead);
}

static void put_piece(Writer *w, const ProfilePiece *piece) {
    strbuf_printf(w->out, "{\"kind\": \"%s\", \"at\": ",
                  piece->queue ? "queue" : trace_op_kind_name[piece->kind]);
    json_place(w, piece->at);
    strbuf_printf(w->out, ", \"ptx\": [%u, %u], \"count\": %u", piece->first, piece->last,
                  piece->count);
    json_clocks(w, "from", piece->from);
    json_clocks(w, "to", piece->to);
    json_clocks(w, "until", piece->until);
    json_clocks(w, "busy", piece->busy);
    json_clocks(w, "replays", piece->replays);
    strbuf_puts(w->out, ", ");
    json_text(w, "unit", piece->queue);
    strbuf_printf(w->out, ", \"waits\": %s}", piece->waits ? "true" : "false");
}

/* What the role's warps occupy in a turn, of units that are worth a bar: its turns are a mean of
 * all warps of the program, also of those of other roles. */
static void put_units(Writer *w, const TraceRole *role, const ProfileLoop *ran) {
    const double warps = (double)w->report->trace->compiled->facts.meta.threads / TARGET_WARP_SIZE;
    const double part = role->warp_count < warps ? role->warp_count / warps : 1;
    const char *separator = "";
    for (unsigned unit = 0; unit < SIM_UNITS; unit++) {
        const double clocks = part * ran->units.clocks[unit];
        const bool shared = json_is_shared(unit);
        if (clocks < 1)
            continue;
        strbuf_printf(w->out, "%s{\"name\": \"%s\"", separator, sim_unit_name(unit));
        json_clocks(w, "clocks", clocks);
        json_clocks(w, "wavefronts", shared ? part * ran->wavefronts : 0);
        json_clocks(w, "replays", shared ? part * ran->replays : 0);
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
    json_clocks(w, "clocks", ran->turn_clocks);
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
    json_text(w, "name", role->name);
    strbuf_puts(w->out, ", ");
    json_text(w, "warps", role->warps);
    strbuf_puts(w->out, ", \"clocks\": ");
    json_real(w, role->clocks);
    strbuf_puts(w->out, ", \"units\": [");
    const char *separator = "";
    for (int unit = 0; unit < TRACE_UNITS; unit++) {
        if (role->units[unit] < 1)
            continue;
        strbuf_printf(w->out, "%s{\"name\": \"%s\"", separator, trace_unit_name[unit]);
        json_clocks(w, "clocks", role->units[unit]);
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
        json_real(w, ran->turns);
    strbuf_puts(w->out, ", \"turn_cycles\": ");
    if (ran && ran->cycles > 0)
        json_real(w, ran->cycles / ran->turns);
    else
        strbuf_puts(w->out, "null");
}

void json_loops(Writer *w) {
    const char *separator = "";
    strbuf_puts(w->out, "\"loops\": [");
    vec_for_each (loop, &w->report->trace->loops) {
        strbuf_printf(w->out, "%s\n{\"at\": ", separator);
        json_place(w, loop->at);
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
