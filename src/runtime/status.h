/* From diagnostics to the status of a call. */
#ifndef TILEC_RUNTIME_STATUS_H
#define TILEC_RUNTIME_STATUS_H
#include "support/diag.h"
#include "tilec.h"

/* The status that the first error among the diagnostics stands for; TILE_OK without errors. */
tile_status status_of(const Diags *diags);
#endif
