/* Integer ops, comparisons and conversions against 128-bit arithmetic: all pairs of i8 and i1, and
 * all pairs of interesting values of the wider types. */
#include "interp_testing.h"

typedef __int128 Wide;

static uint64_t mask_of(int bits) {
    return bits == 64 ? UINT64_MAX : (UINT64_C(1) << bits) - 1;
}

static Wide as_unsigned(uint64_t value, int bits) {
    return (Wide)(value & mask_of(bits));
}

static Wide as_signed(uint64_t value, int bits) {
    Wide u = as_unsigned(value, bits);
    return u >> (bits - 1) & 1 ? u - ((Wide)1 << bits) : u;
}

/* The result, or false where the op is undefined. */
typedef bool Reference(Wide ua, Wide ub, Wide sa, Wide sb, int bits, Wide *result);

#define REFERENCE(name, DEFINED, EXPR)                                                             \
    static bool ref_##name(Wide ua, Wide ub, Wide sa, Wide sb, int bits, Wide *result) {           \
        if (!(DEFINED))                                                                            \
            return false;                                                                          \
        *result = (EXPR);                                                                          \
        return true;                                                                               \
    }
#define SIGNED_DIVIDES (sb != 0 && !(sb == -1 && sa == -((Wide)1 << (bits - 1))))
REFERENCE(addi, true, ua + ub)
REFERENCE(subi, true, ua - ub)
REFERENCE(muli, true, (Wide)((unsigned __int128)ua *(unsigned __int128)ub))
REFERENCE(mulhui, true, (Wide)((unsigned __int128)ua *(unsigned __int128)ub >> bits))
REFERENCE(divsi, SIGNED_DIVIDES, sa / sb)
REFERENCE(divui, ub != 0, ua / ub)
REFERENCE(remsi, sb != 0, sb == -1 ? 0 : sa % sb)
REFERENCE(remui, ub != 0, ua % ub)
REFERENCE(andi, true, ua &ub)
REFERENCE(ori, true, ua | ub)
REFERENCE(xori, true, ua ^ ub)
REFERENCE(shli, ub < bits, (Wide)((unsigned __int128)ua << ub))
REFERENCE(shrsi, ub < bits, sa >> ub)
REFERENCE(shrui, ub < bits, ua >> ub)
REFERENCE(minsi, true, sa < sb ? sa : sb)
REFERENCE(maxsi, true, sa > sb ? sa : sb)
REFERENCE(minui, true, ua < ub ? ua : ub)
REFERENCE(maxui, true, ua > ub ? ua : ub)

typedef Value *Binary(Builder *builder, Value *a, Value *b);

