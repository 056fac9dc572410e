/* Assignments to elements of lists and dictionaries, and operators that change them in place. */
#include "frontend/objects.h"

/* Places that stand one behind the other from `first` on. */
static bool store_range(Elab *e, Span span, Val list, const SlicePlaces *places, const Val *v) {
    const Val *items = NULL;
    uint32_t count = 0;
    if (v && !elab_items(e, span, *v, &items, &count))
        return false;
    return object_splice(e, span, list, (uint32_t)places->first, places->count, items, count);
}

static bool remove_places(Elab *e, Span span, Val list, SlicePlaces places) {
    if (places.step < 0) {
        places.first += places.step * (int64_t)(places.count - 1);
        places.step = -places.step;
    }
    for (uint32_t i = places.count; i-- > 0;)
        if (!object_splice(e, span, list, (uint32_t)(places.first + places.step * (int64_t)i), 1,
                           NULL, 0))
            return false;
    return true;
}

static bool store_slice(Elab *e, Span span, Val list, const Val *slice, const Val *v) {
    SlicePlaces places;
    if (!elab_slice_places(e, span, slice, list.object->count, &places))
        return false;
    if (places.step == 1 || (places.count == 0 && !v))
        return store_range(e, span, list, &places, v);
    if (!v)
        return remove_places(e, span, list, places);
    const Val *items;
    uint32_t count;
    if (!elab_items(e, span, *v, &items, &count))
        return false;
    if (count != places.count) {
        elab_fail(e, span, elab_unpack, places.count, count);
        return false;
    }
    Val *copy = ARENA_ARRAY(e->arena, Val, (size_t)count + 1); /* they may be the list's own */
    if (count)
        memcpy(copy, items, count * sizeof *items);
    for (uint32_t i = 0; i < count; i++)
        if (!object_set_item(e, span, list, (uint32_t)(places.first + places.step * (int64_t)i),
                             copy[i]))
            return false;
    return true;
}

static bool store_key(Elab *e, Span span, Val dict, Val key, const Val *v) {
    uint32_t at;
    if (v)
        return object_set_key(e, span, dict, key, *v);
    if (!object_may_change(e, span, dict) || !object_find(e, span, dict, key, &at))
        return false;
    if (at == dict.object->count) {
        elab_fail(e, span, elab_no_key, val_text(e->arena, key));
        return false;
    }
    object_remove_key(dict, at);
    return true;
}

bool object_store(Elab *e, Span span, Val base, Val index, const Val *v) {
    uint32_t at;
    if (base.kind == VAL_DICT)
        return store_key(e, span, base, index, v);
    if (base.kind != VAL_LIST) {
        elab_fail(e, span, elab_not_subscriptable, elab_type_text(e, base));
        return false;
    }
    if (index.kind == VAL_SLICE)
        return store_slice(e, span, base, index.slice, v);
    if (!elab_index_place(e, span, index, base.object->count, &at))
        return false;
    return v ? object_set_item(e, span, base, at, *v)
             : object_splice(e, span, base, at, 1, NULL, 0);
}

/* list += .., list *= .., dict |= .. */
bool object_update(Elab *e, Span span, AstOperator op, Val a, Val b, Val *out) {
    const Val *items;
    uint32_t count;
    if (a.kind == VAL_LIST && op == ASTOP_add) {
        const bool ok = elab_items(e, span, b, &items, &count) &&
                        object_splice(e, span, a, a.object->count, 0, items, count);
        *out = ok ? a : val_error();
        return true;
    }
    if (a.kind == VAL_LIST && op == ASTOP_mul) {
        const Val product = elab_binary(e, span, op, a, b);
        const bool ok =
            !val_failed(product) && object_splice(e, span, a, 0, a.object->count,
                                                  product.object->items, product.object->count);
        *out = ok ? a : val_error();
        return true;
    }
    if (a.kind != VAL_DICT || b.kind != VAL_DICT || op != ASTOP_bitor)
        return false;
    *out = a;
    for (uint32_t i = 0; i < b.object->count; i++)
        if (!object_set_key(e, span, a, b.object->keys[i], b.object->items[i]))
            *out = val_error();
    return true;
}
