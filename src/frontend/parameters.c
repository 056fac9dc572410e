/* Parameters of the kernel, of what the signature says of those of the source. */
#include "frontend/elaborate.h"

/* What is passed, in order: everything but constexprs, tuples and descriptors by their parts. */
typedef struct Passed {
    Elab *e;
    Span span;
    FuncParam *list;
    const Type **types;
    uint32_t count;
} Passed;

static uint32_t count_leaves(const Specialized *param) {
    if (!param->count)
        return 1;
    uint32_t count = 0;
    for (uint32_t i = 0; i < param->count; i++)
        count += count_leaves(&param->items[i]);
    return count;
}

static uint32_t count_all(const FuncDef *def, const Specialized *params) {
    uint32_t count = 0;
    for (uint32_t i = 0; i < def->param_count; i++)
        count += count_leaves(&params[i]);
    return count;
}

/* A name of Tile IR, which has no dots. */
static Str name_of_value(Elab *e, Str name) {
    char *text = str_dup(e->arena, name);
    for (size_t i = 0; i < name.len; i++)
        if (text[i] == '.')
            text[i] = '_';
    return (Str){text, name.len};
}

static void add_passed(Passed *p, const Specialized *param) {
    for (uint32_t i = 0; i < param->count; i++)
        add_passed(p, &param->items[i]);
    if (param->count || param->is_constexpr)
        return;
    const int64_t divisible = param->divisible > 1 ? param->divisible : 0;
    p->list[p->count] = (FuncParam){name_of_value(p->e, param->name), p->span, divisible};
    p->types[p->count++] = scalar_ir(p->e->ctx, param->type, NULL);
}

/* That of the function, unless it is said: what PTX takes as a name. */
static Str name_in_code(Elab *e, const FuncDef *def) {
    const Str name = e->request->entry_name;
    if (!name.len)
        return def->name;
    bool ok = !(name.ptr[0] >= '0' && name.ptr[0] <= '9');
    for (size_t i = 0; ok && i < name.len; i++) {
        const char c = name.ptr[i];
        ok = c == '_' || (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
    }
    if (!ok) {
        elab_fail(e, def->name_span, elab_entry_name, STR_ARG(def->name), STR_ARG(name));
        elab_hint(e, "letters, digits and underscores, and no digit first");
        return def->name;
    }
    return ctx_intern(e->ctx, name);
}

Func *parameters_func(Elab *e, const FuncDef *def, const Specialized *params) {
    const size_t room = (size_t)count_all(def, params) + 1;
    Passed passed = {.e = e,
                     .list = ARENA_ARRAY(e->arena, FuncParam, room),
                     .types = ARENA_ARRAY(e->arena, const Type *, room)};
    for (uint32_t i = 0; i < def->param_count; i++) {
        passed.span = def->params[i].span;
        add_passed(&passed, &params[i]);
    }
    Func *func = func_create(module_create(e->ctx), name_in_code(e, def), passed.count, passed.list,
                             passed.types);
    func->span = def->name_span;
    func->num_warps = e->request->num_warps;
    func->num_stages = e->request->num_stages;
    func->num_ctas = e->request->num_ctas ? 1 : 0;
    if (e->request->num_ctas > 1)
        elab_no_effect(e, def->name_span, "num_ctas",
                       "a program runs in one block, and as many blocks are launched as there are "
                       "programs");
    func->capability = e->request->capability;
    return func;
}

/* A 1 is a number of Python's, as in Triton, unless the annotation is a type. Other values keep the
 * type: arithmetic must not change with the value that a launch happens to pass. */
static Val scalar_value(Elab *e, const Specialized *param, Value *arg) {
    if (!param->is_fixed)
        return val_tile(arg, param->type);
    Val number = val_int(param->fixed);
    return param->fixed == 1 && !param->is_annotated ? number
                                                     : op_constant(e, number, param->type.elem);
}

/* Parts of a block are run-time values, whatever is known of them; what is fixed of it is none. */
static Val block_value(Elab *e, const Specialized *param, Val *parts) {
    for (uint32_t i = 0; i < 1 + 2 * (uint32_t)param->block->tile->rank; i++)
        if (!val_is_tile(parts[i]))
            parts[i] = op_constant(e, parts[i], param->items[i].type.elem);
    return (Val){.kind = VAL_BLOCK, .block = {param->block, parts}};
}

static Val param_value(Elab *e, const Specialized *param, uint32_t *next) {
    if (param->is_constexpr)
        return param->value;
    if (!param->count)
        return scalar_value(e, param, &e->func->body->args[(*next)++]);
    Val *items = ARENA_ARRAY(e->arena, Val, param->count);
    for (uint32_t i = 0; i < param->count; i++)
        items[i] = param_value(e, &param->items[i], next);
    return param->block ? block_value(e, param, items)
                        : val_tuple_of(param->record, items, param->count);
}

void parameters_bind(Elab *e, const FuncDef *def, const Specialized *params) {
    uint32_t next = 0;
    for (uint32_t i = 0; i < def->param_count; i++) {
        const Val v = param_value(e, &params[i], &next);
        vars_set(e, &e->frame->vars, def->params[i].name, v);
        elab_tell_variable(e, def->params[i].span, def->params[i].name, &v);
    }
}

static void describe(Elab *e, const Specialized *param, KernelParam *out, uint32_t *count) {
    for (uint32_t i = 0; i < param->count; i++)
        describe(e, &param->items[i], out, count);
    if (param->count)
        return;
    const char *text =
        param->is_constexpr ? val_text(e->arena, param->value) : scalar_text(e->arena, param->type);
    out[(*count)++] = (KernelParam){.name = param->name,
                                    .is_constexpr = param->is_constexpr,
                                    .is_default = param->is_default,
                                    .is_fixed = param->is_fixed,
                                    .fixed = param->fixed,
                                    .text = str_from(text),
                                    .divisible = param->divisible};
}

KernelParam *parameters_describe(Elab *e, const FuncDef *def, const Specialized *params,
                                 uint32_t *count) {
    KernelParam *out = ARENA_ARRAY(e->arena, KernelParam, (size_t)count_all(def, params) + 1);
    *count = 0;
    for (uint32_t i = 0; i < def->param_count; i++)
        describe(e, &params[i], out, count);
    return out;
}
