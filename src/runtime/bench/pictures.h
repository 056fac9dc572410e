/* What a benchmark found, as pictures (svg.h). */
#ifndef TILEC_RUNTIME_BENCH_PICTURES_H
#define TILEC_RUNTIME_BENCH_PICTURES_H
#include "runtime/bench/report.h"

/* X(id, file): rates over sizes, a line for each configuration; rates over operations for each
 * byte, below the ceilings; configurations, the fastest first. */
#define PICTURES(X)                                                                                \
    X(sweep, "sweep.svg")                                                                          \
    X(roofline, "roofline.svg")                                                                    \
    X(configurations, "configurations.svg")

typedef enum PictureKind {
#define PICTURE(id, file) PICTURE_##id,
    PICTURES(PICTURE)
#undef PICTURE
        PICTURE_COUNT
} PictureKind;

const char *picture_file(PictureKind kind);
/* False: there is nothing to draw: no times; of a roofline, no operations or bytes; of
 * configurations, fewer than two. */
bool picture_draw(const BenchReport *report, PictureKind kind, StrBuf *out);
#endif
