/* JSON as trees: of config.json and of the heads of .safetensors files. */
#ifndef EXAMPLES_LLM_JSON_H
#define EXAMPLES_LLM_JSON_H
#include <stdbool.h>
#include <stddef.h>

typedef enum JsonKind {
    JSON_NULL,
    JSON_BOOL,
    JSON_NUMBER,
    JSON_STRING,
    JSON_LIST,
    JSON_OBJECT
} JsonKind;

typedef struct Json {
    JsonKind kind;
    const char *key; /* of a member of an object; texts are as written: escapes stay */
    size_t key_size;
    const char *text; /* of a string */
    size_t text_size;
    double number; /* also 0 and 1 of a bool */
    struct Json *first, *next;
} Json;

/* NULL: not JSON, or out of memory. The texts lie in `text`. */
Json *json_parse(const char *text, size_t size);
void json_free(Json *json);
/* A member of an object; NULL: there is none, or `json` is none. */
const Json *json_find(const Json *json, const char *key);
bool json_is(const Json *json, const char *text);
#endif
