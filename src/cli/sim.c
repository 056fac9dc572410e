/* `tilec sim`: runs a kernel of a PTX file on the simulator. */
#include "cli/run_sim.h"
#include "runtime/data/npy.h"
#include "support/file.h"

#include <errno.h>

typedef struct SimOptions {
    const char *kernel, *grid, *block, *cluster, *ptxas, *time;
    TextList arguments, arrays, out;
    int64_t shared, max_steps, max_reports, threads;
    SimOrder order;
    bool report, json, check;
} SimOptions;

#define OPTIONS_OF SimOptions
static const Option sim_options[] = {
#include "cli/options/sim.def"
};

const CommandSpec sim_spec = {
    .name = "sim",
    .arguments = "FILE.ptx",
    .extensions = "ptx",
    .description = "Runs a kernel of a PTX file on the CPU, checks its accesses, races and "
                   "barriers, and counts what it costs.",
    .notes = HELP_ENTRIES(DATA_NOTE, {"Tensor maps",
                                      "-a NAME=map:ARRAY[64,32]:swizzle=128B is a map of boxes of "
                                      "an array; -a \"NAME=recipe:f16 swizzle 128 ..\" one by a "
                                      "recipe of a kernel's facts (tilec compile --emit meta)."}),
    .examples =
        HELP_ENTRIES({"What softmax.ptx of `tilec compile --help` costs",
                      "tilec sim softmax.ptx -g 8 -a x=randn:fp32[8,1024] \\\n"
                      "      -a y=zeros:fp32[8,1024] -a xs=1024 -a ys=1024 -a cols=1024 \\\n"
                      "      -a programs=8 --report"}),
    OPTION_TABLE(sim_options),
    .min_arguments = 1,
    .max_arguments = 1,
};

enum { MAX_PTX = 1 << 28 };

static SimModule *read_module(Ctx *ctx, const char *path, Str *text) {
    int error = file_read(&ctx->arena, cli_input(path), MAX_PTX, text);
    if (error) {
        ctx_diag(ctx, (Span){0}, file_unreadable, path, file_error_text(&ctx->arena, error));
        return NULL;
    }
    return sim_parse(ctx, source_add(&ctx->sources, str_from(path), *text));
}

static void list_kernels(const SimModule *module) {
    for (uint32_t i = 0; i < sim_kernel_count(module); i++) {
        SimKernel kernel = sim_kernel(module, i);
        cli_printf("%.*s: %u parameters, %" PRIu64 " bytes of static shared memory\n",
                   STR_ARG(kernel.name), kernel.param_count, kernel.static_shared);
    }
}

static bool read_sizes(Ctx *ctx, const char *text, uint32_t sizes[3]) {
    return !text || grid_evaluate(ctx, str_from(text), NULL, 0, sizes);
}

/* Of a program or a cluster; what is left out is what the kernel says, which 0 stands for. */
static bool read_shape(Ctx *ctx, const char *text, const char *what, uint32_t sizes[3]) {
    if (!read_sizes(ctx, text, sizes))
        return false;
    if (!text || (sizes[0] && sizes[1] && sizes[2]))
        return true;
    cli_usage_error("--%s %s: no size of a %s is 0", what, text, what);
    return false;
}

static int write_arrays(Ctx *ctx, const SimOptions *options, const RunArgs *args) {
    for (size_t i = 0; i < options->out.len; i++) {
        NamedText file;
        if (!cli_split_named(options->out.data[i], "--out", &file))
            return STATUS_USAGE;
        const RunArg *arg = run_find_arg(args, file.name);
        if (!arg || !arg->is_array)
            return cli_usage_error("--out %s: there is no array argument '%.*s'",
                                   options->out.data[i], STR_ARG(file.name));
        npy_write(ctx, str_dup(&ctx->arena, file.text), &arg->array);
    }
    return STATUS_OK;
}

static void print_result(Ctx *ctx, const SimOptions *options, const SimModule *module,
                         const SimCounts *counts) {
    StrBuf out = strbuf(&ctx->arena);
    if (options->json) {
        strbuf_printf(&out, "{\"ok\": %s, \"diagnostics\": ", ctx->diags.errors ? "false" : "true");
        diag_json(&ctx->diags, &out);
        strbuf_puts(&out, ", \"counts\": ");
        if (counts)
            sim_json_counts(module, counts, &out);
        else
            strbuf_puts(&out, "null");
        strbuf_puts(&out, "}\n");
    } else {
        cli_print_diags(ctx);
        if (options->report && counts)
            sim_print_counts(module, counts, &out);
    }
    cli_write(strbuf_str(&out));
}

