/* What tuning leaves to other calls and processes: what was struck out, what is the best for the
 * nearest key, and measurements as a file. */
#include "process_testing.h"
#include "runtime/tune/exchange.h"
#include "tune_testing.h"

static const char kernel[] = HEAD "@triton.autotune(" CONFIGS ", key=['n'])\n" BODY;

static Opened open_anew(Fixture *f, const char *cache, const tile_compile_options *more,
                        bool strict) {
    return open_kernel(f, cache, kernel, more, strict);
}

static const tile_compile_options plain = {.tune_limit_ms = 20}, nearest = {.tune_nearest = true};

/* One that never ends is an error that names it; nothing waits for the device from there on, and
 * the next process passes it over. */
static void what_does_not_end_is_given_up(void **state) {
    Fixture *f = *state;
    Opened o = open_anew(f, f->folder, &plain, false);
    f->cuda->endless_threads = 128;
    Said said = call(o.function, o.device, 4096, 1);
    expect(&said, TILE_ERROR_TIME_LIMIT,
           "'k' with BLOCK=256, num_warps=4 does not end within 0.02 s");
    const unsigned launches = f->cuda->launches;
    said = call(o.function, o.device, 100, 1);
    expect(&said, TILE_ERROR_DEVICE_LOST, "runs a kernel that does not end");
    assert_int_equal(f->cuda->launches, launches);
    assert_int_equal(f->cuda->endless_waits, 0);
    close_all(&o);
    o = open_anew(f, f->folder, &plain, false);
    f->cuda->endless_threads = 128;
    said = call(o.function, o.device, 4096, 1);
    expect(&said, TILE_OK, "the best of 4 configurations (1 struck out, 1 known before)");
    assert_int_not_equal(f->cuda->block[0], 128);
    assert_int_equal(f->cuda->allocated, 0);
    close_all(&o);
}

/* The same of one that faults. Times of a tuning that was not finished are not kept. */
static void what_faults_is_passed_over(void **state) {
    Fixture *f = *state;
    for (int process = 0; process < 2; process++) {
        Opened o = open_anew(f, f->folder, &plain, false);
        f->cuda->fail_threads = 128;
        f->cuda->fail_result = 700;
        const Said said = call(o.function, o.device, 4096, 1);
        if (process)
            expect(&said, TILE_OK, "(1 struck out, 1 known before)");
        else
            expect(&said, TILE_ERROR_KERNEL, "a kernel failed");
        close_all(&o);
    }
}

/* A cache, and what is imported or exported. */
typedef struct Exchange {
    Ctx *ctx;
    Cache cache;
    Str text;
    uint32_t count;
    bool ok;
} Exchange;

static void begin(Exchange *x, const char *folder) {
    const CacheConfig config = {.folder = folder};
    *x = (Exchange){.ctx = ctx_create()};
    assert_non_null(x->ctx);
    assert_int_equal(setjmp(x->ctx->oom), 0);
    cache_open(&x->cache, &x->ctx->arena, &config);
}

static void end(Exchange *x) {
    cache_close(&x->cache);
    ctx_destroy(x->ctx);
}

/* What cannot be compiled is kept, with the reason, and not compiled again. */
static void what_is_wrong_is_passed_over(void **state) {
    Fixture *f = *state;
    static const char with_wrong[] =
        HEAD "@triton.autotune(" CONFIGS " + [triton.Config({'BLOCK': 100})], key=['n'])\n" BODY;
    for (int process = 0; process < 2; process++) {
        tile_compile_options options = plain;
        Opened o = open_anew(f, f->folder, &plain, false);
        tile_function_destroy(o.function);
        options.size = sizeof options;
        options.path = text("k.tile");
        options.source = text(with_wrong);
        options.grid = text("cdiv(n, BLOCK), m");
        assert_int_equal(tile_function_create(o.context, &options, &o.function, NULL), TILE_OK);
        const Said said = call(o.function, o.device, 4096, 1);
        expect(&said, TILE_OK, process ? "(1 struck out, 5 known" : "(1 struck out, 0 known");
        assert_int_equal(strstr(said.text, "power of 2") != NULL, !process);
        assert_int_equal(f->cuda->launches == 1, process);
        close_all(&o);
    }
    Exchange x;
    begin(&x, f->folder);
    x.text = exchange_export(x.ctx, &x.cache, STR("k"), &x.count);
    assert_int_equal(x.count, 5);
    assert_non_null(
        strstr(x.text.ptr, "\"configuration\": \"BLOCK=100\", \"struck_out\": \"k.tile:"));
    end(&x);
}

static unsigned threads_for(Fixture *f, int64_t n) {
    Opened o = open_anew(f, f->folder, &plain, false);
    const Said said = call(o.function, o.device, n, 1);
    expect(&said, TILE_OK, "");
    const unsigned threads = f->cuda->block[0];
    close_all(&o);
    return threads;
}

