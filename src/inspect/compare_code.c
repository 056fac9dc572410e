/* Facts of a kernel in PTX: its instructions by form, line and loop, and what it takes of an SM. */
#include "inspect/compare_parts.h"
#include "runtime/tools/ptxas.h"
#include "sim/report/live.h"
#include "sim/report/report.h"

#include <stdlib.h>

/* Forms. */

/* The words of an instruction that tell what it does, in the order in which they are written; the
 * others (rounding, caches, scopes, ..) make no other form. */
static const struct {
    Field field;
    const char *of; /* of names that begin so; NULL: of all */
} told[] = {
    {FIELD_PROXY, NULL},  {FIELD_ASYNC, NULL},     {FIELD_BULK, NULL},     {FIELD_REDUCE, NULL},
    {FIELD_TENSOR, NULL}, {FIELD_DIM, NULL},       {FIELD_WARP, NULL},     {FIELD_SCOPE, "barrier"},
    {FIELD_SYNC, "bar"},  {FIELD_OPERATION, NULL}, {FIELD_ACCURACY, NULL}, {FIELD_EXPECT, NULL},
    {FIELD_PARITY, NULL}, {FIELD_COMPARE, "mul"},  {FIELD_COMPARE, "mad"}, {FIELD_SHAPE, NULL},
    {FIELD_TIMES, NULL},  {FIELD_TRANS, NULL},
};

static const char *space_name(const Insn *insn) {
    static const char *const names[] = {
        [SPACE_generic] = "generic", [SPACE_global] = "global", [SPACE_shared] = "shared",
        [SPACE_local] = "local",     [SPACE_const] = "const",   [SPACE_param] = "param",
    };
    return names[insn_space(insn)];
}

static unsigned vector_length(const Insn *insn) {
    const uint16_t word = insn->field[FIELD_VECTOR];
    return word == WORD_v8 ? 8 : word == WORD_v4 ? 4 : word == WORD_v2 ? 2 : 1;
}

static unsigned type_count(const Row *row) {
    unsigned count = *row->types != 0;
    for (const char *at = row->types; *at; at++)
        count += *at == ' ';
    return count < MAX_TYPES ? count : MAX_TYPES;
}

/* A word, with its number in the place of #. */
static void add_word(const Insn *insn, Word word, StrBuf *out) {
    strbuf_putc(out, '.');
    for (const char *text = word_text[word]; *text; text++)
        if (*text == '#')
            strbuf_printf(out, "%u", insn->number);
        else
            strbuf_putc(out, *text);
}

static void add_types(const Insn *insn, StrBuf *out) {
    /* Types that say nothing but how wide a value is. */
    const bool only_width = insn->row->class == CLASS_MOVE || !strcmp(insn->row->name, "selp");
    for (unsigned i = 0; i < type_count(insn->row); i++) {
        const TypeInfo *type = &type_info[insn->type[i]];
        if (only_width && type->kind != KIND_PRED)
            strbuf_printf(out, ".b%u", type->bits);
        else
            strbuf_printf(out, ".%s", type->name);
    }
}

/* Whether it is cp.async of a thread, whose third operand is how many bytes it copies. */
static bool copies_bytes(const Insn *insn) {
    return !strcmp(insn->row->name, "cp") && !insn_has(insn, WORD_bulk) &&
           insn->operand_count > 2 && insn->operand[2].kind == OPERAND_NUMBER;
}

