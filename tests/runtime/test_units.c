/* Kernels given as units: functions one by one, with what their names stand for. A value is told
 * from the outside by static_asserts and by the code. */
#include "unit_testing.h"

/* The language under other names, a helper under its own, a value of the host. */
static void units_are_compiled(void **state) {
    Fixture *f = *state;
    const tile_binding kernel[] = {language("T", "triton.language"), function_of("relu", 1)};
    const tile_binding helper[] = {literal("LEAST", "0.5"),
                                   language("max", "triton.language.maximum")};
    const tile_unit units[] = {unit_of("net.py", 10, add_text, BINDINGS(kernel)),
                               unit_of("act.py", 30, relu_text, BINDINGS(helper))};
    Made made = COMPILES(f, units, "*fp32:16, i32, 256");
    assert_false(made.from_cache);
    assert_non_null(strstr(made.ptx, ".file\t1 \"net.py\""));
    assert_non_null(strstr(made.ptx, ".file\t2 \"act.py\""));
    assert_non_null(strstr(made.ptx, ".loc\t2 31 "));
    free(made.ptx);
    made = COMPILES(f, units, "*fp32:16, i32, 256");
    assert_true(made.from_cache);
    free(made.ptx);
}

/* Every part of a unit is in the key. */
static void what_changes_is_another_entry(void **state) {
    Fixture *f = *state;
    tile_binding kernel[] = {language("T", "triton.language"), function_of("relu", 1)};
    tile_binding helper[] = {literal("LEAST", "0.5"), language("max", "triton.language.maximum")};
    tile_unit units[] = {unit_of("net.py", 10, add_text, BINDINGS(kernel)),
                         unit_of("act.py", 30, relu_text, BINDINGS(helper)),
                         unit_of("act.py", 50, relu_text, BINDINGS(helper))};
    Made first = COMPILES(f, units, "*fp32:16, i32, 256");
    helper[0] = literal("LEAST", "0.25");
    Made made = COMPILES(f, units, "*fp32:16, i32, 256");
    assert_false(made.from_cache);
    assert_string_not_equal(made.ptx, first.ptx);
    free(made.ptx);
    helper[0] = literal("LEAST", "0.5");
    kernel[1] = function_of("relu", 2);
    made = COMPILES(f, units, "*fp32:16, i32, 256");
    assert_false(made.from_cache);
    assert_non_null(strstr(made.ptx, ".loc\t2 51 "));
    free(made.ptx);
    kernel[1] = function_of("relu", 1);
    /* Lines are in the code. */
    units[0].first_line = 11;
    made = COMPILES(f, units, "*fp32:16, i32, 256");
    assert_false(made.from_cache);
    free(made.ptx);
    units[0].first_line = 10;
    helper[1] = language("max", "triton.language.minimum");
    made = COMPILES(f, units, "*fp32:16, i32, 256");
    assert_false(made.from_cache);
    free(made.ptx);
    helper[1] = language("max", "triton.language.maximum");
    /* The order in which a unit's names stand in its list says nothing. */
    const tile_binding turned[] = {helper[1], helper[0]};
    units[1].bindings = turned;
    made = COMPILES(f, units, "*fp32:16, i32, 256");
    assert_true(made.from_cache);
    assert_string_equal(made.ptx, first.ptx);
    free(made.ptx);
    free(first.ptx);
}

/* Places are the file's: of a text from the middle, whose lines lost their indentation, and of one
 * that kept it. */
