/* PTX to cubin with NVIDIA's assembler. */
#ifndef TILEC_RUNTIME_TOOLS_PTXAS_H
#define TILEC_RUNTIME_TOOLS_PTXAS_H
#include "runtime/tools/resources.h"
#include "support/ctx.h"

/* The assembler to use, NULL if there is none; see tool_find. `wanted` (may be NULL) is a path
 * given by the caller, which wins over TILEC_PTXAS; "none" in either hides every ptxas. */
const char *ptxas_find(Arena *arena, const char *wanted);

/* A text that changes whenever the program at `path` does: its real path, size and time. Cheaper
 * than asking it for its version. */
const char *ptxas_identity(Arena *arena, const char *path);
/* What it is, wherever it lies: size and hash of a binary. NULL: it is none, but perhaps a script,
 * whose words do not say what it runs. Reads all of it, which takes milliseconds. */
const char *ptxas_content(Arena *arena, const char *path);

/* First line of the program's version that names a release; "" when it cannot be run. */
const char *ptxas_version(Arena *arena, const char *path);

typedef struct AssembleRequest {
    Str ptx;
    Str kernel;
    const Target *target;
    bool line_info;
    double time_limit_ms; /* 0: PROCESS_TIME_LIMIT_MS */
} AssembleRequest;

/* False after an error was reported. Messages of ptxas become diagnostics; `resources` is filled
 * but for the occupancy. */
bool ptxas_assemble(Ctx *ctx, const char *path, const AssembleRequest *request, Str *cubin,
                    Resources *resources);

/* The machine code in readable form, by nvdisasm or cuobjdump. False after an error was reported.
 */
bool cubin_disassemble(Ctx *ctx, Str cubin, double time_limit_ms, Str *sass);

/* Reports every line of an assembler's log that is a warning or an error, or says that products of
 * warpgroups lost their overlap; returns the number of errors. */
unsigned assembler_report(Ctx *ctx, Str log);
#endif
