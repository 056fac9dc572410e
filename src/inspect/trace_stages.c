/* Which stages a loop was asked to have, and by what: num_stages of the launch, or of its own,
 * which a constexpr parameter of the kernel may say. Passes leave 1 there once they have made
 * stages. */
#include "inspect/trace.h"

#include <ctype.h>

static void note_loops(Trace *trace, const Block *block) {
    block_for_each (op, block) {
        if (op->code == OP_for && for_attrs(op)->num_stages)
            vec_push(&trace->ctx->arena, &trace->asked,
                     (TraceAsked){op->span, for_attrs(op)->num_stages});
        for (uint32_t r = 0; r < op->nregions; r++)
            note_loops(trace, op->regions[r]);
    }
}

void trace_note_asked(Trace *trace, const Func *func) {
    if (trace->elaborated || !func)
        return;
    trace->elaborated = true;
    note_loops(trace, func->body);
}

/* The name behind `num_stages=` in the head of the loop that the place begins, up to the colon that
 * no bracket surrounds; empty: there is none, or no name. */
static Str name_given(Str text) {
    static const char word[] = "num_stages";
    int depth = 0;
    for (size_t i = 0; i < text.len && (text.ptr[i] != ':' || depth > 0); i++) {
        const char c = text.ptr[i];
        depth += (c == '(' || c == '[') - (c == ')' || c == ']');
        if (!str_begins((Str){text.ptr + i, text.len - i}, word))
            continue;
        size_t at = i + sizeof word - 1;
        while (at < text.len && (text.ptr[at] == ' ' || text.ptr[at] == '='))
            at++;
        size_t end = at;
        while (end < text.len && (isalnum((unsigned char)text.ptr[end]) || text.ptr[end] == '_'))
            end++;
        return (Str){text.ptr + at, end - at};
    }
    return (Str){0};
}

static Str constexpr_of(const Trace *trace, Str name) {
    const KernelFacts *facts = &trace->compiled->facts;
    for (uint32_t i = 0; i < facts->param_count && name.len; i++)
        if (facts->params[i].is_constexpr && str_eq(facts->params[i].name, name))
            return facts->params[i].name;
    return (Str){0};
}

void trace_find_asked(const Trace *trace, TraceLoop *loop) {
    const Span span = loop->loop->span;
    const Source *source = source_get(&trace->ctx->sources, span.file);
    loop->asked = trace->compiled->func->num_stages;
    vec_for_each (asked, &trace->asked) {
        if (asked->span.file != span.file || asked->span.lo != span.lo)
            continue;
        loop->asked = asked->stages;
        loop->asks = true;
    }
    if (!loop->asks || !source || span.lo >= source->text.len)
        return;
    size_t from = span.lo;
    while (from && source->text.ptr[from - 1] != '\n')
        from--;
    loop->asked_by =
        constexpr_of(trace, name_given((Str){source->text.ptr + from, source->text.len - from}));
}
