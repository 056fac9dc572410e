/* Command-line options from tables: one row an option, parsed into a struct of the command. Help,
 * man pages and shell completion are made from the same rows.
 *
 *     typedef struct CheckOptions { const char *kernel; TextList defines; bool json; }
 * CheckOptions; #define OPTIONS_OF CheckOptions static const Option check_options[] = { TEXT('k',
 * "kernel", kernel, KERNEL, "NAME", "check this kernel only") LIST('D', "define", defines, KERNEL,
 * "NAME=VALUE", "a constexpr") FLAG(0, "json", json, OUTPUT, "report as JSON")
 *     };
 *
 * A row is: letter (0: none), name, field, group (options/groups.def), what the value is called (of
 * which completion.c knows some), range, help. Rows that commands share lie in .def files.
 *
 * Accepted: -k NAME, -kNAME, --kernel NAME, --kernel=NAME, flags together (-ab), and `--` before
 * arguments that begin with a dash. Of a single-valued option given twice the last one counts.
 * Every command has -h, --help and --help-all. */
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

typedef enum OptionGroup {
#define GROUP(id, title, shown) GROUP_##id,
#include "cli/options/groups.def"
    GROUP_COUNT
} OptionGroup;

typedef VEC(const char *) TextList;

typedef struct Option {
    char short_name; /* 0: none */
    const char *name;
    OptionKind kind;
    OptionGroup group;
    const char *argument; /* what the value is called in the help; NULL for flags */
    const char *help;
    size_t offset; /* of the field in the command's struct */
    int64_t lo, hi;
} Option;

/* Rows, for the struct that OPTIONS_OF names. A field of a type that is not the kind's does not
 * compile. */
#define OPTION_FIELD(Type, field)                                                                  \
    (offsetof(OPTIONS_OF, field) + 0 * sizeof((Type *)0 == &((OPTIONS_OF *)0)->field))
#define OPTION_ROW(letter, name, kind, Type, field, group, value, lo, hi, help)                    \
    {letter, name, OPTION_##kind, GROUP_##group, value, help, OPTION_FIELD(Type, field), lo, hi},
#define FLAG(letter, name, field, group, help)                                                     \
    OPTION_ROW(letter, name, FLAG, bool, field, group, NULL, 0, 0, help)
#define TEXT(letter, name, field, group, value, help)                                              \
    OPTION_ROW(letter, name, TEXT, const char *, field, group, value, 0, 0, help)
#define LIST(letter, name, field, group, value, help)                                              \
    OPTION_ROW(letter, name, LIST, TextList, field, group, value, 0, 0, help)
#define INT(letter, name, field, group, value, lo, hi, help)                                       \
    OPTION_ROW(letter, name, INT, int64_t, field, group, value, lo, hi, help)
#define REAL(letter, name, field, group, value, help)                                              \
    OPTION_ROW(letter, name, REAL, double, field, group, value, 0, 0, help)
#define CHOICE(letter, name, field, group, choices, help)                                          \
    OPTION_ROW(letter, name, CHOICE, int, field, group, choices, 0, 0, help)

/* A text of a command's help with a name or a title. */
typedef struct HelpEntry {
    const char *name, *text;
} HelpEntry;

/* An array and its length. */
typedef struct HelpEntries {
    const HelpEntry *data;
    size_t len;
} HelpEntries;
#define HELP_ENTRIES(...)                                                                          \
    {                                                                                              \
        (const HelpEntry[]){__VA_ARGS__},                                                          \
            sizeof((const HelpEntry[]){__VA_ARGS__}) / sizeof(HelpEntry)                           \
    }

typedef struct CommandSpec {
    const char *name;
    const char *arguments;   /* "FILE" in the usage line; "" for none */
    const char *extensions;  /* of files that it takes, `tile|py`; NULL: it takes none */
    const char *description; /* one paragraph for the help */
    HelpEntries actions;     /* words that the argument may be, what each does */
    HelpEntries notes;       /* paragraphs with titles, for man pages and --help-all */
    HelpEntries examples;    /* what it does, the command; kernels/ has the files it reads */
    const Option *options;
    size_t option_count;
    size_t min_arguments, max_arguments;
} CommandSpec;
#define OPTION_TABLE(rows) .options = rows, .option_count = sizeof rows / sizeof *rows

/* Which every command has besides its own. */
enum { COMMON_HELP, COMMON_HELP_ALL, COMMON_OPTIONS };
extern const Option common_options[COMMON_OPTIONS];

typedef enum OptionsResult { OPTIONS_OK, OPTIONS_HELP, OPTIONS_BAD } OptionsResult;

/* Parses argv[1..] into `out`, which the caller has filled with defaults, and `arguments`.
 * OPTIONS_HELP: the help was asked for and printed to standard output. OPTIONS_BAD: one message
 * went to standard error. */
OptionsResult options_parse(const CommandSpec *spec, Arena *arena, int argc, char **argv, void *out,
                            TextList *arguments);
/* Of NAME=VALUE given twice only the last one stays. */
void options_keep_last(TextList *list);
/* The help of a command: what fits a screen, or `all` of it. */
void options_help(const CommandSpec *spec, bool all, StrBuf *out);
const char *option_group_title(OptionGroup group);
/* The alternatives `a|b|c` as an array; returns how many. */
size_t options_alternatives(Arena *arena, const char *text, const Str **out);
/* " (did you mean 'x'?)" for the name nearest to `word`, or "". */
const char *options_suggestion(Arena *arena, const char *word, const Str *names, size_t count);
#endif
