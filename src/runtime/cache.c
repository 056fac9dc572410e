/* Reading and writing cache entries; cache_sweep.c keeps the folder in bounds. */
#include "runtime/cache.h"

#include "runtime/cache_internal.h"
#include "support/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#define XXH_INLINE_ALL
#include <xxhash.h>
#ifdef TILEC_HAVE_ZSTD
#include <zstd.h>
#endif

enum {
    FORMAT_VERSION = 1,
    COMPRESS_FROM = 1024, /* bytes; smaller sections stay raw */
    ZSTD_LEVEL = 3,
    TOUCH_SECONDS = 3600,
};

typedef enum Codec { CODEC_RAW, CODEC_ZSTD } Codec;

static const char cache_magic[8] = "tilecKRN";

/* Integers are little-endian, as on every host that this compiler runs on. */
typedef struct FileHeader {
    char magic[8];
    uint32_t version, section_count;
    uint64_t file_size;
    XXH128_canonical_t checksum; /* of all that follows the header */
} FileHeader;

typedef struct FileSection {
    char name[CACHE_NAME_SIZE]; /* zero padded */
    uint32_t codec, reserved;
    uint64_t offset, stored, size;
} FileSection;

_Static_assert(sizeof(FileHeader) == 40 && sizeof(FileSection) == 40, "the file format is packed");

/* Bytes with a unit, or 0 for what is no size. */
static uint64_t parse_size(const char *text) {
    char *end;
    errno = 0;
    uint64_t value = strtoull(text, &end, 10);
    static const char units[] = "KMG";
    const char *unit = *end ? strchr(units, *end) : NULL;
    int shift = unit ? 10 * (int)(unit - units + 1) : 0;
    bool is_size = text[0] >= '0' && text[0] <= '9' && !errno && !end[unit != NULL];
    return !is_size || value > UINT64_MAX >> shift ? 0 : value << shift;
}

static const char *default_folder(Arena *arena) {
    const char *folder = getenv("TILEC_CACHE_DIR");
    if (folder && *folder)
        return str_dup(arena, str_from(folder));
    const char *xdg = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
    if (xdg && xdg[0] == '/')
        return str_format(arena, "%s/tilec", xdg);
    return home && home[0] == '/' ? str_format(arena, "%s/.cache/tilec", home) : NULL;
}

void cache_open(Cache *cache, Arena *arena, const char *wanted, uint64_t max_bytes) {
    const char *folder =
        wanted && *wanted ? str_dup(arena, str_from(wanted)) : default_folder(arena);
    if (folder && !strcmp(folder, "none"))
        folder = NULL;
    const char *size = getenv("TILEC_CACHE_SIZE");
    cache->bad_size = NULL;
    if (!max_bytes && size && *size) {
        max_bytes = parse_size(size);
        cache->bad_size = max_bytes ? NULL : str_dup(arena, str_from(size));
    }
    cache->folder = folder;
    cache->max_bytes = max_bytes ? max_bytes : CACHE_DEFAULT_BYTES;
    atomic_init(&cache->warned, false);
}

static const char *path_of(const Cache *cache, Arena *arena, Str key, const char *suffix) {
    XXH128_hash_t hash = XXH3_128bits(key.ptr, key.len);
    return str_format(arena, "%s/" CACHE_VERSION_FOLDER "/%x/%016llx%016llx%s", cache->folder,
                      (unsigned)(hash.high64 >> 60), (unsigned long long)hash.high64,
                      (unsigned long long)hash.low64, suffix);
}

static XXH128_canonical_t checksum_of(const char *data, size_t size) {
    XXH128_canonical_t canonical;
    XXH128_canonicalFromHash(&canonical, XXH3_128bits(data, size));
    return canonical;
}

