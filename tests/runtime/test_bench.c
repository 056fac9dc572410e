/* What benchmarks report: rates, CSV, pictures whose texts stand apart. */
#include "runtime/bench/pictures.h"
#include "runtime/bench/svg.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

/* A made-up benchmark. */
typedef struct Made {
    Ctx *ctx;
    BenchReport report;
    Shape *shapes;
    BenchCase *cases;
    const char **configs;
} Made;

/* `config_name`, of which each configuration has one with its number. Times fall with the number of
 * the configuration, and differ from shape to shape. */
static Made make(uint32_t shapes, uint32_t configs, const char *size_name, const char *config_name,
                 bool two_sizes) {
    Made m = {.ctx = ctx_create()};
    m.ctx->arena.oom = NULL; /* out of memory aborts the test */
    Arena *arena = &m.ctx->arena;
    m.shapes = ARENA_ARRAY(arena, Shape, shapes);
    m.cases = ARENA_ARRAY(arena, BenchCase, (size_t)shapes * configs);
    m.configs = (const char **)arena_array(arena, configs, sizeof *m.configs);
    for (uint32_t c = 0; c < configs; c++)
        m.configs[c] = str_format(arena, "%s=%u", config_name, c);
    for (uint32_t i = 0; i < shapes; i++) {
        Str *names = ARENA_ARRAY(arena, Str, 2);
        HostValue *values = ARENA_ARRAY(arena, HostValue, 2);
        names[0] = str_from(size_name);
        names[1] = STR("other");
        values[0] = host_int((int64_t)128 << i % 20);
        values[1] = host_int(two_sizes ? i % 3 : 7);
        m.shapes[i] = (Shape){.text = str_format(arena, "%s=%lld, other=%d", size_name,
                                                 (long long)values[0].i, (int)values[1].i),
                              .names = names,
                              .values = values,
                              .size_count = 2,
                              .flops = 1e9 * (i + 1) * (1 + i % 5),
                              .bytes = 1e8 * (i + 1)};
        for (uint32_t c = 0; c < configs; c++)
            m.cases[i * configs + c] =
                (BenchCase){.shape = i,
                            .config = c,
                            .times = {.runs = 3,
                                      .median = 50 * (i + 1) + 7 * (configs - c) % 31,
                                      .least = 40,
                                      .quarter = 45,
                                      .three_quarters = 60}};
    }
    m.report = (BenchReport){.kernel = "kernel",
                             .device = "Device <A> & \"B\"",
                             .target = "sm_90a",
                             .driver = 13000,
                             .ceilings = {4000, 60, CEILING_multiply_adds, "fp32"},
                             .shapes = m.shapes,
                             .shape_count = shapes,
                             .configs = m.configs,
                             .config_count = configs,
                             .cases = m.cases,
                             .case_count = shapes * configs,
                             .is_whole = true};
    return m;
}

/* A text that lies level: where it is and how much room it takes. */
typedef struct Box {
    double left, right, top, bottom;
    const char *text;
} Box;

static double attribute(const char *element, const char *name) {
    const char *at = strstr(element, name);
    assert_non_null(at);
    return atof(at + strlen(name));
}

static uint32_t level_texts(Arena *arena, const char *svg, Box **boxes) {
    uint32_t count = 0;
    *boxes = ARENA_ARRAY(arena, Box, 4096);
    for (const char *at = svg; (at = strstr(at, "<text ")); at++) {
        const char *begin = strchr(at, '>') + 1, *end = strstr(begin, "</text>");
        const char *turned = strstr(at, "transform=");
        if (turned && turned < begin)
            continue;
        const bool is_title = !strncmp(at, "<text class=\"title\"", 19);
        const double x = attribute(at, " x=\""), y = attribute(at, " y=\"");
        const Str text = {begin, (size_t)(end - begin)};
        const double width = svg_text_width(text) * (is_title ? 1.3 : 1);
        const char *anchor = strstr(at, "text-anchor=\"") + 13;
        const double left = *anchor == 's' ? x : *anchor == 'm' ? x - width / 2 : x - width;
        assert_true(count < 4096);
        (*boxes)[count++] = (Box){left, left + width, y - 9, y + 2, str_dup(arena, text)};
    }
    return count;
}

