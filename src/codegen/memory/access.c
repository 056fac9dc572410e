/* Accesses to memory.
 *
 * Accesses without predicate, cache modifier and eviction policy are LLVM loads and stores of
 * vectors, which LLVM may order and merge. The others are inline PTX: one instruction under a
 * predicate, behind moves of what an element is where the predicate is off, of those that an owner
 * alone loads 0: functions may branch on what they are given.
 * Elements narrower than 32 bits travel packed. */
#include "codegen/memory/access.h"
#include "codegen/llvm/schedule.h"
#include "codegen/llvm/stream.h"
#include "codegen/lowerings.h"
#include "codegen/values/builder.h"
#include "codegen/values/plans.h"
#include "codegen/values/ptxas.h"
#include "codegen/values/values.h"
#include "codegen/values/words.h"
#include <stdio.h>

/* Packing: `width` elements of a dtype as registers of an inline PTX instruction. */

typedef struct Packing {
    uint32_t words, per_word;
    LLVMTypeRef word;    /* i16, i32 or i64 */
    LLVMTypeRef element; /* in memory */
    char constraint;
    const char *ptx; /* b8 .. b64 */
} Packing;

static Packing packing(Cg *cg, DType dtype, uint32_t width) {
    uint32_t bytes = (uint32_t)dtype_bytes(dtype) * width;
    LLVMTypeRef element = cg_memory_type(cg, dtype);
    if (bytes == 1) /* the narrowest register has 16 bits */
        return (Packing){1, 1, cg->t_i16, element, 'h', "b8"};
    if (bytes == 2)
        return (Packing){1, width, cg->t_i16, element, 'h', "b16"};
    if (dtype_bytes(dtype) == 8)
        return (Packing){width, 1, cg->t_i64, element, 'l', "b64"};
    return (Packing){bytes / 4, 4 / (uint32_t)dtype_bytes(dtype), cg->t_i32, element, 'r', "b32"};
}

static Lv pack(Cg *cg, const Packing *p, DType dtype, const Lv *values) {
    if (p->ptx[1] == '8' && p->ptx[2] == 0)
        return LLVMBuildZExt(cg->b, cg_to_memory(cg, dtype, values[0]), cg->t_i16, "");
    if (p->per_word == 1)
        return LLVMBuildBitCast(cg->b, cg_to_memory(cg, dtype, values[0]), p->word, "");
    Lv word = p->per_word == 4 ? cg_word_of_pairs(cg, values) : NULL;
    if (word)
        return word;
    Lv vector = LLVMGetPoison(LLVMVectorType(p->element, p->per_word));
    for (uint32_t i = 0; i < p->per_word; i++)
        vector = LLVMBuildInsertElement(cg->b, vector, cg_to_memory(cg, dtype, values[i]),
                                        cg_i32(cg, i), "");
    return LLVMBuildBitCast(cg->b, vector, p->word, "");
}

static void unpack(Cg *cg, const Packing *p, DType dtype, Lv word, Lv *values) {
    if (p->ptx[1] == '8' && p->ptx[2] == 0) {
        values[0] = cg_from_memory(cg, dtype, LLVMBuildTrunc(cg->b, word, cg->t_i8, ""));
        return;
    }
    if (p->per_word == 1) {
        values[0] = cg_from_memory(cg, dtype, LLVMBuildBitCast(cg->b, word, p->element, ""));
        return;
    }
    Lv vector = LLVMBuildBitCast(cg->b, word, LLVMVectorType(p->element, p->per_word), "");
    for (uint32_t i = 0; i < p->per_word; i++)
        values[i] =
            cg_from_memory(cg, dtype, LLVMBuildExtractElement(cg->b, vector, cg_i32(cg, i), ""));
}

/* "{$0, $1}" for operands first.. */
static void operand_list(StrBuf *text, unsigned first, unsigned count) {
    strbuf_puts(text, count > 1 ? "{" : "");
    for (unsigned i = 0; i < count; i++)
        strbuf_printf(text, "%s$%u", i ? ", " : "", first + i);
    strbuf_puts(text, count > 1 ? "}" : "");
}

