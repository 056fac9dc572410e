/* Tensor copies against a reference element by element: ranks, swizzles, edges, fills, element
 * strides, reductions; and what the encoding of tensor maps refuses. */
#include "sim_test.h"

#include <stdio.h>
#include <string.h>

enum { MAX_RANK = 5, MAX_BYTES = 8192, TENSOR_BYTES = 1 << 16 };

/* A tensor and a box of it at coordinates. */
typedef struct Box {
    const char *name;
    SimTensorType type;
    uint32_t bytes, rank; /* of an element */
    uint64_t dims[MAX_RANK];
    uint64_t padding; /* bytes between rows */
    uint32_t box[MAX_RANK], steps[MAX_RANK];
    int32_t at[MAX_RANK];
    SimTensorSwizzle swizzle;
    SimTensorFill fill;
} Box;

static const Box boxes[] = {
    {"a row", SIM_TENSOR_F32, 4, 1, {100}, 0, {32}, {1}, {8}, SIM_SWIZZLE_NONE, SIM_FILL_ZERO},
    {"the end of a row",
     SIM_TENSOR_F32,
     4,
     1,
     {100},
     0,
     {32},
     {1},
     {88},
     SIM_SWIZZLE_NONE,
     SIM_FILL_ZERO},
    {"before a row",
     SIM_TENSOR_F16,
     2,
     1,
     {100},
     0,
     {64},
     {1},
     {-16},
     SIM_SWIZZLE_NONE,
     SIM_FILL_NAN},
    {"a tile",
     SIM_TENSOR_BF16,
     2,
     2,
     {96, 40},
     32,
     {64, 16},
     {1, 1},
     {16, 8},
     SIM_SWIZZLE_128B,
     SIM_FILL_ZERO},
    {"a corner",
     SIM_TENSOR_BF16,
     2,
     2,
     {96, 40},
     0,
     {64, 16},
     {1, 1},
     {48, 33},
     SIM_SWIZZLE_128B,
     SIM_FILL_ZERO},
    {"the other corner",
     SIM_TENSOR_F32,
     4,
     2,
     {24, 20},
     16,
     {16, 12},
     {1, 1},
     {-4, -5},
     SIM_SWIZZLE_64B,
     SIM_FILL_NAN},
    {"narrow rows",
     SIM_TENSOR_U8,
     1,
     2,
     {64, 50},
     0,
     {32, 32},
     {1, 1},
     {48, 20},
     SIM_SWIZZLE_32B,
     SIM_FILL_ZERO},
    {"outside",
     SIM_TENSOR_S32,
     4,
     2,
     {24, 20},
     0,
     {8, 8},
     {1, 1},
     {24, 0},
     SIM_SWIZZLE_32B,
     SIM_FILL_ZERO},
    {"wide elements",
     SIM_TENSOR_F64,
     8,
     2,
     {30, 9},
     16,
     {16, 4},
     {1, 1},
     {20, 6},
     SIM_SWIZZLE_128B,
     SIM_FILL_NAN},
    {"every second row",
     SIM_TENSOR_F32,
     4,
     2,
     {24, 20},
     0,
     {8, 12},
     {1, 2},
     {4, 11},
     SIM_SWIZZLE_NONE,
     SIM_FILL_ZERO},
    {"a row that ends within 16 bytes",
     SIM_TENSOR_U32,
     4,
     2,
     {50, 20},
     16,
     {16, 8},
     {1, 1},
     {44, 15},
     SIM_SWIZZLE_NONE,
     SIM_FILL_ZERO},
    {"rows narrower than the swizzle of 32",
     SIM_TENSOR_F16,
     2,
     2,
     {150, 80},
     0,
     {8, 64},
     {1, 1},
     {144, 40},
     SIM_SWIZZLE_32B,
     SIM_FILL_NAN},
    {"rows narrower than the swizzle of 64",
     SIM_TENSOR_F32,
     4,
     3,
     {24, 20, 3},
     0,
     {12, 6, 2},
     {1, 1, 1},
     {4, 11, 1},
     SIM_SWIZZLE_64B,
     SIM_FILL_ZERO},
    {"rows narrower than the swizzle of 128",
     SIM_TENSOR_S32,
     4,
     2,
     {24, 20},
     0,
     {8, 8},
     {1, 1},
     {8, 2},
     SIM_SWIZZLE_128B,
     SIM_FILL_ZERO},
    {"three dimensions",
     SIM_TENSOR_U16,
     2,
     3,
     {40, 6, 5},
     16,
     {32, 4, 3},
     {1, 1, 1},
     {16, -1, 3},
     SIM_SWIZZLE_64B,
     SIM_FILL_ZERO},
    {"four dimensions",
     SIM_TENSOR_U32,
     4,
     4,
     {12, 4, 3, 4},
     0,
     {8, 2, 2, 3},
     {1, 1, 1, 1},
     {8, 3, 1, 2},
     SIM_SWIZZLE_NONE,
     SIM_FILL_ZERO},
    {"five dimensions",
     SIM_TENSOR_S64,
     8,
     5,
     {6, 3, 3, 3, 3},
     0,
     {4, 2, 2, 2, 2},
     {1, 1, 1, 1, 1},
     {4, 1, 2, -1, 2},
     SIM_SWIZZLE_32B,
     SIM_FILL_ZERO},
};

