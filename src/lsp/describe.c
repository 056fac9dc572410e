/* See describe.h. */
#include "lsp/describe.h"

static void put_items(StrBuf *out, const Val *items, uint32_t count) {
    enum { MOST = 8 };
    strbuf_putc(out, '(');
    for (uint32_t i = 0; i < count && i < MOST; i++) {
        strbuf_puts(out, i ? ", " : "");
        put_type(out, &items[i]);
    }
    strbuf_puts(out, count > MOST ? ", ..)" : ")");
}

void put_type(StrBuf *out, const Val *value) {
    switch (value->kind) {
    case VAL_TILE:
        strbuf_puts(out, val_type_text(out->arena, *value));
        return;
    case VAL_NONE:
    case VAL_BOOL:
    case VAL_INT:
    case VAL_BIGINT:
    case VAL_FLOAT:
    case VAL_STRING:
        strbuf_printf(out, "constexpr = %s", val_text(out->arena, *value));
        return;
    case VAL_TYPE:
        strbuf_printf(out, "type = %s", val_text(out->arena, *value));
        return;
    case VAL_TUPLE:
        if (value->tuple.record)
            break;
        put_items(out, value->tuple.items, value->tuple.count);
        return;
    case VAL_MODULE:
        strbuf_printf(out, "module %.*s",
                      STR_ARG(value->module.unit && !value->module.path.len ? STR("of a file")
                                                                            : value->module.path));
        return;
    case VAL_ERROR:
    case VAL_ABSENT:
    case VAL_UNDEFINED:
    case VAL_LIST:
    case VAL_DICT:
    case VAL_VIEW:
    case VAL_ITERATOR:
    case VAL_CONSTEXPR_TYPE:
    case VAL_RECORD:
    case VAL_FUNCTION:
    case VAL_BUILTIN:
    case VAL_FOREIGN:
    case VAL_METHOD:
    case VAL_SLICE:
    case VAL_ELLIPSIS:
    case VAL_BLOCK:
        break;
    }
    const char *text = val_type_text(out->arena, *value);
    strbuf_puts(out, !strncmp(text, "a ", 2) ? text + 2 : text);
}

void put_shape_words(StrBuf *out, const Val *value) {
    if (value->kind != VAL_TILE)
        return;
    const Type *type = value->tile.ir->type;
    const ScalarType scalar = value->tile.scalar;
    const char *what = scalar_text(out->arena, scalar);
    if (!type->rank) {
        strbuf_printf(out, "A scalar of each program, known when the kernel runs: %s%s.",
                      scalar.pointer ? "a pointer to " : "", elem_info[scalar.elem].text);
        return;
    }
    strbuf_puts(out, "A tile of shape ");
    for (int i = 0; i < type->rank; i++)
        strbuf_printf(out, "%s%lld", i ? " x " : "", (long long)type->shape[i]);
    strbuf_printf(out, ", %lld elements of %s", (long long)type_numel(type), what);
    if (scalar.pointer)
        strbuf_printf(out, ", pointers to %s.", elem_info[scalar.elem].text);
    else
        strbuf_printf(out, ", %lld bytes in all.",
                      (long long)((type_numel(type) * elem_bits(scalar.elem) + 7) / 8));
}

/* Functions */

static void put_source(StrBuf *out, Str text, Span span) {
    if (span.lo < span.hi && span.hi <= text.len)
        strbuf_add(out, text.ptr + span.lo, span.hi - span.lo);
}

void put_param(StrBuf *out, const Param *param, Str text) {
    strbuf_printf(out, "%s%.*s",
                  param->star == 2 ? "**"
                  : param->star    ? "*"
                                   : "",
                  STR_ARG(param->name));
    if (param->annotation) {
        strbuf_puts(out, ": ");
        put_source(out, text, param->annotation->span);
    }
    if (param->default_value) {
        strbuf_puts(out, param->annotation ? " = " : "=");
        put_source(out, text, param->default_value->span);
    }
}

void put_function(StrBuf *out, const FuncDef *def, Str text) {
    strbuf_printf(out, "%.*s(", STR_ARG(def->name));
    for (uint32_t i = 0; i < def->param_count; i++) {
        strbuf_puts(out, i ? ", " : "");
        put_param(out, &def->params[i], text);
    }
    strbuf_putc(out, ')');
    if (def->returns) {
        strbuf_puts(out, " -> ");
        put_source(out, text, def->returns->span);
    }
}

