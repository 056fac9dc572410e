/* Compilations remembered: what a cache entry of a kernel holds.
 *
 * An entry has the key of a source text, and is referred to by the key of what the kernel's code
 * depends on in that text (frontend/reach.h), by which it is found when something else in the file
 * changed. Either key text lists everything that decides the code but the imported files, which are
 * only known after elaboration: an entry lists those with their hashes, and counts as a miss when
 * one of them changed or would be found elsewhere now, which it does for a source of another path.
 * Warnings and remarks are kept too, so that an answer from the cache says what the compilation
 * said. */
#ifndef TILEC_RUNTIME_COMPILE_RECALL_H
#define TILEC_RUNTIME_COMPILE_RECALL_H
#include "frontend/reach.h"
#include "runtime/compile/compile.h"

/* `assembler` identifies the program that makes the cubin; empty when none is wanted. */
Str recall_key(Ctx *ctx, const CompileRequest *request, uint32_t file, Str assembler);
Str recall_code_key(Ctx *ctx, const CompileRequest *request, const Reach *reach, Str assembler);
/* Fills `compiled` from the cache and repeats the stored diagnostics; false on a miss. */
bool recall_get(Ctx *ctx, const CompileRequest *request, Str key, Compiled *compiled);
/* The same from the entry of another source text with that code; `key` is that of this text. */
bool recall_get_code(Ctx *ctx, const CompileRequest *request, Str key, Str code_key,
                     Compiled *compiled);
/* The compilation asked for no name of its file, and said nothing of a place there, that `reach`
 * lacks: other texts of that reach give the same. */
bool recall_is_covered(Ctx *ctx, const Reach *reach, const Compiled *compiled);
/* What is known of a compilation beside its outputs, as text: facts (empty: there is no code), the
 * files it imported, what it said, which names of its file it asked for. */
typedef struct Recalled {
    Str meta, files, said, asked;
} Recalled;
Recalled recall_describe(Ctx *ctx, const Compiled *compiled);
/* The reverse, where compiled->file is the same source: fills `compiled` and says it again. False
 * when an imported file is not what it was, or another one would be found. */
bool recall_repeat(Ctx *ctx, const Recalled *described, Compiled *compiled);
/* Stores the compilation, to be found by its code as well unless `code_key` is empty; 0 or an
 * errno. */
int recall_put(Ctx *ctx, const CompileRequest *request, Str key, Str code_key,
               const Compiled *compiled);
#endif
