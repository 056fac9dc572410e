/* `tilec run`: compiles a kernel, runs it on given data and looks at the results. */
#include "cli/run_sim.h"
#include "inspect/report.h"
#include "runtime/data/npy.h"
#include "runtime/driver/choose_target.h"
#include "runtime/launch/facts.h"

#include <stdio.h>

typedef struct RunOptions {
    KernelOptions kernel;
    const char *grid, *dump_folder, *page;
    TextList out, check;
    int device; /* of device_choices */
    int64_t gpu, repeat, max_steps, ctas;
    double atol, rtol; /* negative: by type */
    SimOrder order;    /* on the simulator */
    bool final_ir, every_pass, report, time, json;
} RunOptions;

enum { DEVICE_AUTO, DEVICE_CUDA, DEVICE_CPU, DEVICE_SIM };

#define OPTIONS_OF RunOptions
static const Option run_options[] = {
#include "cli/options/run.def"
};

const CommandSpec run_spec = {
    .name = "run",
    .arguments = "FILE",
    .extensions = "tile|py",
    .description = "Runs a kernel of a .tile or .py file on data.",
    .notes = HELP_ENTRIES(DATA_NOTE, KERNEL_TYPES_NOTE, TARGETS_NOTE),
    .examples =
        HELP_ENTRIES({"Random input, the result into a file",
                      "tilec run softmax.tile -g \"(8,)\" -D BLOCK=1024 \\\n"
                      "      -a x_ptr=randn:fp32[8,1000] -a y_ptr=zeros:fp32[8,1000] \\\n"
                      "      -a x_stride=1000 -a y_stride=1000 -a cols=1000 --out y_ptr=y.npy"}),
    OPTION_TABLE(run_options),
    .min_arguments = 1,
    .max_arguments = 1,
};

typedef struct CheckReport {
    Str name;
    bool ok, compared;
    CheckResult result;
} CheckReport;

typedef struct Run {
    Ctx *ctx;
    RunOptions options;
    CompileRequest request;
    Cache cache;
    RunArgs args;
    const NamedText *out, *check; /* NAME=FILE */
    Driver driver;
    Device device;
    bool on_device;
    uint32_t grid[3];
    Compiled compiled;
    RunTimes times;
    SimRun sim;  /* on the simulator */
    Trace trace; /* with --page */
    VEC(CheckReport) reports;
} Run;

/* Opens the GPU. With `auto` a machine without one is told of and the CPU takes over. */
static bool choose_device(Run *run) {
    Ctx *ctx = run->ctx;
    if (run->options.device == DEVICE_CPU || run->options.device == DEVICE_SIM)
        return true;
    Diags quiet = {.arena = &ctx->arena, .sources = &ctx->sources};
    Diags *diags = run->options.device == DEVICE_CUDA ? &ctx->diags : &quiet;
    run->on_device = driver_open(&run->driver, diags, NULL) &&
                     device_open(&run->driver, diags, (int)run->options.gpu, &run->device);
    if (run->on_device && !run->device.target) {
        report_device_target(diags, &run->device);
        device_close(&run->device);
        run->on_device = false;
    }
    if (run->on_device || run->options.device == DEVICE_CUDA)
        return run->on_device;
    driver_close(&run->driver);
    if (!run->options.json)
        fprintf(stderr, "tilec: note: running on the CPU: %s\n", quiet.first->text);
    return true;
}

static bool split_files(Run *run, const TextList *texts, const char *option,
                        const NamedText **out) {
    NamedText *files = ARENA_ARRAY(&run->ctx->arena, NamedText, texts->len + 1);
    for (size_t i = 0; i < texts->len; i++) {
        if (!cli_split_named(texts->data[i], option, &files[i]))
            return false;
        const RunArg *arg = run_find_arg(&run->args, files[i].name);
        if (arg && arg->is_array)
            continue;
        cli_usage_error("%s %s: there is no array argument '%.*s'", option, texts->data[i],
                        STR_ARG(files[i].name));
        return false;
    }
    *out = files;
    return true;
}