static void places_are_those_of_the_file(void **state) {
    Fixture *f = *state;
    const tile_binding tl[] = {language("tl", "triton.language")};
    tile_unit dedented =
        unit_of("model.py", 41, "def k(x):\n    tl.store(x, wrong + 1)\n", BINDINGS(tl));
    dedented.first_column = 9;
    Made made = compile(f, &dedented, 1, "*fp32");
    assert_int_equal(made.status, TILE_ERROR_SOURCE);
    assert_string_equal(made.id, "elab_unknown_name");
    assert_string_equal(made.path, "model.py");
    assert_int_equal(made.line, 42);
    assert_int_equal(made.column, 25);
    assert_int_equal(made.end_line, 42);
    assert_int_equal(made.end_column, 30);
    assert_non_null(strstr(made.rendered, "model.py:42:25: error: `wrong` is not defined\n"
                                          "   42 |     tl.store(x, wrong + 1)\n"
                                          "      |                 ^~~~~\n"));
    const tile_unit indented = unit_of("model.py", 40,
                                       "        @triton.jit(unknown=1)\n"
                                       "        def k(x):\n"
                                       "            # an empty line and a comment\n"
                                       "\n"
                                       "            tl.store(x, wrong + 1)\n",
                                       BINDINGS(tl));
    made = compile(f, &indented, 1, "*fp32");
    assert_string_equal(made.id, "elab_unknown_name");
    assert_int_equal(made.line, 44);
    assert_int_equal(made.column, 25);
    const tile_unit tabbed = unit_of("model.py", 7,
                                     "\tdef k(x):\n"
                                     "\t\ty = (1 +\n"
                                     "2)\n"
                                     "\t\ttl.store(x, wrong + y)\n",
                                     BINDINGS(tl));
    made = compile(f, &tabbed, 1, "*fp32");
    assert_string_equal(made.id, "elab_unknown_name");
    assert_int_equal(made.line, 10);
    assert_int_equal(made.column, 15);
    tile_unit broken =
        unit_of("model.py", 100, "def k(x):\n    y = 1 +\n    y = 2\n", BINDINGS(tl));
    broken.first_column = 5;
    made = compile(f, &broken, 1, "*fp32");
    assert_string_equal(made.id, "parse_expected");
    assert_int_equal(made.line, 101);
    assert_int_equal(made.column, 16);
}

/* An answer of the cache says what the compilation said, at its places in either unit. */
static void remarks_are_repeated_in_their_places(void **state) {
    Fixture *f = *state;
    const tile_binding kernel[] = {language("tl", "triton.language"), function_of("g", 1)};
    const tile_binding helper[] = {language("tl", "triton.language")};
    tile_unit units[] = {unit_of("a.py", 5, "def k(x):\n    g(x)\n", BINDINGS(kernel)),
                         unit_of("b.py", 70,
                                 "def g(x):\n"
                                 "    tl.static_print(\"here\")\n"
                                 "    tl.store(x, 1.0)\n",
                                 BINDINGS(helper))};
    units[1].first_column = 3;
    for (int i = 0; i < 2; i++) {
        Made made = COMPILES(f, units, "*fp32");
        assert_int_equal(made.from_cache, i);
        assert_string_equal(made.path, "b.py");
        assert_int_equal(made.line, 71);
        assert_int_equal(made.column, 7);
        free(made.ptx);
    }
}

/* Functions of one name, aliases, names that hide others, recursion from unit to unit. */
static void names_mean_what_they_are_bound_to(void **state) {
    Fixture *f = *state;
    const tile_binding kernel[] = {
        language("load", "triton.language.store"), /* whatever it is called */
        language("C", "triton.language.constexpr"),
        language("check", "triton.language.static_assert"),
        function_of("act", 1),
        function_of("other", 2),
        function_of("range", 3),
        literal("tl", "7"),
        function_of("k", 3),
    };
    const tile_binding first[] = {literal("V", "'one'")};
    const tile_binding second[] = {literal("V", "'two'")};
    const tile_binding even[] = {function_of("odd", 4)};
    const tile_binding odd[] = {function_of("even", 3)};
    const tile_unit units[] = {
        unit_of("m.py", 1,
                "def k(x, N: C, V: C = 5):\n"
                "    local: C = N + 1\n"
                "    check(act() == 'one')\n"
                "    check(other() == 'two')\n"
                "    check(tl == 7)\n"
                "    check(local == 4)\n"
                "    check(V == 5)\n"
                "    check(range(8) == 'even' and k(7) == 'odd')\n"
                "    act = 3\n"
                "    load(x, act)\n",
                BINDINGS(kernel)),
        unit_of("m.py", 20, "def act():\n    return V\n", BINDINGS(first)),
        unit_of("m.py", 30, "def act():\n    return V\n", BINDINGS(second)),
        unit_of("m.py", 40, "def even(n):\n    return 'even' if n == 0 else odd(n - 1)\n",
                BINDINGS(even)),
        unit_of("m.py", 50, "def odd(n):\n    return 'odd' if n == 0 else even(n - 1)\n",
                BINDINGS(odd)),
    };
    Made made = COMPILES(f, units, "*i32, 3");
    free(made.ptx);
}

