#include "json.h"

#include <stdlib.h>
#include <string.h>

enum { MAX_DEPTH = 64 };

typedef struct Reader {
    const char *at, *end;
} Reader;

static Json *read_value(Reader *reader, int depth);

static char peek(Reader *reader) {
    while (reader->at < reader->end && strchr(" \t\r\n", *reader->at) && *reader->at)
        reader->at++;
    return reader->at < reader->end ? *reader->at : 0;
}

static bool take(Reader *reader, char c) {
    const bool there = peek(reader) == c;
    reader->at += there;
    return there;
}

static bool read_text(Reader *reader, const char **text, size_t *size) {
    if (!take(reader, '"'))
        return false;
    *text = reader->at;
    while (reader->at < reader->end && *reader->at != '"')
        reader->at += *reader->at == '\\' && reader->at + 1 < reader->end ? 2 : 1;
    *size = (size_t)(reader->at - *text);
    return take(reader, '"');
}

static bool read_word(Reader *reader, const char *word) {
    const size_t length = strlen(word);
    if ((size_t)(reader->end - reader->at) < length || memcmp(reader->at, word, length) != 0)
        return false;
    reader->at += length;
    return true;
}

static bool read_number(Reader *reader, double *number) {
    char digits[64] = "";
    size_t length = 0;
    while (reader->at < reader->end && length < sizeof digits - 1 && *reader->at &&
           strchr("+-0123456789.eE", *reader->at))
        digits[length++] = *reader->at++;
    char *end;
    *number = strtod(digits, &end);
    return length && !*end;
}

static bool read_members(Reader *reader, Json *json, char close, int depth) {
    Json **last = &json->first;
    if (take(reader, close))
        return true;
    do {
        const char *key = NULL;
        size_t key_size = 0;
        if (json->kind == JSON_OBJECT &&
            (!read_text(reader, &key, &key_size) || !take(reader, ':')))
            return false;
        if (!(*last = read_value(reader, depth + 1)))
            return false;
        (*last)->key = key;
        (*last)->key_size = key_size;
        last = &(*last)->next;
    } while (take(reader, ','));
    return take(reader, close);
}

static bool read_into(Reader *reader, Json *json, int depth) {
    switch (peek(reader)) {
    case '{':
    case '[':
        json->kind = take(reader, '{') ? JSON_OBJECT : (take(reader, '['), JSON_LIST);
        return depth < MAX_DEPTH &&
               read_members(reader, json, json->kind == JSON_OBJECT ? '}' : ']', depth);
    case '"':
        json->kind = JSON_STRING;
        return read_text(reader, &json->text, &json->text_size);
    case 't':
    case 'f':
        json->kind = JSON_BOOL;
        json->number = *reader->at == 't';
        return read_word(reader, "true") || read_word(reader, "false");
    case 'n':
        return read_word(reader, "null");
    }
    json->kind = JSON_NUMBER;
    return read_number(reader, &json->number);
}

static Json *read_value(Reader *reader, int depth) {
    Json *json = calloc(1, sizeof *json);
    if (json && read_into(reader, json, depth))
        return json;
    json_free(json);
    return NULL;
}

Json *json_parse(const char *text, size_t size) {
    Reader reader = {text, text + size};
    Json *json = read_value(&reader, 0);
    if (!json || (peek(&reader) == 0 && reader.at == reader.end))
        return json;
    json_free(json);
    return NULL;
}

void json_free(Json *json) {
    while (json) {
        Json *next = json->next;
        json_free(json->first);
        free(json);
        json = next;
    }
}

const Json *json_find(const Json *json, const char *key) {
    for (const Json *at = json ? json->first : NULL; at; at = at->next)
        if (at->key && strlen(key) == at->key_size && !memcmp(at->key, key, at->key_size))
            return at;
    return NULL;
}

bool json_is(const Json *json, const char *text) {
    return json && json->kind == JSON_STRING && strlen(text) == json->text_size &&
           !memcmp(json->text, text, json->text_size);
}
