/* Functions and methods that host code may call: those of Python that lists of configurations are
 * made with. */
#include "frontend/host_run.h"
#include "frontend/value.h"

typedef bool HostBuiltin(HostCode *code, const HostArguments *arguments, Span span,
                         HostValue *value);

static bool call_one(HostCode *code, HostValue callee, HostValue argument, Span span,
                     HostValue *value) {
    return host_call(code, callee, &(HostArguments){.items = &argument, .count = 1}, span, value);
}

static bool call_range(HostCode *code, const HostArguments *arguments, Span span,
                       HostValue *value) {
    int64_t bounds[3] = {0, 0, 1};
    for (uint32_t i = 0; i < arguments->count; i++) {
        if (arguments->items[i].kind != HOST_INT)
            return host_cannot(code, span, "a range of other values than integers");
        bounds[arguments->count == 1 ? 1 : i] = arguments->items[i].i;
    }
    if (!bounds[2])
        return host_cannot(code, span, "a range with steps of 0");
    *value = host_new_list(code, HOST_LIST);
    for (__int128 i = bounds[0]; bounds[2] > 0 ? i < bounds[1] : i > bounds[1]; i += bounds[2]) {
        if (value->list->items.len == HOST_MAX_ITEMS)
            return host_cannot(code, span, "a range this long");
        host_append(code, *value, host_int((int64_t)i));
    }
    return true;
}

static bool call_len(HostCode *code, const HostArguments *arguments, Span span, HostValue *value) {
    const HostValue of = arguments->items[0];
    if (of.kind == HOST_TEXT)
        *value = host_int((int64_t)of.text.len);
    else if (host_is_sequence(of))
        *value = host_int((int64_t)of.list->items.len);
    else if (of.kind == HOST_DICT)
        *value = host_int((int64_t)of.dict->pairs.len);
    else
        return host_cannot(code, span, "len() of this");
    return true;
}

static bool sequence(HostCode *code, const HostArguments *arguments, Span span, HostKind kind,
                     HostValue *value) {
    *value = host_new_list(code, kind);
    if (!arguments->count)
        return true;
    if (!host_items(code, arguments->items[0], span, value))
        return false;
    value->kind = kind;
    return true;
}

static bool call_list(HostCode *code, const HostArguments *arguments, Span span, HostValue *value) {
    return sequence(code, arguments, span, HOST_LIST, value);
}

static bool call_tuple(HostCode *code, const HostArguments *arguments, Span span,
                       HostValue *value) {
    return sequence(code, arguments, span, HOST_TUPLE, value);
}

/* Adds to a dict what dict(..) and update(..) take. */
static bool update(HostCode *code, HostDict *dict, const HostArguments *arguments, Span span) {
    HostValue items;
    if (arguments->count && arguments->items[0].kind == HOST_DICT) {
        const HostDict *from = arguments->items[0].dict;
        for (size_t i = 0; i < from->pairs.len; i++)
            host_put(code, dict, from->pairs.data[i].key, from->pairs.data[i].value);
    } else if (arguments->count) {
        if (!host_items(code, arguments->items[0], span, &items))
            return false;
        for (size_t i = 0; i < items.list->items.len; i++) {
            const HostValue pair = items.list->items.data[i];
            if (!host_is_sequence(pair) || pair.list->items.len != 2)
                return host_cannot(code, span, "a dict of what are no pairs");
            host_put(code, dict, pair.list->items.data[0], pair.list->items.data[1]);
        }
    }
    for (uint32_t i = 0; i < arguments->named_count; i++)
        host_put(code, dict, host_text(arguments->named[i].name), arguments->named[i].value);
    return true;
}

static bool call_dict(HostCode *code, const HostArguments *arguments, Span span, HostValue *value) {
    *value = host_new_dict(code);
    return update(code, value->dict, arguments, span);
}

static bool call_filter(HostCode *code, const HostArguments *arguments, Span span,
                        HostValue *value) {
    HostValue items, keeps;
    bool is_kept;
    *value = host_new_list(code, HOST_LIST);
    if (!host_items(code, arguments->items[1], span, &items))
        return false;
    for (size_t i = 0; i < items.list->items.len; i++) {
        keeps = items.list->items.data[i];
        if (arguments->items[0].kind != HOST_NONE &&
            !call_one(code, arguments->items[0], items.list->items.data[i], span, &keeps))
            return false;
        if (!host_is_true(code, keeps, span, &is_kept))
            return false;
        if (is_kept)
            host_append(code, *value, items.list->items.data[i]);
    }
    return true;
}

