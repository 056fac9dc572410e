/* Finding the row of an instruction.
 *
 * Modifiers are matched as a set, because ptxas accepts them in any order (atom.global.gpu.acq_rel
 * and atom.acq_rel.gpu.global) but where their order tells source from destination; types are
 * matched in their order. */
#include "sim/parse/parser.h"
#include "sim/parse/table.h"
#include "sim/parse/words.h"

/* The part of `list` up to `separator`; moves the list behind it. */
static Str next_part(const char **list, char separator) {
    const char *begin = *list, *end = begin;
    while (*end && *end != separator)
        end++;
    *list = *end ? end + 1 : end;
    return (Str){begin, (size_t)(end - begin)};
}

static bool part_of(Str alternatives, Str word) {
    const char *end = alternatives.ptr + alternatives.len, *at = alternatives.ptr;
    while (at < end) {
        const char *stop = memchr(at, '|', (size_t)(end - at));
        if (!stop)
            stop = end;
        uint16_t number;
        if (word_fits((Str){at, (size_t)(stop - at)}, word, &number))
            return true;
        at = stop + 1;
    }
    return false;
}

enum { MAX_GROUPS = 32 };

/* The state of matching one row. */
typedef struct Match {
    const Row *row;
    Str groups[MAX_GROUPS];
    bool required[MAX_GROUPS], used[MAX_GROUPS], follows[MAX_GROUPS];
    unsigned group_count, type_count, types_used;
    Str types[MAX_TYPES];
} Match;

static void match_begin(Match *match, const Row *row) {
    *match = (Match){.row = row};
    for (const char *at = row->modifiers; *at;) {
        Str group = next_part(&at, ' ');
        bool required = group.ptr[0] == '!', follows = group.ptr[required] == '>';
        unsigned marks = (unsigned)required + follows;
        match->required[match->group_count] = required;
        match->follows[match->group_count] = follows;
        match->groups[match->group_count++] = (Str){group.ptr + marks, group.len - marks};
    }
    for (const char *at = row->types; *at;)
        match->types[match->type_count++] = next_part(&at, ' ');
}

static bool match_word(Match *match, Str word, Insn *insn) {
    int type = type_find(word);
    if (type >= 0 && match->types_used < match->type_count &&
        part_of(match->types[match->types_used], word)) {
        insn->type[match->types_used++] = (uint8_t)type;
        return true;
    }
    for (unsigned i = 0; i < match->group_count; i++) {
        if (match->used[i] || !part_of(match->groups[i], word) ||
            (match->follows[i] && !match->used[i - 1]))
            continue;
        Word found = word_find(word, &insn->number);
        match->used[i] = true;
        insn->field[word_field[found]] = (uint16_t)found;
        return true;
    }
    return false;
}

/* What is still missing when all words were taken; an empty text when nothing is. */
static Str match_missing(const Match *match) {
    for (unsigned i = 0; i < match->group_count; i++)
        if (match->required[i] && !match->used[i])
            return match->groups[i];
    if (match->types_used < match->type_count)
        return match->types[match->types_used];
    return (Str){"", 0};
}

/* The words taken before one did not fit. */
static unsigned match_row(const Row *row, const Str *words, unsigned count, Insn *insn,
                          Str *missing) {
    Match match;
    match_begin(&match, row);
    memset(insn->type, 0, sizeof insn->type);
    memset(insn->field, 0, sizeof insn->field);
    unsigned taken = 0;
    while (taken < count && match_word(&match, words[taken], insn))
        taken++;
    *missing = match_missing(&match);
    return taken;
}

/* "a, b or c" for "a|b|c", each with its dot. */
static const char *alternatives_text(Arena *arena, Str alternatives) {
    StrBuf out = strbuf(arena);
    strbuf_putc(&out, '.');
    for (size_t i = 0; i < alternatives.len; i++) {
        if (alternatives.ptr[i] != '|') {
            strbuf_putc(&out, alternatives.ptr[i]);
            continue;
        }
        bool last = !memchr(alternatives.ptr + i + 1, '|', alternatives.len - i - 1);
        strbuf_puts(&out, last ? " or ." : ", .");
    }
    return out.ptr;
}

int insn_match(Arena *arena, Str name, const Str *words, unsigned count, Insn *insn,
               const char **problem) {
    unsigned best = 0;
    Str best_missing = {0};
    bool known = false;
    for (unsigned i = 0; i < insn_row_count; i++) {
        if (!str_is(name, insn_rows[i].name))
            continue;
        Str missing;
        unsigned taken = match_row(&insn_rows[i], words, count, insn, &missing);
        if (taken == count && !missing.len) {
            insn->row = &insn_rows[i];
            return -1;
        }
        if (!known || taken > best) {
            best = taken;
            best_missing = missing;
        }
        known = true;
    }
    if (!known)
        *problem = str_format(arena, "unknown instruction `%.*s`", STR_ARG(name));
    else if (best < count && str_is(words[best], "sp"))
        *problem =
            str_format(arena, "sparse forms (`.sp`) of `%.*s` are not simulated", STR_ARG(name));
    else if (best < count)
        *problem = str_format(arena, "`.%.*s` does not fit here in an instruction `%.*s`",
                              STR_ARG(words[best]), STR_ARG(name));
    else
        *problem = str_format(arena, "`%.*s` lacks %s", STR_ARG(name),
                              alternatives_text(arena, best_missing));
    return (int)best;
}