/* Dotted names: the longest counts, what is behind is an attribute; locals hide them. */
static void dotted_names(void **state) {
    Fixture *f = *state;
    const tile_binding names[] = {
        language("tl", "triton.language"),
        function_of("tl.mine", 1),
        {.name = text("cfg"), .kind = TILE_BIND_NAMESPACE},
        literal("cfg.BLOCK", "16"),
        literal("cfg.dtype", "tl.float16"),
        literal("cfg.inner.N", "(1, (2, 'a'), None, float('-inf'), True)"),
        {.name = text("bad"), .kind = TILE_BIND_UNUSABLE, .text = text("cannot use bad here")},
        literal("bad.good", "3"),
        function_of("helpers.act", 1),
    };
    const tile_binding nothing[] = {literal("unused", "1")};
    const tile_unit units[] = {
        unit_of("d.py", 1,
                "def k(x):\n"
                "    tl.static_assert(cfg.BLOCK.value == 16)\n"
                "    tl.static_assert(cfg.dtype.primitive_bitwidth == 16)\n"
                "    tl.static_assert(cfg.inner.N[1][1] == 'a' and cfg.inner.N[3] < -1e30)\n"
                "    tl.static_assert(getattr(cfg, 'BLOCK') == 16)\n"
                "    tl.static_assert(hasattr(cfg, 'BLOCK') and not hasattr(cfg, 'SIZE'))\n"
                "    tl.static_assert(helpers.act() == 'act' and tl.mine() == 'act')\n"
                "    tl.static_assert(bad.good == 3)\n"
                "    helpers = tl.float32\n"
                "    tl.store(x, tl.full([], 1, helpers.scalar))\n",
                BINDINGS(names)),
        unit_of("d.py", 20, "def act():\n    return 'act'\n", BINDINGS(nothing)),
    };
    Made made = COMPILES(f, units, "*fp32");
    free(made.ptx);
    const tile_unit missing =
        unit_of("d.py", 1, "def k(x):\n    tl.store(x, cfg.SIZE)\n", names, 6);
    const tile_unit both[] = {missing, units[1]};
    made = COMPILE(f, both, "*fp32");
    assert_string_equal(made.id, "elab_unknown_name");
    assert_string_equal(made.message, "`cfg.SIZE` is not defined");
    const tile_binding foreign[] = {language("tl", "triton.language"),
                                    language("x_of", "torch.nn")};
    const tile_unit not_language =
        unit_of("d.py", 1, "def k(x):\n    tl.store(x, x_of)\n", BINDINGS(foreign));
    made = compile(f, &not_language, 1, "*fp32");
    assert_string_equal(made.id, "unit_language");
}

/* Their text, once, and only where a kernel comes by. */
static void unusable_names_say_so_when_reached(void **state) {
    Fixture *f = *state;
    const tile_binding names[] = {
        language("tl", "triton.language"),
        {.name = text("N"),
         .kind = TILE_BIND_UNUSABLE,
         .text = text("Cannot access global variable N from within @jit'ed function.")}};
    const tile_unit unit = unit_of("g.py", 3,
                                   "def k(x, B: tl.constexpr):\n"
                                   "    if B:\n"
                                   "        tl.store(x, N)\n"
                                   "    tl.store(x, 1)\n",
                                   BINDINGS(names));
    Made made = compiles(f, &unit, 1, "*i32, False");
    free(made.ptx);
    made = compile(f, &unit, 1, "*i32, True");
    assert_int_equal(made.status, TILE_ERROR_SOURCE);
    assert_string_equal(made.id, "unit_unusable");
    assert_string_equal(made.message,
                        "Cannot access global variable N from within @jit'ed function.");
    assert_int_equal(made.line, 5);
    assert_int_equal(made.column, 21);
}

/* `tl` is no name of a unit that does not bind it; Python's own are. */
static void nothing_else_is_known(void **state) {
    Fixture *f = *state;
    const tile_unit unit = unit_of("n.py", 1, "def k(x):\n    tl.store(x, min(1, 2))\n", NULL, 0);
    Made made = compile(f, &unit, 1, "*i32");
    assert_string_equal(made.message, "`tl` is not defined");
    const tile_binding store[] = {language("store", "triton.language.store")};
    const tile_unit bound =
        unit_of("n.py", 1, "def k(x):\n    store(x, min(1, 2))\n", BINDINGS(store));
    made = compiles(f, &bound, 1, "*i32");
    free(made.ptx);
    /* Nor is an import looked for on disk. */
    const tile_unit import =
        unit_of("n.py", 1, "def k(x):\n    import os\n    store(x, 1)\n", BINDINGS(store));
    made = compile(f, &import, 1, "*i32");
    assert_string_equal(made.id, "elab_construct");
}

