/* Printing, assertions and assumptions. */
#include "interp/interp_internal.h"

/* print: Triton's lines, `pid (0, 0, 0) idx ( 3) prefix: value`, an element each. */

static void print_float(StrBuf *out, double value) {
    if (value != value)
        strbuf_puts(out, "nan");
    else
        strbuf_printf(out, "%f", value);
}

static void print_value(const Run *run, StrBuf *out, const Op *op, uint32_t k, const Slot *slot,
                        uint32_t i) {
    const Type *type = op_in(op, k)->type;
    if (slot->undef && slot->undef[i]) {
        strbuf_puts(out, "undefined");
        return;
    }
    size_t bytes = (size_t)type_element_bytes(type);
    uint64_t bits = 0;
    memcpy(&bits, slot->data + i * bytes, bytes);
    if (type_is_pointer(type))
        bits = pointer_integer(run, bits);
    int digits = type_is_bool(type) ? 1 : (int)bytes * 2;
    if (print_attrs(op)->hex || type_is_pointer(type))
        strbuf_printf(out, "0x%0*llx", digits, (unsigned long long)bits);
    else if (type_is_float(type))
        print_float(out, float_from_bits(type->dtype, bits));
    else if (print_is_unsigned(op, k))
        strbuf_printf(out, "%llu", (unsigned long long)bits);
    else
        strbuf_printf(out, "%lld", (long long)slot_int(slot, type, i));
}

static int decimal_width(int64_t size) {
    int width = 1;
    for (int64_t last = size - 1; last >= 10; last /= 10)
        width++;
    return width;
}

static void print_index(StrBuf *out, const Type *type, uint32_t i) {
    strbuf_puts(out, " idx (");
    int64_t below = type_numel(type), rest = i;
    for (int d = 0; d < type->rank; d++) {
        below /= type->shape[d];
        strbuf_printf(out, "%s%*lld", d ? ", " : "", decimal_width(type->shape[d]),
                      (long long)(rest / below));
        rest %= below;
    }
    strbuf_putc(out, ')');
}

/* The prefix begins with a space and ends with ": ", which Triton's wrapper sees to for its
 * callers. */
static void print_prefix(StrBuf *out, Str prefix) {
    while (prefix.len && (prefix.ptr[prefix.len - 1] == ' ' || prefix.ptr[prefix.len - 1] == ':'))
        prefix.len--;
    while (prefix.len && prefix.ptr[0] == ' ')
        prefix = (Str){prefix.ptr + 1, prefix.len - 1};
    if (prefix.len)
        strbuf_printf(out, " %.*s", STR_ARG(prefix));
}

void interp_print(Run *run, const Inst *inst) {
    const Op *op = inst->op;
    StrBuf *out = run->options->output;
    Str prefix = print_attrs(op)->prefix;
    if (!out)
        return;
    if (op->nin == 0) {
        strbuf_printf(out, "pid (%u, %u, %u)", run->pid[0], run->pid[1], run->pid[2]);
        print_prefix(out, prefix);
        strbuf_putc(out, '\n');
    }
    for (uint32_t k = 0; k < op->nin; k++) {
        const Type *type = op_in(op, k)->type;
        const Slot *slot = in_slot(run, op, k);
        for (uint32_t i = 0; i < slot->n; i++) {
            strbuf_printf(out, "pid (%u, %u, %u)", run->pid[0], run->pid[1], run->pid[2]);
            print_index(out, type, i);
            print_prefix(out, prefix);
            strbuf_puts(out, ": ");
            if (op->nin > 1)
                strbuf_printf(out, "(operand %u) ", k);
            print_value(run, out, op, k, slot, i);
            strbuf_putc(out, '\n');
        }
    }
}

/* The first element that is false. */
static bool all_true(Run *run, const Op *op, const char *use, uint32_t *first) {
    const Slot *cond = in_slot(run, op, 0);
    for (uint32_t i = 0; i < cond->n; i++) {
        if (!require_defined(run, op, 0, i, use))
            return true;
        if (!cond->data[i]) {
            *first = i;
            return false;
        }
    }
    return true;
}

void interp_assert(Run *run, const Inst *inst) {
    const Op *op = inst->op;
    Str message = assert_attrs(op)->message;
    uint32_t i;
    if (!all_true(run, op, "the asserted condition", &i))
        finding(run, op, interp_assert, STR_ARG(message),
                finding_place(run, op_in(op, 0)->type, i));
}

void interp_assume(Run *run, const Inst *inst) {
    uint32_t i;
    if (!all_true(run, inst->op, "the assumed condition", &i))
        finding(run, inst->op, interp_assume, finding_place(run, NULL, 0));
}