/* "ld.global.b128": what a thread accesses at once; else the name, what it does, and the types. */
static void add_form(const Insn *insn, StrBuf *out) {
    const Row *row = insn->row;
    strbuf_puts(out, row->name);
    if (!strcmp(row->name, "ld") || !strcmp(row->name, "ldu") ||
        (!strcmp(row->name, "st") && !insn_has(insn, WORD_async))) {
        strbuf_printf(out, ".%s.b%u", space_name(insn),
                      type_info[insn->type[0]].bits * vector_length(insn));
        return;
    }
    if (row->class == CLASS_ATOMIC)
        strbuf_printf(out, ".%s", space_name(insn));
    for (size_t i = 0; i < sizeof told / sizeof *told; i++) {
        const Word word = (Word)insn->field[told[i].field];
        if (word != WORD_none &&
            (!told[i].of || !strncmp(row->name, told[i].of, strlen(told[i].of))))
            add_word(insn, word, out);
    }
    if (insn_has(insn, WORD_bulk) && insn->field[FIELD_COMPLETION])
        strbuf_puts(out, insn_has(insn, WORD_bulk_group) ? ".store" : ".load");
    if (copies_bytes(insn))
        strbuf_printf(out, ".%" PRId64, insn->operand[2].offset);
    if (row->class == CLASS_ATOMIC && vector_length(insn) > 1)
        strbuf_printf(out, ".v%u", vector_length(insn));
    add_types(insn, out);
}

int form_order(const FormCount *a, const FormCount *b) {
    return a->class != b->class ? (a->class > b->class) - (a->class < b->class)
                                : str_order(a->form, b->form);
}

static int by_form(const void *x, const void *y) {
    return form_order(x, y);
}

/* Sorts, and adds up what is of one form. */
static void merge_forms(FormCounts *forms) {
    if (!forms->len)
        return;
    qsort(forms->data, forms->len, sizeof *forms->data, by_form);
    size_t kept = 0;
    for (size_t i = 1; i < forms->len; i++)
        if (by_form(&forms->data[kept], &forms->data[i]))
            forms->data[++kept] = forms->data[i];
        else
            forms->data[kept].count += forms->data[i].count;
    forms->len = kept + 1;
}

uint32_t code_class_count(const FormCounts *forms, int class) {
    uint32_t sum = 0;
    vec_for_each (form, forms)
        sum += form->class == class ? form->count : 0;
    return sum;
}

/* Instructions of a kernel and of what it calls. */

typedef struct Inspection {
    Ctx *ctx;
    const SimModule *module;
    const Func *kernel;
    CodeFacts *facts;
    VEC(const Func *) funcs; /* the kernel, and all that it may call */
    Str *forms;              /* by instruction of the module; of one text only once */
    uint32_t *lines;         /* by place of the module: index into the facts' lines, + 1 */
    uint32_t inner_instructions, loop_instructions, loops;
} Inspection;

static void add_callee(Inspection *in, const Func *func) {
    vec_for_each (known, &in->funcs)
        if (*known == func)
            return;
    if (func->has_body)
        vec_push(&in->ctx->arena, &in->funcs, func);
}

static void find_functions(Inspection *in) {
    const SimModule *module = in->module;
    vec_push(&in->ctx->arena, &in->funcs, in->kernel);
    for (size_t i = 0; i < in->funcs.len; i++) {
        const Func *func = in->funcs.data[i];
        for (uint32_t pc = func->begin; pc < func->end; pc++) {
            const Call *call = module->insns.data[pc].call;
            if (call && call->callee)
                add_callee(in, call->callee);
            /* A call through a pointer may be of any function. */
            for (size_t f = 0; call && call->kind == CALL_INDIRECT && f < module->funcs.len; f++)
                if (!module->funcs.data[f]->is_entry)
                    add_callee(in, module->funcs.data[f]);
        }
    }
}

/* The last instruction of a function is the reader's own, where all ends lead to. */
static uint32_t code_end(const Func *func) {
    return func->end - 1;
}

static void name_forms(Inspection *in) {
    in->forms = ARENA_ARRAY(&in->ctx->arena, Str, in->module->insns.len + 1);
    StrBuf text = strbuf(&in->ctx->arena);
    vec_for_each (func, &in->funcs) {
        for (uint32_t pc = (*func)->begin; pc < code_end(*func); pc++) {
            text.len = 0;
            add_form(&in->module->insns.data[pc], &text);
            in->forms[pc] = ctx_intern(in->ctx, strbuf_str(&text));
        }
    }
}

