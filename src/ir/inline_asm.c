#include "ir/inline_asm.h"

static Str trimmed(Str s) {
    while (s.len && (s.ptr[0] == ' ' || s.ptr[0] == '\n' || s.ptr[0] == '\t'))
        s = (Str){s.ptr + 1, s.len - 1};
    while (s.len &&
           (s.ptr[s.len - 1] == ' ' || s.ptr[s.len - 1] == '\n' || s.ptr[s.len - 1] == '\t'))
        s.len--;
    return s;
}

/* What stands before the next comma; `list` becomes what follows. */
static Str next_item(Str *list) {
    size_t n = 0;
    while (n < list->len && list->ptr[n] != ',')
        n++;
    const Str item = trimmed((Str){list->ptr, n});
    *list = n < list->len ? (Str){list->ptr + n + 1, list->len - n - 1} : (Str){list->ptr + n, 0};
    return item;
}

uint32_t asm_letter_bits(char letter) {
    return letter == 'h' ? 16 : letter == 'r' || letter == 'f' ? 32 : 64;
}

static bool shared_register(Str item, AsmRegisters *registers) {
    uint32_t number = 0;
    for (size_t i = 0; i < item.len; i++) {
        if (item.ptr[i] < '0' || item.ptr[i] > '9' || number > ASM_MAX_REGISTERS)
            return false;
        number = 10 * number + (uint32_t)(item.ptr[i] - '0');
    }
    if (number >= registers->outputs)
        return false;
    registers->letters[registers->count++] = registers->letters[number];
    return true;
}

bool asm_registers(Str constraints, AsmRegisters *registers) {
    *registers = (AsmRegisters){0};
    bool clobbers = false;
    for (Str rest = trimmed(constraints); rest.len;) {
        Str item = next_item(&rest);
        if (item.len > 1 && item.ptr[0] == '~') {
            clobbers = true;
            continue;
        }
        bool output = item.len && item.ptr[0] == '=';
        if (output)
            item = (Str){item.ptr + 1, item.len - 1};
        if (output && item.len && item.ptr[0] == '&')
            item = (Str){item.ptr + 1, item.len - 1};
        if (!item.len || clobbers || registers->count == ASM_MAX_REGISTERS ||
            (output && registers->outputs != registers->count))
            return false;
        if (!output && item.ptr[0] >= '0' && item.ptr[0] <= '9') {
            if (!shared_register(item, registers))
                return false;
            continue;
        }
        if (item.len != 1 || !memchr("rlhfd", item.ptr[0], 5))
            return false;
        registers->letters[registers->count++] = item.ptr[0];
        registers->outputs += output;
    }
    return true;
}

uint32_t asm_registers_of(uint32_t bits, uint32_t pack, uint32_t *elements) {
    bits = bits < 8 ? 8 : bits;
    uint32_t most = bits >= 32 ? 1 : 32 / bits;
    *elements = pack < most ? pack : most;
    return (pack + *elements - 1) / *elements;
}

bool asm_result_dtype(const Op *op, uint32_t index, DType *dtype) {
    Str rest = op_results(op);
    for (uint32_t i = 0; rest.len && i < ASM_MAX_RESULTS; i++) {
        const Str item = next_item(&rest);
        if (i != index)
            continue;
        for (int d = 0; d < DT_COUNT; d++) {
            if (str_is(item, dtype_info[d].text)) {
                if (dtype)
                    *dtype = (DType)d;
                return true;
            }
        }
        return false;
    }
    return false;
}

uint32_t asm_result_register(const Op *op, uint32_t index) {
    uint32_t at = 0, elements;
    DType dtype;
    for (uint32_t i = 0; i < index && asm_result_dtype(op, i, &dtype); i++)
        at += asm_registers_of((uint32_t)dtype_info[dtype].bits, (uint32_t)op_pack(op), &elements);
    return at;
}
