/* Texts of documents as the protocol sees them: lines that \n, \r\n and \r end, and places in a
 * line that count bytes (utf-8) or UTF-16 units, whatever client and server agreed on. */
#ifndef TILEC_LSP_TEXT_H
#define TILEC_LSP_TEXT_H
#include "support/source.h"

typedef struct Text {
    Str bytes;
    const uint32_t *starts; /* of lines: offsets */
    uint32_t count;         /* of lines, at least 1 */
    bool utf8;              /* places count bytes */
} Text;

typedef struct Place {
    uint32_t line, character; /* from 0 */
} Place;

/* Points at `bytes`; the lines lie in `arena`. */
Text text_split(Arena *arena, Str bytes, bool utf8);
Place text_place(const Text *text, uint32_t offset);
/* Behind the end of a line its end, behind the last line the end of the text. */
uint32_t text_offset(const Text *text, Place place);
/* Without what ends it. */
Str text_line(const Text *text, uint32_t line);

/* Is it part of a name? Bytes beyond ASCII are. */
bool text_is_word(char c);
/* Keywords of Python by number; NULL: there are no more. */
const char *text_keyword(size_t index);
bool text_is_keyword(Str word);
/* The name that an offset lies in, or behind; empty: in none. */
Str text_word(Str bytes, uint32_t offset, uint32_t *begin);

/* Where an offset of `before` is in `after`, which was made of it by edits: what both begin or end
 * with stays. False: it lies in what was edited. */
bool text_follow(Str before, Str after, uint32_t offset, uint32_t *moved);
/* The same, where a place in what was edited is the beginning of the edit. */
uint32_t text_near(Str before, Str after, uint32_t offset);
#endif
