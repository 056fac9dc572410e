/* See store.h. */
#include "runtime/tune/store.h"

#include "runtime/compile/build_info.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

static Str key_of(Arena *arena, const TuneSubject *subject, const char *config) {
    const XXH128_hash_t code = XXH3_128bits(subject->code.ptr, subject->code.len);
    StrBuf key = strbuf(arena);
    strbuf_printf(&key, "tuning 1\ncompiler %s %s\ndevice %s\ndriver %d\nkernel %.*s\n",
                  build_version, build_id, subject->device->name, subject->device->driver->version,
                  STR_ARG(subject->kernel));
    strbuf_printf(&key,
                  "code %zu %016" PRIx64 "%016" PRIx64 "\noptions %.*s\nkey %.*s\nconfig %s\n",
                  subject->code.len, (uint64_t)code.high64, (uint64_t)code.low64,
                  STR_ARG(subject->options), STR_ARG(subject->key), config);
    return strbuf_str(&key);
}

/* "NAME\nMS\nREASON": the time in hexadecimal digits, so that it is the same when read. */
bool tune_recall(Cache *cache, Arena *arena, const TuneSubject *subject, const char *config,
                 TuneRecord *record) {
    CacheSection section = {"tuned", {0}};
    if (!cache || !cache_is_on(cache))
        return false;
    const Str key = key_of(arena, subject, config);
    if (cache_get(cache, arena, key, &section, 1) != CACHE_HIT || !section.data.len)
        return false;
    const char *text = str_dup(arena, section.data), *line = strchr(text, '\n');
    if (!line)
        return false;
    char *end;
    record->ms = strtod(line + 1, &end);
    record->reason = str_from(*end == '\n' ? end + 1 : "");
    return end != line + 1 && *end == '\n' && record->ms > 0;
}

int tune_remember(Cache *cache, Arena *arena, const TuneSubject *subject, const char *config,
                  const TuneRecord *record) {
    if (!cache || !cache_is_on(cache))
        return 0;
    const char *text = str_format(arena, "%.*s\n%a\n%.*s", STR_ARG(subject->kernel), record->ms,
                                  STR_ARG(record->reason));
    const CacheSection section = {"tuned", str_from(text)};
    return cache_put(cache, arena, key_of(arena, subject, config), &section, 1);
}

Str tune_kernel_of(Str section) {
    const char *end = section.len ? memchr(section.ptr, '\n', section.len) : NULL;
    return end ? (Str){section.ptr, (size_t)(end - section.ptr)} : STR("");
}
