/* The printer of Tile IR; grammar.def has the grammar.
 *
 * Values are named by their hints, made unique in order of definition, or numbered. Layouts of a
 * module are printed once, before its functions, and referred to as #L0, #L1, .. */
#include "ir/text.h"
#include "support/ptrmap.h"

#include <assert.h>
#include <inttypes.h>
#include <math.h>

typedef struct Printer {
    Ctx *ctx;
    StrBuf *out;
    bool spans;
    PrintNotes *notes;        /* NULL: none */
    PtrMap names;             /* Value to terminated name */
    PtrMap taken;             /* interned name to the number of times it was asked for */
    uint64_t numbered;        /* values without a hint so far */
    PtrMap layouts;           /* Layout to alias; empty: print layouts in place */
    VEC(const Layout *) seen; /* in order of their aliases */
} Printer;

/* Ends a line, which is of that place. */
static void end_line(Printer *p, Span span) {
    strbuf_putc(p->out, '\n');
    if (p->notes)
        vec_push(p->notes->arena, &p->notes->lines, span);
}

/* Names */

static Str clean_hint(Printer *p, Str hint) {
    bool all_digits = true;
    char *clean = str_dup(&p->ctx->scratch, hint);
    for (size_t i = 0; i < hint.len; i++) {
        if (!text_is_name_char(clean[i]))
            clean[i] = '_';
        all_digits = all_digits && clean[i] >= '0' && clean[i] <= '9';
    }
    return all_digits ? STR("") : (Str){clean, hint.len};
}

static void set_name(Printer *p, const Value *value, const char *name) {
    ptrmap_set(&p->names, value, (void *)name);
    if (p->notes)
        vec_push(p->notes->arena, &p->notes->values,
                 (PrintedValue){value, str_dup(p->notes->arena, str_from(name))});
}

static void name_value(Printer *p, const Value *value) {
    Arena *scratch = &p->ctx->scratch;
    Str hint = clean_hint(p, value->name);
    if (!hint.len) {
        set_name(p, value, str_format(scratch, "%" PRIu64, p->numbered++));
        return;
    }
    /* The count of a base name makes the search for a free suffix linear over all values. */
    const char *base = ctx_intern(p->ctx, hint).ptr, *name = base;
    uintptr_t count = (uintptr_t)ptrmap_get(&p->taken, base);
    while (ptrmap_get(&p->taken, name)) {
        name = str_format(scratch, "%s_%" PRIuPTR, base, count++);
        name = ctx_intern(p->ctx, str_from(name)).ptr;
    }
    ptrmap_set(&p->taken, name, (void *)1);
    if (name != base)
        ptrmap_set(&p->taken, base, (void *)count);
    set_name(p, value, name);
}

static void name_block(Printer *p, const Block *block) {
    for (uint32_t i = 0; i < block->nargs; i++)
        name_value(p, &block->args[i]);
    block_for_each (op, block) {
        for (uint32_t i = 0; i < op->nout; i++)
            name_value(p, &op->out[i]);
        for (uint32_t i = 0; i < op->nregions; i++)
            name_block(p, op->regions[i]);
    }
}

static void note_op(Printer *p, const Op *op) {
    if (p->notes)
        vec_push(p->notes->arena, &p->notes->ops, (PrintedOp){op, (uint32_t)p->notes->lines.len});
}

static void name_func(Printer *p, const Func *func) {
    p->names = p->taken = (PtrMap){.arena = &p->ctx->scratch};
    p->numbered = 0;
    name_block(p, func->body);
}

static void print_name(Printer *p, const Value *value) {
    const char *name = ptrmap_get(&p->names, value);
    /* Only broken IR has values from elsewhere; the printer is used to show just that. */
    strbuf_printf(p->out, "%%%s", name ? name : "<elsewhere>");
}

static void print_values(Printer *p, const Value *values, uint32_t count) {
    for (uint32_t i = 0; i < count; i++) {
        strbuf_puts(p->out, i ? ", " : "");
        print_name(p, &values[i]);
    }
}

/* Types, attributes, places */

static void print_type(Printer *p, const Type *type) {
    const char *alias =
        type && type->layout && type->rank ? ptrmap_get(&p->layouts, type->layout) : NULL;
    if (!type) {
        strbuf_puts(p->out, "<no type>");
    } else if (!alias) {
        type_print(type, p->out);
    } else {
        Type plain = *type;
        plain.layout = NULL;
        type_print(&plain, p->out);
        p->out->len--; /* the closing bracket */
        strbuf_printf(p->out, ", #%s>", alias);
    }
}