/* Functions and values of calls are literals, evaluated where only the language is known. */
static void constexprs_are_literals(void **state) {
    Fixture *f = *state;
    const tile_binding names[] = {literal("tl", "7"), language("L", "triton.language")};
    const tile_binding act[] = {language("L", "triton.language")};
    const tile_unit units[] = {
        unit_of("c.py", 1,
                "def k(x, F: L.constexpr, D: L.constexpr, T: L.constexpr):\n"
                "    L.static_assert(T[0]('a') == 'ab' and T[1]('a') == 'ac')\n"
                "    L.store(x, L.full([], 2, D))\n"
                "    L.static_assert(F('d') == 'dc')\n",
                BINDINGS(names)),
        unit_of("c.py", 10, "def one(v):\n    return v + 'c'\n", BINDINGS(act)),
        unit_of("c.py", 20, "def ten(v):\n    return v + 'b'\n", BINDINGS(act)),
    };
    const tile_named values[] = {
        {text("F"), text("@1")}, {text("D"), text("tl.float32")}, {text("T"), text("(@2, @1)")}};
    tile_compile_options options = {.constexprs = values, .constexpr_count = 3};
    Made made = compile_with(f, units, 3, "*fp32", options);
    if (made.status != TILE_OK)
        print_error("%s", made.rendered);
    assert_int_equal(made.status, TILE_OK);
    free(made.ptx);
    const tile_named beyond[] = {values[1], values[2], {text("F"), text("@3")}};
    options.constexprs = beyond;
    made = compile_with(f, units, 3, "*fp32", options);
    assert_int_equal(made.status, TILE_ERROR_INVALID_ARGUMENT);
    assert_string_equal(made.id, "unit_number");
}

static Made of_units(Fixture *f, const tile_unit *units, size_t count) {
    Made made = compile(f, units, count, "*i32");
    assert_int_equal(made.status, TILE_ERROR_INVALID_ARGUMENT);
    assert_true(made.id[0] != 0);
    free(made.ptx);
    return made;
}

/* Lists that are none are said to be so, whatever is wrong with them. */
static void wrong_lists_are_refused(void **state) {
    Fixture *f = *state;
    const char good[] = "def k(x):\n    tl.store(x, N)\n";
    const tile_binding right[] = {language("tl", "triton.language"), literal("N", "1")};
    const tile_unit fine = unit_of("w.py", 1, good, BINDINGS(right));
    Made made = compiles(f, &fine, 1, "*i32");
    free(made.ptx);
    assert_string_equal(of_units(f, NULL, 1).id, "unit_list");
    tile_unit wrong = fine;
    wrong.size = 1;
    assert_string_equal(of_units(f, &wrong, 1).id, "unit_list");
    tile_unit two[] = {fine, fine};
    two[1].size = sizeof fine + 8;
    assert_string_equal(of_units(f, two, 2).id, "unit_list");
    wrong = fine;
    wrong.source = (tile_text){NULL, 10};
    assert_string_equal(of_units(f, &wrong, 1).id, "unit_list");
    wrong.source = text("");
    assert_string_equal(of_units(f, &wrong, 1).id, "unit_list");
    wrong = fine;
    wrong.path = (tile_text){NULL, 3};
    assert_string_equal(of_units(f, &wrong, 1).id, "unit_list");
    wrong = fine;
    wrong.first_line = UINT32_MAX;
    assert_string_equal(of_units(f, &wrong, 1).id, "unit_list");
    wrong = fine;
    wrong.first_column = UINT32_MAX;
    assert_string_equal(of_units(f, &wrong, 1).id, "unit_list");
    wrong = fine;
    wrong.bindings = NULL;
    assert_string_equal(of_units(f, &wrong, 1).id, "unit_list");
    wrong = fine;
    wrong.do_not_specialize_count = 1;
    assert_string_equal(of_units(f, &wrong, 1).id, "unit_list");
    static const char *const names[] = {"", ".", "a.", ".a", "a..b", "1a", "a b", "a-b", "tl"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const tile_binding bad[] = {right[0], literal(names[i], "1")};
        wrong = unit_of("w.py", 1, good, BINDINGS(bad));
        assert_string_equal(of_units(f, &wrong, 1).id, "unit_binding");
    }
    const tile_binding others[] = {
        {.name = {NULL, 2}, .kind = TILE_BIND_LITERAL, .text = text("1")},
        {.name = text("N"), .kind = (tile_binding_kind)99, .text = text("1")},
        {.name = text("N"), .kind = (tile_binding_kind)-1, .text = text("1")},
        {.name = text("N"), .kind = TILE_BIND_LITERAL, .text = {NULL, 1}},
        {.name = text("N"), .kind = TILE_BIND_LITERAL},
        {.name = text("N"), .kind = TILE_BIND_LANGUAGE},
        {.name = text("N"), .kind = TILE_BIND_UNUSABLE},
        function_of("N", 1),
        function_of("N", SIZE_MAX),
    };
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        const tile_binding bad[] = {right[0], others[i]};
        wrong = unit_of("w.py", 1, good, BINDINGS(bad));
        assert_string_equal(of_units(f, &wrong, 1).id, "unit_binding");
    }
    static const char *const paths[] = {"os.path", "triton.language.", "nothing"};
    for (size_t i = 0; i < sizeof paths / sizeof *paths; i++) {
        const tile_binding bad[] = {right[0], language("N", paths[i])};
        wrong = unit_of("w.py", 1, good, BINDINGS(bad));
        made = compile(f, &wrong, 1, "*i32");
        assert_int_not_equal(made.status, TILE_OK);
        assert_true(made.id[0] != 0);
    }
}

