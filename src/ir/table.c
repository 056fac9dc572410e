/* op_info and the enumerated attributes, from ops.def and attrs.def. */
#include "ir/rules.h"

/* AttrKind and optionality of the kinds as written in ops.def. */
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

#define NIN_IN0() .min_operands = 0, .max_operands = 0
#define NIN_IN1(a) .min_operands = 1, .max_operands = 1, .operand_names = {#a}
#define NIN_IN2(a, b) .min_operands = 2, .max_operands = 2, .operand_names = {#a, #b}
#define NIN_IN3(a, b, c) .min_operands = 3, .max_operands = 3, .operand_names = {#a, #b, #c}
#define NIN_INO2(min, a, b) .min_operands = min, .max_operands = 2, .operand_names = {#a, #b}
#define NIN_INO(min, a, b, c) .min_operands = min, .max_operands = 3, .operand_names = {#a, #b, #c}
#define NIN_INO4(min, a, b, c, d)                                                                  \
    .min_operands = min, .max_operands = 4, .operand_names = {#a, #b, #c, #d}
#define NIN_INV(xs) .min_operands = 0, .max_operands = -1, .operand_names = {#xs}
#define NAT_AT0() .attr_count = 0
#define NAT_AT1(k, n)                                                                              \
    .attr_count = 1, .attr_kinds = {(AttrKind)KIND_##k}, .attr_optional = {MAY_OMIT_##k},          \
    .attr_names = {#n}
#define NAT_AT2(k, n, k2, n2)                                                                      \
    .attr_count = 2, .attr_kinds = {(AttrKind)KIND_##k, (AttrKind)KIND_##k2},                      \
    .attr_optional = {MAY_OMIT_##k, MAY_OMIT_##k2}, .attr_names = {#n, #n2}
#define NAT_AT3(k, n, k2, n2, k3, n3)                                                              \
    .attr_count = 3, .attr_kinds = {(AttrKind)KIND_##k, (AttrKind)KIND_##k2, (AttrKind)KIND_##k3}, \
    .attr_optional = {MAY_OMIT_##k, MAY_OMIT_##k2, MAY_OMIT_##k3}, .attr_names = {#n, #n2, #n3}
#define NAT_AT4(k, n, k2, n2, k3, n3, k4, n4)                                                      \
    .attr_count = 4,                                                                               \
    .attr_kinds = {(AttrKind)KIND_##k, (AttrKind)KIND_##k2, (AttrKind)KIND_##k3,                   \
                   (AttrKind)KIND_##k4},                                                           \
    .attr_optional = {MAY_OMIT_##k, MAY_OMIT_##k2, MAY_OMIT_##k3, MAY_OMIT_##k4},                  \
    .attr_names = {#n, #n2, #n3, #n4}
#define NAT_AT5(k, n, k2, n2, k3, n3, k4, n4, k5, n5)                                              \
    .attr_count = 5,                                                                               \
    .attr_kinds = {(AttrKind)KIND_##k, (AttrKind)KIND_##k2, (AttrKind)KIND_##k3,                   \
                   (AttrKind)KIND_##k4, (AttrKind)KIND_##k5},                                      \
    .attr_optional = {MAY_OMIT_##k, MAY_OMIT_##k2, MAY_OMIT_##k3, MAY_OMIT_##k4, MAY_OMIT_##k5},   \
    .attr_names = {#n, #n2, #n3, #n4, #n5}
#define RES_OUT0(r) RESULT_NONE
#define RES_OUT1(r) RESULT_INFERRED
#define RES_OUTT(r) RESULT_STATED
#define RES_OUTV(r) RESULT_VARIADIC
#define ROW(name_, in, at, out, traits_, regions_, summary_)                                       \
    [OP_##name_] = {.name = #name_,                                                                \
                    .summary = summary_,                                                           \
                    NIN_##in,                                                                      \
                    NAT_##at,                                                                      \
                    .results = RES_##out,                                                          \
                    .regions = regions_,                                                           \
                    .traits = traits_,                                                             \
                    .rule = RULE_##out},

const OpInfo op_info[OP_COUNT] = {
#define OP(name, in, at, out, traits, summary) ROW(name, in, at, out, traits, 0, summary)
#define OP_E(name, in, at, out, traits, summary)                                                   \
    ROW(name, in, at, out, (traits) | ELEMENTWISE, 0, summary)
#define OP_R(name, in, at, out, traits, regions, summary)                                          \
    ROW(name, in, at, out, traits, regions, summary)
#include "ir/ops.def"
};
