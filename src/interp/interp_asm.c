/* Pieces of PTX: the instructions on registers that such pieces are made of. Others are refused by
 * name; the simulator runs them all.
 *
 * A piece is read once for each execution of its op, and run for `pack` elements at a time. */
#include "interp/interp_asm.h"
#include "ir/inline_asm.h"
#include "types/float_bits.h"

#include <stdlib.h>

enum { MAX_INSTRUCTIONS = 512, MAX_NAMES = 256, MAX_DEPTH = 8 };

/* Registers that the machine has: they stand behind $0, $1, ... */
static const char *const special_registers[] = {"%globaltimer", "%clock64", "%smid", "%nsmid"};
enum { SPECIALS = sizeof special_registers / sizeof *special_registers };

/* A register's name, of a range b<4> one of b0 to b3; empty: its scope has ended. */
typedef struct Name {
    Str text;
    int32_t number; /* -1: no range */
} Name;

typedef struct Piece {
    Run *run;
    const Op *op;
    Str rest; /* to be read */
    Instruction *instructions;
    uint32_t count;
    Name names[MAX_NAMES]; /* of registers behind $0, $1, .. */
    uint32_t nnames, registers;
    bool failed;
} Piece;

/* Reading */

static bool refuse(Piece *piece, Str what) {
    if (!piece->failed)
        finding(piece->run, piece->op, interp_asm, STR_ARG(what));
    piece->failed = true;
    return false;
}

static void skip_space(Piece *piece) {
    Str *s = &piece->rest;
    while (s->len) {
        if (strchr(" \t\r\n", s->ptr[0]) && s->ptr[0]) {
            *s = (Str){s->ptr + 1, s->len - 1};
        } else if (s->len > 1 && s->ptr[0] == '/' && (s->ptr[1] == '/' || s->ptr[1] == '*')) {
            const bool line = s->ptr[1] == '/';
            size_t n = 2;
            while (n < s->len && (line ? s->ptr[n] != '\n'
                                       : !(s->ptr[n] == '/' && s->ptr[n - 1] == '*' && n > 3)))
                n++;
            n += !line && n < s->len;
            *s = (Str){s->ptr + n, s->len - n};
        } else {
            return;
        }
    }
}

static bool accept(Piece *piece, char c) {
    skip_space(piece);
    if (!piece->rest.len || piece->rest.ptr[0] != c)
        return false;
    piece->rest = (Str){piece->rest.ptr + 1, piece->rest.len - 1};
    return true;
}

/* A name, a number, $3, or .type; empty at anything else. */
static Str read_word(Piece *piece, bool dots) {
    skip_space(piece);
    size_t n = 0;
    Str s = piece->rest;
    while (n < s.len &&
           (strchr("_%$", s.ptr[n]) || (s.ptr[n] >= '0' && s.ptr[n] <= '9') ||
            ((s.ptr[n] | 32) >= 'a' && (s.ptr[n] | 32) <= 'z') || (dots && s.ptr[n] == '.') ||
            (n == 0 && s.ptr[n] == '-') ||
            (dots && n && strchr("+-", s.ptr[n]) && (s.ptr[n - 1] | 32) == 'e' && s.ptr[0] >= '0' &&
             s.ptr[0] <= '9')) &&
           s.ptr[n])
        n++;
    piece->rest = (Str){s.ptr + n, s.len - n};
    return (Str){s.ptr, n};
}

static bool read_number(Str text, uint32_t *number) {
    *number = 0;
    for (size_t i = 0; i < text.len; i++) {
        if (text.ptr[i] < '0' || text.ptr[i] > '9' || *number > 100000)
            return false;
        *number = 10 * *number + (uint32_t)(text.ptr[i] - '0');
    }
    return text.len > 0;
}

static bool name_is(const Name *name, Str word) {
    uint32_t number;
    const size_t n = name->text.len;
    if (!n || word.len < n || memcmp(name->text.ptr, word.ptr, n) != 0)
        return false;
    if (name->number < 0)
        return word.len == n;
    return read_number((Str){word.ptr + n, word.len - n}, &number) &&
           number == (uint32_t)name->number;
}

