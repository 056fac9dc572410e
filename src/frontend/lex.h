/* Tokens of Python source, one logical line at a time.
 *
 * A logical line ends at a newline outside brackets. Before its first token come INDENT or DEDENT
 * tokens, after its last one NEWLINE. Mistakes are tokens of kind TOK_error in the place where they
 * happen: the parser reports them when it meets them, and host code may hold any number of them.
 *
 * A bracket that is never closed would swallow the rest of the file. A physical line inside
 * brackets that begins with a keyword no expression can begin a line with (`def`, `return`, ...),
 * or a decorator at column 0, ends the logical line with LEX_unclosed_bracket at the opener. */
#ifndef TILEC_FRONTEND_LEX_H
#define TILEC_FRONTEND_LEX_H
#include "support/diag.h"

/* LEX_KEYWORDS(name) */
/* clang-format off */
#define LEX_KEYWORDS(X)                                                                            \
    X(False) X(None) X(True) X(and) X(as) X(assert) X(async) X(await) X(break) X(class)            \
    X(continue) X(def) X(del) X(elif) X(else) X(except) X(finally) X(for) X(from) X(global)        \
    X(if) X(import) X(in) X(is) X(lambda) X(nonlocal) X(not) X(or) X(pass) X(raise) X(return)      \
    X(try) X(while) X(with) X(yield)
/* clang-format on */

/* LEX_OPERATORS(name, text) */
/* clang-format off */
#define LEX_OPERATORS(X)                                                                           \
    X(lparen, "(") X(rparen, ")") X(lbracket, "[") X(rbracket, "]") X(lbrace, "{") X(rbrace, "}")  \
    X(comma, ",") X(colon, ":") X(dot, ".") X(semicolon, ";") X(at, "@") X(assign, "=")            \
    X(arrow, "->") X(walrus, ":=") X(ellipsis, "...")                                              \
    X(plus, "+") X(minus, "-") X(star, "*") X(slash, "/") X(slashslash, "//") X(percent, "%")      \
    X(starstar, "**") X(lshift, "<<") X(rshift, ">>") X(amp, "&") X(pipe, "|") X(caret, "^")       \
    X(tilde, "~") X(lt, "<") X(le, "<=") X(gt, ">") X(ge, ">=") X(eqeq, "==") X(ne, "!=")          \
    X(plus_assign, "+=") X(minus_assign, "-=") X(star_assign, "*=") X(slash_assign, "/=")          \
    X(slashslash_assign, "//=") X(percent_assign, "%=") X(at_assign, "@=")                         \
    X(amp_assign, "&=") X(pipe_assign, "|=") X(caret_assign, "^=") X(lshift_assign, "<<=")         \
    X(rshift_assign, ">>=") X(starstar_assign, "**=")
/* clang-format on */

/* LEX_ERRORS(name): mistakes in tokens; lex_report gives each its message. */
/* clang-format off */
#define LEX_ERRORS(X)                                                                              \
    X(nul_byte) X(invalid_utf8) X(unexpected_character) X(exclamation) X(unterminated_string)      \
    X(unterminated_triple) X(unterminated_fstring) X(fstring_nesting) X(leading_zeros)             \
    X(imaginary) X(bad_number) X(stray_backslash) X(end_after_backslash) X(inconsistent_dedent)    \
    X(lone_indent) X(mixed_tabs) X(unclosed_bracket)
/* clang-format on */

typedef enum TokenKind {
    TOK_end, /* of the source, or of a field of an f-string */
    TOK_newline,
    TOK_indent,
    TOK_dedent,
    TOK_error,
    TOK_name,
    TOK_int,
    TOK_float,
    TOK_string,  /* with its prefix and quotes; escapes are not resolved */
    TOK_fstring, /* likewise */
#define X(name) KW_##name,
    LEX_KEYWORDS(X)
#undef X
#define X(name, text) OP_##name,
        LEX_OPERATORS(X)
#undef X
            TOK_COUNT
} TokenKind;

typedef enum LexError {
#define X(name) LEX_##name,
    LEX_ERRORS(X)
#undef X
} LexError;

/* Strings that may be open at once within an f-string, itself counted. */
enum { LEX_MAX_STRINGS = 16 };

typedef struct Token {
    uint8_t kind;     /* TokenKind */
    uint8_t error;    /* LexError, of a TOK_error */
    bool starts_line; /* first on its physical line */
    uint8_t column;   /* of a token that starts a line: its indentation, at most 255 */
    uint32_t lo, hi;  /* bytes of the source */
} Token;

/* A mistake in the indentation of a line, which stands before its INDENT or DEDENTs. */
static inline bool lex_is_line_error(Token token) {
    return token.kind == TOK_error &&
           (token.error == LEX_inconsistent_dedent || token.error == LEX_lone_indent ||
            token.error == LEX_mixed_tabs);
}

/* A level of indentation, counted twice as CPython does: tabs to multiples of 8, and tabs as one
 * column. Comparisons of the two must agree, else the meaning depends on the tab width. */
typedef struct Indent {
    uint32_t column, alternative;
    uint32_t first; /* offset of the first token of the block */
    uint32_t lines; /* logical lines of the block itself up to now */
} Indent;

typedef struct Bracket {
    char open;
    uint32_t at;
} Bracket;

typedef struct Lexer {
    Arena *arena;
    const char *base, *cursor, *limit; /* *limit is 0 */
    uint32_t file;
    uint32_t line_indent; /* column of the logical line */
    VEC(Token) tokens;    /* of the current logical line */
    VEC(Indent) indents;
    VEC(Bracket) brackets;
} Lexer;

/* The lexer keeps a terminated copy of the text in the arena; offsets are those of the source. */
void lex_init(Lexer *lexer, Arena *arena, const Source *source, uint32_t file);
/* The same of a part of the source, which is lexed as if it were a file; blanks before it count for
 * nothing. */
void lex_init_part(Lexer *lexer, Arena *arena, const Source *source, Span part);

/* The same of a block that may be indented: its first line says how far. */
void lex_init_block(Lexer *lexer, Arena *arena, const Source *source, uint32_t file);

/* A lexer for the replacement field of an f-string that begins at `offset` of the same source. */
void lex_init_field(Lexer *field, const Lexer *lexer, uint32_t offset);

/* Replaces `tokens` by those of the next logical line; at the end of the source by DEDENTs and END,
 * then by END for ever. Never empty. */
void lex_line(Lexer *lexer);

/* Replaces `tokens` by those of the field up to its `}`, `:` or `!`, and END there; `cursor` points
 * at that character. */
void lex_field(Lexer *field);

/* Drops the rest of the line and goes on at the physical line that holds `offset`, outside
 * brackets, with the innermost `indents` levels of indentation. */
void lex_restart(Lexer *lexer, uint32_t offset, size_t indents);

/* Reports the mistake in a TOK_error. */
void lex_report(const Lexer *lexer, Diags *diags, Token token);

/* A token as a message names it: `+`, name `x`, end of line. In `arena`. */
const char *lex_describe(const Lexer *lexer, Token token, Arena *arena);

/* Number of bytes of the UTF-8 sequence at `text`, 0 if it is not one. */
size_t lex_utf8_length(const char *text, const char *limit);

static inline Str lex_text(const Lexer *lexer, Token token) {
    return (Str){lexer->base + token.lo, token.hi - token.lo};
}
static inline Span lex_span(const Lexer *lexer, Token token) {
    return (Span){lexer->file, token.lo, token.hi};
}

extern const char *const lex_kind_text[TOK_COUNT];
#endif
