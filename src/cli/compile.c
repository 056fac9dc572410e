/* `tilec compile`: a kernel to any stage. */
#include "cli/compile_ahead.h"
#include "runtime/launch/facts.h"
#include "runtime/status.h"
#include "support/file.h"

#include <stdio.h>
#include <unistd.h>

typedef struct CompileOptions {
    KernelOptions kernel;
    const char *output, *dump_folder;
    int64_t jobs;
    int emit; /* -1: from the output's name, else ptx */
    bool time, json;
} CompileOptions;

/* "|ast|tir|...|bundle|c|tvm-ffi", as AheadKind goes on. */
#define OUTPUT(id, name, file, summary) "|" name
static const char output_names[] =
#include "runtime/compile/outputs.def"
    "|bundle|c|tvm-ffi";
#define OUTPUT_CHOICES (output_names + 1)

#define OPTIONS_OF CompileOptions
static const Option compile_options[] = {
#include "cli/options/compile.def"
};

const CommandSpec compile_spec = {
    .name = "compile",
    .arguments = "FILE",
    .extensions = "tile|py|json",
    .description =
        "Compiles a kernel of a .tile or .py file to PTX, cubin or any stage before them; or a "
        "kernel, or all that a manifest (.json) lists, to a bundle, to C or to functions of "
        "tvm-ffi.",
    .notes = HELP_ENTRIES(KERNEL_TYPES_NOTE, TARGETS_NOTE),
    .examples = HELP_ENTRIES({"PTX for the default target",
                              "tilec compile softmax.tile \\\n"
                              "      -s \"*fp32:16, *fp32:16, i32:16, i32:16, i32:16, 1024\" -o "
                              "softmax.ptx"},
                             {"All variants that a manifest lists, as C",
                              "tilec compile kernels.json -t sm_80,sm_90a -o kernels.c"}),
    OPTION_TABLE(compile_options),
    .min_arguments = 1,
    .max_arguments = 1,
};

/* The kind whose name the file's extension is, PTX where it has none; -1 for another extension. */
static int kind_of_file(const char *path) {
    const char *name = path ? file_name(str_from(path)).ptr : "";
    const char *dot = strrchr(name, '.');
    if (!dot || dot == name)
        return OUTPUT_ptx;
    for (int i = 0; i < OUTPUT_COUNT; i++)
        if (!strcmp(dot + 1, output_info[i].name))
            return i;
    if (!strcmp(dot, ".bundle"))
        return AHEAD_BUNDLE;
    if (!strcmp(dot, ".c"))
        return AHEAD_C;
    return strcmp(dot, ".json") ? -1 : OUTPUT_meta;
}

static bool to_standard_output(const char *path) {
    return !path || !strcmp(path, "-");
}

static void write_output(Ctx *ctx, const CompileOptions *options, Str text) {
    if (to_standard_output(options->output)) {
        if (!options->json)
            cli_write(text);
        return;
    }
    int error = file_write(&ctx->arena, options->output, text, false);
    if (error)
        report_unwritable(&ctx->diags, options->output, error);
}

static void print_json(Ctx *ctx, const CompileOptions *options, const Compiled *compiled, bool ok) {
    StrBuf out = strbuf(&ctx->arena);
    strbuf_printf(&out, "{\"ok\": %s, \"output\": ", ok ? "true" : "false");
    if (ok && !to_standard_output(options->output))
        strbuf_json(&out, str_from(options->output));
    else
        strbuf_puts(&out, "null");
    if (ok && compiled->facts.meta.target) {
        strbuf_puts(&out, ", ");
        facts_json(&compiled->facts, &out);
    }
    strbuf_printf(&out, ", \"from_cache\": %s, ", compiled->from_cache ? "true" : "false");
    compiled_json_times(compiled, &out);
    strbuf_puts(&out, ", \"diagnostics\": ");
    diag_json(&ctx->diags, &out);
    strbuf_puts(&out, "}\n");
    cli_write(strbuf_str(&out));
}

static void print_times(Ctx *ctx, const Compiled *compiled) {
    StrBuf out = strbuf(&ctx->arena);
    compiled_print_times(compiled, &out);
    fwrite(out.ptr, 1, out.len, stderr);
}

static int compile_ahead(Ctx *ctx, const CompileOptions *options, const char *input,
                         AheadKind kind) {
    if (options->dump_folder || options->time)
        return cli_usage_error("%s goes with one kernel, not with bundles and C",
                               options->time ? "--time" : "--dump-dir");
    const AheadOptions ahead = {&options->kernel,
                                input,
                                to_standard_output(options->output) ? NULL : options->output,
                                kind,
                                options->jobs,
                                options->json};
    return ahead_compile(ctx, &ahead);
}

int command_compile(Ctx *ctx, int argc, char **argv) {
    CompileOptions options = {.emit = -1};
    TextList arguments = {0};
    OptionsResult parsed =
        options_parse(&compile_spec, &ctx->arena, argc, argv, &options, &arguments);
    if (parsed != OPTIONS_OK)
        return parsed == OPTIONS_HELP ? STATUS_OK : STATUS_USAGE;
    int kind = options.emit >= 0 ? options.emit : kind_of_file(options.output);
    if (kind < 0)
        return cli_usage_error(
            "what to write to '%s'? Its name ends in none of %s|json: add --emit", options.output,
            OUTPUT_CHOICES);
    const bool is_manifest = ahead_is_manifest(arguments.data[0]);
    if (is_manifest && kind < OUTPUT_COUNT)
        return cli_usage_error("a manifest becomes a bundle, C or tvm-ffi, not %s",
                               output_info[kind].name);
    if (is_manifest || kind >= OUTPUT_COUNT)
        return compile_ahead(ctx, &options, arguments.data[0], (AheadKind)kind);
    OutputKind emit = (OutputKind)kind;
    if (emit == OUTPUT_cubin && to_standard_output(options.output) && !options.json && isatty(1))
        return cli_usage_error("a cubin is not text: give a file with -o");
    Cache cache;
    CompileRequest request;
    Compiled compiled = {0};
    int status =
        cli_kernel_request(ctx, &options.kernel, arguments.data[0], NULL, &cache, &request);
    if (status == STATUS_USAGE)
        return status;
    request.want = 1u << emit;
    request.dump_folder = options.dump_folder;
    bool ok = status == STATUS_OK && cli_compile(ctx, &request, &compiled);
    if (ok)
        write_output(ctx, &options, compiled.outputs[emit]);
    status = cli_status(ctx);
    if (options.json)
        print_json(ctx, &options, &compiled, status == STATUS_OK);
    else
        cli_print_diags(ctx);
    if (options.time)
        print_times(ctx, &compiled);
    return status;
}
