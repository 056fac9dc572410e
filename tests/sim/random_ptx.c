/* Names, modifiers, types and operands are those that the rows of the table allow: a form that is
 * added to the table is made here without a change. */
#include "random_ptx.h"

#include "sim/parse/table.h"
#include "sim/parse/words.h"

enum { LABELS = 8, REGISTERS = 16 };

unsigned choose(Choices *choices, unsigned count) {
    unsigned value;
    if (choices->at < choices->size) {
        value = choices->data[choices->at++];
        if (count > 256 && choices->at < choices->size)
            value = value << 8 | choices->data[choices->at++];
    } else {
        choices->state = choices->state * UINT64_C(6364136223846793005) + 1442695040888963407u;
        value = (unsigned)(choices->state >> 40) & 0xffff;
    }
    return value % count;
}

const char random_ptx_module_head[] =
    ".extern .shared .align 1024 .b8 dyn[];\n.shared .align 1024 .b8 buf[4096];\n"
    ".shared .align 8 .b64 bar;\n.global .align 4 .u32 table[4] = {1, 2, 3, 4};\n"
    ".func (.reg .b32 r) twice(.reg .b32 v) { shl.b32 r, v, 1; ret; }\n";

const char random_ptx_parameters[] = ".param .b64 x, .param .b64 y, .param .align 64 .b8 map[128]";

const char random_ptx_prologue[] =
    ".local .align 16 .b8 depot[64];\n"
    ".reg .pred %p<16>; .reg .b16 %h<16>; .reg .b32 %r<16>; .reg .b64 %rd<16>; .reg .b128 "
    "%q<16>;\n"
    "ld.param.b64 %rd1, [x]; ld.param.b64 %rd2, [y]; mov.u32 %r1, %tid.x;\n"
    "mul.wide.u32 %rd3, %r1, 4; add.s64 %rd3, %rd1, %rd3; shl.b32 %r2, %r1, 2; mov.u32 %r3, dyn;\n"
    "add.u32 %r2, %r2, %r3; setp.lt.u32 %p1, %r1, 20; mov.b32 %r4, 0x3f800000; mov.b16 %h1, "
    "0x3c00;\n"
    "mov.b64 %rd4, 7; setp.ge.u32 %p2, %r1, 0; mov.b64 %rd6, map; cvta.param.u64 %rd6, %rd6;\n"
    "mov.u32 %r9, buf; shr.u32 %r9, %r9, 4; cvt.u64.u32 %rd9, %r9; or.b64 %rd9, %rd9, "
    "0x800080000;\n"
    "setp.eq.u32 %p4, %r1, 0; @%p4 mbarrier.init.shared.b64 [bar], 64; bar.sync 0;\n";

/* The part of `*list` up to a space; moves the list behind it. */
static Str next_part(const char **list, char separator) {
    const char *begin = *list, *end = begin;
    while (*end && *end != separator)
        end++;
    *list = *end ? end + 1 : end;
    return (Str){begin, (size_t)(end - begin)};
}

/* One of "a|b|c". */
static Str alternative(Choices *choices, Str list) {
    unsigned count = 1;
    for (size_t i = 0; i < list.len; i++)
        count += list.ptr[i] == '|';
    unsigned wanted = choose(choices, count);
    const char *begin = list.ptr, *end = list.ptr + list.len;
    for (; wanted; begin++)
        wanted -= *begin == '|';
    const char *stop = memchr(begin, '|', (size_t)(end - begin));
    return (Str){begin, (size_t)((stop ? stop : end) - begin)};
}

static void put_register(Choices *choices, unsigned bits, StrBuf *out) {
    const char *prefix = bits == 1    ? "%p"
                         : bits <= 16 ? "%h"
                         : bits <= 32 ? "%r"
                         : bits <= 64 ? "%rd"
                                      : "%q";
    strbuf_printf(out, "%s%u", prefix, choose(choices, REGISTERS));
}

