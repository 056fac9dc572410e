/* A report of a compilation: the object of docs/inspecting.md. */
#ifndef TILEC_INSPECT_REPORT_H
#define TILEC_INSPECT_REPORT_H
#include "inspect/profile.h"

/* A finding by which another one goes away. */
struct FindingCause {
    const char *kind;
    TracePlace at;
};

/* A conclusion from the figures of a report. */
typedef struct Finding {
    const char *kind;  /* its row of findings.def */
    TracePlace at;     /* file 0: of the kernel as a whole */
    uint32_t ptx_line; /* where it shows in the PTX; 0: nowhere */
    const char *title, *figures, *why, *remedy;
    double cycles;             /* of a warp that it takes part of; 0: not known */
    double gain;               /* us that the launch takes less without it, at most; 0: not known */
    const SimTime *left;       /* what it takes then, and why; NULL: not known */
    uint32_t rank;             /* of its row */
    struct FindingCause cause; /* what it is a consequence of; kind NULL: of nothing known */
    uint32_t follows; /* the number of that one, from 1, in the order they are told; 0: none */
    double after;     /* us that it gains when the first of all findings is mended, about */
    bool has_after;   /* that is known */
    const struct FindingSaving *saving; /* NULL: nothing has run */
} Finding;

typedef VEC(Finding) Findings;

/* Of what was measured: an SVG document. */
typedef struct ReportPicture {
    const char *title;
    Str svg;
} ReportPicture;

typedef struct Report {
    const Trace *trace;
    const Profile *profile;       /* NULL: nothing was run */
    const char *label;            /* what tells it from another one; "": nothing */
    const char *const *arguments; /* NAME=DATA, with which it was run */
    size_t argument_count;
    const ReportPicture *pictures;
    size_t picture_count;
    const Diags *diags; /* of the compilation */
    Findings findings;  /* those with most to gain first */
} Report;

/* Microseconds as reports write them. */
double report_hundredths(double us);
/* What the figures show, in the arena of the trace's context. */
Findings findings_make(const Trace *trace, const Profile *profile);

/* The object, or of several an array, as JSON with a newline at its end. The same report gives the
 * same bytes. */
void report_json(const Report *reports, uint32_t count, StrBuf *out);

/* The page: its assets with the JSON in their midst. */
void report_page(const Report *reports, uint32_t count, StrBuf *out);
#endif