const Builtin *builtin_of_function(const Val *function) {
    if (function->kind == VAL_BUILTIN)
        return function->builtin;
    if (function->kind == VAL_METHOD)
        return builtin_of_function(function->method.callee);
    if (function->kind != VAL_FUNCTION || !function->function.unit->is_std)
        return NULL;
    for (int i = 0; i < BUILTIN_COUNT; i++) {
        const Builtin *row = &builtins[i];
        if ((row->flags & BUILTIN_STD) && str_is(function->function.def->name, row->name) &&
            str_is(function->function.unit->path, libraries[builtin_library(row)].path))
            return row;
    }
    return NULL;
}

/* Text */

void put_code(StrBuf *out, Str code, bool markdown) {
    if (markdown)
        strbuf_printf(out, "```python\n%.*s\n```\n", STR_ARG(code));
    else
        strbuf_printf(out, "%.*s\n", STR_ARG(code));
}

/* Spaces in front of the lines behind the first, of the least of them. */
static size_t least_indent(Str text) {
    size_t least = SIZE_MAX;
    for (size_t at = 0; at < text.len; at++) {
        if (text.ptr[at] != '\n')
            continue;
        size_t spaces = 0;
        while (at + 1 + spaces < text.len && text.ptr[at + 1 + spaces] == ' ')
            spaces++;
        if (at + 1 + spaces < text.len && text.ptr[at + 1 + spaces] != '\n' && spaces < least)
            least = spaces;
    }
    return least == SIZE_MAX ? 0 : least;
}

void put_docstring(StrBuf *out, Str docstring) {
    const size_t indent = least_indent(docstring);
    size_t end = docstring.len;
    while (end > 0 && strchr(" \t\r\n", docstring.ptr[end - 1]))
        end--;
    for (size_t at = 0; at < end; at++) {
        strbuf_putc(out, docstring.ptr[at]);
        const bool ends_line = docstring.ptr[at] == '\n';
        for (size_t i = 0; ends_line && i < indent && at + 1 < end && docstring.ptr[at + 1] == ' ';
             i++)
            at++;
    }
    strbuf_putc(out, '\n');
}

static const ReferenceRow *reference_of(const Builtin *builtin, const ReferenceFamily **family) {
    size_t count;
    const ReferenceRow *rows = reference_rows(&count);
    *family = NULL;
    for (size_t i = 0; i < count; i++) {
        if (rows[i].kind == REFERENCE_FAMILY)
            *family = &rows[i].u.family;
        if (rows[i].kind == REFERENCE_ENTRY && &builtins[rows[i].u.entry.id] == builtin)
            return &rows[i];
    }
    return NULL;
}

static void put_fact(StrBuf *out, const char *name, const char *text, bool markdown) {
    strbuf_printf(out, markdown ? "- **%s**: %s\n" : "%s: %s\n", name, text);
}

void put_builtin(StrBuf *out, const Session *session, const Builtin *builtin, bool markdown) {
    const ReferenceFamily *family;
    const ReferenceRow *row = reference_of(builtin, &family);
    StrBuf call = strbuf(out->arena), since = strbuf(out->arena);
    reference_call(&session->signatures, (BuiltinId)(builtin - builtins), &call);
    put_code(out, strbuf_str(&call), markdown);
    if (!row)
        return;
    strbuf_printf(out, "\n%s\n\n", row->u.entry.meaning);
    put_fact(out, "Shapes", family->shapes, markdown);
    put_fact(out, "Types", family->types, markdown);
    put_fact(out, "Errors", family->errors, markdown);
    put_fact(out, "Accuracy", family->accuracy, markdown);
    reference_since(&row->u.entry, &since);
    put_fact(out, "Since", since.ptr ? since.ptr : "", markdown);
    strbuf_putc(out, '\n');
    StrBuf example = strbuf(out->arena);
    strbuf_printf(&example, "%s\n# %s", row->u.entry.example, row->u.entry.expected);
    put_code(out, strbuf_str(&example), markdown);
}
