/* What a warp does in one turn of an innermost loop, by the clock: for pictures of it. */
#ifndef TILEC_SIM_TIME_TURNS_H
#define TILEC_SIM_TIME_TURNS_H
#include "sim/state/warp.h"
#include "sim/time/cost.h"

/* An instruction of a warp that was issued; clocks of the program. */
typedef struct TimeEvent {
    uint32_t pc;
    double ready;   /* when its operands are there; placed: when it begins */
    double issues;  /* clocks of the warp's issue slot */
    double busy;    /* clocks of its unit */
    double end;     /* when its result is there, or what it started has ended */
    double replays; /* clocks of its unit that bank conflicts are */
    TimeUnit unit;
    bool waits; /* it held the warp up from `ready` to `end` */
} TimeEvent;

typedef VEC(TimeEvent) TimeEvents;

/* The window of a warp: what it has issued since it last went back in a loop. */
typedef struct TimeWindow {
    TimeEvents events;
    size_t stretch;  /* where the stretch that it is in begins */
    uint32_t branch; /* that it went back by; NO_PC: none */
    double start;
} TimeWindow;

/* A loop of which some turn is kept: that of a number which is a power of 2, and the one before. */
typedef struct TimeTurn {
    uint32_t branch, warp, program;
    uint64_t turns; /* so far */
    struct {
        uint64_t number;
        double start, clocks;
        TimeEvents events;
    } kept[2];
} TimeTurn;

typedef struct TimeTurns {
    Arena *arena;
    VEC(TimeTurn) loops;
    bool done; /* a cluster was recorded */
} TimeTurns;

/* Notes what the warp issues. */
void turns_note(TimeTurns *turns, TimeWindow *window, TimeEvent event);
/* The stretch took from `start` to `end`: its instructions follow each other in their units. */
void turns_place(TimeWindow *window, double start, double end);
/* The warp is at a branch back at `now`, and goes back if `taken`. */
void turns_back(TimeTurns *turns, TimeWindow *window, bool taken, const Warp *warp, double now);
/* One turn of each loop that was kept. */
const SimTurn *turns_tell(const TimeTurns *turns, Arena *arena, uint32_t *count);
#endif
