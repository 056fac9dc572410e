/* Any bytes as a shapes file. Beyond not crashing: what is refused has a message inside of a text,
 * and of what is accepted every shape is whole, and has a grid or a message why not. */
#include "fuzz.h"
#include "runtime/data/shapes.h"

static void check_shape(Ctx *ctx, const ShapesFile *shapes, const Shape *shape) {
    uint32_t grid[3];
    FUZZ_CHECK(shape->text && shape->size_count && shape->size_count <= shape->name_count);
    for (uint32_t i = 0; i < shape->arg_count; i++)
        FUZZ_CHECK(!shape->args[i].is_made || !shape->args[i].array.data);
    if (!shapes->grid_expr)
        return;
    const unsigned errors = ctx->diags.errors;
    const bool ok = shapes_grid(ctx, shapes, shape, NULL, NULL, 0, grid);
    FUZZ_CHECK(ok == (ctx->diags.errors == errors));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    Ctx *ctx = ctx_create();
    FUZZ_CHECK(ctx);
    ctx->arena.oom = ctx->scratch.oom = NULL; /* running out of memory aborts */
    const uint32_t file =
        source_add(&ctx->sources, STR("folder/fuzz.json"), (Str){(const char *)data, size});
    ShapesFile shapes;
    if (shapes_parse(ctx, file, &shapes)) {
        FUZZ_CHECK(!ctx->diags.errors && shapes.count && shapes.count <= SHAPES_MAX);
        for (uint32_t i = 0; i < shapes.count && i < 8; i++)
            check_shape(ctx, &shapes, &shapes.shapes[i]);
    } else {
        FUZZ_CHECK(ctx->diags.errors > 0);
        for (const Diagnostic *d = ctx->diags.first; d; d = d->next) {
            const Source *source = source_get(&ctx->sources, d->span.file);
            FUZZ_CHECK(!source || (d->span.lo <= d->span.hi && d->span.hi <= source->text.len + 1));
        }
    }
    ctx_destroy(ctx);
    return 0;
}
