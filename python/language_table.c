/* tilec/triton/language/_table.py, from builtins.def and std.tile. */
#include "frontend/builtins.h"
#include "frontend/signatures.h"

#include <stdio.h>

static const struct {
    const char *name;
    uint32_t set;
} modules[] = {{"tl", IN_TL},         {"math", IN_MATH},           {"random", IN_RANDOM},
               {"triton", IN_TRITON}, {"libdevice", IN_LIBDEVICE}, {"cuda", IN_CUDA}},
  kinds[] = {{"std", BUILTIN_STD},
             {"method", BUILTIN_METHOD},
             {"pointer", BUILTIN_OF_BLOCK_POINTER},
             {"descriptor", BUILTIN_OF_DESCRIPTOR}};

static void print_string(Str text) {
    putchar('"');
    for (size_t i = 0; i < text.len; i++)
        printf(text.ptr[i] == '"' || text.ptr[i] == '\\' ? "\\%c" : "%c", text.ptr[i]);
    putchar('"');
}

#define PRINT_SET(names, bits)                                                                     \
    do {                                                                                           \
        for (size_t i = 0; i < sizeof(names) / sizeof *(names); i++)                               \
            if ((bits) & (names)[i].set)                                                           \
                printf("%s ", (names)[i].name);                                                    \
    } while (0)

static void print_row(const Signatures *signatures, const Builtin *builtin, Arena *arena) {
    StrBuf params = strbuf(arena);
    signatures_print(signatures, builtin, &params);
    printf("    (\"%s\", ", builtin->name);
    print_string(strbuf_str(&params));
    printf(", \"");
    PRINT_SET(modules, builtin->modules);
    printf("\", \"");
    PRINT_SET(kinds, builtin->flags);
    printf("%s\"),\n", builtin->handler == builtin_not_covered ? "absent" : "");
}

int main(void) {
    Ctx *ctx = ctx_create();
    Signatures signatures = signatures_read(ctx);
    puts("\"\"\"(name, parameters, modules, kinds) of each function of the language. Modules: tl, "
         "math, "
         "random, triton, libdevice, cuda.\nKinds: std, written in the language; method, pointer, "
         "descriptor, also a method of tiles, block pointers, descriptors;\nabsent, known by name "
         "alone.\"\"\"\nROWS = (");
    for (int i = 0; i < BUILTIN_COUNT; i++)
        if (builtins[i].name[0] &&
            (builtins[i].modules & ~(IN_PYTHON | IN_PYMATH | IN_STD | IN_TARGET) ||
             !builtins[i].modules))
            print_row(&signatures, &builtins[i], &ctx->arena);
    puts(")");
    ctx_destroy(ctx);
    return fflush(stdout) || ferror(stdout);
}