/* Within the picture, and none over another. */
static void check_texts(Arena *arena, const char *svg) {
    const double width = attribute(svg, "width=\""), height = attribute(svg, "height=\"");
    Box *boxes;
    const uint32_t count = level_texts(arena, svg, &boxes);
    assert_true(count > 2);
    for (uint32_t i = 0; i < count; i++) {
        const Box *a = &boxes[i];
        /* Ticks are short, and the estimate is from above. */
        if (a->left < -12 || a->right > width + 12 || a->top < 0 || a->bottom > height)
            fail_msg("'%s' is outside: %.0f..%.0f, %.0f", a->text, a->left, a->right, a->bottom);
        for (uint32_t j = 0; j < i; j++) {
            const Box *b = &boxes[j];
            if (a->left < b->right && b->left < a->right && a->top < b->bottom &&
                b->top < a->bottom)
                fail_msg("'%s' lies over '%s'", a->text, b->text);
        }
    }
}

static uint32_t occurrences(const char *text, const char *of) {
    uint32_t count = 0;
    for (; (text = strstr(text, of)); text++)
        count++;
    return count;
}

/* Looked at by people where TILEC_TEST_PICTURES names a folder. */
static void keep(const char *name, uint32_t number, const char *svg) {
    const char *folder = getenv("TILEC_TEST_PICTURES");
    char path[512];
    if (!folder)
        return;
    snprintf(path, sizeof path, "%s/%u-%s", folder, number, name);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs(svg, file);
    fclose(file);
}

static void texts_stand_apart(void **state) {
    static const char long_name[] =
        "a_parameter_whose_name_is_longer_than_any_legend_has_room_for_because_somebody_generated_"
        "it_from_a_longer_sentence";
    static const struct {
        uint32_t shapes, configs;
        const char *size, *config;
        bool two_sizes;
    } cases[] = {
        {1, 1, "n", "BLOCK", false},
        {1, 2, "n", "BLOCK", false},
        {9, 3, "n", "num_warps", false},
        {20, 1, "cols", "B", true},
        {12, 120, "n", long_name, false},
        {300, 5, long_name, "BLOCK", true},
        {40, 12, "n", "BLOCK_M=128, BLOCK_N=256, BLOCK_K=64, num_warps", true},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        Made m = make(cases[i].shapes, cases[i].configs, cases[i].size, cases[i].config,
                      cases[i].two_sizes);
        for (PictureKind kind = 0; kind < PICTURE_COUNT; kind++) {
            StrBuf svg = strbuf(&m.ctx->arena);
            const bool is_drawn = picture_draw(&m.report, kind, &svg);
            assert_int_equal(is_drawn, kind != PICTURE_configurations || cases[i].configs > 1);
            if (!is_drawn)
                continue;
            keep(picture_file(kind), (uint32_t)i, svg.ptr);
            check_texts(&m.ctx->arena, svg.ptr);
            const uint32_t dots = occurrences(svg.ptr, "<circle ");
            assert_int_equal(dots, kind == PICTURE_sweep      ? m.report.case_count
                                   : kind == PICTURE_roofline ? cases[i].shapes
                                                              : 0);
        }
        ctx_destroy(m.ctx);
    }
}

/* Nothing to draw of: no times, no operations. */
static void pictures_that_are_not(void **state) {
    Made m = make(2, 2, "n", "BLOCK", false);
    StrBuf svg = strbuf(&m.ctx->arena);
    for (uint32_t i = 0; i < m.report.case_count; i++)
        m.cases[i].times = (BenchTimes){0};
    for (PictureKind kind = 0; kind < PICTURE_COUNT; kind++)
        assert_false(picture_draw(&m.report, kind, &svg));
    ctx_destroy(m.ctx);
    m = make(3, 1, "n", "BLOCK", false);
    svg = strbuf(&m.ctx->arena);
    for (uint32_t i = 0; i < 3; i++)
        m.shapes[i].flops = -1;
    m.report.ceilings = (Ceilings){0};
    assert_false(picture_draw(&m.report, PICTURE_roofline, &svg));
    assert_true(picture_draw(&m.report, PICTURE_sweep, &svg));
    assert_non_null(strstr(svg.ptr, "GB/s"));
    assert_int_equal(occurrences(svg.ptr, "class=\"ceiling\""), 0);
    ctx_destroy(m.ctx);
}

/* Sizes below zero have no place along an axis that begins there: shapes stand side by side. */
static void dots_stay_in_the_plot(void **state) {
    Made m = make(3, 1, "offset", "BLOCK", false);
    StrBuf svg = strbuf(&m.ctx->arena);
    const HostValue values[] = {host_int(-1000), host_int(7)};
    m.shapes[0].values = values;
    assert_true(picture_draw(&m.report, PICTURE_sweep, &svg));
    strbuf_putc(&svg, 0);
    for (const char *at = svg.ptr; (at = strstr(at, "<circle ")); at++) {
        const double x = attribute(at, "cx=\"");
        if (x < 92 || x > 832)
            fail_msg("a dot at %g", x);
    }
    assert_int_equal(occurrences(svg.ptr, "<circle "), 3);
    ctx_destroy(m.ctx);
}

