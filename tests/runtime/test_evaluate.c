/* Functions of the program's own that kernels call while they are compiled. */
#include "unit_testing.h"

/* What is given, and what was asked for. */
typedef struct Host {
    tile_status status;
    const char *gives; /* NULL: nothing */
    size_t argument;   /* TILE_NO_ARGUMENT: none */
    int calls;
    char asked[1024]; /* "unit name key capability: text, name=text, type?" of the last */
} Host;

static tile_status evaluate(void *user, const tile_evaluation *what, tile_evaluated *result) {
    Host *host = user;
    assert_int_equal(what->size, sizeof *what);
    assert_int_equal(result->size, sizeof *result);
    assert_true(result->argument == TILE_NO_ARGUMENT);
    host->calls++;
    int len = snprintf(host->asked, sizeof host->asked, "%zu %s %s %d:", what->unit,
                       what->name.data, what->key.data, what->capability);
    for (size_t i = 0; i < what->argument_count; i++) {
        const tile_evaluation_argument *argument = &what->arguments[i];
        len += snprintf(host->asked + len, sizeof host->asked - (size_t)len, "%s %.*s%s%.*s%s",
                        i ? "," : "", (int)argument->name.size, argument->name.data,
                        argument->name.size ? "=" : "", (int)argument->text.size,
                        argument->text.data, argument->is_run_time ? "?" : "");
    }
    if (host->gives)
        result->text = text(host->gives);
    result->argument = host->argument;
    return host->status;
}

static tile_binding evaluated(const char *name, const char *key) {
    return (tile_binding){.name = text(name), .kind = TILE_BIND_EVALUATE, .text = text(key)};
}

static Made ask(Fixture *f, Host *host, const tile_unit *units, size_t count,
                const char *signature) {
    const tile_compile_options options = {.evaluate = evaluate, .evaluate_user = host};
    return compile_with(f, units, count, signature, options);
}

/* A kernel of one unit that stores `expression`. */
static Made ask_for(Fixture *f, Host *host, const char *expression, const char *signature) {
    char body[1024];
    const tile_binding names[] = {language("tl", "triton.language"),
                                  language("load", "triton.language.load"),
                                  function_of("k", 0),
                                  evaluated("host", "sha256:1"),
                                  {.name = text("other"), .kind = TILE_BIND_NAMESPACE}};
    snprintf(body, sizeof body, "def k(x, n):\n    a = tl.arange(0, 16)\n    tl.store(x, %s)\n",
             expression);
    const tile_unit unit = unit_of("e.py", 20, body, BINDINGS(names));
    return ask(f, host, &unit, 1, signature);
}

static void literals_are_given(void **state) {
    Fixture *f = *state;
    Host host = {.gives = "(7, (tl.int32, 'a'), @0, None)", .argument = TILE_NO_ARGUMENT};
    Made made = ask_for(f, &host, "host(1, n=2)[0]", "*i32, i32");
    if (made.status != TILE_OK)
        print_error("%s", made.rendered);
    assert_int_equal(made.status, TILE_OK);
    assert_int_equal(host.calls, 1);
    assert_string_equal(host.asked, "0 host sha256:1 90: 1, n=2");
    assert_false(made.from_cache);
    free(made.ptx);
    /* Who finds an entry calls nobody. */
    made = ask_for(f, &host, "host(1, n=2)[0]", "*i32, i32");
    assert_true(made.from_cache);
    assert_int_equal(host.calls, 1);
    free(made.ptx);
}

