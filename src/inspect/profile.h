/* What the simulator counted of a launch, and its clock predicts: by line of the source and by line
 * of the PTX. */
#ifndef TILEC_INSPECT_PROFILE_H
#define TILEC_INSPECT_PROFILE_H
#include "inspect/trace.h"

typedef struct ProfileLine {
    TracePlace at;     /* of the source; file 0: none is known */
    uint32_t ptx_line; /* of the PTX; 0: all of a line of the source */
    Str text;          /* of the PTX: the instruction, and what it is counted as */
    const char *class;
    SimCount count;
    SimSpent spent;                /* zeros without a clock */
    SimUnits units;                /* likewise: what all warps of a program occupy there */
    const SimSharedAccess *shared; /* the worst of shared memory; NULL: it has none */
} ProfileLine;

typedef VEC(ProfileLine) ProfileLines;

/* Clocks that an instruction waits for another one, both by line of the PTX. */
typedef struct ProfileWait {
    uint32_t line, maker;
    double cycles;
} ProfileWait;

typedef struct ProfileClass {
    const char *name;
    uint64_t warps;
    double cycles; /* as SimSpent */
} ProfileClass;

/* Instructions of a turn that follow each other, of one kind; clocks since the turn began. */
typedef struct ProfilePiece {
    TraceOpKind kind;
    TracePlace at;
    uint32_t first, last; /* lines of the PTX */
    uint32_t count;
    double from, to;
    double until;      /* what they started has ended, or their results are there */
    double busy;       /* clocks that they occupy their unit */
    double replays;    /* of these clocks what bank conflicts are */
    bool waits;        /* the warp was held up */
    const char *queue; /* they are none: so it was by all warps' work for this unit */
} ProfilePiece;

typedef VEC(ProfilePiece) ProfilePieces;

/* A loop of the PTX, from the branch back on: how often a warp goes around, in the mean of those of
 * the launch, and what it spends in there. */
typedef struct ProfileLoop {
    TracePlace at; /* of the branch */
    double turns, cycles;
    uint32_t head, branch; /* numbers of instructions */
    TracePlaces places;    /* lines that it is made of */
    SimUnits units;        /* that all warps of a program occupy in a turn */
    double wavefronts;     /* of those of shared memory and L1 */
    double replays;        /* of these what bank conflicts are */
    double queued; /* clocks of a turn that units are busy beyond the program's end by latency */
    uint32_t queued_for;  /* the instruction that most of them are of */
    const SimTurn *turn;  /* one of a warp; NULL: none was kept */
    double turn_clocks;   /* of it, with `queued` */
    ProfilePieces pieces; /* of it */
} ProfileLoop;

typedef struct Profile {
    uint32_t grid[3];
    bool has_time; /* the clock has run */
    SimTime time;
    VEC(ProfileClass) classes;
    SimTraffic read, written;
    ProfileLines lines;     /* by file and line; executed ones */
    ProfileLines ptx;       /* by line */
    VEC(ProfileWait) waits; /* the longest first */
    VEC(ProfileLoop) loops;
    SimCount sum;
    double cycles; /* of a warp, at all instructions */
} Profile;

/* Of a launch that was counted. `time`: NULL, or its prediction with what each instruction takes.
 * Lies in the arena of the context. */
Profile *profile_make(Ctx *ctx, const SimModule *module, const SimCounts *counts,
                      const SimTime *time, const uint32_t grid[3]);
/* Notes the loop of that branch back. A part of profile_make. */
void profile_add_loop(Arena *arena, Profile *profile, const SimModule *module,
                      const SimCounts *counts, const SimTime *time, uint32_t branch);
void profile_add_turn(Arena *arena, const SimModule *module, const SimTime *time,
                      ProfileLoop *loop);
/* The text of an instruction from its name on, without its guard. */
Str profile_opcode(Str text);
/* What a loop of the Tile IR became, where a warp spends most of it; NULL: none was run. */
const ProfileLoop *profile_loop(const Profile *profile, Ctx *ctx, const Op *loop);
#endif
