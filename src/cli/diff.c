/* `tilec diff`: two compilations of a kernel side by side. */
#include "cli/kernel_options.h"
#include "inspect/compare.h"
#include "runtime/status.h"
#include "runtime/tools/ptxas.h"
#include "support/file.h"

typedef struct DiffOptions {
    /* Of one side. */
    KernelOptions kernel;
    int64_t threads, shared;
    /* Of the command. */
    const char *a, *b, *save;
    TextList limits;
    bool all, lines, json;
} DiffOptions;

#define OPTIONS_OF DiffOptions
static const Option diff_options[] = {
#include "cli/options/diff.def"
};
static const Option side_options[] = {
#include "cli/options/side.def"
};

/* "registers: registers of a thread, ..": what may be held to limits. */
static const char measures_note[] =
    "NAME of --limit is one of these; VALUE says by how much B may be worse, where more is worse "
    "but for ctas and resident-warps, and any change is for warps, loops and tensor."
#define MEASURE(id, name, unit, better, group, what, taken) " " name ": " what "."
#include "inspect/measures.def"
    ;

const CommandSpec diff_spec = {
    .name = "diff",
    .arguments = "A [B]",
    .extensions = "tile|py|ptx|json",
    .description =
        "Compares the code of two kernels: registers, shared memory, instructions by class, loops. "
        "A and B are sources (.tile, .py), PTX of any compiler (.ptx), or what --save wrote "
        "(.json); without B the same file in two ways, as --a and --b say.",
    .notes = HELP_ENTRIES({"Measures", measures_note}, KERNEL_TYPES_NOTE, TARGETS_NOTE),
    .examples = HELP_ENTRIES(
        {"A kernel on two targets, the second of which is held to a limit",
         "tilec diff softmax.tile -s \"*fp32, *fp32, i32, i32, i32, 1024\" -t sm_90a \\\n"
         "      --b \"-t sm_80\" --limit live-registers=50%"}),
    OPTION_TABLE(diff_options),
    .min_arguments = 1,
    .max_arguments = 2,
};

/* What --a and --b take. */
static const CommandSpec side_spec = {
    .name = "diff",
    .arguments = "",
    .description = "Options of one of the two kernels.",
    OPTION_TABLE(side_options),
};

enum { MAX_FILE = 1 << 28 };

/* One side: what it is, and how it is made. */
typedef struct Side {
    const char *name; /* "A" */
    const char *path;
    DiffOptions options;
    CodeFacts facts;
} Side;

/* The words of a text, as a shell splits it. False after a message. */
static bool split_words(Arena *arena, const char *option, const char *text, TextList *words) {
    const Str all = str_from(text);
    size_t at = 0;
    StrWord word;
    while (str_next_word(arena, all, &at, &word)) {
        if (word.is_open) {
            cli_usage_error("%s: a quote is not closed in '%s'", option, text);
            return false;
        }
        vec_push(arena, words, word.text.ptr);
    }
    return true;
}

/* The options of both, and those of one side, which win. */
static OptionsResult side_parse(Ctx *ctx, const DiffOptions *common, const char *option,
                                const char *text, DiffOptions *side) {
    *side = *common;
    TextList words = {0}, arguments = {0};
    vec_push(&ctx->arena, &words, "diff");
    if (text && !split_words(&ctx->arena, option, text, &words))
        return OPTIONS_BAD;
    char **argv = ARENA_ARRAY(&ctx->arena, char *, words.len + 1);
    for (size_t i = 0; i < words.len; i++)
        argv[i] = str_dup(&ctx->arena, str_from(words.data[i]));
    /* What is added to a list must not go into the list of both. */
    for (size_t i = 0; i < side_spec.option_count; i++)
        if (side_options[i].kind == OPTION_LIST) {
            TextList *list = (TextList *)((char *)side + side_options[i].offset);
            list->cap = list->len;
            list->data = arena_grow(&ctx->arena, list->data, list->len * sizeof *list->data,
                                    (list->len + 1) * sizeof *list->data);
        }
    const OptionsResult parsed =
        options_parse(&side_spec, &ctx->arena, (int)words.len, argv, side, &arguments);
    if (text) {
        options_keep_last(&side->kernel.arguments);
        options_keep_last(&side->kernel.defines);
    }
    return parsed;
}