static bool call_map(HostCode *code, const HostArguments *arguments, Span span, HostValue *value) {
    HostValue items, one;
    *value = host_new_list(code, HOST_LIST);
    if (!host_items(code, arguments->items[1], span, &items))
        return false;
    for (size_t i = 0; i < items.list->items.len; i++) {
        if (!call_one(code, arguments->items[0], items.list->items.data[i], span, &one))
            return false;
        host_append(code, *value, one);
    }
    return true;
}

static bool call_zip(HostCode *code, const HostArguments *arguments, Span span, HostValue *value) {
    HostValue *lists = ARENA_ARRAY(code->arena, HostValue, arguments->count + 1);
    size_t shortest = SIZE_MAX;
    *value = host_new_list(code, HOST_LIST);
    for (uint32_t i = 0; i < arguments->count; i++) {
        if (!host_items(code, arguments->items[i], span, &lists[i]))
            return false;
        if (lists[i].list->items.len < shortest)
            shortest = lists[i].list->items.len;
    }
    for (size_t i = 0; arguments->count && i < shortest; i++) {
        const HostValue row = host_new_list(code, HOST_TUPLE);
        for (uint32_t j = 0; j < arguments->count; j++)
            host_append(code, row, lists[j].list->items.data[i]);
        host_append(code, *value, row);
    }
    return true;
}

static bool call_enumerate(HostCode *code, const HostArguments *arguments, Span span,
                           HostValue *value) {
    HostValue items;
    *value = host_new_list(code, HOST_LIST);
    if (!host_items(code, arguments->items[0], span, &items))
        return false;
    for (size_t i = 0; i < items.list->items.len; i++) {
        const HostValue row = host_new_list(code, HOST_TUPLE);
        host_append(code, row, host_int((int64_t)i));
        host_append(code, row, items.list->items.data[i]);
        host_append(code, *value, row);
    }
    return true;
}

/* itertools.product(a, b, ..): the last one runs fastest. */
static bool call_product(HostCode *code, const HostArguments *arguments, Span span,
                         HostValue *value) {
    *value = host_new_list(code, HOST_LIST);
    host_append(code, *value, host_new_list(code, HOST_TUPLE));
    for (uint32_t i = 0; i < arguments->count; i++) {
        HostValue items, longer = host_new_list(code, HOST_LIST);
        if (!host_items(code, arguments->items[i], span, &items))
            return false;
        for (size_t r = 0; r < value->list->items.len; r++) {
            for (size_t j = 0; j < items.list->items.len; j++) {
                HostValue row;
                if (longer.list->items.len == HOST_MAX_ITEMS)
                    return host_cannot(code, span, "a product this long");
                if (!host_items(code, value->list->items.data[r], span, &row))
                    return false;
                row.kind = HOST_TUPLE;
                host_append(code, row, items.list->items.data[j]);
                host_append(code, longer, row);
            }
        }
        *value = longer;
    }
    return true;
}

static bool call_sum(HostCode *code, const HostArguments *arguments, Span span, HostValue *value) {
    HostValue items;
    *value = host_int(0);
    if (!host_items(code, arguments->items[0], span, &items))
        return false;
    for (size_t i = 0; i < items.list->items.len; i++)
        if (!host_checked(code, span,
                          host_binary(ASTOP_add, *value, items.list->items.data[i], value)))
            return false;
    return true;
}

static bool truths(HostCode *code, const HostArguments *arguments, Span span, bool wanted,
                   HostValue *value) {
    HostValue items;
    *value = host_bool(!wanted);
    if (!host_items(code, arguments->items[0], span, &items))
        return false;
    for (size_t i = 0; i < items.list->items.len; i++) {
        bool is_true;
        if (!host_is_true(code, items.list->items.data[i], span, &is_true))
            return false;
        if (is_true == wanted)
            *value = host_bool(wanted);
    }
    return true;
}

static bool call_any(HostCode *code, const HostArguments *arguments, Span span, HostValue *value) {
    return truths(code, arguments, span, true, value);
}

static bool call_all(HostCode *code, const HostArguments *arguments, Span span, HostValue *value) {
    return truths(code, arguments, span, false, value);
}

/* The key of an element to sort by. */
static bool sort_keys(HostCode *code, HostValue key, HostValue items, Span span, HostValue *keys) {
    for (size_t i = 0; i < items.list->items.len; i++) {
        keys[i] = items.list->items.data[i];
        if (key.kind != HOST_NONE && !call_one(code, key, keys[i], span, &keys[i]))
            return false;
    }
    return true;
}

