/* The form of a cache file: a header with a checksum, a table of sections, the sections. */
#include "runtime/cache/cache_internal.h"

#define XXH_INLINE_ALL
#include <xxhash.h>
#ifdef TILEC_HAVE_ZSTD
#include <zstd.h>
#endif

enum {
    FORMAT_VERSION = 1,
    COMPRESS_FROM = 1024, /* bytes; smaller sections stay raw */
    ZSTD_LEVEL = 3,
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

CacheResult cache_parse_file(Arena *arena, Str file, Str *key, CacheSection *sections,
                             uint32_t count) {
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

Str cache_build_file(Arena *arena, Str key, const CacheSection *sections, uint32_t count) {
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
