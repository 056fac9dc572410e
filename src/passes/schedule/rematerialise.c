/* rematerialise: lets a tile wait while a reduction crosses warps in the narrow type it was loaded
 * in, packed in registers or in shared memory, and computes what is needed of it again after the
 * reduction.
 *
 * A row that waits in registers as f32 through its reductions fills the register file: an SM holds
 * one CTA then, and loads nothing while that one computes. The same row takes half the registers in
 * bf16, or shared memory and few registers beside it, so that an SM holds two or three CTAs, of
 * which one loads while another computes.
 *
 * An op with a result of a reduction that crosses warps among what it depends on begins a new
 * phase: a barrier will stand before it. For every tile that an earlier phase made and a later one
 * uses, the chain of elementwise ops is found that makes it from loads, scalars, and what is
 * computed from indices alone. Each later phase begins with the loaded tile and repeats the chain.
 *
 * In registers the loaded tile, of elements of up to 32 bits, goes through op optimization_barrier
 * in each phase; without that, LLVM and ptxas would find the chains equal and keep the result of
 * the first instead. In shared memory the tile is stored where it is loaded, and each phase loads
 * it before its first use. As the stores and loads of a buffer share a layout without repetition,
 * each thread reads what it wrote, and place-barriers adds none; as a barrier lies between phases,
 * nobody can keep the registers instead.
 *
 * It is done where it pays: where more CTAs fit an SM then, in registers and in shared memory, and
 * where repeating a chain costs at most RECOMPUTE_BUDGET instruction slots per element: a row of
 * bf16 takes an SM about 25 clocks per 128 elements to load and store, and a slot is one. Where as
 * many fit with either, the tile waits in shared memory. What a phase loads must fit registers
 * together there, or the loads would come one after another; shared memory is the L1 cache's, so
 * that weights which phases load, by taking registers in this account, keep their place in it.
 * Where the tile waits in registers the cache stays whole, and loads that the lowering delays to
 * where a store needs them (delay-loads) take two accesses' worth of registers. The registers of a
 * thread are limited so that as many CTAs fit.
 *
 * Needs layouts, and reductions before split-reduces. Leaves buffers without offsets.
 *
 *     %x16 = load %p                               %x16 = load %p
 *     %x = extf %x16                               %x = extf %x16
 *     %m = reduce %x ..                            %m = reduce %x ..
 *     %ms = splat %m                      =>       %ms = splat %m
 *     %y = subf %x, %ms                            %x16' = optimization_barrier %x16
 *                                                  %x' = extf %x16'
 *                                                  %y = subf %x', %ms
 *
 * In shared memory: local_store %x16, %b behind the load, %x16' = local_load %b.
 */
#include "ir/registers.h"
#include "passes/analysis/pressure.h"
#include "passes/layout/layout_rules.h"
#include "passes/passes.h"
#include "passes/rewrite.h"
#include "support/ptrmap.h"
#include "support/vec.h"
#include "target/target.h"

enum {
    RECOMPUTE_BUDGET = 32, /* slots of an FMA per element for one chain */
    SMALL_REGISTERS = 4,   /* of a tile that may stay as it is */
    ACCESS_REGISTERS = 4,  /* of the widest access */
    DELAYED_REGISTERS = DELAYED_ACCESSES * ACCESS_REGISTERS,
    MOST_CTAS = 3, /* of an SM; more do not load more */
};

/* Where tiles wait. */
typedef enum Home { HOME_REGISTERS, HOME_SHARED, HOME_COUNT } Home;

typedef struct Root {
    Op *load;
    unsigned last; /* phase that needs it */
    Value *buffer; /* in shared memory; */
    Value *latest; /* in registers: what the last phase so far made of it */
} Root;

typedef VEC(Root) Roots;

typedef struct Remat {
    Ctx *ctx;
    Arena *arena;
    Func *func;
    Block *block;
    Home home;
    uint64_t shared; /* bytes of a program's shared memory that are spoken for */
    PtrMap phase_of; /* op of the block to its phase + 1 */
    PtrSet free;     /* ops whose results come from indices, constants and scalars alone */
    PtrSet remade;   /* ops whose results are made again in later phases */
    Roots *roots;
    unsigned phases; /* the last one's number */
    uint64_t *loads; /* by phase: registers of a thread for what is loaded in it */
    uint64_t *early; /* the same, of delayed loads what is under way at once */
    uint64_t *held;  /* by phase: registers of a thread alive when it begins */
    uint64_t *left;  /* the same, without what is remade */
    /* While rewriting: what was made again in this phase. */
    PtrMap *again;
    PtrMap original; /* what was made again to what it repeats */
} Remat;