static void times_have_quartiles(void **state) {
    const MeasureRun run = {.ms = {0.005f, 0.001f, 0.003f, 0.002f, 0.004f}, .count = 5};
    const MeasureRun two = {.ms = {0.004f, 0.002f}, .count = 2}, none = {.count = 0};
    BenchTimes t = bench_times(&run);
    assert_int_equal(t.runs, 5);
    assert_float_equal(t.median, 3, 1e-5);
    assert_float_equal(t.least, 1, 1e-5);
    assert_float_equal(t.quarter, 2, 1e-5);
    assert_float_equal(t.three_quarters, 4, 1e-5);
    t = bench_times(&two);
    assert_float_equal(t.median, 3, 1e-5);
    assert_float_equal(t.quarter, 2.5, 1e-5);
    assert_int_equal(bench_times(&none).runs, 0);
}

static void rates_are_of_the_median(void **state) {
    Made m = make(1, 3, "n", "BLOCK", false);
    m.cases[1].times.median = 25;
    m.cases[2].times.runs = 0;
    assert_float_equal(bench_gbs(&m.report, &m.cases[1]), 4000, 1e-6);
    assert_float_equal(bench_tflops(&m.report, &m.cases[1]), 40, 1e-6);
    assert_ptr_equal(bench_fastest(&m.report, 0), &m.cases[1]);
    m.shapes[0].flops = -1;
    assert_true(bench_tflops(&m.report, &m.cases[1]) < 0);
    assert_null(bench_fastest(&m.report, 1));
    ctx_destroy(m.ctx);
}

static void csv_quotes_what_needs_it(void **state) {
    Made m = make(2, 1, "n", "BLOCK=\"a\", B", false);
    m.cases[1].times.runs = 0;
    m.cases[1].failed = "line\nbreak";
    m.report.ceilings = (Ceilings){.gbs = 4000};
    StrBuf out = strbuf(&m.ctx->arena);
    bench_csv(&m.report, &out);
    assert_string_equal(
        out.ptr,
        "n,other,configuration,runs,median_us,least_us,quarter_us,three_quarters_us,bytes,flops,"
        "gbs,"
        "gbs_share,tflops,tflops_share,failed\r\n"
        "128,7,\"BLOCK=\"\"a\"\", B=0\",3,57,40,45,60,100000000,1e+09,1754.38596,0.438596491,"
        "17.5438596,,\r\n"
        "256,7,\"BLOCK=\"\"a\"\", B=0\",0,,,,,200000000,4e+09,,,,,\"line\nbreak\"\r\n");
    ctx_destroy(m.ctx);
}

static void scales_have_round_ends(void **state) {
    double ticks[SVG_MAX_TICKS];
    SvgScale s = svg_scale(0, 873, 0, 0, 100);
    assert_true(s.low == 0 && s.high == 900);
    uint32_t count = svg_ticks(&s, 10, ticks);
    assert_true(count >= 4 && ticks[count - 1] == 900);
    s = svg_scale(3, 5000, 2, 0, 100);
    assert_float_equal(s.low, 2, 1e-9);
    assert_float_equal(s.high, 8192, 1e-6);
    assert_float_equal(svg_place(&s, 128), 50, 1e-6);
    assert_true(svg_ticks(&s, 5, ticks) <= 5);
    s = svg_scale(64, 64, 2, 0, 100);
    assert_true(s.low < 64 && s.high > 64);
    Ctx *ctx = ctx_create();
    ctx->arena.oom = NULL;
    assert_string_equal(svg_number(&ctx->arena, 4096, 2), "4096");
    assert_string_equal(svg_number(&ctx->arena, 65536, 2), "64Ki");
    assert_string_equal(svg_number(&ctx->arena, 0.125, 2), "0.125");
    const Str cut =
        svg_fit(&ctx->arena, STR("\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4"), 40);
    assert_true(str_is(cut, "\xc3\xa4...\xc3\xa4"));
    ctx_destroy(ctx);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(dots_stay_in_the_plot),   cmocka_unit_test(texts_stand_apart),
        cmocka_unit_test(pictures_that_are_not),   cmocka_unit_test(times_have_quartiles),
        cmocka_unit_test(rates_are_of_the_median), cmocka_unit_test(csv_quotes_what_needs_it),
        cmocka_unit_test(scales_have_round_ends),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
