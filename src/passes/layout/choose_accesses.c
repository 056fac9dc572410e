/* choose-layouts, the anchors: coalesced layouts of loads, stores and atomics.
 *
 * Accesses to tiles of one shape along one dimension share a layout, so that what is loaded,
 * combined and stored never changes it: the widest access decides how many elements a thread takes,
 * a narrower type then takes several instructions for them.
 *
 * What a product, a reduction or other loads put elsewhere is stored from there, or from where the
 * warp's own shuffles bring it, if that costs less than the coalesced store behind an exchange. */
#include "passes/analysis/affine.h"
#include "passes/layout/choose_layouts.h"
#include "passes/rewrite.h"
#include "support/bits.h"
#include "target/target.h"
#include "types/gf2.h"

enum {
    SECTOR_BYTES = TARGET_SECTOR_BYTES,
    MAX_ACCESS_BYTES = 16,
    MAX_THREAD_BYTES = 64,       /* of consecutive elements of the widest type */
    SHARED_ROUND_TRIP_COST = 32, /* barrier and latency, in instructions */
    SECTOR_COST = 2,             /* of one that is written in parts, in instructions */
    MEETING_COST = 4, /* times an exchange, where without it no warp would wait for the others */
    USUAL_TRIP_BITS = 8
};

/* Whether one instruction may access neighbours. Old values that somebody uses come one by one. */
static bool takes_vectors(const Choice *choice, const Op *op) {
    return !op_has(op, ATOMIC) || (target_has(choice->func->capability, FEATURE_VECTOR_ATOMICS) &&
                                   atomic_takes_vectors(op) && value_unused(&op->out[0]));
}

/* How a value goes along a dimension, in runs of which only the launch knows how long they are. */
typedef enum Course {
    COURSE_OTHER,
    COURSE_EQUAL, /* equal */
    COURSE_COUNTS /* one more with each element */
} Course;

typedef struct CourseOf {
    const Facts *facts;
    int left; /* ops that may still be looked at */
} CourseOf;

static Course course_of(CourseOf *c, const Value *value, int dim);

/* Of a sum, a product, a quotient or a remainder of a and b. */
static Course course_of_both(CourseOf *c, const Op *op, int dim) {
    Course a = course_of(c, op_in(op, 0), dim), b = course_of(c, op_in(op, 1), dim);
    if (a == COURSE_OTHER || b == COURSE_OTHER || (op_has(op, MAY_TRAP) && b != COURSE_EQUAL))
        return COURSE_OTHER;
    if ((a == COURSE_EQUAL && b == COURSE_EQUAL) || op_has(op, QUOTIENT))
        return COURSE_EQUAL;
    return op->code == OP_muli || a == b ? COURSE_OTHER : COURSE_COUNTS;
}

/* Places in a tensor are made of a number by its quotients and remainders by sizes, as a rule of
 * more than one element: between two multiples of the size a quotient is equal, and a remainder
 * counts up. */
static Course course_of(CourseOf *c, const Value *value, int dim) {
    const ValueFacts *facts = facts_of(c->facts, value);
    if (!type_is_tile(value->type) || facts->constant[dim] >= value->type->shape[dim])
        return COURSE_EQUAL;
    if (facts->contiguous[dim] > 1)
        return COURSE_COUNTS;
    const Op *op = value->def;
    if (!op || c->left-- <= 0)
        return COURSE_OTHER;
    if (op->code == OP_broadcast || op_has(op, CONVERTS))
        return course_of(c, op_in(op, 0), dim);
    bool sums = op->code == OP_addi || op->code == OP_addptr;
    if (sums || op_has(op, MAY_TRAP) || op->code == OP_muli)
        return course_of_both(c, op, dim);
    return COURSE_OTHER;
}

static bool counts_in_runs(const Facts *facts, const Value *ptr, int dim) {
    CourseOf c = {facts, FOLLOWED_OPS};
    return course_of(&c, ptr, dim) == COURSE_COUNTS;
}

