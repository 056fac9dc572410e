/* What a launch counted, as a table: sums for the kernel, then the lines of the source with what
 * their instructions cost. At most 120 columns wide. */
#include "sim/report/report.h"

enum { WIDTH = 118, TEXT_WIDTH = 46, TAB = 4 };

/* At most seven characters: exact below ten millions. */
static const char *short_count(Arena *arena, uint64_t count) {
    static const char suffixes[] = "kMGTPE";
    if (count < 10000000)
        return str_format(arena, "%" PRIu64, count);
    double value = (double)count;
    int suffix = -1;
    while (value >= 9999.5) {
        value /= 1000;
        suffix++;
    }
    return str_format(arena, "%.*f%c", value < 99.95 ? 2 : 1, value, suffixes[suffix]);
}

static double percent(uint64_t part, uint64_t whole) {
    return whole ? 100.0 * (double)part / (double)whole : 0;
}

/* The kernel as a whole. */

static void print_label(StrBuf *out, const char *label) {
    strbuf_printf(out, "  %-16s", label);
}

/* Adds an item to a list that is broken before `WIDTH`. */
static void print_item(StrBuf *out, size_t *line_start, bool first, const char *item) {
    if (out->len - *line_start + strlen(item) + 2 > WIDTH) {
        strbuf_putc(out, '\n');
        *line_start = out->len;
        print_label(out, "");
    } else if (!first) {
        strbuf_puts(out, "  ");
    }
    strbuf_puts(out, item);
}

/* Classes from the most frequent to the least. */
static void print_classes(const Totals *totals, StrBuf *out) {
    size_t line_start = out->len;
    bool done[CLASS_COUNT] = {false}, first = true;
    print_label(out, "by class");
    for (;;) {
        int most = -1;
        for (int class = 0; class < CLASS_COUNT; class ++)
            if (!done[class] && totals->classes[class] &&
                (most < 0 || totals->classes[class] > totals->classes[most]))
                most = class;
        if (most < 0)
            break;
        done[most] = true;
        print_item(out, &line_start, first,
                   str_format(out->arena, "%s %s (%.1f%%)", sim_class_name[most],
                              short_count(out->arena, totals->classes[most]),
                              percent(totals->classes[most], totals->sum.threads)));
        first = false;
    }
    strbuf_putc(out, '\n');
}

static void print_traffic(StrBuf *out, const char *label, const Traffic *traffic) {
    if (!traffic->moved && !traffic->distinct)
        return;
    print_label(out, label);
    strbuf_printf(out,
                  "%" PRIu64 " bytes moved, %" PRIu64 " used by requests, %" PRIu64 " distinct",
                  traffic->moved, traffic->used, traffic->distinct);
    if (traffic->distinct)
        strbuf_printf(out, ": each moved %.2f times",
                      (double)traffic->moved / (double)traffic->distinct);
    strbuf_putc(out, '\n');
}

static void print_tensor(const SimCounts *counts, StrBuf *out) {
    bool first = true;
    for (int type = 0; type < TYPE_COUNT; type++) {
        if (!counts->multiply_adds[type])
            continue;
        if (first)
            print_label(out, "tensor cores");
        strbuf_printf(out, "%s%" PRIu64 " multiply-adds of %s", first ? "" : ", ",
                      counts->multiply_adds[type], type_info[type].name);
        first = false;
    }
    if (!first)
        strbuf_putc(out, '\n');
}

static void print_resources(const SimModule *module, const SimCounts *counts, const Totals *totals,
                            StrBuf *out) {
    print_label(out, "shared memory");
    strbuf_printf(out, "%" PRIu64 " bytes a CTA (%" PRIu64 " static, %" PRIu64 " dynamic)",
                  counts->static_shared + counts->dynamic_shared, counts->static_shared,
                  counts->dynamic_shared);
    if (totals->sum.wavefronts)
        strbuf_printf(out, "; %" PRIu64 " wavefronts, %" PRIu64 " without bank conflicts",
                      totals->sum.wavefronts, totals->sum.ideal_wavefronts);
    strbuf_putc(out, '\n');
    print_label(out, "registers");
    if (totals->registers_estimated)
        strbuf_printf(out, "about %u a thread: an estimate from the PTX; ptxas has the number\n",
                      totals->registers);
    else
        strbuf_printf(out, "%u a thread, says ptxas\n", totals->registers);
    print_label(out, "occupancy");
    if (totals->target)
        strbuf_printf(out, "%d CTAs an SM, %d of %d warps; what limits it: %s\n",
                      totals->occupancy.ctas, totals->occupancy.warps, totals->occupancy.max_warps,
                      occupancy_limit_name(totals->occupancy.limit));
    else
        strbuf_printf(out, "the limits of sm_%u are not known\n", module->sm);
}

