/* What a thread takes of malloc, and what happens when there is no more.
 *
 * LLVM counts nothing, and when malloc fails it ends the process. The linker puts the functions of
 * heap.c in the place of malloc and its like for all that is linked into this library or program:
 * its own code, LLVM and the C++ library (--wrap; where LLVM is a shared library it does not reach
 * there, nor where a sanitizer brings its own operator new). A thread that has a heap is counted by
 * them. */
#ifndef TILEC_SUPPORT_HEAP_H
#define TILEC_SUPPORT_HEAP_H
#include <setjmp.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct Heap {
    int64_t used; /* bytes in use, as malloc rounds them; what others allocated and it freed counts
                     against it */
    int64_t peak;
    size_t limit; /* 0: none. What exceeds it is noticed by heap_is_over alone */
    bool failed;  /* malloc gave nothing, and the reserve was given up for it */
    void *reserve;
    /* Where an allocation goes that fails with no reserve left; NULL: its caller gets NULL. */
    jmp_buf *exhausted;
} Heap;

/* The heap of this thread from now on; NULL: none. Returns the one before. */
Heap *heap_use(Heap *heap);
Heap *heap_of_thread(void);

/* From here to heap_end, code that cannot bear NULL from malloc allocates: a reserve lets it get to
 * a point where it can be left, which heap_is_over tells; without one it is left at once, through
 * `exhausted`. False: there is no memory for the reserve. */
bool heap_begin(Heap *heap, jmp_buf *exhausted);
void heap_end(Heap *heap);

/* More is in use than the limit, or malloc has failed. */
bool heap_is_over(const Heap *heap);
#endif
