/* Methods of lists, dictionaries and tuples, and functions of Python's that are for them. */
#include "frontend/builtins.h"
#include "frontend/objects.h"

static Val wrong(Call *call, int param, const char *wanted) {
    return elab_fail(call->e, call->spans[param], elab_argument, call->builtin->name,
                     call_param_name(call, param), wanted,
                     elab_type_text(call->e, call->args[param]));
}

static Val done(bool ok) {
    return ok ? val_none() : val_error();
}

/* Functions */

/* dict(), dict(d), dict(pairs), each with a=1. */
Val object_make_dict(Elab *e, Span span, const Arg *args, uint32_t count) {
    const Val dict = object_dict(e);
    Val merged;
    uint32_t positions = 0;
    for (uint32_t i = 0; i < count; i++) {
        const Arg *arg = &args[i];
        const Val *pairs, *pair;
        uint32_t n = 0, two;
        if (arg->name.len && !object_set_key(e, arg->span, dict, val_string(arg->name), arg->val))
            return val_error();
        if (arg->name.len)
            continue;
        if (positions++)
            return elab_fail(e, arg->span, elab_too_many_arguments, "dict", 1, count);
        if (arg->val.kind == VAL_DICT) {
            if (object_update(e, span, ASTOP_bitor, dict, arg->val, &merged) && val_failed(merged))
                return merged;
            continue;
        }
        if (!elab_items(e, arg->span, arg->val, &pairs, &n))
            return val_error();
        for (uint32_t p = 0; p < n; p++) {
            if (!elab_items(e, arg->span, pairs[p], &pair, &two))
                return val_error();
            if (two != 2)
                return elab_fail(e, arg->span, elab_unpack, 2, two);
            if (!object_set_key(e, arg->span, dict, pair[0], pair[1]))
                return val_error();
        }
    }
    return dict;
}

/* What is sorted, and by what. */
typedef struct Sorting {
    Call *call;
    Val *keys, *items, *spare_keys, *spare_items;
    bool is_reversed, failed;
} Sorting;

/* Whether the one on the right goes in front of the one on the left. */
static bool goes_before(Sorting *s, Val left, Val right) {
    Elab *e = s->call->e;
    const Val v = s->is_reversed ? static_compare(e, s->call->span, ASTOP_lt, left, right)
                                 : static_compare(e, s->call->span, ASTOP_lt, right, left);
    s->failed |= val_failed(v) || !elab_spend(e, s->call->span, 1);
    return !s->failed && val_truth(v);
}

/* Merges [lo, mid) with [mid, hi); equal ones stay in their order. */
static void merge(Sorting *s, uint32_t lo, uint32_t mid, uint32_t hi) {
    uint32_t a = lo, b = mid;
    for (uint32_t i = lo; i < hi && !s->failed; i++) {
        const bool right = a == mid || (b < hi && goes_before(s, s->keys[a], s->keys[b]));
        const uint32_t from = right ? b++ : a++;
        s->spare_keys[i] = s->keys[from];
        s->spare_items[i] = s->items[from];
    }
    if (s->failed)
        return;
    memcpy(s->keys + lo, s->spare_keys + lo, (hi - lo) * sizeof(Val));
    memcpy(s->items + lo, s->spare_items + lo, (hi - lo) * sizeof(Val));
}

/* The elements in order; NULL after a report. `key` and `reverse` are parameters 1 and 2. */
static const Val *sort(Call *call, const Val *items, uint32_t count) {
    Elab *e = call->e;
    Sorting s = {.call = call};
    Val **arrays[] = {&s.keys, &s.items, &s.spare_keys, &s.spare_items};
    if (!call_flag(call, 2, &s.is_reversed))
        return NULL;
    for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++)
        *arrays[i] = ARENA_ARRAY(e->arena, Val, (size_t)count + 1);
    for (uint32_t i = 0; i < count; i++)
        s.items[i] = items[i];
    for (uint32_t i = 0; i < count; i++) {
        s.keys[i] = val_missing(call->args[1])
                        ? s.items[i]
                        : elab_call_values(e, call->span, call->args[1], &s.items[i], 1);
        if (val_failed(s.keys[i]))
            return NULL;
    }
    for (uint32_t width = 1; width < count; width *= 2)
        for (uint32_t lo = 0; lo + width < count; lo += 2 * width)
            merge(&s, lo, lo + width, lo + 2 * width < count ? lo + 2 * width : count);
    return s.failed ? NULL : s.items;
}