static void print_kernel(const SimModule *module, const SimCounts *counts, const Totals *totals,
                         StrBuf *out) {
    const InsnCounts *sum = &totals->sum;
    strbuf_printf(out, "kernel %s for %s: %u CTA%s of %u threads\n", counts->kernel,
                  totals->target ? totals->target->name
                                 : str_format(out->arena, "sm_%u", module->sm),
                  counts->programs, counts->programs == 1 ? "" : "s", counts->threads);
    print_label(out, "instructions");
    strbuf_printf(
        out, "%" PRIu64 " of threads, %" PRIu64 " of warps: %.1f of 32 threads a warp active\n",
        sum->threads, sum->warps, sum->warps ? (double)sum->threads / (double)sum->warps : 0);
    print_classes(totals, out);
    print_tensor(counts, out);
    print_label(out, "divergence");
    strbuf_printf(out,
                  "%" PRIu64 " branches parted a warp; %.1f%% of instructions were executed by "
                  "a part of one\n",
                  counts->divergent_branches, percent(sum->divergent, sum->warps));
    print_label(out, "barriers");
    strbuf_printf(out, "%" PRIu64 " times a warp waited at one\n", counts->barrier_waits);
    print_traffic(out, "global read", &totals->read);
    print_traffic(out, "global written", &totals->written);
    print_resources(module, counts, totals, out);
}

/* Lines. */

/* The text of a line in TEXT_WIDTH columns: tabs as spaces, what is longer cut at a character. */
static void print_text(Str text, StrBuf *out) {
    unsigned columns = 0;
    for (size_t i = 0; i < text.len && columns < TEXT_WIDTH;) {
        unsigned char byte = (unsigned char)text.ptr[i];
        size_t length = byte < 0x80 ? 1 : byte < 0xc0 ? 0 : byte < 0xe0 ? 2 : byte < 0xf0 ? 3 : 4;
        if (byte == '\t') {
            unsigned to = columns / TAB * TAB + TAB;
            for (; columns < to && columns < TEXT_WIDTH; columns++)
                strbuf_putc(out, ' ');
            i++;
            continue;
        }
        bool plain = byte >= ' ' && byte != 0x7f && length && length <= text.len - i;
        strbuf_add(out, plain ? text.ptr + i : "?", plain ? length : 1);
        i += plain ? length : 1;
        columns++;
    }
    for (; columns < TEXT_WIDTH; columns++)
        strbuf_putc(out, ' ');
}

static void print_pair(StrBuf *out, unsigned width, uint64_t have, uint64_t want) {
    const char *text = "";
    if (have)
        text = str_format(out->arena, "%s/%s", short_count(out->arena, have),
                          short_count(out->arena, want));
    strbuf_printf(out, "  %*s", width, text);
}

static void print_line(const LineCounts *line, uint64_t all, StrBuf *out) {
    const InsnCounts *sum = &line->sum;
    const char *diverged = "", *requests = "";
    if (sum->divergent)
        diverged = str_format(out->arena, "%.1f%%", percent(sum->divergent, sum->warps));
    if (sum->requests)
        requests = short_count(out->arena, sum->requests);
    if (line->line)
        strbuf_printf(out, "%5u  ", line->line);
    else
        strbuf_puts(out, "       ");
    print_text(line->line ? line->text : STR("(of no line)"), out);
    strbuf_printf(out, "  %5.1f%%  %8s  %8s", percent(sum->threads, all), diverged, requests);
    print_pair(out, 15, sum->sectors, sum->ideal_sectors);
    print_pair(out, 18, sum->wavefronts, sum->ideal_wavefronts);
    while (out->len && out->ptr[out->len - 1] == ' ')
        out->len--;
    strbuf_putc(out, '\n');
}

/* Lines of PTX are many: only those that cost something are shown. */
static bool is_shown(const SimModule *module, const LineCounts *line, uint64_t all) {
    return line->file != module->file || line->sum.requests || line->sum.wavefronts ||
           line->sum.divergent || percent(line->sum.threads, all) >= 1;
}

static void print_lines(const SimModule *module, const ReportLines *lines, uint64_t all,
                        StrBuf *out) {
    Str path = {"", 0};
    size_t hidden = 0;
    strbuf_printf(out, "\n%5s  %-*s  %6s  %8s  %8s  %15s  %18s\n", "line", TEXT_WIDTH, "source",
                  "share", "diverged", "requests", "sectors/ideal", "wavefronts/minimum");
    for (size_t i = 0; i < lines->len; i++) {
        const LineCounts *line = &lines->data[i];
        if (!is_shown(module, line, all)) {
            hidden++;
            continue;
        }
        if (line->line && !str_eq(line->path, path)) {
            path = line->path;
            strbuf_printf(out, "%.*s\n", STR_ARG(path));
        }
        print_line(line, all, out);
    }
    if (hidden)
        strbuf_printf(out, "and %zu lines with less than 1%% of the instructions each\n", hidden);
}

void sim_print_counts(const SimModule *module, const SimCounts *counts, StrBuf *out) {
    Totals totals = report_totals(module, counts);
    ReportLines lines = report_lines(module, counts);
    print_kernel(module, counts, &totals, out);
    print_lines(module, &lines, totals.sum.threads, out);
}
