/* `tilec pages FOLDER`: what a package installs beside the binary and makes of its tables, in the
 * folders that /usr/share has: man pages and shell completion. For the build. */
#include "cli/completion.h"
#include "cli/man_page.h"
#include "support/file.h"

typedef struct Pages {
    Ctx *ctx;
    Str folder;
    int status;
} Pages;

static void write_page(Pages *pages, const char *folder, const char *name, const StrBuf *text) {
    Arena *arena = &pages->ctx->arena;
    const char *parent = file_join(arena, pages->folder, str_from(folder));
    const char *path = file_join(arena, str_from(parent), str_from(name));
    int error = file_make_folder(arena, parent);
    if (!error)
        error = file_write(arena, path, strbuf_str(text), false);
    if (!error)
        return;
    fprintf(stderr, "tilec: error: cannot write '%s': %s\n", path, file_error_text(arena, error));
    pages->status = STATUS_MACHINE;
}

static void write_man_pages(Pages *pages) {
    Arena *arena = &pages->ctx->arena;
    StrBuf overview = strbuf(arena);
    man_page_overview(&overview);
    write_page(pages, "man/man1", "tilec.1", &overview);
    for (int i = 0; i < HELP_COMMANDS; i++) {
        StrBuf page = strbuf(arena);
        man_page_command(&help_commands[i], &page);
        write_page(pages, "man/man1", str_format(arena, "tilec-%s.1", help_commands[i].spec->name),
                   &page);
    }
}

static void write_completion(Pages *pages, void (*complete)(StrBuf *), const char *folder,
                             const char *name) {
    StrBuf script = strbuf(&pages->ctx->arena);
    complete(&script);
    write_page(pages, folder, name, &script);
}

int command_pages(Ctx *ctx, int argc, char **argv) {
    if (argc != 2)
        return cli_usage_error("tilec pages takes a folder");
    Pages pages = {ctx, str_from(argv[1]), STATUS_OK};
    write_man_pages(&pages);
    write_completion(&pages, complete_bash, "bash-completion/completions", "tilec");
    write_completion(&pages, complete_zsh, "zsh/site-functions", "_tilec");
    write_completion(&pages, complete_fish, "fish/vendor_completions.d", "tilec.fish");
    return pages.status;
}
