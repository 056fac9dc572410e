#include "sim/time/waits.h"

void waits_create(TimeWaits *waits, Arena *arena, uint32_t insn_count) {
    *waits = (TimeWaits){.arena = arena,
                         .first = ARENA_ARRAY(arena, uint32_t, insn_count + 1),
                         .insn_count = insn_count};
}

void waits_clear(TimeWaits *waits) {
    vec_for_each (pair, &waits->all)
        waits->first[pair->wait.insn] = 0;
    waits->all.len = 0;
}

void waits_add(TimeWaits *waits, uint32_t pc, uint32_t maker, double clocks) {
    if (!waits->first || clocks <= 0 || pc >= waits->insn_count || maker >= waits->insn_count)
        return;
    for (uint32_t i = waits->first[pc]; i; i = waits->all.data[i - 1].next)
        if (waits->all.data[i - 1].wait.maker == maker) {
            waits->all.data[i - 1].wait.clocks += clocks;
            return;
        }
    const TimeWait pair = {.wait = {pc, maker, clocks}, .next = waits->first[pc]};
    vec_push(waits->arena, &waits->all, pair);
    waits->first[pc] = (uint32_t)waits->all.len;
}