/* Arguments in their order, then arrays that are none. Tensor maps are read when all arrays are. */
static bool read_args(Ctx *ctx, const SimOptions *options, RunArgs *args) {
    TextList texts = {0};
    for (size_t i = 0; i < options->arguments.len; i++) {
        NamedText named;
        const char *text = options->arguments.data[i];
        if (!cli_split_named(text, "--arg", &named))
            return false;
        bool is_map = sim_is_map(named.text);
        vec_push(&ctx->arena, &texts,
                 is_map ? str_format(&ctx->arena, "%.*s=None", STR_ARG(named.name)) : text);
    }
    for (size_t i = 0; i < options->arrays.len; i++)
        vec_push(&ctx->arena, &texts, options->arrays.data[i]);
    if (!run_read_args(ctx, &texts, args))
        return false;
    for (size_t i = 0; i < options->arguments.len; i++) {
        NamedText named;
        cli_split_named(options->arguments.data[i], "--arg", &named);
        if (sim_is_map(named.text) &&
            !(args->data[i].map = sim_read_map(ctx, args, named.name, named.text)))
            return false;
    }
    return true;
}

static RunArg **in_order(Ctx *ctx, const SimOptions *options, RunArgs *args) {
    size_t count = options->arguments.len;
    RunArg **ordered = ARENA_ARRAY(&ctx->arena, RunArg *, count + 1);
    for (size_t i = 0; i < count; i++)
        ordered[i] = run_owner(args, &args->data[i]);
    return ordered;
}

static int predict_time(Ctx *ctx, const SimOptions *options, SimModule *module, Str text,
                        RunArgs *args, SimLaunch *launch) {
    SimTimeOptions wanted = {0};
    SimTime time;
    StrBuf out = strbuf(&ctx->arena);
    Resources resources = sim_ask_resources(ctx, module, launch->kernel, options->ptxas, text);
    wanted.registers = (uint32_t)resources.registers;
    wanted.spilled = (uint32_t)(resources.spill_stores + resources.spill_loads);
    wanted.device = str_is(str_from(options->time), "auto") ? STR("") : str_from(options->time);
    bool ok = sim_time_args(ctx, module, launch, in_order(ctx, options, args),
                            (uint32_t)options->arguments.len, &wanted, &time);
    if (options->json) {
        strbuf_printf(&out, "{\"ok\": %s, \"diagnostics\": ", ok ? "true" : "false");
        diag_json(&ctx->diags, &out);
        strbuf_puts(&out, ", \"time\": ");
    } else {
        cli_print_diags(ctx);
    }
    if (ok)
        (options->json ? sim_json_time : sim_print_time)(&time, &out);
    if (options->json)
        strbuf_puts(&out, ok ? "}\n" : "null}\n");
    cli_write(strbuf_str(&out));
    return cli_status(ctx);
}

static int run_module(Ctx *ctx, const SimOptions *options, SimModule *module, Str text) {
    RunArgs args = {0};
    SimLaunch launch = {.kernel = options->kernel ? str_from(options->kernel) : (Str){0},
                        .dynamic_shared = (uint64_t)options->shared,
                        .schedule = (SimSchedule)options->order.schedule,
                        .seed = (uint64_t)options->order.seed,
                        .early = options->order.early,
                        .max_reports = (unsigned)options->max_reports,
                        .max_steps = (uint64_t)options->max_steps,
                        .threads = (unsigned)options->threads};
    SimCounts *counts = NULL;
    if (!read_args(ctx, options, &args))
        return ctx->diags.errors ? STATUS_INPUT : STATUS_USAGE;
    if (!read_sizes(ctx, options->grid, launch.grid) ||
        !read_shape(ctx, options->block, "block", launch.block) ||
        !read_shape(ctx, options->cluster, "cluster", launch.cluster))
        return ctx->diags.errors ? STATUS_INPUT : STATUS_USAGE;
    if (options->time)
        return predict_time(ctx, options, module, text, &args, &launch);
    uint32_t count = (uint32_t)options->arguments.len;
    sim_run_args(ctx, module, &launch, in_order(ctx, options, &args), count, &counts);
    if (counts && (options->report || options->json))
        sim_ask_registers(ctx, module, launch.kernel, options->ptxas, text, counts);
    int status = write_arrays(ctx, options, &args);
    if (status == STATUS_OK)
        status = cli_status(ctx);
    print_result(ctx, options, module, counts);
    return status;
}

int command_sim(Ctx *ctx, int argc, char **argv) {
    SimOptions options = {0};
    TextList arguments = {0};
    OptionsResult parsed = options_parse(&sim_spec, &ctx->arena, argc, argv, &options, &arguments);
    if (parsed != OPTIONS_OK)
        return parsed == OPTIONS_HELP ? STATUS_OK : STATUS_USAGE;
    if (!options.check && !options.grid)
        return cli_usage_error("no grid: add --grid, as in --grid 8");
    Str text;
    SimModule *module = read_module(ctx, arguments.data[0], &text);
    int status = STATUS_INPUT;
    if (module && options.check) {
        list_kernels(module);
        status = STATUS_OK;
    } else if (module) {
        status = run_module(ctx, &options, module, text);
    }
    cli_print_diags(ctx);
    return status;
}
