/* Configurations that no decorator lists: launches near the compiler's own, and values that options
 * list. */
#include "runtime/tune/near_launches.h"
#include "tune_testing.h"

static const char plain_kernel[] = HEAD BODY,
                  tuned_kernel[] = HEAD "@triton.autotune(" CONFIGS ", key=['m'])\n" BODY;

static const tile_named block[] = {{{"BLOCK", 5}, {"8192", 4}}};
static const tile_compile_options generated = {
    .constexprs = block, .constexpr_count = 1, .tune_generated = true};

/* Threads of a block for which launches take the least. */
static unsigned fastest;

static double by_threads(const FakeCuda *cuda) {
    const unsigned threads = cuda->block[0];
    return 1e-2 * (threads > fastest ? threads / fastest : fastest / threads);
}

/* The threads that the compiler chooses. */
static unsigned chosen_threads(Fixture *f) {
    Opened o =
        open_kernel(f, f->folder, plain_kernel,
                    &(tile_compile_options){.constexprs = block, .constexpr_count = 1}, false);
    const Said said = call(o.function, o.device, 4096, 1);
    expect(&said, TILE_OK, "");
    const unsigned threads = f->cuda->block[0];
    close_all(&o);
    return threads;
}

/* The compiler's own choice, and half and twice its warps. */
static void what_is_near_is_measured(void **state) {
    Fixture *f = *state;
    const unsigned own = chosen_threads(f);
    assert_true(own >= 64 && own <= 512);
    const struct {
        unsigned fastest, wanted;
        const char *text;
    } cases[] = {{own, own, "'k' runs with the compiler's choice"},
                 {2 * own, 2 * own, "'k' runs with num_warps="},
                 {own / 2, own / 2, "'k' runs with num_warps="},
                 {8 * own, 2 * own, "the best of 3 configurations (0 struck out, 0 known before)"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        Opened o = open_kernel(f, "none", plain_kernel, &generated, false);
        fastest = cases[i].fastest;
        f->cuda->launch_ms = by_threads;
        const Said said = call(o.function, o.device, 4096, 1);
        expect(&said, TILE_OK, cases[i].text);
        assert_int_equal(f->cuda->block[0], cases[i].wanted);
        const unsigned launches = f->cuda->launches;
        call(o.function, o.device, 4096, 1);
        assert_int_equal(f->cuda->launches, launches + 1);
        close_all(&o);
    }
}

/* Sizes share a configuration up to the next power of two; another process knows it, a strict one
 * compiles nothing for it. */
static void sizes_are_rounded(void **state) {
    Fixture *f = *state;
    static const struct {
        int64_t n, m;
        bool measures;
    } calls[] = {{4096, 1, true}, {4095, 1, false}, {2049, 1, false}, {2048, 1, true},
                 {4097, 1, true}, {4096, 3, true},  {4096, 4, false}, {0, 1, true},
                 {-5, 1, true},   {-8, 1, false},   {5, 1, true}};
    fastest = 64;
    for (int process = 0; process < 3; process++) {
        Opened o = open_kernel(f, f->folder, plain_kernel, &generated, process == 2);
        f->cuda->launch_ms = by_threads;
        for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
            const tile_argument arguments[] = {tile_pointer(0x1000, TILE_FP32),
                                               tile_int(calls[i].n), tile_int(calls[i].m)};
            const unsigned before = f->cuda->launches, grid[] = {1, 1, 1};
            assert_int_equal(
                tile_function_launch(o.function, o.device, grid, NULL, arguments, 3, NULL),
                TILE_OK);
            assert_int_equal(f->cuda->launches > before + 1, calls[i].measures && !process);
        }
        close_all(&o);
    }
}

