/* The lexer of the textual Tile IR. */
#include "ir/lex.h"

static IrToken token(const char *text, const char *begin, const char *end, IrTokenKind kind,
                     bool line_start) {
    return (IrToken){.kind = kind,
                     .punct = kind == TOKEN_PUNCT ? *begin : 0,
                     .line_start = line_start,
                     .lo = (uint32_t)(begin - text),
                     .hi = (uint32_t)(end - text)};
}

IrToken ir_lex(const char *text, uint32_t length, uint32_t offset) {
    const char *YYCURSOR = text + offset, *YYMARKER = YYCURSOR, *begin;
    bool line_start = offset == 0;
#define TOKEN(kind) return token(text, begin, YYCURSOR, TOKEN_##kind, line_start)
    for (;;) {
        begin = YYCURSOR;
        /*!re2c
        re2c:define:YYCTYPE = "unsigned char";
        re2c:yyfill:enable = 0;

        letter = [A-Za-z_];
        word = [A-Za-z0-9_.];
        digit = [0-9];
        hex = [0-9a-fA-F];
        exponent = [eE] [+-]? digit+;

        [ \t\r]+        { continue; }
        "\n"            { line_start = true; continue; }
        "//" [^\n\x00]* { continue; }

        letter word*    { TOKEN(NAME); }
        "%" word+       { TOKEN(VALUE); }
        "@" word+       { TOKEN(SYMBOL); }
        "@" "\"" ([^"\\\n\x00] | "\\" [^\n\x00])* "\"" { TOKEN(SYMBOL); }
        "#" word+       { TOKEN(ALIAS); }
        "-"? digit+     { TOKEN(INT); }
        "-"? "0x" hex+  { TOKEN(INT); }
        "-"? "0x" hex+ ("." hex*)? "p" [+-]? digit+ { TOKEN(FLOAT); }
        "-"? digit+ ("." digit* exponent? | exponent) { TOKEN(FLOAT); }
        "-inf"          { TOKEN(FLOAT); }
        digit+ "x"      { TOKEN(SIZE); }
        "\"" ([^"\\\n\x00] | "\\" [^\n\x00])* "\"" { TOKEN(STRING); }
        "\"" ([^"\\\n\x00] | "\\" [^\n\x00])* { TOKEN(UNCLOSED); }
        "\"" ([^"\\\n\x00] | "\\" [^\n\x00])* "\\" { TOKEN(UNCLOSED); }
        [(){}[\]<>,:=]  { TOKEN(PUNCT); }
        "\x00" {
            if (begin < text + length)
                TOKEN(UNKNOWN);
            YYCURSOR = begin;
            TOKEN(END);
        }
        *               { TOKEN(UNKNOWN); }
        */
    }
#undef TOKEN
}