static bool ends_in(const char *path, const char *extension) {
    const char *dot = strrchr(path, '.');
    return dot && !strcmp(dot, extension);
}

/* The number of the file as a source; 0 after a report. */
static uint32_t read_file(Ctx *ctx, const char *path) {
    Str text;
    const int error = file_read(&ctx->arena, path, MAX_FILE, &text);
    if (error) {
        report_unreadable(&ctx->diags, path, error);
        return 0;
    }
    return source_add(&ctx->sources, str_from(path), text);
}

/* Remarks of compilations that went well are dropped: they are what `tilec compile` says. */
static bool compile_side(Ctx *ctx, const CompileRequest *request, Compiled *compiled) {
    const DiagMark before = diag_mark(&ctx->diags);
    const bool ok = cli_compile(ctx, request, compiled);
    if (ok && ctx->diags.warnings == before.warnings)
        diag_rewind(&ctx->diags, before);
    return ok;
}

/* Compiles a source. The exit status. */
static int read_source(Ctx *ctx, Side *side) {
    Cache cache;
    CompileRequest request;
    Compiled compiled = {0};
    const int status =
        cli_kernel_request(ctx, &side->options.kernel, side->path, NULL, &cache, &request);
    if (status != STATUS_OK)
        return status;
    request.want = OUTPUT_BIT(ptx);
    if (ptxas_find(&ctx->arena, request.ptxas))
        request.want |= OUTPUT_BIT(cubin);
    if (!compile_side(ctx, &request, &compiled))
        return cli_status(ctx);
    const KernelMeta *meta = &compiled.facts.meta;
    const char *name = str_format(&ctx->arena, "<PTX of %s>", side->name);
    CodeRequest code = {.path = side->path,
                        .kernel = meta->name,
                        .ptxas = request.ptxas,
                        .resources = compiled.facts.resources,
                        .threads = meta->threads,
                        .dynamic_shared = meta->shared_bytes};
    code.file = source_add(&ctx->sources, str_from(name), compiled.outputs[OUTPUT_ptx]);
    return code_inspect(ctx, &code, &side->facts) ? STATUS_OK : cli_status(ctx);
}

static int read_ptx(Ctx *ctx, Side *side) {
    const DiffOptions *options = &side->options;
    CodeRequest code = {.path = side->path,
                        .kernel = str_from(options->kernel.kernel ? options->kernel.kernel : ""),
                        .ptxas = options->kernel.ptxas,
                        .threads = (int32_t)options->threads,
                        .dynamic_shared = options->shared};
    code.file = read_file(ctx, side->path);
    return code.file && code_inspect(ctx, &code, &side->facts) ? STATUS_OK : cli_status(ctx);
}

static int read_saved(Ctx *ctx, Side *side) {
    const uint32_t file = read_file(ctx, side->path);
    return file && code_read(ctx, file, side->path, &side->facts) ? STATUS_OK : cli_status(ctx);
}

static int read_side(Ctx *ctx, Side *side) {
    return ends_in(side->path, ".ptx")    ? read_ptx(ctx, side)
           : ends_in(side->path, ".json") ? read_saved(ctx, side)
                                          : read_source(ctx, side);
}

/* False after a message. */
static bool parse_limits(Ctx *ctx, const DiffOptions *options, MeasureLimit *limits) {
    for (size_t i = 0; i < options->limits.len; i++) {
        const char *problem;
        if (limit_parse(&ctx->arena, options->limits.data[i], &limits[i], &problem))
            continue;
        cli_usage_error("--limit: %s", problem);
        return false;
    }
    return true;
}

/* Holds B to the limits. Reports those on what is not measured. */
static void check_limits(Ctx *ctx, const MeasureLimit *limits, size_t count, CodeComparison *c) {
    LimitResult *results = ARENA_ARRAY(&ctx->arena, LimitResult, count + 1);
    for (size_t i = 0; i < count; i++) {
        const char *problem;
        if (limit_check(&ctx->arena, &limits[i], c->a, c->b, &results[c->limit_count], &problem))
            c->limit_count++;
        else
            ctx_diag(ctx, (Span){0}, diff_not_measured, STR_ARG(limits[i].text), problem);
    }
    c->limits = results;
}

