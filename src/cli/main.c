/* The entry of tilec: finds the subcommand and runs it with a context of its own, on a thread with
 * room for what recurses. */
#include "cli/cli.h"
#include "runtime/compile/stack.h"

#include <errno.h>
#include <stdio.h>

static const struct {
    const char *name, *summary;
    Command *run;
} commands[] = {
#define COMMAND(name, summary) {#name, summary, command_##name},
#include "cli/commands.def"
};

enum { COMMAND_COUNT = sizeof commands / sizeof *commands };

static int unknown_command(Ctx *ctx, const char *name) {
    Str names[COMMAND_COUNT];
    size_t count = 0;
    for (int i = 0; i < COMMAND_COUNT; i++)
        if (commands[i].summary)
            names[count++] = str_from(commands[i].name);
    return cli_usage_error("unknown command '%s'%s; see 'tilec help'", name,
                           options_suggestion(&ctx->arena, name, names, count));
}

static int run_command(Ctx *ctx, int argc, char **argv) {
    for (int i = 0; i < COMMAND_COUNT; i++)
        if (!strcmp(argv[0], commands[i].name))
            return commands[i].run(ctx, argc, argv);
    return unknown_command(ctx, argv[0]);
}

static void print_commands(FILE *out) {
    fputs("Usage: tilec COMMAND [OPTIONS] [ARGUMENTS]\n\n"
          "Compiles kernels written in the language of @triton.jit functions to PTX and cubin, and "
          "runs them.\n\nCommands:\n",
          out);
    for (int i = 0; i < COMMAND_COUNT; i++)
        if (commands[i].summary)
            fprintf(out, "  %-10s %s\n", commands[i].name, commands[i].summary);
    fputs("\n'tilec COMMAND --help' explains a command. Exit status: 0 success, 1 the input is "
          "wrong,\n"
          "2 the command line is wrong, 3 the machine lacks something.\n",
          out);
}

int command_help(Ctx *ctx, int argc, char **argv) {
    if (argc < 2 || argv[1][0] == '-') {
        print_commands(stdout);
        return STATUS_OK;
    }
    if (!strcmp(argv[1], "help"))
        return command_help(ctx, 1, argv);
    char help[] = "--help";
    char *arguments[] = {argv[1], help, NULL};
    return run_command(ctx, 2, arguments);
}

/* Aliases that every tool has. */
static char *command_name(char *argument) {
    static char version[] = "version", help[] = "help";
    if (!strcmp(argument, "--version") || !strcmp(argument, "-V"))
        return version;
    if (!strcmp(argument, "--help") || !strcmp(argument, "-h"))
        return help;
    return argument;
}

/* Output that did not arrive (a full disk, a closed pipe) must not look like success. */
static int close_output(int status) {
    if (fflush(stdout) == 0 && !ferror(stdout))
        return status;
    fprintf(stderr, "tilec: error: cannot write to standard output: %s\n", strerror(errno));
    return status == STATUS_OK ? STATUS_MACHINE : status;
}

typedef struct CommandLine {
    Ctx *ctx;
    int argc;
    char **argv;
    int status;
} CommandLine;

static void run_on_stack(void *user) {
    CommandLine *line = user;
    line->status = run_command(line->ctx, line->argc, line->argv);
}

int main(int argc, char **argv) {
    if (argc < 2) {
        print_commands(stderr);
        return STATUS_USAGE;
    }
    argv[1] = command_name(argv[1]);
    Ctx *ctx = ctx_create();
    if (!ctx || setjmp(ctx->oom)) {
        ctx_destroy(ctx);
        fputs("tilec: error: out of memory\n", stderr);
        return STATUS_MACHINE;
    }
    CommandLine line = {ctx, argc - 1, argv + 1, STATUS_MACHINE};
    stack_run(ctx, run_on_stack, &line);
    cli_print_diags(ctx);
    ctx_destroy(ctx);
    return close_output(line.status);
}
