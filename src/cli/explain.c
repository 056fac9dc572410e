/* `tilec explain`: what became of a kernel, and why it is slow, as a page. */
#include "cli/run_sim.h"
#include "inspect/report.h"
#include "target/machine.h"

#include <stdio.h>

typedef struct ExplainOptions {
    KernelOptions kernel;
    const char *grid, *output, *beside;
    int64_t max_steps, ctas;
    bool json;
} ExplainOptions;

#define OPTIONS_OF ExplainOptions
static const Option explain_options[] = {
#include "cli/options/explain.def"
};

const CommandSpec explain_spec = {
    .name = "explain",
    .arguments = "FILE [FILE]",
    .extensions = "tile|py",
    .description =
        "Writes a page about a kernel: what each line became in every stage of the compilation, "
        "layouts, shared memory, registers and loops, and what makes it slow. With --grid and "
        "arguments it also runs on the simulator, and the page says what each line costs.",
    .notes = HELP_ENTRIES(DATA_NOTE, KERNEL_TYPES_NOTE, TARGETS_NOTE),
    .examples = HELP_ENTRIES(
        {"A page about a kernel that is compiled",
         "tilec explain softmax.tile \\\n"
         "      -s \"*fp32:16, *fp32:16, i32:16, i32:16, i32:16, 1024\" -o softmax.html"},
        {"The same with what its lines cost, next to one of eight warps",
         "tilec explain softmax.tile -g \"(8,)\" -D BLOCK=1024 \\\n"
         "      -a x_ptr=randn:fp32[8,1000] -a y_ptr=zeros:fp32[8,1000] \\\n"
         "      -a x_stride=1000 -a y_stride=1000 -a cols=1000 --beside \"--num-warps 8\""}),
    OPTION_TABLE(explain_options),
    .min_arguments = 1,
    .max_arguments = 2,
};

/* One compilation and its report, in a context of its own. */
typedef struct Explained {
    Ctx *ctx;
    ExplainOptions options;
    const char *path;
    Cache cache;
    CompileRequest request;
    Compiled compiled;
    Trace trace;
    RunArgs args;
    uint32_t grid[3];
    SimRun sim;
    Report report;
} Explained;

/* STATUS_OK, or the status after a message. */
static int prepare(Explained *one) {
    Ctx *ctx = one->ctx;
    KernelOptions kernel = one->options.kernel;
    if (!one->options.grid)
        return cli_kernel_request(ctx, &kernel, one->path, NULL, &one->cache, &one->request);
    if (!run_read_args(ctx, &kernel.arguments, &one->args))
        return ctx->diags.errors ? STATUS_INPUT : STATUS_USAGE;
    kernel.arguments = (TextList){0};
    const int status =
        cli_kernel_request(ctx, &kernel, one->path, NULL, &one->cache, &one->request);
    if (status != STATUS_OK)
        return status;
    if (!run_heuristics(ctx, &one->args, &one->request))
        return STATUS_INPUT;
    one->request.kernel.types = run_types(ctx, &one->args, &one->request.kernel);
    one->request.kernel.type_count = (uint32_t)one->args.len;
    uint32_t count;
    const GridName *names = run_grid_names(ctx, &one->args, &one->request.kernel, &count);
    return grid_evaluate(ctx, str_from(one->options.grid), names, count, one->grid) ? STATUS_OK
                                                                                    : STATUS_INPUT;
}

/* CTAs that share the programs of a persistent kernel: those that the device of the clock holds. */
static uint32_t resident_ctas(const Explained *one) {
    const TargetDevice *device = target_device(one->request.target);
    const int32_t held = one->trace.occupancy.ctas > 0 ? one->trace.occupancy.ctas : 1;
    if (one->options.ctas)
        return (uint32_t)one->options.ctas;
    return device ? (uint32_t)(device->sms * held) : host_ctas(one->grid, 0);
}

