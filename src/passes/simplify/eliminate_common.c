/* Common subexpressions: of equal ops the one that dominates the others stays.
 *
 * A hash table of the ops seen so far, scoped by regions: leaving a region takes its ops out, so
 * that all that is found dominates the op at hand. Loads count as equal within one memory epoch;
 * any op that may write begins a new one, and so does entering and leaving a loop that writes.
 * Reductions and scans are compared with their regions. */
#include "passes/simplify/simplify.h"
#include "support/vec.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

typedef struct Seen {
    Op *op;
    uint64_t hash, epoch;
    struct Seen *next;
} Seen;

typedef struct Common {
    Arena *arena;
    Seen **buckets; /* a power of two of them */
    size_t mask;
    VEC(Seen *) undo; /* in the order of insertion */
    uint64_t epoch;
    bool changed;
} Common;

/* Two ops whose regions are compared. */
typedef struct Pairing {
    const Op *a, *b;
} Pairing;

static uint64_t mix(uint64_t hash, uint64_t value) {
    return XXH3_64bits_withSeed(&value, sizeof value, hash);
}

static bool is_candidate(const Op *op) {
    if (op_is_load(op))
        return !op_is_volatile(op);
    return op_is_pure(op) && !op_has(op, TERMINATOR);
}

static uint64_t hash_attr(uint64_t hash, AttrKind kind, Attr attr) {
    if (kind == ATTR_STR)
        return mix(hash, (uintptr_t)attr.s.ptr);
    if (kind != ATTR_INTS)
        return mix(hash, (uint64_t)attr.i);
    return XXH3_64bits_withSeed(attr.ints.ptr, attr.ints.len * sizeof *attr.ints.ptr, hash);
}

static uint64_t hash_op(const Op *op) {
    const OpInfo *info = &op_info[op->code];
    uint64_t hash = mix(op->code, op->nin);
    for (uint32_t i = 0; i < op->nout; i++)
        hash = mix(hash, (uintptr_t)op->out[i].type);
    for (uint32_t i = 0; i < (uint32_t)info->attr_count; i++)
        hash = hash_attr(hash, info->attr[i].kind, op_attr(op, i));
    uint64_t operands = 0; /* a sum where the order does not matter */
    for (uint32_t i = 0; i < op->nin; i++) {
        bool swaps = i < 2 && op_has(op, COMMUTES);
        operands += mix(swaps ? 0 : i, (uintptr_t)op_in(op, i));
    }
    return mix(hash, operands);
}

static bool same_attr(AttrKind kind, Attr a, Attr b) {
    if (kind == ATTR_STR)
        return a.s.ptr == b.s.ptr;
    if (kind == ATTR_INTS)
        return a.ints.len == b.ints.len &&
               (a.ints.len == 0 ||
                memcmp(a.ints.ptr, b.ints.ptr, a.ints.len * sizeof *a.ints.ptr) == 0);
    return a.i == b.i; /* floats by their bits: 0.0 and -0.0 differ */
}

bool op_attributes_alike(const Op *a, const Op *b) {
    const OpInfo *info = &op_info[a->code];
    bool same = a->code == b->code && a->nin == b->nin && a->nout == b->nout;
    for (uint32_t i = 0; same && i < (uint32_t)info->attr_count; i++)
        same = same_attr(info->attr[i].kind, op_attr(a, i), op_attr(b, i));
    return same;
}

bool op_is_alike(const Op *a, const Op *b) {
    bool same = op_attributes_alike(a, b);
    for (uint32_t i = 0; same && i < a->nout; i++)
        same = a->out[i].type == b->out[i].type;
    return same;
}

static uint32_t position(const Op *op) {
    uint32_t index = 0;
    for (const Op *before = op->prev; before; before = before->prev)
        index++;
    return index;
}

