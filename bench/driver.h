/* The CUDA driver as a program calls it that has no other library: what launches are compared with.
 */
#ifndef TILEC_BENCH_DRIVER_H
#define TILEC_BENCH_DRIVER_H
#include "tests/runtime/cuda_extra.h"
#include <dlfcn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct Cuda {
#define DRIVER(field, symbol, parameters) CUresult(*field) parameters;
#include "runtime/driver/driver.def"
#define X(field, symbol, parameters) CUresult(*field) parameters;
    CUDA_EXTRA_FUNCTIONS(X)
#undef X
} Cuda;

static inline void cuda_must(CUresult result, const char *what) {
    if (result == CUDA_OK)
        return;
    fprintf(stderr, "%s: error %d of the driver\n", what, result);
    exit(1);
}

static inline void cuda_symbol(void *library, const char *symbol, bool is_needed, void *function) {
    void *found = dlsym(library, symbol);
    if (!found && is_needed) {
        fprintf(stderr, "the driver has no %s\n", symbol);
        exit(1);
    }
    memcpy(function, &found, sizeof found);
}

/* Loads the driver, which TILEC_CUDA_LIBRARY may name, and calls nothing of it. */
static inline void cuda_load(Cuda *cuda) {
    const char *path = getenv("TILEC_CUDA_LIBRARY");
    void *library = dlopen(path && *path ? path : "libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    if (!library) {
        fprintf(stderr, "%s\n", dlerror());
        exit(1);
    }
#define DRIVER(field, symbol, parameters) cuda_symbol(library, symbol, true, &cuda->field);
#define DRIVER_OPTIONAL(field, symbol, parameters)                                                 \
    cuda_symbol(library, symbol, false, &cuda->field);
#include "runtime/driver/driver.def"
#define X(field, symbol, parameters) cuda_symbol(library, symbol, true, &cuda->field);
    CUDA_EXTRA_FUNCTIONS(X)
#undef X
}
#endif
