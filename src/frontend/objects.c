/* Lists and dictionaries: what they hold, and how that changes. */
#include "frontend/objects.h"

static Val object_of(ValKind kind, Object *object) {
    return (Val){.kind = kind, .object = object};
}

/* Notes that `v` lies within `above` objects and tuples. False after a report: that are too many,
 * or `holder` lies in it. What was noted before is not walked again: below it nothing changes. */
static bool enter(Elab *e, Span span, const Object *holder, uint32_t above, Val v) {
    if (v.kind != VAL_TUPLE && !val_is_object(v))
        return true;
    if (val_is_object(v) && v.object == holder) {
        elab_fail(e, span, elab_holds_itself, elab_type_text(e, v));
        return false;
    }
    if (above > MAX_TUPLE_DEPTH) {
        elab_fail(e, span, elab_too_deep);
        return false;
    }
    const bool is_tuple = v.kind == VAL_TUPLE;
    if (!is_tuple && v.object->above >= above)
        return true;
    if (!is_tuple)
        v.object->above = above;
    const uint32_t count = is_tuple ? v.tuple.count : v.object->count;
    const Val *items = is_tuple ? v.tuple.items : v.object->items;
    if (!elab_spend(e, span, count))
        return false;
    for (uint32_t i = 0; i < count; i++)
        if (!enter(e, span, holder, above + 1, items[i]))
            return false;
    return v.kind != VAL_VIEW ||
           enter(e, span, holder, above, object_of(VAL_DICT, (Object *)v.object->of));
}

static bool hold(Elab *e, Span span, const Object *holder, const Val *items, uint32_t count) {
    for (uint32_t i = 0; i < count; i++)
        if (!enter(e, span, holder, holder->above + 1, items[i]))
            return false;
    return true;
}

static bool has_room(Elab *e, Span span, uint64_t count) {
    if (count > MAX_STATIC_ITERATIONS) {
        elab_fail(e, span, elab_too_many_items, MAX_STATIC_ITERATIONS);
        return false;
    }
    return true;
}

Val object_list(Elab *e, Span span, const Val *items, uint32_t count) {
    Object *object = ARENA_NEW(e->arena, Object);
    Val list = object_of(VAL_LIST, object);
    return object_splice(e, span, list, 0, 0, items, count) ? list : val_error();
}

Val object_sequence(Elab *e, Span span, const Val *items, uint32_t count) {
    return e->frame->host ? object_list(e, span, items, count) : val_tuple(items, count);
}

Val object_dict(Elab *e) {
    return object_of(VAL_DICT, ARENA_NEW(e->arena, Object));
}

Val object_view(Elab *e, Val dict, ViewOf of) {
    Object *object = ARENA_NEW(e->arena, Object);
    object->of = dict.object;
    object->view = of;
    return object_of(VAL_VIEW, object);
}

Val object_iterator(Elab *e, Span span, IteratorForm form, const Val *of, uint32_t count,
                    int64_t first) {
    Object *object = ARENA_NEW(e->arena, Object);
    for (uint32_t i = 0; i < count; i++)
        if (of[i].kind == VAL_ITERATOR && of[i].object->height >= object->height)
            object->height = of[i].object->height + 1;
    if (object->height > MAX_TUPLE_DEPTH)
        return elab_fail(e, span, elab_too_deep);
    object->items = ARENA_ARRAY(e->arena, Val, (size_t)count + 1);
    if (count)
        memcpy(object->items, of, count * sizeof *of);
    object->count = object->capacity = count;
    object->form = form;
    object->next = first;
    return object_of(VAL_ITERATOR, object);
}

bool object_may_change(Elab *e, Span span, Val v) {
    if (!v.object->is_fixed)
        return true;
    const bool is_list = v.kind == VAL_LIST;
    elab_fail(e, span, elab_fixed_object, elab_type_text(e, v));
    elab_hint(e, "change a copy in a constexpr function: %s", is_list ? "list(x)" : "dict(x)");
    return false;
}

static void reserve(Elab *e, Object *object, uint32_t count, bool keyed) {
    if (count <= object->capacity)
        return;
    const uint32_t capacity = count < 8 ? 8 : 2 * count;
    Val *items = ARENA_ARRAY(e->arena, Val, capacity);
    if (object->count)
        memcpy(items, object->items, object->count * sizeof *items);
    object->items = items;
    if (keyed) {
        Val *keys = ARENA_ARRAY(e->arena, Val, capacity);
        if (object->count)
            memcpy(keys, object->keys, object->count * sizeof *keys);
        object->keys = keys;
    }
    object->capacity = capacity;
}