static bool find_name(const Piece *piece, Str word, uint32_t *reg) {
    if (word.ptr[0] == '$')
        return read_number((Str){word.ptr + 1, word.len - 1}, reg) && *reg < piece->registers;
    for (uint32_t i = piece->nnames; i-- > 0;) {
        if (name_is(&piece->names[i], word)) {
            *reg = piece->registers + i;
            return true;
        }
    }
    return false;
}

static bool add_name(Piece *piece, Str text, int32_t number) {
    if (piece->registers + piece->nnames == MAX_NAMES)
        return refuse(piece, STR("so many registers"));
    piece->names[piece->nnames++] = (Name){text, number};
    return true;
}

/* .reg .b32 a, b<4>; */
static bool read_registers(Piece *piece) {
    read_word(piece, true);
    do {
        Str name = read_word(piece, false);
        if (!accept(piece, '<')) {
            if (!name.len || !add_name(piece, name, -1))
                return refuse(piece, STR(".reg"));
            continue;
        }
        uint32_t count;
        if (!read_number(read_word(piece, false), &count))
            return refuse(piece, STR(".reg"));
        for (uint32_t i = 0; i < count; i++)
            if (!add_name(piece, name, (int32_t)i))
                return false;
        if (!accept(piece, '>'))
            return refuse(piece, STR(".reg"));
    } while (accept(piece, ','));
    return accept(piece, ';') || refuse(piece, STR(".reg"));
}

static bool read_operand(Piece *piece, AsmOperand *operand) {
    const Str word = read_word(piece, true);
    if (!word.len)
        return refuse(piece, (Str){piece->rest.ptr, piece->rest.len ? 1 : 0});
    *operand = (AsmOperand){.text = word};
    operand->is_register = find_name(piece, word, &operand->reg);
    const char c = word.ptr[0];
    return operand->is_register || (c >= '0' && c <= '9') || c == '-' || refuse(piece, word);
}

/* One operand, or {a, b, ..}. */
static bool read_operands(Piece *piece, AsmOperand *operands, uint32_t *count) {
    if (!accept(piece, '{')) {
        *count = 1;
        return read_operand(piece, &operands[0]);
    }
    *count = 0;
    do {
        if (*count == 4 || !read_operand(piece, &operands[(*count)++]))
            return refuse(piece, STR("{"));
    } while (accept(piece, ','));
    return accept(piece, '}') || refuse(piece, STR("{"));
}

static bool split_words(Piece *piece, Instruction *it, Str text) {
    for (size_t at = 0; at <= text.len;) {
        size_t end = at;
        while (end < text.len && text.ptr[end] != '.')
            end++;
        if (it->nwords > MAX_MODIFIERS)
            return refuse(piece, text);
        const Str word = {text.ptr + at, end - at};
        NumberType type;
        if (it->nwords && asm_number_type(word, &type)) {
            if (it->ntypes == 2)
                return refuse(piece, text);
            it->types[it->ntypes++] = type;
        } else if (it->nwords && !asm_modifier_known(word)) {
            return refuse(piece, text);
        }
        it->words[it->nwords++] = word;
        at = end + 1;
    }
    it->ftz = asm_has_word(it, "ftz");
    return true;
}

static bool destinations(const Instruction *it) {
    for (uint32_t i = 0; i < it->nto; i++)
        if (!it->to[i].is_register)
            return false;
    return true;
}

/* `, a, b`; mov puts the registers of one list together. */
static bool read_sources(Piece *piece, Instruction *it, uint32_t wanted) {
    for (uint32_t i = 0; i < wanted; i++) {
        uint32_t n;
        if (!accept(piece, ',') || !read_operands(piece, &it->from[it->nfrom], &n) ||
            (it->run && n != 1))
            return false;
        it->nfrom += n;
    }
    return true;
}