/* STATUS_OK, or the status after a message. Reads everything that is given before anything runs. */
static int prepare(Run *run, const char *path) {
    Ctx *ctx = run->ctx;
    const TextList arguments = run->options.kernel.arguments;
    if (!run->options.grid)
        return cli_usage_error("no grid: add --grid, as in --grid \"cdiv(n, BLOCK)\"");
    if (run->options.page && run->options.device != DEVICE_SIM)
        return cli_usage_error("--page has what the simulator counts: add --device sim");
    if (!cli_try_write(ctx, run->options.page))
        return cli_status(ctx);
    if (!run_read_args(ctx, &arguments, &run->args))
        return ctx->diags.errors ? STATUS_INPUT : STATUS_USAGE;
    if (!split_files(run, &run->options.out, "--out", &run->out) ||
        !split_files(run, &run->options.check, "--check", &run->check))
        return STATUS_USAGE;
    if (!choose_device(run))
        return STATUS_MACHINE;
    KernelOptions kernel = run->options.kernel;
    kernel.arguments = (TextList){0};
    const Device *device = run->on_device ? &run->device : NULL;
    int status = cli_kernel_request(ctx, &kernel, path, device, &run->cache, &run->request);
    if (status != STATUS_OK)
        return status;
    if (!run_heuristics(ctx, &run->args, &run->request))
        return STATUS_INPUT;
    run->request.kernel.types = run_types(ctx, &run->args, &run->request.kernel);
    run->request.kernel.type_count = (uint32_t)run->args.len;
    run->request.dump_folder = run->options.dump_folder;
    if (run->on_device) {
        run->request.want = OUTPUT_BIT(cubin) | OUTPUT_BIT(ptx);
        run->request.device = &run->device;
    } else if (run->options.device == DEVICE_SIM) {
        host_request(HOST_SIMULATOR, &run->request);
    } else {
        host_request(HOST_INTERPRETER, &run->request);
        run->request.until_passes = run->options.final_ir;
        if (run->options.final_ir && run->options.every_pass)
            return cli_usage_error("--every-pass ends with what --final-ir runs: give one of them");
    }
    uint32_t count;
    const GridName *names = run_grid_names(ctx, &run->args, &run->request.kernel, &count);
    return grid_evaluate(ctx, str_from(run->options.grid), names, count, run->grid) ? STATUS_OK
                                                                                    : STATUS_INPUT;
}

static bool is_array_twice(RunArg *const *args, uint32_t count) {
    for (uint32_t i = 0; i < count; i++)
        for (uint32_t k = 0; k < i && args[i]->is_array; k++)
            if (args[k] == args[i])
                return true;
    return false;
}

static bool compile(Run *run) {
    if (run->options.page)
        trace_request(&run->trace, run->ctx, &run->compiled, &run->request);
    if (!cli_compile(run->ctx, &run->request, &run->compiled))
        return false;
    if (run->options.page)
        trace_finish(&run->trace);
    return true;
}

/* `other_form`: see run_on_device. */
static bool execute_form(Run *run, unsigned *other_form) {
    Ctx *ctx = run->ctx;
    RunArg **ordered;
    uint32_t count;
    *other_form = 0;
    if (!compile(run) || !run_order_args(ctx, &run->args, &run->compiled.facts, &ordered, &count))
        return false;
    if (run->on_device)
        return run_on_device(ctx, &run->device, &run->compiled, ordered, count, run->grid,
                             (uint32_t)run->options.repeat, &run->times, other_form);
    /* The interpreter runs what passes make of the function, and looks at no facts. */
    const bool has_passes = run->options.final_ir || run->options.every_pass;
    if (run->options.device != DEVICE_SIM && has_passes && !run->compiled.func->in_place &&
        is_array_twice(ordered, count)) {
        *other_form = FORM_IN_PLACE;
        return false;
    }
    const uint32_t ctas = host_ctas(run->grid, (uint32_t)run->options.ctas);
    if (run->options.device == DEVICE_SIM) {
        run->sim = (SimRun){.compiled = &run->compiled,
                            .args = ordered,
                            .arg_count = count,
                            .grid = run->grid,
                            .ctas = ctas,
                            .max_steps = (uint64_t)run->options.max_steps,
                            .order = run->options.order,
                            .ptxas = run->options.kernel.ptxas,
                            .report = run->options.report,
                            .clock = run->options.page != NULL,
                            .registers = (uint32_t)run->compiled.facts.resources.registers,
                            .spilled = (uint32_t)(run->compiled.facts.resources.spill_stores +
                                                  run->compiled.facts.resources.spill_loads),
                            .module = run->trace.module};
        bool ok = run_on_sim(ctx, &run->sim);
        run->times = run->sim.times;
        *other_form = run->sim.other_form;
        return ok;
    }
    CpuRun cpu = {.grid = run->grid,
                  .ctas = ctas,
                  .max_steps = (uint64_t)run->options.max_steps,
                  .args = ordered,
                  .arg_count = count};
    if (!run->options.every_pass)
        return run_on_cpu(ctx, &cpu, run->compiled.func, &run->times);
    return run_every_pass(ctx, &cpu, run->compiled.func, run->options.kernel.check_passes,
                          run->options.atol, run->options.rtol, &run->times);
}

