/* The table of measures, and how each is taken. */
#include "inspect/compare_parts.h"

const MeasureInfo measure_info[MEASURE_COUNT] = {
#define MEASURE(id, name, unit, better, group, what, taken)                                        \
    {name, unit, BETTER_##better, MEASURES_##group, what},
#include "inspect/measures.def"
};

int measure_find(Str name) {
    for (int i = 0; i < MEASURE_COUNT; i++)
        if (str_is(name, measure_info[i].name))
            return i;
    return -1;
}

const char *measure_list(Arena *arena) {
    StrBuf out = strbuf(arena);
    for (int i = 0; i < MEASURE_COUNT; i++)
        strbuf_printf(&out, "%s%s", i ? ", " : "", measure_info[i].name);
    return out.ptr;
}

static MeasureValue counted(int64_t value) {
    return (MeasureValue){MEASURED, value, NULL};
}

static MeasureValue unknown(const char *why) {
    return (MeasureValue){MEASURED_NOT, 0, why};
}

static MeasureValue assembled(const CodeTaken *k, int64_t value) {
    return k->resources.known ? counted(value) : unknown(k->not_assembled);
}

static MeasureValue estimated(const CodeTaken *k, int64_t value, int64_t otherwise) {
    return k->resources.known ? counted(value)
                              : (MeasureValue){MEASURED_ESTIMATE, otherwise, k->not_assembled};
}

/* `value`: -1: not known. */
static MeasureValue launched(int64_t value, const char *why) {
    return value < 0 ? unknown(why) : counted(value);
}

static MeasureValue shared_sum(const CodeTaken *k) {
    MeasureValue sum = launched(k->dynamic_shared, "its PTX does not say; --shared does");
    if (sum.state == MEASURED)
        sum.value += (int64_t)k->static_shared;
    return sum;
}

static const char no_threads[] = "its PTX does not say how many threads a CTA has; --threads does";
static const char most_threads[] = "of the most threads that a CTA may have; --threads says it";

static MeasureValue warps(const CodeTaken *k) {
    if (!k->threads)
        return unknown(no_threads);
    const MeasureState state = k->threads_at_most ? MEASURED_ESTIMATE : MEASURED;
    return (MeasureValue){state, (k->threads + 31) / 32, k->threads_at_most ? most_threads : NULL};
}

static Occupancy occupancy_of(const CodeTaken *k) {
    const int32_t registers = k->resources.known ? k->resources.registers : (int32_t)k->live;
    return target_occupancy(k->target, registers, k->threads,
                            (int32_t)((int64_t)k->static_shared + k->dynamic_shared));
}

static MeasureValue occupancy(const CodeTaken *k, bool of_warps) {
    if (!k->target)
        return unknown("the limits of its target are not known");
    if (!k->threads)
        return unknown(no_threads);
    if (k->dynamic_shared < 0)
        return unknown("its PTX does not say how much shared memory a launch adds; --shared does");
    const Occupancy found = occupancy_of(k);
    const char *why = !k->resources.known  ? k->not_assembled
                      : k->threads_at_most ? most_threads
                                           : NULL;
    return (MeasureValue){why ? MEASURED_ESTIMATE : MEASURED, of_warps ? found.warps : found.ctas,
                          why};
}

/* Instructions whose forms begin so. */
static uint32_t forms_of(const CodeTaken *k, const char *begin) {
    uint32_t sum = 0;
    vec_for_each (form, &k->facts->forms)
        if (form->form.len >= strlen(begin) && !memcmp(form->form.ptr, begin, strlen(begin)))
            sum += form->count;
    return sum;
}

void measures_take(const CodeTaken *k, CodeFacts *facts) {
#define MEASURE(id, name, unit, better, group, what, taken) facts->measures[MEASURE_##id] = taken;
#include "inspect/measures.def"
    if (facts->measures[MEASURE_ctas].state != MEASURED_NOT)
        facts->limited_by = str_from(occupancy_limit_name(occupancy_of(k).limit));
}
