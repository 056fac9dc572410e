/* `tilec tune`, the side that starts processes which measure, watches them, and ends them. */
#include "cli/progress.h"
#include "cli/tune.h"
#include "runtime/tools/process.h"
#include "support/file.h"

#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

/* A process notices by itself what does not end, unless a call of the driver does not come back;
 * SLACK_MS later it is ended. */
enum { SLACK_MS = 1000, TICK_NS = 10 * 1000 * 1000 };
/* Of a whole process: as long as it gets on with it. */
#define NO_LIMIT_MS 1e12

typedef struct Host {
    Ctx *ctx;
    const TuneOptions *options;
    const ShapesFile *shapes;
    Cache *cache;
    const char **command; /* the process's words */
    TuneAnswer *answers, *failure;
    uint32_t next;       /* shape that has no answer yet */
    uint32_t left;       /* configurations of it that the process before had to measure */
    const Cancel *outer; /* of the command; NULL: none */
    int board_fd, answer_fd;
    TuneBoard *board;
    Arena arena; /* of a process */
    Cancel cancel;
    bool is_open, is_watched;
    pthread_t watcher;
    atomic_bool ended;
    Str overdue; /* what did not end in its time, as the board had it; empty: nothing */
    Progress progress;
    ProcessResult result;
    char overdue_text[TUNE_BOARD_ENTRY];
} Host;

uint64_t tune_clock_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

/* Watching, in a thread of its own while this one waits for the process */

static void show(Host *h) {
    const TuneBoard *board = h->board;
    const uint32_t shape = board->shape, looked = board->looked, count = board->count;
    char what[512];
    if (shape >= h->shapes->count || !count)
        return;
    snprintf(what, sizeof what, "%u of %u: %s, configuration %u of %u", shape + 1, h->shapes->count,
             h->shapes->shapes[shape].text, looked, count);
    progress_show(&h->progress, (shape + (double)looked / count) / h->shapes->count, what);
}

/* What runs for too long is taken down before its process is ended. */
static void end_overdue(Host *h) {
    const TuneBoard *board = h->board;
    const uint64_t limit = (uint64_t)(h->options->limit_ms + SLACK_MS) * 1000000;
    const uint64_t since = board->since, now = tune_clock_ns();
    if (!since || now < since || now - since <= limit || h->overdue.len)
        return;
    const size_t len = board->entry_len <= TUNE_BOARD_ENTRY ? board->entry_len : 0;
    memcpy(h->overdue_text, board->entry, len);
    if (board->since != since)
        return;
    h->overdue = (Str){h->overdue_text, len};
    cancel_request(&h->cancel);
}

static void *watch(void *user) {
    Host *h = user;
    while (!h->ended) {
        end_overdue(h);
        if (cancel_is_requested(h->outer))
            cancel_request(&h->cancel);
        show(h);
        nanosleep(&(struct timespec){.tv_nsec = TICK_NS}, NULL);
    }
    return NULL;
}

static void close_process(Host *h) {
    h->ended = true;
    if (h->is_watched)
        pthread_join(h->watcher, NULL);
    if (h->is_open)
        cancel_close(&h->cancel);
    h->is_watched = h->is_open = false;
    arena_free(&h->arena);
}

/* 0 or an errno. */
static int run_process(Host *h) {
    const ProcessRequest request = {.argv = h->command,
                                    .time_limit_ms = NO_LIMIT_MS,
                                    .input = h->board_fd,
                                    .output = h->answer_fd};
    h->board->first = h->next;
    h->board->shape = h->next;
    h->board->since = 0;
    h->board->looked = h->board->count = 0;
    h->overdue = STR("");
    h->ended = false;
    h->arena = (Arena){.oom = h->ctx->arena.oom, .cancel = &h->cancel};
    cancel_open(&h->cancel);
    h->is_open = true;
    if (ftruncate(h->answer_fd, 0) || lseek(h->answer_fd, 0, SEEK_SET))
        return errno;
    h->is_watched = !pthread_create(&h->watcher, NULL, watch, h);
    if (!h->is_watched)
        return EAGAIN;
    const int error = process_run(&h->arena, &request, &h->result);
    h->result.output = str_keep(&h->ctx->arena, h->result.output);
    close_process(h);
    return error;
}

/* Answers */

static int64_t integer_of(const Json *object, const char *name) {
    const Json *value = json_find(object, name);
    return value && value->kind == JSON_NUMBER ? strtoll(value->text.ptr, NULL, 10) : 0;
}

static Str text_of_member(const Json *object, const char *name) {
    const Json *value = json_find(object, name);
    return value && value->kind == JSON_STRING ? value->text : STR("");
}

