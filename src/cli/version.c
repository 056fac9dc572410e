/* `tilec version`: what this compiler is and what it found on the machine. */
#include "cli/cli.h"
#include "runtime/compile/build_info.h"
#include "runtime/driver/driver.h"
#include "runtime/tools/ptxas.h"

typedef struct VersionOptions {
    bool json;
} VersionOptions;

#define OPTIONS_OF VersionOptions
static const Option version_options[] = {
#include "cli/options/version.def"
};

const CommandSpec version_spec = {
    .name = "version",
    .arguments = "",
    .description =
        "Prints versions of the compiler, LLVM, ptxas and the CUDA driver, the targets that it "
        "compiles for, and the GPUs found.",
    .examples = HELP_ENTRIES({"For a report of a bug", "tilec version"}),
    OPTION_TABLE(version_options),
};

typedef struct Found {
    const char *llvm, *ptxas, *ptxas_version; /* ptxas NULL: none */
    Driver driver;
    const char *no_driver; /* why there is none; NULL: there is one */
    Device *devices;
    int device_count;
} Found;

static void find_devices(Ctx *ctx, Found *found) {
    Diags quiet = {.arena = &ctx->arena, .sources = &ctx->sources};
    int count = 0;
    if (driver_open(&found->driver, &quiet, NULL))
        count = driver_device_count(&found->driver, &quiet);
    found->devices = ARENA_ARRAY(&ctx->arena, Device, (size_t)count + 1);
    while (found->device_count < count && device_query(&found->driver, &quiet, found->device_count,
                                                       &found->devices[found->device_count]))
        found->device_count++;
    if (quiet.errors)
        found->no_driver = quiet.first->text;
}

static void print_json(const Found *found, StrBuf *out) {
    strbuf_printf(out, "{\"tilec\": \"%s\", \"build\": \"%s\", \"llvm\": \"%s\", \"ptxas\": ",
                  build_version, build_id, found->llvm);
    if (found->ptxas) {
        strbuf_puts(out, "{\"path\": ");
        strbuf_json(out, str_from(found->ptxas));
        strbuf_puts(out, ", \"version\": ");
        strbuf_json(out, str_from(found->ptxas_version));
        strbuf_putc(out, '}');
    } else {
        strbuf_puts(out, "null");
    }
    if (found->driver.library)
        strbuf_printf(out, ", \"cuda_driver\": \"%d.%d\"", found->driver.version / 1000,
                      found->driver.version % 1000 / 10);
    else
        strbuf_puts(out, ", \"cuda_driver\": null");
    strbuf_puts(out, ", \"targets\": [");
    for (int i = 0; i < target_count; i++)
        strbuf_printf(out, "%s\"%s\"", i ? ", " : "", target_table[i].name);
    strbuf_puts(out, "], \"devices\": [");
    for (int i = 0; i < found->device_count; i++) {
        const Device *d = &found->devices[i];
        strbuf_puts(out, i ? ", {\"name\": " : "{\"name\": ");
        strbuf_json(out, str_from(d->name));
        strbuf_printf(out,
                      ", \"capability\": \"%d.%d\", \"target\": \"%s\", \"sm_count\": %d, "
                      "\"memory_bytes\": %zu}",
                      d->major, d->minor, d->target ? d->target->name : "", d->sm_count, d->memory);
    }
    strbuf_puts(out, "]}\n");
}

static void print_text(const Found *found, StrBuf *out) {
    strbuf_printf(out, "tilec  %s, build %s\nLLVM   %s\nfor    %s\n", build_version, build_id,
                  found->llvm, target_list(out->arena));
    if (found->ptxas)
        strbuf_printf(out, "ptxas  %s, %s\n",
                      *found->ptxas_version ? found->ptxas_version : "cannot be run", found->ptxas);
    else
        strbuf_puts(out, "ptxas  not found\n");
    if (found->no_driver)
        strbuf_printf(out, "GPU    %s\n", found->no_driver);
    else
        strbuf_printf(out, "CUDA   %d.%d\n", found->driver.version / 1000,
                      found->driver.version % 1000 / 10);
    for (int i = 0; i < found->device_count; i++) {
        const Device *d = &found->devices[i];
        strbuf_printf(out, "GPU %d  %s, compute capability %d.%d (%s), %d SMs, %zu MiB\n", i,
                      d->name, d->major, d->minor, d->target ? d->target->name : "no target",
                      d->sm_count, d->memory >> 20);
    }
}

int command_version(Ctx *ctx, int argc, char **argv) {
    VersionOptions options = {0};
    TextList arguments = {0};
    OptionsResult parsed =
        options_parse(&version_spec, &ctx->arena, argc, argv, &options, &arguments);
    if (parsed != OPTIONS_OK)
        return parsed == OPTIONS_HELP ? STATUS_OK : STATUS_USAGE;
    Found found = {.llvm = build_llvm_version(&ctx->arena)};
    found.ptxas = ptxas_find(&ctx->arena, NULL);
    found.ptxas_version = found.ptxas ? ptxas_version(&ctx->arena, found.ptxas) : "";
    find_devices(ctx, &found);
    StrBuf out = strbuf(&ctx->arena);
    (options.json ? print_json : print_text)(&found, &out);
    cli_write(strbuf_str(&out));
    driver_close(&found.driver);
    return STATUS_OK;
}
