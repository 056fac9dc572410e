/* The verifier: everything that must hold between passes.
 *
 * Three walks over a function, each linear: the links of ops, blocks and regions (without them the
 * others could not even walk); the use lists; then dominance, rules, terminators and layouts.
 * Dominance needs no tree: control flow is structured, so a value is visible from its op to the end
 * of its block. */
#include "ir/build.h"
#include "ir/text.h"
#include "support/bits.h"
#include "support/ptrmap.h"
#include "target/wgmma.h"

typedef struct Verifier {
    Ctx *ctx;
    const Func *func;
    PtrMap uses;    /* Use of an operand to the Value whose list holds it, or to its Op before */
    PtrMap visible; /* Value to itself */
    PtrMap types;   /* Type to itself: layout checked */
    size_t operands;
    const Op *combiner; /* the op by element whose region is being checked */
    bool ok;
} Verifier;

static const char *type_text(Verifier *v, const Type *type) {
    StrBuf text = strbuf(&v->ctx->scratch);
    type_print(type, &text);
    return text.ptr;
}

/* Links */

static bool bad_link(Verifier *v, const Op *op, const char *what) {
    const char *name = op ? op_info[op->code].name : "func";
    return v->ok = ctx_diag(v->ctx, op ? op->span : v->func->span, ir_links, name, what);
}

static bool check_values(Verifier *v, const Op *op, const Block *block) {
    const Value *values = op ? op->out : block->args;
    uint32_t count = op ? op->nout : block->nargs;
    for (uint32_t i = 0; i < count; i++) {
        if (!values[i].type)
            return bad_link(v, op ? op : block->parent, "a result or argument has no type");
        if (values[i].def != op || values[i].owner != block || values[i].index != i)
            return bad_link(v, op ? op : block->parent, "a result or argument lies elsewhere");
    }
    return true;
}

static bool check_links(Verifier *v, const Block *block, const Op *parent, int depth);

static bool check_op_links(Verifier *v, const Op *op, int depth) {
    if ((unsigned)op->code >= OP_COUNT)
        return v->ok = ctx_diag(v->ctx, op->span, ir_links, "op", "its code is unknown");
    const OpInfo *info = &op_info[op->code];
    if (op->nregions != info->regions)
        return bad_link(v, op, "the number of regions");
    for (uint32_t i = 0; i < op->nin; i++) {
        const Use *use = &op->in[i];
        if (!use->value || use->user != op || !use->link)
            return bad_link(v, op, "an operand is absent or not linked");
        ptrmap_set(&v->uses, use, (void *)op);
        v->operands++;
    }
    if (!check_values(v, op, NULL))
        return false;
    for (uint32_t i = 0; i < (uint32_t)info->attr_count; i++) {
        const AttrInfo *attr = &info->attr[i];
        int64_t value = op_attr(op, i).i;
        bool is_enum = attr_enum_text(attr->kind, 0) != NULL;
        if (is_enum && !attr_enum_text(attr->kind, value))
            return v->ok = ctx_diag(v->ctx, op->span, ir_attr_value, info->name,
                                    attr_name_text(attr->name), (long long)value);
    }
    for (uint32_t i = 0; i < op->nregions; i++)
        if (!check_links(v, op->regions[i], op, depth + 1))
            return false;
    return true;
}

static bool check_links(Verifier *v, const Block *block, const Op *parent, int depth) {
    if (!block || block->parent != parent || block->func != v->func)
        return bad_link(v, parent, "a region is absent or belongs elsewhere");
    if (depth > IR_MAX_NESTING)
        return v->ok = ctx_diag(v->ctx, parent->span, ir_nesting, IR_MAX_NESTING);
    if (!check_values(v, NULL, block))
        return false;
    const Op *last = NULL;
    block_for_each (op, block) {
        if (op->block != block || op->prev != last)
            return bad_link(v, op, "its block or its neighbours");
        if (!check_op_links(v, op, depth))
            return false;
        last = op;
    }
    return block->last == last || bad_link(v, last ? last : parent, "the end of its block");
}

/* Use lists: every list holds uses of its own value, and every operand is in one. */

static void check_use_list(Verifier *v, const Value *value, const Op *at) {
    size_t count = 0;
    Use *const *link = &value->uses;
    const char *name = at ? op_info[at->code].name : "func";
    Span span = at ? at->span : v->func->span;
    value_for_each_use (use, value) {
        const Op *user = ptrmap_get(&v->uses, use);
        if (!user || use->value != value || use->link != link || ++count > v->operands) {
            v->ok = ctx_diag(v->ctx, span, ir_use_list, value->index, name,
                             "it holds a use of something else or of an op that is gone");
            return;
        }
        ptrmap_set(&v->uses, use, (void *)value);
        link = &use->next;
    }
}

