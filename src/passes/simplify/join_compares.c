/* join-compares: masks that compare what a loop moves with several bounds compare it with one.
 *
 *     %a = cmpi %k, (splat %n) {slt}                         %b = minsi %q, (splat %n - 1)
 *     for .. {                                               for .. {
 *         %k = addi (splat %i), range                  =>        %k = addi (splat %i), range
 *         %m = andi (cmpi %q, %k {sge}), (%k < splat %n)         %m = cmpi %k, %b {sle}
 *         %s = select %m, ..                                     %s = select %m, ..
 *
 * A causal block at the end of its keys, or one with a prefix that all rows see, compares each
 * column with its row and with a number. Both are bounds of the column: their least where both have
 * to hold, their largest where one does; a condition on rows alone moves the bound beyond all that
 * the column may be (facts). What is left is one comparison of an element, and the bounds are
 * computed in front of the loop, for rows.
 *
 * All comparisons of such a mask are signed ones of one value from above, or all from below; bounds
 * have one shape, smaller than the mask's, or are the same in all elements. Masks that choose are
 * joined; those of accesses stay, since other passes look for places and sizes in them.
 *
 * Comes behind narrow-compares, so that it sees places in 32 bits, and before there are layouts. */
#include "passes/analysis/facts.h"
#include "passes/analysis/fold.h"
#include "passes/passes.h"
#include "passes/rewrite.h"
#include "passes/simplify/simplify.h"
#include "support/vec.h"

enum { MAX_NODES = 16, MAX_USES = 64 };

typedef enum NodeKind {
    NODE_BOUND, /* moving <= value, or >= */
    NODE_MASK,  /* value: a condition that does not depend on what moves */
    NODE_AND,
    NODE_OR,
} NodeKind;

typedef struct Node {
    NodeKind kind;
    Value *value;    /* in its own shape, before broadcasts */
    bool strict;     /* of a bound: < or > */
    bool may_wrap;   /* the number before a strict bound, or behind it */
    int left, right; /* of what is combined */
} Node;

typedef struct Join {
    const Facts *facts;
    Op *loop, *root;
    Value *moving;     /* before broadcasts; NULL: none met yet */
    bool from_above;   /* all bounds are upper ones */
    const Type *shape; /* of bounds and conditions that are not uniform; NULL: none met yet */
    Node nodes[MAX_NODES];
    int count, bounds;
} Join;

/* What a tile repeats along dimensions of size one. */
static Value *unrepeated(Value *value) {
    for (const Op *op; (op = value_def(value, OP_broadcast));)
        value = op_in(op, 0);
    return value;
}

static bool is_fixed(const Join *join, const Value *value) {
    int64_t constant;
    return value_is_outside(value, join->loop) || value_int_constant(value, &constant);
}

/* A bound or condition that can be computed in front of the loop, in the shape of the others. */
static bool takes(Join *join, Value **value) {
    *value = unrepeated(*value);
    if (!is_fixed(join, *value))
        return false;
    if (value_is_uniform(*value))
        return true;
    const Type *type = (*value)->type;
    if (!join->shape)
        join->shape = type;
    return type->rank == join->shape->rank &&
           memcmp(type->shape, join->shape->shape, type->rank * sizeof *type->shape) == 0;
}

static int add_node(Join *join, Node node) {
    if (join->count == MAX_NODES)
        return -1;
    join->nodes[join->count] = node;
    return join->count++;
}

static bool may_wrap(const Join *join, const Value *bound) {
    const ValueFacts *facts = facts_of(join->facts, bound);
    DType dtype = bound->type->dtype;
    return join->from_above ? facts->lo == int_lowest(dtype) : facts->hi == int_highest(dtype);
}