/* What was said of a form that the arguments do not suit is dropped but for the reason. */
static bool execute(Run *run) {
    Diags *diags = &run->ctx->diags;
    const DiagMark before = diag_mark(diags);
    unsigned other_form;
    bool ok = execute_form(run, &other_form);
    DiagReason why[FORM_SETS];
    int count = 0;
    while (other_form) {
        why[count++] = diag_take(diags, before, (Span){0});
        request_forms(&run->request, other_form);
        ok = execute_form(run, &other_form);
    }
    for (int i = 0; i < count; i++)
        if (why[i].id != DIAG_COUNT)
            diag_emit(diags, (Span){0}, why[i].id, "%s", why[i].text);
    return ok;
}

static void write_outputs(Run *run) {
    for (size_t i = 0; i < run->options.out.len; i++) {
        const RunArg *arg = run_find_arg(&run->args, run->out[i].name);
        npy_write(run->ctx, str_dup(&run->ctx->arena, run->out[i].text), &arg->array);
    }
}

static void check_outputs(Run *run) {
    for (size_t i = 0; i < run->options.check.len; i++) {
        const NamedText *check = &run->check[i];
        const RunArg *arg = run_find_arg(&run->args, check->name);
        const char *path = str_dup(&run->ctx->arena, check->text);
        CheckReport report = {.name = check->name};
        HostArray expected;
        CheckTolerance tolerance =
            run_tolerance(arg->array.elem, run->options.atol, run->options.rtol);
        if (!npy_read(run->ctx, path, arg->array.elem, &expected))
            continue;
        report.compared = arg->array.count == expected.count;
        report.ok = check_arrays(run->ctx, str_dup(&run->ctx->arena, check->name), &arg->array,
                                 path, &expected, tolerance, &report.result);
        vec_push(&run->ctx->arena, &run->reports, report);
    }
}

static const char *device_name(const Run *run) {
    if (run->on_device)
        return run->device.name;
    return run->options.device == DEVICE_SIM ? "sim" : "cpu";
}

static void print_text(const Run *run) {
    const Compiled *compiled = &run->compiled;
    Str name = compiled->func ? compiled->func->name : compiled->facts.meta.name;
    cli_printf("%.*s on %s: grid (%u, %u, %u)", STR_ARG(name), device_name(run), run->grid[0],
               run->grid[1], run->grid[2]);
    if (run->on_device)
        cli_printf(", %d threads a block, %d registers, %d bytes of shared memory%s",
                   compiled->facts.meta.threads, compiled->facts.resources.registers,
                   compiled->facts.meta.shared_bytes,
                   compiled->from_cache ? ", from the cache" : "");
    cli_printf("\n");
    if (run->times.count)
        cli_printf("time %.4f ms (median of %u, least %.4f ms)\n", run->times.median,
                   run->times.count, run->times.least);
    for (size_t i = 0; i < run->reports.len; i++) {
        const CheckReport *report = &run->reports.data[i];
        if (report->ok)
            cli_printf("%.*s: %zu elements agree, largest difference %.3g, relative %.3g\n",
                       STR_ARG(report->name), report->result.count, report->result.max_abs,
                       report->result.max_rel);
    }
}

