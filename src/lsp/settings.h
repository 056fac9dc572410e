/* What a client's configuration says: initializationOptions and workspace/didChangeConfiguration,
 * either as they are or below "tilec".
 *
 *     {"target": "sm_90a", "language": "3.6", "include": ["lib"], "warnings": ["no-index_wraps"],
 *      "signatures": {"softmax": "*fp32, *fp32, i32, i32, i32, 1024"},
 *      "layouts": true, "delay": 150, "limit": 4000}
 */
#ifndef TILEC_LSP_SETTINGS_H
#define TILEC_LSP_SETTINGS_H
#include "frontend/frontend.h"
#include "support/json.h"

typedef struct Settings {
    Ctx *ctx; /* that everything lies in; NULL: nothing was set */
    Str target, language;
    const Str *include, *warnings;
    uint32_t include_count, warning_count;
    const NamedText *signatures; /* by kernel */
    uint32_t signature_count;
    bool layouts;     /* hover says who holds which element */
    int32_t delay_ms; /* without changes before a document is analysed */
    int32_t limit_ms; /* of the elaboration of a kernel */
} Settings;

void settings_default(Settings *settings);
/* Replaces them by what `sent`, which may be NULL, says; what it has that is no setting is passed
 * over. Returns what is wrong with it, in `arena`; NULL: nothing. */
const char *settings_read(Settings *settings, Arena *arena, const Json *sent);
void settings_destroy(Settings *settings);
#endif
