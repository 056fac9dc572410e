/* What is asked of a decoded module: spaces, sizes of shared memory, sources it was compiled from.
 */
#include "sim/parse/module.h"

#include "support/file.h"

enum { MAX_SOURCE = 1 << 24 }; /* bytes */

SpaceKind insn_space(const Insn *insn) {
    switch ((Word)insn->field[FIELD_SPACE]) {
    case WORD_global:
        return SPACE_global;
    case WORD_shared:
    case WORD_shared_cta:
    case WORD_shared_cluster:
        return SPACE_shared;
    case WORD_local:
        return SPACE_local;
    case WORD_const:
        return SPACE_const;
    case WORD_param:
    case WORD_param_entry:
    case WORD_param_func:
        return SPACE_param;
    default:
        return SPACE_generic;
    }
}

uint64_t sim_static_shared(const SimModule *module, const Func *kernel) {
    return kernel->shared_end > module->static_shared ? kernel->shared_end : module->static_shared;
}

uint64_t sim_aligned_shared(const SimModule *module, const Func *kernel) {
    uint64_t end = SIM_SHARED_START + sim_static_shared(module, kernel);
    return (end + module->dynamic_align - 1) / module->dynamic_align * module->dynamic_align -
           SIM_SHARED_START;
}

uint32_t sim_source_of(const SimModule *module, const Place *place, Str *path) {
    Ctx *ctx = module->ctx;
    *path =
        place->file < module->file_names.len ? module->file_names.data[place->file] : (Str){"", 0};
    if (!path->len)
        return 0;
    uint32_t found = 0;
    for (uint32_t i = 1; i <= ctx->sources.sources.len; i++) {
        const Source *source = source_get(&ctx->sources, i);
        if (str_eq(source->name, *path) && (!found || source_has_line(source, place->line)))
            found = i;
    }
    if (found) {
        *path = source_get(&ctx->sources, found)->path;
        return found;
    }
    Str text;
    if (file_read(&ctx->arena, str_dup(&ctx->arena, *path), MAX_SOURCE, &text) != 0)
        return 0;
    return source_add(&ctx->sources, *path, text);
}