static const struct {
    const char *name;
    Binary *build;
    Reference *reference;
} binaries[] = {
#define ROW(name)                                                                                  \
    { #name, build_##name, ref_##name }
    ROW(addi),  ROW(subi),  ROW(muli),  ROW(mulhui), ROW(divsi), ROW(divui),
    ROW(remsi), ROW(remui), ROW(andi),  ROW(ori),    ROW(xori),  ROW(shli),
    ROW(shrsi), ROW(shrui), ROW(minsi), ROW(maxsi),  ROW(minui), ROW(maxui),
};

static const DType int_types[] = {DT_I1, DT_I8, DT_I16, DT_I32, DT_I64};

/* Every value of the short types; around every power of two, and patterns, of the others. */
static size_t interesting(int bits, uint64_t *values) {
    size_t n = 0;
    if (bits <= 8) {
        for (uint64_t v = 0; v < UINT64_C(1) << bits; v++)
            values[n++] = v;
        return n;
    }
    for (int shift = 0; shift < bits; shift++)
        for (int around = -1; around <= 1; around++)
            values[n++] = ((UINT64_C(1) << shift) + (uint64_t)(int64_t)around) & mask_of(bits);
    for (int shift = 0; shift < bits; shift++)
        values[n++] = (0 - (UINT64_C(1) << shift)) & mask_of(bits);
    return n;
}

enum { MAX_PAIRS = 1 << 17 };

static void put(void *array, size_t i, int bytes, uint64_t value) {
    memcpy((char *)array + i * (size_t)bytes, &value, (size_t)bytes);
}

static uint64_t get(const void *array, size_t i, int bytes) {
    uint64_t value = 0;
    memcpy(&value, (const char *)array + i * (size_t)bytes, (size_t)bytes);
    return value;
}

/* All pairs of interesting values, the last one repeated up to a power of two. */
static int64_t all_pairs(DType dtype, void *a, void *b) {
    uint64_t values[512];
    size_t count = interesting(dtype_info[dtype].bits, values), n = 0;
    int bytes = dtype_bytes(dtype);
    for (size_t i = 0; i < count; i++)
        for (size_t j = 0; j < count; j++, n++) {
            put(a, n, bytes, values[i]);
            put(b, n, bytes, values[j]);
        }
    int64_t total = 1;
    while (total < (int64_t)n)
        total *= 2;
    assert_true(total <= MAX_PAIRS);
    for (; (int64_t)n < total; n++) {
        put(a, n, bytes, values[count - 1]);
        put(b, n, bytes, 1);
    }
    return total;
}

typedef struct Buffers {
    uint64_t a[MAX_PAIRS], b[MAX_PAIRS], out[MAX_PAIRS];
} Buffers;

static void check_binary(Buffers *buffers, size_t op, DType dtype) {
    int64_t n = all_pairs(dtype, buffers->a, buffers->b);
    int bits = dtype_info[dtype].bits, bytes = dtype_bytes(dtype);
    Kernel k = kernel_begin(3, (DType[]){dtype, dtype, dtype});
    kernel_array(&k, 0, buffers->a, (size_t)(n * bytes));
    kernel_array(&k, 1, buffers->b, (size_t)(n * bytes));
    kernel_array(&k, 2, buffers->out, (size_t)(n * bytes));
    Value *result = binaries[op].build(&k.b, kernel_load(&k, 0, n), kernel_load(&k, 1, n));
    kernel_store(&k, 2, n, result);
    k.options.max_reports = 1000;
    bool clean = kernel_run(&k), all_defined = true;
    for (int64_t i = 0; i < n; i++) {
        uint64_t a = get(buffers->a, (size_t)i, bytes), b = get(buffers->b, (size_t)i, bytes);
        Wide expected;
        if (!binaries[op].reference(as_unsigned(a, bits), as_unsigned(b, bits), as_signed(a, bits),
                                    as_signed(b, bits), bits, &expected)) {
            all_defined = false;
            continue;
        }
        uint64_t found = get(buffers->out, (size_t)i, bytes);
        if (found != ((uint64_t)expected & mask_of(bits)))
            fail_msg("%s of %d bits: %llx and %llx gave %llx", binaries[op].name, bits,
                     (unsigned long long)a, (unsigned long long)b, (unsigned long long)found);
    }
    if (clean != all_defined)
        fail_msg("%s of %d bits: %s", binaries[op].name, bits, kernel_messages(&k));
    kernel_end(&k);
}

static void test_binary_ops(void **state) {
    for (size_t op = 0; op < sizeof binaries / sizeof *binaries; op++)
        for (size_t t = 0; t < sizeof int_types / sizeof *int_types; t++)
            check_binary(*state, op, int_types[t]);
}

typedef Value *Unary(Builder *builder, Value *x);
typedef uint64_t UnaryReference(Wide a, int bits);

static uint64_t ref_absi(Wide a, int bits) {
    return (uint64_t)(a < 0 ? -a : a);
}

static uint64_t ref_popcount(Wide a, int bits) {
    uint64_t ones = 0;
    for (int i = 0; i < bits; i++)
        ones += (uint64_t)(a >> i) & 1;
    return ones;
}

static void check_unary(Buffers *buffers, Unary *build, UnaryReference *reference) {
    for (size_t t = 0; t < sizeof int_types / sizeof *int_types; t++) {
        DType dtype = int_types[t];
        int bits = dtype_info[dtype].bits, bytes = dtype_bytes(dtype);
        int64_t n = all_pairs(dtype, buffers->a, buffers->b);
        Kernel k = kernel_begin(2, (DType[]){dtype, dtype});
        kernel_array(&k, 0, buffers->a, (size_t)(n * bytes));
        kernel_array(&k, 1, buffers->out, (size_t)(n * bytes));
        kernel_store(&k, 1, n, build(&k.b, kernel_load(&k, 0, n)));
        assert_clean(&k);
        for (int64_t i = 0; i < n; i++) {
            Wide a = as_signed(get(buffers->a, (size_t)i, bytes), bits);
            assert_int_equal(get(buffers->out, (size_t)i, bytes),
                             reference(a, bits) & mask_of(bits));
        }
        kernel_end(&k);
    }
}

static void test_unary_ops(void **state) {
    check_unary(*state, build_absi, ref_absi);
    check_unary(*state, build_popcount, ref_popcount);
}

static bool compares(IntPredicate predicate, Wide ua, Wide ub, Wide sa, Wide sb) {
    switch (predicate) {
    case IPRED_EQ:
        return ua == ub;
    case IPRED_NE:
        return ua != ub;
    case IPRED_SLT:
        return sa < sb;
    case IPRED_SLE:
        return sa <= sb;
    case IPRED_SGT:
        return sa > sb;
    case IPRED_SGE:
        return sa >= sb;
    case IPRED_ULT:
        return ua < ub;
    case IPRED_ULE:
        return ua <= ub;
    case IPRED_UGT:
        return ua > ub;
    case IPRED_UGE:
        return ua >= ub;
    case IPRED_COUNT:
        break;
    }
    return false;
}

static void test_comparisons(void **state) {
    Buffers *buffers = *state;
    for (size_t t = 0; t < sizeof int_types / sizeof *int_types; t++) {
        DType dtype = int_types[t];
        int bits = dtype_info[dtype].bits, bytes = dtype_bytes(dtype);
        int64_t n = all_pairs(dtype, buffers->a, buffers->b);
        for (int p = 0; p < IPRED_COUNT; p++) {
            Kernel k = kernel_begin(3, (DType[]){dtype, dtype, DT_I1});
            kernel_array(&k, 0, buffers->a, (size_t)(n * bytes));
            kernel_array(&k, 1, buffers->b, (size_t)(n * bytes));
            kernel_array(&k, 2, buffers->out, (size_t)n);
            Value *a = kernel_load(&k, 0, n), *b = kernel_load(&k, 1, n);
            kernel_store(&k, 2, n, build_cmpi(&k.b, a, b, (IntPredicate)p));
            assert_clean(&k);
            for (int64_t i = 0; i < n; i++) {
                uint64_t x = get(buffers->a, (size_t)i, bytes);
                uint64_t y = get(buffers->b, (size_t)i, bytes);
                bool expected =
                    compares((IntPredicate)p, as_unsigned(x, bits), as_unsigned(y, bits),
                             as_signed(x, bits), as_signed(y, bits));
                assert_int_equal(((uint8_t *)buffers->out)[i], expected);
            }
            kernel_end(&k);
        }
    }
}

typedef Value *Convert(Builder *builder, Value *x, const Type *type);

static void check_conversion(Buffers *buffers, DType from, DType to, Convert *build,
                             bool is_signed) {
    int bits = dtype_info[from].bits, bytes = dtype_bytes(from), out_bytes = dtype_bytes(to);
    int64_t n = all_pairs(from, buffers->a, buffers->b);
    Kernel k = kernel_begin(2, (DType[]){from, to});
    kernel_array(&k, 0, buffers->a, (size_t)(n * bytes));
    kernel_array(&k, 1, buffers->out, (size_t)(n * out_bytes));
    kernel_store(&k, 1, n, build(&k.b, kernel_load(&k, 0, n), tile_type(&k, to, n)));
    assert_clean(&k);
    for (int64_t i = 0; i < n; i++) {
        uint64_t x = get(buffers->a, (size_t)i, bytes);
        Wide value = is_signed ? as_signed(x, bits) : as_unsigned(x, bits);
        assert_int_equal(get(buffers->out, (size_t)i, out_bytes),
                         (uint64_t)value & mask_of(dtype_info[to].bits));
    }
    kernel_end(&k);
}

static void test_width_conversions(void **state) {
    for (size_t f = 0; f < sizeof int_types / sizeof *int_types; f++)
        for (size_t t = 0; t < sizeof int_types / sizeof *int_types; t++) {
            if (t < f) {
                check_conversion(*state, int_types[f], int_types[t], build_trunci, false);
            } else if (t > f) {
                check_conversion(*state, int_types[f], int_types[t], build_extsi, true);
                check_conversion(*state, int_types[f], int_types[t], build_extui, false);
            }
        }
}

static void test_select_chooses_by_element(void **state) {
    uint8_t cond[4] = {1, 0, 0, 1};
    for (size_t t = 0; t < sizeof int_types / sizeof *int_types; t++) {
        DType dtype = int_types[t];
        int bytes = dtype_bytes(dtype);
        uint64_t a[4] = {0}, b[4] = {0}, out[4];
        for (size_t i = 0; i < 4; i++) {
            put(a, i, bytes, 1);
            put(b, i, bytes, 0);
        }
        Kernel k = kernel_begin(4, (DType[]){DT_I1, dtype, dtype, dtype});
        kernel_array(&k, 0, cond, sizeof cond);
        kernel_array(&k, 1, a, 4 * (size_t)bytes);
        kernel_array(&k, 2, b, 4 * (size_t)bytes);
        kernel_array(&k, 3, out, 4 * (size_t)bytes);
        Value *c = kernel_load(&k, 0, 4), *x = kernel_load(&k, 1, 4), *y = kernel_load(&k, 2, 4);
        kernel_store(&k, 3, 4, build_select(&k.b, c, x, y));
        assert_clean(&k);
        for (size_t i = 0; i < 4; i++)
            assert_int_equal(get(out, i, bytes), cond[i]);
        kernel_end(&k);
    }
}

static void test_select_by_scalar_chooses_whole_tiles(void **state) {
    int32_t a[4] = {1, 2, 3, 4}, b[4] = {5, 6, 7, 8}, out[4];
    for (int chosen = 0; chosen < 2; chosen++) {
        Kernel k = kernel_begin(3, (DType[]){DT_I32, DT_I32, DT_I32});
        kernel_array(&k, 0, a, sizeof a);
        kernel_array(&k, 1, b, sizeof b);
        kernel_array(&k, 2, out, sizeof out);
        Value *cond = build_constant_int(&k.b, chosen, type_scalar(k.ctx, DT_I1));
        Value *x = kernel_load(&k, 0, 4), *y = kernel_load(&k, 1, 4);
        kernel_store(&k, 2, 4, build_select(&k.b, cond, x, y));
        assert_clean(&k);
        assert_memory_equal(out, chosen ? a : b, sizeof out);
        kernel_end(&k);
    }
}

static int make_buffers(void **state) {
    *state = calloc(1, sizeof(Buffers));
    return *state == NULL;
}

static int free_buffers(void **state) {
    free(*state);
    return 0;
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_binary_ops),
        cmocka_unit_test(test_unary_ops),
        cmocka_unit_test(test_comparisons),
        cmocka_unit_test(test_width_conversions),
        cmocka_unit_test(test_select_chooses_by_element),
        cmocka_unit_test(test_select_by_scalar_chooses_whole_tiles),
    };
    return cmocka_run_group_tests(tests, make_buffers, free_buffers);
}