/* Hexadecimal, as %a but independent of the locale and with all special values exact. */
static void print_float(double value, StrBuf *out) {
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    uint64_t mantissa = bits & (UINT64_MAX >> 12);
    int exponent = (int)(bits >> 52 & 0x7ff);
    if (exponent == 0x7ff && mantissa) {
        if (bits == UINT64_C(0x7ff8000000000000))
            strbuf_puts(out, "nan");
        else
            strbuf_printf(out, "nan(0x%" PRIx64 ")", bits);
        return;
    }
    strbuf_puts(out, bits >> 63 ? "-" : "");
    if (exponent == 0x7ff) {
        strbuf_puts(out, "inf");
        return;
    }
    bool zero = exponent == 0 && mantissa == 0;
    strbuf_puts(out, exponent ? "0x1" : "0x0");
    int digits = 13;
    for (; digits && !(mantissa & 15); digits--)
        mantissa >>= 4;
    if (digits)
        strbuf_printf(out, ".%0*" PRIx64, digits, mantissa);
    strbuf_printf(out, "p%+d", zero ? 0 : (exponent ? exponent : 1) - 1023);
}

static void print_string(Str s, StrBuf *out) {
    strbuf_putc(out, '"');
    for (size_t i = 0; i < s.len; i++) {
        unsigned char c = (unsigned char)s.ptr[i];
        if (c == '"' || c == '\\')
            strbuf_printf(out, "\\%c", c);
        else if (c == '\n')
            strbuf_puts(out, "\\n");
        else if (c < ' ' || c == 0x7f)
            strbuf_printf(out, "\\x%02x", c);
        else
            strbuf_putc(out, (char)c);
    }
    strbuf_putc(out, '"');
}

static void print_attr(Printer *p, AttrKind kind, Attr attr) {
    StrBuf *out = p->out;
    if (kind == ATTR_F64) {
        print_float(attr.f, out);
    } else if (kind == ATTR_STR) {
        print_string(attr.s, out);
    } else if (kind == ATTR_INTS) {
        strbuf_putc(out, '[');
        for (uint32_t i = 0; i < attr.ints.len; i++)
            strbuf_printf(out, "%s%" PRId64, i ? ", " : "", attr.ints.ptr[i]);
        strbuf_putc(out, ']');
    } else if (kind == ATTR_BOOL) {
        strbuf_puts(out, attr.i ? "true" : "false");
    } else {
        const char *text = attr_enum_text(kind, attr.i);
        if (text)
            strbuf_puts(out, text);
        else
            strbuf_printf(out, "%" PRId64, attr.i);
    }
}

static void print_op_attrs(Printer *p, const Op *op) {
    const OpInfo *info = &op_info[op->code];
    const char *separator = " {";
    for (uint32_t i = 0; i < (uint32_t)info->attr_count; i++) {
        Attr attr = op_attr(op, i);
        if (info->attr[i].optional && attr.i == 0)
            continue;
        strbuf_printf(p->out, "%s%s = ", separator, attr_name_text(info->attr[i].name));
        print_attr(p, info->attr[i].kind, attr);
        separator = ", ";
    }
    strbuf_puts(p->out, *separator == ',' ? "}" : "");
}

static void print_loc(Printer *p, Span span) {
    const Source *source = p->spans ? source_get(&p->ctx->sources, span.file) : NULL;
    if (!source)
        return;
    LineColumn lo = source_locate(source, span.lo), hi = source_locate(source, span.hi);
    strbuf_puts(p->out, " loc(");
    print_string(source->path, p->out);
    strbuf_printf(p->out, ":%u:%u", lo.line, lo.column);
    if (span.hi > span.lo)
        strbuf_printf(p->out, " to %u:%u", hi.line, hi.column);
    strbuf_putc(p->out, ')');
}

/* Ops */

static void print_op(Printer *p, const Op *op, int indent);

/* `head`: what the line of the opening bracket is of. */
static void print_block(Printer *p, const Block *block, int indent, Span head) {
    strbuf_puts(p->out, " {");
    end_line(p, head);
    block_for_each (op, block)
        print_op(p, op, indent + 4);
    strbuf_printf(p->out, "%*s}", indent, "");
}

static void print_op(Printer *p, const Op *op, int indent) {
    note_op(p, op);
    strbuf_printf(p->out, "%*s", indent, "");
    print_values(p, op->out, op->nout);
    strbuf_printf(p->out, "%s%s", op->nout ? " = " : "", op_info[op->code].name);
    for (uint32_t i = 0; i < op->nin; i++) {
        strbuf_puts(p->out, i ? ", " : " ");
        print_name(p, op_in(op, i));
    }
    print_op_attrs(p, op);
    for (uint32_t i = 0; i < op->nout; i++) {
        strbuf_puts(p->out, i ? ", " : " : ");
        print_type(p, op->out[i].type);
    }
    print_loc(p, op->span);
    for (uint32_t i = 0; i < op->nregions; i++) {
        const Block *region = op->regions[i];
        for (uint32_t k = 0; k < region->nargs; k++) {
            strbuf_puts(p->out, k ? ", " : " (");
            print_name(p, &region->args[k]);
            strbuf_puts(p->out, ": ");
            print_type(p, region->args[k].type);
        }
        strbuf_puts(p->out, region->nargs ? ")" : "");
        print_block(p, region, indent, op->span);
    }
    end_line(p, op->nregions ? (Span){0} : op->span);
}