/* False after a report, or with `other_form` set. */
static bool simulate_kernel(Explained *one, unsigned *other_form) {
    Ctx *ctx = one->ctx;
    const Resources *resources = &one->compiled.facts.resources;
    RunArg **ordered;
    uint32_t count;
    if (!run_order_args(ctx, &one->args, &one->compiled.facts, &ordered, &count))
        return false;
    one->sim = (SimRun){.compiled = &one->compiled,
                        .args = ordered,
                        .arg_count = count,
                        .grid = one->grid,
                        .ctas = resident_ctas(one),
                        .max_steps = (uint64_t)one->options.max_steps,
                        .clock = true,
                        .registers = (uint32_t)(resources->known ? resources->registers : 0),
                        .spilled = (uint32_t)(resources->spill_stores + resources->spill_loads),
                        .module = one->trace.module};
    const bool ok = run_on_sim(ctx, &one->sim);
    *other_form = one->sim.other_form;
    one->report.arguments = one->options.kernel.arguments.data;
    one->report.argument_count = one->options.kernel.arguments.len;
    if (one->sim.counts)
        one->report.profile =
            profile_make(ctx, one->sim.module, one->sim.counts, one->sim.time, one->grid);
    if (one->sim.time && one->sim.time->dram_us > 0)
        trace_loops_from_dram(&one->trace);
    return ok;
}

/* Compiles, and runs what came of it; `other_form`: a form that the arguments need instead. */
static bool explain_form(Explained *one, unsigned *other_form) {
    *other_form = 0;
    trace_request(&one->trace, one->ctx, &one->compiled, &one->request);
    if (!cli_compile(one->ctx, &one->request, &one->compiled))
        return false;
    trace_finish(&one->trace);
    return !one->options.grid || simulate_kernel(one, other_form);
}

/* STATUS_OK, or the status after reports. */
static int explain(Explained *one) {
    const int status = prepare(one);
    unsigned other_form = 0;
    if (status != STATUS_OK)
        return status;
    const DiagMark before = diag_mark(&one->ctx->diags);
    bool ok = explain_form(one, &other_form);
    while (!ok && other_form) {
        diag_rewind(&one->ctx->diags, before);
        request_forms(&one->request, other_form);
        ok = explain_form(one, &other_form);
    }
    if (!ok)
        return cli_status(one->ctx);
    one->report.trace = &one->trace;
    one->report.diags = &one->ctx->diags;
    one->report.findings = findings_make(&one->trace, one->report.profile);
    return STATUS_OK;
}

/* The options of the command line, which names so many files, with those of --beside behind them.
 */
static OptionsResult parse_beside(Arena *arena, int argc, char **argv, size_t files,
                                  const char *text, ExplainOptions *options) {
    VEC(char *) words = {0};
    TextList arguments = {0};
    const Str all = str_from(text);
    size_t at = 0;
    StrWord word;
    for (int i = 0; i < argc; i++)
        vec_push(arena, &words, argv[i]);
    while (str_next_word(arena, all, &at, &word)) {
        if (word.is_open) {
            cli_usage_error("--beside: a quote is not closed in '%s'", text);
            return OPTIONS_BAD;
        }
        vec_push(arena, &words, str_dup(arena, word.text));
    }
    const OptionsResult parsed =
        options_parse(&explain_spec, arena, (int)words.len, words.data, options, &arguments);
    if (parsed == OPTIONS_OK && arguments.len > files) {
        cli_usage_error("--beside takes options, not '%s'", arguments.data[arguments.len - 1]);
        return OPTIONS_BAD;
    }
    options_keep_last(&options->kernel.defines);
    options_keep_last(&options->kernel.arguments);
    return parsed;
}

