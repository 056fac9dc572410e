/* Compilations remembered: what a cache entry of a kernel holds.
 *
 * An entry has the key of a source text, and is referred to by the key of what the kernel's code
 * depends on in that text (frontend/reach.h), by which it is found when something else in the file
 * changed. Either key text lists everything that decides the code but the imported files, which are
 * only known after elaboration: an entry lists which modules which file imported and the hashes of
 * what was found, and is an answer where the same imports find the same, wherever that lies. Of a
 * source whose imports find something else there (another checkout, a file that changed) the entry
 * has a key of that place.
 *
 * Warnings and remarks are kept too, so that an answer from the cache says what the compilation
 * said. */
#ifndef TILEC_RUNTIME_COMPILE_RECALL_H
#define TILEC_RUNTIME_COMPILE_RECALL_H
#include "frontend/reach.h"
#include "runtime/compile/compile.h"

/* What identifies a ptxas: a binary by its content, which the cache remembers for the place, size
 * and time of the file; else by these. */
Str recall_assembler(Ctx *ctx, Cache *cache, const char *path);
/* Leaves word in the cache's own folder, where readers without an assembler look, of whose code it
 * has; 0 or an errno. */
int recall_say_assembler(Ctx *ctx, Cache *cache, const char *path);
/* What was said so; false: nothing. */
bool recall_prewarmed_by(Ctx *ctx, Cache *cache, Str *assembler);
/* `assembler` identifies the program that makes the cubin; empty when none is wanted. */
Str recall_key(Ctx *ctx, const CompileRequest *request, uint32_t file, Str assembler);
Str recall_code_key(Ctx *ctx, const CompileRequest *request, const Reach *reach, Str assembler);
/* The key of the entry whose imports are those of this place: of the source's path and where it
 * looks for imports. */
Str recall_place_key(Ctx *ctx, Str key, const CompileRequest *request, uint32_t file);
typedef enum RecallResult { RECALL_HIT, RECALL_MISS, RECALL_OTHER_IMPORTS } RecallResult;
/* Fills `compiled` from the cache and repeats the stored diagnostics. */
RecallResult recall_get(Ctx *ctx, const CompileRequest *request, Str key, Compiled *compiled);
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
/* The reverse, where compiled->file is the same source: fills `compiled` and says it again. */
RecallResult recall_repeat(Ctx *ctx, const CompileRequest *request, const Recalled *described,
                           Compiled *compiled);
/* Stores the compilation, to be found by its code as well unless `code_key` is empty; 0 or an
 * errno. */
int recall_put(Ctx *ctx, const CompileRequest *request, Str key, Str code_key,
               const Compiled *compiled);
#endif
