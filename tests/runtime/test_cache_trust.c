/* Whom the cache believes: its owner, and folders that are named as trusted. */
#include "cache_testing.h"

#include <linux/fs.h>
#include <sys/syscall.h>

static const char *in(Fixture *f, const char *name) {
    return file_join(f->arena, str_from(f->folder), str_from(name));
}

static void use_folder(Fixture *f, const char *folder, const char *trusted) {
    cache_close(&f->cache);
    cache_open(&f->cache, f->arena, &(CacheConfig){.folder = folder, .trusted = trusted});
}

static unsigned mode_of(const char *path) {
    struct stat info;
    assert_int_equal(lstat(path, &info), 0);
    return info.st_mode & 07777;
}

/* What the cache says now: the ids of its warnings, each followed by a space. */
static const char *said(Fixture *f, int error) {
    StrBuf ids = strbuf(f->arena);
    DiagMark before = diag_mark(&f->ctx->diags);
    cache_report(&f->cache, &f->ctx->diags, error);
    for (const Diagnostic *d = before.last ? before.last->next : f->ctx->diags.first; d;
         d = d->next) {
        assert_int_equal(d->severity, SEV_WARNING);
        strbuf_printf(&ids, "%s ", diag_name(d->id));
    }
    diag_rewind(&f->ctx->diags, before);
    return strbuf_str(&ids).ptr;
}

static const char *only_entry(Fixture *f) {
    const char *path = NULL;
    assert_int_equal(list_files(f, ".kernel", &path, 1), 1);
    return path;
}

static bool hits(Fixture *f, const char *key, const char *ptx) {
    Str got, cubin;
    return get(f, key, &got, &cubin) == CACHE_HIT && str_is(got, ptx);
}

/* Whatever the umask. */
static void made_for_its_owner(void **state) {
    static const mode_t masks[] = {0, 022, 002, 0777, 0277};
    Fixture *f = *state;
    for (size_t i = 0; i < sizeof masks / sizeof *masks; i++) {
        char before_folder[64];
        snprintf(before_folder, sizeof before_folder, "%s", f->folder);
        const char *top = str_format(f->arena, "%s/%zu", f->folder, i);
        use_folder(f, masks[i] & 0200 ? top : str_format(f->arena, "%s/below", top), NULL);
        const mode_t before = umask(masks[i]);
        const int error = put(f, "key", STR("p"), STR(""));
        umask(before);
        assert_int_equal(error, 0);
        assert_true(hits(f, "key", "p"));
        snprintf(f->folder, sizeof f->folder, "%s", f->cache.folder);
        const char *entry = only_entry(f);
        assert_int_equal(mode_of(f->cache.folder), 0700);
        assert_int_equal(mode_of(in(f, "v1")), 0700);
        assert_int_equal(mode_of(str_dup(f->arena, file_folder(str_from(entry)))), 0700);
        assert_int_equal(mode_of(entry), 0600);
        snprintf(f->folder, sizeof f->folder, "%s", str_dup(f->arena, file_folder(str_from(top))));
    }
    assert_string_equal(said(f, 0), "");
}

/* A folder that others may read, which its owner made so, stays one. */
static void published_by_its_owner(void **state) {
    Fixture *f = *state;
    assert_int_equal(chmod(f->folder, 0755), 0);
    assert_int_equal(put(f, "key", STR("p"), STR("")), 0);
    const char *entry = only_entry(f);
    assert_int_equal(mode_of(in(f, "v1")), 0755);
    assert_int_equal(mode_of(entry), 0644);
    assert_true(hits(f, "key", "p"));
    assert_string_equal(said(f, 0), "");
}

/* Folders at each step of the way that others may write to: nothing is read from them, nothing is
 * stored, and it is said once. */
static void writable_folders(void **state) {
    static const mode_t modes[] = {0777, 01777, 0770, 0702};
    Fixture *f = *state;
    assert_int_equal(put(f, "key", STR("p"), STR("")), 0);
    const char *entry = only_entry(f);
    const char *const folders[] = {f->folder, in(f, "v1"),
                                   str_dup(f->arena, file_folder(str_from(entry)))};
    for (size_t i = 0; i < 3; i++) {
        for (size_t m = 0; m < sizeof modes / sizeof *modes; m++) {
            Str ptx, cubin;
            use_folder(f, f->folder, NULL);
            assert_int_equal(chmod(folders[i], modes[m]), 0);
            assert_int_equal(get(f, "key", &ptx, &cubin), CACHE_REFUSED);
            assert_int_equal(put(f, "key", STR("other"), STR("")), 0);
            assert_string_equal(said(f, 0), "cache_writable ");
            assert_string_equal(said(f, 0), "");
            assert_int_equal(get(f, "key", &ptx, &cubin), CACHE_REFUSED);
            assert_string_equal(said(f, 0), "");
            assert_int_equal(chmod(folders[i], 0700), 0);
            assert_true(hits(f, "key", "p"));
        }
    }
}