/* Phases */

static unsigned phase_of(const Remat *remat, const Op *op) {
    return (unsigned)(uintptr_t)ptrmap_get(&remat->phase_of, op) - 1;
}

static bool is_here(const Remat *remat, const Value *value) {
    return value->def && value->def->block == remat->block;
}

/* The first phase in which everything is known that the op, its regions included, uses. */
static unsigned least_phase(const Remat *remat, const Op *op) {
    unsigned least = 0;
    for (uint32_t i = 0; i < op->nin; i++) {
        const Value *in = op_in(op, i);
        if (!is_here(remat, in))
            continue;
        unsigned phase = phase_of(remat, in->def) + (reduce_crossing_bits(in->def) != 0);
        least = phase > least ? phase : least;
    }
    for (uint32_t r = 0; r < op->nregions; r++)
        block_for_each (inner, op->regions[r]) {
            unsigned phase = least_phase(remat, inner);
            least = phase > least ? phase : least;
        }
    return least;
}

/* Computed from indices, constants and scalars: nobody keeps it in registers. */
static bool is_free(const Remat *remat, const Value *value) {
    return !type_is_tile(value->type) || value_is_uniform(value) ||
           (value->def && ptr_set_has(&remat->free, value->def));
}

static bool becomes_free(const Remat *remat, const Op *op) {
    bool free = op_has(op, CHEAP);
    for (uint32_t i = 0; i < op->nin && free; i++)
        free = is_free(remat, op_in(op, i));
    return free;
}

static void number_phases(Remat *remat) {
    block_for_each (op, remat->block) {
        unsigned least = least_phase(remat, op);
        remat->phases = least > remat->phases ? least : remat->phases;
        ptrmap_set(&remat->phase_of, op, (void *)(uintptr_t)(remat->phases + 1));
        if (becomes_free(remat, op))
            ptr_set_add(&remat->free, op);
    }
}

/* The last phase that uses the value; its own if none does. */
static unsigned last_phase(const Remat *remat, const Value *value) {
    unsigned last = phase_of(remat, value->def);
    value_for_each_use (use, value) {
        unsigned phase = phase_of(remat, op_ancestor_in(use->user, remat->block));
        last = phase > last ? phase : last;
    }
    return last;
}

/* What tiles take */

/* Of one thread, in elements of their own width: narrow ones share registers while they wait. */
static uint64_t registers_of(const Type *type) {
    return (uint64_t)type_registers(type);
}

/* No two threads hold the same element, so that each reads back what it wrote itself. */
static bool is_private(const Layout *layout) {
    return layout_free_bits(layout) == 0;
}

/* Chains */

/* In slots of an FMA; more than the budget: not to be repeated. */
static unsigned op_cost(const Op *op) {
    if (!op_is_pure(op) || op->nregions || op->nout != 1 || !op_has(op, ELEMENTWISE | CHEAP))
        return RECOMPUTE_BUDGET + 1;
    if (op_has(op, CHEAP))
        return 1;
    if (op->code == OP_divf && value_is_uniform(op_in(op, 1)))
        return 1; /* a product with a reciprocal */
    if (op_has(op, COST_SPECIAL))
        return TARGET_SPECIAL_SLOTS;
    return op_has(op, COST_FMA) ? 1 : RECOMPUTE_BUDGET + 1;
}

static bool is_root(const Value *value) {
    const Op *op = value->def;
    return op && op->code == OP_load && !type_is_pointer(value->type) &&
           is_private(value->type->layout);
}

/* `phase` has the value without any ado. */
static bool at_hand(const Remat *remat, const Value *value, unsigned phase) {
    return is_free(remat, value) || !is_here(remat, value) ||
           phase_of(remat, value->def) >= phase || registers_of(value->type) <= SMALL_REGISTERS;
}