/* What was counted and clocked, as a page. */
static void write_page(Run *run) {
    Ctx *ctx = run->ctx;
    if (!run->options.page || !run->sim.counts)
        return;
    const TextList *given = &run->options.kernel.arguments;
    Report report = {.trace = &run->trace,
                     .label = "",
                     .arguments = given->data,
                     .argument_count = given->len,
                     .diags = &ctx->diags};
    report.profile = profile_make(ctx, run->sim.module, run->sim.counts, run->sim.time, run->grid);
    if (run->sim.time && run->sim.time->dram_us > 0)
        trace_loops_from_dram(&run->trace);
    report.findings = findings_make(&run->trace, report.profile);
    StrBuf text = strbuf(&ctx->arena);
    report_page(&report, 1, &text);
    cli_write_file(ctx, run->options.page, strbuf_str(&text));
}

/* Counts are of interest when the kernel was found wrong, too. */
static void print_counts(const Run *run) {
    StrBuf text = strbuf(&run->ctx->arena);
    if (!run->options.report || !run->sim.counts)
        return;
    sim_print_counts(run->sim.module, run->sim.counts, &text);
    cli_write(strbuf_str(&text));
}

static void json_checks(const Run *run, StrBuf *out) {
    strbuf_puts(out, "\"checks\": [");
    for (size_t i = 0; i < run->reports.len; i++) {
        const CheckReport *report = &run->reports.data[i];
        strbuf_printf(out, "%s{\"name\": ", i ? ", " : "");
        strbuf_json(out, report->name);
        strbuf_printf(out, ", \"ok\": %s", report->ok ? "true" : "false");
        if (report->compared)
            strbuf_printf(
                out,
                ", \"elements\": %zu, \"mismatches\": %zu, \"max_abs\": %.9g, \"max_rel\": %.9g",
                report->result.count, report->result.mismatches, report->result.max_abs,
                report->result.max_rel);
        strbuf_putc(out, '}');
    }
    strbuf_puts(out, "], ");
}

static void print_json(const Run *run, bool ok) {
    StrBuf out = strbuf(&run->ctx->arena);
    strbuf_printf(&out, "{\"ok\": %s, \"device\": ", ok ? "true" : "false");
    strbuf_json(&out, str_from(device_name(run)));
    strbuf_printf(&out, ", \"grid\": [%u, %u, %u], ", run->grid[0], run->grid[1], run->grid[2]);
    if (run->times.count)
        strbuf_printf(&out, "\"time_ms\": {\"median\": %.6f, \"least\": %.6f, \"count\": %u}, ",
                      run->times.median, run->times.least, run->times.count);
    json_checks(run, &out);
    if (run->compiled.facts.meta.target) {
        facts_json(&run->compiled.facts, &out);
        strbuf_printf(&out, ", \"from_cache\": %s, ", run->compiled.from_cache ? "true" : "false");
    }
    compiled_json_times(&run->compiled, &out);
    if (run->options.report && run->sim.counts) {
        strbuf_puts(&out, ", \"counts\": ");
        sim_json_counts(run->sim.module, run->sim.counts, &out);
    }
    strbuf_puts(&out, ", \"diagnostics\": ");
    diag_json(&run->ctx->diags, &out);
    strbuf_puts(&out, "}\n");
    cli_write(strbuf_str(&out));
}

static int report(Run *run, bool ran) {
    int status = cli_status(run->ctx);
    if (run->options.json) {
        print_json(run, status == STATUS_OK);
    } else {
        cli_print_diags(run->ctx);
        if (ran)
            print_text(run);
        print_counts(run);
    }
    if (run->options.time) {
        StrBuf times = strbuf(&run->ctx->arena);
        compiled_print_times(&run->compiled, &times);
        fwrite(times.ptr, 1, times.len, stderr);
    }
    return status;
}

int command_run(Ctx *ctx, int argc, char **argv) {
    Run *run = ARENA_NEW(&ctx->arena, Run);
    run->ctx = ctx;
    run->options.atol = run->options.rtol = -1;
    TextList arguments = {0};
    OptionsResult parsed =
        options_parse(&run_spec, &ctx->arena, argc, argv, &run->options, &arguments);
    if (parsed != OPTIONS_OK)
        return parsed == OPTIONS_HELP ? STATUS_OK : STATUS_USAGE;
    int status = prepare(run, arguments.data[0]);
    bool ran = status == STATUS_OK && execute(run);
    if (ran) {
        write_outputs(run);
        check_outputs(run);
        write_page(run);
    }
    if (status != STATUS_USAGE)
        status = report(run, ran);
    if (run->on_device)
        device_close(&run->device);
    driver_close(&run->driver);
    return status;
}