static void put_value(Choices *choices, unsigned bits, StrBuf *out) {
    static const char *const numbers[] = {"0",          "1", "2",  "-1",  "31", "32", "0xffffffff",
                                          "0x80000000", "8", "16", "100", "4",  "255"};
    static const char *const specials[] = {"%tid.x",  "%laneid",      "%ctaid.x", "%clock",
                                           "%ntid.x", "%lanemask_lt", "%nctaid.x"};
    unsigned kind = choose(choices, 8);
    if (kind == 0 && bits != 128)
        strbuf_puts(out, bits == 1 ? choose(choices, 2) ? "1" : "0"
                                   : numbers[choose(choices, sizeof numbers / sizeof *numbers)]);
    else if (kind == 1 && bits == 32)
        strbuf_puts(out, specials[choose(choices, sizeof specials / sizeof *specials)]);
    else
        put_register(choices, bits, out);
}

static void put_address(Choices *choices, StrBuf *out) {
    static const char *const addresses[] = {
        "[%rd1]", "[%rd3]",   "[%rd2]",    "[%r2]",    "[%rd3+4]", "[%rd1+16]", "[%r2+16]",
        "[dyn]",  "[dyn+64]", "[buf+8]",   "[table]",  "[x]",      "[y]",       "[%r3]",
        "[%rd5]", "[buf]",    "[%rd1+-4]", "[%r3+32]", "[depot]",  "[bar]"};
    if (choose(choices, 16) == 0) {
        strbuf_puts(out, "[");
        put_register(choices, choose(choices, 2) ? 32 : 64, out);
        strbuf_puts(out, "]");
    } else {
        strbuf_puts(out, addresses[choose(choices, sizeof addresses / sizeof *addresses)]);
    }
}

static void put_vector(Choices *choices, unsigned count, unsigned bits, StrBuf *out) {
    for (unsigned i = 0; i < count; i++) {
        strbuf_puts(out, i ? ", " : "{");
        put_register(choices, bits, out);
    }
    strbuf_puts(out, "}");
}

/* What was chosen of a row so far. */
typedef struct Made {
    Type types[MAX_TYPES];
    unsigned vector; /* of .v2, .v4, .v8; else 0 */
    unsigned rank;   /* of .1d to .5d; else 0 */
    unsigned number; /* in the place of a modifier's #; else 0 */
    unsigned operand;
} Made;

/* Mostly as many as common shapes of this operand have. */
static unsigned matrix_registers(Choices *choices, const Made *made) {
    static const unsigned char usual[] = {4, 4, 2, 4}, any[] = {1, 2, 4, 8, 3, 64};
    if (made->number)
        return made->number / (made->types[0] == TYPE_f16 ? 4 : 2);
    return choose(choices, 4) ? usual[made->operand % 4] : any[choose(choices, sizeof any)];
}

static void put_operand(Choices *choices, const Made *made, Str spec, StrBuf *out) {
    bool second = spec.len > 2 && !memcmp(spec.ptr + spec.len - 2, "|p", 2);
    if (second)
        spec.len -= 2;
    char kind = spec.ptr[0];
    bool typed = spec.len == 2 && spec.ptr[1] >= '0' && spec.ptr[1] <= '3';
    unsigned bits = 32;
    if (kind >= '0' && kind <= '3')
        bits = type_info[made->types[kind - '0']].bits;
    else if (typed)
        bits = type_info[made->types[spec.ptr[1] - '0']].bits;
    else if (kind == 'w' && spec.len == 1)
        bits = type_info[made->types[0]].bits * 2u;
    else if (type_find(spec) >= 0)
        bits = type_info[type_find(spec)].bits;
    if (spec.len == 1 && kind == 'm') {
        put_address(choices, out);
    } else if (spec.len == 1 && kind == 't') {
        static const char *const coordinates[] = {"0", "0, 0", "0, 0, 0", "0, 0, 0, 0",
                                                  "0, 0, 0, 0, 0"};
        strbuf_printf(out, "[%%rd6, {%s}]",
                      coordinates[made->rank ? made->rank - 1 : choose(choices, 5)]);
    } else if (spec.len == 1 && kind == 'L') {
        strbuf_printf(out, "$L%u", choose(choices, LABELS));
    } else if (spec.len == 1 && kind == 'T') {
        strbuf_puts(out, "ts");
    } else if (spec.len == 1 && kind == 'c') {
        strbuf_puts(out, "(%r5), twice, (%r6)");
    } else if (spec.len == 1 && kind == 'i') {
        static const char *const sizes[] = {"0", "1", "4", "8", "16", "2"};
        strbuf_puts(out, sizes[choose(choices, sizeof sizes / sizeof *sizes)]);
    } else if (spec.len == 1 && kind == 'x') {
        put_vector(choices, matrix_registers(choices, made), made->types[0] == TYPE_f64 ? 64 : 32,
                   out);
    } else if (spec.len == 1 && kind == 'd') {
        if (choose(choices, 2))
            put_vector(choices, 4, 32, out);
        else
            put_register(choices, 64, out);
    } else if (typed && kind == 'v' && made->vector) {
        put_vector(choices, made->vector, bits < 16 ? 16 : bits, out);
    } else if (second) {
        put_register(choices, bits, out);
        if (choose(choices, 2))
            strbuf_printf(out, "|%%p%u", choose(choices, REGISTERS));
    } else {
        put_value(choices, bits, out);
    }
}