static bool collect_access(Op *op, void *user) {
    Choice *choice = user;
    if (!op_is_pointer_access(op) || !type_is_tile(op_in(op, 0)->type))
        return true;
    Access *access = &choice->accesses[choice->naccesses++];
    Value *ptr = op_in(op, 0);
    access->op = op;
    access->type = ptr->type;
    access->fastest = facts_fastest_dim(choice->facts, ptr);
    access->scattered = facts_of(choice->facts, ptr)->contiguous[access->fastest] <= 1 &&
                        !counts_in_runs(choice->facts, ptr, access->fastest);
    access->width = takes_vectors(choice, op)
                        ? facts_access_width(choice->facts, ptr, op_mask(op), access->fastest)
                        : 1;
    ptrmap_set(&choice->access_of, op, access);
    return true;
}

static bool count_access(Op *op, void *user) {
    *(uint32_t *)user += op_is_pointer_access(op);
    return true;
}

typedef struct CombinedAxes {
    const Type *type;
    unsigned axes;  /* that are reduced or scanned */
    const Op *scan; /* the first */
    bool product;   /* some is a product's sums, which say where what is combined lies */
} CombinedAxes;

static bool collect_combining(Op *op, void *user) {
    Choice *choice = user;
    if (op_has(op, COMBINES) || op->code == OP_dot)
        vec_push(choice->arena, &choice->combining, op);
    return true;
}

static CombinedAxes combined_axes(const Choice *choice, const Type *type) {
    CombinedAxes combined = {.type = type};
    vec_for_each (each, &choice->combining) {
        const Op *op = *each;
        if (op->code == OP_dot) {
            combined.product |= type_same_shape(op->out[0].type, type);
        } else if (type_same_shape(op_in(op, 0)->type, type)) {
            combined.axes |= 1u << op_axis(op);
            if (op->code == OP_scan && !combined.scan)
                combined.scan = op;
        }
    }
    return combined;
}

static int fastest_bit(const Access *access) {
    uint32_t mask = layout_dim_mask(access->type->rank, access->type->shape, access->fastest);
    return mask ? __builtin_ctz(mask) : 0;
}

static bool same_group(const Access *a, const Access *b) {
    return type_same_shape(a->type, b->type) && a->fastest == b->fastest;
}

/* The first access of each group seen so far: groups are few, accesses may be thousands. */
typedef VEC(Access *) Groups;

static Access *first_of_group(Choice *choice, Groups *groups, Access *access) {
    vec_for_each (first, groups)
        if (same_group(*first, access))
            return *first;
    vec_push(choice->arena, groups, access);
    return access;
}

/* Are accesses of the group to lines of memory of their own for each element, as far as is known?
 * Then it does not matter to them which lane has which. */
static bool group_is_scattered(Choice *choice, const Access *member) {
    for (uint32_t i = 0; i < choice->naccesses; i++)
        if (same_group(member, &choice->accesses[i]) && !choice->accesses[i].scattered)
            return false;
    Affines *affines = affines_create(choice->func, choice->arena);
    for (uint32_t i = 0; i < choice->naccesses; i++) {
        const Access *other = &choice->accesses[i];
        if (!same_group(member, other))
            continue;
        const Affine *affine = affine_of(affines, op_in(other->op, 0));
        int64_t stride = 0, line = TARGET_LINE_BYTES / dtype_bytes(other->type->dtype);
        if (!affine->why && poly_is_constant(affine->dims[other->fastest].stride, &stride) &&
            stride && stride < line && stride > -line)
            return false;
    }
    return true;
}

static int loops_around(const Op *op) {
    int depth = 0;
    while ((op = op_loop_around(op)))
        depth++;
    return depth;
}

/* Does the innermost loop around the op? */
static bool multiplies_around(const Op *op) {
    const Op *loop = op_loop_around(op);
    for (uint32_t i = 0; loop && i < loop->nregions; i++)
        if (block_multiplies(loop->regions[i]))
            return true;
    return false;
}

/* Is the value a product, or made from one of its shape? */
static bool is_of_product(const Value *value, int *left) {
    const Op *op = value->def;
    if (!op || (*left)-- <= 0)
        return false;
    if (op->code == OP_dot)
        return true;
    if (op->code == OP_for)
        return is_of_product(op_in(op->regions[0]->last, (uint32_t)(value - op->out)), left);
    for (uint32_t i = 0; op_is_pure(op) && !op->nregions && i < op->nin; i++)
        if (type_same_shape(op_in(op, i)->type, value->type) && is_of_product(op_in(op, i), left))
            return true;
    return false;
}

