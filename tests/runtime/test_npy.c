/* .npy files, written here byte by byte as NumPy's format document says, and every way they can be
 * wrong. */
#include "runtime/data/npy.h"

#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

/* A file in memory: magic, version, header, data. */
typedef struct File {
    size_t len;
    _Alignas(64) uint8_t bytes[4096];
} File;

static void add(File *file, const void *data, size_t len) {
    assert_true(file->len + len <= sizeof file->bytes);
    if (len)
        memcpy(file->bytes + file->len, data, len);
    file->len += len;
}

/* The header unpadded, so that the data lies where it falls. */
static File make_file(int major, const char *header, const void *data, size_t bytes) {
    File file = {0};
    size_t len = strlen(header);
    const uint8_t prelude[] = {0x93, 'N', 'U', 'M', 'P', 'Y', (uint8_t)major, 0};
    const uint8_t length[] = {(uint8_t)len, (uint8_t)(len >> 8), 0, 0};
    add(&file, prelude, sizeof prelude);
    add(&file, length, major == 1 ? 2 : 4);
    add(&file, header, len);
    add(&file, data, bytes);
    return file;
}

static Ctx *new_ctx(void) {
    Ctx *ctx = ctx_create();
    assert_non_null(ctx);
    ctx->arena.oom = NULL; /* out of memory aborts the test */
    return ctx;
}

static const char *messages(Ctx *ctx) {
    StrBuf out = strbuf(&ctx->arena);
    diag_print_all(&ctx->diags, &out);
    return out.ptr ? out.ptr : "";
}

#define HEADER(descr, fortran, shape)                                                              \
    "{'descr': '" descr "', 'fortran_order': " fortran ", 'shape': " shape ", }\n"

static void check_type(const char *header, size_t bytes, Elem elem, int32_t rank,
                       const int64_t *shape) {
    uint8_t data[64] = {0};
    for (int major = 1; major <= 3; major++) {
        File file = make_file(major, header, data, bytes);
        Ctx *ctx = new_ctx();
        HostArray array;
        if (!npy_parse(ctx, "x.npy", file.bytes, file.len, ELEM_COUNT, &array))
            fail_msg("%s", messages(ctx));
        assert_int_equal(array.elem, elem);
        assert_int_equal(array.rank, rank);
        assert_memory_equal(array.shape, shape, (size_t)rank * sizeof *shape);
        assert_int_equal(array.bytes, bytes);
        ctx_destroy(ctx);
    }
}

static void test_types_and_shapes(void **state) {
    check_type(HEADER("<f2", "False", "(3,)"), 6, ELEM_F16, 1, (int64_t[]){3});
    check_type(HEADER("<f4", "False", "(3, 2)"), 24, ELEM_F32, 2, (int64_t[]){3, 2});
    check_type(HEADER("<f8", "False", "(1, 2, 3)"), 48, ELEM_F64, 3, (int64_t[]){1, 2, 3});
    check_type(HEADER("|i1", "False", "()"), 1, ELEM_I8, 0, NULL);
    check_type(HEADER("<i2", "False", "(2,)"), 4, ELEM_I16, 1, (int64_t[]){2});
    check_type(HEADER("<i4", "False", "(2, )"), 8, ELEM_I32, 1, (int64_t[]){2});
    check_type(HEADER("<i8", "False", "(2L,)"), 16, ELEM_I64, 1, (int64_t[]){2});
    check_type(HEADER("|u1", "False", "(0,)"), 0, ELEM_U8, 1, (int64_t[]){0});
    check_type(HEADER("<u2", "False", "(5, 0)"), 0, ELEM_U16, 2, (int64_t[]){5, 0});
    check_type(HEADER("<u4", "False", "(1,)"), 4, ELEM_U32, 1, (int64_t[]){1});
    check_type(HEADER("=u8", "False", "(1,)"), 8, ELEM_U64, 1, (int64_t[]){1});
    check_type(HEADER("|b1", "False", "(4,)"), 4, ELEM_I1, 1, (int64_t[]){4});
    check_type(HEADER("<V2", "False", "(4,)"), 8, ELEM_BF16, 1, (int64_t[]){4});
    check_type(HEADER("|V2", "False", "(4,)"), 8, ELEM_BF16, 1, (int64_t[]){4});
    /* Any order of keys, either quote, space anywhere, no comma at the end. */
    check_type(" { \"shape\" :(2,\n) ,'fortran_order':False,\t'descr':\"<f4\"}   \n", 8, ELEM_F32,
               1, (int64_t[]){2});
    /* An empty array, however large its other sizes. */
    check_type(HEADER("<f8", "False", "(9223372036854775807, 9223372036854775807, 0)"), 0, ELEM_F64,
               3, (int64_t[]){INT64_MAX, INT64_MAX, 0});
}