static bool save_facts(Ctx *ctx, const char *path, const CodeFacts *facts) {
    StrBuf out = strbuf(&ctx->arena);
    code_json(facts, &out);
    strbuf_putc(&out, '\n');
    return cli_write_file(ctx, path, strbuf_str(&out));
}

static void print_json(Ctx *ctx, const CodeComparison *comparison, bool ok) {
    StrBuf out = strbuf(&ctx->arena);
    strbuf_printf(&out, "{\"ok\": %s, ", ok ? "true" : "false");
    if (comparison) {
        compare_json(comparison, &out);
        strbuf_puts(&out, ",\n");
    }
    strbuf_puts(&out, "\"diagnostics\": ");
    diag_json(&ctx->diags, &out);
    strbuf_puts(&out, "}\n");
    cli_write(strbuf_str(&out));
}

static bool all_hold(const CodeComparison *c) {
    for (uint32_t i = 0; i < c->limit_count; i++)
        if (!c->limits[i].holds)
            return false;
    return true;
}

/* The exit status of what was compared, and what is said of it. NULL: one file was saved only. */
static int finish(Ctx *ctx, const DiffOptions *options, const CodeComparison *c) {
    int status = cli_status(ctx);
    if (status == STATUS_OK && c && !all_hold(c))
        status = STATUS_INPUT;
    if (options->json) {
        print_json(ctx, c, status == STATUS_OK);
        return status;
    }
    cli_print_diags(ctx);
    if (c) {
        const CompareView view = {options->all, options->lines};
        StrBuf out = strbuf(&ctx->arena);
        compare_print(c, &view, &out);
        cli_write(strbuf_str(&out));
    }
    return status;
}

static int compare_sides(Ctx *ctx, const DiffOptions *options, Side *a, Side *b,
                         const MeasureLimit *limits) {
    int status = read_side(ctx, a);
    if (status == STATUS_OK && options->save && !save_facts(ctx, options->save, &a->facts))
        status = cli_status(ctx);
    if (status == STATUS_OK && b)
        status = read_side(ctx, b);
    if (status == STATUS_USAGE)
        return status;
    if (status != STATUS_OK || !b)
        return finish(ctx, options, NULL);
    CodeComparison comparison = compare_code(&ctx->arena, &a->facts, &b->facts);
    check_limits(ctx, limits, options->limits.len, &comparison);
    return finish(ctx, options, &comparison);
}

int command_diff(Ctx *ctx, int argc, char **argv) {
    DiffOptions options = {.shared = -1};
    TextList arguments = {0};
    OptionsResult parsed = options_parse(&diff_spec, &ctx->arena, argc, argv, &options, &arguments);
    if (parsed != OPTIONS_OK)
        return parsed == OPTIONS_HELP ? STATUS_OK : STATUS_USAGE;
    const char *path = arguments.data[0];
    const bool is_two = arguments.len == 2 || options.a || options.b;
    Side a = {.name = "A", .path = path};
    Side b = {.name = "B", .path = arguments.len == 2 ? arguments.data[1] : path};
    if (!is_two && !options.save)
        return cli_usage_error(
            "what is '%s' to be compared with? Add a second file, or --b \"OPTIONS\"", path);
    if (!is_two && options.limits.len)
        return cli_usage_error("--limit holds a second kernel to the first, and there is none");
    MeasureLimit *limits = ARENA_ARRAY(&ctx->arena, MeasureLimit, options.limits.len + 1);
    if (!parse_limits(ctx, &options, limits))
        return STATUS_USAGE;
    parsed = side_parse(ctx, &options, "--a", options.a, &a.options);
    if (parsed == OPTIONS_OK)
        parsed = side_parse(ctx, &options, "--b", options.b, &b.options);
    if (parsed != OPTIONS_OK)
        return parsed == OPTIONS_HELP ? STATUS_OK : STATUS_USAGE;
    return compare_sides(ctx, &options, &a, is_two ? &b : NULL, limits);
}
