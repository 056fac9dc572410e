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
/* The member of an object; NULL: it has none of this name. */
const Json *json_find(const Json *object, const char *name);
/* The value as a literal of Python: None, True, False, a number as it is written, what a string
 * holds. False: it is a list or an object. */
bool json_literal(const Json *json, Str *text);
/* Report what is wrong, at its place; both return false. `wanted` stands where the value is;
 * `document`, "a manifest", has none but the `known` names. */
bool json_wrong(Diags *diags, const Json *json, const char *wanted);
bool json_unknown(Diags *diags, const JsonMember *member, const char *document, const Str *known,
                  size_t count);
#endif