/* What lies as a product makes it is stored from there, whatever the coalesced layout is. */
static bool stores_product(const Op *op) {
    int left = FOLLOWED_OPS;
    return op_has(op, STORE) && (multiplies_around(op) || is_of_product(op_in(op, 1), &left));
}

/* In how many loops those accesses stand that decide. What a loop stores by narrower accesses than
 * others in front of it or behind it are would write each sector as often as it has pieces. What
 * lies as a product makes it is stored from there. */
static int deciding_depth(const Choice *choice, const Access *member) {
    int depth = 0;
    for (uint32_t i = 0; i < choice->naccesses; i++) {
        const Access *other = &choice->accesses[i];
        int loops = loops_around(other->op);
        if (same_group(member, other) && op_has(other->op, STORE) && loops > depth &&
            !stores_product(other->op))
            depth = loops;
    }
    return depth;
}

int choose_width(const Access *access, const Layout *layout) {
    return layout_run(layout, fastest_bit(access), access->width);
}

/* Index bits of what lies together in `bytes` bytes of memory. */
static uint32_t bits_within(const Access *access, int bytes) {
    int64_t along = bytes / dtype_bytes(access->type->dtype);
    int64_t size = access->type->shape[access->fastest];
    return access->scattered ? 0
                             : (uint32_t)((along < size ? along : size) - 1) << fastest_bit(access);
}

/* log2 of the pieces of `within` that the lanes touch with one instruction. */
static int touched(const Layout *layout, uint32_t within) {
    Gf2 pieces = {0};
    for (int i = 0; i < layout->bits[LAYOUT_LANE]; i++)
        gf2_insert(&pieces, layout_bases(layout, LAYOUT_LANE)[i] & ~within, 0);
    return pieces.rank;
}

/* Sectors that an instruction touches beyond those that its bytes fill, also where few lanes have
 * elements of their own. L1 keeps for the next instruction what a load did not take of them; what
 * is written goes to L2 in parts. */
static int64_t partial_sectors(const Access *access, const Layout *layout) {
    int64_t sectors = INT64_C(1) << touched(layout, bits_within(access, SECTOR_BYTES));
    int64_t bytes = choose_width(access, layout) * (INT64_C(1) << touched(layout, 0)) *
                    dtype_bytes(access->type->dtype);
    int64_t filled = bytes / SECTOR_BYTES;
    return access->op->code == OP_load || filled > sectors ? 0 : sectors - filled;
}

/* Instructions of a thread, each weighted by the cache lines that a warp touches with it. */
static int64_t access_cost(const Access *access, const Layout *layout) {
    int64_t instructions = layout_owned_registers(layout) / choose_width(access, layout);
    int64_t lines = INT64_C(1) << touched(layout, bits_within(access, TARGET_LINE_BYTES));
    return instructions * (1 + lines + SECTOR_COST * partial_sectors(access, layout));
}

/* What accesses of a group ask for together. */
typedef struct Group {
    const Access *member;
    int depth;          /* of loops in which those stand that decide */
    bool along_kept;    /* all go along what a reduction keeps */
    int64_t bytes;      /* of the largest element */
    int warps_along;    /* the dimension along which warps lie first; -1: as accesses ask for */
    int64_t most_warps; /* along it */
} Group;

static bool decides(const Group *group, const Access *access) {
    return same_group(group->member, access) && loops_around(access->op) >= group->depth;
}

