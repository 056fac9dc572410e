/* Who accessed global memory last, and what orders it. */
#ifndef TILEC_SIM_CHECK_GLOBAL_H
#define TILEC_SIM_CHECK_GLOBAL_H
#include "sim/state/machine.h"
#include "sim/state/vector_clock.h"

/* An access to a piece of global memory. */
typedef struct GlobalMark {
    uint32_t program; /* number + 1; 0: none */
    uint32_t epoch;   /* of the thread's warp */
    uint32_t pc;
    uint16_t thread : 11;
    uint16_t strong : 1;        /* for other programs too */
    uint16_t strong_inside : 1; /* for the threads of its program */
    uint16_t several : 1;       /* of the lanes of its warp read in that epoch */
    uint16_t by_proxy : 1;
} GlobalMark;

/* The last accesses to a piece: GLOBAL_PIECE bytes, or a part of them once an access was to that
 * part alone. Writes by threads of one program of what was there already leave the write that came
 * first, since who is behind any of them finds the value; the last of them stands beside it, since
 * who writes something else must be behind all. */
typedef struct GlobalCell {
    GlobalMark write, again;
    union {
        GlobalMark reads[2];      /* of different warps, the newer one last */
        struct GlobalCell *parts; /* of a quarter of the bytes each */
    };
    uint32_t same_warps, same_lanes; /* that have written the value that is there */
    uint32_t write_fences;           /* the program's proxy fences when a thread wrote it */
    bool is_pending;                 /* a bulk copy writes it that no wait has covered yet */
    bool is_split;
} GlobalCell;
enum { GLOBAL_PIECE = 16, GLOBAL_PARTS = 4 };

/* What a program has made known of one of its warps, and since when. */
typedef struct Publication {
    uint64_t time;
    ClockEntry known;
} Publication;
typedef struct Publications {
    Publication *data; /* ascending by time and by what is known */
    size_t len, cap;
} Publications;

/* When something was last published at a word of global memory. */
typedef struct SyncWord {
    uint64_t address; /* 0: a free place of the hash table */
    uint64_t time;
} SyncWord;

/* Machines of a launch share it. */
struct GlobalOrder {
    GlobalCell **cells;       /* by allocation; made when it is first touched */
    Publications **published; /* by program, then warp; NULL until the first one */
    SyncWord *sync_words;     /* a hash table of `sync_cap`, a power of two */
    size_t sync_count, sync_cap;
    uint64_t time; /* counts publications */
};
#endif
