/* What the C benchmarks share: time, medians, statuses that must be success. */
#ifndef TILEC_BENCH_COMMON_H
#define TILEC_BENCH_COMMON_H
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tilec.h>
#include <time.h>

static inline double now_us(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e6 + (double)t.tv_nsec * 1e-3;
}

static inline int compare_doubles(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Sorts the samples. */
static inline double median(double *samples, size_t count) {
    qsort(samples, count, sizeof *samples, compare_doubles);
    return samples[count / 2];
}

/* Ends the program on anything but success. `diagnostics` is where the call put them, or NULL. */
static inline void must(tile_status status, tile_diagnostics *const *diagnostics,
                        const char *what) {
    if (status == TILE_OK)
        return;
    fprintf(stderr, "%s: %s\n", what, tile_status_text(status));
    if (diagnostics && *diagnostics)
        fprintf(stderr, "%s", tile_diagnostics_text(*diagnostics).data);
    exit(1);
}

static inline tile_text text_of(const char *text) {
    return (tile_text){text, strlen(text)};
}
#endif