/* Inside the compared regions: arguments of equal number, results of ops at equal places. */
static bool same_value(const Pairing *pair, const Value *a, const Value *b) {
    if (a == b)
        return value_is_outside(a, pair->a);
    if (value_block(a)->parent != pair->a || value_block(b)->parent != pair->b ||
        a->index != b->index || !a->def != !b->def)
        return false;
    return !a->def || position(a->def) == position(b->def);
}

/* Regions of reduce and scan are short blocks without regions of their own; others count as
 * different. */
bool op_regions_alike(const Op *a, const Op *b) {
    Pairing pair = {a, b};
    for (uint32_t i = 0; i < a->nregions; i++) {
        const Op *x = a->regions[i]->first, *y = b->regions[i]->first;
        for (; x && y; x = x->next, y = y->next) {
            if (!op_is_alike(x, y) || x->nregions)
                return false;
            for (uint32_t k = 0; k < x->nin; k++)
                if (!same_value(&pair, op_in(x, k), op_in(y, k)))
                    return false;
        }
        if (x || y)
            return false;
    }
    return true;
}

static bool same_op(const Op *a, const Op *b) {
    if (!op_is_alike(a, b))
        return false;
    uint32_t first = 0;
    if (op_has(a, COMMUTES) && op_in(a, 0) == op_in(b, 1) && op_in(a, 1) == op_in(b, 0))
        first = 2;
    for (uint32_t i = first; i < a->nin; i++)
        if (op_in(a, i) != op_in(b, i))
            return false;
    return op_regions_alike(a, b);
}

static void remember(Common *c, Op *op, uint64_t hash) {
    Seen *seen = ARENA_NEW(c->arena, Seen), **bucket = &c->buckets[hash & c->mask];
    *seen = (Seen){op, hash, c->epoch, *bucket};
    *bucket = seen;
    vec_push(c->arena, &c->undo, seen);
}

static bool replace_by_seen(Common *c, Op *op, uint64_t hash) {
    for (Seen *seen = c->buckets[hash & c->mask]; seen; seen = seen->next) {
        if (seen->hash != hash || !same_op(seen->op, op) ||
            (op_has(op, READS) && seen->epoch != c->epoch))
            continue;
        Value **to = ARENA_ARRAY(c->arena, Value *, op->nout + 1);
        for (uint32_t i = 0; i < op->nout; i++)
            to[i] = &seen->op->out[i];
        return rewrite_replace_all(op, to);
    }
    return false;
}

static void visit_block(Common *c, Block *block);

static void visit_op(Common *c, Op *op) {
    if (is_candidate(op)) {
        uint64_t hash = hash_op(op);
        if (replace_by_seen(c, op, hash)) {
            c->changed = true;
            return;
        }
        remember(c, op, hash);
    }
    bool writes = (op_effects(op) & (WRITES | SYNC)) != 0;
    if (writes && op->nregions)
        c->epoch++; /* the back edge brings writes to the head of the loop */
    /* The regions of reductions and scans use nothing from outside and are left as they are. */
    for (uint32_t i = 0; i < op->nregions && !op_is_pure(op); i++)
        visit_block(c, op->regions[i]);
    if (writes)
        c->epoch++;
}

static void visit_block(Common *c, Block *block) {
    size_t outer = c->undo.len;
    block_for_each_safe (op, block)
        visit_op(c, op);
    while (c->undo.len > outer) {
        Seen *seen = c->undo.data[--c->undo.len];
        c->buckets[seen->hash & c->mask] = seen->next;
    }
}

bool eliminate_common(Func *func) {
    Arena *arena = &func_ctx(func)->scratch;
    ArenaMark mark = arena_mark(arena);
    size_t count = 64;
    for (uint32_t values = func_number(func); count < values;)
        count *= 2;
    Common c = {.arena = arena, .mask = count - 1};
    c.buckets = ARENA_ARRAY(arena, Seen *, count);
    visit_block(&c, func->body);
    arena_rewind(arena, mark);
    return c.changed;
}
