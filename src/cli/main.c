/* The entry of tilec: finds the subcommand and runs it with a context of its own, on a thread with
 * room for what recurses. */
#include "cli/help.h"
#include "runtime/compile/stack.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

static const struct {
    const char *name;
    Command *run;
} commands[] = {
#define COMMAND(name, summary) {#name, command_##name},
#define HIDDEN_COMMAND(name) COMMAND(name, NULL)
#include "cli/commands.def"
};

enum { COMMAND_COUNT = sizeof commands / sizeof *commands };

static int run_command(Ctx *ctx, int argc, char **argv) {
    for (int i = 0; i < COMMAND_COUNT; i++)
        if (!strcmp(argv[0], commands[i].name))
            return commands[i].run(ctx, argc, argv);
    return help_unknown_command(ctx, argv[0]);
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
    errno = 0; /* what failed before has left none */
    if (fflush(stdout) == 0 && !ferror(stdout))
        return status;
    fprintf(stderr, "tilec: error: cannot write to standard output%s%s\n", errno ? ": " : "",
            errno ? strerror(errno) : "");
    return status == STATUS_OK ? STATUS_MACHINE : status;
}

/* What the caller has closed stays unusable, and no file that is opened takes its number. */
static void reserve_descriptors(void) {
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
        if (fcntl(fd, F_GETFD) < 0)
            open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY);
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
    reserve_descriptors();
    if (argc < 2) {
        help_print_commands(stderr);
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
