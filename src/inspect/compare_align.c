/* Which lines and which loops of two kernels are the same.
 *
 * Files are the same by their paths, else by their names, and the file of most instructions is that
 * of the other kernel. Of two versions of a file lines are the same where their texts are, in an
 * order that both have: the longest common subsequence.
 *
 * Loops are the same by the lines that they stand at and that they are made of, the most similar
 * ones first, as long as no two of them are within each other the other way round. Where one side
 * has no lines, loops are the same by their order: the sequence of pairs whose instructions are the
 * most similar in all. */
#include "inspect/compare_parts.h"

#include <math.h>
#include <stdlib.h>

/* Entries of a table of all pairs; of more lines and loops those of the same number are the same.
 */
enum { MAX_TABLE = 1 << 22 };

/* Lines. */

/* Lines of one file: a range, as they are sorted by file. */
typedef struct FileLines {
    Str path;
    uint32_t begin, end, count;
    int32_t other; /* of the other side; -1: none */
} FileLines;
typedef VEC(FileLines) FileList;

static FileList files_of(Arena *arena, const CodeFacts *facts) {
    FileList files = {0};
    for (uint32_t i = 0; i < facts->lines.len; i++) {
        const CodeLine *line = &facts->lines.data[i];
        if (!files.len || !str_eq(files.data[files.len - 1].path, line->file))
            vec_push(arena, &files, ((FileLines){line->file, i, i, 0, -1}));
        FileLines *file = &files.data[files.len - 1];
        file->end = i + 1;
        file->count += line->count;
    }
    return files;
}

static Str base_name(Str path) {
    const char *slash = path.len ? memrchr(path.ptr, '/', path.len) : NULL;
    const size_t skip = slash ? (size_t)(slash - path.ptr) + 1 : 0;
    return (Str){path.ptr + skip, path.len - skip};
}

static void pair_files_if(FileList *a, FileList *b, bool (*same)(Str, Str)) {
    for (size_t i = 0; i < a->len; i++)
        for (size_t j = 0; j < b->len && a->data[i].other < 0; j++)
            if (b->data[j].other < 0 && same(a->data[i].path, b->data[j].path)) {
                a->data[i].other = (int32_t)j;
                b->data[j].other = (int32_t)i;
            }
}

static bool same_path(Str a, Str b) {
    return str_eq(a, b);
}

static bool same_name(Str a, Str b) {
    return str_eq(base_name(a), base_name(b));
}

static int32_t main_file(const FileList *files) {
    int32_t most = -1;
    for (size_t i = 0; i < files->len; i++)
        if (most < 0 || files->data[i].count > files->data[most].count)
            most = (int32_t)i;
    return most;
}

static void pair_files(FileList *a, FileList *b) {
    pair_files_if(a, b, same_path);
    pair_files_if(a, b, same_name);
    const int32_t x = main_file(a), y = main_file(b);
    if (x >= 0 && y >= 0 && a->data[x].other < 0 && b->data[y].other < 0) {
        a->data[x].other = y;
        b->data[y].other = x;
    }
}

static Str trimmed(Str text) {
    while (text.len && (*text.ptr == ' ' || *text.ptr == '\t'))
        text = (Str){text.ptr + 1, text.len - 1};
    while (text.len && strchr(" \t\r", text.ptr[text.len - 1]))
        text.len--;
    return text;
}

static bool same_text(const CodeLine *a, const CodeLine *b) {
    const Str text = trimmed(a->text);
    return text.len && str_eq(text, trimmed(b->text));
}

/* Lines of the same number are the same: nothing says that these are two versions. */
static bool is_one_version(const CodeFacts *a, const FileLines *x, const CodeFacts *b,
                           const FileLines *y) {
    bool common = false;
    for (uint32_t i = x->begin, j = y->begin; i < x->end && j < y->end;) {
        const CodeLine *p = &a->lines.data[i], *q = &b->lines.data[j];
        if (p->line == q->line) {
            if (p->text.len && q->text.len && !str_eq(trimmed(p->text), trimmed(q->text)))
                return false;
            common = true;
        }
        i += p->line <= q->line;
        j += q->line <= p->line;
    }
    return common || !a->lines.data[x->begin].text.len || !b->lines.data[y->begin].text.len;
}