static uint32_t box_elements(const Box *box, uint32_t dim) {
    return dim ? (box->box[dim] + box->steps[dim] - 1) / box->steps[dim] : box->box[0];
}

static uint32_t box_bytes(const Box *box) {
    uint32_t bytes = box->bytes;
    for (uint32_t i = 0; i < box->rank; i++)
        bytes *= box_elements(box, i);
    return bytes;
}

static uint32_t row_bytes(const Box *box) {
    return box->box[0] * box->bytes;
}

/* From row to row of the box: the swizzle's width, if there is one. */
static uint32_t row_pitch(const Box *box) {
    static const uint32_t widths[] = {0, 32, 64, 128};
    return box->swizzle ? widths[box->swizzle] : row_bytes(box);
}

static uint32_t room_bytes(const Box *box) {
    return box_bytes(box) / row_bytes(box) * row_pitch(box);
}

static void strides_of(const Box *box, uint64_t *strides) {
    uint64_t stride = box->dims[0] * box->bytes;
    for (uint32_t i = 1; i < box->rank; i++) {
        stride = (stride + 15) / 16 * 16 + (i == 1 ? box->padding : 0);
        strides[i - 1] = stride;
        stride *= box->dims[i];
    }
}

/* Where a byte of the box lies: chunks of a row of the swizzle change places by the row's number.
 */
static uint32_t swizzle(const Box *box, uint32_t byte) {
    static const uint32_t widths[] = {16, 32, 64, 128}, periods[] = {1, 4, 2, 1};
    SimTensorSwizzle mode = box->swizzle;
    uint32_t at = byte / row_bytes(box) * row_pitch(box) + byte % row_bytes(box);
    uint32_t width = widths[mode], row = at / width, chunk = at % width / 16;
    chunk ^= row / periods[mode] % (width / 16);
    return row * width + chunk * 16 + at % 16;
}

/* The place of an element of the box in the tensor; -1 outside. Stores reach to the end of the 16
 * bytes in which a row of the tensor ends. */
static int64_t place_of(const Box *box, uint32_t element, bool stores) {
    uint64_t strides[MAX_RANK];
    int64_t place = 0;
    strides_of(box, strides);
    for (uint32_t i = 0; i < box->rank; i++) {
        int64_t index =
            (int64_t)(element % box_elements(box, i)) * (i ? box->steps[i] : 1) + box->at[i];
        element /= box_elements(box, i);
        uint64_t end = box->dims[i], unit = 16 / box->bytes;
        if (stores && !i)
            end = (end + unit - 1) / unit * unit;
        if (index < 0 || index >= (int64_t)end)
            return -1;
        place += index * (int64_t)(i ? strides[i - 1] : box->bytes);
    }
    return place;
}

