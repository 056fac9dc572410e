/* See report.h. */
#include "runtime/bench/report.h"

#include <stdlib.h>

/* Rates */

static int by_value(const void *a, const void *b) {
    const float x = *(const float *)a, y = *(const float *)b;
    return (x > y) - (x < y);
}

/* The value below which a share of the sorted times lies, between its neighbours. */
static double quantile_us(const float *sorted, uint32_t count, double share) {
    const double at = share * (count - 1);
    const uint32_t below = (uint32_t)at, above = below + 1 < count ? below + 1 : below;
    return 1e3 * (sorted[below] + (at - below) * ((double)sorted[above] - sorted[below]));
}

BenchTimes bench_times(const MeasureRun *run) {
    float sorted[MEASURE_MAX_RUNS];
    if (!run->count)
        return (BenchTimes){0};
    memcpy(sorted, run->ms, run->count * sizeof *sorted);
    qsort(sorted, run->count, sizeof *sorted, by_value);
    return (BenchTimes){.runs = run->count,
                        .median = quantile_us(sorted, run->count, 0.5),
                        .least = quantile_us(sorted, run->count, 0),
                        .quarter = quantile_us(sorted, run->count, 0.25),
                        .three_quarters = quantile_us(sorted, run->count, 0.75)};
}

double bench_gbs(const BenchReport *report, const BenchCase *of) {
    const double bytes = report->shapes[of->shape].bytes;
    return bytes >= 0 && of->times.runs && of->times.median > 0 ? bytes / (of->times.median * 1e3)
                                                                : -1;
}

double bench_tflops(const BenchReport *report, const BenchCase *of) {
    const double flops = report->shapes[of->shape].flops;
    return flops >= 0 && of->times.runs && of->times.median > 0 ? flops / (of->times.median * 1e6)
                                                                : -1;
}

const BenchCase *bench_fastest(const BenchReport *report, uint32_t shape) {
    const BenchCase *best = NULL;
    for (uint32_t i = 0; i < report->case_count; i++) {
        const BenchCase *c = &report->cases[i];
        if (c->shape == shape && c->times.runs && (!best || c->times.median < best->times.median))
            best = c;
    }
    return best;
}

/* CSV, as RFC 4180 has it */

static void csv_text(Str text, StrBuf *out) {
    bool quotes = false;
    for (size_t i = 0; i < text.len; i++)
        quotes |= text.ptr[i] && strchr(",\"\r\n", text.ptr[i]);
    if (!quotes) {
        strbuf_add(out, text.ptr, text.len);
        return;
    }
    strbuf_putc(out, '"');
    for (size_t i = 0; i < text.len; i++) {
        if (text.ptr[i] == '"')
            strbuf_putc(out, '"');
        strbuf_putc(out, text.ptr[i]);
    }
    strbuf_putc(out, '"');
}

static void csv_number(double value, StrBuf *out) {
    strbuf_putc(out, ',');
    if (value >= 0)
        strbuf_printf(out, "%.9g", value);
}

/* Names of the sizes of all shapes, in the order in which they come. */
static uint32_t size_names(const BenchReport *report, Arena *arena, Str **names) {
    uint32_t most = 0, count = 0;
    for (uint32_t i = 0; i < report->shape_count; i++)
        most += report->shapes[i].size_count;
    *names = ARENA_ARRAY(arena, Str, (size_t)most + 1);
    for (uint32_t i = 0; i < report->shape_count; i++)
        for (uint32_t j = 0; j < report->shapes[i].size_count; j++) {
            uint32_t at = 0;
            while (at < count && !str_eq((*names)[at], report->shapes[i].names[j]))
                at++;
            (*names)[at] = report->shapes[i].names[j];
            count += at == count;
        }
    return count;
}

static double share(double rate, double ceiling) {
    return rate >= 0 && ceiling > 0 ? rate / ceiling : -1;
}

static void csv_case(const BenchReport *report, const BenchCase *c, const Str *names,
                     uint32_t count, StrBuf *out) {
    const Shape *shape = &report->shapes[c->shape];
    for (uint32_t n = 0; n < count; n++) {
        StrBuf value = strbuf(out->arena);
        for (uint32_t i = 0; i < shape->size_count; i++)
            if (str_eq(shape->names[i], names[n]))
                host_print(shape->values[i], &value);
        csv_text(strbuf_str(&value), out);
        strbuf_putc(out, ',');
    }
    csv_text(str_from(report->configs[c->config]), out);
    strbuf_printf(out, ",%u", c->times.runs);
    const bool is_known = c->times.runs;
    const double gbs = bench_gbs(report, c), tflops = bench_tflops(report, c);
    const double times[] = {c->times.median, c->times.least, c->times.quarter,
                            c->times.three_quarters};
    for (size_t i = 0; i < sizeof times / sizeof *times; i++)
        csv_number(is_known ? times[i] : -1, out);
    csv_number(shape->bytes, out);
    csv_number(shape->flops, out);
    csv_number(gbs, out);
    csv_number(share(gbs, report->ceilings.gbs), out);
    csv_number(tflops, out);
    csv_number(share(tflops, report->ceilings.tflops), out);
    strbuf_putc(out, ',');
    csv_text(str_from(c->failed ? c->failed : ""), out);
    strbuf_puts(out, "\r\n");
}