static void pair_by_number(const CodeFacts *a, const FileLines *x, const CodeFacts *b,
                           const FileLines *y, int32_t *other) {
    for (uint32_t i = x->begin, j = y->begin; i < x->end && j < y->end;) {
        const uint32_t p = a->lines.data[i].line, q = b->lines.data[j].line;
        if (p == q)
            other[i] = (int32_t)j;
        i += p <= q;
        j += q <= p;
    }
}

/* As many lines on both sides between two that are the same are those lines, with other words. */
static void pair_changed(uint32_t i, uint32_t end_i, uint32_t j, uint32_t end_j, int32_t *other) {
    if (end_i - i != end_j - j)
        return;
    for (; i < end_i; i++, j++)
        other[i] = (int32_t)j;
}

static void pair_by_text(Arena *arena, const CodeFacts *a, const FileLines *x, const CodeFacts *b,
                         const FileLines *y, int32_t *other) {
    const uint32_t n = x->end - x->begin, m = y->end - y->begin;
    const CodeLine *p = a->lines.data + x->begin, *q = b->lines.data + y->begin;
    if ((uint64_t)(n + 1) * (m + 1) > MAX_TABLE) {
        pair_by_number(a, x, b, y, other);
        return;
    }
    /* Of what is left from i and j on: how many lines can be paired. */
    uint32_t *left = ARENA_ARRAY(arena, uint32_t, (size_t)(n + 1) * (m + 1));
#define LEFT(i, j) left[(size_t)(i) * (m + 1) + (j)]
    for (uint32_t i = n; i--;)
        for (uint32_t j = m; j--;) {
            const uint32_t skip = LEFT(i + 1, j) > LEFT(i, j + 1) ? LEFT(i + 1, j) : LEFT(i, j + 1);
            LEFT(i, j) = same_text(&p[i], &q[j]) ? LEFT(i + 1, j + 1) + 1 : skip;
        }
    uint32_t i = 0, j = 0, last_i = 0, last_j = 0;
    while (i < n && j < m) {
        if (same_text(&p[i], &q[j])) {
            pair_changed(x->begin + last_i, x->begin + i, y->begin + last_j, y->begin + j, other);
            other[x->begin + i++] = (int32_t)(y->begin + j++);
            last_i = i;
            last_j = j;
        } else if (LEFT(i + 1, j) >= LEFT(i, j + 1)) {
            i++;
        } else {
            j++;
        }
    }
    pair_changed(x->begin + last_i, x->end, y->begin + last_j, y->end, other);
#undef LEFT
}

/* Pairs from the index of B's for each of A's, or -1; what B has alone stands in front of the first
 * pair behind it. */
static CodePairs make_pairs(Arena *arena, const int32_t *other, size_t a_count, size_t b_count) {
    CodePairs pairs = {0};
    bool *taken = ARENA_ARRAY(arena, bool, b_count + 1);
    for (size_t i = 0; i < a_count; i++)
        if (other[i] >= 0)
            taken[other[i]] = true;
    int32_t next = 0;
    for (size_t i = 0; i <= a_count; i++) {
        const int32_t until = i == a_count ? (int32_t)b_count : other[i];
        for (; next < until; next++)
            if (!taken[next])
                vec_push(arena, &pairs, ((CodePair){-1, next}));
        if (i < a_count)
            vec_push(arena, &pairs, ((CodePair){(int32_t)i, other[i]}));
    }
    return pairs;
}

CodePairs align_lines(Arena *arena, const CodeFacts *a, const CodeFacts *b) {
    FileList x = files_of(arena, a), y = files_of(arena, b);
    int32_t *other = ARENA_ARRAY(arena, int32_t, a->lines.len + 1);
    for (size_t i = 0; i < a->lines.len; i++)
        other[i] = -1;
    pair_files(&x, &y);
    vec_for_each (file, &x) {
        if (file->other < 0)
            continue;
        const FileLines *to = &y.data[file->other];
        if (is_one_version(a, file, b, to))
            pair_by_number(a, file, b, to, other);
        else
            pair_by_text(arena, a, file, b, to, other);
    }
    return make_pairs(arena, other, a->lines.len, b->lines.len);
}

/* Loops. */

