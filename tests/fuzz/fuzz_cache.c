/* Entries of the cache, as two kinds of input:
 *
 *     F <bytes>                 a file; its size and checksum are made right first, which random
 *                               bytes never get past
 *     <sections>                the sections of an entry that the cache itself stored: each a line
 *                               "== name" and what follows up to the next such line
 *
 * Beyond not crashing: a file is a hit or damaged, its sections lie in readable memory; an entry
 * that answers has what an answer needs, can be described, and its messages printed. */
#include "fuzz_folder.h"
#include "runtime/cache/cache_internal.h"
#include "runtime/compile/recall.h"
#include "runtime/launch/facts.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

enum { SIZE_OFFSET = 16, CHECKSUM_OFFSET = 24, HEADER_SIZE = 40, MAX_SECTIONS = 7 };

/* That of the source, of a file that it imports, and of the cache. */
static const char *folder(void) {
    static bool made;
    const char *path = fuzz_folder();
    if (made)
        return path;
    made = true;
    char imported[64];
    snprintf(imported, sizeof imported, "%s/lib.tile", path);
    FILE *file = fopen(imported, "w");
    FUZZ_CHECK(file && fputs("x = 1\n", file) >= 0 && fclose(file) == 0);
    return path;
}

static void read_all(Str text) {
    static volatile char sink;
    for (size_t i = 0; i < text.len; i++)
        sink = text.ptr[i];
    (void)sink;
}

static void check_file(Ctx *ctx, char *file, size_t size) {
    if (size >= HEADER_SIZE) {
        uint64_t total = size;
        memcpy(file + SIZE_OFFSET, &total, sizeof total);
        XXH128_canonical_t checksum;
        XXH128_canonicalFromHash(&checksum, XXH3_128bits(file + HEADER_SIZE, size - HEADER_SIZE));
        memcpy(file + CHECKSUM_OFFSET, &checksum, sizeof checksum);
    }
    CacheSection sections[] = {{"meta", {"", 0}}, {"ptx", {"", 0}}};
    Str key = STR("");
    CacheResult result = cache_parse_file(&ctx->arena, (Str){file, size}, &key, sections, 2);
    FUZZ_CHECK(result == CACHE_HIT || result == CACHE_DAMAGED);
    if (result == CACHE_HIT) {
        read_all(key);
        read_all(sections[0].data);
        read_all(sections[1].data);
    }
}

/* Splits at lines "== name". */
static uint32_t split_sections(Ctx *ctx, Str text, CacheSection *sections) {
    uint32_t count = 0;
    for (size_t at = 0; at < text.len;) {
        const char *end = memchr(text.ptr + at, '\n', text.len - at);
        size_t stop = end ? (size_t)(end - text.ptr) + 1 : text.len;
        Str line = {text.ptr + at, stop - at};
        bool head = line.len > 4 && memcmp(line.ptr, "== ", 3) == 0;
        if (head && count < MAX_SECTIONS)
            sections[count++] = (CacheSection){
                str_dup(&ctx->arena, (Str){line.ptr + 3, line.len - 4}), {text.ptr + stop, 0}};
        else if (count)
            sections[count - 1].data.len += line.len;
        at = stop;
    }
    return count;
}

static void check_answer(Ctx *ctx, const Compiled *compiled) {
    FUZZ_CHECK(compiled->from_cache && compiled->facts.meta.target &&
               compiled->facts.meta.name.len);
    FUZZ_CHECK(compiled->outputs[OUTPUT_ptx].len && compiled->facts.meta.threads > 0);
    StrBuf text = strbuf(&ctx->arena);
    facts_json(&compiled->facts, &text);
    diag_print_all(&ctx->diags, &text);
    diag_json(&ctx->diags, &text);
    /* What was read is written as the same facts. */
    StrBuf written = strbuf(&ctx->arena), again = strbuf(&ctx->arena);
    facts_write(&compiled->facts, &written);
    KernelFacts second = {0};
    FUZZ_CHECK(facts_read(&ctx->arena, strbuf_str(&written), &second));
    facts_write(&second, &again);
    FUZZ_CHECK(str_eq(strbuf_str(&written), strbuf_str(&again)));
}

static void check_sections(Ctx *ctx, Str text) {
    CacheSection sections[MAX_SECTIONS];
    uint32_t count = split_sections(ctx, text, sections);
    Cache cache;
    cache_open(&cache, &ctx->arena, &(CacheConfig){.folder = folder()});
    Str search = str_from(folder());
    CompileRequest request = {.cache = &cache,
                              .want = OUTPUT_BIT(ptx),
                              .kernel = {.search_paths = &search, .search_path_count = 1}};
    const char *path = str_format(&ctx->arena, "%s/kernel.tile", folder());
    Compiled compiled = {.file = source_add(&ctx->sources, str_from(path), STR("pass\n"))};
    Str key = STR("key\n");
    FUZZ_CHECK(cache_put(&cache, &ctx->arena, key, sections, count) == 0);
    if (recall_get(ctx, &request, key, &compiled) == RECALL_HIT)
        check_answer(ctx, &compiled);
    cache_remove(&cache, key);
    cache_close(&cache);
}

static void check_input(Ctx *ctx, const uint8_t *data, size_t size) {
    Str text = {(const char *)data, size};
    if (size >= 2 && data[0] == 'F')
        check_file(ctx, str_dup(&ctx->arena, (Str){text.ptr + 2, size - 2}), size - 2);
    else
        check_sections(ctx, text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    Ctx *ctx = ctx_create();
    FUZZ_CHECK(ctx);
    if (setjmp(ctx->oom) == 0) {
        ctx->arena.limit = (size_t)1 << 30;
        check_input(ctx, data, size);
    }
    ctx_destroy(ctx);
    return 0;
}
