/* Subscripts: constant indices and slices of tuples, lists and strings, keys of dictionaries; `:`
 * and None on tiles. */
#include "frontend/objects.h"

bool elab_items(Elab *e, Span span, Val v, const Val **items, uint32_t *count) {
    return iteration_items(e, span, v, items, count);
}

/* A bound of a slice within the elements there are. */
static Wide clamp_bound(Val v, Wide fallback, Wide lowest, Wide highest, Wide n) {
    if (v.kind == VAL_NONE)
        return fallback;
    const Wide i = v.i < 0 ? v.i + n : v.i;
    return i < lowest ? lowest : i > highest ? highest : i;
}

bool elab_slice_places(Elab *e, Span span, const Val *slice, uint32_t n, SlicePlaces *out) {
    for (int i = 0; i < 3; i++) {
        if (slice[i].kind != VAL_NONE && slice[i].kind != VAL_INT && slice[i].kind != VAL_BOOL) {
            elab_fail(e, span, elab_index, elab_type_text(e, slice[i]), "a constexpr int");
            return false;
        }
    }
    const Wide step = slice[2].kind == VAL_NONE ? 1 : slice[2].i;
    if (step == 0) {
        elab_fail(e, span, elab_index, "a slice with the step 0", "another step");
        return false;
    }
    const Wide lowest = step < 0 ? -1 : 0, highest = step < 0 ? (Wide)n - 1 : (Wide)n;
    const Wide lo = clamp_bound(slice[0], step < 0 ? highest : lowest, lowest, highest, n);
    const Wide hi = clamp_bound(slice[1], step < 0 ? lowest : highest, lowest, highest, n);
    const Wide distance = step < 0 ? lo - hi : hi - lo, stride = step < 0 ? -step : step;
    const Wide most = stride > n ? (Wide)n + 1 : stride;
    out->count = distance > 0 ? (uint32_t)((distance - 1) / most) + 1 : 0;
    out->first = (int64_t)lo;
    out->step = (int64_t)(step < 0 ? -most : most);
    return true;
}

bool elab_index_place(Elab *e, Span span, Val index, uint32_t n, uint32_t *out) {
    Wide i;
    if (!val_known_int(index, &i)) {
        elab_fail(e, span, elab_index, elab_type_text(e, index), "a constexpr int");
        return false;
    }
    if (i < -(Wide)n || i >= n) {
        elab_fail(e, span, elab_index_range, (long long)i, (unsigned)n);
        return false;
    }
    *out = (uint32_t)(i < 0 ? i + n : i);
    return true;
}

/* Of a tuple or a list. */
static Val index_sequence(Elab *e, Span span, Val base, Val index) {
    const bool is_list = base.kind == VAL_LIST;
    const Val *items = is_list ? base.object->items : base.tuple.items;
    const uint32_t n = is_list ? base.object->count : base.tuple.count;
    SlicePlaces places;
    uint32_t at;
    if (index.kind != VAL_SLICE)
        return elab_index_place(e, span, index, n, &at) ? items[at] : val_error();
    if (!elab_slice_places(e, span, index.slice, n, &places))
        return val_error();
    Val *taken = ARENA_ARRAY(e->arena, Val, (size_t)places.count + 1);
    for (uint32_t i = 0; i < places.count; i++)
        taken[i] = items[places.first + places.step * (int64_t)i];
    return is_list ? object_sequence(e, span, taken, places.count) : val_tuple(taken, places.count);
}

static Val index_text(Elab *e, Span span, Str text, Val index) {
    SlicePlaces places;
    uint32_t at;
    if (index.kind != VAL_SLICE)
        return elab_index_place(e, span, index, (uint32_t)text.len, &at)
                   ? val_string((Str){text.ptr + at, 1})
                   : val_error();
    for (size_t i = 0; i < text.len; i++)
        if ((unsigned char)text.ptr[i] >= 0x80)
            return elab_fail(e, span, elab_text_ascii, "a slice of a string");
    if (!elab_slice_places(e, span, index.slice, (uint32_t)text.len, &places))
        return val_error();
    char *out = ARENA_ARRAY(e->arena, char, (size_t)places.count + 1);
    for (uint32_t i = 0; i < places.count; i++)
        out[i] = text.ptr[places.first + places.step * (int64_t)i];
    return val_string((Str){out, places.count});
}