/* The sections of a file whose bounds were checked; NULL when it is not sound. */
static const FileSection *check_file(Str file, FileHeader *header) {
    if (file.len < sizeof *header)
        return NULL;
    memcpy(header, file.ptr, sizeof *header);
    const char *body = file.ptr + sizeof *header;
    size_t body_size = file.len - sizeof *header;
    if (memcmp(header->magic, cache_magic, sizeof cache_magic) != 0 ||
        header->version != FORMAT_VERSION || header->file_size != file.len ||
        header->section_count == 0 || header->section_count > CACHE_MAX_SECTIONS ||
        body_size < header->section_count * sizeof(FileSection))
        return NULL;
    XXH128_canonical_t checksum = checksum_of(body, body_size);
    if (memcmp(&checksum, &header->checksum, sizeof checksum) != 0)
        return NULL;
    const FileSection *sections = (const FileSection *)(const void *)body;
    for (uint32_t i = 0; i < header->section_count; i++) {
        const FileSection *s = &sections[i];
        if (s->offset > file.len || s->stored > file.len - s->offset || s->size > CACHE_ENTRY_LIMIT)
            return NULL;
    }
    return sections;
}

static bool decode(Arena *arena, Str stored, const FileSection *section, Str *data) {
    if (section->codec == CODEC_RAW) {
        *data = stored;
        return section->size == section->stored;
    }
#ifdef TILEC_HAVE_ZSTD
    if (section->codec == CODEC_ZSTD) {
        char *plain = arena_alloc(arena, section->size + 1);
        size_t size = ZSTD_decompress(plain, section->size, stored.ptr, stored.len);
        *data = (Str){plain, section->size};
        return !ZSTD_isError(size) && size == section->size;
    }
#endif
    return false;
}

/* False for a section that is there and cannot be decoded; an absent one is empty. */
static bool find_section(Arena *arena, Str file, const FileSection *sections, uint32_t count,
                         const char *name, Str *data) {
    char padded[CACHE_NAME_SIZE] = {0};
    memcpy(padded, name, strnlen(name, sizeof padded));
    *data = (Str){"", 0};
    for (uint32_t i = 0; i < count; i++) {
        const FileSection *s = &sections[i];
        if (memcmp(s->name, padded, sizeof padded) == 0)
            return decode(arena, (Str){file.ptr + s->offset, s->stored}, s, data);
    }
    return true;
}

CacheResult cache_read_entry(Arena *arena, const char *path, Str *key, CacheSection *sections,
                             uint32_t count) {
    Str file;
    if (file_read_regular(arena, path, CACHE_ENTRY_LIMIT, &file))
        return CACHE_MISS;
    FileHeader header;
    const FileSection *found = check_file(file, &header);
    if (!found || !find_section(arena, file, found, header.section_count, "key", key))
        return CACHE_DAMAGED;
    for (uint32_t i = 0; i < count; i++)
        if (!find_section(arena, file, found, header.section_count, sections[i].name,
                          &sections[i].data))
            return CACHE_DAMAGED;
    return CACHE_HIT;
}

/* Marks the entry as used. Rarely, since it is a write; a cache one may only read is fine. */
static void touch(const char *path) {
    struct stat info;
    if (stat(path, &info) == 0 && time(NULL) - info.st_mtime > TOUCH_SECONDS)
        utimensat(AT_FDCWD, path, NULL, 0);
}

static CacheResult get_file(Arena *arena, const char *path, Str key, CacheSection *sections,
                            uint32_t count) {
    Str echo;
    CacheResult result = cache_read_entry(arena, path, &echo, sections, count);
    if (result == CACHE_HIT && !str_eq(echo, key))
        return CACHE_MISS;
    if (result == CACHE_HIT)
        touch(path);
    if (result == CACHE_DAMAGED)
        unlink(path);
    return result;
}

CacheResult cache_get(const Cache *cache, Arena *arena, Str key, CacheSection *sections,
                      uint32_t count) {
    if (!cache->folder)
        return CACHE_MISS;
    return get_file(arena, path_of(cache, arena, key, CACHE_SUFFIX), key, sections, count);
}

static const char reference_section[] = "entry";

bool cache_follow(const Cache *cache, Arena *arena, Str key, Str *entry_key) {
    CacheSection section = {reference_section, {"", 0}};
    if (!cache->folder)
        return false;
    const char *path = path_of(cache, arena, key, CACHE_REFERENCE_SUFFIX);
    bool found = get_file(arena, path, key, &section, 1) == CACHE_HIT && section.data.len;
    *entry_key = section.data;
    return found;
}