/* The layout of the group where a thread takes `vector` neighbours. */
static const Layout *layout_by(Choice *choice, const Group *group, int64_t vector) {
    const Access *member = group->member;
    CombinedAxes combined = combined_axes(choice, member->type);
    /* Elements one by one: a thread has fewer lines to address with more elements of each, and
     * neighbouring lines, so that it can store what it loaded to shared memory in vectors. Lines
     * below a sector may share one with their neighbours, which are other lanes' then. */
    int64_t line_bytes = member->type->shape[member->fastest] * group->bytes;
    bool one_by_one =
        vector == 1 && (line_bytes >= SECTOR_BYTES || group_is_scattered(choice, member));
    /* What warps have of what is kept they do not exchange: before lanes, which shuffle. */
    int64_t kept = member->type->shape[member->fastest];
    int64_t lanes_of_kept = kept > choice->num_warps ? kept / choice->num_warps : 1;
    unsigned along_lines = one_by_one && !group->along_kept ? 1u << member->fastest : 0;
    CoalescedShape wanted = {.rank = member->type->rank,
                             .shape = member->type->shape,
                             .fastest = member->fastest,
                             .vector = vector,
                             .lines = one_by_one ? MAX_ACCESS_BYTES / group->bytes : 1,
                             .most_lanes = group->along_kept ? lanes_of_kept : 0,
                             .num_warps = choice->num_warps,
                             .warps_last = combined.axes | along_lines};
    if (group->warps_along >= 0) {
        wanted.warps_last = ~(1u << group->warps_along);
        wanted.most_warps = group->most_warps;
    }
    const Layout *layout = layout_coalesced(choice->ctx, &wanted);
    if (!combined.scan)
        return layout;
    return layout_with_sections(choice->ctx, layout, combined.scan,
                                group_is_scattered(choice, member));
}

/* Does a store of the group write sectors in pieces where a thread has `vector` neighbours? */
static bool writes_pieces(const Choice *choice, const Group *group, int64_t vector) {
    for (uint32_t i = 0; i < choice->naccesses; i++) {
        const Access *access = &choice->accesses[i];
        int64_t piece = access->width * (int64_t)dtype_bytes(access->type->dtype);
        if (decides(group, access) && op_has(access->op, STORE) && !access->scattered &&
            access->width < vector && piece < SECTOR_BYTES && !stores_product(access->op))
            return true;
    }
    return false;
}

static int64_t least_to_write(const Choice *choice, const Access *access, const Layout *home,
                              const Layout **best);

/* Of all accesses, those of loops as often as loops usually go around. */
static int64_t group_cost(const Choice *choice, const Group *group, const Layout *layout) {
    int64_t cost = 0;
    for (uint32_t i = 0; i < choice->naccesses; i++) {
        const Access *access = &choice->accesses[i];
        const Layout *from;
        if (!decides(group, access) || stores_product(access->op))
            continue;
        int64_t once = op_has(access->op, STORE) ? least_to_write(choice, access, layout, &from)
                                                 : access_cost(access, layout);
        cost += once << (USUAL_TRIP_BITS * min_i64(loops_around(access->op), 4));
    }
    return cost;
}

/* Do warps share an axis along which elements are combined? */
static bool warps_combine(const Layout *layout, const CombinedAxes *combined) {
    const Type *type = combined->type;
    uint32_t mask = 0;
    for (int d = 0; d < type->rank; d++)
        if (combined->axes >> d & 1)
            mask |= layout_dim_mask(type->rank, type->shape, d);
    for (int i = 0; i < layout->bits[LAYOUT_WARP]; i++)
        if (layout_bases(layout, LAYOUT_WARP)[i] & mask)
            return true;
    return false;
}

/* `best`, or with warps shared out to dimensions otherwise if threads then hold less of what is
 * repeated along others: sines of a row that all heads take each warp loads for itself where warps
 * lie along the heads. Accesses must not cost more for it, and what is combined stays in warps. */
static const Layout *with_less_repeated(Choice *choice, const Group *group, int64_t vector,
                                        const Layout *best) {
    enum { LEAST_SAVED = 16, ELEMENTS_SAVED = 4 }; /* instructions; elements for one */
    const Type *type = group->member->type;
    CombinedAxes combined = combined_axes(choice, type);
    if (combined.scan || combined.product || block_multiplies(choice->func->body))
        return best;
    int64_t accesses = group_cost(choice, group, best);
    int64_t least = choose_repeated_cost(choice, type, vector, best);
    least -= max_i64(LEAST_SAVED, layout_owned_registers(best) / ELEMENTS_SAVED);
    for (int d = 0; least > 0 && d < type->rank; d++)
        for (int64_t warps = 2; warps <= choice->num_warps; warps *= 2) {
            Group other = *group;
            other.warps_along = d;
            other.most_warps = warps;
            const Layout *layout = layout_by(choice, &other, vector);
            int64_t cost = choose_repeated_cost(choice, type, vector, layout);
            if (cost < least && !warps_combine(layout, &combined) &&
                group_cost(choice, group, layout) <= accesses) {
                least = cost;
                best = layout;
            }
        }
    return best;
}