/* The form's count in a list that is not sorted yet; the strings are interned. */
static void count_form(Inspection *in, FormCounts *forms, uint32_t pc) {
    const Str form = in->forms[pc];
    const int class = (int)sim_insn_class(&in->module->insns.data[pc]);
    vec_for_each (known, forms) {
        if (known->form.ptr == form.ptr && known->class == class) {
            known->count++;
            return;
        }
    }
    vec_push(&in->ctx->arena, forms, ((FormCount){form, class, 1}));
}

int line_order(const CodeLine *a, const CodeLine *b) {
    const int order = str_order(a->file, b->file);
    return order ? order : (a->line > b->line) - (a->line < b->line);
}

static int by_line(const void *x, const void *y) {
    return line_order(x, y);
}

static CodeLine line_of_place(Inspection *in, const Place *place) {
    CodeLine line = {.line = place->line};
    const uint32_t file = sim_source_of(in->module, place, &line.file);
    const Source *source = source_get(&in->ctx->sources, file);
    if (source)
        line.text = source_line(source, place->line);
    return line;
}

/* Lines by file and number, and which of them each place of the module is on. */
static void find_lines(Inspection *in) {
    const SimModule *module = in->module;
    Arena *arena = &in->ctx->arena;
    bool *used = ARENA_ARRAY(arena, bool, module->places.len + 1);
    vec_for_each (func, &in->funcs)
        for (uint32_t pc = (*func)->begin; pc < code_end(*func); pc++)
            used[module->insns.data[pc].loc] = true;
    CodeLines *lines = &in->facts->lines;
    CodeLine *of_place = ARENA_ARRAY(arena, CodeLine, module->places.len + 1);
    for (uint32_t p = 1; p < module->places.len; p++) {
        if (!used[p])
            continue;
        const Place place = own_place(module, p);
        of_place[p] = line_of_place(in, &place);
        vec_push(arena, lines, of_place[p]);
    }
    in->lines = ARENA_ARRAY(arena, uint32_t, module->places.len + 1);
    if (!lines->len)
        return;
    qsort(lines->data, lines->len, sizeof *lines->data, by_line);
    size_t kept = 0;
    for (size_t i = 1; i < lines->len; i++)
        if (by_line(&lines->data[kept], &lines->data[i]))
            lines->data[++kept] = lines->data[i];
    lines->len = kept + 1;
    for (uint32_t p = 1; p < module->places.len; p++) {
        const CodeLine *found =
            used[p] ? bsearch(&of_place[p], lines->data, lines->len, sizeof *lines->data, by_line)
                    : NULL;
        in->lines[p] = found ? (uint32_t)(found - lines->data) + 1 : 0;
    }
}

static void count_all(Inspection *in) {
    CodeFacts *facts = in->facts;
    vec_for_each (func, &in->funcs) {
        for (uint32_t pc = (*func)->begin; pc < code_end(*func); pc++) {
            const uint32_t line = in->lines[in->module->insns.data[pc].loc];
            count_form(in, &facts->forms, pc);
            if (line)
                facts->lines.data[line - 1].count++;
            else
                facts->no_line++;
        }
    }
    merge_forms(&facts->forms);
}

/* Loops. */

static void use_line(Inspection *in, LineUses *uses, uint32_t line) {
    vec_for_each (use, uses) {
        if (use->line == line) {
            use->count++;
            return;
        }
    }
    vec_push(&in->ctx->arena, uses, ((LineUse){line, 1}));
}

static uint32_t ptx_line(const Inspection *in, uint32_t pc) {
    const Source *source = source_get(&in->ctx->sources, in->module->file);
    return source_locate(source, in->module->insns.data[pc].lo).line;
}

