/* `tilec cache`: what is in the cache, and keeping it in order. */
#include "runtime/cache/cache.h"
#include "cli/cli.h"
#include "runtime/launch/facts.h"
#include "runtime/status.h"
#include "runtime/tune/store.h"
#include "support/file.h"

#include <inttypes.h>
#include <stdlib.h>
#include <time.h>

typedef struct CacheOptions {
    const char *folder, *trusted, *remote;
    int64_t max_megabytes;
    bool json;
} CacheOptions;

#define OPTIONS_OF CacheOptions
static const Option cache_options[] = {
#include "cli/options/cache.def"
};

/* CACHE_ACTION(name, what it does) */
#define CACHE_ACTIONS(CACHE_ACTION)                                                                \
    CACHE_ACTION(ls, "list entries, most recently used first; those of trusted caches follow")     \
    CACHE_ACTION(stats, "folders, entries, bytes, limit")                                          \
    CACHE_ACTION(verify, "check every entry, remove those that are damaged or that others own or " \
                         "may write to; exit status 1 if there were any")                          \
    CACHE_ACTION(gc, "remove forgotten temporary files and the entries used least recently")       \
    CACHE_ACTION(clear, "remove every entry")

#define CACHE_ACTION_HELP(name, help) {#name, help},
static const HelpEntry cache_actions[] = {CACHE_ACTIONS(CACHE_ACTION_HELP)};

const CommandSpec cache_spec = {
    .name = "cache",
    .arguments = "ACTION",
    .description = "Looks after the compiled kernels on disk. Trusted caches are only read.",
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
    CacheResult state;
    bool has_cubin;
} Listed;

typedef struct Listing {
    Arena *arena;
    VEC(Listed) entries;
    uint64_t bytes, damaged, refused;
    const char *folder; /* NULL: none */
    int error;          /* what kept it from being read */
} Listing;

enum { LIST_META, LIST_CUBIN, LIST_TUNED, LIST_SECTIONS };

static void add_entry(void *user, Arena *scratch, const CacheEntry *entry, CacheSection *sections) {
    Listing *listing = user;
    Arena *arena = listing->arena;
    listing->bytes += entry->bytes;
    if (entry->is_reference && entry->state == CACHE_HIT)
        return;
    KernelFacts facts = {0};
    Listed listed = {.bytes = entry->bytes, .used = entry->used, .state = entry->state};
    const Str name = str_from(entry->file);
    listed.file = (Str){str_dup(arena, name), name.len};
    const Str tuned =
        entry->state == CACHE_HIT ? tune_kernel_of(sections[LIST_TUNED].data) : STR("");
    if (tuned.len) {
        listed.kernel = str_keep(arena, tuned);
        listed.target = STR("(time)");
        vec_push(arena, &listing->entries, listed);
        return;
    }
    if (entry->state == CACHE_HIT && !facts_read(scratch, sections[LIST_META].data, &facts))
        listed.state = CACHE_DAMAGED;
    if (listed.state == CACHE_HIT) {
        listed.kernel = (Str){str_dup(arena, facts.meta.name), facts.meta.name.len};
        listed.target = str_from(facts.meta.target->name);
        listed.has_cubin = sections[LIST_CUBIN].data.len != 0;
    }
    listing->damaged += listed.state == CACHE_DAMAGED;
    listing->refused += listed.state == CACHE_REFUSED;
    vec_push(arena, &listing->entries, listed);
}

static bool report(CacheCommand *command, const char *folder, int error) {
    if (!error)
        return true;
    return ctx_diag(command->ctx, (Span){0}, cache_failed, folder,
                    file_error_text(&command->ctx->arena, error));
}

static int most_recent_first(const void *a, const void *b) {
    const Listed *x = a, *y = b;
    return x->used < y->used ? 1 : x->used > y->used ? -1 : 0;
}

