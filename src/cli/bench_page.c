/* The page of `tilec bench`: what became of the fastest configuration, and what was measured. */
#include "cli/bench.h"
#include "inspect/report.h"
#include "runtime/bench/pictures.h"

/* Of the last shape that ran with one; NULL: none did. */
static const BenchCase *last_fastest(const Bench *bench) {
    const BenchReport *report = &bench->report;
    for (uint32_t shape = report->shape_count; shape-- > 0;) {
        const BenchCase *found = bench_fastest(report, shape);
        if (found)
            return found;
    }
    return NULL;
}

static size_t draw_all(Bench *bench, ReportPicture *pictures) {
    Arena *arena = &bench->ctx->arena;
    size_t count = 0;
    for (PictureKind kind = 0; kind < PICTURE_COUNT; kind++) {
        StrBuf text = strbuf(arena);
        if (picture_draw(&bench->report, kind, &text))
            pictures[count++] = (ReportPicture){picture_file(kind), strbuf_str(&text)};
    }
    return count;
}

bool bench_write_page(Bench *bench) {
    Ctx *ctx = bench->ctx;
    const BenchCase *fastest = last_fastest(bench);
    if (!fastest)
        return true; /* why nothing ran is said elsewhere */
    const BenchPlan *plan = &bench->plans[fastest - bench->cases];
    CompileRequest request = bench->plan.data[plan->build].request;
    Trace *trace = ARENA_NEW(&ctx->arena, Trace);
    Compiled *compiled = ARENA_NEW(&ctx->arena, Compiled);
    ReportPicture pictures[PICTURE_COUNT];
    trace_request(trace, ctx, compiled, &request);
    if (!cli_compile(ctx, &request, compiled))
        return false;
    trace_finish(trace);
    Report report = {.trace = trace,
                     .label = bench->report.configs[fastest->config],
                     .pictures = pictures,
                     .picture_count = draw_all(bench, pictures),
                     .diags = &ctx->diags};
    report.findings = findings_make(trace, NULL);
    StrBuf text = strbuf(&ctx->arena);
    report_page(&report, 1, &text);
    return cli_write_file(ctx, bench->options.page, strbuf_str(&text));
}
