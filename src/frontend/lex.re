/* The lexer; lex.h has the contract. Rules of single tokens are re2c's, what needs a stack (indentation,
 * brackets, f-strings) is below them. No function recurses, and every byte is looked at a bounded number
 * of times. What is said of tokens is in lex_report.c. */
#include "frontend/lex.h"

static uint32_t offset_of(const Lexer *lexer, const char *at) {
    return (uint32_t)(at - lexer->base);
}

void lex_init(Lexer *lexer, Arena *arena, const Source *source, uint32_t file) {
    *lexer = (Lexer){.arena = arena, .file = file};
    lexer->base = str_dup(arena, source->text);
    lexer->limit = lexer->base + source->text.len;
    lexer->cursor = lexer->base;
    if (source->text.len >= 3 && memcmp(lexer->base, "\xef\xbb\xbf", 3) == 0)
        lexer->cursor += 3;
    vec_push(arena, &lexer->indents, (Indent){0});
}

void lex_init_part(Lexer *lexer, Arena *arena, const Source *source, Span part) {
    *lexer = (Lexer){.arena = arena, .file = part.file};
    lexer->base = str_dup(arena, (Str){source->text.ptr, part.hi});
    lexer->limit = lexer->base + part.hi;
    lexer->cursor = lexer->base + part.lo;
    while (*lexer->cursor == ' ')
        lexer->cursor++;
    vec_push(arena, &lexer->indents, (Indent){0});
}

static Indent skip_to_line(Lexer *lexer);

void lex_init_block(Lexer *lexer, Arena *arena, const Source *source, uint32_t file) {
    lex_init(lexer, arena, source, file);
    const char *begin = lexer->cursor;
    lexer->indents.data[0] = skip_to_line(lexer);
    lexer->cursor = begin;
}

void lex_init_field(Lexer *field, const Lexer *lexer, uint32_t offset) {
    *field = (Lexer){.arena = lexer->arena,
                     .base = lexer->base,
                     .cursor = lexer->base + offset,
                     .limit = lexer->limit,
                     .file = lexer->file};
}

size_t lex_utf8_length(const char *text, const char *limit) {
    const unsigned char *s = (const unsigned char *)text;
    size_t left = (size_t)(limit - text);
    size_t length = left == 0     ? 0
                    : s[0] < 0x80 ? 1
                    : s[0] < 0xc2 ? 0
                    : s[0] < 0xe0 ? 2
                    : s[0] < 0xf0 ? 3
                    : s[0] < 0xf5 ? 4
                                  : 0;
    if (length > left)
        return 0;
    for (size_t i = 1; i < length; i++)
        if ((s[i] & 0xc0) != 0x80)
            return 0;
    /* Overlong forms, surrogates and code points above U+10FFFF. */
    if ((s[0] == 0xe0 && s[1] < 0xa0) || (s[0] == 0xed && s[1] > 0x9f) ||
        (s[0] == 0xf0 && s[1] < 0x90) || (s[0] == 0xf4 && s[1] > 0x8f))
        return 0;
    return length;
}

static Token make_token(const Lexer *lexer, const char *start, TokenKind kind) {
    return (Token){
        .kind = (uint8_t)kind, .lo = offset_of(lexer, start), .hi = offset_of(lexer, lexer->cursor)};
}

static Token make_error(const Lexer *lexer, const char *start, LexError error) {
    Token token = make_token(lexer, start, TOK_error);
    token.error = (uint8_t)error;
    return token;
}

static bool is_word_byte(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           (c & 0x80);
}

/* What follows a number must not be a word, except for the keywords that Python lets touch it. */
static Token finish_number(Lexer *lexer, const char *start, TokenKind kind) {
    static const char *const allowed[] = {"and", "else", "for", "if", "in", "is", "not", "or"};
    const char *end = lexer->cursor;
    while (end < lexer->limit && is_word_byte(*end))
        end++;
    Str word = {lexer->cursor, (size_t)(end - lexer->cursor)};
    if (word.len == 0)
        return make_token(lexer, start, kind);
    for (size_t i = 0; i < sizeof allowed / sizeof *allowed; i++)
        if (str_is(word, allowed[i]))
            return make_token(lexer, start, kind);
    lexer->cursor = end;
    return make_error(lexer, start, LEX_bad_number);
}