/* Texts that are no function, and options that name a source besides. */
static void what_is_no_unit_is_refused(void **state) {
    Fixture *f = *state;
    static const char *const sources[] = {"x = 1\n",
                                          "\n\n# nothing\n",
                                          "class A:\n    pass\n",
                                          "async def k(x):\n    pass\n",
                                          "lambda x: x\n",
                                          "def k(x):\n    pass\ndef g(x):\n    pass\n",
                                          "def k(x):\n    pass\nx = 1\n"};
    for (size_t i = 0; i < sizeof sources / sizeof *sources; i++) {
        const tile_unit unit = unit_of("w.py", 1, sources[i], NULL, 0);
        const Made made = of_units(f, &unit, 1);
        assert_true(!strcmp(made.id, "parse_unit_begin") || !strcmp(made.id, "parse_unit_end"));
    }
    static const char *const broken[] = {"def",
                                         "def k(",
                                         "def k(x):",
                                         "def k(x):\n    (",
                                         "    ",
                                         "\x00",
                                         "def k(x):\n\"\"\"",
                                         "@",
                                         "@a\n",
                                         "def k(x):\npass",
                                         "    def k(x):\n  pass\n",
                                         "\xff\xfe"};
    for (size_t i = 0; i < sizeof broken / sizeof *broken; i++) {
        tile_unit unit = unit_of("w.py", 1, broken[i], NULL, 0);
        unit.source.size += broken[i][0] == 0;
        const Made made = compile(f, &unit, 1, "*i32");
        assert_int_not_equal(made.status, TILE_OK);
        assert_true(made.id[0] != 0);
    }
    const tile_unit fine = unit_of("w.py", 1, "def k(x):\n    pass\n", NULL, 0);
    const tile_named file = {text("a.py"), text("")};
    const tile_text folder = text(".");
    const tile_compile_options options[] = {{.path = text("w.py")},
                                            {.source = text("")},
                                            {.files = &file, .file_count = 1},
                                            {.search_paths = &folder, .search_path_count = 1}};
    for (size_t i = 0; i < sizeof options / sizeof *options; i++) {
        const Made made = compile_with(f, &fine, 1, "*i32", options[i]);
        assert_int_equal(made.status, TILE_ERROR_INVALID_ARGUMENT);
        assert_string_equal(made.id, "unit_option");
    }
}

/* A cut, or an exchanged byte, anywhere in a kernel gives code or a message. */
static void damaged_texts_are_reported(void **state) {
    Fixture *f = *state;
    const tile_binding kernel[] = {language("T", "triton.language"), function_of("relu", 0)};
    for (size_t cut = 1; cut < sizeof add_text; cut++) {
        char copy[sizeof add_text];
        memcpy(copy, add_text, sizeof copy);
        copy[cut - 1] = "({\"\\@\t."[cut % 7];
        tile_unit units[] = {unit_of("d.py", 1, add_text, BINDINGS(kernel)),
                             unit_of("d.py", 1, copy, BINDINGS(kernel))};
        for (int i = 0; i < 2; i++) {
            units[i].source.size = i ? sizeof add_text - 1 : cut;
            const Made made = compile(f, &units[i], 1, "*fp32:16, i32, 256");
            assert_true(made.status == TILE_OK || made.id[0] != 0);
            free(made.ptx);
        }
    }
}