static void check_use_lists(Verifier *v, const Block *block) {
    for (uint32_t i = 0; i < block->nargs; i++)
        check_use_list(v, &block->args[i], block->parent);
    block_for_each (op, block) {
        for (uint32_t i = 0; i < op->nout; i++)
            check_use_list(v, &op->out[i], op);
        for (uint32_t i = 0; i < op->nregions; i++)
            check_use_lists(v, op->regions[i]);
    }
}

static void check_listed(Verifier *v, const Block *block) {
    block_for_each (op, block) {
        for (uint32_t i = 0; i < op->nin; i++)
            if (ptrmap_get(&v->uses, &op->in[i]) != op_in(op, i))
                v->ok = ctx_diag(v->ctx, op->span, ir_use_list, i, op_info[op->code].name,
                                 "it lacks this use");
        for (uint32_t i = 0; i < op->nregions; i++)
            check_listed(v, op->regions[i]);
    }
}

/* Layouts */

/* Bases of a layout for so many warps or blocks; 0: not given, which is one. Other counts than
 * powers of two are reported with the function's attributes. */
static int bases_for(int32_t count) {
    return count > 0 && (count & (count - 1)) == 0 ? log2_exact(count) : 0;
}

static const char *layout_problem(const Verifier *v, const Type *type) {
    const Layout *layout = type->layout;
    if (layout->out_bits != type->log2_numel)
        return "it is for another number of elements";
    if (!layout_is_surjective(layout))
        return "an element has no place";
    if (type->kind == TYPE_BUFFER)
        return layout->bits[LAYOUT_REG] != layout->out_bits || layout->bits[LAYOUT_LANE] ||
                       layout->bits[LAYOUT_WARP] || layout->bits[LAYOUT_BLOCK]
                   ? "a buffer's is a permutation of offsets, given as reg"
                   : NULL;
    if (layout->bits[LAYOUT_LANE] != LAYOUT_LANE_BITS)
        return "a tile's has 5 lane bases";
    if (layout->bits[LAYOUT_WARP] != bases_for(v->func->num_warps))
        return "the warp bases are not log2 of num_warps";
    if (layout->bits[LAYOUT_BLOCK] != bases_for(v->func->num_ctas))
        return "the block bases are not log2 of num_ctas";
    return NULL;
}

static void check_type(Verifier *v, const Type *type, const Op *at) {
    if (ptrmap_get(&v->types, type))
        return;
    ptrmap_set(&v->types, type, (void *)type);
    Span span = at ? at->span : v->func->span;
    bool wants = v->func->has_layouts && type->rank > 0;
    if (v->func->one_thread && type->rank > 0)
        v->ok = ctx_diag(v->ctx, v->func->span, ir_func_attr, STR_ARG(v->func->name), "one_thread",
                         1, "0, because the function has tiles");
    if (!v->func->has_layouts && type->kind == TYPE_BUFFER)
        v->ok = ctx_diag(v->ctx, span, ir_layout_map, type_text(v, type),
                         "buffers are only in functions with has_layouts");
    else if (wants != (type->layout != NULL))
        v->ok = ctx_diag(v->ctx, span, ir_layout_map, type_text(v, type),
                         wants ? "none, in a function with has_layouts"
                               : "one, on a scalar or in a function without has_layouts");
    else if (type->layout && layout_problem(v, type))
        v->ok = ctx_diag(v->ctx, span, ir_layout_map, type_text(v, type), layout_problem(v, type));
}

/* Ops */

static void show_values(Verifier *v, Value *values, uint32_t count, const Op *at) {
    for (uint32_t i = 0; i < count; i++) {
        ptrmap_set(&v->visible, &values[i], &values[i]);
        check_type(v, values[i].type, at);
    }
}

static void hide_values(Verifier *v, const Value *values, uint32_t count) {
    for (uint32_t i = 0; i < count; i++)
        ptrmap_set(&v->visible, &values[i], NULL);
}