static bool read_instruction(Piece *piece) {
    if (piece->count == MAX_INSTRUCTIONS)
        return refuse(piece, STR("so many instructions"));
    Instruction *it = &piece->instructions[piece->count++];
    *it = (Instruction){0};
    if (accept(piece, '@')) {
        it->guarded = true;
        it->unless = accept(piece, '!');
        AsmOperand guard;
        if (!read_operand(piece, &guard) || !guard.is_register)
            return refuse(piece, STR("@"));
        it->guard = guard.reg;
    }
    const Str text = read_word(piece, true);
    if (str_is(text, ".reg"))
        return piece->count--, read_registers(piece);
    if (!split_words(piece, it, text))
        return false;
    const KnownInstruction *known = asm_instruction(it->words[0]);
    if (!known || it->ntypes != 1u + asm_converts(known) || !read_operands(piece, it->to, &it->nto))
        return refuse(piece, text);
    it->run = known->run;
    const bool reads = read_sources(piece, it, it->run ? known->operands : 1);
    return (reads && accept(piece, ';') && (!it->run || it->nto == 1) && destinations(it)) ||
           refuse(piece, text);
}

static bool read_piece(Piece *piece) {
    uint32_t scopes[MAX_DEPTH], depth = 0;
    for (;;) {
        skip_space(piece);
        if (!piece->rest.len)
            return depth == 0 || refuse(piece, STR("{"));
        if (accept(piece, ';'))
            continue;
        if (accept(piece, '{')) {
            if (depth == MAX_DEPTH)
                return refuse(piece, STR("{"));
            scopes[depth++] = piece->nnames;
        } else if (accept(piece, '}')) {
            if (!depth)
                return refuse(piece, STR("}"));
            /* Registers stay; their names go. */
            for (uint32_t i = scopes[--depth]; i < piece->nnames; i++)
                piece->names[i].text.len = 0;
        } else if (!read_instruction(piece)) {
            return false;
        }
    }
}

/* Running */

static uint64_t number_of(const AsmOperand *operand, const NumberType *type) {
    char text[80];
    const size_t n = operand->text.len < sizeof text - 1 ? operand->text.len : sizeof text - 1;
    memcpy(text, operand->text.ptr, n);
    text[n] = 0;
    if (text[0] == '0' && (text[1] | 32) == 'f' && n == 10) {
        const uint64_t bits = strtoull(text + 2, NULL, 16);
        return type->kind == KIND_FLOAT && type->dtype == DT_F64
                   ? float_to_bits(DT_F64, float_from_bits(DT_F32, bits))
                   : bits;
    }
    if (text[0] == '0' && (text[1] | 32) == 'd' && n == 18) {
        const uint64_t bits = strtoull(text + 2, NULL, 16);
        return type->kind == KIND_FLOAT && type->dtype == DT_F32
                   ? float_to_bits(DT_F32, float_from_bits(DT_F64, bits))
                   : bits;
    }
    if (type->kind == KIND_FLOAT)
        return float_to_bits(type->dtype, strtod(text, NULL));
    return text[0] == '-' ? (uint64_t)strtoll(text, NULL, 0) : strtoull(text, NULL, 0);
}

static uint64_t operand_value(const AsmOperand *operand, const NumberType *type,
                              const uint64_t *regs) {
    return operand->is_register ? regs[operand->reg] : number_of(operand, type);
}

/* mov, which puts registers together and takes them apart. */
static void run_mov(const Instruction *it, uint64_t *regs) {
    const NumberType *type = &it->types[0];
    const uint32_t part = type->bits / it->nfrom, each = type->bits / it->nto;
    uint64_t all = 0;
    for (uint32_t i = 0; i < it->nfrom; i++)
        all |= asm_wrap(operand_value(&it->from[i], type, regs), part) << (i * part);
    for (uint32_t i = 0; i < it->nto; i++)
        regs[it->to[i].reg] = asm_wrap(all >> (i * each), each);
}

static void run_instruction(const Instruction *it, uint64_t *regs) {
    if (it->guarded && (bool)(regs[it->guard] & 1) == it->unless)
        return;
    if (!it->run) {
        run_mov(it, regs);
        return;
    }
    uint64_t v[4] = {0};
    for (uint32_t i = 0; i < it->nfrom; i++)
        v[i] = operand_value(&it->from[i], &it->types[it->ntypes - 1], regs);
    regs[it->to[0].reg] = it->run(it, v);
}

