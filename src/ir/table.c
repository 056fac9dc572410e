/* op_info, and the names and enumerated kinds of attributes, from ops.def, attr_names.def and
 * attrs.def. */
#include "ir/rules.h"
#include <stddef.h>

#define ENUM(kind, c_type) static const char *const text_##kind[kind##_COUNT] = {
#define VALUE(kind, id, text) [kind##_##id] = text,
#define END(kind)                                                                                  \
    }                                                                                              \
    ;
#include "ir/attrs.def"

const char *attr_enum_text(AttrKind kind, int64_t value) {
    switch (kind) {
#define ENUM(kind, c_type)                                                                         \
    case ATTR_##kind:                                                                              \
        return value >= 0 && value < kind##_COUNT ? text_##kind[value] : NULL;
#define VALUE(kind, id, text)
#define END(kind)
#include "ir/attrs.def"
    case ATTR_I64:
    case ATTR_F64:
    case ATTR_BOOL:
    case ATTR_STR:
    case ATTR_INTS:
    case ATTR_KIND_COUNT:
        break;
    }
    return NULL;
}

const char *attr_name_text(AttrName name) {
    static const char *const texts[ATTR_NAME_COUNT] = {
#define FAMILY(kind, name) [ATTR_NAME_##name] = #name,
#define NAME(name) [ATTR_NAME_##name] = #name,
#include "ir/attr_names.def"
    };
    return texts[name];
}

/* An attribute of a family has the same kind in every op. */
enum {
#define FAMILY(kind, name) FAMILY_KIND_##name = KIND_##kind,
#define NAME(name) FAMILY_KIND_##name = -1,
#include "ir/attr_names.def"
};
#define SAME_KIND(op, index, kind, name)                                                           \
    _Static_assert((int)FAMILY_KIND_##name < 0 || (int)FAMILY_KIND_##name == (int)KIND_##kind,     \
                   #op " has attribute " #name " with another kind than its family");
#define OP(name, in, at, ...) EACH_ATTR(SAME_KIND, name, at)
#define OP_E OP
#define OP_R OP
#include "ir/ops.def"

#define NIN_IN0() .min_operands = 0, .max_operands = 0
#define NIN_IN1(a) .min_operands = 1, .max_operands = 1, .operand_names = {#a}
#define NIN_IN2(a, b) .min_operands = 2, .max_operands = 2, .operand_names = {#a, #b}
#define NIN_IN3(a, b, c) .min_operands = 3, .max_operands = 3, .operand_names = {#a, #b, #c}
#define NIN_INO2(min, a, b) .min_operands = min, .max_operands = 2, .operand_names = {#a, #b}
#define NIN_INO(min, a, b, c) .min_operands = min, .max_operands = 3, .operand_names = {#a, #b, #c}
#define NIN_INO4(min, a, b, c, d)                                                                  \
    .min_operands = min, .max_operands = 4, .operand_names = {#a, #b, #c, #d}
#define NIN_INV(xs) .min_operands = 0, .max_operands = -1, .operand_names = {#xs}
#define COUNT(op, index, kind, name) +1
#define ATTR_INFO(op, index_, kind_, name_)                                                        \
    [index_] = {.name = ATTR_NAME_##name_,                                                         \
                .kind = (AttrKind)KIND_##kind_,                                                    \
                .optional = MAY_OMIT_##kind_,                                                      \
                .offset = offsetof(struct op##_attrs, name_)},
#define RES_OUT0(r) RESULT_NONE
#define RES_OUT1(r) RESULT_INFERRED
#define RES_OUTT(r) RESULT_STATED
#define RES_OUTV(r) RESULT_VARIADIC
#define ROW(name_, in, at, out, traits_, regions_, summary_)                                       \
    [OP_##name_] = {.name = #name_,                                                                \
                    .summary = summary_,                                                           \
                    NIN_##in,                                                                      \
                    .attr_count = 0 EACH_ATTR(COUNT, name_, at),                                   \
                    .attr_bytes = sizeof(struct name_##_attrs),                                    \
                    .attr = {EACH_ATTR(ATTR_INFO, name_, at)},                                     \
                    .results = RES_##out,                                                          \
                    .regions = regions_,                                                           \
                    .traits = traits_},

const OpInfo op_info[OP_COUNT] = {
#define OP(name, in, at, out, traits, summary) ROW(name, in, at, out, traits, 0, summary)
#define OP_E(name, in, at, out, traits, summary)                                                   \
    ROW(name, in, at, out, (traits) | ELEMENTWISE, 0, summary)
#define OP_R(name, in, at, out, traits, regions, summary)                                          \
    ROW(name, in, at, out, traits, regions, summary)
#include "ir/ops.def"
};
