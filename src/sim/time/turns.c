/* Turns of loops as the clock has them.
 *
 * Within a stretch the clock knows when operands are there and how long units are busy, not the
 * order of instructions. A picture needs one: here each begins when its operands are there, the
 * issue slot of its warp and its unit are free, in the order of the text, and where the stretch is
 * shorter than that all of it moves closer. */
#include "sim/time/turns.h"

#include "sim/state/program.h"

enum { MOST_EVENTS = 1 << 14 };

void turns_note(TimeTurns *turns, TimeWindow *window, TimeEvent event) {
    if (window->events.len < MOST_EVENTS)
        vec_push(turns->arena, &window->events, event);
}

static double later(double a, double b) {
    return a > b ? a : b;
}

void turns_place(TimeWindow *window, double start, double end) {
    double units[TIME_UNITS], slot = start, last = start;
    for (int unit = 0; unit < TIME_UNITS; unit++)
        units[unit] = start;
    for (size_t i = window->stretch; i < window->events.len; i++) {
        TimeEvent *event = &window->events.data[i];
        if (event->waits)
            continue;
        const double begin =
            later(later(event->ready, slot), event->busy > 0 ? units[event->unit] : 0);
        event->end = later(event->end + begin - event->ready, begin);
        event->ready = begin;
        slot = begin + event->issues;
        if (event->busy > 0)
            units[event->unit] = begin + event->busy;
        last = later(last, later(slot, begin + event->busy));
    }
    const double closer = last > end && last > start ? (end - start) / (last - start) : 1;
    for (size_t i = window->stretch; i < window->events.len && closer < 1; i++) {
        TimeEvent *event = &window->events.data[i];
        if (event->waits)
            continue;
        const double begin = start + (event->ready - start) * closer;
        event->end = later(event->end + begin - event->ready, begin);
        event->ready = begin;
        event->busy *= closer;
        event->replays *= closer;
        event->issues *= closer;
    }
    window->stretch = window->events.len;
}

static TimeTurn *loop_of(TimeTurns *turns, uint32_t branch) {
    vec_for_each (loop, &turns->loops)
        if (loop->branch == branch)
            return loop;
    return NULL;
}

static void keep(TimeTurns *turns, TimeTurn *loop, const TimeWindow *window, double clocks) {
    const TimeEvents free = loop->kept[1].events;
    loop->kept[1] = loop->kept[0];
    loop->kept[0].number = loop->turns;
    loop->kept[0].start = window->start;
    loop->kept[0].clocks = clocks;
    loop->kept[0].events = free;
    loop->kept[0].events.len = 0;
    vec_for_each (event, &window->events)
        vec_push(turns->arena, &loop->kept[0].events, *event);
}

/* A branch that is not taken ends a turn only of the loop that the warp is in: loops that ask a
 * barrier again and again are left at once by those who come late. */
void turns_back(TimeTurns *turns, TimeWindow *window, bool taken, const Warp *warp, double now) {
    const uint32_t branch = warp->current->pc;
    if (!taken && window->branch != branch)
        return;
    TimeTurn *loop = loop_of(turns, branch);
    if (!loop) {
        vec_push(turns->arena, &turns->loops,
                 (TimeTurn){.branch = branch, .warp = warp->index, .program = warp->cta->number});
        loop = &turns->loops.data[turns->loops.len - 1];
    }
    const bool own = loop->warp == warp->index && loop->program == warp->cta->number;
    loop->turns += own;
    if (own && window->branch == branch && window->events.len < MOST_EVENTS &&
        !(loop->turns & (loop->turns - 1)))
        keep(turns, loop, window, now - window->start);
    window->events.len = window->stretch = 0;
    window->branch = taken ? branch : NO_PC;
    window->start = now;
}

static SimEvent told(const TimeEvent *event, double start) {
    const double busy =
        event->waits ? event->end - event->ready : later(event->busy, event->issues);
    return (SimEvent){.insn = event->pc,
                      .from = event->ready - start,
                      .to = event->ready + busy - start,
                      .until = later(event->end, event->ready + busy) - start,
                      .replays = event->replays,
                      .waits = event->waits};
}

const SimTurn *turns_tell(const TimeTurns *turns, Arena *arena, uint32_t *count) {
    SimTurn *all = ARENA_ARRAY(arena, SimTurn, turns->loops.len + 1);
    *count = 0;
    vec_for_each (loop, &turns->loops) {
        /* The last turn is often another one than those before it. */
        const int which = loop->kept[0].number == loop->turns && loop->kept[1].events.len;
        const TimeEvents *events = &loop->kept[which].events;
        if (!events->len)
            continue;
        SimEvent *list = ARENA_ARRAY(arena, SimEvent, events->len);
        for (size_t i = 0; i < events->len; i++)
            list[i] = told(&events->data[i], loop->kept[which].start);
        all[(*count)++] = (SimTurn){.branch = loop->branch,
                                    .warp = loop->warp,
                                    .program = loop->program,
                                    .number = loop->kept[which].number,
                                    .of = loop->turns,
                                    .clocks = loop->kept[which].clocks,
                                    .events = list,
                                    .count = (uint32_t)events->len};
    }
    return all;
}