/* A written operand is a register whatever its kind. */
static void put_dest(Choices *choices, const Made *made, Str spec, StrBuf *out) {
    size_t before = out->len;
    for (unsigned i = 0; i < 8; i++) {
        out->len = before;
        put_operand(choices, made, spec, out);
        const char *text = out->ptr + before;
        if (text[0] == '{' ||
            (text[0] == '%' && strchr("phrq", text[1]) && text[out->len - before - 1] != 'x'))
            return;
    }
}

static void put_modifiers(Choices *choices, const Row *row, Made *made, StrBuf *out) {
    bool taken = false;
    for (const char *at = row->modifiers; *at;) {
        Str group = next_part(&at, ' ');
        bool required = group.ptr[0] == '!', behind = group.ptr[required] == '>';
        group = (Str){group.ptr + required + behind, group.len - required - behind};
        bool wanted = required || choose(choices, 8) == 0;
        taken = wanted && (!behind || taken);
        if (!taken)
            continue;
        Str word = alternative(choices, group);
        const char *hash = memchr(word.ptr, '#', word.len);
        if (hash) {
            made->number = 8 + 8 * (choose(choices, 2) ? choose(choices, 4) : choose(choices, 32));
            strbuf_printf(out, ".%.*s%u%.*s", (int)(hash - word.ptr), word.ptr, made->number,
                          (int)(word.ptr + word.len - hash - 1), hash + 1);
            continue;
        }
        strbuf_printf(out, ".%.*s", STR_ARG(word));
        if (word.len == 2 && word.ptr[0] == 'v')
            made->vector = (unsigned)(word.ptr[1] - '0');
        if (word.len == 2 && word.ptr[1] == 'd' && word.ptr[0] >= '1' && word.ptr[0] <= '5')
            made->rank = (unsigned)(word.ptr[0] - '0');
    }
}

void random_ptx_insn(Choices *choices, const Row *row, StrBuf *out) {
    Made made = {.vector = 0};
    unsigned count = 0;
    strbuf_puts(out, row->name);
    put_modifiers(choices, row, &made, out);
    for (const char *at = row->types; *at;) {
        Str type = alternative(choices, next_part(&at, ' '));
        made.types[count++] = (Type)type_find(type);
        strbuf_printf(out, ".%.*s", STR_ARG(type));
    }
    const char *separator = " ";
    for (const char *at = row->operands; *at;) {
        Str spec = next_part(&at, ' ');
        bool optional = spec.ptr[spec.len - 1] == '?';
        spec.len -= optional;
        if (optional && choose(choices, 2))
            continue;
        strbuf_puts(out, separator);
        separator = ", ";
        if (spec.ptr[0] == '=')
            put_dest(choices, &made, (Str){spec.ptr + 1, spec.len - 1}, out);
        else
            put_operand(choices, &made, spec, out);
        made.operand++;
    }
    strbuf_puts(out, ";\n");
}

