/* The context and its interning tables.
 *
 * An interning table is an open-addressing hash table of (hash, object): types, layouts and strings
 * share the code, each object being an array of bytes without varying padding. Stored copies are
 * followed by a zero byte, so that interned strings are terminated. */
#include "support/ctx.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

typedef struct InternEntry {
    uint64_t hash;
    const void *object; /* NULL: free */
    size_t size;
} InternEntry;

struct InternTable {
    InternEntry *entries;
    size_t len, cap; /* cap is a power of two, at least a quarter free */
};

enum { INTERN_FIRST_CAP = 64 };

static InternTable *intern_table_create(Arena *arena) {
    InternTable *table = ARENA_NEW(arena, InternTable);
    table->cap = INTERN_FIRST_CAP;
    table->entries = ARENA_ARRAY(arena, InternEntry, table->cap);
    return table;
}

/* The entry of the object equal to the key, or the free entry where it belongs. */
static InternEntry *intern_find(const InternTable *table, uint64_t hash, const void *key,
                                size_t size) {
    for (size_t i = hash & (table->cap - 1);; i = (i + 1) & (table->cap - 1)) {
        InternEntry *entry = &table->entries[i];
        if (!entry->object)
            return entry;
        if (entry->hash == hash && entry->size == size &&
            (size == 0 || memcmp(entry->object, key, size) == 0))
            return entry;
    }
}

static void intern_grow(Arena *arena, InternTable *table) {
    InternTable larger = {.len = table->len, .cap = table->cap * 2};
    larger.entries = ARENA_ARRAY(arena, InternEntry, larger.cap);
    for (size_t i = 0; i < table->cap; i++) {
        const InternEntry *old = &table->entries[i];
        if (old->object)
            *intern_find(&larger, old->hash, old->object, old->size) = *old;
    }
    *table = larger;
}

const void *intern(Ctx *ctx, InternTable *table, const void *key, size_t size) {
    uint64_t hash = size ? XXH3_64bits(key, size) : 0;
    InternEntry *entry = intern_find(table, hash, key, size);
    if (entry->object)
        return entry->object;
    if (4 * (table->len + 1) > 3 * table->cap) {
        intern_grow(&ctx->arena, table);
        entry = intern_find(table, hash, key, size);
    }
    void *object = arena_alloc(&ctx->arena, size + 1);
    if (size)
        memcpy(object, key, size);
    *entry = (InternEntry){hash, object, size};
    table->len++;
    return object;
}

Str ctx_intern(Ctx *ctx, Str text) {
    return (Str){intern(ctx, ctx->strings, text.ptr, text.len), text.len};
}

/* Apart from ctx_create, whose variables setjmp would leave undefined. */
__attribute__((noinline)) static bool ctx_init(Ctx *ctx) {
    if (setjmp(ctx->oom))
        return false;
    ctx->sources.arena = &ctx->arena;
    ctx->diags.arena = &ctx->arena;
    ctx->diags.sources = &ctx->sources;
    ctx->max_depth = CTX_LEAST_STACK / CTX_STACK_PER_VALUE;
    ctx->types = intern_table_create(&ctx->arena);
    ctx->layouts = intern_table_create(&ctx->arena);
    ctx->strings = intern_table_create(&ctx->arena);
    /* The scratch arena keeps its first chunk: marks are taken and rewound for every op. */
    arena_alloc(&ctx->scratch, 1);
    return true;
}

Ctx *ctx_create(void) {
    return ctx_create_with(NULL);
}

Ctx *ctx_create_with(const Allocator *allocator) {
    Ctx *ctx = allocator_take(allocator, sizeof *ctx);
    if (!ctx)
        return NULL;
    ctx->arena.allocator = ctx->scratch.allocator = allocator;
    ctx->arena.oom = ctx->scratch.oom = &ctx->oom;
    if (ctx_init(ctx))
        return ctx;
    ctx_destroy(ctx);
    return NULL;
}

void ctx_cancel_with(Ctx *ctx, const Cancel *cancel) {
    ctx->arena.cancel = ctx->scratch.cancel = cancel;
}

static void set_jump(Ctx *ctx, jmp_buf *arena, jmp_buf *scratch) {
    ctx->arena.oom = arena;
    ctx->scratch.oom = scratch;
}

/* Either arena may jump out of the work, and both have the same way out. */
void ctx_finally(Ctx *ctx, void (*work)(void *user), void (*release)(void *user), void *user) {
    jmp_buf *outer = ctx->arena.oom, *outer_scratch = ctx->scratch.oom, here;
    if (setjmp(here)) {
        set_jump(ctx, outer, outer_scratch);
        release(user);
        longjmp(*outer, 1);
    }
    set_jump(ctx, &here, &here);
    work(user);
    set_jump(ctx, outer, outer_scratch);
    release(user);
}

void ctx_destroy(Ctx *ctx) {
    if (!ctx)
        return;
    const Allocator *allocator = ctx->arena.allocator;
    arena_free(&ctx->scratch);
    arena_free(&ctx->arena);
    allocator_give(allocator, ctx, sizeof *ctx);
}
