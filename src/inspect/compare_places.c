/* Which line of the kernel's own source an instruction belongs to.
 *
 * Compilers differ in how they inline: the sum of one is written in a library that another has not.
 * What they have in common is the file of the kernel. So of a place and the calls around it, from
 * within outwards, the first in the file of the outermost one counts. PTX says the calls in .loc:
 *
 *     .loc 2 263 15, function_name $L__info_string0, inlined_at 1 42 18
 *
 * or, where only lines were asked for, in a comment that LLVM adds:
 *
 *     .loc 2 263 15   // standard.py:263:15 @[ kernel.py:42:18 ] */
#include "inspect/compare_parts.h"

/* "kernel.py:42:18" of a comment. */
typedef struct Mention {
    Str name;
    uint32_t line, column;
} Mention;

static Str file_part(Str path) {
    const char *slash = path.len ? memrchr(path.ptr, '/', path.len) : NULL;
    const size_t skip = slash ? (size_t)(slash - path.ptr) + 1 : 0;
    return (Str){path.ptr + skip, path.len - skip};
}

static Str trim(Str text) {
    while (text.len && strchr(" \t", *text.ptr))
        text = (Str){text.ptr + 1, text.len - 1};
    while (text.len && strchr(" \t\r]", text.ptr[text.len - 1]))
        text.len--;
    return text;
}

/* Takes ":123" from the end. */
static bool take_number(Str *text, uint32_t *number) {
    uint64_t value = 0, scale = 1;
    size_t digits = 0;
    for (; digits < text->len && digits < 9; digits++, scale *= 10) {
        const char c = text->ptr[text->len - 1 - digits];
        if (c < '0' || c > '9')
            break;
        value += scale * (uint64_t)(c - '0');
    }
    if (!digits || digits == text->len || text->ptr[text->len - 1 - digits] != ':')
        return false;
    *number = (uint32_t)value;
    text->len -= digits + 1;
    return true;
}

static bool read_mention(Str text, Mention *mention) {
    text = trim(text);
    if (!take_number(&text, &mention->column) || !take_number(&text, &mention->line))
        return false;
    mention->name = file_part(text);
    return mention->name.len != 0;
}

/* The comment behind a .loc. */
static Str comment_of(const SimModule *module, const Place *place) {
    const Str text = module->text;
    if (place->lo >= text.len)
        return (Str){"", 0};
    const char *begin = text.ptr + place->lo;
    const char *end = memchr(begin, '\n', text.len - place->lo);
    const size_t len = end ? (size_t)(end - begin) : text.len - place->lo;
    const char *comment = memmem(begin, len, "//", 2);
    return comment ? (Str){comment + 2, len - (size_t)(comment + 2 - begin)} : (Str){"", 0};
}

/* The next part of the comment, up to "@[". */
static Str next_part(Str *comment) {
    const char *at = comment->len ? memmem(comment->ptr, comment->len, "@[", 2) : NULL;
    const size_t len = at ? (size_t)(at - comment->ptr) : comment->len;
    const Str part = {comment->ptr, len};
    const size_t skip = at ? len + 2 : len;
    *comment = (Str){comment->ptr + skip, comment->len - skip};
    return part;
}

static uint32_t file_named(const SimModule *module, Str name) {
    for (uint32_t i = 1; i < module->file_names.len; i++)
        if (str_eq(file_part(module->file_names.data[i]), name))
            return i;
    return 0;
}

/* What the comment says of the calls around the place; the place itself where it says nothing that
 * fits. */
static Place place_by_comment(const SimModule *module, const Place *place) {
    const Str comment = comment_of(module, place);
    Mention own, outer, mention = {0};
    Str rest = comment;
    if (!read_mention(next_part(&rest), &own) || own.line != place->line ||
        own.column != place->column || !rest.len)
        return *place;
    outer = own;
    while (rest.len)
        if (!read_mention(next_part(&rest), &outer))
            return *place;
    for (rest = comment; rest.len;)
        if (read_mention(next_part(&rest), &mention) && str_eq(mention.name, outer.name))
            break;
    const uint32_t file =
        str_eq(outer.name, own.name) ? place->file : file_named(module, outer.name);
    return file ? (Place){.file = file, .line = mention.line} : *place;
}

Place own_place(const SimModule *module, uint32_t index) {
    const Place *places = module->places.data, *outer = &places[index], *own = outer;
    if (!own->caller)
        return place_by_comment(module, own);
    while (outer->caller)
        outer = &places[outer->caller];
    while (own->file != outer->file)
        own = &places[own->caller];
    return *own;
}
