/* The tables of compilation targets and their features, their look-ups, and what an SM holds at
 * once. */
#include "target/target.h"

const Target target_table[] = {
#define TARGET(name, capability, llvm, features, shared_block, shared_sm, threads, blocks)         \
    {name, capability, llvm, features, shared_block, shared_sm, threads, blocks},
#include "target/targets.def"
};

const int target_count = sizeof target_table / sizeof target_table[0];

/* Code for an architecture with suffix `a` runs on that very architecture only (PTX ISA, .target).
 */
bool target_is_specific(const Target *target) {
    return target->name[strlen(target->name) - 1] == 'a';
}

const Target *target_by_name(Str name) {
    for (int i = 0; i < target_count; i++) {
        Str full = str_from(target_table[i].name);
        Str general = {full.ptr, full.len - target_is_specific(&target_table[i])};
        if (str_eq(name, full) || str_eq(name, general))
            return &target_table[i];
    }
    return NULL;
}

const Target *target_by_capability(int capability) {
    const Target *best = NULL;
    for (int i = 0; i < target_count; i++) {
        const Target *target = &target_table[i];
        bool runs = target_is_specific(target) ? target->capability == capability
                                               : target->capability <= capability &&
                                                     target->capability / 10 == capability / 10;
        if (runs && (!best || target->capability > best->capability))
            best = target;
    }
    return best;
}

const char *target_list(Arena *arena) {
    StrBuf list = strbuf(arena);
    for (int i = 0; i < target_count; i++)
        strbuf_printf(&list, "%s%s", i ? ", " : "", target_table[i].name);
    return list.ptr;
}

static const struct {
    int first, last;
} features[] = {
#define FEATURE(id, first, last, what) {first, last},
#include "target/features.def"
};

bool target_has(int capability, TargetFeature feature) {
    return capability >= features[feature].first &&
           (!features[feature].last || capability <= features[feature].last);
}

int target_first_with(TargetFeature feature) {
    return features[feature].first;
}

static int32_t round_up(int32_t value, int32_t unit) {
    return (value + unit - 1) / unit * unit;
}

int32_t target_warps_for(int32_t registers) {
    int32_t per_warp = round_up(registers * TARGET_WARP_SIZE, TARGET_REGISTER_UNIT);
    return TARGET_REGISTERS_PER_SM / TARGET_PARTITIONS / per_warp * TARGET_PARTITIONS;
}

int32_t target_registers_for(int32_t warps) {
    int32_t here = (warps + TARGET_PARTITIONS - 1) / TARGET_PARTITIONS;
    int32_t units = TARGET_REGISTERS_PER_SM / TARGET_PARTITIONS / here / TARGET_REGISTER_UNIT;
    int32_t registers = units * (TARGET_REGISTER_UNIT / TARGET_WARP_SIZE);
    return registers < TARGET_MAX_REGISTERS ? registers : TARGET_MAX_REGISTERS;
}

static void limit_ctas(Occupancy *occupancy, int32_t ctas, OccupancyLimit limit) {
    if (ctas >= occupancy->ctas)
        return;
    occupancy->ctas = ctas;
    occupancy->limit = limit;
}

Occupancy target_occupancy(const Target *target, int32_t registers, int32_t threads,
                           int32_t shared_bytes) {
    int32_t warps = (threads + TARGET_WARP_SIZE - 1) / TARGET_WARP_SIZE;
    Occupancy occupancy = {.max_warps = target->threads_per_sm / TARGET_WARP_SIZE};
    if (warps <= 0)
        return occupancy;
    occupancy.ctas = target->blocks_per_sm;
    limit_ctas(&occupancy, occupancy.max_warps / warps, OCCUPANCY_THREADS);
    if (registers > 0)
        limit_ctas(&occupancy, target_warps_for(registers) / warps, OCCUPANCY_REGISTERS);
    int32_t shared = round_up(shared_bytes, TARGET_SHARED_UNIT) + TARGET_SHARED_RESERVED;
    limit_ctas(&occupancy, target->shared_per_sm / shared, OCCUPANCY_SHARED);
    occupancy.warps = occupancy.ctas * warps;
    return occupancy;
}

const char *occupancy_limit_name(OccupancyLimit limit) {
    static const char *const names[] = {
        [OCCUPANCY_CTAS] = "CTAs of an SM",
        [OCCUPANCY_THREADS] = "threads of an SM",
        [OCCUPANCY_REGISTERS] = "registers",
        [OCCUPANCY_SHARED] = "shared memory",
    };
    return names[limit];
}
