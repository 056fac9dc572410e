/* `tilec reduce`: the least source and command that still go wrong. */
#include "cli/kernel_options.h"
#include "cli/progress.h"
#include "reduce/search.h"
#include "support/file.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

typedef struct ReduceOptions {
    const char *output, *match;
    double timeout;
    bool arguments, json, quiet;
} ReduceOptions;

#define OPTIONS_OF ReduceOptions
static const Option reduce_options[] = {
#include "cli/options/reduce.def"
};

const CommandSpec reduce_spec = {
    .name = "reduce",
    .arguments = "FILE -o FILE -- COMMAND...",
    .extensions = "tile|py",
    .description =
        "Leaves out of a source, by its grammar, whatever a command does not need to fail as it "
        "does: with the same exit status or signal, and a match of --match in its output. {} in "
        "the command stands for the file. Prints the command for what is left.",
    .notes = HELP_ENTRIES(
        {"The command", "It is run as it is given, by no shell, in the working directory; sh -c "
                        "'..' makes one. The file has its own name and lies in a folder with "
                        "links to its neighbours. Candidates that do not parse are not run, and "
                        "no candidate twice."},
        {"Interrupting", "SIGINT ends the search; the output file is the least source so far at "
                         "any time."}),
    .examples =
        HELP_ENTRIES({"What of a kernel gives a sum of floats",
                      "tilec reduce vector_add.tile -o least.tile -m addf -- \\\n"
                      "      tilec compile {} -s \"*fp32, *fp32, *fp32, i32, 1024\" --emit tir"}),
    OPTION_TABLE(reduce_options),
    .min_arguments = 2,
    .max_arguments = SIZE_MAX,
};

typedef struct Reducing {
    Ctx *ctx;
    const ReduceOptions *options;
    ReduceRequest request;
    ReduceStep last; /* its text and words lie in the context's arena */
    Words words;
    Progress progress;
    const char *kind; /* that progress was told of */
    ReduceSize told;
    bool has_failed, ok;
} Reducing;

static bool is_output(const Reducing *r) {
    return cli_is_output(r->options->output);
}

/* ---- progress ---- */

static void show_step(Reducing *r, const ReduceStep *step) {
    char what[200];
    const size_t first = step->first.bytes ? step->first.bytes : 1;
    snprintf(what, sizeof what, "%s: %zu of %zu lines, %zu runs", step->kind, step->now.lines,
             step->first.lines, step->runs);
    if (step->improved) {
        progress_show(&r->progress, 1 - (double)step->now.bytes / (double)first, what);
        return;
    }
    if (step->now.bytes == r->told.bytes)
        return;
    progress_end(&r->progress);
    fprintf(stderr, "%s: %zu lines, %zu bytes -> %zu lines, %zu bytes; %zu runs\n", step->kind,
            r->told.lines, r->told.bytes, step->now.lines, step->now.bytes, step->runs);
    r->told = step->now;
}

static bool take_step(void *user, const ReduceStep *step) {
    Reducing *r = user;
    r->last = *step;
    r->words = *step->words;
    r->last.words = &r->words;
    if (!r->has_failed)
        r->told = step->first;
    r->has_failed = true;
    if (!r->options->quiet)
        show_step(r, step);
    return !step->improved || is_output(r) ||
           cli_write_file(r->ctx, r->options->output, step->text);
}

/* ---- the result ---- */

static bool is_plain(const char *word) {
    for (const char *at = word; *at; at++)
        if (!((*at >= 'a' && *at <= 'z') || (*at >= 'A' && *at <= 'Z') ||
              (*at >= '0' && *at <= '9') || strchr("_./:=,+@%^-", *at)))
            return false;
    return *word != 0;
}

/* A word as a shell reads it. */
static void print_word(FILE *out, const char *word) {
    if (is_plain(word)) {
        fputs(word, out);
        return;
    }
    fputc('\'', out);
    for (; *word; word++)
        if (*word == '\'')
            fputs("'\\''", out);
        else
            fputc(*word, out);
    fputc('\'', out);
}

/* The name that stands for what is left, in the command. */
static const char *output_name(const Reducing *r) {
    return is_output(r) ? "-" : r->options->output;
}

