/* `tilec prewarm`: all that manifests list, into the caches. */
#include "cli/kernel_options.h"
#include "cli/progress.h"
#include "runtime/status.h"
#include "support/file.h"

#include <stdio.h>

typedef struct PrewarmOptions {
    KernelOptions kernel;
    int64_t jobs;
    bool json;
} PrewarmOptions;

#define OPTIONS_OF PrewarmOptions
static const Option prewarm_options[] = {
#include "cli/options/prewarm.def"
};

const CommandSpec prewarm_spec = {
    .name = "prewarm",
    .arguments = "MANIFEST...",
    .extensions = "json",
    .description =
        "Compiles what manifests list and the caches lack, in all forms that calls look up, so "
        "that programs find it; no GPU is needed. A manifest is written by hand, or recorded from "
        "a "
        "program that runs with TILEC_RECORD set; '-' is standard input.",
    .notes = HELP_ENTRIES(TARGETS_NOTE),
    .examples = HELP_ENTRIES({"What TILEC_RECORD=kernels.json recorded, for an image",
                              "tilec prewarm kernels.json -t sm_90a --cache-dir image/tilec"}),
    OPTION_TABLE(prewarm_options),
    .min_arguments = 1,
    .max_arguments = SIZE_MAX,
};

static bool read_manifest(Ctx *ctx, const char *path, const PlanDefaults *defaults, Plan *plan) {
    enum { MANIFEST_LIMIT = 64 << 20 };
    Str text;
    if (strcmp(path, "-"))
        return manifest_read(ctx, path, defaults, plan);
    const int error = file_read(&ctx->arena, cli_input(path), MANIFEST_LIMIT, &text);
    return error ? report_unreadable(&ctx->diags, "<stdin>", error)
                 : manifest_parse(ctx, source_add(&ctx->sources, STR("<stdin>"), text), defaults,
                                  plan);
}

static void print_json(Ctx *ctx, size_t total, BuildSums sums, bool ok) {
    StrBuf out = strbuf(&ctx->arena);
    strbuf_printf(&out,
                  "{\"ok\": %s, \"kernels\": %zu, \"compiled\": %zu, \"found\": %zu, "
                  "\"failed\": %zu, \"diagnostics\": ",
                  ok ? "true" : "false", total, sums.compiled, sums.found, sums.failed);
    diag_json(&ctx->diags, &out);
    strbuf_puts(&out, "}\n");
    cli_write(strbuf_str(&out));
}

static int prewarm(Ctx *ctx, const PrewarmOptions *options, const Plan *plan) {
    Built *built = ARENA_ARRAY(&ctx->arena, Built, plan->len + 1);
    progress_build(ctx, plan, (unsigned)options->jobs, true, built);
    const BuildSums sums = build_report(ctx, plan, built);
    const int status = cli_status(ctx); /* which printing forgets */
    if (options->json) {
        print_json(ctx, plan->len, sums, status == STATUS_OK);
    } else {
        progress_messages(built, plan->len);
        cli_print_diags(ctx);
        cli_printf("%zu kernel%s: %zu compiled, %zu found, %zu failed\n", plan->len,
                   plan->len == 1 ? "" : "s", sums.compiled, sums.found, sums.failed);
    }
    build_release(built, plan->len);
    return status;
}

int command_prewarm(Ctx *ctx, int argc, char **argv) {
    PrewarmOptions options = {0};
    TextList arguments = {0};
    const OptionsResult parsed =
        options_parse(&prewarm_spec, &ctx->arena, argc, argv, &options, &arguments);
    if (parsed != OPTIONS_OK)
        return parsed == OPTIONS_HELP ? STATUS_OK : STATUS_USAGE;
    Cache cache;
    Plan plan = {0};
    PlanDefaults defaults = {0};
    defaults.targets = progress_targets(ctx, options.kernel.target, &defaults.target_count);
    options.kernel.target = NULL;
    int status =
        cli_kernel_request(ctx, &options.kernel, "<manifest>", NULL, &cache, &defaults.request);
    if (status == STATUS_USAGE)
        return status;
    if (status == STATUS_OK && !cache.folder && !cache.remote)
        return cli_usage_error("there is no cache to compile into");
    bool ok = status == STATUS_OK;
    vec_for_each (path, &arguments)
        ok = ok && read_manifest(ctx, *path, &defaults, &plan);
    if (ok)
        return prewarm(ctx, &options, &plan);
    status = cli_status(ctx);
    if (options.json)
        print_json(ctx, 0, (BuildSums){0}, false);
    else
        cli_print_diags(ctx);
    return status;
}