static Val builtin_sorted(Call *call) {
    const Val *items;
    uint32_t count;
    if (!elab_items(call->e, call->spans[0], call->args[0], &items, &count))
        return val_error();
    items = sort(call, items, count);
    return items ? object_sequence(call->e, call->span, items, count) : val_error();
}

static Val builtin_reversed(Call *call) {
    Val v = call->args[0];
    const Val *items;
    uint32_t count;
    if (v.kind == VAL_ITERATOR)
        return wrong(call, 0, "a sequence");
    if (!elab_items(call->e, call->spans[0], v, &items, &count))
        return val_error();
    if (v.kind != VAL_LIST)
        v = val_tuple(items, count);
    return object_iterator(call->e, call->span, ITERATOR_REVERSED, &v, 1, (int64_t)count - 1);
}

static Val builtin_enumerate(Call *call) {
    const Val parts[] = {call->args[0], call->args[1]};
    Iteration checked;
    if (parts[1].kind != VAL_INT)
        return wrong(call, 1, "a constexpr int");
    if (!iteration_start(call->e, call->spans[0], parts[0], &checked))
        return val_error();
    return object_iterator(call->e, call->span, ITERATOR_ENUMERATE, parts, 2, 0);
}

static Val builtin_zip(Call *call) {
    Iteration checked;
    for (uint32_t i = 0; i < call->rest_count; i++)
        if (!iteration_start(call->e, call->spans[0], call->rest[i], &checked))
            return val_error();
    return object_iterator(call->e, call->span, ITERATOR_ZIP, call->rest, call->rest_count, 0);
}

static Val builtin_sum(Call *call) {
    const Val *items;
    uint32_t count;
    Val sum = call->args[1];
    if (!elab_items(call->e, call->spans[0], call->args[0], &items, &count))
        return val_error();
    if (sum.kind == VAL_STRING)
        return wrong(call, 1, "a number");
    for (uint32_t i = 0; i < count && !val_failed(sum); i++)
        sum = elab_binary(call->e, call->span, ASTOP_add, sum, items[i]);
    return sum;
}

static Val quantified(Call *call, bool until) {
    Iteration iteration;
    const unsigned errors = call->e->ctx->diags.errors;
    if (!iteration_start(call->e, call->spans[0], call->args[0], &iteration))
        return val_error();
    for (Val item; iteration_next(call->e, call->span, &iteration, &item);) {
        const Val holds = elab_condition(call->e, call->span, item, call->builtin->name);
        if (val_failed(holds))
            return holds;
        if (val_truth(holds) == until)
            return val_bool(until);
    }
    return call->e->ctx->diags.errors == errors ? val_bool(!until) : val_error();
}

static Val builtin_any(Call *call) {
    return quantified(call, true);
}

static Val builtin_all(Call *call) {
    return quantified(call, false);
}

/* Lists */

static Val builtin_list_append(Call *call) {
    const Val list = call->args[0];
    return done(object_splice(call->e, call->span, list, list.object->count, 0, &call->args[1], 1));
}

static Val builtin_list_extend(Call *call) {
    const Val *items, list = call->args[0];
    uint32_t count;
    return done(elab_items(call->e, call->spans[1], call->args[1], &items, &count) &&
                object_splice(call->e, call->span, list, list.object->count, 0, items, count));
}