/* The process of an isolated compilation has the units. */
static void isolated_compilations_have_the_units(void **state) {
    Fixture *f = *state;
    tile_binding kernel[] = {language("T", "triton.language"), function_of("relu", 1)};
    tile_binding helper[] = {literal("LEAST", "0.5"), language("max", "triton.language.maximum")};
    const tile_unit units[] = {unit_of("net.py", 10, add_text, BINDINGS(kernel)),
                               unit_of("act.py", 30, relu_text, BINDINGS(helper))};
    tile_compile_options options = {.isolated = true, .no_cache = true};
    Made apart = compile_with(f, units, 2, "*fp32:16, i32, 256", options);
    assert_int_equal(apart.status, TILE_OK);
    options.isolated = false;
    Made here = compile_with(f, units, 2, "*fp32:16, i32, 256", options);
    assert_string_equal(apart.ptx, here.ptx);
    free(apart.ptx);
    free(here.ptx);
    helper[0] = literal("MOST", "0.5");
    options.isolated = true;
    apart = compile_with(f, units, 2, "*fp32:16, i32, 256", options);
    assert_string_equal(apart.message, "`LEAST` is not defined");
    assert_string_equal(apart.path, "act.py");
    assert_int_equal(apart.line, 31);
    assert_int_equal(apart.column, 19);
}

static tile_unit record_of(const char *name, const tile_named *fields, size_t count) {
    return (tile_unit){.size = sizeof(tile_unit),
                       .kind = TILE_UNIT_RECORD,
                       .name = text(name),
                       .fields = fields,
                       .field_count = count};
}

/* Classes of named tuples: made, taken apart, passed, carried through branches and loops. */
static void named_tuples(void **state) {
    Fixture *f = *state;
    const tile_binding names[] = {language("tl", "triton.language"), function_of("Pair", 1),
                                  function_of("m.Empty", 2), function_of("swap", 3),
                                  literal("K", "@1(7, @1('a'))")};
    const tile_binding helper[] = {function_of("P", 1)};
    const tile_named fields[] = {{text("first"), text("")}, {text("second"), text("(1, None)")}};
    const tile_unit units[] = {
        unit_of("r.py", 1,
                "def k(x, n, C: tl.constexpr):\n"
                "    tl.static_assert(K.first == 7 and K.second.first == 'a')\n"
                "    tl.static_assert(K[1].second == (1, None) and len(K) == 2)\n"
                "    tl.static_assert(isinstance(K, Pair) and isinstance(K, tuple))\n"
                "    tl.static_assert(not isinstance(K, m.Empty) and m.Empty() == ())\n"
                "    tl.static_assert(C == Pair(first=2, second='b') and C.second == 'b')\n"
                "    tl.static_assert(not isinstance(K + (1,), Pair))\n"
                "    a = swap(Pair(n, second=x))\n"
                "    p, q = a\n"
                "    if n > 3:\n"
                "        a = Pair(a.first + 1, a.second * 2)\n"
                "    for i in range(n):\n"
                "        a = Pair(a.first, a.second + i)\n"
                "    tl.store(a.first, a.second + q)\n",
                BINDINGS(names)),
        record_of("Pair", fields, 2),
        record_of("Empty", NULL, 0),
        unit_of("r.py", 30, "def swap(v):\n    return P(v.second, v.first)\n", BINDINGS(helper)),
    };
    const tile_named value = {text("C"), text("@1(2, 'b')")};
    tile_compile_options options = {.constexprs = &value, .constexpr_count = 1};
    for (int isolated = 0; isolated < 2; isolated++) {
        options.isolated = options.no_cache = isolated;
        Made made = compile_with(f, units, 4, "*i32, i32", options);
        if (made.status != TILE_OK)
            print_error("%s", made.rendered);
        assert_int_equal(made.status, TILE_OK);
        free(made.ptx);
    }
    static const struct {
        const char *expression, *id;
    } wrong[] = {
        {"Pair()", "elab_missing_argument"},         {"Pair(1, 2, 3)", "elab_too_many_arguments"},
        {"Pair(1, first=2)", "elab_argument_twice"}, {"Pair(1, third=2)", "elab_unknown_keyword"},
        {"Pair(1).frist", "elab_no_attribute"},      {"Pair.first", "elab_no_attribute"},
        {"Pair(1) + Pair", "elab_operand_types"}};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        char body[128];
        snprintf(body, sizeof body, "def k(x):\n    tl.store(x, %s)\n", wrong[i].expression);
        const tile_unit bad[] = {unit_of("r.py", 1, body, names, 2), units[1]};
        const Made made = COMPILE(f, bad, "*i32");
        if (strcmp(wrong[i].id, "elab_operand_types") != 0)
            assert_string_equal(made.id, wrong[i].id);
        assert_int_equal(made.line, 2);
    }
    /* What a class is, is in the key. */
    const tile_unit some[] = {
        unit_of("r.py", 1, "def k(x):\n    tl.store(x, Pair(1)[1][0])\n", names, 2), units[1]};
    free(COMPILES(f, some, "*i32").ptx);
    const tile_named others[] = {fields[0], {text("second"), text("(2, None)")}};
    const tile_unit changed[] = {some[0], record_of("Pair", others, 2)};
    Made made = COMPILES(f, changed, "*i32");
    assert_false(made.from_cache);
    free(made.ptx);
    const tile_named bad_fields[][2] = {{fields[0], fields[0]},
                                        {fields[1], fields[0]},
                                        {fields[0], {text("a.b"), text("")}},
                                        {fields[0], {text(""), text("")}},
                                        {fields[0], {text("b"), {NULL, 1}}}};
    for (size_t i = 0; i < sizeof bad_fields / sizeof *bad_fields; i++) {
        const tile_unit bad[] = {some[0], record_of("Pair", bad_fields[i], 2)};
        assert_string_equal(of_units(f, bad, 2).id, "unit_list");
    }
    tile_unit bad[] = {some[0], record_of("", fields, 2)};
    assert_string_equal(of_units(f, bad, 2).id, "unit_list");
    bad[1] = record_of("Pair", NULL, 2);
    assert_string_equal(of_units(f, bad, 2).id, "unit_list");
    bad[1] = record_of("Pair", fields, 2);
    bad[1].source = text("def f(): pass");
    assert_string_equal(of_units(f, bad, 2).id, "unit_list");
    bad[1] = record_of("Pair", fields, 2);
    assert_string_equal(of_units(f, bad + 1, 1).id, "unit_list");
    bad[1].kind = (tile_unit_kind)5;
    assert_string_equal(of_units(f, bad, 2).id, "unit_list");
}

