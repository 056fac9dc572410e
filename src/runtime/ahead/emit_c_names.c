/* Names in C files: what sources and files are called, with an underscore where C, C++, a header or
 * the file itself has the name already. */
#include "runtime/ahead/emit.h"

extern const char launcher_text[], launcher_grid_text[];
extern const unsigned launcher_size, launcher_grid_size;

static const char *const reserved[] = {
    /* C and C++, in all their versions */
    "alignas", "alignof", "and", "and_eq", "asm", "auto", "bitand", "bitor", "bool", "break",
    "case", "catch", "char", "char16_t", "char32_t", "char8_t", "class", "co_await", "co_return",
    "co_yield", "compl", "concept", "const", "const_cast", "consteval", "constexpr", "constinit",
    "continue", "decltype", "default", "delete", "do", "double", "dynamic_cast", "else", "enum",
    "explicit", "export", "extern", "false", "float", "for", "friend", "goto", "if", "inline",
    "int", "long", "mutable", "namespace", "new", "noexcept", "not", "not_eq", "nullptr",
    "operator", "or", "or_eq", "private", "protected", "public", "register", "reinterpret_cast",
    "requires", "restrict", "return", "short", "signed", "sizeof", "static", "static_assert",
    "static_cast", "struct", "switch", "template", "this", "thread_local", "throw", "true", "try",
    "typedef", "typeid", "typename", "typeof", "typeof_unqual", "union", "unsigned", "using",
    "virtual", "void", "volatile", "wchar_t", "while", "xor", "xor_eq",
    /* what compilers define, unless they are told not to, and headers */
    "NULL", "errno", "i386", "linux", "unix",
    /* the function's own */
    "stream", "grid_x", "grid_y", "grid_z", NULL};

static bool begins(const char *name, const char *with) {
    return !strncmp(name, with, strlen(with));
}

static bool ends(const char *name, const char *with) {
    const size_t length = strlen(name), tail = strlen(with);
    return length >= tail && !strcmp(name + length - tail, with);
}

/* Keywords, and names that compilers and <stdint.h> may have. */
static bool is_reserved(const char *name) {
    const bool of_compiler =
        name[0] == '_' && (name[1] == '_' || (name[1] >= 'A' && name[1] <= 'Z'));
    const bool of_stdint = ((begins(name, "int") || begins(name, "uint")) && ends(name, "_t")) ||
                           ((begins(name, "INT") || begins(name, "UINT")) &&
                            (ends(name, "_C") || ends(name, "_MIN") || ends(name, "_MAX")));
    for (const char *const *word = reserved; *word; word++)
        if (!strcmp(name, *word))
            return true;
    return of_compiler || of_stdint;
}

static bool is_digit(char c) {
    return c >= '0' && c <= '9';
}

static bool is_of_word(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || is_digit(c) || c == '_';
}

const char *c_identifier(Arena *arena, Str name) {
    const bool needs_begin = !name.len || is_digit(name.ptr[0]);
    char *made = str_format(arena, "%s%.*s", needs_begin ? "_" : "", STR_ARG(name));
    for (char *c = made; *c; c++)
        if (!is_of_word(*c))
            *c = '_';
    return is_reserved(made) ? str_format(arena, "%s_", made) : made;
}

/* The name, or one of the same beginning, that none of the `count` before it has. */
static const char *unlike(Arena *arena, const char *name, const char *const *others, size_t count) {
    const char *made = name;
    size_t number = count;
    for (size_t i = 0; i < count; i++)
        if (!strcmp(made, others[i])) {
            made = str_format(arena, "%s_%zu", name, number++);
            i = (size_t)-1;
        }
    return made;
}

void c_name_params(Arena *arena, Group *group) {
    const KernelFacts *facts = group_facts(group);
    group->names = ARENA_ARRAY(arena, const char *, facts->param_count + 1);
    for (uint32_t i = 0; i < facts->param_count; i++)
        group->names[i] =
            unlike(arena, c_identifier(arena, facts->params[i].name), group->names, i);
}

/* The types in which this group differs from others of its kernel: "fp16_fp32". */
static const char *type_suffix(Arena *arena, const Groups *groups, const Group *group) {
    StrBuf out = strbuf(arena);
    const KernelFacts *facts = group_facts(group);
    for (uint32_t i = 0; i < facts->param_count; i++) {
        bool differs = false;
        vec_for_each (other, groups) {
            const KernelFacts *f = group_facts(other);
            differs |=
                groups_same_kernel(other, group) &&
                (i >= f->param_count ||
                 f->params[i].is_constexpr != facts->params[i].is_constexpr ||
                 (!f->params[i].is_constexpr && !str_eq(f->params[i].text, facts->params[i].text)));
        }
        if (!differs)
            continue;
        const Str type = facts->params[i].is_constexpr ? STR("constexpr") : facts->params[i].text;
        const Str element = type.ptr[0] == '*' ? (Str){type.ptr + 1, type.len - 1} : type;
        strbuf_printf(&out, "_%.*s", STR_ARG(element));
    }
    return out.ptr ? out.ptr : "";
}

static bool has_word(const char *text, size_t size, const char *word) {
    const size_t length = strlen(word);
    for (const char *at = text; (at = memmem(at, size - (size_t)(at - text), word, length)); at++)
        if ((at == text || !is_of_word(at[-1])) &&
            (at + length == text + size || !is_of_word(at[length])))
            return true;
    return false;
}

/* Whether something else of the file, or of its header, is called so; statuses, and what guards the
 * header, have no small letters. */
static bool is_taken(Arena *arena, const char *prefix, const char *name) {
    static const char *const others[] = {"status", "status_text", "driver_result", "unload"};
    static const char *const recipes[] = {
#define NONE(op)
#define ROW(op, ...) "recipe_" #op,
        RECIPE_OPS(NONE, ROW, ROW, NONE)
#undef ROW
#undef NONE
    };
    bool taken = has_word(launcher_text, launcher_size, name) ||
                 has_word(launcher_grid_text, launcher_grid_size, name) ||
                 !strpbrk(name, "abcdefghijklmnopqrstuvwxyz");
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        taken |= !strcmp(name, str_format(arena, "%s_%s", prefix, others[i]));
    for (size_t i = 0; i < sizeof recipes / sizeof *recipes; i++)
        taken |= !strcmp(name, recipes[i]);
    return taken;
}

void c_name_groups(Arena *arena, const char *prefix, Groups *groups) {
    const char **names = ARENA_ARRAY(arena, const char *, groups->len + 1);
    for (size_t i = 0; i < groups->len; i++) {
        Group *group = &groups->data[i];
        const char *kernel =
            str_format(arena, "%s_%.*s", prefix, STR_ARG(group_facts(group)->meta.name));
        const char *name = c_identifier(arena, str_from(kernel));
        if (is_taken(arena, prefix, name))
            name = str_format(arena, "%s_", name);
        name = str_format(arena, "%s%s", name, type_suffix(arena, groups, group));
        names[i] = group->function = unlike(arena, name, names, i);
    }
}
