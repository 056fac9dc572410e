/* Values of host code: Python's, with integers of 64 bits.
 *
 * Values are passed by value; what they point at lies in an arena. Lists, dicts and configurations
 * are objects, as in Python: whoever holds one sees what others do to it. They come up where a
 * file's own code is run (host_code.h), never in what a launch evaluates (host_expr.h). */
#ifndef TILEC_FRONTEND_HOST_VALUE_H
#define TILEC_FRONTEND_HOST_VALUE_H
#include "frontend/ast.h"
#include "support/vec.h"

typedef enum HostKind {
    HOST_UNKNOWN, /* of an argument whose value nobody has: using it is an error */
    HOST_NONE,
    HOST_BOOL,
    HOST_INT,
    HOST_FLOAT,
    HOST_TEXT,    /* a string; also an element type, as signatures spell it */
    HOST_POINTER, /* to elements of type `text` */
    HOST_LIST,
    HOST_TUPLE,
    HOST_DICT,
    HOST_CONFIG,   /* triton.Config(..) */
    HOST_CALLABLE, /* of the file, a lambda, a method */
    HOST_PATH,     /* of a module or what it holds: `text` is "triton.runtime.driver" */
} HostKind;

typedef struct HostList HostList;
typedef struct HostDict HostDict;
typedef struct HostConfig HostConfig;
typedef struct HostCallable HostCallable;

typedef struct HostValue {
    HostKind kind;
    union {
        int64_t i; /* HOST_INT, HOST_BOOL */
        double f;
        Str text;
        HostList *list; /* HOST_LIST, HOST_TUPLE */
        HostDict *dict;
        HostConfig *config;
        HostCallable *callable;
    };
} HostValue;

struct HostList {
    VEC(HostValue) items;
};

typedef struct HostPair {
    HostValue key, value;
} HostPair;

/* In the order in which keys came. */
struct HostDict {
    VEC(HostPair) pairs;
};

/* What a configuration may set besides constexprs: X(name, what it is where nobody says). Launches
 * leave to the compiler what is not said. */
#define HOST_CONFIG_OPTIONS(X) X(num_warps, 4) X(num_stages, 3) X(num_ctas, 1) X(maxnreg, 0)

struct HostConfig {
    HostDict *values;                                 /* of constexprs */
#define HOST_CONFIG_OPTION(name, value) int32_t name; /* 0: not said */
    HOST_CONFIG_OPTIONS(HOST_CONFIG_OPTION)
#undef HOST_CONFIG_OPTION
    Span span; /* of the call that made it */
    bool has_hook;
};

static inline HostValue host_int(int64_t i) {
    return (HostValue){.kind = HOST_INT, .i = i};
}
static inline HostValue host_bool(bool b) {
    return (HostValue){.kind = HOST_BOOL, .i = b};
}
static inline HostValue host_float(double f) {
    return (HostValue){.kind = HOST_FLOAT, .f = f};
}
static inline HostValue host_text(Str text) {
    return (HostValue){.kind = HOST_TEXT, .text = text};
}
static inline HostValue host_none(void) {
    return (HostValue){.kind = HOST_NONE};
}
static inline bool host_is_sequence(HostValue value) {
    return value.kind == HOST_LIST || value.kind == HOST_TUPLE;
}
#endif
