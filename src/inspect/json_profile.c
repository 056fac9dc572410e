/* What the clock and the counters say of a launch, in the report as JSON. */
#include "inspect/json_parts.h"

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
    json_real(w, line->spent.waits);
    strbuf_puts(w->out, ", \"cycles\": ");
    json_real(w, line->spent.cycles);
    strbuf_puts(w->out, ", \"awaited_cycles\": ");
    json_real(w, line->spent.awaited);
    strbuf_puts(w->out, ", \"held_cycles\": ");
    json_real(w, line->spent.held);
    strbuf_puts(w->out, ", \"queued_cycles\": ");
    json_real(w, line->spent.queued);
    strbuf_puts(w->out, ", \"shared_clocks\": ");
    for (unsigned unit = 0; unit < SIM_UNITS; unit++)
        if (json_is_shared(unit))
            json_real(w, line->units.clocks[unit]);
}

static void put_traffic(Writer *w, const char *name, const SimTraffic *traffic) {
    strbuf_printf(w->out,
                  "\"%s\": {\"moved\": %" PRIu64 ", \"used\": %" PRIu64 ", \"distinct\": %" PRIu64
                  "}",
                  name, traffic->moved, traffic->used, traffic->distinct);
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
void json_time(Writer *w, const SimTime *time) {
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
        json_text(w, "crowded_by", time->crowded);
        strbuf_puts(w->out, ", ");
        json_time(w, time);
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
        json_clocks(w, "cycles", wait->cycles);
        strbuf_putc(w->out, '}');
    }
    strbuf_puts(w->out, "]");
}

void json_profile(Writer *w) {
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
        json_real(w, class->cycles);
        strbuf_putc(w->out, '}');
    }
    strbuf_puts(w->out, "],\n\"traffic\": {");
    put_traffic(w, "read", &profile->read);
    strbuf_puts(w->out, ", ");
    put_traffic(w, "written", &profile->written);
    strbuf_puts(w->out, "},\n\"lines\": [");
    for (size_t i = 0; i < profile->lines.len; i++) {
        strbuf_puts(w->out, i ? ",\n{\"at\": " : "\n{\"at\": ");
        json_place(w, profile->lines.data[i].at);
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
