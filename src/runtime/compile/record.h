/* Requests as lines of a manifest (docs/ahead-of-time.md), and a file that collects them. */
#ifndef TILEC_RUNTIME_COMPILE_RECORD_H
#define TILEC_RUNTIME_COMPILE_RECORD_H
#include "runtime/compile/compile.h"

/* A manifest of this one request, one line with its end; of units, which no manifest lists, empty.
 * Imports that a callback gave are in it as
 * far as `ctx` has read them. */
Str record_line(Ctx *ctx, const CompileRequest *request);

/* The file that collects them: the caller's word, else TILEC_RECORD; NULL: none. */
const char *record_path(const char *given);
/* Adds a line to the file, which is made if it is not there: whole or not at all, whoever else adds
 * lines at the moment. 0 or an errno. */
int record_append(const char *path, Str line);
#endif
