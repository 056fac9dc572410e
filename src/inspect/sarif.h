/* Diagnostics as SARIF 2.1.0 (OASIS), which code hosts, editors and dashboards read.
 *
 * One run of the tool. A message of a source is a result: `ruleId` is its id in diags.def, notes
 * with places are related locations, a hint that names what to write instead of the words at the
 * message's place is a fix. What kept a file from being looked at is a notification. Columns count
 * Unicode characters from 1; the same diagnostics give the same bytes on every machine. */
#ifndef TILEC_INSPECT_SARIF_H
#define TILEC_INSPECT_SARIF_H
#include "support/diag.h"

/* A file that was looked at. */
typedef struct SarifFile {
    Str path;
    const Diags *diags;
    bool unread; /* it could not be looked at: its errors say nothing of its content */
} SarifFile;

typedef struct SarifRun {
    const char *version;     /* of tilec, "1.2.3" */
    const char *information; /* where it is described, a URL; NULL or "": nowhere */
    Str folder;              /* the working directory, absolute: paths below it are written
                                relative to it, others from the root */
    const SarifFile *files;
    size_t file_count;
    int exit_code;
} SarifRun;

/* The log file as text, with a newline behind it; temporaries lie in the buffer's arena. */
void sarif_add(const SarifRun *run, StrBuf *out);
#endif
