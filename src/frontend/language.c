#include "frontend/language.h"

#define BEFORE false
#define AFTER true

const LanguageChangeRow language_changes[] = {
#define CHANGE(id, since, now, construct, before, after)                                           \
    {#id, since, now, construct, before, after},
#include "frontend/language.def"
};

const LanguageRow language_features[] = {
#define FEATURE(id, since, construct) {#id, since, construct},
#include "frontend/language.def"
};

const LanguageRow language_ends[] = {
#define ENDED(id, last, construct) {#id, last, construct},
#include "frontend/language.def"
};

const LanguageParameter language_parameters[] = {
#define PARAMETER(builtin, name, since) {BUILTIN_##builtin, name, since},
#include "frontend/language.def"
};
const size_t language_parameter_count = sizeof language_parameters / sizeof *language_parameters;

static const char *const since_of_builtin[BUILTIN_COUNT] = {
#define ENTRY(id, since, meaning, example, expected) [BUILTIN_##id] = since,
#include "frontend/reference.def"
};

static bool is_digit(char c) {
    return c >= '0' && c <= '9';
}

/* `3.6` at the start of a text is 36; 0: no version stands there. */
static int32_t version_of(Str text) {
    if (text.len < 3 || !is_digit(text.ptr[0]) || text.ptr[1] != '.' || !is_digit(text.ptr[2]))
        return 0;
    return (text.ptr[0] - '0') * 10 + text.ptr[2] - '0';
}

int32_t frontend_language(Str text) {
    const int32_t version = text.len == 3 ? version_of(text) : 0;
    return version >= LANGUAGE_OLDEST && version <= LANGUAGE_NEWEST ? version : 0;
}

int32_t language_since(BuiltinId id) {
    const char *since = since_of_builtin[id];
    const int32_t version = since ? version_of(str_from(since)) : 0;
    return version > LANGUAGE_OLDEST ? version : 0;
}