void bench_csv(const BenchReport *report, StrBuf *out) {
    Str *names;
    const uint32_t count = size_names(report, out->arena, &names);
    for (uint32_t i = 0; i < count; i++) {
        csv_text(names[i], out);
        strbuf_putc(out, ',');
    }
    strbuf_puts(out, "configuration,runs,median_us,least_us,quarter_us,three_quarters_us,bytes,"
                     "flops,gbs,gbs_share,tflops,tflops_share,failed\r\n");
    for (uint32_t i = 0; i < report->case_count; i++)
        csv_case(report, &report->cases[i], names, count, out);
}

/* JSON */

/* A rate and its share of the ceiling: of what is known. */
static void json_rate(const char *name, double rate, double ceiling, StrBuf *out) {
    if (rate < 0)
        return;
    strbuf_printf(out, ", \"%s\": %.9g", name, rate);
    if (ceiling > 0)
        strbuf_printf(out, ", \"%s_share\": %.9g", name, rate / ceiling);
}

static void json_value(HostValue value, StrBuf *out) {
    if (value.kind == HOST_BOOL)
        strbuf_puts(out, value.i ? "true" : "false");
    else if (value.kind == HOST_FLOAT && value.f - value.f == 0)
        strbuf_printf(out, "%.17g", value.f);
    else if (value.kind == HOST_INT)
        strbuf_printf(out, "%" PRId64, value.i);
    else
        strbuf_puts(out, "null");
}

static void json_case(const BenchReport *report, const BenchCase *c, StrBuf *out) {
    const Shape *shape = &report->shapes[c->shape];
    strbuf_puts(out, "{\"shape\": {");
    for (uint32_t i = 0; i < shape->size_count; i++) {
        strbuf_puts(out, i ? ", " : "");
        strbuf_json(out, shape->names[i]);
        strbuf_puts(out, ": ");
        json_value(shape->values[i], out);
    }
    strbuf_puts(out, "}, \"configuration\": ");
    strbuf_json(out, str_from(report->configs[c->config]));
    strbuf_printf(out, ", \"runs\": %u", c->times.runs);
    if (c->times.runs)
        strbuf_printf(out,
                      ", \"us\": {\"median\": %.9g, \"least\": %.9g, \"quarter\": %.9g, "
                      "\"three_quarters\": %.9g}",
                      c->times.median, c->times.least, c->times.quarter, c->times.three_quarters);
    if (shape->bytes >= 0)
        strbuf_printf(out, ", \"bytes\": %.17g", shape->bytes);
    if (shape->flops >= 0)
        strbuf_printf(out, ", \"flops\": %.17g", shape->flops);
    json_rate("gbs", bench_gbs(report, c), report->ceilings.gbs, out);
    json_rate("tflops", bench_tflops(report, c), report->ceilings.tflops, out);
    if (c->failed) {
        strbuf_puts(out, ", \"failed\": ");
        strbuf_json(out, str_from(c->failed));
    }
    strbuf_putc(out, '}');
}

void bench_json(const BenchReport *report, StrBuf *out) {
    const Ceilings *ceilings = &report->ceilings;
    strbuf_puts(out, "\"kernel\": ");
    strbuf_json(out, str_from(report->kernel));
    strbuf_puts(out, ", \"device\": ");
    strbuf_json(out, str_from(report->device));
    strbuf_printf(out, ", \"target\": \"%s\", \"driver\": \"%d.%d\", \"complete\": %s",
                  report->target, report->driver / 1000, report->driver % 1000 / 10,
                  report->is_whole ? "true" : "false");
    strbuf_printf(out, ", \"counts_arrays\": %s, \"ceilings\": {\"gbs\": ",
                  report->counts_arrays ? "true" : "false");
    if (ceilings->gbs > 0)
        strbuf_printf(out, "%.9g", ceilings->gbs);
    else
        strbuf_puts(out, "null");
    if (ceilings->tflops > 0) {
        strbuf_printf(out, ", \"tflops\": %.9g, \"of\": ", ceilings->tflops);
        strbuf_json(out, str_from(ceilings_text(ceilings->kind)));
        strbuf_printf(out, ", \"type\": \"%s\"", ceilings->elem);
    } else {
        strbuf_puts(out, ", \"tflops\": null");
    }
    strbuf_puts(out, "}, \"cases\": [");
    for (uint32_t i = 0; i < report->case_count; i++) {
        strbuf_puts(out, i ? ", " : "");
        json_case(report, &report->cases[i], out);
    }
    strbuf_putc(out, ']');
}
