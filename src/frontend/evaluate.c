/* Functions of the program that asked for the compilation: called with literals of what is known at
 * compile time and types of the rest, they give a literal, or which of their arguments they return.
 */
#include "frontend/objects.h"

/* What of an argument no program can be told: `why` says what it is. */
typedef struct Describing {
    Elab *e;
    StrBuf out;
    const char *why; /* NULL: all can */
} Describing;

static void describe_literal(Describing *d, Val v);

static void describe_items(Describing *d, Val v, void (*describe)(Describing *d, Val v)) {
    if (v.tuple.record)
        strbuf_printf(&d->out, "@%u", v.tuple.record->number);
    strbuf_putc(&d->out, '(');
    for (uint32_t i = 0; i < v.tuple.count; i++) {
        strbuf_puts(&d->out, i ? ", " : "");
        describe(d, v.tuple.items[i]);
    }
    strbuf_puts(&d->out, v.tuple.count == 1 && !v.tuple.record ? ",)" : ")");
}

static void describe_type(Describing *d, Val v) {
    const ScalarType scalar = v.type.scalar;
    const char *name = elem_info[scalar.elem].name;
    strbuf_puts(&d->out, v.type.block ? "tl.block_type(" : "");
    strbuf_printf(&d->out, scalar.pointer ? "tl.pointer_type(tl.%s%s)" : "tl.%s%s", name,
                  scalar.pointer && scalar.is_const ? ", const=True" : "");
    if (!v.type.block)
        return;
    strbuf_puts(&d->out, ", [");
    for (int i = 0; i < v.type.block->rank; i++)
        strbuf_printf(&d->out, "%s%lld", i ? ", " : "", (long long)v.type.block->shape[i]);
    strbuf_puts(&d->out, "])");
}

/* A list or a dictionary. */
static void describe_object(Describing *d, Val v) {
    strbuf_putc(&d->out, v.kind == VAL_DICT ? '{' : '[');
    for (uint32_t i = 0; i < v.object->count; i++) {
        strbuf_puts(&d->out, i ? ", " : "");
        if (v.kind == VAL_DICT) {
            describe_literal(d, v.object->keys[i]);
            strbuf_puts(&d->out, ": ");
        }
        describe_literal(d, v.object->items[i]);
    }
    strbuf_putc(&d->out, v.kind == VAL_DICT ? '}' : ']');
}

static void describe_literal(Describing *d, Val v) {
    if (v.kind == VAL_LIST || v.kind == VAL_DICT)
        describe_object(d, v);
    else if (v.kind == VAL_TUPLE)
        describe_items(d, v, describe_literal);
    else if (v.kind == VAL_TYPE)
        describe_type(d, v);
    else if (v.kind == VAL_RECORD)
        strbuf_printf(&d->out, "@%u", v.record->number);
    else if (v.kind == VAL_FUNCTION && v.function.unit->given)
        strbuf_printf(&d->out, "@%u", v.function.unit->number);
    else if (v.kind == VAL_MODULE && !v.module.unit)
        strbuf_printf(&d->out, "%.*s", STR_ARG(v.module.path));
    else if (v.kind >= VAL_NONE && v.kind <= VAL_BUILTIN && !val_is_object(v))
        val_print(v, true, &d->out);
    else
        d->why = elab_type_text(d->e, v);
}

/* A value of which parts are known when the kernel runs. */
static void describe_run_time(Describing *d, Val v) {
    Value *inside;
    if (val_flatten(v, &inside, 1) == 0) {
        strbuf_putc(&d->out, '=');
        describe_literal(d, v);
    } else if (v.kind == VAL_TUPLE) {
        describe_items(d, v, describe_run_time);
    } else if (v.kind == VAL_BLOCK) {
        const Val tile = {.kind = VAL_TYPE, .type = {v.block.info->scalar, v.block.info->tile}};
        strbuf_printf(&d->out, "%s<", v.block.info->is_descriptor ? "tensordesc" : "block_ptr");
        val_print(tile, false, &d->out);
        strbuf_putc(&d->out, '>');
    } else {
        strbuf_puts(&d->out, elab_type_text(d->e, v));
    }
}

/* False after a report. */
static bool describe_argument(Elab *e, Val callee, const Arg *arg, EvaluationArgument *out) {
    Value *inside;
    Describing d = {.e = e, .out = strbuf(e->arena)};
    out->name = arg->name;
    out->is_run_time = val_flatten(arg->val, &inside, 1) != 0;
    if (out->is_run_time)
        describe_run_time(&d, arg->val);
    else
        describe_literal(&d, arg->val);
    out->text = strbuf_str(&d.out);
    if (d.why)
        elab_fail(e, arg->span, evaluate_argument, STR_ARG(callee.foreign.binding->name), d.why);
    return !d.why;
}

Val elab_evaluate(Elab *e, Span span, Val callee, const Arg *args, uint32_t count) {
    const Binding *binding = callee.foreign.binding;
    const Evaluator *evaluator = &e->request->evaluator;
    EvaluationArgument *arguments = ARENA_ARRAY(e->arena, EvaluationArgument, (size_t)count + 1);
    if (!evaluator->call)
        return elab_fail(e, span, evaluate_nobody, STR_ARG(binding->name));
    for (uint32_t i = 0; i < count; i++)
        if (!describe_argument(e, callee, &args[i], &arguments[i]))
            return val_error();
    const Evaluation asked = {.unit = callee.foreign.unit->number,
                              .name = binding->name,
                              .key = binding->text,
                              .arguments = arguments,
                              .argument_count = count,
                              .capability = e->request->capability};
    Evaluated result = {.argument = UINT32_MAX};
    const bool ok = evaluator->call(evaluator->user, &asked, &result);
    if (!ok)
        return elab_fail(e, span, evaluate_failed, STR_ARG(binding->name), STR_ARG(result.text));
    if (result.argument < count)
        return args[result.argument].val;
    if (!result.text.len || result.argument != UINT32_MAX)
        return elab_fail(e, span, evaluate_nothing, STR_ARG(binding->name));
    return units_literal(e, binding->name, result.text);
}
