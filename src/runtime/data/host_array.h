/* Arrays in host memory: what .npy files and generators give and kernels run on.
 *
 * Elements lie contiguous in row-major order, little-endian, as the language's element types are in
 * memory (i1: a byte of 0 or 1). The data lies in the arena that the array was made in. */
#ifndef TILEC_RUNTIME_DATA_HOST_ARRAY_H
#define TILEC_RUNTIME_DATA_HOST_ARRAY_H
#include "frontend/value.h"

enum { HOST_MAX_RANK = 32 };

typedef struct HostArray {
    Elem elem;
    int32_t rank; /* 0: one element */
    int64_t shape[HOST_MAX_RANK];
    size_t count, bytes; /* elements; bytes of data */
    void *data;
} HostArray;

/* Sets count and bytes from elem, rank and shape (sizes of 0 or more); false if they overflow. */
bool host_array_measure(HostArray *array);
/* Zeroed data for a measured array. */
void host_array_alloc(Arena *arena, HostArray *array);
size_t host_elem_bytes(Elem elem);

/* Element i of a float array, exact. */
double host_array_float(const HostArray *array, size_t i);
/* Element i of an integer array, exact. */
__int128 host_array_int(const HostArray *array, size_t i);
/* Stores a float, rounded to nearest even, or an integer, which must fit. */
void host_array_set_float(HostArray *array, size_t i, double value);
void host_array_set_int(HostArray *array, size_t i, __int128 value);
/* The range of an integer element type. */
void host_elem_range(Elem elem, __int128 *min, __int128 *max);

/* "fp32[64, 128]" */
void host_array_print_type(const HostArray *array, StrBuf *out);
/* "[3, 17]": the place of element i. */
void host_array_print_index(const HostArray *array, size_t i, StrBuf *out);
/* The element as text that reads back as the same value. */
void host_array_print_element(const HostArray *array, size_t i, StrBuf *out);
#endif