static void read_struck(Ctx *ctx, const Json *list, TuneAnswer *answer) {
    answer->struck_count = list && list->kind == JSON_LIST ? list->count : 0;
    NamedText *struck = ARENA_ARRAY(&ctx->arena, NamedText, (size_t)answer->struck_count + 1);
    for (uint32_t i = 0; i < answer->struck_count; i++)
        struck[i] = (NamedText){text_of_member(list->items[i], "configuration"),
                                text_of_member(list->items[i], "reason")};
    answer->struck = struck;
}

/* False: the line is torn. */
static bool read_line(Ctx *ctx, Str text, TuneAnswer *answer) {
    size_t at = 0;
    const DiagMark before = diag_mark(&ctx->diags);
    const uint32_t file = source_add(&ctx->sources, STR("<answer>"), text);
    const Json *line = json_read_next(&ctx->diags, file, &at);
    diag_rewind(&ctx->diags, before);
    const Json *json = line && line->kind == JSON_OBJECT ? json_find(line, "answer") : NULL;
    if (!json || json->kind != JSON_OBJECT)
        return false;
    const Json *ok = json_find(json, "ok"), *ms = json_find(json, "ms");
    const Str source = source_get(&ctx->sources, file)->text;
    *answer = (TuneAnswer){
        .json = {source.ptr + json->span.lo, json->span.hi - json->span.lo},
        .ok = ok && ok->kind == JSON_TRUE,
        .has_shape = json_find(json, "shape") != NULL,
        .kernel = text_of_member(json, "kernel"),
        .config = text_of_member(json, "configuration"),
        .ms = ms && ms->kind == JSON_NUMBER ? strtod(str_dup(&ctx->arena, ms->text), NULL) : 0,
        .measured = integer_of(json, "measured"),
        .known = integer_of(json, "known"),
        .status = integer_of(line, "status"),
        .said = text_of_member(line, "said")};
    read_struck(ctx, json_find(json, "struck_out"), answer);
    return true;
}

static void next_shape(Host *h) {
    h->next++;
    h->left = UINT32_MAX;
    h->board->struck = 0;
}

/* All that the process has answered. False: it says that nothing can be measured. */
static bool take_answers(Host *h) {
    Ctx *ctx = h->ctx;
    Str text;
    const char *path = str_format(&ctx->arena, "/proc/self/fd/%d", h->answer_fd);
    if (file_read(&ctx->arena, path, 1 << 30, &text))
        return true;
    while (h->next < h->shapes->count) {
        const char *end = text.len ? memchr(text.ptr, '\n', text.len) : NULL;
        TuneAnswer answer;
        if (!end || !read_line(ctx, (Str){text.ptr, (size_t)(end - text.ptr)}, &answer))
            return true;
        if (!answer.has_shape) {
            *h->failure = answer;
            return false;
        }
        h->answers[h->next] = answer;
        next_shape(h);
        text = (Str){end + 1, text.len - (size_t)(end + 1 - text.ptr)};
    }
    return true;
}

void tune_write_line(StrBuf *out, Str answer, int status, Str said) {
    strbuf_printf(out, "{\"answer\": %.*s, \"status\": %d, \"said\": ", STR_ARG(answer), status);
    strbuf_json(out, said);
    strbuf_puts(out, "}\n");
}

Str tune_failed_answer(Arena *arena, const char *shape, Str diagnostics) {
    StrBuf out = strbuf(arena);
    strbuf_putc(&out, '{');
    if (shape) {
        strbuf_puts(&out, "\"shape\": ");
        strbuf_json(&out, str_from(shape));
        strbuf_puts(&out, ", ");
    }
    strbuf_printf(&out, "\"ok\": false, \"diagnostics\": %.*s}", STR_ARG(diagnostics));
    return strbuf_str(&out);
}

/* Ends */

/* The shape has no answer but what was said since. */
static void give_up(Host *h, DiagMark before) {
    Ctx *ctx = h->ctx;
    Diags said = ctx->diags;
    said.first = before.last ? before.last->next : ctx->diags.first;
    StrBuf text = strbuf(&ctx->arena), json = strbuf(&ctx->arena);
    diag_print_all(&said, &text);
    diag_json(&said, &json);
    h->answers[h->next] = (TuneAnswer){
        .json = tune_failed_answer(&ctx->arena, h->shapes->shapes[h->next].text, strbuf_str(&json)),
        .has_shape = true,
        .status = STATUS_MACHINE,
        .said = strbuf_str(&text)};
    diag_rewind(&ctx->diags, before);
    next_shape(h);
}

/* Keeps what runs as struck out; false: that cannot be, so that the next process would run it, too.
 */
