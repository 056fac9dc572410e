/* The same assembler in another place gives the same entries, another one never does. */
#include "cache_testing.h"
#include "tilec.h"

static tile_text text(const char *data) {
    return (tile_text){data, strlen(data)};
}

/* Compiles with that assembler; whether the cache answered. */
static bool is_found(Fixture *f, const char *ptxas) {
    static const char source[] = "import triton\nimport triton.language as tl\n@triton.jit\n"
                                 "def kernel(x):\n    tl.store(x, 1)\n";
    const char *folder = str_format(f->arena, "%s/cache", f->folder);
    const tile_context_options options = {
        .size = sizeof options, .cache_folder = text(folder), .ptxas = text(ptxas)};
    const tile_compile_options compile = {.size = sizeof compile,
                                          .path = text("place.tile"),
                                          .source = text(source),
                                          .signature = text("*i32")};
    tile_context *context;
    tile_kernel *kernel;
    tile_kernel_info info = {.size = sizeof info};
    assert_int_equal(tile_context_create(&options, &context), TILE_OK);
    assert_int_equal(tile_compile(context, &compile, &kernel, NULL), TILE_OK);
    assert_int_equal(tile_kernel_get_info(kernel, &info), TILE_OK);
    tile_kernel_destroy(kernel);
    tile_context_destroy(context);
    return info.from_cache;
}

/* A copy of the assembler with something behind it, which does not disturb a binary. */
static const char *copy_ptxas(Fixture *f, const char *name, const char *end) {
    const char *path = str_format(f->arena, "%s/%s", f->folder, name);
    Str binary;
    StrBuf content = strbuf(f->arena);
    assert_int_equal(file_read(f->arena, TILEC_FAKE_PTXAS, 1 << 30, &binary), 0);
    strbuf_add(&content, binary.ptr, binary.len);
    strbuf_puts(&content, end);
    assert_int_equal(file_write(f->arena, path, strbuf_str(&content), false), 0);
    assert_int_equal(chmod(path, 0755), 0);
    return path;
}

static const char *write_script(Fixture *f, const char *name) {
    const char *path = str_format(f->arena, "%s/%s", f->folder, name);
    const Str script = STR("#!/bin/sh\nexec \"$(dirname \"$0\")/inner\" \"$@\"\n");
    assert_int_equal(file_write(f->arena, path, script, false), 0);
    assert_int_equal(chmod(path, 0755), 0);
    return path;
}

static void binaries_by_content(void **state) {
    Fixture *f = *state;
    const char *one = copy_ptxas(f, "one", ""), *two = copy_ptxas(f, "two", "");
    const char *other = copy_ptxas(f, "other", "x");
    assert_false(is_found(f, one));
    assert_true(is_found(f, one));
    assert_true(is_found(f, two));
    assert_false(is_found(f, other));
    assert_true(is_found(f, two));
    /* Exchanged where it lies. */
    copy_ptxas(f, "one", "y");
    assert_false(is_found(f, one));
    assert_true(is_found(f, two));
}

/* Two scripts of the same words run two assemblers. */
static void scripts_by_place(void **state) {
    Fixture *f = *state;
    assert_int_equal(mkdir(str_format(f->arena, "%s/a", f->folder), 0700), 0);
    assert_int_equal(mkdir(str_format(f->arena, "%s/b", f->folder), 0700), 0);
    copy_ptxas(f, "a/inner", "");
    copy_ptxas(f, "b/inner", "x");
    const char *a = write_script(f, "a/ptxas"), *b = write_script(f, "b/ptxas");
    assert_false(is_found(f, a));
    assert_true(is_found(f, a));
    assert_false(is_found(f, b));
    assert_true(is_found(f, b));
}

int main(void) {
    const struct CMUnitTest tests[] = {TEST(binaries_by_content), TEST(scripts_by_place)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
