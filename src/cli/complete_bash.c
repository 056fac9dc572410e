/* Completion for bash, which needs no other package: two functions that know the tables, one that
 * uses them.
 *
 *     _tilec_value compile --emit    sets kind=words words='ast tir ..'; fails for a flag
 *     _tilec_command compile         sets options, kind and words of the arguments */
#include "cli/completion.h"

static const char head[] =
    "# bash completion of tilec, made from its tables of commands and options.\n\n";

/* A word with `=` in it reaches the function in three parts. */
static const char tail[] =
    "_tilec() {\n"
    "    local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD-1]}\n"
    "    local command=${COMP_WORDS[1]} kind= words= options= extension\n"
    "    COMPREPLY=()\n"
    "    if ((COMP_CWORD == 1)); then\n"
    "        mapfile -t COMPREPLY < <(compgen -W \"$_tilec_commands --help --version\" -- "
    "\"$current\")\n"
    "        return\n"
    "    fi\n"
    "    if [[ $current == = ]]; then\n"
    "        current=\n"
    "    elif [[ $previous == = ]]; then\n"
    "        previous=${COMP_WORDS[COMP_CWORD-2]}\n"
    "    fi\n"
    "    if ! _tilec_value \"$command\" \"$previous\"; then\n"
    "        _tilec_command \"$command\"\n"
    "        [[ $current != -* ]] || kind=words words=$options\n"
    "    fi\n"
    "    case $kind in\n"
    "    words) mapfile -t COMPREPLY < <(compgen -W \"$words\" -- \"$current\") ;;\n"
    "    list)\n"
    "        local before=\n"
    "        [[ $current != *,* ]] || before=${current%,*},\n"
    "        mapfile -t COMPREPLY < <(compgen -P \"$before\" -W \"$words\" -- \"${current##*,}\")\n"
    "        ;;\n"
    "    folders)\n"
    "        compopt -o filenames\n"
    "        mapfile -t COMPREPLY < <(compgen -d -- \"$current\")\n"
    "        ;;\n"
    "    files)\n"
    "        compopt -o filenames\n"
    "        [[ $words ]] || mapfile -t COMPREPLY < <(compgen -f -- \"$current\")\n"
    "        for extension in $words; do\n"
    "            mapfile -t -O ${#COMPREPLY[@]} COMPREPLY < <(compgen -f -X \"!*.$extension\" -- "
    "\"$current\")\n"
    "        done\n"
    "        [[ ! $words ]] || mapfile -t -O ${#COMPREPLY[@]} COMPREPLY < <(compgen -d -- "
    "\"$current\")\n"
    "        ;;\n"
    "    esac\n"
    "}\n"
    "complete -F _tilec tilec\n";

static const char *kind_name(CompletionKind kind) {
    switch (kind) {
    case COMPLETE_NOTHING:
        break;
    case COMPLETE_FILES:
        return "files";
    case COMPLETE_FOLDERS:
        return "folders";
    case COMPLETE_WORDS:
        return "words";
    case COMPLETE_LIST:
        return "list";
    }
    return "nothing";
}

static void add_completion(const Completion *completion, StrBuf *out) {
    strbuf_printf(out, "kind=%s", kind_name(completion->kind));
    if (completion->count) {
        strbuf_puts(out, " words='");
        completion_add_words(completion, out);
        strbuf_putc(out, '\'');
    }
}

static void add_value(const CommandSpec *spec, const Option *option, StrBuf *out) {
    if (option->kind == OPTION_FLAG)
        return;
    strbuf_printf(out, "    %s:--%s", spec->name, option->name);
    if (option->short_name)
        strbuf_printf(out, " | %s:-%c", spec->name, option->short_name);
    strbuf_puts(out, ") ");
    Completion value = completion_of_value(out->arena, option);
    add_completion(&value, out);
    strbuf_puts(out, " ;;\n");
}

static void add_command(const CommandSpec *spec, StrBuf *out) {
    strbuf_printf(out, "    %s) options='", spec->name);
    for (size_t i = 0; i < spec->option_count; i++)
        strbuf_printf(out, "--%s ", spec->options[i].name);
    for (int i = 0; i < COMMON_OPTIONS; i++)
        strbuf_printf(out, "%s--%s", i ? " " : "", common_options[i].name);
    strbuf_puts(out, "' ");
    Completion arguments = completion_of_arguments(out->arena, spec);
    add_completion(&arguments, out);
    strbuf_puts(out, " ;;\n");
}

void complete_bash(StrBuf *out) {
    strbuf_printf(out, "%s_tilec_commands='", head);
    for (int i = 0; i < HELP_COMMANDS; i++)
        strbuf_printf(out, "%s%s", i ? " " : "", help_commands[i].spec->name);
    strbuf_puts(out, "'\n\n_tilec_value() {\n    case $1:$2 in\n");
    for (int i = 0; i < HELP_COMMANDS; i++) {
        const CommandSpec *spec = help_commands[i].spec;
        for (size_t j = 0; j < spec->option_count; j++)
            add_value(spec, &spec->options[j], out);
    }
    strbuf_puts(out, "    *) return 1 ;;\n    esac\n}\n\n_tilec_command() {\n    case $1 in\n");
    for (int i = 0; i < HELP_COMMANDS; i++)
        add_command(help_commands[i].spec, out);
    strbuf_printf(out, "    esac\n}\n\n%s", tail);
}
