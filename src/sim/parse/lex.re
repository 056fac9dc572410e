/* The lexer of PTX. */
#include "sim/parse/lex.h"

static PtxToken token(const char *text, const char *begin, const char *end, PtxTokenKind kind) {
    return (PtxToken){.kind = kind,
                      .punct = (char)(kind == PTX_PUNCT ? *begin : 0),
                      .lo = (uint32_t)(begin - text),
                      .hi = (uint32_t)(end - text)};
}

PtxToken ptx_lex(const char *text, uint32_t length, uint32_t offset) {
    const char *YYCURSOR = text + offset, *YYMARKER = YYCURSOR, *begin;
#define TOKEN(kind) return token(text, begin, YYCURSOR, PTX_##kind)
    for (;;) {
        begin = YYCURSOR;
        /*!re2c
        re2c:define:YYCTYPE = "unsigned char";
        re2c:yyfill:enable = 0;

        letter = [A-Za-z_$%];
        follow = [A-Za-z0-9_$];
        digit = [0-9];
        hex = [0-9a-fA-F];
        exponent = [eE] [+-]? digit+;

        [ \t\r\n\f\v]+  { continue; }
        "//" [^\n\x00]* { continue; }
        "/*" ([^*\x00] | "*"+ [^*/\x00])* "*"+ "/" { continue; }

        letter follow*  { TOKEN(NAME); }
        "." [A-Za-z0-9_] follow* ("::" follow+)* { TOKEN(WORD); }
        "0" [fF] hex{8}  { TOKEN(FLOAT); }
        "0" [dD] hex{16} { TOKEN(FLOAT); }
        digit+ "." digit* exponent? { TOKEN(FLOAT); }
        digit+ exponent { TOKEN(FLOAT); }
        "0" [xX] hex+ "U"? { TOKEN(INT); }
        "0" [bB] [01]+ "U"? { TOKEN(INT); }
        digit+ "U"?     { TOKEN(INT); }
        "\"" ([^"\\\n\x00] | "\\" [^\n\x00])* "\"" { TOKEN(STRING); }
        [[\](){}<>,;:@!|+=*\-] { TOKEN(PUNCT); }
        "\x00"          {
            YYCURSOR = begin;
            if (begin >= text + length)
                TOKEN(END);
            YYCURSOR = begin + 1;
            TOKEN(BAD);
        }
        *               { TOKEN(BAD); }
        */
    }
#undef TOKEN
}
