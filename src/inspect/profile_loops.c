/* Loops of the PTX, and which of them a loop of the Tile IR became: the one made of the same lines
 * of the source. Its branch back alone says little: what code generation puts last may be of any
 * line of the loop. */
#include "inspect/profile.h"

static bool has_place(const TracePlaces *places, TracePlace at) {
    vec_for_each (place, places)
        if (place->file == at.file && place->line == at.line)
            return true;
    return false;
}

static void add_place(Arena *arena, TracePlaces *places, TracePlace at) {
    if (at.file && at.line && !has_place(places, at))
        vec_push(arena, places, at);
}

/* Every warp of the launch comes by the first instruction once. */
void profile_add_loop(Arena *arena, Profile *profile, const SimModule *module,
                      const SimCounts *counts, const SimTime *time, uint32_t branch) {
    const SimInsn insn = sim_insn(module, branch);
    const uint64_t turns = sim_count(counts, branch).warps;
    uint64_t warps = 0;
    for (uint32_t i = 0; i <= branch && !warps; i++)
        warps = sim_count(counts, i).warps;
    if (!turns || !insn.file)
        return;
    ProfileLoop loop = {.at = {insn.file, insn.line},
                        .turns = (double)turns / (double)warps,
                        .head = insn.head,
                        .branch = branch};
    for (uint32_t i = insn.head; i <= branch; i++) {
        const SimInsn inner = sim_insn(module, i);
        add_place(arena, &loop.places, (TracePlace){inner.file, inner.line});
        if (!time || !time->spent)
            continue;
        const SimCount count = sim_count(counts, i);
        loop.cycles += time->spent[i].cycles;
        loop.queued += time->spent[i].crowded / loop.turns;
        if (time->spent[i].crowded > time->spent[loop.queued_for].crowded || i == insn.head)
            loop.queued_for = i;
        loop.wavefronts += (double)count.wavefronts / loop.turns / (double)sim_programs(counts);
        loop.replays += (double)(count.wavefronts - count.ideal_wavefronts) / loop.turns /
                        (double)sim_programs(counts);
        for (int unit = 0; unit < SIM_UNITS; unit++)
            loop.units.clocks[unit] += time->units[i].clocks[unit] / loop.turns;
    }
    if (time)
        profile_add_turn(arena, module, time, &loop);
    vec_push(arena, &profile->loops, loop);
}

static void places_of(Ctx *ctx, const Block *block, TracePlaces *places) {
    block_for_each (op, block) {
        add_place(&ctx->arena, places, trace_place(ctx, op->span));
        for (uint32_t r = 0; r < op->nregions; r++)
            places_of(ctx, op->regions[r], places);
    }
}

/* Lines that both have, of those that one of them has. */
static double alike(const TracePlaces *a, const TracePlaces *b) {
    size_t both = 0;
    vec_for_each (place, a)
        both += has_place(b, *place);
    return (double)both / (double)(a->len + b->len - both);
}

const ProfileLoop *profile_loop(const Profile *profile, Ctx *ctx, const Op *loop) {
    static const double LEAST = 0.5;
    const ProfileLoop *found = NULL;
    double best = 0;
    TracePlaces places = {0};
    const TracePlace at = trace_place(ctx, loop->span);
    add_place(&ctx->arena, &places, at);
    places_of(ctx, loop->regions[loop->nregions - 1], &places);
    vec_for_each (ran, &profile->loops) {
        const bool same = ran->at.file == at.file && ran->at.line == at.line;
        const double how = alike(&ran->places, &places) + (same ? LEAST : 0);
        if (how < LEAST || how < best || (found && how == best && ran->cycles <= found->cycles))
            continue;
        best = how;
        found = ran;
    }
    return found;
}
