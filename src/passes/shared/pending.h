/* Accesses that no barrier has ordered yet, and sets of them.
 *
 * Each access has a number, equal ones the same, and a set has a bit for each: sets are copied and
 * joined wherever control flow parts and meets. Whether two conflict is found out once. Of
 * place-barriers. */
#ifndef TILEC_PASSES_SHARED_PENDING_H
#define TILEC_PASSES_SHARED_PENDING_H
#include "passes/analysis/global_access.h"
#include "support/vec.h"

/* By what: instructions of threads, wgmma, or tensor copies, which one thread issues in order. */
typedef enum Actor { BY_THREADS, BY_WGMMA, BY_COPIES } Actor;

typedef struct Pending {
    const GlobalAccess *global; /* of global memory; NULL: of shared memory, as below */
    const Op *past;             /* see global_accesses_meet */
    const Op *alloc;
    int64_t first, end;    /* bytes */
    int64_t bytes, stride; /* of one copy, and from one to the next */
    bool writes;
    Actor actor;
    const Layout *own; /* where each thread has elements of its own, these; else NULL */
    int64_t part;      /* of the tile in that layout: its first element */
    /* One copy of a ring, index + ahead; NULL: any. Of two with one index their distance is known
     * as long as it has one value: within an iteration. */
    const Value *index;
    int64_t ahead;
    bool released; /* a copy that waited until products that read the buffer gave it back */
} Pending;

typedef struct PendingSet {
    uint64_t *words; /* a bit for each number */
    size_t len;
} PendingSet;

/* What is known of an access and those that may be pending before it. */
typedef struct PendingPairs {
    PendingSet compared, conflicting;
} PendingPairs;

/* Begins with the arena and the accesses to global memory. */
typedef struct PendingTable {
    Arena *arena;
    GlobalAccesses *global;
    VEC(Pending) all;        /* by number */
    VEC(PendingPairs) pairs; /* likewise, as the later one */
    uint32_t *slots;         /* numbers + 1 by hash; 0: free */
    size_t slot_count;       /* a power of two, or 0 */
    VEC(PendingSet) spare;   /* storage of sets that are done with */
} PendingTable;

/* From 0. */
uint32_t pending_number(PendingTable *table, const Pending *access);

bool pending_is_empty(const PendingSet *set);
void pending_clear(PendingSet *set);
void pending_add(PendingTable *table, PendingSet *set, uint32_t number);
/* True if it grew. */
bool pending_add_all(PendingTable *table, PendingSet *set, const PendingSet *more);
PendingSet pending_copy(PendingTable *table, const PendingSet *set);
/* The set is done with. */
void pending_release(PendingTable *table, PendingSet *set);

/* The first number in the set from `from` on; -1: there is none. */
int64_t pending_next(const PendingSet *set, int64_t from);
#define pending_for_each(number, set)                                                              \
    for (int64_t number = pending_next((set), 0); number >= 0;                                     \
         number = pending_next((set), number + 1))

/* Does access `later` conflict with one that is pending? */
bool pending_conflicts(PendingTable *table, const PendingSet *set, uint32_t later);
#endif