static int bound_node(Join *join, const Op *compare) {
    IntPredicate pred = cmpi_attrs(compare)->pred;
    Value *moving = unrepeated(op_in(compare, 0)), *bound = op_in(compare, 1);
    if (is_fixed(join, moving)) {
        bound = op_in(compare, 0);
        moving = unrepeated(op_in(compare, 1));
        pred = predicate_swap(pred);
    }
    bool above = pred == IPRED_SLT || pred == IPRED_SLE;
    bool below = pred == IPRED_SGT || pred == IPRED_SGE;
    if ((!above && !below) || is_fixed(join, moving) ||
        (join->moving && (join->moving != moving || join->from_above != above)))
        return -1;
    join->moving = moving;
    join->from_above = above;
    bool strict = pred == IPRED_SLT || pred == IPRED_SGT;
    if (!takes(join, &bound))
        return -1;
    join->bounds++;
    return add_node(join, (Node){.kind = NODE_BOUND,
                                 .value = bound,
                                 .strict = strict,
                                 .may_wrap = strict && may_wrap(join, bound)});
}

/* The number of the node that says when the value is true; -1: it is not of this form. */
static int find_node(Join *join, Value *value) {
    value = unrepeated(value);
    if (is_fixed(join, value))
        return takes(join, &value) ? add_node(join, (Node){.kind = NODE_MASK, .value = value}) : -1;
    const Op *op = value->def;
    if (op && op->code == OP_cmpi)
        return bound_node(join, op);
    if (!op || (op->code != OP_andi && op->code != OP_ori))
        return -1;
    int left = find_node(join, op_in(op, 0));
    int right = left < 0 ? -1 : find_node(join, op_in(op, 1));
    return right < 0 ? -1
                     : add_node(join, (Node){.kind = op->code == OP_andi ? NODE_AND : NODE_OR,
                                             .left = left,
                                             .right = right});
}

/* What moves is within it always, or never. */
static int64_t bound_of_all(const Join *join, bool always) {
    const ValueFacts *facts = facts_of(join->facts, join->moving);
    if (join->from_above)
        return always ? facts->hi : facts->lo - 1;
    return always ? facts->lo : facts->hi + 1;
}

/* A bound that holds for nothing is needed, and there is none. */
static bool lacks_room(const Join *join) {
    const ValueFacts *facts = facts_of(join->facts, join->moving);
    DType dtype = join->moving->type->dtype;
    bool needed = false;
    for (int i = 0; i < join->count; i++)
        needed |= join->nodes[i].kind == NODE_MASK || join->nodes[i].may_wrap;
    return needed &&
           (join->from_above ? facts->lo == int_lowest(dtype) : facts->hi == int_highest(dtype));
}

/* Rewriting */

static const Type *bound_type(const Join *join, Ctx *ctx, DType dtype) {
    return join->shape ? type_with_dtype(ctx, join->shape, dtype) : type_scalar(ctx, dtype);
}

/* A fixed value in the shape of bounds. */
static Value *placed(const Join *join, Builder *b, Value *value) {
    int64_t constant;
    const Type *type = bound_type(join, b->ctx, value->type->dtype);
    if (value_int_constant(value, &constant))
        return rewrite_int(b, type, constant);
    if (!value_is_uniform(value))
        return value;
    Value *scalar = value_uniform_scalar(b, value);
    return join->shape ? build_splat(b, scalar, type) : scalar;
}

/* < or > of the bound as <= or >= of its neighbour; of one that holds for nothing any such. */
static Value *inclusive(const Join *join, Builder *b, const Node *node, const Type *type) {
    Value *bound = placed(join, b, node->value);
    if (!node->strict)
        return bound;
    if (node->may_wrap) {
        int64_t never = bound_of_all(join, false);
        bound = join->from_above ? build_maxsi(b, bound, rewrite_int(b, type, never + 1))
                                 : build_minsi(b, bound, rewrite_int(b, type, never - 1));
    }
    return build_addi(b, bound, rewrite_int(b, type, join->from_above ? -1 : 1));
}