static void fill_byte(const Box *box, uint32_t b, uint8_t *to) {
    *to = box->fill == SIM_FILL_ZERO ? 0 : b % 2 ? 0x7f : 0xf7;
}

/* A kernel that copies a box into shared memory and that to y, or the other way. */
static const char *kernel_text(Arena *arena, const Box *box, const char *body) {
    StrBuf at = strbuf(arena);
    for (uint32_t i = 0; i < box->rank; i++)
        strbuf_printf(&at, "%s%d", i ? ", " : "", box->at[i]);
    StrBuf out = strbuf(arena);
    strbuf_printf(&out,
                  PTX_HEADER
                  ".visible .entry k(.param .align 64 .b8 map[128], .param .u64 y) {\n"
                  ".reg .pred %%p<9>; .reg .b32 %%r<20>; .reg .b64 %%rd<20>;\n"
                  ".shared .align 1024 .b8 buf[%u]; .shared .b64 bar;\n"
                  "mov.b64 %%rd1, map; cvta.param.u64 %%rd1, %%rd1; ld.param.u64 %%rd2, [y];\n"
                  "mov.u32 %%r1, buf; mov.u32 %%r2, bar; mov.u32 %%r3, 0;\n",
                  room_bytes(box));
    for (const char *c = body; *c; c++) {
        if (*c == '#')
            strbuf_puts(&out, at.ptr);
        else if (*c == '$')
            strbuf_printf(&out, "%u", box->rank);
        else if (*c == '~')
            strbuf_printf(&out, "%u", box_bytes(box));
        else if (*c == '^')
            strbuf_printf(&out, "%u", room_bytes(box));
        else
            strbuf_putc(&out, *c);
    }
    strbuf_puts(&out, "ret;\n}\n");
    return out.ptr;
}

/* Gaps keep what was there before. */
static const char load_body[] =
    "F: st.shared.u32 [%r1], 0xcdcdcdcd; add.u32 %r1, %r1, 4; add.u32 %r3, %r3, 4;\n"
    "setp.lt.u32 %p2, %r3, ^; @%p2 bra F;\n"
    "mov.u32 %r1, buf; mov.u32 %r3, 0; fence.proxy.async.shared::cta;\n"
    "mbarrier.init.shared.b64 [%r2], 1; fence.mbarrier_init.release.cluster;\n"
    "mbarrier.arrive.expect_tx.shared.b64 _, [%r2], ~;\n"
    "cp.async.bulk.tensor.$d.shared::cta.global.mbarrier::complete_tx::bytes [%r1], [%rd1, {#}], "
    "[%r2];\n"
    "W: mbarrier.try_wait.parity.shared.b64 %p1, [%r2], 0; @!%p1 bra W;\n"
    "L: ld.shared.u32 %r4, [%r1]; st.global.u32 [%rd2], %r4; add.u32 %r1, %r1, 4;\n"
    "add.u64 %rd2, %rd2, 4; add.u32 %r3, %r3, 4; setp.lt.u32 %p2, %r3, ^; @%p2 bra L;\n";

