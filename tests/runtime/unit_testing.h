/* What tests of units share: making lists of them, compiling these. */
#ifndef TILEC_TESTS_UNIT_TESTING_H
#define TILEC_TESTS_UNIT_TESTING_H
#include "api_testing.h"

typedef struct Made {
    tile_status status;
    bool from_cache;
    char id[64], message[512], path[64], rendered[2048];
    uint32_t line, column, end_line, end_column;
    char *ptx;
} Made;

static inline tile_binding language(const char *name, const char *path) {
    return (tile_binding){.name = text(name), .kind = TILE_BIND_LANGUAGE, .text = text(path)};
}

static inline tile_binding literal(const char *name, const char *value) {
    return (tile_binding){.name = text(name), .kind = TILE_BIND_LITERAL, .text = text(value)};
}

static inline tile_binding function_of(const char *name, size_t unit) {
    return (tile_binding){.name = text(name), .kind = TILE_BIND_UNIT, .unit = unit};
}

static inline tile_unit unit_of(const char *path, uint32_t line, const char *body,
                                const tile_binding *bindings, size_t count) {
    return (tile_unit){.size = sizeof(tile_unit),
                       .path = text(path),
                       .source = text(body),
                       .first_line = line,
                       .bindings = bindings,
                       .binding_count = count};
}

/* What is said first, and the code. */
static inline Made compile_with(Fixture *f, const tile_unit *units, size_t count,
                                const char *signature, tile_compile_options options) {
    Made made = {0};
    tile_kernel *kernel = NULL;
    tile_diagnostics *diagnostics = NULL;
    options.size = sizeof options;
    options.units = units;
    options.unit_count = count;
    options.signature = text(signature);
    options.want = TILE_WANT(TILE_OUTPUT_PTX);
    made.status = tile_compile(f->context, &options, &kernel, &diagnostics);
    tile_diagnostic said = {.size = sizeof said};
    if (tile_diagnostics_get(diagnostics, 0, &said) == TILE_OK) {
        snprintf(made.id, sizeof made.id, "%s", said.id.data);
        snprintf(made.message, sizeof made.message, "%s", said.message.data);
        snprintf(made.path, sizeof made.path, "%s", said.path.data);
        snprintf(made.rendered, sizeof made.rendered, "%s", said.rendered.data);
        made.line = said.line;
        made.column = said.column;
        made.end_line = said.end_line;
        made.end_column = said.end_column;
    }
    tile_kernel_info info = {.size = sizeof info};
    if (made.status == TILE_OK) {
        assert_int_equal(tile_kernel_get_info(kernel, &info), TILE_OK);
        made.ptx = strdup(tile_kernel_get_output(kernel, TILE_OUTPUT_PTX).data);
    }
    made.from_cache = info.from_cache;
    tile_kernel_destroy(kernel);
    tile_diagnostics_destroy(diagnostics);
    return made;
}

static inline Made compile(Fixture *f, const tile_unit *units, size_t count,
                           const char *signature) {
    return compile_with(f, units, count, signature, (tile_compile_options){0});
}

/* Compiled, or what was said of it. */
static inline Made compiles(Fixture *f, const tile_unit *units, size_t count,
                            const char *signature) {
    Made made = compile(f, units, count, signature);
    if (made.status != TILE_OK)
        print_error("%s", made.rendered);
    assert_int_equal(made.status, TILE_OK);
    return made;
}

#define COMPILE(f, units, signature) compile(f, units, sizeof(units) / sizeof *(units), signature)
#define COMPILES(f, units, signature) compiles(f, units, sizeof(units) / sizeof *(units), signature)
#define BINDINGS(list) list, sizeof(list) / sizeof *(list)
static const char add_text[] = "def add(x, n, BLOCK: T.constexpr):\n"
                               "    i = T.program_id(0) * BLOCK + T.arange(0, BLOCK)\n"
                               "    T.store(x + i, relu(T.load(x + i, mask=i < n)), mask=i < n)\n";

static const char relu_text[] = "def relu(v):\n"
                                "    return max(v, LEAST)\n";

#endif