/* An entry that others may write to is a miss, and replaced. */
static void writable_entries(void **state) {
    static const mode_t modes[] = {0666, 0620, 0602};
    Fixture *f = *state;
    for (size_t m = 0; m < sizeof modes / sizeof *modes; m++) {
        Str ptx, cubin;
        assert_int_equal(put(f, "key", STR("forged"), STR("")), 0);
        use_folder(f, f->folder, NULL);
        assert_int_equal(chmod(only_entry(f), modes[m]), 0);
        assert_int_equal(get(f, "key", &ptx, &cubin), CACHE_REFUSED);
        assert_int_equal(put(f, "key", STR("made"), STR("")), 0);
        assert_true(hits(f, "key", "made"));
        assert_string_equal(said(f, 0), "cache_writable ");
    }
}

static void foreign_folder(void **state) {
    Fixture *f = *state;
    Str ptx, cubin;
    if (geteuid()) {
        use_folder(f, "/usr", NULL); /* root's, and nobody else writes there */
    } else {
        assert_int_equal(put(f, "key", STR("p"), STR("")), 0);
        assert_int_equal(chown(f->folder, 65534, (gid_t)-1), 0);
    }
    assert_int_equal(get(f, "key", &ptx, &cubin), CACHE_REFUSED);
    assert_int_equal(put(f, "key", STR("p"), STR("")), 0);
    assert_string_equal(said(f, 0), "cache_foreign ");
}

static void foreign_entry(void **state) {
    Fixture *f = *state;
    Str ptx, cubin;
    CacheSweep sweep;
    if (geteuid()) {
        print_message("only root can give files away\n");
        skip();
    }
    assert_int_equal(put(f, "key", STR("forged"), STR("")), 0);
    assert_int_equal(chown(only_entry(f), 65534, (gid_t)-1), 0);
    assert_int_equal(get(f, "key", &ptx, &cubin), CACHE_REFUSED);
    assert_string_equal(said(f, 0), "cache_foreign ");
    assert_int_equal(cache_sweep(&f->cache, f->arena, UINT64_MAX, true, &sweep), 0);
    assert_int_equal(sweep.removed_entries, 1);
    assert_int_equal(get(f, "key", &ptx, &cubin), CACHE_MISS);
}

/* No link leads out of the folder; one may lead to it. */
static void links(void **state) {
    Fixture *f = *state;
    Str ptx, cubin;
    assert_int_equal(put(f, "key", STR("p"), STR("")), 0);
    assert_int_equal(rename(in(f, "v1"), in(f, "elsewhere")), 0);
    assert_int_equal(symlink("elsewhere", in(f, "v1")), 0);
    assert_int_equal(get(f, "key", &ptx, &cubin), CACHE_MISS);
    assert_int_equal(put(f, "key", STR("other"), STR("")), ENOTDIR);
    assert_int_equal(unlink(in(f, "v1")), 0);
    assert_int_equal(rename(in(f, "elsewhere"), in(f, "v1")), 0);
    assert_int_equal(symlink(f->folder, in(f, "link")), 0);
    use_folder(f, in(f, "link"), NULL);
    assert_true(hits(f, "key", "p"));
}

/* Somebody exchanges the folder for one that everybody may write to, and back, again and again:
 * what is judged is what is read. */
static void exchanged_meanwhile(void **state) {
    Fixture *f = *state;
    const char *good = in(f, "good"), *forged = in(f, "forged");
    const char *const folders[] = {good, forged};
    for (int i = 0; i < 2; i++) {
        use_folder(f, folders[i], NULL);
        assert_int_equal(put(f, "key", i ? STR("forged") : STR("good"), STR("")), 0);
    }
    assert_int_equal(chmod(forged, 0777), 0);
    use_folder(f, good, NULL);
    fflush(NULL);
    const pid_t pid = fork();
    if (pid == 0)
        for (;;)
            syscall(SYS_renameat2, AT_FDCWD, good, AT_FDCWD, forged, RENAME_EXCHANGE);
    int found = 0, refused = 0;
    for (int i = 0; i < 200000 && (i < 5000 || !found || !refused); i++) {
        ArenaMark mark = arena_mark(f->arena);
        Str ptx, cubin;
        const CacheResult result = get(f, "key", &ptx, &cubin);
        if (result == CACHE_HIT && !str_is(ptx, "good"))
            fail_msg("read what was forged");
        found += result == CACHE_HIT;
        refused += result == CACHE_REFUSED;
        arena_rewind(f->arena, mark);
    }
    kill(pid, SIGKILL);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
    assert_true(found > 0 && refused > 0);
}

