/* See pending.h. */
#include "passes/shared/pending.h"
#include <string.h>

/* Numbers */

static bool same_access(const Pending *a, const Pending *b) {
    return a->global == b->global && a->past == b->past && a->alloc == b->alloc &&
           a->writes == b->writes && a->actor == b->actor && a->own == b->own &&
           a->part == b->part && a->index == b->index && a->ahead == b->ahead &&
           a->released == b->released;
}

static uint64_t mix(uint64_t hash, uint64_t part) {
    hash = (hash ^ part) * 0x9e3779b97f4a7c15u;
    return hash ^ hash >> 29;
}

static size_t hash_of(const Pending *a) {
    uint64_t hash = mix((uintptr_t)a->global, (uintptr_t)a->past);
    hash = mix(mix(hash, (uintptr_t)a->alloc), (uintptr_t)a->own);
    hash = mix(mix(hash, (uintptr_t)a->index), (uint64_t)a->ahead);
    hash = mix(hash, (uint64_t)a->part);
    return (size_t)mix(hash, (uint64_t)a->actor << 2 | (uint64_t)a->writes << 1 | a->released);
}

/* Where the number of the access stands, or may be written. */
static uint32_t *slot_of(const PendingTable *table, const Pending *access) {
    size_t at = hash_of(access) & (table->slot_count - 1);
    while (table->slots[at] && !same_access(&table->all.data[table->slots[at] - 1], access))
        at = (at + 1) & (table->slot_count - 1);
    return &table->slots[at];
}

static void grow_slots(PendingTable *table) {
    table->slot_count = table->slot_count ? 2 * table->slot_count : 64;
    table->slots = ARENA_ARRAY(table->arena, uint32_t, table->slot_count);
    memset(table->slots, 0, table->slot_count * sizeof *table->slots);
    for (uint32_t i = 0; i < table->all.len; i++)
        *slot_of(table, &table->all.data[i]) = i + 1;
}

uint32_t pending_number(PendingTable *table, const Pending *access) {
    if (2 * table->all.len >= table->slot_count)
        grow_slots(table);
    uint32_t *slot = slot_of(table, access);
    if (!*slot) {
        vec_push(table->arena, &table->all, *access);
        vec_push(table->arena, &table->pairs, (PendingPairs){0});
        *slot = (uint32_t)table->all.len;
    }
    return *slot - 1;
}

/* Sets */

bool pending_is_empty(const PendingSet *set) {
    return pending_next(set, 0) < 0;
}

void pending_clear(PendingSet *set) {
    for (size_t i = 0; i < set->len; i++)
        set->words[i] = 0;
}

/* For so many words at least; those that come are zero. */
static void reserve(PendingTable *table, PendingSet *set, size_t words) {
    if (set->len >= words)
        return;
    size_t len = 2 * words;
    uint64_t *grown = ARENA_ARRAY(table->arena, uint64_t, len);
    for (size_t i = 0; i < len; i++)
        grown[i] = i < set->len ? set->words[i] : 0;
    *set = (PendingSet){grown, len};
}

void pending_add(PendingTable *table, PendingSet *set, uint32_t number) {
    reserve(table, set, number / 64 + 1);
    set->words[number / 64] |= (uint64_t)1 << number % 64;
}

bool pending_add_all(PendingTable *table, PendingSet *set, const PendingSet *more) {
    bool grew = false;
    size_t len = more->len;
    while (len && !more->words[len - 1])
        len--;
    reserve(table, set, len);
    for (size_t i = 0; i < len; i++) {
        grew |= (more->words[i] & ~set->words[i]) != 0;
        set->words[i] |= more->words[i];
    }
    return grew;
}

PendingSet pending_copy(PendingTable *table, const PendingSet *set) {
    PendingSet copy = {0};
    if (table->spare.len)
        copy = table->spare.data[--table->spare.len];
    pending_clear(&copy);
    pending_add_all(table, &copy, set);
    return copy;
}

void pending_release(PendingTable *table, PendingSet *set) {
    if (set->len)
        vec_push(table->arena, &table->spare, *set);
    *set = (PendingSet){0};
}

int64_t pending_next(const PendingSet *set, int64_t from) {
    for (size_t i = (size_t)from / 64; i < set->len; i++) {
        uint64_t word = set->words[i];
        if (i == (size_t)from / 64)
            word &= ~(uint64_t)0 << from % 64;
        if (word)
            return (int64_t)i * 64 + __builtin_ctzll(word);
    }
    return -1;
}

/* Conflicts */

/* Rings whose copies lie between each other's. */
static bool take_turns(const Pending *a, const Pending *b) {
    if (a->stride != b->stride)
        return false;
    const Pending *low = a->first < b->first ? a : b, *high = low == a ? b : a;
    int64_t behind = (high->first - low->first) % low->stride;
    return behind >= low->bytes && behind + high->bytes <= low->stride;
}

static bool overlap(const Pending *a, const Pending *b) {
    if (a->alloc == b->alloc && a->own && a->own == b->own && a->part == b->part)
        return false;
    if (a->alloc == b->alloc && a->index && a->index == b->index && a->ahead != b->ahead)
        return false;
    if (a->first < 0 || b->first < 0)
        return a->alloc == b->alloc;
    return a->first < b->end && b->first < a->end && !take_turns(a, b);
}

static bool two_conflict(const PendingTable *table, const Pending *earlier, const Pending *later) {
    if (earlier->global || later->global)
        return earlier->global && later->global &&
               global_accesses_meet(table->global, earlier->global, earlier->past, later->global);
    return (earlier->writes || later->writes) && overlap(earlier, later) &&
           !(earlier->actor == BY_COPIES && later->actor == BY_COPIES) &&
           !(later->released && earlier->actor == BY_WGMMA && earlier->alloc == later->alloc);
}

/* Of those of `unknown`, numbers from 64 * word on, the first that conflicts ends it. */
static bool compare(PendingTable *table, size_t word, uint64_t unknown, uint32_t later) {
    for (; unknown; unknown &= unknown - 1) {
        uint32_t earlier = (uint32_t)(64 * word) + (uint32_t)__builtin_ctzll(unknown);
        bool found = two_conflict(table, &table->all.data[earlier], &table->all.data[later]);
        pending_add(table, &table->pairs.data[later].compared, earlier);
        if (!found)
            continue;
        pending_add(table, &table->pairs.data[later].conflicting, earlier);
        return true;
    }
    return false;
}

bool pending_conflicts(PendingTable *table, const PendingSet *set, uint32_t later) {
    const PendingPairs *pairs = &table->pairs.data[later];
    for (size_t i = 0; i < set->len && i < pairs->conflicting.len; i++)
        if (set->words[i] & pairs->conflicting.words[i])
            return true;
    for (size_t i = 0; i < set->len; i++) {
        uint64_t compared = i < pairs->compared.len ? pairs->compared.words[i] : 0;
        if (compare(table, i, set->words[i] & ~compared, later))
            return true;
    }
    return false;
}