/* One layout for all accesses of this shape and dimension: by the widest of them, or by fewer
 * neighbours of a thread, where others than loads would take these in pieces. */
static const Layout *group_layout(Choice *choice, const Access *member) {
    Group group = {member, deciding_depth(choice, member), true, 1, -1, 0};
    int64_t vector = 1;
    for (uint32_t i = 0; i < choice->naccesses; i++) {
        const Access *other = &choice->accesses[i];
        if (!decides(&group, other))
            continue;
        group.along_kept &= other->along_kept;
        int size = dtype_bytes(other->type->dtype);
        vector = other->width > vector ? other->width : vector;
        group.bytes = size > group.bytes ? size : group.bytes;
    }
    int64_t share = type_numel(member->type) / ((int64_t)TARGET_WARP_SIZE * choice->num_warps);
    while (vector > 1 && (vector > share || vector * group.bytes > MAX_THREAD_BYTES))
        vector /= 2;
    const Layout *best = layout_by(choice, &group, vector);
    while (vector > 1 && writes_pieces(choice, &group, vector)) {
        vector /= 2;
        const Layout *layout = layout_by(choice, &group, vector);
        if (group_cost(choice, &group, layout) < group_cost(choice, &group, best))
            best = layout;
    }
    return with_less_repeated(choice, &group, vector, best);
}

/* An access without an order of its own follows the widest one of its shape. */
static void follow_others(Choice *choice, Access *access) {
    const Access *widest = NULL;
    for (uint32_t i = 0; i < choice->naccesses; i++) {
        const Access *other = &choice->accesses[i];
        if (!other->scattered && type_same_shape(access->type, other->type) &&
            (!widest || other->width > widest->width))
            widest = other;
    }
    if (widest)
        access->fastest = widest->fastest;
}

/* The dimension that a thread of its own has each place of, where addresses ask for none: the
 * longest of those along which nothing is combined, so that what is combined lies in one thread;
 * -1: as it is. What is scanned lies in sections (layout_with_sections). */
static int uncombined_dim(Choice *choice, const Access *access) {
    CombinedAxes combined = combined_axes(choice, access->type);
    if (combined.scan || combined.product || !(combined.axes >> access->fastest & 1) ||
        !group_is_scattered(choice, access))
        return -1;
    int longest = -1;
    for (int i = access->type->rank - 1; i >= 0; i--) {
        int64_t size = access->type->shape[i];
        if (!(combined.axes >> i & 1) && size > 1 &&
            (longest < 0 || size > access->type->shape[longest]))
            longest = i;
    }
    return longest;
}

/* Accesses that touch a line for each element have lanes along what is kept of a reduction. */
static void keep_combined_in_threads(Choice *choice) {
    Groups groups = {0};
    int *dims = ARENA_ARRAY(choice->arena, int, choice->naccesses);
    for (uint32_t i = 0; i < choice->naccesses; i++) {
        Access *access = &choice->accesses[i];
        if (!access->scattered) {
            dims[i] = -1;
            continue;
        }
        const Access *first = first_of_group(choice, &groups, access);
        dims[i] = first == access ? uncombined_dim(choice, access) : dims[first - choice->accesses];
    }
    for (uint32_t i = 0; i < choice->naccesses; i++) {
        choice->accesses[i].along_kept = dims[i] >= 0;
        if (dims[i] >= 0)
            choice->accesses[i].fastest = dims[i];
    }
}

void choose_accesses(Choice *choice) {
    uint32_t count = 0;
    func_walk(choice->func, count_access, &count);
    choice->accesses = ARENA_ARRAY(choice->arena, Access, count);
    func_walk(choice->func, collect_access, choice);
    for (uint32_t i = 0; i < choice->naccesses; i++)
        if (choice->accesses[i].scattered)
            follow_others(choice, &choice->accesses[i]);
    func_walk(choice->func, collect_combining, choice);
    keep_combined_in_threads(choice);
    Groups groups = {0};
    for (uint32_t i = 0; i < choice->naccesses; i++) {
        Access *access = &choice->accesses[i], *first = first_of_group(choice, &groups, access);
        access->coalesced = first == access ? group_layout(choice, access) : first->coalesced;
    }
}