static void values_are_combined(void **state) {
    Fixture *f = *state;
    static const tile_named lists[] = {{{"BLOCK", 5}, {"[64, 128, 256]", 14}},
                                       {{"num_warps", 9}, {"[1, 2]", 6}}};
    const tile_compile_options options = {.tune = lists, .tune_count = 2};
    Opened o = open_kernel(f, f->folder, plain_kernel, &options, false);
    Said said = call(o.function, o.device, 1 << 20, 1);
    expect(&said, TILE_OK, "'k' runs with BLOCK=256, num_warps=1");
    expect(&said, TILE_OK, "the best of 6 configurations");
    close_all(&o);
    /* With launches near the compiler's for each, those that nobody says. */
    const tile_compile_options more = {.tune = lists, .tune_count = 1, .tune_generated = true};
    o = open_kernel(f, f->folder, plain_kernel, &more, false);
    said = call(o.function, o.device, 1 << 20, 1);
    expect(&said, TILE_OK, "'k' runs with BLOCK=256");
    close_all(&o);
    /* In the place of the source's, whose key counts. */
    o = open_kernel(f, f->folder, tuned_kernel, &options, false);
    said = call(o.function, o.device, 1 << 20, 1);
    expect(&said, TILE_OK, "the best of 6 configurations");
    const unsigned launches = f->cuda->launches;
    call(o.function, o.device, 1 << 10, 1);
    assert_int_equal(f->cuda->launches, launches + 1);
    close_all(&o);
}

/* Types, texts and tuples are values as well. */
static void any_constexpr_may_vary(void **state) {
    Fixture *f = *state;
    static const char kernel[] =
        HEAD "@triton.jit\n"
             "def k(x, n, m, BLOCK: tl.constexpr, T: tl.constexpr, MODE: tl.constexpr):\n"
             "    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)\n"
             "    v = i.to(T) * MODE[0] + MODE[1]\n"
             "    tl.store(x + i, v, mask=i < n)\n";
    const tile_named lists[] = {{text("BLOCK"), text("64")},
                                {text("T"), text("[tl.float32, tl.float16]")},
                                {text("MODE"), text("[(1, 2), (3, 4)]")}};
    const tile_compile_options options = {.tune = lists, .tune_count = 3};
    Opened o = open_kernel(f, f->folder, kernel, &options, false);
    const Said said = call(o.function, o.device, 1024, 1);
    expect(&said, TILE_OK, "'k' runs with BLOCK=64, T=tl.float32, MODE=(1, 2)");
    expect(&said, TILE_OK, "the best of 4 configurations (0 struck out");
    close_all(&o);
}

/* The source's configurations stay what they are. */
static void nothing_is_generated_beside_the_sources(void **state) {
    Fixture *f = *state;
    Opened o = open_kernel(f, f->folder, tuned_kernel,
                           &(tile_compile_options){.tune_generated = true}, false);
    const Said said = call(o.function, o.device, 4096, 1);
    expect(&said, TILE_OK, "the best of 4 configurations");
    close_all(&o);
}

static void what_is_wrong_is_said(void **state) {
    Fixture *f = *state;
    static const struct {
        const char *name, *values, *said;
    } cases[] = {
        {"BLOK", "64", "<tune BLOK>:1:1: error: 'BLOK' is no name"},
        {"BLOCK", "[]", "no values for 'BLOCK'"},
        {"BLOCK", "[64", "never closed"},
        {"BLOCK", "", "error: "},
        {"BLOCK", "[64, x]", "<tune BLOCK>:1:6: error: such a value of 'BLOCK'"},
        {"num_warps", "[4, 6]",
         "<tune num_warps>:1:5: error: 'num_warps' of a configuration is a power"},
        {"num_warps", "64", "from 1 to 32"},
        {"num_stages", "0", "from 1 to 16"},
        {"num_ctas", "3", "a power of two"},
        {"maxnreg", "8", "from 24 to 255"},
        {"maxnreg", "(24,)", "from 24 to 255"},
        {"maxnreg", "True", "from 24 to 255"},
        {"m", "[1]", "'m' is to be tuned, and an option says"},
        {"BLOCK", "[1]", NULL},
    };
    static const tile_named m = {{"m", 1}, {"1", 1}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const tile_named lists[] = {{text(cases[i].name), text(cases[i].values)},
                                    {text("num_ctas"), text("[1]")},
                                    {text("num_ctas"), text("[1]")}};
        const tile_compile_options options = {.size = sizeof options,
                                              .path = text("k.tile"),
                                              .source = text(plain_kernel),
                                              .constexprs = &m,
                                              .constexpr_count = 1,
                                              .tune = lists,
                                              .tune_count = cases[i].said ? 1 : 3};
        tile_function *function = NULL;
        tile_diagnostics *said = NULL;
        assert_int_equal(tile_function_create(f->context, &options, &function, &said),
                         TILE_ERROR_SOURCE);
        const char *wanted = cases[i].said ? cases[i].said : "two lists of values for 'num_ctas'";
        if (!strstr(tile_diagnostics_text(said).data, wanted))
            fail_msg("%s", tile_diagnostics_text(said).data);
        tile_diagnostics_destroy(said);
    }
}