static bool at_newline(const Lexer *lexer) {
    return *lexer->cursor == '\n' || *lexer->cursor == '\r';
}

static void skip_newline(Lexer *lexer) {
    if (*lexer->cursor == '\r' && lexer->cursor[1] == '\n')
        lexer->cursor++;
    lexer->cursor++;
}

static bool at_quotes(const Lexer *lexer, char quote, bool triple) {
    const char *s = lexer->cursor;
    return *s == quote && (!triple || (s[1] == quote && s[2] == quote));
}

/* After the error of a string: single-quoted ones end with their line, triple-quoted ones with the file. */
static Token string_error(Lexer *lexer, const char *start, bool triple, LexError error) {
    if (triple) {
        lexer->cursor = lexer->limit;
        return make_error(lexer, start, error);
    }
    lexer->cursor = start;
    while (lexer->cursor < lexer->limit && !at_newline(lexer))
        lexer->cursor++;
    return make_error(lexer, start, error);
}

/* The rest of a plain string whose opening quotes end at the cursor. */
static Token lex_string(Lexer *lexer, const char *start, char quote, bool triple) {
    while (lexer->cursor < lexer->limit) {
        if (at_quotes(lexer, quote, triple)) {
            lexer->cursor += triple ? 3 : 1;
            return make_token(lexer, start, TOK_string);
        }
        if (*lexer->cursor == '\\' && lexer->cursor + 1 < lexer->limit) {
            lexer->cursor++;
            if (at_newline(lexer)) {
                skip_newline(lexer);
                continue;
            }
        } else if (!triple && at_newline(lexer)) {
            break;
        }
        lexer->cursor++;
    }
    return string_error(lexer, start, triple,
                        triple ? LEX_unterminated_triple : LEX_unterminated_string);
}

/* A string inside an f-string: its quotes, and where its reading stands. */
typedef struct StringFrame {
    char quote;
    bool triple, formatted;
    uint32_t fields;   /* open replacement fields; text of a format spec counts as its field */
    uint32_t brackets; /* open within the innermost field */
    bool in_text;      /* in literal text or in a format spec, else in an expression */
} StringFrame;

/* One step in the literal text or format spec of a frame; false when the frame's string has ended. */
static bool step_text(Lexer *lexer, StringFrame *frame) {
    char c = *lexer->cursor;
    if (frame->fields == 0 && at_quotes(lexer, frame->quote, frame->triple)) {
        lexer->cursor += frame->triple ? 3 : 1;
        return false;
    }
    lexer->cursor++;
    if (c == '\\' && lexer->cursor < lexer->limit) {
        if (*lexer->cursor != '{' && *lexer->cursor != '}')
            lexer->cursor++;
    } else if (!frame->formatted) {
        return true;
    } else if (c == '{') {
        if (*lexer->cursor == '{' && frame->fields == 0) {
            lexer->cursor++;
        } else {
            frame->fields++;
            frame->brackets = 0;
            frame->in_text = false;
        }
    } else if (c == '}' && frame->fields) {
        frame->fields--;
        frame->in_text = true;
    }
    return true;
}

/* One step in the expression of a replacement field; true when a nested string begins at the cursor. */
static bool step_field(Lexer *lexer, StringFrame *frame) {
    char c = *lexer->cursor;
    if (c == '\'' || c == '"')
        return true;
    lexer->cursor++;
    if (c == '#') {
        while (lexer->cursor < lexer->limit && !at_newline(lexer))
            lexer->cursor++;
    } else if (c == '(' || c == '[' || c == '{') {
        frame->brackets++;
    } else if (frame->brackets) {
        frame->brackets -= c == ')' || c == ']' || c == '}';
    } else if (c == ':') {
        frame->in_text = true;
    } else if (c == '}') {
        frame->fields--;
        frame->in_text = true;
    }
    return false;
}

