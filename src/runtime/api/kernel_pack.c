/* Public API: kernels as bytes, in the form of a file of the cache. */
#include "runtime/api/api.h"
#include "runtime/cache/cache_internal.h"
#include "runtime/compile/compile.h"

/* In the place of an entry's key: which sections there are. */
#define FORM STR("tilec kernel 1")

enum { FACTS = OUTPUT_COUNT, SECTION_COUNT };

static const char *const section_names[SECTION_COUNT] = {
    [OUTPUT_ast] = "ast",         [OUTPUT_tir] = "tir",
    [OUTPUT_tir_final] = "final", [OUTPUT_ll_before] = "before",
    [OUTPUT_ll] = "ll",           [OUTPUT_ptx] = "ptx",
    [OUTPUT_cubin] = "cubin",     [OUTPUT_sass] = "sass",
    [OUTPUT_meta] = "meta",       [FACTS] = "facts",
};

_Static_assert((int)SECTION_COUNT < (int)CACHE_MAX_SECTIONS,
               "a kernel's sections have room in a file");

static Str pack(Arena *arena, const tile_kernel *kernel) {
    StrBuf facts = strbuf(arena);
    facts_write(&kernel->facts, &facts);
    CacheSection sections[SECTION_COUNT];
    for (int i = 0; i < SECTION_COUNT; i++)
        sections[i] =
            (CacheSection){section_names[i], i == FACTS ? strbuf_str(&facts) : kernel->outputs[i]};
    return cache_build_file(arena, FORM, sections, SECTION_COUNT);
}

tile_status tile_kernel_pack(const tile_kernel *kernel, void *bytes, size_t *size) {
    jmp_buf oom;
    if (!kernel || !size)
        return TILE_ERROR_INVALID_ARGUMENT;
    Arena arena = {.oom = &oom, .allocator = kernel->arena.allocator};
    if (setjmp(oom)) {
        arena_free(&arena);
        return TILE_ERROR_OUT_OF_MEMORY;
    }
    const Str packed = pack(&arena, kernel);
    const bool fits = !bytes || packed.len <= *size;
    if (bytes && fits)
        memcpy(bytes, packed.ptr, packed.len);
    *size = packed.len;
    arena_free(&arena);
    return fits ? TILE_OK : TILE_ERROR_INVALID_ARGUMENT;
}

/* NULL, or what is wrong. */
static const char *unpack(Arena *arena, Str bytes, tile_kernel *found) {
    CacheSection sections[SECTION_COUNT];
    Str key;
    for (int i = 0; i < SECTION_COUNT; i++)
        sections[i] = (CacheSection){section_names[i], STR("")};
    if (cache_parse_file(arena, bytes, &key, sections, SECTION_COUNT) != CACHE_HIT)
        return "they are damaged, or something else";
    if (!str_eq(key, FORM) || !facts_read(arena, sections[FACTS].data, &found->facts))
        return "they are of another version";
    for (int i = 0; i < OUTPUT_COUNT; i++)
        found->outputs[i] = sections[i].data;
    return NULL;
}

static tile_status make_unpacked(Call *call, const void *bytes, size_t size, tile_kernel **kernel) {
    Arena *arena = &call->ctx->arena;
    tile_kernel found = {0};
    /* A copy is aligned. */
    const char *trouble = unpack(arena, str_keep(arena, (Str){bytes, size}), &found);
    if (!trouble)
        return kernel_create(call->context, &found, kernel);
    ctx_diag(call->ctx, (Span){0}, kernel_unpacked, size, trouble);
    return TILE_OK; /* which becomes what was said */
}

tile_status tile_kernel_unpack(tile_context *context, const void *bytes, size_t size,
                               tile_kernel **kernel, tile_diagnostics **diagnostics) {
    if (!context || !kernel || (size && !bytes))
        return invalid_argument(diagnostics);
    Call *call = call_begin(context, diagnostics);
    if (!call || setjmp(call->ctx->oom))
        return call_end(call, TILE_ERROR_OUT_OF_MEMORY);
    return call_end(call, make_unpacked(call, bytes, size, kernel));
}
