/* Arguments in words, and by their parts. See arguments.h. */
#include "runtime/launch/arguments.h"
#include "support/vec.h"

#include <inttypes.h>

static const struct {
    const char *name;
    uint32_t size;
} dtypes[] = {[TILE_DTYPE_AUTO] = {"", 0},
#define ROW(id, text, bytes) [id] = {text, bytes},
              TILE_DTYPES(ROW)
#undef ROW
};

enum { DTYPE_COUNT = sizeof dtypes / sizeof *dtypes };

const char *dtype_name(tile_dtype type) {
    return (unsigned)type < DTYPE_COUNT ? dtypes[type].name : NULL;
}

uint32_t dtype_size(tile_dtype type) {
    return (unsigned)type < DTYPE_COUNT ? dtypes[type].size : 0;
}

const char *argument_type(Arena *arena, const tile_argument *argument) {
    switch (argument->kind) {
    case TILE_ARGUMENT_POINTER:
        return str_format(arena, "*%s", dtype_name(argument->type));
    case TILE_ARGUMENT_INT:
        return dtype_name(argument_integer_type(argument));
    case TILE_ARGUMENT_FLOAT:
        return dtype_name(argument_float_type(argument));
    case TILE_ARGUMENT_TUPLE:
        return str_format(arena, "a tuple of %u", argument->value.tuple.count);
    case TILE_ARGUMENT_DESCRIPTOR:
        return descriptor_type(arena, argument->value.descriptor);
    case TILE_ARGUMENT_CONSTEXPR:
    case TILE_ARGUMENT_CONSTEXPR_INT:
        return "";
    }
    return "";
}

bool argument_fits(const tile_argument *argument, Str type) {
    switch (argument->kind) {
    case TILE_ARGUMENT_POINTER:
        return type.len && type.ptr[0] == '*' &&
               str_is((Str){type.ptr + 1, type.len - 1}, dtype_name(argument->type));
    case TILE_ARGUMENT_INT:
        return str_is(type, dtype_name(argument_integer_type(argument))) ||
               (argument->type == TILE_DTYPE_AUTO && str_is(type, dtype_name(TILE_I64)));
    case TILE_ARGUMENT_FLOAT:
        return str_is(type, dtype_name(argument_float_type(argument)));
    case TILE_ARGUMENT_CONSTEXPR:
    case TILE_ARGUMENT_CONSTEXPR_INT:
    case TILE_ARGUMENT_TUPLE:
    case TILE_ARGUMENT_DESCRIPTOR:
        return false;
    }
    return false;
}

bool argument_constexpr(Arena *arena, const tile_argument *argument, Str *literal) {
    const tile_text text = argument->value.text;
    if (argument->kind == TILE_ARGUMENT_CONSTEXPR)
        *literal = (Str){text.data ? text.data : "", text.data ? text.size : 0};
    else if (argument->kind == TILE_ARGUMENT_CONSTEXPR_INT)
        *literal = str_from(str_format(arena, "%" PRId64, argument->value.integer));
    else
        return false;
    return true;
}

/* Descriptors */

static void print_block(StrBuf *out, const tile_descriptor *descriptor) {
    for (int32_t d = 0; d < descriptor->rank; d++)
        strbuf_printf(out, "%s%" PRId32, d ? ", " : "", descriptor->block[d]);
}

const char *descriptor_type(Arena *arena, const tile_descriptor *descriptor) {
    StrBuf out = strbuf(arena);
    strbuf_printf(&out, "tensordesc<%s[", dtype_name(descriptor->type));
    print_block(&out, descriptor);
    strbuf_puts(&out, descriptor->pads_with_nan ? "], nan>" : "]>");
    const Special last = special_of_multiple(descriptor->shape[descriptor->rank - 1]);
    strbuf_puts(&out, special_hint(arena, last));
    return out.ptr;
}

/* In words if there is an arena for them. */
#define WRONG(arena, ...) ((arena) ? str_format((arena), __VA_ARGS__) : "")

