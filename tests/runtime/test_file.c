/* Files: read whole within a limit, replaced all at once. */
#include "support/ctx.h"
#include "support/file.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

typedef struct Fixture {
    Ctx *ctx;
    Arena *arena;
    char folder[64];
} Fixture;

static int setup(void **state) {
    Fixture *f = calloc(1, sizeof *f);
    f->ctx = ctx_create();
    f->arena = &f->ctx->arena;
    strcpy(f->folder, "/tmp/tilec-test-XXXXXX");
    assert_non_null(mkdtemp(f->folder));
    *state = f;
    return 0;
}

static int teardown(void **state) {
    Fixture *f = *state;
    char command[128];
    snprintf(command, sizeof command, "/bin/rm -rf %s", f->folder);
    assert_int_equal(system(command), 0);
    ctx_destroy(f->ctx);
    free(f);
    return 0;
}

static const char *in(Fixture *f, const char *name) {
    return file_join(f->arena, str_from(f->folder), str_from(name));
}

static void reads_what_was_written(void **state) {
    Fixture *f = *state;
    Str text;
    assert_int_equal(file_write(f->arena, in(f, "a"), (Str){"x\0y", 3}, true), 0);
    assert_int_equal(file_read(f->arena, in(f, "a"), 3, &text), 0);
    assert_int_equal(text.len, 3);
    assert_memory_equal(text.ptr, "x\0y", 4);
    assert_int_equal(file_write(f->arena, in(f, "a"), STR(""), false), 0);
    assert_int_equal(file_read(f->arena, in(f, "a"), 0, &text), 0);
    assert_int_equal(text.len, 0);
}

/* What a write would say, and nothing stays of having asked. */
static void writing_is_tried(void **state) {
    Fixture *f = *state;
    assert_int_equal(file_try_write(f->arena, in(f, "a")), 0);
    assert_int_equal(rmdir(f->folder), 0);
    assert_int_equal(file_try_write(f->arena, in(f, "a")), ENOENT);
    assert_int_equal(mkdir(f->folder, 0700), 0);
    assert_int_equal(file_write(f->arena, in(f, "a"), STR("1234"), false), 0);
    assert_int_equal(file_try_write(f->arena, in(f, "a")), 0);
    Str text;
    assert_int_equal(file_read(f->arena, in(f, "a"), 9, &text), 0);
    assert_string_equal(text.ptr, "1234");
    assert_int_equal(file_try_write(f->arena, f->folder), EISDIR);
    assert_int_equal(file_try_write(f->arena, in(f, "a/b")), ENOTDIR);
    assert_int_equal(file_try_write(f->arena, ""), ENOENT);
    assert_int_equal(file_try_write(f->arena, "/dev/null"), 0);
}

static void errors(void **state) {
    Fixture *f = *state;
    Str text;
    assert_int_equal(file_write(f->arena, in(f, "a"), STR("1234"), false), 0);
    assert_int_equal(file_read(f->arena, in(f, "a"), 3, &text), EFBIG);
    assert_int_equal(file_read(f->arena, in(f, "b"), 3, &text), ENOENT);
    assert_int_equal(file_read(f->arena, f->folder, 3, &text), EISDIR);
    assert_int_equal(file_read(f->arena, "/dev/zero", 1 << 20, &text), EFBIG);
    assert_int_equal(file_write(f->arena, in(f, "a/b"), STR(""), false), ENOTDIR);
    assert_int_equal(file_write(f->arena, in(f, "no/b"), STR(""), false), ENOENT);
    assert_int_equal(file_write(f->arena, f->folder, STR(""), false), EISDIR);
    assert_string_equal(file_error_text(f->arena, ENOENT), "No such file or directory");
}

static void devices_and_links_stay_what_they_are(void **state) {
    Fixture *f = *state;
    struct stat info;
    Str text;
    assert_int_equal(file_write(f->arena, "/dev/null", STR("x"), true), 0);
    assert_int_equal(stat("/dev/null", &info), 0);
    assert_true(S_ISCHR(info.st_mode));
    assert_int_equal(file_write(f->arena, in(f, "target"), STR("old"), false), 0);
    assert_int_equal(symlink("target", in(f, "link")), 0);
    assert_int_equal(file_write(f->arena, in(f, "link"), STR("new"), false), 0);
    assert_int_equal(lstat(in(f, "link"), &info), 0);
    assert_true(S_ISLNK(info.st_mode));
    assert_int_equal(file_read(f->arena, in(f, "target"), 9, &text), 0);
    assert_true(str_is(text, "new"));
    assert_int_equal(file_write(f->arena, "/dev/full", STR("x"), false), ENOSPC);
}

static void folders(void **state) {
    Fixture *f = *state;
    assert_int_equal(file_make_folder(f->arena, in(f, "a/b/c")), 0);
    assert_int_equal(file_make_folder(f->arena, in(f, "a/b/c")), 0);
    assert_int_equal(file_make_folder(f->arena, in(f, "a/b/d/")), 0);
    assert_int_equal(access(in(f, "a/b/d"), F_OK), 0);
    assert_int_equal(file_write(f->arena, in(f, "file"), STR(""), false), 0);
    assert_int_equal(file_make_folder(f->arena, in(f, "file")), ENOTDIR);
    assert_int_equal(file_make_folder(f->arena, in(f, "file/x")), ENOTDIR);
}

static void paths(void **state) {
    Fixture *f = *state;
    assert_true(str_is(file_folder(STR("a/b/c")), "a/b"));
    assert_true(str_is(file_folder(STR("c")), ""));
    assert_true(str_is(file_folder(STR("/c")), "/"));
    assert_true(str_is(file_folder(STR("a//c")), "a"));
    assert_true(str_is(file_name(STR("a/b/c")), "c"));
    assert_true(str_is(file_name(STR("c")), "c"));
    assert_string_equal(file_join(f->arena, STR("a"), STR("b")), "a/b");
    assert_string_equal(file_join(f->arena, STR("a/"), STR("b")), "a/b");
    assert_string_equal(file_join(f->arena, STR(""), STR("b")), "b");
    assert_string_equal(file_join(f->arena, STR("a"), STR("/b")), "/b");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(reads_what_was_written),
        TEST(writing_is_tried),
        TEST(errors),
        TEST(devices_and_links_stay_what_they_are),
        TEST(folders),
        TEST(paths),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
