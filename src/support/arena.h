/* Arenas: memory that is freed all at once.
 *
 * Compiling a kernel allocates many small things with one lifetime; they come from chunks that are
 * released together. Nothing is freed singly, but a scratch arena may be rolled back to a mark.
 *
 * Out of memory is not an error path in every caller: an arena carries the jump buffer of the entry
 * that owns it, and a failed allocation jumps there. An arena without one aborts, so every arena
 * reachable from the public API has one (see `Ctx` in support/ctx.h). Work that is cancelled leaves
 * by the same way, at the next allocation.
 *
 * An arena belongs to one thread at a time. */
#ifndef TILEC_SUPPORT_ARENA_H
#define TILEC_SUPPORT_ARENA_H
#include "support/cancel.h"
#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>

/* Where memory comes from. Blocks are aligned to 16; NULL: there is none. Any thread may call it.
 */
typedef struct Allocator {
    void *(*allocate)(void *user, size_t size);
    void *(*reallocate)(void *user, void *block, size_t old_size, size_t size);
    void (*release)(void *user, void *block, size_t size);
    void *user;
} Allocator;

/* Of an allocator; NULL: malloc and its like. What is taken is zero; NULL may be given back. */
void *allocator_take(const Allocator *allocator, size_t size);
void *allocator_resize(const Allocator *allocator, void *block, size_t old_size, size_t size);
void allocator_give(const Allocator *allocator, void *block, size_t size);

typedef struct ArenaChunk ArenaChunk;

typedef struct Arena {
    ArenaChunk *top;
    jmp_buf *oom;               /* where a failed allocation goes; not owned */
    size_t reserved;            /* bytes taken */
    size_t limit;               /* most bytes it may take; 0: no limit */
    const Allocator *allocator; /* of chunks; NULL: malloc. Not owned */
    const Cancel *cancel; /* from its request on every allocation fails; NULL: none. Not owned */
} Arena;

typedef struct ArenaMark {
    ArenaChunk *chunk;
    size_t used;
} ArenaMark;

/* `size` zeroed bytes, aligned to 16. Never NULL. */
void *arena_alloc(Arena *arena, size_t size);
/* An array of `count` zeroed elements; the product is checked for overflow. */
void *arena_array(Arena *arena, size_t count, size_t size);
/* Copies `old_size` bytes into a new block of `new_size`; the old block stays until the arena goes.
 */
void *arena_grow(Arena *arena, const void *old, size_t old_size, size_t new_size);
/* Everything allocated after the mark is released by `arena_rewind`. */
ArenaMark arena_mark(const Arena *arena);
void arena_rewind(Arena *arena, ArenaMark mark);
/* An arena whose chunks are blocks of `parent`, with which they go: what is taken again and again,
 * and rolled back, beside what stays. A chunk that is released is lost until then. */
Arena *arena_within(Arena *parent);
/* Releases every chunk; the arena is empty and usable afterwards. */
void arena_free(Arena *arena);

/* Jumps as a failed allocation does if the work in this arena is cancelled. */
void arena_check(Arena *arena);

#define ARENA_NEW(arena, T) ((T *)arena_alloc((arena), sizeof(T)))
#define ARENA_ARRAY(arena, T, n) ((T *)arena_array((arena), (n), sizeof(T)))
#endif