/* Whatever Python has a literal for, and types of what it has not. */
static void arguments_are_told(void **state) {
    Fixture *f = *state;
    Host host = {.gives = "1", .argument = TILE_NO_ARGUMENT};
    static const struct {
        const char *arguments, *told;
    } cases[] = {
        {"", ""},
        {"-1, 2**70, 1.5, float('nan'), -float('inf')",
         " -1, 1180591620717411303424, 1.5, float('nan'), float('-inf')"},
        {"True, None, 'it\\'s', \"\\n\\\\\"", " True, None, \"it's\", '\\n\\\\'"},
        {"(), (1,), (1, ('a', None))", " (), (1,), (1, ('a', None))"},
        {"tl.float16, x.dtype, a.type", " tl.float16, tl.pointer_type(tl.int32), "
                                        "tl.block_type(tl.int32, [16])"},
        {"k, load, tl.sum, tl, max", " @0, tl.load, tl.sum, triton.language, max"},
        {"n, x, a, a[None, :] > n, (n, 4, (x,))",
         " i32?, *i32?, i32[16]?, i1[1, 16]?, (i32, =4, (*i32,))?"},
        {"*(1, 2), key=a", " 1, 2, key=i32[16]?"},
        {"tl.make_block_ptr(x, [n], [1], [0], [16], [0])", " block_ptr<i32[16]>?"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char expression[256], told[512];
        snprintf(expression, sizeof expression, "host(%s)", cases[i].arguments);
        snprintf(told, sizeof told, "0 host sha256:1 90:%s", cases[i].told);
        Made made = ask_for(f, &host, expression, "*i32, i32");
        if (made.status != TILE_OK)
            print_error("%s", made.rendered);
        assert_int_equal(made.status, TILE_OK);
        assert_string_equal(host.asked, told);
        free(made.ptx);
    }
    Made made = ask_for(f, &host, "host(host)", "*i32, i32");
    assert_string_equal(made.id, "evaluate_argument");
    made = ask_for(f, &host, "host(other)", "*i32, i32");
    assert_string_equal(made.id, "evaluate_argument");
    assert_int_equal(made.line, 22);
    assert_int_equal(made.column, 22);
}

/* What is told of a literal can be given back. */
static void literals_come_back(void **state) {
    Fixture *f = *state;
    static const char *const literals[] = {"tl.pointer_type(tl.int32)",
                                           "tl.block_type(tl.int32, [16])",
                                           "float('-inf')",
                                           "'\\n\\\\'",
                                           "(1, ('a', None))",
                                           "tl.load",
                                           "triton.language",
                                           "tl.float8e4nv"};
    for (size_t i = 0; i < sizeof literals / sizeof *literals; i++) {
        Host host = {.gives = literals[i], .argument = TILE_NO_ARGUMENT};
        char told[256], expression[64]; /* another for each: what is known asks nobody */
        snprintf(told, sizeof told, "0 host sha256:1 90: %s, %zu", literals[i], i);
        snprintf(expression, sizeof expression, "1 if host(host(), %zu) is None else 2", i);
        Made made = ask_for(f, &host, expression, "*i32, i32");
        if (made.status != TILE_OK)
            print_error("%s", made.rendered);
        assert_int_equal(made.status, TILE_OK);
        assert_int_equal(host.calls, 2);
        assert_string_equal(host.asked, told);
        free(made.ptx);
    }
}

static void arguments_are_passed_through(void **state) {
    Fixture *f = *state;
    Host host = {.argument = 1};
    Made made = ask_for(f, &host, "host(None, n * 3) + host(1, 2)", "*i32, i32");
    if (made.status != TILE_OK)
        print_error("%s", made.rendered);
    assert_int_equal(made.status, TILE_OK);
    assert_int_equal(host.calls, 2);
    assert_non_null(strstr(made.ptx, "3"));
    free(made.ptx);
}

static void named_tuples_are_told(void **state) {
    Fixture *f = *state;
    Host host = {.gives = "@1(@1, 5)", .argument = TILE_NO_ARGUMENT};
    const tile_binding names[] = {language("tl", "triton.language"), function_of("P", 1),
                                  evaluated("host", "key")};
    const tile_named fields[] = {{text("a"), text("")}, {text("b"), text("")}};
    const tile_unit units[] = {unit_of("e.py", 1,
                                       "def k(x, n):\n"
                                       "    made = host(P, P(1, 'a'), P(n, (P(x, 2.0),)))\n"
                                       "    tl.store(x, made.a(3, 4).b + made.b)\n",
                                       BINDINGS(names)),
                               {.size = sizeof(tile_unit),
                                .kind = TILE_UNIT_RECORD,
                                .name = text("Pair"),
                                .fields = fields,
                                .field_count = 2}};
    Made made = ask(f, &host, units, 2, "*i32, i32");
    if (made.status != TILE_OK)
        print_error("%s", made.rendered);
    assert_int_equal(made.status, TILE_OK);
    assert_string_equal(host.asked, "0 host key 90: @1, @1(1, 'a'), @1(i32, (@1(*i32, =2.0),))?");
    free(made.ptx);
}

static void what_goes_wrong_is_said_at_the_call(void **state) {
    Fixture *f = *state;
    Host host = {TILE_ERROR_SOURCE, "ValueError: no such tile", TILE_NO_ARGUMENT, 0, ""};
    Made made = ask_for(f, &host, "host(1)", "*i32, i32");
    assert_int_equal(made.status, TILE_ERROR_SOURCE);
    assert_string_equal(made.id, "evaluate_failed");
    assert_string_equal(made.message, "`host`: ValueError: no such tile");
    assert_string_equal(made.path, "e.py");
    assert_int_equal(made.line, 22);
    assert_int_equal(made.column, 17);
    host.gives = NULL;
    assert_string_equal(ask_for(f, &host, "host(1)", "*i32, i32").id, "evaluate_failed");
    host.status = TILE_OK;
    made = ask_for(f, &host, "host(1)", "*i32, i32");
    assert_string_equal(made.id, "evaluate_nothing");
    assert_int_equal(made.status, TILE_ERROR_INVALID_ARGUMENT);
    host.argument = 1;
    assert_string_equal(ask_for(f, &host, "host(1)", "*i32, i32").id, "evaluate_nothing");
    host.argument = TILE_NO_ARGUMENT;
    static const char *const bad[] = {"1 +", "@5", "nowhere", "(", "x = 1"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        host.gives = bad[i];
        made = ask_for(f, &host, "host(1)", "*i32, i32");
        assert_int_not_equal(made.status, TILE_OK);
        assert_string_equal(made.path, "<value of host>");
    }
    assert_string_equal(ask_for(f, &host, "host(wrong)", "*i32, i32").id, "elab_unknown_name");
    assert_string_equal(ask_for(f, &host, "host.x", "*i32, i32").id, "elab_no_attribute");
}

/* A compilation without the callback, and one in a process of its own. */
static void somebody_has_to_evaluate(void **state) {
    Fixture *f = *state;
    const tile_binding names[] = {language("tl", "triton.language"), evaluated("m.host", "key")};
    const tile_unit unit =
        unit_of("e.py", 1, "def k(x):\n    tl.store(x, m.host())\n", BINDINGS(names));
    Made made = compile(f, &unit, 1, "*i32");
    assert_int_equal(made.status, TILE_ERROR_INVALID_ARGUMENT);
    assert_string_equal(made.id, "evaluate_nobody");
    Host host = {.gives = "1", .argument = TILE_NO_ARGUMENT};
    const tile_compile_options options = {
        .evaluate = evaluate, .evaluate_user = &host, .isolated = true};
    made = compile_with(f, &unit, 1, "*i32", options);
    assert_int_equal(made.status, TILE_ERROR_INVALID_ARGUMENT);
    assert_string_equal(made.id, "evaluate_isolated");
    made = ask(f, &host, &unit, 1, "*i32");
    assert_int_equal(made.status, TILE_OK);
    free(made.ptx);
    /* What identifies it is in the key. */
    const tile_binding changed[] = {names[0], evaluated("m.host", "another key")};
    const tile_unit other =
        unit_of("e.py", 1, "def k(x):\n    tl.store(x, m.host())\n", BINDINGS(changed));
    made = ask(f, &host, &other, 1, "*i32");
    assert_false(made.from_cache);
    assert_int_equal(host.calls, 2);
    free(made.ptx);
    const tile_binding anonymous[] = {names[0], evaluated("m.host", "")};
    const tile_unit none =
        unit_of("e.py", 1, "def k(x):\n    tl.store(x, m.host())\n", BINDINGS(anonymous));
    assert_string_equal(ask(f, &host, &none, 1, "*i32").id, "unit_binding");
}

/* Calls of functions evaluate, too, from wherever they are. */
static void functions_evaluate(void **state) {
    Fixture *f = *state;
    Host host = {.gives = "5", .argument = TILE_NO_ARGUMENT};
    const tile_binding kernel[] = {language("tl", "triton.language"), function_of("g", 1),
                                   evaluated("host", "a")};
    const tile_binding helper[] = {evaluated("host", "b")};
    const tile_unit units[] = {
        unit_of("e.py", 1, "def k(x, n):\n    tl.store(x, g(n, host))\n", BINDINGS(kernel)),
        unit_of("e.py", 10, "def g(n, f):\n    return f(n) + host(n)\n", BINDINGS(helper))};
    const tile_compile_options options = {.size = sizeof options,
                                          .units = units,
                                          .unit_count = 2,
                                          .evaluate = evaluate,
                                          .evaluate_user = &host};
    tile_function *function = NULL;
    tile_diagnostics *diagnostics = NULL;
    assert_int_equal(tile_function_create(f->context, &options, &function, &diagnostics), TILE_OK);
    tile_device *device = open_device(f);
    const tile_argument arguments[] = {tile_pointer(0x1000, TILE_I32), tile_int(3)};
    const tile_executable *executable = NULL;
    const tile_status status =
        tile_function_instance(function, device, arguments, 2, &executable, &diagnostics);
    if (status != TILE_OK)
        print_error("%s", tile_diagnostics_text(diagnostics).data);
    assert_int_equal(status, TILE_OK);
    assert_int_equal(host.calls, 2);
    assert_non_null(strstr(host.asked, "1 host b "));
    tile_diagnostics_destroy(diagnostics);
    tile_function_destroy(function);
    tile_device_close(device);
}

int main(void) {
    setenv("TILEC_WORKER", TILEC_PROGRAM, 1);
    const struct CMUnitTest tests[] = {
        TEST(literals_are_given),       TEST(arguments_are_told),
        TEST(literals_come_back),       TEST(arguments_are_passed_through),
        TEST(named_tuples_are_told),    TEST(what_goes_wrong_is_said_at_the_call),
        TEST(somebody_has_to_evaluate), TEST(functions_evaluate),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
