/* `tilec version`: what this compiler is and what it found on the machine. */
#include "cli/cli.h"

typedef struct VersionOptions {
    bool json;
} VersionOptions;

static const Option version_options[] = {
    {0, "json", OPTION_FLAG, NULL, "report as JSON", offsetof(VersionOptions, json), 0, 0},
};

static const CommandSpec version_spec = {
    .name = "version",
    .arguments = "",
    .description = "Prints versions.",
    .options = version_options,
    .option_count = 1,
};

int command_version(Ctx *ctx, int argc, char **argv) {
    VersionOptions options = {0};
    TextList arguments = {0};
    OptionsResult parsed =
        options_parse(&version_spec, &ctx->arena, argc, argv, &options, &arguments);
    if (parsed != OPTIONS_OK)
        return parsed == OPTIONS_HELP ? STATUS_OK : STATUS_USAGE;
    cli_printf(options.json ? "{\"tilec\": \"%s\"}\n" : "tilec %s\n", TILEC_VERSION);
    return STATUS_OK;
}