static void count_block(Inspection *in, const Block *block, CodeLoop *loop) {
    const uint32_t begin = ptx_line(in, block->begin), end = ptx_line(in, block->end - 1);
    loop->first = !loop->first || begin < loop->first ? begin : loop->first;
    loop->last = end > loop->last ? end : loop->last;
    for (uint32_t pc = block->begin; pc < block->end; pc++) {
        const uint32_t line = in->lines[in->module->insns.data[pc].loc];
        loop->instructions++;
        count_form(in, &loop->forms, pc);
        if (line)
            use_line(in, &loop->lines, line - 1);
    }
}

/* The line of the branch back to the header, which compilers give that of the loop; else the first
 * within the header that has one. */
static uint32_t line_of_loop(const Inspection *in, const Graph *graph, const FoundLoops *found,
                             int32_t loop) {
    const uint32_t header = found->data[loop].header;
    const Block *head = &graph->blocks[header];
    for (size_t i = head->before.len; i--;) {
        const uint32_t before = head->before.data[i];
        const Insn *last = &in->module->insns.data[graph->blocks[before].end - 1];
        if (loop_is_within(found, found->innermost[before], loop) && in->lines[last->loc])
            return in->lines[last->loc] - 1;
    }
    for (uint32_t pc = head->begin; pc < head->end; pc++)
        if (in->lines[in->module->insns.data[pc].loc])
            return in->lines[in->module->insns.data[pc].loc] - 1;
    return NO_LINE;
}

/* Waiting is asking a barrier or another thread again and again: nothing else is done. */
static bool only_waits(const CodeLoop *loop) {
    bool asks = false;
    vec_for_each (form, &loop->forms) {
        const bool plain = form->class == CLASS_PREDICATE || form->class == CLASS_CONTROL ||
                           form->class == CLASS_MOVE;
        if (form->class != CLASS_BARRIER && !plain)
            return false;
        asks |= form->class == CLASS_BARRIER;
    }
    return asks;
}

static void add_loops(Inspection *in, const Func *func) {
    Ctx *ctx = in->ctx;
    CodeLoops *loops = &in->facts->loops;
    const Graph graph = cfg_graph(in->module, func, &ctx->arena);
    const FoundLoops found = loops_find(&graph, &ctx->arena);
    const size_t before = loops->len;
    for (size_t i = 0; i < found.len; i++) {
        const FoundLoop *loop = &found.data[i];
        const int32_t parent = loop->parent < 0 ? -1 : loop->parent + (int32_t)before;
        const uint32_t at = line_of_loop(in, &graph, &found, (int32_t)i);
        vec_push(&ctx->arena, loops,
                 ((CodeLoop){.parent = parent, .depth = loop->depth, .at = at, .is_inner = true}));
    }
    for (uint32_t b = 0; b + 1 < graph.count; b++) {
        int32_t loop = found.innermost[b];
        in->loop_instructions += loop < 0 ? 0 : graph.blocks[b].end - graph.blocks[b].begin;
        for (; loop >= 0; loop = found.data[loop].parent)
            count_block(in, &graph.blocks[b], &loops->data[before + (size_t)loop]);
    }
}

static void find_loops(Inspection *in) {
    CodeLoops *loops = &in->facts->loops;
    vec_for_each (func, &in->funcs)
        add_loops(in, *func);
    vec_for_each (loop, loops) {
        merge_forms(&loop->forms);
        loop->is_wait = only_waits(loop);
    }
    vec_for_each (loop, loops)
        if (!loop->is_wait && loop->parent >= 0)
            loops->data[loop->parent].is_inner = false;
    vec_for_each (loop, loops) {
        in->loops += !loop->is_wait;
        if (loop->is_inner && !loop->is_wait)
            in->inner_instructions += loop->instructions;
    }
}

/* What it takes. */

static bool uses_dynamic_shared(const SimModule *module) {
    return module->dynamic_constants.len != 0;
}

static int32_t product(const uint32_t sizes[3]) {
    return (int32_t)(sizes[0] * sizes[1] * sizes[2]);
}