const Layout *choose_coalesced(const Choice *choice, const Type *type) {
    for (uint32_t i = 0; i < choice->naccesses; i++)
        if (type_same_shape(choice->accesses[i].type, type))
            return choice->accesses[i].coalesced;
    return NULL;
}

/* In words of 32 bits, which is how both ways move narrower elements; shuffles need selections
 * before and after. */
static int64_t conversion_cost(const Access *access, const Layout *dst, const Layout *src) {
    enum { SHUFFLED_WORD_COST = 5 };
    int64_t registers = layout_owned_registers(dst) + layout_owned_registers(src);
    int64_t words = registers * dtype_bytes(access->type->dtype) / 4;
    switch (layout_classify(dst, src)) {
    case CONVERT_NOTHING:
    case CONVERT_REGISTERS:
        return 0;
    case CONVERT_SHUFFLES:
        return words * SHUFFLED_WORD_COST / 2;
    case CONVERT_SHARED:
    case CONVERT_CLUSTER:
        return words + SHARED_ROUND_TRIP_COST;
    }
    return 0;
}

/* What is computed of each element of a load before it is repeated along other dimensions, added up
 * or stored, in instructions, and how many values come out of that. */
typedef struct Work {
    PtrSet seen;
    int64_t instructions;
    int64_t results;
    bool dear; /* some of it takes the special function unit: else a conversion is no better */
} Work;

static bool is_same_size(const Op *op, const Value *value) {
    return op_is_pure(op) && op->nout == 1 && op_passes_layouts(op) &&
           type_is_tile(op_out(op)->type) &&
           type_numel(op_out(op)->type) == type_numel(value->type);
}

/* A quotient by one number is a product with its reciprocal. */
static bool is_dear(const Op *op) {
    return op_has(op, COST_SPECIAL) && !(op->code == OP_divf && value_is_uniform(op_in(op, 1)));
}

static void follow_work(Work *work, const Value *value) {
    bool comes_out = false;
    value_for_each_use (use, value) {
        const Op *op = use->user;
        comes_out |= op->code == OP_broadcast;
        if (work->seen.len >= FOLLOWED_OPS || !is_same_size(op, value) ||
            !ptr_set_add(&work->seen, op))
            continue;
        if (!op_has(op, MOVES))
            work->instructions += is_dear(op) ? TARGET_SPECIAL_SLOTS : 1;
        work->dear |= is_dear(op);
        follow_work(work, op_out(op));
    }
    work->results += comes_out;
}

/* Where many threads hold an element, all of them compute what becomes of it; in its coalesced
 * layout each is computed once, and each result converted. */
bool choose_prefers(const Choice *choice, const Access *access, const Layout *demand) {
    if (!demand || demand == access->coalesced)
        return false;
    ArenaMark mark = arena_mark(choice->arena);
    Work work = {.seen.arena = choice->arena};
    follow_work(&work, op_out(access->op));
    arena_rewind(choice->arena, mark);
    int64_t repeated =
        layout_owned_registers(demand) - (int64_t)layout_owned_registers(access->coalesced);
    int64_t conversion = conversion_cost(access, demand, access->coalesced);
    bool converts = work.dear && repeated > 0;
    if (converts && work.results > 1)
        conversion *= work.results;
    if (converts && layout_classify(demand, access->coalesced) >= CONVERT_SHARED)
        conversion *= MEETING_COST;
    return access_cost(access, demand) + (converts ? work.instructions * repeated : 0) <=
           access_cost(access, access->coalesced) + conversion;
}

/* Layouts that a warp has by exchanging what it holds itself */

static bool swap_bases(Layout *layout, int a, int b) {
    uint32_t base = layout->basis[a];
    layout->basis[a] = layout->basis[b];
    layout->basis[b] = base;
    return true;
}

