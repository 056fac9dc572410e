/* The tables of words, types and special registers, and finding what a text names. */
#include "sim/parse/words.h"

const TypeInfo type_info[TYPE_COUNT] = {
#define TYPE(id, bits, kind) [TYPE_##id] = {#id, bits, KIND_##kind},
#include "sim/parse/types.def"
};

const SpecialInfo special_info[SPECIAL_COUNT] = {
#define SPECIAL(id, text, bits, changes) [SPECIAL_##id] = {text, bits, changes},
#include "sim/parse/specials.def"
};

const char *const word_text[WORD_COUNT] = {
#define WORD(id, text, field) [WORD_##id] = text,
#include "sim/parse/words.def"
};

const Field word_field[WORD_COUNT] = {
#define WORD(id, text, field) [WORD_##id] = FIELD_##field,
#include "sim/parse/words.def"
};

int type_find(Str name) {
    for (int i = 0; i < TYPE_COUNT; i++)
        if (str_is(name, type_info[i].name))
            return i;
    return -1;
}

bool word_fits(Str pattern, Str text, uint16_t *number) {
    const char *hash = memchr(pattern.ptr, '#', pattern.len);
    if (!hash)
        return str_eq(pattern, text);
    size_t before = (size_t)(hash - pattern.ptr), after = pattern.len - before - 1, at = before;
    unsigned value = 0;
    if (text.len <= before + after || text.ptr[before] == '0' ||
        memcmp(text.ptr, pattern.ptr, before) != 0)
        return false;
    for (; at < text.len && text.ptr[at] >= '0' && text.ptr[at] <= '9' && value < 1000; at++)
        value = value * 10 + (unsigned)(text.ptr[at] - '0');
    *number = (uint16_t)value;
    return at > before && text.len - at == after && !memcmp(text.ptr + at, hash + 1, after);
}

Word word_find(Str text, uint16_t *number) {
    for (int i = 1; i < WORD_COUNT; i++)
        if (word_fits(str_from(word_text[i]), text, number))
            return (Word)i;
    return WORD_none;
}

int special_find(Str text) {
    for (int i = 0; i < SPECIAL_COUNT; i++)
        if (str_is(text, special_info[i].name))
            return i;
    return -1;
}
