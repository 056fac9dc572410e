/* See comment.h. */
#include "lsp/comment.h"

typedef enum CommentKind { COMMENT_TEXT, COMMENT_NAMED, COMMENT_NUMBER } CommentKind;

typedef struct CommentOption {
    char letter;
    const char *name, *takes;
    CommentKind kind;
    size_t member;
} CommentOption;

static const CommentOption options[] = {
#define TEXT(letter, name, takes, member)                                                          \
    {letter, name, takes, COMMENT_TEXT, offsetof(KernelComment, member)},
#define NAMED(letter, name, takes, member)                                                         \
    {letter, name, takes, COMMENT_NAMED, offsetof(KernelComment, member)},
#define NUMBER(name, member) {0, name, "a number", COMMENT_NUMBER, offsetof(KernelComment, member)},
#include "lsp/comment.def"
};

enum { OPTION_COUNT = sizeof options / sizeof *options };

typedef struct CommentReader {
    Ctx *ctx;
    uint32_t file;
    Str text;
    size_t at, end;
    KernelComment *comment;
} CommentReader;

typedef struct Word {
    Str text;
    Span span;
} Word;

/* False: there is none. */
static bool take_word(CommentReader *r, Word *word) {
    StrWord taken;
    if (!str_next_word(&r->ctx->arena, (Str){r->text.ptr, r->end}, &r->at, &taken))
        return false;
    *word = (Word){taken.text, {r->file, (uint32_t)taken.begin, (uint32_t)taken.end}};
    return true;
}

/* -sVALUE and --signature=VALUE hold their value. */
static const CommentOption *find_option(const Word *word, Str *value) {
    const Str text = word->text;
    *value = (Str){0};
    for (size_t i = 0; i < OPTION_COUNT; i++) {
        const CommentOption *option = &options[i];
        const size_t length = strlen(option->name);
        if (option->letter && text.len >= 2 && text.ptr[0] == '-' &&
            text.ptr[1] == option->letter) {
            if (text.len > 2)
                *value = (Str){text.ptr + 2, text.len - 2};
            return option;
        }
        if (text.len < length + 2 || memcmp(text.ptr, "--", 2) != 0 ||
            memcmp(text.ptr + 2, option->name, length) != 0)
            continue;
        if (text.len == length + 2)
            return option;
        if (text.ptr[length + 2] == '=') {
            *value = (Str){text.ptr + length + 3, text.len - length - 3};
            return option;
        }
    }
    return NULL;
}

typedef VEC(NamedText) NamedTexts;

static bool set_option(CommentReader *r, const CommentOption *option, const Word *word, Str value) {
    void *member = (char *)r->comment + option->member;
    if (option->kind == COMMENT_TEXT) {
        *(Str *)member = value;
        return true;
    }
    if (option->kind == COMMENT_NAMED) {
        const char *equals = value.len ? memchr(value.ptr, '=', value.len) : NULL;
        if (!equals || equals == value.ptr)
            return ctx_diag(r->ctx, word->span, comment_value, option->name, option->takes);
        const size_t length = (size_t)(equals - value.ptr);
        NamedTexts *list = member;
        vec_push(&r->ctx->arena, list,
                 (NamedText){{value.ptr, length}, {equals + 1, value.len - length - 1}});
        return true;
    }
    int32_t number = 0;
    bool ok = value.len && value.len <= 3;
    for (size_t i = 0; ok && i < value.len; i++) {
        ok = value.ptr[i] >= '0' && value.ptr[i] <= '9';
        number = number * 10 + (value.ptr[i] - '0');
    }
    if (!ok)
        return ctx_diag(r->ctx, word->span, comment_value, option->name, option->takes);
    *(int32_t *)member = number;
    return true;
}

static bool read_options(CommentReader *r) {
    Word word, next;
    while (take_word(r, &word)) {
        Str value;
        const CommentOption *option = find_option(&word, &value);
        if (!option) {
            ctx_diag(r->ctx, word.span, comment_option, STR_ARG(word.text));
            diag_hint(&r->ctx->diags,
                      "it takes -s SIGNATURE, -t TARGET, -a NAME=TYPE, -D NAME=VALUE");
            return false;
        }
        if (!value.ptr) {
            if (!take_word(r, &next))
                return ctx_diag(r->ctx, word.span, comment_value, option->name, option->takes);
            value = next.text;
        }
        if (!set_option(r, option, &word, value))
            return false;
    }
    return true;
}

/* Whether the line that begins at `lo` is a comment of ours; r->at is then behind its head. */
static bool is_ours(CommentReader *r, size_t lo, size_t hi) {
    static const char head[] = "tilec:";
    while (lo < hi && str_is_blank(r->text.ptr[lo]))
        lo++;
    if (lo == hi || r->text.ptr[lo] != '#')
        return false;
    lo++;
    while (lo < hi && str_is_blank(r->text.ptr[lo]))
        lo++;
    if (hi - lo < sizeof head - 1 || memcmp(r->text.ptr + lo, head, sizeof head - 1) != 0)
        return false;
    r->at = lo + sizeof head - 1;
    r->end = hi;
    return true;
}

static bool is_comment(Str text, size_t lo, size_t hi) {
    while (lo < hi && str_is_blank(text.ptr[lo]))
        lo++;
    return lo < hi && text.ptr[lo] == '#';
}

static size_t line_begin(Str text, size_t at) {
    while (at > 0 && text.ptr[at - 1] != '\n')
        at--;
    return at;
}

static size_t line_end(Str text, size_t at) {
    while (at < text.len && text.ptr[at] != '\n')
        at++;
    return at;
}

bool comment_read(Ctx *ctx, uint32_t file, const FuncDef *def, KernelComment *comment) {
    *comment = (KernelComment){0};
    CommentReader reader = {.ctx = ctx, .file = file, .comment = comment};
    reader.text = source_get(&ctx->sources, file)->text;
    size_t first = def->name_span.lo;
    if (def->decorators.count && def->decorators.items[0]->span.lo < first)
        first = def->decorators.items[0]->span.lo;
    size_t at = line_begin(reader.text, first);
    while (at > 0) {
        const size_t above = line_begin(reader.text, at - 1);
        if (!is_comment(reader.text, above, at - 1))
            break;
        at = above;
    }
    for (; at < def->name_span.lo; at = line_end(reader.text, at) + 1) {
        const size_t end = line_end(reader.text, at);
        if (!is_ours(&reader, at, end))
            continue;
        if (!comment->span.file)
            comment->span = (Span){file, (uint32_t)at, (uint32_t)end};
        if (!read_options(&reader))
            return false;
    }
    return true;
}
