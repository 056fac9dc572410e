/* `tilec lsp`: a language server over standard input and output. */
#include "lsp/server.h"

#include "cli/cli.h"

#include <unistd.h>

typedef struct LspOptions {
    bool stdio;
} LspOptions;

#define OPTIONS_OF LspOptions
static const Option lsp_options[] = {
#include "cli/options/lsp.def"
};

const CommandSpec lsp_spec = {
    .name = "lsp",
    .arguments = "",
    .description =
        "A language server (LSP 3.17): an editor starts it and speaks with it over standard input "
        "and output. It says what is wrong with kernels while they are typed, what expressions "
        "are, which arguments builtins take and where things are defined.",
    .notes = HELP_ENTRIES(
        {"Types", "What a kernel is elaborated with comes from annotations and defaults of its "
                  "parameters, from the first configuration of @triton.autotune, from the setting "
                  "tilec.signatures, and from a comment above it: "
                  "# tilec: -s \"*fp32, *fp32, i32, 1024\" -t sm_90a."},
        {"Exit status", "0 where the client asked the server to shut down before it ended it, or "
                        "never began, else 1."}),
    .examples =
        HELP_ENTRIES({"Whether it starts: it ends with its input", "tilec lsp < /dev/null"}),
    OPTION_TABLE(lsp_options),
};

int command_lsp(Ctx *ctx, int argc, char **argv) {
    LspOptions options = {0};
    TextList arguments = {0};
    OptionsResult parsed = options_parse(&lsp_spec, &ctx->arena, argc, argv, &options, &arguments);
    if (parsed != OPTIONS_OK)
        return parsed == OPTIONS_HELP ? STATUS_OK : STATUS_USAGE;
    return lsp_serve(ctx, STDIN_FILENO, STDOUT_FILENO) ? STATUS_OK : STATUS_INPUT;
}
