/* What the three programs share: rows of random numbers, and whether what came back is their
 * softmax, by float64. */
#ifndef EXAMPLES_SOFTMAX_H
#define EXAMPLES_SOFTMAX_H
#include "tilec.h"

#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { ROWS = 1000, COLS = 781, BLOCK = 1024 };

/* Prints what was said (NULL: the call says nothing) and gives it back; whether to go on. By its
 * address: C evaluates the arguments of a call in any order. */
static inline int ok(tile_status status, tile_diagnostics **said) {
    if (said && *said)
        fputs(tile_diagnostics_text(*said).data, stderr);
    else if (status != TILE_OK)
        fprintf(stderr, "%s\n", tile_status_text(status));
    if (said) {
        tile_diagnostics_destroy(*said);
        *said = NULL;
    }
    return status == TILE_OK;
}

static inline float *make_rows(void) {
    float *rows = malloc(sizeof *rows * ROWS * COLS);
    uint32_t state = 1;
    for (size_t i = 0; rows && i < (size_t)ROWS * COLS; i++) {
        state = state * 1664525u + 1013904223u;
        rows[i] = 8.0f * (float)(state >> 8) / (float)(1 << 24) - 4.0f;
    }
    return rows;
}

/* 0: every row of `y` is the softmax of that of `x`. */
static inline int check_rows(const float *x, const float *y) {
    double worst = 0;
    for (size_t row = 0; row < ROWS; row++) {
        const float *in = x + row * COLS, *out = y + row * COLS;
        double sum = 0;
        for (size_t i = 0; i < COLS; i++)
            sum += exp(in[i]);
        for (size_t i = 0; i < COLS; i++) {
            const double wanted = exp(in[i]) / sum, off = fabs(out[i] - wanted) / wanted;
            worst = !(off <= worst) ? off : worst; /* a NaN stays */
        }
    }
    printf("%d rows of %d: largest relative difference %.2g\n", ROWS, COLS, worst);
    return !(worst < 1e-5);
}
#endif
