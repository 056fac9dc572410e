/* `tilec tune`: measures the configurations of a kernel for all sizes of a list, into the cache. */
#include "cli/tune.h"

#include "cli/run.h"
#include "runtime/status.h"
#include "runtime/tune/exchange.h"
#include "support/file.h"

#include <stdio.h>

#define OPTIONS_OF TuneOptions
static const Option tune_options[] = {
#include "cli/options/tune.def"
};

const CommandSpec tune_spec = {
    .name = "tune",
    .arguments = "[FILE]",
    .extensions = "tile|py",
    .description = "Measures the configurations that @triton.autotune or --vary lists, or that the "
                   "compiler makes, on the GPU, for every shape of a list, and keeps what it finds "
                   "in the cache, where calls find it. What is known is not measured again.",
    .notes = HELP_ENTRIES(
        {"Shapes",
         "A JSON object: \"file\", \"kernel\", \"args\" by name as `tilec run -a` takes them, with "
         "sizes in them (\"randn:fp16[M, K]\"), \"constexprs\", \"grid\", and \"shapes\", sizes by "
         "name, of lists every combination. \"constexprs\" are what a program gives its function "
         "as options, \"args\" what it gives its calls."},
        {"Faults",
         "Measuring is done by a process of its own. A configuration that faults there, or does "
         "not end within --limit-ms, is struck out, and another process goes on."},
        DATA_NOTE),
    .examples = HELP_ENTRIES({"For all sizes of a list; then for other machines of this kind",
                              "tilec tune --shapes shapes.json --export tunings.json"}),
    OPTION_TABLE(tune_options),
    .max_arguments = 1,
};

OptionsResult tune_parse(Ctx *ctx, int argc, char **argv, TuneOptions *options,
                         TextList *arguments) {
    *options = (TuneOptions){.limit_ms = TUNE_LIMIT_MS};
    return options_parse(&tune_spec, &ctx->arena, argc, argv, options, arguments);
}

int tune_shapes(Ctx *ctx, TuneOptions *options, const TextList *arguments, ShapesFile *shapes) {
    int status = STATUS_OK;
    if (!options->shapes)
        status = run_one_shape(ctx, &options->kernel.arguments, options->grid, shapes);
    else if (!shapes_read(ctx, options->shapes, shapes))
        status = cli_status(ctx);
    if (status != STATUS_OK)
        return status;
    if (arguments->len)
        shapes->path = arguments->data[0];
    if (!options->kernel.kernel && shapes->kernel.len)
        options->kernel.kernel = str_dup(&ctx->arena, shapes->kernel);
    if (options->grid)
        shapes->grid = str_from(options->grid);
    NamedText named;
    for (size_t i = 0; i < options->kernel.arguments.len; i++)
        if (!cli_split_named(options->kernel.arguments.data[i], "--arg", &named))
            return STATUS_USAGE;
    for (size_t i = 0; i < options->kernel.defines.len; i++)
        if (!cli_split_named(options->kernel.defines.data[i], "--define", &named))
            return STATUS_USAGE;
    for (size_t i = 0; i < options->vary.len; i++)
        if (!cli_split_named(options->vary.data[i], "--vary", &named))
            return STATUS_USAGE;
    if (!shapes->path)
        return cli_usage_error("no kernel: add its FILE");
    if (!strcmp(shapes->path, "-"))
        return cli_usage_error("tilec tune reads kernels from files, not from standard input");
    if (!shapes->grid.len)
        return cli_usage_error("no grid: add --grid, as in --grid \"cdiv(n, BLOCK)\"");
    return STATUS_OK;
}

/* What came of it */

static void print_answer(const Shape *shape, const TuneAnswer *answer, int width) {
    if (!answer->ok) {
        cli_printf("%-*s  -\n", width, shape->text);
        return;
    }
    cli_printf("%-*s  ", width, shape->text);
    if (answer->ms > 0)
        cli_printf("%10.2f us", answer->ms * 1e3);
    else
        cli_printf("%13s", "");
    cli_printf("  %.*s  (%" PRId64 " measured, %" PRId64 " known, %" PRId64 " struck out)\n",
               STR_ARG(answer->config), answer->measured, answer->known,
               (int64_t)answer->struck_count);
    for (uint32_t i = 0; i < answer->struck_count; i++)
        cli_printf("    %.*s is struck out: %.*s\n", STR_ARG(answer->struck[i].name),
                   STR_ARG(answer->struck[i].text));
}

static void print_table(const ShapesFile *shapes, const TuneAnswer *answers) {
    int width = 0;
    for (uint32_t i = 0; i < shapes->count; i++)
        width = (int)strlen(shapes->shapes[i].text) > width ? (int)strlen(shapes->shapes[i].text)
                                                            : width;
    for (uint32_t i = 0; i < shapes->count; i++) {
        fwrite(answers[i].said.ptr, 1, answers[i].said.len, stderr);
        print_answer(&shapes->shapes[i], &answers[i], width);
    }
}

/* The command so far: what was imported, what came of shapes, what was written. */
typedef struct Done {
    const ShapesFile *shapes;
    const TuneAnswer *answers; /* NULL: nothing was tuned */
    TuneAnswer failure;        /* why not */
    bool has_imported, has_exported;
    uint32_t imported, exported;
    int status;
} Done;

