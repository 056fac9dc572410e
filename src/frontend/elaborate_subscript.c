/* Subscripts: constant indices and slices of tuples and strings; `:` and None on tiles. */
#include "frontend/elaborate.h"

bool elab_items(Elab *e, Span span, Val v, const Val **items, uint32_t *count) {
    if (val_failed(v))
        return false;
    if (v.kind != VAL_TUPLE || val_is_aggregate(v)) {
        elab_fail(e, span, elab_not_iterable, elab_type_text(e, v));
        return false;
    }
    *items = v.tuple.items;
    *count = v.tuple.count;
    return true;
}

static Val clamp_bound(Val v, Wide fallback, Wide n) {
    Wide i = v.kind == VAL_NONE ? fallback : v.i;
    if (v.kind != VAL_NONE && i < 0)
        i += n;
    return val_int(i < 0 ? 0 : i > n ? n : i);
}

static Val slice_tuple(Elab *e, Span span, Val base, const Val *slice) {
    for (int i = 0; i < 3; i++)
        if (slice[i].kind != VAL_NONE && slice[i].kind != VAL_INT)
            return elab_fail(e, span, elab_index, elab_type_text(e, slice[i]), "a constexpr int");
    Wide n = base.tuple.count, step = slice[2].kind == VAL_NONE ? 1 : slice[2].i;
    if (step != 1)
        return elab_fail(e, span, elab_index, "a slice with a step", "start:stop");
    Wide lo = clamp_bound(slice[0], 0, n).i, hi = clamp_bound(slice[1], n, n).i;
    uint32_t count = hi > lo ? (uint32_t)(hi - lo) : 0;
    return val_tuple(base.tuple.items + (count ? lo : 0), count);
}

static Val index_tuple(Elab *e, Span span, Val base, Val index) {
    if (index.kind == VAL_SLICE)
        return slice_tuple(e, span, base, index.slice);
    Wide i;
    if (!val_known_int(index, &i))
        return elab_fail(e, span, elab_index, elab_type_text(e, index), "a constexpr int");
    Wide n = base.tuple.count;
    if (i < -n || i >= n)
        return elab_fail(e, span, elab_index_range, (long long)i, (unsigned)base.tuple.count);
    return base.tuple.items[i < 0 ? i + n : i];
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
    if (base.kind == VAL_TUPLE && !val_is_aggregate(base))
        return index_tuple(e, expr->u.subscript.index->span, base, index);
    if (base.kind == VAL_TILE)
        return index_tile(e, span, base, index);
    Wide i;
    if (base.kind == VAL_STRING && val_known_int(index, &i)) {
        Wide n = (Wide)base.s.len;
        if (i < -n || i >= n)
            return elab_fail(e, span, elab_index_range, (long long)i, (unsigned)base.s.len);
        return val_string((Str){base.s.ptr + (i < 0 ? i + n : i), 1});
    }
    return elab_fail(e, span, elab_not_subscriptable, elab_type_text(e, base));
}
