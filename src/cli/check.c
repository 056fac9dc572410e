/* `tilec check`: everything that can be said about files without compiling them. */
#include "cli/check.h"
#include "inspect/sarif.h"
#include "runtime/compile/build_info.h"
#include "runtime/compile/folder.h"
#include "runtime/status.h"

#include <errno.h>
#include <stdio.h>
#include <unistd.h>

typedef struct CheckOptions {
    KernelOptions kernel;
    const char *sarif;
    int64_t jobs;
    bool json;
} CheckOptions;

#define OPTIONS_OF CheckOptions
static const Option check_options[] = {
#include "cli/options/check.def"
};

const CommandSpec check_spec = {
    .name = "check",
    .arguments = "FILE...",
    .extensions = "tile|py",
    .description = "Parses files, or those of folders, and lists their kernels. A kernel whose "
                   "types are given, by annotations in the source or by -s, -a and -D, is also "
                   "type-checked: elaborated to Tile IR and verified.",
    .notes = HELP_ENTRIES(
        {"Several files",
         "Each is checked by itself, and the last line counts what was found. -s, -a and -D are "
         "for the kernel that -k names, in whichever files have it. Of folders the .tile and .py "
         "files with kernels are checked, also in those below; a .py file without any is passed "
         "over wherever it is named. Exit status: the worst of any file."},
        KERNEL_TYPES_NOTE, TARGETS_NOTE),
    .examples = HELP_ENTRIES(
        {"The kernels of a file, one of them with its types",
         "tilec check softmax.tile -k softmax \\\n"
         "      -s \"*fp32, *fp32, i32, i32, i32, 1024\""},
        {"All kernels below a folder, for a code host", "tilec check . --sarif tilec.sarif"}),
    OPTION_TABLE(check_options),
    .min_arguments = 1,
    .max_arguments = SIZE_MAX,
};

static const char *const checked_text[] = {"parsed; give types with -s to check them", "checked",
                                           "wrong"};
static const char *const checked_name[] = {"parsed", "checked", "wrong"};

typedef struct Check {
    Ctx *ctx;
    const CheckOptions *options;
    CompileRequest request;
    CheckedFiles files;
    bool several; /* several files were asked for, or a folder: the form of the output */
    int status;
} Check;

static bool sarif_is_output(const CheckOptions *options) {
    return options->sarif && cli_is_output(options->sarif);
}

/* ---- as text ---- */

static const char *plural(size_t count) {
    return count == 1 ? "" : "s";
}

/* The last line. */
static Str count_all(const Check *check) {
    size_t kernels[CHECKED_COUNT] = {0}, files = 0, passed_over = 0, all = 0;
    unsigned errors = check->ctx->diags.errors, warnings = check->ctx->diags.warnings;
    StrBuf out = strbuf(&check->ctx->arena);
    vec_for_each (file, &check->files) {
        passed_over += file->passed_over;
        files += !file->passed_over;
        all += file->kernels.len;
        errors += file->no_memory + (file->kept ? file->kept->diags.errors : 0);
        warnings += file->kept ? file->kept->diags.warnings : 0;
        vec_for_each (kernel, &file->kernels)
            kernels[kernel->checked]++;
    }
    strbuf_printf(&out, "%zu file%s, %zu kernel%s: %zu checked, %zu parsed, %zu wrong; ", files,
                  plural(files), all, plural(all), kernels[CHECKED_TYPED], kernels[CHECKED_PARSED],
                  kernels[CHECKED_WRONG]);
    strbuf_printf(&out, "%u error%s, %u warning%s", errors, plural(errors), warnings,
                  plural(warnings));
    if (passed_over)
        strbuf_printf(&out, "; %zu file%s passed over", passed_over, plural(passed_over));
    strbuf_putc(&out, '\n');
    return strbuf_str(&out);
}

static void print_kernels(const CheckedFile *file) {
    vec_for_each (kernel, &file->kernels)
        cli_printf("%.*s: %s\n", STR_ARG(kernel->name), checked_text[kernel->checked]);
    if (file->passed_over)
        cli_printf("%.*s: no kernels\n", STR_ARG(file->path));
}

static void print_text(const Check *check) {
    const bool is_apart = sarif_is_output(check->options);
    const Str counts = count_all(check); /* which printing forgets */
    vec_for_each (file, &check->files) {
        if (file->kept)
            cli_print_diags(file->kept);
        if (file->no_memory)
            fprintf(stderr, "tilec: error: out of memory checking '%.*s'\n", STR_ARG(file->path));
        if (!check->several && !is_apart)
            print_kernels(file);
    }
    cli_print_diags(check->ctx);
    if (check->several)
        fwrite(counts.ptr, 1, counts.len, is_apart ? stderr : stdout);
}

/* ---- as JSON ---- */

static void add_json(const Check *check, const CheckedFile *file, StrBuf *out) {
    strbuf_printf(out, "{\"ok\": %s, \"kernels\": [", file->status == STATUS_OK ? "true" : "false");
    vec_for_each (kernel, &file->kernels) {
        strbuf_puts(out, kernel == file->kernels.data ? "{\"name\": " : ", {\"name\": ");
        strbuf_json(out, kernel->name);
        strbuf_printf(out, ", \"state\": \"%s\"}", checked_name[kernel->checked]);
    }
    strbuf_puts(out, "], \"diagnostics\": ");
    if (file->kept)
        diag_json(&file->kept->diags, out);
    else
        strbuf_puts(out, "[]");
    if (check->several) {
        strbuf_puts(out, ", \"file\": ");
        strbuf_json(out, file->path);
    }
    strbuf_putc(out, '}');
}