static uint32_t stored_bits(const Type *type) {
    return (uint32_t)type_element_bytes(type) * 8;
}

/* Operands' elements from `at` on in the registers behind the results'. */
static void fill_registers(const Piece *piece, uint32_t outputs, uint32_t at, uint64_t *regs) {
    const Op *op = piece->op;
    uint32_t pack = (uint32_t)op_pack(op), next = outputs;
    for (uint32_t k = 0; k < op->nin; k++) {
        const Slot *slot = in_slot(piece->run, op, k);
        const Type *type = op_in(op, k)->type;
        const size_t bytes = (size_t)type_element_bytes(type);
        uint32_t elements, count = asm_registers_of(stored_bits(type), pack, &elements);
        for (uint32_t r = 0; r < count; r++, next++) {
            regs[next] = 0;
            for (uint32_t i = 0; i < elements; i++) {
                uint32_t element = at + r * elements + i;
                uint64_t bits = 0;
                memcpy(&bits, slot->data + (element < slot->n ? element : slot->n - 1) * bytes,
                       bytes);
                regs[next] |= bits << (i * stored_bits(type));
            }
        }
    }
}

/* An element is undefined where an operand's is. */
static void join_undefined(Run *run, const Op *op, Slot *out) {
    for (uint32_t k = 0; k < op->nin; k++) {
        const Slot *in = in_slot(run, op, k);
        for (uint32_t i = 0; in->undef && i < out->n; i++) {
            if (in->undef[i] && !out->undef)
                slot_new_undef(run, out);
            if (in->undef[i])
                out->undef[i] = in->undef[i];
        }
    }
}

/* One processor, whose clock counts what was run. */
static void fill_specials(const Run *run, uint64_t *regs) {
    regs[0] = regs[1] = run->steps;
    regs[2] = 0;
    regs[3] = 1;
}

static void run_piece(Piece *piece, uint32_t outputs, Slot *out) {
    const Op *op = piece->op;
    const Type *type = op_out(op)->type;
    const size_t bytes = (size_t)type_element_bytes(type);
    const uint32_t pack = (uint32_t)op_pack(op),
                   first = asm_result_register(op, (uint32_t)op_result(op));
    uint32_t elements;
    asm_registers_of(stored_bits(type), pack, &elements);
    uint64_t regs[MAX_NAMES];
    for (uint32_t at = 0; at < out->n; at += pack) {
        memset(regs, 0, sizeof regs);
        fill_registers(piece, outputs, at, regs);
        fill_specials(piece->run, &regs[piece->registers]);
        for (uint32_t i = 0; i < piece->count; i++)
            run_instruction(&piece->instructions[i], regs);
        for (uint32_t i = 0; i < pack && at + i < out->n; i++) {
            uint64_t bits = regs[first + i / elements] >> (i % elements * stored_bits(type));
            bits = type_is_bool(type) ? bits & 1 : bits;
            memcpy(out->data + (at + i) * bytes, &bits, bytes);
        }
    }
}

void interp_inline_asm(Run *run, const Inst *inst) {
    const Op *op = inst->op;
    Slot *out = new_result(run, op, 0);
    memset(out->data, 0, out->n * (size_t)type_element_bytes(op_out(op)->type));
    AsmRegisters registers;
    Piece piece = {.run = run, .op = op, .rest = op_asm_text(op)};
    if (!asm_registers(op_constraints(op), &registers) || registers.count > MAX_NAMES / 2) {
        refuse(&piece, op_constraints(op));
        return;
    }
    piece.registers = registers.count;
    for (uint32_t i = 0; i < SPECIALS; i++)
        add_name(&piece, str_from(special_registers[i]), -1);
    Buf *storage = buf_new(run, MAX_INSTRUCTIONS * sizeof *piece.instructions);
    piece.instructions = (void *)storage->bytes;
    if (read_piece(&piece))
        run_piece(&piece, registers.outputs, out);
    buf_release(run, storage);
    join_undefined(run, op, out);
}

void interp_effect_asm(Run *run, const Inst *inst) {
    interp_inline_asm(run, inst);
}