bool object_splice(Elab *e, Span span, Val list, uint32_t at, uint32_t removed, const Val *items,
                   uint32_t n) {
    enum { MOVES_A_STEP = 64 };
    Object *object = list.object;
    const uint32_t behind = object->count - at - removed;
    if (!object_may_change(e, span, list) || !hold(e, span, object, items, n) ||
        !has_room(e, span, (uint64_t)object->count - removed + n) ||
        !elab_spend(e, span, n + behind / MOVES_A_STEP))
        return false;
    Val *copy = ARENA_ARRAY(e->arena, Val, (size_t)n + 1); /* they may be the list's own */
    if (n)
        memcpy(copy, items, n * sizeof *items);
    reserve(e, object, object->count - removed + n, false);
    if (behind && n != removed)
        memmove(object->items + at + n, object->items + at + removed, behind * sizeof *items);
    if (n)
        memcpy(object->items + at, copy, n * sizeof *items);
    object->count = object->count - removed + n;
    return true;
}

bool object_set_item(Elab *e, Span span, Val list, uint32_t at, Val v) {
    if (!object_may_change(e, span, list) || !hold(e, span, list.object, &v, 1))
        return false;
    list.object->items[at] = v;
    return true;
}

/* Dictionaries */

static bool can_be_key(Val v) {
    if (val_is_object(v) || val_is_tile(v) || v.kind == VAL_BLOCK)
        return false;
    for (uint32_t i = 0; v.kind == VAL_TUPLE && i < v.tuple.count; i++)
        if (!can_be_key(v.tuple.items[i]))
            return false;
    return true;
}

static uint32_t place_of(const Object *dict, Val key) {
    uint32_t at = 0;
    while (at < dict->count && !val_equal(dict->keys[at], key))
        at++;
    return at;
}

bool object_find(Elab *e, Span span, Val dict, Val key, uint32_t *at) {
    enum { KEYS_A_STEP = 16 };
    if (!can_be_key(key)) {
        elab_fail(e, span, elab_unhashable, elab_type_text(e, key));
        return false;
    }
    *at = place_of(dict.object, key);
    return elab_spend(e, span, *at / KEYS_A_STEP);
}

bool object_set_key(Elab *e, Span span, Val dict, Val key, Val v) {
    Object *object = dict.object;
    uint32_t at;
    if (!object_may_change(e, span, dict) || !object_find(e, span, dict, key, &at) ||
        !hold(e, span, object, &v, 1))
        return false;
    if (at == object->count) {
        if (!has_room(e, span, (uint64_t)at + 1))
            return false;
        reserve(e, object, at + 1, true);
        object->keys[at] = key;
        object->count++;
        object->resizes++;
    }
    object->items[at] = v;
    return true;
}

void object_remove_key(Val dict, uint32_t at) {
    Object *object = dict.object;
    const size_t behind = object->count - at - 1;
    memmove(object->keys + at, object->keys + at + 1, behind * sizeof *object->keys);
    memmove(object->items + at, object->items + at + 1, behind * sizeof *object->items);
    object->count--;
    object->resizes++;
}

/* Walks */

static bool dict_equal(const Object *a, const Object *b) {
    for (uint32_t i = 0; i < a->count; i++) {
        const uint32_t at = place_of(b, a->keys[i]);
        if (at == b->count || !val_equal(a->items[i], b->items[at]))
            return false;
    }
    return true;
}

bool object_equal(Val a, Val b) {
    const Object *x = a.object, *y = b.object;
    if (x == y)
        return true;
    if (a.kind == VAL_VIEW || a.kind == VAL_ITERATOR || x->count != y->count)
        return false;
    if (a.kind == VAL_DICT)
        return dict_equal(x, y);
    for (uint32_t i = 0; i < x->count; i++)
        if (!val_equal(x->items[i], y->items[i]))
            return false;
    return true;
}

void object_print(Val v, StrBuf *out) {
    const Object *object = v.object;
    strbuf_putc(out, object->keys || v.kind == VAL_DICT ? '{' : '[');
    for (uint32_t i = 0; i < object->count; i++) {
        strbuf_puts(out, i ? ", " : "");
        if (v.kind == VAL_DICT) {
            val_print(object->keys[i], true, out);
            strbuf_puts(out, ": ");
        }
        val_print(object->items[i], true, out);
    }
    strbuf_putc(out, v.kind == VAL_DICT ? '}' : ']');
}