static void check_terminator(Verifier *v, const Block *block) {
    const Op *parent = block->parent, *last = block->last;
    Span span = last ? last->span : parent ? parent->span : v->func->span;
    const char *where = parent ? op_info[parent->code].name : "func";
    if (!last || !op_has(last, TERMINATOR))
        v->ok = ctx_diag(v->ctx, span, ir_terminator, where,
                         parent ? "a region does not end in yield or condition"
                                : "the body does not end in return");
    else if (!parent != (last->code == OP_return))
        v->ok = ctx_diag(v->ctx, span, ir_place, op_info[last->code].name, where,
                         parent ? "the body of the function" : "a region; the body ends in return");
}

/* A constant is stored as its type holds it: sign-extended, i1 as 0 or 1. */
static bool constant_fits(const Op *op) {
    int bits = dtype_info[op->out[0].type->dtype].bits;
    int64_t value = constant_int_attrs(op)->value;
    if (bits == 1)
        return value == 0 || value == 1;
    return bits == 64 || (value >> (bits - 1) == 0 || value >> (bits - 1) == -1);
}

static void check_rule(Verifier *v, const Op *op) {
    const OpInfo *info = &op_info[op->code];
    const Type *stated = op->nout ? op->out[0].type : NULL, *type = NULL;
    if (!op_check(v->ctx, op, stated, &type))
        v->ok = false;
    else if (info->results == RESULT_INFERRED && type != stated)
        v->ok = ctx_diag(v->ctx, op->span, ir_stale_type, info->name, type_text(v, stated),
                         type_text(v, type));
    else if (op->code == OP_constant_int && !constant_fits(op))
        v->ok = ctx_diag(v->ctx, op->span, ir_attr_value, info->name,
                         attr_name_text(ATTR_NAME_value), (long long)constant_int_attrs(op)->value);
}

/* Regions for single elements: scalars, no effects but that something is said, at any depth. */
static void check_combiner(Verifier *v, const Op *op) {
    const char *problem = !op_has_only(op, 0) && !op_has(op, SAYS) ? "it has effects" : NULL;
    for (uint32_t i = 0; !problem && i < op->nout; i++)
        problem = op->out[i].type->rank ? "its result is no scalar" : NULL;
    if (problem)
        v->ok = ctx_diag(v->ctx, op->span, ir_combiner, op_info[op->code].name,
                         op_info[v->combiner->code].name, problem);
}

static void check_block(Verifier *v, const Block *block) {
    show_values(v, block->args, block->nargs, block->parent);
    block_for_each (op, block) {
        for (uint32_t i = 0; i < op->nin; i++)
            if (!ptrmap_get(&v->visible, op_in(op, i)))
                v->ok = ctx_diag(v->ctx, op->span, ir_dominance, op_info[op->code].name, i);
        if (op_has(op, TERMINATOR) && op->next)
            v->ok = ctx_diag(v->ctx, op->span, ir_terminator, op_info[op->code].name,
                             "a terminator before the end of its block");
        check_rule(v, op);
        const Op *combiner = v->combiner;
        if (combiner)
            check_combiner(v, op);
        else if (op_has(op, BY_ELEMENT))
            v->combiner = op;
        for (uint32_t i = 0; i < op->nregions; i++)
            check_block(v, op->regions[i]);
        v->combiner = combiner;
        show_values(v, op->out, op->nout, op);
    }
    check_terminator(v, block);
    block_for_each (op, block)
        hide_values(v, op->out, op->nout);
    hide_values(v, block->args, block->nargs);
}

/* Functions */

static void check_power(Verifier *v, const char *name, int32_t value, int32_t max) {
    if (value < 0 || value > max || (value & (value - 1)))
        v->ok = ctx_diag(v->ctx, v->func->span, ir_func_attr, STR_ARG(v->func->name), name, value,
                         "0 or a power of two within the limits of the hardware");
}

static bool is_apart_list(const Func *func) {
    bool ok = func->apart.len % 2 == 0 && !(func->in_place && func->apart.len);
    for (uint32_t i = 0; i < func->apart.len; i++) {
        const int64_t at = func->apart.ptr[i];
        ok = ok && at >= 0 && at < func->body->nargs &&
             func->body->args[at].type->kind == TYPE_POINTER;
    }
    return ok;
}