/* `.cv` fetches again as .volatile does, beside which no operator stands. */
static bool is_said_volatile(const Access *access) {
    return access->is_volatile && access->cache != CACHE_CV;
}

/* Qualifiers after `ld.global` or `st.global`. A cache operator (.ca, .cs, ..) and the L1 eviction
 * priority exclude each other; both go with an L2 policy, which `createpolicy` makes and operand
 * `policy` names. */
static bool qualifiers(StrBuf *text, const Access *access, bool is_load) {
    static const char *const load_op[CACHE_COUNT] = {
        [CACHE_NONE] = "", [CACHE_CA] = ".ca", [CACHE_CG] = ".cg", [CACHE_CV] = ".cv",
        [CACHE_WB] = "",   [CACHE_CS] = ".cs", [CACHE_WT] = "",
    };
    static const char *const store_op[CACHE_COUNT] = {
        [CACHE_NONE] = "",  [CACHE_CA] = "",    [CACHE_CG] = ".cg", [CACHE_CV] = "",
        [CACHE_WB] = ".wb", [CACHE_CS] = ".cs", [CACHE_WT] = ".wt",
    };
    const char *op = is_load ? load_op[access->cache] : store_op[access->cache];
    if (access->space != SPACE_GLOBAL || is_said_volatile(access))
        return false;
    strbuf_puts(text, op);
    bool evicts = access->evict != EVICT_NORMAL;
    if (evicts && !*op)
        strbuf_puts(text, access->evict == EVICT_FIRST ? ".L1::evict_first" : ".L1::evict_last");
    if (evicts)
        strbuf_puts(text, ".L2::cache_hint");
    return evicts;
}

/* What an access without a policy does is evict_unchanged: evict_normal takes from lines the
 * priority that they have, which makes products of 2048 an eighth slower. */
Lv cg_l2_policy(Cg *cg, EvictionPolicy evict) {
    static const char *const text[EVICT_COUNT] = {
        [EVICT_NORMAL] = "createpolicy.fractional.L2::evict_unchanged.b64 $0, 1.0;",
        [EVICT_FIRST] = "createpolicy.fractional.L2::evict_first.b64 $0, 1.0;",
        [EVICT_LAST] = "createpolicy.fractional.L2::evict_last.b64 $0, 1.0;",
    };
    return cg_asm(cg, cg->t_i64, text[evict], "=l", NULL, 0, ASM_PURE);
}

void lower_cache_policy(Cg *cg, const Op *op) {
    Lv on = cg_scalar(cg, op_in(op, 0));
    Lv policy = cg_l2_policy(cg, cache_policy_attrs(op)->evict);
    Lv normal = cg_l2_policy(cg, EVICT_NORMAL);
    cg_new(cg, &op->out[0])[0] = LLVMBuildSelect(cg->b, on, policy, normal, "");
}

/* A volatile load is a piece of PTX with effects: LLVM's own lets other loads pass it. */
static bool is_plain(const Access *access) {
    return !access->predicate && access->cache == CACHE_NONE && access->evict == EVICT_NORMAL &&
           !access->is_volatile;
}

static const char *space_name(const Access *access) {
    return access->space == SPACE_SHARED ? "shared" : "global";
}

static char pointer_constraint(const Access *access) {
    return access->space == SPACE_SHARED ? 'r' : 'l';
}

static LLVMTypeRef vector_of(LLVMTypeRef element, uint32_t width) {
    return width == 1 ? element : LLVMVectorType(element, width);
}

/* Says what orders the loads of a block. */
static void mark_load(Cg *cg, const Access *access, Lv load) {
    if (access->space != SPACE_GLOBAL || access->is_volatile)
        return;
    schedule_mark(cg, load, access->may_delay);
    if (access->under_way)
        stream_mark(cg, load, access->under_way);
}