static Val index_dict(Elab *e, Span span, Val dict, Val key) {
    uint32_t at;
    if (!object_find(e, span, dict, key, &at))
        return val_error();
    return at < dict.object->count ? dict.object->items[at]
                                   : elab_fail(e, span, elab_no_key, val_text(e->arena, key));
}

static bool is_full_slice(Val v) {
    return v.kind == VAL_SLICE && v.slice[0].kind == VAL_NONE && v.slice[1].kind == VAL_NONE &&
           v.slice[2].kind == VAL_NONE;
}

/* Puts the `:` that it stands for in the place of a `...`. */
static bool spread_ellipsis(Elab *e, Span span, Val base, const Val **items, uint32_t *count) {
    static const Val all[3] = {{.kind = VAL_NONE}, {.kind = VAL_NONE}, {.kind = VAL_NONE}};
    uint32_t named = 0, ellipses = 0;
    for (uint32_t i = 0; i < *count; i++) {
        ellipses += (*items)[i].kind == VAL_ELLIPSIS;
        named += is_full_slice((*items)[i]);
    }
    if (ellipses == 0)
        return true;
    const uint32_t rank = val_has_shape(base) ? (uint32_t)val_ir_type(base)->rank : 0;
    if (ellipses > 1 || named > rank) {
        elab_fail(e, span, elab_too_many_indices, named + ellipses, elab_type_text(e, base));
        return false;
    }
    Val *spread = ARENA_ARRAY(e->arena, Val, *count + rank);
    uint32_t n = 0;
    for (uint32_t i = 0; i < *count; i++) {
        if ((*items)[i].kind != VAL_ELLIPSIS)
            spread[n++] = (*items)[i];
        for (uint32_t d = named; (*items)[i].kind == VAL_ELLIPSIS && d < rank; d++)
            spread[n++] = (Val){.kind = VAL_SLICE, .slice = all};
    }
    *items = spread;
    *count = n;
    return true;
}

static Val index_tile(Elab *e, Span span, Val base, Val index) {
    const Val *items = &index;
    uint32_t count = 1;
    if (index.kind == VAL_TUPLE) {
        items = index.tuple.items;
        count = index.tuple.count;
    }
    Val v = base;
    uint32_t kept = 0;
    if (!spread_ellipsis(e, span, base, &items, &count))
        return val_error();
    for (uint32_t i = 0; i < count; i++)
        kept += is_full_slice(items[i]);
    if (val_has_shape(base) && kept > (uint32_t)val_ir_type(base)->rank)
        return elab_fail(e, span, elab_too_many_indices, kept, elab_type_text(e, base));
    for (uint32_t i = 0; i < count; i++) {
        if (items[i].kind == VAL_NONE) {
            if (val_ir_type(v)->rank == MAX_RANK)
                return elab_fail(e, span, elab_rank, MAX_RANK);
            v = op_expand_dims(e, v, val_has_shape(v) ? (int)i : 0);
        } else if (!is_full_slice(items[i])) {
            elab_fail(e, span, elab_tile_index, elab_type_text(e, items[i]));
            elab_hint(
                e,
                "tiles take only `:` and None; pick elements with tl.sum(tl.where(index == i, x, "
                "0)), rows by loading with other pointers");
            return val_error();
        }
    }
    return v;
}

Val elab_subscript(Elab *e, const Expr *expr, Val base, Val index) {
    Span span = expr->span;
    if (base.kind == VAL_LIST || (base.kind == VAL_TUPLE && !val_is_aggregate(base)))
        return index_sequence(e, expr->u.subscript.index->span, base, index);
    if (base.kind == VAL_TILE)
        return index_tile(e, span, base, index);
    if (base.kind == VAL_STRING)
        return index_text(e, expr->u.subscript.index->span, base.s, index);
    if (base.kind == VAL_DICT)
        return index_dict(e, expr->u.subscript.index->span, base, index);
    return elab_fail(e, span, elab_not_subscriptable, elab_type_text(e, base));
}
