/* The help of a command, made from its table: a screen of what is used most, or all of it. */
#include "cli/options.h"

enum { HELP_COLUMN = 28, HELP_WIDTH = 80, HELP_INDENT = 2 };

const Option common_options[COMMON_OPTIONS] = {
    {.short_name = 'h', .name = "help", .help = "print the options used most and an example"},
    {.name = "help-all", .help = "print every option"},
};

static const struct {
    const char *title;
    bool shown;
} groups[GROUP_COUNT] = {
#define GROUP(id, title, shown) {title, shown},
#include "cli/options/groups.def"
};

const char *option_group_title(OptionGroup group) {
    return groups[group].title;
}

/* Adds `text` from column `column` on, broken at spaces and continued at `indent`. */
static void add_wrapped(StrBuf *out, const char *text, size_t column, int indent) {
    for (const char *separator = ""; *text; separator = " ") {
        size_t word = strcspn(text, " ");
        if (column + strlen(separator) + word > HELP_WIDTH) {
            strbuf_printf(out, "\n%*s", indent, "");
            column = (size_t)indent;
            separator = "";
        }
        strbuf_puts(out, separator);
        strbuf_add(out, text, word);
        column += word + strlen(separator);
        text += word + strspn(text + word, " ");
    }
    strbuf_putc(out, '\n');
}

/* `start`: where the line with what is explained begins. */
static void add_explained(StrBuf *out, size_t start, const char *help) {
    size_t width = out->len - start;
    if (width + 2 > HELP_COLUMN) {
        strbuf_putc(out, '\n');
        width = 0;
    }
    strbuf_printf(out, "%*s", (int)(HELP_COLUMN - width), "");
    add_wrapped(out, help, HELP_COLUMN, HELP_COLUMN);
}

static void add_option(StrBuf *out, const Option *option) {
    size_t start = out->len;
    if (option->short_name)
        strbuf_printf(out, "  -%c, ", option->short_name);
    else
        strbuf_puts(out, "      ");
    strbuf_printf(out, "--%s", option->name);
    if (option->argument)
        strbuf_printf(out, " %s", option->argument);
    add_explained(out, start, option->help);
}

static void add_group(const CommandSpec *spec, OptionGroup group, StrBuf *out) {
    bool first = true;
    for (size_t i = 0; i < spec->option_count; i++) {
        if (spec->options[i].group != group)
            continue;
        if (first)
            strbuf_printf(out, "\n%s:\n", groups[group].title);
        first = false;
        add_option(out, &spec->options[i]);
    }
}

static void add_rest(const CommandSpec *spec, StrBuf *out) {
    unsigned count = 0;
    for (size_t i = 0; i < spec->option_count; i++)
        count += !groups[spec->options[i].group].shown;
    if (count)
        strbuf_printf(out, "\n%u more options: tilec %s --help-all\n", count, spec->name);
}

static void add_entries(const HelpEntries *entries, StrBuf *out) {
    for (size_t i = 0; i < entries->len; i++) {
        size_t start = out->len;
        strbuf_printf(out, "  %s", entries->data[i].name);
        add_explained(out, start, entries->data[i].text);
    }
}

static void add_notes(const CommandSpec *spec, StrBuf *out) {
    for (size_t i = 0; i < spec->notes.len; i++) {
        strbuf_printf(out, "\n%s:\n%*s", spec->notes.data[i].name, HELP_INDENT, "");
        add_wrapped(out, spec->notes.data[i].text, HELP_INDENT, HELP_INDENT);
    }
}

void options_help(const CommandSpec *spec, bool all, StrBuf *out) {
    strbuf_printf(out, "Usage: tilec %s%s%s%s\n\n", spec->name,
                  spec->option_count ? " [OPTIONS]" : "", *spec->arguments ? " " : "",
                  spec->arguments);
    add_wrapped(out, spec->description, 0, 0);
    if (spec->actions.len) {
        strbuf_putc(out, '\n');
        add_entries(&spec->actions, out);
    }
    for (int group = 0; group < GROUP_COUNT; group++)
        if (all || groups[group].shown)
            add_group(spec, (OptionGroup)group, out);
    if (all) {
        strbuf_puts(out, "\nHelp:\n");
        for (int i = 0; i < COMMON_OPTIONS; i++)
            add_option(out, &common_options[i]);
        add_notes(spec, out);
    }
    for (size_t i = 0; i < spec->examples.len; i++)
        strbuf_printf(out, "\n%s:\n  %s\n", spec->examples.data[i].name,
                      spec->examples.data[i].text);
    if (!all)
        add_rest(spec, out);
}
