/* Parsing by the table. A mistake gives one message that says what was wanted. */
#include "cli/options.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* One parse: where it stands and what a message needs. */
typedef struct Parse {
    const CommandSpec *spec;
    Arena *arena;
    int argc, next; /* next: index of the next unread argument */
    char **argv;
    void *out;
} Parse;

static OptionsResult bad(const Parse *parse, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static OptionsResult bad(const Parse *parse, const char *format, ...) {
    StrBuf text = strbuf(parse->arena);
    va_list args;
    va_start(args, format);
    strbuf_vprintf(&text, format, args);
    va_end(args);
    fprintf(stderr, "tilec: error: %s; see 'tilec %s --help'\n", text.ptr, parse->spec->name);
    return OPTIONS_BAD;
}

const char *options_suggestion(Arena *arena, const char *word, const Str *names, size_t count) {
    int nearest = str_nearest(str_from(word), names, count);
    if (nearest < 0)
        return "";
    return str_format(arena, " (did you mean '%.*s'?)", STR_ARG(names[nearest]));
}

size_t options_alternatives(Arena *arena, const char *text, const Str **out) {
    VEC(Str) list = {0};
    for (const char *p = text;;) {
        size_t len = strcspn(p, "|");
        vec_push(arena, &list, (Str){p, len});
        if (!p[len])
            break;
        p += len + 1;
    }
    *out = list.data;
    return list.len;
}

static OptionsResult set_choice(Parse *parse, const Option *option, const char *value) {
    const Str *choices;
    size_t count = options_alternatives(parse->arena, option->argument, &choices);
    for (size_t i = 0; i < count; i++) {
        if (str_is(choices[i], value)) {
            *(int *)((char *)parse->out + option->offset) = (int)i;
            return OPTIONS_OK;
        }
    }
    return bad(parse, "--%s takes one of %s, not '%s'%s", option->name, option->argument, value,
               options_suggestion(parse->arena, value, choices, count));
}

static OptionsResult set_number(Parse *parse, const Option *option, const char *value) {
    void *field = (char *)parse->out + option->offset;
    char *end;
    errno = 0;
    if (option->kind == OPTION_REAL) {
        double number = strtod(value, &end);
        if (end == value || *end || !isfinite(number) || number < 0)
            return bad(parse, "--%s takes a number that is not negative, not '%s'", option->name,
                       value);
        *(double *)field = number;
        return OPTIONS_OK;
    }
    long long number = strtoll(value, &end, 10);
    if (end == value || *end || errno || number < option->lo || number > option->hi)
        return bad(parse, "--%s takes a number from %" PRId64 " to %" PRId64 ", not '%s'",
                   option->name, option->lo, option->hi, value);
    *(int64_t *)field = number;
    return OPTIONS_OK;
}

static OptionsResult set_value(Parse *parse, const Option *option, const char *value) {
    void *field = (char *)parse->out + option->offset;
    switch (option->kind) {
    case OPTION_FLAG:
        *(bool *)field = true;
        return OPTIONS_OK;
    case OPTION_TEXT:
        *(const char **)field = value;
        return OPTIONS_OK;
    case OPTION_LIST: {
        TextList *list = field;
        vec_push(parse->arena, list, value);
        return OPTIONS_OK;
    }
    case OPTION_INT:
    case OPTION_REAL:
        return set_number(parse, option, value);
    case OPTION_CHOICE:
        return set_choice(parse, option, value);
    }
    return OPTIONS_BAD;
}

/* `attached` is the value written in the same argument, or NULL. */
static OptionsResult take_option(Parse *parse, const Option *option, const char *attached) {
    if (option->kind == OPTION_FLAG) {
        if (attached)
            return bad(parse, "--%s takes no value, but '%s' was given", option->name, attached);
        return set_value(parse, option, NULL);
    }
    if (!attached) {
        if (parse->next == parse->argc)
            return bad(parse, "--%s needs a value: %s", option->name, option->argument);
        attached = parse->argv[parse->next++];
    }
    return set_value(parse, option, attached);
}

static const char *suggest_option(Parse *parse, Str name) {
    VEC(Str) names = {0};
    for (size_t i = 0; i < parse->spec->option_count; i++)
        vec_push(parse->arena, &names, str_from(parse->spec->options[i].name));
    for (int i = 0; i < COMMON_OPTIONS; i++)
        vec_push(parse->arena, &names, str_from(common_options[i].name));
    int nearest = str_nearest(name, names.data, names.len);
    if (nearest < 0)
        return "";
    return str_format(parse->arena, " (did you mean '--%.*s'?)", STR_ARG(names.data[nearest]));
}

static OptionsResult print_help(const Parse *parse, bool all) {
    StrBuf help = strbuf(parse->arena);
    options_help(parse->spec, all, &help);
    fwrite(help.ptr, 1, help.len, stdout);
    return OPTIONS_HELP;
}

static OptionsResult parse_long(Parse *parse, const char *text) {
    Str name = {text, strcspn(text, "=")};
    const char *attached = text[name.len] == '=' ? text + name.len + 1 : NULL;
    for (int i = 0; i < COMMON_OPTIONS; i++)
        if (str_is(name, common_options[i].name))
            return print_help(parse, i == COMMON_HELP_ALL);
    for (size_t i = 0; i < parse->spec->option_count; i++)
        if (str_is(name, parse->spec->options[i].name))
            return take_option(parse, &parse->spec->options[i], attached);
    return bad(parse, "unknown option '--%.*s'%s", STR_ARG(name), suggest_option(parse, name));
}

static const Option *find_short(const CommandSpec *spec, char letter) {
    for (size_t i = 0; i < spec->option_count; i++)
        if (spec->options[i].short_name == letter)
            return &spec->options[i];
    return NULL;
}

/* `text` follows the dash: flags, the last of which may be an option with its value. */
static OptionsResult parse_short(Parse *parse, const char *text) {
    for (const char *p = text; *p; p++) {
        if (*p == common_options[COMMON_HELP].short_name)
            return print_help(parse, false);
        const Option *option = find_short(parse->spec, *p);
        if (!option)
            return bad(parse, "unknown option '-%c' in '-%s'%s", *p, text,
                       suggest_option(parse, str_from(text)));
        if (option->kind != OPTION_FLAG)
            return take_option(parse, option, p[1] ? p + 1 : NULL);
        set_value(parse, option, NULL);
    }
    return OPTIONS_OK;
}

static OptionsResult check_count(Parse *parse, const TextList *arguments) {
    const CommandSpec *spec = parse->spec;
    if (arguments->len < spec->min_arguments)
        return bad(parse, "missing argument: tilec %s %s", spec->name, spec->arguments);
    if (arguments->len > spec->max_arguments)
        return bad(parse, "unexpected argument '%s'", arguments->data[spec->max_arguments]);
    return OPTIONS_OK;
}

OptionsResult options_parse(const CommandSpec *spec, Arena *arena, int argc, char **argv, void *out,
                            TextList *arguments) {
    Parse parse = {spec, arena, argc, 1, argv, out};
    bool only_arguments = false;
    while (parse.next < argc) {
        const char *text = argv[parse.next++];
        OptionsResult result = OPTIONS_OK;
        if (only_arguments || text[0] != '-' || !text[1])
            vec_push(arena, arguments, text);
        else if (text[1] != '-')
            result = parse_short(&parse, text + 1);
        else if (text[2])
            result = parse_long(&parse, text + 2);
        else
            only_arguments = true;
        if (result != OPTIONS_OK)
            return result;
    }
    return check_count(&parse, arguments);
}

static Str name_before_value(const char *text) {
    return (Str){text, strcspn(text, "=")};
}

void options_keep_last(TextList *list) {
    size_t kept = 0;
    for (size_t i = 0; i < list->len; i++) {
        bool again = false;
        for (size_t k = i + 1; k < list->len; k++)
            again |= str_eq(name_before_value(list->data[i]), name_before_value(list->data[k]));
        if (!again)
            list->data[kept++] = list->data[i];
    }
    list->len = kept;
}