static void too_many_are_an_error(void **state) {
    Fixture *f = *state;
    char numbers[2048] = "[1";
    for (int i = 2; i <= 200; i++)
        sprintf(numbers + strlen(numbers), ", %d", i);
    strcat(numbers, "]");
    for (int generates = 0; generates < 2; generates++) {
        const tile_named lists[] = {{text("BLOCK"), text(numbers)}, {text("m"), text(numbers)}};
        const tile_compile_options options = {.size = sizeof options,
                                              .path = text("k.tile"),
                                              .source = text(plain_kernel),
                                              .tune = lists,
                                              .tune_count = generates ? 1 : 2,
                                              .tune_generated = generates};
        tile_function *function = NULL;
        tile_diagnostics *said = NULL;
        assert_int_equal(tile_function_create(f->context, &options, &function, &said),
                         TILE_ERROR_SOURCE);
        assert_non_null(
            strstr(tile_diagnostics_text(said).data, "'k' has more than 4096 configurations"));
        tile_diagnostics_destroy(said);
    }
}

/* What registers and shared memory say of others. */
static void the_model_knows_what_fits(void **state) {
    (void)state;
    const struct {
        int32_t registers, spills, shared, programs;
        TriedLaunch launch;
        bool is_near;
    } cases[] = {
        {64, 0, 0, 1, {4, 0}, true},      {64, 0, 0, 1, {16, 0}, true},
        {64, 0, 0, 1, {2, 0}, false},     {64, 0, 0, 1, {32, 0}, false},
        {64, 0, 0, 1, {8, 0}, false}, /* the compiler's own */
        {64, 0, 0, 4, {8, 0}, true},  /* unless its programs share a CTA */
        {64, 0, 0, 4, {32, 0}, true},     {64, 0, 0, 1, {0, 2}, false},
        {64, 0, 1024, 1, {0, 2}, true},   {64, 0, 1024, 1, {4, 5}, true},
        {168, 0, 1024, 1, {4, 0}, false}, {147, 0, 1024, 1, {4, 0}, true},
        {64, 8, 1024, 1, {4, 0}, false},  {168, 0, 1024, 1, {16, 0}, true},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const KernelFacts own = {.meta = {.num_warps = 8,
                                          .programs_per_cta = cases[i].programs,
                                          .threads = 256 * cases[i].programs,
                                          .shared_bytes = cases[i].shared},
                                 .resources = {.known = true,
                                               .registers = cases[i].registers,
                                               .spill_stores = cases[i].spills}};
        if (launch_is_near(&own, cases[i].launch) != cases[i].is_near)
            fail_msg("case %zu", i);
    }
    const KernelFacts largest = {.meta = {.num_warps = 32, .programs_per_cta = 1}};
    assert_false(launch_is_near(&largest, (TriedLaunch){64, 0}));
    assert_true(launch_is_near(&largest, (TriedLaunch){16, 0})); /* registers are not known */
}

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(what_is_near_is_measured),
        TEST(sizes_are_rounded),
        TEST(values_are_combined),
        TEST(any_constexpr_may_vary),
        TEST(nothing_is_generated_beside_the_sources),
        TEST(what_is_wrong_is_said),
        TEST(too_many_are_an_error),
        cmocka_unit_test(the_model_knows_what_fits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
