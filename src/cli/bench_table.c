/* The table of `tilec bench`, whose rows are printed as they come. */
#include "cli/bench.h"

#include <stdio.h>

enum { MAX_TEXT = 48 }; /* columns of a text, unless others are longer */

static int widest(const Bench *bench, bool of_shapes) {
    const char *title = of_shapes ? "shape" : "configuration";
    size_t width = strlen(title);
    const uint32_t count = of_shapes ? bench->report.shape_count : bench->report.config_count;
    for (uint32_t i = 0; i < count; i++) {
        const size_t len = strlen(of_shapes ? bench->shapes[i].text : bench->report.configs[i]);
        width = len > width && len <= MAX_TEXT ? len : width;
    }
    return (int)width;
}

/* Columns that say something. */
static bool has_configs(const Bench *bench) {
    return bench->report.config_count > 1;
}

static bool has_flops(const Bench *bench) {
    for (uint32_t i = 0; i < bench->report.shape_count; i++)
        if (bench->shapes[i].flops >= 0)
            return true;
    return false;
}

static void print_ceilings(const Bench *bench) {
    const Ceilings *c = &bench->report.ceilings;
    cli_printf("ceilings, measured now: ");
    if (c->gbs > 0)
        cli_printf("%.4g GB/s by copies on the device, read and written", c->gbs);
    else
        cli_printf("none of memory");
    if (c->tflops > 0)
        cli_printf("; %.4g TFLOP/s by %s of %s", c->tflops, ceilings_text(c->kind), c->elem);
    else if (has_flops(bench))
        cli_printf("; none of %s%s%s", ceilings_text(c->kind), c->elem ? " of " : "",
                   c->elem ? c->elem : "");
    cli_printf("\n");
}

void bench_print_header(const Bench *bench) {
    const BenchReport *report = &bench->report;
    if (bench->options.json)
        return;
    cli_printf("%s on %s (%s), driver %d.%d\n", report->kernel, report->device, report->target,
               report->driver / 1000, report->driver % 1000 / 10);
    print_ceilings(bench);
    if (report->counts_arrays)
        cli_printf("bytes: the arrays of a call, each once\n");
    if (!has_configs(bench))
        cli_printf("configuration: %s\n", bench->report.configs[0]);
    cli_printf("\n%-*s", widest(bench, true), "shape");
    if (has_configs(bench))
        cli_printf("  %-*s", widest(bench, false), "configuration");
    cli_printf("  %10s  %10s  %-21s  %8s  %7s", "us, median", "least", "quartiles", "GB/s",
               "of copy");
    if (has_flops(bench))
        cli_printf("  %8s  %7s", "TFLOP/s", "of peak");
    if (has_configs(bench))
        cli_printf("  %7s", "of best");
    cli_printf("\n");
    fflush(stdout);
}

/* Four digits, three of what is very small. */
static const char *number(Arena *arena, double value) {
    if (value < 0)
        return "";
    if (value < 0.1)
        return str_format(arena, "%.3g", value);
    const int digits = value < 10 ? 3 : value < 100 ? 2 : value < 1000 ? 1 : 0;
    return str_format(arena, "%.*f", digits, value);
}

static const char *percent(Arena *arena, double value, double of) {
    return value < 0 || of <= 0 ? "" : str_format(arena, "%.1f%%", 100 * value / of);
}

static void print_rates(const Bench *bench, const BenchCase *c, double best) {
    const BenchReport *report = &bench->report;
    Arena *arena = &bench->ctx->arena;
    const double gbs = bench_gbs(report, c), tflops = bench_tflops(report, c);
    const BenchTimes *t = &c->times;
    cli_printf(
        "  %10s  %10s  %-21s  %8s  %7s", number(arena, t->median), number(arena, t->least),
        str_format(arena, "%s..%s", number(arena, t->quarter), number(arena, t->three_quarters)),
        number(arena, gbs), percent(arena, gbs, report->ceilings.gbs));
    if (has_flops(bench))
        cli_printf("  %8s  %7s", number(arena, tflops),
                   percent(arena, tflops, report->ceilings.tflops));
    if (has_configs(bench))
        cli_printf("  %7s", percent(arena, best, t->median));
}

void bench_print_shape(const Bench *bench, uint32_t shape) {
    const BenchReport *report = &bench->report;
    const BenchCase *best = bench_fastest(report, shape);
    if (bench->options.json)
        return;
    for (uint32_t i = 0; i < report->case_count; i++) {
        const BenchCase *c = &report->cases[i];
        if (c->shape != shape || (!c->times.runs && !c->failed))
            continue;
        cli_printf("%-*s", widest(bench, true), bench->shapes[shape].text);
        if (has_configs(bench))
            cli_printf("  %-*s", widest(bench, false), bench->report.configs[c->config]);
        if (c->failed)
            cli_printf("  failed: %s", c->failed);
        else
            print_rates(bench, c, best->times.median);
        cli_printf("\n");
    }
    fflush(stdout);
}