void random_ptx_statement(Choices *choices, StrBuf *out) {
    static const char *const common[] = {
        "bar.sync 0;\n",
        "ld.global.u32 %r5, [%rd3];\n",
        "st.global.u32 [%rd3], %r1;\n",
        "st.shared.u32 [%r2], %r1;\n",
        "ld.shared.u32 %r6, [%r2];\n",
        "cp.async.ca.shared.global [%r2], [%rd3], 4;\n",
        "cp.async.commit_group; cp.async.wait_group 0;\n",
        "@%p1 bra $L1;\n",
        "@%p1 bra.uni $L5;\n",
        "setp.lt.u32 %p3, %r5, %r1;\n",
        "mov.b32 %r5, %r1; mov.b32 %r6, 3; mov.b64 %rd5, %rd3;\n",
        "{ .reg .b32 t; mov.u32 t, 1; add.u32 %r7, t, %r5; }\n",
        "atom.global.add.u32 %r8, [%rd1], 1;\n",
        "@!%p1 ret;\n",
        "mbarrier.arrive.shared.b64 %rd7, [bar]; mbarrier.test_wait.shared.b64 %p3, [bar], %rd7;\n",
        "mbarrier.arrive.shared.b64 %rd7, [bar];\n",
        "@%p4 mbarrier.arrive.expect_tx.shared.b64 %rd8, [bar], 256;\n",
        "mbarrier.try_wait.parity.shared.b64 %p5, [bar], 0;\n",
        "fence.proxy.async;\n",
        "@%p4 cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [buf], [%rd1], "
        "256, "
        "[bar];\n",
        "@%p4 cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes "
        "[buf], "
        "[%rd6, {0, 0}], [bar];\n",
        "@%p4 cp.async.bulk.global.shared::cta.bulk_group [%rd1], [buf], 128;\n",
        "cp.async.bulk.commit_group; cp.async.bulk.wait_group 0;\n",
        "cp.async.mbarrier.arrive.noinc.shared.b64 [bar];\n",
        "wgmma.fence.sync.aligned;\n",
        "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%r10, %r11, %r12, %r13}, %rd9, %rd9, "
        "%p2, "
        "1, 1, 0, 0;\n",
        "wgmma.commit_group.sync.aligned; wgmma.wait_group.sync.aligned 0;\n",
        "barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;\n",
        "mapa.shared::cluster.u32 %r14, %r2, 1; ld.shared::cluster.u32 %r15, [%r14];\n",
        "st.async.shared::cluster.mbarrier::complete_tx::bytes.u32 [%r14], %r1, [bar];\n",
        "setmaxnreg.dec.sync.aligned.u32 40;\n",
    };
    unsigned kind = choose(choices, 8);
    if (kind < 2) {
        strbuf_puts(out, common[choose(choices, sizeof common / sizeof *common)]);
        return;
    }
    if (kind == 2)
        strbuf_printf(out, "@%s%%p%u ", choose(choices, 2) ? "!" : "", 1 + choose(choices, 3));
    random_ptx_insn(choices, &insn_rows[choose(choices, insn_row_count)], out);
}

void random_ptx_module(Choices *choices, unsigned statements, StrBuf *out) {
    static const char *const targets[] = {"sm_90a", "sm_80", "sm_100a", "sm_120a"};
    static const char *const blocks[] = {" .reqntid 64, 1, 1", " .reqntid 128, 1, 1", "",
                                         " .reqntid 32, 2, 1"};
    strbuf_printf(out,
                  ".version 8.8\n.target %s\n.address_size 64\n.file 1 \"k.tile\"\n%s"
                  ".visible .entry k(%s)%s {\n%s.loc 1 1 1\n",
                  targets[choose(choices, 8) < 5 ? 0 : choose(choices, 4)], random_ptx_module_head,
                  random_ptx_parameters, blocks[choose(choices, 4)], random_ptx_prologue);
    strbuf_puts(out, "ts: .branchtargets $L2, $L5, $L7;\n");
    for (unsigned i = 0, label = 0; i < statements; i++) {
        for (; label < LABELS && i >= statements * label / LABELS; label++)
            strbuf_printf(out, "$L%u: .loc 1 %u 1\n", label, label + 2);
        random_ptx_statement(choices, out);
    }
    strbuf_puts(out, "ret;\n}\n");
}