static bool run(SimTest *test, const Box *box, const char *text, uint8_t *tensor, uint8_t *y) {
    uint64_t strides[MAX_RANK] = {0};
    SimTensorMap map;
    SimMemory *memory = sim_memory_create(test->ctx);
    strides_of(box, strides);
    uint64_t size = box->rank > 1 ? strides[box->rank - 2] * box->dims[box->rank - 1]
                                  : box->dims[0] * box->bytes;
    assert_true(size <= TENSOR_BYTES);
    uint64_t address = sim_map(memory, STR("tensor"), tensor, size, NULL, false);
    uint64_t result = sim_map(memory, STR("y"), y, MAX_BYTES, NULL, false);
    if (!sim_tensor_map_encode(test->ctx, &map, box->type, box->rank, address, box->dims, strides,
                               box->box, box->steps, SIM_INTERLEAVE_NONE, box->swizzle,
                               SIM_PROMOTION_128B, box->fill) ||
        !sim_test_parse(test, text))
        return false;
    SimLaunch launch = {.grid = {1, 1, 1},
                        .block = {1, 1, 1},
                        .params = (const void *[]){&map, &result},
                        .param_count = 2};
    return sim_launch(test->module, memory, &launch, &test->counts);
}

static void fill_random(uint8_t *bytes, size_t count) {
    uint32_t state = 12345;
    for (size_t i = 0; i < count; i++) {
        state = state * 1664525 + 1013904223;
        bytes[i] = (uint8_t)(state >> 24);
    }
}

static void test_loads(void **state) {
    static uint8_t tensor[TENSOR_BYTES], y[MAX_BYTES], want[MAX_BYTES];
    for (size_t b = 0; b < sizeof boxes / sizeof *boxes; b++) {
        const Box *box = &boxes[b];
        SimTest test = sim_test_begin();
        fill_random(tensor, sizeof tensor);
        if (!run(&test, box, kernel_text(&test.ctx->arena, box, load_body), tensor, y))
            fail_msg("%s: %s", box->name, sim_test_messages(&test));
        memset(want, 0xcd, sizeof want);
        for (uint32_t i = 0; i < box_bytes(box); i++) {
            int64_t place = place_of(box, i / box->bytes, false);
            uint8_t *to = &want[swizzle(box, i)];
            fill_byte(box, i, to);
            if (place >= 0)
                *to = tensor[place + i % box->bytes];
        }
        for (uint32_t i = 0; i < room_bytes(box); i++)
            if (y[i] != want[i])
                fail_msg("%s: byte %u is %u, not %u", box->name, i, y[i], want[i]);
        sim_test_end(&test);
    }
}

/* tf32 is rounded, ties to even, its NaNs are one; the types with .ftz keep subnormal numbers. */
static void test_conversions(void **state) {
    static const uint32_t stored[] = {0xc011d000, 0x4b997000, 0x3f801001, 0x3f800fff, 0xffc00000,
                                      0x7f800001, 0x7f800000, 0x007fffff, 0x80400000, 0x80000001};
    static const uint32_t rounded[] = {0xc011c000, 0x4b998000, 0x3f802000, 0x3f800000, 0x7fffe000,
                                       0x7fffe000, 0x7f800000, 0x00800000, 0x80400000, 0x80000000};
    static const SimTensorType types[] = {SIM_TENSOR_F32, SIM_TENSOR_F32_FTZ, SIM_TENSOR_TF32,
                                          SIM_TENSOR_TF32_FTZ};
    static uint8_t tensor[TENSOR_BYTES], y[MAX_BYTES];
    for (size_t t = 0; t < 4; t++) {
        Box box = {"conversions", types[t],         4,           1, {6}, 0, {16}, {1},
                   {0},           SIM_SWIZZLE_NONE, SIM_FILL_NAN};
        box.dims[0] = sizeof stored / 4;
        memcpy(tensor, stored, sizeof stored);
        SimTest test = sim_test_begin();
        if (!run(&test, &box, kernel_text(&test.ctx->arena, &box, load_body), tensor, y))
            fail_msg("type %zu: %s", t, sim_test_messages(&test));
        assert_memory_equal(y, t < 2 ? stored : rounded, sizeof stored);
        for (uint32_t i = sizeof stored; i < 64; i++)
            assert_int_equal(y[i], i % 2 ? 0x7f : 0xf7);
        sim_test_end(&test);
    }
}