static void print_json(Ctx *ctx, const TuneOptions *options, const Done *done) {
    StrBuf out = strbuf(&ctx->arena);
    strbuf_printf(&out, "{\"ok\": %s", done->status == STATUS_OK ? "true" : "false");
    if (done->answers) {
        strbuf_puts(&out, ", \"shapes\": [");
        for (uint32_t i = 0; i < done->shapes->count; i++)
            strbuf_printf(&out, "%s%.*s", i ? ", " : "", STR_ARG(done->answers[i].json));
        strbuf_puts(&out, "]");
    }
    if (done->has_imported)
        strbuf_printf(&out, ", \"imported\": %u", done->imported);
    if (done->has_exported)
        strbuf_printf(&out, ", \"exported\": %u", done->exported);
    strbuf_puts(&out, ", \"diagnostics\": ");
    diag_json(&ctx->diags, &out);
    strbuf_puts(&out, "}\n");
    cli_write(done->failure.json.len ? done->failure.json : strbuf_str(&out));
}

static void print_text(Ctx *ctx, const TuneOptions *options, const Done *done) {
    if (done->answers)
        print_table(done->shapes, done->answers);
    fwrite(done->failure.said.ptr, 1, done->failure.said.len, stderr);
    cli_print_diags(ctx);
    if (done->has_imported)
        cli_printf("%u configurations imported\n", done->imported);
    if (done->has_exported && !cli_is_output(options->export_path))
        cli_printf("%u configurations exported\n", done->exported);
}

/* Files of measurements */

static bool import_file(Ctx *ctx, Cache *cache, const char *path, uint32_t *count) {
    enum { IMPORT_LIMIT = 256 << 20 };
    Str text;
    const int error = file_read(&ctx->arena, cli_input(path), IMPORT_LIMIT, &text);
    const Str name = str_from(strcmp(path, "-") ? path : "<stdin>");
    if (error)
        return report_unreadable(&ctx->diags, name.ptr, error);
    return exchange_import(ctx, cache, source_add(&ctx->sources, name, text), count);
}

static bool export_file(Ctx *ctx, Cache *cache, const char *path, Str kernel, uint32_t *count) {
    const Str text = exchange_export(ctx, cache, kernel, count);
    return cli_write_file(ctx, path, text);
}

/* What was measured of the kernel that was tuned or is named, else of all. A kernel of which no
 * shape could be tuned, and that nothing names, has nothing. */
static void export_found(Ctx *ctx, const TuneOptions *options, Cache *cache, Done *done) {
    const char *named = options->kernel.kernel;
    Str kernel = str_from(named ? named : "");
    for (uint32_t i = 0; !kernel.len && done->answers && i < done->shapes->count; i++)
        kernel = done->answers[i].kernel;
    if (kernel.len || !done->answers)
        done->has_exported = export_file(ctx, cache, options->export_path, kernel, &done->exported);
}

static int tune_all(Ctx *ctx, TuneOptions *options, const TextList *arguments, Cache *cache,
                    char **argv, int argc, Done *done) {
    ShapesFile *shapes = ARENA_NEW(&ctx->arena, ShapesFile);
    const int status = tune_shapes(ctx, options, arguments, shapes);
    if (status != STATUS_OK)
        return status;
    TuneAnswer *answers = ARENA_ARRAY(&ctx->arena, TuneAnswer, (size_t)shapes->count + 1);
    if (!tune_run(ctx, options, shapes, cache, argv, argc, answers, &done->failure))
        return (int)done->failure.status;
    done->shapes = shapes;
    done->answers = answers;
    int64_t failed = STATUS_OK;
    for (uint32_t i = 0; i < shapes->count && failed == STATUS_OK; i++)
        failed = answers[i].status;
    return (int)failed;
}

int command_tune(Ctx *ctx, int argc, char **argv) {
    TuneOptions options;
    TextList arguments = {0};
    const OptionsResult parsed = tune_parse(ctx, argc, argv, &options, &arguments);
    if (parsed != OPTIONS_OK)
        return parsed == OPTIONS_HELP ? STATUS_OK : STATUS_USAGE;
    const bool tunes = arguments.len || options.shapes;
    if (!tunes && !options.import_path && !options.export_path)
        return cli_usage_error("nothing to do: add a FILE, --shapes, --import or --export");
    Cache cache;
    Done done = {.status = STATUS_OK};
    const CacheConfig config = {.folder = options.kernel.cache,
                                .trusted = options.kernel.trusted_caches,
                                .remote = options.kernel.remote_cache};
    cache_open(&cache, &ctx->arena, &config);
    cache_report(&cache, &ctx->diags, 0);
    if (!cache.folder && !cache.remote)
        return cli_usage_error("there is no cache to keep what is measured in");
    bool ok = cli_try_write(ctx, options.export_path);
    if (ok && options.import_path)
        ok = done.has_imported = import_file(ctx, &cache, options.import_path, &done.imported);
    if (ok && tunes)
        done.status = tune_all(ctx, &options, &arguments, &cache, argv, argc, &done);
    if (done.status == STATUS_USAGE)
        return done.status;
    if (ok && options.export_path && (done.answers || !tunes))
        export_found(ctx, &options, &cache, &done);
    if (done.status == STATUS_OK)
        done.status = cli_status(ctx);
    (options.json ? print_json : print_text)(ctx, &options, &done);
    return done.status;
}