static bool holds_object(Val v) {
    for (uint32_t i = 0; v.kind == VAL_TUPLE && i < v.tuple.count; i++)
        if (holds_object(v.tuple.items[i]))
            return true;
    return val_is_object(v);
}

/* Adds what lies in `v`; false: more than can be. */
static bool measure(Val v, uint64_t *size, uint64_t *steps) {
    if (++*size > MAX_STATIC_ITERATIONS)
        return false;
    const bool is_tuple = v.kind == VAL_TUPLE;
    if (!is_tuple && v.kind != VAL_LIST && v.kind != VAL_DICT)
        return true;
    const uint32_t count = is_tuple ? v.tuple.count : v.object->count;
    const Val *items = is_tuple ? v.tuple.items : v.object->items;
    *steps += v.kind == VAL_DICT ? (uint64_t)count * count / 16 : 0; /* keys that are looked up */
    for (uint32_t i = 0; i < count; i++)
        if (!measure(items[i], size, steps))
            return false;
    return true;
}

bool object_measure(Elab *e, Span span, Val v) {
    uint64_t size = 0, steps = 0;
    if (!holds_object(v)) /* its size is known, and within bounds */
        return true;
    if (!measure(v, &size, &steps)) {
        elab_fail(e, span, elab_too_many_items, MAX_STATIC_ITERATIONS);
        return false;
    }
    return elab_spend(e, span, size + steps);
}

/* Leaving */

static bool is_run_time(Val v) {
    if (v.kind != VAL_TUPLE && v.kind != VAL_LIST && v.kind != VAL_DICT)
        return val_is_tile(v) || v.kind == VAL_BLOCK;
    const bool is_tuple = v.kind == VAL_TUPLE;
    const uint32_t count = is_tuple ? v.tuple.count : v.object->count;
    for (uint32_t i = 0; i < count; i++)
        if (is_run_time(is_tuple ? v.tuple.items[i] : v.object->items[i]))
            return true;
    return false;
}

static Val leave(Elab *e, Span span, Val v);

static Val leave_items(Elab *e, Span span, Unit *record, const Val *items, uint32_t count) {
    Val *left = ARENA_ARRAY(e->arena, Val, (size_t)count + 1);
    for (uint32_t i = 0; i < count; i++) {
        left[i] = leave(e, span, items[i]);
        if (val_failed(left[i]))
            return left[i];
    }
    return val_tuple_of(record, left, count);
}

static Val leave(Elab *e, Span span, Val v) {
    if (!holds_object(v))
        return v;
    if (v.kind == VAL_TUPLE)
        return leave_items(e, span, v.tuple.record, v.tuple.items, v.tuple.count);
    const bool moves = is_run_time(v);
    if (moves && v.kind == VAL_LIST)
        return leave_items(e, span, NULL, v.object->items, v.object->count);
    if (moves || v.kind == VAL_VIEW || v.kind == VAL_ITERATOR)
        return elab_fail(e, span, elab_object_leaves,
                         moves ? "a dictionary of run-time values" : elab_type_text(e, v));
    for (uint32_t i = 0; !v.object->is_fixed && i < v.object->count; i++)
        if (val_failed(leave(e, span, v.object->items[i])))
            return val_error();
    v.object->is_fixed = true;
    return v;
}

Val object_leave(Elab *e, Span span, Val v) {
    if (!holds_object(v))
        return v;
    return object_measure(e, span, v) ? leave(e, span, v) : val_error();
}

Val object_tuples(Elab *e, Val v) {
    if (!holds_object(v) || (v.kind != VAL_TUPLE && v.kind != VAL_LIST))
        return v;
    const bool is_tuple = v.kind == VAL_TUPLE;
    const uint32_t count = is_tuple ? v.tuple.count : v.object->count;
    Val *items = ARENA_ARRAY(e->arena, Val, (size_t)count + 1);
    for (uint32_t i = 0; i < count; i++)
        items[i] = object_tuples(e, is_tuple ? v.tuple.items[i] : v.object->items[i]);
    return val_tuple_of(is_tuple ? v.tuple.record : NULL, items, count);
}
