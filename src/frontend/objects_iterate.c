/* Going through values: tuples, strings, and objects, which others may change meanwhile. */
#include "frontend/objects.h"

bool iteration_start(Elab *e, Span span, Val v, Iteration *out) {
    if (val_failed(v))
        return false;
    const bool is_text = v.kind == VAL_STRING && e->frame->host;
    if (!is_text && !val_is_object(v) && (v.kind != VAL_TUPLE || val_is_aggregate(v))) {
        elab_fail(e, span, elab_not_iterable, elab_type_text(e, v));
        return false;
    }
    for (size_t i = 0; is_text && i < v.s.len; i++) {
        if ((unsigned char)v.s.ptr[i] >= 0x80) {
            elab_fail(e, span, elab_text_ascii, "going through a string");
            return false;
        }
    }
    const Object *dict = v.kind == VAL_DICT ? v.object : v.kind == VAL_VIEW ? v.object->of : NULL;
    *out = (Iteration){.of = v, .resizes = dict ? dict->resizes : 0};
    return true;
}

/* 1: there was one; 0: the end; -1: reported. */
static int next_of(Elab *e, Span span, Val v, int64_t at, Val *item);

static int next_of_iterator(Elab *e, Span span, Object *iterator, Val *item) {
    const int64_t at = iterator->next;
    if (iterator->form == ITERATOR_REVERSED) {
        const Val of = iterator->items[0];
        iterator->next -= at >= 0;
        return at < 0 ? 0 : next_of(e, span, of, at, item);
    }
    const bool counts = iterator->form == ITERATOR_ENUMERATE;
    Val *parts = ARENA_ARRAY(e->arena, Val, (size_t)iterator->count + 1);
    uint32_t n = 0;
    if (counts)
        parts[n++] = iterator->items[1];
    for (uint32_t i = 0; i < (counts ? 1 : iterator->count); i++) {
        const int found = next_of(e, span, iterator->items[i], at, &parts[n++]);
        if (found != 1)
            return found;
    }
    iterator->next++;
    if (counts)
        iterator->items[1] = static_binary(e, span, ASTOP_add, iterator->items[1], val_int(1));
    *item = val_tuple(parts, n);
    return n > 0;
}

static int next_of_dict(Elab *e, const Object *dict, ViewOf view, int64_t at, Val *item) {
    if (at >= dict->count)
        return 0;
    Val *pair = ARENA_ARRAY(e->arena, Val, 2);
    pair[0] = dict->keys[at];
    pair[1] = dict->items[at];
    *item = view == VIEW_ITEMS ? val_tuple(pair, 2) : pair[view == VIEW_VALUES];
    return 1;
}

static int next_of(Elab *e, Span span, Val v, int64_t at, Val *item) {
    switch ((int)v.kind) {
    case VAL_TUPLE:
        if (at >= v.tuple.count)
            return 0;
        *item = v.tuple.items[at];
        return 1;
    case VAL_STRING:
        if (at >= (int64_t)v.s.len)
            return 0;
        *item = val_string((Str){v.s.ptr + at, 1});
        return 1;
    case VAL_LIST:
        if (at >= v.object->count)
            return 0;
        *item = v.object->items[at];
        return 1;
    case VAL_DICT:
        return next_of_dict(e, v.object, VIEW_KEYS, at, item);
    case VAL_VIEW:
        return next_of_dict(e, v.object->of, v.object->view, at, item);
    default:
        return elab_spend(e, span, 1) ? next_of_iterator(e, span, v.object, item) : -1;
    }
}

bool iteration_next(Elab *e, Span span, Iteration *iteration, Val *item) {
    const Val v = iteration->of;
    const Object *dict = v.kind == VAL_DICT ? v.object : v.kind == VAL_VIEW ? v.object->of : NULL;
    if (dict && dict->resizes != iteration->resizes) {
        elab_fail(e, span, elab_dict_changed);
        elab_hint(e, "go through a copy of its keys: list(d)");
        return false;
    }
    return next_of(e, span, v, iteration->next++, item) == 1;
}

bool iteration_items(Elab *e, Span span, Val v, const Val **items, uint32_t *count) {
    Iteration iteration;
    if (!iteration_start(e, span, v, &iteration))
        return false;
    if (v.kind == VAL_TUPLE) {
        *items = v.tuple.items;
        *count = v.tuple.count;
        return true;
    }
    VEC(Val) all = {0};
    const unsigned errors = e->ctx->diags.errors;
    for (Val item; iteration_next(e, span, &iteration, &item);) {
        vec_push(e->arena, &all, item);
        if (all.len > MAX_STATIC_ITERATIONS) {
            elab_fail(e, span, elab_too_many_items, MAX_STATIC_ITERATIONS);
            return false;
        }
    }
    *items = all.data;
    *count = (uint32_t)all.len;
    return errors == e->ctx->diags.errors;
}
