/* The functions that the linker puts in the place of malloc and its like. Nothing is kept beside a
 * block: its size is what malloc says. */
#include "support/heap.h"

#include <errno.h>
#include <malloc.h>
#include <stdlib.h>

/* Enough for LLVM to end the pass it is in, as long as it works on a function of ordinary size. */
enum { RESERVE = 8 << 20 };

static _Thread_local Heap *current;

Heap *heap_use(Heap *heap) {
    Heap *before = current;
    current = heap;
    return before;
}

Heap *heap_of_thread(void) {
    return current;
}

void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *block, size_t size);
void *__real_aligned_alloc(size_t alignment, size_t size);
int __real_posix_memalign(void **block, size_t alignment, size_t size);
void __real_free(void *block);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *block, size_t size);
void *__wrap_aligned_alloc(size_t alignment, size_t size);
int __wrap_posix_memalign(void **block, size_t alignment, size_t size);
void __wrap_free(void *block);

bool heap_begin(Heap *heap, jmp_buf *exhausted) {
    heap->reserve = __real_malloc(RESERVE);
    heap->failed = !heap->reserve;
    heap->exhausted = heap->failed ? NULL : exhausted;
    return !heap->failed;
}

void heap_end(Heap *heap) {
    __real_free(heap->reserve);
    heap->reserve = NULL;
    heap->exhausted = NULL;
}

bool heap_is_over(const Heap *heap) {
    return heap->failed || (heap->limit && heap->used > (int64_t)heap->limit);
}

static void *count(void *block) {
    Heap *heap = current;
    if (heap && block) {
        heap->used += (int64_t)malloc_usable_size(block);
        heap->peak = heap->used > heap->peak ? heap->used : heap->peak;
    }
    return block;
}

static void discount(void *block) {
    if (current && block)
        current->used -= (int64_t)malloc_usable_size(block);
}

/* After a failure: true when it is worth another try. */
static bool make_room(void) {
    Heap *heap = current;
    if (!heap || !heap->exhausted)
        return false;
    heap->failed = true;
    if (!heap->reserve)
        longjmp(*heap->exhausted, 1);
    __real_free(heap->reserve);
    heap->reserve = NULL;
    return true;
}

void *__wrap_malloc(size_t size) {
    void *block;
    do {
        block = __real_malloc(size);
    } while (!block && make_room());
    return count(block);
}

void *__wrap_calloc(size_t number, size_t size) {
    void *block;
    do {
        block = __real_calloc(number, size);
    } while (!block && make_room());
    return count(block);
}

void *__wrap_realloc(void *old, size_t size) {
    const int64_t before = current && old ? (int64_t)malloc_usable_size(old) : 0;
    void *block;
    do {
        block = __real_realloc(old, size);
    } while (!block && size && make_room());
    if (current && (block || !size))
        current->used -= before;
    return count(block);
}

void *__wrap_aligned_alloc(size_t alignment, size_t size) {
    void *block;
    do {
        block = __real_aligned_alloc(alignment, size);
    } while (!block && errno == ENOMEM && make_room());
    return count(block);
}

int __wrap_posix_memalign(void **block, size_t alignment, size_t size) {
    int error;
    do {
        error = __real_posix_memalign(block, alignment, size);
    } while (error == ENOMEM && make_room());
    if (!error)
        count(*block);
    return error;
}

void __wrap_free(void *block) {
    discount(block);
    __real_free(block);
}
