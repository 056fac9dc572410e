/* See progress.h. */
#include "cli/progress.h"

#include "cli/cli.h"

#include <math.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <unistd.h>

const Str *progress_targets(Ctx *ctx, const char *targets, uint32_t *count) {
    VEC(Str) found = {0};
    for (const char *at = targets; at && *at;) {
        const size_t len = strcspn(at, ",");
        const Str name = {at, len};
        vec_push(&ctx->arena, &found, name);
        at += len + (at[len] == ',');
    }
    *count = (uint32_t)found.len;
    return found.data;
}

/* A terminal that is too narrow for both has the text alone. */
enum { BAR_WIDTH = 24, TEXT_LEAST = 12, QUIET_MS = 1000 };

static int terminal_columns(void) {
    struct winsize size;
    return ioctl(STDERR_FILENO, TIOCGWINSZ, &size) || !size.ws_col ? 80 : size.ws_col;
}

/* Bytes of whole characters, at most as many as there are columns. */
static int fitting(const char *text, int columns) {
    int len = (int)strnlen(text, (size_t)columns);
    while (len && ((unsigned char)text[len] & 0xc0) == 0x80)
        len--;
    return len;
}

Progress progress_begin(void) {
    return (Progress){.start = clock_ms()};
}

void progress_show(Progress *progress, double part, const char *what) {
    char bar[BAR_WIDTH + 1] = {0};
    if (clock_ms() - progress->start < QUIET_MS || !isatty(STDERR_FILENO))
        return;
    progress->shown = true;
    /* The last column stays free, since some terminals would begin a line behind it. */
    const int columns = terminal_columns() - 1, beside = columns - (BAR_WIDTH + 3);
    memset(bar, ' ', BAR_WIDTH);
    memset(bar, '=', (size_t)(BAR_WIDTH * fmin(fmax(part, 0), 1)));
    if (beside >= TEXT_LEAST)
        fprintf(stderr, "\r\x1b[K[%s] %.*s", bar, fitting(what, beside), what);
    else
        fprintf(stderr, "\r\x1b[K%.*s", fitting(what, columns), what);
    fflush(stderr);
}

void progress_end(Progress *progress) {
    if (progress->shown)
        fputs("\r\x1b[K", stderr);
    progress->shown = false;
}

static void show(void *user, const Planned *planned, size_t done, size_t total) {
    char what[320];
    snprintf(what, sizeof what, "%zu of %zu %.*s for %s", done, total, STR_ARG(planned->path),
             planned->request.target->name);
    progress_show(user, (double)done / (double)total, what);
}

typedef struct Building {
    Ctx *ctx;
    const Plan *plan;
    const BuildOptions *options;
    Built *built;
    bool ok;
} Building;

static void build_interruptibly(void *user) {
    Building *b = user;
    b->ok = build_plan(b->ctx, b->plan, b->options, b->built);
}

bool progress_build(Ctx *ctx, const Plan *plan, unsigned jobs, bool into_cache, Built *built) {
    Progress progress = progress_begin();
    const BuildOptions how = {
        .jobs = jobs, .into_cache = into_cache, .progress = show, .user = &progress};
    Building building = {ctx, plan, &how, built, false};
    cli_interruptible(ctx, build_interruptibly, &building);
    progress_end(&progress);
    return building.ok;
}

void progress_messages(const Built *built, size_t count) {
    for (size_t i = 0; i < count; i++) {
        size_t first = 0;
        while (!str_eq(built[first].said, built[i].said))
            first++;
        if (first == i)
            fwrite(built[i].said.ptr, 1, built[i].said.len, stderr);
    }
}