/* An object for one file, a list of them where several were asked for. */
static void print_json(const Check *check) {
    StrBuf out = strbuf(&check->ctx->arena);
    bool first = true;
    strbuf_puts(&out, check->several ? "[" : "");
    vec_for_each (file, &check->files) {
        if (check->several && file->passed_over)
            continue;
        strbuf_puts(&out, first ? "" : ",\n ");
        first = false;
        add_json(check, file, &out);
    }
    strbuf_puts(&out, check->several ? "]\n" : "\n");
    cli_write(strbuf_str(&out));
}

/* ---- as SARIF ---- */

static bool write_sarif(Check *check) {
    static const Diags nothing;
    Arena *arena = &check->ctx->arena;
    enum { PATH_SIZE = 4096 };
    char folder[PATH_SIZE];
    StrBuf out = strbuf(arena);
    SarifFile *files = ARENA_ARRAY(arena, SarifFile, check->files.len + 2);
    SarifRun run = {.version = build_version,
                    .information = TILEC_HOMEPAGE,
                    .folder = str_from(getcwd(folder, sizeof folder) ? folder : ""),
                    .files = files,
                    .exit_code = check->status};
    vec_for_each (file, &check->files)
        if (!file->passed_over)
            files[run.file_count++] =
                (SarifFile){file->path, file->kept ? &file->kept->diags : &nothing, file->unread};
    if (check->ctx->diags.first && check->files.len)
        files[run.file_count++] = (SarifFile){check->files.data[0].path, &check->ctx->diags, true};
    sarif_add(&run, &out);
    return cli_write_file(check->ctx, check->options->sarif, strbuf_str(&out));
}

/* ---- the command ---- */

/* What is wrong with the options is said once, as of a file that was not looked at. */
static void report_request(Check *check, const char *argument) {
    CheckedFile file = {.path = str_from(argument),
                        .unread = true,
                        .kept = ctx_create(),
                        .status = cli_status(check->ctx)};
    if (!file.kept || setjmp(file.kept->oom))
        longjmp(*check->ctx->arena.oom, 1);
    diag_append(&file.kept->diags, &check->ctx->diags);
    diag_rewind(&check->ctx->diags, (DiagMark){0});
    check->files.len = 0;
    vec_push(&check->ctx->arena, &check->files, file);
}

static bool types_have_kernel(const Check *check) {
    return !check->several || !check_has_types(&check->request.kernel) ||
           check->request.kernel.kernel.len;
}

/* Where several files may lack the kernel, one must have it. */
static void find_wanted(Check *check) {
    const Str wanted = check->request.kernel.kernel;
    bool is_found = !check->several || !wanted.len;
    vec_for_each (file, &check->files)
        is_found |= file->has_wanted || file->status != STATUS_OK;
    if (!is_found)
        ctx_diag(check->ctx, (Span){0}, elab_unknown_kernel, STR_ARG(wanted),
                 STR_ARG(STR("any of the files")));
}

static int report(Check *check) {
    vec_for_each (file, &check->files)
        check->status = file->status > check->status ? file->status : check->status;
    find_wanted(check);
    int of_all = cli_status(check->ctx);
    check->status = of_all > check->status ? of_all : check->status;
    if (check->options->sarif && !write_sarif(check))
        of_all = cli_status(check->ctx);
    if (check->options->json)
        print_json(check);
    else
        print_text(check);
    return of_all > check->status ? of_all : check->status;
}

int command_check(Ctx *ctx, int argc, char **argv) {
    CheckOptions options = {0};
    TextList arguments = {0};
    OptionsResult parsed =
        options_parse(&check_spec, &ctx->arena, argc, argv, &options, &arguments);
    if (parsed != OPTIONS_OK)
        return parsed == OPTIONS_HELP ? STATUS_OK : STATUS_USAGE;
    if (options.json && sarif_is_output(&options))
        return cli_usage_error("--json and --sarif cannot both be on standard output");
    const char *path = arguments.data[0];
    vec_for_each (argument, &arguments)
        path = strcmp(*argument, "-") ? path : "-";
    Cache cache;
    Check check = {.ctx = ctx, .options = &options};
    int status = cli_kernel_request(ctx, &options.kernel, path, NULL, &cache, &check.request);
    if (status == STATUS_USAGE)
        return status;
    check.several = arguments.len > 1 || folder_is(ctx, &check.request);
    if (!types_have_kernel(&check))
        return cli_usage_error("-s, -a and -D are for one kernel: with several files add -k");
    if (status == STATUS_OK && compile_choose_warnings(ctx, &check.request) &&
        check_collect(ctx, &arguments, &check.request, &check.files))
        check_files(ctx, &check.request, (unsigned)options.jobs, &check.files);
    else
        report_request(&check, arguments.data[0]);
    status = report(&check);
    check_release(&check.files);
    return status;
}
