/* Memory: what is mapped where, and what an address leads to. */
#include "sim/exec/memory.h"

#include "sim/check/findings.h"
#include "sim/exec/cluster.h"
#include "sim/report/counters.h"
#include "sim/state/program.h"
#include "sim/time/timing.h"

enum { MAP_ALIGN = 256, MAP_MIN_GAP = 4096, MAP_GAPS = 4096 };

SimMemory *sim_memory_create(Ctx *ctx) {
    SimMemory *memory = ARENA_NEW(&ctx->arena, SimMemory);
    *memory = (SimMemory){.ctx = ctx, .next = SIM_GLOBAL_BASE};
    return memory;
}

static void add_allocation(SimMemory *memory, Allocation allocation) {
    vec_push(&memory->ctx->arena, &memory->allocations, allocation);
    Allocation *all = memory->allocations.data;
    for (size_t i = memory->allocations.len - 1; i > 0 && all[i - 1].base > all[i].base; i--) {
        Allocation other = all[i];
        all[i] = all[i - 1];
        all[i - 1] = other;
    }
}

void sim_map_at(SimMemory *memory, uint64_t address, Str name, void *data, uint64_t bytes,
                uint8_t *defined, bool read_only) {
    add_allocation(memory, (Allocation){.base = address,
                                        .size = bytes,
                                        .data = data,
                                        .defined = defined,
                                        .read_only = read_only,
                                        .name = name});
}

uint64_t sim_map(SimMemory *memory, Str name, void *data, uint64_t bytes, uint8_t *defined,
                 bool read_only) {
    uint64_t base = memory->next, end = base + bytes;
    /* So wide that a wrong index seldom leads to another array: 4 GiB at first, then a part of what
     * is left of the window. */
    uint64_t gap = end < SIM_GLOBAL_END ? (SIM_GLOBAL_END - end) / MAP_GAPS : 0;
    gap = gap < MAP_MIN_GAP ? MAP_MIN_GAP : gap;
    memory->next = (end + gap + MAP_ALIGN - 1) / MAP_ALIGN * MAP_ALIGN;
    sim_map_at(memory, base, name, data, bytes, defined, read_only);
    return base;
}

/* The last allocation that begins at the address or before it; NULL: all begin behind it. */
static Allocation *last_before(const SimMemory *memory, uint64_t address) {
    size_t lo = 0, hi = memory->allocations.len;
    while (lo < hi) {
        size_t middle = (lo + hi) / 2;
        if (memory->allocations.data[middle].base <= address)
            lo = middle + 1;
        else
            hi = middle;
    }
    return lo ? &memory->allocations.data[lo - 1] : NULL;
}

static void remove_allocation(SimMemory *memory, size_t index) {
    Allocation *all = memory->allocations.data;
    memmove(&all[index], &all[index + 1], (--memory->allocations.len - index) * sizeof *all);
}

void sim_unmap(SimMemory *memory, uint64_t address) {
    const Allocation *found = last_before(memory, address);
    if (found && found->base == address)
        remove_allocation(memory, (size_t)(found - memory->allocations.data));
}

bool sim_find_array(const SimMemory *memory, uint64_t address, SimArray *array) {
    const Allocation *found = last_before(memory, address);
    if (!found || address - found->base >= found->size)
        return false;
    *array = (SimArray){found->base, found->size, found->data, found->defined, found->read_only};
    return true;
}

static bool is_variable_of(const Allocation *allocation, const SimModule *module) {
    uint64_t base = sim_image_base(module);
    return allocation->base >= base && allocation->base < base + SIM_WINDOW;
}

void sim_unmap_variables(const SimModule *module, SimMemory *memory) {
    for (size_t i = memory->allocations.len; i-- > 0;)
        if (is_variable_of(&memory->allocations.data[i], module))
            remove_allocation(memory, i);
}

