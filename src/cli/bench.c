/* `tilec bench`: times a kernel over shapes and configurations, beside what the device reaches. */
#include "cli/bench.h"
#include "runtime/bench/pictures.h"
#include "runtime/driver/choose_target.h"
#include "runtime/driver/faults.h"
#include "runtime/status.h"
#include "support/file.h"

#include <stdio.h>

#define OPTIONS_OF BenchOptions
static const Option bench_options[] = {
#include "cli/options/bench.def"
};

const CommandSpec bench_spec = {
    .name = "bench",
    .arguments = "[FILE]",
    .extensions = "tile|py",
    .description =
        "Times a kernel on the GPU over shapes and configurations: those of the source's "
        "@triton.autotune, of --vary, or the compiler's choice. Rates are told beside what copies "
        "and tensor cores of this GPU reach.",
    .notes = HELP_ENTRIES(
        {"Shapes files", "JSON: 'args' and 'grid' as expressions of sizes, 'shapes' with the "
                         "sizes, 'flops' and 'bytes' of a launch; docs/benchmarking.md. 'file' "
                         "there names the source where FILE does not."},
        {"Times", "Each run is timed between two events, behind a write over twice the L2 cache; "
                  "configurations take turns, five runs each. Random arrays repeat after 1048576 "
                  "elements. A run that does not end within --limit-ms ends the command; "
                  "`tilec tune` goes on with the next configuration."},
        DATA_NOTE, KERNEL_TYPES_NOTE, TARGETS_NOTE),
    .examples = HELP_ENTRIES({"Over the sizes of a shapes file, with pictures",
                              "tilec bench --shapes softmax.json --svg pictures"}),
    OPTION_TABLE(bench_options),
    .min_arguments = 0,
    .max_arguments = 1,
};

/* Messages of what was compiled: of all if nothing was, else of what runs; the others' rows say
 * what became of them. */
static int report_built(Bench *bench) {
    const size_t count = bench->plan.len;
    bool any = false;
    for (uint32_t i = 0; i < bench->report.case_count; i++)
        any |= bench->built[bench->plans[i].build].count > 0;
    for (uint32_t i = 0; i < count; i++) {
        const Built *built = &bench->built[i];
        const bool is_ceiling =
            i == bench->ceiling[CEILING_products] || i == bench->ceiling[CEILING_multiply_adds];
        uint32_t first = 0;
        while (first < i && !str_eq(bench->built[first].said, built->said))
            first++;
        if (first == i && !is_ceiling && (built->count > 0) == any && !bench->options.json)
            fwrite(built->said.ptr, 1, built->said.len, stderr);
    }
    if (any || !bench->report.case_count)
        return STATUS_OK;
    const Built *built = &bench->built[bench->plans[0].build];
    return built->failed == DIAG_COUNT ? STATUS_MACHINE : cli_status_of_id(built->failed);
}

static bool write_pictures(Bench *bench) {
    Arena *arena = &bench->ctx->arena;
    const char *folder = bench->options.svg;
    for (PictureKind kind = 0; kind < PICTURE_COUNT; kind++) {
        StrBuf text = strbuf(arena);
        if (picture_draw(&bench->report, kind, &text) &&
            !cli_write_file(bench->ctx,
                            file_join(arena, str_from(folder), str_from(picture_file(kind))),
                            strbuf_str(&text)))
            return false;
    }
    return true;
}

static void print_json(Bench *bench, int status) {
    StrBuf out = strbuf(&bench->ctx->arena);
    strbuf_printf(&out, "{\"ok\": %s, ", status == STATUS_OK ? "true" : "false");
    if (bench->report.kernel) {
        bench_json(&bench->report, &out);
        strbuf_puts(&out, ", ");
    }
    strbuf_puts(&out, "\"diagnostics\": [");
    StrBuf own = strbuf(&bench->ctx->arena);
    diag_json(&bench->ctx->diags, &own);
    strbuf_add(&out, own.ptr + 1, own.len - 2);
    bool any = own.len > 2;
    for (size_t i = 0; bench->built && i < bench->plan.len; i++) {
        const Str said = bench->built[i].said_json;
        if (said.len <= 2)
            continue;
        strbuf_printf(&out, "%s%.*s", any ? ", " : "", (int)said.len - 2, said.ptr + 1);
        any = true;
    }
    strbuf_puts(&out, "]}\n");
    cli_write(strbuf_str(&out));
    fflush(stdout);
}

/* A shape that ran with no configuration is a failure of the command. */
static void report_silent_shapes(Bench *bench) {
    for (uint32_t shape = 0; bench->report.is_whole && shape < bench->report.shape_count; shape++)
        if (!bench_fastest(&bench->report, shape))
            ctx_diag(bench->ctx, (Span){0}, bench_nothing, bench->report.kernel,
                     bench->shapes[shape].text);
}