FormPairs pair_forms(Arena *arena, const FormCounts *a, const FormCounts *b) {
    FormPairs pairs = {0};
    for (size_t i = 0, j = 0; i < a->len || j < b->len;) {
        const FormCount *x = i < a->len ? &a->data[i] : NULL;
        const FormCount *y = j < b->len ? &b->data[j] : NULL;
        int order = !x ? 1 : !y ? -1 : 0;
        if (!order)
            order = form_order(x, y);
        const FormCount *first = order > 0 ? y : x;
        vec_push(arena, &pairs,
                 ((FormPair){first->form, first->class, order > 0 ? 0 : x->count,
                             order < 0 ? 0 : y->count}));
        i += order <= 0;
        j += order >= 0;
    }
    return pairs;
}

/* The cosine of what two loops are made of: 1 for the same mixture, 0 where nothing is common. */
static double form_similarity(const FormCounts *a, const FormCounts *b) {
    double dot = 0, x = 0, y = 0;
    for (size_t i = 0, j = 0; i < a->len || j < b->len;) {
        int order = i == a->len ? 1 : j == b->len ? -1 : 0;
        if (!order)
            order = form_order(&a->data[i], &b->data[j]);
        const double p = order <= 0 ? a->data[i].count : 0, q = order >= 0 ? b->data[j].count : 0;
        dot += p * q;
        x += p * p;
        y += q * q;
        i += order <= 0;
        j += order >= 0;
    }
    return x > 0 && y > 0 ? dot / sqrt(x * y) : 0;
}

/* What a loop is for: where only one of two multiplies on tensor cores, they are not for the same.
 */
static double purpose_difference(const CodeLoop *x, const CodeLoop *y) {
    const bool of_x = code_class_count(&x->forms, CLASS_TENSOR) != 0;
    return of_x != (code_class_count(&y->forms, CLASS_TENSOR) != 0);
}

typedef struct Aligner {
    Arena *arena;
    const CodeFacts *a, *b;
    const int32_t *line; /* of A's: B's; -1: none */
    double *weight;      /* by line of B: instructions that the loop of A at hand has there */
} Aligner;

static double line_similarity(const Aligner *al, const CodeLoop *x, const CodeLoop *y) {
    double dot = 0, of_x = 0, of_y = 0;
    vec_for_each (use, &x->lines)
        of_x += (double)use->count * use->count;
    vec_for_each (use, &y->lines) {
        of_y += (double)use->count * use->count;
        dot += al->weight[use->line] * use->count;
    }
    return of_x > 0 && of_y > 0 ? dot / sqrt(of_x * of_y) : 0;
}

static double depth_difference(const CodeLoop *x, const CodeLoop *y) {
    return x->depth > y->depth ? x->depth - y->depth : y->depth - x->depth;
}

typedef struct Candidate {
    double score;
    int32_t a, b;
} Candidate;
typedef VEC(Candidate) Candidates;

static void weigh(const Aligner *al, const CodeLoop *x, double sign) {
    vec_for_each (use, &x->lines)
        if (al->line[use->line] >= 0)
            al->weight[al->line[use->line]] += sign * use->count;
}

/* Pairs of loops that have lines in common; standing at the same one is almost enough. */
static Candidates candidates_by_line(const Aligner *al) {
    Candidates list = {0};
    for (size_t i = 0; i < al->a->loops.len; i++) {
        const CodeLoop *x = &al->a->loops.data[i];
        weigh(al, x, 1);
        for (size_t j = 0; j < al->b->loops.len; j++) {
            const CodeLoop *y = &al->b->loops.data[j];
            if (x->is_wait != y->is_wait)
                continue;
            const bool same_at =
                x->at != NO_LINE && y->at != NO_LINE && al->line[x->at] == (int32_t)y->at;
            const double score = 0.45 * same_at + 0.35 * line_similarity(al, x, y) +
                                 0.2 * form_similarity(&x->forms, &y->forms) -
                                 0.15 * purpose_difference(x, y) - 0.03 * depth_difference(x, y);
            if (score >= 0.4)
                vec_push(al->arena, &list, ((Candidate){score, (int32_t)i, (int32_t)j}));
        }
        weigh(al, x, -1);
    }
    return list;
}

/* The best first; of equal ones those nearest to the same place in the order. */
static int by_score(const void *p, const void *q) {
    const Candidate *x = p, *y = q;
    if (fabs(x->score - y->score) > 1e-9)
        return x->score > y->score ? -1 : 1;
    const int32_t from_x = abs(x->a - x->b), from_y = abs(y->a - y->b);
    if (from_x != from_y)
        return from_x < from_y ? -1 : 1;
    return x->a != y->a ? (x->a > y->a) - (x->a < y->a) : (x->b > y->b) - (x->b < y->b);
}