static void check_func_attrs(Verifier *v) {
    enum { MAX_WARPS = 32, MAX_CTAS = 16, MAX_AXES = 3 };
    const Func *func = v->func;
    check_power(v, "num_warps", func->num_warps, MAX_WARPS);
    check_power(v, "launched_warps", func->launched_warps, MAX_WARPS);
    check_power(v, "num_ctas", func->num_ctas, MAX_CTAS);
    check_power(v, "programs_per_cta", func->programs_per_cta, MAX_WARPS);
    if (func->num_stages < 0)
        v->ok = ctx_diag(v->ctx, func->span, ir_func_attr, STR_ARG(func->name), "num_stages",
                         func->num_stages, "0 or a number of iterations");
    if (func->is_persistent && func->programs_per_cta > 1)
        v->ok = ctx_diag(v->ctx, func->span, ir_func_attr, STR_ARG(func->name), "programs_per_cta",
                         func->programs_per_cta, "at most 1, because the function is persistent");
    if (func->is_persistent && func->num_ctas > 1)
        v->ok = ctx_diag(v->ctx, func->span, ir_func_attr, STR_ARG(func->name), "num_ctas",
                         func->num_ctas, "at most 1, because the function is persistent");
    if (func->plain_abi && (func->programs_per_cta > 1 || func->is_persistent ||
                            !func->no_tensor_copies || !func->no_persistence))
        v->ok = ctx_diag(v->ctx, func->span, ir_func_attr, STR_ARG(func->name), "plain_abi", 1,
                         "0, because a program is not one CTA or tensor copies are allowed");
    if (func->last_first < 0 || func->last_first >= 1 << MAX_AXES)
        v->ok = ctx_diag(v->ctx, func->span, ir_func_attr, STR_ARG(func->name), "last_first",
                         func->last_first, "a bit for each of three axes");
    bool is_plain = !func->is_persistent && func->programs_per_cta <= 1 && func->num_ctas <= 1;
    if ((func->last_first || func->in_sections) && !is_plain)
        v->ok = ctx_diag(v->ctx, func->span, ir_func_attr, STR_ARG(func->name),
                         func->last_first ? "last_first" : "in_sections",
                         func->last_first ? func->last_first : 1,
                         "0, because a program is not one CTA");
    if (func->launched_warps &&
        (!is_plain || !func->num_warps || func->launched_warps <= func->num_warps))
        v->ok = ctx_diag(v->ctx, func->span, ir_func_attr, STR_ARG(func->name), "launched_warps",
                         func->launched_warps, "more than num_warps, and a program is one CTA");
    if (func->teams && (func->teams != 2 || func->num_warps != WGMMA_WARPS || !func->is_persistent))
        v->ok = ctx_diag(v->ctx, func->span, ir_func_attr, STR_ARG(func->name), "teams",
                         func->teams, "2, of 4 warps each, of a persistent function");
    if (!is_apart_list(func))
        v->ok = ctx_diag(v->ctx, func->span, ir_func_attr, STR_ARG(func->name), "apart",
                         func->apart.len, "pairs of pointers, none if in_place is set");
    if (func->has_layouts && func->num_warps == 0)
        v->ok = ctx_diag(v->ctx, func->span, ir_func_attr, STR_ARG(func->name), "num_warps", 0,
                         "a number, because the function has layouts");
    for (uint32_t i = 0; i < func->body->nargs; i++)
        if (func->body->args[i].type->rank != 0)
            v->ok = ctx_diag(v->ctx, func->params[i].span, ir_param, STR_ARG(func->name), i,
                             type_text(v, func->body->args[i].type));
}

static bool verify_func(Ctx *ctx, const Func *func) {
    ArenaMark mark = arena_mark(&ctx->scratch);
    Verifier v = {.ctx = ctx, .func = func, .ok = true};
    v.uses.arena = v.visible.arena = v.types.arena = &ctx->scratch;
    if (check_links(&v, func->body, NULL, 0)) {
        check_use_lists(&v, func->body);
        if (v.ok)
            check_listed(&v, func->body);
        check_func_attrs(&v);
        check_block(&v, func->body);
    }
    arena_rewind(&ctx->scratch, mark);
    return v.ok;
}

bool module_verify(Module *module) {
    Ctx *ctx = module->ctx;
    PtrMap names = {.arena = &ctx->scratch};
    ArenaMark mark = arena_mark(&ctx->scratch);
    bool ok = true;
    for (Func *func = module->funcs; func; func = func->next) {
        if (func->module != module)
            ok = ctx_diag(ctx, func->span, ir_links, "func", "its module");
        else if (!verify_func(ctx, func))
            ok = false;
        if (ptrmap_get(&names, func->name.ptr))
            ok = ctx_diag(ctx, func->span, ir_redefined, STR_ARG(func->name));
        ptrmap_set(&names, func->name.ptr, func);
    }
    arena_rewind(&ctx->scratch, mark);
    return ok;
}
