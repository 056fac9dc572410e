/* Shapes files: sizes of a problem, and a kernel's arguments, grid and work as expressions of them.
 * `tilec tune` and `tilec bench` go through their shapes; docs/benchmarking.md has the form.
 *
 *     {"file": "softmax.tile", "grid": "(M,)",
 *      "args": {"x_ptr": "randn:fp32[M, N]", "y_ptr": "zeros:fp32[M, N]", "cols": "N", ..},
 *      "constexprs": {"BLOCK": "next_power_of_2(N)"},
 *      "shapes": {"M": 4096, "N": [512, 1024, 2048]}} */
#ifndef TILEC_RUNTIME_DATA_SHAPES_H
#define TILEC_RUNTIME_DATA_SHAPES_H
#include "frontend/frontend.h"
#include "frontend/host_expr.h"
#include "runtime/data/host_array.h"

enum { SHAPES_MAX = 4096 };

/* An argument for one shape, as `tilec run -a` takes it, all sizes put in. */
typedef struct ShapeArg {
    Str name;
    Str text;     /* "randn:fp16[4096, 64]", "4096:i64", "@bf16:data/x.npy", "None" */
    Span span;    /* of the value in the shapes file, for what is found to be wrong later */
    bool is_made; /* by a generator: `array` says of what type and shape, and has no data */
    HostArray array;
} ShapeArg;

typedef struct Shape {
    const char *text; /* "M=4096, N=512" */
    Span span;
    /* What expressions may name: the sizes, `size_count` of them, then scalar arguments, then
     * constexprs. An argument of the kernel that is not among `args` and has a size's name is that
     * size, be it a constexpr or not. */
    const Str *names;
    const HostValue *values; /* HOST_UNKNOWN: a constexpr that is no number and no string */
    uint32_t name_count, size_count;
    const ShapeArg *args; /* in the order of the file */
    uint32_t arg_count;
    const NamedText *constexprs; /* as -D takes them */
    uint32_t constexpr_count;
    double flops, bytes; /* of a launch; negative: not said */
} Shape;

typedef struct ShapesFile {
    const char *path; /* of the kernel's source, from where the shapes file's is; NULL: not said */
    Str kernel;       /* its name; empty: not said */
    Str grid;         /* as it is written; empty: not said */
    Expr *grid_expr;
    const Shape *shapes; /* at least one */
    uint32_t count;
} ShapesFile;

/* All lies in the context's arena. False after a report, at its place in the file. */
bool shapes_read(Ctx *ctx, const char *path, ShapesFile *shapes);
/* The same of a source. */
bool shapes_parse(Ctx *ctx, uint32_t file, ShapesFile *shapes);
/* The file's grid for one of its shapes. `names`: what a configuration sets besides, with
 * `values`, before whom the shape's own stand back. False after a report. */
bool shapes_grid(Ctx *ctx, const ShapesFile *shapes, const Shape *shape, const Str *names,
                 const HostValue *values, uint32_t count, uint32_t grid[3]);
#endif
