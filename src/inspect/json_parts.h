/* The report as JSON, in files: what they share. Private to json*.c. */
#ifndef TILEC_INSPECT_JSON_PARTS_H
#define TILEC_INSPECT_JSON_PARTS_H
#include "inspect/report.h"

typedef struct Writer {
    const Report *report;
    Ctx *ctx;
    StrBuf *out;
    VEC(uint32_t) sources; /* files of the context, in the order of their first mention */
    VEC(uint32_t) numbers; /* by file: its place in `sources`, + 1 */
} Writer;

/* The number that the report gives a source. */
uint32_t json_source(Writer *w, uint32_t file);
void json_place(Writer *w, TracePlace at);
void json_places(Writer *w, const TracePlaces *places);
void json_text(Writer *w, const char *name, const char *text);
/* A number of clocks and the like, which no reader wants to the last digit. */
void json_real(Writer *w, double value);
void json_clocks(Writer *w, const char *name, double clocks);

/* The unit that wavefronts take clocks of, and lines of L1. */
static inline bool json_is_shared(unsigned unit) {
    return !strcmp(sim_unit_name(unit), trace_unit_name[TRACE_SHARED]);
}

/* json_loops.c */

void json_loops(Writer *w);

/* json_profile.c */

/* A time, its least times, and the parts that it is the sum of, as they are written. */
void json_time(Writer *w, const SimTime *time);
void json_profile(Writer *w);
#endif