/* Shared memory gets what y holds; the box goes to the tensor. */
#define STORE(instruction, operation)                                                              \
    "L: ld.global.u32 %r4, [%rd2]; st.shared.u32 [%r1], %r4; add.u32 %r1, %r1, 4;\n"               \
    "add.u64 %rd2, %rd2, 4; add.u32 %r3, %r3, 4; setp.lt.u32 %p2, %r3, ^; @%p2 bra L;\n"           \
    "fence.proxy.async.shared::cta; mov.u32 %r1, buf;\n" instruction                               \
    ".bulk.tensor.$d.global.shared::cta" operation ".tile.bulk_group [%rd1, {#}], [%r1];\n"        \
    "cp.async.bulk.commit_group; cp.async.bulk.wait_group 0;\n"

static void check_store(const Box *box, const char *text, bool adds) {
    static uint8_t tensor[TENSOR_BYTES], wanted[TENSOR_BYTES], y[MAX_BYTES];
    SimTest test = sim_test_begin();
    fill_random(tensor, sizeof tensor);
    fill_random(y, sizeof y);
    memcpy(wanted, tensor, sizeof tensor);
    for (uint32_t e = 0; e < box_bytes(box) / box->bytes; e++) {
        int64_t place = place_of(box, e, true);
        if (place < 0)
            continue;
        uint32_t from = swizzle(box, e * box->bytes), old, value;
        if (adds) {
            memcpy(&old, wanted + place, 4);
            memcpy(&value, y + from, 4);
            value += old;
            memcpy(wanted + place, &value, 4);
        } else {
            memcpy(wanted + place, y + from, box->bytes);
        }
    }
    /* The hardware takes no store that begins before the tensor. */
    bool negative = false;
    for (uint32_t i = 0; i < box->rank; i++)
        negative |= box->at[i] < 0;
    if (run(&test, box, text, tensor, y) == negative ||
        sim_test_has(&test, DIAG_sim_tensor_negative) != negative)
        fail_msg("%s: %s", box->name, sim_test_messages(&test));
    if (!negative && memcmp(tensor, wanted, sizeof tensor))
        fail_msg("%s: the tensor differs", box->name);
    sim_test_end(&test);
}

static void test_stores(void **state) {
    SimTest test = sim_test_begin();
    Arena *arena = &test.ctx->arena;
    for (size_t b = 0; b < sizeof boxes / sizeof *boxes; b++) {
        check_store(&boxes[b], kernel_text(arena, &boxes[b], STORE("cp.async", "")), false);
        if (boxes[b].type == SIM_TENSOR_S32 || boxes[b].type == SIM_TENSOR_U32)
            check_store(&boxes[b], kernel_text(arena, &boxes[b], STORE("cp.reduce.async", ".add")),
                        true);
    }
    sim_test_end(&test);
}

/* Sums of a tensor with .ftz: subnormal numbers before, added and after are zeros of their sign. */
static void test_flushed_sums(void **state) {
    static const uint32_t sums[][4] = {/* f32: before, added, after with .ftz, after without */
                                       {0x007fffff, 0x00000000, 0x00000000, 0x007fffff},
                                       {0x3f800000, 0x00000001, 0x3f800000, 0x3f800000},
                                       {0x80000001, 0x80000001, 0x80000000, 0x80000002},
                                       {0x00800001, 0x80800000, 0x00000000, 0x00000001}};
    Box box = boxes[0];
    for (int plain = 0; plain < 2; plain++) {
        static uint8_t tensor[TENSOR_BYTES], y[MAX_BYTES];
        SimTest test = sim_test_begin();
        box.type = plain ? SIM_TENSOR_F32 : SIM_TENSOR_F32_FTZ;
        memset(tensor, 0, sizeof tensor);
        memset(y, 0, sizeof y);
        for (uint32_t i = 0; i < 4; i++) {
            memcpy(tensor + place_of(&box, i, true), &sums[i][0], 4);
            memcpy(y + 4 * i, &sums[i][1], 4);
        }
        if (!run(&test, &box, kernel_text(&test.ctx->arena, &box, STORE("cp.reduce.async", ".add")),
                 tensor, y))
            fail_msg("%s", sim_test_messages(&test));
        for (uint32_t i = 0; i < 4; i++)
            assert_memory_equal(tensor + place_of(&box, i, true), &sums[i][2 + plain], 4);
        sim_test_end(&test);
    }
}