/* Of folders: the nearest by ratio, of two as near the smaller; measured keys are used as they are.
 */
static void the_nearest_is_taken(void **state) {
    Fixture *f = *state;
    static const struct {
        int64_t n;
        const char *said;
        int64_t from;
    } cases[] = {{1000, "'k' runs with BLOCK=64, num_warps=1: 17.000 us", 0},
                 {64, "'k' runs with", 0},
                 {90, "for n=64, x=*fp32: nothing was measured for n=90, x=*fp32", 64},
                 {800, "for n=1000, x=*fp32: nothing was measured for n=800", 1000},
                 {8000, "for n=16000", 16000},
                 {4000, "for n=1000", 1000},
                 {1 << 30, "for n=16000", 16000}};
    const unsigned small = threads_for(f, 64), large = threads_for(f, 16000);
    const unsigned middle = threads_for(f, 1000);
    assert_true(small < large);
    Opened o = open_anew(f, f->folder, &nearest, false);
    for (size_t i = 1; i < sizeof cases / sizeof *cases; i++) {
        const unsigned before = f->cuda->launches;
        const Said said = call(o.function, o.device, cases[i].n, 1);
        expect(&said, TILE_OK, cases[i].said);
        assert_int_equal(f->cuda->launches, before + 1);
        if (cases[i].from)
            assert_int_equal(f->cuda->block[0], cases[i].from == 64     ? small
                                                : cases[i].from == 1000 ? middle
                                                                        : large);
    }
    /* Other types are measured. */
    tile_argument arguments[] = {tile_pointer(0x1000, TILE_FP16), tile_int(1000), tile_int(1)};
    const unsigned before = f->cuda->launches;
    assert_int_equal(tile_function_launch(o.function, o.device, NULL, NULL, arguments, 3, NULL),
                     TILE_OK);
    assert_true(f->cuda->launches > before + 8);
    close_all(&o);
}

/* Without a cache: of what this function has measured, not of what it took from another key. */
static void memory_serves_as_well(void **state) {
    Fixture *f = *state;
    static const char *const said[] = {"(0 struck out, 0 known", "best for n=1000",
                                       "best for n=1000", "best for n=1000"};
    static const int64_t sizes[] = {1000, 3000, 9000, 9001};
    Opened o = open_anew(f, "none", &nearest, false);
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        const unsigned before = f->cuda->launches;
        const Said heard = call(o.function, o.device, sizes[i], 1);
        expect(&heard, TILE_OK, said[i]);
        assert_int_equal(f->cuda->launches == before + 1, i > 0);
    }
    close_all(&o);
}

/* It is what makes such calls possible in a strict context, as far as the kernel is compiled. */
static void strict_contexts_take_the_nearest(void **state) {
    Fixture *f = *state;
    threads_for(f, 1000);
    Opened o = open_anew(f, f->folder, &plain, true);
    Said said = call(o.function, o.device, 1800, 1);
    expect(&said, TILE_ERROR_NOT_COMPILED, "was measured for n=1800");
    close_all(&o);
    o = open_anew(f, f->folder, &nearest, true);
    said = call(o.function, o.device, 1800, 1);
    expect(&said, TILE_OK, "best for n=1000, x=*fp32");
    assert_int_equal(f->cuda->launches, 1);
    close_all(&o);
}

/* What `tilec tune` finds is what calls look up; the same words for options and for arguments. */
static void the_command_measures_for_programs(void **state) {
    Fixture *f = *state;
    char path[96], command[1024];
    if (!HAS_PROCESSES)
        skip();
    snprintf(path, sizeof path, "%s/k.tile", f->folder);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs(kernel, file);
    assert_int_equal(fclose(file), 0);
    snprintf(command, sizeof command,
             "TILEC_CUDA_LIBRARY=%s %s tune %s --cache-dir %s/cache -g 'cdiv(n, BLOCK), m' "
             "-a x=zeros:fp32[64] -a n=4096 -a m=1 > /dev/null",
             TILEC_FAKE_CUDA, TILEC_PROGRAM, path, f->folder);
    assert_int_equal(system(command), 0);
    snprintf(path, sizeof path, "%s/cache", f->folder);
    Opened o = open_anew(f, path, &plain, false);
    const Said said = call(o.function, o.device, 4096, 1);
    expect(&said, TILE_OK, "4 known before");
    assert_int_equal(f->cuda->launches, 1);
    close_all(&o);
}

/* Measurements as a file */

static void import_text(Exchange *x, const char *source_text) {
    const uint32_t file = source_add(&x->ctx->sources, STR("t.json"), str_from(source_text));
    x->ok = exchange_import(x->ctx, &x->cache, file, &x->count);
}