/* True if the word that ends at `end` is a string prefix with an f. */
static bool has_f_prefix(const Lexer *lexer, const char *end) {
    const char *word = end;
    while (word > lexer->base && is_word_byte(word[-1]))
        word--;
    size_t length = (size_t)(end - word);
    if (length == 0 || length > 2)
        return false;
    bool f = false;
    for (size_t i = 0; i < length; i++) {
        if (word[i] == 'f' || word[i] == 'F')
            f = true;
        else if (word[i] != 'r' && word[i] != 'R')
            return false;
    }
    return f;
}

/* The rest of an f-string. Fields may hold strings with any quotes, and newlines, as from Python 3.12 on. */
static Token lex_fstring(Lexer *lexer, const char *start, char quote, bool triple) {
    StringFrame frames[LEX_MAX_STRINGS];
    size_t depth = 0;
    frames[depth++] = (StringFrame){.quote = quote, .triple = triple, .formatted = true, .in_text = true};
    while (lexer->cursor < lexer->limit) {
        StringFrame *frame = &frames[depth - 1];
        if (frame->in_text) {
            if (at_newline(lexer) && !frame->triple)
                break;
            if (!step_text(lexer, frame) && --depth == 0)
                return make_token(lexer, start, TOK_fstring);
        } else if (step_field(lexer, frame)) {
            if (depth == LEX_MAX_STRINGS)
                return string_error(lexer, start, false, LEX_fstring_nesting);
            bool formatted = has_f_prefix(lexer, lexer->cursor);
            char nested = *lexer->cursor;
            bool nested_triple = at_quotes(lexer, nested, true);
            lexer->cursor += nested_triple ? 3 : 1;
            frames[depth++] = (StringFrame){
                .quote = nested, .triple = nested_triple, .formatted = formatted, .in_text = true};
        }
    }
    return string_error(lexer, start, triple && lexer->cursor >= lexer->limit,
                        depth > 1 || frames[0].fields ? LEX_unterminated_fstring
                        : triple                      ? LEX_unterminated_triple
                                                      : LEX_unterminated_string);
}

static Token lex_quoted(Lexer *lexer, const char *start) {
    bool formatted = false;
    for (const char *c = start; *c != '\'' && *c != '"'; c++)
        formatted |= *c == 'f' || *c == 'F';
    char quote = lexer->cursor[-1];
    bool triple = lexer->cursor[0] == quote && lexer->cursor[1] == quote;
    if (triple)
        lexer->cursor += 2;
    return formatted ? lex_fstring(lexer, start, quote, triple)
                     : lex_string(lexer, start, quote, triple);
}

static Token unexpected(Lexer *lexer, const char *start) {
    lexer->cursor = start;
    size_t length = lex_utf8_length(start, lexer->limit);
    lexer->cursor += length ? length : 1;
    LexError error = *start == 0     ? LEX_nul_byte
                     : *start == '!' ? LEX_exclamation
                     : length == 0   ? LEX_invalid_utf8
                                     : LEX_unexpected_character;
    return make_error(lexer, start, error);
}

/*!include:re2c "unicode_categories.re" */
/*!re2c
    re2c:encoding:utf8 = 1;
    re2c:define:YYCTYPE = "unsigned char";
    re2c:define:YYCURSOR = cursor;
    re2c:define:YYMARKER = marker;
    re2c:define:YYLIMIT = limit;
    re2c:yyfill:enable = 0;
    re2c:eof = 0;

    newline = "\r\n" | "\n" | "\r";
    word_start = "_" | L | Nl;
    word = word_start (word_start | Mn | Mc | Nd | Pc)*;

    digits = [0-9] ("_"? [0-9])*;
    decimal = [1-9] ("_"? [0-9])* | "0" ("_"? "0")*;
    radix = "0" [xX] ("_"? [0-9a-fA-F])+ | "0" [oO] ("_"? [0-7])+ | "0" [bB] ("_"? [01])+;
    exponent = [eE] [+-]? digits;
    float = (digits? "." digits | digits ".") exponent? | digits exponent;

    prefix = [rRuUbBfF] | [rR][bBfF] | [bBfF][rR];
*/

