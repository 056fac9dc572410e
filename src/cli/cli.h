/* What the subcommands of tilec share. */
#ifndef TILEC_CLI_CLI_H
#define TILEC_CLI_CLI_H
#include "cli/options.h"
#include "runtime/compile/compile.h"

typedef enum ExitStatus {
    STATUS_OK = 0,
    STATUS_INPUT = 1,  /* a source, an argument's value, a file or a result is wrong */
    STATUS_USAGE = 2,  /* the command line is wrong */
    STATUS_MACHINE = 3 /* memory, disk, a driver, a GPU or a tool is missing */
} ExitStatus;

/* argv[0] is the command's name. The context is the command's own; running out of memory in it
 * ends the process with STATUS_MACHINE. */
typedef int Command(Ctx *ctx, int argc, char **argv);

#define COMMAND(name, summary)                                                                     \
    Command command_##name;                                                                        \
    extern const CommandSpec name##_spec;
#define HIDDEN_COMMAND(name) Command command_##name;
#include "cli/commands.def"

/* Prints the diagnostics recorded since the last call to standard error. */
void cli_print_diags(Ctx *ctx);
/* Writes to standard output; a failure is noticed at the end of the process. */
void cli_write(Str text);
void cli_printf(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* The file to open for an argument that names one: "-" is standard input. */
static inline const char *cli_input(const char *path) {
    return strcmp(path, "-") ? path : "/dev/stdin";
}
/* Whether an argument that names a file to write is standard output: what else goes there stays in
 * front of it, which a file of that name would replace. */
static inline bool cli_is_output(const char *path) {
    return !strcmp(path, "-") || !strcmp(path, "/dev/stdout");
}
/* Writes a file, or to standard output; and whether that can be, before there is something to
 * write. NULL: nowhere. False after a report. */
bool cli_write_file(Ctx *ctx, const char *path, Str text);
bool cli_try_write(Ctx *ctx, const char *path);
/* SIGINT, SIGTERM and SIGHUP during `work` cancel what works in `ctx`, and then end the process. */
void cli_interruptible(Ctx *ctx, void (*work)(void *user), void *user);
/* compile_kernel, interruptible. */
bool cli_compile(Ctx *ctx, const CompileRequest *request, Compiled *compiled);
/* "tilec: error: ..." on standard error; returns STATUS_USAGE. */
int cli_usage_error(const char *format, ...) __attribute__((format(printf, 1, 2)));
#endif