/* The visit rewinds the context's arena, so what is kept goes to an arena of its own. A trusted
 * folder that cannot be read was a warning already. */
static Listing list_layer(CacheCommand *command, Arena *kept, uint32_t layer) {
    Cache *cache = command->cache;
    CacheSection sections[LIST_SECTIONS] = {{"meta", {0}}, {"cubin", {0}}, {"tuned", {0}}};
    Listing listing = {.arena = kept, .folder = layer ? cache->trusted[layer - 1] : cache->folder};
    listing.error = cache_visit(cache, &command->ctx->arena, layer, sections, LIST_SECTIONS,
                                add_entry, &listing);
    if (!layer)
        report(command, cache->folder, listing.error);
    if (listing.entries.len)
        qsort(listing.entries.data, listing.entries.len, sizeof(Listed), most_recent_first);
    return listing;
}

static const char *state_text(CacheResult state) {
    return state == CACHE_REFUSED ? "refused" : "damaged";
}

static void list_json(const Listing *listing, bool is_trusted, StrBuf *out) {
    for (size_t i = 0; i < listing->entries.len; i++) {
        const Listed *e = &listing->entries.data[i];
        strbuf_puts(out, out->len > 1 ? ", {\"kernel\": " : "{\"kernel\": ");
        strbuf_json(out, e->kernel);
        strbuf_puts(out, ", \"target\": ");
        strbuf_json(out, e->target);
        strbuf_printf(out,
                      ", \"bytes\": %" PRIu64 ", \"used\": %" PRId64
                      ", \"cubin\": %s, \"damaged\": %s, \"refused\": %s, \"file\": ",
                      e->bytes, e->used, e->has_cubin ? "true" : "false",
                      e->state == CACHE_DAMAGED ? "true" : "false",
                      e->state == CACHE_REFUSED ? "true" : "false");
        strbuf_json(out, e->file);
        strbuf_puts(out, ", \"folder\": ");
        strbuf_json(out, str_from(listing->folder));
        strbuf_printf(out, ", \"trusted\": %s}", is_trusted ? "true" : "false");
    }
}

static void list_text(const Listing *listing, bool is_trusted, StrBuf *out) {
    if (is_trusted)
        strbuf_printf(out, "trusted %s\n", listing->folder);
    for (size_t i = 0; i < listing->entries.len; i++) {
        const Listed *e = &listing->entries.data[i];
        time_t used = (time_t)e->used;
        struct tm utc;
        char when[32] = "?";
        if (gmtime_r(&used, &utc))
            strftime(when, sizeof when, "%Y-%m-%d %H:%M", &utc);
        if (e->state != CACHE_HIT)
            strbuf_printf(out, "%s %9" PRIu64 "  %s: %.*s\n", when, e->bytes, state_text(e->state),
                          STR_ARG(e->file));
        else
            strbuf_printf(out, "%s %9" PRIu64 "  %-8.*s %-5s %.*s  %.*s\n", when, e->bytes,
                          STR_ARG(e->target), e->has_cubin ? "cubin" : "ptx", STR_ARG(e->kernel),
                          STR_ARG(e->file));
    }
}

static void cache_ls(CacheCommand *command, StrBuf *out) {
    Arena kept = {.oom = &command->ctx->oom};
    const bool json = command->options->json;
    if (json)
        strbuf_putc(out, '[');
    for (uint32_t layer = 0; layer <= command->cache->trusted_count; layer++) {
        const Listing listing = list_layer(command, &kept, layer);
        (json ? list_json : list_text)(&listing, layer != 0, out);
    }
    if (json)
        strbuf_puts(out, "]\n");
    arena_free(&kept);
}

