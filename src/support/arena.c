#include "support/arena.h"

#include <stdlib.h>
#include <string.h>

struct ArenaChunk {
    ArenaChunk *prev;
    size_t used, capacity;
    _Alignas(16) char data[];
};

enum { CHUNK_SIZE = 64 * 1024 };

static _Noreturn void out_of_memory(Arena *arena) {
    if (arena->oom)
        longjmp(*arena->oom, 1);
    abort();
}

void *allocator_take(const Allocator *allocator, size_t size) {
    if (!allocator)
        return calloc(1, size);
    void *block = allocator->allocate(allocator->user, size);
    return block ? memset(block, 0, size) : NULL;
}

void *allocator_resize(const Allocator *allocator, void *block, size_t old_size, size_t size) {
    return allocator ? allocator->reallocate(allocator->user, block, old_size, size)
                     : realloc(block, size);
}

void allocator_give(const Allocator *allocator, void *block, size_t size) {
    if (!allocator)
        free(block);
    else if (block)
        allocator->release(allocator->user, block, size);
}

void arena_check(Arena *arena) {
    if (cancel_is_requested(arena->cancel))
        out_of_memory(arena);
}

static void push_chunk(Arena *arena, size_t size) {
    size_t capacity = size > CHUNK_SIZE ? size : CHUNK_SIZE;
    size_t total = sizeof(ArenaChunk) + capacity;
    if (total < capacity || (arena->limit && (arena->reserved > arena->limit ||
                                              total > arena->limit - arena->reserved)))
        out_of_memory(arena);
    ArenaChunk *chunk = arena->allocator ? arena->allocator->allocate(arena->allocator->user, total)
                                         : malloc(total); /* blocks of it are cleared */
    if (!chunk)
        out_of_memory(arena);
    chunk->prev = arena->top;
    chunk->used = 0;
    chunk->capacity = capacity;
    arena->top = chunk;
    arena->reserved += total;
}

void *arena_alloc(Arena *arena, size_t size) {
    arena_check(arena);
    if (size > SIZE_MAX - 15)
        out_of_memory(arena);
    size = (size + 15) & ~(size_t)15;
    if (!arena->top || size > arena->top->capacity - arena->top->used)
        push_chunk(arena, size);
    void *block = arena->top->data + arena->top->used;
    arena->top->used += size;
    return memset(block, 0, size);
}

void *arena_array(Arena *arena, size_t count, size_t size) {
    size_t total;
    if (__builtin_mul_overflow(count, size, &total))
        out_of_memory(arena);
    return arena_alloc(arena, total);
}

void *arena_grow(Arena *arena, const void *old, size_t old_size, size_t new_size) {
    void *block = arena_alloc(arena, new_size);
    if (old_size)
        memcpy(block, old, old_size);
    return block;
}

ArenaMark arena_mark(const Arena *arena) {
    return (ArenaMark){arena->top, arena->top ? arena->top->used : 0};
}

void arena_rewind(Arena *arena, ArenaMark mark) {
    while (arena->top != mark.chunk) {
        ArenaChunk *chunk = arena->top;
        arena->top = chunk->prev;
        arena->reserved -= sizeof(ArenaChunk) + chunk->capacity;
        allocator_give(arena->allocator, chunk, sizeof(ArenaChunk) + chunk->capacity);
    }
    if (arena->top)
        arena->top->used = mark.used;
}

void arena_free(Arena *arena) {
    arena_rewind(arena, (ArenaMark){NULL, 0});
}

static void *take_of_parent(void *user, size_t size) {
    return arena_alloc(user, size);
}

static void *resize_of_parent(void *user, void *block, size_t old_size, size_t size) {
    return arena_grow(user, block, old_size, size);
}

static void lose(void *user, void *block, size_t size) {}

Arena *arena_within(Arena *parent) {
    Allocator *allocator = ARENA_NEW(parent, Allocator);
    Arena *arena = ARENA_NEW(parent, Arena);
    *allocator = (Allocator){take_of_parent, resize_of_parent, lose, parent};
    *arena = (Arena){.oom = parent->oom, .allocator = allocator, .cancel = parent->cancel};
    return arena;
}
