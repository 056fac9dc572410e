/* The words of a command made smaller: options that may go, numbers that may be less. */
#ifndef TILEC_REDUCE_ARGUMENTS_H
#define TILEC_REDUCE_ARGUMENTS_H
#include "reduce/probe.h"

typedef VEC(Words) WordsList;

/* Commands that are less than this one in one thing, behind its first word with `{}`: an option,
 * with the word behind it or without; a promise like `:16` of a type; a number that stands alone,
 * as in `n=1000`, `randn:fp32[64,1000]`, `--num-warps 8`, of which 1, a power of two and the half
 * are tried. What lets them go comes first. */
void arguments_smaller(Arena *arena, const Words *words, WordsList *list);
/* Without what they say of a parameter: `-a NAME=..`, `-D NAME=..`, and entry `index` of `-s`.
 * False: they say nothing of it. */
bool arguments_without(Arena *arena, const Words *words, Str parameter, uint32_t index,
                       Words *without);

/* How large they are: words, bytes, numbers. */
enum { ARGUMENT_PARTS = 3 };
void arguments_measure(const Words *words, double part[ARGUMENT_PARTS]);
#endif