/* Takes the cost of making the value again in `phase` off the budget. */
static bool affordable(const Remat *remat, const Value *value, unsigned phase, unsigned *budget) {
    if (at_hand(remat, value, phase))
        return true;
    unsigned cost = is_root(value) ? 1 : op_cost(value->def);
    if (cost > *budget)
        return false;
    *budget -= cost;
    if (is_root(value))
        return true;
    for (uint32_t i = 0; i < value->def->nin; i++)
        if (!affordable(remat, op_in(value->def, i), phase, budget))
            return false;
    return true;
}

static Root *root_of(const Remat *remat, const Op *load) {
    vec_for_each (root, remat->roots)
        if (root->load == load)
            return root;
    return NULL;
}

/* Of what makes the value again in phases `phase` to `last`. */
static void add_roots(Remat *remat, const Value *value, unsigned phase, unsigned last) {
    if (at_hand(remat, value, phase))
        return;
    if (!is_root(value)) {
        for (uint32_t i = 0; i < value->def->nin; i++)
            add_roots(remat, op_in(value->def, i), phase, last);
        return;
    }
    Root *known = root_of(remat, value->def);
    if (known)
        known->last = last > known->last ? last : known->last;
    else
        vec_push(remat->arena, remat->roots,
                 (Root){.load = value->def, .last = last, .latest = op_out(value->def)});
}

static void note_load(Remat *remat, const Op *op) {
    if (op->code != OP_load || !type_is_tile(op_out(op)->type))
        return;
    uint64_t registers = registers_of(op_out(op)->type);
    bool part = registers > DELAYED_REGISTERS && op_may_delay(op);
    remat->loads[phase_of(remat, op)] += registers;
    remat->early[phase_of(remat, op)] += part ? DELAYED_REGISTERS : registers;
}

static void note_value(Remat *remat, Value *value) {
    unsigned first = phase_of(remat, value->def), last = last_phase(remat, value);
    if (first == last || is_free(remat, value))
        return;
    unsigned budget = RECOMPUTE_BUDGET;
    bool remade = !at_hand(remat, value, first + 1) && affordable(remat, value, first + 1, &budget);
    for (unsigned phase = first + 1; phase <= last; phase++) {
        remat->held[phase] += registers_of(value->type);
        remat->left[phase] += remade ? 0 : registers_of(value->type);
    }
    if (!remade)
        return;
    add_roots(remat, value, first + 1, last);
    ptr_set_add(&remat->remade, value->def);
}

/* Profit */

static uint64_t least(uint64_t a, uint64_t b) {
    return a < b ? a : b;
}

/* CTAs of so many warps an SM holds whose threads have so many registers for tiles. */
static uint64_t ctas_by_registers(uint64_t tiles, uint64_t warps) {
    uint64_t registers = least(tiles + RESERVE_SCALARS, TARGET_REGISTERS_PER_SM);
    return (uint64_t)target_warps_for((int32_t)registers) / warps;
}

/* CTAs an SM holds now. */
static uint64_t ctas_before(const Remat *remat, uint64_t warps) {
    uint64_t most = 0;
    for (unsigned i = 0; i <= remat->phases; i++)
        most = remat->held[i] > most ? remat->held[i] : most;
    return ctas_by_registers(most, warps);
}

/* Registers of a thread for tiles in a phase once tiles are remade. */
static uint64_t needed_in(const Remat *remat, Home home, unsigned phase) {
    if (home == HOME_SHARED)
        return remat->left[phase] + remat->loads[phase];
    uint64_t needed = remat->left[phase] + remat->early[phase];
    vec_for_each (root, remat->roots)
        if (phase > phase_of(remat, root->load) && phase <= root->last)
            needed += registers_of(op_out(root->load)->type);
    return needed;
}

/* CTAs an SM holds once tiles are remade, with `bytes` of shared memory each. */
static uint64_t ctas_after(const Remat *remat, Home home, const Target *target, uint64_t warps,
                           uint64_t bytes) {
    uint64_t most = 0;
    for (unsigned i = 0; i <= remat->phases; i++) {
        uint64_t needed = needed_in(remat, home, i);
        most = needed > most ? needed : most;
    }
    uint64_t reserved = (uint64_t)(target->shared_per_sm - target->shared_per_block);
    uint64_t by_memory = least((uint64_t)target->shared_per_sm / (bytes + reserved),
                               (uint64_t)target->threads_per_sm / TARGET_WARP_SIZE / warps);
    return least(least(ctas_by_registers(most, warps), by_memory), MOST_CTAS);
}