/* On the hardware a launch that combines the bits of .s64 ends. */
static void test_bits_of_signed(void **state) {
    static uint8_t tensor[TENSOR_BYTES], y[MAX_BYTES];
    Box box = boxes[0];
    box.type = SIM_TENSOR_S64;
    box.bytes = 8;
    box.dims[0] = 50;
    box.box[0] = 16;
    SimTest test = sim_test_begin();
    assert_false(run(&test, &box,
                     kernel_text(&test.ctx->arena, &box, STORE("cp.reduce.async", ".or")), tensor,
                     y));
    assert_true(sim_test_has(&test, DIAG_sim_tensor_reduction));
    sim_test_end(&test);
}

/* What cuTensorMapEncodeTiled refuses: one argument of a sound call is changed. */
typedef struct Encoding {
    SimTensorType type;
    uint32_t rank;
    uint64_t address, rows, stride;
    uint32_t width, height, step;
    SimTensorInterleave interleave;
    SimTensorSwizzle swizzle;
    SimTensorFill fill;
} Encoding;

#define SOUND                                                                                      \
    .type = SIM_TENSOR_F16, .rank = 2, .address = 4096, .rows = 64, .stride = 128, .width = 64,    \
    .height = 8, .step = 1

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Woverride-init"
static const struct {
    const char *message; /* NULL: nothing is wrong */
    Encoding encoding;
} encodings[] = {
    {NULL, {SOUND}},
    {NULL, {SOUND, .swizzle = SIM_SWIZZLE_128B, .fill = SIM_FILL_NAN}},
    {"no element type 13", {SOUND, .type = (SimTensorType)13}},
    {"the rank is 0", {SOUND, .rank = 0}},
    {"the rank is 6", {SOUND, .rank = 6}},
    {"is not a multiple of 16", {SOUND, .address = 4104}},
    {"has 0 elements", {SOUND, .rows = 0}},
    {"has 4294967297 elements", {SOUND, .rows = (UINT64_C(1) << 32) + 1}},
    {"the stride of dimension 1 is 136", {SOUND, .stride = 136}},
    {"the stride of dimension 1 is 1099511627776", {SOUND, .stride = UINT64_C(1) << 40}},
    {"box[0] is 264", {SOUND, .width = 264}},
    {"box[1] is 0", {SOUND, .height = 0}},
    {"8 bytes wide: wanted a multiple of 16", {SOUND, .width = 4}},
    {"at most the 64 of the swizzle", {SOUND, .swizzle = SIM_SWIZZLE_64B}},
    {"element stride 1 is 9", {SOUND, .step = 9}},
    {"swizzle 4 is none of sm_90", {SOUND, .swizzle = (SimTensorSwizzle)4}},
    {"cannot be filled with NaN", {SOUND, .type = SIM_TENSOR_U16, .fill = SIM_FILL_NAN}},
    {"at least 3 dimensions", {SOUND, .interleave = SIM_INTERLEAVE_16B}},
    {"has the 32B swizzle", {SOUND, .rank = 3, .interleave = SIM_INTERLEAVE_32B}},
};
#pragma GCC diagnostic pop

