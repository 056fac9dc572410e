/* textDocument/codeAction: what the hints of messages say to write instead, as edits.
 *
 * A hint is text for a reader; those forms of it that say exactly what to write are known here:
 *
 *     did you mean `X`?          the name that the message quotes becomes X
 *     write X                    with the arguments of the call in the place of x, y, .. in it
 *     call it as tl.f(x, ...)    x.f(a) becomes tl.f(x, a)
 *     compare: x != 0            the condition is compared
 *     one of 'a', 'b'            the string becomes one of them
 *     round up to N              the number becomes N
 */
#include "lsp/diagnostics.h"
#include "lsp/walk.h"

typedef struct Actions {
    Session *session;
    const Document *document;
    const Analysis *analysis;
    const Shown *shown;
    Arena *arena;
    StrBuf *out;
    bool has_any;
} Actions;

static Str source_text(const Actions *a, uint32_t lo, uint32_t hi) {
    return (Str){a->analysis->text.bytes.ptr + lo, hi - lo};
}

static void add_action(Actions *a, uint32_t lo, uint32_t hi, Str text, bool is_preferred) {
    StrBuf *out = a->out;
    const Str before = source_text(a, lo, hi);
    const char *title =
        before.len <= 40 && text.len <= 80
            ? str_format(a->arena, "Write `%.*s` instead of `%.*s`", STR_ARG(text), STR_ARG(before))
            : str_format(a->arena, "Write `%.*s`", (int)(text.len < 80 ? text.len : 80), text.ptr);
    strbuf_puts(out, a->has_any ? ", {\"title\": " : "{\"title\": ");
    strbuf_json(out, str_from(title));
    strbuf_printf(out, ", \"kind\": \"quickfix\", \"isPreferred\": %s, \"diagnostics\": [",
                  is_preferred ? "true" : "false");
    put_diagnostic(out, a->analysis, a->document->uri, a->shown);
    strbuf_puts(out, "], \"edit\": {\"changes\": {");
    strbuf_json(out, a->document->uri);
    strbuf_puts(out, ": [{\"range\": ");
    put_range(out, &a->analysis->text, lo, hi);
    strbuf_puts(out, ", \"newText\": ");
    strbuf_json(out, text);
    strbuf_puts(out, "}]}}}");
    a->has_any = true;
}

static bool begins_with(const char *text, const char *head, const char **rest) {
    const size_t length = strlen(head);
    *rest = text + length;
    return !strncmp(text, head, length);
}

/* What stands between two quotes of the text; false: there are none. */
static bool take_quoted(const char **text, Str *out) {
    const char *open = strpbrk(*text, "`'");
    const char *close = open ? strchr(open + 1, *open) : NULL;
    if (!close)
        return false;
    *out = (Str){open + 1, (size_t)(close - open - 1)};
    *text = close + 1;
    return true;
}

/* did you mean */

/* The last place of a whole word within a span. */
static bool find_word(const Actions *a, Span span, Str word, uint32_t *lo) {
    const Str text = a->analysis->text.bytes;
    for (uint32_t at = span.hi; at-- > span.lo;) {
        const bool fits =
            word.len && at + word.len <= span.hi && str_eq((Str){text.ptr + at, word.len}, word);
        if (fits && (at == 0 || !text_is_word(text.ptr[at - 1])) &&
            (at + word.len == text.len || !text_is_word(text.ptr[at + word.len]))) {
            *lo = at;
            return true;
        }
    }
    return false;
}

static void correct_name(Actions *a, const char *hint) {
    Str wanted, quoted;
    uint32_t lo = 0;
    if (!take_quoted(&hint, &wanted))
        return;
    const char *text = a->shown->diagnostic->text;
    Str found = {0};
    while (take_quoted(&text, &quoted))
        if (find_word(a, a->shown->span, quoted, &lo))
            found = quoted;
    if (found.len && find_word(a, a->shown->span, found, &lo))
        add_action(a, lo, lo + (uint32_t)found.len, wanted, true);
}

/* write X */

/* As much of the text as is one expression: up to what explains it or names another one. */
static Str first_expression(const char *text) {
    int depth = 0;
    const char *at = text;
    for (; *at; at++) {
        depth += (*at == '(' || *at == '[') - (*at == ')' || *at == ']');
        if (!depth && (!strncmp(at, ", ", 2) || !strncmp(at, " of ", 4) ||
                       !strncmp(at, " with ", 6) || !strncmp(at, " to ", 4)))
            break;
    }
    return (Str){text, (size_t)(at - text)};
}