void cache_remove(const Cache *cache, Arena *arena, Str key) {
    if (cache->folder)
        unlink(path_of(cache, arena, key, CACHE_SUFFIX));
}

static Str encode(Arena *arena, Str data, Codec *codec) {
    *codec = CODEC_RAW;
#ifdef TILEC_HAVE_ZSTD
    if (data.len >= COMPRESS_FROM) {
        size_t bound = ZSTD_compressBound(data.len);
        char *packed = arena_alloc(arena, bound);
        size_t size = ZSTD_compress(packed, bound, data.ptr, data.len, ZSTD_LEVEL);
        if (!ZSTD_isError(size) && size < data.len) {
            *codec = CODEC_ZSTD;
            return (Str){packed, size};
        }
    }
#endif
    return data;
}

static Str build_file(Arena *arena, Str key, const CacheSection *sections, uint32_t count) {
    FileHeader header = {.version = FORMAT_VERSION, .section_count = count + 1};
    memcpy(header.magic, cache_magic, sizeof cache_magic);
    FileSection records[CACHE_MAX_SECTIONS] = {0};
    Str payloads[CACHE_MAX_SECTIONS];
    uint64_t offset = sizeof header + header.section_count * sizeof *records;
    for (uint32_t i = 0; i < header.section_count; i++) {
        const char *name = i ? sections[i - 1].name : "key";
        Str data = i ? sections[i - 1].data : key;
        Codec codec;
        payloads[i] = encode(arena, data, &codec);
        memcpy(records[i].name, name, strnlen(name, CACHE_NAME_SIZE));
        records[i].codec = codec;
        records[i].offset = offset;
        records[i].stored = payloads[i].len;
        records[i].size = data.len;
        offset += payloads[i].len;
    }
    char *file = arena_alloc(arena, offset);
    memcpy(file + sizeof header, records, header.section_count * sizeof *records);
    for (uint32_t i = 0; i < header.section_count; i++)
        if (payloads[i].len)
            memcpy(file + records[i].offset, payloads[i].ptr, payloads[i].len);
    header.file_size = offset;
    header.checksum = checksum_of(file + sizeof header, offset - sizeof header);
    memcpy(file, &header, sizeof header);
    return (Str){file, offset};
}

/* What is no file of ours where an entry belongs, such as a pipe that nobody reads: writing would
 * go there. */
static void remove_strange(const char *path) {
    struct stat info;
    if (lstat(path, &info) == 0 && !S_ISREG(info.st_mode) && unlink(path) && errno == EISDIR)
        rmdir(path);
}

static int put_file(const Cache *cache, Arena *arena, const char *path, Str key,
                    const CacheSection *sections, uint32_t count) {
    Str file = build_file(arena, key, sections, count);
    const char *folder = str_dup(arena, file_folder(str_from(path)));
    /* Not flushed to disk: readers verify the checksum, so a machine that stops can only cost a
     * miss, and flushing would cost as much as compiling. */
    remove_strange(path);
    int error = file_write(arena, path, file, false);
    if (error == ENOENT) {
        error = file_make_folder(arena, folder);
        if (!error)
            error = file_write(arena, path, file, false);
    }
    if (!error)
        cache_trim_folder(arena, folder, path, cache->max_bytes / CACHE_FOLDERS);
    return error;
}

int cache_put(const Cache *cache, Arena *arena, Str key, const CacheSection *sections,
              uint32_t count) {
    if (!cache->folder || count >= CACHE_MAX_SECTIONS)
        return cache->folder ? EINVAL : 0;
    return put_file(cache, arena, path_of(cache, arena, key, CACHE_SUFFIX), key, sections, count);
}

int cache_refer(const Cache *cache, Arena *arena, Str key, Str entry_key) {
    const CacheSection section = {reference_section, entry_key};
    if (!cache->folder)
        return 0;
    return put_file(cache, arena, path_of(cache, arena, key, CACHE_REFERENCE_SUFFIX), key, &section,
                    1);
}