void sim_map_variables(SimModule *module, SimMemory *memory) {
    uint64_t base = sim_image_base(module);
    vec_for_each (at, &memory->allocations)
        if (is_variable_of(at, module))
            return;
    vec_for_each (at, &module->variables) {
        const Variable *variable = *at;
        if (variable->space != SPACE_global && variable->space != SPACE_const)
            continue;
        uint8_t *data = arena_alloc(&module->ctx->arena, variable->size + 8);
        if (variable->init)
            memcpy(data, variable->init, variable->size);
        add_allocation(memory, (Allocation){.base = base + variable->address,
                                            .size = variable->size,
                                            .data = data,
                                            .read_only = variable->space == SPACE_const,
                                            .name = variable->name});
    }
}

static const Allocation *find_allocation(Machine *machine, uint64_t address) {
    const Allocation *last = machine->last;
    if (last && address >= last->base && address - last->base < last->size)
        return last;
    const Allocation *found = last_before(machine->memory, address);
    return found ? machine->last = found : NULL;
}

bool memory_is_const(Machine *machine, uint64_t address) {
    if (address < SIM_IMAGE_BASE || address >= SIM_PARAM_BASE)
        return false;
    const Allocation *found = find_allocation(machine, address);
    return found && found->read_only && address - found->base < found->size;
}

static const char *const access_name[] = {"load", "store", "atomic access"};

/* Names the array that is nearest: `below` is the last one that begins at or before the address,
 * NULL when all begin behind it. */
static bool out_of_bounds(Warp *warp, const Insn *insn, uint32_t lane, uint64_t address,
                          uint32_t size, AccessKind kind, const Allocation *below) {
    const SimMemory *memory = warp->machine->memory;
    const Allocation *above = below ? below + 1 : memory->allocations.data;
    if (above == memory->allocations.data + memory->allocations.len)
        above = NULL;
    uint64_t behind = below ? address - below->base : 0, reach = SIM_WINDOW;
    uint64_t before = above ? above->base - address : UINT64_MAX;
    if (below && behind < below->size)
        report(warp, insn, lane, sim_past_end, access_name[kind], size, address,
               behind + size - below->size, STR_ARG(below->name), below->size, below->base);
    else if (below && behind - below->size < reach && behind - below->size <= before)
        report(warp, insn, lane, sim_out_of_bounds, access_name[kind], size, address,
               behind - below->size, STR_ARG(below->name), below->size, below->base);
    else if (before < reach)
        report(warp, insn, lane, sim_before_begin, access_name[kind], size, address, before,
               STR_ARG(above->name), above->size, above->base);
    else
        report(warp, insn, lane, sim_no_memory, access_name[kind], size, address);
    return false;
}

bool memory_find_global(Warp *warp, const Insn *insn, uint32_t lane, uint64_t address,
                        uint32_t size, AccessKind kind, Target *target) {
    const Allocation *allocation = find_allocation(warp->machine, address);
    if (!allocation || address - allocation->base >= allocation->size ||
        size > allocation->size - (address - allocation->base))
        return out_of_bounds(warp, insn, lane, address, size, kind, allocation);
    if (kind != ACCESS_READ && allocation->read_only) {
        report(warp, insn, lane, sim_read_only, access_name[kind], STR_ARG(allocation->name),
               address);
        return false;
    }
    uint64_t offset = address - allocation->base;
    if (warp->machine->timing)
        sectors_add(&warp->machine->timing->sectors, warp->machine->timing->arena, address, size);
    else
        count_bytes(warp->machine->counts, insn_pc(warp, insn),
                    (uint32_t)(allocation - warp->machine->memory->allocations.data),
                    allocation->size, offset, size, kind != ACCESS_WRITE, kind != ACCESS_READ);
    *target = (Target){.space = SPACE_global,
                       .data = allocation->data + offset,
                       .defined = allocation->defined ? allocation->defined + offset : NULL,
                       .allocation = allocation,
                       .offset = offset};
    return true;
}

