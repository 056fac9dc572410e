/* Statuses: their texts, and which diagnostics stand for which. */
#include "runtime/status.h"

#include "support/file.h"

#include <errno.h>

/* Zero (TILE_OK) for the ids that status.def does not list. */
static const tile_status status_table[DIAG_COUNT] = {
#define STATUS_OF(id, status) [DIAG_##id] = status,
#include "runtime/status.def"
};

tile_status status_of_id(DiagId id) {
    return status_table[id] != TILE_OK ? status_table[id] : TILE_ERROR_SOURCE;
}

tile_status status_of(const Diags *diags) {
    for (const Diagnostic *d = diags->first; d; d = d->next)
        if (d->severity == SEV_ERROR)
            return status_of_id(d->id);
    return TILE_OK;
}

const char *tile_status_text(tile_status status) {
    switch (status) {
#define TILE_STATUS_CASE(name, value, text)                                                        \
    case name:                                                                                     \
        return text;
        TILE_STATUSES(TILE_STATUS_CASE)
    }
    return "unknown status";
}

bool report_unreadable(Diags *diags, const char *path, int error) {
    return diag(diags, (Span){0}, file_unreadable, path, file_error_text(diags->arena, error));
}

bool report_unwritable(Diags *diags, const char *path, int error) {
    const char *text = file_error_text(diags->arena, error);
    if (error == ENOSPC || error == EDQUOT || error == EFBIG)
        return diag(diags, (Span){0}, disk_full, path, text);
    return diag(diags, (Span){0}, file_unwritable, path, text);
}