static void stats_json(const Listing *own, const Cache *cache, uint64_t leases, StrBuf *out) {
    strbuf_puts(out, "{\"folder\": ");
    strbuf_json(out, str_from(own->folder ? own->folder : "none"));
    strbuf_printf(out,
                  ", \"entries\": %zu, \"bytes\": %" PRIu64 ", \"max_bytes\": %" PRIu64
                  ", \"damaged\": %" PRIu64 ", \"refused\": %" PRIu64 ", \"leases\": %" PRIu64
                  ", \"trusted\": [",
                  own->entries.len, own->bytes, cache->max_bytes, own->damaged, own->refused,
                  leases);
}

static void stats_text(const Listing *own, const Cache *cache, uint64_t leases, StrBuf *out) {
    strbuf_printf(out,
                  "folder   %s\nentries  %zu\nbytes    %" PRIu64 "\nlimit    %" PRIu64
                  "\ndamaged  %" PRIu64 "\nrefused  %" PRIu64 "\nleases   %" PRIu64 "\n",
                  own->folder ? own->folder : "none", own->entries.len, own->bytes,
                  cache->max_bytes, own->damaged, own->refused, leases);
}

static void layer_json(const Listing *layer, StrBuf *out) {
    strbuf_puts(out, out->ptr[out->len - 1] == '[' ? "{\"folder\": " : ", {\"folder\": ");
    strbuf_json(out, str_from(layer->folder));
    strbuf_printf(
        out,
        ", \"readable\": %s, \"entries\": %zu, \"bytes\": %" PRIu64 ", \"damaged\": %" PRIu64 "}",
        layer->error ? "false" : "true", layer->entries.len, layer->bytes, layer->damaged);
}

static void layer_text(const Listing *layer, StrBuf *out) {
    strbuf_printf(out, "trusted  %s: ", layer->folder);
    if (layer->error)
        strbuf_puts(out, "cannot be read\n");
    else
        strbuf_printf(out, "%zu entries, %" PRIu64 " bytes, %" PRIu64 " damaged\n",
                      layer->entries.len, layer->bytes, layer->damaged);
}

/* Whether it answers now. */
static void remote_stats(CacheCommand *command, StrBuf *out) {
    Remote *remote = command->cache->remote;
    const bool answers = remote && remote_answers(remote);
    if (command->options->json && !remote) {
        strbuf_puts(out, "null}\n");
    } else if (command->options->json) {
        strbuf_puts(out, "{\"address\": ");
        strbuf_json(out, str_from(remote_address(remote)));
        strbuf_printf(out, ", \"answers\": %s}}\n", answers ? "true" : "false");
    } else if (remote) {
        strbuf_printf(out, "remote   %s: %s\n", remote_address(remote),
                      answers ? "answers" : "does not answer");
    }
    cache_report(command->cache, &command->ctx->diags, 0);
}

static void cache_stats(CacheCommand *command, StrBuf *out) {
    Arena kept = {.oom = &command->ctx->oom};
    const bool json = command->options->json;
    const Listing own = list_layer(command, &kept, 0);
    uint64_t leases = 0;
    if (!own.error)
        report(command, own.folder,
               cache_count_leases(command->cache, &command->ctx->arena, &leases));
    (json ? stats_json : stats_text)(&own, command->cache, leases, out);
    for (uint32_t i = 1; i <= command->cache->trusted_count; i++) {
        const Listing layer = list_layer(command, &kept, i);
        (json ? layer_json : layer_text)(&layer, out);
    }
    if (json)
        strbuf_puts(out, "], \"remote\": ");
    remote_stats(command, out);
    arena_free(&kept);
}

static void sweep(CacheCommand *command, uint64_t max_bytes, bool verify, StrBuf *out) {
    CacheSweep result;
    if (!report(command, command->cache->folder,
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
    const CacheConfig config = {.folder = options.folder,
                                .max_bytes = (uint64_t)options.max_megabytes << 20,
                                .trusted = options.trusted,
                                .remote = options.remote};
    cache_open(&cache, &ctx->arena, &config);
    cache_check(&cache);
    cache_report(&cache, &ctx->diags, 0);
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