/* The bound that what moves is within exactly where the node is true. */
static Value *bound_of(const Join *join, Builder *b, int at) {
    const Node *node = &join->nodes[at];
    const Type *type = bound_type(join, b->ctx, join->moving->type->dtype);
    if (node->kind == NODE_BOUND)
        return inclusive(join, b, node, type);
    if (node->kind == NODE_MASK)
        return build_select(b, placed(join, b, node->value),
                            rewrite_int(b, type, bound_of_all(join, true)),
                            rewrite_int(b, type, bound_of_all(join, false)));
    Value *left = bound_of(join, b, node->left), *right = bound_of(join, b, node->right);
    return (node->kind == NODE_AND) == join->from_above ? build_minsi(b, left, right)
                                                        : build_maxsi(b, left, right);
}

static Value *shaped(Builder *b, Value *value, const Type *mask) {
    const Type *type = type_with_dtype(b->ctx, mask, value->type->dtype);
    if (value->type == type)
        return value;
    return type_is_tile(value->type) ? build_broadcast(b, value, type)
                                     : build_splat(b, value, type);
}

static void rewrite(const Join *join, int top) {
    Builder front = builder_before(join->loop), b = builder_before(join->root);
    front.span = b.span = join->root->span;
    const Type *type = op_out(join->root)->type;
    Value *bound = shaped(&b, bound_of(join, &front, top), type);
    rewrite_replace(join->root, build_cmpi(&b, shaped(&b, join->moving, type), bound,
                                           join->from_above ? IPRED_SLE : IPRED_SGE));
}

/* Where */

static bool is_mask(const Op *op) {
    return (op->code == OP_andi || op->code == OP_ori) && type_is_tile(op_out(op)->type) &&
           op_out(op)->type->dtype == DT_I1;
}

/* All that becomes of the mask is choices, as far as so many uses tell: parts of masks may be
 * shared by many others, which are met along each way. */
static bool chooses(const Value *mask, int *left) {
    value_for_each_use (use, mask) {
        const Op *user = use->user;
        bool joins = user->code == OP_broadcast || is_mask(user);
        if ((*left)-- <= 0 ||
            (joins ? !chooses(op_out(user), left) : user->code != OP_select || use != &user->in[0]))
            return false;
    }
    return !value_unused(mask);
}

static Op *loop_around(const Op *op) {
    Op *parent = op->block->parent;
    while (parent && !op_has(parent, LOOP))
        parent = parent->block->parent;
    return parent;
}

typedef struct Joiner {
    const Facts *facts;
    Arena *arena;
    VEC(Op *) roots;
} Joiner;

static bool note(Op *op, void *user) {
    Joiner *joiner = user;
    int left = MAX_USES;
    if (is_mask(op) && loop_around(op) && chooses(op_out(op), &left))
        vec_push(joiner->arena, &joiner->roots, op);
    return true;
}

static bool join_at(const Joiner *joiner, Op *root) {
    Join join = {.facts = joiner->facts, .loop = loop_around(root), .root = root};
    int top = find_node(&join, op_out(root));
    if (top < 0 || join.bounds < 2 || lacks_room(&join) ||
        (join.shape && type_numel(join.shape) >= type_numel(op_out(root)->type)))
        return false;
    rewrite(&join, top);
    return true;
}

bool pass_join_compares(Func *func) {
    Arena *arena = &func_ctx(func)->scratch;
    ArenaMark mark = arena_mark(arena);
    Joiner joiner = {.facts = facts_compute(func, arena), .arena = arena};
    func_walk(func, note, &joiner);
    bool changed = false;
    /* What contains others comes behind them; of it they are a part no longer needed. */
    for (size_t i = joiner.roots.len; i-- > 0;)
        if (!value_unused(op_out(joiner.roots.data[i])) && joiner.roots.data[i]->block)
            changed |= join_at(&joiner, joiner.roots.data[i]);
    arena_rewind(arena, mark);
    if (changed)
        eliminate_dead(func);
    return changed;
}
