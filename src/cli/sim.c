/* `tilec sim`: runs a kernel of a PTX file on the simulator. */
#include "cli/run_sim.h"
#include "runtime/data/npy.h"
#include "support/file.h"

#include <errno.h>

typedef struct SimOptions {
    const char *kernel, *grid, *block, *cluster, *ptxas;
    TextList arguments, arrays, out;
    int64_t shared, max_steps, max_reports, threads;
    SimOrder order;
    bool report, json, check;
} SimOptions;

static const Option sim_options[] = {
    {'k', "kernel", OPTION_TEXT, "NAME", "the kernel to run; default: the only one",
     offsetof(SimOptions, kernel), 0, 0},
    {'a', "arg", OPTION_LIST, "NAME=DATA",
     "the next parameter: a number (1000, 1e-5:fp32), an array made here (randn:fp32[64,1000]), a "
     "file, a tensor map of an array (map:x[64,32]:swizzle=128B), or one by a recipe of a kernel's "
     "facts (recipe:f16 swizzle 128 ..)",
     offsetof(SimOptions, arguments), 0, 0},
    {0, "array", OPTION_LIST, "NAME=DATA", "an array that is no parameter, for tensor maps",
     offsetof(SimOptions, arrays), 0, 0},
    {'g', "grid", OPTION_TEXT, "EXPR", "programs (CTAs) to launch, as in '(8, 4)'",
     offsetof(SimOptions, grid), 0, 0},
    {'b', "block", OPTION_TEXT, "EXPR", "threads of a program; default: what .reqntid says",
     offsetof(SimOptions, block), 0, 0},
    {0, "cluster", OPTION_TEXT, "EXPR",
     "programs of a cluster; default: what .reqnctapercluster says", offsetof(SimOptions, cluster),
     0, 0},
    {0, "shared", OPTION_INT, "BYTES", "dynamic shared memory", offsetof(SimOptions, shared), 0,
     1 << 20},
    {0, "out", OPTION_LIST, "NAME=FILE", "write an array to a .npy file afterwards",
     offsetof(SimOptions, out), 0, 0},
    SIM_ORDER_OPTIONS(SimOptions, ""),
    {0, "max-steps", OPTION_INT, "N", "give up after N warp instructions",
     offsetof(SimOptions, max_steps), 1, INT64_MAX},
    {0, "threads", OPTION_INT, "N",
     "threads that run programs; default: one for each core where it pays",
     offsetof(SimOptions, threads), 1, 64},
    {0, "max-reports", OPTION_INT, "N", "stop after N findings; default: 10",
     offsetof(SimOptions, max_reports), 1, 1000},
    {0, "report", OPTION_FLAG, NULL, "print what was counted beside the lines of the source",
     offsetof(SimOptions, report), 0, 0},
    {0, "ptxas", OPTION_TEXT, "PATH",
     "the assembler that says how many registers the kernel takes; default: TILEC_PTXAS, "
     "CUDA_HOME, "
     "PATH; 'none': an estimate",
     offsetof(SimOptions, ptxas), 0, 0},
    {0, "json", OPTION_FLAG, NULL, "report as JSON on standard output", offsetof(SimOptions, json),
     0, 0},
    {0, "check-only", OPTION_FLAG, NULL, "read the file and list its kernels",
     offsetof(SimOptions, check), 0, 0},
};

static const CommandSpec sim_spec = {
    .name = "sim",
    .arguments = "FILE.ptx",
    .description = "Runs a kernel of a PTX file on the CPU, checks its accesses, races and "
                   "barriers, and counts what it costs.\n\n"
                   "  tilec sim softmax.ptx --grid 8 -a x=randn:fp32[8,1000] -a "
                   "y=zeros:fp32[8,1000] -a xs=1000 \\\n"
                   "      -a ys=1000 -a cols=1000 -a programs=8 --report",
    .options = sim_options,
    .option_count = sizeof sim_options / sizeof *sim_options,
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
    uint32_t count = (uint32_t)options->arguments.len;
    RunArg **ordered = ARENA_ARRAY(&ctx->arena, RunArg *, count + 1);
    for (uint32_t i = 0; i < count; i++)
        ordered[i] = &args.data[i];
    sim_run_args(ctx, module, &launch, ordered, count, NULL, &counts);
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