static void test_values_at_any_alignment(void **state) {
    float data[4] = {1.5f, -0.0f, INFINITY, 3e-39f};
    for (int pad = 0; pad < 8; pad++) {
        char header[128];
        snprintf(header, sizeof header, "%s%.*s\n",
                 "{'descr':'<f4','fortran_order':False,'shape':(4,)}", pad, "        ");
        File file = make_file(1, header, data, sizeof data);
        Ctx *ctx = new_ctx();
        HostArray array;
        assert_true(npy_parse(ctx, "x.npy", file.bytes, file.len, ELEM_COUNT, &array));
        assert_int_equal((uintptr_t)array.data % sizeof(float), 0);
        assert_memory_equal(array.data, data, sizeof data);
        ctx_destroy(ctx);
    }
}

static void test_fortran_order_is_converted(void **state) {
    /* Element [i, j, k] is 100 i + 10 j + k; the first index runs fastest. */
    int16_t data[24], expected[24];
    for (int i = 0; i < 2; i++)
        for (int j = 0; j < 3; j++)
            for (int k = 0; k < 4; k++) {
                data[(k * 3 + j) * 2 + i] = (int16_t)(100 * i + 10 * j + k);
                expected[(i * 3 + j) * 4 + k] = (int16_t)(100 * i + 10 * j + k);
            }
    File file = make_file(1, HEADER("<i2", "True", "(2, 3, 4)"), data, sizeof data);
    Ctx *ctx = new_ctx();
    HostArray array;
    assert_true(npy_parse(ctx, "x.npy", file.bytes, file.len, ELEM_COUNT, &array));
    assert_memory_equal(array.data, expected, sizeof expected);
    ctx_destroy(ctx);
}

static void test_bools_become_zero_or_one(void **state) {
    uint8_t data[4] = {0, 1, 2, 255};
    static const uint8_t expected[4] = {0, 1, 1, 1};
    File file = make_file(1, HEADER("|b1", "False", "(4,)"), data, sizeof data);
    Ctx *ctx = new_ctx();
    HostArray array;
    assert_true(npy_parse(ctx, "x.npy", file.bytes, file.len, ELEM_COUNT, &array));
    assert_memory_equal(array.data, expected, sizeof expected);
    ctx_destroy(ctx);
}

static void test_raw_bytes_as_the_type_asked_for(void **state) {
    static const struct {
        const char *header;
        size_t bytes;
        Elem as, elem;
    } cases[] = {
        {HEADER("|V1", "False", "(4,)"), 4, ELEM_F8E5, ELEM_F8E5},
        {HEADER("|u1", "False", "(4,)"), 4, ELEM_F8E4NV, ELEM_F8E4NV},
        {HEADER("<u2", "False", "(2,)"), 4, ELEM_BF16, ELEM_BF16},
        {HEADER("<u2", "False", "(2,)"), 4, ELEM_F16, ELEM_U16}, /* f2 exists: no guess */
        {HEADER("<f4", "False", "(1,)"), 4, ELEM_I32, ELEM_F32},
        {HEADER("<V2", "False", "(2,)"), 4, ELEM_F8E5, ELEM_BF16}, /* another size */
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        File file = make_file(1, cases[i].header, "abcd", cases[i].bytes);
        Ctx *ctx = new_ctx();
        HostArray array;
        assert_true(npy_parse(ctx, "x.npy", file.bytes, file.len, cases[i].as, &array));
        assert_int_equal(array.elem, cases[i].elem);
        ctx_destroy(ctx);
    }
}

