/* `tilec help`: the list of commands, or the help of one, or of a builtin. */
#include "cli/help.h"
#include "frontend/reference.h"

const CommandHelp help_commands[HELP_COMMANDS] = {
#define COMMAND(name, summary) {summary, &name##_spec},
#include "cli/commands.def"
};

const char help_purpose[] =
    "Compiles kernels in the language of @triton.jit functions to PTX and cubin.";

const CommandSpec help_spec = {
    .name = "help",
    .arguments = "[COMMAND|BUILTIN]",
    .description =
        "Prints the list of commands, or the help of one, or what a function of the language does, "
        "named as kernels name it.",
    .examples = HELP_ENTRIES({"What `tilec compile --help` prints", "tilec help compile"},
                             {"What tl.load takes and gives", "tilec help tl.load"}),
    .max_arguments = 1,
};

void help_print_commands(FILE *out) {
    fprintf(out, "Usage: tilec COMMAND [OPTIONS] [ARGUMENTS]\n\n%s\n\nCommands:\n", help_purpose);
    for (int i = 0; i < HELP_COMMANDS; i++)
        fprintf(out, "  %-10s %s\n", help_commands[i].spec->name, help_commands[i].summary);
    fputs("\n'tilec COMMAND --help' explains a command. Exit status: 0 success, 1 the input\n"
          "is wrong, 2 the command line is wrong, 3 the machine lacks something.\n",
          out);
}

int help_unknown_command(Ctx *ctx, const char *name) {
    Str names[HELP_COMMANDS];
    for (int i = 0; i < HELP_COMMANDS; i++)
        names[i] = str_from(help_commands[i].spec->name);
    return cli_usage_error("unknown command '%s'%s; see 'tilec help'", name,
                           options_suggestion(&ctx->arena, name, names, HELP_COMMANDS));
}

/* What is said of the builtins of that name. False: there are none. */
static bool help_builtin(Ctx *ctx, const char *name) {
    size_t at = 0;
    StrBuf text = strbuf(&ctx->arena);
    const Signatures signatures = signatures_read(ctx);
    for (const ReferenceRow *row; (row = reference_find(str_from(name), &at));) {
        strbuf_puts(&text, text.len ? "\n" : "");
        reference_text(&signatures, row, &text);
    }
    cli_write(strbuf_str(&text));
    return text.len > 0;
}

int command_help(Ctx *ctx, int argc, char **argv) {
    TextList arguments = {0};
    OptionsResult parsed = options_parse(&help_spec, &ctx->arena, argc, argv, NULL, &arguments);
    if (parsed != OPTIONS_OK)
        return parsed == OPTIONS_HELP ? STATUS_OK : STATUS_USAGE;
    if (!arguments.len) {
        help_print_commands(stdout);
        return STATUS_OK;
    }
    for (int i = 0; i < HELP_COMMANDS; i++) {
        if (strcmp(help_commands[i].spec->name, arguments.data[0]))
            continue;
        StrBuf text = strbuf(&ctx->arena);
        options_help(help_commands[i].spec, false, &text);
        cli_write(strbuf_str(&text));
        return STATUS_OK;
    }
    return help_builtin(ctx, arguments.data[0]) ? STATUS_OK
                                                : help_unknown_command(ctx, arguments.data[0]);
}
