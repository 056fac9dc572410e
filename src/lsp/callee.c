/* See callee.h. */
#include "lsp/callee.h"

#include "lsp/describe.h"
#include "lsp/lookup.h"

static void add_param(Arena *arena, Callee *callee, Str text) {
    CalleeParam param = {.text = text, .name = text};
    while (param.name.len && param.name.ptr[0] == '*') {
        param.name = (Str){param.name.ptr + 1, param.name.len - 1};
        param.star++;
    }
    for (size_t i = 0; i < param.name.len; i++) {
        if (!text_is_word(param.name.ptr[i])) {
            param.name.len = i;
            break;
        }
    }
    vec_push(arena, &callee->params, param);
}

/* At commas outside of brackets and quotes. */
static void split_params(Arena *arena, Callee *callee, Str text) {
    int depth = 0;
    char quote = 0;
    size_t begin = 0;
    for (size_t i = 0; i <= text.len; i++) {
        const char c = i < text.len ? text.ptr[i] : ',';
        if (quote) {
            quote = c == quote ? 0 : quote;
            continue;
        }
        if (c == '\'' || c == '"')
            quote = c;
        depth += (c == '(' || c == '[') - (c == ')' || c == ']');
        if (c != ',' || (depth && i < text.len))
            continue;
        while (begin < i && text.ptr[begin] == ' ')
            begin++;
        if (i > begin)
            add_param(arena, callee, (Str){text.ptr + begin, i - begin});
        begin = i + 1;
    }
}

static bool of_builtin(Scope *scope, const Builtin *builtin, bool is_method, Callee *out) {
    Arena *arena = &scope->ctx->arena;
    StrBuf params = strbuf(arena), label = strbuf(arena);
    *out = (Callee){.builtin = builtin, .is_method = is_method};
    signatures_print(&scope->session->signatures, builtin, &params);
    split_params(arena, out, strbuf_str(&params));
    strbuf_printf(&label, "%s(%s)", builtin->name, params.ptr ? params.ptr : "");
    out->label = strbuf_str(&label);
    return builtin->handler || out->params.len || (builtin->flags & BUILTIN_STD);
}

static bool of_function(Scope *scope, const FuncDef *def, Str text, Callee *out) {
    Arena *arena = &scope->ctx->arena;
    StrBuf label = strbuf(arena);
    *out = (Callee){.def = def};
    put_function(&label, def, text);
    out->label = strbuf_str(&label);
    for (uint32_t i = 0; i < def->param_count; i++) {
        StrBuf param = strbuf(arena);
        put_param(&param, &def->params[i], text);
        add_param(arena, out, strbuf_str(&param));
    }
    return true;
}

static const Builtin *find_method(const Document *document, uint32_t offset, Str base, Str name) {
    const Seen *seen = base.len ? lookup_variable(document, offset, base) : NULL;
    if (seen && seen->values[0].kind == VAL_BLOCK)
        return builtin_find_method(name, seen->values[0].block.info->is_descriptor
                                             ? BUILTIN_OF_DESCRIPTOR
                                             : BUILTIN_OF_BLOCK_POINTER);
    if (seen && seen->values[0].kind == VAL_STRING)
        return builtin_find_method(name, BUILTIN_OF_TEXT);
    const Builtin *builtin = builtin_find(name, IN_TL | IN_MATH);
    return builtin && (builtin->flags & BUILTIN_METHOD) ? builtin : NULL;
}

bool callee_find(Scope *scope, const Document *document, uint32_t offset, Str dotted, Callee *out) {
    const Meaning meaning =
        dotted.len && dotted.ptr[0] != '.' ? scope_find(scope, dotted) : (Meaning){0};
    const FuncDef *def = meaning_function(&meaning);
    if (def)
        return of_function(scope, def, meaning.file->text, out);
    if (meaning.kind == MEANS_BUILTIN)
        return of_builtin(scope, meaning.builtin, false, out);
    size_t point = dotted.len;
    while (point > 0 && dotted.ptr[point - 1] != '.')
        point--;
    if (!point)
        return false;
    const Builtin *method = find_method(document, offset, (Str){dotted.ptr, point - 1},
                                        (Str){dotted.ptr + point, dotted.len - point});
    return method && of_builtin(scope, method, true, out);
}