/* By insertion: stable, and lists of configurations are short. */
static bool call_sorted(HostCode *code, const HostArguments *arguments, Span span,
                        HostValue *value) {
    HostValue key = host_none();
    bool reverse = false;
    for (uint32_t i = 0; i < arguments->named_count; i++) {
        if (str_is(arguments->named[i].name, "key"))
            key = arguments->named[i].value;
        else if (str_is(arguments->named[i].name, "reverse"))
            reverse = host_truth(arguments->named[i].value);
        else
            return host_cannot(code, span, "this argument of sorted()");
    }
    if (!host_items(code, arguments->items[0], span, value))
        return false;
    HostValue *items = value->list->items.data;
    HostValue *keys = ARENA_ARRAY(code->arena, HostValue, value->list->items.len + 1);
    if (!sort_keys(code, key, *value, span, keys))
        return false;
    for (size_t i = 1; i < value->list->items.len; i++) {
        const HostValue item = items[i], its = keys[i];
        size_t at = i;
        for (bool before = true; at && before; at -= before) {
            if (++code->steps > HOST_MAX_STEPS)
                return host_cannot(code, span, "a list this long to sort");
            const AstOperator op = reverse ? ASTOP_gt : ASTOP_lt;
            if (!host_checked(code, span, host_compare(op, its, keys[at - 1], &before)))
                return false;
            if (before) {
                items[at] = items[at - 1];
                keys[at] = keys[at - 1];
            }
        }
        items[at] = item;
        keys[at] = its;
    }
    return true;
}

static bool call_print(HostCode *code, const HostArguments *arguments, Span span,
                       HostValue *value) {
    *value = host_none();
    return true;
}

/* Of one argument that is a sequence, or of several. */
static bool call_number(HostCode *code, Str name, const HostArguments *arguments, Span span,
                        HostValue *value) {
    const HostFunction *function = host_function(name);
    const HostValue *operands = arguments->items;
    uint32_t count = arguments->count;
    const bool is_extreme = function->least == 2 && function->most > 2;
    if (is_extreme && count == 1 && host_is_sequence(operands[0]) && !arguments->named_count) {
        count = (uint32_t)operands[0].list->items.len;
        operands = operands[0].list->items.data;
    }
    if (arguments->named_count || count < (is_extreme ? 1 : function->least) ||
        (count > function->most && !is_extreme))
        return ctx_diag(code->ctx, span, host_arguments, function->name, function->least, count);
    for (uint32_t i = 0; i < count; i++)
        if (!host_is_known(code, operands[i], span)) /* bool() asks for no type */
            return false;
    return host_checked(code, span, function->call(operands, count, value));
}

static const struct {
    const char *name;
    uint32_t least, most;
    bool takes_names;
    HostBuiltin *call;
} builtins[] = {
    {"range", 1, 3, false, call_range},
    {"len", 1, 1, false, call_len},
    {"list", 0, 1, false, call_list},
    {"tuple", 0, 1, false, call_tuple},
    {"dict", 0, 1, true, call_dict},
    {"filter", 2, 2, false, call_filter},
    {"map", 2, 2, false, call_map},
    {"zip", 0, UINT32_MAX, false, call_zip},
    {"enumerate", 1, 1, false, call_enumerate},
    {"sum", 1, 1, false, call_sum},
    {"any", 1, 1, false, call_any},
    {"all", 1, 1, false, call_all},
    {"sorted", 1, 1, true, call_sorted},
    {"print", 0, UINT32_MAX, true, call_print},
    {"itertools.product", 0, UINT32_MAX, false, call_product},
};

enum { BUILTIN_COUNT = sizeof builtins / sizeof *builtins };

static size_t find_builtin(Str name) {
    size_t i = 0;
    while (i < BUILTIN_COUNT && !str_is(name, builtins[i].name))
        i++;
    return i;
}

