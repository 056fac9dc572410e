/* What the cache says of itself, each thing once for a Cache: a process that compiles much is not
 * to repeat it. */
#include "runtime/cache/cache_internal.h"
#include "support/file.h"

static void report_refusal(Diags *diags, const CacheRefusal *refusal) {
    const char *path = file_join(diags->arena, str_from(refusal->folder), str_from(refusal->file));
    switch (refusal->reason) {
    case CACHE_FOREIGN:
        diag(diags, (Span){0}, cache_foreign, path, (unsigned)refusal->owner);
        break;
    case CACHE_WRITABLE:
        diag(diags, (Span){0}, cache_writable, path);
        break;
    case CACHE_UNREADABLE:
        diag(diags, (Span){0}, cache_layer, refusal->folder,
             file_error_text(diags->arena, refusal->error));
        return;
    case CACHE_ACCEPTED:
        return;
    }
    if (*refusal->file)
        diag_hint(diags, "'tilec cache verify' removes what is refused");
    else
        diag_hint(
            diags,
            "set TILEC_CACHE_DIR to a folder of your own; if whoever can write to this one may "
            "run code as you, TILEC_CACHE_TRUSTED=%s reads it",
            refusal->folder);
}

static void report_remote(Cache *cache, Diags *diags) {
    char trouble[192];
    if (cache->remote_trouble && !atomic_exchange(&cache->told_remote, true))
        diag(diags, (Span){0}, cache_remote_none, cache->remote_trouble);
    if (cache->remote && remote_take_trouble(cache->remote, trouble, sizeof trouble))
        diag(diags, (Span){0}, cache_remote, remote_address(cache->remote), trouble);
}

void cache_report(Cache *cache, Diags *diags, int error) {
    CacheRefusal refusal;
    report_remote(cache, diags);
    if (cache->bad_size && !atomic_exchange(&cache->told_size, true))
        diag(diags, (Span){0}, cache_size, cache->bad_size);
    while (cache_take_refusal(cache, &refusal))
        report_refusal(diags, &refusal);
    if (!error || atomic_exchange(&cache->told_error, true))
        return;
    diag(diags, (Span){0}, cache_unusable, cache->folder, file_error_text(diags->arena, error));
    diag_hint(diags, "set TILEC_CACHE_DIR to a folder that can be written, or to none");
}
