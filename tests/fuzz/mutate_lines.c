/* Mutations of program text: besides libFuzzer's on bytes, whole lines are copied, moved, indented
 * and dropped, and words are replaced by other words of the text. What results is syntactically
 * right far more often, so that the stages behind the parser see new programs too. */
#include "fuzz.h"

#include <ctype.h>
#include <string.h>

size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t max_size);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned seed);

enum { MAX_PIECE = 512 };

typedef struct Piece {
    size_t at, len;
} Piece;

static unsigned next_random(unsigned *state) {
    *state = *state * 1664525u + 1013904223u;
    return *state >> 8;
}

static bool is_word(uint8_t c) {
    return isalnum(c) || c == '_';
}

/* A line with its newline, around a random place. */
static Piece random_line(const uint8_t *data, size_t size, unsigned *state) {
    size_t lo = next_random(state) % size, hi = lo;
    while (lo > 0 && data[lo - 1] != '\n')
        lo--;
    while (hi < size && data[hi] != '\n')
        hi++;
    return (Piece){lo, (hi < size ? hi + 1 : hi) - lo};
}

/* A name or number near a random place; empty if there is none. */
static Piece random_word(const uint8_t *data, size_t size, unsigned *state) {
    size_t lo = next_random(state) % size;
    while (lo < size && !is_word(data[lo]))
        lo++;
    size_t hi = lo;
    while (lo > 0 && is_word(data[lo - 1]))
        lo--;
    while (hi < size && is_word(data[hi]))
        hi++;
    return (Piece){lo, hi - lo};
}

/* Puts `len` bytes in the place of a piece; the size unchanged if that does not fit. */
static size_t replace(uint8_t *data, size_t size, size_t max_size, Piece piece, const uint8_t *with,
                      size_t len) {
    if (size - piece.len + len > max_size)
        return size;
    memmove(data + piece.at + len, data + piece.at + piece.len, size - piece.at - piece.len);
    if (len)
        memcpy(data + piece.at, with, len);
    return size - piece.len + len;
}

static size_t copy_line(uint8_t *data, size_t size, size_t max_size, unsigned *state) {
    uint8_t line[MAX_PIECE];
    Piece from = random_line(data, size, state), to = random_line(data, size, state);
    size_t len = from.len < MAX_PIECE ? from.len : MAX_PIECE;
    memcpy(line, data + from.at, len);
    return replace(data, size, max_size, (Piece){to.at, 0}, line, len);
}

static size_t replace_word(uint8_t *data, size_t size, size_t max_size, unsigned *state) {
    uint8_t word[MAX_PIECE];
    Piece from = random_word(data, size, state), to = random_word(data, size, state);
    size_t len = from.len < MAX_PIECE ? from.len : MAX_PIECE;
    memcpy(word, data + from.at, len);
    return replace(data, size, max_size, to, word, len);
}

static size_t indent_line(uint8_t *data, size_t size, size_t max_size, unsigned *state) {
    Piece line = random_line(data, size, state);
    bool indented = line.len > 4 && memcmp(data + line.at, "    ", 4) == 0;
    if (indented && next_random(state) % 2)
        return replace(data, size, max_size, (Piece){line.at, 4}, NULL, 0);
    return replace(data, size, max_size, (Piece){line.at, 0}, (const uint8_t *)"    ", 4);
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned seed) {
    unsigned state = seed;
    unsigned choice = next_random(&state) % 8;
    if (size == 0 || choice < 3)
        return LLVMFuzzerMutate(data, size, max_size);
    switch (choice) {
    case 3:
        return copy_line(data, size, max_size, &state);
    case 4:
        return indent_line(data, size, max_size, &state);
    case 5:
        return replace(data, size, max_size, random_line(data, size, &state), NULL, 0);
    default:
        return replace_word(data, size, max_size, &state);
    }
}
