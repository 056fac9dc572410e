/* Attributes of ops: kinds (attrs.def), names (attr_names.def), and for each op of ops.def a struct
 * of those it has, which ir.h gives access to:
 *
 *   load_attrs(op)->is_volatile   of a load; another op stops checked builds, an attribute that a
 *                                 load has not does not compile
 *   op_is_volatile(op)            of any op of the family that has it: see attr_names.def
 *
 * Only what treats all ops alike goes by number: op_attr(), op_set_attr(). */
#ifndef TILEC_IR_ATTRS_H
#define TILEC_IR_ATTRS_H
#include "support/str.h"
#include <stdbool.h>
#include <stdint.h>

/* Kinds */

#define ENUM(kind, c_type) typedef enum c_type {
#define VALUE(kind, id, text) kind##_##id,
#define END(kind)                                                                                  \
    kind##_COUNT                                                                                   \
    }                                                                                              \
    CTYPE_##kind, CTYPE_OPT_##kind;
#include "ir/attrs.def"
#define ENUM(kind, c_type) typedef CTYPE_##kind c_type;
#define VALUE(kind, id, text)
#define END(kind)
#include "ir/attrs.def"

typedef enum AttrKind {
    ATTR_I64,
    ATTR_F64,
    ATTR_BOOL,
    ATTR_STR,
    ATTR_INTS,
#define ENUM(kind, c_type) ATTR_##kind,
#define VALUE(kind, id, text)
#define END(kind)
#include "ir/attrs.def"
    ATTR_KIND_COUNT
} AttrKind;

/* AttrKind and optionality of the kinds as written in the tables. */
enum {
#define KINDS(kind) KIND_##kind = ATTR_##kind, KIND_OPT_##kind = ATTR_##kind,
#define ENUM(kind, c_type) KINDS(kind)
#define VALUE(kind, id, text)
#define END(kind)
    KINDS(I64) KINDS(F64) KINDS(BOOL) KINDS(STR) KINDS(INTS)
#include "ir/attrs.def"
};
#undef KINDS
enum {
#define KINDS(kind) MAY_OMIT_##kind = 0, MAY_OMIT_OPT_##kind = 1,
#define ENUM(kind, c_type) KINDS(kind)
#define VALUE(kind, id, text)
#define END(kind)
    KINDS(I64) KINDS(F64) KINDS(BOOL) KINDS(STR) KINDS(INTS)
#include "ir/attrs.def"
};
#undef KINDS

/* Values of an enumerated kind by number; NULL past the end, and for the other kinds. */
const char *attr_enum_text(AttrKind kind, int64_t value);

typedef struct Ints {
    const int64_t *ptr;
    uint32_t len;
} Ints;

typedef int64_t CTYPE_I64, CTYPE_OPT_I64;
typedef double CTYPE_F64;
typedef bool CTYPE_BOOL, CTYPE_OPT_BOOL;
typedef Str CTYPE_STR;
typedef Ints CTYPE_INTS;

/* An attribute of any kind. */
typedef union Attr {
    int64_t i; /* I64, BOOL and the enumerations */
    double f;
    Str s; /* interned */
    Ints ints;
} Attr;

/* Names */

typedef enum AttrName {
#define FAMILY(kind, name) ATTR_NAME_##name,
#define NAME(name) ATTR_NAME_##name,
#include "ir/attr_names.def"
    ATTR_NAME_COUNT
} AttrName;

typedef struct AttrInfo {
    AttrName name;
    AttrKind kind;
    bool optional;   /* left out of the text when zero */
    uint16_t offset; /* in bytes, in the op's attributes */
} AttrInfo;

const char *attr_name_text(AttrName name);

/* EACH_ATTR(F, op, AT2(KIND, name, KIND2, name2)): F(op, 0, KIND, name) F(op, 1, KIND2, name2). */
enum { OP_MAX_ATTRS = 8 };
#define EACH_ATTR(F, op, at) EACH_ATTR_EXPANDED(F, op, ATTR_LIST_##at)
#define EACH_ATTR_EXPANDED(...) EACH_ATTR_COUNTED(__VA_ARGS__)
#define EACH_ATTR_COUNTED(F, op, count, ...) EACH_ATTR_##count(F, op, __VA_ARGS__)
#define ATTR_LIST_AT0() 0, none
#define ATTR_LIST_AT1(...) 1, __VA_ARGS__
#define ATTR_LIST_AT2(...) 2, __VA_ARGS__
#define ATTR_LIST_AT3(...) 3, __VA_ARGS__
#define ATTR_LIST_AT4(...) 4, __VA_ARGS__
#define ATTR_LIST_AT5(...) 5, __VA_ARGS__
#define ATTR_LIST_AT6(...) 6, __VA_ARGS__
#define ATTR_LIST_AT7(...) 7, __VA_ARGS__
#define ATTR_LIST_AT8(...) 8, __VA_ARGS__
#define EACH_ATTR_0(F, op, none)
#define EACH_ATTR_1(F, op, k, n) F(op, 0, k, n)
#define EACH_ATTR_2(F, op, k, n, k2, n2) EACH_ATTR_1(F, op, k, n) F(op, 1, k2, n2)
#define EACH_ATTR_3(F, op, k, n, k2, n2, k3, n3) EACH_ATTR_2(F, op, k, n, k2, n2) F(op, 2, k3, n3)
#define EACH_ATTR_4(F, op, k, n, k2, n2, k3, n3, k4, n4)                                           \
    EACH_ATTR_3(F, op, k, n, k2, n2, k3, n3) F(op, 3, k4, n4)
#define EACH_ATTR_5(F, op, k, n, k2, n2, k3, n3, k4, n4, k5, n5)                                   \
    EACH_ATTR_4(F, op, k, n, k2, n2, k3, n3, k4, n4) F(op, 4, k5, n5)
#define EACH_ATTR_6(F, op, k, n, k2, n2, k3, n3, k4, n4, k5, n5, k6, n6)                           \
    EACH_ATTR_5(F, op, k, n, k2, n2, k3, n3, k4, n4, k5, n5) F(op, 5, k6, n6)
#define EACH_ATTR_7(F, op, k, n, k2, n2, k3, n3, k4, n4, k5, n5, k6, n6, k7, n7)                   \
    EACH_ATTR_6(F, op, k, n, k2, n2, k3, n3, k4, n4, k5, n5, k6, n6) F(op, 6, k7, n7)
#define EACH_ATTR_8(F, op, k, n, k2, n2, k3, n3, k4, n4, k5, n5, k6, n6, k7, n7, k8, n8)           \
    EACH_ATTR_7(F, op, k, n, k2, n2, k3, n3, k4, n4, k5, n5, k6, n6, k7, n7) F(op, 7, k8, n8)

#define FIELD(op, index, kind, name) CTYPE_##kind name;
#define OP(name, in, at, ...)                                                                      \
    struct name##_attrs {                                                                          \
        EACH_ATTR(FIELD, name, at)                                                                 \
    };
#define OP_E OP
#define OP_R OP
#include "ir/ops.def"
#undef FIELD
#endif
