/* See shapes.h. What the file says for all shapes is read once, as forms whose expressions are
 * parsed; each shape then fills them with its sizes. */
#include "runtime/data/shapes.h"

#include "frontend/parse.h"
#include "runtime/data/generate.h"
#include "runtime/data/grid.h"
#include "runtime/status.h"
#include "support/file.h"
#include "support/json.h"

#include <math.h>

#define SHAPES_FIELDS(X) X(file) X(kernel) X(args) X(constexprs) X(grid) X(flops) X(bytes) X(shapes)

/* A text of the file that depends on sizes: what stands before its expressions, these, and what
 * stands behind them. */
typedef struct Form {
    enum { FORM_TEXT, FORM_ARRAY, FORM_NUMBER, FORM_LITERAL } kind;
    Str name;
    Span span;
    Str before, after; /* "randn:fp16[" of an array, ":i64" of a number; of a text all of it */
    Expr **exprs;      /* the extents, or the number or literal */
    uint32_t count;
    Elem elem; /* of an array */
} Form;

typedef VEC(Form) Forms;

typedef struct Sizes {
    const Str *names;
    const HostValue *values;
    uint32_t count;
} Sizes;

typedef struct Reader {
    Ctx *ctx;
    uint32_t file;
    Str folder; /* of the file */
    Forms args, constexprs;
    Form flops, bytes; /* without name: not said */
    VEC(Shape) shapes;
    VEC(Str) sizes; /* names of all shapes' */
} Reader;

static const char place[] = "an expression of a shapes file";

/* Strings and the expressions in them */

/* Where the text of a string begins: in the file, or, if it has escapes, in a source of its own. */
static Span text_place(Reader *r, const Json *json) {
    if (json->span.hi - json->span.lo == json->text.len + 2)
        return (Span){r->file, json->span.lo + 1, json->span.hi - 1};
    const Source *source = source_get(&r->ctx->sources, r->file);
    const uint32_t own = source_add(&r->ctx->sources, source->path, json->text);
    return (Span){own, 0, (uint32_t)json->text.len};
}

static Span part_of(Span text, size_t lo, size_t hi) {
    return (Span){text.file, text.lo + (uint32_t)lo, text.lo + (uint32_t)hi};
}

static bool add_expr(Reader *r, Form *form, Span part) {
    Expr *expr = parse_expression_at(&r->ctx->diags, part);
    if (!expr)
        return false;
    form->exprs = arena_grow(&r->ctx->arena, form->exprs, form->count * sizeof(Expr *),
                             (form->count + 1) * sizeof(Expr *));
    form->exprs[form->count++] = expr;
    return true;
}

/* The first of `any`, outside of brackets and strings, from `at` on; the text's end: there is none,
 * or a bracket closes before it. */
static size_t find_outside(Str text, size_t at, const char *any) {
    unsigned depth = 0;
    char quote = 0;
    for (; at < text.len; at++) {
        const char c = text.ptr[at];
        if (quote) {
            quote = c == quote ? 0 : quote;
            continue;
        }
        if (c && !depth && strchr(any, c))
            return at;
        if (c == '\'' || c == '"')
            quote = c;
        else if (c == '(' || c == '[' || c == '{')
            depth++;
        else if (depth && (c == ')' || c == ']' || c == '}'))
            depth--;
    }
    return text.len;
}

