/* Tokens of PTX text. The lexer is a pure function of the text and an offset, so that a parser may
 * look ahead by lexing again. Comments and white space vanish; `.` starts a word with its dot, in
 * which `::` is a letter, so that `ld.shared::cta.b32` is a name and two words. */
#ifndef TILEC_SIM_PARSE_LEX_H
#define TILEC_SIM_PARSE_LEX_H
#include <stdint.h>

typedef enum PtxTokenKind {
    PTX_END,
    PTX_NAME,   /* add, $L__BB0_1, %r7, global_smem */
    PTX_WORD,   /* .s32, .shared::cta; the text begins with the dot */
    PTX_INT,    /* 12, 0x1F, 017, 0b1, each with or without U */
    PTX_FLOAT,  /* 0f3F800000, 0d3FF0000000000000, 1.5 */
    PTX_STRING, /* "..." */
    PTX_PUNCT,
    PTX_BAD, /* no token of PTX: one byte, or a comment or string without end */
} PtxTokenKind;

typedef struct PtxToken {
    PtxTokenKind kind;
    char punct; /* of PTX_PUNCT */
    uint32_t lo, hi;
} PtxToken;

/* The token at or after `offset`. `text[length]` must be NUL. */
PtxToken ptx_lex(const char *text, uint32_t length, uint32_t offset);
#endif