/* As it is written, in parentheses where it might not be one operand. */
static Str operand_text(const Actions *a, const Expr *expr) {
    const Str text = source_text(a, expr->span.lo, expr->span.hi);
    const bool is_simple = expr->kind == EXPR_name || expr->kind == EXPR_attribute ||
                           expr->kind == EXPR_call || expr->kind == EXPR_subscript ||
                           expr->kind == EXPR_int || expr->kind == EXPR_float;
    return is_simple ? text : str_from(str_format(a->arena, "(%.*s)", STR_ARG(text)));
}

/* An argument of the call for a name of the replacement; empty: there is none. */
static Str argument_for(const Actions *a, const Expr *call, Str name) {
    static const char *const places[] = {"x", "y"};
    const Expr *callee = call->u.call.callee;
    /* Of a method x is what stands in front of the point. */
    const bool is_method = a->shown->diagnostic->id == DIAG_elab_no_attribute;
    if (is_method && str_is(name, "x"))
        return operand_text(a, callee->u.attribute.base);
    for (uint32_t i = 0; i < call->u.call.keyword_count; i++)
        if (str_eq(call->u.call.keywords[i].name, name)) {
            const Span span = call->u.call.keywords[i].value->span;
            return source_text(a, span.lo, span.hi);
        }
    for (uint32_t i = is_method; i < 2 && i - is_method < call->u.call.args.count; i++)
        if (str_is(name, places[i]))
            return operand_text(a, call->u.call.args.items[i - is_method]);
    return (Str){0};
}

/* The text with the call's arguments in the place of its names. False: one has none. */
static bool fill_in(const Actions *a, const Expr *call, Str text, StrBuf *out) {
    uint32_t used = 0;
    for (size_t at = 0; at < text.len;) {
        if (text.ptr[at] == '\'') { /* as it is */
            do
                strbuf_putc(out, text.ptr[at++]);
            while (at < text.len && text.ptr[at - 1] != '\'');
            continue;
        }
        if (!text_is_word(text.ptr[at]) || (text.ptr[at] >= '0' && text.ptr[at] <= '9')) {
            strbuf_putc(out, text.ptr[at++]);
            continue;
        }
        size_t end = at;
        while (end < text.len && text_is_word(text.ptr[end]))
            end++;
        const Str word = {text.ptr + at, end - at};
        const bool is_free = (at == 0 || text.ptr[at - 1] != '.') && !str_is(word, "tl") &&
                             !(end < text.len && text.ptr[end] == '(') &&
                             !(end < text.len && text.ptr[end] == '=' && text.ptr[end + 1] != '=');
        const Str argument = is_free ? argument_for(a, call, word) : word;
        if (!argument.len)
            return false;
        used += is_free;
        strbuf_add(out, argument.ptr, argument.len);
        at = end;
    }
    return used > 0;
}

/* Whether it stands by itself as an operand: no operator is outside of brackets. */
static bool is_operand(Str text) {
    int depth = 0;
    for (size_t i = 0; i < text.len; i++) {
        depth +=
            (text.ptr[i] == '(' || text.ptr[i] == '[') - (text.ptr[i] == ')' || text.ptr[i] == ']');
        if (!depth && text.ptr[i] == ' ')
            return false;
    }
    return true;
}

static bool is_dotted(Str text) {
    for (size_t i = 0; i < text.len; i++)
        if (!text_is_word(text.ptr[i]) && text.ptr[i] != '.')
            return false;
    return text.len > 0;
}

/* Each of what is quoted, but for what names things that are not there. */
static void write_quoted(Actions *a, const char *hint) {
    const Span span = a->shown->span;
    const bool is_only = !strstr(hint, ", ");
    if (strstr(hint, "if condition"))
        return;
    for (Str text; take_quoted(&hint, &text);)
        add_action(a, span.lo, span.hi, text, is_only);
}

static void write_instead(Actions *a, const char *hint) {
    const Span span = a->shown->span;
    const Expr *call, *expr = walk_innermost(a->analysis->syntax, span.hi, &call);
    if (hint[0] == '`') {
        write_quoted(a, hint);
        return;
    }
    const Str text = first_expression(hint);
    if (!expr || !text.len)
        return;
    const Span whole = expr->kind == EXPR_attribute || expr->kind == EXPR_name ? expr->span : span;
    if (is_dotted(text)) {
        add_action(a, whole.lo, whole.hi, text, true);
        return;
    }
    StrBuf filled = strbuf(a->arena);
    if (!call || call->u.call.callee != expr || !fill_in(a, call, text, &filled))
        return;
    const Str plain = strbuf_str(&filled);
    add_action(a, call->span.lo, call->span.hi,
               is_operand(plain) ? plain : str_from(str_format(a->arena, "(%.*s)", STR_ARG(plain))),
               true);
}