static void load_plain(Cg *cg, const Access *access, Lv *out) {
    LLVMTypeRef element = cg_memory_type(cg, access->dtype);
    Lv load = LLVMBuildLoad2(cg->b, vector_of(element, access->width), access->pointer, "");
    LLVMSetAlignment(load, access->width * (unsigned)dtype_bytes(access->dtype));
    mark_load(cg, access, load);
    for (uint32_t i = 0; i < access->width; i++) {
        Lv x = access->width == 1 ? load : LLVMBuildExtractElement(cg->b, load, cg_i32(cg, i), "");
        out[i] = cg_from_memory(cg, access->dtype, x);
    }
}

/* Inputs of a piece of PTX; the first is operand `first`. */
typedef struct InputList {
    Lv args[8];
    unsigned count, first;
} InputList;

/* The operand's number. */
static unsigned add_input(InputList *inputs, StrBuf *constraints, char constraint, Lv value) {
    strbuf_printf(constraints, "%c,", constraint);
    inputs->args[inputs->count] = value;
    return inputs->first + inputs->count++;
}

/* Destination `index` is `value` if the load is not made. Moved by the piece of PTX itself, not
 * tied to it: values that many loads share (zero) would have a copy for each, and LLVM's coalescer
 * goes through all of them at each one. */
static void move_other(StrBuf *text, StrBuf *constraints, const Packing *p, unsigned index,
                       Lv value, InputList *inputs) {
    int bits = p->constraint == 'h' ? 16 : p->constraint == 'r' ? 32 : 64;
    strbuf_printf(text, "mov.b%d $%u, ", bits, index);
    if (LLVMIsAConstantInt(value)) {
        strbuf_printf(text, "%llu;\n\t", LLVMConstIntGetZExtValue(value));
        return;
    }
    strbuf_printf(text, "$%u;\n\t", add_input(inputs, constraints, p->constraint, value));
}

static void load_asm(Cg *cg, const Access *access, const Lv *other, Lv *out) {
    Packing p = packing(cg, access->dtype, access->width);
    StrBuf text = strbuf(cg->arena), constraints = strbuf(cg->arena);
    InputList inputs = {.first = p.words};
    for (unsigned i = 0; i < p.words; i++)
        strbuf_printf(&constraints, "=%s%c,", access->predicate ? "&" : "", p.constraint);
    for (unsigned i = 0; i < p.words && access->predicate; i++)
        move_other(&text, &constraints, &p, i, pack(cg, &p, access->dtype, other + i * p.per_word),
                   &inputs);
    if (access->predicate)
        strbuf_printf(&text, "@$%u ", add_input(&inputs, &constraints, 'b', access->predicate));
    strbuf_printf(&text, "ld%s.%s", is_said_volatile(access) ? ".volatile" : "",
                  space_name(access));
    bool policy = qualifiers(&text, access, true);
    strbuf_printf(&text, "%s.%s ", p.words == 4 ? ".v4" : p.words == 2 ? ".v2" : "", p.ptx);
    operand_list(&text, 0, p.words);
    strbuf_printf(&text, ", [$%u]",
                  add_input(&inputs, &constraints, pointer_constraint(access), access->pointer));
    if (policy)
        strbuf_printf(&text, ", $%u",
                      add_input(&inputs, &constraints, 'l', cg_l2_policy(cg, access->evict)));
    strbuf_puts(&text, ";");
    strbuf_puts(&constraints, "~{memory}");

    LLVMTypeRef words[4] = {p.word, p.word, p.word, p.word};
    LLVMTypeRef result =
        p.words == 1 ? p.word : LLVMStructTypeInContext(cg->llvm, words, p.words, false);
    Lv loaded = cg_asm(cg, result, text.ptr, constraints.ptr, inputs.args, inputs.count,
                       access->is_volatile ? ASM_EFFECTS : ASM_READS);
    mark_load(cg, access, loaded);
    for (unsigned i = 0; i < p.words; i++) {
        Lv word = p.words == 1 ? loaded : LLVMBuildExtractValue(cg->b, loaded, i, "");
        unpack(cg, &p, access->dtype, word, out + i * p.per_word);
    }
}