static const char *base_name(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

/* What is printed when the page has been written. */
static void print_summary(const Explained *all, uint32_t count, const char *path) {
    for (uint32_t i = 0; i < count; i++) {
        const Report *report = &all[i].report;
        const Trace *trace = report->trace;
        cli_printf("%.*s for %s%s%s\n", STR_ARG(trace->compiled->facts.meta.name),
                   trace->compiled->facts.meta.target->name, *report->label ? ", " : "",
                   report->label);
        vec_for_each (finding, &report->findings) {
            const Source *source = source_get(&trace->ctx->sources, finding->at.file);
            cli_printf("  ");
            if (source)
                cli_printf("%.*s:%u: ", STR_ARG(source->path), finding->at.line);
            cli_printf("%s: %s", finding->title, finding->figures);
            if (finding->gain > 0)
                cli_printf("; at most %.2f of %.2f us less without it", finding->gain,
                           report->profile->time.us);
            if (finding->has_after)
                cli_printf(", about %.2f us once the first is mended", finding->after);
            if (finding->follows)
                cli_printf("; follows from line %u", finding->cause.at.line);
            cli_printf("\n");
        }
    }
    cli_printf("wrote %s\n", path);
}

static int write_report(Ctx *ctx, const ExplainOptions *options, const Explained *all,
                        uint32_t count) {
    Report reports[2];
    StrBuf text = strbuf(&ctx->arena);
    for (uint32_t i = 0; i < count; i++)
        reports[i] = all[i].report;
    const char *path = options->output;
    if (!path)
        path = options->json
                   ? "-"
                   : str_format(&ctx->arena, "%.*s.html", STR_ARG(all[0].compiled.facts.meta.name));
    if (options->json)
        report_json(reports, count, &text);
    else
        report_page(reports, count, &text);
    if (!cli_write_file(ctx, path, strbuf_str(&text)))
        return cli_status(ctx);
    if (!cli_is_output(path))
        print_summary(all, count, path);
    return STATUS_OK;
}

typedef struct Explanation {
    Explained one[2];
    uint32_t count;
} Explanation;

/* What a report of two calls each of them. */
static void label_reports(Explanation *all, bool two_files) {
    all->one[0].report.label = all->one[1].report.label = "";
    if (all->count < 2)
        return;
    all->one[1].report.label = all->one[1].options.beside;
    if (two_files)
        for (uint32_t i = 0; i < 2; i++)
            all->one[i].report.label = base_name(all->one[i].path);
}

/* In the contexts of both; gives the status, after messages. */
static int explain_all(Explanation *all) {
    int status = STATUS_OK;
    if (!cli_try_write(all->one[0].ctx, all->one[0].options.output))
        status = cli_status(all->one[0].ctx);
    for (uint32_t i = 0; i < all->count && status == STATUS_OK; i++)
        status = explain(&all->one[i]);
    if (status == STATUS_OK)
        status = write_report(all->one[0].ctx, &all->one[0].options, all->one, all->count);
    for (uint32_t i = 0; i < all->count && status != STATUS_USAGE; i++)
        if (all->one[i].ctx)
            cli_print_diags(all->one[i].ctx);
    return status;
}

/* With a second context, whose memory is its own. */
static int explain_both(Explanation *all) {
    Ctx *second = ctx_create();
    int status = STATUS_MACHINE;
    if (second && setjmp(second->oom) == 0) {
        all->one[1].ctx = second;
        status = explain_all(all);
    } else {
        fputs("tilec: error: out of memory\n", stderr);
    }
    ctx_destroy(second);
    return status;
}

int command_explain(Ctx *ctx, int argc, char **argv) {
    Explanation *all = ARENA_NEW(&ctx->arena, Explanation);
    Explained *first = &all->one[0], *second = &all->one[1];
    TextList arguments = {0};
    OptionsResult parsed =
        options_parse(&explain_spec, &ctx->arena, argc, argv, &first->options, &arguments);
    if (parsed == OPTIONS_OK && first->options.beside)
        parsed = parse_beside(&ctx->arena, argc, argv, arguments.len, first->options.beside,
                              &second->options);
    else
        second->options = first->options;
    if (parsed != OPTIONS_OK)
        return parsed == OPTIONS_HELP ? STATUS_OK : STATUS_USAGE;
    if (first->options.kernel.isolated || second->options.kernel.isolated)
        return cli_usage_error("--isolated: explain looks at every stage of a compilation, which "
                               "is therefore its own process's");
    first->ctx = ctx;
    first->path = arguments.data[0];
    second->path = arguments.data[arguments.len - 1];
    second->options.beside = first->options.beside ? first->options.beside : "";
    all->count = arguments.len > 1 || first->options.beside ? 2 : 1;
    label_reports(all, arguments.len > 1);
    return all->count > 1 ? explain_both(all) : explain_all(all);
}
