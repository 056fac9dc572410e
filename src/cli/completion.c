/* What may stand at a place of the command line. What an option's row calls its value says what
 * that is. */
#include "cli/completion.h"

#include "passes/passes.h"

typedef VEC(Str) Words;

static Completion of_words(CompletionKind kind, const Words *words) {
    return (Completion){kind, words->data, words->len};
}

static Completion target_names(Arena *arena) {
    Words words = {0};
    for (int i = 0; i < target_count; i++)
        vec_push(arena, &words, str_from(target_table[i].name));
    vec_push(arena, &words, STR(TARGET_NATIVE));
    return of_words(COMPLETE_WORDS, &words);
}

static Completion pass_names(Arena *arena) {
    Words words = {0};
    for (int i = 0; i < PASS_COUNT; i++)
        vec_push(arena, &words, str_from(pass_info[i].name));
    return of_words(COMPLETE_LIST, &words);
}

/* In each of the ways in which -W takes them. */
static Completion warning_names(Arena *arena) {
    Words words = {0};
    for (int id = 0; id < DIAG_COUNT; id++) {
        const char *name = diag_name((DiagId)id);
        if (diag_severity((DiagId)id) != SEV_WARNING)
            continue;
        vec_push(arena, &words, str_from(name));
        vec_push(arena, &words, str_from(str_format(arena, "no-%s", name)));
        vec_push(arena, &words, str_from(str_format(arena, "error=%s", name)));
    }
    return of_words(COMPLETE_WORDS, &words);
}

static Completion files(Arena *arena) {
    return (Completion){.kind = COMPLETE_FILES};
}

static Completion folders(Arena *arena) {
    return (Completion){.kind = COMPLETE_FOLDERS};
}

Completion completion_of_value(Arena *arena, const Option *option) {
    static const struct {
        const char *argument;
        Completion (*complete)(Arena *arena);
    } known[] = {{"FILE", files},          {"PROGRAM", files},     {"FOLDER", folders},
                 {"TARGET", target_names}, {"PASSES", pass_names}, {"WARNING", warning_names}};
    Completion result = {0};
    if (option->kind == OPTION_CHOICE) {
        result.kind = COMPLETE_WORDS;
        result.count = options_alternatives(arena, option->argument, &result.words);
        return result;
    }
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (!strcmp(option->argument, known[i].argument))
            return known[i].complete(arena);
    return result;
}

Completion completion_of_arguments(Arena *arena, const CommandSpec *spec) {
    Completion result = {0};
    Words words = {0};
    if (spec->extensions) {
        result.kind = COMPLETE_FILES;
        result.count = options_alternatives(arena, spec->extensions, &result.words);
        return result;
    }
    for (size_t i = 0; i < spec->actions.len; i++)
        vec_push(arena, &words, str_from(spec->actions.data[i].name));
    if (spec == &help_spec)
        for (int i = 0; i < HELP_COMMANDS; i++)
            vec_push(arena, &words, str_from(help_commands[i].spec->name));
    return of_words(words.len ? COMPLETE_WORDS : COMPLETE_NOTHING, &words);
}

void completion_add_words(const Completion *completion, StrBuf *out) {
    for (size_t i = 0; i < completion->count; i++)
        strbuf_printf(out, "%s%.*s", i ? " " : "", STR_ARG(completion->words[i]));
}

void completion_add_quoted(const char *text, const char *escaped, StrBuf *out) {
    strbuf_putc(out, '\'');
    for (; *text; text++) {
        if (strchr(escaped, *text))
            strbuf_putc(out, '\\');
        if (*text == '\'')
            strbuf_puts(out, "'\\''");
        else
            strbuf_putc(out, *text);
    }
    strbuf_putc(out, '\'');
}