/* Does op optimization_barrier take all that is loaded? */
static bool may_wait_in_registers(const Remat *remat) {
    vec_for_each (root, remat->roots)
        if (!type_fills_words(op_out(root->load)->type))
            return false;
    return true;
}

/* Chooses the home and what registers a thread is to have if so. */
static bool pays(Remat *remat) {
    Func *func = remat->func;
    const Target *target = target_by_capability(func->capability);
    if (!target || !remat->roots->len)
        return false;
    uint64_t programs = func->programs_per_cta > 0 ? (uint64_t)func->programs_per_cta : 1;
    uint64_t warps = (uint64_t)func->num_warps * programs;
    uint64_t shared[HOME_COUNT] = {remat->shared, remat->shared}, after[HOME_COUNT];
    vec_for_each (root, remat->roots)
        shared[HOME_SHARED] += (uint64_t)type_bytes(op_out(root->load)->type);
    for (Home home = 0; home < HOME_COUNT; home++)
        after[home] = ctas_after(remat, home, target, warps, shared[home] * programs);
    bool in_registers = after[HOME_REGISTERS] > after[HOME_SHARED] && may_wait_in_registers(remat);
    remat->home = in_registers ? HOME_REGISTERS : HOME_SHARED;
    uint64_t ctas = after[remat->home];
    if (ctas <= ctas_before(remat, warps) || ctas < 2)
        return false;
    remat->shared = shared[remat->home];
    int32_t registers = target_registers_for((int32_t)(ctas * warps));
    if (registers < TARGET_MAX_REGISTERS)
        func_lower_register_goal(func, registers);
    return true;
}

static uint64_t bytes_of_exchange(const Type *type) {
    return type ? (uint64_t)type_bytes(type) : 0;
}

/* What buffers take, and conversions and reductions will, each beside the others. */
static bool add_shared(Op *op, void *user) {
    Ctx *ctx = func_ctx(op->block->func);
    uint64_t *bytes = user;
    if (op->code == OP_local_alloc)
        *bytes += (uint64_t)(local_bytes(op_out(op)) * local_copies(op_out(op)));
    *bytes += bytes_of_exchange(convert_exchanged(ctx, op));
    for (uint32_t i = 0; i < op->nout && op->code == OP_reduce; i++)
        *bytes += bytes_of_exchange(reduce_exchanged(ctx, op, i));
    return true;
}

/* Rewriting */

static void store_roots(Remat *remat) {
    vec_for_each (root, remat->roots) {
        Value *value = op_out(root->load);
        const Type *type = value->type;
        const Layout *shared =
            layout_shared_for(remat->ctx, type->layout, type->layout, type_element_bytes(type), 1);
        Builder builder = builder_after(root->load);
        builder.span = root->load->span;
        root->buffer = build_local_alloc(
            &builder, -1, 0, 0,
            type_get(remat->ctx, TYPE_BUFFER, type->dtype, type->rank, type->shape, shared));
        build_local_store(&builder, value, root->buffer, 0);
    }
}

/* The loaded tile for a phase that does not have it yet. */
static Value *load_again(const Remat *remat, Builder *builder, const Op *load) {
    Root *root = root_of(remat, load);
    if (remat->home == HOME_SHARED)
        return build_local_load(builder, root->buffer, NULL, 0, op_out(load)->type);
    return root->latest = build_optimization_barrier(builder, root->latest);
}

/* The value as `phase` has it: the same, or made again at the builder's place. */
static Value *value_in(Remat *remat, Builder *builder, Value *value, unsigned phase) {
    /* An op that an earlier phase had may use what was made again for it by now. */
    Value *original = ptrmap_get(&remat->original, value);
    value = original ? original : value;
    if (at_hand(remat, value, phase))
        return value;
    Value *known = ptrmap_get(&remat->again[phase], value);
    if (known)
        return known;
    Op *op = value->def;
    builder->span = op->span;
    Value *made;
    if (is_root(value)) {
        made = load_again(remat, builder, op);
    } else {
        Value *in[OP_MAX_FIXED];
        for (uint32_t i = 0; i < op->nin; i++)
            in[i] = value_in(remat, builder, op_in(op, i), phase);
        builder->span = op->span;
        made = rewrite_like(builder, op, op->nin, in, value->type);
    }
    made->name = value->name;
    ptrmap_set(&remat->again[phase], value, made);
    ptrmap_set(&remat->original, made, value);
    return made;
}

