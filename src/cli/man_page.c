/* Man pages in the macros of man(7), which groff and mandoc read. They have no date: what a page is
 * made of is the version. */
#include "cli/man_page.h"

#include "runtime/compile/build_info.h"

/* Text with nothing in it that roff would read as its own. A line never begins with a request's dot
 * or quote: pages have texts only behind macros, or with \& before them. */
static void add_text(StrBuf *out, const char *text) {
    for (; *text; text++) {
        switch (*text) {
        case '\\':
            strbuf_puts(out, "\\e");
            break;
        case '-':
            strbuf_puts(out, "\\-");
            break;
        case '\'':
            strbuf_puts(out, "\\(aq");
            break;
        case '`':
            strbuf_puts(out, "\\(ga");
            break;
        case '^':
            strbuf_puts(out, "\\(ha");
            break;
        case '~':
            strbuf_puts(out, "\\(ti");
            break;
        case '"':
            strbuf_puts(out, "\\(dq");
            break;
        default:
            strbuf_putc(out, *text);
        }
    }
}

static void add_paragraph(StrBuf *out, const char *text) {
    strbuf_puts(out, "\\&");
    add_text(out, text);
    strbuf_putc(out, '\n');
}

static void add_title(StrBuf *out, const char *page, const char *summary) {
    strbuf_puts(out, ".TH \"");
    for (const char *p = page; *p; p++)
        strbuf_putc(out, *p >= 'a' && *p <= 'z' ? (char)(*p - 'a' + 'A') : *p);
    strbuf_printf(out, "\" 1 \"\" \"tilec %s\" \"User Commands\"\n.nh\n.ad l\n.SH NAME\n",
                  build_version);
    add_text(out, page);
    strbuf_puts(out, " \\- ");
    add_text(out, summary);
    strbuf_puts(out, "\n.SH SYNOPSIS\n");
}

static void add_section(StrBuf *out, const char *macro, const char *title) {
    strbuf_printf(out, ".%s \"", macro);
    for (const char *p = title; *p; p++) /* sections in capitals, their parts as they are */
        strbuf_putc(out, macro[1] == 'H' && *p >= 'a' && *p <= 'z' ? (char)(*p - 'a' + 'A') : *p);
    strbuf_puts(out, "\"\n");
}

/* A term in bold and what it means. */
static void add_entry(StrBuf *out, const char *name, const char *text) {
    strbuf_puts(out, ".TP\n\\fB");
    add_text(out, name);
    strbuf_puts(out, "\\fR\n");
    add_paragraph(out, text);
}

static void add_option(StrBuf *out, const Option *option) {
    strbuf_puts(out, ".TP\n");
    if (option->short_name)
        strbuf_printf(out, "\\fB\\-%c\\fR, ", option->short_name);
    strbuf_puts(out, "\\fB\\-\\-");
    add_text(out, option->name);
    strbuf_puts(out, "\\fR");
    if (option->argument) {
        strbuf_puts(out, " \\fI");
        add_text(out, option->argument);
        strbuf_puts(out, "\\fR");
    }
    strbuf_putc(out, '\n');
    add_paragraph(out, option->help);
}

static void add_options(StrBuf *out, const CommandSpec *spec) {
    add_section(out, "SH", "Options");
    for (int group = 0; group < GROUP_COUNT; group++) {
        bool first = true;
        for (size_t i = 0; i < spec->option_count; i++) {
            if (spec->options[i].group != (OptionGroup)group)
                continue;
            if (first)
                add_section(out, "SS", option_group_title((OptionGroup)group));
            first = false;
            add_option(out, &spec->options[i]);
        }
    }
    add_section(out, "SS", "Help");
    for (int i = 0; i < COMMON_OPTIONS; i++)
        add_option(out, &common_options[i]);
}

static void add_exit_status(StrBuf *out) {
    static const HelpEntry statuses[] = {
        {"0", "success"},
        {"1", "the input is wrong: a source, data, a result that differs"},
        {"2", "the command line is wrong"},
        {"3", "the machine lacks something: memory, disk space, a driver, a GPU, ptxas"}};
    add_section(out, "SH", "Exit status");
    for (size_t i = 0; i < sizeof statuses / sizeof *statuses; i++)
        add_entry(out, statuses[i].name, statuses[i].text);
}

static void add_environment(StrBuf *out) {
    static const HelpEntry variables[] = {
#define VARIABLE(name, text) {#name, text},
#include "cli/environment.def"
    };
    add_section(out, "SH", "Environment");
    for (size_t i = 0; i < sizeof variables / sizeof *variables; i++)
        add_entry(out, variables[i].name, variables[i].text);
}

void man_page_overview(StrBuf *out) {
    add_title(out, "tilec", "compiler of tile kernels to PTX and cubin");
    strbuf_puts(out, "\\fBtilec\\fR \\fICOMMAND\\fR [\\fIOPTIONS\\fR] [\\fIARGUMENTS\\fR]\n");
    add_section(out, "SH", "Description");
    add_paragraph(out, help_purpose);
    add_section(out, "SH", "Commands");
    for (int i = 0; i < HELP_COMMANDS; i++) {
        const char *name = help_commands[i].spec->name;
        add_entry(out, str_format(out->arena, "tilec-%s(1)", name), help_commands[i].summary);
    }
    add_exit_status(out);
    add_environment(out);
    add_section(out, "SH", "Files");
    add_entry(out, "~/.cache/tilec", "compiled kernels; tilec-cache(1) looks after them");
}

static void add_examples(StrBuf *out, const CommandSpec *spec) {
    add_section(out, "SH", "Examples");
    for (size_t i = 0; i < spec->examples.len; i++) {
        strbuf_puts(out, ".PP\n");
        add_paragraph(out, spec->examples.data[i].name);
        strbuf_puts(out, ".PP\n.nf\n.RS 2\n");
        add_paragraph(out, spec->examples.data[i].text);
        strbuf_puts(out, ".RE\n.fi\n");
    }
}

void man_page_command(const CommandHelp *command, StrBuf *out) {
    const CommandSpec *spec = command->spec;
    add_title(out, str_format(out->arena, "tilec-%s", spec->name), command->summary);
    strbuf_printf(out, "\\fBtilec %s\\fR [\\fIOPTIONS\\fR]%s", spec->name,
                  *spec->arguments ? " \\fI" : "");
    add_text(out, spec->arguments);
    strbuf_puts(out, *spec->arguments ? "\\fR\n" : "\n");
    add_section(out, "SH", "Description");
    add_paragraph(out, spec->description);
    for (size_t i = 0; i < spec->actions.len; i++)
        add_entry(out, spec->actions.data[i].name, spec->actions.data[i].text);
    add_options(out, spec);
    for (size_t i = 0; i < spec->notes.len; i++) {
        add_section(out, "SH", spec->notes.data[i].name);
        add_paragraph(out, spec->notes.data[i].text);
    }
    add_examples(out, spec);
    add_section(out, "SH", "See also");
    strbuf_puts(out, "\\fBtilec\\fR(1)\n");
}