/* The input of the warp's own that alone holds this index bit; -1: there is none. */
static int holder_of(const Layout *layout, uint32_t bit) {
    int own = layout->bits[LAYOUT_REG] + layout->bits[LAYOUT_LANE], holder = -1;
    for (int i = 0; i < layout_in_bits(layout); i++) {
        if (!(layout->basis[i] & bit))
            continue;
        if (holder >= 0 || layout->basis[i] != bit || i >= own)
            return -1;
        holder = i;
    }
    return holder;
}

/* Register `to` gets the index bit: from another register, or from a lane, which gets of what
 * registers hold of the row beyond what stays of the sector for lanes the lowest bit. */
static bool bit_to_register(Layout *layout, int to, uint32_t bit, uint32_t row) {
    int from = holder_of(layout, bit), registers = layout->bits[LAYOUT_REG], given = -1;
    if (from < 0 || to >= registers)
        return false;
    if (from < registers)
        return swap_bases(layout, from, to);
    for (int i = to; i < registers; i++)
        if (layout->basis[i] & row && !(layout->basis[i] & ~row) &&
            (given < 0 || layout->basis[i] < layout->basis[given]))
            given = i;
    return given >= 0 && swap_bases(layout, given, to) && swap_bases(layout, to, from);
}

/* A lane gets the index bit, the last one that holds nothing of `sector`. */
static bool bit_to_lane(Layout *layout, uint32_t bit, uint32_t sector) {
    int from = holder_of(layout, bit), registers = layout->bits[LAYOUT_REG];
    if (from < 0 || from >= registers)
        return from >= 0;
    for (int i = registers + layout->bits[LAYOUT_LANE] - 1; i >= registers; i--)
        if (!(layout->basis[i] & sector))
            return swap_bases(layout, from, i);
    return false;
}

/* `held` with 2^vector_bits neighbours in a thread and the rest of a sector in its neighbours, what
 * each warp has left as it is; NULL: the warp does not have them. */
static const Layout *gathered(Ctx *ctx, const Access *access, const Layout *held, int vector_bits) {
    const Type *type = access->type;
    Layout layout = *held;
    uint32_t first = 1u << fastest_bit(access), sector = bits_within(access, SECTOR_BYTES);
    uint32_t row = layout_dim_mask(type->rank, type->shape, access->fastest);
    for (int i = 0; i < vector_bits; i++)
        if (!bit_to_register(&layout, i, first << i, row & ~((first << vector_bits) - 1)))
            return NULL;
    for (uint32_t bit = first << vector_bits; bit & sector; bit <<= 1)
        if (!bit_to_lane(&layout, bit, sector))
            return NULL;
    return layout_get(ctx, &layout);
}

/* The widest accesses may leave gaps, which others of the thread fill: halves of sectors are no
 * worse than an exchange. */
static bool is_widest(const Access *access, const Layout *layout) {
    return choose_width(access, layout) * dtype_bytes(access->type->dtype) >= MAX_ACCESS_BYTES;
}

/* What a store of what lies in `home` costs at least, from there or from where the warp's own
 * exchanges bring it: `best`. */
static int64_t least_to_write(const Choice *choice, const Access *access, const Layout *home,
                              const Layout **best) {
    int64_t least = access_cost(access, home);
    int most = MAX_ACCESS_BYTES / dtype_bytes(access->type->dtype);
    most = access->scattered ? 0 : access->width < most ? access->width : most;
    *best = home;
    for (int bits = 0; 1 << bits <= most; bits++) {
        const Layout *layout = gathered(choice->ctx, access, home, bits);
        int64_t cost = layout ? access_cost(access, layout) + conversion_cost(access, layout, home)
                              : INT64_MAX;
        if (cost < least) {
            *best = layout;
            least = cost;
        }
    }
    return least;
}

const Layout *choose_to_write(const Choice *choice, const Access *access, const Layout *home) {
    const Layout *best;
    if (home == access->coalesced && is_widest(access, home))
        return home;
    int64_t least = least_to_write(choice, access, home, &best);
    int64_t exchanged =
        access_cost(access, access->coalesced) + conversion_cost(access, access->coalesced, home);
    return exchanged < least ? access->coalesced : best;
}
