/* Attributes without knowing the op: by name, by number, from one op to another. */
#include "ir/ir.h"
#include <string.h>

static const AttrInfo *find(OpCode code, AttrName name) {
    const OpInfo *info = &op_info[code];
    for (int i = 0; i < info->attr_count; i++)
        if (info->attr[i].name == name)
            return &info->attr[i];
    return NULL;
}

static void *place_of(const Op *op, const AttrInfo *attr) {
    return (char *)op->attrs + attr->offset;
}

void *op_attr_place(const Op *op, AttrName name) {
    const AttrInfo *attr = find(op->code, name);
    return attr ? place_of(op, attr) : NULL;
}

Attr op_attr(const Op *op, uint32_t index) {
    const AttrInfo *attr = &op_info[op->code].attr[index];
    const void *place = place_of(op, attr);
    switch (attr->kind) {
    case ATTR_I64:
        return (Attr){.i = *(const int64_t *)place};
    case ATTR_F64:
        return (Attr){.f = *(const double *)place};
    case ATTR_BOOL:
        return (Attr){.i = *(const bool *)place};
    case ATTR_STR:
        return (Attr){.s = *(const Str *)place};
    case ATTR_INTS:
        return (Attr){.ints = *(const Ints *)place};
#define ENUM(kind, c_type)                                                                         \
    case ATTR_##kind:                                                                              \
        return (Attr){.i = *(const c_type *)place};
#define VALUE(kind, id, text)
#define END(kind)
#include "ir/attrs.def"
    case ATTR_KIND_COUNT:
        break;
    }
    return (Attr){0};
}

void op_set_attr(Op *op, uint32_t index, Attr value) {
    const AttrInfo *attr = &op_info[op->code].attr[index];
    void *place = place_of(op, attr);
    switch (attr->kind) {
    case ATTR_I64:
        *(int64_t *)place = value.i;
        break;
    case ATTR_F64:
        *(double *)place = value.f;
        break;
    case ATTR_BOOL:
        *(bool *)place = value.i;
        break;
    case ATTR_STR:
        *(Str *)place = value.s;
        break;
    case ATTR_INTS:
        *(Ints *)place = value.ints;
        break;
#define ENUM(kind, c_type)                                                                         \
    case ATTR_##kind:                                                                              \
        *(c_type *)place = (c_type)value.i;                                                        \
        break;
#define VALUE(kind, id, text)
#define END(kind)
#include "ir/attrs.def"
    case ATTR_KIND_COUNT:
        break;
    }
}

void op_copy_attrs(Op *to, const Op *from) {
    const OpInfo *info = &op_info[from->code];
    if (to->code == from->code) {
        memcpy(to->attrs, from->attrs, info->attr_bytes);
        return;
    }
    for (int i = 0; i < info->attr_count; i++) {
        const AttrInfo *attr = find(to->code, info->attr[i].name);
        if (attr && attr->kind == info->attr[i].kind)
            op_set_attr(to, (uint32_t)(attr - op_info[to->code].attr), op_attr(from, (uint32_t)i));
    }
}