/* Dynamic shared memory, which all .extern variables name, is one variable. */
enum { DYNAMIC_VARIABLE = UINT16_MAX };

void memory_map_shared(Machine *machine) {
    const SimModule *module = machine->module;
    uint64_t end = module->dynamic_shared + machine->shared_bytes;
    uint16_t *map = ARENA_ARRAY(machine->arena, uint16_t, end);
    for (size_t i = 0; i < module->variables.len; i++) {
        const Variable *variable = module->variables.data[i];
        /* Of more variables than numbers some share one. */
        uint16_t number = (uint16_t)(i % (DYNAMIC_VARIABLE - 1) + 1);
        bool others = variable->owner && variable->owner != machine->kernel;
        if (variable->space != SPACE_shared || variable->is_extern || others)
            continue;
        for (uint64_t at = 0; at < variable->size; at++)
            map[variable->address + at] = number;
    }
    for (uint64_t at = module->dynamic_shared; at < end; at++)
        map[at] = DYNAMIC_VARIABLE;
    machine->shared_map = map;
}

/* Says which variable ends before the access, or that there is none. */
static void out_of_shared(Warp *warp, const Insn *insn, uint32_t lane, uint64_t address,
                          uint32_t size, AccessKind kind) {
    const Machine *machine = warp->machine;
    const SimModule *module = machine->module;
    Variable near = {.name = STR("")};
    vec_for_each (at, &module->variables)
        if ((*at)->space == SPACE_shared && !(*at)->is_extern && (*at)->address <= address &&
            (!(*at)->owner || (*at)->owner == machine->kernel) &&
            (!near.name.len || (*at)->address > near.address))
            near = **at;
    if (machine->shared_bytes && address >= module->dynamic_shared)
        near = (Variable){.name = STR("dynamic shared memory"),
                          .address = module->dynamic_shared,
                          .size = machine->shared_bytes};
    if (near.name.len)
        report(warp, insn, lane, sim_shared_bounds, access_name[kind], size, address,
               address + size - near.address - near.size, STR_ARG(near.name), near.size,
               near.address);
    else
        report(warp, insn, lane, sim_shared_nowhere, access_name[kind], size, address);
}

bool memory_find_shared(Warp *warp, const Insn *insn, uint32_t lane, Cta *owner, uint64_t address,
                        uint32_t size, AccessKind kind, Target *target) {
    const uint16_t *map = warp->machine->shared_map;
    uint64_t end = owner->shared_end;
    if (address >= end || size > end - address || !map[address] ||
        map[address] != map[address + size - 1]) {
        out_of_shared(warp, insn, lane, address, size, kind);
        return false;
    }
    if (owner != warp->cta)
        cluster_note_access(warp, insn, lane, owner);
    *target = (Target){.space = SPACE_shared,
                       .data = owner->shared + address,
                       .defined = owner->shared_def + address,
                       .cta = owner,
                       .offset = address};
    return true;
}

/* shared::cta is a part of shared::cluster: an address of the cluster's window is one of
 * shared::cta where it leads to the own program. */
static bool find_shared(Warp *warp, const Insn *insn, uint32_t lane, uint64_t address,
                        uint32_t size, AccessKind kind, Target *target) {
    uint64_t own;
    Cta *owner = cluster_owner(warp->cta, address, &own);
    if (!owner) {
        report(warp, insn, lane, sim_cluster_rank, access_name[kind], size, address,
               warp->cta->cluster->size);
        return false;
    }
    if (owner != warp->cta && (insn_has(insn, WORD_shared) || insn_has(insn, WORD_shared_cta))) {
        report(warp, insn, lane, sim_not_own_shared, access_name[kind], size, address, owner->rank);
        return false;
    }
    return memory_find_shared(warp, insn, lane, owner, own, size, kind, target);
}

