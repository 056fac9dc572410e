/* See arguments.h. Options are not known by their names: whatever begins with a dash may go, and
 * the command says what is wrong with that. */
#include "reduce/arguments.h"

#include <stdlib.h>

static size_t first_of(const Words *words) {
    size_t i = 0;
    while (i < words->len && !strstr(words->data[i], "{}"))
        i++;
    return i + 1;
}

static bool is_digit(char c) {
    return c >= '0' && c <= '9';
}

static bool is_option(const char *word) {
    return word[0] == '-' && word[1] && !is_digit(word[1]) && word[1] != '.';
}

/* Without words begin to end - 1. */
static Words without_words(Arena *arena, const Words *words, size_t begin, size_t end) {
    Words less = {0};
    for (size_t i = 0; i < words->len; i++)
        if (i < begin || i >= end)
            vec_push(arena, &less, words->data[i]);
    return less;
}

static Words with_word(Arena *arena, const Words *words, size_t at, const char *word) {
    Words changed = without_words(arena, words, 0, 0);
    changed.data[at] = word;
    return changed;
}

/* `text` instead of bytes lo to hi - 1 of a word. */
static void add_changed(Arena *arena, const Words *words, size_t at, size_t lo, size_t hi,
                        const char *text, WordsList *list) {
    const char *word = words->data[at];
    const char *changed = str_format(arena, "%.*s%s%s", (int)lo, word, text, word + hi);
    vec_push(arena, list, with_word(arena, words, at, changed));
}

static bool is_word_char(char c) {
    return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

/* The next number at *at or behind it that is part of no name and no float; false: there is none.
 */
static bool next_number(const char *word, size_t *at, size_t *end) {
    for (size_t i = *at; word[i]; i++) {
        if (!is_digit(word[i]) || (i && (is_word_char(word[i - 1]) || word[i - 1] == '.')))
            continue;
        size_t j = i;
        while (is_digit(word[j]))
            j++;
        const bool is_exponent = i >= 2 && (word[i - 1] == '-' || word[i - 1] == '+') &&
                                 is_word_char(word[i - 2]) &&
                                 (word[i - 2] == 'e' || word[i - 2] == 'E');
        if (!is_word_char(word[j]) && word[j] != '.' && !is_exponent) {
            *at = i;
            *end = j;
            return true;
        }
        i = j - 1;
    }
    return false;
}

static void smaller_number(Arena *arena, const Words *words, size_t at, size_t lo, size_t hi,
                           WordsList *list) {
    const unsigned long long value = strtoull(words->data[at] + lo, NULL, 10);
    unsigned long long power = 1;
    while (power <= value / 2)
        power *= 2;
    if (power == value)
        power /= 2;
    const unsigned long long tried[] = {1, power, value / 2};
    for (size_t i = 0; i < sizeof tried / sizeof *tried; i++) {
        bool is_new = tried[i] >= 1 && tried[i] < value;
        for (size_t k = 0; k < i; k++)
            is_new &= tried[k] != tried[i];
        if (is_new)
            add_changed(arena, words, at, lo, hi, str_format(arena, "%llu", tried[i]), list);
    }
}

void arguments_smaller(Arena *arena, const Words *words, WordsList *list) {
    const size_t first = first_of(words);
    size_t lo, hi;
    for (size_t i = words->len; i-- > first;) {
        if (!is_option(words->data[i]))
            continue;
        if (i + 1 < words->len && !is_option(words->data[i + 1]))
            vec_push(arena, list, without_words(arena, words, i, i + 2));
        vec_push(arena, list, without_words(arena, words, i, i + 1));
    }
    for (size_t i = first; i < words->len; i++)
        for (lo = 0; next_number(words->data[i], &lo, &hi); lo = hi)
            if (lo && words->data[i][lo - 1] == ':')
                add_changed(arena, words, i, lo - 1, hi, "", list);
    for (size_t i = first; i < words->len; i++)
        for (lo = 0; next_number(words->data[i], &lo, &hi); lo = hi)
            smaller_number(arena, words, i, lo, hi, list);
}

/* ---- of a parameter ---- */

/* NAME=.. */
static bool names(const char *text, Str parameter) {
    return !strncmp(text, parameter.ptr, parameter.len) && text[parameter.len] == '=';
}

/* Entry `index` of types between commas goes; false: there is none. */
static bool without_entry(Arena *arena, const char *types, uint32_t index, const char **less) {
    size_t depth = 0, begin = 0, end = 0;
    uint32_t entry = 0;
    for (size_t i = 0;; i++) {
        const char c = types[i];
        depth += c == '(' || c == '[' || c == '<';
        depth -= depth && (c == ')' || c == ']' || c == '>');
        if (c && (c != ',' || depth))
            continue;
        end = i;
        if (entry++ == index)
            break;
        if (!c)
            return false;
        begin = i + 1;
    }
    if (types[end])
        end++; /* with its comma */
    else if (begin)
        begin--;
    const char *rest = types + end;
    *less = str_format(arena, "%.*s%s", (int)begin, types, begin ? rest : rest + strspn(rest, " "));
    return true;
}

/* Where the types begin in a word `-sTYPES`, `--signature=TYPES`; NULL: it is none. */
static const char *attached_types(const char *word) {
    static const char long_name[] = "--signature=";
    if (!strncmp(word, long_name, sizeof long_name - 1))
        return word + sizeof long_name - 1;
    return word[0] == '-' && word[1] == 's' && word[2] ? word + 2 : NULL;
}

bool arguments_without(Arena *arena, const Words *words, Str parameter, uint32_t index,
                       Words *without) {
    Words less = {0};
    bool changed = false;
    const size_t first = first_of(words);
    for (size_t i = 0; i < words->len; i++) {
        const char *word = words->data[i], *types;
        const char *value = i >= first && i + 1 < words->len ? words->data[i + 1] : NULL;
        const bool is_types = value && (!strcmp(word, "-s") || !strcmp(word, "--signature"));
        if (value && is_option(word) && names(value, parameter)) {
            i++;
            changed = true;
        } else if (i >= first && (word[0] == '-' && (word[1] == 'a' || word[1] == 'D')) &&
                   names(word + 2, parameter)) {
            changed = true;
        } else if (is_types && without_entry(arena, value, index, &types)) {
            vec_push(arena, &less, word);
            vec_push(arena, &less, types);
            i++;
            changed = true;
        } else if (i >= first && attached_types(word) &&
                   without_entry(arena, attached_types(word), index, &types)) {
            vec_push(arena, &less,
                     str_format(arena, "%.*s%s", (int)(attached_types(word) - word), word, types));
            changed = true;
        } else {
            vec_push(arena, &less, word);
        }
    }
    *without = less;
    return changed;
}

void arguments_measure(const Words *words, double part[ARGUMENT_PARTS]) {
    part[0] = (double)words->len;
    part[1] = part[2] = 0;
    for (size_t i = 0; i < words->len; i++) {
        const char *word = words->data[i];
        part[1] += (double)strlen(word);
        for (size_t lo = 0, hi; next_number(word, &lo, &hi); lo = hi)
            part[2] += strtod(word + lo, NULL);
    }
}
