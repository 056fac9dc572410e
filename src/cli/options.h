/* Command-line options from a table: one row an option, parsed into a struct of the command, and
 * the help text made from the same rows.
 *
 *     typedef struct CheckOptions { const char *kernel; TextList defines; bool json; }
 * CheckOptions; static const Option check_options[] = {
 *         {'k', "kernel", OPTION_TEXT, "NAME", "check this kernel only", offsetof(CheckOptions,
 * kernel)},
 *         {'D', "define", OPTION_LIST, "NAME=VALUE", "a constexpr", offsetof(CheckOptions,
 * defines)}, {0, "json", OPTION_FLAG, NULL, "report as JSON", offsetof(CheckOptions, json)},
 *     };
 *
 * Accepted: -k NAME, -kNAME, --kernel NAME, --kernel=NAME, flags together (-ab), and `--` before
 * arguments that begin with a dash. Of a single-valued option given twice the last one counts.
 * Every command has -h and --help. */
#ifndef TILEC_CLI_OPTIONS_H
#define TILEC_CLI_OPTIONS_H
#include "support/str.h"
#include "support/vec.h"

typedef enum OptionKind {
    OPTION_FLAG,   /* bool: set */
    OPTION_TEXT,   /* const char *: the value; not owned */
    OPTION_LIST,   /* TextList: every value given, in order */
    OPTION_INT,    /* int64_t within lo..hi */
    OPTION_REAL,   /* double, finite and not negative */
    OPTION_CHOICE, /* int: which of the alternatives `a|b|c` in `argument`, from 0 */
} OptionKind;

typedef VEC(const char *) TextList;

typedef struct Option {
    char short_name; /* 0: none */
    const char *name;
    OptionKind kind;
    const char *argument; /* what the value is called in the help; NULL for flags */
    const char *help;
    size_t offset; /* of the field in the command's struct */
    int64_t lo, hi;
} Option;

typedef struct CommandSpec {
    const char *name;
    const char *arguments;   /* "FILE" in the usage line; "" for none */
    const char *description; /* paragraphs for the help */
    const Option *options;
    size_t option_count;
    size_t min_arguments, max_arguments;
} CommandSpec;

typedef enum OptionsResult { OPTIONS_OK, OPTIONS_HELP, OPTIONS_BAD } OptionsResult;

/* Parses argv[1..] into `out`, which the caller has filled with defaults, and `arguments`.
 * OPTIONS_HELP: the help was asked for and printed to standard output. OPTIONS_BAD: one message
 * went to standard error. */
OptionsResult options_parse(const CommandSpec *spec, Arena *arena, int argc, char **argv, void *out,
                            TextList *arguments);
/* The help of a command. */
void options_help(const CommandSpec *spec, StrBuf *out);
/* " (did you mean 'x'?)" for the name nearest to `word`, or "". */
const char *options_suggestion(Arena *arena, const char *word, const Str *names, size_t count);
#endif