static bool is_within(const CodeLoops *loops, int32_t loop, int32_t outer) {
    while (loop >= 0 && loop != outer)
        loop = loops->data[loop].parent;
    return loop == outer;
}

/* Whether the pair turns none of those chosen inside out. */
static bool keeps_nesting(const Aligner *al, const int32_t *other, int32_t a, int32_t b) {
    const CodeLoops *x = &al->a->loops, *y = &al->b->loops;
    for (int32_t i = 0; i < (int32_t)x->len; i++) {
        if (other[i] < 0 || i == a)
            continue;
        if ((is_within(x, a, i) && is_within(y, other[i], b)) ||
            (is_within(x, i, a) && is_within(y, b, other[i])))
            return false;
    }
    return true;
}

static void choose_best(const Aligner *al, Candidates *list, int32_t *other) {
    bool *taken = ARENA_ARRAY(al->arena, bool, al->b->loops.len + 1);
    if (list->len)
        qsort(list->data, list->len, sizeof *list->data, by_score);
    vec_for_each (pair, list) {
        if (other[pair->a] >= 0 || taken[pair->b] || !keeps_nesting(al, other, pair->a, pair->b))
            continue;
        other[pair->a] = pair->b;
        taken[pair->b] = true;
    }
}

static double order_score(const CodeLoop *x, const CodeLoop *y) {
    if (x->is_wait != y->is_wait)
        return 0;
    const double score = form_similarity(&x->forms, &y->forms) - 0.3 * purpose_difference(x, y) -
                         0.1 * depth_difference(x, y);
    return score >= 0.5 ? score : 0;
}

/* The sequence of pairs, in the order of both, of the largest sum of scores. */
static void choose_by_order(const Aligner *al, int32_t *other) {
    const CodeLoops *a = &al->a->loops, *b = &al->b->loops;
    const size_t n = a->len, m = b->len;
    double *best = ARENA_ARRAY(al->arena, double, (n + 1) * (m + 1));
    double *score = ARENA_ARRAY(al->arena, double, n *m + 1);
#define BEST(i, j) best[(i) * (m + 1) + (j)]
    for (size_t i = n; i--;)
        for (size_t j = m; j--;) {
            const double own = score[i * m + j] = order_score(&a->data[i], &b->data[j]);
            const double skip = fmax(BEST(i + 1, j), BEST(i, j + 1));
            BEST(i, j) = own > 0 ? fmax(skip, own + BEST(i + 1, j + 1)) : skip;
        }
    for (size_t i = 0, j = 0; i < n && j < m;) {
        const double own = score[i * m + j];
        if (own > 0 && BEST(i, j) <= own + BEST(i + 1, j + 1)) {
            other[i++] = (int32_t)j++;
        } else if (BEST(i + 1, j) >= BEST(i, j + 1)) {
            i++;
        } else {
            j++;
        }
    }
#undef BEST
}

CodePairs align_loops(Arena *arena, const CodeFacts *a, const CodeFacts *b,
                      const CodePairs *lines) {
    const size_t n = a->loops.len, m = b->loops.len;
    Aligner al = {.arena = arena, .a = a, .b = b};
    int32_t *other = ARENA_ARRAY(arena, int32_t, n + 1);
    int32_t *line = ARENA_ARRAY(arena, int32_t, a->lines.len + 1);
    bool have_lines = false;
    for (size_t i = 0; i < n; i++)
        other[i] = -1;
    for (size_t i = 0; i < a->lines.len; i++)
        line[i] = -1;
    vec_for_each (pair, lines) {
        if (pair->a >= 0)
            line[pair->a] = pair->b;
        have_lines |= pair->a >= 0 && pair->b >= 0;
    }
    al.line = line;
    al.weight = ARENA_ARRAY(arena, double, b->lines.len + 1);
    if ((n + 1) * (m + 1) > MAX_TABLE) {
        for (size_t i = 0; i < n && i < m; i++)
            other[i] = a->loops.data[i].depth == b->loops.data[i].depth ? (int32_t)i : -1;
    } else if (have_lines) {
        Candidates list = candidates_by_line(&al);
        choose_best(&al, &list, other);
    } else {
        choose_by_order(&al, other);
    }
    return make_pairs(arena, other, n, m);
}
