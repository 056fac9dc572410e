#include "runtime/status.h"

/* Zero (TILE_OK) for the ids that status.def does not list. */
static const tile_status status_table[DIAG_COUNT] = {
#define STATUS_OF(id, status) [DIAG_##id] = status,
#include "runtime/status.def"
};

tile_status status_of(const Diags *diags) {
    for (const Diagnostic *d = diags->first; d; d = d->next)
        if (d->severity == SEV_ERROR)
            return status_table[d->id] != TILE_OK ? status_table[d->id] : TILE_ERROR_SOURCE;
    return TILE_OK;
}

const char *tile_status_name(tile_status status) {
    switch (status) {
#define TILE_STATUS_CASE(name, value, text)                                                        \
    case name:                                                                                     \
        return text;
        TILE_STATUSES(TILE_STATUS_CASE)
    }
    return "unknown status";
}
