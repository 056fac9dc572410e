/* A reader of JSON (RFC 8259) whose values know where they stand, so that what is wrong with one
 * can be said at its place. Numbers stay text. Of equal names in an object the reader refuses the
 * second. */
#ifndef TILEC_SUPPORT_JSON_H
#define TILEC_SUPPORT_JSON_H
#include "support/diag.h"

typedef enum JsonKind {
    JSON_NULL,
    JSON_FALSE,
    JSON_TRUE,
    JSON_NUMBER,
    JSON_STRING,
    JSON_LIST,
    JSON_OBJECT,
} JsonKind;

typedef struct Json Json;

typedef struct JsonMember {
    Str name;
    Span span; /* of the name */
    const Json *value;
} JsonMember;

struct Json {
    JsonKind kind;
    Span span;
    Str text;                  /* of a number as it is written, of a string what it stands for */
    const Json *const *items;  /* of a list */
    const JsonMember *members; /* of an object */
    uint32_t count;
};

/* The value that source `file` holds from *at on, in the diagnostics' arena, and where the next one
 * begins, or the text ends; NULL after an error. */
const Json *json_read_next(Diags *diags, uint32_t file, size_t *at);
/* "a list", "an object", ..: for messages. */
const char *json_kind_text(JsonKind kind);
#endif
