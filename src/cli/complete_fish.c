/* Completion for fish: one line for each command and option. */
#include "cli/completion.h"

/* A backslash is special within quotes. */
static const char special[] = "\\";

static void add_values(const Completion *completion, StrBuf *out) {
    switch (completion->kind) {
    case COMPLETE_NOTHING:
        strbuf_puts(out, " -x");
        break;
    case COMPLETE_FILES:
        strbuf_puts(out, " -r -F");
        break;
    case COMPLETE_FOLDERS:
        strbuf_puts(out, " -x -a '(__fish_complete_directories)'");
        break;
    case COMPLETE_WORDS:
        strbuf_puts(out, " -x -a '");
        completion_add_words(completion, out);
        strbuf_putc(out, '\'');
        break;
    case COMPLETE_LIST:
        strbuf_puts(out, " -x -a \"(__fish_append , ");
        completion_add_words(completion, out);
        strbuf_puts(out, ")\"");
        break;
    }
}

static void add_option(const CommandSpec *spec, const Option *option, StrBuf *out) {
    strbuf_printf(out, "complete -c tilec -n '__fish_seen_subcommand_from %s'", spec->name);
    if (option->short_name)
        strbuf_printf(out, " -s %c", option->short_name);
    strbuf_printf(out, " -l %s -d ", option->name);
    completion_add_quoted(option->help, special, out);
    if (option->kind != OPTION_FLAG) {
        Completion value = completion_of_value(out->arena, option);
        add_values(&value, out);
    }
    strbuf_putc(out, '\n');
}

static void add_arguments(const CommandSpec *spec, StrBuf *out) {
    Completion arguments = completion_of_arguments(out->arena, spec);
    if (arguments.kind == COMPLETE_NOTHING)
        return;
    strbuf_printf(out, "complete -c tilec -n '__fish_seen_subcommand_from %s' -k -a '", spec->name);
    if (arguments.kind == COMPLETE_FILES)
        strbuf_puts(out, "(");
    for (size_t i = 0; i < arguments.count; i++)
        strbuf_printf(
            out, arguments.kind == COMPLETE_FILES ? "%s__fish_complete_suffix .%.*s" : "%s%.*s",
            !i                                 ? ""
            : arguments.kind == COMPLETE_FILES ? "; "
                                               : " ",
            STR_ARG(arguments.words[i]));
    strbuf_puts(out, arguments.kind == COMPLETE_FILES ? ")'\n" : "'\n");
}

void complete_fish(StrBuf *out) {
    strbuf_puts(out,
                "# fish completion of tilec, made from its tables of commands and options.\n\n"
                "complete -c tilec -f\n"
                "complete -c tilec -n __fish_use_subcommand -s h -l help -d 'print the commands'\n"
                "complete -c tilec -n __fish_use_subcommand -s V -l version -d 'print versions'\n");
    for (int i = 0; i < HELP_COMMANDS; i++) {
        const CommandSpec *spec = help_commands[i].spec;
        strbuf_printf(out, "\ncomplete -c tilec -n __fish_use_subcommand -a %s -d ", spec->name);
        completion_add_quoted(help_commands[i].summary, special, out);
        strbuf_putc(out, '\n');
        for (size_t j = 0; j < spec->option_count; j++)
            add_option(spec, &spec->options[j], out);
        for (int j = 0; j < COMMON_OPTIONS; j++)
            add_option(spec, &common_options[j], out);
        add_arguments(spec, out);
    }
}