/* x.f(a) -> tl.f(x, a) */
static void call_as_function(Actions *a, const char *hint) {
    const size_t length = strcspn(hint, "(");
    const Expr *call, *expr = walk_innermost(a->analysis->syntax, a->shown->span.hi, &call);
    if (!expr || expr->kind != EXPR_attribute || !call || call->u.call.callee != expr)
        return;
    const Span base = expr->u.attribute.base->span;
    uint32_t open = expr->span.hi;
    while (open < call->span.hi && a->analysis->text.bytes.ptr[open] != '(')
        open++;
    const bool has_arguments = call->u.call.args.count + call->u.call.keyword_count > 0;
    const Str self = source_text(a, base.lo, base.hi);
    add_action(a, call->span.lo, open + 1,
               str_from(str_format(a->arena, "%.*s(%.*s%s", (int)length, hint, STR_ARG(self),
                                   has_arguments ? ", " : "")),
               true);
}

static void compare_with_zero(Actions *a) {
    const Span span = a->shown->span;
    const Str text = source_text(a, span.lo, span.hi);
    uint32_t lo = span.lo;
    const char *equals = memchr(text.ptr, '=', text.len);
    if (equals && equals[1] != '=' && equals > text.ptr && !strchr("=<>!", equals[-1])) {
        lo += (uint32_t)(equals - text.ptr) + 1; /* behind the keyword of an argument */
        while (a->analysis->text.bytes.ptr[lo] == ' ')
            lo++;
    }
    const Str value = source_text(a, lo, span.hi);
    if (value.len)
        add_action(a, lo, span.hi,
                   str_from(is_operand(value)
                                ? str_format(a->arena, "%.*s != 0", STR_ARG(value))
                                : str_format(a->arena, "(%.*s) != 0", STR_ARG(value))),
                   true);
}

/* The string in the span becomes one of those that are quoted. */
static void choose_one(Actions *a, const char *hint) {
    const Span span = a->shown->span;
    const Str text = source_text(a, span.lo, span.hi);
    size_t open = 0, close = text.len;
    while (open < text.len && text.ptr[open] != '"' && text.ptr[open] != '\'')
        open++;
    if (open + 1 >= text.len)
        return;
    while (close > open + 1 && text.ptr[close - 1] != text.ptr[open])
        close--;
    if (close <= open + 1)
        return;
    for (Str choice; take_quoted(&hint, &choice);)
        add_action(a, span.lo + (uint32_t)open + 1, span.lo + (uint32_t)close - 1, choice, false);
}

/* The number that stands in the span; one that is computed is not known here. */
static void round_up(Actions *a, const char *hint) {
    const char *found = strstr(hint, "it is "), *wanted = strstr(hint, "round up to ");
    uint32_t lo;
    if (!found || !wanted)
        return;
    found += strlen("it is ");
    wanted += strlen("round up to ");
    const Str number = {found, strcspn(found, ":")};
    if (find_word(a, a->shown->span, number, &lo))
        add_action(a, lo, lo + (uint32_t)number.len, (Str){wanted, strcspn(wanted, " ")}, true);
}

static void add_fixes(Actions *a) {
    for (const DiagNote *note = a->shown->diagnostic->notes; note; note = note->next) {
        const char *rest;
        if (!note->is_hint)
            continue;
        if (begins_with(note->text, "did you mean ", &rest))
            correct_name(a, rest);
        else if (begins_with(note->text, "write ", &rest))
            write_instead(a, rest);
        else if (begins_with(note->text, "Python has no suffixes: write ", &rest))
            write_instead(a, rest);
        else if (begins_with(note->text, "call it as ", &rest))
            call_as_function(a, rest);
        else if (begins_with(note->text, "compare: ", &rest))
            compare_with_zero(a);
        else if (begins_with(note->text, "one of ", &rest))
            choose_one(a, rest);
        else if (strstr(note->text, "round up to "))
            round_up(a, note->text);
    }
}

void lsp_code_action(Session *session, const Json *params, Answer *answer) {
    uint32_t lo, hi;
    Document *document = param_document_range(session, params, answer, &lo, &hi);
    if (!document)
        return;
    if (!session->takes_literals || !document_refresh(session, document) || document->is_stale)
        return;
    Actions actions = {.session = session,
                       .document = document,
                       .analysis = document->now,
                       .arena = &answer->ctx->arena,
                       .out = &answer->result};
    const ShownList list = diagnostics_list(actions.arena, document->now);
    strbuf_putc(actions.out, '[');
    vec_for_each (shown, &list) {
        actions.shown = shown;
        if (shown->span.file && shown->span.lo <= hi && shown->span.hi >= lo)
            add_fixes(&actions);
    }
    strbuf_putc(actions.out, ']');
}