/* The next token of a physical line; TOK_newline at its end, TOK_end at the end of the source. */
static Token lex_token(Lexer *lexer) {
    for (;;) {
        const unsigned char *cursor = (const unsigned char *)lexer->cursor, *marker;
        const unsigned char *limit = (const unsigned char *)lexer->limit;
        const char *start = lexer->cursor;
#define TOKEN(kind) return lexer->cursor = (const char *)cursor, make_token(lexer, start, kind)
#define ERROR(error) return lexer->cursor = (const char *)cursor, make_error(lexer, start, error)
#define NUMBER(kind) return lexer->cursor = (const char *)cursor, finish_number(lexer, start, kind)
        /*!re2c
            [ \t\f]+ | "#" [^\n\r\x00]* | "\\" newline {
                lexer->cursor = (const char *)cursor;
                continue;
            }
            newline             { TOKEN(TOK_newline); }
            $                   { TOKEN(TOK_end); }

            "False"    { TOKEN(KW_False); }
            "None"     { TOKEN(KW_None); }
            "True"     { TOKEN(KW_True); }
            "and"      { TOKEN(KW_and); }
            "as"       { TOKEN(KW_as); }
            "assert"   { TOKEN(KW_assert); }
            "async"    { TOKEN(KW_async); }
            "await"    { TOKEN(KW_await); }
            "break"    { TOKEN(KW_break); }
            "class"    { TOKEN(KW_class); }
            "continue" { TOKEN(KW_continue); }
            "def"      { TOKEN(KW_def); }
            "del"      { TOKEN(KW_del); }
            "elif"     { TOKEN(KW_elif); }
            "else"     { TOKEN(KW_else); }
            "except"   { TOKEN(KW_except); }
            "finally"  { TOKEN(KW_finally); }
            "for"      { TOKEN(KW_for); }
            "from"     { TOKEN(KW_from); }
            "global"   { TOKEN(KW_global); }
            "if"       { TOKEN(KW_if); }
            "import"   { TOKEN(KW_import); }
            "in"       { TOKEN(KW_in); }
            "is"       { TOKEN(KW_is); }
            "lambda"   { TOKEN(KW_lambda); }
            "nonlocal" { TOKEN(KW_nonlocal); }
            "not"      { TOKEN(KW_not); }
            "or"       { TOKEN(KW_or); }
            "pass"     { TOKEN(KW_pass); }
            "raise"    { TOKEN(KW_raise); }
            "return"   { TOKEN(KW_return); }
            "try"      { TOKEN(KW_try); }
            "while"    { TOKEN(KW_while); }
            "with"     { TOKEN(KW_with); }
            "yield"    { TOKEN(KW_yield); }

            word                { TOKEN(TOK_name); }
            prefix? ['"]        {
                lexer->cursor = (const char *)cursor;
                return lex_quoted(lexer, start);
            }

            decimal | radix     { NUMBER(TOK_int); }
            "0" ("_"? [0-9])+   { ERROR(LEX_leading_zeros); }
            float               { NUMBER(TOK_float); }
            (float | digits) [jJ] { ERROR(LEX_imaginary); }

            "("   { TOKEN(OP_lparen); }
            ")"   { TOKEN(OP_rparen); }
            "["   { TOKEN(OP_lbracket); }
            "]"   { TOKEN(OP_rbracket); }
            "{"   { TOKEN(OP_lbrace); }
            "}"   { TOKEN(OP_rbrace); }
            ","   { TOKEN(OP_comma); }
            ":"   { TOKEN(OP_colon); }
            "."   { TOKEN(OP_dot); }
            ";"   { TOKEN(OP_semicolon); }
            "@"   { TOKEN(OP_at); }
            "="   { TOKEN(OP_assign); }
            "->"  { TOKEN(OP_arrow); }
            ":="  { TOKEN(OP_walrus); }
            "..." { TOKEN(OP_ellipsis); }
            "+"   { TOKEN(OP_plus); }
            "-"   { TOKEN(OP_minus); }
            "*"   { TOKEN(OP_star); }
            "/"   { TOKEN(OP_slash); }
            "//"  { TOKEN(OP_slashslash); }
            "%"   { TOKEN(OP_percent); }
            "**"  { TOKEN(OP_starstar); }
            "<<"  { TOKEN(OP_lshift); }
            ">>"  { TOKEN(OP_rshift); }
            "&"   { TOKEN(OP_amp); }
            "|"   { TOKEN(OP_pipe); }
            "^"   { TOKEN(OP_caret); }
            "~"   { TOKEN(OP_tilde); }
            "<"   { TOKEN(OP_lt); }
            "<="  { TOKEN(OP_le); }
            ">"   { TOKEN(OP_gt); }
            ">="  { TOKEN(OP_ge); }
            "=="  { TOKEN(OP_eqeq); }
            "!="  { TOKEN(OP_ne); }
            "+="  { TOKEN(OP_plus_assign); }
            "-="  { TOKEN(OP_minus_assign); }
            "*="  { TOKEN(OP_star_assign); }
            "/="  { TOKEN(OP_slash_assign); }
            "//=" { TOKEN(OP_slashslash_assign); }
            "%="  { TOKEN(OP_percent_assign); }
            "@="  { TOKEN(OP_at_assign); }
            "&="  { TOKEN(OP_amp_assign); }
            "|="  { TOKEN(OP_pipe_assign); }
            "^="  { TOKEN(OP_caret_assign); }
            "<<=" { TOKEN(OP_lshift_assign); }
            ">>=" { TOKEN(OP_rshift_assign); }
            "**=" { TOKEN(OP_starstar_assign); }

            "\\"  {
                lexer->cursor = (const char *)cursor;
                return make_error(lexer, start, lexer->cursor == lexer->limit ? LEX_end_after_backslash
                                                                              : LEX_stray_backslash);
            }
            *     { return unexpected(lexer, start); }
        */
#undef TOKEN
#undef ERROR
#undef NUMBER
    }
}