void cg_load(Cg *cg, const Access *access, const Lv *other, Lv *out) {
    if (access->predicate && lv_is_false(access->predicate)) {
        for (uint32_t i = 0; i < access->width; i++)
            out[i] = other[i];
        return;
    }
    Access always = *access;
    if (access->predicate && lv_is_true(access->predicate))
        always.predicate = NULL;
    if (is_plain(&always))
        load_plain(cg, &always, out);
    else
        load_asm(cg, &always, other, out);
}

/* Bytes that came in pairs as a vector of words; NULL: they did not. */
static Lv words_of_pairs(Cg *cg, const Access *access, const Lv *values) {
    if (dtype_bytes(access->dtype) != 1 || access->width % 4)
        return NULL;
    Lv words = LLVMGetPoison(LLVMVectorType(cg->t_i32, access->width / 4));
    for (uint32_t i = 0; i < access->width / 4; i++) {
        Lv word = cg_word_of_pairs(cg, values + 4 * i);
        if (!word)
            return NULL;
        words = LLVMBuildInsertElement(cg->b, words, word, cg_i32(cg, i), "");
    }
    return words;
}

static void store_plain(Cg *cg, const Access *access, const Lv *values) {
    LLVMTypeRef element = cg_memory_type(cg, access->dtype);
    Lv words = words_of_pairs(cg, access, values);
    Lv stored = words ? words : cg_to_memory(cg, access->dtype, values[0]);
    if (!words && access->width > 1) {
        stored = LLVMGetPoison(LLVMVectorType(element, access->width));
        for (uint32_t i = 0; i < access->width; i++)
            stored = LLVMBuildInsertElement(
                cg->b, stored, cg_to_memory(cg, access->dtype, values[i]), cg_i32(cg, i), "");
    }
    Lv store = LLVMBuildStore(cg->b, stored, access->pointer);
    LLVMSetAlignment(store, access->width * (unsigned)dtype_bytes(access->dtype));
    if (access->space == SPACE_GLOBAL)
        schedule_mark(cg, store, false);
}

static void store_asm(Cg *cg, const Access *access, const Lv *values) {
    Packing p = packing(cg, access->dtype, access->width);
    StrBuf text = strbuf(cg->arena), constraints = strbuf(cg->arena);
    Lv args[8];
    unsigned nargs = 0;
    if (access->predicate) {
        strbuf_puts(&text, "@$0 ");
        strbuf_puts(&constraints, "b,");
        args[nargs++] = access->predicate;
    }
    strbuf_printf(&text, "st.%s", space_name(access));
    bool policy = qualifiers(&text, access, false);
    strbuf_printf(&text, "%s.%s [$%u], ",
                  p.words == 4   ? ".v4"
                  : p.words == 2 ? ".v2"
                                 : "",
                  p.ptx, nargs);
    strbuf_printf(&constraints, "%c,", pointer_constraint(access));
    args[nargs++] = access->pointer;
    operand_list(&text, nargs, p.words);
    for (unsigned i = 0; i < p.words; i++) {
        strbuf_printf(&constraints, "%c,", p.constraint);
        args[nargs++] = pack(cg, &p, access->dtype, values + i * p.per_word);
    }
    if (policy) {
        strbuf_printf(&text, ", $%u", nargs);
        strbuf_puts(&constraints, "l,");
        args[nargs++] = cg_l2_policy(cg, access->evict);
    }
    strbuf_puts(&text, ";");
    strbuf_puts(&constraints, "~{memory}");
    Lv store = cg_asm(cg, cg->t_void, text.ptr, constraints.ptr, args, nargs, ASM_EFFECTS);
    if (access->space == SPACE_GLOBAL)
        schedule_mark(cg, store, false);
}

void cg_store(Cg *cg, const Access *access, const Lv *values) {
    if (access->predicate && lv_is_false(access->predicate))
        return;
    Access always = *access;
    if (access->predicate && lv_is_true(access->predicate))
        always.predicate = NULL;
    if (is_plain(&always))
        store_plain(cg, &always, values);
    else
        store_asm(cg, &always, values);
}
