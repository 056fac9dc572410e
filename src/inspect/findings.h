/* What the files that find things share. Private to findings*.c. */
#ifndef TILEC_INSPECT_FINDINGS_H
#define TILEC_INSPECT_FINDINGS_H
#include "inspect/report.h"
#include "target/machine.h"

typedef enum FindingKind {
#define FINDING(id, ...) FINDING_##id,
#include "inspect/findings.def"
    FINDING_COUNT
} FindingKind;

typedef struct Finder Finder;

/* A row of the table. */
typedef struct FindingInfo {
    const char *name, *title, *why, *remedy;
    void (*find)(Finder *f);
} FindingInfo;

/* What the launch would have less without a finding: in all, and the part of the work of each
 * instruction of the profile's `ptx` and clocks of waiting for it. */
typedef struct FindingSaving {
    SimSaving all;
    double *busy, *waits;
} FindingSaving;

struct Finder {
    const Trace *trace;
    const Profile *profile; /* NULL: nothing was run */
    Arena *arena;
    Findings *found;
    FindingKind kind; /* that is looked for, and its row */
    const FindingInfo *info;
    double total;         /* clocks of a warp; 0: no clock has run */
    SimSaving saving;     /* what the launch would have less without what is added next */
    FindingSaving *saved; /* likewise, by instruction; NULL: of none */
    double programs;      /* of the launch, at least 1 */
    bool must_gain;       /* what is added next is no finding unless the launch gains by it */
};

#define FINDING(id, ...) void find_##id(Finder *f);
#include "inspect/findings.def"

/* Adds a finding of the kind that is looked for, with the row's texts; `figures` as printf takes
 * them. `cycles` are its share of a warp's clocks; what the launch gains without it is told by
 * f->saving, which is forgotten then. NULL where both are too little to be worth a word. */
Finding *finding_add(Finder *f, TracePlace at, double cycles, const char *figures, ...)
    __attribute__((format(printf, 4, 5)));
const char *finding_name(FindingKind kind);
/* The figure of the kernel's target. */
double finding_figure(const Finder *f, Figure figure);
/* In percent of all clocks. */
double finding_percent(const Finder *f, double cycles);
/* Adds to f->saving what an instruction of the PTX takes: `busy` of the units that it occupies and
 * of its clocks there, and the clocks that `waits` are. */
void finding_save(Finder *f, const ProfileLine *ptx, double busy, double waits);
FindingSaving *finding_saving_new(const Finder *f);
/* What the launch would have less without both. */
SimSaving finding_both(const Finder *f, const FindingSaving *a, const FindingSaving *b);
/* The same of all instructions of a line, with what they wait for. */
void finding_save_line(Finder *f, TracePlace at, double part);
/* The clocks of an instruction but for waits, and for those in which only units are busy. */
static inline double finding_busy(const ProfileLine *ptx) {
    return ptx->spent.cycles - ptx->spent.waits - ptx->spent.crowded;
}
/* How much of what an instruction does its finding is about: 0 to 1. */
typedef double FindingPart(const SimCount *count);
/* How many clocks of an instruction's latency its finding is about, in one execution; the rest of
 * it would be there anyway. */
typedef double FindingClocks(const SimCount *count);
/* The clocks that a line's instructions which touch memory take, of each as much as `part` says,
 * and those that others wait for what they give: as much too, or no more than `late` says. That
 * they wait for their own operands is no part of it. */
double finding_cycles_of(const Finder *f, TracePlace at, FindingPart *part, FindingClocks *late);
/* Of these clocks those in which warps had nothing to do but wait for a unit. */
double finding_queued_of(const Finder *f, TracePlace at, FindingPart *part);
/* What is said of them: "" where they are none. */
const char *finding_queue_text(const Finder *f, double queued);
/* The instruction of the line that has the most of it. */
uint32_t finding_worst(const Finder *f, TracePlace at, FindingPart *part);
/* What would not be without a part of the line's passes through shared memory, or of its sectors:
 * the same of the units that they occupy, and of what others wait for them. */
void finding_save_part(Finder *f, TracePlace at, FindingPart *part, FindingClocks *late);
/* The instruction of a line that takes most clocks, of its own and of those who wait for it. */
uint32_t finding_hottest(const Finder *f, TracePlace at);
/* The clocks of all instructions of a line. */
double finding_line_cycles(const Finder *f, TracePlace at);
/* Does that operand of the product come from shared memory that an op of the line reads? */
bool finding_dot_reads(const Finder *f, const TraceDot *dot, uint32_t operand, TracePlace at);
/* The innermost loop of the final Tile IR that has something of the line; NULL: none. */
const TraceLoop *finding_loop_around(const Finder *f, TracePlace at);
/* CTAs of the launch. */
double finding_ctas(const Finder *f);
/* Has the launch more CTAs than SMs hold at once? Else room for more of them changes nothing. True
 * where nothing has run. */
bool finding_fills_device(const Finder *f);
/* What says how many stages the loop has: a constexpr parameter, or num_stages. */
const char *finding_stages_name(const Finder *f, const TraceLoop *loop);
/* The constexpr parameter of the kernel that is that number; empty: none is. The same of a Python
 * literal. */
Str finding_constexpr(const Finder *f, int64_t value);
Str finding_constexpr_text(const Finder *f, const char *literal);
/* Why and what helps where the source itself chooses the banks, by PTX of its own or by indices. */
void finding_own_banks(const Finder *f, Finding *found);
/* Iterations of a warp that goes around the loop, as it ran; 0: that is not known. */
double finding_turns(const Finder *f, const TraceLoop *loop);
/* Is it the rate of memory that the launch waits for, not its latency? */
bool finding_is_bound_by_memory(const Finder *f);
/* What helps where a load of that line is waited for. */
const char *finding_load_advice(const Finder *f, TracePlace at);
/* What helps where copies are waited for `waits` clocks of a warp, in a loop of stages of so many
 * bytes; NULL: nothing is known of the loop. */
const char *finding_copy_advice(const Finder *f, const TraceLoop *loop, int64_t stage_bytes,
                                double waits);
static inline bool finding_is_at(const ProfileLine *line, TracePlace at) {
    return line->at.file == at.file && line->at.line == at.line;
}
#endif