/* The indentation at the cursor, which moves behind it. A backslash continuation in the indentation
 * keeps the column of the first line, as in CPython. */
static Indent read_indentation(Lexer *lexer) {
    Indent indent = {0}, continued = {0};
    for (;; lexer->cursor++) {
        char c = *lexer->cursor;
        if (c == ' ') {
            indent.column++;
            indent.alternative++;
        } else if (c == '\t') {
            indent.column = (indent.column / 8 + 1) * 8;
            indent.alternative++;
        } else if (c == '\f') {
            indent = (Indent){0};
        } else if (c == '\\' && (lexer->cursor[1] == '\n' || lexer->cursor[1] == '\r')) {
            if (!continued.column)
                continued = indent;
            indent = (Indent){0};
            lexer->cursor++;
            if (lexer->cursor[0] == '\r' && lexer->cursor[1] == '\n')
                lexer->cursor++;
        } else {
            return continued.column ? continued : indent;
        }
    }
}

/* Skips blank and comment lines; the cursor is then at the first token of a line, or at the limit. */
static Indent skip_to_line(Lexer *lexer) {
    for (;;) {
        Indent indent = read_indentation(lexer);
        if (*lexer->cursor == '#')
            while (lexer->cursor < lexer->limit && *lexer->cursor != 0 && !at_newline(lexer))
                lexer->cursor++;
        if (!at_newline(lexer) || lexer->cursor >= lexer->limit)
            return indent;
        skip_newline(lexer);
    }
}

/* The indentation of the line behind the one at the cursor; *any: there is one. */
static Indent next_indentation(const Lexer *lexer, bool *any) {
    Lexer ahead = *lexer;
    while (ahead.cursor < ahead.limit && !at_newline(&ahead))
        ahead.cursor++;
    if (ahead.cursor < ahead.limit)
        skip_newline(&ahead);
    Indent indent = skip_to_line(&ahead);
    *any = ahead.cursor < ahead.limit;
    return indent;
}

