/* `tilec cache`: what is in the cache, and keeping it in order. */
#include "runtime/cache/cache.h"
#include "cli/cli.h"
#include "runtime/launch/facts.h"
#include "runtime/status.h"
#include "support/file.h"

#include <inttypes.h>
#include <stdlib.h>
#include <time.h>

typedef struct CacheOptions {
    const char *folder;
    int64_t max_megabytes;
    bool json;
} CacheOptions;

#define OPTIONS_OF CacheOptions
static const Option cache_options[] = {
#include "cli/options/cache.def"
};

/* CACHE_ACTION(name, what it does) */
#define CACHE_ACTIONS(CACHE_ACTION)                                                                \
    CACHE_ACTION(ls, "list entries, most recently used first")                                     \
    CACHE_ACTION(stats, "folder, entries, bytes, limit")                                           \
    CACHE_ACTION(verify,                                                                           \
                 "check every entry, remove the damaged ones; exit status 1 if there were any")    \
    CACHE_ACTION(gc, "remove forgotten temporary files and the entries used least recently")       \
    CACHE_ACTION(clear, "remove every entry")

#define CACHE_ACTION_HELP(name, help) {#name, help},
static const HelpEntry cache_actions[] = {CACHE_ACTIONS(CACHE_ACTION_HELP)};

const CommandSpec cache_spec = {
    .name = "cache",
    .arguments = "ACTION",
    .description = "Looks after the compiled kernels on disk.",
    .actions = {cache_actions, sizeof cache_actions / sizeof *cache_actions},
    .examples = HELP_ENTRIES({"Shrink the cache to 100 MiB", "tilec cache gc --max-size 100"}),
    OPTION_TABLE(cache_options),
    .min_arguments = 1,
    .max_arguments = 1,
};

typedef struct CacheCommand {
    Ctx *ctx;
    const CacheOptions *options;
    Cache *cache;
} CacheCommand;

/* One entry, copied out of the visit. */
typedef struct Listed {
    Str file, kernel, target;
    uint64_t bytes;
    int64_t used;
    bool damaged, has_cubin;
} Listed;

typedef struct Listing {
    Arena *arena;
    VEC(Listed) entries;
    uint64_t bytes, damaged;
} Listing;

enum { LIST_META, LIST_CUBIN, LIST_SECTIONS };

static void add_entry(void *user, Arena *scratch, const CacheEntry *entry, CacheSection *sections) {
    Listing *listing = user;
    Arena *arena = listing->arena;
    if (entry->is_reference && entry->state != CACHE_DAMAGED) {
        listing->bytes += entry->bytes;
        return;
    }
    KernelFacts facts = {0};
    Listed listed = {.bytes = entry->bytes, .used = entry->used};
    listed.damaged =
        entry->state == CACHE_DAMAGED || !facts_read(scratch, sections[LIST_META].data, &facts);
    Str name = file_name(str_from(entry->path));
    listed.file = (Str){str_dup(arena, name), name.len};
    if (!listed.damaged) {
        listed.kernel = (Str){str_dup(arena, facts.meta.name), facts.meta.name.len};
        listed.target = str_from(facts.meta.target->name);
        listed.has_cubin = sections[LIST_CUBIN].data.len != 0;
    }
    listing->bytes += entry->bytes;
    listing->damaged += listed.damaged;
    vec_push(arena, &listing->entries, listed);
}

static bool report(CacheCommand *command, int error) {
    if (!error)
        return true;
    return ctx_diag(command->ctx, (Span){0}, cache_failed, command->cache->folder,
                    file_error_text(&command->ctx->arena, error));
}

/* The visit rewinds the context's arena, so what is kept goes to an arena of its own. */
static bool list_entries(CacheCommand *command, Arena *kept, Listing *listing) {
    CacheSection sections[LIST_SECTIONS] = {{"meta", {0}}, {"cubin", {0}}};
    *listing = (Listing){.arena = kept};
    return report(command, cache_visit(command->cache, &command->ctx->arena, sections,
                                       LIST_SECTIONS, add_entry, listing));
}

static int most_recent_first(const void *a, const void *b) {
    const Listed *x = a, *y = b;
    return x->used < y->used ? 1 : x->used > y->used ? -1 : 0;
}

static void list_json(const Listing *listing, StrBuf *out) {
    strbuf_putc(out, '[');
    for (size_t i = 0; i < listing->entries.len; i++) {
        const Listed *e = &listing->entries.data[i];
        strbuf_puts(out, i ? ", {\"kernel\": " : "{\"kernel\": ");
        strbuf_json(out, e->kernel);
        strbuf_puts(out, ", \"target\": ");
        strbuf_json(out, e->target);
        strbuf_printf(out,
                      ", \"bytes\": %" PRIu64 ", \"used\": %" PRId64
                      ", \"cubin\": %s, \"damaged\": %s, \"file\": ",
                      e->bytes, e->used, e->has_cubin ? "true" : "false",
                      e->damaged ? "true" : "false");
        strbuf_json(out, e->file);
        strbuf_putc(out, '}');
    }
    strbuf_puts(out, "]\n");
}

