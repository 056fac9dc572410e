/* A source as the reduction sees it: its tokens, its statements, and how large it is. */
#ifndef TILEC_REDUCE_SYNTAX_H
#define TILEC_REDUCE_SYNTAX_H
#include "frontend/lex.h"
#include "frontend/parse.h"

typedef struct Syntax {
    Arena *arena;
    Str text;
    VEC(Token) tokens; /* those with text: no newlines, no indentation */
    ModuleStmt *module;
    uint32_t module_count;
    uint32_t mistakes; /* of syntax, in host code too */
} Syntax;

/* Reads a text; it and what is made of it last as long as the arena's memory. */
void syntax_read(Arena *arena, Str text, Syntax *syntax);

/* How large a source is, what counts most first: tokens; names and strings among them; its numbers,
 * as how large they are; bytes. */
enum { MEASURE_PARTS = 4 };
typedef struct Measure {
    double part[MEASURE_PARTS];
} Measure;
Measure syntax_measure(const Syntax *syntax);
/* Below, at or above zero. */
int measure_order(const Measure *a, const Measure *b);

/* Index of the first token that begins at `offset` or behind it. */
size_t syntax_token_at(const Syntax *syntax, uint32_t offset);
/* Where the last token in front of `offset` ends that is no `;`; 0: there is none. */
uint32_t syntax_end_before(const Syntax *syntax, uint32_t offset);
/* A span of which the parser left brackets out, with all that belong to what is in it. False: there
 * is no such. */
bool syntax_balanced(const Syntax *syntax, Span span, Span *balanced);
/* The same with the parentheses around it that are no call's. */
bool syntax_outer(const Syntax *syntax, Span span, Span *outer);
Str syntax_text(const Syntax *syntax, Span span);
#endif