/* By how much the block numbered `at` is deeper than the one around it. */
static uint32_t indentation_step(const Lexer *lexer, size_t at) {
    return lexer->indents.data[at].column - lexer->indents.data[at - 1].column;
}

/* The line at the cursor stands between the indentation of block `at` and that of the block around: it
 * belongs to `at`, and one of the two lines is wrong. That is the other one where it is all that the block
 * has, no line behind agrees with it, and one agrees with this line or blocks are indented otherwise. */
static void match_level(Lexer *lexer, size_t at, Indent indent) {
    enum { USUAL_STEP = 4 };
    bool any;
    Indent *level = &lexer->indents.data[at];
    const Indent next = next_indentation(lexer, &any);
    const uint32_t usual = at > 1 ? indentation_step(lexer, at - 1) : USUAL_STEP;
    if (at + 1 == lexer->indents.len && level->lines == 1 && !(any && next.column == level->column) &&
        ((any && next.column == indent.column) || indentation_step(lexer, at) != usual)) {
        Token error = make_error(lexer, lexer->base + level->first, LEX_lone_indent);
        error.hi = error.lo + 1;
        vec_push(lexer->arena, &lexer->tokens, error);
        level->column = indent.column;
        level->alternative = indent.alternative;
        return;
    }
    vec_push(lexer->arena, &lexer->tokens, make_error(lexer, lexer->cursor, LEX_inconsistent_dedent));
}

/* INDENT and DEDENTs for a line that begins at the cursor. An error stands before the DEDENTs. */
static void change_indentation(Lexer *lexer, Indent indent) {
    const char *at = lexer->cursor;
    Indent top = lexer->indents.data[lexer->indents.len - 1];
    bool mixed = indent.column == top.column  ? indent.alternative != top.alternative
                 : indent.column > top.column ? indent.alternative <= top.alternative
                                              : indent.alternative >= top.alternative;
    if (mixed)
        vec_push(lexer->arena, &lexer->tokens, make_error(lexer, at, LEX_mixed_tabs));
    if (indent.column > top.column) {
        indent.first = (uint32_t)(at - lexer->base);
        indent.lines = 1;
        vec_push(lexer->arena, &lexer->indents, indent);
        vec_push(lexer->arena, &lexer->tokens, make_token(lexer, at, TOK_indent));
        return;
    }
    size_t keep = lexer->indents.len;
    while (keep > 1 && lexer->indents.data[keep - 1].column > indent.column)
        keep--;
    if (lexer->indents.data[keep - 1].column != indent.column && !mixed) {
        match_level(lexer, keep, indent);
        keep++;
    }
    lexer->indents.data[keep - 1].lines++;
    for (; lexer->indents.len > keep; lexer->indents.len--)
        vec_push(lexer->arena, &lexer->tokens, make_token(lexer, at, TOK_dedent));
}

static bool is_opener(TokenKind kind) {
    return kind == OP_lparen || kind == OP_lbracket || kind == OP_lbrace;
}

static bool is_closer(TokenKind kind) {
    return kind == OP_rparen || kind == OP_rbracket || kind == OP_rbrace;
}

/* True for a token that cannot begin a line inside brackets in any Python program (a decorator is told from
 * the operator by its column and by the name that follows at once). */
static bool begins_statement(const Lexer *lexer, Token token) {
    switch ((TokenKind)token.kind) {
    case KW_def:
    case KW_class:
    case KW_return:
    case KW_while:
    case KW_with:
    case KW_import:
    case KW_raise:
    case KW_assert:
    case KW_pass:
    case KW_break:
    case KW_continue:
    case KW_try:
    case KW_except:
    case KW_finally:
    case KW_del:
    case KW_global:
    case KW_nonlocal:
    case KW_elif:
        return true;
    case OP_at:
        return token.column == 0 && is_word_byte(lexer->base[token.hi]) && lexer->brackets.len;
    default:
        return false;
    }
}