static bool strike(Host *h, Str text, const char *reason) {
    Ctx *ctx = h->ctx;
    size_t at = 0;
    TuneEntry entry;
    const Json *where;
    const Json *object =
        json_read_next(&ctx->diags, source_add(&ctx->sources, STR("<board>"), text), &at);
    if (!object || tune_entry_read(object, &entry, &where))
        return false;
    entry.record = (TuneRecord){INFINITY, str_from(reason)};
    tune_remember(h->cache, &ctx->arena, &entry);
    return tune_recall(h->cache, &ctx->arena, &entry) || ctx_diag(ctx, (Span){0}, prewarm_lost);
}

static const char *reason_of_end(Host *h) {
    if (h->overdue.len)
        return str_format(&h->ctx->arena, "it does not end within %g s",
                          (double)h->options->limit_ms / 1e3);
    return str_format(&h->ctx->arena, "the process that ran it was ended by signal %d (%s)",
                      h->result.signal, strsignal(h->result.signal));
}

/* Of a process that has ended before the shapes did. False: the shape is given up. */
static bool judge(Host *h) {
    const TuneBoard *board = h->board;
    const Str runs = {board->entry, board->since ? board->entry_len : 0};
    const bool is_lost = h->result.exit_code == TUNER_LOST && board->since,
               ended = h->result.signal && runs.len;
    if (h->result.exit_code == TUNER_LOST && !is_lost && h->next > board->first)
        return true; /* the shape before has the answer */
    if (is_lost || h->overdue.len || ended) {
        if (board->count >= h->left) /* nobody keeps what is struck out */
            return ctx_diag(h->ctx, (Span){0}, prewarm_lost);
        h->left = board->count;
        h->board->struck++;
        return is_lost || strike(h, h->overdue.len ? h->overdue : runs, reason_of_end(h));
    }
    const char *how = h->result.signal
                          ? str_format(&h->ctx->arena, "signal %d", h->result.signal)
                          : str_format(&h->ctx->arena, "exit status %d", h->result.exit_code);
    ctx_diag(h->ctx, (Span){0}, tune_process, how);
    if (h->result.output.len)
        diag_hint(&h->ctx->diags, "it said: %.*s", STR_ARG(h->result.output));
    return false;
}

static void tune(void *user) {
    Host *h = user;
    Ctx *ctx = h->ctx;
    while (h->next < h->shapes->count) {
        const DiagMark before = diag_mark(&ctx->diags);
        const int error = run_process(h);
        arena_check(&ctx->arena);
        if (error)
            ctx_diag(ctx, (Span){0}, tool_failed, h->command[0],
                     file_error_text(&ctx->arena, error));
        if (error || !take_answers(h))
            return;
        if (h->next < h->shapes->count && !judge(h))
            give_up(h, before);
    }
}

static void close_host(void *user) {
    Host *h = user;
    close_process(h);
    progress_end(&h->progress);
    munmap(h->board, sizeof *h->board);
    close(h->board_fd);
    close(h->answer_fd);
}

static bool open_host(Host *h) {
    h->board_fd = memfd_create("tilec-board", MFD_CLOEXEC);
    h->answer_fd = memfd_create("tilec-answers", MFD_CLOEXEC);
    h->board = MAP_FAILED;
    if (h->board_fd > 2 && h->answer_fd > 2 && !ftruncate(h->board_fd, sizeof *h->board))
        h->board = mmap(NULL, sizeof *h->board, PROT_READ | PROT_WRITE, MAP_SHARED, h->board_fd, 0);
    if (h->board != MAP_FAILED)
        return true;
    const int error = errno;
    close(h->board_fd);
    close(h->answer_fd);
    return ctx_diag(h->ctx, (Span){0}, tool_failed, h->command[0],
                    file_error_text(&h->ctx->arena, error));
}

static void tune_opened(void *user) {
    Host *h = user;
    h->outer = h->ctx->arena.cancel;
    ctx_finally(h->ctx, tune, close_host, h);
}

bool tune_run(Ctx *ctx, const TuneOptions *options, const ShapesFile *shapes, Cache *cache,
              char **argv, int argc, TuneAnswer *answers, TuneAnswer *failure) {
    Host *h = ARENA_NEW(&ctx->arena, Host);
    *h = (Host){.ctx = ctx,
                .options = options,
                .shapes = shapes,
                .cache = cache,
                .answers = answers,
                .failure = failure,
                .left = UINT32_MAX,
                .progress = progress_begin()};
    h->command = (const char **)arena_array(&ctx->arena, (size_t)argc + 3, sizeof *h->command);
    h->command[0] = "/proc/self/exe";
    h->command[1] = "tuner";
    for (int i = 1; i < argc; i++)
        h->command[i + 1] = argv[i];
    *failure = (TuneAnswer){.status = STATUS_MACHINE};
    if (!open_host(h))
        return false;
    cli_interruptible(ctx, tune_opened, h);
    if (h->next == shapes->count)
        *failure = (TuneAnswer){0};
    return h->next == shapes->count;
}