/* Asks ptxas; why it says nothing, or NULL. */
static const char *ask_ptxas(Ctx *ctx, const CodeRequest *request, Str kernel, const Target *target,
                             Resources *resources) {
    const char *ptxas = ptxas_find(&ctx->arena, request->ptxas);
    if (!ptxas)
        return "there is no ptxas";
    if (!target)
        return "ptxas is not asked for its target";
    const AssembleRequest assemble = {
        .ptx = source_get(&ctx->sources, request->file)->text, .kernel = kernel, .target = target};
    const DiagMark before = diag_mark(&ctx->diags);
    Str cubin;
    const bool ok = ptxas_assemble(ctx, ptxas, &assemble, &cubin, resources) && resources->known;
    const DiagReason reason = diag_take(&ctx->diags, before, (Span){0});
    if (ok)
        return NULL;
    *resources = (Resources){0};
    return str_format(&ctx->arena, "ptxas refuses it: %s",
                      *reason.text ? reason.text : "it says nothing of the kernel");
}

static void take_measures(Inspection *in, const CodeRequest *request) {
    const SimModule *module = in->module;
    CodeFacts *facts = in->facts;
    CodeTaken taken = {.facts = facts,
                       .target = target_by_name(facts->target),
                       .resources = request->resources,
                       .dynamic_shared = request->dynamic_shared,
                       .threads = request->threads,
                       .loops = in->loops,
                       .loop_instructions = in->loop_instructions,
                       .inner_instructions = in->inner_instructions};
    if (!taken.resources.known)
        taken.not_assembled =
            ask_ptxas(in->ctx, request, facts->kernel, taken.target, &taken.resources);
    taken.live = sim_estimate_registers(module, facts->kernel);
    taken.static_shared = sim_static_shared(module, in->kernel);
    if (taken.dynamic_shared < 0 && !uses_dynamic_shared(module))
        taken.dynamic_shared = 0;
    if (!taken.threads)
        taken.threads = product(in->kernel->reqntid);
    if (!taken.threads) {
        taken.threads = product(in->kernel->maxntid);
        taken.threads_at_most = taken.threads != 0;
    }
    for (int class = 0; class < CLASS_COUNT; class ++) {
        taken.classes[class] = code_class_count(&facts->forms, class);
        taken.instructions += taken.classes[class];
    }
    measures_take(&taken, facts);
}

/* The kernel of that name, or the only one; NULL after a report. */
static const Func *find_kernel(Ctx *ctx, const SimModule *module, Str name) {
    SimKernel kernel;
    if (!sim_find_kernel(module, name, &kernel)) {
        const uint32_t count = sim_kernel_count(module);
        ctx_diag(ctx, (Span){0}, sim_no_kernel, STR_ARG(name), count);
        StrBuf names = strbuf(&ctx->arena);
        for (uint32_t i = 0; i < count; i++)
            strbuf_printf(&names, "%s%.*s", i ? ", " : "", STR_ARG(sim_kernel(module, i).name));
        if (count)
            diag_hint(&ctx->diags, "-k takes one of %s", names.ptr);
        return NULL;
    }
    vec_for_each (func, &module->funcs)
        if ((*func)->is_entry && (*func)->has_body && str_eq((*func)->name, kernel.name))
            return *func;
    return NULL;
}

static Str target_name(Ctx *ctx, const SimModule *module) {
    const char suffix[] = {module->sm_suffix, 0};
    return str_from(str_format(&ctx->arena, "sm_%u%s", module->sm, suffix));
}

bool code_inspect(Ctx *ctx, const CodeRequest *request, CodeFacts *facts) {
    *facts = (CodeFacts){.path = str_from(request->path)};
    const SimModule *module = sim_parse(ctx, request->file);
    Inspection in = {.ctx = ctx, .module = module, .facts = facts};
    if (!module || !(in.kernel = find_kernel(ctx, module, request->kernel)))
        return false;
    facts->kernel = in.kernel->name;
    facts->target = target_name(ctx, module);
    find_functions(&in);
    name_forms(&in);
    find_lines(&in);
    count_all(&in);
    find_loops(&in);
    take_measures(&in, request);
    return true;
}
