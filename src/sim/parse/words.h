/* What the words of an instruction's name, and the names of special registers, stand for. */
#ifndef TILEC_SIM_PARSE_WORDS_H
#define TILEC_SIM_PARSE_WORDS_H
#include "sim/parse/module.h"

/* The type, modifier or special register of a text; -1 or WORD_none when there is none. A modifier
 * with a number gives it. */
int type_find(Str name);
Word word_find(Str text, uint16_t *number);
int special_find(Str text);
/* Whether a text is the pattern with a number in the place of its #, if it has one. */
bool word_fits(Str pattern, Str text, uint16_t *number);
#endif