static void list_text(const Listing *listing, StrBuf *out) {
    for (size_t i = 0; i < listing->entries.len; i++) {
        const Listed *e = &listing->entries.data[i];
        time_t used = (time_t)e->used;
        struct tm utc;
        char when[32] = "?";
        if (gmtime_r(&used, &utc))
            strftime(when, sizeof when, "%Y-%m-%d %H:%M", &utc);
        if (e->damaged)
            strbuf_printf(out, "%s %9" PRIu64 "  damaged: %.*s\n", when, e->bytes,
                          STR_ARG(e->file));
        else
            strbuf_printf(out, "%s %9" PRIu64 "  %-8.*s %-5s %.*s  %.*s\n", when, e->bytes,
                          STR_ARG(e->target), e->has_cubin ? "cubin" : "ptx", STR_ARG(e->kernel),
                          STR_ARG(e->file));
    }
}

static void cache_ls(CacheCommand *command, StrBuf *out) {
    Arena kept = {.oom = &command->ctx->oom};
    Listing listing;
    if (list_entries(command, &kept, &listing)) {
        if (listing.entries.len)
            qsort(listing.entries.data, listing.entries.len, sizeof(Listed), most_recent_first);
        (command->options->json ? list_json : list_text)(&listing, out);
    }
    arena_free(&kept);
}

static void cache_stats(CacheCommand *command, StrBuf *out) {
    Arena kept = {.oom = &command->ctx->oom};
    Listing listing;
    if (list_entries(command, &kept, &listing)) {
        const Cache *cache = command->cache;
        const char *folder = cache->folder ? cache->folder : "none";
        if (command->options->json) {
            strbuf_puts(out, "{\"folder\": ");
            strbuf_json(out, str_from(folder));
            strbuf_printf(out,
                          ", \"entries\": %zu, \"bytes\": %" PRIu64 ", \"max_bytes\": %" PRIu64
                          ", \"damaged\": %" PRIu64 "}\n",
                          listing.entries.len, listing.bytes, cache->max_bytes, listing.damaged);
        } else {
            strbuf_printf(out,
                          "folder   %s\nentries  %zu\nbytes    %" PRIu64 "\nlimit    %" PRIu64
                          "\ndamaged  %" PRIu64 "\n",
                          folder, listing.entries.len, listing.bytes, cache->max_bytes,
                          listing.damaged);
        }
    }
    arena_free(&kept);
}

static void sweep(CacheCommand *command, uint64_t max_bytes, bool verify, StrBuf *out) {
    CacheSweep result;
    if (!report(command,
                cache_sweep(command->cache, &command->ctx->arena, max_bytes, verify, &result)))
        return;
    if (verify && result.removed_entries)
        ctx_diag(command->ctx, (Span){0}, cache_damaged, result.removed_entries);
    strbuf_printf(out,
                  command->options->json
                      ? "{\"removed_entries\": %" PRIu64 ", \"removed_bytes\": %" PRIu64
                        ", \"entries\": %" PRIu64 ", \"bytes\": %" PRIu64 "}\n"
                      : "removed %" PRIu64 " files of %" PRIu64 " bytes; %" PRIu64
                        " entries of %" PRIu64 " bytes are left\n",
                  result.removed_entries, result.removed_bytes, result.entries, result.bytes);
}

static void cache_verify(CacheCommand *command, StrBuf *out) {
    sweep(command, UINT64_MAX, true, out);
}

static void cache_gc(CacheCommand *command, StrBuf *out) {
    sweep(command, command->cache->max_bytes, false, out);
}

static void cache_clear(CacheCommand *command, StrBuf *out) {
    sweep(command, 0, false, out);
}

#define CACHE_ACTION_RUN(name, help) cache_##name,
static void (*const action_runs[])(CacheCommand *command,
                                   StrBuf *out) = {CACHE_ACTIONS(CACHE_ACTION_RUN)};

enum { ACTION_COUNT = sizeof action_runs / sizeof *action_runs };

int command_cache(Ctx *ctx, int argc, char **argv) {
    CacheOptions options = {0};
    TextList arguments = {0};
    OptionsResult parsed =
        options_parse(&cache_spec, &ctx->arena, argc, argv, &options, &arguments);
    if (parsed != OPTIONS_OK)
        return parsed == OPTIONS_HELP ? STATUS_OK : STATUS_USAGE;
    Cache cache;
    cache_open(&cache, &ctx->arena, options.folder, (uint64_t)options.max_megabytes << 20);
    if (cache.bad_size)
        ctx_diag(ctx, (Span){0}, cache_size, cache.bad_size);
    CacheCommand command = {ctx, &options, &cache};
    StrBuf out = strbuf(&ctx->arena);
    Str names[ACTION_COUNT];
    int action = -1;
    for (int i = 0; i < ACTION_COUNT; i++) {
        names[i] = str_from(cache_actions[i].name);
        if (str_is(names[i], arguments.data[0]))
            action = i;
    }
    if (action < 0)
        return cli_usage_error(
            "tilec cache has no '%s'%s; see 'tilec cache --help'", arguments.data[0],
            options_suggestion(&ctx->arena, arguments.data[0], names, ACTION_COUNT));
    action_runs[action](&command, &out);
    int status = status_of(&ctx->diags) == TILE_OK ? STATUS_OK : STATUS_INPUT;
    cli_print_diags(ctx);
    cli_write(strbuf_str(&out));
    return status;
}
