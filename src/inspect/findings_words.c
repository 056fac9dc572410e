/* What is found of words of shared memory that are asked for more than once, and of bytes of global
 * memory that several programs ask for.
 *
 * Passes beyond bank conflicts are of four kinds, which add up: those that would bring each word
 * once since it was written; those because lanes of one access ask for the same words, so that a
 * pass brings few of them; those for words that another warp has read; and those for words that the
 * warp itself has read. Each of the last three is a finding of its own, where the launch gains by
 * it. */
#include "inspect/findings.h"

enum { WORDS_OF_PASS = 32, WORTH_TIMES = 2, WORTH_AGAIN_PERCENT = 5 };

static double passes_of(double words) {
    return words / WORDS_OF_PASS;
}

static double few_passes(const SimCount *count) {
    const double less = (double)count->ideal_wavefronts - passes_of((double)count->words);
    return count->words && less > 0 ? less : 0;
}

static double own_passes(const SimCount *count) {
    return passes_of((double)count->own_words);
}

static double other_passes(const SimCount *count) {
    return passes_of((double)(count->words - count->first_words - count->own_words));
}

static double part_of(const SimCount *count, double passes) {
    return count->wavefronts ? passes / (double)count->wavefronts : 0;
}

static double few_part(const SimCount *count) {
    return part_of(count, few_passes(count));
}

static double own_part(const SimCount *count) {
    return part_of(count, own_passes(count));
}

static double other_part(const SimCount *count) {
    return part_of(count, other_passes(count));
}

/* The product that the line reads operands of; NULL: none. */
static const TraceDot *dot_that_reads(const Finder *f, TracePlace at) {
    vec_for_each (dot, &f->trace->dots)
        for (uint32_t i = 0; i < 2; i++)
            if (finding_dot_reads(f, dot, i, at))
                return dot;
    return NULL;
}

/* Operands of a product that threads do are read for each few of its multiply-adds, whichever of
 * the three it is: it follows from the product, and goes with it. */
static void follow_product(const Finder *f, Finding *found) {
    const TraceDot *dot = dot_that_reads(f, found->at);
    if (!dot || strcmp(dot->unit, "fma") != 0)
        return;
    found->cause = (struct FindingCause){finding_name(FINDING_fma_dot), dot->at};
    found->remedy = str_format(
        f->arena,
        "The product at line %u is done by threads, which fetch its operands for each few "
        "multiply-adds. On tensor cores, which take each operand once, this goes too.",
        dot->at.line);
}

/* Readings of the line, all of it once. */
static SimCount readings_at(const Finder *f, TracePlace at) {
    SimCount all = {0};
    vec_for_each (ptx, &f->profile->ptx) {
        if (!finding_is_at(ptx, at) || !ptx->count.words)
            continue;
        all.words += ptx->count.words;
        all.first_words += ptx->count.first_words;
        all.own_words += ptx->count.own_words;
        all.wavefronts += ptx->count.wavefronts;
        all.ideal_wavefronts += ptx->count.ideal_wavefronts;
    }
    return all;
}

/* The figures of a kind: how many passes it is, and what they bring. */
typedef const char *WordsFigures(Arena *arena, const SimCount *all);

static const char *few_figures(Arena *arena, const SimCount *all) {
    return str_format(arena, "since each brings %.1f different words, not %d",
                      (double)all->words / (double)all->ideal_wavefronts, WORDS_OF_PASS);
}

static const char *other_figures(Arena *arena, const SimCount *all) {
    const double readers =
        all->first_words ? (double)(all->words - all->own_words) / (double)all->first_words : 1;
    return str_format(arena, "for words that another warp has read: a word is read by %.1f warps",
                      readers);
}

static const char *own_figures(Arena *arena, const SimCount *all) {
    const double readers = (double)(all->words - all->own_words);
    return str_format(arena, "for words that the warp itself has read: it reads each %.1f times",
                      readers > 0 ? (double)all->words / readers : 0);
}

/* By line: the first reader of a word may be another line's. */
static void find_words(Finder *f, double (*passes)(const SimCount *), FindingPart *part,
                       WordsFigures *figures) {
    if (!f->profile || f->total <= 0)
        return;
    vec_for_each (line, &f->profile->lines) {
        const SimCount all = readings_at(f, line->at);
        const double cycles = finding_cycles_of(f, line->at, part, NULL);
        if ((double)all.ideal_wavefronts < WORTH_TIMES * passes_of((double)all.first_words) ||
            finding_percent(f, cycles) < WORTH_AGAIN_PERCENT)
            continue;
        const double queued = finding_queued_of(f, line->at, part);
        finding_save_part(f, line->at, part, NULL);
        f->must_gain = true;
        Finding *found =
            finding_add(f, line->at, cycles,
                        "%.0f wavefronts of a program read here, %.0f of them %s; about %.0f of "
                        "%.0f clocks of a "
                        "warp%s",
                        (double)all.wavefronts / f->programs, passes(&all) / f->programs,
                        figures(f->arena, &all), cycles, f->total, finding_queue_text(f, queued));
        if (!found)
            continue;
        follow_product(f, found);
        found->ptx_line = finding_worst(f, line->at, part);
    }
}

void find_few_words(Finder *f) {
    find_words(f, few_passes, few_part, few_figures);
}

void find_shared_by_warps(Finder *f) {
    find_words(f, other_passes, other_part, other_figures);
}

void find_read_again(Finder *f) {
    find_words(f, own_passes, own_part, own_figures);
}

/* Of global memory, between SMs and L2: what each program reads that no other did before it. */
void find_read_by_programs(Finder *f) {
    enum { WORTH_READERS = 2 };
    if (!f->profile || !f->profile->has_time || !f->profile->read.distinct)
        return;
    const SimTime *time = &f->profile->time;
    const double clocked = time->moved - (double)f->profile->written.moved;
    const double counted = (double)f->profile->read.moved; /* more where L1 has it */
    const double read = clocked < counted ? clocked : counted;
    const double once = (double)f->profile->read.distinct;
    if (read < WORTH_READERS * once)
        return;
    f->saving.again = (read - once) / time->moved;
    f->must_gain = true;
    finding_add(f, (TracePlace){0}, 0,
                "%.0f bytes come from L2 where %.0f are distinct: each is read by %.1f programs",
                read, once, read / once);
}