static const char *explain_dimension(Arena *arena, const tile_descriptor *descriptor, int32_t d) {
    const int64_t extent = descriptor->shape[d], stride = descriptor->strides[d];
    if (extent < 1 || extent > INT32_MAX)
        return WRONG(arena, "extent %d of a tensor is %" PRId64 ", wanted 1 to 2^31 - 1", d,
                     extent);
    if (d == descriptor->rank - 1)
        return stride == 1
                   ? NULL
                   : WRONG(arena, "the last stride of a tensor is %" PRId64 ", wanted 1", stride);
    return (uint64_t)stride * dtype_size(descriptor->type) % 16 == 0
               ? NULL
               : WRONG(arena,
                       "stride %d of a tensor is %" PRId64 " elements of %u bytes, wanted a "
                       "multiple of 16 bytes",
                       d, stride, dtype_size(descriptor->type));
}

const char *descriptor_explain(Arena *arena, const tile_descriptor *descriptor) {
    if (!descriptor || descriptor->size < sizeof *descriptor)
        return WRONG(arena, "a descriptor is not there, or its `size` is not set");
    if (descriptor->type == TILE_DTYPE_AUTO || !dtype_name(descriptor->type))
        return WRONG(arena, "a descriptor needs the type of its elements");
    if (descriptor->rank < 1 || descriptor->rank > DESCRIPTOR_MAX_RANK)
        return WRONG(arena, "a descriptor has 1 to %d dimensions, not %" PRId32,
                     DESCRIPTOR_MAX_RANK, descriptor->rank);
    if (descriptor->address % 16)
        return WRONG(arena,
                     "a descriptor's tensor is at 0x%" PRIx64 ", wanted an address that is a "
                     "multiple of 16",
                     descriptor->address);
    for (int32_t d = 0; d < descriptor->rank; d++) {
        const char *wrong = explain_dimension(arena, descriptor, d);
        if (wrong)
            return wrong;
    }
    return NULL;
}

/* What is wrong */

typedef struct Explaining {
    Arena *arena;
    uint32_t items; /* that may still be looked at: those of tuples that hold themselves end */
} Explaining;

static const char *explain_scalar(Arena *arena, const tile_argument *argument) {
    const char *type = dtype_name(argument->type);
    if (!type)
        return str_format(arena, "there is no type %d", (int)argument->type);
    if (argument->kind == TILE_ARGUMENT_POINTER)
        return argument->type == TILE_DTYPE_AUTO ? "a pointer needs the type of what it points at"
                                                 : NULL;
    if (argument->kind == TILE_ARGUMENT_INT)
        return argument_is_int_type(argument_integer_type(argument))
                   ? NULL
                   : str_format(arena, "an integer cannot be passed as %s", type);
    return argument_is_float_type(argument_float_type(argument))
               ? NULL
               : str_format(arena, "a number is passed as fp32, fp64, fp16 or bf16, not as %s",
                            type);
}

static const char *explain_tuple(Explaining *e, const tile_argument *argument, unsigned depth);

static const char *explain(Explaining *e, const tile_argument *argument, unsigned depth) {
    switch (argument->kind) {
    case TILE_ARGUMENT_TUPLE:
        return explain_tuple(e, argument, depth + 1);
    case TILE_ARGUMENT_DESCRIPTOR:
        return descriptor_explain(e->arena, argument->value.descriptor);
    case TILE_ARGUMENT_CONSTEXPR:
    case TILE_ARGUMENT_CONSTEXPR_INT:
        return NULL;
    case TILE_ARGUMENT_POINTER:
    case TILE_ARGUMENT_INT:
    case TILE_ARGUMENT_FLOAT:
        return explain_scalar(e->arena, argument);
    }
    return str_format(e->arena, "there is no kind %d", (int)argument->kind);
}

