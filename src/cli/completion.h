/* Shell completion, made from the tables of commands and options: what may stand at a place, and
 * the scripts that say so to each shell. */
#ifndef TILEC_CLI_COMPLETION_H
#define TILEC_CLI_COMPLETION_H
#include "cli/help.h"

typedef enum CompletionKind {
    COMPLETE_NOTHING, /* a value that nobody can guess */
    COMPLETE_FILES,   /* whose names end in one of `words`, if there are any */
    COMPLETE_FOLDERS,
    COMPLETE_WORDS,
    COMPLETE_LIST, /* words separated by commas */
} CompletionKind;

typedef struct Completion {
    CompletionKind kind;
    const Str *words;
    size_t count;
} Completion;

/* The value of an option that takes one, by what its row calls it. */
Completion completion_of_value(Arena *arena, const Option *option);
/* The arguments of a command. */
Completion completion_of_arguments(Arena *arena, const CommandSpec *spec);

/* Words with a space between them. */
void completion_add_words(const Completion *completion, StrBuf *out);
/* In single quotes, as shells read them; `escaped` characters get a backslash. */
void completion_add_quoted(const char *text, const char *escaped, StrBuf *out);

/* Whole scripts. */
void complete_bash(StrBuf *out);
void complete_zsh(StrBuf *out);
void complete_fish(StrBuf *out);
#endif