/* Behind the measuring, whatever became of it: what there is goes to its files. */
static void write_reports(void *user) {
    Bench *bench = user;
    Ctx *ctx = bench->ctx;
    ctx_cancel_with(ctx, NULL); /* which would end this, too */
    report_silent_shapes(bench);
    if (bench->options.csv) {
        StrBuf csv = strbuf(&ctx->arena);
        bench_csv(&bench->report, &csv);
        cli_write_file(ctx, bench->options.csv, strbuf_str(&csv));
    }
    if (bench->options.svg)
        write_pictures(bench);
    if (bench->options.page)
        bench_write_page(bench);
    if (bench->options.json)
        print_json(bench, cli_status(ctx));
}

static void measure_all(void *user) {
    bench_measure(user);
}

static void measure_and_report(void *user) {
    Bench *bench = user;
    ctx_finally(bench->ctx, measure_all, write_reports, bench);
}

/* What cannot be written is better known now than behind all that is measured. */
static bool try_outputs(Bench *bench) {
    Ctx *ctx = bench->ctx;
    const char *folder = bench->options.svg;
    if (!cli_try_write(ctx, bench->options.csv) || !cli_try_write(ctx, bench->options.page))
        return false;
    const int error = folder ? file_make_folder(&ctx->arena, folder) : 0;
    if (error)
        return report_unwritable(&ctx->diags, folder, error);
    for (PictureKind kind = 0; folder && kind < PICTURE_COUNT; kind++)
        if (!cli_try_write(ctx,
                           file_join(&ctx->arena, str_from(folder), str_from(picture_file(kind)))))
            return false;
    return true;
}

/* STATUS_OK, or the status after a message. */
static int prepare(Bench *bench, const TextList *arguments) {
    Ctx *ctx = bench->ctx;
    int status = bench_read_problem(bench);
    if (status != STATUS_OK)
        return status;
    const char *path = arguments->len ? arguments->data[0] : bench->problem.path;
    if (!path)
        return cli_usage_error("no source: give FILE, or \"file\" in the shapes file");
    if (!try_outputs(bench))
        return cli_status(ctx);
    bench->has_device =
        driver_open(&bench->driver, &ctx->diags, NULL) &&
        device_open(&bench->driver, &ctx->diags, (int)bench->options.gpu, &bench->device);
    if (!bench->has_device)
        return STATUS_MACHINE;
    if (!bench->device.target) {
        report_device_target(&ctx->diags, &bench->device);
        return STATUS_MACHINE;
    }
    return bench_plan(bench, path);
}

static int compile_and_measure(Bench *bench) {
    Ctx *ctx = bench->ctx;
    BenchReport *report = &bench->report;
    bool pushed;
    report->kernel = str_dup(&ctx->arena, bench->def->name);
    report->device = bench->device.name;
    report->target = bench->device.target->name;
    report->driver = bench->driver.version;
    report->shapes = bench->shapes;
    report->shape_count = bench->problem.count;
    report->cases = bench->cases;
    bench->built = ARENA_ARRAY(&ctx->arena, Built, bench->plan.len + 1);
    progress_build(ctx, &bench->plan, 0, false, bench->built);
    int status = report_built(bench);
    if (status == STATUS_OK && fault_check(&bench->device, &ctx->diags, DRIVER_context_push,
                                           device_enter(&bench->device, &pushed))) {
        cli_interruptible(ctx, measure_and_report, bench);
        device_leave(&bench->device, pushed);
    } else if (bench->options.json) {
        print_json(bench, status);
    }
    build_release(bench->built, bench->plan.len);
    return status == STATUS_OK ? cli_status(ctx) : status;
}

int command_bench(Ctx *ctx, int argc, char **argv) {
    Bench *bench = ARENA_NEW(&ctx->arena, Bench);
    TextList arguments = {0};
    bench->ctx = ctx;
    bench->options.limit_ms = TUNE_LIMIT_MS;
    const OptionsResult parsed =
        options_parse(&bench_spec, &ctx->arena, argc, argv, &bench->options, &arguments);
    if (parsed != OPTIONS_OK)
        return parsed == OPTIONS_HELP ? STATUS_OK : STATUS_USAGE;
    int status = prepare(bench, &arguments);
    if (status == STATUS_OK)
        status = compile_and_measure(bench);
    else if (status != STATUS_USAGE && bench->options.json)
        print_json(bench, status);
    if (!bench->options.json)
        cli_print_diags(ctx);
    if (bench->is_stuck)
        return status;
    if (bench->has_device)
        device_close(&bench->device);
    driver_close(&bench->driver);
    return status;
}