static const char *explain_tuple(Explaining *e, const tile_argument *argument, unsigned depth) {
    static const char *const too_deep = "tuples are more than 64 deep";
    _Static_assert(ARGUMENTS_MAX_DEPTH == 64, "as the text says");
    const tile_argument *items = argument->value.tuple.items;
    if (depth > ARGUMENTS_MAX_DEPTH)
        return too_deep;
    if (argument->value.tuple.count && !items)
        return "a tuple has no items";
    for (uint32_t i = 0; i < argument->value.tuple.count && e->items; i++) {
        e->items--;
        const char *wrong = explain(e, &items[i], depth);
        if (wrong)
            return wrong == too_deep ? wrong : str_format(e->arena, "item %u: %s", i, wrong);
    }
    return NULL;
}

const char *argument_explain(Arena *arena, const tile_argument *argument) {
    Explaining explaining = {arena, ARGUMENTS_KEY_SIZE}; /* each item takes more of a key */
    const char *wrong = explain(&explaining, argument, 0);
    return wrong ? wrong
                 : "this call's constexprs, tuples and descriptors are too long, or pass more than "
                   "256 values";
}

/* Leaves */

typedef struct Leaves {
    Arena *arena;
    VEC(ArgumentLeaf) list;
} Leaves;

static void add_leaf(Leaves *leaves, Str name, tile_argument argument) {
    vec_push(leaves->arena, &leaves->list, ((ArgumentLeaf){name, argument}));
}

static void add_text(Leaves *leaves, Str name, Str text) {
    add_leaf(leaves, name, tile_constexpr((tile_text){text.ptr, text.len}));
}

static Str part(Leaves *leaves, Str name, const char *what, int32_t index) {
    return str_from(index < 0
                        ? str_format(leaves->arena, "%.*s.%s", STR_ARG(name), what)
                        : str_format(leaves->arena, "%.*s.%s.%d", STR_ARG(name), what, index));
}

static void add_descriptor(Leaves *leaves, Str name, const tile_descriptor *descriptor) {
    const tile_dtype type = descriptor->type == TILE_I1 ? TILE_I8 : descriptor->type;
    add_leaf(leaves, part(leaves, name, "ptr", -1),
             tile_buffer(descriptor->address, type, descriptor->bytes));
    for (int32_t d = 0; d < descriptor->rank; d++) {
        tile_argument extent = tile_int(descriptor->shape[d]);
        extent.type = TILE_I32;
        add_leaf(leaves, part(leaves, name, "shape", d), extent);
    }
    for (int32_t d = 0; d < descriptor->rank; d++) {
        tile_argument stride = tile_int(descriptor->strides[d]);
        stride.type = TILE_I64;
        add_leaf(leaves, part(leaves, name, "strides", d), stride);
    }
    StrBuf block = strbuf(leaves->arena);
    strbuf_putc(&block, '(');
    print_block(&block, descriptor);
    strbuf_puts(&block, descriptor->rank == 1 ? ",)" : ")");
    add_text(leaves, part(leaves, name, "block", -1), strbuf_str(&block));
    add_text(leaves, part(leaves, name, "padding", -1),
             descriptor->pads_with_nan ? STR("'nan'") : STR("'zero'"));
}

static void add_argument(Leaves *leaves, Str name, const tile_argument *argument) {
    if (argument->kind == TILE_ARGUMENT_DESCRIPTOR) {
        add_descriptor(leaves, name, argument->value.descriptor);
    } else if (argument->kind != TILE_ARGUMENT_TUPLE) {
        add_leaf(leaves, name, *argument);
    } else if (!argument->value.tuple.count) {
        add_text(leaves, name, STR("()"));
    } else {
        for (uint32_t i = 0; i < argument->value.tuple.count; i++) {
            const char *item = str_format(leaves->arena, "%.*s.%u", STR_ARG(name), i);
            add_argument(leaves, str_from(item), &argument->value.tuple.items[i]);
        }
    }
}

const ArgumentLeaf *argument_leaves(Arena *arena, const Str *names, const tile_argument *arguments,
                                    size_t count, uint32_t *leaf_count) {
    Leaves leaves = {.arena = arena};
    for (size_t i = 0; i < count; i++)
        add_argument(&leaves, names[i], &arguments[i]);
    *leaf_count = (uint32_t)leaves.list.len;
    return leaves.list.data;
}