static void print_command(const Reducing *r, FILE *out) {
    for (size_t i = 0; i < r->last.words->len; i++) {
        if (i)
            fputc(' ', out);
        print_word(out, probe_word(&r->ctx->arena, r->last.words->data[i], output_name(r)));
    }
    fputc('\n', out);
}

static void print_json(const Reducing *r, int status) {
    StrBuf out = strbuf(&r->ctx->arena);
    strbuf_printf(&out, "{\"ok\": %s", status == STATUS_OK ? "true" : "false");
    if (r->has_failed)
        strbuf_printf(&out,
                      ", \"runs\": %zu, \"lines\": [%zu, %zu], \"bytes\": [%zu, %zu], "
                      "\"command\": [",
                      r->last.runs, r->last.first.lines, r->last.now.lines, r->last.first.bytes,
                      r->last.now.bytes);
    for (size_t i = 0; r->has_failed && i < r->last.words->len; i++) {
        strbuf_puts(&out, i ? ", " : "");
        strbuf_json(&out,
                    str_from(probe_word(&r->ctx->arena, r->last.words->data[i], output_name(r))));
    }
    strbuf_puts(&out, r->has_failed ? "]" : "");
    strbuf_puts(&out, ", \"diagnostics\": ");
    diag_json(&r->ctx->diags, &out);
    strbuf_puts(&out, "}\n");
    cli_write(strbuf_str(&out));
}

static void search(void *user) {
    Reducing *r = user;
    r->ok = reduce_search(r->ctx, &r->request);
}

/* Also when the search was interrupted: nothing is taken from the arena here. */
static void finish(void *user) {
    Reducing *r = user;
    progress_end(&r->progress);
    if (!r->has_failed)
        return;
    if (!r->options->quiet)
        fprintf(stderr, "%s%zu lines, %zu bytes -> %zu lines, %zu bytes; %zu runs\n",
                r->ok ? "" : "stopped: ", r->last.first.lines, r->last.first.bytes,
                r->last.now.lines, r->last.now.bytes, r->last.runs);
    if (is_output(r)) {
        cli_write(r->last.text);
        fflush(stdout);
    }
}

static void reduce(void *user) {
    Reducing *r = user;
    ctx_finally(r->ctx, search, finish, r);
}

static int check_words(const ReduceOptions *options, const Words *words) {
    bool has_file = false;
    for (size_t i = 1; i < words->len; i++)
        has_file |= strstr(words->data[i], "{}") != NULL;
    if (!options->output)
        return cli_usage_error("no output file: add -o FILE");
    if (!has_file)
        return cli_usage_error("the command has no {}, which stands for the file");
    if (options->json && cli_is_output(options->output))
        return cli_usage_error("--json and the source cannot both be on standard output");
    return STATUS_OK;
}

int command_reduce(Ctx *ctx, int argc, char **argv) {
    ReduceOptions options = {.timeout = 60};
    TextList arguments = {0};
    const OptionsResult parsed =
        options_parse(&reduce_spec, &ctx->arena, argc, argv, &options, &arguments);
    if (parsed != OPTIONS_OK)
        return parsed == OPTIONS_HELP ? STATUS_OK : STATUS_USAGE;
    Words words = {0};
    for (size_t i = 1; i < arguments.len; i++)
        vec_push(&ctx->arena, &words, arguments.data[i]);
    int status = check_words(&options, &words);
    if (status != STATUS_OK)
        return status;
    Reducing r = {.ctx = ctx, .options = &options, .progress = progress_begin()};
    r.request = (ReduceRequest){.path = arguments.data[0],
                                .command = &words,
                                .match = options.match,
                                .timeout_ms = 1000 * options.timeout,
                                .arguments = options.arguments,
                                .step = take_step,
                                .user = &r};
    setenv("PYTHONDONTWRITEBYTECODE", "1", 1); /* a folder that it made would stay */
    if (cli_try_write(ctx, options.output))
        cli_interruptible(ctx, reduce, &r);
    status = cli_status(ctx);
    if (options.json) {
        print_json(&r, status);
    } else if (status == STATUS_OK && r.has_failed) {
        print_command(&r, is_output(&r) ? stderr : stdout);
    }
    return status;
}
