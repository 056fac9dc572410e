/* `tilec opt`: passes over Tile IR as text, for tests and for looking at what a pass does. */
#include "cli/kernel_options.h"
#include "passes/passes.h"
#include "runtime/driver/choose_target.h"
#include "support/file.h"

#include <stdio.h>

typedef struct OptOptions {
    const char *passes, *target, *output;
    bool pipeline, check, list, spans, time;
} OptOptions;

#define OPTIONS_OF OptOptions
static const Option opt_options[] = {
#include "cli/options/opt.def"
};

const CommandSpec opt_spec = {
    .name = "opt",
    .arguments = "[FILE]",
    .extensions = "tir",
    .description = "Reads Tile IR, verifies it, runs passes on every function and prints it. FILE "
                   "- is standard input.",
    .examples = HELP_ENTRIES({"Two passes over a kernel's IR",
                              "tilec compile softmax.tile -e tir -o softmax.tir \\\n"
                              "      -s \"*fp32:16, *fp32:16, i32:16, i32:16, i32:16, 1024\"\n"
                              "  tilec opt softmax.tir -p simplify,choose-warps"}),
    OPTION_TABLE(opt_options),
    .max_arguments = 1,
};

enum { MAX_INPUT_BYTES = 256 << 20 };

typedef VEC(PassId) PassList;

static void list_properties(const char *what, PropertySet set) {
    if (set == NOTHING)
        return;
    cli_printf("    %-8s", what);
    for (int i = 0; i < PROPERTY_COUNT; i++)
        if (set >> i & 1)
            cli_printf(" %s", property_info[i].name);
    cli_printf("\n");
}

static int list_passes(void) {
    for (int i = 0; i < PASS_COUNT; i++) {
        const PassInfo *info = &pass_info[i];
        cli_printf("%-16s %s\n", info->name, info->summary);
        list_properties("requires", info->requires);
        list_properties("ensures", info->ensures);
        list_properties("clears", info->clears);
    }
    return STATUS_OK;
}

static int unknown_pass(Ctx *ctx, Str name) {
    Str names[PASS_COUNT];
    for (int i = 0; i < PASS_COUNT; i++)
        names[i] = str_from(pass_info[i].name);
    const char *word = str_dup(&ctx->arena, name);
    return cli_usage_error("unknown pass '%s'%s; see 'tilec opt --list'", word,
                           options_suggestion(&ctx->arena, word, names, PASS_COUNT));
}

static int parse_passes(Ctx *ctx, const char *text, PassList *passes) {
    while (text && *text) {
        Str name = {text, strcspn(text, ",")};
        PassId pass = pass_find(name);
        if (pass == PASS_COUNT)
            return unknown_pass(ctx, name);
        vec_push(&ctx->arena, passes, pass);
        text += name.len + (text[name.len] == ',');
    }
    return STATUS_OK;
}

static void report_pass(void *user, const Func *func, PassId pass, unsigned position, bool changed,
                        double milliseconds) {
    fprintf(stderr, "%.*s: %2u %-16s %-9s %8.3f ms\n", STR_ARG(func->name), position,
            pass_info[pass].name, changed ? "changed" : "unchanged", milliseconds);
}

static int write_module(Ctx *ctx, const Module *module, const OptOptions *options) {
    StrBuf text = strbuf(&ctx->arena);
    module_print(module, &(PrintOptions){.spans = options->spans}, &text);
    if (!options->output) {
        cli_write(strbuf_str(&text));
        return STATUS_OK;
    }
    int error = file_write(&ctx->arena, options->output, strbuf_str(&text), false);
    if (!error)
        return STATUS_OK;
    fprintf(stderr, "tilec: error: cannot write '%s': %s\n", options->output,
            file_error_text(&ctx->arena, error));
    return STATUS_MACHINE;
}

static int run_on_module(Ctx *ctx, Module *module, const PassList *passes, const Target *target,
                         const OptOptions *options) {
    PassContract contracts[PASS_COUNT] = {0};
    PipelineOptions pipeline = {.check = options->check,
                                .observe = options->time ? report_pass : NULL,
                                .contracts = contracts};
    bool ok = true;
    for (Func *func = module->funcs; ok && func; func = func->next) {
        if (target && func->capability == 0)
            func->capability = target->capability;
        ok = pipeline_run_passes(func, passes->data, (unsigned)passes->len, &pipeline) &&
             (!options->pipeline || pipeline_run(func, &pipeline));
    }
    cli_print_diags(ctx);
    if (options->check && options->time) {
        StrBuf table = strbuf(&ctx->arena);
        contracts_print(contracts, &table);
        fwrite(table.ptr, 1, table.len, stderr);
    }
    return ok ? write_module(ctx, module, options) : STATUS_INPUT;
}

static int read_module(Ctx *ctx, const char *path, Module **module) {
    Str text;
    int error = file_read(&ctx->arena, cli_input(path), MAX_INPUT_BYTES, &text);
    if (error) {
        fprintf(stderr, "tilec: error: cannot read '%s': %s\n", path,
                file_error_text(&ctx->arena, error));
        return STATUS_INPUT;
    }
    *module = module_parse(ctx, source_add(&ctx->sources, str_from(path), text));
    if (!*module)
        cli_print_diags(ctx);
    return *module ? STATUS_OK : STATUS_INPUT;
}

int command_opt(Ctx *ctx, int argc, char **argv) {
    OptOptions options = {0};
    TextList arguments = {0};
    PassList passes = {0};
    Module *module = NULL;
    OptionsResult parsed = options_parse(&opt_spec, &ctx->arena, argc, argv, &options, &arguments);
    if (parsed != OPTIONS_OK)
        return parsed == OPTIONS_HELP ? STATUS_OK : STATUS_USAGE;
    if (options.list)
        return list_passes();
    if (arguments.len == 0)
        return cli_usage_error("no file given; see 'tilec opt --help'");
    int status = parse_passes(ctx, options.passes, &passes);
    if (status != STATUS_OK)
        return status;
    const Target *target =
        options.target ? choose_target(&ctx->diags, str_from(options.target), NULL, NULL) : NULL;
    if (options.target && !target)
        return cli_status(ctx);
    status = read_module(ctx, arguments.data[0], &module);
    return status == STATUS_OK ? run_on_module(ctx, module, &passes, target, &options) : status;
}
