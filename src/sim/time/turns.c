/* Turns of loops as the clock has them.
 *
 * Within a stretch the clock knows when operands are there and how long units are busy, not the
 * order of instructions. A picture needs one: here each takes, in the order of the text, the first
 * clocks of its issue slot and its unit that are free once its operands are there. So nothing is
 * shorter than it is, and what comes to its unit late goes on beyond the stretch, beside what the
 * warp does or waits for then. Waits are as the clock has them. */
#include "sim/time/turns.h"

#include "sim/state/program.h"

#include <math.h>

enum { MOST_EVENTS = 1 << 14, MOST_SLOTS = 1 << 17 };

static double later(double a, double b) {
    return a > b ? a : b;
}

static void keep_event(TimeTurns *turns, TimeWindow *window, const TimeEvent *event) {
    if (window->events.len < MOST_EVENTS)
        vec_push(turns->arena, &window->events, *event);
}

/* Makes room for that clock: all new ones are free. */
static void reach(Arena *arena, TimeSlots *slots, uint32_t at) {
    for (uint32_t next = (uint32_t)slots->next.len; next <= at; next++)
        vec_push(arena, &slots->next, next);
}

/* The first free clock from that one on. */
static uint32_t find_free(Arena *arena, TimeSlots *slots, uint32_t at) {
    reach(arena, slots, at);
    uint32_t found = at;
    while (slots->next.data[found] != found) {
        found = slots->next.data[found];
        reach(arena, slots, found);
    }
    for (uint32_t i = at; i < found;) {
        const uint32_t next = slots->next.data[i];
        slots->next.data[i] = found;
        i = next;
    }
    return found;
}

/* Takes so many clocks of a unit, the first ones that are free; gives when they begin, and in
 * `done` when they have ended. */
static double take(Arena *arena, TimeSlots *slots, double at, double clocks, double *done) {
    const double from = floor(later(at - slots->from, 0));
    double begin = at;
    *done = at + clocks;
    if (from > MOST_SLOTS || clocks > MOST_SLOTS)
        return at;
    uint32_t slot = (uint32_t)from;
    for (uint32_t i = 0; i < clocks; i++) {
        slot = find_free(arena, slots, slot);
        slots->next.data[slot] = slot + 1;
        if (!i)
            begin = later(at, slots->from + slot);
    }
    *done = later(begin + clocks, slots->from + slot);
    return begin;
}

void turns_issue(TimeTurns *turns, TimeWindow *window, const Costs *costs, const Cost *cost,
                 TimeEvent event) {
    const RegRef *reads = costs->regs + cost->read_at, *writes = costs->regs + cost->written_at;
    double begin = later(event.ready, window->floor), issued;
    for (uint32_t i = 0; i < cost->read_count; i++)
        begin = later(begin, window->ready[reads[i]]);
    begin = take(turns->arena, &window->units[TIME_ISSUE], begin, event.issues, &issued);
    event.done = issued;
    if (event.busy > 0 && event.unit != TIME_ISSUE)
        begin = take(turns->arena, &window->units[event.unit], begin, event.busy, &event.done);
    if (!event.in_groups)
        event.end += begin - event.ready;
    event.ready = begin;
    event.done = later(event.done, issued);
    event.end = later(event.end, event.done);
    for (uint32_t i = 0; i < cost->written_count; i++)
        window->ready[writes[i]] = event.end;
    keep_event(turns, window, &event);
}

void turns_hold(TimeTurns *turns, TimeWindow *window, TimeEvent event) {
    event.done = event.end;
    if (event.end > event.ready)
        keep_event(turns, window, &event);
    window->floor = event.end;
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

/* What of the unit is taken behind `now`; all else is past. */
static void forget(TimeSlots *slots, double now) {
    const double past = floor(now - slots->from);
    size_t kept = 0;
    for (size_t i = past > 0 ? (size_t)past : 0; i < slots->next.len; i++)
        slots->next.data[kept++] = slots->next.data[i] - (uint32_t)past;
    slots->next.len = kept;
    slots->from += past;
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
    window->events.len = 0;
    /* The clock knows when what this turn made is there; else turns would come ever later. */
    if (window->ready)
        memset(window->ready, 0, window->regs * sizeof *window->ready);
    for (int unit = 0; unit < TIME_UNITS; unit++)
        forget(&window->units[unit], now);
    window->branch = taken ? branch : NO_PC;
    window->start = now;
}

static SimEvent told(const TimeEvent *event, double start) {
    return (SimEvent){.insn = event->pc,
                      .from = event->ready - start,
                      .to = event->done - start,
                      .until = event->end - start,
                      .busy = later(event->busy, event->issues),
                      .replays = event->replays,
                      .queue = event->queues ? sim_unit_name(event->unit) : NULL,
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