/* The first unit is the kernel that a list has. */
/* Named tuples that a launch passes, by the unit that their class is. */
static void named_tuples_as_arguments(void **state) {
    Fixture *f = *state;
    const tile_binding names[] = {language("tl", "triton.language")};
    const tile_named fields[] = {{text("a"), text("")}, {text("b"), text("")}};
    const tile_unit units[] = {
        unit_of("r.py", 1, "def k(x, t):\n    tl.store(x, t.a - t.b[1])\n", BINDINGS(names)),
        record_of("Pair", fields, 2)};
    free(COMPILES(f, units, "*i32, @1(i32, (i32, =4))").ptx);
    static const char *const wrong[][2] = {{"*i32, @0(i32, i32)", "elab_signature_record"},
                                           {"*i32, @1(i32, i32, i32)", "elab_signature_record"},
                                           {"*i32, @1x(i32, i32)", "lex_bad_number"},
                                           {"*i32, @7(i32, i32)", "unit_number"},
                                           {"*i32, (i32, i32)", "elab_no_attribute"}};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        assert_string_equal(COMPILE(f, units, wrong[i][0]).id, wrong[i][1]);
    tile_compile_options options = {.size = sizeof options, .units = units, .unit_count = 2};
    tile_function *function = NULL;
    tile_device *device = NULL;
    assert_int_equal(tile_function_create(f->context, &options, &function, NULL), TILE_OK);
    assert_int_equal(tile_device_open(f->context, 0, &device, NULL), TILE_OK);
    const tile_argument inner[] = {tile_int(7), tile_int(9)};
    const tile_argument items[] = {tile_int(5), tile_tuple(inner, 2)};
    tile_argument arguments[] = {tile_pointer(1 << 12, TILE_I32), tile_record(items, 2, 1)};
    const uint32_t grid[] = {1, 1, 1};
    assert_int_equal(tile_function_launch(function, device, grid, NULL, arguments, 2, NULL),
                     TILE_OK);
    assert_int_equal(f->cuda->launches, 1);
    arguments[1] = tile_tuple(items, 2); /* another instance, whose items have no names */
    assert_int_equal(tile_function_launch(function, device, grid, NULL, arguments, 2, NULL),
                     TILE_ERROR_SOURCE);
    tile_function_destroy(function);
    tile_device_close(device);
}

