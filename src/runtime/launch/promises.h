/* What the code of a kernel takes for granted of a launch, and whether a launch keeps it. */
#ifndef TILEC_RUNTIME_LAUNCH_PROMISES_H
#define TILEC_RUNTIME_LAUNCH_PROMISES_H
#include "support/diag.h"
#include "target/kernel_meta.h"

#include <string.h>

/* Of one parameter that is passed. */
typedef struct Promise {
    Str name, type;
    uint32_t bytes; /* of the value */
    bool is_pointer, is_unsigned;
    int64_t divisible; /* 1: nothing. Of a pointer at least what its elements are aligned to */
    bool is_fixed;     /* equal to `fixed` */
    int64_t fixed;
} Promise;

/* Those of the parameters that are passed, in order, with copies of the texts. */
const Promise *promises_create(Arena *arena, const KernelParam *params, uint32_t count);
/* The first pair that a launch gives one pointer, but for pointers to nowhere; NULL: there is none.
 */
static inline const ApartParams *apart_find_equal(const ApartParams *apart, size_t count,
                                                  const void *const *params) {
    for (size_t i = 0; i < count; i++) {
        uint64_t loaded, stored;
        memcpy(&loaded, params[apart[i].loaded], sizeof loaded);
        memcpy(&stored, params[apart[i].stored], sizeof stored);
        if (loaded == stored && loaded)
            return &apart[i];
    }
    return NULL;
}
/* The same for whoever launches often: with the numbers that the pairs name, each of them once,
 * those that are stored before those that are loaded. */
typedef struct Apart {
    const ApartParams *pairs;
    size_t count;
    const uint32_t *numbers;
    uint32_t stored, all; /* of the numbers */
} Apart;

/* NULL: there are no pairs. */
const Apart *apart_create(Arena *arena, const ApartList *pairs);

/* Many pairs are of few pointers, so that each of these is looked at once: a bit for each that is
 * stored through, and the pairs only where one that is loaded through has such a bit. */
static inline const ApartParams *apart_find(const Apart *apart, const void *const *params) {
    uint64_t marks = 0;
    if (!apart)
        return NULL;
    for (uint32_t i = 0; i < apart->all; i++) {
        uint64_t pointer;
        memcpy(&pointer, params[apart->numbers[i]], sizeof pointer);
        const uint64_t mark = UINT64_C(1) << (pointer * UINT64_C(0x9e3779b97f4a7c15) >> 58);
        if (i < apart->stored)
            marks |= mark;
        else if (marks & mark)
            return apart_find_equal(apart->pairs, apart->count, params);
    }
    return NULL;
}
/* "'x' and 'y' are one array" */
const char *apart_explain(Arena *arena, const Str *names, const ApartParams *pair);

/* False after a report that names the parameters whose values break a promise. params[i] points at
 * value i. */
bool promises_check(const Promise *promises, uint32_t count, Diags *diags, Str kernel,
                    void *const *params);
#endif