static void refuses(const File *file, const char *message) {
    Ctx *ctx = new_ctx();
    HostArray array;
    /* A block of the file's size, so that the sanitizer sees reads behind its end. */
    uint8_t *bytes = malloc(file->len ? file->len : 1);
    memcpy(bytes, file->bytes, file->len);
    assert_false(npy_parse(ctx, "x.npy", bytes, file->len, ELEM_COUNT, &array));
    if (ctx->diags.errors != 1 || !strstr(messages(ctx), message))
        fail_msg("wanted: %s\nfound: %s", message, messages(ctx));
    free(bytes);
    ctx_destroy(ctx);
}

static void test_bad_headers(void **state) {
    static const struct {
        const char *header, *message;
    } cases[] = {
        {"", "x.npy:1:1: error: the .npy header has the end, wanted '{'"},
        {"[1]", "x.npy:1:1: error: the .npy header has '[', wanted '{'"},
        {"{", "x.npy:1:2: error: the .npy header has the end, wanted a string"},
        {"{'descr", "the .npy header has the end, wanted the string's end"},
        {"{'descr'", "the .npy header has the end, wanted ':'"},
        {"{'descr':", "the .npy header has the end, wanted a string"},
        {"{'descr':3}", "x.npy:1:10: error: the .npy header has '3', wanted a string"},
        {"{'colour': 3}", "an entry that is unknown: 'colour'"},
        {"{'descr': '<f4' 'shape': ()}",
         "x.npy:1:17: error: the .npy header has ''', wanted ',' or '}'"},
        {"{'descr': '<f4', 'descr': '<f4'}", "an entry that is repeated: 'descr'"},
        {"{'descr': '<f4', 'shape': ()}", "an entry that is missing: 'fortran_order'"},
        {"{'fortran_order': False, 'shape': ()}", "an entry that is missing: 'descr'"},
        {"{'descr': '<f4', 'fortran_order': False}", "an entry that is missing: 'shape'"},
        {"{'fortran_order': 0}", "has '0', wanted True or False"},
        {"{'fortran_order': Tru", "has 'T', wanted True or False"},
        {"{'shape': 3}", "has '3', wanted a tuple of sizes"},
        {"{'shape': (3)}", "has ')', wanted ',' as in (3,)"},
        {"{'shape': (3 4)}", "x.npy:1:14: error: the .npy header has '4', wanted ',' or ')'"},
        {"{'shape': (-3,)}", "has '-', wanted a size or ')'"},
        {"{'shape': (3,,)}", "has ',', wanted a size or ')'"},
        {"{'shape': (3,", "has the end, wanted a size or ')'"},
        {"{'shape': (9223372036854775808,)}", "too large: a size does not fit 63 bits"},
        {HEADER("<f4", "False", "()") "x", "has 'x', wanted nothing after '}'"},
        {HEADER(">f4", "False", "()"),
         "x.npy:1:11: error: the array's element type is '>f4', wanted"},
        {HEADER("<f3", "False", "()"), "the array's element type is '<f3', wanted"},
        {HEADER("|f4", "False", "()"), "the array's element type is '|f4', wanted"},
        {HEADER("<c8", "False", "()"), "the array's element type is '<c8', wanted"},
        {HEADER("<U10", "False", "()"), "the array's element type is '<U10', wanted"},
        {HEADER("|O", "False", "()"), "the array's element type is '|O', wanted"},
        {HEADER("", "False", "()"), "the array's element type is '', wanted"},
        {HEADER("|V1", "False", "()"), "wanted to know which type the bytes are"},
        {"{'descr': [('x', '<f4')], 'fortran_order': False, 'shape': ()}",
         "x.npy:1:11: error: the array's element type is a structured type"},
        {HEADER("<f4", "False", "(4294967296, 4294967296)"), "the array is larger than memory"},
        {HEADER("<f8", "False", "(1152921504606846976,)"), "the array is larger than memory"},
        {HEADER("<f4", "False",
                "(1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1)"),
         "it has more than 32 dimensions"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        File file = make_file(2, cases[i].header, NULL, 0);
        refuses(&file, cases[i].message);
    }
}

static void test_bytes_in_headers_are_shown_safely(void **state) {
    File file = make_file(1, "{\x01", NULL, 0);
    refuses(&file, "the .npy header has \\x01, wanted a string");
    file = make_file(1, HEADER("<f4", "False", "()"), "1234", 4);
    file.bytes[10 + 12] = 0;
    refuses(&file, "x.npy:1:11: error: the array's element type is '<', wanted");
}

static void test_truncated_files(void **state) {
    float data[4] = {1, 2, 3, 4};
    File whole = make_file(1, HEADER("<f4", "False", "(4,)"), data, sizeof data);
    for (size_t len = 0; len < whole.len; len++) {
        File file = whole;
        file.len = len;
        refuses(&file, "'x.npy' is truncated: its ");
    }
    File file = whole;
    file.len -= 3;
    refuses(&file, "its data should have 16 bytes, 13 are there");
}

static void test_other_files(void **state) {
    File file = {0};
    add(&file, "PK\x03\x04 a zip archive", 18);
    refuses(&file, "'x.npy' is no .npy file: it does not begin with \\x93NUMPY");
    file = make_file(1, HEADER("<f4", "False", "()"), "12345", 5);
    refuses(&file, "'x.npy' goes on for 1 bytes after its array");
    file = make_file(1, HEADER("<f4", "False", "()"), "1234", 4);
    file.bytes[6] = 4;
    refuses(&file, "'x.npy' has .npy version 4.0; versions 1.0, 2.0 and 3.0 are read");
    file = make_file(2, "", NULL, 0);
    memset(file.bytes + 8, 0xff, 4);
    refuses(&file, "'x.npy' has a header of 4294967295 bytes; at most 65536 are read");
}

/* Writing */

typedef struct Folder {
    char path[64];
} Folder;

static int make_folder(void **state) {
    Folder *folder = calloc(1, sizeof *folder);
    strcpy(folder->path, "/tmp/tilec-npy-XXXXXX");
    *state = folder;
    return mkdtemp(folder->path) == NULL;
}

static int remove_folder(void **state) {
    Folder *folder = *state;
    int failed = rmdir(folder->path); /* fails when a temporary file was left */
    free(folder);
    return failed;
}

static void test_written_files_have_numpys_bytes(void **state) {
    float data[6] = {0};
    HostArray array = {.elem = ELEM_F32, .rank = 2, .shape = {2, 3}, .data = data};
    assert_true(host_array_measure(&array));
    Ctx *ctx = new_ctx();
    StrBuf out = strbuf(&ctx->arena);
    npy_header(&array, &out);
    /* What np.save(path, np.zeros((2, 3), np.float32)) writes. */
    char expected[129];
    memcpy(expected, "\x93NUMPY\x01\x00\x76\x00", 10);
    snprintf(expected + 10, sizeof expected - 10, "%-117s\n",
             "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }");
    assert_int_equal(out.len, 128);
    assert_memory_equal(out.ptr, expected, 128);
    ctx_destroy(ctx);
}

static void test_every_type_reads_back(void **state) {
    Folder *folder = *state;
    char path[128];
    snprintf(path, sizeof path, "%s/x.npy", folder->path);
    for (Elem elem = 0; elem < ELEM_COUNT; elem++) {
        uint8_t data[48];
        for (size_t i = 0; i < sizeof data; i++)
            data[i] = (uint8_t)(elem == ELEM_I1 ? i % 2 : i * 37);
        HostArray array = {.elem = elem, .rank = 2, .shape = {3, 2}, .data = data}, back;
        assert_true(host_array_measure(&array));
        Ctx *ctx = new_ctx();
        assert_true(npy_write(ctx, path, &array));
        if (!npy_read(ctx, path, elem, &back))
            fail_msg("%s", messages(ctx));
        assert_int_equal(back.elem, elem);
        assert_int_equal(back.rank, 2);
        assert_memory_equal(back.shape, array.shape, 2 * sizeof *back.shape);
        assert_memory_equal(back.data, data, array.bytes);
        ctx_destroy(ctx);
    }
    unlink(path);
}

static void test_scalars_and_empty_arrays_read_back(void **state) {
    Folder *folder = *state;
    char path[128];
    snprintf(path, sizeof path, "%s/x.npy", folder->path);
    double value = 2.5;
    HostArray arrays[] = {{.elem = ELEM_F64, .rank = 0, .data = &value},
                          {.elem = ELEM_F64, .rank = 2, .shape = {3, 0}, .data = &value}};
    for (size_t i = 0; i < 2; i++) {
        HostArray back;
        assert_true(host_array_measure(&arrays[i]));
        Ctx *ctx = new_ctx();
        assert_true(npy_write(ctx, path, &arrays[i]) && npy_read(ctx, path, ELEM_COUNT, &back));
        assert_int_equal(back.rank, arrays[i].rank);
        assert_int_equal(back.count, i == 0);
        assert_memory_equal(back.data, &value, back.bytes);
        ctx_destroy(ctx);
    }
    unlink(path);
}

static void test_unreadable_and_unwritable_files(void **state) {
    Folder *folder = *state;
    char path[128], expected[256];
    uint8_t byte = 1;
    HostArray array = {.elem = ELEM_I8, .rank = 1, .shape = {1}, .data = &byte};
    assert_true(host_array_measure(&array));
    Ctx *ctx = new_ctx();
    snprintf(path, sizeof path, "%s/none.npy", folder->path);
    assert_false(npy_read(ctx, path, ELEM_COUNT, &array));
    snprintf(expected, sizeof expected,
             "tilec: error: cannot read '%s': No such file or directory\n", path);
    assert_string_equal(messages(ctx), expected);
    assert_false(npy_read(ctx, folder->path, ELEM_COUNT, &array));
    assert_non_null(strstr(messages(ctx), "Is a directory"));
    ctx_destroy(ctx);
    ctx = new_ctx();
    snprintf(path, sizeof path, "%s/none/x.npy", folder->path);
    assert_false(npy_write(ctx, path, &array));
    snprintf(expected, sizeof expected,
             "tilec: error: cannot write '%s': No such file or directory\n", path);
    assert_string_equal(messages(ctx), expected);
    ctx_destroy(ctx);
    /* A device that is always full stands for a full disk. */
    if (access("/dev/full", W_OK) == 0) {
        ctx = new_ctx();
        assert_false(npy_write(ctx, "/dev/full", &array));
        assert_non_null(strstr(messages(ctx), "error: cannot write '/dev/full': the disk is full"));
        ctx_destroy(ctx);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_types_and_shapes),
        cmocka_unit_test(test_values_at_any_alignment),
        cmocka_unit_test(test_fortran_order_is_converted),
        cmocka_unit_test(test_bools_become_zero_or_one),
        cmocka_unit_test(test_raw_bytes_as_the_type_asked_for),
        cmocka_unit_test(test_bad_headers),
        cmocka_unit_test(test_bytes_in_headers_are_shown_safely),
        cmocka_unit_test(test_truncated_files),
        cmocka_unit_test(test_other_files),
        cmocka_unit_test(test_written_files_have_numpys_bytes),
        cmocka_unit_test(test_every_type_reads_back),
        cmocka_unit_test(test_scalars_and_empty_arrays_read_back),
        cmocka_unit_test(test_unreadable_and_unwritable_files),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