static bool is_word(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

/* Whether an expression uses the name: outside of strings, and not as an attribute. */
static bool mentions(Str text, Str name) {
    char quote = 0;
    for (size_t at = 0; at < text.len; at++) {
        const char c = text.ptr[at];
        if (quote || c == '\'' || c == '"') {
            quote = !quote ? c : c == quote ? 0 : quote;
            continue;
        }
        size_t end = at;
        while (end < text.len && is_word(text.ptr[end]))
            end++;
        if (str_eq((Str){text.ptr + at, end - at}, name) && (!at || text.ptr[at - 1] != '.'))
            return true;
        at = end > at ? end - 1 : at;
    }
    return false;
}

static bool ends_with(Str text, const char *suffix) {
    const size_t len = strlen(suffix);
    return text.len >= len && !memcmp(text.ptr + text.len - len, suffix, len);
}

/* Forms of arguments */

/* GENERATOR:TYPE[EXTENTS], whose bracket is at `open`, the text's end if there is none. That all
 * before it is right one element shows. */
static bool read_array_form(Reader *r, Str text, Span at, size_t open, Form *form) {
    Ctx *ctx = r->ctx;
    HostArray one;
    if (open == text.len)
        return generate_array(ctx, at.file, at.lo, text, 0, &one); /* which says so */
    form->kind = FORM_ARRAY;
    form->before = (Str){text.ptr, open + 1};
    form->after = STR("]");
    const Str whole = str_from(str_format(&ctx->arena, "%.*s]", STR_ARG(form->before)));
    if (!generate_array(ctx, at.file, at.lo, whole, 0, &one))
        return false;
    form->elem = one.elem;
    size_t from = open + 1;
    while (from < text.len && text.ptr[from] == ' ')
        from++;
    for (bool is_first = true; from < text.len && (!is_first || text.ptr[from] != ']');
         is_first = false) {
        const size_t to = find_outside(text, from, ",]");
        if (form->count == HOST_MAX_RANK)
            return ctx_diag(ctx, part_of(at, open, to), generate_shape,
                            "it has more than 32 dimensions");
        if (!add_expr(r, form, part_of(at, from, to)))
            return false;
        from = to;
        if (to == text.len || text.ptr[to] == ']')
            break;
        from++;
    }
    if (from >= text.len)
        return ctx_diag(ctx, part_of(at, text.len, text.len), generate_syntax, "the end",
                        "',' or ']'");
    for (from++; from < text.len; from++)
        if (text.ptr[from] != ' ')
            return ctx_diag(ctx, part_of(at, from, text.len), generate_syntax, "more",
                            "nothing after the shape");
    return true;
}

/* @[TYPE:]FILE or FILE.npy, from the shapes file's folder. */
static void read_file_form(Reader *r, Str text, Form *form) {
    ScalarType type;
    size_t skip = text.ptr[0] == '@';
    const char *colon = memchr(text.ptr, ':', text.len);
    if (skip && colon && scalar_parse((Str){text.ptr + 1, (size_t)(colon - text.ptr) - 1}, &type))
        skip = (size_t)(colon - text.ptr) + 1;
    const Str path = {text.ptr + skip, text.len - skip};
    form->before = str_from(str_format(&r->ctx->arena, "%.*s%s", (int)skip, text.ptr,
                                       file_join(&r->ctx->arena, r->folder, path)));
}

/* EXPRESSION[:TYPE] */
static bool read_value_form(Reader *r, Str text, Span at, Form *form) {
    const size_t colon = find_outside(text, 0, ":");
    ScalarType type;
    form->kind = FORM_NUMBER;
    form->after = (Str){text.ptr + colon, text.len - colon};
    if (colon < text.len) {
        const Str name = {text.ptr + colon + 1, text.len - colon - 1};
        if (!scalar_parse(name, &type) || type.pointer)
            return ctx_diag(r->ctx, part_of(at, colon + 1, text.len), run_type, STR_ARG(name));
    }
    return add_expr(r, form, part_of(at, 0, colon));
}

static bool read_arg_form(Reader *r, const Json *json, Form *form) {
    const Str text = json->text;
    if (json->kind != JSON_STRING)
        return json_literal(json, &form->before) ||
               json_wrong(&r->ctx->diags, json, "an array, a number, or an expression of sizes");
    if ((text.len && text.ptr[0] == '@') || ends_with(text, ".npy")) {
        read_file_form(r, text, form);
        return true;
    }
    const Span at = text_place(r, json);
    const size_t colon = find_outside(text, 0, ":"),
                 open = colon < text.len ? find_outside(text, colon, "[") : text.len;
    if (open < text.len || generate_is_generator(text))
        return read_array_form(r, text, at, open, form);
    return read_value_form(r, text, at, form);
}

/* A literal, unless it is an expression of sizes. */
static bool read_constexpr_form(Reader *r, const Json *json, Form *form) {
    if (!json_literal(json, &form->before))
        return json_wrong(&r->ctx->diags, json, "a literal, or an expression of sizes");
    if (json->kind != JSON_STRING)
        return true;
    vec_for_each (name, &r->sizes)
        if (mentions(json->text, *name)) {
            form->kind = FORM_LITERAL;
            form->before = STR("");
            return add_expr(r, form, text_place(r, json));
        }
    return true;
}

/* "flops", "bytes": a number or an expression. */
static bool read_number_form(Reader *r, const Json *json, const char *name, Form *form) {
    *form = (Form){.kind = FORM_NUMBER, .name = str_from(name), .span = json->span};
    if (json->kind != JSON_STRING && json->kind != JSON_NUMBER)
        return json_wrong(&r->ctx->diags, json, "a number, or an expression of sizes");
    return add_expr(r, form, json->kind == JSON_STRING ? text_place(r, json) : json->span);
}

typedef bool ReadForm(Reader *r, const Json *json, Form *form);

static bool read_forms(Reader *r, const Json *json, ReadForm *read, Forms *forms) {
    if (!json)
        return true;
    if (json->kind != JSON_OBJECT)
        return json_wrong(&r->ctx->diags, json, "an object: values by the names of parameters");
    for (uint32_t i = 0; i < json->count; i++) {
        const JsonMember *member = &json->members[i];
        Form form = {.name = member->name, .span = member->value->span};
        if (!read(r, member->value, &form))
            return false;
        vec_push(&r->ctx->arena, forms, form);
    }
    return true;
}

/* Sizes */

static bool read_size(Reader *r, const Json *json, HostValue *value) {
    Str text;
    if (json->kind != JSON_NUMBER && json->kind != JSON_TRUE && json->kind != JSON_FALSE)
        return json_wrong(&r->ctx->diags, json, "a number, true or false");
    json_literal(json, &text);
    *value = host_read(text);
    return value->kind != HOST_FLOAT || isfinite(value->f) ||
           json_wrong(&r->ctx->diags, json, "one that is no infinity");
}

/* Expressions could use no other, and tables would be torn by some. */
static bool add_size_name(Reader *r, const JsonMember *member) {
    const Str name = member->name;
    bool is_name = name.len && !(name.ptr[0] >= '0' && name.ptr[0] <= '9');
    for (size_t i = 0; is_name && i < name.len; i++)
        is_name = is_word(name.ptr[i]);
    if (!is_name)
        return ctx_diag(r->ctx, member->span, shapes_name);
    vec_for_each (known, &r->sizes)
        if (str_eq(*known, name))
            return true;
    vec_push(&r->ctx->arena, &r->sizes, name);
    return true;
}

/* An object of sizes, and of lists of them: every combination, the last name fastest. */
static bool read_combinations(Reader *r, const Json *json) {
    Arena *arena = &r->ctx->arena;
    const uint32_t count = json->kind == JSON_OBJECT ? json->count : 0;
    if (!count)
        return json_wrong(&r->ctx->diags, json, "an object with sizes by their names");
    Str *names = ARENA_ARRAY(arena, Str, count);
    uint32_t *digits = ARENA_ARRAY(arena, uint32_t, count), at;
    for (uint32_t i = 0; i < count; i++) {
        const Json *value = json->members[i].value;
        names[i] = json->members[i].name;
        if (!add_size_name(r, &json->members[i]))
            return false;
        if (value->kind == JSON_LIST && !value->count)
            return json_wrong(&r->ctx->diags, value, "a list with something in it");
    }
    do {
        HostValue *values = ARENA_ARRAY(arena, HostValue, count);
        StrBuf text = strbuf(arena);
        for (uint32_t i = 0; i < count; i++) {
            const Json *value = json->members[i].value;
            const bool is_list = value->kind == JSON_LIST;
            if (!read_size(r, is_list ? value->items[digits[i]] : value, &values[i]))
                return false;
            strbuf_printf(&text, "%s%.*s=", i ? ", " : "", STR_ARG(names[i]));
            host_print(values[i], &text);
        }
        if (r->shapes.len == SHAPES_MAX)
            return ctx_diag(r->ctx, json->span, shapes_many, SHAPES_MAX);
        vec_push(arena, &r->shapes,
                 (Shape){.text = text.ptr,
                         .span = json->span,
                         .names = names,
                         .values = values,
                         .name_count = count,
                         .size_count = count});
        for (at = count; at-- > 0;) {
            const Json *value = json->members[at].value;
            if (value->kind == JSON_LIST && ++digits[at] < value->count)
                break;
            digits[at] = 0;
        }
    } while (at != UINT32_MAX);
    return true;
}

static bool read_shapes(Reader *r, const Json *json) {
    if (json->kind != JSON_LIST)
        return read_combinations(r, json);
    for (uint32_t i = 0; i < json->count; i++)
        if (!read_combinations(r, json->items[i]))
            return false;
    return json->count || json_wrong(&r->ctx->diags, json, "a list with something in it");
}

/* Putting sizes in */

static bool evaluate(Reader *r, Expr *expr, Sizes sizes, HostValue *value) {
    const HostScope scope = {.names = sizes.names, .count = sizes.count, .place = place};
    HostError error;
    const HostExpr *compiled = host_compile(r->ctx, &r->ctx->arena, expr, &scope);
    if (!compiled)
        return false;
    return host_evaluate(compiled, sizes.values, value, &error) || host_report(r->ctx, &error);
}

static bool wrong_result(Reader *r, Span span, HostValue value, const char *wanted) {
    StrBuf text = strbuf(&r->ctx->arena);
    host_print(value, &text);
    return ctx_diag(r->ctx, span, shapes_result, text.ptr, wanted);
}

static bool fill_array(Reader *r, const Form *form, Sizes sizes, StrBuf *text, HostArray *array) {
    *array = (HostArray){.elem = form->elem, .rank = (int32_t)form->count};
    for (uint32_t i = 0; i < form->count; i++) {
        HostValue extent;
        if (!evaluate(r, form->exprs[i], sizes, &extent))
            return false;
        if (extent.kind != HOST_INT || extent.i < 0)
            return wrong_result(r, form->exprs[i]->span, extent, "an integer of 0 or more");
        array->shape[i] = extent.i;
        strbuf_printf(text, "%s%" PRId64, i ? ", " : "", extent.i);
    }
    return host_array_measure(array) ||
           ctx_diag(r->ctx, form->span, generate_shape, "the array is larger than memory");
}

static bool fill_value(Reader *r, const Form *form, Sizes sizes, StrBuf *text) {
    HostValue value;
    if (!evaluate(r, form->exprs[0], sizes, &value))
        return false;
    const bool is_number =
        value.kind == HOST_INT || value.kind == HOST_FLOAT || value.kind == HOST_BOOL;
    if (!is_number && form->kind == FORM_NUMBER && value.kind != HOST_NONE)
        return wrong_result(r, form->span, value, "a number, True, False or None");
    host_print(value, text);
    return true;
}

/* The form's text for these sizes; `array`: of an array, type and shape. */
static bool fill(Reader *r, const Form *form, Sizes sizes, Str *filled, HostArray *array) {
    StrBuf text = strbuf(&r->ctx->arena);
    strbuf_add(&text, form->before.ptr, form->before.len);
    if ((form->kind == FORM_ARRAY && !fill_array(r, form, sizes, &text, array)) ||
        ((form->kind == FORM_NUMBER || form->kind == FORM_LITERAL) &&
         !fill_value(r, form, sizes, &text)))
        return false;
    strbuf_add(&text, form->after.ptr, form->after.len);
    *filled = strbuf_str(&text);
    return true;
}

/* "flops", "bytes"; negative: not said. */
static bool fill_number(Reader *r, const Form *form, Sizes names, double *number) {
    HostValue value;
    *number = -1;
    if (!form->name.len)
        return true;
    if (!evaluate(r, form->exprs[0], names, &value))
        return false;
    *number = value.kind == HOST_FLOAT ? value.f : value.kind == HOST_INT ? (double)value.i : -1;
    return (*number >= 0 && isfinite(*number)) ||
           wrong_result(r, form->span, value, "a number of 0 or more");
}

/* Scalars and constexprs are named beside the sizes from here on. */
static void add_names(Reader *r, Shape *shape) {
    const size_t most = (size_t)shape->size_count + shape->arg_count + shape->constexpr_count;
    Str *names = ARENA_ARRAY(&r->ctx->arena, Str, most);
    HostValue *values = ARENA_ARRAY(&r->ctx->arena, HostValue, most);
    memcpy(names, shape->names, shape->size_count * sizeof *names);
    memcpy(values, shape->values, shape->size_count * sizeof *values);
    uint32_t count = shape->size_count;
    for (uint32_t i = 0; i < shape->arg_count; i++) {
        const Str text = shape->args[i].text;
        const HostValue value = host_read((Str){text.ptr, find_outside(text, 0, ":")});
        if (shape->args[i].is_made || value.kind == HOST_UNKNOWN || value.kind == HOST_TEXT)
            continue;
        names[count] = shape->args[i].name;
        values[count++] = value;
    }
    for (uint32_t i = 0; i < shape->constexpr_count; i++) {
        names[count] = shape->constexprs[i].name;
        values[count++] = host_read(shape->constexprs[i].text);
    }
    shape->names = names;
    shape->values = values;
    shape->name_count = count;
}

static bool fill_shape(Reader *r, Shape *shape) {
    Arena *arena = &r->ctx->arena;
    const Sizes sizes = {shape->names, shape->values, shape->size_count};
    ShapeArg *args = ARENA_ARRAY(arena, ShapeArg, r->args.len + 1);
    NamedText *constexprs = ARENA_ARRAY(arena, NamedText, r->constexprs.len + 1);
    for (size_t i = 0; i < r->args.len; i++) {
        const Form *form = &r->args.data[i];
        args[i] =
            (ShapeArg){.name = form->name, .span = form->span, .is_made = form->kind == FORM_ARRAY};
        if (!fill(r, form, sizes, &args[i].text, &args[i].array))
            return false;
    }
    for (size_t i = 0; i < r->constexprs.len; i++) {
        constexprs[i].name = r->constexprs.data[i].name;
        if (!fill(r, &r->constexprs.data[i], sizes, &constexprs[i].text, NULL))
            return false;
    }
    shape->args = args;
    shape->arg_count = (uint32_t)r->args.len;
    shape->constexprs = constexprs;
    shape->constexpr_count = (uint32_t)r->constexprs.len;
    add_names(r, shape);
    const Sizes names = {shape->names, shape->values, shape->name_count};
    return fill_number(r, &r->flops, names, &shape->flops) &&
           fill_number(r, &r->bytes, names, &shape->bytes);
}

/* The file */

static bool read_string(Reader *r, const Json *json, Str *text) {
    *text = json ? json->text : STR("");
    return !json || (json->kind == JSON_STRING && json->text.len) ||
           json_wrong(&r->ctx->diags, json, "a string with something in it");
}

static bool check_fields(Reader *r, const Json *json) {
#define SHAPES_FIELD(name) STR(#name),
    static const Str known[] = {SHAPES_FIELDS(SHAPES_FIELD)};
#undef SHAPES_FIELD
    const size_t count = sizeof known / sizeof *known;
    for (uint32_t i = 0; i < json->count; i++) {
        size_t at = 0;
        while (at < count && !str_eq(known[at], json->members[i].name))
            at++;
        if (at == count)
            return json_unknown(&r->ctx->diags, &json->members[i], "a shapes file", known, count);
    }
    return true;
}

static bool read_all(Reader *r, const Json *json, ShapesFile *out) {
    const Json *shapes = json_find(json, "shapes"), *grid = json_find(json, "grid"),
               *flops = json_find(json, "flops"), *bytes = json_find(json, "bytes");
    Str file;
    if (!check_fields(r, json))
        return false;
    if (!shapes)
        return ctx_diag(r->ctx, json->span, json_missing, "shapes");
    if (!read_string(r, json_find(json, "file"), &file) ||
        !read_string(r, json_find(json, "kernel"), &out->kernel) ||
        !read_string(r, grid, &out->grid) || !read_shapes(r, shapes) ||
        !read_forms(r, json_find(json, "args"), read_arg_form, &r->args) ||
        !read_forms(r, json_find(json, "constexprs"), read_constexpr_form, &r->constexprs) ||
        (flops && !read_number_form(r, flops, "flops", &r->flops)) ||
        (bytes && !read_number_form(r, bytes, "bytes", &r->bytes)))
        return false;
    if (file.len)
        out->path = file_join(&r->ctx->arena, r->folder, file);
    if (grid && !(out->grid_expr = parse_expression_at(&r->ctx->diags, text_place(r, grid))))
        return false;
    vec_for_each (shape, &r->shapes)
        if (!fill_shape(r, shape)) {
            diag_note(&r->ctx->diags, shape->span, "for %s", shape->text);
            return false;
        }
    out->shapes = r->shapes.data;
    out->count = (uint32_t)r->shapes.len;
    return true;
}

bool shapes_parse(Ctx *ctx, uint32_t file, ShapesFile *shapes) {
    const Source *source = source_get(&ctx->sources, file);
    Reader *r = ARENA_NEW(&ctx->arena, Reader);
    *r = (Reader){.ctx = ctx, .file = file, .folder = file_folder(source->path)};
    *shapes = (ShapesFile){0};
    size_t at = 0;
    const Json *json = json_read_next(&ctx->diags, file, &at);
    if (!json)
        return false;
    if (at < source->text.len)
        return ctx_diag(ctx, ((Span){file, (uint32_t)at, (uint32_t)at + 1}), json_syntax,
                        "nothing behind the object");
    return json->kind == JSON_OBJECT ? read_all(r, json, shapes)
                                     : json_wrong(&ctx->diags, json, "an object");
}

bool shapes_read(Ctx *ctx, const char *path, ShapesFile *shapes) {
    enum { SHAPES_LIMIT = 16 << 20 };
    Str text;
    const int error = file_read(&ctx->arena, path, SHAPES_LIMIT, &text);
    return error ? report_unreadable(&ctx->diags, path, error)
                 : shapes_parse(ctx, source_add(&ctx->sources, str_from(path), text), shapes);
}

bool shapes_grid(Ctx *ctx, const ShapesFile *shapes, const Shape *shape, const Str *names,
                 const HostValue *values, uint32_t count, uint32_t grid[3]) {
    const size_t all = (size_t)count + shape->name_count;
    Str *known = ARENA_ARRAY(&ctx->arena, Str, all);
    HostValue *given = ARENA_ARRAY(&ctx->arena, HostValue, all);
    if (count) {
        memcpy(known, names, count * sizeof *known);
        memcpy(given, values, count * sizeof *given);
    }
    memcpy(known + count, shape->names, shape->name_count * sizeof *known);
    memcpy(given + count, shape->values, shape->name_count * sizeof *given);
    if (grid_evaluate_expr(ctx, shapes->grid_expr, known, given, (uint32_t)all, grid))
        return true;
    diag_note(&ctx->diags, shape->span, "for %s", shape->text);
    return false;
}
