/* See probe.h. */
#include "reduce/probe.h"

#include "runtime/status.h"
#include "runtime/tools/process.h"
#include "support/file.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <unistd.h>

const char *probe_find_program(Ctx *ctx, const char *name) {
    const char *found = strchr(name, '/') ? name : tool_find_on_path(&ctx->arena, name);
    if (!found)
        ctx_diag(ctx, (Span){0}, reduce_program, name);
    return found;
}

typedef struct Linking {
    Ctx *ctx;
    const char *from, *name; /* the folder, from the root; of the source */
    const WorkFolder *folder;
    DIR *open;
    int error;
} Linking;

static void link_entries(void *user) {
    Linking *l = user;
    errno = 0;
    for (struct dirent *entry; (entry = readdir(l->open)); errno = 0) {
        const char *name = entry->d_name;
        if (!strcmp(name, ".") || !strcmp(name, "..") || !strcmp(name, l->name))
            continue;
        const char *target = str_format(&l->ctx->arena, "%s/%s", l->from, name);
        if (symlink(target, work_file(l->ctx, l->folder, name)))
            break;
    }
    l->error = errno;
}

static void close_entries(void *user) {
    const Linking *l = user;
    closedir(l->open);
}

int probe_link_neighbours(Ctx *ctx, const char *source, const WorkFolder *folder) {
    const Str above = file_folder(str_from(source));
    char from[PATH_MAX];
    if (!realpath(above.len ? str_dup(&ctx->arena, above) : ".", from))
        return errno;
    Linking l = {.ctx = ctx,
                 .from = from,
                 .name = str_dup(&ctx->arena, file_name(str_from(source))),
                 .folder = folder,
                 .open = opendir(from)};
    if (!l.open)
        return errno;
    ctx_finally(ctx, link_entries, close_entries, &l);
    return l.error;
}

const char *probe_word(Arena *arena, const char *word, const char *text) {
    StrBuf out = strbuf(arena);
    for (const char *at = word; *at;) {
        if (at[0] == '{' && at[1] == '}') {
            strbuf_puts(&out, text);
            at += 2;
        } else {
            strbuf_putc(&out, *at++);
        }
    }
    return str_dup(arena, strbuf_str(&out));
}

/* A byte of zero would hide what is behind it. */
static bool matches(Arena *arena, const regex_t *pattern, Str output) {
    char *text = str_dup(arena, output);
    for (size_t i = 0; i < output.len; i++)
        text[i] = text[i] ? text[i] : ' ';
    return regexec(pattern, text, 0, NULL, 0) == 0;
}

static bool run(Probe *probe, Str text, const Words *words, ProbeEnd *end) {
    Ctx *ctx = probe->ctx;
    Arena *arena = &ctx->scratch;
    const char **argv = ARENA_ARRAY(arena, const char *, words->len + 1);
    for (size_t i = 0; i < words->len; i++)
        argv[i] = probe_word(arena, words->data[i], probe->file);
    argv[0] = probe->program;
    unlink(probe->file);
    int error = work_file_write(probe->file, text);
    if (error)
        return report_unwritable(&ctx->diags, probe->file, error);
    ProcessRequest request = {.argv = argv, .time_limit_ms = probe->timeout_ms};
    ProcessResult result;
    error = process_run(arena, &request, &result);
    if (error)
        return ctx_diag(ctx, (Span){0}, tool_failed, probe->program,
                        file_error_text(&ctx->arena, error));
    arena_check(arena);
    probe->runs++;
    *end = (ProbeEnd){.exit_code = result.timed_out ? -1 : result.exit_code,
                      .signal = result.timed_out ? 0 : result.signal,
                      .timed_out = result.timed_out};
    end->matched = !probe->pattern || matches(arena, probe->pattern, result.output);
    return true;
}

bool probe_run(Probe *probe, Str text, const Words *words, ProbeEnd *end) {
    const ArenaMark mark = arena_mark(&probe->ctx->scratch);
    const bool ok = run(probe, text, words, end);
    arena_rewind(&probe->ctx->scratch, mark);
    return ok;
}

bool probe_is_wanted(const Probe *probe, const ProbeEnd *end) {
    const ProbeEnd *wanted = &probe->wanted;
    return end->matched && end->exit_code == wanted->exit_code && end->signal == wanted->signal &&
           end->timed_out == wanted->timed_out;
}
