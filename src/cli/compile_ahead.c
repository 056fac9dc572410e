/* See compile_ahead.h. */
#include "cli/compile_ahead.h"

#include "cli/progress.h"
#include "runtime/ahead/emit.h"
#include "runtime/driver/choose_target.h"
#include "runtime/status.h"
#include "support/file.h"

#include <stdio.h>
#include <unistd.h>

bool ahead_is_manifest(const char *path) {
    const size_t len = strlen(path);
    return len > 5 && !strcmp(path + len - 5, ".json");
}

/* One source, for each of the targets. */
static bool plan_source(Ctx *ctx, const PlanDefaults *defaults, const char *path, Plan *plan) {
    for (uint32_t i = 0; i < (defaults->target_count ? defaults->target_count : 1); i++) {
        Planned planned = {.request = defaults->request, .path = str_from(path)};
        planned.request.want = OUTPUT_BIT(cubin);
        planned.request.target = choose_target(
            &ctx->diags, defaults->target_count ? defaults->targets[i] : STR(""), NULL, NULL);
        if (!planned.request.target)
            return false;
        vec_push(&ctx->arena, plan, planned);
    }
    return true;
}

/* What a manifest says itself. */
static const char *option_for_sources(const KernelOptions *o) {
    return o->kernel          ? "--kernel"
           : o->signature     ? "--signature"
           : o->arguments.len ? "--arg"
           : o->defines.len   ? "--define"
           : o->num_warps     ? "--num-warps"
           : o->num_stages    ? "--num-stages"
           : o->num_ctas      ? "--num-ctas"
                              : NULL;
}

/* Writing */

static const Variant *all_variants(Ctx *ctx, const Built *built, size_t len, uint32_t *count) {
    Variant *variants = ARENA_ARRAY(&ctx->arena, Variant, FORM_SETS * len + 1);
    *count = 0;
    for (size_t i = 0; i < len; i++)
        for (uint32_t j = 0; j < built[i].count; j++)
            variants[(*count)++] = built[i].variants[j];
    return variants;
}

static bool write_file(Ctx *ctx, const char *path, Str data) {
    const int error = file_write(&ctx->arena, path, data, false);
    return !error || report_unwritable(&ctx->diags, path, error);
}

static bool write_bundle(Ctx *ctx, const AheadOptions *options, const Variant *variants,
                         uint32_t count) {
    StrBuf out = strbuf(&ctx->arena);
    bundle_write(variants, count, &out);
    if (options->output)
        return write_file(ctx, options->output, strbuf_str(&out));
    if (!options->json)
        cli_write(strbuf_str(&out));
    return true;
}

static bool write_tvm_ffi(Ctx *ctx, const AheadOptions *options, const Variant *variants,
                          uint32_t count) {
    StrBuf c = strbuf(&ctx->arena);
    if (!emit_tvm_ffi(ctx, variants, count, &c))
        return false;
    if (options->output)
        return write_file(ctx, options->output, strbuf_str(&c));
    if (!options->json)
        cli_write(strbuf_str(&c));
    return true;
}

/* NAME.c and NAME.h, or NAME and NAME.h: both, or none. */
static bool write_c(Ctx *ctx, const AheadOptions *options, const Variant *variants,
                    uint32_t count) {
    Str stem = str_from(options->output);
    if (stem.len > 2 && !strcmp(options->output + stem.len - 2, ".c"))
        stem.len -= 2;
    const char *header = str_format(&ctx->arena, "%.*s.h", STR_ARG(stem));
    StrBuf c = strbuf(&ctx->arena), h = strbuf(&ctx->arena);
    if (!emit_c(ctx, variants, count, file_name(stem), &c, &h) ||
        !write_file(ctx, header, strbuf_str(&h)))
        return false;
    if (write_file(ctx, options->output, strbuf_str(&c)))
        return true;
    unlink(header);
    return false;
}