static void lists_of_kernels(void **state) {
    Fixture *f = *state;
    const tile_binding names[] = {language("C", "triton.language.constexpr")};
    tile_unit unit = unit_of("l.py", 12, "def k(x, N: C = 3):\n    pass\n", BINDINGS(names));
    unit.first_column = 5;
    const tile_compile_options options = {.size = sizeof options, .units = &unit, .unit_count = 1};
    tile_kernel_list *list = NULL;
    assert_int_equal(tile_kernel_list_create(f->context, &options, &list, NULL), TILE_OK);
    tile_listed_kernel kernel = {.size = sizeof kernel};
    tile_listed_param param = {.size = sizeof param};
    assert_int_equal(tile_kernel_list_count(list), 1);
    assert_int_equal(tile_kernel_list_get(list, 0, &kernel), TILE_OK);
    assert_string_equal(kernel.path.data, "l.py");
    assert_int_equal(kernel.line, 12);
    assert_int_equal(kernel.column, 9);
    assert_int_equal(tile_kernel_list_get_param(list, 0, 1, &param), TILE_OK);
    assert_true(param.is_constexpr);
    assert_string_equal(param.annotation.data, "C");
    tile_kernel_list_destroy(list);
}

/* A strict context says of units what it says of files; nobody records them. */
static void strict_contexts_and_records(void **state) {
    Fixture *f = *state;
    char record[96];
    snprintf(record, sizeof record, "%s/record", f->folder);
    const tile_context_options strict = {.size = sizeof strict,
                                         .cache_folder = text(f->folder),
                                         .strict = true,
                                         .record = text(record)};
    tile_context *mine = f->context;
    const tile_binding names[] = {language("tl", "triton.language")};
    const tile_unit unit = unit_of("s.py", 1, "def k(x):\n    tl.store(x, 1)\n", BINDINGS(names));
    assert_int_equal(tile_context_create(&strict, &f->context), TILE_OK);
    assert_int_equal(compile(f, &unit, 1, "*i32").status, TILE_ERROR_NOT_COMPILED);
    tile_context *context = f->context;
    f->context = mine;
    Made made = compiles(f, &unit, 1, "*i32");
    free(made.ptx);
    f->context = context;
    made = compiles(f, &unit, 1, "*i32");
    assert_true(made.from_cache);
    free(made.ptx);
    assert_int_not_equal(access(record, F_OK), 0);
    tile_context_destroy(context);
    f->context = mine;
}

/* What is inlined nonetheless is said once. */
static void noinline_has_no_effect(void **state) {
    Fixture *f = *state;
    const tile_binding kernel[] = {language("tl", "triton.language"), function_of("g", 1)};
    tile_unit units[] = {
        unit_of("a.py", 5, "def k(x):\n    tl.store(x, g() + g())\n", BINDINGS(kernel)),
        unit_of("a.py", 9, "def g():\n    return 1\n", NULL, 0)};
    Made made = COMPILES(f, units, "*i32");
    assert_string_equal(made.id, "");
    free(made.ptx);
    units[1].noinline = true;
    made = COMPILES(f, units, "*i32");
    assert_string_equal(made.id, "elab_no_effect");
    assert_int_equal(made.line, 9);
    free(made.ptx);
}

int main(void) {
    setenv("TILEC_WORKER", TILEC_PROGRAM, 1);
    const struct CMUnitTest tests[] = {
        TEST(units_are_compiled),
        TEST(what_changes_is_another_entry),
        TEST(places_are_those_of_the_file),
        TEST(remarks_are_repeated_in_their_places),
        TEST(names_mean_what_they_are_bound_to),
        TEST(dotted_names),
        TEST(unusable_names_say_so_when_reached),
        TEST(nothing_else_is_known),
        TEST(constexprs_are_literals),
        TEST(wrong_lists_are_refused),
        TEST(what_is_no_unit_is_refused),
        TEST(damaged_texts_are_reported),
        TEST(isolated_compilations_have_the_units),
        TEST(named_tuples),
        TEST(named_tuples_as_arguments),
        TEST(lists_of_kernels),
        TEST(strict_contexts_and_records),
        TEST(noinline_has_no_effect),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
