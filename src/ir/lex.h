/* Tokens of the textual Tile IR; the grammar is in grammar.def. Private to src/ir. */
#ifndef TILEC_IR_LEX_H
#define TILEC_IR_LEX_H
#include "support/source.h"

typedef enum IrTokenKind {
    TOKEN_END,
    TOKEN_NAME,     /* addi, tile, f32 */
    TOKEN_VALUE,    /* %x */
    TOKEN_SYMBOL,   /* @kernel */
    TOKEN_ALIAS,    /* #L0 */
    TOKEN_INT,      /* -12, 0x1f */
    TOKEN_FLOAT,    /* 0x1.8p+1, 1.5, 2e3: with its sign */
    TOKEN_SIZE,     /* 64x: one dimension of a shape */
    TOKEN_STRING,   /* with its quotes and escapes */
    TOKEN_PUNCT,    /* one of ( ) { } [ ] < > , : = */
    TOKEN_UNCLOSED, /* a string without its closing quote */
    TOKEN_UNKNOWN   /* a byte that begins no token */
} IrTokenKind;

typedef struct IrToken {
    IrTokenKind kind;
    char punct;
    bool line_start; /* first token of its line */
    uint32_t lo, hi;
} IrToken;

/* The token at or after byte `offset` of a text that a zero byte follows. */
IrToken ir_lex(const char *text, uint32_t length, uint32_t offset);
#endif
