/* Line tables, so that profilers and the disassembly show source lines. Only lines: with more,
 * ptxas would compile for debugging. */
#include "codegen/values/debug_info.h"
#include "codegen/values/builder.h"
#include "codegen/values/cache.h"

typedef struct LineScopes {
    LLVMMetadataRef kernel;
    LLVMMetadataRef *of_file; /* by source number */
} LineScopes;

static const CacheKind line_scopes_kind = {sizeof(LineScopes)};

/* Strings of PTX have no escapes: a name with a quote or a control character has `?` there. */
static LLVMMetadataRef file_of(Cg *cg, const Source *source) {
    char *name = str_dup(cg->arena, source->name);
    for (size_t i = 0; i < source->name.len; i++)
        if (name[i] == '"' || name[i] == '\\' || (unsigned char)name[i] < ' ')
            name[i] = '?';
    return LLVMDIBuilderCreateFile(cg->di, name, source->name.len, "", 0);
}

/* The scope of lines of source `file`: the kernel's own, or a lexical block in another file for
 * helpers that were inlined from there. */
static LLVMMetadataRef scope_of(Cg *cg, uint32_t file) {
    LineScopes *scopes = cg_cache(cg, &line_scopes_kind);
    if (!scopes->of_file[file]) {
        const Source *source = source_get(&cg->ctx->sources, file);
        scopes->of_file[file] =
            LLVMDIBuilderCreateLexicalBlockFile(cg->di, scopes->kernel, file_of(cg, source), 0);
    }
    return scopes->of_file[file];
}

static void module_flag(Cg *cg, const char *name, uint32_t value) {
    LLVMAddModuleFlag(cg->module, LLVMModuleFlagBehaviorWarning, name, strlen(name),
                      LLVMValueAsMetadata(cg_i32(cg, value)));
}

void cg_debug_begin(Cg *cg) {
    const Func *func = cg->func;
    const Source *source = source_get(&cg->ctx->sources, func->span.file);
    if (!cg->options->line_info || !source)
        return;
    module_flag(cg, "Debug Info Version", LLVMDebugMetadataVersion());
    module_flag(cg, "Dwarf Version", 2);
    cg->di = LLVMCreateDIBuilder(cg->module);
    LineScopes *scopes = cg_cache(cg, &line_scopes_kind);
    scopes->of_file = ARENA_ARRAY(cg->arena, LLVMMetadataRef, cg->ctx->sources.sources.len + 1);
    LLVMMetadataRef file = file_of(cg, source);
    LLVMDIBuilderCreateCompileUnit(cg->di, LLVMDWARFSourceLanguageC, file, "tilec", 5, true, "", 0,
                                   0, "", 0, LLVMDWARFEmissionLineTablesOnly, 0, false, false, "",
                                   0, "", 0);
    LLVMMetadataRef type = LLVMDIBuilderCreateSubroutineType(cg->di, file, NULL, 0, LLVMDIFlagZero);
    unsigned line = source_locate(source, func->span.lo).line;
    scopes->kernel = LLVMDIBuilderCreateFunction(cg->di, file, func->name.ptr, func->name.len,
                                                 func->name.ptr, func->name.len, file, line, type,
                                                 false, true, line, LLVMDIFlagZero, true);
    LLVMSetSubprogram(cg->fn, scopes->kernel);
    scopes->of_file[func->span.file] = scopes->kernel;
    cg_debug_op(cg, func->span);
}

void cg_debug_op(Cg *cg, Span span) {
    const Source *source = cg->di ? source_get(&cg->ctx->sources, span.file) : NULL;
    if (!source)
        return;
    LineColumn at = source_locate(source, span.lo);
    LLVMMetadataRef location = LLVMDIBuilderCreateDebugLocation(cg->llvm, at.line, at.column,
                                                                scope_of(cg, span.file), NULL);
    LLVMSetCurrentDebugLocation2(cg->b, location);
    if (!LLVMGetCurrentDebugLocation2(cg->entry))
        LLVMSetCurrentDebugLocation2(cg->entry, location);
}

void cg_debug_end(Cg *cg) {
    if (cg->di)
        LLVMDIBuilderFinalize(cg->di);
}