/* A layer that others own or write to is read because it is named, after the own folder, in order;
 * what is found is not copied, and nothing there is changed, be it damaged or old. */
static void layers(void **state) {
    Fixture *f = *state;
    const char *own = in(f, "own"), *one = in(f, "one"), *two = in(f, "two");
    use_folder(f, one, NULL);
    assert_int_equal(put(f, "first", STR("one"), STR("")), 0);
    use_folder(f, two, NULL);
    assert_int_equal(put(f, "first", STR("two"), STR("")), 0);
    assert_int_equal(put(f, "second", STR("two"), STR("")), 0);
    assert_int_equal(cache_refer(&f->cache, f->arena, STR("code"), STR("second")), 0);
    assert_int_equal(chmod(two, 0777), 0);
    use_folder(f, own, str_format(f->arena, ":%s::%s:", one, two));
    assert_int_equal(f->cache.trusted_count, 2);
    assert_true(hits(f, "first", "one"));
    assert_true(hits(f, "second", "two"));
    Str other;
    assert_true(cache_follow(&f->cache, f->arena, STR("code"), &other));
    assert_true(str_is(other, "second"));
    assert_int_equal(access(own, F_OK), -1);
    assert_int_equal(put(f, "second", STR("own"), STR("")), 0);
    assert_true(hits(f, "second", "own"));

    char before[64];
    snprintf(before, sizeof before, "%s", f->folder);
    snprintf(f->folder, sizeof f->folder, "%s", one);
    const char *entry = only_entry(f);
    snprintf(f->folder, sizeof f->folder, "%s", before);
    const struct timespec old[2] = {{1000000000, 0}, {1000000000, 0}};
    struct stat info;
    assert_int_equal(utimensat(AT_FDCWD, entry, old, 0), 0);
    assert_true(hits(f, "first", "one"));
    assert_int_equal(stat(entry, &info), 0);
    assert_int_equal(info.st_mtime, 1000000000);
    assert_int_equal(file_write(f->arena, entry, STR("damaged"), false), 0);
    assert_true(hits(f, "first", "two"));
    CacheSweep sweep;
    assert_int_equal(cache_sweep(&f->cache, f->arena, 0, true, &sweep), 0);
    assert_int_equal(access(entry, F_OK), 0);
    assert_true(hits(f, "second", "two"));
    assert_string_equal(said(f, 0), "");
}

/* Its own folder, named as trusted: refused it is a layer, and nothing to say. */
static void own_folder_is_trusted(void **state) {
    Fixture *f = *state;
    assert_int_equal(put(f, "key", STR("p"), STR("")), 0);
    assert_int_equal(chmod(f->folder, 0777), 0);
    use_folder(f, f->folder, f->folder);
    assert_true(hits(f, "key", "p"));
    assert_int_equal(put(f, "key", STR("other"), STR("")), 0);
    assert_true(hits(f, "key", "p"));
    assert_string_equal(said(f, 0), "");
    assert_int_equal(chmod(f->folder, 0700), 0);
    assert_int_equal(put(f, "key", STR("other"), STR("")), 0);
    assert_true(hits(f, "key", "other"));
}

static void missing_layers_are_said(void **state) {
    Fixture *f = *state;
    Str ptx, cubin;
    use_folder(f, f->folder, str_format(f->arena, "%s:%s", in(f, "a"), in(f, "b")));
    assert_int_equal(put(f, "key", STR("p"), STR("")), 0);
    assert_true(hits(f, "key", "p"));
    assert_string_equal(said(f, 0), ""); /* nobody looked there */
    assert_int_equal(get(f, "other", &ptx, &cubin), CACHE_MISS);
    assert_string_equal(said(f, 0), "cache_layer cache_layer ");
    assert_int_equal(get(f, "other", &ptx, &cubin), CACHE_MISS);
    assert_string_equal(said(f, 0), "");
}

/* None is none: no layer either. */
static void switched_off(void **state) {
    Fixture *f = *state;
    Str ptx, cubin;
    assert_int_equal(put(f, "key", STR("p"), STR("")), 0);
    use_folder(f, "none", f->folder);
    assert_false(cache_is_on(&f->cache));
    assert_int_equal(get(f, "key", &ptx, &cubin), CACHE_MISS);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(made_for_its_owner),
        TEST(published_by_its_owner),
        TEST(writable_folders),
        TEST(writable_entries),
        TEST(foreign_folder),
        TEST(foreign_entry),
        TEST(links),
        TEST(exchanged_meanwhile),
        TEST(layers),
        TEST(own_folder_is_trusted),
        TEST(missing_layers_are_said),
        TEST(switched_off),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
