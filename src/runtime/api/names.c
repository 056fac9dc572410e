/* Public API: what a text says of a function before it is a unit: its lines, the names that it has
 * from elsewhere. */
#include "frontend/extent.h"
#include "frontend/free_names.h"
#include "runtime/api/api_compile.h"
#include "runtime/compile/stack.h"

tile_status tile_source_extent(tile_text source, uint32_t line, tile_extent *extent) {
    Extent found;
    if (!extent || !line || (!source.data && source.size) || source.size > FRONTEND_SOURCE_LIMIT)
        return TILE_ERROR_INVALID_ARGUMENT;
    if (!extent_find(text_str(source), line, &found))
        return TILE_ERROR_SOURCE;
    const tile_extent known = {.first_line = found.first_line,
                               .def_line = found.def_line,
                               .end_line = found.end_line,
                               .column = found.column};
    return info_copy(extent, &known, sizeof known) ? TILE_OK : TILE_ERROR_INVALID_ARGUMENT;
}

struct tile_name_list {
    Arena arena;
    tile_free_name *items;
    size_t count;
};

/* Walking a tree recurses as parsing does. */
typedef struct NameSearch {
    Ctx *ctx;
    uint32_t file;
    FreeNames names;
} NameSearch;

static void find_on_stack(void *user) {
    NameSearch *search = user;
    const AstFile *syntax = parse_unit(&search->ctx->diags, search->file);
    if (syntax->body.count)
        free_names(&search->ctx->arena, syntax->body.items[0]->u.def, &search->names);
}

static tile_status build_names(Call *call, tile_text text, tile_name_list **list) {
    Ctx *ctx = call->ctx;
    NameSearch search = {.ctx = ctx,
                         .file = source_add(&ctx->sources, STR("<source>"), text_str(text))};
    if (!stack_run(ctx, find_on_stack, &search) || ctx->diags.errors)
        return TILE_OK; /* which becomes what was said */
    const Source *source = source_get(&ctx->sources, search.file);
    Arena *arena = &call->object;
    tile_name_list *made = ARENA_NEW(arena, tile_name_list);
    made->items = ARENA_ARRAY(arena, tile_free_name, search.names.len + 1);
    vec_for_each (name, &search.names) {
        const LineColumn at = source_locate(source, name->span.lo);
        made->items[made->count++] =
            (tile_free_name){.size = sizeof(tile_free_name),
                             .name = text_of(str_keep(arena, name->name)),
                             .line = at.line,
                             .column = at.column,
                             .in_default = name->place == NAME_IN_DEFAULT,
                             .in_annotation = name->place == NAME_IN_ANNOTATION,
                             .in_decorator = name->place == NAME_IN_DECORATOR};
    }
    call_keep(call, &made->arena);
    *list = made;
    return TILE_OK;
}

tile_status tile_names_create(tile_context *context, tile_text source, tile_name_list **list,
                              tile_diagnostics **diagnostics) {
    if (!context || !list || !source.data || source.size > FRONTEND_SOURCE_LIMIT)
        return invalid_argument(diagnostics);
    Call *call = call_begin(context, diagnostics);
    if (!call || setjmp(call->ctx->oom))
        return call_end(call, TILE_ERROR_OUT_OF_MEMORY);
    return call_end(call, build_names(call, source, list));
}

void tile_names_destroy(tile_name_list *list) {
    if (!list)
        return;
    Arena arena = list->arena;
    arena_free(&arena);
}

size_t tile_names_count(const tile_name_list *list) {
    return list ? list->count : 0;
}

tile_status tile_names_get(const tile_name_list *list, size_t index, tile_free_name *name) {
    if (!name || index >= tile_names_count(list))
        return TILE_ERROR_INVALID_ARGUMENT;
    return info_copy(name, &list->items[index], sizeof *name) ? TILE_OK
                                                              : TILE_ERROR_INVALID_ARGUMENT;
}
