/* Mutations of PTX by tokens and statements: besides libFuzzer's on bytes, tokens are dropped,
 * doubled, exchanged and replaced by others of their kind or of the simulator's tables, statements
 * are dropped, copied and made at random from the table of instructions. What results is read far
 * more often, so that the executor sees new programs too. */
#include "fuzz.h"
#include "random_ptx.h"
#include "sim/parse/lex.h"
#include "sim/parse/table.h"

#include <string.h>

size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t max_size);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned seed);

enum { MAX_TOKENS = 8192 };

typedef struct Text {
    const char *bytes; /* terminated */
    size_t size;
    PtxToken *tokens;
    unsigned count;
    Choices choices;
} Text;

typedef struct Piece {
    size_t lo, hi;
} Piece;

static void read_tokens(Text *text) {
    uint32_t at = 0;
    while (text->count < MAX_TOKENS) {
        PtxToken token = ptx_lex(text->bytes, (uint32_t)text->size, at);
        if (token.kind == PTX_END)
            return;
        text->tokens[text->count++] = token;
        at = token.hi;
    }
}

static unsigned any_token(Text *text) {
    return choose(&text->choices, text->count < 65536 ? text->count : 65536);
}

static Piece token_piece(const Text *text, unsigned index) {
    return (Piece){text->tokens[index].lo, text->tokens[index].hi};
}

static bool ends_statement(const PtxToken *token) {
    return token->kind == PTX_PUNCT && strchr(";{}", token->punct);
}

/* The tokens behind one end of a statement up to the next. */
static Piece statement_piece(const Text *text, unsigned index) {
    unsigned first = index, last = index;
    while (first && !ends_statement(&text->tokens[first - 1]))
        first--;
    while (last + 1 < text->count && !ends_statement(&text->tokens[last]))
        last++;
    return (Piece){text->tokens[first].lo, text->tokens[last].hi};
}

/* A token of the same kind, from elsewhere in the text. */
static Piece like_token(Text *text, unsigned index) {
    for (unsigned i = 0; i < 64; i++) {
        unsigned other = any_token(text);
        if (text->tokens[other].kind == text->tokens[index].kind)
            return token_piece(text, other);
    }
    return token_piece(text, index);
}

/* What the tables have for a token of this kind. */
static void put_from_tables(Text *text, unsigned index, StrBuf *out) {
    static const char *const numbers[] = {"0",
                                          "1",
                                          "2",
                                          "3",
                                          "4",
                                          "7",
                                          "8",
                                          "15",
                                          "16",
                                          "31",
                                          "32",
                                          "33",
                                          "64",
                                          "127",
                                          "128",
                                          "255",
                                          "256",
                                          "1023",
                                          "-1",
                                          "512",
                                          "511",
                                          "4096",
                                          "65535",
                                          "2147483647",
                                          "0x7fffffff",
                                          "0x80000000",
                                          "0xffffffff",
                                          "9223372036854775807",
                                          "18446744073709551615",
                                          "0x8000000000000000",
                                          "1048576",
                                          "232448"};
    static const char *const directives[] = {"reg",
                                             "local",
                                             "shared",
                                             "global",
                                             "const",
                                             "param",
                                             "entry",
                                             "func",
                                             "extern",
                                             "visible",
                                             "align",
                                             "reqntid",
                                             "maxntid",
                                             "loc",
                                             "pragma",
                                             "file",
                                             "branchtargets",
                                             "callprototype",
                                             "section",
                                             "alias",
                                             "weak",
                                             "maxnreg",
                                             "ptr",
                                             "reqnctapercluster",
                                             "maxclusterrank",
                                             "explicitcluster"};
    Choices *choices = &text->choices;
    switch (text->tokens[index].kind) {
    case PTX_WORD:
        if (choose(choices, 4) == 0)
            strbuf_printf(out, ".%s", type_info[choose(choices, TYPE_COUNT)].name);
        else if (choose(choices, 8) == 0)
            strbuf_printf(out, ".%s",
                          directives[choose(choices, sizeof directives / sizeof *directives)]);
        else
            strbuf_printf(out, ".%s", word_text[1 + choose(choices, WORD_COUNT - 1)]);
        return;
    case PTX_NAME:
        strbuf_puts(out, choose(choices, 4) ? insn_rows[choose(choices, insn_row_count)].name
                                            : special_info[choose(choices, SPECIAL_COUNT)].name);
        return;
    case PTX_INT:
    case PTX_FLOAT:
        strbuf_puts(out, numbers[choose(choices, sizeof numbers / sizeof *numbers)]);
        return;
    case PTX_PUNCT:
        strbuf_putc(out, "[](){}<>,;:@!|+=*-"[choose(choices, 18)]);
        return;
    case PTX_END:
    case PTX_STRING:
    case PTX_BAD:
        strbuf_puts(out, "\"k.tile\"");
        return;
    }
}

static void put_piece(const Text *text, Piece piece, StrBuf *out) {
    strbuf_add(out, text->bytes + piece.lo, piece.hi - piece.lo);
    strbuf_putc(out, ' ');
}

/* The text with a piece replaced by what `middle` has. */
static void splice(const Text *text, Piece piece, const StrBuf *middle, StrBuf *out) {
    strbuf_add(out, text->bytes, piece.lo);
    strbuf_putc(out, ' ');
    if (middle->len)
        strbuf_add(out, middle->ptr, middle->len);
    strbuf_putc(out, ' ');
    strbuf_add(out, text->bytes + piece.hi, text->size - piece.hi);
}

static void mutate(Text *text, Arena *arena, StrBuf *out) {
    StrBuf middle = strbuf(arena);
    unsigned index = any_token(text);
    Piece token = token_piece(text, index), statement = statement_piece(text, index);
    switch (choose(&text->choices, 12)) {
    case 0:
        splice(text, token, &middle, out);
        return;
    case 1:
        put_piece(text, token, &middle);
        put_piece(text, token, &middle);
        splice(text, token, &middle, out);
        return;
    case 2:
    case 3:
    case 4:
        put_piece(text, like_token(text, index), &middle);
        splice(text, token, &middle, out);
        return;
    case 5:
    case 6:
        put_from_tables(text, index, &middle);
        splice(text, token, &middle, out);
        return;
    case 7:
        splice(text, statement, &middle, out);
        return;
    case 8:
        put_piece(text, statement, &middle);
        put_piece(text, statement_piece(text, any_token(text)), &middle);
        splice(text, statement, &middle, out);
        return;
    default:
        put_piece(text, statement, &middle);
        random_ptx_statement(&text->choices, &middle);
        splice(text, statement, &middle, out);
        return;
    }
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned seed) {
    Arena arena = {0};
    Text text = {.size = size, .choices = {.state = seed}};
    StrBuf out = strbuf(&arena);
    unsigned choice = choose(&text.choices, 64);
    if (choice < 6)
        return LLVMFuzzerMutate(data, size, max_size);
    text.bytes = str_dup(&arena, (Str){(const char *)data, size});
    text.tokens = ARENA_ARRAY(&arena, PtxToken, MAX_TOKENS);
    read_tokens(&text);
    if (choice == 6 || !text.count)
        random_ptx_module(&text.choices, 1 + choose(&text.choices, 40), &out);
    else
        mutate(&text, &arena, &out);
    bool fits = out.len <= max_size;
    if (fits && out.len)
        memcpy(data, out.ptr, out.len);
    size = fits ? out.len : size;
    arena_free(&arena);
    return size;
}