static void test_encoding(void **state) {
    for (size_t i = 0; i < sizeof encodings / sizeof *encodings; i++) {
        const Encoding *e = &encodings[i].encoding;
        const uint64_t dims[6] = {64, e->rows, 4, 1, 1, 1}, strides[5] = {e->stride, 8192};
        const uint32_t box[6] = {e->width, e->height, 1, 1, 1, 1},
                       steps[6] = {1, e->step, 1, 1, 1, 1};
        SimTest test = sim_test_begin();
        SimTensorMap map;
        bool ok =
            sim_tensor_map_encode(test.ctx, &map, e->type, e->rank, e->address, dims, strides, box,
                                  steps, e->interleave, e->swizzle, SIM_PROMOTION_NONE, e->fill);
        const char *messages = sim_test_messages(&test);
        if (ok != !encodings[i].message || (!ok && !strstr(messages, encodings[i].message)))
            fail_msg("%s: %s", encodings[i].message ? encodings[i].message : "sound", messages);
        sim_test_end(&test);
    }
}

/* Faults of a kernel: each replaces a part of its text. */
static void test_faults(void **state) {
    static const struct {
        const char *body;
        DiagId id;
        const char *message;
    } faults[] = {
        {"cp.async.bulk.tensor.3d.shared::cta.global.tile.mbarrier::complete_tx::bytes [%r1], "
         "[%rd1, {0, 0, 0}], [%r2];\n",
         DIAG_sim_tensor_rank, "3 coordinates for a tensor of 2"},
        {"cp.async.bulk.tensor.2d.shared::cta.global.tile.mbarrier::complete_tx::bytes [%r1+16], "
         "[%rd1, {0, 0}], [%r2];\n",
         DIAG_sim_bulk_align, "not a multiple of 128"},
        {"cp.async.bulk.tensor.2d.shared::cta.global.tile.mbarrier::complete_tx::bytes [%r1], "
         "[%rd1, {-4, 0}], [%r2];\n",
         DIAG_sim_tensor_coordinate, "coordinate -4 is -8 bytes into the row"},
        {"cp.async.bulk.tensor.2d.shared::cta.global.tile.mbarrier::complete_tx::bytes [%r1], "
         "[%rd1, {12, 0}], [%r2];\n",
         DIAG_sim_tensor_coordinate, "coordinate 12 is 24 bytes into the row"},
        {"st.shared.u32 [%r1], 1; cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group "
         "[%rd1, {4, 0}], [%r1];\n",
         DIAG_sim_tensor_coordinate, "coordinate 4 is 8 bytes into the row"},
        {"cp.async.bulk.prefetch.tensor.2d.L2.global.tile [%rd2, {0, 0}];\n", DIAG_sim_tensor_none,
         "no tensor map at"},
        {"prefetch.tensormap [%rd1+8];\n", DIAG_sim_tensor_address, "multiple of 64"},
        {"st.shared.u32 [%r1], 1; cp.reduce.async.bulk.tensor.2d.global.shared::cta.xor.tile."
         "bulk_group [%rd1, {0, 0}], [%r1];\n",
         DIAG_sim_tensor_reduction, "take integers"},
    };
    static uint8_t tensor[TENSOR_BYTES], y[MAX_BYTES];
    const Box *box = &boxes[3];
    for (size_t i = 0; i < sizeof faults / sizeof *faults; i++) {
        SimTest test = sim_test_begin();
        StrBuf body = strbuf(&test.ctx->arena);
        strbuf_puts(&body, "mbarrier.init.shared.b64 [%r2], 1; fence.proxy.async;\n");
        strbuf_puts(&body, faults[i].body);
        bool ok = run(&test, box, kernel_text(&test.ctx->arena, box, body.ptr), tensor, y);
        if (ok || !sim_test_has(&test, faults[i].id) ||
            !strstr(sim_test_messages(&test), faults[i].message))
            fail_msg("%s: %s", faults[i].body, sim_test_messages(&test));
        sim_test_end(&test);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_loads),          cmocka_unit_test(test_conversions),
        cmocka_unit_test(test_stores),         cmocka_unit_test(test_flushed_sums),
        cmocka_unit_test(test_bits_of_signed), cmocka_unit_test(test_encoding),
        cmocka_unit_test(test_faults),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