/* `op` stands in `place`, which stands in the block. */
static void use_again(Remat *remat, Op *op, Op *place, unsigned phase) {
    for (uint32_t i = 0; i < op->nin; i++) {
        Value *in = op_in(op, i);
        if (!is_here(remat, in) || !ptr_set_has(&remat->remade, in->def))
            continue;
        Builder builder = builder_before(place);
        op_set_operand(op, i, value_in(remat, &builder, in, phase));
    }
    for (uint32_t r = 0; r < op->nregions; r++)
        block_for_each (inner, op->regions[r])
            use_again(remat, inner, place, phase);
}

static void rewrite(Remat *remat) {
    remat->again = ARENA_ARRAY(remat->arena, PtrMap, remat->phases + 1);
    for (unsigned phase = 0; phase <= remat->phases; phase++)
        remat->again[phase].arena = remat->arena;
    if (remat->home == HOME_SHARED)
        store_roots(remat);
    /* What this inserts has no phase. */
    block_for_each (op, remat->block)
        if (ptrmap_get(&remat->phase_of, op))
            use_again(remat, op, op, phase_of(remat, op));
}

static void note_block(Remat *remat) {
    remat->loads = ARENA_ARRAY(remat->arena, uint64_t, remat->phases + 1);
    remat->early = ARENA_ARRAY(remat->arena, uint64_t, remat->phases + 1);
    remat->held = ARENA_ARRAY(remat->arena, uint64_t, remat->phases + 1);
    remat->left = ARENA_ARRAY(remat->arena, uint64_t, remat->phases + 1);
    block_for_each (op, remat->block) {
        note_load(remat, op);
        for (uint32_t i = 0; i < op->nout; i++)
            if (type_is_tile(op->out[i].type))
                note_value(remat, &op->out[i]);
    }
}

/* `shared`: bytes of shared memory spoken for; grows by what is remade. */
static bool park_block(Func *func, Block *block, uint64_t *shared) {
    bool changed = false;
    block_for_each (op, block)
        for (uint32_t r = 0; r < op->nregions; r++)
            changed |= park_block(func, op->regions[r], shared);
    Ctx *ctx = func_ctx(func);
    Arena *arena = &ctx->scratch;
    ArenaMark mark = arena_mark(arena);
    Roots roots = {0};
    Remat remat = {.ctx = ctx,
                   .arena = arena,
                   .func = func,
                   .block = block,
                   .shared = *shared,
                   .phase_of = {.arena = arena},
                   .free = {.arena = arena},
                   .remade = {.arena = arena},
                   .roots = &roots,
                   .original = {.arena = arena}};
    number_phases(&remat);
    if (remat.phases)
        note_block(&remat);
    if (remat.phases && pays(&remat)) {
        rewrite(&remat);
        *shared = remat.shared;
        changed = true;
    }
    arena_rewind(arena, mark);
    return changed;
}

/* `in_memory`: shared memory is what something waits in. */
static bool park(Func *func, bool *in_memory) {
    uint64_t before = 0;
    func_walk(func, add_shared, &before);
    uint64_t shared = before;
    bool changed = park_block(func, func->body, &shared);
    *in_memory = shared > before;
    return changed;
}

static bool crosses_warps(const Op *op, const void *user) {
    (void)user;
    return reduce_crossing_bits(op) != 0;
}

/* Phases say what waits at their barriers. What is alive between them may be more than there is
 * room for, and as much whatever waits in memory: then nothing is gained. A trial tells. */
bool pass_rematerialise(Func *func) {
    bool in_memory;
    if (!block_any(func->body, crosses_warps, NULL))
        return false;
    Func *trial = func_clone(func);
    if (!park(trial, &in_memory))
        return false;
    int32_t room = trial->register_goal ? trial->register_goal : TARGET_MAX_REGISTERS;
    uint64_t after = pressure_summed_in_thread(trial);
    if (in_memory && after > (uint64_t)room && after >= pressure_summed_in_thread(func))
        return false;
    return park(func, &in_memory);
}