static Val builtin_list_insert(Call *call) {
    const Val list = call->args[0];
    const uint32_t n = list.object->count;
    Wide at;
    if (!val_known_int(call->args[1], &at))
        return wrong(call, 1, "a constexpr int");
    at = at < -(Wide)n ? 0 : at < 0 ? at + n : at > n ? n : at;
    return done(object_splice(call->e, call->span, list, (uint32_t)at, 0, &call->args[2], 1));
}

static Val builtin_list_pop(Call *call) {
    const Val list = call->args[0];
    const Val index = call->args[1].kind == VAL_NONE ? val_int(-1) : call->args[1];
    uint32_t at;
    if (!elab_index_place(call->e, call->spans[1], index, list.object->count, &at))
        return val_error();
    const Val taken = list.object->items[at];
    return object_splice(call->e, call->span, list, at, 1, NULL, 0) ? taken : val_error();
}

/* Counts those that are equal to parameter 1, up to `most`; the place of the last of them. False
 * after a report. */
static bool find_equal(Call *call, uint32_t most, uint32_t *found, uint32_t *at) {
    Elab *e = call->e;
    const Val *items;
    uint32_t count;
    *found = 0;
    if (!elab_items(e, call->spans[0], call->args[0], &items, &count))
        return false;
    for (uint32_t i = 0; i < count && *found < most; i++) {
        const Val same = static_compare(e, call->span, ASTOP_eq, items[i], call->args[1]);
        if (val_failed(same))
            return false;
        *found += val_truth(same);
        *at = i;
    }
    return true;
}

static Val not_found(Call *call) {
    if (!object_measure(call->e, call->span, call->args[1]))
        return val_error();
    return elab_fail(call->e, call->span, elab_no_item, val_text(call->e->arena, call->args[1]),
                     elab_type_text(call->e, call->args[0]));
}

static Val builtin_list_remove(Call *call) {
    uint32_t found, at = 0;
    if (!find_equal(call, 1, &found, &at))
        return val_error();
    return found ? done(object_splice(call->e, call->span, call->args[0], at, 1, NULL, 0))
                 : not_found(call);
}

static Val builtin_sequence_index(Call *call) {
    uint32_t found, at = 0;
    if (!find_equal(call, 1, &found, &at))
        return val_error();
    return found ? val_int(at) : not_found(call);
}

static Val builtin_sequence_count(Call *call) {
    uint32_t found, at = 0;
    return find_equal(call, UINT32_MAX, &found, &at) ? val_int(found) : val_error();
}

static Val builtin_list_reverse(Call *call) {
    Object *list = call->args[0].object;
    if (!object_may_change(call->e, call->span, call->args[0]) ||
        !elab_spend(call->e, call->span, list->count))
        return val_error();
    for (uint32_t i = 0; i < list->count / 2; i++) {
        const Val other = list->items[list->count - 1 - i];
        list->items[list->count - 1 - i] = list->items[i];
        list->items[i] = other;
    }
    return val_none();
}

static Val builtin_list_sort(Call *call) {
    Object *list = call->args[0].object;
    const uint32_t count = list->count;
    if (!object_may_change(call->e, call->span, call->args[0]))
        return val_error();
    const Val *items = sort(call, list->items, count);
    if (items && list->count != count)
        return elab_fail(call->e, call->span, elab_argument, "sort", "key",
                         "a function that leaves the list as it is", "one that changes it");
    for (uint32_t i = 0; items && i < count; i++)
        list->items[i] = items[i];
    return done(items);
}

/* Both */

static Val builtin_object_clear(Call *call) {
    Object *object = call->args[0].object;
    if (!object_may_change(call->e, call->span, call->args[0]))
        return val_error();
    object->resizes += object->count > 0;
    object->count = 0;
    return val_none();
}

static Val builtin_object_copy(Call *call) {
    const Val v = call->args[0], copy = object_dict(call->e);
    Val merged;
    if (v.kind == VAL_LIST)
        return object_list(call->e, call->span, v.object->items, v.object->count);
    return object_update(call->e, call->span, ASTOP_bitor, copy, v, &merged) ? merged : copy;
}

