/* Writes variants as C: a file with their code as data, a launcher, and for each kernel one
 * function with the types of its parameters; and a header. docs/ahead-of-time.md says what they are
 * like. */
#ifndef TILEC_RUNTIME_AHEAD_EMIT_C_H
#define TILEC_RUNTIME_AHEAD_EMIT_C_H
#include "runtime/launch/bundle.h"
#include "support/ctx.h"

/* `stem`: the files' name without folder and ending, of which the prefix of all names is made.
 * False after an error. */
bool emit_c(Ctx *ctx, const Variant *variants, uint32_t count, Str stem, StrBuf *c, StrBuf *header);

/* emit_c_maps.c: C functions that compute what a recipe's expressions do, and a row of its table.
 * `uses` of emit_c_ops: which operations there are, a bit each. */
void emit_c_recipe(StrBuf *out, const char *name, const TensorMapRecipe *recipe);
void emit_c_ops(StrBuf *out, const Variant *variants, uint32_t count);
#endif
