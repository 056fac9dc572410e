/* Writes variants as C, with their code as data and a launcher: docs/ahead-of-time.md says what
 * such files are like. */
#ifndef TILEC_RUNTIME_AHEAD_EMIT_H
#define TILEC_RUNTIME_AHEAD_EMIT_H
#include "runtime/ahead/groups.h"

/* A function for each kernel, with the types of its parameters; and a header. `stem`: the files'
 * name without folder and ending, of which the prefix of all names is made. False after an error.
 */
bool emit_c(Ctx *ctx, const Variant *variants, uint32_t count, Str stem, StrBuf *c, StrBuf *header);
/* One file, for a library whose kernels are functions of tvm-ffi. False after an error. */
bool emit_tvm_ffi(Ctx *ctx, const Variant *variants, uint32_t count, StrBuf *c);

/* emit_c_names.c: the name as C has it, of letters, digits and underscores, and no keyword. */
const char *c_identifier(Arena *arena, Str name);
/* Sets `names`. */
void c_name_params(Arena *arena, Group *group);
/* Sets `function` of all: "prefix_kernel", with the types in which groups of a kernel differ. */
void c_name_groups(Arena *arena, const char *prefix, Groups *groups);

/* What the two share. */

/* emit_tables.c: the table `kernels`, with a row for each group, and all that it points at. */
void emit_tables(Arena *arena, const Groups *groups, StrBuf *c);
/* The text as a literal of C. */
void emit_text(StrBuf *out, Str text);
/* The launcher, behind `comment`, and what recipes compute with. */
void emit_launcher(const char *comment, const Variant *variants, uint32_t count, StrBuf *c);

/* emit_c_grid.c: of each group that has a grid a function `grid_NUMBER`, which computes it from the
 * arguments of a call; false after an error. */
bool emit_c_grids(Ctx *ctx, const Groups *groups, StrBuf *c);

/* emit_c_maps.c: C functions that compute what a recipe's expressions do, and a row of its table.
 */
void emit_c_recipe(StrBuf *out, const char *name, const TensorMapRecipe *recipe);
void emit_c_ops(StrBuf *out, const Variant *variants, uint32_t count);
#endif