/* Dictionaries */

/* Whether it has the key that is parameter 1. False after a report. */
static bool find_key(Call *call, uint32_t *at, bool *has) {
    const bool ok = object_find(call->e, call->spans[1], call->args[0], call->args[1], at);
    *has = ok && *at < call->args[0].object->count;
    return ok;
}

static Val builtin_dict_get(Call *call) {
    uint32_t at;
    bool has;
    if (!find_key(call, &at, &has))
        return val_error();
    return has ? call->args[0].object->items[at] : call->args[2];
}

static Val builtin_dict_setdefault(Call *call) {
    uint32_t at;
    bool has;
    if (!find_key(call, &at, &has))
        return val_error();
    if (has)
        return call->args[0].object->items[at];
    return object_set_key(call->e, call->span, call->args[0], call->args[1], call->args[2])
               ? call->args[2]
               : val_error();
}

static Val builtin_dict_pop(Call *call) {
    uint32_t at;
    bool has;
    if (!object_may_change(call->e, call->span, call->args[0]) || !find_key(call, &at, &has))
        return val_error();
    if (!has && call->rest_count)
        return call->rest[0];
    if (!has)
        return elab_fail(call->e, call->spans[1], elab_no_key,
                         val_text(call->e->arena, call->args[1]));
    const Val taken = call->args[0].object->items[at];
    object_remove_key(call->args[0], at);
    return taken;
}

static Val builtin_dict_update(Call *call) {
    const Arg other = {.val = call->args[1], .span = call->spans[1]};
    const Val made = object_make_dict(call->e, call->span, &other, 1);
    Val merged = made;
    if (!val_failed(made))
        object_update(call->e, call->span, ASTOP_bitor, call->args[0], made, &merged);
    return done(!val_failed(merged));
}

static Val builtin_dict_keys(Call *call) {
    return object_view(call->e, call->args[0], VIEW_KEYS);
}

static Val builtin_dict_values(Call *call) {
    return object_view(call->e, call->args[0], VIEW_VALUES);
}

static Val builtin_dict_items(Call *call) {
    return object_view(call->e, call->args[0], VIEW_ITEMS);
}

/* Calls of it take names that are keys: elab_call makes it. */
static Val builtin_dict(Call *call) {
    return object_make_dict(call->e, call->span, NULL, 0);
}

/* The tables */

enum { LIST = 1, DICT = 2, TUPLE = 4 };

static const Builtin functions[] = {
#define FUNCTION(name, params, handler)                                                            \
    {name, IN_PYTHON, params, builtin_##handler, BUILTIN_STATIC | BUILTIN_OBJECTS | BUILTIN_HOST},
#define METHOD(...)
#include "frontend/objects.def"
};

static const struct {
    Builtin row;
    uint32_t of;
} methods[] = {
#define FUNCTION(...)
#define METHOD(name, of, params, handler)                                                          \
    {{name, 0, params, builtin_##handler, BUILTIN_STATIC | BUILTIN_OBJECTS | BUILTIN_HOST}, of},
#include "frontend/objects.def"
};

const Builtin *object_method(Val v, Str name) {
    const uint32_t of = v.kind == VAL_LIST    ? LIST
                        : v.kind == VAL_DICT  ? DICT
                        : v.kind == VAL_TUPLE ? TUPLE
                                              : 0;
    for (size_t i = 0; i < sizeof methods / sizeof *methods; i++)
        if (methods[i].of & of && str_is(name, methods[i].row.name))
            return &methods[i].row;
    return NULL;
}

const Builtin *object_function(Str name) {
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++)
        if (str_is(name, functions[i].name))
            return &functions[i];
    return NULL;
}

bool object_is_dict_class(const Builtin *row) {
    return row->handler == builtin_dict;
}