/* Appends a token that stands within a line and keeps the stack of brackets. */
static void push_token(Lexer *lexer, Token token) {
    vec_push(lexer->arena, &lexer->tokens, token);
    if (is_opener(token.kind))
        vec_push(lexer->arena, &lexer->brackets, (Bracket){lexer->base[token.lo], token.lo});
    else if (is_closer(token.kind) && lexer->brackets.len)
        lexer->brackets.len--;
}

static void end_unclosed(Lexer *lexer) {
    Bracket opener = lexer->brackets.data[lexer->brackets.len - 1];
    Token error = {.kind = TOK_error,
                   .error = LEX_unclosed_bracket,
                   .lo = opener.at,
                   .hi = opener.at + 1};
    vec_push(lexer->arena, &lexer->tokens, error);
    lexer->brackets.len = 0;
}

static void push_newline(Lexer *lexer) {
    vec_push(lexer->arena, &lexer->tokens, make_token(lexer, lexer->cursor, TOK_newline));
}

/* The tokens of a logical line whose first token is at the cursor, with its NEWLINE. */
static void lex_line_tokens(Lexer *lexer, uint32_t column) {
    bool starts_line = true;
    for (;;) {
        Token token = lex_token(lexer);
        if (token.kind == TOK_newline && lexer->brackets.len) {
            column = skip_to_line(lexer).column;
            starts_line = true;
            continue;
        }
        token.starts_line = starts_line;
        token.column = (uint8_t)(!starts_line ? 0 : column > 255 ? 255 : column);
        if (token.kind == TOK_newline) {
            vec_push(lexer->arena, &lexer->tokens, token);
            return;
        }
        bool unclosed = lexer->brackets.len && (token.kind == TOK_end ||
                                                (starts_line && begins_statement(lexer, token)));
        if (unclosed) {
            lexer->cursor = lexer->base + token.lo;
            while (token.kind != TOK_end && lexer->cursor > lexer->base &&
                   (lexer->cursor[-1] == ' ' || lexer->cursor[-1] == '\t'))
                lexer->cursor--;
            end_unclosed(lexer);
        }
        if (unclosed || token.kind == TOK_end) {
            push_newline(lexer);
            return;
        }
        push_token(lexer, token);
        starts_line = false;
    }
}

void lex_line(Lexer *lexer) {
    lexer->tokens.len = 0;
    Indent indent = skip_to_line(lexer);
    lexer->line_indent = indent.column;
    if (lexer->cursor >= lexer->limit) {
        change_indentation(lexer, lexer->indents.data[0]);
        vec_push(lexer->arena, &lexer->tokens, make_token(lexer, lexer->cursor, TOK_end));
        return;
    }
    change_indentation(lexer, indent);
    lex_line_tokens(lexer, indent.column);
}

void lex_field(Lexer *field) {
    field->tokens.len = 0;
    for (;;) {
        Token token = lex_token(field);
        if (token.kind == TOK_newline)
            continue;
        bool outside = field->brackets.len == 0;
        bool ends = token.kind == TOK_end ||
                    (outside && (token.kind == OP_rbrace || token.kind == OP_colon ||
                                 token.kind == OP_walrus ||
                                 (token.kind == TOK_error && token.error == LEX_exclamation)));
        if (ends) {
            field->cursor = field->base + token.lo;
            vec_push(field->arena, &field->tokens, make_token(field, field->cursor, TOK_end));
            return;
        }
        push_token(field, token);
    }
}

void lex_restart(Lexer *lexer, uint32_t offset, size_t indents) {
    const char *at = lexer->base + offset;
    while (at > lexer->base && at[-1] != '\n' && at[-1] != '\r')
        at--;
    lexer->cursor = at;
    lexer->brackets.len = 0;
    if (indents < lexer->indents.len)
        lexer->indents.len = indents;
    lexer->tokens.len = 0;
}
