/* NumPy's .npy files, format versions 1.0 to 3.0.
 *
 *     \x93NUMPY, version (2 bytes), header length (2 bytes little-endian; 4 from version 2.0 on),
 *     a Python dict literal {'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }, the data
 *
 * Element types: little-endian f2 f4 f8, i1 .. i8, u1 .. u8, b1. NumPy has no bf16 and f8; they
 * travel as raw bytes
 * ('<V2', '|V1', as ml_dtypes writes them): V2 is read as bf16, V1 only as the type that is asked
 * for. Arrays in Fortran order are read into row-major order. */
#ifndef TILEC_RUNTIME_DATA_NPY_H
#define TILEC_RUNTIME_DATA_NPY_H
#include "runtime/data/host_array.h"

/* Reads a file; everything lies in the context's arena. `as`: the element type wanted for raw
 * bytes, or for unsigned integers of its size, taken bit by bit (ELEM_COUNT: as the file says).
 * Errors, those in the header with their place in it, are reported; false then. */
bool npy_read(Ctx *ctx, const char *path, Elem as, HostArray *array);

/* The same from memory. The array's data may lie in `bytes`, which the caller keeps, writable. */
bool npy_parse(Ctx *ctx, const char *path, void *bytes, size_t len, Elem as, HostArray *array);

/* Writes version 1.0: all or nothing, by way of a temporary file in the same folder. */
bool npy_write(Ctx *ctx, const char *path, const HostArray *array);

/* The file's bytes before the data, as npy_write makes them. */
void npy_header(const HostArray *array, StrBuf *out);
#endif
