/* The commands that have a help: one row of commands.def each. */
#ifndef TILEC_CLI_HELP_H
#define TILEC_CLI_HELP_H
#include "cli/cli.h"

#include <stdio.h>

typedef struct CommandHelp {
    const char *summary;
    const CommandSpec *spec;
} CommandHelp;

enum {
#define COMMAND(name, summary) +1
    HELP_COMMANDS = 0
#include "cli/commands.def"
};

extern const CommandHelp help_commands[HELP_COMMANDS];

/* What `tilec` does, in a sentence. */
extern const char help_purpose[];

/* The list of commands. */
void help_print_commands(FILE *out);
/* A usage error that suggests what may have been meant. */
int help_unknown_command(Ctx *ctx, const char *name);
#endif