/* Those of Python's own that are functions of numbers; the others need a module. */
static bool is_python_number_function(Str name) {
    static const char *const names[] = {"min", "max", "abs", "int", "float", "bool"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (str_is(name, names[i]))
            return true;
    return false;
}

bool host_is_builtin(Str name) {
    return find_builtin(name) < BUILTIN_COUNT || is_python_number_function(name);
}

bool host_call_builtin(HostCode *code, Str name, const HostArguments *arguments, Span span,
                       HostValue *value) {
    const size_t i = find_builtin(name);
    if (i == BUILTIN_COUNT)
        return call_number(code, name, arguments, span, value);
    if (arguments->count < builtins[i].least || arguments->count > builtins[i].most ||
        (arguments->named_count && !builtins[i].takes_names))
        return ctx_diag(code->ctx, span, host_arguments, builtins[i].name, builtins[i].least,
                        arguments->count + arguments->named_count);
    return builtins[i].call(code, arguments, span, value);
}

/* Methods */

static bool call_append(HostCode *code, HostValue self, const HostArguments *a, Span span,
                        HostValue *value) {
    host_append(code, self, a->items[0]);
    *value = host_none();
    return true;
}

static bool call_extend(HostCode *code, HostValue self, const HostArguments *a, Span span,
                        HostValue *value) {
    HostValue items;
    if (!host_items(code, a->items[0], span, &items))
        return false;
    if (self.list->items.len + items.list->items.len > HOST_MAX_ITEMS)
        return host_cannot(code, span, "a list or text this long");
    for (size_t i = 0; i < items.list->items.len; i++)
        host_append(code, self, items.list->items.data[i]);
    *value = host_none();
    return true;
}

static bool call_get(HostCode *code, HostValue self, const HostArguments *a, Span span,
                     HostValue *value) {
    const HostValue *found = host_dict_find(self.dict, a->items[0]);
    *value = found ? *found : a->count > 1 ? a->items[1] : host_none();
    return value->kind != HOST_UNKNOWN || host_cannot(code, span, "a value that is not known");
}

static bool call_keys(HostCode *code, HostValue self, const HostArguments *a, Span span,
                      HostValue *value) {
    return host_items(code, self, span, value);
}

static bool call_values(HostCode *code, HostValue self, const HostArguments *a, Span span,
                        HostValue *value) {
    *value = host_new_list(code, HOST_LIST);
    for (size_t i = 0; i < self.dict->pairs.len; i++)
        host_append(code, *value, self.dict->pairs.data[i].value);
    return true;
}

static bool call_items(HostCode *code, HostValue self, const HostArguments *a, Span span,
                       HostValue *value) {
    *value = host_new_list(code, HOST_LIST);
    for (size_t i = 0; i < self.dict->pairs.len; i++) {
        const HostValue row = host_new_list(code, HOST_TUPLE);
        host_append(code, row, self.dict->pairs.data[i].key);
        host_append(code, row, self.dict->pairs.data[i].value);
        host_append(code, *value, row);
    }
    return true;
}

static bool call_update(HostCode *code, HostValue self, const HostArguments *a, Span span,
                        HostValue *value) {
    *value = host_none();
    return update(code, self.dict, a, span);
}

static bool call_copy(HostCode *code, HostValue self, const HostArguments *a, Span span,
                      HostValue *value) {
    if (self.kind == HOST_LIST)
        return host_items(code, self, span, value);
    *value = host_new_dict(code);
    return update(code, value->dict, &(HostArguments){.items = &self, .count = 1}, span);
}

/* Bytes of an element of a tensor. */
static bool call_element_size(HostCode *code, HostValue self, const HostArguments *a, Span span,
                              HostValue *value) {
    ScalarType type;
    if (!scalar_parse(self.text, &type))
        return host_cannot(code, span, "the size of such elements");
    *value = host_int(type.pointer ? 8 : dtype_bytes(elem_info[type.elem].ir));
    return true;
}

static const struct {
    HostKind kind;
    const char *name;
    uint32_t least, most;
    bool takes_names;
    bool (*call)(HostCode *code, HostValue self, const HostArguments *arguments, Span span,
                 HostValue *value);
} methods[] = {
    {HOST_LIST, "append", 1, 1, false, call_append},
    {HOST_LIST, "extend", 1, 1, false, call_extend},
    {HOST_LIST, "copy", 0, 0, false, call_copy},
    {HOST_DICT, "get", 1, 2, false, call_get},
    {HOST_DICT, "keys", 0, 0, false, call_keys},
    {HOST_DICT, "values", 0, 0, false, call_values},
    {HOST_DICT, "items", 0, 0, false, call_items},
    {HOST_DICT, "update", 0, 1, true, call_update},
    {HOST_DICT, "copy", 0, 0, false, call_copy},
    {HOST_POINTER, "element_size", 0, 0, false, call_element_size},
};

bool host_has_method(HostValue self, Str name) {
    for (size_t i = 0; i < sizeof methods / sizeof *methods; i++)
        if (methods[i].kind == self.kind && str_is(name, methods[i].name))
            return true;
    return false;
}

bool host_call_method(HostCode *code, HostValue self, Str name, const HostArguments *arguments,
                      Span span, HostValue *value) {
    for (size_t i = 0; i < sizeof methods / sizeof *methods; i++) {
        if (methods[i].kind != self.kind || !str_is(name, methods[i].name))
            continue;
        if (arguments->count < methods[i].least || arguments->count > methods[i].most ||
            (arguments->named_count && !methods[i].takes_names))
            return ctx_diag(code->ctx, span, host_arguments, methods[i].name, methods[i].least,
                            arguments->count + arguments->named_count);
        return methods[i].call(code, self, arguments, span, value);
    }
    return host_cannot(code, span, str_format(code->arena, "the method '%.*s'", STR_ARG(name)));
}
