/* Growable arrays in an arena: a struct { T *data; size_t len, cap; } and a few macros. */
#ifndef TILEC_SUPPORT_VEC_H
#define TILEC_SUPPORT_VEC_H
#include "support/arena.h"

#define VEC(T)                                                                                     \
    struct {                                                                                       \
        T *data;                                                                                   \
        size_t len, cap;                                                                           \
    }

/* Appends `...` (an expression of the element type); old storage stays valid until the arena goes.
 */
#define vec_push(arena, v, ...)                                                                    \
    do {                                                                                           \
        if ((v)->len == (v)->cap) {                                                                \
            size_t cap_ = (v)->cap ? 2 * (v)->cap : 8;                                             \
            (v)->data = arena_grow((arena), (v)->data, (v)->len * sizeof *(v)->data,               \
                                   cap_ * sizeof *(v)->data);                                      \
            (v)->cap = cap_;                                                                       \
        }                                                                                          \
        (v)->data[(v)->len++] = __VA_ARGS__;                                                       \
    } while (0)

/* An empty vector has no storage, and arithmetic on a null pointer is undefined. */
#define vec_for_each(it, v)                                                                        \
    for (__typeof__(&*(v)->data) it = (v)->data, it##_end = it ? it + (v)->len : it;               \
         it != it##_end; it++)
#endif