/* What one machine measured the other finds, and writes down in the same words. */
static void measurements_travel(void **state) {
    Fixture *f = *state;
    char other[80];
    threads_for(f, 1000);
    threads_for(f, 64);
    Opened o = open_anew(f, f->folder, &plain, false);
    f->cuda->fail_threads = 128;
    f->cuda->fail_result = 700;
    call(o.function, o.device, 777, 1);
    close_all(&o);
    Exchange from, to;
    snprintf(other, sizeof other, "%s/other", f->folder);
    begin(&from, f->folder);
    from.text = exchange_export(from.ctx, &from.cache, STR(""), &from.count);
    assert_int_equal(from.count, 9);
    assert_non_null(strstr(from.text.ptr, "\"configuration\": \"BLOCK=256, num_warps=4\", "
                                          "\"struck_out\": \"a kernel failed: "));
    begin(&to, other);
    import_text(&to, from.text.ptr);
    assert_true(to.ok);
    assert_int_equal(to.count, 9);
    to.text = exchange_export(to.ctx, &to.cache, STR("k"), &to.count);
    assert_string_equal(to.text.ptr, from.text.ptr);
    to.text = exchange_export(to.ctx, &to.cache, STR("another"), &to.count);
    assert_int_equal(to.count, 0);
    import_text(&to, to.text.ptr);
    assert_true(to.ok);
    end(&to);
    end(&from);
    o = open_anew(f, other, &plain, false);
    const Said said = call(o.function, o.device, 1000, 1);
    expect(&said, TILE_OK, "4 known before");
    assert_int_equal(f->cuda->launches, 1);
    close_all(&o);
}

#define ENTRY                                                                                      \
    "{\"kernel\": \"k\", \"device\": \"d\", \"driver\": \"1\", \"compiler\": \"c\", \"code\": "    \
    "\"1\", \"options\": \"\", \"key\": \"n=1\", \"configuration\": \"B=1\", "

static void what_is_malformed_is_said_and_nothing_kept(void **state) {
    Fixture *f = *state;
    static const struct {
        const char *text, *said;
    } cases[] = {
        {"[]", "t.json:1:1: error: found a list, wanted an object"},
        {"{}", "t.json:1:1: error: there is no \"tunings\""},
        {"{\"tunings\": {}}", "t.json:1:13: error: found an object, wanted a list"},
        {"{\"tunings\": [3]}", "t.json:1:14: error: found a number"},
        {"{\"tunings\": [\n" ENTRY "\"ms\": 1},\n {}]}",
         "t.json:3:2: error: there is no \"kernel\""},
        {"{\"tunings\": [\n" ENTRY "\"ms\": 0}]}", "error: found a number, wanted milliseconds"},
        {"{\"tunings\": [\n" ENTRY "\"ms\": 1e999}]}",
         "error: found a number, wanted milliseconds"},
        {"{\"tunings\": [\n" ENTRY "\"struck_out\": \"\"}]}", "a string that says why"},
        {"{\"tunings\": [\n" ENTRY "\"ms\": 1, \"struck_out\": \"x\"}]}",
         "t.json:2:1: error: wanted either"},
        {"{\"tunings\": [\n" ENTRY "\"us\": 1}]}",
         "`us` is nothing that an export of tunings says"},
        {"{\"tunings\": [" ENTRY "\"ms\": 1}]} x", "the end of the text"},
        {"{\"tunings\": [\n" ENTRY "\"ms\": 1},\n" ENTRY "\"ms\": 2}]}",
         "t.json:3:1: error: this configuration is there twice"},
        {"{\"tunings\": [\n" ENTRY "\"struck_out\": \"\\u0000\"}]}", "wanted a text without zeros"},
        {"{\"tunings\": [{\"kernel\": \"a\\nb\", \"device\": \"d\", \"driver\": \"1\", "
         "\"compiler\": \"c\", "
         "\"code\": \"1\", \"options\": \"\", \"key\": \"\", \"configuration\": \"\", \"ms\": 1}]}",
         "t.json:1:25: error: found a string, wanted a line of text"},
        {"{\"tunings\": [" ENTRY "\"ms\": 1}", "t.json:1:"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        Exchange x;
        begin(&x, f->folder);
        import_text(&x, cases[i].text);
        StrBuf said = strbuf(&x.ctx->arena);
        diag_print_all(&x.ctx->diags, &said);
        strbuf_putc(&said, 0);
        if (x.ok || !strstr(said.ptr, cases[i].said))
            fail_msg("case %zu: %s", i, said.ptr);
        exchange_export(x.ctx, &x.cache, STR(""), &x.count);
        assert_int_equal(x.count, 0);
        end(&x);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(what_does_not_end_is_given_up),
        TEST(what_faults_is_passed_over),
        TEST(what_is_wrong_is_passed_over),
        TEST(the_nearest_is_taken),
        TEST(memory_serves_as_well),
        TEST(strict_contexts_take_the_nearest),
        TEST(the_command_measures_for_programs),
        TEST(measurements_travel),
        TEST(what_is_malformed_is_said_and_nothing_kept),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
