/* Completion for zsh: one call of _arguments for each command. */
#include "cli/completion.h"

/* What _arguments takes apart. */
static const char special[] = ":[]\\";

static void add_action(const Completion *completion, StrBuf *out) {
    switch (completion->kind) {
    case COMPLETE_NOTHING:
        strbuf_putc(out, ' ');
        break;
    case COMPLETE_FILES:
        strbuf_puts(out, "_files");
        for (size_t i = 0; i < completion->count; i++)
            strbuf_printf(out, "%s%.*s", i ? "|" : " -g \"*.(", STR_ARG(completion->words[i]));
        if (completion->count)
            strbuf_puts(out, ")\"");
        break;
    case COMPLETE_FOLDERS:
        strbuf_puts(out, "_files -/");
        break;
    case COMPLETE_WORDS:
        strbuf_putc(out, '(');
        completion_add_words(completion, out);
        strbuf_putc(out, ')');
        break;
    case COMPLETE_LIST:
        strbuf_puts(out, "_values -s , pass ");
        completion_add_words(completion, out);
        break;
    }
}

/* '(-k --kernel)'{-k+,--kernel=}'[help]:NAME:action' */
static void add_option(const Option *option, StrBuf *out) {
    bool valued = option->kind != OPTION_FLAG, many = option->kind == OPTION_LIST;
    StrBuf help = strbuf(out->arena);
    completion_add_quoted(option->help, special, &help);
    strbuf_puts(out, " \\\n            ");
    if (many)
        strbuf_puts(out, "'*'");
    if (option->short_name && !many)
        strbuf_printf(out, "'(-%c --%s)'", option->short_name, option->name);
    if (option->short_name)
        strbuf_printf(out, "{-%c%s,--%s%s}", option->short_name, valued ? "+" : "", option->name,
                      valued ? "=" : "");
    else
        strbuf_printf(out, "--%s%s", option->name, valued ? "=" : "");
    strbuf_printf(out, "'['%.*s']", STR_ARG(strbuf_str(&help)));
    if (valued) {
        strbuf_printf(out, ":%s:", option->kind == OPTION_CHOICE ? option->name : option->argument);
        Completion value = completion_of_value(out->arena, option);
        add_action(&value, out);
    }
    strbuf_putc(out, '\'');
}

static void add_command(const CommandSpec *spec, StrBuf *out) {
    strbuf_printf(out, "        %s)\n            _arguments -s -S", spec->name);
    for (size_t i = 0; i < spec->option_count; i++)
        add_option(&spec->options[i], out);
    for (int i = 0; i < COMMON_OPTIONS; i++)
        add_option(&common_options[i], out);
    Completion arguments = completion_of_arguments(out->arena, spec);
    if (arguments.kind != COMPLETE_NOTHING) {
        strbuf_printf(out, " \\\n            '1:%s:", spec->arguments);
        add_action(&arguments, out);
        strbuf_putc(out, '\'');
    }
    strbuf_puts(out, "\n            ;;\n");
}

void complete_zsh(StrBuf *out) {
    strbuf_puts(out, "#compdef tilec\n"
                     "# zsh completion of tilec, made from its tables of commands and options.\n\n"
                     "_tilec() {\n    local -a commands=(\n");
    for (int i = 0; i < HELP_COMMANDS; i++) {
        StrBuf summary = strbuf(out->arena);
        completion_add_quoted(help_commands[i].summary, special, &summary);
        strbuf_printf(out, "        %s:%.*s\n", help_commands[i].spec->name,
                      STR_ARG(strbuf_str(&summary)));
    }
    strbuf_puts(out, "    )\n    local curcontext=$curcontext state line\n"
                     "    _arguments -C '(- *)'{-h,--help}'[print the commands]' \\\n"
                     "        '(- *)'{-V,--version}'[print versions]' '1:command:->command' "
                     "'*::argument:->arguments'\n"
                     "    case $state in\n    command) _describe command commands ;;\n"
                     "    arguments)\n        curcontext=${curcontext%:*}-$words[1]:\n"
                     "        case $words[1] in\n");
    for (int i = 0; i < HELP_COMMANDS; i++)
        add_command(help_commands[i].spec, out);
    strbuf_puts(out, "        esac\n        ;;\n    esac\n}\n\n"
                     "if [[ $funcstack[1] = _tilec ]]; then\n    _tilec \"$@\"\nelse\n"
                     "    compdef _tilec tilec\nfi\n");
}
