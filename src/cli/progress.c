/* See progress.h. */
#include "cli/progress.h"

#include "cli/cli.h"

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

typedef struct Progress {
    double start;
    bool shown;
} Progress;

enum { BAR_WIDTH = 24, QUIET_MS = 1000 };

/* As much as a line of the terminal holds. */
static int text_width(int taken) {
    struct winsize size;
    const int columns = ioctl(STDERR_FILENO, TIOCGWINSZ, &size) || !size.ws_col ? 80 : size.ws_col;
    return columns - taken > 1 ? columns - taken - 1 : 0;
}

static void show(void *user, const Planned *planned, size_t done, size_t total) {
    Progress *progress = user;
    char bar[BAR_WIDTH + 1] = {0}, what[256], numbers[64];
    if (clock_ms() - progress->start < QUIET_MS || !isatty(STDERR_FILENO))
        return;
    progress->shown = true;
    memset(bar, ' ', BAR_WIDTH);
    memset(bar, '=', BAR_WIDTH * done / total);
    const int taken = snprintf(numbers, sizeof numbers, "[%s] %zu of %zu ", bar, done, total);
    snprintf(what, sizeof what, "%.*s for %s", STR_ARG(planned->path),
             planned->request.target->name);
    fprintf(stderr, "\r\x1b[K%s%.*s", numbers, text_width(taken), what);
    fflush(stderr);
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
    Progress progress = {.start = clock_ms()};
    const BuildOptions how = {
        .jobs = jobs, .into_cache = into_cache, .progress = show, .user = &progress};
    Building building = {ctx, plan, &how, built, false};
    cli_interruptible(ctx, build_interruptibly, &building);
    if (progress.shown)
        fputs("\r\x1b[K", stderr);
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
