/* The table of compilation targets and its two look-ups. */
#include "ir/target.h"

const Target target_table[] = {
#define TARGET(name, capability, cpu, features, shared_block, shared_sm, threads, blocks)          \
    {name, capability, cpu, features, shared_block, shared_sm, threads, blocks},
#include "ir/targets.def"
};

const int target_count = sizeof target_table / sizeof target_table[0];

/* Code for an architecture with suffix `a` runs on that very architecture only (PTX ISA, .target).
 */
static bool is_specific(const Target *target) {
    return target->name[strlen(target->name) - 1] == 'a';
}

const Target *target_by_name(Str name) {
    for (int i = 0; i < target_count; i++) {
        Str full = str_from(target_table[i].name);
        Str general = {full.ptr, full.len - is_specific(&target_table[i])};
        if (str_eq(name, full) || str_eq(name, general))
            return &target_table[i];
    }
    return NULL;
}

const Target *target_by_capability(int capability) {
    const Target *best = NULL;
    for (int i = 0; i < target_count; i++) {
        const Target *target = &target_table[i];
        bool runs = is_specific(target) ? target->capability == capability
                                        : target->capability <= capability &&
                                              target->capability / 10 == capability / 10;
        if (runs && (!best || target->capability > best->capability))
            best = target;
    }
    return best;
}