/* What alloca gave the lane. */
static bool find_stack(Warp *warp, const Insn *insn, uint32_t lane, uint64_t address, uint32_t size,
                       AccessKind kind, Target *target) {
    const Stack *stack = &warp->stack;
    uint64_t offset = address - SIM_STACK_START, end = stack->used[lane];
    if (offset >= end || size > end - offset) {
        report(warp, insn, lane, sim_local_bounds, access_name[kind], size, address,
               SIM_STACK_START + end);
        return false;
    }
    uint64_t at = lane * stack->size + offset;
    *target = (Target){.space = SPACE_local,
                       .data = stack->data + at,
                       .defined = stack->defined + at,
                       .offset = address};
    return true;
}

static bool find_local(Warp *warp, const Insn *insn, uint32_t lane, uint64_t address, uint32_t size,
                       AccessKind kind, Target *target) {
    const Frame *frame = warp->current->frame;
    uint64_t end = frame->local_base + frame->func->frame_bytes;
    if (address >= SIM_STACK_START)
        return find_stack(warp, insn, lane, address, size, kind, target);
    if (address >= end || size > end - address) {
        report(warp, insn, lane, sim_local_bounds, access_name[kind], size, address, end);
        return false;
    }
    uint64_t at = lane * warp->local_bytes + address;
    *target = (Target){.space = SPACE_local,
                       .data = warp->local + at,
                       .defined = warp->local_def + at,
                       .offset = address};
    return true;
}

bool memory_find_param(Warp *warp, const Insn *insn, uint32_t lane, uint64_t address, uint32_t size,
                       AccessKind kind, Target *target) {
    Machine *machine = warp->machine;
    uint64_t end = machine->kernel->param_bytes;
    if (address >= end || size > end - address || kind != ACCESS_READ) {
        report(warp, insn, lane, sim_param_bounds, access_name[kind], size, address, end);
        return false;
    }
    *target = (Target){.space = SPACE_param, .data = machine->params + address, .offset = address};
    return true;
}

/* The space of a generic address; the address becomes one of that space. */
SpaceKind memory_resolve(uint64_t *address) {
    static const struct {
        uint64_t base;
        SpaceKind space;
    } windows[] = {{SIM_SHARED_BASE, SPACE_shared},
                   {SIM_LOCAL_BASE, SPACE_local},
                   {SIM_PARAM_BASE, SPACE_param}};
    for (size_t i = 0; i < sizeof windows / sizeof *windows; i++) {
        if (*address < windows[i].base || *address - windows[i].base >= SIM_WINDOW)
            continue;
        *address -= windows[i].base;
        return windows[i].space;
    }
    return SPACE_global;
}

bool memory_find(Warp *warp, const Insn *insn, uint32_t lane, SpaceKind space, uint64_t address,
                 uint32_t size, AccessKind kind, Target *target) {
    if (address & (size - 1)) {
        report(warp, insn, lane, sim_misaligned, access_name[kind], size, address, size);
        return false;
    }
    if (space == SPACE_generic)
        space = memory_resolve(&address);
    switch (space) {
    case SPACE_shared:
        return find_shared(warp, insn, lane, address, size, kind, target);
    case SPACE_local:
        return find_local(warp, insn, lane, address, size, kind, target);
    case SPACE_param:
        return memory_find_param(warp, insn, lane, address, size, kind, target);
    case SPACE_generic:
    case SPACE_global:
    case SPACE_const:
        break;
    }
    return memory_find_global(warp, insn, lane, address, size, kind, target);
}

uint64_t memory_address(Warp *warp, const Insn *insn, const Operand *operand, uint32_t lane) {
    const Reg *reg = reg_of(warp, operand->reg);
    if (reg->def[lane] != DEFINED)
        report(warp, insn, lane, sim_undefined, "the address");
    return (reg->v[lane] + (uint64_t)operand->offset) & bits_mask(operand->bits);
}
