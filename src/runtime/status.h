/* From diagnostics to the status of a call. */
#ifndef TILEC_RUNTIME_STATUS_H
#define TILEC_RUNTIME_STATUS_H
#include "support/diag.h"
#include "tilec.h"

/* The status that the first error among the diagnostics stands for; TILE_OK without errors. */
tile_status status_of(const Diags *diags);

/* The status that an error stands for. */
tile_status status_of_id(DiagId id);

/* Report that a file cannot be read or written because of `error`, an errno value; false. */
bool report_unreadable(Diags *diags, const char *path, int error);
bool report_unwritable(Diags *diags, const char *path, int error);
#endif
