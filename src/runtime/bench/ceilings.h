/* What a device reaches at most, measured on it: bytes that its own copies move, operations of the
 * kernels of ceilings.tile. Times of kernels are told as shares of these. */
#ifndef TILEC_RUNTIME_BENCH_CEILINGS_H
#define TILEC_RUNTIME_BENCH_CEILINGS_H
#include "frontend/value.h"
#include "runtime/ahead/build.h"
#include "runtime/launch/launch.h"

/* X(id, what it computes, its kernel) */
#define CEILING_KINDS(X)                                                                           \
    X(products, "products on tensor cores", "products")                                            \
    X(multiply_adds, "fused multiply-adds", "multiply_adds")

typedef enum CeilingKind {
#define CEILING(id, text, kernel) CEILING_##id,
    CEILING_KINDS(CEILING)
#undef CEILING
        CEILING_COUNT
} CeilingKind;

typedef struct Ceilings {
    double gbs;       /* of copies, 10^9 bytes a second, read and written; 0: not measured */
    double tflops;    /* 10^12 operations a second; 0: not measured */
    CeilingKind kind; /* of what */
    const char *elem; /* on elements of this type: "fp16" */
} Ceilings;

/* What is computed: "products on tensor cores". */
const char *ceilings_text(CeilingKind kind);
/* How a kernel of that kind is compiled, for the device's target and as `base` says it; elem: of
 * the operands of products. False: there are no products of this type. */
bool ceilings_plan(Ctx *ctx, const CompileRequest *base, CeilingKind kind, Elem elem,
                   Planned *planned);
/* 10^9 bytes a second; 0: it could not be measured, which is no error. The device's context is
 * current. */
double ceilings_copy(Ctx *ctx, const Device *device);
/* 10^12 operations a second of what was built of ceilings_plan; 0 likewise. */
double ceilings_compute(Ctx *ctx, const Device *device, CeilingKind kind, Elem elem,
                        const Built *built);
#endif