static void print_report(Ctx *ctx, const AheadOptions *options, const Built *built, size_t len,
                         const Variant *variants, uint32_t count, bool ok) {
    StrBuf out = strbuf(&ctx->arena);
    strbuf_printf(&out, "{\"ok\": %s, \"output\": ", ok ? "true" : "false");
    if (ok && options->output)
        strbuf_json(&out, str_from(options->output));
    else
        strbuf_puts(&out, "null");
    strbuf_puts(&out, ", \"variants\": [");
    for (uint32_t i = 0; i < count; i++) {
        strbuf_printf(&out, "%s{\"path\": ", i ? ", " : "");
        strbuf_json(&out, variants[i].path);
        strbuf_printf(&out, ", \"other_form\": %s, \"in_place\": %s, ",
                      variants[i].forms & FORM_PLAIN ? "true" : "false",
                      variants[i].forms & FORM_IN_PLACE ? "true" : "false");
        facts_json(&variants[i].facts, &out);
        strbuf_putc(&out, '}');
    }
    strbuf_puts(&out, "], \"diagnostics\": [");
    StrBuf own = strbuf(&ctx->arena);
    diag_json(&ctx->diags, &own);
    const char *separator = "";
    for (size_t i = 0; i <= len; i++) {
        const Str list = i < len ? built[i].said_json : strbuf_str(&own);
        if (list.len <= 2)
            continue;
        strbuf_printf(&out, "%s%.*s", separator, (int)list.len - 2, list.ptr + 1);
        separator = ", ";
    }
    strbuf_puts(&out, "]}\n");
    cli_write(strbuf_str(&out));
}

/* The first failure's status. */
static int status_of_built(const Built *built, size_t len) {
    for (size_t i = 0; i < len; i++) {
        if (built[i].count)
            continue;
        return built[i].failed == DIAG_COUNT ? STATUS_MACHINE : cli_status_of_id(built[i].failed);
    }
    return STATUS_OK;
}

static int build_and_write(Ctx *ctx, const AheadOptions *options, const Plan *plan) {
    Built *built = ARENA_ARRAY(&ctx->arena, Built, plan->len + 1);
    progress_build(ctx, plan, (unsigned)options->jobs, false, built);
    int status = status_of_built(built, plan->len);
    uint32_t count;
    const Variant *variants = all_variants(ctx, built, plan->len, &count);
    if (status == STATUS_OK) {
        switch (options->kind) {
        case AHEAD_BUNDLE:
            write_bundle(ctx, options, variants, count);
            break;
        case AHEAD_C:
            write_c(ctx, options, variants, count);
            break;
        case AHEAD_TVM_FFI:
            write_tvm_ffi(ctx, options, variants, count);
            break;
        }
        status = cli_status(ctx);
    }
    if (options->json)
        print_report(ctx, options, built, plan->len, variants, count, status == STATUS_OK);
    else {
        progress_messages(built, plan->len);
        cli_print_diags(ctx);
    }
    build_release(built, plan->len);
    return status;
}

int ahead_compile(Ctx *ctx, const AheadOptions *options) {
    KernelOptions kernel = *options->kernel;
    PlanDefaults defaults = {0};
    defaults.targets = progress_targets(ctx, kernel.target, &defaults.target_count);
    kernel.target = NULL;
    const bool is_manifest = ahead_is_manifest(options->input);
    const char *option = option_for_sources(&kernel);
    if (is_manifest && option)
        return cli_usage_error("%s goes with a source; a manifest says it itself", option);
    if (options->kind == AHEAD_C && !options->output)
        return cli_usage_error("C is two files: give the name of one with -o");
    if (options->kind == AHEAD_BUNDLE && !options->output && isatty(STDOUT_FILENO))
        return cli_usage_error("a bundle is not text: give a file with -o");
    Cache cache;
    int status = cli_kernel_request(ctx, &kernel, options->input, NULL, &cache, &defaults.request);
    if (status == STATUS_USAGE)
        return status;
    Plan plan = {0};
    if (status == STATUS_OK && (is_manifest ? manifest_read(ctx, options->input, &defaults, &plan)
                                            : plan_source(ctx, &defaults, options->input, &plan)))
        return build_and_write(ctx, options, &plan);
    status = cli_status(ctx); /* which printing forgets */
    if (options->json)
        print_report(ctx, options, NULL, 0, NULL, 0, false);
    else
        cli_print_diags(ctx);
    return status;
}