/* Functions and modules */

static void print_func_name(Printer *p, Str name) {
    bool plain = name.len > 0;
    for (size_t i = 0; i < name.len; i++)
        plain = plain && text_is_name_char(name.ptr[i]);
    strbuf_putc(p->out, '@');
    if (plain)
        strbuf_add(p->out, name.ptr, name.len);
    else
        print_string(name, p->out);
}

static void print_func(Printer *p, const Func *func) {
    name_func(p, func);
    strbuf_puts(p->out, "func ");
    print_func_name(p, func->name);
    strbuf_putc(p->out, '(');
    for (uint32_t i = 0; i < func->body->nargs; i++) {
        strbuf_puts(p->out, i ? ", " : "");
        print_name(p, &func->body->args[i]);
        strbuf_puts(p->out, ": ");
        print_type(p, func->body->args[i].type);
        if (func->params[i].divisible)
            strbuf_printf(p->out, " {divisible = %" PRId64 "}", func->params[i].divisible);
        print_loc(p, func->params[i].span);
    }
    strbuf_putc(p->out, ')');
    const char *separator = " {";
#define IS_SET_I64(field) func->field
#define IS_SET_BOOL(field) func->field
#define IS_SET_INTS(field) func->field.len
#define VALUE_I64(field) (Attr){.i = func->field}
#define VALUE_BOOL(field) VALUE_I64(field)
#define VALUE_INTS(field)                                                                          \
    (Attr) {                                                                                       \
        .ints = func->field                                                                        \
    }
#define PRINT_FUNC_ATTR(field, kind)                                                               \
    if (IS_SET_##kind(field)) {                                                                    \
        strbuf_printf(p->out, "%s%s = ", separator, #field);                                       \
        print_attr(p, ATTR_##kind, VALUE_##kind(field));                                           \
        separator = ", ";                                                                          \
    }
    FUNC_ATTRS(PRINT_FUNC_ATTR)
    strbuf_puts(p->out, *separator == ',' ? "}" : "");
    print_loc(p, func->span);
    print_block(p, func->body, 0, func->span);
    end_line(p, (Span){0});
}

static void collect_layout(Printer *p, const Type *type) {
    if (!type || !type->layout || ptrmap_get(&p->layouts, type->layout))
        return;
    char *alias = str_format(&p->ctx->scratch, "L%zu", p->seen.len);
    ptrmap_set(&p->layouts, type->layout, alias);
    vec_push(&p->ctx->scratch, &p->seen, type->layout);
    if (p->notes)
        vec_push(p->notes->arena, &p->notes->layouts, type->layout);
}

static void collect_layouts(Printer *p, const Block *block) {
    for (uint32_t i = 0; i < block->nargs; i++)
        collect_layout(p, block->args[i].type);
    block_for_each (op, block) {
        for (uint32_t i = 0; i < op->nout; i++)
            collect_layout(p, op->out[i].type);
        for (uint32_t i = 0; i < op->nregions; i++)
            collect_layouts(p, op->regions[i]);
    }
}

void module_print(const Module *module, const PrintOptions *options, StrBuf *out) {
    Ctx *ctx = module->ctx;
    assert(out->arena != &ctx->scratch);
    ArenaMark mark = arena_mark(&ctx->scratch);
    Printer p = {.ctx = ctx,
                 .out = out,
                 .spans = options && options->spans,
                 .notes = options ? options->notes : NULL};
    p.layouts.arena = &ctx->scratch;
    for (const Func *func = module->funcs; func; func = func->next)
        collect_layouts(&p, func->body);
    for (size_t i = 0; i < p.seen.len; i++) {
        strbuf_printf(out, "layout #L%zu = ", i);
        layout_print(p.seen.data[i], out);
        end_line(&p, (Span){0});
    }
    for (const Func *func = module->funcs; func; func = func->next) {
        if (func != module->funcs || p.seen.len)
            end_line(&p, (Span){0});
        print_func(&p, func);
    }
    arena_rewind(&ctx->scratch, mark);
}

void op_print(const Op *op, StrBuf *out) {
    Ctx *ctx = func_ctx(op->block->func);
    assert(out->arena != &ctx->scratch);
    ArenaMark mark = arena_mark(&ctx->scratch);
    Printer p = {.ctx = ctx, .out = out};
    p.layouts.arena = &ctx->scratch;
    name_func(&p, op->block->func);
    print_op(&p, op, 0);
    arena_rewind(&ctx->scratch, mark);
}
