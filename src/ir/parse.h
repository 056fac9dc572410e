/* The state of the parser of Tile IR and its lower half: tokens, numbers, types, attribute values.
 * Private to src/ir.
 *
 * Every function that returns bool is false after a report; its caller passes that up to the op,
 * where parsing goes on at the next line. */
#ifndef TILEC_IR_PARSE_H
#define TILEC_IR_PARSE_H
#include "ir/lex.h"
#include "ir/text.h"
#include "support/ptrmap.h"

typedef struct Parser {
    Ctx *ctx;
    Arena *scratch;
    uint32_t file;
    Str text;
    IrToken token;    /* not consumed yet */
    uint32_t last_hi; /* where the last consumed token ended */
    Module *module;
    Func *func;
    PtrMap ops;              /* interned name to OpInfo */
    PtrMap values;           /* interned name to Value in scope, or to `bad` */
    PtrMap aliases;          /* interned name to Layout without out_bits */
    PtrMap files;            /* interned path to file number */
    PtrMap funcs;            /* interned name to Func */
    VEC(const char *) scope; /* names in order of their binding */
    Value bad;     /* stands for the result of an op that was reported: uses of it are not */
    Value pending; /* stands for a name of the list that is being read */
    unsigned depth;
} Parser;

/* Tokens */
Str parse_token_text(const Parser *p);
Span parse_token_span(const Parser *p);
void parse_advance(Parser *p);
/* The token after the current one, which stays. */
IrToken ir_parse_peek(const Parser *p);
bool parse_is(const Parser *p, char punct);
bool ir_parse_accept(Parser *p, char punct);
bool parse_accept_name(Parser *p, const char *name);
/* "expected .., found ..": false. */
bool parse_expected(Parser *p, const char *wanted);
bool parse_want(Parser *p, char punct);
/* Consumes a token of the kind and gives its text without its sigil, interned. */
bool parse_want_kind(Parser *p, IrTokenKind kind, const char *wanted, Str *text);

/* Values */
bool parse_integer(Parser *p, int64_t min, int64_t max, int64_t *value);
bool parse_attr_value(Parser *p, AttrKind kind, Attr *attr);
bool parse_type(Parser *p, const Type **type);
/* `{reg = [..], ..}` with out_bits 0. */
bool parse_layout(Parser *p, Layout *layout);
/* The optional ` loc(..)`; *span stays when there is none or its file is unknown. */
bool parse_loc(Parser *p, Span *span);
/* A quoted string, escapes resolved, interned. */
bool parse_string(Parser *p, Str *value);
/* Reports an unknown word with the nearest of the candidates as a hint; false. */
bool parse_unknown(Parser *p, Span span, const char *what, Str word, const Str *candidates,
                   size_t count);
#endif
